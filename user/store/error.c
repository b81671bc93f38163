/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From SQLite's errors to errno, and from errno to sentences. */
#include <errno.h>

#include "store/private.h"
#include "store/store.h"

static int io_error(sqlite3 *db)
{
	switch (sqlite3_system_errno(db)) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG: /* ulimit -f */
		return -ENOSPC;
	case ENOMEM:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

int store_db_error(sqlite3 *db)
{
	int rc = sqlite3_extended_errcode(db);

	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_IOERR:
		return rc == SQLITE_IOERR_SHORT_READ ? -EBADMSG : io_error(db);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_PERM:
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
		return -EACCES;
	default: /* corrupt, not a database, a statement that does not fit the file's tables */
		return -EBADMSG;
	}
}

const char *store_error_text(int err)
{
	switch (err < 0 ? -err : err) {
	case 0:
		return "no error";
	case ENOENT:
		return "no such file or folder";
	case ENOTDIR:
		return "a part of the path is not a folder";
	case EISDIR:
		return "is a folder; name a file in it";
	case ENAMETOOLONG:
		return "the name is too long; choose a shorter one";
	case ELOOP:
		return "too many symbolic links in the path";
	case EACCES:
	case EPERM:
		return "no permission; captures belong to who recorded them (sudo, or chown the "
		       "file)";
	case EROFS:
		return "the file system is read-only; choose another folder with -o";
	case ENOSPC:
		return "no space left (disk, quota or ulimit -f); free some or choose another "
		       "folder";
	case EIO:
		return "the disk or file system reports an error; choose another folder";
	case EEXIST:
		return "exists and is not a hotrun capture of yours; choose another name with -o";
	case ENOTUNIQ:
		return "anybody may replace files in that folder (world-writable without the "
		       "sticky bit); choose another one with -o, or make one (mkdir -m 700)";
	case EBUSY:
		return "another program is writing to it; wait until it has ended, or choose "
		       "another name";
	case EINVAL:
		return "not a hotrun capture";
	case EPROTO:
		return "written by a newer hotrun; read it with that version";
	case EBADMSG:
		return "the capture is damaged; copy it again, with NAME-journal if that exists";
	case EFBIG:
		return "the capture is larger than this hotrun reads";
	case ENOMEM:
		return "not enough memory";
	case EMFILE:
	case ENFILE:
		return "too many open files; raise ulimit -n";
	default:
		return "cannot be used";
	}
}
