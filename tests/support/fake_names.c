/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_names.h"

#include <stdbool.h>
#include <string.h>

/* Where things go in the section. */
#define AT_CLI	      0x000u
#define AT_HEADER     0x050u
#define AT_METHODS    0x0c0u
#define AT_INSTANCES  0x100u
#define AT_HOT_COLD   0x180u
#define AT_METADATA   0x200u
#define AT_COMPONENTS 0x500u
#define AT_CORE	      0x520u
#define METADATA_LEN  0x300u

/* Streams, in the metadata. */
#define AT_TABLES   0x070u
#define TABLES_LEN  0x120u
#define AT_STRINGS  0x190u
#define STRINGS_LEN 0x0a0u
#define AT_GUIDS    0x230u
#define GUIDS_LEN   0x010u
#define AT_BLOBS    0x240u
#define BLOBS_LEN   0x040u

struct writer {
	uint8_t *image;
	size_t at;
};

static void put(struct writer *w, uint64_t value, size_t len)
{
	fake_image_put(w->image, w->at, value, len);
	w->at += len;
}

static void put_bytes(struct writer *w, const void *bytes, size_t len)
{
	memcpy(w->image + w->at, bytes, len);
	w->at += len;
}

static struct writer writer_at(uint8_t *image, size_t at)
{
	return (struct writer){image, FAKE_NAMES_OFFSET + at};
}

/* --- metadata --------------------------------------------------------------------------------- */

static const char strings[] =
	"\0Shop\0Cart\0Line\0Box`1\0Add\0Has\0.ctor\0Get\0Push\0Acme\0List`1\0"
	"<Module>";

static uint16_t string(const char *s)
{
	for (size_t i = 1; i < sizeof(strings); i += strlen(strings + i) + 1)
		if (!strcmp(strings + i, s))
			return (uint16_t)i;
	return 0;
}

/* Signatures of methods: void (), bool (), bool <T>(); a type: Box<int>. */
static const uint8_t blobs[] = {0,    3, 0x20, 0,    0x01, 3,	 0x20, 0,    0x02, 4,
				0x30, 1, 0,    0x02, 5,	   0x15, 0x12, 0x10, 1,	   0x08};
#define BLOB_VOID 1
#define BLOB_BOOL 5
#define BLOB_SPEC 14

static void put_row(struct writer *w, const uint16_t *columns, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		put(w, columns[i], 2);
}

#define ROW(w, ...) \
	put_row(w, (const uint16_t[]){__VA_ARGS__}, sizeof((uint16_t[]){__VA_ARGS__}) / 2)

static void put_tables(struct writer *w, struct fake_names *places)
{
	uint64_t valid = 1ull << 0x00 | 1ull << 0x01 | 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x0a |
			 1ull << 0x1b | 1ull << 0x20 | 1ull << 0x23 | 1ull << 0x29;
	static const uint32_t counts[] = {1, 1, 4, 4, 1, 1, 1, 1, 1};

	places->tables = w->at;
	put(w, 0, 4);
	put(w, 0x0002, 2); /* version 2.0 */
	put(w, 0, 1);	   /* all heaps small */
	put(w, 1, 1);
	put(w, valid, 8);
	put(w, 0, 8);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		put(w, counts[i], 4);
	places->rows = w->at;
	ROW(w, 0, string("Shop"), 1, 0, 0);			/* Module */
	ROW(w, 1 << 2 | 2, string("List`1"), string("Acme"));	/* TypeRef, of AssemblyRef 1 */
	ROW(w, 0, 0, string("<Module>"), 0, 0, 1, 1);		/* TypeDef */
	ROW(w, 0, 0, string("Cart"), string("Shop"), 0, 1, 1);	/* methods 1, 2 */
	ROW(w, 0, 0, string("Line"), 0, 0, 1, 3);		/* 3 */
	ROW(w, 0, 0, string("Box`1"), string("Shop"), 0, 1, 4); /* 4 */
	ROW(w, 0, 0, 0, 0, string("Add"), BLOB_VOID, 1);	/* MethodDef */
	ROW(w, 0, 0, 0, 0, string("Has"), BLOB_BOOL, 1);
	ROW(w, 0, 0, 0, 0, string(".ctor"), BLOB_VOID, 1);
	ROW(w, 0, 0, 0, 0, string("Get"), BLOB_VOID, 1);
	ROW(w, 1 << 3 | 1, string("Push"), BLOB_VOID);	      /* MemberRef of TypeRef 1 */
	ROW(w, BLOB_SPEC);				      /* TypeSpec */
	ROW(w, 0, 0, 0, 0, 0, 0, 0, 0, 0, string("Shop"), 0); /* Assembly */
	ROW(w, 0, 0, 0, 0, 0, 0, 0, string("Acme"), 0, 0);    /* AssemblyRef */
	ROW(w, 3, 2);					      /* NestedClass */
}

