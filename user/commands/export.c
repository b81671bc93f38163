/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun export: the samples in formats of other tools. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/frames.h"
#include "commands/time_window.h"
#include "model/harm.h"
#include "output/folded.h"

static const char help_text[] =
	"usage: hotrun export [OPTION]... [FILE]\n\n"
	"Writes the samples of a capture in a format of other tools. Without FILE, of the newest\n"
	"capture in this folder. Needs no privileges.\n\n"
	"      --format FORMAT     folded: a line a stack, for flame graph tools; kernel frames\n"
	"                          end in _[k], JIT frames in _[j] (the default)\n"
	"  -o, --output RESULT     where to write (default: stdout)\n"
	"  -p, --process NAME|PID  this process only\n"
	"      --weight WEIGHT     samples (the default), or waiters: each sample counts with the\n"
	"                          threads that waited for its CPU at that instant, so that the\n"
	"                          widest frames are those that others waited for\n"
	"      --by workload       begin with the workload instead of the process: pods of one\n"
	"                          Deployment, a container, a unit (default: by process)\n"
	"      --pid               put the process id behind the name, NAME-PID\n"
	"      --addresses         keep unnamed functions of native libraries "
	"apart\n" FRAMES_HELP TIME_WINDOW_HELP "  -h, --help              this text\n\n"
	"  hotrun export --format folded slow.hotrun > slow.folded\n"
	"  hotrun export --worst 5s --weight waiters -o harm.folded\n"
	"  hotrun export --raw-names | grep -c __Canon\n\n"
	"Exit code: 0; 1 failure; 2 usage.\n";

/* All processes, or each of those named in turn. */
static int write_folded(struct model *m, const uint32_t *rows, size_t cnt, const char *output,
			struct folded_options *options)
{
	struct result *result = result_open(output);
	int err;

	if (!result)
		return EXIT_FAILED;
	options->process = cnt ? rows[0] : MODEL_NONE;
	err = folded_write(result_file(result), m, options);
	for (size_t i = 1; i < cnt && !err; i++) {
		options->process = rows[i];
		err = folded_write(result_file(result), m, options);
	}
	return result_close(result, err);
}

static void add_harm(struct harm *sum, const struct harm *by)
{
	sum->samples += by->samples;
	sum->unknown += by->unknown;
	sum->waiters += by->waiters;
}

/* Says where the weight is not known, or nobody waited. */
static int check_waiters(const struct model *m, const uint32_t *rows, size_t cnt)
{
	struct harm sum = {0}, one;

	for (size_t i = 0; i < (cnt ? cnt : 1); i++) {
		one = harm_sum(m, cnt ? rows[i] : MODEL_NONE);
		add_harm(&sum, &one);
	}
	if (sum.samples && sum.unknown == sum.samples) {
		log_error("--weight waiters: no sample of this capture tells who waited: %s",
			  model_off_text(OFF_QUEUES));
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

int command_export(int argc, char **argv)
{
	static const struct option longs[] = {TIME_WINDOW_OPTIONS,
					      FRAMES_OPTIONS,
					      {"weight", required_argument, NULL, 'w'},
					      {"format", required_argument, NULL, 'f'},
					      {"output", required_argument, NULL, 'o'},
					      {"process", required_argument, NULL, 'p'},
					      {"by", required_argument, NULL, 'b'},
					      {"pid", no_argument, NULL, 'P'},
					      {"addresses", no_argument, NULL, 'A'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	struct folded_options options = {.process = MODEL_NONE};
	const char *output = NULL, *process = NULL;
	_cleanup_free_ uint32_t *rows = NULL;
	struct model *m = NULL;
	struct time_window window = {0};
	_cleanup_(frames_clear) struct frames frames = {0};
	size_t cnt;
	int c, rc;

	while ((c = getopt_long(argc, argv, "o:p:h", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			if (strcmp(optarg, "folded")) {
				log_error("--format %s: not a known format: folded", optarg);
				return command_usage("export");
			}
			break;
		case 'o':
			output = optarg;
			break;
		case 'p':
			process = optarg;
			break;
		case 'P':
			options.pid = true;
			break;
		case 'b':
			options.workload = !strcmp(optarg, "workload");
			if (!options.workload && strcmp(optarg, "process")) {
				log_error("--by %s: not workload or process", optarg);
				return command_usage("export");
			}
			break;
		case 'A':
			options.addresses = true;
			break;
		case 'w':
			options.waiters = !strcmp(optarg, "waiters");
			if (!options.waiters && strcmp(optarg, "samples")) {
				log_error("--weight %s: not a known weight: samples, waiters",
					  optarg);
				return command_usage("export");
			}
			break;
		case FRAMES_RAW:
		case FRAMES_JUST_MINE:
		case FRAMES_MINE:
		case FRAMES_NOT_MINE:
			rc = frames_option(&frames, c, optarg);
			if (rc)
				return command_usage("export");
			break;
		case TIME_FROM:
		case TIME_TO:
		case TIME_WORST:
			rc = time_window_option(&window, c, optarg);
			if (rc)
				return command_usage("export");
			break;
		case 'h':
			fputs(help_text, stdout);
			return EXIT_OK;
		default:
			return command_usage("export");
		}
	}
	rc = capture_argument(argc, argv, process, &window, &m, &rows, &cnt);
	if (!rc)
		rc = frames_apply(&frames, m);
	if (!rc && options.waiters)
		rc = check_waiters(m, rows, cnt);
	if (!rc)
		rc = write_folded(m, rows, cnt, output, &options);
	model_free(m);
	return rc;
}
