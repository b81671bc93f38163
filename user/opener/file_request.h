/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_FILE_REQUEST_H
#define HOTRUN_OPENER_FILE_REQUEST_H
/*
 * What the opener (opener.h) can be asked for: one struct a kind, and the reply. A request crosses
 * to another process as it is, so it holds no pointers, and whoever serves it reads the struct of
 * its kind alone.
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "opener/target_process.h"
#include "parse/container.h"
#include "parse/elf.h"
#include "perfmap/maps/locate.h"

#define FILE_PATH_BYTES	 4096
#define FILE_NAMES_BYTES 8192

enum file_request_kind {
	FILE_REQUEST_MAPPED,	 /* a mapped file */
	FILE_REQUEST_DEBUG,	 /* a separate debug file of one */
	FILE_REQUEST_MAP,	 /* the perf map of a process that lives */
	FILE_REQUEST_KEPT_MAP,	 /* the same of one that is gone, in a directory that was kept */
	FILE_REQUEST_SAME_MAP,	 /* a map that was kept itself (O_PATH), to be read */
	FILE_REQUEST_SYMBOL_MAP, /* a map in a folder of symbol files */
	FILE_REQUEST_ENVIRON,	 /* the environment */
	FILE_REQUEST_PROGRAM,	 /* what it runs: /proc/PID/exe */
	FILE_REQUEST_TARGET,	 /* its memory, to be read, and files that are mapped there */
	FILE_REQUEST_DIRECTORY,	 /* a directory that is kept for when the process is gone */
	FILE_REQUEST_DOTNET,   /* what is known of a .NET process: a struct dotnet_look in memory */
	FILE_REQUEST_CONNECT,  /* a connection to its diagnostics socket */
	FILE_REQUEST_LISTEN,   /* a socket at a port that it connects to, in a tool's stead */
	FILE_REQUEST_UNLISTEN, /* takes that away */
	FILE_REQUEST_RESERVE,  /* an empty file of the process's own where its map will be */
	FILE_REQUEST_RELEASE,  /* takes that away, if it is empty still */
	FILE_REQUEST_LIST,     /* what lies in a folder of symbol files: paths in memory */
	FILE_REQUEST_SYMBOLS,  /* files of such a folder */
	FILE_REQUEST_NODE,     /* a file of the node that may tell what it calls a container */
};

/* Where a mapped file is looked for, in this order. */
enum file_stage {
	FILE_BY_PATH,	 /* its path below the process's root */
	FILE_BY_MAPPING, /* what is mapped, which also reaches deleted files and below overlayfs */
	FILE_LEFT,	 /* its path below the root that was kept for a process that is gone */
	FILE_ON_HOST,	 /* its path on the host: only with a build id to know it by */
};

/* Places where a debug file may lie, by preference (gdb manual, "Separate Debug Files"). */
enum file_debug_place {
	/* /usr/lib/debug/.build-id/xx/yyyy.debug below the process's root, and on the host. */
	FILE_DEBUG_BUILD_ID,
	FILE_DEBUG_BUILD_ID_HOST,
	/* By debug link, in the process's root: beside the mapped file, in .debug there, and in
	 * /usr/lib/debug/FOLDER-OF-THE-FILE; and the last on the host. */
	FILE_DEBUG_BESIDE,
	FILE_DEBUG_DOT_DEBUG,
	FILE_DEBUG_MIRROR,
	FILE_DEBUG_MIRROR_HOST,
	FILE_DEBUG_PLACES
};

struct mapped_request {
	char path[FILE_PATH_BYTES];
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint8_t version_len; /* of an image that is known by a version id: it stands in build_id */
	bool is_image;	     /* not ELF */
	bool identity_only;  /* it is looked at only, no descriptor comes */
	enum file_stage stage;	    /* where the search begins */
	uint64_t inode, start, end; /* of the mapping */
};

struct debug_request {
	char path[FILE_PATH_BYTES]; /* of the mapped file, its build id and its debug link */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	char debuglink[256];
	enum file_debug_place place;
};

/* What is to become of a perf map. */
struct map_use {
	bool to_worker;	      /* its descriptor goes to a worker, wherever it lies ... */
	uint64_t known_bytes; /* ... unless it is as long still, 0 = it does */
};

struct map_request {
	struct map_use use;
	struct perfmap_environment env;
};

struct kept_map_request {
	struct map_use use;
	uint32_t ns_pid, euid;
};

struct same_map_request {
	struct map_use use;
};

struct symbol_map_request {
	struct map_use use;
	char folder[FILE_PATH_BYTES], file[FILE_PATH_BYTES]; /* file: below the folder */
};

