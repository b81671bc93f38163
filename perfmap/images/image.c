/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/bytes.h"
#include "perfmap/images/image_names.h"
#include "perfmap/images/pe.h"

#define CHUNK_ROWS 512u
#define SENTINEL   0xffffffffu
/* Between two functions: alignment. More is other code or data, and belongs to neither. */
#define PADDING_MAX 63u

/* A function that does not end where the next one starts: in .NET's own images only the last. */
struct end {
	uint32_t function, rva;
};

struct perfmap_image {
	struct perfmap_pe pe;
	uint32_t *starts; /* RVA, ascending */
	size_t starts_cnt;
	struct end *ends; /* by function; the last function is always there */
	size_t ends_cnt, ends_cap;
	struct perfmap_image_names *names; /* NULL: names_error says why */
	int names_error;
	uint64_t work; /* of loading it */
};

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
static int read_end_arm64(const struct perfmap_image *image, const struct perfmap_reader *r,
			  const uint8_t *row, uint32_t *ret_end)
{
	uint32_t begin = perfmap_u32_at(row), unwind = perfmap_u32_at(row + 4), bytes;
	uint8_t word[4];
	int err;

	if (unwind & 3)
		return -EBADMSG;
	err = perfmap_pe_read(&image->pe, r, unwind, word, sizeof(word));
	if (err)
		return err;
	bytes = (perfmap_u32_at(word) & 0x3ffff) * 4;
	if (!bytes || bytes > UINT32_MAX - begin)
		return -EBADMSG;
	*ret_end = begin + bytes;
	return 0;
}

/* Adds a row; previous is the one before, NULL for the first. */
static int add_row(struct perfmap_image *image, uint32_t row_bytes, const uint8_t *previous,
		   const uint8_t *row)
{
	uint32_t begin = perfmap_u32_at(row), end;

	if (previous) {
		if (begin <= perfmap_u32_at(previous))
			return -EBADMSG;
		end = perfmap_u32_at(previous + 4);
		if (row_bytes == PERFMAP_ROW_BYTES_X64 && begin > end &&
		    begin - end > PADDING_MAX &&
		    add_end(image, (uint32_t)image->starts_cnt - 1, end))
			return -ENOMEM;
	}
	if (row_bytes == PERFMAP_ROW_BYTES_X64 && perfmap_u32_at(row + 4) <= begin)
		return -EBADMSG;
	image->starts[image->starts_cnt++] = begin;
	return 0;
}

/* After the last row: its function ends somewhere. */
static int close_table(struct perfmap_image *image, const struct perfmap_reader *r,
		       uint32_t row_bytes, const uint8_t *last)
{
	uint32_t end;
	int err;

	if (!image->starts_cnt)
		return -ENODATA;
	if (row_bytes == PERFMAP_ROW_BYTES_X64) {
		end = perfmap_u32_at(last + 4);
	} else {
		err = read_end_arm64(image, r, last, &end);
		if (err)
			return err;
	}
	return add_end(image, (uint32_t)image->starts_cnt - 1, end);
}

static int read_rows(struct perfmap_image *image, const struct perfmap_reader *r,
		     uint32_t row_bytes, uint64_t offset, uint32_t cnt)
{
	uint8_t chunk[CHUNK_ROWS * PERFMAP_ROW_BYTES_MAX], last[PERFMAP_ROW_BYTES_MAX];

	for (uint32_t done = 0; done < cnt;) {
		uint32_t rows = cnt - done < CHUNK_ROWS ? cnt - done : CHUNK_ROWS;
		int err = perfmap_read_all(r, chunk, rows * row_bytes,
					   offset + (uint64_t)done * row_bytes);

		for (uint32_t i = 0; !err && i < rows; i++, done++) {
			const uint8_t *row = chunk + i * row_bytes;

			/* After the last row there may be an end mark. */
			if (perfmap_u32_at(row) == SENTINEL && done + 1 == cnt)
				continue;
			err = add_row(image, row_bytes, image->starts_cnt ? last : NULL, row);
			memcpy(last, row, row_bytes);
		}
		if (err)
			return err;
	}
	return close_table(image, r, row_bytes, last);
}

