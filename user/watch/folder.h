/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_FOLDER_H
#define HOTRUN_WATCH_FOLDER_H
/*
 * The folder of the resident recorder: captures and their artifacts, the control socket, lock and
 * state. It belongs to the user of hotrun alone (captures are secrets): 0700, made when it is
 * missing (its parent is not). Everything in it is reached by name below an open folder, links are
 * not followed.
 *
 *	HOST-20261121T190000Z-rotate.hotrun	HOST-20261121T191202Z-trigger.hotrun, .txt, .html
 *						HOST-20261121T191202Z-auto.hotrun, .txt, .html
 *	lock, state, control			hotrun's own
 *	.*.new					unfinished; removed at the next start
 *
 * Names of captures and artifacts consist of letters, digits, '.', '_' and '-' alone, as above:
 * what else lies there is not hotrun's, is not listed, and is never removed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_DEFAULT	  "/var/lib/hotrun"
#define FOLDER_NAME_BYTES 256
#define FOLDER_FILES	  100000

enum folder_kind { FOLDER_CAPTURE, FOLDER_TEXT, FOLDER_PAGE };

/* What a capture was taken for; the more it is worth, the later. */
enum folder_by {
	FOLDER_ROTATE,	/* by rotation */
	FOLDER_AUTO,	/* somebody was hurt */
	FOLDER_TRIGGER, /* a person asked for it */
	FOLDER_BY_CNT
};
/* As names have it: "rotate", "auto", "trigger". Static. */
const char *folder_by_id(enum folder_by by);

struct folder_file {
	char name[FOLDER_NAME_BYTES];
	enum folder_kind kind;
	enum folder_by by;
	int64_t time_s; /* Unix time, from the name; of its last change where that is no date */
	uint64_t bytes;
};

/* A capture with its artifacts. */
struct folder_capture {
	char name[FOLDER_NAME_BYTES]; /* of the capture, also when only artifacts are left of it */
	bool capture, text, page;     /* are there */
	enum folder_by by;
	int64_t time_s;
	uint64_t capture_bytes, bytes; /* bytes: with the artifacts */
};

/* Opens the folder, for the recorder (create: made when missing, must be ours and nobody else's to
 * write) or for a reader (must not be anybody's to write but its owner's). Of what fails a sentence
 * that names the path is in why. *ret_fd is owned by the caller. -ENOENT, -ENOTDIR, -EPERM (not
 * ours, or open to others), -ELOOP (a link), -EACCES... */
int folder_open(const char *path, bool create, char *why, size_t why_bytes, int *ret_fd);
/* False when it was removed, moved, or another one lies under that path by now. */
bool folder_stays(int dir, const char *path);
/* Takes the lock, which ends with the process (however it ends). *ret_fd owned. -EBUSY: why names
 * the pid that holds it, or what is wrong with the file. */
int folder_lock(int dir, char *why, size_t why_bytes, int *ret_fd);
/* Captures and artifacts, newest first; others are left out. At most FOLDER_FILES are looked at.
 * *ret_files owned by the caller. 0, -ENOMEM or the errno of reading the folder. */
int folder_list(int dir, struct folder_file **ret_files, size_t *ret_cnt);
/* The same files, a row for each capture: what the retention counts. *ret_captures owned by the
 * caller. */
int folder_captures(int dir, struct folder_capture **ret_captures, size_t *ret_cnt);
/* Removes what an earlier run left unfinished (".*.new" of ours, and of the store: ".hotrun-*.tmp",
 * journals of captures that are gone), returns how many. For who holds the lock. Captures that were
 * cut short stay: they can be read. */
unsigned int folder_clean(int dir);
/* "HOST-20261121T191202Z-trigger.hotrun" that is not there yet, nor are artifacts of that name (-2,
 * -3, ... before the dot). What does not belong into a name becomes '_'. 0 or negative errno;
 * -EEXIST: too many of that second. */
int folder_name(int dir, const char *host, int64_t unix_s, enum folder_by by,
		char ret_name[static FOLDER_NAME_BYTES]);
/* When a capture of that name was begun, Unix time; 0 where it does not tell. */
int64_t folder_time_s(const char *name);
/* True for names of captures and artifacts, and nothing else: no slash, no dot in front. */
bool folder_is_name(const char *name);
/* Opens one for reading: a regular file of the folder's owner. *ret_fd owned. -EINVAL: no such name
 * is possible; -EPERM: not the owner's, or no file. */
int folder_get(int dir, const char *name, int *ret_fd);
/* Removes a capture with its artifacts and what SQLite left beside it; also artifacts alone. 0;
 * -EINVAL: no such name of a capture is possible; -ENOENT: nothing of it was there; -EPERM: not of
 * the folder's owner, or no file; else the errno of removing it. */
int folder_remove(int dir, const char *capture);
#endif
