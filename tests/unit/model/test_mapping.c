/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/mapping_order.h"
#include "model/model.h"

Test(mapping, tells_the_kind_by_the_name)
{
	static const struct {
		const char *path;
		enum model_mapping_kind kind;
	} rows[] = {
		{"/usr/lib/libc.so.6", MAPPING_FILE},
		{"/memfd:doublemapper (deleted)", MAPPING_JIT},
		{"/memfd:doublemapper", MAPPING_JIT},
		{"/memfd:other (deleted)", MAPPING_FILE},
		{"", MAPPING_ANON},
		{"//anon", MAPPING_ANON},
		{"[anon:v8]", MAPPING_ANON},
		{"[heap]", MAPPING_ANON},
		{"[stack]", MAPPING_ANON},
		{"/dev/zero (deleted)", MAPPING_ANON},
		{"[vdso]", MAPPING_VDSO},
		{"[vsyscall]", MAPPING_VSYSCALL},
		{"/srv/[vdso]", MAPPING_FILE},
		{"/memfd:double", MAPPING_FILE},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].path);
		char *copy = malloc(len + 1); /* not terminated: read by its length */

		memcpy(copy, rows[i].path, len);
		copy[len] = 'X';
		cr_expect_eq(model_mapping_kind_of(copy, len), rows[i].kind, "%s", rows[i].path);
		free(copy);
	}
	cr_expect_eq(model_mapping_kind_of("[vdso]", 5), MAPPING_FILE, "cut within its length");
}

struct fixture {
	struct model *m;
	uint32_t process, a, b;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.m = model_new()};

	f.process = model_process_get(f.m, 7, 1);
	f.a = model_module_get(f.m, &(struct model_module){.path = "/a.so"});
	f.b = model_module_get(f.m, &(struct model_module){.path = "/b.so"});
	return f;
}

static int add(struct fixture *f, uint64_t start, uint64_t end, uint64_t from_ns, uint32_t module)
{
	struct model_mapping map = {.start = start,
				    .end = end,
				    .from_ns = from_ns,
				    .module = module,
				    .kind = MAPPING_FILE};

	return model_mapping_add(f->m, f->process, &map);
}

/* Module of the mapping found, or MODEL_NONE. */
static uint32_t at(const struct fixture *f, uint64_t address, uint64_t time_ns)
{
	const struct model_mapping *map = model_mapping_find(f->m, f->process, address, time_ns);

	return map ? map->module : MODEL_NONE;
}

Test(mapping, ends_are_exclusive)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 0, f.a);
	add(&f, 200, 300, 0, f.b);
	cr_expect_eq(at(&f, 99, 5), MODEL_NONE);
	cr_expect_eq(at(&f, 100, 5), f.a);
	cr_expect_eq(at(&f, 199, 5), f.a);
	cr_expect_eq(at(&f, 200, 5), f.b);
	cr_expect_eq(at(&f, 300, 5), MODEL_NONE);
	model_free(f.m);
}

Test(mapping, refuses_a_range_that_is_none)
{
	struct fixture f = fixture_new();

	cr_expect_eq(add(&f, 100, 100, 0, f.a), -EINVAL);
	cr_expect_eq(add(&f, 100, 50, 0, f.a), -EINVAL);
	cr_expect_eq(add(&f, UINT64_MAX, 0, 0, f.a), -EINVAL);
	cr_expect_eq(f.m->processes[f.process].mapping_cnt, 0);
	model_free(f.m);
}

Test(mapping, a_covered_mapping_ends_when_its_place_is_taken)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 0, f.a);
	f.m->processes[f.process].mappings[0].dirty = false;
	add(&f, 50, 250, 1000, f.b);
	cr_expect_eq(at(&f, 150, 999), f.a);
	cr_expect_eq(at(&f, 150, 1000), f.b);
	cr_expect_eq(f.m->processes[f.process].mappings[0].to_ns, 1000);
	cr_expect(f.m->processes[f.process].mappings[0].dirty, "the store has to write it again");
	model_free(f.m);
}

