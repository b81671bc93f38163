/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_UNNAMED_H
#define HOTRUN_MODEL_UNNAMED_H
/*
 * How well the samples of a process (or of all) are named: frames without a name by reason, stacks
 * that do not reach the root of their thread by library. Frames count once a sample, by its weight.
 * Pure; no threads.
 */
#include "model/model.h"

/* Files of one name are one: the same library is known from /proc by its inode and from the
 * kernel's records by its build id. */
struct unnamed_break {
	const char *place;  /* name of a file without its folder, or one of those below */
	enum stack_end end; /* why */
	uint64_t samples;
};
#define BREAK_IN_CODE	 ""   /* made at run time: JIT or anonymous memory */
#define BREAK_IN_UNKNOWN NULL /* not known where */

/* What names .NET code. */
enum named_by {
	NAMED_BY_IMAGE, /* precompiled */
	NAMED_BY_MAP,	/* the perf map */
	NAMED_BY_MEMORY,
	NAMED_BY_CNT
};

struct unnamed {
	uint64_t samples;
	uint64_t frames;	  /* of code: named ones and those without a name, no notes */
	uint64_t managed;	  /* of these .NET code: JIT-compiled, precompiled, stubs */
	uint64_t managed_unnamed; /* of these without a name */
	uint64_t managed_by[NAMED_BY_CNT]; /* and those with one */
	uint64_t later;			   /* named by what was seen there after the sample */
	uint64_t by_reason[REASON_CNT];	   /* frames; REASON_NAMED = those with a name. Notes, which
					   stand for frames that are not there, count here only */
	uint64_t leaves[REASON_CNT];	   /* samples whose leaf is such a frame */
	uint64_t user_stacks;		   /* samples with one */
	uint64_t broken;		   /* of these, not reaching the root of the thread */
	struct unnamed_break *breaks;	   /* most first, then by place */
	size_t breaks_cnt;
	uint64_t ends[STACK_END_CNT]; /* of broken, by why */
	uint64_t unsure;	      /* user stacks that may lack callers */
	uint64_t cut;		      /* user stacks of which frames were left out in the middle */
	uint64_t left_out_most;	      /* of one of them */
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct unnamed *unnamed_new(struct model *m, uint32_t process);
void unnamed_free(struct unnamed *u);
/* What named a frame of .NET code; location: its row, MODEL_NONE where it has none. */
enum named_by unnamed_named_by(const struct model *m, const struct model_symbol *symbol,
			       uint32_t location);
/* True for reasons that stand for frames that are not there: cut or lost stacks. */
bool unnamed_is_note(enum model_reason reason);
/* Frames without a name over all reasons, notes left out. */
uint64_t unnamed_frames(const struct unnamed *u);
/* The reason with the most frames, or REASON_NAMED when there is none. */
enum model_reason unnamed_commonest(const struct unnamed *u);
#endif
