/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one party's files say names that party's code alone. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "names_host.h"
#include "opener/file_requests.h"
#include "opener/opener.h"

#define GLOBAL_FUNC ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define BUILD_ID    0xab
#define DEBUG_PATH                               \
	"root/usr/lib/debug/.build-id/ab/"       \
	"ababababababababababababababababababab" \
	".debug"
#define MAPS  "7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/libc.so\n"
#define PLACE 0x7f0000001010ull

static const struct fake_symbol honest = {"malloc", 0x1000, 0x100, GLOBAL_FUNC};
static const struct fake_symbol forged = {"nothing_to_see_here", 0x1000, 0x100, GLOBAL_FUNC};

/* A file with that symbol, NULL = none, and the build id that everything has here. */
static void put(struct host *h, const char *path, const struct fake_symbol *symbol)
{
	struct fake_elf elf = {
		.symbols = symbol, .symbols_cnt = symbol != NULL, .build_id = BUILD_ID};
	static uint8_t image[FAKE_ELF_BYTES];

	fake_elf(&elf, image);
	fake_file(&h->proc, path, image, sizeof(image));
}

/* The same file in two roots, as on a host whose libraries are mounted into a container. */
static void put_link(struct host *h, const char *from, const char *to)
{
	char path[512];

	snprintf(path, sizeof(path), "%s", fake_path(&h->proc, "%s", from));
	fake_text(&h->proc, to, "");
	cr_assert_eq(unlink(fake_path(&h->proc, "%s", to)), 0);
	cr_assert_eq(link(path, fake_path(&h->proc, "%s", to)), 0);
}

/* A process of a user that maps the library, with the build id as the kernel tells it. */
static void map_library(struct host *h, uint32_t tgid, const char *uid, bool told)
{
	struct fake_process p = {.tgid = tgid,
				 .start_ticks = START_TICKS,
				 .comm = "x",
				 .cgroup = "0::/system.slice/x.service\n",
				 .uid = uid,
				 .maps = told ? "" : MAPS};
	struct model_module module = {.path = "/lib/libc.so", .build_id_len = 20};
	struct model_mapping map = {.start = 0x7f0000001000,
				    .end = 0x7f0000002000,
				    .file_offset = 0x1000,
				    .from_ns = 1,
				    .kind = MAPPING_FILE};

	host_add(h, &p);
	if (!told)
		return;
	memset(module.build_id, BUILD_ID, 20);
	map.module = model_module_get(h->m, &module);
	model_mapping_add(h->m, h->process, &map);
}

Test(names_party, a_forged_build_id_misnames_nobody_else)
{
	static const struct {
		const char *name;
		bool told; /* the kernel tells the build id, else the inode */
		const char *attacker, *victim;
	} rows[] = {
		{"users, build id told", true, "1000", "1001"},
		{"users, build id not told", false, "1000", "1001"},
		{"a user against root", true, "1000", "0"},
		{"root is a user, too", true, "0", "1001"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host h;

		host_make(&h, "", "/app/x");
		put(&h, "300/root/lib/libc.so", &forged);
		put(&h, "400/root/lib/libc.so", &honest);
		map_library(&h, 300, rows[i].attacker, rows[i].told);
		cr_expect_str_eq(name_at(&h, PLACE, 5)->name, forged.name, "%s", rows[i].name);
		map_library(&h, 400, rows[i].victim, rows[i].told);
		cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name, "%s", rows[i].name);
		host_end(&h);
	}
}

Test(names_party, a_stripped_library_is_not_named_by_a_forged_one)
{
	struct host h;

	host_make(&h, "", "/app/x");
	put(&h, "300/root/lib/libc.so", &forged);
	put(&h, "400/root/lib/libc.so", NULL);
	map_library(&h, 300, "1000", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, forged.name);
	map_library(&h, 400, "1001", true);
	cr_expect_eq(name_at(&h, PLACE, 5)->reason, REASON_NO_SYMBOL);
	host_end(&h);
}

Test(names_party, a_forged_debug_file_names_its_own_root_alone)
{
	struct host h;

	host_make(&h, "", "/app/x");
	put(&h, "400/root/lib/libc.so", NULL);
	put_link(&h, "400/root/lib/libc.so", "300/root/lib/libc.so");
	put(&h, "300/" DEBUG_PATH, &forged);
	map_library(&h, 300, "1000", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, forged.name);
	map_library(&h, 400, "1001", true);
	cr_expect_eq(name_at(&h, PLACE, 5)->reason, REASON_NO_SYMBOL, "%s",
		     name_at(&h, PLACE, 5)->name);
	host_end(&h);
}

