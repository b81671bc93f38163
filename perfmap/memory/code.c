/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/code.h"

#include <errno.h>

#include "perfmap/bytes.h"
#include "perfmap/memory/ready.h"

#define LEVELS	      5u
#define LEVEL_BITS    8u
#define LEVEL_LOWEST  17u
#define FRAGMENTS_MAX 64u

/* The nibble map: a word has a nibble for each 32 bytes, from the top. */
#define NIBBLES	       8u
#define BUCKET_BYTES   32u
#define WORD_BYTES     (NIBBLES * BUCKET_BYTES)
#define NIBBLE_LINK    9u /* a low nibble from that on: the word says where code begins */
#define NIBBLE_UNIT    4u
#define SCAN_WORDS_MAX 65536u

#define TABLE_ENTRIES	    (1u << LEVEL_BITS)
#define TABLES_MAX	    1024u /* that are looked through */
#define SECTION_COLLECTIBLE 1u	  /* of the flags */
/* Of a heap that is listed: one whose memory is used again, or any. */
#define FLEETING_BYTES_MAX (16u << 20)
#define HEAP_BYTES_MAX	   (256u << 20)

#define UNWIND_MAX 256u /* rows of a body: it and its handlers */

/* ARM64's unwind data (Microsoft, ARM64 exception handling): instructions of the function. */
#define ARM64_PACKED	    3u
#define ARM64_PACKED_LENGTH 0x7ffu
#define ARM64_LENGTH	    0x3ffffu
#define ARM64_INSTRUCTION   4u

static uint64_t field(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
		      uint64_t object, enum perfmap_layout_field f)
{
	return perfmap_memory_u64(r, object + l->at[f]);
}

/* The first fragment of the ranges near an address, or 0. Pointers are marked in their lowest
 * bit. */
static uint64_t first_fragment(struct perfmap_memory_reader *r,
			       const struct perfmap_runtime *runtime, uint64_t address)
{
	uint64_t table = runtime->code_map + runtime->layout.at[PERFMAP_MAP_TOP];

	for (unsigned level = LEVELS; level-- > 0 && table;) {
		unsigned index =
			address >> (LEVEL_LOWEST + level * LEVEL_BITS) & ((1u << LEVEL_BITS) - 1);

		table = perfmap_memory_u64(r, table + 8ull * index) & ~1ull;
	}
	return table;
}

/* The section that holds an address, or 0. */
static uint64_t find_section(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			     uint64_t address)
{
	const struct perfmap_layout *l = &runtime->layout;
	uint64_t fragment = first_fragment(r, runtime, address);

	for (unsigned i = 0; i < FRAGMENTS_MAX && fragment && !r->failed; i++) {
		if (address >= field(r, l, fragment, PERFMAP_FRAGMENT_BEGIN) &&
		    address < field(r, l, fragment, PERFMAP_FRAGMENT_END))
			return field(r, l, fragment, PERFMAP_FRAGMENT_SECTION);
		fragment = field(r, l, fragment, PERFMAP_FRAGMENT_NEXT) & ~1ull;
	}
	return 0;
}

/* Where code begins in a word of the map at or before its nibble, or false. */
static bool begins_in_word(uint32_t word, uint64_t word_index, unsigned nibble, uint64_t *ret_at)
{
	word >>= 4 * (NIBBLES - 1 - nibble);
	for (unsigned i = nibble + 1; i-- > 0; word >>= 4)
		if (word & 15) {
			*ret_at = word_index * WORD_BYTES + i * BUCKET_BYTES +
				  ((word & 15) - 1) * NIBBLE_UNIT;
			return true;
		}
	return false;
}

/*
 * Where in its heap the code begins that an offset lies in; a nibble of the offset's own bucket may
 * be behind it.
 */
static bool find_start(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
		       uint64_t map, uint64_t offset, uint64_t *ret_at)
{
	uint64_t index = offset / WORD_BYTES;
	unsigned nibble = offset / BUCKET_BYTES % NIBBLES;
	bool has_links = l->execution_manager >= 2;

	for (unsigned i = 0; i < SCAN_WORDS_MAX && !r->failed; i++) {
		uint32_t word = perfmap_memory_u32(r, map + 4 * index);

		if (has_links && (word & 15) >= NIBBLE_LINK) {
			*ret_at =
				(uint64_t)(word & ~15u) + ((word & 15) - NIBBLE_LINK) * NIBBLE_UNIT;
			return *ret_at <= offset;
		}
		if (begins_in_word(word, index, nibble, ret_at)) {
			if (*ret_at <= offset)
				return true;
			if (nibble && begins_in_word(word, index, nibble - 1, ret_at))
				return true;
		}
		if (!index--)
			return false;
		nibble = NIBBLES - 1;
	}
	return false;
}

