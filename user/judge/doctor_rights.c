/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules about what hotrun may do and how much it may take; see doctor.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "judge/doctor.h"

/* Budget of hotrun itself, and room for the symbol tables of large programs beside it. */
#define MEMORY_LEAST_BYTES  (48ll << 20)
#define MEMORY_WANTED_BYTES (256ll << 20)
/* A minute of a busy host with 16 CPUs; and one that will not take the next slice. */
#define DISK_WANTED_BYTES (64ll << 20)
#define DISK_LEAST_BYTES  (4ll << 20)

static bool has(const struct host_facts *f, enum host_capability capability)
{
	return host_has_capability(f->capabilities, capability);
}

/* A capability, or another that stands for it. */
static void judge_capability(const struct host_facts *f, enum host_capability capability,
			     enum host_capability instead, const char *instead_name,
			     enum doctor_level level, const char *remedy, const char *loss,
			     struct doctor_finding *finding)
{
	if (has(f, capability))
		doctor_say(finding, DOCTOR_OK, "", "there");
	else if (has(f, instead))
		doctor_say(finding, DOCTOR_OK, "", "%s stands for it", instead_name);
	else
		doctor_say(finding, level, remedy, "missing: %s", loss);
}

static void judge_bpf(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_BPF, HOST_CAP_SYS_ADMIN, "CAP_SYS_ADMIN", DOCTOR_FAIL,
			 "run as root or with capability BPF", "nothing can be recorded", finding);
}

static void judge_perfmon(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_PERFMON, HOST_CAP_SYS_ADMIN, "CAP_SYS_ADMIN", DOCTOR_FAIL,
			 "run as root or with capability PERFMON", "nothing can be recorded",
			 finding);
}

static void judge_ptrace(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_SYS_PTRACE, HOST_CAP_SYS_PTRACE, "", DOCTOR_FAIL,
			 "run as root or with capability SYS_PTRACE",
			 "other users' processes cannot be looked into: no names", finding);
}

static void judge_dac(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_DAC_READ_SEARCH, HOST_CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE",
			 DOCTOR_FAIL, "run as root or with capability DAC_READ_SEARCH",
			 "other users' perf maps cannot be read: no names", finding);
}

static void judge_syslog(const struct host_facts *f, struct doctor_finding *finding)
{
	if (!has(f, HOST_CAP_SYSLOG) && f->kernel_symbols)
		doctor_say(finding, DOCTOR_OK, "",
			   "missing, and not needed: kernel symbols are readable");
	else
		judge_capability(f, HOST_CAP_SYSLOG, HOST_CAP_SYSLOG, "", DOCTOR_WARN,
				 "run as root or with capability SYSLOG",
				 "kernel frames have no names", finding);
}

static void judge_checkpoint(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_CHECKPOINT_RESTORE, HOST_CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
			 DOCTOR_WARN, "run as root or with capability CHECKPOINT_RESTORE",
			 "files deleted or replaced while mapped have no names, nor part of .NET "
			 "code without a perf map",
			 finding);
}

static void judge_override(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_capability(f, HOST_CAP_DAC_OVERRIDE, HOST_CAP_DAC_OVERRIDE, "", DOCTOR_WARN,
			 "run as root or with capability DAC_OVERRIDE",
			 "`perfmap enable` reaches runtimes of the own user only", finding);
}

static void judge_resource(const struct host_facts *f, struct doctor_finding *finding)
{
	doctor_say(finding, DOCTOR_OK, "", "%s: not needed",
		   has(f, HOST_CAP_SYS_RESOURCE) ? "there" : "missing");
}

static void judge_admin(const struct host_facts *f, struct doctor_finding *finding)
{
	doctor_say(finding, DOCTOR_OK, "", "%s: not needed",
		   has(f, HOST_CAP_SYS_ADMIN) ? "there" : "missing");
}

