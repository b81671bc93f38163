/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the file into a model, table by table, in the order of references: what a row names has been
 * read before it. */
#include <errno.h>
#include <string.h>

#include "store/take.h"

#define ROWS_BETWEEN_LOOKS 1024

static int read_row(struct reader *r, sqlite3_value **values)
{
	enum store_table table = r->table;
	uint64_t id, number = r->rows++;
	union store_row row;
	int err = table_read(values, table, r->m, &id, &row, &r->totals);

	if (err)
		return err;
	if (store_tables[table].has_id && id != number)
		return -EBADMSG;
	if (number >= store_takers[table].max_rows)
		return table == TABLE_HOST ? -EBADMSG : -EFBIG;
	/* Overflow pages that rows share would make a small file a large model. */
	if (r->totals.bytes > r->file.file_bytes)
		return -EBADMSG;
	if (number % ROWS_BETWEEN_LOOKS == 0 && capture_file_overdue(&r->file))
		return -EBADMSG;
	return store_takers[table].take(r, id, &row);
}

static void on_row(sqlite3_context *context, int cnt, sqlite3_value **values)
{
	struct reader *r = sqlite3_user_data(context);

	(void)cnt;
	r->err = read_row(r, values);
	if (r->err)
		sqlite3_result_error_code(context, SQLITE_ABORT);
}

static void on_end(sqlite3_context *context)
{
	sqlite3_result_null(context);
}

static int read_table(struct reader *r, enum store_table table)
{
	sqlite3_stmt *stmt = NULL;
	int rc = SQLITE_ROW, err;

	if (!(r->file.tables & 1u << table))
		return 0;
	memset(r->totals.sums, 0, sizeof(r->totals.sums));
	r->table = table;
	r->rows = 0;
	err = table_prepare_read(r->file.db, table, r->file.columns[table], &stmt);
	if (!err)
		rc = sqlite3_step(stmt);
	if (!err)
		err = r->err;
	if (!err && rc != SQLITE_ROW)
		err = store_db_error(r->file.db);
	if (!err && table == TABLE_HOST && !r->rows)
		err = -EBADMSG;
	if (!err && table == TABLE_CGROUP && !model_cgroups_sound(r->m))
		err = -EBADMSG;
	sqlite3_finalize(stmt);
	return err;
}

/* refused: tables (a bit each) that must have no columns of a newer version. */
static int read_capture(const char *path, uint32_t refused, const volatile sig_atomic_t *stop,
			struct model **ret_model)
{
	struct reader r = {0};
	int err = capture_file_open(&r.file, path);

	if (err)
		return err;
	r.file.stop = stop;
	r.m = model_new();
	if (!r.m)
		err = -ENOMEM;
	else if (r.file.newer & refused)
		err = -EPROTO;
	if (!err &&
	    sqlite3_create_function_v2(r.file.db, TABLE_TAKER, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY,
				       &r, NULL, on_row, on_end, NULL))
		err = store_db_error(r.file.db);
	/* One transaction: a recording in progress must not commit between two tables. */
	if (!err && sqlite3_exec(r.file.db, "BEGIN", NULL, NULL, NULL))
		err = store_db_error(r.file.db);
	for (int i = 0; !err && i < TABLE_CNT; i++)
		err = read_table(&r, (enum store_table)i);
	capture_file_close(&r.file);
	if (err) {
		model_free(r.m);
		return stop && *stop ? -EINTR : err;
	}
	model_settle(r.m);
	*ret_model = r.m;
	return 0;
}

int store_read(const char *path, struct model **ret_model)
{
	return read_capture(path, 0, NULL, ret_model);
}

int store_read_until(const char *path, const volatile sig_atomic_t *stop, struct model **ret_model)
{
	return read_capture(path, 0, stop, ret_model);
}

int store_read_known(const char *path, struct model **ret_model)
{
	return read_capture(path, 1u << TABLE_SYMBOL | 1u << TABLE_LOCATION | 1u << TABLE_RENAMING,
			    NULL, ret_model);
}
