/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_TABLES_PRIVATE_H
#define HOTRUN_EXPORT_TABLES_PRIVATE_H
/*
 * What the tables share. Only tables*.c include this.
 */
#include "export/about.h"
#include "export/sampled.h"
#include "export/tables.h"
#include "export/timeline.h"

struct tables {
	struct model *m;
	const struct export_options *o;
	const struct tables_sink *sink;
	/* What the tables that are asked for need (tables.c); else NULL. */
	struct sampled *s; /* by time */
	struct timeline *t;
	struct export_about about;
	bool known[EXPORT_WEIGHTS];
	/* Sums of samples, by row. */
	uint64_t (*of_process)[EXPORT_WEIGHTS], (*of_thread)[EXPORT_WEIGHTS];
	uint64_t totals[EXPORT_WEIGHTS];
};

/* A column that is one table's alone. */
#define TABLES_COLUMN(id_, ...) (&(const struct figure){.id = id_, __VA_ARGS__})
/* Of struct subject: all rows have them. */
static inline const struct tables *tables_of(const struct subject *s)
{
	return s->of;
}

static inline struct value tables_unknown(void)
{
	return (struct value){.kind = VALUE_UNKNOWN};
}

/* A value of a weight, where that is known. */
static inline struct value tables_weight(const struct tables *w, enum export_weight weight,
					 uint64_t value)
{
	return w->known[weight] ? value_count(value) : tables_unknown();
}

static inline void tables_put(const struct tables *w, const struct export_table *table,
			      const struct subject *s)
{
	w->sink->row(w->sink->ctx, table, s);
}

/* Seconds since the start of the recording, or of the part of it that was asked for. */
static inline double tables_s(const struct tables *w, uint64_t time_ns)
{
	return time_ns > w->about.start_ns ? (double)(time_ns - w->about.start_ns) / 1e9 : 0;
}

extern const struct figure tables_process_name, tables_thread_name;

/* The columns of each, and its rows: 0 or -ENOMEM. */
#define TABLES_DECLARE(name, what)                                   \
	extern const struct figure *const tables_##name##_columns[]; \
	extern const size_t tables_##name##_columns_cnt;             \
	int tables_put_##name(const struct tables *w, const struct export_table *table);
EXPORT_TABLES(TABLES_DECLARE)
#define TABLES_COLUMNS(name, ...)                                             \
	const struct figure *const tables_##name##_columns[] = {__VA_ARGS__}; \
	const size_t tables_##name##_columns_cnt =                            \
		sizeof(tables_##name##_columns) / sizeof(*tables_##name##_columns);
#endif
