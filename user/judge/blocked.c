/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/blocked.h"

#include <errno.h>
#include <linux/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "bpf/events.h"

#define NS_MS 1000000ull

/* Time by slice, of which few may have any. */
struct by_slice {
	double *ns;	   /* slices */
	uint32_t *touched; /* those that are not 0 */
	size_t touched_cnt;
};

struct builder {
	const struct model *m;
	struct blocked *b;
	struct by_slice all, waits; /* of the process at hand */
	struct by_slice part;	    /* of what is measured */
	uint32_t *stamps;	    /* by thread: the measure that it was counted in */
	uint32_t stamp;
	size_t groups_cnt, kinds_cnt; /* that are filled */
};

/* --- time by slice --------------------------------------------------------------------------- */

static int by_slice_init(struct by_slice *s, size_t slices)
{
	s->ns = calloc(slices + 1, sizeof(*s->ns));
	s->touched = calloc(slices + 1, sizeof(*s->touched));
	return s->ns && s->touched ? 0 : -ENOMEM;
}

static void by_slice_free(struct by_slice *s)
{
	free(s->ns);
	free(s->touched);
}

static void by_slice_add(struct by_slice *s, uint32_t slice, double ns)
{
	if (!(s->ns[slice] > 0))
		s->touched[s->touched_cnt++] = slice;
	s->ns[slice] += ns;
}

static void by_slice_empty(struct by_slice *s)
{
	for (size_t i = 0; i < s->touched_cnt; i++)
		s->ns[s->touched[i]] = 0;
	s->touched_cnt = 0;
}

