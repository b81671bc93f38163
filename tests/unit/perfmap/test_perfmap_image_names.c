/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions in precompiled images; bounds are in test_perfmap_image.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_names.h"
#include "held_bytes.h"
#include "perfmap/images/image.h"
#include "perfmap/names/name.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int load(const uint8_t *data, size_t len, struct perfmap_image **ret_image)
{
	struct held_bytes b = {.data = data, .len = len};

	return perfmap_image_load(held_bytes_read, &b, ret_image);
}

static int name(const struct perfmap_image *image, uint32_t function, char raw[512])
{
	uint32_t component;
	size_t len;

	raw[0] = 0;
	return perfmap_image_name(image, function, raw, 512, &len, &component);
}

static const char *const names[FAKE_NAMES_FUNCTIONS] = {
	"instance void [Shop] Shop.Cart::Add()[PreJIT]",
	"instance void [Shop] Shop.Cart::Add()[PreJIT]",
	"instance bool [Shop] Shop.Cart::Has()[PreJIT]",
	"instance void [Shop] Shop.Cart+Line::.ctor()[PreJIT]",
	"instance void [Shop] Shop.Box`1[System.Int32]::Get()[PreJIT]",
	"instance void [Acme] Acme.List`1[Shop.Cart+Line]::Push()[PreJIT]",
	"instance bool [Shop] Shop.Cart::Has()[PreJIT]",
	"instance void [Shop] Shop.Cart::Add()[PreJIT]",
};

Test(perfmap_image_names, each_function_has_the_name_of_its_method)
{
	static const uint16_t machines[] = {FAKE_IMAGE_X64, FAKE_IMAGE_ARM64};

	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		uint8_t bytes[FAKE_NAMES_IMAGE];
		struct perfmap_image *image;
		struct fake_names at;
		char raw[512];

		fake_names(machines[m], bytes, &at);
		cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
		cr_assert_eq(perfmap_image_functions(image), FAKE_NAMES_FUNCTIONS);
		for (uint32_t i = 0; i < FAKE_NAMES_FUNCTIONS; i++) {
			cr_expect_eq(name(image, i, raw), 0, "%zu %u", m, i);
			cr_expect_str_eq(raw, names[i], "%zu %u: %s", m, i, raw);
		}
		cr_expect_eq(name(image, FAKE_NAMES_FUNCTIONS, raw), -ENOENT);
		cr_assert_not_null(perfmap_image_mvid(image));
		for (size_t i = 0; i < PERFMAP_IMAGE_MVID_BYTES; i++)
			cr_expect_eq(perfmap_image_mvid(image)[i], FAKE_NAMES_MVID);
		cr_expect_gt(perfmap_image_memory_bytes(image), FAKE_NAMES_FUNCTIONS * 8);
		perfmap_image_free(image);
	}
}

Test(perfmap_image_names, a_name_that_does_not_fit_is_refused)
{
	uint8_t bytes[FAKE_NAMES_IMAGE];
	size_t len, full = strlen(names[0]);
	struct perfmap_image *image;
	struct fake_names at;
	uint32_t component;
	char raw[64];

	fake_names(FAKE_IMAGE_X64, bytes, &at);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	for (size_t cap = 1; cap <= full; cap++)
		cr_expect_eq(perfmap_image_name(image, 0, raw, cap, &len, &component), -E2BIG);
	cr_expect_eq(perfmap_image_name(image, 0, raw, full + 1, &len, &component), 0);
	cr_expect_eq(len, full);
	perfmap_image_free(image);
}

/* Offsets from the places in struct fake_names. */
#define PLACE(field) offsetof(struct fake_names, field)
#define TABLE_ROWS   24u
#define ROW_TYPE_REF 10u /* widths: Module 10, TypeRef 6, TypeDef 14, MethodDef 14, MemberRef 6 */
#define ROW_TYPE_DEF (ROW_TYPE_REF + 6u)
#define ROW_METHOD   (ROW_TYPE_DEF + 4 * 14u)
#define ROW_MEMBER   (ROW_METHOD + 4 * 14u)
#define ROW_SPEC     (ROW_MEMBER + 6u)
#define ROW_NESTED   (ROW_SPEC + 2 + 22 + 20u)
#define BOX	     11u /* of the first instance's signature */

