/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_STORE_PRIVATE_H
#define HOTRUN_STORE_PRIVATE_H
/*
 * What the files of this room share: the layout of the tables in C, the header of a database file,
 * and the way from SQLite's errors to errno. The layout exists once (columns.c), and serves writer,
 * reader, CREATE TABLE and the manual.
 */
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "model/model.h"

#define STORE_APPLICATION_ID 0x686f7472u /* "hotr" */
#define STORE_SCHEMA_VERSION 1u

enum store_table {
	TABLE_HOST,
	TABLE_SLICE,
	TABLE_CGROUP,
	TABLE_PROCESS,
	TABLE_THREAD,
	TABLE_ENDPOINT,
	TABLE_MODULE,
	TABLE_MAPPING,
	TABLE_STACK,
	TABLE_SYMBOL,
	TABLE_LOCATION,
	TABLE_SAMPLE,
	TABLE_ACCOUNT,
	TABLE_RUN_DELAY,
	TABLE_CONTENTION,
	TABLE_THROTTLE,
	TABLE_SERVICE,
	TABLE_RESPONSE,
	TABLE_SIGNAL,
	TABLE_PAST,
	TABLE_STAND,
	TABLE_WAKER,
	TABLE_SWITCH,
	TABLE_CPU,
	TABLE_LOSS,
	TABLE_FEATURE,
	TABLE_RENAMING,
	TABLE_CNT
};

/* How a field of a row stands in the file: as INTEGER unless said otherwise, never NULL
 * likewise. */
enum column_type {
	COLUMN_U64, /* any 64 bits, stored as a signed integer */
	COLUMN_NS,  /* 64 bits, below 2^63: times, durations, counts */
	COLUMN_SUM, /* likewise, of those that are added up: see STORE_SUM_MAX */
	COLUMN_I64,
	COLUMN_I8,
	COLUMN_U32,
	COLUMN_ROW, /* u32, MODEL_NONE (also WAITERS_UNKNOWN) = NULL */
	COLUMN_U16,
	COLUMN_U8,
	COLUMN_BOOL,
	COLUMN_LETTER,	     /* uint8_t, TEXT of one printable ASCII letter; "" = '?' */
	COLUMN_TEXT,	     /* const char *, never NULL */
	COLUMN_TEXT_OR_NULL, /* const char *, NULL = NULL */
	COLUMN_BLOB,	     /* struct blob */
};

/*
 * All figures of a column together are at most this when they were read (36 years in ns): what is
 * more is cut off, so that no sum over rows, nor over some columns, overflows.
 */
#define STORE_SUM_MAX (1ull << 60)

/* In place of OFF_*: what the first captures lack of it, no figure needs. */
#define OFF_NO_FIGURE 0x8000u

/* A number with a meaning of its own. */
struct column_word {
	uint32_t value;
	const char *text;
};

struct column {
	const char *name;
	const char *was;		 /* its name in earlier captures, NULL = the same */
	const char *text;		 /* what it holds; "" where the name says it */
	const struct column_word *words; /* the numbers it may hold, or a sum of which */
	uint16_t offset;		 /* in the row struct */
	/* The first captures lack it: OFF_* that says so while it reads as 0, or NULL for a row.
	 * 0 = every capture has it. */
	uint16_t off;
	uint8_t type, words_cnt;
	bool bits; /* words are added up */
};
#define STORE_COLUMNS_MAX 32 /* of a table: bits of column_set */

/* Columns that a table of a file has, a bit each by number in the layout. */
struct column_set {
	uint32_t there;
	uint32_t renamed; /* of these, under the name that they had earlier */
};

struct blob {
	const void *bytes; /* borrowed: of the model, or of the statement until its next step */
	size_t len;
};

/* Rows that differ from those of the model; the other tables use the model's own structs. */
struct row_module {
	struct model_module module;
	struct blob build_id;
};
struct row_mapping {
	struct model_mapping mapping;
	uint32_t process, number;
};
struct row_stack {
	struct model_stack stack;
	struct blob frames;
};
union store_row {
	struct model_host host;
	struct model_slice slice;
	struct model_cgroup cgroup;
	struct model_process process;
	struct model_thread thread;
	struct model_endpoint endpoint;
	struct row_module module;
	struct row_mapping mapping;
	struct row_stack stack;
	struct model_symbol symbol; /* raw NULL = equal to name */
	struct model_location location;
	struct model_sample sample;
	struct model_account account;
	struct model_delay run_delay;
	struct model_contention contention;
	struct model_throttle throttle;
	struct model_service service;
	struct model_response response;
	struct model_signal signal;
	struct model_past past;
	struct model_stand stand;
	struct model_waker waker;
	struct model_switch switch_;
	struct model_cpu cpu;
	struct model_loss loss;
	struct model_feature feature;
	struct model_renaming renaming;
};

