/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules about the kernel and what it lets perf and BPF do; see doctor.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel_hazards.h"
#include "judge/doctor.h"

/* Tested on 6.1, 6.12 and 6.18; what lies between them and below is expected to work. */
#define TESTED_MAJOR 6
#define TESTED_MINOR 1

#define STACK_USUAL	   127 /* the kernel's default of perf_event_max_stack */
#define SAMPLE_RATE_USUAL  99  /* of hotrun record, in Hz */
#define CPU_TIME_PCT_LEAST 5   /* below it the kernel lowers the rate at the first hiccup */
#define TICKS_SURE	   10  /* fewer expected ticks say nothing about a share */
#define CLOCK_READ_NS_SLOW 300 /* some 25 ns by vdso; a system call to an HPET takes 1,000 */
#define LOAD_NS_SLOW	   2000000000ull

static bool may_perf(const struct host_facts *f)
{
	return host_has_capability(f->capabilities, HOST_CAP_PERFMON) ||
	       host_has_capability(f->capabilities, HOST_CAP_SYS_ADMIN);
}

static void judge_version(const struct host_facts *f, struct doctor_finding *finding)
{
	bool tested = f->kernel_major > TESTED_MAJOR ||
		      (f->kernel_major == TESTED_MAJOR && f->kernel_minor >= TESTED_MINOR);

	if (!f->kernel_major)
		doctor_say(finding, DOCTOR_WARN, "try it: `hotrun record -d 1`",
			   "release %s does not tell a version", f->release);
	else if (host_kernel_is_old(f->kernel_major, f->kernel_minor))
		doctor_say(finding, DOCTOR_FAIL, "boot Linux 5.15 or newer",
			   "%s is too old: hotrun needs Linux %d.%d or newer", f->release,
			   HOST_KERNEL_MIN_MAJOR, HOST_KERNEL_MIN_MINOR);
	else
		doctor_say(finding, DOCTOR_OK, "", "%s%s", f->release,
			   tested ? "" : " (should work; tested are 6.1, 6.12 and 6.18)");
}

static void judge_machine(const struct host_facts *f, struct doctor_finding *finding)
{
	if (!strcmp(f->machine, "x86_64"))
		doctor_say(finding, DOCTOR_OK, "", "%s", f->machine);
	else if (!strcmp(f->machine, "aarch64"))
		doctor_say(finding, DOCTOR_WARN, "check a first report against what you know",
			   "%s: written for, but not tested", f->machine);
	else
		doctor_say(finding, DOCTOR_FAIL, "record on x86-64 or arm64", "%s is not supported",
			   f->machine);
}

static void judge_proc(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->proc)
		doctor_say(finding, DOCTOR_OK, "", "mounted");
	else
		doctor_say(finding, DOCTOR_FAIL, "mount -t proc proc /proc",
			   "not mounted here: what stands below is partly guessed");
}

static void judge_btf(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->btf)
		doctor_say(finding, DOCTOR_OK, "", "there");
	else
		doctor_say(finding, DOCTOR_FAIL, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			   "/sys/kernel/btf/vmlinux cannot be read");
}

static void judge_lockdown(const struct host_facts *f, struct doctor_finding *finding)
{
	switch (f->lockdown) {
	case HOST_LOCKDOWN_UNKNOWN:
		doctor_say(finding, DOCTOR_NA, "", "/sys/kernel/security is not mounted");
		break;
	case HOST_LOCKDOWN_NONE:
		doctor_say(finding, DOCTOR_OK, "", "none");
		break;
	case HOST_LOCKDOWN_INTEGRITY:
		doctor_say(finding, DOCTOR_OK, "", "integrity: does not forbid reading");
		break;
	case HOST_LOCKDOWN_CONFIDENTIALITY:
		doctor_say(finding, DOCTOR_FAIL, "boot with lockdown=integrity",
			   "confidentiality: BPF may not read kernel memory");
		break;
	}
}

static void judge_symbols(const struct host_facts *f, struct doctor_finding *finding)
{
	char restrict_text[64] = "";

	if (f->kptr_restrict != FACT_UNKNOWN)
		snprintf(restrict_text, sizeof(restrict_text), ", kernel.kptr_restrict=%lld",
			 (long long)f->kptr_restrict);
	if (f->kernel_symbols)
		doctor_say(finding, DOCTOR_OK, "", "readable%s", restrict_text);
	else
		doctor_say(finding, DOCTOR_WARN,
			   f->kptr_restrict == 2 ? "sysctl kernel.kptr_restrict=1"
						 : "run as root or with capability SYSLOG",
			   "hidden: kernel frames have no names%s", restrict_text);
}

