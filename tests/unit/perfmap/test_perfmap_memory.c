/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from the memory of a process, made by hand (fake_memory.h). */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_memory.h"
#include "fake_names.h"
#include "perfmap/memory/layout.h"
#include "perfmap/memory/memory.h"

#define AT(offset) (FAKE_MEMORY_BASE + (offset))
#define NOWHERE	   0x00005ead00000000ull

/* All that is read for one name of a memory so small; what goes round in rings stops before. */
#define READS_MAX 4096u

static struct fake_memory memory;

static struct perfmap_memory *opened(void)
{
	struct perfmap_memory *m = NULL;
	struct perfmap_memory_facts facts = {0};

	cr_assert_eq(perfmap_memory_find(fake_memory_read, &memory, AT(FAKE_MEMORY_CODE), 0,
					 &facts.descriptor),
		     0);
	cr_assert_eq(facts.descriptor, AT(FAKE_MEMORY_DESCRIPTOR));
	cr_assert_eq(perfmap_memory_open(fake_memory_read, &memory, &facts, 4, &m), 0);
	return m;
}

/* Of an address, in a memory that is opened anew. */
static int name_at(uint32_t offset, char buf[1024], struct perfmap_memory_name *ret_name)
{
	struct perfmap_memory *m = opened();
	int err = perfmap_memory_name(m, AT(offset), buf, 1024, ret_name);

	perfmap_memory_close(m);
	return err;
}

Test(perfmap_memory, names_are_those_of_the_map)
{
	static const struct {
		uint32_t offset, start;
		const char *name;
		bool is_fleeting;
	} rows[] = {
		{FAKE_MEMORY_ADD, FAKE_MEMORY_ADD,
		 "instance void [Shop] Shop.Cart::Add()[QuickJitted]", false},
		{FAKE_MEMORY_ADD + FAKE_MEMORY_SIZE - 1, FAKE_MEMORY_ADD,
		 "instance void [Shop] Shop.Cart::Add()[QuickJitted]", false},
		{FAKE_MEMORY_GET + 0x20, FAKE_MEMORY_GET,
		 "instance void [Shop] Shop.Box`1[Shop.Cart]::Get()[OptimizedTier1]", false},
		{FAKE_MEMORY_MADE + 4, FAKE_MEMORY_MADE,
		 "void [Shop] dynamicClass::Made(Shop.Cart /* MT: 0x10000005d00 "
		 "*/,int32)[Optimized]",
		 true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_name name;
		char buf[1024];

		fake_memory(&memory);
		cr_assert_eq(name_at(rows[i].offset, buf, &name), 0, "%zu", i);
		cr_expect_str_eq(buf, rows[i].name, "%s", buf);
		cr_expect_eq(name.len, strlen(buf));
		cr_expect_eq(name.start, AT(rows[i].start));
		cr_expect_eq(name.size, FAKE_MEMORY_SIZE);
		cr_expect_eq(name.is_fleeting, rows[i].is_fleeting);
		cr_expect_not(name.is_stub);
	}
}

Test(perfmap_memory, stubs_and_places_between)
{
	struct perfmap_memory_name name;
	char buf[1024];

	fake_memory(&memory);
	cr_assert_eq(name_at(FAKE_MEMORY_STUB + 8, buf, &name), 0);
	cr_expect(name.is_stub && !name.is_unlisted && !name.size);
	cr_expect_eq(name_at(FAKE_MEMORY_ADD + FAKE_MEMORY_SIZE, buf, &name), -ENOENT);
	cr_expect_eq(name_at(FAKE_MEMORY_CODE + 8, buf, &name), -ENOENT);
	/* Nothing of the runtime's: a stub, if the memory is the runtime's. */
	cr_assert_eq(name_at(FAKE_MEMORY_DESCRIPTOR, buf, &name), 0);
	cr_expect(name.is_stub && name.is_unlisted);
	cr_expect_eq(name_at(FAKE_MEMORY_BYTES, buf, &name), -EFAULT);
}

/* The kinds are those of StubCodeBlockKind. */
Test(perfmap_memory, stubs_by_kind)
{
	static const struct {
		uint64_t kind;
		const char *name;
	} rows[] = {
		{1, "stub JumpStub<Memory>"},	    {2, "stub Memory<Memory>"},
		{3, "stub DynamicHelper<Memory>"},  {4, "stub StubPrecode<Memory>"},
		{5, "stub FixupPrecode<Memory>"},   {6, "stub VSD_DispatchStub<Memory>"},
		{9, "stub VSD_VTableStub<Memory>"}, {15, "stub Memory<Memory>"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_name name;
		char buf[1024];

		fake_memory(&memory);
		fake_memory_put(&memory, FAKE_MEMORY_STUB - 8, rows[i].kind, 8);
		cr_assert_eq(name_at(FAKE_MEMORY_STUB + 8, buf, &name), 0, "%zu", i);
		cr_expect_str_eq(buf, rows[i].name, "%s", buf);
	}
}

/* What can be unloaded has code in a heap of its own, whatever its type says. */
Test(perfmap_memory, code_in_collectible_memory_may_go)
{
	struct perfmap_memory_name name;
	char buf[1024];

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_SECTION + 16, 3, 4);
	cr_assert_eq(name_at(FAKE_MEMORY_ADD, buf, &name), 0);
	cr_expect(name.is_fleeting);
	fake_memory_put(&memory, FAKE_MEMORY_SECTION + 16, 2, 4);
	fake_memory_put(&memory, FAKE_MEMORY_CART, 0x00200000, 4);
	cr_assert_eq(name_at(FAKE_MEMORY_ADD, buf, &name), 0);
	cr_expect_not(name.is_fleeting);
}

/* The word says where a method begins that lies over many of them. */
Test(perfmap_memory, links_of_the_nibble_map)
{
	struct perfmap_memory_name name;
	char buf[1024];

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_HEADER(2) + 40, 0x1fff, 4);
	fake_memory_put(&memory, FAKE_MEMORY_STUB - 8, 0, 8);
	fake_memory_put(&memory, FAKE_MEMORY_NIBBLES + 4 * 2, 0, 4);
	fake_memory_put(&memory, FAKE_MEMORY_NIBBLES + 4 * 9, 0x140 | 9, 4);
	cr_assert_eq(name_at(FAKE_MEMORY_CODE + 9 * 256 + 40, buf, &name), 0);
	cr_expect_eq(name.start, AT(FAKE_MEMORY_MADE));
	/* Without links they are looked for backwards. */
	cr_assert_eq(name_at(FAKE_MEMORY_CODE + 4 * 256, buf, &name), 0);
	cr_expect_eq(name.start, AT(FAKE_MEMORY_MADE));
}

