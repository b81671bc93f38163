/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the data block: samples in the order of their time, their stacks, their threads. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "bpf/events.h"
#include "judge/blocked.h"
#include "judge/role.h"
#include "model/frame_book.h"
#include "model/paths.h"
#include "output/flame_internal.h"

struct sample {
	uint64_t time_ns;
	uint64_t weight; /* never 0 */
	uint32_t node, thread, waiters;
};

struct samples {
	struct sample *rows; /* by row of the model's, until all are gathered */
	size_t rows_cnt;
};

static int add_tiers(struct flame_data *d, struct method_map *map)
{
	struct frame_book book = {0};
	int err = frame_book_fill(&book, d->m, MODEL_NONE);

	for (uint32_t i = 0; !err && i < d->m->locations_cnt; i++) {
		const struct model_location *l = &d->m->locations[i];

		if (book.passed[i] && (*l->tier || l->flags & LOCATION_LATER))
			err = flame_count_tier(d, method_of(map, d->m, l->symbol), l,
					       book.passed[i]);
	}
	frame_book_clear(&book);
	return err;
}

/* nodes: by row of samples, where their stack ends, MODEL_NONE = to be found. */
static int find_node(struct flame_data *d, struct paths *p, uint64_t weight, uint32_t *nodes,
		     uint32_t *ret_node)
{
	uint32_t process = d->m->threads[p->thread].process, *known = &nodes[p->first];
	uint64_t cut = d->forest.cut;
	int err;

	if (!paths_is_new(p, nodes)) {
		forest_add_again(&d->forest, *known, weight);
		*ret_node = *known;
		return 0;
	}
	err = forest_add(&d->forest, process, p->methods, p->methods_cnt, weight, ret_node);
	if (!err && d->forest.cut == cut)
		*known = *ret_node;
	return err;
}

static int add_sample(struct flame_data *d, struct paths *p, struct samples *samples,
		      uint32_t *nodes, bool blocked)
{
	const struct model_sample *sample = &d->m->samples[p->sample];
	uint64_t weight = model_weight(sample);
	uint32_t node = 0;
	int err = find_node(d, p, weight, nodes, &node);

	if (err)
		return err;
	samples->rows[p->sample] = (struct sample){
		.time_ns = sample->time_ns,
		.weight = weight,
		.node = node,
		.thread = p->thread,
		.waiters = sample->waiters,
	};
	(blocked ? d->blocked_ms : d->cpu_samples)[d->m->threads[p->thread].process] += weight;
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const struct sample *sa = a, *sb = b;
	int c = COMPARE(sa->time_ns, sb->time_ns);

	return c ? c : COMPARE(sa->thread, sb->thread);
}

static int gather_with(struct flame_data *d, struct samples *samples, uint32_t *nodes, bool blocked)
{
	struct paths paths = {0};
	int err = paths_begin(&paths, d->m, MODEL_NONE,
			      PATHS_ONCE | (d->options->addresses ? 0 : PATHS_FOLD_UNNAMED));

	while (!err && paths_next(&paths))
		err = add_sample(d, &paths, samples, nodes, blocked);
	if (!err && !blocked)
		err = add_tiers(d, &paths.map);
	paths_end(&paths);
	return err;
}

/* Those that were filled, from the order of the capture, which is nearly that of time. */
static void sort(struct samples *samples, size_t room)
{
	bool sorted = true;

	for (size_t i = 0; i < room; i++) {
		struct sample *last = &samples->rows[samples->rows_cnt];

		if (!samples->rows[i].weight)
			continue;
		*last = samples->rows[i];
		if (samples->rows_cnt++)
			sorted &= compare_times(last - 1, last) <= 0;
	}
	if (!sorted)
		qsort(samples->rows, samples->rows_cnt, sizeof(*samples->rows), compare_times);
}

static int gather(struct flame_data *d, struct samples *samples, bool blocked)
{
	size_t room = d->m->samples_cnt;
	_cleanup_free_ uint32_t *nodes = paths_numbers(room);
	int err;

	samples->rows = calloc(room + 1, sizeof(*samples->rows));
	err = nodes && samples->rows ? gather_with(d, samples, nodes, blocked) : -ENOMEM;
	if (!err)
		sort(samples, room);
	return err;
}

/* Blocked time is put in the place of the samples of m. */
static int gather_blocked(struct flame_data *d, struct samples *samples)
{
	int err;

	if (model_off(d->m) & OFF_STANDS || !d->m->stands_cnt)
		return 0;
	d->has_blocked = true;
	err = blocked_as_samples(d->m, d->options->idle);
	return err ? err : gather(d, samples, true);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* Processes by their CPU samples, then by their blocked time; frames as they come. */
static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	const struct flame_data *d = arg;
	int c;

	if (level)
		return COMPARE(b->total, a->total);
	c = COMPARE(d->cpu_samples[b->key], d->cpu_samples[a->key]);
	if (!c)
		c = COMPARE(d->blocked_ms[b->key], d->blocked_ms[a->key]);
	return c ? c : COMPARE(d->m->processes[a->key].tgid, d->m->processes[b->key].tgid);
}

static int put_process_node(struct flame_data *d, uint32_t process)
{
	int err = GROW(d->processes, d->processes_cnt, d->processes_cap);

	if (err)
		return err;
	d->process_number[process] = (uint32_t)d->processes_cnt;
	FLAME_PUT(d, NODE_SYMBOL, d->processes_cnt);
	d->processes[d->processes_cnt++] = process;
	return 0;
}

