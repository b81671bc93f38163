/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/rise.h"
#include "model/account_book.h"
#include "model/contention_book.h"
#include "model/cpu_book.h"
#include "model/fair.h"
#include "model/request_book.h"
#include "model/sched_figures.h"

/* Address bits that are the same wherever the kernel was loaded (2 MiB alignment on x86-64 and
 * arm64): all that is kept of a kernel address when the kernel's place is unknown. */
#define KERNEL_PLACE_MASK 0x1fffffull
#define SUSPEND_MIN_NS	  1000000u

/*
 * Of a slice: what mappings may cost us, one cgroup about a hundredth of a CPU. A runtime maps some
 * hundred files as it starts; a record costs a microsecond, one that is inherited a thirtieth of
 * it.
 */
#define MAPPINGS_MOST	   32768u
#define MAPPINGS_OF_CGROUP 16384u
#define MAPPINGS_LEAST	   64u
/* While some are refused slice after slice, a cgroup may have half as many in each, so many times:
 * what a start takes at once nobody needs for ever. */
#define MAPPINGS_HALVES 3u
#define INHERITED_MOST	262144u
/* Of those whose mappings are refused, by the low bits of their ids; a power of two. */
#define REFUSING 1024u

struct ingest {
	struct model *m;
	uint64_t boot_offset_ns;
	uint64_t start_ns; /* 0 = still reading baselines */
	uint32_t pass;	   /* of the iterator, from 1 */
	uint32_t every;	   /* ticks stand for so many */
	struct cpu_book cpus;
	struct account_book book;
	struct contention_book contention;
	struct request_book requests;
	struct fair mappings;  /* records of this slice */
	struct fair inherited; /* mappings that were copied at forks in this slice */
	uint32_t *refused;     /* processes that made too many in this slice */
	size_t refused_cnt, refused_cap;
	bool lost;	 /* mapping records, in this slice */
	uint32_t lossy;	 /* slices in a row in which there were such */
	uint32_t stormy; /* slices in a row with such, no more than MAPPINGS_HALVES */
	/* Whose are refused unread, until the slice ends. cnt: such mappings, not booked yet. */
	struct refusing {
		uint32_t tgid, cnt, process;
	} refusing[REFUSING];
	uint64_t losses[LOSS_KERNEL_CNT];
	/* By thread: its newest row of accounts, valid where that row is of the current slice. */
	uint32_t *account_rows;
	size_t account_rows_cnt, account_rows_cap;
	uint32_t *ended; /* processes, in this slice */
	size_t ended_cnt, ended_cap;
};

struct ingest *ingest_new(struct model *m, uint32_t cpus_possible, uint64_t boot_offset_ns)
{
	struct ingest *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->m = m;
	in->every = 1;
	in->mappings = (struct fair){
		.most = MAPPINGS_MOST,
		.most_of_cgroup = MAPPINGS_OF_CGROUP,
		.most_of_process = MAPPINGS_OF_CGROUP,
		.least = MAPPINGS_LEAST,
	};
	in->inherited = (struct fair){
		.most = INHERITED_MOST,
		.most_of_cgroup = INHERITED_MOST / 2,
		.most_of_process = INHERITED_MOST / 2,
	};
	in->boot_offset_ns = boot_offset_ns;
	if (cpu_book_init(&in->cpus, cpus_possible)) {
		free(in);
		errno = ENOMEM;
		return NULL;
	}
	return in;
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	account_book_clear(&in->book);
	contention_book_clear(&in->contention);
	request_book_clear(&in->requests);
	cpu_book_clear(&in->cpus);
	fair_clear(&in->mappings);
	fair_clear(&in->inherited);
	free(in->refused);
	free(in->account_rows);
	free(in->ended);
	free(in);
}

void ingest_set_boot_offset(struct ingest *in, uint64_t boot_offset_ns)
{
	/* Two readings of one offset differ by some microseconds: only a suspend is news. */
	if (boot_offset_ns > in->boot_offset_ns + SUSPEND_MIN_NS)
		in->boot_offset_ns = boot_offset_ns;
}

