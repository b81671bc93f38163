/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfmap/maps/tail.h"

#define LINE_A "0x7f0000001000 40 void [a] X::A()[QuickJitted]\n"
#define LINE_B "0x7f0000002000 40 void [a] X::B()[QuickJitted]\n"
#define LINE_C "0x7f0000003000 40 void [a] X::C()[QuickJitted]\n"
#define LINE_D "0x7f0000004000 40 void [a] X::D()[QuickJitted]\n"

struct fixture {
	struct perfmap_tail *tail;
	int fd; /* the writer's */
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.fd = memfd_create("map", MFD_CLOEXEC)};

	f.tail = perfmap_tail_new(dup(f.fd));
	cr_assert(f.tail);
	return f;
}

static void fixture_free(struct fixture *f)
{
	perfmap_tail_free(f->tail);
	close(f->fd);
}

static void append(struct fixture *f, const char *text)
{
	cr_assert_geq(lseek(f->fd, 0, SEEK_END), 0);
	cr_assert_eq(write(f->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static size_t advance(struct fixture *f, uint64_t seen_ns)
{
	size_t bytes = SIZE_MAX;
	bool more;

	cr_assert_eq(perfmap_tail_advance(f->tail, seen_ns, 64u << 20, &bytes, &more), 0);
	return bytes;
}

/* Name at an address: "-" when none, "stale" when its line is gone. */
static const char *name_at(struct fixture *f, uint64_t address, uint64_t time_ns)
{
	static char name[256];
	struct perfmap_hit hit;
	size_t len;

	if (perfmap_find(perfmap_tail_map(f->tail), address, time_ns, &hit))
		return "-";
	if (perfmap_tail_name(f->tail, &hit, name, sizeof(name), &len) == -ESTALE)
		return "stale";
	return name;
}

Test(perfmap_tail, reads_what_was_appended)
{
	struct fixture f = fixture_new();

	cr_expect_eq(advance(&f, 0), 0, "empty file");
	append(&f, LINE_A);
	cr_expect_eq(advance(&f, 10), strlen(LINE_A));
	cr_expect_eq(advance(&f, 20), 0);
	append(&f, "0x7f0000002000 40 void [a] X::");
	advance(&f, 30);
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 99), "-", "torn line");
	append(&f, "B()[QuickJitted]\n");
	advance(&f, 40);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 10), "void [a] X::A()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 40), "void [a] X::B()[QuickJitted]");
	cr_expect_not(perfmap_tail_rewritten(f.tail));
	fixture_free(&f);
}

Test(perfmap_tail, notices_a_file_written_anew)
{
	static const struct {
		const char *what;
		const char *anew;
	} rows[] = {
		{"shorter than before", LINE_C},
		{"longer than before", LINE_C LINE_D LINE_C},
		{"cut and nothing more", ""},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = fixture_new();

		append(&f, LINE_A LINE_B);
		advance(&f, 10);
		cr_assert_eq(ftruncate(f.fd, 0), 0);
		append(&f, rows[i].anew);
		cr_expect_eq(advance(&f, 20), strlen(rows[i].anew), "%s", rows[i].what);
		cr_expect(perfmap_tail_rewritten(f.tail), "%s", rows[i].what);
		cr_expect_str_eq(name_at(&f, 0x7f0000002000, 10), "stale", "%s", rows[i].what);
		if (rows[i].anew[0])
			cr_expect_str_eq(name_at(&f, 0x7f0000003000, 20),
					 "void [a] X::C()[QuickJitted]", "%s", rows[i].what);
		append(&f, LINE_B);
		advance(&f, 30);
		cr_expect_str_eq(name_at(&f, 0x7f0000002000, 30), "void [a] X::B()[QuickJitted]",
				 "%s", rows[i].what);
		fixture_free(&f);
	}
}

Test(perfmap_tail, an_equal_rewrite_keeps_old_entries_good)
{
	struct fixture f = fixture_new();

	append(&f, LINE_A LINE_B);
	advance(&f, 10);
	cr_assert_eq(ftruncate(f.fd, 0), 0);
	advance(&f, 20);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 10), "stale");
	append(&f, LINE_C LINE_B LINE_A);
	advance(&f, 30);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 10), "void [a] X::A()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 10), "void [a] X::B()[QuickJitted]");
	fixture_free(&f);
}

Test(perfmap_tail, still_reads_a_removed_file)
{
	char path[] = "/tmp/hotrun-test-XXXXXX";
	struct fixture f = {.fd = mkstemp(path)};

	cr_assert_geq(f.fd, 0);
	f.tail = perfmap_tail_new(dup(f.fd));
	append(&f, LINE_A);
	advance(&f, 10);
	unlink(path);
	append(&f, LINE_B);
	advance(&f, 20);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 20), "void [a] X::A()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 20), "void [a] X::B()[QuickJitted]");
	fixture_free(&f);
}

Test(perfmap_tail, reads_a_huge_file_in_bounded_steps)
{
	struct fixture f = fixture_new();
	size_t bytes, total = 0;
	bool more = true;

	append(&f, LINE_A);
	for (int i = 0; i < 100000; i++)
		append(&f, LINE_A);
	append(&f, LINE_B);
	while (more) {
		cr_assert_eq(perfmap_tail_advance(f.tail, 10, 2u << 20, &bytes, &more), 0);
		cr_expect_eq(bytes == 2u << 20, more);
		total += bytes;
	}
	cr_expect_eq(total, 100001 * strlen(LINE_A) + strlen(LINE_B));
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 99), "void [a] X::B()[QuickJitted]");
	fixture_free(&f);
}

Test(perfmap_tail, steps_are_short_inside_an_endless_line)
{
	struct fixture f = fixture_new();
	size_t bytes, steps = 0;
	bool more = true;

	append(&f, LINE_A);
	/* A hole: NULs without a newline. */
	cr_assert_eq(ftruncate(f.fd, 8 << 20), 0);
	append(&f, "\n" LINE_B);
	for (; more; steps++) {
		cr_assert_eq(perfmap_tail_advance(f.tail, 10, 64u << 20, &bytes, &more), 0);
		cr_expect_leq(bytes, 1u << 20);
	}
	cr_expect_eq(steps, 9);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 99), "void [a] X::A()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 99), "void [a] X::B()[QuickJitted]");
	cr_expect_eq(perfmap_counters(perfmap_tail_map(f.tail)).too_long, 1);
	fixture_free(&f);
}

Test(perfmap_tail, reports_a_descriptor_that_cannot_be_read)
{
	size_t bytes = 7;
	bool more;
	int fds[2];
	struct perfmap_tail *tail = perfmap_tail_new(-1);

	cr_expect_eq(perfmap_tail_advance(tail, 0, 64u << 20, &bytes, &more), -EBADF);
	perfmap_tail_free(tail);
	cr_assert_eq(pipe(fds), 0);
	tail = perfmap_tail_new(fds[0]);
	cr_expect_eq(perfmap_tail_advance(tail, 0, 64u << 20, &bytes, &more), 0,
		     "a pipe has no size");
	cr_expect_eq(bytes, 0);
	perfmap_tail_free(tail);
	close(fds[1]);
	perfmap_tail_free(NULL);
}
