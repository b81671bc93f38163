/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf_entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "parse/elf_names.h"
#include "parse/elf_slots.h"
#include "perfmap/names/name.h"

#define WORD	      8u
#define ENTRY_WORDS   2u /* name, code */
#define CLASS_WORDS   3u /* class, namespace, functions */
#define METHOD_CODE   (1 * WORD)
#define METHOD_NAME   (2 * WORD)
#define METHOD_BYTES  (3 * WORD)
#define SIGNED_BYTES  (4 * WORD) /* of a method with a signature */
#define METHOD_LAST   1u	 /* flags */
#define METHOD_SIGNED 2u
#define METHOD_FLAGS  0xffffffu /* above them a number of the method's */
#define METHOD_KNOWN  7u

struct finder {
	struct elf_table *table;
	struct elf_slots slots;
	bool *is_method; /* by slot: read as a method's name */
	size_t added, name_bytes;
};

bool elf_entries_is_export(const char *name, size_t room)
{
	static const char *const names[] = {"DotNetRuntimeContractDescriptor", "DotNetRuntimeInfo",
					    "g_dacTable"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (room > strlen(names[i]) && !strcmp(name, names[i]))
			return true;
	return false;
}

/* --- what a slot points at -------------------------------------------------------------------- */

static bool is_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.';
}

/* The name at vaddr, NUL-terminated and borrowed from the file, or NULL. */
static const char *name_at(struct finder *f, uint64_t vaddr)
{
	size_t room, len = 0;
	const char *text = (const char *)elf_slots_data(&f->slots, vaddr, &room);

	if (!text)
		return NULL;
	while (len < room && len <= ELF_ENTRY_NAME_MAX && is_part(text[len]))
		len++;
	perfmap_work_add(&f->table->work, len);
	if (len < 2 || len == room || len > ELF_ENTRY_NAME_MAX || text[len] ||
	    (*text >= '0' && *text <= '9'))
		return NULL;
	return text;
}

/* Whether cnt slots follow each other from the i-th on. */
static bool are_together(const struct finder *f, size_t i, size_t cnt)
{
	const struct elf_slot *slots = f->slots.slots;

	return i + cnt <= f->slots.cnt && slots[i + cnt - 1].at - slots[i].at == (cnt - 1) * WORD;
}

