/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison of two captures by the columns that the store keeps, and by what finds rows. */
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "store/private.h"

static size_t bytes_of(const struct column *c)
{
	switch (c->type) {
	case COLUMN_I8:
	case COLUMN_U8:
	case COLUMN_LETTER:
		return 1;
	case COLUMN_BOOL:
		return sizeof(bool);
	case COLUMN_U16:
		return 2;
	case COLUMN_U32:
	case COLUMN_ROW:
		return 4;
	default:
		return 8;
	}
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_blob(const struct blob *a, const struct blob *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->bytes, b->bytes, a->len));
}

static bool same_value(const struct column *c, const char *a, const char *b)
{
	switch (c->type) {
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return same_text(*(const char *const *)a, *(const char *const *)b);
	case COLUMN_BLOB:
		return same_blob((const struct blob *)a, (const struct blob *)b);
	default:
		return !memcmp(a, b, bytes_of(c));
	}
}

static const char *row_difference(const struct table_layout *t, const void *a, const void *b)
{
	static char found[64];

	for (int i = 0; i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];

		if (same_value(c, (const char *)a + c->offset, (const char *)b + c->offset))
			continue;
		snprintf(found, sizeof(found), "%s.%s", t->name, c->name);
		return found;
	}
	return NULL;
}

static const char *table_difference(const struct model *a, const struct model *b,
				    enum store_table table)
{
	const struct table_layout *t = &store_tables[table];
	size_t cnt = table_rows(a, table);
	const char *found = NULL;
	union store_row x, y;

	if (cnt != table_rows(b, table))
		return t->name;
	for (size_t i = 0; !found && i < cnt; i++)
		found = row_difference(t, table_row(a, table, i, &x), table_row(b, table, i, &y));
	return found;
}

static const char *mapping_difference(const struct model *a, const struct model *b,
				      uint32_t process)
{
	uint32_t cnt = (uint32_t)a->processes[process].mapping_cnt;
	const char *found = NULL;
	union store_row x, y;

	if (cnt != b->processes[process].mapping_cnt)
		return "mapping";
	for (uint32_t i = 0; !found && i < cnt; i++)
		found = row_difference(&store_tables[TABLE_MAPPING], mapping_row(a, process, i, &x),
				       mapping_row(b, process, i, &y));
	return found;
}

/* What is not stored, but made of it when it is read. */
static const char *index_difference(const struct model *a, const struct model *b)
{
	for (size_t i = 0; i < b->stacks_cnt; i++)
		if (model_stack_find(b, b->stacks[i].id) != i)
			return "stack, by id";
	for (size_t i = 0; i < b->symbols_cnt; i++)
		if ((a->symbols[i].raw == a->symbols[i].name) !=
		    (b->symbols[i].raw == b->symbols[i].name))
			return "symbol.raw, shared";
	for (size_t i = 0; i < b->endpoints_cnt; i++)
		if (model_endpoint_find(b, b->endpoints[i].process, b->endpoints[i].listener) != i)
			return "endpoint, by listener";
	for (size_t i = 0; i < b->locations_cnt; i++) {
		const struct model_location *l = &b->locations[i];

		if (model_location_find(a, l->process, l->address, l->from_ns) !=
		    model_location_find(b, l->process, l->address, l->from_ns))
			return "location, by address";
	}
	return NULL;
}

const char *capture_difference(const struct model *a, const struct model *b)
{
	const char *found = row_difference(&store_tables[TABLE_HOST], &a->host, &b->host);

	for (int i = 0; !found && i < TABLE_CNT; i++)
		found = table_difference(a, b, (enum store_table)i);
	for (uint32_t i = 0; !found && i < a->processes_cnt; i++)
		found = mapping_difference(a, b, i);
	return found ? found : index_difference(a, b);
}
