/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is who, and accounts; CPU books, stacks and losses are in test_ingest_books.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "model/account_book.h"

/* --- identity -------------------------------------------------------------------------------- */

/* A birth of process 7 and one word of it, in the order that the name says. */
enum word { FORK, ACCOUNT, SAMPLE, STACK };

static void say(struct feed *f, enum word word, uint64_t born_ns)
{
	uint64_t start_ns = feed_boot(born_ns - 20 * FEED_US);

	if (word == FORK)
		ingest_fork(f->in, 7, 7, 1, born_ns);
	else if (word == ACCOUNT)
		feed_account(f, 7, 7, start_ns, start_ns, FEED_MS);
	else if (word == SAMPLE)
		feed_sample(f, 7, 7, start_ns, start_ns, born_ns + FEED_MS);
	else
		feed_stack(f, 7, start_ns, 99, 0, 3);
}

Test(ingest, a_process_is_one_row_whichever_word_of_it_comes_first)
{
	static const struct {
		const char *name;
		enum word words[4];
	} rows[] = {
		{"fork, account", {FORK, ACCOUNT, ACCOUNT, SAMPLE}},
		{"fork, sample", {FORK, SAMPLE, ACCOUNT, STACK}},
		{"fork, stack", {FORK, STACK, SAMPLE, ACCOUNT}},
		{"account, fork", {ACCOUNT, FORK, ACCOUNT, SAMPLE}},
		{"sample, fork", {SAMPLE, FORK, ACCOUNT, SAMPLE}},
		{"stack, sample, account, fork", {STACK, SAMPLE, ACCOUNT, FORK}},
		{"account alone", {ACCOUNT, ACCOUNT, SAMPLE, STACK}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		uint64_t born_ns = FEED_START + 5 * FEED_MS;

		for (size_t k = 0; k < 4; k++)
			say(&f, rows[i].words[k], born_ns);
		cr_expect_eq(f.m->processes_cnt, 1, "%s: %zu processes", rows[i].name,
			     f.m->processes_cnt);
		cr_expect_eq(f.m->threads_cnt, 1, "%s: %zu threads", rows[i].name,
			     f.m->threads_cnt);
		cr_expect(f.m->processes[0].start_exact, "%s", rows[i].name);
		cr_expect_eq(f.m->processes[0].start_ns, feed_boot(born_ns - 20 * FEED_US), "%s",
			     rows[i].name);
		feed_free(&f);
	}
}

Test(ingest, a_process_read_from_proc_before_its_fork_event_stays_one)
{
	struct feed f = feed_new(1);
	uint64_t born_ns = FEED_START + 5 * FEED_MS, start_ns = feed_boot(born_ns - 20 * FEED_US);
	struct model_mapping map = {.start = 64, .end = 128, .kind = MAPPING_ANON};

	feed_map(&f, 1, FEED_START, 0x1000, 0x2000, "/bin/parent");
	feed_account(&f, 7, 7, start_ns, start_ns, FEED_MS);
	map.module = model_module_get(f.m, &(struct model_module){.path = "/bin/child"});
	model_mapping_add(f.m, 0, &map); /* as names/ does at first sight */
	ingest_fork(f.in, 7, 7, 1, born_ns);
	feed_account(&f, 7, 7, start_ns, start_ns, 2 * FEED_MS);
	cr_expect_eq(f.m->processes_cnt, 1);
	cr_expect_eq(f.m->threads_cnt, 1);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 2 * FEED_MS, "counted once");
	cr_expect_eq(f.m->processes[0].mapping_cnt, 1, "its own mappings, not its parent's");
	feed_free(&f);
}

