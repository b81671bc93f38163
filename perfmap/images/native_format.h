/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_NATIVE_FORMAT_H
#define PERFMAP_IMAGES_NATIVE_FORMAT_H
/*
 * Numbers, sparse arrays and hash tables of ready-to-run images. Input is hostile: every place is
 * checked against the bytes given, every walk ends. Functions return false where the data is
 * malformed. Not for use outside perfmap/. Pure, no threads.
 *
 * Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md, "Native Format".
 */
#include "perfmap/bytes.h"

/* Reads a number at *at and moves *at behind it. */
bool perfmap_native_uint(struct perfmap_bytes b, size_t *at, uint32_t *ret_value);
bool perfmap_native_int(struct perfmap_bytes b, size_t *at, int32_t *ret_value);

struct perfmap_native_array {
	struct perfmap_bytes bytes;
	size_t base;
	uint32_t cnt;
	uint32_t index_bytes;
};

/* The array at the start of b, which it borrows. cnt elements may be asked for, many not there. */
bool perfmap_native_array_open(struct perfmap_bytes b, struct perfmap_native_array *ret_array);
/* Where element index lies in the bytes. False also where there is none. */
bool perfmap_native_array_get(const struct perfmap_native_array *array, uint32_t index,
			      size_t *ret_at);

struct perfmap_native_table {
	struct perfmap_bytes bytes;
	size_t base;
	uint32_t buckets, bucket;
	uint32_t index_bytes;
	size_t at, end; /* what is left of the bucket */
	bool malformed;
};

/* The hash table at the start of b, which it borrows. */
bool perfmap_native_table_open(struct perfmap_bytes b, struct perfmap_native_table *ret_table);
/* Where the next entry lies. False at the end, or where the table is malformed (then told so).
 * Buckets must follow one another: no more than b.len / 2 entries come in all. */
bool perfmap_native_table_next(struct perfmap_native_table *table, size_t *ret_at);
#endif
