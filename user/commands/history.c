/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun history: what the resident recorder remembers. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"
#include "judge/history_view.h"
#include "output/history.h"
#include "store/history.h"
#include "store/store.h"
#include "watch/folder.h"

#define DAYS_DEFAULT 14

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_HTML };

struct arguments {
	const char *dir, *output;
	uint64_t days;
	int64_t from_s, to_s; /* 0 = not given */
	const char *from_text, *to_text;
	unsigned int format;
	bool all;
};

/* --- options --------------------------------------------------------------------------------- */

/* "2026-11-21", "2026-11-21 10:00", "2026-11-21T10:00": UTC. */
static int parse_utc(const char *value, int64_t *ret_s)
{
	static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
					    "%Y-%m-%dT%H:%M:%SZ"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = {0};
		const char *end = strptime(value, forms[i], &tm);

		if (!end || *end)
			continue;
		*ret_s = (int64_t)timegm(&tm);
		return *ret_s > 0 ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int take_from(void *at, const struct command_option *option, const char *value)
{
	struct arguments *a = at;

	a->from_text = value;
	return parse_utc(value, &a->from_s)
		       ? option_refuse(option, value,
				       "not a time in UTC, like 2026-11-21 or 2026-11-21T10:00")
		       : EXIT_OK;
}

static int take_to(void *at, const struct command_option *option, const char *value)
{
	struct arguments *a = at;

	a->to_text = value;
	return parse_utc(value, &a->to_s)
		       ? option_refuse(option, value,
				       "not a time in UTC, like 2026-11-21 or 2026-11-21T10:00")
		       : EXIT_OK;
}

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION(0, "dir", "DIR", "the folder of the recorder (default " FOLDER_DEFAULT ")",
	       option_text, .complete = COMPLETE_FOLDER, IN(dir)),
	OPTION(0, "days", "N", "the last so many days (default 14; 1 to 3650)", option_number,
	       .min = 1, .max = 3650, IN(days)),
	OPTION(0, "from", "TIME", "from there on: UTC, like 2026-11-21 or 2026-11-21T10:00",
	       take_from),
	OPTION(0, "to", "TIME", "up to there", take_to),
	OPTION(0, "all", NULL, "all rows, not the first twelve of a table", option_true, IN(all)),
	OPTION(0, "format", "FORMAT", "text (the default), json, or html: a page with its curves",
	       option_word, OPTION_WORDS("text", "json", "html"), IN(format)),
	OPTION('o', "output", "FILE", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int choose_time(const struct arguments *a, struct history_view_options *options)
{
	int64_t now_s = (int64_t)time(NULL);

	/* What a clock that was ahead has left is not told. */
	options->to_s = a->to_s ? a->to_s : now_s;
	options->from_s = a->from_s
				  ? a->from_s
				  : (a->to_s ? a->to_s : now_s) - (int64_t)a->days * HISTORY_DAY_S;
	/* Whole hours: these are kept for longest. */
	options->from_s -= options->from_s % HISTORY_HOUR_S;
	if (options->from_s < options->to_s)
		return EXIT_OK;
	log_error("--from %s is not before --to %s", a->from_text ? a->from_text : "",
		  a->to_text ? a->to_text : "now");
	return command_usage("history");
}

/* --- reading --------------------------------------------------------------------------------- */

static int on_hour(void *ctx, int64_t time_s, uint32_t kind, const struct history_figures *figures)
{
	return stop_requested ? -EINTR : history_view_hour(ctx, time_s, kind, figures);
}

static int on_minute(void *ctx, int64_t time_s, uint32_t kind,
		     const struct history_figures *figures)
{
	return stop_requested ? -EINTR : history_view_minute(ctx, time_s, kind, figures);
}

static int on_decision(void *ctx, const struct history_decision *decision)
{
	return history_view_decision(ctx, decision);
}

static int on_trunk(void *ctx, const struct history_trunk *trunk)
{
	return history_view_trunk(ctx, trunk);
}

static int take_kinds(struct history_file *f, struct history_view *v)
{
	_cleanup_free_ struct history_kind *kinds = NULL;
	size_t cnt = 0;
	int err = history_file_kinds(f, &kinds, &cnt);

	for (size_t i = 0; !err && i < cnt; i++)
		err = history_view_kind(v, &kinds[i]);
	return err;
}

static int fill(struct history_file *f, struct history_view *v)
{
	int64_t from_s = v->options.from_s, to_s = v->options.to_s;
	int err = take_kinds(f, v);

	if (!err)
		err = history_file_rows(f, HISTORY_HOURS, from_s, to_s, HISTORY_ANY, on_hour, v);
	if (!err)
		err = history_view_choose(v);
	if (!err)
		err = history_file_rows(f, HISTORY_MINUTES, from_s, to_s, HISTORY_ANY, on_minute,
					v);
	if (!err)
		err = history_file_decisions(f, from_s, to_s, on_decision, v);
	if (!err)
		err = history_file_taken_trunks(f, from_s, to_s, on_trunk, v);
	return err ? err : history_view_finish(v);
}

static const char *words(int err)
{
	switch (-err) {
	case ENOENT:
		return "nothing is remembered here yet; `hotrun watch` does, once a minute";
	case EINVAL:
		return "not a history of hotrun";
	case EBADMSG:
		return "damaged; the recorder moves it aside and begins anew";
	case EINTR:
		return "interrupted";
	default:
		return store_error_text(err);
	}
}

static int open_history(const char *folder, struct history_file **ret_file)
{
	char why[1024], path[64];
	_cleanup_close_ int dir = -1;
	int err;

	if (folder_open(folder, false, why, sizeof(why), &dir)) {
		log_error("%s", why);
		return EXIT_FAILED;
	}
	/* Whatever lies under the folder's own path by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" HISTORY_FILE, dir);
	err = history_file_read(path, ret_file);
	if (!err)
		return EXIT_OK;
	log_error("%s/" HISTORY_FILE ": %s", folder, words(err));
	return EXIT_FAILED;
}

/* --- telling --------------------------------------------------------------------------------- */

static int check_known(const struct arguments *a, const struct history_view *v)
{
	if (v->first_s && (!v->options.name || v->kinds_cnt))
		return EXIT_OK;
	if (!v->first_s)
		log_error("%s: nothing is known of that time; --days and --from tell another one",
			  a->dir);
	else
		log_error("%s: not known at that time; `hotrun history` lists who is",
			  v->options.name);
	return EXIT_FAILED;
}

static int write_view(const struct arguments *a, const struct history_view *v)
{
	struct result *result = result_open(a->output);
	FILE *out;
	int err;

	if (!result)
		return EXIT_FAILED;
	out = result_file(result);
	err = a->format == FORMAT_JSON	 ? history_json_write(out, v)
	      : a->format == FORMAT_HTML ? history_page_write(out, v)
					 : history_text_write(out, v, a->all);
	return result_close(result, err);
}

static int tell(const struct arguments *a, const struct history_view_options *options)
{
	struct history_view *v = history_view_new(options);
	struct history_file *f = NULL;
	int rc = v ? open_history(a->dir, &f) : EXIT_FAILED, err;

	if (!v)
		log_error("%s", strerror(ENOMEM));
	if (!rc) {
		err = fill(f, v);
		if (err)
			log_error("%s/" HISTORY_FILE ": %s", a->dir, words(err));
		rc = err ? EXIT_FAILED : check_known(a, v);
	}
	history_file_close(f);
	if (!rc)
		rc = write_view(a, v);
	history_view_free(v);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {.dir = FOLDER_DEFAULT, .days = DAYS_DEFAULT};
	struct history_view_options options = {0};
	int rc = options_parse(&history_command, argc, argv, &a);

	if (!rc && argc - optind > 1) {
		log_error("%s: one NAME", argv[optind + 1]);
		rc = command_usage("history");
	}
	if (!rc && optind < argc)
		options.name = argv[optind];
	if (!rc)
		rc = choose_time(&a, &options);
	if (!rc && a.format == FORMAT_HTML && !a.output && isatty(STDOUT_FILENO)) {
		log_error("the page would go to the terminal; name a file with -o");
		rc = command_usage("history");
	}
	return rc ? rc : tell(&a, &options);
}

const struct command history_command = {
	.name = "history",
	.job = "bad minutes of the last weeks, the knee, and what to fix first",
	.usage = "[OPTION]... [NAME]",
	.about = "Tells what the resident recorder (`hotrun watch`) remembers of this host, or of "
		 "the\n"
		 "process, unit or workload NAME: bad minutes by day and hour, captures that were "
		 "taken or\n"
		 "not and why, the knee (from which CPU use on the share of slow requests rises), "
		 "and the\n"
		 "trunks that come back over its captures, by the harm they did. Needs no "
		 "privileges but\n"
		 "those of the recorder's user, or root.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples =
		"  hotrun history\n"
		"  hotrun history Shop.Web --days 30\n"
		"  hotrun history Shop.Web --format html -o shop.html\n"
		"  hotrun history --from 2026-11-21T08:00 --to 2026-11-21T12:00 --format json\n",
	.notes = "Times are UTC. Exit code: 0; 1 failure, or nothing is known; 2 usage.\n",
	.run = run,
};
