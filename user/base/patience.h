/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_PATIENCE_H
#define HOTRUN_BASE_PATIENCE_H
/*
 * For how long a helper is waited for. One that is blocked without a break hangs: its file does not
 * answer, or it waits for a lock of who gets no CPU himself. One that works, or waits for a CPU on
 * a host full of others, is slow, which is no fault of what it was asked for; that has a bound,
 * too. Decides, and looks at nothing. No threads.
 */
#include "base/process_state.h"

/* In deadlines: of a helper that is blocked, and of one that is slow. */
#define PATIENCE_BLOCKED   2
#define PATIENCE_DEADLINES 5

/* Looks in a deadline: a helper counts as blocked where nothing changed between two. */
#define PATIENCE_LOOKS 6

struct patience {
	uint64_t deadline_ns;
	struct process_turns last;
	uint64_t blocked_ns; /* up to the last look */
	uint64_t past_ns;
};

struct patience patience_new(uint64_t deadline_ns, const struct process_turns *now);

/* Until the next look. */
uint64_t patience_look_ns(const struct patience *p);

/* A look, so long after the last one. Whether it is waited for no longer. */
bool patience_is_over(struct patience *p, const struct process_turns *now, uint64_t passed_ns);
#endif
