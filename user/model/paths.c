/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/paths.h"

#include <errno.h>
#include <stdlib.h>

int paths_begin(struct paths *p, struct model *m, uint32_t process, unsigned int flags)
{
	*p = (struct paths){
		.m = m,
		.map.fold_unnamed = flags & PATHS_FOLD_UNNAMED,
		.fold_recursion = flags & PATHS_FOLD_RECURSION,
	};
	p->frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->frames));
	p->methods = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->methods));
	p->calls = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->calls));
	if (!p->frames || !p->methods || !p->calls)
		return -ENOMEM;
	return group_begin(&p->group, m, process);
}

/* Adds a frame. Neighbours that are one after folding are one, and so are calls of a named method by
 * itself where that is asked for. */
static void add(struct paths *p, uint32_t method)
{
	bool named = p->m->symbols[method].reason == REASON_NAMED;

	if (p->methods_cnt && p->methods[p->methods_cnt - 1] == method) {
		if (named && p->fold_recursion) {
			p->calls[p->methods_cnt - 1]++;
			return;
		}
		if (!named && p->map.fold_unnamed)
			return;
	}
	p->calls[p->methods_cnt] = 1;
	p->methods[p->methods_cnt++] = method;
}

bool paths_next(struct paths *p)
{
	if (!group_next(&p->group, &p->sample))
		return false;
	p->thread = p->m->samples[p->sample].thread;
	p->frames_cnt = resolve_sample(p->m, &p->m->samples[p->sample], p->frames);
	p->methods_cnt = 0;
	for (size_t i = 0; i < p->frames_cnt; i++) {
		if (p->frames[i].symbol != MODEL_NONE) /* else no room for the symbol of a note */
			add(p, method_of(&p->map, p->m, p->frames[i].symbol));
	}
	return true;
}

void paths_end(struct paths *p)
{
	group_end(&p->group);
	method_map_clear(&p->map);
	free(p->frames);
	free(p->methods);
	free(p->calls);
	p->frames = NULL;
	p->methods = NULL;
	p->calls = NULL;
}
