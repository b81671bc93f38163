/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Offsets and sizes of PE/COFF. */
#define DOS_BYTES	     64u
#define DOS_NEW_HEADER	     0x3cu
#define COFF_BYTES	     24u /* with the signature before it */
#define COFF_MACHINE	     4u
#define COFF_SECTIONS	     6u
#define COFF_OPTIONAL_BYTES  20u
#define OPTIONAL_BYTES	     144u   /* up to and with the exception directory */
#define OPTIONAL_MAGIC	     0x20bu /* PE32+ */
#define OPTIONAL_DIRECTORIES 108u
#define OPTIONAL_EXCEPTION   136u
#define EXCEPTION_DIRECTORY  3u
#define SECTION_BYTES	     40u
#define SECTION_RVA	     12u

/* Machine of an image for Linux: that of COFF XOR 0x7b79. */
#define MACHINE_X64   (0x8664u ^ 0x7b79u)
#define MACHINE_ARM64 (0xaa64u ^ 0x7b79u)

#define ROW_BYTES_X64	12u /* begin, end, unwind */
#define ROW_BYTES_ARM64 8u  /* begin, unwind */
#define ROW_BYTES_MAX	12u
#define CHUNK_ROWS	512u
#define SENTINEL	0xffffffffu
/* Between two functions: alignment. More is other code or data, and belongs to neither. */
#define PADDING_MAX 63u

struct section {
	uint32_t rva, offset, bytes;
};

/* A function that does not end where the next one starts: in .NET's own images only the last. */
struct end {
	uint32_t function, rva;
};

struct perfmap_image {
	struct section sections[PERFMAP_IMAGE_SECTIONS_MAX];
	size_t sections_cnt;
	uint32_t *starts; /* RVA, ascending */
	size_t starts_cnt;
	struct end *ends; /* by function; the last function is always there */
	size_t ends_cnt, ends_cap;
};

struct reader {
	perfmap_image_read read;
	void *source;
};

/* What the headers say of the table. */
struct table {
	uint32_t rva, bytes, row_bytes;
};

