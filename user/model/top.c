/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/top.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "bpf/events.h"
#include "model/harm.h"
#include "model/paths.h"

struct list_key {
	const struct model *m;
	const struct top_list *list;
	uint32_t symbol;
	const char *module;
};

static bool same_symbol(const void *owner, uint32_t row, const void *key)
{
	const struct list_key *k = key;

	(void)owner;
	return k->list->rows[row].symbol == k->symbol;
}

/* A file can hold code of the JIT and of an image, but the kernel's modules are apart. */
static bool is_kernel(const struct model_symbol *s)
{
	return s->kind == KIND_KERNEL;
}

static bool same_module(const void *owner, uint32_t row, const void *key)
{
	const struct list_key *k = key;
	const struct top_row *r = &k->list->rows[row];

	(void)owner;
	return r->module == k->module &&
	       is_kernel(&k->m->symbols[r->symbol]) == is_kernel(&k->m->symbols[k->symbol]);
}

/* Finds or adds a row. 0 or -ENOMEM. */
static int list_get(struct top_list *list, uint64_t hash, hash_equal_fn equal,
		    const struct list_key *key, struct top_row **ret_row)
{
	uint32_t row = hash_find(&list->index, hash, equal, list, key);
	int err;

	if (row == HASH_NONE) {
		err = GROW(list->rows, list->rows_cnt, list->rows_cap);
		if (err)
			return err;
		row = (uint32_t)list->rows_cnt;
		err = hash_add(&list->index, hash, row);
		if (err)
			return err;
		list->rows[list->rows_cnt++] = (struct top_row){
			.symbol = key->symbol,
			.module = key->module,
			.last_sample = MODEL_NONE,
			.last_thread = MODEL_NONE,
		};
	}
	*ret_row = &list->rows[row];
	return 0;
}

static void row_visit(struct top_row *row, const struct paths *p, bool leaf)
{
	const struct model_sample *sample = &p->m->samples[p->sample];
	uint64_t waiters = harm_of(sample), weight = model_weight(sample);

	row->self += leaf ? weight : 0;
	row->self_waiters += leaf ? waiters : 0;
	if (row->last_sample == p->sample)
		return;
	row->last_sample = p->sample;
	row->total += weight;
	row->total_waiters += waiters;
	row->threads += row->last_thread != p->thread;
	row->last_thread = p->thread;
}

static void add_sample(struct top *top, const struct model_sample *sample)
{
	uint64_t waiters = harm_of(sample);

	top->samples += model_weight(sample);
	top->waiters += waiters;
	top->waiters_square += waiters * waiters;
	if (sample->waiters == WAITERS_UNKNOWN)
		top->unknown += model_weight(sample);
}

static int add_frame(struct top *top, const struct paths *p, size_t i)
{
	const struct model_symbol *s = &p->m->symbols[p->methods[i]];
	struct list_key key = {p->m, &top->methods, p->methods[i], s->module};
	bool leaf = i + 1 == p->methods_cnt;
	struct top_row *row;
	int err;

	err = list_get(&top->methods, hash_u64(key.symbol + 1), same_symbol, &key, &row);
	if (err)
		return err;
	row_visit(row, p, leaf);
	if (s->kind == KIND_NOTE)
		return 0;
	key.list = &top->modules;
	key.module = method_module(p->m, s);
	err = list_get(&top->modules, hash_pair((uintptr_t)key.module, is_kernel(s)), same_module,
		       &key, &row);
	if (err)
		return err;
	row_visit(row, p, leaf);
	return 0;
}

static int top_build(struct top *top, struct model *m, uint32_t process)
{
	struct paths p = {0};
	uint32_t last_thread = MODEL_NONE;
	int err = paths_begin(&p, m, process, 0);

	while (!err && paths_next(&p)) {
		add_sample(top, &m->samples[p.sample]);
		top->threads += p.thread != last_thread;
		last_thread = p.thread;
		for (size_t i = 0; !err && i < p.methods_cnt; i++)
			err = add_frame(top, &p, i);
	}
	paths_end(&p);
	return err;
}

struct top *top_new(struct model *m, uint32_t process)
{
	struct top *top = calloc(1, sizeof(*top));
	int err;

	if (!top)
		return NULL;
	err = top_build(top, m, process);
	if (err) {
		top_free(top);
		errno = -err;
		return NULL;
	}
	return top;
}

void top_free(struct top *top)
{
	if (!top)
		return;
	free(top->methods.rows);
	free(top->modules.rows);
	hash_clear(&top->methods.index);
	hash_clear(&top->modules.index);
	free(top);
}

static int compare_names(const struct top_row *a, const struct top_row *b, const struct model *m)
{
	const struct model_symbol *sa = &m->symbols[a->symbol], *sb = &m->symbols[b->symbol];
	int c = strcmp(sa->name, sb->name);

	if (!c)
		c = strcmp(a->module, b->module);
	return c ? c : COMPARE(a->symbol, b->symbol);
}

static int compare_self(const void *a, const void *b, void *m)
{
	const struct top_row *ra = a, *rb = b;
	int c = COMPARE(rb->self, ra->self);

	if (!c)
		c = COMPARE(rb->total, ra->total);
	return c ? c : compare_names(ra, rb, m);
}

static int compare_total(const void *a, const void *b, void *m)
{
	const struct top_row *ra = a, *rb = b;
	int c = COMPARE(rb->total, ra->total);

	if (!c)
		c = COMPARE(rb->self, ra->self);
	return c ? c : compare_names(ra, rb, m);
}

/* Sorting moves rows away from their index, which has done its work by then. */
static void sort(struct top_list *list, const struct model *m,
		 int (*compare)(const void *, const void *, void *))
{
	hash_clear(&list->index);
	if (list->rows_cnt)
		qsort_r(list->rows, list->rows_cnt, sizeof(*list->rows), compare, (void *)m);
}

void top_sort_self(struct top_list *list, const struct model *m)
{
	sort(list, m, compare_self);
}

void top_sort_total(struct top_list *list, const struct model *m)
{
	sort(list, m, compare_total);
}
