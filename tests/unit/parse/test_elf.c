/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <elf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "names_support.h"
#include "parse/elf.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define GLOBAL_FUNC   ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define LOCAL_FUNC    ELF64_ST_INFO(STB_LOCAL, STT_FUNC)

static const struct fake_symbol symbols[] = {
	{"outer", 0x1000, 0x100, GLOBAL_FUNC},
	{"inner_label", 0x1040, 0x10, LOCAL_FUNC},
	{"__alias", 0x1200, 0x20, GLOBAL_FUNC},
	{"alias@@GLIBC_2.2.5", 0x1200, 0x20, GLOBAL_FUNC},
	{"alias_local", 0x1200, 0x20, LOCAL_FUNC},
	{"assembler", 0x1300, 0, GLOBAL_FUNC},
	{"after", 0x1340, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC)},
	{"last_open", 0x1f00, 0, LOCAL_FUNC},
	{"variable", 0x1400, 0x100, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)},
	{"outside_section", 0x2400, 0x10, GLOBAL_FUNC},
};
static const uint64_t functions[][2] = {
	{0x1000, 0x100}, {0x1500, 0x80}, {0x1600, 0x10}, {0x1f80, 0x20}};

static struct elf_table *load(const uint8_t *image, size_t len, enum model_reason *ret_reason)
{
	struct elf_table *table = NULL;
	struct elf_identity identity;
	int fd = fake_fd(image, len);

	*ret_reason = elf_identify(fd, &identity);
	if (!*ret_reason)
		*ret_reason = elf_load(fd, &identity, &table);
	close(fd);
	return table;
}

Test(elf, addresses_find_their_function)
{
	static const struct {
		const char *name;
		uint64_t offset;
		const char *symbol; /* NULL = none */
		uint64_t start;
		bool in_function;
	} rows[] = {
		{"start", 0x1000, "outer", 0x1000, true},
		{"label inside", 0x1040, "inner_label", 0x1040, true},
		{"past the label", 0x1050, "outer", 0x1000, true},
		{"past the end is not guessed", 0x1100, NULL, 0x1100, false},
		{"best alias, without its version", 0x121f, "alias", 0x1200, true},
		{"no size: up to the next", 0x133f, "assembler", 0x1300, true},
		{"indirect function", 0x1340, "after", 0x1340, true},
		{"no size: up to other bounds", 0x1f7f, "last_open", 0x1f00, true},
		{"no size: not in other bounds", 0x1f80, NULL, 0x1f80, true},
		{"no size: not beyond them", 0x1fa0, NULL, 0x1fa0, false},
		{"data is no function", 0x1400, NULL, 0x1400, false},
		{"bounds from the unwind table", 0x157f, NULL, 0x1500, true},
		{"past those bounds", 0x1580, NULL, 0x1580, false},
		{"headers", 0x40, NULL, 0x40, false},
	};
	struct fake_elf elf = {.symbols = symbols,
			       .symbols_cnt = ARRAY_SIZE(symbols),
			       .functions = functions,
			       .functions_cnt = ARRAY_SIZE(functions),
			       .build_id = 0xab,
			       .debuglink = "x.so.dbg"};
	static uint8_t image[FAKE_ELF_BYTES];
	enum model_reason reason;
	struct elf_table *t;
	struct elf_place place;

	fake_elf(&elf, image);
	t = load(image, sizeof(image), &reason);
	cr_assert_eq(reason, REASON_NAMED, "%d", reason);
	cr_assert_eq(t->identity.build_id_len, 20);
	cr_assert_eq(t->identity.build_id[19], 0xab);
	cr_assert_str_eq(t->debuglink, "x.so.dbg");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_expect(elf_find(t, rows[i].offset, &place), "%s", rows[i].name);
		if (rows[i].symbol && place.name)
			cr_expect_str_eq(place.name, rows[i].symbol, "%s: %s", rows[i].name,
					 place.name);
		cr_expect_eq(!!place.name, !!rows[i].symbol, "%s", rows[i].name);
		cr_expect_eq(place.function, rows[i].start, "%s: %lx", rows[i].name,
			     place.function);
		cr_expect_eq(place.in_function, rows[i].in_function, "%s", rows[i].name);
	}
	cr_expect(!elf_find(t, 0x9000, &place), "beyond what is loaded");
	elf_free(t);
}

