/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_FILE_LOOK_H
#define HOTRUN_OPENER_FILE_LOOK_H
/*
 * The opener's side of files of a process: what it has mapped, debug files of that, its program and
 * its environment. Opens them and reads none. Any of it may hang: runs in the helper process
 * (opener.h) only.
 */
#include "opener/file_request.h"

/* MAPPED. root_fd: the root directory that was kept of the process, or -1. way_fd: to the
 * worker. */
enum model_reason file_look_mapped(const struct file_request *request, int root_fd, int way_fd,
				   struct file_reply *reply);
/* DEBUG. The same. */
enum model_reason file_look_debug(const struct file_request *request, int root_fd, int way_fd);
/* ENVIRON, PROGRAM. 0 or -errno. */
int file_look_own(const struct file_request *request, int way_fd);
/* TARGET. 0 or -errno, of its memory; files that cannot be had are told as such. */
int file_look_target(const struct file_request *request, int way_fd);

/* Hands an opened file on to who works on it. 0 or -errno. */
int file_look_deliver(int way_fd, int fd);
#endif
