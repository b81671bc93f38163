/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/map_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "parse/parse.h"
#include "perfmap/maps/locate.h"

/* In the directories that were kept of a process that is gone. As file_requests_open(). */
static enum model_reason ask_kept(const struct sources *src, const struct model *m,
				  uint32_t process, struct file_reply *reply, int *ret_fd)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	enum model_reason reason = request ? REASON_NAMED : REASON_LIMIT;
	struct kept_place place;

	reply->error = -ESRCH;
	for (unsigned i = 0; i < PERFMAP_DIRECTORIES && !reason; i++) {
		struct file_reply other;

		if (!kept_directories_map_place(src->kept, process, i, &place))
			continue;
		request->kind = FILE_REQUEST_KEPT_MAP;
		request->kept_map =
			(struct kept_map_request){.ns_pid = place.ns_pid, .euid = place.euid};
		reason = file_requests_open(src->requests, m, process, request, place.directory_fd,
					    &other, ret_fd);
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
static struct map_file *file_of(const struct file_reply *reply, int fd)
{
	struct map_file *file = calloc(1, sizeof(*file));

	if (!file) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	file->local = reply->map.local;
	file->dev = reply->map.dev;
	file->ino = reply->map.ino;
	file->source_fd = reply->map.local ? -1 : fd;
	file->fd = reply->map.local ? fd : memfd_create("hotrun-map", MFD_CLOEXEC);
	file->tail = file->fd < 0 ? NULL : perfmap_tail_new(file->fd);
	if (file->tail)
		return file;
	cleanup_close(&file->source_fd);
	free(file);
	return NULL;
}

enum model_reason map_file_open(const struct sources *src, const struct model *m, uint32_t process,
				int *ret_error, struct map_file **ret_file)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	struct file_reply reply;
	enum model_reason reason;
	struct map_file *file;
	int fd;

	*ret_error = -ENOMEM;
	if (!request)
		return REASON_NAMED;
	request->kind = FILE_REQUEST_MAP;
	reason = environs_read(src->environs, m, process, &request->map.env);
	if (!reason)
		reason = sources_open(src, m, process, request, &reply, &fd);
	if (!reason && reply.error == -ESRCH && src->kept)
		reason = ask_kept(src, m, process, &reply, &fd);
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

void map_file_free(const struct sources *src, struct map_file *file)
{
	if (!file)
		return;
	workers_job_free(src->requests->workers, file->job);
	perfmap_tail_free(file->tail);
	free(file->code);
	cleanup_close(&file->source_fd);
	free(file);
}

bool map_file_is_deleted(const struct map_file *file)
{
	struct stat st;

	return file->local && !fstat(file->fd, &st) && !st.st_nlink;
}

/*
 * Has the map itself opened for a worker: where the process is gone, the one that was kept. Returns
 * a reason of the file requests; ret_fd is -1 where there is nothing to be copied.
 */
static enum model_reason open_source(struct map_file *file, const struct sources *src,
				     const struct model *m, uint32_t process, int *ret_error,
				     int *ret_fd)
{
	_cleanup_free_ struct file_request *request = calloc(1, sizeof(*request));
	const struct map_use use = {.to_worker = true, .known_bytes = file->copied_bytes};
	struct file_reply reply;
	enum model_reason reason;

	*ret_fd = -1;
	if (!request)
		return REASON_NAMED;
	request->kind = FILE_REQUEST_MAP;
	request->map.use = use;
	reason = environs_read(src->environs, m, process, &request->map.env);
	if (!reason)
		reason = sources_open(src, m, process, request, &reply, ret_fd);
	if (!reason && reply.error == -ESRCH && file->source_fd >= 0) {
		request->kind = FILE_REQUEST_SAME_MAP;
		request->same_map.use = use;
		reason = file_requests_open(src->requests, m, process, request, file->source_fd,
					    &reply, ret_fd);
	}
	if (reason || reply.error)
		return reason;
	file->source_bytes = reply.map.size_bytes;
	if (reply.map.dev == file->dev && reply.map.ino == file->ino)
		return REASON_NAMED;
	*ret_error = -ESTALE;
	cleanup_close(ret_fd);
	*ret_fd = -1;
	return REASON_NAMED;
}

uint64_t map_file_unread(const struct map_file *file)
{
	uint64_t offset = perfmap_tail_cursor(file->tail)->offset;
	struct stat st;

	if (fstat(file->fd, &st) || (uint64_t)st.st_size <= offset)
		return 0;
	return (uint64_t)st.st_size - offset;
}

/* Whether there is anything for a worker to look at. */
static bool has_changed(const struct map_file *file)
{
	uint64_t offset = perfmap_tail_cursor(file->tail)->offset;
	struct stat st;

	return !fstat(file->fd, &st) && (uint64_t)st.st_size != offset &&
	       (offset < PERFMAP_FILE_BYTES_MAX || (uint64_t)st.st_size < offset);
}

/* Takes source_fd, of the map that is copied, or -1. */
static enum model_reason begin(struct map_file *file, const struct sources *src,
			       const struct model *m, uint32_t process, uint64_t seen_ns,
			       size_t max_bytes, int source_fd)
{
	struct parse_request parse = {.kind = PARSE_MAP, .in_socket = source_fd >= 0 ? 2 : 0};
	_cleanup_close_ int way_fd = source_fd, fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	file->job_copy_max = 0;
	if (way_fd >= 0)
		file->job_copy_max = file->copied_bytes +
				     (max_bytes < file->copy_room ? max_bytes : file->copy_room);
	parse.map.cursor = *perfmap_tail_cursor(file->tail);
	parse.map.max_bytes = file->job_max_bytes = max_bytes;
	parse.map.copied_bytes = file->copied_bytes;
	parse.map.copy_max = file->job_copy_max;
	file->job = fd < 0 ? NULL : file_requests_job_new(src->requests, m, process, &parse);
	if (!file->job)
		return REASON_LIMIT;
	workers_job_give(file->job, take_fd(&fd));
	if (way_fd >= 0)
		workers_job_give(file->job, take_fd(&way_fd));
	file->job_seen_ns = seen_ns;
	file_requests_job_begin(src->requests, file->job, WORKERS_USUAL);
	return REASON_NAMED;
}

/* What the copy holds now. One that is longer than it may be was not made by a worker as ours. */
static int take_copy(struct map_file *file, const struct parse_reply *reply)
{
	struct stat st;

	if (!file->job_copy_max)
		return 0;
	if (!reply->copied_bytes) { /* the map was written anew */
		file->copied_bytes = 0;
		return ftruncate(file->fd, 0) ? -errno : 0;
	}
	if (fstat(file->fd, &st) || (uint64_t)st.st_size > file->job_copy_max)
		return -EBADMSG;
	file->copied_bytes = (uint64_t)st.st_size;
	return 0;
}

/* What does not fit is not known; its callers are unsure then. */
static void keep_code(struct map_file *file, const struct perfmap_entry *rows, size_t cnt)
{
	for (size_t i = 0; file->keeps_code && i < cnt; i++) {
		bool keeps_stack = rows[i].flags & PERFMAP_ROW_KEEPS_STACK;

		/* Of other stubs nothing tells. */
		if ((!keeps_stack &&
		     rows[i].flags & (PERFMAP_ENTRY_STUB | PERFMAP_ROW_CONTINUES)) ||
		    GROW(file->code, file->code_cnt, file->code_cap))
			continue;
		file->code[file->code_cnt++] = (struct code_range){
			.start = rows[i].start,
			.size = rows[i].size_bytes,
			.keeps_stack = keeps_stack,
		};
	}
}

/* Takes in what the worker made of the lines. */
static int take(struct map_file *file, const struct parse_reply *reply, size_t *ret_bytes)
{
	const struct perfmap_entry *rows = NULL;
	struct blob *blob = NULL;
	size_t bytes, cnt = 0;
	int fd, err = reply->error;

	if (err)
		return err < 0 && err >= -4095 ? err : -EBADMSG;
	err = take_copy(file, reply);
	if (err)
		return err;
	fd = workers_job_take_result(file->job, &bytes);
	if (fd >= 0)
		blob = parse_map_rows(fd, bytes, &rows, &cnt);
	if (!blob)
		return -EBADMSG;
	keep_code(file, rows, cnt);
	err = perfmap_tail_take(file->tail, rows, cnt, &reply->scanned, &reply->cursor,
				file->job_seen_ns);
	blob_free(blob);
	/* It cannot have read more, and all maps share what may be read. */
	*ret_bytes = reply->scanned.bytes < file->job_max_bytes ? reply->scanned.bytes
								: file->job_max_bytes;
	file->behind = reply->scanned.more;
	return err;
}

/* Waits for the worker as far as it may. */
static enum model_reason finish(struct map_file *file, const struct sources *src,
				const struct model *m, uint32_t process, int *ret_error,
				size_t *ret_bytes)
{
	const struct parse_reply *reply;
	enum model_reason reason = file_requests_job_wait(
		src->requests, file->job, file_requests_party(src->requests, m, process), &reply);
	uint64_t since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (reason == REASON_PENDING)
		return reason;
	if (!reason)
		*ret_error = take(file, reply, ret_bytes);
	file_requests_charge(src->requests, m, process, since_ns);
	file_requests_job_end(src->requests, process, file->job);
	file->job = NULL;
	return reason;
}

/* Whether the copy may grow by what the map had already. */
static bool is_incomplete(const struct map_file *file)
{
	return !file->local && file->copied_bytes < file->source_bytes && file->copy_room;
}

enum model_reason map_file_advance(struct map_file *file, const struct sources *src,
				   const struct model *m, uint32_t process, uint64_t seen_ns,
				   size_t max_bytes, int *ret_error, size_t *ret_bytes)
{
	uint64_t before = file->copied_bytes;
	enum model_reason reason = REASON_NAMED;
	int source_fd = -1;

	*ret_error = 0;
	*ret_bytes = 0;
	file->code_cnt = 0;
	/* The copy is not to run ahead of its reader. */
	if (!file->job && !file->local && !file->behind && file->copy_room)
		reason = open_source(file, src, m, process, ret_error, &source_fd);
	if (reason || *ret_error)
		return reason;
	if (!file->job && (source_fd >= 0 || has_changed(file)))
		reason = begin(file, src, m, process, seen_ns, max_bytes, source_fd);
	else if (!file->job)
		file->behind = false;
	if (!reason && file->job)
		reason = finish(file, src, m, process, ret_error, ret_bytes);
	if (reason)
		return reason;
	file->behind = file->behind && !*ret_error;
	file->more = !*ret_error && (file->behind || is_incomplete(file));
	/* Copying costs as reading does. */
	if (file->copied_bytes > before && file->copied_bytes - before > *ret_bytes)
		*ret_bytes = (size_t)(file->copied_bytes - before);
	return REASON_NAMED;
}
