/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images made to keep their reader busy: work is bounded by the file's length, and that of a
 * name. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_names.h"
#include "held_bytes.h"
#include "perfmap/images/image.h"

enum {
	ROOM = 4 << 20, /* behind what fake_names() lays out */
	STRINGS_BYTES = 2 << 20,
	FUNCTIONS = 20000,
};

/* One that a test fills up: what it puts goes behind what is there. */
struct big_image {
	uint8_t *bytes;
	size_t len, end;
	struct fake_names at;
};

static struct big_image begin(void)
{
	struct big_image b = {
		calloc(1, FAKE_NAMES_IMAGE + ROOM), FAKE_NAMES_IMAGE + ROOM, FAKE_NAMES_IMAGE, {0}};

	cr_assert(b.bytes);
	fake_names(FAKE_IMAGE_X64, b.bytes, &b.at);
	fake_image_put(b.bytes, FAKE_IMAGE_SECTION(2) + 16, FAKE_NAMES_BYTES + ROOM, 4);
	return b;
}

static size_t put(struct big_image *b, const void *bytes, size_t len)
{
	size_t at = b->end;

	cr_assert_leq(at + len, b->len);
	memcpy(b->bytes + at, bytes, len);
	b->end += len;
	return at;
}

static void put_value(struct big_image *b, uint64_t value, size_t len)
{
	size_t at = b->end;

	cr_assert_leq(at + len, b->len);
	fake_image_put(b->bytes, at, value, len);
	b->end += len;
}

/* A directory at an offset of the file. */
static void point(struct big_image *b, size_t directory, size_t at, size_t len)
{
	fake_image_put(b->bytes, directory, FAKE_NAMES_RVA + (at - FAKE_NAMES_OFFSET), 4);
	fake_image_put(b->bytes, directory + 4, len, 4);
}

/* Loads it: its functions whatever there is to say against its names. */
static struct perfmap_image *load(const struct big_image *b)
{
	struct held_bytes held = {.data = b->bytes, .len = b->len};
	struct perfmap_image *image;

	cr_assert_eq(perfmap_image_load(held_bytes_read, &held, &image), 0);
	cr_expect_leq(perfmap_image_work(image),
		      PERFMAP_IMAGE_WORK_PER_BYTE * b->len + PERFMAP_IMAGE_WORK_BASE + ROOM, "%lu",
		      perfmap_image_work(image));
	return image;
}

static int name(const struct perfmap_image *image, size_t cap, struct perfmap_work *work)
{
	char *buf = malloc(cap);
	uint32_t component;
	size_t len;
	int err = perfmap_image_name_counted(image, 0, buf, cap, work, &len, &component);

	free(buf);
	return err;
}

/* The first method takes 250 arguments of a type whose name is 2 MB long. */
static void put_endless_names(struct big_image *b)
{
	static const uint8_t head[] = {0x80 | 504 >> 8, 504 & 0xff, 0, 0x80, 250, 1};
	static const uint8_t argument[] = {0x12, 2 << 2};
	size_t streams = b->at.metadata + 32, strings = b->end, blobs;

	memset(b->bytes + strings, 'A', STRINGS_BYTES);
	b->end += STRINGS_BYTES;
	blobs = put(b, head, sizeof(head));
	for (int i = 0; i < 250; i++)
		put(b, argument, sizeof(argument));
	point(b, b->at.cli + 8, b->at.metadata, b->end - b->at.metadata);
	fake_image_put(b->bytes, streams + 12, strings - b->at.metadata, 4);
	fake_image_put(b->bytes, streams + 16, STRINGS_BYTES, 4);
	fake_image_put(b->bytes, streams + 12 + 20 + 16, blobs - b->at.metadata, 4);
	fake_image_put(b->bytes, streams + 12 + 20 + 20, b->end - blobs, 4);
	fake_image_put(b->bytes, b->at.rows + 10 + 6 + 4 * 14 + 10, 0, 2); /* blob of the method */
}

