/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COLLECT_ROOMS_H
#define HOTRUN_COLLECT_ROOMS_H
/*
 * What the parts of a collector work between: where events come from, where they go, who names
 * them. Owned by collector.c, which makes, replaces (collector_renew()) and frees them, and by
 * collector_start.c, which opens sessions anew; each part borrows the whole for as long as it
 * lives, and changes none of its members. No threads.
 */
#include <stdbool.h>

#include "kernel/host.h"
#include "kernel/session.h"
#include "model/ingest.h"
#include "model/model.h"
#include "names/names.h"

struct blocked_looks;
struct collector_options;
struct unwind_feed;

struct rooms {
	const struct collector_options *options; /* as they are in this slice */
	struct host host;
	struct session *session;
	struct model *model;
	struct ingest *ingest;
	struct names *names;
	struct unwind_feed *feed;    /* NULL: stacks are walked along frame pointers */
	struct blocked_looks *looks; /* at threads that do not run; NULL: nobody asked */
	bool stopped;		     /* the slice that ends is the last one */
};
#endif
