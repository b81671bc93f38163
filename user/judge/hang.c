/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/hang.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer threads are no crowd. */
#define MANY 4
/* Different ones of a process; groups come with most threads first. */
#define PLACES_MAX 256

/* Groups at one method, put together. */
struct place {
	const struct standing_group *group; /* the largest */
	uint32_t method;
	double weight, most; /* threads: of all, of the largest */
	uint64_t longest_ns;
	bool sync;
	bool jobless; /* a worker of native code, in the condition variable that hands out work */
};

struct search {
	const struct model *m;
	const struct standing *standing;
	struct place *places; /* PLACES_MAX */
	size_t places_cnt;
};

static bool is_now(const struct model *m, const struct model_stand *s, const void *ctx)
{
	const uint32_t *slice = ctx;

	(void)m;
	return s->now && s->slice == *slice;
}

struct hangs *hangs_new(struct model *m, const struct blocked *blocked)
{
	struct hangs *h = calloc(1, sizeof(*h));
	uint32_t slice = stands_now_slice(m);

	if (!h)
		return NULL;
	*h = (struct hangs){
		.m = m, .blocked = blocked, .rows = {.rows = m->stands, .cnt = m->stands_cnt}};
	h->now = standing_new_of(m, &h->rows, is_now, &slice);
	if (h->now)
		return h;
	hangs_free(h);
	errno = ENOMEM;
	return NULL;
}

void hangs_free(struct hangs *h)
{
	if (!h)
		return;
	standing_free(h->now);
	free(h);
}

/* --- one group ------------------------------------------------------------------------------- */

/* How .NET waits for a task where it does not await it. */
static const char *const task_waits[] = {
	"Task.Wait",
	"Task.InternalWait",
	"Task.SpinThenBlockingWait",
	".GetResultCore",
	"TaskAwaiter.",
	"ManualResetEventSlim.Wait",
	"ValueTask.GetResult",
	"ValueTaskAwaiter.",
	"Task.<WaitAll",
	"ConfiguredTaskAwaitable",
	"ConfiguredValueTaskAwait",
};

static bool waits_for_task(const struct model *m, const struct standing *s,
			   const struct standing_group *g)
{
	for (size_t i = g->methods_cnt; i-- > 0;) {
		const struct model_symbol *symbol = &m->symbols[s->methods[g->first_method + i]];

		if (symbol->kind != KIND_JIT && symbol->kind != KIND_IMAGE)
			continue;
		if (symbol->application)
			return false;
		for (size_t k = 0; k < sizeof(task_waits) / sizeof(task_waits[0]); k++)
			if (strstr(symbol->name, task_waits[k]))
				return true;
	}
	return false;
}

static bool runs(const struct standing_group *g)
{
	return g->wait == WAIT_RUNS || g->wait == WAIT_CPU;
}

/* Its main thread waits for the end of the program. */
static bool is_main_at_rest(const struct model *m, const struct standing_group *g)
{
	return g->role == ROLE_MAIN && m->processes[g->process].flags & PROCESS_DOTNET;
}

static bool waits(const struct model *m, const struct standing_group *g)
{
	return !g->idle && !g->moved && !runs(g) && g->wait != WAIT_ENDED && !is_main_at_rest(m, g);
}

static bool same_role(const struct standing_group *a, const struct standing_group *b)
{
	return a->role == b->role && !strcmp(a->label, b->label);
}

static bool is_jobless(const struct model *m, const struct standing *s,
		       const struct standing_group *g)
{
	bool in_condition = false;

	for (size_t i = 0; i < g->methods_cnt; i++) {
		const struct model_symbol *symbol = &m->symbols[s->methods[g->first_method + i]];

		if (model_is_managed(symbol))
			return false;
		in_condition |= strstr(symbol->name, "pthread_cond_wait") ||
				strstr(symbol->name, "pthread_cond_timedwait");
	}
	return in_condition && g->role != ROLE_MAIN;
}

static uint32_t method_of_group(const struct search *s, const struct standing_group *g)
{
	uint32_t chain[STANDING_CHAIN];

	return standing_chain(s->m, s->standing, g, chain) ? chain[0] : MODEL_NONE;
}

/* --- places ---------------------------------------------------------------------------------- */

static struct place *place_of(struct search *s, const struct standing_group *g)
{
	struct place like = {.group = g,
			     .method = method_of_group(s, g),
			     .sync = g->role == ROLE_POOL_WORKER &&
				     waits_for_task(s->m, s->standing, g),
			     .jobless = is_jobless(s->m, s->standing, g)};

	for (size_t i = 0; i < s->places_cnt; i++) {
		struct place *p = &s->places[i];

		if (p->method == like.method && p->sync == like.sync && p->group->wait == g->wait &&
		    same_role(p->group, g))
			return p;
	}
	/* The first ones have most threads: what finds no room is not what most wait for. */
	if (s->places_cnt == PLACES_MAX)
		return NULL;
	s->places[s->places_cnt] = like;
	return &s->places[s->places_cnt++];
}

static void add_place(struct search *s, const struct standing_group *g, double weight,
		      uint64_t longest_ns)
{
	struct place *p = waits(s->m, g) ? place_of(s, g) : NULL;

	if (!p)
		return;
	p->weight += weight;
	if (weight > p->most) {
		p->most = weight;
		p->group = g;
	}
	if (longest_ns > p->longest_ns)
		p->longest_ns = longest_ns;
}

/* Of as many the one that tells most: who holds what they wait for is known, or it is the main
 * thread, which serves alone in many programs. */
