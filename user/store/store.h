/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_STORE_H
#define HOTRUN_STORE_STORE_H
/*
 * The capture file: one SQLite database, written a slice at a time, read back into a model. The
 * schema (schema.sql beside this file) is the format's documentation. The only room that knows SQL.
 * A file that is read may come from a stranger: opened read-only and defensively, counts checked
 * against its size, every row checked before it enters the model. No threads.
 */
#include "model/model.h"

struct store;

/*
 * Creates a capture: a temporary name beside path, mode 0600, O_EXCL|O_NOFOLLOW, renamed to path
 * at once (a reader of a running recording sees the last slice). Under sudo it belongs to
 * SUDO_UID/SUDO_GID. An existing path is replaced only if it is a regular file that is a hotrun
 * capture (application_id); else -EEXIST. Others: -EACCES, -ENOENT (folder), -EROFS, -ENOSPC, -EIO.
 */
int store_create(const char *path, const struct model *m, struct store **ret_store);

/*
 * Writes what is new or dirty in m and the per-slice tables as one transaction, and clears the
 * dirty marks. Does not empty the per-slice tables. -ENOSPC, -EIO: nothing of this slice is in the
 * file, everything before it stays readable.
 */
int store_write_slice(struct store *store, struct model *m);

/* Writes the host row again (end time, complete) and closes. Takes the store, also on error. */
int store_finish(struct store *store, const struct model *m);

/* Closes without marking the capture complete. Takes NULL. */
void store_free(struct store *store);

/*
 * Reads a capture into a new model. Works without write access to file or folder, and on a file
 * whose recorder was killed (a private copy of file and journal is rolled back). Returns 0,
 * -ENOENT, -EACCES; -EINVAL not a capture; -EPROTO a newer schema than this binary knows;
 * -EBADMSG damaged (counts, references or SQLite's own checks); -EFBIG beyond a MODEL_MAX_* bound;
 * -ENOMEM.
 */
int store_read(const char *path, struct model **ret_model);

/* Sentence for people on an error of store_read or store_create, e.g. "not a hotrun capture". */
const char *store_error_text(int err);
#endif
