/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two ways a row goes by the layout of its table: into a statement, out of a query. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/private.h"

static void put_column(FILE *out, const struct column *c, bool there, bool renamed)
{
	if (there)
		fprintf(out, "\"%s\"", renamed ? c->was : c->name);
	else
		fputs(c->type == COLUMN_ROW ? "NULL" : c->type == COLUMN_TEXT ? "''" : "0", out);
}

static int prepare(sqlite3 *db, enum store_table table, bool write, struct column_set columns,
		   sqlite3_stmt **ret_stmt)
{
	const struct table_layout *t = &store_tables[table];
	_cleanup_free_ char *sql = NULL;
	size_t bytes;
	FILE *out = open_memstream(&sql, &bytes);

	if (!out)
		return -ENOMEM;
	if (write)
		fprintf(out, "REPLACE INTO \"%s\" (", t->name);
	else
		fputs("SELECT " TABLE_TAKER "(", out);
	if (t->has_id)
		fputs("id", out);
	for (int i = 0; i < t->column_cnt; i++) {
		fputs(i || t->has_id ? ", " : "", out);
		put_column(out, &t->columns[i], columns.there & 1u << i, columns.renamed & 1u << i);
	}
	if (write) {
		fputs(t->has_id ? ") VALUES (?, ?" : ") VALUES (?", out);
		for (int i = 1; i < t->column_cnt; i++)
			fputs(", ?", out);
		fputc(')', out);
	} else {
		/* A file's own indexes are not trusted, and the order of the table is the order we
		 * want. */
		fprintf(out, ") FROM main.\"%s\" NOT INDEXED", t->name);
	}
	if (fclose(out))
		return -ENOMEM;
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL))
		return store_db_error(db);
	return 0;
}

int table_prepare_write(sqlite3 *db, enum store_table table, sqlite3_stmt **ret_stmt)
{
	return prepare(db, table, true, (struct column_set){.there = UINT32_MAX}, ret_stmt);
}

int table_prepare_read(sqlite3 *db, enum store_table table, struct column_set columns,
		       sqlite3_stmt **ret_stmt)
{
	return prepare(db, table, false, columns, ret_stmt);
}

static int bind_integer(sqlite3_stmt *stmt, int n, const struct column *c, const char *field)
{
	switch (c->type) {
	case COLUMN_ROW:
		if (*(const uint32_t *)field == MODEL_NONE)
			return sqlite3_bind_null(stmt, n);
		__attribute__((fallthrough));
	case COLUMN_U32:
		return sqlite3_bind_int64(stmt, n, *(const uint32_t *)field);
	case COLUMN_U16:
		return sqlite3_bind_int64(stmt, n, *(const uint16_t *)field);
	case COLUMN_U8:
		return sqlite3_bind_int64(stmt, n, *(const uint8_t *)field);
	case COLUMN_I8:
		return sqlite3_bind_int64(stmt, n, *(const int8_t *)field);
	case COLUMN_BOOL:
		return sqlite3_bind_int64(stmt, n, *(const bool *)field);
	case COLUMN_NS:
	case COLUMN_SUM:
		/* One absurd figure must not make the whole file unreadable. */
		if (*(const uint64_t *)field > INT64_MAX)
			return sqlite3_bind_int64(stmt, n, INT64_MAX);
		__attribute__((fallthrough));
	default:
		return sqlite3_bind_int64(stmt, n, *(const sqlite3_int64 *)field);
	}
}

static int bind_column(sqlite3_stmt *stmt, int n, const struct column *c, const char *field)
{
	switch (c->type) {
	case COLUMN_LETTER:
		return sqlite3_bind_text(stmt, n, field, *field > ' ' && *field < 0x7f,
					 SQLITE_STATIC);
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return sqlite3_bind_text(stmt, n, *(const char *const *)field, -1, SQLITE_STATIC);
	case COLUMN_BLOB: {
		const struct blob *blob = (const struct blob *)field;

		/* A NULL pointer would bind NULL instead of an empty blob. */
		return sqlite3_bind_blob(stmt, n, blob->len ? blob->bytes : "", (int)blob->len,
					 SQLITE_STATIC);
	}
	default:
		return bind_integer(stmt, n, c, field);
	}
}

int table_write(sqlite3_stmt *stmt, enum store_table table, uint64_t id, const void *row)
{
	const struct table_layout *t = &store_tables[table];
	int n = 1, rc = 0;

	if (t->has_id)
		rc = sqlite3_bind_int64(stmt, n++, (sqlite3_int64)id);
	for (int i = 0; !rc && i < t->column_cnt; i++)
		rc = bind_column(stmt, n++, &t->columns[i],
				 (const char *)row + t->columns[i].offset);
	if (rc)
		return store_db_error(sqlite3_db_handle(stmt));
	if (sqlite3_step(stmt) == SQLITE_DONE && !sqlite3_reset(stmt))
		return 0;
	rc = store_db_error(sqlite3_db_handle(stmt));
	sqlite3_reset(stmt);
	return rc;
}

