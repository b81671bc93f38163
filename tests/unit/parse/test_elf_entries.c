/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_entries.h"
#include "parse/elf.h"
#include "parse/elf_entries.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define OBJECT	      ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)
#define FUNCTION      ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define CODE(i)	      (0x1000 + 0x40 * (uint64_t)(i)) /* of 0x30 bytes */
#define FUNCTIONS     14

static const uint64_t functions[FUNCTIONS][2] = {
	{CODE(0), 0x30},  {CODE(1), 0x30},  {CODE(2), 0x30},  {CODE(3), 0x30},	{CODE(4), 0x30},
	{CODE(5), 0x30},  {CODE(6), 0x30},  {CODE(7), 0x30},  {CODE(8), 0x30},	{CODE(9), 0x30},
	{CODE(10), 0x30}, {CODE(11), 0x30}, {CODE(12), 0x30}, {CODE(13), 0x30},
};
static uint8_t image[FAKE_ENTRIES_BYTES];

/* A runtime with no words yet. */
static struct fake_entries runtime(void)
{
	return (struct fake_entries){
		.elf = {.functions = functions, .functions_cnt = FUNCTIONS, .build_id = 1},
		.export = "g_dacTable",
		.symbol = {.st_info = OBJECT, .st_shndx = 5, .st_value = FAKE_ENTRIES_DATA},
	};
}

static struct elf_table *load_fd(int fd)
{
	struct elf_table *table = NULL;
	struct elf_identity identity;

	if (!elf_identify(fd, &identity) && elf_load(fd, &identity, &table))
		table = NULL;
	close(fd);
	return table;
}

static struct elf_table *load(const struct fake_entries *entries)
{
	struct elf_table *t;

	fake_entries(entries, image);
	t = load_fd(fake_fd(image, sizeof(image)));
	cr_assert(t);
	return t;
}

static void expect(const struct elf_table *t, const char *what, unsigned function, const char *name)
{
	struct elf_place place;

	cr_assert(elf_find(t, CODE(function) + 0x2f, &place), "%s", what);
	cr_expect_eq(place.function, CODE(function), "%s, %u: %lx", what, function, place.function);
	cr_expect(place.in_function, "%s, %u", what, function);
	cr_expect_eq(!!place.name, !!name, "%s, %u: %s", what, function,
		     place.name ? place.name : "no name");
	if (name && place.name)
		cr_expect_str_eq(place.name, name, "%s, %u: %s", what, function, place.name);
	cr_assert(elf_find(t, CODE(function) + 0x30, &place));
	cr_expect_null(place.name, "%s, behind %u: %s", what, function, place.name);
}

/* Rows of {name, code}: Native_0, Native_1, ... */
static size_t put_entries(struct fake_word *words, size_t rows)
{
	static char names[FUNCTIONS][16];

	for (size_t i = 0; i < rows; i++) {
		snprintf(names[i], sizeof(names[i]), "Native_%zu", i);
		words[2 * i] = (struct fake_word){.text = names[i]};
		words[2 * i + 1] = (struct fake_word){.address = CODE(i)};
	}
	return 2 * rows;
}

