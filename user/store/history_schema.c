/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history's tables: made, and looked at before they are believed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/history_private.h"

void history_put_columns(FILE *out, const char *before)
{
	for (size_t i = 0; i < HISTORY_FIGURES; i++)
		fprintf(out, "%s%s", i ? ", " : before, history_figures[i].name);
}

static void put_table(FILE *out, const char *name, const char *what)
{
	fprintf(out, "CREATE TABLE %s ( -- %s\n  %s INTEGER NOT NULL, -- Unix time / %s\n", name,
		what, name, strcmp(name, "hour") ? "60" : "3600");
	fputs("  kind INTEGER NOT NULL, -- 0 the host, 1 all without a place, else kind.id\n", out);
	for (size_t i = 0; i < HISTORY_FIGURES; i++)
		fprintf(out, "  %s INTEGER NOT NULL, -- %s\n", history_figures[i].name,
			history_figures[i].text);
	fprintf(out, "  PRIMARY KEY (%s, kind)\n) WITHOUT ROWID;\n", name);
}

char *history_schema(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fputs("CREATE TABLE kind ( -- a kind of process: ids are never given twice\n"
	      "  id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
	      "  name TEXT NOT NULL, -- of the service or program\n"
	      "  place TEXT NOT NULL, -- workload, container or unit; '' none beyond the name\n"
	      "  first_minute INTEGER NOT NULL,\n"
	      "  last_minute INTEGER NOT NULL,\n"
	      "  minutes INTEGER NOT NULL -- that are known of it\n"
	      ");\n",
	      out);
	put_table(out, "minute", "what a kind of process did in a minute; a quiet one has no row");
	put_table(out, "hour", "the same by hour, kept for longer");
	fputs("CREATE TABLE decision ( -- a capture that was taken, or not\n"
	      "  id INTEGER PRIMARY KEY,\n"
	      "  time_s INTEGER NOT NULL, -- Unix time\n"
	      "  last_s INTEGER NOT NULL, -- of the last time that it was decided so again\n"
	      "  times INTEGER NOT NULL,\n"
	      "  process TEXT NOT NULL, -- '' nobody in particular\n"
	      "  verdict INTEGER NOT NULL,\n"
	      "  taken INTEGER NOT NULL,\n"
	      "  reason TEXT NOT NULL,\n"
	      "  trunk TEXT NOT NULL, -- '' not known\n"
	      "  capture TEXT NOT NULL -- file name, '' none\n"
	      ");\n"
	      "CREATE TABLE trunk ( -- of a capture that was taken\n"
	      "  id INTEGER PRIMARY KEY,\n"
	      "  time_s INTEGER NOT NULL, -- of the capture\n"
	      "  capture TEXT NOT NULL,\n"
	      "  process TEXT NOT NULL,\n"
	      "  path TEXT NOT NULL, -- its method, and the file that it is in\n"
	      "  share REAL NOT NULL, -- of the process's CPU\n"
	      "  seconds REAL NOT NULL, -- in which the process was hurt\n"
	      "  people REAL NOT NULL -- requests that were slow or unanswered then\n"
	      ");\n",
	      out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Each of our names is a table with pages of its own: no view, no virtual table. */
static int check_objects(sqlite3 *db)
{
	static const char *const names[] = {"kind", "minute", "hour", "decision", "trunk"};
	unsigned int found = 0;
	sqlite3_stmt *stmt = NULL;
	int rc, err = 0;

	if (sqlite3_prepare_v2(db, "SELECT name, type, rootpage FROM sqlite_master", -1, &stmt,
			       NULL))
		return store_db_error(db);
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *type = (const char *)sqlite3_column_text(stmt, 1);

		for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
			if (sqlite3_stricmp(name, names[i]))
				continue;
			found |= 1u << i;
			if (!type || strcmp(type, "table") || sqlite3_column_int64(stmt, 2) <= 0)
				err = -EBADMSG;
		}
	}
	if (!err && rc != SQLITE_DONE)
		err = store_db_error(db);
	sqlite3_finalize(stmt);
	if (err)
		return err;
	return found == (1u << sizeof(names) / sizeof(names[0])) - 1 ? 0 : -EBADMSG;
}

/* None of the columns is computed while it is read. */
static int check_columns(sqlite3 *db, const char *pragma)
{
	enum { XINFO_HIDDEN = 6 }; /* sqlite.org/pragma.html#pragma_table_xinfo */
	sqlite3_stmt *stmt = NULL;
	int rc, err = 0;

	if (sqlite3_prepare_v2(db, pragma, -1, &stmt, NULL))
		return store_db_error(db);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		err |= sqlite3_column_int(stmt, XINFO_HIDDEN) ? -EBADMSG : 0;
	if (!err && rc != SQLITE_DONE)
		err = store_db_error(db);
	sqlite3_finalize(stmt);
	return err;
}

int history_check(sqlite3 *db)
{
	static const char *const pragmas[] = {
		"PRAGMA main.table_xinfo(kind)",  "PRAGMA main.table_xinfo(minute)",
		"PRAGMA main.table_xinfo(hour)",  "PRAGMA main.table_xinfo(decision)",
		"PRAGMA main.table_xinfo(trunk)",
	};
	int err = check_objects(db);

	for (size_t i = 0; !err && i < sizeof(pragmas) / sizeof(pragmas[0]); i++)
		err = check_columns(db, pragmas[i]);
	return err;
}