void ingest_begin(struct ingest *in, uint64_t start_ns)
{
	in->start_ns = start_ns;
}

/* --- who is who ------------------------------------------------------------------------------ */

static uint64_t to_monotonic(const struct ingest *in, uint64_t boottime_ns)
{
	return boottime_ns > in->boot_offset_ns ? boottime_ns - in->boot_offset_ns : 0;
}

/*
 * The process of an exact identity. It may be known already from its fork event, whose time is at
 * or after its start: of several incarnations it is the first born since. Only where no row has
 * that identity yet: the last words of a process may come after the fork of its successor.
 */
static uint32_t identify(struct ingest *in, uint32_t tgid, uint64_t start_ns)
{
	struct model *m = in->m;
	uint64_t born_ns = to_monotonic(in, start_ns);
	uint32_t row = model_process_at(m, tgid, UINT64_MAX);
	struct model_process *p;

	if (row != MODEL_NONE && m->processes[row].start_exact &&
	    m->processes[row].start_ns == start_ns)
		return row; /* the common case: the newest of that id */
	row = model_process_find(m, tgid, start_ns);
	if (row != MODEL_NONE)
		return row;
	row = model_process_unnamed_after(m, tgid, born_ns ? born_ns - 1 : 0);
	if (row != MODEL_NONE) {
		p = &m->processes[row];
		p->start_ns = start_ns;
		p->start_exact = true;
		p->dirty = true;
		return row;
	}
	row = model_process_get(m, tgid, start_ns);
	if (row != MODEL_NONE && !m->processes[row].born_ns)
		m->processes[row].born_ns = born_ns;
	return row;
}

static void set_process_comm(struct model_process *p, const char *comm)
{
	if (p->comm == comm)
		return;
	if (p->name == p->comm || !*p->name)
		p->name = comm;
	p->comm = comm;
	p->dirty = true;
}

static void set_flags(struct model_process *p, uint32_t flags)
{
	if ((p->flags & flags) == flags)
		return;
	p->flags |= flags;
	p->dirty = true;
}

/* --- accounts -------------------------------------------------------------------------------- */

static struct model_account *account_row(struct ingest *in, uint32_t thread)
{
	struct model *m = in->m;
	uint32_t slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0, row;
	struct model_account fresh = {.slice = slice, .thread = thread, .cgroup = MODEL_NONE};

	while (in->account_rows_cnt <= thread) {
		if (GROW(in->account_rows, in->account_rows_cnt, in->account_rows_cap))
			return NULL;
		in->account_rows[in->account_rows_cnt++] = MODEL_NONE;
	}
	/* Rows are forgotten and numbered anew meanwhile, also within their slice. */
	row = in->account_rows[thread];
	if (row >= m->accounts_cnt || m->accounts[row].slice != slice ||
	    m->accounts[row].thread != thread) {
		if (model_account_add(m, &fresh))
			return NULL;
		row = in->account_rows[thread] = (uint32_t)m->accounts_cnt - 1;
	}
	return &m->accounts[row];
}

static void add_delays(struct ingest *in, uint32_t thread, const struct account_rise *rose)
{
	struct model *m = in->m;
	struct model_delay row = {
		.slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0,
		.thread = thread,
	};

	for (; row.slot < DELAY_SLOTS; row.slot++) {
		row.count = rose->delays[row.slot];
		if (row.count && model_delay_add(m, &row))
			model_loss_add(m, LOSS_MODEL_LIMIT, 1);
	}
}

