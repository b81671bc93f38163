/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/privileges.h"
#include "isolate/procmap_query.h"

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#endif

/* The address sanitizer maps terabytes and calls the kernel for its reports. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* --- limits ----------------------------------------------------------------------------------- */

static uint64_t address_space_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int limit(int what, uint64_t bytes)
{
	struct rlimit both = {.rlim_cur = bytes, .rlim_max = bytes};

	return setrlimit(what, &both);
}

static uint32_t set_limits(uint64_t memory_bytes)
{
	uint64_t have = address_space_bytes();

	if (limit(RLIMIT_CORE, 0) || limit(RLIMIT_FSIZE, memory_bytes) || !have ||
	    (!IS_SANITIZED && limit(RLIMIT_AS, have + memory_bytes)))
		return SANDBOX_WITHOUT_LIMITS;
	return 0;
}

/* --- system calls ----------------------------------------------------------------------------- */

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
/* The low half: flags and modes have no more. */
#define LOAD_ARGUMENT(n) LOAD(args[n])
#define RETURN(action)	 BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(call), 0, 1), RETURN(SECCOMP_RET_ALLOW)

/*
 * Reading and writing what it was handed, messages, memory, its end. No call opens, maps code or
 * reaches another process. mmap without PROT_EXEC; newfstatat of descriptors alone, as glibc's
 * fstat() calls it: its other form would look up paths.
 */
static const struct sock_filter filter[] = {
#ifdef AUDIT_ARCH_HERE
	LOAD(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	ALLOW(SYS_read),
	ALLOW(SYS_pread64),
	ALLOW(SYS_write),
	ALLOW(SYS_pwrite64),
	ALLOW(SYS_recvmsg),
	ALLOW(SYS_sendmsg),
	ALLOW(SYS_close),
	ALLOW(SYS_fstat),
	ALLOW(SYS_lseek),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_madvise),
	ALLOW(SYS_brk),
	ALLOW(SYS_getrandom),
	/* qsort() asks how much memory there is. */
	ALLOW(SYS_sysinfo),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_rt_sigreturn),
	/* libelf asks whether its descriptor is one. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
	LOAD_ARGUMENT(1),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFD, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	/* One question alone, of a list of mappings. */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 4),
	LOAD_ARGUMENT(1),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCMAP_QUERY, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 4),
	LOAD_ARGUMENT(3),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY_PATH, 0, 1),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_KILL_PROCESS),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
	LOAD_ARGUMENT(2),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
	RETURN(SECCOMP_RET_ALLOW),
	RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
	RETURN(SECCOMP_RET_KILL_PROCESS),
};

static uint32_t filter_calls(void)
{
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = (struct sock_filter *)filter,
	};

	if (IS_SANITIZED)
		return 0;
	if (sizeof(filter) / sizeof(filter[0]) == 1 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return SANDBOX_WITHOUT_SECCOMP;
	return 0;
}

uint32_t sandbox_enter(uint64_t memory_bytes)
{
	uint32_t without = privileges_drop_all() ? SANDBOX_WITHOUT_CAPABILITIES : 0;

	/* No other process of this user looks into its memory, or holds it. */
	prctl(PR_SET_DUMPABLE, 0);
	/* Its first use calls the kernel in ways that are forbidden from now on. */
	free(malloc(1));
	without |= set_limits(memory_bytes);
	return without | filter_calls();
}
