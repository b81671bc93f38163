/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of the tables in C, and the two ways a row goes: into a statement, out of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/private.h"

#define CN(row, type, field, named)                                  \
	{                                                            \
		named, offsetof(struct row, field), COLUMN_##type, 0 \
	}
#define C(row, type, field) CN(row, type, field, #field)
/* Columns that the first captures do not have. */
#define LN(row, type, field, named, off)                               \
	{                                                              \
		named, offsetof(struct row, field), COLUMN_##type, off \
	}
#define L(row, type, field, off) LN(row, type, field, #field, off)

#define OFF_FIRST (OFF_ACCOUNTS | OFF_QUEUES | OFF_PRESSURE | OFF_LIMITS | OFF_REQUESTS)

static const struct column host_columns[] = {
	C(model_host, TEXT, name),	    C(model_host, TEXT, kernel),
	C(model_host, TEXT, machine),	    C(model_host, TEXT, version),
	C(model_host, TEXT, event),	    C(model_host, TEXT, filter),
	C(model_host, TEXT, command),	    C(model_host, U32, cpus_online),
	C(model_host, U32, cpus_possible),  C(model_host, U32, sample_hz),
	C(model_host, U32, max_stack),	    C(model_host, NS, start_ns),
	C(model_host, NS, end_ns),	    C(model_host, BOOL, complete),
	L(model_host, U32, off, OFF_FIRST),
};
static const struct column slice_columns[] = {
	C(model_slice, NS, start_ns),
	C(model_slice, NS, end_ns),
	C(model_slice, I64, wall_offset_ns),
	L(model_slice, SUM, pressure_ns, OFF_PRESSURE),
};
static const struct column cgroup_columns[] = {
	CN(model_cgroup, U64, id, "key"), C(model_cgroup, ROW, parent),
	C(model_cgroup, TEXT, path),	  C(model_cgroup, NS, quota_ns),
	C(model_cgroup, NS, period_ns),
};
static const struct column process_columns[] = {
	C(model_process, U32, tgid),
	C(model_process, U32, ns_pid),
	C(model_process, U32, parent_tgid),
	C(model_process, U32, flags),
	C(model_process, NS, start_ns),
	C(model_process, BOOL, start_exact),
	C(model_process, NS, born_ns),
	C(model_process, NS, exit_ns),
	C(model_process, U64, cgroup_id),
	C(model_process, TEXT, comm),
	C(model_process, TEXT, exe),
	C(model_process, TEXT, name),
	C(model_process, TEXT, unit),
	C(model_process, TEXT, container),
	C(model_process, TEXT, cgroup),
	C(model_process, U32, perf_map),
	L(model_process, TEXT, container_id, OFF_NO_FIGURE),
	L(model_process, TEXT, container_name, OFF_NO_FIGURE),
	L(model_process, TEXT, pod, OFF_NO_FIGURE),
	L(model_process, TEXT, pod_uid, OFF_NO_FIGURE),
	L(model_process, TEXT, namespace, OFF_NO_FIGURE),
	L(model_process, TEXT, qos, OFF_NO_FIGURE),
	L(model_process, TEXT, runtime, OFF_NO_FIGURE),
	L(model_process, NS, naming_cpu_ns, OFF_NO_FIGURE),
	L(model_process, U64, map_unread_bytes, OFF_NO_FIGURE),
	L(model_process, NS, names_aside_ns, OFF_NO_FIGURE),
	L(model_process, U32, files_refused, OFF_NO_FIGURE),
	L(model_process, SUM, requests_refused, OFF_NO_FIGURE),
	L(model_process, SUM, mappings_refused, OFF_NO_FIGURE),
};
#define SCHED_COLUMNS(row)                                                                      \
	CN(row, SUM, sched.on_cpu_ns, "on_cpu_ns"), CN(row, SUM, sched.voluntary, "voluntary"), \
		CN(row, SUM, sched.involuntary, "involuntary"),                                 \
		LN(row, SUM, sched.waited_ns, "waited_ns", OFF_ACCOUNTS),                       \
		LN(row, SUM, sched.behind_own_ns, "behind_own_ns", OFF_ACCOUNTS),               \
		LN(row, SUM, sched.throttled_ns, "throttled_ns", OFF_ACCOUNTS),                 \
		LN(row, SUM, sched.uninterruptible_ns, "uninterruptible_ns", OFF_ACCOUNTS),     \
		LN(row, SUM, sched.migrations, "migrations", OFF_ACCOUNTS)
