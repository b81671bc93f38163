/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/diff_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"

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
		sum += diff_is_counted(k) ? k->all_cpu_s[at]
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
		d->kinds[i].value = diff_value_of_kind(d, i);
	}
	return name_kinds(d);
}

/* Compiled code whose name nobody knew. */
static bool is_nameless(const struct model_symbol *s)
{
	return model_is_managed(s) && s->reason != REASON_NAMED;
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
			change = diff_change_of(d, i, (enum diff_of)of).change;
			/* With what it calls where that is more: callees have their names. */
			if (fabs(change) > fabs(changes[b->methods[i].kind]))
				changes[b->methods[i].kind] = change;
		}
	return changes;
}

/* Whether its name alone may have come or gone. */
static bool may_be_its_name(const struct diff *d, const struct diff_finding *f,
			    const double *nameless)
{
	const struct model_symbol *s = diff_book_symbol(d->book, f->method);
	double other = nameless[d->book->methods[f->method].kind];

	return is_nameless(s) || (model_is_managed(s) && f->value.change * other < 0 &&
				  fabs(f->value.change) <= fabs(other) + f->value.error);
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
			double samples = diff_samples_of(b, i, (enum diff_of)of);

			d->tested += samples > 0;
			d->samples += samples;
		}
	for (uint32_t i = 0; i < b->methods_cnt; i++)
		for (int of = 0; of < DIFF_OF_CNT; of++) {
			if (!diff_samples_of(b, i, (enum diff_of)of))
				continue;
			asked[cnt] = (struct asked){.method = i, .of = (enum diff_of)of};
			asked[cnt].p = diff_change_of(d, i, (enum diff_of)of).p /
				       diff_weight_of(d, i, (enum diff_of)of);
			cnt++;
		}
	qsort(asked, cnt, sizeof(*asked), compare_asked);
	return asked;
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

/* All that stand, but for those whose names perhaps only came or went. */
static int add_findings(struct diff *d, const struct asked *asked, size_t cnt)
{
	_cleanup_free_ double *nameless = nameless_changes(d);

	if (!nameless)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct diff_finding finding = {
			.method = asked[i].method,
			.of = asked[i].of,
			.value = diff_value_of(d, asked[i].method, asked[i].of),
		};

		if (may_be_its_name(d, &finding, nameless)) {
			d->perhaps_names++;
			continue;
		}
		if (GROW(d->findings, d->findings_cnt, d->findings_cap))
			return -ENOMEM;
		d->findings[d->findings_cnt++] = finding;
		d->most_growth = fmax(d->most_growth, diff_grew_least(&finding.value));
	}
	d->found = d->findings_cnt;
	if (d->found)
		qsort_r(d->findings, d->found, sizeof(*d->findings), compare_findings, d);
	if (d->findings_cnt > DIFF_FINDINGS_MAX)
		d->findings_cnt = DIFF_FINDINGS_MAX;
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
	return err || !d->findings_cnt ? err : diff_tell_findings(d);
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
