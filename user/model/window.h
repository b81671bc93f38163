/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_WINDOW_H
#define HOTRUN_MODEL_WINDOW_H
/*
 * A part of a capture in time. Accounts are kept by slice, so a window is made of whole slices.
 * Pure; no threads.
 */
#include "model/model.h"

struct window {
	uint32_t first, last; /* slices, both included */
};

/* The slices that overlap from_ns (inclusive) to to_ns (exclusive), ns since the recording's start.
 * 0, or -ERANGE where there are none. */
int window_of(const struct model *m, uint64_t from_ns, uint64_t to_ns, struct window *ret_window);
/* The window of at least length_ns, to 1 % (all of a shorter capture) in which threads waited most
 * (run delay and throttled time per elapsed time); the first among equals. 0, -ERANGE without
 * slices, or -ENOMEM. */
int window_worst(const struct model *m, uint64_t length_ns, struct window *ret_window);
/* When it begins and ends, ns since the recording's start. */
uint64_t window_from_ns(const struct model *m, const struct window *w);
uint64_t window_to_ns(const struct model *m, const struct window *w);

/*
 * Cuts m down to that window: what lies outside of it is forgotten, slices are numbered anew,
 * figures of threads are those of the window, host.start_ns and end_ns are its ends. Threads'
 * longest run delay is bounded by what their histogram allows. Processes, threads and names stay:
 * rows name them. 0; -ERANGE where m has no such slices; -ENOMEM, and then m is good for
 * model_free() only.
 */
int window_cut(struct model *m, const struct window *w);
#endif
