/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of this process's own memory: pages that are there, that were never touched, and such of a
 * file that are not mapped yet. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolate/procmap_query.h"
#include "parse/target_memory.h"

#define PAGES 8

static struct target_memory own_memory(void)
{
	return (struct target_memory){
		.memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
		.pages_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
		.maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
	};
}

static void close_memory(struct target_memory *memory)
{
	close(memory->memory_fd);
	close(memory->pages_fd);
	close(memory->maps_fd);
}

static char page_read[PAGES * 65536];

static ssize_t read_page(struct target_memory *memory, const void *at, size_t len)
{
	return target_memory_read(memory, page_read, len, (uint64_t)(uintptr_t)at);
}

Test(target_memory, reads_what_is_there)
{
	struct target_memory memory = own_memory();
	char text[] = "here", buf[sizeof(text)] = "";

	cr_expect_eq(target_memory_read(&memory, buf, sizeof(buf), (uint64_t)(uintptr_t)text),
		     (ssize_t)sizeof(buf));
	cr_expect_str_eq(buf, "here");
	cr_expect(!memory.is_read, "nobody asks what it is of");
	close_memory(&memory);
}

Test(target_memory, fetches_no_page_of_a_file)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/hotrun-test-XXXXXX";
	int fd = mkstemp(path);
	unsigned char there;
	char *map;

	cr_assert_geq(fd, 0);
	unlink(path);
	cr_assert_eq(ftruncate(fd, (off_t)(PAGES * page)), 0);
	map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	/* No others around the one that is touched. */
	madvise(map, PAGES * page, MADV_RANDOM);
	map[2 * page] = 'x';
	struct target_memory memory = own_memory();

	cr_expect_eq(read_page(&memory, map + 2 * page, page), (ssize_t)page);
	cr_expect_eq(read_page(&memory, map + 2 * page + 10, 2 * page), (ssize_t)page - 10,
		     "up to the first that is not there");
	cr_expect_eq(read_page(&memory, map + 4 * page, 1), -EFAULT);
	cr_expect_eq(read_page(&memory, map + page, 2 * page), -EFAULT);
	cr_assert_eq(mincore(map, page, &there), 0);
	close_memory(&memory);
	close(fd);
}

/* Where a page lies that is mapped, and whether it came there. */
static bool is_there(const struct target_memory *memory, const char *at)
{
	uint64_t entry = 0, page = (uintptr_t)at / (uintptr_t)sysconf(_SC_PAGESIZE);

	cr_assert_eq(pread(memory->pages_fd, &entry, 8, (off_t)(page * 8)), 8);
	return entry >> 63;
}

/* by_list: as on kernels that cannot be asked for one mapping. */
static struct target_memory own_memory_by(bool by_list)
{
	struct target_memory memory = own_memory();

	memory.is_old = by_list;
	return memory;
}

