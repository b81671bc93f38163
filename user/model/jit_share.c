/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/jit_share.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "model/resolve.h"
#include "model/unnamed.h"

struct jit_share *jit_share_new(struct model *m)
{
	_cleanup_free_ struct resolve_frame *frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*frames));
	_cleanup_free_ struct jit_share *shares = calloc(m->processes_cnt + 1, sizeof(*shares));

	if (!frames || !shares)
		return NULL;
	for (size_t i = 0; i < m->samples_cnt; i++) {
		struct jit_share *share = &shares[resolve_process(m, &m->samples[i])];
		size_t cnt = resolve_sample(m, &m->samples[i], frames);

		for (size_t k = 0; k < cnt; k++) {
			const struct model_symbol *s;

			if (frames[k].symbol == MODEL_NONE) /* no room for that of a note */
				continue;
			s = &m->symbols[frames[k].symbol];
			if (s->kind != KIND_JIT && s->kind != KIND_STUB)
				continue;
			share->frames++;
			if (s->reason != REASON_NAMED)
				continue;
			share->named++;
			share->memory +=
				unnamed_named_by(m, s, frames[k].location) == NAMED_BY_MEMORY;
		}
	}
	return take_ptr(&shares);
}
