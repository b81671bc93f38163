/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/blocked_book.h"

#include <stdlib.h>

#include "base/grow.h"
#include "model/stand.h"

/* Threads that one look chooses, of all processes together: of those in brief waits, whose stacks
 * are read each time (10 us), and of those in lasting ones. */
#define BRIEF_MOST   64
#define LASTING_MOST 512
#define ROWS_MOST    8192u /* of a slice */
#define WAKERS_MOST  4096u /* the same */
/* So much time without a look before a slice is what its looks stand for as well: on a host that is
 * full of other work there may be none for seconds. */
#define UNSEEN_MOST_NS 5000000000ull
/* Stacks that do not reach their root are read again in so many slices, then in one of as many. */
#define AGAIN_SLICES 8u
/* A share that grows is at most so many times the last one. */
#define RAISE 4u
/* Threads that a look may find in all: where very many processes have few each, they too are
 * looked at in part. */
#define ALL_MOST 4096.0

const uint32_t blocked_book_surprise = 2 * (BRIEF_MOST + LASTING_MOST);

void blocked_book_clear(struct blocked_book *b)
{
	free(b->rows);
	free(b->wakers);
	free(b->threads);
	free(b->processes);
	*b = (struct blocked_book){0};
}

void blocked_book_forget(struct blocked_book *b)
{
	b->threads_cnt = b->processes_cnt = b->rows_cnt = b->wakers_cnt = 0;
	b->looks = b->asked_looks = 0;
	b->unseen_ns = 0;
	b->share = 0;
}

void blocked_book_begin_slice(struct blocked_book *b, bool on)
{
	b->on = on;
	if (!on)
		b->unseen_ns = 0;
	b->slice++;
	b->looks = 0;
	b->rows_cnt = b->wakers_cnt = 0;
}

void blocked_book_end_look(struct blocked_book *b)
{
	b->looks++;
	b->asked_looks++;
}

void blocked_book_end_slice(struct blocked_book *b, struct model *m, uint64_t slice_ns)
{
	m->slices[m->slices_cnt - 1].looks = b->looks;
	if (!b->on)
		return;
	b->unseen_ns += slice_ns;
	if (b->unseen_ns > UNSEEN_MOST_NS + slice_ns)
		b->unseen_ns = UNSEEN_MOST_NS + slice_ns;
	for (size_t i = 0; b->looks && i < b->rows_cnt; i++)
		m->stands[b->rows[i].row].blocked_ns =
			(uint64_t)(b->rows[i].weight * (double)b->unseen_ns / b->looks);
	if (b->looks) {
		b->look_ns = (double)b->unseen_ns / b->looks;
		b->unseen_ns = 0;
	}
	for (size_t i = 0; i < b->wakers_cnt; i++)
		m->wakers[b->wakers[i].row].blocked_ns =
			(uint64_t)(b->wakers[i].weight * b->look_ns);
	b->rows_cnt = b->wakers_cnt = 0;
}

/* --- a thread -------------------------------------------------------------------------------- */

static struct blocked_thread *thread_of(struct blocked_book *b, uint32_t row)
{
	while (b->threads_cnt <= row) {
		if (GROW(b->threads, b->threads_cnt, b->threads_cap))
			return NULL;
		b->threads[b->threads_cnt++] = (struct blocked_thread){0};
	}
	return &b->threads[row];
}

static struct blocked_process *process_of(struct blocked_book *b, uint32_t row)
{
	while (b->processes_cnt <= row) {
		if (GROW(b->processes, b->processes_cnt, b->processes_cap))
			return NULL;
		b->processes[b->processes_cnt++] = (struct blocked_process){0};
	}
	return &b->processes[row];
}

static void recall(const struct blocked_thread *t, struct model_stand *s)
{
	s->at.kernel_stack = t->kernel_stack;
	s->at.user_stack = t->user_stack;
	s->at.flags = t->flags & STAND_UNREADABLE ? SAMPLE_USER_STACK_FAULT : 0;
	s->call = t->call;
	s->poll_files = t->poll_files;
	s->flags = t->flags;
}