/* A filter answers with whatever errno its author chose. */
static void judge_call(const struct host_facts *f, int error, bool may, const char *name,
		       struct doctor_finding *finding)
{
	if (!error)
		doctor_say(finding, DOCTOR_OK, "", "%s works", name);
	else if (!may)
		doctor_say(finding, DOCTOR_FAIL, "run as root or with capabilities BPF and PERFMON",
			   "%s: %s", name, strerror(error));
	else if (error == EMFILE || error == ENFILE)
		doctor_say(finding, DOCTOR_FAIL, "ulimit -n 1024 (LimitNOFILE= of a unit)",
			   "%s: %s", name, strerror(error));
	else
		doctor_say(finding, DOCTOR_FAIL,
			   f->seccomp == 2
				   ? "run with an unconfined seccomp profile"
				   : "look for a security module (audit log) that forbids it",
			   "%s: %s, although the capability is there", name, strerror(error));
}

static void judge_bpf_call(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_call(f, f->bpf_errno, has(f, HOST_CAP_BPF) || has(f, HOST_CAP_SYS_ADMIN), "bpf(2)",
		   finding);
}

static void judge_perf_call(const struct host_facts *f, struct doctor_finding *finding)
{
	judge_call(f, f->perf_errno, has(f, HOST_CAP_PERFMON) || has(f, HOST_CAP_SYS_ADMIN),
		   "perf_event_open(2)", finding);
}

static void judge_seccomp(const struct host_facts *f, struct doctor_finding *finding)
{
	if (!f->seccomp)
		doctor_say(finding, DOCTOR_OK, "", "no filter");
	else if (!f->bpf_errno && !f->perf_errno)
		doctor_say(finding, DOCTOR_OK, "",
			   "a filter that lets bpf and perf_event_open pass");
	else
		doctor_say(finding, DOCTOR_WARN, "run with an unconfined seccomp profile",
			   "a filter is active, and not all calls work: it may be the reason");
}

static void judge_pids(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->other_pids)
		doctor_say(finding, DOCTOR_FAIL,
			   "hostPID: true (Kubernetes), --pid=host (podman, docker)",
			   "a container's: processes of the host cannot be looked up");
	else
		doctor_say(finding, DOCTOR_OK, "", "the host's");
}

static void judge_users(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->other_users)
		doctor_say(finding, DOCTOR_FAIL, "run in the host's user namespace (no --userns)",
			   "a container's: its capabilities mean nothing to the host");
	else
		doctor_say(finding, DOCTOR_OK, "", "the host's");
}

const struct doctor_rule doctor_rights_rules[] = {
	{"rights.bpf", "loading programs: everything", judge_bpf},
	{"rights.perfmon", "tracing and sampling: everything", judge_perfmon},
	{"rights.sys_ptrace", "/proc of other users' processes: their names", judge_ptrace},
	{"rights.dac_read_search", "files of other users: their names", judge_dac},
	{"rights.syslog", "addresses in /proc/kallsyms: kernel names", judge_syslog},
	{"rights.checkpoint_restore", "/proc/PID/map_files: names of deleted files",
	 judge_checkpoint},
	{"rights.dac_override", "diagnostics sockets of other users", judge_override},
	{"rights.sys_resource", "told for completeness", judge_resource},
	{"rights.sys_admin", "told for completeness: stands for BPF and PERFMON", judge_admin},
	{"rights.bpf_call", "tried, whatever the capabilities say", judge_bpf_call},
	{"rights.perf_call", "tried, whatever the capabilities say", judge_perf_call},
	{"rights.seccomp", "container profiles forbid bpf and perf_event_open", judge_seccomp},
	{"rights.pid_namespace", "pids that mean the same to hotrun and the kernel", judge_pids},
	{"rights.user_namespace", "capabilities that count", judge_users},
};
const size_t doctor_rights_rules_cnt = sizeof(doctor_rights_rules) / sizeof(doctor_rights_rules[0]);

#define SIZE_BYTES 32

static const char *size_text(int64_t bytes, char buf[static SIZE_BYTES])
{
	if (bytes < 10ll << 30)
		snprintf(buf, SIZE_BYTES, "%.0f MiB", (double)bytes / (1 << 20));
	else
		snprintf(buf, SIZE_BYTES, "%.0f GiB", (double)bytes / (1 << 30));
	return buf;
}

static void judge_room(int64_t bytes, const char *what, const char *remedy,
		       struct doctor_finding *finding)
{
	char size[SIZE_BYTES];