static void judge_unprivileged(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->unprivileged_bpf_disabled == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else
		doctor_say(finding, DOCTOR_OK, "", "%lld; CAP_BPF passes it",
			   (long long)f->unprivileged_bpf_disabled);
}

/* A runtime opens its map as anybody would: following links, truncating what they lead to. */
static void judge_symlinks(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->protected_symlinks == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else if (!f->protected_symlinks)
		doctor_say(finding, DOCTOR_WARN, "sysctl fs.protected_symlinks=1",
			   "0: with a link in /tmp any user can have a runtime that begins a perf "
			   "map overwrite a file of its user");
	else
		doctor_say(finding, DOCTOR_OK, "", "%lld", (long long)f->protected_symlinks);
}

static void judge_paranoid(const struct host_facts *f, struct doctor_finding *finding)
{
	long long level = f->perf_event_paranoid;

	if (level == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_FAIL, "use a kernel built with CONFIG_PERF_EVENTS=y",
			   "this kernel has no perf events");
	else if (f->perf_errno && may_perf(f) && level > 2)
		doctor_say(finding, DOCTOR_FAIL, "sysctl kernel.perf_event_paranoid=2",
			   "%lld: stricter than CAP_PERFMON allows for", level);
	else
		doctor_say(finding, DOCTOR_OK, "", "%lld%s", level,
			   may_perf(f) ? ", which CAP_PERFMON passes" : "");
}

