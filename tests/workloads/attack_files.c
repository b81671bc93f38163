/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes files that are made to keep whoever names their code busy. Each has code to be mapped and
 * called (attack.c); none is a program.
 *
 *   attack_files cie PATH       ELF, 24 MB: rows of .eh_frame_hdr alternate between two CIEs, one
 *                               of which is 16 MB without a NUL
 *   attack_files symbols PATH   ELF, 800 KB: names of 32,700 symbols are all ends of one text
 *   attack_files nested PATH    .dll, 32 MB: methods of the innermost of 33 nested types, whose
 *                               names are all ends of one text
 *   attack_files runtime PATH   the memory of a .NET runtime, 32 KB: a library that exports its
 *                               descriptor, and what it keeps of compiled code (fake_memory.h)
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attack.h"
#include "fake_memory.h"
#include "fake_names.h"

enum {
	CODE_BYTES = 0x1000,
	MIB = 1 << 20,
	CIE_BYTES = 16 * MIB,
	CIE_ROWS = 900000,
	SYMBOLS = 32700,
	SYMBOL_TEXT = 15000,
	HEAP_BYTES = 32 * MIB,
	TYPES = 33,
	STREAMS = 32, /* in the metadata, where their headers are */
};

/* A file that is filled from its beginning. */
struct image {
	uint8_t *bytes;
	size_t len, end;
};

static void put(struct image *f, uint64_t value, size_t len)
{
	if (f->end + len > f->len) {
		fprintf(stderr, "attack_files: %zu bytes are too few\n", f->len);
		exit(1);
	}
	fake_image_put(f->bytes, f->end, value, len);
	f->end += len;
}

static void put_bytes(struct image *f, const void *bytes, size_t len)
{
	memcpy(f->bytes + f->end, bytes, len);
	f->end += len;
}

static struct image image_new(size_t len)
{
	struct image f = {.bytes = calloc(1, len), .len = len};

	if (f.bytes)
		return f;
	perror("attack_files");
	exit(1);
}

static int write_file(const struct image *f, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	for (size_t at = 0; fd >= 0 && at < f->len;) {
		ssize_t n = write(fd, f->bytes + at, f->len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
		if (at == f->len)
			return close(fd);
	}
	perror(path);
	return -1;
}

/* --- ELF -------------------------------------------------------------------------------------- */

/* All of it is loaded, at address 0, and may be executed. */
static void put_elf(struct image *f, uint64_t header_at, uint64_t header_bytes)
{
	Elf64_Phdr phdrs[2] = {{.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_filesz = f->len,
				.p_memsz = f->len,
				.p_align = CODE_BYTES},
			       {.p_type = PT_GNU_EH_FRAME,
				.p_flags = PF_R,
				.p_offset = header_at,
				.p_vaddr = header_at,
				.p_filesz = header_bytes,
				.p_memsz = header_bytes}};
	Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = ATTACK_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(phdrs[0]),
		.e_phnum = header_bytes ? 2 : 1,
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	put_bytes(f, &ehdr, sizeof(ehdr));
	put_bytes(f, phdrs, sizeof(phdrs));
	f->end = ATTACK_ELF_CODE;
	put_bytes(f, attack_code, sizeof(attack_code));
	f->end = ATTACK_ELF_CODE + CODE_BYTES;
}

static struct image make_cie(void)
{
	struct image f = image_new(24 * MIB);
	size_t header = ATTACK_ELF_CODE + CODE_BYTES, header_bytes = 12 + 8 * (size_t)CIE_ROWS;
	size_t frames = header + header_bytes, entries = frames + CIE_BYTES + 32;

	put_elf(&f, header, header_bytes);
	put(&f, 0x3b031b01,
	    4); /* version 1; frames pcrel sdata4, count udata4, rows datarel sdata4 */
	put(&f, frames - f.end, 4);
	put(&f, CIE_ROWS, 4);
	for (uint32_t i = 0; i < CIE_ROWS; i++) {
		/* The code is the first row's. */
		put(&f, ATTACK_ELF_CODE - header + i, 4);
		put(&f, entries + i % 2 * 32 - header, 4);
	}
	put(&f, CIE_BYTES - 4, 4);
	put(&f, 0, 4);
	put(&f, 1, 1);
	memset(f.bytes + f.end, 'A', CIE_BYTES - 9);
	f.end = frames + CIE_BYTES;
	put(&f, 28, 4);
	put(&f, 0, 4);
	put_bytes(&f, "\1zR\0\1\x78\x10\1\x1b", 9);
	for (uint32_t i = 0; i < 2; i++) {
		f.end = entries + i * 32;
		put(&f, 28, 4);
		put(&f, f.end - (i ? frames + CIE_BYTES : frames), 4);
		put(&f, 0, 4);
		put(&f, 16, 8); /* bytes of code, in 4 bytes or in 8 */
	}
	return f;
}

static struct image make_symbols(void)
{
	struct image f = image_new(ATTACK_ELF_CODE + CODE_BYTES + SYMBOLS * sizeof(Elf64_Sym) +
				   SYMBOL_TEXT + 1 + 4 * sizeof(Elf64_Shdr));
	size_t symbols = ATTACK_ELF_CODE + CODE_BYTES,
	       strings = symbols + SYMBOLS * sizeof(Elf64_Sym);
	size_t sections = strings + SYMBOL_TEXT + 1;
	Elf64_Shdr rows[4] = {
		{0},
		{.sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		 .sh_addr = ATTACK_ELF_CODE,
		 .sh_offset = ATTACK_ELF_CODE,
		 .sh_size = CODE_BYTES},
		{.sh_type = SHT_SYMTAB,
		 .sh_offset = symbols,
		 .sh_size = SYMBOLS * sizeof(Elf64_Sym),
		 .sh_link = 3,
		 .sh_entsize = sizeof(Elf64_Sym)},
		{.sh_type = SHT_STRTAB, .sh_offset = strings, .sh_size = SYMBOL_TEXT + 1},
	};
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)f.bytes;

	put_elf(&f, 0, 0);
	ehdr->e_shoff = sections;
	ehdr->e_shnum = 4;
	for (uint32_t i = 0; i < SYMBOLS; i++) {
		Elf64_Sym sym = {
			.st_name = i ? 1 + i % (SYMBOL_TEXT / 2) : 0,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = i ? 1 : SHN_UNDEF,
			.st_value = ATTACK_ELF_CODE + i % (CODE_BYTES / 16) * 16,
			.st_size = 16,
		};

		put_bytes(&f, &sym, sizeof(sym));
	}
	memset(f.bytes + strings, 'A', SYMBOL_TEXT);
	f.bytes[strings] = '\0';
	f.end = sections;
	put_bytes(&f, rows, sizeof(rows));
	return f;
}

