/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_BUNDLE_H
#define PERFMAP_IMAGES_BUNDLE_H
/*
 * Assemblies inside a single-file .NET program: the list of what is bundled into its executable
 * behind the ELF part. The content is hostile: everything is bounded and checked against what was
 * read. A loaded one is read-only, for any threads.
 *
 * Source: dotnet/runtime src/native/corehost/apphost/bundle_marker.h (a mark in the host's data
 * says where the list is), src/native/corehost/bundle/{header,file_entry,reader}.cpp (version 6,
 * since .NET 6; 2 of .NET 5 lacks the compressed size), dotnet/designs
 * accepted/2020/single-file/bundler.md.
 */
#include <stddef.h>
#include <stdint.h>

#include "perfmap/images/image.h"

#define PERFMAP_BUNDLE_ENTRIES_MAX  65536u	/* a self-contained web service has 250 */
#define PERFMAP_BUNDLE_LIST_BYTES   (8u << 20)	/* of the list: 40 bytes an entry are usual */
#define PERFMAP_BUNDLE_DATA_BYTES   (16u << 20) /* of the host's data, searched for the mark */
#define PERFMAP_BUNDLE_SEGMENTS_MAX 64u

struct perfmap_bundle;

struct perfmap_bundle_entry {
	uint64_t offset, bytes;	   /* in the file */
	uint64_t compressed_bytes; /* 0 = as it is; else this many bytes of it lie there */
	const char *path;	   /* as the bundle has it, e.g. "System.Text.Json.dll" */
};

/*
 * Where the program itself ends and where the list begins, which goes on to the end of the file:
 * all that perfmap_bundle_load() and readers of ELF symbols look at. Returns 0 or errors as below.
 */
int perfmap_bundle_locate(perfmap_image_read read, void *source, uint64_t *ret_program_end,
			  uint64_t *ret_list);

/*
 * Loads the list; read is not called again afterwards. Returns 0 with an owned bundle, or
 *	-ENOENT		no bundle: no ELF64 file, or none with something behind
 *	-EBADMSG	malformed
 *	-E2BIG		more than the bounds above
 *	-ENOMEM, or what read returned.
 */
int perfmap_bundle_load(perfmap_image_read read, void *source, struct perfmap_bundle **ret_bundle);
void perfmap_bundle_free(struct perfmap_bundle *bundle);

/* All entries by offset, borrowed. */
const struct perfmap_bundle_entry *perfmap_bundle_entries(const struct perfmap_bundle *bundle,
							  size_t *ret_cnt);

/* The uncompressed entry that holds an offset of the file, borrowed; or NULL. */
const struct perfmap_bundle_entry *perfmap_bundle_find(const struct perfmap_bundle *bundle,
						       uint64_t offset);

/* The uncompressed entry with a path, borrowed; or NULL. */
const struct perfmap_bundle_entry *perfmap_bundle_named(const struct perfmap_bundle *bundle,
							const char *path);

/* Assemblies (.dll) that are kept compressed: their code runs from anonymous memory. */
size_t perfmap_bundle_compressed(const struct perfmap_bundle *bundle);

/* Work that loading it took (see work.h), which the bounds above bound. */
uint64_t perfmap_bundle_work(const struct perfmap_bundle *bundle);

size_t perfmap_bundle_memory_bytes(const struct perfmap_bundle *bundle);
#endif
