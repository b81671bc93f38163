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
#include "commands/option_value.h"
#include "commands/recorder_words.h"
#include "commands/service_signal.h"
#include "commands/slow_option.h"
#include "watch/control.h"
#include "watch/folder.h"
#include "watch/http.h"
#include "watch/loop.h"

static const char help_text[] =
	"usage: hotrun watch [OPTION]...\n\n"
	"Stays: observes this host at a low rate, has the last minute in memory, serves metrics,\n"
	"and writes a capture with report and page when `hotrun trigger` or SIGUSR1 asks for it, "
	"or\n"
	"one after the other with --rotate. `hotrun captures` lists them. Needs root, or the\n"
	"capabilities that `hotrun record` needs; where the host cannot be observed it stays up,\n"
	"is not ready, and says why.\n\n"
	"      --dir DIR           captures, socket and state (default " FOLDER_DEFAULT ")\n"
	"      --status            ask the recorder that runs in DIR how it fares, and end\n"
	"      --listen ADDR:PORT  /metrics, /healthz, /readyz; off: none\n"
	"                          (default " HTTP_DEFAULT ")\n"
	"      --config FILE       settings below in a section `[hotrun watch]`, and the "
	"thresholds\n"
	"                          of the verdicts, as `hotrun report --help` tells them; SIGHUP "
	"reads\n"
	"                          it again (default " LIMITS_FILE ", if it is there)\n"
	"      --limit NAME=VALUE  a threshold of the verdicts; repeatable\n" SLOW_OPTION_HELP
		SERVICE_SIGNAL_HELP NODE_ROOT_HELP
	"      --host-name NAME    what captures call this host (default: as it calls itself; a\n"
	"                          container has a name of its own)\n"
	"      --no-requests       do not look at the requests that services answer\n"
	"  -v, --verbose           more about what happens\n"
	"  -h, --help              this text\n\n"
	"Settings, as options or in the file; options win:\n";

static const char help_end[] =
	"\nRULE: name=GLOB, unit=GLOB, container=GLOB, pod=GLOB, namespace=GLOB. Who is not\n"
	"included is still counted, under \"other\"; its stacks are not kept.\n\n"
	"  hotrun watch --rotate 5m --keep-bytes 10G\n"
	"  hotrun watch --dir /data/hotrun --listen 0.0.0.0:9911 --exclude 'name=*-exporter'\n"
	"  hotrun trigger --before 30s --after 30s\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

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
};

enum {
	DIR_OPTION = 256,
	LISTEN,
	SLOW,
	NO_REQUESTS,
	SIGNAL,
	SIGNAL_USER,
	NODE_ROOT,
	STATUS,
	HOST_NAME,
	SETTINGS = 2000
};
#define SETTINGS_MAX 32
#define STATUS_NS    8000000000ull
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

/* --- options --------------------------------------------------------------------------------- */

static int add_setting(struct arguments *a, const char *name, const char *value)
{
	struct watch_config scratch;
	char error[LIMITS_ERROR_BYTES];
	int err;

	watch_config_default(&scratch);
	err = watch_config_set(&scratch, name, value, error);
	watch_config_clear(&scratch);
	if (err) {
		log_error("--%s", error);
		return command_usage("watch");
	}
	if (GROW(a->given, a->given_cnt, a->given_cap)) {
		log_error("--%s: %s", name, strerror(ENOMEM));
		return EXIT_FAILED;
	}
	a->given[a->given_cnt++] = (struct given){name, value};
	return EXIT_OK;
}

static void put_help(void)
{
	fputs(help_text, stdout);
	watch_config_put_help(stdout);
	fputs(help_end, stdout);
}

static int parse_option(int c, struct arguments *a)
{
	switch (c) {
	case DIR_OPTION:
		a->watch.dir = optarg;
		return EXIT_OK;
	case LISTEN:
		a->watch.listen = strcmp(optarg, "off") != 0 ? optarg : NULL;
		return EXIT_OK;
	case SLOW:
		return slow_option_add(&a->slow, optarg, "watch");
	case SIGNAL:
		return service_signals_add(&a->watch.collector.signals, optarg, "watch");
	case SIGNAL_USER:
		return service_signals_set_user(&a->watch.collector.signals, optarg, "watch");
	case STATUS:
		a->status = true;
		return EXIT_OK;
	case NODE_ROOT:
		if (*optarg != '/')
			return option_bad_value("watch", "--node-root", optarg,
						"not an absolute path");
		a->watch.collector.node_root = optarg;
		return EXIT_OK;
	case HOST_NAME:
		if (!*optarg || strlen(optarg) > HOST_NAME_BYTES)
			return option_bad_value("watch", "--host-name", optarg,
						"not a name of 1 to 200 bytes");
		a->watch.collector.host_name = optarg;
		return EXIT_OK;
	case NO_REQUESTS:
		a->watch.collector.requests = false;
		return EXIT_OK;
	case LIMITS_LIMIT:
	case LIMITS_CONFIG:
		return limits_option(&a->limits, c, optarg);
	case 'F':
		return add_setting(a, "frequency", optarg);
	case 'v':
		log_max_level = LOG_LEVEL_DEBUG;
		return EXIT_OK;
	case 'h':
		put_help();
		exit(EXIT_OK);
	default:
		if (c >= SETTINGS)
			return add_setting(a, watch_config_name((size_t)(c - SETTINGS)), optarg);
		return command_usage("watch");
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	struct option longs[SETTINGS_MAX + 16] = {
		{"dir", required_argument, NULL, DIR_OPTION},
		{"listen", required_argument, NULL, LISTEN},
		{"slow", required_argument, NULL, SLOW},
		{"service-signal", required_argument, NULL, SIGNAL},
		{"signal-user", required_argument, NULL, SIGNAL_USER},
		{"node-root", required_argument, NULL, NODE_ROOT},
		{"host-name", required_argument, NULL, HOST_NAME},
		{"status", no_argument, NULL, STATUS},
		{"no-requests", no_argument, NULL, NO_REQUESTS},
		LIMITS_OPTIONS,
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'}};
	size_t cnt = 0;
	int c, rc;

	while (longs[cnt].name)
		cnt++;
	for (size_t i = 0; i < SETTINGS_MAX && watch_config_name(i); i++)
		longs[cnt++] = (struct option){watch_config_name(i), required_argument, NULL,
					       SETTINGS + (int)i};
	while ((c = getopt_long(argc, argv, "F:vh", longs, NULL)) != -1) {
		rc = parse_option(c, a);
		if (rc)
			return rc;
	}
	if (optind < argc) {
		log_error("%s: watch takes options only", argv[optind]);
		return command_usage("watch");
	}
	return EXIT_OK;
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

int command_watch(int argc, char **argv)
{
	struct arguments a = {.watch = {.dir = FOLDER_DEFAULT,
					.listen = HTTP_DEFAULT,
					.configure = configure,
					.collector = {.command = "",
						      .facts = true,
						      .samples = true,
						      .requests = true,
						      .take_signals = service_signals_take}}};
	char why[1024] = "";
	int rc = parse(argc, argv, &a);

	/* Also under sudo, captures belong to who owns their folder: to nobody else are they
	 * listed, and those alone are ever removed. */
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	if (!rc && !a.status)
		rc = service_signals_start(a.watch.collector.signals, "watch");
	if (!rc && a.status) {
		rc = ask_status(a.watch.dir);
	} else if (!rc) {
		a.watch.ctx = &a;
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
	service_signals_free(a.watch.collector.signals);
	limits_forget(&a.limits);
	free(a.given);
	return rc;
}