static void add_difference(struct ingest *in, uint32_t row, const struct event_task *task)
{
	/* Also of those that do nothing yet: their limits are read when they begin to. */
	uint32_t cgroup = task->cgroup_id ? model_cgroup_get(in->m, task->cgroup_id) : MODEL_NONE;
	bool born_since = in->start_ns && to_monotonic(in, task->thread_start_ns) >= in->start_ns;
	struct model_thread *t = &in->m->threads[row];
	struct model_account *account;
	struct account_rise rose;

	if (account_book_read(&in->book, task, born_since, &rose)) {
		model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
		return;
	}
	t->baseline = true;
	if (!in->start_ns)
		t->ran_before_ns = rose.sched.on_cpu_ns;
	/* Who ended before the start may be told of later. */
	if (!in->start_ns || task->time_ns <= in->start_ns || !rose.any)
		return;
	account = account_row(in, row);
	if (!account) {
		model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
		return;
	}
	account->cgroup = cgroup;
	sched_figures_add(&account->sched, &rose.sched);
	sched_figures_add(&t->sched, &rose.sched);
	t->dirty = true;
	if (task->delay_max_ns > t->delay_max_ns)
		t->delay_max_ns = task->delay_max_ns;
	if (task->waiting_ns > t->delay_max_ns)
		t->delay_max_ns = task->waiting_ns;
	add_delays(in, row, &rose);
}

static void end_process(struct ingest *in, uint32_t row, uint64_t time_ns)
{
	struct model_process *p = &in->m->processes[row];

	if (!p->exit_ns && !GROW(in->ended, in->ended_cnt, in->ended_cap))
		in->ended[in->ended_cnt++] = row;
	p->exit_ns = time_ns;
	p->dirty = true;
}

/* Other threads may outlive the leader: the process has ended with each end since the leader's,
 * until one that runs on takes it back (show_alive). */
static void end_thread(struct ingest *in, uint32_t row, uint64_t time_ns)
{
	struct model_thread *t = &in->m->threads[row];
	struct model_process *p = &in->m->processes[t->process];

	t->exit_ns = time_ns;
	t->state = 'X';
	t->dirty = true;
	p->leader_ended |= t->tid == p->tgid;
	if (p->leader_ended)
		end_process(in, t->process, time_ns);
}

static void show_alive(struct ingest *in, uint32_t row, uint64_t time_ns)
{
	struct model_thread *t = &in->m->threads[row];
	struct model_process *p = &in->m->processes[t->process];

	if (t->exit_ns && time_ns > t->exit_ns) {
		t->exit_ns = 0;
		t->dirty = true;
	}
	if (p->exit_ns && time_ns > p->exit_ns) {
		p->exit_ns = 0;
		p->dirty = true;
	}
}

static bool is_dead(const struct event_task *task)
{
	return task->header.kind == EVENT_TASK_END || task->state == 'X' || task->state == 'Z';
}

void ingest_task(struct ingest *in, const struct event_task *task)
{
	struct model *m = in->m;
	uint32_t process = identify(in, task->tgid, task->process_start_ns), row;
	const char *comm = model_string(m, task->comm, sizeof(task->comm));
	struct model_process *p;
	struct model_thread *t;

	if (process == MODEL_NONE)
		return;
	row = model_thread_get(m, process, task->tid, task->thread_start_ns);
	if (row == MODEL_NONE)
		return;
	p = &m->processes[process];
	t = &m->threads[row];
	if (task->flags & ACCOUNT_KERNEL_THREAD)
		set_flags(p, PROCESS_KERNEL);
	if (task->tid == task->tgid || !*p->comm)
		set_process_comm(p, comm);
	if (p->cgroup_id != task->cgroup_id || p->parent_tgid != task->parent_tgid) {
		p->cgroup_id = task->cgroup_id;
		p->parent_tgid = task->parent_tgid;
		p->dirty = true;
	}
	if (!is_dead(task))
		show_alive(in, row, task->time_ns);
	if (t->comm != comm || (t->state != task->state && !t->exit_ns)) {
		t->comm = comm;
		t->state = t->exit_ns ? 'X' : task->state;
		t->dirty = true;
	}
	if (t->cpus_allowed != task->cpus_allowed || t->policy != task->policy ||
	    t->nice != task->nice || t->rt_priority != task->rt_priority) {
		t->cpus_allowed = task->cpus_allowed;
		t->policy = task->policy;
		t->nice = task->nice;
		t->rt_priority = task->rt_priority;
		t->dirty = true;
	}
	t->seen_pass = in->pass;
	if (task->flags & (ACCOUNT_ABSENT | ACCOUNT_TORN) || !task->account) {
		if (task->flags & ACCOUNT_TORN)
			model_loss_add(m, LOSS_ITERATOR, 1);
	} else {
		add_difference(in, row, task);
	}
	if (task->header.kind == EVENT_TASK_END)
		end_thread(in, row, task->time_ns);
}

