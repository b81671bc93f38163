/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/retention.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"

#define DAY_NS 86400000000000ull

/* --- which have to go ------------------------------------------------------------------------- */

struct candidate {
	size_t row;
	const struct retention_file *file;
};

/* Who goes first. */
static int by_worth(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int c = COMPARE(x->file->worth, y->file->worth);

	if (!c)
		c = COMPARE(x->file->time_s, y->file->time_s);
	return c ? c : COMPARE(x->row, y->row);
}

static bool is_too_old(const struct retention *r, const struct retention_file *file, int64_t now_s)
{
	return r->age_s > 0 && now_s > file->time_s &&
	       (uint64_t)now_s - (uint64_t)file->time_s > (uint64_t)r->age_s;
}

/* Of what all of them take no number of 64 bits is sure. */
static unsigned __int128 sum_bytes(const struct retention_file *files, size_t cnt)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < cnt; i++)
		sum += files[i].bytes;
	return sum;
}

int retention_plan(const struct retention *r, const struct retention_file *files, size_t cnt,
		   int64_t now_s, bool *ret_remove)
{
	_cleanup_free_ struct candidate *candidates = calloc(cnt + 1, sizeof(*candidates));
	unsigned __int128 bytes = sum_bytes(files, cnt);
	size_t left = cnt, n = 0;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		ret_remove[i] = false;
		if (!files[i].busy)
			candidates[n++] = (struct candidate){i, &files[i]};
	}
	qsort(candidates, n, sizeof(*candidates), by_worth);
	/* Those that are too old first: what they leave is room for the others. */
	for (size_t i = 0; i < n; i++) {
		if (!is_too_old(r, candidates[i].file, now_s))
			continue;
		ret_remove[candidates[i].row] = true;
		bytes -= candidates[i].file->bytes;
		left--;
	}
	for (size_t i = 0; i < n; i++) {
		bool many = r->count && left > r->count, large = r->bytes && bytes > r->bytes;

		if ((!many && !large) || ret_remove[candidates[i].row])
			continue;
		ret_remove[candidates[i].row] = true;
		bytes -= candidates[i].file->bytes;
		left--;
	}
	return 0;
}

/* --- when one ends ---------------------------------------------------------------------------- */

/* From the last whole multiple of every_ns of wall time to start_ns. */
static uint64_t phase_ns(uint64_t every_ns, uint64_t start_ns, int64_t wall_offset_ns)
{
	int64_t every = (int64_t)every_ns, offset = wall_offset_ns % every;

	return (start_ns % every_ns + (uint64_t)(offset < 0 ? offset + every : offset)) % every_ns;
}

uint64_t rotation_end_ns(uint64_t every_ns, uint64_t start_ns, int64_t wall_offset_ns)
{
	uint64_t length_ns = every_ns, end_ns;

	if (!every_ns)
		return UINT64_MAX;
	if (DAY_NS % every_ns == 0) {
		length_ns -= phase_ns(every_ns, start_ns, wall_offset_ns);
		if (length_ns < every_ns / 10)
			length_ns += every_ns;
	}
	return __builtin_add_overflow(start_ns, length_ns, &end_ns) ? UINT64_MAX : end_ns;
}
