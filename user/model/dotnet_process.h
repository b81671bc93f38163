/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_DOTNET_PROCESS_H
#define HOTRUN_MODEL_DOTNET_PROCESS_H
/*
 * What is known of a .NET process from outside: its runtime, where its names come from, whether it
 * can be asked for a perf map. Found by process/dotnet.h, judged by judge/doctor.h, shown by
 * output/dotnet_process.h: one struct for all of them. Texts are the process's own, hostile. Pure.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define DOTNET_NAME_BYTES    256
#define DOTNET_VERSION_BYTES 64

/* The first runtime whose map can be switched on (dotnet/runtime, EnablePerfMap of the diagnostics
 * protocol). */
#define DOTNET_MAJOR_MIN 8

enum dotnet_found {
	DOTNET_BY_LIBRARY,    /* libcoreclr.so */
	DOTNET_BY_EXECUTABLE, /* the runtime is in the executable: single-file, NativeAOT */
	DOTNET_BY_DOUBLEMAPPER,
	DOTNET_BY_SOCKET,
};

/* Where the runtime listens for diagnostics requests. */
enum dotnet_socket {
	DOTNET_SOCKET_THERE,
	DOTNET_SOCKET_ABSENT,  /* DOTNET_EnableDiagnostics=0, or nowhere to put it */
	DOTNET_SOCKET_STALE,   /* only one of an earlier process with this pid */
	DOTNET_SOCKET_UNSAFE,  /* no socket, or another user's */
	DOTNET_SOCKET_DENIED,  /* no permission to look */
	DOTNET_SOCKET_UNKNOWN, /* did not answer in time, or the process went */
};

enum dotnet_map {
	DOTNET_MAP_SINCE_START,	 /* DOTNET_PerfMapEnabled=1 or 3, and the file is there */
	DOTNET_MAP_SWITCHED_ON,	 /* not asked for by the environment, but written since its start */
	DOTNET_MAP_SWITCHED_OFF, /* written since its start, but the runtime writes no more to it */
	DOTNET_MAP_DELETED,	 /* the runtime still writes, to a file that was deleted */
	DOTNET_MAP_ABSENT,
	DOTNET_MAP_STALE, /* last written before the process started */
	/* the runtime could not create it: read-only, no room, no directory */
	DOTNET_MAP_UNWRITABLE,
	DOTNET_MAP_UNSAFE,  /* link, FIFO, foreign owner, too large */
	DOTNET_MAP_DENIED,  /* no permission to look */
	DOTNET_MAP_UNKNOWN, /* did not answer in time, or the process went */
};

struct dotnet_process {
	uint32_t tgid, ns_pid;
	uint32_t euid;
	uint64_t start_ticks;		    /* field 22 of /proc/PID/stat: the socket's key */
	char name[DOTNET_NAME_BYTES];	    /* for people, as in reports */
	char unit[DOTNET_NAME_BYTES];	    /* "" none */
	char container[DOTNET_NAME_BYTES];  /* "" none */
	char version[DOTNET_VERSION_BYTES]; /* "10.0.12"; "" unknown */
	char version_source[32];	    /* "path", "file", "socket"; "" with no version */
	enum dotnet_found found;
	bool single_file;
	bool native_aot; /* no JIT, no perf map needed: names are in its symbols */
	bool is_32bit;
	bool musl;
	char profiler[DOTNET_NAME_BYTES]; /* library of another profiler that is loaded, "" none */
	enum dotnet_socket socket;
	char socket_path[PATH_MAX]; /* as the process sees it; "" none */
	enum dotnet_map map;
	uint64_t socket_mtime_ns; /* wall clock: when the runtime made it; 0 none */
	char map_path[PATH_MAX];  /* as the process sees it: where it is, or would be */
	uint64_t map_bytes;
	uint64_t map_entries, map_methods; /* methods: without stubs */
	bool map_cut;			   /* larger than was read: entries are a lower bound */
	uint64_t map_dev, map_ino, map_mtime_ns; /* of the file, wall clock; 0 none */
	/* Why the runtime must not or need not be asked to write a map, 0 = it may: -ELOOP (a link
	 * at the path), -ENOTSUP (no regular file), -EPERM (another user's), -EMLINK (has other
	 * names), -ENOENT (no directory), -EROFS, -EACCES (the process may not write there), or
	 * another. */
	int map_refusal;
	bool memory_denied;   /* its memory may not be read with the rights that hotrun has */
	bool diagnostics_off; /* by DOTNET_EnableDiagnostics or DOTNET_EnableDiagnostics_IPC */
};

/* Short words for tables and JSON, static: "on since start", "there", ... */
const char *dotnet_map_text(enum dotnet_map map);
const char *dotnet_socket_text(enum dotnet_socket socket);
const char *dotnet_found_text(enum dotnet_found found);
/* The same for machines: "since-start", "there", "library". */
const char *dotnet_map_id(enum dotnet_map map);
const char *dotnet_socket_id(enum dotnet_socket socket);
const char *dotnet_found_id(enum dotnet_found found);
/* Of map_refusal, as the rest of a sentence: "a symbolic link lies at the path, ...". Static. */
const char *dotnet_refusal_text(int refusal);

/* Whether it writes a map that can be read. */
bool dotnet_has_map(const struct dotnet_process *p);
/* Whether the runtime writes a map now, as far as one can see: also to a file that was deleted. */
bool dotnet_is_writing(const struct dotnet_process *p);
/* Whether it is known to be older than DOTNET_MAJOR_MIN. */
bool dotnet_is_old(const struct dotnet_process *p);
#endif
