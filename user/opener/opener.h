/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_OPENER_H
#define HOTRUN_OPENER_OPENER_H
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
#include "opener/file_requests.h"
#include "process/cgroup.h"
#include "isolate/nursery.h"
#include "parse/elf.h"
#include "perfmap/maps/locate.h"

/* Servers left behind at the same time, and of those for targets with one key. */
#define OPENER_MAX_HUNG	    16
#define OPENER_MAX_HUNG_KEY 4

/* A server that used the CPU or waits for it at its deadline is slow, not hung: it gets so many
 * deadlines. */
#define OPENER_MAX_DEADLINES 5

#define FILE_PATH_BYTES	 4096
#define FILE_NAMES_BYTES 8192

enum file_request_kind {
	FILE_REQUEST_MAPPED,	/* a mapped file */
	FILE_REQUEST_DEBUG,	/* a separate debug file of one */
	FILE_REQUEST_MAP,	/* the perf map */
	FILE_REQUEST_ENVIRON,	/* the environment */
	FILE_REQUEST_PROGRAM,	/* what it runs: /proc/PID/exe */
	FILE_REQUEST_DIRECTORY, /* a directory that is kept for when the process is gone */
	FILE_REQUEST_DOTNET, /* what is to be known of a .NET process: a struct dotnet_look in memory */
	FILE_REQUEST_CONNECT, /* a connection to its diagnostics socket */
	FILE_REQUEST_RESERVE, /* an empty file of the process's own where its map will be */
	FILE_REQUEST_RELEASE, /* takes that away, if it is empty still */
	FILE_REQUEST_LIST,    /* what lies in a folder of symbol files: paths in memory */
	FILE_REQUEST_SYMBOLS, /* files of such a folder */
	FILE_REQUEST_NODE,    /* a file of the node that may tell what it calls a container */
};

/* Where a mapped file is looked for, in this order. */
enum file_stage {
	FILE_BY_PATH,	 /* its path below the process's root */
	FILE_BY_MAPPING, /* what is mapped, which also reaches deleted files and below overlayfs */
	FILE_LEFT,	 /* its path below the root that was held for a process that is gone */
	FILE_ON_HOST,	 /* its path on the host: only with a build id to know it by */
};

struct file_request {
	enum file_request_kind what;
	bool delivers; /* set by opener_ask() */
	uint64_t key;  /* who answers for it if it hangs, e.g. a user in a container */
	struct target_process target;
	/* FILE, DEBUG: of the mapped file. LIST, SYMBOLS, MAP in_symbols: the folder.
	 * NODE: the root of the node's files, "" = "/", then /proc/1/root. */
	char path[FILE_PATH_BYTES];
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint8_t version_len; /* of an image that is known by a version id: it stands in build_id */
	uint64_t inode, start, end; /* FILE: of the mapping */
	uint64_t file_offset;	    /* likewise; the file requests' own */
	bool is_image;		    /* FILE: not ELF */
	bool identity_only;	    /* FILE, SYMBOLS: is looked at only, no descriptor comes */
	enum file_stage stage;	    /* FILE: where the search begins */
	unsigned candidate;	    /* DEBUG: 0 .. FILE_DEBUG_PLACES - 1; NODE: where to begin */
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
		char files[FILE_NAMES_BYTES];
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
#define FILE_DEBUG_PLACES 6

/* Whether a place needs a build id; the others need a debug link. */
bool file_request_is_by_build_id(unsigned candidate);

struct file_reply {
	enum model_reason reason; /* FILE, DEBUG */
	/* Of what is neither FILE nor DEBUG: 0 or -errno. MAP, HOLD -ESTALE: another file lies
	 * there now */
	int error;
	/* FILE, SYMBOLS: without a build id, which would have to be read */
	struct elf_identity identity;
	enum file_stage stage; /* FILE: where it was found */
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
bool file_request_delivers(const struct file_request *request);

struct opener;

/* Borrows the nursery until opener_free(). Returns owned, or NULL with errno ENOMEM. */
struct opener *opener_new(struct nursery *nursery, uint64_t deadline_ns);
/* Does not wait for what hangs. */
void opener_free(struct opener *f);

/*
 * Asks. give_fd: for FILE_REQUEST_MAP the map or directory that was held, for FILE and DEBUG the root directory that was
 * held for a process that may be gone, else -1. way_fd: the socket by which the file's
 * descriptor is to go (file_request_delivers()), or -1. Both stay the caller's. Returns 0 with a reply and
 * ret_fd owned (-1 = none); -ETIMEDOUT (left behind); -EBUSY (too many are, asked nothing);
 * -EPIPE (the server died of it; one that was dead before is replaced); or -EAGAIN (no process).
 */
int opener_ask(struct opener *f, struct file_request *request, int give_fd, int way_fd,
	       struct file_reply *ret_reply, int *ret_fd);

/* CPU time that servers used to answer since opener_new(). */
uint64_t opener_cpu_ns(const struct opener *f);

/* Servers left behind since opener_new(). */
uint64_t opener_timeouts(const struct opener *f);

/* The server's side, in the helper: answers one request. give_fd and way_fd are borrowed, -1 =
 * none; ret_fd owned. */
void opener_serve(const struct file_request *request, int give_fd, int way_fd,
		  struct file_reply *ret_reply, int *ret_fd);
struct stat;
struct elf_identity guard_identity(const struct stat *st);
/* What the server must know of a process to find its map. 0 or -errno. */
int target_process_read(const struct file_request *request, int process_fd,
			struct perfmap_target *ret_target);
#endif