Test(mapping, a_partly_covered_mapping_lives_on_beside_the_newer)
{
	struct fixture f = fixture_new();

	add(&f, 100, 300, 0, f.a);
	add(&f, 200, 400, 1000, f.b);
	cr_expect_eq(at(&f, 150, 2000), f.a);
	cr_expect_eq(at(&f, 250, 999), f.a);
	cr_expect_eq(at(&f, 250, 2000), f.b);
	model_free(f.m);
}

Test(mapping, what_proc_says_ends_nothing)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 500, f.a);
	add(&f, 100, 200, 0, f.b);
	cr_expect_eq(f.m->processes[f.process].mappings[0].to_ns, 0);
	cr_expect_eq(at(&f, 150, 600), f.a);
	cr_expect_eq(at(&f, 150, 400), f.b);
	model_free(f.m);
}

Test(mapping, repeats_are_ignored_while_the_first_is_open)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 0, f.a);
	cr_expect_eq(add(&f, 100, 200, 500, f.a), 0);
	cr_expect_eq(f.m->processes[f.process].mapping_cnt, 1);
	model_mappings_end(f.m, f.process, 600);
	cr_expect_eq(add(&f, 100, 200, 700, f.a), 0);
	cr_expect_eq(f.m->processes[f.process].mapping_cnt, 2);
	cr_expect_eq(at(&f, 150, 650), f.a, "held later, when nothing did then");
	cr_expect_eq(at(&f, 150, 800), f.a);
	model_free(f.m);
}

Test(mapping, before_its_time_the_first_that_came_counts)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 1000, f.a);
	add(&f, 100, 200, 2000, f.b);
	cr_expect_eq(at(&f, 150, 500), f.a);
	model_free(f.m);
}

Test(mapping, an_exec_ends_all_that_is_open_by_then)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 0, f.a);
	add(&f, 300, 400, 900, f.a);
	add(&f, 500, 600, 2000, f.b); /* of the new image already */
	model_mappings_end(f.m, f.process, 1000);
	cr_expect_eq(at(&f, 150, 999), f.a);
	cr_expect_eq(at(&f, 150, 1000), MODEL_NONE);
	cr_expect_eq(at(&f, 350, 1000), MODEL_NONE);
	cr_expect_eq(at(&f, 550, 2000), f.b);
	model_free(f.m);
}

Test(mapping, a_child_has_what_its_parent_has_open)
{
	struct fixture f = fixture_new();
	uint32_t child = model_process_get(f.m, 8, 2);

	add(&f, 100, 200, 0, f.a);
	model_mappings_end(f.m, f.process, 500);
	add(&f, 300, 400, 700, f.b);
	cr_expect_eq(model_mappings_inherit(f.m, child, f.process), 0);
	f.process = child;
	cr_expect_eq(f.m->processes[child].mapping_cnt, 1);
	cr_expect_eq(at(&f, 350, 800), f.b);
	cr_expect_eq(at(&f, 150, 800), MODEL_NONE);
	model_free(f.m);
}

/* Gives a process that many ended mappings below the addresses that the tests use. */
static void fill(struct fixture *f, size_t cnt)
{
	struct model_process *p = &f->m->processes[f->process];

	p->mappings = calloc(cnt, sizeof(*p->mappings));
	p->mapping_cnt = p->mapping_cap = cnt;
	for (size_t i = 0; i < cnt; i++)
		p->mappings[i] = (struct model_mapping){
			.start = i * 16 + 1, .end = i * 16 + 9, .to_ns = 1, .module = f->a};
}

Test(mapping, stops_at_its_bound_and_counts_what_did_not_fit)
{
	struct fixture f = fixture_new();
	uint64_t high = 1ull << 40;

	fill(&f, MODEL_MAX_MAPPING_ROWS - 2);
	cr_expect_eq(add(&f, high, high + 8, 5, f.b), 0);
	cr_expect_eq(add(&f, high + 8, high + 16, 5, f.b), 0);
	cr_expect_eq(add(&f, high + 16, high + 24, 5, f.b), -ENOSPC);
	cr_expect_eq(add(&f, high, high + 8, 5, f.b), 0, "a repeat needs no room");
	cr_expect_eq(add(&f, high, high + 8, 9, f.a), -ENOSPC);
	cr_expect_eq(at(&f, high, 9), MODEL_NONE, "what was replaced has ended all the same");
	cr_expect_eq(f.m->processes[f.process].mapping_cnt, MODEL_MAX_MAPPING_ROWS);
	cr_assert_eq(f.m->losses_cnt, 1);
	cr_expect_eq(f.m->losses[0].cause, LOSS_MODEL_LIMIT);
	cr_expect_eq(f.m->losses[0].count, 2);
	model_free(f.m);
}

