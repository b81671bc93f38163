/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/history_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"

/* Ten years; a stranger's file may say that there are more. */
#define DAYS_MAX  3660
#define HOURS_MAX (24 * DAYS_MAX)
/* Minutes of all that are held for knees: 120 MB. */
#define POINTS_MAX 5000000
#define KINDS_MAX  20000

struct history_view *history_view_new(const struct history_view_options *options)
{
	struct history_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->options = *options;
	v->first_minute_s = INT64_MAX;
	v->subject.kind.id = HISTORY_HOST;
	return v;
}

void history_view_free(struct history_view *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->kinds_cnt; i++)
		free(v->kinds[i].points);
	free(v->kinds);
	free(v->subject.points);
	free(v->hours);
	free(v->days);
	free(v->decisions);
	trunks_again_clear(&v->trunks);
	free(v);
}

double history_cpus(uint64_t cpu_ms, uint64_t observed_ms)
{
	return observed_ms ? (double)cpu_ms / (double)observed_ms : 0;
}

static int worse(uint64_t a, uint64_t b)
{
	/* A later version may know more of them. */
	if (a >= VERDICT_CNT || b >= VERDICT_CNT)
		return (a >= VERDICT_CNT) - (b >= VERDICT_CNT);
	return verdict_compare((enum verdict)a, (enum verdict)b);
}

static bool is_asked(const struct history_view *v, const char *name, const char *place)
{
	return !v->options.name || !strcmp(v->options.name, name) ||
	       (*place && !strcmp(v->options.name, place));
}

static bool is_within(const struct history_view *v, int64_t time_s)
{
	return time_s >= v->options.from_s && time_s < v->options.to_s;
}

/* --- kinds, hours ---------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct history_subject *x = a, *y = b;

	return COMPARE(x->kind.id, y->kind.id);
}

int history_view_kind(struct history_view *v, const struct history_kind *kind)
{
	if (!is_asked(v, kind->name, kind->place) || v->kinds_cnt == KINDS_MAX)
		return 0;
	if (GROW(v->kinds, v->kinds_cnt, v->kinds_cap))
		return -ENOMEM;
	v->kinds[v->kinds_cnt++] = (struct history_subject){.kind = *kind};
	/* Ids grow: in the order in which they come, as a rule. */
	if (v->kinds_cnt > 1 && v->kinds[v->kinds_cnt - 2].kind.id > kind->id)
		qsort(v->kinds, v->kinds_cnt, sizeof(*v->kinds), by_id);
	return 0;
}

static struct history_subject *find_kind(const struct history_view *v, uint32_t id)
{
	const struct history_subject key = {.kind = {.id = id}};

	return v->kinds_cnt ? bsearch(&key, v->kinds, v->kinds_cnt, sizeof(*v->kinds), by_id)
			    : NULL;
}

/* The subject's hour; of several kinds of a name they are one. */
static int add_hour(struct history_view *v, int64_t time_s, const struct history_figures *figures)
{
	struct history_hour *last = v->hours_cnt ? &v->hours[v->hours_cnt - 1] : NULL;

	if (last && last->time_s == time_s) {
		uint64_t observed_ms = last->figures.observed_ms;

		history_add(&last->figures, figures, worse);
		last->figures.observed_ms =
			observed_ms > figures->observed_ms ? observed_ms : figures->observed_ms;
		return 0;
	}
	if (v->hours_cnt == HOURS_MAX)
		return 0;
	if (GROW(v->hours, v->hours_cnt, v->hours_cap))
		return -ENOMEM;
	v->hours[v->hours_cnt++] = (struct history_hour){time_s, *figures};
	return 0;
}

static void add_sum(struct history_subject *s, const struct history_figures *figures)
{
	double cpus = history_cpus(figures->cpu_ms, figures->observed_ms);

	history_add(&s->sum, figures, worse);
	if (cpus > s->most_cpus)
		s->most_cpus = cpus;
}

int history_view_hour(struct history_view *v, int64_t time_s, uint32_t kind,
		      const struct history_figures *figures)
{
	struct history_subject *s = find_kind(v, kind);
	int err = 0;

	if (!is_within(v, time_s))
		return 0;
	if (kind == HISTORY_HOST) {
		if (!v->first_s || time_s < v->first_s)
			v->first_s = time_s;
		if (time_s + HISTORY_HOUR_S > v->last_s)
			v->last_s = time_s + HISTORY_HOUR_S;
		/* The hour that goes on. */
		if (v->last_s > v->options.to_s)
			v->last_s = v->options.to_s;
		v->observed_ms += figures->observed_ms;
	}
	if (s)
		add_sum(s, figures);
	if (v->options.name ? s != NULL : kind == HISTORY_HOST) {
		add_sum(&v->subject, figures);
		err = add_hour(v, time_s, figures);
	}
	/* Of an asked process, an hour without a row is one of rest. */
	if (!err && v->options.name && kind == HISTORY_HOST)
		err = add_hour(v, time_s,
			       &(struct history_figures){.observed_ms = figures->observed_ms});
	return err;
}

