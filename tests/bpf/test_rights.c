/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which capabilities are kept: needs neither rights nor programs. */
#include <criterion/criterion.h>
#include <linux/capability.h>

#include "base/privileges.h"
#include "kernel/rights.h"

#define P   PRIVILEGE
#define ALL (~0ull)
#define OBSERVE                                                                       \
	(P(HOST_CAP_PERFMON) | P(HOST_CAP_SYS_PTRACE) | P(HOST_CAP_DAC_READ_SEARCH) | \
	 P(HOST_CAP_CHECKPOINT_RESTORE) | P(HOST_CAP_SYSLOG))
/* As the unit and the pod have them. */
#define SERVICE (OBSERVE | P(HOST_CAP_BPF))

struct row {
	const char *name;
	uint64_t held;
	unsigned int use;
	bool loaded, bpf, memory;
	uint64_t kept;
};

static const struct row table[] = {
	{"root, loaded", ALL, 0, true, true, true, OBSERVE},
	{"a kernel that asks at every call", ALL, 0, true, false, true, SERVICE},
	{"watch", ALL, RIGHTS_RELOAD, true, true, true, SERVICE},
	{"locked memory is bounded", ALL, 0, true, true, false, OBSERVE | P(HOST_CAP_IPC_LOCK)},
	{"into files of others", ALL, RIGHTS_FILES, true, true, true,
	 OBSERVE | P(HOST_CAP_DAC_OVERRIDE) | P(CAP_CHOWN) | P(CAP_FOWNER)},
	{"ahead of all others", ALL, RIGHTS_URGENT, true, true, true, OBSERVE | P(CAP_SYS_NICE)},
	{"before it is loaded", ALL, 0, false, false, true,
	 SERVICE | P(HOST_CAP_SYS_ADMIN) | P(HOST_CAP_SYS_RESOURCE) | P(HOST_CAP_IPC_LOCK) |
		 P(CAP_SYS_NICE) | P(CAP_NET_BIND_SERVICE)},
	{"a service's are not more than it has", SERVICE, RIGHTS_RELOAD, true, true, false,
	 SERVICE},
	{"none", 0, RIGHTS_RELOAD | RIGHTS_FILES, true, true, true, 0},
	{"SYS_ADMIN in place of PERFMON", ALL & ~P(HOST_CAP_PERFMON), 0, true, true, true,
	 (OBSERVE & ~P(HOST_CAP_PERFMON)) | P(HOST_CAP_SYS_ADMIN)},
	{"SYS_ADMIN in place of BPF, which loads anew", ALL & ~P(HOST_CAP_BPF), RIGHTS_RELOAD, true,
	 true, true, OBSERVE | P(HOST_CAP_SYS_ADMIN)},
	{"and of BPF, which does not", ALL & ~P(HOST_CAP_BPF), 0, true, true, true, OBSERVE},
	{"DAC_OVERRIDE in place of DAC_READ_SEARCH", ALL & ~P(HOST_CAP_DAC_READ_SEARCH), 0, true,
	 true, true, (OBSERVE & ~P(HOST_CAP_DAC_READ_SEARCH)) | P(HOST_CAP_DAC_OVERRIDE)},
};

Test(rights, that_are_kept)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct row *r = &table[i];
		struct rights_kernel kernel = {r->bpf, true, r->memory};
		uint64_t kept = rights_kept(r->held, r->use, r->loaded, &kernel);

		cr_expect_eq(kept, r->kept, "%s: %llx, not %llx", r->name, (unsigned long long)kept,
			     (unsigned long long)r->kept);
	}
}

Test(rights, to_open_events_are_kept_where_the_kernel_asks_for_more)
{
	struct rights_kernel kernel = {.bpf = true, .events = false, .memory = true};

	cr_expect_eq(rights_kept(ALL, 0, true, &kernel), OBSERVE | P(HOST_CAP_SYS_ADMIN));
	cr_expect_eq(rights_kept(SERVICE, 0, true, &kernel), OBSERVE, "a service has none");
}
