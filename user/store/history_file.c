/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history's file: made, opened for writing, moved aside where it is damaged. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "store/history_private.h"

/* Somebody who reads may hold it for so long; then the minute comes again. */
#define BUSY_WAIT_MS 2000

/* --- tables ---------------------------------------------------------------------------------- */

static int make_tables(sqlite3 *db)
{
	_cleanup_free_ char *schema = history_schema(), *sql = NULL;

	if (!schema || asprintf(&sql,
				"BEGIN IMMEDIATE; %s INSERT INTO sqlite_sequence VALUES ('kind', "
				"%d); PRAGMA application_id=%u; PRAGMA user_version=%u; COMMIT",
				schema, HISTORY_OTHER, HISTORY_APPLICATION_ID, HISTORY_VERSION) < 0)
		return -ENOMEM;
	if (!sqlite3_exec(db, sql, NULL, NULL, NULL))
		return 0;
	return store_db_error(db);
}

static int is_empty(sqlite3 *db, bool *ret_empty)
{
	sqlite3_stmt *stmt = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_master", -1, &stmt, NULL))
		return store_db_error(db);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*ret_empty = !sqlite3_column_int(stmt, 0);
	else
		err = store_db_error(db);
	sqlite3_finalize(stmt);
	return err;
}

/* --- statements ------------------------------------------------------------------------------ */

static void put_statement(FILE *out, enum history_statement which)
{
	bool hour = which == STMT_GET_HOUR || which == STMT_PUT_HOUR;
	const char *table = hour ? "hour" : "minute";

	switch (which) {
	case STMT_BEGIN:
		fputs("BEGIN IMMEDIATE", out);
		break;
	case STMT_COMMIT:
		fputs("COMMIT", out);
		break;
	case STMT_ROLLBACK:
		fputs("ROLLBACK", out);
		break;
	case STMT_GET_MINUTE:
	case STMT_GET_HOUR:
		history_put_columns(out, "SELECT ");
		fprintf(out, " FROM %s WHERE %s = ? AND kind = ?", table, table);
		break;
	case STMT_PUT_MINUTE:
	case STMT_PUT_HOUR:
		fprintf(out, "REPLACE INTO %s (%s, kind", table, table);
		history_put_columns(out, ", ");
		fputs(") VALUES (?, ?", out);
		for (size_t i = 0; i < HISTORY_FIGURES; i++)
			fputs(", ?", out);
		fputc(')', out);
		break;
	case STMT_ADD_KIND:
		fputs("INSERT INTO kind (name, place, first_minute, last_minute, minutes) "
		      "VALUES (?, ?, ?, ?, 0)",
		      out);
		break;
	case STMT_SET_KIND:
		fputs("UPDATE kind SET first_minute = ?, last_minute = ?, minutes = ? WHERE id = ?",
		      out);
		break;
	default:
		fputs("DELETE FROM kind WHERE id = ?", out);
		break;
	}
}

static int prepare(struct history_file *f)
{
	for (int i = 0; i < STMT_CNT; i++) {
		_cleanup_free_ char *sql = NULL;
		size_t bytes;
		FILE *out = open_memstream(&sql, &bytes);

		if (!out)
			return -ENOMEM;
		put_statement(out, (enum history_statement)i);
		if (fclose(out))
			return -ENOMEM;
		if (sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &f->stmt[i],
				       NULL))
			return store_db_error(f->db);
	}
	return 0;
}

int history_run(struct history_file *f, enum history_statement which)
{
	int rc = sqlite3_step(f->stmt[which]), err = 0;

	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		err = store_db_error(f->db);
	sqlite3_reset(f->stmt[which]);
	return err;
}

/* --- the file -------------------------------------------------------------------------------- */

/* What lies there: 0 a database of ours, or an empty file; -ENOENT; -EBADMSG something else;
 * -EPROTO, -EPERM what is to be left alone. */
