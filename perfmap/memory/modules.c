/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfmap/memory/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DOS_NEW_HEADER	    0x3cu
#define COFF_BYTES	    24u
#define COFF_SECTIONS	    6u
#define COFF_OPTIONAL_BYTES 20u
#define OPTIONAL_PLUS	    0x20bu
#define CLI_PLUS	    224u /* of the directory, in optional headers of 64 and of 32 bits */
#define CLI		    208u
#define CLI_METADATA	    8u
#define SECTIONS_MAX	    96u
#define SECTION_BYTES	    40u
#define METADATA_SIGNATURE  0x424a5342u

struct perfmap_module {
	struct perfmap_memory_reader *r;
	uint64_t address;  /* of the runtime's Module */
	uint64_t base;	   /* of its image */
	uint64_t metadata; /* where it begins in memory */
	uint32_t bytes;
	bool has; /* it has some */
	struct perfmap_metadata md;
	uint8_t *pages; /* bit by page of memory that it lies in: read */
};

/* Where the RVA lies if the image is mapped as its file is. 0: in no section. */
static uint32_t offset_of(struct perfmap_memory_reader *r, uint64_t coff, uint32_t rva)
{
	uint32_t cnt = perfmap_memory_u16(r, coff + COFF_SECTIONS);
	uint64_t at = coff + COFF_BYTES + perfmap_memory_u16(r, coff + COFF_OPTIONAL_BYTES);

	for (uint32_t i = 0; i < cnt && i < SECTIONS_MAX; i++, at += SECTION_BYTES) {
		uint32_t start = perfmap_memory_u32(r, at + 12);
		uint32_t bytes = perfmap_memory_u32(r, at + 16);

		if (rva >= start && rva - start < bytes)
			return perfmap_memory_u32(r, at + 20) + (rva - start);
	}
	return 0;
}

/* An image lies as it is to be run, or as its file: which, the beginning of the metadata tells. */
static bool find_metadata(struct perfmap_memory_reader *r, uint64_t base, uint64_t *ret_address,
			  uint32_t *ret_bytes)
{
	uint64_t coff = base + perfmap_memory_u32(r, base + DOS_NEW_HEADER), cli;
	bool is_plus = perfmap_memory_u16(r, coff + COFF_BYTES) == OPTIONAL_PLUS;
	uint32_t cli_rva = perfmap_memory_u32(r, coff + COFF_BYTES + (is_plus ? CLI_PLUS : CLI));
	uint32_t rva;

	if (!cli_rva || perfmap_memory_u16(r, base) != 0x5a4d)
		return false;
	for (int flat = 0; flat < 2; flat++) {
		bool failed = r->failed;

		cli = base + (flat ? offset_of(r, coff, cli_rva) : cli_rva);
		rva = perfmap_memory_u32(r, cli + CLI_METADATA);
		*ret_bytes = perfmap_memory_u32(r, cli + CLI_METADATA + 4);
		*ret_address = base + (flat ? offset_of(r, coff, rva) : rva);
		if (*ret_bytes && perfmap_memory_u32(r, *ret_address) == METADATA_SIGNATURE)
			return true;
		/* That it does not lie so is no failure. */
		r->failed = failed;
	}
	return false;
}

static ssize_t read_metadata(void *source, void *buf, size_t len, uint64_t offset)
{
	struct perfmap_module *m = source;

	if (offset > m->bytes)
		return 0;
	if (len > m->bytes - offset)
		len = m->bytes - offset;
	return perfmap_memory_direct(m->r, m->metadata + offset, buf, len) ? (ssize_t)len : -EIO;
}

/* By whole pages: what lies behind one name are others of the same kind. */
static void need_metadata(void *source, uint8_t *bytes, size_t at, size_t len)
{
	struct perfmap_module *m = source;
	size_t skew = m->metadata % PERFMAP_MEMORY_PAGE;
	size_t first = (skew + at) / PERFMAP_MEMORY_PAGE;

	for (size_t page = first; len && page <= (skew + at + len - 1) / PERFMAP_MEMORY_PAGE;
	     page++) {
		size_t from = page ? page * PERFMAP_MEMORY_PAGE - skew : 0;
		size_t end = (page + 1) * PERFMAP_MEMORY_PAGE - skew;

		if (m->pages[page / 8] >> (page % 8) & 1)
			continue;
		end = end < m->bytes ? end : m->bytes;
		if (!perfmap_memory_direct(m->r, m->metadata + from, bytes + from, end - from)) {
			memset(bytes + from, 0, end - from);
			m->r->failed = true;
			return;
		}
		m->pages[page / 8] |= (uint8_t)(1u << (page % 8));
	}
}

static void module_free(struct perfmap_module *m)
{
	perfmap_metadata_clear(&m->md);
	free(m->pages);
	free(m);
}

static void load(struct perfmap_modules_read *all, struct perfmap_module *m)
{
	struct perfmap_reader reader = {read_metadata, m, &all->r->work};
	uint64_t base =
		perfmap_memory_u64(all->r, m->address + all->layout->at[PERFMAP_MODULE_BASE]);

	if (!base || !find_metadata(all->r, base, &m->metadata, &m->bytes))
		return;
	m->pages = calloc(1, (m->bytes / PERFMAP_MEMORY_PAGE + 2) / 8 + 1);
	m->has = m->pages && !perfmap_metadata_open(&reader, m->bytes, need_metadata, m, &m->md);
	if (m->has)
		all->bytes += m->bytes;
}

const struct perfmap_metadata *perfmap_module_metadata(struct perfmap_modules_read *all,
						       uint64_t module)
{
	uint64_t base = perfmap_memory_u64(all->r, module + all->layout->at[PERFMAP_MODULE_BASE]);
	struct perfmap_module *m;
	bool notes = all->r->notes;

	for (size_t i = 0; i < all->cnt; i++)
		if (all->modules[i]->address == module && all->modules[i]->base == base)
			return all->modules[i]->has ? &all->modules[i]->md : NULL;
	m = all->cnt < PERFMAP_MODULES_MAX ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return NULL;
	m->r = all->r;
	m->address = module;
	m->base = base;
	/* An image stays what it is. */
	all->r->notes = false;
	load(all, m);
	all->r->notes = notes;
	/* What failed now may be had for the next name. */
	if (!m->has && (all->r->failed || base)) {
		module_free(m);
		return NULL;
	}
	all->modules[all->cnt++] = m;
	return m->has ? &m->md : NULL;
}

void perfmap_modules_clear(struct perfmap_modules_read *all)
{
	for (size_t i = 0; i < all->cnt; i++)
		module_free(all->modules[i]);
	all->cnt = all->bytes = 0;
}

void perfmap_modules_trim(struct perfmap_modules_read *all)
{
	if (all->cnt == PERFMAP_MODULES_MAX || all->bytes > PERFMAP_MODULES_BYTES)
		perfmap_modules_clear(all);
}
