/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/collector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/helper_names.h"
#include "base/log.h"
#include "base/rise.h"
#include "base/text.h"
#include "collect/cgroup_select.h"
#include "collect/cgroup_watch.h"
#include "collect/follow.h"
#include "collect/hung.h"
#include "collect/newly_started.h"
#include "collect/blocked_looks.h"
#include "collect/stand_take.h"
#include "collect/switch_take.h"
#include "collect/unwind_feed.h"
#include "collect/wait_names.h"
#include "isolate/nursery.h"
#include "isolate/workers.h"
#include "kernel/cgroup_tree.h"
#include "model/cpu_time.h"
#include "model/fair.h"
#include "model/ingest.h"
#include "model/stand.h"
#include "names/exec_names.h"
#include "names/holders.h"
#include "names/lock_points.h"
#include "opener/opener.h"

/* Records of one instant reach the rings of two CPUs at slightly different moments. */
#define SIDEBAND_LAG_NS 100000ull
/* Reading /proc of everything at start may take this long; the rest is read when sampled. */
#define START_FACTS_NS 1500000000ull
/* Tables of who is busy then may take that long before the first sample, names of code that may be
 * replaced soon so long, and rows of compiled code; and who is busy. */
#define START_TABLES_NS 300000000ull
#define START_NAMES_NS	1500000000ull
#define START_CODE_NS	200000000ull
#define START_HUNG_NS	1000000000ull
#define START_IDLE_NS	100000000ull
#define START_BUSY_NS	1000000ull
/* Processes whose names cost too much that the log tells of in one slice. */
#define COSTLY_TOLD 3u
/* Ticks to be expected before their absence means anything. */
#define TICKS_EXPECTED_MIN 50
/*
 * What facts of processes may take of a slice, in us a CPU: a process that is sampled and has very
 * many mappings costs milliseconds. Of one parent's children a sixth, of one cgroup a third
 * (fair.h); who must wait has its turn in another slice.
 */
#define FACTS_CPU_US 30000u
/* Threads that sleep are asked about as seldom: one whose end was lost is found to be gone. */
#define ALL_EVERY_NS 30000000000ull

/* So long may a reading of accounts and clocks wait for a CPU; then it is done again, so many times
 * in all, and none begins after so long: the rings fill meanwhile. */
#define BOOKS_WAITED_NS 5000000ull
#define BOOKS_TRIED_NS	200000000ull
#define BOOKS_TRIES	4
/* A slice may be longer than CPUs are left without a look at whether they are on line. */
#define FOLLOW_CPUS_NS 1500000000ull
/* What may be held for names, in times of what may be known of processes and stacks. */
#define NAMES_PARTS 4u
/* Looks at threads that do not run, a second at the most, and the part of a CPU that they take at
 * the most; of who runs for ever. */
#define LOOKS_A_SECOND 10u
#define LOOKS_PART     100u
#define CALM_LOOKS     4u
#define CALM_PART      500u
/* Processes that wait alone whose names are begun with at a time. */
#define WAITERS_A_TIME 4u
/* And what they may take of the end of a recording, when all others have theirs. */
#define WAITERS_NS 500000000ull
/* Between two looks at what workers have read, while they read. */
#define NAMES_POLL_NS 20000000ull
/* The same at first, when tables are to come soon. */
#define EARLY_POLL_NS 10000000ull
/* What tables may take where nobody says: those of some 200 processes of the usual kind. */
#define UNWIND_BYTES ((size_t)64 << 20)
/* Between two looks at who is to get tables, whatever comes. */
#define FEED_REST_NS 2000000ull
/* Between two looks at who just started, while samples are named. */
#define LOOK_MEANWHILE_NS 10000000ull
/* At first, stacks are looked through often: what lacks tables is to have them soon. */
#define EARLY_NS       2000000000ull
#define EARLY_DRAIN_NS 100000000ull
/* While code that does not stay is sampled. */
#define SOON_POLL_NS 10000000ull
/* A model beyond one of these is large: together some 400 MB at the most. */
#define LARGE_PROCESSES 100000u
#define LARGE_THREADS	100000u /* more than twice those at the start */
#define LARGE_STACKS	200000u
#define LARGE_FRAMES	10000000u
#define LARGE_LOCATIONS 1000000u
#define LARGE_STRINGS	(64u << 20)

/* A CPU's clock, as it was read last. */
struct clock_reading {
	struct cpu_clock clock;
	uint64_t now_ns;
	bool is_read;
};

struct collector {
	struct collector_options options;
	struct host host;
	struct session *session;
	struct model *model;
	struct ingest *ingest;
	struct nursery *nursery;
	bool sandbox_told;	 /* that it is not complete */
	bool helpers_told;	 /* that there are none any more */
	struct workers *workers; /* of names, which are begun anew; their accounts are not */
	struct names *names;
	uint64_t opener_ns;  /* CPU time of who opened files for names before */
	uint64_t nursery_ns; /* of the nursery, when it was seen last */
	struct session_ops ops;
	struct follow follow;
	struct sideband_ops sideband_ops;
	struct cgroup_select cgroups;
	struct cgroup_watch groups;
	bool *online;
	uint64_t *steal_ns, *idle_ns;
	struct cpu_time *cpu_times; /* without the programs at switches */
	struct clock_reading *clocks;
	uint64_t bpf_ns; /* of earlier sessions */

	uint64_t start_ns;
	uint64_t slice_start_ns;
	uint64_t all_read_ns;  /* when all threads were asked about */
	uint64_t tailed_ns;    /* last look at the perf maps, */
	uint64_t maps_read_ns; /* and at those in use */
	uint64_t followed_ns;  /* last look at the CPUs */
	uint64_t samples;
	size_t threads_at_start, bytes_at_start;
	uint64_t wakers_lost;
	uint64_t recursion_misses, names_timeouts;
	uint64_t pressure_ns;	    /* since boot */
	size_t first_sample;	    /* of this slice; the model may hold earlier ones */
	size_t named;		    /* samples up to which stacks were named */
	uint64_t ticks_expected_ns; /* busy time so far, until the first tick was seen */
	bool ticks_seen;
	bool stopped; /* the slice that ends is the last one */
	struct collector_gear
		next_gear; /* of the next slice; c->options.gear is that of this one */

	uint32_t *execs; /* processes that called exec since the last drain */
	size_t execs_cnt, execs_cap;

	struct newly_started newly_started;
	struct exec_names exec_names;
	struct unwind_feed *feed; /* NULL: stacks are walked along frame pointers */
	struct hung hung;	  /* as of the last slice */
	bool *waiters; /* processes whose waits are named though they did not run, by row */
	size_t waiters_cnt, waiters_cap;
	struct blocked_looks *looks;  /* at threads that do not run; NULL: nobody asked */
	struct switch_ring *switches; /* NULL: nobody asked, or this kernel cannot */
	char switches_why[256];
	uint64_t switches_lost;
	bool takes_switches; /* into the slice that ends next */
	uint64_t drained_ns;
	uint64_t looked_ns; /* at who just started, while samples were named */
	struct fair facts;  /* us of this slice, see collector_name_process() */

	/* Stacks named at this pass already: by row, the pass number. */
	uint32_t *stack_pass;
	size_t stack_pass_cnt, stack_pass_cap;
	uint32_t pass;
};

static struct collector_gear fit_gear(const struct collector_gear *gear)
{
	return (struct collector_gear){gear->quiet, gear->sample_every ?: 1};
}

/* --- naming ---------------------------------------------------------------------------------- */

/* Names a stack unless this pass did it already. */
static void name_stack(struct collector *c, uint64_t id, uint64_t time_ns)
{
	uint32_t row = id ? model_stack_find(c->model, id) : MODEL_NONE;

	if (row == MODEL_NONE)
		return;
	while (c->stack_pass_cnt <= row) {
		if (GROW(c->stack_pass, c->stack_pass_cnt, c->stack_pass_cap))
			return;
		c->stack_pass[c->stack_pass_cnt++] = 0;
	}
	if (c->stack_pass[row] == c->pass)
		return;
	c->stack_pass[row] = c->pass;
	names_stack(c->names, c->model, row, time_ns);
}

static void read_maps(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	names_follow(c->names, c->model, c->maps_read_ns);
	c->maps_read_ns = now_ns;
}

/* Code of the process may have changed its place since that sample. */
static bool is_restless(const struct collector *c, uint32_t process, uint64_t since_ns)
{
	return names_changed_ns(c->names, c->model, process) >= since_ns;
}

/* Of compiled code through which the stack led on a guess the rows are to be read. */
static void want_code(struct collector *c, uint32_t process, const struct model_stack *stack,
		      uint64_t time_ns)
{
	struct model *m = c->model;

	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		uint64_t address = model_stack_address(m, stack, i);
		const struct model_mapping *map;

		if (!model_stack_unsure(m, stack, i))
			continue;
		map = model_mapping_find(m, process, address, time_ns);
		if (map && (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON))
			names_unwind_want(c->names, process, address);
	}
}

/* Who was sampled since the last naming, and whose stacks lack tables. */
static void note_stacks(struct collector *c)
{
	const struct model *m = c->model;

	for (size_t i = c->named; c->feed && i < m->samples_cnt; i++) {
		const struct model_sample *s = &m->samples[i];
		uint32_t row = s->user_stack ? model_stack_find(m, s->user_stack) : MODEL_NONE;
		const struct model_stack *stack = row == MODEL_NONE ? NULL : &m->stacks[row];
		uint32_t process = m->threads[s->thread].process;

		if (stack)
			want_code(c, process, stack, s->time_ns);
		if (stack)
			unwind_feed_note(c->feed, m, c->names, process, s->time_ns,
					 stack->end == STACK_END_NOT_YET ||
						 stack->end == STACK_END_MEMORY ||
						 stack->flags & STACK_UNSURE);
	}
}

static void feed_tables(struct collector *c)
{
	if (c->feed && !c->stopped)
		unwind_feed_work(c->feed, c->model, c->names);
}

