/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slices into the file: one short transaction each. Counters and checksums move only after the
 * commit, so a slice that failed leaves the store as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "store/private.h"
#include "store/store.h"

static int put(struct store *s, enum store_table table, uint64_t id, const void *row)
{
	return table_write(s->stmt[table], table, id, row);
}

static uint32_t stack_sum(const struct model_stack *stack)
{
	return (uint32_t)hash_pair(stack->flags, stack->broken_module);
}

static uint32_t location_sum(const struct model_location *l)
{
	return (uint32_t)hash_pair(hash_pair(l->symbol, l->from_ns),
				   hash_pair(l->flags, (uintptr_t)l->tier));
}

static int put_host(struct store *s, const struct model *m, bool complete)
{
	struct model_host host = m->host;

	host.complete = complete;
	if (m->slices_cnt && m->slices[m->slices_cnt - 1].end_ns > host.end_ns)
		host.end_ns = m->slices[m->slices_cnt - 1].end_ns;
	if (host.end_ns < host.start_ns)
		host.end_ns = host.start_ns;
	return put(s, TABLE_HOST, 0, &host);
}

static int put_slices(struct store *s, const struct model *m)
{
	/* The newest one in the file may have been open still. */
	size_t i = s->written[TABLE_SLICE] ? s->written[TABLE_SLICE] - 1 : 0;
	int err = 0;

	for (; !err && i < m->slices_cnt; i++) {
		struct model_slice slice = m->slices[i];

		if (slice.end_ns < slice.start_ns)
			slice.end_ns = slice.start_ns;
		err = put(s, TABLE_SLICE, i, &slice);
	}
	return err;
}

static int put_cgroups(struct store *s, const struct model *m)
{
	bool sound = model_cgroups_sound(m);
	int err = 0;

	for (size_t i = 0; !err && i < m->cgroups_cnt; i++) {
		struct model_cgroup group = m->cgroups[i];

		/* A reader takes no others: it would follow them for ever. */
		if (!sound)
			group.parent = MODEL_NONE;
		if (group.dirty || i >= s->written[TABLE_CGROUP])
			err = put(s, TABLE_CGROUP, i, &group);
	}
	return err;
}

static int put_mappings(struct store *s, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	int err = 0;

	for (uint32_t i = 0; !err && i < p->mapping_cnt; i++) {
		struct row_mapping row = {p->mappings[i], process, i};

		/* Marks tell what changed since some store wrote it; of a new process, not this one. */
		if (row.mapping.dirty || process >= s->written[TABLE_PROCESS])
			err = put(s, TABLE_MAPPING, 0, &row);
	}
	return err;
}

static int put_processes(struct store *s, const struct model *m)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < m->processes_cnt; i++) {
		if (m->processes[i].dirty || i >= s->written[TABLE_PROCESS])
			err = put(s, TABLE_PROCESS, i, &m->processes[i]);
		if (!err)
			err = put_mappings(s, m, i);
	}
	for (uint32_t i = 0; !err && i < m->threads_cnt; i++)
		if (m->threads[i].dirty || i >= s->written[TABLE_THREAD])
			err = put(s, TABLE_THREAD, i, &m->threads[i]);
	return err;
}

static int put_endpoints(struct store *s, const struct model *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->endpoints_cnt; i++)
		if (m->endpoints[i].dirty || i >= s->written[TABLE_ENDPOINT])
			err = put(s, TABLE_ENDPOINT, i, &m->endpoints[i]);
	return err;
}

static int put_modules(struct store *s, const struct model *m)
{
	int err = 0;

	for (size_t i = 0; !err && i < m->modules_cnt; i++) {
		const struct model_module *f = &m->modules[i];
		struct row_module row = {.module = *f, .build_id = {f->build_id, f->build_id_len}};

		if (!f->dirty && i < s->written[TABLE_MODULE])
			continue;
		if (f->learnt_id_len && !f->build_id_len)
			row.build_id = (struct blob){f->learnt_id, f->learnt_id_len};
		err = put(s, TABLE_MODULE, i, &row);
	}
	return err;
}

