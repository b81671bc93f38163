/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .NET processes as they look from outside. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_dotnet.h"

Test(dotnet, a_process_is_found_by_what_it_maps)
{
	static const struct {
		const char *name, *maps;
		int err;
		enum dotnet_found found;
		const char *version;
		bool musl;
	} cases[] = {
		{"library", FAKE_DOTNET_MAPS, 0, DOTNET_BY_LIBRARY, "10.0.1", false},
		{"self-contained",
		 "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /app/libcoreclr.so\n", 0,
		 DOTNET_BY_LIBRARY, "", false},
		{"JIT memory alone",
		 "7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n",
		 0, DOTNET_BY_DOUBLEMAPPER, "", false},
		{"musl",
		 FAKE_DOTNET_MAPS
		 "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /lib/ld-musl-x86_64.so.1\n",
		 0, DOTNET_BY_LIBRARY, "10.0.1", true},
		{"none", "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /lib/libc.so.6\n",
		 -ENOENT, 0, "", false},
		{"a path that says it",
		 "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "
		 "/Microsoft.NETCore.App/../libcoreclr.so\n",
		 0, DOTNET_BY_LIBRARY, "", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_list list = {0};
		int err;

		fake_dotnet_begin(cases[i].maps);
		err = dotnet_read(fake_dotnet_requests(), fake_dotnet_tgid(), &list);
		cr_expect_eq(err, cases[i].err, "%s: %d", cases[i].name, err);
		if (!err) {
			cr_expect_eq(list.rows[0].process.found, cases[i].found, "%s",
				     cases[i].name);
			cr_expect_str_eq(list.rows[0].process.version, cases[i].version, "%s",
					 cases[i].name);
			cr_expect_eq(list.rows[0].process.musl, cases[i].musl, "%s", cases[i].name);
			cr_expect_eq(list.rows[0].process.ns_pid, 7);
			cr_expect_eq(list.rows[0].process.start_ticks, FAKE_DOTNET_START);
		}
		dotnet_clear(&list);
		fake_dotnet_end();
	}
}

Test(dotnet, all_processes_are_listed_by_pid)
{
	struct fake_process others[] = {
		{.tgid = 4000001,
		 .start_ticks = 5,
		 .comm = "a",
		 .exe = "/a",
		 .maps = FAKE_DOTNET_MAPS},
		{.tgid = 4000000,
		 .start_ticks = 5,
		 .comm = "b",
		 .exe = "/b",
		 .maps = FAKE_DOTNET_MAPS},
		{.tgid = 3999999, .start_ticks = 5, .comm = "c", .exe = "/c", .maps = ""},
	};
	struct dotnet_list list = {0};

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	for (size_t i = 0; i < 3; i++)
		fake_process(fake_dotnet_proc(), &others[i]);
	cr_assert_eq(dotnet_read(fake_dotnet_requests(), 0, &list), 0);
	cr_assert_eq(list.cnt, 3);
	cr_expect_eq(list.rows[0].process.tgid, fake_dotnet_tgid());
	cr_expect_eq(list.rows[1].process.tgid, 4000000);
	cr_expect_str_eq(list.rows[2].process.name, "a");
	dotnet_clear(&list);
	cr_expect_eq(dotnet_read(fake_dotnet_requests(), 4100000, &list), -ESRCH);
	fake_dotnet_end();
}

Test(dotnet, another_profiler_is_told)
{
	static const struct {
		const char *name, *maps, *environ, *profiler;
	} cases[] = {
		{"named and loaded",
		 FAKE_DOTNET_MAPS
		 "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/x/libtrace.so\n",
		 "CORECLR_ENABLE_PROFILING=1\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n",
		 "libtrace.so"},
		{"named, not loaded", FAKE_DOTNET_MAPS,
		 "CORECLR_ENABLE_PROFILING=1\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n", ""},
		{"named, switched off",
		 FAKE_DOTNET_MAPS
		 "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/x/libtrace.so\n",
		 "CORECLR_ENABLE_PROFILING=0\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n", ""},
		{"attached later",
		 FAKE_DOTNET_MAPS
		 "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/libMonitorProfiler.so\n",
		 "", "libMonitorProfiler.so"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char environ[256], name[64];

		fake_dotnet_begin(cases[i].maps);
		snprintf(environ, sizeof(environ), "%s", cases[i].environ);
		for (char *at = environ; *at; at++)
			*at = *at == '\n' ? '\0' : *at;
		snprintf(name, sizeof(name), "%u/environ", fake_dotnet_tgid());
		fake_file(fake_dotnet_proc(), name, environ, strlen(cases[i].environ));
		cr_expect_str_eq(fake_dotnet_look().profiler, cases[i].profiler, "%s",
				 cases[i].name);
		fake_dotnet_end();
	}
}

Test(dotnet, a_map_has_the_state_of_its_file_and_of_who_holds_it)
{
	static const struct {
		const char *name, *environ;
		bool file, open, deleted;
		enum dotnet_map map;
	} cases[] = {
		{"none", "", false, false, false, DOTNET_MAP_ABSENT},
		{"none although asked for", "DOTNET_PerfMapEnabled=1", false, false, false,
		 DOTNET_MAP_UNWRITABLE},
		{"since start", "DOTNET_PerfMapEnabled=3", true, true, false,
		 DOTNET_MAP_SINCE_START},
		{"switched on", "", true, true, false, DOTNET_MAP_SWITCHED_ON},
		{"switched off", "", true, false, false, DOTNET_MAP_SWITCHED_OFF},
		{"since start, switched off", "DOTNET_PerfMapEnabled=1", true, false, false,
		 DOTNET_MAP_SWITCHED_OFF},
		{"deleted", "", false, true, true, DOTNET_MAP_DELETED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_process p;

		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		fake_dotnet_text("environ", cases[i].environ);
		if (cases[i].file)
			fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
		if (cases[i].deleted) {
			/* The kernel's text of such a link, and a file behind it. */
			fake_dotnet_text(FAKE_DOTNET_MAP " (deleted)", FAKE_DOTNET_MAP_TEXT);
			fake_dotnet_holds(fake_dotnet_path(FAKE_DOTNET_MAP " (deleted)"));
		} else if (cases[i].open) {
			fake_dotnet_holds(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP));
		}
		p = fake_dotnet_look();
		cr_expect_eq(p.map, cases[i].map, "%s: %s", cases[i].name, dotnet_map_text(p.map));
		cr_expect_str_eq(p.map_path, "/tmp/" FAKE_DOTNET_MAP);
		if (cases[i].file) {
			cr_expect_eq(p.map_entries, 2);
			cr_expect_eq(p.map_methods, 1);
			cr_expect_eq(p.map_bytes, strlen(FAKE_DOTNET_MAP_TEXT));
		}
		fake_dotnet_end();
	}
}

Test(dotnet, a_list_ends_when_somebody_asks_for_it)
{
	volatile sig_atomic_t stop = 1;
	struct dotnet_list list = {0};

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	fake_dotnet_requests()->stop = &stop;
	cr_expect_eq(dotnet_read(fake_dotnet_requests(), 0, &list), -EINTR);
	cr_expect_eq(dotnet_read(fake_dotnet_requests(), fake_dotnet_tgid(), &list), 0,
		     "one is looked at");
	dotnet_clear(&list);
	fake_dotnet_end();
}

/* Sparse files cost nothing: whoever plants many must not make a list take minutes. */
Test(dotnet, large_maps_of_many_are_counted_up_to_a_bound)
{
	const uint64_t map_bytes = 64ull << 20;
	const size_t counted = DOTNET_COUNTED_BYTES_MAX / map_bytes, cnt = counted + 2;
	struct dotnet_list list = {0};
	size_t with_entries = 0, cut = 0;
	char name[64];

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	for (size_t i = 0; i < cnt; i++) {
		struct fake_process p = {.tgid = (uint32_t)(4100000 + i),
					 .start_ticks = FAKE_DOTNET_START,
					 .comm = "a",
					 .exe = "/a",
					 .maps = FAKE_DOTNET_MAPS};

		fake_process(fake_dotnet_proc(), &p);
		cr_assert_eq(mkdir(fake_path(fake_dotnet_proc(), "%u/root/tmp", p.tgid), 0777), 0);
		snprintf(name, sizeof(name), "%u/root/tmp/" FAKE_DOTNET_MAP, p.tgid);
		fake_text(fake_dotnet_proc(), name, FAKE_DOTNET_MAP_TEXT);
		cr_assert_eq(truncate(fake_path(fake_dotnet_proc(), "%s", name), (off_t)map_bytes),
			     0);
	}
	cr_assert_eq(dotnet_read(fake_dotnet_requests(), 0, &list), 0);
	cr_assert_eq(list.cnt, cnt + 1);
	for (size_t i = 1; i < list.cnt; i++) {
		with_entries += list.rows[i].process.map_entries > 0;
		cut += list.rows[i].process.map_cut;
		cr_expect_eq(list.rows[i].process.map_bytes, map_bytes);
	}
	cr_expect_eq(with_entries, counted, "%zu", with_entries);
	cr_expect_eq(cut, cnt, "%zu", cut);
	dotnet_clear(&list);
	fake_dotnet_end();
}

/* What lies at the path of the map, and what the runtime would do to it. */
static void put_foreign(void)
{
	char status[256];

	fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
	snprintf(status, sizeof(status), "Name:\tx\nPid:\t1\nUid:\t%u\t%u\t%u\t%u\nNStgid:\t1\t7\n",
		 geteuid() + 1, geteuid() + 1, geteuid() + 1, geteuid() + 1);
	fake_dotnet_text("status", status);
}
static void close_folder(void)
{
	char status[512];

	/* Another user without capabilities, and a folder that is its owner's alone. */
	snprintf(status, sizeof(status),
		 "Name:\tx\nPid:\t1\nUid:\t%u\t%u\t%u\t%u\nGid:\t9\t9\t9\t9\nGroups:\t9 10 \n"
		 "NStgid:\t1\t7\nCapEff:\t0000000000000000\n",
		 geteuid() + 1, geteuid() + 1, geteuid() + 1, geteuid() + 1);
	fake_dotnet_text("status", status);
	cr_assert_eq(chmod(fake_dotnet_path("root/tmp"), 0755), 0);
}
static void put_own(void)
{
	fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
}
static void put_nothing(void)
{
}

Test(dotnet, it_is_told_what_keeps_a_map_from_being_asked_for)
{
	static const struct {
		const char *name;
		void (*put)(void);
		int refusal;
	} cases[] = {
		{"nothing there", put_nothing, 0},
		{"its own file", put_own, 0},
		{"a link", fake_dotnet_put_link, -ELOOP},
		{"a FIFO", fake_dotnet_put_fifo, -ENOTSUP},
		{"a folder", fake_dotnet_put_folder, -ENOTSUP},
		{"a hard link", fake_dotnet_put_hard_link, -EMLINK},
		{"another user's", put_foreign, -EPERM},
		{"no folder", fake_dotnet_take_folder, -ENOENT},
		{"a closed folder", close_folder, -EACCES},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int refusal;

		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		cases[i].put();
		refusal = fake_dotnet_look().map_refusal;
		cr_expect_eq(refusal, cases[i].refusal, "%s: %d", cases[i].name, refusal);
		fake_dotnet_end();
	}
}