Test(ingest, a_reused_id_is_another_process)
{
	/* Each row: does the old one say its last account before or after the fork of the new, and
	 * does the new one speak before its fork event. Half a second apart. */
	static const struct {
		const char *name;
		bool last_after_fork, speaks_before_fork;
	} rows[] = {
		{"in order", false, false},
		{"last words after the fork", true, false},
		{"new one first heard by account", false, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		uint64_t a_ns = FEED_START + FEED_MS, b_ns = a_ns + 500 * FEED_MS,
			 a = feed_boot(a_ns - 20 * FEED_US), b = feed_boot(b_ns - 20 * FEED_US);
		uint32_t row_a, row_b;

		ingest_fork(f.in, 7, 7, 1, a_ns);
		if (i != 1) /* else the old one is known by its fork alone */
			feed_account(&f, 7, 7, a, a, FEED_MS);
		if (!rows[i].last_after_fork)
			feed_last(&f, 7, 7, a, a, 3 * FEED_MS, b_ns - FEED_MS);
		if (rows[i].speaks_before_fork)
			feed_account(&f, 7, 7, b, b, 5 * FEED_MS);
		ingest_fork(f.in, 7, 7, 1, b_ns);
		if (rows[i].last_after_fork)
			feed_last(&f, 7, 7, a, a, 3 * FEED_MS, b_ns - FEED_MS);
		feed_account(&f, 7, 7, b, b, 10 * FEED_MS);
		cr_expect_eq(f.m->processes_cnt, 2, "%s: %zu", rows[i].name, f.m->processes_cnt);
		row_a = model_process_find(f.m, 7, a);
		row_b = model_process_find(f.m, 7, b);
		cr_assert(row_a != MODEL_NONE && row_b != MODEL_NONE, "%s", rows[i].name);
		cr_expect_eq(f.m->processes[row_a].exit_ns, b_ns - FEED_MS, "%s", rows[i].name);
		cr_expect_eq(f.m->processes[row_b].exit_ns, 0, "%s", rows[i].name);
		cr_expect_eq(feed_on_cpu(&f, row_a), 3 * FEED_MS, "%s", rows[i].name);
		cr_expect_eq(feed_on_cpu(&f, row_b), 10 * FEED_MS, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest, late_last_words_of_a_known_process_do_not_take_its_successor)
{
	struct feed f = feed_new(1);
	uint64_t b_ns = FEED_START + 500 * FEED_MS, a = feed_boot(FEED_START - FEED_SECOND);
	uint32_t row_a;

	feed_account(&f, 7, 7, a, a, FEED_MS);
	row_a = model_process_find(f.m, 7, a);
	ingest_fork(f.in, 7, 7, 1, b_ns); /* its side-band is drained before the ring of accounts */
	feed_last(&f, 7, 7, a, a, 4 * FEED_MS, b_ns - FEED_MS);
	cr_expect_eq(model_process_find(f.m, 7, a), row_a);
	cr_expect_eq(f.m->processes_cnt, 2);
	cr_expect_not(f.m->processes[1].start_exact);
	cr_expect_eq(f.m->processes[1].exit_ns, 0);
	feed_free(&f);
}

Test(ingest, of_several_births_each_gets_its_own_start)
{
	struct feed f = feed_new(1);

	/* All forks come first, as at the drain after a storm; then the accounts, in any order. */
	for (uint64_t i = 0; i < 50; i++)
		ingest_fork(f.in, 7, 7, 1, FEED_START + i * FEED_MS);
	for (uint64_t k = 0; k < 50; k++) {
		uint64_t born_ns = FEED_START + k * FEED_MS, start = feed_boot(born_ns - FEED_US);

		feed_last(&f, 7, 7, start, start, FEED_US, born_ns + FEED_US);
	}
	cr_expect_eq(f.m->processes_cnt, 50);
	cr_expect_eq(f.m->threads_cnt, 50);
	for (uint32_t i = 0; i < 50; i++)
		cr_expect_eq(f.m->processes[i].start_ns,
			     feed_boot(FEED_START + i * FEED_MS - FEED_US));
	feed_free(&f);
}

Test(ingest, threads_are_no_processes)
{
	struct feed f = feed_new(1);

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	ingest_fork(f.in, 7, 8, 7, FEED_START + 1);
	ingest_fork(f.in, 7, 9, 7, FEED_START + 2);
	cr_expect_eq(f.m->processes_cnt, 1);
	ingest_exit(f.in, 7, 8, FEED_START + 3);
	cr_expect_eq(f.m->processes[0].exit_ns, 0);
	ingest_exit(f.in, 7, 7, FEED_START + 4);
	cr_expect_eq(f.m->processes[0].exit_ns, FEED_START + 4);
	ingest_exit(f.in, 99, 99, FEED_START + 4); /* never heard of */
	feed_free(&f);
}

/* --- exec, comm, mappings -------------------------------------------------------------------- */

Test(ingest, an_exec_ends_the_old_image)
{
	struct feed f = feed_new(1);
	struct model_process *p;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	feed_map(&f, 7, FEED_START + 1, 0x1000, 0x2000, "/old");
	p = &f.m->processes[0];
	p->flags |= PROCESS_FACTS | PROCESS_DOTNET | PROCESS_SELECTED;
	p->name = p->exe = model_str(f.m, "Shop.Api");
	p->dirty = false;
	cr_expect_eq(ingest_comm(f.in, 7, 7, "new", 3, true, FEED_START + 100), 0);
	feed_map(&f, 7, FEED_START + 101, 0x1000, 0x2000, "/new");
	cr_expect_eq(p->flags, PROCESS_SELECTED);
	cr_expect_str_eq(p->name, "new");
	cr_expect_str_eq(p->comm, "new");
	cr_expect_str_eq(p->exe, "");
	cr_expect(p->dirty);
	cr_expect_str_eq(feed_path_at(&f, 0, 0x1800, FEED_START + 99), "/old");
	cr_expect_str_eq(feed_path_at(&f, 0, 0x1800, FEED_START + 102), "/new");
	feed_free(&f);
}

Test(ingest, a_rename_keeps_facts_and_names_from_elsewhere)
{
	struct feed f = feed_new(1);
	struct model_process *p;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	p = &f.m->processes[0];
	p->flags |= PROCESS_FACTS;
	cr_expect_eq(ingest_comm(f.in, 7, 7, "one", 3, false, FEED_START + 1), MODEL_NONE);
	cr_expect_str_eq(p->name, "one", "a comm is the name while there is no better one");
	p->name = model_str(f.m, "Shop.Api");
	ingest_comm(f.in, 7, 7, "two", 3, false, FEED_START + 2);
	cr_expect_str_eq(p->comm, "two");
	cr_expect_str_eq(p->name, "Shop.Api");
	ingest_comm(f.in, 7, 8, "thread", 6, false, FEED_START + 3); /* of another thread */
	cr_expect_str_eq(p->comm, "two");
	cr_expect_eq(p->flags, PROCESS_FACTS);
	cr_expect_eq(ingest_comm(f.in, 99, 99, "x", 1, true, FEED_START), MODEL_NONE);
	feed_free(&f);
}

Test(ingest, a_child_has_the_mappings_of_its_parent_at_the_fork)
{
	struct feed f = feed_new(1);
	uint32_t child;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	ingest_comm(f.in, 7, 7, "parent", 6, false, FEED_START);
	feed_map(&f, 7, FEED_START + 10, 0x1000, 0x2000, "/bin/app");
	ingest_fork(f.in, 8, 8, 7, FEED_START + 20);
	feed_map(&f, 7, FEED_START + 30, 0x5000, 0x6000, "/later.so");
	child = model_process_at(f.m, 8, FEED_START + 40);
	cr_expect_str_eq(feed_path_at(&f, child, 0x1800, FEED_START + 40), "/bin/app");
	cr_expect_null(feed_path_at(&f, child, 0x5800, FEED_START + 40));
	cr_expect_str_eq(f.m->processes[child].comm, "parent");
	cr_expect_eq(f.m->processes[child].parent_tgid, 7);
	feed_free(&f);
}

Test(ingest, mappings_go_to_who_lived_then)
{
	struct feed f = feed_new(1);

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	ingest_fork(f.in, 7, 7, 1, FEED_START + 1000);
	feed_map(&f, 7, FEED_START + 999, 0x1000, 0x2000, "/first");
	feed_map(&f, 7, FEED_START + 1000, 0x1000, 0x2000, "/second");
	cr_expect_str_eq(feed_path_at(&f, 0, 0x1000, FEED_START + 2000), "/first");
	cr_expect_str_eq(feed_path_at(&f, 1, 0x1000, FEED_START + 2000), "/second");
	feed_map(&f, 4711, FEED_START, 0x1000, 0x2000, "/nobody");
	feed_map(&f, UINT32_MAX, FEED_START, 0x1000, 0x2000, "/nobody");
	cr_expect_eq(f.m->processes_cnt, 2);
	feed_free(&f);
}

Test(ingest, takes_no_mapping_that_makes_no_sense)
{
	static const struct {
		const char *name;
		uint64_t start, end;
		size_t expected;
	} rows[] = {
		{"module of the kernel", 0xffffffffc0000000, 0xffffffffc0010000, 0},
		{"first kernel address", 1ull << 63, (1ull << 63) + 4096, 0},
		{"empty", 0x1000, 0x1000, 0},
		{"ends before it starts", 0x2000, 0x1000, 0},
		{"length that wraps", 0x2000, 0x1fff, 0},
		{"user code", 0x1000, 0x2000, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);

		ingest_fork(f.in, 7, 7, 1, FEED_START);
		feed_map(&f, 7, FEED_START + 1, rows[i].start, rows[i].end, "/x");
		cr_expect_eq(f.m->processes[0].mapping_cnt, rows[i].expected, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest, a_build_id_of_absurd_length_is_none)
{
	static const uint8_t id[64] = {1, 2, 3};
	static const uint8_t lengths[] = {0, 20, 21, 255};

	for (size_t i = 0; i < sizeof(lengths); i++) {
		struct feed f = feed_new(1);
		struct ingest_mapping map = {.tgid = 7,
					     .time_ns = FEED_START + 1,
					     .start = 0x1000,
					     .end = 0x2000,
					     .build_id = id,
					     .build_id_len = lengths[i],
					     .path = "/x",
					     .path_len = 2};

		ingest_fork(f.in, 7, 7, 1, FEED_START);
		ingest_mapping(f.in, &map);
		cr_assert_eq(f.m->modules_cnt, 1);
		cr_expect_eq(f.m->modules[0].build_id_len, lengths[i] == 20 ? 20 : 0, "%u",
			     lengths[i]);
		feed_free(&f);
	}
}

static size_t rows_of(const struct feed *f, uint32_t tgid)
{
	uint32_t row = model_process_at(f->m, tgid, UINT64_MAX);

	return row == MODEL_NONE ? 0 : f->m->processes[row].mapping_cnt;
}

/* Others go on to be followed; who did it is told, and read again. */
Test(ingest, a_process_that_maps_without_end_is_not_followed)
{
	struct feed f = feed_new(1);
	struct model_process *p;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	ingest_fork(f.in, 8, 8, 1, FEED_START);
	f.m->processes[0].flags |= PROCESS_FACTS;
	for (uint64_t i = 0; i < 50000; i++)
		feed_map(&f, 7, FEED_START + i, 0x1000 * (i + 1), 0x1000 * (i + 2), "/x");
	for (uint64_t i = 0; i < 500; i++)
		feed_map(&f, 8, FEED_START + i, 0x1000 * (i + 1), 0x1000 * (i + 2), "/y");
	p = &f.m->processes[model_process_at(f.m, 7, UINT64_MAX)];
	cr_expect_leq(p->mapping_cnt, 4096);
	cr_expect_eq(p->mappings_refused, 50000 - p->mapping_cnt);
	cr_expect_eq(rows_of(&f, 8), 500);
	ingest_slice_end(f.in);
	cr_expect(!(p->flags & PROCESS_FACTS), "read again");
	feed_map(&f, 7, FEED_START + FEED_SECOND, 0x7000000000, 0x7000001000, "/x");
	cr_expect_eq(p->mappings_refused, 50000 - p->mapping_cnt + 1, "another second");
	feed_free(&f);
}

/* A library that was mapped meanwhile has no other witness than /proc. */
Test(ingest, after_mappings_were_lost_those_of_who_lives_are_read_again)
{
	static const bool lost[] = {true, true, true, true, true, false, false, true};
	static const bool again[] = {true, false, false, true, false, true, false, true};
	struct feed f = feed_new(1);
	struct model_process *p;

	for (uint32_t tgid = 7; tgid < 10; tgid++)
		ingest_fork(f.in, tgid, tgid, 1, FEED_START);
	for (size_t i = 0; i < f.m->processes_cnt; i++)
		f.m->processes[i].flags |= PROCESS_FACTS;
	ingest_exit(f.in, 9, 9, FEED_START + 5);
	p = &f.m->processes[1];
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		p->flags |= PROCESS_FACTS;
		ingest_lost(f.in, lost[i] ? 3 : 0);
		cr_expect(p->flags & PROCESS_FACTS, "not at once");
		ingest_read_lost(f.in);
		cr_expect_eq(!(p->flags & PROCESS_FACTS), again[i], "slice %zu", i);
	}
	cr_expect_not(f.m->processes[0].flags & PROCESS_FACTS);
	cr_expect(f.m->processes[2].flags & PROCESS_FACTS, "it is gone");
	feed_free(&f);
}

Test(ingest, a_storm_that_goes_on_is_followed_less_and_a_start_after_it_as_before)
{
	static const uint64_t mosts[] = {16384, 8192, 4096, 2048, 2048};
	struct feed f = feed_new(1);
	uint64_t now_ns = FEED_START, address = 0x1000;
	struct model_process *p;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	for (size_t slice = 0; slice < sizeof(mosts) / sizeof(mosts[0]); slice++) {
		uint64_t refused = f.m->processes[0].mappings_refused;

		for (uint64_t i = 0; i < 20000; i++, address += 0x1000)
			feed_map(&f, 7, ++now_ns, address, address + 0x1000, "/x");
		p = &f.m->processes[model_process_at(f.m, 7, UINT64_MAX)];
		cr_expect_geq(p->mappings_refused - refused, 20000 - mosts[slice], "slice %zu",
			      slice);
		ingest_slice_end(f.in);
		now_ns += FEED_SECOND;
	}
	for (int i = 0; i < 3; i++)
		ingest_slice_end(f.in);
	ingest_fork(f.in, 8, 8, 1, now_ns);
	for (uint64_t i = 0; i < 3000; i++, address += 0x1000)
		feed_map(&f, 8, ++now_ns, address, address + 0x1000, "/x");
	cr_expect_eq(rows_of(&f, 8), 3000);
	feed_free(&f);
}

/* What is refused anyway need not be read. */
Test(ingest, further_mappings_of_it_are_refused_unread_until_the_slice_ends)
{
	struct feed f = feed_new(1);
	struct model_process *p;
	uint64_t refused;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	ingest_fork(f.in, 8, 8, 1, FEED_START);
	cr_expect_not(ingest_refuses_mapping(f.in, 7));
	for (uint64_t i = 0; i < 20000; i++)
		feed_map(&f, 7, FEED_START + i, 0x1000 * (i + 1), 0x1000 * (i + 2), "/x");
	p = &f.m->processes[model_process_at(f.m, 7, UINT64_MAX)];
	refused = p->mappings_refused;
	for (int i = 0; i < 1000; i++)
		cr_assert(ingest_refuses_mapping(f.in, 7));
	cr_expect_not(ingest_refuses_mapping(f.in, 8));
	cr_expect_not(ingest_refuses_mapping(f.in, 0));
	ingest_slice_end(f.in);
	cr_expect_eq(p->mappings_refused, refused + 1000);
	cr_expect_not(ingest_refuses_mapping(f.in, 7), "another second");
	/* Another process of that id is not meant. */
	for (uint64_t i = 0; i < 20000; i++)
		feed_map(&f, 7, FEED_START + FEED_SECOND + i, 0x1000 * (i + 1), 0x1000 * (i + 2),
			 "/x");
	cr_expect(ingest_refuses_mapping(f.in, 7));
	refused = p->mappings_refused;
	ingest_fork(f.in, 7, 7, 1, FEED_START + 3 * FEED_SECOND / 2);
	cr_expect_not(ingest_refuses_mapping(f.in, 7));
	p = &f.m->processes[model_process_at(f.m, 7, FEED_START + FEED_SECOND)];
	cr_expect_eq(p->mappings_refused, refused + 1);
	feed_free(&f);
}

Test(ingest, children_of_a_parent_with_very_many_mappings_are_bounded)
{
	struct feed f = feed_new(1);
	size_t inherited = 0;

	ingest_fork(f.in, 7, 7, 1, FEED_START);
	for (uint64_t i = 0; i < 2000; i++)
		feed_map(&f, 7, FEED_START + i, 0x2000 * (i + 1), 0x2000 * (i + 1) + 0x1000, "/x");
	cr_assert_eq(rows_of(&f, 7), 2000);
	for (uint32_t tgid = 100; tgid < 1100; tgid++) {
		ingest_fork(f.in, tgid, tgid, 7, FEED_START + 3000);
		inherited += rows_of(&f, tgid);
	}
	cr_expect(inherited >= 20000 && inherited <= 100000, "%zu", inherited);
	ingest_slice_end(f.in);
	ingest_fork(f.in, 2000, 2000, 7, FEED_START + FEED_SECOND);
	cr_expect_eq(rows_of(&f, 2000), 2000);
	feed_free(&f);
}

/* --- accounts -------------------------------------------------------------------------------- */

Test(ingest, counts_an_old_thread_from_its_baseline_and_a_new_one_from_zero)
{
	static const struct {
		const char *name;
		bool before_begin; /* a reading before the recording begins */
		int64_t start_ns;  /* of the thread, relative to the beginning */
		uint64_t on_cpu[3], expected;
	} rows[] = {
		{"old, read before", true, -1000000, {500, 700, 900}, 400},
		{"old, first read after", false, -1000000, {500, 700, 900}, 400},
		{"born at the beginning", false, 0, {500, 700, 900}, 900},
		{"born later", false, 1000000, {500, 700, 900}, 900},
		{"a reading that falls", true, -1000000, {500, 400, 600}, 100},
		{"a reading that falls and stays", true, -1000000, {500, 100, 200}, 0},
		{"nothing ran", true, -1000000, {500, 500, 500}, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new_unbegun(1);
		uint64_t start = feed_boot((uint64_t)((int64_t)FEED_START + rows[i].start_ns));

		if (rows[i].before_begin)
			feed_account(&f, 7, 7, start, start, rows[i].on_cpu[0]);
		ingest_begin(f.in, FEED_START);
		for (size_t k = rows[i].before_begin; k < 3; k++)
			feed_account(&f, 7, 7, start, start, rows[i].on_cpu[k]);
		cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, rows[i].expected, "%s: %llu",
			     rows[i].name, (unsigned long long)f.m->threads[0].sched.on_cpu_ns);
		cr_expect_eq(f.m->accounts_cnt, rows[i].expected > 0, "%s", rows[i].name);
		feed_free(&f);
	}
}

Test(ingest, a_slice_has_one_row_a_thread_and_the_rows_sum_up)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START + 1), sum = 0;

	for (uint32_t slice = 0; slice < 5; slice++) {
		for (uint64_t k = 1; k <= 3; k++)
			feed_account(&f, 7, 7, start, start, slice * 300 + k * 100);
		cr_assert_eq(f.m->accounts_cnt, 1);
		cr_expect_eq(f.m->accounts[0].slice, slice);
		cr_expect_eq(f.m->accounts[0].sched.on_cpu_ns, 300);
		sum += f.m->accounts[0].sched.on_cpu_ns;
		model_forget_slice(f.m);
		model_slice_add(f.m, &(struct model_slice){0});
	}
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, sum);
	feed_free(&f);
}

Test(ingest, its_bytes_grow_with_the_threads_that_ever_ran_and_with_nothing_else)
{
	struct feed f = feed_new(1);
	size_t bytes = ingest_bytes(f.in);

	for (int again = 1; again <= 3; again++) {
		for (uint32_t tid = 1; tid <= 1000; tid++)
			feed_account(&f, 7, tid, feed_boot(FEED_START + 1),
				     feed_boot(FEED_START + tid), (uint64_t)again * 100);
		model_forget_slice(f.m);
		model_slice_add(f.m, &(struct model_slice){0});
		if (again == 1) {
			cr_expect_geq(ingest_bytes(f.in),
				      bytes + 1000 * sizeof(struct account_seen));
			cr_expect_leq(ingest_bytes(f.in), bytes + 1000 * 512);
			bytes = ingest_bytes(f.in);
		}
		cr_expect_eq(ingest_bytes(f.in), bytes);
	}
	feed_free(&f);
}

Test(ingest, an_account_after_the_slice_was_written_is_not_lost)
{
	struct feed f = feed_new(1);
	uint64_t a = feed_boot(FEED_START + 1), b = feed_boot(FEED_START + 2);

	feed_account(&f, 7, 7, a, a, 100);
	feed_account(&f, 8, 8, b, b, 100);
	model_forget_slice(f.m); /* and no new slice yet */
	feed_account(&f, 8, 8, b, b, 150);
	feed_account(&f, 7, 7, a, a, 170);
	cr_assert_eq(f.m->accounts_cnt, 2);
	cr_expect_eq(f.m->accounts[0].thread, 1);
	cr_expect_eq(f.m->accounts[0].sched.on_cpu_ns, 50);
	cr_expect_eq(f.m->accounts[1].sched.on_cpu_ns, 70);
	feed_free(&f);
}

Test(ingest, torn_and_absent_accounts_count_nothing_and_spoil_no_baseline)
{
	struct feed f = feed_new(1);
	struct event_task task = feed_task(7, 7, feed_boot(5), feed_boot(5));

	task.flags = ACCOUNT_ABSENT;
	ingest_task(f.in, &task);
	task.flags = ACCOUNT_TORN;
	task.sched.on_cpu_ns = 999999;
	ingest_task(f.in, &task);
	cr_expect_not(f.m->threads[0].baseline);
	cr_assert_eq(f.m->losses_cnt, 1);
	cr_expect_eq(f.m->losses[0].cause, LOSS_ITERATOR);
	cr_expect_eq(f.m->losses[0].count, 1);
	task.flags = 0;
	task.sched.on_cpu_ns = 1000;
	ingest_task(f.in, &task);
	task.sched.on_cpu_ns = 1300;
	ingest_task(f.in, &task);
	task.flags = ACCOUNT_TORN;
	task.sched.on_cpu_ns = 5000;
	ingest_task(f.in, &task);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 300);
	feed_free(&f);
}

