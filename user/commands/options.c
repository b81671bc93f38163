/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "commands/command.h"
#include "kernel/host.h"

#define OPTIONS_MAX  64
#define FIRST_NUMBER 256 /* of getopt's: behind all letters */
#define MIN_SECS     0.1
#define MAX_HZ	     10000
#define DAY_SECS     86400

/* --- a command line -------------------------------------------------------------------------- */

struct table {
	struct command_option rows[OPTIONS_MAX];
	const struct option_group *groups[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 2];
	size_t cnt;
};

static void fill_table(const struct command *command, struct table *t)
{
	char *letter = t->letters;

	if (command->ends_at_operand)
		*letter++ = '+';
	while (t->cnt < OPTIONS_MAX &&
	       command_option_get(command, t->cnt, &t->rows[t->cnt], &t->groups[t->cnt])) {
		const struct command_option *o = &t->rows[t->cnt];

		t->longs[t->cnt] =
			(struct option){o->name, o->value ? required_argument : no_argument, NULL,
					FIRST_NUMBER + (int)t->cnt};
		if (o->letter)
			*letter++ = o->letter;
		if (o->letter && o->value)
			*letter++ = ':';
		t->cnt++;
	}
}

/* The row of what getopt_long() returned, or OPTIONS_MAX. */
static size_t row_of(const struct table *t, int c)
{
	for (size_t i = 0; i < t->cnt; i++)
		if (c == FIRST_NUMBER + (int)i || (t->rows[i].letter && c == t->rows[i].letter))
			return i;
	return OPTIONS_MAX;
}

/* is_long: as it was written, and is to be called where it is refused. */
static int take_option(const struct table *t, size_t row, bool is_long, void *arguments)
{
	struct command_option o = t->rows[row];
	const struct option_group *group = t->groups[row];
	char *at = (char *)arguments + group->offset;

	if (is_long)
		o.letter = 0;
	if (group->given)
		*(const char **)((char *)arguments + group->given) = o.name;
	return o.take(o.offset == OPTION_NOWHERE ? NULL : at + o.offset, &o, optarg);
}

int options_parse(const struct command *command, int argc, char **argv, void *arguments)
{
	struct table table = {0};
	int c, rc = EXIT_OK;

	fill_table(command, &table);
	while (!rc && (c = getopt_long(argc, argv, table.letters, table.longs, NULL)) != -1) {
		size_t row = row_of(&table, c);

		if (row == OPTIONS_MAX)
			return command_usage(command->name);
		if (!table.rows[row].take) {
			usage_command_help(stdout, &hotrun_program, command);
			exit(EXIT_OK);
		}
		rc = take_option(&table, row, c >= FIRST_NUMBER, arguments);
	}
	return rc == EXIT_USAGE ? command_usage(command->name) : rc;
}

/* --- values ---------------------------------------------------------------------------------- */

int option_refuse(const struct command_option *option, const char *value, const char *want)
{
	char label[OPTION_LABEL_BYTES];

	option_label(label, option);
	log_error("%s %s: %s", label, *value ? value : "''", want);
	return EXIT_USAGE;
}

int option_true(void *at, const struct command_option *option, const char *value)
{
	(void)option, (void)value;
	*(bool *)at = true;
	return EXIT_OK;
}

int option_false(void *at, const struct command_option *option, const char *value)
{
	(void)option, (void)value;
	*(bool *)at = false;
	return EXIT_OK;
}

int option_process(void *at, const struct command_option *option, const char *value)
{
	uint32_t *tgid = at;
	uint64_t pid;

	if (text_parse_u64(value, 1, OPTION_MAX_PID, &pid))
		return option_refuse(option, value, "not a process id");
	*tgid = host_process_of((uint32_t)pid);
	if (*tgid)
		return EXIT_OK;
	log_error("%s: no such process", value);
	return EXIT_FAILED;
}

static int refuse_process(const char *command, const char *value, const char *why)
{
	log_error("%s %s: %s", command, value, why);
	return command_usage(command);
}

