/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PROCESS_UNIX_SOCKETS_H
#define HOTRUN_PROCESS_UNIX_SOCKETS_H
/*
 * How many sockets are bound to a path, in /proc/PID/net/unix: those of the process's network
 * namespace. Whoever binds a socket chooses its path, with newlines in it, too: what is counted is
 * a hint. No state.
 */
#include <stddef.h>
#include <stdint.h>

/* Of the list: a host with 100,000 sockets has some 8 MB. */
#define UNIX_SOCKETS_BYTES_MAX (16u << 20)

struct unix_path {
	const char *path; /* as it was bound; NULL or "" counts nothing */
	uint32_t listening_cnt, connected_cnt;
};

/* Adds to the counts of each, for a process by its directory (guard_process()). 0 or -errno. */
int unix_sockets_count(int process_fd, struct unix_path *paths, size_t paths_cnt);

/* One line without its newline. Pure. */
void unix_sockets_take_line(const char *line, size_t len, struct unix_path *paths,
			    size_t paths_cnt);
#endif
