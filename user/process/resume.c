/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/resume.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"

#define ABOVE_MAX 64 /* processes that a process descends from */

/* A descriptor of the very process, owned, or -errno. */
static int open_process(const char *proc_path, uint32_t tgid, uint64_t start_ticks)
{
	_cleanup_close_ int process_fd = -1, fd = -1;
	struct proc_stat stat;

	if (tgid <= 1)
		return -EPERM;
	fd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (fd < 0)
		return -errno;
	/* Looked at after it was opened: what is reached is this one, or gone. */
	process_fd = guard_process(proc_path, tgid);
	if (process_fd < 0 || proc_stat_read(process_fd, &stat) || stat.start_ticks != start_ticks)
		return -ESRCH;
	return stat.kernel ? -EPERM : take_fd(&fd);
}

static int send_signal(int fd, int signal)
{
	return syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) ? -errno : 0;
}

int resume_signal(const char *proc_path, uint32_t tgid, uint64_t start_ticks, int signal)
{
	_cleanup_close_ int fd = open_process(proc_path, tgid, start_ticks);

	return fd < 0 ? fd : send_signal(fd, signal);
}

/* Whether it is gone in time; a zombie is. */
static bool is_gone_in(int fd, uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns, now_ns;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	while ((now_ns = clock_now_ns()) < end_ns)
		if (poll(&p, 1, (int)((end_ns - now_ns) / 1000000) + 1) > 0)
			return true;
	return false;
}

int resume_end(const char *proc_path, uint32_t tgid, uint64_t start_ticks, bool *ret_killed)
{
	_cleanup_close_ int fd = open_process(proc_path, tgid, start_ticks);
	int err = fd < 0 ? fd : send_signal(fd, SIGTERM);

	if (err)
		return err;
	*ret_killed = false;
	send_signal(fd, SIGCONT);
	if (is_gone_in(fd, RESUME_TERM_NS))
		return 0;
	*ret_killed = true;
	err = send_signal(fd, SIGKILL);
	if (err && err != -ESRCH)
		return err;
	return is_gone_in(fd, RESUME_KILL_NS) ? 0 : -ETIMEDOUT;
}

bool resume_is_above(const char *proc_path, uint32_t tgid)
{
	uint32_t at = (uint32_t)getpid();

	for (unsigned i = 0; i < ABOVE_MAX && at; i++) {
		_cleanup_close_ int fd = -1;
		struct proc_stat stat;

		if (at == tgid)
			return true;
		fd = guard_process(proc_path, at);
		if (fd < 0 || proc_stat_read(fd, &stat))
			return true;
		at = stat.parent_tgid;
	}
	return at != 0;
}
