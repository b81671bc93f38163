/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Help for terminals. */
#include "output/usage.h"

#include <string.h>

#define LINE_COLUMNS 90
#define TEXT_COLUMN  26 /* of what an option does */

/* Whole words up to the end of a line, those that follow indented. The line stands at its
 * column. */
static void put_wrapped(FILE *out, const char *text)
{
	int at = TEXT_COLUMN;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (at > TEXT_COLUMN && at + 1 + word > LINE_COLUMNS) {
			fprintf(out, "\n%*s", TEXT_COLUMN, "");
			at = TEXT_COLUMN;
		}
		at += fprintf(out, "%s%.*s", at > TEXT_COLUMN ? " " : "", word, text);
		text += word + (text[word] == ' ');
	}
	putc('\n', out);
}

static void put_option(FILE *out, const struct command_option *o)
{
	int used;

	if (o->letter)
		used = fprintf(out, "  -%c, --%s", o->letter, o->name);
	else
		used = fprintf(out, "      --%s", o->name);
	if (o->value)
		used += fprintf(out, " %s", o->value);
	if (used + 2 > TEXT_COLUMN) {
		putc('\n', out);
		used = 0;
	}
	fprintf(out, "%*s", TEXT_COLUMN - used, "");
	put_wrapped(out, o->text);
}

static void put_options(FILE *out, const struct command *command)
{
	const struct option_group *group, *before = NULL;
	struct command_option option;

	for (size_t i = 0; command_option_get(command, i, &option, &group); i++) {
		if (group != before && group->heading)
			fprintf(out, "\n%s:\n", group->heading);
		before = group;
		put_option(out, &option);
	}
}

/* Each way to call it on a line of its own. */
static void put_usage(FILE *out, const struct usage_program *program, const struct command *command)
{
	const char *at = command->usage;

	for (bool first = true; *at; first = false) {
		int len = (int)strcspn(at, "\n");

		fprintf(out, "%s %s %s %.*s\n", first ? "usage:" : "      ", program->name,
			command->name, len, at);
		at += len + (at[len] == '\n');
	}
}

void usage_command_help(FILE *out, const struct usage_program *program,
			const struct command *command)
{
	put_usage(out, program, command);
	fprintf(out, "\n%s\n", command->about);
	put_options(out, command);
	fprintf(out, "\n%s\n%s", command->examples, command->notes);
	if (command->put_more)
		command->put_more(out);
}

void usage_help(FILE *out, const struct usage_program *program)
{
	fprintf(out, "usage: %s COMMAND [OPTION]... [FILE]\n\n%s\n", program->name, program->about);
	for (size_t i = 0; i < program->commands_cnt; i++)
		fprintf(out, "  %-8s %s\n", program->commands[i]->name, program->commands[i]->job);
	fprintf(out, "\n%s\n%s", program->examples, program->notes);
}