Test(perfmap_image_work, a_name_of_endless_names_costs_a_constant)
{
	static const size_t caps[] = {64, 4096, 1 << 20};
	struct big_image b = begin();
	struct perfmap_image *image;

	put_endless_names(&b);
	image = load(&b);
	for (size_t i = 0; i < 3; i++) {
		struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};

		cr_expect_eq(name(image, caps[i], &work), -E2BIG, "%zu", caps[i]);
		cr_expect_leq(work.done, PERFMAP_NAME_WORK_MAX + 2048, "%zu: %lu", caps[i],
			      work.done);
		cr_expect_geq(work.done, 1000, "%zu: %lu", caps[i], work.done);
		/* What does not fit is not gone on with. */
		if (caps[i] < PERFMAP_NAME_WORK_MAX)
			cr_expect_leq(work.done, 2 * caps[i] + 8192, "%zu: %lu", caps[i],
				      work.done);
	}
	perfmap_image_free(image);
	free(b.bytes);
}

/* As many functions as entries of the hash table, which all have one signature of 15 KB. */
static void put_one_signature_for_all(struct big_image *b)
{
	size_t rows = b->end, table, signature, entry = 6;

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		put_value(b, FAKE_IMAGE_CODE_RVA + 8 * i, 4);
		put_value(b, FAKE_IMAGE_CODE_RVA + 8 * i + 8, 4);
		put_value(b, 0, 4);
	}
	point(b, FAKE_IMAGE_EXCEPTION, rows, b->end - rows);
	point(b, b->at.sections + 4, rows, b->end - rows);
	table = b->end;
	signature = table + 1 + 8 + FUNCTIONS * entry;
	put_value(b, 2, 1); /* one bucket, offsets of 4 bytes */
	put_value(b, 8, 4);
	put_value(b, 8 + FUNCTIONS * entry, 4);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		put_value(b, 0, 1);
		put_value(b, 0x0f, 1); /* four bytes follow */
		put_value(b, signature - (b->end - 1), 4);
	}
	put(b, "\x04\x01\x05", 3); /* five type arguments, arrays of arrays */
	for (int argument = 0; argument < 5; argument++) {
		for (int i = 0; i < 47; i++)
			put_value(b, 0x14, 1);
		put_value(b, 8, 1);
		for (int i = 0; i < 47; i++) {
			put(b, "\x01\x20", 2);
			b->end += 32;
			put_value(b, 0x20, 1);
			b->end += 32;
		}
	}
	put_value(b, 0, 1); /* function 0 */
	point(b, b->at.sections + 24 + 4, table, b->end - table);
}

Test(perfmap_image_work, a_signature_that_all_functions_share_is_read_no_longer_than_the_file_is)
{
	struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};
	struct big_image b = begin();
	struct perfmap_image *image;

	put_one_signature_for_all(&b);
	image = load(&b);
	cr_expect_eq(perfmap_image_functions(image), FUNCTIONS);
	cr_expect_eq(name(image, 512, &work), -E2BIG);
	perfmap_image_free(image);
	free(b.bytes);
}

Test(perfmap_image_work, assemblies_that_share_a_table_are_read_no_longer_than_the_file_is)
{
	struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};
	struct big_image b = begin();
	struct perfmap_image *image;
	size_t cores, rows;

	fake_names_composite(b.bytes, &b.at);
	/* 1,000 assemblies, one core header, whose entry points are most of the file. */
	put_value(&b, 0, 4);
	put_value(&b, 1, 4);
	put_value(&b, 103, 4);
	put_value(&b, 0, 8);
	cores = b.end - 20;
	rows = b.end;
	for (int i = 0; i < 1000; i++) {
		put_value(&b, 0, 8);
		put_value(&b, 0, 8);
		point(&b, b.end - 8, cores, 20);
	}
	point(&b, cores + 12, b.end, b.len - b.end);
	point(&b, b.at.sections + 16, rows, b.end - rows);
	image = load(&b);
	cr_expect_eq(name(image, 512, &work), -E2BIG);
	perfmap_image_free(image);
	free(b.bytes);
}
