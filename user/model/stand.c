/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/stand.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"

void stands_clear(struct stands *s)
{
	free(s->rows);
	*s = (struct stands){0};
}

int stands_add(struct stands *s, const struct model_stand *stand)
{
	if (GROW(s->rows, s->cnt, s->cap))
		return -ENOMEM;
	s->rows[s->cnt++] = *stand;
	return 0;
}

uint32_t stands_now_slice(const struct model *m)
{
	uint32_t slice = MODEL_NONE;

	for (size_t i = 0; i < m->stands_cnt; i++)
		if (m->stands[i].now && (slice == MODEL_NONE || m->stands[i].slice > slice))
			slice = m->stands[i].slice;
	return slice;
}

bool stands_is_broken(const struct model *m, const struct model_stand *s)
{
	uint32_t row = s->at.user_stack ? model_stack_find(m, s->at.user_stack) : MODEL_NONE;

	return row != MODEL_NONE && m->stacks[row].end != STACK_END_UNTOLD &&
	       (m->stacks[row].end != STACK_END_ROOT || m->stacks[row].flags & STACK_UNSURE);
}

/* Whether the wait of a row was under way at an earlier one of its thread. */
static bool is_same_wait(const struct model_stand *later, const struct model_stand *s)
{
	return later->age_ns != STAND_AGE_UNKNOWN && later->at.time_ns >= s->at.time_ns &&
	       later->age_ns > STANDS_AGE_OFF_NS + (later->at.time_ns - s->at.time_ns) &&
	       later->at.kernel_stack == s->at.kernel_stack && later->state == s->state;
}

int stands_complete(struct model *m)
{
	uint32_t *last = malloc((m->threads_cnt + 1) * sizeof(*last));

	if (!last)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++)
		last[i] = MODEL_NONE;
	for (size_t i = m->stands_cnt; i-- > 0;) {
		struct model_stand *s = &m->stands[i];
		uint32_t *later = &last[s->at.thread];

		if (!s->at.user_stack || s->sampled || s->flags & STAND_MOVED)
			continue;
		if (!stands_is_broken(m, s))
			*later = (uint32_t)i;
		else if (*later != MODEL_NONE && is_same_wait(&m->stands[*later], s))
			s->at.user_stack = m->stands[*later].at.user_stack;
	}
	free(last);
	return 0;
}

void stand_tell_lock(struct model_stand *s, uint32_t holder, bool object, bool monitor)
{
	if (!holder)
		return;
	s->holder = holder;
	s->flags |= (object ? STAND_LOCK_OBJECT : 0) | (monitor ? STAND_MONITOR : 0);
}

struct holder_key {
	const struct model *m;
	uint32_t process, ns_tid;
};

static bool equal_holder(const void *owner, uint32_t row, const void *key)
{
	const struct model_stand *s = &((const struct stands *)owner)->rows[row];
	const struct holder_key *k = key;

	return s->ns_tid == k->ns_tid && k->m->threads[s->at.thread].process == k->process;
}

int stands_tell_holders(struct stands *s, const struct model *m)
{
	struct hash_index by_tid = {0};
	int err = 0;

	for (uint32_t i = 0; !err && i < s->cnt; i++)
		err = hash_add(
			&by_tid,
			hash_pair(m->threads[s->rows[i].at.thread].process, s->rows[i].ns_tid), i);
	for (uint32_t i = 0; !err && i < s->cnt; i++) {
		struct model_stand *row = &s->rows[i];
		struct holder_key key = {m, m->threads[row->at.thread].process, row->holder};
		uint32_t by;

		if (!row->holder)
			continue;
		by = hash_find(&by_tid, hash_pair(key.process, key.ns_tid), equal_holder, s, &key);
		row->holder = by == HASH_NONE ? 0 : m->threads[s->rows[by].at.thread].tid;
	}
	hash_clear(&by_tid);
	return err;
}
