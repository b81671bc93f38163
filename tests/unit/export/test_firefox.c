/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox.h"
#include "export_models.h"
#include "golden.h"

Test(firefox, a_service_and_its_neighbour)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = export_text(firefox_write, m, (struct export_options){0}, &len);

	golden_expect("export.firefox", text, len);
	free(text);
	model_free(m);
}

static struct json_object *get(struct json_object *object, const char *key)
{
	struct json_object *value;

	cr_assert(json_object_object_get_ex(object, key, &value), "no %s", key);
	return value;
}

static uint64_t length_of(struct json_object *table)
{
	return (uint64_t)json_object_get_int64(get(table, "length"));
}

/* Each column of a table is as long as it says. */
static void check_table(const char *name, struct json_object *table)
{
	json_object_object_foreach(table, key,
				   value) if (json_object_is_type(value, json_type_array))
		cr_expect_eq(json_object_array_length(value), length_of(table), "%s.%s", name, key);
}

/* Indexes lead to rows that are there, and parents come before their children. */
static void check_indexes(struct json_object *table, const char *key, uint64_t rows)
{
	struct json_object *column = get(table, key);

	for (size_t i = 0; i < json_object_array_length(column); i++) {
		struct json_object *value = json_object_array_get_idx(column, i);

		if (value)
			cr_expect_lt((uint64_t)json_object_get_int64(value), rows, "%s", key);
	}
}

static uint64_t check_thread(struct json_object *thread, uint64_t stacks, uint64_t strings)
{
	struct json_object *samples = get(thread, "samples"), *weight = get(samples, "weight");
	uint64_t sum = 0;

	check_table("samples", samples);
	check_table("markers", get(thread, "markers"));
	check_indexes(samples, "stack", stacks);
	check_indexes(get(thread, "markers"), "name", strings);
	for (size_t i = 0; i < json_object_array_length(weight); i++)
		sum += (uint64_t)json_object_get_int64(json_object_array_get_idx(weight, i));
	return sum;
}

/* The sum of all weights. */
static uint64_t check_profile(enum export_model which, struct export_options options)
{
	struct model *m = export_model(which);
	char *text = export_text(firefox_write, m, options, NULL);
	struct json_object *profile = json_tokener_parse(text), *shared = get(profile, "shared");
	struct json_object *threads = get(profile, "threads"),
			   *strings = get(shared, "stringArray");
	uint64_t frames = length_of(get(shared, "frameTable")), sum = 0;

	json_object_object_foreach(shared, key, table) if (table != strings)
		check_table(key, table);
	check_indexes(get(shared, "stackTable"), "frame", frames);
	check_indexes(get(shared, "frameTable"), "func", length_of(get(shared, "funcTable")));
	check_indexes(get(shared, "funcTable"), "name", json_object_array_length(strings));
	check_indexes(get(shared, "funcTable"), "resource",
		      length_of(get(shared, "resourceTable")));
	check_indexes(get(shared, "resourceTable"), "lib",
		      json_object_array_length(get(profile, "libs")));
	for (size_t i = 0; i < json_object_array_length(threads); i++)
		sum += check_thread(json_object_array_get_idx(threads, i),
				    length_of(get(shared, "stackTable")),
				    json_object_array_length(strings));
	json_object_put(profile);
	free(text);
	model_free(m);
	return sum;
}

Test(firefox, tables_hold_together_and_weights_add_up)
{
	for (int which = 0; which < EXPORT_MODELS; which++)
		for (int weight = 0; weight < EXPORT_WEIGHTS; weight++) {
			uint64_t sum = check_profile(
				(enum export_model)which,
				(struct export_options){.weight = (enum export_weight)weight});

			if (which == EXPORT_SHOP)
				cr_expect_eq(sum, export_shop_totals[weight]);
		}
}
