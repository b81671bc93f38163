/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the collector does with each record of the kernel: it goes to the ingest. */
#include "base/grow.h"
#include "collect/collector_private.h"

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

static void take_task(void *ctx, const struct event_task *task)
{
	ingest_task(((struct collector *)ctx)->ingest, task);
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
		collector_young_exec(c, row);
	if (row != MODEL_NONE && !GROW(c->execs, c->execs_cnt, c->execs_cap))
		c->execs[c->execs_cnt++] = row;
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
	if (c->options.samples && names_is_runtime(map->path, map->path_len))
		collector_young_add(c, model_process_at(c->model, map->tgid, map->time_ns));
}

static bool passes(void *ctx, uint32_t tgid)
{
	return ingest_refuses_mapping(((struct collector *)ctx)->ingest, tgid);
}

static void take_lost(void *ctx, uint64_t records)
{
	ingest_lost(((struct collector *)ctx)->ingest, records);
}

void collector_take_records(struct collector *c)
{
	c->ops = (struct session_ops){
		c, take_sample, take_stack, take_task, take_socket, take_refused,
	};
	c->sideband_ops = (struct sideband_ops){
		c, take_fork, take_exit, take_comm, take_mapping, take_lost, passes};
}