Test(mapping, a_child_of_a_full_parent_is_bounded_too)
{
	struct fixture f = fixture_new();
	uint32_t child = model_process_get(f.m, 8, 2);
	struct model_process *p;

	fill(&f, MODEL_MAX_MAPPINGS);
	p = &f.m->processes[f.process];
	for (size_t i = 0; i < p->mapping_cnt; i++)
		p->mappings[i].to_ns = 0;
	cr_expect_eq(model_mappings_inherit(f.m, child, f.process), 0);
	cr_expect_eq(model_mappings_inherit(f.m, child, f.process), 0);
	cr_expect_eq(f.m->processes[child].mapping_cnt, MODEL_MAX_MAPPINGS);
	model_free(f.m);
}

Test(mapping, forks_of_a_process_with_many_mappings_stay_bounded)
{
	struct model *m = model_new();
	uint32_t parent = model_process_get(m, 1, 1), child;
	struct model_module file = {.path = "/lib/x.so"};
	uint32_t module = model_module_get(m, &file);
	size_t all = 0;

	for (uint64_t i = 0; i < 4000; i++) {
		struct model_mapping map = {.start = i * 8192 + 4096,
					    .end = i * 8192 + 8192,
					    .module = module,
					    .kind = MAPPING_FILE};

		cr_assert_eq(model_mapping_add(m, parent, &map), 0);
	}
	for (uint32_t i = 2; i < 1100; i++) {
		child = model_process_get(m, i, i);
		model_mappings_inherit(m, child, parent);
	}
	for (size_t i = 0; i < m->processes_cnt; i++)
		all += m->processes[i].mapping_cnt;
	cr_expect_eq(all, 4000000u);
	/* Whose mappings are forgotten makes room. */
	model_mappings_forget(m, child - 500);
	cr_expect_eq(model_mappings_inherit(m, child, parent), 0);
	cr_expect_eq(m->processes[child].mapping_cnt, 4000);
	model_free(m);
}

Test(mapping, ended_ones_leave_room_for_as_many_as_a_process_can_have)
{
	struct fixture f = fixture_new();
	uint64_t high = 1ull << 40;

	fill(&f, MODEL_MAX_MAPPING_ROWS - MODEL_MAX_MAPPINGS);
	for (uint64_t i = MODEL_MAX_MAPPINGS; i-- > 0;)
		cr_assert_eq(add(&f, high + i * 8, high + i * 8 + 8, 5, f.b), 0);
	cr_expect_eq(add(&f, high / 2, high / 2 + 8, 5, f.b), -ENOSPC);
	model_free(f.m);
}

Test(mapping, open_ones_are_bounded_by_themselves)
{
	struct fixture f = fixture_new();

	/* Downwards, as the kernel places them. */
	for (uint64_t i = MODEL_MAX_MAPPINGS; i-- > 0;)
		cr_assert_eq(add(&f, 8 + i * 8, 16 + i * 8, 5, f.b), 0);
	cr_expect_eq(add(&f, 1ull << 40, (1ull << 40) + 8, 6, f.b), -ENOSPC);
	cr_expect_eq(add(&f, 8, 24, 7, f.a), 0, "two ended, so there is room again");
	cr_expect_eq(at(&f, 8, 7), f.a);
	model_free(f.m);
}

Test(mapping, after_an_exec_the_ended_ones_do_not_come_back)
{
	struct fixture f = fixture_new();

	add(&f, 100, 200, 5, f.a);
	model_mappings_end(f.m, f.process, 10);
	add(&f, 100, 200, 11, f.a);
	cr_expect_eq(f.m->processes[f.process].mapping_cnt, 2, "an equal one of before is another");
	cr_expect_eq(f.m->processes[f.process].mappings[0].to_ns, 10);
	model_free(f.m);
}

