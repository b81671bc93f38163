/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/runq.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "bpf/events.h"
#include "model/sched.h"
#include "model/share.h"
#include "output/figures.h"
#include "output/histogram.h"
#include "output/label.h"

/* Waiting outside of any group that is worth a line, of all waiting. */
#define UNGROUPED_MIN 0.01

#define CPUS_MAX 65536u /* as many as samples can name */

/* One CPU, or all. */
struct queue {
	uint32_t cpu;
	uint64_t elapsed_ns, busy_ns;
	uint64_t ticks[QUEUE_SLOTS];
	double share[QUEUE_MOST + 1]; /* of elapsed time */
	double mean;		      /* waiting threads; negative = not known */
};

struct runq {
	FILE *out;
	const struct model *m;
	struct runq_options o; /* with the defaults filled in */
	struct sched *sched;
	struct queue *queues; /* of CPUs that were on line, by number */
	size_t queues_cnt;
};

/* --- run queues ------------------------------------------------------------------------------ */

static uint64_t known_ticks(const struct queue *q)
{
	uint64_t sum = 0;

	for (int k = 0; k <= QUEUE_MOST; k++)
		sum += q->ticks[k];
	return sum;
}

static void find_shares(struct queue *q, uint32_t sample_hz)
{
	uint64_t ticks = known_ticks(q);
	double busy = share_of(q->busy_ns, q->elapsed_ns);

	q->share[0] = 1 - busy;
	if (!ticks) {
		if ((double)q->busy_ns / 1e9 * sample_hz >= RUNQ_MIN_TICKS)
			q->mean = -1;
		else
			q->share[0] = 1;
		return;
	}
	for (int k = 0; k <= QUEUE_MOST; k++) {
		double share = busy * share_of(q->ticks[k], ticks);

		q->share[k] += share;
		q->mean += share * k;
	}
}

/* Sums by CPU; owned by r. 0 or -ENOMEM. */
static int sum_cpus(struct runq *r)
{
	const struct model *m = r->m;
	size_t cnt = 0;

	for (size_t i = 0; i < m->cpus_cnt; i++)
		if (m->cpus[i].cpu < CPUS_MAX && m->cpus[i].cpu >= cnt)
			cnt = m->cpus[i].cpu + 1;
	r->queues = calloc(cnt + 1, sizeof(*r->queues));
	if (!r->queues)
		return -ENOMEM;
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		const struct model_cpu *row = &m->cpus[i];
		struct queue *q;

		if (row->cpu >= CPUS_MAX)
			continue;
		q = &r->queues[row->cpu];
		q->elapsed_ns += row->elapsed_ns;
		q->busy_ns += row->accounted_ns + row->unaccounted_ns;
		for (int k = 0; k < QUEUE_SLOTS; k++)
			q->ticks[k] += row->queue[k];
	}
	for (uint32_t cpu = 0; cpu < cnt; cpu++) {
		if (!r->queues[cpu].elapsed_ns)
			continue;
		r->queues[r->queues_cnt] = r->queues[cpu];
		r->queues[r->queues_cnt].cpu = cpu;
		find_shares(&r->queues[r->queues_cnt++], m->host.sample_hz);
	}
	return 0;
}

/* All CPUs as one: shares are the mean of the CPUs', the waiting threads add up. */
static struct queue sum_host(const struct runq *r)
{
	struct queue all = {0};

	for (size_t i = 0; i < r->queues_cnt; i++) {
		const struct queue *q = &r->queues[i];

		for (int k = 0; k <= QUEUE_MOST; k++)
			all.share[k] += q->share[k] / (double)r->queues_cnt;
		for (int k = 0; k < QUEUE_SLOTS; k++)
			all.ticks[k] += q->ticks[k];
		all.elapsed_ns += q->elapsed_ns;
		all.busy_ns += q->busy_ns;
		all.mean = q->mean < 0 || all.mean < 0 ? -1 : all.mean + q->mean;
	}
	return all;
}

static int by_mean(const void *a, const void *b)
{
	const struct queue *x = a, *y = b;

	if (x->mean != y->mean)
		return COMPARE(y->mean, x->mean);
	return COMPARE(x->cpu, y->cpu);
}

static int by_number(const void *a, const void *b)
{
	const struct queue *x = a, *y = b;

	return COMPARE(x->cpu, y->cpu);
}

