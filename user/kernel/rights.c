/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/rights.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privileges.h"

#define P PRIVILEGE

#define OBSERVE                                                                       \
	(P(HOST_CAP_PERFMON) | P(HOST_CAP_SYS_PTRACE) | P(HOST_CAP_DAC_READ_SEARCH) | \
	 P(HOST_CAP_CHECKPOINT_RESTORE) | P(HOST_CAP_SYSLOG))
#define LOAD \
	(P(HOST_CAP_BPF) | P(HOST_CAP_SYS_ADMIN) | P(HOST_CAP_SYS_RESOURCE) | P(HOST_CAP_IPC_LOCK))
#define BEGIN (P(CAP_SYS_NICE) | P(CAP_NET_BIND_SERVICE))
#define FILES (P(HOST_CAP_DAC_OVERRIDE) | P(CAP_CHOWN) | P(CAP_FOWNER))

/* CAP_SYS_ADMIN stands for these (capabilities(7)). */
#define OF_ADMIN (P(HOST_CAP_PERFMON) | P(HOST_CAP_CHECKPOINT_RESTORE))

uint64_t rights_kept(uint64_t held, unsigned int use, bool loaded,
		     const struct rights_kernel *kernel)
{
	uint64_t keep = OBSERVE, of_admin = OF_ADMIN;

	if (!loaded)
		keep |= LOAD | BEGIN;
	if (use & (RIGHTS_RELOAD | RIGHTS_TABLES) || !kernel->bpf) {
		keep |= P(HOST_CAP_BPF);
		of_admin |= P(HOST_CAP_BPF);
	}
	if (!kernel->memory)
		keep |= P(HOST_CAP_IPC_LOCK);
	if (use & RIGHTS_URGENT)
		keep |= P(CAP_SYS_NICE);
	if (use & RIGHTS_FILES)
		keep |= FILES;
	if ((held & of_admin) != of_admin || !kernel->events)
		keep |= P(HOST_CAP_SYS_ADMIN);
	if (!(held & P(HOST_CAP_DAC_READ_SEARCH)))
		keep |= P(HOST_CAP_DAC_OVERRIDE);
	return held & keep;
}

/* Kernels since 5.19 (commit c8644cd0efe7) ask who loads and who makes maps, those before at every
 * call where kernel.unprivileged_bpf_disabled is set. Tried, since distributions carry it back. */
static bool bpf_is_open(void)
{
	union bpf_attr attr;
	bool open;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (__u32)-1;
	if (privileges_use(~(P(HOST_CAP_BPF) | P(HOST_CAP_SYS_ADMIN))))
		return false;
	/* No such descriptor: EBADF or EBADFD, where it is not refused before that is looked at. */
	open = syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) && errno != EPERM;
	privileges_use(~0ull);
	return open;
}

/* Debian's kernels have a level 3 of kernel.perf_event_paranoid, at which only CAP_SYS_ADMIN opens
 * events. */
static bool events_are_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
	};
	long fd;
	bool open;

	if (privileges_use(~P(HOST_CAP_SYS_ADMIN)))
		return false;
	/* All processes of a CPU; any that is on line. */
	fd = syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1, PERF_FLAG_FD_CLOEXEC);
	open = fd >= 0 || (errno != EACCES && errno != EPERM);
	if (fd >= 0)
		close((int)fd);
	privileges_use(~0ull);
	return open;
}

static bool memory_is_free(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

static void keep(uint64_t mask)
{
	int err = privileges_keep(mask);

	if (err)
		log_warn("capabilities that are not needed cannot be dropped: %s", strerror(-err));
}

void rights_begin(unsigned int use)
{
	struct rights_kernel kernel = {.events = true, .memory = memory_is_free()};

	keep(rights_kept(privileges_held(), use, false, &kernel));
}

void rights_loaded(unsigned int use)
{
	struct rights_kernel kernel = {
		.bpf = bpf_is_open(), .events = events_are_open(), .memory = memory_is_free()};

	keep(rights_kept(privileges_held(), use, true, &kernel));
}

void rights_names(void)
{
	struct rights_kernel kernel = {.bpf = true, .events = true, .memory = true};

	keep(rights_kept(privileges_held(), RIGHTS_FILES, true, &kernel));
}
