/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_FILE_WRITER_H
#define HOTRUN_OPENER_FILE_WRITER_H
/*
 * Whether a process may create files in a folder, so that hotrun makes none where it could not. By
 * the mode bits; where an access list allows more, its mask stands among them. Runs in the helper
 * process (opener.h) only.
 */
#include <stdbool.h>
#include <sys/stat.h>

enum file_writer {
	FILE_WRITER_MAY_NOT,
	FILE_WRITER_MAY,
	FILE_WRITER_UNKNOWN, /* its ids cannot be read, or its rights are those of another user
			      * namespace, which may count for nothing here */
};

/* By the process's directory (guard_process()) and the folder's stat. */
enum file_writer file_writer_look(int process_fd, const struct stat *folder);
#endif
