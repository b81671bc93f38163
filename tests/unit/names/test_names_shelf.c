/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that are kept: who gets them, and who loses them first. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/shelf.h"
#include "parse/elf_blob.h"

#define TABLE_BYTES 100000u /* of names, more or less what a table takes */

/* A table as a worker made it. seed: of what is in it. */
static struct shelf_table table_of(uint64_t seed, size_t bytes)
{
	struct elf_function function = {.start = seed, .size = 16};
	struct elf_table made = {.functions = &function, .functions_cnt = 1, .has_symtab = true};
	int fd = memfd_create("table", MFD_CLOEXEC);
	struct shelf_table table = {0};
	struct stat st;

	made.names = calloc(1, bytes);
	made.names_len = bytes;
	memcpy(made.names, &seed, sizeof(seed));
	cr_assert(fd >= 0 && !elf_blob_write(&made, fd) && !fstat(fd, &st));
	free(made.names);
	table.elf = elf_blob_read(fd, (size_t)st.st_size);
	cr_assert(table.elf);
	return table;
}

static struct shelf_label label_of(uint64_t party, uint64_t inode)
{
	struct shelf_label label = {
		.kind = FILE_ELF,
		.party = party,
		.module = (uint32_t)inode,
		.identity = {.dev = 1, .inode = inode, .size_bytes = 5, .build_id_len = 20},
	};

	memset(label.identity.build_id, (int)inode, 20);
	return label;
}

static struct shelf_ref add(struct shelf *s, uint64_t party, uint64_t inode, uint64_t seed)
{
	struct shelf_table table = table_of(seed, TABLE_BYTES);
	struct shelf_label label = label_of(party, inode);

	return shelf_add(s, &label, &table);
}

Test(shelf, a_table_is_found_by_its_party_alone)
{
	struct shelf *s = shelf_new(1u << 20);
	struct shelf_ref ref = add(s, 1, 7, 7);
	struct shelf_label its = label_of(1, 7), others = label_of(2, 7), changed = its;

	cr_assert(shelf_table(s, ref));
	cr_expect_eq(shelf_by_identity(s, &its).row, ref.row);
	cr_expect_eq(shelf_by_module(s, &its).row, ref.row);
	cr_expect_eq(shelf_by_build_id(s, 1, its.identity.build_id, 20, 0).row, ref.row);
	cr_expect_eq(shelf_by_identity(s, &others).row, MODEL_NONE);
	cr_expect_eq(shelf_by_module(s, &others).row, MODEL_NONE);
	cr_expect_eq(shelf_by_build_id(s, 2, its.identity.build_id, 20, SHELF_ANY_SIZE).row,
		     MODEL_NONE);
	changed.identity.ctime_ns = 1;
	cr_expect_eq(shelf_by_identity(s, &changed).row, MODEL_NONE);
	shelf_free(s);
}

Test(shelf, equal_tables_are_kept_once_until_the_last_one_goes)
{
	struct shelf *s = shelf_new(1u << 20);
	struct shelf_ref a = add(s, 1, 7, 7), b;
	size_t one = shelf_bytes(s);

	b = add(s, 2, 9, 7);
	cr_expect_eq(shelf_bytes(s), one + SHELF_ROW_BYTES);
	cr_expect_eq(shelf_content(s, a), shelf_content(s, b));
	cr_expect_eq(shelf_table(s, a)->elf, shelf_table(s, b)->elf);
	cr_expect_neq(shelf_content(s, add(s, 3, 7, 8)), shelf_content(s, a), "other bytes");
	/* Both of them go for others, one after the other. */
	for (uint64_t i = 0; i < 20; i++)
		add(s, 4, 100 + i, 100 + i);
	for (uint64_t i = 0; i < 30; i++)
		add(s, 1, 200 + i, 200 + i);
	for (uint64_t i = 0; i < 30; i++)
		add(s, 2, 300 + i, 300 + i);
	cr_expect_null(shelf_table(s, a));
	cr_expect_null(shelf_table(s, b));
	cr_expect_leq(shelf_bytes(s), 1u << 20);
	shelf_free(s);
}

Test(shelf, who_has_most_loses_first_and_the_longest_unused)
{
	struct shelf *s = shelf_new(1u << 20);
	struct shelf_ref small = add(s, 1, 1, 1), greedy[40];

	for (uint64_t i = 0; i < 40; i++) {
		greedy[i] = add(s, 2, 10 + i, 10 + i);
		cr_expect_leq(shelf_bytes(s), 1u << 20);
		shelf_touch(s, greedy[0]);
	}
	cr_expect(shelf_table(s, small));
	cr_expect(shelf_table(s, greedy[0]), "it is in use");
	cr_expect_null(shelf_table(s, greedy[1]));
	cr_expect(shelf_table(s, greedy[39]));
	shelf_free(s);
}

/* What many have is little of each. */
Test(shelf, who_shares_does_not_lose_to_who_does_not)
{
	struct shelf *s = shelf_new(1u << 20);
	struct shelf_ref shared[4][4];

	for (uint64_t party = 1; party <= 4; party++)
		for (uint64_t i = 0; i < 4; i++)
			shared[party - 1][i] = add(s, party, i + 1, i + 1);
	for (uint64_t i = 0; i < 100; i++)
		add(s, 9, 100 + i, 100 + i);
	for (uint64_t party = 1; party <= 4; party++)
		for (uint64_t i = 0; i < 4; i++)
			cr_expect(shelf_table(s, shared[party - 1][i]), "%lu: %lu", party, i);
	shelf_free(s);
}

Test(shelf, rows_are_used_again_and_bounded)
{
	struct shelf *s = shelf_new(64u << 20);
	struct shelf_label label;
	struct shelf_ref first = SHELF_NONE, kept = add(s, 1, 1, 1), last = SHELF_NONE;
	uint32_t most = 0;

	/* Copies of one file: there is memory for them, but they are looked through, too. */
	for (uint64_t i = 0; i < SHELF_ROWS_MAX + 300; i++) {
		struct shelf_table table = table_of(5, 10);

		label = label_of(2, 10 + i);
		last = shelf_add(s, &label, &table);
		cr_assert_neq(last.row, MODEL_NONE);
		if (!i)
			first = last;
		if (last.row > most)
			most = last.row;
	}
	cr_expect_leq(shelf_rows(s), SHELF_ROWS_MAX);
	cr_expect_leq(most, SHELF_ROWS_MAX);
	cr_expect(shelf_table(s, kept), "of another party");
	cr_expect_null(shelf_table(s, first), "its row is another's");
	cr_expect_eq(shelf_by_identity(s, &label).row, last.row);
	label = label_of(2, 10);
	cr_expect_eq(shelf_by_identity(s, &label).row, MODEL_NONE);
	shelf_free(s);
}

Test(shelf, what_is_too_large_drops_nothing)
{
	struct shelf *s = shelf_new(150000);
	struct shelf_ref first = add(s, 1, 1, 1);
	struct shelf_table table = table_of(9, 60000);
	struct shelf_label label = label_of(2, 1);

	cr_expect_eq(first.row, MODEL_NONE, "more than half of all");
	first = shelf_add(s, &label, &table);
	cr_expect(shelf_table(s, first));
	cr_expect_eq(add(s, 3, 1, 3).row, MODEL_NONE);
	cr_expect(shelf_table(s, first));
	shelf_free(s);
}