static void read_from_file(bool by_list)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/hotrun-test-XXXXXX", other_path[] = "/tmp/hotrun-test-XXXXXX";
	char buf[4 * 65536];
	int fd = mkstemp(path), other;
	struct target_mapping given;
	char *map;

	cr_assert_geq(fd, 0);
	unlink(path);
	for (size_t i = 0; i < PAGES; i++) {
		memset(buf, 'a' + (int)i, page);
		cr_assert_eq(pwrite(fd, buf, page, (off_t)(i * page)), (ssize_t)page);
	}
	map = mmap(NULL, (PAGES - 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)page);
	cr_assert_neq(map, MAP_FAILED);
	madvise(map, (PAGES - 1) * page, MADV_RANDOM);
	map[2 * page] = 'x';
	struct target_memory memory = own_memory_by(by_list);

	cr_expect_eq(read_page(&memory, map + 4 * page, 1), -EFAULT);
	cr_assert_eq(memory.needs_cnt, 1);
	cr_expect_eq(memory.needs[0].start, (uint64_t)(uintptr_t)map);
	cr_expect_eq(memory.missed, 1);
	memory.given[0] = memory.needs[0];
	memory.given_fds[0] = fd;
	memory.given_cnt = 1;
	cr_expect_eq(target_memory_read(&memory, buf, 3 * page, (uint64_t)(uintptr_t)map + page),
		     (ssize_t)(3 * page), "what lies in the file, in memory, and in the file");
	cr_expect_eq(buf[0], 'c');
	cr_expect_eq(buf[page], 'x', "what was written, and not what the file has");
	cr_expect_eq(buf[page + 1], 'd');
	cr_expect_eq(buf[2 * page], 'e');
	cr_expect_eq(memory.given_used, 1);
	cr_expect(!is_there(&memory, map + 3 * page), "and nothing was fetched");
	close_memory(&memory);
	/* The same range of another part of it: as it is mapped now. */
	map = mmap(map, (PAGES - 1) * page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	given = memory.given[0];
	memory = own_memory_by(by_list);
	memory.given[0] = given;
	memory.given_fds[0] = fd;
	memory.given_cnt = 1;
	cr_expect_eq(read_page(&memory, map + page, 1), 1);
	cr_expect_eq(page_read[0], 'b');
	/* Another file there: what was handed over is not read. */
	other = mkstemp(other_path);
	unlink(other_path);
	cr_assert_eq(ftruncate(other, (off_t)(PAGES * page)), 0);
	cr_assert_neq(mmap(map, (PAGES - 1) * page, PROT_READ, MAP_PRIVATE | MAP_FIXED, other, 0),
		      MAP_FAILED);
	close_memory(&memory);
	memory = own_memory_by(by_list);
	memory.given[0] = given;
	memory.given_fds[0] = fd;
	memory.given_cnt = 1;
	cr_expect_eq(read_page(&memory, map + page, 1), -EFAULT);
	cr_expect_eq(memory.needs_cnt, 1);
	close_memory(&memory);
	close(other);
	close(fd);
}

Test(target_memory, reads_from_the_file_what_is_not_there)
{
	read_from_file(false);
}

Test(target_memory, and_by_the_list_of_mappings_where_the_kernel_cannot_be_asked_for_one)
{
	read_from_file(true);
}

/* What else is mapped of a file that is wanting comes along, as an image lies: with memory of no
 * file between its parts. */
static void name_neighbours(bool by_list)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/hotrun-test-XXXXXX";
	char *all = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = mkstemp(path);
	struct target_memory memory;

	cr_assert(fd >= 0 && all != MAP_FAILED);
	unlink(path);
	cr_assert_eq(ftruncate(fd, (off_t)(8 * page)), 0);
	for (size_t i = 1; i < 7; i += 2) /* its places 1, 3 and 5: none can be one with another */
		cr_assert_neq(mmap(all + i * page, page, i == 3 ? PROT_READ | PROT_EXEC : PROT_READ,
				   MAP_PRIVATE | MAP_FIXED, fd, (off_t)(i * page)),
			      MAP_FAILED);
	memory = own_memory_by(by_list);
	cr_expect_eq(read_page(&memory, all + 3 * page, 1), -EFAULT);
	cr_assert_eq(memory.needs_cnt, 3, "%u", memory.needs_cnt);
	cr_expect_eq(memory.needs[0].start, (uint64_t)(uintptr_t)(all + 3 * page));
	cr_expect_eq(memory.wanting, 1, "of the others nothing was looked for");
	close_memory(&memory);
	close(fd);
	munmap(all, 8 * page);
}

Test(target_memory, the_rest_of_a_file_that_is_wanting_is_named)
{
	name_neighbours(false);
}

Test(target_memory, and_by_the_list)
{
	name_neighbours(true);
}

