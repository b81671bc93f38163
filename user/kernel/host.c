/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/kernel_hazards.h"
#include "base/log.h"

/* Value of "Key:\t" in a status file of /proc, read in base; fallback where it is not there. */
static uint64_t value_in(const char *path, const char *key, int base, uint64_t fallback)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t len = strlen(key);
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, len) && line[len] == ':')
			return strtoull(line + len + 1, NULL, base);
	return fallback;
}

static uint64_t status_value(const char *key, int base, uint64_t fallback)
{
	return value_in("/proc/self/status", key, base, fallback);
}

uint32_t host_process_of(uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	return (uint32_t)value_in(path, "Tgid", 10, 0);
}

static bool read_line(const char *path, char *line, size_t bytes)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");

	return file && fgets(line, (int)bytes, file);
}

static uint32_t read_u32(const char *path, uint32_t fallback)
{
	char line[64];

	return read_line(path, line, sizeof(line)) ? (uint32_t)strtoul(line, NULL, 10) : fallback;
}

/* Calls mark for each CPU of a list like "0-3,8"; returns the highest + 1. */
static uint32_t parse_cpu_list(const char *list, bool *marks, uint32_t *ret_cnt)
{
	uint32_t end = 0, cnt = 0;

	while (*list >= '0' && *list <= '9') {
		char *rest;
		unsigned long first = strtoul(list, &rest, 10), last = first;

		if (*rest == '-')
			last = strtoul(rest + 1, &rest, 10);
		for (; first <= last && first < HOST_MAX_CPUS; first++, cnt++) {
			if (marks)
				marks[first] = true;
			if (first + 1 > end)
				end = (uint32_t)first + 1;
		}
		list = *rest == ',' ? rest + 1 : rest;
	}
	*ret_cnt = cnt;
	return end;
}

uint32_t host_online_cpus(bool *online)
{
	char line[4096];
	uint32_t cnt = 0;

	memset(online, 0, HOST_MAX_CPUS * sizeof(*online));
	if (read_line("/sys/devices/system/cpu/online", line, sizeof(line)))
		parse_cpu_list(line, online, &cnt);
	if (!cnt) {
		long n = sysconf(_SC_NPROCESSORS_ONLN);

		for (; cnt < (n > 0 ? (uint32_t)n : 1) && cnt < HOST_MAX_CPUS; cnt++)
			online[cnt] = true;
	}
	return cnt;
}

void host_describe(struct host *ret_host)
{
	_cleanup_free_ bool *online = calloc(HOST_MAX_CPUS, sizeof(*online));
	struct utsname uts = {0};
	char line[4096];
	uint32_t cnt;

	*ret_host = (struct host){.cpus_possible = 1, .cpus_online = 1};
	uname(&uts);
	snprintf(ret_host->name, sizeof(ret_host->name), "%s", uts.nodename);
	snprintf(ret_host->release, sizeof(ret_host->release), "%s", uts.release);
	snprintf(ret_host->version, sizeof(ret_host->version), "%s", uts.version);
	snprintf(ret_host->machine, sizeof(ret_host->machine), "%s", uts.machine);
	if (online)
		ret_host->cpus_online = host_online_cpus(online);
	ret_host->cpus_possible = ret_host->cpus_online;
	if (read_line("/sys/devices/system/cpu/possible", line, sizeof(line)))
		ret_host->cpus_possible = parse_cpu_list(line, NULL, &cnt);
	ret_host->max_stack = read_u32("/proc/sys/kernel/perf_event_max_stack", 127);
}

uint64_t host_capabilities(void)
{
	return status_value("CapEff", 16, 0);
}

int64_t host_seccomp_mode(void)
{
	return (int64_t)status_value("Seccomp", 10, 0);
}

enum host_lockdown host_lockdown(void)
{
	char line[128];

	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return HOST_LOCKDOWN_UNKNOWN;
	if (strstr(line, "[confidentiality]"))
		return HOST_LOCKDOWN_CONFIDENTIALITY;
	return strstr(line, "[integrity]") ? HOST_LOCKDOWN_INTEGRITY : HOST_LOCKDOWN_NONE;
}

/* CAP_SYS_ADMIN stands for both, as it did before they were split off. */
static bool may_record(uint64_t caps)
{
	return host_has_capability(caps, HOST_CAP_SYS_ADMIN) ||
	       (host_has_capability(caps, HOST_CAP_BPF) &&
		host_has_capability(caps, HOST_CAP_PERFMON));
}

void host_explain_eperm(char *why, size_t why_bytes)
{
	uint64_t caps = host_capabilities();

	if (!may_record(caps))
		snprintf(why, why_bytes,
			 "recording needs root, or the capabilities BPF and PERFMON (missing:%s%s)",
			 host_has_capability(caps, HOST_CAP_BPF) ? "" : " BPF",
			 host_has_capability(caps, HOST_CAP_PERFMON) ? "" : " PERFMON");
	else if (host_seccomp_mode() == 2)
		snprintf(why, why_bytes,
			 "a seccomp filter is active and may forbid bpf or perf_event_open; run "
			 "with an unconfined seccomp profile");
	else if (host_lockdown() == HOST_LOCKDOWN_CONFIDENTIALITY)
		snprintf(why, why_bytes, "kernel lockdown is in confidentiality mode");
	else
		snprintf(why, why_bytes, "the kernel refused bpf or perf_event_open");
}