int options_add_process(const char *command, const char *value, uint32_t *tgids, size_t *cnt,
			size_t max)
{
	char why[64];
	uint32_t process;
	uint64_t pid;

	if (text_parse_u64(value, 1, OPTION_MAX_PID, &pid))
		return refuse_process(command, value, "not a process id");
	if (*cnt >= max) {
		snprintf(why, sizeof(why), "too many processes (%zu at the most)", max);
		return refuse_process(command, value, why);
	}
	process = host_process_of((uint32_t)pid);
	if (process && process != pid) {
		log_error("%s: a thread of process %u; give %u", value, process, process);
		return EXIT_FAILED;
	}
	tgids[(*cnt)++] = (uint32_t)pid;
	return EXIT_OK;
}

int option_text(void *at, const struct command_option *option, const char *value)
{
	(void)option;
	*(const char **)at = value;
	return EXIT_OK;
}

int option_nonempty(void *at, const struct command_option *option, const char *value)
{
	return *value ? option_text(at, option, value)
		      : option_refuse(option, value, "an empty file name");
}

int option_absolute(void *at, const struct command_option *option, const char *value)
{
	return *value == '/' ? option_text(at, option, value)
			     : option_refuse(option, value, "not an absolute path");
}

/* The place among the words, or -1, told: "not text or json". */
static int find_word(const struct command_option *option, const char *value)
{
	char want[128] = "not ";
	size_t used = strlen(want);

	for (int i = 0; option->words[i]; i++) {
		bool last = i && !option->words[i + 1];

		if (!strcmp(option->words[i], value))
			return i;
		used += (size_t)snprintf(want + used, sizeof(want) - used, "%s%s",
					 last ? " or "
					 : i  ? ", "
					      : "",
					 option->words[i]);
		if (used >= sizeof(want))
			used = sizeof(want) - 1;
	}
	option_refuse(option, value, want);
	return -1;
}

int option_word(void *at, const struct command_option *option, const char *value)
{
	int word = find_word(option, value);

	if (word < 0)
		return EXIT_USAGE;
	*(unsigned int *)at = (unsigned int)word;
	return EXIT_OK;
}

int option_second_word(void *at, const struct command_option *option, const char *value)
{
	int word = find_word(option, value);

	if (word < 0)
		return EXIT_USAGE;
	*(bool *)at = word == 1;
	return EXIT_OK;
}

int option_seconds(void *at, const struct command_option *option, const char *value)
{
	bool days = option->max >= 2 * DAY_SECS;
	char want[64], number[32];
	size_t used = strlen(value);

	/* With its unit or without: 5s. */
	if (used > 1 && used < sizeof(number) && value[used - 1] == 's')
		used--;
	snprintf(number, sizeof(number), "%.*s", (int)used, value);
	if (used < sizeof(number) && !text_parse_double(number, MIN_SECS, (double)option->max, at))
		return EXIT_OK;
	snprintf(want, sizeof(want), "not a number of seconds, 0.1 to %" PRIu64 "%s",
		 days ? option->max / DAY_SECS : option->max, days ? " days" : "");
	return option_refuse(option, value, want);
}

int option_number(void *at, const struct command_option *option, const char *value)
{
	char want[64];

	if (!text_parse_u64(value, option->min, option->max, at))
		return EXIT_OK;
	snprintf(want, sizeof(want), "not a number, %" PRIu64 " to %" PRIu64, option->min,
		 option->max);
	return option_refuse(option, value, want);
}

int option_count(void *at, const struct command_option *option, const char *value)
{
	uint64_t n;
	int rc = option_number(&n, option, value);

	if (!rc)
		*(unsigned int *)at = (unsigned int)n;
	return rc;
}

int option_hz(void *at, const struct command_option *option, const char *value)
{
	uint64_t hz;

	if (text_parse_u64(value, 1, MAX_HZ, &hz))
		return option_refuse(option, value, "not a frequency, 1 to 10000");
	*(uint32_t *)at = (uint32_t)hz;
	return EXIT_OK;
}

int option_verbose(void *at, const struct command_option *option, const char *value)
{
	(void)option, (void)value;
	if (at)
		*(bool *)at = true;
	log_max_level = LOG_LEVEL_DEBUG;
	return EXIT_OK;
}