/* Of a page that was there a moment ago nobody asks again; what took its place is read as it is. */
Test(target_memory, a_page_that_was_there_is_read_at_once)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct target_memory memory = own_memory();

	cr_assert_neq(map, MAP_FAILED);
	map[0] = 'a';
	cr_expect_eq(read_page(&memory, map, 1), 1);
	close(memory.pages_fd);
	memory.pages_fd = -1;
	map[0] = 'b';
	cr_expect_eq(read_page(&memory, map, 1), 1);
	cr_expect_eq(page_read[0], 'b');
	munmap(map, page);
	cr_expect_leq(read_page(&memory, map, 1), 0, "gone");
	/* Not for ever. */
	for (unsigned i = 0; i < 5000; i++)
		read_page(&memory, page_read, 1);
	cr_expect_eq(read_page(&memory, page_read, 1), -EFAULT);
	close(memory.memory_fd);
	close(memory.maps_fd);
}

/* What is of no file needs no list either. */
Test(target_memory, of_one_mapping_the_list_is_not_read)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *none = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct target_memory memory = own_memory();
	struct procmap_query q = {.size = sizeof(q), .query_addr = (uint64_t)(uintptr_t)none};

	cr_assert_neq(none, MAP_FAILED);
	cr_expect_eq(read_page(&memory, none, page), (ssize_t)page);
	cr_expect_eq(memory.is_read, ioctl(memory.maps_fd, PROCMAP_QUERY, &q) != 0,
		     "but where the kernel is older than 6.11");
	close_memory(&memory);
}

/* Bytes of page tables of this process. */
static uint64_t page_table_bytes(void)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	cr_assert_gt(n, 0);
	close(fd);
	text[n] = '\0';
	at = strstr(text, "VmPTE:");
	cr_assert(at);
	return strtoull(at + 6, NULL, 10) * 1024;
}

static bool is_present(const char *at)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	cr_assert_eq(pread(fd, &entry, 8, (off_t)((uint64_t)(uintptr_t)at / page * 8)), 8);
	close(fd);
	return entry >> 63;
}

static void read_absent(bool by_list)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), sparse_bytes = 1ull << 40;
	int fd = memfd_create("test", MFD_CLOEXEC);
	char *sparse = mmap(NULL, sparse_bytes, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct target_memory memory;
	uint64_t before;
	char *shared;

	cr_assert_eq(ftruncate(fd, (off_t)page), 0);
	shared = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert(sparse != MAP_FAILED && shared != MAP_FAILED);
	cr_assert_eq(pwrite(fd, "text", 4, 0), 4);
	memory = own_memory_by(by_list);
	memset(page_read, 1, sizeof(page_read));
	cr_expect_eq(read_page(&memory, sparse + 8, page), (ssize_t)page);
	cr_expect(!page_read[0] && !memcmp(page_read, page_read + 1, page - 1), "zeros");
	before = page_table_bytes();
	for (size_t i = 1; i <= 1000; i++)
		cr_expect_eq(read_page(&memory, sparse + (i << 21), 8), 8);
	cr_expect_leq(page_table_bytes(), before + 2 * page, "the reads made page tables");
	cr_expect_not(is_present(sparse + 8));
	cr_expect_eq(read_page(&memory, shared, 4), -EFAULT);
	cr_expect_eq(memory.needs_cnt, 1, "its file is asked for");
	cr_expect_not(is_present(shared));
	munmap(sparse, sparse_bytes);
	memory.have_last = false;
	if (!by_list)
		cr_expect_eq(read_page(&memory, sparse + (5000ull << 21), 8), -EFAULT,
			     "not mapped");
	close_memory(&memory);
	close(fd);
}

Test(target_memory, absent_memory_is_not_made_present)
{
	read_absent(false);
}

Test(target_memory, nor_by_the_list)
{
	read_absent(true);
}

/* --- kinds of memory ------------------------------------------------------------------------- */

