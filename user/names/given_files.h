/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_GIVEN_FILES_H
#define HOTRUN_NAMES_GIVEN_FILES_H
/*
 * Which files that a process has mapped are handed over with its memory (parse/target_memory.h):
 * those that were wanting, as long as they are of use. Pure.
 */
#include "parse/target_memory.h"

/* Jobs in a row that have no use for a file; it is handed over no more then. And those of one that
 * never was of use: it came along with another part of it. */
#define GIVEN_IDLE_MAX	  16u
#define GIVEN_USELESS_MAX 2u

struct given_files {
	struct target_mapping files[TARGET_GIVEN_MAX];
	uint8_t idle[TARGET_GIVEN_MAX]; /* jobs since it was of use */
	uint32_t cnt;
};

/* What was not there, which may say anything. */
struct given_needs {
	const struct target_mapping *files;
	uint32_t cnt;
	uint64_t wanting; /* bit by file: it was looked for; others came along with it */
};

/*
 * A job came back, to which these were given: bit by file, of use; and what it lacked. Returns how
 * many are new: what the job missed may be had now. Where there is no room, one that was of no use
 * goes.
 */
uint32_t given_files_take(struct given_files *g, uint64_t used, const struct given_needs *needs);
#endif