/* The map of code ranges is found among the variables, by an address that is in it. */
Test(perfmap_memory, a_thin_descriptor_is_completed)
{
	struct perfmap_memory_facts facts;
	struct perfmap_memory_name name;
	struct perfmap_memory *m;
	char buf[1024];

	fake_memory_thin(&memory);
	m = opened();
	cr_expect_eq(perfmap_memory_facts(m).code_map, 0);
	cr_expect_eq(perfmap_memory_name(m, AT(0x300000), buf, sizeof(buf), &name), -ENOENT);
	cr_assert_eq(perfmap_memory_name(m, AT(FAKE_MEMORY_ADD), buf, sizeof(buf), &name), 0);
	cr_expect_str_eq(buf, "instance void [Shop] Shop.Cart::Add()", "%s", buf);
	facts = perfmap_memory_facts(m);
	cr_expect_eq(facts.code_map, AT(FAKE_MEMORY_MAP));
	perfmap_memory_close(m);
	/* What was found is not looked for again: an address that leads nowhere finds none. */
	cr_assert_eq(perfmap_memory_open(fake_memory_read, &memory, &facts, 4, &m), 0);
	cr_expect_eq(perfmap_memory_name(m, AT(FAKE_MEMORY_ADD), buf, sizeof(buf), &name), 0);
	perfmap_memory_close(m);
	/* One that does not lead there is none. */
	fake_memory_put(&memory, FAKE_MEMORY_FRAGMENT + 8, AT(FAKE_MEMORY_BYTES), 8);
	cr_expect_eq(name_at(FAKE_MEMORY_ADD, buf, &name), -ENOENT);
}

Test(perfmap_memory, what_may_go_is_listed)
{
	struct perfmap_memory *m;
	uint64_t starts[8];

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_SECTION + 16, 3, 4);
	m = opened();
	cr_assert_eq(perfmap_memory_fleeting(m, starts, 8), 4);
	cr_expect_eq(starts[0], AT(FAKE_MEMORY_ADD));
	cr_expect_eq(starts[3], AT(FAKE_MEMORY_STUB));
	cr_expect_eq(perfmap_memory_fleeting(m, starts, 2), 2);
	perfmap_memory_close(m);
	/* Code that stays; a heap of all memory; a ring of fragments. */
	fake_memory_put(&memory, FAKE_MEMORY_SECTION + 16, 2, 4);
	m = opened();
	cr_expect_eq(perfmap_memory_fleeting(m, starts, 8), 0);
	perfmap_memory_close(m);
	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_SECTION + 16, 3, 4);
	fake_memory_put(&memory, FAKE_MEMORY_HEAP + 24, UINT64_MAX, 8);
	fake_memory_put(&memory, FAKE_MEMORY_FRAGMENT, AT(FAKE_MEMORY_FRAGMENT), 8);
	m = opened();
	cr_expect_eq(perfmap_memory_fleeting(m, starts, 8), 0);
	perfmap_memory_close(m);
	cr_expect_leq(memory.reads, READS_MAX);
}

