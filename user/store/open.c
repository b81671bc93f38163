/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening a capture for reading. The file may be hostile, may lie where we cannot write, may be
 * growing, and its recorder may have been killed: then a private copy is rolled back.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "store/private.h"

/* A reader that meets a writer's commit waits for it. */
#define BUSY_WAIT_MS 3000
/* Some ten times what a slow machine needs under sanitizers. */
#define CPU_BASE_NS	  10000000000ull
#define CPU_PER_BYTE_NS	  1000ull
#define OPS_BETWEEN_LOOKS 10000

bool capture_file_overdue(const struct capture_file *r)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > r->cpu_deadline_ns;
}

static int on_progress(void *context)
{
	const struct capture_file *r = context;

	return capture_file_overdue(r) || (r->stop && *r->stop);
}

/* Nothing but plain reads of plain tables: no functions but the reader's, no recursion, no other
 * statements. */
static int authorize(void *context, int action, const char *a, const char *b, const char *database,
		     const char *inner)
{
	(void)context, (void)database, (void)inner;
	if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_TRANSACTION)
		return SQLITE_OK;
	if (action == SQLITE_PRAGMA && a && !strcmp(a, "table_xinfo"))
		return SQLITE_OK;
	if (action == SQLITE_FUNCTION && b && !strcmp(b, TABLE_TAKER))
		return SQLITE_OK;
	return SQLITE_DENY;
}

static void set_limits(sqlite3 *db)
{
	static const struct {
		int what, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, 1 << 18}, /* a row: six texts of 16 KiB, or one stack */
		{SQLITE_LIMIT_SQL_LENGTH, 1 << 16},	{SQLITE_LIMIT_COLUMN, 64},
		{SQLITE_LIMIT_EXPR_DEPTH, 100},		{SQLITE_LIMIT_COMPOUND_SELECT, 8},
		{SQLITE_LIMIT_VDBE_OP, 25000},		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64}, {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},	{SQLITE_LIMIT_WORKER_THREADS, 0},
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i].what, limits[i].value);
}

int database_harden(sqlite3 *db)
{
	static const int switches[][2] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
		{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
	};

	set_limits(db);
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (sqlite3_db_config(db, switches[i][0], switches[i][1], NULL))
			return -ENOTSUP;
	sqlite3_busy_timeout(db, BUSY_WAIT_MS);
	/* mmap would turn a file that shrinks under us into SIGBUS. */
	if (sqlite3_exec(db,
			 "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;"
			 "PRAGMA automatic_index=OFF",
			 NULL, NULL, NULL))
		return store_db_error(db);
	return 0;
}

static int harden(struct capture_file *r)
{
	int err = database_harden(r->db);

	if (err)
		return err;
	sqlite3_set_authorizer(r->db, authorize, NULL);
	sqlite3_progress_handler(r->db, OPS_BETWEEN_LOOKS, on_progress, r);
	return 0;
}

/* --- checks of the schema -------------------------------------------------------------------- */

static int table_number(const unsigned char *name)
{
	for (int i = 0; name && i < TABLE_CNT; i++)
		if (!sqlite3_stricmp((const char *)name, store_tables[i].name))
			return i;
	return -1;
}

/* Each of our names is a table with pages of its own: no view, no virtual table. */
static int check_objects(struct capture_file *r)
{
	sqlite3_stmt *stmt = NULL;
	int rc, err = 0;

	r->tables = 0;
	if (sqlite3_prepare_v2(r->db, "SELECT name, type, rootpage FROM sqlite_master", -1, &stmt,
			       NULL))
		return store_db_error(r->db);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !err) {
		int table = table_number(sqlite3_column_text(stmt, 0));
		const char *type = (const char *)sqlite3_column_text(stmt, 1);

		if (table < 0)
			continue;
		if (!type || strcmp(type, "table") != 0 || sqlite3_column_int64(stmt, 2) <= 0)
			err = -EBADMSG;
		r->tables |= 1u << table;
	}
	if (!err && rc != SQLITE_DONE)
		err = store_db_error(r->db);
	sqlite3_finalize(stmt);
	return err;
}

/* Adds the column of that name. False where the layout has none. */
static bool add_column(struct column_set *set, const struct table_layout *t,
		       const unsigned char *name)
{
	for (int i = 0; name && i < t->column_cnt; i++) {
		const struct column *c = &t->columns[i];
		bool renamed = c->was && !sqlite3_stricmp((const char *)name, c->was);

		if (!renamed && sqlite3_stricmp((const char *)name, c->name))
			continue;
		set->there |= 1u << i;
		set->renamed |= renamed ? 1u << i : 0;
		return true;
	}
	return false;
}

