/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun recover: options; looks, tells, and with --resume acts. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/recover_act.h"
#include "kernel/host.h"

/* For one answer of a process, as doctor has it. */
#define DEADLINE_NS 100000000u
/* More are not resumed by hand. */
#define PIDS_MAX    64
#define TRACERS_MAX 16

struct arguments {
	uint32_t tgids[PIDS_MAX];
	size_t tgid_cnt;
	const char *output;
	unsigned int color; /* enum option_color */
	bool json, resume;
	struct tracers {
		uint32_t tgids[TRACERS_MAX];
		size_t cnt;
	} tracers;
};

/* --- arguments -------------------------------------------------------------------------------- */

#define IN(field) OPTION_IN(struct arguments, field)

/* "55" or "55,56". */
static int take_tracers(void *at, const struct command_option *option, const char *value)
{
	_cleanup_free_ char *text = strdup(value);
	struct tracers *tracers = at;
	char *save = NULL;
	uint64_t tgid;

	if (!text || !*text)
		return option_refuse(option, value, "a process id");
	for (const char *word = strtok_r(text, ",", &save); word;
	     word = strtok_r(NULL, ",", &save)) {
		if (text_parse_u64(word, 2, OPTION_MAX_PID, &tgid))
			return option_refuse(option, value, "a process id");
		if (tracers->cnt >= TRACERS_MAX)
			return option_refuse(option, value, "16 process ids at the most");
		tracers->tgids[tracers->cnt++] = (uint32_t)tgid;
	}
	return EXIT_OK;
}

static const struct command_option rows[] = {
	OPTION(0, "resume", NULL,
	       "do it: thaw, SIGCONT, tell the runtime to go on, switch the perf map off, as its "
	       "state asks for; then look whether its threads run. Only with PID",
	       option_true, IN(resume)),
	OPTION(0, "end-tracer", "TRACER",
	       "with --resume: end the tracer that holds it, too (SIGTERM, SIGKILL after 2 s), by "
	       "the pid that the look before told; several with commas. Where the tracer asked for "
	       "that, the process dies with it. Refused: another tracer by now, one that has other "
	       "children, the main process of a unit or container",
	       take_tracers, IN(tracers)),
	OPTION_FORMAT("text (default), or json", struct arguments, json),
	OPTION('o', "output", "RESULT", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
	OPTION_COLOR(struct arguments, color),
	OPTION_VERBOSE,
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

/* Each is looked at once. */
static int add_pid(struct arguments *a, const char *value)
{
	size_t cnt = a->tgid_cnt;
	int rc = options_add_process("recover", value, a->tgids, &a->tgid_cnt, PIDS_MAX);

	for (size_t i = 0; !rc && i < cnt; i++) {
		if (a->tgids[i] == a->tgids[cnt]) {
			a->tgid_cnt = cnt;
			break;
		}
	}
	return rc;
}

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&recover_command, argc, argv, a);

	for (; !rc && optind < argc; optind++)
		rc = add_pid(a, argv[optind]);
	if (rc)
		return rc;
	if (a->resume && !a->tgid_cnt) {
		log_error("--resume: name the processes that it is meant for");
		return command_usage("recover");
	}
	if (a->tracers.cnt && !a->resume) {
		log_error("--end-tracer: only with --resume");
		return command_usage("recover");
	}
	return EXIT_OK;
}

/* --- looking, acting, telling ----------------------------------------------------------------- */

static int tell(const struct arguments *a, const struct recover_look *l)
{
	struct recover_report report = {.hotrun_version = HOTRUN_VERSION,
					.time = time(NULL),
					.rows = (const struct recover_row *const *)l->rows,
					.rows_cnt = l->cnt,
					.looked_at = l->looked_at,
					.unreadable = l->unreadable,
					.hung = l->hung,
					.cut = l->cut,
					.freeze_unseen = l->freeze_unseen,
					.resume = a->resume,
					.interrupted = stop_requested};
	bool color = a->color == COLOR_ALWAYS ||
		     (a->color == COLOR_AUTO && isatty(STDOUT_FILENO) && !a->output);
	struct result *result = result_open(a->output);
	struct recover_counts counts;
	struct host host;
	int err, rc;

	if (!result)
		return EXIT_FAILED;
	host_describe(&host);
	report.host_name = host.name;
	err = a->json ? recover_json_write(result_file(result), &report)
		      : recover_text_write(result_file(result), &report, color);
	rc = result_close(result, err);
	recover_count(&report, &counts);
	return rc ? rc : counts.stand || counts.failed ? EXIT_FAILED : EXIT_OK;
}

