/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/verdicts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "bpf/events.h"
#include "judge/verdict_inputs.h"

/* What the slices say of one process, or of the host. */
struct track {
	uint32_t hurt; /* slices */
	uint32_t run_first, run_last;
	uint32_t first, last; /* the longest run */
	uint64_t run_ns, longest_ns;
	uint32_t worst;
	enum verdict worst_verdict;
	double worst_distance;
};

struct builder {
	struct verdicts *v;
	const struct verdict_sources *s;
	struct inputs in;
	struct track *tracks; /* by process, then that of the host */
	uint32_t *row_of;     /* by process: its row, or MODEL_NONE */
	uint32_t first_slice, last_slice;
};

/* Different ones that are looked at as a whole: each takes a pass over the slices. Of more than
 * these, the worst slice stands for the run. */
#define RUNS_MAX 16

/* --- the slices ------------------------------------------------------------------------------ */

/* How far the figure that decided is beyond its limit. */
static double distance_of(const struct verdict_result *r)
{
	return r->evidence_cnt ? verdict_distance(&r->evidence[0]) : 0;
}

static void follow(struct track *t, uint32_t slice, uint64_t elapsed_ns,
		   const struct verdict_result *r)
{
	int c = t->hurt ? verdict_compare(r->verdict, t->worst_verdict) : -1;

	if (!r->hurt)
		return;
	if (c < 0 || (!c && distance_of(r) > t->worst_distance)) {
		t->worst = slice;
		t->worst_verdict = r->verdict;
		t->worst_distance = distance_of(r);
	}
	if (!t->hurt || t->run_last + 1 != slice) {
		t->run_first = slice;
		t->run_ns = 0;
	}
	t->hurt++;
	t->run_last = slice;
	t->run_ns += elapsed_ns;
	if (t->run_ns > t->longest_ns) {
		t->longest_ns = t->run_ns;
		t->first = t->run_first;
		t->last = slice;
	}
}

/* The slices that the tables have rows of; of a recording that goes on only the current one. */
static void find_slices(struct builder *b)
{
	const struct model *m = b->s->m;

	b->first_slice = m->cpus_cnt ? m->cpus[0].slice : 0;
	b->last_slice = m->cpus_cnt ? m->cpus[m->cpus_cnt - 1].slice : (uint32_t)m->slices_cnt - 1;
	if (b->last_slice >= m->slices_cnt)
		b->last_slice = (uint32_t)m->slices_cnt - 1;
	b->v->slices = b->last_slice >= b->first_slice ? b->last_slice - b->first_slice + 1 : 0;
}

static void judge(const struct builder *b, uint32_t process, struct verdict_input *ret_input,
		  struct verdict_result *ret_result)
{
	inputs_of(&b->in, process, ret_input);
	verdict_of(ret_input, inputs_limits(&b->in, process), ret_result);
}

static void judge_slice(struct builder *b, uint32_t slice)
{
	uint32_t host_row = (uint32_t)b->s->m->processes_cnt, seen = 0;
	struct verdict_result result;
	struct verdict_input input;

	inputs_slice(&b->in, slice);
	for (size_t i = 0; i < b->in.touched_cnt; i++) {
		uint32_t process = b->in.touched[i];

		if (!b->in.judged[process])
			continue;
		judge(b, process, &input, &result);
		follow(&b->tracks[process], slice, b->in.elapsed_ns, &result);
		if (b->s->on_slice)
			b->s->on_slice(b->s->ctx, slice, process, &input, &result);
		seen |= verdict_bit(&result);
	}
	inputs_of_host(&b->in, &input);
	verdict_of_host(&input, seen, inputs_host_limits(&b->in), &result);
	if (b->s->on_slice)
		b->s->on_slice(b->s->ctx, slice, MODEL_NONE, &input, &result);
	/* That somebody is hurt is told of those: of the host, that it is itself the reason. */
	result.hurt = result.verdict == VERDICT_HOST_OVERLOADED || result.verdict == VERDICT_STOLEN;
	follow(&b->tracks[host_row], slice, b->in.elapsed_ns, &result);
}

static int judge_slices(struct builder *b)
{
	int err = inputs_rewind(&b->in);

	for (uint32_t i = b->first_slice; !err && i <= b->last_slice; i++)
		judge_slice(b, i);
	return err;
}

