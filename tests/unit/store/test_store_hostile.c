/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Captures of strangers: made to crash, to stall, to exhaust memory, or just damaged. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture.h"
#include "store/private.h"
#include "store/store.h"

static char folder[64];

static void enter_folder(void)
{
	struct model *m = capture_model();
	struct store *store = NULL;

	snprintf(folder, sizeof(folder), "/tmp/hotrun-hostile-XXXXXX");
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	cr_assert_eq(store_create("good", m, &store), 0);
	cr_assert_eq(store_write_slice(store, m), 0);
	cr_assert_eq(store_finish(store, m), 0);
	model_free(m);
}

static void leave_folder(void)
{
	char command[256];

	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(store_hostile, .init = enter_folder, .fini = leave_folder, .timeout = 60);

static void copy_good(const char *to)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -f bad*; cp good %s", to);
	cr_assert_eq(system(command), 0);
}

/* A good capture changed by sql; what reading it gives. */
static int read_changed(const char *name, const char *sql, struct model **ret_model)
{
	sqlite3 *db = NULL;
	char *message = NULL;
	int rc;

	copy_good("bad");
	cr_assert_eq(sqlite3_open("bad", &db), 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	rc = sqlite3_exec(db, "PRAGMA ignore_check_constraints=ON; PRAGMA writable_schema=ON", NULL,
			  NULL, NULL);
	cr_assert_eq(rc, 0);
	rc = sqlite3_exec(db, sql, NULL, NULL, &message);
	cr_assert_eq(rc, 0, "%s: %s", name, message);
	sqlite3_close(db);
	return store_read("bad", ret_model);
}

#define ENDLESS "WITH RECURSIVE x(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM x) "

/* `UPDATE t SET c` for every row. */
static const struct {
	const char *name, *sql;
	int err;
} damaged[] = {
	{"no host", "DELETE FROM host", EBADMSG},
	{"two hosts",
	 "INSERT INTO host SELECT 1, name, kernel, machine, version, event, filter, command,"
	 "1, 1, 1, 1, 1, 1, 1, 0, '' FROM host",
	 EBADMSG},
	{"recording that ends before it starts", "UPDATE host SET end_ns = 5", EBADMSG},
	{"a billion CPUs", "UPDATE host SET cpus_possible = 1000000000", EBADMSG},
	{"negative time", "UPDATE sample SET time_ns = -1", EBADMSG},
	{"number beyond 32 bits", "UPDATE process SET tgid = 4294967296", EBADMSG},
	{"number beyond 16 bits", "UPDATE sample SET cpu = 65536", EBADMSG},
	{"text as number", "UPDATE sample SET cpu = 'one'", EBADMSG},
	{"blob as number", "UPDATE thread SET on_cpu_ns = x'00'", EBADMSG},
	{"number as text",
	 "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql ="
	 "replace(sql, 'tier TEXT', 'tier BLOB') WHERE name = 'location';"
	 "PRAGMA writable_schema=RESET; UPDATE location SET tier = 5",
	 EBADMSG},
	{"NULL as text",
	 "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql ="
	 "replace(sql, 'NOT NULL', '') WHERE name = 'thread';"
	 "PRAGMA writable_schema=RESET; UPDATE thread SET comm = NULL",
	 EBADMSG},
	{"NULL as letter",
	 "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql ="
	 "replace(sql, 'NOT NULL', '') WHERE name = 'thread';"
	 "PRAGMA writable_schema=RESET; UPDATE thread SET state = NULL",
	 EBADMSG},
	{"text as blob", "UPDATE stack SET frames = '12345678'", EBADMSG},
	{"first row missing", "DELETE FROM process WHERE id = 0", EBADMSG},
	{"gap in rows", "UPDATE sample SET id = 7 WHERE id = 1", EBADMSG},
	{"negative row", "UPDATE sample SET id = -1 WHERE id = 0", EBADMSG},
	{"thread of no process", "UPDATE thread SET process = 2", EBADMSG},
	{"two threads alike", "UPDATE thread SET process = 0, tid = 1, start_ns = 1", EBADMSG},
	{"mapping of no process", "UPDATE mapping SET process = 99 WHERE process = 1", EBADMSG},
	{"mapping of no module", "UPDATE mapping SET module = 2", EBADMSG},
	{"gap in mappings", "UPDATE mapping SET number = 9 WHERE number = 1", EBADMSG},
	{"mapping that ends before it starts", "UPDATE mapping SET \"end\" = start - 1", EBADMSG},
	{"too many mappings",
	 "WITH RECURSIVE x(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM x WHERE i < 131060) "
	 "INSERT INTO mapping SELECT 0, i, 0, 1, 0, 1, 0, 0, 0 FROM x",
	 EFBIG},
	{"build id too long", "UPDATE module SET build_id = zeroblob(21)", EBADMSG},
	{"stack of no process", "UPDATE stack SET process = 2", EBADMSG},
	{"stack broken in no module", "UPDATE stack SET broken_module = 2", EBADMSG},
	{"half a frame", "UPDATE stack SET frames = zeroblob(12)", EBADMSG},
	{"stack too deep", "UPDATE stack SET frames = zeroblob(2049 * 8)", EBADMSG},
	{"huge blob", "UPDATE stack SET frames = zeroblob(50000000)", EBADMSG},
	{"huge text", "UPDATE process SET comm = hex(zeroblob(10000000))", EBADMSG},
	{"stack key 0", "UPDATE stack SET key = 0 WHERE id = 0", EBADMSG},
	{"two stacks of a key", "UPDATE stack SET key = 2", EBADMSG},
	{"location of no symbol", "UPDATE location SET symbol = 3", EBADMSG},
	{"location of no process", "UPDATE location SET process = 2", EBADMSG},
	{"location older than itself", "UPDATE location SET older = id", EBADMSG},
	{"location of no earlier time", "UPDATE location SET from_ns = 9000000000000 - id",
	 EBADMSG},
	{"locations in a circle", "UPDATE location SET older = 1 - id WHERE id < 2", EBADMSG},
	{"older location of another address", "UPDATE location SET older = 0 WHERE id = 2",
	 EBADMSG},
	{"sample of no thread", "UPDATE sample SET thread = 2", EBADMSG},
	{"account of no slice", "UPDATE account SET slice = 1", EBADMSG},
	{"account of no thread", "UPDATE account SET thread = 2", EBADMSG},
	{"account of no cgroup", "UPDATE account SET cgroup = 2", EBADMSG},
	{"run delay of no slice", "UPDATE run_delay SET slice = 1", EBADMSG},
	{"run delay of no thread", "UPDATE run_delay SET thread = 2", EBADMSG},
	{"run delay beyond the histogram", "UPDATE run_delay SET slot = 26", EBADMSG},
	{"stand of no slice", "UPDATE stand SET slice = 1", EBADMSG},
	{"stand of no thread", "UPDATE stand SET thread = 2", EBADMSG},
	{"waker of no slice", "UPDATE waker SET slice = 1", EBADMSG},
	{"waker of no thread", "UPDATE waker SET thread = 2", EBADMSG},
	{"waker of nobody", "UPDATE waker SET woken = 2", EBADMSG},
	{"switch of no slice", "UPDATE switch SET slice = 1", EBADMSG},
	{"switch of no CPU", "UPDATE switch SET cpu = 1048576", EBADMSG},
	{"switch to no thread", "UPDATE switch SET thread = 2", EBADMSG},
	{"switch from no thread", "UPDATE switch SET other = 2", EBADMSG},
	{"switch of no kind", "UPDATE switch SET kind = 3", EBADMSG},
	{"switches out of their order", "UPDATE switch SET time_ns = time_ns - 10 WHERE id = 1",
	 EBADMSG},
	{"contention of no slice", "UPDATE contention SET slice = 1", EBADMSG},
	{"contention of no process", "UPDATE contention SET runner = 2", EBADMSG},
	{"contention without a runner",
	 "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql ="
	 "replace(sql, 'NOT NULL', '') WHERE name = 'contention';"
	 "PRAGMA writable_schema=RESET; UPDATE contention SET runner = NULL",
	 EBADMSG},
	{"contention with no such process", "UPDATE contention SET waiter = 2", EBADMSG},
	{"throttling of no slice", "UPDATE throttle SET slice = 1", EBADMSG},
	{"throttling of no cgroup", "UPDATE throttle SET cgroup = 2", EBADMSG},
	{"endpoint of no process", "UPDATE endpoint SET process = 2", EBADMSG},
	{"two endpoints alike", "UPDATE endpoint SET process = 0", EBADMSG},
	{"endpoint of an absurd port", "UPDATE endpoint SET port = 65536", EBADMSG},
	{"endpoint without an address", "UPDATE endpoint SET address = x'00'", EBADMSG},
	{"service of no slice", "UPDATE service SET slice = 1", EBADMSG},
	{"service of no endpoint", "UPDATE service SET endpoint = 2", EBADMSG},
	{"service of negative length", "UPDATE service SET oldest_ns = -1", EBADMSG},
	{"response of no slice", "UPDATE response SET slice = 1", EBADMSG},
	{"response of no endpoint", "UPDATE response SET endpoint = 2", EBADMSG},
	{"response beyond the histogram", "UPDATE response SET slot = 104", EBADMSG},
	{"signal of no slice", "UPDATE signal SET slice = 1", EBADMSG},
	{"signal of no process", "UPDATE signal SET process = 2", EBADMSG},
	{"signal of more than all", "UPDATE signal SET value_ppm = 1000001", EBADMSG},
	{"past of no slice", "UPDATE past SET slice = 1", EBADMSG},
	{"past of no process", "UPDATE past SET process = 2", EBADMSG},
	{"past slower than all", "UPDATE past SET slow_ppm = 1000001", EBADMSG},
	{"cgroup below itself", "UPDATE cgroup SET parent = id", EBADMSG},
	{"cgroups in a circle", "UPDATE cgroup SET parent = 1 - id", EBADMSG},
	{"two cgroups alike", "UPDATE cgroup SET key = 1", EBADMSG},
	{"absurd nice value", "UPDATE thread SET nice = 128", EBADMSG},
	{"books of no slice", "UPDATE cpu SET slice = 1", EBADMSG},
	{"books of an absurd CPU", "UPDATE cpu SET cpu = 65536", EBADMSG},
	{"loss of no slice", "UPDATE loss SET slice = 1", EBADMSG},
	{"slice that ends before it starts", "UPDATE slice SET end_ns = 5", EBADMSG},
	{"table missing", "DROP TABLE account", EBADMSG},
	{"column missing", "ALTER TABLE account DROP COLUMN voluntary", EBADMSG},
	{"endless view as a table",
	 "DROP TABLE loss; CREATE VIEW loss AS " ENDLESS
	 "SELECT i AS id, 0 AS slice, 0 AS cause, 1 AS count FROM x",
	 EBADMSG},
	{"view beside a table of that name",
	 "INSERT INTO sqlite_master VALUES('view', 'loss', 'loss', 0, 'CREATE VIEW loss AS "
	 "SELECT 1 AS id, 0 AS slice, 0 AS cause, 1 AS count')",
	 EBADMSG},
	{"virtual table",
	 "DROP TABLE loss; CREATE VIRTUAL TABLE loss USING fts4(id, slice, cause, count)", EBADMSG},
	{"computed column", "ALTER TABLE loss ADD COLUMN x AS (hex(zeroblob(count)))", EBADMSG},
	{"computed row number",
	 "DROP TABLE loss; CREATE TABLE loss(n, slice, cause, count, id AS (n + 1))", EBADMSG},
	{"write-ahead log", "PRAGMA journal_mode=WAL", EBADMSG},
	{"newer schema", "PRAGMA user_version=2", EPROTO},
	{"no schema version", "PRAGMA user_version=0", EINVAL},
	{"another application", "PRAGMA application_id=1", EINVAL},
};

Test(store_hostile, damage_is_told_and_harmless)
{
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		struct model *m = NULL;
		int err = read_changed(damaged[i].name, damaged[i].sql, &m);

		cr_expect_eq(err, -damaged[i].err, "%s: %d", damaged[i].name, err);
		cr_expect_null(m, "%s: an output touched on failure", damaged[i].name);
		model_free(m);
	}
}

