/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_METRICS_WRITE_H
#define HOTRUN_OUTPUT_METRICS_WRITE_H
/*
 * Within the metrics page: how one figure is written, and which are known. Private to
 * output/metrics*.c; no threads.
 */
#include <stdint.h>
#include <stdio.h>

#include "output/metrics.h"

enum metrics_unit { UNIT_COUNT, UNIT_NS };

/* What a family needs; without it, it has no lines. */
#define KNOW_ALWAYS   0x1u
#define KNOW_SAMPLES  0x2u
#define KNOW_SWITCHES 0x4u
#define KNOW_REQUESTS 0x8u
#define KNOW_GROUPS   0x10u
#define KNOW_PRESSURE 0x20u
#define KNOW_QUEUES   0x40u
#define KNOW_OWN      0x80u
#define KNOW_LIMITS   0x100u
/* By switches, or in their place by the kernel's own counters: */
#define KNOW_CPU   0x200u
#define KNOW_WAITS 0x400u

/* HELP and TYPE lines. name without "hotrun_". */
void metrics_put_family(FILE *out, const char *name, const char *type, const char *help);
/* The value and the end of the line; of UNIT_NS in seconds. */
void metrics_put_value(FILE *out, enum metrics_unit unit, uint64_t value);
void metrics_put_seconds(FILE *out, uint64_t ns);
/* ns / elapsed_ns to six places. */
void metrics_put_mean(FILE *out, uint64_t ns, uint64_t elapsed_ns);
/* Lines of a histogram of run delays; labels without braces, "" none. */
void metrics_put_delays(FILE *out, const char *name, const char *labels,
			const struct metrics_sched *sched);
/* All families of processes. know: bits. */
void metrics_put_processes(FILE *out, const struct metrics_figures *figures, uint32_t know);
#endif
