/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of asking a .NET process: a runtime played by a thread. */
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

#include "fake_dotnet.h"

#define ANSWER_NS 100000000ull

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
		unlink(fake_dotnet_path("fd/9"));
		fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
		fake_dotnet_holds(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP));
	} else if (id == 6) {
		r->disables++;
		if (r->manner != GOES_ON)
			unlink(fake_dotnet_path("fd/9"));
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
	int dir = open(fake_dotnet_path(folder), O_PATH | O_DIRECTORY),
	    fd = socket(AF_UNIX, SOCK_STREAM, 0);

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
	*r = (struct runtime){.manner = manner, .fd = listen_in("root/tmp", FAKE_DOTNET_SOCKET)};
	make_old(fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET));
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

	dotnet_enable(fake_dotnet_requests(), fake_dotnet_tgid(), 0, ANSWER_NS, &s);
	return s;
}

Test(dotnet_ask, maps_are_switched_on_and_off_and_verified)
{
	struct runtime r;
	struct dotnet_switch s;
	char text[1024];

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	runtime_start(&r, GOOD);
	s = enable();
	dotnet_switch_text(&s, text, sizeof(text));
	cr_expect_eq(s.outcome, DOTNET_DONE, "%s", text);
	cr_expect_not_null(strstr(text, "/tmp/" FAKE_DOTNET_MAP ", "), "%s", text);
	cr_expect_gt(s.round_trip_ns, 0);
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_ALREADY);
	cr_expect_eq(r.enables, 1, "a second request would repeat everything");
	dotnet_disable(fake_dotnet_requests(), fake_dotnet_tgid(), FAKE_DOTNET_START, ANSWER_NS,
		       &s);
	cr_expect_eq(s.outcome, DOTNET_DONE);
	cr_expect_eq(s.target.process.map, DOTNET_MAP_SWITCHED_OFF);
	dotnet_disable(fake_dotnet_requests(), fake_dotnet_tgid(), FAKE_DOTNET_START, ANSWER_NS,
		       &s);
	cr_expect_eq(s.outcome, DOTNET_ALREADY);
	cr_expect_eq(r.disables, 1);
	dotnet_disable(fake_dotnet_requests(), fake_dotnet_tgid(), FAKE_DOTNET_START + 1, ANSWER_NS,
		       &s);
	cr_expect_eq(s.outcome, DOTNET_GONE, "another process of that pid is not meant");
	runtime_end(&r);
	fake_dotnet_end();
}

Test(dotnet_ask, a_deleted_map_is_begun_anew)
{
	struct runtime r;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	fake_dotnet_text(FAKE_DOTNET_MAP " (deleted)", FAKE_DOTNET_MAP_TEXT);
	fake_dotnet_holds(fake_dotnet_path(FAKE_DOTNET_MAP " (deleted)"));
	runtime_start(&r, GOOD);
	cr_expect_eq(enable().outcome, DOTNET_DONE);
	cr_expect_eq(r.disables, 1);
	cr_expect_eq(r.enables, 1);
	runtime_end(&r);
	fake_dotnet_end();
}

Test(dotnet_ask, runtimes_that_misbehave_are_told)
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

		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		runtime_start(&r, cases[i].manner);
		s = enable();
		dotnet_switch_text(&s, text, sizeof(text));
		cr_expect_eq(s.outcome, cases[i].outcome, "%s: %s", cases[i].words, text);
		cr_expect_not_null(strstr(text, cases[i].words), "%s", text);
		cr_expect_eq(s.may_be_on, cases[i].may_be_on, "%s", text);
		runtime_end(&r);
		fake_dotnet_end();
	}
}

Test(dotnet_ask, a_runtime_that_does_not_stop_is_told)
{
	struct dotnet_switch s;
	struct runtime r;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	fake_dotnet_text("root/tmp/" FAKE_DOTNET_MAP, FAKE_DOTNET_MAP_TEXT);
	fake_dotnet_holds(fake_dotnet_path("root/tmp/" FAKE_DOTNET_MAP));
	runtime_start(&r, GOES_ON);
	dotnet_disable(fake_dotnet_requests(), fake_dotnet_tgid(), 0, ANSWER_NS, &s);
	cr_expect_eq(s.outcome, DOTNET_GOES_ON);
	runtime_end(&r);
	fake_dotnet_end();
}

