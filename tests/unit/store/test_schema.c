/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a capture says what it holds: as SQL, in the manual, and to the comparison of
 * captures by which the other tests judge. */
#include <criterion/criterion.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture.h"
#include "golden.h"
#include "store/private.h"

#define MARK "writes it anew.\n\n"

static char *file_text(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	cr_assert(in && text, "%s: %m", path);
	cr_assert(fread(text, 1, (1 << 20) - 1, in));
	fclose(in);
	return text;
}

/* What a maintainer wrote stands first, and stays when it is recorded. */
Test(schema, the_manual_ends_with_the_tables_as_they_are)
{
	_cleanup_free_ char *manual = file_text("user/store/schema.sql");
	_cleanup_free_ char *text = NULL;
	char *tables = strstr(manual, MARK);
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out && tables);
	fprintf(out, "%.*s", (int)(tables + strlen(MARK) - manual), manual);
	schema_put(out);
	fclose(out);
	golden_expect("../../user/store/schema.sql", text, len);
}

static const struct column *find_column(enum store_table table, const char *name)
{
	const struct table_layout *t = &store_tables[table];

	for (int i = 0; i < t->column_cnt; i++)
		if (!strcmp(t->columns[i].name, name))
			return &t->columns[i];
	cr_assert_fail("no column %s.%s", t->name, name);
	return NULL;
}

/* The next number that text gives a name with that prefix: "#define NAME 0x1" where they are bits,
 * else "NAME = 1". Moves *text behind it. */
static bool next_number(const char **text, const char *prefix, bool bits, uint32_t *ret_value)
{
	const char *at = *text;

	while ((at = strstr(at, prefix))) {
		bool whole = !isalnum(at[-1]) && at[-1] != '_';
		char *end;

		at += strlen(prefix);
		if (!whole)
			continue;
		while (isalnum(*at) || *at == '_')
			at++;
		at += strspn(at, bits ? " \t\\\n" : " \t");
		if (bits ? strncmp(at, "0x", 2) != 0 : *at != '=')
			continue;
		*ret_value = (uint32_t)strtoul(bits ? at : at + 1, &end, 0);
		*text = end;
		return true;
	}
	return false;
}

/* Whether a header gives the number a name; counts those that a column does not explain. */
static size_t count_unexplained(const char *header, const char *prefix, const struct column *c,
				uint64_t *explained)
{
	_cleanup_free_ char *text = file_text(header);
	const char *at = text;
	size_t missing = 0;
	uint32_t value;

	while (next_number(&at, prefix, c->bits, &value)) {
		int i = 0;

		while (i < c->words_cnt && c->words[i].value != value)
			i++;
		if (i < c->words_cnt)
			*explained |= 1ull << i;
		else
			missing++;
	}
	return missing;
}

Test(schema, the_numbers_of_a_column_are_those_of_the_code)
{
	static const struct {
		enum store_table table;
		const char *column, *prefix;
	} rows[] = {
		{TABLE_HOST, "off", "OFF_"},
		{TABLE_PROCESS, "flags", "PROCESS_"},
		{TABLE_ENDPOINT, "protocols", "PROTOCOL_"},
		{TABLE_MAPPING, "kind", "MAPPING_"},
		{TABLE_STACK, "flags", "STACK_"},
		{TABLE_SYMBOL, "kind", "KIND_"},
		{TABLE_LOCATION, "flags", "LOCATION_"},
		{TABLE_SAMPLE, "flags", "SAMPLE_"},
		{TABLE_SAMPLE, "kind", "SAMPLE_"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct column *c = find_column(rows[i].table, rows[i].column);
		uint64_t explained = 0;
		size_t missing =
			count_unexplained("user/model/model.h", rows[i].prefix, c, &explained) +
			count_unexplained("bpf/events.h", rows[i].prefix, c, &explained);

		cr_expect_eq(missing, 0, "%s: %zu numbers without a meaning", rows[i].prefix,
			     missing);
		cr_expect_eq(explained, (1ull << c->words_cnt) - 1,
			     "%s: a meaning of a number that is none", rows[i].prefix);
	}
}

/* Changes one value of a row, whatever it is. */
static void change(const struct column *c, char *field)
{
	switch (c->type) {
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		*(const char **)field = "changed";
		break;
	case COLUMN_BOOL:
		*(bool *)field = !*(bool *)field;
		break;
	default:
		++*field;
	}
}

static void expect_told(const struct table_layout *t, const struct column *c, char *row,
			const struct model *changed, const struct model *m)
{
	char name[64];
	const char *told;

	snprintf(name, sizeof(name), "%s.%s", t->name, c->name);
	change(c, row + c->offset);
	told = capture_difference(changed, m);
	cr_expect(told && !strcmp(told, name), "%s changed, told is %s", name,
		  told ? told : "nothing");
}

/* Rows that the model has as the file has them; of symbols as well, but for what is shared. */
Test(schema, a_difference_in_any_column_is_told)
{
	struct model *m = capture_model();

	for (int table = 0; table < TABLE_CNT; table++) {
		const struct table_layout *t = &store_tables[table];

		if (table == TABLE_MODULE || table == TABLE_MAPPING || table == TABLE_STACK ||
		    table == TABLE_RENAMING)
			continue;
		for (int i = 0; i < t->column_cnt; i++) {
			struct model *changed = capture_model();
			char *row = (char *)&changed->host;

			if (table != TABLE_HOST)
				row = (char *)(uintptr_t)table_row(changed, table, 0,
								   &(union store_row){});
			if (table == TABLE_SYMBOL)
				row = (char *)&changed->symbols[0];
			expect_told(t, &t->columns[i], row, changed, m);
			model_free(changed);
		}
	}
	model_free(m);
}

/* And of those that the store makes of the model's. */
Test(schema, a_difference_in_what_is_kept_otherwise_is_told)
{
	struct model *m = capture_model(), *changed = capture_model();

	changed->modules[0].build_id[4]++;
	cr_expect_str_eq(capture_difference(changed, m), "module.build_id");
	changed->modules[0].build_id[4]--;
	changed->frames[0]++;
	cr_expect_str_eq(capture_difference(changed, m), "stack.frames");
	changed->frames[0]--;
	changed->processes[1].mappings[0].to_ns++;
	cr_expect_str_eq(capture_difference(changed, m), "mapping.to_ns");
	changed->processes[1].mappings[0].to_ns--;
	cr_expect_null(capture_difference(changed, m));
	changed->processes_cnt--;
	cr_expect_str_eq(capture_difference(changed, m), "process");
	changed->processes_cnt++;
	model_free(changed);
	model_free(m);
}
