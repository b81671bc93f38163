/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun watch: options, then the resident recorder. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "commands/command.h"
#include "commands/limits.h"
#include "commands/options.h"
#include "commands/recorder_words.h"
#include "commands/service_signal.h"
#include "commands/slow_option.h"
#include "commands/stack_options.h"
#include "commands/watch_maps.h"
#include "kernel/rights.h"
#include "watch/control.h"
#include "watch/folder.h"
#include "watch/http.h"
#include "watch/loop.h"

/* A setting that was given as an option. */
struct given {
	const char *name, *value;
};

struct arguments {
	struct watch_options watch;
	struct slow_option slow;
	struct limits limits;
	struct given *given;
	size_t given_cnt, given_cap;
	bool status;
	struct watch_maps *maps; /* NULL: perf-maps was never at the start */
	bool told_of_maps;
};

#define STATUS_NS 8000000000ull
/* It begins the names of files, which have 255 bytes. */
#define HOST_NAME_BYTES 200

/* --- configuration --------------------------------------------------------------------------- */

static int set_given(struct watch_config *config, const struct arguments *a, char *why,
		     size_t why_bytes)
{
	char error[LIMITS_ERROR_BYTES];

	for (size_t i = 0; i < a->given_cnt; i++) {
		if (!watch_config_set(config, a->given[i].name, a->given[i].value, error))
			continue;
		snprintf(why, why_bytes, "--%s", error);
		return -EINVAL;
	}
	for (size_t i = 0; i < a->limits.settings_cnt; i++) {
		if (!limits_set(&config->limits, a->limits.settings[i], error))
			continue;
		snprintf(why, why_bytes, "--limit %s", error);
		return -EINVAL;
	}
	return 0;
}

static int parse_file(struct watch_config *config, const struct arguments *a, char *why,
		      size_t why_bytes)
{
	const char *path = a->limits.config ? a->limits.config : LIMITS_FILE;
	char error[LIMITS_ERROR_BYTES] = "out of memory";
	_cleanup_free_ char *text = NULL;
	unsigned int line = 0;
	size_t len = 0;
	int err = limits_read_text(path, &text, &len);

	if (err == -ENOENT && !a->limits.config)
		return 0;
	if (err) {
		snprintf(why, why_bytes, "%s: %s", path, limits_error_text(err));
		return err;
	}
	err = watch_config_parse(config, text, len, &line, error);
	if (err)
		snprintf(why, why_bytes, "%s:%u: %s", path, line, error);
	return err;
}

/* The file over the defaults, options over the file. */
static int configure(void *ctx, struct watch_config *ret_config, char *why, size_t why_bytes)
{
	const struct arguments *a = ctx;
	struct watch_config config;
	int err;

	watch_config_default(&config);
	err = parse_file(&config, a, why, why_bytes);
	if (!err)
		err = set_given(&config, a, why, why_bytes);
	if (err) {
		watch_config_clear(&config);
		return err;
	}
	*ret_config = config;
	return 0;
}

/* --- perf maps ------------------------------------------------------------------------------- */

static void look_after_maps(void *ctx, const struct model *m, uint32_t process, bool capturing,
			    const struct watch_config *config)
{
	struct arguments *a = ctx;

	if (a->maps) {
		watch_maps_slice(a->maps, m, process, capturing, config);
		return;
	}
	if (config->perf_maps != WATCH_MAPS_NEVER && !a->told_of_maps)
		log_warn("perf-maps: was never when this recorder started, which has let go of "
			 "the rights for it; restart it");
	a->told_of_maps = config->perf_maps != WATCH_MAPS_NEVER;
}

/* Who asks runtimes has more rights than others, and a helper of its own. */
static int start_maps(struct arguments *a)
{
	struct watch_config config;
	char why[512];
	bool never;

	/* What is wrong with the configuration is told where it is needed. */
	if (configure(a, &config, why, sizeof(why)))
		return 0;
	never = config.perf_maps == WATCH_MAPS_NEVER;
	watch_config_clear(&config);
	if (never)
		return 0;
	a->maps = watch_maps_new();
	if (!a->maps) {
		log_error("perf-maps: %s", strerror(errno));
		return EXIT_FAILED;
	}
	a->watch.rights = RIGHTS_FILES;
	return 0;
}

/* --- options --------------------------------------------------------------------------------- */

static int take_setting(void *at, const struct command_option *option, const char *value)
{
	struct arguments *a = at;
	struct watch_config scratch;
	char error[LIMITS_ERROR_BYTES];
	int err;

	watch_config_default(&scratch);
	err = watch_config_set(&scratch, option->name, value, error);
	watch_config_clear(&scratch);
	if (err) {
		log_error("--%s", error);
		return EXIT_USAGE;
	}
	if (GROW(a->given, a->given_cnt, a->given_cap)) {
		log_error("--%s: %s", option->name, strerror(ENOMEM));
		return EXIT_FAILED;
	}
	a->given[a->given_cnt++] = (struct given){option->name, value};
	return EXIT_OK;
}

static bool get_setting(size_t i, struct command_option *ret_option)
{
	if (!watch_config_option(i, ret_option))
		return false;
	ret_option->take = take_setting;
	if (!strcmp(ret_option->name, "frequency"))
		ret_option->letter = 'F';
	return true;
}

static int take_listen(void *at, const struct command_option *option, const char *value)
{
	return option_text(at, option, strcmp(value, "off") != 0 ? value : NULL);
}