static uint32_t function_bytes(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
			       uint64_t base, uint64_t row, uint32_t begin)
{
	uint32_t unwind;

	if (perfmap_layout_has(l, PERFMAP_FUNCTION_END))
		return perfmap_memory_u32(r, row + l->at[PERFMAP_FUNCTION_END]) - begin;
	unwind = perfmap_memory_u32(r, row + l->at[PERFMAP_FUNCTION_UNWIND]);
	if (unwind & ARM64_PACKED)
		return (unwind >> 2 & ARM64_PACKED_LENGTH) * ARM64_INSTRUCTION;
	return (perfmap_memory_u32(r, base + unwind) & ARM64_LENGTH) * ARM64_INSTRUCTION;
}

/* The body's end: that of its last row. */
static bool read_bounds(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
			struct perfmap_code *code)
{
	uint64_t row = code->header + l->at[PERFMAP_HEADER_UNWIND], end = 0;

	code->unwind_cnt = perfmap_memory_u32(r, code->header + l->at[PERFMAP_HEADER_UNWIND_CNT]);
	if (!code->unwind_cnt || code->unwind_cnt > UNWIND_MAX)
		return false;
	for (uint32_t i = 0; i < code->unwind_cnt; i++, row += l->at[PERFMAP_FUNCTION_BYTES]) {
		uint32_t begin = perfmap_memory_u32(r, row + l->at[PERFMAP_FUNCTION_BEGIN]);
		uint64_t from = code->unwind_base + begin;
		uint32_t bytes = function_bytes(r, l, code->unwind_base, row, begin);

		if ((!i && from != code->start) || from < code->start ||
		    from - code->start > PERFMAP_CODE_BYTES_MAX || bytes > PERFMAP_CODE_BYTES_MAX)
			return false;
		if (from + bytes > end)
			end = from + bytes;
	}
	code->size = (uint32_t)(end - code->start);
	return code->size <= PERFMAP_CODE_BYTES_MAX;
}

/* A heap of compiled methods, with stubs among them. */
static int find_in_heap(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			uint64_t heap, uint64_t address, struct perfmap_code *code)
{
	const struct perfmap_layout *l = &runtime->layout;
	uint64_t base = field(r, l, heap, PERFMAP_HEAP_BASE), at;

	if (address < field(r, l, heap, PERFMAP_HEAP_START) ||
	    address > field(r, l, heap, PERFMAP_HEAP_END) || address < base ||
	    !find_start(r, l, field(r, l, heap, PERFMAP_HEAP_MAP), address - base, &at))
		return r->failed ? -EFAULT : -ENOENT;
	code->start = base + at;
	r->notes = true;
	code->header = perfmap_memory_u64(r, code->start - 8);
	if (!code->header)
		return r->failed ? -EFAULT : -ENOENT;
	if (code->header <= l->stub_last) {
		code->kind = PERFMAP_CODE_STUB;
		code->stub = (uint32_t)code->header;
		return r->failed ? -EFAULT : 0;
	}
	code->kind = PERFMAP_CODE_METHOD;
	code->method = field(r, l, code->header, PERFMAP_HEADER_METHOD);
	if (!read_bounds(r, l, code) || r->failed || address - code->start >= code->size)
		return r->failed ? -EFAULT : -ENOENT;
	return 0;
}

/* An image; what the runtime does not tell of it is in its file. */
static int find_in_image(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
			 uint64_t section, uint64_t address, struct perfmap_code *code)
{
	int err = perfmap_ready_find(r, l, section, address, code);

	if (err == -ENOENT)
		code->kind = PERFMAP_CODE_IMAGE;
	return err == -ENOENT ? 0 : err;
}

/* Heaps of dynamic methods, and of what can be unloaded: RANGE_SECTION_COLLECTIBLE of
 * dotnet/runtime src/coreclr/vm/codeman.h, which is set where such a heap is made (codeman.cpp). */
static bool is_collectible(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
			   uint64_t section)
{
	return perfmap_layout_has(l, PERFMAP_SECTION_FLAGS) &&
	       perfmap_memory_u32(r, section + l->at[PERFMAP_SECTION_FLAGS]) & SECTION_COLLECTIBLE;
}

