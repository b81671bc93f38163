/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/diff_beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/books.h"
#include "model/requests.h"
#include "model/sched.h"
#include "model/sched_figures.h"
#include "model/totals.h"

/* Of one kind, while it is summed. */
struct summed {
	struct sched_figures sched;
	struct requests_sum requests;
	uint64_t times[RESPONSE_SLOTS];
};

/* One side. */
struct looked {
	const struct diff_book *book;
	const struct diff_side *side;
	int at;
	const struct model *m;
	struct summed *kinds;
	uint32_t *kind_of; /* by row of processes */
};

static int find_kinds(struct looked *l)
{
	l->kind_of = calloc(l->m->processes_cnt + 1, sizeof(*l->kind_of));
	l->kinds = calloc(l->book->kinds_cnt + 1, sizeof(*l->kinds));
	if (!l->kind_of || !l->kinds)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->m->processes_cnt; i++) {
		const struct model_process *p = &l->m->processes[i];

		l->kind_of[i] = !l->side->wanted || l->side->wanted[i] ? diff_book_kind(l->book, p)
								       : MODEL_NONE;
	}
	return 0;
}

static struct summed *kind_of(const struct looked *l, uint32_t process)
{
	return l->kind_of[process] == MODEL_NONE ? NULL : &l->kinds[l->kind_of[process]];
}

static void sum_all(struct looked *l, const struct sched *sched)
{
	const struct model *m = l->m;
	struct summed *kind;

	for (size_t i = 0; i < l->book->kinds_cnt; i++)
		l->kinds[i].requests.times = l->kinds[i].times;
	for (uint32_t i = 0; sched && i < m->processes_cnt; i++) {
		kind = kind_of(l, i);
		if (kind)
			sched_figures_add(&kind->sched, &sched->processes[i].sched);
	}
	for (size_t i = 0; i < m->services_cnt; i++) {
		kind = kind_of(l, m->endpoints[m->services[i].endpoint].process);
		if (kind)
			requests_sum_add(&kind->requests, m, &m->services[i],
					 m->services[i].slice + 1 == m->slices_cnt);
	}
	for (size_t i = 0; i < m->responses_cnt; i++) {
		kind = kind_of(l, m->endpoints[m->responses[i].endpoint].process);
		if (kind && m->responses[i].slot < RESPONSE_SLOTS)
			kind->times[m->responses[i].slot] += m->responses[i].count;
	}
}

static struct diff_fared fared(const struct looked *l, const struct summed *kind,
			       const struct sched *sched)
{
	uint64_t ns = sched ? sched->elapsed_ns : (uint64_t)(l->side->all_seconds * 1e9);
	double seconds = (double)ns / 1e9;

	return (struct diff_fared){
		.waits_known = sched != NULL,
		.requests_known =
			!(model_off(l->m) & OFF_REQUESTS) && kind->requests.served.begun != 0,
		.cpus = sched_mean(kind->sched.on_cpu_ns, ns),
		.waiting = sched_mean(kind->sched.waited_ns, ns),
		.throttled = sched_mean(kind->sched.throttled_ns, ns),
		.answered = seconds > 0 ? (double)kind->requests.served.answered / seconds : 0,
		.p50_ns = requests_time_ns(&kind->requests, 0.5),
		.p99_ns = requests_time_ns(&kind->requests, 0.99),
		.slow_share = requests_slow_share(&kind->requests),
		.stuck = (uint32_t)kind->requests.stuck_max,
	};
}

static void take_verdicts(const struct looked *l, const struct verdicts *v,
			  struct diff_beside *beside)
{
	beside->host[l->at] = verdicts_result(&v->host)->verdict;
	/* The most urgent ones stand first. */
	for (size_t i = v->rows_cnt; i-- > 0;) {
		uint32_t kind = l->kind_of[v->rows[i].process];

		if (kind != MODEL_NONE)
			beside->kinds[(size_t)kind * DIFF_SIDES + (size_t)l->at].verdict =
				verdicts_result(&v->rows[i])->verdict;
	}
}

static int look(struct looked *l, const struct verdict_policy *policy, struct diff_beside *beside)
{
	struct totals *totals = totals_new(l->m);
	bool waits = !(model_off(l->m) & OFF_ACCOUNTS) && l->m->slices_cnt;
	struct sched *sched = waits ? sched_new(l->m) : NULL;
	bool asks = !(model_off(l->m) & OFF_REQUESTS);
	struct requests *requests = asks ? requests_new(l->m) : NULL;
	struct verdicts *verdicts = NULL;
	struct books books;
	int err = !totals || (waits && !sched) || (asks && !requests) ? -ENOMEM : find_kinds(l);

	if (!err) {
		books = books_of(l->m, totals);
		verdicts = verdicts_new(&(struct verdict_sources){.m = l->m,
								  .totals = totals,
								  .books = &books,
								  .sched = sched,
								  .requests = requests,
								  .policy = policy,
								  .every = true});
		err = verdicts ? 0 : -ENOMEM;
	}
	if (!err) {
		sum_all(l, sched);
		for (size_t i = 0; i < l->book->kinds_cnt; i++)
			beside->kinds[i * DIFF_SIDES + (size_t)l->at] =
				fared(l, &l->kinds[i], sched);
		take_verdicts(l, verdicts, beside);
	}
	verdicts_free(verdicts);
	requests_free(requests);
	sched_free(sched);
	totals_free(totals);
	free(l->kinds);
	free(l->kind_of);
	return err;
}

struct diff_beside *diff_beside_new(const struct diff_book *book,
				    const struct verdict_policy *policy)
{
	struct diff_beside *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	if (b)
		b->kinds = calloc(book->kinds_cnt * DIFF_SIDES + 1, sizeof(*b->kinds));
	if (b && !b->kinds)
		err = -ENOMEM;
	for (int at = 0; !err && at < DIFF_SIDES; at++) {
		struct looked l = {
			.book = book, .side = &book->sides[at], .at = at, .m = book->sides[at].m};

		err = look(&l, policy, b);
	}
	if (!err)
		return b;
	diff_beside_free(b);
	errno = -err;
	return NULL;
}

void diff_beside_free(struct diff_beside *b)
{
	if (!b)
		return;
	free(b->kinds);
	free(b);
}