/* The row of a queue; its name, "all" or a number, is made by who puts it. */
struct queue_item {
	const struct queue *queue;
	const char *name;
};

static const struct queue *queue_of(const struct subject *s)
{
	return ((const struct queue_item *)s->item)->queue;
}

static struct value queue_mean(const struct subject *s)
{
	const struct queue *q = queue_of(s);

	return q->mean < 0 ? (struct value){.kind = VALUE_UNKNOWN} : value_real(q->mean);
}

#define BEFORE_SHARES 2 /* columns */

static struct value queue_share(const struct subject *s)
{
	return value_real(queue_of(s)->share[s->column - BEFORE_SHARES] * 100);
}

static const struct figure figure_cpu = {"cpu", "CPU", AS_TEXT, FIELD(struct queue_item, name)};
static const struct figure figure_mean = {"waiting_threads", "waiting", AS_THREADS,
					  .value = queue_mean};
static const struct figure figure_share = {NULL, "", AS_TENTHS, true, .value = queue_share};

static const struct column queue_columns[] = {
	{&figure_cpu, .width = 5},
	{&figure_mean, .width = 9},
	{&figure_share, .width = 6, .title = "0"},
	{&figure_share, .width = 6, .title = "1"},
	{&figure_share, .width = 6, .title = "2"},
	{&figure_share, .width = 6, .title = "3"},
	{&figure_share, .width = 6, .title = "4"},
	{&figure_share, .width = 6, .title = "5"},
	{&figure_share, .width = 6, .title = "6"},
	{&figure_share, .width = 6, .title = "7"},
	{&figure_share, .width = 6, .title = "8"},
	{&figure_share, .width = 6, .title = "9"},
	{&figure_share, .width = 6, .title = "10+"},
};
_Static_assert(sizeof(queue_columns) / sizeof(queue_columns[0]) == BEFORE_SHARES + QUEUE_MOST + 1,
	       "a column for each length");

static void put_queue(const struct runq *r, const struct table *t, const char *name,
		      const struct queue *q)
{
	const struct queue_item item = {q, name};
	struct subject s = {.m = r->m, .item = &item};

	table_put_row(r->out, t, &s);
}

static void put_queues(struct runq *r)
{
	struct queue all = sum_host(r);
	/* Ticks look at queues, too, where nobody looks at switches. */
	uint32_t off = model_off(r->m) & OFF_SWITCHES ? OFF_QUEUES : OFF_QUEUES | OFF_ACCOUNTS;
	size_t shown = r->queues_cnt < r->o.cpus ? r->queues_cnt : r->o.cpus;
	struct table t;
	char name[16];

	fputs("\nrun queues: mean of waiting threads, and % of the time with 0, 1, ... waiting\n",
	      r->out);
	off &= model_off(r->m);
	if (off) {
		fprintf(r->out, "  n/a: %s\n",
			model_off_text(r->m, off & OFF_ACCOUNTS ? OFF_ACCOUNTS : OFF_QUEUES));
		return;
	}
	if (!r->queues_cnt) {
		fputs("  n/a: no second of it is written\n", r->out);
		return;
	}
	TABLE_LAY_OUT(&t, queue_columns, r->o.width, 0);
	table_put_titles(r->out, &t);
	qsort(r->queues, r->queues_cnt, sizeof(*r->queues), by_mean);
	qsort(r->queues, shown, sizeof(*r->queues), by_number);
	for (size_t i = 0; i < shown; i++) {
		snprintf(name, sizeof(name), "%u", r->queues[i].cpu);
		put_queue(r, &t, name, &r->queues[i]);
	}
	if (shown < r->queues_cnt)
		fprintf(r->out, "    … %zu more CPUs, with fewer waiting threads\n",
			r->queues_cnt - shown);
	put_queue(r, &t, "all", &all);
	fprintf(r->out, "  seen by %s ticks at %u Hz", number_count(known_ticks(&all)).text,
		r->m->host.sample_hz);
	if (all.ticks[QUEUE_UNKNOWN])
		fprintf(r->out, "; %s more could not read the queue",
			number_count(all.ticks[QUEUE_UNKNOWN]).text);
	putc('\n', r->out);
}

/* --- run delay ------------------------------------------------------------------------------- */