static uint32_t u16_at(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

static uint32_t u32_at(const uint8_t *p)
{
	return u16_at(p) | u16_at(p + 2) << 16;
}

static int read_all(const struct reader *r, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = r->read(r->source, buf, len, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EBADMSG;
}

/* Offset in the file of len bytes at an RVA, which must lie in one section. */
static int locate(const struct perfmap_image *image, uint32_t rva, uint32_t len,
		  uint64_t *ret_offset)
{
	for (size_t i = 0; i < image->sections_cnt; i++) {
		const struct section *s = &image->sections[i];

		if (rva >= s->rva && rva - s->rva < s->bytes && len <= s->bytes - (rva - s->rva)) {
			*ret_offset = (uint64_t)s->offset + (rva - s->rva);
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_sections(struct perfmap_image *image, const struct reader *r, uint64_t offset,
			 uint32_t cnt)
{
	uint8_t headers[PERFMAP_IMAGE_SECTIONS_MAX * SECTION_BYTES];
	int err;

	if (cnt > PERFMAP_IMAGE_SECTIONS_MAX)
		return -E2BIG;
	err = read_all(r, headers, cnt * SECTION_BYTES, offset);
	if (err)
		return err;
	for (uint32_t i = 0; i < cnt; i++) {
		const uint8_t *h = headers + i * SECTION_BYTES + SECTION_RVA;
		struct section s = {
			.rva = u32_at(h), .bytes = u32_at(h + 4), .offset = u32_at(h + 8)};

		if (s.bytes > UINT32_MAX - s.rva || s.bytes > UINT32_MAX - s.offset)
			return -EBADMSG;
		image->sections[i] = s;
	}
	image->sections_cnt = cnt;
	return 0;
}

static int row_bytes_of(uint32_t machine)
{
	switch (machine) {
	case MACHINE_X64:
		return ROW_BYTES_X64;
	case MACHINE_ARM64:
		return ROW_BYTES_ARM64;
	default:
		return -ENOEXEC;
	}
}

static int read_headers(struct perfmap_image *image, const struct reader *r,
			struct table *ret_table)
{
	uint8_t dos[DOS_BYTES], head[COFF_BYTES + OPTIONAL_BYTES];
	const uint8_t *optional = head + COFF_BYTES;
	uint32_t at, optional_bytes;
	int err, row_bytes;

	err = read_all(r, dos, sizeof(dos), 0);
	if (!err && memcmp(dos, "MZ", 2))
		err = -ENOEXEC;
	if (err)
		return err;
	at = u32_at(dos + DOS_NEW_HEADER);
	err = read_all(r, head, sizeof(head), at);
	if (err)
		return err;
	row_bytes = row_bytes_of(u16_at(head + COFF_MACHINE));
	if (memcmp(head, "PE\0\0", 4) || row_bytes < 0 || u16_at(optional) != OPTIONAL_MAGIC)
		return -ENOEXEC;
	optional_bytes = u16_at(head + COFF_OPTIONAL_BYTES);
	if (optional_bytes < OPTIONAL_BYTES ||
	    u32_at(optional + OPTIONAL_DIRECTORIES) <= EXCEPTION_DIRECTORY)
		return -ENODATA;
	*ret_table = (struct table){
		.rva = u32_at(optional + OPTIONAL_EXCEPTION),
		.bytes = u32_at(optional + OPTIONAL_EXCEPTION + 4),
		.row_bytes = (uint32_t)row_bytes,
	};
	return read_sections(image, r, (uint64_t)at + COFF_BYTES + optional_bytes,
			     u16_at(head + COFF_SECTIONS));
}

static int add_end(struct perfmap_image *image, uint32_t function, uint32_t rva)
{
	if (image->ends_cnt == image->ends_cap) {
		size_t cap = image->ends_cap ? 2 * image->ends_cap : 1;
		struct end *ends = realloc(image->ends, cap * sizeof(*ends));

		if (!ends)
			return -ENOMEM;
		image->ends = ends;
		image->ends_cap = cap;
	}
	image->ends[image->ends_cnt++] = (struct end){function, rva};
	return 0;
}

/* Rows of arm64 have no end. That of the last function is in its unwind data: the low 18 bits count
 * words of 4 bytes. The compact form, marked in the low bits of the row, is not .NET's. */
static int read_end_arm64(const struct perfmap_image *image, const struct reader *r,
			  const uint8_t *row, uint32_t *ret_end)
{
	uint32_t begin = u32_at(row), unwind = u32_at(row + 4), bytes;
	uint64_t offset;
	uint8_t word[4];
	int err;

	if (unwind & 3)
		return -EBADMSG;
	err = locate(image, unwind, sizeof(word), &offset);
	if (!err)
		err = read_all(r, word, sizeof(word), offset);
	if (err)
		return err;
	bytes = (u32_at(word) & 0x3ffff) * 4;
	if (!bytes || bytes > UINT32_MAX - begin)
		return -EBADMSG;
	*ret_end = begin + bytes;
	return 0;
}

/* Adds a row; previous is the one before, NULL for the first. */
static int add_row(struct perfmap_image *image, const struct table *table, const uint8_t *previous,
		   const uint8_t *row)
{
	uint32_t begin = u32_at(row), end;

	if (previous) {
		if (begin <= u32_at(previous))
			return -EBADMSG;
		end = u32_at(previous + 4);
		if (table->row_bytes == ROW_BYTES_X64 && begin > end && begin - end > PADDING_MAX &&
		    add_end(image, (uint32_t)image->starts_cnt - 1, end))
			return -ENOMEM;
	}
	if (table->row_bytes == ROW_BYTES_X64 && u32_at(row + 4) <= begin)
		return -EBADMSG;
	image->starts[image->starts_cnt++] = begin;
	return 0;
}

/* After the last row: its function ends somewhere. */
static int close_table(struct perfmap_image *image, const struct reader *r,
		       const struct table *table, const uint8_t *last)
{
	uint32_t end;
	int err;

	if (!image->starts_cnt)
		return -ENODATA;
	if (table->row_bytes == ROW_BYTES_X64) {
		end = u32_at(last + 4);
	} else {
		err = read_end_arm64(image, r, last, &end);
		if (err)
			return err;
	}
	return add_end(image, (uint32_t)image->starts_cnt - 1, end);
}

static int read_rows(struct perfmap_image *image, const struct reader *r, const struct table *table,
		     uint64_t offset, uint32_t cnt)
{
	uint8_t chunk[CHUNK_ROWS * ROW_BYTES_MAX], last[ROW_BYTES_MAX];

	for (uint32_t done = 0; done < cnt;) {
		uint32_t rows = cnt - done < CHUNK_ROWS ? cnt - done : CHUNK_ROWS;
		int err = read_all(r, chunk, rows * table->row_bytes,
				   offset + (uint64_t)done * table->row_bytes);

		for (uint32_t i = 0; !err && i < rows; i++, done++) {
			const uint8_t *row = chunk + i * table->row_bytes;

			/* After the last row there may be an end mark. */
			if (u32_at(row) == SENTINEL && done + 1 == cnt)
				continue;
			err = add_row(image, table, image->starts_cnt ? last : NULL, row);
			memcpy(last, row, table->row_bytes);
		}
		if (err)
			return err;
	}
	return close_table(image, r, table, last);
}

static int load(struct perfmap_image *image, const struct reader *r)
{
	struct table table;
	uint64_t offset;
	uint32_t cnt;
	int err;

	err = read_headers(image, r, &table);
	if (err)
		return err;
	cnt = table.bytes / table.row_bytes;
	if (!cnt)
		return -ENODATA;
	if (cnt > PERFMAP_IMAGE_FUNCTIONS_MAX)
		return -E2BIG;
	err = locate(image, table.rva, table.bytes, &offset);
	if (err)
		return err;
	image->starts = malloc(cnt * sizeof(*image->starts));
	if (!image->starts)
		return -ENOMEM;
	return read_rows(image, r, &table, offset, cnt);
}

int perfmap_image_load(perfmap_image_read read, void *source, struct perfmap_image **ret_image)
{
	struct reader r = {.read = read, .source = source};
	struct perfmap_image *image = calloc(1, sizeof(*image));
	int err;

	if (!image)
		return -ENOMEM;
	err = load(image, &r);
	if (err) {
		perfmap_image_free(image);
		return err;
	}
	*ret_image = image;
	return 0;
}

void perfmap_image_free(struct perfmap_image *image)
{
	if (!image)
		return;
	free(image->starts);
	free(image->ends);
	free(image);
}

/* Where the function ends that starts at the row; that of the next one's start at the latest. */
static uint32_t end_of(const struct perfmap_image *image, uint32_t function)
{
	size_t low = 0, high = image->ends_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (image->ends[mid].function < function)
			low = mid + 1;
		else
			high = mid;
	}
	if (image->ends[low].function == function)
		return image->ends[low].rva;
	return image->starts[function + 1];
}

int perfmap_image_find(const struct perfmap_image *image, uint64_t offset,
		       struct perfmap_image_place *ret_place)
{
	const struct section *s = image->sections, *end = s + image->sections_cnt;
	size_t low = 0, high = image->starts_cnt;
	uint32_t rva;

	while (s < end && !(offset >= s->offset && offset - s->offset < s->bytes))
		s++;
	if (s == end)
		return -ENOENT;
	rva = s->rva + (uint32_t)(offset - s->offset);
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (image->starts[mid] <= rva)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || image->starts[low - 1] < s->rva || rva >= end_of(image, (uint32_t)low - 1))
		return -ENOENT;
	*ret_place = (struct perfmap_image_place){
		.start = (uint64_t)s->offset + (image->starts[low - 1] - s->rva),
		.function = (uint32_t)low - 1,
	};
	return 0;
}

size_t perfmap_image_functions(const struct perfmap_image *image)
{
	return image->starts_cnt;
}

size_t perfmap_image_memory_bytes(const struct perfmap_image *image)
{
	return sizeof(*image) + image->starts_cnt * sizeof(*image->starts) +
	       image->ends_cap * sizeof(*image->ends);
}
