/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JIT code on a made-up host: perf maps that are there, late, unsafe, gone, too many. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "isolate/workers.h"
#include "model/model.h"
#include "names/jit.h"
#include "names/name_cache.h"
#include "names/names.h"
#include "names_host.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define LINE_A "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"
#define LINE_B \
	"0x7f0000100040 40 void [System.Private.CoreLib] System.String::Copy()[OptimizedTier1]\n"
#define LINE_A2 "0x7f0000100000 40 void [Shop.Core] Shop.Cart::Remove()[OptimizedTier1]\n"

Test(names_jit, jit_code_by_the_perf_map)
{
	struct host h;
	const struct model_symbol *s;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_B);
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Add");
	cr_expect_str_eq(s->module, "Shop.Core");
	cr_expect_str_eq(s->raw, "instance void [Shop.Core] Shop.Cart::Add(int32)");
	cr_expect_eq(s->kind, KIND_JIT);
	cr_expect(s->application);
	cr_expect_str_eq(location_at(&h, JIT + 0x10, 100)->tier, "QuickJitted");
	cr_expect(!name_at(&h, JIT + 0x50, 100)->application);
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_NAMED);

	/* The memory is used again: the name is that of the sample's time. */
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_B LINE_A2);
	names_tail(h.n, h.m, 500);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 600)->name, "Shop.Cart.Remove");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 400)->name, "Shop.Cart.Add");
	host_end(&h);
}

Test(names_jit, jit_code_whose_line_comes_later)
{
	struct host h;
	const struct model_location *l;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B);
	names_process(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100), "waits");
	cr_expect_null(name_at(&h, JIT + 0x11, 300), "waits");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B LINE_A);
	names_tail(h.n, h.m, 200);
	l = location_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(l);
	cr_expect_str_eq(h.m->symbols[l->symbol].name, "Shop.Cart.Add");
	cr_expect_eq(l->flags, LOCATION_LATER);
	l = location_at(&h, JIT + 0x11, 300);
	cr_assert_not_null(l);
	cr_expect_eq(l->flags, 0);
	host_end(&h);
}

/* Reasons for JIT code without a name, after patience or settling. */
static void check_reason(const char *name, struct host *h, enum model_reason reason,
			 enum model_reason of_map)
{
	const struct model_location *l;

	names_process(h->n, h->m, h->process);
	name_at(h, JIT + 0x10, 100);
	for (int i = 0; i < 3; i++)
		names_tail(h->n, h->m, 200 + (uint64_t)i);
	l = location_at(h, JIT + 0x10, 100);
	cr_assert_not_null(l, "%s", name);
	cr_expect_eq(h->m->symbols[l->symbol].reason, reason, "%s: %d", name,
		     h->m->symbols[l->symbol].reason);
	cr_expect_eq(h->m->processes[h->process].perf_map, of_map, "%s: %u", name,
		     h->m->processes[h->process].perf_map);
	host_end(h);
}

Test(names_jit, reasons_of_unnamed_jit_code)
{
	struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	check_reason("no map", &h, REASON_NO_PERF_MAP, REASON_NO_PERF_MAP);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B);
	check_reason("no entry", &h, REASON_PERF_MAP_NO_ENTRY, REASON_NAMED);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/x", "");
	cr_assert_eq(mkfifo(fake_path(&h.proc, "100/root/tmp/perf-7.map"), 0644), 0);
	check_reason("FIFO", &h, REASON_PERF_MAP_UNSAFE, REASON_PERF_MAP_UNSAFE);

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	utimensat(AT_FDCWD, fake_path(&h.proc, "100/root/tmp/perf-7.map"), long_ago, 0);
	check_reason("left by an earlier process", &h, REASON_PERF_MAP_STALE,
		     REASON_PERF_MAP_STALE);
}

Test(names_jit, frames_that_wait_are_settled_at_the_end)
{
	struct host h;
	const struct model_symbol *s;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	names_process(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100));
	names_settle(h.n, h.m);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_NO_PERF_MAP);
	cr_expect_eq(s->kind, KIND_JIT);
	host_end(&h);
}

Test(names_jit, a_map_that_appears_later_names_from_then_on)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	names_process(h.n, h.m, h.process);
	name_at(&h, JIT + 0x10, 100);
	for (int i = 0; i < 3; i++)
		names_tail(h.n, h.m, 200);
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_tail(h.n, h.m, 300);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 350)->name, "Shop.Cart.Add");
	cr_expect_eq(name_at(&h, JIT + 0x10, 100)->reason, REASON_NO_PERF_MAP);
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_NAMED);
	host_end(&h);
}