/* What later versions may add, and what a stranger may add without harm. */
static const struct {
	const char *name, *sql;
} tolerated[] = {
	{"what a newer version does not have", "UPDATE host SET off = off | 1024"},
	{"another table", "CREATE TABLE runq(id INTEGER PRIMARY KEY, delay_ns INTEGER)"},
	{"another column", "ALTER TABLE account ADD COLUMN wait_ns INTEGER NOT NULL DEFAULT 0"},
	{"an endless view", "CREATE VIEW everything AS " ENDLESS "SELECT * FROM x"},
	{"a trigger", "CREATE TRIGGER t AFTER INSERT ON loss BEGIN DELETE FROM sample; END"},
	{"an index in odd order", "CREATE INDEX odd ON sample(cpu, kind DESC)"},
	{"a lying index",
	 "CREATE INDEX odd ON loss(id, slice, cause, count); UPDATE sqlite_master SET sql ="
	 "'CREATE INDEX odd ON loss(count, id, slice, cause)' WHERE name = 'odd'"},
	{"statistics",
	 "ANALYZE; UPDATE sqlite_stat1 SET stat = '99999999999999999999 x 0 unordered'"},
	{"our views dropped", "DROP VIEW symbol_self; DROP VIEW frame; DROP VIEW process_cpu"},
	{"our texts dropped", "DROP TABLE reason; DROP TABLE loss_cause"},
};

