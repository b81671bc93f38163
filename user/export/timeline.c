/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/timeline.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "output/report_text.h"

struct builder {
	struct timeline *t;
	const struct model *m;
	const struct export_options *o;
};

/* The span of that kind and process that the slice goes on with; NULL: none. */
static struct timeline_span *going_on(struct timeline *t, enum timeline_kind kind, uint32_t at,
				      uint32_t slice, enum verdict verdict)
{
	struct timeline_span *span;

	if (t->open[kind][at] == MODEL_NONE)
		return NULL;
	span = &t->spans[t->open[kind][at]];
	return span->last + 1 == slice && span->result.verdict == verdict ? span : NULL;
}

static void add_span(struct builder *b, const struct timeline_span *what)
{
	struct timeline *t = b->t;
	uint32_t at = what->process == MODEL_NONE ? (uint32_t)b->m->processes_cnt : what->process;
	struct timeline_span *span = going_on(t, what->kind, at, what->first, what->result.verdict);

	if (span) {
		span->last = what->last;
		span->amount += what->amount;
		span->of += what->of;
		return;
	}
	if (!t->err)
		t->err = GROW(t->spans, t->spans_cnt, t->spans_cap);
	if (t->err)
		return;
	t->open[what->kind][at] = (uint32_t)t->spans_cnt;
	t->spans[t->spans_cnt++] = *what;
}

static void on_slice(void *ctx, uint32_t slice, uint32_t process, const struct verdict_input *input,
		     const struct verdict_result *result)
{
	struct builder *b = ctx;
	struct timeline_span span = {.process = process, .first = slice, .last = slice};

	if (process != MODEL_NONE && !export_wants(b->o, process))
		return;
	if (verdict_bit(result)) {
		span.result = *result;
		add_span(b, &span);
	}
	if (process == MODEL_NONE)
		return;
	memset(&span.result, 0, sizeof(span.result));
	if (input->has_requests && input->slow_share > 0) {
		span.kind = TIMELINE_SLOW;
		span.amount = input->slow_share * (double)input->requests;
		span.of = (double)input->requests;
		add_span(b, &span);
	}
	if (input->throttled > 0) {
		span.kind = TIMELINE_THROTTLED;
		span.amount = input->throttled * (double)input->elapsed_ns;
		span.of = 0;
		add_span(b, &span);
	}
}

/* --- figures of the host --------------------------------------------------------------------- */

/* Mean waiting threads over the ticks of a slice whose CPU told. */
struct queue {
	uint64_t ticks, waiters;
};

static void add_queue(struct queue *queue, const struct model_cpu *cpu)
{
	for (unsigned int waiters = 0; waiters <= 10; waiters++) {
		queue->ticks += cpu->queue[waiters];
		queue->waiters += cpu->queue[waiters] * waiters;
	}
}

static int add_cpus(struct timeline *t, const struct model *m)
{
	struct queue *queues = calloc(t->slices_cnt + 1, sizeof(*queues));

	if (!queues)
		return -ENOMEM;
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		const struct model_cpu *cpu = &m->cpus[i];

		if (cpu->slice >= t->slices_cnt)
			continue;
		if (cpu->elapsed_ns > cpu->idle_ns)
			t->slices[cpu->slice].busy_ns += cpu->elapsed_ns - cpu->idle_ns;
		add_queue(&queues[cpu->slice], cpu);
	}
	for (size_t i = 0; i < t->slices_cnt; i++)
		if (queues[i].ticks)
			t->slices[i].queue = (double)queues[i].waiters / (double)queues[i].ticks;
	free(queues);
	return 0;
}

static int add_figures(struct timeline *t, const struct model *m)
{
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		const struct model_account *a = &m->accounts[i];

		if (a->slice >= t->slices_cnt)
			continue;
		t->slices[a->slice].waited_ns += a->sched.waited_ns;
		t->slices[a->slice].throttled_ns += a->sched.throttled_ns;
	}
	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *s = &m->services[i];

		if (s->slice >= t->slices_cnt)
			continue;
		t->slices[s->slice].answered += s->served.answered;
		t->slices[s->slice].slow += s->served.slow;
		t->slices[s->slice].open += s->open;
	}
	return add_cpus(t, m);
}

/* --- all together ---------------------------------------------------------------------------- */