/* Student's t at 97.5 % (Abramowitz and Stegun, 26.7.5): 0.3 % too low at 4 degrees, then less. */
static double student(double degrees)
{
	const double z = 1.96, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;

	return z + (z3 + z) / (4 * degrees) +
	       (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

static struct blocked_share share_in(const struct by_slice *part, const struct by_slice *whole)
{
	struct blocked_share share = {NAN, NAN};
	double sum = 0, of = 0, squares = 0, n = (double)whole->touched_cnt;

	for (size_t i = 0; i < whole->touched_cnt; i++) {
		of += whole->ns[whole->touched[i]];
		sum += part->ns[whole->touched[i]];
	}
	if (!(of > 0))
		return share;
	share.share = sum / of;
	if (whole->touched_cnt < BLOCKED_SLICES || sum >= of)
		return share;
	for (size_t i = 0; i < whole->touched_cnt; i++) {
		uint32_t slice = whole->touched[i];
		double off = part->ns[slice] - share.share * whole->ns[slice];

		squares += off * off;
	}
	share.error = fmin(student(n - 1) * sqrt(n / (n - 1) * squares) / of, 1);
	return share;
}

/* --- what is measured ------------------------------------------------------------------------ */

static void begin(struct builder *w, struct blocked_sum *sum)
{
	*sum = (struct blocked_sum){.of_all = {NAN, NAN}, .of_waits = {NAN, NAN}};
	by_slice_empty(&w->part);
	w->stamp++;
}

static void add_group(struct builder *w, struct blocked_sum *sum, const struct standing_group *g)
{
	for (uint32_t i = g->stand; i != MODEL_NONE; i = w->b->standing->next[i]) {
		const struct model_stand *s = &w->m->stands[i];

		sum->blocked_ns += s->blocked_ns;
		by_slice_add(&w->part, s->slice, (double)s->blocked_ns);
		if (w->stamps[s->at.thread] != w->stamp)
			sum->threads++;
		w->stamps[s->at.thread] = w->stamp;
		if (s->age_ns != STAND_AGE_UNKNOWN && s->age_ns > sum->longest_ns)
			sum->longest_ns = s->age_ns;
	}
}

static void end(const struct builder *w, struct blocked_sum *sum, bool idle)
{
	sum->of_all = share_in(&w->part, &w->all);
	if (!idle)
		sum->of_waits = share_in(&w->part, &w->waits);
}

/* --- ages ------------------------------------------------------------------------------------ */

/* The last one has no end, and what is not known no class. */
static const uint64_t ages_below_ns[BLOCKED_AGES] = {
	1000000ull, 10000000ull, 100000000ull, 1000000000ull, 10000000000ull, 100000000000ull, 0, 0,
};

uint64_t blocked_age_below_ns(unsigned int class)
{
	return ages_below_ns[class];
}

static unsigned int age_class(uint64_t age_ns)
{
	unsigned int class = 0;

	if (age_ns == STAND_AGE_UNKNOWN)
		return BLOCKED_AGE_UNKNOWN;
	while (ages_below_ns[class] && age_ns >= ages_below_ns[class])
		class ++;
	return class;
}

static void add_ages(const struct builder *w, struct blocked_kind *kind,
		     const struct standing_group *g)
{
	for (uint32_t i = g->stand; i != MODEL_NONE; i = w->b->standing->next[i])
		kind->ages_ns[age_class(w->m->stands[i].age_ns)] += w->m->stands[i].blocked_ns;
}

/* --- a process ------------------------------------------------------------------------------- */

static int compare_sums(bool idle_a, const struct blocked_sum *a, bool idle_b,
			const struct blocked_sum *b)
{
	int c = COMPARE(idle_a, idle_b);

	if (!c)
		c = COMPARE(b->blocked_ns, a->blocked_ns);
	return c ? c : COMPARE(b->threads, a->threads);
}

static int compare_groups(const void *a, const void *b)
{
	const struct blocked_group *x = a, *y = b;
	int c = compare_sums(x->group->idle, &x->sum, y->group->idle, &y->sum);

	return c ? c : COMPARE(x->group->stand, y->group->stand);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct blocked_kind *x = a, *y = b;
	int c = compare_sums(x->idle, &x->sum, y->idle, &y->sum);

	return c ? c : COMPARE(x->wait, y->wait);
}

static int compare_processes(const void *a, const void *b, void *ctx)
{
	const struct blocked_process *x = a, *y = b;
	const struct model *m = ctx;
	int c = COMPARE(y->waits.blocked_ns, x->waits.blocked_ns);

	if (!c)
		c = COMPARE(y->all.blocked_ns, x->all.blocked_ns);
	if (!c)
		c = COMPARE(m->processes[x->process].tgid, m->processes[y->process].tgid);
	return c ? c : COMPARE(x->process, y->process);
}

/* What all else is a part of. */
static void fill_wholes(struct builder *w, const struct standing_group *first, size_t cnt)
{
	by_slice_empty(&w->all);
	by_slice_empty(&w->waits);
	for (const struct standing_group *g = first; g < first + cnt; g++)
		for (uint32_t i = g->stand; i != MODEL_NONE; i = w->b->standing->next[i]) {
			const struct model_stand *s = &w->m->stands[i];

			by_slice_add(&w->all, s->slice, (double)s->blocked_ns);
			if (!g->idle)
				by_slice_add(&w->waits, s->slice, (double)s->blocked_ns);
		}
}

static void measure_groups(struct builder *w, struct blocked_sum *sum,
			   const struct standing_group *first, size_t cnt, bool waits, bool idle)
{
	begin(w, sum);
	for (const struct standing_group *g = first; g < first + cnt; g++)
		if (g->idle ? idle : waits)
			add_group(w, sum, g);
	end(w, sum, idle);
}

static void measure_kind(struct builder *w, struct blocked_process *p,
			 const struct standing_group *first, size_t cnt, enum stand_wait wait,
			 bool idle)
{
	struct blocked_kind *kind = &w->b->kinds[w->kinds_cnt];

	*kind = (struct blocked_kind){.wait = wait, .idle = idle};
	begin(w, &kind->sum);
	for (size_t i = 0; i < cnt; i++) {
		if (first[i].wait != wait || first[i].idle != idle)
			continue;
		add_group(w, &kind->sum, &first[i]);
		add_ages(w, kind, &first[i]);
	}
	if (!kind->sum.blocked_ns)
		return;
	end(w, &kind->sum, idle);
	w->kinds_cnt++;
	p->kinds_cnt++;
}

static void add_process(struct builder *w, const struct standing_group *first, size_t cnt)
{
	struct blocked *b = w->b;
	struct blocked_process *p = &b->processes[b->processes_cnt++];

	*p = (struct blocked_process){
		.process = first->process,
		.groups = &b->groups[w->groups_cnt],
		.groups_cnt = cnt,
		.kinds = &b->kinds[w->kinds_cnt],
	};
	fill_wholes(w, first, cnt);
	p->slices = (uint32_t)w->all.touched_cnt;
	measure_groups(w, &p->all, first, cnt, true, true);
	measure_groups(w, &p->waits, first, cnt, true, false);
	measure_groups(w, &p->idle, first, cnt, false, true);
	for (size_t i = 0; i < cnt; i++) {
		struct blocked_group *g = &b->groups[w->groups_cnt++];

		g->group = &first[i];
		begin(w, &g->sum);
		add_group(w, &g->sum, &first[i]);
		end(w, &g->sum, first[i].idle);
	}
	qsort((void *)p->groups, cnt, sizeof(*p->groups), compare_groups);
	for (unsigned int wait = 0; wait < 2 * WAIT_CNT; wait++)
		measure_kind(w, p, first, cnt, (enum stand_wait)(wait / 2), wait & 1);
	qsort((void *)p->kinds, p->kinds_cnt, sizeof(*p->kinds), compare_kinds);
}

/* --- all together ---------------------------------------------------------------------------- */

static bool has_time(const struct model *m, const struct model_stand *s, const void *ctx)
{
	(void)m;
	(void)ctx;
	return s->blocked_ns;
}

/* A slice in which no look ended is stood for by the next one in which one does. */
static int count_slices(struct blocked *b, const struct model *m)
{
	_cleanup_free_ bool *seen = calloc(m->slices_cnt + 1, sizeof(*seen));
	uint64_t unseen_ns = 0;

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < m->stands_cnt; i++)
		if (m->stands[i].blocked_ns)
			seen[m->stands[i].slice] = true;
	for (size_t i = 0; i < m->slices_cnt; i++) {
		const struct model_slice *s = &m->slices[i];

		/* Nobody was to look there. */
		if (s->quiet)
			continue;
		unseen_ns += s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
		if (!seen[i])
			continue;
		b->slices++;
		b->elapsed_ns += unseen_ns;
		unseen_ns = 0;
	}
	return 0;
}

static int reserve(struct builder *w)
{
	size_t groups = w->b->standing->groups_cnt;
	int err = by_slice_init(&w->all, w->m->slices_cnt);

	if (!err)
		err = by_slice_init(&w->waits, w->m->slices_cnt);
	if (!err)
		err = by_slice_init(&w->part, w->m->slices_cnt);
	w->stamps = calloc(w->m->threads_cnt + 1, sizeof(*w->stamps));
	w->b->processes = calloc(groups + 1, sizeof(*w->b->processes));
	w->b->groups = calloc(groups + 1, sizeof(*w->b->groups));
	/* No process has more kinds than groups. */
	w->b->kinds = calloc(groups + 1, sizeof(*w->b->kinds));
	return err || !w->stamps || !w->b->processes || !w->b->groups || !w->b->kinds ? -ENOMEM : 0;
}

static int build(struct builder *w, struct model *m)
{
	struct blocked *b = w->b;
	const struct standing *s;
	int err;

	if (stands_complete(m))
		return -ENOMEM;
	b->rows = (struct stands){.rows = m->stands, .cnt = m->stands_cnt};
	b->standing = standing_new_of(m, &b->rows, has_time, NULL);
	if (!b->standing)
		return -ENOMEM;
	s = b->standing;
	err = count_slices(b, m);
	if (!err)
		err = reserve(w);
	for (size_t i = 0, to; !err && i < s->groups_cnt; i = to) {
		for (to = i + 1;
		     to < s->groups_cnt && s->groups[to].process == s->groups[i].process;)
			to++;
		add_process(w, &s->groups[i], to - i);
	}
	if (!err && b->processes_cnt)
		qsort_r(b->processes, b->processes_cnt, sizeof(*b->processes), compare_processes,
			m);
	return err;
}

struct blocked *blocked_new(struct model *m)
{
	struct builder w = {.m = m, .b = calloc(1, sizeof(*w.b))};
	int err = w.b ? build(&w, m) : -ENOMEM;

	by_slice_free(&w.all);
	by_slice_free(&w.waits);
	by_slice_free(&w.part);
	free(w.stamps);
	if (!err)
		return w.b;
	blocked_free(w.b);
	errno = -err;
	return NULL;
}

void blocked_free(struct blocked *b)
{
	if (!b)
		return;
	standing_free(b->standing);
	free(b->processes);
	free(b->groups);
	free(b->kinds);
	free(b);
}

const struct blocked_process *blocked_find(const struct blocked *b, uint32_t process)
{
	for (size_t i = 0; i < b->processes_cnt; i++)
		if (b->processes[i].process == process)
			return &b->processes[i];
	return NULL;
}

double blocked_mean(const struct blocked *b, uint64_t blocked_ns)
{
	return b->elapsed_ns ? (double)blocked_ns / (double)b->elapsed_ns : 0;
}

/* --- as samples ------------------------------------------------------------------------------ */

static int put_samples(struct model *m, const struct standing *s, const struct standing_group *g)
{
	uint64_t rest_ns = 0;
	int err = 0;

	for (uint32_t i = g->stand; !err && i != MODEL_NONE; i = s->next[i]) {
		struct model_sample sample = m->stands[i].at;
		uint64_t ns = m->stands[i].blocked_ns + rest_ns, ms = ns / NS_MS;

		rest_ns = ns % NS_MS;
		if (!ms)
			continue;
		sample.kind = SAMPLE_ON_CPU;
		sample.waiters = WAITERS_UNKNOWN;
		sample.weight = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
		err = model_sample_add(m, &sample);
	}
	return err;
}

int blocked_as_samples(struct model *m, bool idle)
{
	struct stands rows = {.rows = m->stands, .cnt = m->stands_cnt};
	struct standing *s = stands_complete(m) ? NULL : standing_new_of(m, &rows, has_time, NULL);
	int err = s ? 0 : -ENOMEM;

	if (s)
		m->samples_cnt = 0;
	for (size_t i = 0; !err && i < s->groups_cnt; i++)
		if (idle || !s->groups[i].idle)
			err = put_samples(m, s, &s->groups[i]);
	standing_free(s);
	return err;
}
