/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the OTLP format: the tables that its profiles share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "export/otlp_private.h"
#include "export/proto_out.h"
#include "otlp.pb-c.h"

uint32_t otlp_string(struct otlp *w, const char *string)
{
	uint32_t n = 0;
	int err = strings_number(&w->strings, string, &n);

	if (err)
		w->err = err;
	return n;
}

/* --- attributes ------------------------------------------------------------------------------ */

/* Its row. */
int32_t otlp_attribute(struct otlp *w, const char *key, const char *text, int64_t value)
{
	int err = GROW(w->attributes, w->attributes_cnt, w->attributes_cap);

	if (err) {
		w->err = err;
		return 0;
	}
	w->attributes[w->attributes_cnt++] = (struct attribute){
		otlp_string(w, key), text ? otlp_string(w, text) : MODEL_NONE, value};
	return (int32_t)w->attributes_cnt;
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool mapping_equal(const void *owner, uint32_t row, const void *key)
{
	const struct mapping *a = &((const struct otlp *)owner)->mappings[row], *b = key;

	return a->file == b->file && a->build_id == b->build_id;
}

/* Its row in the table. build_id here is the string. */
static uint32_t mapping_get(struct otlp *w, const char *file, const char *build_id)
{
	struct mapping key = {otlp_string(w, file), otlp_string(w, build_id)};
	uint64_t hash = hash_pair(key.file, key.build_id);
	uint32_t row = hash_find(&w->mapping_index, hash, mapping_equal, w, &key);
	int err;

	if (row != HASH_NONE)
		return row + 1;
	row = (uint32_t)w->mappings_cnt;
	err = GROW(w->mappings, w->mappings_cnt, w->mappings_cap);
	if (!err)
		err = hash_add(&w->mapping_index, hash, row);
	if (err) {
		w->err = err;
		return 0;
	}
	w->mappings[w->mappings_cnt++] = key;
	return row + 1;
}

int otlp_take_frames(struct otlp *w)
{
	w->frame_mapping = calloc(w->s->frames_cnt + 1, sizeof(*w->frame_mapping));
	if (!w->frame_mapping)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->s->frames_cnt; i++) {
		const struct sampled_frame *f = &w->s->frames[i];
		char build_id[ABOUT_BUILD_ID_BYTES] = "";

		if (f->module != MODEL_NONE)
			about_build_id(build_id, &w->m->modules[f->module]);
		w->frame_mapping[i] = mapping_get(w, sampled_file(w->s, i), build_id);
	}
	return w->err;
}

int32_t otlp_stack(struct otlp *w, uint32_t node)
{
	int err;

	if (w->stack[node])
		return (int32_t)w->stack[node];
	err = GROW(w->nodes, w->nodes_cnt, w->nodes_cap);
	if (err) {
		w->err = err;
		return 0;
	}
	w->nodes[w->nodes_cnt++] = node;
	w->stack[node] = (uint32_t)w->nodes_cnt;
	return (int32_t)w->nodes_cnt;
}

/* --- the tables that all share --------------------------------------------------------------- */

/* Rows of a table of messages in a block: cnt of them after the zero value. NULL without memory. */
struct block {
	void *rows, **pointers;
};

static int block_init(struct block *block, size_t cnt, size_t row_bytes)
{
	block->rows = calloc(cnt + 1, row_bytes);
	block->pointers = calloc(cnt + 1, sizeof(*block->pointers));
	if (!block->rows || !block->pointers)
		return -ENOMEM;
	for (size_t i = 0; i <= cnt; i++)
		block->pointers[i] = (char *)block->rows + i * row_bytes;
	return 0;
}

static void block_free(struct block *block)
{
	free(block->rows);
	free(block->pointers);
}

struct dictionary {
	struct block mappings, locations, functions, lines, attributes, values, stacks;
	int32_t *build_ids; /* by mapping: row of its attribute */
	int32_t *frames;    /* of all stacks */
};

static int fill_mappings(struct otlp *w, struct dictionary *d)
{
	size_t cnt = w->mappings_cnt;
	int err = block_init(&d->mappings, cnt, sizeof(Otlp__Mapping));

	d->build_ids = calloc(cnt + 1, sizeof(*d->build_ids));
	if (err || !d->build_ids)
		return -ENOMEM;
	for (size_t i = 0; i <= cnt; i++) {
		Otlp__Mapping *row = d->mappings.pointers[i];

		otlp__mapping__init(row);
		if (!i)
			continue;
		row->filename_strindex = (int32_t)w->mappings[i - 1].file;
		if (!w->mappings[i - 1].build_id)
			continue;
		d->build_ids[i] = otlp_attribute(w, "process.executable.build_id.gnu",
						 w->strings.rows[w->mappings[i - 1].build_id], 0);
		row->attribute_indices = &d->build_ids[i];
		row->n_attribute_indices = 1;
	}
	return w->err;
}

