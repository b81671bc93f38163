/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "export/otlp_private.h"
#include "export/proto_out.h"
#include "otlp.pb-c.h"

#define PROCESS_ATTRIBUTES 11

static const char *const type_names[EXPORT_WEIGHTS] = {"cpu", "waiting", "blocked"};

/* A process with samples: those of its rows. */
struct process_rows {
	uint32_t process;
	size_t first, end;
	uint64_t total; /* of the weight */
};

static void add_thread(struct otlp *w, uint32_t thread)
{
	char role[ROLE_LABEL_BYTES];

	about_role(role, w->m, thread);
	w->threads[thread] = (struct thread_attributes){{
		otlp_attribute(w, "thread.id", NULL, w->m->threads[thread].tid),
		otlp_attribute(w, "thread.name", w->m->threads[thread].comm, 0),
		otlp_attribute(w, "hotrun.thread.role", role, 0),
	}};
}

/* --- samples --------------------------------------------------------------------------------- */

/* Samples of one profile, and the arrays that their values and times stand in. */
struct samples {
	Otlp__Sample *rows, **pointers;
	int64_t *values;
	uint64_t *times;
	size_t cnt, values_cnt;
};

static int samples_init(struct samples *samples, size_t rows)
{
	samples->rows = calloc(rows + 1, sizeof(*samples->rows));
	samples->pointers = calloc(rows + 1, sizeof(*samples->pointers));
	samples->values = calloc(rows + 1, sizeof(*samples->values));
	samples->times = calloc(rows + 1, sizeof(*samples->times));
	return samples->rows && samples->pointers && samples->values && samples->times ? 0
										       : -ENOMEM;
}

static void samples_free(struct samples *samples)
{
	free(samples->rows);
	free(samples->pointers);
	free(samples->values);
	free(samples->times);
}

/* Wall clock, within the time of the profile. */
static uint64_t unix_ns(const struct otlp *w, uint64_t time_ns)
{
	uint64_t start = (uint64_t)w->about.wall_start_ns;
	uint64_t since = time_ns > w->about.start_ns ? time_ns - w->about.start_ns : 0;

	if (since >= w->about.length_ns)
		since = w->about.length_ns ? w->about.length_ns - 1 : 0;
	return start + since;
}

/* Rows from first to end are of one thread and stack. */
static void add_sample(struct otlp *w, struct samples *samples, enum export_weight weight,
		       size_t first, size_t end)
{
	const struct sampled_row *rows = w->s->rows;
	Otlp__Sample *sample = &samples->rows[samples->cnt];
	size_t before = samples->values_cnt;

	for (size_t i = first; i < end; i++) {
		if (!rows[i].values[weight])
			continue;
		samples->values[samples->values_cnt] =
			(int64_t)sampled_ns(w->m, weight, rows[i].values[weight]);
		samples->times[samples->values_cnt++] = unix_ns(w, rows[i].time_ns);
	}
	if (samples->values_cnt == before)
		return;
	otlp__sample__init(sample);
	sample->stack_index = otlp_stack(w, rows[first].node);
	sample->attribute_indices = w->threads[rows[first].thread].rows;
	sample->n_attribute_indices = THREAD_ATTRIBUTES;
	sample->values = samples->values + before;
	sample->timestamps_unix_nano = samples->times + before;
	sample->n_values = sample->n_timestamps_unix_nano = samples->values_cnt - before;
	samples->pointers[samples->cnt++] = sample;
}

static void take_samples(struct otlp *w, struct samples *samples, enum export_weight weight,
			 const struct process_rows *of)
{
	const struct sampled_row *rows = w->s->rows;

	for (size_t i = of->first, to; i < of->end; i = to) {
		for (to = i; to < of->end && rows[to].thread == rows[i].thread &&
			     rows[to].node == rows[i].node;)
			to++;
		if (!w->threads[rows[i].thread].rows[0])
			add_thread(w, rows[i].thread);
		add_sample(w, samples, weight, i, to);
	}
}

/* --- a process ------------------------------------------------------------------------------- */

struct profile {
	Otlp__Profile of;
	Otlp__ValueType type, period;
	struct samples samples;
};

