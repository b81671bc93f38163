/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of processes: who is looked at, as far as they and their parents may cost. */
#include "collect/collector_private.h"

void collector_read_process(struct collector *c, uint32_t process)
{
	names_process(c->names, c->model, process);
	/* Its mappings told. */
	if (c->options.samples && (c->model->processes[process].flags & PROCESS_DOTNET))
		collector_young_add(c, process);
}

void collector_name_process(struct collector *c, uint32_t process)
{
	uint32_t party;
	uint64_t begin_ns;

	if (c->model->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL))
		return;
	party = collector_party(c, process);
	if (!fair_may(&c->facts, c->model, party))
		return;
	begin_ns = collector_cpu_ns();
	collector_read_process(c, process);
	fair_add(&c->facts, c->model, party,
		 (uint32_t)((collector_cpu_ns() - begin_ns) / 1000) + 1);
}
