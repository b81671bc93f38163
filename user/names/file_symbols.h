/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_SYMBOLS_H
#define HOTRUN_NAMES_FILE_SYMBOLS_H
/*
 * The symbol of a place in what a process has mapped: in ELF, in a .NET image, in what is bundled
 * in a program, in the vdso. What a symbol says is taken apart once for all. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "model/model.h"
#include "names/files.h"
#include "names/name_cache.h"
#include "opener/file_requests.h"
#include "parse/elf.h"

/* Begins with zeroes, and these three, borrowed. */
struct file_symbols {
	struct file_requests *requests;
	struct files *files;
	struct name_cache *cache;
	struct elf_table *vdso; /* NULL = not read, or none */
	bool vdso_read;
	struct file_symbol *known; /* those that were taken apart already */
	size_t known_cnt, known_cap;
	struct hash_index known_index;
};

void file_symbols_close(struct file_symbols *f);
/* Row of the symbol of an address in a mapping that is not JIT code; MODEL_NONE without memory.
 * What its file lacks yet is counted by the requests (deferred). */
uint32_t file_symbols_at(struct file_symbols *f, struct model *m, uint32_t process,
			 const struct model_mapping *mapping, uint64_t address);
#endif
