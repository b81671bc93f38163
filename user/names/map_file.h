/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_MAP_FILE_H
#define HOTRUN_NAMES_MAP_FILE_H
/*
 * One perf map that is followed: the file itself where its file system cannot hang, else a copy in
 * memory. A worker brings the copy up to date and reads either; what it makes of the lines is kept
 * here. When the process is gone, the rest is copied from the map that was kept, unless its file
 * system is one whose end may hang. One thread.
 */
#include "names/sources.h"
#include "parse/code_rows.h"
#include "perfmap/maps/tail.h"

struct map_file {
	struct perfmap_tail *tail; /* owned */
	struct workers_job *job;   /* owned: what reads on now, or NULL */
	uint64_t job_seen_ns;	   /* of what it reads */
	size_t job_max_bytes;	   /* that it may read */
	int fd;			   /* the tail's, for fstat while the tail lives */
	bool local;		   /* not a copy */
	int source_fd;		   /* of a copy: the map itself (O_PATH), -1 not kept */
	bool more;		   /* there was more than might be read */
	bool behind;		   /* the copy holds more than was read */
	uint64_t dev, ino;	   /* of the file that is copied */
	uint64_t source_bytes;	   /* of it, as it was seen last */
	uint64_t copied_bytes;
	uint64_t job_copy_max; /* what the copy may hold after the job, 0 = it does not copy */
	uint64_t copy_room;    /* bytes that the copy may grow by, set before an advance */
	/* Where the lines of the last advance say that code lies, if asked for; owned. */
	bool keeps_code;
	struct code_range *code;
	size_t code_cnt, code_cap;
};

/*
 * Finds the map of a process and opens it; reads nothing yet. Where the process is gone, in the
 * directories that were kept of it. Returns a reason of the file requests; or REASON_NAMED with
 * ret_error 0 and ret_file owned, or with the -errno of the search (perfmap_locate()).
 */
enum model_reason map_file_open(const struct sources *src, const struct model *m, uint32_t process,
				int *ret_error, struct map_file **ret_file);
void map_file_free(const struct sources *src, struct map_file *file);

/* The runtime's file was deleted: the next one at its path is another. */
bool map_file_is_deleted(const struct map_file *file);

/* Bytes that were not read yet. */
uint64_t map_file_unread(const struct map_file *file);

/*
 * Reads what was added, at most max_bytes (see perfmap_tail_advance()). Returns a reason of the
 * file requests: REASON_PENDING: it is being read, call again; what hung or cost too much must be
 * closed; else ret_error is 0, or -ESTALE: another file lies there by now. ret_bytes: read, also of
 * the copy.
 */
enum model_reason map_file_advance(struct map_file *file, const struct sources *src,
				   const struct model *m, uint32_t process, uint64_t seen_ns,
				   size_t max_bytes, int *ret_error, size_t *ret_bytes);
#endif
