/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/paths.h"

#include <errno.h>
#include <stdlib.h>

int paths_begin(struct paths *p, struct model *m, uint32_t process, unsigned int flags)
{
	*p = (struct paths){.m = m, .map.fold_unnamed = flags & PATHS_FOLD_UNNAMED};
	p->frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->frames));
	p->methods = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->methods));
	if (!p->frames || !p->methods)
		return -ENOMEM;
	return group_begin(&p->group, m, process);
}

/* Neighbours that are one after folding are one frame; named recursion stays as it is. */
static bool repeats(const struct paths *p, uint32_t method)
{
	return p->map.fold_unnamed && p->methods_cnt && p->methods[p->methods_cnt - 1] == method &&
	       p->m->symbols[method].reason != REASON_NAMED;
}

bool paths_next(struct paths *p)
{
	if (!group_next(&p->group, &p->sample))
		return false;
	p->thread = p->m->samples[p->sample].thread;
	p->frames_cnt = resolve_sample(p->m, &p->m->samples[p->sample], p->frames);
	p->methods_cnt = 0;
	for (size_t i = 0; i < p->frames_cnt; i++) {
		uint32_t method;

		if (p->frames[i].symbol == MODEL_NONE) /* no room for the symbol of a note */
			continue;
		method = method_of(&p->map, p->m, p->frames[i].symbol);
		if (!repeats(p, method))
			p->methods[p->methods_cnt++] = method;
	}
	return true;
}

void paths_end(struct paths *p)
{
	group_end(&p->group);
	method_map_clear(&p->map);
	free(p->frames);
	free(p->methods);
	p->frames = NULL;
	p->methods = NULL;
}
