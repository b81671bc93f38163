/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/kernel_hazards.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define NEVER	   UINT_MAX /* no release of this series has the fix */
#define SERIES_MAX 5
#define UNKNOWN	   UINT_MAX

struct series {
	unsigned int major, minor;
	unsigned int from, fixed; /* stable releases: the first with the fault, the first without */
};

static const struct row {
	struct kernel_hazard hazard;
	unsigned int x86_uses, arm64_uses;
	const char *vendor;		  /* part of the release, NULL = any */
	struct series series[SERIES_MAX]; /* none = all, and no fix is known */
} rows[] = {
	/*
	 * Since 0aef499f3172 ("mm/usercopy: Detect vmalloc overruns", 5.19) a copy from user memory
	 * takes vmap_area_lock if its destination is in vmalloc space, as interrupt stacks are
	 * (check_heap_object() of CONFIG_HARDENED_USERCOPY). Tasks hold that lock with interrupts
	 * enabled, so a tick that reads memory spins forever on its own CPU, and then so do all
	 * others. An NMI is not needed: the timer of cpu-clock is enough. x86-64 walks frame
	 * pointers by __get_user(), which checks nothing; arm64 copies (user_backtrace()).
	 */
	{
		.hazard = {.id = "hazard.user_read",
			   .what = "reading user stacks in a tick can lock up the host",
			   .remedy = "boot 6.1.36, 6.3.10, 6.4 or newer; or on x86-64 record with "
				     "--stacks fp",
			   .source = "d319f344561d (\"mm: Fix copy_from_user_nofault().\", 6.4); "
				     "reviews of 6.1.36 and 6.3.10; bugs.debian.org/1033398; "
				     "github.com/parca-dev/parca-agent/issues/1675",
			   .is_proven = true},
		.x86_uses = HAZARD_TABLES,
		.arm64_uses = HAZARD_USER_STACKS,
		.series = {{5, 19, 0, NEVER},
			   {6, 0, 0, NEVER},
			   {6, 1, 0, 36},
			   {6, 2, 0, NEVER},
			   {6, 3, 0, 10}},
	},
	/* The race needs a thread that ends and has met a uprobe, so hosts without uprobes are
	 * safe. Walks by unwind tables do not take this path. */
	{
		.hazard = {.id = "hazard.uprobe_stack",
			   .what = "walking user stacks can crash the host while uprobes are in "
				   "use (bpftrace, other agents)",
			   .remedy = "boot 6.1.131, 6.6.83, 6.12.19, 6.13 or newer; until then "
				     "use no uprobes",
			   .source = "b583ef82b671 (6.13) of cfa7f3d2c526 (6.12); "
				     "github.com/grafana/pyroscope/issues/3673; Ubuntu 6.11.0-19: "
				     "github.com/coroot/coroot-node-agent/issues/275"},
		.x86_uses = HAZARD_USER_STACKS,
		.series = {{6, 1, 113, 131}, {6, 6, 55, 83}, {6, 11, 3, NEVER}, {6, 12, 0, 19}},
	},
	{
		.hazard = {.id = "hazard.clock_free",
			   .what = "closing cpu-clock events can leave a timer in freed memory "
				   "(CVE-2026-23014)",
			   .remedy = "boot 6.18.6, 6.19 or newer; or record with --event cycles",
			   .source = "ff5860f5088e (6.19) of eb3182ef0405 (6.18, 6.17.8); "
				     "osv.dev CVE-2026-23014"},
		.x86_uses = HAZARD_CPU_CLOCK,
		.arm64_uses = HAZARD_CPU_CLOCK,
		.series = {{6, 17, 8, NEVER}, {6, 18, 0, 6}},
	},
	{
		.hazard = {.id = "hazard.arm64_stack",
			   .what = "a crash of a profiler's kernel stack walk was reported on "
				   "arm64 Amazon Linux 2023, its cause is unknown",
			   .remedy = "try it on a host that may crash first",
			   .source = "github.com/parca-dev/parca-agent/issues/3112"},
		.arm64_uses = HAZARD_KERNEL_STACKS,
		.vendor = "amzn2023",
	},
};

_Static_assert(sizeof(rows) / sizeof(rows[0]) <= KERNEL_HAZARDS_MAX, "room for each");

struct kernel_version {
	unsigned int major, minor, stable;
};

/* False where the release is not a version. */
static bool parse(const char *release, const char *version, struct kernel_version *ret_version)
{
	struct kernel_version v = {.stable = UNKNOWN};
	const char *debian = strstr(version, "Debian ");
	unsigned int major, minor;
	int end = 0, cnt;

	cnt = sscanf(release, "%u.%u%n.%u%n", &v.major, &v.minor, &end, &v.stable, &end);
	if (cnt < 2)
		return false;
	if (debian) {
		v.stable = UNKNOWN;
		if (sscanf(debian, "Debian %u.%u.%u", &major, &minor, &v.stable) == 3 &&
		    (major != v.major || minor != v.minor))
			v.stable = UNKNOWN;
	} else if (strstr(version, "Ubuntu") || strstr(version, "PVE") || strstr(release, ".el")) {
		v.stable = UNKNOWN;
	} else if (!v.stable && release[end]) {
		v.stable = UNKNOWN; /* x.y.0-N: the vendor's own number follows */
	}
	*ret_version = v;
	return true;
}

static bool row_matches(const struct row *row, const struct kernel_version *v, bool *ret_sure)
{
	*ret_sure = false;
	if (!row->series[0].major)
		return true;
	for (size_t i = 0; i < SERIES_MAX; i++) {
		const struct series *s = &row->series[i];

		if (s->major != v->major || s->minor != v->minor)
			continue;
		*ret_sure = v->stable != UNKNOWN;
		return !*ret_sure || (v->stable >= s->from && v->stable < s->fixed);
	}
	return false;
}

size_t kernel_hazards_match(const char *release, const char *version, const char *machine,
			    unsigned int uses,
			    struct hazard_match ret_matches[static KERNEL_HAZARDS_MAX])
{
	bool x86 = !strcmp(machine, "x86_64"), arm64 = !strcmp(machine, "aarch64"), sure;
	struct kernel_version v;
	size_t cnt = 0;

	if (!parse(release, version, &v))
		return 0;
	for (const struct row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++) {
		unsigned int wanted = x86 ? row->x86_uses : arm64 ? row->arm64_uses : 0;

		if (!(wanted & uses) || (row->vendor && !strstr(release, row->vendor)) ||
		    !row_matches(row, &v, &sure))
			continue;
		ret_matches[cnt++] = (struct hazard_match){&row->hazard, sure};
	}
	return cnt;
}
