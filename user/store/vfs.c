/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How SQLite reaches files here: as it does, but nothing that somebody planted as a journal. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "store/private.h"

#define VFS_NAME "hotrun"

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

bool store_trusts_journal(const struct stat *journal, const struct stat *database)
{
	/* Who may write the database may write its journal. */
	mode_t others = journal->st_mode & ~database->st_mode & (S_IWGRP | S_IWOTH);

	return S_ISREG(journal->st_mode) && journal->st_nlink == 1 && !others &&
	       journal->st_uid == database->st_uid;
}

/* What lies there is not this database's journal. ret_st: of what does; zeroed where nothing is. */
static bool is_other_thing(const char *name, struct stat *ret_st)
{
	char database[PATH_MAX];
	struct stat st;
	size_t len = strlen(name) - strlen("-journal");

	*ret_st = (struct stat){0};
	if (lstat(name, ret_st))
		return false;
	if (!ends_with(name, "-journal") || len >= sizeof(database))
		return true;
	memcpy(database, name, len);
	database[len] = '\0';
	return stat(database, &st) || !store_trusts_journal(ret_st, &st);
}

/* What SQLite looks for without opening it is beside a database, or named by a journal. A
 * write-ahead log is no more than told of. */
static int look(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);
	struct stat st;

	(void)vfs;
	*ret_there = 0;
	if (!ends_with(name, "-wal") && (!ends_with(name, "-journal") || is_other_thing(name, &st)))
		return SQLITE_OK;
	return base->xAccess(base, name, flags, ret_there);
}

/* Against who puts others there again and again. */
#define PLANTED_TRIES 100

/* Makes the journal, so that it is ours: SQLite would take what lies there. What others put there
 * is in the way. */
static bool create_journal(const char *name)
{
	struct stat st;

	for (int i = 0; i < PLANTED_TRIES; i++) {
		_cleanup_close_ int fd =
			open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd >= 0)
			return true; /* SQLite gives it the owner of its database */
		if (errno != EEXIST)
			return false;
		if (!is_other_thing(name, &st) && st.st_ino)
			return true;
		if (unlink(name) && errno != ENOENT)
			return false;
	}
	return false;
}

/* A journal, if it is one from before it is opened until afterwards. */
static int open_journal(const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);
	struct stat before, after;
	int err;

	if ((flags & SQLITE_OPEN_CREATE && !create_journal(name)) || lstat(name, &before))
		return SQLITE_CANTOPEN;
	err = base->xOpen(base, name, file, flags, ret_flags);
	if (err)
		return err;
	if (!is_other_thing(name, &after) && after.st_ino == before.st_ino &&
	    after.st_dev == before.st_dev)
		return 0;
	file->pMethods->xClose(file);
	file->pMethods = NULL;
	return SQLITE_CANTOPEN;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	(void)vfs;
	file->pMethods = NULL;
	if (flags & SQLITE_OPEN_SUPER_JOURNAL)
		return SQLITE_CANTOPEN;
	return flags & SQLITE_OPEN_MAIN_JOURNAL ? open_journal(name, file, flags, ret_flags)
						: base->xOpen(base, name, file, flags, ret_flags);
}

static void add_vfs(void)
{
	static sqlite3_vfs vfs; /* SQLite keeps it; never changed again */
	const sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	if (!base)
		return;
	vfs = *base;
	vfs.pNext = NULL;
	vfs.zName = VFS_NAME;
	vfs.xAccess = look;
	vfs.xOpen = open_file;
	sqlite3_vfs_register(&vfs, 0);
}

const char *store_vfs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!sqlite3_initialize())
		pthread_once(&once, add_vfs);
	return VFS_NAME;
}
