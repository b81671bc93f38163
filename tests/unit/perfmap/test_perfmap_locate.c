/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfmap/maps/locate.h"

#define TGID 4711
#define MAP  "/root/tmp/perf-7.map"
#define LINE "0x7f0000001000 40 void [a] X::A()\n"

/* A process as /proc shows it, below a directory of our own. */
struct fake {
	char proc[64];
	char dir[96]; /* proc/TGID */
	int fd;
};

static const char *path_of(const struct fake *f, const char *path)
{
	static char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", f->dir, path);
	return whole;
}

static void put_file(const struct fake *f, const char *path, const char *bytes, size_t len)
{
	int fd = open(path_of(f, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void put_status(const struct fake *f, unsigned int euid, const char *ns_pids)
{
	char status[512];

	snprintf(status, sizeof(status),
		 "Name:\tdotnet\nTgid:\t%d\nUid:\t99\t%u\t98\t97\nGid:\t0\t0\t0\t0\n"
		 "Groups:\t1 2 3 \n%s%s%sVmPeak:\t 1 kB\n",
		 TGID, euid, ns_pids ? "NStgid:\t" : "", ns_pids ? ns_pids : "",
		 ns_pids ? "\n" : "");
	put_file(f, "/status", status, strlen(status));
}

static struct fake fake_new(void)
{
	struct fake f = {.proc = "/tmp/hotrun-test-XXXXXX"};

	cr_assert(mkdtemp(f.proc));
	snprintf(f.dir, sizeof(f.dir), "%s/%d", f.proc, TGID);
	cr_assert_eq(mkdir(f.dir, 0755), 0);
	cr_assert_eq(mkdir(path_of(&f, "/root"), 0755), 0);
	cr_assert_eq(mkdir(path_of(&f, "/root/tmp"), 0755), 0);
	cr_assert_eq(mkdir(path_of(&f, "/cwd"), 0755), 0);
	put_status(&f, geteuid(), "4711\t52\t7");
	put_file(&f, "/environ", "", 0);
	f.fd = perfmap_process_open(f.proc, TGID);
	cr_assert_geq(f.fd, 0);
	return f;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void fake_free(struct fake *f)
{
	close(f->fd);
	nftw(f->proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* As whoever looks at a process does: its environment is taken apart apart from the rest. */
static int read_all(const struct fake *f, struct perfmap_target *ret_target)
{
	static char bytes[PERFMAP_ENVIRONMENT_BYTES_MAX];
	int fd = openat(f->fd, "environ", O_RDONLY), err = perfmap_target_read(f->fd, ret_target);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

	if (fd >= 0)
		close(fd);
	if (!err && n >= 0) {
		bytes[n] = '\0';
		perfmap_environment_parse(bytes, (size_t)n, &ret_target->env);
	}
	return err;
}

/* What perfmap_locate() says; the file is closed, its path in ret_path. */
static int locate(const struct fake *f, uint64_t started_wall_ns, char *ret_path, char *ret_line)
{
	static struct perfmap_target target;
	static struct perfmap_file file;
	ssize_t n;
	int err = read_all(f, &target);

	cr_assert_eq(err, 0);
	err = perfmap_locate(f->fd, &target, started_wall_ns, &file);
	if (err)
		return err;
	strcpy(ret_path, file.path);
	n = read(file.fd, ret_line, 255);
	cr_assert_geq(n, 0);
	ret_line[n] = 0;
	close(file.fd);
	return 0;
}

static struct perfmap_target read_target(const struct fake *f)
{
	static struct perfmap_target target;

	memset(&target, 0, sizeof(target));
	cr_assert_eq(read_all(f, &target), 0);
	return target;
}

Test(perfmap_locate, reads_the_innermost_pid_and_effective_user)
{
	struct fake f = fake_new();

	put_status(&f, 1234, "4711\t52\t7");
	cr_expect_eq(read_target(&f).ns_pid, 7);
	cr_expect_eq(read_target(&f).euid, 1234);
	put_status(&f, 0, "4711");
	cr_expect_eq(read_target(&f).ns_pid, 4711);
	put_status(&f, 0, NULL);
	cr_expect_eq(read_target(&f).ns_pid, TGID, "a kernel without NStgid");
	fake_free(&f);
}

Test(perfmap_locate, refuses_a_status_that_makes_no_sense)
{
	static const char *const rows[] = {"", "Name:\tx\n", "Name:\tx\nUid:\t1\nNStgid:\t7\n",
					   "Name:\tx\nUid:\t1\t2\t3\t4\nNStgid:\t\n",
					   "Name:\tx\nUid:\ta\tb\nNStgid:\t7\n"};
	static struct perfmap_target target;
	struct fake f = fake_new();
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_file(&f, "/status", rows[i], strlen(rows[i]));
		cr_expect_eq(perfmap_target_read(f.fd, &target), -EBADMSG, "%zu", i);
	}
	fake_free(&f);
}

Test(perfmap_locate, reads_what_the_environment_says)
{
#define ENV(s) (s), sizeof(s) - 1
	static const struct {
		const char *environ;
		size_t len;
		enum perfmap_enabled enabled;
		const char *dump_dir, *temp_dir;
	} rows[] = {
		{ENV(""), PERFMAP_ENABLED_UNSET, "", ""},
		{ENV("A=B\0DOTNET_PerfMapEnabled=3\0C=D\0"), PERFMAP_ENABLED_ON, "", ""},
		{ENV("DOTNET_PerfMapEnabled=1\0"), PERFMAP_ENABLED_ON, "", ""},
		{ENV("DOTNET_PerfMapEnabled=0\0"), PERFMAP_ENABLED_OFF, "", ""},
		{ENV("DOTNET_PerfMapEnabled=2\0"), PERFMAP_ENABLED_OFF, "", ""},
		{ENV("COMPlus_PerfMapEnabled=1"), PERFMAP_ENABLED_ON, "", ""},
		{ENV("COMPlus_PerfMapEnabled=1\0DOTNET_PerfMapEnabled=0\0"), PERFMAP_ENABLED_OFF,
		 "", ""},
		{ENV("XDOTNET_PerfMapEnabled=1\0DOTNET_PerfMapEnabledX=1\0"), PERFMAP_ENABLED_UNSET,
		 "", ""},
		{ENV("TMPDIR=/t\0DOTNET_PerfMapJitDumpPath=/d\0"), PERFMAP_ENABLED_UNSET, "/d",
		 "/t"},
		{ENV("COMPlus_PerfMapJitDumpPath=/c\0"), PERFMAP_ENABLED_UNSET, "/c", ""},
		{ENV("COMPlus_PerfMapJitDumpPath=/c\0DOTNET_PerfMapJitDumpPath=/d\0"),
		 PERFMAP_ENABLED_UNSET, "/d", ""},
		{ENV("TMPDIR=/first\0TMPDIR=/second\0"), PERFMAP_ENABLED_UNSET, "", "/first"},
		{ENV("DOTNET_PerfMapEnabled\0TMPDIR"), PERFMAP_ENABLED_UNSET, "", ""},
	};
	struct fake f = fake_new();
	char *large = malloc(100000);
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct perfmap_target t;

		put_file(&f, "/environ", rows[i].environ, rows[i].len);
		t = read_target(&f);
		cr_expect_eq(t.env.enabled, rows[i].enabled, "%zu", i);
		cr_expect_str_eq(t.env.dump_dir, rows[i].dump_dir, "%zu", i);
		cr_expect_str_eq(t.env.temp_dir, rows[i].temp_dir, "%zu", i);
	}
	/* A path longer than any path can be, and a variable behind it. */
	memset(large, 'x', 100000);
	memcpy(large, "TMPDIR=", 7);
	memcpy(large + 90000, "\0DOTNET_PerfMapEnabled=3", 25);
	put_file(&f, "/environ", large, 100000);
	cr_expect_eq(read_target(&f).env.enabled, PERFMAP_ENABLED_ON);
	cr_expect_str_eq(read_target(&f).env.temp_dir, "");
	unlink(path_of(&f, "/environ"));
	cr_expect_eq(read_target(&f).env.enabled, PERFMAP_ENABLED_UNKNOWN);
	free(large);
	fake_free(&f);
}

Test(perfmap_locate, opens_the_map_where_the_runtime_put_it)
{
	static const struct {
		const char *what;
		const char *environ;
		size_t environ_len;
		const char *file, *path;
	} rows[] = {
		{"default", ENV(""), MAP, "/tmp/perf-7.map"},
		{"dump path", ENV("DOTNET_PerfMapJitDumpPath=/data\0"), "/root/data/perf-7.map",
		 "/data/perf-7.map"},
		{"dump path with slash", ENV("DOTNET_PerfMapJitDumpPath=/data/\0"),
		 "/root/data/perf-7.map", "/data/perf-7.map"},
		{"temporary directory", ENV("TMPDIR=/data\0"), "/root/data/perf-7.map",
		 "/data/perf-7.map"},
		{"dump path unused", ENV("DOTNET_PerfMapJitDumpPath=/data\0"), MAP,
		 "/tmp/perf-7.map"},
		{"relative", ENV("DOTNET_PerfMapJitDumpPath=logs\0"), "/cwd/logs/perf-7.map",
		 "logs/perf-7.map"},
	};
	char path[8192], line[256];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake f = fake_new();

		mkdir(path_of(&f, "/root/data"), 0755);
		mkdir(path_of(&f, "/cwd/logs"), 0755);
		put_file(&f, "/environ", rows[i].environ, rows[i].environ_len);
		cr_expect_eq(locate(&f, 0, path, line), -ENOENT, "%s", rows[i].what);
		put_file(&f, rows[i].file, LINE, strlen(LINE));
		cr_assert_eq(locate(&f, 0, path, line), 0, "%s", rows[i].what);
		cr_expect_str_eq(path, rows[i].path, "%s", rows[i].what);
		cr_expect_str_eq(line, LINE, "%s", rows[i].what);
		fake_free(&f);
	}
}

Test(perfmap_locate, refuses_what_is_no_plain_file)
{
	char path[8192], line[256];
	struct fake f = fake_new();

	put_file(&f, "/root/tmp/other", LINE, strlen(LINE));
	cr_assert_eq(symlink("other", path_of(&f, MAP)), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ELOOP, "link");
	unlink(path_of(&f, MAP));
	cr_assert_eq(mkfifo(path_of(&f, MAP), 0644), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ENOTSUP, "FIFO");
	unlink(path_of(&f, MAP));
	cr_assert_eq(mkdir(path_of(&f, MAP), 0755), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ENOTSUP, "directory");
	fake_free(&f);
}

Test(perfmap_locate, never_leaves_the_root_of_the_process)
{
	char path[8192], line[256], outside[160], environ[256];
	struct fake f = fake_new();
	int n;

	/* Outside of root/: what a link or ".." would have to reach. */
	put_file(&f, "/perf-7.map", "secret\n", 7);
	rmdir(path_of(&f, "/root/tmp"));
	cr_assert_eq(symlink("..", path_of(&f, "/root/tmp")), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ENOENT, "link to ..");
	unlink(path_of(&f, "/root/tmp"));
	snprintf(outside, sizeof(outside), "%s", f.dir);
	cr_assert_eq(symlink(outside, path_of(&f, "/root/tmp")), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ELOOP, "absolute link: leads to itself inside");
	unlink(path_of(&f, "/root/tmp"));
	n = snprintf(environ, sizeof(environ), "TMPDIR=/../../%d", TGID);
	put_file(&f, "/environ", environ, (size_t)n + 1);
	cr_expect_eq(locate(&f, 0, path, line), -ENOENT, "dots in TMPDIR");
	put_file(&f, "/environ", ENV("TMPDIR=..\0"));
	cr_expect_eq(locate(&f, 0, path, line), -ENOENT, "relative dots");
	put_file(&f, "/environ", ENV("TMPDIR=/proc/self/cwd\0"));
	cr_expect_eq(locate(&f, 0, path, line), -ENOENT, "a proc of its own");
	fake_free(&f);
}

Test(perfmap_locate, follows_links_to_directories_within_the_root)
{
	char path[8192], line[256];
	struct fake f = fake_new();

	rmdir(path_of(&f, "/root/tmp"));
	cr_assert_eq(mkdir(path_of(&f, "/root/private"), 0755), 0);
	cr_assert_eq(symlink("/private", path_of(&f, "/root/tmp")), 0);
	put_file(&f, "/root/private/perf-7.map", LINE, strlen(LINE));
	cr_assert_eq(locate(&f, 0, path, line), 0);
	cr_expect_str_eq(line, LINE);
	fake_free(&f);
}

Test(perfmap_locate, refuses_a_foreign_owner)
{
	char path[8192], line[256];
	struct fake f = fake_new();

	put_file(&f, MAP, LINE, strlen(LINE));
	put_status(&f, geteuid() + 1, "4711\t7");
	cr_expect_eq(locate(&f, 0, path, line), -EPERM);
	fake_free(&f);
}

Test(perfmap_locate, refuses_a_file_too_large_to_be_a_map)
{
	char path[8192], line[256];
	struct fake f = fake_new();

	put_file(&f, MAP, LINE, strlen(LINE));
	cr_assert_eq(truncate(path_of(&f, MAP), 10ll << 30), 0);
	cr_expect_eq(locate(&f, 0, path, line), -EFBIG);
	cr_assert_eq(truncate(path_of(&f, MAP), PERFMAP_FILE_BYTES_MAX), 0);
	cr_expect_eq(locate(&f, 0, path, line), 0);
	fake_free(&f);
}

Test(perfmap_locate, refuses_what_an_earlier_process_left)
{
	const uint64_t second = 1000000000ull, written = 1700000000ull * second;
	struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
	char path[8192], line[256];
	struct fake f = fake_new();

	put_file(&f, MAP, LINE, strlen(LINE));
	cr_assert_eq(utimensat(AT_FDCWD, path_of(&f, MAP), times, 0), 0);
	cr_expect_eq(locate(&f, written + second, path, line), -ESTALE);
	cr_expect_eq(locate(&f, written + PERFMAP_STALE_SLACK_NS, path, line), 0, "slack");
	cr_expect_eq(locate(&f, written - second, path, line), 0);
	cr_expect_eq(locate(&f, 0, path, line), 0, "start unknown");
	times[1].tv_sec = -5;
	cr_assert_eq(utimensat(AT_FDCWD, path_of(&f, MAP), times, 0), 0);
	cr_expect_eq(locate(&f, written, path, line), -ESTALE, "before 1970");
	fake_free(&f);
}

Test(perfmap_locate, tells_the_first_refusal_that_is_not_absence)
{
	char path[8192], line[256];
	struct fake f = fake_new();

	put_file(&f, "/environ", ENV("DOTNET_PerfMapJitDumpPath=/gone\0TMPDIR=/none\0"));
	cr_assert_eq(mkfifo(path_of(&f, MAP), 0644), 0);
	cr_expect_eq(locate(&f, 0, path, line), -ENOTSUP);
	fake_free(&f);
}

Test(perfmap_locate, tells_that_the_process_is_gone)
{
	static struct perfmap_target target = {.ns_pid = 7};
	static struct perfmap_file file;
	struct fake f = fake_new();

	cr_expect_eq(perfmap_process_open(f.proc, 4712), -ESRCH);
	unlink(path_of(&f, "/status"));
	cr_expect_eq(perfmap_target_read(f.fd, &target), -ESRCH);
	rmdir(path_of(&f, "/root/tmp"));
	rmdir(path_of(&f, "/root"));
	cr_expect_eq(perfmap_locate(f.fd, &target, 0, &file), -ESRCH);
	fake_free(&f);
}

Test(perfmap_locate, tells_denied_from_absent)
{
	char path[8192], line[256];
	struct fake f = fake_new();
	bool root = geteuid() == 0;

	/* Root may read everything: so as nobody, for a moment. */
	put_file(&f, MAP, LINE, strlen(LINE));
	chmod(path_of(&f, MAP), 0);
	if (root) {
		chmod(f.proc, 0755);
		cr_assert_eq(chown(path_of(&f, MAP), 65534, 65534), 0);
		put_status(&f, 65534, "4711\t7");
		cr_assert_eq(setegid(65534), 0);
		cr_assert_eq(seteuid(65534), 0);
	}
	cr_expect_eq(locate(&f, 0, path, line), -EACCES);
	if (root)
		cr_assert_eq(seteuid(0), 0);
	fake_free(&f);
}

Test(perfmap_locate, reads_this_very_process)
{
	int fd = perfmap_process_open("/proc", (uint32_t)getpid());
	static struct perfmap_target target;

	cr_assert_geq(fd, 0);
	cr_assert_eq(perfmap_target_read(fd, &target), 0);
	cr_expect_eq(target.euid, geteuid());
	cr_expect_gt(target.ns_pid, 0);
	close(fd);
}

Test(perfmap_locate, a_kept_directory_leads_to_the_map_of_a_process_that_is_gone)
{
	static struct perfmap_target target;
	static struct perfmap_file file;
	struct fake f = fake_new();
	int tmp, dump;

	put_file(&f, "/environ", ENV("DOTNET_PerfMapJitDumpPath=/data\0TMPDIR=/tmp\0"));
	target = read_target(&f);
	cr_expect_eq(perfmap_directory(f.fd, &target, 0), -ENOENT, "not made yet");
	cr_assert_eq(mkdir(path_of(&f, "/root/data"), 0755), 0);
	dump = perfmap_directory(f.fd, &target, 0);
	tmp = perfmap_directory(f.fd, &target, 1);
	cr_assert(dump >= 0 && tmp >= 0);
	cr_expect_eq(perfmap_directory(f.fd, &target, 2), -ENOENT, "/tmp is the second already");
	cr_expect_eq(perfmap_directory(f.fd, &target, PERFMAP_DIRECTORIES), -ENOENT);
	cr_expect_eq(perfmap_locate_in(tmp, &target, 0, &file), -ENOENT);
	put_file(&f, "/root/data/perf-7.map", "1 2 f\n", 6);
	cr_expect_eq(perfmap_locate_in(dump, &target, 0, &file), 0);
	close(file.fd);
	target.euid++;
	cr_expect_eq(perfmap_locate_in(dump, &target, 0, &file), -EPERM);
	target.euid--;
	cr_assert_eq(unlink(path_of(&f, "/root/data/perf-7.map")), 0);
	cr_assert_eq(symlink("../tmp/x", path_of(&f, "/root/data/perf-7.map")), 0);
	cr_expect_eq(perfmap_locate_in(dump, &target, 0, &file), -ELOOP);
	close(tmp);
	close(dump);
	fake_free(&f);
}
