/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_JOB_H
#define HOTRUN_NAMES_FILE_JOB_H
/*
 * The loader's job that loads the symbols of one opened file: of an ELF file with what is bundled into
 * it, or of a precompiled .NET image, which may lie inside the file. Run again with the table that it
 * made, it adds those of a debug file, or without one those packed into the file itself. Files cannot
 * hang (fetch.h), but hostile content can make it long work.
 */
#include "names/elf.h"
#include "names/loader.h"
#include "perfmap/bundle.h"
#include "perfmap/image.h"

enum file_kind {
	FILE_ELF, /* symbols; with the list of what is bundled, where something is */
	FILE_IMAGE,
	FILE_BUNDLE,	/* that list alone */
	FILE_COMPONENT, /* metadata of an assembly of a composite image */
};

struct file_job {
	struct loader_job base;
	int fd;	      /* owned: the file */
	int debug_fd; /* owned: with a table a debug file to add, or -1 */
	enum file_kind kind;
	uint64_t inside, inside_bytes; /* IMAGE, COMPONENT: where in the file; 0, 0 = all of it */
	struct elf_identity identity;  /* of the file */
	/* Results. */
	enum model_reason reason;
	/* Owned; each may be NULL. */
	struct elf_table *table;
	struct perfmap_bundle *bundle;
	struct perfmap_image *image;
	struct perfmap_component *component;
};

/* Takes fd (closes it on failure too). Returns owned (release with job->base.release), or NULL with
 * errno ENOMEM. */
struct file_job *file_job_new(int fd, enum file_kind kind, const struct elf_identity *identity);

/* A debug file for the next run, -1 none: takes fd. */
void file_job_give(struct file_job *job, int fd);
#endif
