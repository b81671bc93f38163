/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What others left of processes: facts in, findings and steps out. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/recover.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BASH                                            \
	{                                               \
		.tgid = 7, .comm = "bash", .state = 'S' \
	}
#define GDB(how)                                        \
	{                                               \
		.tgid = 55, .comm = "gdb", .state = how \
	}

static struct recover_finding findings[RECOVER_FINDINGS_MAX];

/* "stopped/stands/continue traced/left/" */
static void tell(const struct left_process *p, char text[static 256])
{
	size_t cnt = recover_judge(p, findings), len = 0;

	*text = '\0';
	for (size_t i = 0; i < cnt; i++)
		len += (size_t)snprintf(text + len, 256 - len, "%s%s/%s/%s", i ? " " : "",
					findings[i].id, recover_level_text(findings[i].level),
					recover_act_id(findings[i].act));
}

struct row {
	const char *name;
	struct left_process p;
	const char *findings;
	const char *text; /* a part of the first one's */
	const char *step; /* a part of one of its steps */
};

static const struct row rows[] = {
	{"healthy", {.tgid = 9, .threads_cnt = 4}, "", NULL, NULL},
	{"stopped",
	 {.tgid = 9, .threads_cnt = 4, .stopped_cnt = 4, .parent = BASH, .session = 3},
	 "stopped/stands/continue",
	 "4 of 4 threads stopped (T); parent bash 7, which is alive and waits; session 3, no "
	 "terminal. Who sent the signal is not known",
	 "`hotrun recover 9 --resume` sends SIGCONT"},
	{"stopped at a terminal",
	 {.tgid = 9, .threads_cnt = 1, .stopped_cnt = 1, .has_terminal = true},
	 "stopped/stands/continue",
	 "parent not seen from here; with a terminal",
	 "`fg`"},
	{"stopped in turns",
	 {.tgid = 9, .threads_cnt = 1, .stopped_cnt = 1, .moves = true},
	 "stopped/left/",
	 "cpulimit",
	 "nothing is to be continued"},
	{"held by a tracer that lives",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .trace_stop_cnt = 3,
	  .traced_cnt = 4,
	  .tracers_cnt = 1,
	  .tracers = {{GDB('S'), 55, 1}}},
	 "traced/stands/end-tracer",
	 "3 of 4 threads stand in a trace stop (t), held by gdb 55, which is alive and waits",
	 "PTRACE_O_EXITKILL"},
	{"by one that stands itself",
	 {.tgid = 9,
	  .threads_cnt = 1,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 1,
	  .tracers_cnt = 1,
	  .tracers = {{GDB('T'), 55, 1}}},
	 "traced/stands/end-tracer",
	 "gdb 55, which is itself stopped (T)",
	 "`hotrun recover 55` says why"},
	{"by one that hangs, and more than can be told",
	 {.tgid = 9,
	  .threads_cnt = 1,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 1,
	  .tracers_cnt = 1,
	  .tracers_cut = true,
	  .tracers = {{GDB('D'), 55, 1}}},
	 "traced/stands/end-tracer",
	 "gdb 55, which hangs in the kernel (D); and others",
	 "--end-tracer=55`"},
	{"by two, and traced by a third that holds nothing",
	 {.tgid = 9,
	  .threads_cnt = 3,
	  .trace_stop_cnt = 2,
	  .traced_cnt = 3,
	  .tracers_cnt = 3,
	  .tracers = {{GDB('S'), 55, 1},
		      {{.tgid = 57, .comm = "strace", .state = 'R'}, 57, 1},
		      {{.tgid = 58, .comm = "ltrace", .state = 'R'}, 58, 0}}},
	 "traced/stands/end-tracer",
	 "held by gdb 55, which is alive and waits; and strace 57, which runs",
	 "--end-tracer=55,57` ends"},
	{"by its own parent",
	 {.tgid = 9,
	  .threads_cnt = 1,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 1,
	  .tracers_cnt = 1,
	  .parent = {.tgid = 60, .comm = "cron", .state = 'S'},
	  .tracers = {{{.tgid = 60, .comm = "cron", .state = 'S'}, 60, 1}}},
	 "traced/stands/end-tracer",
	 "cron 60, which is alive and waits (its own parent, by PTRACE_TRACEME, perhaps "
	 "unknowingly)",
	 "`kill -KILL 9` reaches it"},
	{"by one that is not seen",
	 {.tgid = 9,
	  .threads_cnt = 1,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 1,
	  .tracers_cnt = 1,
	  .tracers = {{.held_cnt = 1}}},
	 "traced/stands/",
	 "cannot be seen from this pid namespace",
	 "on the host"},
	{"traced at work",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 4,
	  .moves = true,
	  .tracers_cnt = 1,
	  .tracers = {{GDB('S'), 55, 1}}},
	 "traced/left/",
	 "4 of 4 threads are traced, and run, by gdb 55",
	 "end it there"},
	{"stopped, and traced",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .stopped_cnt = 3,
	  .trace_stop_cnt = 1,
	  .traced_cnt = 1,
	  .tracers_cnt = 1,
	  .tracers = {{GDB('S'), 55, 1}}},
	 "traced/stands/end-tracer stopped/stands/",
	 "1 of 4 threads stand in a trace stop",
	 "detach"},
	{"a core is written",
	 {.tgid = 9, .threads_cnt = 4, .stopped_cnt = 4, .core_dumping = true},
	 "dump/stands/",
	 "the kernel writes its core",
	 "wait"},
	{"createdump",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .trace_stop_cnt = 4,
	  .traced_cnt = 4,
	  .tracers_cnt = 1,
	  .tracers = {{{.tgid = 56, .comm = "createdump", .state = 'R'}, 56, 4}}},
	 "dump/stands/",
	 "a dump of it is written, by createdump 56, which runs",
	 "wait until it is done"},
	{"createdump that stands",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .trace_stop_cnt = 4,
	  .traced_cnt = 4,
	  .tracers_cnt = 1,
	  .tracers = {{{.tgid = 56, .comm = "createdump", .state = 'T'}, 56, 4}}},
	 "dump/stands/",
	 "is itself stopped",
	 "`hotrun recover 56` says why"},
	{"frozen, v2",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .freeze = {.frozen = LEFT_FROZEN_V2,
		     .found = true,
		     .group = "/sys/fs/cgroup/a",
		     .processes_cnt = 3}},
	 "frozen/stands/thaw",
	 "its group is frozen (cgroup v2): /sys/fs/cgroup/a, with 3 processes",
	 "thaws all processes of the group"},
	{"a paused container, v1",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .container = "shop-web",
	  .freeze = {.frozen = LEFT_FROZEN_V1,
		     .found = true,
		     .freezing = true,
		     .group = "/x",
		     .processes_cnt = 1}},
	 "frozen/stands/thaw",
	 "is being frozen (cgroup v1): /x, with 1 process",
	 "unpause shop-web"},
	{"frozen by systemd",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .unit = "shop.service",
	  .freeze = {.frozen = LEFT_FROZEN_V2, .found = true, .group = "/x"}},
	 "frozen/stands/thaw",
	 "frozen",
	 "systemctl thaw shop.service"},
	{"frozen from above",
	 {.tgid = 9,
	  .threads_cnt = 4,
	  .freeze = {.frozen = LEFT_FROZEN_V2, .group = "/sys/fs/cgroup"}},
	 "frozen/stands/",
	 "frozen",
	 "thaw it on the host"},
	{"frozen and stopped: thawed first",
	 {.tgid = 9,
	  .threads_cnt = 1,
	  .stopped_cnt = 1,
	  .freeze = {.frozen = LEFT_FROZEN_V2, .found = true, .group = "/x"}},
	 "frozen/stands/thaw stopped/stands/continue",
	 NULL,
	 NULL},
	{"waits for a port",
	 {.tgid = 9,
	  .threads_cnt = 3,
	  .dotnet = {.is = true, .ports_cnt = 1, .ports = {{.path = "/tmp/a.sock"}}}},
	 "port/stands/resume-runtime",
	 "/tmp/a.sock, to which it connects; nobody is seen to listen there",
	 "nosuspend"},
	{"where a tool listens",
	 {.tgid = 9,
	  .threads_cnt = 3,
	  .dotnet = {.is = true,
		     .ports_cnt = 2,
		     .ports = {{.by_default = true}, {.path = "/a", .answered = true}}}},
	 "port/stands/",
	 "its usual diagnostics socket; and /a, to which it connects; a tool listens there",
	 "let it, or end it"},
	{"its start is over",
	 {.tgid = 9,
	  .threads_cnt = 9,
	  .dotnet = {.is = true,
		     .has_finalizer = true,
		     .ports_cnt = 1,
		     .ports = {{.path = "/tmp/a.sock"}}}},
	 "",
	 NULL,
	 NULL},
	{"left on",
	 {.tgid = 9,
	  .threads_cnt = 9,
	  .dotnet = {.is = true,
		     .has_finalizer = true,
		     .sessions_cnt = 2,
		     .map = DOTNET_MAP_SWITCHED_ON,
		     .map_path = "/tmp/perf-9.map",
		     .profiler = "libx.so",
		     .profiler_exports = true}},
	 "session/left/ map/left/map-off profiler/left/",
	 "2 connections to its diagnostics socket stay:",
	 "ss -xp"},
	{"a map to a file that was deleted",
	 {.tgid = 9,
	  .threads_cnt = 9,
	  .dotnet = {.is = true,
		     .has_finalizer = true,
		     .map = DOTNET_MAP_DELETED,
		     .map_path = "/tmp/perf-9.map"}},
	 "map/left/map-off",
	 "deleted",
	 "perfmap disable 9"},
	{"a map that is meant",
	 {.tgid = 9,
	  .threads_cnt = 9,
	  .dotnet = {.is = true, .has_finalizer = true, .map = DOTNET_MAP_SINCE_START}},
	 "",
	 NULL,
	 NULL},
	{"a kernel thread", {.tgid = 9, .kernel = true, .stopped_cnt = 1}, "", NULL, NULL},
};

