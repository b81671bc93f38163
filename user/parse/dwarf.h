/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_DWARF_H
#define HOTRUN_PARSE_DWARF_H
/*
 * Reads the numbers of frame entries, which are hostile: LEB128 (DWARF 5, 7.6) and addresses as
 * .eh_frame writes them (Linux Standard Base Core, "DWARF Exception Header Encoding"). Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An encoding: low nibble the format, high nibble what it is relative to. */
#define DWARF_ABSPTR   0x00
#define DWARF_UDATA4   0x03
#define DWARF_UDATA8   0x04
#define DWARF_SDATA4   0x0b
#define DWARF_SDATA8   0x0c
#define DWARF_FORMAT   0x0f
#define DWARF_PCREL    0x10
#define DWARF_DATAREL  0x30
#define DWARF_RELATIVE 0x70
#define DWARF_INDIRECT 0x80

/* A bounded reader of one record: beyond its end everything is 0, and is_bad. */
struct dwarf_reader {
	const uint8_t *p, *end;
	bool is_bad;
};

/* A number of so many bytes, at most 8. */
static inline uint64_t dwarf_take(struct dwarf_reader *r, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(r->end - r->p) < bytes) {
		r->is_bad = true;
		r->p = r->end;
		return 0;
	}
	memcpy(&value, r->p, bytes);
	r->p += bytes;
	return value;
}

/* 64 bits take ten bytes; a hostile number has no end. *ret_shift: bits that were read;
 * *ret_last: the last byte. */
static inline uint64_t dwarf_leb(struct dwarf_reader *r, unsigned *ret_shift, uint8_t *ret_last)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && shift < 64; shift += 7) {
		byte = (uint8_t)dwarf_take(r, 1);
		value |= (uint64_t)(byte & 0x7f) << shift;
	}
	r->is_bad |= byte >> 7;
	*ret_shift = shift;
	*ret_last = byte;
	return value;
}

static inline uint64_t dwarf_uleb(struct dwarf_reader *r)
{
	unsigned shift;
	uint8_t last;

	return dwarf_leb(r, &shift, &last);
}

static inline int64_t dwarf_sleb(struct dwarf_reader *r)
{
	unsigned shift;
	uint8_t last;
	uint64_t value = dwarf_leb(r, &shift, &last);

	if (last & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

/* Bytes of an address of that encoding; 0: not understood. */
static inline size_t dwarf_address_bytes(uint8_t encoding)
{
	switch (encoding & DWARF_FORMAT) {
	case DWARF_UDATA4:
	case DWARF_SDATA4:
		return 4;
	case DWARF_ABSPTR:
	case DWARF_UDATA8:
	case DWARF_SDATA8:
		return 8;
	default:
		return 0;
	}
}
#endif
