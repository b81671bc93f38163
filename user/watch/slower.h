/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SLOWER_H
#define HOTRUN_WATCH_SLOWER_H
/*
 * Who answers worse than it is used to: each ten seconds the last minute of each service is held
 * against what the history knows of it at that rate of requests, and what is worse stands in the
 * model's slices (model_past) until the next look. Pure, over a model; time is that of its slices.
 */
#include "judge/past.h"
#include "model/model.h"

/* At a time: on a host where more are slower the first ones tell it. */
#define SLOWER_MAX 64

struct slower {
	const struct model *m; /* that rows are of */
	uint64_t model_start_ns;
	uint64_t looked_ns;
	struct model_past rows[SLOWER_MAX];
	size_t cnt;
};

/* As history_speed(). */
typedef bool (*slower_speed)(void *ctx, const char *name, const char *place, double rate,
			     struct past_speed *ret_speed);

/* The newest slice of m has just closed: adds its rows. 0 or -ENOMEM. */
int slower_slice(struct slower *s, struct model *m, slower_speed speed, void *ctx);
#endif
