/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/map_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "names/fetch.h"
#include "names/hold.h"
#include "perfmap/locate.h"

/* In the directories that were held for a process that is gone. As asker_fetch(). */
static enum model_reason ask_left(struct asker *a, const struct model *m, uint32_t process,
				  struct fetch_request *request, struct fetch_reply *reply,
				  int *ret_fd)
{
	enum model_reason reason = REASON_NAMED;
	struct hold_place place;

	request->in_directory = true;
	reply->error = -ESRCH;
	for (unsigned i = 0; i < PERFMAP_DIRECTORIES && !reason; i++) {
		struct fetch_reply other;

		if (!hold_map_place(a->hold, process, i, &place))
			continue;
		request->ns_pid = place.ns_pid;
		request->euid = place.euid;
		reason = asker_fetch(a, m, process, request, place.directory_fd, &other, ret_fd);
		if (reason)
			break;
		/* What was refused says more than what is not there. */
		if (!other.error || reply->error == -ESRCH || reply->error == -ENOENT)
			*reply = other;
		if (!other.error)
			break;
	}
	return reason;
}

/* Takes fd. */
static struct map_file *file_of(const struct fetch_reply *reply, int fd)
{
	struct map_file *file = calloc(1, sizeof(*file));

	if (!file) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	file->local = reply->local;
	file->dev = reply->dev;
	file->ino = reply->ino;
	file->fd = reply->local ? fd : memfd_create("hotrun-map", MFD_CLOEXEC);
	file->tail = file->fd < 0 ? NULL : perfmap_tail_new(file->fd);
	if (file->tail)
		return file;
	free(file);
	return NULL;
}

enum model_reason map_file_open(struct asker *a, const struct model *m, uint32_t process,
				uint64_t copy_room, int *ret_error, struct map_file **ret_file)
{
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	struct fetch_reply reply;
	enum model_reason reason;
	struct map_file *file;
	int fd;

	*ret_error = -ENOMEM;
	if (!request)
		return REASON_NAMED;
	request->what = FETCH_MAP;
	reason = asker_fetch(a, m, process, request, -1, &reply, &fd);
	if (!reason && reply.error == -ESRCH && a->hold) {
		request->bytes_max = copy_room;
		reason = ask_left(a, m, process, request, &reply, &fd);
	}
	if (reason)
		return reason;
	*ret_error = reply.error;
	if (reply.error)
		return REASON_NAMED;
	file = file_of(&reply, fd);
	*ret_error = file ? 0 : -ENOMEM;
	if (file)
		*ret_file = file;
	return REASON_NAMED;
}

void map_file_free(struct map_file *file)
{
	if (!file)
		return;
	perfmap_tail_free(file->tail);
	free(file);
}

bool map_file_is_deleted(const struct map_file *file)
{
	struct stat st;

	return file->local && !fstat(file->fd, &st) && !st.st_nlink;
}

/* Brings the copy up to date. A process that is gone adds nothing: its copy stays as it is. */
static enum model_reason copy(struct map_file *file, struct asker *a, const struct model *m,
			      uint32_t process, size_t max_bytes, int *ret_error)
{
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	struct fetch_reply reply;
	enum model_reason reason;
	int fd;

	if (!request)
		return REASON_NAMED;
	request->what = FETCH_MAP;
	request->copied_bytes = file->copied_bytes;
	request->dev = file->dev;
	request->ino = file->ino;
	request->bytes_max = max_bytes < file->copy_room ? max_bytes : file->copy_room;
	reason = asker_fetch(a, m, process, request, file->fd, &reply, &fd);
	if (reason)
		return reason;
	if (fd >= 0) { /* another file, on another file system */
		close(fd);
		*ret_error = -ESTALE;
	} else if (reply.error == -ESTALE) {
		*ret_error = -ESTALE;
	} else if (!reply.error) {
		file->copied_bytes = reply.copied_bytes;
	}
	return REASON_NAMED;
}

enum model_reason map_file_advance(struct map_file *file, struct asker *a, const struct model *m,
				   uint32_t process, uint64_t seen_ns, size_t max_bytes,
				   int *ret_error, size_t *ret_bytes)
{
	uint64_t before = file->copied_bytes;
	bool more = false;
	int err;

	*ret_error = 0;
	*ret_bytes = 0;
	/* The copy is not to run ahead of its reader. */
	if (!file->local && !file->behind && file->copy_room) {
		enum model_reason reason = copy(file, a, m, process, max_bytes, ret_error);

		if (reason)
			return reason;
		more = file->copied_bytes >= before + max_bytes;
	}
	err = perfmap_tail_advance(file->tail, seen_ns, max_bytes, ret_bytes, &file->behind);
	file->behind = file->behind && !err;
	file->more = !err && (file->behind || more);
	/* Copying costs as reading does. */
	if (file->copied_bytes > before && file->copied_bytes - before > *ret_bytes)
		*ret_bytes = (size_t)(file->copied_bytes - before);
	return REASON_NAMED;
}
