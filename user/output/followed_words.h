/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_FOLLOWED_WORDS_H
#define HOTRUN_OUTPUT_FOLLOWED_WORDS_H
/*
 * Where requests were followed on some connections alone, or sockets were not looked at each
 * second: what that makes of the figures, in words for people. Pure; no threads.
 */
#include "model/followed.h"
#include "model/requests.h"

#define FOLLOWED_WORDS_BYTES 384

/* "at the busiest ports 1 of 8 connections followed for ..."; false where all were. */
bool followed_words(char buf[static FOLLOWED_WORDS_BYTES], const struct followed *followed);
/* "open, stuck and queue: as they stood up to 9.1 s before, ..."; false where they were looked at
 * in each slice. */
bool sockets_age_words(char buf[static FOLLOWED_WORDS_BYTES], const struct followed *followed);
/* "slow 12.1 % (9.8 % to 14.9 %), by the 1,400 of 10,815 answers seen"; false where all were. */
bool slow_error_words(char buf[static FOLLOWED_WORDS_BYTES], const struct requests_sum *sum);
#endif
