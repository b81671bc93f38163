/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/diff_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "model/paths.h"
#include "model/requests.h"
#include "model/tree.h"

/* One side, while it is added. */
struct adding {
	struct diff_book *book;
	struct diff_side *side;
	int at;		   /* DIFF_BEFORE or DIFF_AFTER */
	uint32_t *kind_of; /* by row of processes; MODEL_NONE = not compared */
	uint32_t *part_of; /* by row of slices */
	/* By row of symbols: its method in that kind of processes. */
	uint32_t *method_of, *in_kind;
	size_t method_of_cnt, method_of_cap, in_kind_cap;
	uint32_t slice; /* of the last sample */
};

/* --- kinds ------------------------------------------------------------------------------------ */

static const char *kind_name(const struct model_process *p)
{
	if (p->flags & PROCESS_KERNEL)
		return "[kernel]";
	return p->name[0] ? p->name : p->comm;
}

static bool kind_equal(const void *owner, uint32_t row, const void *key)
{
	return !strcmp(((const struct diff_book *)owner)->kinds[row].name, key);
}

static uint32_t kind_get(struct diff_book *b, const char *name)
{
	uint64_t hash = hash_bytes(name, strlen(name));
	uint32_t row = hash_find(&b->kind_index, hash, kind_equal, b, name);

	if (row != HASH_NONE)
		return row;
	row = (uint32_t)b->kinds_cnt;
	if (GROW(b->kinds, b->kinds_cnt, b->kinds_cap) || hash_add(&b->kind_index, hash, row))
		return MODEL_NONE;
	b->kinds[b->kinds_cnt++] = (struct diff_kind){.name = name};
	return row;
}

static int add_kind(struct adding *a, uint32_t process)
{
	const struct model_process *p = &a->side->m->processes[process];
	uint32_t kind = kind_get(a->book, kind_name(p));

	if (kind == MODEL_NONE)
		return -ENOMEM;
	a->book->kinds[kind].self |= (p->flags & PROCESS_SELF) != 0;
	a->book->kinds[kind].kernel |= (p->flags & PROCESS_KERNEL) != 0;
	a->kind_of[process] = kind;
	return 0;
}

static int find_kinds(struct adding *a)
{
	const struct model *m = a->side->m;
	int err = 0;

	a->kind_of = calloc(m->processes_cnt + 1, sizeof(*a->kind_of));
	if (!a->kind_of)
		return -ENOMEM;
	memset(a->kind_of, 0xff, m->processes_cnt * sizeof(*a->kind_of));
	for (uint32_t i = 0; !err && i < m->processes_cnt; i++)
		if (!a->side->wanted || a->side->wanted[i])
			err = add_kind(a, i);
	return err;
}

/* --- parts, and what is known of them exactly ------------------------------------------------- */

static int cut_parts(struct adding *a)
{
	const struct model *m = a->side->m;
	struct diff_side *s = a->side;

	s->parts = m->slices_cnt < DIFF_PARTS ? (uint32_t)m->slices_cnt : DIFF_PARTS;
	s->tick_s = m->host.sample_hz ? 1.0 / m->host.sample_hz : 0;
	s->ticks_of = m->slices_cnt && m->slices_every > m->slices_cnt
			      ? (double)m->slices_every / (double)m->slices_cnt
			      : 1;
	a->part_of = calloc(m->slices_cnt + 1, sizeof(*a->part_of));
	if (!a->part_of)
		return -ENOMEM;
	for (size_t i = 0; i < m->slices_cnt; i++) {
		const struct model_slice *slice = &m->slices[i];
		double seconds = slice->end_ns > slice->start_ns
					 ? (double)(slice->end_ns - slice->start_ns) / 1e9
					 : 0;

		a->part_of[i] = (uint32_t)(i * s->parts / m->slices_cnt);
		s->seconds[a->part_of[i]] += seconds;
		s->all_seconds += seconds;
	}
	return 0;
}

static struct diff_kind *kind_of(const struct adding *a, uint32_t process)
{
	uint32_t kind = a->kind_of[process];

	return kind == MODEL_NONE ? NULL : &a->book->kinds[kind];
}

