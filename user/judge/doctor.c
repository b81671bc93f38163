/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last runtime that was tried. */
#define RUNTIME_TRIED 11
/* From then on its memory tells names (perfmap/memory/); of a single file a version later. */
#define RUNTIME_TELLS 9

static size_t judge(const struct doctor_rule *rules, size_t rules_cnt, const struct host_facts *f,
		    struct doctor_finding *findings, size_t cnt)
{
	for (size_t i = 0; i < rules_cnt && cnt < DOCTOR_HOST_MAX; i++, cnt++) {
		findings[cnt] =
			(struct doctor_finding){.id = rules[i].id, .purpose = rules[i].purpose};
		rules[i].judge(f, &findings[cnt]);
	}
	return cnt;
}

size_t doctor_judge_host(const struct host_facts *facts,
			 struct doctor_finding ret_findings[static DOCTOR_HOST_MAX])
{
	size_t cnt = 0;

	cnt = doctor_judge_hazards(facts, ret_findings, cnt);
	cnt = judge(doctor_kernel_rules, doctor_kernel_rules_cnt, facts, ret_findings, cnt);
	for (enum feature f = 0; f < FEATURE_CNT && cnt < DOCTOR_HOST_MAX; f++)
		doctor_judge_feature(facts, f, &ret_findings[cnt++]);
	cnt = judge(doctor_rights_rules, doctor_rights_rules_cnt, facts, ret_findings, cnt);
	return judge(doctor_limits_rules, doctor_limits_rules_cnt, facts, ret_findings, cnt);
}

/* --- .NET processes --------------------------------------------------------------------------- */

static void judge_runtime(const struct dotnet_process *p, struct doctor_finding *finding)
{
	const char *form = p->native_aot ? " (NativeAOT)" : p->single_file ? " (single-file)" : "";
	long major = strtol(p->version, NULL, 10);

	if (!*p->version)
		doctor_say(finding, DOCTOR_OK, "", ".NET, version not known%s", form);
	else if (dotnet_is_old(p))
		doctor_say(finding, DOCTOR_WARN,
			   "start it with DOTNET_PerfMapEnabled=3, or move it to .NET 8 or newer",
			   ".NET %s%s: its perf map cannot be switched on while it runs",
			   p->version, form);
	else if (major > RUNTIME_TRIED)
		doctor_say(finding, DOCTOR_WARN, "compare names with the program's own traces",
			   ".NET %s%s: newer than what hotrun was tried with (8 to 11)", p->version,
			   form);
	else
		doctor_say(finding, DOCTOR_OK, "", ".NET %s%s", p->version, form);
}

/* How a process without a map gets one. */
static void say_enable(const struct dotnet_process *p, char *remedy, size_t bytes)
{
	if (p->socket == DOTNET_SOCKET_THERE && !p->map_refusal && !dotnet_is_old(p))
		snprintf(remedy, bytes, "run `hotrun perfmap enable %u`", p->tgid);
	else
		snprintf(remedy, bytes, "restart it with DOTNET_PerfMapEnabled=3");
}

/* Whether its memory tells of its code, to who may read it. */
static bool tells(const struct dotnet_process *p)
{
	return strtol(p->version, NULL, 10) >= RUNTIME_TELLS + p->single_file;
}

static void judge_map_absent(const struct dotnet_process *p, struct doctor_finding *finding)
{
	char enable[sizeof(finding->remedy)];

	say_enable(p, enable, sizeof(enable));
	if (tells(p) && p->memory_denied)
		doctor_say(finding, DOCTOR_WARN, "record as root, or with capability SYS_PTRACE",
			   "no perf map, and no permission to read its memory");
	else if (tells(p))
		doctor_say(finding, DOCTOR_OK, "", "%s: names come from its memory",
			   p->map == DOTNET_MAP_SWITCHED_OFF ? "perf map switched off"
							     : "no perf map");
	else if (p->map_refusal)
		doctor_say(finding, DOCTOR_WARN, "make room for it, then run `hotrun doctor` again",
			   "no perf map, and none can be written to %s: %s", p->map_path,
			   dotnet_refusal_text(p->map_refusal));
	else if (p->map == DOTNET_MAP_SWITCHED_OFF)
		doctor_say(finding, DOCTOR_WARN, enable,
			   "perf map switched off: methods compiled since have no names");
	else if (p->map == DOTNET_MAP_STALE)
		doctor_say(finding, DOCTOR_WARN, enable,
			   "no perf map: %s is of an earlier process with this pid", p->map_path);
	else
		doctor_say(finding, DOCTOR_WARN, enable,
			   "no perf map: its JIT-compiled methods have no names");
}

