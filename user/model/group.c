/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/group.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "bpf/events.h"

static bool wanted(const struct group *g, const struct model_sample *sample)
{
	uint32_t process = g->m->threads[sample->thread].process;

	if (sample->kind != SAMPLE_ON_CPU)
		return false;
	if (g->wanted)
		return g->wanted[process];
	return g->process == MODEL_NONE || process == g->process;
}

static int begin(struct group *g)
{
	const struct model *m = g->m;

	g->sample = MODEL_NONE;
	g->first = calloc(m->threads_cnt + 1, sizeof(*g->first));
	g->next = calloc(m->samples_cnt + 1, sizeof(*g->next));
	if (!g->first || !g->next) {
		group_end(g);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->threads_cnt; i++)
		g->first[i] = MODEL_NONE;
	/* From the last to the first, so that each thread's list runs forward in time. */
	for (size_t i = m->samples_cnt; i-- > 0;) {
		const struct model_sample *sample = &m->samples[i];

		if (!wanted(g, sample))
			continue;
		g->next[i] = g->first[sample->thread];
		g->first[sample->thread] = (uint32_t)i;
	}
	return 0;
}

int group_begin(struct group *g, const struct model *m, uint32_t process)
{
	*g = (struct group){.m = m, .process = process};
	return begin(g);
}

int group_begin_of(struct group *g, const struct model *m, const uint8_t *wanted)
{
	*g = (struct group){.m = m, .process = MODEL_NONE, .wanted = wanted};
	return begin(g);
}

bool group_next(struct group *g, uint32_t *ret_sample)
{
	while (g->sample == MODEL_NONE) {
		if (g->thread >= g->m->threads_cnt)
			return false;
		g->sample = g->first[g->thread++];
	}
	*ret_sample = g->sample;
	g->sample = g->next[g->sample];
	return true;
}

void group_end(struct group *g)
{
	free(g->first);
	free(g->next);
	g->first = NULL;
	g->next = NULL;
}
