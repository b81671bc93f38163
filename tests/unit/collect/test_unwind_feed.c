/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process gets which tables: what the kernel is told of is there as long as it is told. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_names.h"
#include "collect/unwind_feed.h"
#include "isolate/workers.h"
#include "names/names.h"
#include "names_host.h"
#include "opener/opener.h"
#include "parse/parse.h"

/* --- maps that remember ----------------------------------------------------------------------- */

#define TABLES_MAX    256u
#define PROCESSES_MAX 4u

struct unwind_maps {
	uint32_t pages
		[TABLES_MAX]; /* of each table, 0 = dropped; its first page is 1000 x its row */
	uint32_t tables_cnt;
	struct published {
		uint32_t tgid, cnt;
		uint64_t start_ns;
		struct unwind_mapping mappings[8];
	} processes[PROCESSES_MAX];
	bool is_full; /* of mappings */
};

int unwind_maps_add(struct unwind_maps *u, const struct unwind_maps_table *table,
		    uint32_t *ret_first_page)
{
	cr_assert_lt(u->tables_cnt, TABLES_MAX);
	u->pages[u->tables_cnt] = table->page_cnt;
	*ret_first_page = 1000 * u->tables_cnt++;
	return 0;
}

void unwind_maps_drop(struct unwind_maps *u, uint32_t first_page, uint32_t page_cnt)
{
	cr_assert_eq(u->pages[first_page / 1000], page_cnt, "dropped twice");
	u->pages[first_page / 1000] = 0;
}

static struct published *find(struct unwind_maps *u, uint32_t tgid)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++)
		if (u->processes[i].tgid == tgid)
			return &u->processes[i];
	return NULL;
}

int unwind_maps_set_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns,
			    const struct unwind_mapping *mappings, uint32_t cnt)
{
	struct published *p = find(u, tgid);

	if (u->is_full)
		return -ENOSPC;
	p = p ? p : find(u, 0);
	cr_assert(p && cnt <= 8);
	*p = (struct published){.tgid = tgid, .cnt = cnt, .start_ns = start_ns};
	memcpy(p->mappings, mappings, cnt * sizeof(*mappings));
	return 0;
}

void unwind_maps_forget_process(struct unwind_maps *u, uint32_t tgid, uint64_t start_ns)
{
	struct published *p = find(u, tgid);

	if (p && p->start_ns == start_ns)
		*p = (struct published){0};
}

static uint32_t tables_left(const struct unwind_maps *u)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < u->tables_cnt; i++)
		cnt += u->pages[i] != 0;
	return cnt;
}

/* Tables that mappings tell of; each is there. */
static uint32_t tables_told(struct unwind_maps *u, uint32_t tgid)
{
	struct published *p = find(u, tgid);
	uint32_t cnt = 0;

	for (uint32_t i = 0; p && i < p->cnt; i++) {
		const struct unwind_mapping *map = &p->mappings[i];

		if (!map->page_cnt)
			continue;
		cr_assert_eq(u->pages[map->first_page / 1000], map->page_cnt, "it was dropped");
		cnt++;
	}
	return cnt;
}

/* --- a host whose files take their time ------------------------------------------------------- */

#define MAPS                                                                      \
	"10000000-18000000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n" \
	"7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/libx.so\n"
#define TGID 100

struct fed_host {
	struct host host;
	struct nursery *nursery;
	struct workers *workers;
	struct unwind_maps maps;
	struct unwind_feed *feed;
};

static size_t work(const void *request, size_t len, const int *fds, unsigned fd_cnt, int result_fd,
		   void *reply)
{
	uint32_t kind;

	memcpy(&kind, request, sizeof(kind));
	if (kind == PARSE_UNWIND_ELF)
		usleep(400000);
	return parse_do(request, len, fds, fd_cnt, result_fd, reply);
}

/* With a stub in code that was made at run time. */
static void fed_host_make(struct fed_host *f)
{
	struct names_options options = {.unwinds = true};
	struct workers_limits limits = {0};
	struct host *h = &f->host;

	memset(f, 0, sizeof(*f));
	host_make(h, MAPS, "/app/x");
	names_free(h->n);
	f->nursery = nursery_new(OPENER_CAPABILITIES);
	f->workers = f->nursery ? workers_new(f->nursery, work, &limits) : NULL;
	options.proc_path = h->proc.path;
	options.nursery = f->nursery;
	options.workers = f->workers;
	h->n = f->workers ? names_new(&options) : NULL;
	f->feed = unwind_feed_new(&f->maps, false);
	cr_assert(h->n && f->feed);
	put_library(h, "100/root/lib/libx.so", 0, NAMES_HOST_SYMBOLS);
	fake_process_memory(&h->proc, 0, "", 0);
	fake_text(&h->proc, "100/root/tmp/perf-7.map", "10000100 40 stub Call<PRECODE_STUB>\n");
	names_process(h->n, h->m, h->process);
	name_at(h, 0x10000100, 100);
	for (int i = 0; i < 500 && !names_code_pages(h->n, h->process); i++) {
		names_tail(h->n, h->m, 200);
		names_unwind_code(h->n, h->m, h->process);
		usleep(2000);
	}
	cr_assert_eq(names_code_pages(h->n, h->process), 1);
}

static void fed_host_end(struct fed_host *f)
{
	unwind_feed_free(f->feed);
	host_end(&f->host);
	workers_free(f->workers);
	nursery_free(f->nursery);
}

