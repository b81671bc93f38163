/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_TIMELINE_H
#define HOTRUN_OUTPUT_TIMELINE_H
/*
 * Single switches as text: who ran where, who waited behind whom, who woke whom. Reads the model
 * only; writes UTF-8 without control bytes. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "judge/turns.h"
#include "model/model.h"

#define TIMELINE_MIN_WIDTH     80
#define TIMELINE_DEFAULT_WIDTH 130
#define TIMELINE_DEFAULT_ROWS  10

struct timeline_options {
	unsigned int width;	   /* columns; 0 = TIMELINE_DEFAULT_WIDTH */
	unsigned int rows;	   /* of each table; 0 = TIMELINE_DEFAULT_ROWS */
	const uint32_t *processes; /* of these alone; the tables of CPUs are of all */
	size_t processes_cnt;
	uint32_t tid; /* of this thread alone; 0 = of all */
	bool one_cpu; /* of `cpu` alone */
	uint32_t cpu;
	bool turns; /* every turn in its order instead of the tables */
};

/* 0, -ENOMEM, or -EIO when out failed. */
int timeline_write(FILE *out, const struct model *m, const struct turns *t,
		   const struct timeline_options *options);
#endif