Test(perfmap_image_names, damage_costs_names_and_nothing_else)
{
	static const struct {
		const char *name;
		size_t place, offset, len;
		uint64_t value;
		uint32_t function;
		int err;
	} cases[] = {
		{"CLI header too short", PLACE(cli), 64 + 4, 4, 15, 0, -ENODATA},
		{"no ready-to-run header", PLACE(header), 0, 4, 0x4e5452, 0, -ENODATA},
		{"header in no section", PLACE(cli), 64, 4, 0x900000, 0, -EBADMSG},
		{"65 sections", PLACE(header), 12, 4, 65, 0, -E2BIG},
		{"header past the end", PLACE(cli), 64, 4, FAKE_NAMES_RVA + FAKE_NAMES_BYTES - 7, 0,
		 -EBADMSG},
		{"another table of functions", PLACE(sections), 4, 4, 0x11004, 0, -EBADMSG},
		{"methods in no section", PLACE(sections), 12 + 4, 4, 0x900000, 0, -EBADMSG},
		{"methods: too many bytes", PLACE(sections), 12 + 8, 4, 0xf0000000, 0, -E2BIG},
		{"methods: width of no index", PLACE(methods), 0, 1, (4 << 2 | 3) << 1, 0,
		 -EBADMSG},
		{"methods: block past the end", PLACE(methods), 1, 1, 0xff, 0, -ENOENT},
		{"methods: no such function", PLACE(methods), 6, 1, 99 << 2, 0, -ENOENT},
		{"instances: 2^30 buckets", PLACE(instances), 0, 1, 30 << 2, 0, -EBADMSG},
		{"instances: width of no index", PLACE(instances), 0, 1, 3, 0, -EBADMSG},
		{"instances: bucket past the end", PLACE(instances), 2, 1, 0xff, 0, -EBADMSG},
		{"instances: bucket ends before it begins", PLACE(instances), 2, 1, 1, 0, -EBADMSG},
		{"instances: entry far behind", PLACE(instances), 4, 2, 0x7ffd, 0, -EBADMSG},
		{"instances: entry before the start", PLACE(instances), 4, 2, 0x8001, 0, -EBADMSG},
		{"no metadata signature", PLACE(metadata), 0, 1, 0, 0, -EBADMSG},
		{"metadata: long version", PLACE(metadata), 12, 4, 257, 0, -EBADMSG},
		{"metadata: 17 streams", PLACE(metadata), 30, 2, 17, 0, -E2BIG},
		{"metadata: stream past the end", PLACE(metadata), 32, 4, 0x301, 0, -EBADMSG},
		{"metadata: no strings", PLACE(metadata), 32 + 12 + 9, 1, 'X', 0, -EBADMSG},
		{"too many rows", PLACE(tables), TABLE_ROWS, 4, 1 << 24, 0, -E2BIG},
		{"rows past the end", PLACE(tables), TABLE_ROWS + 4, 4, 5000, 0, -EBADMSG},
		{"name outside the strings", PLACE(rows), ROW_METHOD + 8, 2, 0xffff, 0, -ENODATA},
		{"empty name", PLACE(rows), ROW_METHOD + 8, 2, 0, 0, -ENODATA},
		{"type without a name", PLACE(rows), ROW_TYPE_DEF + 14 + 4, 2, 0, 0, -ENODATA},
		{"its handler, too", PLACE(rows), ROW_TYPE_DEF + 14 + 4, 2, 0, 1, -ENODATA},
		{"nested in itself", PLACE(rows), ROW_NESTED + 2, 2, 3, 3, -ENODATA},
		{"nested in nothing", PLACE(rows), ROW_NESTED + 2, 2, 0, 3, 0},
		{"nested in no row", PLACE(rows), ROW_NESTED + 2, 2, 99, 3, -ENODATA},
		{"unknown element", PLACE(instances), BOX + 6, 1, 0x44, 4, -ENOENT},
		{"no handler is guessed then", PLACE(instances), BOX + 6, 1, 0x44, 1, -ENOENT},
		{"open generic", PLACE(instances), BOX + 6, 1, 0x1d, 4, -ENOENT},
		{"type of no row", PLACE(instances), BOX + 4, 1, 20 << 2, 4, -ENODATA},
		{"type of no table", PLACE(instances), BOX + 4, 1, 3, 4, -ENODATA},
		{"type that is a blob", PLACE(instances), BOX + 4, 1, 1 << 2 | 2, 4, 0},
		{"method of no row", PLACE(instances), BOX + 7, 1, 99, 4, -ENODATA},
		{"signature of its own length only", PLACE(blobs), 1, 1, 0x7f, 0, 0},
		{"hot part of no row", PLACE(hot_cold), 4, 4, 99, 7, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[FAKE_NAMES_IMAGE];
		struct perfmap_image *image = NULL;
		struct fake_names at;
		char raw[512];
		size_t place;
		int err;

		fake_names(FAKE_IMAGE_X64, bytes, &at);
		memcpy(&place, (const char *)&at + cases[i].place, sizeof(place));
		fake_image_put(bytes, place + cases[i].offset, cases[i].value, cases[i].len);
		cr_assert_eq(load(bytes, sizeof(bytes), &image), 0, "%s", cases[i].name);
		err = name(image, cases[i].function, raw);
		cr_expect_eq(err, cases[i].err, "%s: %d %s", cases[i].name, err, raw);
		perfmap_image_free(image);
	}
}

/* A type that is a blob, which is that type: depth is bounded. */
Test(perfmap_image_names, a_type_that_holds_itself_has_no_name)
{
	static const uint8_t spec[] = {5, 0x15, 0x12, 1 << 2 | 2, 1, 0x08};
	uint8_t bytes[FAKE_NAMES_IMAGE];
	struct perfmap_image *image;
	struct fake_names at;
	char raw[512];

	fake_names(FAKE_IMAGE_X64, bytes, &at);
	memcpy(bytes + at.blobs + 14, spec, sizeof(spec));
	bytes[at.instances + BOX + 4] = 1 << 2 | 2;
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_eq(name(image, 4, raw), -ENODATA);
	perfmap_image_free(image);
}

/* Another signature for the first method. */
Test(perfmap_image_names, signatures_read_as_the_runtime_has_them)
{
#define METHOD "[Shop] Shop.Cart::Add"
	static const struct {
		const char *name;
		uint8_t blob[24]; /* its length first */
		const char *text;
	} cases[] = {
		{"static, no arguments", {3, 0, 0, 1}, "void " METHOD "()"},
		{"of an instance", {3, 0x20, 0, 1}, "instance void " METHOD "()"},
		{"generic", {5, 0x30, 1, 1, 0x1e, 0}, "instance !!0 " METHOD},
		{"simple types",
		 {7, 0, 4, 2, 3, 8, 0x0e, 0x1c},
		 "bool " METHOD "(char,int32,string,object)"},
		{"two words", {4, 0, 1, 0x18, 0x19}, "native int " METHOD "(native uint)"},
		{"own type", {4, 0, 0, 0x12, 2 << 2}, "class Shop.Cart " METHOD "()"},
		{"nested one", {4, 0, 0, 0x11, 3 << 2}, "valuetype Shop.Cart/Line " METHOD "()"},
		{"of another assembly",
		 {4, 0, 0, 0x12, 1 << 2 | 1},
		 "class [Acme]Acme.List`1 " METHOD "()"},
		{"instance of a generic type",
		 {9, 0, 0, 0x15, 0x12, 4 << 2, 2, 0x13, 0, 0x08},
		 "class Shop.Box`1<!0,int32> " METHOD "()"},
		{"around types",
		 {10, 0, 1, 0x1d, 0x0f, 0x05, 0x10, 0x1d, 0x1d, 0x08, 0},
		 "uint8*[] " METHOD "(int32[][]&)"},
		{"array with bounds",
		 {9, 0, 0, 0x14, 8, 2, 0, 2, 0, 0},
		 "int32[0...,0...] " METHOD "()"},
		{"array without", {7, 0, 0, 0x14, 8, 2, 0, 0}, "int32[,] " METHOD "()"},
		{"function", {7, 0, 0, 0x1b, 0, 1, 1, 8}, "method void *(int32) " METHOD "()"},
		{"native function",
		 {6, 0, 0, 0x1b, 9, 0, 1},
		 "method unmanaged void *() " METHOD "()"},
		{"modifier",
		 {6, 0, 0, 0x1f, 1 << 2 | 1, 8, 0},
		 "int32 modreq([Acme]Acme.List`1) " METHOD "()"},
		{"empty", {0}, METHOD},
		{"cut in the return type", {3, 0, 0, 0x1d}, METHOD},
		{"cut in the arguments", {4, 0, 2, 1, 8}, "void " METHOD},
		{"past the heap", {0x7f, 0, 0, 1}, METHOD},
		{"unknown element", {3, 0, 0, 0x44}, METHOD},
		{"type of no row", {4, 0, 0, 0x12, 31 << 2}, METHOD},
		{"array of 33 dimensions", {7, 0, 0, 0x14, 8, 33, 0, 0}, METHOD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t bytes[FAKE_NAMES_IMAGE];
		struct perfmap_image *image;
		struct fake_names at;
		char raw[512];

		fake_names(FAKE_IMAGE_X64, bytes, &at);
		memcpy(bytes + at.blobs + 0x20, cases[i].blob, sizeof(cases[i].blob));
		fake_image_put(bytes, at.rows + ROW_METHOD + 10, 0x20, 2);
		cr_assert_eq(load(bytes, sizeof(bytes), &image), 0, "%s", cases[i].name);
		cr_expect_eq(name(image, 0, raw), 0, "%s", cases[i].name);
		raw[strlen(raw) - strlen("[PreJIT]")] = 0;
		cr_expect_str_eq(raw, cases[i].text, "%s: %s", cases[i].name, raw);
		perfmap_image_free(image);
	}
}

static void ask_for_all(const uint8_t *bytes, size_t len)
{
	struct perfmap_image *image;
	char raw[512];

	if (load(bytes, len, &image))
		return;
	for (uint32_t i = 0; i < perfmap_image_functions(image); i++)
		name(image, i, raw);
	perfmap_image_free(image);
}

Test(perfmap_image_names, an_image_cut_short_or_flipped_anywhere_does_no_harm)
{
	uint8_t bytes[FAKE_NAMES_IMAGE];
	struct fake_names at;

	fake_names(FAKE_IMAGE_X64, bytes, &at);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		/* On the heap, so that a read past the end is noticed. */
		uint8_t *cut = malloc(len + 1);

		memcpy(cut, bytes, len);
		ask_for_all(cut, len);
		free(cut);
	}
	for (size_t i = FAKE_NAMES_OFFSET; i < sizeof(bytes); i++) {
		static const uint8_t flips[] = {0xff, 0x01, 0x80};

		for (size_t k = 0; k < ARRAY_SIZE(flips); k++) {
			bytes[i] ^= flips[k];
			ask_for_all(bytes, sizeof(bytes));
			bytes[i] ^= flips[k];
		}
	}
}

/* --- composite images ------------------------------------------------------------------------- */

static struct perfmap_component *component_of(const uint8_t *bytes)
{
	struct held_bytes b = {.data = bytes, .len = FAKE_NAMES_IMAGE};
	struct perfmap_component *component;

	cr_assert_eq(perfmap_component_load(held_bytes_read, &b, &component), 0);
	return component;
}

Test(perfmap_image_names, a_composite_image_asks_for_metadata_of_its_assemblies)
{
	uint8_t plain[FAKE_NAMES_IMAGE], bytes[FAKE_NAMES_IMAGE];
	struct perfmap_image *image;
	uint32_t component = 77;
	struct fake_names at;
	size_t len, before;
	char raw[512];

	fake_names(FAKE_IMAGE_X64, plain, &at);
	memcpy(bytes, plain, sizeof(bytes));
	fake_names_composite(bytes, &at);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_null(perfmap_image_mvid(image));
	cr_expect_eq(perfmap_image_name(image, 0, raw, sizeof(raw), &len, &component), -EAGAIN);
	cr_expect_eq(component, 0);
	cr_expect_eq(perfmap_image_component(image, 0, raw, sizeof(raw)), 0);
	cr_expect_str_eq(raw, "Acme");
	cr_expect_eq(perfmap_image_component(image, 0, raw, 4), -ENOENT);
	cr_expect_eq(perfmap_image_component(image, 1, raw, sizeof(raw)), -ENOENT);
	before = perfmap_image_memory_bytes(image);
	cr_expect_eq(perfmap_image_give_component(image, 0, component_of(plain)), 0);
	cr_expect_gt(perfmap_image_memory_bytes(image), before);
	cr_expect_eq(name(image, 0, raw), 0);
	cr_expect_str_eq(raw, names[0]);
	cr_expect_eq(perfmap_image_give_component(image, 0, component_of(plain)), -EINVAL);
	cr_expect_eq(perfmap_image_give_component(image, 1, component_of(plain)), -EINVAL);
	perfmap_image_free(image);
}

Test(perfmap_image_names, metadata_that_cannot_be_had_is_asked_for_once)
{
	uint8_t bytes[FAKE_NAMES_IMAGE];
	struct perfmap_image *image;
	struct fake_names at;
	char raw[512];

	fake_names(FAKE_IMAGE_X64, bytes, &at);
	fake_names_composite(bytes, &at);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_eq(name(image, 0, raw), -EAGAIN);
	cr_expect_eq(perfmap_image_give_component(image, 0, NULL), 0);
	cr_expect_eq(name(image, 0, raw), -ENODATA);
	perfmap_image_free(image);
}

Test(perfmap_image_names, another_build_of_an_assembly_is_refused)
{
	uint8_t plain[FAKE_NAMES_IMAGE], bytes[FAKE_NAMES_IMAGE];
	struct perfmap_image *image;
	struct fake_names at;
	char raw[512];

	fake_names(FAKE_IMAGE_X64, plain, &at);
	memcpy(bytes, plain, sizeof(bytes));
	fake_names_composite(bytes, &at);
	/* Version ids of the components: a piece of the section that is something else. */
	fake_image_put(bytes, at.sections + 24, 118, 4);
	cr_assert_eq(load(bytes, sizeof(bytes), &image), 0);
	cr_expect_eq(perfmap_image_give_component(image, 0, component_of(plain)), -ESTALE);
	cr_expect_eq(name(image, 0, raw), -ENODATA);
	perfmap_image_free(image);
}
