/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/follow.h"

#include <stdbool.h>
#include <stddef.h>

/* Of the bound, for all; and of the bucket of which most is seen, for one that is seen less. */
#define ROOM	   0.8
#define LIGHT_PART 0.4

struct rates {
	double of[FOLLOW_BUCKETS], all;
};

/* Of which most is seen; of those alone that have connections to give up, where wanted. Returns
 * FOLLOW_BUCKETS where there is none. */
static size_t heaviest(const struct follow *f, const struct rates *r, bool gives_up)
{
	size_t most = FOLLOW_BUCKETS;

	for (size_t i = 0; i < FOLLOW_BUCKETS; i++) {
		if (gives_up && f->buckets[i].shift >= FOLLOW_SHIFT_MAX)
			continue;
		if (r->of[i] > 0 && (most == FOLLOW_BUCKETS || r->of[i] > r->of[most]))
			most = i;
	}
	return most;
}

/* Those come back for which there was room for long enough. */
static void give_back(struct follow *f, struct rates *r, uint64_t elapsed_ns)
{
	size_t most = heaviest(f, r, false);
	double heavy = most < FOLLOW_BUCKETS ? r->of[most] : 0;

	for (size_t i = 0; i < FOLLOW_BUCKETS; i++) {
		struct follow_bucket *b = &f->buckets[i];
		bool room = r->all + r->of[i] < ROOM * f->most || 2 * r->of[i] < LIGHT_PART * heavy;

		b->calm_ns = b->shift && room ? b->calm_ns + elapsed_ns : 0;
		if (b->calm_ns < FOLLOW_CALM_NS)
			continue;
		b->calm_ns = 0;
		b->shift--;
		r->all += r->of[i];
		r->of[i] *= 2;
	}
}

static void give_up(struct follow *f, struct rates *r)
{
	while (r->all > f->most) {
		size_t most = heaviest(f, r, true);

		if (most == FOLLOW_BUCKETS)
			return;
		f->buckets[most].shift++;
		f->buckets[most].calm_ns = 0;
		r->of[most] /= 2;
		r->all -= r->of[most];
	}
}

void follow_next(struct follow *f, const uint32_t seen[FOLLOW_BUCKETS], uint64_t elapsed_ns)
{
	struct rates rates = {0};

	if (!f->most) {
		*f = (struct follow){0};
		return;
	}
	if (!elapsed_ns)
		return;
	for (size_t i = 0; i < FOLLOW_BUCKETS; i++) {
		rates.of[i] = (double)seen[i] * 1e9 / (double)elapsed_ns;
		rates.all += rates.of[i];
	}
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
