/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_BLOCKED_BOOK_H
#define HOTRUN_MODEL_BLOCKED_BOOK_H
/*
 * From looks at threads that do not run to rows of the model (struct model_stand). Each thread that
 * a look finds stands for the time between two looks, and for those of its kind that were not
 * chosen: one of share / 2^32. So blocked_ns, summed, is an unbiased estimate of blocked time. And
 * what is to be chosen next: processes with few threads are looked at whole, those with very many
 * in part, brief waits and lasting ones apart. Pure; no threads.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/events.h"
#include "model/model.h"

/* A thread at the last look that found it. */
struct blocked_thread {
	uint64_t switches;
	uint64_t kernel_stack, user_stack, call, poll_files;
	uint32_t flags;
	uint32_t slice; /* number of the slice; 0 = none yet */
	uint32_t row;	/* in that slice, of the book's rows */
	double found;	/* in this wait: threads, summed over looks */
	bool is_known;	/* its stacks are those of switches */
	bool is_broken;
};

/* A process since shares were set. */
struct blocked_process {
	double brief, lasting;	 /* threads in such waits, summed over looks */
	uint32_t broken;	 /* found with a stack that does not reach its root */
	uint32_t slices;	 /* in which there were such */
	bool is_wanted;		 /* stacks of it are not known: to be read at the next look */
	struct look_share share; /* where has_share */
	bool has_share;
};

/* A row of the slice, of the model's stands, among which others may be. */
struct blocked_row {
	double weight; /* threads, summed over looks */
	uint32_t row;
};

/* Zero is empty. */
struct blocked_book {
	uint32_t slice;
	uint32_t looks;	      /* of the slice, that ended */
	uint32_t asked_looks; /* since shares were set */
	uint32_t share;	      /* of 2^32, of processes that have none of their own; 0 = all */
	bool on;	      /* there are looks in the slice */
	double look_ns;	      /* that a look stood for lately */
	uint64_t unseen_ns;   /* in slices before this one, in which no look ended */
	MODEL_TABLE(struct blocked_row, rows);	 /* of the slice */
	MODEL_TABLE(struct blocked_row, wakers); /* the same, of the model's wakers */
	MODEL_TABLE(struct blocked_thread, threads);
	MODEL_TABLE(struct blocked_process, processes);
};

void blocked_book_clear(struct blocked_book *b);
/* Another model: all is forgotten, but for what memory there is. */
void blocked_book_forget(struct blocked_book *b);

/* on: there are looks in it; else nothing is known of that time. */
void blocked_book_begin_slice(struct blocked_book *b, bool on);
/*
 * A thread that a look found, chosen by that share. same: it has not run since an earlier look,
 * which told its stacks; where nothing is known of these any more, its row has none, and its
 * process is read again.
 */
void blocked_book_take(struct blocked_book *b, struct model *m, const struct model_stand *stand,
		       uint32_t share, bool same);
/* Of a look that found more than can be taken: they count for shares alone. */
void blocked_book_count(struct blocked_book *b, const struct model *m,
			const struct model_stand *stand, uint32_t share);
/*
 * A thread was woken (waker->woken) that had so many switches, if that is a wait that looks have
 * found: adds who did it, whose blocked_ns comes with the end of the slice. True: it was.
 */
bool blocked_book_wake(struct blocked_book *b, struct model *m, const struct model_waker *waker,
		       uint64_t switches);
/* That look has ended. */
void blocked_book_end_count(struct blocked_book *b);
/* The look has ended, all that it found was taken. */
void blocked_book_end_look(struct blocked_book *b);
/* The slice has ended, which was so long: its rows get their blocked time, and it its looks. Where
 * none has ended in those before it, it stands for them, too. */
void blocked_book_end_slice(struct blocked_book *b, struct model *m, uint64_t slice_ns);

/* Of who is to be chosen otherwise than so far: share NULL = as everybody. 0: it is so. */
typedef int (*blocked_book_set)(void *ctx, uint32_t tgid, const struct look_share *share);
/* After a slice, or a look that found very many. */
void blocked_book_set_shares(struct blocked_book *b, const struct model *m, blocked_book_set set,
			     void *ctx);
/* After a look: stacks that were to be read again have been, and others are to be now. */
void blocked_book_end_again(struct blocked_book *b, const struct model *m, blocked_book_set set,
			    void *ctx);

/* Threads that one look is to find at the most; above, set shares at once. */
extern const uint32_t blocked_book_surprise;
#endif
