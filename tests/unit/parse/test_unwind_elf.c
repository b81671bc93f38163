/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <elf.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "names_support.h"
#include "parse/unwind_elf.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define FILE_BYTES  0x5000u
#define CODE_AT	    0x1000u /* offsets; loaded 0x10000 above */
#define FRAMES_AT   0x2000u
#define HDR_AT	    0x2800u
#define DEBUG_AT    0x3000u
#define SECTIONS_AT 0x4000u
#define NAMES_AT    0x4800u
#define LOADED	    0x10000u

/* What a file has. */
struct made {
	bool eh_frame, debug_frame, packed, no_sections, header;
	uint16_t machine; /* 0 = x86-64 */
	const uint8_t *code;
	size_t code_len, code_at; /* from the segment on */
};

static size_t put(uint8_t *to, size_t at, uint64_t value, size_t bytes)
{
	memcpy(to + at, &value, bytes);
	return at + bytes;
}

/* A CIE, an FDE of [start, start + size) whose CFA is rsp + 8 * words, and the end. */
static size_t put_frames(uint8_t *to, bool is_debug, uint64_t vaddr, uint64_t start, uint32_t size,
			 uint8_t words)
{
	static const uint8_t eh[] = {1,	   'z',	 'R', 0, 1,	    0x78, 16, 1,
				     0x1b, 0x0c, 7,   8, 0x80 | 16, 1,	  0,  0};
	static const uint8_t debug[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x80 | 16, 1, 0, 0};
	const uint8_t program[] = {0x0e, (uint8_t)(8 * words)};
	const size_t cie_len = is_debug ? sizeof(debug) : sizeof(eh);
	size_t at = put(to, 0, 4 + cie_len, 4);

	at = put(to, at, is_debug ? UINT32_MAX : 0, 4);
	memcpy(to + at, is_debug ? debug : eh, cie_len);
	at += cie_len;
	if (is_debug) {
		at = put(to, at, 4 + 16 + sizeof(program), 4);
		at = put(to, at, 0, 4);
		at = put(to, at, start, 8);
		at = put(to, at, size, 8);
	} else {
		at = put(to, at, 13 + sizeof(program), 4);
		at = put(to, at, at, 4);
		at = put(to, at, start - (vaddr + at), 4);
		at = put(to, at, size, 4);
		at = put(to, at, 0, 1);
	}
	memcpy(to + at, program, sizeof(program));
	at += sizeof(program);
	return is_debug ? at : put(to, at, 0, 4);
}

