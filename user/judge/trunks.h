/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_TRUNKS_H
#define HOTRUN_JUDGE_TRUNKS_H
/*
 * The thick trunks of a process: the few methods below which its CPU goes. The first one is chosen
 * as start_here.h chooses: the deepest method of the application that holds at least half of the
 * samples, else half of those with application code, else the one with most; without application
 * code the same of the framework, else of any code. The next ones likewise among the samples that
 * hold none of those before: so no sample counts twice. Pure; no threads.
 */
#include "model/model.h"

#define TRUNKS_MAX 5
/* Fewer samples name none: the error of a half is over 20 points (START_MIN_SAMPLES). */
#define TRUNKS_MIN_SAMPLES 20
/* Of all samples; what holds less is no trunk. */
#define TRUNKS_MIN_SHARE 0.05

struct trunk {
	uint32_t symbol;  /* row */
	uint64_t samples; /* in it, and in none of those before; each by its weight */
};

struct trunks {
	struct trunk rows[TRUNKS_MAX]; /* the thickest first */
	size_t cnt;
	uint64_t all; /* samples of the process, the same */
};

/* process: row, MODEL_NONE = all. Adds symbols to m as paths.h does. 0 or -ENOMEM. */
int trunks_of(struct model *m, uint32_t process, struct trunks *ret_trunks);

#define TRUNKS_NAME_BYTES 256
/* "Shop.Orders.Load (Shop.Web)" as captures have it: untrusted bytes, cut. It is the same in every
 * run and capture, so that trunks can be compared by it. */
void trunks_name(char buf[static TRUNKS_NAME_BYTES], const struct model *m, uint32_t symbol);
#endif
