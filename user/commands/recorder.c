/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "commands/cgroup_select.h"
#include "commands/command.h"
#include "kernel/cgroup_tree.h"
#include "kernel/host.h"
#include "kernel/session.h"
#include "model/ingest.h"
#include "names/names.h"
#include "store/store.h"

/* Records of one instant reach the rings of two CPUs at slightly different moments. */
#define SIDEBAND_LAG_NS 100000ull
/* Reading /proc of everything at start may take this long; the rest is read when sampled. */
#define START_FACTS_NS 1500000000ull
/* Rows kept while a reader holds the file: about 200 MB. */
#define DELAYED_ROWS_MAX 4000000u
#define DELAYED_WAIT_NS	 60000000000ull
/* Ticks to be expected before their absence means anything. */
#define TICKS_EXPECTED_MIN 50

struct recorder {
	struct recorder_options options;
	struct host host;
	struct session *session;
	struct model *model;
	struct ingest *ingest;
	struct names *names;
	struct store *store;
	struct session_ops ops;
	struct sideband_ops sideband_ops;
	struct cgroup_select cgroups;
	bool *online;
	uint64_t *steal_ns;

	uint64_t start_ns;
	uint64_t slice_start_ns;
	uint64_t tailed_ns; /* last look at the perf maps */
	uint64_t samples;
	uint64_t recursion_misses, names_timeouts, cpus_unattached;
	size_t named;		    /* samples of this slice whose stacks were named */
	uint64_t ticks_expected_ns; /* busy time so far, until the first tick was seen */
	bool ticks_seen;
	bool created; /* the capture, in which there is nothing yet */
	bool delayed; /* rows wait for a reader that holds the file */
	bool last;    /* the slice that ends is the last one */

	uint32_t *execs; /* processes that called exec since the last drain */
	size_t execs_cnt, execs_cap;

	/* Stacks named at this pass already: by row, the pass number. */
	uint32_t *stack_pass;
	size_t stack_pass_cnt, stack_pass_cap;
	uint32_t pass;
};

/* --- records of the kernel ------------------------------------------------------------------- */

static void take_sample(void *ctx, const struct event_sample *sample)
{
	struct recorder *r = ctx;

	ingest_sample(r->ingest, sample);
	r->samples++;
}

static void take_stack(void *ctx, const struct event_stack *stack)
{
	ingest_stack(((struct recorder *)ctx)->ingest, stack);
}

static void take_task(void *ctx, const struct event_task *task)
{
	ingest_task(((struct recorder *)ctx)->ingest, task);
}

static void take_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent, uint64_t time_ns)
{
	ingest_fork(((struct recorder *)ctx)->ingest, tgid, tid, parent, time_ns);
}

static void take_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	ingest_exit(((struct recorder *)ctx)->ingest, tgid, tid, time_ns);
}

/* Names come with the accounts, once a slice: only execs count here. A process that renames itself
 * in a loop is not followed. */
static void take_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		      bool exec, uint64_t time_ns)
{
	struct recorder *r = ctx;
	uint32_t row;

	if (!exec)
		return;
	row = ingest_comm(r->ingest, tgid, tid, comm, len, exec, time_ns);
	if (row != MODEL_NONE && !GROW(r->execs, r->execs_cnt, r->execs_cap))
		r->execs[r->execs_cnt++] = row;
}

static void take_mapping(void *ctx, const struct sideband_mapping *map)
{
	struct ingest_mapping mapping = {
		.tgid = map->tgid,
		.time_ns = map->time_ns,
		.start = map->start,
		.end = map->end,
		.file_offset = map->file_offset,
		.dev = map->dev,
		.inode = map->inode,
		.build_id = map->build_id,
		.build_id_len = map->build_id_len,
		.path = map->path,
		.path_len = map->path_len,
	};

	ingest_mapping(((struct recorder *)ctx)->ingest, &mapping);
}

static void take_lost(void *ctx, uint64_t records)
{
	model_loss_add(((struct recorder *)ctx)->model, LOSS_SIDEBAND, records);
}

/* --- naming ---------------------------------------------------------------------------------- */

/* Names a stack unless this pass did it already. */
static void name_stack(struct recorder *r, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(r->model, id) : MODEL_NONE;

	if (row == MODEL_NONE)
		return;
	while (r->stack_pass_cnt <= row) {
		if (GROW(r->stack_pass, r->stack_pass_cnt, r->stack_pass_cap))
			return;
		r->stack_pass[r->stack_pass_cnt++] = 0;
	}
	if (r->stack_pass[row] == r->pass)
		return;
	r->stack_pass[row] = r->pass;
	names_stack(r->names, r->model, row, time_ns);
}