static void make(const struct made *made, uint8_t *file)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
	Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				    EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = made->machine ? made->machine : EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(e),
			.e_shoff = made->no_sections ? 0 : SECTIONS_AT,
			.e_ehsize = sizeof(e),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = made->no_sections ? 0 : 4,
			.e_shstrndx = made->no_sections ? 0 : 3};
	Elf64_Phdr ph[3] = {
		{PT_LOAD, PF_R | PF_X, CODE_AT, LOADED + CODE_AT, 0, 0x1000, 0x1000, 0x1000},
		{PT_LOAD, PF_R, FRAMES_AT, LOADED + FRAMES_AT, 0, 0x1000, 0x1000, 0x1000}};
	Elf64_Shdr sh[4] = {{0}};
	size_t len;

	memset(file, 0, FILE_BYTES);
	if (made->code)
		memcpy(file + CODE_AT + made->code_at, made->code, made->code_len);
	if (made->header)
		ph[2] = (Elf64_Phdr){PT_GNU_EH_FRAME, PF_R, HDR_AT, LOADED + HDR_AT, 0, 12, 12, 4};
	if (made->eh_frame) {
		len = put_frames(file + FRAMES_AT, false, LOADED + FRAMES_AT,
				 LOADED + CODE_AT + 0x100, 0x80, 3);
		sh[1] = (Elf64_Shdr){
			1, SHT_PROGBITS, SHF_ALLOC, LOADED + FRAMES_AT, FRAMES_AT, len, 0, 0, 8, 0};
		/* Behind its end lies what looks like one more entry of it. */
		memcpy(file + FRAMES_AT + len, file + FRAMES_AT, len);
		put(file, FRAMES_AT + len + 32, CODE_AT + 0x400 - FRAMES_AT - len - 32, 4);
		put(file, HDR_AT, 0x3b031b01, 4);
		put(file, HDR_AT + 4, FRAMES_AT - HDR_AT - 4, 4);
	}
	if (made->debug_frame) {
		uint8_t plain[256] = {0};
		uLongf packed_len = 512;

		len = put_frames(plain, true, 0, LOADED + CODE_AT + 0x200, 0x80, 5);
		sh[2] = (Elf64_Shdr){11, SHT_PROGBITS, 0, 0, DEBUG_AT, len, 0, 0, 8, 0};
		memcpy(file + DEBUG_AT, plain, len);
		if (made->packed) {
			const Elf64_Chdr packed = {ELFCOMPRESS_ZLIB, 0, len, 8};

			memcpy(file + DEBUG_AT, &packed, sizeof(packed));
			cr_assert_eq(
				compress(file + DEBUG_AT + sizeof(packed), &packed_len, plain, len),
				Z_OK);
			sh[2].sh_flags = SHF_COMPRESSED;
			sh[2].sh_size = sizeof(packed) + packed_len;
		}
	}
	sh[3] = (Elf64_Shdr){24, SHT_STRTAB, 0, 0, NAMES_AT, sizeof(names), 0, 0, 1, 0};
	memcpy(file, &e, sizeof(e));
	memcpy(file + sizeof(e), ph, sizeof(ph));
	if (!made->no_sections) {
		memcpy(file + SECTIONS_AT, sh, sizeof(sh));
		memcpy(file + NAMES_AT, names, sizeof(names));
	}
}

static void expect(const char *name, const struct cfi_rows *rows, size_t code, uint8_t cfa,
		   int16_t offset)
{
	const struct cfi_row *row = cfi_at(rows, LOADED + CODE_AT + code);

	cr_expect_eq(row ? row->row.cfa : UNWIND_UNKNOWN, cfa, "%s, +0x%zx: %u", name, code,
		     row ? row->row.cfa : UNWIND_UNKNOWN);
	if (row && cfa)
		cr_expect_eq(row->row.cfa_offset, offset, "%s, +0x%zx: %d", name, code,
			     row->row.cfa_offset);
}

static enum model_reason compile(const struct made *made, struct cfi_rows *rows,
				 struct unwind_layout *layout)
{
	static uint8_t file[FILE_BYTES];
	enum model_reason reason;
	int fd;

	make(made, file);
	fd = fake_fd(file, sizeof(file));
	reason = unwind_elf_compile(fd, rows, layout);
	close(fd);
	return reason;
}

