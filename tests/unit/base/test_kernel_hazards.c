/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/kernel_hazards.h"

#define FP_STACKS (HAZARD_ALL & ~HAZARD_TABLES)
#define CYCLES	  (HAZARD_ALL & ~HAZARD_CPU_CLOCK)

struct kernel {
	const char *release, *version, *machine;
	unsigned int uses;
	const char *found; /* "id!" refused, "id" sure, "id?" not sure; in their order */
};

static const struct kernel kernels[] = {
	/* Debian 12 and its backports: the stable release is in the version. */
	{"6.1.0-7-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.20-1 (2023-03-19)", "x86_64",
	 HAZARD_ALL, "user_read!"},
	{"6.1.0-0.deb11.7-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.20-2~bpo11+1 (2023-04-23)",
	 "x86_64", CYCLES, "user_read!"},
	{"6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.35-1 (2023-06-20)", "x86_64",
	 HAZARD_ALL, "user_read!"},
	{"6.1.0-10-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.36-1 (2023-07-05)", "x86_64",
	 HAZARD_ALL, ""},
	{"6.1.0-7-arm64", "#1 SMP Debian 6.1.20-1 (2023-03-19)", "aarch64", FP_STACKS,
	 "user_read!"},
	{"6.1.0-7-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.20-1 (2023-03-19)", "x86_64",
	 FP_STACKS, ""},
	{"6.1.0-7-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.20-1 (2023-03-19)", "x86_64", 0, ""},
	{"6.1.0-26-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.112-1 (2024-09-30)", "x86_64",
	 HAZARD_ALL, ""},
	{"6.1.0-27-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.115-1 (2024-11-01)", "x86_64",
	 HAZARD_ALL, "uprobe_stack"},
	{"6.1.0-27-arm64", "#1 SMP Debian 6.1.115-1 (2024-11-01)", "aarch64", HAZARD_ALL, ""},
	{"6.1.0-56-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-1 (2026-10-01)", "x86_64",
	 HAZARD_ALL, ""},
	{"6.12.95+deb12-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.95-1~bpo12+1", "x86_64",
	 HAZARD_ALL, ""},
	/* Stable releases in the release. */
	{"5.19.17-200.fc36.x86_64", "#1 SMP PREEMPT_DYNAMIC Sat Oct 15 2022", "x86_64", HAZARD_ALL,
	 "user_read!"},
	{"6.0.19", "#2 SMP", "x86_64", HAZARD_ALL, "user_read!"},
	{"6.1.25-37.47.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC Mon Apr 24 2023", "x86_64",
	 HAZARD_ALL, "user_read!"},
	{"6.1.36+", "#1 SMP PREEMPT_DYNAMIC Sat Aug 19 2023", "x86_64", HAZARD_ALL, ""},
	{"6.2.16-arch1-1", "#1 SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL, "user_read!"},
	{"6.3.9-200.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL, "user_read!"},
	{"6.3.10-200.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL, ""},
	{"6.2.0", "#1 SMP", "x86_64", HAZARD_ALL, "user_read!"},
	{"5.15.146.1-microsoft-standard-WSL2", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.6.54-talos", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.6.58-talos", "#1 SMP", "x86_64", HAZARD_ALL, "uprobe_stack"},
	{"6.6.83-talos", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.12.18", "#1 SMP", "x86_64", HAZARD_ALL, "uprobe_stack"},
	{"6.12.19", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.17.7-300.fc43.x86_64", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.17.8-300.fc43.x86_64", "#1 SMP", "x86_64", HAZARD_ALL, "clock_free"},
	{"6.18.5", "#1 SMP", "aarch64", HAZARD_ALL, "clock_free"},
	{"6.18.5", "#1 SMP", "x86_64", CYCLES, ""},
	{"6.18.6", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.18.44-fc-v782", "#1 SMP PREEMPT_DYNAMIC @0", "x86_64", HAZARD_ALL, ""},
	/* Numbers that vendors freeze: what is in them the release does not say. */
	{"5.19.0-50-generic", "#50-Ubuntu SMP PREEMPT_DYNAMIC Mon Jul 10 2023", "x86_64",
	 HAZARD_ALL, "user_read?"},
	{"6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC Thu Nov 16 2023", "x86_64",
	 HAZARD_ALL, "user_read?"},
	{"6.2.16-3-pve", "#1 SMP PREEMPT_DYNAMIC PVE 6.2.16-3 (2023-06-17T05:58Z)", "x86_64",
	 HAZARD_ALL, "user_read?"},
	{"6.11.0-19-generic", "#19~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC Mon Feb 17 2025", "x86_64",
	 HAZARD_ALL, "uprobe_stack?"},
	{"6.14.0-37-generic", "#37~24.04.1-Ubuntu SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL, ""},
	{"6.12.0-55.9.1.el10_0.x86_64", "#1 SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL,
	 "uprobe_stack?"},
	{"6.1.0-11-amd64", "#1 SMP PREEMPT_DYNAMIC Debian", "x86_64", HAZARD_ALL,
	 "user_read? uprobe_stack?"},
	{"6.1.0-11-amd64", "#1 SMP Debian 6.4.1-1", "x86_64", HAZARD_ALL,
	 "user_read? uprobe_stack?"},
	{"6.18-rc4", "#1 SMP", "x86_64", HAZARD_ALL, "clock_free?"},
	{"6.12.83-113.160.amzn2023.aarch64", "#1 SMP", "aarch64", HAZARD_ALL, "arm64_stack?"},
	{"6.12.83-113.160.amzn2023.x86_64", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.12.83-113.160.amzn2023.aarch64", "#1 SMP", "aarch64", HAZARD_USER_STACKS, ""},
	/* Near misses. */
	{"5.18.19", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.4.0-150600.23.14-default", "#1 SMP PREEMPT_DYNAMIC", "x86_64", HAZARD_ALL, ""},
	{"16.1.20", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.19.0", "#1 SMP", "x86_64", HAZARD_ALL, ""},
	{"6.1.20", "#1 SMP", "riscv64", HAZARD_ALL, ""},
	/* Junk. */
	{"", "", "", HAZARD_ALL, ""},
	{"odd", "Debian ", "x86_64", HAZARD_ALL, ""},
	{"6", "#1", "x86_64", HAZARD_ALL, ""},
	{"-6.-1.20", "Debian -6.-1.-3", "x86_64", HAZARD_ALL, ""},
	{"6.99999999999999999999.1", "", "x86_64", HAZARD_ALL, ""},
};

static void join(const struct hazard_match *matches, size_t cnt, char *text, size_t bytes)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < cnt; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s%s", i ? " " : "",
					 matches[i].hazard->id + strlen("hazard."),
					 hazard_match_refuses(&matches[i]) ? "!"
					 : matches[i].is_sure		   ? ""
									   : "?");
}

Test(kernel_hazards, of_a_kernel)
{
	struct hazard_match matches[KERNEL_HAZARDS_MAX];
	char found[256];

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		const struct kernel *k = &kernels[i];

		join(matches,
		     kernel_hazards_match(k->release, k->version, k->machine, k->uses, matches),
		     found, sizeof(found));
		cr_expect_str_eq(found, k->found, "%s %s: '%s', not '%s'", k->release, k->version,
				 found, k->found);
	}
}

Test(kernel_hazards, each_says_what_to_do_and_who_says_so)
{
	/* Kernels that together have all. */
	static const char *const releases[] = {"6.1.20", "6.6.58", "6.18.1",
					       "6.13.1.amzn2023.aarch64"};
	struct hazard_match matches[KERNEL_HAZARDS_MAX];

	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		const char *machine = strstr(releases[i], "aarch64") ?: "x86_64";

		cr_assert_eq(kernel_hazards_match(releases[i], "", machine, HAZARD_ALL, matches), 1,
			     "%s", releases[i]);
		cr_expect(*matches[0].hazard->what && *matches[0].hazard->remedy &&
				  *matches[0].hazard->source,
			  "%s", releases[i]);
	}
}