void ingest_pass_begin(struct ingest *in)
{
	in->pass++;
}

void ingest_pass_end(struct ingest *in, uint64_t now_ns)
{
	struct model *m = in->m;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		struct model_thread *t = &m->threads[i];

		/* A thread first seen in a sample of this slice may be newer than the pass. */
		if (!t->exit_ns && t->seen_pass && t->seen_pass < in->pass)
			end_thread(in, i, now_ns);
	}
}

/* --- samples --------------------------------------------------------------------------------- */

/* Of a stack that is cut in the middle the root side came as a ring. */
static void copy_frames(const struct event_stack *stack, uint64_t *frames)
{
	uint32_t cnt = stack->frame_cnt, leaf_side;

	memcpy(frames, stack->frames, cnt * sizeof(*frames));
	if (!stack->left_out || cnt < STACK_ROOT_FRAMES)
		return;
	leaf_side = cnt - STACK_ROOT_FRAMES;
	for (uint32_t i = 0; i < STACK_ROOT_FRAMES; i++)
		frames[leaf_side + i] =
			stack->frames[leaf_side + (stack->left_out + i) % STACK_ROOT_FRAMES];
}

void ingest_stack(struct ingest *in, const struct event_stack *stack)
{
	struct model *m = in->m;
	struct model_stack row = {
		.id = stack->id,
		.process = MODEL_NONE,
		.flags = stack->flags,
		.frame_cnt = stack->frame_cnt,
		.end = stack->end < STACK_END_CNT ? (uint8_t)stack->end : STACK_END_UNTOLD,
		.left_out = stack->left_out,
		.broken_module = MODEL_NONE,
	};
	uint64_t frames[STACK_MAX_FRAMES];

	if (!stack->id || stack->frame_cnt > STACK_MAX_FRAMES) {
		model_loss_add(m, LOSS_BAD_RECORD, 1);
		return;
	}
	copy_frames(stack, frames);
	if (stack->flags & STACK_KERNEL) {
		for (uint32_t i = 0; i < stack->frame_cnt; i++)
			frames[i] = m->kernel_text ? frames[i] - m->kernel_text
						   : frames[i] & KERNEL_PLACE_MASK;
	} else {
		row.process = identify(in, stack->tgid, stack->process_start_ns);
		if (row.process == MODEL_NONE)
			return;
	}
	model_stack_add(m, &row, frames);
}

/*
 * Who waited while this thread ran. The record names the waiting threads that were found, at most
 * WAITING_MAX; they stand for all that waited.
 */
static void add_contention(struct ingest *in, uint32_t runner, const struct event_sample *sample)
{
	struct model *m = in->m;
	uint32_t cnt = sample->waiting_cnt;

	if (!sample->waiters || sample->waiters == WAITERS_UNKNOWN)
		return;
	if (!cnt)
		contention_book_add(&in->contention, m, runner, MODEL_NONE,
				    sample->waiters * 1000ull * in->every);
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t waiter = model_process_at(m, sample->waiting[i], sample->time_ns);

		contention_book_add(&in->contention, m, runner, waiter,
				    sample->waiters * 1000ull * in->every / cnt);
	}
}

uint32_t ingest_process(struct ingest *in, uint32_t tgid, uint64_t start_ns)
{
	return identify(in, tgid, start_ns);
}

