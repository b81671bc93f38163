/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/totals.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/compare.h"
#include "bpf/events.h"
#include "base/cleanup.h"

static int compare_processes(const void *a, const void *b, void *arg)
{
	const struct total_process *pa = a, *pb = b;
	const struct model *m = arg;
	int c = COMPARE(pb->on_cpu_ns, pa->on_cpu_ns);

	if (!c)
		c = COMPARE(pb->samples, pa->samples);
	if (!c)
		c = COMPARE(m->processes[pa->process].tgid, m->processes[pb->process].tgid);
	return c ? c : COMPARE(pa->process, pb->process);
}

void totals_cpus(struct totals *t, const struct model *m)
{
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		const struct model_cpu *cpu = &m->cpus[i];

		t->cpu_elapsed_ns += cpu->elapsed_ns;
		t->idle_ns += cpu->idle_ns;
		t->accounted_ns += cpu->accounted_ns;
		t->unaccounted_ns += cpu->unaccounted_ns;
		t->steal_ns += cpu->steal_ns;
		t->switches += cpu->switches;
		t->ticks_taken += cpu->ticks_taken;
		t->ticks_filtered += cpu->ticks_filtered;
		if (cpu->slice < m->slices_cnt)
			t->cpu_capacity_ns +=
				m->slices[cpu->slice].end_ns - m->slices[cpu->slice].start_ns;
	}
	for (size_t i = 0; i < m->losses_cnt; i++)
		if (m->losses[i].cause < LOSS_CAUSE_CNT)
			t->losses[m->losses[i].cause] += m->losses[i].count;
}

static void add_elapsed(struct totals *t, const struct model *m)
{
	for (size_t i = 0; i < m->slices_cnt; i++)
		if (m->slices[i].end_ns > m->slices[i].start_ns)
			t->elapsed_ns += m->slices[i].end_ns - m->slices[i].start_ns;
	if (!m->slices_cnt && m->host.end_ns > m->host.start_ns)
		t->elapsed_ns = m->host.end_ns - m->host.start_ns;
}

static int add_threads(struct totals *t, const struct model *m)
{
	_cleanup_free_ bool *sampled = calloc(m->threads_cnt + 1, sizeof(*sampled));

	if (!sampled)
		return -ENOMEM;
	for (size_t i = 0; i < m->samples_cnt; i++) {
		if (m->samples[i].kind != SAMPLE_ON_CPU)
			continue;
		sampled[m->samples[i].thread] = true;
		t->processes[m->threads[m->samples[i].thread].process].samples +=
			model_weight(&m->samples[i]);
		t->samples += model_weight(&m->samples[i]);
	}
	for (size_t i = 0; i < m->threads_cnt; i++) {
		struct total_process *p = &t->processes[m->threads[i].process];

		p->threads++;
		p->threads_ran += m->threads[i].sched.on_cpu_ns || sampled[i];
		p->on_cpu_ns += m->threads[i].sched.on_cpu_ns;
		t->on_cpu_ns += m->threads[i].sched.on_cpu_ns;
	}
	return 0;
}

/* Without counters of threads, what samples stand for. */
static void estimate(struct totals *t, const struct model *m)
{
	if (!model_feature_why(m, FEATURE_COUNTERS) || !m->host.sample_hz)
		return;
	for (size_t i = 0; i < t->processes_cnt; i++)
		t->processes[i].on_cpu_ns =
			t->processes[i].samples * 1000000000ull / m->host.sample_hz;
	t->on_cpu_ns = t->samples * 1000000000ull / m->host.sample_hz;
}

struct totals *totals_new(const struct model *m)
{
	struct totals *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->processes = calloc(m->processes_cnt + 1, sizeof(*t->processes));
	if (!t->processes)
		goto no_memory;
	t->processes_cnt = m->processes_cnt;
	for (size_t i = 0; i < m->processes_cnt; i++)
		t->processes[i].process = (uint32_t)i;
	if (add_threads(t, m))
		goto no_memory;
	estimate(t, m);
	totals_cpus(t, m);
	add_elapsed(t, m);
	qsort_r(t->processes, t->processes_cnt, sizeof(*t->processes), compare_processes,
		(void *)m);
	return t;

no_memory:
	totals_free(t);
	errno = ENOMEM;
	return NULL;
}

void totals_free(struct totals *t)
{
	if (!t)
		return;
	free(t->processes);
	free(t);
}
