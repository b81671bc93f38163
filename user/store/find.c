/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of captures: the one to make when none is given, and the newest one that lies somewhere. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "store/private.h"
#include "store/store.h"

#define SUFFIX	       ".hotrun"
#define HOST_MAX_BYTES 64 /* HOST_NAME_MAX */

static void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* True for a capture; then its time of last change. */
static bool is_capture(int dir, const char *name, struct timespec *ret_mtime)
{
	size_t len = strlen(name), suffix = strlen(SUFFIX);
	_cleanup_close_ int fd = -1;
	struct file_header header;
	struct stat st;

	if (len <= suffix || strcmp(name + len - suffix, SUFFIX) != 0)
		return false;
	/* Looked at before it is opened: opening a device or a FIFO can have effects. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || file_header_read(fd, &header) ||
	    header.application_id != STORE_APPLICATION_ID)
		return false;
	*ret_mtime = st.st_mtim;
	return true;
}

static int compare_times(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return COMPARE(a->tv_sec, b->tv_sec);
	return COMPARE(a->tv_nsec, b->tv_nsec);
}

int store_newest(const char *dir_path, char **ret_path)
{
	_cleanup_(cleanup_closedir) DIR *dir = opendir(dir_path);
	char newest[NAME_MAX + 1] = "";
	struct timespec newest_at = {0}, at;
	const struct dirent *entry;
	char *path;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		int order;

		if (!is_capture(dirfd(dir), entry->d_name, &at))
			continue;
		order = *newest ? compare_times(&at, &newest_at) : 1;
		if (order < 0 || (!order && strcmp(entry->d_name, newest) < 0))
			continue;
		newest_at = at;
		snprintf(newest, sizeof(newest), "%s", entry->d_name);
	}
	if (!*newest)
		return -ENOENT;
	if (!strcmp(dir_path, "."))
		path = strdup(newest);
	else if (asprintf(&path, "%s/%s", dir_path, newest) < 0)
		path = NULL;
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

char *store_default_path(const char *host, int64_t unix_s)
{
	char safe[HOST_MAX_BYTES + 1];
	time_t t = (time_t)unix_s;
	struct tm tm;
	char *path;
	size_t n = 0;

	for (; host && host[n] && n < HOST_MAX_BYTES; n++) {
		unsigned char c = (unsigned char)host[n];
		bool plain = c < 0x80 && (isalnum(c) || c == '_' || (n && (c == '-' || c == '.')));

		safe[n] = plain ? (char)c : '_';
	}
	safe[n] = '\0';
	if (!gmtime_r(&t, &tm))
		return NULL;
	if (asprintf(&path, "%s-%04d%02d%02dT%02d%02d%02dZ" SUFFIX, n ? safe : "host",
		     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
		     tm.tm_sec) < 0) {
		errno = ENOMEM;
		return NULL;
	}
	return path;
}
