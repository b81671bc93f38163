/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf_slots.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif

#define RELR_BITS 63 /* words that one bitmap speaks of */

/* --- sections --------------------------------------------------------------------------------- */

static void find_sections(Elf *elf, struct elf_slots *s)
{
	Elf_Scn *scn = NULL;

	while (s->sections_cnt < ELF_SLOT_SECTIONS_MAX && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_ALLOC) || !sh.sh_size ||
		    sh.sh_addr + sh.sh_size < sh.sh_addr)
			continue;
		s->sections[s->sections_cnt++] = (struct elf_slot_section){
			.vaddr = sh.sh_addr,
			.bytes = sh.sh_size,
			.scn = scn,
			.is_code = sh.sh_flags & SHF_EXECINSTR,
		};
	}
}

/* Its number, or ELF_SLOT_NONE. */
static size_t section_at(const struct elf_slots *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->sections_cnt; i++)
		if (vaddr - s->sections[i].vaddr < s->sections[i].bytes)
			return i;
	return ELF_SLOT_NONE;
}

static void read_section(struct elf_slots *s, struct elf_slot_section *section)
{
	Elf_Data *data;

	section->is_read = true;
	if (section->is_code || section->bytes > ELF_SLOT_SECTION_BYTES ||
	    section->bytes > s->bytes_left)
		return;
	s->bytes_left -= section->bytes;
	data = elf_rawdata(section->scn, NULL);
	if (data && data->d_buf && data->d_size >= section->bytes)
		section->data = data->d_buf;
}

const uint8_t *elf_slots_data(struct elf_slots *slots, uint64_t vaddr, size_t *ret_len)
{
	size_t i = section_at(slots, vaddr);
	struct elf_slot_section *section;

	perfmap_work_add(slots->work, 1);
	if (i == ELF_SLOT_NONE)
		return NULL;
	section = &slots->sections[i];
	if (!section->is_read)
		read_section(slots, section);
	if (!section->data)
		return NULL;
	*ret_len = section->bytes - (vaddr - section->vaddr);
	return section->data + (vaddr - section->vaddr);
}

bool elf_slots_is_code(const struct elf_slots *slots, uint64_t vaddr)
{
	size_t i = section_at(slots, vaddr);

	return i != ELF_SLOT_NONE && slots->sections[i].is_code;
}

/* --- relocations ------------------------------------------------------------------------------ */

/* Whether there is room for more: no error, a table further on may have none. */
static bool has_room(const struct elf_slots *s)
{
	return s->cnt < ELF_SLOTS_MAX && !perfmap_work_exceeded(s->work);
}

static int add_slot(struct elf_slots *s, uint64_t at, uint64_t value)
{
	if (GROW(s->slots, s->cnt, s->cap))
		return -ENOMEM;
	s->slots[s->cnt++] = (struct elf_slot){at, value};
	perfmap_work_add(s->work, sizeof(struct elf_slot));
	return 0;
}

static int read_rela(struct elf_slots *s, const Elf_Data *data, uint32_t type)
{
	int err = 0;

	for (size_t i = 0; !err && i < data->d_size / sizeof(Elf64_Rela) && has_room(s); i++) {
		Elf64_Rela r;

		memcpy(&r, (const char *)data->d_buf + i * sizeof(r), sizeof(r));
		if (ELF64_R_TYPE(r.r_info) == type)
			err = add_slot(s, r.r_offset, (uint64_t)r.r_addend);
	}
	return err;
}

/* The slot whose value stands in the file at its place. */
static int add_in_place(struct elf_slots *s, uint64_t at)
{
	uint64_t value;
	size_t len;
	const uint8_t *data = elf_slots_data(s, at, &len);

	if (!data || len < sizeof(value))
		return 0;
	memcpy(&value, data, sizeof(value));
	return add_slot(s, at, value);
}

/* An even word is the address of a slot; an odd one a bitmap of those that follow it. */
static int read_relr(struct elf_slots *s, const Elf_Data *data)
{
	uint64_t next = 0;
	int err = 0;

	for (size_t i = 0; !err && i < data->d_size / sizeof(uint64_t) && has_room(s); i++) {
		uint64_t word;

		memcpy(&word, (const char *)data->d_buf + i * sizeof(word), sizeof(word));
		if (!(word & 1)) {
			err = add_in_place(s, word);
			next = word + sizeof(word);
			continue;
		}
		for (unsigned bit = 0; !err && bit < RELR_BITS && has_room(s); bit++)
			if (word >> (bit + 1) & 1)
				err = add_in_place(s, next + bit * sizeof(word));
		next += RELR_BITS * sizeof(word);
	}
	return err;
}

static int read_relocations(Elf *elf, struct elf_slots *s, uint32_t type)
{
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && has_room(s) && (scn = elf_nextscn(elf, scn))) {
		const Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    (sh.sh_type != SHT_RELA && sh.sh_type != SHT_RELR) ||
		    sh.sh_size > ELF_SLOTS_MAX * sizeof(Elf64_Rela) || sh.sh_size > s->bytes_left)
			continue;
		s->bytes_left -= sh.sh_size;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			continue;
		err = sh.sh_type == SHT_RELA ? read_rela(s, data, type) : read_relr(s, data);
	}
	return err;
}

static int compare_slots(const void *pa, const void *pb)
{
	const struct elf_slot *a = pa, *b = pb;

	return (a->at > b->at) - (a->at < b->at);
}

static void sort_slots(struct elf_slots *s)
{
	size_t i = 1;

	/* Linkers mostly write them in order. */
	while (i < s->cnt && s->slots[i - 1].at <= s->slots[i].at)
		i++;
	if (i < s->cnt)
		qsort(s->slots, s->cnt, sizeof(*s->slots), compare_slots);
}

int elf_slots_read(Elf *elf, struct perfmap_work *work, struct elf_slots *slots)
{
	uint32_t type;
	GElf_Ehdr header;
	int err;

	*slots = (struct elf_slots){.work = work, .bytes_left = ELF_SLOT_BYTES_MAX};
	if (gelf_getclass(elf) != ELFCLASS64 || !gelf_getehdr(elf, &header))
		return -ENOTSUP;
	switch (header.e_machine) {
	case EM_X86_64:
		type = R_X86_64_RELATIVE;
		break;
	case EM_AARCH64:
		type = R_AARCH64_RELATIVE;
		break;
	default:
		return -ENOTSUP;
	}
	find_sections(elf, slots);
	err = read_relocations(elf, slots, type);
	sort_slots(slots);
	return err;
}

void elf_slots_clear(struct elf_slots *slots)
{
	free(slots->slots);
	slots->slots = NULL;
	slots->cnt = slots->cap = 0;
}

size_t elf_slots_find(const struct elf_slots *slots, uint64_t vaddr)
{
	size_t low = 0, high = slots->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (slots->slots[mid].at < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < slots->cnt && slots->slots[low].at == vaddr ? low : ELF_SLOT_NONE;
}
