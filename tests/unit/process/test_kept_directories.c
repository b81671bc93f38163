/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept of .NET processes for when they are gone: directories, maps, and their bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "names/jit.h"
#include "names/names.h"
#include "names_host.h"
#include "perfmap/maps/locate.h"
#include "process/kept_directories.h"

#define MAP_PATH "100/root/tmp/perf-7.map"
#define LINE_A	 "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"
#define LINE_B	 "0x7f0000100040 40 void [Shop.Core] Shop.Cart::Copy()[OptimizedTier1]\n"
#define SEND	 0x7f0000001210ull /* in the library that put_library() writes */

/* The process ends; /proc and its root are gone, as with its mount namespace. */
static void end_process(struct host *h)
{
	char from[512];

	snprintf(from, sizeof(from), "%s", fake_path(&h->proc, "100"));
	cr_assert_eq(rename(from, fake_path(&h->proc, "gone")), 0);
	h->m->processes[h->process].exit_ns = 1000;
}

static void host_with_tmp(struct host *h)
{
	host_make(h, MAPS_LIB, "/app/Shop.Api");
	fake_text(&h->proc, "100/root/tmp/other", "");
	names_process(h->n, h->m, h->process);
}

Test(names_keep, a_map_that_was_open_names_after_it_was_removed)
{
	struct host h;

	host_with_tmp(&h);
	fake_text(&h.proc, MAP_PATH, LINE_A);
	cr_expect(names_keep(h.n, h.m, h.process));
	cr_expect(h.m->processes[h.process].flags & PROCESS_DOTNET);
	cr_assert_eq(unlink(fake_path(&h.proc, MAP_PATH)), 0);
	end_process(&h);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 900)->name, "Shop.Cart.Add");
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_NAMED);
	host_end(&h);
}

Test(names_keep, a_map_made_after_the_last_look_is_found_in_its_directory)
{
	struct host h;

	host_with_tmp(&h);
	cr_expect_not(names_keep(h.n, h.m, h.process), "there is none yet");
	fake_text(&h.proc, MAP_PATH, LINE_A);
	end_process(&h);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 900)->name, "Shop.Cart.Add");
	host_end(&h);
}

Test(names_keep, a_frame_that_waited_when_its_process_ended_is_named)
{
	struct host h;

	host_with_tmp(&h);
	names_keep(h.n, h.m, h.process);
	cr_expect_null(name_at(&h, JIT + 0x10, 100), "waits");
	fake_text(&h.proc, MAP_PATH, LINE_A);
	end_process(&h);
	names_tail(h.n, h.m, 900);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	cr_expect_eq(location_at(&h, JIT + 0x10, 100)->flags, LOCATION_LATER);
	host_end(&h);
}

Test(names_keep, without_it_a_gone_process_says_so)
{
	struct host h;

	host_with_tmp(&h);
	fake_text(&h.proc, MAP_PATH, LINE_A);
	end_process(&h);
	name_at(&h, JIT + 0x10, 900);
	names_settle(h.n, h.m);
	cr_expect_eq(name_at(&h, JIT + 0x10, 900)->reason, REASON_PROCESS_GONE);
	host_end(&h);
}

Test(names_keep, what_is_put_into_the_directory_is_checked_as_ever)
{
	struct host h;

	host_with_tmp(&h);
	names_keep(h.n, h.m, h.process);
	cr_assert_eq(symlink("other", fake_path(&h.proc, MAP_PATH)), 0);
	end_process(&h);
	name_at(&h, JIT + 0x10, 900);
	names_settle(h.n, h.m);
	cr_expect_eq(name_at(&h, JIT + 0x10, 900)->reason, REASON_PERF_MAP_UNSAFE);
	host_end(&h);
}

Test(names_keep, libraries_are_read_below_the_root_that_was_held)
{
	struct host h;

	host_with_tmp(&h);
	put_library(&h, "100/root/lib/libx.so", 0, NAMES_HOST_SYMBOLS);
	names_keep(h.n, h.m, h.process);
	end_process(&h);
	cr_expect_str_eq(name_at(&h, SEND, 900)->name, "send");
	host_end(&h);

	host_with_tmp(&h);
	put_library(&h, "100/root/lib/libx.so", 0, NAMES_HOST_SYMBOLS);
	end_process(&h);
	cr_expect_eq(name_at(&h, SEND, 900)->reason, REASON_PROCESS_GONE, "was not held");
	host_end(&h);
}

Test(names_keep, another_file_below_the_root_is_not_taken_for_the_mapped_one)
{
	static const char maps[] = "7f0000001000-7f0000002000 r-xp 00001000 08:01 1 /lib/libx.so\n"
				   "7f0000100000-7f0000110000 r-xs 00000000 00:01 9 "
				   "/memfd:doublemapper (deleted)\n";
	struct host h;

	host_make(&h, maps, "/app/Shop.Api");
	put_library(&h, "100/root/lib/libx.so", 0, NAMES_HOST_SYMBOLS);
	names_process(h.n, h.m, h.process);
	names_keep(h.n, h.m, h.process);
	end_process(&h);
	cr_expect_neq(name_at(&h, SEND, 900)->reason, REASON_NAMED);
	host_end(&h);
}

Test(names_keep, after_an_exec_nothing_is_left_of_the_program_before)
{
	struct host h;

	host_with_tmp(&h);
	fake_text(&h.proc, MAP_PATH, LINE_A);
	names_keep(h.n, h.m, h.process);
	model_mappings_end(h.m, h.process, 200);
	names_forget(h.n, h.m, h.process);
	end_process(&h);
	h.m->processes[h.process].flags |= PROCESS_GONE;
	name_at(&h, JIT + 0x10, 900);
	names_settle(h.n, h.m);
	cr_expect_neq(name_at(&h, JIT + 0x10, 900)->reason, REASON_NAMED);
	host_end(&h);
}

