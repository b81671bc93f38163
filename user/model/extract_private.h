/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_EXTRACT_PRIVATE_H
#define HOTRUN_MODEL_EXTRACT_PRIVATE_H
/*
 * The state of an extract, for extract*.c alone: which rows of the source were taken, as which, and
 * as what they were known then. extract_rows.c takes who is who, extract_names.c stacks and names.
 */
#include "model/extract.h"
#include "model/sched.h"

/* By row of the source a number, or MODEL_NONE. */
struct row_map {
	uint32_t *rows;
	size_t cnt, cap;
};

struct taken_process {
	struct model_process was; /* of the source, as last looked at */
	uint32_t from, to;	  /* rows */
	bool joined;		  /* an earlier source told of it, too */
	bool selected;
	bool sampled; /* its code and mappings are wanted */
	/* That one of to is this one of from, whose earlier ones were not taken. */
	uint32_t first_mapping, skipped_mappings;
	uint32_t mapping_changes;
	uint64_t requests_before, mappings_before; /* refused, as earlier sources told */
};

struct taken_thread {
	struct model_thread was;
	uint32_t from, to;
	bool touched; /* its figures, by this call */
};

struct taken_cgroup {
	struct model_cgroup was;
	uint32_t from, to;
};

struct taken_endpoint {
	struct model_endpoint was;
	uint32_t from, to;
};

struct taken_row {
	uint32_t from, to;
};

/* A frame that nobody has looked up yet; process is a row of the source. */
struct taken_place {
	uint32_t process;
	uint64_t address;
};

struct extract {
	struct model *m;
	bool (*selects)(const void *ctx, const struct model_process *p); /* NULL = all */
	const void *selects_ctx;
	bool failed; /* no memory */

	const struct model *from; /* NULL after extract_leave() */
	bool joins;		  /* there was another one before */
	/* The first four give places in the tables below, the others rows of m. */
	struct row_map processes, threads, cgroups, endpoints, modules, stacks, symbols, locations;
	MODEL_TABLE(struct taken_process, taken_processes);
	MODEL_TABLE(struct taken_thread, taken_threads);
	MODEL_TABLE(struct taken_cgroup, taken_cgroups);
	MODEL_TABLE(struct taken_endpoint, taken_endpoints);
	MODEL_TABLE(struct taken_row, taken_modules);
	MODEL_TABLE(struct taken_row, taken_stacks);
	MODEL_TABLE(struct taken_place, unnamed);
	MODEL_TABLE(uint32_t, wanted); /* locations of the source to be taken by this call */
	/* Rows that the source had at the end of the last call. */
	size_t processes_seen, threads_seen, locations_seen;
	bool old_process; /* this call took a process that the source had before */

	/* By thread of m: the whole histogram; delay_max_ns as the sources tell it. */
	MODEL_TABLE(struct sched_sum, sums);

	uint64_t switches_ns; /* the last one that was taken */

	/* Of the slices taken without a gap from this source. */
	uint64_t since_ns, until_ns;
	/* Samples are counted from the source's first one ever: those before samples_open belong to
	 * slices up to until_ns, those from samples_seen on were not there yet. */
	uint64_t samples_open, samples_seen;
};

static inline uint32_t row_map_get(const struct row_map *map, uint32_t row)
{
	return row < map->cnt ? map->rows[row] : MODEL_NONE;
}
/* Notes that row is now number to. 0, or -ENOMEM: then the extract has failed. */
int row_map_put(struct extract *x, struct row_map *map, uint32_t row, uint32_t to);
/* Room for one more row of a table of the extract's own. 0, or -ENOMEM: then the extract has
 * failed. */
#define ROOM(x, table) extract_check(x, GROW((x)->table, (x)->table##_cnt, (x)->table##_cap))
static inline int extract_check(struct extract *x, int err)
{
	x->failed |= err != 0;
	return err;
}

/*
 * Each takes a row of the source, with those that it names, unless that was done. Returns the row
 * of m; MODEL_NONE where there is no such row, or no room (counted under LOSS_MODEL_LIMIT).
 */
uint32_t extract_process(struct extract *x, uint32_t row);
uint32_t extract_thread(struct extract *x, uint32_t row);
uint32_t extract_cgroup(struct extract *x, uint32_t row);
uint32_t extract_endpoint(struct extract *x, uint32_t row);
uint32_t extract_module(struct extract *x, uint32_t row);
/* Of an id. */
void extract_stack(struct extract *x, uint64_t id);

/* The taken process of a row of the source, or NULL; until the next one is taken. */
struct taken_process *extract_taken_process(struct extract *x, uint32_t row);
/* Its mappings are wanted from now on. */
void extract_mappings(struct extract *x, struct taken_process *taken);

/* Takes over what changed about rows taken before: first who is who, and after the slices' rows the
 * names. */
void extract_refresh_rows(struct extract *x);
void extract_refresh_names(struct extract *x);
/* Takes the threads of taken processes that lived at time_ns or later. */
void extract_idle_threads(struct extract *x, uint64_t time_ns);
#endif
