/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/ready.h"

#include <errno.h>

#define IMAGE_BYTES_MAX	  (1u << 30)
#define FUNCTIONS_MAX	  (1u << 24)
#define BUCKETS_MAX	  (1u << 26)
#define PROBES_MAX	  64u
#define HANDLERS_MAX	  256u /* of a method */
#define SECTIONS_MAX	  64u
#define SECTION_EXCEPTION 104u
#define HEADER_SECTIONS	  12u /* of the header: their number, then rows of 12 bytes */
#define CLAUSE_BYTES	  24u
#define CLAUSE_FILTER	  1u /* of the flags: the last word is where the filter begins */

struct ready {
	struct perfmap_memory_reader *r;
	const struct perfmap_layout *l;
	uint64_t base, info, functions;
	uint32_t functions_cnt;
};

static uint64_t field(const struct ready *m, uint64_t object, enum perfmap_layout_field f)
{
	return perfmap_memory_u64(m->r, object + m->l->at[f]);
}

static uint64_t row_of(const struct ready *m, uint32_t function)
{
	return m->functions + (uint64_t)function * m->l->at[PERFMAP_FUNCTION_BYTES];
}

static uint32_t begin_of(const struct ready *m, uint32_t function)
{
	return perfmap_memory_u32(m->r, row_of(m, function) + m->l->at[PERFMAP_FUNCTION_BEGIN]);
}

/* The image in which the address is, and its functions. */
static bool open_ready(struct ready *m, uint64_t section)
{
	uint64_t module = field(m, section, PERFMAP_SECTION_IMAGE), composite;

	for (enum perfmap_layout_field f = PERFMAP_MODULE_READY; f <= PERFMAP_BUCKET_VALUES; f++)
		if (!perfmap_layout_has(m->l, f))
			return false;
	if (!m->l->bucket_slots || !perfmap_layout_has(m->l, PERFMAP_FUNCTION_END))
		return false;
	m->base = field(m, section, PERFMAP_SECTION_BEGIN);
	m->info = field(m, module, PERFMAP_MODULE_READY);
	composite = m->info ? field(m, m->info, PERFMAP_READY_COMPOSITE) : 0;
	m->info = composite ? composite : m->info;
	if (!m->info)
		return false;
	m->functions = field(m, m->info, PERFMAP_READY_FUNCTIONS);
	m->functions_cnt = perfmap_memory_u32(m->r, m->info + m->l->at[PERFMAP_READY_CNT]);
	/* Cold parts of methods: no shipped compiler makes any. */
	return m->functions && m->functions_cnt <= FUNCTIONS_MAX &&
	       !perfmap_memory_u32(m->r, m->info + m->l->at[PERFMAP_READY_COLD_CNT]);
}

