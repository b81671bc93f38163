/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/snapshot_view.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/rise.h"

/* What processes are one row by: the name, and one for all threads of the kernel. Names are
 * interned. */
static const char *name_of(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];

	return p->flags & PROCESS_KERNEL ? NULL : p->name;
}

/* --- processes ------------------------------------------------------------------------------- */

struct totals {
	uint64_t ns;
	uint32_t row; /* of the view, MODEL_NONE = not met yet */
};

struct making {
	struct snapshot_view *v;
	const struct model *m;
	const struct snapshot *s;
	struct totals *totals;		      /* by process */
	struct hash_index by_name;	      /* rows of processes */
	struct hash_index by_code;	      /* rows of codes */
	uint32_t *code_of;		      /* by group, MODEL_NONE = none */
	uint32_t *seen_thread, *seen_process; /* by row: the code that met it last, from 1 */
};

static bool equal_name(const void *owner, uint32_t row, const void *key)
{
	const struct making *mk = owner;

	return name_of(mk->m, mk->v->processes[row].process) == key;
}

static struct snapshot_process *process_row(struct making *mk, uint32_t process)
{
	struct snapshot_view *v = mk->v;
	const char *name = name_of(mk->m, process);
	uint64_t hash = hash_u64((uint64_t)(uintptr_t)name);
	uint32_t row = hash_find(&mk->by_name, hash, equal_name, mk, name);

	if (row == HASH_NONE) {
		row = (uint32_t)v->processes_cnt;
		if (GROW(v->processes, v->processes_cnt, v->processes_cap) ||
		    hash_add(&mk->by_name, hash, row))
			return NULL;
		v->processes[v->processes_cnt++] = (struct snapshot_process){.process = process};
	}
	if (mk->totals[process].row == MODEL_NONE) {
		mk->totals[process].row = row;
		v->processes[row].processes++;
	}
	return &v->processes[row];
}

static int add_thread(struct making *mk, const struct snapshot_thread *t)
{
	uint32_t process = mk->m->threads[t->thread].process;
	struct snapshot_view *v = mk->v;
	struct snapshot_process *p;

	if (model_is_own(mk->m, process)) {
		v->own_ns += t->ran_ns + t->ended.threads_ns + t->ended.children_ns;
		return 0;
	}
	p = process_row(mk, process);
	if (!p)
		return -ENOMEM;
	mk->totals[process].ns += t->ran_ns + t->waited_ns + t->ended.children_ns;
	if (mk->totals[process].ns > p->most_ns) {
		p->most_ns = mk->totals[process].ns;
		p->process = process;
	}
	p->threads++;
	p->born += t->is_new;
	p->throttled += !!(t->flags & COUNTS_THROTTLED);
	p->ran_ns += t->ran_ns + t->ended.threads_ns;
	p->children_ns += t->ended.children_ns;
	p->waited_ns += t->waited_ns;
	p->uninterruptible += t->uninterruptible;
	return 0;
}

static int compare_processes(const void *a, const void *b)
{
	const struct snapshot_process *x = a, *y = b;
	int c = COMPARE(y->ran_ns + y->children_ns, x->ran_ns + x->children_ns);

	if (!c)
		c = COMPARE(y->waited_ns, x->waited_ns);
	if (!c)
		c = COMPARE(y->uninterruptible, x->uninterruptible);
	return c ? c : COMPARE(x->process, y->process);
}

static int add_processes(struct making *mk)
{
	struct snapshot_view *v = mk->v;
	int err = 0;

	for (uint32_t i = 0; i < mk->m->processes_cnt; i++)
		mk->totals[i].row = MODEL_NONE;
	for (size_t i = 0; !err && i < mk->s->threads_cnt; i++)
		err = add_thread(mk, &mk->s->threads[i]);
	if (v->processes_cnt)
		qsort(v->processes, v->processes_cnt, sizeof(*v->processes), compare_processes);
	for (size_t i = 0; i < v->processes_cnt; i++) {
		const struct snapshot_process *p = &v->processes[i];

		v->ran_ns += p->ran_ns;
		v->waited_ns += p->waited_ns;
		v->children_ns += p->children_ns;
		v->threads += p->threads;
		v->born += p->born;
		v->throttled += p->throttled;
		v->uninterruptible += p->uninterruptible;
	}
	v->gone_ns = rise_of(mk->s->busy_ns, v->ran_ns + v->children_ns + v->own_ns);
	return err;
}

/* --- code ------------------------------------------------------------------------------------ */

/* The method that threads are told by: the application's, else the last one that has a name. */
static uint32_t method_of_group(const struct making *mk, const struct standing_group *g)
{
	uint32_t chain[STANDING_CHAIN];

	return standing_chain(mk->m, mk->v->standing, g, chain) ? chain[0] : MODEL_NONE;
}

static enum stand_wait wait_of_group(const struct making *mk, const struct standing_group *g)
{
	return mk->s->stands.rows[g->stand].state == 'D' ? g->wait : WAIT_CPU;
}

/* Who slept when it was looked at stands where it waits, and not where it ran. */
static bool is_told(const struct making *mk, const struct standing_group *g)
{
	uint8_t state = mk->s->stands.rows[g->stand].state;

	return state == 'R' || state == 'D' || g->wait == WAIT_RUNS;
}

static bool equal_code(const void *owner, uint32_t row, const void *key)
{
	const struct making *mk = owner;
	const struct snapshot_code *a = &mk->v->codes[row], *b = key;

	return a->method == b->method && a->wait == b->wait && a->moved == b->moved &&
	       name_of(mk->m, a->process) == name_of(mk->m, b->process);
}

