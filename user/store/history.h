/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_HISTORY_H
#define HOTRUN_STORE_HISTORY_H
/*
 * The file "history" in the folder of the resident recorder: what is remembered for months
 * (model/history.h), one SQLite database. Written by one process, once a minute, in transactions
 * that reach the disk; read by anybody who may, defensively: it may have come from a stranger.
 *
 * Bounded: minutes are forgotten before hours, the oldest first, when the file nears its bound;
 * beyond days_max days of which anything is known the oldest day goes. Days that are known are
 * counted, not the time since: a clock that was wrong for an hour must not cost months. Kinds of
 * process are at most HISTORY_KINDS; a new one takes the place of the one that is known of for the
 * fewest minutes, among those that were not seen lately, else it counts with the others. No
 * threads: a handle belongs to one at a time.
 */
#include "model/history.h"

#define HISTORY_FILE "history"
/* A damaged one lies here, when another had to be begun; only the last one is kept. */
#define HISTORY_DAMAGED "history.damaged"

#define HISTORY_KINDS 1000
/* Of decisions and of trunks each; the oldest go. */
#define HISTORY_NOTES 10000
/* Smaller files would hold less than a day. */
#define HISTORY_BYTES_MIN (1ull << 20)

struct history_options {
	uint64_t bytes_max;
	uint64_t days_max;
	history_compare worse; /* of two verdicts */
};

struct history_file;

/*
 * Opens the file of that folder for writing, or makes it (mode 0600). One that is damaged, or no
 * database of ours, is moved aside (*ret_aside). *ret_file is owned by the caller; dir is not
 * needed any more. -EPROTO: of a later version, left alone; -EPERM: not a regular file of ours,
 * left alone; -EACCES, -EROFS, -ENOSPC, -EBUSY, -EIO, -ENOMEM.
 */
int history_file_open(int dir, const struct history_options *options, bool *ret_aside,
		      struct history_file **ret_file);
/* Other bounds, from the next write on. */
void history_file_set(struct history_file *f, const struct history_options *options);

/*
 * Adds minutes, all or none; what is known of a minute already is added to. Forgets what is too
 * much, a bounded piece of it each time. 0; -EBADMSG: damaged, close it and open it anew, which
 * moves it aside; -ENOSPC, -EBUSY (somebody reads), -EACCES, -EIO, -ENOMEM: nothing was written,
 * try again.
 */
int history_file_write(struct history_file *f, const struct history_minute *minutes, size_t cnt);
/* The same for a decision: the one that was decided last of that process, again, is counted there.
 * And for trunks of a capture. */
int history_file_decide(struct history_file *f, const struct history_decision *decision);
int history_file_trunks(struct history_file *f, const struct history_trunk *trunks, size_t cnt);

/* Opens one for reading, that may lie anywhere. *ret_file is owned by the caller. Errors as
 * store_read(); store_error_text() has words, "capture" in them apart. */
int history_file_read(const char *path, struct history_file **ret_file);
/* Takes NULL. */
void history_file_close(struct history_file *f);

/* Kinds that have a name of their own, in no order. *ret_kinds is owned by the caller. 0 or
 * negative errno, as history_file_read(). */
int history_file_kinds(struct history_file *f, struct history_kind **ret_kinds, size_t *ret_cnt);

enum history_length { HISTORY_MINUTES, HISTORY_HOURS };
#define HISTORY_ANY UINT32_MAX

/* Told of each row; another result than 0 ends it, and is returned. */
typedef int (*history_on_row)(void *ctx, int64_t time_s, uint32_t kind,
			      const struct history_figures *figures);
typedef int (*history_on_decision)(void *ctx, const struct history_decision *decision);
typedef int (*history_on_trunk)(void *ctx, const struct history_trunk *trunk);

/* Rows that begin in from_s..to_s (Unix time, to_s exclusive), of one kind or HISTORY_ANY. In the
 * order of time, unless the file lies. 0 or negative errno. */
int history_file_rows(struct history_file *f, enum history_length length, int64_t from_s,
		      int64_t to_s, uint32_t kind, history_on_row on_row, void *ctx);
/* Texts are borrowed for the call. */
int history_file_decisions(struct history_file *f, int64_t from_s, int64_t to_s,
			   history_on_decision on_decision, void *ctx);
int history_file_taken_trunks(struct history_file *f, int64_t from_s, int64_t to_s,
			      history_on_trunk on_trunk, void *ctx);
#endif
