/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_RECOVER_H
#define HOTRUN_JUDGE_RECOVER_H
/*
 * What others left of a process, by what is known of it from outside: what stands and why, what
 * somebody at the console does about it in which order, and the one act that hotrun may do itself.
 * Says it and does nothing. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>

#include "model/left_behind.h"

enum recover_level {
	RECOVER_STANDS, /* it, or a thread of it, does not run because of that */
	RECOVER_LEFT,	/* it runs; what was left costs it something */
	RECOVER_LEVELS
};

/* In the order in which they are done: what is frozen obeys nothing else. */
enum recover_act {
	RECOVER_NOTHING, /* nobody outside can, or it is not to be done from here */
	RECOVER_THAW,
	RECOVER_END_TRACER, /* only on the user's word for it */
	RECOVER_CONTINUE,   /* SIGCONT */
	RECOVER_RESUME,	    /* its runtime, over the port that it waits at */
	RECOVER_MAP_OFF,
	RECOVER_ACTS
};

#define RECOVER_STEPS_MAX    9
#define RECOVER_STEP_BYTES   480
#define RECOVER_FINDINGS_MAX 8 /* one of each kind */

struct recover_finding {
	const char *id; /* static: "stopped", never changes its meaning */
	enum recover_level level;
	enum recover_act act;
	char text[5200]; /* what was found; it may hold untrusted strings, two paths at the most */
	char steps[RECOVER_STEPS_MAX][RECOVER_STEP_BYTES]; /* in this order; untrusted, too */
	size_t steps_cnt;
};

/* Fills ret_findings, those that stand first; returns how many, 0 = there is nothing to recover. */
size_t recover_judge(const struct left_process *p,
		     struct recover_finding ret_findings[static RECOVER_FINDINGS_MAX]);

/* Why a process is not acted on, nor judged: pid 1, hotrun itself, kernel threads. NULL = it may
 * be. own: hotrun's pid. */
const char *recover_refusal(const struct left_process *p, uint32_t own);

/* The tracer of that pid, or NULL. */
const struct left_tracer *recover_tracer(const struct left_process *p, uint32_t tgid);
/* Whether it is the parent of the process: then any child of it may have made it one. */
bool recover_is_parent(const struct left_process *p, const struct left_tracer *tracer);

/* Whether what is known by then tells that its threads run, after an act that was to have that
 * effect. tracer: of RECOVER_END_TRACER, its pid. */
bool recover_runs(const struct left_process *before, const struct left_process *after,
		  enum recover_act act, uint32_t tracer);

/* "stands", "left"; "thaw", "end-tracer" ..., "" of RECOVER_NOTHING; static. */
const char *recover_level_text(enum recover_level level);
const char *recover_act_id(enum recover_act act);
#endif
