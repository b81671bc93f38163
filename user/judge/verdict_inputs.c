/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/verdict_inputs.h"

#include <errno.h>
#include <linux/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "bpf/events.h"
#include "judge/role.h"
#include "model/policy.h"
#include "model/signal.h"
#include "model/sched_figures.h"

const struct verdict_limits *inputs_host_limits(const struct inputs *in)
{
	return &in->s->policy->limits;
}

const struct verdict_limits *inputs_limits(const struct inputs *in, uint32_t process)
{
	uint32_t section = in->section_of[process];

	return section == MODEL_NONE ? inputs_host_limits(in)
				     : &in->s->policy->sections[section].limits;
}

/* --- what does not change over time ---------------------------------------------------------- */

static void mark_judged(struct inputs *in, const struct model *m)
{
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		in->judged[i] = !(m->processes[i].flags & PROCESS_KERNEL) && !model_is_own(m, i);
}

/* Those whose threads asked to run behind others, but for some that want less than a tenth
 * together. */
static int mark_background(struct inputs *in, const struct model *m)
{
	_cleanup_free_ uint64_t *wanted_ns = calloc(m->processes_cnt + 1, sizeof(*wanted_ns));
	_cleanup_free_ uint64_t *front_ns = calloc(m->processes_cnt + 1, sizeof(*front_ns));

	if (!wanted_ns || !front_ns)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++) {
		const struct model_thread *t = &m->threads[i];
		uint64_t ns = sched_wanted_ns(&t->sched);

		wanted_ns[t->process] += ns;
		if (!policy_is_background(t))
			front_ns[t->process] += ns;
	}
	for (size_t i = 0; i < m->processes_cnt; i++)
		in->background[i] = wanted_ns[i] && front_ns[i] < wanted_ns[i] / 10;
	return 0;
}

static bool is_named(const struct model_process *p, const char *name)
{
	return !strcmp(p->name, name) || (p->unit[0] && !strcmp(p->unit, name));
}

static void find_sections(struct inputs *in, const struct model *m)
{
	const struct verdict_policy *policy = in->s->policy;

	for (size_t i = 0; i < m->processes_cnt; i++)
		in->section_of[i] = MODEL_NONE;
	for (size_t k = policy->sections_cnt; k-- > 0;) {
		const struct verdict_section *section = &policy->sections[k];

		for (size_t i = 0; section->name && i < m->processes_cnt; i++)
			if (is_named(&m->processes[i], section->name))
				in->section_of[i] = (uint32_t)k;
		for (size_t i = 0; !section->name && i < m->endpoints_cnt; i++)
			if (m->endpoints[i].port == section->port)
				in->section_of[m->endpoints[i].process] = (uint32_t)k;
	}
}

/* Who ended before has had no verdict to ask for. */
static bool is_there(const struct model *m, const struct model_process *p)
{
	uint32_t first = m->cpus_cnt ? m->cpus[0].slice : 0;

	return !p->exit_ns || first >= m->slices_cnt || p->exit_ns > m->slices[first].start_ns;
}

static void mark_unmeasured(struct inputs *in, const struct model *m)
{
	for (uint32_t i = 0; !in->s->requests && i < m->processes_cnt; i++) {
		const struct model_process *p = &m->processes[i];
		bool known = p->flags & PROCESS_SOCKETS, listens = p->flags & PROCESS_LISTENS;

		in->unmeasured[i] = in->judged[i] && is_there(m, p) && (listens || !known);
		in->host_unmeasured |= in->unmeasured[i] && isnan(in->signals[i]) &&
				       inputs_limits(in, i)->hurt_by != HURT_BY_WAITING;
	}
}

static int compare_listeners(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return COMPARE(*x, *y);
}

/* Who serves at a socket of whose connections not all were followed: that nothing was seen of its
 * own tells nothing. */
