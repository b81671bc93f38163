/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolate/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper_names.h"
#include "base/process_state.h"
#include "isolate/ledger.h"
#include "isolate/message.h"
#include "isolate/sandbox.h"

#define CPU_NS	     2000000000ull
#define WALL_NS	     10000000000ull
#define MEMORY_BYTES (64ull << 20)
#define COUNT	     2u
#define COUNT_MAX    8u

/* A job that is short runs as anybody does, so that names come on a busy host, too; one that is not
 * gives way to everybody else's work from here on, and its worker with it, which ends then. */
#define PATIENCE_NS 200000000ull
#define LAST_NICE   19
/* Of the time of a job, for one that wants a CPU and gets none; and for one that sleeps but comes
 * to something now and then: who holds a lock that it waits for may want one, or a file answers by
 * drops. It is looked at so often in that time. */
#define STARVED_TIMES 6u
#define SLOW_TIMES    2u
#define LOOKS	      8u
/* Of the time between two looks, for one that wanted a CPU meanwhile. */
#define WANTS_PART 4u
/* A worker that did more than this once is looked at before its next job. */
#define LARGE_JOB_NS 20000000ull
#define MEMORY_PART  2u /* of its memory that a worker may keep between jobs */

/* Killed workers that a file system still holds: with so many there are no more new ones. */
#define STUCK_MAX 16u
/* Of one party: then it gets none, and the others still do. */
#define STUCK_PARTY_MAX 8u
/* Others need some time to end, on a full host. */
#define STUCK_NS 10000000000ull
/* Results that nobody has taken yet lie in memory: with so much of it, in parts of what a worker
 * may have, a party's jobs wait, and with so many times of it everybody's. */
#define RESULTS_PARTY_PART 2u
#define RESULTS_TIMES	   2u

/* Between two looks at the clocks of busy workers while somebody waits. */
#define LOOK_MS 20

/* Workers of the lanes that have their own. */
#define LANES_OWN 3u

enum job_state { JOB_NEW, JOB_QUEUED, JOB_RUNNING, JOB_ENDED };

struct workers_job {
	enum job_state state;
	int error;
	enum workers_lane lane;
	uint64_t party, cpu_ns;
	unsigned fd_cnt;
	int fds[MESSAGE_FDS_MAX]; /* the last one: the result's */
	int result_fd;
	char *reply;
	size_t reply_len;
	struct workers_job *next;
	struct workers *keeper; /* who counts the result, which was not taken yet; or NULL */
	uint64_t result_bytes;
	struct workers_job *next_kept;
	struct order *order;
	size_t order_len;
};

/* What a worker is sent. */
struct order {
	uint64_t number;     /* of the job */
	uint64_t has_result; /* the last descriptor is the result's */
	char request[];
};

/* What it answers: a second answer to one job is none to the next one. */
struct answer {
	uint64_t number;
	char reply[WORKERS_REPLY_BYTES];
};

struct worker {
	int socket; /* -1: not there */
	int pidfd;
	pid_t pid; /* 0: has not said it yet */
	bool told; /* what its sandbox is without */
	bool is_nice;
	uint64_t party; /* whose jobs it had */
	struct workers_job *job;
	uint64_t started_ns; /* of the job */
	uint64_t cpu_ns;     /* of the worker, before the job */
	/* Of the job: what the worker had done at the last look, when it did anything last,
	 * and when it last wanted a CPU for much of the time. */
	struct process_turns turns;
	uint64_t looked_ns, moved_ns, wanting_ns;
};

struct workers {
	struct nursery *nursery;
	workers_do work;
	struct workers_limits limits;
	int nice; /* of a worker */
	bool of_urgent;
	struct worker workers[LANES_OWN + COUNT_MAX]; /* lane_of() */
	struct stuck {
		int pidfd;
		uint64_t party, since_ns;
	} stuck[STUCK_MAX];
	unsigned stuck_cnt;
	struct workers_job *queue, **queue_end;
	struct ledger *ledger, *trusted; /* the second one: no bound, but a measure */
	uint64_t aside[WORKERS_ASIDE_MAX];
	size_t aside_cnt;
	struct workers_counters counters;
	uint64_t ended; /* jobs */
	uint64_t numbers;
	struct workers_job *kept; /* ended, and their results not taken */
	uint64_t kept_bytes;
};

/* --- the worker's side ------------------------------------------------------------------------ */

