/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_FIREFOX_PRIVATE_H
#define HOTRUN_EXPORT_FIREFOX_PRIVATE_H
/*
 * What the parts of the Firefox format share. Only firefox*.c include this.
 */
#include "export/about.h"
#include "export/sampled.h"
#include "export/strings.h"
#include "export/timeline.h"
#include "output/json.h"

#define FIREFOX_NS_MS 1e6

/* What frames are coloured by; the first one is what has no other. */
enum firefox_category {
	FIREFOX_OTHER,
	FIREFOX_MINE,
	FIREFOX_FRAMEWORK,
	FIREFOX_NATIVE,
	FIREFOX_KERNEL,
	FIREFOX_CATEGORIES
};

struct firefox {
	struct json json;
	struct model *m;
	const struct export_options *o;
	struct sampled *s;
	struct timeline *t;
	struct export_about about;
	struct strings strings;
	struct sampled_thread *threads; /* in the order of their tracks */
	size_t threads_cnt;
	uint64_t *totals;		    /* by process, of the weight */
	const struct timeline_span **spans; /* by who tells them */
	size_t *told;			    /* by process, and the host: where these begin */
	uint32_t *stack;		    /* by node of the forest: row of the stack table */
	size_t stacks_cnt;
	int err;
};

/* ms since the start. */
static inline double firefox_ms(const struct firefox *w, uint64_t time_ns)
{
	return time_ns > w->about.start_ns ? (double)(time_ns - w->about.start_ns) / FIREFOX_NS_MS
					   : 0;
}

/* Of a string in the table that all share; an error stays in w. */
static inline uint32_t firefox_string(struct firefox *w, const char *string)
{
	uint32_t n = 0;
	int err = strings_number(&w->strings, string, &n);

	if (err)
		w->err = err;
	return n;
}

/* firefox_shared.c: the rows of the stack table, by node of the forest; 0 or -ENOMEM. */
int firefox_number_stacks(struct firefox *w);
/* Libraries, and the tables that threads share, with the strings of all that was put before. */
void firefox_put_libs(struct firefox *w);
void firefox_put_shared(struct firefox *w);
/* firefox_counters.c: those of the host. */
void firefox_put_counters(struct firefox *w);
#endif
