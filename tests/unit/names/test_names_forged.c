/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of answers of workers that a target's bytes took over. */
#include <criterion/criterion.h>
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/privileges.h"
#include "fake_bundle.h"
#include "isolate/blob.h"
#include "isolate/workers.h"
#include "names_host.h"
#include "opener/opener.h"
#include "parse/parse.h"

#define PLACE	 0x7f0000001010ull /* a C++ name: it takes two kinds of jobs */
#define MAP_PATH "100/root/tmp/perf-7.map"
#define LINE	 "0x7f0000100000 40 instance void [Shop.Core] Shop.Cart::Add(int32)[QuickJitted]\n"

/* What the worker does to the answers of one kind. */
enum forgery {
	HONEST,
	SHORT_REPLY,
	LONG_REPLY,
	STRANGE_REASON,
	NO_RESULT,
	GARBAGE,
	OTHER_KIND,
	SECTIONS_OUTSIDE,
	SECTIONS_EMPTY,
	ROWS_OF_ONES,
	ROWS_BACKWARDS,
	TEXT_WITHOUT_END,
	SILENCE,
	SLOWNESS,
	WORK,
};

/* The workers inherit it. */
static enum forgery forgery;
static uint32_t forged_kind;
static unsigned slow_us = 400000;

/* Sections of results. */
static unsigned rows_of(uint32_t kind)
{
	return kind == PARSE_ELF || kind == PARSE_IMAGE ? 1 : 0;
}

static unsigned text_of(uint32_t kind)
{
	return kind == PARSE_ELF ? 3 : kind == PARSE_IMAGE ? 2 : 1;
}

static void fill(int fd, uint64_t at, uint64_t bytes, int with)
{
	void *p = malloc(bytes + 1);

	memset(p, with, bytes);
	if (pwrite(fd, p, bytes, (off_t)at) != (ssize_t)bytes)
		abort();
	free(p);
}

static void turn(int fd, uint64_t at, uint64_t bytes)
{
	uint64_t *p = calloc(bytes / 8 + 1, 8);

	if (pread(fd, p, bytes, (off_t)at) != (ssize_t)bytes)
		abort();
	for (uint64_t i = 0, k = bytes / 8; k && i < k - 1; i++, k--) {
		uint64_t word = p[i];

		p[i] = p[k - 1];
		p[k - 1] = word;
	}
	if (pwrite(fd, p, bytes, (off_t)at) != (ssize_t)bytes)
		abort();
	free(p);
}

#define ENDLESS_BYTES (8u << 20)

static void forge_result(uint32_t kind, int fd)
{
	struct blob_head head;
	unsigned rows, text = text_of(kind);
	struct stat st;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || fstat(fd, &st))
		abort();
	rows = rows_of(kind);
	switch (forgery) {
	case NO_RESULT:
		if (ftruncate(fd, 0))
			abort();
		return;
	case GARBAGE:
		fill(fd, 0, (uint64_t)st.st_size, 0xa5);
		return;
	case OTHER_KIND:
		head.kind++;
		break;
	case SECTIONS_OUTSIDE:
		for (unsigned i = 0; i < BLOB_SECTIONS_MAX; i++)
			head.sections[i].offset = UINT64_MAX - 7, head.sections[i].bytes = 64;
		break;
	case SECTIONS_EMPTY:
		memset(head.sections, 0, sizeof(head.sections));
		break;
	case ROWS_OF_ONES:
		fill(fd, head.sections[rows].offset, head.sections[rows].bytes, 0xff);
		break;
	case ROWS_BACKWARDS:
		turn(fd, head.sections[rows].offset, head.sections[rows].bytes);
		break;
	case TEXT_WITHOUT_END: /* all rows point into one huge text */
		head.sections[text].offset = ((uint64_t)st.st_size + 7) & ~7ull;
		head.sections[text].bytes = ENDLESS_BYTES;
		fill(fd, head.sections[text].offset, ENDLESS_BYTES - 1, 'A');
		fill(fd, head.sections[text].offset + ENDLESS_BYTES - 1, 1, 0);
		break;
	default:
		return;
	}
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head))
		abort();
}

static size_t work(const void *request, size_t len, const int *fds, unsigned fd_cnt, int result_fd,
		   void *reply)
{
	uint32_t kind;
	size_t reply_len;

	memcpy(&kind, request, sizeof(kind));
	if (kind == forged_kind && forgery == SILENCE)
		for (;;)
			pause();
	if (kind == forged_kind && forgery == WORK)
		for (volatile uint64_t i = 0;; i++)
			;
	if (kind == forged_kind && forgery == SLOWNESS)
		usleep(slow_us);
	reply_len = parse_do(request, len, fds, fd_cnt, result_fd, reply);
	if (kind != forged_kind)
		return reply_len;
	forge_result(kind, result_fd);
	if (forgery == SHORT_REPLY)
		return reply_len / 2;
	if (forgery == LONG_REPLY)
		return reply_len + 8;
	if (forgery == STRANGE_REASON)
		((struct parse_reply *)reply)->reason = 0xfffffff0;
	return reply_len;
}

