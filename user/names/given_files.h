/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_GIVEN_FILES_H
#define HOTRUN_NAMES_GIVEN_FILES_H
/*
 * Which files that a process has mapped are handed over with its memory (parse/target_memory.h):
 * those that were wanting, as long as they are of use. Pure.
 */
#include "parse/target_memory.h"

/* Jobs in a row that have no use for a file; it is handed over no more then. */
#define GIVEN_IDLE_MAX 16u

struct given_files {
	struct target_mapping files[TARGET_GIVEN_MAX];
	uint8_t idle[TARGET_GIVEN_MAX]; /* jobs since it was of use */
	uint32_t cnt;
};

/*
 * A job came back, to which these were given: bit by file, of use; and what was wanting, which may
 * say anything. Returns how many are new: what the job missed may be had now. Where there is no
 * room, one that was of no use goes.
 */
uint32_t given_files_take(struct given_files *g, uint64_t used, const struct target_mapping *needs,
			  uint32_t needs_cnt);
#endif
