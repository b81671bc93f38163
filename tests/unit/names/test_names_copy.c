/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf maps on file systems that may hang, of which copies are followed; needs to mount one. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "names/jit.h"
#include "names/names.h"
#include "names_host.h"

#define LINE_A "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"
#define LINE_B "0x7f0000100040 40 void [Shop.Core] Shop.Cart::Copy()[OptimizedTier1]\n"

/* A file system that is none of those which cannot hang lies at /tmp of the process. */
static void mount_tmp(const struct host *h, uint32_t tgid)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/root/tmp/x", tgid);
	fake_text(&h->proc, name, "");
	if (mount("ramfs", fake_path(&h->proc, "%u/root/tmp", tgid), "ramfs", 0, NULL))
		cr_skip_test("no file system can be mounted");
}

static void copy_host_make(struct host *h)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("no mount namespace");
	host_make(h, MAPS_LIB, "/app/Shop.Api");
	mount_tmp(h, 100);
}

static void copy_host_end(struct host *h, uint32_t last)
{
	for (uint32_t tgid = 100; tgid <= last; tgid++)
		umount2(fake_path(&h->proc, "%u/root/tmp", tgid), MNT_DETACH);
	host_end(h);
}

Test(names_copy, a_copy_is_followed_as_the_map_is)
{
	struct host h;

	copy_host_make(&h);
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A);
	names_process(h.n, h.m, h.process);
	cr_expect_str_eq(name_at(&h, JIT + 0x10, 100)->name, "Shop.Cart.Add");
	cr_expect_null(name_at(&h, JIT + 0x50, 100), "waits");
	fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_A LINE_B);
	names_tail(h.n, h.m, 200);
	cr_expect_str_eq(name_at(&h, JIT + 0x50, 300)->name, "Shop.Cart.Copy");
	/* Written anew: another text of the same length is not seen, one of another length is. */
	fake_text(&h.proc, "100/root/tmp/perf-7.map",
		  LINE_B "0x7f0000100080 40 void [a] A::New()\n" LINE_A);
	for (uint64_t i = 0; i < 3; i++)
		names_tail(h.n, h.m, 400 + i);
	cr_expect_str_eq(name_at(&h, JIT + 0x90, 500)->name, "A.New");
	copy_host_end(&h, 100);
}

/* 72 MiB of maps of one party. */
Test(names_copy, copies_of_a_party_are_bounded_and_count_as_memory)
{
	static const char line[] = "# a comment that is no entry\n";
	const size_t bytes = 24u << 20;
	char *text = malloc(bytes + sizeof(line)), name[64];
	struct host h;
	uint64_t before, taken;

	cr_assert(text);
	for (size_t at = 0; at < bytes; at += sizeof(line) - 1)
		memcpy(text + at, line, sizeof(line));
	copy_host_make(&h);
	before = names_cost(h.n).table_bytes;
	for (uint32_t tgid = 100; tgid < 103; tgid++) {
		struct fake_process p = {.tgid = tgid,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .exe = "/x",
					 .maps = MAPS_LIB};

		if (tgid > 100) {
			host_add(&h, &p);
			mount_tmp(&h, tgid);
		}
		snprintf(name, sizeof(name), "%u/root/tmp/perf-7.map", tgid);
		fake_file(&h.proc, name, text, bytes);
		names_process(h.n, h.m, h.process);
		name_at(&h, JIT + 0x10, 100);
	}
	for (uint64_t i = 0; i < 12; i++) {
		usleep(20000);
		names_tail(h.n, h.m, 200 + i);
	}
	taken = names_cost(h.n).table_bytes - before;
	cr_expect_geq(taken, 16u << 20, "%zu", (size_t)taken);
	cr_expect_leq(taken, JIT_COPIES_PARTY_BYTES + (4u << 20), "%zu", (size_t)taken);
	copy_host_end(&h, 102);
	free(text);
}