static int read_i8(sqlite3_int64 v, char *field)
{
	if (v < INT8_MIN || v > INT8_MAX)
		return -EBADMSG;
	*(int8_t *)field = (int8_t)v;
	return 0;
}

/* Cut off so that the column's sum stays in bounds. */
static int read_sum(uint64_t v, char *field, uint64_t *sum)
{
	uint64_t room = STORE_SUM_MAX - *sum;

	*(uint64_t *)field = v < room ? v : room;
	*sum += *(uint64_t *)field;
	return 0;
}

static int read_integer(sqlite3_value *value, const struct column *c, char *field, uint64_t *sum)
{
	sqlite3_int64 v = sqlite3_value_int64(value);

	/* Whatever is no number reads as 0: the type is asked for only then, which halves the
	 * time. */
	if (!v && sqlite3_value_type(value) != SQLITE_INTEGER) {
		if (c->type != COLUMN_ROW || sqlite3_value_type(value) != SQLITE_NULL)
			return -EBADMSG;
		*(uint32_t *)field = MODEL_NONE;
		return 0;
	}
	if (c->type == COLUMN_I8)
		return read_i8(v, field);
	if (c->type != COLUMN_U64 && c->type != COLUMN_I64 && v < 0)
		return -EBADMSG;
	switch (c->type) {
	case COLUMN_SUM:
		return read_sum((uint64_t)v, field, sum);
	case COLUMN_ROW:
	case COLUMN_U32:
		*(uint32_t *)field = (uint32_t)v;
		return v > UINT32_MAX ? -EBADMSG : 0;
	case COLUMN_U16:
		*(uint16_t *)field = (uint16_t)v;
		return v > UINT16_MAX ? -EBADMSG : 0;
	case COLUMN_U8:
		*(uint8_t *)field = (uint8_t)v;
		return v > UINT8_MAX ? -EBADMSG : 0;
	case COLUMN_BOOL:
		*(bool *)field = v != 0;
		return 0;
	default:
		*(sqlite3_int64 *)field = v;
		return 0;
	}
}

static int read_text(sqlite3_value *value, const struct column *c, struct model *m, char *field,
		     uint64_t *bytes)
{
	const char *text;
	int len;

	switch (sqlite3_value_type(value)) {
	case SQLITE_TEXT:
		break;
	case SQLITE_NULL: /* the row was zeroed: a NULL pointer stays */
		return c->type == COLUMN_TEXT_OR_NULL ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
	text = (const char *)sqlite3_value_text(value);
	len = sqlite3_value_bytes(value);
	if (!text)
		return -ENOMEM;
	*bytes += (uint64_t)len;
	if (c->type == COLUMN_LETTER)
		*(uint8_t *)field = len && *text > ' ' && *text < 0x7f ? (uint8_t)*text : '?';
	else
		*(const char **)field = model_string(m, text, (size_t)len);
	return 0;
}

static int read_column(sqlite3_value *value, const struct column *c, struct model *m, char *field,
		       uint64_t *bytes, uint64_t *sum)
{
	struct blob *blob = (struct blob *)field;

	switch (c->type) {
	case COLUMN_LETTER:
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return read_text(value, c, m, field, bytes);
	case COLUMN_BLOB:
		if (sqlite3_value_type(value) != SQLITE_BLOB)
			return -EBADMSG;
		blob->bytes = sqlite3_value_blob(value);
		blob->len = (size_t)sqlite3_value_bytes(value);
		*bytes += blob->len;
		return blob->len && !blob->bytes ? -ENOMEM : 0;
	default:
		return read_integer(value, c, field, sum);
	}
}

int table_read(sqlite3_value **values, enum store_table table, struct model *m, uint64_t *ret_id,
	       union store_row *row, struct table_totals *totals)
{
	const struct table_layout *t = &store_tables[table];
	int err;

	memset(row, 0, sizeof(*row));
	*ret_id = 0;
	if (t->has_id) {
		if (sqlite3_value_type(*values) != SQLITE_INTEGER)
			return -EBADMSG;
		*ret_id = (uint64_t)sqlite3_value_int64(*values++);
	}
	for (int i = 0; i < t->column_cnt; i++) {
		err = read_column(values[i], &t->columns[i], m, (char *)row + t->columns[i].offset,
				  &totals->bytes, &totals->sums[i]);
		if (err)
			return err;
	}
	return 0;
}
