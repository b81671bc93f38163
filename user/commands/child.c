/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

static int try_path(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

int child_find(const char *name)
{
	const char *at = getenv("PATH");
	int found = -ENOENT;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/'))
		return try_path(name);
	for (at = at ? at : "/bin:/usr/bin";; at++) {
		size_t len = strcspn(at, ":");
		_cleanup_free_ char *path = NULL;
		int err;

		/* An empty entry is the current folder. */
		if (asprintf(&path, "%.*s%s%s", (int)len, at, len ? "/" : "", name) < 0) {
			path = NULL;
			return -ENOENT;
		}
		err = try_path(path);
		if (!err)
			return 0;
		if (err == -EACCES)
			found = err;
		at += len;
		if (!*at)
			return found;
	}
}

/* In the child: waits for the word, then becomes the command. Signals that we catch have their
 * default again after the exec; those that were ignored stay so. */
static void run(char **argv, int gate, int report)
{
	char byte;
	int err;

	if (io_read(gate, &byte, 1) != 1)
		_exit(0);
	execvp(argv[0], argv);
	err = errno;
	_exit(io_write(report, &err, sizeof(err)) ? 126 : 127);
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
	int err = io_write(child->gate, "", 1);

	if (err)
		return err;
	cleanup_close(&child->gate);
	child->gate = -1;
	/* Ends without a word when the exec succeeds: the pipe closes with it. */
	return io_read(child->report, &err, sizeof(err)) == sizeof(err) ? -err : 0;
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
