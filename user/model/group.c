/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/group.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
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

/* Sorts by thread, by counting. */
static int begin(struct group *g)
{
	const struct model *m = g->m;
	/* By thread: where its samples begin, and then where the next one goes. */
	_cleanup_free_ uint32_t *place = calloc(m->threads_cnt + 1, sizeof(*place));

	g->rows = malloc((m->samples_cnt + 1) * sizeof(*g->rows));
	if (!place || !g->rows)
		return -ENOMEM;
	for (size_t i = 0; i < m->samples_cnt; i++)
		if (wanted(g, &m->samples[i]))
			place[m->samples[i].thread + 1]++;
	for (size_t i = 1; i <= m->threads_cnt; i++)
		place[i] += place[i - 1];
	g->rows_cnt = place[m->threads_cnt];
	for (size_t i = 0; i < m->samples_cnt; i++)
		if (wanted(g, &m->samples[i]))
			g->rows[place[m->samples[i].thread]++] = (uint32_t)i;
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
	if (g->at == g->rows_cnt)
		return false;
	*ret_sample = g->rows[g->at++];
	return true;
}

void group_end(struct group *g)
{
	free(g->rows);
	g->rows = NULL;
}