int perfmap_code_find(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
		      uint64_t address, struct perfmap_code *ret_code)
{
	const struct perfmap_layout *l = &runtime->layout;
	struct perfmap_code code = {0};
	uint64_t section = find_section(r, runtime, address), heap;
	int err = 0;

	if (!section) {
		code.kind = PERFMAP_CODE_STUB;
		code.is_unlisted = true;
		perfmap_memory_u8(r, address);
		if (!r->failed)
			*ret_code = code;
		return r->failed ? -EFAULT : 0;
	}
	heap = field(r, l, section, PERFMAP_SECTION_HEAP);
	code.unwind_base = field(r, l, section, PERFMAP_SECTION_BEGIN);
	code.is_collectible = is_collectible(r, l, section);
	if (heap)
		err = find_in_heap(r, runtime, heap, address, &code);
	else if (field(r, l, section, PERFMAP_SECTION_IMAGE))
		err = find_in_image(r, l, section, address, &code);
	else
		code.kind = PERFMAP_CODE_STUB;
	if (!err && r->failed)
		err = -EFAULT;
	if (!err)
		*ret_code = code;
	return err;
}

/* --- all of a heap ---------------------------------------------------------------------------- */

struct listing {
	struct perfmap_memory_reader *r;
	const struct perfmap_runtime *runtime;
	uint64_t *starts;
	size_t cnt, max;
	uint64_t section; /* that was listed last: it has a fragment in each range */
	unsigned tables;
	bool fleeting; /* heaps alone whose memory is used again */
};

static void list_word(struct listing *all, uint64_t base, uint64_t index, uint32_t word)
{
	if (all->runtime->layout.execution_manager >= 2 && (word & 15) >= NIBBLE_LINK)
		return;
	for (unsigned nibble = 0; nibble < NIBBLES && all->cnt < all->max; nibble++) {
		uint32_t value = word >> 4 * (NIBBLES - 1 - nibble) & 15;

		if (value)
			all->starts[all->cnt++] = base + index * WORD_BYTES +
						  nibble * BUCKET_BYTES + (value - 1) * NIBBLE_UNIT;
	}
}

static void list_heap(struct listing *all, uint64_t heap)
{
	const struct perfmap_layout *l = &all->runtime->layout;
	uint64_t base = field(all->r, l, heap, PERFMAP_HEAP_BASE);
	uint64_t map = field(all->r, l, heap, PERFMAP_HEAP_MAP);
	uint64_t end = field(all->r, l, heap, PERFMAP_HEAP_END);

	if (end < base || end - base > (all->fleeting ? FLEETING_BYTES_MAX : HEAP_BYTES_MAX))
		return;
	for (uint64_t i = 0; i <= (end - base) / WORD_BYTES && all->cnt < all->max; i++) {
		uint32_t word = perfmap_memory_u32(all->r, map + 4 * i);

		if (all->r->failed)
			return;
		list_word(all, base, i, word);
	}
}

static void list_fragments(struct listing *all, uint64_t fragment)
{
	const struct perfmap_layout *l = &all->runtime->layout;

	for (unsigned i = 0; i < FRAGMENTS_MAX && fragment && !all->r->failed; i++) {
		uint64_t section = field(all->r, l, fragment, PERFMAP_FRAGMENT_SECTION);
		uint64_t heap = field(all->r, l, section, PERFMAP_SECTION_HEAP);

		if (section != all->section && heap &&
		    (!all->fleeting || is_collectible(all->r, l, section)))
			list_heap(all, heap);
		all->section = section;
		fragment = field(all->r, l, fragment, PERFMAP_FRAGMENT_NEXT) & ~1ull;
	}
}

static void list_table(struct listing *all, uint64_t table, unsigned level)
{
	uint8_t bytes[TABLE_ENTRIES * 8];

	if (all->tables++ >= TABLES_MAX ||
	    !perfmap_memory_direct(all->r, table, bytes, sizeof(bytes)))
		return;
	for (unsigned i = 0; i < TABLE_ENTRIES && all->cnt < all->max; i++) {
		uint64_t to = perfmap_u64_at(bytes + 8 * i) & ~1ull;

		if (to && level)
			list_table(all, to, level - 1);
		else if (to)
			list_fragments(all, to);
		all->r->failed = false;
	}
}

static size_t list(struct listing *all)
{
	list_table(all, all->runtime->code_map + all->runtime->layout.at[PERFMAP_MAP_TOP],
		   LEVELS - 1);
	return all->cnt;
}

size_t perfmap_code_starts(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			   uint64_t *ret_starts, size_t max)
{
	struct listing all = {.r = r, .runtime = runtime, .starts = ret_starts, .max = max};

	return list(&all);
}

size_t perfmap_code_fleeting(struct perfmap_memory_reader *r, const struct perfmap_runtime *runtime,
			     uint64_t *ret_starts, size_t max)
{
	struct listing all = {.r = r, .runtime = runtime, .starts = ret_starts, .max = max};

	all.fleeting = true;
	return list(&all);
}
