/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_THREADS_H
#define HOTRUN_OUTPUT_THREADS_H
/*
 * Where threads stand, a line for those that stand at the same place: as text, and as JSON
 * (deploy/hotrun.schema.json). Reads the model only; writes UTF-8 without control bytes. Pure; no
 * threads.
 */
#include <stdbool.h>
#include <stdio.h>

#include "judge/standing.h"
#include "output/json.h"
#include "output/table.h"

#define THREADS_MIN_WIDTH     80
#define THREADS_DEFAULT_WIDTH 130
#define THREADS_DEFAULT_LINES 40
/* Groups in JSON; more are counted. */
#define THREADS_JSON_GROUPS 5000

struct threads_options {
	unsigned int width; /* columns; 0 = THREADS_DEFAULT_WIDTH */
	unsigned int lines; /* groups; 0 = THREADS_DEFAULT_LINES */
	bool all;	    /* every group, whatever lines and idle say, and hotrun itself */
	bool own;	    /* hotrun itself, too: it was asked for */
	bool idle;	    /* idle ones, too */
	bool verbose;	    /* whole stacks and thread ids below each line */
	bool window;	    /* of a capture, not its end alone: a part of it in time */
	int64_t time;	    /* of the look, seconds since the epoch */
};

/* stands.pass_ns 0: of a capture. Both return 0, -ENOMEM, or -EIO when out failed. */
int threads_text_write(FILE *out, const struct model *m, const struct stands *stands,
		       const struct standing *standing, const struct threads_options *options);
/* THREADS_JSON_GROUPS groups, whatever the options say but all and own, with their frames. */
int threads_json_write(FILE *out, const struct model *m, const struct stands *stands,
		       const struct standing *standing, const struct threads_options *options);

/* How many stand how, of the groups from first on, cnt of them; own: hotrun and its helpers, which
 * nobody asks for, too. */
struct threads_count {
	uint64_t threads, waiting, running, idle; /* waiting: in waits that are not idle */
	uint64_t moved;				  /* ran meanwhile, and no tick has their stack */
	uint64_t sampled;			  /* of all: with the stack of a tick */
	uint64_t own;				  /* left out, and in no other figure */
};
struct threads_count threads_count(const struct model *m, const struct standing_group *first,
				   size_t cnt, bool own);
/* A time that people say: "31.0 s", "12 min", "5 h", "3 days". */
struct number threads_age(uint64_t ns);
/* Where a group stands, in so many columns: "Shop.Pay.Client.Get → Task.Wait → futex". */
void threads_chain(char text[static CELL_BYTES], const struct model *m,
		   const struct standing *standing, const struct standing_group *g, size_t room,
		   bool narrow);
/* Its frames, leaf first, as an array. */
void threads_json_frames(struct json *j, const struct model *m, const struct standing *s,
			 const struct standing_group *g);
#endif
