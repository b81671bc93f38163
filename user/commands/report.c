/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun report: options, the capture, the text. */
#include <getopt.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/limits.h"
#include "commands/options.h"
#include "commands/time_window.h"
#include "output/report.h"

struct arguments {
	struct report_options report;
	unsigned int color; /* enum option_color */
	bool json;
	const char *process;
	struct time_window window;
	struct frames frames;
	struct limits limits;
};

static int take_share(void *at, const struct command_option *option, const char *value)
{
	double *share = at;

	if (text_parse_double(value, 0.001, 100, share))
		return option_refuse(option, value, "not a share in percent, 0.001 to 100");
	*share /= 100;
	return EXIT_OK;
}

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID",
	       "detail this process instead of those with most CPU; where none is called NAME, "
	       "those "
	       "whose names begin so",
	       option_text, IN(process)),
	OPTION('n', "processes", "N", "how many processes to detail (default 3)", option_number,
	       .min = 1, .max = 10000, IN(report.process_cnt)),
	OPTION('s', "summary", NULL, "the first screen alone", option_true, IN(report.summary)),
	OPTION(0, "blocked", NULL,
	       "where threads were blocked, for how long and by what, alone and in full",
	       option_true, IN(report.blocked)),
	OPTION(0, "idle", NULL, "idle waits among these, too", option_true, IN(report.idle)),
	OPTION('b', "bottom-up", NULL, "trees start at the methods that burn the CPU", option_true,
	       IN(report.bottom_up)),
	OPTION('a', "all", NULL,
	       "list the processes without CPU time, too, with the states of their threads",
	       option_true, IN(report.all)),
	OPTION(0, "by", "workload",
	       "one row of the tables for the processes of one workload: of a Deployment's pods, "
	       "a container, a unit (default: by process)",
	       option_second_word, OPTION_WORDS("process", "workload"), IN(report.by_workload)),
	OPTION(0, "min-share", "PCT", "cut branches below this share of the process (default 1)",
	       take_share, IN(report.min_share)),
	OPTION(0, "lines", "N", "lines of one tree at the most (default 150)", option_count,
	       .min = 1, .max = OPTION_MAX_CNT, IN(report.lines)),
	OPTION(0, "rows", "N", "rows of one table at the most (default 15)", option_count, .min = 1,
	       .max = OPTION_MAX_CNT, IN(report.rows)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 110)",
	       option_count, .min = REPORT_MIN_WIDTH, .max = 10000, IN(report.width)),
	OPTION_COLOR(struct arguments, color),
	OPTION_FORMAT(
		"text (default), or json: the verdicts alone, or with --blocked where threads "
		"were blocked, for machines",
		struct arguments, json),
	OPTION(0, "force", NULL, "show shares although samples are missing", option_true,
	       IN(report.force)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(frames_options, struct arguments, frames),
	OPTION_SHARED(time_window_options, struct arguments, window),
	OPTION_SHARED(limits_options, struct arguments, limits),
};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&report_command, argc, argv, a);

	if (rc)
		return rc;
	if (argc - optind > 1) {
		log_error("%s: one capture at a time", argv[optind + 1]);
		return command_usage("report");
	}
	return time_window_check(&a->window, "report");
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 0;
	return size.ws_col < REPORT_MIN_WIDTH ? REPORT_MIN_WIDTH : size.ws_col;
}

/* Those named, else those that the recording was limited to, else those with most CPU. */
static int choose(const struct model *m, struct arguments *a, uint32_t **rows)
{
	size_t cnt, wanted = a->report.process_cnt ? a->report.process_cnt : 3;
	int rc = capture_find(m, a->process, rows, &cnt);

	if (rc || !cnt)
		return rc;
	a->report.processes = *rows;
	a->report.process_cnt = a->process || cnt < wanted ? cnt : wanted;
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct arguments a = {0};
	_cleanup_free_ uint32_t *rows = NULL;
	struct result *result;
	struct model *m = NULL;
	int rc = parse(argc, argv, &a);

	if (!rc)
		rc = limits_read(&a.limits, "report");
	a.report.limits = &a.limits.policy;
	a.report.color =
		a.color == COLOR_ALWAYS || (a.color == COLOR_AUTO && isatty(STDOUT_FILENO));
	if (!a.report.width)
		a.report.width = terminal_width();
	if (!rc)
		rc = capture_open(optind < argc ? argv[optind] : NULL, &m);
	capture_leave_signals();
	if (!rc)
		rc = frames_apply(&a.frames, m);
	frames_clear(&a.frames);
	if (!rc)
		rc = time_window_cut(&a.window, "report", m, &a.report.window);
	if (!rc)
		rc = choose(m, &a, &rows);
	result = rc ? NULL : result_open_last(NULL);
	if (result)
		rc = result_close(result, (a.json ? report_json_write : report_write)(
						  result_file(result), m, &a.report));
	model_free(m);
	limits_forget(&a.limits);
	return rc;
}

const struct command report_command = {
	.name = "report",
	.job = "say who takes the CPU, who waits for it, and which code is hot",
	.usage = "[OPTION]... [FILE]",
	.about = "Says whether anybody is hurt and by what, who takes the CPU, who waits for it "
		 "and for\n"
		 "whom, where to start looking, and what was lost. FILE is a capture of `hotrun "
		 "record`;\n"
		 "without it, the newest one in this folder. Needs no privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun report\n"
		    "  hotrun report -p Shop.Api --bottom-up slow.hotrun\n"
		    "  hotrun report --all | less\n"
		    "  hotrun report --blocked -p Shop.Api\n"
		    "  hotrun report --by workload node.hotrun\n"
		    "  hotrun report --from 12 --to 20 slow.hotrun\n"
		    "  hotrun report --worst 5s\n"
		    "  hotrun report --just-my-code --not-my-code 'Serilog*'\n"
		    "  hotrun report --format json | jq .host.verdict\n"
		    "  hotrun report --limit slow-share=5% --limit stuck=30s slow.hotrun\n",
	.notes = "Exit code: 0; 1 failure; 2 usage.\n\n" LIMITS_HELP_NAMES,
	.put_more = limits_put_help,
	.run = run,
};
