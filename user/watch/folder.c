/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder itself: opened, locked, tidied. What lies in it: folder_files.c. */
#include "watch/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/text.h"

#define LOCK_NAME "lock"
/* Somebody removed the lock file between our opening and locking it. */
#define LOCK_TRIES 10

/* --- open ------------------------------------------------------------------------------------- */

static int say(char *why, size_t why_bytes, const char *path, const char *what, int err)
{
	snprintf(why, why_bytes, "%s: %s", path, what);
	return err;
}

static int say_error(char *why, size_t why_bytes, const char *path, bool create, int err)
{
	const char *what = strerror(-err);

	if (err == -ENOENT)
		what = create ? "the folder above it does not exist; make that first"
			      : "no such folder; --dir names that of `hotrun watch`";
	else if (err == -ENOTDIR)
		what = "not a folder; name another one with --dir";
	else if (err == -EACCES)
		what = "no permission: captures are for who recorded them; be that user or root";
	return say(why, why_bytes, path, what, err);
}

/* A slash at the end would have a link followed. */
static char *without_slash(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return strndup(path, len);
}

static int check_folder(int fd, const char *path, bool create, char *why, size_t why_bytes)
{
	struct stat st;

	if (fstat(fd, &st))
		return say_error(why, why_bytes, path, create, -errno);
	if (create && st.st_uid != geteuid()) {
		snprintf(why, why_bytes,
			 "%s: belongs to uid %u, hotrun runs as uid %u; chown it, or name another "
			 "folder with --dir",
			 path, st.st_uid, geteuid());
		return -EPERM;
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return say(why, why_bytes, path,
			   "others may write to it, and captures are secrets; `chmod go-w` it",
			   -EPERM);
	return 0;
}

int folder_open(const char *path, bool create, char *why, size_t why_bytes, int *ret_fd)
{
	_cleanup_free_ char *plain = without_slash(path);
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err;

	if (!plain)
		return say_error(why, why_bytes, path, create, -ENOMEM);
	if (create && mkdir(plain, 0700) && errno != EEXIST)
		return say_error(why, why_bytes, path, create, -errno);
	fd = open(plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		if (!lstat(plain, &st) && S_ISLNK(st.st_mode))
			return say(why, why_bytes, path,
				   "a symbolic link, which is not followed; name the folder itself",
				   -ELOOP);
		return say_error(why, why_bytes, path, create, err);
	}
	err = check_folder(fd, path, create, why, why_bytes);
	if (!err)
		*ret_fd = take_fd(&fd);
	return err;
}

bool folder_stays(int dir, const char *path)
{
	_cleanup_free_ char *plain = without_slash(path);
	struct stat ours, there;

	return plain && !fstat(dir, &ours) && !lstat(plain, &there) &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* --- lock ------------------------------------------------------------------------------------- */

/* Who holds it, as he wrote it down; 0 = not told. */
static uint64_t read_pid(int fd)
{
	char text[24] = "";
	uint64_t pid;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 1 || text[n - 1] != '\n')
		return 0;
	text[n - 1] = '\0';
	return text_parse_u64(text, 1, INT32_MAX, &pid) ? 0 : pid;
}

static int write_pid(int fd)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0))
		return -errno;
	return io_write_at(fd, text, (size_t)len, 0);
}

/* Opens and locks what lies there now. -EAGAIN: it lies there no longer. */
static int lock_once(int dir, char *why, size_t why_bytes, int *ret_fd)
{
	_cleanup_close_ int fd =
		openat(dir, LOCK_NAME,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	struct stat st, there;
	uint64_t pid;

	if (fd < 0)
		return say(why, why_bytes, LOCK_NAME, strerror(errno), -errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
		return say(why, why_bytes, LOCK_NAME, "not a file of hotrun's; remove it", -EPERM);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return say(why, why_bytes, LOCK_NAME, strerror(errno), -errno);
		pid = read_pid(fd);
		if (pid)
			snprintf(why, why_bytes, "hotrun %llu already records into this folder",
				 (unsigned long long)pid);
		else
			snprintf(why, why_bytes, "another hotrun already records into this folder");
		return -EBUSY;
	}
	if (fstatat(dir, LOCK_NAME, &there, AT_SYMLINK_NOFOLLOW) || there.st_ino != st.st_ino ||
	    there.st_dev != st.st_dev)
		return say(why, why_bytes, LOCK_NAME, "removed again and again", -EAGAIN);
	*ret_fd = take_fd(&fd);
	return 0;
}

int folder_lock(int dir, char *why, size_t why_bytes, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int err = -EAGAIN;

	for (int i = 0; i < LOCK_TRIES && err == -EAGAIN; i++)
		err = lock_once(dir, why, why_bytes, &fd);
	if (!err) {
		err = write_pid(fd);
		if (err)
			return say(why, why_bytes, LOCK_NAME, strerror(-err), err);
		*ret_fd = take_fd(&fd);
	}
	return err;
}

/* --- tidy ------------------------------------------------------------------------------------- */

static bool begins_and_ends(const char *name, const char *begin, const char *end)
{
	size_t len = strlen(name), begin_len = strlen(begin), end_len = strlen(end);

	return len > begin_len + end_len && !strncmp(name, begin, begin_len) &&
	       !strcmp(name + len - end_len, end);
}

/* A journal whose capture is gone would be rolled back into the next one of that name. */
static bool is_orphan(int dir, const char *name)
{
	size_t len = strlen(name), suffix = strlen("-journal");
	char capture[FOLDER_NAME_BYTES];
	struct stat st;

	if (!begins_and_ends(name, "", ".hotrun-journal") || len - suffix >= sizeof(capture))
		return false;
	memcpy(capture, name, len - suffix);
	capture[len - suffix] = '\0';
	return folder_is_name(capture) && fstatat(dir, capture, &st, AT_SYMLINK_NOFOLLOW) &&
	       errno == ENOENT;
}

static bool is_unfinished(int dir, const char *name)
{
	struct stat st;

	if (!begins_and_ends(name, ".", ".new") && !begins_and_ends(name, ".hotrun-", ".tmp") &&
	    !is_orphan(dir, name))
		return false;
	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_uid == geteuid() &&
	       (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

unsigned int folder_clean(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	unsigned int removed = 0;

	if (!entries) {
		cleanup_close(&fd);
		return 0;
	}
	for (size_t seen = 0; seen < FOLDER_FILES && (entry = readdir(entries)); seen++)
		if (is_unfinished(dir, entry->d_name))
			removed += !unlinkat(dir, entry->d_name, 0);
	closedir(entries);
	return removed;
}
