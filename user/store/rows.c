/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a model as the tables have them. */
#include "store/private.h"

static const char *model_field(const struct model *m, uint16_t offset)
{
	return (const char *)m + offset;
}

size_t table_rows(const struct model *m, enum store_table table)
{
	const struct table_layout *t = &store_tables[table];

	return t->rows_cnt ? *(const size_t *)model_field(m, t->rows_cnt) : 0;
}

static char *row_at(const struct model *m, const struct table_layout *t, size_t row)
{
	return *(char *const *)model_field(m, t->rows) + row * t->row_bytes;
}

bool *table_dirty(const struct model *m, enum store_table table, size_t row)
{
	const struct table_layout *t = &store_tables[table];

	return t->dirty ? (bool *)(row_at(m, t, row) + t->dirty) : NULL;
}

/* What was learnt of it when it was read stands in for a build id that the kernel did not tell. */
static const void *module_row(const struct model_module *module, struct row_module *row)
{
	bool learnt = module->learnt_id_len && !module->build_id_len;

	row->module = *module;
	row->build_id = learnt ? (struct blob){module->learnt_id, module->learnt_id_len}
			       : (struct blob){module->build_id, module->build_id_len};
	return row;
}

static const void *stack_row(const struct model *m, const struct model_stack *stack,
			     struct row_stack *row)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are stored as they are");

	row->stack = *stack;
	row->frames =
		(struct blob){model_stack_frames(m, stack), stack->frame_cnt * sizeof(uint64_t)};
	return row;
}

static const void *symbol_row(const struct model_symbol *symbol, struct model_symbol *row)
{
	*row = *symbol;
	if (row->raw == row->name)
		row->raw = NULL;
	return row;
}

const void *table_row(const struct model *m, enum store_table table, size_t row,
		      union store_row *scratch)
{
	switch (table) {
	case TABLE_HOST:
		return &m->host;
	case TABLE_MODULE:
		return module_row(&m->modules[row], &scratch->module);
	case TABLE_STACK:
		return stack_row(m, &m->stacks[row], &scratch->stack);
	case TABLE_SYMBOL:
		return symbol_row(&m->symbols[row], &scratch->symbol);
	default:
		return row_at(m, &store_tables[table], row);
	}
}

const void *mapping_row(const struct model *m, uint32_t process, uint32_t number,
			union store_row *scratch)
{
	scratch->mapping =
		(struct row_mapping){m->processes[process].mappings[number], process, number};
	return &scratch->mapping;
}
