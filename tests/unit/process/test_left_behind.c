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
#include "process/resume.h"
#include "process/tracer_tie.h"
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
		"Name:\t.NET Finalizer\nState:\tt (tracing stop)\nTgid:\t70\nTracerPid:\t77\n"
		"CoreDumping:\t1\nvoluntary_ctxt_switches:\t40\n"
		"nonvoluntary_ctxt_switches:\t2\n";
	static const char *const bad[] = {"", "x", "Name:\tx\n", "Name:\tx\nState:", "\nState:\t"};
	struct left_status s;

	cr_assert_eq(left_status_parse(text, &s), 0);
	cr_expect_str_eq(s.name, ".NET Finalizer");
	cr_expect_eq(s.state, 't');
	cr_expect_eq(s.tgid, 70);
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
	cr_expect_eq(p.tracers[0].who.tgid, 77);
	cr_expect_eq(p.tracers[0].held_cnt, 1);
	cr_expect_str_eq(p.tracers[0].who.comm, "app");
	cr_expect_eq(p.tracers[0].who.state, 'S');
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

/* A live strace stops a thread for some microseconds of each system call. */
Test(left_behind, who_stops_between_two_looks_is_traced_and_runs)
{
	static const struct {
		char was, is;
		uint32_t tracer;
		bool moves;
	} rows[] = {{'S', 't', 77, true}, {'t', 't', 77, false}, {'S', 'T', 0, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct left_process p;
		struct left_host h;

		host_begin(&h);
		put_process(&h, TGID, NULL);
		put_process(&h, 77, NULL);
		put_thread(&h, TGID, TGID, "app", rows[i].was, rows[i].tracer, 10);
		cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
		put_thread(&h, TGID, TGID, "app", rows[i].is, rows[i].tracer, 10);
		cr_assert_eq(left_behind_read_again(&h.reader, &p), 0);
		cr_expect_eq(p.moves, rows[i].moves, "row %zu", i);
		left_host_end(&h);
	}
}

/* One thread of a process, as TracerPid names it: below /proc, and not in the list there. */
static void put_tracing_thread(struct left_host *h, uint32_t tid, uint32_t tgid, char state)
{
	char path[64], text[256];

	put_process(h, tid, NULL);
	snprintf(path, sizeof(path), "%u/status", tid);
	snprintf(text, sizeof(text), "Name:\tx\nState:\t%c (x)\nTgid:\t%u\n", state, tgid);
	fake_text(&h->proc, path, text);
	snprintf(path, sizeof(path), "%u/stat", tid);
	snprintf(text, sizeof(text),
		 "%u (thread) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n", tid, state);
	fake_text(&h->proc, path, text);
}

Test(left_behind, those_that_hold_threads_come_first_and_each_process_once)
{
	struct left_host h;
	struct left_process p;

	host_begin(&h);
	put_process(&h, TGID, NULL);
	put_process(&h, 77, NULL);
	put_process(&h, 78, NULL);
	put_tracing_thread(&h, 781, 78, 'D');
	put_tracing_thread(&h, 782, 78, 'S');
	put_thread(&h, TGID, TGID, "app", 'S', 77, 1);
	put_thread(&h, TGID, TGID + 1, "b", 't', 781, 1);
	put_thread(&h, TGID, TGID + 2, "c", 't', 782, 1);
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_assert_eq(p.tracers_cnt, 2);
	cr_expect_not(p.tracers_cut);
	cr_expect_eq(p.tracers[0].who.tgid, 78, "the process of the threads that trace");
	cr_expect_str_eq(p.tracers[0].who.comm, "app");
	cr_expect_eq(p.tracers[0].who.start_ticks, 100);
	cr_expect_eq(p.tracers[0].held_cnt, 2);
	cr_expect_eq(p.tracers[1].who.tgid, 77);
	cr_expect_eq(p.tracers[1].held_cnt, 0);
	left_host_end(&h);
}

Test(left_behind, one_that_holds_has_room_among_many_that_trace)
{
	struct left_host h;
	struct left_process p;

	host_begin(&h);
	put_process(&h, TGID, NULL);
	put_thread(&h, TGID, TGID, "app", 't', 91, 1);
	for (uint32_t i = 0; i < 2 * LEFT_TRACERS_MAX; i++)
		put_thread(&h, TGID, TGID + 1 + i, "b", 'S', 80 + i, 1);
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.tracers_cnt, LEFT_TRACERS_MAX);
	cr_expect(p.tracers_cut);
	cr_expect_eq(p.tracers[0].tid, 91);
	cr_expect_eq(p.tracers[0].held_cnt, 1);
	left_host_end(&h);
}

/* --- whom a tracer serves --------------------------------------------------------------------- */

static void put_relative(struct left_host *h, uint32_t tgid, uint32_t parent, uint32_t session,
			 uint32_t tracer, const char *ns_pids, const char *cgroup)
{
	char path[64], text[512];

	put_process(h, tgid, cgroup);
	snprintf(path, sizeof(path), "%u/stat", tgid);
	snprintf(text, sizeof(text),
		 "%u (app) S %u %u %u 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n", tgid, parent,
		 tgid, session);
	fake_text(&h->proc, path, text);
	snprintf(path, sizeof(path), "%u/status", tgid);
	snprintf(text, sizeof(text),
		 "Name:\tapp\nState:\tS (x)\nTgid:\t%u\nTracerPid:\t%u\nNSpid:\t%s\n", tgid, tracer,
		 ns_pids);
	fake_text(&h->proc, path, text);
}

