/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/follow.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the bound, for all; and of the group, or in a group of the bucket, of which most is seen: for
 * one that is seen less. */
#define ROOM	   0.8
#define LIGHT_PART 0.4

#define NONE FOLLOW_BUCKETS

/* Which buckets have connections to give up. */
enum givers {
	MANY, /* that keep enough of them then */
	ANY,
	GIVERS,
	EVERY = GIVERS, /* and those that have none, too */
};

/* Requests a second that are seen, of buckets that are not pinned. */
struct rates {
	double of[FOLLOW_BUCKETS], groups[FOLLOW_GROUPS], givers[GIVERS];
};

static bool is_pinned(const struct follow_bucket *b)
{
	return b->pinned_ns;
}

static bool gives(const struct follow_bucket *b, enum givers who)
{
	if (who == EVERY)
		return true;
	return b->shift < FOLLOW_SHIFT_MAX && (who == ANY || b->connections >= 2 * FOLLOW_FEW);
}

static void add_giver(struct rates *r, const struct follow_bucket *b, double rate)
{
	for (enum givers who = MANY; who < GIVERS; who++)
		if (gives(b, who))
			r->givers[who] += rate;
}

static struct rates rates_of(const struct follow *f, const struct follow_seen *seen,
			     uint64_t elapsed_ns)
{
	struct rates r = {0};

	for (size_t i = 0; i < FOLLOW_BUCKETS; i++) {
		if (is_pinned(&f->buckets[i]))
			continue;
		r.of[i] = (double)seen[i].requests * 1e9 / (double)elapsed_ns;
		r.groups[i / FOLLOW_PORTS] += r.of[i];
		add_giver(&r, &f->buckets[i], r.of[i]);
	}
	return r;
}

/* Of which so much is seen then, as far as one can tell. */
static void set_shift(struct follow *f, struct rates *r, size_t bucket, unsigned int shift)
{
	struct follow_bucket *b = &f->buckets[bucket];
	double factor = shift > b->shift ? 0.5 : 2, was = r->of[bucket], is = was * factor;

	add_giver(r, b, -was);
	b->shift = shift;
	b->calm_ns = 0;
	b->connections *= factor;
	add_giver(r, b, is);
	r->of[bucket] = is;
	r->groups[bucket / FOLLOW_PORTS] += is - was;
}

/* Of that group, of which most is seen. NONE where there is none. */
static size_t heaviest_of(const struct follow *f, const struct rates *r, size_t group,
			  enum givers who)
{
	size_t most = NONE;

	for (size_t i = group * FOLLOW_PORTS; i < (group + 1) * FOLLOW_PORTS; i++)
		if (r->of[i] > 0 && gives(&f->buckets[i], who) &&
		    (most == NONE || r->of[i] > r->of[most]))
			most = i;
	return most;
}

/* Who has to give up: the heaviest bucket of the heaviest group that has one. */
static size_t heaviest(const struct follow *f, const struct rates *r, enum givers who)
{
	size_t most = NONE;
	double of_group = 0;

	for (size_t g = 0; g < FOLLOW_GROUPS; g++) {
		size_t bucket = r->groups[g] > of_group ? heaviest_of(f, r, g, who) : NONE;

		if (bucket == NONE)
			continue;
		most = bucket;
		of_group = r->groups[g];
	}
	return most;
}

/* There is room for twice as many connections of that bucket, or others will make it. */
static bool has_room(const struct follow *f, const struct rates *r, size_t bucket)
{
	const struct follow_bucket *b = &f->buckets[bucket];
	size_t group = bucket / FOLLOW_PORTS, most = heaviest_of(f, r, group, EVERY);
	double largest = 0, of = r->of[bucket];

	for (size_t g = 0; g < FOLLOW_GROUPS; g++)
		if (r->groups[g] > largest)
			largest = r->groups[g];
	if (r->givers[MANY] + of + (gives(b, MANY) ? 0 : of) < ROOM * f->most)
		return true;
	if (2 * b->connections < FOLLOW_FEW && r->givers[ANY] + of < ROOM * FOLLOW_MORE * f->most)
		return true;
	if (r->groups[group] < largest)
		return r->groups[group] + of < LIGHT_PART * largest;
	return most != NONE && 2 * of < LIGHT_PART * r->of[most];
}

/*
 * Nothing of a bucket is seen: nothing is there, or all is on a few connections, of which none is
 * followed. Then the next step back shows it, and there it stays, unless much more comes.
 */
static void look_for_few(struct follow_bucket *b, const struct follow_seen *seen,
			 uint64_t elapsed_ns)
{
	double rate = (double)seen->requests * 1e9 / (double)elapsed_ns;

	b->connections = seen->connections;

	b->pinned_ns -= b->pinned_ns < elapsed_ns ? b->pinned_ns : elapsed_ns;
	if (rate > 2 * b->pinned_rate || seen->connections >= FOLLOW_FEW)
		b->pinned_ns = 0;
	if (seen->requests && b->looks && seen->connections < FOLLOW_FEW) {
		b->pinned_ns = FOLLOW_PIN_NS;
		b->pinned_rate = rate;
	}
	b->looks = !seen->requests && b->shift;
	if (b->looks)
		b->shift--;
}

/* Those come back for which there was room for long enough. */
static void give_back(struct follow *f, struct rates *r, uint64_t elapsed_ns)
{
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++) {
		struct follow_bucket *b = &f->buckets[i];

		if (!b->shift || b->looks || is_pinned(b) || !has_room(f, r, i)) {
			b->calm_ns = 0;
			continue;
		}
		b->calm_ns += elapsed_ns;
		if (b->calm_ns >= FOLLOW_CALM_NS)
			set_shift(f, r, i, b->shift - 1);
	}
}

static void give_up(struct follow *f, struct rates *r)
{
	for (;;) {
		size_t most = NONE;

		if (r->givers[MANY] > f->most)
			most = heaviest(f, r, MANY);
		else if (r->givers[ANY] > (double)FOLLOW_MORE * f->most)
			most = heaviest(f, r, ANY);
		if (most == NONE)
			return;
		set_shift(f, r, most, f->buckets[most].shift + 1);
	}
}

void follow_next(struct follow *f, const struct follow_seen seen[FOLLOW_BUCKETS],
		 uint64_t elapsed_ns)
{
	struct rates rates;

	if (!f->most) {
		*f = (struct follow){0};
		return;
	}
	if (!elapsed_ns)
		return;
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		look_for_few(&f->buckets[i], &seen[i], elapsed_ns);
	rates = rates_of(f, seen, elapsed_ns);
	give_back(f, &rates, elapsed_ns);
	give_up(f, &rates);
}

unsigned int follow_most_shift(const struct follow *f)
{
	unsigned int most = 0;

	for (size_t i = 0; i < FOLLOW_BUCKETS; i++)
		if (f->buckets[i].shift > most)
			most = f->buckets[i].shift;
	return most;
}
