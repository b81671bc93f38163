/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a capture is put: its folder, what lies there under its name, and to whom it belongs. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "store/private.h"

/* The recorder's own lock: one byte far behind any content and SQLite's own lock bytes. */
#define LOCK_BYTE (1ll << 62)

void target_clear(struct target *t)
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

struct owner owner_find(void)
{
	struct owner owner = {false, geteuid(), getegid()};
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uint64_t u, g;

	if (owner.uid == 0 && uid && gid && !text_parse_u64(uid, 1, UINT32_MAX - 1, &u) &&
	    !text_parse_u64(gid, 0, UINT32_MAX - 1, &g))
		owner = (struct owner){true, (uid_t)u, (gid_t)g};
	return owner;
}

bool store_is_for_sudo(void)
{
	return owner_find().sudo;
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

int recorder_lock_take(int fd)
{
	struct flock lock = recorder_lock();

	if (!fcntl(fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : 0;
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

/* A journal of an earlier file of that name would be rolled back into ours; what is somebody else's
 * is no journal. */
static int remove_companion(const struct target *t, const char *suffix, const struct owner *owner)
{
	char name[NAME_MAX + 16];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", t->name, suffix);
	if (fstatat(t->dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EEXIST;
	if (!ours(&st, owner))
		return 0;
	return unlinkat(t->dir, name, 0) ? -errno : 0;
}

/* Anybody may take files out of such a folder, and put others in their places. */
static int check_folder(const struct target *t)
{
	struct stat st;

	if (fstat(t->dir, &st))
		return -errno;
	return st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX) ? -ENOTUNIQ : 0;
}

static int target_check(struct target *t, const struct owner *owner)
{
	struct stat st;
	int err = check_folder(t);

	if (err)
		return err;
	t->exists = false;
	if (fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	t->exists = true;
	return check_existing(t, owner);
}

int target_open(struct target *t, const char *path, const struct owner *owner)
{
	int err;

	*t = (struct target){.dir = -1};
	err = target_parse(t, path);
	if (!err)
		err = target_check(t, owner);
	if (err) {
		target_clear(t);
		*t = (struct target){.dir = -1};
	}
	return err;
}

/* --- the new file ---------------------------------------------------------------------------- */

int target_temporary(const struct target *t, const struct owner *owner, char temp[TEMP_BYTES],
		     int *ret_fd)
{
	uint64_t random;
	int fd;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(temp, TEMP_BYTES, ".hotrun-%016llx.tmp", (unsigned long long)random);
	fd = openat(t->dir, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* Where this is not possible (some network and user-mapped file systems), the capture is
	 * root's: no reason to record nothing. */
	if (owner->sudo && fchown(fd, owner->uid, owner->gid))
		errno = 0;
	*ret_fd = fd;
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

int target_place(const struct target *t, const struct owner *owner, const char *temp)
{
	int err = remove_companion(t, "-journal", owner);

	if (!err)
		err = remove_companion(t, "-wal", owner);
	return err ? err : move_into_place(t, temp);
}
