/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capture file as recorder and reader use it: round trips, owners, readers, names. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture.h"
#include "store/store.h"
#include "store_folder.h"

TestSuite(store, .init = enter_folder, .fini = leave_folder);

static void record(const char *path, struct model *m)
{
	struct store *store = NULL;

	cr_assert_eq(store_create(path, m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	m->host.complete = true;
}

/* Runs a statement with the sqlite3 library's own shell-like call; the value of one cell. */
static void expect_sql(const char *path, const char *sql, const char *value)
{
	char command[600], got[200] = "";
	FILE *p;

	snprintf(command, sizeof(command), "sqlite3 '%s' \"%s\"", path, sql);
	p = popen(command, "r");
	cr_assert(p);
	cr_assert(fgets(got, sizeof(got), p), "no answer to %s", sql);
	pclose(p);
	got[strcspn(got, "\n")] = '\0';
	cr_assert_str_eq(got, value, "%s: %s", sql, got);
}

Test(store, every_field_survives_the_round_trip)
{
	struct model *m = capture_model();

	record("a.hotrun", m);
	expect_equal("a.hotrun", m);
	cr_assert_eq(count_files(), 1, "a temporary file or journal was left");
	model_free(m);
}

/* Puts the rows that were there before those that are, in a table of its own. */
#define PREPEND(m, was, table)                                                    \
	do {                                                                      \
		size_t cnt_ = (was)->table##_cnt + (m)->table##_cnt;              \
                                                                                  \
		(was)->table = realloc((was)->table, cnt_ * sizeof(*(m)->table)); \
		memcpy((was)->table + (was)->table##_cnt, (m)->table,             \
		       (m)->table##_cnt * sizeof(*(m)->table));                   \
		free((m)->table);                                                 \
		(m)->table = (was)->table;                                        \
		(m)->table##_cnt = (m)->table##_cap = cnt_;                       \
	} while (0)

Test(store, slices_add_up_and_changed_rows_are_written_again)
{
	struct model *m = capture_model(), *all = capture_model();
	struct store *store = NULL;
	struct model *read = NULL;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	for (int i = 0; i < 4; i++) {
		if (i)
			capture_next_slice(m);
		cr_assert_eq(store_write_slice(store, m), 0);
		cr_assert_not(m->processes[0].dirty || m->threads[0].dirty || m->cgroups[1].dirty ||
			      m->processes[0].mappings[0].dirty);
		/* A reader of the running recording sees what is there. */
		cr_assert_eq(store_read("a.hotrun", &read), 0);
		cr_assert_eq(read->slices_cnt, (size_t)i + 1);
		cr_assert_eq(read->samples_cnt, 2u * ((size_t)i + 1));
		cr_assert_not(read->host.complete);
		model_free(read);
	}
	cr_assert_eq(store_finish(store, m), 0);
	m->host.complete = true;
	/* The same slices again, but gathered in one model: what the file should hold. */
	for (int i = 0; i < 3; i++) {
		struct model was = *all;

		all->samples = NULL, all->accounts = NULL, all->delays = NULL;
		all->contentions = NULL, all->throttles = NULL, all->cpus = NULL;
		all->losses = NULL, all->services = NULL, all->responses = NULL,
		all->signals = NULL;
		all->pasts = NULL, all->stands = NULL, all->wakers = NULL;
		all->switches = NULL, all->switches_cap = 0;
		all->stands_cap = all->wakers_cap = 0;
		all->samples_cap = all->accounts_cap = all->delays_cap = all->contentions_cap = 0;
		all->throttles_cap = all->cpus_cap = all->losses_cap = 0;
		all->services_cap = all->responses_cap = all->signals_cap = all->pasts_cap = 0;
		capture_next_slice(all);
		PREPEND(all, &was, samples);
		PREPEND(all, &was, accounts);
		PREPEND(all, &was, delays);
		PREPEND(all, &was, contentions);
		PREPEND(all, &was, throttles);
		PREPEND(all, &was, services);
		PREPEND(all, &was, responses);
		PREPEND(all, &was, signals);
		PREPEND(all, &was, pasts);
		PREPEND(all, &was, stands);
		PREPEND(all, &was, wakers);
		PREPEND(all, &was, switches);
		PREPEND(all, &was, cpus);
		PREPEND(all, &was, losses);
	}
	all->host.complete = true;
	expect_equal("a.hotrun", all);
	model_free(m);
	model_free(all);
}

Test(store, a_capture_without_slices_is_readable_and_incomplete)
{
	struct model *m = capture_model();
	struct store *store = NULL;

	model_forget_slice(m);
	m->slices_cnt = 0;
	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	store_free(store);
	expect_equal("a.hotrun", m);
	model_free(m);
}

Test(store, what_is_new_after_the_last_slice_is_written_at_the_end)
{
	struct model *m = capture_model();
	struct model_symbol late = {.name = "Late.Name", .module = "Late", .kind = KIND_JIT};
	struct store *store = NULL;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	model_symbol_get(m, &late);
	m->locations[2].symbol = 0;
	cr_assert_eq(store_finish(store, m), 0);
	m->host.complete = true;
	expect_equal("a.hotrun", m);
	model_free(m);
}

Test(store, absurd_figures_do_not_make_the_file_unreadable)
{
	struct model *m = capture_model(), *read = NULL;

	m->accounts[0].sched.on_cpu_ns = UINT64_MAX;
	m->slices[0].end_ns = m->slices[0].start_ns - 1;
	m->threads[0].state = '\n';
	m->cgroups[0].parent = 1; /* and 1 lies below 0: a circle */
	record("a.hotrun", m);
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_assert_eq(read->accounts[0].sched.on_cpu_ns, 1ull << 60, "all of them stay below that");
	cr_assert_eq(read->accounts[1].sched.on_cpu_ns, 0u);
	cr_assert_eq(read->accounts[1].sched.waited_ns, 2u, "of that column only");
	cr_assert_eq(read->slices[0].end_ns, read->slices[0].start_ns);
	cr_assert_eq(read->threads[0].state, '?');
	cr_assert_eq(read->cgroups[0].parent, MODEL_NONE);
	model_free(read);
	model_free(m);
}

Test(store, the_file_explains_itself_in_plain_sqlite)
{
	struct model *m = capture_model();

	record("a.hotrun", m);
	expect_sql("a.hotrun", "PRAGMA integrity_check", "ok");
	expect_sql("a.hotrun", "PRAGMA application_id", "1752134770");
	expect_sql("a.hotrun", "SELECT word FROM reason WHERE id = 4", model_reason_id(4));
	expect_sql("a.hotrun", "SELECT text FROM loss_cause WHERE id = 16", model_loss_text(16));
	expect_sql("a.hotrun", "SELECT name, on_cpu_s, samples, threads FROM process_cpu",
		   "Shop.Api|0.9|6|1");
	expect_sql("a.hotrun",
		   "SELECT name, ran_s, waited_s, behind_own_s, behind_others_s, throttled_s,"
		   "delay_max_ms FROM process_wait",
		   "Shop.Api|0.9|0.4|||0.2|7.654321");
	expect_sql("a.hotrun", "SELECT tgid, slot, below_us, delays FROM process_run_delay",
		   "4242|25||8589934592");
	expect_sql("a.hotrun",
		   "SELECT runner_tgid, waiter_tgid, waiting_ticks "
		   "FROM process_contention WHERE waiter_tgid IS NOT NULL",
		   "4300|4242|1.5");
	expect_sql("a.hotrun",
		   "SELECT tgid, port, begun, answered, slow, slow_ms, mean_ms, max_ms, stuck_most,"
		   "refused FROM process_request",
		   "4300|0|10|9|5|0.0|0.777777777777778|999.0|20|13");
	expect_sql("a.hotrun",
		   "SELECT group_concat(printf('%x', address)) FROM frame WHERE stack=0",
		   "7f1000000040,7f1000000081,7f0000001111,ffffffffff600000");
	expect_sql("a.hotrun", "SELECT name, samples FROM symbol_self", "do_syscall_64|3");
	model_free(m);
}

/* Behind whom was waited is known of slices of the full gear alone, which stand for the others. */
Test(store, its_view_of_waits_estimates_what_the_quiet_gear_does_not_tell)
{
	struct model *m = capture_model();

	m->slices[0].quiet = false;
	m->accounts[0].sched.waited_ns = 200000000;
	m->accounts[0].sched.behind_own_ns = 150000000;
	record("a.hotrun", m);
	expect_sql("a.hotrun", "SELECT waited_s, behind_own_s, behind_others_s FROM process_wait",
		   "0.4|0.3|0.1");
	model_free(m);
}

/* --- where it may be written ----------------------------------------------------------------- */

Test(store, a_new_file_is_private_and_a_recording_leaves_no_other)
{
	struct model *m = capture_model();
	struct stat st;

	umask(0);
	record("a.hotrun", m);
	cr_assert_eq(stat("a.hotrun", &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(count_files(), 1);
	model_free(m);
}

Test(store, under_sudo_the_file_belongs_to_the_caller)
{
	struct model *m = capture_model();
	struct stat st;

	if (geteuid() != 0) {
		leave_folder(); /* a skipped test has no end */
		cr_skip("needs root: gives a file away");
	}
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1235", 1);
	record("a.hotrun", m);
	cr_assert_eq(stat("a.hotrun", &st), 0);
	cr_assert(st.st_uid == 1234 && st.st_gid == 1235);
	cr_assert_eq(create_error("a.hotrun"), 0, "the caller's capture is replaced");
	unsetenv("SUDO_UID");
	cr_assert_eq(create_error("a.hotrun"), -EEXIST, "somebody else's capture is not");
	setenv("SUDO_UID", "-1", 1);
	record("b.hotrun", m);
	cr_assert_eq(stat("b.hotrun", &st), 0);
	cr_assert_eq(st.st_uid, 0u, "a senseless SUDO_UID is ignored");
	model_free(m);
}

Test(store, odd_names_are_plain_names)
{
	static const char *const names[] = {"what?.hotrun",
					    "file:a.hotrun?mode=memory",
					    ":memory:",
					    "a#b%20c.hotrun",
					    "-rf.hotrun",
					    "naïve\n.hotrun",
					    "./././x.hotrun",
					    "sub/../y.hotrun",
					    "it's \"quoted\".hotrun"};

	cr_assert_eq(mkdir("sub", 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct model *m = capture_model();

		record(names[i], m);
		cr_assert_eq(access(names[i], F_OK), 0, "%s is not there", names[i]);
		expect_equal(names[i], m);
		model_free(m);
	}
	cr_assert_eq(count_files(), 10);
}

static void make_foreign_database(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "sqlite3 %s 'CREATE TABLE t(a)'", path);
	cr_assert_eq(system(command), 0);
}

Test(store, what_is_not_ours_is_never_replaced)
{
	struct model *m = capture_model();

	put_file("text", "precious");
	put_file("empty", "");
	make_foreign_database("foreign");
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_assert_eq(symlink("target", "dangling"), 0);
	record("real.hotrun", m);
	model_free(m);
	cr_assert_eq(symlink("real.hotrun", "link"), 0);
	put_file("odd", "");
	cr_assert_eq(mkdir("odd.hotrun-journal", 0700), 0);

	cr_expect_eq(create_error("text"), -EEXIST);
	cr_expect_eq(create_error("empty"), -EEXIST);
	cr_expect_eq(create_error("foreign"), -EEXIST);
	cr_expect_eq(create_error("fifo"), -EEXIST);
	cr_expect_eq(create_error("dangling"), -EEXIST);
	cr_expect_eq(create_error("link"), -EEXIST);
	cr_expect_eq(create_error("odd.hotrun"), -EEXIST, "a journal name that is taken");
	cr_expect_eq(create_error("."), -EISDIR);
	cr_expect_eq(create_error(folder), -EISDIR);
	cr_expect_eq(create_error("sub/"), -EISDIR);
	cr_expect_eq(create_error(""), -ENOENT);
	cr_expect_eq(create_error("gone/a.hotrun"), -ENOENT);
	cr_expect_eq(create_error("text/a.hotrun"), -ENOTDIR);
	cr_expect_eq(access("target", F_OK), -1, "written through a link");
	cr_expect_eq(count_files(), 9, "a temporary file was left");
}

Test(store, an_old_capture_of_ours_is_replaced_with_its_journal)
{
	struct model *m = capture_model();

	record("a.hotrun", m);
	put_file("a.hotrun-journal", "stale");
	capture_next_slice(m);
	m->host.complete = false;
	m->slices_cnt = 1;
	m->losses[0].slice = m->losses[1].slice = m->cpus[0].slice = 0;
	m->accounts[0].slice = m->accounts[1].slice = m->delays[0].slice = 0;
	m->contentions[0].slice = m->contentions[1].slice = m->throttles[0].slice = 0;
	m->services[0].slice = m->responses[0].slice = m->signals[0].slice = m->pasts[0].slice = 0;
	m->stands[0].slice = m->wakers[0].slice = 0;
	m->switches[0].slice = m->switches[1].slice = 0;
	record("a.hotrun", m);
	expect_equal("a.hotrun", m);
	cr_assert_eq(count_files(), 1);
	model_free(m);
}

Test(store, two_recorders_do_not_share_a_file)
{
	struct model *m = capture_model();
	struct store *store = NULL;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(create_error("a.hotrun"), -EBUSY);
	store_free(store);
	cr_assert_eq(create_error("a.hotrun"), 0);
	model_free(m);
}

Test(store, a_reader_tells_a_recording_in_progress_from_one_that_was_cut_short)
{
	struct model *m = capture_model(), *read = NULL;
	struct store *store = NULL;

	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_expect(read->host.running && !read->host.complete);
	model_free(read);
	store_free(store);
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_expect(!read->host.running && !read->host.complete);
	model_free(read);
	model_free(m);
}

Test(store, a_name_too_long_for_its_journal_is_refused_before)
{
	char name[NAME_MAX + 1];

	memset(name, 'x', NAME_MAX);
	name[NAME_MAX] = '\0';
	cr_assert_eq(create_error(name), -ENAMETOOLONG);
	name[NAME_MAX - 8] = '\0';
	cr_assert_eq(create_error(name), 0);
}

Test(store, an_unwritable_folder_is_told_at_once)
{
	cr_assert_eq(chmod(".", 0555), 0);
	cr_assert_eq(as_nobody(create_error, "a.hotrun"), -EACCES);
}

/* --- reading without rights ------------------------------------------------------------------ */

Test(store, a_file_is_read_without_write_access_to_it_or_its_folder)
{
	struct model *m = capture_model();

	record("a.hotrun", m);
	cr_assert_eq(chmod("a.hotrun", 0400), 0);
	cr_assert_eq(chmod(".", 0555), 0);
	expect_equal("a.hotrun", m);
	cr_assert_eq(chmod("a.hotrun", 0444), 0);
	cr_assert_eq(as_nobody(read_error, "a.hotrun"), 0, "another user");
	if (geteuid() == 0) {
		cr_assert_eq(chmod("a.hotrun", 0400), 0);
		cr_assert_eq(as_nobody(read_error, "a.hotrun"), -EACCES);
	}
	model_free(m);
}

Test(store, what_is_not_a_capture_is_said)
{
	put_file("text",
		 "not a database, but long enough to have a header of a hundred bytes, as a "
		 "database would have one");
	put_file("empty", "");
	make_foreign_database("foreign");
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(read_error("text"), -EINVAL);
	cr_expect_eq(read_error("empty"), -EINVAL);
	cr_expect_eq(read_error("foreign"), -EINVAL);
	cr_expect_eq(read_error("fifo"), -EINVAL);
	cr_expect_eq(read_error("."), -EINVAL);
	cr_expect_eq(read_error("/dev/null"), -EINVAL);
	cr_expect_eq(read_error("gone"), -ENOENT);
}

/* --- names ----------------------------------------------------------------------------------- */

Test(store, the_default_name_is_safe_and_in_utc)
{
	static const struct {
		const char *host, *path;
	} rows[] = {
		{"box-1.example", "box-1.example-20261121T100243Z.hotrun"},
		{"../../etc", "_._.._etc-20261121T100243Z.hotrun"},
		{"-o\x1b[0m\xc3\xa9", "_o__0m__-20261121T100243Z.hotrun"},
		{"", "host-20261121T100243Z.hotrun"},
		{NULL, "host-20261121T100243Z.hotrun"},
	};

	setenv("TZ", "America/New_York", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *path = store_default_path(rows[i].host, 1795255363);

		cr_expect_str_eq(path, rows[i].path);
	}
}

static void touch(const char *path, time_t at)
{
	struct timespec times[2] = {{at, 0}, {at, 0}};

	cr_assert_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

Test(store, the_newest_capture_is_found_by_time_among_other_things)
{
	struct model *m = capture_model();
	char *path = NULL;

	cr_assert_eq(store_newest(".", &path), -ENOENT);
	cr_assert_eq(store_newest("gone", &path), -ENOENT);
	record("old.hotrun", m);
	record("new.hotrun", m);
	record("newer.other", m);
	put_file("fake.hotrun", "x");
	cr_assert_eq(symlink("old.hotrun", "link.hotrun"), 0);
	cr_assert_eq(mkfifo("fifo.hotrun", 0600), 0);
	touch("old.hotrun", 1000);
	touch("new.hotrun", 2000);
	cr_assert_eq(store_newest(".", &path), 0);
	cr_expect_str_eq(path, "new.hotrun");
	free(path);
	touch("old.hotrun", 3000);
	cr_assert_eq(store_newest(folder, &path), 0);
	cr_expect(strstr(path, "/old.hotrun") && path[0] == '/', "%s", path);
	free(path);
	model_free(m);
}

Test(store, every_error_has_a_text_of_its_own)
{
	static const int errors[] = {ENOENT, ENOTDIR, EISDIR,  ENAMETOOLONG, EACCES,
				     EROFS,  ENOSPC,  EIO,     EEXIST,	     EBUSY,
				     EINVAL, EPROTO,  EBADMSG, EFBIG,	     ENOMEM};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		cr_expect_str_neq(store_error_text(-errors[i]), store_error_text(-ESRCH));
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(store_error_text(-errors[i]),
					  store_error_text(-errors[k]));
	}
}

Test(store, what_a_file_is_known_by_may_be_learnt_after_it_was_written)
{
	static const uint8_t id[] = {1, 2, 3, 4}, other[] = {9, 9};
	struct model *m = capture_model(), *read = NULL;
	struct store *store = NULL;
	uint32_t unknown = MODEL_NONE, known = MODEL_NONE;

	for (uint32_t i = 0; i < m->modules_cnt; i++)
		*(m->modules[i].build_id_len ? &known : &unknown) = i;
	cr_assert(unknown != MODEL_NONE && known != MODEL_NONE);
	cr_assert_eq(store_create("a.hotrun", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	model_module_learn(m, unknown, id, sizeof(id));
	model_module_learn(m, unknown, other, sizeof(other));
	model_module_learn(m, known, other, sizeof(other));
	capture_next_slice(m);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	cr_assert_eq(store_read("a.hotrun", &read), 0);
	cr_expect_eq(read->modules[unknown].build_id_len, sizeof(id));
	cr_expect_eq(memcmp(read->modules[unknown].build_id, id, sizeof(id)), 0);
	cr_expect_eq(read->modules[known].build_id_len, m->modules[known].build_id_len);
	cr_expect_neq(read->modules[known].build_id[0], 9);
	model_free(read);
	model_free(m);
}
