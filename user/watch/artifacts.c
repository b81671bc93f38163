/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"

#define SUFFIX	   ".hotrun"
#define NICE	   19
#define NAME_BYTES (NAME_MAX + 1)
/* A artifact larger than that is of no use to anybody; the page of a large capture has some MB. */
#define ARTIFACT_BYTES_MAX (256u << 20)

struct artifact {
	const char *command, *option, *suffix;
};

static const struct artifact artifacts_list[] = {
	{"report", NULL, ".txt"},
	{"flame", NULL, ".html"},
	{"export", "--format=trunks", NULL},
};
#define ARTIFACTS (sizeof(artifacts_list) / sizeof(artifacts_list[0]))

struct artifacts {
	int dir_fd;
	char *program;
	uint64_t limit_ns;
	/* The first one is being written; owned. */
	char *queue[ARTIFACTS_QUEUE];
	unsigned int queue_cnt;
	size_t artifact; /* of the first one, that is written now or next */
	int err;	 /* of its artifacts so far */
	pid_t pid;	 /* 0 = none runs */
	uint64_t end_ns;
	char *done; /* as returned last */
	int trunks; /* of the one that is done or being written, or -1 */
};

struct artifacts *artifacts_new_with(int dir_fd, const char *program, uint64_t limit_ns)
{
	struct artifacts *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->dir_fd = dir_fd;
	p->limit_ns = limit_ns;
	p->trunks = -1;
	p->program = strdup(program);
	if (!p->program) {
		free(p);
		errno = ENOMEM;
		return NULL;
	}
	return p;
}

struct artifacts *artifacts_new(int dir_fd)
{
	return artifacts_new_with(dir_fd, "/proc/self/exe", ARTIFACTS_LIMIT_NS);
}

static bool is_capture_name(const char *name)
{
	size_t len = strlen(name), suffix = strlen(SUFFIX);

	/* Room for ".NAME.html.new". */
	return len > suffix && len + 3 <= NAME_MAX && name[0] != '.' && !strchr(name, '/') &&
	       !strcmp(name + len - suffix, SUFFIX);
}

int artifacts_add(struct artifacts *p, const char *name)
{
	char *copy;

	if (!is_capture_name(name))
		return -EINVAL;
	if (p->queue_cnt == ARTIFACTS_QUEUE)
		return -E2BIG;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	p->queue[p->queue_cnt++] = copy;
	return 0;
}

bool artifacts_has(const struct artifacts *p, const char *name)
{
	for (unsigned int i = 0; i < p->queue_cnt; i++)
		if (!strcmp(p->queue[i], name))
			return true;
	return false;
}

unsigned int artifacts_pending(const struct artifacts *p)
{
	return p->queue_cnt;
}

/* --- one artifact ----------------------------------------------------------------------------- */

/* Its name, and the one that it has until it is whole. */
static void name_artifact(const struct artifacts *p, char name[static NAME_BYTES],
			  char temporary[static NAME_BYTES])
{
	const char *capture = p->queue[0], *suffix = artifacts_list[p->artifact].suffix;
	int len = (int)(strlen(capture) - strlen(SUFFIX));

	/* No file of that name is ever made. */
	if (!suffix)
		suffix = ".x";

	snprintf(name, NAME_BYTES, "%.*s%s", len, capture, suffix);
	snprintf(temporary, NAME_BYTES, ".%.*s%s.new", len, capture, suffix);
}

/* In the child, between fork and exec: nothing that another thread could hold. Does not return. */
static void run(const struct artifacts *p, int out, const char *path, pid_t parent)
{
	const struct artifact *a = &artifacts_list[p->artifact];
	char *const argv[] = {"hotrun", (char *)a->command, (char *)(a->option ? a->option : path),
			      a->option ? (char *)path : NULL, NULL};
	const struct confinement modest = {.nice = NICE, .file_bytes = ARTIFACT_BYTES_MAX};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || fchdir(p->dir_fd))
		_exit(125);
	/* What it reads was chosen by watched processes. The folder is of this user:
	 * folder_open(). */
	if (confine(&modest))
		_exit(125);
	if (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(125);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	execv(p->program, argv);
	_exit(126);
}

static void forget_trunks(struct artifacts *p)
{
	if (p->trunks >= 0)
		close(p->trunks);
	p->trunks = -1;
}

