/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perfmap/maps/line.h"
#include "perfmap/maps/map.h"

#define ALWAYS UINT64_MAX

/* A map and its file side by side. */
struct fixture {
	struct perfmap *map;
	int fd;
	uint64_t offset;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.map = perfmap_new(), .fd = memfd_create("map", MFD_CLOEXEC)};

	cr_assert(f.map && f.fd >= 0);
	return f;
}

static void fixture_free(struct fixture *f)
{
	perfmap_free(f->map);
	close(f->fd);
}

static void add_bytes(struct fixture *f, const char *bytes, size_t len, uint64_t seen_ns)
{
	cr_assert_eq(pwrite(f->fd, bytes, len, (off_t)f->offset), (ssize_t)len);
	cr_assert_eq(perfmap_feed(f->map, bytes, len, f->offset, seen_ns), 0);
	f->offset += len;
}

static void add(struct fixture *f, const char *text, uint64_t seen_ns)
{
	add_bytes(f, text, strlen(text), seen_ns);
}

/* The raw name at an address, "later:NAME", or "-" for none; valid until the next call. */
static const char *name_at(struct fixture *f, uint64_t address, uint64_t time_ns)
{
	static char text[8192];
	struct perfmap_hit hit;
	size_t len, n = 0;
	int err = perfmap_find(f->map, address, time_ns, &hit);

	if (err == -ENOENT)
		return "-";
	cr_assert_eq(err, 0);
	cr_assert(address >= hit.start && address - hit.start < hit.size_bytes);
	if (hit.later)
		n = (size_t)sprintf(text, "later:");
	err = perfmap_read_name(&hit, f->fd, text + n, sizeof(text) - n, &len);
	return err == -ESTALE ? "stale" : text;
}

Test(perfmap_map, finds_by_address)
{
	struct fixture f = fixture_new();
	static const struct {
		uint64_t address;
		const char *name;
	} rows[] = {
		{0x7f0000001000, "void [a] X::A()"},
		{0x7f000000100f, "void [a] X::A()"},
		{0x7f0000001010, "-"},
		{0x7f0000000fff, "-"},
		{0x7f0000000800, "void [a] X::B()"},
		{0x7f0000009000, "stub X<Y>"},
		{0, "-"},
		{UINT64_MAX, "-"},
	};
	size_t i;

	cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS), "-", "empty map");
	add(&f,
	    "0x7f0000001000 10 void [a] X::A()\n"
	    "0x7f0000009000 40 stub X<Y>\n"
	    "0x7f0000000800 100 void [a] X::B()\n",
	    5);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(name_at(&f, rows[i].address, ALWAYS), rows[i].name, "%lx",
				 rows[i].address);
	cr_expect_eq(perfmap_entries(f.map), 3);
	cr_expect_eq(perfmap_damage(f.map), 0);
	fixture_free(&f);
}

Test(perfmap_map, keeps_a_line_torn_at_any_byte)
{
	static const char text[] = "0x7f0000001000 10 void [a] X::A()[QuickJitted]\n"
				   "0x7f0000002000 20 void [a] X::B()[QuickJitted]\n"
				   "0x7f0000003000 30 void [a] X::C()[QuickJitted]\n";
	size_t cut, second, len = sizeof(text) - 1;

	for (cut = 0; cut <= len; cut++) {
		struct fixture f = fixture_new();
		struct perfmap_counters c;

		second = cut + (len - cut) / 2;
		add_bytes(&f, text, cut, 1);
		if (cut < 47)
			cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS), "-", "%zu", cut);
		add_bytes(&f, text + cut, second - cut, 2);
		add_bytes(&f, text + second, len - second, 3);
		cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS),
				 "void [a] X::A()[QuickJitted]", "%zu", cut);
		cr_expect_str_eq(name_at(&f, 0x7f000000201f, ALWAYS),
				 "void [a] X::B()[QuickJitted]", "%zu", cut);
		cr_expect_str_eq(name_at(&f, 0x7f000000302f, ALWAYS),
				 "void [a] X::C()[QuickJitted]", "%zu", cut);
		c = perfmap_counters(f.map);
		cr_expect(c.entries == 3 && !c.damaged && !c.unknown && !c.continued, "%zu", cut);
		fixture_free(&f);
	}
}