static uint32_t code_row(struct making *mk, const struct snapshot_code *like)
{
	struct snapshot_view *v = mk->v;
	uint64_t hash =
		hash_pair((uint64_t)(uintptr_t)name_of(mk->m, like->process),
			  (uint64_t)like->method << 8 | (uint64_t)like->wait << 1 | like->moved);
	uint32_t row = hash_find(&mk->by_code, hash, equal_code, mk, like);

	if (row != HASH_NONE)
		return row;
	row = (uint32_t)v->codes_cnt;
	if (GROW(v->codes, v->codes_cnt, v->codes_cap) || hash_add(&mk->by_code, hash, row))
		return MODEL_NONE;
	v->codes[v->codes_cnt++] = *like;
	return row;
}

static void add_group(struct making *mk, uint32_t code, uint32_t group)
{
	const struct standing *standing = mk->v->standing;
	const struct standing_group *g = &standing->groups[group];
	struct snapshot_code *c = &mk->v->codes[code];

	if (g->threads > standing->groups[c->group].threads)
		c->group = group;
	for (uint32_t i = g->stand; i != MODEL_NONE; i = standing->next[i]) {
		uint32_t thread = mk->s->stands.rows[i].at.thread;

		c->ran_ns += mk->s->rises[i].ran_ns;
		c->waited_ns += mk->s->rises[i].waited_ns;
		c->times++;
		c->threads += mk->seen_thread[thread] != code + 1;
		c->processes += mk->seen_process[g->process] != code + 1;
		mk->seen_thread[thread] = mk->seen_process[g->process] = code + 1;
	}
}

static uint64_t ran_in(const struct making *mk, const struct standing_group *g)
{
	uint64_t ns = 0;

	for (uint32_t i = g->stand; i != MODEL_NONE; i = mk->v->standing->next[i])
		ns += mk->s->rises[i].ran_ns;
	return ns;
}

static int compare_codes(const void *a, const void *b)
{
	const struct snapshot_code *x = a, *y = b;
	int c = COMPARE(y->ran_ns, x->ran_ns);

	if (!c)
		c = COMPARE(y->waited_ns, x->waited_ns);
	if (!c)
		c = COMPARE(y->times, x->times);
	return c ? c : COMPARE(x->group, y->group);
}

static int find_codes(struct making *mk)
{
	struct snapshot_view *v = mk->v;

	for (uint32_t i = 0; i < v->standing->groups_cnt; i++) {
		const struct standing_group *g = &v->standing->groups[i];
		struct snapshot_code like = {.process = g->process,
					     .wait = wait_of_group(mk, g),
					     .moved = g->moved && !g->methods_cnt,
					     .method = method_of_group(mk, g),
					     .group = i};

		mk->code_of[i] = MODEL_NONE;
		if (model_is_own(mk->m, g->process))
			continue;
		if (!is_told(mk, g)) {
			v->asleep_ns += ran_in(mk, g);
			continue;
		}
		mk->code_of[i] = code_row(mk, &like);
		if (mk->code_of[i] == MODEL_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Code by code, so that a thread that was met in several ways counts once. */
static int add_codes(struct making *mk)
{
	struct snapshot_view *v = mk->v;
	size_t groups = v->standing->groups_cnt;
	_cleanup_free_ uint32_t *first = NULL, *next = NULL;
	int err;

	err = find_codes(mk);
	if (err)
		return err;
	first = malloc((v->codes_cnt + 1) * sizeof(*first));
	next = malloc((groups + 1) * sizeof(*next));
	if (!first || !next)
		return -ENOMEM;
	for (size_t i = 0; i < v->codes_cnt; i++)
		first[i] = MODEL_NONE;
	for (uint32_t i = (uint32_t)groups; i-- > 0;) {
		uint32_t code = mk->code_of[i];

		if (code == MODEL_NONE)
			continue;
		next[i] = first[code];
		first[code] = i;
	}
	for (uint32_t code = 0; code < v->codes_cnt; code++)
		for (uint32_t i = first[code]; i != MODEL_NONE; i = next[i])
			add_group(mk, code, i);
	if (v->codes_cnt)
		qsort(v->codes, v->codes_cnt, sizeof(*v->codes), compare_codes);
	return 0;
}

/* --------------------------------------------------------------------------------------------- */

static int allocate(struct making *mk)
{
	const struct model *m = mk->m;

	mk->totals = calloc(m->processes_cnt + 1, sizeof(*mk->totals));
	mk->seen_process = calloc(m->processes_cnt + 1, sizeof(*mk->seen_process));
	mk->seen_thread = calloc(m->threads_cnt + 1, sizeof(*mk->seen_thread));
	mk->code_of = calloc(mk->v->standing->groups_cnt + 1, sizeof(*mk->code_of));
	return mk->totals && mk->seen_process && mk->seen_thread && mk->code_of ? 0 : -ENOMEM;
}

struct snapshot_view *snapshot_view_new(struct model *m, const struct snapshot *s)
{
	struct making mk = {.v = calloc(1, sizeof(*mk.v)), .m = m, .s = s};
	int err = -ENOMEM;

	if (mk.v)
		mk.v->standing = standing_new(m, &s->stands);
	if (mk.v && mk.v->standing)
		err = allocate(&mk);
	if (!err)
		err = add_processes(&mk);
	if (!err)
		err = add_codes(&mk);
	free(mk.totals);
	free(mk.seen_process);
	free(mk.seen_thread);
	free(mk.code_of);
	hash_clear(&mk.by_name);
	hash_clear(&mk.by_code);
	if (err) {
		snapshot_view_free(mk.v);
		errno = -err;
		return NULL;
	}
	return mk.v;
}

void snapshot_view_free(struct snapshot_view *v)
{
	if (!v)
		return;
	standing_free(v->standing);
	free(v->processes);
	free(v->codes);
	free(v);
}
