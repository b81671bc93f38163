/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive_trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define NOT_KNOWN ~0u

struct replay *replay_new(void)
{
	struct replay *r = calloc(1, sizeof(*r));

	cr_assert(r);
	r->processes_cnt = 1;
	return r;
}

static struct replay_thread *thread_of(struct replay *r, uint32_t tid)
{
	cr_assert_lt(tid, TRACE_TIDS);
	if (!r->by_tid[tid]) {
		cr_assert_lt(r->threads_cnt, (size_t)TRACE_THREADS,
			     "too many threads for the replay");
		r->threads[r->threads_cnt++].tid = tid;
		r->by_tid[tid] = (uint16_t)r->threads_cnt;
	}
	return &r->threads[r->by_tid[tid] - 1];
}

void replay_name(struct replay *r, uint32_t tgid, const pid_t *tids, size_t cnt)
{
	cr_assert_lt(r->processes_cnt, (size_t)TRACE_PROCESSES);
	r->processes[r->processes_cnt].tgid = tgid;
	for (size_t i = 0; i < cnt; i++)
		thread_of(r, (uint32_t)tids[i])->process = (uint32_t)r->processes_cnt;
	r->processes_cnt++;
}

void replay_leave_out(struct replay *r, uint32_t tid)
{
	thread_of(r, tid)->left_out = true;
}

/* Part of an interval that lies in the window. */
static uint64_t within(const struct replay *r, uint64_t from, uint64_t to)
{
	if (from < r->from_ns)
		from = r->from_ns;
	if (to > r->to_ns)
		to = r->to_ns;
	return to > from ? to - from : 0;
}

static uint32_t slot_of(uint64_t delay_ns)
{
	uint32_t slot = 0;

	for (uint64_t us = delay_ns / 1000; us > 1 && slot < DELAY_SLOTS - 1; us >>= 1)
		slot++;
	return slot;
}

/* Time that a thread waited for the CPU that it is on, behind the one that ran there up to now. */
static void add_wait(struct replay *r, struct replay_thread *waiter, uint64_t since, uint64_t now)
{
	struct replay_process *process = &r->processes[waiter->process];
	uint32_t runner = r->running[waiter->cpu].tid, behind;
	uint64_t ns;

	if (since < waiter->wait_since_ns)
		since = waiter->wait_since_ns;
	ns = within(r, since, now);
	if (!ns)
		return;
	waiter->waited_ns += ns;
	process->waited_ns += ns;
	if (!waiter->left_out)
		r->waited_on_ns[waiter->cpu] += ns;
	if (!runner || runner == NOT_KNOWN) {
		process->behind_idle_ns += ns;
		return;
	}
	behind = thread_of(r, runner)->process;
	process->behind_ns[behind] += ns;
	if (behind == waiter->process)
		waiter->own_ns += ns;
}

/* The interval of who runs on a CPU is over, or a part of it: all who wait there are told. */
static void pass_time(struct replay *r, uint32_t cpu, uint64_t now)
{
	for (size_t i = 0; i < r->waiting_cnt; i++) {
		struct replay_thread *waiter = &r->threads[r->waiting[i]];

		if (waiter->cpu == cpu)
			add_wait(r, waiter, r->running[cpu].since_ns, now);
	}
	r->running[cpu].since_ns = now;
}

static void begin_wait(struct replay *r, struct replay_thread *thread, uint32_t cpu, uint64_t now)
{
	if (!thread->wait_since_ns)
		r->waiting[r->waiting_cnt++] = (uint16_t)(thread - r->threads);
	thread->cpu = cpu;
	thread->wait_since_ns = now;
}

static void forget_wait(struct replay *r, struct replay_thread *thread)
{
	if (!thread->wait_since_ns)
		return;
	thread->wait_since_ns = 0;
	for (size_t i = 0; i < r->waiting_cnt; i++)
		if (r->waiting[i] == thread - r->threads) {
			r->waiting[i] = r->waiting[--r->waiting_cnt];
			break;
		}
}

static void end_wait(struct replay *r, struct replay_thread *thread, uint64_t now)
{
	uint64_t delay = now - thread->wait_since_ns;

	if (!thread->wait_since_ns)
		return;
	forget_wait(r, thread);
	if (now < r->from_ns || now >= r->to_ns)
		return;
	thread->waits++;
	thread->slots[slot_of(delay)]++;
	if (delay > thread->longest_ns)
		thread->longest_ns = delay;
}

