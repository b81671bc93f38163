/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schema as SQL and as its manual, from the layout; and the empty capture that it describes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/private.h"

#define LINE_COLUMNS	100
#define TAB_COLUMNS	8
#define COMMENT_COLUMNS 33 /* of a column's own text before its comment */

/* views.sql, embedded; ends with a NUL byte. */
extern const char store_views[];

/* The path is relative to the top of the tree, where make runs the compiler. */
__asm__(".section .rodata\n"
	".global store_views\n"
	".balign 8\n"
	"store_views:\n"
	".incbin \"user/store/views.sql\"\n"
	".byte 0\n"
	".previous\n");

/* --- as text --------------------------------------------------------------------------------- */

static const char *sql_type(const struct column *c)
{
	switch (c->type) {
	case COLUMN_ROW:
		return "INTEGER";
	case COLUMN_TEXT_OR_NULL:
		return "TEXT";
	case COLUMN_TEXT:
	case COLUMN_LETTER:
		return "TEXT NOT NULL";
	case COLUMN_BLOB:
		return "BLOB NOT NULL";
	default:
		return "INTEGER NOT NULL";
	}
}

/* A comment of whole words, where the line stands (start) and below it from indent on. */
static void put_comment(FILE *out, const char *text, int start, int indent)
{
	int at = start + (int)strlen("--");

	fputs("--", out);
	while (*text) {
		int word = (int)strcspn(text, " ");

		if (at > start + 2 && at + 1 + word > LINE_COLUMNS) {
			fputc('\n', out);
			if (indent)
				fprintf(out, "\t%*s", indent - TAB_COLUMNS, "");
			fputs("--", out);
			start = indent;
			at = start + 2;
		}
		at += fprintf(out, " %.*s", word, text);
		text += word + (text[word] == ' ');
	}
	fputc('\n', out);
}

/* All that is to be said of it; owned by the caller, NULL without memory. */
static char *comment_of(const struct column *c, bool is_later)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	if (is_later)
		fputs(*c->text || c->words_cnt ? "later: " : "later", out);
	fputs(c->text, out);
	if (c->words_cnt)
		fprintf(out, "%s%s", *c->text ? ": " : "", c->bits ? "a sum of " : "");
	for (int i = 0; i < c->words_cnt; i++)
		fprintf(out, "%s%u %s", i ? ", " : "", c->words[i].value, c->words[i].text);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static void put_column(FILE *out, const struct column *c, bool is_later, const char *comma)
{
	_cleanup_free_ char *comment = comment_of(c, is_later);
	bool quoted = !strcmp(c->name, "end");
	int width = fprintf(out, "\t%s%s%s %s%s", quoted ? "\"" : "", c->name, quoted ? "\"" : "",
			    sql_type(c), comma) -
		    1;

	if (!comment || !*comment) {
		fputc('\n', out);
		return;
	}
	fprintf(out, "%*s", width < COMMENT_COLUMNS ? COMMENT_COLUMNS - width : 1, "");
	if (width < COMMENT_COLUMNS)
		width = COMMENT_COLUMNS - 1;
	put_comment(out, comment, TAB_COLUMNS + width + 1, TAB_COLUMNS + COMMENT_COLUMNS);
}

void schema_put_table(FILE *out, const char *create, enum store_table table)
{
	const struct table_layout *t = &store_tables[table];

	fprintf(out, "%s%s (\n", create, t->name);
	if (t->has_id)
		fprintf(out, "\tid INTEGER PRIMARY KEY%s,\n", t->id ? t->id : "");
	for (int i = 0; i < t->column_cnt; i++) {
		bool is_last = i + 1 == t->column_cnt && !t->key;

		put_column(out, &t->columns[i], t->columns[i].off && !t->off, is_last ? "" : ",");
	}
	if (t->key)
		fprintf(out, "\tPRIMARY KEY (%s)\n", t->key);
	fputs(t->key ? ") WITHOUT ROWID;\n" : ");\n", out);
}

