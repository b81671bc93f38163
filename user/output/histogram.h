/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_HISTOGRAM_H
#define HOTRUN_OUTPUT_HISTOGRAM_H
/*
 * A histogram by powers of two, as bcc's print_log2_hist draws it. Pure; no threads.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* counts: of 0 to 1 us, 2 to 3, 4 to 7, ...; the last one is of all that took longer. Rows
 * without any before the first and after the last are left out; nothing where there are none at
 * all. */
void histogram_put(FILE *out, const uint64_t *counts, size_t counts_cnt);
#endif