/* Takes its records up to that time; who called exec has lost its names after it. */
static void drain_sideband(struct collector *c, uint64_t until_ns)
{
	model_loss_add(c->model, LOSS_BAD_RECORD,
		       session_drain_sideband(c->session, &c->sideband_ops, until_ns));
	for (size_t i = 0; i < c->execs_cnt; i++) {
		if (c->feed)
			unwind_feed_forget(c->feed, c->model, c->execs[i]);
		/* Those not sampled yet are read when they are. */
		if (c->model->processes[c->execs[i]].flags & PROCESS_SAMPLED)
			names_process_exec(c->names, c->model, c->execs[i]);
		else
			names_forget(c->names, c->model, c->execs[i]);
		/* Its mappings came before it was forgotten. */
		if (c->feed)
			unwind_feed_expect(c->feed, c->model, c->execs[i]);
	}
	c->execs_cnt = 0;
}

static void look_at_started(struct collector *c, uint64_t now_ns)
{
	drain_sideband(c, now_ns - SIDEBAND_LAG_NS);
	newly_started_look(&c->newly_started, c->model, c->names);
}

/* Names of many samples take long where files are opened: who just started does not wait for it. */
static void look_meanwhile(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns - c->looked_ns < LOOK_MEANWHILE_NS)
		return;
	look_at_started(c, now_ns);
	feed_tables(c);
	c->looked_ns = clock_now_ns();
}

/* In the order of time, each of them: what an address means depends on it. */
static void name_restless(struct collector *c, size_t from)
{
	struct model *m = c->model;
	uint64_t since_ns = from < m->samples_cnt ? m->samples[from].time_ns : 0;

	for (size_t i = from; i < m->samples_cnt; i++) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process, row;

		if (!sample.user_stack || !is_restless(c, process, since_ns))
			continue;
		collector_name_process(c, process);
		row = model_stack_find(m, sample.user_stack);
		if (row != MODEL_NONE)
			names_stack(c->names, m, row, sample.time_ns);
		look_meanwhile(c);
	}
}

/* Newest sample first: a stack is named once a pass, by what its addresses mean now. */
static void name_samples(struct collector *c, size_t from)
{
	struct model *m = c->model;

	c->named = m->samples_cnt;
	c->pass++;
	name_restless(c, from);
	for (size_t i = m->samples_cnt; i-- > from;) {
		struct model_sample sample = m->samples[i];
		uint32_t process = m->threads[sample.thread].process;

		collector_name_process(c, process);
		name_stack(c, sample.kernel_stack, sample.time_ns);
		name_stack(c, sample.user_stack, sample.time_ns);
		look_meanwhile(c);
	}
	names_read(c->names, m);
}

/* Whose waits are worth names and tables: those that may serve somebody, or ran, or are asked
 * about; and those who wait alone, as many as there was time for. */
static bool is_looked_at(const struct collector *c, uint32_t process)
{
	const struct model_process *p = &c->model->processes[process];

	return !(p->flags & (PROCESS_KERNEL | PROCESS_SELF)) &&
	       (p->flags & (PROCESS_DOTNET | PROCESS_SAMPLED | PROCESS_SELECTED) ||
		(process < c->waiters_cnt && c->waiters[process]));
}

static int note_waiter(struct collector *c, uint32_t process)
{
	while (c->waiters_cnt <= process) {
		if (GROW(c->waiters, c->waiters_cnt, c->waiters_cap))
			return -ENOMEM;
		c->waiters[c->waiters_cnt++] = false;
	}
	c->waiters[process] = true;
	return 0;
}

/* Who wakes others is named as they are, a few new ones a slice. */
static void choose_wakers(struct collector *c)
{
	const struct model *m = c->model;
	unsigned int most = WAITERS_A_TIME;

	for (size_t i = m->wakers_cnt; most && !c->stopped && i-- > 0;) {
		uint32_t process = m->threads[m->wakers[i].at.thread].process;

		if (m->wakers[i].slice + 1 != m->slices_cnt)
			break;
		if (is_looked_at(c, process) ||
		    m->processes[process].flags & (PROCESS_KERNEL | PROCESS_SELF))
			continue;
		most--;
		if (note_waiter(c, process))
			break;
	}
}

/* A few of those who wait and did not run are named from now on, where names and tables of others
 * leave the time; those first whose waits are brief, since something goes on there. */
static void choose_waiters(struct collector *c)
{
	const struct model *m = c->model;
	unsigned int most = names_is_reading(c->names) ? 1 : WAITERS_A_TIME;

	if (!c->looks || c->options.stacks.is_calm || c->stopped)
		return;
	for (int lasting = 0; lasting < 2; lasting++)
		for (size_t i = m->stands_cnt; i-- > 0;) {
			const struct model_stand *s = &m->stands[i];
			uint32_t process = m->threads[s->at.thread].process;

			if (s->slice + 1 != m->slices_cnt)
				break;
			if ((s->age_ns >= STAND_LASTING_NS) != lasting ||
			    is_looked_at(c, process) ||
			    m->processes[process].flags & (PROCESS_KERNEL | PROCESS_SELF) ||
			    m->processes[process].exit_ns)
				continue;
			if (!most-- || note_waiter(c, process))
				return;
		}
}

/* Of the rows of this slice that say where threads stand; of all others, too: at the end, when
 * nothing else waits for names. */
static void name_stand(struct collector *c, const struct model_sample *at, bool others)
{
	struct model_sample s = *at; /* naming may add to the model's tables */
	uint32_t process = c->model->threads[s.thread].process;

	if (!others && !is_looked_at(c, process))
		return;
	collector_name_process(c, process);
	name_stack(c, s.kernel_stack, s.time_ns);
	name_stack(c, s.user_stack, s.time_ns);
	look_meanwhile(c);
}

static void name_stands(struct collector *c, bool others)
{
	struct model *m = c->model;

	for (size_t i = m->stands_cnt; i-- > 0 && m->stands[i].slice + 1 == m->slices_cnt;)
		name_stand(c, &m->stands[i].at, others);
	/* Of an interrupt the kernel's frames tell. */
	for (size_t i = m->wakers_cnt; i-- > 0 && m->wakers[i].slice + 1 == m->slices_cnt;)
		name_stand(c, &m->wakers[i].at, true);
	names_read(c->names, m);
}

/* Who does not answer is looked at, whether it runs or not; once it does not run, its tables come
 * with those of nobody else. */
static void choose_hung(struct collector *c)
{
	hung_note(&c->hung, c->model);
	for (size_t i = 0; c->looks && i < c->hung.cnt; i++) {
		uint32_t process = c->hung.processes[i];

		if (note_waiter(c, process))
			break;
		collector_name_process(c, process);
		if (c->feed && c->model->processes[process].mapping_cnt)
			unwind_feed_prepare(c->feed, process);
	}
}

/* --- looks at threads that do not run --------------------------------------------------------- */

static struct blocked_looks_rooms rooms_of(struct collector *c)
{
	return (struct blocked_looks_rooms){
		.session = c->session,
		.model = c->model,
		.ingest = c->ingest,
		.maps = session_unwind(c->session),
		.selects = c->options.tgid_cnt || c->options.cgroup,
	};
}

static void end_looks(struct collector *c, uint64_t slice_ns)
{
	struct blocked_looks_rooms rooms = rooms_of(c);
	uint32_t tgid;

	if (!c->looks)
		return;
	blocked_looks_end_slice(c->looks, &rooms, slice_ns);
	if (blocked_looks_hang(c->looks, &tgid))
		log_warn("blocked time: the memory of a process, perhaps of pid %u, does not "
			 "answer; its stacks are left out until it does",
			 tgid);
}

static void note_walk(struct collector *c, const struct model_sample *at)
{
	const struct model *m = c->model;
	uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;
	uint32_t process = m->threads[at->thread].process;

	if (row == MODEL_NONE || !is_looked_at(c, process) ||
	    (m->stacks[row].end == STACK_END_ROOT && !(m->stacks[row].flags & STACK_UNSURE)))
		return;
	want_code(c, process, &m->stacks[row], at->time_ns);
	unwind_feed_note(c->feed, m, c->names, process, at->time_ns, true);
}

/* What their stacks lack is wanted: of stacks that were read since the last time. */
static void note_looks(struct collector *c)
{
	const struct model *m = c->model;

	for (size_t i = m->stands_cnt; c->feed && i-- > 0;) {
		if (m->stands[i].slice + 1 != m->slices_cnt)
			break;
		note_walk(c, &m->stands[i].at);
	}
	for (size_t i = m->wakers_cnt; c->feed && i-- > 0;) {
		if (m->wakers[i].slice + 1 != m->slices_cnt)
			break;
		note_walk(c, &m->wakers[i].at);
	}
}

/* --- records ---------------------------------------------------------------------------------- */

static void take_sample(void *ctx, const struct event_sample *sample)
{
	struct collector *c = ctx;

	if (c->options.samples)
		ingest_sample(c->ingest, sample);
	c->samples++;
}

static void take_stack(void *ctx, const struct event_stack *stack)
{
	struct collector *c = ctx;

	if (c->options.samples)
		ingest_stack(c->ingest, stack);
}

static void take_waker(void *ctx, const struct event_waker *waker)
{
	struct collector *c = ctx;
	struct blocked_looks_rooms rooms = rooms_of(c);

	if (c->looks)
		blocked_looks_wake(c->looks, &rooms, waker);
}

static void take_task(void *ctx, const struct event_task *task)
{
	ingest_task(((struct collector *)ctx)->ingest, task);
}

static void take_program(void *ctx, const struct event_exec *exec)
{
	exec_names_add(&((struct collector *)ctx)->exec_names, exec);
}

static void take_socket(void *ctx, const struct event_socket *socket)
{
	ingest_socket(((struct collector *)ctx)->ingest, socket);
}

static void take_refused(void *ctx, uint32_t tgid, uint64_t start_ns, uint64_t requests)
{
	ingest_refused(((struct collector *)ctx)->ingest, tgid, start_ns, requests);
}

static void take_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent, uint64_t time_ns)
{
	ingest_fork(((struct collector *)ctx)->ingest, tgid, tid, parent, time_ns);
}

static void take_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	ingest_exit(((struct collector *)ctx)->ingest, tgid, tid, time_ns);
}

/* Names come with the accounts, once a slice: only execs count here. A process that renames itself
 * in a loop is not followed. */
