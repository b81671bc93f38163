/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/set_aside.h"

static bool is_aside(const struct set_aside_row *row, uint64_t now_ns)
{
	return row->until_ns > now_ns;
}

size_t set_aside_now(const struct set_aside *a, uint64_t now_ns,
		     const struct set_aside_row *ret_rows[static SET_ASIDE_MAX])
{
	size_t cnt = 0;

	for (size_t i = 0; i < a->cnt && cnt < SET_ASIDE_MAX; i++)
		if (is_aside(&a->rows[i], now_ns))
			ret_rows[cnt++] = &a->rows[i];
	return cnt;
}

bool set_aside_has_room(const struct set_aside *a, uint64_t now_ns)
{
	const struct set_aside_row *rows[SET_ASIDE_MAX];

	return set_aside_now(a, now_ns, rows) < SET_ASIDE_MAX;
}

struct set_aside_row *set_aside_find(struct set_aside *a, uint64_t party)
{
	for (size_t i = 0; i < a->cnt; i++)
		if (a->rows[i].party == party)
			return &a->rows[i];
	return NULL;
}

/* One that is known, a new one, or the one that was set aside longest ago. */
static struct set_aside_row *row_for(struct set_aside *a, uint64_t party)
{
	struct set_aside_row *row = set_aside_find(a, party);

	if (row)
		return row;
	if (a->cnt < SET_ASIDE_KNOWN) {
		row = &a->rows[a->cnt++];
	} else {
		row = &a->rows[0];
		for (size_t i = 1; i < a->cnt; i++)
			if (a->rows[i].until_ns < row->until_ns)
				row = &a->rows[i];
	}
	*row = (struct set_aside_row){.party = party};
	return row;
}

/* Who behaved for as long as he was set aside begins anew. */
static void set(struct set_aside_row *row, uint64_t now_ns)
{
	uint64_t ns = SET_ASIDE_NS << row->times;

	if (row->until_ns && now_ns - row->until_ns > row->until_ns - row->since_ns) {
		row->times = 0;
		ns = SET_ASIDE_NS;
	}
	ns = ns < SET_ASIDE_MOST_NS ? ns : SET_ASIDE_MOST_NS;
	row->times += ns < SET_ASIDE_MOST_NS;
	row->since_ns = now_ns;
	row->until_ns = now_ns + ns;
}

size_t set_aside_take(struct set_aside *a, const struct ledger_use *most, size_t cnt,
		      uint64_t excess_ns, uint64_t now_ns)
{
	uint64_t used_ns = 0;
	size_t taken = 0;

	while (taken < cnt && used_ns < excess_ns && set_aside_has_room(a, now_ns)) {
		struct set_aside_row *row = row_for(a, most[taken].party);

		if (!is_aside(row, now_ns))
			set(row, now_ns);
		used_ns += most[taken++].used;
	}
	return taken;
}

void set_aside_clear(struct set_aside *a)
{
	a->cnt = 0;
}
