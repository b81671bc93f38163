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
#include "base/privileges.h"
#include "isolate/nursery.h"
#include "opener/file_request.h"

/* What it needs to open files of others; for nursery_new(). */
#define OPENER_CAPABILITIES                                                     \
	(PRIVILEGE(HOST_CAP_SYS_PTRACE) | PRIVILEGE(HOST_CAP_DAC_READ_SEARCH) | \
	 PRIVILEGE(HOST_CAP_CHECKPOINT_RESTORE))

/* Servers left behind at the same time, and of those for targets with one key. */
#define OPENER_MAX_HUNG	    16
#define OPENER_MAX_HUNG_KEY 4

struct opener;

/* Borrows the nursery until opener_free(). Returns owned, or NULL with errno ENOMEM.
 * deadline_ns: base/patience.h says how many of it a server may be blocked, or be slow. */
struct opener *opener_new(struct nursery *nursery, uint64_t deadline_ns);
/* Does not wait for what hangs. */
void opener_free(struct opener *o);

/*
 * Asks. give_fd: for KEPT_MAP the directory and for SAME_MAP the map that was kept, for MAPPED and
 * DEBUG the root directory that was kept of a process that may be gone, else -1. way_fd: the socket
 * by which the file's descriptor is to go (file_request_delivers()), or -1. Both stay the caller's.
 * Returns 0 with a reply and ret_fd owned (-1 = none); -ETIMEDOUT (left behind); -EBUSY (too many
 * are, asked nothing); -EPIPE (the server died of it; one that was dead before is replaced); or
 * -EAGAIN (no process).
 */
int opener_ask(struct opener *o, struct file_request *request, int give_fd, int way_fd,
	       struct file_reply *ret_reply, int *ret_fd);

/* CPU time that servers used to answer since opener_new(). */
uint64_t opener_cpu_ns(const struct opener *o);

/* Servers left behind since opener_new(). */
uint64_t opener_timeouts(const struct opener *o);
#endif
