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
#include "base/rise.h"
#include "collect/stand_stream.h"
#include "collect/stand_take.h"
#include "collect/unwind_feed.h"
#include "collect/wait_names.h"
#include "isolate/nursery.h"
#include "isolate/workers.h"
#include "kernel/host.h"
#include "kernel/looker.h"
#include "model/ingest.h"
#include "names/names.h"
#include "opener/opener.h"

/* Tables of some 200 processes of the usual kind. */
#define UNWIND_BYTES ((size_t)64 << 20)
/* Reading stacks may take so long: of 100,000 threads that want a CPU most are left out. */
#define STANDS_NS 300000000ull
/* And their records so much memory: 4,000 whole ones. */
#define RECORDS_BYTES ((size_t)64 << 20)
/* Beyond so many threads that did anything, the processes that did most are chosen. */
#define STANDS_MOST    5000u
#define PROCESSES_MOST 64u
/* CPUs that are visited for who is on them, for so long each and in all; and where there are more
 * threads, none: each visit walks over all of them, ahead of whoever runs there. */
#define VISITS		    64u
#define VISIT_NS	    10000000ull
#define VISITS_NS	    50000000ull
#define VISITS_THREADS_MOST 3000u
/* Processes whose names are looked up first, and at all. */
#define NAMED_FIRST 12u
#define TOLD_FIRST  3u /* without a name of these the first lines wait */
#define NAMED_MOST  200u
/* A thread that ran for less is not worth a visit. */
#define VISIT_LEAST_NS 1000000ull

/* A record of where one stood; bytes of its stack follow. */
struct record {
	struct look_rise rise;
	size_t bytes; /* of event */
	struct event_stand event;
};

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
	bool *seen; /* by row of the last look: a record tells where it stood */
	size_t seen_cap;
	uint64_t *steal_ns, *idle_ns; /* by CPU, at the last look */
	uint64_t idle_all_ns, forks;  /* the same of the host */
	struct record **records;
	size_t records_cnt, records_cap, records_bytes;
	uint32_t *order; /* processes, who did most first */
	size_t order_cnt;
	struct snapshot snapshot;
	uint64_t tailed_ns;
	int err; /* of a callback, the first one */
};

/* --- rooms ----------------------------------------------------------------------------------- */

