/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun record: options, the command, the loop, the summary. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/child.h"
#include "commands/command.h"
#include "commands/limits.h"
#include "commands/options.h"
#include "commands/perf_maps.h"
#include "commands/recorder.h"
#include "commands/service_signal.h"
#include "commands/slow_option.h"
#include "commands/stack_options.h"
#include "kernel/host.h"
#include "kernel/rights.h"
#include "output/report.h"
#include "store/store.h"

#define DEFAULT_HZ 99

struct record_options {
	struct recorder_options recorder;
	uint32_t tgids[FILTER_TGIDS_MAX];
	struct slow_option slow;
	double seconds; /* 0 = until Ctrl-C or the command's end */
	bool quiet;
	bool enable_maps;
	struct perf_maps *maps; /* NULL without --enable-perf-maps */
	char **command;		/* NULL without */
	const char *output;	/* as given, NULL = not */
	char *path;		/* owned */
};

static int take_pid(void *at, const struct command_option *option, const char *value)
{
	struct record_options *o = at;
	uint32_t process;
	int rc = option_process(&process, option, value);

	if (rc)
		return rc;
	if (o->recorder.collector.tgid_cnt >= FILTER_TGIDS_MAX)
		return option_refuse(option, value, "too many processes (1024 at the most)");
	if (process != strtoul(value, NULL, 10)) {
		log_error("%s: a thread of process %u; give -p %u", value, process, process);
		return EXIT_FAILED;
	}
	o->tgids[o->recorder.collector.tgid_cnt++] = process;
	return EXIT_OK;
}

_Static_assert(FILTER_TGIDS_MAX == 1024, "told above");

#define IN(field) OPTION_IN(struct record_options, field)

static const struct command_option rows[] = {
	OPTION('d', "duration", "SECONDS",
	       "how long (default: until Ctrl-C, or as long as COMMAND runs)", option_seconds,
	       .max = OPTION_MAX_SECS, IN(seconds)),
	OPTION_FREQUENCY(struct record_options, recorder.collector.sample_hz),
	OPTION('p', "pid", "PID",
	       "take stacks of this process only; again for more. Scheduler accounts are always "
	       "those of the whole host",
	       take_pid),
	OPTION(0, "cgroup", "PATH", "the same for a cgroup and those below it", option_text,
	       IN(recorder.collector.cgroup)),
	OPTION('o', "output", "FILE", "the capture (default HOST-TIME.hotrun in this folder)",
	       option_nonempty, .complete = COMPLETE_FILE, IN(output)),
	OPTION(0, "event", "EVENT",
	       "cpu-clock (default), or cycles where the CPU counts them: its ticks are not "
	       "equal time",
	       option_second_word, OPTION_WORDS("cpu-clock", "cycles"),
	       IN(recorder.collector.cycles)),
	OPTION(0, "enable-perf-maps", NULL,
	       "ask .NET runtimes (8 and later) that write no perf map for one, so that their "
	       "methods have names, and end it with the recording; see `hotrun perfmap --help` "
	       "for what that costs",
	       option_true, IN(enable_maps)),
};

static const struct command_option last_rows[] = {
	OPTION_NAMES(struct record_options, recorder.collector.names),
	OPTION_NODE_ROOT(struct record_options, recorder.collector.node_root),
	OPTION_NO_REQUESTS(struct record_options, recorder.collector.requests),
	OPTION_NO_BLOCKED(struct record_options, recorder.collector.blocked),
	OPTION_WAKERS(struct record_options, recorder.collector.wakers),
	OPTION_SWITCHES(struct record_options, recorder.collector.switches_s,
			"keep every single switch and wakeup of the last seconds (0.23 us each)"),
	OPTION_IGNORE_HAZARD(struct record_options, recorder.collector.ignore_hazards),
	OPTION('q', "quiet", NULL, "no summary at the end", option_true, IN(quiet)),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(stack_options, struct record_options, recorder.collector.stacks),
	OPTION_SHARED(slow_options, struct record_options, slow),
	OPTION_SHARED(service_signal_options, struct record_options, recorder.collector.signals),
	{OPTION_ROWS(last_rows)},
};

