/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_HUNG_H
#define HOTRUN_COLLECT_HUNG_H
/* Processes whose requests hang: of these it matters where they stand, though they use no CPU. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

#define HUNG_MOST 16

struct hung {
	uint32_t processes[HUNG_MOST]; /* rows */
	size_t cnt;
};

/* Those that had stuck requests at the end of the newest slice of m: HUNG_MOST at the most. */
void hung_note(struct hung *h, const struct model *m);
#endif
