/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_FIGURES_H
#define HOTRUN_JUDGE_FIGURES_H
/*
 * The figures of a process or of the host, each against its threshold, before anything is
 * concluded. Only verdict.c and its tests include this. Pure; no threads.
 */
#include "judge/verdict.h"

struct figures {
	struct verdict_evidence all[FIGURE_CNT]; /* by enum verdict_figure */
	bool known[FIGURE_CNT];
	bool wait_tells; /* what it waited for CPUs can be why its requests are slow */
};

/* known is false where there is too little to judge, or nothing was measured. */
void figures_of(const struct verdict_input *input, const struct verdict_limits *limits,
		struct figures *ret_figures);

/* Known, and on the far side of its limit. */
static inline bool figures_bad(const struct figures *f, enum verdict_figure figure)
{
	return f->known[figure] && f->all[figure].bad;
}

/* Is anybody hurt? The service signal decides where there is one. */
enum service_signal { SIGNAL_NONE, SIGNAL_FAST, SIGNAL_SLOW };
enum service_signal figures_signal(const struct figures *f);
/* Whether it was short of CPU, by the scheduler's figures alone. */
bool figures_short(const struct figures *f);
#endif