	size_text(bytes, size);
	if (bytes < MEMORY_LEAST_BYTES)
		doctor_say(finding, DOCTOR_FAIL, remedy, "%s %s: not enough to record", size, what);
	else if (bytes < MEMORY_WANTED_BYTES)
		doctor_say(finding, DOCTOR_WARN, remedy,
			   "%s %s: tight where symbol tables are large", size, what);
	else
		doctor_say(finding, DOCTOR_OK, "", "%s %s", size, what);
}

static void judge_memory(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->memory_available_bytes == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else
		judge_room(f->memory_available_bytes, "available", "free memory on the host",
			   finding);
}

static void judge_cgroup_memory(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->cgroup_room_bytes == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_OK, "", "no limit");
	else
		judge_room(f->cgroup_room_bytes, "until the limit of hotrun's own cgroup",
			   "raise memory.max (the container's memory limit)", finding);
}

/* What `hotrun snapshot --arm` locks at the most (README). */
#define ARMED_BYTES (160ull << 20)

static void judge_memlock(const struct host_facts *f, struct doctor_finding *finding)
{
	unsigned long long kib = f->memlock_bytes / 1024;

	if (f->memlock_bytes == UINT64_MAX)
		doctor_say(finding, DOCTOR_OK, "", "unlimited");
	else if (host_has_capability(f->capabilities, HOST_CAP_IPC_LOCK) ||
		 f->memlock_bytes >= ARMED_BYTES)
		doctor_say(finding, DOCTOR_OK, "",
			   "%llu KiB for perf's rings (mlock_kb); snapshot --arm may lock more",
			   kib);
	else
		doctor_say(finding, DOCTOR_OK, "",
			   "%llu KiB for perf's rings (mlock_kb); snapshot --arm wants 160 MiB",
			   kib);
}

static void judge_files(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->files_max < f->files_needed)
		doctor_say(finding, DOCTOR_FAIL, "ulimit -n 1024 (LimitNOFILE= of a unit)",
			   "%llu at the most; %u are needed for %u CPUs",
			   (unsigned long long)f->files_max, f->files_needed, f->cpus_online);
	else if (f->files_max < 2ull * f->files_needed)
		doctor_say(finding, DOCTOR_WARN, "ulimit -n 1024 (LimitNOFILE= of a unit)",
			   "%llu at the most: just enough, %u are needed for %u CPUs",
			   (unsigned long long)f->files_max, f->files_needed, f->cpus_online);
	else if (f->files_max == UINT64_MAX)
		doctor_say(finding, DOCTOR_OK, "", "unlimited");
	else
		doctor_say(finding, DOCTOR_OK, "", "%llu, of which %u are needed",
			   (unsigned long long)f->files_max, f->files_needed);
}

static void judge_disk(const struct host_facts *f, struct doctor_finding *finding)
{
	static const char elsewhere[] = "change the folder, or use `record -o FILE`";
	char size[SIZE_BYTES];

	if (!f->folder_writable)
		doctor_say(finding, DOCTOR_WARN, elsewhere, "this folder takes no files");
	else if (f->disk_free_bytes == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the file system does not say");
	else if (f->disk_free_bytes < DISK_LEAST_BYTES)
		doctor_say(finding, DOCTOR_FAIL, elsewhere, "%s free in this folder",
			   size_text(f->disk_free_bytes, size));
	else if (f->disk_free_bytes < DISK_WANTED_BYTES)
		doctor_say(finding, DOCTOR_WARN, elsewhere,
			   "%s free in this folder: enough for short recordings",
			   size_text(f->disk_free_bytes, size));
	else
		doctor_say(finding, DOCTOR_OK, "", "%s free in this folder",
			   size_text(f->disk_free_bytes, size));
}

const struct doctor_rule doctor_limits_rules[] = {
	{"limits.memory", "the capture in memory, symbol tables", judge_memory},
	{"limits.cgroup_memory", "the same, in a container", judge_cgroup_memory},
	{"limits.memlock", "perf's rings", judge_memlock},
	{"limits.files", "four descriptors a CPU, and maps and programs", judge_files},
	{"limits.disk", "the capture file", judge_disk},
};
const size_t doctor_limits_rules_cnt = sizeof(doctor_limits_rules) / sizeof(doctor_limits_rules[0]);
