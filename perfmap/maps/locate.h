/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MAPS_LOCATE_H
#define PERFMAP_MAPS_LOCATE_H
/*
 * Finds and opens the perf map of a process, from outside and safely: the process chooses what lies
 * at the path and may be hostile. Works through a descriptor of /proc/PID, so that a reused pid
 * cannot slip in between two steps. No state, no threads; a container's file system may hang any of
 * these calls, so call them from a thread that may be abandoned. Needs openat2 (Linux 5.6).
 *
 * Where .NET writes it (dotnet/runtime, src/coreclr/vm/perfmap.cpp): perf-<pid as the process sees
 * itself>.map in DOTNET_PerfMapJitDumpPath (8 and later), else /tmp; before 8 in TMPDIR. Candidates
 * are tried in the order PerfMapJitDumpPath, /tmp, TMPDIR.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmap/maps/map.h"

/* PATH_MAX; the runtime's own buffer for the path is shorter. */
#define PERFMAP_PATH_BYTES 4096u
/* A map whose last write lies this much before the process's start is another process's. File
 * times are as coarse as a clock tick (10 ms), start times too. */
#define PERFMAP_STALE_SLACK_NS 100000000ull

/* What the environment says about writing a map at all; for advice. */
enum perfmap_enabled {
	PERFMAP_ENABLED_UNKNOWN = 0, /* environment not readable */
	PERFMAP_ENABLED_UNSET, /* not set (the diagnostics socket may still have switched it on) */
	PERFMAP_ENABLED_OFF,   /* DOTNET_PerfMapEnabled=0, or 2 = jitdump only */
	PERFMAP_ENABLED_ON,    /* 1 or 3 */
};

/* Of /proc/PID/environ: the kernel allows a quarter of the stack limit, 2 MiB by default. */
#define PERFMAP_ENVIRONMENT_BYTES_MAX (4u << 20)

/* What the environment says of it; all 0: it is not known. */
struct perfmap_environment {
	enum perfmap_enabled enabled;
	char dump_dir[PERFMAP_PATH_BYTES]; /* DOTNET_ or COMPlus_PerfMapJitDumpPath; "" = unset */
	char temp_dir[PERFMAP_PATH_BYTES]; /* TMPDIR; "" = unset */
};

/* What must be known of a process to find its map. */
struct perfmap_target {
	uint32_t ns_pid; /* pid in its innermost namespace */
	uint32_t euid;	 /* as the reader's user namespace sees it */
	struct perfmap_environment env;
};

/* An open map. */
struct perfmap_file {
	int fd;		   /* read-only, close-on-exec; owned by the caller */
	uint64_t dev, ino; /* to notice that another file lies at the path */
	uint64_t size_bytes;
	uint64_t mtime_ns;		    /* wall clock */
	char path[PERFMAP_PATH_BYTES + 32]; /* as the process sees it */
};

/*
 * Opens PROC_PATH/TGID as a directory (O_PATH); proc_path is "/proc" but in tests.
 * Returns a descriptor owned by the caller, or -ESRCH (no such process) or another errno.
 */
int perfmap_process_open(const char *proc_path, uint32_t tgid);

/*
 * Reads status of the process, the kernel's own words. Returns 0, with an environment that is not
 * known: /tmp is assumed then; -ESRCH (process gone); -EBADMSG (status not understood); or another
 * errno.
 */
int perfmap_target_read(int process_fd, struct perfmap_target *ret_target);

/*
 * Takes an environment apart: entries that each end with a NUL, with one more at bytes[len]. Only
 * the variables named above are looked at. Pure, and where to do it is the caller's to choose: the
 * bytes are the process's.
 */
void perfmap_environment_parse(const char *bytes, size_t len,
			       struct perfmap_environment *ret_environment);

/*
 * Opens the map. started_wall_ns: start of the process in wall-clock time; 0 = do not check for
 * staleness. A refusal by one candidate does not keep the next from being tried; when none will do,
 * the first refusal other than -ENOENT is returned:
 *	-ENOENT		not there (see enabled)
 *	-ELOOP		a symbolic link, or the path has too many or magic ones
 *	-ENOTSUP	not a regular file: FIFO, directory, device, socket
 *	-EPERM		owned by another user than the process's effective one
 *	-EFBIG		larger than PERFMAP_FILE_BYTES_MAX
 *	-ESTALE		last written before the process started: left by an earlier one
 *	-EACCES		no permission (reading another user's needs CAP_SYS_PTRACE, and a 0600
 *			file CAP_DAC_READ_SEARCH)
 *	-ESRCH		process gone
 * or another errno of open. ret_file is untouched on failure.
 */
int perfmap_locate(int process_fd, const struct perfmap_target *target, uint64_t started_wall_ns,
		   struct perfmap_file *ret_file);

/* Candidates in the order above, for those who keep the directories: 0 .. this - 1. */
#define PERFMAP_DIRECTORIES 3u
/* The one of them that no environment names. */
#define PERFMAP_DIRECTORY_FIXED 1u

/*
 * Opens (O_PATH) the directory of a candidate, in which the map is found even when the process and
 * its mount namespace are gone. Returns a descriptor owned by the caller; -ENOENT (no such
 * candidate or directory), or another errno as above.
 */
int perfmap_directory(int process_fd, const struct perfmap_target *target, unsigned candidate);

/* As perfmap_locate(), in that directory alone. target: ns_pid and euid count. */
int perfmap_locate_in(int directory_fd, const struct perfmap_target *target,
		      uint64_t started_wall_ns, struct perfmap_file *ret_file);
#endif
