/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/start_here.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/code.h"
#include "model/paths.h"
#include "model/share.h"

/* By symbol row: what top knows of each method, and the votes of a round. */
struct ballot {
	const struct top_row **rows;
	uint64_t *votes;
	size_t cnt;
};

static void ballot_free(struct ballot *b)
{
	free(b->rows);
	free(b->votes);
}

static int ballot_init(struct ballot *b, const struct top *top)
{
	const struct top_list *list = &top->methods;

	for (size_t i = 0; i < list->rows_cnt; i++)
		if (list->rows[i].symbol >= b->cnt)
			b->cnt = list->rows[i].symbol + 1;
	b->rows = calloc(b->cnt + 1, sizeof(*b->rows));
	b->votes = calloc(b->cnt + 1, sizeof(*b->votes));
	if (!b->rows || !b->votes)
		return -ENOMEM;
	for (size_t i = 0; i < list->rows_cnt; i++)
		b->rows[list->rows[i].symbol] = &list->rows[i];
	return 0;
}

/* Samples with any code of the application, and with any managed code. */
static int count_with(struct model *m, uint32_t process, uint64_t *ret_application,
		      uint64_t *ret_managed)
{
	/* By `first` of paths: 1 application, 2 managed, 3 both. */
	_cleanup_free_ uint32_t *known = paths_numbers(m->samples_cnt);
	struct paths p = {0};
	uint64_t application = 0, managed = 0;
	int err = known ? paths_begin(&p, m, process, PATHS_ONCE) : -ENOMEM;

	while (!err && paths_next(&p)) {
		uint64_t weight = model_weight(&m->samples[p.sample]);
		uint32_t *has = &known[p.first];

		if (paths_is_new(&p, known)) {
			*has = 0;
			for (size_t i = 0; i < p.methods_cnt; i++)
				*has |= code_is(m, p.methods[i], CODE_OF_APPLICATION) |
					code_is(m, p.methods[i], CODE_MANAGED) << 1;
		}
		application += *has & 1 ? weight : 0;
		managed += *has & 2 ? weight : 0;
	}
	paths_end(&p);
	if (err)
		return err;
	*ret_application = application;
	*ret_managed = managed;
	return 0;
}

static bool may_stand(const struct model *m, const struct ballot *b, uint32_t symbol,
		      enum code code, uint64_t least)
{
	return symbol < b->cnt && b->rows[symbol] && b->rows[symbol]->total >= least &&
	       code_is(m, symbol, code);
}

/* True when a is the better of two methods with a vote. */
static bool better(const struct model *m, const struct ballot *b, uint32_t a, uint32_t than)
{
	if (b->votes[a] != b->votes[than])
		return b->votes[a] > b->votes[than];
	if (b->rows[a]->total != b->rows[than]->total)
		return b->rows[a]->total < b->rows[than]->total;
	return strcmp(m->symbols[a].name, m->symbols[than].name) < 0;
}

/* Lets each sample vote among the methods with at least that many samples; MODEL_NONE when none
 * has. */
static int deepest(struct model *m, uint32_t process, struct ballot *b, enum code code,
		   uint64_t least, uint32_t *ret_symbol)
{
	/* By `first` of paths: the method that it votes for, b->cnt = none. */
	_cleanup_free_ uint32_t *known = paths_numbers(m->samples_cnt);
	struct paths p = {0};
	uint32_t best = MODEL_NONE;
	int err = known ? paths_begin(&p, m, process, PATHS_ONCE) : -ENOMEM;

	memset(b->votes, 0, b->cnt * sizeof(*b->votes));
	while (!err && paths_next(&p)) {
		uint32_t *vote = &known[p.first];

		if (paths_is_new(&p, known)) {
			size_t i;

			for (i = p.methods_cnt; i; i--)
				if (may_stand(m, b, p.methods[i - 1], code, least))
					break;
			*vote = i ? p.methods[i - 1] : (uint32_t)b->cnt;
		}
		if (*vote < b->cnt)
			b->votes[*vote] += model_weight(&m->samples[p.sample]);
	}
	paths_end(&p);
	for (uint32_t i = 0; i < b->cnt; i++)
		if (b->votes[i] && (best == MODEL_NONE || better(m, b, i, best)))
			best = i;
	if (!err)
		*ret_symbol = best;
	return err;
}

