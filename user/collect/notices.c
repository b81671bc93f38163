/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/notices.h"

#include <string.h>

#include "base/helper_names.h"
#include "base/log.h"
#include "base/text.h"
#include "collect/blocked_looks.h"
#include "collect/collector.h"

/* Processes whose names cost too much that the log tells of in one slice. */
#define COSTLY_TOLD 3u
/* Ticks to be expected before their absence means anything. */
#define TICKS_EXPECTED_MIN 50

void notices_tell_hanging_look(struct notices *n)
{
	uint32_t tgid;

	if (n->rooms->looks && blocked_looks_hang(n->rooms->looks, &tgid))
		log_warn("blocked time: the memory of a process, perhaps of pid %u, does not "
			 "answer; its stacks are left out until it does",
			 tgid);
}

void notices_tell_costly(struct notices *n)
{
	unsigned told = 0;
	uint32_t row;

	if (!n->sandbox_told && names_cost(n->rooms->names).without) {
		n->sandbox_told = true;
		log_warn("names: files of other processes are read without a full sandbox: this "
			 "kernel, or "
			 "the container that hotrun is in, does not allow it; limits of CPU and "
			 "memory hold");
	}
	if (!n->helpers_told && names_cost(n->rooms->names).no_helpers) {
		n->helpers_told = true;
		log_warn("names: the process " HELPER_NURSERY " has ended: no more files of other "
			 "processes are read, and their code stays without names; start hotrun "
			 "again");
	}
	/* The others are in the report: a storm of them is not to fill the log. */
	while (told++ < COSTLY_TOLD && (row = names_next_costly(n->rooms->names)) != MODEL_NONE) {
		const struct model_process *p = &n->rooms->model->processes[row];
		const char *known = *p->name ? p->name : p->comm;
		char name[256];

		text_copy_safe(name, sizeof(name), known, strlen(known));
		if (p->files_refused)
			log_warn("pid %u (%s): its names are incomplete: a file of it takes more "
				 "work to "
				 "read than a file may; others are not affected",
				 p->tgid, name);
		else
			log_warn("pid %u (%s): its names are incomplete: its perf map is written "
				 "faster, "
				 "or anew more often, than it is followed; others are not affected",
				 p->tgid, name);
	}
}

/* A host that runs but delivers no tick: the event is there, its interrupt is not. */
void notices_tell_ticks(struct notices *n)
{
	const struct model *m = n->rooms->model;

	/* Of this slice: the model may hold earlier ones, too. */
	for (size_t i = m->cpus_cnt; i-- > 0 && m->cpus[i].slice + 1 == m->slices_cnt;) {
		const struct model_cpu *cpu = &m->cpus[i];

		n->ticks_seen |= cpu->ticks_taken > 0;
		n->ticks_expected_ns += cpu->accounted_ns;
	}
	if (n->ticks_seen || !feature_is_on(session_features(n->rooms->session), FEATURE_SAMPLES) ||
	    n->ticks_expected_ns < TICKS_EXPECTED_MIN * 1000000000ull *
					   n->rooms->options->gear.sample_every /
					   n->rooms->options->sample_hz)
		return;
	n->ticks_seen = true; /* say it once */
	log_warn("sampling: no tick has arrived although the CPUs are busy; hot paths will be "
		 "missing (the sampling event does not fire on this machine)");
}
