/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of a process, by what they wanted of the CPU. */
#include <errno.h>
#include <stdlib.h>

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

/* Columns that are shown only where a thread has something to tell there. */
struct shown {
	bool throttled, uninterruptible;
};

static void put_title(const struct report *r, struct shown shown)
{
	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	put_right(r, "running", 8);
	put_right(r, "waiting", 8);
	if (shown.throttled)
		put_right(r, "throttled", 10);
	if (shown.uninterruptible)
		put_right(r, "in D", 6);
	put_right(r, "p99", 9);
	put_right(r, "max", 9);
	put_right(r, "switches/s", 11);
	put_right(r, "migr/s", 7);
	put_right(r, "tid", 8);
	fputs("  thread", r->out);
	put_plain(r);
	putc('\n', r->out);
}

static void put_thread(const struct report *r, uint32_t row, struct shown shown)
{
	const struct model_thread *t = &r->m->threads[row];
	const struct sched_sum *sum = &r->sched->threads[row];
	size_t columns =
		r->o.width - 62 - (shown.throttled ? 10 : 0) - (shown.uninterruptible ? 6 : 0);
	char class[POLICY_BYTES], tid[16];

	put_mean(r, sum->sched.on_cpu_ns, 8);
	put_mean(r, sum->sched.waited_ns, 8);
	if (shown.throttled)
		put_mean(r, sum->sched.throttled_ns, 10);
	if (shown.uninterruptible)
		put_mean(r, sum->sched.uninterruptible_ns, 6);
	put_delay(r, sum, 0.99, 9);
	put_delay(r, sum, 1, 9);
	put_rate(r, sum->sched.voluntary + sum->sched.involuntary, 11);
	put_rate(r, sum->sched.migrations, 7);
	snprintf(tid, sizeof(tid), "%u", t->tid);
	put_right(r, tid, 8);
	put_spaces(r, 2);
	policy_text(class, t);
	if (class[0])
		columns -= text_columns(class) + 3;
	put_name(r, t->comm[0] ? t->comm : "(no name)", columns, CUT_END, false);
	if (class[0])
		fprintf(r->out, " (%s)", class);
	putc('\n', r->out);
}

int report_threads(const struct report *r, uint32_t process)
{
	_cleanup_free_ uint32_t *rows = NULL;
	struct order order = {r->m, r->sched};
	struct shown shown = {0};
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
		shown.throttled |= report_is_some(r, s->throttled_ns);
		shown.uninterruptible |= report_is_some(r, s->uninterruptible_ns);
	}
	if (!cnt)
		return 0;
	qsort_r(rows, cnt, sizeof(*rows), compare_wanted, &order);
	put_title(r, shown);
	for (size_t i = 0; i < cnt && i < r->o.rows; i++)
		put_thread(r, rows[i], shown);
	if (cnt > r->o.rows)
		fprintf(r->out, "%62s… %s more\n", "", number_count(cnt - r->o.rows).text);
	return 0;
}