static int mark_sampled(struct inputs *in, const struct model *m)
{
	_cleanup_free_ uint64_t *listeners = calloc(m->services_cnt + 1, sizeof(*listeners));
	size_t cnt = 0;

	if (!listeners)
		return -ENOMEM;
	for (size_t i = 0; i < m->services_cnt; i++)
		if (m->services[i].served.unseen)
			listeners[cnt++] = m->endpoints[m->services[i].endpoint].listener;
	if (!cnt)
		return 0;
	qsort(listeners, cnt, sizeof(*listeners), compare_listeners);
	for (size_t i = 0; i < m->endpoints_cnt; i++)
		if (bsearch(&m->endpoints[i].listener, listeners, cnt, sizeof(*listeners),
			    compare_listeners))
			in->sampled[m->endpoints[i].process] = true;
	return 0;
}

/*
 * Of a thread's run delay, what delays no request: a method that is recompiled runs as it is until
 * that is done, and idle pool workers yield. Of threads with other roles nothing is excused: where
 * something wakes up thousands of times a second they are preempted as often as a worker yields,
 * and starve.
 */
static uint64_t excused_ns(const struct model_thread *t, const struct sched_figures *sched)
{
	if (!sched->waited_ns)
		return 0;
	switch (role_of(t->comm, false)) {
	case ROLE_TIERING:
		return sched->waited_ns;
	case ROLE_POOL_WORKER:
		return sched_yielded_ns(sched);
	default:
		return 0;
	}
}

/* --- requests -------------------------------------------------------------------------------- */

static const struct requests_sum *services_of(const struct inputs *in, uint32_t process)
{
	static const struct requests_sum none;

	if (!in->s->requests)
		return &none;
	return in->services ? &in->services[process] : &in->s->requests->processes[process];
}

/*
 * Whether waits at a service of an unknown protocol may be by design: blocking commands and
 * subscriptions are unanswered for as long as nothing comes, or their time is over. It answers
 * others, most of them soon, or the slow ones all after the same time. Not where the operator has
 * said what is to hold for it.
 */
static bool is_by_design(const struct inputs *in, uint32_t process)
{
	const struct model *m = in->s->m;
	const struct requests_sum *all;
	uint32_t answered = in->answered[process];

	if (!in->s->requests || in->section_of[process] != MODEL_NONE || !answered ||
	    in->last >= m->slices_cnt)
		return false;
	all = &in->s->requests->processes[process];
	return requests_is_foreign(all) &&
	       m->slices[in->last].end_ns - m->slices[answered - 1].end_ns <
		       inputs_limits(in, process)->stuck_ns &&
	       (all->served.slow * 2 < all->served.answered || requests_are_timed(all));
}

static void share_of(const struct requests_sum *sum, struct verdict_input *ret_input)
{
	double low, high;

	ret_input->requests = requests_judged(sum);
	ret_input->slow_share = requests_slow_share(sum);
	requests_slow_range(sum, &low, &high);
	ret_input->unseen = sum->unseen;
	ret_input->slow_below = ret_input->slow_share - low;
	ret_input->answered = sum->served.answered;
	ret_input->ended = sum->plain_abandoned ? sum->plain_answered + sum->plain_abandoned : 0;
	if (ret_input->ended)
		ret_input->unanswered_share =
			(double)sum->plain_abandoned / (double)ret_input->ended;
	ret_input->unanswered_below =
		ret_input->ended ? ret_input->unanswered_share - requests_plain_abandoned_least(sum)
				 : 0;
	if (sum->served.answered)
		ret_input->answered_share = (double)sum->served.slow / (double)sum->served.answered;
}

/* --- the host -------------------------------------------------------------------------------- */

static bool lacks_books(const struct books *b)
{
	return b->switches_gap || b->threads_off;
}

