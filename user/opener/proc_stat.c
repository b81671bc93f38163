/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/proc_stat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "opener/guard.h"

#define STAT_BYTES 2048

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h; field 9 of stat */

int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret_stat)
{
	/* comm stands in parentheses and may hold any byte, parentheses too. */
	const char *open = memchr(text, '(', len);
	const char *close = memrchr(text, ')', len);
	unsigned long long start;
	unsigned parent, flags;
	size_t comm_len;
	int session, terminal;
	char state;

	if (!open || !close || close < open)
		return -EINVAL;
	if (sscanf(close + 1,
		   " %c %u %*d %d %d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
		   " %*d %*d %llu",
		   &state, &parent, &session, &terminal, &flags, &start) != 6)
		return -EINVAL;
	comm_len = (size_t)(close - open - 1);
	if (comm_len >= sizeof(ret_stat->comm))
		comm_len = sizeof(ret_stat->comm) - 1;
	memcpy(ret_stat->comm, open + 1, comm_len);
	ret_stat->comm[comm_len] = '\0';
	ret_stat->state = state;
	ret_stat->parent_tgid = parent;
	ret_stat->session = session > 0 ? (uint32_t)session : 0;
	ret_stat->has_terminal = terminal != 0;
	ret_stat->kernel = flags & PF_KTHREAD;
	ret_stat->start_ticks = start;
	return 0;
}

int proc_stat_read(int process_fd, struct proc_stat *ret_stat)
{
	char text[STAT_BYTES];
	ssize_t n = guard_read(process_fd, "stat", text, sizeof(text));

	if (n < 0)
		return (int)n;
	return proc_stat_parse(text, (size_t)n, ret_stat) ? -EBADMSG : 0;
}