struct forged_host {
	struct host host;
	struct nursery *nursery;
	struct workers *workers;
};

static void forged_host_of(struct forged_host *f, const char *maps, uint64_t wall_ns,
			   uint64_t deadline_ns)
{
	struct workers_limits limits = {.cpu_ns = 300000000, .wall_ns = wall_ns};
	struct names_options options = {.deadline_ns = deadline_ns};

	host_make(&f->host, maps, "/app/x");
	names_free(f->host.n);
	f->nursery = nursery_new(OPENER_CAPABILITIES);
	cr_assert(f->nursery);
	f->workers = workers_new(f->nursery, work, &limits);
	options.proc_path = f->host.proc.path;
	options.nursery = f->nursery;
	options.workers = f->workers;
	f->host.n = names_new(&options);
	cr_assert(f->workers && f->host.n);
}

static void forged_host_make(struct forged_host *f, enum forgery how, uint32_t kind)
{
	forgery = how;
	forged_kind = kind;
	forged_host_of(f, MAPS_LIB, 1500000000, 10000000000ull);
	put_library(&f->host, "100/root/lib/libx.so", 0, NAMES_HOST_SYMBOLS);
	names_process(f->host.n, f->host.m, f->host.process);
}

static void forged_host_end(struct forged_host *f)
{
	host_end(&f->host);
	workers_free(f->workers);
	nursery_free(f->nursery);
}

/* How a frame is named, however long it takes. */
static const struct model_symbol *settled(struct host *h, uint64_t address)
{
	const struct model_symbol *s = name_at(h, address, 5);

	for (int i = 0; i < 3; i++) {
		names_tail(h->n, h->m, 5);
		s = name_at(h, address, 5);
	}
	names_settle(h->n, h->m);
	return s ? s : name_at(h, address, 5);
}

static const struct {
	const char *name;
	enum forgery how;
} forgeries[] = {
	{"half a reply", SHORT_REPLY},
	{"a reply that is too long", LONG_REPLY},
	{"a reason that is none", STRANGE_REASON},
	{"no result", NO_RESULT},
	{"garbage", GARBAGE},
	{"a result of another kind", OTHER_KIND},
	{"sections outside of the file", SECTIONS_OUTSIDE},
	{"empty sections", SECTIONS_EMPTY},
	{"rows that point anywhere", ROWS_OF_ONES},
	{"rows out of order", ROWS_BACKWARDS},
	{"names without end", TEXT_WITHOUT_END},
};

#define FORGERIES (sizeof(forgeries) / sizeof(forgeries[0]))

/* Whatever was done to what a name is made of, the frame has one that is bounded, or a reason; and
 * frames of other kinds have theirs. */
static void expect_bounded(uint32_t kind, uint64_t address)
{
	for (size_t i = 0; i < FORGERIES; i++) {
		const struct model_symbol *s;
		struct forged_host f;

		forged_host_make(&f, forgeries[i].how, kind);
		fake_text(&f.host.proc, MAP_PATH, LINE);
		s = settled(&f.host, address);
		cr_assert(s, "%s", forgeries[i].name);
		cr_expect_lt(strlen(s->name), 8300, "%s", forgeries[i].name);
		cr_expect_lt(strlen(s->raw), 8300, "%s", forgeries[i].name);
		cr_expect(s->reason || *s->name, "%s", forgeries[i].name);
		cr_expect_lt(names_cost(f.host.n).table_bytes, 40u << 20, "%s", forgeries[i].name);
		forged_host_end(&f);
	}
}

Test(names_forged, a_table_of_symbols)
{
	expect_bounded(PARSE_ELF, PLACE);
}

Test(names_forged, names_that_were_taken_apart)
{
	expect_bounded(PARSE_NAMES, PLACE);
}

Test(names_forged, rows_of_a_perf_map)
{
	expect_bounded(PARSE_MAP, JIT + 0x10);
}

Test(names_forged, names_of_a_perf_map)
{
	expect_bounded(PARSE_NAMES, JIT + 0x10);
}

