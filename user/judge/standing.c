/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/standing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/hash.h"
#include "model/method.h"
#include "model/resolve.h"

/* The grouping under way. */
struct grouping {
	struct standing *s;
	struct model *m;
	struct method_map map;
	struct hash_index index;
	const struct stands *stands;
	struct hash_index by_tid;     /* rows of stands */
	struct hash_index alike;      /* the first row of those that must be in one group */
	uint32_t *group_of;	      /* by row of stands: its group */
	struct resolve_frame *frames; /* RESOLVE_MAX_FRAMES */
	uint32_t *methods;	      /* of the stand at hand, root first */
	size_t methods_cnt;
};

struct group_key {
	const struct standing *s;
	const struct standing_group *group;
	const uint32_t *methods;
};

static bool equal_group(const void *owner, uint32_t row, const void *key)
{
	const struct standing *s = owner;
	const struct standing_group *a = &s->groups[row];
	const struct group_key *k = key;
	const struct standing_group *b = k->group;

	return a->process == b->process && a->role == b->role && a->wait == b->wait &&
	       a->idle == b->idle && a->cut == b->cut && a->moved == b->moved &&
	       a->sampled == b->sampled && a->holder == b->holder && !strcmp(a->label, b->label) &&
	       a->methods_cnt == b->methods_cnt &&
	       (!a->methods_cnt || !memcmp(s->methods + a->first_method, k->methods,
					   a->methods_cnt * sizeof(*k->methods)));
}

/* Frames of user code may be missing altogether: of kernel threads, and where they run. */
static bool has_stack(const struct model_stand *s)
{
	return s->at.user_stack || s->at.kernel_stack || s->at.flags;
}

static void resolve(struct grouping *g, const struct model_stand *s)
{
	size_t cnt = has_stack(s) ? resolve_sample(g->m, &s->at, g->frames) : 0;

	g->methods_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		uint32_t method = method_of(&g->map, g->m, g->frames[i].symbol);
		bool unnamed = g->m->symbols[method].reason != REASON_NAMED;

		/* Functions of one file without names, one after the other, are one frame. */
		if (!unnamed || !g->methods_cnt || g->methods[g->methods_cnt - 1] != method)
			g->methods[g->methods_cnt++] = method;
	}
}

/* glibc, whose mutexes have their holder in the third word; musl's have something else there. */
static bool is_glibc(const char *module)
{
	static const char *const starts[] = {"libc.so.6", "libc-2.", "libpthread"};
	const char *slash = strrchr(module, '/'), *base = slash ? slash + 1 : module;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(base, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Whether it stands in that function of glibc. */
static bool calls(const struct grouping *g, const char *start)
{
	for (size_t i = 0; i < g->methods_cnt; i++) {
		const struct model_symbol *s = &g->m->symbols[g->methods[i]];

		if (s->kind == KIND_NATIVE && !strncmp(s->name, start, strlen(start)) &&
		    is_glibc(s->module))
			return true;
	}
	return false;
}

struct tid_key {
	const struct model *m;
	uint32_t process, tid;
};

static bool equal_tid(const void *owner, uint32_t row, const void *key)
{
	const struct model_stand *s = &((const struct stands *)owner)->rows[row];
	const struct tid_key *k = key;
	const struct model_thread *t = &k->m->threads[s->at.thread];

	return t->tid == k->tid && t->process == k->process;
}

static int index_tids(struct grouping *g)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < g->stands->cnt; i++) {
		const struct model_thread *t = &g->m->threads[g->stands->rows[i].at.thread];

		struct tid_key key = {g->m, t->process, t->tid};
		uint64_t hash = hash_pair(t->process, t->tid);

		/* A capture has many rows of a thread. */
		if (hash_find(&g->by_tid, hash, equal_tid, g->stands, &key) == HASH_NONE)
			err = hash_add(&g->by_tid, hash, i);
	}
	return err;
}

