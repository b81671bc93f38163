/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The captures and artifacts in the folder: their names, lists of them, and the way to each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/text.h"
#include "store/store.h"
#include "watch/folder.h"

/* Captures of the same second and reason. */
#define NUMBER_MAX 1000

static const char *const endings[] = {
	[FOLDER_CAPTURE] = ".hotrun", [FOLDER_TEXT] = ".txt", [FOLDER_PAGE] = ".html"};
#define KIND_CNT (sizeof(endings) / sizeof(endings[0]))
/* So that all three, and the capture's journal, have names that file systems take. */
#define BASE_MAX (FOLDER_NAME_BYTES - 1 - (sizeof(".hotrun-journal") - 1))

/* --- names ------------------------------------------------------------------------------------ */

const char *folder_by_id(enum folder_by by)
{
	static const char *const ids[FOLDER_BY_CNT] = {
		[FOLDER_ROTATE] = "rotate", [FOLDER_AUTO] = "auto", [FOLDER_TRIGGER] = "trigger"};

	return ids[by];
}

struct parsed {
	enum folder_kind kind;
	size_t base_len; /* without the ending */
	enum folder_by by;
	int64_t time_s; /* -1 = no date */
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && !memcmp(s + len - end_len, end, end_len);
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '.' || c == '_' || c == '-';
}

static int digits_value(const char *s, size_t len)
{
	int value = 0;

	for (size_t i = 0; i < len; i++)
		value = value * 10 + (s[i] - '0');
	return value;
}

/* s: "YYYYMMDDTHHMMSSZ". -1: there is no such date. */
static int64_t time_of(const char *s)
{
	struct tm tm = {.tm_year = digits_value(s, 4) - 1900,
			.tm_mon = digits_value(s + 4, 2) - 1,
			.tm_mday = digits_value(s + 6, 2),
			.tm_hour = digits_value(s + 9, 2),
			.tm_min = digits_value(s + 11, 2),
			.tm_sec = digits_value(s + 13, 2)},
		  same = tm;
	time_t time = timegm(&same);

	/* What is no date comes back as another one. */
	return time >= 0 && same.tm_mon == tm.tm_mon && same.tm_mday == tm.tm_mday &&
			       same.tm_hour == tm.tm_hour && same.tm_min == tm.tm_min &&
			       same.tm_sec == tm.tm_sec
		       ? (int64_t)time
		       : -1;
}

static bool is_stamp(const char *s)
{
	static const char form[] = "-00000000T000000Z";

	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
			return false;
	return true;
}
#define STAMP_BYTES 17

/* Without "-2" at its end, if there is one. */
static size_t without_number(const char *s, size_t len)
{
	size_t at = len;

	while (at && s[at - 1] >= '0' && s[at - 1] <= '9')
		at--;
	return at < len && len - at <= 4 && s[at] != '0' && at && s[at - 1] == '-' ? at - 1 : len;
}

/* Cuts off "-rotate" and its like; false: none of them is there. */
static bool cut_by(const char *name, size_t *len, enum folder_by *ret_by)
{
	for (int by = 0; by < FOLDER_BY_CNT; by++) {
		const char *id = folder_by_id((enum folder_by)by);
		size_t id_len = strlen(id);

		if (!ends_with(name, *len, id) || name[*len - id_len - 1] != '-')
			continue;
		*len -= id_len + 1;
		*ret_by = (enum folder_by)by;
		return true;
	}
	return false;
}

static bool parse_name(const char *name, struct parsed *ret)
{
	size_t len = strnlen(name, FOLDER_NAME_BYTES), kind = 0, rest;

	if (len >= FOLDER_NAME_BYTES || *name == '.' || *name == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_plain(name[i]))
			return false;
	while (kind < KIND_CNT && !ends_with(name, len, endings[kind]))
		kind++;
	if (kind == KIND_CNT)
		return false;
	*ret = (struct parsed){.kind = (enum folder_kind)kind,
			       .base_len = len - strlen(endings[kind])};
	if (ret->base_len > BASE_MAX)
		return false;
	rest = without_number(name, ret->base_len);
	if (!cut_by(name, &rest, &ret->by))
		return false;
	if (rest <= STAMP_BYTES || !is_stamp(name + rest - STAMP_BYTES))
		return false;
	ret->time_s = time_of(name + rest - STAMP_BYTES + 1);
	return true;
}

