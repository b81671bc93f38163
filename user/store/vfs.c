/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How SQLite reaches files here: as it does, but nothing that somebody planted as a journal. */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "store/private.h"

#define VFS_NAME "hotrun"

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && !strcmp(name + len - end_len, end);
}

/* It would be overwritten; opening a FIFO waits, and not even SIGINT ends that. */
static bool is_other_thing(const char *name)
{
	struct stat st;

	return !lstat(name, &st) && (!S_ISREG(st.st_mode) || st.st_nlink > 1);
}

/* What SQLite looks for without opening it is beside a database, or named by a journal. */
static int look(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	(void)vfs;
	*ret_there = 0;
	if ((!ends_with(name, "-journal") && !ends_with(name, "-wal")) || is_other_thing(name))
		return SQLITE_OK;
	return base->xAccess(base, name, flags, ret_there);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	sqlite3_vfs *base = sqlite3_vfs_find(NULL);

	(void)vfs;
	file->pMethods = NULL;
	if (flags & SQLITE_OPEN_SUPER_JOURNAL ||
	    (flags & SQLITE_OPEN_MAIN_JOURNAL && is_other_thing(name)))
		return SQLITE_CANTOPEN;
	return base->xOpen(base, name, file, flags, ret_flags);
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