/* The longest beginning that a line may have. */
Test(perfmap_map, a_line_of_hotspot_has_its_name)
{
	struct fixture f = fixture_new();

	add(&f, "0x00007f00e8000120 0x0000000000000048 java.lang.Object::hashCode\n", 1);
	cr_expect_str_eq(name_at(&f, 0x7f00e8000120, ALWAYS), "java.lang.Object::hashCode");
	cr_expect_str_eq(name_at(&f, 0x7f00e8000168, ALWAYS), "-");
	fixture_free(&f);
}

Test(perfmap_map, resynchronises_after_a_damaged_line)
{
	struct fixture f = fixture_new();
	/* As .NET 8 to 10 write a class with two letters outside ASCII: garbage over the first
	 * 16 bytes, the last two bytes and the newline missing. */
	static const char damaged[] = "0x7f0000001000 10 void [a] X::A()[QuickJitted]\n"
				      "\x20\x55\0\0\0\x7f\0\0\x01\0\0\0\0\0\0\0"
				      " void [a] Gr\xc3\xb6\xc3\x9f"
				      "e::M()[QuickJitt"
				      "0x7f0000003000 30 void [a] X::C()[QuickJitted]\n"
				      "0x7f0000004000 40 void [a] X::D()[QuickJitted]\n";

	add_bytes(&f, damaged, sizeof(damaged) - 1, 1);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS), "void [a] X::A()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000003000, ALWAYS), "void [a] X::C()[QuickJitted]");
	cr_expect_str_eq(name_at(&f, 0x7f0000004000, ALWAYS), "void [a] X::D()[QuickJitted]");
	cr_expect_eq(perfmap_damage(f.map), 1);
	cr_expect_eq(perfmap_entries(f.map), 3);
	fixture_free(&f);
}

Test(perfmap_map, survives_a_newline_within_the_garbage)
{
	struct fixture f = fixture_new();
	static const char damaged[] = "0x7f0000001000 10 void [a] dynamicClass::open\n"
				      "\x20\x55\0\0\n\x7f\0\0 void [a] \xc3\x9f::M()"
				      "0x7f0000003000 30 void [a] X::C()\n";

	add_bytes(&f, damaged, sizeof(damaged) - 1, 1);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS), "void [a] dynamicClass::open");
	cr_expect_str_eq(name_at(&f, 0x7f0000003000, ALWAYS), "void [a] X::C()");
	cr_expect_geq(perfmap_damage(f.map), 1);
	fixture_free(&f);
}

Test(perfmap_map, joins_a_name_with_newlines)
{
	struct fixture f = fixture_new();
	struct perfmap_counters c;

	add(&f,
	    "0x7f0000001000 10 int32 [a] dynamicClass::one\n"
	    "two\n"
	    "\n"
	    "added 5 three(object)[Optimized]\n"
	    "0x7f0000002000 20 int32 [a] X::B()[Optimized]\n"
	    "left over\n"
	    "7f0000005000 20 void [a] without::prefix()\n",
	    1);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, ALWAYS),
			 "int32 [a] dynamicClass::one\ntwo\n\nadded 5 three(object)[Optimized]");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, ALWAYS), "int32 [a] X::B()[Optimized]");
	cr_expect_str_eq(name_at(&f, 0x7f0000005000, ALWAYS), "-", "no 0x in a map with 0x");
	c = perfmap_counters(f.map);
	cr_expect_eq(c.continued, 3);
	cr_expect_eq(c.unknown, 2);
	cr_expect_eq(c.damaged, 0);
	fixture_free(&f);
}

