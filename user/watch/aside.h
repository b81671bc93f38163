/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_ASIDE_H
#define HOTRUN_WATCH_ASIDE_H
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
#define ASIDE_MAX   16u
#define ASIDE_KNOWN 64u

#define ASIDE_NS      60000000000ull
#define ASIDE_MOST_NS 3600000000000ull

struct aside_row {
	uint64_t party;
	uint64_t since_ns, until_ns;
	unsigned times;
	char who[METRICS_LABEL_BYTES + 1]; /* bytes of strangers */
};

struct aside {
	struct aside_row rows[ASIDE_KNOWN];
	size_t cnt;
};

/* Whether one more may be. */
bool aside_has_room(const struct aside *a, uint64_t now_ns);
/* Those of them that used most are set aside, until they are those that used excess_ns. most: the
 * most first. Returns their number: they are the first ones of most. */
size_t aside_take(struct aside *a, const struct ledger_use *most, size_t cnt, uint64_t excess_ns,
		  uint64_t now_ns);
/* Who is now; returns their number. ret_rows: borrowed until the next call of anything. */
size_t aside_now(const struct aside *a, uint64_t now_ns,
		 const struct aside_row *ret_rows[static ASIDE_MAX]);
/* The row of one that is, to have its name set; NULL. */
struct aside_row *aside_find(struct aside *a, uint64_t party);
/* Nobody is any more. */
void aside_clear(struct aside *a);
#endif
