/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/sampled.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "bpf/events.h"
#include "judge/blocked.h"
#include "model/harm.h"
#include "model/paths.h"

#define NS_S	      1000000000ull
#define NS_MS	      1000000ull
#define NOT_LOOKED_UP (MODEL_NONE - 1)

struct builder {
	struct model *m;
	struct sampled *s; /* NULL: sums alone are wanted */
	const struct export_options *o;
	unsigned int wanted;
	bool blocked; /* the samples of the model are blocked time now */
	uint64_t (*of_thread)[EXPORT_WEIGHTS];
	uint32_t frames[RESOLVE_MAX_FRAMES];
};

static bool frame_equal(const void *owner, uint32_t row, const void *key)
{
	const struct sampled_frame *a = &((const struct sampled *)owner)->frames[row], *b = key;

	return a->symbol == b->symbol && a->module == b->module && a->address == b->address;
}

/* 0 or -ENOMEM. */
static int frame_get(struct sampled *s, const struct sampled_frame *frame, uint32_t *ret_row)
{
	uint64_t hash = hash_pair(hash_pair(frame->symbol, frame->module), frame->address);
	uint32_t row = hash_find(&s->frame_index, hash, frame_equal, s, frame);
	int err;

	if (row == HASH_NONE) {
		row = (uint32_t)s->frames_cnt;
		err = GROW(s->frames, s->frames_cnt, s->frames_cap);
		if (!err)
			err = hash_add(&s->frame_index, hash, row);
		if (err)
			return err;
		s->frames[s->frames_cnt++] = *frame;
	}
	*ret_row = row;
	return 0;
}

/* The file that a location lies in. */
static uint32_t module_at(struct sampled *s, uint32_t location, uint64_t time_ns)
{
	const struct model_location *l = &s->m->locations[location];
	const struct model_mapping *mapping;

	if (l->process == MODEL_NONE || location >= s->modules_cnt)
		return MODEL_NONE;
	if (s->modules[location] == NOT_LOOKED_UP) {
		mapping = model_mapping_find(s->m, l->process, l->address, time_ns);
		s->modules[location] =
			mapping && mapping->kind == MAPPING_FILE ? mapping->module : MODEL_NONE;
	}
	return s->modules[location];
}

static int frame_of(struct builder *b, const struct paths *p, size_t i, uint32_t *ret_row)
{
	uint32_t location = p->locations[i];
	struct sampled_frame frame = {.symbol = p->methods[i], .module = MODEL_NONE};
	enum model_kind kind = b->s->m->symbols[frame.symbol].kind;

	if (location != MODEL_NONE) {
		if (kind == KIND_NATIVE || kind == KIND_IMAGE)
			frame.module =
				module_at(b->s, location, b->s->m->samples[p->sample].time_ns);
		if (b->wanted & SAMPLED_ADDRESSES)
			frame.address = b->s->m->locations[location].address;
	}
	return frame_get(b->s, &frame, ret_row);
}

/* What the sample counts of each weight that is wanted. False: nothing. */
static bool values_of(const struct builder *b, const struct model_sample *sample, uint64_t *values)
{
	bool any = false;

	memset(values, 0, EXPORT_WEIGHTS * sizeof(*values));
	if (b->blocked) {
		values[EXPORT_BLOCKED] = model_weight(sample);
	} else {
		values[EXPORT_SAMPLES] = model_weight(sample);
		values[EXPORT_WAITERS] = harm_of(sample);
	}
	for (int i = 0; i < EXPORT_WEIGHTS; i++) {
		if (!(b->wanted & SAMPLED_WEIGHT(i)))
			values[i] = 0;
		any |= values[i];
	}
	return any;
}

static int add_row(struct builder *b, const struct paths *p, const uint64_t *values, uint32_t node)
{
	const struct model_sample *sample = &b->s->m->samples[p->sample];
	struct sampled *s = b->s;
	int err = GROW(s->rows, s->rows_cnt, s->rows_cap);

	if (err)
		return err;
	s->rows[s->rows_cnt] = (struct sampled_row){
		.time_ns = sample->time_ns,
		.thread = p->thread,
		.node = node,
		.cpu = sample->cpu,
		.waiters_unknown = b->blocked || sample->waiters == WAITERS_UNKNOWN};
	memcpy(s->rows[s->rows_cnt++].values, values, EXPORT_WEIGHTS * sizeof(*values));
	return 0;
}