/* From here on its events tell where it stands. */
static void see(struct replay_thread *thread)
{
	thread->seen = true;
	thread->found_ns = 0;
}

/* Whoever was found on a CPU waits since: who ran there is in an event by now. */
static void place_found(struct replay *r, uint32_t cpu)
{
	for (size_t i = 0; i < r->threads_cnt; i++) {
		struct replay_thread *thread = &r->threads[i];

		if (!thread->found_ns || thread->cpu != cpu)
			continue;
		begin_wait(r, thread, cpu, thread->found_ns);
		thread->found_ns = 0;
	}
}

static void replay_found(struct replay *r, const struct trace_event *e)
{
	struct replay_thread *thread = thread_of(r, e->tid);

	if (thread->seen)
		return;
	thread->cpu = e->cpu;
	thread->found_ns = e->time_ns;
	if (r->running[e->cpu].tid != NOT_KNOWN)
		place_found(r, e->cpu);
}

static void replay_switch(struct replay *r, const struct trace_event *e)
{
	see(thread_of(r, e->tid));
	if (r->running[e->cpu].tid == NOT_KNOWN) {
		r->running[e->cpu].tid = e->tid;
		place_found(r, e->cpu);
	}
	see(thread_of(r, e->next));
	/* It ran: the switch to it was one of those that the kernel does not show. */
	forget_wait(r, thread_of(r, e->tid));
	pass_time(r, e->cpu, e->time_ns);
	if (e->tid && e->runnable)
		begin_wait(r, thread_of(r, e->tid), e->cpu, e->time_ns);
	if (e->next)
		end_wait(r, thread_of(r, e->next), e->time_ns);
	r->running[e->cpu].tid = e->next;
}

static void replay_wakeup(struct replay *r, const struct trace_event *e)
{
	struct replay_thread *thread = thread_of(r, e->tid);

	see(thread);
	for (uint32_t cpu = 0; cpu < 64; cpu++)
		if (r->running[cpu].tid == e->tid)
			return; /* before it went to sleep */
	if (!thread->wait_since_ns)
		begin_wait(r, thread, e->to_cpu, e->time_ns);
}

static void replay_migration(struct replay *r, const struct trace_event *e)
{
	struct replay_thread *thread = thread_of(r, e->tid);

	if (thread->found_ns)
		begin_wait(r, thread, thread->cpu, thread->found_ns);
	see(thread);
	if (e->time_ns >= r->from_ns && e->time_ns < r->to_ns)
		thread->migrations++;
	if (!thread->wait_since_ns)
		return;
	pass_time(r, thread->cpu, e->time_ns);
	pass_time(r, e->to_cpu, e->time_ns);
	thread->cpu = e->to_cpu;
}

void replay_run(struct replay *r, const struct trace *t, uint64_t from_ns, uint64_t to_ns)
{
	const struct trace_event *events;
	size_t cnt;

	r->from_ns = from_ns;
	r->to_ns = to_ns;
	for (uint32_t cpu = 0; cpu < 64; cpu++)
		r->running[cpu].tid = NOT_KNOWN;
	events = trace_events(t, &cnt);
	cr_assert(cnt && events[0].time_ns < from_ns &&
			  events[cnt - 1].time_ns + 1000000000 > to_ns,
		  "the trace does not hold the window");
	for (size_t i = 0; i < cnt; i++) {
		const struct trace_event *e = &events[i];

		cr_assert(e->cpu < 64 && e->to_cpu < 64);
		if (e->kind == TRACE_SWITCH)
			replay_switch(r, e);
		else if (e->kind == TRACE_WAKEUP)
			replay_wakeup(r, e);
		else if (e->kind == TRACE_FOUND)
			replay_found(r, e);
		else
			replay_migration(r, e);
	}
	for (uint32_t cpu = 0; cpu < 64; cpu++)
		pass_time(r, cpu, to_ns);
}

const struct replay_process *replay_process(const struct replay *r, uint32_t tgid)
{
	for (size_t i = 1; i < r->processes_cnt; i++)
		if (r->processes[i].tgid == tgid)
			return &r->processes[i];
	cr_assert_fail("%u is not in the replay", tgid);
	return NULL;
}

const struct replay_thread *replay_thread(const struct replay *r, pid_t tid)
{
	if (tid >= 0 && tid < TRACE_TIDS && r->by_tid[tid])
		return &r->threads[r->by_tid[tid] - 1];
	cr_assert_fail("%d is not in the replay", tid);
	return NULL;
}
