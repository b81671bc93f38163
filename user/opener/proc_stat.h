/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_PROC_STAT_H
#define HOTRUN_OPENER_PROC_STAT_H
/*
 * /proc/PID/stat (proc(5)): which incarnation of a pid this is, and what it is doing. The kernel
 * writes it, but for the name in it. No state; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_COMM_BYTES 64 /* names of kernel threads are longer than TASK_COMM_LEN in stat */

struct proc_stat {
	uint64_t start_ticks; /* boottime, in clock ticks of user space */
	uint32_t parent_tgid;
	uint32_t session;  /* 0 = of another pid namespace */
	bool has_terminal; /* a controlling one */
	char state;
	bool kernel; /* a kernel thread */
	char comm[PROC_COMM_BYTES];
};

/* Of a process: its main thread has ended; others may go on. */
static inline bool proc_stat_ended(const struct proc_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X';
}

/* 0 or -EINVAL, then with nothing set. Pure. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret_stat);

/* Of a process by its directory (guard_process()). 0; -EBADMSG; or the -errno of reading it. */
int proc_stat_read(int process_fd, struct proc_stat *ret_stat);
#endif
