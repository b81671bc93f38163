/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bpf/events.h"
#include "model/switches.h"

/* Turns that a wait is looked back over. */
#define BEHIND_TURNS 4096u
/* Who is woken on its way to sleep leaves its CPU so soon; later, it had not slept, and ran on. */
#define LEAVES_NS 100000ull

/* What a thread does while rows are walked. */
struct thread_state {
	uint32_t window;   /* of which this is true; of later ones nothing is known */
	uint64_t ready_ns; /* 0 = it runs, sleeps, or nobody knows */
	uint32_t waker, waker_turn;
	bool woken, by_irq;
};

struct turns_build {
	const struct model *m;
	struct turns *t;
	struct thread_state *states; /* by row of the thread */
	uint32_t *open;		     /* by CPU: its turn, or TURN_NONE; true from first_turn on */
	uint32_t window;	     /* the number of this one */
	size_t first_turn;	     /* of this window */
	uint32_t cpus_cnt;
	uint64_t from_ns, to_ns;
	uint64_t began_ns;
};

static uint64_t cut(const struct turns_build *b, uint64_t ns)
{
	return ns < b->from_ns ? b->from_ns : ns > b->to_ns ? b->to_ns : ns;
}

static uint32_t turn_on(const struct turns_build *b, uint32_t cpu)
{
	uint32_t i = b->open[cpu];

	return i == TURN_NONE || i < b->first_turn ? TURN_NONE : i;
}

static struct thread_state *state_of(struct turns_build *b, uint32_t thread)
{
	struct thread_state *state = &b->states[thread];

	if (state->window != b->window)
		*state = (struct thread_state){
			.window = b->window, .waker = MODEL_NONE, .waker_turn = TURN_NONE};
	return state;
}

/* Who could run on waits from now on; and who was woken on its way to sleep. */
static void leave(struct thread_state *state, bool preempted, uint64_t now)
{
	if (preempted)
		*state = (struct thread_state){.window = state->window,
					       .ready_ns = now,
					       .waker = MODEL_NONE,
					       .waker_turn = TURN_NONE};
	else if (state->ready_ns && now - state->ready_ns <= LEAVES_NS)
		state->ready_ns = now;
	else
		state->ready_ns = 0;
}

static void close_turn(struct turns_build *b, uint32_t cpu, uint64_t now,
		       const struct model_switch *row)
{
	uint32_t i = turn_on(b, cpu);
	struct turn *turn;

	if (i == TURN_NONE)
		return;
	turn = &b->t->turns[i];
	turn->end_ns = now;
	b->open[cpu] = TURN_NONE;
	turn->irq_ns = row->irq_ns;
	turn->softirq_ns = row->softirq_ns;
	turn->left = row->state;
	turn->preempted = row->flags & SWITCH_PREEMPTED;
	if (turn->thread != MODEL_NONE)
		leave(state_of(b, turn->thread), turn->preempted, now);
}

static int open_turn(struct turns_build *b, const struct model_switch *row, uint32_t before)
{
	struct turns *t = b->t;
	struct turn turn = {
		.begin_ns = row->time_ns,
		.cpu = row->cpu,
		.thread = row->thread,
		.waker = MODEL_NONE,
		.waker_turn = TURN_NONE,
		.before = before,
		.unknown = row->flags & SWITCH_UNKNOWN,
	};

	if (row->thread != MODEL_NONE) {
		struct thread_state *state = state_of(b, row->thread);

		turn.ready_ns = state->ready_ns;
		turn.woken = state->woken;
		turn.by_irq = state->by_irq;
		turn.waker = state->waker;
		turn.waker_turn = state->waker_turn;
		*state = (struct thread_state){
			.window = b->window, .waker = MODEL_NONE, .waker_turn = TURN_NONE};
	} else if (!turn.unknown) {
		turn.ready_ns = row->time_ns;
	}
	if (t->turns_cnt >= TURN_NONE || GROW(t->turns, t->turns_cnt, t->turns_cap))
		return -ENOMEM;
	b->open[row->cpu] = (uint32_t)t->turns_cnt;
	t->turns[t->turns_cnt++] = turn;
	return 0;
}

static void wake(struct turns_build *b, const struct model_switch *row)
{
	struct thread_state *state;

	b->t->wakeups += row->time_ns >= b->from_ns && row->time_ns <= b->to_ns;
	if (row->thread == MODEL_NONE)
		return;
	state = state_of(b, row->thread);
	/* It waits already. Of who was woken before, another wakeup says that it slept again. */
	if (state->ready_ns && !state->woken)
		return;
	*state = (struct thread_state){
		.window = b->window,
		.ready_ns = row->time_ns,
		.woken = true,
		.by_irq = row->flags & SWITCH_IN_IRQ,
		.waker = row->other,
		.waker_turn = turn_on(b, row->cpu),
	};
}

