/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the streams of metadata and lays out their tables; look-ups are in metadata.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/images/metadata.h"

#define ROOT_SIGNATURE	  0x424a5342u
#define ROOT_BYTES	  16u  /* up to the version text */
#define ROOT_VERSION_MAX  256u /* bytes of the version text */
#define ROOT_STREAMS_MAX  16u
#define STREAM_NAME_MAX	  32u
#define HEAD_BYTES_MAX	  (ROOT_BYTES + ROOT_VERSION_MAX + 4 + ROOT_STREAMS_MAX * 40u)
#define LAYOUT_STEPS	  4096u /* work of laying out the tables, however few rows there are */
#define TABLES_BYTES	  24u	/* of the head of #~, before the counts of rows */
#define TABLES_HEAPS	  6u
#define TABLES_VALID	  8u
#define HEAP_WIDE_STRINGS 0x1u
#define HEAP_WIDE_GUIDS	  0x2u
#define HEAP_WIDE_BLOBS	  0x4u
#define HEAP_EXTRA	  0x40u /* one more word after the counts */

/* A column: bytes of its own, an index into a heap, a table (T | number), or a coded index. */
enum column {
	END = 0,
	U2 = 1,
	U4 = 2,
	STRING = 3,
	GUID = 4,
	BLOB = 5,
	CODED = 0x20,
	T = 0x80,
};

#define BIT(table) (1ull << (table))

/* Coded indices: bits of the tag, and the tables that it tells apart (II.24.2.6). */
static const struct {
	uint8_t tag_bits;
	uint64_t tables;
} coded[] = {
#define TYPE_DEF_OR_REF (CODED + 0)
	{2, BIT(0x02) | BIT(0x01) | BIT(0x1b)},
#define HAS_CONSTANT (CODED + 1)
	{2, BIT(0x04) | BIT(0x08) | BIT(0x17)},
#define HAS_CUSTOM_ATTRIBUTE (CODED + 2)
	{5, BIT(0x06) | BIT(0x04) | BIT(0x01) | BIT(0x02) | BIT(0x08) | BIT(0x09) | BIT(0x0a) |
		    BIT(0x00) | BIT(0x0e) | BIT(0x17) | BIT(0x14) | BIT(0x11) | BIT(0x1a) |
		    BIT(0x1b) | BIT(0x20) | BIT(0x23) | BIT(0x26) | BIT(0x27) | BIT(0x28) |
		    BIT(0x2a) | BIT(0x2c) | BIT(0x2b)},
#define HAS_FIELD_MARSHAL (CODED + 3)
	{1, BIT(0x04) | BIT(0x08)},
#define HAS_DECL_SECURITY (CODED + 4)
	{2, BIT(0x02) | BIT(0x06) | BIT(0x20)},
#define MEMBER_REF_PARENT (CODED + 5)
	{3, BIT(0x02) | BIT(0x01) | BIT(0x1a) | BIT(0x06) | BIT(0x1b)},
#define HAS_SEMANTICS (CODED + 6)
	{1, BIT(0x14) | BIT(0x17)},
#define METHOD_DEF_OR_REF (CODED + 7)
	{1, BIT(0x06) | BIT(0x0a)},
#define MEMBER_FORWARDED (CODED + 8)
	{1, BIT(0x04) | BIT(0x06)},
#define IMPLEMENTATION (CODED + 9)
	{2, BIT(0x26) | BIT(0x23) | BIT(0x27)},
#define CUSTOM_ATTRIBUTE_TYPE (CODED + 10)
	{3, BIT(0x06) | BIT(0x0a)},
#define RESOLUTION_SCOPE (CODED + 11)
	{2, BIT(0x00) | BIT(0x1a) | BIT(0x23) | BIT(0x01)},
#define TYPE_OR_METHOD_DEF (CODED + 12)
	{1, BIT(0x02) | BIT(0x06)},
};

