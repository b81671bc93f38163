/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures that are listed and handed out, not read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "store/private.h"
#include "store/store.h"

/* Captures of before have no such column. */
static void read_taken(struct capture_file *r, struct store_look *look)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(r->db, "SELECT taken FROM host WHERE id = 0", -1, &stmt, NULL))
		return;
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_TEXT)
		snprintf(look->taken, sizeof(look->taken), "%s",
			 (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

static int read_host(struct capture_file *r, struct store_look *look)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3_int64 start_ns, end_ns;
	int err = 0;

	if (sqlite3_prepare_v2(r->db, "SELECT start_ns, end_ns, complete FROM host WHERE id = 0",
			       -1, &stmt, NULL))
		return store_db_error(r->db);
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		start_ns = sqlite3_column_int64(stmt, 0);
		end_ns = sqlite3_column_int64(stmt, 1);
		if (start_ns >= 0 && end_ns > start_ns)
			look->length_ns = (uint64_t)(end_ns - start_ns);
		look->complete = sqlite3_column_int(stmt, 2) == 1;
		break;
	case SQLITE_DONE:
		err = -EBADMSG;
		break;
	default:
		err = store_db_error(r->db);
		break;
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Cut off in the middle of a transaction: its header alone is sure. */
static int look_at_header(const char *path, struct store_look *ret_look)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_look = (struct store_look){.writing = recorder_holds(fd)};
	return 0;
}

int store_look(const char *path, struct store_look *ret_look)
{
	struct store_look look = {0};
	struct capture_file r;
	int err = capture_file_open_in_place(&r, path);

	if (err == -EUCLEAN)
		return look_at_header(path, ret_look);
	if (err)
		return err;
	look.writing = r.recorder;
	err = read_host(&r, &look);
	if (!err)
		read_taken(&r, &look);
	capture_file_close(&r);
	if (!err)
		*ret_look = look;
	return err;
}

/* Until the database is closed, nobody writes to it. */
static int hold(sqlite3 *db)
{
	return sqlite3_exec(db, "BEGIN; SELECT id FROM host", NULL, NULL, NULL) ? store_db_error(db)
										: 0;
}

static int copy_from(const char *path, int to)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? io_copy(fd, to, COPY_MAX_BYTES) : -EINVAL;
}

int store_copy(const char *path, int to)
{
	char copy[PATH_MAX];
	struct capture_file r;
	int err = capture_file_open(&r, path);

	if (err)
		return err;
	err = hold(r.db);
	/* Of a file that had to be rolled back, the private copy is what it is by now. */
	if (!err && r.copy_dir &&
	    snprintf(copy, sizeof(copy), "%s/capture", r.copy_dir) >= (int)sizeof(copy))
		err = -ENAMETOOLONG;
	/* SQLite's lock is gone with the first descriptor of that file that we close: after it. */
	if (!err)
		err = copy_from(r.copy_dir ? copy : path, to);
	capture_file_close(&r);
	return err;
}
