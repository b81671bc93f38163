/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_HOST_FACTS_H
#define HOTRUN_BASE_HOST_FACTS_H
/*
 * What a look at this host found that decides whether it can be observed: plain values, filled by
 * kernel/probe.c, judged by judge/doctor.c, shown by output/doctor_*.c. What could not be read is
 * FACT_UNKNOWN. No strings of watched processes.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/feature.h"

/* Older kernels are refused: 5.15 is the first with perf links (bpf_link) for BPF programs. */
#define HOST_KERNEL_MIN_MAJOR 5
#define HOST_KERNEL_MIN_MINOR 15

static inline bool host_kernel_is_old(uint32_t major, uint32_t minor)
{
	return major < HOST_KERNEL_MIN_MAJOR ||
	       (major == HOST_KERNEL_MIN_MAJOR && minor < HOST_KERNEL_MIN_MINOR);
}

#define FACT_UNKNOWN (-1)

/* Bits of a capability mask (linux/capability.h); the last three are newer than some headers. */
enum host_capability {
	HOST_CAP_DAC_OVERRIDE = 1,
	HOST_CAP_DAC_READ_SEARCH = 2,
	HOST_CAP_IPC_LOCK = 14,
	HOST_CAP_SYS_PTRACE = 19,
	HOST_CAP_SYS_ADMIN = 21,
	HOST_CAP_SYS_RESOURCE = 24,
	HOST_CAP_SYSLOG = 34,
	HOST_CAP_PERFMON = 38,
	HOST_CAP_BPF = 39,
	HOST_CAP_CHECKPOINT_RESTORE = 40,
};

static inline bool host_has_capability(uint64_t mask, enum host_capability capability)
{
	return mask >> capability & 1;
}

enum host_lockdown {
	HOST_LOCKDOWN_UNKNOWN, /* /sys/kernel/security is not mounted */
	HOST_LOCKDOWN_NONE,
	HOST_LOCKDOWN_INTEGRITY,
	HOST_LOCKDOWN_CONFIDENTIALITY,
};

enum host_cgroups {
	HOST_CGROUPS_NONE,
	HOST_CGROUPS_V1,
	HOST_CGROUPS_V2,
	HOST_CGROUPS_HYBRID, /* the cpu controller is on v1, a v2 hierarchy beside it */
};

struct host_facts {
	char release[65];
	char version[65]; /* of uname(2) */
	char machine[65];
	uint32_t kernel_major, kernel_minor; /* 0 = the release does not say */
	bool proc; /* mounted: without it most of the others could not be read */
	bool btf;
	enum host_lockdown lockdown;
	int64_t kptr_restrict, unprivileged_bpf_disabled;
	int64_t protected_symlinks; /* in sticky folders as /tmp: 1 = only one's own are followed */
	bool kernel_symbols;	    /* /proc/kallsyms shows addresses */

	uint32_t euid;
	uint64_t capabilities; /* effective */
	int64_t seccomp;       /* mode: 0 none, 2 filter */
	int bpf_errno;	       /* of a bpf(2) that makes a small map, 0 = it works */
	int perf_errno;	       /* of a perf_event_open(2) of cpu-clock on one CPU */
	bool other_pids;       /* not in the host's pid namespace; the same of users and time */
	bool other_users;
	bool other_time; /* and CLOCK_MONOTONIC differs there */

	int64_t perf_event_paranoid, max_sample_rate_hz, cpu_time_max_pct, max_stack, mlock_kb;
	uint32_t ring_kb_per_cpu; /* what hotrun maps of perf's rings */

	bool session_tried;
	int session_error;	/* 0 or negative errno */
	char session_why[1024]; /* a sentence where it failed */
	uint64_t session_ns;	/* to load and attach */
	uint64_t map_bytes;
	struct feature_set features; /* what a recording would have; where session_tried */

	uint32_t cpus_online, cpus_possible;
	bool ticks_tried;
	int ticks_error;
	uint32_t cpus_ticking, cpus_silent; /* the rest could not be made to run something */
	uint32_t first_silent;
	uint64_t ticks_expected, ticks_taken; /* of the CPUs that ran hotrun's own load */

	char clocksource[32]; /* "" not known */
	uint32_t clock_read_ns;
	uint32_t clock_backwards; /* of many readings, those before an earlier one */
	uint64_t suspended_ns;	  /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */

	int64_t memory_available_bytes;
	int64_t cgroup_room_bytes; /* until the own cgroup's limit, FACT_UNKNOWN also: no limit */
	uint64_t memlock_bytes;	   /* UINT64_MAX unlimited */
	uint64_t files_max;	   /* hard limit of descriptors */
	uint32_t files_needed;
	int64_t disk_free_bytes; /* of the current folder */
	bool folder_writable;

	bool pressure; /* PSI */
	int64_t schedstats;
	enum host_cgroups cgroups;
	bool cpu_controller; /* its hierarchy is mounted here */
};
#endif
