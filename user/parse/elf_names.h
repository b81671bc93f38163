/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_NAMES_H
#define HOTRUN_PARSE_ELF_NAMES_H
/*
 * Names of symbols as a table keeps them: each piece of a string table once, however many symbols
 * point into it, as linkers store a name that is the end of another one. So they take no more than
 * twice the string table's bytes, and are found in one pass over it. Not for use outside names/.
 */
#include "parse/elf.h"

/* A function of a table, and where its name begins in the string table. */
struct elf_name_ref {
	uint32_t at;
	uint32_t function;
};

/*
 * Gives the functions that refs speak of their names, which go to table->names, cut at a version
 * ("@@GLIBC_2.17") and at ELF_NAME_MAX. All at lie in the strings. Puts refs in order. Returns 0,
 * -ENOSPC (more than ELF_STRINGS_MAX in all) or -ENOMEM. Counts in table->work.
 */
int elf_names_keep(struct elf_table *table, const char *strings, size_t len,
		   struct elf_name_ref *refs, size_t cnt);

/* Adds one name that stands in no string table. Same results. */
int elf_names_add(struct elf_table *t, const char *text, size_t len, uint32_t *ret_offset);
#endif
