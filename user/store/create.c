/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a capture comes into being. The empty capture is made in memory, written under a temporary
 * name and renamed; only then SQLite opens it, because the name of its journal follows the name
 * under which it opened: killed at any instant, the file and its journal lie side by side.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "store/private.h"
#include "store/store.h"

/* A reader holds the file for as long as it reads; more than that and the slice comes again. */
#define BUSY_WAIT_MS 250 /* the recorder drains its rings between two tries */
/* The recorder's own lock: one byte far behind any content and SQLite's own lock bytes. */
#define LOCK_BYTE (1ll << 62)

struct target {
	int dir;	  /* O_PATH */
	char *dir_path;	  /* without links: SQLite refuses links anywhere in a path */
	const char *name; /* borrowed from the path */
	bool exists;
};

static void target_clear(struct target *t)
{
	cleanup_close(&t->dir);
	free(t->dir_path);
}

static int target_parse(struct target *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash == path ? strdup("/")
				   : slash	 ? strndup(path, (size_t)(slash - path))
						 : strdup(".");

	if (!dir)
		return -ENOMEM;
	if (!*path)
		return -ENOENT;
	t->name = slash ? slash + 1 : path;
	if (!*t->name || !strcmp(t->name, ".") || !strcmp(t->name, ".."))
		return -EISDIR;
	if (strlen(t->name) + strlen("-journal") > NAME_MAX)
		return -ENAMETOOLONG;
	t->dir_path = realpath(dir, NULL);
	if (!t->dir_path)
		return -errno;
	t->dir = open(t->dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return t->dir < 0 ? -errno : 0;
}

/* --- who owns it ----------------------------------------------------------------------------- */

struct owner {
	bool sudo;
	uid_t uid;
	gid_t gid;
};

/* Under sudo the capture is for the user who called it. */
static struct owner find_owner(void)
{
	struct owner owner = {false, geteuid(), getegid()};
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint64_t u, g;

	if (owner.uid == 0 && uid && gid && !text_parse_u64(uid, 1, UINT32_MAX - 1, &u) &&
	    !text_parse_u64(gid, 0, UINT32_MAX - 1, &g))
		owner = (struct owner){true, (uid_t)u, (gid_t)g};
	return owner;
}

static bool ours(const struct stat *st, const struct owner *owner)
{
	return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == owner->uid);
}

/* --- what lies there ------------------------------------------------------------------------- */

static struct flock recorder_lock(void)
{
	return (struct flock){
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1};
}

bool recorder_holds(int fd)
{
	struct flock lock = recorder_lock();

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static int check_existing(const struct target *t, const struct owner *owner)
{
	struct file_header header;
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = openat(t->dir, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EEXIST : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!ours(&st, owner) || file_header_read(fd, &header) ||
	    header.application_id != STORE_APPLICATION_ID)
		return -EEXIST;
	return recorder_holds(fd) ? -EBUSY : 0;
}

/* A journal of an earlier file of that name would be rolled back into ours. */
static int remove_companion(const struct target *t, const char *suffix, const struct owner *owner)
{
	char name[NAME_MAX + 16];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", t->name, suffix);
	if (fstatat(t->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!ours(&st, owner))
		return -EEXIST;
	return unlinkat(t->dir, name, 0) ? -errno : 0;
}

static int target_check(struct target *t, const struct owner *owner)
{
	struct stat st;

	if (fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	t->exists = true;
	return check_existing(t, owner);
}

/* --- the new file ---------------------------------------------------------------------------- */

static int write_all(int fd, const unsigned char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EFBIG || errno == EDQUOT ? -ENOSPC : -errno;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int fill(int fd, const struct model *m, const struct owner *owner)
{
	struct flock lock = recorder_lock();
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
	err = write_all(fd, image, bytes);
	sqlite3_free(image);
	if (err)
		return err;
	/* Where these are not possible (some network and user-mapped file systems), the capture is
	 * root's and two recorders may meet in one file name: no reason to record nothing. */
	if (owner->sudo && fchown(fd, owner->uid, owner->gid))
		errno = 0;
	fcntl(fd, F_OFD_SETLK, &lock);
	return 0;
}

static int move_into_place(const struct target *t, const char *temp)
{
	if (t->exists)
		return renameat(t->dir, temp, t->dir, t->name) ? -errno : 0;
	if (!renameat2(t->dir, temp, t->dir, t->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without RENAME_NOREPLACE: a hard link does not replace either. */
	if (linkat(t->dir, temp, t->dir, t->name, 0))
		return errno == EPERM && !renameat(t->dir, temp, t->dir, t->name) ? 0 : -errno;
	unlinkat(t->dir, temp, 0);
	return 0;
}

static int place(const struct target *t, const struct model *m, const struct owner *owner,
		 int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	uint64_t random;
	char temp[64];
	int err;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(temp, sizeof(temp), ".hotrun-%016llx.tmp", (unsigned long long)random);
	fd = openat(t->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fill(fd, m, owner);
	if (!err)
		err = remove_companion(t, "-journal", owner);
	if (!err)
		err = remove_companion(t, "-wal", owner);
	if (!err)
		err = move_into_place(t, temp);
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
			    NULL))
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
	struct owner owner = find_owner();
	struct store *s;
	int err = target_parse(&t, path);

	if (!err)
		err = target_check(&t, &owner);
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
