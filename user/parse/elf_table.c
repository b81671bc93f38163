/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order and look-up in a loaded table; see elf.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse/elf.h"

#define NESTING_MAX 16 /* symbols inside others that a look-up steps over */

static int compare_functions(const void *pa, const void *pb)
{
	const struct elf_function *a = pa, *b = pb;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	if (a->open != b->open)
		return a->open ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Whether a, an alias of equal rank, has the better name: the shorter one, else the first by bytes.
 * Asked once for each symbol, not by the sort: names may be long. */
static bool is_better(struct elf_table *t, const struct elf_function *a,
		      const struct elf_function *b)
{
	const char *na = t->names + a->name, *nb = t->names + b->name;
	size_t i = 0;

	if (a->name == b->name)
		return false;
	while (na[i] && nb[i])
		i++;
	perfmap_work_add(&t->work, i);
	if (na[i] || nb[i])
		return !na[i];
	return memcmp(na, nb, i) < 0;
}

static void shrink(struct elf_table *t)
{
	void *p;

	p = t->functions_cnt ? realloc(t->functions, t->functions_cnt * sizeof(*t->functions))
			     : NULL;
	if (p) {
		t->functions = p;
		t->functions_cap = t->functions_cnt;
	}
	p = t->names_len ? realloc(t->names, t->names_len) : NULL;
	if (p) {
		t->names = p;
		t->names_cap = t->names_len;
	}
}

/* Of two without a size of their own, the one that may reach farther tells how far. */
static void put_best(struct elf_function *to, const struct elf_function *best)
{
	uint32_t size = to->size;

	*to = *best;
	if (to->open && size > to->size)
		to->size = size;
}

/* Sorts, keeps the best of the symbols at one address, and closes those without a size. */
void elf_settle(struct elf_table *t)
{
	size_t kept = 0;

	if (!t->functions_cnt)
		return;
	qsort(t->functions, t->functions_cnt, sizeof(*t->functions), compare_functions);
	for (size_t i = 1; i < t->functions_cnt; i++) {
		const struct elf_function *f = &t->functions[i], *best = &t->functions[kept];

		if (f->start != best->start)
			t->functions[++kept] = *f;
		else if (f->open == best->open && f->rank == best->rank && is_better(t, f, best))
			put_best(&t->functions[kept], f);
		else if (f->open && best->open && f->size > best->size)
			t->functions[kept].size = f->size;
	}
	t->functions_cnt = kept + 1;
	for (size_t i = 0; i + 1 < t->functions_cnt; i++) {
		struct elf_function *f = &t->functions[i];
		uint64_t gap = f[1].start - f->start;

		if (f->open && gap < f->size)
			f->size = (uint32_t)gap;
	}
	shrink(t);
}

static const struct elf_function *find_function(const struct elf_table *t, uint64_t vaddr)
{
	size_t low = 0, high = t->functions_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->functions[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = low; i-- > 0 && low - i <= NESTING_MAX;)
		if (vaddr - t->functions[i].start < t->functions[i].size)
			return &t->functions[i];
	return NULL;
}

/* What the table says of a name: a worker's may say what is not there, or a name without end. */
static const char *name_of(const struct elf_table *t, const struct elf_function *f)
{
	const char *name = f->name < t->names_len ? t->names + f->name : "";

	return strnlen(name, ELF_NAME_MAX + 1) <= ELF_NAME_MAX ? name : "";
}

const char *elf_name_at(const struct elf_table *table, uint64_t vaddr)
{
	const struct elf_function *f = find_function(table, vaddr);

	return f ? name_of(table, f) : NULL;
}

void elf_free(struct elf_table *table)
{
	if (!table)
		return;
	if (table->blob) {
		blob_free(table->blob);
	} else {
		free(table->functions);
		free(table->extents);
		free(table->names);
	}
	elf_free(table->debug);
	free(table);
}

size_t elf_memory_bytes(const struct elf_table *table)
{
	size_t debug = table->debug ? elf_memory_bytes(table->debug) : 0;

	if (table->blob)
		return sizeof(*table) + blob_bytes(table->blob) + debug;
	return sizeof(*table) + table->functions_cap * sizeof(*table->functions) +
	       table->extents_cap * sizeof(*table->extents) + table->names_cap + debug;
}

/* Loaded parts are whole pages: code may lie in the rounding before and after a segment. */
#define PAGE_ROUND 4095u

void elf_place_code(struct elf_table *table, uint64_t start, uint64_t end, uint64_t file_offset)
{
	const struct elf_segment *code = &table->absent;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lead = code->vaddr & (page - 1);

	if (!table->absent_cnt)
		return;
	/* The headers that it has must not answer for what lies behind them. */
	table->segments_cnt = 0;
	/* Of two pieces it could not be told which one is mapped. */
	if (table->absent_cnt > 1 || end <= start || code->size > end - start ||
	    ((lead + code->size + page - 1) & ~(page - 1)) != end - start)
		return;
	table->segments[table->segments_cnt++] = (struct elf_segment){
		.offset = file_offset + lead, .size = code->size, .vaddr = code->vaddr};
}

/* Fills the place from a symbol of the table, which may be NULL. */
static bool find_named(const struct elf_table *table, uint64_t vaddr, struct elf_place *place)
{
	const struct elf_function *function = table ? find_function(table, vaddr) : NULL;

	if (!function || !*name_of(table, function))
		return false;
	*place = (struct elf_place){
		.vaddr = vaddr,
		.name = name_of(table, function),
		.function = function->start,
		.in_function = true,
	};
	return true;
}

const struct elf_extent *elf_extent_around(const struct elf_table *table, uint64_t vaddr,
					   size_t *ret_next)
{
	size_t low = 0, high = table->extents_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (table->extents[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (ret_next)
		*ret_next = low;
	return low && vaddr - table->extents[low - 1].start < table->extents[low - 1].size
		       ? &table->extents[low - 1]
		       : NULL;
}

bool elf_find(const struct elf_table *table, uint64_t file_offset, struct elf_place *ret_place)
{
	const struct elf_segment *segment = NULL;
	const struct elf_extent *extent;
	uint64_t vaddr;

	for (size_t i = 0; i < table->segments_cnt && !segment; i++) {
		const struct elf_segment *s = &table->segments[i];

		if (file_offset >= s->offset && file_offset - s->offset < s->size)
			segment = s;
	}
	for (size_t i = 0; i < table->segments_cnt && !segment; i++) {
		const struct elf_segment *s = &table->segments[i];

		if (file_offset >= (s->offset & ~(uint64_t)PAGE_ROUND) &&
		    file_offset - s->offset + PAGE_ROUND < s->size + 2 * PAGE_ROUND)
			segment = s;
	}
	if (!segment)
		return false;
	vaddr = file_offset - segment->offset + segment->vaddr;
	*ret_place = (struct elf_place){.vaddr = vaddr, .function = vaddr};
	if (find_named(table->debug, vaddr, ret_place) || find_named(table, vaddr, ret_place))
		return true;
	extent = elf_extent_around(table, vaddr, NULL);
	if (extent) {
		ret_place->function = extent->start;
		ret_place->in_function = true;
	}
	return true;
}
