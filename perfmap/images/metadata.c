/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/metadata.h"

#include <string.h>

/* Offsets of columns; an S is the width of an index of strings. */
#define TYPE_DEF_NAME	 4u  /* after flags */
#define METHOD_DEF_NAME	 8u  /* after RVA and two flags */
#define ASSEMBLY_KEY	 16u /* after algorithm, version and flags */
#define ASSEMBLY_REF_KEY 12u /* after version and flags */

#define RESOLUTION_SCOPE_ASSEMBLY 2u /* tags of coded indices */
#define RESOLUTION_SCOPE_TYPE	  3u

/* Bytes of a string that are looked at together. */
#define STRING_PIECE 128u

/* Work of finding the type around another: a binary search over at most 2^24 rows. */
#define STEPS_AROUND 24u

uint32_t perfmap_metadata_rows(const struct perfmap_metadata *md, enum perfmap_table table)
{
	return md->tables[table].cnt;
}

/* Before these bytes are looked at; all that is opened so lies in one piece of memory. */
static void need(const struct perfmap_metadata *md, const void *bytes, size_t len)
{
	if (md->need)
		md->need(md->source, md->table_bytes,
			 (size_t)((const uint8_t *)bytes - md->table_bytes), len);
}

/* A row that is kept, or NULL. */
static const uint8_t *row_at(const struct perfmap_metadata *md, enum perfmap_table table,
			     uint32_t row)
{
	const struct perfmap_rows *t = &md->tables[table];
	const uint8_t *bytes;

	if (!row || row > t->cnt || !t->rows)
		return NULL;
	bytes = t->rows + (size_t)(row - 1) * t->row_bytes;
	need(md, bytes, t->row_bytes);
	return bytes;
}

static uint32_t read_index(const uint8_t *p, uint32_t bytes)
{
	return bytes == 4 ? perfmap_u32_at(p) : perfmap_u16_at(p);
}

static struct perfmap_span string_at(const struct perfmap_metadata *md, struct perfmap_work *work,
				     const uint8_t *column)
{
	uint32_t at = read_index(column, md->string_index);
	struct perfmap_span s = {"", 0};
	size_t max;

	if (at >= md->strings.len || perfmap_work_exceeded(work))
		return s;
	/* Each of millions may point at the same heap without an end. */
	max = md->strings.len - at;
	max = max < PERFMAP_IDENTIFIER_MAX ? max : PERFMAP_IDENTIFIER_MAX;
	s.s = (const char *)md->strings.data + at;
	while (s.len < max) {
		size_t more = max - s.len < STRING_PIECE ? max - s.len : STRING_PIECE, len;

		need(md, s.s + s.len, more);
		len = strnlen(s.s + s.len, more);
		s.len += len;
		if (len < more)
			break;
	}
	perfmap_work_add(work, s.len + 1);
	return s;
}

bool perfmap_compressed(struct perfmap_bytes b, size_t *at, uint32_t *ret_value)
{
	const uint8_t *p;

	if (!perfmap_has(b, *at, 1))
		return false;
	p = b.data + *at;
	if (!(p[0] & 0x80)) {
		*ret_value = p[0];
		*at += 1;
	} else if (perfmap_has(b, *at, 2) && (p[0] & 0xc0) == 0x80) {
		*ret_value = (p[0] & 0x3fu) << 8 | p[1];
		*at += 2;
	} else if (perfmap_has(b, *at, 4) && (p[0] & 0xe0) == 0xc0) {
		*ret_value =
			(p[0] & 0x1fu) << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
		*at += 4;
	} else {
		return false;
	}
	return true;
}

static struct perfmap_bytes blob_at(const struct perfmap_metadata *md, const uint8_t *column)
{
	size_t at = read_index(column, md->blob_index);
	struct perfmap_bytes none = {NULL, 0};
	uint32_t len;

	if (at < md->blobs.len)
		need(md, md->blobs.data + at, md->blobs.len - at < 4 ? md->blobs.len - at : 4);
	if (!perfmap_compressed(md->blobs, &at, &len) || !perfmap_has(md->blobs, at, len))
		return none;
	need(md, md->blobs.data + at, len);
	return (struct perfmap_bytes){md->blobs.data + at, len};
}

struct perfmap_token perfmap_type_token(uint32_t coded)
{
	static const enum perfmap_table tables[] = {PERFMAP_TYPE_DEF, PERFMAP_TYPE_REF,
						    PERFMAP_TYPE_SPEC, PERFMAP_MODULE};

