/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OPENER_SYMBOL_LOOK_H
#define HOTRUN_OPENER_SYMBOL_LOOK_H
/*
 * The helper's side of symbol_dirs.h: lists a folder and opens files in it, any of which may hang.
 * Regular files only, links are followed as long as they stay inside; none is read. Runs in the
 * helper process (opener.h) only.
 */
#include "opener/file_request.h"

#define SYMBOL_DIRS_DEPTH   16u	    /* of folders in folders */
#define SYMBOL_DIRS_ENTRIES 200000u /* looked at: /usr/lib/debug of a full host has fewer */
#define SYMBOL_LIST_BYTES   (32u << 20)

/* FILE_REQUEST_LIST: 0 and ret_fd, a file in memory with the paths of all files below the
 * folder, each with a NUL behind it; reply->list.cut: a bound was reached. Or -errno of opening the
 * folder. */
int symbol_list_serve(const struct file_request *request, struct file_reply *reply, int *ret_fd);

/* FILE_REQUEST_SYMBOLS: sends files to a worker, one message each, without a descriptor where it
 * is none; reply->mapped.identity is the last one's. 0 or -errno. */
int symbol_files_serve(const struct file_request *request, int way_fd, struct file_reply *reply);

/* FILE_REQUEST_SYMBOL_MAP: opens it. 0 with file owned, or -errno. */
int symbol_map_open(const struct symbol_map_request *request, struct perfmap_file *ret_file);
#endif
