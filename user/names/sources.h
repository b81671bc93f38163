/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_SOURCES_H
#define HOTRUN_NAMES_SOURCES_H
/*
 * Where the files that name a process's code come from: from the process itself; when it is gone,
 * from the directories that were kept of it; and what neither gives, from folders of symbol files
 * that the user names. One thread.
 */
#include "opener/file_requests.h"
#include "process/environs.h"
#include "process/kept_directories.h"

struct symbol_dirs;

struct sources {
	struct file_requests *requests; /* all of them borrowed */
	struct environs *environs;
	struct kept_directories *kept; /* NULL = nothing is kept */
	struct symbol_dirs *symbols;   /* NULL = none are named */
};

/*
 * file_requests_open() for a process row: a mapped file, a debug file of one or its perf map. Same
 * results, wherever it came from.
 */
enum model_reason sources_open(const struct sources *s, const struct model *m, uint32_t process,
			       struct file_request *request, struct file_reply *ret_reply,
			       int *ret_fd);
#endif
