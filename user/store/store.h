/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_STORE_H
#define HOTRUN_STORE_STORE_H
/*
 * The capture file: one SQLite database, written a slice at a time, read back into a model. The
 * schema (schema.sql beside this file) is the format's documentation. The only room that knows SQL.
 * A file that is read may come from a stranger: opened read-only and defensively, counts checked
 * against its size, every row checked before it enters the model. No threads.
 */
#include <signal.h>

#include "model/model.h"

struct store;

/*
 * Creates a capture: a temporary name beside path, mode 0600, O_EXCL|O_NOFOLLOW, renamed to path at
 * once (a reader of a running recording sees the last slice), with what m holds so far except for
 * the per-slice tables. Under sudo it belongs to SUDO_UID/SUDO_GID. An existing path is replaced
 * only if it is a regular file of ours that is a hotrun capture (application_id); else -EEXIST
 * (links too), -EISDIR, or -EBUSY while another hotrun records into it. Others: -EACCES, -ENOENT
 * (folder), -ENOTDIR, -ENAMETOOLONG, -EROFS, -ENOSPC, -EIO, -ENOMEM. Where ulimit -f is set, the
 * caller ignores SIGXFSZ. m is borrowed for the call.
 */
int store_create(const char *path, const struct model *m, struct store **ret_store);

/*
 * Writes what is new or dirty in m and the per-slice tables as one transaction, and clears the
 * dirty marks. Does not empty the per-slice tables. Rows of cgroups, processes, threads, endpoints
 * and mappings are written again when dirty; of stacks and locations whenever they changed; modules
 * and symbols never change. On an error nothing of this slice is in the file, everything before it
 * stays readable, marks and tables stay, and a later call writes both slices: -ENOSPC, -EIO,
 * -ENOMEM; -EBUSY when somebody held the file locked for a second.
 */
int store_write_slice(struct store *store, struct model *m);

/* Writes what is new or dirty but for the per-slice tables, marks the capture complete (whatever
 * m->host.complete is) and closes. Takes the store, also on error. */
int store_finish(struct store *store, const struct model *m);

/* Closes without marking the capture complete. Takes NULL. */
void store_free(struct store *store);

/*
 * Reads a capture into a new model. Works without write access to file or folder, and on a file
 * whose recorder was killed (a private copy of file and journal in TMPDIR is rolled back). Numbers
 * of a newer version are mapped to generic ones, samples of unknown kinds left out; of captures
 * made before waits or requests were kept, what they lack is 0 and named in host.off. Returns 0,
 * -ENOENT, -EACCES; -EINVAL not a capture; -EPROTO a newer schema than this binary knows; -EBADMSG
 * damaged (counts, references, SQLite's own checks, or endless to read); -EFBIG beyond a
 * MODEL_MAX_* bound; -EBUSY locked for seconds; -ENOSPC no room for the copy; -EIO; -ENOMEM.
 */
int store_read(const char *path, struct model **ret_model);
/* The same; -EINTR soon after *stop is no longer 0. */
int store_read_until(const char *path, const volatile sig_atomic_t *stop, struct model **ret_model);

/*
 * Opens a finished capture to give it better names, and reads it. result NULL: in place, the file
 * keeps owner and mode; it must be writable. Else a copy is made beside result, under a temporary
 * name until it is complete; who owns it and what it may replace is told at store_create(). Errors
 * as store_read() and store_create(); -EBUSY: it is being recorded, or changed by another program;
 * -EPROTO also: a newer version keeps more of a name; -EACCES also: a file that nobody may write.
 * Both results are owned by the caller.
 */
struct store_update;
int store_update_open(const char *path, const char *result, struct store_update **ret_update,
		      struct model **ret_model);

/*
 * Writes what changed since: symbols and renamings that were added, locations, perf_map of
 * processes. One transaction: on an error, and killed at any instant, the file is as it was. Takes
 * the update. -EBUSY also: another program wrote to it meanwhile.
 */
int store_update_commit(struct store_update *update, const struct model *m);
/* Leaves the file as it was. Takes NULL. */
void store_update_free(struct store_update *update);

/*
 * The newest capture in a folder: a regular file *.hotrun with our application_id, by time of last
 * change. *ret_path is owned by the caller. -ENOENT when there is none (or no such folder), else
 * the errno of opening the folder; -ENOMEM.
 */
int store_newest(const char *dir, char **ret_path);

#define STORE_TAKEN_BYTES 2048

/* What a short look at a capture tells. */
struct store_look {
	bool writing;	    /* its recorder has it open */
	bool complete;	    /* ended on purpose; else it was cut short, or is being written */
	uint64_t length_ns; /* 0 = not known: it was cut off while it was written */
	/* Why it was taken by itself (model_host.taken), cut; "" it was not. Untrusted bytes. */
	char taken[STORE_TAKEN_BYTES];
};
/* Looks at a capture without reading its tables (about 1 ms). Not from the process that writes it,
 * whose locks would go (likewise store_copy()). Errors as store_read(). */
int store_look(const char *path, struct store_look *ret_look);

/*
 * Writes a copy of a capture into a file, at its start; the copy is one file, whole in itself, also
 * when the capture is being written (then it ends with the last slice) or its recorder was killed
 * (rolled back). For as long as that takes, its recorder cannot write: to should be a file, not a
 * pipe or a socket, while store_look() says so. Errors as store_read(), and those of writing to
 * `to`: -ENOSPC, -EPIPE, -EINTR a signal came.
 */
int store_copy(const char *path, int to);

/* Whether captures that are made now belong to who called sudo, and not to this user. */
bool store_is_for_sudo(void);

/* "HOST-YYYYMMDDTHHMMSSZ.hotrun" in UTC; characters of host that do not belong into a file name
 * become '_'. Returns owned, or NULL with errno. */
char *store_default_path(const char *host, int64_t unix_s);

/* Words for people after "PATH: ", on any error of this header, e.g. "not a hotrun capture". */
const char *store_error_text(int err);
#endif
