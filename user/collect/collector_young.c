/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET processes that just started. One may be gone before the next drain, with its mount namespace
 * and its map: it is looked at as soon as the kernel tells that it maps the runtime, and again
 * until the runtime has made its perf map.
 */
#include <time.h>

#include "base/clock.h"
#include "base/grow.h"
#include "collect/collector_private.h"

/* At a time; what is more is known from its samples on. */
#define YOUNG_MAX	256
#define YOUNG_OF_CGROUP 128
#define YOUNG_OF_PARENT 64
/*
 * What looks may take of a second, in us of CPU: anybody can map a file of the runtime's name, and
 * end, a thousand times a second. Of one parent a sixth, of one cgroup a third (fair.h), so that it
 * pays with its own children's names; who must wait has its turn in the next second.
 */
#define LOOKS_US 20000u
#define LOOKS_NS 1000000000ull
/* Between two looks, whatever comes: a storm of short processes must not keep us busy. The runtime
 * makes its map some 10 ms after it is mapped, on a busy host later, mostly never. */
#define LOOK_NS 10000000ull
/* ... and longer beyond so many in a second: a host of many short processes. */
#define LOOKS_MANY   20u
#define LOOK_MANY_NS 30000000ull
/* Who must wait second after second has half as much in each, so many times. */
#define LOOKS_HALVES 3u
/* The last look is that long after the one before. */
#define LOOK_LONGEST_NS 1000000000ull
/* As the drain's: records of one instant reach the rings of two CPUs at different moments. */
#define LAG_NS 100000ull
/* Between two looks at what workers have read, while they read. */
#define NAMES_POLL_NS 20000000ull

uint32_t collector_party(const struct collector *c, uint32_t process)
{
	const struct model_process *p = &c->model->processes[process];
	uint32_t parent = model_process_at(c->model, p->parent_tgid, p->born_ns);

	return parent == MODEL_NONE ? process : parent;
}

/* One attempt a process and exec: who maps the runtime again and again is not asked about each
 * time. */
static bool is_first(struct collector *c, uint32_t process)
{
	while (c->was_young_cnt <= process) {
		if (GROW(c->was_young, c->was_young_cnt, c->was_young_cap))
			return false;
		c->was_young[c->was_young_cnt++] = false;
	}
	if (c->was_young[process])
		return false;
	c->was_young[process] = true;
	return true;
}

void collector_young_exec(struct collector *c, uint32_t process)
{
	if (process < c->was_young_cnt)
		c->was_young[process] = false;
}

static bool has_place(const struct collector *c, uint32_t process, uint32_t parent)
{
	uint64_t cgroup_id = c->model->processes[process].cgroup_id;
	size_t of_parent = 0, of_cgroup = 0;

	for (size_t i = 0; i < c->young_cnt; i++) {
		of_parent += c->young[i].parent == parent;
		of_cgroup += c->model->processes[c->young[i].process].cgroup_id == cgroup_id;
	}
	return of_parent < YOUNG_OF_PARENT && of_cgroup < YOUNG_OF_CGROUP;
}

void collector_young_add(struct collector *c, uint32_t process)
{
	uint32_t parent;

	if (process == MODEL_NONE || !is_first(c, process))
		return;
	parent = collector_party(c, process);
	if (c->young_cnt >= YOUNG_MAX || !has_place(c, process, parent)) {
		model_loss_add(c->model, LOSS_MODEL_LIMIT, 1);
		return;
	}
	if (!GROW(c->young, c->young_cnt, c->young_cap))
		c->young[c->young_cnt++] = (struct young){process, parent, 0, LOOK_NS};
}

static bool has_ended(const struct collector *c, const struct young *young)
{
	const struct model_process *p = &c->model->processes[young->process];

	return p->exit_ns || p->flags & PROCESS_GONE;
}

/* Whether there is nothing more to learn. */
static bool look_at(struct collector *c, struct young *young, uint64_t now_ns)
{
	names_process(c->names, c->model, young->process);
	if (has_ended(c, young) || names_hold(c->names, c->model, young->process))
		return true;
	young->due_ns = now_ns + young->interval_ns;
	young->interval_ns *= 2;
	return young->interval_ns > LOOK_LONGEST_NS;
}

/* The same, if its party has time left in this second. */
static bool look_in_turn(struct collector *c, struct young *young)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	bool done;

	if (!fair_may(&c->looks, c->model, young->parent)) {
		c->looks_refused = true;
		young->due_ns = c->looks_ns + LOOKS_NS;
		return false;
	}
	done = look_at(c, young, clock_now_ns());
	fair_add(&c->looks, c->model, young->parent,
		 (uint32_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1000) + 1);
	return done;
}

void collector_young_look(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns >= c->looks_ns + LOOKS_NS) {
		c->looks_ns = now_ns;
		c->wakes = 0;
		if (!c->looks_refused)
			c->looks_stormy -= c->looks_stormy > 0;
		else
			c->looks_stormy += c->looks_stormy < LOOKS_HALVES;
		c->looks_refused = false;
		fair_begin_anew(&c->looks);
		c->looks.most = LOOKS_US;
		c->looks.most_of_cgroup = LOOKS_US / 2;
		c->looks.most_of_process = LOOKS_US / 2 >> c->looks_stormy;
	}
	for (size_t i = 0; i < c->young_cnt;) {
		struct young *young = &c->young[i];

		if (has_ended(c, young) || (young->due_ns <= now_ns && look_in_turn(c, young)))
			*young = c->young[--c->young_cnt];
		else
			i++;
	}
}

/* When the next look is due, until_ns at the latest. */
static uint64_t next_look_ns(const struct collector *c, uint64_t until_ns)
{
	for (size_t i = 0; i < c->young_cnt; i++)
		if (c->young[i].due_ns < until_ns)
			until_ns = c->young[i].due_ns;
	return until_ns;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	nanosleep(&pause, NULL);
}

void collector_pause(struct collector *c, uint64_t ns)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + ns;

	while (now_ns < end_ns) {
		uint64_t poll_ns = names_poll(c->names) ? now_ns + NAMES_POLL_NS : end_ns;
		uint64_t look_ns = next_look_ns(c, poll_ns < end_ns ? poll_ns : end_ns);
		bool came = session_wait(c->session, look_ns > now_ns ? look_ns - now_ns : 0);
		uint64_t rest_ns;

		now_ns = clock_now_ns();
		/* A signal ends the pause, as it does a sleep. */
		if (!came && now_ns < look_ns)
			return;
		if (now_ns >= end_ns)
			return;
		collector_drain_sideband(c, now_ns - LAG_NS);
		collector_young_look(c);
		now_ns = clock_now_ns();
		c->wakes += came;
		rest_ns = c->wakes > LOOKS_MANY ? LOOK_MANY_NS : LOOK_NS;
		if (came && now_ns + rest_ns < end_ns)
			sleep_ns(rest_ns);
		now_ns = clock_now_ns();
	}
}