/* Its first message: the nursery was forked before anybody knew. */
struct birth {
	workers_do work;
	uint64_t memory_bytes;
	uint64_t cpu_s; /* until anybody gives it more */
	int nice;
	bool of_urgent; /* the nursery may have SCHED_RR */
};

static void live(int socket)
{
	static union {
		struct order order;
		char bytes[sizeof(struct order) + WORKERS_REQUEST_BYTES];
	} in;
	static struct answer answer;
	int fds[MESSAGE_FDS_MAX], none;
	struct rlimit cpu = {.rlim_max = RLIM_INFINITY};
	const struct sched_param zero = {0};
	struct birth birth;
	uint32_t without;
	size_t len;
	unsigned cnt;

	if (message_receive_exact(socket, &birth, sizeof(birth), &none))
		return;
	/* The nursery may have hotrun's priority. What others wrote is never to hold a CPU against
	 * everybody else. */
	if (birth.of_urgent)
		sched_setscheduler(0, SCHED_OTHER, &zero);
	setpriority(PRIO_PROCESS, 0, birth.nice);
	cpu.rlim_cur = birth.cpu_s;
	setrlimit(RLIMIT_CPU, &cpu);
	without = sandbox_enter(birth.memory_bytes);
	if (message_send(socket, &without, sizeof(without), NULL, 0))
		return;
	while (!message_receive(socket, &in, sizeof(in), &len, fds, &cnt)) {
		unsigned results = in.order.has_result && cnt;
		size_t reply_len =
			birth.work(in.order.request, len - sizeof(in.order), fds, cnt - results,
				   results ? fds[cnt - 1] : -1, answer.reply);

		answer.number = in.order.number;

		for (unsigned i = 0; i < cnt; i++)
			close(fds[i]);
		if (message_send(socket, &answer, offsetof(struct answer, reply) + reply_len, NULL,
				 0))
			return;
	}
}

/* --- jobs ------------------------------------------------------------------------------------- */

struct workers_job *workers_job_new(uint64_t party, const void *request, size_t request_len,
				    bool has_result)
{
	struct workers_job *job;

	if (request_len > WORKERS_REQUEST_BYTES) {
		errno = E2BIG;
		return NULL;
	}
	job = calloc(1, sizeof(*job));
	if (!job)
		return NULL;
	job->party = party;
	job->result_fd =
		has_result ? memfd_create("hotrun-result", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	job->order_len = sizeof(*job->order) + request_len;
	job->order = malloc(job->order_len);
	if (job->order && (!has_result || job->result_fd >= 0)) {
		job->order->has_result = has_result;
		memcpy(job->order->request, request, request_len);
		return job;
	}
	cleanup_close(&job->result_fd);
	free(job->order);
	free(job);
	errno = ENOMEM;
	return NULL;
}

bool workers_job_give(struct workers_job *job, int fd)
{
	if (job->fd_cnt == MESSAGE_FDS_MAX - 1) {
		close(fd);
		return false;
	}
	job->fds[job->fd_cnt++] = fd;
	return true;
}

/* A descriptor that was sent is the worker's; those of targets' files are not to be kept here. */
static void close_given(struct workers_job *job)
{
	for (unsigned i = 0; i < job->fd_cnt; i++)
		close(job->fds[i]);
	job->fd_cnt = 0;
}

static void end_job(struct workers *w, struct workers_job *job, int error)
{
	close_given(job);
	job->state = JOB_ENDED;
	job->error = error;
	w->ended++;
}

static void unqueue(struct workers *w, struct workers_job *job)
{
	for (struct workers_job **at = &w->queue; *at; at = &(*at)->next) {
		if (*at != job)
			continue;
		*at = job->next;
		if (w->queue_end == &job->next)
			w->queue_end = at;
		return;
	}
}

void workers_submit(struct workers *w, struct workers_job *job, enum workers_lane lane)
{
	job->lane = lane;
	job->state = JOB_QUEUED;
	job->error = -EINPROGRESS;
	job->next = NULL;
	*w->queue_end = job;
	w->queue_end = &job->next;
	w->counters.jobs++;
	workers_poll(w);
}

int workers_job_error(const struct workers_job *job)
{
	return job->error;
}

const void *workers_job_reply(const struct workers_job *job, size_t *ret_len)
{
	*ret_len = job->reply_len;
	return job->reply;
}

uint64_t workers_job_cpu_ns(const struct workers_job *job)
{
	return job->cpu_ns;
}

static void keep_result(struct workers *w, struct workers_job *job)
{
	struct stat st;

	if (job->result_fd < 0 || fstat(job->result_fd, &st))
		return;
	job->keeper = w;
	job->result_bytes = (uint64_t)st.st_size;
	job->next_kept = w->kept;
	w->kept = job;
	w->kept_bytes += job->result_bytes;
}

static void leave_result(struct workers_job *job)
{
	struct workers *w = take_ptr(&job->keeper);

	if (!w)
		return;
	w->kept_bytes -= job->result_bytes;
	for (struct workers_job **at = &w->kept; *at; at = &(*at)->next_kept) {
		if (*at == job) {
			*at = job->next_kept;
			return;
		}
	}
}

/* Whether there is room for one more result of a party. */
static bool has_room(const struct workers *w, uint64_t party)
{
	uint64_t bytes = 0;

	if (w->kept_bytes >= RESULTS_TIMES * w->limits.memory_bytes)
		return false;
	for (const struct workers_job *job = w->kept; job; job = job->next_kept)
		bytes += job->party == party ? job->result_bytes : 0;
	return bytes < w->limits.memory_bytes / RESULTS_PARTY_PART;
}

int workers_job_take_result(struct workers_job *job, size_t *ret_bytes)
{
	struct stat st;

	leave_result(job);
	/* Fails while anybody has it mapped to be written: then it is no result. */
	if (job->result_fd < 0 ||
	    fcntl(job->result_fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) ||
	    fstat(job->result_fd, &st) || !st.st_size)
		return -1;
	*ret_bytes = (size_t)st.st_size;
	return take_fd(&job->result_fd);
}

/* --- workers ---------------------------------------------------------------------------------- */

static bool has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return pidfd < 0 || poll(&p, 1, 0) > 0;
}