void ingest_sample(struct ingest *in, const struct event_sample *sample)
{
	struct model *m = in->m;
	uint32_t process = identify(in, sample->tgid, sample->process_start_ns), thread;
	struct model_sample row = {
		.time_ns = sample->time_ns,
		.kernel_stack = sample->kernel_stack,
		.user_stack = sample->user_stack,
		.waiters = sample->waiters,
		.cpu = (uint16_t)sample->header.cpu,
		.kind = (uint8_t)sample->sample_kind,
		.flags = (uint8_t)sample->flags,
		.weight = in->every,
	};

	if (process == MODEL_NONE)
		return;
	add_contention(in, process, sample);
	if (sample->flags & SAMPLE_FILTERED)
		return;
	thread = model_thread_get(m, process, sample->tid, sample->thread_start_ns);
	if (thread == MODEL_NONE)
		return;
	set_flags(&m->processes[process],
		  PROCESS_SAMPLED | (sample->flags & SAMPLE_KERNEL_THREAD ? PROCESS_KERNEL : 0));
	if (m->processes[process].cgroup_id != sample->cgroup_id) {
		m->processes[process].cgroup_id = sample->cgroup_id;
		m->processes[process].dirty = true;
	}
	row.thread = thread;
	show_alive(in, thread, sample->time_ns);
	if (model_sample_add(m, &row))
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
}

/* --- CPUs and losses ------------------------------------------------------------------------- */

static void weigh_ticks(struct model_cpu *row, uint32_t every)
{
	row->ticks_taken *= every;
	row->ticks_idle *= every;
	row->ticks_filtered *= every;
	for (int i = 0; i < QUEUE_SLOTS; i++)
		row->queue[i] *= every;
}

/* That of a reading before, in the same slice: where the gear changed. */
static struct model_cpu *cpu_row(struct model *m, uint32_t cpu, uint32_t slice)
{
	for (size_t i = m->cpus_cnt; i-- > 0 && m->cpus[i].slice == slice;)
		if (m->cpus[i].cpu == cpu)
			return &m->cpus[i];
	return NULL;
}

static void add_cpu(struct model_cpu *row, const struct model_cpu *more)
{
	row->elapsed_ns += more->elapsed_ns;
	row->idle_ns += more->idle_ns;
	row->accounted_ns += more->accounted_ns;
	row->unaccounted_ns += more->unaccounted_ns;
	row->steal_ns += more->steal_ns;
	row->switches += more->switches;
	row->ticks_taken += more->ticks_taken;
	row->ticks_idle += more->ticks_idle;
	row->ticks_filtered += more->ticks_filtered;
	for (int i = 0; i < QUEUE_SLOTS; i++)
		row->queue[i] += more->queue[i];
}

void ingest_cpu(struct ingest *in, uint32_t cpu, const struct cpu_reading *reading)
{
	struct model_cpu row, *former;

	if (!cpu_book_read(&in->cpus, cpu, reading, in->start_ns, &row))
		return;
	row.slice = in->m->slices_cnt ? (uint32_t)in->m->slices_cnt - 1 : 0;
	weigh_ticks(&row, in->every);
	former = cpu_row(in->m, cpu, row.slice);
	if (former)
		add_cpu(former, &row);
	else if (model_cpu_add(in->m, &row))
		model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
}

void ingest_cpu_change(struct ingest *in, uint32_t cpu, const struct cpu_clock *clock,
		       uint64_t now_ns)
{
	cpu_book_change(&in->cpus, cpu, clock, now_ns);
}

void ingest_set_every(struct ingest *in, uint32_t every)
{
	in->every = every;
}

