/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_IMAGE_TABLE_H
#define HOTRUN_PARSE_IMAGE_TABLE_H
/*
 * Functions of a precompiled .NET image with their raw names, and what is bundled into a
 * single-file program, as workers make them of the files (perfmap/images/image.h,
 * perfmap/images/bundle.h; isolate/blob.h). Rows may say anything: they are checked while they are
 * used. One thread.
 *
 * Of a composite image most names need the metadata of an assembly in a file of its own: then the
 * row tells which one, and a further part, made with that, has the names.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/blob.h"
#include "perfmap/images/bundle.h"
#include "perfmap/images/image.h"

/* Names of one image, and of all its parts together that are read. */
#define IMAGE_TEXT_BYTES_MAX (48u << 20)
/* Further parts, each with the names of one assembly; .NET has 314. */
#define IMAGE_PARTS_MAX 512u
/* Assemblies that a worker is given at a time: some instantiations need several. */
#define IMAGE_COMPONENTS_MAX 6u
#define IMAGE_COMPONENT_NONE UINT32_MAX

/* --- the worker's side ------------------------------------------------------------------------ */

/* What is asked of an image. */
struct image_wish {
	const uint64_t *wanted; /* functions by offset; wanted_cnt 0 = all */
	size_t wanted_cnt;
	/* For a further part: the assemblies that were given to the image meanwhile, and which one
	 * each function needed before, as image_table_needs() tells. Functions that needed none of
	 * them are left out. */
	const uint32_t *components;
	uint32_t components_cnt;
	const uint32_t *needs;
};

/* Which assembly each function needs for its name, IMAGE_COMPONENT_NONE = none. Owned, or NULL. */
uint32_t *image_table_needs(const struct perfmap_image *image);
/* 0 or -errno. */
int image_table_write(struct perfmap_image *image, const struct image_wish *wish, int fd);
int bundle_table_write(const struct perfmap_bundle *bundle, int fd);

/* --- images ----------------------------------------------------------------------------------- */

struct image_table;

struct image_place {
	uint64_t start;	       /* offset in the image where the function begins */
	const char *name;      /* raw, borrowed from the table; NULL = none, error says why */
	int error;	       /* as of perfmap_image_name() */
	uint32_t component;    /* with -EAGAIN: the assembly that is needed, beside those given */
	const uint32_t *given; /* borrowed from the table */
	uint32_t given_cnt;
};

/* Takes fd, a sealed file of that length. Owned, or NULL with errno. */
struct image_table *image_table_read(int fd, size_t bytes);
void image_table_free(struct image_table *t);

/* Adds a further part. Takes fd. 0 or -errno: -E2BIG, -EBADMSG, -ENOMEM. */
int image_table_add(struct image_table *t, int fd, size_t bytes);

/* Finds the function at an offset. 0, or -ENOENT: no function's code lies there. */
int image_table_find(const struct image_table *t, uint64_t offset, struct image_place *ret_place);

/* Name of an assembly that is needed, a file name without ".dll"; NULL where it is not known. */
const char *image_table_component(const struct image_table *t, uint32_t component);

/* Its version id, PERFMAP_IMAGE_MVID_BYTES, or NULL. */
const uint8_t *image_table_mvid(const struct image_table *t);
size_t image_table_bytes(const struct image_table *t);
/* All that there is of it, borrowed; NULL where further parts are or may be added. */
const struct blob *image_table_blob(const struct image_table *t);

/* --- bundles ---------------------------------------------------------------------------------- */

struct bundle_table;

/* Takes fd. Owned, or NULL with errno. */
struct bundle_table *bundle_table_read(int fd, size_t bytes);
void bundle_table_free(struct bundle_table *t);

/* As the functions of perfmap/images/bundle.h; ret_entry->path is borrowed from the table.
 * False: none. */
bool bundle_table_find(const struct bundle_table *t, uint64_t offset,
		       struct perfmap_bundle_entry *ret_entry);
bool bundle_table_named(const struct bundle_table *t, const char *path,
			struct perfmap_bundle_entry *ret_entry);
/* Whether assemblies are kept compressed. */
bool bundle_table_compressed(const struct bundle_table *t);
size_t bundle_table_bytes(const struct bundle_table *t);
/* All that there is of it, borrowed. */
const struct blob *bundle_table_blob(const struct bundle_table *t);
#endif