Test(store_hostile, what_others_add_is_ignored)
{
	struct model *good = capture_model();

	good->host.complete = true;
	for (size_t i = 0; i < sizeof(tolerated) / sizeof(tolerated[0]); i++) {
		struct model *m = NULL;
		const char *difference;

		cr_assert_eq(read_changed(tolerated[i].name, tolerated[i].sql, &m), 0, "%s",
			     tolerated[i].name);
		difference = capture_difference(good, m);
		cr_expect_null(difference, "%s: %s differs", tolerated[i].name, difference);
		model_free(m);
	}
	model_free(good);
}

/* As the first captures were, before waits were kept. */
#define FIRST_TABLE(table, columns)                                                        \
	"ALTER TABLE " table " RENAME TO later; CREATE TABLE " table                       \
	"(id INTEGER PRIMARY KEY, " columns "); INSERT INTO " table " SELECT id, " columns \
	" FROM later; DROP TABLE later; "
#define WITHOUT_REQUESTS                                                                  \
	"DROP VIEW process_request; DROP TABLE endpoint; DROP TABLE service; DROP TABLE " \
	"response; DROP TABLE signal; DROP TABLE past; "
#define FIRST_FORMAT                                                                             \
	"DROP TABLE stand; DROP TABLE waker; DROP TABLE switch; ALTER TABLE stack DROP COLUMN "  \
	"left_out; ALTER TABLE "                                                                 \
	"stack DROP COLUMN "                                                                     \
	"\"end\"; "                                                                              \
	"DROP VIEW process_wait; DROP VIEW process_run_delay; DROP VIEW process_contention; "    \
	"DROP VIEW process_cpu; DROP VIEW symbol_self;"                                          \
	"DROP TABLE cgroup; DROP TABLE run_delay; DROP TABLE contention; DROP TABLE "            \
	"throttle; " WITHOUT_REQUESTS FIRST_TABLE(                                               \
		"host", "name, kernel, machine, version, event, filter, command, cpus_online,"   \
			"cpus_possible, sample_hz, max_stack, start_ns, end_ns, complete")       \
		FIRST_TABLE("slice", "start_ns, end_ns, wall_offset_ns") FIRST_TABLE(            \
			"thread",                                                                \
			"process, tid, start_ns, exit_ns, comm, state, baseline, on_cpu_ns,"     \
			"voluntary, involuntary") FIRST_TABLE("account",                         \
							      "slice, thread, on_cpu_ns, "       \
							      "voluntary, involuntary")          \
			FIRST_TABLE(                                                             \
				"cpu",                                                           \
				"slice, cpu, elapsed_ns, idle_ns, accounted_ns, unaccounted_ns," \
				"steal_ns, switches, ticks_taken, ticks_idle, ticks_filtered")   \
				FIRST_TABLE("sample", "time_ns, thread, cpu, kind, flags, "      \
						      "waiters, kernel_stack, user_stack")