Test(perfmap_map, reads_maps_without_0x)
{
	struct fixture f = fixture_new();

	add(&f, "7f0000001000 10 void [a] X::A()\n7f0000002000 10 void [a] X::B()\n", 1);
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, ALWAYS), "void [a] X::B()");
	fixture_free(&f);
}

Test(perfmap_map, names_a_reused_address_by_time)
{
	struct fixture f = fixture_new();
	static const struct {
		const char *what;
		uint64_t address, time_ns;
		const char *name;
	} rows[] = {
		{"before anything", 0x7f0000001000, 50, "later:int32 [a] dynamicClass::m1()"},
		{"first", 0x7f0000001000, 100, "int32 [a] dynamicClass::m1()"},
		{"still the first", 0x7f0000001000, 199, "int32 [a] dynamicClass::m1()"},
		{"second", 0x7f0000001000, 200, "int32 [a] dynamicClass::m2()"},
		{"overlapping third", 0x7f0000001020, 300, "int32 [a] dynamicClass::m3()"},
		{"beside the third", 0x7f0000001000, 300, "int32 [a] dynamicClass::m2()"},
		{"before the third", 0x7f0000001020, 299, "int32 [a] dynamicClass::m2()"},
		{"the first again", 0x7f0000001020, 400, "int32 [a] dynamicClass::m1()"},
		{"only the third there, too early", 0x7f0000001048, 100,
		 "later:int32 [a] dynamicClass::m3()"},
	};
	size_t i;

	add(&f, "0x7f0000001000 40 int32 [a] dynamicClass::m1()\n", 100);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 100), rows[1].name, "sorted early");
	add(&f, "0x7f0000001000 40 int32 [a] dynamicClass::m2()\n", 200);
	add(&f, "0x7f0000001020 40 int32 [a] dynamicClass::m3()\n", 300);
	add(&f, "0x7f0000001000 40 int32 [a] dynamicClass::m1()\n", 400);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(name_at(&f, rows[i].address, rows[i].time_ns), rows[i].name, "%s",
				 rows[i].what);
	fixture_free(&f);
}

Test(perfmap_map, newest_line_wins_within_one_feed)
{
	struct fixture f = fixture_new();

	add(&f, "0x7f0000001000 40 void [a] X::Old()\n0x7f0000001000 40 void [a] X::New()\n", 7);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 7), "void [a] X::New()");
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 6), "later:void [a] X::Old()");
	fixture_free(&f);
}

Test(perfmap_map, time_never_goes_back)
{
	struct fixture f = fixture_new();

	add(&f, "0x7f0000001000 40 void [a] X::A()\n", 100);
	add(&f, "0x7f0000002000 40 void [a] X::B()\n", 50);
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 99), "later:void [a] X::B()");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 100), "void [a] X::B()");
	fixture_free(&f);
}

Test(perfmap_map, methods_win_over_stub_blocks)
{
	struct fixture f = fixture_new();

	add(&f,
	    "0x7f0000001100 40 void [a] X::A()\n"
	    "0x7f0000000000 10000 stub ReportStubBlock<VSD_LookupStub>\n"
	    "0x7f0000001800 800 stub Big<X>\n"
	    "0x7f0000001a00 20 stub Small<X>\n"
	    "0x7f0000001900 400 stub Middle<X>\n"
	    "0x7f0000001a40 20 stub Old<X>\n"
	    "0x7f0000001a40 20 stub New<X>\n",
	    1);
	cr_expect_str_eq(name_at(&f, 0x7f0000001100, ALWAYS), "void [a] X::A()");
	cr_expect_str_eq(name_at(&f, 0x7f0000001140, ALWAYS),
			 "stub ReportStubBlock<VSD_LookupStub>");
	cr_expect_str_eq(name_at(&f, 0x7f0000001a10, ALWAYS), "stub Small<X>");
	cr_expect_str_eq(name_at(&f, 0x7f0000001a20, ALWAYS), "stub Middle<X>");
	cr_expect_str_eq(name_at(&f, 0x7f0000001a40, ALWAYS), "stub New<X>");
	cr_expect_str_eq(name_at(&f, 0x7f0000001f00, ALWAYS), "stub Big<X>");
	fixture_free(&f);
}