static void take_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		      bool exec, uint64_t time_ns)
{
	struct collector *c = ctx;
	uint32_t row;

	if (!exec)
		return;
	row = ingest_comm(c->ingest, tgid, tid, comm, len, exec, time_ns);
	if (row != MODEL_NONE)
		newly_started_exec(&c->newly_started, row);
	if (row != MODEL_NONE && !GROW(c->execs, c->execs_cnt, c->execs_cap))
		c->execs[c->execs_cnt++] = row;
}

static void expect_stacks(struct collector *c, uint32_t tgid, uint64_t time_ns)
{
	uint32_t process = model_process_at(c->model, tgid, time_ns);

	if (process != MODEL_NONE)
		unwind_feed_expect(c->feed, c->model, process);
}

static void take_mapping(void *ctx, const struct sideband_mapping *map)
{
	struct collector *c = ctx;
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

	ingest_mapping(c->ingest, &mapping);
	if (c->feed && model_mapping_kind_of(map->path, map->path_len) == MAPPING_FILE)
		expect_stacks(c, map->tgid, map->time_ns);
	if (c->options.samples && names_is_runtime(map->path, map->path_len))
		newly_started_add(&c->newly_started, c->model,
				  model_process_at(c->model, map->tgid, map->time_ns));
}

static bool passes(void *ctx, uint32_t tgid)
{
	return ingest_refuses_mapping(((struct collector *)ctx)->ingest, tgid);
}

static void take_lost(void *ctx, uint64_t records)
{
	ingest_lost(((struct collector *)ctx)->ingest, records);
}

/* Fills c->ops and c->sideband_ops. */
static void set_callbacks(struct collector *c)
{
	c->ops = (struct session_ops){
		c,	   take_sample,	 take_stack,  take_waker,
		take_task, take_program, take_socket, take_refused,
	};
	c->sideband_ops = (struct sideband_ops){
		c, take_fork, take_exit, take_comm, take_mapping, take_lost, passes};
}

/* --- requests --------------------------------------------------------------------------------- */

/* Its counters go on while it is copied: each is whole, and of about this moment. */
static bool copy_endpoint(const struct endpoint *row, struct endpoint *ret_copy)
{
	/* Written last: with it, the rest is there. */
	if (!__atomic_load_n(&row->listener, __ATOMIC_ACQUIRE))
		return false;
	memcpy(ret_copy, row, sizeof(*row));
	return true;
}

/* Who serves is to have a name although it uses no CPU: one that hangs. */
static void name_servers(struct collector *c)
{
	const struct model *m = c->model;

	for (size_t i = m->services_cnt; c->options.facts && i-- > 0;) {
		if (m->services[i].slice + 1 < m->slices_cnt)
			return; /* of earlier slices */
		collector_name_process(c, m->endpoints[m->services[i].endpoint].process);
	}
}

/* Which part of the connections the slice tells of. */
static void note_share(struct collector *c)
{
	struct model_slice *slice;

	if (!c->model->slices_cnt)
		return;
	slice = &c->model->slices[c->model->slices_cnt - 1];
	slice->one_followed_of = 1u << follow_most_shift(&c->follow);
	slice->followed = session_connections_followed(c->session);
}

static void set_shares(struct collector *c)
{
	for (unsigned int i = 0; i < FOLLOW_BUCKETS; i++)
		session_follow_share(c->session, i, c->follow.buckets[i].shift);
}

/* The slice is over: how many connections are to be followed in the next one. */
static void choose_share(struct collector *c, uint64_t elapsed_ns)
{
	struct follow_seen seen[FOLLOW_BUCKETS];

	session_take_followed(c->session, seen);
	c->follow.most = c->options.follow_most;
	follow_next(&c->follow, seen, elapsed_ns);
	set_shares(c);
}

void collector_follow(struct collector *c, uint32_t most)
{
	c->options.follow_most = most;
}

/* Takes requests and what stands unanswered into the slice. first: the model knows of no socket
 * yet. */
static void read_requests(struct collector *c, bool first)
{
	/* A recording ends with what stands then. */
	bool due = first || c->stopped || session_sockets_due(c->session);
	const struct endpoint *rows = NULL;
	struct endpoint row;
	uint32_t cnt;
	int err = 0;

	if (model_off(c->model) & OFF_REQUESTS)
		return;
	ingest_requests_begin(c->ingest, clock_now_ns());
	cnt = session_endpoints(c->session, &rows);
	for (uint32_t i = 0; i < cnt; i++)
		if (copy_endpoint(&rows[i], &row))
			ingest_endpoint(c->ingest, i, &row);
	if (due)
		err = session_read_sockets(c->session, &c->ops);
	if (err)
		model_loss_add(c->model, LOSS_ITERATOR, 1);
	/* A name is missing then, and not the count. */
	if (session_read_refused(c->session, &c->ops))
		log_debug("requests: who was refused an endpoint is not known");
	ingest_requests_end(c->ingest, due && !err);
	note_share(c);
	name_servers(c);
}

/* --- slices ---------------------------------------------------------------------------------- */

static void drain_until(struct collector *c, uint64_t until_ns)
{
	/* The side-band first: a process is to be known before its samples. */
	drain_sideband(c, until_ns);
	model_loss_add(c->model, LOSS_BAD_RECORD, session_drain(c->session, &c->ops));
	exec_names_apply(&c->exec_names, c->model, until_ns);
	newly_started_look(&c->newly_started, c->model, c->names);
}

static void read_accounts(struct collector *c, bool all)
{
	uint64_t now_ns = clock_now_ns();
	int err;

	all |= now_ns - c->all_read_ns >= ALL_EVERY_NS;
	ingest_pass_begin(c->ingest);
	err = session_read_accounts(c->session, all, &c->ops);
	if (err) {
		model_loss_add(c->model, LOSS_ITERATOR, 1);
	} else if (all) {
		ingest_pass_end(c->ingest, clock_now_ns());
		c->all_read_ns = now_ns;
	}
}

/* The clock of a CPU as it stands; is_read stays false where it could not be read. */
static void read_clock(struct collector *c, uint32_t cpu)
{
	struct clock_reading *r = &c->clocks[cpu];

	r->is_read = !session_read_cpu(c->session, cpu, &r->clock, &r->now_ns);
	if (r->is_read && c->options.gear.quiet)
		cpu_time_read(&c->cpu_times[cpu], r->now_ns, c->idle_ns[cpu], c->online[cpu],
			      &r->clock);
}

/* Returns the time of the reading. */
static uint64_t read_clocks(struct collector *c)
{
	for (uint32_t cpu = 0; cpu < c->host.cpus_possible; cpu++)
		read_clock(c, cpu);
	return clock_now_ns();
}

static void take_clocks(struct collector *c)
{
	for (uint32_t cpu = 0; cpu < c->host.cpus_possible; cpu++) {
		const struct clock_reading *r = &c->clocks[cpu];
		struct cpu_reading reading = {&r->clock, r->now_ns, c->steal_ns[cpu],
					      c->idle_ns[cpu], c->online[cpu]};

		if (r->is_read)
			ingest_cpu(c->ingest, cpu, &reading);
		else
			model_loss_add(c->model, LOSS_ITERATOR, 1);
	}
}

static void read_kernel_counts(struct collector *c)
{
	host_online_cpus(c->online);
	host_read_cpus(c->steal_ns, c->idle_ns, c->host.cpus_possible);
}

/*
 * Accounts and clocks that are of one moment, as far as that can be: what a thread runs between the
 * reading of its account and that of its CPU is missing in the one or the other book, and on a full
 * host the reader itself waits for a CPU in between, for a tenth of a second and more. Then both
 * are read once more; between slices of one recording what is missing in the one is in the next.
 * Returns the time of the reading, to which this slice reaches.
 */
static uint64_t read_books(struct collector *c, bool all)
{
	uint64_t first_ns = clock_now_ns(), begin_ns = first_ns, end_ns, ran_ns;

	for (int i = 0;; i++) {
		ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		/* Who slept on since the last try is not asked again. */
		read_accounts(c, all && !i);
		read_kernel_counts(c);
		end_ns = read_clocks(c);
		ran_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_ns;
		/* Work would take as long again; waiting need not. */
		if (rise_of(end_ns - begin_ns, ran_ns) < BOOKS_WAITED_NS || i == BOOKS_TRIES - 1 ||
		    end_ns - first_ns > BOOKS_TRIED_NS || !all || c->options.gear.quiet)
			break;
		begin_ns = end_ns;
	}
	take_clocks(c);
	return end_ns;
}

/* As of the last host_online_cpus(). */
static void follow_cpus(struct collector *c)
{
	model_loss_add(c->model, LOSS_CPU_UNATTACHED, session_follow_cpus(c->session, c->online));
	c->followed_ns = clock_now_ns();
}

/* Returns by how much it rose since the last reading. */
static uint64_t read_pressure(struct collector *c)
{
	uint64_t was = c->pressure_ns;

	if (model_off(c->model) & OFF_PRESSURE)
		return 0;
	if (host_read_pressure(&c->pressure_ns))
		c->model->host.off |= OFF_PRESSURE;
	return c->pressure_ns > was ? c->pressure_ns - was : 0;
}

static void read_losses(struct collector *c)
{
	uint64_t counts[LOSS_KERNEL_CNT], now;

	session_read_losses(c->session, counts);
	ingest_losses(c->ingest, counts, LOSS_KERNEL_CNT);
	now = session_recursion_misses(c->session);
	model_loss_add(c->model, LOSS_RECURSION, now - c->recursion_misses);
	c->recursion_misses = now;
	now = names_timeouts(c->names);
	model_loss_add(c->model, LOSS_NAMES_TIMEOUT, now - c->names_timeouts);
	c->names_timeouts = now;
	now = session_wakers_lost(c->session);
	model_loss_add(c->model, LOSS_WAKERS, now - c->wakers_lost);
	c->wakers_lost = now;
	follow_cpus(c);
}