/* Newest sample first: a stack is named once a pass, by what its addresses mean now. */
static void name_samples(struct recorder *r, size_t from)
{
	struct model *m = r->model;

	r->pass++;
	for (size_t i = m->samples_cnt; i-- > from;) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process;

		if (!(m->processes[process].flags &
		      (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL)))
			names_process(r->names, m, process);
		name_stack(r, sample.kernel_stack, sample.time_ns);
		name_stack(r, sample.user_stack, sample.time_ns);
	}
}

/* --- slices ---------------------------------------------------------------------------------- */

static void drain(struct recorder *r, uint64_t until_ns)
{
	uint64_t bad;

	/* The side-band first: a process is to be known before its samples. */
	bad = session_drain_sideband(r->session, &r->sideband_ops, until_ns);
	bad += session_drain(r->session, &r->ops);
	model_loss_add(r->model, LOSS_BAD_RECORD, bad);
	/* Those not sampled yet are read when they are. */
	for (size_t i = 0; i < r->execs_cnt; i++)
		if (r->model->processes[r->execs[i]].flags & PROCESS_SAMPLED)
			names_process_exec(r->names, r->model, r->execs[i]);
	r->execs_cnt = 0;
}

static void read_accounts(struct recorder *r)
{
	int err;

	ingest_pass_begin(r->ingest);
	err = session_read_accounts(r->session, &r->ops);
	if (err)
		model_loss_add(r->model, LOSS_ITERATOR, 1);
	else
		ingest_pass_end(r->ingest, host_now_ns());
}

/* Returns the time of the reading, to which accounts and books of this slice reach. */
static uint64_t read_cpus(struct recorder *r)
{
	host_online_cpus(r->online);
	host_read_steal(r->steal_ns, r->host.cpus_possible);
	for (uint32_t cpu = 0; cpu < r->host.cpus_possible; cpu++) {
		struct cpu_clock clock = {0};
		uint64_t now_ns = 0;

		if (session_read_cpu(r->session, cpu, &clock, &now_ns)) {
			model_loss_add(r->model, LOSS_ITERATOR, 1);
			continue;
		}
		ingest_cpu(r->ingest, cpu, &clock, now_ns, r->steal_ns[cpu], r->online[cpu]);
	}
	return host_now_ns();
}

static void read_losses(struct recorder *r)
{
	uint64_t counts[LOSS_KERNEL_CNT], now;

	session_read_losses(r->session, counts);
	ingest_losses(r->ingest, counts, LOSS_KERNEL_CNT);
	now = session_recursion_misses(r->session);
	model_loss_add(r->model, LOSS_RECURSION, now - r->recursion_misses);
	r->recursion_misses = now;
	now = names_timeouts(r->names);
	model_loss_add(r->model, LOSS_NAMES_TIMEOUT, now - r->names_timeouts);
	r->names_timeouts = now;
	now = session_follow_cpus(r->session, r->online);
	model_loss_add(r->model, LOSS_CPU_UNATTACHED, now);
}

static int begin_slice(struct recorder *r)
{
	struct model_slice slice = {
		.start_ns = r->slice_start_ns,
		.wall_offset_ns = host_wall_offset_ns(),
	};

	return model_slice_add(r->model, &slice);
}

/* A host that runs but delivers no tick: the event is there, its interrupt is not. */
static void check_ticks(struct recorder *r)
{
	for (size_t i = 0; i < r->model->cpus_cnt; i++) {
		const struct model_cpu *cpu = &r->model->cpus[i];

		r->ticks_seen |= cpu->ticks_taken > 0;
		r->ticks_expected_ns += cpu->accounted_ns;
	}
	if (r->ticks_seen ||
	    r->ticks_expected_ns < TICKS_EXPECTED_MIN * 1000000000ull / r->options.sample_hz)
		return;
	r->ticks_seen = true; /* say it once */
	log_warn("sampling: no tick has arrived although the CPUs are busy; hot paths will be "
		 "missing (the sampling event does not fire on this machine)");
}

/* A reader that holds the file delays the slice: it goes with the next one. */
static int write_slice(struct recorder *r)
{
	struct model *m = r->model;
	int err = store_write_slice(r->store, m);

	r->delayed = err == -EBUSY;
	if (r->delayed && m->samples_cnt + m->accounts_cnt < DELAYED_ROWS_MAX) {
		r->named = m->samples_cnt;
		return 0;
	}
	if (r->delayed) {
		log_warn("%s: another program holds the file; what was recorded meanwhile is "
			 "dropped",
			 r->options.path);
		model_forget_slice(m);
		model_loss_add(m, LOSS_MODEL_LIMIT, DELAYED_ROWS_MAX);
		return 0;
	}
	model_forget_slice(m);
	return err;
}

