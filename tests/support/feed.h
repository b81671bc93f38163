/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FEED_H
#define HOTRUN_TESTS_FEED_H
/*
 * Kernel records made by hand and fed to ingest, for its tests. The recording begins at FEED_START
 * of the monotonic clock; the boot clock is 100 s ahead of it.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/ingest.h"

#define FEED_US	    1000ull
#define FEED_MS	    1000000ull
#define FEED_SECOND 1000000000ull
#define FEED_START  (1000 * FEED_SECOND)

struct feed {
	struct model *m;
	struct ingest *in;
};

/* A model with one slice, whose recording has begun, or not yet. */
struct feed feed_new(uint32_t cpus);
struct feed feed_new_unbegun(uint32_t cpus);
void feed_free(struct feed *f);

/* Boot time of a monotonic one, as start times have it. */
uint64_t feed_boot(uint64_t monotonic_ns);

struct event_task feed_task(uint32_t tgid, uint32_t tid, uint64_t process_start,
			    uint64_t thread_start);
/* An account read 1 ns after the beginning, or at that time. */
void feed_account(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		  uint64_t thread_start, uint64_t on_cpu_ns);
void feed_account_at(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		     uint64_t thread_start, uint64_t on_cpu_ns, uint64_t time_ns);
/* The last account. */
void feed_last(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
	       uint64_t thread_start, uint64_t on_cpu_ns, uint64_t time_ns);
void feed_sample(struct feed *f, uint32_t tgid, uint32_t tid, uint64_t process_start,
		 uint64_t thread_start, uint64_t time_ns);
/* A sample of an old process (its start is its id) while others waited for its CPU: how many, and
 * those of them that were found, by process id. */
void feed_waiting(struct feed *f, uint32_t tgid, uint32_t waiters, const uint32_t *waiting,
		  uint32_t waiting_cnt, uint16_t flags);
/* A stack of frame_cnt frames 0x1000, 0x1010 ... */
void feed_stack(struct feed *f, uint32_t tgid, uint64_t process_start, uint64_t id, uint16_t flags,
		uint16_t frame_cnt);
void feed_map(struct feed *f, uint32_t tgid, uint64_t time_ns, uint64_t start, uint64_t end,
	      const char *path);

/* The row of the kernel's endpoints in which a process that started at its id serves
 * 127.0.0.1:port, T 500 ms; its listening socket's cookie is the port. Counters are 0. */
struct endpoint feed_endpoint(uint32_t tgid, uint16_t port);
/* A request of it that stands unanswered since begun_ns, and its listening socket. */
struct event_socket feed_unanswered(uint32_t tgid, uint16_t port, uint64_t begun_ns);
struct event_socket feed_listening(uint32_t tgid, uint16_t port, uint32_t queued, uint32_t refused);

/* Path mapped at an address, NULL = none. */
const char *feed_path_at(const struct feed *f, uint32_t process, uint64_t address,
			 uint64_t time_ns);
/* Sum over the threads of a process. */
uint64_t feed_on_cpu(const struct feed *f, uint32_t process);
#endif
