/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers: what they hold and may do, what becomes of jobs that go too far or of answers that are
 * none, and who pays. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "isolate/blob.h"
#include "isolate/ledger.h"
#include "isolate/message.h"
#include "isolate/workers.h"

enum what {
	ECHO,
	SPIN,
	HANG,
	DROPS,
	DIE,
	RESULT,
	READ_FILE,
	/* A worker that was taken over. */
	STOP,
	LEAVE,
	SAY_NOTHING_LONG,
	SAY_LITTLE,
	SAY_TOO_MUCH,
	SAY_GARBAGE,
	SAY_LATER,
	GIVE_FILES,
	KEEP_WRITING,
	CUT_RESULT,
	LARGE_RESULT,
};

/* Of a helper. */
#define SOCKET_FD   3
#define LARGE_BYTES (20u << 20)

struct order {
	enum what what;
	uint64_t spin_ns; /* of CPU time */
};

/* Returns what to answer with, as a worker does that is its own master. */
static size_t forge(enum what what, int result_fd, char *reply)
{
	static char large[2 * WORKERS_REPLY_BYTES];
	int fds[MESSAGE_FDS_MAX];

	switch (what) {
	case STOP:
		raise(SIGSTOP);
		break;
	case LEAVE:
		_exit(0);
	case SAY_LITTLE:
		message_send(SOCKET_FD, "x", 1, NULL, 0);
		break;
	case SAY_TOO_MUCH:
		message_send(SOCKET_FD, large, sizeof(large), NULL, 0);
		break;
	case SAY_GARBAGE:
		memset(large, 0xa5, sizeof(large));
		message_send(SOCKET_FD, large, 100, NULL, 0);
		break;
	case SAY_NOTHING_LONG:
		message_send(SOCKET_FD, large, 0, NULL, 0);
		break;
	case GIVE_FILES:
		for (unsigned i = 0; i < MESSAGE_FDS_MAX; i++)
			fds[i] = SOCKET_FD;
		message_send(SOCKET_FD, large, 10, fds, MESSAGE_FDS_MAX);
		break;
	case SAY_LATER: /* after its answer, when it may have the next job */
		if (!fork()) {
			usleep(50000);
			message_send(SOCKET_FD, large, 10, NULL, 0);
			_exit(0);
		}
		break;
	case KEEP_WRITING:
		cr_assert_eq(ftruncate(result_fd, 4096), 0);
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, result_fd, 0);
		break;
	case CUT_RESULT:
		if (pwrite(result_fd, "result", 6, 0) == 6 && !fork()) {
			for (int i = 0; i < 1000; i++)
				if (ftruncate(result_fd, i % 2))
					break;
			_exit(0);
		}
		break;
	case LARGE_RESULT:
		cr_assert_eq(ftruncate(result_fd, LARGE_BYTES), 0);
		break;
	default:
		break;
	}
	reply[0] = 'y';
	return 1;
}

/* No clock is read in the sandbox: some 1 ns a turn, so it ends at the latest. */
static __attribute__((no_sanitize("address", "undefined", "coverage"))) void spin(uint64_t ns)
{
	volatile uint64_t work = 0;

	for (uint64_t i = 0; i < ns * 4; i++)
		work = work + i;
}

static size_t do_order(const void *request, size_t len, const int *fds, unsigned fd_cnt,
		       int result_fd, void *reply)
{
	const struct order *order = request;
	char *text = reply;

	text[0] = len == sizeof(*order) ? 'y' : 'n';
	text[1] = (char)('0' + fd_cnt);
	switch (order->what) {
	case SPIN:
		spin(order->spin_ns);
		break;
	case HANG: /* as on a file system that does not answer */
		text[0] = read(fds[0], text + 1, 1) ? 'y' : 'n';
		break;
	case DROPS: /* as on one that answers again and again, and never ends */
		while (read(fds[0], text + 1, 1) == 1)
			;
		break;
	case DIE:
		abort();
	case RESULT:
		if (pwrite(result_fd, "result", 6, 0) != 6)
			text[0] = 'n';
		break;
	case READ_FILE:
		if (pread(fds[0], text, 4, 0) != 4)
			text[0] = 'n';
		return 4;
	case ECHO:
		break;
	default:
		return forge(order->what, result_fd, text);
	}
	return 2;
}

struct pool {
	struct nursery *nursery;
	struct workers *workers;
};