/* Of the rows up to the last one, and there where nothing of another window is. */
static void end_window(struct turns_build *b, size_t last)
{
	uint64_t end_ns = model_switches_end(b->m, last), to_ns = cut(b, end_ns);
	uint64_t from_ns = cut(b, b->began_ns);

	for (size_t i = b->first_turn; i < b->t->turns_cnt; i++)
		if (!b->t->turns[i].end_ns)
			b->t->turns[i].end_ns = end_ns;
	b->first_turn = b->t->turns_cnt;
	b->window++;
	if (to_ns <= from_ns)
		return;
	if (!b->t->windows++)
		b->t->from_ns = from_ns;
	b->t->to_ns = to_ns;
	b->t->length_ns += to_ns - from_ns;
}

static int walk(struct turns_build *b)
{
	const struct model *m = b->m;
	int err = 0;

	for (size_t i = 0; !err && i < m->switches_cnt; i++) {
		const struct model_switch *row = &m->switches[i];
		uint32_t before;

		if (i && model_switches_begins(m, i))
			end_window(b, i - 1);
		if (!i || model_switches_begins(m, i))
			b->began_ns = row->time_ns;
		if (row->kind != SWITCH_TURN) {
			wake(b, row);
			continue;
		}
		before = turn_on(b, row->cpu);
		close_turn(b, row->cpu, row->time_ns, row);
		err = open_turn(b, row, before);
	}
	if (!err && m->switches_cnt)
		end_window(b, m->switches_cnt - 1);
	return err;
}

uint64_t turn_waited(const struct turn *turn)
{
	return turn->ready_ns && turn->ready_ns < turn->begin_ns ? turn->begin_ns - turn->ready_ns
								 : 0;
}

/* Of a turn, only what lies in what was asked for is counted; its wait with its end. */
static void sum_up(struct turns_build *b)
{
	struct turns *t = b->t;

	for (size_t i = 0; i < t->turns_cnt; i++) {
		struct turn *turn = &t->turns[i];
		struct turn_cpu *cpu = &t->cpus[turn->cpu];
		bool begins = turn->begin_ns >= b->from_ns && turn->begin_ns <= b->to_ns;
		struct turn_thread *thread =
			turn->thread == MODEL_NONE ? NULL : &t->threads[turn->thread];
		uint64_t ns;

		ns = cut(b, turn->end_ns) - cut(b, turn->begin_ns);
		*(turn->unknown ? &cpu->unknown_ns : thread ? &cpu->busy_ns : &cpu->idle_ns) += ns;
		/* Of one that is cut it is not known when in it they were. */
		if (turn->end_ns >= b->from_ns && turn->end_ns <= b->to_ns) {
			cpu->irq_ns += turn->irq_ns;
			cpu->softirq_ns += turn->softirq_ns;
		}
		if (!thread || !ns)
			continue;
		cpu->turns++;
		thread->turns++;
		thread->ran_ns += ns;
		if (!begins || !turn_waited(turn))
			continue;
		thread->waits++;
		thread->waited_ns += turn_waited(turn);
		if (thread->longest == TURN_NONE ||
		    turn_waited(turn) > turn_waited(&t->turns[thread->longest]))
			thread->longest = (uint32_t)i;
	}
}

/* Those outside of what was asked for go; who names them does not any more. */
static int keep_turns(struct turns_build *b)
{
	struct turns *t = b->t;
	uint32_t *moved = malloc(t->turns_cnt * sizeof(*moved) ?: 1);
	size_t kept = 0;

	if (!moved)
		return -ENOMEM;
	for (size_t i = 0; i < t->turns_cnt; i++) {
		struct turn turn = t->turns[i];

		if (turn.end_ns <= b->from_ns || turn.begin_ns >= b->to_ns) {
			moved[i] = TURN_NONE;
			continue;
		}
		moved[i] = (uint32_t)kept;
		if (turn.before != TURN_NONE)
			turn.before = moved[turn.before];
		if (turn.waker_turn != TURN_NONE)
			turn.waker_turn = moved[turn.waker_turn];
		t->turns[kept++] = turn;
	}
	t->turns_cnt = kept;
	free(moved);
	return 0;
}

