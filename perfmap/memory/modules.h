/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_MEMORY_MODULES_H
#define PERFMAP_MEMORY_MODULES_H
/*
 * The metadata of a process's modules, out of its memory, wherever they came from: a file, a
 * bundle, an array of bytes. Only what is looked at is read. Hostile. Not for use outside perfmap/.
 * One thread.
 *
 * Source: Microsoft PE/COFF specification; ECMA-335 II.25.3.3; dotnet/runtime
 * docs/design/datacontracts/EcmaMetadata.md, Loader.md.
 */
#include "perfmap/images/metadata.h"
#include "perfmap/memory/runtime.h"

/* Of one process at a time; beyond it all are forgotten, between two names. */
#define PERFMAP_MODULES_MAX   256u
#define PERFMAP_MODULES_BYTES (24u << 20)

struct perfmap_module;

struct perfmap_modules_read {
	struct perfmap_memory_reader *r;
	const struct perfmap_layout *layout;
	struct perfmap_module *modules[PERFMAP_MODULES_MAX]; /* owned */
	size_t cnt, bytes;
};

/* The metadata of the module at an address, borrowed until perfmap_modules_trim(); NULL: it has
 * none that can be read. */
const struct perfmap_metadata *perfmap_module_metadata(struct perfmap_modules_read *m,
						       uint64_t module);
/* Between two names: forgets all where they are too many. */
void perfmap_modules_trim(struct perfmap_modules_read *m);
void perfmap_modules_clear(struct perfmap_modules_read *m);
#endif
