/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_SYMBOL_DIRS_H
#define HOTRUN_NAMES_SYMBOL_DIRS_H
/*
 * Folders of symbol files that the user names: perf maps as perf-PID.map, ELF files and debug files
 * by the build id inside them, wherever they lie and whatever they are called
 * (.build-id/xx/yyyy.debug is one way), precompiled .NET images by file name and, where the capture
 * has it, version id. They are looked through once; what the file requests cannot get from a
 * process is then taken from here. The files may come from anybody: a helper opens them
 * (symbol_look.h), none is followed out of its folder, and workers read what is in them. A folder
 * that hangs costs its deadline. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opener/file_requests.h"
#include "parse/elf.h"

#define SYMBOL_DIRS_MAX	 16u
#define SYMBOL_FILES_MAX 50000u /* kept, of those in folders */
/* Files that cost their workers the life: with so many the rest is left. One that hangs counts as
 * half of them, for the time that is waited for it. */
#define SYMBOL_DIRS_BAD_MAX 16u
#define SYMBOL_DIRS_HANGS   (SYMBOL_DIRS_BAD_MAX / 2)
/* For a file to be opened, or some to be identified. */
#define SYMBOL_DIRS_OPEN_NS 3000000000ull
#define SYMBOL_DIRS_JOB_NS  3000000000ull

enum symbol_file_kind {
	SYMBOL_FILE_MAP,
	SYMBOL_FILE_ELF,
	SYMBOL_FILE_IMAGE,
};

struct symbol_file {
	char *path; /* below its folder */
	uint32_t folder;
	enum symbol_file_kind kind;
	uint32_t pid; /* MAP */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* ELF */
	bool has_code;	      /* ELF: not a debug file without the program itself */
	uint8_t version[16];  /* IMAGE, once it was read for it */
	bool version_read, has_version;
	bool given;    /* it was asked for */
	bool unproven; /* IMAGE, and nothing but its name says that it is the one */
};

struct symbol_dirs {
	struct file_requests requests; /* its own: what hangs here says nothing of processes */
	struct {
		char *path;	  /* owned; absolute */
		const char *name; /* borrowed */
	} folders[SYMBOL_DIRS_MAX];
	uint32_t folders_cnt;
	struct symbol_file *files;
	size_t files_cnt, files_cap;
	unsigned bad; /* see SYMBOL_DIRS_BAD_MAX */
	bool cut;     /* a bound was reached */
	/* Of the debug file given last: it is not given twice for one program. */
	uint8_t debug_id[BUILD_ID_MAX];
};

/* Empty; forks its helper. Owned, or NULL with errno. */
struct symbol_dirs *symbol_dirs_new(void);
void symbol_dirs_free(struct symbol_dirs *d);

/* Looks through a folder; name is borrowed until the end. 0; -E2BIG (more than SYMBOL_DIRS_MAX),
 * -ETIMEDOUT (it hangs), or the -errno of opening it. What is unreadable in it is left out. */
int symbol_dirs_add(struct symbol_dirs *d, const char *name);

/* As whom a process's map may be named: its pid on the host, and as it saw itself (0 = do not). Of
 * several maps of one pid none is taken. */
struct symbol_pids {
	uint32_t tgid, ns_pid;
};

/*
 * Answers a FILE_REQUEST_MAPPED, FILE_REQUEST_DEBUG or FILE_REQUEST_MAP from the folders. Returns
 * false: nothing fits; else as file_requests_open(), ret_fd owned (-1 for identity_only).
 */
bool symbol_dirs_serve(struct symbol_dirs *d, const struct file_request *request,
		       const struct symbol_pids *pids, struct file_reply *ret_reply, int *ret_fd);
#endif