/* musl's libc without its local symbols: memset, in assembler, has no size. */
Test(elf, a_function_without_a_size_names_no_code_of_functions_that_have_no_symbol)
{
	static const struct fake_symbol exported[] = {
		{"memset", 0x1300, 0, GLOBAL_FUNC},
		{"bounded", 0x1500, 0, GLOBAL_FUNC},
	};
	static const struct {
		bool stripped;
		uint64_t offset;
		const char *symbol;
	} rows[] = {
		{false, 0x1300, "memset"}, {false, 0x14ff, "memset"}, {true, 0x1300, "memset"},
		{true, 0x1301, NULL},	   {true, 0x14ff, NULL},      {true, 0x157f, "bounded"},
		{true, 0x1580, NULL},
	};
	struct fake_elf elf = {.symbols = exported,
			       .symbols_cnt = ARRAY_SIZE(exported),
			       .functions = functions,
			       .functions_cnt = ARRAY_SIZE(functions)};
	static uint8_t image[FAKE_ELF_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Elf64_Shdr *symtab;
		enum model_reason reason;
		struct elf_place place;
		struct elf_table *t;

		fake_elf(&elf, image);
		symtab = (Elf64_Shdr *)(image + ((Elf64_Ehdr *)image)->e_shoff) + 1;
		cr_assert_eq(symtab->sh_type, SHT_SYMTAB);
		if (rows[i].stripped)
			symtab->sh_type = SHT_DYNSYM;
		t = load(image, sizeof(image), &reason);
		cr_assert_eq(reason, REASON_NAMED);
		cr_expect_eq(t->has_symtab, !rows[i].stripped);
		cr_assert(elf_find(t, rows[i].offset, &place));
		cr_expect_str_eq(place.name ?: "", rows[i].symbol ?: "", "row %zu: %s", i,
				 place.name ?: "");
		elf_free(t);
	}
}

Test(elf, a_debug_file_adds_names_only_with_the_same_build_id)
{
	struct fake_elf stripped = {.functions = functions, .functions_cnt = 3, .build_id = 1};
	struct fake_elf debug = {.symbols = symbols, .symbols_cnt = 1, .build_id = 1};
	static uint8_t image[FAKE_ELF_BYTES], debug_image[FAKE_ELF_BYTES];
	enum model_reason reason;
	struct elf_place place;
	struct elf_table *t;
	int fd;

	fake_elf(&stripped, image);
	t = load(image, sizeof(image), &reason);
	cr_assert_eq(reason, REASON_NAMED);
	cr_assert(!t->has_symtab);
	debug.build_id = 2;
	fake_elf(&debug, debug_image);
	fd = fake_fd(debug_image, sizeof(debug_image));
	cr_assert_eq(elf_add_debug(t, fd), REASON_FILE_CHANGED);
	close(fd);
	debug.build_id = 1;
	fake_elf(&debug, debug_image);
	fd = fake_fd(debug_image, sizeof(debug_image));
	cr_assert_eq(elf_add_debug(t, fd), REASON_NAMED);
	close(fd);
	cr_assert(t->has_symtab);
	cr_assert(elf_find(t, 0x1080, &place));
	cr_assert_str_eq(place.name, "outer");
	elf_free(t);
}