static int add_accounts(struct adding *a)
{
	const struct model *m = a->side->m;
	_cleanup_free_ bool *seen = calloc(m->processes_cnt + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		uint32_t process = m->threads[m->accounts[i].thread].process;
		struct diff_kind *kind = kind_of(a, process);
		double cpu_s = (double)m->accounts[i].sched.on_cpu_ns / 1e9;

		if (!kind || m->accounts[i].slice >= m->slices_cnt)
			continue;
		kind->cpu_s[a->at][a->part_of[m->accounts[i].slice]] += cpu_s;
		kind->all_cpu_s[a->at] += cpu_s;
		kind->processes[a->at] += !seen[process];
		seen[process] = true;
	}
	return 0;
}

static void add_requests(struct adding *a)
{
	const struct model *m = a->side->m;

	for (size_t i = 0; i < m->services_cnt; i++) {
		const struct model_service *row = &m->services[i];
		struct diff_kind *kind = kind_of(a, m->endpoints[row->endpoint].process);

		if (!kind || row->slice >= m->slices_cnt)
			continue;
		kind->answered[a->at][a->part_of[row->slice]] += (double)row->served.answered;
		kind->all_answered[a->at] += (double)row->served.answered;
	}
}

/* --- methods ---------------------------------------------------------------------------------- */

struct method_key {
	const struct model *m;
	const struct model_symbol *symbol;
	const char *module;
	uint32_t kind;
};

static bool method_equal(const void *owner, uint32_t row, const void *pkey)
{
	const struct diff_book *b = owner;
	const struct diff_method *method = &b->methods[row];
	const struct model_symbol *s = diff_book_symbol(b, row);
	const struct method_key *key = pkey;
	struct model *m =
		b->sides[method->symbol[DIFF_AFTER] == MODEL_NONE ? DIFF_BEFORE : DIFF_AFTER].m;

	return method->kind == key->kind && !strcmp(s->name, key->symbol->name) &&
	       !s->reason == !key->symbol->reason &&
	       method_kind_class(s->kind) == method_kind_class(key->symbol->kind) &&
	       !strcmp(method_module(m, s), key->module);
}

static uint32_t method_get(struct adding *a, uint32_t kind, uint32_t symbol)
{
	struct diff_book *b = a->book;
	struct method_key key = {a->side->m, &a->side->m->symbols[symbol], NULL, kind};
	uint64_t hash;
	uint32_t row;

	key.module = method_module(a->side->m, key.symbol);
	/* method_module() may have added nothing but a string. */
	hash = hash_pair(hash_bytes(key.symbol->name, strlen(key.symbol->name)),
			 hash_bytes(key.module, strlen(key.module))) ^
	       hash_pair(kind, method_kind_class(key.symbol->kind));
	row = hash_find(&b->method_index, hash, method_equal, b, &key);
	if (row != HASH_NONE) {
		if (b->methods[row].symbol[a->at] == MODEL_NONE)
			b->methods[row].symbol[a->at] = symbol;
		return row;
	}
	row = (uint32_t)b->methods_cnt;
	if (row >= DIFF_METHODS_MAX || GROW(b->methods, b->methods_cnt, b->methods_cap) ||
	    GROW(b->counts, b->counts_cnt, b->counts_cap) || hash_add(&b->method_index, hash, row))
		return MODEL_NONE;
	b->methods[b->methods_cnt] = (struct diff_method){
		.kind = kind, .symbol = {MODEL_NONE, MODEL_NONE}, .seen = UINT64_MAX};
	b->methods[b->methods_cnt++].symbol[a->at] = symbol;
	memset(&b->counts[b->counts_cnt++], 0, sizeof(*b->counts));
	return row;
}

/* The method of a symbol; unnamed precompiled code of a file is one, too, since its offsets are
 * those of one build. */
static uint32_t method_of_symbol(struct adding *a, uint32_t kind, uint32_t symbol)
{
	while (a->method_of_cnt <= symbol) {
		if (GROW(a->method_of, a->method_of_cnt, a->method_of_cap) ||
		    GROW(a->in_kind, a->method_of_cnt, a->in_kind_cap))
			return MODEL_NONE;
		a->method_of[a->method_of_cnt] = a->in_kind[a->method_of_cnt] = MODEL_NONE;
		a->method_of_cnt++;
	}
	if (a->in_kind[symbol] != kind) {
		struct model_symbol s = a->side->m->symbols[symbol];
		uint32_t row = symbol;

		if (s.reason != REASON_NAMED && s.kind != KIND_NOTE) {
			s.name = s.raw = s.module[0] ? s.module : "[unknown]";
			row = model_symbol_get(a->side->m, &s);
		}
		a->in_kind[symbol] = kind;
		a->method_of[symbol] = row == MODEL_NONE ? MODEL_NONE : method_get(a, kind, row);
	}
	return a->method_of[symbol];
}

