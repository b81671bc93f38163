/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_DOTNET_LOOK_H
#define HOTRUN_OPENER_DOTNET_LOOK_H
/*
 * The helper's side of dotnet.h and dotnet_ask.h: what touches files of the target, any of which may
 * hang. Looks at what lies where, and reads none of it: that is a worker's (parse_fact.h). Runs in the
 * helper process (opener.h) only.
 */
#include "process/dotnet.h"
#include "opener/opener.h"
#include "perfmap/maps/locate.h"

/* Crosses from the helper in a file in memory. */
struct dotnet_look {
	bool is_dotnet;		       /* as known before, or by its socket */
	bool denied;		       /* its root may not be looked at */
	struct dotnet_process process; /* its ids, its socket and its map */
};

/* FILE_REQUEST_DOTNET: 0 and ret_fd, a memfd with a struct dotnet_look, owned; or -errno. */
int dotnet_look_serve(const struct file_request *request, int *ret_fd);

/*
 * FILE_REQUEST_CONNECT: 0 and ret_fd, a connected stream socket, owned. -ENOENT (no socket), -ESTALE (only
 * one of an earlier process of this pid), -ENOTSOCK (something else lies there), -EPERM (another
 * user's), -EACCES (no right to connect), -ECONNREFUSED (nobody listens), -EAGAIN (its queue is
 * full), or another errno. Who listens is for the caller to check.
 */
int dotnet_connect_serve(const struct file_request *request, int *ret_fd);

/*
 * FILE_REQUEST_RESERVE: where nothing lies at the map's path, makes an empty file that belongs to the process.
 * The runtime follows links, and in a directory that others write to one could be planted between the
 * look at the path and its open; in a sticky one nobody can put anything else in place of that file.
 * 0; -EEXIST (something lies there); or another errno, then with nothing made.
 * FILE_REQUEST_RELEASE: removes it if it is the process's own, and empty. 0 or -errno.
 */
int dotnet_place_serve(const struct file_request *request);

/* A process whose directories are open; for the files of this module. */
struct dotnet_door {
	int process_fd, root_fd; /* borrowed */
	const struct perfmap_target *target;
	uint64_t start_ticks, started_wall_ns;
};

/* Fills the socket fields. with_stale: where there is none, look for those of earlier processes. */
void dotnet_look_socket(const struct dotnet_door *door, bool with_stale, struct dotnet_process *p);
/* Fills the map fields, but for the counts of what is in it. */
void dotnet_look_map(const struct dotnet_door *door, struct dotnet_process *p);
/* Start of a process in clock ticks, which is the key of its socket. 0 or -errno. */
int dotnet_read_start(int process_fd, uint64_t *ret_ticks);
/* Opens a directory as the process names it: absolute, or from where it works. Or -errno. */
int dotnet_look_directory(const struct dotnet_door *door, const char *path);

#endif
