/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_PARSE_H
#define HOTRUN_NAMES_PARSE_H
/*
 * What a worker (isolate/workers.h) does with bytes of targets: the contract of both sides. Each kind
 * has its request, and an answer or a result in memory. In the worker everything runs in the sandbox;
 * at home an answer is as hostile as the bytes were.
 */
#include "isolate/message.h"
#include "model/model.h"
#include "names/demangle.h"
#include "names/elf.h"
#include "names/image_table.h"
#include "perfmap/map.h"
#include "perfmap/name.h"
#include "perfmap/scan.h"

enum parse_kind {
	PARSE_ELF,    /* symbols of a file -> elf_blob */
	PARSE_DEBUG,  /* symbols of its debug file -> elf_blob */
	PARSE_PACKED, /* those packed into itself (.gnu_debugdata) -> elf_blob; second fd: scratch */
	PARSE_IMAGE,  /* functions of a precompiled image -> image_table; further fds: assemblies */
	PARSE_BUNDLE,	/* what is bundled into a program -> bundle_table */
	PARSE_MAP,	/* what was added to a perf map -> map rows */
	PARSE_MAP_NAME, /* the name of one entry of a perf map -> text */
	PARSE_NAME,	/* takes apart a raw .NET name -> text */
	PARSE_DEMANGLE, /* takes apart a C++ or Rust symbol -> text */
};

/* Wanted functions of one request. */
#define PARSE_WANTED_MAX 512u
/* Bytes of a raw name, cut there. */
#define PARSE_NAME_BYTES 8192u

struct parse_image {
	uint64_t inside, bytes;			   /* where in the file; 0, 0 = all of it */
	uint32_t components[IMAGE_COMPONENTS_MAX]; /* of the further fds */
	uint64_t component_inside[IMAGE_COMPONENTS_MAX], component_bytes[IMAGE_COMPONENTS_MAX];
	uint32_t component_cnt;
	uint32_t wanted_cnt; /* functions by offset; 0 = all */
	uint64_t wanted[PARSE_WANTED_MAX];
};

struct parse_request {
	enum parse_kind kind;
	/* Bit by descriptor: it is a socket from which the file's own can be received (fetch.h). */
	uint32_t in_socket;
	union {
		/* ELF: for bounds. DEBUG, PACKED: of the file it must belong to. */
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
		} map;
		struct perfmap_hit hit; /* MAP_NAME */
		struct {
			uint32_t len;
			char raw[PARSE_NAME_BYTES];
		} name; /* NAME, DEMANGLE */
	};
};

struct parse_reply {
	uint32_t reason; /* enum model_reason; REASON_NAMED = done */
	union {
		struct {
			struct perfmap_cursor cursor;
			struct perfmap_scanned scanned;
			int32_t error; /* of the scan, -errno */
		} map;
		/* MAP_NAME, NAME, DEMANGLE; all end with a NUL. */
		struct {
			uint32_t raw_len; /* without its tier tag */
			uint8_t is_stub, is_framework;
			char display[PERFMAP_NAME_BYTES];
			char assembly[PERFMAP_NAME_BYTES];
			char tier[32];
			char raw[PARSE_NAME_BYTES];
		} name;
	};
};

/* The worker's side (workers_do). */
size_t parse_do(const void *request, size_t request_len, const int *fds, unsigned fd_cnt,
		int result_fd, void *reply);

/* Bytes of a request of that kind that are to be sent, and whether it has a result in memory. */
size_t parse_request_bytes(const struct parse_request *request);
bool parse_has_result(const struct parse_request *request);

/*
 * Rows of a PARSE_MAP result. Takes fd. Owned, or NULL with errno; rows are borrowed from it.
 */
struct blob *parse_map_rows(int fd, size_t bytes, const struct perfmap_entry **ret_rows,
			    size_t *ret_cnt);
#endif