/* nodes: by `first` of paths, where such a stack ends. */
static int node_of(struct builder *b, struct paths *p, uint64_t weight, uint32_t *nodes,
		   uint32_t *ret_node)
{
	struct sampled *s = b->s;
	uint64_t cut = s->forest.cut;
	int err = 0;

	if (!paths_is_new(p, nodes)) {
		*ret_node = nodes[p->first];
		forest_add_again(&s->forest, *ret_node, weight);
		return 0;
	}
	for (size_t i = 0; !err && i < p->methods_cnt; i++)
		err = frame_of(b, p, i, &b->frames[i]);
	if (!err)
		err = forest_add(&s->forest, s->m->threads[p->thread].process, b->frames,
				 p->methods_cnt, weight, ret_node);
	if (!err && s->forest.cut == cut)
		nodes[p->first] = *ret_node;
	return err;
}

static int add_sample(struct builder *b, struct paths *p, uint32_t *nodes)
{
	struct sampled *s = b->s;
	uint64_t values[EXPORT_WEIGHTS];
	uint32_t node;
	int err;

	if (!values_of(b, &s->m->samples[p->sample], values))
		return 0;
	err = node_of(b, p, values[b->o->weight], nodes, &node);
	if (!err && !(b->wanted & SAMPLED_NO_ROWS))
		err = add_row(b, p, values, node);
	for (int i = 0; !err && i < EXPORT_WEIGHTS; i++)
		s->totals[i] += values[i];
	return err;
}

static int gather(struct builder *b)
{
	_cleanup_free_ uint32_t *nodes = paths_numbers(b->s->m->samples_cnt);
	struct paths paths = {0};
	int err = nodes ? paths_begin_of(&paths, b->s->m, b->o->wanted,
					 PATHS_ONCE | (b->o->addresses ? 0 : PATHS_FOLD_UNNAMED))
			: -ENOMEM;

	while (!err && paths_next(&paths))
		err = add_sample(b, &paths, nodes);
	paths_end(&paths);
	return err;
}

/* The same without their stacks. */
static int gather_sums(struct builder *b)
{
	const struct model *m = b->m;

	for (size_t i = 0; i < m->samples_cnt; i++) {
		const struct model_sample *sample = &m->samples[i];
		uint64_t values[EXPORT_WEIGHTS];

		if (sample->kind != SAMPLE_ON_CPU ||
		    !export_wants(b->o, m->threads[sample->thread].process) ||
		    !values_of(b, sample, values))
			continue;
		for (int k = 0; k < EXPORT_WEIGHTS; k++)
			b->of_thread[sample->thread][k] += values[k];
	}
	return 0;
}

/* Blocked time stands in the place of the samples meanwhile. */
static int gather_blocked(struct builder *b, int (*gather_these)(struct builder *b))
{
	struct model *m = b->m;
	struct model_sample *samples = m->samples;
	size_t cnt = m->samples_cnt, cap = m->samples_cap;
	int err;

	m->samples = NULL;
	m->samples_cnt = m->samples_cap = 0;
	err = blocked_as_samples(m, b->o->idle);
	b->blocked = true;
	if (!err)
		err = gather_these(b);
	free(m->samples);
	m->samples = samples;
	m->samples_cnt = cnt;
	m->samples_cap = cap;
	return err;
}

static int compare_times(const void *a, const void *b)
{
	const struct sampled_row *x = a, *y = b;
	int c = COMPARE(x->time_ns, y->time_ns);

	if (!c)
		c = COMPARE(x->thread, y->thread);
	return c ? c : COMPARE(x->node, y->node);
}

static int compare_threads(const void *a, const void *b)
{
	const struct sampled_row *x = a, *y = b;
	int c = COMPARE(x->thread, y->thread);

	return c ? c : compare_times(a, b);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct sampled_row *x = a, *y = b;
	int c = COMPARE(x->thread, y->thread);

	if (!c)
		c = COMPARE(x->node, y->node);
	return c ? c : COMPARE(x->time_ns, y->time_ns);
}

static void sort(struct sampled *s, enum sampled_order order)
{
	static int (*const compare[])(const void *a, const void *b) = {
		[SAMPLED_BY_TIME] = compare_times,
		[SAMPLED_BY_THREAD] = compare_threads,
		[SAMPLED_BY_STACK] = compare_stacks,
	};

	if (s->rows_cnt)
		qsort(s->rows, s->rows_cnt, sizeof(*s->rows), compare[order]);
}

static int gather_all(struct builder *b, int (*gather_these)(struct builder *b))
{
	unsigned int on_cpu = SAMPLED_WEIGHT(EXPORT_SAMPLES) | SAMPLED_WEIGHT(EXPORT_WAITERS);
	int err = b->wanted & on_cpu ? gather_these(b) : 0;

	if (!err && b->wanted & SAMPLED_WEIGHT(EXPORT_BLOCKED))
		err = gather_blocked(b, gather_these);
	return err;
}

