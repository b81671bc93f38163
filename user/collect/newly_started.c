/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/newly_started.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"

/* At a time; what is more is known from its samples on. */
#define PROCESSES_MAX	    256
#define PROCESSES_OF_CGROUP 128
#define PROCESSES_OF_PARENT 64
/*
 * What looks may take of a second, in us of CPU: anybody can map a file of the runtime's name, and
 * end, a thousand times a second. Of one parent a sixth, of one cgroup a third (fair.h), so that it
 * pays with its own children's names; who must wait has its turn in the next second.
 */
#define LOOKS_US 20000u
/* What quiet seconds left may be used on top: a build or a script that starts five .NET programs
 * in a second is no storm. */
#define LOOKS_SAVED_US (5 * LOOKS_US)
/* Who must wait second after second has half as much in each, so many times. */
#define LOOKS_HALVES 3u
/* Between two looks, whatever comes. The runtime makes its map some 10 ms after it is mapped, on a
 * busy host later, mostly never. */
#define LOOK_NS 10000000ull
/* Records that wake the collector come no sooner after others: what a loader maps within that is
 * seen at once. Longer beyond so many in a second: a host of many short processes. */
#define WAKE_NS	     3000000ull
#define WAKES_MANY   20u
#define WAKE_MANY_NS 30000000ull
/* The last look is that long after the one before. */
#define LOOK_LONGEST_NS 1000000000ull

/* One attempt a process and exec: who maps the runtime again and again is not asked about each
 * time. */
static bool is_first(struct newly_started *n, uint32_t process)
{
	while (n->seen_cnt <= process) {
		if (GROW(n->seen, n->seen_cnt, n->seen_cap))
			return false;
		n->seen[n->seen_cnt++] = false;
	}
	if (n->seen[process])
		return false;
	n->seen[process] = true;
	return true;
}

void newly_started_exec(struct newly_started *n, uint32_t process)
{
	if (process < n->seen_cnt)
		n->seen[process] = false;
}

static bool has_place(const struct newly_started *n, const struct model *m, uint32_t process,
		      uint32_t parent)
{
	uint64_t cgroup_id = m->processes[process].cgroup_id;
	size_t of_parent = 0, of_cgroup = 0;

	for (size_t i = 0; i < n->rows_cnt; i++) {
		of_parent += n->rows[i].parent == parent;
		of_cgroup += m->processes[n->rows[i].process].cgroup_id == cgroup_id;
	}
	return n->rows_cnt < PROCESSES_MAX && of_parent < PROCESSES_OF_PARENT &&
	       of_cgroup < PROCESSES_OF_CGROUP;
}

void newly_started_add(struct newly_started *n, struct model *m, uint32_t process)
{
	uint32_t parent;

	if (process == MODEL_NONE || !is_first(n, process))
		return;
	parent = fair_party(m, process);
	if (!has_place(n, m, process, parent)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return;
	}
	if (!GROW(n->rows, n->rows_cnt, n->rows_cap))
		n->rows[n->rows_cnt++] =
			(struct newly_started_process){process, parent, 0, LOOK_NS};
}

static bool has_ended(const struct model *m, const struct newly_started_process *row)
{
	const struct model_process *p = &m->processes[row->process];

	return p->exit_ns || p->flags & PROCESS_GONE;
}

/* Whether there is nothing more to learn. */
static bool look_at(struct newly_started_process *row, struct model *m, struct names *names)
{
	uint64_t now_ns = clock_now_ns();

	names_process(names, m, row->process);
	if (has_ended(m, row) || names_keep(names, m, row->process))
		return true;
	row->due_ns = now_ns + row->interval_ns;
	row->interval_ns *= 2;
	return row->interval_ns > LOOK_LONGEST_NS;
}

/* The same, if its party has time left in this second. */
static bool look_in_turn(struct newly_started *n, struct newly_started_process *row,
			 struct model *m, struct names *names)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	bool done;

	if (!fair_may(&n->spent, m, row->parent)) {
		n->refused = true;
		row->due_ns = n->second_ns + SECOND_NS;
		return false;
	}
	done = look_at(row, m, names);
	fair_add(&n->spent, m, row->parent,
		 (uint32_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1000) + 1);
	return done;
}

/* What of the seconds until now is left, at the most. */
static uint32_t saved_us(const struct newly_started *n, uint64_t now_ns)
{
	uint64_t seconds = (now_ns - n->second_ns) / SECOND_NS;
	uint64_t had_us = n->spent.most + (seconds - 1) * LOOKS_US;
	uint64_t left_us = had_us > n->spent.held ? had_us - n->spent.held : 0;

	return !n->second_ns || left_us > LOOKS_SAVED_US ? LOOKS_SAVED_US : (uint32_t)left_us;
}

static void begin_second(struct newly_started *n, uint64_t now_ns)
{
	uint32_t most = LOOKS_US + saved_us(n, now_ns);

	n->second_ns = now_ns;
	n->wakes = 0;
	if (!n->refused)
		n->stormy -= n->stormy > 0;
	else
		n->stormy += n->stormy < LOOKS_HALVES;
	n->refused = false;
	fair_begin_anew(&n->spent);
	n->spent.most = most;
	n->spent.most_of_cgroup = most / 2;
	n->spent.most_of_process = most / 2 >> n->stormy;
}

void newly_started_look(struct newly_started *n, struct model *m, struct names *names)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns >= n->second_ns + SECOND_NS)
		begin_second(n, now_ns);
	for (size_t i = 0; i < n->rows_cnt;) {
		struct newly_started_process *row = &n->rows[i];

		if (has_ended(m, row) || (row->due_ns <= now_ns && look_in_turn(n, row, m, names)))
			*row = n->rows[--n->rows_cnt];
		else
			i++;
	}
}

uint64_t newly_started_due_ns(const struct newly_started *n, uint64_t until_ns)
{
	for (size_t i = 0; i < n->rows_cnt; i++)
		if (n->rows[i].due_ns < until_ns)
			until_ns = n->rows[i].due_ns;
	return until_ns;
}

uint64_t newly_started_woken(struct newly_started *n)
{
	return ++n->wakes > WAKES_MANY ? WAKE_MANY_NS : WAKE_NS;
}

void newly_started_forget(struct newly_started *n)
{
	n->rows_cnt = n->seen_cnt = 0;
}

void newly_started_clear(struct newly_started *n)
{
	free(n->rows);
	free(n->seen);
	fair_clear(&n->spent);
	*n = (struct newly_started){0};
}