/* As jcmd writes it, of all code that there is; what is added afterwards is new code. */
Test(names_jit, a_map_of_another_runtime_names_what_had_no_map_and_says_so)
{
	uint32_t row;
	struct host h;

	host_make(&h, "7f0000100000-7f0000110000 rwxp 00000000 00:00 0 \n", "/usr/bin/java");
	names_process(h.n, h.m, h.process);
	name_at(&h, JIT + 0x10, 100);
	name_at(&h, JIT + 0x50, 100);
	for (int i = 0; i < 3; i++)
		names_tail(h.n, h.m, 200);
	fake_text(&h.proc, "100/root/tmp/perf-7.map", "7f0000100000 40 void Shop.add()\n");
	names_tail(h.n, h.m, 300);
	fake_text(&h.proc, "100/root/tmp/perf-7.map",
		  "7f0000100000 40 void Shop.add()\n7f0000100040 40 int Shop.tax(int)\n");
	names_tail(h.n, h.m, 400);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 350)->name, "void Shop.add()");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "void Shop.add()");
	row = model_location_find(h.m, h.process, JIT + 0x10, 100);
	cr_assert_neq(row, MODEL_NONE);
	cr_expect(h.m->locations[row].flags & LOCATION_LATER);
	cr_expect_str_eq(name_at(&h, JIT + 0x50, 450)->name, "int Shop.tax(int)");
	cr_expect_eq(name_at(&h, JIT + 0x50, 100)->reason, REASON_ANONYMOUS_CODE);
	host_end(&h);
}

Test(names_jit, anonymous_code_is_jit_code_only_with_a_perf_map)
{
	static const char maps[] = "7f0000100000-7f0000110000 rwxp 00000000 00:00 0 \n";
	struct host h;
	const struct model_symbol *s;

	host_make(&h, maps, "/usr/bin/node");
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_ANONYMOUS_CODE);
	cr_expect_eq(s->kind, KIND_UNKNOWN);
	host_end(&h);

	host_make(&h, maps, "/usr/bin/node");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", "7f0000100000 40 LazyCompile:*f a.js:1\n");
	names_process(h.n, h.m, h.process);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_NAMED);
	cr_expect_eq(s->kind, KIND_JIT);
	host_end(&h);
}

/* Whether there is a map was not known at first; once it is, the same address says so. */
Test(names_jit, anonymous_code_does_not_stay_pending)
{
	const struct model_symbol *s;
	struct host h;

	host_make(&h, "7f0000400000-7f0000410000 rwxp 00000000 00:00 0 \n", "/usr/bin/node");
	names_process(h.n, h.m, h.process);
	names_unwind_begin(h.n, 0);
	name_at(&h, 0x7f0000400010, 100);
	names_unwind_end(h.n);
	for (int i = 0; i < 4; i++) {
		names_tail(h.n, h.m, 200);
		name_at(&h, 0x7f0000400010, 300);
	}
	s = name_at(&h, 0x7f0000400010, 400);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_ANONYMOUS_CODE, "%s", model_reason_text(s->reason));
	host_end(&h);
}

/* On a full host several slices may have no time for it. */
Test(names_jit, a_map_that_nobody_had_time_to_look_for_is_looked_for_at_the_end)
{
	const struct model_symbol *s;
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_process(h.n, h.m, h.process);
	names_unwind_begin(h.n, 0);
	cr_expect_null(name_at(&h, JIT + 0x10, 100));
	for (int i = 0; i < 5; i++)
		names_tail(h.n, h.m, 200);
	cr_expect_null(name_at(&h, JIT + 0x10, 100), "it waits");
	names_unwind_end(h.n);
	names_settle(h.n, h.m);
	s = name_at(&h, JIT + 0x10, 100);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Add", "%s", model_reason_text(s->reason));
	host_end(&h);
}