static void put_stream(struct writer *w, uint32_t at, uint32_t len, const char *name)
{
	size_t bytes = (strlen(name) + 4) / 4 * 4;

	put(w, at, 4);
	put(w, len, 4);
	put_bytes(w, "\0\0\0\0\0\0\0\0\0\0\0\0", bytes);
	memcpy(w->image + w->at - bytes, name, strlen(name));
}

static void put_metadata(uint8_t *image, struct fake_names *places)
{
	struct writer w = writer_at(image, AT_METADATA);

	places->metadata = w.at;
	put(&w, 0x424a5342, 4);
	put(&w, 0x00010001, 4);
	put(&w, 0, 4);
	put(&w, 12, 4);
	put_bytes(&w, "v4.0.30319\0\0", 12);
	put(&w, 0, 2);
	put(&w, 4, 2);
	put_stream(&w, AT_TABLES, TABLES_LEN, "#~");
	put_stream(&w, AT_STRINGS, STRINGS_LEN, "#Strings");
	put_stream(&w, AT_GUIDS, GUIDS_LEN, "#GUID");
	put_stream(&w, AT_BLOBS, BLOBS_LEN, "#Blob");
	w = writer_at(image, AT_METADATA + AT_TABLES);
	put_tables(&w, places);
	w = writer_at(image, AT_METADATA + AT_STRINGS);
	places->strings = w.at;
	put_bytes(&w, strings, sizeof(strings));
	w = writer_at(image, AT_METADATA + AT_GUIDS);
	places->guids = w.at;
	memset(image + w.at, FAKE_NAMES_MVID, GUIDS_LEN);
	w = writer_at(image, AT_METADATA + AT_BLOBS);
	places->blobs = w.at;
	put_bytes(&w, blobs, sizeof(blobs));
}

/* --- entry points ----------------------------------------------------------------------------- */

/* Numbers under 128 in one byte, under 16,384 in two. */
static void put_number(struct writer *w, uint32_t value, size_t bytes)
{
	if (bytes == 1)
		put(w, value << 1, 1);
	else
		put(w, value << 2 | 1, 2);
}

/* Four methods in one block: 0, 2, 3 have functions; the fourth is generic and has none. */
static void put_methods(uint8_t *image, struct fake_names *places)
{
	struct writer w = writer_at(image, AT_METHODS);

	places->methods = w.at;
	put_number(&w, 4 << 2 | 0, 1);
	put(&w, 1, 1);		       /* where the block begins, from here on */
	put_number(&w, 1, 1);	       /* bit 8: only lower ones */
	put_number(&w, 1, 1);	       /* bit 4 */
	put_number(&w, 3 | 4 << 2, 1); /* bit 2: the higher ones 4 bytes on */
	put_number(&w, 3 | 2 << 2, 1); /* bit 1: the higher one 2 bytes on */
	put_number(&w, 0 << 1, 1);     /* method 1: function 0 */
	put_number(&w, 2 << 2 | 1, 1); /* method 2: function 2, with fix-ups */
	put_number(&w, 2 << 2, 1);     /* bit 1: one element, that of index 2 */
	put_number(&w, 3 << 1, 1);     /* method 3: function 3 */
}

static void put_instances(uint8_t *image, struct fake_names *places)
{
	static const uint8_t box[] = {0x40, 0x15, 0x12, 4 << 2, 1, 0x08, 4};
	static const uint8_t list[] = {0x50, 0x15, 0x12, 1 << 2 | 1, 1, 0x11, 3 << 2, 1};
	static const uint8_t has[] = {0x04, 2, 1, 0x3e};
	static const struct {
		const uint8_t *signature;
		size_t len;
		uint32_t function;
	} entries[] = {{box, sizeof(box), 4}, {list, sizeof(list), 5}, {has, sizeof(has), 6}};
	struct writer w = writer_at(image, AT_INSTANCES);
	size_t base = w.at + 1, blob = base + 2 + 3 * 3;

	places->instances = w.at;
	put(&w, 0, 1); /* one bucket, offsets of a byte */
	put(&w, 2, 1);
	put(&w, 2 + 3 * 3, 1);
	for (size_t i = 0; i < 3; i++) {
		put(&w, 0x11 * i, 1);
		put_number(&w, (uint32_t)(blob - w.at), 2);
		blob += entries[i].len + 1;
	}
	for (size_t i = 0; i < 3; i++) {
		put_bytes(&w, entries[i].signature, entries[i].len);
		put_number(&w, entries[i].function << 1, 1);
	}
}