Test(elf, a_debug_file_belongs_by_its_build_id_or_else_by_the_links_crc)
{
	static const struct {
		const char *name;
		const char *link;
		uint8_t build_id, debug_build_id;
		bool crc_fits, has_symbols;
		enum model_reason reason;
	} rows[] = {
		{"same build id, no link", NULL, 7, 7, false, true, REASON_NAMED},
		{"same build id, stale CRC", "x.dbg", 7, 7, false, true, REASON_NAMED},
		{"other build id, CRC fits", "x.dbg", 7, 8, true, true, REASON_FILE_CHANGED},
		{"debug file without, CRC fits", "x.dbg", 7, 0, true, true, REASON_NAMED},
		{"debug file without, other CRC", "x.dbg", 7, 0, false, true, REASON_FILE_CHANGED},
		{"debug file without, no link", NULL, 7, 0, true, true, REASON_FILE_CHANGED},
		{"both without, CRC fits", "x.dbg", 0, 0, true, true, REASON_NAMED},
		{"both without, other CRC", "x.dbg", 0, 0, false, true, REASON_FILE_CHANGED},
		{"file without, CRC fits", "x.dbg", 0, 7, true, true, REASON_NAMED},
		{"belongs, but is stripped too", "x.dbg", 7, 7, true, false, REASON_NO_SYMBOL},
	};
	static uint8_t image[FAKE_ELF_BYTES], debug_image[FAKE_ELF_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_elf debug = {.symbols = symbols,
					 .symbols_cnt = rows[i].has_symbols,
					 .build_id = rows[i].debug_build_id};
		struct fake_elf file = {.build_id = rows[i].build_id, .debuglink = rows[i].link};
		enum model_reason reason;
		struct elf_place place;
		struct elf_table *t;
		int fd;

		fake_elf(&debug, debug_image);
		file.debuglink_crc = (uint32_t)crc32(0, debug_image, sizeof(debug_image));
		file.debuglink_crc ^= !rows[i].crc_fits;
		fake_elf(&file, image);
		t = load(image, sizeof(image), &reason);
		cr_assert_eq(reason, REASON_NAMED, "%s", rows[i].name);
		fd = fake_fd(debug_image, sizeof(debug_image));
		reason = elf_add_debug(t, fd);
		close(fd);
		cr_expect_eq(reason, rows[i].reason, "%s: %d", rows[i].name, reason);
		cr_expect_eq(t->has_symtab, !reason, "%s", rows[i].name);
		cr_assert(elf_find(t, 0x1080, &place), "%s", rows[i].name);
		cr_expect_eq(place.name != NULL, !reason, "%s", rows[i].name);
		elf_free(t);
	}
}

/* A stripped file with these bytes as its .gnu_debugdata. */
static int with_debugdata(const void *bytes, size_t len, size_t section_bytes)
{
	struct fake_elf file = {.build_id = 7, .debugdata_bytes = section_bytes};
	static uint8_t image[FAKE_ELF_BYTES];
	int fd;

	fake_elf(&file, image);
	fd = fake_fd(image, sizeof(image));
	cr_assert_eq(pwrite(fd, bytes, len, FAKE_ELF_BYTES), (ssize_t)len);
	return fd;
}

static size_t pack(const void *bytes, size_t len, uint32_t preset, uint8_t *packed, size_t cap)
{
	size_t packed_len = 0;

	cr_assert_eq(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, bytes, len, packed,
					     &packed_len, cap),
		     LZMA_OK);
	return packed_len;
}

/* Keeps the file open, as the job does. */
static struct elf_table *load_packed(int fd, enum model_reason *ret_reason)
{
	int scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	struct elf_table *table;
	struct elf_identity identity;

	cr_assert_eq(elf_identify(fd, &identity), REASON_NAMED);
	cr_assert_eq(elf_load(fd, &identity, &table), REASON_NAMED);
	*ret_reason = elf_add_debugdata(table, fd, scratch_fd);
	close(scratch_fd);
	return table;
}

