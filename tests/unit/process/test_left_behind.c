/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What others left of processes, read from a made-up /proc. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_dotnet.h"
#include "fake_runtime.h"
#include "names_support.h"
#include "process/left_behind.h"
#include "process/unix_sockets.h"

#define TGID 4000000u

/* Reads with a /proc alone: what is in files of processes is not asked for here. */
struct left_host {
	struct fake_proc proc;
	struct file_requests requests;
	struct left_reader reader;
};

static void put_process(struct left_host *h, uint32_t tgid, const char *cgroup)
{
	struct fake_process p = {.tgid = tgid, .start_ticks = 100, .comm = "app", .cgroup = cgroup};

	fake_process(&h->proc, &p);
}

static void put_thread(struct left_host *h, uint32_t tgid, uint32_t tid, const char *name,
		       char state, uint32_t tracer, unsigned int switches)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "%u/task/%u/status", tgid, tid);
	snprintf(text, sizeof(text),
		 "Name:\t%s\nUmask:\t0022\nState:\t%c (x)\nTgid:\t%u\nTracerPid:\t%u\n"
		 "CoreDumping:\t0\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t2\n",
		 name, state, tgid, tracer, switches);
	fake_text(&h->proc, path, text);
}

static void host_begin(struct left_host *h)
{
	memset(h, 0, sizeof(*h));
	fake_proc_make(&h->proc);
	snprintf(h->requests.proc_path, sizeof(h->requests.proc_path), "%s", h->proc.path);
	left_reader_init(&h->reader, &h->requests);
}

static void left_host_end(struct left_host *h)
{
	left_reader_clear(&h->reader);
	fake_proc_remove(&h->proc);
}

Test(left_behind, a_status_is_taken_apart)
{
	static const char text[] =
		"Name:\t.NET Finalizer\nState:\tt (tracing stop)\nTracerPid:\t77\n"
		"CoreDumping:\t1\nvoluntary_ctxt_switches:\t40\n"
		"nonvoluntary_ctxt_switches:\t2\n";
	static const char *const bad[] = {"", "x", "Name:\tx\n", "Name:\tx\nState:", "\nState:\t"};
	struct left_status s;

	cr_assert_eq(left_status_parse(text, &s), 0);
	cr_expect_str_eq(s.name, ".NET Finalizer");
	cr_expect_eq(s.state, 't');
	cr_expect_eq(s.tracer, 77);
	cr_expect(s.core_dumping);
	cr_expect_eq(s.switches, 42);
	cr_assert_eq(left_status_parse("Name:\tx\nState:\tS (sleeping)\n", &s), 0);
	cr_expect_eq(s.tracer, 0);
	cr_expect_not(s.core_dumping);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_eq(left_status_parse(bad[i], &s), -EBADMSG, "%zu", i);
}

Test(left_behind, threads_are_counted_by_their_state)
{
	struct left_host h;
	struct left_process p;

	host_begin(&h);
	put_process(&h, TGID, NULL);
	put_process(&h, 77, NULL);
	put_thread(&h, TGID, TGID, "app", 'T', 0, 10);
	put_thread(&h, TGID, TGID + 1, "b", 't', 77, 20);
	put_thread(&h, TGID, TGID + 2, "c", 'S', 77, 30);
	put_thread(&h, TGID, TGID + 3, "d", 'Z', 77, 40);
	put_thread(&h, TGID, TGID + 4, ".NET Finalizer", 'R', 0, 50);
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.threads_cnt, 4, "a zombie is none");
	cr_expect_eq(p.stopped_cnt, 1);
	cr_expect_eq(p.trace_stop_cnt, 1);
	cr_expect_eq(p.traced_cnt, 2);
	cr_expect_eq(p.tracers_cnt, 1);
	cr_expect_eq(p.tracer.tgid, 77);
	cr_expect_str_eq(p.tracer.comm, "app");
	cr_expect_eq(p.tracer.state, 'S');
	cr_expect(p.wants_cpu);
	cr_expect(p.dotnet.has_finalizer);
	cr_expect_eq(p.stopped_switches, 10 + 2 + 20 + 2);
	cr_expect_eq(p.start_ticks, 100);
	cr_expect_not(p.moves);
	/* Nothing changed: it stands. Then one of them ran. */
	cr_assert_eq(left_behind_read_again(&h.reader, &p), 0);
	cr_expect_not(p.moves);
	put_thread(&h, TGID, TGID + 1, "b", 't', 77, 21);
	cr_assert_eq(left_behind_read_again(&h.reader, &p), 0);
	cr_expect(p.moves);
	left_host_end(&h);
}

