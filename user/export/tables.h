/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_TABLES_H
#define HOTRUN_EXPORT_TABLES_H
/*
 * The figures of a capture as plain tables, for the formats json, ndjson and csv: what each has are
 * figures (output/table.h), whose ids are its keys, documented in deploy/hotrun.schema.json
 * (kind "export"). Rows are of the processes that are wanted. Pure; no threads.
 */
#include "export/options.h"
#include "output/table.h"

/* What there is: X(name, what it has). */
#define EXPORT_TABLES(X)                                                                 \
	X(host, "the host, the recording, its verdict and books; one row")               \
	X(seconds, "the host in each slice of about a second")                           \
	X(processes, "processes that did anything, with their verdict")                  \
	X(threads, "threads that did anything, with their role")                         \
	X(methods, "methods by process: samples at their end, and in all of them")       \
	X(requests, "requests by process and port")                                      \
	X(waits, "who waited for a CPU while who ran")                                   \
	X(events, "when who was hurt, slow, or stopped by a CPU limit")                  \
	X(losses, "what was lost, by cause")                                             \
	X(samples, "each sample, in the order of time; blocked time, where it is known") \
	X(turns, "each turn of a thread on a CPU, of the window of record --switches")

struct export_table {
	const char *name;
	const struct figure *const *columns;
	size_t columns_cnt;
};

/* What a format does with them. */
struct tables_sink {
	void (*begin)(void *ctx, const struct export_table *table);
	void (*row)(void *ctx, const struct export_table *table, const struct subject *s);
	void (*end)(void *ctx, const struct export_table *table);
	/* Whether that one is asked for; NULL = as options.table says. */
	bool (*wants)(void *ctx, const char *name);
	/* Of each that is not asked for, or NULL. */
	void (*left_out)(void *ctx, const char *name);
	void *ctx;
};

/* The table options.table, or all in their order where it is NULL. 0, -ENOMEM, or -EINVAL: there is
 * none of that name. */
int tables_walk(struct model *m, const struct export_options *options,
		const struct tables_sink *sink);
#endif
