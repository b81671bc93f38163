/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/snapshot_looks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/host_facts.h"
#include "base/kernel_hazards.h"
#include "base/rise.h"
#include "collect/snapshot_naming.h"
#include "collect/snapshot_stands.h"
#include "collect/stand_stream.h"
#include "collect/unwind_feed.h"
#include "isolate/nursery.h"
#include "isolate/workers.h"
#include "kernel/host.h"
#include "kernel/looker.h"
#include "model/ingest.h"
#include "names/names.h"
#include "opener/opener.h"

/* Tables of some 200 processes of the usual kind. */
#define UNWIND_BYTES ((size_t)64 << 20)
/* Beyond so many threads that did anything, the processes that did most are chosen. */
#define STANDS_MOST    5000u
#define PROCESSES_MOST 64u

struct snapshot_looks {
	struct snapshot_looks_options options;
	struct host host;
	struct nursery *nursery;
	struct workers *workers;
	struct looker *looker;
	struct stand_stream *stream;
	struct model *model;
	struct ingest *ingest;
	struct names *names;
	struct unwind_feed *feed; /* NULL: along frame pointers */
	struct look looks[2];
	unsigned int last; /* the later one of them */
	struct look_gone gone;
	uint64_t *steal_ns, *idle_ns; /* by CPU, at the last look */
	uint64_t idle_all_ns, forks;  /* the same of the host */
	uint32_t *order;	      /* processes, who did most first */
	size_t order_cnt;
	struct snapshot_stands stands;
	struct snapshot_naming naming;
	struct snapshot snapshot;
	int err; /* of a callback, the first one */
};

/* --- rooms ----------------------------------------------------------------------------------- */

static void close_rooms(struct snapshot_looks *l)
{
	snapshot_stands_forget(&l->stands);
	unwind_feed_free(l->feed);
	names_free(l->names);
	ingest_free(l->ingest);
	model_free(l->model);
	free(l->order);
	snapshot_clear(&l->snapshot);
	l->feed = NULL;
	l->names = NULL;
	l->ingest = NULL;
	l->model = NULL;
	l->order = NULL;
	l->order_cnt = 0;
}

static void describe(struct snapshot_looks *l)
{
	struct model_host *h = &l->model->host;

	h->name = model_str(l->model, l->host.name);
	h->kernel = model_str(l->model, l->host.release);
	h->machine = model_str(l->model, l->host.machine);
	h->version = HOTRUN_VERSION;
	h->cpus_online = l->host.cpus_online;
	h->cpus_possible = l->host.cpus_possible;
}

static int open_rooms(struct snapshot_looks *l)
{
	struct names_options names = {
		.nursery = l->nursery,
		.workers = l->workers,
		.proc_path = "/proc",
		.unwinds = looker_unwind(l->looker) != NULL,
		.from = (enum names_from)l->options.names,
	};

	l->model = model_new();
	if (!l->model)
		return -ENOMEM;
	describe(l);
	l->ingest = ingest_new(l->model, l->host.cpus_possible, host_boot_offset_ns());
	l->names = names_new(&names);
	if (looker_unwind(l->looker))
		l->feed = unwind_feed_new(looker_unwind(l->looker), false);
	return l->ingest && l->names && (l->feed || !looker_unwind(l->looker)) ? 0 : -ENOMEM;
}

/* Before there is any BPF object: none is any helper's. */
static int open_helpers(struct snapshot_looks *l)
{
	l->nursery = nursery_new(OPENER_CAPABILITIES |
				 (l->options.lock ? PRIVILEGE(HOST_CAP_IPC_LOCK) : 0));
	if (!l->nursery)
		return -ENOMEM;
	if (l->options.lock)
		nursery_lock_memory(l->nursery);
	l->workers = names_workers(l->nursery, 0, &(struct names_file_limits){0});
	l->stream = stand_stream_new(l->nursery, l->options.stop);
	if (!l->workers || !l->stream)
		return -ENOMEM;
	workers_set_nice(l->workers, l->options.urgent->nice);
	return 0;
}

