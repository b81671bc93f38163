/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of compiled code out of the memory of its process, as the names room has them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_bundle.h"
#include "fake_memory.h"
#include "names_host.h"

#define AT(offset) (FAKE_MEMORY_BASE + (offset))

/* The library's code, then what it compiled. */
#define MAPS                                                                 \
	"10000001000-10000001010 r-xp 00000000 08:01 0 /lib/libruntime.so\n" \
	"10000001040-10000002000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n"

#define LINE_ADD "0x10000001040 60 void [Shop.Core] Shop.Map::Add()[OptimizedTier1]\n"

static struct fake_memory memory;

static void write_memory(struct host *h)
{
	fake_process_memory(&h->proc, FAKE_MEMORY_BASE, memory.bytes, sizeof(memory.bytes));
}

/* A host whose process runs .NET, with names from there. */
static void begin_with(struct host *h, enum names_from from, const char *maps)
{
	struct names_options options = {.deadline_ns = 10000000000ull, .from = from};

	host_make(h, maps, "/app/Shop.Api");
	names_free(h->n);
	options.proc_path = h->proc.path;
	h->n = names_new(&options);
	cr_assert_not_null(h->n);
	fake_memory(&memory);
	write_memory(h);
	names_process(h->n, h->m, h->process);
}

static void begin(struct host *h, enum names_from from)
{
	begin_with(h, from, MAPS);
}

/* What an address is called in the end. */
static const struct model_symbol *named(struct host *h, uint64_t address, uint64_t time_ns)
{
	const struct model_location *l;

	name_at(h, address, time_ns);
	names_settle(h->n, h->m);
	l = location_at(h, address, time_ns);
	return l ? &h->m->symbols[l->symbol] : NULL;
}

Test(names_memory, methods_have_their_names_without_a_map)
{
	const struct model_symbol *s;
	struct host h;

	begin(&h, NAMES_AUTO);
	cr_expect_eq(names_soon_ns(h.n), UINT64_MAX);
	s = named(&h, AT(FAKE_MEMORY_ADD + 8), 100);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Add");
	cr_expect_str_eq(s->raw, "instance void [Shop] Shop.Cart::Add()");
	cr_expect_str_eq(s->module, "Shop");
	cr_expect_eq(s->kind, KIND_JIT);
	cr_expect_str_eq(location_at(&h, AT(FAKE_MEMORY_ADD + 8), 100)->tier, "QuickJitted");
	/* The body is known: another place of it needs no reading, and holds for all times. */
	s = name_at(&h, AT(FAKE_MEMORY_ADD + 9), 50);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Add");
	s = named(&h, AT(FAKE_MEMORY_STUB), 100);
	cr_expect(s && s->kind == KIND_STUB && !s->reason);
	names_tail(h.n, h.m, 200);
	cr_expect_eq(h.m->processes[h.process].perf_map, REASON_FROM_MEMORY);
	host_end(&h);
}

/* Of a program that keeps its assemblies compressed: what ran is known to the runtime, the rest to
 * nobody. */
Test(names_memory, precompiled_code_that_was_unpacked_has_its_name)
{
	static const uint64_t code = AT(FAKE_MEMORY_READY_CODE);
	static const enum names_from from[] = {NAMES_AUTO, NAMES_MEMORY, NAMES_MAP};
	uint8_t bundle[FAKE_BUNDLE_BYTES];

	fake_bundle(bundle);
	for (size_t i = 0; i < 3; i++) {
		const struct model_symbol *s;
		struct host h;

		begin_with(&h, from[i],
			   MAPS "10000009000-1000000a000 r-xp 00000000 00:00 0 \n"
				"7f0000000000-7f0000001000 r-xp 00000000 08:01 0 /app/Shop.Api\n");
		fake_file(&h.proc, "100/root/app/Shop.Api", bundle, sizeof(bundle));
		h.m->processes[h.process].exe = model_str(h.m, "/app/Shop.Api");
		s = named(&h, code + 8, 100);
		cr_assert_not_null(s);
		cr_expect_eq(s->kind, KIND_IMAGE);
		cr_expect_str_eq(s->name,
				 from[i] == NAMES_MAP ? "[compressed assembly]" : "Shop.Cart.Add");
		cr_expect_str_eq(location_at(&h, code + 8, 100)->tier,
				 from[i] == NAMES_MAP ? "" : "PreJIT");
		s = named(&h, code + 2 * FAKE_MEMORY_READY_SIZE, 100);
		cr_assert_not_null(s);
		cr_expect_eq(s->reason, REASON_COMPRESSED);
		host_end(&h);
	}
}

