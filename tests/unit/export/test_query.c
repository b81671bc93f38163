/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun query`: questions over captures, and what they may not do. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "export/query.h"

/* Two methods, 30 and 10 samples, in a process of that name. */
static struct model *record(const char *host, const char *name)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, name, PROCESS_DOTNET);
	uint32_t t = build_thread(m, p, 100, "worker", 400000000, 'S');
	uint32_t a = build_symbol(m, "Shop.Get;x", "Shop.Api", KIND_JIT, true);
	uint32_t b = build_symbol(m, "Shop.Price", "Shop.Api", KIND_JIT, true);

	m->host.name = model_str(m, host);
	BUILD_SAMPLES(m, t, 30, a, b);
	BUILD_SAMPLES(m, t, 10, a);
	build_books(m, 2);
	return m;
}

typedef int (*writer)(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES]);

static int text_130(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES])
{
	return query_write_text(out, q, 130, why);
}

static int text_40(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES])
{
	return query_write_text(out, q, 40, why);
}

/* The answer over two captures, owned; what the writer returned is in *ret_err. */
static char *ask(const char *sql, writer write, int *ret_err)
{
	const struct export_options options = {0};
	struct model *one = record("web-1", "Shop.Api"), *two = record("web-2", "x\x1b[2J'; DROP");
	char why[QUERY_WHY_BYTES] = "", *text = NULL;
	struct query *q = query_new(sql, why);
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(q, "%s", why);
	cr_assert_eq(query_add(q, "one.hotrun", one, &options), 0);
	cr_assert_eq(query_add(q, "two.hotrun", two, &options), 0);
	*ret_err = write(out, q, why);
	fclose(out);
	query_free(q);
	model_free(one);
	model_free(two);
	return text;
}

static void expect(const char *sql, writer write, const char *wanted)
{
	int err;
	char *text = ask(sql, write, &err);

	cr_expect_eq(err, 0, "%s: %d", sql, err);
	cr_expect_str_eq(text, wanted, "%s:\n%s", sql, text);
	free(text);
}

Test(query, captures_are_one_database)
{
	expect("SELECT capture, host, process, sum(self) AS self FROM methods GROUP BY 1, 3 "
	       "ORDER BY 1",
	       text_130,
	       "capture     host   process          self\n"
	       "one.hotrun  web-1  Shop.Api           40\n"
	       "two.hotrun  web-2  x\\x1b[2J'; DROP    40\n");
}

Test(query, wide_columns_give_way)
{
	int err;
	char *text = ask("SELECT process, method, self FROM methods ORDER BY capture, self DESC",
			 text_40, &err);

	cr_expect_eq(err, 0);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		cr_expect_leq(strlen(line), 48, "%s", line);
	free(text);
}

Test(query, csv_quotes_what_strangers_wrote)
{
	expect("SELECT process, samples, NULL FROM processes ORDER BY capture", query_write_csv,
	       "\"process\",\"samples\",\"NULL\"\n"
	       "\"Shop.Api\",40,\n"
	       "\"x\\x1b[2J'; DROP\",40,\n");
}

Test(query, json_has_numbers_and_null)
{
	int err;
	char *text = ask("SELECT process, 1.5 AS r, NULL AS n FROM processes LIMIT 1",
			 query_write_json, &err);

	cr_expect_eq(err, 0);
	cr_expect(strstr(text, "\"process\": \"Shop.Api\""), "%s", text);
	cr_expect(strstr(text, "\"r\": 1.5,"), "%s", text);
	cr_expect(strstr(text, "\"n\": null"), "%s", text);
	free(text);
}

Test(query, json_of_any_title_and_any_small_number)
{
	int err;
	char *text = ask("SELECT 0.0000004 AS \"a\"\"b\", 1e300 AS large", query_write_json, &err);

	cr_expect_eq(err, 0);
	cr_expect(strstr(text, "\"a\\\"b\": 4e-07"), "%s", text);
	cr_expect(strstr(text, "\"large\": 1e+300"), "%s", text);
	free(text);
}

Test(query, stacks_are_for_flame_graphs)
{
	expect("SELECT stack, samples FROM stacks WHERE host = 'web-1' ORDER BY 2",
	       query_write_folded,
	       "Shop.Get\\\\x3bx 10\n"
	       "Shop.Get\\\\x3bx;Shop.Price 30\n");
}

Test(query, what_is_no_stack_and_number_is_refused)
{
	static const char *const questions[] = {"SELECT stack FROM stacks",
						"SELECT stack, process FROM stacks"};

	for (size_t i = 0; i < 2; i++) {
		int err;

		free(ask(questions[i], query_write_folded, &err));
		cr_expect_eq(err, -EINVAL);
	}
}

Test(query, it_reads_and_does_nothing_else)
{
	static const char *const refused[] = {
		"",
		"-- nothing",
		"DELETE FROM host",
		"UPDATE host SET name = 1",
		"INSERT INTO host (name) VALUES (1)",
		"CREATE TABLE t (x)",
		"CREATE TEMP TABLE t (x)",
		"DROP VIEW stacks",
		"ATTACH '/tmp/x' AS y",
		"PRAGMA temp_store_directory = '/tmp'",
		"PRAGMA writable_schema = 1",
		"VACUUM INTO '/tmp/x'",
		"BEGIN",
		"SELECT 1; DELETE FROM host",
		"SELECT load_extension('x')",
		"SELECT writefile('/tmp/x', 'y')",
		"SELECT readfile('/etc/passwd')",
		"SELECT * FROM nothing",
		"SELEC",
		"EXPLAIN DELETE FROM host",
	};
	char why[QUERY_WHY_BYTES];

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct query *q = query_new(refused[i], why);

		cr_expect_null(q, "%s", refused[i]);
		cr_expect_neq(why[0], '\0', "%s", refused[i]);
		query_free(q);
	}
}

Test(query, tables_that_are_not_asked_for_stay_empty)
{
	char why[QUERY_WHY_BYTES];
	struct query *q = query_new("SELECT 1 + 1", why);

	cr_assert(q);
	cr_expect_not(query_reads(q));
	query_free(q);
	q = query_new("SELECT count(*) FROM stacks", why);
	cr_assert(q);
	cr_expect(query_reads(q), "through the view");
	query_free(q);
	q = query_new("SELECT count(*) FROM Threads", why);
	cr_assert(q);
	cr_expect(query_reads(q), "names are of any case");
	query_free(q);
}

static bool stops_at_once(void)
{
	return true;
}

Test(query, what_does_not_end_is_stopped)
{
	char why[QUERY_WHY_BYTES] = "", *text = NULL;
	struct query *q =
		query_new("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
			  "SELECT count(*) FROM r",
			  why);
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(q, "%s", why);
	query_stop_when(q, stops_at_once);
	cr_expect_eq(query_write_csv(out, q, why), -EINTR);
	fclose(out);
	free(text);
	query_free(q);
}

Test(query, what_is_too_large_is_no_memory)
{
	char why[QUERY_WHY_BYTES] = "", *text = NULL;
	struct query *q = query_new("SELECT length(zeroblob(2000000000))", why);
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(q, "%s", why);
	cr_expect_lt(query_write_csv(out, q, why), 0);
	fclose(out);
	free(text);
	query_free(q);
}

Test(query, all_tables_are_told)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_expect_eq(query_write_tables(out), 0);
	fclose(out);
	cr_expect(strstr(text, "processes: capture, host, began_utc, pid, process"), "%s", text);
	cr_expect(strstr(text, "samples: capture, host, began_utc, time_s"), "%s", text);
	cr_expect(strstr(text, "stacks: capture"), "%s", text);
	free(text);
}

/* SQLite tells of no column that USING names, and of tables as they are written. */
Test(query, tables_are_filled_however_they_are_named)
{
	expect("SELECT count(*) AS n FROM Threads", text_130, "n\n2\n");
	expect("SELECT count(*) AS n FROM threads JOIN processes USING (capture, pid)", text_130,
	       "n\n2\n");
	expect("SELECT count(*) AS n FROM THREADS NATURAL JOIN Processes p", text_130, "n\n2\n");
	expect("SELECT sum(m.self) AS n FROM Host h, \"methods\" m WHERE m.capture = h.capture",
	       text_130, " n\n80\n");
}
