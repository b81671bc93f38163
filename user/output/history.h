/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_HISTORY_H
#define HOTRUN_OUTPUT_HISTORY_H
/*
 * `hotrun history`: what is remembered of the past, as text, as JSON (deploy/hotrun.schema.json,
 * kind "history"), and as one page that needs no network: no script at all, drawings made here,
 * names as text alone. Pure; no threads.
 */
#include <stdio.h>

#include "judge/history_view.h"

/* Each: 0, or -EIO when out has failed; of the page also what getrandom(2) says. now_s: when it is
 * told. all: no row is left out. */
int history_text_write(FILE *out, const struct history_view *v, bool all);
int history_json_write(FILE *out, const struct history_view *v);
int history_page_write(FILE *out, const struct history_view *v);

/* --- words that text and page share ---------------------------------------------------------- */

#define HISTORY_WORDS_BYTES 320
/* "from 1.42 CPUs on (1.38 to 1.47): 0.2 % slow below, 38.0 % at 1.98", "none seen up to ...". */
void history_knee_words(char buf[static HISTORY_WORDS_BYTES], const struct history_subject *s);
/* "found", "none", "unknown". */
const char *history_knee_id(const struct history_subject *s);
/* "starved"; "" where nothing was judged. Static. */
const char *history_verdict(const struct history_figures *f);
const char *history_verdict_id(uint64_t verdict);
/* "Shop.Web (prod/shop/api)", safe for terminals; "this host", "Shop.Web" of all its places. */
#define HISTORY_LABEL_BYTES (4 * (HISTORY_NAME_BYTES + HISTORY_PLACE_BYTES) + 8)
void history_label(char buf[static HISTORY_LABEL_BYTES], const struct history_kind *kind);
void history_title(char buf[static HISTORY_LABEL_BYTES], const struct history_view *v);
/* "2026-11-21 10:02" */
struct number history_when(int64_t time_s);
/* Of the time between the first and the last hour that is known, the share that was observed. */
double history_observed_share(const struct history_view *v);
#endif
