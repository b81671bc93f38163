/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BOOT_OFFSET_NS (100 * FEED_SECOND)

struct feed feed_new_unbegun(uint32_t cpus)
{
	struct feed f = {.m = model_new()};

	f.in = f.m ? ingest_new(f.m, cpus, BOOT_OFFSET_NS) : NULL;
	if (!f.in || model_slice_add(f.m, &(struct model_slice){.start_ns = FEED_START}))
		abort();
	return f;
}

struct feed feed_new(uint32_t cpus)
{
	struct feed f = feed_new_unbegun(cpus);

	ingest_begin(f.in, FEED_START);
	return f;
}

void feed_free(struct feed *f)
{
	ingest_free(f->in);
	model_free(f->m);
}

uint64_t feed_boot(uint64_t monotonic_ns)
{
	return monotonic_ns + BOOT_OFFSET_NS;
}

struct event_task feed_task(uint32_t tgid, uint32_t tid, uint64_t process_start,
			    uint64_t thread_start)
{
	return (struct event_task){
		.header = {.kind = EVENT_TASK, .size = sizeof(struct event_task)},
		.time_ns = FEED_START + 1,
		.tgid = tgid,
		.tid = tid,
		.process_start_ns = process_start,
		.thread_start_ns = thread_start,
		.state = 'S',
		.comm = "app",
		.account = hash_pair(tid, thread_start) | 1,
	};
}

void feed_account_at(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		     uint64_t thread_start, uint64_t on_cpu_ns, uint64_t time_ns)
{
	struct event_task task = feed_task(tgid, tid, process_start, thread_start);

	task.sched.on_cpu_ns = on_cpu_ns;
	task.time_ns = time_ns;
	ingest_task(f->in, &task);
}

void feed_account(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		  uint64_t thread_start, uint64_t on_cpu_ns)
{
	feed_account_at(f, tgid, tid, process_start, thread_start, on_cpu_ns, FEED_START + 1);
}

void feed_last(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
	       uint64_t thread_start, uint64_t on_cpu_ns, uint64_t time_ns)
{
	struct event_task task = feed_task(tgid, tid, process_start, thread_start);

	task.header.kind = EVENT_TASK_END;
	task.state = 'X';
	task.sched.on_cpu_ns = on_cpu_ns;
	task.time_ns = time_ns;
	ingest_task(f->in, &task);
}

void feed_sample(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		 uint64_t thread_start, uint64_t time_ns)
{
	struct event_sample sample = {
		.header = {.kind = EVENT_SAMPLE, .size = sizeof(sample)},
		.time_ns = time_ns,
		.tgid = tgid,
		.tid = tid,
		.process_start_ns = process_start,
		.thread_start_ns = thread_start,
		.user_stack = 99,
		.sample_kind = SAMPLE_ON_CPU,
	};

	ingest_sample(f->in, &sample);
}

void feed_waiting(struct feed *f, uint32_t tgid, uint32_t waiters, const uint32_t *waiting,
		  uint32_t waiting_cnt, uint16_t flags)
{
	size_t size = sizeof(struct event_sample) + waiting_cnt * sizeof(*waiting);
	struct event_sample *sample = calloc(1, size);

	if (!sample)
		abort();
	sample->header = (struct event_header){EVENT_SAMPLE, (__u16)size, 0};
	sample->time_ns = FEED_START + 1;
	sample->tgid = sample->tid = tgid;
	sample->process_start_ns = sample->thread_start_ns = tgid;
	sample->sample_kind = SAMPLE_ON_CPU;
	sample->flags = flags;
	sample->waiters = waiters;
	sample->waiting_cnt = waiting_cnt;
	for (uint32_t i = 0; i < waiting_cnt; i++)
		sample->waiting[i] = waiting[i];
	ingest_sample(f->in, sample);
	free(sample);
}

void feed_stack(struct feed *f, uint32_t tgid, uint64_t process_start, uint64_t id, uint16_t flags,
		uint16_t frame_cnt)
{
	struct event_stack *stack = calloc(1, sizeof(*stack) + frame_cnt * sizeof(__u64));

	if (!stack)
		abort();
	stack->header.kind = EVENT_STACK;
	stack->header.size = (__u16)(sizeof(*stack) + frame_cnt * sizeof(__u64));
	stack->id = id;
	stack->tgid = tgid;
	stack->process_start_ns = process_start;
	stack->flags = flags;
	stack->frame_cnt = frame_cnt;
	for (uint32_t i = 0; i < frame_cnt; i++)
		stack->frames[i] = 0x1000 + i * 16;
	ingest_stack(f->in, stack);
	free(stack);
}

void feed_map(struct feed *f, uint32_t tgid, uint64_t time_ns, uint64_t start, uint64_t end,
	      const char *path)
{
	struct ingest_mapping map = {
		.tgid = tgid,
		.time_ns = time_ns,
		.start = start,
		.end = end,
		.path = path,
		.path_len = strlen(path),
	};

	ingest_mapping(f->in, &map);
}

struct endpoint feed_endpoint(uint32_t tgid, uint16_t port)
{
	return (struct endpoint){
		.listener = port,
		.process_start_ns = tgid,
		.tgid = tgid,
		.netns = 7,
		.address = {127, 0, 0, 1},
		.port = port,
		.family = AF_INET,
		.slow_ns = 500 * FEED_MS,
	};
}

struct event_socket feed_unanswered(uint32_t tgid, uint16_t port, uint64_t begun_ns)
{
	return (struct event_socket){
		.header = {.kind = EVENT_SOCKET, .size = sizeof(struct event_socket)},
		.listener = port,
		.begun_ns = begun_ns,
		.process_start_ns = tgid,
		.tgid = tgid,
		.netns = 7,
		.port = port,
		.family = AF_INET,
		.flags = SOCKET_ACCEPTED,
	};
}

struct event_socket feed_listening(uint32_t tgid, uint16_t port, uint32_t queued, uint32_t refused)
{
	struct event_socket socket = feed_unanswered(tgid, port, 0);

	socket.flags = SOCKET_LISTENS;
	socket.queued = queued;
	socket.backlog = 512;
	socket.refused = refused;
	return socket;
}

const char *feed_path_at(const struct feed *f, uint32_t process, uint64_t address, uint64_t time_ns)
{
	const struct model_mapping *map = model_mapping_find(f->m, process, address, time_ns);

	return map ? f->m->modules[map->module].path : NULL;
}

uint64_t feed_on_cpu(const struct feed *f, uint32_t process)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->m->threads_cnt; i++)
		if (f->m->threads[i].process == process)
			sum += f->m->threads[i].sched.on_cpu_ns;
	return sum;
}