void ingest_losses(struct ingest *in, const uint64_t *counts, uint32_t cnt)
{
	for (uint32_t cause = 0; cause < cnt && cause < LOSS_KERNEL_CNT; cause++) {
		uint64_t by;

		/* What the session did not take up at its start is missing all along. */
		if (cause == LOSS_LISTENING && !in->start_ns)
			continue;
		by = rise_since(counts[cause], &in->losses[cause]);
		/* As the ticks that were taken for them. */
		if (cause == LOSS_SAMPLE_RING_FULL || cause == LOSS_SCRATCH)
			by *= in->every;
		if (in->start_ns)
			model_loss_add(in->m, cause, by);
	}
}

/* --- requests -------------------------------------------------------------------------------- */

void ingest_requests_begin(struct ingest *in, uint64_t now_ns)
{
	request_book_begin(&in->requests, now_ns);
}

void ingest_endpoint(struct ingest *in, uint32_t row, const struct endpoint *e)
{
	uint32_t process;

	if (!e->listener || request_book_is_same(&in->requests, row, e))
		return;
	/* A baseline, before which all that live were told, brings nobody back who is gone. */
	process = in->start_ns ? identify(in, e->tgid, e->process_start_ns)
			       : model_process_find(in->m, e->tgid, e->process_start_ns);
	if (request_book_endpoint(&in->requests, in->m, row, process, e, in->start_ns))
		model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
}

void ingest_socket(struct ingest *in, const struct event_socket *socket)
{
	bool known = socket->tgid && socket->process_start_ns;
	uint32_t process =
		known ? identify(in, socket->tgid, socket->process_start_ns) : MODEL_NONE;
	int err = request_book_socket(&in->requests, in->m, process, socket);

	if (err)
		model_loss_add(in->m, err == -EBADMSG ? LOSS_BAD_RECORD : LOSS_MODEL_LIMIT, 1);
}

void ingest_refused(struct ingest *in, uint32_t tgid, uint64_t start_ns, uint64_t requests)
{
	uint32_t process = in->start_ns ? identify(in, tgid, start_ns) : MODEL_NONE;

	if (process == MODEL_NONE)
		return;
	in->m->processes[process].requests_refused += requests;
	in->m->processes[process].dirty = true;
}

void ingest_requests_end(struct ingest *in, bool sockets_read)
{
	if (request_book_end(&in->requests, in->m, in->start_ns, sockets_read))
		model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
}

/* --- side-band ------------------------------------------------------------------------------- */

static void book_refused(struct ingest *in, struct refusing *r)
{
	struct model_process *p = &in->m->processes[r->process];

	if (!r->cnt)
		return;
	model_loss_add(in->m, LOSS_MODEL_LIMIT, r->cnt);
	p->mappings_refused += r->cnt;
	p->dirty = true;
	r->cnt = 0;
}

/* No more than it has from here on: fair.h never gives more within a slice. */
static void refuse_further(struct ingest *in, uint32_t process)
{
	uint32_t tgid = in->m->processes[process].tgid;
	struct refusing *r = &in->refusing[tgid % REFUSING];

	book_refused(in, r);
	*r = (struct refusing){.tgid = tgid, .process = process};
}

static void stop_refusing(struct ingest *in, uint32_t tgid)
{
	struct refusing *r = &in->refusing[tgid % REFUSING];

	if (r->tgid != tgid)
		return;
	book_refused(in, r);
	r->tgid = 0;
}

bool ingest_refuses_mapping(struct ingest *in, uint32_t tgid)
{
	struct refusing *r = &in->refusing[tgid % REFUSING];

	if (!tgid || r->tgid != tgid)
		return false;
	r->cnt += r->cnt < UINT32_MAX;
	return true;
}

/* Its mappings are not what the side-band told any more. */
static void refuse_mapping(struct ingest *in, uint32_t process)
{
	struct model_process *p = &in->m->processes[process];

	model_loss_add(in->m, LOSS_MODEL_LIMIT, 1);
	p->mappings_refused++;
	p->dirty = true;
	refuse_further(in, process);
	if (!p->mappings_missed && !GROW(in->refused, in->refused_cnt, in->refused_cap)) {
		in->refused[in->refused_cnt++] = process;
		p->mappings_missed = true;
	}
}

