/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_FEATURE_H
#define HOTRUN_BASE_FEATURE_H
/*
 * What hotrun can do on a host, one row each: the BPF programs and maps behind it, what is lost
 * without it, and what to do. A program that the kernel refuses switches off the row that owns it
 * and those that need that row, nothing else. The loader (kernel/features.h), doctor, reports and
 * metrics all walk this table. Ids are part of every machine-readable output.
 */
#include <stdbool.h>
#include <stdint.h>

/* Of rows with a program in common the first one is switched off first. */
enum feature {
	FEATURE_UNWIND_TABLES,
	FEATURE_SAMPLES,
	FEATURE_RUN_QUEUES,
	FEATURE_CGROUPS,
	FEATURE_COUNTERS,
	FEATURE_FULL_MODE,
	FEATURE_LOW_OVERHEAD,
	FEATURE_REQUESTS,
	FEATURE_THREAD_STACKS,
	FEATURE_BLOCKED,
	FEATURE_WAKERS,
	FEATURE_SWITCHES,
	FEATURE_SNAPSHOT,
	FEATURE_PROGRAM_NAMES,
	FEATURE_FAST_SCAN,
	FEATURE_CNT
};

#define FEATURE_BIT(feature) (1u << (feature))
#define FEATURE_ALL	     (FEATURE_BIT(FEATURE_CNT) - 1)

struct feature_row {
	const char *id;
	const char *finding; /* its id in doctor: "feature.ID" */
	const char *title;
	const char *lost;	     /* without it; a clause */
	const char *remedy;	     /* a clause, imperative */
	const char *const *programs; /* BPF programs by name, NULL-terminated; NULL = none */
	const char *const *maps;     /* that they use, likewise */
	uint32_t needs;		     /* FEATURE_BIT() of rows that it cannot be without */
};

extern const struct feature_row feature_rows[FEATURE_CNT];

enum feature_status {
	FEATURE_UNUSED, /* nobody asked for it */
	FEATURE_ON,
	FEATURE_OFF,	 /* asked for, and it cannot be */
	FEATURE_REFUSED, /* likewise: the kernel refuses one of its programs or maps */
	FEATURE_NEEDS,	 /* likewise: a feature that it needs is not on */
};

#define FEATURE_WHY_BYTES 384

/* Zeroed: nothing was asked for. */
struct feature_set {
	uint8_t status[FEATURE_CNT];		  /* enum feature_status */
	char why[FEATURE_CNT][FEATURE_WHY_BYTES]; /* of those that are off, a clause */
};

static inline bool feature_is_off(uint32_t status)
{
	return status == FEATURE_OFF || status == FEATURE_REFUSED || status == FEATURE_NEEDS;
}

static inline bool feature_is_on(const struct feature_set *set, enum feature f)
{
	return set->status[f] == FEATURE_ON;
}

/* Why it is off; NULL where it is on or nobody asked. Borrowed from the set. */
const char *feature_why(const struct feature_set *set, enum feature f);
/* All of these bits are on from now on. Those that need one that is not are off. */
void feature_ask(struct feature_set *set, uint32_t features);
/* "unused", "on", "off", "refused", "needs"; static. */
const char *feature_status_id(uint32_t status);
/* What to do about it, "" nothing. Static. */
const char *feature_remedy(enum feature f, uint32_t status);
/* Switches one off that is on, and those that need it. format makes the reason, a clause. */
void feature_switch_off(struct feature_set *set, enum feature f, enum feature_status status,
			const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The row that is on, first in the table, with that program, or that map; FEATURE_CNT: none. */
enum feature feature_of_program(const struct feature_set *set, const char *program);
enum feature feature_of_map(const struct feature_set *set, const char *map);
/* FEATURE_CNT: no row has that id. */
enum feature feature_of_id(const char *id);
/* Whether a row that is on uses it. */
bool feature_uses_program(const struct feature_set *set, const char *program);
bool feature_uses_map(const struct feature_set *set, const char *map);
#endif