static int put_stacks(struct store *s, const struct model *m)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are stored as they are");
	int err = 0;

	for (size_t i = 0; !err && i < m->stacks_cnt; i++) {
		struct row_stack row = {.stack = m->stacks[i],
					.frames = {model_stack_frames(m, &m->stacks[i]),
						   m->stacks[i].frame_cnt * sizeof(uint64_t)}};

		if (i >= s->written[TABLE_STACK] || s->stack_sums[i] != stack_sum(&row.stack))
			err = put(s, TABLE_STACK, i, &row);
	}
	return err;
}

static int put_names(struct store *s, const struct model *m)
{
	int err = 0;

	for (size_t i = s->written[TABLE_SYMBOL]; !err && i < m->symbols_cnt; i++) {
		struct model_symbol symbol = m->symbols[i];

		if (symbol.raw == symbol.name)
			symbol.raw = NULL;
		err = put(s, TABLE_SYMBOL, i, &symbol);
	}
	for (size_t i = 0; !err && i < m->locations_cnt; i++)
		if (i >= s->written[TABLE_LOCATION] ||
		    s->location_sums[i] != location_sum(&m->locations[i]))
			err = put(s, TABLE_LOCATION, i, &m->locations[i]);
	return err;
}

/* The tables that hold the rows of this slice only. */
struct slice_table {
	enum store_table table;
	const void *rows;
	size_t rows_cnt, row_bytes;
};
#define SLICE_TABLES 10

static void list_slice_tables(const struct model *m, struct slice_table *ret_tables)
{
	const struct slice_table tables[SLICE_TABLES] = {
		{TABLE_SAMPLE, m->samples, m->samples_cnt, sizeof(*m->samples)},
		{TABLE_ACCOUNT, m->accounts, m->accounts_cnt, sizeof(*m->accounts)},
		{TABLE_RUN_DELAY, m->delays, m->delays_cnt, sizeof(*m->delays)},
		{TABLE_CONTENTION, m->contentions, m->contentions_cnt, sizeof(*m->contentions)},
		{TABLE_THROTTLE, m->throttles, m->throttles_cnt, sizeof(*m->throttles)},
		{TABLE_SERVICE, m->services, m->services_cnt, sizeof(*m->services)},
		{TABLE_RESPONSE, m->responses, m->responses_cnt, sizeof(*m->responses)},
		{TABLE_SIGNAL, m->signals, m->signals_cnt, sizeof(*m->signals)},
		{TABLE_CPU, m->cpus, m->cpus_cnt, sizeof(*m->cpus)},
		{TABLE_LOSS, m->losses, m->losses_cnt, sizeof(*m->losses)},
	};

	memcpy(ret_tables, tables, sizeof(tables));
}

static int put_slice_tables(struct store *s, const struct model *m)
{
	struct slice_table tables[SLICE_TABLES];
	int err = put_slices(s, m);

	list_slice_tables(m, tables);
	for (int k = 0; k < SLICE_TABLES; k++) {
		const struct slice_table *t = &tables[k];

		for (size_t i = 0; !err && i < t->rows_cnt; i++)
			err = put(s, t->table, s->written[t->table] + i,
				  (const char *)t->rows + i * t->row_bytes);
	}
	return err;
}

/* Room for the checksums of all rows, before the transaction: nothing can fail after it. */
static int reserve_sums(struct store *s, const struct model *m)
{
	while (s->stack_sums_cap < m->stacks_cnt)
		if (GROW(s->stack_sums, s->stack_sums_cap, s->stack_sums_cap))
			return -ENOMEM;
	while (s->location_sums_cap < m->locations_cnt)
		if (GROW(s->location_sums, s->location_sums_cap, s->location_sums_cap))
			return -ENOMEM;
	return 0;
}

