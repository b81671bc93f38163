/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/cpu_book.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rise.h"

_Static_assert(sizeof(((struct model_cpu *)0)->queue) == sizeof(((struct cpu_clock *)0)->queue),
	       "the slots of both are the same");

int cpu_book_init(struct cpu_book *book, uint32_t cpus)
{
	*book = (struct cpu_book){.cpus = cpus};
	book->seen = calloc(cpus, sizeof(*book->seen));
	return book->seen ? 0 : -ENOMEM;
}

void cpu_book_clear(struct cpu_book *book)
{
	free(book->seen);
	*book = (struct cpu_book){0};
}

/*
 * The interval that runs at a reading goes to whoever seems to run. The switch that closes it may
 * know better (a thread without an account; a CPU whose first interval began before the recording),
 * and then the same time would count twice: what is beyond the time that passed is taken off the
 * largest part, which is where it went.
 */
static void fit_elapsed(struct model_cpu *row, uint64_t passed_ns)
{
	uint64_t *parts[] = {&row->idle_ns, &row->accounted_ns, &row->unaccounted_ns};
	uint64_t sum = row->idle_ns + row->accounted_ns + row->unaccounted_ns;

	while (sum > passed_ns) {
		uint64_t **largest = &parts[0], off = sum - passed_ns;

		for (size_t i = 1; i < 3; i++)
			if (*parts[i] > **largest)
				largest = &parts[i];
		if (off > **largest)
			off = **largest;
		**largest -= off;
		sum -= off;
	}
	row->elapsed_ns = sum;
}

/* Of two readings of the kernel's idle time each is right to a tick of 10 ms. */
#define IDLE_TICKS_NS 20000000ull

/* All of the clock in which the CPU may have been idle: some of what nobody owns, too. */
static uint64_t maybe_idle_ns(const struct cpu_clock *clock)
{
	return clock->idle_ns + clock->unaccounted_ns;
}

static void note_sure(struct cpu_seen *is, uint64_t kernel_idle_ns)
{
	is->sure = is->online;
	is->sure_kernel_ns = kernel_idle_ns;
	is->sure_clock_ns = maybe_idle_ns(&is->clock);
}

/*
 * Some switches fire no program (those of threads of pid 1 on some machines), and not every idle
 * CPU has ticks that would tell. What the kernel counts as idle since it was last certain who runs,
 * and the clock does not, lies in the time since who seems to run was met. Returns as much of it.
 */
static uint64_t idle_unseen(struct cpu_seen *is, const struct cpu_seen *was,
			    uint64_t kernel_idle_ns, uint64_t unmet_ns)
{
	uint64_t more = rise_of(rise_of(kernel_idle_ns, was->sure_kernel_ns),
				rise_of(maybe_idle_ns(&is->clock), was->sure_clock_ns));

	if (!was->sure || unmet_ns <= IDLE_TICKS_NS || more <= IDLE_TICKS_NS) {
		note_sure(is, kernel_idle_ns);
		return 0;
	}
	is->sure = true;
	is->sure_kernel_ns = was->sure_kernel_ns;
	is->sure_clock_ns = was->sure_clock_ns;
	return more < unmet_ns ? more : unmet_ns;
}

/* What has run since the last switch belongs to whoever runs. A CPU that never switched is idle,
 * unless its ticks hit somebody. So is one that is off line: tracepoints are silent there, and the
 * last switch, from the stopper to the idle task, is never seen (include/linux/tracepoint.h). */
static void add_running(struct cpu_seen *is, const struct cpu_seen *was, uint64_t start_ns,
			uint64_t kernel_idle_ns)
{
	struct cpu_clock *clock = &is->clock;
	uint64_t since_ns = clock->last_switch_ns ? clock->last_switch_ns : start_ns;
	uint64_t met_ns = clock->met_ns > since_ns ? clock->met_ns : since_ns, idle_ns;
	bool idle = clock->last_switch_ns ? !clock->running_tid : !clock->ticks_taken;

	if (!since_ns)
		return;
	if (idle || !is->online) {
		clock->idle_ns += rise_of(is->now_ns, since_ns);
		note_sure(is, kernel_idle_ns);
		return;
	}
	idle_ns = idle_unseen(is, was, kernel_idle_ns, rise_of(is->now_ns, met_ns));
	clock->idle_ns += idle_ns;
	clock->accounted_ns += rise_of(is->now_ns, since_ns) - idle_ns;
}

