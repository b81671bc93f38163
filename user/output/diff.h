/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_DIFF_H
#define HOTRUN_OUTPUT_DIFF_H
/*
 * What `hotrun diff` says, as text, JSON (deploy/hotrun.schema.json), a page, or a picture (SVG
 * 1.1, no script): the flame graphs of both sides, each as wide as its own samples, in the colours
 * of their change. No threads.
 */
#include <stdio.h>

#include "judge/diff.h"
#include "judge/diff_beside.h"

struct diff_options {
	const char *names[DIFF_SIDES]; /* of the captures, as they were given; untrusted */
	size_t rows;		       /* findings and processes of text; 0 = all */
	size_t width;		       /* columns of text */
	bool effects;		       /* what could have been shown, instead of what was */
	bool brief; /* JSON for the page: long names cut (…), of paths the nearest callers */
};

/* Each returns 0, -ENOMEM, or -EIO when out failed. */
int diff_write_text(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options);
int diff_write_json(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options);

int diff_write_svg(FILE *out, const struct diff *d, const struct diff_beside *beside,
		   const struct diff_options *options);

/* One self-contained page (output/flame.h): both flame graphs, findings, what stands beside them.
 * -E2BIG, or what getrandom(2) says, too. */
int diff_write_page(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options);

/* The data block of the page alone, as it is before it is deflated. */
int diff_write_data(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options);

/* Its part of the samples of a side. */
double diff_node_share(const struct diff_book *book, uint32_t node, int side);
/* Rows of nodes, by their callers' rows, of one caller those with more of both sides first; owned,
 * NULL without memory. */
uint32_t *diff_nodes_by_size(const struct diff_book *book);
/* Rows of processes that are worth a line, most CPU of both sides first; owned, NULL without
 * memory. */
uint32_t *diff_kinds(const struct diff *d, size_t *ret_cnt);
/* Methods by what could be shown of them, those with most CPU first; owned, NULL without memory. */
uint32_t *diff_methods_by_size(const struct diff *d, size_t *ret_cnt);
/* Unix time of its first slice, 0 = not known. */
int64_t diff_began_s(const struct model *m);
extern const char *const diff_per_ids[DIFF_PER_CNT];
#endif
