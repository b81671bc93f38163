/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_PROC_H
#define HOTRUN_PROCESS_PROC_H
/*
 * What /proc/PID tells of a process, read in one go as a loader's job. Bounded in everything: the
 * process chooses its links, arguments, cgroups and mappings. Arguments are looked at for the entry
 * assembly alone and dropped.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "opener/loader.h"
#include "opener/proc_stat.h"
#include "opener/target_process.h"
#include "process/cgroup.h"
#include "process/entry.h"
#include "process/maps.h"

#define PROC_PATH_BYTES 4096 /* PATH_MAX */
/* Bytes of all paths of executable mappings kept; hundreds of libraries need some 50 KiB. */
#define PROC_PATHS_MAX (16u << 20)

struct proc_mapping {
	uint64_t start, end, file_offset, dev, inode;
	size_t path; /* offset of the terminated path in proc_facts.paths */
};

struct proc_facts {
	struct proc_stat stat;
	uint32_t ns_pid;	   /* 0 unknown */
	uint32_t uid;		   /* real; UINT32_MAX unknown */
	char exe[PROC_PATH_BYTES]; /* "" unknown */
	char entry[ENTRY_BYTES];   /* "" unless run by the `dotnet` host */
	struct cgroup_facts cgroup;
	struct proc_mapping *mappings; /* executable ones */
	size_t mappings_cnt, mappings_cap;
	char *paths;
	size_t paths_len, paths_cap;
	bool mappings_cut; /* more than the bounds allow */
};

struct proc_job {
	struct loader_job base; /* run and release are set by proc_job_new() */
	struct target_process target;
	bool want_mappings;
	int error; /* 0, or -errno: nothing could be read; -ESRCH: gone, or another's id by now */
	struct proc_facts facts;
};

/* Returns owned (release with job->base.release), or NULL with errno. */
struct proc_job *proc_job_new(const struct target_process *target, bool want_mappings);

/* The first number of the "Uid:" line of /proc/PID/status, which is the real one, as this process's
 * namespace has it; UINT32_MAX = none. Pure. */
uint32_t proc_parse_uid(const char *text);
/* The last number of the "NStgid:" line of /proc/PID/status, 0 = none. Pure. */
uint32_t proc_parse_ns_pid(const char *text);
#endif
