/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_FAKE_ENTRIES_H
#define HOTRUN_TESTS_FAKE_ENTRIES_H
/*
 * A stripped library as the .NET runtime's is: an ELF file of fake_elf() that exports one symbol
 * and has a section of data with relative relocations, whose words the test chooses.
 */
#include <elf.h>
#include <stdbool.h>

#include "names_support.h"

#define FAKE_ENTRIES_BYTES    0x7800
#define FAKE_ENTRIES_WORDS    224    /* at the most */
#define FAKE_ENTRIES_TEXT     0x5000 /* where strings, data and relocations are */
#define FAKE_ENTRIES_DATA     0x5800
#define FAKE_ENTRIES_RELOCS   0x6000
#define FAKE_ENTRIES_SECTIONS 0x4800 /* headers: of text in number 4, of data 5, of relocations 6 */

/* A word of data: a pointer to a text or to an address, both relocated, or a number. */
struct fake_word {
	const char *text;
	uint64_t address, number;
};

struct fake_entries {
	struct fake_elf elf; /* with symbols: a symbol table, too */
	const char *export;
	Elf64_Sym symbol; /* its type, section, value and size */
	uint16_t machine; /* 0 = x86-64 */
	bool is_packed;	  /* .relr.dyn */
	const struct fake_word *words;
	size_t words_cnt;
};

/* Fills image[FAKE_ENTRIES_BYTES]. */
void fake_entries(const struct fake_entries *entries, uint8_t *image);
#endif