int snapshot_looks_new(const struct snapshot_looks_options *options, char *why, size_t why_bytes,
		       struct snapshot_looks **ret_looks)
{
	const struct looker_options looker = {.unwind_bytes = UNWIND_BYTES};
	struct snapshot_looks *l = calloc(1, sizeof(*l));
	int err = -ENOMEM;

	snprintf(why, why_bytes, "out of memory");
	if (!l)
		return err;
	l->options = *options;
	host_describe(&l->host);
	l->steal_ns = calloc(HOST_MAX_CPUS, sizeof(*l->steal_ns));
	l->idle_ns = calloc(HOST_MAX_CPUS, sizeof(*l->idle_ns));
	if (l->steal_ns && l->idle_ns)
		err = host_check(&l->host, why, why_bytes);
	/* No tick comes, and user stacks are copied by the page. */
	if (!err)
		err = host_check_hazards(&l->host, HAZARD_KERNEL_STACKS, options->ignore_hazards,
					 why, why_bytes);
	if (!err)
		err = open_helpers(l);
	if (!err)
		err = looker_new(&looker, why, why_bytes, &l->looker);
	if (err) {
		snapshot_looks_free(l);
		return err;
	}
	l->stands.looker = l->looker;
	l->stands.stream = l->stream;
	l->stands.urgent = l->options.urgent;
	l->stands.stop = l->options.stop;
	l->naming.stop = l->options.stop;
	l->naming.maps = looker_unwind(l->looker);
	l->naming.stands = &l->stands;
	l->naming.snapshot = &l->snapshot;
	*ret_looks = l;
	return 0;
}

/* To those that do not work on what others wrote: who forks, and who reads stacks. */
static void lend_priority(struct snapshot_looks *l)
{
	urgent_lend(l->options.urgent, nursery_pid(l->nursery));
	if (stand_stream_pid(l->stream))
		urgent_lend(l->options.urgent, stand_stream_pid(l->stream));
}

static void return_priority(struct snapshot_looks *l)
{
	if (l->nursery)
		urgent_return(l->options.urgent, nursery_pid(l->nursery));
	if (l->stream && stand_stream_pid(l->stream))
		urgent_return(l->options.urgent, stand_stream_pid(l->stream));
}

void snapshot_looks_forget(struct snapshot_looks *l)
{
	close_rooms(l);
	return_priority(l);
	look_clear(&l->looks[0]);
	look_clear(&l->looks[1]);
	look_gone_clear(&l->gone);
	snapshot_stands_clear(&l->stands);
}

void snapshot_looks_free(struct snapshot_looks *l)
{
	if (!l)
		return;
	snapshot_looks_forget(l);
	looker_free(l->looker);
	stand_stream_free(l->stream);
	workers_free(l->workers);
	nursery_free(l->nursery);
	free(l->steal_ns);
	free(l->idle_ns);
	free(l);
}

struct model *snapshot_looks_model(struct snapshot_looks *l)
{
	return l->model;
}

const struct snapshot *snapshot_looks_snapshot(const struct snapshot_looks *l)
{
	return &l->snapshot;
}

uint64_t snapshot_looks_cpu_ns(struct snapshot_looks *l)
{
	uint64_t opener_ns = l->names ? names_cost(l->names).opener_cpu_ns : 0;

	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + workers_counters(l->workers).cpu_ns +
	       opener_ns + stand_stream_cpu_ns(l->stream) + nursery_cpu_ns(l->nursery);
}

/* --- a look ---------------------------------------------------------------------------------- */

static void take_counts(void *ctx, const struct event_counts *counts)
{
	struct snapshot_looks *l = ctx;
	int err = look_add(&l->looks[l->last], counts);

	l->err = l->err ?: err;
}

/* Idle and stolen time of all CPUs since the last call. */
static uint64_t read_idle(struct snapshot_looks *l)
{
	uint64_t was = l->idle_all_ns, now = 0;

	host_read_cpus(l->steal_ns, l->idle_ns, l->host.cpus_possible);
	for (uint32_t cpu = 0; cpu < l->host.cpus_possible; cpu++)
		now += l->idle_ns[cpu] + l->steal_ns[cpu];
	l->idle_all_ns = now;
	return rise_of(now, was);
}