static void set_host(struct inputs *in, uint64_t cpu_ns, uint64_t idle_ns, uint64_t steal_ns)
{
	in->host = (struct verdict_input){
		.elapsed_ns = in->elapsed_ns,
		.host_cpus = in->s->m->host.cpus_online,
		.host_waiting = sched_mean(in->waited_ns, in->elapsed_ns),
		.books_gap = lacks_books(in->s->books),
	};
	if (!cpu_ns)
		return;
	in->host.host_busy = idle_ns < cpu_ns ? (double)(cpu_ns - idle_ns) / (double)cpu_ns : 0;
	in->host.host_steal = (double)steal_ns / (double)cpu_ns;
}

/* --- all slices ------------------------------------------------------------------------------ */

/* --- slower than usual ----------------------------------------------------------------------- */

/* Nobody feels that an answer takes so much longer, nor, where none is slow, one in a hundred. */
#define PAST_FELT_NS  5000000
#define PAST_SLOW_PPM 10000

static double median_ratio(const struct model_past *p)
{
	if (!p->usual_ns || p->median_ns < p->usual_ns + PAST_FELT_NS)
		return 0;
	return (double)p->median_ns / (double)p->usual_ns;
}

static double slow_ratio(const struct model_past *p)
{
	uint32_t usual = p->usual_ppm > PAST_SLOW_PPM ? p->usual_ppm : PAST_SLOW_PPM;

	return p->slow_ppm > usual ? (double)p->slow_ppm / usual : 0;
}

static void add_past(struct inputs *in, const struct model_past *p)
{
	struct inputs_past *sum = &in->pasts[p->process];
	double median = median_ratio(p), slow = slow_ratio(p);
	double ratio = median > slow ? median : slow;

	sum->sum += ratio;
	if (ratio <= sum->most)
		return;
	sum->most = ratio;
	sum->worst = p;
}

/* slices: that the sum is of. */
static void tell_past(const struct inputs_past *sum, size_t slices, struct verdict_input *input)
{
	const struct model_past *p = sum->worst;

	if (!p || !slices)
		return;
	input->slower = sum->sum / (double)slices;
	if (median_ratio(p) >= slow_ratio(p)) {
		input->median_ns = p->median_ns;
		input->usual_ns = p->usual_ns;
	}
	input->slow_now = (double)p->slow_ppm / SIGNAL_PPM;
	input->usual_slow = (double)p->usual_ppm / SIGNAL_PPM;
}

/* --------------------------------------------------------------------------------------------- */

static int make_tables(struct inputs *in, const struct model *m)
{
	in->available = sched_available_all(m);
	in->answered = calloc(m->processes_cnt + 1, sizeof(*in->answered));
	in->background = calloc(m->processes_cnt + 1, sizeof(*in->background));
	in->judged = calloc(m->processes_cnt + 1, sizeof(*in->judged));
	in->sampled = calloc(m->processes_cnt + 1, sizeof(*in->sampled));
	in->section_of = calloc(m->processes_cnt + 1, sizeof(*in->section_of));
	in->excused_ns = calloc(m->processes_cnt + 1, sizeof(*in->excused_ns));
	in->unmeasured = calloc(m->processes_cnt + 1, sizeof(*in->unmeasured));
	in->signals = signal_means(m);
	in->pasts = calloc(m->processes_cnt + 1, sizeof(*in->pasts));
	return in->available && in->answered && in->background && in->judged && in->sampled &&
			       in->section_of && in->excused_ns && in->unmeasured && in->signals &&
			       in->pasts
		       ? 0
		       : -ENOMEM;
}

static void note_answers(struct inputs *in, const struct model_service *s)
{
	if (s->served.answered)
		in->answered[in->s->m->endpoints[s->endpoint].process] = s->slice + 1;
}

