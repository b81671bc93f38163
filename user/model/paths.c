/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/frame_view.h"

/* --- samples of the same stacks -------------------------------------------------------------- */

/* Open addressing, two slots and more for each sample. */
static int firsts_begin(struct paths *p)
{
	size_t cnt = 1;

	while (cnt < 2 * p->m->samples_cnt + 1)
		cnt *= 2;
	p->firsts_mask = cnt - 1;
	p->firsts = malloc(cnt * sizeof(*p->firsts));
	if (!p->firsts)
		return -ENOMEM;
	memset(p->firsts, 0xff, cnt * sizeof(*p->firsts));
	return 0;
}

static bool resolves_alike(const struct model *m, uint32_t a, uint32_t b)
{
	const struct model_sample *sa = &m->samples[a], *sb = &m->samples[b];

	return sa->user_stack == sb->user_stack && sa->kernel_stack == sb->kernel_stack &&
	       sa->flags == sb->flags && resolve_process(m, sa) == resolve_process(m, sb);
}

/* The slot of the current sample's stacks, MODEL_NONE in it: there is no first yet. */
static uint32_t *first_of(struct paths *p)
{
	const struct model_sample *s = &p->m->samples[p->sample];
	size_t slot = hash_pair(s->user_stack ^ resolve_process(p->m, s), s->kernel_stack);

	for (slot &= p->firsts_mask;; slot = (slot + 1) & p->firsts_mask)
		if (p->firsts[slot] == MODEL_NONE ||
		    resolves_alike(p->m, p->firsts[slot], p->sample))
			return &p->firsts[slot];
}

uint32_t *paths_numbers(size_t cnt)
{
	size_t bytes = (cnt + 1) * sizeof(uint32_t);
	uint32_t *numbers = malloc(bytes);

	return numbers ? memset(numbers, 0xff, bytes) : NULL;
}

/* --- a walk ---------------------------------------------------------------------------------- */

static int begin(struct paths *p, struct model *m, unsigned int flags)
{
	*p = (struct paths){
		.m = m,
		.map.fold_unnamed = flags & PATHS_FOLD_UNNAMED,
		.fold_recursion = flags & PATHS_FOLD_RECURSION,
		.no_methods = flags & PATHS_NO_METHODS,
		.just_my_code = m->just_my_code && !(flags & PATHS_ALL_FRAMES),
	};
	p->frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->frames));
	p->methods = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->methods));
	p->calls = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->calls));
	p->locations = calloc(RESOLVE_MAX_FRAMES, sizeof(*p->locations));
	if (!p->frames || !p->methods || !p->calls || !p->locations)
		return -ENOMEM;
	return flags & PATHS_ONCE ? firsts_begin(p) : 0;
}

int paths_begin(struct paths *p, struct model *m, uint32_t process, unsigned int flags)
{
	int err = begin(p, m, flags);

	return err ? err : group_begin(&p->group, m, process);
}

int paths_begin_of(struct paths *p, struct model *m, const uint8_t *wanted, unsigned int flags)
{
	int err = begin(p, m, flags);

	return err ? err : group_begin_of(&p->group, m, wanted);
}

/* Adds a frame. Neighbours that are one after folding are one, and so are calls of a named method
 * by itself where that is asked for. */
static void add(struct paths *p, uint32_t method, uint32_t location)
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
	p->locations[p->methods_cnt] = location;
	p->methods[p->methods_cnt++] = method;
}

static void add_symbol(struct paths *p, uint32_t symbol, uint32_t location)
{
	if (symbol != MODEL_NONE) /* else no room for the symbol of a note */
		add(p, method_of(&p->map, p->m, symbol), location);
}

static void add_frame(struct paths *p, const struct resolve_frame *frame)
{
	add_symbol(p, frame->symbol, frame->location);
}

/* JIT code without a name may be the application's: nobody can tell. */
static bool is_mine(const struct model_symbol *s)
{
	return s->application || (s->kind == KIND_JIT && s->reason != REASON_NAMED);
}

