/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/sched.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/sched_figures.h"

/* --- sums ------------------------------------------------------------------------------------ */

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t saturating_product(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t sched_elapsed_ns(const struct model *m)
{
	size_t first = m->cpus_cnt ? m->slices_cnt : 0, last = m->cpus_cnt ? 0 : m->slices_cnt;
	uint64_t sum = 0;

	for (size_t i = 0; i < m->cpus_cnt; i++) {
		if (m->cpus[i].slice < first)
			first = m->cpus[i].slice;
		if (m->cpus[i].slice > last)
			last = m->cpus[i].slice;
	}
	for (size_t i = first; i <= last && i < m->slices_cnt; i++)
		if (m->slices[i].end_ns > m->slices[i].start_ns)
			sum = saturating_add(sum, m->slices[i].end_ns - m->slices[i].start_ns);
	return sum;
}

/* All of it but the maximum. */
static void add_sum(struct sched_sum *sum, const struct sched_sum *by)
{
	sched_figures_add(&sum->sched, &by->sched);
	for (int slot = 0; slot < DELAY_SLOTS; slot++)
		sum->delays[slot] += by->delays[slot];
	sum->threads += by->threads;
}

uint64_t sched_bound_max_ns(const struct sched_sum *sum, uint64_t max_ns)
{
	uint64_t least = 0, most = 0, bound = 0;

	for (unsigned int slot = 0; slot < DELAY_SLOTS; slot++) {
		uint64_t count = sum->delays[slot];

		if (!count)
			continue;
		bound = sched_slot_ns(slot + 1);
		least = saturating_add(least, saturating_product(count, sched_slot_ns(slot)));
		most = saturating_add(most, saturating_product(count, bound));
	}
	if (!bound)
		return sum->sched.waited_ns ? max_ns : 0;
	if (sum->sched.waited_ns > most && sum->sched.waited_ns - least > bound)
		bound = sum->sched.waited_ns - least;
	return max_ns < bound ? max_ns : bound;
}

/* What each thread waited in slices of the full gear, of which histograms are, too: of a capture of
 * both gears; NULL of one gear. 0 or -ENOMEM. */
static int waits_seen(const struct model *m, uint64_t **ret_seen)
{
	uint64_t *seen;

	*ret_seen = NULL;
	if (!m->slices_quiet || m->slices_quiet == m->slices_cnt)
		return 0;
	seen = calloc(m->threads_cnt + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		const struct model_account *a = &m->accounts[i];

		if (a->slice < m->slices_cnt && !m->slices[a->slice].quiet)
			seen[a->thread] += a->sched.waited_ns;
	}
	*ret_seen = seen;
	return 0;
}

static void bound_max(struct sched_sum *t, uint64_t max_ns, const uint64_t *seen_ns)
{
	struct sched_sum of_histogram = *t;

	if (seen_ns)
		of_histogram.sched.waited_ns = *seen_ns;
	t->delay_max_ns = sched_bound_max_ns(&of_histogram, max_ns);
}

/* Of threads that did nothing a user may have very many. */
static void add_threads(struct sched *s, const struct model *m, const uint64_t *seen)
{
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		s->active[m->accounts[i].thread] = true;
		sched_figures_add(&s->threads[m->accounts[i].thread].sched, &m->accounts[i].sched);
	}
	for (size_t i = 0; i < m->delays_cnt; i++) {
		s->active[m->delays[i].thread] = true;
		s->threads[m->delays[i].thread].delays[m->delays[i].slot] += m->delays[i].count;
	}
	for (size_t i = 0; i < m->threads_cnt; i++) {
		struct sched_sum *t = &s->threads[i], *p = &s->processes[m->threads[i].process];

		if (!s->active[i])
			continue;
		t->threads = sched_wanted_ns(&t->sched) > 0;
		bound_max(t, m->threads[i].delay_max_ns, seen ? &seen[i] : NULL);
		add_sum(p, t);
		add_sum(&s->host, t);
		if (t->delay_max_ns > p->delay_max_ns)
			p->delay_max_ns = t->delay_max_ns;
		if (t->delay_max_ns > s->host.delay_max_ns)
			s->host.delay_max_ns = t->delay_max_ns;
	}
}

