/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_OPTIONS_H
#define HOTRUN_COMMANDS_OPTIONS_H
/*
 * Arguments of a command by the rows of its options (base/option.h), and what rows take values
 * with. No threads.
 *
 *	static const struct command_option rows[] = {
 *		OPTION('d', "duration", "SECONDS", "how long", option_seconds,
 *		       OPTION_IN(struct arguments, seconds), .max = 60),
 *	};
 *	static const struct option_group groups[] = {OPTION_ROWS(rows), ...};
 *	rc = options_parse(&top_command, argc, argv, &arguments);	then optind, as getopt(3)
 */
#include "base/option.h"

/* --help prints and ends the program. Returns an enum exit_code; errors are logged. */
int options_parse(const struct command *command, int argc, char **argv, void *arguments);

/* "-d soon: not a number of seconds"; returns EXIT_USAGE. */
int option_refuse(const struct command_option *option, const char *value, const char *want);

/* A row; what follows are fields of their own: OPTION_IN, OPTION_WORDS, .min, .max, .complete. */
#define OPTION(short_, long_, value_, text_, take_, ...)                                        \
	{                                                                                       \
		.letter = short_, .name = long_, .value = value_, .text = text_, .take = take_, \
		__VA_ARGS__                                                                     \
	}
#define OPTION_COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define OPTION_ROWS(rows)  .options = rows, .cnt = OPTION_COUNT(rows)
/* A group of rows that commands share: of the arguments, that field is theirs. */
#define OPTION_SHARED(rows, type, field, ...)                          \
	{                                                              \
		OPTION_ROWS(rows), OPTION_IN(type, field), __VA_ARGS__ \
	}
#define OPTION_WORDS(...)              \
	.words = (const char *const[]) \
	{                              \
		__VA_ARGS__, NULL      \
	}
#define OPTION_IN(type, field) .offset = offsetof(type, field)

/* What rows may take, and the type of the field: */
/* bool, true; and false. */
int option_true(void *at, const struct command_option *option, const char *value);
int option_false(void *at, const struct command_option *option, const char *value);
/* uint32_t, the process of a process or thread id that lives. */
int option_process(void *at, const struct command_option *option, const char *value);
/* const char *, as it is; not empty. */
int option_text(void *at, const struct command_option *option, const char *value);
int option_nonempty(void *at, const struct command_option *option, const char *value);
int option_absolute(void *at, const struct command_option *option, const char *value);
/* unsigned int, the place among the words; bool, whether it is the second of two. */
int option_word(void *at, const struct command_option *option, const char *value);
int option_second_word(void *at, const struct command_option *option, const char *value);
/* double, 0.1 to max, which is told in days from two of them on. */
int option_seconds(void *at, const struct command_option *option, const char *value);
/* uint64_t, min to max; unsigned int, likewise. */
int option_number(void *at, const struct command_option *option, const char *value);
int option_count(void *at, const struct command_option *option, const char *value);
/* uint32_t, samples a second and CPU: 1 to 10000. */
int option_hz(void *at, const struct command_option *option, const char *value);
/* Logs more; bool, too, unless the offset is OPTION_NOWHERE. */
int option_verbose(void *at, const struct command_option *option, const char *value);

/* Of what stands behind the options of a command that acts on processes: one of them more, of max
 * at the most. Its exit code, said why. */
int options_add_process(const char *command, const char *value, uint32_t *tgids, size_t *cnt,
			size_t max);

#define OPTION_NOWHERE	SIZE_MAX
#define OPTION_MAX_SECS (30 * 86400)
#define OPTION_MAX_CNT	1000000
#define OPTION_MAX_PID	4194304 /* PID_MAX_LIMIT of the kernel */

/* Into an unsigned int: enum option_color. */
enum option_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
#define OPTION_COLOR(type, field)                                                \
	OPTION(0, "color", "WHEN", "auto (default), always, never", option_word, \
	       OPTION_WORDS("auto", "always", "never"), OPTION_IN(type, field))
/* Of commands that name containers: collector_options.node_root. */
#define OPTION_NODE_ROOT(type, field)                                                             \
	OPTION(0, "node-root", "DIR",                                                             \
	       "names of containers and pods come from the node's own files below DIR (default: " \
	       "/, "                                                                              \
	       "then /proc/1/root, which is the host's in a container with its process ids)",     \
	       option_absolute, .complete = COMPLETE_FOLDER, OPTION_IN(type, field))
/* Of commands that name code: an unsigned int, enum names_from. */
#define OPTION_NAMES(type, field)                                                                 \
	OPTION(0, "names", "FROM",                                                                \
	       "where names of code come from that a .NET runtime compiled: auto (default), its " \
	       "perf map, and its memory (.NET 9 on) where that names it not; map; memory",       \
	       option_word, OPTION_WORDS("auto", "map", "memory"), OPTION_IN(type, field))
/* Of commands that see requests: collector_options.requests. */
#define OPTION_NO_REQUESTS(type, field)                                                    \
	OPTION(0, "no-requests", NULL, "do not look at the requests that services answer", \
	       option_false, OPTION_IN(type, field))
/* Of commands that record: collector_options.blocked. */
#define OPTION_NO_BLOCKED(type, field)                                                      \
	OPTION(0, "no-blocked", NULL, "do not look at where threads stand that do not run", \
	       option_false, OPTION_IN(type, field))
/* The same: collector_options.wakers. */
#define OPTION_WAKERS(type, field)                                                         \
	OPTION(0, "wakers", NULL,                                                          \
	       "keep who ended the waits that were found, with its stack; a program sits " \
	       "at all wakeups for it (0.05 us each)",                                     \
	       option_true, OPTION_IN(type, field))
/* The same: collector_options.switches_s. */
#define OPTION_SWITCHES(type, field, text_)                                               \
	OPTION(0, "switches", "SECONDS", text_ ", for `hotrun timeline`", option_seconds, \
	       .max = 60, OPTION_IN(type, field))
/* Of commands that load programs: collector_options.ignore_hazards. */
#define OPTION_IGNORE_HAZARD(type, field)                                                  \
	OPTION(0, "ignore-kernel-hazard", NULL,                                            \
	       "record even on a kernel that recording can lock up (see `hotrun doctor`)", \
	       option_true, OPTION_IN(type, field))
/* Of commands that sample: a uint32_t. */
#define OPTION_FREQUENCY(type, field)                                                     \
	OPTION('F', "frequency", "HZ", "samples a second and CPU, 1..10000 (default 99)", \
	       option_hz, OPTION_IN(type, field))
/* Of commands that look at this host until they are told to end: a double. */
#define OPTION_LOOK(type, field)                                                       \
	OPTION('d', "duration", "SECONDS", "how long to look (default: until Ctrl-C)", \
	       option_seconds, .max = OPTION_MAX_SECS, OPTION_IN(type, field))
/* Of commands with an output for machines: bool, whether it is wanted. */
#define OPTION_FORMAT(text_, type, field)                                                      \
	OPTION(0, "format", "FORMAT", text_, option_second_word, OPTION_WORDS("text", "json"), \
	       OPTION_IN(type, field))
#define OPTION_VERBOSE                                                          \
	OPTION('v', "verbose", NULL, "more about what happens", option_verbose, \
	       .offset = OPTION_NOWHERE)
#endif
