/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/images/native_format.h"

#define BLOCK_CNT 16u /* elements of an array in one block */

/* Number in 1..5 bytes, told by the low bits of the first: ret_bits of it are the value's. */
static bool read_number(struct perfmap_bytes b, size_t *at, uint32_t *ret_value, unsigned *ret_bits)
{
	unsigned extra = 0;
	uint32_t value = 0;

	if (*at >= b.len)
		return false;
	while (extra < 5 && b.data[*at] >> extra & 1)
		extra++;
	if (extra == 5 || !perfmap_has(b, *at, extra + 1))
		return false;
	if (extra == 4) {
		value = perfmap_u32_at(b.data + *at + 1);
		*ret_bits = 32;
	} else {
		for (unsigned i = 0; i <= extra; i++)
			value |= (uint32_t)b.data[*at + i] << 8 * i;
		value >>= extra + 1;
		*ret_bits = 7 * (extra + 1);
	}
	*at += extra + 1;
	*ret_value = value;
	return true;
}

bool perfmap_native_uint(struct perfmap_bytes b, size_t *at, uint32_t *ret_value)
{
	unsigned bits;

	return read_number(b, at, ret_value, &bits);
}

bool perfmap_native_int(struct perfmap_bytes b, size_t *at, int32_t *ret_value)
{
	unsigned bits;
	uint32_t value;

	if (!read_number(b, at, &value, &bits))
		return false;
	if (bits < 32 && value >> (bits - 1))
		value |= UINT32_MAX << bits;
	*ret_value = (int32_t)value;
	return true;
}

static bool read_index(struct perfmap_bytes b, size_t base, uint32_t index_bytes, uint32_t index,
		       uint32_t *ret_value)
{
	size_t at = base + (size_t)index * index_bytes;
	uint32_t value = 0;

	if (!perfmap_has(b, at, index_bytes))
		return false;
	for (uint32_t i = 0; i < index_bytes; i++)
		value |= (uint32_t)b.data[at + i] << 8 * i;
	*ret_value = value;
	return true;
}

bool perfmap_native_array_open(struct perfmap_bytes b, struct perfmap_native_array *ret_array)
{
	size_t at = 0;
	uint32_t head;

	if (!perfmap_native_uint(b, &at, &head) || (head & 3) == 3)
		return false;
	*ret_array = (struct perfmap_native_array){
		.bytes = b,
		.base = at,
		.cnt = head >> 2,
		.index_bytes = 1u << (head & 3),
	};
	return true;
}

bool perfmap_native_array_get(const struct perfmap_native_array *array, uint32_t index,
			      size_t *ret_at)
{
	uint32_t block, node;
	size_t at, next;

	if (index >= array->cnt ||
	    !read_index(array->bytes, array->base, array->index_bytes, index / BLOCK_CNT, &block))
		return false;
	at = array->base + block;
	/* A binary tree over the bits of the index; low children follow their parent. */
	for (uint32_t bit = BLOCK_CNT / 2; bit; bit /= 2) {
		next = at;
		if (!perfmap_native_uint(array->bytes, &next, &node))
			return false;
		if (index & bit && node & 2) {
			at += node >> 2;
		} else if (!(index & bit) && node & 1) {
			at = next;
		} else if (!(node & 3) && node >> 2 == index % BLOCK_CNT) {
			at = next; /* the only element of its subtree */
			break;
		} else {
			return false;
		}
	}
	*ret_at = at;
	return at < array->bytes.len;
}

bool perfmap_native_table_open(struct perfmap_bytes b, struct perfmap_native_table *ret_table)
{
	struct perfmap_native_table t = {.bytes = b, .base = 1};
	uint32_t start;

	if (!b.len || (b.data[0] & 3) == 3 || b.data[0] >> 2 > 30)
		return false;
	t.index_bytes = 1u << (b.data[0] & 3);
	t.buckets = 1u << (b.data[0] >> 2);
	if ((b.len - 1) / t.index_bytes < (size_t)t.buckets + 1 ||
	    !read_index(b, t.base, t.index_bytes, 0, &start))
		return false;
	t.at = t.end = t.base + start;
	*ret_table = t;
	return true;
}

/* Goes to the next bucket that holds something. */
static bool next_bucket(struct perfmap_native_table *t)
{
	while (t->at >= t->end && t->bucket < t->buckets) {
		uint32_t end;

		if (!read_index(t->bytes, t->base, t->index_bytes, ++t->bucket, &end) ||
		    t->base + end < t->at || t->base + end > t->bytes.len)
			t->malformed = true;
		if (t->malformed)
			return false;
		t->end = t->base + end;
	}
	return t->at < t->end;
}

bool perfmap_native_table_next(struct perfmap_native_table *t, size_t *ret_at)
{
	size_t at;
	int32_t distance;

	if (t->malformed || !next_bucket(t))
		return false;
	/* The low byte of the hash, then how far it is from there. */
	at = ++t->at;
	if (!perfmap_native_int(t->bytes, &t->at, &distance) ||
	    (distance < 0 ? (uint64_t) - (int64_t)distance > at
			  : (uint64_t)distance >= t->bytes.len - at)) {
		t->malformed = true;
		return false;
	}
	*ret_at = at + (size_t)(ptrdiff_t)distance;
	return true;
}
