/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/target_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "isolate/message.h"
#include "isolate/procmap_query.h"

#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
/* Entries of pages that are read at once: what is looked at next often lies near. */
#define ENTRIES 16u
/* Looks after which nothing is remembered of pages that were there: some ms. */
#define LOOKS_MAX 2048u
/* Mappings of a file on each side of one of it. */
#define NEIGHBOURS_MAX 8u
/* Of the list of mappings. */
#define MAPS_BYTES_MAX (16u << 20)

struct range {
	struct target_mapping at;
	uint64_t offset, dev, inode; /* in the file, and which */
};

/* Of the process that is read: a worker has one job at a time. */
static struct range mappings[TARGET_MAPPINGS_MAX];
static size_t mappings_cnt;

/* One line of the list; false: it cannot be kept. */
static bool take_line(const char *line)
{
	unsigned long long start, end, offset, inode;
	unsigned int major_, minor_;

	if (sscanf(line, "%llx-%llx %*4s %llx %x:%x %llu", &start, &end, &offset, &major_, &minor_,
		   &inode) != 6)
		return false;
	if (mappings_cnt == TARGET_MAPPINGS_MAX)
		return false;
	mappings[mappings_cnt++] =
		(struct range){{start, end}, offset, makedev(major_, minor_), inode};
	return true;
}

