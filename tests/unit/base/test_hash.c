/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"

/* The owner's table: row -> key. */
#define ROWS 20000
struct table {
	uint64_t keys[ROWS];
};

static bool equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct table *)owner)->keys[row] == *(const uint64_t *)key;
}

static uint32_t find(const struct hash_index *index, const struct table *t, uint64_t hash,
		     uint64_t key)
{
	return hash_find(index, hash, equal, t, &key);
}

static struct table table;

Test(hash, an_empty_index_finds_nothing)
{
	struct hash_index index = {0};

	cr_expect_eq(find(&index, &table, 0, 0), HASH_NONE);
	hash_clear(&index);
	hash_clear(NULL);
}

Test(hash, finds_every_row_again_while_it_grows)
{
	struct hash_index index = {0};

	for (uint32_t i = 0; i < ROWS; i++) {
		table.keys[i] = i * 7919ull;
		cr_assert_eq(find(&index, &table, hash_u64(table.keys[i]), table.keys[i]),
			     HASH_NONE);
		cr_assert_eq(hash_add(&index, hash_u64(table.keys[i]), i), 0);
		cr_assert_eq(index.cap & (index.cap - 1), 0);
		cr_assert_leq(index.cnt, index.cap / 2);
	}
	for (uint32_t i = 0; i < ROWS; i++)
		cr_assert_eq(find(&index, &table, hash_u64(table.keys[i]), table.keys[i]), i);
	cr_expect_eq(find(&index, &table, hash_u64(3), 3), HASH_NONE);
	hash_clear(&index);
	cr_expect_eq(index.cap, 0);
}

Test(hash, tells_keys_of_one_hash_apart)
{
	/* 0, and ends of the value range, where probing wraps around the end of the slots. */
	static const uint64_t hashes[] = {0, 1, 63, 4095, UINT64_MAX};

	for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
		struct hash_index index = {0};

		for (uint32_t i = 0; i < 500; i++) {
			table.keys[i] = i;
			cr_assert_eq(hash_add(&index, hashes[h], i), 0);
		}
		for (uint32_t i = 0; i < 500; i++)
			cr_assert_eq(find(&index, &table, hashes[h], i), i);
		cr_expect_eq(find(&index, &table, hashes[h], 500), HASH_NONE);
		cr_expect_eq(find(&index, &table, hashes[h] ^ 2, 3), HASH_NONE,
			     "an equal key under another hash is not found");
		hash_clear(&index);
	}
}

Test(hash, repoints_one_row_of_a_chain)
{
	struct hash_index index = {0};

	for (uint32_t i = 0; i < 10; i++) {
		table.keys[i] = i;
		hash_add(&index, 42, i);
	}
	table.keys[100] = 5;
	hash_repoint(&index, 42, 5, 100);
	cr_expect_eq(find(&index, &table, 42, 5), 100);
	for (uint32_t i = 0; i < 10; i++)
		if (i != 5)
			cr_expect_eq(find(&index, &table, 42, i), i);
	cr_expect_eq(index.cnt, 10);
	hash_clear(&index);
}

Test(hash, near_values_spread_over_the_low_bits)
{
	/* Ids and start times count up in steps: 1 and a clock tick. The index uses low bits. */
	static const uint64_t steps[] = {1, 4096, 10000000};

	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		unsigned int buckets[64] = {0};

		for (uint64_t i = 0; i < 6400; i++)
			buckets[hash_pair(i * steps[s], 7) & 63]++;
		for (size_t i = 0; i < 64; i++)
			cr_expect(buckets[i] > 50 && buckets[i] < 150, "step %llu: %u",
				  (unsigned long long)steps[s], buckets[i]);
	}
	cr_expect_neq(hash_pair(1, 2), hash_pair(2, 1));
	cr_expect_neq(hash_bytes("ab", 2), hash_bytes("ba", 2));
	cr_expect_neq(hash_bytes("a\0b", 3), hash_bytes("a", 1));
	cr_expect_eq(hash_bytes("", 0), hash_bytes("x", 0));
}

Test(hash, who_chooses_the_keys_does_not_choose_the_hashes)
{
	/* All three are 0 under plain 64-bit FNV-1a (www.isthe.com/chongo/tech/comp/fnv). */
	static const char *const zeroes[] = {"77kepQFQ8Kl", "!0IC=VloaY", "QvXtM>@Fp%"};

	for (size_t i = 0; i < 3; i++)
		cr_expect_neq(hash_bytes(zeroes[i], strlen(zeroes[i])),
			      hash_bytes(zeroes[(i + 1) % 3], strlen(zeroes[(i + 1) % 3])));
	cr_expect_neq(hash_pair(1, 2), hash_u64(hash_u64(1 + 0x9e3779b97f4a7c15ull) ^ 2));
}

Test(hash, numbers_chosen_for_one_chain_are_spread)
{
	enum { CNT = 100000 };
	struct hash_index index = {0};
	struct timespec t0, t1;

	/* Hashes of chosen numbers that agree in all the bits that an index of this size looks
	 * at. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	for (uint64_t i = 0; i < CNT; i++)
		cr_assert_eq(hash_add(&index, i << 20 | 5, (uint32_t)i), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	/* One chain is 5,000,000,000 steps, some 10 s; this takes ms. */
	cr_expect_lt((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9,
		     1.0);
	hash_clear(&index);
}