static void reap_stuck(struct workers *w)
{
	for (unsigned i = 0; i < w->stuck_cnt;) {
		if (has_ended(w->stuck[i].pidfd)) {
			close(w->stuck[i].pidfd);
			w->stuck[i] = w->stuck[--w->stuck_cnt];
		} else {
			i++;
		}
	}
}

static unsigned workers_cnt(const struct workers *w)
{
	return LANES_OWN + w->limits.count;
}

static enum workers_lane lane_of(unsigned worker)
{
	static const enum workers_lane own[LANES_OWN] = {WORKERS_URGENT, WORKERS_BRIEF,
							 WORKERS_BRIEF};

	return worker < LANES_OWN ? own[worker] : WORKERS_USUAL;
}

static uint64_t wall_of(const struct workers *w, const struct workers_job *job)
{
	return job->lane == WORKERS_BRIEF && WORKERS_BRIEF_NS < w->limits.wall_ns
		       ? WORKERS_BRIEF_NS
		       : w->limits.wall_ns;
}

/* Forgets a worker; kills it where it is busy. What it had to do has ended before. */
static void drop_worker(struct workers *w, struct worker *worker, bool busy)
{
	if (busy && worker->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, worker->pidfd, SIGKILL, NULL, 0);
	close(worker->socket);
	if (worker->pidfd >= 0 && busy && w->stuck_cnt < STUCK_MAX)
		w->stuck[w->stuck_cnt++] =
			(struct stuck){worker->pidfd, worker->party, clock_now_ns()};
	else if (worker->pidfd >= 0)
		close(worker->pidfd);
	*worker = (struct worker){.socket = -1, .pidfd = -1};
}

/* Books what the worker's job used. */
static void charge(struct workers *w, struct worker *worker)
{
	uint64_t cpu_ns = process_cpu_ns(worker->pid);
	struct workers_job *job = worker->job;

	if (!job || cpu_ns <= worker->cpu_ns + job->cpu_ns)
		return;
	cpu_ns -= worker->cpu_ns;
	workers_charge(w, job->party, cpu_ns - job->cpu_ns);
	w->counters.cpu_ns += cpu_ns - job->cpu_ns;
	job->cpu_ns = cpu_ns;
}

static void fail(struct workers *w, struct worker *worker, int error)
{
	struct workers_job *job = take_ptr(&worker->job);

	if (error == -ETIME || error == -ETIMEDOUT)
		w->counters.killed++;
	else
		w->counters.died++;
	if (job)
		end_job(w, job, error);
	drop_worker(w, worker, true);
}

