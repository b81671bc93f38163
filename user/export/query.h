/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_QUERY_H
#define HOTRUN_EXPORT_QUERY_H
/*
 * Questions in SQL over the tables of captures (export/tables.h): one database in memory with the
 * rows of all captures that are added. Before the columns of export each table has `capture` (its
 * name), `host` and `began_utc`; captures are never written to, whatever the question says. Only
 * the tables that a question reads are filled. What is not known is NULL. `stacks` has the samples
 * summed by stack.
 *
 *	q = query_new(sql, why)		then, for each capture:
 *	query_add(q, name, m);		and at the end:
 *	query_write_table(out, q, ...);
 *
 * A question may read and compute, nothing else: no file, no pragma, no extension. It is stopped
 * by `stops` and at QUERY_BYTES of memory. One at a time in a process; one thread.
 */
#include <stddef.h>
#include <stdio.h>

#include "export/options.h"

/* Of the database and what a question needs to sort. */
#define QUERY_BYTES (2ull << 30)

struct query;

#define QUERY_WHY_BYTES 512

/* Takes one statement. Returns it owned; NULL with why it is refused: untrusted words of the
 * question among it. */
struct query *query_new(const char *sql, char why[static QUERY_WHY_BYTES]);
void query_free(struct query *q);
/* Whether any table is read: else captures need not be. */
bool query_reads(const struct query *q);
/* Adds the rows of a capture. 0, -ENOMEM (beyond QUERY_BYTES, too). */
int query_add(struct query *q, const char *name, struct model *m,
	      const struct export_options *options);
/* Asked from time to time while the question runs; true ends it. */
void query_stop_when(struct query *q, bool (*stops)(void));

/* The answer. Each returns 0; -EIO: out failed; -EINTR: stopped; -ENOMEM; -EINVAL with why. */
int query_write_text(FILE *out, struct query *q, size_t width, char why[static QUERY_WHY_BYTES]);
int query_write_csv(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES]);
int query_write_json(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES]);
/* Of answers whose first column is a stack and whose second a whole number: "STACK NUMBER" a line,
 * for flame graph tools. */
int query_write_folded(FILE *out, struct query *q, char why[static QUERY_WHY_BYTES]);
/* The tables and their columns, a line each. */
int query_write_tables(FILE *out);
#endif
