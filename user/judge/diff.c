/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether its CPU time was counted by switches wherever it had any. */
static bool is_counted(const struct diff_kind *k)
{
	bool any = false;

	for (int at = 0; at < DIFF_SIDES; at++) {
		if (k->all_ticks[at] > 0 && k->all_cpu_s[at] <= 0)
			return false;
		any |= k->all_cpu_s[at] > 0;
	}
	return any;
}

/* All CPU time of a kind of processes. */
static struct diff_value value_of_kind(const struct diff *d, uint32_t kind)
{
	const struct diff_kind *k = &d->book->kinds[kind];
	bool exact = is_counted(k);
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

/* Returns how many of them, sorted by p, stand: the last whose p is below its part of the rate. */
static size_t that_stand(const struct asked *asked, size_t cnt)
{
	size_t stand = 0;

	for (size_t i = 0; i < cnt; i++)
		if (asked[i].p <= DIFF_FALSE * (double)(i + 1) / (double)cnt)
			stand = i + 1;
	return stand;
}

/* CPU seconds of both sides that a kind is asked for. */
#define KIND_CPU_S 0.2

static double kind_cpu_s(const struct diff *d, const struct diff_kind *k)
{
	double sum = 0;

	for (int at = 0; at < DIFF_SIDES; at++)
		sum += is_counted(k) ? k->all_cpu_s[at]
				     : k->all_ticks[at] * d->book->sides[at].tick_s;
	return sum;
}

/* Which kinds changed for certain, among all that are asked. */
static int name_kinds(struct diff *d)
{
	const struct diff_book *b = d->book;
	_cleanup_free_ struct asked *asked = calloc(b->kinds_cnt + 1, sizeof(*asked));
	size_t cnt = 0, stand;

	if (!asked)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->kinds_cnt; i++)
		if (kind_cpu_s(d, &b->kinds[i]) >= KIND_CPU_S)
			asked[cnt++] = (struct asked){.p = d->kinds[i].value.p, .method = i};
	qsort(asked, cnt, sizeof(*asked), compare_asked);
	stand = that_stand(asked, cnt);
	for (size_t i = 0; i < stand; i++) {
		d->kinds[asked[i].method].certain = true;
		d->most_growth =
			fmax(d->most_growth, diff_grew_least(&d->kinds[asked[i].method].value));
	}
	return 0;
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
		d->kinds[i].lacks_requests = per == DIFF_PER_REQUEST && !requests;
		d->kinds[i].value = value_of_kind(d, i);
	}
	return name_kinds(d);
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

/* Nodes by method and by caller, and findings by method; MODEL_NONE = none. */
struct places {
	uint32_t *first, *next;	   /* nodes of a method */
	uint32_t *child, *sibling; /* nodes below a node */
	uint32_t *self, *total;	   /* findings of a method */
	double *into; /* of one finding, by method: change of what it calls; 0 in between */
};

static void places_clear(struct places *p)
{
	free(p->first);
	free(p->next);
	free(p->child);
	free(p->sibling);
	free(p->self);
	free(p->total);
	free(p->into);
}

static uint32_t *none_of(size_t cnt)
{
	uint32_t *rows = reallocarray(NULL, cnt + 1, sizeof(*rows));

	if (rows)
		memset(rows, 0xff, (cnt + 1) * sizeof(*rows));
	return rows;
}

static int places_init(struct places *p, const struct diff_book *b)
{
	p->first = none_of(b->methods_cnt);
	p->next = none_of(b->nodes_cnt);
	p->child = none_of(b->nodes_cnt);
	p->sibling = none_of(b->nodes_cnt);
	p->self = none_of(b->methods_cnt);
	p->total = none_of(b->methods_cnt);
	p->into = calloc(b->methods_cnt + 1, sizeof(*p->into));
	if (!p->first || !p->next || !p->child || !p->sibling || !p->self || !p->total || !p->into)
		return -ENOMEM;
	for (uint32_t i = 1; i < b->nodes_cnt; i++) {
		const struct diff_node *n = &b->nodes[i];

		p->sibling[i] = p->child[n->parent];
		p->child[n->parent] = i;
		/* Below the root stand kinds. */
		if (!n->parent)
			continue;
		p->next[i] = p->first[n->method];
		p->first[n->method] = i;
	}
	return 0;
}

/* One tick in the unit of the figures of a kind. */
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

/* Where most of a finding is. */
static void place(const struct diff *d, const struct places *places, struct diff_finding *f)
{
	uint32_t kind = d->book->methods[f->method].kind;
	const double ticks[DIFF_SIDES] = {of_tick(d, kind, DIFF_BEFORE),
					  of_tick(d, kind, DIFF_AFTER)};
	double most = 0;

	f->node = MODEL_NONE;
	for (uint32_t i = places->first[f->method]; i != MODEL_NONE; i = places->next[i]) {
		double change = node_change(&d->book->nodes[i], f->of, ticks);

		if (f->value.change < 0)
			change = -change;
		if (change > most) {
			most = change;
			f->node = i;
		}
	}
	f->node_share = f->value.change != 0 ? most / fabs(f->value.change) : 0;
}