/* A host that runs but delivers no tick: the event is there, its interrupt is not. */
static void check_ticks(struct collector *c)
{
	const struct model *m = c->model;

	/* Of this slice: the model may hold earlier ones, too. */
	for (size_t i = m->cpus_cnt; i-- > 0 && m->cpus[i].slice + 1 == m->slices_cnt;) {
		const struct model_cpu *cpu = &m->cpus[i];

		c->ticks_seen |= cpu->ticks_taken > 0;
		c->ticks_expected_ns += cpu->accounted_ns;
	}
	if (c->ticks_seen || c->ticks_expected_ns < TICKS_EXPECTED_MIN * 1000000000ull *
							    c->options.gear.sample_every /
							    c->options.sample_hz)
		return;
	c->ticks_seen = true; /* say it once */
	log_warn("sampling: no tick has arrived although the CPUs are busy; hot paths will be "
		 "missing (the sampling event does not fire on this machine)");
}

void collector_drain(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	drain_until(c, now_ns - SIDEBAND_LAG_NS);
	read_maps(c);
	/* Soon, since short processes take their files' names with them. */
	note_stacks(c);
	name_samples(c, c->named);
	feed_tables(c);
	c->drained_ns = now_ns;
	if (now_ns - c->followed_ns < FOLLOW_CPUS_NS)
		return;
	host_online_cpus(c->online);
	follow_cpus(c);
}

/* --- single switches -------------------------------------------------------------------------- */

/* Beside a session: without them it is as it was. */
static void open_switches(struct collector *c)
{
	const struct switch_ring_options options = {
		.cpus_possible = c->host.cpus_possible,
		.window_ns = (uint64_t)(c->options.switches_s * 1e9),
		.online = c->online,
		.bytes_max = c->options.switches_bytes,
	};

	if (c->options.switches_s <= 0 || c->switches)
		return;
	host_online_cpus(c->online);
	if (switch_ring_new(&options, c->switches_why, sizeof(c->switches_why), &c->switches))
		c->switches = NULL;
}

void collector_take_switches(struct collector *c)
{
	c->takes_switches = c->switches != NULL;
}

/* Those up to end_ns, after the clocks were read for it. */
static void take_switches(struct collector *c, uint64_t end_ns)
{
	uint32_t cpus = c->host.cpus_possible;
	struct switch_running *running = calloc(cpus, sizeof(*running));
	struct switch_window window = {(uint64_t)(c->options.switches_s * 1e9), end_ns, cpus,
				       running, c->online};
	struct switch_taken taken = {.from_ns = end_ns};
	uint64_t lost;
	int err = running ? 0 : -ENOMEM;

	c->takes_switches = false;
	for (uint32_t cpu = 0; !err && cpu < cpus; cpu++) {
		const struct clock_reading *r = &c->clocks[cpu];

		/* In the quiet gear nobody looks at who runs. */
		if (r->is_read && !c->options.gear.quiet)
			running[cpu] = (struct switch_running){r->clock.running_tid,
							       r->clock.last_switch_ns};
	}
	if (!err)
		err = switch_take(c->switches, &window, c->model, &taken);
	if (err == -EAGAIN)
		log_warn("switches: there are too many a second to be kept");
	else if (err)
		log_warn("switches: out of memory: none are kept");
	else if (taken.is_full)
		log_info("switches: of the last %.3f s; for %g s there were too many",
			 (double)rise_of(end_ns, taken.from_ns) / 1e9, c->options.switches_s);
	lost = switch_ring_lost(c->switches);
	model_loss_add(c->model, LOSS_SWITCHES, lost - c->switches_lost);
	c->switches_lost = lost;
	free(running);
}

/* Names are needed of who is not sampled, too: of those that have lived for a slice. */
static void take_service_signals(struct collector *c)
{
	const struct model *m = c->model;

	if (!c->options.signals)
		return;
	for (uint32_t i = 0; i < m->processes_cnt; i++)
		if (!m->processes[i].exit_ns && m->processes[i].born_ns < c->slice_start_ns)
			collector_name_process(c, i);
	c->options.take_service_signals(c->options.signals, c->model);
}

/* Says whose names are left out for what they cost, each once. */
static void tell_costly(struct collector *c)
{
	unsigned told = 0;
	uint32_t row;

	if (!c->sandbox_told && names_cost(c->names).without) {
		c->sandbox_told = true;
		log_warn("names: files of other processes are read without a full sandbox: this "
			 "kernel, or "
			 "the container that hotrun is in, does not allow it; limits of CPU and "
			 "memory hold");
	}
	if (!c->helpers_told && names_cost(c->names).no_helpers) {
		c->helpers_told = true;
		log_warn("names: the process " HELPER_NURSERY " has ended: no more files of other "
			 "processes are read, and their code stays without names; start hotrun "
			 "again");
	}
	/* The others are in the report: a storm of them is not to fill the log. */
	while (told++ < COSTLY_TOLD && (row = names_next_costly(c->names)) != MODEL_NONE) {
		const struct model_process *p = &c->model->processes[row];
		const char *known = *p->name ? p->name : p->comm;
		char name[256];

		text_copy_safe(name, sizeof(name), known, strlen(known));
		if (p->files_refused)
			log_warn("pid %u (%s): its names are incomplete: a file of it takes more "
				 "work to "
				 "read than a file may; others are not affected",
				 p->tgid, name);
		else
			log_warn("pid %u (%s): its names are incomplete: its perf map is written "
				 "faster, "
				 "or anew more often, than it is followed; others are not affected",
				 p->tgid, name);
	}
}

/* The end of a recording: those who wait and did not run have some time of their own. */
static void settle_waiters(struct collector *c)
{
	uint64_t end_ns = clock_now_ns() + WAITERS_NS;

	do {
		c->pass++;
		name_stands(c, true);
		if (!names_is_reading(c->names) && !names_waiting(c->names))
			break;
		wait_names_moment(c->names);
	} while (clock_now_ns() < end_ns);
}

/* Where something does not answer, nobody else is asked. */
static void settle(struct collector *c)
{
	uint64_t begin_ns = clock_now_ns();

	names_settle(c->names, c->model);
	if (c->looks && !c->options.stacks.is_calm && clock_now_ns() - begin_ns < WAITERS_NS)
		settle_waiters(c);
}

void collector_end_slice(struct collector *c)
{
	struct model *m = c->model;
	struct model_slice *slice;
	uint64_t end_ns, pressure_ns;

	ingest_set_boot_offset(c->ingest, host_boot_offset_ns());
	drain_until(c, c->stopped ? UINT64_MAX : clock_now_ns() - SIDEBAND_LAG_NS);
	read_requests(c, false);
	end_ns = read_books(c, c->stopped);
	/* What came meanwhile is in the books of this slice, and a capture may end with it. */
	drain_until(c, c->stopped ? UINT64_MAX : clock_now_ns() - SIDEBAND_LAG_NS);
	if (c->switches && (c->stopped || c->takes_switches))
		take_switches(c, end_ns);
	pressure_ns = read_pressure(c);
	read_losses(c);
	cgroup_select_refresh(&c->cgroups, c->session, m);
	cgroup_watch_refresh(&c->groups, m);
	read_maps(c);
	ingest_read_lost(c->ingest);
	names_tail(c->names, m, c->tailed_ns);
	c->tailed_ns = clock_now_ns();
	end_looks(c, end_ns - c->slice_start_ns);
	choose_hung(c);
	note_stacks(c);
	choose_waiters(c);
	choose_wakers(c);
	note_looks(c);
	name_samples(c, c->first_sample);
	name_stands(c, false);
	feed_tables(c);
	if (c->feed)
		unwind_feed_tidy(c->feed, m);
	if (c->stopped)
		settle(c);
	tell_costly(c);
	take_service_signals(c);
	ingest_slice_end(c->ingest);
	check_ticks(c);

	slice = &m->slices[m->slices_cnt - 1];
	slice->end_ns = end_ns; /* naming may take long on a slow host */
	choose_share(c, end_ns > slice->start_ns ? end_ns - slice->start_ns : 0);
	slice->pressure_ns = pressure_ns;
	m->host.end_ns = slice->end_ns;
	c->slice_start_ns = slice->end_ns;
}

int collector_fresh_slice(struct collector *c)
{
	model_forget_slice(c->model);
	model_keep_slices(c->model, (uint32_t)c->model->slices_cnt, UINT32_MAX);
	c->model->host.start_ns = c->slice_start_ns;
	return collector_begin_slice(c);
}

/* --- gears ----------------------------------------------------------------------------------- */

/* The books of CPUs go on from the clocks of this gear. */
static void change_clocks(struct collector *c)
{
	host_read_cpus(c->steal_ns, c->idle_ns, c->host.cpus_possible);
	memset(c->cpu_times, 0, HOST_MAX_CPUS * sizeof(*c->cpu_times));
	read_clocks(c);
	for (uint32_t cpu = 0; cpu < c->host.cpus_possible; cpu++)
		if (c->clocks[cpu].is_read)
			ingest_cpu_change(c->ingest, cpu, &c->clocks[cpu].clock,
					  c->clocks[cpu].now_ns);
		else
			model_loss_add(c->model, LOSS_ITERATOR, 1);
}

/* Within a slice that has begun just now, which is told as one of the new gear. */
static void change_gear(struct collector *c)
{
	const struct collector_gear next = c->next_gear;
	bool turns = next.quiet != c->options.gear.quiet;
	int err = 0;

	if (turns) {
		read_kernel_counts(c);
		read_clocks(c);
		take_clocks(c);
		err = session_set_gear(c->session, next.quiet);
	}
	if (turns && !err) {
		c->options.gear.quiet = next.quiet;
		change_clocks(c);
	}
	if (!err && next.sample_every != c->options.gear.sample_every) {
		/* Those that are on their way count as ticks of this rate. */
		drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
		err = session_set_rate(c->session, next.sample_every);
		if (!err)
			c->options.gear.sample_every = next.sample_every;
	}
	if (err)
		log_warn("the gear stays as it is: %s", strerror(-err));
	c->next_gear = c->options.gear;
}

void collector_set_gear(struct collector *c, const struct collector_gear *gear)
{
	c->next_gear = fit_gear(gear);
	if (!session_can_be_quiet(c->session))
		c->next_gear.quiet = false;
}