Test(perfmap_map, finds_a_block_behind_thousands_of_entries)
{
	struct fixture f = fixture_new();
	char line[80];
	unsigned int i;

	add(&f, "0x7f0000000000 100000 stub ReportStubBlock<X>\n", 1);
	for (i = 0; i < 20000; i++) {
		sprintf(line, "0x%lx 8 stub Precode%u<X>\n", 0x7f0000000000 + i * 24ul, i);
		add(&f, line, 1);
	}
	cr_expect_str_eq(name_at(&f, 0x7f0000000000 + 19999 * 24ul + 4, ALWAYS),
			 "stub Precode19999<X>");
	cr_expect_str_eq(name_at(&f, 0x7f0000000000 + 19999 * 24ul + 12, ALWAYS),
			 "stub ReportStubBlock<X>");
	cr_expect_eq(perfmap_counters(f.map).cut_scans, 0);
	fixture_free(&f);
}

Test(perfmap_map, folds_a_second_rundown_and_keeps_the_first_time)
{
	struct fixture f = fixture_new();
	char line[80];
	unsigned int i, round;

	for (round = 1; round <= 3; round++) {
		for (i = 0; i < 1000; i++) {
			sprintf(line, "0x%lx 40 void [a] X::M%u()\n", 0x7f0000000000 + i * 64ul, i);
			add(&f, line, round * 100);
		}
		name_at(&f, 0x7f0000000000, ALWAYS);
	}
	cr_expect_eq(perfmap_entries(f.map), 1000);
	cr_expect_eq(perfmap_counters(f.map).repeated, 2000);
	cr_expect_eq(perfmap_counters(f.map).entries, 3000);
	for (i = 0; i < 1000; i++) {
		sprintf(line, "void [a] X::M%u()", i);
		cr_assert_str_eq(name_at(&f, 0x7f0000000000 + i * 64ul + 63, 100), line);
		cr_assert_str_eq(name_at(&f, 0x7f0000000000 + i * 64ul + 63, ALWAYS), line);
	}
	fixture_free(&f);
}

Test(perfmap_map, does_not_fold_across_another_method_that_lived_there)
{
	struct fixture f = fixture_new();

	add(&f,
	    "0x7f0000001000 40 void [a] X::A()\n"
	    "0x7f0000001020 40 void [a] X::B()\n"
	    "0x7f0000001000 40 void [a] X::A()\n"
	    "0x7f0000002020 40 void [a] X::A()\n"
	    "0x7f0000002000 40 void [a] X::B()\n"
	    "0x7f0000002020 40 void [a] X::A()\n",
	    1);
	cr_expect_str_eq(name_at(&f, 0x7f0000001030, ALWAYS), "void [a] X::A()");
	cr_expect_str_eq(name_at(&f, 0x7f0000002030, ALWAYS), "void [a] X::A()");
	fixture_free(&f);
}

Test(perfmap_map, answers_for_a_rewritten_file)
{
	struct fixture f = fixture_new();

	add(&f,
	    "0x7f0000001000 40 void [a] X::Gone()\n"
	    "0x7f0000002000 40 void [a] X::Moved()\n",
	    100);
	name_at(&f, 0x7f0000002000, 100);
	add(&f, "0x7f00000030", 100);
	cr_assert_eq(ftruncate(f.fd, 0), 0);
	perfmap_rewritten(f.map);
	f.offset = 0;
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 100), "stale", "nothing there yet");
	add(&f,
	    "0x7f0000002000 40 void [a] X::Moved()\n"
	    "0x7f0000004000 40 void [a] X::Fresh()\n",
	    200);
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 100), "stale");
	cr_expect_str_eq(name_at(&f, 0x7f0000001000, 300), "stale");
	cr_expect_str_eq(name_at(&f, 0x7f0000002000, 100), "void [a] X::Moved()");
	cr_expect_str_eq(name_at(&f, 0x7f0000004000, 200), "void [a] X::Fresh()");
	cr_expect_eq(perfmap_counters(f.map).rewrites, 1);
	fixture_free(&f);
}

