/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_VERDICT_WORDS_H
#define HOTRUN_OUTPUT_VERDICT_WORDS_H
/*
 * The evidence of a verdict in words for people: each figure against its limit. Numbers ignore the
 * locale; no untrusted strings are in it. Pure; no threads.
 */
#include "judge/verdict.h"
#include "model/requests.h"

#define VERDICT_WORDS_BYTES 256

/* "progress 33.3 % (limit 80 %)". input: what the verdict was made from. */
void verdict_words(char buf[static VERDICT_WORDS_BYTES], const struct verdict_evidence *evidence,
		   const struct verdict_input *input);

/* "wanted 2.97 CPUs, got 0.30 (10.1 %)". */
void wanted_words(char buf[static VERDICT_WORDS_BYTES], const struct verdict_input *input);

/* "27 requests (14.1 %) ended without an answer, since ..."; false where they are too few to be
 * told. */
bool unanswered_words(char buf[static VERDICT_WORDS_BYTES], const struct requests_sum *sum);
#endif