Test(mapping, a_process_that_maps_without_end_costs_little)
{
	enum { MAPPINGS = 60000, EVENTS = 100000 };
	struct fixture f = fixture_new();
	struct timespec t0, t1;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	/* From the top down, as the kernel places them. */
	for (uint64_t i = 0; i < MAPPINGS; i++)
		cr_assert_eq(add(&f, (MAPPINGS - i) * 8192, (MAPPINGS - i) * 8192 + 4096, 1, f.a),
			     0);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t start = (1 + i * 7919 % MAPPINGS) * 8192;

		add(&f, start, start + 4096, 2 + i, i & 1 ? f.a : f.b);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	/* Looking at each mapping takes some 10 s under the sanitizers. */
	cr_expect_lt((double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9,
		     2.0);
	model_free(f.m);
}

/* As model_mapping_find() says it, row by row. */
static const struct model_mapping *look_at_all(const struct fixture *f, uint64_t address,
					       uint64_t time_ns)
{
	const struct model_process *p = &f->m->processes[f->process];
	const struct model_mapping *then = NULL, *later = NULL;

	for (size_t i = p->mapping_cnt; i-- > 0;) {
		const struct model_mapping *map = &p->mappings[i];

		if (address < map->start || address >= map->end)
			continue;
		if (map->from_ns > time_ns) {
			if (!later || map->from_ns <= later->from_ns)
				later = map;
		} else if ((!map->to_ns || time_ns < map->to_ns) &&
			   (!then || map->from_ns > then->from_ns)) {
			then = map;
		}
	}
	return then ? then : later;
}

Test(mapping, is_found_as_if_each_were_looked_at)
{
	struct fixture f = fixture_new();

	srand(7);
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t start = (uint64_t)(rand() % 4000), size = 1 + (uint64_t)(rand() % 40);

		add(&f, start, start + (i % 50 ? size : 3000), i / 3, i & 1 ? f.a : f.b);
		for (int look = 0; look < 5; look++) {
			uint64_t address = (uint64_t)(rand() % 4100);
			uint64_t time_ns = (uint64_t)rand() % (i + 2);
			const struct model_mapping *found =
				model_mapping_find(f.m, f.process, address, time_ns);

			cr_assert_eq(found, look_at_all(&f, address, time_ns), "%lu %lu", address,
				     time_ns);
		}
	}
	model_free(f.m);
}

/* The next row, as it stands after model_mapping_add(), which would look at all that begin where it
 * does. */
static void put(struct fixture *f, size_t room, uint64_t start, uint64_t end, uint64_t from_ns)
{
	struct model_process *p = &f->m->processes[f->process];

	if (!p->mappings) {
		p->mappings = calloc(room, sizeof(*p->mappings));
		p->mapping_cap = room;
	}
	cr_assert(p->mappings && p->mapping_cnt < room);
	p->mappings[p->mapping_cnt++] = (struct model_mapping){.start = start,
							       .end = end,
							       .from_ns = from_ns,
							       .module = f->a,
							       .kind = MAPPING_FILE,
							       .dirty = true};
	f->m->mappings_cnt++;
}

Test(mapping, finding_one_of_many_takes_few_looks)
{
	static const struct {
		const char *name;
		uint64_t apart, size, looks; /* at most, of one look-up */
	} rows[] = {
		{"side by side", 16, 16, 300},
		{"one more address each", 0, 0, 4500},
	};

	for (size_t r = 0; r < 2; r++) {
		enum { MAPPINGS = 60000, LOOKS = 1000 };
		struct fixture f = fixture_new();
		struct mapping_index *index;

		for (uint64_t i = 0; i < MAPPINGS; i++)
			put(&f, MAPPINGS, 16 + i * rows[r].apart,
			    16 + i * rows[r].apart + (rows[r].size ? rows[r].size : MAPPINGS - i),
			    i);
		index = mapping_order_index(&f.m->processes[f.process]);
		at(&f, 16, MAPPINGS);
		index->looks = 0;
		for (uint64_t i = 0; i < LOOKS; i++)
			cr_expect_eq(at(&f, 16 + i * rows[r].apart, MAPPINGS), f.a, "%s",
				     rows[r].name);
		cr_expect_leq(index->looks, LOOKS * rows[r].looks, "%s: %lu", rows[r].name,
			      index->looks / LOOKS);
		cr_expect_gt(index->looks, LOOKS, "%s", rows[r].name);
		model_free(f.m);
	}
}
