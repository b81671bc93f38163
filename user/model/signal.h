/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_SIGNAL_H
#define HOTRUN_MODEL_SIGNAL_H
/*
 * The operator's own number for processes: what a file or a command says, and its sums over a
 * model. A number is a share of the work that is slow or fails, 0 to 1 or in percent. Pure; no
 * threads.
 */
#include "model/model.h"

#define SIGNAL_NAME_BYTES 128
/* Lines of one text: a name each. */
#define SIGNAL_LINES_MAX 256

struct signal_entry {
	char name[SIGNAL_NAME_BYTES]; /* of a process or a unit, or a pid; ends with a NUL byte */
	double value;		      /* 0..1 */
};

/*
 * Reads a text that is one number, "0.25" or "25%", with blanks and ends of line around it. Returns
 * 0; -ENODATA an empty text; -EINVAL anything else than a number; -ERANGE not within 0..1
 * (0..100%).
 */
int signal_parse_value(const char *text, size_t len, double *ret_value);

/*
 * Reads lines of a name, blanks and a number; the number is the last word, so names may hold
 * blanks. Empty lines and those that begin with # say nothing. Returns 0, the errors of
 * signal_parse_value(), or -E2BIG: more lines than max, or a name that is too long. On an error
 * *ret_line is the line, from 1.
 */
int signal_parse_lines(const char *text, size_t len, struct signal_entry *entries, size_t max,
		       size_t *ret_cnt, unsigned int *ret_line);

/* Mean over the slices in which it has one, by row of processes; NaN where it has none. Returns it
 * owned, or NULL with errno ENOMEM. */
double *signal_means(const struct model *m);
#endif
