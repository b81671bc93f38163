/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Better names for a finished capture: in place, as a copy, refused, killed, without room. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "capture.h"
#include "store/store.h"
#include "store_folder.h"

TestSuite(store_update, .init = enter_folder, .fini = leave_folder);

static void record(const char *path)
{
	struct model *m = capture_model();
	struct store *store = NULL;

	cr_assert_eq(store_create(path, m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	model_free(m);
}

static void execute(const char *path, const char *sql)
{
	sqlite3 *db;

	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* All locations get a name of that round; names more symbols are added, of 100 bytes each. */
static void rename_all(struct model *m, int round, int more)
{
	char name[128];
	struct model_symbol s = {.name = name, .module = "Shop", .kind = KIND_JIT};
	uint32_t row;

	snprintf(name, sizeof(name), "Shop.Round%d", round);
	row = model_symbol_get(m, &s);
	for (size_t i = 0; i < m->locations_cnt; i++)
		m->locations[i].symbol = row;
	for (int i = 0; i < more; i++) {
		snprintf(name, sizeof(name), "Shop.Round%d.%090d", round, i);
		model_symbol_get(m, &s);
	}
	m->processes[0].perf_map = REASON_NAMED;
	if (GROW(m->renamings, m->renamings_cnt, m->renamings_cap))
		return;
	m->renamings[m->renamings_cnt++] = (struct model_renaming){
		.time_s = 1700000000 + round, .version = "0.2.0", .named = m->locations_cnt};
}

static int open_error(const char *path, const char *result)
{
	struct store_update *u = NULL;
	struct model *m = NULL;
	int err = store_update_open(path, result, &u, &m);

	if (err)
		cr_assert(!u && !m, "an output touched on failure");
	store_update_free(u);
	model_free(m);
	return err;
}

static int rename_once(const char *path, const char *result, int round, int more)
{
	struct store_update *u = NULL;
	struct model *m = NULL;
	int err = store_update_open(path, result, &u, &m);

	if (err)
		return err;
	rename_all(m, round, more);
	err = store_update_commit(u, m);
	if (!err)
		expect_equal(result ? result : path, m);
	model_free(m);
	return err;
}

/* A journal as SQLite rolls it back, without pages, that ends in the name of another one. */
static void plant_journal(const char *path, const char *other)
{
	static const uint8_t magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint8_t head[512] = {0}, name[512] = {0}, page[2];
	char full[400], journal[64];
	uint32_t sum = 0, len, pages;
	struct stat st;
	int fd = open(path, O_RDONLY);

	cr_assert(fd >= 0 && !fstat(fd, &st) && pread(fd, page, 2, 16) == 2);
	close(fd);
	pages = (uint32_t)(st.st_size / (page[0] << 8 | page[1]));
	memcpy(head, magic, 8);
	for (int i = 0; i < 4; i++)
		head[16 + i] = (uint8_t)(pages >> (24 - 8 * i));
	head[22] = 512 >> 8;
	head[26] = page[0];
	head[27] = page[1];
	cr_assert_not_null(getcwd(full, sizeof(full) - 100));
	len = (uint32_t)(strlen(full) + 1 + strlen(other));
	strcat(strcat(full, "/"), other);
	memcpy(name + 4, full, len);
	for (uint32_t i = 0; i < len; i++)
		sum += (uint32_t)full[i];
	for (int i = 0; i < 4; i++) {
		name[4 + len + i] = (uint8_t)(len >> (24 - 8 * i));
		name[8 + len + i] = (uint8_t)(sum >> (24 - 8 * i));
	}
	memcpy(name + 12 + len, magic, 8);
	snprintf(journal, sizeof(journal), "%s-journal", path);
	fd = open(journal, O_WRONLY | O_CREAT | O_EXCL, 0600);
	cr_assert(fd >= 0 && write(fd, head, sizeof(head)) == sizeof(head) &&
		  write(fd, name, 20 + len) == (ssize_t)(20 + len));
	close(fd);
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	cr_assert(fd >= 0 && write(fd, "precious", 8) == 8);
	close(fd);
}

/* Whoever may write to the folder plants it between two transactions. */
Test(store_update, a_planted_journal_has_nothing_deleted)
{
	static const char *const victims[] = {"victim", "victim-journal"};

	for (size_t i = 0; i < 2; i++) {
		struct model *m = capture_model(), *read = NULL;
		struct store *store = NULL;
		struct store_update *u = NULL;

		make_file(victims[i]);
		cr_assert_eq(store_create("a.hotrun", m, &store), 0);
		plant_journal("a.hotrun", victims[i]);
		store_write_slice(store, m); /* may fail */
		cr_expect_eq(access(victims[i], F_OK), 0, "recording deleted %s", victims[i]);
		store_finish(store, m);
		model_free(m);
		unlink("a.hotrun-journal");
		unlink("a.hotrun");

		record("b.hotrun");
		cr_assert_eq(store_update_open("b.hotrun", NULL, &u, &m), 0);
		rename_all(m, 1, 1);
		plant_journal("b.hotrun", victims[i]);
		store_update_commit(u, m);
		cr_expect_eq(access(victims[i], F_OK), 0, "renaming deleted %s", victims[i]);
		model_free(m);
		cr_expect_eq(store_read("b.hotrun", &read), 0);
		model_free(read);
		unlink("b.hotrun");
	}
}

Test(store_update, what_is_no_journal_is_neither_opened_nor_in_the_way, .timeout = 20)
{
	struct model *m = capture_model();
	struct store *store = NULL;
	struct stat st;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(mkfifo("a.hotrun-journal", 0600), 0);
	cr_expect_eq(store_write_slice(store, m), 0, "it makes room for the journal");
	make_file("victim");
	cr_assert_eq(link("victim", "a.hotrun-journal"), 0);
	cr_expect_eq(store_write_slice(store, m), 0);
	cr_expect_eq(stat("victim", &st), 0);
	cr_expect_eq(st.st_size, 8);
	cr_expect_eq(st.st_nlink, 1);
	/* Of somebody else, who would have the recording roll back. */
	make_file("a.hotrun-journal");
	if (!geteuid())
		cr_assert_eq(chown("a.hotrun-journal", 65534, 65534), 0);
	else
		cr_assert_eq(chmod("a.hotrun-journal", 0622), 0);
	cr_expect_eq(store_write_slice(store, m), 0);
	cr_expect_eq(store_finish(store, m), 0);
	cr_expect_eq(access("a.hotrun-journal", F_OK), -1);
	model_free(m);
}

Test(store_update, names_are_changed_in_place)
{
	struct stat before, after;

	record("a.hotrun");
	cr_assert_eq(chmod("a.hotrun", 0640), 0);
	cr_assert_eq(stat("a.hotrun", &before), 0);
	cr_expect_eq(rename_once("a.hotrun", NULL, 1, 10), 0);
	cr_expect_eq(rename_once("a.hotrun", NULL, 2, 10), 0, "and once more");
	cr_assert_eq(stat("a.hotrun", &after), 0);
	cr_expect(before.st_ino == after.st_ino && before.st_mode == after.st_mode &&
		  before.st_uid == after.st_uid);
	cr_expect_eq(count_files(), 1, "something was left behind");
}

Test(store_update, a_copy_leaves_the_capture_as_it_was)
{
	struct stat before, after;

	record("a.hotrun");
	cr_assert_eq(stat("a.hotrun", &before), 0);
	cr_expect_eq(rename_once("a.hotrun", "b.hotrun", 1, 10), 0);
	cr_assert_eq(stat("a.hotrun", &after), 0);
	cr_expect(before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
		  before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
	cr_assert_eq(stat("b.hotrun", &after), 0);
	cr_expect_eq(after.st_mode & 0777, 0600);
	cr_expect_eq(rename_once("b.hotrun", "b.hotrun", 2, 10), 0, "onto itself");
	cr_expect_eq(count_files(), 2, "something was left behind");
}

Test(store_update, what_is_not_committed_leaves_nothing)
{
	struct model *m;

	record("a.hotrun");
	cr_assert_eq(store_read("a.hotrun", &m), 0);
	cr_expect_eq(open_error("a.hotrun", NULL), 0);
	cr_expect_eq(open_error("a.hotrun", "b.hotrun"), 0);
	expect_equal("a.hotrun", m);
	cr_expect_eq(count_files(), 1);
	model_free(m);
}

Test(store_update, captures_of_before_get_the_table)
{
	record("a.hotrun");
	execute("a.hotrun", "DROP TABLE renaming");
	cr_expect_eq(rename_once("a.hotrun", NULL, 1, 1), 0);
}

static int in_place_error(const char *path)
{
	return open_error(path, NULL);
}

Test(store_update, refuses_what_must_not_be_changed)
{
	record("a.hotrun");
	cr_expect_eq(open_error("none", NULL), -ENOENT);
	cr_expect_eq(open_error(".", NULL), -EINVAL);
	put_file("text", "no capture, and longer than a header of a database is, so that it can be "
			 "read at all: 100 bytes and some");
	cr_expect_eq(open_error("text", NULL), -EINVAL);
	cr_expect_eq(open_error("a.hotrun", "text"), -EEXIST, "not a capture of ours");
	cr_expect_eq(open_error("a.hotrun", "none/b.hotrun"), -ENOENT);
	cr_assert_eq(chmod(".", 0755), 0);
	cr_expect_eq(as_nobody(in_place_error, "a.hotrun"), -EACCES);
	cr_assert_eq(chmod("a.hotrun", 0444), 0);
	cr_expect_eq(open_error("a.hotrun", NULL), -EACCES, "also for root");
	cr_assert_eq(chmod("a.hotrun", 0600), 0);
	execute("a.hotrun", "ALTER TABLE symbol ADD COLUMN colour INTEGER NOT NULL DEFAULT 1");
	cr_expect_eq(open_error("a.hotrun", NULL), -EPROTO, "a newer version keeps more");
	cr_expect_eq(read_error("a.hotrun"), 0, "reading it is no trouble");
}

Test(store_update, a_capture_that_is_recorded_or_changed_is_left_alone)
{
	struct model *m = capture_model(), *changed = NULL;
	struct store_update *u = NULL;
	struct store *store = NULL;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_expect_eq(open_error("a.hotrun", NULL), -EBUSY);
	cr_expect_eq(open_error("a.hotrun", "b.hotrun"), -EBUSY);
	cr_assert_eq(store_finish(store, m), 0);
	model_free(m);

	cr_assert_eq(store_update_open("a.hotrun", NULL, &u, &changed), 0);
	cr_expect_eq(open_error("a.hotrun", NULL), -EBUSY, "two at a time");
	rename_all(changed, 1, 1);
	execute("a.hotrun", "UPDATE symbol SET name = 'x' WHERE id = 0");
	cr_expect_eq(store_update_commit(u, changed), -EBUSY);
	model_free(changed);
}

static int rename_in_place(void *path)
{
	struct store_update *u;
	struct model *m;

	if (store_update_open(path, NULL, &u, &m))
		return 1;
	rename_all(m, 1, 300);
	return store_update_commit(u, m) ? 2 : 0;
}

/* Whether the capture has all its old names, or all its new ones; fails where it has neither. */
static bool has_new_names(const char *path, const struct model *old_names,
			  const struct model *new_names)
{
	const char *from_old, *from_new;
	struct model *m = NULL;
	int err = store_read(path, &m);

	cr_assert_eq(err, 0, "%s", store_error_text(err));
	from_old = capture_difference(old_names, m);
	from_new = capture_difference(new_names, m);
	cr_assert(!from_old != !from_new, "%s differs from the old one, %s from the new one",
		  from_old ?: "nothing", from_new ?: "nothing");
	model_free(m);
	return !from_new;
}

Test(store_update, killed_at_any_change_the_capture_has_old_names_or_new_ones,
     .init = enter_memory_folder)
{
	char path[] = "a.hotrun";
	struct model *old_names, *new_names;
	unsigned int n, rolled_back = 0;
	bool killed = true, renamed = false, now;

	record("old.hotrun");
	cr_assert_eq(store_read("old.hotrun", &old_names), 0);
	cr_assert_eq(rename_once("old.hotrun", "new.hotrun", 1, 300), 0);
	cr_assert_eq(store_read("new.hotrun", &new_names), 0);
	for (n = 1; killed; n++) {
		for (int half = 0; half < 2; half++) {
			cr_assert_eq(system("cp old.hotrun a.hotrun"), 0);
			killed = killed_at_change(n, half, rename_in_place, path);
			now = has_new_names(path, old_names, new_names);
			cr_assert(now || !renamed, "new names after fewer than %u changes", n);
			renamed = now;
			/* Changed pages are there: without its journal it would be broken. */
			rolled_back += !now && system("cmp -s old.hotrun a.hotrun");
			/* What the killed one left is rolled back by the next. */
			cr_assert_eq(rename_once(path, NULL, 2, 0), 0);
			cr_assert_eq(access("a.hotrun-journal", F_OK), -1);
		}
	}
	cr_expect(renamed);
	cr_expect_gt(rolled_back, 0, "none of %u kills met a transaction", 2 * n);
	model_free(old_names);
	model_free(new_names);
}

Test(store_update, a_full_disk_leaves_the_capture_as_it_was)
{
	struct rlimit limit = {0, RLIM_INFINITY};
	struct model *m;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	record("a.hotrun");
	cr_assert_eq(stat("a.hotrun", &st), 0);
	cr_assert_eq(store_read("a.hotrun", &m), 0);
	limit.rlim_cur = (rlim_t)st.st_size + 8192;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(rename_once("a.hotrun", NULL, 1, 5000), -ENOSPC);
	cr_expect_eq(rename_once("a.hotrun", "b.hotrun", 1, 5000), -ENOSPC);
	expect_equal("a.hotrun", m);
	cr_expect_eq(count_files(), 1, "something was left behind");
	model_free(m);
}

Test(store_update, a_journal_that_names_another_file_is_refused)
{
	/* A name, its length, its checksum and the magic, as the end of a journal has them. */
	static const char end[] =
		"\0\0\0\1victim\0\0\0\6\0\0\2\205\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
	FILE *journal;

	record("a.hotrun");
	put_file("victim", "precious");
	journal = fopen("a.hotrun-journal", "w");
	cr_assert(journal);
	for (int i = 0; i < 512; i++)
		putc(0, journal);
	fwrite(end, 1, sizeof(end) - 1, journal);
	fclose(journal);
	cr_expect_eq(open_error("a.hotrun", NULL), -EBADMSG);
	cr_expect_eq(access("victim", F_OK), 0);
	cr_assert_eq(unlink("a.hotrun-journal"), 0);
	put_file("a.hotrun-wal", "");
	cr_expect_eq(open_error("a.hotrun", NULL), -EBADMSG);
}