Test(left_behind, who_is_gone_or_another_is_told)
{
	struct left_host h;
	struct left_process p;

	host_begin(&h);
	cr_expect_eq(left_behind_read(&h.reader, TGID, &p), -ESRCH);
	put_process(&h, TGID, NULL);
	cr_expect_eq(left_behind_read(&h.reader, TGID, &p), -ESRCH, "no thread is left");
	put_thread(&h, TGID, TGID, "app", 'S', 0, 1);
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	p.start_ticks++;
	cr_expect_eq(left_behind_read_again(&h.reader, &p), -ESRCH, "another one of that pid");
	left_host_end(&h);
}

Test(left_behind, a_tracer_of_another_pid_namespace_has_no_number)
{
	struct left_host h;
	struct left_process p;

	host_begin(&h);
	put_process(&h, TGID, NULL);
	put_thread(&h, TGID, TGID, "app", 't', 0, 1);
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.traced_cnt, 1);
	cr_expect_eq(p.tracer.tgid, 0);
	left_host_end(&h);
}

/* --- groups ----------------------------------------------------------------------------------- */

static void put_group_file(struct left_host *h, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "groups/%s", name);
	fake_text(&h->proc, path, text);
}

static void put_mounts(struct left_host *h)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "proc /proc proc rw 0 0\ncgroup2 %s/groups/v2 cgroup2 rw 0 0\n"
		 "cgroup %s/groups/v1 cgroup rw,relatime,freezer 0 0\n",
		 h->proc.path, h->proc.path);
	fake_text(&h->proc, "self/mounts", text);
	freezer_find(h->proc.path, &h->reader.freezer);
}