/* The last function that begins at or before there. */
static bool find_function(const struct ready *m, uint32_t rva, uint32_t *ret_function)
{
	uint32_t low = 0, high = m->functions_cnt;

	while (low < high && !m->r->failed) {
		uint32_t middle = low + (high - low) / 2;

		if (begin_of(m, middle) <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_function = low - 1;
	return low && !m->r->failed;
}

/* The method of an entry point, 0: there is none. What is found is noted. */
static uint64_t method_at(const struct ready *m, uint64_t entry)
{
	const uint32_t *at = m->l->at;
	uint64_t buckets = field(m, m->info + at[PERFMAP_READY_METHODS], PERFMAP_HASH_BUCKETS);
	uint32_t size = buckets ? perfmap_memory_u32(m->r, buckets) : 0;
	uint32_t seed = (uint32_t)(entry >> 2), step;

	if (size < 2 || size > BUCKETS_MAX)
		return 0;
	step = 1 + ((uint32_t)(entry >> 5) + 1) % (size - 1);
	for (unsigned i = 0; i < PROBES_MAX && !m->r->failed; i++, seed += step) {
		/* The first one is their number. */
		uint64_t bucket = buckets + at[PERFMAP_BUCKET_BYTES] * (1ull + seed % size);
		uint64_t keys = bucket + at[PERFMAP_BUCKET_KEYS];
		uint64_t values = bucket + at[PERFMAP_BUCKET_VALUES];

		for (uint32_t slot = 0; slot < m->l->bucket_slots; slot++) {
			if (perfmap_memory_u64(m->r, keys + 8ull * slot) != entry)
				continue;
			m->r->notes = true;
			perfmap_memory_u64(m->r, keys + 8ull * slot);
			entry = perfmap_memory_u64(m->r, values + 8ull * slot);
			m->r->notes = false;
			/* Its highest bit stands for the bucket; values are halved. */
			return (entry & INT64_MAX) << 1;
		}
		if (!(perfmap_memory_u64(m->r, values) >> 63))
			return 0;
	}
	return 0;
}

/* A section of the image, by the header that the runtime points at. */
static bool find_section(const struct ready *m, uint32_t type, uint32_t *ret_rva,
			 uint32_t *ret_bytes)
{
	uint64_t header = field(m, m->info, PERFMAP_READY_HEADER);
	uint32_t cnt = perfmap_memory_u32(m->r, header + HEADER_SECTIONS);
	uint64_t row = header + HEADER_SECTIONS + 4;

	for (uint32_t i = 0; i < cnt && i < SECTIONS_MAX && !m->r->failed; i++, row += 12) {
		if (perfmap_memory_u32(m->r, row) != type)
			continue;
		*ret_rva = perfmap_memory_u32(m->r, row + 4);
		*ret_bytes = perfmap_memory_u32(m->r, row + 8);
		return *ret_rva < IMAGE_BYTES_MAX && *ret_bytes < IMAGE_BYTES_MAX;
	}
	return false;
}

/* Where the clauses of a method are: rows of {method, clauses}, the last one is an end. */
static bool find_clauses(const struct ready *m, uint32_t method, uint32_t *ret_rva,
			 uint32_t *ret_cnt)
{
	uint32_t rva, bytes, low = 0, high;

	if (!find_section(m, SECTION_EXCEPTION, &rva, &bytes) || bytes < 16)
		return false;
	high = bytes / 8 - 1;
	while (low < high && !m->r->failed) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t row = m->base + rva + 8ull * middle;
		uint32_t is = perfmap_memory_u32(m->r, row);

		if (is == method) {
			uint32_t end = perfmap_memory_u32(m->r, row + 12);

			*ret_rva = perfmap_memory_u32(m->r, row + 4);
			*ret_cnt = (end - *ret_rva) / CLAUSE_BYTES;
			return end > *ret_rva && *ret_rva < IMAGE_BYTES_MAX;
		}
		if (is < method)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Whether a function is a handler or a filter of the method. */
static bool is_handler_of(const struct ready *m, uint32_t method, uint32_t function)
{
	uint32_t rva, cnt;

	if (!find_clauses(m, method, &rva, &cnt))
		return false;
	for (uint32_t i = 0; i < cnt && i < HANDLERS_MAX && !m->r->failed; i++) {
		uint64_t clause = m->base + rva + CLAUSE_BYTES * (uint64_t)i;

		if (perfmap_memory_u32(m->r, clause + 12) == function - method ||
		    (perfmap_memory_u32(m->r, clause) & CLAUSE_FILTER &&
		     perfmap_memory_u32(m->r, clause + 20) == function - method))
			return true;
	}
	return false;
}

/* The method that a function is, or is a handler of: 0, there is none. */
static uint64_t find_method(const struct ready *m, uint32_t function, uint32_t *ret_first)
{
	uint64_t method = 0;

	for (uint32_t i = function;; i--) {
		uint32_t begin = begin_of(m, i);

		method = method_at(m, m->base + begin);
		*ret_first = begin;
		if (method && i != function && !is_handler_of(m, begin, begin_of(m, function)))
			return 0;
		if (method || !i || function - i == HANDLERS_MAX || m->r->failed)
			return method;
	}
}

int perfmap_ready_find(struct perfmap_memory_reader *r, const struct perfmap_layout *l,
		       uint64_t section, uint64_t address, struct perfmap_code *code)
{
	struct ready m = {.r = r, .l = l};
	uint32_t function, first, end;

	if (!open_ready(&m, section) || address < m.base || address - m.base >= IMAGE_BYTES_MAX ||
	    !find_function(&m, (uint32_t)(address - m.base), &function))
		return r->failed ? -EFAULT : -ENOENT;
	end = perfmap_memory_u32(r, row_of(&m, function) + l->at[PERFMAP_FUNCTION_END]);
	if (address - m.base >= end)
		return r->failed ? -EFAULT : -ENOENT;
	code->method = find_method(&m, function, &first);
	if (!code->method || r->failed || end - first > PERFMAP_CODE_BYTES_MAX)
		return r->failed ? -EFAULT : -ENOENT;
	code->kind = PERFMAP_CODE_METHOD;
	code->is_precompiled = true;
	code->start = m.base + first;
	code->size = end - first;
	code->header = row_of(&m, function);
	code->unwind_base = m.base;
	code->unwind_cnt = 1;
	return 0;
}