Test(left_behind, a_tracer_that_serves_others_is_told_from_a_debugger)
{
	static const struct {
		const char *name, *ns_pids, *cgroup; /* of the tracer */
		uint32_t parent, session;
		uint32_t child_tracer; /* of a second child; 1 = there is none */
		bool is_parent;
		enum tracer_tie tie;
	} cases[] = {
		{"a debugger", "500", "0::/a\n", 400, 400, 1, true, TRACER_FREE},
		{"that traces its children", "500", "0::/a\n", 400, 400, 500, true, TRACER_FREE},
		{"a master", "500", "0::/a\n", 400, 400, 0, true, TRACER_HAS_CHILDREN},
		{"who is no parent", "500", "0::/a\n", 400, 400, 0, false, TRACER_HAS_CHILDREN},
		{"its children are another's", "500", "0::/a\n", 400, 400, 400, false,
		 TRACER_HAS_CHILDREN},
		{"of a container", "500\t1", "0::/a\n", 400, 400, 1, false, TRACER_IS_MAIN},
		{"in a container", "500\t11", "0::/a\n", 400, 400, 1, false, TRACER_FREE},
		{"of a unit", "500", "0::/a\n", 1, 500, 1, false, TRACER_IS_MAIN},
		{"left by its shell", "500", "0::/b\n", 1, 400, 1, false, TRACER_FREE},
		{"first of its group", "500", "0::/b\n", 400, 400, 1, true, TRACER_IS_MAIN},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum tracer_tie tie = TRACER_FREE;
		struct left_host h;
		uint32_t child = 0;

		host_begin(&h);
		put_relative(&h, 1, 0, 1, 0, "1", "0::/init\n");
		put_relative(&h, 400, 1, 400, 0, "400", "0::/a\n");
		put_relative(&h, 500, cases[i].parent, cases[i].session, 0, cases[i].ns_pids,
			     cases[i].cgroup);
		put_relative(&h, 600, 500, 600, 500, "600", "0::/a\n");
		if (cases[i].child_tracer != 1)
			put_relative(&h, 601, 500, 600, cases[i].child_tracer, "601", "0::/a\n");
		cr_assert_eq(tracer_tie_read(h.proc.path, 500, cases[i].is_parent, &tie, &child), 0,
			     "%s", cases[i].name);
		cr_expect_eq(tie, cases[i].tie, "%s: %d", cases[i].name, tie);
		cr_expect_eq(child, tie == TRACER_HAS_CHILDREN ? 601 : 0, "%s", cases[i].name);
		cr_expect_lt(tracer_tie_read(h.proc.path, 501, false, &tie, &child), 0);
		left_host_end(&h);
	}
}

Test(left_behind, what_cannot_be_read_may_be_above_this_command)
{
	struct left_host h;

	host_begin(&h);
	cr_expect(resume_is_above(h.proc.path, 500), "its own files are not there");
	put_relative(&h, (uint32_t)getpid(), 400, 400, 0, "1", NULL);
	cr_expect(resume_is_above(h.proc.path, 500), "its parent's are not");
	put_relative(&h, 400, 0, 400, 0, "1", NULL);
	cr_expect_not(resume_is_above(h.proc.path, 500));
	cr_expect(resume_is_above(h.proc.path, 400));
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
	cr_expect_eq(p.tracers[0].who.tgid, 0);
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
		 "22 1 0:5 / /proc rw - proc proc rw\n"
		 "23 1 0:6 /pod /elsewhere rw shared:9 - cgroup2 cgroup2 rw\n"
		 "24 1 0:6 / %s/groups/v2 rw shared:9 - cgroup2 cgroup2 rw\n"
		 "25 1 0:7 / %s/groups/v1 rw,relatime - cgroup cgroup rw,freezer\nnonsense\n",
		 h->proc.path, h->proc.path);
	fake_text(&h->proc, "self/mountinfo", text);
	freezer_clear(&h->reader.freezer);
	freezer_find(h->proc.path, NULL, &h->reader.freezer);
}

