/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_LEFT_OUT_H
#define HOTRUN_OUTPUT_LEFT_OUT_H
/*
 * What was left out of the names of a process for what it would have cost: the one list of these
 * figures, which text, JSON and /metrics walk. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "output/metrics_write.h"

struct left_out {
	const char *json;		  /* its key, of the figure below */
	const char *metric, *metric_help; /* a gauge; what stands for it there: page.c of watch */
	enum metrics_unit unit;
	/* 0 where nothing was. */
	uint64_t (*of)(const struct model *m, const struct model_process *p);
	/* "3 files too costly" */
	void (*words)(uint64_t value, char *text, size_t bytes);
};

/* METRICS_LEFT_OUT_CNT of them. */
const struct left_out *left_out_row(unsigned what);
bool left_out_any(const struct model *m, const struct model_process *p);
/* "3 files too costly, 412 MB of perf map not followed (1.2 s of CPU)". */
void left_out_text(const struct model *m, const struct model_process *p, char *text, size_t bytes);
#endif
