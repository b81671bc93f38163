/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/doctor.h"

#define FORMAT 1

/* Begins a member: its comma unless it is the first of its object, and its key. */
static void key(FILE *out, bool *first, const char *name)
{
	fprintf(out, "%s\"%s\":", *first ? "" : ",", name);
	*first = false;
}

/* The next member stands on a line of its own. */
static void next_line(FILE *out, bool *first)
{
	fputs(",\n", out);
	*first = true;
}

static void put_text(FILE *out, bool *first, const char *name, const char *value)
{
	key(out, first, name);
	text_put_json(out, value, strlen(value));
}

static void put_text_or_null(FILE *out, bool *first, const char *name, const char *value)
{
	if (*value) {
		put_text(out, first, name, value);
		return;
	}
	key(out, first, name);
	fputs("null", out);
}

static void put_number(FILE *out, bool *first, const char *name, int64_t value)
{
	key(out, first, name);
	if (value == FACT_UNKNOWN)
		fputs("null", out);
	else
		fprintf(out, "%" PRId64, value);
}

static void put_limit(FILE *out, bool *first, const char *name, uint64_t value)
{
	key(out, first, name);
	if (value == UINT64_MAX)
		fputs("null", out);
	else
		fprintf(out, "%" PRIu64, value);
}

static void put_bool(FILE *out, bool *first, const char *name, bool value)
{
	key(out, first, name);
	fputs(value ? "true" : "false", out);
}

static const char *lockdown_text(enum host_lockdown lockdown)
{
	static const char *const texts[] = {
		[HOST_LOCKDOWN_UNKNOWN] = "",
		[HOST_LOCKDOWN_NONE] = "none",
		[HOST_LOCKDOWN_INTEGRITY] = "integrity",
		[HOST_LOCKDOWN_CONFIDENTIALITY] = "confidentiality",
	};

	return texts[lockdown];
}

static const char *cgroups_text(enum host_cgroups cgroups)
{
	static const char *const texts[] = {
		[HOST_CGROUPS_NONE] = "",
		[HOST_CGROUPS_V1] = "v1",
		[HOST_CGROUPS_V2] = "v2",
		[HOST_CGROUPS_HYBRID] = "hybrid",
	};

	return texts[cgroups];
}

static void put_host_kernel(FILE *out, const struct host_facts *f, bool *first)
{
	char mask[32];

	put_text(out, first, "release", f->release);
	put_text(out, first, "machine", f->machine);
	put_bool(out, first, "proc", f->proc);
	put_bool(out, first, "btf", f->btf);
	put_text_or_null(out, first, "lockdown", lockdown_text(f->lockdown));
	put_number(out, first, "kptr_restrict", f->kptr_restrict);
	put_number(out, first, "unprivileged_bpf_disabled", f->unprivileged_bpf_disabled);
	put_number(out, first, "protected_symlinks", f->protected_symlinks);
	put_bool(out, first, "kernel_symbols", f->kernel_symbols);
	put_number(out, first, "euid", f->euid);
	snprintf(mask, sizeof(mask), "%016" PRIx64, f->capabilities);
	put_text(out, first, "capabilities", mask);
	put_number(out, first, "seccomp", f->seccomp);
	put_number(out, first, "bpf_errno", f->bpf_errno);
	put_number(out, first, "perf_errno", f->perf_errno);
	put_bool(out, first, "other_pids", f->other_pids);
	put_bool(out, first, "other_users", f->other_users);
	put_bool(out, first, "other_time", f->other_time);
	put_number(out, first, "perf_event_paranoid", f->perf_event_paranoid);
	put_number(out, first, "max_sample_rate_hz", f->max_sample_rate_hz);
	put_number(out, first, "cpu_time_max_pct", f->cpu_time_max_pct);
	put_number(out, first, "max_stack", f->max_stack);
	put_number(out, first, "mlock_kb", f->mlock_kb);
	put_number(out, first, "ring_kb_per_cpu", f->ring_kb_per_cpu);
}

static void put_host_rest(FILE *out, const struct host_facts *f, bool *first)
{
	put_bool(out, first, "session_tried", f->session_tried);
	put_number(out, first, "session_errno", f->session_error ? -(int64_t)f->session_error : 0);
	put_text_or_null(out, first, "session_why", f->session_why);
	put_limit(out, first, "session_ns", f->session_ns);
	put_limit(out, first, "map_bytes", f->map_bytes);
	put_bool(out, first, "without_groups", f->without_groups);
	put_bool(out, first, "without_queues", f->without_queues);
	put_number(out, first, "cpus_online", f->cpus_online);
	put_number(out, first, "cpus_possible", f->cpus_possible);
	put_bool(out, first, "ticks_tried", f->ticks_tried);
	put_number(out, first, "ticks_errno", f->ticks_error ? -(int64_t)f->ticks_error : 0);
	put_number(out, first, "cpus_ticking", f->cpus_ticking);
	put_number(out, first, "cpus_silent", f->cpus_silent);
	put_limit(out, first, "ticks_expected", f->ticks_expected);
	put_limit(out, first, "ticks_taken", f->ticks_taken);
	put_text_or_null(out, first, "clocksource", f->clocksource);
	put_number(out, first, "clock_read_ns", f->clock_read_ns);
	put_number(out, first, "clock_backwards", f->clock_backwards);
	put_limit(out, first, "suspended_ns", f->suspended_ns);
	put_number(out, first, "memory_available_bytes", f->memory_available_bytes);
	put_number(out, first, "cgroup_room_bytes", f->cgroup_room_bytes);
	put_limit(out, first, "memlock_bytes", f->memlock_bytes);
	put_limit(out, first, "files_max", f->files_max);
	put_number(out, first, "files_needed", f->files_needed);
	put_number(out, first, "disk_free_bytes", f->disk_free_bytes);
	put_bool(out, first, "folder_writable", f->folder_writable);
	put_bool(out, first, "pressure", f->pressure);
	put_number(out, first, "schedstats", f->schedstats);
	put_text_or_null(out, first, "cgroups", cgroups_text(f->cgroups));
	put_bool(out, first, "cpu_controller", f->cpu_controller);
}

