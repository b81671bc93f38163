/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun diff: what grew from one capture to another. */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/options.h"
#include "commands/terminal.h"
#include "commands/time_window.h"
#include "output/diff.h"

#define DEFAULT_ROWS  20
#define MIN_WIDTH     80
#define DEFAULT_WIDTH 130
/* Something grew by more than --fail-above. */
#define EXIT_GREW 3

struct arguments {
	struct frames frames;
	const char *process, *output, *fail_above;
	unsigned int per, rows, width, format;
	bool effects;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION('p', "process", "NAME|PID", "this process alone, on both sides", option_text,
	       IN(process)),
	OPTION(0, "per", "WHAT",
	       "what CPU time is compared by: auto (the default: by request answered, where "
	       "requests are known on both sides, else by time), request, cores (by time), or "
	       "share of the process's CPU time",
	       option_word, OPTION_WORDS("auto", "request", "cores", "share"), IN(per)),
	OPTION(0, "fail-above", "PERCENT",
	       "exit with 3 where a method or process grew by more than that for certain: for "
	       "pipelines",
	       option_text, IN(fail_above)),
	OPTION(0, "min-effect", NULL,
	       "instead: the smallest change of each method that captures like these would show",
	       option_true, IN(effects)),
	OPTION(0, "format", "FORMAT",
	       "text (default); json: for machines; html: one page with both flame graphs in the "
	       "colours of their change, the findings and what stands beside them; or svg: the "
	       "graphs alone",
	       option_word, OPTION_WORDS("text", "json", "svg", "html"), IN(format)),
	OPTION('o', "output", "RESULT", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
	OPTION(0, "rows", "N", "rows of each table, 0 for all (default 20)", option_count,
	       .max = OPTION_MAX_CNT, IN(rows)),
	OPTION(0, "width", "COLUMNS", "80 or more (default: the terminal's, else 130)",
	       option_count, .min = MIN_WIDTH, .max = OPTION_MAX_CNT, IN(width)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(frames_options, struct arguments, frames),
};

/* One side, as it was written: FILE, or FILE@FROM..TO. */
struct given {
	const char *name; /* borrowed from the command line */
	char *path;
	char *from, *to; /* or NULL */
	struct time_window window;
	struct model *m;
	uint8_t *wanted;
};

static void given_clear(struct given *g)
{
	free(g->path);
	free(g->from);
	free(g->to);
	free(g->wanted);
	model_free(g->m);
}

/* A span behind the last @, of a name that is no file as a whole. */
static int split(struct given *g)
{
	const char *at = strrchr(g->name, '@'), *dots = at ? strstr(at, "..") : NULL;

	if (!dots || !access(g->name, F_OK)) {
		g->path = strdup(g->name);
		return g->path ? EXIT_OK : EXIT_FAILED;
	}
	g->path = strndup(g->name, (size_t)(at - g->name));
	g->from = strndup(at + 1, (size_t)(dots - at - 1));
	g->to = strdup(dots + 2);
	if (!g->path || !g->from || !g->to)
		return EXIT_FAILED;
	if ((*g->from && moment_parse(g->from, &g->window.from)) ||
	    (*g->to && moment_parse(g->to, &g->window.to)) || (!*g->from && !*g->to)) {
		log_error("%s: the span is FROM..TO: seconds since the start, or clock times "
			  "(12..20, 14:03..14:05)",
			  g->name);
		return command_usage("diff");
	}
	g->window.from_text = *g->from ? g->from : NULL;
	g->window.to_text = *g->to ? g->to : NULL;
	return time_window_check(&g->window, "diff");
}

/* Either side may lack the process: it is new, or gone. */
static int find_process(struct given *given, const char *process)
{
	int found = 0;

	for (int i = 0; i < DIFF_SIDES; i++) {
		given[i].wanted = calloc(given[i].m->processes_cnt + 1, sizeof(*given[i].wanted));
		if (!given[i].wanted)
			return EXIT_FAILED;
	}
	for (int begins = 0; begins <= 1 && !found; begins++) {
		for (int i = 0; i < DIFF_SIDES; i++) {
			struct given *g = &given[i];

			for (uint32_t k = 0; k < g->m->processes_cnt; k++) {
				g->wanted[k] =
					capture_is_meant(&g->m->processes[k], process, begins);
				found |= g->wanted[k];
			}
		}
	}
	if (found)
		return EXIT_OK;
	log_error("%s: no such process in either capture; `hotrun report` lists them", process);
	return EXIT_FAILED;
}

static int open_side(struct given *g, const struct arguments *a)
{
	struct report_window taken;
	int rc = split(g);

	if (!rc)
		rc = capture_open(g->path, &g->m);
	if (!rc)
		rc = time_window_cut(&g->window, "diff", g->m, &taken);
	if (!rc)
		rc = frames_apply(&a->frames, g->m);
	return rc;
}

/* By the number of their word. */
static int (*const writers[])(FILE *out, const struct diff *d, const struct diff_beside *beside,
			      const struct diff_options *options) = {
	diff_write_text, diff_write_json, diff_write_svg, diff_write_page};

static int write_it(const struct arguments *a, const struct diff *d,
		    const struct diff_beside *beside, const struct diff_options *options)
{
	struct result *result = result_open_last(a->output);

	if (!result)
		return EXIT_FAILED;
	return result_close(result, writers[a->format](result_file(result), d, beside, options));
}

/* What cannot be compared has not passed. */
static int judge_growth(const struct arguments *a, const struct diff *d, double fail_above)
{
	if (!d->in_common || d->too_short) {
		log_error("--fail-above %s: nothing could be told: %s", a->fail_above,
			  d->too_short ? "of fewer than 4 s no difference is certain"
				       : "no method with a name is in both");
		return EXIT_FAILED;
	}
	if (d->most_growth <= fail_above)
		return EXIT_OK;
	log_error("something grew by more than %s for certain", a->fail_above);
	return EXIT_GREW;
}

/* By request was asked of a process whose requests are not known. */
static int check_per(const struct arguments *a, const struct diff *d)
{
	for (size_t i = 0; a->process && i < d->book->kinds_cnt; i++)
		if (d->kinds[i].lacks_requests) {
			log_error("--per request: requests of %s are not known on both sides",
				  a->process);
			return EXIT_FAILED;
		}
	return EXIT_OK;
}

static int compare(const struct arguments *a, struct given *given, double fail_above)
{
	struct diff_side sides[DIFF_SIDES] = {0};
	struct diff_options options = {.rows = a->rows, .width = a->width, .effects = a->effects};
	struct diff_book *book;
	struct diff_beside *beside = NULL;
	struct diff *d = NULL;
	int rc = EXIT_FAILED;

	for (int i = 0; i < DIFF_SIDES; i++) {
		sides[i].m = given[i].m;
		sides[i].wanted = given[i].wanted;
		options.names[i] = given[i].name;
	}
	book = diff_book_new(sides);
	if (book)
		d = diff_new(book, (enum diff_per)a->per);
	if (d)
		beside = diff_beside_new(book, NULL);
	if (beside)
		rc = check_per(a, d);
	else
		log_error("out of memory");
	if (!rc)
		rc = write_it(a, d, beside, &options);
	if (!rc && isfinite(fail_above))
		rc = judge_growth(a, d, fail_above);
	diff_beside_free(beside);
	diff_free(d);
	diff_book_free(book);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {.rows = DEFAULT_ROWS};
	struct given given[DIFF_SIDES] = {0};
	double fail_above = NAN;
	int rc = options_parse(&diff_command, argc, argv, &a);

	if (!rc && argc - optind != DIFF_SIDES) {
		log_error("name two captures, or spans of them: BEFORE AFTER");
		rc = command_usage("diff");
	}
	if (!rc && a.effects && writers[a.format] == diff_write_page) {
		log_error("--min-effect: not with --format html, which shows what did change");
		rc = command_usage("diff");
	}
	if (!rc && a.fail_above) {
		size_t len = strlen(a.fail_above);
		_cleanup_free_ char *number =
			strndup(a.fail_above, len - (len && a.fail_above[len - 1] == '%'));

		if (!number || text_parse_double(number, 0, 1e6, &fail_above)) {
			log_error("--fail-above %s: not a number of per cent", a.fail_above);
			rc = command_usage("diff");
		}
		fail_above /= 100;
	}
	for (int i = 0; !rc && i < DIFF_SIDES; i++) {
		given[i].name = argv[optind + i];
		rc = open_side(&given[i], &a);
	}
	capture_leave_signals();
	frames_clear(&a.frames);
	if (!a.width)
		a.width = terminal_columns(MIN_WIDTH) ?: DEFAULT_WIDTH;
	if (!rc && a.process)
		rc = find_process(given, a.process);
	if (!rc)
		rc = compare(&a, given, fail_above);
	for (int i = 0; i < DIFF_SIDES; i++)
		given_clear(&given[i]);
	return rc;
}

const struct command diff_command = {
	.name = "diff",
	.job = "say what grew from one capture to another, for certain",
	.usage = "[OPTION]... BEFORE AFTER",
	.about = "Compares two captures, or two spans of captures (FILE@12..20, "
		 "FILE@14:03..14:05): which\n"
		 "methods use more or less CPU than before, per request where requests are known, "
		 "and "
		 "how\n"
		 "sure that is. The hosts, builds and runtimes may differ: methods are matched by "
		 "name. "
		 "Needs\n"
		 "no privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun diff before.hotrun after.hotrun\n"
		    "  hotrun diff -p Shop.Api monday.hotrun@14:00..14:05 tuesday.hotrun\n"
		    "  hotrun diff slow.hotrun@0..20 slow.hotrun@40..60\n"
		    "  hotrun diff --format html -o diff.html before.hotrun after.hotrun\n"
		    "  hotrun diff --fail-above 5% base.hotrun new.hotrun >diff.txt\n",
	.notes =
		"Named is what changed for certain: of what is named, 1 in 40 is so by chance. How "
		"sure a\n"
		"difference is comes from how the seconds of each capture differ among themselves, "
		"from the\n"
		"number of samples, and from how far recordings of one load are apart. of mean: "
		"how "
		"many\n"
		"times as much as its process as a whole.\n"
		"Exit code: 0; 1 failure; 2 usage; 3 something grew by more than --fail-above.\n",
	.run = run,
};