/* Columns of the tables that come before, or are, those we keep (II.22). */
static const uint8_t columns[PERFMAP_NESTED_CLASS + 1][10] = {
	[0x00] = {U2, STRING, GUID, GUID, GUID},
	[0x01] = {RESOLUTION_SCOPE, STRING, STRING},
	[0x02] = {U4, STRING, STRING, TYPE_DEF_OR_REF, T | 0x04, T | 0x06},
	[0x03] = {T | 0x04},
	[0x04] = {U2, STRING, BLOB},
	[0x05] = {T | 0x06},
	[0x06] = {U4, U2, U2, STRING, BLOB, T | 0x08},
	[0x07] = {T | 0x08},
	[0x08] = {U2, U2, STRING},
	[0x09] = {T | 0x02, TYPE_DEF_OR_REF},
	[0x0a] = {MEMBER_REF_PARENT, STRING, BLOB},
	[0x0b] = {U2, HAS_CONSTANT, BLOB},
	[0x0c] = {HAS_CUSTOM_ATTRIBUTE, CUSTOM_ATTRIBUTE_TYPE, BLOB},
	[0x0d] = {HAS_FIELD_MARSHAL, BLOB},
	[0x0e] = {U2, HAS_DECL_SECURITY, BLOB},
	[0x0f] = {U2, U4, T | 0x02},
	[0x10] = {U4, T | 0x04},
	[0x11] = {BLOB},
	[0x12] = {T | 0x02, T | 0x14},
	[0x13] = {T | 0x14},
	[0x14] = {U2, STRING, TYPE_DEF_OR_REF},
	[0x15] = {T | 0x02, T | 0x17},
	[0x16] = {T | 0x17},
	[0x17] = {U2, STRING, BLOB},
	[0x18] = {U2, T | 0x06, HAS_SEMANTICS},
	[0x19] = {T | 0x02, METHOD_DEF_OR_REF, METHOD_DEF_OR_REF},
	[0x1a] = {STRING},
	[0x1b] = {BLOB},
	[0x1c] = {U2, MEMBER_FORWARDED, STRING, T | 0x1a},
	[0x1d] = {U4, T | 0x04},
	[0x1e] = {U4, U4},
	[0x1f] = {U4},
	[0x20] = {U4, U4, U4, U4, BLOB, STRING, STRING},
	[0x21] = {U4},
	[0x22] = {U4, U4, U4},
	[0x23] = {U4, U4, U4, BLOB, STRING, STRING, BLOB},
	[0x24] = {U4, T | 0x23},
	[0x25] = {U4, U4, U4, T | 0x23},
	[0x26] = {U4, STRING, BLOB},
	[0x27] = {U4, U4, STRING, STRING, IMPLEMENTATION},
	[0x28] = {U4, U4, STRING, IMPLEMENTATION},
	[0x29] = {T | 0x02, T | 0x02},
};

static const uint8_t kept[] = {
	PERFMAP_MODULE,	    PERFMAP_TYPE_REF,	  PERFMAP_TYPE_DEF,
	PERFMAP_METHOD_DEF, PERFMAP_MEMBER_REF,	  PERFMAP_TYPE_SPEC,
	PERFMAP_ASSEMBLY,   PERFMAP_ASSEMBLY_REF, PERFMAP_NESTED_CLASS,
};

static uint32_t index_bytes(const struct perfmap_metadata *md, uint64_t tables, uint8_t tag_bits)
{
	for (uint32_t t = 0; t < PERFMAP_TABLES; t++)
		if (tables & BIT(t) && md->tables[t].cnt >= 1u << (16 - tag_bits))
			return 4;
	return 2;
}

static uint32_t column_bytes(const struct perfmap_metadata *md, uint8_t column)
{
	switch (column) {
	case U2:
		return 2;
	case U4:
		return 4;
	case STRING:
		return md->string_index;
	case GUID:
		return md->guid_index;
	case BLOB:
		return md->blob_index;
	default:
		if (column & T)
			return index_bytes(md, BIT(column & ~T), 0);
		return index_bytes(md, coded[column - CODED].tables,
				   coded[column - CODED].tag_bits);
	}
}

/* Where a stream is, as offset in the directory. */
struct stream {
	uint32_t offset, bytes;
};

struct streams {
	struct stream tables, strings, guids, blobs;
};

static void note_stream(struct streams *streams, const char *name, struct stream s)
{
	if (!strcmp(name, "#~"))
		streams->tables = s;
	else if (!strcmp(name, "#Strings"))
		streams->strings = s;
	else if (!strcmp(name, "#GUID"))
		streams->guids = s;
	else if (!strcmp(name, "#Blob"))
		streams->blobs = s;
}

static int parse_root(struct perfmap_bytes head, uint32_t directory_bytes,
		      struct streams *ret_streams)
{
	uint32_t cnt, version;
	size_t at;

	if (!perfmap_has(head, 0, ROOT_BYTES) || perfmap_u32_at(head.data) != ROOT_SIGNATURE)
		return -EBADMSG;
	version = perfmap_u32_at(head.data + ROOT_BYTES - 4);
	if (version > ROOT_VERSION_MAX || !perfmap_has(head, ROOT_BYTES + version, 4))
		return -EBADMSG;
	at = ROOT_BYTES + version;
	cnt = perfmap_u16_at(head.data + at + 2);
	at += 4;
	if (cnt > ROOT_STREAMS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < cnt; i++) {
		struct stream s;
		const char *name;
		size_t len;

		if (!perfmap_has(head, at, 8))
			return -EBADMSG;
		s.offset = perfmap_u32_at(head.data + at);
		s.bytes = perfmap_u32_at(head.data + at + 4);
		name = (const char *)head.data + at + 8;
		len = strnlen(name, head.len - at - 8);
		if (len >= STREAM_NAME_MAX || at + 8 + len >= head.len)
			return -EBADMSG;
		if (s.offset > directory_bytes || s.bytes > directory_bytes - s.offset)
			return -EBADMSG;
		note_stream(ret_streams, name, s);
		at += 8 + (len + 4) / 4 * 4;
	}
	return ret_streams->tables.bytes && ret_streams->strings.bytes ? 0 : -EBADMSG;
}

