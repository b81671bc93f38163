/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun export: the samples in formats of other tools. */
#include <getopt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/blocked.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/options.h"
#include "commands/time_window.h"
#include "export/csv.h"
#include "export/firefox.h"
#include "export/folded.h"
#include "export/json.h"
#include "export/ndjson.h"
#include "export/otlp.h"
#include "export/perf_script.h"
#include "export/perfetto.h"
#include "export/pprof.h"
#include "export/sampled.h"
#include "export/speedscope.h"
#include "export/svg.h"
#include "export/tables.h"
#include "export/trunks.h"
#include "model/harm.h"

/* Formats: name, what it is, who writes it; and why it has one weight alone, NULL where it has all.
 * The first one is the default. */
#define FORMATS(F)                                                                            \
	F("folded",                                                                           \
	  "a line a stack, for flame graph tools; kernel frames end in _[k], JIT frames in "  \
	  "_[j] (the default)",                                                               \
	  folded_write, NULL)                                                                 \
	F("pprof",                                                                            \
	  "of Google's pprof, compressed (`go tool pprof FILE`): CPU, waiting threads and "   \
	  "blocked time at once, --weight is what is shown first; labels process, pid, "      \
	  "thread, tid, role, pod, verdict",                                                  \
	  pprof_write, NULL)                                                                  \
	F("speedscope", "for speedscope: a profile a thread, in the order of time",           \
	  speedscope_write, NULL)                                                             \
	F("perfetto",                                                                         \
	  "a trace for Perfetto: counters of CPU, waiting, queues and requests, verdicts, "   \
	  "slow seconds and throttling as slices, samples of CPU time",                       \
	  perfetto_write, "its tools count samples, each as one")                             \
	F("perf-script",                                                                      \
	  "the text of `perf script`, for PerfView, speedscope, stackcollapse-perf.pl",       \
	  perf_script_write, NULL)                                                            \
	F("firefox",                                                                          \
	  "a processed profile for the Firefox Profiler: a track a thread, counters of CPU, " \
	  "waiting and requests, markers of verdicts, slow seconds and throttling",           \
	  firefox_write, NULL)                                                                \
	F("otlp",                                                                             \
	  "ProfilesData of the OpenTelemetry protocol (v1development): CPU, waiting threads " \
	  "and blocked time by process",                                                      \
	  otlp_write, NULL)                                                                   \
	F("json",                                                                             \
	  "the tables of the report and the samples, keys as in deploy/hotrun.schema.json",   \
	  json_write, NULL)                                                                   \
	F("ndjson", "the same, an object a line", ndjson_write, NULL)                         \
	F("csv", "one of these tables (processes, or --table)", csv_write, NULL)              \
	F("svg", "a static picture of the flame graph", svg_write, NULL)                      \
	F("trunks",                                                                           \
	  "a line a thick trunk of those that were hurt, or used most CPU: seconds hurt, "    \
	  "requests hurt, share of its CPU, process, method; tabs between them. What "        \
	  "`hotrun history` remembers of a capture",                                          \
	  trunks_write,                                                                       \
	  "its lines are shares of CPU; `hotrun report --blocked` has where threads waited")

struct format {
	const char *name, *what;
	int (*write)(FILE *out, struct model *m, const struct export_options *options);
	const char *no_weight; /* why there is only one; NULL: all are known */
};

#define FORMAT_ROW(...)		     {__VA_ARGS__},
#define FORMAT_NAME(name, ...)	     name,
#define FORMAT_TEXT(name, what, ...) name ": " what ". "
static const struct format formats[] = {FORMATS(FORMAT_ROW)};
static const char *const format_names[] = {FORMATS(FORMAT_NAME) NULL};
#define TABLE_NAME(name, what) #name,
#define TABLE_TEXT(name, what) #name ": " what ". "
static const char *const table_names[] = {EXPORT_TABLES(TABLE_NAME) NULL};

struct arguments {
	struct export_options options;
	unsigned int weight; /* enum export_weight */
	unsigned int format;
	const char *output, *process;
	struct time_window window;
	struct frames frames;
};

#define IN(field) OPTION_IN(struct arguments, field)

static int take_table(void *at, const struct command_option *option, const char *value)
{
	unsigned int place = 0;
	int rc = option_word(&place, option, value);

	if (!rc)
		*(const char **)at = table_names[place];
	return rc;
}

