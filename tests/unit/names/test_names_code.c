/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How code made at run time is unwound: its rows, page by page, by what a perf map says. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/model.h"
#include "names/code_pages.h"
#include "names/names.h"
#include "names_host.h"

/* Low: the memory of the process is a file with holes. */
#define MAPS_LOW "10000000-18000000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n"
#define STUB	 "40 stub Call<PRECODE_STUB>\n"

static void host_make_code(struct host *h, const char *map)
{
	struct names_options options = {.deadline_ns = 10000000000ull, .unwinds = true};

	host_make(h, MAPS_LOW, "/app/Shop.Api");
	names_free(h->n);
	options.proc_path = h->proc.path;
	h->n = names_new(&options);
	cr_assert(h->n);
	fake_text(&h->proc, "100/root/tmp/perf-7.map", map);
	fake_process_memory(&h->proc, 0, "", 0);
	names_process(h->n, h->m, h->process);
}

static void put_code(struct host *h, uint64_t address, const void *code, size_t len)
{
	fake_process_memory(&h->proc, address, code, len);
}

/* Has the map read, and the code that it tells of. Returns the pages. */
static size_t read_code(struct host *h)
{
	name_at(h, 0x10000000, 100);
	for (int i = 0; i < 500; i++) {
		names_tail(h->n, h->m, 200);
		if (names_unwind_code(h->n, h->m, h->process) == REASON_NAMED &&
		    names_code_generation(h->n, h->process) && !names_poll(h->n))
			break;
		usleep(2000);
	}
	return names_code_pages(h->n, h->process);
}

Test(names_code, stubs_that_keep_the_stack_have_rows)
{
	struct names_code_page page;
	struct host h;

	host_make_code(&h, "10000100 " STUB);
	cr_assert_eq(read_code(&h), 1);
	page = names_code_page(h.n, h.process, 0);
	cr_expect_eq(page.number, 0x1000);
	cr_assert_eq(page.cnt, 3);
	cr_expect_eq(page.rows[0].cfa, UNWIND_UNKNOWN);
	cr_expect_eq(page.rows[1].cfa, UNWIND_SP);
	cr_expect_eq(page.rows[1].at, 0x100);
	cr_expect_eq(page.rows[2].cfa, UNWIND_UNKNOWN);
	cr_expect_eq(page.rows[2].at, 0x140);
	host_end(&h);
}

/* A stub needs no memory that can be read; the last page of all has no end that is a number. */
Test(names_code, addresses_that_no_process_has_are_left_out, .timeout = 30)
{
	struct host h;

	host_make_code(&h, "ffffffffffffff00 " STUB "ffff800000000000 " STUB "7fffffffffe0 " STUB
			   "10000100 " STUB);
	cr_assert_eq(read_code(&h), 1);
	cr_expect_eq(names_code_page(h.n, h.process, 0).number, 0x1000);
	host_end(&h);
}

Test(names_code, a_method_goes_on_in_the_next_page)
{
	uint8_t code[0x200];
	struct names_code_page page;
	struct host h;

	memset(code, 0x90, sizeof(code));
	memcpy(code, "\x55\x48\x89\xe5", 4);
	memcpy(code + sizeof(code) - 2, "\x5d\xc3", 2);
	host_make_code(&h, "1000ff00 200 void [Shop] Shop::Run()[Optimized]\n");
	put_code(&h, 0x1000ff00, code, sizeof(code));
	cr_assert_eq(read_code(&h), 2);
	page = names_code_page(h.n, h.process, 1);
	cr_assert_geq(page.cnt, 2);
	cr_expect_eq(page.rows[0].at, 0);
	cr_expect_eq(page.rows[0].cfa, UNWIND_FP);
	cr_expect_eq(page.rows[page.cnt - 1].at, 0x100);
	cr_expect_eq(page.rows[page.cnt - 1].cfa, UNWIND_UNKNOWN);
	host_end(&h);
}

/* Each page that is new is put between the others. */
Test(names_code, code_over_very_many_pages_is_not_followed, .timeout = 60)
{
	static char map[(CODE_PAGES_MAX + 100) * 48];
	size_t len = 0;
	struct host h;

	for (uint64_t i = CODE_PAGES_MAX + 100; i; i--)
		len += (size_t)snprintf(map + len, sizeof(map) - len, "%lx %s",
					0x10000000 + i * UNWIND_PAGE_BYTES, STUB);
	host_make_code(&h, map);
	cr_expect_eq(read_code(&h), 0);
	host_end(&h);
}

Test(names_code, the_rows_of_a_process_end_with_it)
{
	struct host h;

	host_make_code(&h, "10000100 " STUB);
	cr_assert_eq(read_code(&h), 1);
	h.m->processes[h.process].exit_ns = 300;
	names_tail(h.n, h.m, 400);
	names_tail(h.n, h.m, 500);
	cr_expect_eq(names_code_pages(h.n, h.process), 0);
	host_end(&h);
}