bool folder_is_name(const char *name)
{
	struct parsed parsed;

	return parse_name(name, &parsed);
}

int64_t folder_time_s(const char *name)
{
	struct parsed parsed;

	return parse_name(name, &parsed) && parsed.time_s > 0 ? parsed.time_s : 0;
}

/* The name of the capture or of one of its artifacts, from what they share. */
static void name_of(char ret_name[static FOLDER_NAME_BYTES], const char *base, size_t base_len,
		    enum folder_kind kind)
{
	snprintf(ret_name, FOLDER_NAME_BYTES, "%.*s%s", (int)base_len, base, endings[kind]);
}

/* None of the three is there. */
static bool is_free(int dir, const char *base)
{
	char name[FOLDER_NAME_BYTES];
	struct stat st;

	for (size_t kind = 0; kind < KIND_CNT; kind++) {
		name_of(name, base, strlen(base), (enum folder_kind)kind);
		if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || errno != ENOENT)
			return false;
	}
	return true;
}

int folder_name(int dir, const char *host, int64_t unix_s, enum folder_by by,
		char ret_name[static FOLDER_NAME_BYTES])
{
	_cleanup_free_ char *path = store_default_path(host, unix_s);
	char base[FOLDER_NAME_BYTES], name[FOLDER_NAME_BYTES], number[16] = "";
	size_t len;

	if (!path)
		return -errno;
	len = strlen(path) - strlen(endings[FOLDER_CAPTURE]);
	for (int i = 2; i <= NUMBER_MAX; i++) {
		snprintf(base, sizeof(base), "%.*s-%s%s", (int)len, path, folder_by_id(by), number);
		if (is_free(dir, base)) {
			name_of(name, base, strlen(base), FOLDER_CAPTURE);
			if (!folder_is_name(name))
				return -EINVAL;
			memcpy(ret_name, name, sizeof(name));
			return 0;
		}
		snprintf(number, sizeof(number), "-%d", i);
	}
	return -EEXIST;
}

/* --- lists ------------------------------------------------------------------------------------ */

static int newest_first(const void *a, const void *b)
{
	const struct folder_file *x = a, *y = b;
	int c = COMPARE(y->time_s, x->time_s);

	return c ? c : strcmp(y->name, x->name);
}

/* False for what is none of ours. */
static bool look(int dir, const char *name, uid_t owner, struct folder_file *ret_file)
{
	struct parsed parsed;
	struct stat st;

	if (!parse_name(name, &parsed) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode) || st.st_uid != owner)
		return false;
	*ret_file = (struct folder_file){.kind = parsed.kind,
					 .by = parsed.by,
					 .time_s = parsed.time_s < 0 ? st.st_mtime : parsed.time_s,
					 .bytes = (uint64_t)st.st_size};
	snprintf(ret_file->name, sizeof(ret_file->name), "%s", name);
	return true;
}

static int read_entries(int dir, DIR *entries, struct folder_file **files, size_t *cnt)
{
	const struct dirent *entry;
	struct folder_file file;
	size_t cap = 0;
	struct stat st;

	if (fstat(dir, &st))
		return -errno;
	for (size_t seen = 0; seen < FOLDER_FILES; seen++) {
		errno = 0;
		entry = readdir(entries);
		if (!entry)
			return -errno;
		if (!look(dir, entry->d_name, st.st_uid, &file))
			continue;
		if (GROW(*files, *cnt, cap))
			return -ENOMEM;
		(*files)[(*cnt)++] = file;
	}
	return 0;
}

int folder_list(int dir, struct folder_file **ret_files, size_t *ret_cnt)
{
	_cleanup_free_ struct folder_file *files = NULL;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	size_t cnt = 0;

	if (!entries) {
		err = -errno;
		cleanup_close(&fd);
		return err;
	}
	err = read_entries(dir, entries, &files, &cnt);
	closedir(entries);
	if (err)
		return err;
	if (cnt)
		qsort(files, cnt, sizeof(*files), newest_first);
	*ret_files = take_ptr(&files);
	*ret_cnt = cnt;
	return 0;
}

