/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_RUNTIME_H
#define PERFMAP_MEMORY_RUNTIME_H
/*
 * Finds a .NET runtime in a process's memory by the descriptor that it exports, and reads that: in
 * libcoreclr.so, or in the program itself of a single-file one, whatever they are called. Hostile.
 * Not for use outside perfmap/. One thread.
 *
 * Source: dotnet/runtime docs/design/datacontracts/contract-descriptor.md; System V ABI and
 * GNU_HASH of the export.
 */
#include "perfmap/memory/layout.h"
#include "perfmap/memory/reader.h"

#define PERFMAP_DESCRIPTOR_BYTES 40u
#define PERFMAP_POINTERS_MAX	 4096u

struct perfmap_runtime {
	struct perfmap_layout layout;
	uint64_t descriptor;
	uint64_t threads;  /* where it is told where its threads are; 0 = not known */
	uint64_t code_map; /* address of the map of code ranges; 0 = not known */
};

/* The export in the file that is mapped there as code. 0; -ENOENT: it has none; -EFAULT: it cannot
 * be read. */
int perfmap_runtime_find(struct perfmap_memory_reader *r, uint64_t start, uint64_t file_offset,
			 uint64_t *ret_descriptor);

/* layout: its, that was read before, or NULL. 0; -EFAULT; -EBADMSG: no descriptor lies there;
 * -ENOTSUP: it tells too little, or of another layout; -ENOMEM. */
int perfmap_runtime_load(struct perfmap_memory_reader *r, uint64_t descriptor,
			 const struct perfmap_layout *layout, struct perfmap_runtime *ret_runtime);

/* Looks in the variables of the library that has the descriptor for the map in which an address of
 * code is. 0; -ENOENT; -EFAULT. */
int perfmap_runtime_search(struct perfmap_memory_reader *r, struct perfmap_runtime *runtime,
			   uint64_t address);
#endif