static void close_rooms(struct snapshot_looks *l)
{
	for (size_t i = 0; i < l->records_cnt; i++)
		free(l->records[i]);
	l->records_cnt = l->records_bytes = 0;
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
	if (!err)
		err = open_helpers(l);
	if (!err)
		err = looker_new(&looker, why, why_bytes, &l->looker);
	if (err) {
		snapshot_looks_free(l);
		return err;
	}
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
	free(l->records);
	free(l->seen);
	l->records = NULL;
	l->seen = NULL;
	l->records_cap = l->seen_cap = 0;
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

static bool is_stopped(const struct snapshot_looks *l)
{
	return l->options.stop && *l->options.stop;
}

static bool is_over(const struct snapshot_looks *l, uint64_t end_ns)
{
	return is_stopped(l) || clock_now_ns() >= end_ns;
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

static bool wants_cpu(const struct event_counts *c)
{
	return c->state == 'R' || (c->flags & COUNTS_ON_CPU);
}

/* Where a leader's process lost threads or children in the interval. */
static struct look_ended ended_of(const struct snapshot_looks *l, const struct event_counts *c)
{
	return c->tid == c->tgid ? look_ended(&l->looks[l->last ^ 1], &l->gone, c)
				 : (struct look_ended){0};
}

static bool is_of_interest(const struct event_counts *c, const struct look_rise *rise)
{
	return rise->ran_ns || rise->waited_ns || wants_cpu(c) || c->state == 'D';
}

static struct look_rise rise_of_row(const struct snapshot_looks *l, const struct event_counts *c)
{
	return look_rise(&l->looks[l->last ^ 1], c);
}

/* What each did in the interval. Returns how many did or wanted anything; (size_t)-1: no memory. */
static size_t count_threads(struct snapshot_looks *l)
{
	const struct look *now = &l->looks[l->last];
	struct snapshot *s = &l->snapshot;
	size_t cnt = 0;

	for (size_t i = 0; i < now->cnt; i++) {
		const struct event_counts *c = &now->rows[i];
		struct look_rise rise = rise_of_row(l, c);
		struct look_ended ended = ended_of(l, c);
		struct snapshot_thread *t;
		uint32_t row;

		s->waits |= !(c->flags & COUNTS_NO_WAITS);
		if (!is_of_interest(c, &rise) && !ended.threads_ns && !ended.children_ns)
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

static void keep_record(struct snapshot_looks *l, uint32_t row, const struct event_stand *stand,
			const uint8_t *stack)
{
	size_t bytes = sizeof(*stand) + stand->stack_bytes;
	struct record *r;

	if (l->records_bytes + bytes > RECORDS_BYTES) {
		l->snapshot.cut++;
		return;
	}
	r = malloc(sizeof(*r) + stand->stack_bytes);
	if (!r || GROW(l->records, l->records_cnt, l->records_cap)) {
		free(r);
		l->err = -ENOMEM;
		return;
	}
	r->rise = rise_of_row(l, &l->looks[l->last].rows[row]);
	r->bytes = bytes;
	r->event = *stand;
	memcpy(&r->event + 1, stack, stand->stack_bytes);
	l->records[l->records_cnt++] = r;
	l->records_bytes += bytes;
	l->seen[row] = true;
}

static uint32_t row_of(const struct snapshot_looks *l, const struct event_stand *stand)
{
	return look_find(&l->looks[l->last], stand->tid, stand->thread_start_ns);
}

static void take_stand(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct snapshot_looks *l = ctx;
	const struct event_counts *c;
	struct look_rise rise;
	uint32_t row = row_of(l, stand);

	/* Born since: it is told of by the next look, if there is one. */
	if (row == HASH_NONE || l->seen[row])
		return;
	c = &l->looks[l->last].rows[row];
	rise = rise_of_row(l, c);
	if (c->tgid != (uint32_t)getpid() && is_of_interest(c, &rise))
		keep_record(l, row, stand, stack);
}

/* The processes that did most, where all would be too many. */
static size_t choose(const struct snapshot_looks *l, size_t awake, uint32_t tgids[PROCESSES_MOST])
{
	size_t cnt = 0;

	for (size_t i = 0; awake > STANDS_MOST && i < l->order_cnt && cnt < PROCESSES_MOST; i++)
		tgids[cnt++] = l->model->processes[l->order[i]].tgid;
	return cnt;
}

/* Who is on a CPU leaves it while the process that reads is there. */
struct visit {
	struct snapshot_looks *l;
	struct record *r;
	uint32_t row;
};

static void take_visited(void *ctx, const struct event_stand *stand, const uint8_t *stack)
{
	struct visit *v = ctx;
	struct record *r = v->r, *bigger;

	if (row_of(v->l, stand) != v->row || stand->flags & (STAND_RUNS | STAND_MOVED))
		return;
	bigger = realloc(r, sizeof(*r) + stand->stack_bytes);
	if (!bigger)
		return;
	v->r = bigger;
	bigger->event = *stand;
	bigger->event.state = 'R'; /* it is its visitor who keeps it off */
	bigger->bytes = sizeof(*stand) + stand->stack_bytes;
	memcpy(&bigger->event + 1, stack, stand->stack_bytes);
}

/* False: the process that reads is lost. */
static bool visit(struct snapshot_looks *l, size_t record, pid_t reader)
{
	struct record *r = l->records[record];
	struct stands_ask ask = {.tgids = &r->event.tgid,
				 .tgid_cnt = 1,
				 .tid = r->event.tid,
				 .place = stand_stream_place(l->stream),
				 .stuck = stand_stream_stuck(l->stream)};
	struct visit v = {l, r, row_of(l, &r->event)};
	_cleanup_close_ int fd = -1;
	int err;

	if (v.row == HASH_NONE || r->rise.ran_ns < VISIT_LEAST_NS ||
	    !urgent_visit(l->options.urgent, reader, l->looks[l->last].rows[v.row].cpu))
		return true;
	fd = looker_open_stands(l->looker, &ask);
	if (fd < 0)
		return true;
	err = stand_stream_read(l->stream, fd, clock_now_ns() + VISIT_NS, take_visited, &v);
	l->records[record] = v.r;
	return !err;
}

static bool is_unread(const struct record *r)
{
	return r->event.flags & (STAND_RUNS | STAND_MOVED);
}

/* Those that were on a CPU in the pass. */
static void visit_running(struct snapshot_looks *l, size_t first)
{
	uint64_t end_ns = clock_now_ns() + VISITS_NS;
	pid_t reader = stand_stream_pid(l->stream);
	bool may = reader > 0 && l->options.urgent->realtime &&
		   l->looks[l->last].cnt <= VISITS_THREADS_MOST;
	unsigned int visits = 0;

	for (size_t i = first; may && i < l->records_cnt && visits < VISITS; i++) {
		if (!is_unread(l->records[i]))
			continue;
		if (is_over(l, end_ns))
			break;
		visits++;
		may = visit(l, i, reader);
	}
	if (visits && stand_stream_pid(l->stream) == reader)
		urgent_lend(l->options.urgent, reader);
	for (size_t i = first; i < l->records_cnt; i++)
		l->snapshot.on_cpu += is_unread(l->records[i]);
}

/* Of whom nothing was read there is a row, too, or what it did would be missing. */
static void add_unread(struct snapshot_looks *l, bool late)
{
	const struct look *now = &l->looks[l->last];

	for (size_t i = 0; i < now->cnt && !l->err; i++) {
		const struct event_counts *c = &now->rows[i];
		struct look_rise rise = rise_of_row(l, c);
		struct event_stand stand = {
			.time_ns = now->time_ns,
			.tgid = c->tgid,
			.tid = c->tid,
			.process_start_ns = c->process_start_ns,
			.thread_start_ns = c->thread_start_ns,
			.age_ns = STAND_AGE_UNKNOWN,
			.flags = STAND_MOVED |
				 (c->flags & COUNTS_KERNEL_THREAD ? STAND_KERNEL_THREAD : 0),
			.state = c->state,
		};

		if (l->seen[i] || !is_of_interest(c, &rise) || c->tgid == (uint32_t)getpid())
			continue;
		keep_record(l, (uint32_t)i, &stand, NULL);
		l->snapshot.late += late;
	}
}

/* One pass over all that may be of interest. 0 or negative errno. */
static int pass(struct snapshot_looks *l, size_t awake, uint64_t interval_ns)
{
	uint32_t tgids[PROCESSES_MOST];
	struct stands_ask ask = {
		.tgids = tgids,
		.tgid_cnt = choose(l, awake, tgids),
		/* It may be read a little later than the interval's end. */
		.awake_ns = 2 * interval_ns,
		.place = stand_stream_place(l->stream),
		.stuck = stand_stream_stuck(l->stream),
	};
	uint64_t end_ns = clock_now_ns() + STANDS_NS;
	_cleanup_close_ int fd = looker_open_stands(l->looker, &ask);

	return fd < 0 ? fd : stand_stream_read(l->stream, fd, end_ns, take_stand, l);
}

static int read_stands(struct snapshot_looks *l, size_t awake, uint64_t interval_ns)
{
	const char *why = looker_stands_why(l->looker);
	size_t first = l->records_cnt;
	bool late;
	int err = 0;

	while (l->seen_cap < l->looks[l->last].cnt)
		if (GROW(l->seen, l->seen_cap, l->seen_cap))
			return -ENOMEM;
	memset(l->seen, 0, l->seen_cap);
	if (!why)
		err = pass(l, awake, interval_ns);
	if (!why && !err)
		visit_running(l, first);
	/* One that hangs in the memory of a process is no reason to tell nothing of the others. */
	if (!first && err == -EBUSY)
		why = "reading stacks hangs in the memory of a process, since an earlier snapshot";
	else if (!first && err == -EAGAIN)
		why = "the process that reads stacks cannot be had";
	if (why)
		l->snapshot.stacks_why = model_str(l->model, why);
	late = err == -ETIMEDOUT || err == -EBUSY || err == -EAGAIN;
	if (!err || late)
		add_unread(l, late);
	return late ? l->err : err ?: l->err;
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
	return err ?: read_stands(l, awake, elapsed_ns);
}

/* --- names ----------------------------------------------------------------------------------- */

/* Rows of stands from the records, by what is known by now. */
static int take_stands(struct snapshot_looks *l, bool whole)
{
	struct stand_taker *taker = calloc(1, sizeof(*taker));
	struct snapshot *s = &l->snapshot;
	int err = 0;

	if (!taker)
		return -ENOMEM;
	snapshot_forget_stands(s);
	taker->model = l->model;
	taker->ingest = l->ingest;
	taker->maps = whole ? looker_unwind(l->looker) : NULL;
	for (size_t i = 0; !err && i < l->records_cnt; i++) {
		struct event_stand *event = &l->records[i]->event;
		uint32_t kernel_cnt = event->kernel_cnt;
		struct model_stand stand;
		bool known;

		event->kernel_cnt = whole ? kernel_cnt : 0;
		known = stand_take(taker, event, (const uint8_t *)(event + 1), &stand);
		event->kernel_cnt = kernel_cnt;
		if (known)
			err = stands_add(&s->stands, &stand)
				      ?: snapshot_rise(s, &l->records[i]->rise);
	}
	free(taker);
	return err;
}

/* Facts of the first of them, until then. */
static void read_facts(struct snapshot_looks *l, size_t most, uint64_t end_ns)
{
	struct model *m = l->model;

	for (size_t i = 0; i < l->order_cnt && i < most && !is_over(l, end_ns); i++)
		if (!(m->processes[l->order[i]].flags &
		      (PROCESS_FACTS | PROCESS_KERNEL | PROCESS_GONE | PROCESS_SELF)))
			names_process(l->names, m, l->order[i]);
}

static void name_stack(struct snapshot_looks *l, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(l->model, id) : MODEL_NONE;

	if (row != MODEL_NONE)
		names_stack(l->names, l->model, row, time_ns);
}

static void name_stands(struct snapshot_looks *l, uint64_t end_ns)
{
	const struct model *m = l->model;
	const struct stands *stands = &l->snapshot.stands;

	do {
		uint64_t now_ns = clock_now_ns();

		names_tail(l->names, l->model, l->tailed_ns);
		l->tailed_ns = now_ns;
		for (size_t i = 0; i < stands->cnt; i++) {
			const struct model_sample *at = &stands->rows[i].at;
			uint32_t process = m->threads[at->thread].process;

			if (!(m->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE)) &&
			    at->user_stack)
				continue; /* there was no time for its mappings */
			name_stack(l, at->kernel_stack, at->time_ns);
			name_stack(l, at->user_stack, at->time_ns);
		}
		if (!names_read(l->names, l->model) && !names_is_reading(l->names) &&
		    !names_waiting(l->names))
			break;
		wait_names_moment(l->names);
	} while (!is_over(l, end_ns));
	names_tail(l->names, l->model, l->tailed_ns);
}

/* Whether it is known of the leaf of that user stack what it is called, or why it has no name. */
static bool is_told(const struct snapshot_looks *l, const struct model_sample *at)
{
	const struct model *m = l->model;
	uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;

	return row != MODEL_NONE && m->stacks[row].frame_cnt &&
	       model_location_find(m, m->threads[at->thread].process,
				   model_stack_address(m, &m->stacks[row], 0),
				   at->time_ns) != MODEL_NONE;
}

/* Of a process, whether any stack of its user code is told; also where it has none. */
static bool process_is_told(const struct snapshot_looks *l, uint32_t process)
{
	const struct stands *stands = &l->snapshot.stands;
	bool has = false;

	for (size_t i = 0; i < stands->cnt; i++) {
		const struct model_sample *at = &stands->rows[i].at;

		if (l->model->threads[at->thread].process != process)
			continue;
		has |= at->user_stack != 0;
		if (is_told(l, at))
			return true;
	}
	return !has;
}

static bool first_are_told(const struct snapshot_looks *l)
{
	for (size_t i = 0; i < l->order_cnt && i < TOLD_FIRST; i++)
		if (!process_is_told(l, l->order[i]))
			return false;
	return true;
}

int snapshot_looks_name_first(struct snapshot_looks *l, uint64_t ns, uint64_t most_ns)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + ns;
	int err = take_stands(l, false);

	if (err)
		return err;
	read_facts(l, NAMED_FIRST, now_ns + ns / 2);
	name_stands(l, end_ns);
	while (!first_are_told(l) && !is_over(l, now_ns + most_ns)) {
		wait_names_moment(l->names);
		end_ns += ns / 4;
		read_facts(l, TOLD_FIRST, end_ns);
		name_stands(l, end_ns);
	}
	return 0;
}

static void prepare_tables(struct snapshot_looks *l, uint64_t end_ns)
{
	const struct model *m = l->model;

	if (!l->feed)
		return;
	unwind_feed_hurry(l->feed, true);
	for (size_t i = 0; i < l->order_cnt && i < NAMED_MOST; i++)
		if (m->processes[l->order[i]].mapping_cnt)
			unwind_feed_prepare(l->feed, l->order[i]);
	if (!is_stopped(l))
		wait_names_tables(l->feed, l->model, l->names, NULL, 0, end_ns);
}

int snapshot_looks_name_all(struct snapshot_looks *l, uint64_t ns)
{
	uint64_t now_ns = clock_now_ns();
	int err;

	l->model->kernel_text = names_kernel_text(l->names);
	read_facts(l, NAMED_MOST, now_ns + ns / 3);
	prepare_tables(l, now_ns + ns / 2);
	err = take_stands(l, true);
	if (err)
		return err;
	name_stands(l, now_ns + ns);
	names_settle(l->names, l->model);
	return 0;
}