struct table_layout {
	const char *name, *text; /* what a row is */
	const char *id;		 /* what else SQL says of the column id, or NULL */
	const char *key;	 /* without a column id: columns of the primary key */
	const struct column *columns;
	uint8_t column_cnt;
	bool has_id;   /* a column id before the others: the row number */
	bool of_slice; /* the model has the rows of what is not written yet only */
	uint16_t off;  /* as column.off, of the whole table: without it there are no rows */
	/* Where a struct model has the rows and their count, unless both are 0: see table_row(). */
	uint16_t rows, rows_cnt, row_bytes;
	uint16_t dirty; /* in the model's row: the mark of what changed, 0 = none */
};
extern const struct table_layout store_tables[TABLE_CNT];

/* Rows that m has of a table (mappings: 0, they are of processes). */
size_t table_rows(const struct model *m, enum store_table table);
/* The mark of a row that has one, else NULL. Borrowed from m. */
bool *table_dirty(const struct model *m, enum store_table table, size_t row);
/* A row as table_write() takes it: the model's own, or made in scratch. Borrowed until either
 * changes. */
const void *table_row(const struct model *m, enum store_table table, size_t row,
		      union store_row *scratch);
const void *mapping_row(const struct model *m, uint32_t process, uint32_t number,
			union store_row *scratch);

/*
 * Name for sqlite3_open_v2(), static. A journal that lies beside a file may end in the name of
 * another database's journal, which SQLite would open and, in the end, delete. It looks for one
 * with every transaction, so whoever may write to the folder could have root delete any file; for
 * ours there is none, whatever a journal says. Nor is a journal what store_trusts_journal() denies;
 * a writer removes it. Where SQLite has no file systems, opening fails. Source:
 * hasHotJournal(), pager_playback() and pager_delsuper() in SQLite's pager.c.
 */
const char *store_vfs(void);
/* That a file lies beside a database makes it no journal of it: it has to be a regular file with
 * one name and the same owner, which nobody may write who may not write the database. */
bool store_trusts_journal(const struct stat *journal, const struct stat *database);

/*
 * The function of SQL that is handed each row of a table that is read, an aggregate without a
 * result (https://www.sqlite.org/appfunc.html): the reader's own. To ask SQLite for each column of
 * each row takes twice the instructions.
 */
#define TABLE_TAKER "hotrun_take"

/* Prepares the statement that writes a whole row / hands TABLE_TAKER all rows, of which the file
 * has those columns. 0 or negative errno. */
int table_prepare_write(sqlite3 *db, enum store_table table, sqlite3_stmt **ret_stmt);
int table_prepare_read(sqlite3 *db, enum store_table table, struct column_set columns,
		       sqlite3_stmt **ret_stmt);

/* Writes one row (replacing one of the same number). 0 or negative errno. */
int table_write(sqlite3_stmt *stmt, enum store_table table, uint64_t id, const void *row);

/* What the rows of a table have read so far. */
struct table_totals {
	uint64_t bytes; /* of texts and blobs, of all tables */
	uint64_t sums[STORE_COLUMNS_MAX];
};
/*
 * Fills *row from what TABLE_TAKER was called with; texts are interned in m, blobs borrowed until
 * it returns. 0, or -EBADMSG where a value has the wrong type or range.
 */
int table_read(sqlite3_value **values, enum store_table table, struct model *m, uint64_t *ret_id,
	       union store_row *row, struct table_totals *totals);

/* Negative errno of the last failure of db. */
int store_db_error(sqlite3 *db);

/* The first 100 bytes of a database file. Source: https://www.sqlite.org/fileformat2.html, 1.3 */
struct file_header {
	bool rollback_journal; /* format versions 1: not WAL */
	bool utf8;
	uint32_t change_counter;
	uint32_t user_version;
	uint32_t application_id;
};
/* 0; -EINVAL when the file does not start with such a header; else negative errno. */
int file_header_read(int fd, struct file_header *ret_header);

/* Who a new capture belongs to. Under sudo it is for the user who called it. */
struct owner {
	bool sudo;
	uid_t uid;
	gid_t gid;
};
struct owner owner_find(void);