/* With or without a name. */
Test(perfmap_memory, bodies_are_listed_and_found)
{
	struct perfmap_memory_body body;
	struct perfmap_memory *m;
	uint64_t starts[8];

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_CHUNK(0), NOWHERE, 8);
	m = opened();
	cr_assert_eq(perfmap_memory_bodies(m, starts, 8), 4);
	cr_expect_eq(starts[0], AT(FAKE_MEMORY_ADD));
	cr_expect_eq(perfmap_memory_bodies(m, starts, 3), 3);
	cr_assert_eq(perfmap_memory_body(m, AT(FAKE_MEMORY_ADD + 8), &body), 0);
	cr_expect_eq(body.start, AT(FAKE_MEMORY_ADD));
	cr_expect_eq(body.size, FAKE_MEMORY_SIZE);
	cr_expect_eq(body.header, AT(FAKE_MEMORY_HEADER(0)));
	cr_expect_eq(perfmap_memory_body(m, AT(FAKE_MEMORY_STUB), &body), -ENOENT);
	cr_expect_eq(perfmap_memory_body(m, AT(FAKE_MEMORY_CODE + 8), &body), -ENOENT);
	cr_expect_eq(perfmap_memory_body(m, NOWHERE, &body), -EFAULT);
	/* Seen when it is looked at anew. */
	fake_memory_put(&memory, FAKE_MEMORY_ADD - 8, AT(FAKE_MEMORY_HEADER(1)), 8);
	cr_expect_eq(perfmap_memory_body(m, AT(FAKE_MEMORY_ADD), &body), 0);
	perfmap_memory_anew(m);
	cr_expect_eq(perfmap_memory_body(m, AT(FAKE_MEMORY_ADD), &body), -ENOENT);
	perfmap_memory_close(m);
}

Test(perfmap_memory, a_runtime_is_told_by_its_export)
{
	uint64_t descriptor;

	fake_memory(&memory);
	memory.bytes[0x390]++; /* another name */
	cr_expect_eq(perfmap_memory_find(fake_memory_read, &memory, AT(FAKE_MEMORY_CODE), 0,
					 &descriptor),
		     -ENOENT);
	/* Not in this file; not mapped. */
	cr_expect_eq(perfmap_memory_find(fake_memory_read, &memory, AT(0x6000), 0, &descriptor),
		     -ENOENT);
	cr_expect_eq(perfmap_memory_find(fake_memory_read, &memory, NOWHERE, 0, &descriptor),
		     -EFAULT);
}

/* --- hostile ---------------------------------------------------------------------------------- */

Test(perfmap_memory, hostile_structures_give_no_name)
{
	static const struct {
		const char *what;
		uint32_t offset;
		uint64_t value;
		size_t len;
		uint32_t address;
		int err;
	} rows[] = {
		{"table nowhere", FAKE_MEMORY_MAP + 0x800, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"fragment of another range", FAKE_MEMORY_FRAGMENT + 16, AT(FAKE_MEMORY_CODE), 8,
		 FAKE_MEMORY_ADD, 0},
		{"section nowhere", FAKE_MEMORY_FRAGMENT + 24, NOWHERE, 8, FAKE_MEMORY_ADD,
		 -EFAULT},
		{"heap nowhere", FAKE_MEMORY_SECTION + 40, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"heap at the end", FAKE_MEMORY_SECTION + 40, UINT64_MAX - 8, 8, FAKE_MEMORY_ADD,
		 -EFAULT},
		{"nibble map nowhere", FAKE_MEMORY_HEAP + 40, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"code far before", FAKE_MEMORY_NIBBLES, 0xfffffffe, 4, FAKE_MEMORY_ADD, -ENOENT},
		{"header nowhere", FAKE_MEMORY_ADD - 8, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"no unwind data", FAKE_MEMORY_HEADER(0) + 32, 0, 4, FAKE_MEMORY_ADD, -ENOENT},
		{"much of it", FAKE_MEMORY_HEADER(0) + 32, UINT32_MAX, 4, FAKE_MEMORY_ADD, -ENOENT},
		{"body that begins elsewhere", FAKE_MEMORY_HEADER(0) + 36, 0x50, 4, FAKE_MEMORY_ADD,
		 -ENOENT},
		{"body that ends before", FAKE_MEMORY_HEADER(0) + 40, 0, 4, FAKE_MEMORY_ADD,
		 -ENOENT},
		{"body of 4 GiB", FAKE_MEMORY_HEADER(0) + 40, UINT32_MAX, 4, FAKE_MEMORY_ADD,
		 -ENOENT},
		{"method nowhere", FAKE_MEMORY_HEADER(0) + 24, NOWHERE, 8, FAKE_MEMORY_ADD,
		 -EFAULT},
		{"type nowhere", FAKE_MEMORY_CHUNK(0), NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"type that is none", FAKE_MEMORY_CHUNK(0), AT(FAKE_MEMORY_CART) | 2, 8,
		 FAKE_MEMORY_ADD, -EFAULT},
		{"module nowhere", FAKE_MEMORY_CART + 24, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"image nowhere", FAKE_MEMORY_MODULE + 224, NOWHERE, 8, FAKE_MEMORY_ADD, -EFAULT},
		{"no image", FAKE_MEMORY_MODULE + 224, 0, 8, FAKE_MEMORY_ADD, -ENODATA},
		{"image that is none", FAKE_MEMORY_MODULE + 224, AT(FAKE_MEMORY_CODE), 8,
		 FAKE_MEMORY_ADD, -ENODATA},
		{"row of no method", FAKE_MEMORY_METHOD(0), 0x8fff, 2, FAKE_MEMORY_ADD, -ENODATA},
		{"row of no type", FAKE_MEMORY_CART + 8, UINT32_MAX, 4, FAKE_MEMORY_ADD, -ENODATA},
		{"65,535 arguments", 0x5f06, 0xffff, 2, FAKE_MEMORY_GET, -ENODATA},
		{"no arguments", 0x5f06, 0, 2, FAKE_MEMORY_GET, -ENODATA},
		{"type of itself", 0x5f20, AT(FAKE_MEMORY_BOX), 8, FAKE_MEMORY_GET, -EFAULT},
		{"array of itself", FAKE_MEMORY_BOX, 0x000a0000, 4, FAKE_MEMORY_GET, -ENODATA},
		{"version after version", FAKE_MEMORY_VERSION, 0, 8, FAKE_MEMORY_GET, 0},
		{"signature nowhere", FAKE_MEMORY_METHOD(2) + 16, NOWHERE, 8, FAKE_MEMORY_MADE,
		 -EFAULT},
		{"signature of 4 GiB", FAKE_MEMORY_METHOD(2) + 24, UINT32_MAX, 4, FAKE_MEMORY_MADE,
		 -E2BIG},
		{"name nowhere", FAKE_MEMORY_METHOD(2) + 32, NOWHERE, 8, FAKE_MEMORY_MADE, -EFAULT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_name name;
		char buf[1024];
		int err;

		fake_memory(&memory);
		fake_memory_put(&memory, rows[i].offset, rows[i].value, rows[i].len);
		err = name_at(rows[i].address, buf, &name);
		cr_expect_eq(err, rows[i].err, "%s: %d %s", rows[i].what, err, err ? "" : buf);
		cr_expect_leq(memory.reads, READS_MAX, "%s: %zu reads", rows[i].what, memory.reads);
	}
}

/* Lists whose last entry is their first. */
Test(perfmap_memory, rings_end)
{
	struct perfmap_memory_name name;
	char buf[1024];

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_FRAGMENT, AT(FAKE_MEMORY_FRAGMENT), 8);
	fake_memory_put(&memory, FAKE_MEMORY_FRAGMENT + 8, UINT64_MAX, 8);
	name_at(FAKE_MEMORY_ADD, buf, &name);
	cr_expect_leq(memory.reads, READS_MAX);

	fake_memory(&memory);
	fake_memory_put(&memory, FAKE_MEMORY_VERSION, 0, 8);
	fake_memory_put(&memory, FAKE_MEMORY_VERSION + 24, AT(FAKE_MEMORY_VERSION), 8);
	cr_expect_eq(name_at(FAKE_MEMORY_GET, buf, &name), 0);
	cr_expect_str_eq(buf, "instance void [Shop] Shop.Box`1[Shop.Cart]::Get()[QuickJitted]");
	cr_expect_leq(memory.reads, READS_MAX);
}