struct collector_gear collector_gear(const struct collector *c)
{
	return c->options.gear;
}

int collector_begin_slice(struct collector *c)
{
	struct model_slice slice = {
		.start_ns = c->slice_start_ns,
		.wall_offset_ns = host_wall_offset_ns(),
		.sample_every = c->options.gear.sample_every,
		.quiet = c->options.gear.quiet,
	};
	int err;

	fair_begin_anew(&c->facts);
	c->facts.most = FACTS_CPU_US * c->host.cpus_online;
	c->facts.most_of_cgroup = c->facts.most_of_process = c->facts.most / 2;
	c->named = c->first_sample = c->model->samples_cnt;
	err = model_slice_add(c->model, &slice);
	if (err)
		return err;
	if (c->next_gear.quiet != slice.quiet || c->next_gear.sample_every != slice.sample_every) {
		change_gear(c);
		model_slice_gear(c->model, c->options.gear.quiet, c->options.gear.sample_every);
	}
	ingest_set_every(c->ingest, c->options.gear.sample_every);
	if (c->looks)
		blocked_looks_begin_slice(c->looks, c->options.blocked && !c->options.gear.quiet &&
							    !session_stands_why(c->session));
	return 0;
}

/* --- pause ------------------------------------------------------------------------------------ */

/* False: a signal came. */
static bool sleep_until(uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns(), ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	return !nanosleep(&pause, NULL);
}

/* A signal or the caller's file ends the pause: false. Records that come while it rests wait. */
static bool wait_until(struct collector *c, uint64_t due_ns, uint64_t *rest_end_ns, int fd)
{
	uint64_t now_ns = clock_now_ns();
	enum sideband_came what;

	if (now_ns < *rest_end_ns)
		return sleep_until(due_ns < *rest_end_ns ? due_ns : *rest_end_ns);
	what = session_wait(c->session, due_ns > now_ns ? due_ns - now_ns : 0, fd);
	if (what == SIDEBAND_RECORDS)
		*rest_end_ns = clock_now_ns() + newly_started_woken(&c->newly_started);
	return what == SIDEBAND_RECORDS || (what == SIDEBAND_NOTHING && clock_now_ns() >= due_ns);
}

/* What is drained late is read late. */
static uint64_t soon_ns(const struct collector *c)
{
	return c->options.samples && !c->stopped ? names_soon_ns(c->names) : UINT64_MAX;
}

/* Looks after what goes on by itself. Returns when to do so again, until_ns at the latest. */
static uint64_t work_on(struct collector *c, uint64_t until_ns)
{
	uint64_t now_ns = clock_now_ns(), due_ns = UINT64_MAX;
	bool early = c->feed && now_ns - c->start_ns < EARLY_NS;

	if (names_poll(c->names))
		due_ns = now_ns + (early ? EARLY_POLL_NS : NAMES_POLL_NS);
	if (soon_ns(c) != UINT64_MAX) {
		names_read(c->names, c->model);
		due_ns = now_ns + SOON_POLL_NS;
	}
	if (c->feed && unwind_feed_is_busy(c->feed)) {
		uint64_t feed_ns = unwind_feed_work(c->feed, c->model, c->names);

		now_ns = clock_now_ns();
		if (feed_ns < now_ns + FEED_REST_NS)
			feed_ns = now_ns + FEED_REST_NS;
		if (feed_ns < due_ns)
			due_ns = feed_ns;
	}
	if (early && now_ns + EARLY_DRAIN_NS < due_ns)
		due_ns = now_ns + EARLY_DRAIN_NS;
	if (c->looks && blocked_looks_due_ns(c->looks) < due_ns)
		due_ns = blocked_looks_due_ns(c->looks);
	return due_ns < until_ns ? due_ns : until_ns;
}

/* Only to see whose stacks lack tables. Names wait for the next drain: they may hold up looks at
 * processes that just started. */
static void drain_early(struct collector *c)
{
	uint64_t now_ns = clock_now_ns();

	if (!c->feed || now_ns - c->start_ns >= EARLY_NS || now_ns - c->drained_ns < EARLY_DRAIN_NS)
		return;
	drain_until(c, now_ns - SIDEBAND_LAG_NS);
	note_stacks(c);
	feed_tables(c);
	c->drained_ns = now_ns;
}

static void drain_soon(struct collector *c)
{
	if (clock_now_ns() - c->drained_ns >= soon_ns(c))
		collector_drain(c);
}

/* Whom looks are at; none: at all. */
static size_t choose_looked(const struct collector *c, uint32_t tgids[static FILTER_TGIDS_MAX])
{
	const struct model *m = c->model;
	size_t cnt = 0;

	if (c->options.tgid_cnt) {
		memcpy(tgids, c->options.tgids, c->options.tgid_cnt * sizeof(*tgids));
		return c->options.tgid_cnt;
	}
	if (!c->options.stacks.is_calm)
		return 0;
	for (uint32_t i = 0; i < m->processes_cnt && cnt < FILTER_TGIDS_MAX; i++) {
		if (!m->processes[i].exit_ns && is_looked_at(c, i))
			tgids[cnt++] = m->processes[i].tgid;
	}
	return cnt;
}

static void look_at_blocked(struct collector *c)
{
	struct blocked_looks_rooms rooms = rooms_of(c);
	uint32_t tgids[FILTER_TGIDS_MAX];
	size_t cnt;

	if (!c->looks || blocked_looks_due_ns(c->looks) > clock_now_ns())
		return;
	cnt = choose_looked(c, tgids);
	if (c->options.wakers)
		drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
	/* Of nobody is no choice. */
	if (c->options.stacks.is_calm && !cnt)
		tgids[cnt++] = (uint32_t)getpid();
	if (blocked_looks_work(c->looks, &rooms, tgids, cnt) &&
	    clock_now_ns() - c->start_ns < EARLY_NS) {
		choose_waiters(c);
		choose_wakers(c);
		note_looks(c);
		feed_tables(c);
	}
}

void collector_pause(struct collector *c, uint64_t ns, int fd)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + ns, rest_end_ns = 0;

	while (now_ns < end_ns) {
		uint64_t due_ns = newly_started_due_ns(&c->newly_started, work_on(c, end_ns));

		if (!wait_until(c, due_ns, &rest_end_ns, fd))
			return;
		now_ns = clock_now_ns();
		if (now_ns >= end_ns)
			return;
		look_at_started(c, now_ns);
		drain_early(c);
		drain_soon(c);
		look_at_blocked(c);
		now_ns = clock_now_ns();
	}
}

/* --- what it says of itself ------------------------------------------------------------------- */

bool collector_sees_requests(const struct collector *c)
{
	return c->options.requests && !session_requests_why(c->session);
}

/* Where connections that waited to be accepted before the start are not seen. */
static void warn_of_namespaces(const struct collector *c)
{
	uint32_t seen, all;

	if (!collector_sees_requests(c))
		return;
	session_namespaces(c->session, &seen, &all);
	if (seen < all)
		log_warn("requests: %u of %u network namespaces could not be entered; there, "
			 "connections that waited to be accepted before are not seen",
			 all - seen, all);
}

void collector_requests_text(const struct collector *c, char *text, size_t bytes)
{
	const char *why = session_requests_why(c->session);

	if (!c->options.requests)
		snprintf(text, bytes, "requests off");
	else
		snprintf(text, bytes, "requests%s%s", why ? " off: " : "", why ? why : "");
}

/* What is off and why, each after "; ". */
static void list_off(const struct collector *c, char *text, size_t bytes)
{
	const char *why = session_unwind_why(c->session);
	const char *wakers = c->options.wakers && !c->options.blocked
				     ? "without blocked time there are no waits"
				     : session_wakers_why(c->session);

	snprintf(text, bytes, "%s%s%s%s%s%s%s%s",
		 c->model->kernel_text ? "" : "; kernel names off: kallsyms is hidden",
		 c->host.max_stack < 127 ? "; stacks cut short: kernel.perf_event_max_stack" : "",
		 why ? "; stacks break in code without frame pointers: " : "", why ?: "",
		 wakers ? "; wakers off: " : "", wakers ?: "",
		 *c->switches_why ? "; switches off: " : "", c->switches_why);
}

static void warn_of_capabilities(void)
{
	char missing[128];

	if (host_missing_capabilities(missing, sizeof(missing)))
		log_warn("names of other users' processes are off: missing capabilities:%s",
			 missing);
}

void collector_announce(const struct collector *c, const char *verb)
{
	const struct model_host *h = &c->model->host;
	char stacks[512] = "no stacks", off[512] = "", requests[256];

	if (c->options.samples) {
		list_off(c, off, sizeof(off));
		snprintf(stacks, sizeof(stacks), "stacks of %s%s",
			 *h->filter ? h->filter : "all processes", off);
	}
	collector_requests_text(c, requests, sizeof(requests));
	log_info("%s at %u Hz (%s) on %u CPU%s: %s of all processes (%zu threads), %s, %s", verb,
		 h->sample_hz / c->options.gear.sample_every, h->event, h->cpus_online,
		 h->cpus_online == 1 ? "" : "s",
		 c->options.gear.quiet ? "quiet gear: CPU times and waits by the kernel's counts"
				       : "accounts",
		 c->model->threads_cnt, requests, stacks);
	warn_of_namespaces(c);
	warn_of_capabilities();
}

void collector_warn(const struct collector *c)
{
	char off[512] = "", requests[256];

	if (c->options.samples)
		list_off(c, off, sizeof(off));
	if (*off)
		log_warn("%s", off + strlen("; "));
	if (c->options.requests && !collector_sees_requests(c)) {
		collector_requests_text(c, requests, sizeof(requests));
		log_warn("%s", requests);
	}
	warn_of_namespaces(c);
	warn_of_capabilities();
}

/* --- start ----------------------------------------------------------------------------------- */

