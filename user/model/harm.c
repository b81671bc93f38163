/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/harm.h"

static void add(struct harm *harm, const struct model_sample *sample)
{
	harm->samples += model_weight(sample);
	if (sample->waiters == WAITERS_UNKNOWN)
		harm->unknown += model_weight(sample);
	harm->waiters += harm_of(sample);
}

struct harm harm_sum_of(const struct model *m, const uint8_t *wanted)
{
	struct harm harm = {0};

	for (size_t i = 0; i < m->samples_cnt; i++)
		if (m->samples[i].kind == SAMPLE_ON_CPU &&
		    (!wanted || wanted[m->threads[m->samples[i].thread].process]))
			add(&harm, &m->samples[i]);
	return harm;
}

struct harm harm_sum(const struct model *m, uint32_t process)
{
	struct harm harm = {0};

	for (size_t i = 0; i < m->samples_cnt; i++) {
		const struct model_sample *sample = &m->samples[i];

		if (sample->kind == SAMPLE_ON_CPU &&
		    (process == MODEL_NONE || m->threads[sample->thread].process == process))
			add(&harm, sample);
	}
	return harm;
}
