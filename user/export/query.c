/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/query.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "export/about.h"
#include "export/csv.h"
#include "export/tables.h"
#include "output/json.h"
#include "output/report_text.h"

#define TABLE_NAME(name, what) #name,
static const char *const names[] = {EXPORT_TABLES(TABLE_NAME)};
#define TABLES_CNT (sizeof(names) / sizeof(*names))

/* Columns before those of export. */
#define OWN_COLUMNS    "capture, host, began_utc"
#define OWN_COLUMN_CNT 3
/* Of one value: a stack has 6,149 frames at the most, with names of 16 KiB. */
#define VALUE_BYTES 100000000
/* Instructions of SQLite between two looks at who wants it to end. */
#define OPS_BETWEEN_LOOKS 20000

/* Samples by stack: `key` finds the row of a sample. */
static const char stacks[] =
	"CREATE TABLE stacks (" OWN_COLUMNS ", pid, process, stack, samples, waiters, blocked_ms, "
	"key INTEGER, UNIQUE (key))";
static const char add_stack[] =
	"INSERT INTO stacks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (key) "
	"DO UPDATE SET samples = samples + ?7, waiters = waiters + ?8, blocked_ms = blocked_ms + "
	"?9";
/* What they take of a sample. */
static const char *const of_sample[] = {"pid",	   "process", "stack",
					"samples", "waiters", "blocked_ms"};
#define OF_SAMPLE_CNT (sizeof(of_sample) / sizeof(*of_sample))
#define SAMPLES	      "samples"
#define STACKS	      "stacks"

struct query {
	sqlite3 *db;
	sqlite3_stmt *asked;
	bool used[TABLES_CNT]; /* by the question */
	bool uses_stacks;
	bool is_locked; /* the question is being prepared */
	bool (*stops)(void);
	/* Of the capture that is added. */
	const char *capture;
	const struct model *m;
	char began_utc[32];
	uint64_t captures;
	sqlite3_stmt *insert, *insert_stack;
	int err;
};