static void put_delays(const struct runq *r, const struct sched_sum *sum)
{
	uint64_t cnt = sched_delay_cnt(sum);

	fprintf(r->out, "  %s threads waiting on average",
		number_fixed(sched_mean(sum->sched.waited_ns, r->sched->elapsed_ns), 2).text);
	if (model_off(r->m) & OFF_SWITCHES) {
		fprintf(r->out, "\n  n/a: %s\n", model_off_text(r->m, OFF_SWITCHES));
		return;
	}
	if (cnt)
		fprintf(r->out, " · %s waits · p50 %s · p99 %s", number_count(cnt).text,
			number_time(sched_delay_ns(sum, 0.5)).text,
			number_time(sched_delay_ns(sum, 0.99)).text);
	else
		fputs(sum->sched.waited_ns ? " · no wait has ended" : " · no thread waited",
		      r->out);
	if (sum->delay_max_ns)
		fprintf(r->out, " · max %s", number_time(sum->delay_max_ns).text);
	putc('\n', r->out);
	histogram_put(r->out, sum->delays, DELAY_SLOTS);
}

static void put_process(const struct runq *r, uint32_t process)
{
	const struct model_process *p = &r->m->processes[process];
	char name[NAME_BYTES];

	label_process(name, p, r->o.width - 30);
	fprintf(r->out, "\nrun delay of %s, pid %u\n", name, p->tgid);
	put_delays(r, &r->sched->processes[process]);
}

static struct value own_share(const struct subject *s)
{
	if (model_off(s->m) & OFF_OWN)
		return (struct value){.kind = VALUE_UNKNOWN};
	return value_real(share_of(s->sched->sched.behind_own_ns, s->sched->sched.waited_ns));
}

static const struct figure figure_own = {"behind_own_share", "own thr.", AS_SHARE,
					 .value = own_share};

static const struct column columns[] = {
	{&figure_waiting, .width = 9},
	{&figure_own, .width = 9},
	{&figure_delays, .width = 11},
	{&figure_delay_p50, .width = 10},
	{&figure_delay_p99, .width = 10},
	{&figure_delay_max, .width = 10},
	{&figure_process, .left = true, .gap = 2},
	{&figure_pid, .width = 9},
};

static int put_table(const struct runq *r)
{
	size_t cnt;
	_cleanup_free_ uint32_t *rows = runq_worst(r->m, r->o.rows, &cnt);
	struct subject s = {.m = r->m, .elapsed_ns = r->sched->elapsed_ns};
	struct table t;

	if (!rows)
		return -ENOMEM;
	if (!cnt)
		return 0;
	fputs("\nprocesses that waited most\n", r->out);
	TABLE_LAY_OUT(&t, columns, r->o.width, 0);
	table_put_titles(r->out, &t);
	for (size_t i = 0; i < cnt; i++) {
		s.process = &r->m->processes[rows[i]];
		s.sched = &r->sched->processes[rows[i]];
		table_put_row(r->out, &t, &s);
	}
	return 0;
}

static int put_processes(const struct runq *r)
{
	_cleanup_free_ uint32_t *worst = NULL;
	const uint32_t *rows = r->o.processes;
	size_t cnt = r->o.process_cnt;

	if (!rows) {
		rows = worst = runq_worst(r->m, r->o.process_cnt, &cnt);
		if (!worst)
			return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		put_process(r, rows[i]);
	return 0;
}

/* --- the worst ------------------------------------------------------------------------------- */

struct waiter {
	uint32_t row;
	uint64_t waited_ns;
};

static int by_waiting(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->waited_ns != y->waited_ns)
		return COMPARE(y->waited_ns, x->waited_ns);
	return COMPARE(x->row, y->row);
}

/* The rows of the sums that waited most; owned, NULL without memory. */
static uint32_t *worst_of(const struct sched_sum *sums, size_t sums_cnt, size_t cnt,
			  size_t *ret_cnt)
{
	_cleanup_free_ struct waiter *waiters = calloc(sums_cnt + 1, sizeof(*waiters));
	uint32_t *rows = calloc(cnt + 1, sizeof(*rows));
	size_t n = 0;

	if (!waiters || !rows) {
		free(rows);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < sums_cnt; i++)
		if (sums[i].sched.waited_ns)
			waiters[n++] = (struct waiter){i, sums[i].sched.waited_ns};
	qsort(waiters, n, sizeof(*waiters), by_waiting);
	*ret_cnt = n < cnt ? n : cnt;
	for (size_t i = 0; i < *ret_cnt; i++)
		rows[i] = waiters[i].row;
	return rows;
}