/* Whichever read it changes before: its name is the one or the other, or there is none. */
Test(perfmap_memory, what_changes_while_it_is_read)
{
	unsigned was = 0, is = 0;

	for (size_t at = 1; at < 200; at++) {
		struct perfmap_memory_name name;
		char buf[1024];
		int err;

		fake_memory(&memory);
		memory.change_at = at;
		/* Another dynamic method, of another signature, is in its place. */
		memory.offset = FAKE_MEMORY_HEADER(2) + 25;
		memory.to = (uint8_t)(FAKE_MEMORY_METHOD(0) >> 8);
		err = name_at(FAKE_MEMORY_MADE, buf, &name);
		if (!err)
			cr_expect(strstr(buf, "::Made(Shop.Cart") || strstr(buf, "::Add()"),
				  "%zu: %s", at, buf);
		was += !err && strstr(buf, "Made");
		is += !err && strstr(buf, "Add");
	}
	cr_expect(was && is);
}

/* --- precompiled code ------------------------------------------------------------------------- */

#define READY(i) (FAKE_MEMORY_READY_CODE + (i)*FAKE_MEMORY_READY_SIZE)

static const char ready_add[] = "instance void [Shop] Shop.Cart::Add()[PreJIT]";

/* By the runtime's hash of what ran; whose a handler is, by the image's own tables. */
Test(perfmap_memory, precompiled_code_has_the_name_of_what_ran)
{
	struct perfmap_memory_name name;
	struct perfmap_memory_body body;
	struct perfmap_memory *m;
	char buf[1024];

	fake_memory(&memory);
	cr_assert_eq(name_at(READY(0) + 8, buf, &name), 0);
	cr_expect_str_eq(buf, ready_add);
	cr_expect(name.is_precompiled && !name.is_fleeting && !name.is_stub);
	cr_expect_eq(name.start, AT(READY(0)));
	cr_expect_eq(name.size, FAKE_MEMORY_READY_SIZE);
	cr_assert_eq(name_at(READY(1) + 8, buf, &name), 0);
	cr_expect_str_eq(buf, ready_add);
	cr_expect_eq(name.start, AT(READY(0)));
	cr_expect_eq(name.size, 2 * FAKE_MEMORY_READY_SIZE);
	cr_expect_eq(name_at(READY(2) + 8, buf, &name), -ENODATA, "not the one before it");
	cr_expect_eq(name_at(READY(3) + 8, buf, &name), -ENODATA);
	cr_expect_eq(name_at(READY(0) - 8, buf, &name), -ENODATA);
	m = opened();
	cr_assert_eq(perfmap_memory_body(m, AT(READY(0) + 8), &body), 0);
	cr_expect_eq(body.start, AT(READY(0)));
	cr_expect_eq(perfmap_memory_body(m, AT(READY(2)), &body), -ENOENT);
	perfmap_memory_close(m);
	/* As soon as it ran; in the bucket after one that is full. */
	fake_memory_entry(&memory, READY(2), FAKE_MEMORY_METHOD(1), 1);
	for (uint32_t i = 1; i <= 3; i++)
		fake_memory_put(&memory, FAKE_MEMORY_BUCKETS + 64 * i + 39, 0x80, 1);
	cr_assert_eq(name_at(READY(2) + 8, buf, &name), 0);
	cr_expect_str_eq(buf, "instance void [Shop] Shop.Box`1[Shop.Cart]::Get()[PreJIT]");
	cr_expect_eq(name.start, AT(READY(2)));
	/* A filter is one where its clause says so. */
	fake_memory_put(&memory, FAKE_MEMORY_CLAUSE + 12, 0x10, 4);
	fake_memory_put(&memory, FAKE_MEMORY_CLAUSE + 20, FAKE_MEMORY_READY_SIZE, 4);
	cr_expect_eq(name_at(READY(1) + 8, buf, &name), -ENODATA);
	fake_memory_put(&memory, FAKE_MEMORY_CLAUSE, 1, 4);
	cr_expect_eq(name_at(READY(1) + 8, buf, &name), 0);
}