static uint32_t add_process(struct host *h, uint32_t tgid, bool map)
{
	struct fake_process p = {.tgid = tgid,
				 .start_ticks = START_TICKS,
				 .comm = "x",
				 .exe = "/app/x",
				 .maps = MAPS_LIB};
	char name[64];
	uint32_t row;

	fake_process(&h->proc, &p);
	snprintf(name, sizeof(name), "%u/root/tmp/%s", tgid, map ? "perf-7.map" : "other");
	fake_text(&h->proc, name, map ? LINE_A : "");
	row = model_process_get(h->m, tgid, START_TICKS * TICK_NS);
	names_process(h->n, h->m, row);
	return row;
}

Test(names_keep, maps_that_are_only_held_push_out_none_that_is_read)
{
	struct host h;

	host_with_tmp(&h);
	fake_text(&h.proc, MAP_PATH, LINE_A);
	cr_assert_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	for (uint32_t i = 0; i <= JIT_MAPS_MAX; i++) {
		names_tail(h.n, h.m, 150); /* on a busy host the budget of waiting is spent soon */
		cr_expect(names_keep(h.n, h.m, add_process(&h, 1000 + i, true)));
	}
	fake_text(&h.proc, MAP_PATH, LINE_A LINE_B);
	names_tail(h.n, h.m, 200);
	cr_expect_str_eq(name_at(&h, JIT + 0x50, 300)->name, "Shop.Cart.Copy");
	names_tail(h.n, h.m, 250);
	/* One for which there was no room is opened when its code is seen. */
	h.process += JIT_MAPS_MAX;
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 300)->name, "Shop.Cart.Add");
	host_end(&h);
}

/* --- the room alone --------------------------------------------------------------------------- */

struct room {
	struct host h;
	struct file_requests requests;
	struct environs *environs;
	struct kept_directories *kept;
};

static void room_make(struct room *r)
{
	host_with_tmp(&r->h);
	cr_assert_eq(file_requests_init(&r->requests, NULL, r->h.proc.path, 10000000000ull), 0);
	r->environs = environs_new(&r->requests);
	cr_assert(r->environs);
	r->kept = kept_directories_new(&r->requests, r->environs);
	cr_assert(r->kept);
}

static void room_end(struct room *r)
{
	kept_directories_free(r->kept);
	environs_free(r->environs);
	file_requests_clear(&r->requests);
	host_end(&r->h);
}

Test(names_keep, processes_of_one_container_share_descriptors)
{
	struct room r;
	struct kept_place place;
	char old[512], new[512];

	room_make(&r);
	snprintf(old, sizeof(old), "%s", fake_path(&r.h.proc, "100/root"));
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t row = add_process(&r.h, 1000 + i, false);

		snprintf(new, sizeof(new), "%s", fake_path(&r.h.proc, "%u/root", 1000 + i));
		cr_assert_eq(unlink(fake_path(&r.h.proc, "%u/root/tmp/other", 1000 + i)), 0);
		cr_assert_eq(rmdir(fake_path(&r.h.proc, "%u/root/tmp", 1000 + i)), 0);
		cr_assert_eq(rmdir(new), 0);
		cr_assert_eq(symlink(old, new), 0);
		cr_expect_eq(kept_directories_keep(r.kept, r.h.m, row), REASON_NAMED);
		cr_expect_geq(kept_directories_root(r.kept, row), 0);
		cr_expect(kept_directories_map_place(r.kept, row, 1, &place));
		cr_expect_eq(place.ns_pid, 7);
		cr_expect_eq(place.euid, geteuid());
		cr_expect_not(kept_directories_map_place(r.kept, row, 0, &place),
			      "no such setting");
	}
	cr_expect_eq(kept_directories_cnt(r.kept), 2, "root and /tmp, not %u",
		     kept_directories_cnt(r.kept));
	room_end(&r);
}

Test(names_keep, beyond_the_bound_the_longest_unused_are_closed)
{
	struct room r;
	uint32_t first;

	room_make(&r);
	first = r.h.process;
	cr_assert_eq(kept_directories_keep(r.kept, r.h.m, first), REASON_NAMED);
	for (uint32_t i = 0; i < KEPT_DIRECTORIES_MAX / 2; i++) {
		file_requests_slice(&r.requests);
		cr_expect_geq(kept_directories_root(r.kept, first), 0, "is used, so it stays");
		cr_expect_eq(
			kept_directories_keep(r.kept, r.h.m, add_process(&r.h, 1000 + i, false)),
			REASON_NAMED);
	}
	cr_expect_leq(kept_directories_cnt(r.kept), KEPT_DIRECTORIES_MAX);
	cr_expect_eq(kept_directories_closed(r.kept), 1);
	cr_expect_geq(kept_directories_root(r.kept, first), 0);
	cr_expect_eq(kept_directories_root(r.kept, first + 1), -1);
	room_end(&r);
}

Test(names_keep, some_looks_after_the_end_nothing_is_open)
{
	struct room r;

	room_make(&r);
	cr_assert_eq(kept_directories_keep(r.kept, r.h.m, r.h.process), REASON_NAMED);
	kept_directories_tail(r.kept, r.h.m);
	cr_expect_eq(kept_directories_cnt(r.kept), 2);
	r.h.m->processes[r.h.process].exit_ns = 1000;
	for (unsigned i = 0; i < KEPT_LOOKS; i++)
		kept_directories_tail(r.kept, r.h.m);
	cr_expect_eq(kept_directories_cnt(r.kept), 2, "its last samples are still to be named");
	kept_directories_tail(r.kept, r.h.m);
	cr_expect_eq(kept_directories_cnt(r.kept), 0);
	room_end(&r);
}