Test(perfmap_map, name_is_refused_when_another_line_is_there)
{
	static const struct {
		const char *what;
		const char *now;
	} rows[] = {
		{"other address", "0x7f0000001008 40 void [a] X::Name()\n"},
		{"other size", "0x7f0000001000 48 void [a] X::Name()\n"},
		{"other name", "0x7f0000001000 40 void [a] X::Ne__()\n"},
		{"garbage", "////////////////////////////////////\n"},
		{"shorter", "0x7f0000001000 40 void"},
		{"empty", ""},
	};
	struct perfmap_hit hit;
	char name[128] = "untouched";
	size_t i, len = 77;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = fixture_new();

		add(&f, "0x7f0000001000 40 void [a] X::Name()\n", 1);
		cr_assert_eq(perfmap_find(f.map, 0x7f0000001000, 1, &hit), 0);
		cr_assert_eq(ftruncate(f.fd, 0), 0);
		cr_assert_eq(pwrite(f.fd, rows[i].now, strlen(rows[i].now), 0),
			     (ssize_t)strlen(rows[i].now));
		cr_expect_eq(perfmap_read_name(&hit, f.fd, name, sizeof(name), &len), -ESTALE, "%s",
			     rows[i].what);
		cr_expect_eq(len, 77, "%s", rows[i].what);
		fixture_free(&f);
	}
}

Test(perfmap_map, cuts_names_to_the_callers_buffer)
{
	struct fixture f = fixture_new();
	char line[300] = "0x7f0000001000 40 ", name[64];
	struct perfmap_hit hit;
	size_t len;

	memset(line + strlen(line), 'n', 200);
	strcat(line, "\n");
	add(&f, line, 1);
	cr_assert_eq(perfmap_find(f.map, 0x7f0000001000, 1, &hit), 0);
	cr_assert_eq(perfmap_read_name(&hit, f.fd, name, sizeof(name), &len), 0);
	cr_expect_eq(len, 63);
	cr_expect_eq(strlen(name), 63);
	cr_expect_eq(perfmap_read_name(&hit, f.fd, name, 63, &len), -EINVAL);
	cr_expect_eq(perfmap_read_name(&hit, -1, name, sizeof(name), &len), -EBADF);
	fixture_free(&f);
}

Test(perfmap_map, takes_long_lines_and_leaves_out_longer_ones)
{
	static const struct {
		size_t len;
		bool taken;
	} rows[] = {
		{65000, true},
		{65535, true},
		{65536, true},
		{PERFMAP_LINE_BYTES_MAX, true},
		{PERFMAP_LINE_BYTES_MAX + 1, false},
		{3 * PERFMAP_LINE_BYTES_MAX, false},
	};
	size_t i, chunk, at;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/* In one piece, and in pieces. */
		for (chunk = 50000; chunk < 1000000; chunk *= 16) {
			struct fixture f = fixture_new();
			size_t len = rows[i].len + 1;
			char *text = malloc(len);

			memset(text, 'n', len);
			memcpy(text, "0x7f0000001000 40 ", 18);
			text[len - 1] = '\n';
			for (at = 0; at < len; at += chunk)
				add_bytes(&f, text + at, len - at < chunk ? len - at : chunk, 1);
			add(&f, "0x7f0000002000 40 void [a] X::Next()\n", 1);
			cr_expect_eq(name_at(&f, 0x7f0000001000, 1)[0], rows[i].taken ? 'n' : '-',
				     "%zu", rows[i].len);
			cr_expect_str_eq(name_at(&f, 0x7f0000002000, 1), "void [a] X::Next()");
			cr_expect_eq(perfmap_counters(f.map).too_long, !rows[i].taken);
			free(text);
			fixture_free(&f);
		}
	}
}