static bool has_step(const struct recover_finding *f, const char *part)
{
	for (size_t i = 0; i < f->steps_cnt; i++)
		if (strstr(f->steps[i], part))
			return true;
	return false;
}

Test(recover, what_stands_is_told_with_its_steps)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char told[256];

		tell(&rows[i].p, told);
		cr_expect_str_eq(told, rows[i].findings, "%s: %s", rows[i].name, told);
		if (rows[i].text)
			cr_expect(strstr(findings[0].text, rows[i].text), "%s: %s", rows[i].name,
				  findings[0].text);
		if (rows[i].step)
			cr_expect(has_step(&findings[0], rows[i].step), "%s: no %s", rows[i].name,
				  rows[i].step);
	}
}

Test(recover, none_stands_without_words_and_steps)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t cnt = recover_judge(&rows[i].p, findings);

		for (size_t k = 0; k < cnt; k++) {
			cr_expect_gt(strlen(findings[k].text), 0);
			cr_expect_gt(findings[k].steps_cnt, 0, "%s", rows[i].name);
			cr_expect_lt(findings[k].steps_cnt, RECOVER_STEPS_MAX, "%s", rows[i].name);
			for (size_t s = 0; s < findings[k].steps_cnt; s++)
				cr_expect_lt(strlen(findings[k].steps[s]), RECOVER_STEP_BYTES - 1);
		}
	}
}

