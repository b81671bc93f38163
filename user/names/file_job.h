/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_JOB_H
#define HOTRUN_NAMES_FILE_JOB_H
/*
 * The loader's job that loads the symbols of one opened file (of a precompiled .NET image, its
 * function bounds); run again with the table that it made, it adds those of a debug file, or without
 * one those packed into the file itself. Files cannot hang (fetch.h), but hostile content can make it
 * long work.
 */
#include "names/elf.h"
#include "names/loader.h"
#include "perfmap/image.h"

struct file_job {
	struct loader_job base;
	int fd;			      /* owned: the file */
	int debug_fd;		      /* owned: with a table a debug file to add, or -1 */
	bool is_image;		      /* precompiled .NET code, not ELF */
	struct elf_identity identity; /* of the file */
	/* Results. */
	enum model_reason reason;
	/* Owned: one of both. */
	struct elf_table *table;
	struct perfmap_image *image;
};

/* Takes fd (closes it on failure too). Returns owned (release with job->base.release), or NULL with
 * errno ENOMEM. */
struct file_job *file_job_new(int fd, bool is_image, const struct elf_identity *identity);

/* A debug file for the next run, -1 none: takes fd. */
void file_job_give(struct file_job *job, int fd);
#endif
