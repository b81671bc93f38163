/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_IMAGES_IMAGE_NAMES_H
#define PERFMAP_IMAGES_IMAGE_NAMES_H
/*
 * Which method each function of a ready-to-run image belongs to: 4 bytes a function beside the
 * metadata; the text of a name is made when it is asked for. Not for use outside perfmap/. A loaded
 * one is read-only, for any threads.
 *
 * Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md.
 */
#include "perfmap/images/metadata.h"
#include "perfmap/images/pe.h"

/*
 * Bounds, beside those of metadata.h and signature.h. Each directory may be read, and each
 * signature taken apart, as often as tables point at it: the reader's work bounds all of that by
 * the file's length.
 */
#define PERFMAP_COMPONENTS_MAX	   1024u	/* assemblies of a composite image; .NET has 314 */
#define PERFMAP_ENTRY_POINTS_BYTES (64u << 20)	/* of one table; 5 MB in that composite image */
#define PERFMAP_METHODS_MAX	   (4u << 20)	/* that tables of entry points speak of, in all */
#define PERFMAP_NAMES_BYTES_MAX	   (128u << 20) /* of all metadata of one image */

struct perfmap_image_names;

/*
 * Loads what names need for an image with that many functions. Returns 0 with owned names;
 * -ENODATA (no header of a ready-to-run image); -EBADMSG, -E2BIG, -ENOMEM, or what read returned.
 */
int perfmap_image_names_load(const struct perfmap_pe *pe, const struct perfmap_reader *r,
			     uint32_t functions, struct perfmap_image_names **ret_names);
void perfmap_image_names_free(struct perfmap_image_names *names);

/* See perfmap_image_name(), perfmap_image_component(), perfmap_image_give_component(). */
int perfmap_image_names_put(const struct perfmap_image_names *names, uint32_t function, char *buf,
			    size_t cap, struct perfmap_work *work, size_t *ret_len,
			    uint32_t *ret_component);
int perfmap_image_names_component(const struct perfmap_image_names *names, uint32_t component,
				  char *buf, size_t cap);
int perfmap_image_names_give(struct perfmap_image_names *names, uint32_t component,
			     struct perfmap_component *given);
/* PERFMAP_MVID_BYTES, borrowed, or NULL. */
const uint8_t *perfmap_image_names_mvid(const struct perfmap_image_names *names);
size_t perfmap_image_names_memory_bytes(const struct perfmap_image_names *names);
#endif