Test(left_behind, frozen_groups_are_found_up_to_the_one_that_was_frozen)
{
	static const struct {
		const char *name, *cgroup, *files[8]; /* name, text ... */
		enum left_freezer frozen;
		bool freezing, found;
		const char *group; /* its end */
		uint32_t processes_cnt;
		bool unseen;
	} cases[] = {
		{"v2, itself",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", "v2/a/b/cgroup.freeze", "1\n",
		  "v2/a/b/cgroup.procs", "1\n2\n", NULL},
		 LEFT_FROZEN_V2,
		 false,
		 true,
		 "/v2/a/b",
		 2,
		 false},
		{"v2, from above",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", "v2/a/b/cgroup.freeze", "0\n",
		  "v2/a/cgroup.freeze", "1\n", "v2/a/b/cgroup.procs", "1\n"},
		 LEFT_FROZEN_V2,
		 false,
		 true,
		 "/v2/a",
		 1,
		 false},
		{"v2, by whom is not seen",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 1\n", NULL},
		 LEFT_FROZEN_V2,
		 false,
		 false,
		 "",
		 0,
		 false},
		{"v2, on its way",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 0\n", "v2/a/b/cgroup.freeze", "0\n",
		  "v2/a/cgroup.freeze", "1\n", "v2/a/b/cgroup.procs", "1\n"},
		 LEFT_FROZEN_V2,
		 true,
		 true,
		 "/v2/a",
		 1,
		 false},
		{"v2, with a name like a way up",
		 "0::/..a\n",
		 {"v2/..a/cgroup.events", "frozen 1\n", "v2/..a/cgroup.freeze", "1\n", NULL},
		 LEFT_FROZEN_V2,
		 false,
		 true,
		 "/v2/..a",
		 0,
		 false},
		{"v1, though v2 is not to be seen",
		 "0::/../x\n6:freezer:/x\n",
		 {"v1/x/freezer.state", "FROZEN\n", "v1/x/freezer.self_freezing", "1\n", NULL},
		 LEFT_FROZEN_V1,
		 false,
		 true,
		 "/v1/x",
		 0,
		 false},
		{"v2, not, though v1 is not to be seen",
		 "6:freezer:/gone\n0::/a\n",
		 {"v2/a/cgroup.events", "frozen 0\n", NULL},
		 LEFT_NOT_FROZEN,
		 false,
		 false,
		 "",
		 0,
		 true},
		{"v2, gone", "0::/a/b\n", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0, true},
		{"the topmost", "0::/\n", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0, false},
		{"v2, not",
		 "0::/a/b\n",
		 {"v2/a/b/cgroup.events", "populated 1\nfrozen 0\n", NULL},
		 LEFT_NOT_FROZEN,
		 false,
		 false,
		 "",
		 0,
		 false},
		{"v1",
		 "6:freezer:/x\n0::/\n",
		 {"v1/x/freezer.state", "FROZEN\n", "v1/x/freezer.self_freezing", "1\n",
		  "v1/x/cgroup.procs", "1\n", NULL},
		 LEFT_FROZEN_V1,
		 false,
		 true,
		 "/v1/x",
		 1,
		 false},
		{"v1, on its way",
		 "6:cpu,freezer:/x\n",
		 {"v1/x/freezer.state", "FREEZING\n", "v1/x/freezer.self_freezing", "1\n", NULL},
		 LEFT_FROZEN_V1,
		 true,
		 true,
		 "/v1/x",
		 0,
		 false},
		{"v1, not",
		 "6:freezer:/x\n",
		 {"v1/x/freezer.state", "THAWED\n", NULL},
		 LEFT_NOT_FROZEN,
		 false,
		 false,
		 "",
		 0,
		 false},
		{"beside ours", "0::/../a\n", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0, true},
		{"none", "", {NULL}, LEFT_NOT_FROZEN, false, false, "", 0, false},
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
		cr_expect_eq(p.freeze.unseen, cases[i].unseen, "%s", cases[i].name);
		len = strlen(p.freeze.group);
		cr_expect(len >= want && !strcmp(p.freeze.group + len - want, cases[i].group),
			  "%s: %s", cases[i].name, p.freeze.group);
		left_host_end(&h);
	}
}

Test(left_behind, processes_of_a_frozen_group_are_counted_once_and_as_far_as_they_can_be)
{
	volatile sig_atomic_t stop = 0;
	struct left_host h;
	struct left_process p;
	char name[64];

	host_begin(&h);
	put_process(&h, TGID, "0::/a\n");
	put_thread(&h, TGID, TGID, "app", 'S', 0, 1);
	put_mounts(&h);
	put_group_file(&h, "v2/a/cgroup.events", "frozen 1\n");
	put_group_file(&h, "v2/a/cgroup.freeze", "1\n");
	for (unsigned int i = 0; i < FREEZER_GROUPS_MAX; i++) {
		snprintf(name, sizeof(name), "v2/a/%u/cgroup.procs", i);
		put_group_file(&h, name, "1\n");
	}
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.freeze.processes_cnt, FREEZER_GROUPS_MAX - 1);
	cr_expect(p.freeze.processes_cut);
	put_group_file(&h, "v2/a/cgroup.procs", "1\n2\n");
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.freeze.processes_cnt, FREEZER_GROUPS_MAX - 1, "it was counted before");
	/* Who ends the command waits for no group. */
	freezer_clear(&h.reader.freezer);
	freezer_find(h.proc.path, &stop, &h.reader.freezer);
	stop = 1;
	cr_assert_eq(left_behind_read(&h.reader, TGID, &p), 0);
	cr_expect_eq(p.freeze.frozen, LEFT_FROZEN_V2);
	cr_expect_eq(p.freeze.processes_cnt, 0);
	cr_expect(p.freeze.processes_cut);
	left_host_end(&h);
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