int inputs_begin(struct inputs *in, const struct verdict_sources *s)
{
	const struct model *m = s->m;
	int err;

	*in = (struct inputs){
		.s = s, .elapsed_ns = s->sched->elapsed_ns, .own_known = !(model_off(m) & OFF_OWN)};
	err = make_tables(in, m);
	if (!err)
		err = mark_sampled(in, m);
	if (!err)
		err = mark_background(in, m);
	if (err)
		return err;
	mark_judged(in, m);
	find_sections(in, m);
	mark_unmeasured(in, m);
	for (uint32_t i = 0; i < m->threads_cnt; i++)
		if (s->sched->active[i])
			in->excused_ns[m->threads[i].process] +=
				excused_ns(&m->threads[i], &s->sched->threads[i].sched);
	for (size_t i = 0; i < m->pasts_cnt; i++)
		add_past(in, &m->pasts[i]);
	for (size_t i = 0; i < m->services_cnt; i++)
		note_answers(in, &m->services[i]);
	in->last = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0;
	in->slices = m->cpus_cnt ? m->cpus[m->cpus_cnt - 1].slice - m->cpus[0].slice + 1 : 0;
	in->waited_ns = s->sched->host.sched.waited_ns;
	set_host(in, s->totals->cpu_elapsed_ns, s->totals->idle_ns, s->totals->steal_ns);
	return 0;
}

void inputs_end(struct inputs *in)
{
	free(in->available);
	free(in->answered);
	free(in->background);
	free(in->judged);
	free(in->sampled);
	free(in->section_of);
	free(in->scheds);
	free(in->excused_ns);
	free(in->unmeasured);
	free(in->services);
	free(in->signals);
	free(in->pasts);
	free(in->touched);
	free(in->is_touched);
	*in = (struct inputs){0};
}

/* --- one slice after the other --------------------------------------------------------------- */

static void forget_touched(struct inputs *in)
{
	for (size_t i = 0; i < in->touched_cnt; i++) {
		uint32_t process = in->touched[i];

		in->scheds[process] = (struct sched_sum){0};
		in->excused_ns[process] = 0;
		in->services[process] = (struct requests_sum){0};
		in->signals[process] = NAN;
		in->pasts[process] = (struct inputs_past){0};
		in->is_touched[process] = false;
	}
	in->touched_cnt = 0;
	in->host_services = (struct requests_sum){0};
}

int inputs_rewind(struct inputs *in)
{
	size_t cnt = in->s->m->processes_cnt + 1;

	if (!in->scheds) {
		in->scheds = calloc(cnt, sizeof(*in->scheds));
		in->services = calloc(cnt, sizeof(*in->services));
		in->touched = calloc(cnt, sizeof(*in->touched));
		in->is_touched = calloc(cnt, sizeof(*in->is_touched));
		if (!in->scheds || !in->services || !in->touched || !in->is_touched)
			return -ENOMEM;
		memset(in->excused_ns, 0, cnt * sizeof(*in->excused_ns));
		memset(in->pasts, 0, cnt * sizeof(*in->pasts));
		for (size_t i = 0; i < cnt; i++)
			in->signals[i] = NAN;
	}
	forget_touched(in);
	memset(in->answered, 0, cnt * sizeof(*in->answered));
	in->account = in->delay = in->service = in->signal = in->past = in->cpu = 0;
	return 0;
}

static void touch(struct inputs *in, uint32_t process)
{
	if (in->is_touched[process])
		return;
	in->is_touched[process] = true;
	in->touched[in->touched_cnt++] = process;
}

static void read_accounts(struct inputs *in, uint32_t slice)
{
	const struct model *m = in->s->m;

	for (; in->account < m->accounts_cnt && m->accounts[in->account].slice <= slice;
	     in->account++) {
		const struct model_account *a = &m->accounts[in->account];
		uint32_t process = m->threads[a->thread].process;

		if (a->slice != slice)
			continue;
		touch(in, process);
		sched_figures_add(&in->scheds[process].sched, &a->sched);
		in->excused_ns[process] += excused_ns(&m->threads[a->thread], &a->sched);
		in->waited_ns += a->sched.waited_ns;
	}
	for (; in->delay < m->delays_cnt && m->delays[in->delay].slice <= slice; in->delay++) {
		const struct model_delay *d = &m->delays[in->delay];
		uint32_t process = m->threads[d->thread].process;

		if (d->slice != slice)
			continue;
		touch(in, process);
		in->scheds[process].delays[d->slot] += d->count;
		in->scheds[process].delay_max_ns = in->s->sched->processes[process].delay_max_ns;
	}
}

