/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET processes that just started. One may be gone before the next drain, with its mount namespace
 * and its map: it is looked at as soon as the kernel tells that it maps the runtime, and again until
 * the runtime has made its perf map.
 */
#include <time.h>

#include "base/grow.h"
#include "commands/collector_private.h"

/* At a time; what is more is known from its samples on. */
#define YOUNG_MAX 256
/* The runtime makes its map some 10 ms after it is mapped, on a busy host later. */
#define YOUNG_NS 2000000000ull
/* Between two looks, whatever comes: a storm of short processes must not keep us busy. */
#define LOOK_NS 10000000ull
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
		c->young[c->young_cnt++] = (struct young){process, host_now_ns() + YOUNG_NS};
}

void collector_young_look(struct collector *c)
{
	uint64_t now_ns = host_now_ns();

	for (size_t i = 0; i < c->young_cnt;) {
		struct young young = c->young[i];
		const struct model_process *p = &c->model->processes[young.process];

		names_process(c->names, c->model, young.process);
		if (p->exit_ns || (p->flags & PROCESS_GONE) || now_ns > young.end_ns ||
		    names_hold(c->names, c->model, young.process))
			c->young[i] = c->young[--c->young_cnt];
		else
			i++;
	}
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
		uint64_t left_ns = end_ns - now_ns;
		uint64_t look_ns = c->young_cnt && left_ns > LOOK_NS ? LOOK_NS : left_ns;
		bool came = session_wait(c->session, look_ns);

		now_ns = host_now_ns();
		/* A signal ends the pause, as it does a sleep. */
		if (!came && now_ns + LAG_NS < end_ns - left_ns + look_ns)
			return;
		if (now_ns >= end_ns || (!came && !c->young_cnt))
			continue;
		collector_drain_sideband(c, now_ns - LAG_NS);
		collector_young_look(c);
		now_ns = host_now_ns();
		if (came && now_ns + LOOK_NS < end_ns)
			sleep_ns(LOOK_NS);
		now_ns = host_now_ns();
	}
}
