/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_SAMPLED_H
#define HOTRUN_EXPORT_SAMPLED_H
/*
 * What all formats draw from: samples in the order of time or of threads, each with its thread, CPU
 * and weights, and its stack as a node of one tree of merged frames (output/forest.h): below the
 * root a node a process (its row), below these frames (rows of frames). A frame is a method over
 * its tiers (model/paths.h) in a file. Pure; no threads.
 */
#include "export/options.h"
#include "output/forest.h"

struct sampled_frame {
	uint32_t symbol;  /* row of m->symbols */
	uint32_t module;  /* row of m->modules, MODEL_NONE: not in a file */
	uint64_t address; /* where SAMPLED_ADDRESSES asks for it; of the kernel, since _text */
};

struct sampled_row {
	uint64_t time_ns; /* monotonic; of blocked time, of the look that found it */
	uint64_t values[EXPORT_WEIGHTS];
	uint32_t thread; /* row */
	uint32_t node;	 /* of forest */
	uint16_t cpu;
	bool waiters_unknown; /* of EXPORT_WAITERS: nobody knows */
};

struct sampled {
	struct model *m;      /* borrowed */
	struct forest forest; /* totals by options.weight; not linked */
	MODEL_TABLE(struct sampled_frame, frames);
	MODEL_TABLE(struct sampled_row, rows);
	uint64_t totals[EXPORT_WEIGHTS];
	struct hash_index frame_index; /* as is the next one, of the builder */
	uint32_t *modules; /* by row of locations: of modules, MODEL_NONE - 1 = not looked up */
	size_t modules_cnt;
};

/* Bits of what is wanted. */
#define SAMPLED_WEIGHT(weight) (1u << (weight)) /* values of that one */
#define SAMPLED_ADDRESSES      0x100u		/* frames at different addresses are apart */
#define SAMPLED_NO_ROWS	       0x200u		/* the tree alone */

enum sampled_order {
	SAMPLED_BY_TIME,
	SAMPLED_BY_THREAD, /* by time within one */
	SAMPLED_BY_STACK,  /* by thread, then by node */
};

/* Owned by the caller; m is borrowed until sampled_free(). Samples without a value that is wanted
 * are left out. NULL with errno ENOMEM. */
struct sampled *sampled_new(struct model *m, const struct export_options *options,
			    unsigned int wanted, enum sampled_order order);
/* What threads (by row) have of those, without stacks: added to ret_of_thread. 0 or -ENOMEM. */
int sampled_sums(struct model *m, const struct export_options *options, unsigned int wanted,
		 uint64_t (*ret_of_thread)[EXPORT_WEIGHTS]);
/* Takes NULL. */
void sampled_free(struct sampled *s);

/* Rows of frames of a node, leaf first, into frames[RESOLVE_MAX_FRAMES]. How many. */
size_t sampled_frames(const struct sampled *s, uint32_t node, uint32_t *frames);

/* The rows of one thread, where they are ordered by threads. */
struct sampled_thread {
	uint32_t thread;   /* row */
	size_t first, end; /* of rows, end exclusive */
	uint64_t total;	   /* of the weight */
};
/* Those that have rows, most of that weight first; owned by the caller. NULL with errno ENOMEM. */
struct sampled_thread *sampled_threads(const struct sampled *s, enum export_weight weight,
				       size_t *ret_cnt);

/* The name of a process for people: as the report has it. */
static inline const char *sampled_process(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];

	return *p->name ? p->name : p->comm;
}

/* The name of a frame: never empty. */
const char *sampled_name(const struct sampled *s, uint32_t frame);
/* Its file: path as mapped, else what its name is of: an assembly, "[kernel]"; never empty. */
const char *sampled_file(const struct sampled *s, uint32_t frame);

/* ns that one tick of host.sample_hz stands for. */
uint64_t sampled_tick_ns(const struct model *m);
/* Of a weight's value: ns of CPU time, of threads that waited, of threads in waits. */
uint64_t sampled_ns(const struct model *m, enum export_weight weight, uint64_t value);
/* Wall clock less monotonic at that moment, ns: of its slice. 0 where nothing is known. */
int64_t sampled_wall_offset_ns(const struct model *m, uint64_t time_ns);
#endif