static struct pool pool_new(uint64_t cpu_ns, uint64_t wall_ns)
{
	struct workers_limits limits = {.cpu_ns = cpu_ns, .wall_ns = wall_ns};
	struct pool p = {.nursery = nursery_new(0)};

	cr_assert(p.nursery);
	p.workers = workers_new(p.nursery, do_order, &limits);
	cr_assert(p.workers);
	return p;
}

static void pool_free(struct pool *p)
{
	workers_free(p->workers);
	nursery_free(p->nursery);
}

static struct workers_job *submit_to(struct pool *p, enum workers_lane lane, uint64_t party,
				     enum what what, uint64_t spin_ns, int fd)
{
	struct order order = {what, spin_ns};
	bool has_result = what == RESULT || what >= KEEP_WRITING;
	struct workers_job *job = workers_job_new(party, &order, sizeof(order), has_result);

	cr_assert(job);
	if (fd >= 0)
		cr_assert(workers_job_give(job, fd));
	workers_submit(p->workers, job, lane);
	return job;
}

static struct workers_job *submit(struct pool *p, uint64_t party, enum what what, uint64_t spin_ns,
				  int fd)
{
	return submit_to(p, WORKERS_USUAL, party, what, spin_ns, fd);
}

static int run(struct pool *p, enum what what, int fd)
{
	struct workers_job *job = submit(p, 1, what, 0, fd);
	int err;

	cr_assert(workers_wait(p->workers, job, 20 * SECOND_NS));
	err = workers_job_error(job);
	workers_job_free(p->workers, job);
	return err;
}

Test(workers, jobs_are_answered_one_after_the_other)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *jobs[8];

	for (int i = 0; i < 8; i++)
		jobs[i] = submit(&p, (uint64_t)i + 1, ECHO, 0, -1);
	for (int i = 0; i < 8; i++) {
		const char *reply;
		size_t len;

		cr_assert(workers_wait(p.workers, jobs[i], 20 * SECOND_NS));
		cr_expect_eq(workers_job_error(jobs[i]), 0);
		reply = workers_job_reply(jobs[i], &len);
		cr_expect(len == 2 && !memcmp(reply, "y0", 2));
		workers_job_free(p.workers, jobs[i]);
	}
	pool_free(&p);
}

Test(workers, a_descriptor_arrives_and_nothing_is_kept_of_it)
{
	int fd = memfd_create("given", MFD_CLOEXEC);
	struct pool p = pool_new(0, 0);
	struct workers_job *job;
	struct stat given, now;
	size_t len;

	cr_assert_eq(write(fd, "text", 4), 4);
	cr_assert_eq(fstat(fd, &given), 0);
	job = submit(&p, 1, READ_FILE, 0, fd);
	cr_assert(workers_wait(p.workers, job, 20 * SECOND_NS));
	cr_expect(!memcmp(workers_job_reply(job, &len), "text", 4));
	cr_expect(fstat(fd, &now) || now.st_ino != given.st_ino || now.st_dev != given.st_dev,
		  "ours was closed when it was sent");
	workers_job_free(p.workers, job);
	pool_free(&p);
}

Test(workers, a_result_cannot_be_changed_any_more)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *job = submit(&p, 1, RESULT, 0, -1);
	size_t bytes;
	int fd;

	cr_assert(workers_wait(p.workers, job, 20 * SECOND_NS));
	fd = workers_job_take_result(job, &bytes);
	cr_assert(fd >= 0);
	cr_expect_eq(bytes, 6);
	cr_expect(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM);
	cr_expect(ftruncate(fd, 0) < 0);
	close(fd);
	workers_job_free(p.workers, job);
	pool_free(&p);
}

Test(workers, a_job_that_uses_too_much_ends_with_its_worker_and_others_go_on)
{
	struct pool p = pool_new(100000000, 0);
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	struct workers_job *job = submit(&p, 1, SPIN, 1000 * SECOND_NS, -1);

	cr_assert(workers_wait(p.workers, job, 60 * SECOND_NS));
	cr_expect_eq(workers_job_error(job), -ETIME);
	cr_expect_geq(workers_job_cpu_ns(job), 100000000);
	cr_expect_lt(workers_job_cpu_ns(job), 1000000000);
	cr_expect_lt(clock_ns(CLOCK_MONOTONIC) - start_ns, 30 * SECOND_NS);
	workers_job_free(p.workers, job);
	cr_expect_eq(workers_counters(p.workers).killed, 1);
	cr_expect_eq(run(&p, ECHO, -1), 0);
	pool_free(&p);
}