static void remember(struct blocked_thread *t, const struct model *m, const struct model_stand *s)
{
	if (t->switches != s->switches)
		t->found = 0;
	t->switches = s->switches;
	t->kernel_stack = s->at.kernel_stack;
	t->user_stack = s->at.user_stack;
	t->call = s->call;
	t->poll_files = s->poll_files;
	t->flags = s->flags;
	t->is_known = !(s->flags & STAND_MOVED);
	t->is_broken = stands_is_broken(m, s);
}

/* Whether it is in the wait of that row, or in one that is like it: brief ones at the same place
 * are one row. */
static bool is_of_row(const struct model_stand *row, const struct model_stand *s)
{
	return row->switches == s->switches ||
	       (row->age_ns < STAND_LASTING_NS && s->age_ns < STAND_LASTING_NS &&
		row->at.kernel_stack == s->at.kernel_stack &&
		row->at.user_stack == s->at.user_stack && row->state == s->state);
}

static void add_row(struct blocked_book *b, struct model *m, struct blocked_thread *t,
		    const struct model_stand *s, double weight)
{
	struct model_stand *row = NULL;

	if (t->slice == b->slice && t->row < b->rows_cnt)
		row = &m->stands[b->rows[t->row].row];
	if (row && is_of_row(row, s)) {
		row->at.time_ns = s->at.time_ns;
		row->switches = s->switches;
		if (row->age_ns < s->age_ns)
			row->age_ns = s->age_ns;
		b->rows[t->row].weight += weight;
		return;
	}
	if (b->rows_cnt >= ROWS_MOST || GROW(b->rows, b->rows_cnt, b->rows_cap) ||
	    model_stand_add(m, s)) {
		model_loss_add(m, LOSS_MODEL_LIMIT, 1);
		return;
	}
	t->slice = b->slice;
	t->row = (uint32_t)b->rows_cnt;
	b->rows[b->rows_cnt++] = (struct blocked_row){weight, (uint32_t)m->stands_cnt - 1};
	m->stands[m->stands_cnt - 1].slice = (uint32_t)m->slices_cnt - 1;
}

static double weight_of(uint32_t share)
{
	return share == LOOK_ALL || !share ? 1 : 4294967296.0 / share;
}

static bool is_lasting(const struct model_stand *s)
{
	return s->age_ns != STAND_AGE_UNKNOWN && s->age_ns >= STAND_LASTING_NS;
}

void blocked_book_count(struct blocked_book *b, const struct model *m,
			const struct model_stand *stand, uint32_t share)
{
	struct blocked_process *p = process_of(b, m->threads[stand->at.thread].process);

	if (p)
		*(is_lasting(stand) ? &p->lasting : &p->brief) += weight_of(share);
}

void blocked_book_end_count(struct blocked_book *b)
{
	b->asked_looks++;
}

void blocked_book_take(struct blocked_book *b, struct model *m, const struct model_stand *stand,
		       uint32_t share, bool same)
{
	struct blocked_thread *t = thread_of(b, stand->at.thread);
	struct blocked_process *p = process_of(b, m->threads[stand->at.thread].process);
	struct model_stand s = *stand;

	if (!t || !p)
		return;
	if (!same)
		remember(t, m, &s);
	else if (t->is_known && t->switches == s.switches)
		recall(t, &s);
	else
		p->is_wanted = true;
	/* Who holds what is known where all threads are looked at. */
	s.holder = 0;
	p->broken += t->is_broken;
	blocked_book_count(b, m, &s, share);
	add_row(b, m, t, &s, weight_of(share));
	if (t->switches == s.switches)
		t->found += weight_of(share);
}

bool blocked_book_wake(struct blocked_book *b, struct model *m, const struct model_waker *waker,
		       uint64_t switches)
{
	struct blocked_thread *t = waker->woken < b->threads_cnt ? &b->threads[waker->woken] : NULL;
	struct model_waker row = *waker;

	if (!t || !t->is_known || t->switches != switches || !(t->found > 0))
		return false;
	row.wait_kernel = t->kernel_stack;
	row.wait_user = t->user_stack;
	row.slice = (uint32_t)m->slices_cnt - 1;
	if (b->wakers_cnt >= WAKERS_MOST || GROW(b->wakers, b->wakers_cnt, b->wakers_cap) ||
	    model_waker_add(m, &row))
		return false;
	b->wakers[b->wakers_cnt++] = (struct blocked_row){t->found, (uint32_t)m->wakers_cnt - 1};
	t->found = 0;
	return true;
}

