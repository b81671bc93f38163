/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/left_behind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "opener/guard.h"
#include "opener/proc_stat.h"
#include "process/proc.h"

#define STATUS_BYTES 8192
/* The runtime makes this thread when its start is over, before it runs managed code. */
#define FINALIZER ".NET Finalizer"

void left_reader_init(struct left_reader *r, struct file_requests *requests)
{
	*r = (struct left_reader){.requests = requests};
	freezer_find(requests->proc_path, requests->stop, &r->freezer);
}

void left_reader_clear(struct left_reader *r)
{
	free(r->files);
	freezer_clear(&r->freezer);
	*r = (struct left_reader){0};
}

/* --- threads ---------------------------------------------------------------------------------- */

/* The number behind a name that begins a line. False: there is none. */
static bool find_number(const char *text, const char *name, uint64_t *ret_value)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), "%" SCNu64, ret_value) == 1;
}

int left_status_parse(const char *text, struct left_status *ret_status)
{
	struct left_status status = {0};
	const char *state = strstr(text, "\nState:");
	uint64_t value = 0, other = 0;

	if (sscanf(text, "Name:%*1[\t]%63[^\n]", status.name) < 0 || !state ||
	    sscanf(state, " State: %c", &status.state) != 1)
		return -EBADMSG;
	if (find_number(text, "\nTgid:", &value) && value <= UINT32_MAX)
		status.tgid = (uint32_t)value;
	if (find_number(text, "\nTracerPid:", &value) && value <= UINT32_MAX)
		status.tracer = (uint32_t)value;
	value = 0;
	status.core_dumping = find_number(text, "\nCoreDumping:", &value) && value;
	value = 0;
	find_number(text, "\nvoluntary_ctxt_switches:", &value);
	find_number(text, "\nnonvoluntary_ctxt_switches:", &other);
	status.switches = value + other;
	*ret_status = status;
	return 0;
}

/* Another process: what it is called and what it does. */
static void look_at_other(const char *proc_path, uint32_t tgid, struct left_other *ret_other)
{
	_cleanup_close_ int fd = tgid ? guard_process(proc_path, tgid) : -1;
	struct proc_stat stat;

	*ret_other = (struct left_other){.tgid = tgid};
	if (fd < 0 || proc_stat_read(fd, &stat))
		return;
	ret_other->start_ticks = stat.start_ticks;
	ret_other->state = stat.state;
	snprintf(ret_other->comm, sizeof(ret_other->comm), "%s", stat.comm);
}

/* The process of a thread that traces: TracerPid is any thread of it. */
static void look_at_tracer(const char *proc_path, uint32_t tid, struct left_other *ret_other)
{
	_cleanup_close_ int fd = tid ? guard_process(proc_path, tid) : -1;
	char text[STATUS_BYTES], state;
	struct left_status status;

	look_at_other(proc_path, tid, ret_other);
	if (fd < 0 || guard_read(fd, "status", text, sizeof(text)) <= 0 ||
	    left_status_parse(text, &status) || !status.tgid || status.tgid == tid)
		return;
	/* What it does is told by the thread, who it is by its process. */
	state = ret_other->state;
	look_at_other(proc_path, status.tgid, ret_other);
	ret_other->state = state;
}

/* The row for the process of a thread that traces; NULL where there is no room. */
static struct left_tracer *tracer_of(const char *proc_path, uint32_t tid, bool holds,
				     struct left_process *left)
{
	struct left_tracer *rows = left->tracers;
	struct left_other who;

	for (uint32_t i = 0; i < left->tracers_cnt; i++)
		if (rows[i].tid == tid)
			return &rows[i];
	look_at_tracer(proc_path, tid, &who);
	for (uint32_t i = 0; i < left->tracers_cnt; i++)
		if (rows[i].who.tgid == who.tgid)
			return &rows[i];
	if (left->tracers_cnt < LEFT_TRACERS_MAX) {
		rows[left->tracers_cnt] = (struct left_tracer){who, tid, 0};
		return &rows[left->tracers_cnt++];
	}
	left->tracers_cut = true;
	for (uint32_t i = LEFT_TRACERS_MAX; holds && i-- > 0;) {
		if (rows[i].held_cnt)
			continue;
		rows[i] = (struct left_tracer){who, tid, 0};
		return &rows[i];
	}
	return NULL;
}

static void put_holders_first(struct left_process *left)
{
	uint32_t holders = 0;

	for (uint32_t i = 0; i < left->tracers_cnt; i++) {
		const struct left_tracer row = left->tracers[i];

		if (!row.held_cnt)
			continue;
		memmove(&left->tracers[holders + 1], &left->tracers[holders],
			(i - holders) * sizeof(row));
		left->tracers[holders++] = row;
	}
}

static void add_thread(const char *proc_path, const struct left_status *status,
		       struct left_process *left)
{
	bool stopped = status->state == 'T', trace_stop = status->state == 't';
	struct left_tracer *tracer;