static void put_findings(FILE *out, bool *first, const struct doctor_finding *findings, size_t cnt)
{
	key(out, first, "findings");
	for (size_t i = 0; i < cnt; i++) {
		bool start = true;

		fputs(i ? ",\n  {" : "[\n  {", out);
		put_text(out, &start, "id", findings[i].id);
		put_text(out, &start, "level", doctor_level_text(findings[i].level));
		put_text(out, &start, "text", findings[i].text);
		put_text_or_null(out, &start, "remedy", findings[i].remedy);
		put_text(out, &start, "purpose", findings[i].purpose);
		putc('}', out);
	}
	putc(']', out);
}

static void put_process(FILE *out, const struct doctor_process *p)
{
	struct doctor_finding findings[DOCTOR_PROCESS_MAX];
	size_t cnt = doctor_judge_process(p, findings);
	bool first = true;

	putc('{', out);
	put_number(out, &first, "pid", p->tgid);
	put_text(out, &first, "name", p->name);
	put_text_or_null(out, &first, "unit", p->unit);
	put_text_or_null(out, &first, "container", p->container);
	put_text_or_null(out, &first, "version", p->version);
	put_text(out, &first, "found", p->found_id);
	put_text(out, &first, "map", p->map_id);
	put_text_or_null(out, &first, "map_path", p->map_path);
	put_limit(out, &first, "map_entries", p->map_entries);
	put_limit(out, &first, "map_bytes", p->map_bytes);
	put_text_or_null(out, &first, "refusal", p->refusal);
	put_text(out, &first, "socket", p->socket_id);
	put_text_or_null(out, &first, "profiler", p->profiler);
	put_bool(out, &first, "single_file", p->single_file);
	put_bool(out, &first, "native_aot", p->native_aot);
	put_bool(out, &first, "is_32bit", p->is_32bit);
	put_bool(out, &first, "musl", p->musl);
	put_findings(out, &first, findings, cnt);
	putc('}', out);
}

static void put_processes(FILE *out, bool *first, const struct doctor_report *report)
{
	next_line(out, first);
	key(out, first, "processes");
	if (report->no_list) {
		fputs("null", out);
		return;
	}
	putc('[', out);
	for (size_t i = 0; i < report->processes_cnt; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_process(out, &report->processes[i]);
	}
	putc(']', out);
}

static void put_summary(FILE *out, bool *first, const struct doctor_report *report)
{
	size_t counts[DOCTOR_LEVELS];
	bool start = true;

	doctor_count(report, counts);
	next_line(out, first);
	key(out, first, "summary");
	putc('{', out);
	put_limit(out, &start, "ok", counts[DOCTOR_OK]);
	put_limit(out, &start, "warn", counts[DOCTOR_WARN]);
	put_limit(out, &start, "fail", counts[DOCTOR_FAIL]);
	put_limit(out, &start, "na", counts[DOCTOR_NA]);
	putc('}', out);
}

int doctor_json_write(FILE *out, const struct doctor_report *report)
{
	struct doctor_finding findings[DOCTOR_HOST_MAX];
	size_t cnt = doctor_judge_host(report->facts, findings);
	bool first = true, start = true;
	char time_utc[32] = "";
	struct tm tm;

	if (gmtime_r(&report->time, &tm))
		strftime(time_utc, sizeof(time_utc), "%Y-%m-%dT%H:%M:%SZ", &tm);
	putc('{', out);
	put_number(out, &first, "format", FORMAT);
	put_text(out, &first, "hotrun", report->hotrun_version);
	put_text(out, &first, "time_utc", time_utc);
	next_line(out, &first);
	key(out, &first, "host");
	putc('{', out);
	put_text(out, &start, "name", report->host_name);
	put_host_kernel(out, report->facts, &start);
	put_host_rest(out, report->facts, &start);
	putc('}', out);
	next_line(out, &first);
	put_findings(out, &first, findings, cnt);
	put_processes(out, &first, report);
	next_line(out, &first);
	put_limit(out, &first, "unreadable_processes", report->unreadable);
	put_limit(out, &first, "hung_processes", report->hung);
	put_summary(out, &first, report);
	fputs("}\n", out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
