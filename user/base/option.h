/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_BASE_OPTION_H
#define HOTRUN_BASE_OPTION_H
/*
 * A command as data: its options, one row each, and what is to be said of it. What reads arguments
 * (commands/options.h) and what tells of them (output/usage.h: --help, manual, completion) walk
 * these rows; nothing else knows an option. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a shell may offer for a value; words of the option come before it. */
enum option_complete { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_FOLDER };

struct command_option {
	const char *name;  /* long, without dashes */
	const char *value; /* what it takes, as "SECONDS"; NULL = nothing */
	const char *text;  /* what it does, one paragraph */
	char letter;	   /* 0 = none */
	enum option_complete complete;
	const char *const *words; /* values that it knows, up to NULL */
	/*
	 * Takes the value (NULL where there is none) into what stands at that offset in the
	 * arguments of its group. The value is borrowed: argv's. Returns an enum exit_code; errors
	 * are logged. NULL: --help.
	 */
	int (*take)(void *at, const struct command_option *option, const char *value);
	size_t offset;
	uint64_t min, max; /* of a number; of seconds max alone */
};

/* Options that stand together, and may be shared by commands. */
struct option_group {
	const char *heading; /* before them in the help; NULL = none */
	const struct command_option *options;
	size_t cnt;
	size_t offset; /* of the arguments that their offsets are within */
	/* Of a const char * in the command's arguments, which is to be the name of the option of
	 * this group that was given last; 0 = nobody asks. */
	size_t given;
	/* Instead of options and cnt: option i into *ret_option; false = there are no more. */
	bool (*get)(size_t i, struct command_option *ret_option);
};

struct command {
	const char *name;
	const char *job;   /* in half a line, without a capital */
	const char *usage; /* what stands behind the name; lines of their own for several ways */
	/* Paragraphs, wrapped already; lines that begin with a blank stand as they are. */
	const char *about, *examples, *notes;
	void (*put_more)(FILE *out); /* lines behind the notes, or NULL */
	const char *const *verbs;    /* the words that may come first, up to NULL; or NULL */
	const struct option_group *groups;
	size_t groups_cnt;
	enum option_complete operand; /* what the other arguments are */
	bool ends_at_operand;	      /* what follows the first of these is no option any more */
	int (*run)(int argc, char **argv);
};

/* Option i of all groups, and its group; false = there are no more. --help is one of them, before
 * the first group that has a heading. */
bool command_option_get(const struct command *command, size_t i, struct command_option *ret_option,
			const struct option_group **ret_group);

#define OPTION_LABEL_BYTES 64
/* "-d", else "--rows": as messages name it. */
void option_label(char label[static OPTION_LABEL_BYTES], const struct command_option *option);
#endif
