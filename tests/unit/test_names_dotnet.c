/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .NET processes as they look from outside, and what becomes of asking them: a /proc in a temporary
 * folder, a runtime played by a thread. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names/dotnet_ask.h"
#include "names_support.h"

#define LOOK_NS	  300000000ull
#define ANSWER_NS 100000000ull
#define START	  100ull
#define MAP_NAME  "perf-7.map"
#define SOCKET	  "dotnet-diagnostic-7-100-socket"
#define MAP_TEXT  "0x7f0000001000 40 void [a] A::B()[QuickJitted]\n0x7f0000002000 80 stub X<Y>\n"
#define MAPS                                                                    \
	"7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "                      \
	"/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.1/libcoreclr.so\n" \
	"7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n"

static struct fake_proc proc;
static struct asker asker;
static uint32_t tgid;

static const char *below(const char *name)
{
	return fake_path(&proc, "%u/%s", tgid, name);
}

static void put_text(const char *name, const char *text)
{
	char path[600];

	snprintf(path, sizeof(path), "%u/%s", tgid, name);
	fake_text(&proc, path, text);
}

/* A .NET process with the test's own pid, since it is the test that listens. */
static void begin(const char *maps)
{
	struct fake_process p = {
		.start_ticks = START, .comm = "app", .exe = "/no/such", .maps = maps};

	tgid = p.tgid = (uint32_t)getpid();
	fake_proc_make(&proc);
	fake_process(&proc, &p);
	cr_assert_eq(mkdir(below("root/tmp"), 0777), 0);
	cr_assert_eq(mkdir(below("fd"), 0777), 0);
	cr_assert_eq(asker_init(&asker, proc.path, LOOK_NS), 0);
}

static void end(void)
{
	asker_clear(&asker);
	fake_proc_remove(&proc);
}

/* The runtime has the file at target open as long as this link is there. */
static void hold_open(const char *target)
{
	char copy[600];

	snprintf(copy, sizeof(copy), "%s", target);
	cr_assert_eq(symlink(copy, below("fd/9")), 0);
}

static struct dotnet_process look(void)
{
	struct dotnet_list list = {0};
	struct dotnet_process p;
	int err = dotnet_read(&asker, tgid, &list);

	cr_assert_eq(err, 0, "%d", err);
	cr_assert_eq(list.cnt, 1);
	p = list.rows[0];
	dotnet_clear(&list);
	return p;
}

/* --- looking ----------------------------------------------------------------------------------- */