	left->threads_cnt++;
	left->switches += status->switches;
	left->wants_cpu |= status->state == 'R';
	left->core_dumping |= status->core_dumping;
	left->dotnet.has_finalizer |= !strcmp(status->name, FINALIZER);
	left->stopped_cnt += stopped;
	left->trace_stop_cnt += trace_stop;
	if (stopped || trace_stop)
		left->stopped_switches += status->switches;
	/* A tracer of another pid namespace has the number 0. */
	if (!status->tracer && !trace_stop)
		return;
	left->traced_cnt++;
	tracer = tracer_of(proc_path, status->tracer, trace_stop, left);
	if (tracer)
		tracer->held_cnt += trace_stop;
}

/* 0, or -ESRCH where none is left. */
static int look_at_threads(const char *proc_path, int process_fd, struct left_process *left)
{
	int fd = openat(process_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char text[STATUS_BYTES], name[64];
	int err = 0;

	if (!dir) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err == -ENOENT ? -ESRCH : err;
	}
	while ((entry = readdir(dir))) {
		struct left_status status;

		if (*entry->d_name < '0' || *entry->d_name > '9')
			continue;
		if (left->threads_cnt >= LEFT_THREADS_MAX) {
			left->threads_cut = true;
			break;
		}
		snprintf(name, sizeof(name), "%.32s/status", entry->d_name);
		/* Those that end meanwhile stand no more. */
		if (guard_read(dirfd(dir), name, text, sizeof(text)) > 0 &&
		    !left_status_parse(text, &status) && status.state != 'Z' && status.state != 'X')
			add_thread(proc_path, &status, left);
	}
	closedir(dir);
	put_holders_first(left);
	return left->threads_cnt ? 0 : -ESRCH;
}

/* --- the process ------------------------------------------------------------------------------ */

static uint64_t age_of(uint64_t start_ticks)
{
	uint64_t start_ns = start_ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);

	return now_ns > start_ns ? now_ns - start_ns : 0;
}

int left_behind_read(const struct left_reader *r, uint32_t tgid, struct left_process *ret_left)
{
	const char *proc_path = r->requests->proc_path;
	_cleanup_close_ int process_fd = guard_process(proc_path, tgid);
	struct left_process *left = ret_left;
	struct proc_stat stat;
	int err;

	if (process_fd < 0)
		return process_fd == -ENOENT ? -ESRCH : process_fd;
	err = proc_stat_read(process_fd, &stat);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	*left = (struct left_process){
		.tgid = tgid,
		.start_ticks = stat.start_ticks,
		.age_ns = age_of(stat.start_ticks),
		.state = stat.state,
		.kernel = stat.kernel,
		.session = stat.session,
		.has_terminal = stat.has_terminal,
		.dotnet = {.map = DOTNET_MAP_UNKNOWN, .socket = DOTNET_SOCKET_UNKNOWN},
	};
	snprintf(left->comm, sizeof(left->comm), "%s", stat.comm);
	snprintf(left->name, sizeof(left->name), "%s", stat.comm);
	if (stat.kernel)
		return 0;
	err = look_at_threads(proc_path, process_fd, left);
	if (err)
		return err;
	look_at_other(proc_path, stat.parent_tgid, &left->parent);
	freezer_look(&r->freezer, process_fd, &left->freeze);
	return 0;
}

int left_behind_read_again(const struct left_reader *r, struct left_process *left)
{
	_cleanup_free_ struct left_process *now = malloc(sizeof(*now));
	int err = now ? left_behind_read(r, left->tgid, now) : -ENOMEM;

	if (err)
		return err;
	if (now->start_ticks != left->start_ticks)
		return -ESRCH;
	/* Where there were none before, they may have stopped just now: that is told; but not of
	 * who is traced, and stops for each of its system calls. */
	if (left->stopped_cnt + left->trace_stop_cnt)
		now->moves = now->stopped_switches != left->stopped_switches ||
			     now->stopped_cnt + now->trace_stop_cnt !=
				     left->stopped_cnt + left->trace_stop_cnt;
	else
		now->moves = now->trace_stop_cnt > 0;
	memcpy(now->name, left->name, sizeof(now->name));
	memcpy(now->unit, left->unit, sizeof(now->unit));
	memcpy(now->container, left->container, sizeof(now->container));
	left->dotnet.has_finalizer = now->dotnet.has_finalizer;
	now->dotnet = left->dotnet;
	*left = *now;
	return 0;
}

void left_behind_add_name(struct left_reader *r, struct left_process *left)
{
	struct target_process target =
		file_requests_target_of(r->requests, left->tgid, left->start_ticks);
	struct proc_job *job = proc_job_new(&target, false);
	struct loader_job *mine = NULL;
	const char *name;

	if (!job)
		return;
	file_requests_slice(r->requests);
	if (!file_requests_run(r->requests, left->tgid, &job->base, &mine) && !job->error) {
		name = *job->facts.entry ? job->facts.entry : entry_basename(job->facts.exe);
		if (*name)
			snprintf(left->name, sizeof(left->name), "%s", name);
		snprintf(left->unit, sizeof(left->unit), "%s", job->facts.cgroup.unit);
		snprintf(left->container, sizeof(left->container), "%s",
			 job->facts.cgroup.container.text);
	}
	if (mine)
		mine->release(mine);
}