static void judge_sample_rate(const struct host_facts *f, struct doctor_finding *finding)
{
	long long rate = f->max_sample_rate_hz;

	if (rate == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else if (rate < SAMPLE_RATE_USUAL)
		doctor_say(finding, DOCTOR_WARN, "sysctl kernel.perf_event_max_sample_rate=100000",
			   "%lld Hz: ticks may be throttled; the kernel lowers it when they take "
			   "long",
			   rate);
	else
		doctor_say(finding, DOCTOR_OK, "", "%lld Hz", rate);
}

static void judge_cpu_time(const struct host_facts *f, struct doctor_finding *finding)
{
	long long pct = f->cpu_time_max_pct;

	if (pct == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else if (pct && pct < CPU_TIME_PCT_LEAST)
		doctor_say(finding, DOCTOR_WARN, "sysctl kernel.perf_cpu_time_max_percent=25",
			   "%lld %%: the kernel will lower the sampling rate early", pct);
	else
		doctor_say(finding, DOCTOR_OK, "", "%lld %%%s", pct, pct ? "" : " (no limit)");
}

static void judge_max_stack(const struct host_facts *f, struct doctor_finding *finding)
{
	long long depth = f->max_stack;

	if (depth == FACT_UNKNOWN)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
	else if (depth < STACK_USUAL)
		doctor_say(finding, DOCTOR_WARN, "sysctl kernel.perf_event_max_stack=127",
			   "%lld frames: deeper stacks of the kernel, and those walked "
			   "along frame pointers, lose their root",
			   depth);
	else
		doctor_say(finding, DOCTOR_OK, "",
			   "%lld frames; deeper stacks of the kernel lose their root", depth);
}

static void judge_mlock(const struct host_facts *f, struct doctor_finding *finding)
{
	uint64_t granted_kb = f->memlock_bytes / 1024;

	if (f->mlock_kb == FACT_UNKNOWN) {
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say");
		return;
	}
	if (__builtin_add_overflow(granted_kb, (uint64_t)f->mlock_kb * f->cpus_online, &granted_kb))
		granted_kb = UINT64_MAX;
	if (host_has_capability(f->capabilities, HOST_CAP_IPC_LOCK))
		doctor_say(finding, DOCTOR_OK, "", "%lld KiB, which CAP_IPC_LOCK passes",
			   (long long)f->mlock_kb);
	else if (granted_kb >= (uint64_t)f->ring_kb_per_cpu * f->cpus_online)
		doctor_say(finding, DOCTOR_OK, "", "%lld KiB a CPU", (long long)f->mlock_kb);
	else
		doctor_say(finding, DOCTOR_WARN,
			   "add CAP_IPC_LOCK, or sysctl kernel.perf_event_mlock_kb=1024",
			   "%lld KiB a CPU: rings for new mappings are smaller and may overflow",
			   (long long)f->mlock_kb);
}

/* What may help against an error of the load. */
static const char *load_remedy(const struct host_facts *f)
{
	switch (f->session_error) {
	case -EMFILE:
	case -ENFILE:
		return "ulimit -n 1024 (LimitNOFILE= of a unit)";
	case -ENOMEM:
		return "free memory, or raise the cgroup's memory limit";
	case -EPERM:
		if (f->seccomp == 2)
			return "run with an unconfined seccomp profile";
		return "see kernel.lockdown and rights";
	default:
		return "run `hotrun doctor -v`: it shows the kernel's own words";
	}
}

static void judge_programs(const struct host_facts *f, struct doctor_finding *finding)
{
	double load_ms = (double)f->session_ns / 1e6, map_mib = (double)f->map_bytes / (1 << 20);

	if (!f->session_tried)
		doctor_say(finding, DOCTOR_NA, "", "not tried: %s", f->session_why);
	else if (f->session_error)
		doctor_say(finding, DOCTOR_FAIL, load_remedy(f), "%s", f->session_why);
	else if (f->session_ns > LOAD_NS_SLOW)
		doctor_say(finding, DOCTOR_WARN, "look for a busy host, and for other users of BPF",
			   "loaded and attached, but it took %.0f ms", load_ms);
	else
		doctor_say(finding, DOCTOR_OK, "", "loaded and attached in %.0f ms, maps %.1f MiB",
			   load_ms, map_mib);
}

static void judge_ticks(const struct host_facts *f, struct doctor_finding *finding)
{
	if (!f->ticks_tried)
		doctor_say(finding, DOCTOR_NA, "", "not tried: the BPF programs are not loaded");
	else if (feature_is_off(f->features.status[FEATURE_SAMPLES]))
		doctor_say(finding, DOCTOR_NA, "", "not tried: %s is off",
			   feature_rows[FEATURE_SAMPLES].title);
	else if (f->ticks_error)
		doctor_say(finding, DOCTOR_FAIL, "see rights.perf_call", "%s", f->session_why);
	else if (f->cpus_silent)
		doctor_say(finding, DOCTOR_FAIL, "look into the kernel log for perf and hrtimers",
			   "no tick on %u of %u CPUs, first CPU %u", f->cpus_silent, f->cpus_online,
			   f->first_silent);
	else if (f->ticks_expected >= TICKS_SURE && f->ticks_taken * 2 < f->ticks_expected)
		doctor_say(finding, DOCTOR_WARN,
			   "boot with highres=on; in a guest look at steal time",
			   "%llu of %llu expected ticks came", (unsigned long long)f->ticks_taken,
			   (unsigned long long)f->ticks_expected);
	else if (!f->cpus_ticking)
		doctor_say(finding, DOCTOR_NA, "", "no CPU could be made busy");
	else
		doctor_say(finding, DOCTOR_OK, "", "arrive on %u of %u CPUs%s", f->cpus_ticking,
			   f->cpus_online,
			   f->cpus_ticking < f->cpus_online ? "; the others could not be made busy"
							    : "");
}

static void judge_schedstats(const struct host_facts *f, struct doctor_finding *finding)
{
	doctor_say(finding, DOCTOR_OK, "", "%s: not needed",
		   f->schedstats == FACT_UNKNOWN ? "not there"
		   : f->schedstats		 ? "on"
						 : "off");
}

static void judge_cgroups(const struct host_facts *f, struct doctor_finding *finding)
{
	static const char *const versions[] = {
		[HOST_CGROUPS_NONE] = "none",
		[HOST_CGROUPS_V1] = "v1",
		[HOST_CGROUPS_V2] = "v2",
		[HOST_CGROUPS_HYBRID] = "v1 with v2 beside it",
	};

	if (f->cpu_controller)
		doctor_say(finding, DOCTOR_OK, "", "%s, cpu controller within reach",
			   versions[f->cgroups]);
	else
		doctor_say(finding, DOCTOR_WARN,
			   "mount /sys/fs/cgroup (in a container: the host's)",
			   "%s: no cpu controller within reach: no limits in reports",
			   versions[f->cgroups]);
}

static void judge_pressure(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->pressure)
		doctor_say(finding, DOCTOR_OK, "", "there");
	else
		doctor_say(finding, DOCTOR_WARN, "boot with psi=1",
			   "no /proc/pressure/cpu: reports show no CPU pressure");
}

static void judge_clocksource(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->clock_read_ns > CLOCK_READ_NS_SLOW)
		doctor_say(finding, DOCTOR_WARN,
			   strcmp(f->clocksource, "tsc")
				   ? "boot with tsc=reliable if the TSC is sound, or change the "
				     "machine type"
				   : "expect a higher cost: the machine is slow or emulated",
			   "%s: %u ns a reading, at context switches, too",
			   *f->clocksource ? f->clocksource : "unknown", f->clock_read_ns);
	else if (!*f->clocksource)
		doctor_say(finding, DOCTOR_NA, "", "the kernel does not say; %u ns a reading",
			   f->clock_read_ns);
	else
		doctor_say(finding, DOCTOR_OK, "", "%s, %u ns a reading", f->clocksource,
			   f->clock_read_ns);
}