static const struct column thread_columns[] = {
	C(model_thread, U32, process),
	C(model_thread, U32, tid),
	C(model_thread, NS, start_ns),
	C(model_thread, NS, exit_ns),
	C(model_thread, TEXT, comm),
	C(model_thread, LETTER, state),
	C(model_thread, BOOL, baseline),
	SCHED_COLUMNS(model_thread),
	L(model_thread, NS, delay_max_ns, OFF_ACCOUNTS),
	L(model_thread, U32, cpus_allowed, OFF_ACCOUNTS),
	L(model_thread, U8, policy, OFF_ACCOUNTS),
	L(model_thread, I8, nice, OFF_ACCOUNTS),
	L(model_thread, U8, rt_priority, OFF_ACCOUNTS),
};
static const struct column endpoint_columns[] = {
	C(model_endpoint, U32, process),  C(model_endpoint, U64, listener),
	C(model_endpoint, TEXT, address), C(model_endpoint, U16, port),
	C(model_endpoint, U8, protocols), C(model_endpoint, U32, netns),
	C(model_endpoint, NS, slow_ns),
};
static const struct column module_columns[] = {
	CN(row_module, TEXT, module.path, "path"),
	CN(row_module, U64, module.dev, "dev"),
	CN(row_module, U64, module.inode, "inode"),
	C(row_module, BLOB, build_id),
};
static const struct column mapping_columns[] = {
	C(row_mapping, U32, process),
	C(row_mapping, U32, number),
	CN(row_mapping, ROW, mapping.module, "module"),
	CN(row_mapping, U8, mapping.kind, "kind"),
	CN(row_mapping, U64, mapping.start, "start"),
	CN(row_mapping, U64, mapping.end, "end"),
	CN(row_mapping, U64, mapping.file_offset, "file_offset"),
	CN(row_mapping, NS, mapping.from_ns, "from_ns"),
	CN(row_mapping, NS, mapping.to_ns, "to_ns"),
};
static const struct column stack_columns[] = {
	CN(row_stack, U64, stack.id, "key"),
	CN(row_stack, ROW, stack.process, "process"),
	CN(row_stack, U16, stack.flags, "flags"),
	CN(row_stack, ROW, stack.broken_module, "broken_module"),
	C(row_stack, BLOB, frames),
};
static const struct column symbol_columns[] = {
	C(model_symbol, TEXT, name),   C(model_symbol, TEXT_OR_NULL, raw),
	C(model_symbol, TEXT, module), C(model_symbol, U8, kind),
	C(model_symbol, U8, reason),   C(model_symbol, BOOL, application),
};
static const struct column location_columns[] = {
	C(model_location, ROW, process), C(model_location, U32, symbol),
	C(model_location, U64, address), C(model_location, NS, from_ns),
	C(model_location, ROW, older),	 C(model_location, U8, flags),
	C(model_location, TEXT, tier),
};
static const struct column sample_columns[] = {
	C(model_sample, NS, time_ns),	    C(model_sample, U32, thread),
	C(model_sample, U16, cpu),	    C(model_sample, U8, kind),
	C(model_sample, U8, flags),	    C(model_sample, ROW, waiters),
	C(model_sample, U64, kernel_stack), C(model_sample, U64, user_stack),
};
static const struct column account_columns[] = {
	C(model_account, U32, slice),
	C(model_account, U32, thread),
	SCHED_COLUMNS(model_account),
	L(model_account, ROW, cgroup, OFF_LIMITS),
};
static const struct column run_delay_columns[] = {
	C(model_delay, U32, slice),
	C(model_delay, U32, thread),
	C(model_delay, U8, slot),
	C(model_delay, SUM, count),
};
static const struct column contention_columns[] = {
	C(model_contention, U32, slice),
	C(model_contention, U32, runner),
	C(model_contention, ROW, waiter),
	C(model_contention, SUM, weight),
};
static const struct column throttle_columns[] = {
	C(model_throttle, U32, slice),	      C(model_throttle, U32, cgroup),
	C(model_throttle, SUM, periods),      C(model_throttle, SUM, throttled_periods),
	C(model_throttle, SUM, throttled_ns),
};
#define SERVED(field) CN(model_service, SUM, served.field, #field)
static const struct column service_columns[] = {
	C(model_service, U32, slice),
	C(model_service, U32, endpoint),
	SERVED(connections),
	SERVED(begun),
	SERVED(answered),
	SERVED(abandoned),
	SERVED(slow),
	SERVED(very_slow),
	SERVED(time_ns),
	SERVED(joined),
	SERVED(pushed),
	SERVED(received_bytes),
	SERVED(sent_bytes),
	SERVED(drops),
	C(model_service, NS, time_max_ns),
	C(model_service, U32, in_progress),
	C(model_service, U32, late),
	C(model_service, U32, stuck),
	C(model_service, NS, oldest_ns),
	C(model_service, U32, queued),
	C(model_service, U32, backlog),
	C(model_service, U32, unsure),
};
static const struct column response_columns[] = {
	C(model_response, U32, slice),
	C(model_response, U32, endpoint),
	C(model_response, U8, slot),
	C(model_response, SUM, count),
};
static const struct column signal_columns[] = {
	C(model_signal, U32, slice),
	C(model_signal, U32, process),
	C(model_signal, U32, value_ppm),
};
#define QUEUE(n) LN(model_cpu, SUM, queue[n], "queue_" #n, OFF_QUEUES)
static const struct column cpu_columns[] = {
	C(model_cpu, U32, slice),
	C(model_cpu, U32, cpu),
	C(model_cpu, SUM, elapsed_ns),
	C(model_cpu, SUM, idle_ns),
	C(model_cpu, SUM, accounted_ns),
	C(model_cpu, SUM, unaccounted_ns),
	C(model_cpu, SUM, steal_ns),
	C(model_cpu, SUM, switches),
	C(model_cpu, SUM, ticks_taken),
	C(model_cpu, SUM, ticks_idle),
	C(model_cpu, SUM, ticks_filtered),
	QUEUE(0),
	QUEUE(1),
	QUEUE(2),
	QUEUE(3),
	QUEUE(4),
	QUEUE(5),
	QUEUE(6),
	QUEUE(7),
	QUEUE(8),
	QUEUE(9),
	QUEUE(10),
	LN(model_cpu, SUM, queue[11], "queue_unknown", OFF_QUEUES),
};
static const struct column loss_columns[] = {
	C(model_loss, U32, slice),
	C(model_loss, U32, cause),
	C(model_loss, SUM, count),
};
static const struct column renaming_columns[] = {
	C(model_renaming, I64, time_s),
	C(model_renaming, TEXT, version),
	C(model_renaming, NS, named),
};

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))
/* Tables with row numbers; those that the first captures do not have, with what that means. */
#define T(table)                                                         \
	{                                                                \
#table, table##_columns, COUNT(table##_columns), true, 0 \
	}
