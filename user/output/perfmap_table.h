/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_PERFMAP_TABLE_H
#define HOTRUN_OUTPUT_PERFMAP_TABLE_H
/*
 * What `hotrun perfmap status` says: the .NET processes with the state of their perf maps, as a
 * table or as JSON. Names and paths are hostile and made safe here. Pure; no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/dotnet_process.h"

#define PERFMAP_TABLE_COLUMNS 100 /* where no terminal says otherwise */
#define PERFMAP_TABLE_MIN     80

/* All borrowed. */
struct perfmap_row {
	const struct dotnet_process *process;
	uint64_t jit_frames, jit_named; /* sampled */
	uint64_t jit_memory;		/* of those with a name, by memory */
	const char *share_why;		/* why there is no share; NULL = there is */
	const char *advice;		/* what the user can do; NULL nothing. Printed as it is */
};

struct perfmap_table {
	const struct perfmap_row *rows;
	size_t rows_cnt;
	size_t unreadable, hung; /* processes that may be .NET as well */
	bool cut;		 /* more processes than are looked at */
	bool sampled;		 /* shares were looked for, for seconds */
	double seconds;
	bool details;
	unsigned int columns;
};

/* Both return 0, or -EIO when out failed. */
int perfmap_table_write(FILE *out, const struct perfmap_table *table);
int perfmap_table_json(FILE *out, const struct perfmap_table *table);
#endif
