/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_MAP_JOB_H
#define HOTRUN_NAMES_MAP_JOB_H
/*
 * The loader's job that finds, follows and reads one perf map. While the job runs it owns the tail;
 * where the file's system cannot hang (a local one), its owner calls the steps directly.
 */
#include "names/asker.h"
#include "perfmap/map.h"
#include "perfmap/tail.h"

/* Of one raw name; perfmap's own bound for what it parses into is lower. */
#define MAP_NAME_BYTES 8192

enum map_step { MAP_STEP_OPEN, MAP_STEP_ADVANCE, MAP_STEP_NAME };

struct map_job {
	struct loader_job base;
	enum map_step step;
	struct asker_target target;
	int error;		   /* 0 or -errno of the step */
	struct perfmap_tail *tail; /* owned */
	uint64_t seen_ns;	   /* for MAP_STEP_ADVANCE */
	struct perfmap_hit hit;	   /* for MAP_STEP_NAME */
	int fd;			   /* the tail's, for fstat while the tail lives */
	bool grown;		   /* result of MAP_STEP_ADVANCE */
	bool local;		   /* result of MAP_STEP_OPEN: the file's system does not hang */
	char name[MAP_NAME_BYTES]; /* result of MAP_STEP_NAME */
	size_t name_len;
};

/* Returns owned (release with job->base.release), or NULL with errno ENOMEM. */
struct map_job *map_job_new(const struct asker_target *target);
#endif