static int parse(int argc, char **argv, struct record_options *o)
{
	int rc = options_parse(&record_command, argc, argv, o);

	if (rc || optind >= argc)
		return rc;
	if (strcmp(argv[optind - 1], "--")) {
		log_error("%s: put `--` before the command to run", argv[optind]);
		return command_usage("record");
	}
	o->command = argv + optind;
	o->recorder.collector.command = argv[optind];
	return EXIT_OK;
}

static void show_progress(const struct recorder *r, bool last)
{
	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K%.0f s, %llu samples%s", (double)recorder_elapsed_ns(r) / 1e9,
		(unsigned long long)recorder_samples(r), last ? "\n" : " (Ctrl-C ends)");
	fflush(stderr);
}

/* Runtimes that are known by now, once a slice. */
static void enable_maps(const struct record_options *o, const struct recorder *r)
{
	if (o->maps)
		perf_maps_look(o->maps, recorder_model(r), o->recorder.collector.cgroup != NULL);
}

/* Runs until the time is over, somebody asks to stop, or the command ends. */
static int loop(struct recorder *r, const struct record_options *o, struct child *child,
		int *ret_code)
{
	uint64_t next_ns = clock_now_ns(), shown_ns = 0;
	uint64_t end_ns = o->seconds > 0 ? next_ns + (uint64_t)(o->seconds * 1e9) : UINT64_MAX;
	int err = 0;

	enable_maps(o, r);
	while (!err && !stop_requested) {
		uint64_t now_ns = clock_now_ns();

		if (now_ns >= end_ns || child_ended(child, ret_code))
			break;
		next_ns = now_ns + RECORDER_TICK_NS < end_ns ? now_ns + RECORDER_TICK_NS : end_ns;
		if (o->command && next_ns > now_ns + RECORDER_TICK_NS / 10)
			next_ns = now_ns + RECORDER_TICK_NS / 10; /* to see its end soon */
		recorder_pause(r, next_ns - now_ns);
		err = recorder_tick(r);
		if (clock_now_ns() - shown_ns > 1000000000) {
			enable_maps(o, r);
			show_progress(r, false);
			shown_ns = clock_now_ns();
		}
	}
	show_progress(r, true);
	return err;
}

static void summarize(const char *path)
{
	struct report_options options = {.summary = true, .color = isatty(STDOUT_FILENO)};
	struct limits limits = {0};
	struct model *m = NULL;
	int err = store_read(path, &m);

	/* A wrong line there is told, and costs nobody the recording. */
	if (!limits_read(&limits, "record"))
		options.limits = &limits.policy;
	if (err)
		log_error("%s: %s", path, store_error_text(err));
	else
		report_write(stdout, m, &options);
	model_free(m);
	limits_forget(&limits);
}

static int failed(const struct record_options *o, int code)
{
	return o->command ? EXIT_OWN_FAILURE : code;
}

/* Whether the capture is put where this user cannot, or will be another's. */
static bool is_elsewhere(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat st;

	return store_is_for_sudo() || !folder || stat(folder, &st) || st.st_uid != geteuid() ||
	       !(st.st_mode & S_IWUSR);
}

static int record(struct record_options *o, struct child *child)
{
	struct recorder *r = NULL;
	char why[1024] = "";
	int err, code = EXIT_OK;

	/* What asks runtimes of others, and what writes for others, needs more. */
	if (o->enable_maps || is_elsewhere(o->path))
		o->recorder.rights |= RIGHTS_FILES;
	rights_begin(o->recorder.rights);
	err = recorder_new(&o->recorder, why, sizeof(why), &r);
	if (!err) {
		err = recorder_start(r, why, sizeof(why));
		if (err)
			recorder_free(r);
	}
	if (err) {
		log_error("%s", why);
		return failed(o, EXIT_FAILED);
	}
	if (o->command) {
		err = child_release(child);
		if (err) {
			log_error("%s: %s", o->command[0], strerror(-err));
			recorder_finish(r);
			return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
		}
	}
	err = loop(r, o, child, &code);
	if (err)
		recorder_free(r);
	else
		err = recorder_finish(r);
	perf_maps_end(o->maps);
	o->maps = NULL;
	if (err) {
		log_error("%s: %s; what was written before can be read", o->path,
			  store_error_text(err));
		code = failed(o, EXIT_FAILED);
	}
	if (!o->quiet)
		summarize(o->path);
	log_info("capture: %s (hotrun report %s)", o->path, o->path);
	return code;
}

