/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_REPORT_H
#define HOTRUN_OUTPUT_REPORT_H
/*
 * The text report of a capture: a first screen that says whether anybody is hurt and by what, who
 * takes the CPU, who waits for it and where to start, then what the scheduler gave to whom, the hot
 * paths of each process and what was lost. Reads the model only (it adds symbols for notes to it);
 * writes UTF-8 without control bytes, numbers with a dot whatever the locale is. No threads.
 */
#include <stdbool.h>
#include <stdio.h>

#include "model/model.h"

struct verdict_policy;

#define REPORT_MIN_WIDTH     80
#define REPORT_DEFAULT_WIDTH 110
#define REPORT_WINDOW_BYTES  160

/* The part of a capture that m was cut down to; whole_ns 0 = all of it. ns since the start. */
struct report_window {
	uint64_t from_ns, to_ns, whole_ns;
};

struct report_options {
	unsigned int width;	   /* columns; 0 = REPORT_DEFAULT_WIDTH */
	bool color;		   /* ANSI sequences; for terminals only */
	double min_share;	   /* of trees, a fraction; 0 = 0.01 */
	unsigned int lines;	   /* of one tree at the most; 0 = 150 */
	unsigned int rows;	   /* of one table of methods, modules, roles; 0 = 15 */
	const uint32_t *processes; /* rows to detail, in this order; NULL = those with most CPU */
	size_t process_cnt;	   /* of processes; without them: how many to detail, 0 = 3 */
	bool bottom_up;		   /* trees start at the leaves */
	bool all;		   /* list the processes without CPU time, too */
	bool summary;		   /* the first screen alone */
	bool by_workload;	   /* one row of the tables each (model/workload.h) */
	bool blocked;		   /* where threads were blocked, alone and in full */
	bool idle;		   /* idle waits among these, too */
	bool force;		   /* show shares although the books of samples have a gap */
	struct report_window window;
	const struct verdict_policy *limits; /* of verdicts; NULL = defaults */
};

/* "window 3.0 to 8.0 s of 30.0 s (whole slices)". */
void report_window_text(char buf[static REPORT_WINDOW_BYTES], const struct report_window *window);

/* Writes the report. options: NULL = defaults. Returns 0, -ENOMEM, or -EIO when out failed. */
int report_write(FILE *out, struct model *m, const struct report_options *options);
/* The verdicts alone, as JSON for machines (output/json.h): of the host, and of each process
 * that served requests or used CPU; or, where blocked is asked for, that. The same returns. */
int report_json_write(FILE *out, struct model *m, const struct report_options *options);
/* The text as report_write() writes it, and from the same figures that JSON, but for processes that
 * are healthy, and those beyond rows. The same returns. */
int report_write_both(FILE *text, FILE *json, size_t rows, struct model *m);
#endif