Test(elf_entries, functions_of_a_table_have_its_names)
{
	static const struct {
		const char *name;
		const char *export;
		uint8_t info;
		uint16_t machine;
		bool is_packed, has_symtab;
		size_t rows;
		bool are_named;
	} rows[] = {
		{"library", "g_dacTable", OBJECT, 0, false, false, 8, true},
		{"program", "DotNetRuntimeInfo", OBJECT, 0, false, false, 8, true},
		{"with a descriptor", "DotNetRuntimeContractDescriptor", OBJECT, 0, false, false, 8,
		 true},
		{"packed relocations", "g_dacTable", OBJECT, 0, true, false, 14, true},
		{"arm", "g_dacTable", OBJECT, EM_AARCH64, false, false, 8, true},
		{"arm, packed", "g_dacTable", OBJECT, EM_AARCH64, true, false, 8, true},
		{"a machine without .NET", "g_dacTable", OBJECT, EM_SPARCV9, false, false, 8,
		 false},
		{"no runtime", "g_dacTables", OBJECT, 0, false, false, 8, false},
		{"a function of that name", "g_dacTable", FUNCTION, 0, false, false, 8, false},
		{"too few rows for a table", "g_dacTable", OBJECT, 0, false, false, 7, false},
		{"a symbol table says it all", "g_dacTable", OBJECT, 0, false, true, 8, false},
	};
	static const struct fake_symbol other = {"other", CODE(20), 0x30, FUNCTION};
	struct fake_word words[2 * FUNCTIONS];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_entries entries = runtime();
		struct elf_table *t;

		entries.words = words;
		entries.words_cnt = put_entries(words, rows[i].rows);
		entries.export = rows[i].export;
		entries.symbol.st_info = rows[i].info;
		entries.machine = rows[i].machine;
		entries.is_packed = rows[i].is_packed;
		entries.elf.symbols = &other;
		entries.elf.symbols_cnt = rows[i].has_symtab;
		t = load(&entries);
		cr_expect_eq(t->has_symtab, rows[i].has_symtab, "%s", rows[i].name);
		expect(t, rows[i].name, 0, rows[i].are_named ? "Native_0" : NULL);
		expect(t, rows[i].name, 6, rows[i].are_named ? "Native_6" : NULL);
		expect(t, rows[i].name, FUNCTIONS - 1,
		       rows[i].are_named && rows[i].rows == FUNCTIONS ? "Native_13" : NULL);
		elf_free(t);
	}
}

Test(elf_entries, what_is_no_name_or_no_function_gives_none)
{
	static char longest[ELF_ENTRY_NAME_MAX + 1], longer[ELF_ENTRY_NAME_MAX + 2];
	static const struct {
		const char *name;
		struct fake_word text, code; /* of the row before the last eight */
		const char *wanted;	     /* of function 0 */
	} rows[] = {
		{"a name", {.text = "Native"}, {.address = CODE(0)}, "Native"},
		{"the longest", {.text = longest}, {.address = CODE(0)}, longest},
		{"too long", {.text = longer}, {.address = CODE(0)}, NULL},
		{"too short", {.text = "N"}, {.address = CODE(0)}, NULL},
		{"begins with a digit", {.text = "1st"}, {.address = CODE(0)}, NULL},
		{"a sentence", {.text = "is not"}, {.address = CODE(0)}, NULL},
		{"an escape", {.text = "\x1b[31m"}, {.address = CODE(0)}, NULL},
		{"name in no section", {.address = 1ull << 40}, {.address = CODE(0)}, NULL},
		{"name at the end of all", {.address = UINT64_MAX}, {.address = CODE(0)}, NULL},
		{"name in code", {.address = CODE(3)}, {.address = CODE(0)}, NULL},
		{"a number for a name", {.number = 7}, {.address = CODE(0)}, NULL},
		{"inside of a function", {.text = "Native"}, {.address = CODE(0) + 1}, NULL},
		{"no function known there", {.text = "Native"}, {.address = CODE(30)}, NULL},
		{"code is data", {.text = "Native"}, {.address = FAKE_ENTRIES_DATA}, NULL},
		{"a number for code", {.text = "Native"}, {.number = CODE(0)}, NULL},
	};
	struct fake_word words[2 * 9];

	memset(longest, 'a', sizeof(longest) - 1);
	memset(longer, 'a', sizeof(longer) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_entries entries = runtime();
		struct elf_table *t;

		entries.words = words;
		entries.words_cnt = put_entries(words, 9);
		words[0] = rows[i].text;
		words[1] = rows[i].code;
		t = load(&entries);
		expect(t, rows[i].name, 0, rows[i].wanted);
		expect(t, rows[i].name, 1, "Native_1");
		expect(t, rows[i].name, 8, "Native_8");
		elf_free(t);
	}
}