	return (struct perfmap_token){tables[coded & 3], (coded & 3) == 3 ? 0 : coded >> 2};
}

/* --- methods ---------------------------------------------------------------------------------- */

/* The last column of a type: its first method. */
static uint32_t first_method(const struct perfmap_metadata *md, uint32_t type)
{
	uint32_t bytes = md->tables[PERFMAP_METHOD_DEF].cnt >= 1u << 16 ? 4 : 2;

	return read_index(row_at(md, PERFMAP_TYPE_DEF, type) +
				  md->tables[PERFMAP_TYPE_DEF].row_bytes - bytes,
			  bytes);
}

/* Types are in the order of their methods. */
static struct perfmap_token type_of_method(const struct perfmap_metadata *md, uint32_t method)
{
	uint32_t low = 1, high = md->tables[PERFMAP_TYPE_DEF].cnt + 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (first_method(md, mid) <= method)
			low = mid + 1;
		else
			high = mid;
	}
	return (struct perfmap_token){PERFMAP_TYPE_DEF, low - 1};
}

/* The last columns of a member: its name and signature; before them its class. */
static const uint8_t *member_name(const struct perfmap_metadata *md, const uint8_t *row)
{
	return row + md->tables[PERFMAP_MEMBER_REF].row_bytes - md->blob_index - md->string_index;
}

static struct perfmap_token class_of_member(const struct perfmap_metadata *md, const uint8_t *row)
{
	static const enum perfmap_table tables[8] = {PERFMAP_TYPE_DEF, PERFMAP_TYPE_REF,
						     PERFMAP_MODULE, PERFMAP_METHOD_DEF,
						     PERFMAP_TYPE_SPEC};
	uint32_t coded = read_index(row, (uint32_t)(member_name(md, row) - row));
	struct perfmap_token token = {tables[coded & 7], coded >> 3};

	if (token.table == PERFMAP_METHOD_DEF) /* a call with more arguments than declared */
		return type_of_method(md, token.row);
	if (token.table == PERFMAP_MODULE)
		token.row = 0;
	return token;
}

struct perfmap_span perfmap_method_name(const struct perfmap_metadata *md,
					struct perfmap_work *work, struct perfmap_token method)
{
	const uint8_t *row = row_at(md, method.table, method.row);

	if (!row)
		return (struct perfmap_span){"", 0};
	if (method.table == PERFMAP_MEMBER_REF)
		return string_at(md, work, member_name(md, row));
	return string_at(md, work, row + METHOD_DEF_NAME);
}

struct perfmap_token perfmap_method_owner(const struct perfmap_metadata *md,
					  struct perfmap_token method)
{
	const uint8_t *row = row_at(md, method.table, method.row);

	if (!row)
		return (struct perfmap_token){PERFMAP_MODULE, 0};
	if (method.table == PERFMAP_MEMBER_REF)
		return class_of_member(md, row);
	return type_of_method(md, method.row);
}

struct perfmap_bytes perfmap_token_blob(const struct perfmap_metadata *md,
					struct perfmap_token token)
{
	const uint8_t *row = row_at(md, token.table, token.row);
	struct perfmap_bytes none = {NULL, 0};

	if (!row)
		return none;
	switch (token.table) {
	case PERFMAP_METHOD_DEF:
		return blob_at(md, row + METHOD_DEF_NAME + md->string_index);
	case PERFMAP_MEMBER_REF:
		return blob_at(md, member_name(md, row) + md->string_index);
	case PERFMAP_TYPE_SPEC:
		return blob_at(md, row);
	default:
		return none;
	}
}

/* --- types ------------------------------------------------------------------------------------ */

/* The type around a nested one, or 0. NestedClass is sorted by the nested type. */
static uint32_t enclosing_type(const struct perfmap_metadata *md, uint32_t type)
{
	uint32_t bytes = md->tables[PERFMAP_NESTED_CLASS].row_bytes / 2;
	uint32_t low = 1, high = md->tables[PERFMAP_NESTED_CLASS].cnt + 1;
	const uint8_t *row;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (read_index(row_at(md, PERFMAP_NESTED_CLASS, mid), bytes) < type)
			low = mid + 1;
		else
			high = mid;
	}
	row = row_at(md, PERFMAP_NESTED_CLASS, low);
	return row && read_index(row, bytes) == type ? read_index(row + bytes, bytes) : 0;
}

