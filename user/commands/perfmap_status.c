/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/perfmap_status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "collect/collector.h"
#include "commands/command.h"
#include "commands/terminal.h"
#include "kernel/host.h"
#include "model/jit_share.h"
#include "process/dotnet_ask.h"
#include "output/perfmap_table.h"

/* Long enough for a service with a few requests a second, at twice the usual rate. */
#define SAMPLE_NS 1000000000ull
#define SAMPLE_HZ 199
#define DRAIN_NS  200000000ull
/* Fewer frames say nothing: 20 tell 95 % from 100 % at best. */
#define FRAMES_MIN 20
/* For the version of a runtime whose file does not tell it, and for those of all: whoever wants to
 * make us wait starts hundreds that accept and say nothing. */
#define VERSION_NS  500000000ull
#define VERSIONS_NS 2000000000ull

struct status {
	const struct perfmap_status_options *options;
	struct dotnet_list list;
	struct perfmap_row *rows; /* of list.rows, owned */
	char why[512];		  /* why there are no shares at all, "" there are */
	int failed;		  /* EXIT_FAILED where a process that was asked for is none */
};

/* --- who -------------------------------------------------------------------------------------- */

static void tell_missing(struct status *s, uint32_t tgid, int err)
{
	s->failed = EXIT_FAILED;
	if (err == -ESRCH)
		log_error("%u: no such process", tgid);
	else if (err == -ENOENT)
		log_error("%u: not a .NET process", tgid);
	else if (err == -EACCES || err == -EPERM)
		log_error("%u: no permission to look at it; be its user or root", tgid);
	else if (err == -ETIMEDOUT)
		log_error("%u: it did not answer in time", tgid);
	else
		log_error("%u: %s", tgid, strerror(-err));
}

static int add_one(struct status *s, struct file_requests *requests, uint32_t tgid)
{
	struct dotnet_list one = {0};
	int err = dotnet_read(requests, tgid, &one);

	if (err) {
		tell_missing(s, tgid, err);
		return 0;
	}
	err = GROW(s->list.rows, s->list.cnt, s->list.cap);
	if (!err)
		s->list.rows[s->list.cnt++] = one.rows[0];
	dotnet_clear(&one);
	return err;
}

static void ask_versions(struct status *s, struct file_requests *requests)
{
	uint64_t end_ns = clock_now_ns() + VERSIONS_NS;

	for (size_t i = 0; i < s->list.cnt && clock_now_ns() < end_ns && !stop_requested; i++)
		dotnet_ask_version(requests, VERSION_NS, &s->list.rows[i]);
}

static int find_processes(struct status *s, struct file_requests *requests)
{
	int err = 0;

	if (!s->options->tgid_cnt)
		err = dotnet_read(requests, 0, &s->list);
	for (size_t i = 0; i < s->options->tgid_cnt && !err; i++)
		err = add_one(s, requests, s->options->tgids[i]);
	if (!err)
		ask_versions(s, requests);
	return err;
}

/* --- what can be done ------------------------------------------------------------------------- */

static const char on_advice[] =
	"`hotrun perfmap disable PID` ends a map that was switched on; it grows until then";
static const char off_advice[] =
	"`hotrun perfmap enable PID` asks a runtime for a map, without a restart";
static const char restart_advice[] = "without a diagnostics socket only a restart with "
				     "DOTNET_PerfMapEnabled=3 gives a map";
static const char deleted_advice[] = "a deleted map is of no use to anybody: `hotrun perfmap "
				     "enable PID` begins a new one";

static const char path_advice[] =
	"unwritable, unsafe: `hotrun perfmap status -v` says where the map "
	"would be, and what is in the way";

static const char *advice_for(const struct dotnet_process *p)
{
	switch (p->map) {
	case DOTNET_MAP_SWITCHED_ON:
		return on_advice;
	case DOTNET_MAP_DELETED:
		return deleted_advice;
	case DOTNET_MAP_ABSENT:
	case DOTNET_MAP_STALE:
	case DOTNET_MAP_SWITCHED_OFF:
		if (p->native_aot)
			return NULL;
		return p->socket == DOTNET_SOCKET_THERE ? off_advice : restart_advice;
	case DOTNET_MAP_UNWRITABLE:
	case DOTNET_MAP_UNSAFE:
		return path_advice;
	default:
		return NULL;
	}
}

/* --- shares ----------------------------------------------------------------------------------- */

/* Samples for a moment. The model is the collector's, whole after it. */
static void watch(struct collector *c)
{
	uint64_t end_ns = collector_start_ns(c) + SAMPLE_NS;

	while (clock_now_ns() < end_ns && !stop_requested) {
		nanosleep(&(struct timespec){.tv_nsec = DRAIN_NS}, NULL);
		collector_drain(c);
	}
	collector_stop(c);
	collector_end_slice(c);
}

