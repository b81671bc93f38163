/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_SLOTS_H
#define HOTRUN_PARSE_ELF_SLOTS_H
/*
 * Words of an ELF file that the loader fills with addresses inside the same file, and what lies
 * there: tables of pointers, of which nothing else tells where they are. Sources: relative
 * relocations of the System V ABI for AMD64 and of ELF for the Arm 64-bit architecture; SHT_RELR of
 * the generic ABI for the packed ones. 64 bit, these two machines. The content is hostile: what
 * lies outside of the file's sections is left out, and all is bounded.
 */
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmap/work.h"

#define ELF_SLOTS_MAX	       (1u << 18) /* .NET 10's runtime has 19,000 */
#define ELF_SLOT_SECTIONS_MAX  64u
#define ELF_SLOT_SECTION_BYTES (16u << 20) /* of one that is read; the largest have 1 MB */
#define ELF_SLOT_BYTES_MAX     (24u << 20) /* of all of them */
#define ELF_SLOT_NONE	       SIZE_MAX

struct elf_slot {
	uint64_t at, value; /* virtual addresses */
};

/* What is loaded of the file, but zeros. */
struct elf_slot_section {
	uint64_t vaddr, bytes;
	Elf_Scn *scn;
	const uint8_t *data; /* once it was looked at; NULL = cannot be had */
	bool is_code, is_read;
};

struct elf_slots {
	struct elf_slot *slots; /* owned; by at */
	size_t cnt, cap;
	struct elf_slot_section sections[ELF_SLOT_SECTIONS_MAX];
	size_t sections_cnt;
	size_t bytes_left;	   /* to be read */
	struct perfmap_work *work; /* borrowed */
};

/*
 * Reads the slots of a file, which is borrowed until elf_slots_clear(), as is work, where all of it
 * counts. 0, -ENOTSUP (another machine, or 32 bit) or -ENOMEM; to be cleared in any case.
 */
int elf_slots_read(Elf *elf, struct perfmap_work *work, struct elf_slots *slots);
void elf_slots_clear(struct elf_slots *slots);

/* The number of the slot at vaddr, or ELF_SLOT_NONE. */
size_t elf_slots_find(const struct elf_slots *slots, uint64_t vaddr);

/* Data from vaddr on to the end of its section, borrowed; NULL: there is none. */
const uint8_t *elf_slots_data(struct elf_slots *slots, uint64_t vaddr, size_t *ret_len);
bool elf_slots_is_code(const struct elf_slots *slots, uint64_t vaddr);
#endif
