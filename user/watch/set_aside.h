/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SET_ASIDE_H
#define HOTRUN_WATCH_SET_ASIDE_H
/*
 * Users and containers whose naming is set aside for what it costs: the costliest first, no more of
 * them than it takes, each for a while that doubles every time. Pure policy over simulated time; no
 * threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/collector.h"
#include "output/metrics.h"

/* At a time; the others of them are known for how often they were. */
#define SET_ASIDE_MAX	16u
#define SET_ASIDE_KNOWN 64u

#define SET_ASIDE_NS	  60000000000ull
#define SET_ASIDE_MOST_NS 3600000000000ull

struct set_aside_row {
	uint64_t party;
	uint64_t since_ns, until_ns;
	unsigned times;
	char who[METRICS_LABEL_BYTES + 1]; /* untrusted bytes */
};

struct set_aside {
	struct set_aside_row rows[SET_ASIDE_KNOWN];
	size_t cnt;
};

/* Whether one more may be. */
bool set_aside_has_room(const struct set_aside *a, uint64_t now_ns);
/* Those of them that used most are set aside, until they are those that used excess_ns. most: the
 * most first. Returns their number: they are the first ones of most. */
size_t set_aside_take(struct set_aside *a, const struct ledger_use *most, size_t cnt,
		      uint64_t excess_ns, uint64_t now_ns);
/* Who is now; returns their number. ret_rows: borrowed until the next call of anything. */
size_t set_aside_now(const struct set_aside *a, uint64_t now_ns,
		     const struct set_aside_row *ret_rows[static SET_ASIDE_MAX]);
/* The row of one that is, to have its name set; NULL. */
struct set_aside_row *set_aside_find(struct set_aside *a, uint64_t party);
/* Nobody is any more. */
void set_aside_clear(struct set_aside *a);
#endif
