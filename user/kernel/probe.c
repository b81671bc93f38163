/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/probe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/bpf_start.h"
#include "kernel/cgroup_tree.h"
#include "kernel/own_cgroup.h"
#include "kernel/sideband.h"

/* Inode numbers of the first namespaces (include/linux/proc_ns.h). */
#define FIRST_USER_NS 0xeffffffdu
#define FIRST_PID_NS  0xeffffffcu
#define FIRST_TIME_NS 0xeffffffau

#define CLOCK_READINGS 2000

static int64_t read_number(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	long long value;

	return file && fscanf(file, "%lld", &value) == 1 ? value : FACT_UNKNOWN;
}

static int64_t read_sysctl(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	return read_number(path);
}

static bool in_other_namespace(const char *path, ino_t first)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino != first;
}

/* Lines "monotonic SECONDS NANOSECONDS", "boottime ..." (time_namespaces(7)). */
static bool monotonic_is_shifted(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/timens_offsets", "re");
	char name[32];
	long long seconds, ns;

	while (file && fscanf(file, "%31s %lld %lld", name, &seconds, &ns) == 3)
		if (!strcmp(name, "monotonic"))
			return seconds || ns;
	return false;
}

/* Addresses are zeros for those who may not see them. */
static bool kernel_symbols_shown(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512];

	for (int i = 0; file && i < 64 && fgets(line, sizeof(line), file); i++)
		if (sscanf(line, "%llx", &address) == 1 && address)
			return true;
	return false;
}

static int try_bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
	long fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static int try_perf(void)
{
	_cleanup_free_ bool *online = calloc(HOST_MAX_CPUS, sizeof(*online));
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
	};
	int cpu = 0;
	long fd;

	if (!online)
		return ENOMEM;
	host_online_cpus(online);
	while (cpu < HOST_MAX_CPUS - 1 && !online[cpu])
		cpu++;
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static void probe_rights(struct host_facts *f)
{
	f->euid = geteuid();
	f->capabilities = host_capabilities();
	f->seccomp = host_seccomp_mode();
	f->bpf_errno = try_bpf();
	f->perf_errno = try_perf();
	f->other_pids = in_other_namespace("/proc/self/ns/pid", FIRST_PID_NS);
	f->other_users = in_other_namespace("/proc/self/ns/user", FIRST_USER_NS);
	f->other_time =
		in_other_namespace("/proc/self/ns/time", FIRST_TIME_NS) && monotonic_is_shifted();
}

static void probe_clock(struct host_facts *f)
{
	_cleanup_fclose_ FILE *file =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	uint64_t start_ns = clock_now_ns(), last_ns = start_ns;

	if (!file || fscanf(file, "%31s", f->clocksource) != 1)
		f->clocksource[0] = '\0';
	for (int i = 0; i < CLOCK_READINGS; i++) {
		uint64_t now_ns = clock_now_ns();

		f->clock_backwards += now_ns < last_ns;
		last_ns = now_ns;
	}
	f->clock_read_ns = (uint32_t)((last_ns - start_ns) / CLOCK_READINGS);
	f->suspended_ns = host_boot_offset_ns();
}

static int64_t memory_available(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	long long kb;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lld kB", &kb) == 1)
			return kb * 1024;
	return FACT_UNKNOWN;
}

static uint64_t hard_limit(__rlimit_resource_t resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return 0;
	return limit.rlim_max == RLIM_INFINITY ? UINT64_MAX : limit.rlim_max;
}

static void probe_limits(struct host_facts *f)
{
	struct statvfs disk;

	f->memory_available_bytes = memory_available();
	f->cgroup_room_bytes = own_cgroup_memory_room();
	f->memlock_bytes = hard_limit(RLIMIT_MEMLOCK);
	f->files_max = hard_limit(RLIMIT_NOFILE);
	f->files_needed = BPF_START_FILES + BPF_START_FILES_PER_CPU * f->cpus_online;
	f->disk_free_bytes = FACT_UNKNOWN;
	if (!statvfs(".", &disk))
		f->disk_free_bytes = (int64_t)(disk.f_bavail * disk.f_frsize);
	f->folder_writable = !access(".", W_OK | X_OK);
}

/* Of v2: whether the root of what is mounted here has the controller. */
static bool offers_cpu(const struct cgroup_mounts *mounts)
{
	char path[CGROUP_MOUNT_BYTES + 32], word[64];
	_cleanup_fclose_ FILE *file = NULL;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", mounts->v2);
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s", word) == 1)
		if (!strcmp(word, "cpu"))
			return true;
	return false;
}

static void probe_scheduler(struct host_facts *f)
{
	struct cgroup_mounts mounts;
	uint64_t ns;

	f->pressure = !host_read_pressure(&ns);
	f->schedstats = read_sysctl("sched_schedstats");
	f->cpu_controller = !cgroup_mounts_find(&mounts);
	if (mounts.v1)
		f->cgroups = *mounts.v2 ? HOST_CGROUPS_HYBRID : HOST_CGROUPS_V1;
	else
		f->cgroups = *mounts.v2 ? HOST_CGROUPS_V2 : HOST_CGROUPS_NONE;
	if (f->cgroups == HOST_CGROUPS_V2)
		f->cpu_controller = offers_cpu(&mounts);
}

void probe_host(const struct host *host, struct host_facts *ret_facts)
{
	struct host_facts *f = ret_facts;

	*f = (struct host_facts){.cpus_online = host->cpus_online,
				 .cpus_possible = host->cpus_possible,
				 .ring_kb_per_cpu = sideband_cpu_kb()};
	memcpy(f->release, host->release, sizeof(f->release));
	memcpy(f->version, host->version, sizeof(f->version));
	memcpy(f->machine, host->machine, sizeof(f->machine));
	if (sscanf(host->release, "%u.%u", &f->kernel_major, &f->kernel_minor) != 2)
		f->kernel_major = f->kernel_minor = 0;
	f->proc = !access("/proc/self/status", R_OK);
	f->btf = !access(HOST_BTF_PATH, R_OK);
	f->lockdown = host_lockdown();
	f->kptr_restrict = read_sysctl("kptr_restrict");
	f->unprivileged_bpf_disabled = read_sysctl("unprivileged_bpf_disabled");
	f->protected_symlinks = read_number("/proc/sys/fs/protected_symlinks");
	f->kernel_symbols = kernel_symbols_shown();
	f->perf_event_paranoid = read_sysctl("perf_event_paranoid");
	f->max_sample_rate_hz = read_sysctl("perf_event_max_sample_rate");
	f->cpu_time_max_pct = read_sysctl("perf_cpu_time_max_percent");
	f->max_stack = read_sysctl("perf_event_max_stack");
	f->mlock_kb = read_sysctl("perf_event_mlock_kb");
	probe_rights(f);
	probe_clock(f);
	probe_limits(f);
	probe_scheduler(f);
}
