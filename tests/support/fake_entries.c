/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_entries.h"

#include <string.h>

#define SYMBOLS_AT 0x4000 /* exported */
#define STRINGS_AT 0x4100
#define SECTIONS   9
#define CODE_AT	   0x1000

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

static bool is_relocated(const struct fake_word *word)
{
	return word->text || word->address;
}

/* Puts a text into the file, once; its address. */
static uint64_t put_text(uint8_t *image, size_t *used, const char *text)
{
	char *texts = (char *)image + FAKE_ENTRIES_TEXT;
	size_t len = strlen(text) + 1;

	for (size_t at = 0; at < *used; at += strlen(texts + at) + 1)
		if (!strcmp(texts + at, text))
			return FAKE_ENTRIES_TEXT + at;
	memcpy(texts + *used, text, len);
	*used += len;
	return FAKE_ENTRIES_TEXT + *used - len;
}

/* The address of the first word, then bitmaps. */
static size_t put_packed(const struct fake_entries *entries, uint8_t *image)
{
	uint64_t *rows = (uint64_t *)(image + FAKE_ENTRIES_RELOCS);
	size_t cnt = 0;

	for (size_t i = 0; i < entries->words_cnt; i++) {
		size_t bit;

		if (!is_relocated(&entries->words[i]))
			continue;
		if (!cnt)
			rows[cnt++] = FAKE_ENTRIES_DATA + i * 8;
		bit = i - (rows[0] - FAKE_ENTRIES_DATA) / 8;
		if (!bit)
			continue;
		while (cnt < 2 + (bit - 1) / 63)
			rows[cnt++] = 1;
		rows[1 + (bit - 1) / 63] |= 1ull << ((bit - 1) % 63 + 1);
	}
	return cnt * sizeof(*rows);
}

/* Fills data and relocations. Returns the bytes of these. */
static size_t put_words(const struct fake_entries *entries, uint8_t *image)
{
	Elf64_Rela *relocs = (Elf64_Rela *)(image + FAKE_ENTRIES_RELOCS);
	uint32_t type = entries->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	size_t texts = 0, cnt = 0;

	for (size_t i = 0; i < entries->words_cnt; i++) {
		const struct fake_word *word = &entries->words[i];
		uint64_t value = word->text ? put_text(image, &texts, word->text) : word->address;

		if (!is_relocated(word))
			value = word->number;
		else if (!entries->is_packed)
			relocs[cnt++] = (Elf64_Rela){.r_offset = FAKE_ENTRIES_DATA + i * 8,
						     .r_info = ELF64_R_INFO(0, type),
						     .r_addend = (int64_t)value};
		/* Whoever relocates with an addend leaves the word empty. */
		if (!is_relocated(word) || entries->is_packed)
			memcpy(image + FAKE_ENTRIES_DATA + i * 8, &value, sizeof(value));
	}
	return entries->is_packed ? put_packed(entries, image) : cnt * sizeof(*relocs);
}

static Elf64_Shdr loaded(uint64_t at, uint64_t bytes, uint64_t flags)
{
	return (Elf64_Shdr){.sh_type = SHT_PROGBITS,
			    .sh_flags = SHF_ALLOC | flags,
			    .sh_addr = at,
			    .sh_offset = at,
			    .sh_size = bytes};
}

void fake_entries(const struct fake_entries *entries, uint8_t *image)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image;
	Elf64_Shdr *sh = (Elf64_Shdr *)(image + FAKE_ENTRIES_SECTIONS), *old;
	Elf64_Sym symbol = entries->symbol;

	memset(image, 0, FAKE_ENTRIES_BYTES);
	fake_elf(&entries->elf, image);
	old = (Elf64_Shdr *)(image + header->e_shoff);
	sh[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
			     .sh_offset = SYMBOLS_AT,
			     .sh_size = 2 * sizeof(symbol),
			     .sh_link = 2,
			     .sh_entsize = sizeof(symbol)};
	sh[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = STRINGS_AT, .sh_size = 0x100};
	sh[3] = loaded(CODE_AT, 0x1000, SHF_EXECINSTR);
	sh[4] = loaded(FAKE_ENTRIES_TEXT, 0x800, 0);
	sh[5] = loaded(FAKE_ENTRIES_DATA, 0x800, SHF_WRITE);
	sh[6] = (Elf64_Shdr){.sh_type = entries->is_packed ? SHT_RELR : SHT_RELA,
			     .sh_flags = SHF_ALLOC,
			     .sh_addr = FAKE_ENTRIES_RELOCS,
			     .sh_offset = FAKE_ENTRIES_RELOCS,
			     .sh_size = put_words(entries, image),
			     .sh_entsize = entries->is_packed ? 8 : sizeof(Elf64_Rela)};
	sh[7] = old[1]; /* symbols, if any */
	sh[7].sh_link = 8;
	sh[8] = old[2];
	symbol.st_name = 1;
	memcpy(image + SYMBOLS_AT + sizeof(symbol), &symbol, sizeof(symbol));
	strcpy((char *)image + STRINGS_AT + 1, entries->export);
	header->e_shoff = FAKE_ENTRIES_SECTIONS;
	header->e_shnum = SECTIONS;
	header->e_shstrndx = 0;
	if (entries->machine)
		header->e_machine = entries->machine;
}