static int check_there(int dir)
{
	_cleanup_close_ int fd = openat(dir, HISTORY_FILE,
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct file_header header;
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EPERM : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
		return -EPERM;
	if (!st.st_size)
		return 0;
	err = file_header_read(fd, &header);
	if (err)
		return err == -EINVAL ? -EBADMSG : err;
	/* Killed while the tables were made: they are rolled back, or made now. */
	if (!header.application_id && !header.user_version)
		return 0;
	if (header.application_id != HISTORY_APPLICATION_ID)
		return -EBADMSG;
	if (header.user_version > HISTORY_VERSION)
		return -EPROTO;
	return header.utf8 && header.rollback_journal ? 0 : -EBADMSG;
}

/* With the journal, which belongs to it alone. A journal that cannot go would be rolled back into
 * the next one. */
static int move_aside(int dir)
{
	if (unlinkat(dir, HISTORY_DAMAGED "-journal", 0) && errno != ENOENT)
		return -errno;
	if (renameat(dir, HISTORY_FILE, dir, HISTORY_DAMAGED))
		return -errno;
	if (renameat(dir, HISTORY_FILE "-journal", dir, HISTORY_DAMAGED "-journal") &&
	    errno != ENOENT && unlinkat(dir, HISTORY_FILE "-journal", 0))
		return -errno;
	return 0;
}

static int make_empty(int dir)
{
	int fd =
		openat(dir, HISTORY_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	/* Of an earlier file of that name. */
	return unlinkat(dir, HISTORY_FILE "-journal", 0) && errno != ENOENT ? -errno : 0;
}

/* An absolute name without links, as SQLite wants it. */
static int path_of(int dir, char path[static PATH_MAX])
{
	char link[64], real[PATH_MAX - sizeof("/" HISTORY_FILE)];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	len = readlink(link, real, sizeof(real));
	if (len < 0)
		return -errno;
	if ((size_t)len == sizeof(real))
		return -ENAMETOOLONG;
	snprintf(path, PATH_MAX, "%.*s/" HISTORY_FILE, (int)len, real);
	return 0;
}

void history_file_set(struct history_file *f, const struct history_options *options)
{
	char sql[64];

	f->options = *options;
	if (f->options.bytes_max < HISTORY_BYTES_MIN)
		f->options.bytes_max = HISTORY_BYTES_MIN;
	/* The last line of defence: what is thinned out keeps well below. */
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%llu",
		 (unsigned long long)f->options.bytes_max / 4096);
	sqlite3_exec(f->db, sql, NULL, NULL, NULL);
}

static int take_kinds(struct history_file *f)
{
	int err = history_file_kinds(f, &f->kinds, &f->kinds_cnt);

	f->kinds_cap = f->kinds_cnt;
	for (size_t i = 0; !err && i < f->kinds_cnt; i++)
		if (f->kinds[i].last_s > f->newest_s)
			f->newest_s = f->kinds[i].last_s;
	return err;
}

static int open_there(struct history_file *f, const char *path,
		      const struct history_options *options)
{
	bool empty = false;
	int err;

	if (sqlite3_open_v2(path, &f->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
				    SQLITE_OPEN_NOFOLLOW,
			    store_vfs()))
		return f->db ? store_db_error(f->db) : -ENOMEM;
	sqlite3_extended_result_codes(f->db, 1);
	err = database_harden(f->db);
	/* A row has more values than what a stranger's file is asked for. */
	sqlite3_limit(f->db, SQLITE_LIMIT_VARIABLE_NUMBER, HISTORY_FIGURES + 2);
	sqlite3_busy_timeout(f->db, BUSY_WAIT_MS);
	/* Once a minute it may reach the disk: what a power failure leaves is whole, too. */
	if (!err && sqlite3_exec(f->db,
				 "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=DELETE;"
				 "PRAGMA synchronous=FULL; PRAGMA cache_size=-2048",
				 NULL, NULL, NULL))
		err = store_db_error(f->db);
	if (err)
		return err;
	err = is_empty(f->db, &empty);
	if (!err && empty)
		err = make_tables(f->db);
	if (!err)
		err = history_check(f->db);
	if (!err)
		err = prepare(f);
	if (!err)
		err = take_kinds(f);
	if (!err)
		history_file_set(f, options);
	return err;
}

static int try_open(int dir, const struct history_options *options, struct history_file **ret_file)
{
	struct history_file *f;
	char path[PATH_MAX];
	int err = check_there(dir);

	if (err == -ENOENT)
		err = make_empty(dir);
	if (!err)
		err = path_of(dir, path);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	err = open_there(f, path, options);
	if (err) {
		history_file_close(f);
		return err;
	}
	*ret_file = f;
	return 0;
}

int history_file_open(int dir, const struct history_options *options, bool *ret_aside,
		      struct history_file **ret_file)
{
	int err = try_open(dir, options, ret_file), aside;

	*ret_aside = false;
	if (err != -EBADMSG)
		return err;
	aside = move_aside(dir);
	if (aside)
		return aside;
	*ret_aside = true;
	return try_open(dir, options, ret_file);
}

void history_file_close(struct history_file *f)
{
	if (!f)
		return;
	for (int i = 0; i < STMT_CNT; i++)
		sqlite3_finalize(f->stmt[i]);
	if (f->read.kind)
		capture_file_close(&f->read);
	else
		sqlite3_close(f->db);
	free(f->kinds);
	free(f);
}
