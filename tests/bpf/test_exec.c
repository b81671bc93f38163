/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a `dotnet` host was executed with is known, however soon it ends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

struct exec_run {
	const char *path;
	char *const *argv;
};

static int run_path(void *arg)
{
	const struct exec_run *run = arg;

	execv(run->path, run->argv);
	return 127;
}

static pid_t run_to_end(const char *path, char *const *argv)
{
	struct exec_run run = {path, argv};
	pid_t pid = drive_fork(run_path, &run, -1, false);

	drive_wait(pid);
	return pid;
}

static const struct event_exec *exec_of(const struct drive *d, pid_t pid)
{
	for (size_t i = 0; i < d->execs_cnt; i++)
		if (d->execs[i].tgid == (uint32_t)pid)
			return &d->execs[i];
	return NULL;
}

Test(exec, arguments_of_a_dotnet_host_that_ended)
{
	char folder[] = "/tmp/hotrun-exec-XXXXXX", host[64], other[64], cut[2 * EXEC_ARGS_BYTES];
	char *args[] = {"dotnet", "exec", "/srv/Shop.Api.dll", NULL};
	char *long_args[] = {"dotnet", cut, "/srv/Shop.Api.dll", NULL};
	static const char expected[] = "dotnet\0exec\0/srv/Shop.Api.dll";
	const struct event_exec *exec;
	struct drive d;
	pid_t ended, with_long, unlike;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(host, sizeof(host), "%s/dotnet", folder);
	snprintf(other, sizeof(other), "%s/dotnets", folder);
	cr_assert_eq(symlink("/bin/true", host), 0);
	cr_assert_eq(symlink("/bin/true", other), 0);
	memset(cut, 'x', sizeof(cut) - 1);
	cut[sizeof(cut) - 1] = '\0';
	drive_open(&d, NULL);
	ended = run_to_end(host, args);
	with_long = run_to_end(host, long_args);
	unlike = run_to_end(other, args);
	drive_drain(&d);

	exec = exec_of(&d, ended);
	cr_assert_not_null(exec);
	cr_expect_eq(exec->args_bytes, sizeof(expected));
	cr_expect_arr_eq(exec->args, expected, sizeof(expected));
	cr_expect_eq(exec->process_start_ns,
		     drive_task(&d, (uint32_t)ended, EVENT_TASK_END)->process_start_ns);
	exec = exec_of(&d, with_long);
	cr_assert_not_null(exec);
	cr_expect_eq(exec->args_bytes, EXEC_ARGS_BYTES);
	cr_expect_eq(exec->args[EXEC_ARGS_BYTES - 1], 'x');
	cr_expect_null(exec_of(&d, unlike), "nobody asks for its arguments");
	drive_close(&d);
	unlink(host);
	unlink(other);
	rmdir(folder);
}
