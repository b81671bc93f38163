/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_LOADER_H
#define HOTRUN_OPENER_LOADER_H
/*
 * The deadline: runs jobs that may take long (a target that holds its mmap_lock, hostile content)
 * in a helper thread, and walks away from those that do. A job opens no file of a target outside
 * /proc: a thread stuck in one would keep hotrun's BPF objects even after SIGKILL (opener.h opens
 * them). It works on its own memory only. An abandoned job finishes or hangs on its own, even
 * beyond the loader's end, and is released by whoever touches it last. One caller's thread.
 */
#include <stdint.h>

struct loader;

/* Embedded as the first member of a job. Both functions may run in the helper thread. */
struct loader_job {
	void (*run)(struct loader_job *job);
	void (*release)(struct loader_job *job); /* frees the job with everything it holds */
};

/* Jobs left behind at the same time, each with a thread of LOADER_STACK_BYTES; then new jobs are
 * refused until one of them returns. */
#define LOADER_MAX_ABANDONED 16
#define LOADER_STACK_BYTES   (512u * 1024)

/* Starts no thread yet. deadline_ns: base/patience.h says how many of it a job may be blocked, or
 * be slow (a large file, a host full of spinners). Returns owned, or NULL with errno.
 */
struct loader *loader_new(uint64_t deadline_ns);
void loader_free(struct loader *l);

/*
 * Runs a job. Returns 0: it ran, and is the caller's again; -ETIMEDOUT: it was abandoned, the
 * loader took it; -EBUSY (too many abandoned) or -EAGAIN (no thread): it did not run and is the
 * caller's.
 */
int loader_run(struct loader *l, struct loader_job *job);

/* Jobs abandoned since loader_new(). */
uint64_t loader_timeouts(const struct loader *l);
#endif
