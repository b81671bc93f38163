/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_PERFMAP_STATUS_H
#define HOTRUN_COMMANDS_PERFMAP_STATUS_H
/*
 * `hotrun perfmap status`: looks at the .NET processes, samples for a moment, writes the table. No
 * threads but those of its file requests.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfmap_status_options {
	const uint32_t *tgids; /* borrowed; none = all */
	size_t tgid_cnt;
	bool json;
	bool sample;
	bool ignore_hazards; /* collector_options */
	bool details;
};

/* Waiting for one answer of a process or of its file system. */
#define PERFMAP_LOOK_NS 500000000ull

/* Returns an enum exit_code; errors are logged. */
int perfmap_status(const struct perfmap_status_options *options);
#endif
