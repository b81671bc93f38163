/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several parts of the report look up or say. */
#include "judge/start_here.h"
#include "output/report_internal.h"

const struct total_process *report_find(const struct report *r, uint32_t process)
{
	for (size_t i = 0; i < r->totals->processes_cnt; i++)
		if (r->totals->processes[i].process == process)
			return &r->totals->processes[i];
	return NULL;
}

const struct unnamed *report_unnamed(const struct report *r, uint32_t process)
{
	if (!r->named[process])
		r->named[process] = unnamed_new(r->m, process);
	return r->named[process];
}

/* Whose CPU time is too little to say anything is hurt by something else. */
static bool comes_first(const struct group_row *row)
{
	return row->hurt && row->samples >= START_MIN_SAMPLES;
}

bool report_row_hangs(const struct report *r, const struct group_row *row)
{
	struct hang hang;

	return row->hurt && report_hang(r, row->process, &hang);
}

/* Of a process that hangs what tells is where its threads stand, not its samples. */
static bool is_telling(const struct report *r, const struct group_row *row)
{
	if (r->m->processes[row->process].flags & (PROCESS_KERNEL | PROCESS_SELF))
		return false;
	return row->samples || report_row_hangs(r, row);
}

const struct group_row *report_next_row(const struct report *r, size_t *at)
{
	size_t shown = r->groups.shown;

	while (*at < 2 * shown) {
		bool first = *at < shown;
		const struct group_row *row = &r->groups.rows[(*at)++ % shown];

		if (comes_first(row) == first && (row->selected || is_telling(r, row)))
			return row;
	}
	return NULL;
}

bool report_hang(const struct report *r, uint32_t process, struct hang *ret_hang)
{
	return r->hangs && hangs_of(r->hangs, process, ret_hang);
}

const char *report_waits_off(const struct report *r)
{
	return model_waits_why(r->m) ?: "the capture has no slice";
}

void report_window_text(char buf[static REPORT_WINDOW_BYTES], const struct report_window *w)
{
	snprintf(buf, REPORT_WINDOW_BYTES, "window %s to %s s of %s s (whole slices)",
		 number_fixed((double)w->from_ns / 1e9, 1).text,
		 number_fixed((double)w->to_ns / 1e9, 1).text,
		 number_fixed((double)w->whole_ns / 1e9, 1).text);
}
