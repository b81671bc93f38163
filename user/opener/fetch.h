/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_FETCH_H
#define HOTRUN_OPENER_FETCH_H
/*
 * Opens files of watched processes in a helper process. An open or a read of a FUSE file waits
 * where not even SIGKILL reaches it, and a process stuck there keeps its memory and descriptors:
 * those must not be hotrun's, with its BPF objects. So servers are forked by the nursery
 * (isolate/nursery.h), one at a time; one that does not answer is left behind and replaced.
 *
 * A server opens, and reads nothing of what it opens: the descriptor of a file goes from it to a
 * worker (parse/parse.h) by a socket, without ever being hotrun's, since closing it may hang as
 * well. A perf map is the file itself where its file system cannot hang (ext4, xfs, btrfs, tmpfs),
 * else workers copy it. Who watches at a priority above others' does not look into their roots at
 * it. One caller's thread. Servers end when hotrun does, the stuck ones when they get their answer.
 */
#include "opener/asker.h"
#include "process/cgroup.h"
#include "isolate/nursery.h"
#include "parse/elf.h"
#include "perfmap/maps/locate.h"

/* Servers left behind at the same time, and of those for targets with one key. */
#define FETCH_MAX_HUNG	   16
#define FETCH_MAX_HUNG_KEY 4

/* A server that used the CPU or waits for it at its deadline is slow, not hung: it gets so many
 * deadlines. */
#define FETCH_MAX_DEADLINES 5

#define FETCH_PATH_BYTES  4096
#define FETCH_FILES_BYTES 8192

enum fetch_what {
	FETCH_FILE,    /* a mapped file */
	FETCH_DEBUG,   /* a separate debug file of one */
	FETCH_MAP,     /* the perf map */
	FETCH_ENVIRON, /* the environment */
	FETCH_PROGRAM, /* what it runs: /proc/PID/exe */
	FETCH_HOLD,    /* a directory that is kept for when the process is gone */
	FETCH_DOTNET,  /* what is to be known of a .NET process: a struct dotnet_look in memory */
	FETCH_CONNECT, /* a connection to its diagnostics socket */
	FETCH_RESERVE, /* an empty file of the process's own where its map will be */
	FETCH_RELEASE, /* takes that away, if it is empty still */
	FETCH_LIST,    /* what lies in a folder of symbol files: paths in memory */
	FETCH_SYMBOLS, /* files of such a folder */
	FETCH_NODE,    /* a file of the node that may tell what it calls a container */
};

/* Where a mapped file is looked for, in this order. */
enum fetch_stage {
	FETCH_BY_PATH,	  /* its path below the process's root */
	FETCH_BY_MAPPING, /* what is mapped, which also reaches deleted files and below overlayfs */
	FETCH_LEFT,	  /* its path below the root that was held for a process that is gone */
	FETCH_ON_HOST,	  /* its path on the host: only with a build id to know it by */
};

struct fetch_request {
	enum fetch_what what;
	bool delivers; /* set by fetch_ask() */
	uint64_t key;  /* who answers for it if it hangs, e.g. a user in a container */
	struct asker_target target;
	/* FILE, DEBUG: of the mapped file. LIST, SYMBOLS, MAP in_symbols: the folder.
	 * NODE: the root of the node's files, "" = "/", then /proc/1/root. */
	char path[FETCH_PATH_BYTES];
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint8_t version_len; /* of an image that is known by a version id: it stands in build_id */
	uint64_t inode, start, end; /* FILE: of the mapping */
	uint64_t file_offset;	    /* likewise; the asker's own */
	bool is_image;		    /* FILE: not ELF */
	bool identity_only;	    /* FILE, SYMBOLS: is looked at only, no descriptor comes */
	enum fetch_stage stage;	    /* FILE: where the search begins */
	unsigned candidate;	    /* DEBUG: 0 .. FETCH_CANDIDATES - 1; NODE: where to begin */
	char debuglink[256];	    /* DEBUG */
	bool to_worker;		    /* MAP: its descriptor goes to a worker, wherever it lies ... */
	uint64_t known_bytes;	    /* ... unless it is as long still, 0 = it does */
	bool is_dotnet;		    /* DOTNET: known to be one; else its socket decides */
	bool in_symbols;	    /* MAP: it is files in the folder of symbol files */
	union {
		/* MAP, HOLD, DOTNET, CONNECT, RESERVE, RELEASE: what its environment says. */
		struct perfmap_environment env;
		/* SYMBOLS, MAP in_symbols: below path, each with a NUL behind it; then an empty
		 * one. SYMBOLS: as many as PARSE_SYMBOLS_MAX. */
		char files[FETCH_FILES_BYTES];
	};
	unsigned directory; /* HOLD: 0 the root, then PERFMAP_DIRECTORIES where the map may lie */
	bool in_directory;  /* MAP: the descriptor is such a directory of a process that is gone */
	bool whole;	    /* MAP: the descriptor is the map itself (O_PATH) */
	uint32_t ns_pid, euid; /* MAP with in_directory */
	/* NODE; either may be "". */
	char container_id[CGROUP_CONTAINER_ID_BYTES], pod_uid[CGROUP_POD_UID_BYTES];
};