/* --- stacks ----------------------------------------------------------------------------------- */

static bool node_equal(const void *owner, uint32_t row, const void *key)
{
	const struct diff_node *n = &((const struct diff_book *)owner)->nodes[row], *k = key;

	return n->parent == k->parent && n->method == k->method;
}

static uint32_t node_get(struct diff_book *b, uint32_t parent, uint32_t method)
{
	struct diff_node key = {.method = method, .parent = parent};
	uint64_t hash = hash_pair(parent, method);
	uint32_t row = hash_find(&b->node_index, hash, node_equal, b, &key);

	if (row != HASH_NONE)
		return row;
	row = (uint32_t)b->nodes_cnt;
	if (row >= TREE_MAX_NODES || GROW(b->nodes, b->nodes_cnt, b->nodes_cap) ||
	    hash_add(&b->node_index, hash, row))
		return MODEL_NONE;
	b->nodes[b->nodes_cnt++] = key;
	return row;
}

/* Samples come thread after thread, each in the order of time: mostly that of the last one. */
static uint32_t part_at(struct adding *a, uint64_t time_ns)
{
	const struct model *m = a->side->m;

	if (a->slice < m->slices_cnt && time_ns >= m->slices[a->slice].start_ns &&
	    (a->slice + 1 == m->slices_cnt || time_ns < m->slices[a->slice + 1].start_ns))
		return a->part_of[a->slice];
	a->slice = model_slice_at(m, time_ns);
	return a->part_of[a->slice];
}

/* Counts a sample for a method that it is in, once. */
static void count_method(struct adding *a, uint32_t method, uint32_t part, uint64_t ticks,
			 bool in_kernel)
{
	struct diff_book *b = a->book;

	if (b->methods[method].seen == b->seen)
		return;
	b->methods[method].seen = b->seen;
	b->methods[method].all[a->at][DIFF_TOTAL] += ticks;
	b->methods[method].kernel[a->at] += in_kernel ? ticks : 0;
	b->counts[method][a->at][DIFF_TOTAL][part] += (uint32_t)ticks;
}

static void count_self(struct adding *a, uint32_t method, uint32_t part, uint64_t ticks)
{
	a->book->methods[method].all[a->at][DIFF_SELF] += ticks;
	a->book->counts[method][a->at][DIFF_SELF][part] += (uint32_t)ticks;
}

/* Adds a sample of stacks that end at that node. */
static void add_again(struct adding *a, uint32_t node, uint32_t part, uint64_t ticks,
		      bool in_kernel)
{
	struct diff_book *b = a->book;

	b->nodes[node].all[a->at][DIFF_SELF] += ticks;
	if (b->nodes[node].parent)
		count_self(a, b->nodes[node].method, part, ticks);
	for (; b->nodes[node].parent; node = b->nodes[node].parent)
		count_method(a, b->nodes[node].method, part, ticks, in_kernel);
}

/* Returns the node where its stacks end, MODEL_NONE where there was no room for all of them. */
static uint32_t add_first(struct adding *a, const struct paths *p, uint32_t kind, uint32_t part,
			  uint64_t ticks, bool in_kernel)
{
	struct diff_book *b = a->book;
	uint32_t node = node_get(b, 0, kind), method = MODEL_NONE, next = node;

	if (node == MODEL_NONE) {
		b->nodes_dropped++;
		return MODEL_NONE;
	}
	for (size_t i = 0; i < p->methods_cnt; i++) {
		method = method_of_symbol(a, kind, p->methods[i]);
		if (method == MODEL_NONE) {
			b->methods_dropped++;
			next = MODEL_NONE;
			break;
		}
		count_method(a, method, part, ticks, in_kernel);
		next = node_get(b, node, method);
		if (next == MODEL_NONE) {
			b->nodes_dropped++;
			break;
		}
		node = next;
	}
	b->nodes[node].all[a->at][DIFF_SELF] += ticks;
	if (method != MODEL_NONE)
		count_self(a, method, part, ticks);
	return next;
}