static int build(struct builder *b)
{
	struct timeline *t = b->t;
	const struct model *m = b->m;
	int err;

	t->slices = calloc(m->slices_cnt + 1, sizeof(*t->slices));
	if (!t->slices)
		return -ENOMEM;
	t->slices_cnt = m->slices_cnt;
	for (size_t i = 0; i < m->slices_cnt; i++) {
		t->slices[i].start_ns = m->slices[i].start_ns;
		t->slices[i].end_ns = m->slices[i].end_ns;
	}
	t->has_cpus = m->cpus_cnt;
	t->has_waits = !(model_off(m) & OFF_ACCOUNTS);
	t->has_requests = !(model_off(m) & OFF_REQUESTS);
	for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
		t->open[kind] = malloc((m->processes_cnt + 1) * sizeof(**t->open));
		if (!t->open[kind])
			return -ENOMEM;
		memset(t->open[kind], 0xff, (m->processes_cnt + 1) * sizeof(**t->open));
	}
	err = add_figures(t, m);
	if (!err)
		err = judgement_of(&t->judgement, m, true, on_slice, b);
	return err ? err : t->err;
}

struct timeline *timeline_new(const struct model *m, const struct export_options *options)
{
	struct builder b = {.t = calloc(1, sizeof(*b.t)), .m = m, .o = options};
	int err = b.t ? build(&b) : -ENOMEM;

	if (!err)
		return b.t;
	timeline_free(b.t);
	errno = -err;
	return NULL;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	judgement_clear(&t->judgement);
	for (int kind = 0; kind < TIMELINE_KINDS; kind++)
		free(t->open[kind]);
	free(t->slices);
	free(t->spans);
	free(t);
}

/* --- counters -------------------------------------------------------------------------------- */

static double cpus_of(const struct timeline_slice *s, double length_ns)
{
	return (double)s->busy_ns / length_ns;
}

static double waiting_of(const struct timeline_slice *s, double length_ns)
{
	return (double)s->waited_ns / length_ns;
}

static double queue_of(const struct timeline_slice *s, double length_ns)
{
	(void)length_ns;
	return s->queue;
}

static double requests_of(const struct timeline_slice *s, double length_ns)
{
	return (double)s->answered / length_ns * 1e9;
}

static double slow_of(const struct timeline_slice *s, double length_ns)
{
	return (double)s->slow / length_ns * 1e9;
}

#define KNOWN(flag) offsetof(struct timeline, flag)
const struct timeline_counter timeline_counters[TIMELINE_COUNTERS] = {
	{"CPU", "CPUs in use", "CPU time that was not idle", cpus_of, KNOWN(has_cpus)},
	{"waiting", "threads that wait for a CPU", "run delay of all threads", waiting_of,
	 KNOWN(has_waits)},
	{"queue", "waiting threads of a CPU", "as ticks found run queues", queue_of,
	 KNOWN(has_cpus)},
	{"requests", "requests a second", "answered ones of all services", requests_of,
	 KNOWN(has_requests)},
	{"slow", "slow requests a second", "of these, over the threshold", slow_of,
	 KNOWN(has_requests)},
};

bool timeline_knows(const struct timeline *t, const struct timeline_counter *counter)
{
	return *(const bool *)((const char *)t + counter->known);
}

double timeline_value(const struct timeline *t, const struct timeline_counter *counter,
		      size_t slice)
{
	const struct timeline_slice *s = &t->slices[slice];

	return s->end_ns > s->start_ns ? counter->of(s, (double)(s->end_ns - s->start_ns)) : 0;
}

/* --- words ----------------------------------------------------------------------------------- */

const char *timeline_name(const struct timeline_span *span)
{
	static const char *const names[] = {
		[TIMELINE_SLOW] = "slow requests",
		[TIMELINE_THROTTLED] = "throttled",
	};

	return span->kind == TIMELINE_VERDICT ? verdict_id(span->result.verdict)
					      : names[span->kind];
}

void timeline_text(char ret_text[static TIMELINE_TEXT_BYTES], const struct timeline_span *span)
{
	switch (span->kind) {
	case TIMELINE_VERDICT:
		snprintf(ret_text, TIMELINE_TEXT_BYTES, "%s", verdict_text(span->result.verdict));
		break;
	case TIMELINE_SLOW:
		snprintf(ret_text, TIMELINE_TEXT_BYTES, "%s of %s requests were slow",
			 number_fixed(span->amount, 0).text, number_fixed(span->of, 0).text);
		break;
	default:
		snprintf(ret_text, TIMELINE_TEXT_BYTES,
			 "threads were stopped by the CPU limit for %s in all",
			 number_time((uint64_t)span->amount).text);
	}
}