/*
 * Places where a debug file may lie, by preference (gdb manual, "Separate Debug Files"). By build
 * id: /usr/lib/debug/.build-id/xx/yyyy.debug below the process's root, and on the host; by debug
 * link, in the process's root: beside the mapped file, in .debug there, in
 * /usr/lib/debug/FOLDER-OF-THE-FILE; and the last on the host.
 */
#define FETCH_CANDIDATES 6

/* Whether a place needs a build id; the others need a debug link. */
bool fetch_is_by_build_id(unsigned candidate);

struct fetch_reply {
	enum model_reason reason; /* FILE, DEBUG */
	/* Of what is neither FILE nor DEBUG: 0 or -errno. MAP, HOLD -ESTALE: another file lies
	 * there now */
	int error;
	/* FILE, SYMBOLS: without a build id, which would have to be read */
	struct elf_identity identity;
	enum fetch_stage stage; /* FILE: where it was found */
	bool in_socket;	   /* the descriptor is a socket, from which the file's can be received */
	uint64_t dev, ino; /* MAP, HOLD */
	uint64_t mount;	   /* HOLD: tells mounts apart while they are there */
	uint32_t ns_pid, euid; /* HOLD */
	unsigned candidate;    /* NODE: which it is */
	unsigned node_source;  /* NODE: enum parse_node_source */
	uint64_t size_bytes;   /* MAP */
	/* MAP: its file system cannot hang, and the descriptor is the map itself; else it is to
	 * hold it (O_PATH), -1 where it cannot be held. */
	bool local;
	bool cut;	  /* LIST: there is more */
	bool nothing_new; /* MAP: it is as long as was known, and went to nobody */
};

/* Whether what is opened goes to a worker, by a socket. */
bool fetch_delivers(const struct fetch_request *request);

struct fetch;

/* Borrows the nursery until fetch_free(). Returns owned, or NULL with errno ENOMEM. */
struct fetch *fetch_new(struct nursery *nursery, uint64_t deadline_ns);
/* Does not wait for what hangs. */
void fetch_free(struct fetch *f);

/*
 * Asks. give_fd: for FETCH_MAP the map or directory that was held, for FILE and DEBUG the root directory that was
 * held for a process that may be gone, else -1. way_fd: the socket by which the file's
 * descriptor is to go (fetch_delivers()), or -1. Both stay the caller's. Returns 0 with a reply and
 * ret_fd owned (-1 = none); -ETIMEDOUT (left behind); -EBUSY (too many are, asked nothing);
 * -EPIPE (the server died of it; one that was dead before is replaced); or -EAGAIN (no process).
 */
int fetch_ask(struct fetch *f, struct fetch_request *request, int give_fd, int way_fd,
	      struct fetch_reply *ret_reply, int *ret_fd);

/* CPU time that servers used to answer since fetch_new(). */
uint64_t fetch_cpu_ns(const struct fetch *f);

/* Servers left behind since fetch_new(). */
uint64_t fetch_timeouts(const struct fetch *f);

/* The server's side, in the helper: answers one request. give_fd and way_fd are borrowed, -1 =
 * none; ret_fd owned. */
void fetch_serve(const struct fetch_request *request, int give_fd, int way_fd,
		 struct fetch_reply *ret_reply, int *ret_fd);
struct stat;
struct elf_identity fetch_identity_of(const struct stat *st);
/* What the server must know of a process to find its map. 0 or -errno. */
int fetch_read_target(const struct fetch_request *request, int process_fd,
		      struct perfmap_target *ret_target);
#endif