/* Which columns a table has. None is computed while it is read. */
static int check_columns(struct capture_file *r, const struct table_layout *t,
			 struct column_set *ret_columns)
{
	enum { XINFO_NAME = 1, XINFO_HIDDEN = 6 }; /* sqlite.org/pragma.html#pragma_table_xinfo */
	sqlite3_stmt *stmt = NULL;
	struct column_set columns = {0};
	char sql[64];
	int rc, err = 0;

	snprintf(sql, sizeof(sql), "PRAGMA main.table_xinfo(%s)", t->name);
	if (sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL))
		return store_db_error(r->db);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !err) {
		if (sqlite3_column_int(stmt, XINFO_HIDDEN))
			err = -EBADMSG;
		if (!add_column(&columns, t, sqlite3_column_text(stmt, XINFO_NAME)) &&
		    sqlite3_stricmp((const char *)sqlite3_column_text(stmt, XINFO_NAME), "id"))
			r->newer |= 1u << (t - store_tables);
	}
	if (!err && rc != SQLITE_DONE)
		err = store_db_error(r->db);
	sqlite3_finalize(stmt);
	*ret_columns = columns;
	return err;
}

/* What an older version did not write is told; what every version wrote must be there. */
static int check_table(struct capture_file *r, enum store_table table)
{
	const struct table_layout *t = &store_tables[table];
	int err;

	if (!(r->tables & 1u << table)) {
		r->off |= t->off;
		return t->off ? 0 : -EBADMSG;
	}
	err = check_columns(r, t, &r->columns[table]);
	for (int i = 0; !err && i < t->column_cnt; i++) {
		if (r->columns[table].there & 1u << i)
			continue;
		r->off |= t->columns[i].off;
		err = t->columns[i].off ? 0 : -EBADMSG;
	}
	return err;
}

static int check_tables(struct capture_file *r)
{
	int err = check_objects(r);

	r->off = r->newer = 0;
	for (int i = 0; !err && i < TABLE_CNT; i++)
		err = check_table(r, (enum store_table)i);
	return err;
}

const struct file_kind capture_kind = {STORE_APPLICATION_ID, STORE_SCHEMA_VERSION, check_tables};

static int open_database(struct capture_file *r, const char *path, int flags)
{
	int err;

	if (sqlite3_open_v2(path, &r->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
			    store_vfs()))
		return r->db ? store_db_error(r->db) : -ENOMEM;
	sqlite3_extended_result_codes(r->db, 1);
	err = harden(r);
	return err ? err : r->kind->check(r);
}

/* --- private copy ---------------------------------------------------------------------------- */

static int copy_to(const char *dir, const char *name, int from, uint64_t max)
{
	_cleanup_close_ int to = -1;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	return io_copy(from, to, max);
}

/*
 * A journal may end in the name of a second database's journal, which SQLite would open and, in the
 * end, delete: a hostile journal could have any file deleted. Ours never have one.
 * Source: readSuperJournal() and pager_delsuper() in SQLite's pager.c.
 */
static bool names_other_file(int fd, off_t size)
{
	static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint8_t end[8];

	return size >= 16 && pread(fd, end, 8, size - 8) == 8 && !memcmp(end, magic, 8);
}

/* One that is not the capture's is left out. */
static int copy_journal(struct capture_file *r, const char *real, const struct stat *capture)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s-journal", real);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!store_trusts_journal(&st, capture))
		return 0;
	if (names_other_file(fd, st.st_size))
		return -EBADMSG;
	r->file_bytes += (uint64_t)st.st_size;
	return copy_to(r->copy_dir, "capture-journal", fd, COPY_MAX_BYTES);
}

/* Holds SQLite's shared lock, so that nobody else rolls the file back while it is copied.
 * Source: https://www.sqlite.org/lockingv3.html and SHARED_FIRST, SHARED_SIZE in os.h. */
static void lock_shared(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};

	fcntl(fd, F_SETLK, &lock);
}