/* The model of a capture without what came later. */
static void forget_later(struct model *m)
{
	m->host.off = OFF_ACCOUNTS | OFF_QUEUES | OFF_PRESSURE | OFF_LIMITS | OFF_REQUESTS |
		      OFF_TABLES | OFF_STANDS;
	m->host.taken = "";
	for (size_t i = 0; i < m->stacks_cnt; i++)
		m->stacks[i].end = m->stacks[i].left_out = 0;
	m->endpoints_cnt = m->services_cnt = m->responses_cnt = m->signals_cnt = m->pasts_cnt = 0;
	m->stands_cnt = m->wakers_cnt = m->switches_cnt = 0;
	m->cgroups_cnt = m->delays_cnt = m->contentions_cnt = m->throttles_cnt = 0;
	for (size_t i = 0; i < m->slices_cnt; i++)
		m->slices[i] = (struct model_slice){.start_ns = m->slices[i].start_ns,
						    .end_ns = m->slices[i].end_ns,
						    .wall_offset_ns = m->slices[i].wall_offset_ns};
	for (size_t i = 0; i < m->samples_cnt; i++)
		m->samples[i].weight = 0;
	for (size_t i = 0; i < m->threads_cnt; i++) {
		struct model_thread *t = &m->threads[i];

		t->sched = (struct sched_figures){.on_cpu_ns = t->sched.on_cpu_ns,
						  .voluntary = t->sched.voluntary,
						  .involuntary = t->sched.involuntary};
		t->delay_max_ns = 0;
		t->cpus_allowed = t->policy = t->rt_priority = 0;
		t->nice = 0;
	}
	for (size_t i = 0; i < m->accounts_cnt; i++) {
		struct model_account *a = &m->accounts[i];

		a->sched = (struct sched_figures){.on_cpu_ns = a->sched.on_cpu_ns,
						  .voluntary = a->sched.voluntary,
						  .involuntary = a->sched.involuntary};
		a->cgroup = MODEL_NONE;
	}
	for (size_t i = 0; i < m->cpus_cnt; i++)
		memset(m->cpus[i].queue, 0, sizeof(m->cpus[i].queue));
}

