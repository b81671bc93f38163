/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun rename: names looked up again in a finished capture. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/rename_text.h"
#include "kernel/host.h"
#include "kernel/rights.h"
#include "store/store.h"

/* By how much wall time may have been set since, other than by a suspend. */
#define CLOCK_SET_NS 10000000000ll

struct rename_options {
	const char *path, *output;
	bool all;
	unsigned int names;
	struct symbol_dirs *dirs; /* NULL = none */
};

static int take_folder(void *at, const struct command_option *option, const char *value)
{
	struct symbol_dirs **dirs = at;
	int err;

	if (!*dirs)
		*dirs = symbol_dirs_new();
	if (!*dirs)
		return EXIT_FAILED;
	err = symbol_dirs_add(*dirs, value);
	if (!err)
		return EXIT_OK;
	log_error("--%s %s: %s", option->name, value,
		  err == -E2BIG ? "too many folders" : store_error_text(err));
	return EXIT_FAILED;
}

static const struct command_option rows[] = {
	OPTION(0, "symbols", "DIR",
	       "look here too, in all folders below, for the files told below; may be repeated",
	       take_folder, .complete = COMPLETE_FOLDER, OPTION_IN(struct rename_options, dirs)),
	OPTION('o', "output", "RESULT", "write a new capture instead; FILE stays as it is",
	       option_text, .complete = COMPLETE_FILE, OPTION_IN(struct rename_options, output)),
	OPTION(0, "all", NULL,
	       "also frames that have a name (code compiled since at the same address then has "
	       "the newer name)",
	       option_true, OPTION_IN(struct rename_options, all)),
	OPTION_NAMES(struct rename_options, names),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int parse(int argc, char **argv, struct rename_options *o)
{
	int rc = options_parse(&rename_command, argc, argv, o);

	if (rc)
		return rc;
	if (argc - optind != 1) {
		log_error(optind < argc ? "%s: one capture at a time" : "name the capture%s",
			  optind < argc ? argv[optind + 1] : "");
		return command_usage("rename");
	}
	o->path = argv[optind];
	return EXIT_OK;
}

/*
 * Whether the capture is of this host since its boot: else pids mean nothing. Told by name and
 * kernel, and by wall time less monotonic time, which a boot changes and only a suspend or somebody
 * who sets the clock otherwise.
 */
static bool is_of_this_boot(const struct model *m)
{
	struct host host;
	int64_t moved_ns;

	host_describe(&host);
	if (!m->slices_cnt || strcmp(host.name, m->host.name) ||
	    strcmp(host.release, m->host.kernel) || m->host.end_ns > clock_now_ns())
		return false;
	moved_ns = host_wall_offset_ns() - m->slices[m->slices_cnt - 1].wall_offset_ns;
	return moved_ns > -CLOCK_SET_NS && moved_ns < (int64_t)host_boot_offset_ns() + CLOCK_SET_NS;
}

/* Returns 0 with a note for the report, or -ENOMEM. */
static int note_renaming(struct model *m, uint64_t named)
{
	struct model_renaming *rows =
		reallocarray(m->renamings, m->renamings_cnt + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	m->renamings = rows;
	m->renamings_cap = m->renamings_cnt + 1;
	m->renamings[m->renamings_cnt++] = (struct model_renaming){
		.time_s = time(NULL), .version = HOTRUN_VERSION, .named = named};
	return 0;
}

static int fail(const char *path, int err)
{
	log_error("%s: %s", path,
		  err == -EINTR ? "interrupted; the capture is as it was" : store_error_text(err));
	if (err == -EACCES)
		log_info("-o RESULT writes a new capture and leaves this one");
	return EXIT_FAILED;
}

/* The captures are the same: nobody wrote between the two readings. */
static bool is_same(const struct model *a, const struct model *b)
{
	return a->locations_cnt == b->locations_cnt && a->symbols_cnt == b->symbols_cnt &&
	       a->processes_cnt == b->processes_cnt && a->stacks_cnt == b->stacks_cnt &&
	       a->samples_cnt == b->samples_cnt;
}

static int look_up(const struct rename_options *o, struct model *m, struct model *fresh,
		   struct again *ret_again)
{
	struct again_options options = {
		.proc_path = "/proc",
		.ask = is_of_this_boot(m),
		.all = o->all,
		.from = o->names,
		.dirs = o->dirs,
		.stop = &stop_requested,
	};
	int err;

	if (!options.ask)
		log_info("%s: recorded on another host or before its last boot; processes are not "
			 "asked",
			 o->path);
	err = again_run(m, fresh, &options, ret_again);
	if (!err && ret_again->named)
		err = note_renaming(m, ret_again->named);
	return err;
}

static void say(const struct rename_options *o, struct model *m, const struct again *again,
		const struct unnamed *before)
{
	struct unnamed *after = again->named ? unnamed_new(m, MODEL_NONE) : NULL;
	struct rename_result result = {m, again, before, after, o->dirs, is_of_this_boot(m)};

	if (!unnamed_frames(before))
		printf("every frame has a name: nothing to do\n");
	else if (!again->named)
		printf("nothing could be named that had no name\n");
	rename_text(stdout, &result);
	unnamed_free(after);
}

static int rename_capture(const struct rename_options *o)
{
	struct store_update *update = NULL;
	struct model *m = NULL, *fresh = NULL;
	struct unnamed *before = NULL;
	struct again again = {0};
	int err;

	err = store_update_open(o->path, o->output, &update, &m);
	if (!err)
		err = store_read(o->path, &fresh);
	if (!err && !is_same(m, fresh))
		err = -EBUSY;
	if (!err) {
		before = unnamed_new(fresh, MODEL_NONE);
		err = before ? look_up(o, m, fresh, &again) : -ENOMEM;
	}
	if (!err && (again.named || o->output)) {
		err = store_update_commit(update, m);
		update = NULL;
	}
	if (!err)
		say(o, m, &again, before);
	store_update_free(update);
	unnamed_free(before);
	again_clear(&again);
	model_free(fresh);
	model_free(m);
	return err ? fail(o->path, err) : EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct rename_options o = {0};
	int rc = parse(argc, argv, &o);

	if (!rc) {
		/* Files of processes, and of others, are looked at. */
		rights_names();
		rc = rename_capture(&o);
	}
	if (!rc && o.output)
		log_info("capture: %s (hotrun report %s)", o.output, o.output);
	symbol_dirs_free(o.dirs);
	return rc;
}

const struct command rename_command = {
	.name = "rename",
	.job = "look names up again in a capture, while its processes live",
	.usage = "[OPTION]... FILE",
	.about = "Looks names up again in a capture: from processes that still live (the same "
		 "process, not\n"
		 "just its pid), from the files of this host, and from folders of symbol files. "
		 "Frames "
		 "that\n"
		 "have a name keep it. FILE is changed in place, at once or not at all.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.operand = COMPLETE_FILE,
	.examples = "  hotrun perfmap enable 4711 && sudo hotrun rename slow.hotrun\n"
		    "  hotrun rename --symbols ./from-the-server slow.hotrun -o named.hotrun\n",
	.notes =
		"Taken of --symbols are\n"
		"  perf-PID.map   perf maps; PID as the host or the process saw it\n"
		"  ELF files      programs, libraries, debug files, by the build id in them, e.g.\n"
		"                 .build-id/ab/cdef.debug\n"
		"  *.dll          precompiled .NET images, by file name and version id (by name "
		"alone\n"
		"                 in captures that lack it)\n\n"
		"Code that was compiled after the capture may have taken the place of what was "
		"sampled: "
		"names\n"
		"from a perf map read now are marked \"named later\". Processes of other users "
		"need the\n"
		"privileges that recording needs; --symbols needs none.\n\n"
		"Exit code: 0, also when nothing could be named; 1 failure; 2 usage.\n",
	.run = run,
};