Test(dotnet, a_process_is_found_by_what_it_maps)
{
	static const struct {
		const char *name, *maps;
		int err;
		enum dotnet_found found;
		const char *version;
		bool musl;
	} cases[] = {
		{"library", MAPS, 0, DOTNET_BY_LIBRARY, "10.0.1", false},
		{"self-contained",
		 "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /app/libcoreclr.so\n", 0,
		 DOTNET_BY_LIBRARY, "", false},
		{"JIT memory alone",
		 "7f0000100000-7f0000110000 r-xs 00000000 00:01 9 /memfd:doublemapper (deleted)\n",
		 0, DOTNET_BY_DOUBLEMAPPER, "", false},
		{"musl",
		 MAPS "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /lib/ld-musl-x86_64.so.1\n",
		 0, DOTNET_BY_LIBRARY, "10.0.1", true},
		{"none", "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 /lib/libc.so.6\n",
		 -ENOENT, 0, "", false},
		{"a path that says it",
		 "7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "
		 "/Microsoft.NETCore.App/../libcoreclr.so\n",
		 0, DOTNET_BY_LIBRARY, "", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_list list = {0};
		int err;

		begin(cases[i].maps);
		err = dotnet_read(&asker, tgid, &list);
		cr_expect_eq(err, cases[i].err, "%s: %d", cases[i].name, err);
		if (!err) {
			cr_expect_eq(list.rows[0].found, cases[i].found, "%s", cases[i].name);
			cr_expect_str_eq(list.rows[0].version, cases[i].version, "%s",
					 cases[i].name);
			cr_expect_eq(list.rows[0].musl, cases[i].musl, "%s", cases[i].name);
			cr_expect_eq(list.rows[0].ns_pid, 7);
			cr_expect_eq(list.rows[0].start_ticks, START);
		}
		dotnet_clear(&list);
		end();
	}
}

Test(dotnet, all_processes_are_listed_by_pid)
{
	struct fake_process others[] = {
		{.tgid = 4000001, .start_ticks = 5, .comm = "a", .exe = "/a", .maps = MAPS},
		{.tgid = 4000000, .start_ticks = 5, .comm = "b", .exe = "/b", .maps = MAPS},
		{.tgid = 3999999, .start_ticks = 5, .comm = "c", .exe = "/c", .maps = ""},
	};
	struct dotnet_list list = {0};

	begin(MAPS);
	for (size_t i = 0; i < 3; i++)
		fake_process(&proc, &others[i]);
	cr_assert_eq(dotnet_read(&asker, 0, &list), 0);
	cr_assert_eq(list.cnt, 3);
	cr_expect_eq(list.rows[0].tgid, tgid);
	cr_expect_eq(list.rows[1].tgid, 4000000);
	cr_expect_str_eq(list.rows[2].name, "a");
	dotnet_clear(&list);
	cr_expect_eq(dotnet_read(&asker, 4100000, &list), -ESRCH);
	end();
}

Test(dotnet, another_profiler_is_told)
{
	static const struct {
		const char *name, *maps, *environ, *profiler;
	} cases[] = {
		{"named and loaded",
		 MAPS "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/x/libtrace.so\n",
		 "CORECLR_ENABLE_PROFILING=1\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n",
		 "libtrace.so"},
		{"named, not loaded", MAPS,
		 "CORECLR_ENABLE_PROFILING=1\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n", ""},
		{"named, switched off",
		 MAPS "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/x/libtrace.so\n",
		 "CORECLR_ENABLE_PROFILING=0\nCORECLR_PROFILER_PATH=/opt/x/libtrace.so\n", ""},
		{"attached later",
		 MAPS
		 "7f0000200000-7f0000210000 r-xp 00000000 08:01 7 /opt/libMonitorProfiler.so\n",
		 "", "libMonitorProfiler.so"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char environ[256], name[64];

		begin(cases[i].maps);
		snprintf(environ, sizeof(environ), "%s", cases[i].environ);
		for (char *at = environ; *at; at++)
			*at = *at == '\n' ? '\0' : *at;
		snprintf(name, sizeof(name), "%u/environ", tgid);
		fake_file(&proc, name, environ, strlen(cases[i].environ));
		cr_expect_str_eq(look().profiler, cases[i].profiler, "%s", cases[i].name);
		end();
	}
}

Test(dotnet, a_map_has_the_state_of_its_file_and_of_who_holds_it)
{
	static const struct {
		const char *name, *environ;
		bool file, open, deleted;
		enum dotnet_map map;
	} cases[] = {
		{"none", "", false, false, false, DOTNET_MAP_ABSENT},
		{"none although asked for", "DOTNET_PerfMapEnabled=1", false, false, false,
		 DOTNET_MAP_UNWRITABLE},
		{"since start", "DOTNET_PerfMapEnabled=3", true, true, false,
		 DOTNET_MAP_SINCE_START},
		{"switched on", "", true, true, false, DOTNET_MAP_SWITCHED_ON},
		{"switched off", "", true, false, false, DOTNET_MAP_SWITCHED_OFF},
		{"since start, switched off", "DOTNET_PerfMapEnabled=1", true, false, false,
		 DOTNET_MAP_SWITCHED_OFF},
		{"deleted", "", false, true, true, DOTNET_MAP_DELETED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_process p;

		begin(MAPS);
		put_text("environ", cases[i].environ);
		if (cases[i].file)
			put_text("root/tmp/" MAP_NAME, MAP_TEXT);
		if (cases[i].deleted) {
			/* The kernel's text of such a link, and a file behind it. */
			put_text(MAP_NAME " (deleted)", MAP_TEXT);
			hold_open(below(MAP_NAME " (deleted)"));
		} else if (cases[i].open) {
			hold_open(below("root/tmp/" MAP_NAME));
		}
		p = look();
		cr_expect_eq(p.map, cases[i].map, "%s: %s", cases[i].name, dotnet_map_text(p.map));
		cr_expect_str_eq(p.map_path, "/tmp/" MAP_NAME);
		if (cases[i].file) {
			cr_expect_eq(p.map_entries, 2);
			cr_expect_eq(p.map_methods, 1);
			cr_expect_eq(p.map_bytes, strlen(MAP_TEXT));
		}
		end();
	}
}

Test(dotnet, a_list_ends_when_somebody_asks_for_it)
{
	volatile sig_atomic_t stop = 1;
	struct dotnet_list list = {0};

	begin(MAPS);
	asker.stop = &stop;
	cr_expect_eq(dotnet_read(&asker, 0, &list), -EINTR);
	cr_expect_eq(dotnet_read(&asker, tgid, &list), 0, "one is looked at");
	dotnet_clear(&list);
	end();
}

/* Sparse files cost nothing: whoever plants many must not make a list take minutes. */
Test(dotnet, large_maps_of_many_are_counted_up_to_a_bound)
{
	const uint64_t map_bytes = 64ull << 20;
	const size_t counted = DOTNET_COUNTED_BYTES_MAX / map_bytes, cnt = counted + 2;
	struct dotnet_list list = {0};
	size_t with_entries = 0, cut = 0;
	char name[64];

	begin(MAPS);
	for (size_t i = 0; i < cnt; i++) {
		struct fake_process p = {.tgid = (uint32_t)(4100000 + i),
					 .start_ticks = START,
					 .comm = "a",
					 .exe = "/a",
					 .maps = MAPS};

		fake_process(&proc, &p);
		cr_assert_eq(mkdir(fake_path(&proc, "%u/root/tmp", p.tgid), 0777), 0);
		snprintf(name, sizeof(name), "%u/root/tmp/" MAP_NAME, p.tgid);
		fake_text(&proc, name, MAP_TEXT);
		cr_assert_eq(truncate(fake_path(&proc, "%s", name), (off_t)map_bytes), 0);
	}
	cr_assert_eq(dotnet_read(&asker, 0, &list), 0);
	cr_assert_eq(list.cnt, cnt + 1);
	for (size_t i = 1; i < list.cnt; i++) {
		with_entries += list.rows[i].map_entries > 0;
		cut += list.rows[i].map_cut;
		cr_expect_eq(list.rows[i].map_bytes, map_bytes);
	}
	cr_expect_eq(with_entries, counted, "%zu", with_entries);
	cr_expect_eq(cut, cnt, "%zu", cut);
	dotnet_clear(&list);
	end();
}

/* What lies at the path of the map, and what the runtime would do to it. */
static void put_link(void)
{
	cr_assert_eq(symlink("/etc/passwd", below("root/tmp/" MAP_NAME)), 0);
}
static void put_fifo(void)
{
	cr_assert_eq(mkfifo(below("root/tmp/" MAP_NAME), 0666), 0);
}
static void put_folder(void)
{
	cr_assert_eq(mkdir(below("root/tmp/" MAP_NAME), 0777), 0);
}
static void put_hard_link(void)
{
	char other[600];

	put_text("root/tmp/" MAP_NAME, MAP_TEXT);
	snprintf(other, sizeof(other), "%s", below("root/tmp/other"));
	cr_assert_eq(link(below("root/tmp/" MAP_NAME), other), 0);
}
static void put_foreign(void)
{
	char status[256];

	put_text("root/tmp/" MAP_NAME, MAP_TEXT);
	snprintf(status, sizeof(status), "Name:\tx\nPid:\t1\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t1\t7\n",
		 geteuid() + 1, geteuid() + 1, geteuid() + 1, geteuid() + 1);
	put_text("status", status);
}
static void take_folder(void)
{
	cr_assert_eq(rmdir(below("root/tmp")), 0);
}
static void close_folder(void)
{
	char status[512];

	/* Another user without capabilities, and a folder that is its owner's alone. */
	snprintf(status, sizeof(status),
		 "Name:\tx\nPid:\t1\nUid:\t%u\t%u\t%u\t%u\nGid:\t9\t9\t9\t9\nGroups:\t9 10 \n"
		 "NSpid:\t1\t7\nCapEff:\t0000000000000000\n",
		 geteuid() + 1, geteuid() + 1, geteuid() + 1, geteuid() + 1);
	put_text("status", status);
	cr_assert_eq(chmod(below("root/tmp"), 0755), 0);
}
static void put_own(void)
{
	put_text("root/tmp/" MAP_NAME, MAP_TEXT);
}
static void put_nothing(void)
{
}

Test(dotnet, it_is_told_what_keeps_a_map_from_being_asked_for)
{
	static const struct {
		const char *name;
		void (*put)(void);
		int refusal;
	} cases[] = {
		{"nothing there", put_nothing, 0},
		{"its own file", put_own, 0},
		{"a link", put_link, -ELOOP},
		{"a FIFO", put_fifo, -ENOTSUP},
		{"a folder", put_folder, -ENOTSUP},
		{"a hard link", put_hard_link, -EMLINK},
		{"another user's", put_foreign, -EPERM},
		{"no folder", take_folder, -ENOENT},
		{"a closed folder", close_folder, -EACCES},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int refusal;

		begin(MAPS);
		cases[i].put();
		refusal = look().map_refusal;
		cr_expect_eq(refusal, cases[i].refusal, "%s: %d", cases[i].name, refusal);
		end();
	}
}

/* --- asking ------------------------------------------------------------------------------------ */

enum manner { GOOD, WRITES_NOTHING, REFUSES, SILENT, GARBAGE, HANGS_UP, GOES_ON };

struct runtime {
	enum manner manner;
	int fd;
	unsigned int enables, disables;
	pthread_t thread;
};

static void obey(struct runtime *r, uint8_t id)
{
	if (id == 5) {
		r->enables++;
		if (r->manner == WRITES_NOTHING)
			return;
		unlink(below("fd/9"));
		put_text("root/tmp/" MAP_NAME, MAP_TEXT);
		hold_open(below("root/tmp/" MAP_NAME));
	} else if (id == 6) {
		r->disables++;
		if (r->manner != GOES_ON)
			unlink(below("fd/9"));
	}
}

static void *play(void *arg)
{
	static const char yes[] = "DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
	static const char no[] = "DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
	struct runtime *r = arg;
	uint8_t request[64];
	int fd, held = -1;

	while ((fd = accept(r->fd, NULL, NULL)) >= 0) {
		if (recv(fd, request, sizeof(request), 0) < 20) {
			close(fd);
			continue;
		}
		if (r->manner == SILENT) {
			held = fd;
			continue;
		}
		if (r->manner == GARBAGE)
			send(fd, "HTTP/1.1 400 Bad Request", 24, MSG_NOSIGNAL);
		else if (r->manner == REFUSES)
			send(fd, no, 24, MSG_NOSIGNAL);
		else if (r->manner != HANGS_UP) {
			obey(r, request[17]);
			send(fd, yes, 24, MSG_NOSIGNAL);
		}
		close(fd);
	}
	if (held >= 0)
		close(held);
	return NULL;
}

/* Binds in a folder below the process's root, however long its path is. */
static int listen_in(const char *folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int dir = open(below(folder), O_PATH | O_DIRECTORY), fd = socket(AF_UNIX, SOCK_STREAM, 0);

	cr_assert_geq(dir, 0);
	cr_assert_lt(snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
			      dir, name),
		     (int)sizeof(address.sun_path));
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 8), 0);
	close(dir);
	return fd;
}