Test(store_hostile, a_capture_of_the_first_format_is_read_and_says_what_it_lacks)
{
	struct model *good = capture_model(), *m = NULL;
	const char *difference;

	good->host.complete = true;
	forget_later(good);
	cr_assert_eq(read_changed("first format", FIRST_FORMAT, &m), 0);
	difference = capture_difference(good, m);
	cr_expect_null(difference, "%s differs", difference);
	model_free(m);
	model_free(good);
}

/* Written by hotrun before waits were kept; no folder is entered. */
Test(store_first_format, a_file_of_that_time_is_read)
{
	struct model *m = NULL;

	cr_assert_eq(store_read("tests/corpus/store/two-slices", &m), 0);
	cr_expect_eq(m->host.off, OFF_ACCOUNTS | OFF_QUEUES | OFF_PRESSURE | OFF_LIMITS |
					  OFF_REQUESTS | OFF_TABLES | OFF_STANDS);
	cr_expect_eq(m->slices_cnt, 2);
	cr_expect(m->accounts_cnt && m->accounts[0].sched.on_cpu_ns);
	cr_expect_eq(m->accounts[0].cgroup, MODEL_NONE);
	cr_expect_eq(m->cgroups_cnt + m->delays_cnt + m->contentions_cnt + m->throttles_cnt, 0);
	model_free(m);
}

/* SQLite renames it in our views, too. */
static size_t put_earlier_names(FILE *out)
{
	size_t cnt = 0;

	for (int table = 0; table < TABLE_CNT; table++)
		for (int i = 0; i < store_tables[table].column_cnt; i++) {
			const struct column *c = &store_tables[table].columns[i];

			if (!c->was)
				continue;
			fprintf(out, "ALTER TABLE %s RENAME COLUMN \"%s\" TO \"%s\";",
				store_tables[table].name, c->name, c->was);
			cnt++;
		}
	return cnt;
}

