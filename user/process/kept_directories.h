/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_KEPT_DIRECTORIES_H
#define HOTRUN_PROCESS_KEPT_DIRECTORIES_H
/*
 * What is kept of a .NET process so that it can be named when it is gone, its mount namespace and
 * its container with it: descriptors (O_PATH) of its root directory, below which its images and
 * libraries lie, and of the directories where its perf map is or will be. Processes of one
 * container share them. Directories of file systems that may hang (NFS, FUSE) are not kept. One
 * thread.
 *
 * A descriptor keeps its file system mounted: they are closed some looks after the process's end.
 */
#include <stdbool.h>
#include <stdint.h>

#include "model/model.h"
#include "opener/file_requests.h"
#include "process/environs.h"

/* Directories kept, of all processes: with JIT_MAPS_MAX half of what is left of the usual hard
 * limit of descriptors would do. Beyond it those of the process that was used longest ago are
 * closed. */
#define KEPT_DIRECTORIES_MAX 256u
/* Processes whose directories are kept; those of one container cost no descriptors. */
#define KEPT_PROCESSES_MAX 4096u
/* Looks (kept_directories_tail) for which they are kept after its end: its last samples are
 * named by then. */
#define KEPT_LOOKS 3u

/* Where a perf map may be found, of a process that is gone. */
struct kept_place {
	int directory_fd; /* borrowed until the next call that changes what is kept */
	uint32_t ns_pid, euid;
};

struct kept_directories;

/* Borrows both until kept_directories_free(). NULL with errno ENOMEM. */
struct kept_directories *kept_directories_new(struct file_requests *requests,
					      struct environs *environs);
void kept_directories_free(struct kept_directories *k);

/*
 * Keeps the directories of a process, unless that is done already. Returns REASON_NAMED: done, as
 * far as can be; or a reason of the file requests, with which it may be tried again: what could be
 * had is kept.
 */
enum model_reason kept_directories_keep(struct kept_directories *k, const struct model *m,
					uint32_t process);

/* Closes what is kept of a process, e.g. because it runs another program. */
void kept_directories_release(struct kept_directories *k, uint32_t process);

/* Its root directory, borrowed as above; -1 = not kept. */
int kept_directories_root(struct kept_directories *k, uint32_t process);

/* The directory of a candidate for its map, 0 .. PERFMAP_DIRECTORIES - 1. False: not kept. */
bool kept_directories_map_place(struct kept_directories *k, uint32_t process, unsigned candidate,
				struct kept_place *ret_place);

/* Once a slice: closes what is kept of processes that ended some slices ago. */
void kept_directories_tail(struct kept_directories *k, const struct model *m);

/* Directories open now, and processes whose directories were closed for KEPT_DIRECTORIES_MAX. */
unsigned kept_directories_cnt(const struct kept_directories *k);
uint64_t kept_directories_closed(const struct kept_directories *k);
#endif