static const struct command_option rows[] = {
	OPTION(0, "format", "FORMAT", FORMATS(FORMAT_TEXT), option_word, .words = format_names,
	       IN(format)),
	OPTION('o', "output", "RESULT", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
	OPTION('p', "process", "NAME|PID", "this process only", option_text, IN(process)),
	OPTION(0, "weight", "WEIGHT",
	       "samples (the default); waiters: each sample counts with the threads that "
	       "waited for its CPU at that instant, so that the widest frames are those that "
	       "others waited for; or blocked: milliseconds of threads in waits, where they waited",
	       option_word, OPTION_WORDS("samples", "waiters", "blocked"), IN(weight)),
	OPTION(0, "table", "TABLE",
	       "of json, ndjson and csv that table alone. " EXPORT_TABLES(TABLE_TEXT), take_table,
	       .words = table_names, IN(options.table)),
	OPTION(0, "idle", NULL, "of blocked time idle waits, too", option_true, IN(options.idle)),
	OPTION(0, "by", "workload",
	       "of folded: begin with the workload instead of the process: pods of one Deployment, "
	       "a "
	       "container, a unit (default: by process)",
	       option_second_word, OPTION_WORDS("process", "workload"), IN(options.workload)),
	OPTION(0, "pid", NULL, "of folded: put the process id behind the name, NAME-PID",
	       option_true, IN(options.pid)),
};

static const struct option_group groups[] = {
	{OPTION_ROWS(rows)},
	OPTION_SHARED(frames_stack_options, struct arguments, frames),
	OPTION_SHARED(frames_options, struct arguments, frames),
	OPTION_SHARED(time_window_options, struct arguments, window),
};

/* Says where the weight is not known, or nobody waited. */
static int check_waiters(const struct model *m, const struct export_options *options)
{
	struct harm sum = harm_sum_of(m, options->wanted);

	if (sum.samples && sum.unknown == sum.samples) {
		log_error("--weight waiters: no sample of this capture tells who waited: %s",
			  model_off_text(m, OFF_QUEUES));
		return EXIT_FAILED;
	}
	if (sum.unknown)
		log_warn("%llu of %llu samples could not tell who waited, and are left out",
			 (unsigned long long)sum.unknown, (unsigned long long)sum.samples);
	if (!sum.waiters)
		log_info("nobody waited at any of %llu samples: nothing to write",
			 (unsigned long long)sum.samples);
	return EXIT_OK;
}

/* Options that some formats have no use for. */
static int check_format(const struct arguments *a)
{
	const struct format *format = &formats[a->format];

	if ((a->options.workload || a->options.pid) && format->write != folded_write) {
		log_error("--%s: only with --format folded", a->options.pid ? "pid" : "by");
		return command_usage("export");
	}
	if (!a->options.table || format->write == json_write || format->write == ndjson_write ||
	    format->write == csv_write)
		return EXIT_OK;
	log_error("--table %s: only with --format json, ndjson or csv", a->options.table);
	return command_usage("export");
}

/* Whether the weight is known and the format has one. */
static int check_weight(const struct arguments *a, const struct model *m)
{
	const struct format *format = &formats[a->format];

	if (a->weight != EXPORT_SAMPLES && format->no_weight) {
		log_error("--weight %s: not with --format %s: %s",
			  a->weight == EXPORT_WAITERS ? "waiters" : "blocked", format->name,
			  format->no_weight);
		return command_usage("export");
	}
	if (a->weight == EXPORT_WAITERS)
		return check_waiters(m, &a->options);
	return a->weight == EXPORT_BLOCKED ? blocked_check(m) : EXIT_OK;
}

/* Those rows alone; cnt 0 = all. */
static int want(struct export_options *options, struct model *m, const uint32_t *rows, size_t cnt,
		uint8_t **ret_wanted)
{
	uint8_t *wanted;

	if (!cnt)
		return EXIT_OK;
	wanted = calloc(m->processes_cnt + 1, sizeof(*wanted));
	if (!wanted) {
		log_error("%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < cnt; i++)
		wanted[rows[i]] = 1;
	*ret_wanted = wanted;
	options->wanted = wanted;
	options->subject = sampled_process(m, rows[0]);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct arguments a = {0};
	_cleanup_free_ uint32_t *found = NULL;
	_cleanup_free_ uint8_t *wanted = NULL;
	struct model *m = NULL;
	struct result *result;
	size_t cnt;
	int rc = options_parse(&export_command, argc, argv, &a);

	if (!rc)
		rc = check_format(&a);
	if (!rc)
		rc = frames_capture(&a.frames, argc, argv, a.process, &a.window, &m, &found, &cnt);
	if (!rc)
		rc = want(&a.options, m, found, cnt, &wanted);
	a.options.addresses = a.frames.addresses;
	a.options.weight = a.weight;
	if (!rc)
		rc = check_weight(&a, m);
	if (!rc) {
		result = result_open_last(a.output);
		rc = result ? result_close(result, formats[a.format].write(result_file(result), m,
									   &a.options))
			    : EXIT_FAILED;
	}
	model_free(m);
	return rc;
}

const struct command export_command = {
	.name = "export",
	.job = "write the samples in a format of other tools",
	.usage = "[OPTION]... [FILE]",
	.about = "Writes the samples of a capture in a format of other tools. Without FILE, of the "
		 "newest\n"
		 "capture in this folder. Needs no privileges.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun export --format folded slow.hotrun > slow.folded\n"
		    "  hotrun export --format pprof slow.hotrun -o slow.pb.gz\n"
		    "  hotrun export --format csv --table methods | head\n"
		    "  hotrun export --worst 5s --weight waiters -o harm.folded\n"
		    "  hotrun export --weight blocked -p Shop.Api -o waits.folded\n"
		    "  hotrun export --raw-names | grep -c __Canon\n",
	.notes = "Exit code: 0; 1 failure; 2 usage.\n",
	.run = run,
};
