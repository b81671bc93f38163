/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_HANG_WORDS_H
#define HOTRUN_OUTPUT_HANG_WORDS_H
/*
 * Where most threads of a process wait, as a sentence and for machines. Pure; no threads.
 */
#include "judge/hang.h"
#include "output/json.h"
#include "output/words.h"

/* "186 of 190 thread-pool workers wait in Shop.Pay.Client.Get (sync over async), the longest for
 * 31.0 s, nobody runs". */
void hang_words(struct words *w, const struct model *m, const struct hang *hang);
/* An object of that key, or null where hang is NULL. */
void hang_json(struct json *j, const char *key, const struct model *m, const struct hang *hang);
#endif
