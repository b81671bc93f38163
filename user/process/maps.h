/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_MAPS_H
#define HOTRUN_PROCESS_MAPS_H
/*
 * Lines of /proc/PID/maps (proc(5)). Pure, by length. What kind a path is, is told by
 * model_mapping_kind_of().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end, file_offset; /* end exclusive */
	uint64_t dev;			  /* makedev */
	uint64_t inode;
	bool executable;
	const char *path; /* into the line, still escaped; not terminated */
	size_t path_len;
};

/* Parses one line without its newline; path borrows from it. 0 or -EINVAL. */
int maps_parse(const char *line, size_t len, struct maps_line *ret_line);

/*
 * Copies a path with the kernel's escape of newlines ("\012") undone. Returns the length, at most
 * buf_bytes - 1, terminated.
 */
size_t maps_unescape(const char *path, size_t len, char *buf, size_t buf_bytes);

/* True where the path ends with the kernel's mark " (deleted)"; its length is that without. */
bool maps_deleted(const char *path, size_t len, size_t *ret_len);
#endif
