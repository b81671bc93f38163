/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_HISTORY_PRIVATE_H
#define HOTRUN_STORE_HISTORY_PRIVATE_H
/*
 * Within store/history*.c.
 */
#include "store/history.h"
#include "store/private.h"

#define HISTORY_APPLICATION_ID 0x686f7468u /* "hoth" */
#define HISTORY_VERSION	       1u

/* What is written again and again. */
enum history_statement {
	STMT_BEGIN,
	STMT_COMMIT,
	STMT_ROLLBACK,
	STMT_GET_MINUTE,
	STMT_PUT_MINUTE,
	STMT_GET_HOUR,
	STMT_PUT_HOUR,
	STMT_ADD_KIND,
	STMT_SET_KIND,
	STMT_DROP_KIND,
	STMT_CNT
};

struct history_file {
	struct capture_file read; /* of a reader; its db is this one */
	sqlite3 *db;
	struct history_options options;
	sqlite3_stmt *stmt[STMT_CNT];
	/* The writer's. */
	struct history_kind *kinds;
	size_t kinds_cnt, kinds_cap;
	int64_t newest_s; /* last minute that was written */
};

/* The tables, with what each column holds. Owned by the caller; NULL without memory. */
char *history_schema(void);
/* "observed_ms, judged_ms, ..." */
void history_put_columns(FILE *out, const char *before);
/* 0, or -EBADMSG: not the tables that every such file has. */
int history_check(sqlite3 *db);
/* Fills what stands from column first on. 0 or -EBADMSG. */
int history_read_figures(sqlite3_stmt *stmt, int first, struct history_figures *ret_figures);
/* Steps once, resets. 0 or negative errno. */
int history_run(struct history_file *f, enum history_statement which);
#endif