static int telling(const struct place *p)
{
	return p->group->holder ? 2 : p->group->role == ROLE_MAIN;
}

/* Those without a job only where nobody else waits. */
static const struct place *most_of(const struct search *s)
{
	const struct place *most = NULL;

	for (size_t i = 0; i < s->places_cnt; i++) {
		const struct place *p = &s->places[i];

		if (!most || p->jobless < most->jobless ||
		    (p->jobless == most->jobless &&
		     (p->weight > most->weight ||
		      (p->weight >= most->weight && telling(p) > telling(most)))))
			most = p;
	}
	return most;
}

/* Workers that began while it was recorded. */
static double pool_grew(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	uint64_t elapsed_ns = m->host.end_ns - m->host.start_ns, begun = 0;
	/* Threads are told in boottime. */
	uint64_t start_ns = m->host.start_ns + (p->start_ns - p->born_ns);

	if (!p->born_ns || p->start_ns < p->born_ns || m->host.end_ns <= m->host.start_ns)
		return 0;
	for (size_t i = 0; i < m->threads_cnt; i++) {
		const struct model_thread *t = &m->threads[i];

		begun += t->process == process && t->start_ns > start_ns &&
			 role_of(t->comm, false) == ROLE_POOL_WORKER;
	}
	return (double)begun * 1e9 / (double)elapsed_ns;
}

static void fill(const struct search *s, const struct place *p, struct hang *hang)
{
	*hang = (struct hang){
		.standing = s->standing,
		.group = p->group,
		.method = p->method,
		.threads = (uint32_t)lround(p->weight),
		.longest_ns = p->longest_ns,
		.sync_over_async = p->sync,
		.holder = p->group->holder,
		.holder_method = MODEL_NONE,
	};
	if (p->group->role == ROLE_POOL_WORKER)
		hang->grew = pool_grew(s->m, p->group->process);
}

/* Where the holder stands itself. */
static void find_holder(const struct hangs *h, const struct standing_group *g, struct hang *hang)
{
	struct search s = {.m = h->m, .standing = h->now};

	for (uint32_t i = g->stand; i != MODEL_NONE; i = h->now->next[i])
		if (h->m->threads[h->m->stands[i].at.thread].tid == hang->holder && !g->moved)
			hang->holder_method = method_of_group(&s, g);
}

static bool now_of(const struct hangs *h, uint32_t process, struct search *s, struct hang *hang)
{
	const struct place *most;

	s->standing = h->now;
	s->places_cnt = 0;
	for (size_t i = 0; i < h->now->groups_cnt; i++)
		if (h->now->groups[i].process == process)
			add_place(s, &h->now->groups[i], h->now->groups[i].threads,
				  h->now->groups[i].age_most_ns);
	most = most_of(s);
	if (!most)
		return false;
	fill(s, most, hang);
	hang->now = true;
	for (size_t i = 0; i < h->now->groups_cnt; i++) {
		const struct standing_group *g = &h->now->groups[i];

		if (g->process != process)
			continue;
		hang->running += runs(g) ? g->threads : 0;
		hang->of += same_role(g, hang->group) ? g->threads : 0;
		if (hang->holder)
			find_holder(h, g, hang);
	}
	return true;
}

static bool mean_of(const struct hangs *h, uint32_t process, struct search *s, struct hang *hang)
{
	const struct blocked_process *p = h->blocked ? blocked_find(h->blocked, process) : NULL;
	const struct place *most;
	double of = 0;

	if (!p)
		return false;
	s->standing = h->blocked->standing;
	s->places_cnt = 0;
	for (size_t i = 0; i < p->groups_cnt; i++)
		add_place(s, p->groups[i].group,
			  blocked_mean(h->blocked, p->groups[i].sum.blocked_ns),
			  p->groups[i].sum.longest_ns);
	most = most_of(s);
	/* Less than half a thread is nobody on the mean. */
	if (!most || most->weight < 0.5)
		return false;
	fill(s, most, hang);
	for (size_t i = 0; i < p->groups_cnt; i++)
		if (same_role(p->groups[i].group, hang->group))
			of += blocked_mean(h->blocked, p->groups[i].sum.blocked_ns);
	hang->of = (uint32_t)lround(of);
	return true;
}

bool hangs_of(const struct hangs *h, uint32_t process, struct hang *ret_hang)
{
	struct place places[PLACES_MAX];
	struct search s = {.m = h->m, .places = places};

	return now_of(h, process, &s, ret_hang) || mean_of(h, process, &s, ret_hang);
}

static bool same_stack(const struct standing *a, const struct standing_group *x,
		       const struct standing *b, const struct standing_group *y)
{
	return x->methods_cnt == y->methods_cnt && x->methods_cnt &&
	       !memcmp(a->methods + x->first_method, b->methods + y->first_method,
		       x->methods_cnt * sizeof(*a->methods));
}

uint32_t hangs_holder(const struct hangs *h, const struct standing_group *group)
{
	if (group->holder || group->wait != WAIT_LOCK)
		return group->holder;
	for (size_t i = 0; i < h->now->groups_cnt; i++) {
		const struct standing_group *g = &h->now->groups[i];

		if (g->process == group->process && g->holder &&
		    same_stack(h->blocked->standing, group, h->now, g))
			return g->holder;
	}
	return 0;
}

bool hang_is_many(const struct hang *hang)
{
	return hang->threads >= MANY && 2 * hang->threads >= hang->of;
}