Test(ingest, an_exec_by_another_thread_brings_its_account_along)
{
	struct feed f = feed_new(1);
	uint64_t start = feed_boot(FEED_START);
	struct event_task leader = feed_task(7, 7, start, start);
	struct event_task other = feed_task(7, 8, start, start + FEED_MS);

	leader.sched.on_cpu_ns = 1000 * FEED_MS;
	leader.sched.voluntary = 50;
	ingest_task(f.in, &leader);
	other.sched.on_cpu_ns = 10 * FEED_MS;
	other.sched.involuntary = 60;
	ingest_task(f.in, &other);
	/* The thread that called exec has the leader's id and start from now on; the old leader
	 * dies under the thread's. */
	other.tid = 7;
	other.thread_start_ns = start;
	other.sched.on_cpu_ns = 2010 * FEED_MS;
	other.sched.involuntary = 70;
	ingest_task(f.in, &other);
	leader.tid = 8;
	leader.thread_start_ns = start + FEED_MS;
	leader.header.kind = EVENT_TASK_END;
	leader.sched.on_cpu_ns = 1001 * FEED_MS;
	ingest_task(f.in, &leader);
	cr_expect_eq(f.m->threads[0].sched.on_cpu_ns, 3000 * FEED_MS);
	cr_expect_eq(f.m->threads[0].sched.involuntary, 10);
	cr_expect_eq(f.m->threads[1].sched.on_cpu_ns, 11 * FEED_MS);
	cr_expect_eq(feed_on_cpu(&f, 0), 3011 * FEED_MS, "the sum of both accounts");
	feed_free(&f);
}

