/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_RUNQ_H
#define HOTRUN_OUTPUT_RUNQ_H
/*
 * Queues of the scheduler as text: how long the run queue of each CPU was, and how long threads
 * waited in it. Reads the model only; writes UTF-8 without control bytes. No threads.
 *
 * Run queues are looked at by the sampling ticks, which come on busy CPUs only. Hence the share of
 * TIME with k waiting threads is the CPU's busy share of the elapsed time x the share of its ticks
 * that saw k; its idle time has 0. Busy time too short for RUNQ_MIN_TICKS ticks, and not hit by
 * any, counts as 0 as well; longer time without a tick is n/a. The mean of all threads that waited
 * is exact, by context switches: run delay / elapsed (Little's law).
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

#define RUNQ_MIN_WIDTH	   80
#define RUNQ_DEFAULT_WIDTH 100
#define RUNQ_MIN_TICKS	   5

struct runq_options {
	unsigned int width;	   /* columns; 0 = RUNQ_DEFAULT_WIDTH */
	unsigned int rows;	   /* of the table of processes; 0 = 10 */
	unsigned int cpus;	   /* rows of CPUs, those with most waiting threads; 0 = 32 */
	const uint32_t *processes; /* histograms of these, instead of the table */
	size_t process_cnt;	   /* without processes: of that many that waited most */
	unsigned int cgroups;	   /* histograms of that many cgroups that waited most */
};

/* Writes all slices of m as one. options: NULL = defaults. Returns 0, -ENOMEM, or -EIO when out
 * failed. */
int runq_write(FILE *out, const struct model *m, const struct runq_options *options);

/* The rows of the cnt processes that waited most, most first, at most as many as waited at all.
 * Returns them owned with *ret_cnt, or NULL with errno ENOMEM. */
uint32_t *runq_worst(const struct model *m, size_t cnt, size_t *ret_cnt);
#endif
