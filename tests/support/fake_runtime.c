/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_runtime.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_AT  0x40
#define INFO_AT	    0x100
#define SYMBOLS_AT  0x200
#define STRINGS_AT  0x280
#define NAMES_AT    0x300
#define SECTIONS_AT 0x400
#define BASE	    0x10000
#define SECTIONS    5

void fake_runtime(const struct fake_runtime *runtime, uint8_t *image)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_phoff = SEGMENT_AT,
		.e_shoff = SECTIONS_AT,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shstrndx = 3,
	};
	Elf64_Phdr segment = {.p_type = PT_LOAD, .p_vaddr = BASE, .p_filesz = FAKE_RUNTIME_BYTES};
	Elf64_Sym symbols[2] = {{0}, {.st_name = 1, .st_shndx = 4, .st_value = BASE + INFO_AT}};
	Elf64_Shdr sections[SECTIONS] = {
		{0},
		{.sh_type = SHT_DYNSYM,
		 .sh_offset = SYMBOLS_AT,
		 .sh_size = sizeof(symbols),
		 .sh_link = 2},
		{.sh_type = SHT_STRTAB, .sh_offset = STRINGS_AT, .sh_size = 0x80},
		{.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 0x80},
		{.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = INFO_AT, .sh_size = 112},
	};

	memset(image, 0, FAKE_RUNTIME_BYTES);
	memcpy(image, &header, sizeof(header));
	memcpy(image + SEGMENT_AT, &segment, sizeof(segment));
	memcpy(image + INFO_AT, "DotNetRuntimeInfo", 18);
	memcpy(image + INFO_AT + 20, &runtime->info_version, 4);
	memcpy(image + INFO_AT + 96, runtime->numbers, 16);
	memcpy(image + SYMBOLS_AT, symbols, sizeof(symbols));
	snprintf((char *)image + STRINGS_AT + 1, 0x7f, "%s", runtime->symbol);
	snprintf((char *)image + NAMES_AT + 1, 0x7f, "%s", runtime->section);
	memcpy(image + SECTIONS_AT, sections, sizeof(sections));
}
