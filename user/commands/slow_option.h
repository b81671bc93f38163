/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_SLOW_OPTION_H
#define HOTRUN_COMMANDS_SLOW_OPTION_H
/*
 * The options of the commands that see requests. --slow: T, the time from which on an answer is
 * slow, for all ports ("500ms") or for one ("8080=200ms"). --follow: on how many it looks.
 */
#include "collect/collector.h"
#include "commands/options.h"

struct slow_option {
	uint64_t slow_ns; /* 0 = the default */
	struct session_slow_port ports[SLOW_PORTS_MAX];
	size_t port_cnt;
	struct {
		bool given;
		unsigned int most;
	} follow;
};

/* Of a struct slow_option; of a port given twice the last one holds. */
extern const struct command_option slow_options[2];

/* Hands it to the collector, which borrows it. */
void slow_option_apply(const struct slow_option *o, struct collector_options *collector);
#endif