Test(left_behind, frozen_groups_are_found_up_to_the_one_that_was_frozen)
{
	static const struct {
		const char *name, *cgroup, *files[8]; /* name, text ... */
		enum left_freezer frozen;
		bool freezing, found;
		const char *group; /* its end */
		uint32_t processes_cnt;
	} cases[] = {
		{"v2, itself",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", "v2/a/b/cgroup.freeze", "1\n",
		  "v2/a/b/cgroup.procs", "1\n2\n", NULL},
		 LEFT_FROZEN_V2,
		 false,
		 true,
		 "/v2/a/b",
		 2},
		{"v2, from above",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", "v2/a/b/cgroup.freeze", "0\n",
		  "v2/a/cgroup.freeze", "1\n", "v2/a/b/cgroup.procs", "1\n"},
		 LEFT_FROZEN_V2,
		 false,
		 true,
		 "/v2/a",
		 1},
		{"v2, by whom is not seen",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", NULL},
		 LEFT_FROZEN_V2,
		 false,
		 false,
		 "",
		 0},
		{"v2, not",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 0\n", NULL},
		 LEFT_NOT_FROZEN,
		 false,
		 false,
		 "",
		 0},
		{"v1",
		 "6:freezer:/x\n0::/\n",
		 {"v1/x/freezer.state", "FROZEN\n", "v1/x/freezer.self_freezing", "1\n",
		  "v1/x/cgroup.procs", "1\n", NULL},
		 LEFT_FROZEN_V1,
		 false,
		 true,
		 "/v1/x",
		 1},
		{"v1, on its way",
		 "6:cpu,freezer:/x\n",
		 {"v1/x/freezer.state", "FREEZING\n", "v1/x/freezer.self_freezing", "1\n", NULL},
		 LEFT_FROZEN_V1,
		 true,
		 true,
		 "/v1/x",
		 0},
		{"v1, not",
		 "6:freezer:/x\n",
		 {"v1/x/freezer.state", "THAWED\n", NULL},
		 LEFT_NOT_FROZEN,
		 false,
		 false,
		 "",
		 0},
		{"beside ours", "0::/../a\n", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0},
		{"none", "", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct left_host h;
		struct left_process p;
		size_t len, want = strlen(cases[i].group);

		host_begin(&h);
		put_process(&h, TGID, cases[i].cgroup);
		put_thread(&h, TGID, TGID, "app", 'S', 0, 1);
		put_mounts(&h);
		for (size_t k = 0; k < 8 && cases[i].files[k]; k += 2)
			put_group_file(&h, cases[i].files[k], cases[i].files[k + 1]);
		cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
		cr_expect_eq(p.freeze.frozen, cases[i].frozen, "%s", cases[i].name);
		cr_expect_eq(p.freeze.freezing, cases[i].freezing, "%s", cases[i].name);
		cr_expect_eq(p.freeze.found, cases[i].found, "%s", cases[i].name);
		cr_expect_eq(p.freeze.processes_cnt, cases[i].processes_cnt, "%s", cases[i].name);
		len = strlen(p.freeze.group);
		cr_expect(len >= want && !strcmp(p.freeze.group + len - want, cases[i].group),
			  "%s: %s", cases[i].name, p.freeze.group);
		left_host_end(&h);
	}
}

Test(left_behind, the_group_that_was_frozen_is_thawed)
{
	struct left_host h;
	struct left_process p;
	char text[16] = "";
	FILE *file;

	host_begin(&h);
	put_process(&h, TGID, "0::/a/b\n");
	put_thread(&h, TGID, TGID, "app", 'S', 0, 1);
	put_mounts(&h);
	put_group_file(&h, "v2/a/b/cgroup.events", "frozen 1\n");
	put_group_file(&h, "v2/a/cgroup.freeze", "1");
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(freezer_thaw(&p.freeze), 0);
	file = fopen(fake_path(&h.proc, "groups/v2/a/cgroup.freeze"), "r");
	cr_assert(file && fgets(text, sizeof(text), file));
	fclose(file);
	cr_expect_str_eq(text, "0");
	p.freeze.found = false;
	cr_expect_eq(freezer_thaw(&p.freeze), -ENOENT);
	cr_expect_eq(freezer_thaw(&(struct left_freeze){0}), -ENOENT);
	left_host_end(&h);
}

/* --- sockets, .NET ---------------------------------------------------------------------------- */