static void describe(struct collector *c)
{
	struct model *m = c->model;
	char filter[256] = "";
	size_t used = 0;

	if (c->options.cgroup)
		snprintf(filter, sizeof(filter), "--cgroup %s", c->options.cgroup);
	for (size_t i = 0; i < c->options.tgid_cnt && used < sizeof(filter) - 16; i++)
		used += (size_t)snprintf(filter + used, sizeof(filter) - used, "%s-p %u",
					 i ? " " : "", c->options.tgids[i]);
	m->host.name = model_str(m, c->options.host_name ?: c->host.name);
	m->host.kernel = model_str(m, c->host.release);
	m->host.machine = model_str(m, c->host.machine);
	m->host.version = HOTRUN_VERSION;
	m->host.event = c->options.cycles ? "cycles" : "cpu-clock";
	m->host.filter = model_str(m, filter);
	m->host.command = model_str(m, c->options.command);
	m->host.cpus_online = c->host.cpus_online;
	m->host.cpus_possible = c->host.cpus_possible;
	m->host.sample_hz = c->options.sample_hz;
	m->host.max_stack = c->host.max_stack;
}

static int open_session(struct collector *c, char *why, size_t why_bytes)
{
	/* Without samples nobody reads stacks: the kernel walks those of one process alone,
	 * hotrun's own, which mostly sleeps. */
	uint32_t self = (uint32_t)getpid();
	struct session_options options = {
		.sample_hz = c->options.sample_hz,
		.quiet = c->options.gear.quiet,
		.sample_every = c->options.gear.sample_every,
		.cycles = c->options.cycles,
		.cpus_possible = c->host.cpus_possible,
		.max_stack = c->host.max_stack,
		.tables = c->options.samples && !c->options.stacks.by_fp,
		.unwind_bytes = c->options.stacks.unwind_bytes ?: UNWIND_BYTES,
		.stack_frames = c->options.stacks.frames,
		.tgids = c->options.samples ? c->options.tgids : &self,
		.tgid_cnt = c->options.samples ? c->options.tgid_cnt : 1,
		.cgroups = c->cgroups.folder != NULL,
		.requests = c->options.requests,
		.stands = c->options.stands || c->options.blocked,
		.wakers = c->options.wakers && c->options.blocked,
		.slow_ns = c->options.slow_ns,
		.slow_ports = c->options.slow_ports,
		.slow_port_cnt = c->options.slow_port_cnt,
	};

	int err = session_new(&options, why, why_bytes, &c->session);

	if (!err)
		c->options.gear.quiet = c->next_gear.quiet = session_is_quiet(c->session);
	if (!err)
		set_shares(c);
	if (!err && session_unwind(c->session)) {
		c->feed = unwind_feed_new(session_unwind(c->session), c->options.stacks.is_calm);
		if (!c->feed)
			err = -ENOMEM;
	}
	return err;
}

bool collector_walks_by_tables(const struct collector *c)
{
	return c->feed != NULL;
}

const char *collector_tables_why(const struct collector *c)
{
	return session_unwind_why(c->session);
}

static int open_rooms(struct collector *c)
{
	struct names_options names = {
		.nursery = c->nursery,
		.workers = c->workers,
		.memory_bytes = c->options.bytes_max * NAMES_PARTS,
		.proc_path = "/proc",
		.node_root = c->options.node_root,
		.unwinds = c->options.samples && !c->options.stacks.by_fp,
		.from = (enum names_from)c->options.names,
	};

	c->model = model_new();
	if (!c->model)
		return -ENOMEM;
	describe(c);
	c->ingest = ingest_new(c->model, c->host.cpus_possible, host_boot_offset_ns());
	c->names = names_new(&names);
	return c->ingest && c->names ? 0 : -ENOMEM;
}

int collector_new(const struct collector_options *options, char *why, size_t why_bytes,
		  struct collector **ret_collector)
{
	struct collector *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	snprintf(why, why_bytes, "out of memory");
	if (!c)
		return err;
	c->options = *options;
	c->options.gear = fit_gear(&options->gear);
	c->next_gear = c->options.gear;
	set_callbacks(c);
	c->online = calloc(HOST_MAX_CPUS, sizeof(*c->online));
	c->steal_ns = calloc(HOST_MAX_CPUS, sizeof(*c->steal_ns));
	c->idle_ns = calloc(HOST_MAX_CPUS, sizeof(*c->idle_ns));
	c->cpu_times = calloc(HOST_MAX_CPUS, sizeof(*c->cpu_times));
	c->clocks = calloc(HOST_MAX_CPUS, sizeof(*c->clocks));
	if (!c->online || !c->steal_ns || !c->idle_ns || !c->cpu_times || !c->clocks)
		goto out;
	host_describe(&c->host);
	err = host_check(&c->host, why, why_bytes);
	if (!err && options->cgroup) {
		err = cgroup_tree_find(options->cgroup, &c->cgroups.folder);
		if (err)
			snprintf(why, why_bytes, "%s: %s", options->cgroup,
				 err == -ENOENT ? "no such cgroup" : strerror(-err));
	}
	if (err)
		goto out;
	/* Before there is any BPF object, and for as long as there is one: none is any helper's. */
	c->nursery = nursery_new(OPENER_CAPABILITIES);
	if (c->nursery)
		c->workers = names_workers(c->nursery, c->options.bytes_max * NAMES_PARTS,
					   &c->options.file_limits);
	err = c->workers ? open_rooms(c) : -errno;
	if (!err && (options->stands || options->blocked)) {
		c->looks = blocked_looks_new(c->nursery,
					     options->stacks.is_calm ? CALM_LOOKS : LOOKS_A_SECOND,
					     options->stacks.is_calm ? CALM_PART : LOOKS_PART);
		err = c->looks ? 0 : -ENOMEM;
	}
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	err = open_session(c, why, why_bytes);
	if (!err)
		open_switches(c);
out:
	if (err) {
		collector_free(c);
		return err;
	}
	*ret_collector = c;
	return 0;
}

static void name_process(struct collector *c, uint32_t process)
{
	names_process(c->names, c->model, process);
	/* Its mappings told. */
	if (c->options.samples && (c->model->processes[process].flags & PROCESS_DOTNET))
		newly_started_add(&c->newly_started, c->model, process);
}

/* Facts and mappings of what runs already; the busiest of 200 processes cost 20 ms together. */
static void read_processes(struct collector *c)
{
	uint64_t end_ns = clock_now_ns() + START_FACTS_NS;

	for (uint32_t i = 0; i < c->model->processes_cnt && clock_now_ns() < end_ns; i++)
		if (!(c->model->processes[i].flags &
		      (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL)))
			name_process(c, i);
}

/* Whether a thread wanted a CPU since the accounts were read last, and will be sampled. */
static bool is_busy(const struct collector *c, const struct model_thread *t)
{
	const struct model_process *p = &c->model->processes[t->process];
	bool is_selected =
		(!c->options.tgid_cnt && !c->options.cgroup) || (p->flags & PROCESS_SELECTED);

	return is_selected && !(p->flags & PROCESS_KERNEL) && p->mapping_cnt &&
	       (t->ran_before_ns >= START_BUSY_NS || t->state == 'R');
}

/* Who is busy gets its tables before the first sample is taken, as far as that time goes. */
static void prepare_tables(struct collector *c, uint64_t ns)
{
	struct model *m = c->model;

	if (!c->feed || c->options.stacks.is_calm)
		return;
	read_accounts(c, true);
	for (size_t i = 0; i < m->threads_cnt; i++)
		if (is_busy(c, &m->threads[i]))
			unwind_feed_prepare(c->feed, m->threads[i].process);
	wait_names_tables(c->feed, c->model, c->names, NULL, 0, clock_now_ns() + ns);
}

/* What of the code of running .NET processes may be replaced soon is known before it is sampled.
 * Not waited for is who does not answer, nor what cannot be asked for now. */
static void prepare_names(struct collector *c)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + START_NAMES_NS, came_ns = now_ns;
	uint64_t answers = names_answers(c->names), patience_ns;

	while (c->options.samples && now_ns < end_ns && names_read(c->names, c->model)) {
		patience_ns = names_is_reading(c->names) ? START_HUNG_NS : START_IDLE_NS;
		now_ns = clock_now_ns();
		if (names_answers(c->names) != answers)
			came_ns = now_ns;
		else if (now_ns - came_ns >= patience_ns)
			break;
		answers = names_answers(c->names);
		wait_names_moment(c->names);
	}
}

static void mark_processes(struct collector *c)
{
	struct model *m = c->model;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		if (m->processes[i].tgid == (uint32_t)getpid())
			m->processes[i].flags |= PROCESS_SELF;
		for (size_t k = 0; k < c->options.tgid_cnt; k++)
			if (m->processes[i].tgid == c->options.tgids[k])
				m->processes[i].flags |= PROCESS_SELECTED;
	}
}

/* OFF_* of model.h. */
static uint32_t kernel_off(const struct collector *c)
{
	uint32_t without = session_kernel_without(c->session);

	return (without & KERNEL_WITHOUT_GROUPS ? OFF_GROUPS : 0) |
	       (without & KERNEL_WITHOUT_QUEUES ? OFF_QUEUES : 0) | (c->feed ? 0 : OFF_TABLES) |
	       (collector_sees_requests(c) ? 0 : OFF_REQUESTS) |
	       (c->options.blocked && !session_stands_why(c->session) ? 0 : OFF_STANDS);
}

/* Of what grows with every process, thread and stack. */
static size_t known_bytes(const struct collector *c)
{
	return model_bytes(c->model) + ingest_bytes(c->ingest);
}

int collector_start(struct collector *c, char *why, size_t why_bytes)
{
	int err;

	if (c->options.samples)
		c->model->kernel_text = names_kernel_text(c->names);
	read_accounts(c, true);
	if (c->options.facts || c->options.signals)
		read_processes(c);
	mark_processes(c);
	cgroup_select_refresh(&c->cgroups, c->session, c->model);
	cgroup_watch_open(&c->groups, c->model);
	cgroup_watch_refresh(&c->groups, c->model);
	drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
	prepare_tables(c, START_TABLES_NS);
	names_tail(c->names, c->model, 0);
	prepare_names(c);
	/* By now it is known where compiled code lies. */
	prepare_tables(c, START_CODE_NS);

	c->model->host.off |= kernel_off(c);
	read_requests(c, true);
	c->start_ns = c->slice_start_ns = c->tailed_ns = c->maps_read_ns = read_books(c, true);
	read_pressure(c);
	read_losses(c);
	ingest_begin(c->ingest, c->start_ns);
	c->threads_at_start = c->model->threads_cnt;
	c->bytes_at_start = known_bytes(c);
	c->model->host.start_ns = c->start_ns;
	model_forget_slice(c->model);
	err = session_start(c->session, why, why_bytes);
	if (err)
		return err;
	err = collector_begin_slice(c);
	if (err)
		snprintf(why, why_bytes, "out of memory");
	return err;
}

