/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_HASH_H
#define HOTRUN_BASE_HASH_H
/*
 * Hash index from a 64-bit hash to a 32-bit number (a row of some table of the owner).
 * Open addressing, linear probing, no removal. Keys are not stored: the owner compares rows
 * through the callback, so rows stay in one place only. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_NONE UINT32_MAX

struct hash_slot {
	uint64_t hash;
	uint32_t row; /* HASH_NONE = empty */
};

struct hash_index {
	struct hash_slot *slots;
	size_t cap; /* power of two, or 0 */
	size_t cnt;
};

/* True when row holds the key that is looked for. */
typedef bool (*hash_equal_fn)(const void *owner, uint32_t row, const void *key);

/* Returns the row whose hash and key match, or HASH_NONE. */
uint32_t hash_find(const struct hash_index *index, uint64_t hash, hash_equal_fn equal,
		   const void *owner, const void *key);

/* Adds row under hash; the caller has checked that it is not there. 0 or -ENOMEM. */
int hash_add(struct hash_index *index, uint64_t hash, uint32_t row);

/* Points the entry of (hash, old_row) at new_row. The entry must exist. */
void hash_repoint(struct hash_index *index, uint64_t hash, uint32_t old_row, uint32_t new_row);

/* Releases the slots and leaves an empty index. Takes NULL. */
void hash_clear(struct hash_index *index);

/* Well mixed 64-bit value of v (splitmix64 finalizer, Steele et al. 2014). */
static inline uint64_t hash_u64(uint64_t v)
{
	v ^= v >> 30;
	v *= 0xbf58476d1ce4e5b9ull;
	v ^= v >> 27;
	v *= 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

/* Random in each run, so that strangers who choose addresses and names cannot choose hashes. */
extern uint64_t hash_secret;

static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return hash_u64(hash_u64((a + 0x9e3779b97f4a7c15ull) ^ hash_secret) ^ b);
}

/* Hash of bytes (FNV-1a from a secret start, then mixed); differs from run to run. */
uint64_t hash_bytes(const void *bytes, size_t len);
#endif
