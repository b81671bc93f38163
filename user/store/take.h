/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_TAKE_H
#define HOTRUN_STORE_TAKE_H
/* How a row of each table gets from a file into a model. */
#include "store/private.h"
#include "store/store.h"

struct reader {
	struct capture_file file;
	struct model *m;
	struct table_totals totals;		  /* bytes are never more than the file has */
	uint32_t mapping_process, mapping_number; /* that the next mapping continues */
	/* Of the table that is read. */
	enum store_table table;
	uint64_t rows;
	int err; /* what a row was refused with */
};

struct taker {
	/* 0, -ENOMEM, or -EBADMSG: the row cannot be of a file of ours. */
	int (*take)(struct reader *r, uint64_t id, union store_row *row);
	uint64_t max_rows;
};
/* By table. */
extern const struct taker store_takers[TABLE_CNT];
#endif