Test(unwind_elf, rows_come_from_what_there_is)
{
	static const struct {
		const char *name;
		struct made made;
		int16_t eh, debug; /* CFA offset of the function of either; 0 = no row */
	} cases[] = {
		{"nothing", {0}, 0, 0},
		{".eh_frame", {.eh_frame = true}, 3, 0},
		{".debug_frame where it is alone", {.debug_frame = true}, 0, 5},
		{"compressed", {.debug_frame = true, .packed = true}, 0, 5},
		{"the first of both", {.eh_frame = true, .debug_frame = true}, 3, 0},
		{"no sections: by its header",
		 {.eh_frame = true, .header = true, .no_sections = true},
		 3,
		 0},
		{"no sections, no header", {.eh_frame = true, .no_sections = true}, 0, 0},
		{"a header that points to nothing", {.header = true, .no_sections = true}, 0, 0},
		{"another architecture", {.eh_frame = true, .machine = EM_AARCH64}, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwind_layout layout = {0};
		struct cfi_rows rows = {0};

		cr_expect_eq(compile(&cases[i].made, &rows, &layout), REASON_NAMED, "%s",
			     cases[i].name);
		expect(cases[i].name, &rows, 0x100, cases[i].eh ? UNWIND_SP : 0, cases[i].eh);
		expect(cases[i].name, &rows, 0x200, cases[i].debug ? UNWIND_SP : 0, cases[i].debug);
		expect(cases[i].name, &rows, 0x400, UNWIND_UNKNOWN, 0);
		cr_expect_eq(layout.segments_cnt, 1, "%s", cases[i].name);
		cr_expect_eq(layout.segments[0].vaddr, LOADED + CODE_AT, "%s", cases[i].name);
		cfi_clear(&rows);
	}
}

/* musl's has no entry, and Go's has one that takes it for a function. */
Test(unwind_elf, a_restorer_of_signals_is_known_by_its_code)
{
	static const uint8_t long_form[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t short_form[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t another_call[] = {0xb8, 0x0e, 0, 0, 0, 0x0f, 0x05};
	static const struct {
		const char *name;
		const uint8_t *code;
		size_t len, at;
		uint8_t cfa, around;
	} cases[] = {
		{"mov $15,%rax", long_form, sizeof(long_form), 0x400, UNWIND_SIGNAL, 0},
		{"mov $15,%eax", short_form, sizeof(short_form), 0x400, UNWIND_SIGNAL, 0},
		{"another system call", another_call, sizeof(another_call), 0x400, 0, 0},
		{"within a function", long_form, sizeof(long_form), 0x120, UNWIND_SIGNAL,
		 UNWIND_SP},
		{"the end of the code", short_form, sizeof(short_form), 0x1000 - 7, UNWIND_SIGNAL,
		 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct made made = {.eh_frame = true,
					  .code = cases[i].code,
					  .code_len = cases[i].len,
					  .code_at = cases[i].at};
		int16_t offset = cases[i].around ? 3 : 0;
		struct unwind_layout layout = {0};
		struct cfi_rows rows = {0};

		cr_expect_eq(compile(&made, &rows, &layout), REASON_NAMED);
		expect(cases[i].name, &rows, cases[i].at - 2, cases[i].around, offset);
		expect(cases[i].name, &rows, cases[i].at - 1, cases[i].cfa, CFI_SIGNAL_SP / 8);
		expect(cases[i].name, &rows, cases[i].at + cases[i].len - 1, cases[i].cfa,
		       CFI_SIGNAL_SP / 8);
		expect(cases[i].name, &rows, cases[i].at + cases[i].len, cases[i].around, offset);
		for (size_t k = 1; k < rows.cnt; k++)
			cr_expect_lt(rows.rows[k - 1].vaddr, rows.rows[k].vaddr, "%s: order",
				     cases[i].name);
		cfi_clear(&rows);
	}
}

/* Entries of what is no code would make pages of nothing. */
Test(unwind_elf, entries_of_what_is_no_code_are_left_out)
{
	static uint8_t file[FILE_BYTES];
	struct unwind_layout layout = {0};
	struct cfi_rows rows = {0};
	int fd;

	make(&(struct made){.eh_frame = true}, file);
	put(file, FRAMES_AT + 32, 0x40000000, 4);
	fd = fake_fd(file, sizeof(file));
	cr_expect_eq(unwind_elf_compile(fd, &rows, &layout), REASON_NAMED);
	cr_expect_eq(rows.cnt, 0);
	cfi_clear(&rows);
	close(fd);
}

Test(unwind_elf, what_is_no_elf_file_is_refused)
{
	struct unwind_layout layout = {0};
	struct cfi_rows rows = {0};
	int fd = fake_fd("MZ\220", 3);

	cr_expect_eq(unwind_elf_compile(fd, &rows, &layout), REASON_FILE_MALFORMED);
	close(fd);
}
