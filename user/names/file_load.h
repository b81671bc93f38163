/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_LOAD_H
#define HOTRUN_NAMES_FILE_LOAD_H
/*
 * One mapped file on its way to its table: opened by the opener, read by a worker, its debug files
 * tried one after the other. Each step that takes long goes on by itself; file_load_step() looks
 * after it. One thread.
 */
#include "names/shelf.h"
#include "names/sources.h"
#include "parse/elf.h"
#include "parse/image_table.h"

/* What a load is of. */
struct file_key {
	uint32_t process, module;
	enum file_kind kind;
	/* IMAGE, COMPONENT: where a bundled image begins in the file; 0 = the file itself. */
	uint64_t inside;
};

/* Where the file of an assembly is to be found. */
struct file_component {
	uint32_t component;
	uint64_t inside, bytes; /* in a bundle; 0, 0 = a file of its own, at path */
	char path[FILE_PATH_BYTES];
};

struct file_load {
	struct file_key key;
	uint64_t party;		/* who pays, and for whom it is */
	uint64_t inside_bytes;	/* of a bundled image */
	struct shelf_ref table; /* COMPONENT: the image */
	uint64_t wanted;	/* COMPONENT: one function, or 0 = all of the assembly */
	struct elf_identity identity;
	/* Results, owned; those of its kind. */
	struct elf_table *elf;
	struct bundle_table *bundle;
	struct image_table *image;
	struct unwind_table *unwind;
	int part_fd; /* COMPONENT: a further part, or -1 */
	size_t part_bytes;
	uint64_t cpu_ns;   /* that it took */
	uint64_t asked_ns; /* for the last time */
	/* Its own. */
	int step;
	enum file_debug_place debug_place; /* to be looked at next */
	enum file_stage stage;
	struct workers_job *job;
	struct mapped_request mapped;	   /* of the file itself */
	uint64_t file_offset;		   /* of its mapping */
	struct file_request request;	   /* what is asked now */
	struct file_component *components; /* owned */
	uint32_t components_cnt;
};

/* Of a file that is mapped there. Owned, or NULL with errno ENOMEM. */
struct file_load *file_load_new(const struct model *m, const struct file_key *key,
				const struct model_mapping *mapping);
/* Ends what is under way. Takes NULL. */
void file_load_free(const struct sources *src, struct file_load *load);

/* Who the file is, as far as it can be told without reading it, into identity. Reasons of the
 * requests. */
enum model_reason file_load_identify(const struct sources *src, const struct model *m,
				     struct file_load *load);

/*
 * Goes on, as far as the budgets of waiting allow. REASON_PENDING: not done yet; REASON_NAMED:
 * done, the result is there; or why there is none.
 */
enum model_reason file_load_step(const struct sources *src, const struct model *m,
				 struct file_load *load);
#endif