Test(perfmap_memory, hostile_images_give_no_name)
{
	static const struct {
		const char *what;
		uint32_t offset;
		uint64_t value;
		size_t len;
		uint32_t address;
		int err;
	} rows[] = {
		{"nothing of it", FAKE_MEMORY_MODULE + 704, 0, 8, READY(0), -ENODATA},
		{"it is nowhere", FAKE_MEMORY_MODULE + 704, NOWHERE, 8, READY(0), -EFAULT},
		{"no functions", FAKE_MEMORY_READY_INFO + 88, 0, 4, READY(0), -ENODATA},
		{"4 G functions", FAKE_MEMORY_READY_INFO + 88, UINT32_MAX, 4, READY(0), -ENODATA},
		{"functions nowhere", FAKE_MEMORY_READY_INFO + 80, NOWHERE, 8, READY(0), -EFAULT},
		{"cold parts", FAKE_MEMORY_READY_INFO + 104, 2, 4, READY(0), -ENODATA},
		{"hash nowhere", FAKE_MEMORY_READY_INFO + 376, NOWHERE, 8, READY(0), -EFAULT},
		{"hash of one bucket", FAKE_MEMORY_BUCKETS, 1, 4, READY(0), -ENODATA},
		{"hash of 4 G buckets", FAKE_MEMORY_BUCKETS, UINT32_MAX, 4, READY(0), -ENODATA},
		{"header nowhere", FAKE_MEMORY_READY_INFO + 16, NOWHERE, 8, READY(1), -EFAULT},
		{"exceptions far away", 0x8314, UINT32_MAX, 4, READY(1), -ENODATA},
		{"exceptions of 4 GiB", 0x8318, UINT32_MAX, 4, READY(1), -ENODATA},
		{"clauses nowhere", FAKE_MEMORY_EXCEPTIONS + 4, 0x30000000, 4, READY(1), -ENODATA},
		{"clauses without an end", FAKE_MEMORY_EXCEPTIONS + 12, 0x7fffffff, 4, READY(1), 0},
		{"function of 4 GiB", FAKE_MEMORY_FUNCTIONS + 4, UINT32_MAX, 4, READY(0), -ENODATA},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_name name;
		char buf[1024];
		int err;

		fake_memory(&memory);
		fake_memory_put(&memory, rows[i].offset, rows[i].value, rows[i].len);
		err = name_at(rows[i].address + 8, buf, &name);
		cr_expect_eq(err, rows[i].err, "%s: %d", rows[i].what, err);
		cr_expect_leq(memory.reads, READS_MAX, "%s: %zu reads", rows[i].what, memory.reads);
	}
}

/* Another method takes its place in the hash: the name of before, of after, or none. */
Test(perfmap_memory, an_entry_that_changes_while_it_is_read)
{
	unsigned was = 0, is = 0;

	for (size_t at = 1; at < 100; at++) {
		struct perfmap_memory_name name;
		char buf[1024];

		fake_memory(&memory);
		for (uint32_t i = FAKE_MEMORY_BUCKETS; i < FAKE_MEMORY_EXCEPTIONS; i += 8)
			if (memory.bytes[i] == (uint8_t)(FAKE_MEMORY_METHOD(0) >> 1))
				memory.offset = i;
		memory.change_at = at;
		memory.to = (uint8_t)(FAKE_MEMORY_METHOD(1) >> 1);
		if (name_at(READY(0) + 8, buf, &name))
			continue;
		cr_expect(!strcmp(buf, ready_add) || strstr(buf, "::Get()[PreJIT]"), "%s", buf);
		was += !strcmp(buf, ready_add);
		is += strstr(buf, "::Get()") != NULL;
	}
	cr_expect(was && is, "%u %u", was, is);
}

