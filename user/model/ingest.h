/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_INGEST_H
#define HOTRUN_MODEL_INGEST_H
/*
 * Turns the kernel's records into rows of the model: who is who (ids are reused, records come over
 * several rings), differences of counters that only grow, what a dead process leaves. Pure: the
 * caller brings records and times. No threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/cpu_book.h"
#include "model/model.h"

struct ingest;

/* boot_offset_ns: CLOCK_BOOTTIME - CLOCK_MONOTONIC. Returns owned, NULL with errno ENOMEM. The
 * model is borrowed until ingest_free(). */
struct ingest *ingest_new(struct model *m, uint32_t cpus_possible, uint64_t boot_offset_ns);
void ingest_free(struct ingest *in);

/* To be told once a slice: it grows by the time that the host was suspended. */
void ingest_set_boot_offset(struct ingest *in, uint64_t boot_offset_ns);

/*
 * Begins the recording proper at that time: accounts and CPU books read before are baselines, those
 * read later count from them. Threads that are born later count from zero.
 */
void ingest_begin(struct ingest *in, uint64_t start_ns);

/* Row of the process that is so called, added where it is not known yet; or MODEL_NONE. */
uint32_t ingest_process(struct ingest *in, uint32_t tgid, uint64_t start_ns);

/* A stack whose size was checked. Kernel frames are made relative to m->kernel_text. */
void ingest_stack(struct ingest *in, const struct event_stack *stack);
void ingest_sample(struct ingest *in, const struct event_sample *sample);

/* An account as read, or the last one. Adds the difference to the thread and, in the current slice,
 * to its row of accounts. */
void ingest_task(struct ingest *in, const struct event_task *task);
/* Around each run of the iterator: threads that it no longer shows are gone, although their last
 * record was lost. */
void ingest_pass_begin(struct ingest *in);
/* Of a pass that has told of all threads: who was not among them has ended. */
void ingest_pass_end(struct ingest *in, uint64_t now_ns);

/* Books of one CPU as of that reading. Of a CPU that is off line at it and was so at the last,
 * nothing is counted; where it went or came in between, the time without it is idle. */
void ingest_cpu(struct ingest *in, uint32_t cpu, const struct cpu_reading *reading);
/* Its clock is another one from now on: cpu_book_change(). */
void ingest_cpu_change(struct ingest *in, uint32_t cpu, const struct cpu_clock *clock,
		       uint64_t now_ns);
/* Samples, ticks and who waited at them stand for so many from now on: model_slice.sample_every. */
void ingest_set_every(struct ingest *in, uint32_t every);
/* Kernel loss counters as of now, cumulative, by cause. */
void ingest_losses(struct ingest *in, const uint64_t *counts, uint32_t cnt);

/*
 * Requests, once a slice, after the accounts (who is who is known then): begin, each row of the
 * kernel's endpoints, then each socket as it stands, end. now_ns: by which the age of what stands
 * is told. sockets_read: all sockets were told; else what they told at the last look stands. The
 * look before ingest_begin() is the baseline.
 */
void ingest_requests_begin(struct ingest *in, uint64_t now_ns);
void ingest_endpoint(struct ingest *in, uint32_t row, const struct endpoint *endpoint);
void ingest_socket(struct ingest *in, const struct event_socket *socket);
/* So many of a process found no row; before ingest_begin() they are nobody's. */
void ingest_refused(struct ingest *in, uint32_t tgid, uint64_t start_ns, uint64_t requests);
void ingest_requests_end(struct ingest *in, bool sockets_read);

/* Side-band records, in the order of their times. */
void ingest_fork(struct ingest *in, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		 uint64_t time_ns);
void ingest_exit(struct ingest *in, uint32_t tgid, uint32_t tid, uint64_t time_ns);
/* Returns the row of the process if this was an exec (its facts are to be read again), else
 * MODEL_NONE. */
uint32_t ingest_comm(struct ingest *in, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		     bool exec, uint64_t time_ns);

struct ingest_mapping {
	uint32_t tgid;
	uint64_t time_ns, start, end, file_offset;
	uint64_t dev, inode; /* 0 = unknown */
	const uint8_t *build_id;
	uint8_t build_id_len; /* 0 = unknown */
	const char *path;
	size_t path_len;
};
void ingest_mapping(struct ingest *in, const struct ingest_mapping *mapping);
/* So many records of births, ends and mappings were lost: of whom is not known, so the mappings of
 * all who are sampled from now on are read again. */
void ingest_lost(struct ingest *in, uint64_t records);
/* Once a slice, when all its records are taken and its samples are not named for good: marks whose
 * mappings are to be read again. */
void ingest_read_lost(struct ingest *in);
/*
 * Whether further mappings of a process id are refused for the rest of this slice, whatever they
 * are: then they need not be read. Counts one where they are.
 */
bool ingest_refuses_mapping(struct ingest *in, uint32_t tgid);

/* Before a slice is written: drops the mappings of processes that ended without a sample, so that a
 * storm of short processes costs no memory. */
void ingest_slice_end(struct ingest *in);

/* Bytes of what it remembers of each thread that ever ran: its last reading. */
size_t ingest_bytes(const struct ingest *in);
#endif