/* --- .dll ------------------------------------------------------------------------------------- */

/* Tables of the metadata with indices of four bytes into the heap of strings. */
static void put_tables(struct image *f)
{
	const uint64_t valid = 1ull << 0x00 | 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x29;

	put(f, 0, 4);
	put(f, 0x0002, 2);
	put(f, 1, 1); /* strings are many */
	put(f, 1, 1);
	put(f, valid, 8);
	put(f, 0, 8);
	put(f, 1, 4);
	put(f, TYPES, 4);
	put(f, 4, 4);
	put(f, TYPES - 1, 4);
	put(f, 0, 2); /* Module */
	put(f, 1, 4);
	put(f, 1, 2);
	put(f, 0, 4);
	for (uint32_t i = 0; i < TYPES; i++) { /* TypeDef */
		put(f, 0, 4);
		put(f, 1 + i, 4);
		put(f, 1, 4);
		put(f, 0, 2);
		put(f, 1, 2);
		put(f, 1, 2);
	}
	for (uint32_t i = 0; i < 4; i++) { /* MethodDef */
		put(f, 0, 8);
		put(f, 1 + i, 4);
		put(f, 1, 2);
		put(f, 1, 2);
	}
	for (uint32_t i = 2; i <= TYPES; i++) { /* NestedClass */
		put(f, i, 2);
		put(f, i - 1, 2);
	}
}

/* A stream of the metadata now lies there. */
static void move_stream(struct image *f, size_t header, size_t metadata, size_t at, size_t len)
{
	fake_image_put(f->bytes, header, at - metadata, 4);
	fake_image_put(f->bytes, header + 4, len, 4);
}

static struct image make_nested(void)
{
	struct image f = image_new(FAKE_NAMES_IMAGE + HEAP_BYTES + 4096);
	struct fake_names at;
	size_t tables = FAKE_NAMES_IMAGE, strings;

	fake_names(ATTACK_IMAGE_MACHINE, f.bytes, &at);
	for (uint32_t i = 0; i < ATTACK_IMAGE_FUNCTIONS; i++)
		memcpy(f.bytes + FAKE_IMAGE_CODE_OFFSET + i * ATTACK_IMAGE_STEP, attack_code,
		       sizeof(attack_code));
	f.end = tables;
	put_tables(&f);
	strings = f.end;
	memset(f.bytes + strings + 1, 'A', HEAP_BYTES - 1);
	f.end += HEAP_BYTES;
	f.len = f.end;
	move_stream(&f, at.metadata + STREAMS, at.metadata, tables, strings - tables);
	move_stream(&f, at.metadata + STREAMS + 12, at.metadata, strings, HEAP_BYTES);
	fake_image_put(f.bytes, at.cli + 12, f.end - at.metadata, 4);
	fake_image_put(f.bytes, FAKE_IMAGE_SECTION(2) + 8, f.end - FAKE_NAMES_OFFSET, 4);
	fake_image_put(f.bytes, FAKE_IMAGE_SECTION(2) + 16, f.end - FAKE_NAMES_OFFSET, 4);
	return f;
}

static struct image make_runtime(void)
{
	static struct fake_memory memory;

	fake_memory(&memory);
	return (struct image){memory.bytes, sizeof(memory.bytes), sizeof(memory.bytes)};
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind;
		struct image (*make)(void);
	} kinds[] = {{"cie", make_cie},
		     {"symbols", make_symbols},
		     {"nested", make_nested},
		     {"runtime", make_runtime}};

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(argv[1], kinds[i].kind)) {
			struct image f = kinds[i].make();

			return write_file(&f, argv[2]) != 0;
		}
	}
	fprintf(stderr, "usage: attack_files cie|symbols|nested|runtime PATH\n");
	return 2;
}