/* Eight classes Ns.Class_0, ... at words[0], each with the functions at words[24]. */
static void put_classes(struct fake_word *words)
{
	static char names[8][16];

	for (size_t i = 0; i < 8; i++) {
		snprintf(names[i], sizeof(names[i]), "Class_%zu", i);
		words[3 * i] = (struct fake_word){.text = names[i]};
		words[3 * i + 1] = (struct fake_word){.text = "Some.Ns"};
		words[3 * i + 2] = (struct fake_word){.address = FAKE_ENTRIES_DATA + 24 * 8};
	}
}

static const uint64_t usual = 0xffffffffff000000; /* no flags, number -1 */

Test(elf_entries, managed_methods_are_called_by_their_class)
{
	struct fake_word words[24 + 20] = {0}, *functions = words + 24;
	struct fake_entries entries = runtime();
	struct elf_table *t;

	put_classes(words);
	/* The last class has what lies behind those of all others. */
	words[23].address = FAKE_ENTRIES_DATA + (24 + 11) * 8;
	functions[0].number = usual;
	functions[1].address = CODE(0);
	functions[2].text = "Copy";
	functions[3].number = 2; /* with a signature */
	functions[4].address = CODE(1);
	functions[5].text = ".ctor";
	functions[6].address = FAKE_ENTRIES_DATA;
	functions[7].number = 5 << 24; /* made at run time */
	functions[9].text = "Dynamic";
	functions[10].number = 1;
	functions[11].number = 4; /* is not asked for */
	functions[12].address = CODE(2);
	functions[13].text = "get_Count";
	functions[14].number = 8; /* what is that? */
	functions[15].address = CODE(3);
	functions[16].text = "Unknown";
	entries.words = words;
	entries.words_cnt = ARRAY_SIZE(words);
	for (int packed = 0; packed < 2; packed++) {
		entries.is_packed = packed;
		t = load(&entries);
		expect(t, "method", 0, "Some.Ns.Class_0.Copy");
		expect(t, "with a signature", 1, "Some.Ns.Class_0..ctor");
		expect(t, "as a property reads", 2, "Some.Ns.Class_7.Count.get");
		expect(t, "flags that are not known end it", 3, NULL);
		elf_free(t);
	}
}

Test(elf_entries, functions_that_never_end_are_read_once)
{
	struct fake_word words[24 + 150] = {0};
	struct fake_entries entries = runtime();
	struct elf_table *t;

	put_classes(words);
	for (size_t i = 24; i + 2 < ARRAY_SIZE(words); i += 3) {
		words[i + 1].address = CODE(0);
		words[i + 2].text = "Again";
	}
	entries.words = words;
	entries.words_cnt = ARRAY_SIZE(words);
	t = load(&entries);
	expect(t, "endless", 0, "Some.Ns.Class_0.Again");
	cr_expect_leq(t->work.done, 200000, "%lu", t->work.done);
	elf_free(t);
}

Test(elf_entries, any_symbol_is_better)
{
	static const struct fake_symbol symbols[] = {
		{"__a_longer_local_name", CODE(2), 0x30, ELF64_ST_INFO(STB_LOCAL, STT_FUNC)},
	};
	struct fake_elf debug = {.symbols = symbols, .symbols_cnt = 1, .build_id = 1};
	static uint8_t debug_image[FAKE_ELF_BYTES];
	struct fake_entries entries = runtime();
	struct fake_word words[2 * 8];
	struct elf_table *t;
	int fd;

	entries.words = words;
	entries.words_cnt = put_entries(words, 8);
	t = load(&entries);
	expect(t, "before", 2, "Native_2");
	fake_elf(&debug, debug_image);
	fd = fake_fd(debug_image, sizeof(debug_image));
	cr_assert_eq(elf_add_debug(t, fd), REASON_NAMED);
	close(fd);
	expect(t, "its debug file", 2, "__a_longer_local_name");
	expect(t, "what that does not know", 3, "Native_3");
	elf_free(t);
}