/* --- who is looked at in part ---------------------------------------------------------------- */

/* Threads of a process in one kind of wait, as a look finds them. */
static double found(const struct blocked_book *b, size_t process, bool lasting)
{
	const struct blocked_process *p = &b->processes[process];

	return (lasting ? p->lasting : p->brief) / b->asked_looks;
}

/* The most of one process that are chosen, so that all together are at most as many: small ones are
 * whole, large ones share the rest. */
static double level_of(const struct blocked_book *b, bool lasting, double most)
{
	double low = 0, high = most, sum = 0;

	for (size_t i = 0; i < b->processes_cnt; i++)
		sum += found(b, i, lasting);
	if (sum <= most)
		return sum;
	for (int step = 0; step < 12; step++) {
		double level = (low + high) / 2;

		sum = 0;
		for (size_t i = 0; i < b->processes_cnt; i++)
			sum += found(b, i, lasting) < level ? found(b, i, lasting) : level;
		*(sum < most ? &low : &high) = level;
	}
	return low < 1 ? 1 : low;
}

static uint32_t share_of(double level, double all)
{
	double share = level / all * 4294967295.0;

	if (level >= all)
		return LOOK_ALL;
	return share < 1 ? 1 : (uint32_t)share;
}

/* Whose threads were very many may have them all wait again at once. */
static uint32_t raise_slowly(uint32_t was, uint32_t share)
{
	return share / RAISE > was ? was * RAISE : share;
}

static bool wants_again(struct blocked_process *p)
{
	if (!p->broken)
		return false;
	p->slices++;
	return p->slices <= AGAIN_SLICES || p->slices % AGAIN_SLICES == 0;
}

/* What everybody is chosen by is not set. */
static void set_share(struct blocked_process *p, uint32_t tgid, const struct look_share *share,
		      blocked_book_set set, void *ctx)
{
	bool is_usual = share->brief == LOOK_ALL && share->lasting == LOOK_ALL && !share->again;

	if (!is_usual)
		p->has_share = !set(ctx, tgid, share);
	else if (p->has_share)
		p->has_share = set(ctx, tgid, NULL) != 0;
	p->share = *share;
}

void blocked_book_set_shares(struct blocked_book *b, const struct model *m, blocked_book_set set,
			     void *ctx)
{
	double brief, lasting, all = 0;

	if (!b->asked_looks)
		return;
	for (size_t i = 0; i < b->processes_cnt; i++)
		all += found(b, i, false) + found(b, i, true);
	b->share = all > ALL_MOST ? share_of(ALL_MOST, all) : 0;
	brief = level_of(b, false, BRIEF_MOST);
	lasting = level_of(b, true, LASTING_MOST);
	for (uint32_t i = 0; i < b->processes_cnt && i < m->processes_cnt; i++) {
		struct blocked_process *p = &b->processes[i];
		struct look_share share = {LOOK_ALL, LOOK_ALL, 0};

		if (!m->processes[i].exit_ns)
			share = (struct look_share){share_of(brief, found(b, i, false)),
						    share_of(lasting, found(b, i, true)),
						    wants_again(p)};
		if (p->has_share) {
			share.brief = raise_slowly(p->share.brief, share.brief);
			share.lasting = raise_slowly(p->share.lasting, share.lasting);
		}
		p->brief = p->lasting = p->broken = 0;
		set_share(p, m->processes[i].tgid, &share, set, ctx);
	}
	b->asked_looks = 0;
}

void blocked_book_end_again(struct blocked_book *b, const struct model *m, blocked_book_set set,
			    void *ctx)
{
	for (uint32_t i = 0; i < b->processes_cnt && i < m->processes_cnt; i++) {
		struct blocked_process *p = &b->processes[i];
		struct look_share share = p->share;

		if (!p->has_share)
			share = (struct look_share){LOOK_ALL, LOOK_ALL, 0};
		share.again = p->is_wanted;
		p->is_wanted = false;
		if (share.again || (p->has_share && p->share.again))
			set_share(p, m->processes[i].tgid, &share, set, ctx);
	}
}