Test(workers, limits_can_be_changed_while_they_are_at_work)
{
	struct pool p = pool_new(60 * SECOND_NS, 0);
	struct workers_limits limits = {.cpu_ns = SECOND_NS / 10};
	struct workers_job *job = submit(&p, 1, SPIN, 1000 * SECOND_NS, -1);

	cr_expect(!workers_wait(p.workers, job, SECOND_NS / 2));
	workers_limit(p.workers, &limits);
	cr_assert(workers_wait(p.workers, job, 60 * SECOND_NS));
	cr_expect_eq(workers_job_error(job), -ETIME);
	workers_job_free(p.workers, job);
	pool_free(&p);
}

Test(workers, a_job_that_takes_too_long_ends_and_is_paid_for)
{
	struct pool p = pool_new(20 * SECOND_NS, 1500000000);
	int pipe_fds[2];

	cr_assert_eq(pipe(pipe_fds), 0);
	cr_expect_eq(run(&p, HANG, pipe_fds[0]), -ETIMEDOUT);
	cr_expect(workers_in_debt(p.workers, 1));
	cr_expect(!workers_in_debt(p.workers, 3));
	close(pipe_fds[1]);
	pool_free(&p);
}

/* Who reads where a process may let it hang holds up the others of its lane for a second, once: his
 * next ones wait until that is paid. */
Test(workers, a_brief_job_that_hangs_holds_up_nobody_for_long)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *hangs, *again, *usual, *other;
	int pipe_fds[2];

	cr_assert_eq(pipe(pipe_fds), 0);
	hangs = submit_to(&p, WORKERS_BRIEF, 1, HANG, 0, fcntl(pipe_fds[0], F_DUPFD_CLOEXEC, 0));
	again = submit_to(&p, WORKERS_BRIEF, 1, HANG, 0, pipe_fds[0]);
	usual = submit_to(&p, WORKERS_URGENT, 2, ECHO, 0, -1);
	other = submit_to(&p, WORKERS_BRIEF, 3, ECHO, 0, -1);
	cr_expect(workers_wait(p.workers, usual, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(hangs), -EINPROGRESS);
	cr_expect(workers_wait(p.workers, hangs, 5 * SECOND_NS));
	cr_expect_eq(workers_job_error(hangs), -ETIMEDOUT);
	cr_expect(workers_wait(p.workers, other, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(other), 0);
	cr_expect_eq(workers_job_error(again), -EINPROGRESS);
	cr_expect(workers_in_debt(p.workers, 1));
	workers_job_free(p.workers, hangs);
	workers_job_free(p.workers, again);
	workers_job_free(p.workers, usual);
	workers_job_free(p.workers, other);
	close(pipe_fds[1]);
	pool_free(&p);
}

/* It is not held to hang as soon as one that gets nothing at all, but not much later. */
Test(workers, a_job_that_is_answered_by_drops_ends)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *job;
	uint64_t start_ns, past_ns;
	int pipe_fds[2];
	pid_t pid;

	cr_assert_eq(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		close(pipe_fds[0]);
		for (int i = 0; i < 200 && write(pipe_fds[1], "x", 1) == 1; i++)
			usleep(100000);
		_exit(0);
	}
	close(pipe_fds[1]);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	job = submit_to(&p, WORKERS_BRIEF, 1, DROPS, 0, pipe_fds[0]);
	cr_expect(workers_wait(p.workers, job, 15 * SECOND_NS));
	past_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
	cr_expect_eq(workers_job_error(job), -ETIMEDOUT, "%d", workers_job_error(job));
	cr_expect_geq(past_ns, 3 * WORKERS_BRIEF_NS / 2, "%lu", past_ns);
	/* On a full host one that wants a CPU has more time. */
	cr_expect_lt(past_ns, 8 * WORKERS_BRIEF_NS, "%lu", past_ns);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	workers_job_free(p.workers, job);
	pool_free(&p);
}

/* Answers are not read by anybody while orders come in. */
Test(workers, a_worker_that_does_not_read_makes_nobody_wait)
{
	struct workers_job *jobs[400];
	struct pool p = pool_new(0, 0);
	int pipe_fds[2];
	uint64_t start_ns;

	cr_assert_eq(pipe(pipe_fds), 0);
	start_ns = clock_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 400; i++)
		jobs[i] = submit(&p, 1, HANG, 0, fcntl(pipe_fds[0], F_DUPFD_CLOEXEC, 0));
	cr_expect_lt(clock_ns(CLOCK_MONOTONIC) - start_ns, 5 * SECOND_NS);
	for (int i = 0; i < 400; i++)
		workers_job_free(p.workers, jobs[i]);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	pool_free(&p);
}