/* What the worst slice of each row was like, now that the rows are known. */
static int fill_worst(struct builder *b)
{
	struct verdicts *v = b->v;
	int err = inputs_rewind(&b->in);

	for (uint32_t i = b->first_slice; !err && i <= b->last_slice; i++) {
		inputs_slice(&b->in, i);
		for (size_t k = 0; k < b->in.touched_cnt; k++) {
			uint32_t process = b->in.touched[k], at = b->row_of[process];

			if (at != MODEL_NONE && v->rows[at].worst == i)
				judge(b, process, &v->rows[at].worst_input,
				      &v->rows[at].worst_result);
		}
		if (v->host.worst == i)
			inputs_of_host(&b->in, &v->host.worst_input);
	}
	return err;
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool is_same_run(const struct verdict_row *a, const struct verdict_row *b)
{
	return a->first == b->first && a->last == b->last;
}

/* The worst slice stands for the run. */
static void take_worst(struct verdict_row *row)
{
	row->episode_input = row->worst_input;
	row->episode_result = row->worst_result;
}

/* What is no other trouble than that of all slices is told of these. */
static void take_run(const struct builder *b, struct verdict_row *row)
{
	judge(b, row->process, &row->episode_input, &row->episode_result);
	if (!row->episode_result.hurt)
		take_worst(row);
	row->episode = !row->result.hurt || row->episode_result.verdict != row->result.verdict;
}

/* All rows that have the run of that one. */
static int take_runs(struct builder *b, const struct verdict_row *of)
{
	struct verdicts *v = b->v;
	int err = inputs_rewind(&b->in);

	if (err)
		return err;
	inputs_run(&b->in, of->first, of->last);
	for (size_t i = 0; i < v->rows_cnt; i++)
		if (v->rows[i].episode && is_same_run(&v->rows[i], of))
			take_run(b, &v->rows[i]);
	return 0;
}

static bool wants_run(const struct verdict_row *row)
{
	return row->episode && !row->episode_result.hurt;
}

/* Of the rows that have one to be told, what it was like as a whole: services first. */
static int fill_runs(struct builder *b)
{
	struct verdicts *v = b->v;
	unsigned int passes = 0;
	int err = 0;

	for (int service = 1; service >= 0; service--)
		for (size_t i = 0; !err && i < v->rows_cnt && passes < RUNS_MAX; i++) {
			const struct verdict_row *row = &v->rows[i];

			if (!wants_run(row) || verdict_has_signal(&row->input) != service)
				continue;
			passes++;
			err = take_runs(b, row);
		}
	for (size_t i = 0; i < v->rows_cnt; i++) {
		struct verdict_row *row = &v->rows[i];

		if (!wants_run(row))
			continue;
		take_worst(row);
		row->episode = !row->result.hurt;
	}
	return err;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Over all slices already, or not to be told. */
static bool is_told(const struct verdict_result *r)
{
	switch (r->verdict) {
	case VERDICT_CONTENDED:
	case VERDICT_HEALTHY:
	case VERDICT_BUSY_ELASTIC:
	case VERDICT_BUSY_UNMEASURED:
	case VERDICT_UNKNOWN:
		return false;
	default:
		return true;
	}
}

static void take_track(struct verdict_row *row, const struct track *t)
{
	row->first = row->last = row->worst = row->newest = MODEL_NONE;
	row->hurt_slices = t->hurt;
	if (!t->hurt)
		return;
	row->first = t->first;
	row->last = t->last;
	row->worst = t->worst;
	row->newest = t->run_last;
}

/* Slices are not exact: three of them may lack some microseconds of three seconds. */
static bool lasted(const struct track *t, uint64_t episode_ns)
{
	return t->hurt && t->longest_ns >= episode_ns - episode_ns / 100;
}

static const char *unmeasured(const struct builder *b, const struct verdict_row *row)
{
	if (verdict_has_signal(&row->input))
		return NULL;
	return model_requests_why(b->s->m) ?: "it serves no requests that hotrun sees";
}

/* Whether a row of a healthy one is worth its place when all were asked for. */
static bool did_something(const struct verdict_row *row, double wanted_min)
{
	const struct verdict_input *in = &row->input;

	double wanted = in->running + in->waiting + in->throttled;

	return verdict_has_signal(in) || (wanted > 0 && wanted >= wanted_min);
}

static int add_process(struct builder *b, uint32_t process, bool asked)
{
	const struct verdict_limits *limits = inputs_limits(&b->in, process);
	const struct track *t = &b->tracks[process];
	const struct model_process *p = &b->s->m->processes[process];
	struct verdict_row row = {.process = process, .listens = p->flags & PROCESS_LISTENS};
	struct verdicts *v = b->v;

	judge(b, process, &row.input, &row.result);
	asked |= b->s->every && did_something(&row, 0);
	take_track(&row, t);
	row.episode = lasted(t, limits->episode_ns) &&
		      (!is_told(&row.result) || (row.result.hurt && 2 * t->hurt <= v->slices));
	asked |= b->s->seconds && row.hurt_slices;
	row.no_capture = limits->no_capture;
	v->judged++;
	v->requests_cnt += row.input.answered;
	v->hurt += row.result.hurt || row.episode;
	v->contended += !row.episode && row.result.verdict == VERDICT_CONTENDED;
	v->unknown += !row.episode && row.result.verdict == VERDICT_UNKNOWN;
	v->at_limit += !row.episode && row.result.at_limit;
	v->hurt_services += verdict_has_signal(&row.input) && (row.result.hurt || row.episode);
	/* Without evidence all are alike: the host tells it once. */
	if (row.result.verdict == VERDICT_NO_EVIDENCE && !row.result.hurt && !asked)
		return 0;
	/* So many short-lived ones may have come and gone between two looks at who listens. */
	if (row.result.verdict == VERDICT_UNKNOWN && p->exit_ns && !row.listens && !row.episode &&
	    !asked && !did_something(&row, limits->wanted_min))
		return 0;
	if (row.result.verdict == VERDICT_HEALTHY && !row.episode && !row.result.at_limit &&
	    !asked && !(b->s->all && did_something(&row, limits->wanted_min)))
		return 0;
	row.unmeasured = unmeasured(b, &row);
	if (b->s->requests)
		row.blur = requests_blur(&b->s->requests->processes[process]);
	if (GROW(v->rows, v->rows_cnt, v->rows_cap))
		return -ENOMEM;
	b->row_of[process] = (uint32_t)v->rows_cnt;
	v->rows[v->rows_cnt++] = row;
	return 0;
}

static int add_rows(struct builder *b)
{
	size_t cnt = b->s->m->processes_cnt;
	_cleanup_free_ bool *asked = calloc(cnt + 1, sizeof(*asked));
	int err = asked ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < b->s->asked_cnt; i++)
		asked[b->s->asked[i]] = true;
	for (uint32_t i = 0; !err && i < cnt; i++) {
		b->row_of[i] = MODEL_NONE;
		if (b->in.judged[i])
			err = add_process(b, i, asked[i]);
	}
	inputs_of_host(&b->in, &b->v->host.input);
	return err;
}

/* Who is hurt for a while only hurts the host for a while. */
static void judge_host(struct builder *b)
{
	const struct verdict_limits *limits = &b->s->policy->limits;
	const struct track *t = &b->tracks[b->s->m->processes_cnt];
	struct verdict_row *host = &b->v->host;
	uint32_t seen = 0;

	for (size_t i = 0; i < b->v->rows_cnt; i++) {
		const struct verdict_row *row = &b->v->rows[i];

		seen |= verdict_bit(row->result.hurt ? verdicts_result(row) : &row->result);
	}
	verdict_of_host(&host->input, seen, limits, &host->result);
	host->worst_result = host->result;
	if (host->worst != MODEL_NONE)
		verdict_of_host(&host->worst_input, VERDICT_BIT(t->worst_verdict), limits,
				&host->worst_result);
	host->episode = lasted(t, limits->episode_ns) && !is_told(&host->result);
	take_worst(host);
}

/* --- order ----------------------------------------------------------------------------------- */

/* What makes one of two with the same verdict come first: what it misses, or how many it keeps
 * waiting. */
static double weight_of(const struct verdict_row *row)
{
	const struct verdict_input *in = verdicts_input(row);

	if (verdicts_rank(row) == RANK_CALM)
		return in->running;
	if (verdicts_result(row)->verdict == VERDICT_INELASTIC)
		return in->stuck + in->slow_share * (double)in->requests;
	return in->waiting + in->throttled;
}

/* Of those that are hurt: a service before what only waits, and of these who misses most first. */
static int compare_hurt(const struct verdict_row *a, const struct verdict_row *b)
{
	bool told = verdict_has_signal(verdicts_input(a));
	double wa = weight_of(a), wb = weight_of(b);

	if (told != verdict_has_signal(verdicts_input(b)))
		return told ? -1 : 1;
	return told ? 0 : COMPARE(wb, wa);
}

/* On a host whose CPUs are all taken, who lacks one comes before who waits for something else:
 * that may be what lacks it, as a proxy waits for its service. */
static int compare_verdicts(enum verdict host, enum verdict a, enum verdict b)
{
	if (host == VERDICT_HOST_OVERLOADED && (a == VERDICT_INELASTIC) != (b == VERDICT_INELASTIC))
		return a == VERDICT_INELASTIC ? 1 : -1;
	return verdict_compare(a, b);
}

static int compare_rows(const void *a, const void *b, void *host)
{
	const struct verdict_row *ra = a, *rb = b;
	double wa = weight_of(ra), wb = weight_of(rb);
	int c = COMPARE(ra->episode, rb->episode);

	if (verdicts_rank(ra) != verdicts_rank(rb))
		return verdicts_rank(ra) < verdicts_rank(rb) ? -1 : 1;
	/* What lasted the whole time comes before what passed. */
	if (!c && verdicts_result(ra)->hurt)
		c = compare_hurt(ra, rb);
	if (!c)
		c = compare_verdicts(((const struct verdict_row *)host)->result.verdict,
				     verdicts_result(ra)->verdict, verdicts_result(rb)->verdict);
	if (!c)
		c = COMPARE(rb->listens, ra->listens);
	if (!c)
		c = COMPARE(wb, wa);
	return c ? c : COMPARE(ra->process, rb->process);
}

/* --- all together ---------------------------------------------------------------------------- */

static void builder_clear(struct builder *b)
{
	inputs_end(&b->in);
	free(b->tracks);
	free(b->row_of);
}

static int build(struct builder *b)
{
	size_t cnt = b->s->m->processes_cnt + 1;
	struct verdict_row *host = &b->v->host;
	struct verdicts *v = b->v;
	int err;

	b->tracks = calloc(cnt, sizeof(*b->tracks));
	b->row_of = calloc(cnt, sizeof(*b->row_of));
	if (!b->tracks || !b->row_of)
		return -ENOMEM;
	find_slices(b);
	/* The slices first: what all of them say has to stand in the tables when rows are made. */
	err = inputs_begin(&b->in, b->s);
	if (!err)
		err = judge_slices(b);
	inputs_end(&b->in);
	if (!err)
		err = inputs_begin(&b->in, b->s);
	if (!err)
		err = add_rows(b);
	take_track(host, &b->tracks[cnt - 1]);
	if (!err)
		err = fill_worst(b);
	if (!err)
		err = fill_runs(b);
	if (err)
		return err;
	judge_host(b);
	if (v->rows_cnt)
		qsort_r(v->rows, v->rows_cnt, sizeof(*v->rows), compare_rows, &v->host);
	return 0;
}

static const char *what_is_missing(const struct verdict_sources *s)
{
	const char *waits = model_waits_why(s->m);

	if (waits)
		return waits;
	if (!s->sched || !s->m->slices_cnt)
		return "the capture has no slice";
	if (!s->sched->elapsed_ns)
		return "no time passed in its slices";
	if (s->books->switches_gap || s->books->threads_off)
		return "the books of CPU time have a gap, see below";
	return NULL;
}

struct verdicts *verdicts_new(const struct verdict_sources *sources)
{
	struct verdict_sources s = *sources;
	struct verdict_policy defaults = {0};
	struct builder b = {.s = &s};
	int err = 0;

	b.v = calloc(1, sizeof(*b.v));
	if (!b.v)
		return NULL;
	verdict_limits_default(&defaults.limits);
	if (!s.policy)
		s.policy = &defaults;
	b.v->missing = what_is_missing(&s);
	b.v->host.process = MODEL_NONE;
	b.v->host.result.verdict = VERDICT_NO_EVIDENCE;
	b.v->host.first = b.v->host.last = b.v->host.worst = b.v->host.newest = MODEL_NONE;
	b.v->host.no_capture = s.policy->limits.no_capture;
	if (s.sched && s.m->slices_cnt)
		err = build(&b);
	builder_clear(&b);
	if (!err)
		return b.v;
	verdicts_free(b.v);
	errno = -err;
	return NULL;
}

/* --- a model that goes on -------------------------------------------------------------------- */

/* wanted: what is asked of it, without what it is made of. */
static struct verdicts *judge_view(const struct model *view, const struct sched *sched,
				   const struct requests *requests,
				   const struct verdict_sources *wanted)
{
	struct verdict_sources s = *wanted;
	struct totals totals = {0};
	struct books books;

	totals_cpus(&totals, view);
	/* Threads have their figures since the model began, the books of CPUs those of the view. */
	totals.elapsed_ns = sched ? sched->elapsed_ns : 0;
	totals.on_cpu_ns = sched ? sched->host.sched.on_cpu_ns : 0;
	books = books_of(view, &totals);
	s.m = view;
	s.totals = &totals;
	s.books = &books;
	s.sched = sched;
	s.requests = requests;
	return verdicts_new(&s);
}

static struct verdicts *judge_recent(const struct model *m, uint32_t first,
				     const struct verdict_sources *wanted)
{
	bool waits = !(model_off(m) & OFF_ACCOUNTS), asked = !(model_off(m) & OFF_REQUESTS);
	struct verdicts *v = NULL;
	struct requests *requests;
	struct model view = *m;
	struct sched *sched;

	model_view_from(&view, first);
	sched = waits ? sched_new(&view) : NULL;
	requests = asked ? requests_new(&view) : NULL;
	if ((sched || !waits) && (requests || !asked))
		v = judge_view(&view, sched, requests, wanted);
	requests_free(requests);
	sched_free(sched);
	if (!v)
		errno = ENOMEM;
	return v;
}

struct verdicts *verdicts_recent(const struct model *m, uint32_t first,
				 const struct verdict_policy *policy, bool seconds)
{
	return judge_recent(m, first,
			    &(struct verdict_sources){.policy = policy, .seconds = seconds});
}

struct verdicts *verdicts_recent_told(const struct model *m, uint32_t first,
				      const struct verdict_policy *policy,
				      verdicts_on_slice on_slice, void *ctx)
{
	return judge_recent(
		m, first,
		&(struct verdict_sources){.policy = policy, .on_slice = on_slice, .ctx = ctx});
}

/* By the scheduler's figures a process is hurt from so much waiting on. */
static uint64_t least_wait_ns(const struct verdict_limits *l)
{
	double missed_ns = l->wanted_min * (double)SECOND_NS;

	return missed_ns < (double)l->delay_ns ? (uint64_t)missed_ns : l->delay_ns;
}

static bool serves_well(const struct model *m, uint32_t first, uint64_t stuck_ns)
{
	for (size_t i = m->services_cnt; i-- > 0 && m->services[i].slice >= first;) {
		const struct model_service *s = &m->services[i];

		if (s->served.slow || s->served.abandoned || s->served.refused || s->late ||
		    s->oldest_ns > stuck_ns)
			return false;
	}
	return (!m->signals_cnt || m->signals[m->signals_cnt - 1].slice < first) &&
	       (!m->pasts_cnt || m->pasts[m->pasts_cnt - 1].slice < first);
}

bool verdicts_all_calm(const struct model *m, uint32_t first, const struct verdict_policy *policy)
{
	uint64_t least_ns = least_wait_ns(&policy->limits), stuck_ns = policy->limits.stuck_ns;
	uint32_t newest = (uint32_t)m->slices_cnt - 1;
	uint64_t waited_ns = 0;

	for (size_t i = 0; i < policy->sections_cnt; i++) {
		const struct verdict_limits *l = &policy->sections[i].limits;

		least_ns = least_wait_ns(l) < least_ns ? least_wait_ns(l) : least_ns;
		stuck_ns = l->stuck_ns < stuck_ns ? l->stuck_ns : stuck_ns;
	}
	for (size_t i = m->accounts_cnt; i-- > 0 && m->accounts[i].slice == newest;)
		waited_ns += m->accounts[i].sched.waited_ns + m->accounts[i].sched.throttled_ns;
	return !(model_off(m) & OFF_ACCOUNTS) && waited_ns < least_ns &&
	       serves_well(m, first, stuck_ns);
}

void verdicts_free(struct verdicts *v)
{
	if (!v)
		return;
	free(v->rows);
	free(v);
}
