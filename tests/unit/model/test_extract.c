/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of a model as a model of its own: whole, small, and the same as one recorded alone. */
#include <criterion/criterion.h>

#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "capture.h"
#include "model/extract.h"
#include "model/window.h"
#include "output/report.h"
#include "store/store.h"
#include "store_folder.h"
#include "watched_host.h"

#define LATE_NS 1000000ull /* watched_host_begin() */

TestSuite(extract, .init = enter_folder, .fini = leave_folder);

/* Through a file and back. Takes m. */
static struct model *through_the_store(struct model *m)
{
	struct store *store = NULL;
	struct model *read = NULL;

	cr_assert_eq(store_create("x.hotrun", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	model_free(m);
	cr_assert_eq(store_read("x.hotrun", &read), 0);
	return read;
}

static struct model *copy_of(struct model *m)
{
	struct store *store = NULL;
	struct model *read = NULL;

	cr_assert_eq(store_create("copy.hotrun", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	cr_assert_eq(store_read("copy.hotrun", &read), 0);
	return read;
}

static char *text_of(struct model *m, int (*write)(FILE *, struct model *))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(write(out, m), 0);
	fclose(out);
	return text;
}

static int write_report(FILE *out, struct model *m)
{
	const struct report_options options = {.process_cnt = 100, .force = true};

	return report_write(out, m, &options);
}

static int write_json(FILE *out, struct model *m)
{
	return report_json_write(out, m, NULL);
}

/* Processes that did nothing at all are in the whole alone: the words that count them go. */
static void forget_idle(char *text)
{
	static const char *const counts[][2] = {
		{"processes used no CPU", "\n"},
		{"\"judged_processes\":", ","},
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char *at = strstr(text, counts[i][0]), *end = at ? strstr(at, counts[i][1]) : NULL;

		if (!end)
			continue;
		while (at > text && at[-1] != '\n' && at[-1] != ',')
			at--;
		memmove(at, end + 1, strlen(end + 1) + 1);
	}
}

static void expect_same_text(const char *name, struct model *a, struct model *b,
			     int (*write)(FILE *, struct model *))
{
	char *x = text_of(a, write), *y = text_of(b, write);
	size_t same = 0;

	forget_idle(x);
	forget_idle(y);
	while (x[same] && x[same] == y[same])
		same++;
	same = same > 100 ? same - 100 : 0;
	cr_expect_str_eq(x, y, "%s: differs at\n%.300s\n---\n%.300s", name, x + same, y + same);
	free(x);
	free(y);
}

/* The slices from first to last of m and the extract say the same. Takes both. */
static void expect_like_window(const char *name, struct model *whole, uint32_t first, uint32_t last,
			       struct model *extract)
{
	const struct window w = {first, last};

	cr_assert_eq(window_cut(whole, &w), 0);
	cr_expect_eq(extract->slices_cnt, last - first + 1, "%s", name);
	cr_expect_eq(extract->samples_cnt, whole->samples_cnt, "%s: %zu and %zu samples", name,
		     extract->samples_cnt, whole->samples_cnt);
	cr_expect_eq(extract->accounts_cnt, whole->accounts_cnt, "%s", name);
	expect_same_text(name, whole, extract, write_report);
	expect_same_text(name, whole, extract, write_json);
	model_free(whole);
	model_free(extract);
}

Test(extract, of_some_slices_it_says_what_a_cut_of_the_whole_says)
{
	static const struct {
		const char *name;
		uint32_t first, last;
	} rows[] = {
		{"all", 0, 24},		{"from the beginning", 0, 5}, {"the middle", 7, 16},
		{"one", 12, 12},	{"the first", 0, 0},	      {"the last", 24, 24},
		{"to the end", 15, 24},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct watched_host host = watched_host_new(5, 4, 0);
		struct extract *x = extract_new();

		for (int k = 0; k < 25; k++)
			watched_host_slice(&host);
		cr_assert_eq(extract_take(x, host.m, rows[i].first, rows[i].last), 0);
		expect_like_window(rows[i].name, copy_of(host.m), rows[i].first, rows[i].last,
				   through_the_store(extract_finish(x)));
		model_free(host.m);
	}
}

Test(extract, grown_slice_by_slice_through_a_store_it_says_the_same)
{
	struct watched_host host = watched_host_new(4, 3, 0);
	struct model *whole = NULL, *read = NULL;
	struct extract *x = extract_new();
	struct store *store = NULL;

	for (int i = 0; i < 5; i++)
		watched_host_slice(&host);
	/* In the midst of a slice: what came of it already belongs to it. */
	watched_host_begin(&host);
	cr_assert_eq(extract_take(x, host.m, 2, 4), 0);
	cr_assert_eq(store_create("x.hotrun", extract_model(x), &store), 0);
	for (uint32_t i = 5; i < 30; i++) {
		cr_assert_eq(store_write_slice(store, extract_model(x)), 0);
		model_forget_slice(extract_model(x));
		watched_host_end(&host);
		cr_assert_eq(extract_take(x, host.m, i, i), 0);
		watched_host_begin(&host);
	}
	cr_assert_eq(store_write_slice(store, extract_model(x)), 0);
	cr_assert_eq(store_finish(store, extract_model(x)), 0);
	cr_expect(extract_bytes(x) > 10000 && extract_bytes(x) < 200000, "%zu", extract_bytes(x));
	extract_free(x);
	cr_assert_eq(store_read("x.hotrun", &read), 0);
	whole = copy_of(host.m);
	/* What came late for the last slice was not there yet. */
	for (size_t i = 0; i < whole->samples_cnt; i++)
		if (whole->samples[i].time_ns == WATCHED_START_NS + 30 * WATCHED_SECOND - LATE_NS)
			whole->samples[i].time_ns += LATE_NS;
	expect_like_window("grown", whole, 2, 29, read);
	model_free(host.m);
}

Test(extract, two_models_of_a_host_are_joined_by_identity)
{
	struct watched_host past = watched_host_new(4, 3, 0), live = watched_host_new(4, 3, 12);
	struct extract *x = extract_new();
	struct model *m;

	for (int i = 0; i < 12; i++)
		watched_host_slice(&past);
	for (int i = 0; i < 8; i++)
		watched_host_slice(&live);
	cr_assert_eq(extract_take(x, past.m, 4, 11), 0);
	extract_leave(x);
	model_free(past.m);
	cr_assert_eq(extract_take(x, live.m, 0, 7), 0);
	m = extract_model(x);
	cr_expect_eq(m->slices_cnt, 16);
	cr_expect_eq(m->processes_cnt, 4 + 16, "services once, and a short one a second");
	cr_expect_eq(m->threads_cnt, 4 * 3 + 16);
	cr_expect_eq(m->endpoints_cnt, 1);
	cr_expect_eq(m->cgroups_cnt, 4);
	/* The late sample of the slice that the renewal fell into is lost with it. */
	cr_expect_eq(m->samples_cnt, 16 * 8 + 14);
	cr_expect_eq(m->host.start_ns, WATCHED_START_NS + 4 * WATCHED_SECOND);
	cr_expect_eq(m->host.end_ns, WATCHED_START_NS + 20 * WATCHED_SECOND);
	cr_expect_str_eq(m->processes[model_process_find(m, 1000, 7 * WATCHED_SECOND)].name,
			 "Shop.Api.14");
	cr_expect_eq(model_process_find(m, 1004, 7 * WATCHED_SECOND + 4), MODEL_NONE);
	model_free(live.m);
	model_free(through_the_store(extract_finish(x)));
}

Test(extract, facts_that_only_the_past_had_read_stay)
{
	struct watched_host past = watched_host_new(2, 2, 0), live = watched_host_new(2, 2, 1);
	struct extract *x = extract_new();
	const struct model_process *p;
	uint32_t row;

	watched_host_slice(&past);
	watched_host_slice(&live);
	row = model_process_find(live.m, 1000, 7 * WATCHED_SECOND);
	/* Not read yet: known by its comm alone. */
	live.m->processes[row].flags &= ~PROCESS_FACTS;
	live.m->processes[row].name = live.m->processes[row].comm;
	live.m->processes[row].unit = "";
	cr_assert_eq(extract_take(x, past.m, 0, 0), 0);
	extract_leave(x);
	cr_assert_eq(extract_take(x, live.m, 0, 0), 0);
	row = model_process_find(extract_model(x), 1000, 7 * WATCHED_SECOND);
	p = &extract_model(x)->processes[row];
	cr_expect_str_eq(p->name, "Shop.Api.0");
	cr_expect_str_eq(p->unit, "shop.service");
	cr_expect(p->flags & PROCESS_FACTS);
	/* Then they are, and differ. */
	row = model_process_find(live.m, 1000, 7 * WATCHED_SECOND);
	live.m->processes[row].flags |= PROCESS_FACTS;
	live.m->processes[row].name = model_str(live.m, "Shop.New");
	watched_host_slice(&live);
	cr_assert_eq(extract_take(x, live.m, 1, 1), 0);
	cr_expect_str_eq(p->name, "Shop.New");
	extract_free(x);
	model_free(past.m);
	model_free(live.m);
}

Test(extract, a_name_that_comes_later_is_taken_over_and_written)
{
	struct model *m = build_model(1, 99), *read = NULL;
	struct extract *x = extract_new();
	struct store *store = NULL;
	uint32_t p = model_process_born(m, 50, BUILD_START_NS);
	uint32_t t = build_thread(m, p, 50, "dotnet", 0, 'R');
	const struct sched_figures did = {.on_cpu_ns = 1000};

	build_account(m, 0, t, &did);
	build_slice(m, BUILD_SECOND, 1000, 0, 0);
	cr_assert_eq(extract_take(x, m, 0, 0), 0);
	cr_assert_eq(store_create("x.hotrun", extract_model(x), &store), 0);
	cr_assert_eq(store_write_slice(store, extract_model(x)), 0);
	cr_expect(!extract_model(x)->processes[0].dirty);
	model_forget_slice(extract_model(x));
	m->processes[p].start_ns = 4711;
	m->processes[p].start_exact = true;
	m->processes[p].name = model_str(m, "Shop.Late");
	m->threads[t].comm = model_str(m, "worker");
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_assert_eq(extract_take(x, m, 1, 1), 0);
	cr_expect(extract_model(x)->processes[0].dirty && extract_model(x)->threads[0].dirty);
	cr_assert_eq(store_finish(store, extract_model(x)), 0);
	cr_assert_eq(store_read("x.hotrun", &read), 0);
	cr_expect_str_eq(read->processes[0].name, "Shop.Late");
	cr_expect_str_eq(read->threads[0].comm, "worker");
	cr_expect_eq(model_process_find(read, 50, 4711), 0);
	model_free(read);
	extract_free(x);
	model_free(m);
}

Test(extract, who_did_nothing_does_not_come_along_but_idle_threads_do)
{
	struct model *m = build_model(1, 99);
	uint32_t idle = build_process(m, 10, "idle", 0), busy = build_process(m, 20, "busy", 0);
	uint32_t t = build_thread(m, busy, 20, "main", 0, 'R');
	const struct sched_figures did = {.on_cpu_ns = 1000};
	struct extract *x = extract_new();
	struct model_module lib = {.path = "/lib/unused.so"};
	struct model_mapping map = {.start = 0x1000, .end = 0x2000, .kind = MAPPING_FILE};

	build_thread(m, idle, 10, "main", 0, 'S');
	build_thread(m, busy, 21, "sleeps", 0, 'S');
	m->threads[build_thread(m, busy, 22, "ended", 0, 'X')].exit_ns = BUILD_START_NS - 1;
	map.module = model_module_get(m, &lib);
	cr_assert_eq(model_mapping_add(m, busy, &map), 0);
	build_account(m, 0, t, &did);
	build_slice(m, BUILD_SECOND, 1000, 0, 0);
	cr_assert_eq(extract_take(x, m, 0, 0), 0);
	cr_expect_eq(extract_model(x)->processes_cnt, 1);
	cr_expect_eq(extract_model(x)->threads_cnt, 2);
	cr_expect_eq(extract_model(x)->modules_cnt, 0, "mappings are for samples");
	/* It begins to run: with all its threads. */
	build_account(m, 1, 1, &did);
	build_slice(m, BUILD_SECOND, 1000, 0, 0);
	cr_assert_eq(extract_take(x, m, 1, 1), 0);
	cr_expect_eq(extract_model(x)->processes_cnt, 2);
	cr_expect_eq(extract_model(x)->threads_cnt, 3);
	extract_free(x);
	model_free(m);
}

Test(extract, code_that_took_the_place_of_other_code_keeps_both_names)
{
	struct model *m = build_model(1, 99);
	uint32_t p = build_process(m, 10, "p", 0), t = build_thread(m, p, 10, "t", 0, 'R');
	uint32_t a = build_symbol(m, "A", "Shop", KIND_JIT, true);
	struct model_location l = {.process = p, .older = MODEL_NONE, .tier = ""};
	struct extract *x = extract_new();
	const struct model *e = extract_model(x);
	uint32_t row;

	BUILD_SAMPLES(m, t, 1, a);
	m->samples[0].time_ns = BUILD_START_NS + 5;
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_assert_eq(extract_take(x, m, 0, 0), 0);
	cr_assert_eq(e->locations_cnt, 1);
	l.address = m->locations[0].address;
	l.symbol = build_symbol(m, "B", "Shop", KIND_JIT, true);
	l.from_ns = BUILD_START_NS + BUILD_SECOND;
	model_location_add(m, &l);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	cr_assert_eq(extract_take(x, m, 1, 1), 0);
	cr_assert_eq(e->locations_cnt, 2, "of an address that was met before");
	row = model_location_find(e, 0, l.address, BUILD_START_NS + 5);
	cr_expect_str_eq(e->symbols[e->locations[row].symbol].name, "A");
	row = model_location_find(e, 0, l.address, BUILD_START_NS + 2 * BUILD_SECOND);
	cr_expect_str_eq(e->symbols[e->locations[row].symbol].name, "B");
	extract_free(x);
	model_free(m);
}

Test(extract, another_source_names_its_own_time_only)
{
	struct watched_host past = watched_host_new(2, 2, 0), live = watched_host_new(2, 2, 5);
	struct extract *x = extract_new();
	const struct model *e = extract_model(x);
	struct model_location *l;
	uint32_t row;

	watched_host_slice(&past);
	watched_host_slice(&live);
	/* The same address, since the beginning, under another name. */
	for (size_t i = 0; i < live.m->locations_cnt; i++) {
		l = &live.m->locations[i];
		l->symbol = build_symbol(live.m, "Shop.Other", "Shop", KIND_JIT, true);
	}
	cr_assert_eq(extract_take(x, past.m, 0, 0), 0);
	extract_leave(x);
	cr_assert_eq(extract_take(x, live.m, 0, 0), 0);
	row = model_location_find(e, e->locations[0].process, e->locations[0].address,
				  WATCHED_START_NS + 1);
	cr_expect_str_neq(e->symbols[e->locations[row].symbol].name, "Shop.Other");
	row = model_location_find(e, e->locations[0].process, live.m->locations[0].address,
				  WATCHED_START_NS + 5 * WATCHED_SECOND + 1);
	cr_expect_str_eq(e->symbols[e->locations[row].symbol].name, "Shop.Other");
	extract_free(x);
	model_free(past.m);
	model_free(live.m);
}

static bool is_even(const void *ctx, const struct model_process *p)
{
	(*(unsigned int *)ctx)++;
	return p->tgid % 2 == 0;
}

Test(extract, who_is_not_selected_is_counted_without_stacks)
{
	struct watched_host host = watched_host_new(2, 3, 0);
	struct extract *x = extract_new();
	const struct model *e = extract_model(x);
	unsigned int asked = 0;
	size_t filtered = 0;

	extract_select(x, is_even, &asked);
	for (int i = 0; i < 6; i++)
		watched_host_slice(&host);
	for (uint32_t i = 0; i < 6; i++)
		cr_assert_eq(extract_take(x, host.m, i, i), 0);
	cr_expect_lt(asked, 30, "asked for each sample: %u", asked);
	for (size_t i = 0; i < e->samples_cnt; i++) {
		const struct model_sample *s = &e->samples[i];
		bool out = e->processes[e->threads[s->thread].process].tgid % 2;

		filtered += out;
		cr_expect_eq(!!(s->flags & SAMPLE_FILTERED), out);
		cr_expect_eq(!s->user_stack, out);
	}
	cr_expect_eq(filtered, 12);
	for (size_t i = 0; i < e->stacks_cnt; i++)
		cr_expect_eq(e->processes[e->stacks[i].process].tgid, 1000);
	extract_free(x);
	model_free(host.m);
}

Test(extract, rows_that_name_nothing_are_left_out)
{
	struct model *m = build_model(1, 99);
	struct extract *x = extract_new();
	const struct sched_figures did = {.on_cpu_ns = 1};
	uint32_t p = build_process(m, 10, "p", 0), t = build_thread(m, p, 10, "t", 0, 'R');

	build_account(m, 0, t, &did);
	build_account(m, 0, t, &did);
	build_contention(m, 0, p, MODEL_NONE, 5);
	build_contention(m, 0, p, p, 5);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	m->accounts[0].thread = 77;
	m->accounts[1].cgroup = 4000000000u;
	m->contentions[0].runner = MODEL_NONE;
	m->contentions[1].waiter = 3;
	cr_assert_eq(extract_take(x, m, 0, 0), 0);
	cr_assert_eq(extract_model(x)->accounts_cnt, 1);
	cr_expect_eq(extract_model(x)->accounts[0].cgroup, MODEL_NONE);
	cr_assert_eq(extract_model(x)->contentions_cnt, 1);
	cr_expect_eq(extract_model(x)->contentions[0].waiter, MODEL_NONE);
	model_free(through_the_store(extract_finish(x)));
	model_free(m);
}

Test(extract, slices_that_are_not_there_are_refused)
{
	struct watched_host host = watched_host_new(2, 2, 0);
	struct extract *x = extract_new();

	cr_expect_eq(extract_take(x, host.m, 0, 0), -ERANGE);
	watched_host_slice(&host);
	cr_expect_eq(extract_take(x, host.m, 1, 1), -ERANGE);
	cr_expect_eq(extract_take(x, host.m, 1, 0), -ERANGE);
	cr_expect_eq(extract_take(x, host.m, 0, MODEL_NONE), -ERANGE);
	cr_expect_eq(extract_model(x)->slices_cnt, 0);
	extract_free(x);
	extract_free(NULL);
	model_free(host.m);
}

Test(extract, every_field_of_every_table_comes_along)
{
	struct model *m = capture_model();
	struct extract *x = extract_new();
	struct model *e;

	cr_assert_eq(extract_take(x, m, 0, 0), 0);
	e = through_the_store(extract_finish(x));
	e->host.complete = m->host.complete;
	/* Rows are numbered in the order in which they were met: tables of one row a kind tell. */
	cr_expect_eq(e->processes_cnt, m->processes_cnt);
	cr_expect_eq(e->mappings_cnt + e->modules_cnt, 2u);
	cr_expect_eq(e->samples_cnt, m->samples_cnt);
	cr_expect_eq(e->services_cnt, m->services_cnt);
	cr_expect_eq(memcmp(&e->services[0].served, &m->services[0].served,
			    sizeof(e->services[0].served)),
		     0);
	cr_expect_eq(e->samples[1].user_stack, m->samples[1].user_stack, "lost: the id stays");
	cr_expect_eq(e->losses_cnt, m->losses_cnt);
	cr_expect_str_eq(e->host.filter, m->host.filter);
	cr_expect_eq(e->host.off, m->host.off);
	model_free(e);
	model_free(m);
}

Test(extract, mappings_of_who_is_sampled_follow)
{
	struct watched_host host = watched_host_new(2, 2, 1);
	struct extract *x = extract_new();
	const struct model_process *p;
	struct model_mapping map;
	uint32_t row;

	watched_host_slice(&host);
	cr_assert_eq(extract_take(x, host.m, 0, 0), 0);
	row = model_process_find(extract_model(x), 1000, 7 * WATCHED_SECOND);
	p = &extract_model(x)->processes[row];
	cr_assert_eq(p->mapping_cnt, 1);
	cr_expect_eq(p->mappings[0].to_ns, 0);
	/* A library takes the place of another. */
	row = model_process_find(host.m, 1000, 7 * WATCHED_SECOND);
	map = host.m->processes[row].mappings[0];
	map.from_ns = host.m->host.end_ns + 5;
	map.file_offset = 0x1000;
	cr_assert_eq(model_mapping_add(host.m, row, &map), 0);
	p->mappings[0].dirty = false;
	watched_host_slice(&host);
	cr_assert_eq(extract_take(x, host.m, 1, 1), 0);
	row = model_process_find(extract_model(x), 1000, 7 * WATCHED_SECOND);
	p = &extract_model(x)->processes[row];
	cr_assert_eq(p->mapping_cnt, 2);
	cr_expect_eq(p->mappings[0].to_ns, map.from_ns);
	cr_expect(p->mappings[0].dirty);
	cr_expect_eq(p->mappings[1].file_offset, 0x1000);
	/* Nothing happened: nothing is to be written. */
	extract_model(x)->processes[row].dirty = false;
	extract_model(x)->processes[row].mappings[1].dirty = false;
	watched_host_slice(&host);
	cr_assert_eq(extract_take(x, host.m, 2, 2), 0);
	p = &extract_model(x)->processes[row];
	cr_expect(!p->dirty && !p->mappings[1].dirty);
	extract_free(x);
	model_free(host.m);
}

#define MS 1000000ull

static void add_turn(struct model *m, uint64_t ms, uint32_t cpu, uint32_t thread, uint32_t from,
		     uint8_t flags)
{
	build_switch(
		m, ms * MS,
		(struct model_switch){.cpu = cpu, .thread = thread, .other = from, .flags = flags});
}

/* As the resident recorder does: a window is read at the end of its last slice, goes into each
 * capture under way, and is forgotten; the next one may reach back into it. */
Test(extract, switches_of_a_window_come_with_its_last_slice_and_once)
{
	static const uint64_t times_ms[] = {1000, 1000, 1500, 2500, 3500};
	struct model *m = build_model(2, 99);
	uint32_t a = build_thread(m, build_process(m, 100, "a", 0), 100, "a", BUILD_SECOND, 'R');
	uint32_t b = build_thread(m, build_process(m, 200, "b", 0), 200, "b", BUILD_SECOND, 'R');
	struct extract *x = extract_new();
	const struct model *taken;

	cr_assert(x);
	build_books(m, 4);
	/* The capture begins with the slice from 1 s on, the window before it. */
	cr_assert_eq(extract_take(x, m, 1, 1), 0);
	add_turn(m, 200, 0, a, MODEL_NONE, SWITCH_BEGINS);
	add_turn(m, 200, 1, MODEL_NONE, MODEL_NONE, SWITCH_BEGINS);
	add_turn(m, 1500, 0, b, a, SWITCH_PREEMPTED);
	add_turn(m, 2500, 1, a, MODEL_NONE, 0);
	cr_assert_eq(extract_take(x, m, 2, 2), 0);
	model_forget_switches(m);
	/* The window of its end reaches back. */
	add_turn(m, 1200, 0, a, MODEL_NONE, SWITCH_BEGINS);
	add_turn(m, 1200, 1, MODEL_NONE, MODEL_NONE, SWITCH_BEGINS);
	add_turn(m, 1500, 0, b, a, SWITCH_PREEMPTED);
	add_turn(m, 2500, 1, a, MODEL_NONE, 0);
	add_turn(m, 3500, 1, MODEL_NONE, a, 0);
	cr_assert_eq(extract_take(x, m, 3, 3), 0);
	taken = extract_model(x);
	cr_assert_eq(taken->switches_cnt, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct model_switch *row = &taken->switches[i];

		cr_expect_eq(row->time_ns, BUILD_START_NS + times_ms[i] * MS, "%zu", i);
		cr_expect_eq(row->flags & SWITCH_BEGINS, i < 2 ? SWITCH_BEGINS : 0);
		cr_expect_eq(row->slice, (times_ms[i] - 1000) / 1000, "%zu", i);
		if (row->cpu == 0 && i < 2)
			cr_expect_eq(taken->threads[row->thread].tid, 100);
	}
	cr_expect_eq(taken->threads[taken->switches[2].thread].tid, 200);
	extract_free(x);
	model_free(m);
}