/* Names as long as they may be: nothing is written beyond its room. */
Test(recover, long_names_fit)
{
	struct left_process p = {.tgid = UINT32_MAX,
				 .threads_cnt = 1,
				 .stopped_cnt = 1,
				 .traced_cnt = 1,
				 .trace_stop_cnt = 1};

	memset(p.container, 'c', sizeof(p.container) - 1);
	p.tracers_cnt = LEFT_TRACERS_MAX;
	for (size_t i = 0; i < LEFT_TRACERS_MAX; i++) {
		memset(p.tracers[i].who.comm, 't', LEFT_COMM_BYTES - 1);
		p.tracers[i].who.tgid = p.parent.tgid = UINT32_MAX;
		p.tracers[i].held_cnt = 1;
	}
	p.freeze = (struct left_freeze){.frozen = LEFT_FROZEN_V2, .found = true};
	memset(p.freeze.group, 'g', sizeof(p.freeze.group) - 1);
	p.dotnet = (struct left_dotnet){
		.is = true, .ports_cnt = LEFT_PORTS_MAX, .map = DOTNET_MAP_DELETED};
	memset(p.dotnet.map_path, 'm', sizeof(p.dotnet.map_path) - 1);
	memset(p.dotnet.profiler, 'p', sizeof(p.dotnet.profiler) - 1);
	for (size_t i = 0; i < LEFT_PORTS_MAX; i++)
		memset(p.dotnet.ports[i].path, 'o', LEFT_PORT_BYTES - 1);
	cr_expect_eq(recover_judge(&p, findings), 6);
	for (size_t i = 0; i < 6; i++)
		cr_expect_lt(strlen(findings[i].text), sizeof(findings[i].text));
}