/*
 * Delays go where their thread's account of that slice went; both tables are in the order of
 * slices. group_of holds the group of each thread as the walk goes on, at its end that of its last
 * account.
 */
static void add_to_groups(struct sched *s, const struct model *m, uint32_t *group_of)
{
	size_t next = 0;

	for (size_t i = m->accounts_cnt; i-- > 0;) {
		const struct model_account *a = &m->accounts[i];
		struct sched_sum *group;

		group_of[a->thread] = a->cgroup;
		if (a->cgroup == MODEL_NONE)
			continue;
		group = &s->cgroups[a->cgroup];
		sched_figures_add(&group->sched, &a->sched);
		if (s->threads[a->thread].delay_max_ns > group->delay_max_ns)
			group->delay_max_ns = s->threads[a->thread].delay_max_ns;
	}
	for (size_t i = 0; i < m->delays_cnt; i++) {
		const struct model_delay *d = &m->delays[i];

		for (; next < m->accounts_cnt && m->accounts[next].slice <= d->slice; next++)
			group_of[m->accounts[next].thread] = m->accounts[next].cgroup;
		if (group_of[d->thread] != MODEL_NONE)
			s->cgroups[group_of[d->thread]].delays[d->slot] += d->count;
	}
	for (; next < m->accounts_cnt; next++)
		group_of[m->accounts[next].thread] = m->accounts[next].cgroup;
}

/* Gives what each group has of its own to those above it. */
static int add_upwards(struct sched *s, const struct model *m)
{
	size_t bytes = m->cgroups_cnt * sizeof(*s->cgroups);
	_cleanup_free_ struct sched_sum *own = malloc(bytes + 1);

	if (!own)
		return -ENOMEM;
	memcpy(own, s->cgroups, bytes);
	for (size_t i = 0; i < m->cgroups_cnt; i++) {
		for (uint32_t row = m->cgroups[i].parent; row != MODEL_NONE;
		     row = m->cgroups[row].parent) {
			struct sched_sum *above = &s->cgroups[row];

			add_sum(above, &own[i]);
			if (own[i].delay_max_ns > above->delay_max_ns)
				above->delay_max_ns = own[i].delay_max_ns;
		}
	}
	return 0;
}

static int add_cgroups(struct sched *s, const struct model *m)
{
	_cleanup_free_ uint32_t *group_of = malloc((m->threads_cnt + 1) * sizeof(*group_of));

	if (!group_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++)
		group_of[i] = MODEL_NONE;
	add_to_groups(s, m, group_of);
	for (size_t i = 0; i < m->threads_cnt; i++)
		if (group_of[i] != MODEL_NONE)
			s->cgroups[group_of[i]].threads += s->threads[i].threads;
	for (size_t i = 0; i < m->cgroups_cnt; i++)
		s->cgroups[i].delay_max_ns =
			sched_bound_max_ns(&s->cgroups[i], s->cgroups[i].delay_max_ns);
	return add_upwards(s, m);
}

static void scale_own(struct sched_sum *sum, uint64_t seen_ns)
{
	struct sched_figures *f = &sum->sched;

	if (seen_ns && f->waited_ns > seen_ns)
		f->behind_own_ns = (uint64_t)((double)f->behind_own_ns * (double)f->waited_ns /
					      (double)seen_ns);
}

/* Behind whom waits were is seen at switches alone: what was waited in slices of the quiet gear is
 * taken to be as that in the others. */
#define OWN_SEEN_LEAST 0.05 /* less of its waits say nothing of the others */

