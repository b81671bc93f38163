/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_JUDGE_DOCTOR_H
#define HOTRUN_JUDGE_DOCTOR_H
/*
 * Whether this host and its .NET processes can be observed: rules over facts, a finding each.
 * "fail": nothing can be recorded, or most of it would have no names; "warn": it works, with less
 * than there could be. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host_facts.h"
#include "model/dotnet_process.h"

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN,
	DOCTOR_FAIL,
	DOCTOR_NA, /* could not be told, or does not apply */
	DOCTOR_LEVELS
};

struct doctor_finding {
	const char *id; /* static, "group.name": never changes its meaning */
	enum doctor_level level;
	char text[1100];     /* what was found; of a process it may hold untrusted strings */
	char remedy[160];    /* what to do, one line; "" nothing */
	const char *purpose; /* static: what it is needed for */
};

/* More than there are rules for each. */
#define DOCTOR_HOST_MAX	   64
#define DOCTOR_PROCESS_MAX 8

/* Fills ret_findings; returns how many. */
size_t doctor_judge_host(const struct host_facts *facts,
			 struct doctor_finding ret_findings[static DOCTOR_HOST_MAX]);
size_t doctor_judge_process(const struct dotnet_process *process,
			    struct doctor_finding ret_findings[static DOCTOR_PROCESS_MAX]);

/* "ok", "warn", "fail", "n/a"; static. */
const char *doctor_level_text(enum doctor_level level);

/* Of the rules alone: sets a finding's level, text (as printf) and remedy. */
void doctor_say(struct doctor_finding *finding, enum doctor_level level, const char *remedy,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* One rule about the host. The tables of a topic each, for doctor_judge_host(). */
struct doctor_rule {
	const char *id;
	const char *purpose;
	void (*judge)(const struct host_facts *f, struct doctor_finding *finding);
};
/* The same of a row of features, into *finding. */
void doctor_judge_feature(const struct host_facts *facts, enum feature f,
			  struct doctor_finding *finding);
/* Adds the hazards of this kernel (base/kernel_hazards.h), or that there are none, to the first cnt
 * findings, DOCTOR_HOST_MAX at most; returns how many there are then. */
size_t doctor_judge_hazards(const struct host_facts *facts, struct doctor_finding *findings,
			    size_t cnt);
extern const struct doctor_rule doctor_kernel_rules[], doctor_rights_rules[], doctor_limits_rules[];
extern const size_t doctor_kernel_rules_cnt, doctor_rights_rules_cnt, doctor_limits_rules_cnt;
#endif