static int take_host_name(void *at, const struct command_option *option, const char *value)
{
	return *value && strlen(value) <= HOST_NAME_BYTES
		       ? option_text(at, option, value)
		       : option_refuse(option, value, "not a name of 1 to 200 bytes");
}

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "dir", "DIR", "captures, socket and state (default " FOLDER_DEFAULT ")",
	       option_text, .complete = COMPLETE_FOLDER, IN(watch.dir)),
	OPTION(0, "status", NULL, "ask the recorder that runs in DIR how it fares, and end",
	       option_true, IN(status)),
	OPTION(0, "listen", "ADDR:PORT",
	       "/metrics, /healthz, /readyz; off: none (default " HTTP_DEFAULT ")", take_listen,
	       IN(watch.listen)),
	OPTION(0, "config", "FILE",
	       "settings below in a section `[hotrun watch]`, and the thresholds of the "
	       "verdicts, as `hotrun report --help` tells them; SIGHUP reads it again "
	       "(default " LIMITS_FILE ", if it is there)",
	       option_text, .complete = COMPLETE_FILE, IN(limits.config)),
	OPTION(0, "limit", "NAME=VALUE", "a threshold of the verdicts; repeatable", limits_take,
	       IN(limits)),
};

static const struct command_option last_rows[] = {
	OPTION_NAMES(struct arguments, watch.collector.names),
	OPTION_NODE_ROOT(struct arguments, watch.collector.node_root),
	OPTION(0, "host-name", "NAME",
	       "what captures call this host (default: as it calls itself; a container has a "
	       "name of its own)",
	       take_host_name, IN(watch.collector.host_name)),
	OPTION_NO_REQUESTS(struct arguments, watch.collector.requests),
	OPTION_NO_BLOCKED(struct arguments, watch.collector.blocked),
	OPTION_WAKERS(struct arguments, watch.collector.wakers),
	OPTION_SWITCHES(
		struct arguments, watch.collector.switches_s,
		"captures have every single switch and wakeup of so many seconds before "
		"they were asked for, and of their end: programs at all switches for it, in "
		"every gear (0.23 us each)"),
	OPTION_IGNORE_HAZARD(struct arguments, watch.collector.ignore_hazards),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(stack_options, struct arguments, watch.collector.stacks),
	OPTION_SHARED(slow_options, struct arguments, slow),
	OPTION_SHARED(service_signal_options, struct arguments, watch.collector.signals),
	{OPTION_ROWS(last_rows)},
	{.heading = "Settings, as options or in the file; options win", .get = get_setting},
};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&watch_command, argc, argv, a);

	if (!rc && optind < argc) {
		log_error("%s: watch takes options only", argv[optind]);
		return command_usage("watch");
	}
	return rc;
}

/* --- --status -------------------------------------------------------------------------------- */

static int put_line(void *ctx, const char *line)
{
	*(bool *)ctx = true;
	puts(line);
	return 0;
}

static int ask_status(const char *dir)
{
	_cleanup_close_ int fd = -1;
	bool answered = false;
	char why[1024];
	int err;

	if (folder_open(dir, false, why, sizeof(why), &fd)) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	err = control_ask(fd, "status", STATUS_NS, STATUS_NS, put_line, &answered);
	if (!err && answered)
		return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
	recorder_silent(dir, err);
	return EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	struct arguments a = {
		.watch = {.dir = FOLDER_DEFAULT,
			  .listen = HTTP_DEFAULT,
			  .configure = configure,
			  .collector = {.command = "",
					.facts = true,
					.samples = true,
					.requests = true,
					.blocked = true,
					.follow_most = COLLECTOR_FOLLOW_RESIDENT,
					.take_service_signals = service_signals_take}}};
	char why[1024] = "";
	int rc = parse(argc, argv, &a);

	/* Also under sudo, captures belong to who owns their folder: to nobody else are they
	 * listed, and those alone are ever removed. */
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (!rc && !a.status)
		rc = start_maps(&a);
	if (!rc && !a.status)
		rc = service_signals_start(a.watch.collector.signals, "watch");
	if (!rc && a.status) {
		rc = ask_status(a.watch.dir);
	} else if (!rc) {
		a.watch.ctx = a.watch.maps_ctx = &a;
		a.watch.maps = look_after_maps;
		slow_option_apply(&a.slow, &a.watch.collector);
		/* A full run queue must not starve the observer of its few milliseconds a
		 * second. */
		if (setpriority(PRIO_PROCESS, 0, -10))
			log_debug("priority not raised: %s", strerror(errno));
		if (watch_run(&a.watch, why, sizeof(why))) {
			log_error("%s", why);
			rc = EXIT_FAILED;
		}
	}
	watch_maps_free(a.maps);
	service_signals_free(a.watch.collector.signals);
	limits_forget(&a.limits);
	free(a.given);
	return rc;
}

const struct command watch_command = {
	.name = "watch",
	.job = "stay resident: metrics, and captures with the time before",
	.usage = "[OPTION]...",
	.about = "Stays: observes this host at a low rate, has the last minute in memory, serves "
		 "metrics,\n"
		 "and writes a capture with report and page when a service has been hurt for some "
		 "seconds,\n"
		 "when `hotrun trigger` or SIGUSR1 asks for it, or one after the other with "
		 "--rotate.\n"
		 "`hotrun captures` lists them. Needs root, or the\n"
		 "capabilities that `hotrun record` needs; where the host cannot be observed it "
		 "stays up,\n"
		 "is not ready, and says why.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun watch --rotate 5m --keep-bytes 10G\n"
		    "  hotrun watch --dir /data/hotrun --listen 0.0.0.0:9911 --exclude "
		    "'name=*-exporter'\n"
		    "  hotrun trigger --before 30s --after 30s\n",
	.notes =
		"RULE: name=GLOB, unit=GLOB, container=GLOB, pod=GLOB, namespace=GLOB. Who is not\n"
		"included is still counted, under \"other\"; its stacks are not kept.\n\n"
		"Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};
