/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/file_writer.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "opener/guard.h"

#define STATUS_BYTES 65536 /* 65,536 groups do not fit; who has so many is judged without them */
#define DAC_OVERRIDE 1u	   /* bit of CapEff, linux/capability.h */

/* Ids and capabilities as the permission checks of files use them. */
struct writer {
	uint32_t uid, gid;
	uint64_t capabilities;
	char *groups; /* the line of status, in the buffer */
};

static bool in_groups(const struct writer *w, uint32_t gid)
{
	char *at = w->groups, *after;

	if (w->gid == gid)
		return true;
	while (at && *at && *at != '\n') {
		unsigned long v = strtoul(at, &after, 10);

		if (after == at)
			break;
		if (v == gid)
			return true;
		at = after + strspn(after, " \t");
	}
	return false;
}

static bool read_writer(int process_fd, char *status, size_t status_bytes, struct writer *ret)
{
	ssize_t n = guard_read(process_fd, "status", status, status_bytes);
	const char *uid, *gid, *capabilities;

	if (n <= 0)
		return false;
	uid = strstr(status, "\nUid:");
	gid = strstr(status, "\nGid:");
	capabilities = strstr(status, "\nCapEff:");
	ret->groups = strstr(status, "\nGroups:");
	if (!uid || !gid || !capabilities || !ret->groups)
		return false;
	ret->groups += strlen("\nGroups:");
	ret->groups += strspn(ret->groups, " \t");
	/* The fourth is that of file systems. */
	return sscanf(uid, " Uid: %*u %*u %*u %u", &ret->uid) == 1 &&
	       sscanf(gid, " Gid: %*u %*u %*u %u", &ret->gid) == 1 &&
	       sscanf(capabilities, " CapEff: %" SCNx64, &ret->capabilities) == 1;
}

/* Whether its capabilities are those of this host: who makes a user namespace has all of them,
 * there alone. */
static bool has_our_users(int process_fd)
{
	struct stat own, its;

	return !stat("/proc/self/ns/user", &own) && !fstatat(process_fd, "ns/user", &its, 0) &&
	       own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

enum file_writer file_writer_look(int process_fd, const struct stat *folder)
{
	_cleanup_free_ char *status = malloc(STATUS_BYTES);
	struct writer w;
	mode_t wanted;

	if (!status || !read_writer(process_fd, status, STATUS_BYTES, &w))
		return FILE_WRITER_UNKNOWN;
	wanted = folder->st_uid == w.uid	 ? S_IWUSR | S_IXUSR
		 : in_groups(&w, folder->st_gid) ? S_IWGRP | S_IXGRP
						 : S_IWOTH | S_IXOTH;
	if ((folder->st_mode & wanted) == wanted)
		return FILE_WRITER_MAY;
	if (w.capabilities >> DAC_OVERRIDE & 1)
		return has_our_users(process_fd) ? FILE_WRITER_MAY : FILE_WRITER_UNKNOWN;
	return FILE_WRITER_MAY_NOT;
}
