/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun perfmap: options, and what is asked of runtimes. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/perfmap_status.h"
#include "process/dotnet_ask.h"

#define ANSWER_NS 5000000000ull /* a million methods take two seconds */

struct arguments {
	struct perfmap_status_options status;
	uint32_t tgids[FILTER_TGIDS_MAX];
	bool all;
	const char *only_status; /* an option that is of status alone */
};

/* --- arguments -------------------------------------------------------------------------------- */

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "all", NULL,
	       "enable: all .NET processes without a map. disable: all whose map was switched "
	       "on, "
	       "not those started with one",
	       option_true, IN(all)),
};

static const struct command_option status_rows[] = {
	OPTION_FORMAT("status: text (default) or json", struct arguments, status.json),
	OPTION(0, "no-sample", NULL,
	       "status: do not sample this host for a second to tell how much of the JIT code "
	       "has "
	       "names; does without BPF",
	       option_false, IN(status.sample)),
	OPTION_IGNORE_HAZARD(struct arguments, status.ignore_hazards),
};

static const struct command_option last_rows[] = {
	OPTION('v', "verbose", NULL, "more about what happens; status: paths, sockets, users",
	       option_verbose, IN(status.details)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	{OPTION_ROWS(status_rows), .given = offsetof(struct arguments, only_status)},
	{OPTION_ROWS(last_rows)},
};

/* --- asking ----------------------------------------------------------------------------------- */

typedef void (*switch_fn)(struct file_requests *requests, uint32_t tgid, uint64_t start_ticks,
			  uint64_t timeout_ns, struct dotnet_switch *ret_switch);

/* One process, one line. Returns an enum exit_code. */
static int switch_one(struct file_requests *requests, switch_fn change, uint32_t tgid,
		      uint64_t start_ticks)
{
	struct dotnet_switch *s = calloc(1, sizeof(*s));
	char text[1024], name[DOTNET_NAME_BYTES] = "";
	bool good;

	if (!s) {
		log_error("%u: out of memory", tgid);
		return EXIT_FAILED;
	}
	change(requests, tgid, start_ticks, ANSWER_NS, s);
	dotnet_switch_text(s, text, sizeof(text));
	if (s->target.process.name[0])
		text_copy_safe(name, 64, s->target.process.name, strlen(s->target.process.name));
	if (s->round_trip_ns)
		log_debug("%u: asked at %s, .NET %s", tgid, s->target.process.socket_path,
			  *s->target.process.version ? s->target.process.version
						     : "of an unknown version");
	good = s->outcome == DOTNET_DONE || s->outcome == DOTNET_ALREADY;
	if (good)
		printf("%u%s%s: %s\n", tgid, *name ? " " : "", name, text);
	else
		log_error("%u%s%.60s: %s", tgid, *name ? " " : "", s->target.process.name, text);
	fflush(stdout);
	free(s);
	return good ? EXIT_OK : EXIT_FAILED;
}

/* Whether --all means it: those started with a map keep it. */
static bool is_meant(const struct dotnet_process *p, bool enable)
{
	if (enable)
		return !dotnet_has_map(p);
	return p->map == DOTNET_MAP_SWITCHED_ON || p->map == DOTNET_MAP_DELETED;
}

static int switch_all(struct file_requests *requests, switch_fn change, bool enable)
{
	struct dotnet_list list = {0};
	int err = dotnet_read(requests, 0, &list), code = EXIT_OK;
	size_t meant = 0;

	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < list.cnt && !stop_requested; i++) {
		if (!is_meant(&list.rows[i].process, enable))
			continue;
		meant++;
		code = switch_one(requests, change, list.rows[i].process.tgid,
				  list.rows[i].process.start_ticks)
			       ?: code;
	}
	if (!meant)
		printf("%s: nothing to do\n", !list.cnt ? "no .NET process found"
					      : enable	? "every .NET process has a map"
							: "no map was switched on");
	if (list.unreadable)
		log_warn("%zu %s could not be looked at: no permission (root with SYS_PTRACE sees "
			 "all)",
			 list.unreadable, list.unreadable == 1 ? "process" : "processes");
	dotnet_clear(&list);
	return stop_requested ? EXIT_FAILED : code;
}