Test(names_forged, what_a_forged_answer_says_is_told_as_a_reason)
{
	for (size_t i = 0; i < 6; i++) {
		const struct model_symbol *s;
		struct forged_host f;

		forged_host_make(&f, forgeries[i].how, PARSE_ELF);
		s = settled(&f.host, PLACE);
		cr_expect_eq(s->reason, REASON_FILE_MALFORMED, "%s: %d", forgeries[i].name,
			     s->reason);
		cr_expect_str_eq(s->name, "libx.so+0x1010", "%s", forgeries[i].name);
		forged_host_end(&f);
	}
}

Test(names_forged, silence_ends_and_is_counted)
{
	const struct model_symbol *s;
	struct forged_host f;

	forged_host_make(&f, SILENCE, PARSE_ELF);
	fake_text(&f.host.proc, MAP_PATH, LINE);
	s = settled(&f.host, PLACE);
	cr_expect_eq(s->reason, REASON_FILE_TIMEOUT, "%d", s->reason);
	cr_expect_eq(names_cost(f.host.n).killed, 1);
	s = settled(&f.host, JIT + 0x10);
	cr_expect(!strcmp(s->name, "Shop.Cart.Add") || s->reason == REASON_BUDGET, "%s", s->name);
	forged_host_end(&f);
}

/* The nursery was killed, and its helpers with it. */
Test(names_forged, without_helpers_there_is_a_reason_and_it_is_told)
{
	const struct model_symbol *s;
	struct forged_host f;
	int nursery = 0;
	char path[64];
	FILE *children;

	forged_host_make(&f, HONEST, PARSE_ELF);
	cr_expect_not(names_cost(f.host.n).no_helpers);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", getpid(), getpid());
	children = fopen(path, "r");
	cr_assert(children && fscanf(children, "%d", &nursery) == 1 && nursery > 0);
	fclose(children);
	cr_assert_eq(kill(nursery, SIGKILL), 0);
	for (int i = 0; i < 1000 && !names_cost(f.host.n).no_helpers; i++)
		usleep(1000);
	cr_expect(names_cost(f.host.n).no_helpers);
	s = settled(&f.host, PLACE);
	cr_assert(s);
	cr_expect_eq(s->reason, REASON_LIMIT, "%d", s->reason);
	cr_expect_str_eq(s->name, "libx.so+0x1010");
	forged_host_end(&f);
}

/* What is bundled takes longer than may be waited for: until then nobody knows whose code it is. */
Test(names_forged, anonymous_code_waits_for_what_is_bundled)
{
	uint8_t bytes[FAKE_BUNDLE_BYTES];
	const struct model_location *l;
	struct forged_host f;

	forgery = SLOWNESS;
	forged_kind = PARSE_BUNDLE;
	forged_host_of(&f,
		       "7f0000000000-7f0000001000 r-xp 00000000 08:01 0 /app/x\n"
		       "7f0000020000-7f0000021000 r-xp 00000000 00:00 0 \n"
		       "7f0000030000-7f0000031000 r-xs 00000000 00:01 9 "
		       "/memfd:doublemapper (deleted)\n",
		       0, 0);
	fake_bundle(bytes);
	fake_file(&f.host.proc, "100/root/app/x", bytes, sizeof(bytes));
	names_process(f.host.n, f.host.m, f.host.process);
	cr_expect_null(name_at(&f.host, 0x7f0000020010, 5), "it waits");
	cr_expect_eq(names_waiting(f.host.n), 1);
	for (int i = 0; i < 50 && names_waiting(f.host.n); i++) {
		names_await(f.host.n, 100000000);
		names_tail(f.host.n, f.host.m, 5);
	}
	l = location_at(&f.host, 0x7f0000020010, 5);
	cr_assert(l);
	cr_expect_eq(f.host.m->symbols[l->symbol].reason, REASON_COMPRESSED, "%d",
		     f.host.m->symbols[l->symbol].reason);
	forged_host_end(&f);
}

/* Its root has no name while the file is read: nothing is said of it until then. */
Test(names_forged, a_stack_is_judged_when_its_frames_have_names)
{
	static const uint64_t whole[] = {0x7f0000001210, 0x7f0000001310};
	static const uint64_t broken[] = {0x7f0000001310, 0x7f0000001210};
	uint32_t stacks[2];
	struct forged_host f;

	forgery = SLOWNESS;
	forged_kind = PARSE_ELF;
	forged_host_of(&f, MAPS_LIB, 0, 0);
	put_library(&f.host, "100/root/lib/libx.so", 1, NAMES_HOST_SYMBOLS);
	names_process(f.host.n, f.host.m, f.host.process);
	stacks[0] = add_stack(&f.host, 0, whole, 2);
	stacks[1] = add_stack(&f.host, 0, broken, 2);
	for (int i = 0; i < 2; i++) {
		names_stack(f.host.n, f.host.m, stacks[i], 5);
		cr_expect_eq(f.host.m->stacks[stacks[i]].flags & STACK_BROKEN, 0);
	}
	cr_expect_gt(names_waiting(f.host.n), 0);
	for (int i = 0; i < 50 && names_waiting(f.host.n); i++) {
		names_await(f.host.n, 100000000);
		names_tail(f.host.n, f.host.m, 5);
	}
	cr_expect_eq(f.host.m->stacks[stacks[0]].flags & STACK_BROKEN, 0);
	cr_expect_neq(f.host.m->stacks[stacks[1]].flags & STACK_BROKEN, 0);
	forged_host_end(&f);
}