/* A place to load from: the directory of the metadata. */
struct place {
	const struct perfmap_pe *pe;
	const struct perfmap_reader *r;
	struct perfmap_directory directory;
};

static int read_stream(const struct place *p, struct stream s, uint8_t **ret_bytes,
		       struct perfmap_bytes *ret_span)
{
	struct perfmap_directory d = {p->directory.rva + s.offset, s.bytes};
	int err = perfmap_pe_read_owned(p->pe, p->r, d, PERFMAP_METADATA_BYTES_MAX, ret_bytes);

	if (!err)
		*ret_span = (struct perfmap_bytes){*ret_bytes, s.bytes};
	return err;
}

/* Reads the counts of rows. ret_at: where the first table begins in the stream. */
static int read_counts(struct perfmap_metadata *md, const struct place *p, struct stream s,
		       uint32_t *ret_at)
{
	uint8_t head[TABLES_BYTES + 64 * 4 + 4];
	uint32_t len = s.bytes < sizeof(head) ? s.bytes : (uint32_t)sizeof(head);
	uint32_t at = TABLES_BYTES;
	uint64_t valid;
	int err = perfmap_pe_read(p->pe, p->r, p->directory.rva + s.offset, head, len);

	if (err)
		return err;
	if (len < TABLES_BYTES)
		return -EBADMSG;
	md->string_index = head[TABLES_HEAPS] & HEAP_WIDE_STRINGS ? 4 : 2;
	md->guid_index = head[TABLES_HEAPS] & HEAP_WIDE_GUIDS ? 4 : 2;
	md->blob_index = head[TABLES_HEAPS] & HEAP_WIDE_BLOBS ? 4 : 2;
	valid = perfmap_u64_at(head + TABLES_VALID);
	for (uint32_t t = 0; t < 64; t++) {
		if (!(valid & BIT(t)))
			continue;
		if (len - at < 4)
			return -EBADMSG;
		if (perfmap_u32_at(head + at) >= PERFMAP_METADATA_ROWS_MAX)
			return -E2BIG;
		if (t < PERFMAP_TABLES)
			md->tables[t].cnt = perfmap_u32_at(head + at);
		at += 4;
	}
	if (head[TABLES_HEAPS] & HEAP_EXTRA)
		at += 4;
	*ret_at = at;
	return 0;
}

/* Lays out the tables: their row widths, and where in the stream those kept begin. */
static int lay_out(struct perfmap_metadata *md, struct stream s, uint64_t at,
		   uint64_t starts[PERFMAP_NESTED_CLASS + 1])
{
	for (uint32_t t = 0; t <= PERFMAP_NESTED_CLASS; t++) {
		struct perfmap_rows *table = &md->tables[t];

		for (const uint8_t *c = columns[t]; *c != END; c++)
			table->row_bytes += column_bytes(md, *c);
		starts[t] = at;
		at += (uint64_t)table->cnt * table->row_bytes;
		if (at > s.bytes)
			return -EBADMSG;
	}
	return 0;
}

static int read_tables(struct perfmap_metadata *md, const struct place *p, struct stream s)
{
	uint64_t starts[PERFMAP_NESTED_CLASS + 1], bytes = 0;
	uint32_t first;
	int err;

	err = read_counts(md, p, s, &first);
	if (!err)
		err = lay_out(md, s, first, starts);
	for (size_t i = 0; i < sizeof(kept); i++)
		bytes += (uint64_t)md->tables[kept[i]].cnt * md->tables[kept[i]].row_bytes;
	if (!err && bytes > PERFMAP_METADATA_BYTES_MAX)
		err = -E2BIG;
	if (err)
		return err;
	md->table_bytes = malloc(bytes + 1);
	if (!md->table_bytes)
		return -ENOMEM;
	md->memory_bytes += bytes;
	bytes = 0;
	for (size_t i = 0; !err && i < sizeof(kept); i++) {
		struct perfmap_rows *table = &md->tables[kept[i]];
		uint32_t len = table->cnt * table->row_bytes;

		table->rows = md->table_bytes + bytes;
		if (len)
			err = perfmap_pe_read(p->pe, p->r,
					      p->directory.rva + s.offset +
						      (uint32_t)starts[kept[i]],
					      md->table_bytes + bytes, len);
		bytes += len;
	}
	return err;
}