static int take_profile(struct otlp *w, struct profile *p, enum export_weight weight,
			const struct process_rows *of)
{
	int err = samples_init(&p->samples, of->end - of->first);

	if (err)
		return err;
	otlp__profile__init(&p->of);
	otlp__value_type__init(&p->type);
	otlp__value_type__init(&p->period);
	p->type.type_strindex = (int32_t)otlp_string(w, type_names[weight]);
	p->type.unit_strindex = p->period.unit_strindex = (int32_t)otlp_string(w, "nanoseconds");
	p->period.type_strindex = (int32_t)otlp_string(w, "cpu");
	take_samples(w, &p->samples, weight, of);
	p->of.sample_type = &p->type;
	p->of.samples = p->samples.pointers;
	p->of.n_samples = p->samples.cnt;
	p->of.time_unix_nano = (uint64_t)w->about.wall_start_ns;
	p->of.duration_nano = w->about.length_ns;
	if (weight != EXPORT_BLOCKED) {
		p->of.period_type = &p->period;
		p->of.period = (int64_t)sampled_tick_ns(w->m);
	}
	return w->err;
}

struct resource {
	Otlp__Resource of;
	Otlp__KeyValue rows[PROCESS_ATTRIBUTES], *pointers[PROCESS_ATTRIBUTES];
	Otlp__AnyValue values[PROCESS_ATTRIBUTES];
};

/* A text, or with NULL a number. "" is left out. */
static void add_fact(struct resource *r, const char *key, char *text, int64_t value)
{
	size_t i = r->of.n_attributes;

	if (text && !*text)
		return;
	otlp__key_value__init(&r->rows[i]);
	otlp__any_value__init(&r->values[i]);
	r->values[i].value_case =
		text ? OTLP__ANY_VALUE__VALUE_STRING_VALUE : OTLP__ANY_VALUE__VALUE_INT_VALUE;
	if (text)
		r->values[i].string_value = text;
	else
		r->values[i].int_value = value;
	r->rows[i].key = (char *)key;
	r->rows[i].value = &r->values[i];
	r->pointers[i] = &r->rows[i];
	r->of.n_attributes++;
}

/* Made safe, and kept until the end. */
static char *text_of(struct otlp *w, const char *text)
{
	uint32_t n = otlp_string(w, text);

	return n < w->strings.rows_cnt ? w->strings.rows[n] : (char *)"";
}

/* process MODEL_NONE: of the host alone. */
static void take_resource(struct otlp *w, struct resource *r, uint32_t process)
{
	const struct model_process *p;
	const struct verdict_row *verdict;

	otlp__resource__init(&r->of);
	r->of.attributes = r->pointers;
	add_fact(r, "host.name", text_of(w, w->m->host.name), 0);
	add_fact(r, "os.type", (char *)"linux", 0);
	if (process == MODEL_NONE)
		return;
	p = &w->m->processes[process];
	add_fact(r, "process.pid", NULL, p->tgid);
	add_fact(r, "service.name", text_of(w, sampled_process(w->m, process)), 0);
	add_fact(r, "process.executable.path", text_of(w, p->exe), 0);
	add_fact(r, "container.id", text_of(w, p->container_id), 0);
	add_fact(r, "container.name", text_of(w, p->container_name), 0);
	add_fact(r, "k8s.pod.name", text_of(w, p->pod), 0);
	add_fact(r, "k8s.namespace.name", text_of(w, p->namespace), 0);
	verdict = judgement_find(&w->judgement, process);
	if (verdict)
		add_fact(r, "hotrun.verdict", (char *)verdict_id(verdicts_result(verdict)->verdict),
			 0);
}

static void put_resource(struct otlp *w, struct resource *r, Otlp__Profile **profiles, size_t cnt)
{
	Otlp__ProfilesData data = OTLP__PROFILES_DATA__INIT;
	Otlp__ResourceProfiles of = OTLP__RESOURCE_PROFILES__INIT, *ofs = &of;
	Otlp__ScopeProfiles scope = OTLP__SCOPE_PROFILES__INIT, *scopes = &scope;
	Otlp__InstrumentationScope by = OTLP__INSTRUMENTATION_SCOPE__INIT;

	by.name = (char *)"hotrun";
	by.version = text_of(w, w->m->host.version);
	scope.scope = &by;
	scope.profiles = profiles;
	scope.n_profiles = cnt;
	of.resource = &r->of;
	of.scope_profiles = &scopes;
	of.n_scope_profiles = 1;
	data.resource_profiles = &ofs;
	data.n_resource_profiles = 1;
	proto_put(w->out, &data.base);
}