static void judge_map(const struct dotnet_process *p, struct doctor_finding *finding)
{
	char again[sizeof(finding->remedy)];

	if (p->native_aot) {
		doctor_say(finding, DOCTOR_NA, "", "compiled ahead of time: has no JIT code");
		return;
	}
	switch (p->map) {
	case DOTNET_MAP_SINCE_START:
	case DOTNET_MAP_SWITCHED_ON:
		doctor_say(finding, DOCTOR_OK, "", "%s, %s%llu entries", dotnet_map_text(p->map),
			   p->map_cut ? "more than " : "", (unsigned long long)p->map_entries);
		break;
	case DOTNET_MAP_DELETED:
		snprintf(again, sizeof(again),
			 "run `hotrun perfmap disable %u`, then `hotrun perfmap enable %u`",
			 p->tgid, p->tgid);
		doctor_say(finding, DOCTOR_WARN, again,
			   "perf map is written to a file that was deleted: nobody can read it");
		break;
	case DOTNET_MAP_SWITCHED_OFF:
	case DOTNET_MAP_ABSENT:
	case DOTNET_MAP_STALE:
		judge_map_absent(p, finding);
		break;
	case DOTNET_MAP_UNWRITABLE:
		doctor_say(finding, DOCTOR_WARN,
			   "give it a writable /tmp, or set DOTNET_PerfMapJitDumpPath",
			   "%s could not be written by the runtime%s%s", p->map_path,
			   p->map_refusal ? ": " : "",
			   p->map_refusal ? dotnet_refusal_text(p->map_refusal) : "");
		break;
	case DOTNET_MAP_UNSAFE:
		doctor_say(finding, DOCTOR_WARN, "remove what lies there", "%s is not read: %s",
			   p->map_path,
			   p->map_refusal ? dotnet_refusal_text(p->map_refusal)
					  : "no plain file of this user");
		break;
	case DOTNET_MAP_DENIED:
		doctor_say(finding, DOCTOR_WARN,
			   "run as root, or with capabilities SYS_PTRACE and DAC_READ_SEARCH",
			   "no permission to look");
		break;
	case DOTNET_MAP_UNKNOWN:
		doctor_say(finding, DOCTOR_NA, "", "it did not answer in time, or has ended");
		break;
	}
}

/* What will name its methods, in the order in which it is asked. */
static void judge_names(const struct dotnet_process *p, struct doctor_finding *finding)
{
	bool map = dotnet_has_map(p), memory = tells(p) && !p->memory_denied;
	const char *why = p->memory_denied ? "memory denied"
			  : !*p->version   ? "version unknown"
					   : "memory tells nothing";

	if (p->native_aot)
		doctor_say(finding, DOCTOR_OK, "", "its symbols name all of it");
	else if (p->map == DOTNET_MAP_DENIED)
		doctor_say(finding, DOCTOR_NA, "", "no permission to look");
	else if (p->map == DOTNET_MAP_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "it did not answer in time, or has ended");
	else if (memory)
		doctor_say(finding, DOCTOR_OK, "", "JIT code: %sits memory; precompiled: images",
			   map ? "its perf map, then " : "");
	else
		doctor_say(finding, map ? DOCTOR_OK : DOCTOR_NA, "",
			   "JIT code: %s (%s); precompiled: images",
			   map ? "its perf map" : "nothing", why);
}