/* Files are known by where they are mapped. */
struct target_file {
	uint64_t start, end;
};

#define TARGET_OPENED_MAX 64u

/*
 * By the socket come one message each: /proc/PID/mem, pagemap, maps, then of each file in its order
 * the descriptor, or none where it cannot be had (it is mapped there no more, no
 * CAP_CHECKPOINT_RESTORE, a device).
 */
struct target_request {
	uint32_t files_cnt, rsvd;
	struct target_file files[TARGET_OPENED_MAX];
};

struct directory_request {
	struct perfmap_environment env;
	unsigned place; /* 0 the root, then PERFMAP_DIRECTORIES where the map may lie */
};

struct dotnet_request {
	struct perfmap_environment env;
	bool is_dotnet; /* known to be one; else its socket decides */
};

/* CONNECT, LISTEN, UNLISTEN, RESERVE, RELEASE. */
#define RUNTIME_PORT_BYTES 108 /* sun_path */
struct runtime_request {
	struct perfmap_environment env;
	char port[RUNTIME_PORT_BYTES]; /* LISTEN, UNLISTEN: as the process names it */
};

struct list_request {
	char folder[FILE_PATH_BYTES];
};

struct symbols_request {
	char folder[FILE_PATH_BYTES];
	/* Below the folder, each with a NUL behind it, then an empty one; as many as
	 * PARSE_SYMBOLS_MAX. */
	char files[FILE_NAMES_BYTES];
	bool identity_only; /* of one file: it is looked at only */
};

struct node_request {
	char root[FILE_PATH_BYTES]; /* of the node's files, "" = "/", then /proc/1/root */
	char container_id[CONTAINER_ID_BYTES], pod_uid[CONTAINER_POD_UID_BYTES]; /* may be "" */
	unsigned candidate; /* where to begin */
};

struct file_request {
	enum file_request_kind kind;
	bool delivers; /* set by opener_ask() */
	uint64_t key;  /* who answers for it if it hangs, e.g. a user in a container */
	struct target_process target; /* these three are set by file_requests.h */
	union {
		struct mapped_request mapped;
		struct debug_request debug;
		struct map_request map;
		struct kept_map_request kept_map;
		struct same_map_request same_map;
		struct symbol_map_request symbol_map;
		struct directory_request directory;
		struct target_request memory;
		struct dotnet_request dotnet;
		struct runtime_request runtime;
		struct list_request list;
		struct symbols_request symbols;
		struct node_request node;
		/* ENVIRON, PROGRAM: nothing. */
	};
};

struct mapped_reply {
	struct elf_identity identity; /* without a build id, which would have to be read */
	enum file_stage stage;	      /* where it was found; not of SYMBOLS */
};

struct map_reply {
	uint64_t dev, ino, size_bytes;
	/* Its file system cannot hang, and the descriptor is the map itself; else it is to keep it
	 * (O_PATH), -1 where it cannot be kept. */
	bool local;
	bool nothing_new; /* it is as long as was known, and went to nobody */
};

struct directory_reply {
	uint64_t dev, ino, mount; /* mount tells mounts apart while they are there */
	uint32_t ns_pid, euid;	  /* of the process */
};

struct list_reply {
	bool cut; /* there is more */
};

struct node_reply {
	unsigned candidate; /* which it is */
	unsigned source;    /* enum parse_node_source */
};

struct file_reply {
	enum model_reason reason; /* MAPPED, DEBUG */
	/* Of all others: 0 or -errno. Maps, DIRECTORY -ESTALE: another file lies there now */
	int error;
	bool in_socket; /* the descriptor is a socket, from which the file's can be received */
	union {
		struct mapped_reply mapped; /* MAPPED; SYMBOLS, the last one */
		struct map_reply map;	    /* MAP, KEPT_MAP, SAME_MAP, SYMBOL_MAP */
		struct directory_reply directory;
		struct list_reply list;
		struct node_reply node;
		/* DEBUG, ENVIRON, PROGRAM, TARGET, DOTNET, CONNECT, LISTEN, UNLISTEN, RESERVE,
		 * RELEASE: nothing. */
	};
};

/* Whether a place for a debug file needs a build id; the others need a debug link. */
bool file_request_is_by_build_id(enum file_debug_place place);
/* Whether what is opened goes to a worker, by a socket. */
bool file_request_delivers(const struct file_request *request);
/* What is to become of the perf map that is asked for; NULL: it asks for none. */
const struct map_use *file_request_map_use(const struct file_request *request);
#endif