/* Width of the coded index that a reference begins with. */
static uint32_t scope_bytes(const struct perfmap_metadata *md)
{
	return md->tables[PERFMAP_TYPE_REF].row_bytes - 2 * md->string_index;
}

static uint32_t scope_of(const struct perfmap_metadata *md, const uint8_t *row)
{
	return read_index(row, scope_bytes(md));
}

/* The type around a type; row 0 where it is in none. */
static struct perfmap_token around(const struct perfmap_metadata *md, struct perfmap_token type)
{
	struct perfmap_token outer = {type.table, 0};
	const uint8_t *row = row_at(md, type.table, type.row);
	uint32_t scope;

	if (row && type.table == PERFMAP_TYPE_DEF) {
		outer.row = enclosing_type(md, type.row);
	} else if (row && type.table == PERFMAP_TYPE_REF) {
		scope = scope_of(md, row);
		if ((scope & 3) == RESOLUTION_SCOPE_TYPE)
			outer.row = scope >> 2;
	}
	return outer;
}

static bool put_one(const struct perfmap_metadata *md, struct perfmap_work *work,
		    struct perfmap_token type, struct perfmap_out *out)
{
	const uint8_t *row = row_at(md, type.table, type.row), *name;
	struct perfmap_span space, s;

	if (!row)
		return false;
	name = row + (type.table == PERFMAP_TYPE_DEF ? TYPE_DEF_NAME : scope_bytes(md));
	s = string_at(md, work, name);
	space = string_at(md, work, name + md->string_index);
	if (!s.len)
		return false;
	if (space.len) {
		perfmap_out_put(out, space.s, space.len);
		perfmap_out_put(out, ".", 1);
	}
	perfmap_out_put(out, s.s, s.len);
	return true;
}

bool perfmap_put_type(const struct perfmap_metadata *md, struct perfmap_work *work,
		      struct perfmap_token type, const char *nested, struct perfmap_out *out)
{
	struct perfmap_token chain[PERFMAP_NESTING_MAX];
	size_t cnt = 0;

	if (type.table != PERFMAP_TYPE_DEF && type.table != PERFMAP_TYPE_REF)
		return false;
	for (; type.row; type = around(md, type)) {
		if (cnt == PERFMAP_NESTING_MAX || !perfmap_work_add(work, STEPS_AROUND))
			return false;
		chain[cnt++] = type;
	}
	for (size_t i = cnt; i-- > 0;) {
		if (out->cut || !put_one(md, work, chain[i], out))
			return false;
		if (i)
			perfmap_out_put(out, nested, 1);
	}
	return cnt > 0;
}

struct perfmap_span perfmap_assembly_name(const struct perfmap_metadata *md,
					  struct perfmap_work *work)
{
	const uint8_t *row = row_at(md, PERFMAP_ASSEMBLY, 1);

	return row ? string_at(md, work, row + ASSEMBLY_KEY + md->blob_index)
		   : (struct perfmap_span){"", 0};
}

struct perfmap_span perfmap_assembly_ref_name(const struct perfmap_metadata *md,
					      struct perfmap_work *work, uint32_t row)
{
	const uint8_t *p = row_at(md, PERFMAP_ASSEMBLY_REF, row);

	return p ? string_at(md, work, p + ASSEMBLY_REF_KEY + md->blob_index)
		 : (struct perfmap_span){"", 0};
}

struct perfmap_span perfmap_type_assembly(const struct perfmap_metadata *md,
					  struct perfmap_work *work, struct perfmap_token type)
{
	const uint8_t *row;
	uint32_t scope;

	if (type.table == PERFMAP_TYPE_DEF)
		return perfmap_assembly_name(md, work);
	for (unsigned i = 0; type.table == PERFMAP_TYPE_REF && i < PERFMAP_NESTING_MAX; i++) {
		row = row_at(md, PERFMAP_TYPE_REF, type.row);
		scope = row ? scope_of(md, row) : 0;
		if ((scope & 3) == RESOLUTION_SCOPE_ASSEMBLY)
			return perfmap_assembly_ref_name(md, work, scope >> 2);
		if ((scope & 3) != RESOLUTION_SCOPE_TYPE)
			break;
		type.row = scope >> 2;
	}
	return (struct perfmap_span){"", 0};
}
