/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGE_H
#define PERFMAP_IMAGE_H
/*
 * Function bounds of a precompiled .NET image: a ready-to-run .dll for Linux (x64, arm64), a
 * composite one too. Names are not read. The content is hostile: everything is bounded and checked
 * against what was read. A loaded image is read-only, for any threads.
 *
 * Places are offsets in the image's file, as a mapping of it counts (offset of the mapping plus the
 * distance in it), not RVAs: they need no section table to be looked up with other tools.
 *
 * Source: Microsoft PE/COFF specification (headers, exception directory, ARM64 unwind data);
 * dotnet/runtime docs/design/coreclr/botr/readytorun-format.md: READYTORUN_SECTION_RUNTIME_FUNCTIONS
 * (102) has these rows, ordered by begin. The exception directory is that same table (the same RVA
 * and size in all 389 images with code of .NET 10.0.12's shared frameworks and SDK), two reads away
 * where the section is five, and the only one of both that composite images have in the usual place.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PERFMAP_IMAGE_FUNCTIONS_MAX (4u << 20) /* System.Private.CoreLib has 50,000 */
#define PERFMAP_IMAGE_SECTIONS_MAX  96u	       /* what Windows' loader takes */

/*
 * Reads up to len bytes at an offset of the image, as pread(2) does. Returns the bytes read, less
 * than len only at the end of the image, or negative errno. An image inside another file (bundles)
 * is read by adding where it begins.
 */
typedef ssize_t (*perfmap_image_read)(void *source, void *buf, size_t len, uint64_t offset);

struct perfmap_image;

struct perfmap_image_place {
	uint64_t start;	   /* offset in the image where the function's code starts */
	uint32_t function; /* row of RuntimeFunctions; handlers (EH funclets) have their own */
};

/*
 * Loads the table; read is not called again afterwards. Returns 0 with an owned image, or
 *	-ENOEXEC	not a PE file, or not of code for Linux on x64 or arm64
 *	-ENODATA	nothing precompiled inside
 *	-EBADMSG	malformed: cut short, or rows out of order
 *	-E2BIG		more rows or sections than the bounds above
 *	-ENOMEM, or what read returned.
 */
int perfmap_image_load(perfmap_image_read read, void *source, struct perfmap_image **ret_image);
void perfmap_image_free(struct perfmap_image *image);

/* Finds the function at an offset. Returns 0, or -ENOENT: no function's code lies there. */
int perfmap_image_find(const struct perfmap_image *image, uint64_t offset,
		       struct perfmap_image_place *ret_place);

/* Rows of the table, and the memory taken: 4 bytes a row. */
size_t perfmap_image_functions(const struct perfmap_image *image);
size_t perfmap_image_memory_bytes(const struct perfmap_image *image);
#endif