/* --- many together ---------------------------------------------------------------------------- */

#define MANY 8

static const uint64_t many[MANY] = {AT(FAKE_MEMORY_ADD),     AT(FAKE_MEMORY_GET),
				    AT(FAKE_MEMORY_MADE),    AT(FAKE_MEMORY_STUB),
				    AT(FAKE_MEMORY_BYTES),   AT(FAKE_MEMORY_CODE + 8),
				    AT(FAKE_MEMORY_ADD) + 8, AT(FAKE_MEMORY_GET) + 8};

struct taken {
	char text[MANY][256];
	struct perfmap_memory_name names[MANY];
	unsigned cnt;
};

static void take(void *taker, size_t index, const char *text,
		 const struct perfmap_memory_name *name)
{
	struct taken *t = taker;

	cr_assert(index < MANY && !*t->text[index] && name->len == strlen(text));
	snprintf(t->text[index], sizeof(t->text[index]), "%s", text);
	t->names[index] = *name;
	t->cnt++;
}

Test(perfmap_memory, names_of_many_are_those_of_each)
{
	struct taken taken = {0};
	struct perfmap_memory *m;
	size_t reads;

	fake_memory(&memory);
	m = opened();
	reads = memory.reads;
	perfmap_memory_names(m, many, MANY, take, &taken);
	reads = memory.reads - reads;
	perfmap_memory_close(m);
	cr_expect_eq(taken.cnt, 6);
	m = opened();
	memory.reads = 0;
	for (size_t i = 0; i < MANY; i++) {
		struct perfmap_memory_name name;
		char buf[1024];
		int err = perfmap_memory_name(m, many[i], buf, sizeof(buf), &name);

		cr_expect_eq(err != 0, !*taken.text[i], "%zu: %d %s", i, err, taken.text[i]);
		if (err)
			continue;
		cr_expect_str_eq(taken.text[i], buf);
		cr_expect_eq(taken.names[i].start, name.start);
		cr_expect_eq(taken.names[i].size, name.size);
		cr_expect_eq(taken.names[i].is_fleeting, name.is_fleeting);
		cr_expect_eq(taken.names[i].is_stub, name.is_stub);
	}
	perfmap_memory_close(m);
	cr_expect_lt(2 * reads, memory.reads, "%zu reads of all, %zu of each", reads, memory.reads);
}

/* Every other one is GET. */
static void take_by_turns(void *taker, size_t index, const char *text,
			  const struct perfmap_memory_name *name)
{
	cr_expect_eq(name->start, AT(index % 2 ? FAKE_MEMORY_GET : FAKE_MEMORY_ADD));
	cr_expect(strstr(text, index % 2 ? "::Get()" : "::Add()"), "%zu: %s", index, text);
	++*(unsigned *)taker;
}

/* More than are looked at together. */
Test(perfmap_memory, names_of_very_many)
{
	static uint64_t addresses[300];
	struct perfmap_memory *m = NULL;
	struct perfmap_memory_facts facts = {.descriptor = AT(FAKE_MEMORY_DESCRIPTOR)};
	unsigned cnt = 0;

	for (size_t i = 0; i < 300; i++)
		addresses[i] = AT(i % 2 ? FAKE_MEMORY_GET : FAKE_MEMORY_ADD) + i % 90;
	fake_memory(&memory);
	cr_assert_eq(perfmap_memory_open(fake_memory_read, &memory, &facts, 300, &m), 0);
	perfmap_memory_names(m, addresses, 300, take_by_turns, &cnt);
	perfmap_memory_close(m);
	cr_expect_eq(cnt, 300);
}

/* Whichever read it changes before: what changed has the name of before or of after, or none; the
 * others have theirs. */
Test(perfmap_memory, many_of_which_one_changes_while_they_are_read)
{
	unsigned left_out = 0;

	for (size_t at = 1; at < 200; at++) {
		struct taken taken = {0};
		struct perfmap_memory *m;

		fake_memory(&memory);
		memory.change_at = at;
		memory.offset = FAKE_MEMORY_HEADER(2) + 25;
		memory.to = (uint8_t)(FAKE_MEMORY_METHOD(0) >> 8);
		m = opened();
		perfmap_memory_names(m, many, MANY, take, &taken);
		perfmap_memory_close(m);
		cr_expect_str_eq(taken.text[0],
				 "instance void [Shop] Shop.Cart::Add()[QuickJitted]");
		cr_expect(strstr(taken.text[1], "::Get()"));
		cr_expect(!*taken.text[2] || strstr(taken.text[2], "::Made(Shop.Cart") ||
				  strstr(taken.text[2], "::Add()"),
			  "%zu: %s", at, taken.text[2]);
		left_out += !*taken.text[2];
	}
	cr_expect_gt(left_out, 0, "one changed between the two looks at it");
}

