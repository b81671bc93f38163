/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_REPORT_SUPPORT_H
#define HOTRUN_TESTS_REPORT_SUPPORT_H
/*
 * What `hotrun report` says of a model, for its unit tests. options NULL = defaults. Failures end
 * or fail the criterion test.
 */
#include "model/model.h"
#include "output/report.h"

/* The whole text, ended by a NUL byte, owned by the caller; ret_len NULL = not wanted. */
char *report_text(struct model *m, const struct report_options *options, size_t *ret_len);
/* Compares it with tests/golden/<golden>; takes m. */
void report_expect(const char *golden, struct model *m, const struct report_options *options);
/* That a piece of text is in it, or is not. */
void report_says(struct model *m, const struct report_options *options, const char *expected);
void report_says_not(struct model *m, const struct report_options *options, const char *unexpected);
#endif
