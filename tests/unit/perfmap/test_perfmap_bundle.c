/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake_bundle.h"
#include "fake_image.h"
#include "held_bytes.h"
#include "perfmap/images/bundle.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static int load(const uint8_t *data, size_t len, struct perfmap_bundle **ret_bundle)
{
	struct held_bytes b = {.data = data, .len = len};

	return perfmap_bundle_load(held_bytes_read, &b, ret_bundle);
}

Test(perfmap_bundle, an_offset_finds_the_file_that_lies_there)
{
	static const struct {
		const char *name;
		uint64_t offset;
		const char *path;
	} cases[] = {
		{"first byte", FAKE_BUNDLE_FILES, "A.dll"},
		{"last byte", FAKE_BUNDLE_FILES + 0xff, "A.dll"},
		{"the next", FAKE_BUNDLE_FILES + 0x100, "B.dll"},
		{"compressed: nothing runs from there", FAKE_BUNDLE_FILES + 0x200, NULL},
		{"the list", FAKE_BUNDLE_LIST, NULL},
		{"before the first", FAKE_BUNDLE_FILES - 1, NULL},
		{"far behind", UINT64_MAX, NULL},
	};
	uint8_t bytes[FAKE_BUNDLE_BYTES];
	const struct perfmap_bundle_entry *e;
	struct perfmap_bundle *bundle;

	fake_bundle(bytes);
	cr_assert_eq(load(bytes, sizeof(bytes), &bundle), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		e = perfmap_bundle_find(bundle, cases[i].offset);
		cr_expect_eq(!e, !cases[i].path, "%s", cases[i].name);
		if (e && cases[i].path)
			cr_expect_str_eq(e->path, cases[i].path, "%s", cases[i].name);
	}
	e = perfmap_bundle_named(bundle, "B.dll");
	cr_assert_not_null(e);
	cr_expect_eq(e->offset, FAKE_BUNDLE_FILES + 0x100);
	cr_expect_eq(e->bytes, 0x100);
	e = perfmap_bundle_named(bundle, "A.dll");
	cr_assert_not_null(e);
	cr_expect_eq(e->offset, FAKE_BUNDLE_FILES);
	cr_expect_geq(perfmap_bundle_work(bundle), FAKE_BUNDLE_BYTES - FAKE_BUNDLE_LIST);
	cr_expect_leq(perfmap_bundle_work(bundle), 8 * sizeof(bytes), "%lu",
		      perfmap_bundle_work(bundle));
	cr_expect_null(perfmap_bundle_named(bundle, "C.dll"));
	cr_expect_null(perfmap_bundle_named(bundle, ""));
	cr_expect_eq(perfmap_bundle_compressed(bundle), 1);
	cr_expect_gt(perfmap_bundle_memory_bytes(bundle), 3 * sizeof(*e));
	perfmap_bundle_free(bundle);
}

