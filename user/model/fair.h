/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_FAIR_H
#define HOTRUN_MODEL_FAIR_H
/*
 * Shares out something scarce (rows of a table, CPU time of a second) so that no process or cgroup
 * can use up all of it. A cgroup may hold at most so much, a process in it so much, and neither
 * more than half of what is still free on the level above: late comers then still find some. Pure;
 * no threads.
 */
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

struct fair {
	/* Set by the owner, who begins with zeroes. */
	uint32_t most, most_of_cgroup, most_of_process;
	uint32_t least; /* that each process has in any case, as long as most is not reached */
	uint32_t held;
	struct fair_book {
		uint32_t *held; /* by row of the model; of_cgroup by row + 1, 0 = no known cgroup */
		size_t cnt, cap;
	} of_process, of_cgroup;
};

/* Who answers for what a process costs: its parent, which may start as many as it likes; itself
 * where the parent is not known. */
uint32_t fair_party(const struct model *m, uint32_t process);
/* Whether a process (a row of m) may have more, by what it and its cgroup hold. Not without
 * memory. */
bool fair_may(struct fair *fair, const struct model *m, uint32_t process);
/* It has so many more. */
void fair_add(struct fair *fair, const struct model *m, uint32_t process, uint32_t cnt);
/* Both: one more, if it may. */
bool fair_take(struct fair *fair, const struct model *m, uint32_t process);
/* Nobody holds anything any more. */
void fair_begin_anew(struct fair *fair);
void fair_clear(struct fair *fair);
#endif
