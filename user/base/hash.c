/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Mixed with the secret: who knows the hashes (those of plain numbers) cannot fill one chain. */
static size_t first_slot(uint64_t hash, size_t mask)
{
	return hash_u64(hash ^ hash_secret) & mask;
}

uint32_t hash_find(const struct hash_index *index, uint64_t hash, hash_equal_fn equal,
		   const void *owner, const void *key)
{
	size_t mask = index->cap - 1;

	if (!index->cap)
		return HASH_NONE;
	for (size_t i = first_slot(hash, mask); index->slots[i].row != HASH_NONE;
	     i = (i + 1) & mask) {
		if (index->slots[i].hash == hash && equal(owner, index->slots[i].row, key))
			return index->slots[i].row;
	}
	return HASH_NONE;
}

static void put(struct hash_slot *slots, size_t cap, uint64_t hash, uint32_t row)
{
	size_t i = first_slot(hash, cap - 1);

	while (slots[i].row != HASH_NONE)
		i = (i + 1) & (cap - 1);
	slots[i] = (struct hash_slot){.hash = hash, .row = row};
}

static int widen(struct hash_index *index)
{
	size_t cap = index->cap ? index->cap * 2 : 64;
	struct hash_slot *slots;

	if (cap < index->cap)
		return -ENOMEM;
	slots = reallocarray(NULL, cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < cap; i++)
		slots[i].row = HASH_NONE;
	for (size_t i = 0; i < index->cap; i++)
		if (index->slots[i].row != HASH_NONE)
			put(slots, cap, index->slots[i].hash, index->slots[i].row);
	free(index->slots);
	index->slots = slots;
	index->cap = cap;
	return 0;
}

int hash_add(struct hash_index *index, uint64_t hash, uint32_t row)
{
	int err;

	if (index->cnt + 1 > index->cap / 2) {
		err = widen(index);
		if (err)
			return err;
	}
	put(index->slots, index->cap, hash, row);
	index->cnt++;
	return 0;
}

void hash_repoint(struct hash_index *index, uint64_t hash, uint32_t old_row, uint32_t new_row)
{
	size_t mask = index->cap - 1;

	for (size_t i = first_slot(hash, mask); index->slots[i].row != HASH_NONE;
	     i = (i + 1) & mask) {
		if (index->slots[i].hash == hash && index->slots[i].row == old_row) {
			index->slots[i].row = new_row;
			return;
		}
	}
}

void hash_clear(struct hash_index *index)
{
	if (!index)
		return;
	free(index->slots);
	*index = (struct hash_index){0};
}

uint64_t hash_secret;

/* The kernel hands each program 16 random bytes (getauxval(3)): no call that could fail. Written
 * once, before main(). */
__attribute__((constructor)) static void choose_secret(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t halves[2] = {0};

	if (random)
		memcpy(halves, random, sizeof(halves));
	hash_secret = hash_u64(halves[0]) + halves[1];
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xcbf29ce484222325ull ^ hash_secret;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return hash_u64(h);
}