static int copy_aside(struct capture_file *r, const char *real, int fd)
{
	const char *tmp = getenv("TMPDIR");
	char dir[PATH_MAX];
	struct stat st;
	int err;

	if (!tmp || *tmp != '/')
		tmp = "/tmp";
	if (snprintf(dir, sizeof(dir), "%s/hotrun-XXXXXX", tmp) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	if (!mkdtemp(dir))
		return -errno;
	r->copy_dir = realpath(dir, NULL);
	if (!r->copy_dir) {
		rmdir(dir);
		return -ENOMEM;
	}
	lock_shared(fd);
	err = copy_to(r->copy_dir, "capture", fd, COPY_MAX_BYTES);
	if (!err && fstat(fd, &st))
		err = -errno;
	return err ? err : copy_journal(r, real, &st);
}

static void remove_copy(struct capture_file *r)
{
	static const char *const names[] = {"capture", "capture-journal"};
	char path[PATH_MAX + 32];

	for (size_t i = 0; r->copy_dir && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->copy_dir, names[i]);
		unlink(path);
	}
	if (r->copy_dir)
		rmdir(r->copy_dir);
	free(r->copy_dir);
	r->copy_dir = NULL;
}

/* --- open and close -------------------------------------------------------------------------- */

static int check_kind(int fd, const struct file_kind *kind, struct stat *ret_st)
{
	struct file_header header;
	int err;

	if (fstat(fd, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -EINVAL;
	err = file_header_read(fd, &header);
	if (err)
		return err;
	if (header.application_id != kind->application_id || !header.user_version)
		return -EINVAL;
	if (header.user_version > kind->version)
		return -EPROTO;
	return header.rollback_journal && header.utf8 ? 0 : -EBADMSG;
}

int capture_check(int fd, struct stat *ret_st)
{
	return check_kind(fd, &capture_kind, ret_st);
}

/* A write-ahead log beside the file is not ours, and SQLite would make files for it: then a copy of
 * the file alone is read. */
static bool has_wal(const char *real)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s-wal", real);
	return !lstat(path, &st);
}

static void tell_of_journal(const char *real, const struct stat *capture)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s-journal", real);
	if (!lstat(path, &st) && !store_trusts_journal(&st, capture))
		log_warn("%s was left out: it is not of the owner of the capture (user %u, not "
			 "%u), or others may write it",
			 path, st.st_uid, capture->st_uid);
}

int capture_check_writable(const char *real)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX + 16];
	struct stat st;

	if (has_wal(real))
		return -EBADMSG;
	snprintf(path, sizeof(path), "%s-journal", real);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return fstat(fd, &st) || names_other_file(fd, st.st_size) ? -EBADMSG : 0;
}

static int open_copy(struct capture_file *r, const char *real, int fd)
{
	char path[PATH_MAX + 32];
	int err = copy_aside(r, real, fd);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/capture", r->copy_dir);
	return open_database(r, path, SQLITE_OPEN_READWRITE);
}

/* copy: a private one where it takes one to read the file, else -EUCLEAN there. */
static int open_file(struct capture_file *r, const char *path, const struct file_kind *kind,
		     bool copy)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *real = NULL;
	struct stat st;
	int err;

	*r = (struct capture_file){.kind = kind};
	if (fd < 0)
		return -errno;
	err = check_kind(fd, kind, &st);
	if (err)
		return err;
	/* An absolute name: SQLite would take "file:..." for a URI and ":memory:" for no file. */
	real = realpath(path, NULL);
	if (!real)
		return -errno;
	r->recorder = recorder_holds(fd);
	r->file_bytes = (uint64_t)st.st_size;
	r->cpu_deadline_ns =
		clock_ns(CLOCK_THREAD_CPUTIME_ID) + CPU_BASE_NS + r->file_bytes * CPU_PER_BYTE_NS;
	tell_of_journal(real, &st);
	if (!has_wal(real)) {
		err = open_database(r, real, SQLITE_OPEN_READONLY);
		if (!err || sqlite3_extended_errcode(r->db) != SQLITE_READONLY_ROLLBACK)
			goto out;
		sqlite3_close(r->db);
		r->db = NULL;
	}
	err = copy ? open_copy(r, real, fd) : -EUCLEAN;
out:
	if (err)
		capture_file_close(r);
	return err;
}

int capture_file_open(struct capture_file *r, const char *path)
{
	return open_file(r, path, &capture_kind, true);
}

int capture_file_open_as(struct capture_file *r, const char *path, const struct file_kind *kind)
{
	return open_file(r, path, kind, true);
}

int capture_file_open_in_place(struct capture_file *r, const char *path)
{
	return open_file(r, path, &capture_kind, false);
}

void capture_file_close(struct capture_file *r)
{
	sqlite3_close(r->db);
	r->db = NULL;
	remove_copy(r);
}
