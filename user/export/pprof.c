/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "export/about.h"
#include "export/proto_out.h"
#include "export/sampled.h"
#include "export/strings.h"
#include "judge/judgement.h"
#include "model/resolve.h"
#include "pprof.pb-c.h"

/* Values of a sample, in this order; `samples` and `cpu` are told of the same weight. */
#define VALUES	   (EXPORT_WEIGHTS + 1)
#define LABELS_MAX 7

struct pprof {
	FILE *out;
	struct model *m;
	struct sampled *s;
	struct judgement judgement;
	struct strings strings;
	bool known[EXPORT_WEIGHTS];
	uint8_t *frame_done; /* by frame: its location is written */
	/* Mappings by their file: strings' number of the path and of the build id. */
	MODEL_TABLE(struct mapping_key, mappings);
	struct hash_index mapping_index;
	Pprof__Label labels[LABELS_MAX];
	Pprof__Label *label_rows[LABELS_MAX];
	size_t labels_cnt;
	uint32_t frames[RESOLVE_MAX_FRAMES];
	uint64_t locations[RESOLVE_MAX_FRAMES];
	int err;
};

struct mapping_key {
	uint32_t file, build_id;
};

static void put_profile(struct pprof *w, const Pprof__Profile *profile)
{
	proto_put(w->out, &profile->base);
}

/* New strings go out at once: readers append them to their table. */
static void put_string(void *ctx, uint32_t number, const char *string)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	char *row = (char *)string;

	(void)number;
	profile.string_table = &row;
	profile.n_string_table = 1;
	put_profile(ctx, &profile);
}

/* After an error 0, "". */
static int64_t number(struct pprof *w, const char *string)
{
	uint32_t n = 0;
	int err = strings_number(&w->strings, string, &n);

	if (err)
		w->err = err;
	return n;
}

/* --- what it is of --------------------------------------------------------------------------- */

static void put_type(struct pprof *w, const char *type, const char *unit)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType row = PPROF__VALUE_TYPE__INIT, *rows = &row;

	row.type = number(w, type);
	row.unit = number(w, unit);
	profile.sample_type = &rows;
	profile.n_sample_type = 1;
	put_profile(w, &profile);
}

static const char *const type_names[EXPORT_WEIGHTS] = {"cpu", "waiting", "blocked"};

static void put_head(struct pprof *w, enum export_weight weight)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType period = PPROF__VALUE_TYPE__INIT;
	struct export_about about;
	int64_t comment;

	about_of(&about, w->m);
	number(w, "");
	put_type(w, "samples", "count");
	for (int i = 0; i < EXPORT_WEIGHTS; i++)
		if (w->known[i])
			put_type(w, type_names[i], "nanoseconds");
	period.type = number(w, "cpu");
	period.unit = number(w, "nanoseconds");
	profile.period_type = &period;
	profile.period = (int64_t)sampled_tick_ns(w->m);
	profile.time_nanos = about.wall_start_ns;
	profile.duration_nanos = (int64_t)about.length_ns;
	profile.default_sample_type = number(w, type_names[weight]);
	comment = number(w, about.text);
	profile.comment = &comment;
	profile.n_comment = 1;
	put_profile(w, &profile);
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool mapping_equal(const void *owner, uint32_t row, const void *key)
{
	const struct mapping_key *a = &((const struct pprof *)owner)->mappings[row], *b = key;

	return a->file == b->file && a->build_id == b->build_id;
}

static int add_mapping(struct pprof *w, uint64_t hash, const struct mapping_key *key)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Mapping row = PPROF__MAPPING__INIT, *rows = &row;
	int err = GROW(w->mappings, w->mappings_cnt, w->mappings_cap);

	if (!err)
		err = hash_add(&w->mapping_index, hash, (uint32_t)w->mappings_cnt);
	if (err)
		return err;
	w->mappings[w->mappings_cnt++] = *key;
	row.id = w->mappings_cnt;
	row.filename = key->file;
	row.build_id = key->build_id;
	row.has_functions = true;
	profile.mapping = &rows;
	profile.n_mapping = 1;
	put_profile(w, &profile);
	return 0;
}

/* Its id. */
static uint64_t mapping_get(struct pprof *w, const char *file, const char *build_id)
{
	struct mapping_key key = {(uint32_t)number(w, file), (uint32_t)number(w, build_id)};
	uint64_t hash = hash_pair(key.file, key.build_id);
	uint32_t row = hash_find(&w->mapping_index, hash, mapping_equal, w, &key);
	int err;

	if (row != HASH_NONE)
		return row + 1;
	err = add_mapping(w, hash, &key);
	if (err)
		w->err = err;
	return w->mappings_cnt;
}