uint32_t *runq_worst(const struct model *m, size_t cnt, size_t *ret_cnt)
{
	struct sched *sched = sched_new(m);
	uint32_t *rows = NULL;

	if (sched)
		rows = worst_of(sched->processes, m->processes_cnt, cnt, ret_cnt);
	sched_free(sched);
	return rows;
}

/* Threads whose group was not known, or had no id. */
static void put_ungrouped(const struct runq *r)
{
	uint64_t all_ns = r->sched->host.sched.waited_ns, grouped_ns = 0;

	for (size_t i = 0; i < r->m->cgroups_cnt; i++)
		if (r->m->cgroups[i].parent == MODEL_NONE)
			grouped_ns += r->sched->cgroups[i].sched.waited_ns;
	if (all_ns <= grouped_ns || share_of(all_ns - grouped_ns, all_ns) < UNGROUPED_MIN)
		return;
	fprintf(r->out, "\nin no known cgroup\n  %s threads waiting on average\n",
		number_fixed(sched_mean(all_ns - grouped_ns, r->sched->elapsed_ns), 2).text);
}

static int put_cgroups(const struct runq *r)
{
	size_t cnt;
	_cleanup_free_ uint32_t *rows =
		worst_of(r->sched->cgroups, r->m->cgroups_cnt, r->o.cgroups, &cnt);
	char name[NAME_BYTES];

	if (!rows)
		return -ENOMEM;
	if (model_off(r->m) & OFF_GROUPS) {
		fprintf(r->out, "\ncgroups\n  n/a: %s\n", model_off_text(r->m, OFF_GROUPS));
		return 0;
	}
	for (size_t i = 0; i < cnt; i++) {
		const struct model_cgroup *g = &r->m->cgroups[rows[i]];

		label_name(name, g->path, r->o.width - 24, CUT_START);
		if (*g->path)
			fprintf(r->out, "\nrun delay of cgroup %s\n", name);
		else
			fprintf(r->out, "\nrun delay of cgroup %llu (path not known)\n",
				(unsigned long long)g->id);
		put_delays(r, &r->sched->cgroups[rows[i]]);
	}
	put_ungrouped(r);
	return 0;
}

/* --------------------------------------------------------------------------------------------- */

static void put_head(const struct runq *r)
{
	const struct model *m = r->m;
	struct queue all = sum_host(r);
	char name[NAME_BYTES];

	label_name(name, m->host.name, 40, CUT_END);
	fputs(name, r->out);
	if (m->slices_cnt)
		fprintf(r->out, " · %s",
			number_utc(((int64_t)m->slices[0].start_ns + m->slices[0].wall_offset_ns) /
				   1000000000)
				.text);
	fprintf(r->out, " · %s", number_time(r->sched->elapsed_ns).text);
	if (r->queues_cnt)
		fprintf(r->out, " · CPU busy %s of %zu",
			number_fixed(sched_mean(all.busy_ns, r->sched->elapsed_ns), 2).text,
			r->queues_cnt);
	putc('\n', r->out);
}

static int put_host(struct runq *r)
{
	int err = 0;

	put_head(r);
	put_queues(r);
	fputs("\nrun delay of the host\n", r->out);
	if (model_off(r->m) & OFF_ACCOUNTS) {
		fprintf(r->out, "  n/a: %s\n", model_waits_why(r->m));
		return 0;
	}
	put_delays(r, &r->sched->host);
	if (!r->o.process_cnt && !r->o.cgroups)
		err = put_table(r);
	if (!err && r->o.process_cnt)
		err = put_processes(r);
	if (!err && r->o.cgroups)
		err = put_cgroups(r);
	return err;
}

int runq_write(FILE *out, const struct model *m, const struct runq_options *options)
{
	struct runq r = {.out = out, .m = m};
	int err = -ENOMEM;

	if (options)
		r.o = *options;
	r.o.width = r.o.width ?: RUNQ_DEFAULT_WIDTH;
	if (r.o.width < RUNQ_MIN_WIDTH)
		r.o.width = RUNQ_MIN_WIDTH;
	r.o.rows = r.o.rows ?: 10;
	r.o.cpus = r.o.cpus ?: 32;
	r.sched = sched_new(m);
	if (r.sched)
		err = sum_cpus(&r);
	if (!err)
		err = put_host(&r);
	sched_free(r.sched);
	free(r.queues);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