static int load(struct perfmap_image *image, const struct perfmap_reader *r)
{
	const struct perfmap_pe *pe = &image->pe;
	uint64_t offset;
	uint32_t cnt;
	int err;

	err = perfmap_pe_load(r, &image->pe);
	if (err)
		return err;
	cnt = pe->exceptions.bytes / pe->row_bytes;
	if (!cnt)
		return -ENODATA;
	if (cnt > PERFMAP_IMAGE_FUNCTIONS_MAX)
		return -E2BIG;
	err = perfmap_pe_locate(pe, pe->exceptions.rva, pe->exceptions.bytes, &offset);
	if (err)
		return err;
	image->starts = malloc(cnt * sizeof(*image->starts));
	if (!image->starts)
		return -ENOMEM;
	return read_rows(image, r, pe->row_bytes, offset, cnt);
}

int perfmap_image_load(perfmap_image_read read, void *source, struct perfmap_image **ret_image)
{
	struct perfmap_work work = {0};
	struct perfmap_reader r = {.read = read, .source = source, .work = &work};
	struct perfmap_image *image = calloc(1, sizeof(*image));
	int err;

	if (!image)
		return -ENOMEM;
	err = load(image, &r);
	if (!err) {
		image->names_error = perfmap_image_names_load(
			&image->pe, &r, (uint32_t)image->starts_cnt, &image->names);
		if (image->names_error == -ENOMEM)
			err = -ENOMEM;
	}
	if (err) {
		perfmap_image_free(image);
		return err;
	}
	image->work = work.done;
	*ret_image = image;
	return 0;
}

void perfmap_image_free(struct perfmap_image *image)
{
	if (!image)
		return;
	free(image->starts);
	free(image->ends);
	perfmap_image_names_free(image->names);
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
	const struct perfmap_section *s = image->pe.sections, *end = s + image->pe.sections_cnt;
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

int perfmap_image_function(const struct perfmap_image *image, uint32_t function,
			   uint64_t *ret_offset, uint32_t *ret_bytes)
{
	uint32_t rva;

	if (function >= image->starts_cnt)
		return -ENOENT;
	rva = image->starts[function];
	for (uint32_t i = 0; i < image->pe.sections_cnt; i++) {
		const struct perfmap_section *s = &image->pe.sections[i];

		if (rva < s->rva || rva - s->rva >= s->bytes)
			continue;
		*ret_offset = (uint64_t)s->offset + (rva - s->rva);
		*ret_bytes = end_of(image, function) - rva;
		return 0;
	}
	return -ENOENT;
}

size_t perfmap_image_functions(const struct perfmap_image *image)
{
	return image->starts_cnt;
}

size_t perfmap_image_memory_bytes(const struct perfmap_image *image)
{
	return sizeof(*image) + image->starts_cnt * sizeof(*image->starts) +
	       image->ends_cap * sizeof(*image->ends) +
	       (image->names ? perfmap_image_names_memory_bytes(image->names) : 0);
}

int perfmap_image_name_counted(const struct perfmap_image *image, uint32_t function, char *buf,
			       size_t cap, struct perfmap_work *work, size_t *ret_len,
			       uint32_t *ret_component)
{
	if (!image->names)
		return image->names_error;
	return perfmap_image_names_put(image->names, function, buf, cap, work, ret_len,
				       ret_component);
}

int perfmap_image_name(const struct perfmap_image *image, uint32_t function, char *buf, size_t cap,
		       size_t *ret_len, uint32_t *ret_component)
{
	struct perfmap_work work = {.limit = PERFMAP_NAME_WORK_MAX};

	return perfmap_image_name_counted(image, function, buf, cap, &work, ret_len, ret_component);
}

uint64_t perfmap_image_work(const struct perfmap_image *image)
{
	return image->work;
}

int perfmap_image_component(const struct perfmap_image *image, uint32_t component, char *buf,
			    size_t cap)
{
	return image->names ? perfmap_image_names_component(image->names, component, buf, cap)
			    : -ENOENT;
}

int perfmap_image_give_component(struct perfmap_image *image, uint32_t component,
				 struct perfmap_component *given)
{
	if (image->names)
		return perfmap_image_names_give(image->names, component, given);
	perfmap_component_free(given);
	return -EINVAL;
}

const uint8_t *perfmap_image_mvid(const struct perfmap_image *image)
{
	return image->names ? perfmap_image_names_mvid(image->names) : NULL;
}
