/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/signal_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/confine.h"
#include "base/helper_names.h"
#include "base/privileges.h"

#define MS_NS 1000000ull
/* Of what a command leaves behind when it leaves its process group. */
#define COMMAND_CPU_S	   10
#define COMMAND_FILE_BYTES (64ull << 20)

/* Between the processes: written by the reader's, odd while it writes. */
struct shared {
	uint32_t sequence;
	struct signal_text text;
};

struct signal_reader {
	struct shared *shared;
	pid_t pid;
};

/* What the process works on: copies, before it lets go of everything else. */
struct job {
	struct shared *shared;
	char *what;			   /* a path, or the words, cut at their ends */
	char *words[SIGNAL_WORDS_MAX + 1]; /* NULL at their end; words[0] NULL: a file */
	const struct account *account;	   /* who runs them, NULL = hotrun's user */
	pid_t parent;
	uint64_t begun_ns;
	struct signal_text text;
};

/* For the handler of the reader's process alone: the group of the command that runs, 0 = none. */
static volatile sig_atomic_t running;

/* --- a file ---------------------------------------------------------------------------------- */

/* Reads what there is, up to the bound. 0 at the end, -EAGAIN, or negative errno. */
static int read_some(int fd, struct signal_text *t)
{
	char more;

	for (;;) {
		size_t room = sizeof(t->text) - t->len;
		ssize_t n = read(fd, room ? t->text + t->len : &more, room ? room : 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		if (!room)
			return -EFBIG;
		t->len += (uint32_t)n;
	}
}

static int read_file(const char *path, struct signal_text *t)
{
	/* Not to wait for who writes a FIFO. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	if (time(NULL) - st.st_mtime > SIGNAL_FILE_AGE_S)
		return -ESTALE;
	return read_some(fd, t);
}

/* --- a command ------------------------------------------------------------------------------- */

/* The words are as hotrun was given them; who runs them shall find what is theirs. */
static void set_environment(const struct account *account)
{
	if (!account || !*account->name)
		return;
	setenv("USER", account->name, 1);
	setenv("LOGNAME", account->name, 1);
	setenv("HOME", account->home, 1);
}

/* In the child. A group of its own, so that what it starts ends with it, and Ctrl-C is hotrun's. */
static void become(const struct job *job, int output)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setpgid(0, 0);
	/* The way back that the reader has kept is not for the command. */
	if (job->account && account_become(job->account, false))
		_exit(126);
	/* After it: a change of the user forgets it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_environment(job->account);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	syscall(SYS_close_range, 3, ~0u, 0);
	execvp(job->words[0], job->words);
	_exit(errno == ENOENT ? 127 : 126);
}

/* Until its end of output, a deadline, or too much of it. */
static int read_output(int fd, uint64_t end_ns, struct signal_text *t)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = clock_now_ns();
		int err;

		if (now >= end_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)((end_ns - now) / MS_NS) + 1) <= 0)
			continue;
		err = read_some(fd, t);
		if (err != -EAGAIN)
			return err;
	}
}

/* It may run on with its output closed. */
static int wait_for(pid_t pid, uint64_t end_ns, int *ret_status)
{
	while (waitpid(pid, ret_status, WNOHANG) != pid) {
		if (clock_now_ns() >= end_ns)
			return -ETIMEDOUT;
		poll(NULL, 0, 5);
	}
	return 0;
}

static int run_command(const struct job *job, struct signal_text *t)
{
	uint64_t end_ns = clock_now_ns() + SIGNAL_DEADLINE_MS * MS_NS;
	int pipes[2], status = 0, err, ended;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	pid = fork();
	err = -errno;
	if (!pid) {
		/* The writer waits for room as it is used to. */
		fcntl(pipes[1], F_SETFL, 0);
		become(job, pipes[1]);
	}
	close(pipes[1]);
	if (pid > 0) {
		setpgid(pid, pid); /* whichever of the two comes first */
		running = pid;
		err = read_output(pipes[0], end_ns, t);
		ended = err ? -ETIMEDOUT : wait_for(pid, end_ns, &status);
		/* What it left running, too. */
		kill(-pid, SIGKILL);
		if (ended) {
			waitpid(pid, &status, 0);
			err = err ? err : ended;
		}
		running = 0;
	}
	close(pipes[0]);
	if (err)
		return err;
	t->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return t->exit_code ? -ECHILD : 0;
}

/* --- the process ----------------------------------------------------------------------------- */

