/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RECOVER_LOOK_H
#define HOTRUN_COMMANDS_RECOVER_LOOK_H
/*
 * Of `hotrun recover`: looks at processes, and keeps those with findings. Changes nothing. One
 * thread.
 */
#include "output/recover.h"
#include "process/left_behind.h"

/* Processes that are kept: 20 KiB each. */
#define RECOVER_ROWS_MAX 2048u

struct recover_look {
	struct left_reader reader;
	struct recover_row **rows; /* by pid; owned, each by itself */
	size_t cnt, cap;
	size_t looked_at, unreadable, hung, freeze_unseen;
	bool cut;
};

/* Borrows the file requests until recover_look_clear(). */
void recover_look_init(struct recover_look *l, struct file_requests *requests);
void recover_look_clear(struct recover_look *l);

/* One process, kept whatever is found. 0, or -errno: -ESRCH, ... */
int recover_look_one(struct recover_look *l, uint32_t tgid);
/* All of them, but pid 1, hotrun's own and kernel threads; those with findings are kept. 0 or
 * -errno, -EINTR where the user ended it. */
int recover_look_all(struct recover_look *l);
/* Looks again at those that stand, a moment later: what only looked like it is no finding. */
void recover_look_again(struct recover_look *l);

/* How a process that was looked at is by now, its .NET, too; not whether it moves. 0 or -errno. */
int recover_look_now(struct recover_look *l, const struct left_process *before,
		     struct left_process *ret_now);
/* The same, and whether it moves, where it stands. */
int recover_look_anew(struct recover_look *l, const struct left_process *before,
		      struct left_process *ret_now);
#endif
