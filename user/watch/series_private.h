/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SERIES_PRIVATE_H
#define HOTRUN_WATCH_SERIES_PRIVATE_H
/*
 * Within watch/series*.c: who has a place (series_places.c), and what a slice adds (series.c,
 * series_limits.c). No threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "output/metrics.h"
#include "watch/series.h"
#include "watch/slice_rows.h"

/* A kind of process, by the hash of its labels: 64 bits with a secret, two kinds do not share
 * one. */
struct series_kind {
	uint64_t hash;
	double busy;	  /* decayed sum of thread seconds, as of busy_ns */
	uint64_t busy_ns; /* time of a slice's end */
	uint32_t place;	  /* row of figures, 0 = none of its own */
	uint32_t process; /* a row of the current model that it was seen with */
	bool listed;	  /* among those without a place in this slice */
};

/* Row i of places belongs to row i of rows; 0 is "other". */
struct series_place {
	uint64_t hash; /* of the kind; 0 = free, as a kind's hash never is */
	uint64_t since_ns, alive_ns;
	uint64_t judged_ns;
};

/* What a process row of the current model is; strings are interned, so equal pointers are equal
 * names. */
struct series_row {
	const char *name, *unit, *namespace, *pod, *container;
	uint64_t hash;		     /* 0 = "other" in any case */
	uint32_t place, places_seen; /* place as of that many changes of places */
	uint32_t threads;	     /* alive, of this slice */
	bool seen, alive;	     /* alive: at the end of the slice */
};

struct series {
	struct series_options options;
	size_t top;
	struct metrics_figures figures;
	struct metrics_process *rows; /* top + 1 */
	struct series_place *places;
	uint32_t places_changes;
	uint32_t ports_cnt;  /* of their own, of all rows */
	uint64_t last_ns;    /* end of the slice before */
	uint64_t swapped_ns; /* a place changed hands */
	uint64_t host_judged_ns;

	struct series_kind *kinds; /* SERIES_KINDS */
	size_t kinds_cnt;
	struct hash_index kinds_index;
	uint32_t *waiting; /* kinds that were busy in this slice and have no place; SERIES_KINDS */
	size_t waiting_cnt;

	/* Of the current model. */
	const struct model *m;
	uint64_t model_start_ns;
	struct series_row *processes;
	size_t processes_cnt, processes_cap;
	uint32_t *alive; /* threads, rows */
	size_t alive_cnt, alive_cap;
	uint8_t *is_alive; /* by thread row: it is in alive */
	size_t threads_cnt, threads_cap;
	uint32_t pass; /* which part of the idle rows is looked at again */
};

/* --- places ---------------------------------------------------------------------------------- */

/* What is known of a process row of s->m: who it is, looked up again where its names changed. */
struct series_row *series_row(struct series *s, uint32_t process);
/* Its place now. */
uint32_t series_place_of(struct series *s, struct series_row *row);
/* It was busy in the slice that ends at now_ns: thread seconds. 0 or -ENOMEM. */
int series_busy(struct series *s, uint32_t process, double seconds, uint64_t now_ns);
/* Gives places to those that were busy and have none. 0 or -ENOMEM. */
int series_seat(struct series *s, uint64_t now_ns);
/* A place goes to nobody. */
void series_leave(struct series *s, uint32_t place);

/* --- limits ---------------------------------------------------------------------------------- */

/* Adds the periods of CPU limits in that slice, once it is known who is alive. One look at each
 * process, none where no limit was in force. 0, or -ENOMEM (then nothing was added). */
int series_limits(struct series *s, uint32_t slice);
#endif