#define TL(table, off)                                                     \
	{                                                                  \
#table, table##_columns, COUNT(table##_columns), true, off \
	}

_Static_assert(COUNT(cpu_columns) <= STORE_COLUMNS_MAX &&
		       COUNT(thread_columns) <= STORE_COLUMNS_MAX,
	       "a bit for each column");

const struct table_layout store_tables[TABLE_CNT] = {
	[TABLE_HOST] = T(host),
	[TABLE_SLICE] = T(slice),
	[TABLE_CGROUP] = TL(cgroup, OFF_LIMITS),
	[TABLE_PROCESS] = T(process),
	[TABLE_THREAD] = T(thread),
	[TABLE_ENDPOINT] = TL(endpoint, OFF_REQUESTS),
	[TABLE_MODULE] = T(module),
	[TABLE_MAPPING] = {"mapping", mapping_columns, COUNT(mapping_columns), false, 0},
	[TABLE_STACK] = T(stack),
	[TABLE_SYMBOL] = T(symbol),
	[TABLE_LOCATION] = T(location),
	[TABLE_SAMPLE] = T(sample),
	[TABLE_ACCOUNT] = T(account),
	[TABLE_RUN_DELAY] = TL(run_delay, OFF_ACCOUNTS),
	[TABLE_CONTENTION] = TL(contention, OFF_QUEUES),
	[TABLE_THROTTLE] = TL(throttle, OFF_LIMITS),
	[TABLE_SERVICE] = TL(service, OFF_REQUESTS),
	[TABLE_RESPONSE] = TL(response, OFF_REQUESTS),
	[TABLE_SIGNAL] = TL(signal, OFF_REQUESTS),
	[TABLE_CPU] = T(cpu),
	[TABLE_LOSS] = T(loss),
	[TABLE_RENAMING] = TL(renaming, OFF_NO_FIGURE),
};

static void put_column(FILE *out, const struct column *c, bool there)
{
	if (there)
		fprintf(out, "\"%s\"", c->name);
	else
		fputs(c->type == COLUMN_ROW ? "NULL" : c->type == COLUMN_TEXT ? "''" : "0", out);
}

