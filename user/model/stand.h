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

#define STAND_CALL_NONE UINT64_MAX

struct stand {
	/* What resolve_sample() takes: thread, time, stacks (0 = none). Its flags say which stack
	 * could not be had. */
	struct model_sample at;
	uint64_t age_ns;   /* so long in its state; STAND_AGE_UNKNOWN of bpf/events.h */
	uint64_t call;	   /* number of the system call it is in, or STAND_CALL_NONE */
	uint64_t switches; /* when it was read */
	uint32_t flags;	   /* STAND_* of bpf/events.h */
	uint32_t holder;   /* tid of who holds the mutex it waits for, 0 = not known */
	uint8_t state;	   /* as of /proc/PID/stat */
	bool sampled;	   /* it ran: its stack is that of a tick, a moment before */
};

struct stands {
	struct stand *rows;
	size_t cnt, cap;
	uint64_t time_ns; /* CLOCK_MONOTONIC, of the pass */
	uint64_t pass_ns; /* that it took */
	uint64_t cpu_ns;  /* of that, CPU time */
	uint64_t gone;	  /* threads of processes that are not known: they just came or went */
};

void stands_clear(struct stands *s);
/* 0 or -ENOMEM. */
int stands_add(struct stands *s, const struct stand *stand);
#endif