static void remember(struct store *s, const struct model *m, bool slice)
{
	struct slice_table tables[SLICE_TABLES];

	for (size_t i = 0; i < m->stacks_cnt; i++)
		s->stack_sums[i] = stack_sum(&m->stacks[i]);
	for (size_t i = 0; i < m->locations_cnt; i++)
		s->location_sums[i] = location_sum(&m->locations[i]);
	s->written[TABLE_CGROUP] = m->cgroups_cnt;
	s->written[TABLE_PROCESS] = m->processes_cnt;
	s->written[TABLE_THREAD] = m->threads_cnt;
	s->written[TABLE_ENDPOINT] = m->endpoints_cnt;
	s->written[TABLE_MODULE] = m->modules_cnt;
	s->written[TABLE_STACK] = m->stacks_cnt;
	s->written[TABLE_SYMBOL] = m->symbols_cnt;
	s->written[TABLE_LOCATION] = m->locations_cnt;
	if (!slice)
		return;
	s->written[TABLE_SLICE] = m->slices_cnt;
	list_slice_tables(m, tables);
	for (int k = 0; k < SLICE_TABLES; k++)
		s->written[tables[k].table] += tables[k].rows_cnt;
}

/*
 * A write failed, and SQLite keeps the errno to itself unless it was ENOSPC. A quota and a file size
 * limit are no room either: asked for here, without changing the file's size.
 */
int store_write_error(int fd)
{
	const off_t step = 1 << 16;
	struct rlimit limit;
	struct stat st;

	if (fstat(fd, &st))
		return -EIO;
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)(st.st_size + step) > limit.rlim_cur)
		return -ENOSPC;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, step) &&
	    (errno == EDQUOT || errno == ENOSPC))
		return -ENOSPC;
	return -EIO;
}

int store_commit(struct store *s, const struct model *m, bool slice, bool complete)
{
	int err = reserve_sums(s, m);

	if (err)
		return err;
	if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return store_db_error(s->db);
	err = put_host(s, m, complete);
	if (!err)
		err = put_cgroups(s, m);
	if (!err)
		err = put_processes(s, m);
	if (!err)
		err = put_endpoints(s, m);
	if (!err)
		err = put_modules(s, m);
	if (!err)
		err = put_stacks(s, m);
	if (!err)
		err = put_names(s, m);
	if (!err && slice)
		err = put_slice_tables(s, m);
	if (!err && sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL))
		err = store_db_error(s->db);
	if (err) {
		/* After some errors SQLite has rolled back by itself. */
		if (!sqlite3_get_autocommit(s->db))
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return err == -EIO ? store_write_error(s->fd) : err;
	}
	remember(s, m, slice);
	return 0;
}

int store_write_slice(struct store *s, struct model *m)
{
	int err = store_commit(s, m, true, false);

	if (err)
		return err;
	for (size_t i = 0; i < m->processes_cnt; i++) {
		m->processes[i].dirty = false;
		for (size_t k = 0; k < m->processes[i].mapping_cnt; k++)
			m->processes[i].mappings[k].dirty = false;
	}
	for (size_t i = 0; i < m->threads_cnt; i++)
		m->threads[i].dirty = false;
	for (size_t i = 0; i < m->cgroups_cnt; i++)
		m->cgroups[i].dirty = false;
	for (size_t i = 0; i < m->modules_cnt; i++)
		m->modules[i].dirty = false;
	for (size_t i = 0; i < m->endpoints_cnt; i++)
		m->endpoints[i].dirty = false;
	return 0;
}

int store_finish(struct store *s, const struct model *m)
{
	int err = store_commit(s, m, false, true);

	store_free(s);
	return err;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < TABLE_CNT; i++)
		sqlite3_finalize(s->stmt[i]);
	sqlite3_close(s->db);
	cleanup_close(&s->fd);
	free(s->stack_sums);
	free(s->location_sums);
	free(s);
}
