/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_PACK_H
#define HOTRUN_OUTPUT_PACK_H
/*
 * Blocks of numbers for pages: columns of variable-length numbers, parts one behind the other, and
 * all of it deflated, as text. Pure; no threads.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Numbers as LEB128: seven bits a byte, the lowest first, the highest bit says that more follow.
 * Zero is empty; an error sticks until varints_clear(). */
struct varints {
	uint8_t *bytes;
	size_t len, cap;
	size_t cnt;
	uint64_t last; /* of varints_rise() */
	int err;
};

void varints_put(struct varints *c, uint64_t value);
/* The difference to the value before, 0 at first: 0, 1, -1, 2, ... are written as 0, 2, 1, 4. */
void varints_rise(struct varints *c, uint64_t value);
void varints_clear(struct varints *c);

/* Writes bytes deflated (RFC 1950) in base64 (RFC 4648), in lines. 0, -ENOMEM, or -EIO when out
 * has failed. */
int pack_write(FILE *out, const void *bytes, size_t len);
#endif