static int run_switch(const struct arguments *a, bool enable)
{
	switch_fn change = enable ? dotnet_enable : dotnet_disable;
	struct file_requests requests;
	int err = file_requests_init(&requests, NULL, "/proc", PERFMAP_LOOK_NS), code = EXIT_OK;

	if (err) {
		log_error("%s", strerror(-err));
		return EXIT_FAILED;
	}
	requests.stop = &stop_requested;
	if (a->all)
		code = switch_all(&requests, change, enable);
	for (size_t i = 0; i < a->status.tgid_cnt && !stop_requested; i++)
		code = switch_one(&requests, change, a->tgids[i], 0) ?: code;
	file_requests_clear(&requests);
	if (!ferror(stdout) && !fflush(stdout))
		return code;
	log_error("output: %s", strerror(errno));
	return EXIT_FAILED;
}

static int check_switch(const struct arguments *a, const char *what)
{
	if (a->only_status) {
		log_error("--%s: only of `perfmap status`", a->only_status);
		return command_usage("perfmap");
	}
	if (a->all == (a->status.tgid_cnt > 0)) {
		log_error("%s: %s", what,
			  a->all ? "process ids or --all, not both"
				 : "name a process id, or --all");
		return command_usage("perfmap");
	}
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct arguments a = {.status = {.sample = true}};
	const char *what;
	int rc = options_parse(&perfmap_command, argc, argv, &a);

	if (rc)
		return rc;
	if (optind >= argc) {
		log_error("perfmap: status, enable or disable?");
		return command_usage("perfmap");
	}
	what = argv[optind++];
	for (; optind < argc && !rc; optind++)
		rc = options_add_process("perfmap", argv[optind], a.tgids, &a.status.tgid_cnt,
					 FILTER_TGIDS_MAX);
	a.status.tgids = a.tgids;
	if (rc)
		return rc;
	if (!strcmp(what, "status") && a.all) {
		log_error("--all: status shows all anyway");
		return command_usage("perfmap");
	}
	if (access("/proc/self/stat", R_OK)) {
		log_error("/proc is not mounted: processes cannot be looked at");
		return EXIT_FAILED;
	}
	if (!strcmp(what, "status"))
		return perfmap_status(&a.status);
	if (strcmp(what, "enable") && strcmp(what, "disable")) {
		log_error("%s: not status, enable or disable", what);
		return command_usage("perfmap");
	}
	rc = check_switch(&a, what);
	return rc ? rc : run_switch(&a, !strcmp(what, "enable"));
}

static const char *const verbs[] = {"status", "enable", "disable", NULL};

const struct command perfmap_command = {
	.name = "perfmap",
	.job = "show and switch the perf maps that give .NET methods names",
	.usage = "status [OPTION]... [PID]...\n"
		 "enable [OPTION]... PID... | --all\n"
		 "disable [OPTION]... PID... | --all",
	.verbs = verbs,
	.about =
		"The perf map of a .NET runtime gives the methods that it compiled their names. "
		"status\n"
		"shows which .NET processes write one. enable asks a runtime for it over its "
		"diagnostics\n"
		"socket, without a restart (.NET 8 and later), and verifies that the file appears; "
		"disable\n"
		"ends it, the file stays.\n\n"
		"enable and disable are the one thing of observing in which a process takes part: "
		"the "
		"runtime\n"
		"lists what it compiled so far, some ms in one of its threads, and from then on "
		"writes a\n"
		"line a method, into /tmp or what DOTNET_PerfMapJitDumpPath says. It goes on until "
		"disable\n"
		"or its end. They need to be its user, or root with the capabilities SYS_PTRACE "
		"and\n"
		"DAC_OVERRIDE.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples =
		"  hotrun perfmap status\n"
		"  hotrun perfmap enable 4711\n"
		"  hotrun perfmap disable --all\n"
		"  hotrun record --enable-perf-maps -d 30   on for the recording, then off again\n",
	.notes =
		"Exit code: 0, also where nothing had to be done; 1 one of them failed; 2 usage.\n",
	.run = run,
};
