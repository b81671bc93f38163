/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_PARSE_H
#define HOTRUN_PARSE_PARSE_H
/*
 * What a worker (isolate/workers.h) does with bytes of targets: the contract of both sides. Each
 * kind has its request, and an answer or a result in memory. In the worker everything runs in the
 * sandbox; at home an answer is as hostile as the bytes were.
 */
#include "isolate/message.h"
#include "model/model.h"
#include "parse/code_rows.h"
#include "parse/container.h"
#include "parse/demangle.h"
#include "parse/elf.h"
#include "parse/image_table.h"
#include "parse/target_memory.h"
#include "parse/unwind_table.h"
#include "perfmap/maps/map.h"
#include "perfmap/maps/scan.h"
#include "perfmap/memory/memory.h"
#include "perfmap/names/name.h"

enum parse_kind {
	PARSE_ELF,   /* symbols of a file -> elf_blob */
	PARSE_DEBUG, /* symbols of its debug file -> elf_blob */
	/* those packed into itself (.gnu_debugdata) -> elf_blob; second fd: scratch */
	PARSE_PACKED,
	PARSE_IMAGE,  /* functions of a precompiled image -> image_table; further fds: assemblies */
	PARSE_BUNDLE, /* what is bundled into a program -> bundle_table */
	PARSE_MAP,    /* what was added to a perf map -> map rows; a second fd: the map of which the
		    * first one is a copy, which is brought up to date before */
	PARSE_NAMES, /* takes names apart -> name rows; a first fd: the perf map that some are in */
	/* Facts -> one answer of fixed size (parse_fact.h). */
	PARSE_ENVIRON, /* what an environment says of .NET */
	PARSE_PROGRAM, /* whether a program holds a runtime, and which */
	PARSE_RUNTIME, /* the version of a libcoreclr.so */
	PARSE_LINES,   /* how many methods a perf map has */
	PARSE_REPLY,   /* what a runtime said at its diagnostics socket */
	PARSE_NODE,    /* how a file of the node names a container */
	PARSE_SYMBOLS, /* what identifies some files of symbols */
	/* How a file's code is unwound -> unwind_table; ELF, or a precompiled image as in
	 * PARSE_IMAGE. */
	PARSE_UNWIND_ELF,
	PARSE_UNWIND_IMAGE,
	/* Of a process's memory; the one fd is the socket of target_memory_receive(). */
	PARSE_CODE,   /* code -> code_rows */
	PARSE_MEMORY, /* names of compiled code -> memory_names */
	PARSE_LOCKS,  /* who holds what threads wait for -> holders of the reply */
};

/* Wanted functions of one request. */
#define PARSE_WANTED_MAX 512u
/* Bytes of a raw name, cut there; and of the items of a PARSE_NAMES. */
#define PARSE_NAME_BYTES  8192u
#define PARSE_ITEMS_BYTES 49152u

/* A name to be taken apart: items stand one after the other, each aligned to 8 bytes. */
enum parse_name_kind {
	NAME_DOTNET,   /* a raw .NET name, behind the item */
	NAME_MANGLED,  /* a C++ or Rust symbol, behind the item */
	NAME_MAP_LINE, /* in the perf map: the hit behind the item */
};

struct parse_item {
	uint32_t kind; /* enum parse_name_kind */
	uint32_t len;  /* of what is behind it */
};

/* What an item led to, in their order. */
struct parse_named {
	uint32_t reason; /* enum model_reason; REASON_NAMED = done */
	uint32_t display, assembly, tier,
		raw; /* in the text; raw without its tier tag: of map lines */
	uint8_t is_stub, is_framework;
	uint16_t rsvd;
};

struct parse_image {
	uint64_t inside, bytes;			   /* where in the file; 0, 0 = all of it */
	uint32_t components[IMAGE_COMPONENTS_MAX]; /* of the further fds */
	uint64_t component_inside[IMAGE_COMPONENTS_MAX], component_bytes[IMAGE_COMPONENTS_MAX];
	uint32_t component_cnt;
	uint32_t wanted_cnt; /* functions by offset; 0 = all */
	uint64_t wanted[PARSE_WANTED_MAX];
};