/* --- which ----------------------------------------------------------------------------------- */

static int worst_first(const void *a, const void *b)
{
	const struct history_subject *x = a, *y = b;
	int c = COMPARE(y->sum.bad_minutes, x->sum.bad_minutes);

	if (!c)
		c = COMPARE(y->sum.hurt_ms, x->sum.hurt_ms);
	if (!c)
		c = COMPARE(y->sum.requests > 0, x->sum.requests > 0);
	if (!c)
		c = COMPARE(y->sum.cpu_ms, x->sum.cpu_ms);
	return c ? c : COMPARE(x->kind.id, y->kind.id);
}

static int by_hour(const void *a, const void *b)
{
	const struct history_hour *x = a, *y = b;

	return COMPARE(x->time_s, y->time_s);
}

static int make_days(struct history_view *v)
{
	int64_t first, last;

	if (!v->hours_cnt)
		return 0;
	first = v->hours[0].time_s / HISTORY_DAY_S;
	last = v->hours[v->hours_cnt - 1].time_s / HISTORY_DAY_S;
	if (last - first >= DAYS_MAX)
		first = last - DAYS_MAX + 1;
	v->days_cnt = (size_t)(last - first + 1);
	v->days = calloc(v->days_cnt, sizeof(*v->days));
	if (!v->days)
		return -ENOMEM;
	for (size_t i = 0; i < v->days_cnt; i++)
		v->days[i].time_s = (first + (int64_t)i) * HISTORY_DAY_S;
	for (size_t i = 0; i < v->hours_cnt; i++) {
		const struct history_hour *h = &v->hours[i];
		int64_t day = h->time_s / HISTORY_DAY_S - first;
		int hour = (int)(h->time_s % HISTORY_DAY_S / HISTORY_HOUR_S);
		uint64_t bad = h->figures.bad_minutes;

		if (day < 0)
			continue;
		v->days[day].known[hour] |= h->figures.observed_ms != 0;
		v->days[day].bad[hour] += bad < 60 ? (uint32_t)bad : 60;
	}
	return 0;
}

int history_view_choose(struct history_view *v)
{
	int64_t span_s;
	size_t kept = 0;

	for (size_t i = 0; i < v->kinds_cnt; i++)
		if (v->kinds[i].sum.observed_ms)
			v->kinds[kept++] = v->kinds[i];
	v->kinds_cnt = kept;
	if (v->kinds_cnt)
		qsort(v->kinds, v->kinds_cnt, sizeof(*v->kinds), worst_first);
	for (size_t i = 0, sought = 0; i < v->kinds_cnt && sought < HISTORY_KNEES; i++) {
		v->kinds[i].knee_sought = v->kinds[i].sum.requests >= HISTORY_REQUESTS;
		sought += v->kinds[i].knee_sought;
	}
	v->subject.knee_sought = v->subject.sum.requests >= HISTORY_REQUESTS;
	/* For history_view_minute(). */
	if (v->kinds_cnt)
		qsort(v->kinds, v->kinds_cnt, sizeof(*v->kinds), by_id);
	if (v->hours_cnt)
		qsort(v->hours, v->hours_cnt, sizeof(*v->hours), by_hour);
	span_s = v->last_s - v->first_s;
	v->curve_s = (span_s + HISTORY_CURVE * HISTORY_MINUTE_S - 1) /
		     (HISTORY_CURVE * HISTORY_MINUTE_S) * HISTORY_MINUTE_S;
	if (v->curve_s < HISTORY_MINUTE_S)
		v->curve_s = HISTORY_MINUTE_S;
	v->curve_cnt = (size_t)((span_s + v->curve_s - 1) / v->curve_s);
	return make_days(v);
}

/* --- minutes --------------------------------------------------------------------------------- */

static void add_point(struct history_view *v, int64_t time_s, const struct history_figures *f,
		      bool host)
{
	size_t at = (size_t)((time_s - v->first_s) / v->curve_s);
	struct history_point *p;

	if (time_s < v->first_s || at >= v->curve_cnt)
		return;
	p = &v->curve[at];
	p->observed_ms += host ? f->observed_ms : 0;
	if (host && v->options.name)
		return;
	p->cpu_ms += f->cpu_ms;
	p->requests += f->requests;
	p->slow += f->slow < f->requests ? f->slow : f->requests;
	p->bad_minutes += f->bad_minutes;
}

/* Minutes of several kinds of a name are points of their own: each has its own CPUs. */
static int add_knee(struct history_subject *s, int64_t time_s, const struct history_figures *f)
{
	if (!s->knee_sought || f->requests < HISTORY_REQUESTS || !f->observed_ms ||
	    s->points_cnt >= POINTS_MAX / (HISTORY_KNEES + 1))
		return 0;
	if (GROW(s->points, s->points_cnt, s->points_cap))
		return -ENOMEM;
	s->points[s->points_cnt++] =
		(struct knee_point){.time_s = time_s,
				    .cpus = history_cpus(f->cpu_ms, f->observed_ms),
				    .slow = history_slow_share(f)};
	return 0;
}

