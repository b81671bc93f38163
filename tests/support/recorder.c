/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

void recorder_renew(struct recorder *r)
{
	model_free(r->m);
	r->m = build_model(2, 19);
	r->m->host.start_ns = r->now_ns;
}

struct recorder recorder_of(size_t top)
{
	struct series_options options = {.top = top};
	struct recorder r = {.s = series_new(&options), .now_ns = BUILD_START_NS};

	must(r.s != NULL);
	recorder_renew(&r);
	return r;
}

void recorder_free(struct recorder *r)
{
	series_free(r->s);
	model_free(r->m);
}

uint32_t recorder_thread(struct recorder *r, const char *name, uint32_t tgid)
{
	return build_thread(r->m, build_process(r->m, tgid, name, 0), tgid, name, 0, 'S');
}

void recorder_end(struct recorder *r, uint32_t thread)
{
	r->m->threads[thread].exit_ns = r->now_ns;
	r->m->processes[r->m->threads[thread].process].exit_ns = r->now_ns;
}

void recorder_ran(struct recorder *r, uint32_t thread, uint64_t ns)
{
	struct model_account row = {.slice = (uint32_t)r->m->slices_cnt,
				    .thread = thread,
				    .cgroup = MODEL_NONE,
				    .sched = {.on_cpu_ns = ns}};

	must(!model_account_add(r->m, &row));
}

void recorder_close(struct recorder *r, const struct verdicts *v)
{
	struct model_slice slice = {.start_ns = r->now_ns, .end_ns = r->now_ns + BUILD_SECOND};

	r->now_ns = slice.end_ns;
	must(!model_slice_add(r->m, &slice));
	must(!series_slice(r->s, r->m, (uint32_t)r->m->slices_cnt - 1, v));
	model_forget_slice(r->m);
}

const struct metrics_process *recorder_find(const struct series *s, const char *name)
{
	const struct metrics_figures *f = series_metrics(s);
	char labels[128];

	snprintf(labels, sizeof(labels), "process=\"%s\"", name);
	for (size_t i = 0; i < f->processes_cnt; i++)
		if (!strcmp(f->processes[i].labels, labels))
			return &f->processes[i];
	return NULL;
}