/* At the end there is no next slice: waits for the reader, unless it is asked again to stop. */
static int write_delayed(struct recorder *r)
{
	uint64_t end_ns = host_now_ns() + DELAYED_WAIT_NS;
	int err = 0;

	if (!r->delayed)
		return 0;
	log_warn("%s: another program holds the file; waiting for it up to %llu s (Ctrl-C: no "
		 "longer)",
		 r->options.path, (unsigned long long)(DELAYED_WAIT_NS / 1000000000));
	stop_requested = 0;
	while (!err && r->delayed && !stop_requested && host_now_ns() < end_ns)
		err = write_slice(r);
	return r->delayed ? -EBUSY : err;
}

static int end_slice(struct recorder *r, uint64_t until_ns)
{
	struct model *m = r->model;
	struct model_slice *slice;
	uint64_t end_ns;

	ingest_set_boot_offset(r->ingest, host_boot_offset_ns());
	drain(r, until_ns);
	read_accounts(r);
	end_ns = read_cpus(r);
	read_losses(r);
	cgroup_select_refresh(&r->cgroups, r->session, r->model);
	names_tail(r->names, m, r->tailed_ns);
	r->tailed_ns = host_now_ns();
	name_samples(r, 0);
	if (r->last)
		names_settle(r->names, m);
	ingest_slice_end(r->ingest);
	check_ticks(r);

	slice = &m->slices[m->slices_cnt - 1];
	slice->end_ns = end_ns; /* naming may take long on a slow host */
	m->host.end_ns = slice->end_ns;
	r->slice_start_ns = slice->end_ns;
	r->named = 0;
	return write_slice(r);
}

int recorder_tick(struct recorder *r)
{
	uint64_t now_ns = host_now_ns();
	int err;

	if (now_ns - r->slice_start_ns >= RECORDER_SLICE_NS) {
		err = end_slice(r, now_ns - SIDEBAND_LAG_NS);
		return err ? err : begin_slice(r);
	}
	drain(r, now_ns - SIDEBAND_LAG_NS);
	/* Soon, since short processes take their files' names with them. */
	name_samples(r, r->named);
	r->named = r->model->samples_cnt;
	return 0;
}

int recorder_finish(struct recorder *r)
{
	int err;

	session_stop(r->session);
	r->last = true;
	err = end_slice(r, UINT64_MAX);
	if (!err)
		err = write_delayed(r);
	if (!err) {
		r->model->host.complete = true;
		err = store_finish(r->store, r->model);
		r->store = NULL;
	}
	recorder_free(r);
	return err;
}

/* --- start ----------------------------------------------------------------------------------- */

static void describe(struct recorder *r)
{
	struct model *m = r->model;
	char filter[256] = "";
	size_t used = 0;

	if (r->options.cgroup)
		snprintf(filter, sizeof(filter), "--cgroup %s", r->options.cgroup);
	for (size_t i = 0; i < r->options.tgid_cnt && used < sizeof(filter) - 16; i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s-p %u",
					 i ? " " : "", r->options.tgids[i]);
	m->host.name = model_str(m, r->host.name);
	m->host.kernel = model_str(m, r->host.release);
	m->host.machine = model_str(m, r->host.machine);
	m->host.version = HOTRUN_VERSION;
	m->host.event = r->options.cycles ? "cycles" : "cpu-clock";
	m->host.filter = model_str(m, filter);
	m->host.command = model_str(m, r->options.command);
	m->host.cpus_online = r->host.cpus_online;
	m->host.cpus_possible = r->host.cpus_possible;
	m->host.sample_hz = r->options.sample_hz;
	m->host.max_stack = r->host.max_stack;
}

static int open_session(struct recorder *r, char *why, size_t why_bytes)
{
	struct session_options options = {
		.sample_hz = r->options.sample_hz,
		.cycles = r->options.cycles,
		.cpus_possible = r->host.cpus_possible,
		.max_stack = r->host.max_stack,
		.tgids = r->options.tgids,
		.tgid_cnt = r->options.tgid_cnt,
		.cgroups = r->cgroups.folder != NULL,
	};

	return session_new(&options, why, why_bytes, &r->session);
}

static int open_rooms(struct recorder *r)
{
	struct names_options names = {
		.proc_path = "/proc",
	};

	r->model = model_new();
	r->online = calloc(HOST_MAX_CPUS, sizeof(*r->online));
	r->steal_ns = calloc(HOST_MAX_CPUS, sizeof(*r->steal_ns));
	if (!r->model || !r->online || !r->steal_ns)
		return -ENOMEM;
	r->ingest = ingest_new(r->model, r->host.cpus_possible, host_boot_offset_ns());
	r->names = names_new(&names);
	return r->ingest && r->names ? 0 : -ENOMEM;
}

