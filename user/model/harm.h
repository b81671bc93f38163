/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_HARM_H
#define HOTRUN_MODEL_HARM_H
/*
 * The harm of an on-CPU sample: how many threads waited for its CPU at that instant. Summed it is
 * in thread-samples; divided by the rate of sampling, in thread-seconds of waiting. Pure; no
 * threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/model.h"

/* Waiting threads of a sample, times its weight; 0 where they could not be read. */
static inline uint64_t harm_of(const struct model_sample *sample)
{
	return sample->waiters == WAITERS_UNKNOWN ? 0 : sample->waiters * model_weight(sample);
}

struct harm {
	uint64_t samples; /* on-CPU */
	uint64_t unknown; /* of these, that could not tell who waited */
	uint64_t waiters; /* of all, thread-samples */
};

/* The sums over the samples of process, MODEL_NONE = all. */
struct harm harm_sum(const struct model *m, uint32_t process);
/* Over those whose row in wanted is not 0; NULL = all. */
struct harm harm_sum_of(const struct model *m, const uint8_t *wanted);
#endif
