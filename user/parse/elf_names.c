/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/elf_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The piece of the string table that was kept last: [from, to) of it lies at offset in names. */
struct piece {
	size_t from, to;
	uint32_t offset;
};

static int compare_refs(const void *pa, const void *pb)
{
	const struct elf_name_ref *a = pa, *b = pb;

	return (a->at > b->at) - (a->at < b->at);
}

static void sort_refs(struct elf_name_ref *refs, size_t cnt)
{
	size_t i = 1;

	/* Linkers often write them in order. */
	while (i < cnt && refs[i - 1].at <= refs[i].at)
		i++;
	if (i < cnt)
		qsort(refs, cnt, sizeof(*refs), compare_refs);
}

/* Where the name that begins at ends: at NUL, or at its version. */
static size_t name_end(const char *strings, size_t len, size_t at)
{
	while (++at < len && strings[at] && strings[at] != '@')
		;
	return at;
}

int elf_names_add(struct elf_table *t, const char *text, size_t len, uint32_t *ret_offset)
{
	if (t->names_len + len + 1 > ELF_STRINGS_MAX)
		return -ENOSPC;
	while (t->names_cap - t->names_len < len + 1) {
		size_t cap = t->names_cap ? t->names_cap * 2 : 4096;
		char *p = realloc(t->names, cap);

		if (!p)
			return -ENOMEM;
		t->names = p;
		t->names_cap = cap;
	}
	*ret_offset = (uint32_t)t->names_len;
	memcpy(t->names + t->names_len, text, len);
	t->names[t->names_len + len] = '\0';
	t->names_len += len + 1;
	perfmap_work_add(&t->work, len + 1);
	return 0;
}

int elf_names_keep(struct elf_table *table, const char *strings, size_t len,
		   struct elf_name_ref *refs, size_t cnt)
{
	struct piece kept = {0};
	size_t end = 0;

	sort_refs(refs, cnt);
	for (size_t i = 0; i < cnt; i++) {
		size_t at = refs[i].at, stop;

		/* Up to the end of this one there is no other end, so none is looked for again. */
		if (at >= end) {
			end = name_end(strings, len, at);
			perfmap_work_add(&table->work, end - at);
		}
		stop = end - at < ELF_NAME_MAX ? end : at + ELF_NAME_MAX;
		/* The end of the last piece, or, of an endless name, another part of it. */
		if (at >= kept.to || (kept.to != end && stop == end)) {
			int err = elf_names_add(table, strings + at, stop - at, &kept.offset);

			if (err)
				return err;
			kept.from = at;
			kept.to = stop;
		}
		table->functions[refs[i].function].name = kept.offset + (uint32_t)(at - kept.from);
	}
	return 0;
}
