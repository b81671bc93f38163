/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hotrun doctor: looks, judges, tells. */
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
#include "commands/option_value.h"
#include "kernel/probe.h"
#include "names/dotnet.h"
#include "output/doctor.h"

/* For one answer of a process; of those that hang the fetcher takes sixteen before it refuses. */
#define DEADLINE_NS 100000000u

static const char help_text[] =
	"usage: hotrun doctor [OPTION]...\n\n"
	"Says whether this host and each .NET process on it can be observed: kernel, rights,\n"
	"perf settings, limits, and for each process its runtime and perf map. Programs are\n"
	"really loaded and ticks really counted, for a moment; no process is touched. Works\n"
	"without root, and then tells what is missing.\n\n"
	"  -p, --pid PID           this .NET process only\n"
	"      --format FORMAT     text (default), or json: attach it to a report of trouble\n"
	"                          (no arguments or environment of processes are in it)\n"
	"  -o, --output RESULT     where to write (default: stdout)\n"
	"      --color WHEN        auto (default), always, never\n"
	"  -v, --verbose           what each check is for, and the kernel's own words\n"
	"  -h, --help              this text\n\n"
	"  hotrun doctor\n"
	"  hotrun doctor -p 4711\n"
	"  hotrun doctor --format json -o doctor.json\n\n"
	"Exit code: 0 all is ok or a warning; 1 something fails (\"fail\": nothing can be\n"
	"recorded, or most of it would have no names); 2 usage.\n";

struct arguments {
	struct doctor_text_options text;
	const char *output;
	uint32_t tgid; /* 0 = all */
	bool json;
};

static int parse_pid(const char *value, uint32_t *ret_tgid)
{
	uint64_t pid;

	if (text_parse_u64(value, 1, 4194304, &pid))
		return option_bad_value("doctor", "-p", value, "not a process id");
	*ret_tgid = host_process_of((uint32_t)pid);
	if (*ret_tgid)
		return EXIT_OK;
	log_error("%s: no such process", value);
	return EXIT_FAILED;
}

static int parse_option(int c, struct arguments *a)
{
	switch (c) {
	case 'p':
		return parse_pid(optarg, &a->tgid);
	case 'f':
		a->json = !strcmp(optarg, "json");
		if (!a->json && strcmp(optarg, "text"))
			return option_bad_value("doctor", "--format", optarg, "not text or json");
		return EXIT_OK;
	case 'o':
		a->output = optarg;
		return EXIT_OK;
	case 'c':
		a->text.color = !strcmp(optarg, "always") ||
				(!strcmp(optarg, "auto") && isatty(STDOUT_FILENO));
		if (strcmp(optarg, "auto") && strcmp(optarg, "always") && strcmp(optarg, "never"))
			return option_bad_value("doctor", "--color", optarg,
						"not auto, always or never");
		return EXIT_OK;
	case 'v':
		a->text.verbose = true;
		log_max_level = LOG_LEVEL_DEBUG;
		return EXIT_OK;
	case 'h':
		fputs(help_text, stdout);
		exit(EXIT_OK);
	default:
		return command_usage("doctor");
	}
}

