/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several sources of symbols names a function of a stripped library. */
#include <criterion/criterion.h>
#include <elf.h>
#include <lzma.h>

#include "names_host.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define GLOBAL_FUNC   ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define BUILD_ID      0xab
#define BUILD_ID_PATH                            \
	"100/root/usr/lib/debug/.build-id/ab/"   \
	"ababababababababababababababababababab" \
	".debug"

static const struct fake_symbol own = {"of_symtab", 0x1000, 0x100, GLOBAL_FUNC};
static const struct fake_symbol linked = {"of_debug_link", 0x1000, 0x100, GLOBAL_FUNC};
static const struct fake_symbol identified = {"of_build_id", 0x1000, 0x100, GLOBAL_FUNC};
static const struct fake_symbol packed = {"of_debugdata", 0x1000, 0x100, GLOBAL_FUNC};

/* The library's debug file with that symbol, NULL = none, at a path. */
static void put_debug(struct host *h, const char *path, const struct fake_symbol *symbol)
{
	struct fake_elf elf = {
		.symbols = symbol, .symbols_cnt = symbol != NULL, .build_id = BUILD_ID};
	static uint8_t image[FAKE_ELF_BYTES];

	fake_elf(&elf, image);
	fake_file(&h->proc, path, image, sizeof(image));
}

static void put_packed_library(struct host *h, bool stripped, bool with_packed)
{
	static uint8_t image[2 * FAKE_ELF_BYTES], inner[FAKE_ELF_BYTES];
	struct fake_elf inner_elf = {.symbols = &packed, .symbols_cnt = 1};
	struct fake_elf elf = {.symbols = &own,
			       .symbols_cnt = !stripped,
			       .build_id = BUILD_ID,
			       .debuglink = "libx.so.dbg"};
	size_t len = 0;

	fake_elf(&inner_elf, inner);
	cr_assert_eq(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, inner, sizeof(inner),
					     image + FAKE_ELF_BYTES, &len, FAKE_ELF_BYTES),
		     LZMA_OK);
	elf.debugdata_bytes = with_packed ? len : 0;
	fake_elf(&elf, image);
	fake_file(&h->proc, "100/root/lib/libx.so", image, FAKE_ELF_BYTES + len);
}

Test(names_debug, the_best_source_names)
{
	static const struct {
		const char *name;
		bool stripped, packed;
		bool debug; /* a debug file by link */
		const struct fake_symbol *linked, *identified;
		const char *symbol; /* NULL = has none */
	} rows[] = {
		{"own symbols before all", false, true, true, &linked, &identified, "of_symtab"},
		{"by build id before the link", true, true, true, &linked, &identified,
		 "of_build_id"},
		{"by link before what is packed", true, true, true, &linked, NULL, "of_debug_link"},
		{"packed where there is no debug file", true, true, false, NULL, NULL,
		 "of_debugdata"},
		{"packed where the debug file is stripped", true, true, true, NULL, NULL,
		 "of_debugdata"},
		{"by link alone", true, false, true, &linked, NULL, "of_debug_link"},
		{"none", true, false, false, NULL, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct model_symbol *s;
		struct host h;

		host_make(&h, MAPS_LIB, "/app/x");
		put_packed_library(&h, rows[i].stripped, rows[i].packed);
		if (rows[i].debug)
			put_debug(&h, "100/root/lib/libx.so.dbg", rows[i].linked);
		if (rows[i].identified)
			put_debug(&h, BUILD_ID_PATH, rows[i].identified);
		names_process(h.n, h.m, h.process);
		s = name_at(&h, 0x7f0000001010, 1);
		cr_assert_not_null(s, "%s", rows[i].name);
		if (rows[i].symbol)
			cr_expect_str_eq(s->name, rows[i].symbol, "%s: %s", rows[i].name, s->name);
		else
			cr_expect_eq(s->reason, REASON_NO_SYMBOL, "%s: %s", rows[i].name, s->name);
		host_end(&h);
	}
}
