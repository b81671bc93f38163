/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_BLOB_H
#define HOTRUN_PARSE_ELF_BLOB_H
/* A table of an ELF file on its way from the worker that made it (isolate/blob.h). */
#include "parse/elf.h"

/* The worker's side: 0 or -errno. */
int elf_blob_write(const struct elf_table *table, int fd);

/* Takes fd, a sealed file of that length. Returns an owned table, whose rows may say anything, or
 * NULL with errno. The device, inode, size and time in its identity are the caller's to fill. */
struct elf_table *elf_blob_read(int fd, size_t bytes);
#endif
