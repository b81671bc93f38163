/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_BYTES_H
#define PERFMAP_BYTES_H
/*
 * Little-endian numbers out of a piece of memory of known length. Not for use outside perfmap/.
 * Pure, no threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfmap_bytes {
	const uint8_t *data;
	size_t len;
};

static inline uint32_t perfmap_u16_at(const uint8_t *p)
{
	return (uint32_t)(p[0] | p[1] << 8);
}

static inline uint32_t perfmap_u32_at(const uint8_t *p)
{
	return perfmap_u16_at(p) | perfmap_u16_at(p + 2) << 16;
}

static inline uint64_t perfmap_u64_at(const uint8_t *p)
{
	return perfmap_u32_at(p) | (uint64_t)perfmap_u32_at(p + 4) << 32;
}

/* Whether len bytes lie at an offset. */
static inline bool perfmap_has(struct perfmap_bytes b, size_t at, size_t len)
{
	return at <= b.len && len <= b.len - at;
}
#endif
