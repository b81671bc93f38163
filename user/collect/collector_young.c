/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET processes that just started. One may be gone before the next drain, with its mount namespace
 * and its map: it is looked at as soon as the kernel tells that it maps the runtime, and again until
 * the runtime has made its perf map.
 */
#include <time.h>

#include "base/grow.h"
#include "collect/collector_private.h"

/* At a time; what is more is known from its samples on. */
#define YOUNG_MAX 256
/* Between two looks, whatever comes: a storm of short processes must not keep us busy. The runtime
 * makes its map some 10 ms after it is mapped, on a busy host later, mostly never. */
#define LOOK_NS 10000000ull
/* The last look is that long after the one before. */
#define LOOK_LONGEST_NS 1000000000ull
/* As the drain's: records of one instant reach the rings of two CPUs at different moments. */
#define LAG_NS 100000ull

void collector_young_add(struct collector *c, uint32_t process)
{
	if (process == MODEL_NONE || c->young_cnt >= YOUNG_MAX)
		return;
	for (size_t i = 0; i < c->young_cnt; i++)
		if (c->young[i].process == process)
			return;
	if (!GROW(c->young, c->young_cnt, c->young_cap))
		c->young[c->young_cnt++] = (struct young){process, 0, LOOK_NS};
}

/* Whether there is nothing more to learn. */
static bool look_at(struct collector *c, struct young *young, uint64_t now_ns)
{
	const struct model_process *p = &c->model->processes[young->process];

	names_process(c->names, c->model, young->process);
	if (p->exit_ns || (p->flags & PROCESS_GONE) ||
	    names_hold(c->names, c->model, young->process))
		return true;
	young->due_ns = now_ns + young->interval_ns;
	young->interval_ns *= 2;
	return young->interval_ns > LOOK_LONGEST_NS;
}

void collector_young_look(struct collector *c)
{
	uint64_t now_ns = host_now_ns();

	for (size_t i = 0; i < c->young_cnt;) {
		struct young *young = &c->young[i];

		if (young->due_ns <= now_ns && look_at(c, young, now_ns))
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
	uint64_t now_ns = host_now_ns(), end_ns = now_ns + ns;

	while (now_ns < end_ns) {
		uint64_t look_ns = next_look_ns(c, end_ns);
		bool came = session_wait(c->session, look_ns > now_ns ? look_ns - now_ns : 0);

		now_ns = host_now_ns();
		/* A signal ends the pause, as it does a sleep. */
		if (!came && now_ns < look_ns)
			return;
		if (now_ns >= end_ns)
			return;
		collector_drain_sideband(c, now_ns - LAG_NS);
		collector_young_look(c);
		now_ns = host_now_ns();
		if (came && now_ns + LOOK_NS < end_ns)
			sleep_ns(LOOK_NS);
		now_ns = host_now_ns();
	}
}