Test(left_behind, sockets_are_counted_by_path_and_state)
{
	static const char *const lines[] = {
		"Num       RefCount Protocol Flags    Type St Inode Path",
		"0000000000000000: 00000002 00000000 00010000 0001 01 17 /tmp/x",
		"0000000000000000: 00000003 00000000 00000000 0001 03 18 /tmp/x",
		"ffff888100000000: 00000003 00000000 00000000 0001 03 19 /tmp/x",
		"0000000000000000: 00000003 00000000 00000000 0001 03 20 /tmp/xy",
		"0000000000000000: 00000003 00000000 00000000 0001 03 21 ",
		"0000000000000000: 00000003 00000000 00000000 0001 03 22",
		"/tmp/x",
		"",
	};
	struct unix_path paths[] = {{.path = "/tmp/x"}, {.path = NULL}, {.path = ""}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		unix_sockets_take_line(lines[i], strlen(lines[i]), paths, 3);
	cr_expect_eq(paths[0].listening_cnt, 1);
	cr_expect_eq(paths[0].connected_cnt, 2);
	cr_expect_eq(paths[1].connected_cnt, 0);
	cr_expect_eq(paths[2].connected_cnt, 0);
}

Test(left_behind, a_runtime_that_waits_is_known_by_its_environment_and_its_threads)
{
	static const char environ[] = "DOTNET_DiagnosticPorts=/tmp/a.sock";
	struct dotnet_list list = {0};
	struct left_reader reader;
	struct left_process p;
	char status[64];

	for (int finalizer = 0; finalizer < 2; finalizer++) {
		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		fake_dotnet_text("environ", environ);
		fake_dotnet_text("net/unix",
				 "Num\n0: 00000002 00000000 00010000 0001 01 17 /tmp/a.sock\n");
		snprintf(status, sizeof(status), "Name:\t%s\nState:\tS (sleeping)\n",
			 finalizer ? ".NET Finalizer" : "dotnet");
		fake_dotnet_text("task/1/status", status);
		left_reader_init(&reader, fake_dotnet_requests());
		cr_assert_eq(left_behind_read(&reader, fake_dotnet_tgid(), &p), 0);
		cr_assert_eq(dotnet_read(fake_dotnet_requests(), fake_dotnet_tgid(), &list), 0);
		left_behind_add_dotnet(&reader, &list.rows[0], &p);
		cr_expect(p.dotnet.is);
		cr_expect_eq(p.dotnet.ports_cnt, !finalizer);
		if (!finalizer) {
			cr_expect_str_eq(p.dotnet.ports[0].path, "/tmp/a.sock");
			cr_expect(p.dotnet.ports[0].answered);
		}
		dotnet_clear(&list);
		left_reader_clear(&reader);
		fake_dotnet_end();
	}
}

Test(left_behind, a_library_that_exports_a_class_object_is_a_profiler)
{
	static const struct {
		const char *symbol, *path;
		bool is_one;
	} cases[] = {
		{"DllGetClassObject", "/opt/libany.so", true},
		{"main", "/opt/libany.so", false},
		{"DllGetClassObject", "/opt/libmscordbi.so", false},
		{"DllGetClassObject",
		 "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.1/libown.so", false},
	};
	uint8_t image[FAKE_RUNTIME_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake_runtime library = {cases[i].symbol, ".data", 0, {0}};
		struct dotnet_list list = {0};
		struct left_reader reader;
		struct left_process p;
		char maps[1024], path[256];
		struct stat st;

		fake_dotnet_begin("");
		fake_runtime(&library, image);
		snprintf(path, sizeof(path), "%u/root%s", fake_dotnet_tgid(), cases[i].path);
		fake_file(fake_dotnet_proc(), path, image, sizeof(image));
		cr_assert_eq(stat(fake_path(fake_dotnet_proc(), "%s", path), &st), 0);
		snprintf(maps, sizeof(maps),
			 FAKE_DOTNET_MAPS "7f0000200000-7f0000210000 r-xp 00000000 08:01 %lu %s\n",
			 (unsigned long)st.st_ino, cases[i].path);
		fake_dotnet_text("maps", maps);
		fake_dotnet_text("task/1/status", "Name:\t.NET Finalizer\nState:\tS (x)\n");
		left_reader_init(&reader, fake_dotnet_requests());
		cr_assert_eq(left_behind_read(&reader, fake_dotnet_tgid(), &p), 0);
		cr_assert_eq(dotnet_read(fake_dotnet_requests(), fake_dotnet_tgid(), &list), 0);
		left_behind_add_dotnet(&reader, &list.rows[0], &p);
		cr_expect_eq(p.dotnet.profiler_exports, cases[i].is_one, "%zu", i);
		cr_expect_str_eq(p.dotnet.profiler, cases[i].is_one ? "libany.so" : "", "%zu", i);
		dotnet_clear(&list);
		left_reader_clear(&reader);
		fake_dotnet_end();
	}
}
