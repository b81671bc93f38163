/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_IMAGE_H
#define PERFMAP_IMAGES_IMAGE_H
/*
 * Functions of a precompiled .NET image and their names: a ready-to-run .dll for Linux (x64,
 * arm64), a composite one too. The content is hostile: everything is bounded and checked against
 * what was read (here, image_names.h, metadata.h, signature.h). A loaded image is read-only (but
 * for perfmap_image_give_component()), for any threads; the file is not needed any more: it keeps
 * 70 to 80 bytes a function, and a name is put together when it is asked for.
 *
 * Places are offsets in the image's file, as a mapping of it counts (offset of the mapping plus the
 * distance in it), not RVAs: they need no section table to be looked up with other tools.
 *
 * Source: Microsoft PE/COFF specification (headers, exception directory, ARM64 unwind data);
 * dotnet/runtime docs/design/coreclr/botr/readytorun-format.md:
 * READYTORUN_SECTION_RUNTIME_FUNCTIONS (102) has these rows, ordered by begin. The exception
 * directory is that same table (the same RVA and size in all 389 images with code of .NET 10.0.12's
 * shared frameworks and SDK), two reads away where the section is five, and the only one of both
 * that composite images have in the usual place.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perfmap/work.h"

#define PERFMAP_IMAGE_FUNCTIONS_MAX (4u << 20) /* System.Private.CoreLib has 50,000 */

/*
 * Work on an image (see work.h): so much for each byte of its file at most, where .NET's own images
 * take less than 1; and so much for a name, where FSharp.Core's longest takes 7,000.
 */
#define PERFMAP_IMAGE_WORK_PER_BYTE 8u
#define PERFMAP_IMAGE_WORK_BASE	    (1u << 20)
#define PERFMAP_NAME_WORK_MAX	    (64u << 10)

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
 * Loads the functions and what their names need; read is not called again afterwards. An image
 * whose names cannot be read is loaded without: perfmap_image_name() says why. Returns 0 with an
 * owned image, or
 *	-ENOEXEC	not a PE file, or not of code for Linux on x64 or arm64
 *	-ENODATA	nothing precompiled inside
 *	-EBADMSG	malformed: cut short, or rows out of order
 *	-E2BIG		more rows or sections than the bounds above, or more work
 *	-ENOMEM, or what read returned.
 */
int perfmap_image_load(perfmap_image_read read, void *source, struct perfmap_image **ret_image);
void perfmap_image_free(struct perfmap_image *image);

/* Finds the function at an offset. Returns 0, or -ENOENT: no function's code lies there. */
int perfmap_image_find(const struct perfmap_image *image, uint64_t offset,
		       struct perfmap_image_place *ret_place);

/* Where a function's code lies: offset in the image and length. 0, or -ENOENT: there is no such
 * row, or its code is in no section. */
int perfmap_image_function(const struct perfmap_image *image, uint32_t function,
			   uint64_t *ret_offset, uint32_t *ret_bytes);

/*
 * Puts the name of a function, byte for byte as a perf map has it for the same method compiled by
 * the JIT, but for the tier: "instance void [System.Private.CoreLib] System.Collections.Generic
 * .List`1[System.Int32]::Add(!0)[PreJIT]" (no blank before .List), for perfmap_name_parse().
 * Handlers have the name of their method, and so have its cold parts. At most cap - 1 bytes and a
 * NUL; ret_len without it. Returns 0, or
 *	-ENOENT		the image tells of no method that the function belongs to
 *	-EAGAIN		composite image: that needs the metadata of the assembly ret_component, see
 *			perfmap_image_give_component()
 *	-ENODATA	the metadata lacks it, or cannot be had, or the image has no names at all
 *	-E2BIG		the name does not fit or is too much work, or the tables were larger than
 *			we read
 *	-EBADMSG	malformed tables, or what read returned for them.
 */
int perfmap_image_name(const struct perfmap_image *image, uint32_t function, char *buf, size_t cap,
		       size_t *ret_len, uint32_t *ret_component);

/* The same, and counts in work, up to the limit there. */
int perfmap_image_name_counted(const struct perfmap_image *image, uint32_t function, char *buf,
			       size_t cap, struct perfmap_work *work, size_t *ret_len,
			       uint32_t *ret_component);

/*
 * A composite image has the code of many assemblies; their metadata lies in files of their own, in
 * the same folder or bundle, called like the assembly with ".dll".
 */
struct perfmap_component;

/* Loads the metadata of an assembly. Errors as of perfmap_image_load(). */
int perfmap_component_load(perfmap_image_read read, void *source,
			   struct perfmap_component **ret_component);
void perfmap_component_free(struct perfmap_component *component);

/* Name of an assembly of a composite image, without folder and ".dll", with a NUL in cap bytes.
 * Returns 0, or -ENOENT where it has none that a file can have. */
int perfmap_image_component(const struct perfmap_image *image, uint32_t component, char *buf,
			    size_t cap);

/*
 * Takes what was loaded for an assembly, on failure too; NULL says that it cannot be had, and names
 * that need it are -ENODATA from now on. Not while others use the image; it takes more memory then.
 * Returns 0; -ESTALE: another build of the assembly, -E2BIG: too much metadata (both as NULL then);
 * -EINVAL: not asked for.
 */
int perfmap_image_give_component(struct perfmap_image *image, uint32_t component,
				 struct perfmap_component *given);

/* Bytes of a module version id. */
#define PERFMAP_IMAGE_MVID_BYTES 16u
/* What tells this build of the assembly from all others (ECMA-335 II.22.30, Mvid), in the order of
 * the file; borrowed from the image. NULL: it has no metadata that could be read. */
const uint8_t *perfmap_image_mvid(const struct perfmap_image *image);

/* Work that loading it took. */
uint64_t perfmap_image_work(const struct perfmap_image *image);

/* Rows of the table, and the memory taken. */
size_t perfmap_image_functions(const struct perfmap_image *image);
size_t perfmap_image_memory_bytes(const struct perfmap_image *image);
#endif
