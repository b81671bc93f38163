/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_HOST_H
#define HOTRUN_KERNEL_HOST_H
/*
 * What this host is and whether it can be recorded: kernel version, BTF, capabilities, seccomp,
 * lockdown, perf settings, CPUs. Reads /proc and /sys of the host itself, never of a target.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_facts.h"

#define HOST_BTF_PATH "/sys/kernel/btf/vmlinux"

/* CPUs that hotrun can follow; the bound of its BPF maps (CONFIG_NR_CPUS of distributions). */
#define HOST_MAX_CPUS 8192

struct host {
	char name[65];
	char release[65];
	char version[65]; /* of uname(2): "#1 SMP Debian 6.1.55-1" */
	char machine[65];
	uint32_t cpus_possible;
	uint32_t cpus_online;
	uint32_t max_stack; /* kernel.perf_event_max_stack */
};

/* Fills *ret_host. Never fails: what cannot be read has the kernel's default. */
void host_describe(struct host *ret_host);

/*
 * Says whether a recording can work here. Returns 0, or a negative errno with one sentence for
 * people in why: -ENOTSUP kernel too old or without BTF, -EPERM missing capabilities, seccomp or
 * lockdown.
 */
int host_check(const struct host *host, char *why, size_t why_bytes);

/*
 * Whether what a command does (enum hazard_use) has hung or crashed hosts with this kernel
 * (base/kernel_hazards.h): the second question before anything is loaded. Logs a warning for each
 * hazard that may matter; -ENOTSUP with a sentence in why for one that is proven, unless ignored.
 */
int host_check_hazards(const struct host *host, unsigned int uses, bool ignored, char *why,
		       size_t why_bytes);

/* Effective capabilities of hotrun; seccomp mode (0 none, 2 filter); lockdown of the kernel. */
uint64_t host_capabilities(void);
int64_t host_seccomp_mode(void);
enum host_lockdown host_lockdown(void);

/* What may be behind an -EPERM of the bpf or perf_event_open system calls, as one clause. */
void host_explain_eperm(char *why, size_t why_bytes);

/* The process that a thread id belongs to (itself for a leader), 0 = there is none. */
uint32_t host_process_of(uint32_t tid);

/* Names in missing, each after a space, the capabilities that recording lacks for the names of
 * other users' processes. Returns how many. */
unsigned int host_missing_capabilities(char *missing, size_t bytes);

/* Marks the CPUs that are online in online[HOST_MAX_CPUS]; returns how many. */
uint32_t host_online_cpus(bool *online);

/* Times of each CPU since boot, in ns, to a clock tick (/proc/stat). idle_ns: waiting for I/O among
 * it; may be NULL. Those of CPUs off line are left as they are. Returns CPUs filled. */
uint32_t host_read_cpus(uint64_t *steal_ns, uint64_t *idle_ns, uint32_t cpus);

/* Time since boot in which some thread waited for a CPU ("some" of pressure stall information), in
 * ns. 0, or -ENOTSUP where the kernel keeps none. */
int host_read_pressure(uint64_t *ret_ns);

/* For how long the calling thread has run, or waited for a CPU, so far. ns; 0 where the kernel does
 * not tell. */
uint64_t host_own_age_ns(void);

/* Processes and threads that were begun since boot (/proc/stat); 0 where that cannot be read. */
uint64_t host_forks(void);

/* Memory of the host, and what of it could be had without swapping (/proc/meminfo), in bytes; both
 * untouched where that cannot be read. */
void host_read_memory(uint64_t *ret_bytes, uint64_t *ret_free_bytes);

/* CLOCK_REALTIME and CLOCK_BOOTTIME less CLOCK_MONOTONIC, ns. */
int64_t host_wall_offset_ns(void);
uint64_t host_boot_offset_ns(void);
#endif
