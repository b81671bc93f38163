/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/stand.h"

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