/* All in preorder; numbers[node] is what it is called in the block. */
static int put_nodes(struct flame_data *d, uint32_t *numbers)
{
	const struct forest *f = &d->forest;
	size_t depth = 0, before = 0;
	uint32_t cnt = 0;
	int err = 0;

	if (!f->nodes_cnt)
		return 0;
	for (uint32_t node = 0; !err && (node = forest_next(f, 0, node, &depth)) != HASH_NONE;) {
		uint32_t number;

		numbers[node] = cnt++;
		FLAME_PUT(d, NODE_UP, before + 1 - depth);
		before = depth;
		if (depth == 1) {
			err = put_process_node(d, f->nodes[node].key);
			continue;
		}
		err = flame_symbol(d, f->nodes[node].key, &number);
		if (!err)
			FLAME_PUT(d, NODE_SYMBOL, number);
	}
	return err;
}

/* --- threads and samples --------------------------------------------------------------------- */

static int put_role(struct flame_data *d, const struct model_thread *t)
{
	enum role role = role_of(t->comm, t->tid == d->m->processes[t->process].tgid);
	char own[ROLE_LABEL_BYTES];
	uint32_t number;
	int err;

	if (role == ROLE_OWN) {
		role_fold_digits(own, sizeof(own), t->comm);
		err = flame_string(d, model_str(d->m, own), &number);
	} else {
		err = flame_string(d, model_str(d->m, role_text(role)), &number);
	}
	if (!err)
		FLAME_PUT(d, THREAD_ROLE, number);
	return err;
}

static int number_thread(struct flame_data *d, uint32_t row, uint32_t *ret_number)
{
	const struct model_thread *t = &d->m->threads[row];
	uint32_t name;
	int err = 0;

	if (d->thread_number[row] == MODEL_NONE) {
		d->thread_number[row] = (uint32_t)d->columns[COLUMN_THREAD_TID].cnt;
		FLAME_PUT(d, THREAD_PROCESS, d->process_number[t->process]);
		FLAME_PUT(d, THREAD_TID, t->tid);
		err = flame_string(d, t->comm, &name);
		if (err)
			return err;
		FLAME_PUT(d, THREAD_NAME, name);
		err = put_role(d, t);
	}
	*ret_number = d->thread_number[row];
	return err;
}

/* What is said to lie outside of the recording lies at its ends. */
static uint64_t slot_of(const struct model *m, uint64_t time_ns)
{
	if (time_ns >= m->host.end_ns)
		time_ns = m->host.end_ns - 1;
	return time_ns > m->host.start_ns ? (time_ns - m->host.start_ns) / FLAME_SLOT_NS : 0;
}

/* The first sample at that time or later. */
static uint64_t first_at(const struct samples *s, uint64_t time_ns)
{
	size_t low = 0, high = s->rows_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->rows[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int put_samples(struct flame_data *d, const struct samples *samples, const uint32_t *numbers,
		       bool blocked)
{
	struct varints *c = d->columns;
	uint32_t thread = 0;
	int err = 0;

	for (size_t i = 0; !err && i < samples->rows_cnt; i++) {
		const struct sample *s = &samples->rows[i];

		err = number_thread(d, s->thread, &thread);
		varints_rise(&c[blocked ? COLUMN_BLOCKED_SLOT : COLUMN_CPU_SLOT],
			     slot_of(d->m, s->time_ns));
		varints_put(&c[blocked ? COLUMN_BLOCKED_NODE : COLUMN_CPU_NODE], numbers[s->node]);
		varints_put(&c[blocked ? COLUMN_BLOCKED_THREAD : COLUMN_CPU_THREAD], thread);
		varints_put(&c[blocked ? COLUMN_BLOCKED_WEIGHT : COLUMN_CPU_WEIGHT], s->weight);
		if (!blocked)
			FLAME_PUT(d, CPU_WAITERS,
				  s->waiters == WAITERS_UNKNOWN ? 0 : (uint64_t)s->waiters + 1);
	}
	for (size_t i = 0; i < d->m->slices_cnt; i++) {
		const struct model_slice *slice = &d->m->slices[i];

		varints_rise(&c[blocked ? COLUMN_SLICE_BLOCKED_FROM : COLUMN_SLICE_CPU_FROM],
			     first_at(samples, slice->start_ns));
		varints_rise(&c[blocked ? COLUMN_SLICE_BLOCKED_TO : COLUMN_SLICE_CPU_TO],
			     first_at(samples, slice->end_ns));
	}
	return err;
}

static int put_all(struct flame_data *d, const struct samples *cpu, const struct samples *blocked)
{
	_cleanup_free_ uint32_t *numbers = paths_numbers(d->forest.nodes_cnt);
	int err;

	d->symbol_number = paths_numbers(d->m->symbols_cnt);
	d->thread_number = paths_numbers(d->m->threads_cnt);
	d->process_number = paths_numbers(d->m->processes_cnt);
	if (!numbers || !d->symbol_number || !d->thread_number || !d->process_number)
		return -ENOMEM;
	err = forest_link(&d->forest, compare_nodes, d);
	if (!err)
		err = put_nodes(d, numbers);
	if (!err)
		err = put_samples(d, cpu, numbers, false);
	return err ? err : put_samples(d, blocked, numbers, true);
}

int flame_stacks(struct flame_data *d)
{
	struct samples cpu = {0}, blocked = {0};
	int err = -ENOMEM;

	d->cpu_samples = calloc(d->m->processes_cnt + 1, sizeof(*d->cpu_samples));
	d->blocked_ms = calloc(d->m->processes_cnt + 1, sizeof(*d->blocked_ms));
	if (d->cpu_samples && d->blocked_ms)
		err = gather(d, &cpu, false);
	if (!err)
		err = gather_blocked(d, &blocked);
	if (!err)
		err = put_all(d, &cpu, &blocked);
	free(cpu.rows);
	free(blocked.rows);
	return err;
}
