/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_EXPOSITION_H
#define HOTRUN_TESTS_EXPOSITION_H
/*
 * Reads a metrics page back as Prometheus does, and stricter: each family has one HELP and one TYPE
 * line and all its lines behind them, names and labels are well formed and valid UTF-8, no series
 * comes twice, values are numbers, buckets of a histogram add up.
 */
#include <stddef.h>

/* Fails the criterion test at the first line that breaks a rule. Returns the number of series. */
size_t exposition_check(const char *text, size_t len);
/* Value of the series that is written so, `hotrun_x{process="p"}`; NaN where there is none. */
double exposition_value(const char *text, const char *series);
#endif
