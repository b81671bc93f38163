/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_TARGET_MEMORY_H
#define HOTRUN_PARSE_TARGET_MEMORY_H
/*
 * Reads the memory of a process that runs on, in a worker, and makes no page of it present: that
 * would grow the process, at our cost, until it ends; and a page that has to be fetched is fetched
 * with the process's list of mappings held, so that its threads that map or unmap anything wait
 * (access_remote_vm() in mm/memory.c; measured: 4.9 s, of a file system that did not answer). An
 * absent page of a file is as the file has it, and read from that, where it was handed over; else
 * the mapping is noted as needed: so is shared memory, whose file is a memfd or the like. Absent
 * memory of no file is zeros, and what is swapped out cannot be read. A page may go between the
 * look and the read, some ms at the most: it was in use just before. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Mappings that are remembered; in a process with more nothing is read that is not there. */
#define TARGET_MAPPINGS_MAX 65536u
/* Files that are handed over, or are noted as needed. */
#define TARGET_GIVEN_MAX 64u

/* Pages that are remembered. */
#define TARGET_THERE 512u

/* A mapping of a file. */
struct target_mapping {
	uint64_t start, end;
};

struct target_memory {
	int memory_fd;	     /* /proc/PID/mem */
	int pages_fd;	     /* /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst */
	uint64_t shared_dev; /* st_dev of a memfd: of each such file one descriptor serves all */
	int maps_fd;	     /* /proc/PID/maps, asked, or read when it is needed first */
	bool is_read, is_known;
	bool is_old;		      /* the kernel cannot be asked for one mapping */
	bool have_last, last_is_file; /* it told of one, which is of a file */
	/* Files, by where they are mapped; -1: cannot be had. */
	struct target_mapping given[TARGET_GIVEN_MAX];
	int given_fds[TARGET_GIVEN_MAX];
	uint64_t given_inodes[TARGET_GIVEN_MAX]; /* 0: not asked for yet */
	uint64_t given_shared;			 /* bit by file: shared memory */
	uint32_t given_cnt;
	uint64_t given_used; /* bit by file */
	/* What could not be read for want of their files. */
	struct target_mapping needs[TARGET_GIVEN_MAX];
	uint64_t needs_shared[TARGET_GIVEN_MAX]; /* inode of shared memory, else 0 */
	uint32_t needs_cnt;
	uint64_t wanting; /* bit by need; the others are of the same files, and may be next */
	uint64_t missed;  /* reads that failed for that; only grows */
	/* Pages that were there a moment ago, by number + 1: they are read without another look. */
	uint64_t there[TARGET_THERE];
	uint32_t looks;
};

/*
 * Takes the descriptors of a process from a socket, as the opener sends them (struct target_request
 * of opener/file_request.h), with so many files. False: they are not all there. To be released by
 * target_memory_close().
 */
bool target_memory_receive(struct target_memory *memory, int socket,
			   const struct target_mapping *files, uint32_t files_cnt);
void target_memory_close(struct target_memory *memory);

/* Like pread(), up to the first page that would have to be fetched. Bytes, or -errno: -EFAULT where
 * the first one would. */
ssize_t target_memory_read(struct target_memory *memory, void *buf, size_t len, uint64_t address);
/* The same as a perfmap_memory_read: source is a struct target_memory. */
ssize_t target_memory_read_of(void *source, void *buf, size_t len, uint64_t address);
#endif