static void judge_socket(const struct dotnet_process *p, struct doctor_finding *finding)
{
	switch (p->socket) {
	case DOTNET_SOCKET_THERE:
		doctor_say(finding, DOCTOR_OK, "", "%s", dotnet_socket_text(p->socket));
		return;
	case DOTNET_SOCKET_ABSENT:
	case DOTNET_SOCKET_STALE:
	case DOTNET_SOCKET_UNSAFE:
		if (p->native_aot || dotnet_has_map(p))
			doctor_say(finding, DOCTOR_OK, "", "%s: not needed",
				   dotnet_socket_text(p->socket));
		else
			doctor_say(finding, DOCTOR_WARN,
				   p->diagnostics_off
					   ? "restart it without DOTNET_EnableDiagnostics=0"
					   : "restart it with a writable /tmp",
				   "%s: it cannot be asked for a perf map",
				   dotnet_socket_text(p->socket));
		return;
	case DOTNET_SOCKET_DENIED:
		doctor_say(finding, DOCTOR_WARN, "run as root, or with capability DAC_READ_SEARCH",
			   "no permission to look");
		return;
	case DOTNET_SOCKET_UNKNOWN:
		doctor_say(finding, DOCTOR_NA, "", "it did not answer in time, or has ended");
		return;
	}
}

static void judge_profiler(const struct dotnet_process *p, struct doctor_finding *finding)
{
	if (*p->profiler)
		doctor_say(finding, DOCTOR_WARN,
			   "compare with it unloaded: its cost is in every figure of this process",
			   "another profiler is loaded: %s", p->profiler);
	else
		doctor_say(finding, DOCTOR_OK, "", "no other profiler");
}

static void judge_width(const struct dotnet_process *p, struct doctor_finding *finding)
{
	if (p->is_32bit)
		doctor_say(finding, DOCTOR_FAIL, "run it as a 64-bit process",
			   "a 32-bit process: its stacks cannot be walked");
	else
		doctor_say(finding, DOCTOR_OK, "", "64-bit");
}

static void judge_form(const struct dotnet_process *p, struct doctor_finding *finding)
{
	if (p->native_aot)
		doctor_say(finding, DOCTOR_OK, "",
			   "NativeAOT: names come from its symbols; publish with StripSymbols=false"
			   " or keep the .dbg file beside it");
	else
		doctor_say(finding, DOCTOR_OK, "", "%s",
			   p->single_file ? "single-file: its runtime is in the executable"
					  : "runtime in its own libraries");
}

static void judge_libc(const struct dotnet_process *p, struct doctor_finding *finding)
{
	if (p->musl)
		doctor_say(finding, DOCTOR_WARN,
			   "read broken stacks of it by their leaf, or use an image with glibc",
			   "musl libc keeps no frame pointers: stacks that were in it break there");
	else
		doctor_say(finding, DOCTOR_OK, "", "glibc");
}

size_t doctor_judge_process(const struct dotnet_process *process,
			    struct doctor_finding ret_findings[static DOCTOR_PROCESS_MAX])
{
	static const struct {
		const char *id, *purpose;
		void (*judge)(const struct dotnet_process *p, struct doctor_finding *finding);
	} rules[] = {
		{"process.runtime", "which perf map and images to expect", judge_runtime},
		{"process.map", "names of JIT-compiled methods", judge_map},
		{"process.names", "names of methods", judge_names},
		{"process.socket", "`hotrun perfmap enable` without a restart", judge_socket},
		{"process.profiler", "figures of the program alone", judge_profiler},
		{"process.width", "stacks", judge_width},
		{"process.form", "where names come from", judge_form},
		{"process.libc", "stacks down to their root", judge_libc},
	};
	size_t cnt = sizeof(rules) / sizeof(rules[0]);

	_Static_assert(sizeof(rules) / sizeof(rules[0]) <= DOCTOR_PROCESS_MAX, "room for each");
	for (size_t i = 0; i < cnt; i++) {
		ret_findings[i] =
			(struct doctor_finding){.id = rules[i].id, .purpose = rules[i].purpose};
		rules[i].judge(process, &ret_findings[i]);
	}
	return cnt;
}