/* The socket's time is the runtime's age: long ago. */
static void make_old(const char *path)
{
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void runtime_start(struct runtime *r, enum manner manner)
{
	*r = (struct runtime){.manner = manner, .fd = listen_in("root/tmp", SOCKET)};
	make_old(below("root/tmp/" SOCKET));
	pthread_create(&r->thread, NULL, play, r);
}

static void runtime_end(struct runtime *r)
{
	shutdown(r->fd, SHUT_RDWR);
	pthread_join(r->thread, NULL);
	close(r->fd);
}

static struct dotnet_switch enable(void)
{
	struct dotnet_switch s;

	dotnet_enable(&asker, tgid, 0, ANSWER_NS, &s);
	return s;
}

Test(dotnet, maps_are_switched_on_and_off_and_verified)
{
	struct runtime r;
	struct dotnet_switch s;
	char text[1024];

	begin(MAPS);
	runtime_start(&r, GOOD);
	s = enable();
	dotnet_switch_text(&s, text, sizeof(text));
	cr_expect_eq(s.outcome, DOTNET_DONE, "%s", text);
	cr_expect_not_null(strstr(text, "/tmp/" MAP_NAME ", "), "%s", text);
	cr_expect_gt(s.round_trip_ns, 0);
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_ALREADY);
	cr_expect_eq(r.enables, 1, "a second request would repeat everything");
	dotnet_disable(&asker, tgid, START, ANSWER_NS, &s);
	cr_expect_eq(s.outcome, DOTNET_DONE);
	cr_expect_eq(s.process.map, DOTNET_MAP_SWITCHED_OFF);
	dotnet_disable(&asker, tgid, START, ANSWER_NS, &s);
	cr_expect_eq(s.outcome, DOTNET_ALREADY);
	cr_expect_eq(r.disables, 1);
	dotnet_disable(&asker, tgid, START + 1, ANSWER_NS, &s);
	cr_expect_eq(s.outcome, DOTNET_GONE, "another process of that pid is not meant");
	runtime_end(&r);
	end();
}

