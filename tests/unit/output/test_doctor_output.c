/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_host.h"
#include "golden.h"
#include "output/doctor.h"

static const struct host_facts fit = {FIT_HOST};
/* In a container, as a user: much is missing. */
static const struct host_facts unfit = {
	FIT_HOST,
	.capabilities = 1ull << HOST_CAP_SYS_PTRACE,
	.kernel_symbols = false,
	.lockdown = HOST_LOCKDOWN_UNKNOWN,
	.schedstats = FACT_UNKNOWN,
	.seccomp = 2,
	.bpf_errno = EPERM,
	.perf_errno = EACCES,
	.other_pids = true,
	.session_tried = false,
	.session_why = "recording needs root, or the capabilities BPF and PERFMON (missing: BPF "
		       "PERFMON)",
	.ticks_tried = false,
	.cgroup_room_bytes = 100 << 20,
	.files_max = 64,
	.euid = 1000,
};

static const struct dotnet_process found[] = {
	{FIT_PROCESS},
	{FIT_PROCESS, .tgid = 99, .name = "evil\033[31m\n\xff<b>", .unit = "",
	 .container = "0123456789ab", .map = DOTNET_MAP_ABSENT, .map_ino = 0, .map_entries = 0,
	 .profiler = "lib\"Other\\\n.so", .musl = true, .version = "8.0.4"},
	{FIT_PROCESS, .tgid = 100, .name = "Old", .unit = "", .is_32bit = true, .version = "",
	 .version_source = "", .map = DOTNET_MAP_UNKNOWN, .map_ino = 0, .map_path = "",
	 .socket = DOTNET_SOCKET_ABSENT, .socket_path = ""},
};
static const struct dotnet_process *const processes[] = {&found[0], &found[1], &found[2]};

static struct doctor_report report_of(const struct host_facts *facts, size_t processes_cnt)
{
	return (struct doctor_report){.hotrun_version = "0.1.0",
				      .host_name = "vm\033[1m",
				      .time = 1795277000,
				      .facts = facts,
				      .processes = processes,
				      .processes_cnt = processes_cnt};
}

static void expect_text(const char *golden, const struct doctor_report *report,
			const struct doctor_text_options *options)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(doctor_text_write(out, report, options), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
}

static void expect_json(const char *golden, const struct doctor_report *report)
{
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(doctor_json_write(out, report), 0);
	fclose(out);
	golden_expect(golden, text, len);
	for (size_t i = 0; i < len; i++)
		cr_assert((unsigned char)text[i] >= ' ' || text[i] == '\n', "byte %zu", i);
	free(text);
}

Test(doctor_text, a_fit_host_is_short)
{
	struct doctor_report report = report_of(&fit, 1);

	expect_text("doctor_fit.txt", &report, &(struct doctor_text_options){0});
}

Test(doctor_text, what_is_wrong_has_its_remedy_and_strange_names_are_escaped)
{
	struct doctor_report report = report_of(&unfit, 3);

	report.unreadable = 36;
	report.hung = 1;
	expect_text("doctor_unfit.txt", &report, &(struct doctor_text_options){0});
}

Test(doctor_text, verbose_tells_what_each_is_for)
{
	struct doctor_report report = report_of(&fit, 1);

	expect_text("doctor_verbose.txt", &report,
		    &(struct doctor_text_options){.verbose = true, .color = true});
}

Test(doctor_text, no_list_has_its_reason)
{
	struct doctor_report report = report_of(&fit, 0);
	char text[65536] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	report.no_list = "no permission to look; run as root";
	cr_assert_eq(doctor_text_write(out, &report, &(struct doctor_text_options){0}), 0);
	fclose(out);
	cr_expect(strstr(text, "\n.NET processes: no permission to look; run as root\n"));
}

Test(doctor_text, a_full_disk_is_an_error)
{
	struct doctor_report report = report_of(&fit, 1);
	FILE *out = fopen("/dev/full", "w");

	cr_assert_eq(doctor_text_write(out, &report, &(struct doctor_text_options){0}), -EIO);
	fclose(out);
	out = fopen("/dev/full", "w");
	cr_assert_eq(doctor_json_write(out, &report), -EIO);
	fclose(out);
}

Test(doctor_json, of_a_fit_host)
{
	struct doctor_report report = report_of(&fit, 1);

	expect_json("doctor_fit.json", &report);
}

Test(doctor_json, of_an_unfit_host_with_hostile_names)
{
	struct doctor_report report = report_of(&unfit, 3);

	report.unreadable = 36;
	expect_json("doctor_unfit.json", &report);
}

Test(doctor_json, no_list_is_null)
{
	struct doctor_report report = report_of(&fit, 0);
	char text[65536] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	report.no_list = "this process is none";
	cr_assert_eq(doctor_json_write(out, &report), 0);
	fclose(out);
	cr_expect(strstr(text, "\"processes\": null"));
}