static uint64_t memory_of(const struct worker *worker)
{
	char path[48];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long pages;

	snprintf(path, sizeof(path), "/proc/%d/statm", worker->pid);
	f = worker->pid ? fopen(path, "re") : NULL;
	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* After a job: what was made nice stays so, and what has grown large may not shrink. */
static bool is_worn(const struct workers *w, const struct worker *worker, uint64_t job_cpu_ns)
{
	return worker->is_nice || (job_cpu_ns > LARGE_JOB_NS &&
				   memory_of(worker) > w->limits.memory_bytes / MEMORY_PART);
}

/* Should nobody be there to kill it: the kernel ends it then, a second later at the most. */
static void bound_cpu(const struct workers *w, const struct worker *worker)
{
	uint64_t until_s = (worker->cpu_ns + w->limits.cpu_ns) / 1000000000u + 2;
	struct rlimit limit = {.rlim_cur = until_s, .rlim_max = RLIM_INFINITY};

	if (worker->pid)
		prlimit(worker->pid, RLIMIT_CPU, &limit, NULL);
}

static void take_hello(struct workers *w, struct worker *worker)
{
	size_t len;

	if (message_receive_bytes(worker->socket, &worker->pid, sizeof(worker->pid), &len) ||
	    len != sizeof(worker->pid)) {
		worker->pid = 0;
		fail(w, worker, -EAGAIN);
		return;
	}
	worker->pidfd = (int)syscall(SYS_pidfd_open, worker->pid, 0);
	bound_cpu(w, worker);
}

static void begin_clock(struct worker *worker)
{
	worker->started_ns = worker->looked_ns = clock_now_ns();
	worker->moved_ns = worker->wanting_ns = worker->started_ns;
	worker->turns = (struct process_turns){0};
}

static void take_told(struct workers *w, struct worker *worker)
{
	uint32_t without;
	size_t len;

	if (message_receive_bytes(worker->socket, &without, sizeof(without), &len) ||
	    len != sizeof(without)) {
		fail(w, worker, -EAGAIN);
		return;
	}
	w->counters.without = without;
	worker->told = true;
	worker->cpu_ns = process_cpu_ns(worker->pid);
	begin_clock(worker);
}

static void take_reply(struct workers *w, struct worker *worker)
{
	static struct answer answer;
	struct workers_job *job = worker->job;
	size_t len;
	int err;

	charge(w, worker);
	err = message_receive_bytes(worker->socket, &answer, sizeof(answer), &len);
	if (err || !job || len < offsetof(struct answer, reply) ||
	    answer.number != job->order->number) {
		fail(w, worker, -EPIPE);
		return;
	}
	len -= offsetof(struct answer, reply);
	job->reply = malloc(len + 1);
	job->reply_len = job->reply ? len : 0;
	if (job->reply)
		memcpy(job->reply, answer.reply, len);
	worker->job = NULL;
	keep_result(w, job);
	end_job(w, job, job->reply ? 0 : -ENOMEM);
	if (is_worn(w, worker, job->cpu_ns))
		drop_worker(w, worker, false);
}

static void take_messages(struct workers *w, struct worker *worker)
{
	while (worker->socket >= 0 && message_wait(worker->socket, 0)) {
		if (!worker->pid)
			take_hello(w, worker);
		else if (!worker->told)
			take_told(w, worker);
		else
			take_reply(w, worker);
	}
}

/* The first look only remembers. */
static void look_at(struct worker *worker, uint64_t now_ns)
{
	struct process_turns turns = process_turns_of(worker->pid), last = worker->turns;
	uint64_t wanted_ns = turns.cpu_ns + turns.delay_ns - last.cpu_ns - last.delay_ns;
	bool is_first = worker->looked_ns == worker->started_ns;

	if (turns.runnable || (!is_first && wanted_ns > (now_ns - worker->looked_ns) / WANTS_PART))
		worker->wanting_ns = now_ns;
	if (turns.runnable || (!is_first && (wanted_ns || turns.turns != last.turns)))
		worker->moved_ns = now_ns;
	worker->looked_ns = now_ns;
	worker->turns = turns;
}

/* Whether a job's time is over. */
static bool is_late(const struct worker *worker, uint64_t now_ns, uint64_t wall_ns)
{
	uint64_t past_ns = now_ns - worker->started_ns;

	if (past_ns <= wall_ns)
		return false;
	if (!worker->told || past_ns > STARVED_TIMES * wall_ns)
		return true;
	return now_ns - worker->wanting_ns > wall_ns &&
	       (past_ns > SLOW_TIMES * wall_ns || now_ns - worker->moved_ns > wall_ns);
}

/* A job that was never begun is no fault of its file; for a file that hangs its party pays as for
 * work. */
static void end_late(struct workers *w, struct worker *worker, uint64_t now_ns)
{
	if (!worker->told) {
		fail(w, worker, -EAGAIN);
		return;
	}
	/* No time of a CPU: of what is used it does not count. */
	if (worker->job->party != WORKERS_TRUSTED)
		ledger_fine(w->ledger, worker->job->party, now_ns - worker->started_ns, now_ns);
	fail(w, worker, -ETIMEDOUT);
}

/* A file that hangs costs no CPU time: then the time alone ends it. */
static void check_limits(struct workers *w, struct worker *worker)
{
	struct workers_job *job = worker->job;
	uint64_t now_ns = clock_now_ns(), wall_ns;

	if (!job)
		return;
	wall_ns = wall_of(w, job);
	if (worker->told)
		charge(w, worker);
	if (worker->told && now_ns - worker->looked_ns >= wall_ns / LOOKS)
		look_at(worker, now_ns);
	if (job->cpu_ns > w->limits.cpu_ns) {
		fail(w, worker, -ETIME);
	} else if (is_late(worker, now_ns, wall_ns)) {
		/* Its answer may have come just now. */
		if (!message_wait(worker->socket, 0))
			end_late(w, worker, now_ns);
	} else if (job->cpu_ns > PATIENCE_NS && !worker->is_nice) {
		worker->is_nice = true;
		setpriority(PRIO_PROCESS, (id_t)worker->pid, LAST_NICE);
	}
}

static unsigned stuck_of(const struct workers *w, uint64_t party)
{
	uint64_t now_ns = clock_now_ns();
	unsigned cnt = 0;

	for (unsigned i = 0; i < w->stuck_cnt; i++)
		cnt += w->stuck[i].party == party && now_ns - w->stuck[i].since_ns >= STUCK_NS;
	return cnt;
}

/* What one party's bytes made of a worker is not to meet another's. */
static int spawn(struct workers *w, struct worker *worker, uint64_t party)
{
	struct birth birth = {w->work, w->limits.memory_bytes, w->limits.cpu_ns / 1000000000u + 2,
			      w->nice, w->of_urgent};
	int err;

	if (worker->socket >= 0 && worker->party == party)
		return 0;
	if (worker->socket >= 0)
		drop_worker(w, worker, true);
	if (w->stuck_cnt == STUCK_MAX || stuck_of(w, party) >= STUCK_PARTY_MAX)
		return -EAGAIN;
	err = nursery_spawn(w->nursery, live, HELPER_PARSER, &worker->socket);
	if (!err && message_send(worker->socket, &birth, sizeof(birth), NULL, 0)) {
		drop_worker(w, worker, false);
		err = -EAGAIN;
	}
	if (err)
		worker->socket = -1;
	worker->party = party;
	return err;
}

/* Gives the job to the worker, with its descriptors. */
static void start(struct workers *w, struct worker *worker, struct workers_job *job)
{
	int fds[MESSAGE_FDS_MAX];
	unsigned cnt = job->fd_cnt;

	if (spawn(w, worker, job->party)) {
		end_job(w, job, -EAGAIN);
		return;
	}
	memcpy(fds, job->fds, sizeof(fds));
	if (job->result_fd >= 0)
		fds[cnt++] = job->result_fd;
	job->order->number = ++w->numbers;
	worker->job = job;
	worker->cpu_ns = process_cpu_ns(worker->pid);
	begin_clock(worker);
	bound_cpu(w, worker);
	job->state = JOB_RUNNING;
	if (message_send(worker->socket, job->order, job->order_len, fds, cnt))
		fail(w, worker, -EPIPE);
	else
		close_given(job);
}

static int64_t balance_of(const struct workers *w, uint64_t party, uint64_t at_ns)
{
	return party == WORKERS_TRUSTED ? (int64_t)WORKERS_PARTY_BURST_NS / 2
					: ledger_balance(w->ledger, party, at_ns);
}

static bool may_begin(const struct workers *w, uint64_t party, uint64_t at_ns)
{
	return party == WORKERS_TRUSTED ||
	       (!workers_is_aside(w, party) && ledger_may(w->ledger, party, at_ns));
}

/* Whether a party's brief job runs, so that the next one waits. */
static bool is_brief_now(const struct workers *w, uint64_t party)
{
	for (unsigned i = 0; i < LANES_OWN; i++)
		if (lane_of(i) == WORKERS_BRIEF && w->workers[i].job &&
		    w->workers[i].job->party == party)
			return party != WORKERS_TRUSTED;
	return false;
}

/* The job to be started next: of the party that has most left, and in its order. */
static struct workers_job *next_job(const struct workers *w, enum workers_lane lane)
{
	struct workers_job *best = NULL;
	uint64_t at_ns = clock_now_ns();
	int64_t most = 0;

	for (struct workers_job *job = w->queue; job; job = job->next) {
		int64_t balance;

		if (job->lane != lane || (lane == WORKERS_BRIEF && is_brief_now(w, job->party)) ||
		    (best && best->party == job->party))
			continue;
		balance = balance_of(w, job->party, at_ns);
		if (balance > most && may_begin(w, job->party, at_ns) && has_room(w, job->party)) {
			best = job;
			most = balance;
		}
	}
	return best;
}

static void start_jobs(struct workers *w)
{
	for (unsigned i = 0; i < workers_cnt(w) && w->queue; i++) {
		struct workers_job *job = w->workers[i].job ? NULL : next_job(w, lane_of(i));

		if (!job)
			continue;
		unqueue(w, job);
		start(w, &w->workers[i], job);
	}
}

bool workers_is_busy(const struct workers *w)
{
	for (unsigned i = 0; i < workers_cnt(w); i++)
		if (w->workers[i].job)
			return true;
	return false;
}

bool workers_are_asleep(const struct workers *w)
{
	bool any = false;

	for (unsigned i = 0; i < workers_cnt(w); i++) {
		const struct worker *worker = &w->workers[i];

		if (worker->job && (!worker->pid || process_is_runnable(worker->pid)))
			return false;
		any |= worker->job != NULL;
	}
	return any;
}

uint64_t workers_ended(const struct workers *w)
{
	return w->ended;
}

bool workers_poll(struct workers *w)
{
	reap_stuck(w);
	for (unsigned i = 0; i < workers_cnt(w); i++) {
		take_messages(w, &w->workers[i]);
		check_limits(w, &w->workers[i]);
	}
	start_jobs(w);
	return w->queue || workers_is_busy(w);
}

/* Until something came, at the most some milliseconds: limits are to be looked at, too. */
static void wait_some(const struct workers *w, uint64_t ns)
{
	struct pollfd p[LANES_OWN + COUNT_MAX];
	struct timespec timeout = {0, (long)(ns < LOOK_MS * 1000000u ? ns : LOOK_MS * 1000000u)};
	nfds_t cnt = 0;

	for (unsigned i = 0; i < workers_cnt(w); i++)
		if (w->workers[i].socket >= 0)
			p[cnt++] = (struct pollfd){.fd = w->workers[i].socket, .events = POLLIN};
	ppoll(p, cnt, &timeout, NULL);
}

bool workers_wait(struct workers *w, struct workers_job *job, uint64_t ns)
{
	uint64_t start_ns = clock_now_ns(), past_ns = 0;

	workers_poll(w);
	while (job->state != JOB_ENDED && past_ns < ns) {
		wait_some(w, ns - past_ns);
		workers_poll(w);
		past_ns = clock_now_ns() - start_ns;
	}
	return job->state == JOB_ENDED;
}

bool workers_wait_any(struct workers *w, uint64_t ns)
{
	uint64_t start_ns = clock_now_ns(), past_ns = 0, ended = w->ended;

	workers_poll(w);
	while (w->ended == ended && past_ns < ns && workers_is_busy(w)) {
		wait_some(w, ns - past_ns);
		workers_poll(w);
		past_ns = clock_now_ns() - start_ns;
	}
	return w->ended != ended;
}

void workers_job_free(struct workers *w, struct workers_job *job)
{
	if (!job)
		return;
	if (job->state == JOB_QUEUED)
		unqueue(w, job);
	for (unsigned i = 0; i < workers_cnt(w); i++) {
		if (w->workers[i].job == job) {
			charge(w, &w->workers[i]);
			w->workers[i].job = NULL;
			drop_worker(w, &w->workers[i], true);
		}
	}
	close_given(job);
	leave_result(job);
	cleanup_close(&job->result_fd);
	free(job->reply);
	free(job->order);
	free(job);
}

/* ---------------------------------------------------------------------------------------------- */

void workers_set_nice(struct workers *w, int nice)
{
	w->nice = nice;
	w->of_urgent = true;
}

void workers_limit(struct workers *w, const struct workers_limits *limits)
{
	w->limits.cpu_ns = limits->cpu_ns ? limits->cpu_ns : CPU_NS;
	w->limits.wall_ns = limits->wall_ns ? limits->wall_ns : WALL_NS;
	w->limits.memory_bytes = limits->memory_bytes ? limits->memory_bytes : MEMORY_BYTES;
}

struct workers *workers_new(struct nursery *nursery, workers_do work,
			    const struct workers_limits *limits)
{
	struct workers *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->nursery = nursery;
	w->work = work;
	workers_limit(w, limits);
	w->limits.count = limits->count && limits->count < COUNT_MAX ? limits->count : COUNT;
	w->queue_end = &w->queue;
	for (unsigned i = 0; i < LANES_OWN + COUNT_MAX; i++)
		w->workers[i] = (struct worker){.socket = -1, .pidfd = -1};
	w->ledger = ledger_new(WORKERS_PARTY_BURST_NS, WORKERS_PARTY_SHARE * 1000000ull);
	w->trusted = ledger_new(WORKERS_PARTY_BURST_NS, WORKERS_PARTY_SHARE * 1000000ull);
	if (w->ledger && w->trusted) {
		ledger_bound(w->ledger, WORKERS_ALL_BURST_NS, WORKERS_ALL_SHARE * 1000000ull);
		return w;
	}
	workers_free(w);
	errno = ENOMEM;
	return NULL;
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < workers_cnt(w); i++)
		if (w->workers[i].socket >= 0)
			drop_worker(w, &w->workers[i], true);
	for (unsigned i = 0; i < w->stuck_cnt; i++)
		close(w->stuck[i].pidfd);
	while (w->kept)
		leave_result(w->kept);
	ledger_free(w->ledger);
	ledger_free(w->trusted);
	free(w);
}

