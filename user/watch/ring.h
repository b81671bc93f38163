/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_RING_H
#define HOTRUN_WATCH_RING_H
/*
 * The last minute in memory: the newest slices of the model that the collector fills ("live"), and,
 * after that model had to be thrown away because it grew (collector_renew()), what is left of the
 * one before ("past", an extract). Policy and bookkeeping over models; pure, no clock, no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/extract.h"
#include "model/model.h"

struct ring;

struct ring_options {
	uint64_t keep_ns; /* so much of the past at least, while it fits; up to an eighth more */
	size_t bytes_max; /* of per-slice rows, past and live together: the oldest go first */
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct ring *ring_new(const struct ring_options *options);
/* New bounds, from the next ring_slice() on. */
void ring_set(struct ring *r, const struct ring_options *options);
/* A slice of live has just closed: forgets what is too old or too much, but never the newest slice.
 * Rows of live's per-slice tables and its slices may be numbered anew (model_forget_before());
 * returns how many slices went from its front. */
uint32_t ring_slice(struct ring *r, struct model *live);
/* live is about to be freed (ring_retire(), capture_writer_leave(), then collector_renew()): keeps
 * of it what is young enough. 0 or -ENOMEM (nothing is kept). */
int ring_retire(struct ring *r, const struct model *live);
/* Gives x all closed slices that end after from_ns (CLOCK_MONOTONIC), past and live, oldest first.
 * 0, also when there are none, or as extract_take(). */
int ring_extract(const struct ring *r, const struct model *live, uint64_t from_ns,
		 struct extract *x);
/* When the oldest slice begins, CLOCK_MONOTONIC ns; 0 = there is none. */
uint64_t ring_from_ns(const struct ring *r, const struct model *live);
/* Forgets the past: what follows is not to be in one capture with it (another sampling rate). */
void ring_clear(struct ring *r);
/* Bytes of the rows kept. */
size_t ring_bytes(const struct ring *r, const struct model *live);
/* Takes NULL. */
void ring_free(struct ring *r);
#endif
