/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "model/student.h"

/* Chance that a change of diff_value.least is named. */
#define POWER_T 0.8416
/* What explains so much of a change is told in its place. */
#define EXPLAINS 0.8

/* --- one figure ------------------------------------------------------------------------------- */

/* Numerator by part, and the same of what it is divided by. */
struct ratio {
	double of[DIFF_PARTS], by[DIFF_PARTS];
	double samples;	  /* counted in the numerator; negative: it is exact */
	double seconds;	  /* recorded */
	double of_sample; /* what one adds */
	uint32_t parts;
};

/* The ratio, and the variance of its estimate; NAN where it cannot be told. */
static double ratio_of(const struct ratio *r, double *ret_variance)
{
	double of = 0, by = 0, squares = 0, value, least;

	for (uint32_t i = 0; i < r->parts; i++) {
		of += r->of[i];
		by += r->by[i];
	}
	*ret_variance = NAN;
	if (by <= 0)
		return 0;
	value = of / by;
	if (r->parts < DIFF_PARTS_MIN)
		return value;
	for (uint32_t i = 0; i < r->parts; i++) {
		double rest = r->of[i] - value * r->by[i];

		squares += rest * rest;
	}
	*ret_variance = squares * r->parts / (r->parts - 1) / (by * by);
	if (r->samples >= 0) {
		least = fmax(r->samples, 1) * r->of_sample * r->of_sample / (by * by);
		*ret_variance = fmax(*ret_variance, least);
	}
	return value;
}

/* What drifts slowly, of a ratio: its variance. */
static double drift_of(const struct ratio *r, double value)
{
	double share = r->seconds > 0 ? DIFF_DRIFT / sqrt(r->seconds) : 0;

	share = fmax(share, DIFF_DRIFT_LEAST) * value;
	return share * share;
}

static double parts_freedom(double variance, uint32_t parts)
{
	return parts > 1 ? variance * variance / (parts - 1) : 0;
}

/* chance: under which such a change would be named, alone among all. */
static struct diff_value compare(const struct ratio sides[static DIFF_SIDES], double chance)
{
	double variance[DIFF_SIDES], drift, sum, se, df, spread;
	struct diff_value v = {
		.before = ratio_of(&sides[DIFF_BEFORE], &variance[DIFF_BEFORE]),
		.after = ratio_of(&sides[DIFF_AFTER], &variance[DIFF_AFTER]),
		.p = 1,
		.error = NAN,
		.least = NAN,
	};

	v.change = v.after - v.before;
	sum = variance[DIFF_BEFORE] + variance[DIFF_AFTER];
	drift = drift_of(&sides[DIFF_BEFORE], v.before) + drift_of(&sides[DIFF_AFTER], v.after);
	if (!isfinite(sum) || sum + drift <= 0)
		return v;
	se = sqrt(sum + drift);
	spread = parts_freedom(variance[DIFF_BEFORE], sides[DIFF_BEFORE].parts) +
		 parts_freedom(variance[DIFF_AFTER], sides[DIFF_AFTER].parts);
	df = spread > 0 ? se * se * se * se / spread : INFINITY;
	v.error = student_t(0.05, df) * se;
	v.p = student_p(v.change / se, df);
	v.least = (student_t(chance, df) + POWER_T) * se;
	return v;
}

/* What figures of that kind are divided by, part by part. */
static void divide(const struct diff *d, uint32_t kind, int at, struct ratio *r)
{
	const struct diff_side *s = &d->book->sides[at];
	const struct diff_kind *k = &d->book->kinds[kind];

	r->parts = s->parts;
	r->seconds = s->all_seconds;
	for (uint32_t i = 0; i < s->parts; i++)
		r->by[i] = d->kinds[kind].per == DIFF_PER_REQUEST ? k->answered[at][i]
			   : d->kinds[kind].per == DIFF_PER_SHARE ? k->ticks[at][i] * s->tick_s
								  : s->seconds[i];
}

/* Samples of both sides that a figure rests on; 0 where it is not asked. */
static double samples_of(const struct diff_book *b, uint32_t method, enum diff_of of)
{
	const struct diff_method *row = &b->methods[method];
	double samples = 0;

	for (int at = 0; at < DIFF_SIDES; at++)
		samples += (double)row->all[at][of] / b->sides[at].ticks_of;
	return samples >= DIFF_SAMPLES_MIN && diff_book_symbol(b, method)->kind != KIND_NOTE
		       ? samples
		       : 0;
}