static void read_services(struct inputs *in, uint32_t slice)
{
	const struct model *m = in->s->m;

	for (; in->s->requests && in->service < m->services_cnt &&
	       m->services[in->service].slice <= slice;
	     in->service++) {
		const struct model_service *s = &m->services[in->service];
		uint32_t process = m->endpoints[s->endpoint].process;

		note_answers(in, s);
		if (s->slice != slice)
			continue;
		touch(in, process);
		requests_sum_add(&in->services[process], m, s, true);
		requests_sum_add(&in->host_services, m, s, true);
	}
}

static void read_signals(struct inputs *in, uint32_t slice)
{
	const struct model *m = in->s->m;

	for (; in->signal < m->signals_cnt && m->signals[in->signal].slice <= slice; in->signal++) {
		const struct model_signal *s = &m->signals[in->signal];

		if (s->slice != slice)
			continue;
		touch(in, s->process);
		/* Of a run, the worst. */
		in->signals[s->process] =
			fmax(in->signals[s->process], (double)s->value_ppm / SIGNAL_PPM);
	}
}

static void read_pasts(struct inputs *in, uint32_t slice)
{
	const struct model *m = in->s->m;

	for (; in->past < m->pasts_cnt && m->pasts[in->past].slice <= slice; in->past++) {
		if (m->pasts[in->past].slice != slice)
			continue;
		touch(in, m->pasts[in->past].process);
		add_past(in, &m->pasts[in->past]);
	}
}

/* Of all CPUs. */
struct cpu_times {
	uint64_t cpu_ns, idle_ns, steal_ns;
};

static void read_cpus(struct inputs *in, uint32_t slice, struct cpu_times *times)
{
	const struct model *m = in->s->m;

	for (; in->cpu < m->cpus_cnt && m->cpus[in->cpu].slice <= slice; in->cpu++) {
		if (m->cpus[in->cpu].slice != slice)
			continue;
		times->cpu_ns += m->cpus[in->cpu].elapsed_ns;
		times->idle_ns += m->cpus[in->cpu].idle_ns;
		times->steal_ns += m->cpus[in->cpu].steal_ns;
	}
}

void inputs_run(struct inputs *in, uint32_t first, uint32_t last)
{
	struct cpu_times times = {0};

	forget_touched(in);
	in->own_known = true;
	in->elapsed_ns = in->waited_ns = 0;
	in->slices = last - first + 1;
	in->last = last;
	for (uint32_t slice = first; slice <= last; slice++) {
		const struct model_slice *at = &in->s->m->slices[slice];

		in->own_known &= !(model_slice_off(in->s->m, at) & OFF_OWN);
		in->elapsed_ns += at->end_ns > at->start_ns ? at->end_ns - at->start_ns : 0;
		read_accounts(in, slice);
		read_services(in, slice);
		read_signals(in, slice);
		read_pasts(in, slice);
		read_cpus(in, slice, &times);
	}
	set_host(in, times.cpu_ns, times.idle_ns, times.steal_ns);
}

void inputs_slice(struct inputs *in, uint32_t slice)
{
	inputs_run(in, slice, slice);
}

/* --- what a verdict is made of --------------------------------------------------------------- */

/* By Little's law. A late one that is answered is in several sums: the largest is at least half of
 * the truth. Of those that nobody answers only the ends of slices tell. */
static double mean_unanswered(const struct inputs *in, const struct requests_sum *sum)
{
	uint64_t answered_ns = sum->served.time_ns;
	uint64_t most_ns = answered_ns > sum->late_ns ? answered_ns : sum->late_ns;

	return sched_mean(most_ns > sum->open_ns ? most_ns : sum->open_ns, in->elapsed_ns);
}

