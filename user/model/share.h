/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SHARE_H
#define HOTRUN_MODEL_SHARE_H
/*
 * Shares estimated from samples, and how far they can be off. Pure; no threads.
 */
#include <stdbool.h>
#include <stdint.h>

/* part / whole, 0 where whole is 0. */
double share_of(uint64_t part, uint64_t whole);

/*
 * Half of the 95 % interval of the share part / whole, as a fraction: Wilson's score interval
 * (1927). It equals 1.96 * sqrt(p(1-p)/n) for all but few samples, and does not fall to 0 for
 * shares of 0 and 1. Returns 1 where whole is 0.
 */
double share_error(uint64_t part, uint64_t whole);
/* Both ends of that interval, which lies unevenly about shares near 0 and 1 and never beyond
 * them. */
void share_range(uint64_t part, uint64_t whole, double *ret_low, double *ret_high);

/*
 * Shares of a weight rather than of a count: weights differ from sample to sample, so that they
 * tell less than their number says. Kish's effective sample size (1965): the square of their sum
 * over the sum of their squares. The error of a share of such a sum is then that of so many
 * samples.
 */
double share_weighted_error(uint64_t part, uint64_t sum, uint64_t sum_of_squares);
/* True where the share of a weight is not that of the samples: by more than both can be off, and by
 * at least that much. */
struct weighted {
	uint64_t part, sum, sum_of_squares;
};
bool share_differs(uint64_t part, uint64_t whole, const struct weighted *weighted, double least);
/* That many samples, and those of them that make up the share. */
void share_effective(uint64_t part, uint64_t sum, uint64_t sum_of_squares, uint64_t *ret_part,
		     uint64_t *ret_whole);
#endif
