/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process_facts.h"

#include <time.h>

#include "base/clock.h"
#include "collect/collector.h"

/* Reading /proc of everything at start may take this long; the rest is read when sampled. */
#define START_FACTS_NS 1500000000ull
/*
 * What facts of processes may take of a slice, in us a CPU: a process that is sampled and has very
 * many mappings costs milliseconds. Of one parent's children a sixth, of one cgroup a third
 * (fair.h); who must wait has its turn in another slice.
 */
#define FACTS_CPU_US 30000u

void process_facts_close(struct process_facts *f)
{
	fair_clear(&f->spent);
}

void process_facts_begin_slice(struct process_facts *f)
{
	fair_begin_anew(&f->spent);
	f->spent.most = FACTS_CPU_US * f->rooms->host.cpus_online;
	f->spent.most_of_cgroup = f->spent.most_of_process = f->spent.most / 2;
}

void process_facts_read(struct process_facts *f, uint32_t process)
{
	names_process(f->rooms->names, f->rooms->model, process);
	/* Its mappings told. */
	if (f->rooms->options->samples &&
	    (f->rooms->model->processes[process].flags & PROCESS_DOTNET))
		newly_started_add(f->newly_started, f->rooms->model, process);
}

void process_facts_want(struct process_facts *f, uint32_t process)
{
	uint32_t party;
	uint64_t begin_ns;

	if (f->rooms->model->processes[process].flags &
	    (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL))
		return;
	party = fair_party(f->rooms->model, process);
	if (!fair_may(&f->spent, f->rooms->model, party))
		return;
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	process_facts_read(f, process);
	fair_add(&f->spent, f->rooms->model, party,
		 (uint32_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1000) + 1);
}

/* Facts and mappings of what runs already; the busiest of 200 processes cost 20 ms together. */
void process_facts_read_all(struct process_facts *f)
{
	uint64_t end_ns = clock_now_ns() + START_FACTS_NS;

	for (uint32_t i = 0; i < f->rooms->model->processes_cnt && clock_now_ns() < end_ns; i++)
		if (!(f->rooms->model->processes[i].flags &
		      (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL)))
			process_facts_read(f, i);
}