Test(names_memory, a_dynamic_method_names_only_what_is_sure)
{
	const struct model_symbol *s;
	struct host h;

	/* Of this process there is no finalizer to be seen, and it was read after the sample. */
	begin(&h, NAMES_AUTO);
	s = named(&h, AT(FAKE_MEMORY_MADE + 8), 100);
	cr_assert_not_null(s);
	cr_expect_eq(s->reason, REASON_MEMORY_LATE);
	/* It is there since the list was made: nothing comes and goes. */
	cr_expect_eq(names_soon_ns(h.n), UINT64_MAX);
	host_end(&h);
}

Test(names_memory, the_map_comes_first_and_either_can_be_left_out)
{
	static const struct {
		enum names_from from;
		const char *name;
	} rows[] = {
		{NAMES_AUTO, "Shop.Map.Add"},
		{NAMES_MAP, "Shop.Map.Add"},
		{NAMES_MEMORY, "Shop.Cart.Add"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct model_symbol *s;
		struct host h;

		begin(&h, rows[i].from);
		fake_text(&h.proc, "100/root/tmp/perf-7.map", LINE_ADD);
		s = named(&h, AT(FAKE_MEMORY_ADD + 8), 100);
		cr_assert_not_null(s, "%zu", i);
		cr_expect_str_eq(s->name, rows[i].name, "%zu: %s", i, s->name);
		/* Of what the map does not have. */
		s = named(&h, AT(FAKE_MEMORY_GET + 8), 100);
		cr_assert_not_null(s);
		cr_expect_eq(s->reason,
			     rows[i].from == NAMES_MAP ? REASON_PERF_MAP_NO_ENTRY : REASON_NAMED,
			     "%zu: %d", i, s->reason);
		host_end(&h);
	}
}

Test(names_memory, reasons)
{
	const struct model_symbol *s;
	struct host h;

	begin(&h, NAMES_AUTO);
	s = named(&h, AT(FAKE_MEMORY_ADD + FAKE_MEMORY_SIZE + 4), 100);
	cr_expect_eq(s->reason, REASON_MEMORY_NO_CODE, "%d", s->reason);
	host_end(&h);

	/* No descriptor: only a map could tell. */
	begin(&h, NAMES_MAP);
	s = named(&h, AT(FAKE_MEMORY_ADD + 8), 100);
	cr_expect_eq(s->reason, REASON_NO_PERF_MAP, "%d", s->reason);
	host_end(&h);

	begin(&h, NAMES_MEMORY);
	cr_assert_eq(unlink(fake_path(&h.proc, "100/mem")), 0);
	s = named(&h, AT(FAKE_MEMORY_ADD + 8), 100);
	cr_expect_eq(s->reason, REASON_RUNTIME_SILENT, "%d", s->reason);
	host_end(&h);
}

/* Another program runs: nothing of the memory before names it, nor the other way round. */
Test(names_memory, after_an_exec_it_is_read_anew)
{
	const struct model_symbol *s;
	struct host h;

	begin(&h, NAMES_AUTO);
	s = named(&h, AT(FAKE_MEMORY_ADD + 8), 100);
	cr_expect_str_eq(s->name, "Shop.Cart.Add");
	names_forget(h.n, h.m, h.process);
	fake_memory_put(&memory, FAKE_MEMORY_METHOD(0), 0x8000 | 2, 2); /* Has */
	write_memory(&h);
	s = named(&h, AT(FAKE_MEMORY_ADD + 16), 200);
	cr_assert_not_null(s);
	cr_expect_str_eq(s->name, "Shop.Cart.Has");
	host_end(&h);
}

/* --- how it is unwound ------------------------------------------------------------------------ */

#define PAGE_OF(offset) (AT(offset) >> UNWIND_PAGE_BITS)

static void begin_unwinding(struct host *h)
{
	struct names_options options = {
		.deadline_ns = 10000000000ull, .from = NAMES_MEMORY, .unwinds = true};

	host_make(h, MAPS, "/app/Shop.Api");
	names_free(h->n);
	options.proc_path = h->proc.path;
	h->n = names_new(&options);
	cr_assert_not_null(h->n);
	fake_memory(&memory);
	/* Bodies that only return; ADD has no name. */
	memset(memory.bytes + FAKE_MEMORY_ADD, 0xc3, FAKE_MEMORY_SIZE);
	memset(memory.bytes + FAKE_MEMORY_GET, 0xc3, FAKE_MEMORY_SIZE);
	fake_memory_put(&memory, FAKE_MEMORY_CHUNK(0), 0, 8);
	write_memory(h);
	names_process(h->n, h->m, h->process);
}

static void read_code(struct host *h)
{
	for (int i = 0; i < 500; i++) {
		if (names_unwind_code(h->n, h->m, h->process) == REASON_NAMED && !names_poll(h->n))
			break;
		usleep(2000);
	}
}

/* What is known of the code at an offset. */
static unsigned cfa_at(struct host *h, uint32_t offset)
{
	unsigned cfa = UNWIND_UNKNOWN;

	for (size_t i = 0; i < names_code_pages(h->n, h->process); i++) {
		struct names_code_page page = names_code_page(h->n, h->process, i);

		for (uint32_t k = 0; page.number == PAGE_OF(offset) && k < page.cnt; k++)
			if (page.rows[k].at <= (AT(offset) & (UNWIND_PAGE_BYTES - 1)))
				cfa = page.rows[k].cfa;
	}
	return cfa;
}

Test(names_memory, all_compiled_code_has_rows_once_its_runtime_is_found, .timeout = 30)
{
	struct host h;

	begin_unwinding(&h);
	named(&h, AT(FAKE_MEMORY_GET + 8), 100);
	read_code(&h);
	cr_expect_eq(cfa_at(&h, FAKE_MEMORY_ADD + 8), UNWIND_SP);
	cr_expect_eq(cfa_at(&h, FAKE_MEMORY_GET + 8), UNWIND_SP);
	cr_expect_eq(cfa_at(&h, FAKE_MEMORY_GET + FAKE_MEMORY_SIZE), UNWIND_UNKNOWN);
	host_end(&h);
}

Test(names_memory, code_that_stacks_lead_to_has_rows, .timeout = 30)
{
	uint32_t generation;
	struct host h;

	begin_unwinding(&h);
	fake_memory_put(&memory, FAKE_MEMORY_ADD - 8, 0, 8);
	write_memory(&h);
	/* Nothing is known of any runtime. */
	names_unwind_want(h.n, h.process, AT(FAKE_MEMORY_GET + 8));
	cr_expect_eq(names_code_generation(h.n, h.process), 0);
	named(&h, AT(FAKE_MEMORY_GET + 8), 100);
	read_code(&h);
	cr_expect_eq(cfa_at(&h, FAKE_MEMORY_ADD + 8), UNWIND_UNKNOWN);
	/* It is compiled. */
	fake_memory_put(&memory, FAKE_MEMORY_ADD - 8, AT(FAKE_MEMORY_HEADER(0)), 8);
	write_memory(&h);
	names_unwind_want(h.n, h.process, AT(FAKE_MEMORY_ADD + 8));
	generation = names_code_generation(h.n, h.process);
	/* Not again at once. */
	names_unwind_want(h.n, h.process, AT(FAKE_MEMORY_ADD + 8));
	cr_expect_eq(names_code_generation(h.n, h.process), generation);
	read_code(&h);
	cr_expect_eq(cfa_at(&h, FAKE_MEMORY_ADD + 8), UNWIND_SP);
	host_end(&h);
}