static int parse(int argc, char **argv, struct arguments *a)
{
	static const struct option longs[] = {{"pid", required_argument, NULL, 'p'},
					      {"format", required_argument, NULL, 'f'},
					      {"output", required_argument, NULL, 'o'},
					      {"color", required_argument, NULL, 'c'},
					      {"verbose", no_argument, NULL, 'v'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	bool colored = false;
	int c, rc;

	while ((c = getopt_long(argc, argv, "p:o:vh", longs, NULL)) != -1) {
		rc = parse_option(c, a);
		if (rc)
			return rc;
		colored |= c == 'c';
	}
	if (optind < argc) {
		log_error("%s: doctor takes no file", argv[optind]);
		return command_usage("doctor");
	}
	if (!colored)
		a->text.color = isatty(STDOUT_FILENO) && !a->output;
	return EXIT_OK;
}

static enum doctor_map map_of(enum dotnet_map map)
{
	switch (map) {
	case DOTNET_MAP_SINCE_START:
	case DOTNET_MAP_SWITCHED_ON:
		return DOCTOR_MAP_ON;
	case DOTNET_MAP_SWITCHED_OFF:
		return DOCTOR_MAP_OFF;
	case DOTNET_MAP_DELETED:
		return DOCTOR_MAP_DELETED;
	case DOTNET_MAP_ABSENT:
		return DOCTOR_MAP_ABSENT;
	case DOTNET_MAP_STALE:
		return DOCTOR_MAP_STALE;
	case DOTNET_MAP_UNWRITABLE:
		return DOCTOR_MAP_UNWRITABLE;
	case DOTNET_MAP_UNSAFE:
		return DOCTOR_MAP_UNSAFE;
	case DOTNET_MAP_DENIED:
		return DOCTOR_MAP_DENIED;
	case DOTNET_MAP_UNKNOWN:
		break;
	}
	return DOCTOR_MAP_UNKNOWN;
}

static enum doctor_socket socket_of(enum dotnet_socket socket)
{
	switch (socket) {
	case DOTNET_SOCKET_THERE:
		return DOCTOR_SOCKET_THERE;
	case DOTNET_SOCKET_ABSENT:
		return DOCTOR_SOCKET_ABSENT;
	case DOTNET_SOCKET_STALE:
	case DOTNET_SOCKET_UNSAFE:
		return DOCTOR_SOCKET_UNSAFE;
	case DOTNET_SOCKET_DENIED:
		return DOCTOR_SOCKET_DENIED;
	case DOTNET_SOCKET_UNKNOWN:
		break;
	}
	return DOCTOR_SOCKET_UNKNOWN;
}

/* Borrows from the row. */
static struct doctor_process process_of(const struct dotnet_process *row)
{
	return (struct doctor_process){
		.tgid = row->tgid,
		.name = row->name,
		.unit = row->unit,
		.container = row->container,
		.version = row->version,
		.profiler = row->profiler,
		.found_id = dotnet_found_id(row->found),
		.map_text = dotnet_map_text(row->map),
		.map_id = dotnet_map_id(row->map),
		.socket_text = dotnet_socket_text(row->socket),
		.socket_id = dotnet_socket_id(row->socket),
		.map_path = row->map_path,
		.refusal = row->map_refusal ? dotnet_refusal_text(row->map_refusal) : "",
		.map = map_of(row->map),
		.socket = socket_of(row->socket),
		.diagnostics_off = row->diagnostics_off,
		.map_entries = row->map_entries,
		.map_bytes = row->map_bytes,
		.map_cut = row->map_cut,
		.single_file = row->single_file,
		.native_aot = row->native_aot,
		.is_32bit = row->is_32bit,
		.musl = row->musl,
	};
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

static int examine(const struct arguments *a, struct asker *asker)
{
	_cleanup_free_ struct doctor_process *processes = NULL;
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
	probe_session(&host, &facts);
	report.no_list = why_no_list(dotnet_read(asker, a->tgid, &list), a->tgid);
	processes = calloc(list.cnt + 1, sizeof(*processes));
	if (!processes) {
		dotnet_clear(&list);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < list.cnt; i++)
		processes[i] = process_of(&list.rows[i]);
	report.processes = processes;
	report.processes_cnt = list.cnt;
	report.unreadable = list.unreadable;
	report.hung = list.hung;
	rc = tell(a, &report);
	dotnet_clear(&list);
	return rc;
}

int command_doctor(int argc, char **argv)
{
	struct arguments a = {0};
	struct asker asker;
	int rc = parse(argc, argv, &a), err;

	if (rc)
		return rc;
	/* Forks: before there are BPF objects (names/fetch.h). */
	err = asker_init(&asker, NULL, "/proc", DEADLINE_NS);
	if (err) {
		log_error("no helper process: %s", strerror(-err));
		return EXIT_FAILED;
	}
	asker.stop = &stop_requested;
	rc = examine(&a, &asker);
	asker_clear(&asker);
	return rc;
}