/* True where all of it was read and kept. */
static bool read_maps(const struct target_memory *memory)
{
	static char buf[65536 + 1];
	size_t len = 0, all = 0;
	ssize_t n = 0;

	mappings_cnt = 0;
	while (all < MAPS_BYTES_MAX &&
	       (n = read(memory->maps_fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)n;
		all += (size_t)n;
		buf[len] = '\0';
		while ((end = memchr(line, '\n', len - (size_t)(line - buf)))) {
			*end = '\0';
			if (!take_line(line))
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

/* Reads the list of mappings, once. */
static bool know_mappings(struct target_memory *memory)
{
	if (!memory->is_read) {
		memory->is_known = read_maps(memory);
		memory->is_read = true;
	}
	return memory->is_known;
}

/* The mapping in which an address is, or NULL; of the list. */
static const struct range *listed_at(uint64_t address)
{
	size_t low = 0, high = mappings_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings[middle].at.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < mappings_cnt && mappings[low].at.start <= address ? &mappings[low] : NULL;
}

/*
 * Asks the kernel for one mapping (since 6.11): of some hundred, writing down and reading the list
 * takes longer than all else in a job. Returns 1, 0: it is of no file, or -errno; -ENOENT: nothing
 * is mapped there.
 */
static int query(const struct target_memory *memory, uint64_t address, struct range *ret)
{
	struct procmap_query q = {.size = sizeof(q), .query_addr = address};

	*ret = (struct range){0};
	if (ioctl(memory->maps_fd, PROCMAP_QUERY, &q))
		return -errno;
	*ret = (struct range){
		{q.vma_start, q.vma_end}, q.vma_offset, makedev(q.dev_major, q.dev_minor), q.inode};
	return q.inode != 0;
}

/* The mapping in which an address is. Returns 1, 0: it is of no file, or negative: there is none,
 * or nobody can tell. Mostly it is the one of the last time. */
static int mapping_at(struct target_memory *memory, uint64_t address, struct range *ret)
{
	static struct range last; /* of this process: memory->have_last */
	const struct range *listed;
	int is_file;

	if (!memory->is_old && !memory->is_known) {
		if (memory->have_last && address >= last.at.start && address < last.at.end) {
			*ret = last;
			return memory->last_is_file;
		}
		is_file = query(memory, address, ret);
		if (is_file >= 0) {
			last = *ret;
			memory->have_last = true;
			memory->last_is_file = is_file;
			return is_file;
		}
		if (is_file == -ENOENT)
			return is_file;
		memory->is_old = true;
	}
	if (!know_mappings(memory))
		return -ENODATA;
	listed = listed_at(address);
	if (!listed)
		return -ENOENT;
	*ret = *listed;
	return listed->inode != 0;
}

/* Where the bytes of a page are. */
enum page_place {
	PAGE_IN_MEMORY,
	PAGE_ZERO, /* nobody has written to it yet */
	PAGE_IN_FILE,
	PAGE_UNKNOWN, /* swapped out, or nobody can tell */
};

static enum page_place place_of(struct target_memory *memory, uint64_t entry, uint64_t address)
{
	struct range file;
	int is_file;

	if (entry & SWAPPED)
		return PAGE_UNKNOWN;
	if (entry & PRESENT)
		return PAGE_IN_MEMORY;
	is_file = mapping_at(memory, address, &file);
	if (is_file < 0)
		return PAGE_UNKNOWN;
	return is_file ? PAGE_IN_FILE : PAGE_ZERO;
}

/* Whether a page was there a moment ago. */
static bool was_there(const struct target_memory *memory, uint64_t page)
{
	return memory->there[page % TARGET_THERE] == page + 1;
}

/* Entries of a page and those around it. */
struct window {
	uint64_t entries[ENTRIES];
	uint64_t first;
	size_t cnt;
};

static bool read_window(struct target_memory *memory, uint64_t page, struct window *w)
{
	ssize_t n;

	w->first = page - page % ENTRIES;
	n = pread(memory->pages_fd, w->entries, sizeof(w->entries),
		  (off_t)(w->first * sizeof(w->entries[0])));
	w->cnt = n > 0 ? (size_t)n / sizeof(w->entries[0]) : 0;
	for (size_t i = 0; i < w->cnt; i++)
		if (w->entries[i] & PRESENT)
			memory->there[(w->first + i) % TARGET_THERE] = w->first + i + 1;
	return page - w->first < w->cnt;
}

/* How many pages from that one on lie in the same place, of so many at the most. */
static size_t alike_from(struct target_memory *memory, uint64_t page, size_t cnt,
			 uint64_t page_bytes, enum page_place *ret_place)
{
	struct window w = {.cnt = 0};
	size_t alike;

	*ret_place = PAGE_UNKNOWN;
	if (++memory->looks % LOOKS_MAX == 0)
		memset(memory->there, 0, sizeof(memory->there));
	for (alike = 0; alike < cnt; alike++) {
		uint64_t at = page + alike;
		enum page_place place = PAGE_IN_MEMORY;

		if (!was_there(memory, at)) {
			if (at - w.first >= w.cnt && !read_window(memory, at, &w))
				break;
			place = place_of(memory, w.entries[at - w.first], at * page_bytes);
		}
		if (!alike)
			*ret_place = place;
		else if (place != *ret_place)
			break;
	}
	return alike;
}

static bool is_shared(const struct target_memory *memory, const struct range *file)
{
	return file->dev == memory->shared_dev;
}

static void add_need(struct target_memory *memory, const struct range *file, bool is_wanting)
{
	uint32_t i = 0;

	while (i < memory->needs_cnt && memory->needs[i].start != file->at.start &&
	       !(is_shared(memory, file) && memory->needs_shared[i] == file->inode))
		i++;
	if (i == TARGET_GIVEN_MAX)
		return;
	if (i == memory->needs_cnt) {
		memory->needs_shared[i] = is_shared(memory, file) ? file->inode : 0;
		memory->needs[memory->needs_cnt++] = file->at;
	}
	if (is_wanting)
		memory->wanting |= 1ull << i;
}

static bool is_same_file(const struct range *a, const struct range *b)
{
	return a->inode == b->inode && a->dev == b->dev;
}

/* Between sections of an image there is memory of no file. */
static bool is_part(const struct range *r, const struct range *file,
		    const struct target_memory *memory)
{
	return (!r->inode || is_same_file(r, file)) && memory->needs_cnt < TARGET_GIVEN_MAX;
}

/* What else is mapped of that file around it, by the list. */
static void need_listed(struct target_memory *memory, const struct range *wanting)
{
	const struct range *file = know_mappings(memory) ? listed_at(wanting->at.start) : NULL;
	const struct range *r;

	if (!file)
		return;
	for (r = file; r > mappings && is_part(r - 1, file, memory);)
		if ((--r)->inode)
			add_need(memory, r, false);
	for (r = file + 1; r < mappings + mappings_cnt && is_part(r, file, memory); r++)
		if (r->inode)
			add_need(memory, r, false);
}

/* Adds the mapping at an address if it is of that file. False: nothing of it follows there. */
static bool add_neighbour(struct target_memory *memory, const struct range *wanting,
			  uint64_t address, struct target_mapping *ret_at)
{
	struct range file;
	int is_file = query(memory, address, &file);

	if (is_file < 0 || !file.at.end || (is_file && !is_same_file(&file, wanting)))
		return false;
	if (is_file)
		add_need(memory, &file, false);
	*ret_at = file.at;
	return true;
}

/* The same by asking the kernel what lies next to it. */
static void need_asked(struct target_memory *memory, const struct range *wanting)
{
	struct target_mapping at = wanting->at;

	for (unsigned i = 0; i < NEIGHBOURS_MAX && at.start; i++)
		if (!add_neighbour(memory, wanting, at.start - 1, &at))
			break;
	at = wanting->at;
	for (unsigned i = 0; i < NEIGHBOURS_MAX; i++)
		if (!add_neighbour(memory, wanting, at.end, &at))
			break;
}

/* With what else is mapped of it: that will be wanting next. */
static void need(struct target_memory *memory, const struct range *wanting)
{
	uint32_t cnt = memory->needs_cnt;

	memory->missed++;
	add_need(memory, wanting, true);
	if (memory->needs_cnt == cnt || is_shared(memory, wanting))
		return;
	if (memory->is_old || memory->is_known)
		need_listed(memory, wanting);
	else
		need_asked(memory, wanting);
}

/*
 * Whether it is the file of that mapping: another may have been mapped there since it was opened.
 * The device is no help, see opener/file_look.c; but that of shared memory, of which a runtime maps
 * parts of one file in hundreds of places.
 */
static bool is_file_of(struct target_memory *memory, uint32_t given, const struct range *file)
{
	struct stat st;

	if (memory->given_fds[given] < 0)
		return false;
	if (!memory->given_inodes[given] && !fstat(memory->given_fds[given], &st)) {
		memory->given_inodes[given] = st.st_ino;
		memory->given_shared |= st.st_dev == memory->shared_dev ? 1ull << given : 0;
	}
	if (memory->given_inodes[given] != file->inode)
		return false;
	if (is_shared(memory, file))
		return memory->given_shared >> given & 1;
	return memory->given[given].start == file->at.start &&
	       memory->given[given].end == file->at.end;
}

/* Its descriptor, where it was handed over; else -1. */
static int given_file(struct target_memory *memory, const struct range *file)
{
	for (uint32_t i = 0; i < memory->given_cnt; i++) {
		if (!is_file_of(memory, i, file))
			continue;
		memory->given_used |= 1ull << i;
		return memory->given_fds[i];
	}
	return -1;
}

/* Of the one mapping in which the address is. */
static ssize_t read_file(struct target_memory *memory, void *buf, size_t len, uint64_t address)
{
	struct range file;
	int fd;
	ssize_t n;

	if (mapping_at(memory, address, &file) <= 0)
		return -EFAULT;
	fd = given_file(memory, &file);
	if (fd < 0) {
		need(memory, &file);
		return -EFAULT;
	}
	if (len > file.at.end - address)
		len = (size_t)(file.at.end - address);
	n = pread(fd, buf, len, (off_t)(file.offset + (address - file.at.start)));
	return n > 0 ? n : -EFAULT;
}

/* What lies in one place from there on. */
static ssize_t read_alike(struct target_memory *memory, void *buf, size_t len, uint64_t address)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), within = address % page_bytes;
	size_t pages = (size_t)((within + len - 1) / page_bytes + 1), alike;
	enum page_place place;
	ssize_t n;

	alike = alike_from(memory, address / page_bytes, pages, page_bytes, &place);
	if (place == PAGE_UNKNOWN)
		return -EFAULT;
	if (alike < pages)
		len = (size_t)(alike * page_bytes - within);
	if (place == PAGE_IN_FILE)
		return read_file(memory, buf, len, address);
	if (place == PAGE_ZERO) {
		memset(buf, 0, len);
		return (ssize_t)len;
	}
	n = pread(memory->memory_fd, buf, len, (off_t)address);
	return n < 0 ? -errno : n;
}

ssize_t target_memory_read(struct target_memory *memory, void *buf, size_t len, uint64_t address)
{
	size_t at = 0;

	if (address + len < address)
		return -EFAULT;
	while (at < len) {
		ssize_t n = read_alike(memory, (char *)buf + at, len - at, address + at);

		if (n <= 0)
			return at ? (ssize_t)at : n;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

ssize_t target_memory_read_of(void *source, void *buf, size_t len, uint64_t address)
{
	return target_memory_read(source, buf, len, address);
}

/* --- what is handed over ---------------------------------------------------------------------- */

static int receive(int socket)
{
	char byte;
	int fd;

	return message_receive_exact(socket, &byte, sizeof(byte), &fd) ? -1 : fd;
}

bool target_memory_receive(struct target_memory *memory, int socket,
			   const struct target_mapping *mappings, uint32_t cnt)
{
	memory->memory_fd = receive(socket);
	memory->pages_fd = memory->memory_fd < 0 ? -1 : receive(socket);
	memory->maps_fd = memory->pages_fd < 0 ? -1 : receive(socket);
	if (memory->maps_fd < 0)
		return false;
	for (uint32_t i = 0; i < cnt && i < TARGET_GIVEN_MAX; i++) {
		memory->given[i] = mappings[i];
		memory->given_fds[i] = receive(socket);
		memory->given_cnt = i + 1;
	}
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void target_memory_close(struct target_memory *memory)
{
	for (uint32_t i = 0; i < memory->given_cnt; i++)
		close_fd(memory->given_fds[i]);
	close_fd(memory->memory_fd);
	close_fd(memory->pages_fd);
	close_fd(memory->maps_fd);
	*memory = (struct target_memory){.memory_fd = -1, .pages_fd = -1, .maps_fd = -1};
}
