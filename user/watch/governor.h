/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_GOVERNOR_H
#define HOTRUN_WATCH_GOVERNOR_H
/*
 * Keeps the resident recorder within its budget: what observing costs (its own CPU time without
 * that of the HTTP server, that of its helper processes, and that of its BPF programs) as a share
 * of all CPUs of the host. Above it, those who cause costly naming are set aside first; then it
 * gives up one thing after the other, and takes back at once what did not lower the cost, which is
 * then for something else, such as very many threads. What verdicts rest on it never gives up: what
 * waits, and who is not answered, is read once a second at every level. When it is quiet for long
 * enough, it takes them back one by one, and each time that this was too early it waits longer.
 * Pure policy over simulated time; no threads.
 */
#include <stdbool.h>
#include <stdint.h>

#define GOVERNOR_BUDGET	  0.005
#define GOVERNOR_HZ	  19
#define GOVERNOR_HZ_LEAST 3
#define GOVERNOR_WINDOW_NS \
	10000000000ull /* what is compared with the budget is the mean of so long */

/* In the order in which they are given up. */
enum governor_level {
	GOVERNOR_ALL,
	GOVERNOR_RATE_HALF,
	GOVERNOR_RATE_LEAST,
	GOVERNOR_FEWER_CONNECTIONS, /* ... and fewer connections are followed */
	/* ... and the quiet gear, where the full one was asked for */
	GOVERNOR_QUIET,
	GOVERNOR_LEVEL_CNT
};

struct governor_options {
	double budget; /* share of the host's CPUs; 0: no bound */
	uint32_t hz;   /* samples a second and CPU, when nothing is given up */
	bool requests; /* wanted at all */
	bool full;     /* the full gear is, whatever happens */
};

struct governor_input {
	uint64_t now_ns;	     /* CLOCK_MONOTONIC */
	uint32_t cpus;		     /* on line */
	uint64_t own_cpu_ns, bpf_ns; /* since the start; only grow */
	/* Of own_cpu_ns: what naming took of parties that can be set aside. Only grows. */
	uint64_t naming_ns;
	bool may_set_aside; /* there is room for one more */
	/* A capture is under way that was asked for, or taken by itself: what it costs does not
	 * count, and nothing is given up or comes back. But who causes naming beyond the budget is
	 * told all the same, or an attack that makes somebody be captured would be safe. */
	bool capturing;
};

struct governor_plan {
	enum governor_level level; /* the last one of which something is given up */
	uint32_t sample_hz;
	bool fewer_connections, quiet; /* are given up */
	double cost; /* share of the host's CPUs over the last window, 0 = not known yet */
	/* Not 0: a window has ended with so much above the budget, in ns of CPU time, and who
	 * caused most of the naming in it is to be set aside. */
	uint64_t aside_ns;
};

struct governor {
	struct governor_options options;
	enum governor_level level;
	/* What follows is the governor's own. */
	uint64_t since_ns;				   /* at this level */
	uint64_t begin_ns, begin_cost_ns, begin_naming_ns; /* of the window */
	uint64_t quiet_ns;	/* below the budget by a margin since; 0 = is not */
	uint64_t patience_ns;	/* quiet for so long is enough */
	unsigned int futile;	/* what did not lower the cost, a bit each, */
	uint64_t futile_ns;	/* as of then */
	unsigned int came_back; /* of these, the last one: what that does is not measured yet */
	double cost_before;	/* of a step whose effect is not measured yet; 0 = none */
	double cost, naming;	/* shares of the last window */
	uint64_t aside_ns;	/* of this step */
	bool may_set_aside, capturing;
	bool returned; /* the last step took something back */
};

/* level: to begin with, as the last run left it. */
void governor_init(struct governor *g, const struct governor_options *options,
		   enum governor_level level);
/* For once a slice. Changes the level by one step at the most; levels that would give up nothing,
 * because the rate is low or requests are not wanted anyway, are no steps. Without a budget all is
 * taken back at once. */
struct governor_plan governor_step(struct governor *g, const struct governor_input *input);
/* What is on at the level as it is. */
struct governor_plan governor_plan(const struct governor *g);
/* "rate-half". Static. */
const char *governor_level_id(enum governor_level level);
/* What is given up, for people. */
#define GOVERNOR_TEXT_BYTES 96
void governor_text(char ret_text[static GOVERNOR_TEXT_BYTES], const struct governor *g);
#endif
