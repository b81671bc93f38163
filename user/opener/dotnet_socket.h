/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_DOTNET_SOCKET_H
#define HOTRUN_OPENER_DOTNET_SOCKET_H
/*
 * Where a .NET runtime listens for diagnostics requests, and the way there. Runs in the helper
 * process (opener.h) only.
 */
#include "model/dotnet_process.h"
#include "opener/dotnet_door.h"
#include "opener/file_request.h"

/* Fills the socket fields. with_stale: where there is none, look for those of earlier processes. */
void dotnet_socket_look(const struct dotnet_door *door, bool with_stale, struct dotnet_process *p);

/*
 * FILE_REQUEST_CONNECT: 0 and ret_fd, a connected stream socket, owned. -ENOENT (no socket),
 * -ESTALE (only one of an earlier process of this pid), -ENOTSOCK (something else lies there),
 * -EPERM (another user's), -EACCES (no right to connect), -ECONNREFUSED (nobody listens), -EAGAIN
 * (its queue is full), or another errno. Who listens is for the caller to check.
 */
int dotnet_connect_serve(const struct file_request *request, int *ret_fd);

/*
 * FILE_REQUEST_LISTEN: 0 and ret_fd, a listening stream socket bound to the path of the port,
 * owned. What a tool of the process's user left there, to which nobody listens, makes room.
 * -EADDRINUSE (somebody listens there), -ENOTSOCK (something else lies there), -EPERM (another
 * user's socket, or a folder in which the process itself may not create files), -ENOENT (no such
 * folder), or another errno.
 * FILE_REQUEST_UNLISTEN: removes it. 0 or -errno.
 */
int dotnet_listen_serve(const struct file_request *request, int *ret_fd);
int dotnet_unlisten_serve(const struct file_request *request);
#endif