static void add_path(struct adding *a, struct paths *p, uint32_t *nodes)
{
	struct diff_book *b = a->book;
	const struct model_sample *sample = &a->side->m->samples[p->sample];
	uint32_t kind = a->kind_of[a->side->m->threads[sample->thread].process];
	uint32_t part = part_at(a, sample->time_ns);
	uint64_t ticks = model_weight(sample);
	bool in_kernel = sample->kernel_stack != 0;

	a->side->samples++;
	b->kinds[kind].ticks[a->at][part] += (double)ticks;
	b->kinds[kind].all_ticks[a->at] += (double)ticks;
	b->seen++;
	b->nodes[0].all[a->at][DIFF_TOTAL] += ticks;
	if (paths_is_new(p, nodes))
		nodes[p->first] = add_first(a, p, kind, part, ticks, in_kernel);
	else
		add_again(a, nodes[p->first], part, ticks, in_kernel);
}

/* Children come behind their parents. The root has its own already. */
static void sum_nodes(struct adding *a)
{
	struct diff_book *b = a->book;

	for (size_t i = b->nodes_cnt; i-- > 1;) {
		struct diff_node *node = &b->nodes[i];
		uint64_t *all = node->all[a->at];

		all[DIFF_TOTAL] += all[DIFF_SELF];
		if (node->parent)
			b->nodes[node->parent].all[a->at][DIFF_TOTAL] += all[DIFF_TOTAL];
	}
}

static int add_stacks(struct adding *a)
{
	_cleanup_free_ uint32_t *nodes = NULL; /* by row of samples: where its stacks end */
	struct paths p = {0};
	int err;

	if (!a->side->parts)
		return 0;
	nodes = paths_numbers(a->side->m->samples_cnt);
	if (!nodes)
		return -ENOMEM;
	err = paths_begin_of(&p, a->side->m, a->side->wanted,
			     PATHS_FOLD_UNNAMED | PATHS_FOLD_RECURSION | PATHS_ONCE);
	while (!err && paths_next(&p))
		add_path(a, &p, nodes);
	paths_end(&p);
	sum_nodes(a);
	return err;
}

/* --------------------------------------------------------------------------------------------- */

static int add_side(struct diff_book *b, int at)
{
	struct adding a = {.book = b, .side = &b->sides[at], .at = at};
	int err = cut_parts(&a);

	if (!err)
		err = find_kinds(&a);
	if (!err)
		err = add_accounts(&a);
	if (!err)
		add_requests(&a);
	if (!err)
		err = add_stacks(&a);
	free(a.kind_of);
	free(a.part_of);
	free(a.method_of);
	free(a.in_kind);
	return err;
}

struct diff_book *diff_book_new(const struct diff_side sides[static DIFF_SIDES])
{
	struct diff_book *b = calloc(1, sizeof(*b));
	int err = b ? 0 : -ENOMEM;

	for (int i = 0; b && i < DIFF_SIDES; i++)
		b->sides[i] = sides[i];
	if (!err && GROW(b->nodes, b->nodes_cnt, b->nodes_cap))
		err = -ENOMEM;
	if (!err)
		b->nodes[b->nodes_cnt++] = (struct diff_node){MODEL_NONE, MODEL_NONE, {{0}}};
	for (int i = 0; !err && i < DIFF_SIDES; i++)
		err = add_side(b, i);
	if (!err)
		return b;
	diff_book_free(b);
	errno = -err;
	return NULL;
}

void diff_book_free(struct diff_book *b)
{
	if (!b)
		return;
	free(b->kinds);
	free(b->methods);
	free(b->counts);
	free(b->nodes);
	hash_clear(&b->kind_index);
	hash_clear(&b->method_index);
	hash_clear(&b->node_index);
	free(b);
}

uint32_t diff_book_kind(const struct diff_book *b, const struct model_process *process)
{
	const char *name = kind_name(process);
	uint32_t row =
		hash_find(&b->kind_index, hash_bytes(name, strlen(name)), kind_equal, b, name);

	return row == HASH_NONE ? MODEL_NONE : row;
}

const struct model_symbol *diff_book_symbol(const struct diff_book *b, uint32_t method)
{
	const struct diff_method *row = &b->methods[method];
	int at = row->symbol[DIFF_AFTER] == MODEL_NONE ? DIFF_BEFORE : DIFF_AFTER;

	return &b->sides[at].m->symbols[row->symbol[at]];
}

uint32_t diff_book_kind_of_node(const struct diff_book *b, uint32_t node)
{
	const struct diff_node *n = &b->nodes[node];

	return n->parent ? b->methods[n->method].kind : n->method;
}
