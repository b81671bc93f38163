/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/unnamed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/paths.h"

/* breaks[] has a counter for each module and a last one for breaks nobody knows where. */
static void add_stack(struct unnamed *u, const struct model *m, uint64_t id)
{
	uint32_t row = id ? model_stack_find(m, id) : MODEL_NONE, module;

	if (row == MODEL_NONE)
		return;
	u->user_stacks++;
	if (!(m->stacks[row].flags & STACK_BROKEN))
		return;
	u->broken++;
	module = m->stacks[row].broken_module;
	u->breaks[module < m->modules_cnt ? module : m->modules_cnt].samples++;
}

static void add_frames(struct unnamed *u, const struct paths *p)
{
	for (size_t i = 0; i < p->frames_cnt; i++) {
		const struct resolve_frame *frame = &p->frames[i];
		const struct model_symbol *s;

		if (frame->symbol == MODEL_NONE)
			continue;
		s = &p->m->symbols[frame->symbol];
		if (s->reason >= REASON_CNT)
			continue;
		u->frames += s->kind != KIND_NOTE || s->reason == REASON_PENDING;
		u->by_reason[s->reason]++;
		u->leaves[s->reason] += i + 1 == p->frames_cnt;
		if (frame->location != MODEL_NONE)
			u->later += !!(p->m->locations[frame->location].flags & LOCATION_LATER);
	}
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static const char *path_of(const struct model *m, uint32_t module)
{
	return module < m->modules_cnt ? m->modules[module].path : "";
}

static int compare_breaks(const void *a, const void *b, void *arg)
{
	const struct unnamed_break *ba = a, *bb = b;
	int c = COMPARE(bb->samples, ba->samples);

	if (!c)
		c = strcmp(path_of(arg, ba->module), path_of(arg, bb->module));
	return c ? c : COMPARE(ba->module, bb->module);
}

static int unnamed_build(struct unnamed *u, struct model *m, uint32_t process)
{
	struct paths p = {0};
	size_t cnt = m->modules_cnt + 1;
	int err;

	u->breaks = calloc(cnt, sizeof(*u->breaks));
	if (!u->breaks)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		u->breaks[i].module = i < m->modules_cnt ? (uint32_t)i : MODEL_NONE;
	err = paths_begin(&p, m, process, 0);
	while (!err && paths_next(&p)) {
		u->samples++;
		add_frames(u, &p);
		add_stack(u, m, m->samples[p.sample].user_stack);
	}
	paths_end(&p);
	qsort_r(u->breaks, cnt, sizeof(*u->breaks), compare_breaks, m);
	while (u->breaks_cnt < cnt && u->breaks[u->breaks_cnt].samples)
		u->breaks_cnt++;
	return err;
}

struct unnamed *unnamed_new(struct model *m, uint32_t process)
{
	struct unnamed *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return NULL;
	err = unnamed_build(u, m, process);
	if (err) {
		unnamed_free(u);
		errno = -err;
		return NULL;
	}
	return u;
}

void unnamed_free(struct unnamed *u)
{
	if (!u)
		return;
	free(u->breaks);
	free(u);
}

bool unnamed_is_note(enum model_reason reason)
{
	return reason == REASON_STACK_LOST || reason == REASON_TRUNCATED || reason == REASON_BROKEN;
}

uint64_t unnamed_frames(const struct unnamed *u)
{
	uint64_t sum = 0;

	for (int i = REASON_NAMED + 1; i < REASON_CNT; i++)
		if (!unnamed_is_note(i))
			sum += u->by_reason[i];
	return sum;
}

enum model_reason unnamed_commonest(const struct unnamed *u)
{
	enum model_reason most = REASON_NAMED;

	for (int i = REASON_NAMED + 1; i < REASON_CNT; i++)
		if (!unnamed_is_note(i) && u->by_reason[i] > (most ? u->by_reason[most] : 0))
			most = i;
	return most;
}