int history_view_minute(struct history_view *v, int64_t time_s, uint32_t kind,
			const struct history_figures *figures)
{
	struct history_subject *s = find_kind(v, kind);
	bool host = kind == HISTORY_HOST;
	int err = 0;

	if (!is_within(v, time_s))
		return 0;
	if (host && time_s < v->first_minute_s)
		v->first_minute_s = time_s;
	if (host || (v->options.name && s))
		add_point(v, time_s, figures, host);
	if (s)
		err = add_knee(s, time_s, figures);
	if (!err && (v->options.name ? s != NULL : host))
		err = add_knee(&v->subject, time_s, figures);
	return err;
}

static uint64_t sixtieth(uint64_t of_hour, unsigned int minute)
{
	return of_hour / 60 + (minute < of_hour % 60);
}

/* Minutes that were given up already: of their hours each minute was like the others. */
static void fill_curve(struct history_view *v)
{
	for (size_t i = 0; i < v->hours_cnt; i++) {
		const struct history_hour *h = &v->hours[i];
		const struct history_figures *f = &h->figures;
		uint64_t slow = f->slow < f->requests ? f->slow : f->requests;

		if (h->time_s + HISTORY_HOUR_S > v->first_minute_s)
			continue;
		for (unsigned int m = 0; m < 60; m++) {
			size_t at = (size_t)((h->time_s + m * HISTORY_MINUTE_S - v->first_s) /
					     v->curve_s);
			struct history_point *p;

			if (h->time_s < v->first_s || at >= v->curve_cnt)
				continue;
			p = &v->curve[at];
			p->observed_ms += sixtieth(f->observed_ms, m);
			p->cpu_ms += sixtieth(f->cpu_ms, m);
			p->requests += sixtieth(f->requests, m);
			p->slow += sixtieth(slow, m);
			p->bad_minutes += sixtieth(f->bad_minutes, m);
		}
	}
}

/* --- captures -------------------------------------------------------------------------------- */

/* A capture that a person asked for is of nobody in particular: told of everybody. */
int history_view_decision(struct history_view *v, const struct history_decision *decision)
{
	struct history_decided *row;

	if (decision->last_s < v->options.from_s || decision->time_s >= v->options.to_s ||
	    (*decision->process && !is_asked(v, decision->process, "")))
		return 0;
	if (v->decisions_cnt == 2 * HISTORY_DECISIONS) {
		memmove(v->decisions, v->decisions + HISTORY_DECISIONS,
			HISTORY_DECISIONS * sizeof(*v->decisions));
		v->decisions_cnt = HISTORY_DECISIONS;
	}
	if (GROW(v->decisions, v->decisions_cnt, v->decisions_cap))
		return -ENOMEM;
	row = &v->decisions[v->decisions_cnt++];
	row->d = *decision;
	history_copy(row->process, sizeof(row->process), decision->process);
	history_copy(row->reason, sizeof(row->reason), decision->reason);
	history_copy(row->trunk, sizeof(row->trunk), decision->trunk);
	history_copy(row->capture, sizeof(row->capture), decision->capture);
	return 0;
}

int history_view_trunk(struct history_view *v, const struct history_trunk *trunk)
{
	if (!is_within(v, trunk->time_s) || !is_asked(v, trunk->process, ""))
		return 0;
	return trunks_again_add(&v->trunks, trunk);
}

static int newest_first(const void *a, const void *b)
{
	const struct history_decided *x = a, *y = b;

	return COMPARE(y->d.time_s, x->d.time_s);
}

static void finish_decisions(struct history_view *v)
{
	if (v->decisions_cnt)
		qsort(v->decisions, v->decisions_cnt, sizeof(*v->decisions), newest_first);
	if (v->decisions_cnt > HISTORY_DECISIONS)
		v->decisions_cnt = HISTORY_DECISIONS;
	for (size_t i = 0; i < v->decisions_cnt; i++) {
		struct history_decided *row = &v->decisions[i];

		row->d.process = row->process;
		row->d.reason = row->reason;
		row->d.trunk = row->trunk;
		row->d.capture = row->capture;
	}
}

int history_view_finish(struct history_view *v)
{
	int err = 0;

	fill_curve(v);
	finish_decisions(v);
	trunks_again_sort(&v->trunks);
	if (v->subject.knee_sought)
		err = knee_of(v->subject.points, v->subject.points_cnt, &v->subject.knee);
	for (size_t i = 0; !err && i < v->kinds_cnt; i++)
		if (v->kinds[i].knee_sought)
			err = knee_of(v->kinds[i].points, v->kinds[i].points_cnt,
				      &v->kinds[i].knee);
	if (v->kinds_cnt)
		qsort(v->kinds, v->kinds_cnt, sizeof(*v->kinds), worst_first);
	return err;
}
