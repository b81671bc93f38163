/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun doctor: looks, judges, tells. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/kernel_hazards.h"
#include "base/log.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/command.h"
#include "commands/options.h"
#include "kernel/probe.h"
#include "process/dotnet.h"
#include "output/doctor.h"

/* For one answer of a process; of those that hang the opener takes sixteen before it refuses. */
#define DEADLINE_NS 100000000u

struct arguments {
	struct doctor_text_options text;
	const char *output;
	uint32_t tgid;	    /* 0 = all */
	unsigned int color; /* enum option_color */
	bool json;
};

#define IN(field) OPTION_IN(struct arguments, field)

static const struct command_option rows[] = {
	OPTION('p', "pid", "PID", "this .NET process only", option_process, IN(tgid)),
	OPTION_FORMAT("text (default), or json: attach it to a report of trouble (no arguments or "
		      "environment of processes are in it)",
		      struct arguments, json),
	OPTION('o', "output", "RESULT", "where to write (default: stdout)", option_text,
	       .complete = COMPLETE_FILE, IN(output)),
	OPTION_COLOR(struct arguments, color),
	OPTION('v', "verbose", NULL, "what each check is for, and the kernel's own words",
	       option_verbose, IN(text.verbose)),
};

static const struct option_group groups[] = {{OPTION_ROWS(rows)}};

static int parse(int argc, char **argv, struct arguments *a)
{
	int rc = options_parse(&doctor_command, argc, argv, a);

	if (!rc && optind < argc) {
		log_error("%s: doctor takes no file", argv[optind]);
		return command_usage("doctor");
	}
	a->text.color = a->color == COLOR_ALWAYS ||
			(a->color == COLOR_AUTO && isatty(STDOUT_FILENO) && !a->output);
	return rc;
}

/* Why there is no list, NULL = there is. tgid 0 = of all. */
static const char *why_no_list(int err, uint32_t tgid)
{
	if (!err)
		return NULL;
	if (!tgid)
		return strerror(-err);
	switch (err) {
	case -ENOENT:
		return "this process is none: it needs no perf map";
	case -ESRCH:
		return "this process has ended";
	case -EACCES:
	case -EPERM:
		return "no permission to look; run as root";
	case -ETIMEDOUT:
		return "this process does not answer";
	default:
		return strerror(-err);
	}
}

static int tell(const struct arguments *a, const struct doctor_report *report)
{
	struct result *result = result_open(a->output);
	size_t counts[DOCTOR_LEVELS];
	int err, rc;

	if (!result)
		return EXIT_FAILED;
	err = a->json ? doctor_json_write(result_file(result), report)
		      : doctor_text_write(result_file(result), report, &a->text);
	rc = result_close(result, err);
	doctor_count(report, counts);
	return rc ? rc : counts[DOCTOR_FAIL] ? EXIT_FAILED : EXIT_OK;
}

/* The probe samples for a moment, so it is refused where a recording is. */
static bool hazards_refuse(const struct host *host)
{
	struct hazard_match found[KERNEL_HAZARDS_MAX];
	size_t cnt = kernel_hazards_match(host->release, host->version, host->machine, HAZARD_ALL,
					  found);

	while (cnt && !hazard_match_refuses(&found[cnt - 1]))
		cnt--;
	return cnt;
}

static int examine(const struct arguments *a, struct file_requests *requests)
{
	_cleanup_free_ const struct dotnet_process **processes = NULL;
	struct dotnet_list list = {0};
	struct host_facts facts;
	struct host host;
	struct doctor_report report = {.hotrun_version = HOTRUN_VERSION,
				       .host_name = host.name,
				       .time = time(NULL),
				       .facts = &facts};
	int rc;

	host_describe(&host);
	probe_host(&host, &facts);
	if (hazards_refuse(&host))
		snprintf(facts.session_why, sizeof(facts.session_why),
			 "the probe could lock up this kernel");
	else
		probe_session(&host, &facts);
	report.no_list = why_no_list(dotnet_read(requests, a->tgid, &list), a->tgid);
	processes = calloc(list.cnt + 1, sizeof(*processes));
	if (!processes) {
		dotnet_clear(&list);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < list.cnt; i++)
		processes[i] = &list.rows[i].process;
	report.processes = processes;
	report.processes_cnt = list.cnt;
	report.unreadable = list.unreadable;
	report.hung = list.hung;
	rc = tell(a, &report);
	dotnet_clear(&list);
	return rc;
}

static int run(int argc, char **argv)
{
	struct arguments a = {0};
	struct file_requests requests;
	int rc = parse(argc, argv, &a), err;

	if (rc)
		return rc;
	/* Forks: before there are BPF objects (opener/opener.h). */
	err = file_requests_init(&requests, NULL, "/proc", DEADLINE_NS);
	if (err) {
		log_error("no helper process: %s", strerror(-err));
		return EXIT_FAILED;
	}
	requests.stop = &stop_requested;
	rc = examine(&a, &requests);
	file_requests_clear(&requests);
	return rc;
}

const struct command doctor_command = {
	.name = "doctor",
	.job = "say whether this host and its .NET processes can be observed",
	.usage = "[OPTION]...",
	.about = "Says whether this host and each .NET process on it can be observed: kernel, "
		 "rights,\n"
		 "perf settings, limits, and for each process its runtime and perf map. Programs "
		 "are\n"
		 "really loaded and ticks really counted, for a moment; no process is touched. "
		 "Works\n"
		 "without root, and then tells what is missing.\n",
	.groups = groups,
	.groups_cnt = OPTION_COUNT(groups),
	.examples = "  hotrun doctor\n"
		    "  hotrun doctor -p 4711\n"
		    "  hotrun doctor --format json -o doctor.json\n",
	.notes =
		"Exit code: 0 all is ok or a warning; 1 something fails (\"fail\": nothing can be\n"
		"recorded, or most of it would have no names); 2 usage.\n",
	.run = run,
};
