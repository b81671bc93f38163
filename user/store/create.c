/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a capture comes into being. The empty capture is made in memory, written under a temporary
 * name and renamed; only then SQLite opens it, because the name of its journal follows the name
 * under which it opened: killed at any instant, the file and its journal lie side by side.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "store/private.h"
#include "store/store.h"

/* A reader holds the file for as long as it reads; more than that and the slice comes again. */
#define BUSY_WAIT_MS 250 /* the recorder drains its rings between two tries */

/* --- the new file ---------------------------------------------------------------------------- */

static int fill(int fd, const struct model *m)
{
	struct model_host host = m->host;
	unsigned char *image = NULL;
	size_t bytes;
	int err;

	host.complete = false;
	if (host.end_ns < host.start_ns)
		host.end_ns = host.start_ns;
	err = schema_image(&host, &image, &bytes);
	if (err)
		return err;
	err = io_write(fd, image, bytes);
	sqlite3_free(image);
	if (err)
		return err;
	/* Where it is not possible, two recorders may meet in one file name: no reason to record
	 * nothing. */
	recorder_lock_take(fd);
	return 0;
}

static int place(const struct target *t, const struct model *m, const struct owner *owner,
		 int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char temp[TEMP_BYTES];
	int err = target_temporary(t, owner, temp, &fd);

	if (err)
		return err;
	err = fill(fd, m);
	if (!err)
		err = target_place(t, owner, temp);
	if (err) {
		unlinkat(t->dir, temp, 0);
		return err;
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_for_writing(struct store *s, const struct target *t)
{
	_cleanup_free_ char *path = NULL;
	int err = 0;

	if (asprintf(&path, "%s/%s", strcmp(t->dir_path, "/") ? t->dir_path : "", t->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (sqlite3_open_v2(path, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
				    SQLITE_OPEN_NOFOLLOW,
			    store_vfs()))
		return s->db ? store_db_error(s->db) : -ENOMEM;
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_WAIT_MS);
	if (sqlite3_exec(s->db,
			 "PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF; PRAGMA mmap_size=0;"
			 "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-4096",
			 NULL, NULL, NULL))
		return store_db_error(s->db);
	for (int i = 0; !err && i < TABLE_CNT; i++)
		err = table_prepare_write(s->db, (enum store_table)i, &s->stmt[i]);
	return err;
}

/*
 * The first commit, which must reach the very file that we made: its change counter moves. The
 * folder may belong to somebody who put another file there between our rename and SQLite's open.
 */
static int first_commit(struct store *s, const struct model *m)
{
	struct file_header before, after;
	int err = file_header_read(s->fd, &before);

	if (!err)
		err = store_commit(s, m, false, false);
	if (!err)
		err = file_header_read(s->fd, &after);
	if (err)
		return err;
	return before.change_counter != after.change_counter ? 0 : -EEXIST;
}

/* Takes away the file of a failed start, unless another one lies there by now. */
static void withdraw(const struct target *t, int fd)
{
	struct stat mine, there;

	if (!fstat(fd, &mine) && !fstatat(t->dir, t->name, &there, AT_SYMLINK_NOFOLLOW) &&
	    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
		unlinkat(t->dir, t->name, 0);
}

int store_create(const char *path, const struct model *m, struct store **ret_store)
{
	_cleanup_(target_clear) struct target t = {.dir = -1};
	struct owner owner = owner_find();
	struct store *s;
	int err = target_open(&t, path, &owner);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->fd = -1;
	err = place(&t, m, &owner, &s->fd);
	if (!err) {
		err = open_for_writing(s, &t);
		if (!err)
			err = first_commit(s, m);
		if (err)
			withdraw(&t, s->fd);
	}
	if (err) {
		store_free(s);
		return err;
	}
	*ret_store = s;
	return 0;
}