/* Whether a node is below another one of its method, whose sum has it already. */
static bool is_below_itself(const struct diff_book *b, uint32_t node)
{
	for (uint32_t i = b->nodes[node].parent; i && b->nodes[i].parent; i = b->nodes[i].parent)
		if (b->nodes[i].method == b->nodes[node].method)
			return true;
	return false;
}

static bool explains(const struct diff *d, uint32_t by, double change,
		     const struct diff_finding *of)
{
	return by != MODEL_NONE && d->findings[by].value.change * of->value.change > 0 &&
	       change * of->value.change > 0 && fabs(change) >= EXPLAINS * fabs(of->value.change);
}

/* The finding that explains one: its own code, or one thing that it calls; or MODEL_NONE. */
static uint32_t explained_by(const struct diff *d, const struct places *places,
			     const struct diff_finding *f)
{
	const struct diff_book *b = d->book;
	uint32_t kind = b->methods[f->method].kind, found = MODEL_NONE;
	uint32_t own = places->self[f->method];
	const double ticks[DIFF_SIDES] = {of_tick(d, kind, DIFF_BEFORE),
					  of_tick(d, kind, DIFF_AFTER)};

	if (own != MODEL_NONE && explains(d, own, d->findings[own].value.change, f))
		return own;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = places->first[f->method]; i != MODEL_NONE; i = places->next[i]) {
			if (is_below_itself(b, i))
				continue;
			for (uint32_t c = places->child[i]; c != MODEL_NONE;
			     c = places->sibling[c]) {
				uint32_t called = b->nodes[c].method;

				if (!pass) {
					places->into[called] +=
						node_change(&b->nodes[c], DIFF_TOTAL, ticks);
					continue;
				}
				if (called != f->method &&
				    explains(d, places->total[called], places->into[called], f))
					found = places->total[called];
				places->into[called] = 0;
			}
		}
	return found;
}

/* Those that others explain go. Of a ring of those that explain each other one stays. */
static void drop_explained(const struct diff *d, const uint32_t *by, bool *gone)
{
	size_t cnt = d->findings_cnt;

	for (size_t i = 0; i < cnt; i++)
		gone[i] = by[i] != MODEL_NONE;
	for (size_t i = 0; i < cnt; i++) {
		size_t at = i, steps = 0;

		while (gone[at] && steps++ <= cnt)
			at = by[at];
		gone[at] = false;
	}
}

/* Of all CPU time of its process before: figures of several units stand in one list. */
static double part_of_process(const struct diff *d, const struct diff_finding *f)
{
	const struct diff_of_kind *k = &d->kinds[d->book->methods[f->method].kind];
	double all = k->per == DIFF_PER_SHARE ? 1 : fmax(k->value.before, k->value.after);

	return fabs(f->value.change) / fmax(all, 1e-12);
}

static int compare_findings(const void *pa, const void *pb, void *arg)
{
	const struct diff_finding *a = pa, *b = pb;
	int c = COMPARE(part_of_process(arg, b), part_of_process(arg, a));

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

/* All that stand, but for those whose names perhaps only came or went. */
static int add_findings(struct diff *d, const struct asked *asked, size_t cnt)
{
	_cleanup_free_ double *nameless = nameless_changes(d);

	if (!nameless)
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
		d->most_growth = fmax(d->most_growth, diff_grew_least(&asked[i].value));
	}
	d->found = d->findings_cnt;
	if (d->found)
		qsort_r(d->findings, d->found, sizeof(*d->findings), compare_findings, d);
	if (d->findings_cnt > DIFF_FINDINGS_MAX)
		d->findings_cnt = DIFF_FINDINGS_MAX;
	return 0;
}

/* What another one explains goes; of the others it is told where they are. */
static int tell_findings(struct diff *d)
{
	_cleanup_(places_clear) struct places places = {0};
	_cleanup_free_ uint32_t *by = none_of(d->findings_cnt);
	_cleanup_free_ bool *gone = calloc(d->findings_cnt + 1, sizeof(*gone));
	size_t kept = 0;

	if (!by || !gone || places_init(&places, d->book))
		return -ENOMEM;
	for (uint32_t i = 0; i < d->findings_cnt; i++)
		(d->findings[i].of == DIFF_SELF ? places.self
						: places.total)[d->findings[i].method] = i;
	for (size_t i = 0; i < d->findings_cnt; i++)
		if (d->findings[i].of == DIFF_TOTAL)
			by[i] = explained_by(d, &places, &d->findings[i]);
	drop_explained(d, by, gone);
	for (size_t i = 0; i < d->findings_cnt; i++) {
		struct diff_finding f = d->findings[i];

		if (gone[i])
			continue;
		f.overweight = overweight(d, &f);
		place(d, &places, &f);
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
	err = add_findings(d, asked, that_stand(asked, d->tested));
	return err || !d->findings_cnt ? err : tell_findings(d);
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
