/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_STAND_H
#define HOTRUN_MODEL_STAND_H
/*
 * Where threads stand at one moment: a row a thread, its stacks those of the model. Pure; no
 * threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/* To which ages are exact: they are by a clock that stands between two ticks. */
#define STANDS_AGE_OFF_NS 20000000ull

struct stands {
	struct model_stand *rows;
	size_t cnt, cap;
	uint64_t time_ns; /* CLOCK_MONOTONIC, of the pass */
	uint64_t pass_ns; /* that it took */
	uint64_t cpu_ns;  /* of that, CPU time */
	uint64_t unasked; /* threads of .NET that wait, of which nobody was asked who holds what */
	uint64_t gone;	  /* threads of processes that are not known: they just came or went */
};

void stands_clear(struct stands *s);
/* 0 or -ENOMEM. */
int stands_add(struct stands *s, const struct model_stand *stand);
/* The slice of the newest look at every thread (model_stand.now) in the model's own rows, or
 * MODEL_NONE: a capture may have more than one. */
uint32_t stands_now_slice(const struct model *m);
/* The stack of that row does not reach its thread's root, as far as it was looked for. */
bool stands_is_broken(const struct model *m, const struct model_stand *s);
/*
 * Where a thread has not run from one row of the model's to a later one, it stood in the first as
 * in the second: what could not be walked then, before its tables were there, gets the later stack.
 * 0 or -ENOMEM.
 */
int stands_complete(struct model *m);
/* Who holds the lock of .NET for which it waits, by the runtime's memory, and which kind it may be.
 * 0: nobody is known. */
void stand_tell_lock(struct model_stand *s, uint32_t holder, bool object, bool monitor);
/* Of a pass over all threads of some processes: holder, as the namespace of the thread that waits
 * sees it, becomes the tid of the host, or 0 where no thread of its process is called so. 0 or
 * -ENOMEM. */
int stands_tell_holders(struct stands *s, const struct model *m);
#endif