static int estimate_own(struct sched *s, const struct model *m, const uint64_t *threads)
{
	_cleanup_free_ uint64_t *processes = calloc(m->processes_cnt + 1, sizeof(*processes));
	uint64_t host = 0;

	s->own_unknown = calloc(m->processes_cnt + 1, sizeof(*s->own_unknown));
	if (!processes || !s->own_unknown)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++) {
		processes[m->threads[i].process] += threads[i];
		host += threads[i];
		scale_own(&s->threads[i], threads[i]);
	}
	for (size_t i = 0; i < m->processes_cnt; i++) {
		scale_own(&s->processes[i], processes[i]);
		s->own_unknown[i] = (double)processes[i] <
				    OWN_SEEN_LEAST * (double)s->processes[i].sched.waited_ns;
	}
	scale_own(&s->host, host);
	return 0;
}

struct sched *sched_new(const struct model *m)
{
	_cleanup_free_ uint64_t *seen = NULL;
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->processes = calloc(m->processes_cnt + 1, sizeof(*s->processes));
	s->threads = calloc(m->threads_cnt + 1, sizeof(*s->threads));
	s->cgroups = calloc(m->cgroups_cnt + 1, sizeof(*s->cgroups));
	s->active = calloc(m->threads_cnt + 1, sizeof(*s->active));
	if (!s->processes || !s->threads || !s->cgroups || !s->active || waits_seen(m, &seen))
		goto no_memory;
	s->elapsed_ns = sched_elapsed_ns(m);
	add_threads(s, m, seen);
	if (add_cgroups(s, m))
		goto no_memory;
	if (seen && estimate_own(s, m, seen))
		goto no_memory;
	return s;

no_memory:
	sched_free(s);
	errno = ENOMEM;
	return NULL;
}

void sched_free(struct sched *s)
{
	if (!s)
		return;
	free(s->processes);
	free(s->threads);
	free(s->active);
	free(s->cgroups);
	free(s->own_unknown);
	free(s);
}

/* --- figures --------------------------------------------------------------------------------- */

double sched_mean(uint64_t ns, uint64_t elapsed_ns)
{
	return elapsed_ns ? (double)ns / (double)elapsed_ns : 0;
}

uint64_t sched_wanted_ns(const struct sched_figures *sched)
{
	return sched->on_cpu_ns + sched->waited_ns + sched->throttled_ns;
}

double sched_progress(const struct sched_figures *sched)
{
	uint64_t wanted_ns = sched_wanted_ns(sched);

	return wanted_ns ? (double)sched->on_cpu_ns / (double)wanted_ns : 1;
}

uint64_t sched_delay_cnt(const struct sched_sum *sum)
{
	uint64_t cnt = 0;

	for (int slot = 0; slot < DELAY_SLOTS; slot++)
		cnt += sum->delays[slot];
	return cnt;
}

uint64_t sched_slot_ns(unsigned int slot)
{
	if (slot >= DELAY_SLOTS)
		return UINT64_MAX;
	return slot ? 1000ull << slot : 0;
}

uint64_t sched_delay_ns(const struct sched_sum *sum, double q)
{
	uint64_t cnt = sched_delay_cnt(sum);
	double rank = q * (double)cnt, passed = 0, below = 0, low, high, ns;
	unsigned int slot = 0;

	if (!cnt)
		return 0;
	for (unsigned int i = 0; i < DELAY_SLOTS; i++) {
		if (!sum->delays[i])
			continue;
		slot = i;
		below = passed;
		passed += (double)sum->delays[i];
		if (passed >= rank)
			break;
	}
	rank = fmin(fmax((rank - below) / (double)sum->delays[slot], 0), 1);
	low = (double)sched_slot_ns(slot);
	/* The last slot has no end but the longest delay. */
	high = slot + 1 < DELAY_SLOTS ? (double)sched_slot_ns(slot + 1)
				      : fmax((double)sum->delay_max_ns, low);
	ns = slot ? low * pow(high / low, rank) : high * rank;
	return ns < (double)sum->delay_max_ns ? (uint64_t)ns : sum->delay_max_ns;
}