Test(perfmap_bundle, damaged_ones_are_refused)
{
	static const struct {
		const char *name;
		size_t offset, len;
		uint64_t value;
		int err;
	} cases[] = {
		{"not ELF", 0, 1, 'M', -ENOENT},
		{"32 bit", 4, 1, 1, -ENOENT},
		{"nothing behind the section headers", 40, 8, FAKE_BUNDLE_BYTES, -ENOENT},
		{"segments of another size", 54, 2, 32, -ENOENT},
		{"65 segments", 56, 2, 65, -E2BIG},
		{"segments past the end", 32, 8, FAKE_BUNDLE_BYTES, -EBADMSG},
		{"no segment", 56, 2, 0, -ENOENT},
		{"segment that is not written to", 68, 4, 4, -ENOENT},
		{"segment not loaded", 64, 4, 2, -ENOENT},
		{"segment ends in the mark", 96, 8, 0x67, -ENOENT},
		{"segment ends with the mark", 96, 8, 0x68, 0},
		{"segment past the end", 72, 8, FAKE_BUNDLE_BYTES, -ENOENT},
		{"huge segment", 96, 8, UINT64_MAX, 0},
		{"no mark", FAKE_BUNDLE_MARK + 39, 1, 0, -ENOENT},
		{"program without a bundle", FAKE_BUNDLE_MARK, 8, 0, -ENOENT},
		{"list past the end", FAKE_BUNDLE_MARK, 8, FAKE_BUNDLE_BYTES, -EBADMSG},
		{"list at no offset", FAKE_BUNDLE_MARK, 8, UINT64_MAX, -EBADMSG},
		{"version 1", FAKE_BUNDLE_LIST, 4, 1, -EBADMSG},
		{"too many files", FAKE_BUNDLE_LIST + 8, 4, PERFMAP_BUNDLE_ENTRIES_MAX + 1, -E2BIG},
		{"more files than there are", FAKE_BUNDLE_LIST + 8, 4, 4, -EBADMSG},
		{"no file", FAKE_BUNDLE_LIST + 8, 4, 0, 0},
		{"empty id", FAKE_BUNDLE_LIST + 12, 1, 0, -EBADMSG},
		{"id past the end", FAKE_BUNDLE_LIST + 12, 1, 0x7f, -EBADMSG},
		{"length that goes on", FAKE_BUNDLE_LIST + 12, 2, 0xffff, -EBADMSG},
		{"negative offset", FAKE_BUNDLE_ENTRIES, 8, UINT64_MAX, -EBADMSG},
		{"negative size", FAKE_BUNDLE_ENTRIES + 8, 8, 1ull << 63, -EBADMSG},
		{"empty path", FAKE_BUNDLE_ENTRIES + 25, 1, 0, -EBADMSG},
		{"two files in one place", FAKE_BUNDLE_ENTRIES, 8, FAKE_BUNDLE_FILES + 0x100, 0},
	};
	uint8_t bytes[FAKE_BUNDLE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct perfmap_bundle *bundle = NULL;
		int err;

		fake_bundle(bytes);
		fake_image_put(bytes, cases[i].offset, cases[i].value, cases[i].len);
		err = load(bytes, sizeof(bytes), &bundle);
		cr_expect_eq(err, cases[i].err, "%s: %d", cases[i].name, err);
		cr_expect_eq(!err, bundle != NULL, "%s", cases[i].name);
		perfmap_bundle_free(bundle);
	}
}

Test(perfmap_bundle, one_cut_short_anywhere_is_refused)
{
	uint8_t bytes[FAKE_BUNDLE_BYTES];
	struct perfmap_bundle *bundle = NULL;

	fake_bundle(bytes);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		/* On the heap, so that a read past the end is noticed. */
		uint8_t *cut = malloc(len + 1);
		int err;

		memcpy(cut, bytes, len);
		err = load(cut, len, &bundle);
		cr_expect(err == -ENOENT || err == -EBADMSG, "%zu: %d", len, err);
		free(cut);
	}
	cr_expect_null(bundle);
}

/* The data is searched in pieces: the mark at every place around their seams. */
Test(perfmap_bundle, the_mark_is_found_wherever_it_lies)
{
	const size_t chunk = 256u << 10, data = 0x1000;
	size_t len = data + 2 * chunk + FAKE_BUNDLE_BYTES;
	uint8_t small[FAKE_BUNDLE_BYTES];
	uint8_t *bytes = calloc(1, len);

	cr_assert_not_null(bytes);
	fake_bundle(small);
	for (size_t at = chunk - 50; at < chunk + 10; at++) {
		struct perfmap_bundle *bundle = NULL;

		memset(bytes, 0, len);
		memcpy(bytes, small, FAKE_BUNDLE_DATA);
		fake_image_put(bytes, 72, data, 8);
		fake_image_put(bytes, 96, 2 * chunk, 8);
		memcpy(bytes + data + at, small + FAKE_BUNDLE_MARK, 40);
		fake_image_put(bytes, data + at, len - FAKE_BUNDLE_BYTES + FAKE_BUNDLE_LIST, 8);
		memcpy(bytes + len - FAKE_BUNDLE_BYTES, small, FAKE_BUNDLE_BYTES);
		cr_expect_eq(load(bytes, len, &bundle), 0, "%zu", at);
		perfmap_bundle_free(bundle);
	}
	free(bytes);
}
