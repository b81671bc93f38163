/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of processes and threads: what they did, what they served, whom they waited for. */
#include <errno.h>
#include <stdlib.h>

#include "export/tables_private.h"
#include "model/contention.h"
#include "model/workload.h"
#include "output/figures.h"

static struct value process_name(const struct subject *s)
{
	return s->process ? value_text(*s->process->name ? s->process->name : s->process->comm)
			  : (struct value){.kind = VALUE_BLANK};
}

const struct figure tables_process_name = {"process", .value = process_name};
const struct figure tables_thread_name = {"thread", FIELD_OF(thread, struct model_thread, comm)};

/* --- processes ------------------------------------------------------------------------------- */

struct process_row {
	const uint64_t *values;
	const struct verdict_row *verdict; /* NULL: it was not judged */
	char workload[WORKLOAD_BYTES];
};

static const struct process_row *row_of(const struct subject *s)
{
	return s->item;
}

static struct value process_samples(const struct subject *s)
{
	return tables_weight(tables_of(s), EXPORT_SAMPLES, row_of(s)->values[EXPORT_SAMPLES]);
}

static struct value process_waiters(const struct subject *s)
{
	return tables_weight(tables_of(s), EXPORT_WAITERS, row_of(s)->values[EXPORT_WAITERS]);
}

static struct value process_blocked(const struct subject *s)
{
	return tables_weight(tables_of(s), EXPORT_BLOCKED, row_of(s)->values[EXPORT_BLOCKED]);
}

static struct value is_dotnet(const struct subject *s)
{
	return value_flag(s->process->flags & PROCESS_DOTNET);
}

static struct value process_verdict(const struct subject *s)
{
	return row_of(s)->verdict
		       ? value_text(verdict_id(verdicts_result(row_of(s)->verdict)->verdict))
		       : tables_unknown();
}

static struct value process_hurt(const struct subject *s)
{
	return row_of(s)->verdict ? value_flag(verdicts_result(row_of(s)->verdict)->hurt)
				  : tables_unknown();
}

static struct value process_cause(const struct subject *s)
{
	const struct verdict_row *verdict = row_of(s)->verdict;

	return verdict && verdict_bit(verdicts_result(verdict))
		       ? value_text(verdict_figure_id(verdicts_result(verdict)->cause))
		       : (struct value){.kind = VALUE_BLANK};
}

/* Figures that are computed: of captures without waits they are not known. */
static struct value delay_p99(const struct subject *s)
{
	return s->sched ? figure_value(&figure_delay_p99, s) : tables_unknown();
}

static struct value switches(const struct subject *s)
{
	return s->sched ? figure_value(&figure_switches, s) : tables_unknown();
}

#define PROCESS(member) FIELD_OF(process, struct model_process, member)
#define SUMS(member)	FIELD_OF(sched, struct sched_sum, member)

TABLES_COLUMNS(processes, &figure_pid, &tables_process_name, TABLES_COLUMN("unit", PROCESS(unit)),
	       TABLES_COLUMN("container", PROCESS(container)), TABLES_COLUMN("pod", PROCESS(pod)),
	       TABLES_COLUMN("namespace", PROCESS(namespace)),
	       TABLES_COLUMN("workload", FIELD(struct process_row, workload)),
	       TABLES_COLUMN("dotnet", .value = is_dotnet),
	       TABLES_COLUMN("samples", .value = process_samples),
	       TABLES_COLUMN("waiters", .value = process_waiters),
	       TABLES_COLUMN("blocked_ms", .value = process_blocked),
	       TABLES_COLUMN("on_cpu_ns", SUMS(sched.on_cpu_ns)), &figure_running, &figure_waiting,
	       &figure_behind_own, &figure_throttled,
	       TABLES_COLUMN("delay_p99_ns", .value = delay_p99), &figure_delay_max,
	       TABLES_COLUMN("switches_per_s", .value = switches),
	       TABLES_COLUMN("verdict", .value = process_verdict),
	       TABLES_COLUMN("hurt", .value = process_hurt),
	       TABLES_COLUMN("cause", .value = process_cause))

static bool did_anything(const uint64_t *values, const struct sched_sum *sum)
{
	uint64_t any = sum ? sched_wanted_ns(&sum->sched) : 0;

	for (int i = 0; i < EXPORT_WEIGHTS; i++)
		any |= values[i];
	return any;
}

int tables_put_processes(const struct tables *w, const struct export_table *table)
{
	const struct judgement *j = &w->t->judgement;

	for (uint32_t i = 0; i < w->m->processes_cnt; i++) {
		struct process_row row = {.values = w->of_process[i]};
		struct subject s = {
			.m = w->m,
			.item = &row,
			.of = w,
			.process = &w->m->processes[i],
			.sched = j->sched ? &j->sched->processes[i] : NULL,
			.elapsed_ns = j->totals->elapsed_ns,
		};

		row.verdict = judgement_find(j, i);
		if (!export_wants(w->o, i) || !(row.verdict || did_anything(row.values, s.sched)))
			continue;
		workload_of(s.process, row.workload);
		tables_put(w, table, &s);
	}
	return 0;
}

/* --- threads --------------------------------------------------------------------------------- */

struct thread_row {
	const uint64_t *values;
	char role[ROLE_LABEL_BYTES];
};

static struct value thread_weight(const struct subject *s, enum export_weight weight)
{
	return tables_weight(tables_of(s), weight,
			     ((const struct thread_row *)s->item)->values[weight]);
}

static struct value thread_samples(const struct subject *s)
{
	return thread_weight(s, EXPORT_SAMPLES);
}

static struct value thread_waiters(const struct subject *s)
{
	return thread_weight(s, EXPORT_WAITERS);
}