static bool is_power_of_four(uint32_t n)
{
	return !(n & (n - 1)) && n & 0x55555555u;
}

/*
 * They are read from /proc again when it is sampled next, at growing intervals: in slices 1, 4, 16,
 * 64 ... of those in which it made too many.
 */
static void read_again(struct ingest *in)
{
	for (size_t i = 0; i < in->refused_cnt; i++) {
		struct model_process *p = &in->m->processes[in->refused[i]];

		p->mappings_missed = false;
		p->refused_slices++;
		if (is_power_of_four(p->refused_slices))
			p->flags &= ~(uint32_t)PROCESS_FACTS;
	}
	if (!in->refused_cnt)
		in->stormy -= in->stormy > 0;
	else
		in->stormy += in->stormy < MAPPINGS_HALVES;
	in->refused_cnt = 0;
	in->mappings.most_of_cgroup = in->mappings.most_of_process =
		MAPPINGS_OF_CGROUP >> in->stormy;
	for (size_t i = 0; i < REFUSING; i++)
		if (in->refusing[i].tgid)
			stop_refusing(in, in->refusing[i].tgid);
	fair_begin_anew(&in->mappings);
	fair_begin_anew(&in->inherited);
}

/*
 * The row that a fork event is about, when a sample or an account of the new process came over its
 * ring before the event did; MODEL_NONE when the event is the first word of it. Told by its birth:
 * a process whose fork event came was born then, not at its start, and one from before the
 * recording is older than a second.
 */
static uint32_t known_before_fork(const struct ingest *in, uint32_t tgid, uint64_t time_ns)
{
	const struct model *m = in->m;
	uint32_t row = model_process_at(m, tgid, time_ns);
	const struct model_process *p;

	if (row == MODEL_NONE)
		return row;
	p = &m->processes[row];
	if (!p->start_exact || (p->exit_ns && p->exit_ns < time_ns) ||
	    p->born_ns != to_monotonic(in, p->start_ns) || p->born_ns > time_ns ||
	    time_ns - p->born_ns > 1000000000)
		return MODEL_NONE;
	return row;
}

void ingest_lost(struct ingest *in, uint64_t records)
{
	model_loss_add(in->m, LOSS_SIDEBAND, records);
	in->lost |= records > 0;
}

/* Whose mappings were lost is not known. At growing intervals while it goes on, and once more when
 * it is over. Who is not sampled costs nothing by that. */
void ingest_read_lost(struct ingest *in)
{
	bool lost = in->lost, over = in->lossy && !lost;

	in->lost = false;
	in->lossy = lost ? in->lossy + 1 : 0;
	if (!over && !(lost && is_power_of_four(in->lossy)))
		return;
	for (size_t i = 0; i < in->m->processes_cnt; i++) {
		struct model_process *p = &in->m->processes[i];

		if (!p->exit_ns && !(p->flags & PROCESS_KERNEL))
			p->flags &= ~(uint32_t)PROCESS_FACTS;
	}
}

/* Of a parent with very many, or very many children, they are read when a child is sampled: what
 * it costs is bounded. */
static void inherit(struct ingest *in, uint32_t child, uint32_t parent)
{
	struct model *m = in->m;

	/* Mappings read from /proc before the event of the fork came are newer than the
	 * parent's. */
	if (m->processes[child].mapping_cnt || !m->processes[parent].mapping_cnt)
		return;
	if (!fair_may(&in->inherited, m, parent)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		m->processes[parent].mappings_refused++;
		m->processes[parent].dirty = true;
		return;
	}
	fair_add(&in->inherited, m, parent, (uint32_t)m->processes[parent].mapping_cnt);
	if (model_mappings_inherit(m, child, parent))
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
}

