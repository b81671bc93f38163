/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/perfetto_private.h"
#include "model/switches.h"

/* Of one bundle. */
#define EVENTS_MOST 256
#define COMM_BYTES  64
/* As the kernel's tracepoint tells it since 4.14 (include/trace/events/sched.h). */
#define STATE_PREEMPTED 0x100

struct event {
	Perfetto__FtraceEvent event;
	Perfetto__SchedSwitchFtraceEvent turn;
	Perfetto__SchedWakingFtraceEvent waking;
	char comm[COMM_BYTES], other_comm[COMM_BYTES];
};

struct bundle {
	struct event rows[EVENTS_MOST];
	Perfetto__FtraceEvent *events[EVENTS_MOST];
	size_t cnt;
	uint32_t cpu;
	uint64_t end_ns; /* of the window, 0 = there is none */
	/* Who runs there, as the events say. */
	int32_t tid;
	char comm[COMM_BYTES];
};

static void flush_bundle(struct perfetto *w, struct bundle *b)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle bundle = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	if (!b->cnt)
		return;
	bundle.has_cpu = true;
	bundle.cpu = b->cpu;
	bundle.event = b->events;
	bundle.n_event = b->cnt;
	packet.ftrace_events = &bundle;
	perfetto_put_packet(w, &packet);
	b->cnt = 0;
}

static int64_t state_of(const struct model_switch *row)
{
	static const char letters[] = "SDTtXZPI";
	const char *at = row->state ? strchr(letters, row->state) : NULL;

	if (row->flags & SWITCH_PREEMPTED)
		return STATE_PREEMPTED;
	return at ? (int64_t)1 << (at - letters) : 0;
}

/* Its id and name, described before it is named. */
static int32_t name_of(struct perfetto *w, uint32_t thread, bool unknown,
		       char comm[static COMM_BYTES])
{
	if (thread == MODEL_NONE) {
		snprintf(comm, COMM_BYTES, "%s", unknown ? "unknown" : "idle");
		return unknown ? -1 : 0;
	}
	perfetto_put_thread(w, thread);
	text_copy_utf8(comm, COMM_BYTES, w->m->threads[thread].comm,
		       strlen(w->m->threads[thread].comm));
	return (int32_t)w->m->threads[thread].tid;
}

static struct event *next_event(struct bundle *b, const struct model_switch *row)
{
	struct event *e = &b->rows[b->cnt];

	perfetto__ftrace_event__init(&e->event);
	e->event.has_timestamp = e->event.has_pid = true;
	e->event.timestamp = row->time_ns;
	e->event.pid = b->tid > 0 ? (uint32_t)b->tid : 0;
	b->events[b->cnt++] = &e->event;
	return e;
}

static void add_turn(struct perfetto *w, struct bundle *b, const struct model_switch *row)
{
	char comm[COMM_BYTES];
	int32_t tid = name_of(w, row->thread, row->flags & SWITCH_UNKNOWN, comm);

	if (tid != b->tid || !(row->flags & SWITCH_BEGINS)) {
		struct event *e = next_event(b, row);
		Perfetto__SchedSwitchFtraceEvent *turn = &e->turn;

		perfetto__sched_switch_ftrace_event__init(turn);
		memcpy(e->other_comm, b->comm, sizeof(e->other_comm));
		memcpy(e->comm, comm, sizeof(e->comm));
		turn->has_prev_pid = turn->has_prev_prio = turn->has_prev_state =
			turn->has_next_pid = turn->has_next_prio = true;
		turn->prev_pid = b->tid;
		turn->prev_comm = e->other_comm;
		turn->prev_state = state_of(row);
		turn->next_pid = tid;
		turn->next_comm = e->comm;
		turn->prev_prio = turn->next_prio = 120;
		e->event.sched_switch = turn;
	}
	b->tid = tid;
	memcpy(b->comm, comm, sizeof(b->comm));
}

/* What the window does not tell is of nobody that is known: one begins and ends with him. */
static void end_window(struct perfetto *w, struct bundle *b)
{
	const struct model_switch end = {.time_ns = b->end_ns,
					 .thread = MODEL_NONE,
					 .kind = SWITCH_TURN,
					 .state = 'R',
					 .flags = SWITCH_UNKNOWN | SWITCH_PREEMPTED};

	if (b->end_ns)
		add_turn(w, b, &end);
	b->end_ns = 0;
	flush_bundle(w, b);
}

static void add_waking(struct perfetto *w, struct bundle *b, const struct model_switch *row)
{
	struct event *e = next_event(b, row);
	Perfetto__SchedWakingFtraceEvent *waking = &e->waking;

	perfetto__sched_waking_ftrace_event__init(waking);
	waking->has_pid = waking->has_prio = waking->has_success = true;
	waking->pid = name_of(w, row->thread, row->flags & SWITCH_UNKNOWN, e->comm);
	waking->comm = e->comm;
	waking->prio = 120;
	waking->success = 1;
	e->event.sched_waking = waking;
}

/* The rows of each CPU, one CPU after the other: their numbers, owned; or NULL. */
static uint32_t *by_cpu(const struct model *m)
{
	size_t *at, cpus = model_switches_cpus(m), sum = 0;
	uint32_t *rows = calloc(m->switches_cnt + 1, sizeof(*rows));

	at = calloc(cpus + 1, sizeof(*at));
	if (!rows || !at) {
		free(rows);
		free(at);
		return NULL;
	}
	for (size_t i = 0; i < m->switches_cnt; i++)
		at[m->switches[i].cpu]++;
	for (size_t cpu = 0; cpu < cpus; cpu++) {
		size_t cnt = at[cpu];

		at[cpu] = sum;
		sum += cnt;
	}
	for (size_t i = 0; i < m->switches_cnt; i++)
		rows[at[m->switches[i].cpu]++] = (uint32_t)i;
	free(at);
	return rows;
}

/* When the window of each row ends, owned; or NULL. */
static uint64_t *ends_of(const struct model *m)
{
	uint64_t *ends = calloc(m->switches_cnt + 1, sizeof(*ends));

	for (size_t i = 0; ends && i < m->switches_cnt; i++)
		ends[i] =
			i && !model_switches_begins(m, i) ? ends[i - 1] : model_switches_end(m, i);
	return ends;
}

static void begin_cpu(struct bundle *b, uint32_t cpu)
{
	b->cpu = cpu;
	b->tid = -1;
	snprintf(b->comm, sizeof(b->comm), "unknown");
}

/* A CPU after the other: readers sort. */
void perfetto_put_switches(struct perfetto *w)
{
	const struct model *m = w->m;
	struct bundle *b = calloc(1, sizeof(*b));
	uint32_t *rows = by_cpu(m);
	uint64_t *ends = ends_of(m);

	w->failed |= !b || !rows || !ends;
	for (size_t i = 0; !w->failed && i < m->switches_cnt; i++) {
		const struct model_switch *row = &m->switches[rows[i]];

		if (!i || row->cpu != b->cpu || row->flags & SWITCH_BEGINS) {
			end_window(w, b);
			if (!i || row->cpu != b->cpu)
				begin_cpu(b, row->cpu);
			b->end_ns = ends[rows[i]];
		}
		(row->kind == SWITCH_TURN ? add_turn : add_waking)(w, b, row);
		if (b->cnt == EVENTS_MOST)
			flush_bundle(w, b);
	}
	if (!w->failed)
		end_window(w, b);
	free(ends);
	free(rows);
	free(b);
}