Test(perfmap_map, chunks_must_follow_one_another)
{
	struct perfmap *map = perfmap_new();

	cr_expect_eq(perfmap_feed(map, "x", 1, 1, 0), -EINVAL);
	cr_expect_eq(perfmap_feed(map, "x", 1, 0, 0), 0);
	cr_expect_eq(perfmap_feed(map, "x", 1, 0, 0), -EINVAL);
	cr_expect_eq(perfmap_feed(map, "x", 1, 1, 0), 0);
	perfmap_rewritten(map);
	cr_expect_eq(perfmap_feed(map, "x", 1, 0, 0), 0);
	perfmap_free(map);
	perfmap_free(NULL);
}

/* What a look-up must answer, the slow way. */
struct plain {
	uint64_t start, size, seen;
	bool stub;
};

static int expected(const struct plain *p, int cnt, uint64_t address, uint64_t time_ns)
{
	int best = -1, i;

	for (i = 0; i < cnt; i++) {
		const struct plain *a = &p[i], *b = best < 0 ? NULL : &p[best];
		bool better, a_later = a->seen > time_ns, b_later = b && b->seen > time_ns;

		if (address < a->start || address - a->start >= a->size)
			continue;
		if (!b || a_later != b_later)
			better = !b || b_later;
		else if (a->stub != b->stub)
			better = !a->stub;
		else if (a->stub && a->size != b->size)
			better = a->size < b->size;
		else
			better = !a_later;
		if (better)
			best = i;
	}
	return best;
}

Test(perfmap_map, agrees_with_a_plain_search_on_random_maps)
{
	enum { CNT = 1500 };
	static struct plain p[CNT];
	unsigned int seed, state;
	int i, k;

	for (seed = 1; seed <= 4; seed++) {
		struct fixture f = fixture_new();

		state = seed * 7919;
		for (i = 0; i < CNT; i++) {
			char line[120];

			p[i].stub = rand_r(&state) % 4 == 0;
			/* Few addresses, so that entries overlap and repeat a start. */
			p[i].start = 0x7f0000000000 + (uint64_t)(rand_r(&state) % 4000) * 16;
			p[i].size = 1u + (unsigned int)rand_r(&state) %
						 (p[i].stub ? 2000 : 16u * (1 + seed % 4));
			p[i].seen = (uint64_t)(i / 100) * 10;
			sprintf(line, "0x%lx %lx %s%d\n", p[i].start, p[i].size,
				p[i].stub ? "stub S<O>" : "void [a] X::M()", i);
			add(&f, line, p[i].seen);
			if (i % 97 == 0)
				name_at(&f, p[i].start, ALWAYS);
		}
		for (k = 0; k < 4000; k++) {
			uint64_t address = 0x7f0000000000 + (uint64_t)(rand_r(&state) % 66000);
			uint64_t time_ns = (uint64_t)(rand_r(&state) % 160);
			int want = expected(p, CNT, address, time_ns);
			const char *name = name_at(&f, address, time_ns);
			char text[80] = "-";

			if (want >= 0)
				sprintf(text, "%s%s%d", p[want].seen > time_ns ? "later:" : "",
					p[want].stub ? "stub S<O>" : "void [a] X::M()", want);
			cr_assert_str_eq(name, text, "seed %u at %lx, %lu: %s, not %s", seed,
					 address, time_ns, name, text);
		}
		cr_expect_eq(perfmap_counters(f.map).cut_scans, 0);
		fixture_free(&f);
	}
}
