/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/top.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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
			.last_path = MODEL_NONE,
			.last_thread = MODEL_NONE,
		};
	}
	*ret_row = &list->rows[row];
	return 0;
}

/* What all samples of one path add to: rows of both lists, each once. */
struct path {
	size_t first; /* of builder.rows */
	uint32_t method_cnt, module_cnt;
	uint32_t leaf_method, leaf_module; /* rows, or MODEL_NONE */
	uint32_t last_thread;
	uint64_t samples, waiters;
};

struct builder {
	struct top *top;
	uint32_t *known;    /* by `first` of paths: row of paths */
	struct path *paths; /* that last */
	size_t paths_cnt, paths_cap;
	uint32_t walks; /* paths that were walked */
	uint32_t *rows; /* of methods, then of modules; path after path */
	size_t rows_cnt, rows_cap;
};

/* The row joins those of the path that is being built, the last one, unless it is there. */
static int join(struct builder *b, struct top_row *row, uint32_t number, uint32_t *count)
{
	if (row->last_path == b->walks)
		return 0;
	row->last_path = b->walks;
	if (GROW(b->rows, b->rows_cnt, b->rows_cap))
		return -ENOMEM;
	b->rows[b->rows_cnt++] = number;
	(*count)++;
	return 0;
}

/* The rows of one list; the leaf is that of the last frame, MODEL_NONE where it has none. */
static int add_rows(struct builder *b, const struct paths *p, struct top_list *list,
		    uint32_t *ret_cnt, uint32_t *ret_leaf)
{
	bool modules = list == &b->top->modules;
	struct top_row *row;
	int err = 0;

	for (size_t i = 0; !err && i < p->methods_cnt; i++) {
		const struct model_symbol *s = &p->m->symbols[p->methods[i]];
		struct list_key key = {p->m, list, p->methods[i],
				       modules ? method_module(p->m, s) : s->module};

		*ret_leaf = MODEL_NONE;
		if (modules && s->kind == KIND_NOTE)
			continue;
		err = modules ? list_get(list, hash_pair((uintptr_t)key.module, is_kernel(s)),
					 same_module, &key, &row)
			      : list_get(list, hash_u64(key.symbol + 1), same_symbol, &key, &row);
		if (err)
			break;
		*ret_leaf = (uint32_t)(row - list->rows);
		err = join(b, row, *ret_leaf, ret_cnt);
	}
	return err;
}

/* Rows of the current path, behind those of the paths that last. */
static int walk(struct builder *b, const struct paths *p, struct path *ret_path)
{
	int err;

	*ret_path = (struct path){.first = b->rows_cnt,
				  .leaf_method = MODEL_NONE,
				  .leaf_module = MODEL_NONE,
				  .last_thread = MODEL_NONE};
	err = add_rows(b, p, &b->top->methods, &ret_path->method_cnt, &ret_path->leaf_method);
	if (!err)
		err = add_rows(b, p, &b->top->modules, &ret_path->module_cnt,
			       &ret_path->leaf_module);
	b->walks++;
	return err;
}

static void count_thread(struct top_row *row, uint32_t thread)
{
	row->threads += row->last_thread != thread;
	row->last_thread = thread;
}

/* Samples come thread after thread. */
static void add_to(struct builder *b, struct path *path, const struct paths *p)
{
	const struct model_sample *sample = &p->m->samples[p->sample];
	struct top *top = b->top;
	const uint32_t *rows;

	path->samples += model_weight(sample);
	path->waiters += harm_of(sample);
	if (path->last_thread == p->thread || !path->method_cnt)
		return;
	path->last_thread = p->thread;
	rows = &b->rows[path->first];
	for (uint32_t i = 0; i < path->method_cnt; i++)
		count_thread(&top->methods.rows[*rows++], p->thread);
	for (uint32_t i = 0; i < path->module_cnt; i++)
		count_thread(&top->modules.rows[*rows++], p->thread);
}

static void add_totals(struct top_list *list, const struct path *path, const uint32_t *rows,
		       uint32_t cnt, uint32_t leaf)
{
	for (uint32_t i = 0; i < cnt; i++) {
		list->rows[rows[i]].total += path->samples;
		list->rows[rows[i]].total_waiters += path->waiters;
	}
	if (leaf == MODEL_NONE)
		return;
	list->rows[leaf].self += path->samples;
	list->rows[leaf].self_waiters += path->waiters;
}

static void sum_up(struct builder *b, const struct path *path)
{
	const uint32_t *rows;

	if (!path->method_cnt)
		return;
	rows = &b->rows[path->first];
	add_totals(&b->top->methods, path, rows, path->method_cnt, path->leaf_method);
	add_totals(&b->top->modules, path, rows + path->method_cnt, path->module_cnt,
		   path->leaf_module);
}

/* A path that does not last is summed at once and forgotten: of these there may be one a sample. */
static int add_sample(struct builder *b, struct paths *p)
{
	const struct model_sample *sample = &p->m->samples[p->sample];
	uint64_t waiters = harm_of(sample), weight = model_weight(sample);
	struct top *top = b->top;
	struct path path;
	int err;

	top->samples += weight;
	top->waiters += waiters;
	top->waiters_square += waiters * waiters;
	if (sample->waiters == WAITERS_UNKNOWN)
		top->unknown += weight;
	if (!paths_is_new(p, b->known)) {
		add_to(b, &b->paths[b->known[p->first]], p);
		return 0;
	}
	err = walk(b, p, &path);
	if (err)
		return err;
	add_to(b, &path, p);
	if (!p->lasts) {
		sum_up(b, &path);
		b->rows_cnt = path.first;
		return 0;
	}
	if (GROW(b->paths, b->paths_cnt, b->paths_cap))
		return -ENOMEM;
	b->known[p->first] = (uint32_t)b->paths_cnt;
	b->paths[b->paths_cnt++] = path;
	return 0;
}

static int top_build(struct top *top, struct model *m, uint32_t process)
{
	_cleanup_free_ uint32_t *known = paths_numbers(m->samples_cnt);
	struct builder b = {.top = top, .known = known};
	struct paths p = {0};
	uint32_t last_thread = MODEL_NONE;
	int err = known ? paths_begin(&p, m, process, PATHS_ONCE) : -ENOMEM;

	while (!err && paths_next(&p)) {
		top->threads += p.thread != last_thread;
		last_thread = p.thread;
		err = add_sample(&b, &p);
	}
	paths_end(&p);
	for (size_t i = 0; i < b.paths_cnt; i++)
		sum_up(&b, &b.paths[i]);
	free(b.paths);
	free(b.rows);
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