static int prepare(sqlite3 *db, enum store_table table, bool write, uint32_t columns,
		   sqlite3_stmt **ret_stmt)
{
	const struct table_layout *t = &store_tables[table];
	_cleanup_free_ char *sql = NULL;
	size_t bytes;
	FILE *out = open_memstream(&sql, &bytes);

	if (!out)
		return -ENOMEM;
	if (write)
		fprintf(out, "REPLACE INTO \"%s\" (", t->name);
	else
		fputs("SELECT ", out);
	if (t->has_id)
		fputs("id", out);
	for (int i = 0; i < t->column_cnt; i++) {
		fputs(i || t->has_id ? ", " : "", out);
		put_column(out, &t->columns[i], columns & 1u << i);
	}
	if (write) {
		fputs(t->has_id ? ") VALUES (?, ?" : ") VALUES (?", out);
		for (int i = 1; i < t->column_cnt; i++)
			fputs(", ?", out);
		fputc(')', out);
	} else {
		/* A file's own indexes are not trusted, and the order of the table is the order we
		 * want. */
		fprintf(out, " FROM main.\"%s\" NOT INDEXED", t->name);
	}
	if (fclose(out))
		return -ENOMEM;
	if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_stmt, NULL))
		return store_db_error(db);
	return 0;
}

int table_prepare_write(sqlite3 *db, enum store_table table, sqlite3_stmt **ret_stmt)
{
	return prepare(db, table, true, UINT32_MAX, ret_stmt);
}

int table_prepare_read(sqlite3 *db, enum store_table table, uint32_t columns,
		       sqlite3_stmt **ret_stmt)
{
	return prepare(db, table, false, columns, ret_stmt);
}

static int bind_integer(sqlite3_stmt *stmt, int n, const struct column *c, const char *field)
{
	switch (c->type) {
	case COLUMN_ROW:
		if (*(const uint32_t *)field == MODEL_NONE)
			return sqlite3_bind_null(stmt, n);
		__attribute__((fallthrough));
	case COLUMN_U32:
		return sqlite3_bind_int64(stmt, n, *(const uint32_t *)field);
	case COLUMN_U16:
		return sqlite3_bind_int64(stmt, n, *(const uint16_t *)field);
	case COLUMN_U8:
		return sqlite3_bind_int64(stmt, n, *(const uint8_t *)field);
	case COLUMN_I8:
		return sqlite3_bind_int64(stmt, n, *(const int8_t *)field);
	case COLUMN_BOOL:
		return sqlite3_bind_int64(stmt, n, *(const bool *)field);
	case COLUMN_NS:
	case COLUMN_SUM:
		/* One absurd figure must not make the whole file unreadable. */
		if (*(const uint64_t *)field > INT64_MAX)
			return sqlite3_bind_int64(stmt, n, INT64_MAX);
		__attribute__((fallthrough));
	default:
		return sqlite3_bind_int64(stmt, n, *(const sqlite3_int64 *)field);
	}
}

static int bind_column(sqlite3_stmt *stmt, int n, const struct column *c, const char *field)
{
	switch (c->type) {
	case COLUMN_LETTER:
		return sqlite3_bind_text(stmt, n, field, *field > ' ' && *field < 0x7f,
					 SQLITE_STATIC);
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return sqlite3_bind_text(stmt, n, *(const char *const *)field, -1, SQLITE_STATIC);
	case COLUMN_BLOB: {
		const struct blob *blob = (const struct blob *)field;

		/* A NULL pointer would bind NULL instead of an empty blob. */
		return sqlite3_bind_blob(stmt, n, blob->len ? blob->bytes : "", (int)blob->len,
					 SQLITE_STATIC);
	}
	default:
		return bind_integer(stmt, n, c, field);
	}
}

int table_write(sqlite3_stmt *stmt, enum store_table table, uint64_t id, const void *row)
{
	const struct table_layout *t = &store_tables[table];
	int n = 1, rc = 0;

	if (t->has_id)
		rc = sqlite3_bind_int64(stmt, n++, (sqlite3_int64)id);
	for (int i = 0; !rc && i < t->column_cnt; i++)
		rc = bind_column(stmt, n++, &t->columns[i],
				 (const char *)row + t->columns[i].offset);
	if (rc)
		return store_db_error(sqlite3_db_handle(stmt));
	if (sqlite3_step(stmt) == SQLITE_DONE && !sqlite3_reset(stmt))
		return 0;
	rc = store_db_error(sqlite3_db_handle(stmt));
	sqlite3_reset(stmt);
	return rc;
}