void schema_put(FILE *out)
{
	for (int i = 0; i < TABLE_CNT; i++) {
		_cleanup_free_ char *text = NULL;

		if (asprintf(&text, "%s%s", store_tables[i].text,
			     store_tables[i].off ? " Later." : "") < 0)
			text = NULL;
		fputs(i ? "\n" : "", out);
		put_comment(out, text ? text : store_tables[i].text, 0, 0);
		schema_put_table(out, "CREATE TABLE ", (enum store_table)i);
	}
}

static int run_sql(sqlite3 *db, FILE *out, char **sql)
{
	if (fclose(out))
		return -ENOMEM;
	return sqlite3_exec(db, *sql, NULL, NULL, NULL) ? store_db_error(db) : 0;
}

int schema_add_table(sqlite3 *db, enum store_table table)
{
	_cleanup_free_ char *sql = NULL;
	size_t bytes;
	FILE *out = open_memstream(&sql, &bytes);

	if (!out)
		return -ENOMEM;
	schema_put_table(out, "CREATE TABLE IF NOT EXISTS main.", table);
	return run_sql(db, out, &sql);
}

static int add_all(sqlite3 *db)
{
	_cleanup_free_ char *sql = NULL;
	size_t bytes;
	FILE *out = open_memstream(&sql, &bytes);

	if (!out)
		return -ENOMEM;
	schema_put(out);
	fputs(store_views, out);
	return run_sql(db, out, &sql);
}

/* --- as a capture ---------------------------------------------------------------------------- */

static int put_text(sqlite3_stmt *stmt, uint32_t id, const char *word, const char *text)
{
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, word, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, text, -1, SQLITE_STATIC);
	sqlite3_step(stmt);
	return sqlite3_reset(stmt);
}

static int put_texts(sqlite3 *db)
{
	sqlite3_stmt *reason = NULL, *loss = NULL;
	int rc;

	rc = sqlite3_prepare_v2(db, "INSERT INTO reason VALUES (?, ?, ?)", -1, &reason, NULL);
	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO loss_cause VALUES (?, ?, ?)", -1, &loss,
					NULL);
	for (uint32_t i = 0; !rc && i < REASON_CNT; i++)
		rc = put_text(reason, i, model_reason_id(i), model_reason_text(i));
	/* Numbers without a meaning yet have no text. */
	for (uint32_t i = 0; !rc && i < LOSS_CAUSE_CNT; i++)
		if (strcmp(model_loss_id(i), model_loss_id(LOSS_CAUSE_CNT)) != 0)
			rc = put_text(loss, i, model_loss_id(i), model_loss_text(i));
	sqlite3_finalize(reason);
	sqlite3_finalize(loss);
	return rc;
}

static int put_host(sqlite3 *db, const struct model_host *host)
{
	sqlite3_stmt *stmt = NULL;
	int err = table_prepare_write(db, TABLE_HOST, &stmt);

	if (!err)
		err = table_write(stmt, TABLE_HOST, 0, host);
	sqlite3_finalize(stmt);
	return err;
}

static int fill(sqlite3 *db, const struct model_host *host)
{
	int err = add_all(db);

	if (!err && put_texts(db))
		err = store_db_error(db);
	if (!err)
		err = put_host(db, host);
	if (!err && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		err = store_db_error(db);
	return err;
}

int schema_image(const struct model_host *host, unsigned char **ret_image, size_t *ret_bytes)
{
	unsigned char *image = NULL;
	sqlite3_int64 bytes = 0;
	sqlite3 *db = NULL;
	char pragmas[160];
	int err = 0;

	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA page_size=4096; PRAGMA encoding='UTF-8'; PRAGMA auto_vacuum=0;"
		 "PRAGMA application_id=%u; PRAGMA user_version=%u; BEGIN;",
		 STORE_APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
	    sqlite3_exec(db, pragmas, NULL, NULL, NULL))
		err = db ? store_db_error(db) : -ENOMEM;
	if (!err)
		err = fill(db, host);
	if (!err) {
		image = sqlite3_serialize(db, "main", &bytes, 0);
		if (!image)
			err = -ENOMEM;
	}
	sqlite3_close(db);
	if (err)
		return err;
	*ret_image = image;
	*ret_bytes = (size_t)bytes;
	return 0;
}