/* Measured with 2 CPUs: .NET workers with work are preempted after 300 us and more, idle ones yield
 * after 5 to 50 us, their work included. */
#define PREEMPTED_AFTER_NS 200000

uint64_t sched_yielded_ns(const struct sched_figures *thread)
{
	uint64_t preempted = thread->on_cpu_ns / PREEMPTED_AFTER_NS + 1;

	if (thread->involuntary <= preempted)
		return 0;
	/* A wait for each sleep that ended, and for each of these switches: taken as equally
	 * long. */
	return (uint64_t)((unsigned __int128)thread->waited_ns * (thread->involuntary - preempted) /
			  ((unsigned __int128)thread->involuntary + thread->voluntary));
}

uint64_t sched_slice_ns(const struct sched_figures *sched)
{
	uint64_t switches = sched->voluntary + sched->involuntary;

	return switches ? sched->on_cpu_ns / switches : 0;
}

/* --- what there was to have ------------------------------------------------------------------ */

uint32_t sched_cgroup_of(const struct model *m, uint32_t process)
{
	uint64_t id = m->processes[process].cgroup_id;

	for (size_t i = m->accounts_cnt; i-- > 0;)
		if (m->accounts[i].cgroup != MODEL_NONE &&
		    m->threads[m->accounts[i].thread].process == process)
			return m->accounts[i].cgroup;
	return id ? model_cgroup_find(m, id) : MODEL_NONE;
}

static uint32_t widest_mask(const struct model *m, uint32_t process)
{
	uint32_t online = m->host.cpus_online, mask = 0;

	for (size_t i = 0; i < m->threads_cnt; i++)
		if (m->threads[i].process == process && m->threads[i].cpus_allowed > mask)
			mask = m->threads[i].cpus_allowed;
	if (!mask || (online && mask > online))
		mask = online;
	return mask;
}

/* Of a process in that group, mask of it known. */
static void add_quotas(const struct model *m, uint32_t row, struct sched_available *a)
{
	for (; row != MODEL_NONE; row = m->cgroups[row].parent) {
		const struct model_cgroup *group = &m->cgroups[row];
		double quota =
			group->period_ns ? (double)group->quota_ns / (double)group->period_ns : 0;

		if (quota > 0 && (a->cgroup == MODEL_NONE || quota < a->quota)) {
			a->quota = quota;
			a->cgroup = row;
		}
	}
	a->cpus = a->cgroup != MODEL_NONE && a->quota < a->mask ? a->quota : a->mask;
}

struct sched_available sched_available(const struct model *m, uint32_t process)
{
	struct sched_available a = {.cgroup = MODEL_NONE, .mask = widest_mask(m, process)};

	add_quotas(m, sched_cgroup_of(m, process), &a);
	return a;
}

struct sched_available *sched_available_all(const struct model *m)
{
	struct sched_available *all = calloc(m->processes_cnt + 1, sizeof(*all));
	_cleanup_free_ uint32_t *groups = malloc((m->processes_cnt + 1) * sizeof(*groups));
	uint32_t online = m->host.cpus_online;

	if (!all || !groups) {
		free(all);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < m->processes_cnt; i++)
		groups[i] = MODEL_NONE;
	for (size_t i = 0; i < m->accounts_cnt; i++)
		if (m->accounts[i].cgroup != MODEL_NONE)
			groups[m->threads[m->accounts[i].thread].process] = m->accounts[i].cgroup;
	for (size_t i = 0; i < m->threads_cnt; i++)
		if (m->threads[i].cpus_allowed > all[m->threads[i].process].mask)
			all[m->threads[i].process].mask = m->threads[i].cpus_allowed;
	for (size_t i = 0; i < m->processes_cnt; i++) {
		all[i].cgroup = MODEL_NONE;
		if (!all[i].mask || (online && all[i].mask > online))
			all[i].mask = online;
		/* Without an account nothing ran there that a quota could stop. */
		add_quotas(m, groups[i], &all[i]);
	}
	return all;
}
