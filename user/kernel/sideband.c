/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernel/sideband_record.h"

/*
 * Two rings a CPU: a process that renames itself in a loop (a million records a second) must not
 * push out the forks and mappings of others, only execs of that CPU. 512 KiB hold about 4,000
 * mappings of one CPU between two drains. Without CAP_IPC_LOCK the kernel grants
 * kernel.perf_event_mlock_kb a CPU, by default 516 KiB in all: the rings are then smaller.
 */
enum ring_kind { RING_MAPPINGS, RING_COMMS, RING_KINDS };
static const size_t ring_pages[RING_KINDS] = {128, 64};
#define RING_PAGES_MIN 16
/* Wakes a sideband_wait(): the record of one library, which a process that runs long since may load
 * by itself, has some 140 bytes. Who waits bounds how often it is woken. */
#define WAKE_BYTES 128

/* The largest record: its size field has 16 bits. */
#define RECORD_MAX 65536

struct ring {
	int fd; /* -1 = closed */
	struct perf_event_mmap_page *head;
	size_t data_bytes;
	/* Of the drain that runs. */
	bool ready; /* next and next_ns are a record not yet taken */
	struct perf_event_header next;
	uint64_t next_ns;
	uint64_t tail, stop;
};

struct sideband {
	size_t page_bytes;
	uint32_t cpus;
	size_t rings_cnt;
	struct ring *rings;					/* by CPU, RING_KINDS of each */
	struct pollfd *polled;					/* by CPU, and the caller's */
	uint8_t record[RECORD_MAX] __attribute__((aligned(8))); /* the one that is taken */
};

static int open_ring(struct sideband *sb, uint32_t cpu, enum ring_kind kind)
{
	struct ring *ring = &sb->rings[cpu * RING_KINDS + kind];
	size_t data_bytes = ring_pages[kind] * sb->page_bytes;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = kind == RING_MAPPINGS,
		.mmap2 = kind == RING_MAPPINGS,
		.build_id = kind == RING_MAPPINGS,
		.task = kind == RING_MAPPINGS,
		.comm = kind == RING_COMMS,
		.comm_exec = kind == RING_COMMS,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* drained by timer: do not wake us for each record */
		.wakeup_watermark = kind == RING_MAPPINGS ? WAKE_BYTES : (uint32_t)data_bytes / 2,
	};
	void *map;
	int fd, err;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	do
		map = mmap(NULL, sb->page_bytes + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
	while (map == MAP_FAILED && errno == EPERM &&
	       (data_bytes /= 2) >= RING_PAGES_MIN * sb->page_bytes);
	if (map == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	ring->fd = fd;
	ring->head = map;
	ring->data_bytes = data_bytes;
	return 0;
}

static void close_ring(struct sideband *sb, struct ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->head, sb->page_bytes + ring->data_bytes);
	close(ring->fd);
	*ring = (struct ring){.fd = -1};
}

static void close_cpu(struct sideband *sb, uint32_t cpu)
{
	for (int kind = 0; kind < RING_KINDS; kind++)
		close_ring(sb, &sb->rings[cpu * RING_KINDS + kind]);
}

static int open_cpu(struct sideband *sb, uint32_t cpu)
{
	int err = open_ring(sb, cpu, RING_MAPPINGS);

	if (!err)
		err = open_ring(sb, cpu, RING_COMMS);
	if (err)
		close_cpu(sb, cpu);
	return err;
}

int sideband_open(const bool *online, uint32_t cpus, struct sideband **ret_sideband)
{
	struct sideband *sb = calloc(1, sizeof(*sb));
	int err = 0;

	if (!sb)
		return -ENOMEM;
	sb->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sb->cpus = cpus;
	sb->rings_cnt = (size_t)cpus * RING_KINDS;
	sb->rings = calloc(sb->rings_cnt, sizeof(*sb->rings));
	sb->polled = calloc(cpus + 1, sizeof(*sb->polled));
	if (!sb->rings || !sb->polled) {
		free(sb->rings);
		free(sb->polled);
		free(sb);
		return -ENOMEM;
	}
	for (size_t i = 0; i < sb->rings_cnt; i++)
		sb->rings[i].fd = -1;
	for (uint32_t cpu = 0; cpu < cpus && !err; cpu++) {
		if (online[cpu])
			err = open_cpu(sb, cpu);
		if (err == -ENODEV) /* it has gone off line since */
			err = 0;
	}
	if (err) {
		sideband_free(sb);
		return err;
	}
	*ret_sideband = sb;
	return 0;
}

void sideband_follow_cpus(struct sideband *sb, const bool *online)
{
	for (uint32_t cpu = 0; cpu < sb->cpus; cpu++) {
		if (!online[cpu])
			close_cpu(sb, cpu);
		else if (sb->rings[cpu * RING_KINDS].fd < 0)
			open_cpu(sb, cpu); /* a failure is tried again at the next look */
	}
}