static void take_shares(struct status *s, struct model *m)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	_cleanup_free_ struct jit_share *shares = jit_share_new(m);

	for (size_t i = 0; i < s->list.cnt; i++) {
		const struct dotnet_process *p = &s->list.rows[i].process;
		struct perfmap_row *row = &s->rows[i];

		for (size_t k = 0; shares && k < m->processes_cnt; k++) {
			if (m->processes[k].tgid != p->tgid ||
			    m->processes[k].start_ns / tick_ns != p->start_ticks)
				continue;
			row->jit_frames += shares[k].frames;
			row->jit_named += shares[k].named;
			row->jit_memory += shares[k].memory;
		}
		row->share_why = !row->jit_frames ? "no JIT code of it was seen on a CPU"
				 : row->jit_frames < FRAMES_MIN
					 ? "too little JIT code of it was seen on a CPU (less than "
					   "20 frames)"
					 : NULL;
	}
}

static void sample(struct status *s)
{
	_cleanup_free_ uint32_t *tgids = calloc(s->list.cnt + 1, sizeof(*tgids));
	struct collector_options options = {
		.sample_hz = SAMPLE_HZ,
		.tgids = tgids,
		/* More than the kernel side can tell apart: all processes are sampled. */
		.tgid_cnt = s->list.cnt <= FILTER_TGIDS_MAX ? s->list.cnt : 0,
		.command = "",
		.samples = true,
		.ignore_hazards = s->options->ignore_hazards,
	};
	struct collector *c = NULL;
	char why[512] = "out of memory";
	int err = tgids ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->list.cnt && tgids; i++)
		tgids[i] = s->list.rows[i].process.tgid;
	if (!err)
		err = collector_new(&options, why, sizeof(why), &c);
	if (!err)
		err = collector_start(c, why, sizeof(why));
	if (err) {
		snprintf(s->why, sizeof(s->why), "%s", why);
	} else {
		watch(c);
		take_shares(s, collector_model(c));
	}
	collector_free(c);
}

/* ---------------------------------------------------------------------------------------------- */

static int arrange(struct status *s)
{
	s->rows = calloc(s->list.cnt + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (size_t i = 0; i < s->list.cnt; i++)
		s->rows[i] = (struct perfmap_row){
			.process = &s->list.rows[i].process,
			.advice = advice_for(&s->list.rows[i].process),
			.share_why = "not sampled",
		};
	if (!s->options->sample || !s->list.cnt)
		return 0;
	sample(s);
	for (size_t i = 0; i < s->list.cnt && s->why[0]; i++)
		s->rows[i].share_why = s->why;
	return 0;
}

static int write_out(const struct status *s)
{
	struct perfmap_table table = {
		.rows = s->rows,
		.rows_cnt = s->list.cnt,
		.unreadable = s->list.unreadable,
		.hung = s->list.hung,
		.cut = s->list.cut,
		.sampled = s->options->sample && !s->why[0],
		.seconds = (double)SAMPLE_NS / 1e9,
		.details = s->options->details,
		.columns = terminal_columns(PERFMAP_TABLE_MIN) ?: PERFMAP_TABLE_COLUMNS,
	};
	int err;

	/* Whoever was asked for by name was told of already. */
	if (s->options->tgid_cnt && !s->list.cnt && !s->options->json)
		return EXIT_OK;
	err = s->options->json ? perfmap_table_json(stdout, &table)
			       : perfmap_table_write(stdout, &table);

	if (!err || errno == EPIPE)
		return EXIT_OK;
	log_error("output: %s", strerror(errno));
	return EXIT_FAILED;
}

int perfmap_status(const struct perfmap_status_options *options)
{
	struct status s = {.options = options};
	struct file_requests requests;
	int err = file_requests_init(&requests, NULL, "/proc", PERFMAP_LOOK_NS), code = EXIT_FAILED;

	requests.stop = &stop_requested;
	if (!err)
		err = find_processes(&s, &requests);
	/* Its helpers would hold what the kernel session opens. */
	file_requests_clear(&requests);
	if (!err)
		err = arrange(&s);
	if (err) {
		log_error("%s", strerror(-err));
	} else {
		if (s.why[0])
			log_warn("named: n/a, this host cannot be sampled: %s (--no-sample does "
				 "without)",
				 s.why);
		code = write_out(&s) ?: s.failed;
	}
	free(s.rows);
	dotnet_clear(&s.list);
	return code;
}
