/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "base/io.h"

/* It runs for ten seconds at the most; so much of them on a CPU. */
#define CPU_S 10
/* Of a file that it writes. */
#define FILE_BYTES (256u << 20)

struct run {
	char *words[HOOK_ARGS + 1]; /* the command, then its arguments; owned */
	char *json;		    /* owned */
	size_t json_len;
};

struct hook {
	uint64_t limit_ns;
	struct run queue[HOOK_QUEUE]; /* the first one runs, or is the next */
	size_t cnt;
	pid_t pid; /* 0 = none runs; also the id of its group */
	uint64_t end_ns;
	bool killed;
};

static void run_clear(struct run *run)
{
	for (size_t i = 0; i < HOOK_ARGS + 1; i++)
		free(run->words[i]);
	free(run->json);
	*run = (struct run){0};
}

struct hook *hook_new(uint64_t limit_ns)
{
	struct hook *h = calloc(1, sizeof(*h));

	if (h)
		h->limit_ns = limit_ns;
	return h;
}

int hook_add(struct hook *h, const char *command, const char *const args[static HOOK_ARGS],
	     const char *json, size_t json_len)
{
	struct run run = {.json_len = json_len};
	bool all;

	if (h->cnt == HOOK_QUEUE)
		return -E2BIG;
	run.json = malloc(json_len + 1);
	run.words[0] = strdup(command);
	all = run.json && run.words[0];
	for (size_t i = 0; i < HOOK_ARGS; i++) {
		run.words[i + 1] = strdup(args[i]);
		all = all && run.words[i + 1];
		/* No name is an option of the operator's program. */
		if (run.words[i + 1] && *run.words[i + 1] == '-')
			*run.words[i + 1] = '_';
	}
	if (!all) {
		run_clear(&run);
		return -ENOMEM;
	}
	memcpy(run.json, json, json_len);
	h->queue[h->cnt++] = run;
	return 0;
}

size_t hook_pending(const struct hook *h)
{
	return h->cnt;
}

/* --- one run --------------------------------------------------------------------------------- */

/* In the child, between fork and exec: nothing that another thread could hold. Does not return. */
static void execute(const struct run *run, int in, pid_t parent)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *const envp[] = {path, NULL};
	const struct confinement modest = {.cpu_s = CPU_S, .file_bytes = FILE_BYTES};
	char *argv[HOOK_ARGS + 2] = {0};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	memcpy(argv, run->words, sizeof(run->words));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || null < 0 ||
	    chdir("/") || confine(&modest))
		_exit(125);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0)
		_exit(125);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	execve(argv[0], argv, envp);
	_exit(126);
}

/* Whoever reads slowly holds up nobody: it is a file. Returns it, or negative errno. */
static int input_of(const struct run *run)
{
	_cleanup_close_ int fd = memfd_create("hotrun-capture", MFD_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = io_write(fd, run->json, run->json_len);
	if (err)
		return err;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return take_fd(&fd);
}

static int start(struct hook *h, uint64_t now_ns)
{
	_cleanup_close_ int in = input_of(&h->queue[0]);
	pid_t parent = getpid(), pid;

	if (in < 0)
		return in;
	pid = fork();
	if (!pid)
		execute(&h->queue[0], in, parent);
	if (pid < 0)
		return -errno;
	/* Whichever of the two comes first. */
	setpgid(pid, pid);
	h->pid = pid;
	h->end_ns = now_ns + h->limit_ns;
	h->killed = false;
	return 0;
}

/* True when it has ended. As long as it is not reaped nobody else gets the id of its group. */
static bool has_ended(const struct hook *h)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* What it left behind ends with it. Returns its fate: 0 or negative errno. */
static int reap(struct hook *h)
{
	int status = 0;
	pid_t pid;

	kill(-h->pid, SIGKILL);
	do
		pid = waitpid(h->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	h->pid = 0;
	if (h->killed)
		return -ETIMEDOUT;
	return pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void leave(struct hook *h)
{
	run_clear(&h->queue[0]);
	h->cnt--;
	memmove(h->queue, h->queue + 1, h->cnt * sizeof(h->queue[0]));
}

int hook_look(struct hook *h, uint64_t now_ns, int *ret_err)
{
	int err;

	if (!h->cnt)
		return 0;
	if (!h->pid) {
		err = start(h, now_ns);
		if (!err)
			return 0;
		leave(h);
		*ret_err = err;
		return 1;
	}
	if (!has_ended(h)) {
		/* Dead a moment later: it is reaped with the next look. */
		if (now_ns >= h->end_ns) {
			h->killed = true;
			kill(-h->pid, SIGKILL);
			kill(h->pid, SIGKILL);
		}
		return 0;
	}
	*ret_err = reap(h);
	leave(h);
	return 1;
}

void hook_free(struct hook *h)
{
	if (!h)
		return;
	if (h->pid) {
		kill(h->pid, SIGKILL);
		reap(h);
	}
	while (h->cnt)
		leave(h);
	free(h);
}