enum sideband_came sideband_wait(const struct sideband *sb, uint64_t timeout_ns, int fd)
{
	struct timespec timeout = {(time_t)(timeout_ns / 1000000000),
				   (long)(timeout_ns % 1000000000)};

	for (uint32_t cpu = 0; cpu < sb->cpus; cpu++)
		sb->polled[cpu] = (struct pollfd){
			.fd = sb->rings[cpu * RING_KINDS + RING_MAPPINGS].fd, .events = POLLIN};
	sb->polled[sb->cpus] = (struct pollfd){.fd = fd, .events = POLLIN};
	if (ppoll(sb->polled, sb->cpus + 1, &timeout, NULL) <= 0)
		return SIDEBAND_NOTHING;
	return sb->polled[sb->cpus].revents ? SIDEBAND_CALLER : SIDEBAND_RECORDS;
}

static void copy_out(const struct sideband *sb, const struct ring *ring, uint64_t at, void *to,
		     size_t bytes)
{
	const uint8_t *data = (const uint8_t *)ring->head + sb->page_bytes;
	size_t from = at % ring->data_bytes, first = ring->data_bytes - from;

	if (first > bytes)
		first = bytes;
	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, bytes - first);
}

/* Looks at a mapping as far as to know whose it is. */
static bool is_passed(const struct sideband *sb, const struct ring *ring,
		      const struct sideband_ops *ops)
{
	uint32_t tgid;

	if (ring->next.type != PERF_RECORD_MMAP2 || !ops->passes)
		return false;
	copy_out(sb, ring, ring->tail + sizeof(ring->next), &tgid, sizeof(tgid));
	return ops->passes(ops->ctx, tgid);
}

/* Looks at the next record of a ring; its time is the last word of it (sample_id_all). False: the
 * ring is drained. A record that breaks the format ends the ring's content. */
static bool peek(struct sideband *sb, struct ring *ring, const struct sideband_ops *ops,
		 uint64_t *bad)
{
	for (; ring->tail < ring->stop; ring->tail += ring->next.size) {
		copy_out(sb, ring, ring->tail, &ring->next, sizeof(ring->next));
		if (ring->next.size < SIDEBAND_RECORD_MIN ||
		    ring->next.size > ring->stop - ring->tail) {
			*bad += 1;
			ring->tail = ring->stop;
			return false;
		}
		if (is_passed(sb, ring, ops))
			continue;
		copy_out(sb, ring, ring->tail + ring->next.size - 8, &ring->next_ns, 8);
		return true;
	}
	return false;
}

/* An event for comm records gets those of task lives, too (perf_event_task_match() of the kernel's
 * kernel/events/core.c): they come over the other ring. */
static bool is_wanted(const struct sideband *sb, const struct ring *ring)
{
	return (ring - sb->rings) % RING_KINDS == RING_MAPPINGS ||
	       (ring->next.type != PERF_RECORD_FORK && ring->next.type != PERF_RECORD_EXIT);
}

uint64_t sideband_drain(struct sideband *sb, const struct sideband_ops *ops, uint64_t until_ns)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < sb->rings_cnt; i++) {
		struct ring *ring = &sb->rings[i];

		ring->ready = false;
		if (ring->fd < 0)
			continue;
		ring->stop = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
		ring->tail = ring->head->data_tail;
		ring->ready = peek(sb, ring, ops, &bad);
	}
	for (;;) {
		struct ring *first = NULL;

		for (size_t i = 0; i < sb->rings_cnt; i++) {
			struct ring *ring = &sb->rings[i];

			if (ring->ready && (!first || ring->next_ns < first->next_ns))
				first = ring;
		}
		if (!first || first->next_ns > until_ns)
			break;
		copy_out(sb, first, first->tail, sb->record, first->next.size);
		if (is_wanted(sb, first))
			bad += !sideband_take((const void *)sb->record, first->next_ns, ops);
		first->tail += first->next.size;
		first->ready = peek(sb, first, ops, &bad);
	}
	for (size_t i = 0; i < sb->rings_cnt; i++)
		if (sb->rings[i].fd >= 0)
			__atomic_store_n(&sb->rings[i].head->data_tail, sb->rings[i].tail,
					 __ATOMIC_RELEASE);
	return bad;
}

void sideband_free(struct sideband *sb)
{
	if (!sb)
		return;
	for (uint32_t cpu = 0; cpu < sb->cpus; cpu++)
		close_cpu(sb, cpu);
	free(sb->rings);
	free(sb->polled);
	free(sb);
}

uint32_t sideband_cpu_kb(void)
{
	size_t pages = 0;

	for (int kind = 0; kind < RING_KINDS; kind++)
		pages += 1 + ring_pages[kind];
	return (uint32_t)(pages * (size_t)sysconf(_SC_PAGESIZE) / 1024);
}
