/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_HANG_H
#define HOTRUN_JUDGE_HANG_H
/*
 * Where most threads of a process wait, for a sentence: "186 of 190 thread-pool workers wait in
 * Shop.Pay.Client.Get (sync over async), nobody runs". Of the look at every thread that a recording
 * ends with; where the capture has none of that process, of the mean over its slices. Pure; no I/O,
 * no threads.
 */
#include "judge/blocked.h"

struct hang {
	const struct standing *standing;
	const struct standing_group *group; /* the largest of those that are at that method */
	uint32_t method;		    /* symbol, or MODEL_NONE: no frame tells */
	uint32_t threads;		    /* that wait there, in whatever way */
	uint32_t of;			    /* of that role */
	uint64_t longest_ns;		    /* 0 = not known */
	bool now;	  /* at the end of the recording; else means, rounded, and no `running` */
	uint32_t running; /* threads of the process that ran, or could */
	bool sync_over_async;	/* a worker of the pool waits for a task */
	uint32_t holder;	/* tid of who holds what they wait for, 0 = not known */
	uint32_t holder_method; /* where that one waits, or MODEL_NONE */
	double grew;		/* workers of the pool that began, a second */
};

struct hangs {
	const struct model *m;
	const struct blocked *blocked;
	struct stands rows; /* the model's, borrowed */
	struct standing *now;
};

/* All borrowed until hangs_free(). NULL with errno ENOMEM. Adds symbols to m. */
struct hangs *hangs_new(struct model *m, const struct blocked *blocked);
/* Takes NULL. */
void hangs_free(struct hangs *h);

/* False where no thread of that process waits, but in idle waits, or as the main thread of a .NET
 * program does for its end. */
bool hangs_of(const struct hangs *h, uint32_t process, struct hang *ret_hang);

/* Who held what that group of blocked.standing waits for, when all threads were looked at; 0 = not
 * known. */
uint32_t hangs_holder(const struct hangs *h, const struct standing_group *group);

/* Whether it stands still, as far as threads tell: most of many with that role wait there. */
bool hang_is_many(const struct hang *hang);

#endif