/* Where code of a mapped file lies. */
struct parse_code_file {
	uint64_t start, file_offset;
};

/* Files in which a runtime may be, and addresses of one request. */
#define PARSE_RUNTIMES_MAX  64u
#define PARSE_ADDRESSES_MAX 1024u
#define PARSE_LIST_MAX	    1024u

struct parse_memory {
	struct perfmap_memory_facts facts; /* of the runtime; no descriptor: it is looked for */
	uint32_t files_cnt, addresses_cnt;
	uint32_t list;	    /* bodies besides that may not stay, at the most */
	uint32_t given_cnt; /* files that come with the memory */
	struct target_mapping given[TARGET_GIVEN_MAX];
	struct parse_code_file files[PARSE_RUNTIMES_MAX];
	uint64_t addresses[PARSE_ADDRESSES_MAX];
};

/* Threads of one request. */
#define PARSE_WAITS_MAX 64u

struct parse_locks {
	struct perfmap_memory_facts facts; /* as of parse_memory */
	uint32_t files_cnt, waits_cnt;
	struct parse_code_file files[PARSE_RUNTIMES_MAX];
	struct perfmap_lock_wait waits[PARSE_WAITS_MAX];
};

/* Of facts. */
struct parse_fact {
	uint32_t what;	    /* REPLY: enum diagnostics_request; NODE: enum parse_node_source */
	uint64_t bytes_max; /* LINES */
	char id[CONTAINER_ID_BYTES]; /* NODE: of the container, or its pod */
};

struct parse_request {
	enum parse_kind kind;
	/* Bit by descriptor: it is a socket from which the file's own can be received
	 * (opener.h). */
	uint32_t in_socket;
	union {
		/* DEBUG, PACKED: of the file it must belong to. */
		struct {
			struct elf_identity identity;
			char debuglink[256];
			uint32_t debuglink_crc;
			uint64_t debugdata_offset, debugdata_bytes;
		} elf;
		struct parse_image image;
		struct {
			struct perfmap_cursor cursor;
			uint64_t max_bytes;
			uint64_t copied_bytes; /* what the copy holds, ... */
			uint64_t copy_max;     /* ... and may hold then */
		} map;
		struct {
			uint32_t len, rsvd;
			unsigned char bytes[PARSE_ITEMS_BYTES];
		} items; /* NAMES */
		struct code_wanted code;
		struct parse_memory memory;
		struct parse_locks locks;
		struct parse_fact fact;
	};
};

struct parse_reply {
	uint32_t reason;       /* enum model_reason; REASON_NAMED = done */
	int32_t error;	       /* MAP: of the scan, -errno */
	uint64_t copied_bytes; /* MAP: what the copy holds now; 0: it continues another text */
	struct perfmap_cursor cursor;
	struct perfmap_scanned scanned;
	/* MEMORY: what is to be known the next time; which files were of use, bit by file, and
	 * which were wanting. */
	struct perfmap_memory_facts facts;
	uint64_t given_used;
	uint32_t needs_cnt, rsvd;
	struct target_mapping needs[TARGET_GIVEN_MAX];
	uint64_t wanting;   /* bit by need */
	uint64_t code_next; /* CODE: from where on the list goes on */
	struct perfmap_lock_holder holders[PARSE_WAITS_MAX]; /* LOCKS: in the order of waits */
};

/* The worker's side (workers_do). */
size_t parse_do(const void *request, size_t request_len, const int *fds, unsigned fd_cnt,
		int result_fd, void *reply);

/* Bytes of a request of that kind that are to be sent. */
size_t parse_request_bytes(const struct parse_request *request);

/*
 * Rows of a PARSE_MAP result. Takes fd. Owned, or NULL with errno; rows are borrowed from it.
 */
struct blob *parse_map_rows(int fd, size_t bytes, const struct perfmap_entry **ret_rows,
			    size_t *ret_cnt);

/* The same of a PARSE_NAMES result: rows, and the text that they point into. */
struct blob *parse_named_rows(int fd, size_t bytes, const struct parse_named **ret_rows,
			      size_t *ret_cnt, const char **ret_text, size_t *ret_text_len);
#endif
