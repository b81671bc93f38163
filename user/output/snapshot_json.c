/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "output/json.h"
#include "output/snapshot.h"

static const char *const by_ids[] = {
	[SNAPSHOT_BY_ITSELF] = "itself",
	[SNAPSHOT_BY_ARMED] = "armed",
	[SNAPSHOT_BY_WATCH] = "watch",
};

static void put_how(struct json *j, const struct snapshot_options *o)
{
	json_count(j, "answer_ns", o->answer_ns);
	json_count(j, "own_cpu_ns", o->cpu_ns);
	json_text(j, "by", by_ids[o->by]);
	json_flag(j, "realtime", o->urgent && o->urgent->realtime);
	json_int(j, "nice", o->urgent ? o->urgent->nice : 0);
	json_count(j, "own_cpus", o->urgent ? o->urgent->cpus : 0);
}

static void put_memory(struct json *j, const struct snapshot *s)
{
	if (s->memory_bytes) {
		json_count(j, "memory_bytes", s->memory_bytes);
		json_count(j, "memory_free_bytes", s->memory_free_bytes);
	} else {
		json_null(j, "memory_bytes");
		json_null(j, "memory_free_bytes");
	}
}

static void put_waited(struct json *j, const struct snapshot *s, uint64_t ns)
{
	if (s->waits)
		json_count(j, "waited_ns", ns);
	else
		json_null(j, "waited_ns");
}

static void put_process(struct json *j, const struct model *m, const struct snapshot *s,
			const struct snapshot_process *row)
{
	const struct model_process *p = &m->processes[row->process];

	json_object(j, NULL);
	json_text(j, "process", p->flags & PROCESS_KERNEL ? "kernel threads" : p->name);
	json_count(j, "pid", p->tgid);
	json_flag(j, "kernel", p->flags & PROCESS_KERNEL);
	json_count(j, "processes", row->processes);
	json_count(j, "threads", row->threads);
	json_count(j, "born_threads", row->born);
	json_count(j, "throttled_threads", row->throttled);
	json_count(j, "cpu_ns", row->ran_ns);
	json_count(j, "children_cpu_ns", row->children_ns);
	put_waited(j, s, row->waited_ns);
	json_count(j, "uninterruptible_threads", row->uninterruptible / (s->intervals ?: 1));
	json_end(j);
}

static void put_frames(struct json *j, const struct model *m, const struct standing *standing,
		       const struct standing_group *g)
{
	json_array(j, "frames");
	for (size_t i = g->methods_cnt; i-- > 0;) {
		const struct model_symbol *s = &m->symbols[standing->methods[g->first_method + i]];

		json_object(j, NULL);
		json_text(j, "name", s->name);
		json_text(j, "module", s->module);
		json_text(j, "unnamed",
			  s->reason == REASON_NAMED ? "" : model_reason_id(s->reason));
		json_flag(j, "application", s->application);
		json_end(j);
	}
	json_end(j);
}

static void put_code(struct json *j, const struct model *m, const struct snapshot *s,
		     const struct snapshot_view *v, const struct snapshot_code *row)
{
	const struct model_process *p = &m->processes[row->process];

	json_object(j, NULL);
	json_text(j, "process", p->flags & PROCESS_KERNEL ? "kernel threads" : p->name);
	json_text(j, "method", row->method == MODEL_NONE ? "" : m->symbols[row->method].name);
	json_text(j, "wait", stand_wait_id(row->wait));
	json_flag(j, "moved", row->moved);
	json_count(j, "processes", row->processes);
	json_count(j, "threads", row->threads);
	json_count(j, "times", row->times);
	json_count(j, "cpu_ns", row->ran_ns);
	put_waited(j, s, row->waited_ns);
	put_frames(j, m, v->standing, &v->standing->groups[row->group]);
	json_end(j);
}

int snapshot_json_write(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options)
{
	struct json j;

	json_begin(&j, out, "snapshot");
	json_text(&j, "hotrun", m->host.version);
	json_text(&j, "host", m->host.name);
	json_utc(&j, "time_utc", options->time);
	put_how(&j, options);
	json_count(&j, "looks", s->intervals + 1);
	json_count(&j, "elapsed_ns", s->elapsed_ns);
	json_count(&j, "cpus", s->cpus);
	json_count(&j, "busy_ns", s->busy_ns);
	put_waited(&j, s, v->waited_ns);
	put_memory(&j, s);
	json_count(&j, "all_threads", s->all);
	json_count(&j, "threads", v->threads);
	json_count(&j, "born_threads", v->born);
	json_count(&j, "ended_threads", s->ended);
	json_count(&j, "forks", s->forks);
	json_count(&j, "throttled_threads", v->throttled);
	json_count(&j, "uninterruptible_threads", v->uninterruptible / (s->intervals ?: 1));
	json_count(&j, "cut_threads", s->cut);
	json_count(&j, "late_threads", s->late);
	json_count(&j, "on_cpu_threads", s->on_cpu);
	json_count(&j, "gone_ns", v->gone_ns);
	json_count(&j, "asleep_ns", v->asleep_ns);
	json_text(&j, "stacks_off", s->stacks_why);
	json_array(&j, "processes");
	for (size_t i = 0; i < v->processes_cnt; i++)
		put_process(&j, m, s, &v->processes[i]);
	json_end(&j);
	json_array(&j, "codes");
	for (size_t i = 0; i < v->codes_cnt; i++)
		put_code(&j, m, s, v, &v->codes[i]);
	json_end(&j);
	return json_finish(&j);
}