/* Of the chances to be named by mistake, 1 on the mean. */
static double weight_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	return d->tested ? samples_of(d->book, method, of) * (double)d->tested / d->samples : 1;
}

static double chance_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	double weight = weight_of(d, method, of);

	return DIFF_FALSE * (weight > 0 ? weight : 1) / (double)(d->tested ?: 1);
}

struct diff_value diff_value_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	const struct diff_method *row = &d->book->methods[method];
	struct ratio sides[DIFF_SIDES] = {0};

	for (int at = 0; at < DIFF_SIDES; at++) {
		const struct diff_side *s = &d->book->sides[at];

		divide(d, row->kind, at, &sides[at]);
		sides[at].of_sample = s->tick_s * s->ticks_of;
		sides[at].samples = (double)row->all[at][of] / s->ticks_of;
		for (uint32_t i = 0; i < s->parts; i++)
			sides[at].of[i] = d->book->counts[method][at][of][i] * s->tick_s;
	}
	return compare(sides, chance_of(d, method, of));
}

/* All CPU time of a kind of processes. */
static struct diff_value value_of_kind(const struct diff *d, uint32_t kind)
{
	const struct diff_kind *k = &d->book->kinds[kind];
	bool exact = k->all_cpu_s[DIFF_BEFORE] > 0 || k->all_cpu_s[DIFF_AFTER] > 0;
	struct ratio sides[DIFF_SIDES] = {0};

	for (int at = 0; at < DIFF_SIDES; at++) {
		const struct diff_side *s = &d->book->sides[at];

		divide(d, kind, at, &sides[at]);
		sides[at].of_sample = s->tick_s * s->ticks_of;
		sides[at].samples = exact ? -1 : k->all_ticks[at] / s->ticks_of;
		for (uint32_t i = 0; i < s->parts; i++) {
			sides[at].of[i] = exact ? k->cpu_s[at][i] : k->ticks[at][i] * s->tick_s;
			/* Of itself it is all. */
			if (d->kinds[kind].per == DIFF_PER_SHARE)
				sides[at].by[i] = s->seconds[i];
		}
	}
	return compare(sides, DIFF_FALSE);
}

/* --- what a kind is divided by ---------------------------------------------------------------- */

/* Enough of them, and not all in one part. */
static bool has_requests(const struct diff_book *b, const struct diff_kind *k)
{
	for (int at = 0; at < DIFF_SIDES; at++) {
		uint32_t with = 0;

		for (uint32_t i = 0; i < b->sides[at].parts; i++)
			with += k->answered[at][i] > 0;
		if (k->all_answered[at] < DIFF_REQUESTS_MIN || 2 * with < b->sides[at].parts)
			return false;
	}
	return true;
}

static int judge_kinds(struct diff *d, enum diff_per per)
{
	const struct diff_book *b = d->book;

	d->kinds = calloc(b->kinds_cnt + 1, sizeof(*d->kinds));
	if (!d->kinds)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->kinds_cnt; i++) {
		bool requests = has_requests(b, &b->kinds[i]);

		d->kinds[i].per = per == DIFF_PER_SHARE		      ? DIFF_PER_SHARE
				  : per != DIFF_PER_CORES && requests ? DIFF_PER_REQUEST
								      : DIFF_PER_CORES;
		d->kinds[i].value = value_of_kind(d, i);
		d->kinds[i].certain = d->kinds[i].value.p < DIFF_FALSE;
	}
	return 0;
}

/* --- which of very many ----------------------------------------------------------------------- */

struct asked {
	double p; /* by its weight: see DIFF_FALSE */
	uint32_t method;
	enum diff_of of;
	struct diff_value value;
};

static int compare_asked(const void *pa, const void *pb)
{
	const struct asked *a = pa, *b = pb;
	int c = COMPARE(a->p, b->p);

	c = c ?: COMPARE(a->method, b->method);
	return c ?: COMPARE(a->of, b->of);
}

static bool is_compiled(const struct model_symbol *s)
{
	return s->kind == KIND_JIT || s->kind == KIND_IMAGE;
}

/* Compiled code whose name nobody knew. */
static bool is_nameless(const struct model_symbol *s)
{
	return is_compiled(s) && s->reason != REASON_NAMED;
}