Test(store_hostile, columns_are_read_by_the_names_that_they_had)
{
	struct model *good = capture_model(), *m = NULL;
	_cleanup_free_ char *sql = NULL;
	const char *difference;
	size_t len;
	FILE *out = open_memstream(&sql, &len);

	cr_assert(out);
	cr_assert_eq(put_earlier_names(out), 2);
	fclose(out);
	good->host.complete = true;
	cr_assert_eq(read_changed("earlier names", sql, &m), 0);
	difference = capture_difference(good, m);
	cr_expect_null(difference, "%s differs", difference);
	model_free(m);
	m = NULL;
	cr_assert_eq(read_changed("both names",
				  "ALTER TABLE service ADD COLUMN drops INTEGER "
				  "NOT NULL DEFAULT 5",
				  &m),
		     0);
	cr_expect_gt(m->services_cnt, 0);
	model_free(m);
	model_free(good);
}

Test(store_hostile, each_later_part_may_be_missing_for_itself)
{
	static const struct {
		const char *name, *sql;
		uint32_t off;
	} rows[] = {
		{"run delays", "DROP TABLE run_delay", OFF_ACCOUNTS},
		{"one figure", "ALTER TABLE account DROP COLUMN migrations", OFF_ACCOUNTS},
		{"queues", "ALTER TABLE cpu DROP COLUMN queue_3", OFF_QUEUES},
		{"throttling", "DROP TABLE throttle", OFF_LIMITS},
		{"requests", WITHOUT_REQUESTS, OFF_REQUESTS},
		{"times of requests", "DROP TABLE response", OFF_REQUESTS},
		{"stands", "DROP TABLE stand", OFF_STANDS},
		{"wakers", "DROP TABLE waker", 0},
		{"switches", "DROP TABLE switch", 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char sql[200];
		struct model *m = NULL;

		snprintf(sql, sizeof(sql),
			 "DROP VIEW process_wait; DROP VIEW process_run_delay; %s", rows[i].sql);
		cr_assert_eq(read_changed(rows[i].name, sql, &m), 0, "%s", rows[i].name);
		cr_expect_eq(m->host.off, rows[i].off | OFF_OWN | OFF_PRESSURE, "%s: %x",
			     rows[i].name, m->host.off);
		model_free(m);
	}
}

Test(store_hostile, numbers_of_a_newer_version_become_generic_ones)
{
	struct model *m = NULL;

	cr_assert_eq(
		read_changed("newer numbers",
			     "UPDATE symbol SET kind = 99, reason = 200; "
			     "UPDATE symbol SET name = 'same', raw = NULL, module = 'same',"
			     "application = 0; UPDATE loss SET cause = 4000; "
			     "UPDATE mapping SET kind = 77; UPDATE process SET perf_map = 1000; "
			     "UPDATE sample SET kind = 9 WHERE id = 0",
			     &m),
		0);
	cr_expect_eq(m->symbols_cnt, 3u, "rows that became equal keep their numbers");
	cr_expect_eq(m->symbols[2].kind, KIND_UNKNOWN);
	cr_expect_eq(m->symbols[2].reason, REASON_NO_SYMBOL);
	cr_expect_eq(m->losses[0].cause, (uint32_t)LOSS_BAD_RECORD);
	cr_expect_eq(m->processes[0].mappings[1].kind, MAPPING_ANON);
	cr_expect_eq(m->processes[0].perf_map, (uint32_t)REASON_NO_PERF_MAP);
	cr_expect_eq(m->samples_cnt, 1u, "a sample of an unknown kind is no CPU sample");
	model_free(m);
}

Test(store_hostile, texts_that_share_pages_do_not_multiply)
{
	/* 2,000 rows whose long texts would be far more than the file holds. */
	struct model *m = NULL;
	int err = read_changed(
		"long texts",
		"WITH RECURSIVE x(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM x "
		"WHERE i < 2000) INSERT INTO symbol SELECT i, i || hex(zeroblob(9000)),"
		"NULL, '', 0, 0, 0 FROM x",
		&m);

	/* Stored honestly they are read, each cut at the model's bound. */
	cr_assert_eq(err, 0);
	cr_assert_eq(strlen(m->symbols[1999].name), MODEL_MAX_STRING);
	model_free(m);
}

Test(store_hostile, files_beside_the_capture_are_not_opened)
{
	struct model *m = NULL;
	FILE *wal;

	copy_good("bad");
	wal = fopen("bad-wal", "w");
	cr_assert(wal);
	fputs("\x37\x7f\x06\x82 not ours", wal);
	fclose(wal);
	cr_assert_eq(store_read("bad", &m), 0);
	model_free(m);
	cr_assert_eq(access("bad-shm", F_OK), -1, "a reader made a file");
	cr_assert_eq(unlink("bad-wal"), 0);
	cr_assert_eq(mkfifo("bad-journal", 0600), 0);
	m = NULL;
	cr_assert_eq(store_read("bad", &m), 0, "a FIFO would block the reader");
	model_free(m);
}

/* 512 bytes beside it would cut the capture to a page, or show another one. */
Test(store_hostile, a_journal_of_somebody_else_is_none)
{
	static const struct {
		const char *what;
		uid_t uid;
		mode_t mode;
		bool linked;
	} rows[] = {
		{"of another user", 65534, 0600, false},
		{"that others may write", 0, 0622, false},
		{"with another name", 0, 0600, true},
	};
	uint8_t journal[512] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0, 0, 0, 0, 1,	2,
				3,    4,    0,	  0,	0,    1,    0,	  0,	2, 0, 0, 0, 16, 0};
	struct stat before, after;

	if (geteuid())
		cr_skip_test("only root can give a file away");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model *m = NULL;
		int fd;

		copy_good("bad");
		fd = open("bad-journal", O_WRONLY | O_CREAT | O_EXCL, 0600);
		cr_assert(fd >= 0 && write(fd, journal, sizeof(journal)) == sizeof(journal));
		cr_assert(!fchown(fd, rows[i].uid, (gid_t)rows[i].uid) &&
			  !fchmod(fd, rows[i].mode) && !fstat(fd, &before));
		close(fd);
		if (rows[i].linked)
			cr_assert_eq(link("bad-journal", "other"), 0);
		cr_expect_eq(store_read("bad", &m), 0, "%s", rows[i].what);
		cr_expect(m && m->samples_cnt, "%s", rows[i].what);
		model_free(m);
		cr_expect(!stat("bad-journal", &after) && after.st_uid == before.st_uid &&
				  after.st_size == before.st_size &&
				  after.st_mode == before.st_mode,
			  "%s: a reader changes nothing", rows[i].what);
		unlink("bad-journal");
		unlink("other");
	}
}

