/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, and the formats that are made of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "build_page.h"
#include "export/csv.h"
#include "export/json.h"
#include "export/ndjson.h"
#include "export/tables.h"
#include "export_models.h"
#include "golden.h"

static void expect_golden(const char *name, export_write write, struct export_options options)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = export_text(write, m, options, &len);

	golden_expect(name, text, len);
	free(text);
	model_free(m);
}

Test(tables, json_has_all_of_them)
{
	expect_golden("export_tables.json", json_write, (struct export_options){0});
}

Test(tables, json_of_one_says_that_there_are_others)
{
	expect_golden("export_table.json", json_write,
		      (struct export_options){.table = "requests"});
}

Test(tables, csv_is_of_processes_unless_another_one_is_asked_for)
{
	expect_golden("export_processes.csv", csv_write, (struct export_options){0});
	expect_golden("export_methods.csv", csv_write,
		      (struct export_options){.table = "methods", .weight = EXPORT_BLOCKED});
}

Test(tables, one_that_there_is_not)
{
	struct model *m = export_model(EXPORT_ONE);
	struct export_options options = {.table = "nothing"};

	cr_expect_eq(csv_write(stdout, m, &options), -EINVAL);
	model_free(m);
}

/* Sums of a key over the lines of a table. */
static uint64_t sum_of(const char *text, const char *table, const char *key)
{
	struct json_object *line, *value;
	char *copy = strdup(text), *save = NULL;
	uint64_t sum = 0;

	for (char *at = strtok_r(copy, "\n", &save); at; at = strtok_r(NULL, "\n", &save)) {
		line = json_tokener_parse(at);
		cr_assert(line, "%s", at);
		cr_assert(json_object_object_get_ex(line, "table", &value));
		if (!strcmp(json_object_get_string(value), table)) {
			cr_assert(json_object_object_get_ex(line, key, &value), "%s", key);
			sum += (uint64_t)json_object_get_int64(value);
		}
		json_object_put(line);
	}
	free(copy);
	return sum;
}

Test(tables, each_has_the_same_totals)
{
	static const char *const names[] = {"host", "processes", "threads", "samples"};
	static const char *const keys[] = {"samples", "waiters", "blocked_ms"};

	for (int weight = 0; weight < EXPORT_WEIGHTS; weight++) {
		struct model *m = export_model(EXPORT_SHOP);
		struct export_options options = {.weight = (enum export_weight)weight};
		char *text = export_text(ndjson_write, m, options, NULL);

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			for (int k = 0; k < EXPORT_WEIGHTS; k++)
				cr_expect_eq(sum_of(text, names[i], keys[k]), export_shop_totals[k],
					     "%s %s", names[i], keys[k]);
		cr_expect_eq(sum_of(text, "methods", "self"), export_shop_totals[weight]);
		free(text);
		model_free(m);
	}
}

/* Stacks are made for those alone that need them. */
Test(tables, one_that_is_asked_for_alone_has_the_same_totals)
{
	static const char *const names[] = {"host", "processes", "threads", "samples"};
	static const char *const keys[] = {"samples", "waiters", "blocked_ms"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct model *m = export_model(EXPORT_SHOP);
		struct export_options options = {.table = names[i]};
		char *text = export_text(ndjson_write, m, options, NULL);

		for (int k = 0; k < EXPORT_WEIGHTS; k++)
			cr_expect_eq(sum_of(text, names[i], keys[k]), export_shop_totals[k],
				     "%s %s", names[i], keys[k]);
		free(text);
		model_free(m);
	}
}

Test(tables, a_method_that_calls_itself_counts_once)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", BUILD_SECOND, 'R');
	uint32_t a = build_symbol(m, "a", "app", KIND_NATIVE, true);
	uint32_t b = build_symbol(m, "b", "app", KIND_NATIVE, true);

	BUILD_SAMPLES(m, t, 3, a, b, a, b);
	BUILD_SAMPLES(m, t, 2, a, a);
	BUILD_SAMPLES(m, t, 1, b);
	export_says(csv_write, m, (struct export_options){.table = "methods"},
		    "7,\"app\",\"b\",\"app\",\"native\",true,4,4\n"
		    "7,\"app\",\"a\",\"app\",\"native\",true,2,5\n");
}

Test(tables, what_nobody_knows_is_null)
{
	export_says(ndjson_write, export_model(EXPORT_UNKNOWN),
		    (struct export_options){.table = "samples"},
		    "\"samples\":1,\"waiters\":null,\"blocked_ms\":null,");
	export_says(csv_write, export_model(EXPORT_UNKNOWN),
		    (struct export_options){.table = "samples"}, ",1,,,\"main\",\"main\"\n");
}

Test(tables, names_are_neither_formulas_nor_fields)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "=cmd|' /C calc'!A0", 0);
	uint32_t t = build_thread(m, p, 7, "a,\"b\"", BUILD_SECOND, 'R');

	BUILD_SAMPLES(m, t, 1, build_symbol(m, "a;b", "app", KIND_NATIVE, true),
		      build_symbol(m, "@c\n", "app", KIND_NATIVE, true));
	export_says(csv_write, m, (struct export_options){.table = "samples"},
		    ",7,\"'=cmd|' /C calc'!A0\",7,\"a,\"\"b\"\"\",0,1,0,0,\"'@c\\x0a\","
		    "\"a\\\\x3bb;@c\\x0a\"\n");
}