/* By how much code without a name changed at the most. By row of kinds; owned, NULL without
 * memory. */
static double *nameless_changes(const struct diff *d)
{
	const struct diff_book *b = d->book;
	double *changes = calloc(b->kinds_cnt + 1, sizeof(*changes));

	for (uint32_t i = 0; changes && i < b->methods_cnt; i++)
		for (int of = 0; of < DIFF_OF_CNT; of++) {
			double change;

			if (!is_nameless(diff_book_symbol(b, i)))
				continue;
			change = diff_value_of(d, i, (enum diff_of)of).change;
			/* With what it calls where that is more: callees have their names. */
			if (fabs(change) > fabs(changes[b->methods[i].kind]))
				changes[b->methods[i].kind] = change;
		}
	return changes;
}

/* Whether its name alone may have come or gone. */
static bool may_be_its_name(const struct diff *d, const struct asked *a, const double *nameless)
{
	const struct model_symbol *s = diff_book_symbol(d->book, a->method);
	double other = nameless[d->book->methods[a->method].kind];

	return is_nameless(s) || (is_compiled(s) && a->value.change * other < 0 &&
				  fabs(a->value.change) <= fabs(other) + a->value.error);
}

/* Returns how many of them, sorted by p, stand: the last whose p is below its part of the rate. */
static size_t that_stand(const struct asked *asked, size_t cnt)
{
	size_t stand = 0;

	for (size_t i = 0; i < cnt; i++)
		if (asked[i].p <= DIFF_FALSE * (double)(i + 1) / (double)cnt)
			stand = i + 1;
	return stand;
}

/* Owned; NULL without memory. */
static struct asked *ask_all(struct diff *d)
{
	const struct diff_book *b = d->book;
	struct asked *asked = reallocarray(NULL, 2 * b->methods_cnt + 1, sizeof(*asked));
	size_t cnt = 0;

	if (!asked)
		return NULL;
	for (uint32_t i = 0; i < b->methods_cnt; i++)
		for (int of = 0; of < DIFF_OF_CNT; of++) {
			double samples = samples_of(b, i, (enum diff_of)of);

			d->tested += samples > 0;
			d->samples += samples;
		}
	for (uint32_t i = 0; i < b->methods_cnt; i++)
		for (int of = 0; of < DIFF_OF_CNT; of++) {
			if (!samples_of(b, i, (enum diff_of)of))
				continue;
			asked[cnt] = (struct asked){.method = i, .of = (enum diff_of)of};
			asked[cnt].value = diff_value_of(d, i, (enum diff_of)of);
			asked[cnt].p = asked[cnt].value.p / weight_of(d, i, (enum diff_of)of);
			cnt++;
		}
	qsort(asked, cnt, sizeof(*asked), compare_asked);
	return asked;
}

/* --- what explains it ------------------------------------------------------------------------- */

/* Per kind and side: one tick in the unit of its figures. */
static double of_tick(const struct diff *d, uint32_t kind, int at)
{
	struct ratio r = {0};
	double by = 0;

	divide(d, kind, at, &r);
	for (uint32_t i = 0; i < r.parts; i++)
		by += r.by[i];
	return by > 0 ? d->book->sides[at].tick_s / by : 0;
}

static double node_change(const struct diff_node *n, enum diff_of of,
			  const double ticks[static DIFF_SIDES])
{
	return (double)n->all[DIFF_AFTER][of] * ticks[DIFF_AFTER] -
	       (double)n->all[DIFF_BEFORE][of] * ticks[DIFF_BEFORE];
}

/* By row of methods. */
struct marks {
	bool *found;  /* it is among the findings, with what it calls */
	double *into; /* of one finding: change of what it calls; 0 in between */
};

/* Where most of a finding is. */
static void place(const struct diff *d, struct diff_finding *f)
{
	const struct diff_book *b = d->book;
	uint32_t kind = b->methods[f->method].kind;
	const double ticks[DIFF_SIDES] = {of_tick(d, kind, DIFF_BEFORE),
					  of_tick(d, kind, DIFF_AFTER)};
	double most = 0;

	f->node = MODEL_NONE;
	for (uint32_t i = 1; i < b->nodes_cnt; i++) {
		const struct diff_node *n = &b->nodes[i];
		double change;

		if (!n->parent || n->method != f->method)
			continue;
		change = node_change(n, f->of, ticks);
		if (f->value.change < 0)
			change = -change;
		if (change > most) {
			most = change;
			f->node = i;
		}
	}
	f->node_share = f->value.change != 0 ? most / fabs(f->value.change) : 0;
}

