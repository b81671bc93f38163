/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One figure on both sides: how large, how different, how sure. */
#include <math.h>

#include "judge/diff_private.h"
#include "model/student.h"

/* Chance that a change of diff_value.least is named. */
#define POWER_T 0.8416

/* Numerator by part, and the same of what it is divided by. */
struct ratio {
	double of[DIFF_PARTS], by[DIFF_PARTS];
	double samples;	  /* counted in the numerator; negative: it is exact */
	double seconds;	  /* recorded */
	double kernel;	  /* share of it in the kernel */
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

static double drift_share(double seconds)
{
	return fmax(seconds > 0 ? DIFF_DRIFT / sqrt(seconds) : 0, DIFF_DRIFT_LEAST);
}

double diff_drift_share(const struct diff_side *side)
{
	return drift_share(side->all_seconds);
}

/* What drifts slowly, of a ratio: its variance. */
static double drift_of(const struct ratio *r, double value)
{
	double drift = drift_share(r->seconds) * value;
	double kernel = DIFF_DRIFT_KERNEL * r->kernel * value;

	return drift * drift + kernel * kernel;
}

static double parts_freedom(double variance, uint32_t parts)
{
	return parts > 1 ? variance * variance / (parts - 1) : 0;
}

/* chance: under which such a change would be named, alone among all; 0: neither error nor least is
 * wanted, which take a hundred times the work of the rest. */
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
	v.p = student_p(v.change / se, df);
	if (chance > 0) {
		v.error = student_t(0.05, df) * se;
		v.least = (student_t(chance, df) + POWER_T) * se;
	}
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
double diff_samples_of(const struct diff_book *b, uint32_t method, enum diff_of of)
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
double diff_weight_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	return d->tested ? diff_samples_of(d->book, method, of) * (double)d->tested / d->samples
			 : 1;
}

static double chance_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	double weight = diff_weight_of(d, method, of);

	return DIFF_FALSE * (weight > 0 ? weight : 1) / (double)(d->tested ?: 1);
}

/* What of a figure is in the kernel: of its own code all or nothing. */
static double kernel_share(const struct diff_method *row, int at, enum diff_of of)
{
	if (!row->all[at][DIFF_TOTAL])
		return 0;
	if (of == DIFF_SELF)
		return row->kernel[at] == row->all[at][DIFF_TOTAL];
	return (double)row->kernel[at] / (double)row->all[at][DIFF_TOTAL];
}

static struct diff_value compare_method(const struct diff *d, uint32_t method, enum diff_of of,
					double chance)
{
	const struct diff_method *row = &d->book->methods[method];
	struct ratio sides[DIFF_SIDES] = {0};

	for (int at = 0; at < DIFF_SIDES; at++) {
		const struct diff_side *s = &d->book->sides[at];

		divide(d, row->kind, at, &sides[at]);
		sides[at].of_sample = s->tick_s * s->ticks_of;
		sides[at].samples = (double)row->all[at][of] / s->ticks_of;
		sides[at].kernel = kernel_share(row, at, of);
		for (uint32_t i = 0; i < s->parts; i++)
			sides[at].of[i] = d->book->counts[method][at][of][i] * s->tick_s;
	}
	return compare(sides, chance);
}

struct diff_value diff_value_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	return compare_method(d, method, of, chance_of(d, method, of));
}

struct diff_value diff_change_of(const struct diff *d, uint32_t method, enum diff_of of)
{
	return compare_method(d, method, of, 0);
}

/* Whether its CPU time was counted by switches wherever it had any. */
bool diff_is_counted(const struct diff_kind *k)
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
struct diff_value diff_value_of_kind(const struct diff *d, uint32_t kind)
{
	const struct diff_kind *k = &d->book->kinds[kind];
	bool exact = diff_is_counted(k);
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

double diff_grew_least(const struct diff_value *v)
{
	if (!isfinite(v->error))
		return 0;
	return v->before > 0		  ? (v->change - v->error) / v->before
	       : v->change - v->error > 0 ? INFINITY
					  : 0;
}

/* One tick in the unit of the figures of a kind. */
double diff_of_tick(const struct diff *d, uint32_t kind, int at)
{
	struct ratio r = {0};
	double by = 0;

	divide(d, kind, at, &r);
	for (uint32_t i = 0; i < r.parts; i++)
		by += r.by[i];
	return by > 0 ? d->book->sides[at].tick_s / by : 0;
}

bool diff_node_changed(const struct diff *d, uint32_t node, double *ret_change)
{
	const struct diff_node *n = &d->book->nodes[node];
	uint32_t kind = diff_book_kind_of_node(d->book, node);
	double value[DIFF_SIDES], variance = 0, most;

	for (int at = 0; at < DIFF_SIDES; at++) {
		const struct diff_side *s = &d->book->sides[at];
		const struct ratio drift = {.seconds = s->all_seconds};
		double tick = diff_of_tick(d, kind, at), ticks = (double)n->all[at][DIFF_TOTAL];

		value[at] = ticks * tick;
		variance +=
			fmax(ticks, 1) * s->ticks_of * tick * tick + drift_of(&drift, value[at]);
	}
	most = fmax(value[DIFF_BEFORE], value[DIFF_AFTER]);
	*ret_change = most > 0 ? (value[DIFF_AFTER] - value[DIFF_BEFORE]) / most : 0;
	return fabs(value[DIFF_AFTER] - value[DIFF_BEFORE]) > 2 * sqrt(variance);
}
