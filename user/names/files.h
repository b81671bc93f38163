/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILES_H
#define HOTRUN_NAMES_FILES_H
/*
 * Finds the table of a mapped file (symbols of ELF, functions of a precompiled .NET image): has the
 * file opened below the root of its process and read by a worker, makes sure it is the one that was
 * mapped (build id, else inode), adds its separate debug file where there is one, and keeps tables
 * for all processes of one party with the same file (shelf.h says why not for others). One thread.
 *
 * What takes longer than may be waited for goes on by itself: look-ups answer REASON_PENDING until
 * it is done. A file that costs more than a file may is not read again for its party.
 *
 * A gone process's file is named from the same path on the host, if the build id agrees, else from
 * a table of its party of the same build id or inode, else from one of root's own processes outside
 * of containers: what those map is no stranger's.
 */
#include "model/model.h"
#include "names/sources.h"
#include "parse/elf.h"
#include "parse/image_table.h"

/* Files on their way to their tables, and those of one party; what comes then waits for its
 * turn. */
#define FILES_LOADS_MAX	  256u
#define FILES_LOADS_PARTY 16u
#define FILES_WALKS_PARTY 64u /* of these, how they are unwound: soon done, and urgent */

struct files;

/* Borrows the sources until files_free(). memory_bytes: of all tables. Returns owned, or NULL with
 * errno ENOMEM. */
struct files *files_new(const struct sources *sources, size_t memory_bytes);
void files_free(struct files *f);

/* Bytes of all tables. */
size_t files_bytes(const struct files *f);

/* A number for the content of the table or image that was returned last, never given to another. */
uint64_t files_content(const struct files *f);

/*
 * The table of the file that is mapped there. Returns REASON_NAMED with a table, borrowed until the
 * next call; else why there is none. A first look at a file may take up to the deadline, further
 * ones are hash look-ups. One that the file requests deferred is no look: the next call asks again.
 */
enum model_reason files_table(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct elf_table **ret_table);

/* An assembly inside a single-file program. */
struct files_bundled {
	const struct image_table *image; /* borrowed until the next call */
	const char *path;		 /* in the bundle, borrowed until the next call */
	uint64_t start;			 /* of the image in the file */
};

/*
 * The image that lies at an offset of a mapped executable. Returns REASON_NAMED with all of it;
 * REASON_NO_SYMBOL where none is bundled there; or why it could not be read: then path and start
 * are set. Otherwise as files_table().
 */
enum model_reason files_bundled(struct files *f, const struct model *m, uint32_t process,
				const struct model_mapping *mapping, uint64_t offset,
				struct files_bundled *ret_bundled);

/* How the code of a mapped file is unwound. */
struct files_unwind {
	const struct unwind_table *table; /* borrowed until the next call */
	uint64_t content;		  /* files_content() of it */
	uint64_t inside; /* where a bundled image begins in the file; 0 = the file itself */
};

/* As files_table(); of a mapping in which a bundled image lies, that of the image. */
enum model_reason files_unwind(struct files *f, const struct model *m, uint32_t process,
			       const struct model_mapping *mapping,
			       struct files_unwind *ret_unwind);

/* Whether assemblies are kept compressed in a mapped executable: their code runs from anonymous
 * memory. False too where it could not be looked at. */
bool files_compressed(struct files *f, const struct model *m, uint32_t process,
		      const struct model_mapping *mapping);

/*
 * Has the names read that the image which files_image() or files_bundled() returned last needs an
 * assembly for, from the file beside it; place as image_table_find() has it. REASON_NAMED: look
 * again; REASON_PENDING; or why they cannot be had.
 */
enum model_reason files_component(struct files *f, const struct model *m, uint32_t process,
				  const struct model_mapping *mapping,
				  const struct image_place *place);

/* The same as files_table() for a mapped file that symbol_is_image(). */
enum model_reason files_image(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct image_table **ret_image);
#endif
