/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows out of the history's file, each checked before anybody sees it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "store/history_private.h"

/* So that seconds of it fit: until the year 2200. */
#define TIME_MAX_S 7258118400ll

static int check_file(struct capture_file *r)
{
	return history_check(r->db);
}

static const struct file_kind history_kind_of_file = {HISTORY_APPLICATION_ID, HISTORY_VERSION,
						      check_file};

int history_file_read(const char *path, struct history_file **ret_file)
{
	struct history_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = capture_file_open_as(&f->read, path, &history_kind_of_file);
	if (err) {
		free(f);
		return err;
	}
	f->db = f->read.db;
	*ret_file = f;
	return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

static int read_count(sqlite3_stmt *stmt, int column, uint64_t *ret_count)
{
	sqlite3_int64 v = sqlite3_column_int64(stmt, column);

	if (v < 0 || sqlite3_column_type(stmt, column) != SQLITE_INTEGER)
		return -EBADMSG;
	*ret_count = (uint64_t)v;
	return 0;
}

static int read_time(sqlite3_stmt *stmt, int column, int64_t unit_s, int64_t *ret_s)
{
	uint64_t v;

	if (read_count(stmt, column, &v) || v > (uint64_t)(TIME_MAX_S / unit_s))
		return -EBADMSG;
	*ret_s = (int64_t)v * unit_s;
	return 0;
}

static int read_text(sqlite3_stmt *stmt, int column, const char **ret_text)
{
	const char *text;

	if (sqlite3_column_type(stmt, column) != SQLITE_TEXT)
		return -EBADMSG;
	text = (const char *)sqlite3_column_text(stmt, column);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

static int read_real(sqlite3_stmt *stmt, int column, double most, double *ret_real)
{
	double v = sqlite3_column_double(stmt, column);

	if (sqlite3_column_type(stmt, column) != SQLITE_FLOAT || !isfinite(v) || v < 0 || v > most)
		return -EBADMSG;
	*ret_real = v;
	return 0;
}

int history_read_figures(sqlite3_stmt *stmt, int first, struct history_figures *ret_figures)
{
	for (int i = 0; i < HISTORY_FIGURES; i++)
		if (read_count(stmt, first + i, history_figure(ret_figures, (size_t)i)))
			return -EBADMSG;
	return 0;
}

/* --- walks ----------------------------------------------------------------------------------- */

struct walk {
	struct history_file *file;
	sqlite3_stmt *stmt;
};

static void walk_end(struct walk *w)
{
	sqlite3_finalize(w->stmt);
}

/* from and to are numbers of rows' time. */
static int walk_begin(struct walk *w, struct history_file *f, const char *sql, int64_t from,
		      int64_t to)
{
	*w = (struct walk){.file = f};
	if (sqlite3_prepare_v2(f->db, sql, -1, &w->stmt, NULL) ||
	    sqlite3_bind_int64(w->stmt, 1, from) || sqlite3_bind_int64(w->stmt, 2, to))
		return store_db_error(f->db);
	return 0;
}

/* 1 a row, 0 the end, or negative errno. */
static int walk_next(struct walk *w)
{
	switch (sqlite3_step(w->stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	case SQLITE_INTERRUPT: /* endless to read */
		return -EBADMSG;
	default:
		return store_db_error(w->file->db);
	}
}

int history_file_kinds(struct history_file *f, struct history_kind **ret_kinds, size_t *ret_cnt)
{
	_cleanup_free_ struct history_kind *kinds = NULL;
	_cleanup_(walk_end) struct walk w = {0};
	size_t cnt = 0, cap = 0;
	int more, err = walk_begin(&w, f,
				   "SELECT id, name, place, first_minute, last_minute, minutes "
				   "FROM main.kind WHERE id >= ? AND id < ?",
				   HISTORY_OTHER + 1, UINT32_MAX);

	while (!err && (more = walk_next(&w))) {
		const char *name, *place;
		struct history_kind *k;

		if (more < 0)
			return more;
		/* More than was ever written. */
		if (cnt == 10 * HISTORY_KINDS)
			return -EBADMSG;
		if (GROW(kinds, cnt, cap))
			return -ENOMEM;
		k = &kinds[cnt];
		k->id = (uint32_t)sqlite3_column_int64(w.stmt, 0);
		err = read_text(w.stmt, 1, &name);
		if (!err)
			history_copy(k->name, sizeof(k->name), name);
		if (!err)
			err = read_text(w.stmt, 2, &place);
		if (!err)
			history_copy(k->place, sizeof(k->place), place);
		if (!err)
			err = read_time(w.stmt, 3, HISTORY_MINUTE_S, &k->first_s);
		if (!err)
			err = read_time(w.stmt, 4, HISTORY_MINUTE_S, &k->last_s);
		if (!err)
			err = read_count(w.stmt, 5, &k->minutes);
		cnt++;
	}
	if (err)
		return err;
	*ret_kinds = take_ptr(&kinds);
	*ret_cnt = cnt;
	return 0;
}

/* The first number of a row that does not begin before that time. */
static int64_t row_from(int64_t time_s, int64_t unit_s)
{
	if (time_s <= 0)
		return 0;
	return time_s > TIME_MAX_S ? TIME_MAX_S : (time_s + unit_s - 1) / unit_s;
}

static char *rows_sql(const char *table, uint32_t kind)
{
	char *sql = NULL;
	size_t bytes;
	FILE *out = open_memstream(&sql, &bytes);

	if (!out)
		return NULL;
	fprintf(out, "SELECT %s, kind", table);
	history_put_columns(out, ", ");
	fprintf(out, " FROM main.%s NOT INDEXED WHERE %s >= ? AND %s < ?", table, table, table);
	if (kind != HISTORY_ANY)
		fprintf(out, " AND kind = %u", kind);
	fprintf(out, " ORDER BY %s, kind", table);
	if (!fclose(out))
		return sql;
	free(sql);
	return NULL;
}

int history_file_rows(struct history_file *f, enum history_length length, int64_t from_s,
		      int64_t to_s, uint32_t kind, history_on_row on_row, void *ctx)
{
	int64_t unit_s = length == HISTORY_HOURS ? HISTORY_HOUR_S : HISTORY_MINUTE_S, time_s;
	_cleanup_free_ char *sql = rows_sql(length == HISTORY_HOURS ? "hour" : "minute", kind);
	_cleanup_(walk_end) struct walk w = {0};
	struct history_figures figures;
	uint64_t its;
	int more, err;

	if (!sql)
		return -ENOMEM;
	err = walk_begin(&w, f, sql, row_from(from_s, unit_s), row_from(to_s, unit_s));
	while (!err && (more = walk_next(&w))) {
		if (more < 0)
			return more;
		err = read_time(w.stmt, 0, unit_s, &time_s);
		if (!err)
			err = read_count(w.stmt, 1, &its);
		if (!err)
			err = history_read_figures(w.stmt, 2, &figures);
		if (!err && its >= HISTORY_ANY)
			err = -EBADMSG;
		if (!err)
			err = on_row(ctx, time_s, (uint32_t)its, &figures);
	}
	return err;
}

static int read_decision(sqlite3_stmt *stmt, struct history_decision *d)
{
	uint64_t verdict, taken;
	int err = read_time(stmt, 0, 1, &d->time_s);

	if (!err)
		err = read_time(stmt, 1, 1, &d->last_s);
	if (!err)
		err = read_count(stmt, 2, &d->times);
	if (!err)
		err = read_text(stmt, 3, &d->process);
	if (!err)
		err = read_count(stmt, 4, &verdict);
	if (!err)
		err = read_count(stmt, 5, &taken);
	if (!err)
		err = read_text(stmt, 6, &d->reason);
	if (!err)
		err = read_text(stmt, 7, &d->trunk);
	if (!err)
		err = read_text(stmt, 8, &d->capture);
	if (!err && verdict > UINT32_MAX)
		err = -EBADMSG;
	if (err)
		return err;
	d->verdict = (uint32_t)verdict;
	d->taken = taken != 0;
	return 0;
}

int history_file_decisions(struct history_file *f, int64_t from_s, int64_t to_s,
			   history_on_decision on_decision, void *ctx)
{
	_cleanup_(walk_end) struct walk w = {0};
	int more, err = walk_begin(&w, f,
				   "SELECT time_s, last_s, times, process, verdict, taken, reason, "
				   "trunk, capture FROM main.decision NOT INDEXED "
				   "WHERE last_s >= ? AND time_s < ? ORDER BY id",
				   from_s, to_s);

	while (!err && (more = walk_next(&w))) {
		struct history_decision d = {0};

		if (more < 0)
			return more;
		err = read_decision(w.stmt, &d);
		if (!err)
			err = on_decision(ctx, &d);
	}
	return err;
}

static int read_trunk(sqlite3_stmt *stmt, struct history_trunk *t)
{
	int err = read_time(stmt, 0, 1, &t->time_s);

	if (!err)
		err = read_text(stmt, 1, &t->capture);
	if (!err)
		err = read_text(stmt, 2, &t->process);
	if (!err)
		err = read_text(stmt, 3, &t->path);
	if (!err)
		err = read_real(stmt, 4, 1, &t->share);
	if (!err)
		err = read_real(stmt, 5, 1e9, &t->seconds);
	return err ? err : read_real(stmt, 6, 1e12, &t->people);
}

int history_file_taken_trunks(struct history_file *f, int64_t from_s, int64_t to_s,
			      history_on_trunk on_trunk, void *ctx)
{
	_cleanup_(walk_end) struct walk w = {0};
	int more, err = walk_begin(&w, f,
				   "SELECT time_s, capture, process, path, share, seconds, people "
				   "FROM main.trunk NOT INDEXED WHERE time_s >= ? AND time_s < ? "
				   "ORDER BY id",
				   from_s, to_s);

	while (!err && (more = walk_next(&w))) {
		struct history_trunk t = {0};

		if (more < 0)
			return more;
		err = read_trunk(w.stmt, &t);
		if (!err)
			err = on_trunk(ctx, &t);
	}
	return err;
}
