/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of the manual. Source: man(7), groff_man(7). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "output/usage.h"

/* Characters that roff would take for its own: of a line's begin, and anywhere. */
static void put_escaped(FILE *out, const char *text, size_t len)
{
	if (len && (*text == '.' || *text == '\''))
		fputs("\\&", out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else if (text[i] == '\'')
			fputs("\\(aq", out);
		else if (text[i] == '`')
			fputs("\\(ga", out);
		else if (text[i] == '~')
			fputs("\\(ti", out);
		else
			putc(text[i], out);
	}
}

static void put_text(FILE *out, const char *text)
{
	put_escaped(out, text, strlen(text));
}

/* Lines that begin with a blank stand as they are, an empty one parts paragraphs, others fill
 * up. */
static void put_lines(FILE *out, const char *text)
{
	bool literal = false;

	while (*text) {
		size_t len = strcspn(text, "\n");
		bool is_literal = *text == ' ';

		if (is_literal != literal)
			fputs(is_literal ? ".PP\n.nf\n" : ".fi\n", out);
		literal = is_literal;
		if (len)
			put_escaped(out, text, len);
		else if (text[1])
			fputs(".PP", out);
		if (len || text[1])
			putc('\n', out);
		text += len + (text[len] == '\n');
	}
	if (literal)
		fputs(".fi\n", out);
}

/* user/output/manual.txt: "= PAGE" begins a page ("hotrun", or a command), "# TITLE" a section of
 * it, "* TERM" what the lines behind it explain; the rest is as put_lines() has it. The file ends
 * in a 0. */
__asm__(".pushsection .rodata\n"
	".hidden hotrun_manual\n.global hotrun_manual\n"
	"hotrun_manual:\n"
	".incbin \"user/output/manual.txt\"\n"
	".byte 0\n"
	".popsection\n");
extern const char hotrun_manual[];

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	line = line_end(line);
	return line + (*line == '\n');
}

/* What follows the mark of a line. */
static void put_mark(FILE *out, const char *macro, const char *line)
{
	fprintf(out, "%s", macro);
	put_escaped(out, line + 2, (size_t)(line_end(line) - line) - 2);
	putc('\n', out);
}

static bool is_mark(const char *line)
{
	return *line && strchr("=#*", *line) && line[1] == ' ';
}

/* Lines up to the next mark. */
static const char *put_text_until_mark(FILE *out, const char *line)
{
	const char *from = line;
	char *text;

	while (*line && !is_mark(line))
		line = next_line(line);
	text = strndup(from, (size_t)(line - from));
	if (text)
		put_lines(out, text);
	free(text);
	return line;
}

/* The sections of that page that are about more than options. */
static void put_chapters(FILE *out, const char *page)
{
	const char *line = hotrun_manual;
	size_t len = strlen(page);
	bool here = false;

	while (*line) {
		if (*line == '=')
			here = (size_t)(line_end(line) - line) == len + 2 &&
			       !strncmp(line + 2, page, len);
		else if (here && *line == '#')
			put_mark(out, ".SH ", line);
		else if (here && *line == '*')
			put_mark(out, ".TP\n.B ", line);
		line = next_line(line);
		if (here)
			line = put_text_until_mark(out, line);
	}
}

static void put_upper(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(toupper((unsigned char)*text), out);
}

static void put_title(FILE *out, const struct usage_program *program, const char *command,
		      const char *job)
{
	fputs(".\\\" Made from the options' own rows.\n.TH ", out);
	put_upper(out, program->name);
	if (command)
		putc('-', out);
	put_upper(out, command ? command : "");
	fprintf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.nh\n.SH NAME\n%s%s%s \\- ",
		program->name, program->version, program->name, command ? "\\-" : "",
		command ? command : "");
	put_text(out, job);
	fputs("\n", out);
}

static void put_usage(FILE *out, const struct usage_program *program, const struct command *command)
{
	const char *at = command->usage;

	fputs(".SH SYNOPSIS\n.nf\n", out);
	while (*at) {
		size_t len = strcspn(at, "\n");

		fprintf(out, "\\fB%s %s\\fR ", program->name, command->name);
		put_escaped(out, at, len);
		putc('\n', out);
		at += len + (at[len] == '\n');
	}
	fputs(".fi\n", out);
}

static void put_option(FILE *out, const struct command_option *o)
{
	fputs(".TP\n", out);
	if (o->letter)
		fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	fputs("\\fB\\-\\-", out);
	put_text(out, o->name);
	fputs("\\fR", out);
	if (o->value) {
		fputs(" \\fI", out);
		put_text(out, o->value);
		fputs("\\fR", out);
	}
	putc('\n', out);
	put_text(out, o->text);
	putc('\n', out);
}

static void put_options(FILE *out, const struct command *command)
{
	const struct option_group *group, *before = NULL;
	struct command_option option;

	fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; command_option_get(command, i, &option, &group); i++) {
		if (group != before && group->heading) {
			fputs(".SS ", out);
			put_text(out, group->heading);
			putc('\n', out);
		}
		before = group;
		put_option(out, &option);
	}
}

static void put_section(FILE *out, const char *title, const char *text)
{
	fprintf(out, ".SH %s\n", title);
	put_lines(out, text);
}

/* What a writer of lines writes. */
static void put_more(FILE *out, const struct command *command)
{
	char *text = NULL;
	size_t bytes;
	FILE *lines = open_memstream(&text, &bytes);

	if (!lines)
		return;
	command->put_more(lines);
	if (!fclose(lines))
		put_lines(out, text);
	free(text);
}

void usage_command_manual(FILE *out, const struct usage_program *program,
			  const struct command *command)
{
	put_title(out, program, command->name, command->job);
	put_usage(out, program, command);
	put_section(out, "DESCRIPTION", command->about);
	put_options(out, command);
	put_section(out, "NOTES", command->notes);
	if (command->put_more)
		put_more(out, command);
	put_chapters(out, command->name);
	put_section(out, "EXAMPLES", command->examples);
	fprintf(out, ".SH SEE ALSO\n.BR %s (1)\n", program->name);
}

void usage_manual(FILE *out, const struct usage_program *program)
{
	put_title(out, program, NULL, program->job);
	fprintf(out, ".SH SYNOPSIS\n\\fB%s\\fR COMMAND [OPTION]... [FILE]\n", program->name);
	put_section(out, "DESCRIPTION", program->about);
	fputs(".SH COMMANDS\n", out);
	for (size_t i = 0; i < program->commands_cnt; i++) {
		fprintf(out, ".TP\n.BR %s\\-%s (1)\n", program->name, program->commands[i]->name);
		put_text(out, program->commands[i]->job);
		putc('\n', out);
	}
	put_section(out, "NOTES", program->notes);
	put_chapters(out, program->name);
	put_section(out, "EXAMPLES", program->examples);
}
