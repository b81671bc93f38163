/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FIT_HOST_H
#define HOTRUN_TESTS_FIT_HOST_H
/*
 * Initializers of facts without a fault, for the tests of doctor: a table row overrides what it is
 * about, {FIT_HOST, .btf = false}.
 */
#include "judge/doctor.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define FIT_CAPABILITIES 0x1ffffffffffull

#define FIT_HOST                                                                                  \
	.release = "6.12.95", .machine = "x86_64", .kernel_major = 6, .kernel_minor = 12,         \
	.proc = true, .btf = true, .lockdown = HOST_LOCKDOWN_NONE, .kptr_restrict = 1,            \
	.unprivileged_bpf_disabled = 2, .protected_symlinks = 1, .kernel_symbols = true,          \
	.capabilities = FIT_CAPABILITIES, .perf_event_paranoid = 2, .max_sample_rate_hz = 100000, \
	.cpu_time_max_pct = 25, .max_stack = 127, .mlock_kb = 516, .ring_kb_per_cpu = 776,        \
	.features.status = {[0 ... FEATURE_CNT - 1] = FEATURE_ON}, .session_tried = true,         \
	.session_ns = 50000000, .map_bytes = 15 << 19, .cpus_online = 2, .cpus_possible = 2,      \
	.ticks_tried = true, .cpus_ticking = 2, .ticks_expected = 18, .ticks_taken = 18,          \
	.clocksource = "tsc", .clock_read_ns = 25, .memory_available_bytes = 8ll << 30,           \
	.cgroup_room_bytes = FACT_UNKNOWN, .memlock_bytes = UINT64_MAX, .files_max = 20000,       \
	.files_needed = 56, .disk_free_bytes = 70ll << 30, .folder_writable = true,               \
	.pressure = true, .cgroups = HOST_CGROUPS_V2, .cpu_controller = true

#define FIT_PROCESS                                                                          \
	.tgid = 4711, .ns_pid = 1, .euid = 1000, .name = "Shop.Web", .unit = "shop.service", \
	.version = "10.0.12", .version_source = "path", .found = DOTNET_BY_LIBRARY,          \
	.map = DOTNET_MAP_SINCE_START, .map_path = "/tmp/perf-1.map", .map_ino = 7,          \
	.map_entries = 1234, .map_methods = 1000, .map_bytes = 98765,                        \
	.socket = DOTNET_SOCKET_THERE, .socket_path = "/tmp/dotnet-diagnostic-1-77-socket"

/* A rule's finding about a host; text and remedy are parts of what it says. */
struct host_row {
	const char *name;
	struct host_facts facts;
	const char *id;
	enum doctor_level level;
	const char *text, *remedy; /* parts of them */
};
void fit_judge_rows(const struct host_row *rows, size_t rows_cnt);

/* The finding with that id; its absence ends the test. */
const struct doctor_finding *fit_find(const struct doctor_finding *findings, size_t cnt,
				      const char *id);
/* No finding stands without words, and nothing wrong without a remedy. */
void fit_expect_whole(const char *name, const struct doctor_finding *findings, size_t cnt);
#endif