static struct value thread_blocked(const struct subject *s)
{
	return thread_weight(s, EXPORT_BLOCKED);
}

TABLES_COLUMNS(threads, &figure_pid, &tables_process_name, &figure_tid, &tables_thread_name,
	       TABLES_COLUMN("role", FIELD(struct thread_row, role)),
	       TABLES_COLUMN("samples", .value = thread_samples),
	       TABLES_COLUMN("waiters", .value = thread_waiters),
	       TABLES_COLUMN("blocked_ms", .value = thread_blocked),
	       TABLES_COLUMN("on_cpu_ns", SUMS(sched.on_cpu_ns)),
	       TABLES_COLUMN("waited_ns", SUMS(sched.waited_ns)),
	       TABLES_COLUMN("behind_own_ns", .off = OFF_OWN, SUMS(sched.behind_own_ns)),
	       TABLES_COLUMN("throttled_ns", .off = OFF_GROUPS, SUMS(sched.throttled_ns)),
	       TABLES_COLUMN("uninterruptible_ns", .off = OFF_SWITCHES,
			     SUMS(sched.uninterruptible_ns)),
	       TABLES_COLUMN("voluntary_switches", SUMS(sched.voluntary)),
	       TABLES_COLUMN("involuntary_switches", SUMS(sched.involuntary)),
	       TABLES_COLUMN("migrations", SUMS(sched.migrations)))

int tables_put_threads(const struct tables *w, const struct export_table *table)
{
	const struct judgement *j = &w->t->judgement;

	for (uint32_t i = 0; i < w->m->threads_cnt; i++) {
		const struct model_thread *thread = &w->m->threads[i];
		struct thread_row row = {.values = w->of_thread[i]};
		struct subject s = {
			.m = w->m,
			.item = &row,
			.of = w,
			.process = &w->m->processes[thread->process],
			.thread = thread,
			.sched = j->sched ? &j->sched->threads[i] : NULL,
			.elapsed_ns = j->totals->elapsed_ns,
		};

		if (!export_wants(w->o, thread->process) || !did_anything(row.values, s.sched))
			continue;
		about_role(row.role, w->m, i);
		tables_put(w, table, &s);
	}
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

#define PORT(member) FIELD(struct requests_port, member)

TABLES_COLUMNS(requests, &figure_pid, &tables_process_name, TABLES_COLUMN("address", PORT(address)),
	       TABLES_COLUMN("port", PORT(port)), TABLES_COLUMN("slow_ns", PORT(slow_ns)),
	       TABLES_COLUMN("requests", PORT(sum.served.begun)),
	       TABLES_COLUMN("answered_requests", PORT(sum.served.answered)),
	       TABLES_COLUMN("slow_requests", PORT(sum.served.slow)), &figure_time_p50,
	       &figure_time_p99, &figure_time_max, &figure_slow, &figure_score, &figure_open,
	       &figure_oldest, &figure_stuck, &figure_refused)

int tables_put_requests(const struct tables *w, const struct export_table *table)
{
	const struct requests *r = w->t->judgement.requests;

	for (size_t i = 0; r && i < r->ports_cnt; i++)
		if (export_wants(w->o, r->ports[i].process))
			tables_put(w, table,
				   &(struct subject){
					   .m = w->m,
					   .item = &r->ports[i],
					   .of = w,
					   .process = &w->m->processes[r->ports[i].process],
					   .requests = &r->ports[i].sum,
					   .elapsed_ns = r->elapsed_ns,
				   });
	return 0;
}

/* --- waits ----------------------------------------------------------------------------------- */

static const struct model_process *process_at(const struct subject *s, uint32_t process)
{
	return process == MODEL_NONE ? NULL : &s->m->processes[process];
}

static struct value pair_pid(const struct subject *s, bool waiter)
{
	const struct contention_pair *pair = s->item;
	const struct model_process *p = process_at(s, waiter ? pair->waiter : pair->runner);

	return p ? value_count(p->tgid) : tables_unknown();
}

static struct value pair_name(const struct subject *s, bool waiter)
{
	const struct contention_pair *pair = s->item;
	struct subject of = {.process = process_at(s, waiter ? pair->waiter : pair->runner)};

	return of.process ? process_name(&of) : tables_unknown();
}

static struct value waiter_pid(const struct subject *s)
{
	return pair_pid(s, true);
}

static struct value waiter_name(const struct subject *s)
{
	return pair_name(s, true);
}

static struct value runner_pid(const struct subject *s)
{
	return pair_pid(s, false);
}

static struct value runner_name(const struct subject *s)
{
	return pair_name(s, false);
}

static struct value pair_waited(const struct subject *s)
{
	double ticks = (double)((const struct contention_pair *)s->item)->weight / 1000;

	return value_count((uint64_t)(ticks * (double)sampled_tick_ns(s->m)));
}

TABLES_COLUMNS(waits, TABLES_COLUMN("waiter_pid", .value = waiter_pid),
	       TABLES_COLUMN("waiter", .value = waiter_name),
	       TABLES_COLUMN("runner_pid", .value = runner_pid),
	       TABLES_COLUMN("runner", .value = runner_name),
	       TABLES_COLUMN("waited_ns", .value = pair_waited))

int tables_put_waits(const struct tables *w, const struct export_table *table)
{
	struct contention *c = contention_new(w->m);

	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < c->pairs_cnt; i++) {
		const struct contention_pair *pair = &c->pairs[i];

		if (export_wants(w->o, pair->runner) ||
		    (pair->waiter != MODEL_NONE && export_wants(w->o, pair->waiter)))
			tables_put(w, table, &(struct subject){.m = w->m, .item = pair, .of = w});
	}
	contention_free(c);
	return 0;
}
