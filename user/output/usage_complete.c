/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion for shells: what to offer behind a command and behind its options. */
#include <string.h>

#include "output/usage.h"

/* Of what an option does, for a list of options: up to a stop, and whole words. */
#define SHORT_BYTES 64

static bool is_stop(const char *at)
{
	return strchr(".;:", *at) && (!at[1] || at[1] == ' ');
}

static size_t short_length(const char *text)
{
	size_t len = 0, word = 0, open = 0; /* open: a bracket that is not closed yet */

	for (; text[len] && len < SHORT_BYTES && !is_stop(text + len); len++) {
		if (text[len] == ' ')
			word = len;
		if (text[len] == '(')
			open = word;
		if (text[len] == ')')
			open = 0;
	}
	if (open)
		return open;
	if (len < SHORT_BYTES || !text[len])
		return len;
	return word && text[word - 1] == ',' ? word - 1 : word;
}

/* Within single quotes: escaped is what a backslash goes before, quote stands for one. */
static void put_quoted(FILE *out, const char *text, size_t len, const char *escaped,
		       const char *quote)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\'') {
			fputs(quote, out);
			continue;
		}
		if (strchr(escaped, text[i]))
			putc('\\', out);
		putc(text[i], out);
	}
}

static void put_list(FILE *out, const char *const *words)
{
	for (size_t i = 0; words && words[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", words[i]);
}

/* --- bash ------------------------------------------------------------------------------------ */

static const char *const bash_what[] = {
	[COMPLETE_NOTHING] = "", [COMPLETE_FILE] = "file", [COMPLETE_FOLDER] = "folder"};

static void put_bash_value(FILE *out, const char *command, const struct command_option *o)
{
	if (!o->value)
		return;
	fputs("\t", out);
	if (o->letter)
		fprintf(out, "\"%s -%c\" | ", command, o->letter);
	fprintf(out, "\"%s --%s\") words=\"", command, o->name);
	put_list(out, o->words);
	fprintf(out, "\" what=%s ;;\n", bash_what[o->complete]);
}

static void put_bash_command(FILE *out, const struct command *command)
{
	const struct option_group *group;
	struct command_option option;

	fprintf(out, "\t\"%s \"*)\n\t\tcase $cur in\n\t\t-*) words=\"", command->name);
	for (size_t i = 0; command_option_get(command, i, &option, &group); i++) {
		if (option.letter)
			fprintf(out, "%s-%c", i ? " " : "", option.letter);
		fprintf(out, "%s--%s", i || option.letter ? " " : "", option.name);
	}
	fputs("\" ;;\n\t\t*) words=\"", out);
	put_list(out, command->verbs);
	fprintf(out, "\" what=%s ;;\n\t\tesac ;;\n", bash_what[command->operand]);
}

void usage_bash(FILE *out, const struct usage_program *program)
{
	const struct option_group *group;
	struct command_option option;

	fprintf(out,
		"# bash completion for %s\n_%s()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words= "
		"what=\n\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"",
		program->name, program->name);
	for (size_t i = 0; i < program->commands_cnt; i++)
		fprintf(out, "%s ", program->commands[i]->name);
	fputs("--help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
	      /* --format=json comes as three words. */
	      "\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
	      "\telif [ \"$prev\" = = ]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
	      "\tcase \"${COMP_WORDS[1]} $prev\" in\n",
	      out);
	for (size_t i = 0; i < program->commands_cnt; i++)
		for (size_t k = 0; command_option_get(program->commands[i], k, &option, &group);
		     k++)
			put_bash_value(out, program->commands[i]->name, &option);
	for (size_t i = 0; i < program->commands_cnt; i++)
		put_bash_command(out, program->commands[i]);
	fprintf(out,
		"\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		"\tcase $what in\n"
		"\tfile) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$cur\") "
		";;\n"
		"\tfolder) mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -d -- "
		"\"$cur\") ;;\n"
		"\tesac\n\t[ -z \"$what\" ] || compopt -o filenames 2>/dev/null\n}\n"
		"complete -F _%s %s\n",
		program->name, program->name);
}

/* --- zsh ------------------------------------------------------------------------------------- */

static void put_zsh_quoted(FILE *out, const char *text, size_t len)
{
	put_quoted(out, text, len, "[]:\\", "'\\''");
}

/* "[what it does]:VALUE:what to offer" */
static void put_zsh_rest(FILE *out, const struct command_option *o)
{
	fputs("'[", out);
	put_zsh_quoted(out, o->text, short_length(o->text));
	putc(']', out);
	if (o->value) {
		putc(':', out);
		put_zsh_quoted(out, o->value, strlen(o->value));
		putc(':', out);
		if (o->words) {
			putc('(', out);
			put_list(out, o->words);
			putc(')', out);
		} else {
			fputs(o->complete == COMPLETE_FILE     ? "_files"
			      : o->complete == COMPLETE_FOLDER ? "_files -/"
							       : " ",
			      out);
		}
	}
	fputs("' \\\n", out);
}

static void put_zsh_command(FILE *out, const struct command *command)
{
	const struct option_group *group;
	struct command_option o;

	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", command->name);
	for (size_t i = 0; command_option_get(command, i, &o, &group); i++) {
		if (o.letter)
			fprintf(out, "\t\t\t'*'{-%c%s,--%s%s}", o.letter, o.value ? "+" : "",
				o.name, o.value ? "=" : "");
		else
			fprintf(out, "\t\t\t'*'--%s%s", o.name, o.value ? "=" : "");
		put_zsh_rest(out, &o);
	}
	if (command->verbs) {
		fputs("\t\t\t'1:what:(", out);
		put_list(out, command->verbs);
		fputs(")' \\\n", out);
	}
	fprintf(out, "\t\t\t'*:%s\n\t\t;;\n",
		command->operand == COMPLETE_FILE     ? "file:_files'"
		: command->operand == COMPLETE_FOLDER ? "folder:_files -/'"
						      : ": '");
}

void usage_zsh(FILE *out, const struct usage_program *program)
{
	fprintf(out, "#compdef %s\n_%s()\n{\n\tlocal -a commands\n\n\tcommands=(\n", program->name,
		program->name);
	for (size_t i = 0; i < program->commands_cnt; i++) {
		const struct command *command = program->commands[i];

		fprintf(out, "\t\t'%s:", command->name);
		put_zsh_quoted(out, command->job, strlen(command->job));
		fputs("'\n", out);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n"
	      "\tfi\n\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
	      "\tcase $command in\n",
	      out);
	for (size_t i = 0; i < program->commands_cnt; i++)
		put_zsh_command(out, program->commands[i]);
	fprintf(out, "\tesac\n}\n_%s \"$@\"\n", program->name);
}

/* --- fish ------------------------------------------------------------------------------------ */

static void put_fish_begin(FILE *out, const char *program, const char *command)
{
	fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'", program, command);
}

static void put_fish_text(FILE *out, const char *text, size_t len)
{
	fputs(" -d '", out);
	put_quoted(out, text, len, "\\", "\\'");
	fputs("'\n", out);
}

static void put_fish_option(FILE *out, const char *program, const char *command,
			    const struct command_option *o)
{
	put_fish_begin(out, program, command);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	fprintf(out, " -l %s", o->name);
	if (o->value && o->complete == COMPLETE_FILE)
		fputs(" -r -F", out);
	else if (o->value)
		fputs(" -x", out);
	if (o->words) {
		fputs(" -a '", out);
		put_list(out, o->words);
		putc('\'', out);
	} else if (o->complete == COMPLETE_FOLDER) {
		fputs(" -a '(__fish_complete_directories)'", out);
	}
	put_fish_text(out, o->text, short_length(o->text));
}

static void put_fish_command(FILE *out, const char *program, const struct command *command)
{
	const struct option_group *group;
	struct command_option option;

	for (size_t i = 0; command_option_get(command, i, &option, &group); i++)
		put_fish_option(out, program, command->name, &option);
	if (command->verbs) {
		put_fish_begin(out, program, command->name);
		fputs(" -a '", out);
		put_list(out, command->verbs);
		fputs("'\n", out);
	}
	if (command->operand == COMPLETE_FILE) {
		put_fish_begin(out, program, command->name);
		fputs(" -F\n", out);
	}
}

void usage_fish(FILE *out, const struct usage_program *program)
{
	fprintf(out, "# fish completion for %s\ncomplete -c %s -f\n", program->name, program->name);
	for (size_t i = 0; i < program->commands_cnt; i++) {
		const struct command *command = program->commands[i];

		fprintf(out, "complete -c %s -n __fish_use_subcommand -a %s", program->name,
			command->name);
		put_fish_text(out, command->job, strlen(command->job));
	}
	for (size_t i = 0; i < program->commands_cnt; i++)
		put_fish_command(out, program->name, program->commands[i]);
}