/* By capture, so that its artifacts stand beside it. */
static int by_capture(const void *a, const void *b)
{
	const struct folder_capture *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int newest_capture_first(const void *a, const void *b)
{
	const struct folder_capture *x = a, *y = b;
	int c = COMPARE(y->time_s, x->time_s);

	return c ? c : strcmp(y->name, x->name);
}

static struct folder_capture row_of(const struct folder_file *file)
{
	struct folder_capture row = {.capture = file->kind == FOLDER_CAPTURE,
				     .text = file->kind == FOLDER_TEXT,
				     .page = file->kind == FOLDER_PAGE,
				     .by = file->by,
				     .time_s = file->time_s,
				     .bytes = file->bytes};
	size_t len = strlen(file->name) - strlen(endings[file->kind]);

	name_of(row.name, file->name, len, FOLDER_CAPTURE);
	if (row.capture)
		row.capture_bytes = file->bytes;
	return row;
}

static void merge(struct folder_capture *row, const struct folder_capture *other)
{
	/* Without a date, that of the capture's last change. */
	if (other->capture)
		row->time_s = other->time_s;
	row->capture |= other->capture;
	row->text |= other->text;
	row->page |= other->page;
	row->capture_bytes += other->capture_bytes;
	row->bytes += other->bytes;
}

int folder_captures(int dir, struct folder_capture **ret_captures, size_t *ret_cnt)
{
	_cleanup_free_ struct folder_file *files = NULL;
	struct folder_capture *rows;
	size_t files_cnt, cnt = 0;
	int err = folder_list(dir, &files, &files_cnt);

	if (err)
		return err;
	rows = calloc(files_cnt + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < files_cnt; i++)
		rows[i] = row_of(&files[i]);
	qsort(rows, files_cnt, sizeof(*rows), by_capture);
	for (size_t i = 0; i < files_cnt; i++) {
		if (cnt && !strcmp(rows[cnt - 1].name, rows[i].name))
			merge(&rows[cnt - 1], &rows[i]);
		else
			rows[cnt++] = rows[i];
	}
	qsort(rows, cnt, sizeof(*rows), newest_capture_first);
	*ret_captures = rows;
	*ret_cnt = cnt;
	return 0;
}

/* --- one of them ------------------------------------------------------------------------------ */

static bool is_of_owner(int dir, const struct stat *st)
{
	struct stat folder;

	return S_ISREG(st->st_mode) && !fstat(dir, &folder) && folder.st_uid == st->st_uid;
}

int folder_get(int dir, const char *name, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!folder_is_name(name))
		return -EINVAL;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EPERM : -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!is_of_owner(dir, &st))
		return -EPERM;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* 1 removed, 0 not there, or negative errno. */
static int remove_one(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (!is_of_owner(dir, &st))
		return -EPERM;
	if (unlinkat(dir, name, 0))
		return errno == ENOENT ? 0 : -errno;
	return 1;
}

int folder_remove(int dir, const char *capture)
{
	/* The journal goes last: without it the capture may be unreadable, and artifacts without
	 * their capture would be left if we were killed. */
	static const enum folder_kind order[] = {FOLDER_TEXT, FOLDER_PAGE, FOLDER_CAPTURE};
	char name[FOLDER_NAME_BYTES + 16];
	struct parsed parsed;
	int removed = 0, n;

	if (!parse_name(capture, &parsed) || parsed.kind != FOLDER_CAPTURE)
		return -EINVAL;
	for (size_t i = 0; i < KIND_CNT; i++) {
		name_of(name, capture, parsed.base_len, order[i]);
		n = remove_one(dir, name);
		if (n < 0)
			return n;
		removed += n;
	}
	snprintf(name, sizeof(name), "%s-journal", capture);
	n = remove_one(dir, name);
	if (n < 0)
		return n;
	return removed + n ? 0 : -ENOENT;
}