/* --- where threads stand ---------------------------------------------------------------------- */

/* Looks, each of which may show what tables are missing for the next. */
#define STAND_PASSES 3
/* What one look at every thread may take of who has other things to do. */
#define PASS_NS 500000000ull
/* Rows of one look at every thread that a capture keeps. */
#define STANDS_KEPT 16384u
/* What tables of who hangs may take of a recording's end. */
#define HUNG_TABLES_NS 1000000000ull
/* What is asked at most about who holds the locks that threads of .NET wait for: of so many. */
#define HOLDERS_NS	 200000000ull
#define HOLDER_WAITS_MAX 2048u
/* A tick so long ago still tells where a thread that runs is. */
#define STAND_TICK_NS 1000000000ull

const char *collector_stands_why(const struct collector *c)
{
	return session_stands_why(c->session);
}

/* Threads of .NET that wait for something, which may be a lock. */
struct lock_waits {
	struct holders_wait *rows;
	size_t cnt, cap;
};

/* A pass under way. */
struct pass {
	struct stand_taker taker;
	struct stands *to;
	struct lock_waits *waits;
	int err; /* the first one */
};

/* What it can wait for is told later, by its frames. */
static void take_wait(struct pass *pass, const struct event_stand *event, const uint8_t *stack,
		      const struct model_stand *stand)
{
	const struct model *m = pass->taker.model;
	struct holders_wait wait = {
		.process = m->threads[stand->at.thread].process,
		.tid = event->tid,
		.row = (uint32_t)pass->to->cnt - 1,
		.switches = event->switches,
	};

	if (!(m->processes[wait.process].flags & PROCESS_DOTNET) ||
	    pass->waits->cnt == HOLDER_WAITS_MAX || !lock_points(event, stack, &wait.at) ||
	    GROW(pass->waits->rows, pass->waits->cnt, pass->waits->cap))
		return;
	pass->waits->rows[pass->waits->cnt++] = wait;
}

static void take_stand(void *ctx, const struct event_stand *event, const uint8_t *stack)
{
	struct pass *pass = ctx;
	struct model_stand stand;

	if (!stand_take(&pass->taker, event, stack, &stand))
		pass->to->gone++;
	else if (!stands_add(pass->to, &stand))
		take_wait(pass, event, stack, &stand);
	else if (!pass->err)
		pass->err = -ENOMEM;
}

/* Of these processes, or of all: facts and tables of those that have none yet. */
static void prepare_stands(struct collector *c, const uint32_t *processes, size_t cnt,
			   uint64_t end_ns)
{
	struct model *m = c->model;
	size_t all = cnt ? cnt : m->processes_cnt;

	if (c->feed)
		unwind_feed_hurry(c->feed, true);
	for (size_t i = 0; i < all && clock_now_ns() < end_ns; i++) {
		uint32_t row = cnt ? processes[i] : (uint32_t)i;
		const struct model_process *p = &m->processes[row];

		if (p->exit_ns || (p->flags & (PROCESS_KERNEL | PROCESS_GONE | PROCESS_SELF)))
			continue;
		if (!(p->flags & PROCESS_FACTS))
			name_process(c, row);
		if (c->feed && m->processes[row].mapping_cnt)
			unwind_feed_prepare(c->feed, row);
	}
	if (c->feed)
		wait_names_tables(c->feed, m, c->names, processes, cnt, end_ns);
}

/* Those that have ended leave their places to others as long as there is room. */
static void look_for_monitors(struct collector *c)
{
	const struct model *m = c->model;

	for (uint32_t i = 0; i < m->processes_cnt; i++)
		if (m->processes[i].flags & PROCESS_DOTNET && !m->processes[i].exit_ns &&
		    session_look_for_monitors(c->session, m->processes[i].tgid))
			break;
}

/* One pass of the kernel over these processes, more than can be chosen: over all. */
static int pass_over_stands(struct collector *c, uint64_t ns, const uint32_t *processes, size_t cnt,
			    struct stands *to, struct lock_waits *waits)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	uint32_t tgids[FILTER_TGIDS_MAX];
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	if (!pass)
		return -ENOMEM;
	look_for_monitors(c);
	stands_clear(to);
	pass->taker.model = c->model;
	pass->taker.ingest = c->ingest;
	pass->taker.maps = session_unwind(c->session);
	pass->to = to;
	pass->waits = waits;
	waits->cnt = 0;
	if (cnt > FILTER_TGIDS_MAX)
		cnt = 0;
	for (size_t i = 0; i < cnt; i++)
		tgids[i] = c->model->processes[processes[i]].tgid;
	to->time_ns = clock_now_ns();
	err = blocked_looks_pass(c->looks, c->session, ns, tgids, cnt, take_stand, pass);
	to->pass_ns = clock_now_ns() - to->time_ns;
	to->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	err = err ?: pass->err;
	free(pass);
	return err;
}

/* Who holds what they wait for, as the host calls it: where the runtime's memory tells, that is in
 * place of what looked like it. */
static int find_holders(struct collector *c, struct stands *stands, struct lock_waits *waits,
			uint64_t end_ns)
{
	uint64_t begin_ns = clock_now_ns();

	while (!names_holders(c->names, c->model, waits->rows, waits->cnt, end_ns) &&
	       clock_now_ns() < end_ns) {
		wait_names_moment(c->names);
		names_tail(c->names, c->model, c->tailed_ns);
	}
	log_debug("threads: who holds the locks of %zu took %" PRIu64 " us", waits->cnt,
		  (clock_now_ns() - begin_ns) / 1000);
	for (size_t i = 0; i < waits->cnt; i++) {
		struct model_stand *s = &stands->rows[waits->rows[i].row];

		if (!waits->rows[i].holder)
			continue;
		s->holder = waits->rows[i].holder;
		s->flags = (s->flags & ~(uint32_t)STAND_MONITOR) | STAND_LOCK_OBJECT;
	}
	free(waits->rows);
	*waits = (struct lock_waits){0};
	return stands_tell_holders(stands, c->model);
}

/* What their stacks lack is wanted. Returns whether anything is. */
static bool note_stands(struct collector *c, const uint32_t *processes, size_t cnt,
			const struct stands *stands)
{
	const struct model *m = c->model;

	if (!c->feed)
		return false;
	for (size_t i = 0; i < stands->cnt; i++) {
		const struct model_sample *at = &stands->rows[i].at;
		uint32_t row = at->user_stack ? model_stack_find(m, at->user_stack) : MODEL_NONE;
		uint32_t process = m->threads[at->thread].process;

		if (row == MODEL_NONE)
			continue;
		want_code(c, process, &m->stacks[row], at->time_ns);
		unwind_feed_note(c->feed, m, c->names, process, at->time_ns,
				 m->stacks[row].end != STACK_END_ROOT ||
					 m->stacks[row].flags & STACK_UNSURE);
	}
	return wait_names_tables_wanted(c->feed, processes, cnt);
}

/* Who runs stands where its last tick found it. */
static void take_ticks(struct collector *c, struct stands *stands)
{
	const struct model *m = c->model;

	for (size_t i = 0; i < stands->cnt; i++) {
		struct model_stand *s = &stands->rows[i];

		if (!(s->flags & STAND_RUNS))
			continue;
		for (size_t k = m->samples_cnt; k-- > 0;) {
			if (m->samples[k].time_ns + STAND_TICK_NS < stands->time_ns)
				break;
			if (m->samples[k].thread != s->at.thread)
				continue;
			s->at.kernel_stack = m->samples[k].kernel_stack;
			s->at.user_stack = m->samples[k].user_stack;
			s->sampled = true;
			break;
		}
	}
}

/* Rows of the slice that is open: where every thread stands at this moment. */
static int keep_stands(struct collector *c, const struct stands *stands)
{
	struct model *m = c->model;
	bool selects = c->options.tgid_cnt || c->options.cgroup;
	size_t kept = 0;
	int err = 0;

	/* An earlier look in the same slice is no longer the newest. */
	for (size_t i = m->stands_cnt; i-- > 0 && m->stands[i].slice + 1 == m->slices_cnt;)
		m->stands[i].now = false;
	for (size_t i = 0; !err && i < stands->cnt; i++) {
		struct model_stand row = stands->rows[i];
		const struct model_process *p = &m->processes[m->threads[row.at.thread].process];

		if (p->flags & (PROCESS_KERNEL | PROCESS_SELF) ||
		    (selects && !(p->flags & PROCESS_SELECTED)))
			continue;
		if (kept == STANDS_KEPT) {
			model_loss_add(m, LOSS_MODEL_LIMIT, 1);
			continue;
		}
		kept++;
		row.now = true;
		row.slice = (uint32_t)m->slices_cnt - 1;
		err = model_stand_add(m, &row);
	}
	return err;
}

int collector_look_at_all(struct collector *c)
{
	struct lock_waits waits = {0};
	struct stands stands = {0};
	int err;

	if (!c->looks || session_stands_why(c->session))
		return -ENOTSUP;
	collector_drain(c);
	err = pass_over_stands(c, PASS_NS, NULL, 0, &stands, &waits);
	/* Some of them are better than none, which the books tell. */
	if (err == -ETIMEDOUT || err == -EFBIG) {
		model_loss_add(c->model, LOSS_ITERATOR, 1);
		err = 0;
	}
	if (!err)
		err = find_holders(c, &stands, &waits, clock_now_ns() + HOLDERS_NS);
	if (!err) {
		take_ticks(c, &stands);
		err = keep_stands(c, &stands);
	}
	free(waits.rows);
	stands_clear(&stands);
	return err;
}