static int find_table(const char *name)
{
	for (size_t i = 0; i < TABLES_CNT; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

/* --- the database ----------------------------------------------------------------------------- */

/* What a question may do: read what there is, and compute. */
static int authorize(void *ctx, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	const struct query *q = ctx;

	(void)a;
	(void)c;
	(void)d;
	if (!q->is_locked)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_READ:
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && !strcmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int on_progress(void *ctx)
{
	struct query *q = ctx;

	return q->stops && q->stops();
}

static bool run(struct query *q, const char *sql)
{
	return sqlite3_exec(q->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* A table with the columns that export has. */
static void begin_table(void *ctx, const struct export_table *table)
{
	struct query *q = ctx;
	char *sql = NULL;
	size_t len;
	FILE *out = open_memstream(&sql, &len);

	if (!out) {
		q->err = -ENOMEM;
		return;
	}
	fprintf(out, "CREATE TABLE %s (" OWN_COLUMNS, table->name);
	for (size_t i = 0; i < table->columns_cnt; i++)
		fprintf(out, ", \"%s\"", table->columns[i]->id);
	fputs(")", out);
	if (fclose(out) || !run(q, sql))
		q->err = -ENOMEM;
	free(sql);
}

/* Of a model without anything, each table has no row but its columns. */
static void no_row(void *ctx, const struct export_table *table, const struct subject *s)
{
	(void)ctx;
	(void)table;
	(void)s;
}

static void end_nothing(void *ctx, const struct export_table *table)
{
	(void)ctx;
	(void)table;
}

static bool make_tables(struct query *q)
{
	const struct tables_sink sink = {
		.begin = begin_table, .row = no_row, .end = end_nothing, .ctx = q};
	const struct export_options options = {0};
	struct model *none = model_new();
	bool made = none && !tables_walk(none, &options, &sink) && !q->err && run(q, stacks);

	model_free(none);
	return made;
}

static bool open_db(struct query *q)
{
	static const struct {
		int what, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, VALUE_BYTES},	  {SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_WORKER_THREADS, 0},	  {SQLITE_LIMIT_EXPR_DEPTH, 100},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, {SQLITE_LIMIT_COMPOUND_SELECT, 50},
	};

	sqlite3_hard_heap_limit64((sqlite3_int64)QUERY_BYTES);
	if (sqlite3_open_v2(":memory:", &q->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return false;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(q->db, limits[i].what, limits[i].value);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	run(q, "PRAGMA temp_store = MEMORY; PRAGMA journal_mode = OFF;");
	sqlite3_set_authorizer(q->db, authorize, q);
	return make_tables(q);
}

/* True where nothing but blanks and comments stand behind the statement: a second one would be
 * forgotten in silence. */
static bool is_all(struct query *q, const char *rest)
{
	sqlite3_stmt *more = NULL;
	int rc = sqlite3_prepare_v2(q->db, rest, -1, &more, NULL);

	sqlite3_finalize(more);
	return rc == SQLITE_OK && !more;
}

/* Each table whose name stands in the question, however it is written: of a join by USING SQLite's
 * authorizer is not asked about the columns. One that is meant for something else is made in
 * vain. */
static void note_names(struct query *q, const char *sql)
{
	for (size_t i = 0; i < TABLES_CNT; i++)
		q->used[i] |= strcasestr(sql, names[i]) != NULL;
	q->uses_stacks |= strcasestr(sql, STACKS) != NULL;
}

static bool prepare(struct query *q, const char *sql, char why[static QUERY_WHY_BYTES])
{
	const char *rest = NULL;
	int rc;

	q->is_locked = true;
	note_names(q, sql);
	rc = sqlite3_prepare_v2(q->db, sql, -1, &q->asked, &rest);
	if (rc == SQLITE_AUTH)
		snprintf(why, QUERY_WHY_BYTES, "it may read, and nothing else (%s)",
			 sqlite3_errmsg(q->db));
	else if (rc != SQLITE_OK)
		snprintf(why, QUERY_WHY_BYTES, "%s", sqlite3_errmsg(q->db));
	else if (!q->asked)
		snprintf(why, QUERY_WHY_BYTES, "it is empty");
	else if (!is_all(q, rest))
		snprintf(why, QUERY_WHY_BYTES, "one statement at a time");
	else if (!sqlite3_column_count(q->asked) || !sqlite3_stmt_readonly(q->asked))
		snprintf(why, QUERY_WHY_BYTES, "it may read, and nothing else");
	else
		why[0] = '\0';
	q->is_locked = false;
	return !why[0];
}

struct query *query_new(const char *sql, char why[static QUERY_WHY_BYTES])
{
	struct query *q = calloc(1, sizeof(*q));

	snprintf(why, QUERY_WHY_BYTES, "out of memory");
	if (q && open_db(q) && prepare(q, sql, why))
		return q;
	query_free(q);
	return NULL;
}

void query_free(struct query *q)
{
	if (!q)
		return;
	sqlite3_finalize(q->asked);
	sqlite3_close(q->db);
	free(q);
}

bool query_reads(const struct query *q)
{
	for (size_t i = 0; i < TABLES_CNT; i++)
		if (q->used[i])
			return true;
	return q->uses_stacks;
}

void query_stop_when(struct query *q, bool (*stops)(void))
{
	q->stops = stops;
	sqlite3_progress_handler(q->db, OPS_BETWEEN_LOOKS, on_progress, q);
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool wants(void *ctx, const char *name)
{
	const struct query *q = ctx;
	int table = find_table(name);

	return (table >= 0 && q->used[table]) || (q->uses_stacks && !strcmp(name, SAMPLES));
}

static void bind_own(struct query *q, sqlite3_stmt *insert)
{
	sqlite3_bind_text(insert, 1, q->capture, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 2, q->m->host.name, -1, SQLITE_STATIC);
	sqlite3_bind_text(insert, 3, q->began_utc, -1, SQLITE_STATIC);
}

static sqlite3_stmt *prepare_insert(struct query *q, const struct export_table *table)
{
	char sql[1024];
	size_t n =
		(size_t)snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?, ?, ?", table->name);
	sqlite3_stmt *insert = NULL;

	for (size_t i = 0; i < table->columns_cnt && n + 4 < sizeof(sql); i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ", ?");
	snprintf(sql + n, sizeof(sql) - n, ")");
	if (sqlite3_prepare_v2(q->db, sql, -1, &insert, NULL) != SQLITE_OK)
		q->err = -ENOMEM;
	else
		bind_own(q, insert);
	return insert;
}

static void begin_rows(void *ctx, const struct export_table *table)
{
	struct query *q = ctx;
	int at = find_table(table->name);

	q->insert = q->insert_stack = NULL;
	if (q->err)
		return;
	if (!run(q, "BEGIN")) {
		q->err = -ENOMEM;
		return;
	}
	if (at >= 0 && q->used[at])
		q->insert = prepare_insert(q, table);
	if (!q->uses_stacks || strcmp(table->name, SAMPLES))
		return;
	if (sqlite3_prepare_v2(q->db, add_stack, -1, &q->insert_stack, NULL) != SQLITE_OK)
		q->err = -ENOMEM;
	else
		bind_own(q, q->insert_stack);
}

static int bind(sqlite3_stmt *insert, int at, struct value v)
{
	switch (v.kind) {
	case VALUE_COUNT:
		return sqlite3_bind_int64(insert, at, (sqlite3_int64)v.count);
	case VALUE_INT:
		return sqlite3_bind_int64(insert, at, v.integer);
	case VALUE_REAL:
		return sqlite3_bind_double(insert, at, v.real);
	case VALUE_FLAG:
		return sqlite3_bind_int(insert, at, v.flag);
	case VALUE_TEXT:
		return sqlite3_bind_text(insert, at, v.text, -1, SQLITE_TRANSIENT);
	default:
		return sqlite3_bind_null(insert, at);
	}
}

static void step(struct query *q, sqlite3_stmt *insert)
{
	if (sqlite3_step(insert) != SQLITE_DONE)
		q->err = -ENOMEM;
	sqlite3_reset(insert);
}

static void add_to_stacks(struct query *q, const struct export_table *table,
			  const struct subject *s)
{
	uint64_t key = hash_pair(q->captures, s->process->tgid);

	for (size_t k = 0; k < OF_SAMPLE_CNT; k++)
		for (size_t i = 0; i < table->columns_cnt; i++) {
			struct value v;

			if (strcmp(table->columns[i]->id, of_sample[k]))
				continue;
			v = figure_value(table->columns[i], s);
			if (v.kind == VALUE_TEXT)
				key = hash_pair(key, hash_bytes(v.text, strlen(v.text)));
			if (bind(q->insert_stack, OWN_COLUMN_CNT + 1 + (int)k, v) != SQLITE_OK)
				q->err = -ENOMEM;
		}
	sqlite3_bind_int64(q->insert_stack, OWN_COLUMN_CNT + 1 + (int)OF_SAMPLE_CNT,
			   (sqlite3_int64)key);
	step(q, q->insert_stack);
}

static void add_row(void *ctx, const struct export_table *table, const struct subject *s)
{
	struct query *q = ctx;

	if (!q->err && q->insert_stack)
		add_to_stacks(q, table, s);
	if (q->err || !q->insert)
		return;
	for (size_t i = 0; i < table->columns_cnt; i++)
		if (bind(q->insert, OWN_COLUMN_CNT + 1 + (int)i,
			 figure_value(table->columns[i], s)) != SQLITE_OK)
			q->err = -ENOMEM;
	if (!q->err)
		step(q, q->insert);
}

static void end_rows(void *ctx, const struct export_table *table)
{
	struct query *q = ctx;

	(void)table;
	sqlite3_finalize(q->insert);
	sqlite3_finalize(q->insert_stack);
	q->insert = q->insert_stack = NULL;
	if (!run(q, "COMMIT"))
		q->err = q->err ?: -ENOMEM;
}

int query_add(struct query *q, const char *name, struct model *m,
	      const struct export_options *options)
{
	const struct tables_sink sink = {
		.begin = begin_rows, .row = add_row, .end = end_rows, .wants = wants, .ctx = q};
	struct export_options o = *options;
	struct export_about about;
	int err;

	about_of(&about, m);
	o.table = NULL;
	q->capture = name;
	q->m = m;
	q->err = 0;
	q->captures++;
	snprintf(q->began_utc, sizeof(q->began_utc), "%.19s",
		 number_utc(about.wall_start_ns / 1000000000).text);
	err = tables_walk(m, &o, &sink);
	/* That no table of it was asked for is no fault. */
	return q->err ?: err == -EINVAL ? 0 : err;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* 1: there is a row; 0: no more; or an error of the header. */
static int next(struct query *q, char why[static QUERY_WHY_BYTES])
{
	int rc = sqlite3_step(q->asked);

	/* A text that there was no memory for reads as none. */
	if (rc == SQLITE_ROW && sqlite3_errcode(q->db) == SQLITE_NOMEM)
		rc = SQLITE_NOMEM;
	switch (rc) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_NOMEM:
		return -ENOMEM;
	default:
		snprintf(why, QUERY_WHY_BYTES, "%s", sqlite3_errmsg(q->db));
		return -EINVAL;
	}
}

static const char *cell(struct query *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q->asked, column);

	return text ? text : "";
}

static const char *title(struct query *q, int column)
{
	const char *text = sqlite3_column_name(q->asked, column);

	return text ? text : "";
}

static bool is_number(struct query *q, int column)
{
	int type = sqlite3_column_type(q->asked, column);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

int query_write_csv(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES])
{
	int cnt = sqlite3_column_count(q->asked), err;

	for (int i = 0; i < cnt; i++) {
		fputs(i ? "," : "", out);
		csv_put_text(out, title(q, i));
	}
	putc('\n', out);
	while ((err = next(q, why)) == 1) {
		for (int i = 0; i < cnt; i++) {
			if (i)
				putc(',', out);
			if (is_number(q, i))
				fputs(cell(q, i), out);
			else if (sqlite3_column_type(q->asked, i) != SQLITE_NULL)
				csv_put_text(out, cell(q, i));
		}
		putc('\n', out);
	}
	return err ?: fflush(out) || ferror(out) ? -EIO : 0;
}

static void put_json(struct json *j, struct query *q, int column)
{
	const char *name = title(q, column);

	switch (sqlite3_column_type(q->asked, column)) {
	case SQLITE_INTEGER:
		json_int(j, name, sqlite3_column_int64(q->asked, column));
		break;
	case SQLITE_FLOAT:
		json_precise(j, name, sqlite3_column_double(q->asked, column));
		break;
	case SQLITE_NULL:
		json_null(j, name);
		break;
	default:
		json_string(j, name, cell(q, column));
	}
}

int query_write_json(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES])
{
	int cnt = sqlite3_column_count(q->asked), err, failed;
	struct json j;

	json_begin(&j, out, "query");
	json_array(&j, "rows");
	while ((err = next(q, why)) == 1) {
		json_object(&j, NULL);
		for (int i = 0; i < cnt; i++)
			put_json(&j, q, i);
		json_end(&j);
	}
	json_end(&j);
	failed = json_finish(&j);
	return err ?: failed;
}

int query_write_folded(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES])
{
	int err;

	if (sqlite3_column_count(q->asked) != 2) {
		snprintf(why, QUERY_WHY_BYTES, "two columns are wanted: a stack, and a number");
		return -EINVAL;
	}
	while ((err = next(q, why)) == 1) {
		const char *stack = cell(q, 0);

		if (sqlite3_column_type(q->asked, 1) != SQLITE_INTEGER) {
			snprintf(why, QUERY_WHY_BYTES, "the second column is no whole number");
			return -EINVAL;
		}
		if (!sqlite3_column_int64(q->asked, 1))
			continue;
		text_put_safe(out, stack, strlen(stack));
		fprintf(out, " %lld\n", (long long)sqlite3_column_int64(q->asked, 1));
	}
	return err ?: fflush(out) || ferror(out) ? -EIO : 0;
}

/* --- for people ------------------------------------------------------------------------------- */

/* Rows whose widths the columns are measured by. */
#define MEASURED_ROWS 100u
/* Bytes of a cell that text shows: --format csv has all of it. */
#define CELL_MOST     4096
#define COLUMNS_LEAST 6u
#define COLUMNS_MAX   64

struct grid {
	int cnt;
	size_t widths[COLUMNS_MAX];
	bool left[COLUMNS_MAX];
	char **cells; /* made safe; of the measured rows */
	size_t rows;
};

static char *safe_cell(struct query *q, int column)
{
	size_t len = strnlen(cell(q, column), CELL_MOST), bytes = 4 * len + 1;
	char *text = malloc(bytes + 8);

	if (text)
		text_copy_safe(text, bytes, cell(q, column), len);
	return text;
}

static void put_cell(FILE *out, const struct grid *g, int column, char *text)
{
	size_t width = g->widths[column], len;

	text_shorten(text, width, CUT_MIDDLE);
	len = text_columns(text);
	if (column)
		fputs("  ", out);
	if (g->left[column])
		fprintf(out, "%s%*s", text,
			column + 1 < g->cnt && len < width ? (int)(width - len) : 0, "");
	else
		fprintf(out, "%*s%s", len < width ? (int)(width - len) : 0, "", text);
	if (column + 1 == g->cnt)
		putc('\n', out);
}

/* The widest columns give way first. */
static void fit(struct grid *g, size_t width)
{
	for (;;) {
		size_t all = 0;
		int widest = 0;

		for (int i = 0; i < g->cnt; i++) {
			all += g->widths[i] + (i ? 2 : 0);
			if (g->widths[i] > g->widths[widest])
				widest = i;
		}
		if (all <= width || g->widths[widest] <= COLUMNS_LEAST)
			return;
		g->widths[widest]--;
	}
}

static int measure(struct query *q, struct grid *g, char why[static QUERY_WHY_BYTES])
{
	int rc = 1;

	for (int i = 0; i < g->cnt; i++)
		g->widths[i] = text_columns(title(q, i));
	while (g->rows < MEASURED_ROWS && (rc = next(q, why)) == 1) {
		for (int i = 0; i < g->cnt; i++) {
			char *text = safe_cell(q, i);

			if (!text)
				return -ENOMEM;
			g->cells[g->rows * (size_t)g->cnt + (size_t)i] = text;
			if (text_columns(text) > g->widths[i])
				g->widths[i] = text_columns(text);
			g->left[i] |=
				!is_number(q, i) && sqlite3_column_type(q->asked, i) != SQLITE_NULL;
		}
		g->rows++;
	}
	return rc;
}

static int put_grid(FILE *out, struct query *q, struct grid *g, char why[static QUERY_WHY_BYTES],
		    int rc)
{
	for (int i = 0; i < g->cnt; i++) {
		_cleanup_free_ char *name = strdup(title(q, i));

		if (!name)
			return -ENOMEM;
		put_cell(out, g, i, name);
	}
	for (size_t k = 0; k < g->rows; k++)
		for (int i = 0; i < g->cnt; i++)
			put_cell(out, g, i, g->cells[k * (size_t)g->cnt + (size_t)i]);
	while (rc == 1 && (rc = next(q, why)) == 1)
		for (int i = 0; i < g->cnt; i++) {
			_cleanup_free_ char *text = safe_cell(q, i);

			if (!text)
				return -ENOMEM;
			put_cell(out, g, i, text);
		}
	return rc ?: fflush(out) || ferror(out) ? -EIO : 0;
}

int query_write_text(FILE *out, struct query *q, size_t width, char why[static QUERY_WHY_BYTES])
{
	struct grid g = {.cnt = sqlite3_column_count(q->asked)};
	int rc;

	if (g.cnt > COLUMNS_MAX) {
		snprintf(why, QUERY_WHY_BYTES, "at most %d columns fit into a line: --format csv",
			 COLUMNS_MAX);
		return -EINVAL;
	}
	g.cells = calloc((size_t)MEASURED_ROWS * (size_t)g.cnt + 1, sizeof(*g.cells));
	if (!g.cells)
		return -ENOMEM;
	rc = measure(q, &g, why);
	fit(&g, width);
	if (rc >= 0)
		rc = put_grid(out, q, &g, why, rc);
	for (size_t i = 0; i < MEASURED_ROWS * (size_t)g.cnt; i++)
		free(g.cells[i]);
	free(g.cells);
	return rc;
}

/* --- what there is ---------------------------------------------------------------------------- */

static void list_table(void *ctx, const struct export_table *table)
{
	fprintf(ctx, "%s: " OWN_COLUMNS, table->name);
	for (size_t i = 0; i < table->columns_cnt; i++)
		fprintf(ctx, ", %s", table->columns[i]->id);
	putc('\n', ctx);
}

int query_write_tables(FILE *out)
{
	const struct tables_sink sink = {
		.begin = list_table, .row = no_row, .end = end_nothing, .ctx = out};
	const struct export_options options = {0};
	struct model *none = model_new();
	int err = none ? tables_walk(none, &options, &sink) : -ENOMEM;

	model_free(none);
	if (!err)
		fputs("stacks: " OWN_COLUMNS
		      ", pid, process, stack, samples, waiters, blocked_ms\n",
		      out);
	return err ?: fflush(out) || ferror(out) ? -EIO : 0;
}