/* Below what waits for a lock or an event, classes that do no more than wait. */
static bool is_wait_of_runtime(const char *name)
{
	static const char *const starts[] = {"WaitHandle.", "WaitSubsystem.", "ThreadWaitInfo.",
					     "EventWaitHandle.", "LowLevel"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * Whether the last managed frames wait for a lock of .NET. Of a monitor that is Monitor.Enter, and
 * what it calls, or, as a `lock` of .NET 8 calls the runtime without one, any that is no wait of
 * another kind; of a lock object (object) they wait for its event below one of its methods, or,
 * where it may be a monitor's (monitor), below Monitor.Enter.
 */
static bool waits_for_lock(const struct grouping *g, bool object, bool monitor)
{
	static const char threading[] = "System.Threading.";

	for (size_t i = g->methods_cnt; i-- > 0;) {
		const struct model_symbol *s = &g->m->symbols[g->methods[i]];
		const char *name;

		if (s->kind != KIND_JIT && s->kind != KIND_IMAGE)
			continue;
		if (s->reason != REASON_NAMED)
			return false;
		if (strncmp(s->name, threading, strlen(threading)) != 0)
			return !object;
		name = s->name + strlen(threading);
		if (!strncmp(name, "Monitor.", strlen("Monitor.")))
			return monitor && strstr(name, "Enter") != NULL;
		if (!object || !strncmp(name, "Lock.", strlen("Lock.")))
			return object;
		if (!is_wait_of_runtime(name))
			return false;
	}
	return false;
}

static bool waits_for_mutex(const struct grouping *g)
{
	return calls(g, "__lll_lock_wait") || calls(g, "pthread_mutex_lock") ||
	       calls(g, "__pthread_mutex_lock") || calls(g, "___pthread_mutex_lock");
}

/* A mutex of glibc, by the function that waits for it, or a lock of .NET; then the word is who
 * holds it, if that is a thread of the same process. */
static uint32_t holder_of(const struct grouping *g, const struct model_stand *s)
{
	struct tid_key key = {g->m, g->m->threads[s->at.thread].process, s->holder};

	bool object = s->flags & STAND_LOCK_OBJECT, monitor = s->flags & STAND_MONITOR;
	bool managed = object || monitor;

	if (!s->holder || waits_for_mutex(g) == managed ||
	    (managed && !waits_for_lock(g, object, monitor)))
		return 0;
	return hash_find(&g->by_tid, hash_pair(key.process, key.tid), equal_tid, g->stands, &key) ==
			       HASH_NONE
		       ? 0
		       : s->holder;
}

static void add_age(struct standing_group *g, uint64_t age_ns)
{
	if (age_ns == STAND_AGE_UNKNOWN)
		return;
	if (!g->ages || age_ns < g->age_least_ns)
		g->age_least_ns = age_ns;
	if (!g->ages || age_ns > g->age_most_ns)
		g->age_most_ns = age_ns;
	g->ages++;
}

static int keep_methods(struct grouping *g, struct standing_group *group)
{
	struct standing *s = g->s;

	group->first_method = s->methods_cnt;
	group->methods_cnt = g->methods_cnt;
	for (size_t i = 0; i < g->methods_cnt; i++) {
		if (GROW(s->methods, s->methods_cnt, s->methods_cap))
			return -ENOMEM;
		s->methods[s->methods_cnt++] = g->methods[i];
	}
	return 0;
}

/* Row of the group of that stand, made where there is none; HASH_NONE without memory. */
static uint32_t group_of(struct grouping *g, const struct standing_group *like)
{
	struct group_key key = {g->s, like, g->methods};
	uint64_t hash = hash_pair(hash_bytes(g->methods, g->methods_cnt * sizeof(*g->methods)),
				  (uint64_t)like->process << 32 | like->role << 8 | like->wait);
	uint32_t row = hash_find(&g->index, hash, equal_group, g->s, &key);
	struct standing *s = g->s;

	if (row != HASH_NONE)
		return row;
	if (GROW(s->groups, s->groups_cnt, s->groups_cap))
		return HASH_NONE;
	row = (uint32_t)s->groups_cnt;
	s->groups[row] = *like;
	if (keep_methods(g, &s->groups[row]) || hash_add(&g->index, hash, row))
		return HASH_NONE;
	s->groups_cnt++;
	return row;
}

/* A name that was another thread's says nothing. */
static void set_label(struct standing_group *group, const struct model_thread *t)
{
	const char *own =
		role_of(t->comm, false) == ROLE_POOL_WORKER ? "thread without a name" : t->comm;

	role_fold_digits(group->label, sizeof(group->label),
			 group->role == ROLE_OWN ? own : role_text(group->role));
}

static bool is_main(const struct model *m, const struct model_thread *t)
{
	return t->tid == m->processes[t->process].tgid;
}

/* Whatever their frames are, these two are in one group. */
static bool are_alike(const void *owner, uint32_t row, const void *key)
{
	const struct grouping *g = owner;
	const struct model_stand *a = &g->stands->rows[row],
				 *b = &g->stands->rows[*(const uint32_t *)key];
	const struct model_thread *s = &g->m->threads[a->at.thread],
				  *t = &g->m->threads[b->at.thread];

	return s->process == t->process && s->comm == t->comm &&
	       is_main(g->m, s) == is_main(g->m, t) && a->slice == b->slice &&
	       a->at.user_stack == b->at.user_stack && a->at.kernel_stack == b->at.kernel_stack &&
	       a->at.flags == b->at.flags && a->flags == b->flags && a->state == b->state &&
	       a->call == b->call && a->holder == b->holder && a->sampled == b->sampled &&
	       a->poll_files == b->poll_files;
}

static void join(struct grouping *g, uint32_t group, uint32_t row)
{
	struct standing_group *to = &g->s->groups[group];

	to->threads++;
	add_age(to, g->stands->rows[row].age_ns);
	g->s->next[row] = MODEL_NONE;
	if (to->last_stand != MODEL_NONE)
		g->s->next[to->last_stand] = row;
	to->last_stand = row;
	g->group_of[row] = group;
}

/* Of 100,000 threads with one stack of 2,048 frames, that is looked at once. */
static int add_stand(struct grouping *g, uint32_t row)
{
	const struct model_stand *s = &g->stands->rows[row];
	const struct model_thread *t = &g->m->threads[s->at.thread];
	struct standing_group like = {
		.process = t->process, .stand = row, .last_stand = MODEL_NONE};
	uint64_t hash = hash_pair(hash_pair(s->at.user_stack, s->at.kernel_stack),
				  (uint64_t)t->process << 32 | s->state);
	uint32_t group = hash_find(&g->alike, hash, are_alike, g, &row);

	if (group != HASH_NONE) {
		join(g, g->group_of[group], row);
		return 0;
	}
	resolve(g, s);
	like.role = standing_role(g->m, s, g->methods, g->methods_cnt);
	set_label(&like, t);
	like.wait = standing_wait(g->m, s, g->methods, g->methods_cnt);
	like.moved = s->flags & STAND_MOVED;
	like.sampled = s->sampled;
	like.cut = standing_is_cut(g->m, g->methods, g->methods_cnt);
	like.idle = !like.moved && standing_is_idle(g->m, s, like.wait, g->methods, g->methods_cnt);
	like.holder = like.wait == WAIT_LOCK ? holder_of(g, s) : 0;
	like.methods_cnt = g->methods_cnt;
	group = group_of(g, &like);
	if (group == HASH_NONE)
		return -ENOMEM;
	join(g, group, row);
	return hash_add(&g->alike, hash, row);
}

/* Of threads that hold what those of a group wait for. */
static int mark_holders(struct grouping *g)
{
	_cleanup_free_ bool *holds = calloc(g->m->threads_cnt + 1, sizeof(*holds));
	struct standing *s = g->s;

	if (!holds)
		return -ENOMEM;
	for (size_t i = 0; i < s->groups_cnt; i++) {
		struct tid_key key = {g->m, s->groups[i].process, s->groups[i].holder};
		uint32_t row = key.tid ? hash_find(&g->by_tid, hash_pair(key.process, key.tid),
						   equal_tid, g->stands, &key)
				       : HASH_NONE;

		if (row != HASH_NONE)
			holds[g->stands->rows[row].at.thread] = true;
	}
	for (size_t i = 0; i < s->groups_cnt; i++)
		for (uint32_t k = s->groups[i].stand; k != MODEL_NONE; k = s->next[k])
			s->groups[i].holds |= holds[g->stands->rows[k].at.thread];
	return 0;
}

/* --- the order ------------------------------------------------------------------------------- */

struct ordering {
	const struct model *m;
	uint64_t *busy; /* by process: threads that are not idle */
};

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct standing_group *x = a, *y = b;
	const struct ordering *o = ctx;
	int c = COMPARE(o->busy[y->process], o->busy[x->process]);

	if (!c)
		c = COMPARE(o->m->processes[x->process].tgid, o->m->processes[y->process].tgid);
	if (!c)
		c = COMPARE(x->process, y->process);
	if (!c)
		c = COMPARE(x->idle, y->idle);
	if (!c)
		c = COMPARE(y->threads, x->threads);
	if (!c)
		c = COMPARE(y->age_most_ns, x->age_most_ns);
	return c ? c : COMPARE(x->stand, y->stand);
}

static int order(struct standing *s, const struct model *m)
{
	_cleanup_free_ uint64_t *busy = calloc(m->processes_cnt + 1, sizeof(*busy));
	struct ordering o = {m, busy};

	if (!busy)
		return -ENOMEM;
	for (size_t i = 0; i < s->groups_cnt; i++)
		if (!s->groups[i].idle)
			busy[s->groups[i].process] += s->groups[i].threads;
	if (s->groups_cnt)
		qsort_r(s->groups, s->groups_cnt, sizeof(*s->groups), compare_groups, &o);
	return 0;
}

struct standing *standing_new_of(struct model *m, const struct stands *stands,
				 standing_wanted wanted, const void *ctx)
{
	struct grouping g = {.m = m, .stands = stands, .map = {.fold_unnamed = true}};
	int err = 0;

	g.s = calloc(1, sizeof(*g.s));
	g.frames = malloc(RESOLVE_MAX_FRAMES * sizeof(*g.frames));
	g.methods = malloc(RESOLVE_MAX_FRAMES * sizeof(*g.methods));
	if (g.s)
		g.s->next = malloc((stands->cnt + 1) * sizeof(*g.s->next));
	g.group_of = malloc((stands->cnt + 1) * sizeof(*g.group_of));
	if (!g.s || !g.frames || !g.methods || !g.group_of || !g.s->next)
		err = -ENOMEM;
	if (!err)
		err = index_tids(&g);
	for (uint32_t i = 0; !err && i < stands->cnt; i++)
		if (!wanted || wanted(m, &stands->rows[i], ctx))
			err = add_stand(&g, i);
	if (!err)
		err = mark_holders(&g);
	if (!err)
		err = order(g.s, m);
	free(g.frames);
	free(g.methods);
	free(g.group_of);
	hash_clear(&g.alike);
	hash_clear(&g.index);
	hash_clear(&g.by_tid);
	method_map_clear(&g.map);
	if (err) {
		standing_free(g.s);
		errno = -err;
		return NULL;
	}
	return g.s;
}

struct standing *standing_new(struct model *m, const struct stands *stands)
{
	return standing_new_of(m, stands, NULL, NULL);
}

void standing_free(struct standing *s)
{
	if (!s)
		return;
	free(s->groups);
	free(s->next);
	free(s->methods);
	free(s);
}

/* --- a line ---------------------------------------------------------------------------------- */

/* Whether a frame tells people anything: it has a name, and it is no way into the kernel or out of
 * a thread's start. */
static bool tells(const struct model_symbol *s)
{
	return s->kind != KIND_KERNEL && s->kind != KIND_NOTE && s->kind != KIND_STUB &&
	       s->reason == REASON_NAMED;
}

/* What ASP.NET compiles of each handler, into which small ones are inlined: they have no frame. */
static bool is_handler(const struct model_symbol *s)
{
	return model_is_managed(s) && !strncmp(s->name, "<expression>.", strlen("<expression>."));
}

/* The application's frame nearest to the leaf: of .NET code where there is any; else one that may
 * hold the application's code. cnt: none. */
static size_t application_of(const struct model *m, const uint32_t *methods, size_t cnt)
{
	for (int managed = 1; managed >= 0; managed--)
		for (size_t i = cnt; i-- > 0;) {
			const struct model_symbol *s = &m->symbols[methods[i]];

			if (tells(s) && model_is_managed(s) == managed &&
			    (s->application || is_handler(s)))
				return i;
		}
	return cnt;
}

size_t standing_chain(const struct model *m, const struct standing *s,
		      const struct standing_group *g, uint32_t chain[STANDING_CHAIN])
{
	const uint32_t *methods = g->methods_cnt ? s->methods + g->first_method : NULL;
	size_t cnt = g->methods_cnt, at = application_of(m, methods, cnt), n = 0;
	uint32_t first = MODEL_NONE, last = MODEL_NONE;
	bool managed = false;

	for (size_t i = 0; i < cnt && !managed; i++)
		managed =
			model_is_managed(&m->symbols[methods[i]]) && tells(&m->symbols[methods[i]]);
	if (at < cnt)
		chain[n++] = methods[at];
	/* Of .NET code only methods: what the runtime does below them is always the same. */
	for (size_t i = at < cnt ? at + 1 : 0; i < cnt; i++) {
		const struct model_symbol *symbol = &m->symbols[methods[i]];

		if (!tells(symbol) || (managed && !model_is_managed(symbol)))
			continue;
		if (first == MODEL_NONE)
			first = methods[i];
		last = methods[i];
	}
	/* Without the application's code what began is of no interest. */
	if (at < cnt && first != MODEL_NONE)
		chain[n++] = first;
	/* Of native code what it called says it, and the rest is how. */
	if (last != MODEL_NONE && (at == cnt || (managed && last != first)))
		chain[n++] = last;
	return n;
}
