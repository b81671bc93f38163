/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/runtime.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfmap/bytes.h"

#define EXPORT "DotNetRuntimeContractDescriptor"

/* Linkers put each segment of a file at least a page further from its place in the file than the
 * one before; of files with huge pages it is more. */
#define PAGES_BEFORE   512u
#define LIBRARY_PAGES  8192u	  /* of the runtime's library */
#define VARIABLES_MAX  (2u << 20) /* bytes of its variables that are searched */
#define SEGMENTS_MAX   64u
#define DYNAMIC_MAX    256u
#define HASH_STEPS_MAX 4096u

/* Versions of contracts that are understood: the nibble map with links (2), and without (1). */
#define MANAGER_LINKED	2u
#define MANAGER_SCANNED 1u

struct exports {
	uint64_t base, end;
	uint64_t symbols, strings, hash;
};

static bool read_header(struct perfmap_memory_reader *r, uint64_t base, Elf64_Ehdr *header)
{
	perfmap_memory_get(r, base, header, sizeof(*header));
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_phnum <= SEGMENTS_MAX &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

static uint64_t page_of(uint64_t address)
{
	return address & ~(uint64_t)(PERFMAP_MEMORY_PAGE - 1);
}

/* Reads the segments; false where no code of such a file lies at the address. */
static bool read_segments(struct perfmap_memory_reader *r, uint64_t base, const Elf64_Ehdr *header,
			  uint64_t code, struct exports *e, uint64_t *ret_dynamic)
{
	uint64_t first = UINT64_MAX;
	bool holds = false;

	*ret_dynamic = 0;
	e->end = base;
	for (uint32_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr s;

		perfmap_memory_get(r, base + header->e_phoff + i * sizeof(s), &s, sizeof(s));
		if (s.p_type == PT_DYNAMIC)
			*ret_dynamic = s.p_vaddr;
		if (s.p_type != PT_LOAD)
			continue;
		if (first == UINT64_MAX)
			first = page_of(s.p_vaddr);
		/* Mapped by whole pages. */
		holds |= s.p_flags & PF_X && code - base >= page_of(s.p_vaddr) - first &&
			 code - base < s.p_vaddr - first + s.p_memsz;
		if (base + (s.p_vaddr - first) + s.p_memsz > e->end)
			e->end = base + (s.p_vaddr - first) + s.p_memsz;
	}
	if (!holds || !*ret_dynamic)
		return false;
	/* What addresses in the file count from. */
	e->base = base - first;
	return true;
}

/* glibc turns these into addresses, musl leaves them. */
static uint64_t address_of(const struct exports *e, uint64_t value)
{
	return value >= e->base && value < e->end ? value : e->base + value;
}

static bool read_dynamic(struct perfmap_memory_reader *r, uint64_t dynamic, struct exports *e)
{
	for (uint32_t i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn d;

		perfmap_memory_get(r, e->base + dynamic + i * sizeof(d), &d, sizeof(d));
		switch (d.d_tag) {
		case DT_SYMTAB:
			e->symbols = address_of(e, d.d_un.d_ptr);
			break;
		case DT_STRTAB:
			e->strings = address_of(e, d.d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			e->hash = address_of(e, d.d_un.d_ptr);
			break;
		case DT_NULL:
			return e->symbols && e->strings && e->hash;
		}
	}
	return false;
}

static bool is_export(struct perfmap_memory_reader *r, const struct exports *e, uint64_t index,
		      uint64_t *ret_value)
{
	char name[sizeof(EXPORT) + 1];
	Elf64_Sym symbol;

	perfmap_memory_get(r, e->symbols + index * sizeof(symbol), &symbol, sizeof(symbol));
	if (!symbol.st_shndx)
		return false;
	perfmap_memory_text(r, e->strings + symbol.st_name, name, sizeof(name));
	*ret_value = e->base + symbol.st_value;
	return !strcmp(name, EXPORT);
}

static bool find_export(struct perfmap_memory_reader *r, const struct exports *e,
			uint64_t *ret_value)
{
	uint32_t hash = 5381, buckets, first, words, index, value;
	uint64_t chains;

	for (const char *s = EXPORT; *s; s++)
		hash = hash * 33 + (uint8_t)*s;
	buckets = perfmap_memory_u32(r, e->hash);
	first = perfmap_memory_u32(r, e->hash + 4);
	words = perfmap_memory_u32(r, e->hash + 8);
	if (!buckets)
		return false;
	chains = e->hash + 16 + 8ull * words + 4ull * buckets;
	index = perfmap_memory_u32(r, e->hash + 16 + 8ull * words + 4ull * (hash % buckets));
	if (index < first)
		return false;
	for (uint32_t i = 0; i < HASH_STEPS_MAX && !r->failed; i++, index++) {
		value = perfmap_memory_u32(r, chains + 4ull * (index - first));
		if ((value | 1) == (hash | 1) && is_export(r, e, index, ret_value))
			return true;
		if (value & 1)
			return false;
	}
	return false;
}

int perfmap_runtime_find(struct perfmap_memory_reader *r, uint64_t start, uint64_t file_offset,
			 uint64_t *ret_descriptor)
{
	uint64_t base = start - file_offset, dynamic, value;
	struct exports e = {0};
	Elf64_Ehdr header;

	if (file_offset > start)
		return -ENOENT;
	for (uint32_t i = 0; i < PAGES_BEFORE && base; i++, base -= PERFMAP_MEMORY_PAGE) {
		perfmap_memory_begin(r);
		if (!read_header(r, base, &header)) {
			/* Nothing is mapped below. */
			if (r->failed)
				return -EFAULT;
			continue;
		}
		if (!read_segments(r, base, &header, start, &e, &dynamic) ||
		    !read_dynamic(r, dynamic, &e) || !find_export(r, &e, &value) || r->failed)
			return -ENOENT;
		*ret_descriptor = value;
		return 0;
	}
	return -ENOENT;
}

/* --- the descriptor --------------------------------------------------------------------------- */

static int read_layout(struct perfmap_memory_reader *r, const uint8_t *head,
		       struct perfmap_layout *ret_layout)
{
	uint32_t len = perfmap_u32_at(head + 12);
	char *json;
	int err;

	if (!len || len > PERFMAP_LAYOUT_BYTES_MAX)
		return -EBADMSG;
	json = malloc(len);
	if (!json)
		return -ENOMEM;
	err = perfmap_memory_direct(r, perfmap_u64_at(head + 16), json, len)
		      ? perfmap_layout_parse(json, len, ret_layout)
		      : -EFAULT;
	free(json);
	return err;
}

static int take_layout(const struct perfmap_layout *layout, struct perfmap_layout *ret_layout)
{
	*ret_layout = *layout;
	return perfmap_layout_is_sound(layout) ? 0 : -EBADMSG;
}

int perfmap_runtime_load(struct perfmap_memory_reader *r, uint64_t descriptor,
			 const struct perfmap_layout *layout, struct perfmap_runtime *ret_runtime)
{
	struct perfmap_runtime runtime = {0};
	uint8_t head[PERFMAP_DESCRIPTOR_BYTES];
	uint64_t pointers;
	uint32_t cnt;
	int err;

	perfmap_memory_begin(r);
	perfmap_memory_get(r, descriptor, head, sizeof(head));
	if (r->failed)
		return -EFAULT;
	/* Flags: bit 0 is always set, bit 1 stands for 32 bits. */
	if (memcmp(head, "DNCCDAC", 8) || (perfmap_u32_at(head + 8) & 3) != 1)
		return -EBADMSG;
	err = layout ? take_layout(layout, &runtime.layout) : read_layout(r, head, &runtime.layout);
	if (err)
		return err;
	if (runtime.layout.type_system != 1 ||
	    (runtime.layout.execution_manager != MANAGER_LINKED &&
	     runtime.layout.execution_manager != MANAGER_SCANNED))
		return -ENOTSUP;
	runtime.descriptor = descriptor;
	pointers = perfmap_u64_at(head + 32);
	cnt = perfmap_u32_at(head + 24) <= PERFMAP_POINTERS_MAX ? perfmap_u32_at(head + 24) : 0;
	if (runtime.layout.threads_index && runtime.layout.threads_index < cnt)
		runtime.threads = pointers + 8ull * runtime.layout.threads_index;
	if (!runtime.layout.hides_map && runtime.layout.map_index >= cnt)
		return -EBADMSG;
	if (!runtime.layout.hides_map)
		runtime.code_map =
			perfmap_memory_u64(r, pointers + 8ull * runtime.layout.map_index);
	if (r->failed)
		return -EFAULT;
	*ret_runtime = runtime;
	return 0;
}

/* --- a map that is not told ------------------------------------------------------------------- */

#define IMAGE_BYTES_MAX (1u << 30)

/* Whether a section is one of code at an address: of a heap that holds it, or of an image. */
static bool is_section(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
		       uint64_t section, uint64_t address)
{
	uint64_t heap = perfmap_memory_u64(r, section + l->at[PERFMAP_SECTION_HEAP]);
	uint64_t module = perfmap_memory_u64(r, section + l->at[PERFMAP_SECTION_IMAGE]), base;

	if (heap)
		return address >= perfmap_memory_u64(r, heap + l->at[PERFMAP_HEAP_START]) &&
		       address < perfmap_memory_u64(r, heap + l->at[PERFMAP_HEAP_END]);
	base = module ? perfmap_memory_u64(r, module + l->at[PERFMAP_MODULE_BASE]) : 0;
	return base && address >= base && address - base < IMAGE_BYTES_MAX;
}

/* The fragment that leads to an address, if a map of ranges lies there. */
static bool is_code_map(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
			uint64_t first, uint64_t address)
{
	uint64_t table = first;

	for (unsigned shift = 41; shift >= 17 && table; shift -= 8)
		table = perfmap_memory_u64(r, table + 8 * (address >> shift & 255)) & ~1ull;
	return table && !r->failed &&
	       address >= perfmap_memory_u64(r, table + l->at[PERFMAP_FRAGMENT_BEGIN]) &&
	       address < perfmap_memory_u64(r, table + l->at[PERFMAP_FRAGMENT_END]) &&
	       is_section(r, l, perfmap_memory_u64(r, table + l->at[PERFMAP_FRAGMENT_SECTION]),
			  address) &&
	       !r->failed;
}

/* The map lies among variables as they are, so that its first table begins with the table of
 * addresses below 2^49. */
static bool search_piece(struct perfmap_memory_reader *r, struct perfmap_runtime *runtime,
			 uint64_t start, const uint8_t *bytes, size_t len, uint64_t address)
{
	for (size_t at = 0; at + 8 <= len; at += 8) {
		uint64_t first = perfmap_u64_at(bytes + at) & ~1ull;

		if (first < 0x10000 || first >> 47 || first & 7)
			continue;
		perfmap_memory_begin(r);
		if (!is_code_map(r, &runtime->layout, first, address))
			continue;
		runtime->code_map = start + at;
		return true;
	}
	return false;
}

static bool search_segment(struct perfmap_memory_reader *r, struct perfmap_runtime *runtime,
			   uint64_t start, uint64_t bytes, uint64_t address)
{
	uint8_t piece[PERFMAP_MEMORY_PAGE];

	start &= ~7ull;
	for (uint64_t at = 0; at < bytes && at < VARIABLES_MAX; at += sizeof(piece))
		if (perfmap_memory_direct(r, start + at, piece, sizeof(piece)) &&
		    search_piece(r, runtime, start + at, piece, sizeof(piece), address))
			return true;
	return false;
}

int perfmap_runtime_search(struct perfmap_memory_reader *r, struct perfmap_runtime *runtime,
			   uint64_t address)
{
	uint64_t base = page_of(runtime->descriptor);
	Elf64_Ehdr header = {0};

	if (address >> 49)
		return -ENOENT;
	for (uint32_t i = 0; i < LIBRARY_PAGES && base; i++, base -= PERFMAP_MEMORY_PAGE) {
		perfmap_memory_begin(r);
		if (read_header(r, base, &header))
			break;
		if (r->failed)
			return -EFAULT;
	}
	for (uint32_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr s;

		perfmap_memory_begin(r);
		perfmap_memory_get(r, base + header.e_phoff + i * sizeof(s), &s, sizeof(s));
		if (!r->failed && s.p_type == PT_LOAD && s.p_flags & PF_W &&
		    search_segment(r, runtime, base + page_of(s.p_vaddr),
				   s.p_memsz + PERFMAP_MEMORY_PAGE, address))
			return 0;
	}
	return -ENOENT;
}