/* --- headers ---------------------------------------------------------------------------------- */

static void put_directory(struct writer *w, uint32_t at, uint32_t len)
{
	put(w, FAKE_NAMES_RVA + at, 4);
	put(w, len, 4);
}

static void put_headers(uint8_t *image, uint32_t table_bytes, struct fake_names *places)
{
	struct writer w = writer_at(image, AT_CLI);

	places->cli = w.at;
	put(&w, 72, 4);
	put(&w, 0, 4);
	put_directory(&w, AT_METADATA, METADATA_LEN);
	w.at = places->cli + 64;
	put_directory(&w, AT_HEADER, AT_METHODS - AT_HEADER);
	w = writer_at(image, AT_HEADER);
	places->header = w.at;
	put_bytes(&w, "RTR", 4);
	put(&w, 16, 4);
	put(&w, 0, 4);
	put(&w, 4, 4);
	places->sections = w.at;
	put(&w, 102, 4);
	put(&w, FAKE_IMAGE_DATA_RVA, 4);
	put(&w, table_bytes, 4);
	put(&w, 103, 4);
	put_directory(&w, AT_METHODS, AT_INSTANCES - AT_METHODS);
	put(&w, 109, 4);
	put_directory(&w, AT_INSTANCES, AT_HOT_COLD - AT_INSTANCES);
	put(&w, 120, 4);
	put_directory(&w, AT_HOT_COLD, 8);
	w = writer_at(image, AT_HOT_COLD);
	places->hot_cold = w.at;
	put(&w, 7, 4);
	put(&w, 0, 4);
}

void fake_names(uint16_t machine, uint8_t *image, struct fake_names *ret_places)
{
	uint32_t rows[FAKE_NAMES_FUNCTIONS][2];
	struct fake_image what = {
		.machine = machine, .rows = rows, .rows_cnt = FAKE_NAMES_FUNCTIONS};
	struct writer w = {image, FAKE_IMAGE_SECTION(2)};

	for (uint32_t i = 0; i < FAKE_NAMES_FUNCTIONS; i++) {
		rows[i][0] = FAKE_IMAGE_CODE_RVA + i * 0x20;
		rows[i][1] = rows[i][0] + 0x20;
	}
	memset(image, 0, FAKE_NAMES_IMAGE);
	fake_image(&what, image);
	fake_image_put(image, FAKE_IMAGE_SECTION_CNT, 3, 2);
	fake_image_put(image, FAKE_IMAGE_OPTIONAL + 112 + 14 * 8, FAKE_NAMES_RVA + AT_CLI, 4);
	fake_image_put(image, FAKE_IMAGE_OPTIONAL + 112 + 14 * 8 + 4, 72, 4);
	w.at += 8;
	put(&w, FAKE_NAMES_BYTES, 4);
	put(&w, FAKE_NAMES_RVA, 4);
	put(&w, FAKE_NAMES_BYTES, 4);
	put(&w, FAKE_NAMES_OFFSET, 4);
	put_headers(image, FAKE_NAMES_FUNCTIONS * (machine == FAKE_IMAGE_X64 ? 12 : 8), ret_places);
	put_methods(image, ret_places);
	put_instances(image, ret_places);
	put_metadata(image, ret_places);
}

void fake_names_composite(uint8_t *image, const struct fake_names *places)
{
	struct writer w = {image, places->sections + 12};

	put(&w, 115, 4); /* instead of the methods */
	put_directory(&w, AT_COMPONENTS, 16);
	w.at = places->sections + 36;
	put(&w, 112, 4); /* instead of the cold parts */
	put_directory(&w, AT_METADATA, METADATA_LEN);
	w = writer_at(image, AT_COMPONENTS + 8);
	put_directory(&w, AT_CORE, 32);
	w = writer_at(image, AT_CORE);
	put(&w, 0, 4);
	put(&w, 1, 4);
	put(&w, 103, 4);
	put_directory(&w, AT_METHODS, AT_INSTANCES - AT_METHODS);
}