Test(dotnet_ask, what_would_do_harm_is_not_asked)
{
	static void (*const puts[])(void) = {fake_dotnet_put_link, fake_dotnet_put_fifo,
					     fake_dotnet_put_folder, fake_dotnet_put_hard_link,
					     fake_dotnet_take_folder};

	for (size_t i = 0; i < sizeof(puts) / sizeof(puts[0]); i++) {
		struct dotnet_switch s;
		struct runtime r;

		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		if (puts[i] != fake_dotnet_take_folder)
			runtime_start(&r, GOOD);
		puts[i]();
		s = enable();
		cr_expect_eq(s.outcome, DOTNET_PATH, "%zu: %d", i, s.outcome);
		cr_expect_eq(s.round_trip_ns, 0);
		cr_expect_not(s.may_be_on);
		if (puts[i] != fake_dotnet_take_folder) {
			runtime_end(&r);
			cr_expect_eq(r.enables, 0);
		}
		fake_dotnet_end();
	}
}

Test(dotnet_ask, a_young_runtime_is_not_asked)
{
	struct runtime r;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	runtime_start(&r, GOOD);
	cr_assert_eq(utimensat(AT_FDCWD, fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET), NULL, 0),
		     0);
	cr_expect_eq(enable().outcome, DOTNET_TOO_YOUNG, "its socket is new");
	runtime_end(&r);
	cr_expect_eq(r.enables, 0);
	fake_dotnet_end();
}

Test(dotnet_ask, sockets_that_are_not_its_own_are_refused)
{
	struct dotnet_switch s;
	int fd;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	cr_expect_eq(enable().outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(fake_dotnet_look().socket, DOTNET_SOCKET_ABSENT);

	fd = listen_in("root/tmp", "dotnet-diagnostic-7-99-socket");
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(s.target.process.socket, DOTNET_SOCKET_STALE);
	close(fd);

	fake_dotnet_text("root/tmp/" FAKE_DOTNET_SOCKET, "no socket");
	cr_expect_eq(fake_dotnet_look().socket, DOTNET_SOCKET_UNSAFE);
	cr_assert_eq(unlink(fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET)), 0);
	cr_assert_eq(symlink("dotnet-diagnostic-7-99-socket",
			     fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET)),
		     0);
	cr_expect_eq(fake_dotnet_look().socket, DOTNET_SOCKET_UNSAFE, "a link to a socket");
	cr_assert_eq(unlink(fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET)), 0);

	/* Left by one that was killed: nobody listens. */
	close(listen_in("root/tmp", FAKE_DOTNET_SOCKET));
	make_old(fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET));
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_NO_SOCKET);
	cr_expect_eq(s.error, -ECONNREFUSED);
	fake_dotnet_end();
}

/* Planted by another process of the same user: it listens where the runtime would. */
Test(dotnet_ask, a_socket_on_which_another_process_listens_is_refused)
{
	struct dotnet_switch s;
	int ready[2];
	pid_t other;
	char c;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	cr_assert_eq(pipe(ready), 0);
	other = fork();
	if (!other) {
		listen_in("root/tmp", FAKE_DOTNET_SOCKET);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	make_old(fake_dotnet_path("root/tmp/" FAKE_DOTNET_SOCKET));
	s = enable();
	cr_expect_eq(s.outcome, DOTNET_FOREIGN, "%d", s.outcome);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	fake_dotnet_end();
}

Test(dotnet_ask, paths_longer_than_a_socket_address_are_no_matter)
{
	char folder[300], environ[320], name[600];
	struct runtime r = {.manner = GOOD};

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	snprintf(folder, sizeof(folder), "/tmp/%0200d", 0);
	snprintf(environ, sizeof(environ), "TMPDIR=%s", folder);
	fake_dotnet_text("environ", environ);
	snprintf(name, sizeof(name), "root%s", folder);
	cr_assert_eq(mkdir(fake_dotnet_path(name), 0777), 0);
	r.fd = listen_in(name, FAKE_DOTNET_SOCKET);
	snprintf(name, sizeof(name), "root%s/" FAKE_DOTNET_SOCKET, folder);
	make_old(fake_dotnet_path(name));
	pthread_create(&r.thread, NULL, play, &r);
	cr_expect_eq(enable().outcome, DOTNET_DONE);
	runtime_end(&r);
	fake_dotnet_end();
}

Test(dotnet_ask, a_runtime_before_8_is_not_asked)
{
	char text[1024];
	struct dotnet_switch s;

	fake_dotnet_begin("7f0000000000-7f0000001000 r-xp 00000000 08:01 5 "
			  "/usr/share/dotnet/shared/Microsoft.NETCore.App/6.0.36/libcoreclr.so\n");
	s = enable();
	dotnet_switch_text(&s, text, sizeof(text));
	cr_expect_eq(s.outcome, DOTNET_TOO_OLD);
	cr_expect_not_null(strstr(text, ".NET 6"), "%s", text);
	fake_dotnet_end();
}

/* --- a runtime that waits at its start -------------------------------------------------------- */

#define PORT "/tmp/port.sock"

struct waiting {
	const char *advert;
	size_t advert_len;
	const char *reply; /* 24 bytes; NULL = none */
	bool resumed;
	volatile bool over;
};

/* Connects again and again until somebody listens, as the runtime does. */
static void *wait_for_word(void *arg)
{
	struct waiting *w = arg;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int dir = open(fake_dotnet_path("root/tmp"), O_PATH | O_DIRECTORY);
	uint8_t request[64];

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/port.sock", dir);
	while (!w->over) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (!connect(fd, (struct sockaddr *)&address, sizeof(address))) {
			send(fd, w->advert, w->advert_len, MSG_NOSIGNAL);
			w->resumed = recv(fd, request, sizeof(request), 0) == 20 &&
				     request[16] == 4 && request[17] == 1;
			if (w->resumed && w->reply)
				send(fd, w->reply, 24, MSG_NOSIGNAL);
			w->over = true;
		}
		close(fd);
		usleep(1000);
	}
	close(dir);
	return NULL;
}

