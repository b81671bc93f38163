/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_KERNEL_HAZARDS_H
#define HOTRUN_BASE_KERNEL_HAZARDS_H
/*
 * Kernels on which a profiler that does what hotrun does has hung or crashed hosts: one table, each
 * row with its source. Pure: it judges the strings of uname(2). Not for kernels that only lack a
 * feature.
 */
#include <stdbool.h>
#include <stddef.h>

/* What a command does there; bits. */
enum hazard_use {
	HAZARD_TABLES = 1 << 0,	       /* a tick reads user stacks by unwind tables, in BPF */
	HAZARD_USER_STACKS = 1 << 1,   /* the kernel walks user stacks along frame pointers */
	HAZARD_KERNEL_STACKS = 1 << 2, /* the kernel walks its own stacks */
	HAZARD_CPU_CLOCK = 1 << 3,     /* cpu-clock events are opened and closed */
	HAZARD_ALL = (1 << 4) - 1,
};

struct kernel_hazard {
	const char *id; /* "hazard.NAME": never changes its meaning */
	const char *what;
	const char *remedy;
	const char *source;
	bool is_proven; /* what hotrun does triggers it: recording is refused */
};

struct hazard_match {
	const struct kernel_hazard *hazard;
	bool is_sure; /* else the release does not say whether it has the fix */
};

#define KERNEL_HAZARDS_MAX 5

/*
 * The hazards of this kernel for these uses (enum hazard_use). release, version, machine: as
 * uname(2) reports them. Of Debian the stable release is in version, of others in release; Ubuntu,
 * Proxmox and Red Hat freeze that number and add fixes of their own: not sure. Returns how many.
 */
size_t kernel_hazards_match(const char *release, const char *version, const char *machine,
			    unsigned int uses,
			    struct hazard_match ret_matches[static KERNEL_HAZARDS_MAX]);

static inline bool hazard_match_refuses(const struct hazard_match *match)
{
	return match->is_sure && match->hazard->is_proven;
}
#endif
