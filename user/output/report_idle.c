/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that used no CPU, with their threads by state: a hang is quiet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "output/report_internal.h"

/* In the order in which they are told; the last counter is for states that are not known. */
static const char STATES[] = "RDSTtIPZX";
#define STATE_CNT sizeof(STATES)

struct states {
	uint32_t cnt[STATE_CNT];
};

static size_t state_index(uint8_t state)
{
	const char *at = state ? strchr(STATES, state) : NULL;

	return at ? (size_t)(at - STATES) : STATE_CNT - 1;
}

static void add_states(struct states *sum, const struct states *s)
{
	for (size_t i = 0; i < STATE_CNT; i++)
		sum->cnt[i] += s->cnt[i];
}

/* Processes of one name. */
struct idle_row {
	uint32_t process; /* the first of them */
	uint32_t cnt, threads;
	struct states states;
};

struct idle {
	const struct model *m;
	struct idle_row *rows;
	size_t rows_cnt, rows_cap;
	struct hash_index index;
};

static void idle_clear(struct idle *idle)
{
	free(idle->rows);
	hash_clear(&idle->index);
}

static bool same_label(const void *owner, uint32_t row, const void *key)
{
	const struct idle *idle = owner;

	return groups_alike(idle->m, &idle->m->processes[idle->rows[row].process], key);
}

static int idle_add(struct idle *idle, const struct total_process *t, const struct states *states)
{
	const struct model_process *p = &idle->m->processes[t->process];
	uint32_t row = hash_find(&idle->index, groups_hash(p), same_label, idle, p);
	int err;

	if (row == HASH_NONE) {
		err = GROW(idle->rows, idle->rows_cnt, idle->rows_cap);
		row = (uint32_t)idle->rows_cnt;
		if (!err)
			err = hash_add(&idle->index, groups_hash(p), row);
		if (err)
			return err;
		idle->rows[idle->rows_cnt++] = (struct idle_row){.process = t->process};
	}
	idle->rows[row].cnt++;
	idle->rows[row].threads += t->threads;
	add_states(&idle->rows[row].states, states);
	return 0;
}

/* Threads that hang, or were stopped by somebody, are what this list is read for. */
static uint32_t hanging(const struct idle_row *row)
{
	return row->states.cnt[state_index('D')] + row->states.cnt[state_index('T')] +
	       row->states.cnt[state_index('t')];
}

static int compare_idle(const void *a, const void *b, void *arg)
{
	const struct model *m = arg;
	const struct idle_row *ra = a, *rb = b;
	const struct model_process *pa = &m->processes[ra->process];
	const struct model_process *pb = &m->processes[rb->process];
	int c = COMPARE(!!(pa->flags & PROCESS_KERNEL), !!(pb->flags & PROCESS_KERNEL));

	if (!c)
		c = COMPARE(hanging(rb), hanging(ra));
	if (!c)
		c = COMPARE(rb->threads, ra->threads);
	if (!c)
		c = COMPARE(pa->tgid, pb->tgid);
	return c ? c : COMPARE(ra->process, rb->process);
}

static struct value pid(const struct subject *s)
{
	const struct idle_row *row = s->item;

	if (row->cnt > 1 || s->process->flags & PROCESS_KERNEL)
		return (struct value){.kind = VALUE_BLANK};
	return value_count(s->process->tgid);
}

static void name(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct idle_row *row = s->item;
	size_t n = 0;

	if (s->process->flags & PROCESS_KERNEL) {
		strcpy(text, "kernel threads");
		return;
	}
	if (row->cnt > 1)
		n = (size_t)snprintf(text, CELL_BYTES, "%s x ", number_count(row->cnt).text);
	label_process(text + n, s->process, columns - n);
}

static void states_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct idle_row *row = s->item;
	size_t n = 0;

	(void)columns;
	for (size_t i = 0; i < STATE_CNT; i++)
		if (row->states.cnt[i])
			n += (size_t)snprintf(text + n, CELL_BYTES - n, "%s%c %u", n ? ", " : "",
					      i + 1 < STATE_CNT ? STATES[i] : '?',
					      row->states.cnt[i]);
}

static const struct figure figure_idle_pid = {"pid", "pid", AS_ID, .value = pid};
static const struct figure figure_name = {NULL, "used no CPU", .text = name};
static const struct figure figure_threads = {"threads", "threads", AS_COUNT,
					     FIELD(struct idle_row, threads)};
static const struct figure figure_states = {NULL, "by state at the last look", .text = states_text};

static const struct column columns[] = {
	{&figure_idle_pid, .width = PID_COLUMNS},
	{&figure_name, .width = 40, .left = true, .gap = 2},
	{&figure_threads, .width = 9},
	{&figure_states, .left = true, .gap = 2},
};

static int idle_build(struct idle *idle, const struct report *r)
{
	const struct totals *t = r->totals;
	_cleanup_free_ struct states *states = calloc(r->m->processes_cnt + 1, sizeof(*states));
	int err = states ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < r->m->threads_cnt; i++) {
		const struct model_thread *thread = &r->m->threads[i];

		states[thread->process].cnt[state_index(thread->state)]++;
	}
	for (size_t i = 0; !err && i < t->processes_cnt; i++) {
		const struct total_process *p = &t->processes[i];

		if (!p->on_cpu_ns && !p->samples)
			err = idle_add(idle, p, &states[p->process]);
	}
	if (!err && idle->rows_cnt)
		qsort_r(idle->rows, idle->rows_cnt, sizeof(*idle->rows), compare_idle, r->m);
	return err;
}

int report_idle(const struct report *r)
{
	_cleanup_(idle_clear) struct idle idle = {.m = r->m};
	int err = idle_build(&idle, r);
	struct table t;

	if (err)
		return err;
	TABLE_OF(&t, columns, r, 0);
	put_titles(r, &t);
	for (size_t i = 0; i < idle.rows_cnt; i++) {
		struct subject s = {.m = r->m, .item = &idle.rows[i]};

		s.process = &r->m->processes[idle.rows[i].process];
		table_put_row(r->out, &t, &s);
	}
	fputs("           R runs or could, D waits and cannot be interrupted (disk, NFS), S sleeps,"
	      "\n           T stopped, t traced, I idle kernel thread, Z ended but not collected,"
	      "\n           P parked, X ended\n",
	      r->out);
	return 0;
}