static struct dotnet_target target_of(void)
{
	struct dotnet_list list = {0};
	struct dotnet_target target;

	cr_assert_eq(dotnet_read(fake_dotnet_requests(), fake_dotnet_tgid(), &list), 0);
	target = list.rows[0];
	dotnet_clear(&list);
	return target;
}

static struct dotnet_switch resume(const struct dotnet_target *target, const char *path)
{
	struct dotnet_switch s;

	dotnet_resume(fake_dotnet_requests(), target, path, 5 * ANSWER_NS, &s);
	return s;
}

Test(dotnet_ask, a_runtime_that_connects_to_a_port_is_told_to_go_on_in_the_tools_stead)
{
	static const char advert[] = "ADVR_V1\0"
				     "0123456789abcdef"
				     "\7\0\0\0\0\0\0\0"
				     "\0";
	static const char yes[] = "DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
	static const char no[] = "DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
	static const struct {
		const char *name, *advert;
		size_t len;
		const char *reply;
		enum dotnet_outcome outcome;
	} cases[] = {
		{"goes on", advert, 34, yes, DOTNET_DONE},
		{"says no", advert, 34, no, DOTNET_SAYS_NO},
		{"hangs up", advert, 34, NULL, DOTNET_HUNG_UP},
		{"is no runtime", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 34, yes,
		 DOTNET_GARBAGE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct waiting w = {cases[i].advert, cases[i].len, cases[i].reply, false, false};
		struct dotnet_target target;
		pthread_t thread;

		fake_dotnet_begin(FAKE_DOTNET_MAPS);
		target = target_of();
		pthread_create(&thread, NULL, wait_for_word, &w);
		cr_expect_eq(resume(&target, PORT).outcome, cases[i].outcome, "%s", cases[i].name);
		w.over = true;
		pthread_join(thread, NULL);
		cr_expect_eq(access(fake_dotnet_path("root/tmp/port.sock"), F_OK), -1,
			     "%s: the socket stays", cases[i].name);
		fake_dotnet_end();
	}
}

Test(dotnet_ask, a_port_is_left_alone_where_a_tool_listens_or_something_else_lies)
{
	struct dotnet_target target;
	int fd;

	fake_dotnet_begin(FAKE_DOTNET_MAPS);
	target = target_of();
	fd = listen_in("root/tmp", "port.sock");
	cr_expect_eq(resume(&target, PORT).outcome, DOTNET_FOREIGN);
	cr_expect_eq(access(fake_dotnet_path("root/tmp/port.sock"), F_OK), 0);
	/* What a tool that is gone has left makes room; nobody connects. */
	close(fd);
	cr_expect_eq(resume(&target, PORT).outcome, DOTNET_SILENT);
	cr_expect_eq(access(fake_dotnet_path("root/tmp/port.sock"), F_OK), -1);
	fake_dotnet_text("root/tmp/port.sock", "precious");
	cr_expect_eq(resume(&target, PORT).error, -ENOTSOCK);
	cr_expect_eq(access(fake_dotnet_path("root/tmp/port.sock"), F_OK), 0);
	cr_expect_eq(resume(&target, "/no/such/port").error, -ENOENT);
	cr_expect_eq(resume(&target, "/tmp/..").error, -EINVAL);
	cr_expect_eq(resume(&target, "/").error, -EINVAL);
	fake_dotnet_end();
}
