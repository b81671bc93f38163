/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/time_window.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "commands/command.h"
#include "model/window.h"
#include "output/report_text.h"

static int take_worst(void *at, const struct command_option *option, const char *value)
{
	struct time_window *w = at;

	return moment_parse_length(value, &w->worst_ns)
		       ? option_refuse(option, value,
				       "not a length of time, like 5s, 12.5 or 1m30s")
		       : EXIT_OK;
}

static int take_moment(const struct command_option *option, const char *value,
		       struct moment *moment, const char **text)
{
	if (moment_parse(value, moment))
		return option_refuse(option, value,
				     "not a time: seconds since the start of the recording, like "
				     "12, 12.5 or 1m30s, or UTC clock time, like 14:03:07");
	*text = value;
	return EXIT_OK;
}

static int take_from(void *at, const struct command_option *option, const char *value)
{
	struct time_window *w = at;

	return take_moment(option, value, &w->from, &w->from_text);
}

static int take_to(void *at, const struct command_option *option, const char *value)
{
	struct time_window *w = at;

	return take_moment(option, value, &w->to, &w->to_text);
}

const struct command_option time_window_options[3] = {
	OPTION(0, "from", "TIME",
	       "from there on: seconds since the start (12, 12.5, 1m30s), or UTC clock time of "
	       "the host (14:03:07)",
	       take_from),
	OPTION(0, "to", "TIME", "up to there", take_to),
	OPTION(0, "worst", "LENGTH", "the part of that length in which threads waited most (5s)",
	       take_worst),
};

static int backwards(const struct time_window *w, const char *command)
{
	log_error("--from %s is not before --to %s", w->from_text, w->to_text);
	return command_usage(command);
}

int time_window_check(const struct time_window *w, const char *command)
{
	if (w->worst_ns && (w->from_text || w->to_text)) {
		log_error("--worst looks for the window itself: leave out --%s",
			  w->from_text ? "from" : "to");
		return command_usage(command);
	}
	/* Clock times may go past midnight. */
	if (w->from_text && w->to_text && !w->from.clock && !w->to.clock && w->from.ns >= w->to.ns)
		return backwards(w, command);
	return EXIT_OK;
}

/* "it is 30.0 s long, from 2026-11-21 14:03:00 UTC to 2026-11-21 14:03:30 UTC" */
static int outside(const struct model *m, const char *option, const char *value)
{
	uint64_t length_ns = moment_length_ns(m), start_ns;

	if (!m->slices_cnt) {
		log_error("%s %s: this capture has no slice yet", option, value);
		return EXIT_FAILED;
	}
	start_ns = m->host.start_ns + (uint64_t)m->slices[0].wall_offset_ns;
	log_error("%s %s: outside of this capture; it is %s long, from %s to %s", option, value,
		  number_time(length_ns).text, number_utc((int64_t)(start_ns / 1000000000)).text,
		  number_utc((int64_t)((start_ns + length_ns) / 1000000000)).text);
	return EXIT_FAILED;
}

/* The slices that --from and --to mean. */
static int find_asked(const struct time_window *w, const char *command, const struct model *m,
		      struct window *ret_window)
{
	uint64_t length_ns = moment_length_ns(m), from_ns = 0, to_ns = length_ns;

	if (w->from_text && (moment_resolve(m, &w->from, 0, &from_ns) || from_ns >= length_ns))
		return outside(m, "--from", w->from_text);
	if (w->to_text && moment_resolve(m, &w->to, w->to.clock ? from_ns : 0, &to_ns))
		return outside(m, "--to", w->to_text);
	if (w->from_text && w->to_text && from_ns >= to_ns)
		return backwards(w, command);
	if (window_of(m, from_ns, to_ns, ret_window))
		return outside(m, w->to_text ? "--to" : "--from",
			       w->to_text ? w->to_text : w->from_text);
	return EXIT_OK;
}

static int find_worst(const struct time_window *w, const struct model *m, struct window *ret_window)
{
	int err;

	if (model_off(m) & OFF_ACCOUNTS) {
		log_error("--worst: who waited is not known: %s", model_waits_why(m));
		return EXIT_FAILED;
	}
	err = window_worst(m, w->worst_ns, ret_window);
	if (err)
		log_error("--worst: %s",
			  err == -ERANGE ? "this capture has no slice yet" : strerror(-err));
	return err ? EXIT_FAILED : EXIT_OK;
}

int time_window_cut(const struct time_window *w, const char *command, struct model *m,
		    struct report_window *ret_taken)
{
	struct report_window taken = {.whole_ns = moment_length_ns(m)};
	struct window window;
	int rc, err;

	if (!w->worst_ns && !w->from_text && !w->to_text) {
		*ret_taken = (struct report_window){0};
		return EXIT_OK;
	}
	rc = w->worst_ns ? find_worst(w, m, &window) : find_asked(w, command, m, &window);
	if (rc)
		return rc;
	taken.from_ns = window_from_ns(m, &window);
	taken.to_ns = window_to_ns(m, &window);
	err = window_cut(m, &window);
	if (err) {
		log_error("the capture could not be cut: %s", strerror(-err));
		return EXIT_FAILED;
	}
	*ret_taken = taken;
	return EXIT_OK;
}

void time_window_say(const struct report_window *taken)
{
	char text[REPORT_WINDOW_BYTES];

	report_window_text(text, taken);
	log_info("%s", text);
}