Test(elf, symbols_packed_into_the_file_are_added)
{
	static const uint32_t presets[] = {0, 6, 9};
	struct fake_elf inner = {.symbols = symbols, .symbols_cnt = 2};
	static uint8_t image[FAKE_ELF_BYTES], packed[FAKE_ELF_BYTES];
	struct elf_place place;

	fake_elf(&inner, image);
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		size_t len = pack(image, sizeof(image), presets[i], packed, sizeof(packed));
		int fd = with_debugdata(packed, len, len);
		enum model_reason reason;
		struct elf_table *t = load_packed(fd, &reason);

		cr_expect_eq(reason, REASON_NAMED, "preset %u: %d", presets[i], reason);
		cr_expect(!t->has_symtab, "a full copy of the file knows more");
		cr_assert(elf_find(t, 0x1045, &place));
		cr_expect_str_eq(place.name, "inner_label");
		elf_free(t);
		close(fd);
	}
}

Test(elf, packed_symbols_that_are_damaged_give_a_reason)
{
	struct fake_elf inner = {.symbols = symbols, .symbols_cnt = 2};
	static uint8_t image[FAKE_ELF_BYTES], packed[FAKE_ELF_BYTES], broken[FAKE_ELF_BYTES];
	size_t len, text_len;
	enum model_reason reason;

	fake_elf(&inner, image);
	len = pack(image, sizeof(image), 6, packed, sizeof(packed));
	for (size_t cut = 0; cut < len; cut++) {
		int fd = with_debugdata(packed, cut, cut);
		struct elf_table *t = load_packed(fd, &reason);

		cr_expect_eq(reason, cut ? REASON_FILE_MALFORMED : REASON_NO_SYMBOL, "%zu: %d", cut,
			     reason);
		elf_free(t);
		close(fd);
	}
	for (size_t at = 0; at < len; at++) {
		int fd;

		memcpy(broken, packed, len);
		broken[at] ^= 0x40;
		fd = with_debugdata(broken, len, len);
		elf_free(load_packed(fd, &reason));
		cr_expect_neq(reason, REASON_NAMED, "byte %zu is not checked", at);
		close(fd);
	}
	text_len = pack("no program", 10, 6, broken, sizeof(broken));
	const struct {
		const char *name;
		const void *bytes;
		size_t len, section_bytes;
		enum model_reason reason;
	} rows[] = {
		{"not xz", "ELF", 3, 3, REASON_FILE_MALFORMED},
		{"xz of a text", broken, text_len, text_len, REASON_FILE_MALFORMED},
		{"the section reaches beyond the file", packed, len, len + 9, REASON_NAMED},
		{"a section of 1 GiB", packed, len, 1 << 30, REASON_LIMIT},
		{"a section of 2^63", packed, len, 1ull << 63, REASON_LIMIT},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd = with_debugdata(rows[i].bytes, rows[i].len, rows[i].section_bytes);

		elf_free(load_packed(fd, &reason));
		cr_expect_eq(reason, rows[i].reason, "%s: %d", rows[i].name, reason);
		close(fd);
	}
}

Test(elf, a_bomb_of_packed_symbols_is_stopped)
{
	enum { BOMB_BYTES = 256 << 20 };
	uint8_t *zeros = calloc(1, BOMB_BYTES), *packed = malloc(1 << 20);
	enum model_reason reason;
	struct elf_table *t;
	clock_t start;
	size_t len;
	int fd;

	cr_assert(zeros && packed);
	len = pack(zeros, BOMB_BYTES, 0, packed, 1 << 20);
	fd = with_debugdata(packed, len, len);
	start = clock();
	t = load_packed(fd, &reason);
	cr_expect_eq(reason, REASON_LIMIT, "%d", reason);
	cr_expect_lt(clock() - start, 2 * CLOCKS_PER_SEC);
	cr_expect_lt(elf_memory_bytes(t), 1 << 20);
	elf_free(t);
	close(fd);
	free(zeros);
	free(packed);
}