Test(names_jit, more_maps_than_may_be_open_close_the_longest_unused)
{
	static const char maps[] = "7f0000100000-7f0000110000 r-xs 00000000 00:01 9 "
				   "/memfd:doublemapper (deleted)\n";
	struct host h;
	uint32_t first;

	host_make(&h, maps, "/app/Shop.Api");
	first = h.process;
	for (uint32_t i = 0; i <= 256; i++) {
		struct fake_process p = {.tgid = 1000 + i,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .exe = "/app/x",
					 .maps = maps};
		char name[64];

		fake_process(&h.proc, &p);
		snprintf(name, sizeof(name), "%u/root/tmp/perf-7.map", p.tgid);
		fake_text(&h.proc, name, LINE_A);
		h.process = model_process_get(h.m, p.tgid, START_TICKS * TICK_NS);
		names_tail(h.n, h.m, 50); /* in one slice so many may wait for too long */
		names_process(h.n, h.m, h.process);
		cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	}
	cr_expect_eq(h.m->processes[first + 1].perf_map, REASON_LIMIT);
	cr_expect_eq(h.m->processes[first + 2].perf_map, REASON_NAMED);
	h.process = first + 1;
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add", "names stay");
	host_end(&h);
}

Test(names_jit, huge_sparse_maps_together_do_not_hold_up_a_slice)
{
	struct timespec before, after;
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	for (uint32_t i = 0; i < 8; i++) {
		struct fake_process p = {.tgid = 1000 + i,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .exe = "/app/x",
					 .maps = MAPS_LIB};
		char name[64];

		fake_process(&h.proc, &p);
		snprintf(name, sizeof(name), "%u/root/tmp/perf-7.map", p.tgid);
		fake_text(&h.proc, name, LINE_A);
		cr_assert_eq(truncate(fake_path(&h.proc, "%s", name), UINT32_MAX), 0);
		h.process = model_process_get(h.m, p.tgid, START_TICKS * TICK_NS);
		names_process(h.n, h.m, h.process);
		name_at(&h, JIT + 0x10, 100);
	}
	/* Others may have the CPU. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	names_tail(h.n, h.m, 200);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	cr_expect_lt((after.tv_sec - before.tv_sec) * 1000 +
			     (after.tv_nsec - before.tv_nsec) / 1000000,
		     500);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	host_end(&h);
}

/* A map of so many lines, each of an entry of its own. */
static void put_long_map(struct host *h, const char *name, uint32_t lines)
{
	size_t bytes = 32 * (size_t)lines, len = 0;
	char *text = malloc(bytes);

	cr_assert(text);
	for (uint32_t i = 0; i < lines; i++)
		len += (size_t)snprintf(text + len, bytes - len, "%llx 10 a\n", JIT + 16ull * i);
	fake_file(&h->proc, name, text, len);
	free(text);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Most of it is sorting the entries, which no worker does. */
Test(names_jit, what_a_long_map_costs_is_booked_on_its_process_wherever_it_was_done)
{
	uint64_t began_ns, own_ns, worker_ns;
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	put_long_map(&h, "100/root/tmp/perf-7.map", 500000);
	names_process(h.n, h.m, h.process);
	began_ns = own_cpu_ns();
	for (int i = 0; i < 100 && !name_at(&h, JIT + 0x10, 100); i++)
		names_tail(h.n, h.m, 200);
	own_ns = own_cpu_ns() - began_ns;
	worker_ns = names_cost(h.n).worker_cpu_ns;
	names_tail(h.n, h.m, 200);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "a");
	cr_expect_geq(h.m->processes[h.process].naming_cpu_ns, worker_ns + own_ns / 2,
		      "%lu of %lu + %lu", h.m->processes[h.process].naming_cpu_ns, worker_ns,
		      own_ns);
	host_end(&h);
}

/* As the resident recorder begins its model anew. */
Test(names_jit, who_used_up_his_share_has_no_other_after_a_new_beginning)
{
	struct host h;
	struct names_options options = {.proc_path = h.proc.path};
	uint64_t cost_ns;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	put_long_map(&h, "100/root/tmp/perf-7.map", 100000);
	options.nursery = nursery_new(0);
	options.workers =
		options.nursery ? names_workers(options.nursery, 0, &(struct names_file_limits){0})
				: NULL;
	cr_assert(options.workers);
	names_free(h.n);
	h.n = names_new(&options);
	names_process(h.n, h.m, h.process);
	for (int i = 0; i < 100 && !name_at(&h, JIT + 0x10, 100); i++)
		names_tail(h.n, h.m, 200);
	cost_ns = names_cost(h.n).worker_cpu_ns;
	cr_expect_gt(cost_ns, 0);
	names_free(h.n);
	h.n = names_new(&options);
	cr_expect_geq(names_cost(h.n).worker_cpu_ns, cost_ns);
	host_end(&h);
	workers_free(options.workers);
	nursery_free(options.nursery);
}

Test(names_jit, after_an_exec_the_new_map_names_nothing_of_before)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_process(h.n, h.m, h.process);
	cr_assert_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	cr_assert_null(name_at(&h, JIT + 0x50, 100), "waits");
	model_mappings_end(h.m, h.process, 200);
	h.m->processes[h.process].flags &= ~PROCESS_FACTS;
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A2 LINE_B);
	names_process_exec(h.n, h.m, h.process);
	cr_expect_eq(name_at(&h, JIT + 0x50, 100)->reason, REASON_PERF_MAP_NO_ENTRY);
	h.m->processes[h.process].flags &= ~PROCESS_FACTS;
	names_process(h.n, h.m, h.process);
	for (size_t i = 9; i < h.m->processes[h.process].mapping_cnt; i++)
		cr_expect_eq(h.m->processes[h.process].mappings[i].from_ns, 200);
	cr_expect_gt(h.m->processes[h.process].mapping_cnt, 9);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 300)->name, "Shop.Cart.Remove");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	host_end(&h);
}

