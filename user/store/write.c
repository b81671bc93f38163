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
		union store_row row;

		/* Marks tell what changed since some store wrote it; of a new process, not this
		 * one. */
		if (p->mappings[i].dirty || process >= s->written[TABLE_PROCESS])
			err = put(s, TABLE_MAPPING, 0, mapping_row(m, process, i, &row));
	}
	return err;
}

static int put_all_mappings(struct store *s, const struct model *m)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < m->processes_cnt; i++)
		err = put_mappings(s, m, i);
	return err;
}

static bool has_changed(const struct store *s, const struct model *m, enum store_table table,
			size_t row)
{
	const bool *dirty = table_dirty(m, table, row);

	switch (table) {
	case TABLE_STACK:
		return s->stack_sums[row] != stack_sum(&m->stacks[row]);
	case TABLE_LOCATION:
		return s->location_sums[row] != location_sum(&m->locations[row]);
	default:
		return dirty && *dirty;
	}
}

/* Rows that are new, and those that changed. */
static int put_changed(struct store *s, const struct model *m, enum store_table table)
{
	size_t cnt = table_rows(m, table);
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++) {
		union store_row row;

		if (i >= s->written[table] || has_changed(s, m, table, i))
			err = put(s, table, i, table_row(m, table, i, &row));
	}
	return err;
}

/* Rows that the model has of this slice. */
static int put_of_slice(struct store *s, const struct model *m, enum store_table table)
{
	size_t cnt = table_rows(m, table);
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++)
		err = put(s, table, s->written[table] + i, table_row(m, table, i, NULL));
	return err;
}

static int put_table(struct store *s, const struct model *m, enum store_table table, bool slice)
{
	switch (table) {
	case TABLE_HOST: /* put before, with how it ends */
		return 0;
	case TABLE_SLICE:
		return slice ? put_slices(s, m) : 0;
	case TABLE_CGROUP:
		return put_cgroups(s, m);
	case TABLE_MAPPING:
		return put_all_mappings(s, m);
	default:
		if (!store_tables[table].of_slice)
			return put_changed(s, m, table);
		return slice ? put_of_slice(s, m, table) : 0;
	}
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
	for (size_t i = 0; i < m->stacks_cnt; i++)
		s->stack_sums[i] = stack_sum(&m->stacks[i]);
	for (size_t i = 0; i < m->locations_cnt; i++)
		s->location_sums[i] = location_sum(&m->locations[i]);
	for (int i = 0; i < TABLE_CNT; i++) {
		size_t cnt = table_rows(m, (enum store_table)i);

		if (store_tables[i].of_slice)
			s->written[i] += slice ? cnt : 0;
		else if (slice || i != TABLE_SLICE)
			s->written[i] = cnt;
	}
}

/*
 * A write failed, and SQLite keeps the errno to itself unless it was ENOSPC. A quota and a file
 * size limit are no room either: asked for here, without changing the file's size.
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
	for (int i = 0; !err && i < TABLE_CNT; i++)
		err = put_table(s, m, (enum store_table)i, slice);
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

static void forget_marks(struct model *m)
{
	for (int table = 0; table < TABLE_CNT; table++)
		for (size_t i = 0; store_tables[table].dirty && i < table_rows(m, table); i++)
			*table_dirty(m, table, i) = false;
	for (size_t i = 0; i < m->processes_cnt; i++)
		for (size_t k = 0; k < m->processes[i].mapping_cnt; k++)
			m->processes[i].mappings[k].dirty = false;
}

int store_write_slice(struct store *s, struct model *m)
{
	int err = store_commit(s, m, true, false);

	if (!err)
		forget_marks(m);
	return err;
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
