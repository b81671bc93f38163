/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/privileges.h"

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* Without the right to it, it runs as it is. */
	if (write(fd, text, strlen(text)) < 0)
		errno = 0;
	close(fd);
}

static int bound(int what, uint64_t most)
{
	const struct rlimit limit = {most, most};

	return setrlimit(what, &limit) ? -errno : 0;
}

static int bound_all(const struct confinement *c)
{
	int err = bound(RLIMIT_CORE, 0);

	if (!err && c->file_bytes)
		err = bound(RLIMIT_FSIZE, c->file_bytes);
	if (!err && c->cpu_s)
		err = bound(RLIMIT_CPU, c->cpu_s);
	return err;
}

int confine(const struct confinement *c)
{
	int err;

	if (getpriority(PRIO_PROCESS, 0) < c->nice && setpriority(PRIO_PROCESS, 0, c->nice))
		return -errno;
	/* Before it is another user, who may not. */
	write_text("/proc/self/oom_score_adj", "1000");
	err = bound_all(c);
	if (!err)
		err = privileges_lock();
	if (!err && c->account)
		err = account_become(c->account, c->keep_saved);
	return err ?: privileges_keep(0);
}
