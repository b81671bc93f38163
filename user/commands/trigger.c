/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun trigger: asks the resident recorder for a capture. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/recorder_words.h"
#include "watch/control.h"
#include "watch/folder.h"

#define BEFORE_NS   (15 * SECOND_NS)
#define AFTER_NS    (30 * SECOND_NS)
#define BEFORE_TEXT "15s"
#define AFTER_TEXT  "30s"
/* The recorder looks at its socket in every slice of a second; a starved one comes late. */
#define FIRST_NS (15 * SECOND_NS)
/* The artifacts of large captures take minutes, and wait for those of others. */
#define ARTIFACTS_MAX_NS (600 * SECOND_NS)

struct request {
	const char *dir;
	uint64_t before_ns, after_ns;
	bool wait;
	char name[FOLDER_NAME_BYTES]; /* "" = not begun */
	bool failed;
};

static void print_path(const struct request *r)
{
	size_t len = strlen(r->dir);

	printf("%s%s%s\n", r->dir, len && r->dir[len - 1] == '/' ? "" : "/", r->name);
}

/* What stands behind a word and a space, or NULL. */
static const char *after_word(const char *line, const char *word)
{
	size_t len = strlen(word);

	return !strncmp(line, word, len) && line[len] == ' ' ? line + len + 1 : NULL;
}

static int begun(struct request *r, const char *name)
{
	if (*r->name || !folder_is_name(name))
		return -EBADMSG;
	snprintf(r->name, sizeof(r->name), "%s", name);
	if (!r->wait)
		return 1;
	log_info("%s is begun; waiting until it is done (Ctrl-C leaves it to the recorder)", name);
	return 0;
}

/* 0 goes on, 1 ends, or negative errno. */
static int on_line(void *ctx, const char *line)
{
	struct request *r = ctx;
	const char *rest;

	if ((rest = after_word(line, "begun")))
		return begun(r, rest);
	if ((rest = after_word(line, "done")))
		return *r->name && !strcmp(rest, r->name) ? 1 : -EBADMSG;
	rest = after_word(line, "failed");
	if (!rest)
		return -EBADMSG;
	r->failed = true;
	if (*r->name)
		log_error("%s: %s; what was written can be read: `hotrun captures`", r->name, rest);
	else
		log_error("%s", rest);
	return 1;
}

static void tell(const struct request *r, int err)
{
	if (err == -ETIMEDOUT && *r->name)
		log_error("%s: not done in time; `hotrun captures` tells how far it is", r->name);
	else if (err == -EINTR && *r->name)
		log_error("%s: no longer waited for; the recorder goes on with it", r->name);
	else if (!err && *r->name)
		log_error("%s: the recorder has ended before it was done; what was written can be "
			  "read: `hotrun captures`",
			  r->name);
	else
		recorder_silent(r->dir, err);
}

static int ask(struct request *r)
{
	_cleanup_close_ int dir = -1;
	char why[1024], line[CONTROL_LINE_BYTES];
	int err = folder_open(r->dir, false, why, sizeof(why), &dir);

	if (err) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	snprintf(line, sizeof(line), "trigger %" PRIu64 " %" PRIu64, r->before_ns, r->after_ns);
	err = control_ask(dir, line, FIRST_NS, r->after_ns + ARTIFACTS_MAX_NS, on_line, r);
	if (r->failed)
		return EXIT_FAILED;
	if (err == 1) {
		print_path(r);
		return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
	}
	tell(r, err);
	return EXIT_FAILED;
}

static int take_time(void *at, const struct command_option *option, const char *value)
{
	return text_parse_time(value, 0, CONTROL_DAY_NS, at)
		       ? option_refuse(option, value,
				       "not a time up to a day, like 500ms, 15s or 2m")
		       : EXIT_OK;
}

static const struct command_option rows[] = {
	OPTION(0, "before", "TIME",
	       "so much of the past, as far as the recorder still has it (default " BEFORE_TEXT ")",
	       take_time, OPTION_IN(struct request, before_ns)),
	OPTION(0, "after", "TIME", "and so much of what follows (default " AFTER_TEXT ")",
	       take_time, OPTION_IN(struct request, after_ns)),
	OPTION(0, "dir", "DIR", "the folder of the recorder (default " FOLDER_DEFAULT ")",
	       option_text, .complete = COMPLETE_FOLDER, OPTION_IN(struct request, dir)),
	OPTION(0, "no-wait", NULL, "print the path at once; it is being written then", option_false,
	       OPTION_IN(struct request, wait)),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int run(int argc, char **argv)
{
	struct request request = {
		.dir = FOLDER_DEFAULT, .before_ns = BEFORE_NS, .after_ns = AFTER_NS, .wait = true};
	int rc = options_parse(&trigger_command, argc, argv, &request);

	if (!rc && optind < argc) {
		log_error("%s: not an option", argv[optind]);
		return command_usage("trigger");
	}
	return rc ? rc : ask(&request);
}

const struct command trigger_command = {
	.name = "trigger",
	.job = "have the resident recorder keep the last seconds and the next",
	.usage = "[OPTION]...",
	.about = "Has the resident recorder (`hotrun watch`) write a capture of the last seconds "
		 "and the\n"
		 "next, with a text report and a flame graph page; waits until they are written, "
		 "and\n"
		 "prints the capture's path. Needs no privileges but those of the recorder's user, "
		 "or "
		 "root.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun trigger\n"
		    "  hotrun trigger --before 60s --after 0s\n"
		    "  kubectl exec -n hotrun POD -- hotrun trigger --no-wait\n",
	.notes = "Times are ms, s, m, h; at most a day.\n\n"
		 "Exit code: 0 the capture is there (with --no-wait: is begun); 1 failure; 2 "
		 "usage.\n",
	.run = run,
};
