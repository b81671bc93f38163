/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/records.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "collect/blocked_looks.h"
#include "collect/collector.h"
#include "collect/unwind_feed.h"

/* Records of one instant reach the rings of two CPUs at slightly different moments. */
#define SIDEBAND_LAG_NS 100000ull

static void take_sample(void *ctx, const struct event_sample *sample)
{
	struct records *r = ctx;

	if (r->rooms->options->samples)
		ingest_sample(r->rooms->ingest, sample);
	r->samples++;
}

static void take_stack(void *ctx, const struct event_stack *stack)
{
	struct records *r = ctx;

	if (r->rooms->options->samples)
		ingest_stack(r->rooms->ingest, stack);
}

static void take_waker(void *ctx, const struct event_waker *waker)
{
	struct records *r = ctx;

	if (r->rooms->looks)
		blocked_looks_wake(r->rooms->looks, waker);
}

static void take_task(void *ctx, const struct event_task *task)
{
	ingest_task(((struct records *)ctx)->rooms->ingest, task);
}

static void take_program(void *ctx, const struct event_exec *exec)
{
	exec_names_add(&((struct records *)ctx)->exec_names, exec);
}

static void take_socket(void *ctx, const struct event_socket *socket)
{
	ingest_socket(((struct records *)ctx)->rooms->ingest, socket);
}

static void take_refused(void *ctx, uint32_t tgid, uint64_t start_ns, uint64_t requests)
{
	ingest_refused(((struct records *)ctx)->rooms->ingest, tgid, start_ns, requests);
}

static void take_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent, uint64_t time_ns)
{
	ingest_fork(((struct records *)ctx)->rooms->ingest, tgid, tid, parent, time_ns);
}

static void take_exit(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	ingest_exit(((struct records *)ctx)->rooms->ingest, tgid, tid, time_ns);
}

/* Names come with the accounts, once a slice: only execs count here. A process that renames itself
 * in a loop is not followed. */
static void take_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		      bool exec, uint64_t time_ns)
{
	struct records *r = ctx;
	uint32_t row;

	if (!exec)
		return;
	row = ingest_comm(r->rooms->ingest, tgid, tid, comm, len, exec, time_ns);
	if (row != MODEL_NONE)
		newly_started_exec(&r->newly_started, row);
	if (row != MODEL_NONE && !GROW(r->execs, r->execs_cnt, r->execs_cap))
		r->execs[r->execs_cnt++] = row;
}

static void expect_stacks(struct records *r, uint32_t tgid, uint64_t time_ns)
{
	uint32_t process = model_process_at(r->rooms->model, tgid, time_ns);

	if (process != MODEL_NONE)
		unwind_feed_expect(r->rooms->feed, r->rooms->model, process);
}

static void take_mapping(void *ctx, const struct sideband_mapping *map)
{
	struct records *r = ctx;
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

	ingest_mapping(r->rooms->ingest, &mapping);
	if (r->rooms->feed && model_mapping_kind_of(map->path, map->path_len) == MAPPING_FILE)
		expect_stacks(r, map->tgid, map->time_ns);
	if (r->rooms->options->samples && names_is_runtime(map->path, map->path_len))
		newly_started_add(&r->newly_started, r->rooms->model,
				  model_process_at(r->rooms->model, map->tgid, map->time_ns));
}

static bool passes(void *ctx, uint32_t tgid)
{
	return ingest_refuses_mapping(((struct records *)ctx)->rooms->ingest, tgid);
}

static void take_lost(void *ctx, uint64_t records)
{
	ingest_lost(((struct records *)ctx)->rooms->ingest, records);
}

void records_open(struct records *r, const struct rooms *rooms)
{
	r->rooms = rooms;
	r->ops = (struct session_ops){
		r,	   take_sample,	 take_stack,  take_waker,
		take_task, take_program, take_socket, take_refused,
	};
	r->sideband_ops = (struct sideband_ops){
		r, take_fork, take_exit, take_comm, take_mapping, take_lost, passes};
}

void records_close(struct records *r)
{
	free(r->execs);
	newly_started_clear(&r->newly_started);
	exec_names_clear(&r->exec_names);
}

void records_forget(struct records *r)
{
	newly_started_forget(&r->newly_started);
}

/* Takes its records up to that time; who called exec has lost its names after it. */
static void drain_sideband(struct records *r, uint64_t until_ns)
{
	const struct rooms *rooms = r->rooms;
	struct model *m = rooms->model;

	model_loss_add(m, LOSS_BAD_RECORD,
		       session_drain_sideband(rooms->session, &r->sideband_ops, until_ns));
	for (size_t i = 0; i < r->execs_cnt; i++) {
		if (rooms->feed)
			unwind_feed_forget(rooms->feed, m, r->execs[i]);
		/* Those not sampled yet are read when they are. */
		if (m->processes[r->execs[i]].flags & PROCESS_SAMPLED)
			names_process_exec(rooms->names, m, r->execs[i]);
		else
			names_forget(rooms->names, m, r->execs[i]);
		/* Its mappings came before it was forgotten. */
		if (rooms->feed)
			unwind_feed_expect(rooms->feed, m, r->execs[i]);
	}
	r->execs_cnt = 0;
}

void records_drain(struct records *r)
{
	uint64_t until_ns = r->rooms->stopped ? UINT64_MAX : clock_now_ns() - SIDEBAND_LAG_NS;

	/* The side-band first: a process is to be known before its samples. */
	drain_sideband(r, until_ns);
	model_loss_add(r->rooms->model, LOSS_BAD_RECORD, session_drain(r->rooms->session, &r->ops));
	exec_names_apply(&r->exec_names, r->rooms->model, until_ns);
	newly_started_look(&r->newly_started, r->rooms->model, r->rooms->names);
}

void records_look_at_started(struct records *r)
{
	drain_sideband(r, clock_now_ns() - SIDEBAND_LAG_NS);
	newly_started_look(&r->newly_started, r->rooms->model, r->rooms->names);
}