/* --- processes and threads as records have them ---------------------------------------------- */

Test(ingest, takes_comm_state_group_and_kind_from_records)
{
	struct feed f = feed_new(1);
	struct event_task task = feed_task(7, 7, feed_boot(5), feed_boot(5));

	memset(task.comm, 'c', sizeof(task.comm)); /* full, without NUL */
	task.flags = ACCOUNT_KERNEL_THREAD;
	task.state = 'D';
	task.cgroup_id = 42;
	task.parent_tgid = 2;
	ingest_task(f.in, &task);
	cr_expect_str_eq(f.m->processes[0].comm, "cccccccccccccccc");
	cr_expect_str_eq(f.m->threads[0].comm, "cccccccccccccccc");
	cr_expect_eq(f.m->processes[0].flags, PROCESS_KERNEL);
	cr_expect_eq(f.m->processes[0].cgroup_id, 42);
	cr_expect_eq(f.m->processes[0].parent_tgid, 2);
	cr_expect_eq(f.m->threads[0].state, 'D');
	task.tid = 8;
	memcpy(task.comm, "worker\0garbage", 14);
	ingest_task(f.in, &task);
	cr_expect_str_eq(f.m->threads[1].comm, "worker");
	cr_expect_str_eq(f.m->processes[0].comm, "cccccccccccccccc", "a leader's comm stays");
	feed_free(&f);
}

Test(ingest, a_process_known_by_its_fork_alone_has_a_guess_of_its_start)
{
	struct feed f = feed_new(1);
	uint64_t born_ns = 5000000000ull;
	uint32_t row;

	ingest_fork(f.in, 7, 7, 1, born_ns);
	row = model_process_at(f.m, 7, born_ns);
	cr_assert_neq(row, MODEL_NONE);
	cr_expect_eq(f.m->processes[row].start_ns, feed_boot(born_ns));
	cr_expect_not(f.m->processes[row].start_exact);
	feed_free(&f);
}