/* Where a capture is to be put. */
struct target {
	int dir;	  /* O_PATH */
	char *dir_path;	  /* without links: SQLite refuses links anywhere in a path */
	const char *name; /* borrowed from the path */
	bool exists;
};
/* Opens the folder and checks what lies there under that name. Errors as store_create(). */
int target_open(struct target *t, const char *path, const struct owner *owner);
void target_clear(struct target *t);
#define TEMP_BYTES 64
/* Makes an empty file for that owner beside it; its name goes into temp. */
int target_temporary(const struct target *t, const struct owner *owner, char temp[TEMP_BYTES],
		     int *ret_fd);
/* Gives the temporary file its name, over what may lie there. */
int target_place(const struct target *t, const struct owner *owner, const char *temp);

struct capture_file;
/* What kind of database a file is to be, by its header and its tables. */
struct file_kind {
	uint32_t application_id, version; /* a newer one is refused */
	/* Whether the tables are real ones, with what every such file has. 0 or -EBADMSG. */
	int (*check)(struct capture_file *r);
};
extern const struct file_kind capture_kind;

/* A database opened for reading, with what must go when it is closed. */
struct capture_file {
	const struct file_kind *kind;
	sqlite3 *db;
	uint64_t file_bytes; /* of database and journal */
	/* CLOCK_THREAD_CPUTIME_ID: a hostile file must not take for ever */
	uint64_t cpu_deadline_ns;
	const volatile sig_atomic_t *stop; /* reading ends where it is not 0; or NULL */
	char *copy_dir;			   /* private folder with the copy, NULL = read in place */
	uint32_t tables;		   /* that it has, a bit each */
	struct column_set columns[TABLE_CNT];
	uint32_t off;	/* OFF_* of those that it lacks */
	uint32_t newer; /* tables, a bit each, with columns of a newer version */
	bool recorder;	/* one held the file when it was opened */
};
/* Bounds and switches for a file that may come from a stranger. */
int database_harden(sqlite3 *db);
/* Is it a capture? By its header alone; errors as store_read(). */
int capture_check(int fd, struct stat *ret_st);
/* May SQLite write to that file? -EBADMSG where what lies beside it would lead it elsewhere. */
int capture_check_writable(const char *real);
/* store_read(), but -EPROTO where a newer version keeps more of a symbol or location. */
int store_read_known(const char *path, struct model **ret_model);
/* What -EIO of SQLite meant: -ENOSPC where there is no room in fd's file system, else -EIO. */
int store_write_error(int fd);
/* True while a recorder holds that file open, through whichever other handle. */
bool recorder_holds(int fd);
/* The handle is the recorder's, or that of somebody whom no recorder may meet. */
int recorder_lock_take(int fd); /* 0, or -EBUSY: there is one */
/* Opens, checks that the tables are real tables and have what every capture has. Errors as
 * store_read(). */
int capture_file_open(struct capture_file *r, const char *path);
/* The same of a database of another kind. */
int capture_file_open_as(struct capture_file *r, const char *path, const struct file_kind *kind);
/* Likewise, but never copies: -EUCLEAN where it takes a private copy to read the file (its recorder
 * was killed while it wrote, or a log lies beside it). */
int capture_file_open_in_place(struct capture_file *r, const char *path);
void capture_file_close(struct capture_file *r);
/* What a copy may take of a folder: a day of a busy host is below 2 GB. */
#define COPY_MAX_BYTES (4ull << 30)
/* True when the reading has used up its processor time. */
bool capture_file_overdue(const struct capture_file *r);

/* A capture that is being written. */
struct store {
	sqlite3 *db;
	sqlite3_stmt *stmt[TABLE_CNT];
	/* Our own handle: shows which file SQLite really writes, and carries the recorder's lock.
	 * Closed after db, or SQLite's own locks would go with it. */
	int fd;
	uint64_t written[TABLE_CNT]; /* rows in the file */
	/* What the file has of rows that change without a dirty mark: a checksum of each. */
	uint32_t *stack_sums, *location_sums;
	size_t stack_sums_cap, location_sums_cap;
};
/* Puts everything new and dirty of m into the file, and the per-slice tables too when slice is
 * true, in one transaction; marks in m are left alone. Errors as store_write_slice(). */
int store_commit(struct store *store, const struct model *m, bool slice, bool complete);

/* CREATE TABLE of a table after those words, which end with a blank, each column with its text. */
void schema_put_table(FILE *out, const char *create, enum store_table table);
/* Likewise of all, each after what its rows are: the tables' part of schema.sql. */
void schema_put(FILE *out);
/* Runs CREATE TABLE IF NOT EXISTS. 0 or negative errno. */
int schema_add_table(sqlite3 *db, enum store_table table);

/* A new empty capture in memory: schema, texts, host. Owned by the caller (sqlite3_free). */
int schema_image(const struct model_host *host, unsigned char **ret_image, size_t *ret_bytes);
#endif
