/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/target_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
/* Entries that are read at once. */
#define ENTRIES 64u
/* Of the list of mappings. */
#define MAPS_BYTES_MAX (16u << 20)

struct range {
	uint64_t start, end;
};

/* Of the process that is read: a worker has one job at a time. */
static struct range files[TARGET_FILES_MAX];
static size_t files_cnt;

/* One line of the list; false: it cannot be kept. */
static bool take_line(const char *line, uint64_t shared_dev)
{
	unsigned long long start, end, inode;
	unsigned int major_, minor_;

	if (sscanf(line, "%llx-%llx %*4s %*x %x:%x %llu", &start, &end, &major_, &minor_, &inode) !=
	    5)
		return false;
	if (!inode || makedev(major_, minor_) == shared_dev)
		return true;
	if (files_cnt == TARGET_FILES_MAX)
		return false;
	files[files_cnt++] = (struct range){start, end};
	return true;
}

/* True where all of it was read and kept. */
static bool read_maps(const struct target_memory *memory)
{
	static char buf[65536 + 1];
	size_t len = 0, all = 0;
	ssize_t n = 0;

	files_cnt = 0;
	while (all < MAPS_BYTES_MAX &&
	       (n = read(memory->maps_fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)n;
		all += (size_t)n;
		buf[len] = '\0';
		while ((end = memchr(line, '\n', len - (size_t)(line - buf)))) {
			*end = '\0';
			if (!take_line(line, memory->shared_dev))
				return false;
			line = end + 1;
		}
		len -= (size_t)(line - buf);
		memmove(buf, line, len);
		if (len == sizeof(buf) - 1)
			return false;
	}
	return !n && !len;
}

/* Whether a page of a file lies there, or may. */
static bool is_of_file(struct target_memory *memory, uint64_t address)
{
	size_t low = 0, high;

	if (!memory->is_read) {
		memory->is_known = read_maps(memory);
		memory->is_read = true;
	}
	if (!memory->is_known)
		return true;
	high = files_cnt;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (files[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < files_cnt && files[low].start <= address;
}

/* How many pages from that one on need not be fetched, of so many at the most. */
static size_t there_from(struct target_memory *memory, uint64_t page, size_t cnt,
			 uint64_t page_bytes)
{
	uint64_t entries[ENTRIES];
	size_t there = 0;

	while (there < cnt) {
		size_t want = cnt - there < ENTRIES ? cnt - there : ENTRIES, i;
		ssize_t n = pread(memory->pages_fd, entries, want * sizeof(entries[0]),
				  (off_t)((page + there) * sizeof(entries[0])));

		want = n > 0 ? (size_t)n / sizeof(entries[0]) : 0;
		for (i = 0; i < want; i++, there++)
			if (entries[i] & SWAPPED ||
			    (!(entries[i] & PRESENT) &&
			     is_of_file(memory, (page + there) * page_bytes)))
				return there;
		if (!want)
			break;
	}
	return there;
}

ssize_t target_memory_read(struct target_memory *memory, void *buf, size_t len, uint64_t address)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), within = address % page_bytes;
	size_t pages, there;
	ssize_t n;

	if (!len || address + len < address)
		return len ? -EFAULT : 0;
	pages = (size_t)((within + len - 1) / page_bytes + 1);
	there = there_from(memory, address / page_bytes, pages, page_bytes);
	if (!there)
		return -EFAULT;
	if (there < pages)
		len = (size_t)(there * page_bytes - within);
	n = pread(memory->memory_fd, buf, len, (off_t)address);
	return n < 0 ? -errno : n;
}