/* How much the module of a frame tells of a sample without application code. */
static int rank(const struct model_symbol *s)
{
	switch (s->kind) {
	case KIND_JIT:
	case KIND_IMAGE:
		return 4;
	case KIND_NATIVE:
		return frame_view_is_runtime(s->module) ? 3 : 2;
	case KIND_KERNEL:
	case KIND_NOTE:
		return 0;
	default:
		return 1;
	}
}

/* What stands for the frames of a sample that has code, but none of the application. */
static void add_framework(struct paths *p)
{
	struct model_symbol group = {
		.name = "[framework]", .module = "[framework]", .kind = KIND_STUB};
	struct model_symbol kernel = {
		.name = "[kernel]", .module = "[kernel]", .kind = KIND_KERNEL};
	struct model_symbol module = {0};
	const struct model_symbol *s, *best = NULL;

	for (size_t i = p->frames_cnt; i-- > 0;) {
		if (p->frames[i].symbol == MODEL_NONE)
			continue;
		s = &p->m->symbols[p->frames[i].symbol];
		if (rank(s) && (!best || rank(s) > rank(best)))
			best = s;
	}
	if (!best) {
		add_symbol(p, model_symbol_get(p->m, &kernel), MODEL_NONE);
		return;
	}
	module.module = method_module(p->m, best);
	module.name = *module.module ? module.module : "[unknown]";
	module.kind = best->kind;
	add_symbol(p, model_symbol_get(p->m, &group), MODEL_NONE);
	add_symbol(p, model_symbol_get(p->m, &module), MODEL_NONE);
}

/* The frames that just my code leaves, see frame_view.h. */
static void add_my_code(struct paths *p)
{
	bool mine = false, code = false;

	for (size_t i = 0; i < p->frames_cnt; i++) {
		const struct model_symbol *s;

		if (p->frames[i].symbol == MODEL_NONE)
			continue;
		s = &p->m->symbols[p->frames[i].symbol];
		code |= s->kind != KIND_NOTE;
		mine |= is_mine(s);
		if (s->kind == KIND_NOTE || is_mine(s))
			add_frame(p, &p->frames[i]);
	}
	if (code && !mine)
		add_framework(p);
}

void paths_resolve(struct paths *p)
{
	p->frames_cnt = resolve_sample(p->m, &p->m->samples[p->sample], p->frames);
	p->methods_cnt = 0;
	if (p->no_methods)
		return;
	if (p->just_my_code)
		add_my_code(p);
	for (size_t i = 0; !p->just_my_code && i < p->frames_cnt; i++)
		add_frame(p, &p->frames[i]);
}

bool paths_is_new(struct paths *p, const uint32_t *numbers)
{
	bool is_new = numbers[p->first] == MODEL_NONE;

	if (is_new && p->first != p->sample)
		paths_resolve(p);
	return is_new;
}

bool paths_next(struct paths *p)
{
	uint32_t *first;

	if (!group_next(&p->group, &p->sample))
		return false;
	p->thread = p->m->samples[p->sample].thread;
	first = p->firsts ? first_of(p) : NULL;
	p->lasts = first && *first != MODEL_NONE;
	if (p->lasts) {
		p->first = *first;
		p->frames_cnt = p->methods_cnt = 0;
		return true;
	}
	p->first = p->sample;
	paths_resolve(p);
	p->lasts = first && resolve_lasts(p->m, &p->m->samples[p->sample]);
	if (p->lasts)
		*first = p->sample;
	return true;
}

void paths_end(struct paths *p)
{
	group_end(&p->group);
	method_map_clear(&p->map);
	free(p->frames);
	free(p->methods);
	free(p->calls);
	free(p->locations);
	free(p->firsts);
	p->firsts = NULL;
	p->frames = NULL;
	p->methods = NULL;
	p->calls = NULL;
	p->locations = NULL;
}
