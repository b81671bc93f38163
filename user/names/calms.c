/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/calms.h"

#include "base/clock.h"
#include "process/thread_named.h"

#define FINALIZER ".NET Finalizer"
/* Its thread is looked for again after so long. */
#define FINALIZER_AGAIN_NS 100000000ull
/* Then after twice as long each time, some 13 s in the end. */
#define FINALIZER_DOUBLED_MAX 7u
/* A burst of the finalizer: it tells nothing of how long it does not run. */
#define CALM_SHORTEST_NS 20000000ull

/* Its turns first, then whether it is in one: what runs after that is another turn. */
static struct process_turns turns_of(uint32_t tid)
{
	struct process_turns turns = process_turns_of((pid_t)tid);

	turns.runnable = process_is_runnable((pid_t)tid);
	return turns;
}

/* A calm ends. */
static void note_calm(struct calms *c)
{
	uint64_t ns = c->since_ns ? c->mark_ns - c->since_ns : 0;

	if (ns >= CALM_SHORTEST_NS)
		c->usual_ns = c->usual_ns ? (3 * c->usual_ns + ns) / 4 : ns;
}

/* Its thread, as soon as there is one; who has none is looked at less and less often. */
static void find_finalizer(struct calms *c, const char *proc_path, uint32_t tgid, uint64_t now_ns)
{
	if (c->finalizer || now_ns < c->finalizer_again_ns)
		return;
	c->finalizer = thread_named(proc_path, tgid, FINALIZER);
	c->finalizer_again_ns = now_ns + (FINALIZER_AGAIN_NS << c->finalizer_looks);
	if (c->finalizer_looks < FINALIZER_DOUBLED_MAX)
		c->finalizer_looks++;
}

bool calms_look(struct calms *c, const char *proc_path, uint32_t tgid, uint64_t now_ns,
		uint64_t *ret_until_ns)
{
	struct process_turns turns;
	bool is_asleep;

	find_finalizer(c, proc_path, tgid, now_ns);
	turns = turns_of(c->finalizer);
	is_asleep = turns.turns && !turns.runnable;
	if (c->since_ns && is_asleep && turns.turns == c->turns.turns) {
		c->mark_ns = now_ns;
		return false;
	}
	note_calm(c);
	*ret_until_ns = c->mark_ns;
	c->ends_ns[c->calm % CALM_ENDS] = c->since_ns ? c->mark_ns : 0;
	/* CALM_NONE is none. */
	c->calm = c->calm + 1 == CALM_NONE ? 0 : c->calm + 1;
	c->turns = turns;
	c->mark_ns = now_ns;
	/* It may have run until just now. */
	c->since_ns = is_asleep ? clock_now_ns() : 0;
	return true;
}

uint32_t calms_now(const struct calms *c)
{
	return c->since_ns ? c->calm : CALM_NONE;
}

uint64_t calms_known_until(const struct calms *c, uint32_t calm, uint64_t until_ns)
{
	uint64_t end_ns =
		calm == CALM_NONE || c->calm - calm > CALM_ENDS ? 0 : c->ends_ns[calm % CALM_ENDS];

	if (calm != CALM_NONE && calm == calms_now(c))
		return c->mark_ns;
	return calm != c->calm && end_ns > until_ns ? end_ns : until_ns;
}
