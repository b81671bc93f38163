/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/target_process.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"

/* A start time guessed from the fork event lies after the true one: by how much at the most. */
#define GUESS_SLACK_TICKS 100u

uint64_t target_process_wall_ns(const struct target_process *target)
{
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + target->start_ns;
}

bool target_process_same_start(const struct target_process *target, uint64_t start_ticks)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t wanted = target->start_ns / tick_ns;

	if (target->start_exact)
		return start_ticks == wanted;
	return start_ticks <= wanted + 1 && start_ticks + GUESS_SLACK_TICKS >= wanted;
}

int target_process_open(const struct target_process *target)
{
	_cleanup_close_ int fd = -1;
	struct proc_stat stat;
	int err;

	if (target->exited)
		return -ESRCH;
	fd = guard_process(target->proc_path, target->tgid);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	err = proc_stat_read(fd, &stat);
	if (err)
		return err == -EBADMSG ? -ESRCH : err;
	return target_process_same_start(target, stat.start_ticks) ? take_fd(&fd) : -ESRCH;
}

int target_process_read(int process_fd, const struct perfmap_environment *env,
			struct perfmap_target *ret_target)
{
	int err = perfmap_target_read(process_fd, ret_target);

	if (!err)
		ret_target->env = *env;
	return err;
}
