/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/pe.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/bytes.h"

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
#define OPTIONAL_DIRECTORY   112u /* the first one */
#define DIRECTORY_BYTES	     8u
#define EXPORT_DIRECTORY     0u
#define EXCEPTION_DIRECTORY  3u
#define CLI_DIRECTORY	     14u
#define SECTION_BYTES	     40u
#define SECTION_RVA	     12u

#define MACHINE_X64   (0x8664u ^ 0x7b79u)
#define MACHINE_ARM64 (0xaa64u ^ 0x7b79u)

int perfmap_read_all(const struct perfmap_reader *r, void *buf, size_t len, uint64_t offset)
{
	ssize_t n;

	if (perfmap_work_exceeded(r->work))
		return -E2BIG;
	n = r->read(r->source, buf, len, offset);
	if (n < 0)
		return (int)n;
	if (!perfmap_work_add(r->work, (uint64_t)n))
		return -E2BIG;
	return (size_t)n == len ? 0 : -EBADMSG;
}

int perfmap_pe_locate(const struct perfmap_pe *pe, uint32_t rva, uint32_t len, uint64_t *ret_offset)
{
	for (size_t i = 0; i < pe->sections_cnt; i++) {
		const struct perfmap_section *s = &pe->sections[i];

		if (rva >= s->rva && rva - s->rva < s->bytes && len <= s->bytes - (rva - s->rva)) {
			*ret_offset = (uint64_t)s->offset + (rva - s->rva);
			return 0;
		}
	}
	return -EBADMSG;
}

int perfmap_pe_read(const struct perfmap_pe *pe, const struct perfmap_reader *r, uint32_t rva,
		    void *buf, uint32_t len)
{
	uint64_t offset;
	int err = perfmap_pe_locate(pe, rva, len, &offset);

	return err ? err : perfmap_read_all(r, buf, len, offset);
}

int perfmap_pe_read_owned(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			  struct perfmap_directory directory, uint32_t bytes_max,
			  uint8_t **ret_bytes)
{
	uint8_t *bytes;
	uint64_t offset;
	int err;

	if (directory.bytes > bytes_max)
		return -E2BIG;
	err = perfmap_pe_locate(pe, directory.rva, directory.bytes, &offset);
	if (err)
		return err;
	bytes = malloc(directory.bytes + 1u);
	if (!bytes)
		return -ENOMEM;
	err = perfmap_read_all(r, bytes, directory.bytes, offset);
	if (err) {
		free(bytes);
		return err;
	}
	*ret_bytes = bytes;
	return 0;
}

static int read_sections(struct perfmap_pe *pe, const struct perfmap_reader *r, uint64_t offset,
			 uint32_t cnt)
{
	uint8_t headers[PERFMAP_PE_SECTIONS_MAX * SECTION_BYTES];
	int err;

	if (cnt > PERFMAP_PE_SECTIONS_MAX)
		return -E2BIG;
	err = perfmap_read_all(r, headers, cnt * SECTION_BYTES, offset);
	if (err)
		return err;
	for (uint32_t i = 0; i < cnt; i++) {
		const uint8_t *h = headers + i * SECTION_BYTES + SECTION_RVA;
		struct perfmap_section s = {
			.rva = perfmap_u32_at(h),
			.bytes = perfmap_u32_at(h + 4),
			.offset = perfmap_u32_at(h + 8),
		};

		if (s.bytes > UINT32_MAX - s.rva || s.bytes > UINT32_MAX - s.offset)
			return -EBADMSG;
		pe->sections[i] = s;
	}
	pe->sections_cnt = cnt;
	return 0;
}

static bool has_byte(const struct perfmap_reader *r, uint64_t offset)
{
	uint8_t byte;

	return r->read(r->source, &byte, 1, offset) == 1;
}

/* Bytes of the file that sections speak of: fewer than they claim where it ends before. */
static uint64_t bytes_in_sections(const struct perfmap_pe *pe, const struct perfmap_reader *r)
{
	uint64_t low = 0, high = 0;

	for (size_t i = 0; i < pe->sections_cnt; i++) {
		uint64_t end = (uint64_t)pe->sections[i].offset + pe->sections[i].bytes;

		if (end > high)
			high = end;
	}
	if (high && has_byte(r, high - 1))
		return high;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (has_byte(r, mid))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t row_bytes_of(uint32_t machine)
{
	switch (machine) {
	case MACHINE_X64:
		return PERFMAP_ROW_BYTES_X64;
	case MACHINE_ARM64:
		return PERFMAP_ROW_BYTES_ARM64;
	default:
		return 0;
	}
}

static struct perfmap_directory directory_at(const uint8_t *optional, uint32_t number)
{
	return perfmap_directory_at(optional + OPTIONAL_DIRECTORY + number * DIRECTORY_BYTES);
}

/* The directory of the CLI header lies beyond what an image must have. */
static int read_cli(struct perfmap_pe *pe, const struct perfmap_reader *r, uint64_t optional_at,
		    uint32_t optional_bytes, uint32_t directories)
{
	uint32_t at = OPTIONAL_DIRECTORY + CLI_DIRECTORY * DIRECTORY_BYTES;
	uint8_t bytes[DIRECTORY_BYTES];
	int err;

	if (directories <= CLI_DIRECTORY || optional_bytes < at + DIRECTORY_BYTES)
		return 0;
	err = perfmap_read_all(r, bytes, sizeof(bytes), optional_at + at);
	if (!err)
		pe->cli = perfmap_directory_at(bytes);
	return err;
}

int perfmap_pe_load(const struct perfmap_reader *r, struct perfmap_pe *ret_pe)
{
	uint8_t dos[DOS_BYTES], head[COFF_BYTES + OPTIONAL_BYTES];
	const uint8_t *optional = head + COFF_BYTES;
	uint32_t at, optional_bytes, directories;
	struct perfmap_pe pe = {0};
	int err;

	r->work->limit = PERFMAP_IMAGE_WORK_BASE;
	err = perfmap_read_all(r, dos, sizeof(dos), 0);
	if (!err && memcmp(dos, "MZ", 2))
		err = -ENOEXEC;
	if (err)
		return err;
	at = perfmap_u32_at(dos + DOS_NEW_HEADER);
	err = perfmap_read_all(r, head, sizeof(head), at);
	if (err)
		return err;
	pe.row_bytes = row_bytes_of(perfmap_u16_at(head + COFF_MACHINE));
	if (memcmp(head, "PE\0\0", 4) || !pe.row_bytes ||
	    perfmap_u16_at(optional) != OPTIONAL_MAGIC)
		return -ENOEXEC;
	optional_bytes = perfmap_u16_at(head + COFF_OPTIONAL_BYTES);
	directories = perfmap_u32_at(optional + OPTIONAL_DIRECTORIES);
	if (optional_bytes < OPTIONAL_BYTES || directories <= EXCEPTION_DIRECTORY)
		return -ENODATA;
	pe.exports = directory_at(optional, EXPORT_DIRECTORY);
	pe.exceptions = directory_at(optional, EXCEPTION_DIRECTORY);
	err = read_cli(&pe, r, (uint64_t)at + COFF_BYTES, optional_bytes, directories);
	if (!err)
		err = read_sections(&pe, r, (uint64_t)at + COFF_BYTES + optional_bytes,
				    perfmap_u16_at(head + COFF_SECTIONS));
	if (err)
		return err;
	r->work->limit += PERFMAP_IMAGE_WORK_PER_BYTE * bytes_in_sections(&pe, r);
	*ret_pe = pe;
	return 0;
}
