/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "judge/deadlock.h"
#include "output/json.h"
#include "output/threads.h"

/* Thread ids of one group. */
#define TIDS_MAX 1000

static const char *const kinds[] = {
	[KIND_UNKNOWN] = "unknown", [KIND_KERNEL] = "kernel", [KIND_NATIVE] = "native",
	[KIND_JIT] = "jit",	    [KIND_STUB] = "stub",     [KIND_IMAGE] = "image",
	[KIND_NOTE] = "note",
};

static void put_frame(struct json *j, const struct model_symbol *s)
{
	json_object(j, NULL);
	json_text(j, "name", s->name);
	json_text(j, "module", s->module);
	json_text(j, "kind", kinds[s->kind]);
	json_text(j, "unnamed", s->reason == REASON_NAMED ? "" : model_reason_id(s->reason));
	json_flag(j, "application", s->application);
	json_end(j);
}

void threads_json_frames(struct json *j, const struct model *m, const struct standing *s,
			 const struct standing_group *g)
{
	json_array(j, "frames");
	for (size_t i = g->methods_cnt; i-- > 0;)
		put_frame(j, &m->symbols[s->methods[g->first_method + i]]);
	json_end(j);
}

static void put_age(struct json *j, const char *key, const struct standing_group *g, uint64_t ns)
{
	if (g->ages)
		json_count(j, key, ns);
	else
		json_null(j, key);
}

static void put_tids(struct json *j, const struct model *m, const struct stands *stands,
		     const struct standing *s, const struct standing_group *g)
{
	unsigned int n = 0;

	json_array(j, "tids");
	for (uint32_t i = g->stand; i != MODEL_NONE && n < TIDS_MAX; i = s->next[i], n++)
		json_count(j, NULL, m->threads[stands->rows[i].at.thread].tid);
	json_end(j);
}

static void put_group(struct json *j, const struct model *m, const struct stands *stands,
		      const struct standing *s, const struct standing_group *g)
{
	const struct model_process *p = &m->processes[g->process];
	char state[2] = {(char)stands->rows[g->stand].state, '\0'};

	json_object(j, NULL);
	json_count(j, "pid", p->tgid);
	json_text(j, "process", p->name);
	json_text(j, "role", g->label);
	json_count(j, "threads", g->threads);
	put_tids(j, m, stands, s, g);
	json_text(j, "state", state);
	json_text(j, "wait", stand_wait_id(g->wait));
	json_flag(j, "idle", g->idle);
	json_flag(j, "moved", g->moved);
	json_flag(j, "sampled", g->sampled);
	json_flag(j, "stack_cut", g->cut);
	put_age(j, "age_least_ns", g, g->age_least_ns);
	put_age(j, "age_most_ns", g, g->age_most_ns);
	if (g->holder)
		json_count(j, "holder_tid", g->holder);
	else
		json_null(j, "holder_tid");
	threads_json_frames(j, m, s, g);
	json_end(j);
}

static void put_deadlocks(struct json *j, const struct model *m, const struct deadlocks *deadlocks,
			  const struct threads_options *options)
{
	json_array(j, "deadlocks");
	for (size_t i = 0; i < deadlocks->cnt; i++) {
		const struct deadlock *d = &deadlocks->rows[i];

		if (!options->all && !options->own && model_is_own(m, d->process))
			continue;
		json_object(j, NULL);
		json_count(j, "pid", m->processes[d->process].tgid);
		json_array(j, "tids");
		for (uint32_t k = 0; k < d->cnt; k++)
			json_count(j, NULL, m->threads[d->threads[k]].tid);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

int threads_json_write(FILE *out, const struct model *m, const struct stands *stands,
		       const struct standing *standing, const struct threads_options *options)
{
	const struct threads_count n = threads_count(m, standing->groups, standing->groups_cnt,
						     options->all || options->own);
	_cleanup_free_ struct deadlocks *deadlocks = deadlocks_new(m, stands, standing);
	size_t groups = 0, cut = 0;
	struct json j;

	if (!deadlocks)
		return -ENOMEM;
	json_begin(&j, out, "threads");
	json_text(&j, "hotrun", m->host.version);
	json_text(&j, "host", m->host.name);
	json_utc(&j, "time_utc", options->time);
	if (stands->pass_ns)
		json_count(&j, "look_ns", stands->pass_ns);
	else
		json_null(&j, "look_ns");
	json_count(&j, "threads", n.threads);
	json_count(&j, "waiting_threads", n.waiting);
	json_count(&j, "running_threads", n.running);
	json_count(&j, "idle_threads", n.idle);
	json_count(&j, "moved_threads", n.moved);
	json_count(&j, "unknown_threads", stands->gone);
	json_count(&j, "unasked_threads", stands->unasked);
	json_count(&j, "own_threads", n.own);
	put_deadlocks(&j, m, deadlocks, options);
	json_array(&j, "groups");
	for (size_t i = 0; i < standing->groups_cnt; i++)
		if (!options->all && !options->own && model_is_own(m, standing->groups[i].process))
			continue;
		else if (groups++ < THREADS_JSON_GROUPS)
			put_group(&j, m, stands, standing, &standing->groups[i]);
		else
			cut++;
	json_end(&j);
	json_count(&j, "groups_cut", cut);
	return json_finish(&j);
}