static int read_i8(sqlite3_int64 v, char *field)
{
	if (v < INT8_MIN || v > INT8_MAX)
		return -EBADMSG;
	*(int8_t *)field = (int8_t)v;
	return 0;
}

/* Cut off so that the column's sum stays in bounds. */
static int read_sum(uint64_t v, char *field, uint64_t *sum)
{
	uint64_t room = STORE_SUM_MAX - *sum;

	*(uint64_t *)field = v < room ? v : room;
	*sum += *(uint64_t *)field;
	return 0;
}

static int read_integer(sqlite3_stmt *stmt, int n, const struct column *c, char *field,
			uint64_t *sum)
{
	sqlite3_int64 v = sqlite3_column_int64(stmt, n);

	/* Whatever is no number reads as 0: the type is asked for only then, which halves the
	 * time. */
	if (!v && sqlite3_column_type(stmt, n) != SQLITE_INTEGER) {
		if (c->type != COLUMN_ROW || sqlite3_column_type(stmt, n) != SQLITE_NULL)
			return -EBADMSG;
		*(uint32_t *)field = MODEL_NONE;
		return 0;
	}
	if (c->type == COLUMN_I8)
		return read_i8(v, field);
	if (c->type != COLUMN_U64 && c->type != COLUMN_I64 && v < 0)
		return -EBADMSG;
	switch (c->type) {
	case COLUMN_SUM:
		return read_sum((uint64_t)v, field, sum);
	case COLUMN_ROW:
	case COLUMN_U32:
		*(uint32_t *)field = (uint32_t)v;
		return v > UINT32_MAX ? -EBADMSG : 0;
	case COLUMN_U16:
		*(uint16_t *)field = (uint16_t)v;
		return v > UINT16_MAX ? -EBADMSG : 0;
	case COLUMN_U8:
		*(uint8_t *)field = (uint8_t)v;
		return v > UINT8_MAX ? -EBADMSG : 0;
	case COLUMN_BOOL:
		*(bool *)field = v != 0;
		return 0;
	default:
		*(sqlite3_int64 *)field = v;
		return 0;
	}
}

static int read_text(sqlite3_stmt *stmt, int n, const struct column *c, struct model *m,
		     char *field, uint64_t *bytes)
{
	const char *text;
	int len;

	switch (sqlite3_column_type(stmt, n)) {
	case SQLITE_TEXT:
		break;
	case SQLITE_NULL: /* the row was zeroed: a NULL pointer stays */
		return c->type == COLUMN_TEXT_OR_NULL ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
	text = (const char *)sqlite3_column_text(stmt, n);
	len = sqlite3_column_bytes(stmt, n);
	if (!text)
		return -ENOMEM;
	*bytes += (uint64_t)len;
	if (c->type == COLUMN_LETTER)
		*(uint8_t *)field = len && *text > ' ' && *text < 0x7f ? (uint8_t)*text : '?';
	else
		*(const char **)field = model_string(m, text, (size_t)len);
	return 0;
}

static int read_column(sqlite3_stmt *stmt, int n, const struct column *c, struct model *m,
		       char *field, uint64_t *bytes, uint64_t *sum)
{
	struct blob *blob = (struct blob *)field;

	switch (c->type) {
	case COLUMN_LETTER:
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return read_text(stmt, n, c, m, field, bytes);
	case COLUMN_BLOB:
		if (sqlite3_column_type(stmt, n) != SQLITE_BLOB)
			return -EBADMSG;
		blob->bytes = sqlite3_column_blob(stmt, n);
		blob->len = (size_t)sqlite3_column_bytes(stmt, n);
		*bytes += blob->len;
		return blob->len && !blob->bytes ? -ENOMEM : 0;
	default:
		return read_integer(stmt, n, c, field, sum);
	}
}

int table_read(sqlite3_stmt *stmt, enum store_table table, struct model *m, uint64_t *ret_id,
	       union store_row *row, struct table_totals *totals)
{
	const struct table_layout *t = &store_tables[table];
	int n = 0, err;

	memset(row, 0, sizeof(*row));
	*ret_id = 0;
	if (t->has_id) {
		if (sqlite3_column_type(stmt, n) != SQLITE_INTEGER)
			return -EBADMSG;
		*ret_id = (uint64_t)sqlite3_column_int64(stmt, n++);
	}
	for (int i = 0; i < t->column_cnt; i++) {
		err = read_column(stmt, n++, &t->columns[i], m, (char *)row + t->columns[i].offset,
				  &totals->bytes, &totals->sums[i]);
		if (err)
			return err;
	}
	return 0;
}