/* Of all slices, of what was seen. */
static bool serves_enough(const struct inputs *in, uint32_t process)
{
	const struct requests_sum *all;

	if (!in->s->requests)
		return false;
	all = &in->s->requests->processes[process];
	return requests_judged(all) >= inputs_limits(in, process)->requests_min + all->unseen;
}

/* Of all slices: in a second without a request it serves as before. */
static bool may_serve(const struct inputs *in, uint32_t process)
{
	const struct requests_sum *all;

	if (!in->s->requests)
		return false;
	all = &in->s->requests->processes[process];
	return requests_judged(all) || all->oldest_max_ns || all->served.abandoned ||
	       all->queued_max;
}

void inputs_of(const struct inputs *in, uint32_t process, struct verdict_input *ret_input)
{
	const struct sched_sum *sum =
		in->scheds ? &in->scheds[process] : &in->s->sched->processes[process];
	const struct requests_sum *services = services_of(in, process);
	struct verdict_input input = in->host;

	input.running = sched_mean(sum->sched.on_cpu_ns, in->elapsed_ns);
	input.waiting = sched_mean(sum->sched.waited_ns, in->elapsed_ns);
	input.throttled = sched_mean(sum->sched.throttled_ns, in->elapsed_ns);
	input.behind_own = sched_mean(sum->sched.behind_own_ns, in->elapsed_ns);
	input.excused = sched_mean(in->excused_ns[process], in->elapsed_ns);
	input.own_known = in->own_known;
	if (!in->scheds && in->s->sched->own_unknown)
		input.own_known &= !in->s->sched->own_unknown[process];
	input.cpus_available = in->available[process].cpus;
	input.background = in->background[process];
	input.delays = sched_delay_cnt(sum);
	input.delay_p99_ns = sched_delay_ns(sum, 0.99);
	share_of(services, &input);
	input.serves_enough = serves_enough(in, process);
	input.partly_seen = in->sampled[process] && !input.serves_enough;
	input.may_serve = may_serve(in, process);
	input.unmeasured = in->unmeasured[process];
	input.unanswered = mean_unanswered(in, services);
	if (is_by_design(in, process)) {
		input.slow_share = input.slow_below = input.answered_share = 0;
	} else {
		input.stuck = services->stuck_max;
		input.oldest_ns = services->oldest_max_ns;
	}
	input.has_requests = input.requests || input.oldest_ns || input.ended;
	input.refused = services->full_refused;
	input.has_signal = !isnan(in->signals[process]);
	if (input.has_signal)
		input.signal = in->signals[process];
	tell_past(&in->pasts[process], in->slices, &input);
	*ret_input = input;
}

/* Of the host's requests, those whose waits may be by design. */
static void leave_out_by_design(const struct inputs *in, struct requests_sum *host)
{
	size_t cnt = in->services ? in->touched_cnt : in->s->m->processes_cnt;

	for (size_t i = 0; i < cnt; i++) {
		uint32_t process = in->services ? in->touched[i] : (uint32_t)i;
		const struct requests_sum *sum;

		if (!is_by_design(in, process))
			continue;
		sum = services_of(in, process);
		host->served.answered -= sum->served.answered;
		host->served.slow -= sum->served.slow;
		host->late -= sum->late;
		host->unseen -= sum->unseen;
		host->spread -= sum->spread;
	}
}

void inputs_of_host(const struct inputs *in, struct verdict_input *ret_input)
{
	struct verdict_input input = in->host;

	if (in->s->requests) {
		struct requests_sum sum = in->services ? in->host_services : in->s->requests->host;

		leave_out_by_design(in, &sum);
		share_of(&sum, &input);
	}
	input.has_requests = input.requests > 0;
	input.unmeasured = in->host_unmeasured;
	*ret_input = input;
}