void ingest_fork(struct ingest *in, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		 uint64_t time_ns)
{
	struct model *m = in->m;
	uint32_t row, parent;
	struct model_process *p;

	if (tid != tgid || tgid == parent_tgid)
		return; /* a thread: it is learnt from its account or its samples */
	row = known_before_fork(in, tgid, time_ns);
	if (row == MODEL_NONE)
		row = model_process_born(m, tgid, time_ns);
	if (row == MODEL_NONE)
		return;
	/* Another one had that id. */
	stop_refusing(in, tgid);
	p = &m->processes[row];
	p->parent_tgid = parent_tgid;
	p->born_ns = time_ns;
	if (!p->start_exact)
		p->start_ns = time_ns + in->boot_offset_ns;
	p->dirty = true;
	parent = model_process_at(m, parent_tgid, time_ns);
	if (parent == MODEL_NONE)
		return;
	if (!*p->comm)
		set_process_comm(p, m->processes[parent].comm);
	/* As the kernel has it. The accounts tell soon, and put it right. */
	p->cgroup_id = m->processes[parent].cgroup_id;
	inherit(in, row, parent);
}

void ingest_exit(struct ingest *in, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	/* Ends come with the last account; only processes that never showed one end here. */
	uint32_t row = tid == tgid ? model_process_at(in->m, tgid, time_ns) : MODEL_NONE;
	struct model_process *p;

	if (row == MODEL_NONE)
		return;
	p = &in->m->processes[row];
	if (!p->start_exact && !p->exit_ns)
		end_process(in, row, time_ns);
}

uint32_t ingest_comm(struct ingest *in, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		     bool exec, uint64_t time_ns)
{
	struct model *m = in->m;
	uint32_t row = model_process_at(m, tgid, time_ns);
	struct model_process *p;

	if (row == MODEL_NONE || (!exec && tid != tgid))
		return MODEL_NONE;
	p = &m->processes[row];
	if (exec) {
		model_mappings_end(m, row, time_ns);
		p->name = ""; /* an entry assembly of the old image */
		p->exe = "";
		p->flags &= ~(PROCESS_FACTS | PROCESS_DOTNET);
		p->dirty = true;
	}
	set_process_comm(p, model_string(m, comm, len));
	if (!*p->name)
		p->name = p->comm;
	return exec ? row : MODEL_NONE;
}

void ingest_mapping(struct ingest *in, const struct ingest_mapping *mapping)
{
	struct model *m = in->m;
	uint32_t row = model_process_at(m, mapping->tgid, mapping->time_ns);
	struct model_module module = {.dev = mapping->dev, .inode = mapping->inode};
	struct model_mapping map = {
		.start = mapping->start,
		.end = mapping->end,
		.file_offset = mapping->file_offset,
		.from_ns = mapping->time_ns,
		.kind = (uint8_t)model_mapping_kind_of(mapping->path, mapping->path_len),
	};

	if (row == MODEL_NONE || (int64_t)mapping->start < 0)
		return; /* modules of the kernel itself carry kernel addresses */
	if (!fair_take(&in->mappings, m, row)) {
		refuse_mapping(in, row);
		return;
	}
	module.path = model_string(m, mapping->path, mapping->path_len);
	if (mapping->build_id_len && mapping->build_id_len <= BUILD_ID_MAX) {
		module.build_id_len = mapping->build_id_len;
		memcpy(module.build_id, mapping->build_id, mapping->build_id_len);
	}
	map.module = model_module_get(m, &module);
	if (map.module != MODEL_NONE)
		model_mapping_add(m, row, &map);
}

void ingest_slice_end(struct ingest *in)
{
	struct model *m = in->m;

	for (size_t i = 0; i < in->ended_cnt; i++) {
		struct model_process *p = &m->processes[in->ended[i]];

		if (p->flags & PROCESS_SAMPLED || !p->exit_ns)
			continue;
		model_mappings_forget(m, in->ended[i]);
	}
	in->ended_cnt = 0;
	read_again(in);
}

size_t ingest_bytes(const struct ingest *in)
{
	return account_book_bytes(&in->book) + in->account_rows_cnt * sizeof(*in->account_rows);
}
