/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_JIT_SHARE_H
#define HOTRUN_MODEL_JIT_SHARE_H
/*
 * How much of each process's JIT-compiled code that was seen on a CPU has a name. Frames count once
 * a sample; precompiled code is left out, which no perf map lists. Pure; no threads.
 */
#include "model/model.h"

struct jit_share {
	uint64_t frames; /* of JIT code and of stubs of the runtime */
	uint64_t named;	 /* of these */
	uint64_t memory; /* of these, by the memory of the process; the others by its perf map */
};

/* By row of processes, m->processes_cnt of them. Returns owned (free), or NULL with errno
 * ENOMEM. */
struct jit_share *jit_share_new(struct model *m);
#endif
