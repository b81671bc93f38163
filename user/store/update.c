/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished capture gets better names: symbols are added, locations name others. In place as one
 * transaction, or in a copy that gets its name when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/private.h"
#include "store/store.h"

struct store_update {
	sqlite3 *db;
	int fd; /* of the file that is changed; closed after db */
	uint32_t change_counter;
	bool is_copy;
	struct owner owner;
	struct target target; /* of the copy */
	char temp[TEMP_BYTES];
	/* As they are in the file. */
	size_t symbols_cnt, locations_cnt, processes_cnt, renamings_cnt;
	struct model_location *locations;
	uint32_t *perf_maps; /* by row of processes */
};

void store_update_free(struct store_update *u)
{
	if (!u)
		return;
	sqlite3_close(u->db);
	cleanup_close(&u->fd);
	if (u->is_copy && *u->temp) {
		char journal[TEMP_BYTES + 16];

		snprintf(journal, sizeof(journal), "%s-journal", u->temp);
		unlinkat(u->target.dir, u->temp, 0);
		unlinkat(u->target.dir, journal, 0);
	}
	target_clear(&u->target);
	free(u->locations);
	free(u->perf_maps);
	free(u);
}

static int open_database(struct store_update *u, const char *path)
{
	int err;

	if (sqlite3_open_v2(path, &u->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
				    SQLITE_OPEN_NOFOLLOW,
			    store_vfs()))
		return u->db ? store_db_error(u->db) : -ENOMEM;
	sqlite3_extended_result_codes(u->db, 1);
	err = database_harden(u->db);
	/* Unlike a recording, it is all there already and must not be lost with the machine. */
	if (!err && sqlite3_exec(u->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL))
		err = store_db_error(u->db);
	return err;
}

/* --- in place -------------------------------------------------------------------------------- */

