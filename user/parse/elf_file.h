/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_FILE_H
#define HOTRUN_PARSE_ELF_FILE_H
/*
 * Opens a hostile ELF file with libelf, once what libelf would make of it is known to be bounded.
 */
#include <gelf.h>
#include <libelf.h>
#include <stddef.h>

#include "base/cleanup.h"

static inline void cleanup_elf(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}
#define _cleanup_elf_ _cleanup_(cleanup_elf)

/* A program or library of the host's byte order; NULL: it is none, or makes no sense. elf_end(). */
Elf *elf_file_open(int fd);

/* Program headers that are to be looked at. */
size_t elf_file_headers(Elf *elf);

/* Number of the section that names sections, 0 = none, or too large: libelf reads all of it into
 * memory for one name, and looks through all of it for the name's end. */
size_t elf_file_names(Elf *elf);
#endif
