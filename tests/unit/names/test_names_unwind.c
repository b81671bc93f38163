/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How code of files is unwound, on a made-up host. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "names_host.h"

#define MAPS                                                             \
	"7f0000001000-7f0000002000 r-xp 00001000 08:01 0 /lib/a.so\n"    \
	"7f0000011000-7f0000012000 r-xp 00001000 08:01 0 /lib/b.so\n"    \
	"7f0000021000-7f0000022000 r-xp 00001000 08:01 0 /lib/c.so\n"    \
	"7f0000031000-7f0000032000 r-xp 00001000 08:01 0 /lib/text.so\n" \
	"7f0000041000-7f0000042000 r-xp 00001000 08:01 0 /lib/gone.so\n"
#define A    0x7f0000001000ull
#define STEP 0x10000ull

static enum model_reason unwind_of(struct host *h, const struct model_mapping *mapping,
				   struct names_unwind *ret_unwind)
{
	struct model_mapping held = *mapping;
	enum model_reason reason;

	/* Workers read it meanwhile. */
	for (int i = 0; i < 5000; i++) {
		reason = names_unwind(h->n, h->m, h->process, &held, ret_unwind);
		if (reason != REASON_PENDING)
			break;
		usleep(1000);
		names_poll(h->n);
	}
	return reason;
}

static enum model_reason unwind_at(struct host *h, uint64_t address,
				   struct names_unwind *ret_unwind)
{
	const struct model_mapping *map = model_mapping_find(h->m, h->process, address, UINT64_MAX);

	cr_assert(map);
	return unwind_of(h, map, ret_unwind);
}

/* Whether anything is known of an address of the process. */
static bool knows(const struct names_unwind *u, uint64_t address)
{
	uint64_t vaddr = address - u->bias;
	const struct unwind_page *page = &u->pages[(vaddr >> UNWIND_PAGE_BITS) - u->page_base];
	uint8_t cfa = UNWIND_UNKNOWN;

	for (uint32_t i = page->first; i < page->first + page->cnt; i++)
		if (u->rows[i].at <= vaddr % UNWIND_PAGE_BYTES)
			cfa = u->rows[i].cfa;
	return cfa != UNWIND_UNKNOWN;
}

Test(names_unwind, a_file_tells_of_its_functions_wherever_it_is_mapped)
{
	struct names_unwind a, b, c, again;
	struct host h;

	host_make(&h, MAPS, "/app/x");
	put_library(&h, "100/root/lib/a.so", 0xab, NAMES_HOST_SYMBOLS);
	put_library(&h, "100/root/lib/b.so", 0xab, NAMES_HOST_SYMBOLS);
	put_library(&h, "100/root/lib/c.so", 0xcd, NAMES_HOST_SYMBOLS);
	names_process(h.n, h.m, h.process);
	cr_assert_eq(unwind_at(&h, A, &a), REASON_NAMED);
	cr_expect_eq(a.bias, A - 0x1000);
	cr_assert_eq(a.page_cnt, 1);
	cr_expect(knows(&a, A + 0x510), "the function at 0x1500");
	cr_expect(!knows(&a, A + 0x4ff));
	cr_expect_neq(a.content, 0);
	cr_assert_eq(unwind_at(&h, A, &again), REASON_NAMED);
	cr_expect_eq(again.content, a.content);
	cr_assert_eq(unwind_at(&h, A + STEP, &b), REASON_NAMED);
	cr_expect_eq(b.content, a.content, "the same bytes");
	cr_expect_eq(b.bias, a.bias + STEP);
	cr_assert_eq(unwind_at(&h, A + 2 * STEP, &c), REASON_NAMED);
	cr_expect_neq(c.content, a.content);
	host_end(&h);
}

Test(names_unwind, what_is_no_library_or_not_there_tells_nothing)
{
	struct names_unwind u;
	struct host h;

	host_make(&h, MAPS, "/app/x");
	fake_text(&h.proc, "100/root/lib/text.so", "#!/bin/sh\n");
	names_process(h.n, h.m, h.process);
	cr_expect_eq(unwind_at(&h, A + 3 * STEP, &u), REASON_FILE_MALFORMED);
	cr_expect_eq(unwind_at(&h, A + 4 * STEP, &u), REASON_FILE_GONE);
	host_end(&h);
}

/* The kernel told of the file that was mapped: another one lies there by now. */
Test(names_unwind, rows_of_a_file_that_was_replaced_are_not_those_of_the_mapping)
{
	struct model_module module = {.path = "/lib/a.so", .build_id_len = 20};
	struct model_mapping map = {
		.start = A, .end = A + 0x1000, .file_offset = 0x1000, .kind = MAPPING_FILE};
	struct names_unwind u;
	struct host h;

	host_make(&h, "", "/app/x");
	put_library(&h, "100/root/lib/a.so", 0xab, NAMES_HOST_SYMBOLS);
	names_process(h.n, h.m, h.process);
	for (int i = 0; i < 2; i++) {
		memset(module.build_id, i ? 0xcd : 0xab, sizeof(module.build_id));
		map.module = model_module_get(h.m, &module);
		cr_expect_eq(unwind_of(&h, &map, &u), i ? REASON_FILE_CHANGED : REASON_NAMED, "%d",
			     i);
	}
	host_end(&h);
}
