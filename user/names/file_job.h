/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_FILE_JOB_H
#define HOTRUN_NAMES_FILE_JOB_H
/*
 * The loader's job that opens one mapped file and loads its symbols (of a precompiled .NET image, its
 * function bounds), in two steps so that its owner can look between them whether it knows the file
 * already.
 */
#include "names/asker.h"
#include "names/elf.h"
#include "perfmap/image.h"

enum file_step { FILE_STEP_OPEN, FILE_STEP_LOAD };

struct file_job {
	struct loader_job base;
	enum file_step step; /* to be run next */
	struct asker_target target;
	char *path;		    /* owned */
	struct model_module module; /* path is not to be used */
	uint64_t start, end;	    /* of the mapping */
	bool is_image;		    /* precompiled .NET code, not ELF */
	/* Results. */
	enum model_reason reason;
	int fd;			      /* owned, -1 = none */
	struct elf_identity identity; /* after FILE_STEP_OPEN */
	/* Owned, after FILE_STEP_LOAD: one of both. */
	struct elf_table *table;
	struct perfmap_image *image;
};

/* The path of the module tells what the file is. Returns owned (release with job->base.release), or NULL with errno ENOMEM. */
struct file_job *file_job_new(const struct asker_target *target, const struct model_module *module,
			      const struct model_mapping *mapping);
#endif