Test(dotnet, a_deleted_map_is_begun_anew)
{
	struct runtime r;

	begin(MAPS);
	put_text(MAP_NAME " (deleted)", MAP_TEXT);
	hold_open(below(MAP_NAME " (deleted)"));
	runtime_start(&r, GOOD);
	cr_expect_eq(enable().outcome, DOTNET_DONE);
	cr_expect_eq(r.disables, 1);
	cr_expect_eq(r.enables, 1);
	runtime_end(&r);
	end();
}

Test(dotnet, runtimes_that_misbehave_are_told)
{
	static const struct {
		enum manner manner;
		enum dotnet_outcome outcome;
		bool may_be_on;
		const char *words;
	} cases[] = {
		{WRITES_NOTHING, DOTNET_NO_FILE, true, "said OK but writes no file"},
		{REFUSES, DOTNET_SAYS_NO, false, "older than .NET 8"},
		{SILENT, DOTNET_SILENT, true, "no answer"},
		{GARBAGE, DOTNET_GARBAGE, true, "no .NET runtime"},
		{HANGS_UP, DOTNET_HUNG_UP, true, "closed without an answer"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dotnet_switch s;
		struct runtime r;
		char text[1024];

		begin(MAPS);
		runtime_start(&r, cases[i].manner);
		s = enable();
		dotnet_switch_text(&s, text, sizeof(text));
		cr_expect_eq(s.outcome, cases[i].outcome, "%s: %s", cases[i].words, text);
		cr_expect_not_null(strstr(text, cases[i].words), "%s", text);
		cr_expect_eq(s.may_be_on, cases[i].may_be_on, "%s", text);
		runtime_end(&r);
		end();
	}
}

Test(dotnet, a_runtime_that_does_not_stop_is_told)
{
	struct dotnet_switch s;
	struct runtime r;

	begin(MAPS);
	put_text("root/tmp/" MAP_NAME, MAP_TEXT);
	hold_open(below("root/tmp/" MAP_NAME));
	runtime_start(&r, GOES_ON);
	dotnet_disable(&asker, tgid, 0, ANSWER_NS, &s);
	cr_expect_eq(s.outcome, DOTNET_GOES_ON);
	runtime_end(&r);
	end();
}

Test(dotnet, what_would_do_harm_is_not_asked)
{
	static void (*const puts[])(void) = {put_link, put_fifo, put_folder, put_hard_link,
					     take_folder};

	for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
		struct dotnet_switch s;
		struct runtime r;

		begin(MAPS);
		if (puts[i] != take_folder)
			runtime_start(&r, GOOD);
		puts[i]();
		s = enable();
		cr_expect_eq(s.outcome, DOTNET_PATH, "%zu: %d", i, s.outcome);
		cr_expect_eq(s.round_trip_ns, 0);
		cr_expect_not(s.may_be_on);
		if (puts[i] != take_folder) {
			runtime_end(&r);
			cr_expect_eq(r.enables, 0);
		}
		end();
	}
}