static const struct elf_extent *extent_at(const struct elf_table *t, uint64_t start)
{
	size_t low = 0, high = t->extents_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->extents[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->extents_cnt && t->extents[low].start == start ? &t->extents[low] : NULL;
}

static void add_function(struct finder *f, uint64_t code, const char *name)
{
	const struct elf_extent *extent = extent_at(f->table, code);
	struct elf_table *t = f->table;
	size_t len = strlen(name);
	uint32_t offset;

	/* Names that many share may not make a small file a large table. */
	if (!extent || f->added >= ELF_ENTRIES_MAX ||
	    f->name_bytes + len >= t->identity.size_bytes ||
	    GROW(t->functions, t->functions_cnt, t->functions_cap) ||
	    elf_names_add(t, name, len, &offset))
		return;
	t->functions[t->functions_cnt++] = (struct elf_function){
		.start = code,
		.size = extent->size,
		.name = offset,
		.rank = ELF_RANK_ENTRY,
	};
	f->added++;
	f->name_bytes += len + 1;
}

/* --- {name, code} ----------------------------------------------------------------------------- */

static bool is_entry(struct finder *f, size_t i)
{
	const struct elf_slot *slots = f->slots.slots;

	return are_together(f, i, ENTRY_WORDS) &&
	       elf_slots_is_code(&f->slots, slots[i + 1].value) && name_at(f, slots[i].value);
}

static bool is_class(struct finder *f, size_t i)
{
	const struct elf_slot *slots = f->slots.slots;
	size_t len;

	return are_together(f, i, CLASS_WORDS) && name_at(f, slots[i].value) &&
	       name_at(f, slots[i + 1].value) &&
	       elf_slots_data(&f->slots, slots[i + 2].value, &len);
}

/* Rows of so many words that follow each other from the i-th slot on. */
static size_t table_rows(struct finder *f, size_t i, size_t words,
			 bool (*is_row)(struct finder *f, size_t i))
{
	size_t rows = 0;

	while (!perfmap_work_exceeded(&f->table->work) && is_row(f, i + rows * words) &&
	       are_together(f, i, (rows + 1) * words))
		rows++;
	return rows;
}

static void add_entries(struct finder *f, size_t i, size_t rows)
{
	const struct elf_slot *slots = f->slots.slots + i;

	for (; rows--; slots += ENTRY_WORDS) {
		const char *name = name_at(f, slots[0].value);

		if (name)
			add_function(f, slots[1].value, name);
	}
}

/* --- {class, namespace, functions} ------------------------------------------------------------ */

static void add_method(struct finder *f, const struct elf_slot *of, uint64_t code,
		       uint64_t name_vaddr)
{
	const char *class = name_at(f, of[0].value), *namespace = name_at(f, of[1].value);
	const char *method = name_at(f, name_vaddr);
	char raw[3 * ELF_ENTRY_NAME_MAX + 32], display[ELF_NAME_MAX];
	struct perfmap_name name;
	int len;

	if (!class || !namespace || !method)
		return;
	len = snprintf(raw, sizeof(raw), "[] %s.%s::%s", namespace, class, method);
	perfmap_work_add(&f->table->work, (uint64_t)len);
	perfmap_name_parse(raw, (size_t)len, display, sizeof(display), &name);
	add_function(f, code, name.display);
}

/* Adds the methods of a class, whose row of[] is. Each slot is read once, whoever points there. */
static void add_methods(struct finder *f, const struct elf_slot *of)
{
	uint64_t at = of[2].value, flags;

	while (!perfmap_work_exceeded(&f->table->work)) {
		size_t code = elf_slots_find(&f->slots, at + METHOD_CODE);
		size_t name = elf_slots_find(&f->slots, at + METHOD_NAME), len;
		const uint8_t *data = elf_slots_data(&f->slots, at, &len);

		if (!data || len < METHOD_BYTES || name == ELF_SLOT_NONE || f->is_method[name])
			return;
		memcpy(&flags, data, sizeof(flags));
		if (flags & METHOD_LAST || flags & METHOD_FLAGS & ~METHOD_KNOWN)
			return;
		f->is_method[name] = true;
		/* One that the runtime sets as it starts has no code in the file. */
		if (code != ELF_SLOT_NONE)
			add_method(f, of, f->slots.slots[code].value, f->slots.slots[name].value);
		at += flags & METHOD_SIGNED ? SIGNED_BYTES : METHOD_BYTES;
	}
}

static void add_classes(struct finder *f, size_t i, size_t rows)
{
	for (; rows--; i += CLASS_WORDS)
		add_methods(f, &f->slots.slots[i]);
}

/* ---------------------------------------------------------------------------------------------- */

static void find_tables(struct finder *f)
{
	for (size_t i = 0; i < f->slots.cnt && !perfmap_work_exceeded(&f->table->work);) {
		size_t entries = table_rows(f, i, ENTRY_WORDS, is_entry);
		size_t classes = table_rows(f, i, CLASS_WORDS, is_class);

		if (entries >= ELF_ENTRY_ROWS_LEAST) {
			add_entries(f, i, entries);
			i += entries * ENTRY_WORDS;
		} else if (classes >= ELF_ENTRY_ROWS_LEAST) {
			add_classes(f, i, classes);
			i += classes * CLASS_WORDS;
		} else {
			i++;
		}
	}
}

void elf_entries_add(Elf *elf, struct elf_table *table)
{
	struct finder f = {.table = table};

	if (!elf_slots_read(elf, &table->work, &f.slots) && f.slots.cnt) {
		f.is_method = calloc(f.slots.cnt, sizeof(*f.is_method));
		if (f.is_method)
			find_tables(&f);
	}
	free(f.is_method);
	elf_slots_clear(&f.slots);
}
