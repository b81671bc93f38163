/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which kinds of processes have series of their own. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "watch/series_private.h"

/* What was busy a minute ago counts for 1/e. */
#define DECAY_NS 60e9
/* Thread seconds of about the last minute that it takes to get a free place, and somebody
 * else's. */
#define FREE_LEAST	0.005
#define CHALLENGE_LEAST 0.05

static double busy_now(const struct series_kind *kind, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > kind->busy_ns ? now_ns - kind->busy_ns : 0;

	return passed_ns ? kind->busy * exp(-(double)passed_ns / DECAY_NS) : kind->busy;
}

/* --- who a process is ------------------------------------------------------------------------ */

static const char kernel_name[] = "[kernel]", other_name[] = "other";

static struct metrics_names names_of(const struct model_process *p)
{
	bool contained = p->container[0] || p->container_name[0] || p->pod[0];

	if (p->flags & PROCESS_KERNEL)
		return (struct metrics_names){kernel_name, "", "", "", ""};
	return (struct metrics_names){
		.process = p->name[0] ? p->name : p->comm,
		.unit = contained ? "" : p->unit,
		.namespace = p->namespace,
		.pod = p->pod,
		.container = p->container_name[0] ? p->container_name : p->container,
	};
}

/* Whoever bears hotrun's own words as a name is counted with the others. */
static bool reserved(const struct model_process *p, const struct metrics_names *names)
{
	return !(p->flags & PROCESS_KERNEL) &&
	       (!strcmp(names->process, kernel_name) || !strcmp(names->process, other_name));
}

static uint64_t hash_of(const struct series *s, const struct model_process *p)
{
	struct metrics_names names = names_of(p);
	char labels[METRICS_LABELS_BYTES];
	uint64_t hash;
	size_t len;

	if (reserved(p, &names) ||
	    (s->options.selection && !selection_has(s->options.selection, p)))
		return 0;
	len = metrics_labels(labels, &names);
	hash = hash_bytes(labels, len);
	return hash ? hash : 1;
}

struct series_row *series_row(struct series *s, uint32_t process)
{
	const struct model_process *p = &s->m->processes[process];
	struct series_row *row = &s->processes[process];
	const char *container = p->container_name[0] ? p->container_name : p->container;

	if (row->seen && row->name == p->name && row->unit == p->unit && row->pod == p->pod &&
	    row->namespace == p->namespace && row->container == container)
		return row;
	row->seen = true;
	row->name = p->name;
	row->unit = p->unit;
	row->namespace = p->namespace;
	row->pod = p->pod;
	row->container = container;
	row->hash = hash_of(s, p);
	row->places_seen = s->places_changes - 1;
	return row;
}

/* --- kinds ----------------------------------------------------------------------------------- */

static bool same_kind(const void *owner, uint32_t row, const void *key)
{
	return ((const struct series *)owner)->kinds[row].hash == *(const uint64_t *)key;
}

static uint32_t find_kind(const struct series *s, uint64_t hash)
{
	return hash ? hash_find(&s->kinds_index, hash, same_kind, s, &hash) : HASH_NONE;
}

uint32_t series_place_of(struct series *s, struct series_row *row)
{
	uint32_t kind;

	if (row->places_seen == s->places_changes)
		return row->place;
	kind = find_kind(s, row->hash);
	row->place = kind == HASH_NONE ? 0 : s->kinds[kind].place;
	row->places_seen = s->places_changes;
	return row->place;
}

static int more_busy_first(const void *a, const void *b)
{
	const struct series_kind *x = a, *y = b;

	if ((x->place != 0) != (y->place != 0))
		return x->place ? -1 : 1;
	return COMPARE(y->busy, x->busy);
}

/* Halves the kinds: those with a place and the busiest stay. */
static int sweep(struct series *s, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < s->kinds_cnt; i++) {
		s->kinds[i].busy = busy_now(&s->kinds[i], now_ns);
		s->kinds[i].busy_ns = now_ns;
	}
	qsort(s->kinds, s->kinds_cnt, sizeof(*s->kinds), more_busy_first);
	if (s->kinds_cnt > SERIES_KINDS / 2)
		s->kinds_cnt = SERIES_KINDS / 2;
	hash_clear(&s->kinds_index);
	s->waiting_cnt = 0;
	for (size_t i = 0; i < s->kinds_cnt; i++) {
		if (!err)
			err = hash_add(&s->kinds_index, s->kinds[i].hash, (uint32_t)i);
		if (s->kinds[i].listed)
			s->waiting[s->waiting_cnt++] = (uint32_t)i;
	}
	return err;
}