Test(elf, damaged_files_are_refused_or_give_less)
{
	struct fake_elf elf = {.symbols = symbols,
			       .symbols_cnt = ARRAY_SIZE(symbols),
			       .functions = functions,
			       .functions_cnt = ARRAY_SIZE(functions),
			       .build_id = 1};
	static uint8_t good[FAKE_ELF_BYTES], image[FAKE_ELF_BYTES];
	const size_t sh = 0x3c00;
	const struct {
		const char *name;
		size_t offset, len;
		uint64_t value;
		enum model_reason reason;
	} rows[] = {
		{"magic", 0, 1, 0, REASON_FILE_MALFORMED},
		{"class", EI_CLASS, 1, 9, REASON_FILE_MALFORMED},
		{"byte order", EI_DATA, 1, ELFDATA2MSB, REASON_FILE_MALFORMED},
		{"object file", offsetof(Elf64_Ehdr, e_type), 2, ET_REL, REASON_FILE_MALFORMED},
		{"sections elsewhere", offsetof(Elf64_Ehdr, e_shoff), 8, 1ull << 62, REASON_NAMED},
		{"count of sections in a section of 2^60", offsetof(Elf64_Ehdr, e_shnum), 2, 0,
		 REASON_NAMED},
		{"program headers elsewhere", offsetof(Elf64_Ehdr, e_phoff), 8, 1ull << 62,
		 REASON_NAMED},
		{"2^63 symbols", sh + 64 + offsetof(Elf64_Shdr, sh_size), 8, 1ull << 63,
		 REASON_LIMIT},
		{"symbols beyond the file", sh + 64 + offsetof(Elf64_Shdr, sh_offset), 8, 1 << 20,
		 REASON_NAMED},
		{"symbols of no size", sh + 64 + offsetof(Elf64_Shdr, sh_entsize), 8, 0,
		 REASON_NAMED},
		{"strings in section 99", sh + 64 + offsetof(Elf64_Shdr, sh_link), 4, 99,
		 REASON_NAMED},
		{"strings of 2^40", sh + 128 + offsetof(Elf64_Shdr, sh_size), 8, 1ull << 40,
		 REASON_LIMIT},
		{"unwind table with 2^32 rows", 0x308, 4, UINT32_MAX, REASON_NAMED},
		{"frame entries far away", 0x304, 4, 0x7fffffff, REASON_NAMED},
	};

	fake_elf(&elf, good);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum model_reason reason;
		struct elf_place place;
		struct elf_table *t;

		memcpy(image, good, sizeof(image));
		memcpy(image + rows[i].offset, &rows[i].value, rows[i].len);
		t = load(image, sizeof(image), &reason);
		if (rows[i].reason ==
		    REASON_NAMED) /* libelf may refuse as well: no crash, no lie */
			cr_expect(reason == REASON_NAMED || reason == REASON_FILE_MALFORMED,
				  "%s: %d", rows[i].name, reason);
		else
			cr_expect_eq(reason, rows[i].reason, "%s: %d", rows[i].name, reason);
		if (t)
			elf_find(t, 0x1200, &place);
		elf_free(t);
	}
}

Test(elf, a_file_cut_anywhere_does_no_harm)
{
	struct fake_elf elf = {.symbols = symbols,
			       .symbols_cnt = ARRAY_SIZE(symbols),
			       .functions = functions,
			       .functions_cnt = ARRAY_SIZE(functions),
			       .build_id = 1};
	static uint8_t image[FAKE_ELF_BYTES];
	enum model_reason reason;

	fake_elf(&elf, image);
	for (size_t len = 0; len < sizeof(image); len += 61)
		elf_free(load(image, len, &reason));
	cr_assert_null(load(image, 0, &reason));
	cr_assert_eq(reason, REASON_FILE_MALFORMED);
}

static struct elf_table *load_fd(int fd)
{
	struct elf_table *table = NULL;
	struct elf_identity identity;

	cr_assert_eq(elf_identify(fd, &identity), REASON_NAMED);
	cr_assert_eq(elf_load(fd, &identity, &table), REASON_NAMED);
	close(fd);
	return table;
}

/* Section headers of fake_elf(). */
static void patch(int fd, unsigned section, size_t field, uint64_t value)
{
	cr_assert_eq(pwrite(fd, &value, 8, (off_t)(0x3c00 + section * sizeof(Elf64_Shdr) + field)),
		     8);
}