static char *map_kind(size_t bytes, int protection, int flags)
{
	char *at = mmap(NULL, bytes, protection,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static char *untouched(size_t bytes)
{
	return map_kind(bytes, PROT_READ | PROT_WRITE, 0);
}

static char *guarded(size_t bytes)
{
	return map_kind(bytes, PROT_NONE, 0);
}

static char *given_back(size_t bytes)
{
	char *at = untouched(bytes);

	memset(at, 1, bytes);
	cr_assert_eq(madvise(at, bytes, MADV_DONTNEED), 0);
	return at;
}

static char *with_huge_pages(size_t bytes)
{
	char *at = untouched(bytes);

	madvise(at, bytes, MADV_HUGEPAGE); /* not of every kernel */
	return at;
}

/* Without huge pages in reserve a touch raises SIGBUS. */
static char *of_huge_tlb(size_t bytes)
{
	return map_kind(bytes, PROT_READ | PROT_WRITE, MAP_HUGETLB);
}

/* A touch waits for a handler, which never comes. */
static char *of_user_faults(size_t bytes)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | (geteuid() ? UFFD_USER_MODE_ONLY : 0));
	struct uffdio_api api = {.api = UFFD_API};
	char *at = untouched(bytes);
	struct uffdio_register range = {{(uint64_t)at, bytes}, UFFDIO_REGISTER_MODE_MISSING, 0};

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	return at;
}

Test(target_memory, absent_memory_of_any_kind_is_answered_without_touching_it, .timeout = 60)
{
	static const struct {
		const char *name;
		char *(*make)(size_t bytes);
		bool may_lack; /* on some hosts */
	} kinds[] = {
		{"untouched", untouched, false},       {"a guard", guarded, false},
		{"given back", given_back, false},     {"huge pages", with_huge_pages, false},
		{"huge TLB pages", of_huge_tlb, true}, {"user faults", of_user_faults, true},
	};
	size_t bytes = 64u << 20;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char *at = kinds[i].make(bytes);
		struct target_memory memory = own_memory();
		uint64_t before;
		ssize_t n;

		cr_assert(at || kinds[i].may_lack, "%s", kinds[i].name);
		if (!at) {
			printf("skipped: %s: the kernel gives none\n", kinds[i].name);
			close_memory(&memory);
			continue;
		}
		/* Where the list of mappings is read, its tables are touched now. */
		read_page(&memory, at, 8);
		before = page_table_bytes();
		memset(page_read, 1, 8);
		for (size_t k = 0; k < bytes; k += bytes / 16) {
			n = read_page(&memory, at + k, 8);
			cr_expect(n == -EFAULT ||
					  (n == 8 && !memcmp(page_read, "\0\0\0\0\0\0\0", 8)),
				  "%s: %zd", kinds[i].name, n);
			cr_expect_not(is_present(at + k), "%s", kinds[i].name);
		}
		cr_expect_leq(page_table_bytes(), before, "%s: page tables", kinds[i].name);
		munmap(at, bytes);
		close_memory(&memory);
	}
}

/* Freed but still there until the kernel wants it: what is read is what was written, or zeros. */
Test(target_memory, memory_that_may_be_taken_away_at_any_time_is_read_as_it_is)
{
	size_t bytes = 1u << 20;
	struct target_memory memory = own_memory();
	char *at = untouched(bytes);

	memset(at, 7, bytes);
	cr_assert_eq(madvise(at, bytes, MADV_FREE), 0);
	for (size_t k = 0; k < bytes; k += bytes / 16) {
		cr_expect_eq(read_page(&memory, at + k, 8), 8);
		cr_expect(page_read[0] == 7 || page_read[0] == 0);
	}
	munmap(at, bytes);
	close_memory(&memory);
}

Test(target_memory, without_a_list_of_mappings_nothing_is_fetched)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *none = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct target_memory memory = own_memory();

	close(memory.maps_fd);
	memory.maps_fd = -1;
	cr_expect_eq(read_page(&memory, none, 1), -EFAULT);
	none[0] = 'x';
	cr_expect_eq(read_page(&memory, none, 1), 1);
	cr_expect_eq(target_memory_read(&memory, none, page, UINT64_MAX - 1), -EFAULT);
	close_memory(&memory);
}
