/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which findings explain others, and where each is. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/diff_private.h"

/* What explains so much of a change is told in its place. */
#define EXPLAINS 0.8

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
	const double ticks[DIFF_SIDES] = {diff_of_tick(d, kind, DIFF_BEFORE),
					  diff_of_tick(d, kind, DIFF_AFTER)};
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
	const double ticks[DIFF_SIDES] = {diff_of_tick(d, kind, DIFF_BEFORE),
					  diff_of_tick(d, kind, DIFF_AFTER)};

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

static double overweight(const struct diff *d, const struct diff_finding *f)
{
	const struct diff_of_kind *k = &d->kinds[d->book->methods[f->method].kind];

	if (!k->certain || k->value.before <= 0 || f->value.before <= 0 || k->per == DIFF_PER_SHARE)
		return NAN;
	return f->value.change / f->value.before / (k->value.change / k->value.before);
}

/* What another one explains goes; of the others it is told where they are. */
int diff_tell_findings(struct diff *d)
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