static int build(struct builder *b)
{
	struct sampled *s = b->s;

	s->modules_cnt = s->m->locations_cnt;
	s->modules = malloc((s->modules_cnt + 1) * sizeof(*s->modules));
	if (!s->modules)
		return -ENOMEM;
	for (size_t i = 0; i < s->modules_cnt; i++)
		s->modules[i] = NOT_LOOKED_UP;
	return gather_all(b, gather);
}

struct sampled *sampled_new(struct model *m, const struct export_options *options,
			    unsigned int wanted, enum sampled_order order)
{
	struct sampled *s = calloc(1, sizeof(*s));
	struct builder *b = calloc(1, sizeof(*b));
	int err = s && b ? 0 : -ENOMEM;

	if (!err) {
		s->m = m;
		*b = (struct builder){.m = m, .s = s, .o = options, .wanted = wanted};
		err = build(b);
	}
	free(b);
	if (err) {
		sampled_free(s);
		errno = -err;
		return NULL;
	}
	sort(s, order);
	return s;
}

int sampled_sums(struct model *m, const struct export_options *options, unsigned int wanted,
		 uint64_t (*ret_of_thread)[EXPORT_WEIGHTS])
{
	struct builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct builder){.m = m, .o = options, .wanted = wanted, .of_thread = ret_of_thread};
	err = gather_all(b, gather_sums);
	free(b);
	return err;
}

void sampled_free(struct sampled *s)
{
	if (!s)
		return;
	forest_clear(&s->forest);
	hash_clear(&s->frame_index);
	free(s->modules);
	free(s->frames);
	free(s->rows);
	free(s);
}

size_t sampled_frames(const struct sampled *s, uint32_t node, uint32_t *frames)
{
	size_t cnt = 0;

	/* Neither the root nor the node of a process, which is right below it. */
	while (node && s->forest.nodes[node].parent && s->forest.nodes[node].parent != HASH_NONE) {
		frames[cnt++] = s->forest.nodes[node].key;
		node = s->forest.nodes[node].parent;
	}
	return cnt;
}

static int compare_totals(const void *a, const void *b)
{
	const struct sampled_thread *x = a, *y = b;
	int c = COMPARE(y->total, x->total);

	return c ? c : COMPARE(x->thread, y->thread);
}

struct sampled_thread *sampled_threads(const struct sampled *s, enum export_weight weight,
				       size_t *ret_cnt)
{
	struct sampled_thread *threads;
	size_t cnt = 0;

	for (size_t i = 0; i < s->rows_cnt; i++)
		cnt += !i || s->rows[i].thread != s->rows[i - 1].thread;
	threads = calloc(cnt + 1, sizeof(*threads));
	if (!threads)
		return NULL;
	cnt = 0;
	for (size_t i = 0; i < s->rows_cnt; i++) {
		if (!i || s->rows[i].thread != s->rows[i - 1].thread)
			threads[cnt++] = (struct sampled_thread){s->rows[i].thread, i, i, 0};
		threads[cnt - 1].end = i + 1;
		threads[cnt - 1].total += s->rows[i].values[weight];
	}
	if (cnt)
		qsort(threads, cnt, sizeof(*threads), compare_totals);
	*ret_cnt = cnt;
	return threads;
}

const char *sampled_name(const struct sampled *s, uint32_t frame)
{
	const char *name = s->m->symbols[s->frames[frame].symbol].name;

	return *name ? name : "[unnamed]";
}

const char *sampled_file(const struct sampled *s, uint32_t frame)
{
	const struct sampled_frame *f = &s->frames[frame];
	const char *file = f->module == MODEL_NONE ? method_module(s->m, &s->m->symbols[f->symbol])
						   : s->m->modules[f->module].path;

	return *file ? file : "[unknown]";
}

uint64_t sampled_tick_ns(const struct model *m)
{
	return m->host.sample_hz ? NS_S / m->host.sample_hz : NS_S;
}

uint64_t sampled_ns(const struct model *m, enum export_weight weight, uint64_t value)
{
	return value * (weight == EXPORT_BLOCKED ? NS_MS : sampled_tick_ns(m));
}

int64_t sampled_wall_offset_ns(const struct model *m, uint64_t time_ns)
{
	return m->slices_cnt ? m->slices[model_slice_at(m, time_ns)].wall_offset_ns : 0;
}