/* A location is a frame and its function, which have the number of its row, and 1. */
static int fill_locations(struct otlp *w, struct dictionary *d)
{
	size_t cnt = w->s->frames_cnt;
	int err = block_init(&d->locations, cnt, sizeof(Otlp__Location));

	if (!err)
		err = block_init(&d->functions, cnt, sizeof(Otlp__Function));
	if (!err)
		err = block_init(&d->lines, cnt, sizeof(Otlp__Line));
	for (uint32_t i = 0; !err && i <= cnt; i++) {
		Otlp__Location *location = d->locations.pointers[i];
		Otlp__Function *function = d->functions.pointers[i];
		Otlp__Line *line = d->lines.pointers[i];
		const struct model_symbol *symbol;

		otlp__location__init(location);
		otlp__function__init(function);
		otlp__line__init(line);
		if (!i)
			continue;
		symbol = &w->m->symbols[w->s->frames[i - 1].symbol];
		function->name_strindex = (int32_t)otlp_string(w, sampled_name(w->s, i - 1));
		function->system_name_strindex =
			(int32_t)otlp_string(w, *symbol->raw ? symbol->raw : symbol->name);
		line->function_index = (int32_t)i;
		location->mapping_index = (int32_t)w->frame_mapping[i - 1];
		location->lines = (Otlp__Line **)&d->lines.pointers[i];
		location->n_lines = 1;
	}
	return err ? err : w->err;
}

static int fill_stacks(struct otlp *w, struct dictionary *d)
{
	size_t all = 0, at = 0;
	int err = block_init(&d->stacks, w->nodes_cnt, sizeof(Otlp__Stack));

	for (size_t i = 0; i < w->nodes_cnt; i++)
		all += sampled_frames(w->s, w->nodes[i], w->frames);
	d->frames = calloc(all + 1, sizeof(*d->frames));
	if (err || !d->frames)
		return -ENOMEM;
	for (size_t i = 0; i <= w->nodes_cnt; i++) {
		Otlp__Stack *row = d->stacks.pointers[i];

		otlp__stack__init(row);
		if (!i)
			continue;
		row->location_indices = d->frames + at;
		row->n_location_indices = sampled_frames(w->s, w->nodes[i - 1], w->frames);
		for (size_t k = 0; k < row->n_location_indices; k++)
			d->frames[at++] = (int32_t)w->frames[k] + 1;
	}
	return 0;
}

static int fill_attributes(struct otlp *w, struct dictionary *d)
{
	int err = block_init(&d->attributes, w->attributes_cnt, sizeof(Otlp__KeyValueAndUnit));

	if (!err)
		err = block_init(&d->values, w->attributes_cnt, sizeof(Otlp__AnyValue));
	for (size_t i = 0; !err && i <= w->attributes_cnt; i++) {
		Otlp__KeyValueAndUnit *row = d->attributes.pointers[i];
		Otlp__AnyValue *value = d->values.pointers[i];
		const struct attribute *a = i ? &w->attributes[i - 1] : NULL;

		otlp__key_value_and_unit__init(row);
		otlp__any_value__init(value);
		if (!a)
			continue;
		row->key_strindex = (int32_t)a->key;
		row->value = value;
		value->value_case = a->text != MODEL_NONE ? OTLP__ANY_VALUE__VALUE_STRING_VALUE
							  : OTLP__ANY_VALUE__VALUE_INT_VALUE;
		if (a->text != MODEL_NONE)
			value->string_value = w->strings.rows[a->text];
		else
			value->int_value = a->number;
	}
	return err;
}

static void put_tables(struct otlp *w, struct dictionary *d)
{
	static uint8_t zeros[16];
	Otlp__ProfilesData data = OTLP__PROFILES_DATA__INIT;
	Otlp__ProfilesDictionary of = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__Link link = OTLP__LINK__INIT, *links = &link;

	link.trace_id = (ProtobufCBinaryData){16, zeros};
	link.span_id = (ProtobufCBinaryData){8, zeros};
	of.link_table = &links;
	of.n_link_table = 1;
	of.mapping_table = (Otlp__Mapping **)d->mappings.pointers;
	of.n_mapping_table = w->mappings_cnt + 1;
	of.location_table = (Otlp__Location **)d->locations.pointers;
	of.function_table = (Otlp__Function **)d->functions.pointers;
	of.n_location_table = of.n_function_table = w->s->frames_cnt + 1;
	of.attribute_table = (Otlp__KeyValueAndUnit **)d->attributes.pointers;
	of.n_attribute_table = w->attributes_cnt + 1;
	of.stack_table = (Otlp__Stack **)d->stacks.pointers;
	of.n_stack_table = w->nodes_cnt + 1;
	of.string_table = w->strings.rows;
	of.n_string_table = w->strings.rows_cnt;
	data.dictionary = &of;
	proto_put(w->out, &data.base);
}

int otlp_put_dictionary(struct otlp *w)
{
	struct dictionary d = {0};
	int err = fill_mappings(w, &d);

	if (!err)
		err = fill_locations(w, &d);
	if (!err)
		err = fill_stacks(w, &d);
	if (!err)
		err = fill_attributes(w, &d);
	if (!err)
		put_tables(w, &d);
	block_free(&d.mappings);
	block_free(&d.locations);
	block_free(&d.functions);
	block_free(&d.lines);
	block_free(&d.attributes);
	block_free(&d.values);
	block_free(&d.stacks);
	free(d.build_ids);
	free(d.frames);
	return err;
}