/* Of what the trusted ones use: as far as it is there. */
static uint64_t grant_trusted(struct workers *w, uint64_t cpu_ns, uint64_t at_ns)
{
	int64_t left = ledger_balance(w->trusted, WORKERS_TRUSTED, at_ns);
	uint64_t granted = left > 0 ? (uint64_t)left : 0;

	granted = granted < cpu_ns ? granted : cpu_ns;
	ledger_charge(w->trusted, WORKERS_TRUSTED, granted, at_ns);
	return granted;
}

void workers_charge(struct workers *w, uint64_t party, uint64_t cpu_ns)
{
	uint64_t at_ns = clock_now_ns(), granted;

	if (party == WORKERS_TRUSTED) {
		w->counters.granted_ns += grant_trusted(w, cpu_ns, at_ns);
		return;
	}
	granted = ledger_charge(w->ledger, party, cpu_ns, at_ns);
	w->counters.granted_ns += granted;
	w->counters.beyond_ns += cpu_ns - granted;
}

bool workers_in_debt(const struct workers *w, uint64_t party)
{
	return !may_begin(w, party, clock_now_ns());
}

void workers_set_aside(struct workers *w, const uint64_t *parties, size_t cnt)
{
	w->aside_cnt = cnt < WORKERS_ASIDE_MAX ? cnt : WORKERS_ASIDE_MAX;
	for (size_t i = 0; i < w->aside_cnt; i++)
		w->aside[i] = parties[i];
}

bool workers_is_aside(const struct workers *w, uint64_t party)
{
	for (size_t i = 0; i < w->aside_cnt; i++)
		if (w->aside[i] == party)
			return true;
	return false;
}

size_t workers_aside_cnt(const struct workers *w)
{
	return w->aside_cnt;
}

size_t workers_most(const struct workers *w, struct ledger_use *ret_most, size_t max)
{
	return ledger_most(w->ledger, ret_most, max);
}

void workers_mark(struct workers *w)
{
	ledger_mark(w->ledger);
}

struct workers_counters workers_counters(const struct workers *w)
{
	struct workers_counters counters = w->counters;

	counters.stuck = w->stuck_cnt;
	counters.result_bytes = w->kept_bytes;
	for (unsigned i = 0; i < workers_cnt(w); i++)
		counters.memory_bytes += memory_of(&w->workers[i]);
	return counters;
}