Test(perfmap_memory, descriptors_that_are_none)
{
	static const struct {
		const char *what;
		uint32_t offset;
		uint64_t value;
		size_t len;
		int err;
	} rows[] = {
		{"another magic", FAKE_MEMORY_DESCRIPTOR, 0, 1, -EBADMSG},
		{"of 32 bits", FAKE_MEMORY_DESCRIPTOR + 8, 3, 4, -EBADMSG},
		{"4 GB of JSON", FAKE_MEMORY_DESCRIPTOR + 12, UINT32_MAX, 4, -EBADMSG},
		{"no JSON", FAKE_MEMORY_DESCRIPTOR + 12, 0, 4, -EBADMSG},
		{"JSON cut short", FAKE_MEMORY_DESCRIPTOR + 12, 500, 4, -EBADMSG},
		{"JSON nowhere", FAKE_MEMORY_DESCRIPTOR + 16, NOWHERE, 8, -EFAULT},
		{"JSON that is none", FAKE_MEMORY_JSON, '[', 1, -EBADMSG},
		{"a type that is needed", FAKE_MEMORY_JSON + 50, 'x', 1, -ENOTSUP},
		{"no pointers", FAKE_MEMORY_DESCRIPTOR + 24, 1, 4, -EBADMSG},
		{"pointers nowhere", FAKE_MEMORY_DESCRIPTOR + 32, NOWHERE, 8, -EFAULT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_facts facts = {.descriptor = AT(FAKE_MEMORY_DESCRIPTOR)};
		struct perfmap_memory *m = NULL;
		int err;

		fake_memory(&memory);
		fake_memory_put(&memory, rows[i].offset, rows[i].value, rows[i].len);
		err = perfmap_memory_open(fake_memory_read, &memory, &facts, 1, &m);
		cr_expect_eq(err, rows[i].err, "%s: %d", rows[i].what, err);
		if (!err)
			perfmap_memory_close(m);
	}
}

/* As .NET 11 writes it: contracts have letters, numbers of globals stand alone. */
static void put_json(const char *contracts)
{
	static const char last[] = "\"contracts\":";
	char *json = (char *)memory.bytes + FAKE_MEMORY_JSON, *from = strstr(json, last);

	cr_assert_not_null(from);
	strcpy(from + strlen(last), contracts);
	fake_memory_put(&memory, FAKE_MEMORY_DESCRIPTOR + 12, strlen(json), 4);
}

Test(perfmap_memory, contracts_of_dotnet_11)
{
	static const struct {
		const char *contracts;
		int err;
	} rows[] = {
		{"{\"ExecutionManager\":\"c1\",\"RuntimeTypeSystem\":\"c1\",\"Loader\":\"c1\"}}",
		 0},
		{"{\"ExecutionManager\":\"c2\",\"RuntimeTypeSystem\":\"c1\"}}", -ENOTSUP},
		{"{\"ExecutionManager\":\"c1\",\"RuntimeTypeSystem\":\"c2\"}}", -ENOTSUP},
		{"{\"ExecutionManager\":\"c0\",\"RuntimeTypeSystem\":\"c1\"}}", -ENOTSUP},
		{"{\"ExecutionManager\":\"c\",\"RuntimeTypeSystem\":\"c1\"}}", -ENOTSUP},
		{"{\"ExecutionManager\":\"d1\",\"RuntimeTypeSystem\":\"c1\"}}", -ENOTSUP},
		{"{\"ExecutionManager\":\"c18446744073709551615\",\"RuntimeTypeSystem\":\"c1\"}}",
		 -ENOTSUP},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_facts facts = {.descriptor = AT(FAKE_MEMORY_DESCRIPTOR)};
		struct perfmap_memory_name name;
		struct perfmap_memory *m;
		char buf[1024];
		int err;

		fake_memory(&memory);
		put_json(rows[i].contracts);
		err = perfmap_memory_open(fake_memory_read, &memory, &facts, 1, &m);
		cr_expect_eq(err, rows[i].err, "%s: %d", rows[i].contracts, err);
		if (err)
			continue;
		cr_expect_eq(perfmap_memory_name(m, AT(FAKE_MEMORY_ADD), buf, sizeof(buf), &name),
			     0);
		cr_expect_str_eq(buf, "instance void [Shop] Shop.Cart::Add()[QuickJitted]");
		perfmap_memory_close(m);
	}
}

/* Puts more types into what the descriptor tells. */
static void put_more(const char *of, const char *more)
{
	char *json = (char *)memory.bytes + FAKE_MEMORY_JSON, *from = strstr(json, of);

	cr_assert_not_null(from);
	from += strlen(of);
	memmove(from + strlen(more), from, strlen(from) + 1);
	memcpy(from, more, strlen(more));
	cr_assert_lt(FAKE_MEMORY_JSON + strlen(json), FAKE_MEMORY_MAP);
	fake_memory_put(&memory, FAKE_MEMORY_DESCRIPTOR + 12, strlen(json), 4);
}

/* .NET 11: a method that may be suspended is called by another signature than its row's, which lies
 * behind it and what else does. */
Test(perfmap_memory, asynchronous_methods_have_the_signature_that_they_are_called_by)
{
	static const char types[] = "\"types\":{",
			  more[] = "\"AsyncMethodData\":{\"!\":24,\"Signature\":8},"
				   "\"NonVtableSlot\":{\"!\":8},\"NativeCodeSlot\":{\"!\":8},";
	static const uint8_t signature[] = {0x20, 0, 0x08}; /* instance int32 () */
	static const struct {
		uint64_t flags, at, len;
		const char *name;
	} rows[] = {
		{0x40, 16, 3, "instance int32 [Shop] Shop.Cart::Add()[QuickJitted]"},
		{0x48, 24, 3, "instance int32 [Shop] Shop.Cart::Add()[QuickJitted]"},
		{0x68, 32, 3, "instance int32 [Shop] Shop.Cart::Add()[QuickJitted]"},
		/* How long what lies before it is, is not told. */
		{0x50, 24, 3, NULL},
		{0x40, 16, UINT32_MAX, NULL},
		{0x40, 16, 0, "instance void [Shop] Shop.Cart::Add()[QuickJitted]"},
		{0, 16, 3, "instance void [Shop] Shop.Cart::Add()[QuickJitted]"},
	};
	const uint32_t place = 0x6700, method = FAKE_MEMORY_METHOD(0);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[1024];
		struct perfmap_memory_name name;
		int err;

		fake_memory(&memory);
		put_more(types, more);
		fake_memory_put(&memory, method + 6, rows[i].flags, 2);
		fake_memory_put(&memory, method + (uint32_t)rows[i].at + 8, AT(place), 8);
		fake_memory_put(&memory, method + (uint32_t)rows[i].at + 16, rows[i].len, 4);
		memcpy(memory.bytes + place, signature, sizeof(signature));
		err = name_at(FAKE_MEMORY_ADD, buf, &name);
		cr_expect_eq(err, rows[i].name ? 0 : -ENODATA, "%zu: %d", i, err);
		if (!err && rows[i].name)
			cr_expect_str_eq(buf, rows[i].name, "%zu: %s", i, buf);
	}
}