Test(workers, a_worker_that_dies_takes_its_job_alone)
{
	struct pool p = pool_new(0, 0);

	cr_expect_eq(run(&p, DIE, -1), -EPIPE);
	cr_expect_eq(workers_counters(p.workers).died, 1);
	cr_expect_eq(run(&p, ECHO, -1), 0);
	pool_free(&p);
}

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned cnt = 0;

	cr_assert(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

Test(workers, what_is_no_answer_ends_its_worker_and_is_counted)
{
	static const struct {
		const char *name;
		enum what what;
	} rows[] = {
		{"its end", LEAVE},
		{"an empty message", SAY_NOTHING_LONG},
		{"half an answer", SAY_LITTLE},
		{"more than fits", SAY_TOO_MUCH},
		{"garbage", SAY_GARBAGE},
		{"descriptors", GIVE_FILES},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pool p = pool_new(0, 0);
		unsigned before;

		cr_expect_eq(run(&p, ECHO, -1), 0);
		before = open_files();
		cr_expect_eq(run(&p, rows[i].what, -1), -EPIPE, "%s", rows[i].name);
		cr_expect_eq(workers_counters(p.workers).died, 1, "%s", rows[i].name);
		cr_expect_eq(run(&p, ECHO, -1), 0, "%s", rows[i].name);
		cr_expect_leq(open_files(), before + 1, "%s: one is of the killed worker",
			      rows[i].name);
		pool_free(&p);
	}
}

Test(workers, an_answer_to_a_job_that_was_not_asked_is_none_to_the_next)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *job;

	/* The answer that was not asked for comes while nothing is to be done ... */
	cr_expect_eq(run(&p, SAY_LATER, -1), 0);
	usleep(200000);
	workers_poll(p.workers);
	cr_expect_eq(workers_counters(p.workers).died, 1);
	cr_expect_eq(run(&p, ECHO, -1), 0);
	/* ... or just before the next job, or during it. */
	cr_expect_eq(run(&p, SAY_LATER, -1), 0);
	job = submit(&p, 1, SPIN, SECOND_NS / 4, -1);
	cr_assert(workers_wait(p.workers, job, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(job), -EPIPE);
	cr_expect_eq(workers_counters(p.workers).died, 2);
	workers_job_free(p.workers, job);
	pool_free(&p);
}

Test(workers, a_worker_that_stops_itself_is_ended_and_others_go_on)
{
	struct pool p = pool_new(20 * SECOND_NS, SECOND_NS);
	struct workers_job *stopped = submit(&p, 1, STOP, 0, -1), *other;

	for (uint64_t party = 3; party < 8; party++) {
		other = submit(&p, party, ECHO, 0, -1);
		cr_expect(workers_wait(p.workers, other, 20 * SECOND_NS));
		cr_expect_eq(workers_job_error(other), 0);
		workers_job_free(p.workers, other);
	}
	cr_assert(workers_wait(p.workers, stopped, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(stopped), -ETIMEDOUT);
	cr_expect_eq(workers_counters(p.workers).killed, 1);
	workers_job_free(p.workers, stopped);
	cr_expect_eq(run(&p, ECHO, -1), 0);
	for (int i = 0; i < 100 && workers_counters(p.workers).stuck; i++) {
		usleep(20000);
		workers_poll(p.workers);
	}
	cr_expect_eq(workers_counters(p.workers).stuck, 0, "SIGKILL reaches who is stopped");
	pool_free(&p);
}

Test(workers, a_result_that_may_change_is_none)
{
	struct pool p = pool_new(0, 0);
	struct workers_job *job = submit(&p, 1, KEEP_WRITING, 0, -1);
	size_t bytes;
	int fd;

	cr_assert(workers_wait(p.workers, job, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(job), 0);
	cr_expect_lt(workers_job_take_result(job, &bytes), 0, "it is mapped to be written");
	workers_job_free(p.workers, job);
	for (int i = 0; i < 20; i++) {
		struct stat st;

		job = submit(&p, 1, CUT_RESULT, 0, -1);
		cr_assert(workers_wait(p.workers, job, 20 * SECOND_NS));
		fd = workers_job_take_result(job, &bytes);
		cr_assert(fd < 0 || !fstat(fd, &st));
		cr_expect(fd < 0 || (size_t)st.st_size == bytes);
		usleep(1000);
		cr_assert(fd < 0 || !fstat(fd, &st));
		cr_expect(fd < 0 || (size_t)st.st_size == bytes, "nor later");
		if (fd >= 0)
			close(fd);
		workers_job_free(p.workers, job);
	}
	pool_free(&p);
}

/* Files that are small and lead to large tables, while hotrun is busy elsewhere. */
Test(workers, results_that_nobody_took_are_bounded)
{
	struct workers_job *jobs[12], *other;
	struct pool p = pool_new(0, 0);
	int ended = 0;
	size_t bytes;

	for (int i = 0; i < 12; i++)
		jobs[i] = submit(&p, 1, LARGE_RESULT, 0, -1);
	while (workers_wait_any(p.workers, SECOND_NS))
		;
	for (int i = 0; i < 12; i++)
		ended += workers_job_error(jobs[i]) == 0;
	cr_expect_leq(ended, 4, "%d of 20 MB", ended);
	cr_expect_leq(workers_counters(p.workers).result_bytes, 4 * LARGE_BYTES);
	other = submit(&p, 3, LARGE_RESULT, 0, -1);
	cr_expect(workers_wait(p.workers, other, 20 * SECOND_NS), "of another party");
	workers_job_free(p.workers, other);
	for (int i = 0; i < 12; i++) {
		int fd;

		cr_expect(workers_wait(p.workers, jobs[i], 20 * SECOND_NS), "%d", i);
		fd = workers_job_take_result(jobs[i], &bytes);
		cr_expect(fd >= 0 && bytes == LARGE_BYTES);
		close(fd);
		workers_job_free(p.workers, jobs[i]);
	}
	cr_expect_eq(workers_counters(p.workers).result_bytes, 0);
	pool_free(&p);
}

Test(workers, who_has_used_up_his_share_waits_and_nobody_else)
{
	struct pool p = pool_new(20 * SECOND_NS, 60 * SECOND_NS);
	struct workers_job *greedy, *other, *trusted;

	greedy = submit(&p, 1, SPIN, WORKERS_PARTY_BURST_NS * 2, -1);
	while (!workers_in_debt(p.workers, 1) && workers_job_error(greedy) == -EINPROGRESS)
		workers_wait(p.workers, greedy, 50000000);
	cr_assert(workers_in_debt(p.workers, 1), "%d", workers_job_error(greedy));
	workers_job_free(p.workers, greedy);
	greedy = submit(&p, 1, ECHO, 0, -1);
	other = submit(&p, 3, ECHO, 0, -1);
	trusted = submit(&p, WORKERS_TRUSTED, ECHO, 0, -1);
	cr_expect(workers_wait(p.workers, other, 20 * SECOND_NS));
	cr_expect(workers_wait(p.workers, trusted, 20 * SECOND_NS));
	/* On a busy machine the others may have taken until his debt was paid. */
	cr_expect(!workers_wait(p.workers, greedy, 100000000) || !workers_in_debt(p.workers, 1));
	cr_expect(workers_job_error(greedy) == -EINPROGRESS || !workers_in_debt(p.workers, 1));
	workers_job_free(p.workers, greedy);
	workers_job_free(p.workers, other);
	workers_job_free(p.workers, trusted);
	pool_free(&p);
}

Test(workers, who_is_set_aside_waits_until_he_is_not)
{
	static const uint64_t parties[] = {1, 5};
	struct pool p = pool_new(0, 0);
	struct workers_job *aside, *other;

	workers_set_aside(p.workers, parties, 2);
	cr_expect(workers_in_debt(p.workers, 1) && !workers_in_debt(p.workers, 3));
	aside = submit(&p, 1, ECHO, 0, -1);
	other = submit(&p, 3, ECHO, 0, -1);
	cr_expect(workers_wait(p.workers, other, 20 * SECOND_NS));
	cr_expect_not(workers_wait(p.workers, aside, 100000000));
	workers_set_aside(p.workers, parties + 1, 1);
	cr_expect(workers_wait(p.workers, aside, 20 * SECOND_NS));
	cr_expect_eq(workers_job_error(aside), 0);
	workers_job_free(p.workers, aside);
	workers_job_free(p.workers, other);
	pool_free(&p);
}

/* Tables are taken in elsewhere. */
Test(workers, what_was_done_with_results_is_paid_too)
{
	struct pool p = pool_new(0, 0);

	workers_charge(p.workers, 1, WORKERS_PARTY_BURST_NS / 2);
	cr_expect(!workers_in_debt(p.workers, 1));
	workers_charge(p.workers, 1, WORKERS_PARTY_BURST_NS);
	cr_expect(workers_in_debt(p.workers, 1));
	cr_expect_eq(workers_counters(p.workers).granted_ns, WORKERS_PARTY_BURST_NS);
	cr_expect_eq(workers_counters(p.workers).beyond_ns, WORKERS_PARTY_BURST_NS / 2);
	workers_charge(p.workers, WORKERS_TRUSTED, 10 * WORKERS_PARTY_BURST_NS);
	cr_expect(!workers_in_debt(p.workers, WORKERS_TRUSTED));
	cr_expect_eq(workers_counters(p.workers).granted_ns, 2 * WORKERS_PARTY_BURST_NS);
	cr_expect_eq(workers_counters(p.workers).beyond_ns, WORKERS_PARTY_BURST_NS / 2,
		     "nobody is to be set aside for them");
	pool_free(&p);
}

/* One that takes longer than somebody waits at a time is no reason to go. */
Test(workers, a_job_that_goes_on_is_told_from_none_at_all)
{
	struct pool p = pool_new(20 * SECOND_NS, 60 * SECOND_NS);
	struct workers_job *job;

	cr_expect_not(workers_is_busy(p.workers));
	cr_expect_not(workers_wait_any(p.workers, SECOND_NS), "none runs");
	job = submit(&p, 1, SPIN, WORKERS_PARTY_BURST_NS / 2, -1);
	cr_expect_not(workers_wait_any(p.workers, 10000000));
	cr_expect(workers_is_busy(p.workers));
	cr_expect(workers_wait_any(p.workers, 20 * SECOND_NS));
	cr_expect_not(workers_is_busy(p.workers));
	workers_job_free(p.workers, job);
	pool_free(&p);
}

/* Whom the end of a recording waits for. */
Test(workers, a_party_is_in_debt_once_its_whole_allowance_is_used)
{
	static const uint64_t aside = 3;
	struct pool p = pool_new(0, 0);

	cr_expect_not(workers_in_debt(p.workers, 1));
	workers_charge(p.workers, 1, WORKERS_PARTY_BURST_NS * 9 / 10);
	cr_expect_not(workers_in_debt(p.workers, 1), "a service on a slow CPU needs most of it");
	workers_charge(p.workers, 1, WORKERS_PARTY_BURST_NS);
	cr_expect(workers_in_debt(p.workers, 1));
	cr_expect_not(workers_in_debt(p.workers, 3));
	workers_set_aside(p.workers, &aside, 1);
	cr_expect(workers_in_debt(p.workers, 3));
	workers_charge(p.workers, WORKERS_TRUSTED, 10 * WORKERS_PARTY_BURST_NS);
	cr_expect_not(workers_in_debt(p.workers, WORKERS_TRUSTED));
	pool_free(&p);
}

Test(ledger, an_account_fills_again_at_its_rate)
{
	/* 1,000 at once, then a million in 100 s: 10 a millisecond. */
	struct ledger *l = ledger_new(1000, 100 * SECOND_NS);

	cr_expect_eq(ledger_balance(l, 7, 0), 1000);
	ledger_charge(l, 7, 1500, 0);
	cr_expect_eq(ledger_balance(l, 7, 0), -500);
	cr_expect_eq(ledger_balance(l, 7, 50000000), 0);
	cr_expect_eq(ledger_balance(l, 7, 100000000), 500);
	cr_expect_eq(ledger_balance(l, 7, 10 * SECOND_NS), 1000, "never more");
	cr_expect_eq(ledger_balance(l, 8, 0), 1000, "others have theirs");
	ledger_free(l);
}

Test(ledger, who_is_in_debt_is_not_forgotten_for_a_crowd)
{
	struct ledger *l = ledger_new(1000, 100 * SECOND_NS);

	ledger_charge(l, 1, 5000, 0);
	for (uint64_t party = 2; party < 3 * LEDGER_PARTIES_MAX; party++)
		ledger_charge(l, party, 1, 0);
	cr_expect_eq(ledger_balance(l, 1, 0), -4000);
	ledger_free(l);
}

/* --- all parties together, by a clock of our own --- */

#define CROWD	  100u
#define JOB_NS	  100000000u
#define STEP_NS	  100000000u
#define STRIDE_NS (10ull * STEP_NS) /* where much time goes by */
#define ALL_SHARE 100u

/* Parties that always want more, and what each of them got. */
struct crowd {
	struct ledger *l;
	uint64_t now_ns, used_ns[CROWD + 1], first_ns;
};

static struct crowd crowd_new(void)
{
	struct crowd c = {.l = ledger_new(SECOND_NS, 100 * 1000000), .now_ns = 1000 * SECOND_NS};

	cr_assert(c.l);
	ledger_bound(c.l, 16 * SECOND_NS, ALL_SHARE * 1000000);
	return c;
}

/* The next one of the crowd whose work begins, as workers choose it; CROWD: nobody's. */
static unsigned next_of(const struct crowd *c, unsigned parties)
{
	unsigned best = CROWD;
	int64_t most = 0;

	for (unsigned i = 0; i < parties; i++) {
		int64_t balance = ledger_balance(c->l, i + 1, c->now_ns);

		if (balance > most && ledger_may(c->l, i + 1, c->now_ns)) {
			most = balance;
			best = i;
		}
	}
	return best;
}

static void pass(struct crowd *c, unsigned parties, uint64_t ns, uint64_t step_ns)
{
	for (uint64_t end_ns = c->now_ns + ns; c->now_ns < end_ns; c->now_ns += step_ns) {
		unsigned i = next_of(c, parties);

		if (i == CROWD)
			continue;
		c->first_ns += ledger_charge(c->l, i + 1, JOB_NS, c->now_ns);
		c->used_ns[i] += JOB_NS;
	}
}

static uint64_t used_by_all(const struct crowd *c)
{
	uint64_t sum_ns = 0;

	for (unsigned i = 0; i <= CROWD; i++)
		sum_ns += c->used_ns[i];
	return sum_ns;
}

Test(ledger, a_crowd_uses_no_more_than_all_may_use)
{
	struct crowd c = crowd_new();
	uint64_t before_ns, least_ns = UINT64_MAX, most_ns = 0;

	pass(&c, CROWD, 1000 * SECOND_NS, STEP_NS);
	cr_expect_leq(used_by_all(&c), 16 * SECOND_NS + 1000 * SECOND_NS / ALL_SHARE + JOB_NS);
	cr_expect_geq(used_by_all(&c), 16 * SECOND_NS, "and what it may, at once");
	before_ns = used_by_all(&c);
	pass(&c, CROWD, 4000 * SECOND_NS, STEP_NS);
	cr_expect_leq(used_by_all(&c) - before_ns, 40 * SECOND_NS + JOB_NS, "%lu ms",
		      (used_by_all(&c) - before_ns) / 1000000);
	cr_expect_geq(used_by_all(&c) - before_ns, 25 * SECOND_NS);
	for (unsigned i = 0; i < CROWD; i++) {
		least_ns = c.used_ns[i] < least_ns ? c.used_ns[i] : least_ns;
		most_ns = c.used_ns[i] > most_ns ? c.used_ns[i] : most_ns;
	}
	cr_expect_leq(most_ns, least_ns + 2 * JOB_NS, "equal parts: %lu to %lu ms",
		      least_ns / 1000000, most_ns / 1000000);
	ledger_free(c.l);
}

Test(ledger, one_party_alone_is_not_slowed_down_by_the_others_bound)
{
	struct crowd c = crowd_new();

	pass(&c, 1, 1000 * SECOND_NS, STEP_NS);
	cr_expect_geq(c.used_ns[0], 10 * SECOND_NS);
	cr_expect_leq(c.used_ns[0], 11 * SECOND_NS + JOB_NS);
	cr_expect_eq(c.first_ns, SECOND_NS, "of which its first allowance");
	ledger_free(c.l);
}

/* A service is deployed on a host where a hundred users burn what they may. */
Test(ledger, a_newcomer_is_not_starved_by_those_who_were_there)
{
	struct crowd c = crowd_new();
	uint64_t begin_ns, used_ns = 0;

	pass(&c, CROWD, 20000 * SECOND_NS, STRIDE_NS);
	cr_expect_leq(ledger_balance(c.l, 1, c.now_ns), (int64_t)SECOND_NS / 2);
	cr_assert_not(ledger_may(c.l, 1, c.now_ns), "of the crowd nobody may now");
	begin_ns = c.now_ns;
	while (used_ns < 3 * SECOND_NS / 10 && c.now_ns < begin_ns + 60 * SECOND_NS) {
		if (ledger_may(c.l, CROWD + 1, c.now_ns)) {
			ledger_charge(c.l, CROWD + 1, 10000000, c.now_ns);
			used_ns += 10000000;
		}
		pass(&c, CROWD, STEP_NS, STEP_NS);
	}
	cr_expect_leq(c.now_ns - begin_ns, 10 * SECOND_NS, "named after %lu ms",
		      (c.now_ns - begin_ns) / 1000000);
	ledger_free(c.l);
}

Test(ledger, who_uses_little_goes_on_where_a_crowd_has_spent_all)
{
	struct crowd c = crowd_new();
	unsigned refused = 0;

	ledger_charge(c.l, CROWD + 1, 12 * SECOND_NS / 10, c.now_ns);
	c.now_ns += 100 * SECOND_NS;
	pass(&c, CROWD, 20000 * SECOND_NS, STRIDE_NS);
	for (int i = 0; i < 100; i++) {
		refused += !ledger_may(c.l, CROWD + 1, c.now_ns);
		ledger_charge(c.l, CROWD + 1, 1000000, c.now_ns);
		pass(&c, CROWD, SECOND_NS, STEP_NS);
	}
	cr_expect_eq(refused, 0);
	ledger_free(c.l);
}

Test(ledger, tells_who_used_most_beyond_what_everybody_may)
{
	struct ledger *l = ledger_new(1000, 100 * SECOND_NS);
	struct ledger_use most[3];

	for (uint64_t party = 1; party <= 6; party++)
		ledger_charge(l, party, 900 + 100 * party, 0);
	cr_assert_eq(ledger_most(l, most, 3), 3);
	for (unsigned i = 0; i < 3; i++) {
		cr_expect_eq(most[i].party, 6 - i);
		cr_expect_eq(most[i].used, 500 - 100 * i);
	}
	ledger_mark(l);
	cr_expect_eq(ledger_most(l, most, 3), 0);
	ledger_charge(l, 4, 7, 0);
	ledger_charge(l, 8, 700, 0);
	cr_assert_eq(ledger_most(l, most, 3), 1, "the other one is new");
	cr_expect(most[0].party == 4 && most[0].used == 7);
	ledger_free(l);
}

Test(ledger, a_fine_is_waited_for_and_is_no_use)
{
	struct ledger *l = ledger_new(1000, 100 * SECOND_NS);
	struct ledger_use most[1];

	ledger_fine(l, 1, 3000, 0);
	cr_expect_eq(ledger_balance(l, 1, 0), -2000);
	cr_expect_not(ledger_may(l, 1, 0));
	cr_expect_eq(ledger_most(l, most, 1), 0);
	cr_expect(ledger_may(l, 1, SECOND_NS / 2));
	ledger_free(l);
}

Test(blob, sections_are_checked_and_texts_end)
{
	static const uint32_t rows[] = {1, 2, 3};
	int fd = memfd_create("blob", MFD_CLOEXEC);
	struct blob_writer *w = malloc(sizeof(*w));
	const uint32_t *got;
	struct blob *b;
	struct stat st;
	size_t cnt;

	blob_begin(w, fd, 42);
	blob_put(w, 0, rows, sizeof(rows));
	blob_stream(w, 1);
	blob_add(w, "one", 4);
	cr_expect_eq(blob_streamed(w), 4);
	blob_add(w, "two", 4);
	blob_stream_end(w);
	blob_put(w, 2, "open", 4);
	cr_assert_eq(blob_end(w), 0);
	free(w);
	cr_assert_eq(fstat(fd, &st), 0);
	b = blob_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), (size_t)st.st_size, 42);
	cr_assert(b);
	got = blob_rows(b, 0, sizeof(*got), &cnt);
	cr_expect(cnt == 3 && got[2] == 3);
	cr_expect_str_eq(blob_text(b, 1, &cnt) + 4, "two");
	cr_expect_null(blob_text(b, 2, &cnt), "it does not end");
	cr_expect_null(blob_rows(b, 3, 4, &cnt));
	blob_free(b);
	cr_expect_null(blob_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), (size_t)st.st_size, 43));
	cr_expect_null(blob_open(fcntl(fd, F_DUPFD_CLOEXEC, 0), 8, 42));
	/* A section that begins in the file and ends behind it. */
	cr_assert_eq(pwrite(fd, "\xff\xff", 2, offsetof(struct blob_head, sections[0].bytes)), 2);
	cr_expect_null(blob_open(fd, (size_t)st.st_size, 42));
}
