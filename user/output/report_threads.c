/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process, by what they wanted of the CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/report_internal.h"

struct order {
	const struct model *m;
	const struct sched *sched;
};

static int compare_wanted(const void *a, const void *b, void *arg)
{
	const struct order *order = arg;
	uint32_t ra = *(const uint32_t *)a, rb = *(const uint32_t *)b;
	uint64_t wa = sched_wanted_ns(&order->sched->threads[ra].sched);
	uint64_t wb = sched_wanted_ns(&order->sched->threads[rb].sched);

	if (wa != wb)
		return wa < wb ? 1 : -1;
	return order->m->threads[ra].tid < order->m->threads[rb].tid ? -1 : ra != rb;
}

static void thread_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	char class[POLICY_BYTES];
	size_t n;

	policy_text(class, s->thread);
	n = class[0] ? text_columns(class) + 3 : 0;
	label_name(text, s->thread->comm[0] ? s->thread->comm : "(no name)",
		   columns > n ? columns - n : 1, CUT_END);
	n = strlen(text);
	if (class[0])
		snprintf(text + n, CELL_BYTES - n, " (%s)", class);
}

static const struct figure figure_thread = {NULL, "thread", .text = thread_text};

/* Some are shown only where a thread has something to tell there. */
static const struct column columns[] = {
	{&figure_running, .width = 8},
	{&figure_waiting, .width = 8},
	{&figure_throttled, .width = 10, .when = WITH_THROTTLED},
	{&figure_uninterruptible, .width = 6, .when = WITH_MORE},
	{&figure_delay_p99, .width = 9},
	{&figure_delay_max, .width = 9},
	{&figure_switches, .width = 11},
	{&figure_migrations, .width = 7},
	{&figure_tid, .width = 8},
	{&figure_thread, .left = true, .gap = 2},
};

static void put_thread(const struct report *r, const struct table *t, uint32_t row)
{
	struct subject s = report_subject(r, NULL, &r->sched->threads[row]);

	s.thread = &r->m->threads[row];
	table_put_row(r->out, t, &s);
}

int report_threads(const struct report *r, uint32_t process)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct order order = {r->m, r->sched};
	unsigned int when = 0;
	struct table t;
	size_t cnt = 0;

	if (!r->sched)
		return 0;
	rows = calloc(r->m->threads_cnt + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->m->threads_cnt; i++) {
		const struct sched_figures *s = &r->sched->threads[i].sched;

		/* Asleep in D throughout is worth a row, too. */
		if (r->m->threads[i].process != process ||
		    (!sched_wanted_ns(s) && !s->uninterruptible_ns))
			continue;
		rows[cnt++] = i;
		when |= report_is_some(r, s->throttled_ns) ? WITH_THROTTLED : 0;
		when |= report_is_some(r, s->uninterruptible_ns) ? WITH_MORE : 0;
	}
	if (!cnt)
		return 0;
	qsort_r(rows, cnt, sizeof(*rows), compare_wanted, &order);
	TABLE_OF(&t, columns, r, when);
	put_titles(r, &t);
	for (size_t i = 0; i < cnt && i < r->o.rows; i++)
		put_thread(r, &t, rows[i]);
	table_put_more(r->out, &t, cnt > r->o.rows ? cnt - r->o.rows : 0);
	return 0;
}
