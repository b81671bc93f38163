/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_MOMENT_H
#define HOTRUN_MODEL_MOMENT_H
/*
 * Moments of a recording as people write them: so long after its start ("12", "12.5", "90s",
 * "1m30s", "2m", "1h"), or a UTC clock time of the host ("14:03", "14:03:07", "14:03:07.250").
 * Pure; the locale is never consulted.
 */
#include "model/model.h"

struct moment {
	bool clock;
	uint64_t ns; /* since the recording's start, or since midnight */
};

/* The whole of text. 0, or -EINVAL. */
int moment_parse(const char *text, struct moment *ret_moment);
/* A length of time, written as one since the start; never 0. 0, or -EINVAL. */
int moment_parse_length(const char *text, uint64_t *ret_ns);

/*
 * ns since the recording's start. A clock time is the first such one that is not before
 * not_before_ns (ns since the start), so that a recording may go past midnight; one that misses the
 * recording by less than a second, which reports do not show, is its start or its end. 0, or
 * -ERANGE: no such clock time within the recording.
 */
int moment_resolve(const struct model *m, const struct moment *moment, uint64_t not_before_ns,
		   uint64_t *ret_ns);
/* Length of the recording, ns: to the end of its last slice. */
uint64_t moment_length_ns(const struct model *m);
#endif
