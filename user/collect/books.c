/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/books.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/rise.h"
#include "collect/collector.h"

/* Threads that sleep are asked about as seldom: one whose end was lost is found to be gone. */
#define ALL_EVERY_NS 30000000000ull
/* So long may a reading of accounts and clocks wait for a CPU; then it is done again, so many times
 * in all, and none begins after so long: the rings fill meanwhile. */
#define BOOKS_WAITED_NS 5000000ull
#define BOOKS_TRIED_NS	200000000ull
#define BOOKS_TRIES	4
/* A slice may be longer than CPUs are left without a look at whether they are on line. */
#define FOLLOW_CPUS_NS 1500000000ull

int books_open(struct books *b, const struct rooms *rooms, const struct session_ops *ops)
{
	b->rooms = rooms;
	b->ops = ops;
	b->online = calloc(HOST_MAX_CPUS, sizeof(*b->online));
	b->steal_ns = calloc(HOST_MAX_CPUS, sizeof(*b->steal_ns));
	b->idle_ns = calloc(HOST_MAX_CPUS, sizeof(*b->idle_ns));
	b->cpu_times = calloc(HOST_MAX_CPUS, sizeof(*b->cpu_times));
	b->clocks = calloc(HOST_MAX_CPUS, sizeof(*b->clocks));
	if (!b->online || !b->steal_ns || !b->idle_ns || !b->cpu_times || !b->clocks)
		return -ENOMEM;
	return 0;
}

void books_close(struct books *b)
{
	free(b->online);
	free(b->steal_ns);
	free(b->idle_ns);
	free(b->cpu_times);
	free(b->clocks);
}

void books_forget_names(struct books *b)
{
	b->names_timeouts = 0;
}

void books_forget_session(struct books *b)
{
	b->recursion_misses = b->wakers_lost = 0;
}

void books_read_accounts(struct books *b, bool all)
{
	uint64_t now_ns = clock_now_ns();
	int err;

	all |= now_ns - b->all_read_ns >= ALL_EVERY_NS;
	ingest_pass_begin(b->rooms->ingest);
	err = session_read_accounts(b->rooms->session, all, b->ops);
	if (err) {
		model_loss_add(b->rooms->model, LOSS_ITERATOR, 1);
	} else if (all) {
		ingest_pass_end(b->rooms->ingest, clock_now_ns());
		b->all_read_ns = now_ns;
	}
}

/* The clock of a CPU as it stands; is_read stays false where it could not be read. */
static void read_clock(struct books *b, uint32_t cpu)
{
	struct clock_reading *r = &b->clocks[cpu];

	r->is_read = !session_read_cpu(b->rooms->session, cpu, &r->clock, &r->now_ns);
	if (r->is_read && b->rooms->options->gear.quiet)
		cpu_time_read(&b->cpu_times[cpu], r->now_ns, b->idle_ns[cpu], b->online[cpu],
			      &r->clock);
}

/* Returns the time of the reading. */
static uint64_t read_clocks(struct books *b)
{
	for (uint32_t cpu = 0; cpu < b->rooms->host.cpus_possible; cpu++)
		read_clock(b, cpu);
	return clock_now_ns();
}

static void take_clocks(struct books *b)
{
	for (uint32_t cpu = 0; cpu < b->rooms->host.cpus_possible; cpu++) {
		const struct clock_reading *r = &b->clocks[cpu];
		struct cpu_reading reading = {&r->clock, r->now_ns, b->steal_ns[cpu],
					      b->idle_ns[cpu], b->online[cpu]};

		if (r->is_read)
			ingest_cpu(b->rooms->ingest, cpu, &reading);
		else
			model_loss_add(b->rooms->model, LOSS_ITERATOR, 1);
	}
}

static void read_kernel_counts(struct books *b)
{
	host_online_cpus(b->online);
	host_read_cpus(b->steal_ns, b->idle_ns, b->rooms->host.cpus_possible);
}

uint64_t books_read(struct books *b, bool all)
{
	uint64_t first_ns = clock_now_ns(), begin_ns = first_ns, end_ns, ran_ns;

	for (int i = 0;; i++) {
		ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		/* Who slept on since the last try is not asked again. */
		books_read_accounts(b, all && !i);
		read_kernel_counts(b);
		end_ns = read_clocks(b);
		ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_ns;
		/* Work would take as long again; waiting need not. */
		if (rise_of(end_ns - begin_ns, ran_ns) < BOOKS_WAITED_NS || i == BOOKS_TRIES - 1 ||
		    end_ns - first_ns > BOOKS_TRIED_NS || !all || b->rooms->options->gear.quiet)
			break;
		begin_ns = end_ns;
	}
	take_clocks(b);
	return end_ns;
}

/* As of the last host_online_cpus(). */
static void follow_online(struct books *b)
{
	model_loss_add(b->rooms->model, LOSS_CPU_UNATTACHED,
		       session_follow_cpus(b->rooms->session, b->online));
	b->followed_ns = clock_now_ns();
}

uint64_t books_read_pressure(struct books *b)
{
	uint64_t was = b->pressure_ns;

	if (model_off(b->rooms->model) & OFF_PRESSURE)
		return 0;
	if (host_read_pressure(&b->pressure_ns))
		b->rooms->model->host.off |= OFF_PRESSURE;
	return b->pressure_ns > was ? b->pressure_ns - was : 0;
}

void books_read_losses(struct books *b)
{
	uint64_t counts[LOSS_KERNEL_CNT], now;

	session_read_losses(b->rooms->session, counts);
	ingest_losses(b->rooms->ingest, counts, LOSS_KERNEL_CNT);
	now = session_recursion_misses(b->rooms->session);
	model_loss_add(b->rooms->model, LOSS_RECURSION, now - b->recursion_misses);
	b->recursion_misses = now;
	now = names_timeouts(b->rooms->names);
	model_loss_add(b->rooms->model, LOSS_NAMES_TIMEOUT, now - b->names_timeouts);
	b->names_timeouts = now;
	now = session_wakers_lost(b->rooms->session);
	model_loss_add(b->rooms->model, LOSS_WAKERS, now - b->wakers_lost);
	b->wakers_lost = now;
	follow_online(b);
}

void books_follow_cpus(struct books *b)
{
	if (clock_now_ns() - b->followed_ns < FOLLOW_CPUS_NS)
		return;
	host_online_cpus(b->online);
	follow_online(b);
}

void books_end_gear(struct books *b)
{
	read_kernel_counts(b);
	read_clocks(b);
	take_clocks(b);
}

void books_begin_gear(struct books *b)
{
	host_read_cpus(b->steal_ns, b->idle_ns, b->rooms->host.cpus_possible);
	memset(b->cpu_times, 0, HOST_MAX_CPUS * sizeof(*b->cpu_times));
	read_clocks(b);
	for (uint32_t cpu = 0; cpu < b->rooms->host.cpus_possible; cpu++)
		if (b->clocks[cpu].is_read)
			ingest_cpu_change(b->rooms->ingest, cpu, &b->clocks[cpu].clock,
					  b->clocks[cpu].now_ns);
		else
			model_loss_add(b->rooms->model, LOSS_ITERATOR, 1);
}