void collector_stop(struct collector *c)
{
	if (c->options.blocked && c->options.samples) {
		if (c->looks && c->hung.cnt) {
			prepare_stands(c, c->hung.processes, c->hung.cnt,
				       clock_now_ns() + HUNG_TABLES_NS);
			if (c->feed)
				unwind_feed_hurry(c->feed, false);
		}
		collector_look_at_all(c);
	}
	session_stop(c->session);
	c->stopped = true;
}

static void name_all_stands(struct collector *c, const struct stands *stands, uint64_t end_ns)
{
	do {
		uint64_t now_ns = clock_now_ns();

		names_tail(c->names, c->model, c->tailed_ns);
		c->tailed_ns = now_ns;
		c->pass++;
		for (size_t i = 0; i < stands->cnt; i++) {
			name_stack(c, stands->rows[i].at.kernel_stack, stands->rows[i].at.time_ns);
			name_stack(c, stands->rows[i].at.user_stack, stands->rows[i].at.time_ns);
		}
		if (!names_read(c->names, c->model) && !names_is_reading(c->names) &&
		    !names_waiting(c->names))
			break;
		wait_names_moment(c->names);
	} while (clock_now_ns() < end_ns);
	names_tail(c->names, c->model, c->tailed_ns);
	names_settle(c->names, c->model);
}

/* Looks until nothing is missing that may come in time, and names what was found. */
static int look_and_name(struct collector *c, const uint32_t *processes, size_t cnt,
			 uint64_t begin_ns, uint64_t ns, struct stands *stands,
			 struct lock_waits *waits)
{
	int err = 0;

	for (int i = 0; i < STAND_PASSES && !err; i++) {
		collector_drain(c);
		read_accounts(c, true);
		err = pass_over_stands(c, ns, processes, cnt, stands, waits);
		if (err || i == STAND_PASSES - 1 || !note_stands(c, processes, cnt, stands))
			break;
		wait_names_tables(c->feed, c->model, c->names, processes, cnt,
				  begin_ns + ns * 3 / 4);
	}
	if (err)
		return err;
	collector_drain(c);
	take_ticks(c, stands);
	log_debug("threads: looked at after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	name_all_stands(c, stands, begin_ns + ns);
	log_debug("threads: named after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	return 0;
}

/* Whether looking again may show more of them: where a runtime's code is may be known by now, which
 * is found out as its methods are named. */
static bool is_worth_another(struct collector *c, const uint32_t *processes, size_t cnt,
			     const struct stands *stands)
{
	const struct model *m = c->model;
	bool broken = false;

	for (size_t i = 0; i < stands->cnt && !broken; i++)
		broken = m->processes[m->threads[stands->rows[i].at.thread].process].flags &
				 PROCESS_DOTNET &&
			 stands_is_broken(m, &stands->rows[i]);
	return broken && note_stands(c, processes, cnt, stands);
}

int collector_read_stands(struct collector *c, const uint32_t *processes, size_t cnt, uint64_t ns,
			  struct stands *stands)
{
	uint64_t begin_ns = clock_now_ns(), end_ns = begin_ns + ns;
	struct lock_waits waits = {0};
	int err;

	if (session_stands_why(c->session))
		return -ENOTSUP;
	collector_drain(c);
	prepare_stands(c, processes, cnt, begin_ns + ns / 2);
	log_debug("threads: tables after %" PRIu64 " ms", (clock_now_ns() - begin_ns) / 1000000);
	err = look_and_name(c, processes, cnt, begin_ns, ns, stands, &waits);
	if (!err && clock_now_ns() < begin_ns + ns / 2 &&
	    is_worth_another(c, processes, cnt, stands)) {
		wait_names_tables(c->feed, c->model, c->names, processes, cnt,
				  begin_ns + ns * 3 / 4);
		err = look_and_name(c, processes, cnt, begin_ns, ns, stands, &waits);
	}
	if (c->feed)
		unwind_feed_hurry(c->feed, false);
	if (!err)
		err = find_holders(c, stands, &waits,
				   end_ns > clock_now_ns() + HOLDERS_NS
					   ? end_ns
					   : clock_now_ns() + HOLDERS_NS);
	free(waits.rows);
	return err;
}

/* --- a view that runs for days --------------------------------------------------------------- */

static void close_rooms(struct collector *c)
{
	if (c->names)
		c->opener_ns += names_cost(c->names).opener_cpu_ns;
	names_free(c->names);
	ingest_free(c->ingest);
	model_free(c->model);
	cgroup_watch_close(&c->groups);
	c->names = NULL;
	c->ingest = NULL;
	c->model = NULL;
}

/* After the side-band was drained. */
static int reopen_session(struct collector *c, char *why, size_t why_bytes)
{
	c->bpf_ns += session_cost_ns(c->session);
	unwind_feed_free(c->feed);
	c->feed = NULL;
	session_free(c->session);
	c->session = NULL;
	c->recursion_misses = 0;
	return open_session(c, why, why_bytes);
}

/* reopen: with the programs loaded anew, as the options are now. */
static int begin_anew(struct collector *c, bool reopen, char *why, size_t why_bytes)
{
	int err;

	/* What is on its way belongs to the old model, which holds the stacks that were sent
	 * once. */
	session_stop(c->session);
	drain_until(c, clock_now_ns() - SIDEBAND_LAG_NS);
	if (c->feed)
		unwind_feed_clear(c->feed, c->model);
	if (c->looks)
		blocked_looks_forget(c->looks, c->session);
	close_rooms(c);
	c->names_timeouts = 0;
	c->stack_pass_cnt = c->waiters_cnt = 0;
	newly_started_forget(&c->newly_started);
	err = open_rooms(c);
	if (err) {
		snprintf(why, why_bytes, "out of memory");
		return err;
	}
	if (reopen)
		err = reopen_session(c, why, why_bytes);
	return err ?: collector_start(c, why, why_bytes);
}

int collector_renew(struct collector *c, char *why, size_t why_bytes)
{
	return begin_anew(c, false, why, why_bytes);
}

int collector_change(struct collector *c, const struct collector_parts *parts, char *why,
		     size_t why_bytes)
{
	c->options.sample_hz = parts->sample_hz;
	c->options.requests = parts->requests;
	c->options.gear = c->next_gear;
	return begin_anew(c, true, why, why_bytes);
}

struct collector_parts collector_parts(const struct collector *c)
{
	return (struct collector_parts){.sample_hz = c->options.sample_hz,
					.requests = c->options.requests};
}

bool collector_is_large(const struct collector *c)
{
	const struct model *m = c->model;

	if (c->options.bytes_max) {
		size_t bytes = known_bytes(c);

		return bytes > c->options.bytes_max && bytes > 2 * c->bytes_at_start;
	}
	return m->processes_cnt > LARGE_PROCESSES ||
	       m->threads_cnt > LARGE_THREADS + 2 * c->threads_at_start ||
	       m->stacks_cnt > LARGE_STACKS || m->frames_cnt > LARGE_FRAMES ||
	       m->locations_cnt > LARGE_LOCATIONS || m->strings_bytes > LARGE_STRINGS;
}

void collector_set_bound(struct collector *c, size_t bytes, const struct names_file_limits *file)
{
	c->options.bytes_max = bytes;
	c->options.file_limits = *file;
	names_workers_limit(c->workers, bytes * NAMES_PARTS, file);
}

/* --- what it costs ---------------------------------------------------------------------------- */

uint64_t collector_bpf_ns(struct collector *c)
{
	return c->bpf_ns + (c->session ? session_cost_ns(c->session) : 0);
}

struct names_cost collector_names_cost(const struct collector *c)
{
	return names_cost(c->names);
}

size_t collector_most(const struct collector *c, struct ledger_use *ret_most, size_t max)
{
	return names_most(c->names, ret_most, max);
}

void collector_mark(struct collector *c)
{
	names_mark(c->names);
}

void collector_set_aside(struct collector *c, const uint64_t *parties, size_t cnt)
{
	names_set_aside(c->names, parties, cnt);
}

uint32_t collector_face(const struct collector *c, uint64_t party)
{
	return names_face(c->names, c->model, party);
}

uint64_t collector_helpers_ns(struct collector *c)
{
	struct names_cost cost = names_cost(c->names);
	uint64_t nursery_ns = nursery_cpu_ns(c->nursery);

	/* One that is gone has none any more. */
	c->nursery_ns = nursery_ns > c->nursery_ns ? nursery_ns : c->nursery_ns;
	return cost.worker_cpu_ns + c->opener_ns + cost.opener_cpu_ns + c->nursery_ns +
	       (c->looks ? blocked_looks_cpu_ns(c->looks) : 0);
}

/* --- facts -------------------------------------------------------------------------------- */

void collector_name_process(struct collector *c, uint32_t process)
{
	uint32_t party;
	uint64_t begin_ns;

	if (c->model->processes[process].flags & (PROCESS_FACTS | PROCESS_GONE | PROCESS_KERNEL))
		return;
	party = fair_party(c->model, process);
	if (!fair_may(&c->facts, c->model, party))
		return;
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	name_process(c, process);
	fair_add(&c->facts, c->model, party,
		 (uint32_t)((clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1000) + 1);
}

struct model *collector_model(struct collector *c)
{
	return c->model;
}

size_t collector_map_bytes(const struct collector *c)
{
	return session_map_bytes(c->session) + (c->switches ? switch_ring_bytes(c->switches) : 0);
}

uint64_t collector_samples(const struct collector *c)
{
	return c->samples;
}

uint64_t collector_start_ns(const struct collector *c)
{
	return c->start_ns;
}

uint64_t collector_slice_start_ns(const struct collector *c)
{
	return c->slice_start_ns;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	unwind_feed_free(c->feed);
	session_free(c->session);
	close_rooms(c);
	workers_free(c->workers);
	blocked_looks_free(c->looks);
	nursery_free(c->nursery);
	cgroup_select_clear(&c->cgroups);
	free(c->online);
	free(c->steal_ns);
	free(c->idle_ns);
	free(c->cpu_times);
	free(c->clocks);
	switch_ring_free(c->switches);
	free(c->stack_pass);
	free(c->waiters);
	free(c->execs);
	newly_started_clear(&c->newly_started);
	exec_names_clear(&c->exec_names);
	fair_clear(&c->facts);
	free(c);
}
