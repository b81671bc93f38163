/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun report: options, the capture, the text. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/limits.h"
#include "commands/option_value.h"
#include "commands/time_window.h"
#include "output/report.h"

static const char help_text[] =
	"usage: hotrun report [OPTION]... [FILE]\n\n"
	"Says whether anybody is hurt and by what, who takes the CPU, who waits for it and for\n"
	"whom, where to start looking, and what was lost. FILE is a capture of `hotrun record`;\n"
	"without it, the newest one in this folder. Needs no privileges.\n\n"
	"  -p, --process NAME|PID  detail this process instead of those with most CPU\n"
	"  -n, --processes N       how many processes to detail (default 3)\n"
	"  -s, --summary           the first screen alone\n"
	"  -b, --bottom-up         trees start at the methods that burn the CPU\n"
	"  -a, --all               list the processes without CPU time, too, with the states of\n"
	"                          their threads\n"
	"      --by workload       one row of the tables for the processes of one workload: of a\n"
	"                          Deployment's pods, a container, a unit (default: by process)\n"
	"      --min-share PCT     cut branches below this share of the process (default 1)\n"
	"      --lines N           lines of one tree at the most (default 150)\n"
	"      --rows N            rows of one table at the most (default 15)\n"
	"      --width COLUMNS     80 or more (default: the terminal's, else 110)\n"
	"      --color WHEN        auto (default), always, never\n"
	"      --format FORMAT     text (default), or json: the verdicts alone, for machines\n"
	"      --force             show shares although samples are missing\n" FRAMES_HELP
		TIME_WINDOW_HELP LIMITS_HELP "  -h, --help              this text\n\n"
	"  hotrun report\n"
	"  hotrun report -p Shop.Api --bottom-up slow.hotrun\n"
	"  hotrun report --all | less\n"
	"  hotrun report --by workload node.hotrun\n"
	"  hotrun report --from 12 --to 20 slow.hotrun\n"
	"  hotrun report --worst 5s\n"
	"  hotrun report --just-my-code --not-my-code 'Serilog*'\n"
	"  hotrun report --format json | jq .host.verdict\n"
	"  hotrun report --limit slow-share=5% --limit stuck=30s slow.hotrun\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n\n" LIMITS_HELP_NAMES;

struct arguments {
	struct report_options report;
	bool json;
	const char *process;
	struct time_window window;
	struct frames frames;
	struct limits limits;
};

enum { BY = 256, MIN_SHARE, LINES, ROWS, WIDTH, COLOR, FORCE, FORMAT };

static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option longs[] = {TIME_WINDOW_OPTIONS,
					      FRAMES_OPTIONS,
					      LIMITS_OPTIONS,
					      {"process", required_argument, NULL, 'p'},
					      {"processes", required_argument, NULL, 'n'},
					      {"summary", no_argument, NULL, 's'},
					      {"bottom-up", no_argument, NULL, 'b'},
					      {"all", no_argument, NULL, 'a'},
					      {"by", required_argument, NULL, BY},
					      {"min-share", required_argument, NULL, MIN_SHARE},
					      {"lines", required_argument, NULL, LINES},
					      {"rows", required_argument, NULL, ROWS},
					      {"width", required_argument, NULL, WIDTH},
					      {"color", required_argument, NULL, COLOR},
					      {"format", required_argument, NULL, FORMAT},
					      {"force", no_argument, NULL, FORCE},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct report_options *o = &a->report;
	uint64_t n = 0;
	int c, rc;

	while ((c = getopt_long(argc, argv, "p:n:sbah", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			a->process = optarg;
			break;
		case 'n':
			rc = option_number("report", "-n", optarg, 1, 10000, &n);
			if (rc)
				return rc;
			o->process_cnt = n;
			break;
		case 's':
			o->summary = true;
			break;
		case 'b':
			o->bottom_up = true;
			break;
		case 'a':
			o->all = true;
			break;
		case BY:
			o->by_workload = !strcmp(optarg, "workload");
			if (!o->by_workload && strcmp(optarg, "process"))
				return option_bad_value("report", "--by", optarg,
							"not workload or process");
			break;
		case MIN_SHARE:
			if (text_parse_double(optarg, 0.001, 100, &o->min_share))
				return option_bad_value("report", "--min-share", optarg,
							"not a share in percent, 0.001 to 100");
			o->min_share /= 100;
			break;
		case LINES:
			rc = option_count("report", "--lines", optarg, 1, &o->lines);
			if (rc)
				return rc;
			break;
		case ROWS:
			rc = option_count("report", "--rows", optarg, 1, &o->rows);
			if (rc)
				return rc;
			break;
		case WIDTH:
			if (text_parse_u64(optarg, REPORT_MIN_WIDTH, 10000, &n))
				return option_bad_value("report", "--width", optarg,
							"not a width, 80 to 10000");
			o->width = (unsigned int)n;
			break;
		case COLOR:
			if (!strcmp(optarg, "always") || !strcmp(optarg, "never"))
				o->color = *optarg == 'a';
			else if (strcmp(optarg, "auto"))
				return option_bad_value("report", "--color", optarg,
							"not auto, always or never");
			break;
		case FORMAT:
			a->json = !strcmp(optarg, "json");
			if (!a->json && strcmp(optarg, "text"))
				return option_bad_value("report", "--format", optarg,
							"not text or json");
			break;
		case FORCE:
			o->force = true;
			break;
		case FRAMES_RAW:
		case FRAMES_JUST_MINE:
		case FRAMES_MINE:
		case FRAMES_NOT_MINE:
			if (frames_option(&a->frames, c, optarg))
				return command_usage("report");
			break;
		case TIME_FROM:
		case TIME_TO:
		case TIME_WORST:
			if (time_window_option(&a->window, c, optarg))
				return command_usage("report");
			break;
		case LIMITS_LIMIT:
		case LIMITS_CONFIG:
			if (limits_option(&a->limits, c, optarg))
				return EXIT_FAILED;
			break;
		case 'h':
			fputs(help_text, stdout);
			limits_put_help(stdout);
			exit(EXIT_OK);
		default:
			return command_usage("report");
		}
	}
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

int command_report(int argc, char **argv)
{
	struct arguments a = {.report = {.color = isatty(STDOUT_FILENO)}};
	_cleanup_free_ uint32_t *rows = NULL;
	struct result *result;
	struct model *m = NULL;
	int rc = parse(argc, argv, &a);

	if (!rc)
		rc = limits_read(&a.limits, "report");
	a.report.limits = &a.limits.policy;
	if (!a.report.width)
		a.report.width = terminal_width();
	if (!rc)
		rc = capture_open(optind < argc ? argv[optind] : NULL, &m);
	if (!rc)
		rc = frames_apply(&a.frames, m);
	frames_clear(&a.frames);
	if (!rc)
		rc = time_window_cut(&a.window, "report", m, &a.report.window);
	if (!rc)
		rc = choose(m, &a, &rows);
	result = rc ? NULL : result_open(NULL);
	if (result)
		rc = result_close(result, (a.json ? report_json_write : report_write)(
						  result_file(result), m, &a.report));
	model_free(m);
	limits_forget(&a.limits);
	return rc;
}
