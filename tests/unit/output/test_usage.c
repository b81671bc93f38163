/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command's options as text, as a page of the manual, and as completion. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "output/usage.h"

static int take(void *at, const struct command_option *option, const char *value)
{
	(void)at, (void)option, (void)value;
	return 0;
}

static const struct command_option rows[] = {
	{.letter = 'd',
	 .name = "duration",
	 .value = "SECONDS",
	 .text = "how long (default: for ever; it's said so)",
	 .take = take},
	{.name = "format",
	 .value = "FORMAT",
	 .text = "text (default), or json: a text that is so long that it goes on in a second "
		 "line, "
		 "and in a third one, where a [bracket] and a \\ stand",
	 .words = (const char *const[]){"text", "json", NULL},
	 .take = take},
	{.name = "with-a-name-that-is-long",
	 .value = "FILE",
	 .text = ".begins with a point",
	 .complete = COMPLETE_FILE,
	 .take = take},
	{.letter = 'r',
	 .name = "root",
	 .value = "DIR",
	 .text = "where to look",
	 .complete = COMPLETE_FOLDER,
	 .take = take},
};

static const char *const settings[] = {"ring", "rotate"};

static bool get_setting(size_t i, struct command_option *ret_option)
{
	if (i >= 2)
		return false;
	*ret_option = (struct command_option){
		.name = settings[i], .value = "TIME", .text = "so much", .take = take};
	return true;
}

static const struct option_group groups[] = {
	{.options = rows, .cnt = 4},
	{.heading = "Settings", .get = get_setting},
};

static void put_more(FILE *out)
{
	fputs("  more=1   as it stands\n", out);
}

static const struct command look = {
	.name = "look",
	.job = "see: what there is",
	.usage = "here [OPTION]...\nthere FILE",
	.about = "Looks. It's\nfast.\n\nA second paragraph.\n",
	.examples = "  tool look -d 1   'quoted' ~\n",
	.notes = "'Quoted' notes:\n  literal -x `y`\nand on.\n\n",
	.put_more = put_more,
	.verbs = (const char *const[]){"here", "there", NULL},
	.groups = groups,
	.groups_cnt = 2,
	.operand = COMPLETE_FILE,
};
static const struct command rest = {.name = "rest",
				    .job = "do nothing",
				    .usage = "[OPTION]...",
				    .about = "Rests.\n",
				    .examples = "  tool rest\n",
				    .notes = "Exit code: 0.\n"};
static const struct command *const commands[] = {&look, &rest};
static const struct usage_program program = {.name = "tool",
					     .version = "1.2.3",
					     .job = "look and rest",
					     .about = "A tool.\n",
					     .examples = "  tool look\n",
					     .notes = "`tool COMMAND --help` tells more.\n",
					     .commands = commands,
					     .commands_cnt = 2};

static void of_look(FILE *out, const struct usage_program *p,
		    void (*put)(FILE *, const struct usage_program *, const struct command *))
{
	put(out, p, &look);
}

static void command_help(FILE *out, const struct usage_program *p)
{
	of_look(out, p, usage_command_help);
}

static void command_manual(FILE *out, const struct usage_program *p)
{
	of_look(out, p, usage_command_manual);
}

static const struct {
	const char *golden;
	void (*put)(FILE *out, const struct usage_program *program);
} forms[] = {
	{"usage_help.txt", usage_help}, {"usage_command.txt", command_help},
	{"usage.1", usage_manual},	{"usage_command.1", command_manual},
	{"usage.bash", usage_bash},	{"usage.zsh", usage_zsh},
	{"usage.fish", usage_fish},
};

Test(usage, is_told_in_each_form)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		cr_assert(out);
		forms[i].put(out, &program);
		fclose(out);
		golden_expect(forms[i].golden, text, len);
		free(text);
	}
}

Test(usage, options_of_all_groups_are_counted_through_with_help)
{
	static const char *const names[] = {
		"duration", "format", "with-a-name-that-is-long", "root", "help", "ring", "rotate"};
	const struct option_group *group;
	struct command_option option;
	char label[OPTION_LABEL_BYTES];
	size_t cnt = 0;

	for (; command_option_get(&look, cnt, &option, &group); cnt++)
		cr_expect_str_eq(option.name, names[cnt]);
	cr_expect_eq(cnt, 7);
	cr_assert(command_option_get(&rest, 0, &option, &group));
	cr_expect_str_eq(option.name, "help");
	cr_expect_not(command_option_get(&rest, 1, &option, &group));
	option_label(label, &rows[0]);
	cr_expect_str_eq(label, "-d");
	option_label(label, &rows[1]);
	cr_expect_str_eq(label, "--format");
}

static char *page_of(const char *command)
{
	const struct command named = {
		.name = command, .job = "", .usage = "", .about = "", .examples = "", .notes = ""};
	const struct usage_program hotrun = {.name = "hotrun",
					     .version = "",
					     .job = "",
					     .about = "",
					     .examples = "",
					     .notes = ""};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	if (command)
		usage_command_manual(out, &hotrun, &named);
	else
		usage_manual(out, &hotrun);
	fclose(out);
	return text;
}

Test(usage, chapters_of_the_manual_stand_on_their_pages)
{
	static const struct {
		const char *command, *has, *lacks;
	} rows[] = {
		{NULL, "\n.SH LIMITS\n.TP\n.B Samples\ntell where", "\n.SH HOW FRAMES READ\n"},
		{"record", "\n.SH SERVICE SIGNALS\n", "\n.SH VERDICTS\n"},
		{"report", "\n.SH HOW FRAMES READ\n", "\n.SH SERVICE SIGNALS\n"},
		{"rename", "\n.SH WHERE NAMES COME FROM\n", "\n.SH LIMITS\n"},
		{"perfmap", "\n.SH WHAT IT COSTS\n", "\n.SH METRICS\n"},
		{"watch", "\n.SH METRICS\n", "\n.SH WHAT IT COSTS\n"},
		{"seccomp", "\n.SH NOTES\n", "\n.TP\n.B"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = page_of(rows[i].command);

		cr_expect(strstr(text, rows[i].has), "%s", text);
		cr_expect(!strstr(text, rows[i].lacks), "%s", text);
		cr_expect(!strstr(text, "\n= "), "%s", text);
		free(text);
	}
}