int series_busy(struct series *s, uint32_t process, double seconds, uint64_t now_ns)
{
	uint64_t hash = series_row(s, process)->hash;
	uint32_t found = find_kind(s, hash);
	struct series_kind *kind;
	int err;

	if (!hash)
		return 0;
	if (found == HASH_NONE) {
		if (s->kinds_cnt == SERIES_KINDS) {
			err = sweep(s, now_ns);
			if (err)
				return err;
		}
		err = hash_add(&s->kinds_index, hash, (uint32_t)s->kinds_cnt);
		if (err)
			return err;
		found = (uint32_t)s->kinds_cnt++;
		s->kinds[found] = (struct series_kind){.hash = hash, .busy_ns = now_ns};
	}
	kind = &s->kinds[found];
	kind->busy = busy_now(kind, now_ns) + seconds;
	kind->busy_ns = now_ns;
	kind->process = process;
	if (!kind->place && !kind->listed) {
		kind->listed = true;
		s->waiting[s->waiting_cnt++] = found;
	}
	return 0;
}

/* --- places ---------------------------------------------------------------------------------- */

void series_leave(struct series *s, uint32_t place)
{
	struct metrics_process *row = &s->rows[place];
	uint32_t kind = find_kind(s, s->places[place].hash);

	if (kind != HASH_NONE)
		s->kinds[kind].place = 0;
	for (uint32_t i = 1; i < METRICS_PORTS; i++)
		s->ports_cnt -= row->ports[i].used;
	free((char *)row->labels);
	*row = (struct metrics_process){.labels = NULL};
	s->places[place] = (struct series_place){0};
	s->places_changes++;
}

static uint32_t free_place(const struct series *s)
{
	for (uint32_t i = 1; i <= s->top; i++)
		if (!s->places[i].hash)
			return i;
	return 0;
}

/* The place that somebody so busy takes from its owner, or 0. */
static uint32_t place_from(const struct series *s, double busy, uint64_t now_ns)
{
	uint32_t longest = 0, least = 0, gone_cnt = 0;
	double least_busy = 0;

	for (uint32_t i = 1; i <= s->top; i++) {
		const struct series_place *place = &s->places[i];
		uint32_t kind;
		double its;

		/* Who is alive in this slice is not counted yet. */
		if (place->alive_ns < s->last_ns) {
			gone_cnt++;
			if (!longest || place->alive_ns < s->places[longest].alive_ns)
				longest = i;
			continue;
		}
		if (now_ns - place->since_ns < SERIES_HOLD_NS)
			continue;
		kind = find_kind(s, place->hash);
		its = kind == HASH_NONE ? 0 : busy_now(&s->kinds[kind], now_ns);
		if (!least || its < least_busy) {
			least = i;
			least_busy = its;
		}
	}
	if (longest &&
	    (now_ns - s->places[longest].alive_ns >= SERIES_GONE_NS || gone_cnt > s->top / 2))
		return longest;
	return least && busy >= SERIES_FACTOR * least_busy ? least : 0;
}

static int take_place(struct series *s, uint32_t place, struct series_kind *kind, uint64_t now_ns)
{
	struct metrics_names names = names_of(&s->m->processes[kind->process]);
	char labels[METRICS_LABELS_BYTES], *copy;

	metrics_labels(labels, &names);
	copy = strdup(labels);
	if (!copy)
		return -ENOMEM;
	if (s->places[place].hash)
		series_leave(s, place);
	s->rows[place] = (struct metrics_process){.labels = copy};
	s->places[place] =
		(struct series_place){.hash = kind->hash, .since_ns = now_ns, .alive_ns = now_ns};
	kind->place = place;
	s->places_changes++;
	return 0;
}

static int busier_waits_first(const void *a, const void *b, void *ctx)
{
	const struct series_kind *kinds = ctx, *x = &kinds[*(const uint32_t *)a],
				 *y = &kinds[*(const uint32_t *)b];

	return COMPARE(y->busy, x->busy);
}

/* Each place that changes hands is some forty new series to whoever scrapes: not many in a
 * while. */
static uint32_t place_for(struct series *s, double busy, uint64_t now_ns)
{
	uint32_t place = busy < FREE_LEAST ? 0 : free_place(s);

	if (place || busy < CHALLENGE_LEAST || now_ns - s->swapped_ns < SERIES_SWAP_NS)
		return place;
	place = place_from(s, busy, now_ns);
	if (place)
		s->swapped_ns = now_ns;
	return place;
}

int series_seat(struct series *s, uint64_t now_ns)
{
	bool may = true;
	int err = 0;

	qsort_r(s->waiting, s->waiting_cnt, sizeof(*s->waiting), busier_waits_first, s->kinds);
	for (size_t i = 0; i < s->waiting_cnt; i++) {
		struct series_kind *kind = &s->kinds[s->waiting[i]];
		uint32_t place;

		kind->listed = false;
		if (!may || err)
			continue;
		place = place_for(s, kind->busy, now_ns);
		if (place)
			err = take_place(s, place, kind, now_ns);
		/* The others are less busy still. */
		may = place != 0;
	}
	s->waiting_cnt = 0;
	return err;
}
