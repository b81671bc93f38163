/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_WAKERS_H
#define HOTRUN_JUDGE_WAKERS_H
/*
 * Who ended the waits of a group of blocked time: rules over the wakers of a model. Pure; no I/O,
 * no threads.
 *
 * An interrupt wakes in the name of whoever runs there, who has nothing to do with it: the kernel
 * stack tells, by the functions through which interrupts come in. What a thread sends to a socket
 * of the same host is delivered on its own way out, by a softirq that no interrupt began: that is
 * the sender's doing. Where the kernel's names are hidden, neither is known.
 */
#include "judge/blocked.h"

enum waker_kind {
	WAKER_THREAD,
	WAKER_TIMER,
	WAKER_NETWORK, /* data that came from elsewhere, or was sent on somebody else's time */
	WAKER_DISK,
	WAKER_INTERRUPT, /* another one */
	WAKER_UNKNOWN,
	WAKER_KINDS
};

/* Stable lower-case id. Static. */
const char *waker_kind_id(enum waker_kind kind);

struct waker {
	enum waker_kind kind;
	uint32_t process; /* row; MODEL_NONE but of WAKER_THREAD */
	/* The application's, else the one nearest to the leaf; MODEL_NONE of what has none. */
	uint32_t method;
	uint32_t wakeups;
	uint64_t blocked_ns; /* that these waits stood for */
};

struct wakers;

/* Of the rows of m, by the groups of b, which is borrowed until wakers_free(). NULL with errno
 * ENOMEM. Adds symbols to m. */
struct wakers *wakers_new(struct model *m, const struct blocked *b);
/* Takes NULL. */
void wakers_free(struct wakers *w);

/* Of that group, most time first; 0: none is known. Borrowed. *ret_ns: all their time. */
size_t wakers_of(const struct wakers *w, const struct standing_group *group,
		 const struct waker **ret_wakers, uint64_t *ret_ns);
#endif
