/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/target_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/guard.h"

/* A start time guessed from the fork event lies after the true one: by how much at the most. */
#define GUESS_SLACK_TICKS 100u
/* Threads looked at for one that lives, where the main one has ended. */
#define THREADS_MAX 1024u

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

/* The directory of a thread that has not ended; -1 where there is none. */
static int open_living_thread(int process_fd)
{
	int fd = openat(process_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -1;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		cleanup_close(&fd);
		return -1;
	}
	for (unsigned i = 0; found < 0 && i < THREADS_MAX && (entry = readdir(dir)); i++) {
		struct proc_stat stat;

		if (*entry->d_name < '0' || *entry->d_name > '9')
			continue;
		found = openat(fd, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (found >= 0 && (proc_stat_read(found, &stat) || proc_stat_ended(&stat))) {
			close(found);
			found = -1;
		}
	}
	closedir(dir);
	return found;
}

int target_process_open_stat(const struct target_process *target, struct proc_stat *ret_stat)
{
	_cleanup_close_ int fd = -1;
	struct proc_stat stat;
	int err, thread = -1;

	if (target->exited)
		return -ESRCH;
	fd = guard_process(target->proc_path, target->tgid);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	err = proc_stat_read(fd, &stat);
	if (err)
		return err == -EBADMSG ? -ESRCH : err;
	if (!target_process_same_start(target, stat.start_ticks))
		return -ESRCH;
	*ret_stat = stat;
	if (proc_stat_ended(&stat))
		thread = open_living_thread(fd);
	return thread >= 0 ? thread : take_fd(&fd);
}

int target_process_open(const struct target_process *target)
{
	struct proc_stat stat;

	return target_process_open_stat(target, &stat);
}

int target_process_read(int process_fd, const struct perfmap_environment *env,
			struct perfmap_target *ret_target)
{
	int err = perfmap_target_read(process_fd, ret_target);

	if (!err)
		ret_target->env = *env;
	return err;
}