/* Whether one thing that it calls, or its own code, explains a change: that one is told, too. */
static bool is_explained(const struct diff *d, const struct diff_finding *f,
			 const struct marks *marks)
{
	const struct diff_book *b = d->book;
	uint32_t kind = b->methods[f->method].kind;
	const double ticks[DIFF_SIDES] = {of_tick(d, kind, DIFF_BEFORE),
					  of_tick(d, kind, DIFF_AFTER)};
	double least = EXPLAINS * fabs(f->value.change);
	bool explained = false;

	for (size_t i = 0; i < d->findings_cnt && !explained; i++)
		explained = d->findings[i].of == DIFF_SELF && d->findings[i].method == f->method &&
			    d->findings[i].value.change * f->value.change > 0 &&
			    fabs(d->findings[i].value.change) >= least;
	for (uint32_t i = 1; i < b->nodes_cnt; i++) {
		const struct diff_node *n = &b->nodes[i], *caller = &b->nodes[n->parent];

		/* Of calls by itself only the first is with all. */
		if (!n->parent || !caller->parent || caller->method != f->method ||
		    n->method == f->method)
			continue;
		marks->into[n->method] += node_change(n, DIFF_TOTAL, ticks);
	}
	for (uint32_t i = 1; i < b->nodes_cnt; i++) {
		const struct diff_node *n = &b->nodes[i], *caller = &b->nodes[n->parent];
		double change;

		if (!n->parent || !caller->parent || caller->method != f->method)
			continue;
		change = marks->into[n->method];
		marks->into[n->method] = 0;
		explained |= marks->found[n->method] && change * f->value.change > 0 &&
			     fabs(change) >= least;
	}
	return explained;
}

static int compare_findings(const void *pa, const void *pb, void *arg)
{
	const struct diff *d = arg;
	const struct diff_finding *a = pa, *b = pb;
	double size_a = fabs(a->value.change) /
			fmax(d->kinds[d->book->methods[a->method].kind].value.before, 1e-12);
	double size_b = fabs(b->value.change) /
			fmax(d->kinds[d->book->methods[b->method].kind].value.before, 1e-12);
	int c;

	/* Of one unit by size; of several by the part of their process. */
	if (d->kinds[d->book->methods[a->method].kind].per ==
	    d->kinds[d->book->methods[b->method].kind].per)
		c = COMPARE(fabs(b->value.change), fabs(a->value.change));
	else
		c = COMPARE(size_b, size_a);
	c = c ?: COMPARE(a->method, b->method);
	return c ?: COMPARE(a->of, b->of);
}

static double overweight(const struct diff *d, const struct diff_finding *f)
{
	const struct diff_of_kind *k = &d->kinds[d->book->methods[f->method].kind];

	if (!k->certain || k->value.before <= 0 || f->value.before <= 0 || k->per == DIFF_PER_SHARE)
		return NAN;
	return f->value.change / f->value.before / (k->value.change / k->value.before);
}

/* Those that stand; what explains the others stays. */
static int keep_findings(struct diff *d, const struct asked *asked, size_t cnt)
{
	_cleanup_free_ double *nameless = nameless_changes(d);
	_cleanup_free_ bool *found = calloc(d->book->methods_cnt + 1, sizeof(*found));
	_cleanup_free_ double *into = calloc(d->book->methods_cnt + 1, sizeof(*into));
	struct marks marks = {found, into};
	size_t kept = 0;

	if (!found || !into || !nameless)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		if (may_be_its_name(d, &asked[i], nameless)) {
			d->perhaps_names++;
			continue;
		}
		if (GROW(d->findings, d->findings_cnt, d->findings_cap))
			return -ENOMEM;
		d->findings[d->findings_cnt++] = (struct diff_finding){
			.method = asked[i].method, .of = asked[i].of, .value = asked[i].value};
	}
	d->found = d->findings_cnt;
	if (!d->found)
		return 0;
	qsort_r(d->findings, d->found, sizeof(*d->findings), compare_findings, d);
	if (d->findings_cnt > DIFF_FINDINGS_MAX)
		d->findings_cnt = DIFF_FINDINGS_MAX;
	for (size_t i = 0; i < d->findings_cnt; i++)
		if (d->findings[i].of == DIFF_TOTAL)
			found[d->findings[i].method] = true;
	for (size_t i = 0; i < d->findings_cnt; i++) {
		struct diff_finding *f = &d->findings[i];

		/* Marked for removal by a node that is none. */
		f->node = f->of == DIFF_TOTAL && is_explained(d, f, &marks) ? 0 : MODEL_NONE;
	}
	for (size_t i = 0; i < d->findings_cnt; i++) {
		struct diff_finding f = d->findings[i];

		if (!f.node)
			continue;
		f.overweight = overweight(d, &f);
		place(d, &f);
		d->findings[kept++] = f;
	}
	d->findings_cnt = kept;
	return 0;
}