/* MVID: the first GUID of the row of Module. */
static int read_mvid(struct perfmap_metadata *md, const struct place *p, struct stream guids)
{
	const struct perfmap_rows *module = &md->tables[PERFMAP_MODULE];
	const uint8_t *column;
	uint32_t index;

	if (!module->cnt)
		return 0;
	column = module->rows + 2 + md->string_index;
	index = md->guid_index == 4 ? perfmap_u32_at(column) : perfmap_u16_at(column);
	if (!index || index > guids.bytes / PERFMAP_MVID_BYTES)
		return 0;
	return perfmap_pe_read(p->pe, p->r,
			       p->directory.rva + guids.offset + (index - 1) * PERFMAP_MVID_BYTES,
			       md->mvid, PERFMAP_MVID_BYTES);
}

static int read_root(const struct place *p, struct streams *ret_streams)
{
	uint8_t head[HEAD_BYTES_MAX];
	uint32_t len =
		p->directory.bytes < sizeof(head) ? p->directory.bytes : (uint32_t)sizeof(head);
	int err;

	if (p->directory.bytes > UINT32_MAX - p->directory.rva)
		return -EBADMSG;
	if (!perfmap_work_add(p->r->work, LAYOUT_STEPS))
		return -E2BIG;
	err = perfmap_pe_read(p->pe, p->r, p->directory.rva, head, len);
	return err ? err
		   : parse_root((struct perfmap_bytes){head, len}, p->directory.bytes, ret_streams);
}

static int load(struct perfmap_metadata *md, const struct place *p)
{
	struct streams streams = {0};
	int err = read_root(p, &streams);

	if (!err)
		err = read_tables(md, p, streams.tables);
	if (!err)
		err = read_mvid(md, p, streams.guids);
	if (!err)
		err = read_stream(p, streams.strings, &md->string_bytes, &md->strings);
	if (!err && streams.blobs.bytes)
		err = read_stream(p, streams.blobs, &md->blob_bytes, &md->blobs);
	md->memory_bytes += md->strings.len + md->blobs.len;
	return err;
}

int perfmap_metadata_load(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			  struct perfmap_directory directory, struct perfmap_metadata *ret)
{
	struct place p = {.pe = pe, .r = r, .directory = directory};
	struct perfmap_metadata md = {0};
	int err;

	if (!directory.bytes)
		return -ENODATA;
	err = load(&md, &p);
	if (err) {
		perfmap_metadata_clear(&md);
		return err;
	}
	*ret = md;
	return 0;
}

/* Of a directory that begins at 0 and is one section. */
static int open_lazily(struct perfmap_metadata *md, const struct place *p)
{
	uint64_t starts[PERFMAP_NESTED_CLASS + 1];
	struct streams streams = {0};
	uint32_t first;
	int err = read_root(p, &streams);

	if (!err)
		err = read_counts(md, p, streams.tables, &first);
	if (!err)
		err = lay_out(md, streams.tables, first, starts);
	if (err)
		return err;
	md->table_bytes = calloc(1, p->directory.bytes);
	if (!md->table_bytes)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(kept); i++)
		md->tables[kept[i]].rows =
			md->table_bytes + streams.tables.offset + starts[kept[i]];
	md->strings = (struct perfmap_bytes){md->table_bytes + streams.strings.offset,
					     streams.strings.bytes};
	md->blobs =
		(struct perfmap_bytes){md->table_bytes + streams.blobs.offset, streams.blobs.bytes};
	md->memory_bytes = p->directory.bytes;
	return 0;
}

int perfmap_metadata_open(const struct perfmap_reader *r, uint32_t bytes,
			  perfmap_metadata_need need, void *source, struct perfmap_metadata *ret)
{
	struct perfmap_pe pe = {.sections_cnt = 1, .sections = {{0, 0, bytes}}};
	struct place p = {.pe = &pe, .r = r, .directory = {0, bytes}};
	struct perfmap_metadata md = {0};
	int err;

	if (!bytes)
		return -ENODATA;
	if (bytes > PERFMAP_METADATA_BYTES_MAX)
		return -E2BIG;
	err = open_lazily(&md, &p);
	if (err) {
		perfmap_metadata_clear(&md);
		return err;
	}
	md.need = need;
	md.source = source;
	*ret = md;
	return 0;
}

void perfmap_metadata_clear(struct perfmap_metadata *md)
{
	free(md->table_bytes);
	free(md->string_bytes);
	free(md->blob_bytes);
	*md = (struct perfmap_metadata){0};
}