Test(recover, pid_1_hotrun_itself_and_kernel_threads_are_refused)
{
	cr_expect_not_null(recover_refusal(&(struct left_process){.tgid = 1}, 5));
	cr_expect_not_null(recover_refusal(&(struct left_process){.tgid = 5}, 5));
	cr_expect_not_null(recover_refusal(&(struct left_process){.tgid = 6, .kernel = true}, 5));
	cr_expect_null(recover_refusal(&(struct left_process){.tgid = 6}, 5));
}

Test(recover, whether_it_runs_is_told_by_its_switches)
{
	static const struct {
		const char *name;
		enum recover_act act;
		struct left_process before, after;
		bool runs;
	} cases[] = {
		{"continued",
		 RECOVER_CONTINUE,
		 {.stopped_cnt = 2, .switches = 5},
		 {.switches = 6},
		 true},
		{"no CPU yet",
		 RECOVER_CONTINUE,
		 {.stopped_cnt = 2, .switches = 5},
		 {.switches = 5},
		 false},
		{"at work ever since",
		 RECOVER_CONTINUE,
		 {.stopped_cnt = 2, .switches = 5},
		 {.switches = 5, .wants_cpu = true},
		 true},
		{"still stopped",
		 RECOVER_CONTINUE,
		 {.stopped_cnt = 2, .switches = 5},
		 {.stopped_cnt = 1, .switches = 9},
		 false},
		{"thawed",
		 RECOVER_THAW,
		 {.freeze = {.frozen = LEFT_FROZEN_V2}},
		 {.switches = 1},
		 true},
		{"still frozen",
		 RECOVER_THAW,
		 {.freeze = {.frozen = LEFT_FROZEN_V2}},
		 {.switches = 1, .freeze = {.frozen = LEFT_FROZEN_V2}},
		 false},
		{"thawed, and stopped all the time",
		 RECOVER_THAW,
		 {.freeze = {.frozen = LEFT_FROZEN_V2}, .stopped_cnt = 1},
		 {.stopped_cnt = 1},
		 true},
		{"let go",
		 RECOVER_END_TRACER,
		 {.traced_cnt = 1,
		  .trace_stop_cnt = 1,
		  .tracers_cnt = 1,
		  .tracers = {{.who = {.tgid = 5}, .held_cnt = 1}}},
		 {.switches = 1},
		 true},
		{"held on",
		 RECOVER_END_TRACER,
		 {.traced_cnt = 1,
		  .trace_stop_cnt = 1,
		  .tracers_cnt = 1,
		  .tracers = {{.who = {.tgid = 5}, .held_cnt = 1}}},
		 {.traced_cnt = 1,
		  .trace_stop_cnt = 1,
		  .tracers_cnt = 1,
		  .tracers = {{.who = {.tgid = 5}}},
		  .switches = 1},
		 false},
		{"its runtime starts", RECOVER_RESUME, {.switches = 1}, {.switches = 9}, false},
		{"its runtime has started",
		 RECOVER_RESUME,
		 {.switches = 1},
		 {.switches = 9, .dotnet = {.has_finalizer = true}},
		 true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(recover_runs(&cases[i].before, &cases[i].after, cases[i].act, 5),
			     cases[i].runs, "%s", cases[i].name);
}