static int allocate(struct turns_build *b)
{
	struct turns *t = b->t;

	b->cpus_cnt = model_switches_cpus(b->m);
	b->states = calloc(b->m->threads_cnt ?: 1, sizeof(*b->states));
	b->open = malloc((b->cpus_cnt ?: 1) * sizeof(*b->open));
	t->threads = calloc(b->m->threads_cnt ?: 1, sizeof(*t->threads));
	t->cpus = calloc(b->cpus_cnt ?: 1, sizeof(*t->cpus));
	if (!b->states || !b->open || !t->threads || !t->cpus)
		return -ENOMEM;
	t->threads_cnt = t->threads_cap = b->m->threads_cnt;
	t->cpus_cnt = t->cpus_cap = b->cpus_cnt;
	for (size_t i = 0; i < t->threads_cnt; i++)
		t->threads[i].longest = TURN_NONE;
	for (uint32_t cpu = 0; cpu < b->cpus_cnt; cpu++) {
		t->cpus[cpu].cpu = cpu;
		b->open[cpu] = TURN_NONE;
	}
	return 0;
}

struct turns *turns_new(const struct model *m, uint64_t from_ns, uint64_t to_ns)
{
	struct turns_build b = {.m = m, .from_ns = from_ns, .to_ns = to_ns};
	int err;

	b.t = calloc(1, sizeof(*b.t));
	if (!b.t)
		return NULL;
	err = allocate(&b);
	if (!err && m->slices_cnt)
		err = walk(&b);
	if (!err)
		err = keep_turns(&b);
	if (!err)
		sum_up(&b);
	free(b.states);
	free(b.open);
	if (!err)
		return b.t;
	turns_free(b.t);
	errno = -err;
	return NULL;
}

void turns_free(struct turns *t)
{
	if (!t)
		return;
	free(t->turns);
	free(t->threads);
	free(t->cpus);
	free(t);
}

static size_t add_behind(struct turn_behind *rows, size_t cnt, size_t max, uint32_t thread,
			 bool idle, uint64_t ns)
{
	for (size_t i = 0; i < cnt; i++) {
		if (rows[i].thread == thread && rows[i].idle == idle) {
			rows[i].ns += ns;
			return cnt;
		}
	}
	if (cnt == max)
		return cnt;
	rows[cnt] = (struct turn_behind){thread, idle, ns};
	return cnt + 1;
}

static int compare_behind(const void *a, const void *b)
{
	const struct turn_behind *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

size_t turns_behind(const struct turns *t, uint32_t turn, struct turn_behind *ret_rows, size_t max)
{
	struct turn_behind rows[64];
	uint64_t from_ns = t->turns[turn].ready_ns, to_ns = t->turns[turn].begin_ns;
	uint32_t i = t->turns[turn].before;
	size_t cnt = 0;

	if (!turn_waited(&t->turns[turn]))
		return 0;
	for (unsigned n = 0; n < BEHIND_TURNS && i != TURN_NONE && to_ns > from_ns; n++) {
		const struct turn *at = &t->turns[i];
		uint64_t begin_ns = at->begin_ns > from_ns ? at->begin_ns : from_ns;

		if (to_ns > begin_ns)
			cnt = add_behind(rows, cnt, sizeof(rows) / sizeof(rows[0]), at->thread,
					 at->thread == MODEL_NONE && !at->unknown,
					 to_ns - begin_ns);
		to_ns = begin_ns;
		i = at->before;
	}
	if (to_ns > from_ns)
		cnt = add_behind(rows, cnt, sizeof(rows) / sizeof(rows[0]), MODEL_NONE, false,
				 to_ns - from_ns);
	qsort(rows, cnt, sizeof(rows[0]), compare_behind);
	if (cnt > max)
		cnt = max;
	memcpy(ret_rows, rows, cnt * sizeof(rows[0]));
	return cnt;
}

size_t turns_longest(const struct turns *t, bool (*wanted)(void *ctx, const struct turn *turn),
		     void *ctx, uint32_t *ret_turns, size_t max)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->turns_cnt && max; i++) {
		uint64_t waited_ns = turn_waited(&t->turns[i]);
		size_t at;

		if (!waited_ns || t->turns[i].thread == MODEL_NONE ||
		    (cnt == max && waited_ns <= turn_waited(&t->turns[ret_turns[cnt - 1]])) ||
		    !wanted(ctx, &t->turns[i]))
			continue;
		cnt += cnt < max;
		for (at = cnt - 1; at && waited_ns > turn_waited(&t->turns[ret_turns[at - 1]]);
		     at--)
			ret_turns[at] = ret_turns[at - 1];
		ret_turns[at] = (uint32_t)i;
	}
	return cnt;
}