Test(elf_entries, a_file_damaged_anywhere_does_no_harm)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0xff};
	struct fake_word words[24 + 20] = {0};
	struct fake_entries entries = runtime();

	put_classes(words);
	put_entries(words + 24, 9);
	entries.words = words;
	entries.words_cnt = ARRAY_SIZE(words);
	for (int packed = 0; packed < 2; packed++) {
		entries.is_packed = packed;
		fake_entries(&entries, image);
		/* Sections, data and relocations; each byte with one of the values. */
		for (size_t at = FAKE_ENTRIES_SECTIONS; at < FAKE_ENTRIES_RELOCS + 0x400; at++) {
			uint8_t was = image[at];

			if (at >= FAKE_ENTRIES_SECTIONS + 0x240 && at < FAKE_ENTRIES_DATA)
				continue;
			image[at] = values[at % ARRAY_SIZE(values)];
			if (image[at] != was)
				elf_free(load_fd(fake_fd(image, sizeof(image))));
			image[at] = was;
		}
	}
}

static void patch(int fd, unsigned section, size_t field, uint64_t value)
{
	off_t at = (off_t)(FAKE_ENTRIES_SECTIONS + section * sizeof(Elf64_Shdr) + field);

	cr_assert_eq(pwrite(fd, &value, 8, at), 8);
}

/* Of 2 MB: bitmaps for each word of them, which all point to one name, or to that and one function
 * in turn. */
Test(elf_entries, what_is_kept_and_done_is_bounded_by_the_file)
{
	enum {
		DATA_AT = 0x10000,
		DATA_BYTES = 2 << 20,
		WORDS = DATA_BYTES / 8,
		BITMAPS_BYTES = 8 + WORDS / 63 * 8,
	};
	uint64_t *words = malloc(DATA_BYTES), *bitmaps = malloc(BITMAPS_BYTES);
	static char name[ELF_ENTRY_NAME_MAX + 1];

	cr_assert(words && bitmaps);
	memset(name, 'a', sizeof(name) - 1);
	for (int turns = 0; turns < 2; turns++) {
		struct fake_word text = {.text = name};
		struct fake_entries entries = runtime();
		struct elf_table *t;
		clock_t start;
		int fd;

		entries.words = &text;
		entries.words_cnt = 1;
		entries.is_packed = true;
		for (size_t i = 0; i < WORDS; i++)
			words[i] = turns && i % 2 ? CODE(0) : FAKE_ENTRIES_TEXT;
		bitmaps[0] = DATA_AT;
		for (size_t i = 1; i < BITMAPS_BYTES / 8; i++)
			bitmaps[i] = UINT64_MAX;
		fake_entries(&entries, image);
		fd = fake_fd(image, sizeof(image));
		cr_assert_eq(pwrite(fd, words, DATA_BYTES, DATA_AT), DATA_BYTES);
		cr_assert_eq(pwrite(fd, bitmaps, BITMAPS_BYTES, DATA_AT + DATA_BYTES),
			     (ssize_t)BITMAPS_BYTES);
		patch(fd, 5, offsetof(Elf64_Shdr, sh_addr), DATA_AT);
		patch(fd, 5, offsetof(Elf64_Shdr, sh_offset), DATA_AT);
		patch(fd, 5, offsetof(Elf64_Shdr, sh_size), DATA_BYTES);
		patch(fd, 6, offsetof(Elf64_Shdr, sh_offset), DATA_AT + DATA_BYTES);
		patch(fd, 6, offsetof(Elf64_Shdr, sh_size), BITMAPS_BYTES);
		start = clock();
		t = load_fd(fd);
		cr_expect_lt(clock() - start, 2 * CLOCKS_PER_SEC);
		cr_assert(t);
		cr_expect_leq(t->names_len, DATA_BYTES, "%zu", t->names_len);
		expect(t, "bounded", 0, turns ? name : NULL);
		elf_free(t);
	}
	free(words);
	free(bitmaps);
}