Test(elf, section_names_of_a_gigabyte_are_not_read)
{
	struct fake_elf elf = {.debuglink = "far.debug", .build_id = 1};
	static uint8_t image[FAKE_ELF_BYTES];
	struct elf_table *t;
	int fd;

	fake_elf(&elf, image);
	t = load_fd(fake_fd(image, sizeof(image)));
	cr_assert_str_eq(t->debuglink, "far.debug");
	elf_free(t);
	fd = fake_fd(image, sizeof(image));
	cr_assert_eq(ftruncate(fd, 1 << 30), 0);
	patch(fd, 5, offsetof(Elf64_Shdr, sh_size), (1 << 30) - FAKE_ELF_BYTES);
	t = load_fd(fd);
	cr_assert_str_empty(t->debuglink);
	elf_free(t);
}

Test(elf, symbols_that_share_one_endless_name_cost_little)
{
	enum { SYMBOLS = 4000, NAME_BYTES = 64 << 20 };
	struct fake_elf elf = {.symbols = symbols, .symbols_cnt = 1, .build_id = 1};
	static uint8_t image[FAKE_ELF_BYTES];
	Elf64_Sym *table = calloc(SYMBOLS, sizeof(*table));
	char *name = malloc(NAME_BYTES);
	clock_t start;
	int fd;

	cr_assert(table && name);
	memset(name, 'A', NAME_BYTES);
	for (size_t i = 1; i < SYMBOLS; i++)
		table[i] = (Elf64_Sym){.st_name = 1,
				       .st_info = GLOBAL_FUNC,
				       .st_shndx = 2, /* holds no code */
				       .st_value = 0x1000};
	fake_elf(&elf, image);
	fd = fake_fd(image, sizeof(image));
	cr_assert_eq(pwrite(fd, table, SYMBOLS * sizeof(*table), 0x10000),
		     (ssize_t)(SYMBOLS * sizeof(*table)));
	cr_assert_eq(pwrite(fd, name, NAME_BYTES, 0x100000), NAME_BYTES);
	patch(fd, 1, offsetof(Elf64_Shdr, sh_offset), 0x10000);
	patch(fd, 1, offsetof(Elf64_Shdr, sh_size), SYMBOLS * sizeof(*table));
	patch(fd, 2, offsetof(Elf64_Shdr, sh_offset), 0x100000);
	patch(fd, 2, offsetof(Elf64_Shdr, sh_size), NAME_BYTES);
	start = clock();
	elf_free(load_fd(fd));
	cr_expect_lt(clock() - start, 2 * CLOCKS_PER_SEC);
	free(table);
	free(name);
}

enum { SYMBOLS_AT = 0x10000, STRINGS_AT = 0x200000 };

/* fake_elf() with these symbols and strings instead of its own. */
static int with_symbols(const Elf64_Sym *rows, size_t cnt, const char *strings, size_t len)
{
	struct fake_elf elf = {.symbols = symbols, .symbols_cnt = 1, .build_id = 1};
	static uint8_t image[FAKE_ELF_BYTES];
	ssize_t bytes = (ssize_t)(cnt * sizeof(*rows));
	int fd;

	fake_elf(&elf, image);
	fd = fake_fd(image, sizeof(image));
	cr_assert_eq(pwrite(fd, rows, (size_t)bytes, SYMBOLS_AT), bytes);
	cr_assert_eq(pwrite(fd, strings, len, STRINGS_AT), (ssize_t)len);
	patch(fd, 1, offsetof(Elf64_Shdr, sh_offset), SYMBOLS_AT);
	patch(fd, 1, offsetof(Elf64_Shdr, sh_size), (uint64_t)bytes);
	patch(fd, 2, offsetof(Elf64_Shdr, sh_offset), STRINGS_AT);
	patch(fd, 2, offsetof(Elf64_Shdr, sh_size), len);
	return fd;
}

