/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_PERF_SCRIPT_H
#define HOTRUN_EXPORT_PERF_SCRIPT_H
/*
 * Text as `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso --ns` prints it
 * (perf-script(1) of Linux): samples in the order of time, each a line
 *
 *	COMM PID/TID [CPU] SECONDS.NANOSECONDS: PERIOD EVENT:
 *
 * then a line a frame, leaf first, `ADDRESS METHOD (FILE)`, and an empty line. PERIOD is in ns of
 * what is weighed; EVENT cpu-clock, or waiting or blocked. ADDRESS is where the method was first
 * seen in that stack, of the kernel since its start; 0 where there is none.
 *
 * Names are those of processes: as folded.h, but a blank before a digit in COMM is `_`, since
 * readers take the first number for the process id, and blanks and brackets in FILE are \xHH.
 */
#include "export/options.h"

int perf_script_write(FILE *out, struct model *m, const struct export_options *options);
#endif