/* The argument of Shop.Box is an array: .NET 9 and 10 tell the rank in its class, .NET 11 by what
 * its objects have before their elements. */
Test(perfmap_memory, arrays_have_as_many_dimensions_as_they_are_told_to)
{
	static const struct {
		const char *what;
		bool by_bytes;
		uint32_t flags, rank; /* of by_bytes: bytes before elements */
		const char *type;     /* NULL: no name */
	} rows[] = {
		{"a vector", true, 0x000a0000, 24, "Shop.Cart[]"},
		{"one that may begin elsewhere", true, 0x00080000, 24 + 8, "Shop.Cart[*]"},
		{"two", true, 0x00080000, 24 + 16, "Shop.Cart[,]"},
		{"three", true, 0x00080000, 24 + 24, "Shop.Cart[,,]"},
		{"none", true, 0x00080000, 24, NULL},
		{"a part of one", true, 0x00080000, 24 + 12, NULL},
		{"fewer than none", true, 0x00080000, 16, NULL},
		{"33", true, 0x00080000, 24 + 8 * 33, NULL},
		{"two in the class", false, 0x00080000, 2, "Shop.Cart[,]"},
		{"none in the class", false, 0x00080000, 0, NULL},
		{"255 in the class", false, 0x00080000, 255, NULL},
	};
	const uint32_t array = 0x6900, class = 0x6980, list = 0x5f20;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_memory_name name;
		char buf[1024], wanted[1024];
		int err;

		fake_memory(&memory);
		if (rows[i].by_bytes) {
			put_more("\"types\":{", "\"MethodTable\":{\"BaseSize\":4},");
			put_more("\"globals\":{", "\"ArrayBaseSize\":[\"0x18\",\"uint32\"],");
		} else {
			put_more("\"types\":{", "\"ArrayClass\":{\"Rank\":6},");
		}
		fake_memory_put(&memory, list, AT(array), 8);
		fake_memory_put(&memory, array, rows[i].flags, 4);
		fake_memory_put(&memory, array + 4, rows[i].by_bytes ? rows[i].rank : 0, 4);
		fake_memory_put(&memory, array + 40, AT(class), 8);
		fake_memory_put(&memory, array + 48, AT(FAKE_MEMORY_CART), 8);
		fake_memory_put(&memory, class + 6, rows[i].by_bytes ? 0 : rows[i].rank, 1);
		err = name_at(FAKE_MEMORY_GET, buf, &name);
		cr_expect_eq(err, rows[i].type ? 0 : -ENODATA, "%s: %d", rows[i].what, err);
		if (err || !rows[i].type)
			continue;
		snprintf(wanted, sizeof(wanted),
			 "instance void [Shop] Shop.Box`1[%s]::Get()[OptimizedTier1]",
			 rows[i].type);
		cr_expect_str_eq(buf, wanted, "%s: %s", rows[i].what, buf);
	}
}

Test(perfmap_memory, layouts_that_are_none)
{
	static const char *const texts[] = {
		"",
		"{",
		"}",
		"{\"",
		"{\"types\":",
		"{\"a\":1,}",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[]]]",
		"{\"types\":{\"MethodDesc\":{\"Flags\":99999999999999999999}}}",
		"\"\\\"",
		"{}",
	};
	struct perfmap_layout layout;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_lt(perfmap_layout_parse(texts[i], strlen(texts[i]), &layout), 0, "%s",
			     texts[i]);
}
