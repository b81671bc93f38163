/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_DOCTOR_H
#define HOTRUN_OUTPUT_DOCTOR_H
/*
 * What `hotrun doctor` found, for people and for machines. Strings of processes are escaped.
 *
 * JSON, one object; keys keep their names and meaning, new ones may come:
 *
 *	format     1; raised when a key changes its meaning
 *	hotrun     version
 *	time_utc   "2026-11-21T16:20:00Z"
 *	host       name, release, machine, and the facts that the findings rest on, under the names
 *	           of struct host_facts; null = could not be read, or no limit
 *	findings   of the host: [{id, level, text, remedy, purpose}]; level "ok", "warn", "fail" or
 *	           "n/a", remedy null where there is nothing to do
 *	processes  of .NET: [{pid, name, unit, container, version, found, map, map_path, map_entries,
 *	           map_bytes, refusal, socket, profiler, single_file, native_aot, is_32bit, musl, findings}];
 *	           null = there is none, or it is not known
 *	unreadable_processes, hung_processes   that could not be looked at for lack of rights, or
 *	           because they did not answer in time
 *	summary    {ok, warn, fail, na} counts of all findings; exit code 1 goes with fail > 0
 *
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
	const struct doctor_process *processes;
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