/* --------------------------------------------------------------------------------------------- */

static void count_common(struct diff *d)
{
	for (uint32_t i = 0; i < d->book->methods_cnt; i++) {
		const struct diff_method *row = &d->book->methods[i];
		const struct model_symbol *s = diff_book_symbol(d->book, i);

		if (s->reason != REASON_NAMED || s->kind == KIND_NOTE || s->kind == KIND_KERNEL)
			continue;
		if (row->all[DIFF_BEFORE][DIFF_TOTAL] && row->all[DIFF_AFTER][DIFF_TOTAL])
			d->in_common++;
		else
			d->only[row->all[DIFF_AFTER][DIFF_TOTAL] ? DIFF_AFTER : DIFF_BEFORE]++;
	}
}

static bool is_break(const struct model_symbol *s)
{
	return s->kind == KIND_NOTE &&
	       (s->reason == REASON_BROKEN || s->reason == REASON_TRUNCATED ||
		s->reason == REASON_STACK_LOST);
}

static void count_unnamed(struct diff *d)
{
	double all[DIFF_SIDES] = {0};

	for (uint32_t i = 0; i < d->book->methods_cnt; i++) {
		const struct diff_method *row = &d->book->methods[i];
		const struct model_symbol *s = diff_book_symbol(d->book, i);

		for (int at = 0; at < DIFF_SIDES; at++) {
			all[at] += (double)row->all[at][DIFF_SELF];
			if (s->reason != REASON_NAMED)
				d->unnamed[at] += (double)row->all[at][DIFF_SELF];
			if (is_break(s))
				d->broken[at] += (double)row->all[at][DIFF_TOTAL];
		}
	}
	for (int at = 0; at < DIFF_SIDES; at++) {
		d->unnamed[at] = all[at] > 0 ? d->unnamed[at] / all[at] : 0;
		d->broken[at] = all[at] > 0 ? fmin(d->broken[at] / all[at], 1) : 0;
	}
}

static int judge(struct diff *d, enum diff_per per)
{
	_cleanup_free_ struct asked *asked = NULL;
	int err = judge_kinds(d, per);

	if (err)
		return err;
	for (int at = 0; at < DIFF_SIDES; at++)
		d->too_short |= d->book->sides[at].parts < DIFF_PARTS_MIN;
	count_common(d);
	count_unnamed(d);
	asked = ask_all(d);
	if (!asked)
		return -ENOMEM;
	return keep_findings(d, asked, that_stand(asked, d->tested));
}

struct diff *diff_new(const struct diff_book *book, enum diff_per per)
{
	struct diff *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	d->book = book;
	err = judge(d, per);
	if (!err)
		return d;
	diff_free(d);
	errno = -err;
	return NULL;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	free(d->kinds);
	free(d->findings);
	free(d);
}

double diff_grew_least(const struct diff_value *v)
{
	if (!isfinite(v->error))
		return 0;
	return v->before > 0		  ? (v->change - v->error) / v->before
	       : v->change - v->error > 0 ? INFINITY
					  : 0;
}

double diff_most_growth(const struct diff *d)
{
	double most = 0;

	for (size_t i = 0; i < d->findings_cnt; i++)
		most = fmax(most, diff_grew_least(&d->findings[i].value));
	for (size_t i = 0; i < d->book->kinds_cnt; i++)
		if (d->kinds[i].certain)
			most = fmax(most, diff_grew_least(&d->kinds[i].value));
	return most;
}
