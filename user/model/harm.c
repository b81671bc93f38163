/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/harm.h"

struct harm harm_sum(const struct model *m, uint32_t process)
{
	struct harm harm = {0};

	for (size_t i = 0; i < m->samples_cnt; i++) {
		const struct model_sample *sample = &m->samples[i];

		if (sample->kind != SAMPLE_ON_CPU ||
		    (process != MODEL_NONE && m->threads[sample->thread].process != process))
			continue;
		harm.samples += model_weight(sample);
		if (sample->waiters == WAITERS_UNKNOWN)
			harm.unknown += model_weight(sample);
		harm.waiters += harm_of(sample);
	}
	return harm;
}
