/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_LIMITS_H
#define HOTRUN_JUDGE_LIMITS_H
/*
 * The thresholds of verdicts by name, as options and configuration files write them:
 *
 *	# comment                       of the file, from the first of these characters on a line
 *	slow-share = 5%
 *	[Shop.Push]                     a process, by its name or systemd unit
 *	stuck = 10m
 *	[port 8443]                     those that serve this port
 *	slow-share = 0.2
 *	[Shop.Mail]                     it serves nothing, and must not wait
 *	hurt-by = waiting
 *
 * A section holds what is set above all sections but for what it sets itself. The section of the
 * resident recorder, LIMITS_OTHER, is skipped here (watch/config.h reads it). Pure; no threads.
 */
#include <stdio.h>

#include "judge/verdicts.h"

#define LIMITS_MAX_SECTIONS 256	       /* each is compared with each process */
#define LIMITS_MAX_BYTES    (1u << 20) /* of a file */
#define LIMITS_ERROR_BYTES  256
#define LIMITS_OTHER	    "[hotrun watch]"

/*
 * Sets one of them from "progress=80%", and in sections of the policy, too, that do not set it
 * themselves. A share is 80% or 0.8, a time 20ms, 10s, 5m or 1h; hurt-by is a word. Returns 0 or
 * -EINVAL, and then says in ret_error what is wrong with it.
 */
int limits_set(struct verdict_policy *policy, const char *setting,
	       char ret_error[static LIMITS_ERROR_BYTES]);

/*
 * Reads the text of a file into a policy that has its limits set; its sections are owned by it:
 * limits_clear(). Returns 0, -ENOMEM, or -EINVAL with the number of the line and what is wrong
 * there.
 */
int limits_parse(struct verdict_policy *policy, const char *text, size_t len,
		 unsigned int *ret_line, char ret_error[static LIMITS_ERROR_BYTES]);
void limits_clear(struct verdict_policy *policy);

/*
 * Takes such a text apart: hands over each line (without blanks at its ends and its comment, never
 * empty), and whether it is inside of LIMITS_OTHER, until line() returns an error, which is
 * returned with the number of that line.
 */
int limits_lines(const char *text, size_t len,
		 int (*line)(void *ctx, const char *line, size_t len, bool other), void *ctx,
		 unsigned int *ret_line);

/* The names, one a line, with their defaults and what they mean. */
void limits_put_help(FILE *out);
#endif
