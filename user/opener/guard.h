/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_GUARD_H
#define HOTRUN_OPENER_GUARD_H
/*
 * The guarded door to files that a watched process can influence. A file is first opened with
 * O_PATH, which runs no code of a device or FIFO, checked, and only then opened for reading. Links
 * are followed inside the process's root, never out of it and never through /proc's magic links.
 * Calls may hang on a file system of the target: made in the helper process only (opener.h), but
 * for files of /proc itself. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "model/model.h"
#include "parse/elf.h"

/* Directory of a process below proc_path, O_PATH: it stays that incarnation's, reads of a later
 * process of the same id fail with ESRCH. Returns a descriptor owned by the caller, or -errno. */
int guard_process(const char *proc_path, uint32_t tgid);

/* The root directory of a process (its directory from guard_process), O_PATH, or -errno. */
int guard_root(int process_fd);

/*
 * Opens the regular file at path, looked up inside root_fd as chroot would (openat2(2) with
 * RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS), if it holds at most max_bytes.
 * Returns REASON_NAMED with an owned O_RDONLY descriptor and its stat; or REASON_FILE_GONE,
 * _DENIED, _UNSAFE (no regular file, too large, a link out), REASON_PROCESS_GONE.
 */
enum model_reason guard_open(int root_fd, const char *path, uint64_t max_bytes, int *ret_fd,
			     struct stat *ret_stat);

/*
 * Looks up whatever lies at path inside root_fd in the same way, without opening it: O_PATH, and a
 * link at its end is the link itself. With directory it must be one, and links lead to it. Returns
 * a descriptor owned by the caller, or -errno.
 */
int guard_look(int root_fd, const char *path, bool directory);

/*
 * Opens the very file that is mapped at start..end of a process, deleted or not, through
 * /proc/PID/map_files. Same results; REASON_FILE_DENIED without CAP_CHECKPOINT_RESTORE.
 */
enum model_reason guard_open_mapped(int process_fd, uint64_t start, uint64_t end,
				    uint64_t max_bytes, int *ret_fd, struct stat *ret_stat);

/*
 * Reads a small file of /proc whole, at most buf_bytes - 1 bytes, and terminates it. Returns the
 * length (longer files are cut), or -errno.
 */
ssize_t guard_read(int process_fd, const char *name, char *buf, size_t buf_bytes);

/* What tells a file from another, but for its build id, which would have to be read. */
struct elf_identity guard_identity(const struct stat *st);
#endif
