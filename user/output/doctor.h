/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_DOCTOR_H
#define HOTRUN_OUTPUT_DOCTOR_H
/*
 * What `hotrun doctor` found, for people and for machines. Strings of processes are escaped.
 *
 * JSON is as output/json.h has it, the facts under the names of struct host_facts, processes as
 * output/dotnet_process.h has them.
 * No arguments and no environment of processes are in it.
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "judge/doctor.h"

struct doctor_report {
	const char *hotrun_version, *host_name;
	time_t time;
	const struct host_facts *facts;
	const struct dotnet_process *const *processes;
	size_t processes_cnt;
	size_t unreadable;   /* processes that could not be looked at for lack of rights */
	size_t hung;	     /* or because they did not answer in time */
	const char *no_list; /* why there is no list of processes, NULL = there is */
};

struct doctor_text_options {
	bool verbose; /* what each check is for, and findings of processes that are ok */
	bool color;   /* ANSI sequences; for terminals only */
};

/* Findings by level, of host and processes. */
void doctor_count(const struct doctor_report *report, size_t ret_counts[static DOCTOR_LEVELS]);

/* Both return 0, or -EIO when out has failed. */
int doctor_text_write(FILE *out, const struct doctor_report *report,
		      const struct doctor_text_options *options);
int doctor_json_write(FILE *out, const struct doctor_report *report);
#endif