/* The weight that is asked for is the first profile. */
static int put_process(struct otlp *w, const struct process_rows *of)
{
	struct profile profiles[EXPORT_WEIGHTS] = {0};
	Otlp__Profile *pointers[EXPORT_WEIGHTS];
	struct resource resource = {0};
	size_t cnt = 0;
	int err = 0;

	for (int i = 0; !err && i < EXPORT_WEIGHTS; i++) {
		enum export_weight weight =
			(enum export_weight)((w->o->weight + (unsigned int)i) % EXPORT_WEIGHTS);

		if (!w->known[weight])
			continue;
		err = take_profile(w, &profiles[cnt], weight, of);
		pointers[cnt] = &profiles[cnt].of;
		cnt++;
	}
	if (!err) {
		take_resource(w, &resource, of->process);
		put_resource(w, &resource, pointers, cnt);
	}
	for (size_t i = 0; i < EXPORT_WEIGHTS; i++)
		samples_free(&profiles[i].samples);
	return err ? err : w->err;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_rows *x = a, *y = b;
	int c = COMPARE(y->total, x->total);

	return c ? c : COMPARE(x->process, y->process);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct sampled_row *x = a, *y = b;
	const struct model *m = arg;
	int c = COMPARE(m->threads[x->thread].process, m->threads[y->thread].process);

	if (!c)
		c = COMPARE(x->thread, y->thread);
	if (!c)
		c = COMPARE(x->node, y->node);
	return c ? c : COMPARE(x->time_ns, y->time_ns);
}

static int put_processes(struct otlp *w)
{
	struct process_rows *processes = calloc(w->m->processes_cnt + 1, sizeof(*processes));
	const struct sampled_row *rows = w->s->rows;
	size_t cnt = 0;
	int err = processes ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < w->s->rows_cnt; i++) {
		uint32_t process = w->m->threads[rows[i].thread].process;

		if (!cnt || processes[cnt - 1].process != process)
			processes[cnt++] = (struct process_rows){process, i, i, 0};
		processes[cnt - 1].end = i + 1;
		processes[cnt - 1].total += rows[i].values[w->o->weight];
	}
	if (cnt)
		qsort(processes, cnt, sizeof(*processes), compare_processes);
	else if (!err) /* there has to be one: of the host, without samples */
		err = put_process(w, &(struct process_rows){.process = MODEL_NONE});
	for (size_t i = 0; !err && i < cnt; i++)
		err = put_process(w, &processes[i]);
	free(processes);
	return err;
}

/* --- all together ---------------------------------------------------------------------------- */

static int prepare(struct otlp *w)
{
	unsigned int wanted = about_known(w->m, w->o, w->known);
	int err = judgement_of(&w->judgement, w->m, true, NULL, NULL);

	if (err)
		return err;
	about_of(&w->about, w->m);
	w->s = sampled_new(w->m, w->o, wanted, SAMPLED_BY_STACK);
	if (!w->s)
		return -errno;
	if (w->s->rows_cnt)
		qsort_r(w->s->rows, w->s->rows_cnt, sizeof(*w->s->rows), compare_rows, w->m);
	w->stack = calloc(w->s->forest.nodes_cnt + 1, sizeof(*w->stack));
	w->threads = calloc(w->m->threads_cnt + 1, sizeof(*w->threads));
	if (!w->stack || !w->threads)
		return -ENOMEM;
	otlp_string(w, "");
	return otlp_take_frames(w);
}

static int write_all(struct otlp *w)
{
	int err = prepare(w);

	if (!err)
		err = put_processes(w);
	if (!err)
		err = otlp_put_dictionary(w);
	if (!err && (fflush(w->out) || ferror(w->out)))
		err = -EIO;
	return err;
}

int otlp_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct otlp *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->out = out;
	w->m = m;
	w->o = options;
	err = write_all(w);
	strings_clear(&w->strings);
	hash_clear(&w->mapping_index);
	judgement_clear(&w->judgement);
	sampled_free(w->s);
	free(w->attributes);
	free(w->mappings);
	free(w->frame_mapping);
	free(w->nodes);
	free(w->stack);
	free(w->threads);
	free(w);
	return err;
}