static uint64_t largest(const struct model *m, const struct top *top, enum code code)
{
	uint64_t most = 0;

	for (size_t i = 0; i < top->methods.rows_cnt; i++) {
		const struct top_row *row = &top->methods.rows[i];

		if (code_is(m, row->symbol, code) && row->total > most)
			most = row->total;
	}
	return most;
}

static uint64_t half(uint64_t n)
{
	return n / 2 + n % 2;
}

/* A rule, whose methods it names, and the samples that one must hold. */
struct ruling {
	enum start_rule rule;
	enum code code;
	uint64_t least;
};

static struct ruling rule_of(const struct model *m, const struct top *top, uint64_t application,
			     uint64_t managed)
{
	uint64_t of_all = half(top->samples), most = largest(m, top, CODE_OF_APPLICATION);

	if (most && most >= of_all)
		return (struct ruling){START_HALF, CODE_OF_APPLICATION, of_all};
	if (most && most >= half(application))
		return (struct ruling){START_HALF_OF_APPLICATION, CODE_OF_APPLICATION,
				       half(application)};
	if (most)
		return (struct ruling){START_LARGEST, CODE_OF_APPLICATION, most};
	most = managed ? largest(m, top, CODE_MANAGED) : 0;
	if (most)
		return (struct ruling){START_FRAMEWORK, CODE_MANAGED,
				       most < half(managed) ? most - most / 4 : half(managed)};
	most = largest(m, top, CODE_ANY);
	return (struct ruling){most ? START_ANY : START_NOTHING, CODE_ANY,
			       most < of_all ? most : of_all};
}

/* Too few to be worth a name. */
static bool says_nothing(const struct model *m, uint64_t samples, uint64_t all)
{
	double share = share_of(samples, all);

	return share < START_MIN_SHARE ||
	       2 * share_error(model_effective(m, samples), model_effective(m, all)) >= share;
}

static int choose_by(struct model *m, uint32_t process, struct ballot *b, struct ruling ruling,
		     struct start_here *start)
{
	int err;

	start->rule = ruling.rule;
	if (start->rule == START_NOTHING)
		return 0;
	err = deepest(m, process, b, ruling.code, ruling.least, &start->symbol);
	if (err)
		return err;
	if (start->symbol == MODEL_NONE) {
		start->rule = START_NOTHING;
		return 0;
	}
	start->samples = b->rows[start->symbol]->total;
	start->threads = b->rows[start->symbol]->threads;
	return 0;
}

static int choose(struct model *m, uint32_t process, const struct top *top, struct ballot *b,
		  struct start_here *start)
{
	uint64_t managed = 0;
	int err = ballot_init(b, top);

	if (!err)
		err = count_with(m, process, &start->application, &managed);
	if (err)
		return err;
	/* A runtime that mostly does something else, e.g. collects garbage. */
	if (share_of(managed, start->all) < START_MANAGED_SHARE)
		managed = 0;
	err = choose_by(m, process, b, rule_of(m, top, start->application, managed), start);
	if (!err && start->rule == START_FRAMEWORK && says_nothing(m, start->samples, start->all))
		err = choose_by(m, process, b, rule_of(m, top, start->application, 0), start);
	if (!err && start->rule != START_NOTHING && says_nothing(m, start->samples, start->all))
		start->rule = START_SPREAD;
	return err;
}

int start_here(struct model *m, uint32_t process, const struct top *top,
	       struct start_here *ret_start)
{
	struct start_here start = {.symbol = MODEL_NONE, .all = top->samples};
	_cleanup_(ballot_free) struct ballot ballot = {0};
	int err = 0;

	if (top->samples < START_MIN_SAMPLES)
		start.rule = START_TOO_FEW;
	else
		err = choose(m, process, top, &ballot, &start);
	if (!err)
		*ret_start = start;
	return err;
}