static void judge_monotonic(const struct host_facts *f, struct doctor_finding *finding)
{
	if (f->clock_backwards)
		doctor_say(finding, DOCTOR_FAIL,
			   "boot with another clocksource=", "went back %u times while it was read",
			   f->clock_backwards);
	else if (f->other_time)
		doctor_say(finding, DOCTOR_FAIL, "run hotrun in the host's time namespace",
			   "a time namespace shifts it: times would not match the kernel's");
	else if (f->suspended_ns >= 1000000000u)
		doctor_say(finding, DOCTOR_OK, "", "sound; the host was suspended for %.0f s",
			   (double)f->suspended_ns / 1e9);
	else
		doctor_say(finding, DOCTOR_OK, "", "sound, never suspended");
}

const struct doctor_rule doctor_kernel_rules[] = {
	{"kernel.version", "BPF links and helpers", judge_version},
	{"kernel.machine", "registers and stack layout", judge_machine},
	{"kernel.proc", "rights, settings, processes", judge_proc},
	{"kernel.btf", "fields of kernel structs", judge_btf},
	{"kernel.lockdown", "BPF reads kernel memory", judge_lockdown},
	{"kernel.symbols", "names of kernel frames", judge_symbols},
	{"kernel.unprivileged_bpf", "told for completeness", judge_unprivileged},
	{"kernel.protected_symlinks", "perf maps in /tmp that nobody diverts", judge_symlinks},
	{"kernel.pressure", "CPU pressure on the first screen", judge_pressure},
	{"kernel.cgroups", "limits and who is throttled", judge_cgroups},
	{"kernel.schedstats", "told for completeness: hotrun counts itself", judge_schedstats},
	{"perf.paranoid", "sampling", judge_paranoid},
	{"perf.max_sample_rate", "ticks that are not throttled", judge_sample_rate},
	{"perf.cpu_time_max_percent", "ticks that are not throttled", judge_cpu_time},
	{"perf.max_stack", "whole stacks", judge_max_stack},
	{"perf.mlock_kb", "room for bursts of new mappings", judge_mlock},
	{"bpf.programs", "everything", judge_programs},
	{"bpf.ticks", "samples", judge_ticks},
	{"clock.source", "cheap times at each switch", judge_clocksource},
	{"clock.monotonic", "times that add up", judge_monotonic},
};
const size_t doctor_kernel_rules_cnt = sizeof(doctor_kernel_rules) / sizeof(doctor_kernel_rules[0]);

/* Without these nothing is recorded that a verdict could rest on. */
#define FEATURES_NEEDED (FEATURE_BIT(FEATURE_SAMPLES) | FEATURE_BIT(FEATURE_COUNTERS))

void doctor_judge_feature(const struct host_facts *facts, enum feature f,
			  struct doctor_finding *finding)
{
	const struct feature_row *row = &feature_rows[f];
	uint32_t status = facts->features.status[f];

	*finding = (struct doctor_finding){.id = row->finding, .purpose = row->title};
	if (!facts->session_tried || facts->session_error || status == FEATURE_UNUSED)
		doctor_say(finding, DOCTOR_NA, "", "not tried");
	else if (status == FEATURE_ON)
		doctor_say(finding, DOCTOR_OK, "", "%s: on", row->title);
	else
		doctor_say(finding, FEATURES_NEEDED & FEATURE_BIT(f) ? DOCTOR_FAIL : DOCTOR_WARN,
			   feature_remedy(f, status), "%s is off: %s; %s", row->title,
			   facts->features.why[f], row->lost);
}

size_t doctor_judge_hazards(const struct host_facts *facts, struct doctor_finding *findings,
			    size_t cnt)
{
	struct hazard_match found[KERNEL_HAZARDS_MAX];
	size_t hazards_cnt = kernel_hazards_match(facts->release, facts->version, facts->machine,
						  HAZARD_ALL, found);
	struct doctor_finding none = {.id = "kernel.hazards", .purpose = "the host stays up"};

	doctor_say(&none, DOCTOR_OK, "", "none known for this kernel");
	if (!hazards_cnt && cnt < DOCTOR_HOST_MAX)
		findings[cnt++] = none;
	for (size_t i = 0; i < hazards_cnt && cnt < DOCTOR_HOST_MAX; i++, cnt++) {
		const struct kernel_hazard *hazard = found[i].hazard;

		findings[cnt] = (struct doctor_finding){.id = hazard->id, .purpose = none.purpose};
		doctor_say(&findings[cnt],
			   hazard_match_refuses(&found[i]) ? DOCTOR_FAIL : DOCTOR_WARN,
			   hazard->remedy, "this kernel %s affected: %s (source: %s)",
			   found[i].is_sure ? "is" : "may be", hazard->what, hazard->source);
	}
	return cnt;
}