static void note(struct fed_host *f, uint32_t process)
{
	unwind_feed_note(f->feed, f->host.m, f->host.n, process, 1000, true);
}

Test(unwind_feed, tables_of_code_stay_while_files_are_read, .timeout = 60)
{
	struct fed_host f;

	fed_host_make(&f);
	note(&f, f.host.process);
	for (int i = 0; i < 40; i++) {
		unwind_feed_work(f.feed, f.host.m, f.host.n);
		cr_expect_geq(tables_told(&f.maps, TGID), 1);
		usleep(25000);
		names_poll(f.host.n);
	}
	cr_expect_gt(f.maps.tables_cnt, 2, "it was not looked at again");
	cr_expect_eq(tables_left(&f.maps), tables_told(&f.maps, TGID));
	fed_host_end(&f);
}

Test(unwind_feed, what_found_no_room_keeps_none, .timeout = 60)
{
	struct fed_host f;

	fed_host_make(&f);
	f.maps.is_full = true;
	note(&f, f.host.process);
	for (int i = 0; i < 40; i++) {
		unwind_feed_work(f.feed, f.host.m, f.host.n);
		usleep(25000);
		names_poll(f.host.n);
	}
	cr_expect_eq(tables_told(&f.maps, TGID), 0);
	unwind_feed_forget(f.feed, f.host.m, f.host.process);
	unwind_feed_clear(f.feed, f.host.m);
	cr_expect_eq(tables_left(&f.maps), 0);
	fed_host_end(&f);
}

/* Neither is known by the time of its start. */
Test(unwind_feed, an_id_that_is_used_again_has_the_tables_of_its_new_process, .timeout = 60)
{
	struct model_mapping map = {.start = 0x20000000, .end = 0x20001000};
	uint32_t former, process;
	struct fed_host f;
	struct model *m;

	fed_host_make(&f);
	m = f.host.m;
	former = f.host.process;
	m->processes[former].start_exact = false;
	note(&f, former);
	unwind_feed_work(f.feed, m, f.host.n);
	cr_assert(find(&f.maps, TGID));
	process = model_process_get(m, TGID, (START_TICKS + 100) * TICK_NS);
	cr_assert_neq(process, former);
	m->processes[process].flags |= PROCESS_FACTS;
	m->processes[process].start_exact = false;
	map.kind = MAPPING_ANON;
	cr_assert_eq(model_mapping_add(m, process, &map), 0);
	note(&f, process);
	unwind_feed_work(f.feed, m, f.host.n);
	m->processes[former].exit_ns = 2000;
	unwind_feed_work(f.feed, m, f.host.n);
	unwind_feed_tidy(f.feed, m);
	cr_assert(find(&f.maps, TGID), "it took them along");
	cr_expect_eq(find(&f.maps, TGID)->mappings[0].start, 0x20000000);
	fed_host_end(&f);
}

Test(unwind_feed, who_ran_has_tables_before_its_first_sample, .timeout = 60)
{
	struct fed_host f;

	fed_host_make(&f);
	unwind_feed_prepare(f.feed, f.host.process);
	unwind_feed_work(f.feed, f.host.m, f.host.n);
	cr_expect(find(&f.maps, TGID));
	fed_host_end(&f);
}

/* Nothing is due while a loader maps its libraries, and then at once. */
Test(unwind_feed, who_maps_a_file_is_looked_at_when_its_loader_is_done, .timeout = 60)
{
	struct fed_host f;
	uint64_t due_ns, now_ns;

	fed_host_make(&f);
	now_ns = clock_now_ns();
	unwind_feed_expect(f.feed, f.host.m, f.host.process);
	cr_assert(unwind_feed_is_busy(f.feed));
	due_ns = unwind_feed_work(f.feed, f.host.m, f.host.n);
	if (clock_now_ns() < due_ns)
		cr_expect_null(find(&f.maps, TGID));
	cr_expect(due_ns > now_ns && due_ns < now_ns + 100000000, "%ld", (long)(due_ns - now_ns));
	usleep(10000);
	unwind_feed_work(f.feed, f.host.m, f.host.n);
	cr_expect(find(&f.maps, TGID));
	fed_host_end(&f);
}

/* They work most while others' files are read. */
Test(unwind_feed, helpers_are_looked_at_when_nobody_else_waits, .timeout = 60)
{
	struct model_mapping map = {.start = 0x20000000, .end = 0x20001000, .kind = MAPPING_ANON};
	struct fed_host f;
	uint32_t helper;
	struct model *m;
	int i;

	fed_host_make(&f);
	m = f.host.m;
	helper = model_process_get(m, TGID + 1, (START_TICKS + 100) * TICK_NS);
	m->processes[helper].flags |= PROCESS_SELF;
	cr_assert_eq(model_mapping_add(m, helper, &map), 0);
	note(&f, helper);
	note(&f, f.host.process);
	unwind_feed_work(f.feed, m, f.host.n);
	cr_expect(find(&f.maps, TGID));
	cr_expect_null(find(&f.maps, TGID + 1), "a file of the other is being read");
	for (i = 0; i < 100 && !find(&f.maps, TGID + 1); i++) {
		usleep(20000);
		names_poll(f.host.n);
		unwind_feed_work(f.feed, m, f.host.n);
	}
	cr_expect(find(&f.maps, TGID + 1));
	cr_expect_gt(i, 5, "of 400 ms");
	fed_host_end(&f);
}