static void publish(struct shared *shared, const struct signal_text *t)
{
	__atomic_store_n(&shared->sequence, shared->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(&shared->text, t, offsetof(struct signal_text, text) + t->len);
	__atomic_store_n(&shared->sequence, shared->sequence + 1, __ATOMIC_RELEASE);
}

static void end(int signal)
{
	(void)signal;
	if (running)
		kill(-(pid_t)running, SIGKILL);
	_exit(0);
}

/*
 * A file is read as hotrun could read it, a command has nothing of hotrun's. Commands are this
 * process's children, and have what it has left. 0 or negative errno.
 */
static int let_go(const struct job *job)
{
	const struct confinement c = {
		.file_bytes = COMMAND_FILE_BYTES,
		.cpu_s = COMMAND_CPU_S,
		.account = job->account,
		.keep_saved = true,
	};

	if (job->words[0])
		return confine(&c);
	return privileges_keep(PRIVILEGE(HOST_CAP_DAC_READ_SEARCH));
}

/* Nothing of hotrun's but the shared memory. 0, or why it may do nothing. */
static int settle(struct job *job)
{
	int null = open("/dev/null", O_RDWR), err;

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	syscall(SYS_close_range, 3, ~0u, 0);
	prctl(PR_SET_NAME, HELPER_SIGNALS);
	setpriority(PRIO_PROCESS, 0, 0);
	/* Ctrl-C is for hotrun. */
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, end);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	err = let_go(job);
	/* After it: a change of the user forgets it. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	job->begun_ns = clock_now_ns();
	return err;
}

static int look(struct job *job)
{
	return job->words[0] ? run_command(job, &job->text) : read_file(job->what, &job->text);
}

static void go_on(struct job *job)
{
	int err = settle(job);

	/* hotrun may have ended before the kernel was asked to tell. */
	while (getppid() == job->parent) {
		uint64_t passed_ns;

		memset(&job->text, 0, offsetof(struct signal_text, text));
		job->text.err = err ?: look(job);
		job->text.time_ns = clock_now_ns();
		publish(job->shared, &job->text);
		passed_ns = clock_now_ns() - job->begun_ns;
		poll(NULL, 0, (int)(SIGNAL_EVERY_MS - passed_ns / MS_NS % SIGNAL_EVERY_MS));
	}
	_exit(0);
}

/* Cuts what into words. 0 or -EINVAL. */
static int split(struct job *job)
{
	size_t cnt = 0;
	char *rest = NULL;

	for (char *word = strtok_r(job->what, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest)) {
		if (cnt == SIGNAL_WORDS_MAX)
			return -EINVAL;
		job->words[cnt++] = word;
	}
	return cnt ? 0 : -EINVAL;
}

static struct signal_reader *start(struct job *job)
{
	struct signal_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->shared == MAP_FAILED) {
		free(r);
		return NULL;
	}
	job->shared = r->shared;
	job->parent = getpid();
	r->pid = fork();
	if (!r->pid)
		go_on(job);
	if (r->pid > 0)
		return r;
	munmap(r->shared, sizeof(*r->shared));
	free(r);
	return NULL;
}

struct signal_reader *signal_reader_new(const char *what, bool is_command,
					const struct account *account)
{
	struct job *job = calloc(1, sizeof(*job));
	struct signal_reader *r = NULL;

	if (!job)
		return NULL;
	job->account = account;
	job->what = strdup(what);
	if (!job->what)
		errno = ENOMEM;
	else if (is_command && split(job))
		errno = EINVAL;
	else
		r = start(job);
	free(job->what);
	free(job);
	return r;
}

int signal_reader_get(const struct signal_reader *r, struct signal_text *ret_text)
{
	uint32_t before = __atomic_load_n(&r->shared->sequence, __ATOMIC_ACQUIRE);

	if (before & 1)
		return -EAGAIN;
	memcpy(ret_text, &r->shared->text, sizeof(*ret_text));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&r->shared->sequence, __ATOMIC_RELAXED) != before ||
	    ret_text->len > sizeof(ret_text->text))
		return -EAGAIN;
	return 0;
}

void signal_reader_free(struct signal_reader *r)
{
	bool ended = false;

	if (!r)
		return;
	/* It takes its command with it. */
	kill(r->pid, SIGTERM);
	for (int i = 0; i < 20 && !ended; i++) {
		ended = waitpid(r->pid, NULL, WNOHANG) == r->pid;
		if (!ended)
			poll(NULL, 0, 5);
	}
	if (!ended)
		kill(r->pid, SIGKILL);
	munmap(r->shared, sizeof(*r->shared));
	free(r);
}