static int start(struct artifacts *p, uint64_t now_ns)
{
	char name[NAME_BYTES], temporary[NAME_BYTES], path[NAME_BYTES + 2];
	pid_t parent = getpid();
	int out, err;

	forget_trunks(p);
	name_artifact(p, name, temporary);
	snprintf(path, sizeof(path), "./%s", p->queue[0]); /* no name is an option */
	if (unlinkat(p->dir_fd, temporary, 0) && errno != ENOENT)
		return -errno;
	out = openat(p->dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (out < 0)
		return -errno;
	p->pid = fork();
	if (!p->pid)
		run(p, out, path, parent);
	err = p->pid < 0 ? -errno : 0;
	close(out);
	if (err) {
		p->pid = 0;
		unlinkat(p->dir_fd, temporary, 0);
		return err;
	}
	p->end_ns = now_ns + p->limit_ns;
	return 0;
}

/* Waits for it when it was killed. Returns its fate: 0 or negative errno. */
static int reap(struct artifacts *p, int flags, bool *ret_ended)
{
	int status = 0;
	pid_t pid;

	do
		pid = waitpid(p->pid, &status, flags);
	while (pid < 0 && errno == EINTR);
	*ret_ended = pid != 0;
	if (!pid)
		return 0;
	p->pid = 0;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void stop(struct artifacts *p)
{
	bool ended;

	if (!p->pid)
		return;
	kill(p->pid, SIGKILL);
	reap(p, 0, &ended);
}

/* Its name when it is whole, else nothing is left of it. */
static int place(struct artifacts *p, int err)
{
	char name[NAME_BYTES], temporary[NAME_BYTES];

	name_artifact(p, name, temporary);
	if (!artifacts_list[p->artifact].suffix) {
		forget_trunks(p);
		if (!err)
			p->trunks = openat(p->dir_fd, temporary,
					   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		unlinkat(p->dir_fd, temporary, 0);
		return 0;
	}
	if (!err && renameat(p->dir_fd, temporary, p->dir_fd, name))
		err = -errno;
	if (err)
		unlinkat(p->dir_fd, temporary, 0);
	return err;
}

/* --- the queue ------------------------------------------------------------------------------- */

/* The artifact is there, or why not; the other one is tried all the same. */
static void next_artifact(struct artifacts *p, int err)
{
	if (!p->err)
		p->err = err;
	p->artifact++;
}

static bool disk_is_full(int dir_fd)
{
	struct statvfs disk;

	return !fstatvfs(dir_fd, &disk) && !disk.f_bavail;
}

static void look_at_running(struct artifacts *p, uint64_t now_ns)
{
	bool ended;
	int err;

	if (!p->pid)
		return;
	err = reap(p, WNOHANG, &ended);
	if (!ended && now_ns < p->end_ns)
		return;
	if (!ended) {
		stop(p);
		err = -ETIMEDOUT;
	}
	/* It has told why in the log; who asked for it is told the usual reason. */
	if (err == -EIO && disk_is_full(p->dir_fd))
		err = -ENOSPC;
	next_artifact(p, place(p, err));
}

int artifacts_take_trunks(struct artifacts *p)
{
	int fd = p->trunks;

	p->trunks = -1;
	return fd >= 0 ? fd : -ENOENT;
}

static int finish_first(struct artifacts *p, const char **ret_name, int *ret_err)
{
	free(p->done);
	p->done = p->queue[0];
	memmove(p->queue, p->queue + 1, --p->queue_cnt * sizeof(*p->queue));
	*ret_name = p->done;
	*ret_err = p->err;
	p->artifact = 0;
	p->err = 0;
	return 1;
}

int artifacts_look(struct artifacts *p, uint64_t now_ns, const char **ret_name, int *ret_err)
{
	look_at_running(p, now_ns);
	while (p->queue_cnt && !p->pid && p->artifact < ARTIFACTS) {
		int err = start(p, now_ns);

		if (err)
			next_artifact(p, artifacts_list[p->artifact].suffix ? err : 0);
	}
	return p->queue_cnt && p->artifact == ARTIFACTS ? finish_first(p, ret_name, ret_err) : 0;
}

void artifacts_free(struct artifacts *p)
{
	if (!p)
		return;
	if (p->pid) {
		stop(p);
		place(p, -EINTR);
	}
	for (unsigned int i = 0; i < p->queue_cnt; i++)
		free(p->queue[i]);
	forget_trunks(p);
	free(p->done);
	free(p->program);
	free(p);
}
