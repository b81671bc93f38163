/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/trunks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "judge/code.h"
#include "model/paths.h"

/* The methods of a sample, in one array with those of all others. */
struct path {
	size_t first, cnt;
	uint64_t weight;
	bool taken; /* holds a trunk that was chosen */
};

struct search {
	struct model *m;
	uint32_t *methods;
	size_t methods_cnt, methods_cap;
	struct path *paths;
	size_t paths_cnt, paths_cap;
	size_t samples;
	uint64_t all; /* weight of all paths */
	/* By symbol: of the samples that are left, how many hold it and which voted for it. */
	uint64_t *totals, *votes;
	size_t *last; /* the path that counted it last, from 1 */
	size_t symbols_cnt;
};

static void search_clear(struct search *s)
{
	free(s->methods);
	free(s->paths);
	free(s->totals);
	free(s->votes);
	free(s->last);
}

/* known: by `first` of paths, the row of the same path. */
static int add_path(struct search *s, struct paths *p, uint32_t *known)
{
	struct path path = {.first = s->methods_cnt,
			    .weight = model_weight(&s->m->samples[p->sample])};

	s->samples++;
	s->all += path.weight;
	if (!paths_is_new(p, known)) {
		s->paths[known[p->first]].weight += path.weight;
		return 0;
	}
	path.cnt = p->methods_cnt;
	known[p->first] = (uint32_t)s->paths_cnt;
	for (size_t i = 0; i < p->methods_cnt; i++) {
		if (GROW(s->methods, s->methods_cnt, s->methods_cap))
			return -ENOMEM;
		s->methods[s->methods_cnt++] = p->methods[i];
	}
	if (GROW(s->paths, s->paths_cnt, s->paths_cap))
		return -ENOMEM;
	s->paths[s->paths_cnt++] = path;
	return 0;
}

static int gather(struct search *s, uint32_t process)
{
	_cleanup_free_ uint32_t *known = paths_numbers(s->m->samples_cnt);
	struct paths p = {0};
	int err = known ? paths_begin(&p, s->m, process,
				      PATHS_FOLD_UNNAMED | PATHS_FOLD_RECURSION | PATHS_ONCE)
			: -ENOMEM;

	while (!err && paths_next(&p))
		err = add_path(s, &p, known);
	paths_end(&p);
	if (err)
		return err;
	s->symbols_cnt = s->m->symbols_cnt;
	s->totals = calloc(s->symbols_cnt + 1, sizeof(*s->totals));
	s->votes = calloc(s->symbols_cnt + 1, sizeof(*s->votes));
	s->last = calloc(s->symbols_cnt + 1, sizeof(*s->last));
	return s->totals && s->votes && s->last ? 0 : -ENOMEM;
}

/* --- one trunk ------------------------------------------------------------------------------- */

struct count {
	uint64_t left, with; /* samples, and of these with such code */
	uint64_t most;	     /* that one method of such code holds */
};

/* Counts each method once a sample. */
static struct count count(struct search *s, enum code code)
{
	struct count c = {0};

	memset(s->totals, 0, s->symbols_cnt * sizeof(*s->totals));
	memset(s->last, 0, s->symbols_cnt * sizeof(*s->last));
	for (size_t i = 0; i < s->paths_cnt; i++) {
		const struct path *path = &s->paths[i];
		bool has = false;

		if (path->taken)
			continue;
		c.left += path->weight;
		for (size_t k = path->first; k < path->first + path->cnt; k++) {
			uint32_t symbol = s->methods[k];

			if (s->last[symbol] == i + 1 || !code_is(s->m, symbol, code))
				continue;
			has = true;
			s->last[symbol] = i + 1;
			s->totals[symbol] += path->weight;
			if (s->totals[symbol] > c.most)
				c.most = s->totals[symbol];
		}
		c.with += has ? path->weight : 0;
	}
	return c;
}

static uint64_t half(uint64_t n)
{
	return n / 2 + n % 2;
}

/* True when a is the better of two with a vote. */
static bool better(const struct search *s, uint32_t a, uint32_t than)
{
	if (s->votes[a] != s->votes[than])
		return s->votes[a] > s->votes[than];
	if (s->totals[a] != s->totals[than])
		return s->totals[a] < s->totals[than];
	return strcmp(s->m->symbols[a].name, s->m->symbols[than].name) < 0;
}

/* The deepest method with so many samples, by votes. */
static uint32_t deepest(struct search *s, enum code code, uint64_t least)
{
	uint32_t best = MODEL_NONE;

	memset(s->votes, 0, s->symbols_cnt * sizeof(*s->votes));
	for (size_t i = 0; i < s->paths_cnt; i++) {
		const struct path *path = &s->paths[i];
		size_t k = path->first + path->cnt;

		if (path->taken)
			continue;
		while (k > path->first && (s->totals[s->methods[k - 1]] < least ||
					   !code_is(s->m, s->methods[k - 1], code)))
			k--;
		if (k > path->first)
			s->votes[s->methods[k - 1]] += path->weight;
	}
	for (uint32_t i = 0; i < s->symbols_cnt; i++)
		if (s->votes[i] && (best == MODEL_NONE || better(s, i, best)))
			best = i;
	return best;
}

/* MODEL_NONE: none is left. */
static uint32_t next_trunk(struct search *s, uint64_t all)
{
	for (enum code code = CODE_OF_APPLICATION; code <= CODE_ANY; code++) {
		struct count c = count(s, code);
		uint64_t least = half(c.left);

		if ((double)c.most < TRUNKS_MIN_SHARE * (double)all || !c.most)
			continue;
		if (c.most < least)
			least = half(c.with);
		return deepest(s, code, c.most < least ? c.most : least);
	}
	return MODEL_NONE;
}

static void take(struct search *s, uint32_t symbol)
{
	for (size_t i = 0; i < s->paths_cnt; i++) {
		struct path *path = &s->paths[i];

		for (size_t k = path->first; !path->taken && k < path->first + path->cnt; k++)
			path->taken = s->methods[k] == symbol;
	}
}

/* No two have the same symbol. */
static int thickest_first(const void *a, const void *b)
{
	const struct trunk *x = a, *y = b;
	int c = COMPARE(y->samples, x->samples);

	return c ? c : COMPARE(x->symbol, y->symbol);
}

int trunks_of(struct model *m, uint32_t process, struct trunks *ret_trunks)
{
	_cleanup_(search_clear) struct search s = {.m = m};
	struct trunks trunks = {0};
	int err = gather(&s, process);

	if (err)
		return err;
	trunks.all = s.all;
	while (s.samples >= TRUNKS_MIN_SAMPLES && trunks.cnt < TRUNKS_MAX) {
		uint32_t symbol = next_trunk(&s, trunks.all);

		if (symbol == MODEL_NONE)
			break;
		trunks.rows[trunks.cnt++] = (struct trunk){symbol, s.totals[symbol]};
		take(&s, symbol);
	}
	qsort(trunks.rows, trunks.cnt, sizeof(trunks.rows[0]), thickest_first);
	*ret_trunks = trunks;
	return 0;
}

void trunks_name(char buf[static TRUNKS_NAME_BYTES], const struct model *m, uint32_t symbol)
{
	const struct model_symbol *s = &m->symbols[symbol];

	if (*s->module)
		snprintf(buf, TRUNKS_NAME_BYTES, "%s (%s)", s->name, s->module);
	else
		snprintf(buf, TRUNKS_NAME_BYTES, "%s", s->name);
}