/* It was looked up when it was alive, and cannot be opened any more. */
Test(names_party, a_gone_process_is_not_named_by_strangers)
{
	struct model_module module = {.path = "/nowhere/libc.so", .build_id_len = 20};
	struct model_mapping map = {.start = 0x7f0000001000,
				    .end = 0x7f0000002000,
				    .file_offset = 0x1000,
				    .from_ns = 1,
				    .kind = MAPPING_FILE};
	struct host h;

	host_make(&h, "", "/app/x");
	put(&h, "300/root/lib/libc.so", &forged);
	map_library(&h, 300, "1000", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, forged.name);
	h.process = model_process_get(h.m, 200, 1);
	h.m->processes[h.process].flags |= PROCESS_GONE;
	memset(module.build_id, BUILD_ID, 20);
	map.module = model_module_get(h.m, &module);
	model_mapping_add(h.m, h.process, &map);
	cr_expect_eq(name_at(&h, PLACE, 5)->reason, REASON_PROCESS_GONE);
	host_end(&h);
}

Test(names_party, equal_tables_of_many_parties_are_kept_once)
{
	struct host h;
	uint64_t one, all;
	char path[64], uid[16];

	host_make(&h, "", "/app/x");
	put(&h, "300/root/lib/libc.so", &honest);
	map_library(&h, 300, "1000", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	one = names_cost(h.n).table_bytes;
	for (uint32_t i = 1; i < 20; i++) {
		snprintf(path, sizeof(path), "%u/root/lib/libc.so", 300 + i);
		snprintf(uid, sizeof(uid), "%u", 1000 + i);
		put(&h, path, &honest);
		map_library(&h, 300 + i, uid, true);
		cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	}
	all = names_cost(h.n).table_bytes;
	cr_expect_leq(all, one + 20 * 1024, "%lu, then %lu", one, all);
	host_end(&h);
}

Test(names_party, a_party_in_debt_waits_alone_for_its_files)
{
	struct nursery *nursery = nursery_new(OPENER_CAPABILITIES);
	struct workers *workers = names_workers(nursery, 0, &(struct names_file_limits){0});
	struct names_options options = {
		.nursery = nursery, .workers = workers, .deadline_ns = 10000000000ull};
	const struct model_symbol *s;
	struct host h;

	host_make(&h, "", "/app/x");
	names_free(h.n);
	options.proc_path = h.proc.path;
	h.n = names_new(&options);
	put(&h, "300/root/lib/libc.so", &honest);
	put(&h, "400/root/lib/libc.so", &honest);
	workers_charge(workers, hash_pair(1000, 1) | 1, 5000000000ull);
	map_library(&h, 300, "1000", true);
	for (uint64_t i = 0; i < 20; i++)
		cr_expect_null(name_at(&h, PLACE, 5 + i), "it waits");
	cr_expect_eq(names_waiting(h.n), 1, "once, however often it is sampled");
	map_library(&h, 400, "1001", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	names_settle(h.n, h.m);
	h.process--;
	s = name_at(&h, PLACE, 5);
	cr_expect_eq(s->reason, REASON_BUDGET, "%d", s->reason);
	host_end(&h);
	workers_free(workers);
	nursery_free(nursery);
}

/* A daemon drops its rights, and maps a file of whom it serves. */
Test(names_party, who_is_root_no_more_is_not_trusted_any_longer)
{
	struct fake_process later = {.tgid = 300,
				     .start_ticks = START_TICKS,
				     .comm = "x",
				     .cgroup = "0::/system.slice/x.service\n",
				     .uid = "1000"};
	struct model_module module = {.path = "/lib/other.so", .build_id_len = 20};
	struct model_mapping map = {.start = 0x7f0000005000,
				    .end = 0x7f0000006000,
				    .file_offset = 0x1000,
				    .from_ns = 1,
				    .kind = MAPPING_FILE};
	struct host h;

	host_make(&h, "", "/app/x");
	put(&h, "300/root/lib/libc.so", NULL);
	map_library(&h, 300, "0", false);
	cr_expect_eq(name_at(&h, PLACE, 5)->reason, REASON_NO_SYMBOL);
	fake_process(&h.proc, &later);
	put(&h, "300/root/lib/other.so", &forged);
	memset(module.build_id, BUILD_ID, 20);
	map.module = model_module_get(h.m, &module);
	model_mapping_add(h.m, h.process, &map);
	cr_expect_str_eq(name_at(&h, 0x7f0000005010, 5)->name, forged.name);
	put(&h, "400/root/lib/libc.so", &honest);
	map_library(&h, 400, "0", true);
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	host_end(&h);
}

Test(requests, root_in_a_container_is_not_trusted_before_its_facts_are_known)
{
	struct fake_process p = {.tgid = 300, .start_ticks = START_TICKS, .comm = "x", .uid = "0"};
	struct host h;
	struct file_requests a;

	host_make(&h, "", "/app/x");
	fake_process(&h.proc, &p);
	cr_assert_eq(file_requests_init(&a, NULL, h.proc.path, 1000000000), 0);
	h.process = model_process_get(h.m, 300, START_TICKS * TICK_NS + 7);
	h.m->processes[h.process].start_exact = true;
	cr_expect_neq(file_requests_party(&a, h.m, h.process), WORKERS_TRUSTED);
	names_process(h.n, h.m, h.process);
	cr_expect_eq(file_requests_party(&a, h.m, h.process), WORKERS_TRUSTED, "its facts say so");
	h.m->processes[h.process].container_id = "c0ffee";
	cr_expect_eq(file_requests_party(&a, h.m, h.process), WORKERS_TRUSTED,
		     "it is not asked again");
	file_requests_forget(&a, h.process); /* it runs another program now */
	cr_expect_neq(file_requests_party(&a, h.m, h.process), WORKERS_TRUSTED);
	file_requests_clear(&a);
	host_end(&h);
}

Test(requests, root_that_sees_the_hosts_files_is_trusted_before_its_facts_are_known)
{
	static const struct {
		const char *name, *first, *own, *uid;
		bool trusted;
	} rows[] = {
		{"as the first process", "1/ns/mnt", NULL, "0", true},
		{"as we do", NULL, "mnt", "0", true},
		{"others' files", NULL, NULL, "0", false},
		{"as the first process, but another user", "1/ns/mnt", NULL, "1000", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_process p = {
			.tgid = 300, .start_ticks = START_TICKS, .comm = "x", .uid = rows[i].uid};
		struct file_requests a;
		char own[64];
		struct host h;

		host_make(&h, "", "/app/x");
		fake_process(&h.proc, &p);
		snprintf(own, sizeof(own), "%u/ns/mnt", getpid());
		fake_text(&h.proc, "1/ns/mnt", "");
		fake_text(&h.proc, own, "");
		fake_text(&h.proc, "300/ns/mnt", "");
		if (rows[i].first)
			put_link(&h, rows[i].first, "300/ns/mnt");
		else if (rows[i].own)
			put_link(&h, own, "300/ns/mnt");
		cr_assert_eq(file_requests_init(&a, NULL, h.proc.path, 1000000000), 0);
		h.process = model_process_get(h.m, 300, START_TICKS * TICK_NS + 7);
		h.m->processes[h.process].start_exact = true;
		cr_expect_eq(file_requests_party(&a, h.m, h.process) == WORKERS_TRUSTED,
			     rows[i].trusted, "%s", rows[i].name);
		file_requests_clear(&a);
		host_end(&h);
	}
}

/* The governor's word: that party is named no further, and says since when; nobody else is
 * touched. */
Test(names_party, who_is_set_aside_is_not_named_and_says_so)
{
	const uint64_t parties[] = {hash_pair(1000, 1) | 1, hash_pair(1002, 1) | 1};
	uint32_t one, late, other;
	struct ledger_use most[2];
	struct host h;

	host_make(&h, "", "/app/x");
	put(&h, "300/root/lib/libc.so", &honest);
	put(&h, "400/root/lib/libc.so", &honest);
	put(&h, "500/root/lib/libc.so", &forged);
	map_library(&h, 300, "1000", true);
	one = h.process;
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	cr_expect_eq(names_face(h.n, h.m, parties[0]), one);
	cr_expect_eq(names_face(h.n, h.m, parties[1]), MODEL_NONE);
	cr_expect_eq(names_most(h.n, most, 2), 0, "within what everybody may use once");
	names_set_aside(h.n, parties, 2);
	map_library(&h, 500, "1002", true);
	late = h.process;
	cr_expect_null(name_at(&h, PLACE, 5), "it waits");
	map_library(&h, 400, "1001", true);
	other = h.process;
	cr_expect_str_eq(name_at(&h, PLACE, 5)->name, honest.name);
	names_tail(h.n, h.m, 10);
	cr_expect_neq(h.m->processes[one].names_aside_ns, 0);
	cr_expect_eq(h.m->processes[other].names_aside_ns, 0);
	names_settle(h.n, h.m);
	h.process = late;
	cr_expect_eq(name_at(&h, PLACE, 5)->reason, REASON_BUDGET);
	host_end(&h);
}