int recorder_new(const struct recorder_options *options, char *why, size_t why_bytes,
		 struct recorder **ret_recorder)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		snprintf(why, why_bytes, "out of memory");
		return -ENOMEM;
	}
	r->options = *options;
	r->ops = (struct session_ops){r, take_sample, take_stack, take_task};
	r->sideband_ops =
		(struct sideband_ops){r, take_fork, take_exit, take_comm, take_mapping, take_lost};
	host_describe(&r->host);
	err = host_check(&r->host, why, why_bytes);
	if (err)
		goto out;
	if (options->cgroup) {
		err = cgroup_tree_find(options->cgroup, &r->cgroups.folder);
		if (err) {
			snprintf(why, why_bytes, "%s: %s", options->cgroup,
				 err == -ENOENT ? "no such cgroup" : strerror(-err));
			goto out;
		}
	}
	err = open_rooms(r);
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	describe(r);
	err = open_session(r, why, why_bytes);
	if (err)
		goto out;
	/* Before anything is recorded: nothing is that cannot be kept. */
	err = store_create(options->path, r->model, &r->store);
	if (err)
		snprintf(why, why_bytes, "%s: %s", options->path, store_error_text(err));
	else
		r->created = true;
out:
	if (err) {
		recorder_free(r);
		return err;
	}
	*ret_recorder = r;
	return 0;
}

/* Facts and mappings of what runs already; the busiest of 200 processes cost 20 ms together. */
static void read_processes(struct recorder *r)
{
	uint64_t end_ns = host_now_ns() + START_FACTS_NS;

	for (uint32_t i = 0; i < r->model->processes_cnt && host_now_ns() < end_ns; i++)
		if (!(r->model->processes[i].flags & PROCESS_KERNEL))
			names_process(r->names, r->model, i);
}

static void mark_processes(struct recorder *r)
{
	struct model *m = r->model;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		if (m->processes[i].tgid == (uint32_t)getpid())
			m->processes[i].flags |= PROCESS_SELF;
		for (size_t k = 0; k < r->options.tgid_cnt; k++)
			if (m->processes[i].tgid == r->options.tgids[k])
				m->processes[i].flags |= PROCESS_SELECTED;
	}
}

/* The start-up line: what is attached, and what is off and why. */
static void announce(const struct recorder *r)
{
	char missing[128];

	log_info("recording at %u Hz (%s) on %u CPUs: accounts of all processes (%zu threads), "
		 "stacks "
		 "of %s%s%s",
		 r->options.sample_hz, r->model->host.event, r->host.cpus_online,
		 r->model->threads_cnt,
		 *r->model->host.filter ? r->model->host.filter : "all processes",
		 r->model->kernel_text ? "" : "; kernel names off: kallsyms is hidden",
		 r->host.max_stack < 127 ? "; stacks cut short: kernel.perf_event_max_stack" : "");
	if (host_missing_capabilities(missing, sizeof(missing)))
		log_warn("names of other users' processes are off: missing capabilities:%s",
			 missing);
}

int recorder_start(struct recorder *r, char *why, size_t why_bytes)
{
	int err;

	r->model->kernel_text = names_kernel_text(r->names);
	read_accounts(r);
	read_processes(r);
	mark_processes(r);
	cgroup_select_refresh(&r->cgroups, r->session, r->model);
	drain(r, host_now_ns() - SIDEBAND_LAG_NS);
	names_tail(r->names, r->model, 0);

	read_accounts(r);
	r->start_ns = r->slice_start_ns = r->tailed_ns = read_cpus(r);
	read_losses(r);
	ingest_begin(r->ingest, r->start_ns);
	r->model->host.start_ns = r->start_ns;
	model_forget_slice(r->model);
	err = session_start(r->session, why, why_bytes);
	if (!err)
		err = begin_slice(r);
	if (err)
		return err;
	r->created = false;
	announce(r);
	return 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	session_free(r->session);
	store_free(r->store);
	if (r->created)
		unlink(r->options.path);
	names_free(r->names);
	ingest_free(r->ingest);
	model_free(r->model);
	cgroup_select_clear(&r->cgroups);
	free(r->online);
	free(r->steal_ns);
	free(r->stack_pass);
	free(r->execs);
	free(r);
}

uint64_t recorder_samples(const struct recorder *r)
{
	return r->samples;
}

uint64_t recorder_elapsed_ns(const struct recorder *r)
{
	return host_now_ns() - r->start_ns;
}
