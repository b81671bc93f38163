/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SLOW_OPTION_H
#define HOTRUN_COMMANDS_SLOW_OPTION_H
/*
 * The option --slow of the commands that see requests: T, the time from which on an answer is slow, for
 * all ports ("500ms") or for one ("8080=200ms").
 */
#include "collect/collector.h"

struct slow_option {
	uint64_t slow_ns; /* 0 = the default */
	struct session_slow_port ports[SESSION_SLOW_PORTS_MAX];
	size_t port_cnt;
};

#define SLOW_OPTION_HELP                                                                  \
	"      --slow [PORT=]TIME  an answer is slow when its first byte takes longer,\n" \
	"                          on that port or on all (default 500ms); again for more\n"

/* Takes one more value; of a port given twice the last one holds. Returns an enum exit_code; errors are
 * logged. */
int slow_option_add(struct slow_option *o, const char *value, const char *command);
/* Hands it to the collector, which borrows it. */
void slow_option_apply(const struct slow_option *o, struct collector_options *collector);
#endif
