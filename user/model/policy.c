/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/policy.h"

#include <stdio.h>
#include <string.h>

/* Of linux/sched.h, which libc does not always have in full; stored in captures. */
enum { NORMAL = 0, FIFO = 1, RR = 2, BATCH = 3, IDLE = 5, DEADLINE = 6, EXT = 7 };

void policy_text(char buf[static POLICY_BYTES], const struct model_thread *thread)
{
	buf[0] = '\0';
	switch (thread->policy) {
	case NORMAL:
		if (thread->nice)
			snprintf(buf, POLICY_BYTES, "nice %d", thread->nice);
		break;
	case FIFO:
	case RR:
		snprintf(buf, POLICY_BYTES, "%s %u", thread->policy == FIFO ? "fifo" : "rr",
			 thread->rt_priority);
		break;
	case BATCH:
		if (thread->nice)
			snprintf(buf, POLICY_BYTES, "batch %d", thread->nice);
		else
			strcpy(buf, "batch");
		break;
	case IDLE:
		strcpy(buf, "idle class");
		break;
	case DEADLINE:
		strcpy(buf, "deadline");
		break;
	case EXT:
		strcpy(buf, "ext");
		break;
	default:
		snprintf(buf, POLICY_BYTES, "policy %u", thread->policy);
	}
}

bool policy_is_realtime(const struct model_thread *thread)
{
	return thread->policy == FIFO || thread->policy == RR || thread->policy == DEADLINE;
}

bool policy_is_background(const struct model_thread *thread)
{
	if (thread->policy == BATCH || thread->policy == IDLE)
		return true;
	return thread->policy == NORMAL && thread->nice > 0;
}

static uint64_t wanted_ns(const struct model_thread *thread)
{
	return thread->sched.on_cpu_ns + thread->sched.waited_ns + thread->sched.throttled_ns;
}

uint32_t policy_of_process(const struct model *m, uint32_t process, char buf[static POLICY_BYTES])
{
	uint32_t most = MODEL_NONE;
	char other[POLICY_BYTES];
	uint64_t all = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->process != process || !wanted_ns(t))
			continue;
		all += wanted_ns(t);
		if (most == MODEL_NONE || wanted_ns(t) > wanted_ns(&m->threads[most]))
			most = i;
	}
	if (most == MODEL_NONE)
		return MODEL_NONE;
	policy_text(buf, &m->threads[most]);
	for (uint32_t i = 0; buf[0] && i < m->threads_cnt; i++) {
		const struct model_thread *t = &m->threads[i];

		if (t->process != process || wanted_ns(t) < all / 10)
			continue;
		policy_text(other, t);
		if (strcmp(other, buf))
			buf[0] = '\0';
	}
	return buf[0] ? most : MODEL_NONE;
}
