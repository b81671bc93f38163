/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_JOB_H
#define HOTRUN_NAMES_FILE_JOB_H
/*
 * The loader's job that loads the symbols of one opened file (of a precompiled .NET image, its
 * function bounds), or adds those of its debug file. The file cannot hang (fetch.h), but hostile
 * content can make it long work.
 */
#include "names/elf.h"
#include "names/loader.h"
#include "perfmap/image.h"

struct file_job {
	struct loader_job base;
	int fd;			      /* owned: the file, or with a table its debug file */
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

/* Another file for another run: takes fd. */
void file_job_give(struct file_job *job, int fd);
#endif
