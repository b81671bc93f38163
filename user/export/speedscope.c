/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/speedscope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "export/about.h"
#include "export/sampled.h"
#include "model/resolve.h"
#include "output/json.h"

/* What the file says that it is of, not a place that anybody looks at. */
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	struct json json;
	const struct sampled *s;
	enum export_weight weight;
	struct export_about about;
	uint32_t frames[RESOLVE_MAX_FRAMES];
};

static void put_frames(struct speedscope *w)
{
	struct json *j = &w->json;

	json_object(j, "shared");
	json_array(j, "frames");
	for (uint32_t i = 0; i < w->s->frames_cnt; i++) {
		json_object(j, NULL);
		json_string(j, "name", sampled_name(w->s, i));
		json_string(j, "file", sampled_file(w->s, i));
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

static void put_stack(struct speedscope *w, uint32_t node)
{
	size_t cnt = sampled_frames(w->s, node, w->frames);

	json_array(&w->json, NULL);
	while (cnt-- > 0)
		json_count(&w->json, NULL, w->frames[cnt]);
	json_end(&w->json);
}

/* Time without a sample before that one, which stands for the time up to its tick. */
static uint64_t gap_ns(const struct speedscope *w, const struct sampled_row *row, uint64_t ns,
		       uint64_t at_ns)
{
	uint64_t since_ns = row->time_ns > w->about.start_ns ? row->time_ns - w->about.start_ns : 0;
	uint64_t from_ns = since_ns > ns ? since_ns - ns : 0;

	return w->weight == EXPORT_SAMPLES && from_ns > at_ns ? from_ns - at_ns : 0;
}

/* One of the two arrays that go along with each other. Returns where it ends, ns. */
static uint64_t put_column(struct speedscope *w, const struct sampled_thread *thread, bool stacks)
{
	uint64_t at_ns = 0;

	json_array(&w->json, stacks ? "samples" : "weights");
	for (size_t i = thread->first; i < thread->end; i++) {
		const struct sampled_row *row = &w->s->rows[i];
		uint64_t ns = sampled_ns(w->s->m, w->weight, row->values[w->weight]);
		uint64_t gap = gap_ns(w, row, ns, at_ns);

		if (gap && stacks)
			put_stack(w, 0);
		else if (gap)
			json_count(&w->json, NULL, gap);
		if (stacks)
			put_stack(w, row->node);
		else
			json_count(&w->json, NULL, ns);
		at_ns += gap + ns;
	}
	json_end(&w->json);
	return at_ns;
}

static void put_thread(struct speedscope *w, const struct sampled_thread *thread)
{
	const struct model *m = w->s->m;
	const struct model_thread *t = &m->threads[thread->thread];
	struct json *j = &w->json;
	char name[256];

	snprintf(name, sizeof(name), "%.128s %u: %.64s %u", sampled_process(m, t->process),
		 m->processes[t->process].tgid, t->comm, t->tid);
	json_object(j, NULL);
	json_string(j, "type", "sampled");
	json_string(j, "name", name);
	json_string(j, "unit", "nanoseconds");
	json_count(j, "startValue", 0);
	put_column(w, thread, true);
	json_count(j, "endValue", put_column(w, thread, false));
	json_end(j);
}

static int write_all(struct speedscope *w, FILE *out)
{
	struct json *j = &w->json;
	size_t cnt;
	_cleanup_free_ struct sampled_thread *threads = sampled_threads(w->s, w->weight, &cnt);

	if (!threads)
		return -ENOMEM;
	json_begin_compact(j, out);
	json_string(j, "$schema", SCHEMA);
	json_string(j, "exporter", w->about.text);
	json_string(j, "name", w->s->m->host.name);
	put_frames(w);
	json_array(j, "profiles");
	for (size_t i = 0; i < cnt; i++)
		put_thread(w, &threads[i]);
	json_end(j);
	return json_finish(j);
}

int speedscope_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct sampled *s =
		sampled_new(m, options, SAMPLED_WEIGHT(options->weight), SAMPLED_BY_THREAD);
	struct speedscope *w = calloc(1, sizeof(*w));
	int err = s && w ? 0 : -ENOMEM;

	if (!err) {
		w->s = s;
		w->weight = options->weight;
		about_of(&w->about, m);
		err = write_all(w, out);
	}
	free(w);
	sampled_free(s);
	return err;
}