static int open_in_place(struct store_update *u, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	struct stat st;
	int err;

	if (!real)
		return -errno;
	u->fd = open(real, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (u->fd < 0)
		return errno == EISDIR ? -EINVAL : -errno;
	err = capture_check(u->fd, &st);
	if (err)
		return err;
	/* Root could; but somebody said that it is to stay as it is. */
	if (!(st.st_mode & 0222))
		return -EACCES;
	err = recorder_lock_take(u->fd);
	if (err)
		return err;
	err = capture_check_writable(real);
	if (!err)
		err = open_database(u, real);
	/* A killed recorder's journal is rolled back here, before anything is read. */
	if (!err && sqlite3_exec(u->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL))
		err = store_db_error(u->db);
	return err;
}

/* --- a copy ---------------------------------------------------------------------------------- */

static int copy_pages(struct store_update *u, sqlite3 *from)
{
	sqlite3_backup *backup = sqlite3_backup_init(u->db, "main", from, "main");
	int rc;

	if (!backup)
		return store_db_error(u->db);
	rc = sqlite3_backup_step(backup, -1);
	sqlite3_backup_finish(backup);
	if (rc == SQLITE_DONE)
		return 0;
	return rc == SQLITE_BUSY || rc == SQLITE_LOCKED ? -EBUSY : store_db_error(u->db);
}

static int temp_path(const struct store_update *u, char **ret_path)
{
	if (asprintf(ret_path, "%s/%s", strcmp(u->target.dir_path, "/") ? u->target.dir_path : "",
		     u->temp) >= 0)
		return 0;
	*ret_path = NULL;
	return -ENOMEM;
}

static int open_copy(struct store_update *u, const char *path, const char *result, char **ret_path)
{
	struct capture_file from;
	int err = capture_file_open(&from, path);

	if (err)
		return err;
	err = from.recorder ? -EBUSY : target_open(&u->target, result, &u->owner);
	if (!err) {
		u->is_copy = true;
		err = target_temporary(&u->target, &u->owner, u->temp, &u->fd);
	}
	if (!err)
		err = temp_path(u, ret_path);
	if (!err)
		err = open_database(u, *ret_path);
	if (!err)
		err = copy_pages(u, from.db);
	capture_file_close(&from);
	return err;
}

/* --- open and commit ------------------------------------------------------------------------- */

/* What the file has, to tell later what changed. */
static int remember(struct store_update *u, const struct model *m)
{
	struct file_header header;
	int err = file_header_read(u->fd, &header);

	if (err)
		return err;
	u->change_counter = header.change_counter;
	u->symbols_cnt = m->symbols_cnt;
	u->locations_cnt = m->locations_cnt;
	u->processes_cnt = m->processes_cnt;
	u->renamings_cnt = m->renamings_cnt;
	u->locations = calloc(m->locations_cnt + 1, sizeof(*u->locations));
	u->perf_maps = calloc(m->processes_cnt + 1, sizeof(*u->perf_maps));
	if (!u->locations || !u->perf_maps)
		return -ENOMEM;
	for (size_t i = 0; i < m->locations_cnt; i++)
		u->locations[i] = m->locations[i];
	for (size_t i = 0; i < m->processes_cnt; i++)
		u->perf_maps[i] = m->processes[i].perf_map;
	return 0;
}

int store_update_open(const char *path, const char *result, struct store_update **ret_update,
		      struct model **ret_model)
{
	struct store_update *u = calloc(1, sizeof(*u));
	_cleanup_free_ char *copy = NULL;
	struct model *m = NULL;
	int err;

	if (!u)
		return -ENOMEM;
	u->fd = -1;
	u->target.dir = -1;
	u->owner = owner_find();
	err = result ? open_copy(u, path, result, &copy) : open_in_place(u, path);
	if (!err)
		err = store_read_known(result ? copy : path, &m);
	if (!err)
		err = remember(u, m);
	if (err) {
		model_free(m);
		store_update_free(u);
		return err;
	}
	m->host.running = false; /* the lock that was seen is ours */
	*ret_update = u;
	*ret_model = m;
	return 0;
}

static bool same_location(const struct model_location *a, const struct model_location *b)
{
	return a->symbol == b->symbol && a->from_ns == b->from_ns && a->older == b->older &&
	       a->flags == b->flags && a->tier == b->tier;
}

static int put_symbols(struct store_update *u, const struct model *m)
{
	sqlite3_stmt *stmt = NULL;
	int err = table_prepare_write(u->db, TABLE_SYMBOL, &stmt);

	for (size_t i = u->symbols_cnt; !err && i < m->symbols_cnt; i++) {
		union store_row row;

		err = table_write(stmt, TABLE_SYMBOL, i, table_row(m, TABLE_SYMBOL, i, &row));
	}
	sqlite3_finalize(stmt);
	return err;
}

static int put_locations(struct store_update *u, const struct model *m)
{
	sqlite3_stmt *stmt = NULL;
	int err = table_prepare_write(u->db, TABLE_LOCATION, &stmt);

	for (size_t i = 0; !err && i < m->locations_cnt; i++)
		if (i >= u->locations_cnt || !same_location(&m->locations[i], &u->locations[i]))
			err = table_write(stmt, TABLE_LOCATION, i, &m->locations[i]);
	sqlite3_finalize(stmt);
	return err;
}

static int put_perf_maps(struct store_update *u, const struct model *m)
{
	sqlite3_stmt *stmt = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(u->db, "UPDATE main.process SET perf_map = ? WHERE id = ?", -1,
			       &stmt, NULL))
		return store_db_error(u->db);
	for (size_t i = 0; !err && i < u->processes_cnt; i++) {
		if (m->processes[i].perf_map == u->perf_maps[i])
			continue;
		sqlite3_bind_int64(stmt, 1, m->processes[i].perf_map);
		sqlite3_bind_int64(stmt, 2, (sqlite3_int64)i);
		if (sqlite3_step(stmt) != SQLITE_DONE)
			err = store_db_error(u->db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int put_renamings(struct store_update *u, const struct model *m)
{
	sqlite3_stmt *stmt = NULL;
	int err = schema_add_table(u->db, TABLE_RENAMING); /* earlier captures lack it */

	if (!err)
		err = table_prepare_write(u->db, TABLE_RENAMING, &stmt);
	for (size_t i = u->renamings_cnt; !err && i < m->renamings_cnt; i++)
		err = table_write(stmt, TABLE_RENAMING, i, &m->renamings[i]);
	sqlite3_finalize(stmt);
	return err;
}

/* Nobody else wrote since it was read: row numbers mean what they meant. */
static int check_unchanged(const struct store_update *u)
{
	struct file_header header;
	int err = file_header_read(u->fd, &header);

	if (err)
		return err;
	return header.change_counter == u->change_counter ? 0 : -EBUSY;
}

static int put_all(struct store_update *u, const struct model *m)
{
	int err = put_symbols(u, m);

	if (!err)
		err = put_locations(u, m);
	if (!err)
		err = put_perf_maps(u, m);
	if (!err)
		err = put_renamings(u, m);
	return err;
}

static int transact(struct store_update *u, const struct model *m)
{
	int err;

	if (sqlite3_exec(u->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return store_db_error(u->db);
	err = check_unchanged(u);
	if (!err)
		err = put_all(u, m);
	if (!err && sqlite3_exec(u->db, "COMMIT", NULL, NULL, NULL))
		err = store_db_error(u->db);
	if (err && !sqlite3_get_autocommit(u->db))
		sqlite3_exec(u->db, "ROLLBACK", NULL, NULL, NULL);
	return err == -EIO ? store_write_error(u->fd) : err;
}

int store_update_commit(struct store_update *u, const struct model *m)
{
	int err = transact(u, m);

	if (!err && u->is_copy) {
		sqlite3_close(u->db);
		u->db = NULL;
		err = fsync(u->fd) ? -errno : target_place(&u->target, &u->owner, u->temp);
		if (!err)
			*u->temp = '\0';
	}
	store_update_free(u);
	return err;
}
