/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_KERNEL_SIDEBAND_H
#define HOTRUN_KERNEL_SIDEBAND_H
/*
 * The kernel's own record of process lifetimes and executable mappings: dummy perf events on each
 * CPU with mmap2 (and build ids), comm and task records, clock CLOCK_MONOTONIC. No tracepoint tells
 * executable mappings. Formats: include/uapi/linux/perf_event.h. No threads.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sideband;

struct sideband_mapping {
	uint32_t tgid;
	uint64_t time_ns;
	uint64_t start, end;
	uint64_t file_offset;
	uint64_t dev, inode;	 /* 0 where the build id is told instead */
	const uint8_t *build_id; /* borrowed until the callback returns */
	uint8_t build_id_len;
	const char *path; /* not terminated; borrowed until the callback returns */
	size_t path_len;
};

struct sideband_ops {
	void *ctx;
	void (*fork)(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		     uint64_t time_ns);
	void (*exit)(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns);
	void (*comm)(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, size_t len,
		     bool exec, uint64_t time_ns);
	void (*mapping)(void *ctx, const struct sideband_mapping *mapping);
	void (*lost)(void *ctx, uint64_t records);
	/* May be NULL. Whether a mapping of that process is passed over, unread: who maps without
	 * end must cost next to nothing. Asked as soon as the record is in a ring, so its time may
	 * be later than that of the drain. */
	bool (*passes)(void *ctx, uint32_t tgid);
};

/* Opens and maps the rings of each CPU marked online. Returns 0 or -EPERM, -EMFILE, -ENOMEM, ... */
int sideband_open(const bool *online, uint32_t cpus, struct sideband **ret_sideband);
/* Opens rings for CPUs that came online since, closes those of CPUs that went. */
void sideband_follow_cpus(struct sideband *sb, const bool *online);
/* Hands every record up to that time to ops, in the order of their times over all rings: a process
 * forks on one CPU and runs on another. Returns the number of malformed records. */
uint64_t sideband_drain(struct sideband *sb, const struct sideband_ops *ops, uint64_t until_ns);
/* Waits until about a process's worth of mappings has come on some CPU since it last returned, the
 * caller's descriptor (-1: none) can be read, or the time is over. SIDEBAND_NOTHING: at the end, or
 * for a signal. */
enum sideband_came { SIDEBAND_NOTHING, SIDEBAND_RECORDS, SIDEBAND_CALLER };
enum sideband_came sideband_wait(const struct sideband *sb, uint64_t timeout_ns, int fd);
void sideband_free(struct sideband *sb);
/* KiB that the rings of one CPU take where the kernel grants all. */
uint32_t sideband_cpu_kb(void);
#endif