unsigned int host_missing_capabilities(char *missing, size_t bytes)
{
	static const struct {
		enum host_capability capability;
		const char *name;
	} wanted[] = {{HOST_CAP_SYS_PTRACE, "SYS_PTRACE"},
		      {HOST_CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH"}};
	uint64_t caps = host_capabilities();
	unsigned int cnt = 0;
	size_t used = 0;

	*missing = '\0';
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		/* Whoever may override permissions may read, too. */
		if (host_has_capability(caps, wanted[i].capability) ||
		    (wanted[i].capability == HOST_CAP_DAC_READ_SEARCH &&
		     host_has_capability(caps, HOST_CAP_DAC_OVERRIDE)))
			continue;
		used += (size_t)snprintf(missing + used, bytes - used, " %s", wanted[i].name);
		cnt++;
	}
	return cnt;
}

int host_check(const struct host *host, char *why, size_t why_bytes)
{
	unsigned int major = 0, minor = 0;

	if (sscanf(host->release, "%u.%u", &major, &minor) == 2 &&
	    host_kernel_is_old(major, minor)) {
		snprintf(why, why_bytes, "kernel %s is too old: hotrun needs Linux %d.%d or newer",
			 host->release, HOST_KERNEL_MIN_MAJOR, HOST_KERNEL_MIN_MINOR);
		return -ENOTSUP;
	}
	if (access(HOST_BTF_PATH, R_OK)) {
		snprintf(why, why_bytes,
			 "this kernel has no readable BTF (%s); it must be built with "
			 "CONFIG_DEBUG_INFO_BTF=y",
			 HOST_BTF_PATH);
		return -ENOTSUP;
	}
	if (!may_record(host_capabilities())) {
		host_explain_eperm(why, why_bytes);
		return -EPERM;
	}
	if (host_lockdown() == HOST_LOCKDOWN_CONFIDENTIALITY) {
		snprintf(why, why_bytes,
			 "kernel lockdown is in confidentiality mode, which forbids "
			 "BPF to read kernel memory");
		return -EPERM;
	}
	return 0;
}

int host_check_hazards(const struct host *host, unsigned int uses, bool ignored, char *why,
		       size_t why_bytes)
{
	struct hazard_match found[KERNEL_HAZARDS_MAX];
	size_t cnt = kernel_hazards_match(host->release, host->version, host->machine, uses, found);

	for (size_t i = 0; i < cnt; i++) {
		const struct kernel_hazard *hazard = found[i].hazard;

		if (hazard_match_refuses(&found[i]) && !ignored) {
			snprintf(why, why_bytes,
				 "kernel %s %s: %s; %s; or, at your own risk, add "
				 "--ignore-kernel-hazard (%s)",
				 host->release, host->version, hazard->what, hazard->remedy,
				 hazard->id);
			return -ENOTSUP;
		}
		log_warn("kernel %s %s affected: %s; %s (%s)", host->release,
			 found[i].is_sure ? "is" : "may be", hazard->what, hazard->remedy,
			 hazard->id);
	}
	return 0;
}

uint32_t host_read_cpus(uint64_t *steal_ns, uint64_t *idle_ns, uint32_t cpus)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/stat", "re");
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = 1000000000ull / (hz > 0 ? (unsigned long)hz : 100);
	uint32_t filled = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long idle = 0, iowait = 0, steal = 0;
		unsigned int cpu;

		if (strncmp(line, "cpu", 3) || line[3] == ' ')
			continue;
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu %*u %*u %llu", &cpu, &idle, &iowait,
			   &steal) != 4 ||
		    cpu >= cpus)
			continue;
		steal_ns[cpu] = steal * tick_ns;
		if (idle_ns)
			idle_ns[cpu] = (idle + iowait) * tick_ns;
		filled++;
	}
	return filled;
}

uint64_t host_own_age_ns(void)
{
	FILE *in = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ran = 0, waited = 0;

	if (in && fscanf(in, "%llu %llu", &ran, &waited) != 2)
		ran = waited = 0;
	if (in)
		fclose(in);
	return ran + waited;
}

uint64_t host_forks(void)
{
	_cleanup_free_ char *line = NULL;
	FILE *in = fopen("/proc/stat", "re");
	unsigned long long forks = 0;
	size_t bytes = 0;

	while (in && getline(&line, &bytes, in) > 0 && sscanf(line, "processes %llu", &forks) != 1)
		;
	if (in)
		fclose(in);
	return forks;
}

void host_read_memory(uint64_t *ret_bytes, uint64_t *ret_free_bytes)
{
	FILE *in = fopen("/proc/meminfo", "re");
	unsigned long long all, left;

	if (!in)
		return;
	if (fscanf(in, "MemTotal: %llu kB MemFree: %*u kB MemAvailable: %llu", &all, &left) == 2) {
		*ret_bytes = all << 10;
		*ret_free_bytes = left << 10;
	}
	fclose(in);
}

int host_read_pressure(uint64_t *ret_ns)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/pressure/cpu", "re");
	unsigned long long us;

	/* Built in but switched off (psi=0), it opens and cannot be read. */
	if (!file || fscanf(file, "some avg10=%*s avg60=%*s avg300=%*s total=%llu", &us) != 1)
		return -ENOTSUP;
	*ret_ns = us * 1000;
	return 0;
}

int64_t host_wall_offset_ns(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_now_ns());
}

uint64_t host_boot_offset_ns(void)
{
	uint64_t best_ns = UINT64_MAX, offset_ns = 0;

	/* Start times are matched with event times by it, which lie some 10 us apart: of several
	 * readings the one that was interrupted least. */
	for (int i = 0; i < 16; i++) {
		uint64_t before_ns = clock_now_ns();
		uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
		uint64_t took_ns = clock_now_ns() - before_ns;

		if (took_ns < best_ns) {
			best_ns = took_ns;
			offset_ns = boot_ns - before_ns; /* never negative, in this order */
		}
	}
	return (uint64_t)offset_ns;
}
