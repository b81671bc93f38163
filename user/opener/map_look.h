/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_MAP_LOOK_H
#define HOTRUN_OPENER_MAP_LOOK_H
/*
 * The opener's side of perf maps, and of the directories that are kept so that maps and files can
 * be found when their process is gone. Opens them and reads none. Any of it may hang: runs in the
 * helper process (opener.h) only.
 */
#include "opener/file_request.h"

/*
 * MAP, KEPT_MAP, SAME_MAP, SYMBOL_MAP. give_fd: the directory or the map that was kept, or -1.
 * 0 with ret_fd owned or -1, as struct file_reply says; or -errno.
 */
int map_look(const struct file_request *request, int give_fd, int way_fd, struct file_reply *reply,
	     int *ret_fd);
/* DIRECTORY. 0 with ret_fd owned; -ENOTSUP: its file system may hang; or another -errno. */
int map_look_directory(const struct file_request *request, struct file_reply *reply, int *ret_fd);
#endif
