/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* In the child: waits for the word, then becomes the command. */
static void run(char **argv, int gate, int report)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
	ssize_t n;
	char byte;
	int err;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	do
		n = read(gate, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
	setpriority(PRIO_PROCESS, 0, 0); /* ours is raised */
	execvp(argv[0], argv);
	err = errno;
	n = write(report, &err, sizeof(err));
	_exit(n == sizeof(err) ? 127 : 126);
}

int child_prepare(char **argv, struct child *ret_child)
{
	int gate[2], report[2], err;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		err = -errno;
		close(gate[0]);
		close(gate[1]);
		return err;
	}
	pid = fork();
	err = -errno;
	if (!pid) {
		close(gate[1]);
		run(argv, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	if (pid < 0) {
		close(gate[1]);
		close(report[0]);
		return err;
	}
	*ret_child = (struct child){.pid = pid, .gate = gate[1], .report = report[0]};
	return 0;
}

int child_release(struct child *child)
{
	ssize_t n = write(child->gate, "", 1);
	int err = 0;

	if (n != 1)
		return -errno;
	cleanup_close(&child->gate);
	child->gate = -1;
	/* Ends without a word when the exec succeeds: the pipe closes with it. */
	do
		n = read(child->report, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? -err : 0;
}

bool child_ended(struct child *child, int *ret_code)
{
	int status;

	if (!child->pid || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	*ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	child->pid = 0;
	return true;
}

void child_close(struct child *child)
{
	bool unreleased = child->pid && child->gate >= 0;

	if (!child->pid && !child->report)
		return;
	cleanup_close(&child->gate);
	cleanup_close(&child->report);
	child->gate = child->report = -1;
	if (unreleased)
		waitpid(child->pid, NULL, 0);
	child->pid = 0;
}