/* The location of a frame and its function, which have the number of its row. */
static void put_location(struct pprof *w, uint32_t frame)
{
	const struct sampled_frame *f = &w->s->frames[frame];
	const struct model_symbol *symbol = &w->m->symbols[f->symbol];
	char build_id[ABOUT_BUILD_ID_BYTES] = "";
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *functions = &function;
	Pprof__Location location = PPROF__LOCATION__INIT, *locations = &location;
	Pprof__Line line = PPROF__LINE__INIT, *lines = &line;

	if (f->module != MODEL_NONE)
		about_build_id(build_id, &w->m->modules[f->module]);
	function.id = location.id = line.function_id = (uint64_t)frame + 1;
	function.name = number(w, sampled_name(w->s, frame));
	function.system_name = number(w, *symbol->raw ? symbol->raw : symbol->name);
	location.mapping_id = mapping_get(w, sampled_file(w->s, frame), build_id);
	location.line = &lines;
	location.n_line = 1;
	profile.function = &functions;
	profile.n_function = 1;
	profile.location = &locations;
	profile.n_location = 1;
	put_profile(w, &profile);
	w->frame_done[frame] = true;
}

/* --- samples --------------------------------------------------------------------------------- */

static void add_label(struct pprof *w, const char *key, const char *value)
{
	Pprof__Label *label = &w->labels[w->labels_cnt];

	if (!*value)
		return;
	pprof__label__init(label);
	label->key = number(w, key);
	label->str = number(w, value);
	w->label_rows[w->labels_cnt++] = label;
}

static void label_thread(struct pprof *w, uint32_t thread)
{
	const struct model_thread *t = &w->m->threads[thread];
	const struct model_process *p = &w->m->processes[t->process];
	const struct verdict_row *verdict = judgement_find(&w->judgement, t->process);
	char role[ROLE_LABEL_BYTES], id[16];

	w->labels_cnt = 0;
	add_label(w, "process", sampled_process(w->m, t->process));
	snprintf(id, sizeof(id), "%u", p->tgid);
	add_label(w, "pid", id);
	add_label(w, "thread", t->comm);
	snprintf(id, sizeof(id), "%u", t->tid);
	add_label(w, "tid", id);
	about_role(role, w->m, thread);
	add_label(w, "role", role);
	add_label(w, "pod", p->pod);
	if (verdict)
		add_label(w, "verdict", verdict_id(verdicts_result(verdict)->verdict));
}

static void put_sample(struct pprof *w, const struct sampled_row *row, const uint64_t *sums)
{
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
	int64_t values[VALUES];
	size_t cnt = sampled_frames(w->s, row->node, w->frames);

	for (size_t i = 0; i < cnt; i++) {
		if (!w->frame_done[w->frames[i]])
			put_location(w, w->frames[i]);
		w->locations[i] = (uint64_t)w->frames[i] + 1;
	}
	values[sample.n_value++] = (int64_t)sums[EXPORT_SAMPLES];
	for (int i = 0; i < EXPORT_WEIGHTS; i++)
		if (w->known[i])
			values[sample.n_value++] =
				(int64_t)sampled_ns(w->m, (enum export_weight)i, sums[i]);
	sample.value = values;
	sample.location_id = w->locations;
	sample.n_location_id = cnt;
	sample.label = w->label_rows;
	sample.n_label = w->labels_cnt;
	profile.sample = &samples;
	profile.n_sample = 1;
	put_profile(w, &profile);
}

/* Rows are ordered by thread, then by stack. */
static void put_samples(struct pprof *w)
{
	const struct sampled_row *rows = w->s->rows;
	uint32_t thread = MODEL_NONE;

	for (size_t i = 0, to; !w->err && i < w->s->rows_cnt; i = to) {
		uint64_t sums[EXPORT_WEIGHTS] = {0};

		for (to = i; to < w->s->rows_cnt && rows[to].thread == rows[i].thread &&
			     rows[to].node == rows[i].node;
		     to++)
			for (int k = 0; k < EXPORT_WEIGHTS; k++)
				sums[k] += rows[to].values[k];
		if (rows[i].thread != thread)
			label_thread(w, rows[i].thread);
		thread = rows[i].thread;
		put_sample(w, &rows[i], sums);
	}
}

static int prepare(struct pprof *w, const struct export_options *options)
{
	unsigned int wanted = about_known(w->m, options, w->known);
	int err = judgement_of(&w->judgement, w->m, true, NULL, NULL);

	if (err)
		return err;
	w->s = sampled_new(w->m, options, wanted, SAMPLED_BY_STACK);
	if (!w->s)
		return -errno;
	w->frame_done = calloc(w->s->frames_cnt + 1, sizeof(*w->frame_done));
	return w->frame_done ? 0 : -ENOMEM;
}

static int write_all(struct pprof *w, FILE *out, const struct export_options *options)
{
	int err = prepare(w, options);

	if (err)
		return err;
	w->out = gzip_open(out);
	if (!w->out)
		return -errno;
	put_head(w, options->weight);
	/* The first mapping is what the profile is named after. */
	mapping_get(w, about_subject(w->m, options), "");
	put_samples(w);
	if (fclose(w->out) && !w->err)
		w->err = -EIO;
	return w->err;
}

int pprof_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct pprof *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->m = m;
	w->strings.on_new = put_string;
	w->strings.ctx = w;
	err = write_all(w, out, options);
	strings_clear(&w->strings);
	hash_clear(&w->mapping_index);
	judgement_clear(&w->judgement);
	sampled_free(w->s);
	free(w->mappings);
	free(w->frame_done);
	free(w);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