Test(dotnet, a_young_runtime_is_not_asked)
{
	struct runtime r;

	begin(MAPS);
	runtime_start(&r, GOOD);
	cr_assert_eq(utimensat(AT_FDCWD, below("root/tmp/" SOCKET), NULL, 0), 0);
	cr_expect_eq(enable().outcome, DOTNET_TOO_YOUNG, "its socket is new");
	runtime_end(&r);
	cr_expect_eq(r.enables, 0);
	end();
}

Test(dotnet, sockets_that_are_not_its_own_are_refused)
{
	struct dotnet_switch s;
	int fd;

	begin(MAPS);
	cr_expect_eq(enable().outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(look().socket, DOTNET_SOCKET_ABSENT);

	fd = listen_in("root/tmp", "dotnet-diagnostic-7-99-socket");
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(s.process.socket, DOTNET_SOCKET_STALE);
	close(fd);

	put_text("root/tmp/" SOCKET, "no socket");
	cr_expect_eq(look().socket, DOTNET_SOCKET_UNSAFE);
	cr_assert_eq(unlink(below("root/tmp/" SOCKET)), 0);
	cr_assert_eq(symlink("dotnet-diagnostic-7-99-socket", below("root/tmp/" SOCKET)), 0);
	cr_expect_eq(look().socket, DOTNET_SOCKET_UNSAFE, "a link to a socket");
	cr_assert_eq(unlink(below("root/tmp/" SOCKET)), 0);

	/* Left by one that was killed: nobody listens. */
	close(listen_in("root/tmp", SOCKET));
	make_old(below("root/tmp/" SOCKET));
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(s.error, -ECONNREFUSED);
	end();
}

/* Planted by another process of the same user: it listens where the runtime would. */
Test(dotnet, a_socket_on_which_another_process_listens_is_refused)
{
	struct dotnet_switch s;
	int ready[2];
	pid_t other;
	char c;

	begin(MAPS);
	cr_assert_eq(pipe(ready), 0);
	other = fork();
	if (!other) {
		listen_in("root/tmp", SOCKET);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	make_old(below("root/tmp/" SOCKET));
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_FOREIGN, "%d", s.outcome);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	end();
}

Test(dotnet, paths_longer_than_a_socket_address_are_no_matter)
{
	char folder[300], environ[320], name[600];
	struct runtime r = {.manner = GOOD};

	begin(MAPS);
	snprintf(folder, sizeof(folder), "/tmp/%0200d", 0);
	snprintf(environ, sizeof(environ), "TMPDIR=%s", folder);
	put_text("environ", environ);
	snprintf(name, sizeof(name), "root%s", folder);
	cr_assert_eq(mkdir(below(name), 0777), 0);
	r.fd = listen_in(name, SOCKET);
	snprintf(name, sizeof(name), "root%s/" SOCKET, folder);
	make_old(below(name));
	pthread_create(&r.thread, NULL, play, &r);
	cr_expect_eq(enable().outcome, DOTNET_DONE);
	runtime_end(&r);
	end();
}

Test(dotnet, a_runtime_before_8_is_not_asked)
{
	char text[1024];
	struct dotnet_switch s;

	begin("7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "
	      "/usr/share/dotnet/shared/Microsoft.NETCore.App/6.0.36/libcoreclr.so\n");
	s = enable();
	dotnet_switch_text(&s, text, sizeof(text));
	cr_expect_eq(s.outcome, DOTNET_TOO_OLD);
	cr_expect_not_null(strstr(text, ".NET 6"), "%s", text);
	end();
}
