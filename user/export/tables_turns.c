/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of single turns, where a capture has single switches. */
#include <errno.h>

#include "export/tables_private.h"
#include "judge/turns.h"
#include "output/figures.h"

#define TURN(member) FIELD(struct turn, member)

static const struct turn *turn_of(const struct subject *s)
{
	return s->item;
}

static struct value at_s(const struct subject *s)
{
	return value_real(tables_s(tables_of(s), turn_of(s)->begin_ns));
}

static struct value ran(const struct subject *s)
{
	return value_count(turn_of(s)->end_ns - turn_of(s)->begin_ns);
}

static struct value waited(const struct subject *s)
{
	return turn_of(s)->ready_ns ? value_count(turn_waited(turn_of(s))) : tables_unknown();
}

static struct value woken_by(const struct subject *s)
{
	const struct turn *turn = turn_of(s);

	return turn->woken && turn->waker != MODEL_NONE
		       ? value_count(s->m->threads[turn->waker].tid)
		       : tables_unknown();
}

static struct value left(const struct subject *s)
{
	static const char letters[][2] = {"R", "S", "D", "T", "t", "X", "Z", "P", "I"};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (turn_of(s)->left == letters[i][0])
			return value_text(letters[i]);
	return tables_unknown();
}

TABLES_COLUMNS(turns, TABLES_COLUMN("at_s", .value = at_s), TABLES_COLUMN("cpu", TURN(cpu)),
	       &figure_pid, &tables_process_name, &figure_tid, &tables_thread_name,
	       TABLES_COLUMN("ran_ns", .value = ran), TABLES_COLUMN("waited_ns", .value = waited),
	       TABLES_COLUMN("woken", TURN(woken)), TABLES_COLUMN("by_irq", TURN(by_irq)),
	       TABLES_COLUMN("woken_by_tid", .value = woken_by),
	       TABLES_COLUMN("left", .value = left), TABLES_COLUMN("irq_ns", TURN(irq_ns)),
	       TABLES_COLUMN("softirq_ns", TURN(softirq_ns)))

int tables_put_turns(const struct tables *w, const struct export_table *table)
{
	struct turns *t = turns_new(w->m, 0, UINT64_MAX);

	if (!t)
		return -errno;
	for (size_t i = 0; i < t->turns_cnt; i++) {
		const struct turn *turn = &t->turns[i];
		struct subject s = {.m = w->m, .item = turn, .of = w};

		if (turn->thread == MODEL_NONE)
			continue;
		s.thread = &w->m->threads[turn->thread];
		s.process = &w->m->processes[s.thread->process];
		if (export_wants(w->o, s.thread->process))
			tables_put(w, table, &s);
	}
	turns_free(t);
	return 0;
}