/* With what must be there before it, and end with it. */
static int record_with_maps(struct record_options *o, struct child *child)
{
	int rc;

	if (o->enable_maps) {
		o->maps = perf_maps_new();
		if (!o->maps) {
			log_error("--enable-perf-maps: %s", strerror(errno));
			return failed(o, EXIT_FAILED);
		}
	}
	rc = record(o, child);
	perf_maps_end(o->maps);
	return rc;
}

static int run(int argc, char **argv)
{
	struct record_options *o = calloc(1, sizeof(*o));
	struct child child = {0};
	struct host host;
	int rc, err;

	if (!o)
		return EXIT_FAILED;
	o->recorder.collector.sample_hz = DEFAULT_HZ;
	o->recorder.collector.tgids = o->tgids;
	o->recorder.collector.command = "";
	o->recorder.collector.facts = o->recorder.collector.samples = true;
	o->recorder.collector.requests = true;
	o->recorder.collector.blocked = true;
	o->recorder.collector.follow_most = COLLECTOR_FOLLOW_USUAL;
	o->recorder.collector.take_service_signals = service_signals_take;
	rc = parse(argc, argv, o);
	if (!rc)
		rc = service_signals_start(o->recorder.collector.signals, "record");
	if (rc)
		goto out;
	host_describe(&host);
	o->path = o->output ? strdup(o->output) : store_default_path(host.name, time(NULL));
	o->recorder.path = o->path;
	slow_option_apply(&o->slow, &o->recorder.collector);
	if (!o->path) {
		rc = failed(o, EXIT_FAILED);
		goto out;
	}
	if (o->command) {
		err = child_find(o->command[0]);
		if (err) {
			log_error("%s: %s", o->command[0], strerror(-err));
			rc = err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
			goto out;
		}
		err = child_prepare(o->command, &child);
		if (err) {
			log_error("%s: %s", o->command[0], strerror(-err));
			rc = EXIT_OWN_FAILURE;
			goto out;
		}
	}
	/* A full run queue must not starve the observer of its few milliseconds a second. */
	if (setpriority(PRIO_PROCESS, 0, -10))
		log_debug("priority not raised: %s", strerror(errno));
	rc = record_with_maps(o, &child);
out:
	child_close(&child);
	service_signals_free(o->recorder.collector.signals);
	free(o->path);
	free(o);
	return rc;
}

const struct command record_command = {
	.name = "record",
	.job = "record what runs on all CPUs of this host into a capture file",
	.usage = "[OPTION]... [-- COMMAND [ARG]...]",
	.about = "Records what every process runs on all CPUs of this host into a capture file, "
		 "and\n"
		 "prints the first screen of its report. Needs root, or the capabilities BPF, "
		 "PERFMON,\n"
		 "SYS_PTRACE, DAC_READ_SEARCH and SYSLOG. Ends after the duration, at Ctrl-C, or "
		 "with\n"
		 "COMMAND; what was recorded is kept in each case.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.ends_at_operand = true,
	.operand = COMPLETE_FILE,
	.examples = "  hotrun record -d 10\n"
		    "  hotrun record -p 4711 -d 30 -o slow.hotrun\n"
		    "  hotrun record --cgroup /kubepods.slice -d 60\n"
		    "  hotrun record --wakers -d 30\n"
		    "  hotrun record --slow 8080=200ms -d 60\n"
		    "  hotrun record --service-signal Shop.Mail=/run/mail/failed-share -d 60\n"
		    "  hotrun record -- dotnet build\n",
	.notes = "Start .NET services with DOTNET_PerfMapEnabled=3 so that their methods have "
		 "names, or "
		 "use\n"
		 "--enable-perf-maps. Killed by SIGKILL, hotrun leaves the maps that it switched "
		 "on as "
		 "they\n"
		 "are: `hotrun perfmap status` shows them.\n"
		 "Exit code: 0; 1 failure; 2 usage. With COMMAND its own code, or 0 when the "
		 "duration ends\n"
		 "first (COMMAND then runs on); 125 hotrun failed, 126 COMMAND cannot be executed, "
		 "127 it\n"
		 "was not found.\n",
	.run = run,
};
