/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "output/doctor.h"
#include "output/dotnet_process.h"
#include "output/json.h"

static const struct host_facts *facts_of(const struct subject *s)
{
	return s->item;
}

static struct value lockdown(const struct subject *s)
{
	static const char *const texts[] = {
		[HOST_LOCKDOWN_UNKNOWN] = "",
		[HOST_LOCKDOWN_NONE] = "none",
		[HOST_LOCKDOWN_INTEGRITY] = "integrity",
		[HOST_LOCKDOWN_CONFIDENTIALITY] = "confidentiality",
	};

	return value_text(texts[facts_of(s)->lockdown]);
}

static struct value cgroups(const struct subject *s)
{
	static const char *const texts[] = {
		[HOST_CGROUPS_NONE] = "",
		[HOST_CGROUPS_V1] = "v1",
		[HOST_CGROUPS_V2] = "v2",
		[HOST_CGROUPS_HYBRID] = "hybrid",
	};

	return value_text(texts[facts_of(s)->cgroups]);
}

/* The facts have negative errnos, and 0 where it works. */
static struct value session_errno(const struct subject *s)
{
	return value_count((uint64_t)-facts_of(s)->session_error);
}

static struct value ticks_errno(const struct subject *s)
{
	return value_count((uint64_t)-facts_of(s)->ticks_error);
}

#define FACT(member)                                      \
	{                                                 \
#member, FIELD(struct host_facts, member) \
	}

static const struct figure facts[] = {
	FACT(release),
	FACT(version),
	FACT(machine),
	FACT(proc),
	FACT(btf),
	{"lockdown", .value = lockdown},
	FACT(kptr_restrict),
	FACT(unprivileged_bpf_disabled),
	FACT(protected_symlinks),
	FACT(kernel_symbols),
	FACT(euid),
	FACT(seccomp),
	FACT(bpf_errno),
	FACT(perf_errno),
	FACT(other_pids),
	FACT(other_users),
	FACT(other_time),
	FACT(perf_event_paranoid),
	FACT(max_sample_rate_hz),
	FACT(cpu_time_max_pct),
	FACT(max_stack),
	FACT(mlock_kb),
	FACT(ring_kb_per_cpu),
	FACT(session_tried),
	{"session_errno", .value = session_errno},
	FACT(session_why),
	FACT(session_ns),
	FACT(map_bytes),
	FACT(cpus_online),
	FACT(cpus_possible),
	FACT(ticks_tried),
	{"ticks_errno", .value = ticks_errno},
	FACT(cpus_ticking),
	FACT(cpus_silent),
	FACT(ticks_expected),
	FACT(ticks_taken),
	FACT(clocksource),
	FACT(clock_read_ns),
	FACT(clock_backwards),
	FACT(suspended_ns),
	FACT(memory_available_bytes),
	FACT(cgroup_room_bytes),
	FACT(memlock_bytes),
	FACT(files_max),
	FACT(files_needed),
	FACT(disk_free_bytes),
	FACT(folder_writable),
	FACT(pressure),
	FACT(schedstats),
	{"cgroups", .value = cgroups},
	FACT(cpu_controller),
};

#define FINDING(member) FIELD(struct doctor_finding, member)

static struct value level(const struct subject *s)
{
	return value_text(doctor_level_text(((const struct doctor_finding *)s->item)->level));
}

static const struct figure finding_facts[] = {
	{"id", FINDING(id)},	     {"level", .value = level},	    {"text", FINDING(text)},
	{"remedy", FINDING(remedy)}, {"purpose", FINDING(purpose)},
};

static void put_host(struct json *j, const struct doctor_report *report)
{
	struct subject s = {.item = report->facts};
	char mask[32];

	json_object(j, "host");
	json_text(j, "name", report->host_name);
	snprintf(mask, sizeof(mask), "%016" PRIx64, report->facts->capabilities);
	json_text(j, "capabilities", mask);
	JSON_FIGURES(j, facts, &s);
	json_end(j);
}

static void put_findings(struct json *j, const struct doctor_finding *findings, size_t cnt)
{
	json_array(j, "findings");
	for (size_t i = 0; i < cnt; i++) {
		struct subject s = {.item = &findings[i]};

		json_object(j, NULL);
		JSON_FIGURES(j, finding_facts, &s);
		json_end(j);
	}
	json_end(j);
}

static void put_process(struct json *j, const struct dotnet_process *p)
{
	struct doctor_finding findings[DOCTOR_PROCESS_MAX];
	size_t cnt = doctor_judge_process(p, findings);

	json_object(j, NULL);
	dotnet_process_json(j, p);
	put_findings(j, findings, cnt);
	json_end(j);
}

static void put_processes(struct json *j, const struct doctor_report *report)
{
	if (report->no_list) {
		json_null(j, "processes");
		return;
	}
	json_array(j, "processes");
	for (size_t i = 0; i < report->processes_cnt; i++)
		put_process(j, report->processes[i]);
	json_end(j);
}

static void put_summary(struct json *j, const struct doctor_report *report)
{
	size_t counts[DOCTOR_LEVELS];

	doctor_count(report, counts);
	json_object(j, "summary");
	json_count(j, "ok", counts[DOCTOR_OK]);
	json_count(j, "warn", counts[DOCTOR_WARN]);
	json_count(j, "fail", counts[DOCTOR_FAIL]);
	json_count(j, "na", counts[DOCTOR_NA]);
	json_end(j);
}

int doctor_json_write(FILE *out, const struct doctor_report *report)
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];
	size_t cnt = doctor_judge_host(report->facts, findings);
	struct json j;

	json_begin(&j, out, "doctor");
	json_text(&j, "hotrun", report->hotrun_version);
	json_utc(&j, "time_utc", report->time);
	put_host(&j, report);
	put_findings(&j, findings, cnt);
	put_processes(&j, report);
	json_count(&j, "unreadable_processes", report->unreadable);
	json_count(&j, "hung_processes", report->hung);
	put_summary(&j, report);
	return json_finish(&j);
}
