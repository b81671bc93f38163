/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs of workers on behalf of processes: who waits for them, and who pays; see file_requests.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "opener/file_requests.h"
#include "parse/parse.h"
#include "parse/parse_fact.h"

/* Only what took longer than that is booked against a process. */
#define TELLING_NS 1000000u

/* Between two looks whether somebody wants us to end. */
#define STOP_NS 100000000ull

/* --- workers ---------------------------------------------------------------------------------- */

struct workers_job *file_requests_job_new(struct file_requests *fr, const struct model *m,
					  uint32_t process, const struct parse_request *request)
{
	return workers_job_new(file_requests_party(fr, m, process), request,
			       parse_request_bytes(request), true);
}

struct file_requests_cost *file_requests_cost(struct file_requests *fr, uint32_t process)
{
	while (fr->costs_cnt <= process) {
		if (GROW(fr->costs, fr->costs_cnt, fr->costs_cap))
			return NULL;
		fr->costs[fr->costs_cnt++] = (struct file_requests_cost){0};
	}
	fr->costs[process].changed = true;
	return &fr->costs[process];
}

void file_requests_charge_ns(struct file_requests *fr, const struct model *m, uint32_t process,
			     uint64_t cpu_ns)
{
	struct file_requests_cost *cost = cpu_ns ? file_requests_cost(fr, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	if (cpu_ns)
		workers_charge(fr->workers, file_requests_party(fr, m, process), cpu_ns);
}

void file_requests_charge(struct file_requests *fr, const struct model *m, uint32_t process,
			  uint64_t since_cpu_ns)
{
	file_requests_charge_ns(fr, m, process, clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_cpu_ns);
}

void file_requests_job_end(struct file_requests *fr, uint32_t process, struct workers_job *job)
{
	uint64_t cpu_ns = job ? workers_job_cpu_ns(job) : 0;
	struct file_requests_cost *cost = cpu_ns ? file_requests_cost(fr, process) : NULL;

	if (cost)
		cost->cpu_ns += cpu_ns;
	workers_job_free(fr->workers, job);
}

void file_requests_job_begin(struct file_requests *fr, struct workers_job *job,
			     enum workers_lane lane)
{
	workers_submit(fr->workers, job, lane);
}

static struct file_requests_waited *waited_of(struct file_requests *fr, uint64_t party)
{
	for (size_t i = fr->waited_cnt; i-- > 0;)
		if (fr->waited[i].party == party)
			return &fr->waited[i];
	if (GROW(fr->waited, fr->waited_cnt, fr->waited_cap))
		return NULL;
	fr->waited[fr->waited_cnt] = (struct file_requests_waited){.party = party};
	return &fr->waited[fr->waited_cnt++];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void wait_job(struct file_requests *fr, struct workers_job *job, uint64_t party)
{
	struct file_requests_waited *w = waited_of(fr, party);
	uint64_t start_ns = clock_now_ns(), ns = 0;

	if (w && !fr->until_ns && w->ns < fr->party_ns && fr->waited_ns < fr->jobs_ns &&
	    !workers_in_debt(fr->workers, party))
		ns = least(least(fr->job_ns, fr->party_ns - w->ns), fr->jobs_ns - fr->waited_ns);
	if (!ns)
		return;
	workers_wait(fr->workers, job, ns);
	ns = clock_now_ns() - start_ns;
	if (w && ns >= TELLING_NS) {
		w->ns += ns;
		fr->waited_ns += ns;
	}
}

/* What became of a job that has ended. */
static enum model_reason reason_of_job(const struct workers_job *job,
				       const struct parse_reply **ret_reply)
{
	const struct parse_reply *reply;
	size_t len;

	switch (workers_job_error(job)) {
	case 0:
		break;
	case -ETIME:
		return REASON_FILE_COSTLY;
	case -ETIMEDOUT:
		return REASON_FILE_TIMEOUT;
	case -EPIPE: /* it died of the file */
		return REASON_FILE_MALFORMED;
	default:
		return REASON_LIMIT;
	}
	reply = workers_job_reply(job, &len);
	if (len != sizeof(*reply) || reply->reason >= REASON_CNT)
		return REASON_FILE_MALFORMED;
	*ret_reply = reply;
	return (enum model_reason)reply->reason;
}

enum model_reason file_requests_job_wait(struct file_requests *fr, struct workers_job *job,
					 uint64_t party, const struct parse_reply **ret_reply)
{
	if (workers_job_error(job) == -EINPROGRESS)
		wait_job(fr, job, party);
	if (workers_job_error(job) == -EINPROGRESS) {
		fr->deferred++;
		return REASON_PENDING;
	}
	return reason_of_job(job, ret_reply);
}

/* --- facts ------------------------------------------------------------------------------------ */

static bool is_stopped(const struct file_requests *fr)
{
	return fr->stop && *fr->stop;
}

/* Waits for a job that its time is bound for, and has its party pay for a wait in vain. */
static enum model_reason wait_now(struct file_requests *fr, struct workers_job *job,
				  const struct file_requests_subject *s)
{
	uint64_t start_ns = clock_now_ns(), past_ns = 0;
	const struct parse_reply *reply;

	while (past_ns < s->wait_ns && !is_stopped(fr) &&
	       !workers_wait(fr->workers, job, least(STOP_NS, s->wait_ns - past_ns)))
		past_ns = clock_now_ns() - start_ns;
	if (workers_job_error(job) != -EINPROGRESS)
		return reason_of_job(job, &reply);
	if (!is_stopped(fr))
		workers_charge(fr->workers, s->party, past_ns);
	return REASON_FILE_TIMEOUT;
}

/* Takes fd, which is all cnt descriptors of the job. */
static enum model_reason find(struct file_requests *fr, const struct file_requests_subject *s,
			      const struct parse_request *parse, int fd, unsigned cnt,
			      void *ret_answer)
{
	_cleanup_close_ int file_fd = fd;
	struct workers_job *job = NULL;
	enum model_reason reason;

	if (!workers_in_debt(fr->workers, s->party))
		job = workers_job_new(s->party, parse, parse_request_bytes(parse), true);
	if (!job)
		return REASON_LIMIT;
	for (unsigned i = 1; i < cnt; i++)
		workers_job_give(job, fcntl(file_fd, F_DUPFD_CLOEXEC, 0));
	workers_job_give(job, take_fd(&file_fd));
	file_requests_job_begin(fr, job, WORKERS_USUAL);
	reason = wait_now(fr, job, s);
	if (!reason && !parse_fact_take(job, parse->kind, ret_answer))
		reason = REASON_FILE_MALFORMED;
	workers_job_free(fr->workers, job);
	return reason;
}

enum model_reason file_requests_find_in(struct file_requests *fr,
					const struct file_requests_subject *s,
					struct parse_request *parse, int fd, bool in_socket,
					void *ret_answer)
{
	parse->in_socket = in_socket;
	return find(fr, s, parse, fd, 1, ret_answer);
}

enum model_reason file_requests_find_in_many(struct file_requests *fr,
					     const struct file_requests_subject *s,
					     struct parse_request *parse, int fd, unsigned cnt,
					     void *ret_answer)
{
	parse->in_socket = (1u << cnt) - 1;
	return find(fr, s, parse, fd, cnt, ret_answer);
}