Test(elf, names_are_kept_once_as_the_linker_wrote_them)
{
	static char strings[8192] = "\0put_long\0fputs@@V1\0@odd@V2";
	static const struct {
		const char *name;
		uint32_t at;
		size_t len;
		const char *text; /* NULL = only the length is looked at */
	} rows[] = {
		{"whole", 1, 8, "put_long"},
		{"end of another", 5, 4, "long"},
		{"the same again", 1, 8, "put_long"},
		{"without its version", 10, 5, "fputs"},
		{"end of one with a version", 11, 4, "puts"},
		{"of a version", 17, 2, "V1"},
		{"begins with @", 20, 4, "@odd"},
		{"endless", 100, ELF_NAME_MAX, NULL},
		{"its end, short enough", 100 + 3000, 1000, NULL},
		{"end of that", 100 + 3500, 500, NULL},
	};
	Elf64_Sym table[ARRAY_SIZE(rows) + 1] = {0};
	struct elf_place place;
	struct elf_table *t;

	memset(strings + 100, 'A', 4000);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		table[i + 1] = (Elf64_Sym){.st_name = rows[i].at,
					   .st_info = GLOBAL_FUNC,
					   .st_shndx = 3,
					   .st_value = 0x1000 + 16 * i,
					   .st_size = 16};
	t = load_fd(with_symbols(table, ARRAY_SIZE(table), strings, sizeof(strings)));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert(elf_find(t, 0x1000 + 16 * i, &place) && place.name, "%s", rows[i].name);
		cr_expect_eq(strlen(place.name), rows[i].len, "%s: %s", rows[i].name, place.name);
		if (rows[i].text)
			cr_expect_str_eq(place.name, rows[i].text, "%s", rows[i].name);
	}
	/* put_long, fputs, V1, @odd, the endless one and its end. */
	cr_expect_eq(t->names_len, 9 + 6 + 3 + 5 + ELF_NAME_MAX + 1 + 1001, "%zu", t->names_len);
	elf_free(t);
}

/* Of 800 KB that share one huge name, in three ways: 550 MB once. */
Test(elf, what_is_kept_and_done_is_bounded_by_the_file)
{
	enum { SYMBOLS = 32700, STRINGS = 48 << 10 };
	static const struct {
		const char *name;
		uint32_t step;	/* of st_name */
		uint32_t apart; /* of addresses */
		size_t string_bytes;
	} rows[] = {
		{"one name", 0, 1, STRINGS},
		{"each the end of the one before", 1, 1, STRINGS},
		{"aliases of one address", 1, 0, STRINGS},
		{"names as long as they may be", 1, 0, ELF_NAME_MAX},
	};
	Elf64_Sym *table = calloc(SYMBOLS, sizeof(*table));
	char *strings = malloc(STRINGS);

	cr_assert(table && strings);
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		const size_t file = STRINGS_AT + STRINGS;
		struct elf_table *t;

		memset(strings, 'A', STRINGS);
		for (size_t i = 0; i < STRINGS; i += rows[r].string_bytes)
			strings[i] = 0;
		for (size_t i = 1; i < SYMBOLS; i++)
			table[i] = (Elf64_Sym){.st_name = 1 + (uint32_t)i * rows[r].step,
					       .st_info = GLOBAL_FUNC,
					       .st_shndx = 3,
					       .st_value = 0x1000 + i / 16 * rows[r].apart,
					       .st_size = 1};
		t = load_fd(with_symbols(table, SYMBOLS, strings, STRINGS));
		cr_expect_leq(t->names_len, 2 * STRINGS, "%s: %zu", rows[r].name, t->names_len);
		cr_expect_leq(elf_memory_bytes(t), sizeof(*t) + 2 * STRINGS + SYMBOLS * 16,
			      "%s: %zu", rows[r].name, elf_memory_bytes(t));
		cr_expect_leq(t->work.done, ELF_WORK_PER_BYTE * file, "%s", rows[r].name);
		cr_expect_gt(t->work.done, SYMBOLS * sizeof(*table), "%s", rows[r].name);
		elf_free(t);
	}
	free(table);
	free(strings);
}
