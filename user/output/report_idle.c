/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that used no CPU, with their threads by state: a hang is quiet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

static void put_states(const struct report *r, const struct states *s)
{
	const char *comma = "";

	for (size_t i = 0; i < STATE_CNT; i++) {
		if (!s->cnt[i])
			continue;
		fprintf(r->out, "%s%c %u", comma, i + 1 < STATE_CNT ? STATES[i] : '?', s->cnt[i]);
		comma = ", ";
	}
	putc('\n', r->out);
}

static void add_states(struct states *sum, const struct states *s)
{
	for (size_t i = 0; i < STATE_CNT; i++)
		sum->cnt[i] += s->cnt[i];
}

static void put_process_line(const struct report *r, const struct total_process *t,
			     const struct states *s)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", r->m->processes[t->process].tgid);
	put_right(r, pid, 9);
	put_spaces(r, 2);
	put_process(r, t->process, 40, true);
	put_right(r, number_count(t->threads).text, 9);
	put_spaces(r, 2);
	put_states(r, s);
}

int report_idle(const struct report *r)
{
	const struct totals *t = r->totals;
	_cleanup_free_ struct states *states = calloc(t->processes_cnt + 1, sizeof(*states));
	struct states kernel = {0};
	uint32_t kernel_cnt = 0;

	if (!states)
		return -ENOMEM;
	for (size_t i = 0; i < r->m->threads_cnt; i++) {
		const struct model_thread *thread = &r->m->threads[i];

		states[thread->process].cnt[state_index(thread->state)]++;
	}
	put_heading(r,
		    "      pid  used no CPU                               threads  by state at the "
		    "last look");
	for (size_t i = 0; i < t->processes_cnt; i++) {
		const struct total_process *p = &t->processes[i];

		if (p->on_cpu_ns || p->samples)
			continue;
		if (r->m->processes[p->process].flags & PROCESS_KERNEL) {
			add_states(&kernel, &states[p->process]);
			kernel_cnt += p->threads;
			continue;
		}
		put_process_line(r, p, &states[p->process]);
	}
	if (kernel_cnt) {
		fprintf(r->out, "%11s%-40s%9s  ", "", "kernel threads",
			number_count(kernel_cnt).text);
		put_states(r, &kernel);
	}
	fputs("           R runs or could, D waits and cannot be interrupted (disk, NFS), S "
	      "sleeps, "
	      "T stopped,\n           I idle kernel thread, Z ended but not collected, X ended\n",
	      r->out);
	return 0;
}