static int complain(uint32_t tgid, int err)
{
	log_error("%u: %s", tgid,
		  err == -ESRCH	   ? "no such process"
		  : err == -EACCES ? "no permission to look; run as root"
				   : strerror(-err));
	return EXIT_FAILED;
}

/* Those that were asked for. Whoever is refused is not among the rows. */
static int look_at_given(const struct arguments *a, struct recover_look *l)
{
	int code = EXIT_OK;

	for (size_t i = 0; i < a->tgid_cnt && !stop_requested; i++) {
		int err = recover_look_one(l, a->tgids[i]);
		const char *refusal;

		if (err) {
			code = complain(a->tgids[i], err);
			continue;
		}
		refusal = recover_refusal(&l->rows[l->cnt - 1]->found, (uint32_t)getpid());
		if (!refusal)
			continue;
		log_error("%u: refused: %s", a->tgids[i], refusal);
		free(l->rows[--l->cnt]);
		l->looked_at--;
		code = EXIT_FAILED;
	}
	return code;
}

static int look(const struct arguments *a, struct recover_look *l)
{
	const struct recover_wish wish = {a->tracers.tgids, a->tracers.cnt};
	int err, code = EXIT_OK;

	if (a->tgid_cnt) {
		code = look_at_given(a, l);
	} else {
		err = recover_look_all(l);
		if (err) {
			log_error("%s", err == -EINTR ? "interrupted" : strerror(-err));
			return EXIT_FAILED;
		}
	}
	recover_look_again(l);
	for (size_t i = 0; a->resume && i < l->cnt && !stop_requested; i++)
		recover_perform(l, l->rows[i], &wish);
	/* With nobody left to tell of there is no report. */
	return a->tgid_cnt && !l->cnt ? code : tell(a, l) ?: code;
}

static int run(int argc, char **argv)
{
	struct arguments a = {0};
	struct file_requests requests;
	struct recover_look l;
	int rc = parse(argc, argv, &a), err;

	if (rc)
		return rc;
	if (access("/proc/self/stat", R_OK)) {
		log_error("/proc is not mounted: processes cannot be looked at");
		return EXIT_FAILED;
	}
	err = file_requests_init(&requests, NULL, "/proc", DEADLINE_NS);
	if (err) {
		log_error("no helper process: %s", strerror(-err));
		return EXIT_FAILED;
	}
	requests.stop = &stop_requested;
	recover_look_init(&l, &requests);
	rc = look(&a, &l);
	recover_look_clear(&l);
	file_requests_clear(&requests);
	return rc;
}

const struct command recover_command = {
	.name = "recover",
	.job = "find what other tools left standing, and with --resume let it go on",
	.usage = "[OPTION]... [PID]...\n"
		 "--resume [--end-tracer=TRACER] [OPTION]... PID...",
	.about =
		"Looks for processes that others left: stopped (SIGSTOP), held by a tracer or "
		"debugger\n"
		"that stands itself or does not let go, in a frozen cgroup or a paused container; "
		"a .NET\n"
		"runtime that waits at its start for a diagnostic port; dumps being written; and "
		"what\n"
		"was left on: perf maps, event sessions, CLR profilers. Tells what stands and "
		"why, and\n"
		"what to do about it in which order. By default nothing is touched.\n\n"
		"--resume is the one thing of hotrun that acts on a process against the state "
		"that it is\n"
		"in: it does the one safe thing for that state, logs each act, and checks that "
		"the\n"
		"threads ran afterwards. A tracer is ended only with --end-tracer and its pid: one "
		"that\n"
		"set PTRACE_O_EXITKILL takes the process with it, and a debugger that started the "
		"process\n"
		"may end it; neither can be seen from outside. Any process can make its parent "
		"its tracer\n"
		"without the parent's knowledge: look who it is before it is named.\n"
		"Nothing else of hotrun does any of this, and none does it by itself. pid 1, "
		"hotrun\n"
		"itself and kernel threads are refused.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun recover                     what stands on this host, and why\n"
		    "  hotrun recover 4711                this process alone, with the steps\n"
		    "  hotrun recover 4711 --resume\n"
		    "  hotrun recover 4711 --resume --end-tracer=4242\n",
	.notes = "Exit code: 0 nothing stands (what was left on is told all the same), or it runs\n"
		 "again; 1 something stands, an act failed, or a process was refused; 2 usage.\n",
	.run = run,
};