/* More than have their places at a time. */
#define ENDED_CNT 100u

/* Each reads a file of its own, and ends before that is done. */
Test(names_forged, files_of_processes_that_ended_keep_no_places, .timeout = 120)
{
	struct fake_process p = {
		.start_ticks = START_TICKS,
		.comm = "x",
		.cgroup = "0::/system.slice/x.service\n",
		.maps = "7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/x.so\n"};
	enum model_reason reason = REASON_PENDING;
	struct names_unwind unwind;
	struct model_mapping map;
	struct forged_host f;
	unsigned pending = 0;

	forgery = SLOWNESS;
	forged_kind = PARSE_UNWIND_ELF;
	slow_us = 30000;
	forged_host_of(&f, "", 0, 0);
	for (uint32_t i = 0; i <= ENDED_CNT; i++) {
		char path[64];

		p.tgid = 1000 + i;
		snprintf(path, sizeof(path), "%u/root/lib/x.so", p.tgid);
		put_library(&f.host, path, 0, NAMES_HOST_SYMBOLS);
		host_add(&f.host, &p);
		/* On a busy machine its maps are not read at once. */
		for (int k = 0; k < 1000 && !f.host.m->processes[f.host.process].mapping_cnt; k++) {
			usleep(10000);
			/* Each slice has its own budget of waiting. */
			names_tail(f.host.n, f.host.m, 0);
			names_process(f.host.n, f.host.m, f.host.process);
		}
		cr_assert_eq(f.host.m->processes[f.host.process].mapping_cnt, 1);
		map = f.host.m->processes[f.host.process].mappings[0];
		reason = names_unwind(f.host.n, f.host.m, f.host.process, &map, &unwind);
		pending += reason == REASON_PENDING;
		if (i < ENDED_CNT)
			f.host.m->processes[f.host.process].exit_ns = 1000;
	}
	cr_assert_gt(pending, 80, "%u", pending);
	for (int i = 0; i < 1000 && reason == REASON_PENDING; i++) {
		usleep(10000);
		names_poll(f.host.n);
		reason = names_unwind(f.host.n, f.host.m, f.host.process, &map, &unwind);
	}
	cr_expect_eq(reason, REASON_NAMED, "%s", model_reason_text(reason));
	forged_host_end(&f);
}

/* Whoever can make the reading of libc costly, e.g. by a debug file in his own root, makes it so
 * for himself. */
Test(names_forged, a_costly_file_is_so_for_its_party_alone)
{
	static const struct {
		const char *name, *uid;
		uint32_t tgid;
		uint64_t killed; /* so far */
	} rows[] = {
		{"who caused it", "1000", 300, 1},
		{"of the same party", "1000", 301, 1},
		{"of another", "1001", 302, 2},
	};
	char path[512], other[64];
	struct forged_host f;

	forgery = WORK;
	forged_kind = PARSE_ELF;
	forged_host_of(&f, "", 0, 10000000000ull);
	put_library(&f.host, "libx.so", 0, NAMES_HOST_SYMBOLS);
	snprintf(path, sizeof(path), "%s", fake_path(&f.host.proc, "libx.so"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(other, sizeof(other), "%u/root/lib/other", rows[i].tgid);
		fake_text(&f.host.proc, other, "");
		snprintf(other, sizeof(other), "%u/root/lib/libx.so", rows[i].tgid);
		cr_assert_eq(link(path, fake_path(&f.host.proc, "%s", other)), 0);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_process p = {.tgid = rows[i].tgid,
					 .start_ticks = START_TICKS,
					 .comm = "x",
					 .uid = rows[i].uid,
					 .maps = MAPS_LIB};
		const struct model_symbol *s;

		host_add(&f.host, &p);
		s = settled(&f.host, PLACE);
		cr_expect_eq(s->reason, REASON_FILE_COSTLY, "%s: %d", rows[i].name, s->reason);
		cr_expect_eq(names_cost(f.host.n).killed, rows[i].killed, "%s: %lu", rows[i].name,
			     names_cost(f.host.n).killed);
	}
	forged_host_end(&f);
}
