/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_LIMITS_H
#define HOTRUN_COMMANDS_LIMITS_H
/*
 * The options --limit and --config, which the commands that give verdicts share. Sections of the
 * file win over --limit, --limit over what stands above them, that over the defaults.
 *
 *	OPTION_SHARED(limits_options, struct arguments, limits)	among its groups
 *	limits_read(&limits, "report");			after the last option
 *	report.limits = &limits.policy;			until limits_forget()
 */
#include "commands/options.h"
#include "judge/limits.h"

#define LIMITS_FILE "/etc/hotrun.conf"

struct limits {
	const char *config;    /* NULL = LIMITS_FILE, if it is there */
	const char **settings; /* of --limit, in their order; borrowed from argv */
	size_t settings_cnt, settings_cap;
	struct verdict_policy policy;
};

/* Of a struct limits; values are borrowed until limits_forget(). */
extern const struct command_option limits_options[2];
/* --limit alone, for who has its own --config. */
int limits_take(void *at, const struct command_option *option, const char *value);

/* Before limits_put_help(). */
#define LIMITS_HELP_NAMES                                                                          \
	"Limits, with their defaults; in the file one a line, `name = value`, # comments. Times\n" \
	"are us, ms, s, m, h. A load generator that nobody minds, for example:\n"                  \
	"  [wrk]\n  progress = 0%\n  run-delay = 1h\n\n"

/* Reads the file and what was given, into l->policy. Returns an enum exit_code; errors are
 * logged. */
int limits_read(struct limits *l, const char *command);
/* The whole of such a file, owned by the caller. 0, or a negative errno: -EINVAL no regular file,
 * -EFBIG more than LIMITS_MAX_BYTES; and words for it. */
int limits_read_text(const char *path, char **ret_text, size_t *ret_len);
const char *limits_error_text(int err);
void limits_forget(struct limits *l);
#endif
