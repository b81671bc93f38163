/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_SNAPSHOT_H
#define HOTRUN_OUTPUT_SNAPSHOT_H
/*
 * What looks at all threads have found: ten lines at first, all of it then; as text, and as JSON
 * (deploy/hotrun.schema.json). Reads the model only; writes UTF-8 without control bytes. Pure; no
 * threads.
 */
#include <stdbool.h>
#include <stdio.h>

#include "base/urgent.h"
#include "judge/snapshot_view.h"

#define SNAPSHOT_MIN_WIDTH     80
#define SNAPSHOT_DEFAULT_WIDTH 120
#define SNAPSHOT_DEFAULT_LINES 20

/* Who took it. */
enum snapshot_by {
	SNAPSHOT_BY_ITSELF,
	SNAPSHOT_BY_ARMED, /* one that waited for somebody to ask */
	SNAPSHOT_BY_WATCH, /* the resident recorder, out of its memory */
};

struct snapshot_options {
	unsigned int width;	     /* columns; 0 = SNAPSHOT_DEFAULT_WIDTH */
	unsigned int lines;	     /* of each table of the rest; 0 = SNAPSHOT_DEFAULT_LINES */
	int64_t time;		     /* seconds since the epoch */
	uint64_t answer_ns;	     /* from the command's start to this answer */
	uint64_t cpu_ns;	     /* CPU time that it took, helpers among it */
	const struct urgent *urgent; /* how it looked */
	enum snapshot_by by;
};

/* All return 0, or -EIO when out failed. */
int snapshot_first_write(FILE *out, const struct model *m, const struct snapshot *s,
			 const struct snapshot_view *v, const struct snapshot_options *options);
int snapshot_rest_write(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options);
int snapshot_json_write(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options);
#endif