/* What was told of a part once is not taken back: less of it is told in the next rows. */
static void keep_told(const struct cpu_seen *seen, const struct model_cpu *row,
		      struct cpu_clock *clock)
{
	const struct cpu_clock *was = &seen->clock;
	/* A gap is in no clock. */
	uint64_t unaccounted_ns = rise_of(row->unaccounted_ns, seen->gap_ns);

	if (clock->idle_ns >= was->idle_ns && clock->accounted_ns >= was->accounted_ns &&
	    clock->unaccounted_ns >= was->unaccounted_ns)
		return;
	clock->idle_ns = was->idle_ns + row->idle_ns;
	clock->accounted_ns = was->accounted_ns + row->accounted_ns;
	clock->unaccounted_ns = was->unaccounted_ns + unaccounted_ns;
}

static void take_difference(const struct cpu_seen *was, const struct cpu_seen *is,
			    struct model_cpu *row)
{
	const struct cpu_clock *a = &was->clock, *b = &is->clock;

	row->idle_ns = rise_of(b->idle_ns, a->idle_ns);
	row->accounted_ns = rise_of(b->accounted_ns, a->accounted_ns);
	row->unaccounted_ns = rise_of(b->unaccounted_ns, a->unaccounted_ns) + was->gap_ns;
	fit_elapsed(row, rise_of(is->now_ns, was->now_ns));
	row->steal_ns = rise_of(is->steal_ns, was->steal_ns);
	row->switches = rise_of(b->switches, a->switches);
	row->ticks_taken = rise_of(b->ticks_taken, a->ticks_taken);
	row->ticks_idle = rise_of(b->ticks_idle, a->ticks_idle);
	row->ticks_filtered = rise_of(b->ticks_filtered, a->ticks_filtered);
	for (int i = 0; i < QUEUE_SLOTS; i++)
		row->queue[i] = rise_of(b->queue[i], a->queue[i]);
}

bool cpu_book_read(struct cpu_book *book, uint32_t cpu, const struct cpu_reading *reading,
		   uint64_t start_ns, struct model_cpu *ret_row)
{
	struct cpu_seen is = {.valid = true,
			      .online = reading->online,
			      .clock = *reading->clock,
			      .now_ns = reading->now_ns,
			      .steal_ns = reading->steal_ns};
	struct cpu_seen was;

	if (cpu >= book->cpus)
		return false;
	was = book->seen[cpu];
	add_running(&is, &was, start_ns, reading->idle_ns);
	book->seen[cpu] = is;
	/* A CPU goes off line, and comes back, in its idle task: its last slice is idle to the end,
	 * its first one idle from the beginning, and so both are as long as those of other CPUs. */
	if (!start_ns || !was.valid || (!is.online && !was.online))
		return false;
	*ret_row = (struct model_cpu){.cpu = cpu};
	take_difference(&was, &is, ret_row);
	keep_told(&was, ret_row, &book->seen[cpu].clock);
	return true;
}

void cpu_book_change(struct cpu_book *book, uint32_t cpu, const struct cpu_clock *clock,
		     uint64_t now_ns)
{
	struct cpu_seen *seen = cpu < book->cpus ? &book->seen[cpu] : NULL, is;

	if (!seen || !seen->valid)
		return;
	is = (struct cpu_seen){.online = seen->online, .clock = *clock, .now_ns = now_ns};
	add_running(&is, &(struct cpu_seen){0}, now_ns, 0);
	seen->clock = is.clock;
	seen->sure = false;
	seen->gap_ns += rise_of(now_ns, seen->now_ns + seen->gap_ns);
}
