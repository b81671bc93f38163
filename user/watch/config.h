/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_CONFIG_H
#define HOTRUN_WATCH_CONFIG_H
/*
 * The settings of the resident recorder, as its options and its configuration file write them. The
 * file is that of the thresholds (judge/limits.h) with a section of its own, which other commands
 * skip:
 *
 *	slow-share = 5%
 *	[hotrun watch]
 *	rotate = 5m
 *	exclude = name=*-exporter		again for more
 *
 * Pure; no threads.
 */
#include <stdint.h>
#include <stdio.h>

#include "base/option.h"
#include "judge/limits.h"
#include "watch/retention.h"
#include "watch/selection.h"

#define WATCH_COMMAND_BYTES 256

struct watch_config {
	uint32_t hz; /* in the quiet gear */
	/* auto: full while a capture is under way, or somebody is suspected to need one. */
	enum watch_gear { WATCH_GEAR_AUTO, WATCH_GEAR_QUIET, WATCH_GEAR_FULL } gear;
	double budget;	       /* share of the host's CPUs, 0 = none: nothing is ever given up */
	uint64_t ring_ns;      /* so much of the past is in memory, */
	uint64_t memory_bytes; /* and the model at the most so large */
	/* What reading one file of a watched process may take; 0 bytes: as memory_bytes allows. */
	uint64_t file_cpu_ns, file_time_ns, file_memory_bytes;
	uint64_t rotate_ns; /* 0 = captures only when asked */
	struct retention keep;
	uint64_t before_ns, after_ns; /* of a capture that SIGUSR1 asks for, or taken by itself */
	/* Captures by itself: of these verdicts (VERDICT_BIT(), 0 = none), when somebody is hurt
	 * for so long; the like rests; so many an hour. */
	uint32_t capture_on;
	uint64_t confirm_ns, cooldown_ns, captures_per_hour;
	char on_capture[WATCH_COMMAND_BYTES]; /* path of a program, "" = none */
	/* Which .NET runtimes are asked for a perf map, and when. */
	enum watch_maps_when {
		WATCH_MAPS_NEVER,
		WATCH_MAPS_ON_CAPTURE,
		WATCH_MAPS_ALWAYS
	} perf_maps;
	struct selection perf_maps_for; /* include: nobody without any */
	uint64_t history_bytes;		/* of what is remembered for months; 0 = nothing is */
	uint64_t history_days;
	uint64_t series; /* processes with series of their own in /metrics */
	struct selection selection;
	struct verdict_policy limits;
};

void watch_config_default(struct watch_config *ret_config);
/* Sets one of them: "rotate", "5m". 0, or -EINVAL and what is wrong with it in ret_error. */
int watch_config_set(struct watch_config *config, const char *name, const char *value,
		     char ret_error[static LIMITS_ERROR_BYTES]);
/* Reads the text of a file into a config that is set otherwise. 0, -ENOMEM, or -EINVAL with the
 * number of the line and what is wrong there. */
int watch_config_parse(struct watch_config *config, const char *text, size_t len,
		       unsigned int *ret_line, char ret_error[static LIMITS_ERROR_BYTES]);
void watch_config_clear(struct watch_config *config);

/* Setting by number as an option, but for what takes it; false = there are no more. */
bool watch_config_option(size_t number, struct command_option *ret_option);
#endif