Test(names_jit, samples_in_the_order_of_time_get_the_name_of_their_time)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_process(h.n, h.m, h.process);
	cr_expect_eq(names_changed_ns(h.n, h.m, h.process), 0);
	cr_assert_not_null(name_at(&h, JIT + 0x11, 100));
	/* Both came between two looks; nobody has seen the address before. */
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_A2);
	names_follow(h.n, h.m, 500);
	cr_expect_eq(names_changed_ns(h.n, h.m, h.process), 500);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 400)->name, "Shop.Cart.Add");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 600)->name, "Shop.Cart.Remove");
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 400)->name, "Shop.Cart.Add", "still");
	host_end(&h);
}

Test(names_jit, a_map_that_is_followed_dates_its_lines_by_the_last_look)
{
	struct host h;

	host_make(&h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B);
	names_process(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100), "waits");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_B LINE_A);
	names_follow(h.n, h.m, 300);
	/* What is followed is known at once; who waits is served once a slice. */
	cr_expect_str_eq(name_at(&h, JIT + 0x12, 350)->name, "Shop.Cart.Add");
	cr_expect_eq(location_at(&h, JIT + 0x12, 350)->flags, 0);
	names_tail(h.n, h.m, 200);
	cr_expect_eq(location_at(&h, JIT + 0x10, 100)->flags, LOCATION_LATER);
	host_end(&h);
}

/* Why a sample of JIT code has no name where the map could not even be looked for. */
static enum model_reason reason_without_a_look(bool in_debt)
{
	struct fake_process p = {
		.tgid = 300, .start_ticks = START_TICKS, .comm = "x", .uid = "1000", .maps = ""};
	const struct model_location *l;
	enum model_reason reason;
	struct name_cache *names;
	struct file_requests requests;
	struct sources sources = {.requests = &requests};
	struct host h;
	struct jit *j;

	host_make(&h, "", "/app/x");
	host_add(&h, &p);
	cr_assert_eq(file_requests_init(&requests, NULL, h.proc.path, 10000000000ull), 0);
	names = name_cache_new(&requests);
	sources.environs = environs_new(&requests);
	j = jit_new(&(struct jit_options){
		.sources = &sources, .cache = names, .memory_bytes = 1 << 20});
	cr_assert(names && sources.environs && j);
	requests.spent_ns = 2 * requests.slice_ns;
	if (in_debt)
		workers_charge(requests.workers, file_requests_party(&requests, h.m, h.process),
			       2 * WORKERS_PARTY_BURST_NS);
	cr_expect_eq(jit_name(j, h.m, h.process, JIT, 100, JIT_COMPILED), MODEL_NONE, "it waits");
	jit_settle(j, h.m);
	l = location_at(&h, JIT, 100);
	cr_assert(l);
	reason = h.m->symbols[l->symbol].reason;
	jit_free(j);
	name_cache_free(names);
	environs_free(sources.environs);
	file_requests_clear(&requests);
	host_end(&h);
	return reason;
}

Test(names_jit, a_map_that_there_was_no_time_to_look_for_is_no_limit_of_its_process)
{
	cr_expect_eq(reason_without_a_look(false), REASON_PENDING);
	cr_expect_eq(reason_without_a_look(true), REASON_BUDGET);
}