/* Into the older of the two. 0 or negative errno; since the last one, idle: of all CPUs. */
static int look(struct snapshot_looks *l, uint64_t *ret_idle_ns, uint64_t *ret_forks)
{
	struct look *to = &l->looks[l->last ^= 1];
	int err;

	look_empty(to);
	l->err = 0;
	to->time_ns = clock_now_ns();
	*ret_idle_ns = read_idle(l);
	*ret_forks = rise_since(host_forks(), &l->forks);
	err = looker_read_counts(l->looker, take_counts, l);
	return err ?: l->err;
}

int snapshot_looks_begin(struct snapshot_looks *l)
{
	uint64_t idle_ns, forks;
	int err;

	close_rooms(l);
	lend_priority(l);
	err = open_rooms(l);
	l->snapshot.stacks_why = "";
	return err ?: look(l, &idle_ns, &forks);
}

static void sleep_until(uint64_t end_ns)
{
	const struct timespec end = {(time_t)(end_ns / SECOND_NS), (long)(end_ns % SECOND_NS)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

/* --- who is who ------------------------------------------------------------------------------ */

static uint32_t process_of(struct snapshot_looks *l, const struct event_counts *c)
{
	struct model *m = l->model;
	uint32_t row = model_process_get(m, c->tgid, c->process_start_ns);
	const char *comm = model_string(m, c->comm, sizeof(c->comm));
	struct model_process *p;

	if (row == MODEL_NONE)
		return row;
	p = &m->processes[row];
	if (!*p->comm || c->tid == c->tgid) {
		if (p->name == p->comm || !*p->name)
			p->name = comm;
		p->comm = comm;
	}
	p->parent_tgid = c->parent_tgid;
	if (c->flags & COUNTS_KERNEL_THREAD)
		p->flags |= PROCESS_KERNEL;
	if (c->tgid == (uint32_t)getpid())
		p->flags |= PROCESS_SELF;
	return row;
}

static uint32_t thread_of(struct snapshot_looks *l, const struct event_counts *c)
{
	struct model *m = l->model;
	uint32_t process = process_of(l, c), row = MODEL_NONE;

	if (process != MODEL_NONE)
		row = model_thread_get(m, process, c->tid, c->thread_start_ns);
	if (row != MODEL_NONE) {
		m->threads[row].comm = model_string(m, c->comm, sizeof(c->comm));
		m->threads[row].state = c->state;
	}
	return row;
}

/* Where a leader's process lost threads or children in the interval. */
static struct look_ended ended_of(const struct snapshot_looks *l, const struct event_counts *c)
{
	return c->tid == c->tgid ? look_ended(&l->looks[l->last ^ 1], &l->gone, c)
				 : (struct look_ended){0};
}

/* What each did in the interval. Returns how many did or wanted anything; (size_t)-1: no memory. */
static size_t count_threads(struct snapshot_looks *l)
{
	const struct look *now = &l->looks[l->last];
	struct snapshot *s = &l->snapshot;
	size_t cnt = 0;

	for (size_t i = 0; i < now->cnt; i++) {
		const struct event_counts *c = &now->rows[i];
		struct look_rise rise = look_rise(&l->looks[l->last ^ 1], c);
		struct look_ended ended = ended_of(l, c);
		struct snapshot_thread *t;
		uint32_t row;

		s->waits |= !(c->flags & COUNTS_NO_WAITS);
		if (!snapshot_stands_want(c, &rise) && !ended.threads_ns && !ended.children_ns)
			continue;
		row = thread_of(l, c);
		if (row == MODEL_NONE)
			continue;
		t = snapshot_thread(s, row);
		if (!t)
			return (size_t)-1;
		t->ran_ns += rise.ran_ns;
		t->waited_ns += rise.waited_ns;
		t->ended.threads_ns += ended.threads_ns;
		t->ended.children_ns += ended.children_ns;
		t->uninterruptible += c->state == 'D';
		t->is_new |= rise.is_new;
		t->flags = c->flags;
		cnt++;
	}
	return cnt;
}

struct weight {
	uint32_t process;
	uint64_t ns;
};

static int compare_weights(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return COMPARE(y->ns, x->ns) ?: COMPARE(x->process, y->process);
}

/* Who did and wanted most, first. */
static int order_processes(struct snapshot_looks *l)
{
	const struct model *m = l->model;
	const struct snapshot *s = &l->snapshot;
	struct weight *weights = calloc(m->processes_cnt + 1, sizeof(*weights));
	uint32_t *order = calloc(m->processes_cnt + 1, sizeof(*order));

	if (!weights || !order) {
		free(weights);
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		weights[i].process = i;
	for (size_t i = 0; i < s->threads_cnt; i++)
		weights[m->threads[s->threads[i].thread].process].ns +=
			s->threads[i].ran_ns + s->threads[i].waited_ns +
			s->threads[i].ended.threads_ns + 1;
	qsort(weights, m->processes_cnt, sizeof(*weights), compare_weights);
	for (size_t i = 0; i < m->processes_cnt; i++)
		order[i] = weights[i].process;
	free(weights);
	free(l->order);
	l->order = order;
	l->order_cnt = m->processes_cnt;
	return 0;
}

/* --- where they stand ------------------------------------------------------------------------ */

/* The processes that did most, where all would be too many. */
static size_t choose(const struct snapshot_looks *l, size_t awake, uint32_t tgids[PROCESSES_MOST])
{
	size_t cnt = 0;

	for (size_t i = 0; awake > STANDS_MOST && i < l->order_cnt && cnt < PROCESSES_MOST; i++)
		tgids[cnt++] = l->model->processes[l->order[i]].tgid;
	return cnt;
}

static int read_stands(struct snapshot_looks *l, size_t awake)
{
	uint32_t tgids[PROCESSES_MOST];
	struct snapshot_pass pass = {
		.before = &l->looks[l->last ^ 1],
		.now = &l->looks[l->last],
		.tgids = tgids,
		.tgid_cnt = choose(l, awake, tgids),
	};
	const char *why = NULL;
	int err = snapshot_stands_read(&l->stands, &pass, &l->snapshot, &why);

	if (why)
		l->snapshot.stacks_why = model_str(l->model, why);
	return err;
}

int snapshot_looks_take(struct snapshot_looks *l, uint64_t interval_ns)
{
	struct snapshot *s = &l->snapshot;
	const struct look *before = &l->looks[l->last], *now;
	uint64_t idle_ns, elapsed_ns, forks;
	size_t awake;
	int err;

	urgent_lend_session(l->options.urgent, nursery_pid(l->nursery));
	sleep_until(before->time_ns + interval_ns);
	err = look(l, &idle_ns, &forks);
	if (err)
		return err;
	now = &l->looks[l->last];
	elapsed_ns = now->time_ns - before->time_ns;
	if (!s->intervals++)
		s->first_ns = before->time_ns;
	s->last_ns = now->time_ns;
	s->elapsed_ns += elapsed_ns;
	s->cpus = l->host.cpus_online;
	s->busy_ns += rise_of(elapsed_ns * s->cpus, idle_ns);
	s->all = now->cnt;
	look_gone_clear(&l->gone);
	err = look_gone(before, now, &l->gone);
	if (err)
		return err;
	s->ended += l->gone.threads;
	s->forks += forks;
	host_read_memory(&s->memory_bytes, &s->memory_free_bytes);
	awake = count_threads(l);
	if (awake == (size_t)-1)
		return -ENOMEM;
	err = order_processes(l);
	return err ?: read_stands(l, awake);
}

/* As the looks have left it. */
static struct snapshot_naming *naming_of(struct snapshot_looks *l)
{
	l->naming.model = l->model;
	l->naming.ingest = l->ingest;
	l->naming.names = l->names;
	l->naming.feed = l->feed;
	l->naming.order = l->order;
	l->naming.order_cnt = l->order_cnt;
	return &l->naming;
}

int snapshot_looks_name_first(struct snapshot_looks *l, uint64_t ns, uint64_t most_ns)
{
	return snapshot_naming_first(naming_of(l), ns, most_ns);
}

int snapshot_looks_name_all(struct snapshot_looks *l, uint64_t ns)
{
	return snapshot_naming_all(naming_of(l), ns);
}