Test(store_hostile, a_cut_file_is_damaged)
{
	struct stat st;

	cr_assert_eq(stat("good", &st), 0);
	for (off_t size = 0; size < st.st_size; size += 1024) {
		struct model *m = NULL;
		int err;

		copy_good("bad");
		cr_assert_eq(truncate("bad", size), 0);
		err = store_read("bad", &m);
		cr_expect(err == -EBADMSG || (size < 100 && err == -EINVAL), "%ld bytes: %d",
			  (long)size, err);
		model_free(m);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return hash_u64(*state);
}

Test(store_hostile, flipped_bytes_never_crash_the_reader)
{
	uint64_t seed = 42;
	struct stat st;
	int fd, bad = 0;

	cr_assert_eq(stat("good", &st), 0);
	for (int i = 0; i < 400; i++) {
		struct model *m = NULL;

		if (i % 8 == 0)
			copy_good("bad");
		fd = open("bad", O_WRONLY);
		cr_assert(fd >= 0);
		for (int k = 0; k < 4; k++) {
			uint8_t byte = (uint8_t)next_random(&seed);
			off_t at = (off_t)(next_random(&seed) % (uint64_t)st.st_size);

			cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		}
		close(fd);
		bad += store_read("bad", &m) != 0;
		model_free(m);
	}
	cr_assert(bad > 0 && bad < 400, "%d of 400 refused", bad);
}
