/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Diagnostics requests: their bytes, hostile replies, listeners that misbehave. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "perfmap/socket/diagnostics.h"

#define MAGIC	  "DOTNET_IPC_V1"
#define MAGIC_LEN 14
#define HEAD	  "DOTNET_IPC_V1\0"
#define OK_REPLY  HEAD "\x18\0\xff\0\0\0\0\0\0\0"
#define NO_REPLY  HEAD "\x18\0\xff\xff\0\0\x85\x13\x13\x80"

#define DEADLINE_NS 100000000ull

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- bytes ------------------------------------------------------------------------------------ */

Test(diagnostics, requests_are_as_the_runtime_reads_them)
{
	static const struct {
		const char *name;
		enum diagnostics_request request;
		const char *bytes;
		size_t len;
	} cases[] = {
		{"enable", DIAGNOSTICS_ENABLE_PERF_MAP, HEAD "\x18\0\x04\x05\0\0\x03\0\0\0", 24},
		{"disable", DIAGNOSTICS_DISABLE_PERF_MAP, HEAD "\x14\0\x04\x06\0\0", 20},
		{"process info", DIAGNOSTICS_PROCESS_INFO, HEAD "\x14\0\x04\x04\0\0", 20},
		{"resume", DIAGNOSTICS_RESUME, HEAD "\x14\0\x04\x01\0\0", 20},
	};
	uint8_t bytes[DIAGNOSTICS_REQUEST_BYTES_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(diagnostics_encode(cases[i].request, bytes), cases[i].len, "%s",
			     cases[i].name);
		cr_expect_arr_eq(bytes, cases[i].bytes, cases[i].len, "%s", cases[i].name);
	}
}

Test(diagnostics, socket_names_hold_pid_and_start_time)
{
	static const struct {
		const char *name;
		bool is_one;
	} cases[] = {
		{"dotnet-diagnostic-12-345-socket", true},
		{"dotnet-diagnostic-12-0-socket", true},
		{"dotnet-diagnostic-123-45-socket", false},
		{"dotnet-diagnostic-12--socket", false},
		{"dotnet-diagnostic-12-345-sockets", false},
		{"dotnet-diagnostic-12-34x-socket", false},
		{"dotnet-diagnostic-12-", false},
		{"", false},
	};
	char name[DIAGNOSTICS_NAME_BYTES];

	diagnostics_socket_name(12, 345, name);
	cr_expect_str_eq(name, "dotnet-diagnostic-12-345-socket");
	diagnostics_socket_name(UINT32_MAX, UINT64_MAX, name);
	cr_expect_str_eq(name, "dotnet-diagnostic-4294967295-18446744073709551615-socket");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(diagnostics_is_socket_name(cases[i].name, 12), cases[i].is_one, "%s",
			     cases[i].name);
}

/* A reply to ProcessInfo2 with five strings, the last as given. Returns its length. */
static size_t info_reply(uint8_t *bytes, const char *version)
{
	static const char *const words[] = {"dotnet x.dll", "Linux", "x64", "x"};
	size_t at = MAGIC_LEN + 6 + 24;

	memset(bytes, 0, 1024);
	memcpy(bytes, MAGIC, MAGIC_LEN);
	bytes[16] = 0xff;
	for (size_t i = 0; i < 5; i++) {
		const char *word = i < 4 ? words[i] : version;
		size_t len = strlen(word) + 1;

		bytes[at] = (uint8_t)len;
		at += 4;
		for (size_t k = 0; k < len; k++, at += 2)
			bytes[at] = (uint8_t)word[k];
	}
	bytes[14] = (uint8_t)at;
	bytes[15] = (uint8_t)(at >> 8);
	return at;
}

Test(diagnostics, replies_are_read)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		int err;
		bool ok;
		uint32_t hresult;
	} cases[] = {
		{"yes", OK_REPLY, 24, 0, true, 0},
		{"yes without a payload", HEAD "\x14\0\xff\0\0\0", 20, 0, true, 0},
		{"no", NO_REPLY, 24, 0, false, 0x80131385},
		{"something after the reply", OK_REPLY "more", 28, 0, true, 0},
		{"no without its code", HEAD "\x14\0\xff\xff\0\0", 20, -EPROTO, false, 0},
		{"not from the server", HEAD "\x14\0\x04\x05\0\0", 20, -EPROTO, false, 0},
		{"another answer", HEAD "\x14\0\xff\x07\0\0", 20, -EPROTO, false, 0},
		{"a size below the header's", HEAD "\x13\0\xff\0\0\0", 20, -EPROTO, false, 0},
		{"size 0", HEAD "\0\0\xff\0\0\0", 20, -EPROTO, false, 0},
		{"another magic", "DOTNET_IPC_V2\0\x14\0\xff\0\0\0", 20, -EPROTO, false, 0},
		{"a web server", "HTTP/1.1 400 Bad Request", 24, -EPROTO, false, 0},
		{"one wrong byte", "X", 1, -EPROTO, false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diagnostics_reply reply = {0};
		size_t wanted;

		cr_expect_eq(diagnostics_decode(DIAGNOSTICS_ENABLE_PERF_MAP,
						(const uint8_t *)cases[i].bytes, cases[i].len,
						&wanted, &reply),
			     cases[i].err, "%s", cases[i].name);
		if (cases[i].err)
			continue;
		cr_expect_eq(reply.ok, cases[i].ok, "%s", cases[i].name);
		cr_expect_eq(reply.hresult, cases[i].hresult, "%s", cases[i].name);
	}
}

Test(diagnostics, a_huge_size_asks_for_no_more_than_the_field_can_say)
{
	struct diagnostics_reply reply;
	size_t wanted;

	cr_expect_eq(diagnostics_decode(DIAGNOSTICS_ENABLE_PERF_MAP,
					(const uint8_t *)HEAD "\xff\xff\xff\0\0\0", 20, &wanted,
					&reply),
		     -EAGAIN);
	cr_expect_eq(wanted, DIAGNOSTICS_REPLY_BYTES_MAX);
}

Test(diagnostics, versions_are_read_and_nothing_else_is_taken_for_one)
{
	static const struct {
		const char *sent, *version;
	} cases[] = {
		{"10.0.12", "10.0.12"},
		{"11.0.0-preview.1+abc", "11.0.0-preview.1+abc"},
		{"", ""},
		{"10.0\x1b[31m", ""},
		{"1000000000000000000000000000000000000000000000000000000000000000000000", ""},
	};
	uint8_t bytes[1024];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct diagnostics_reply reply = {0};
		size_t wanted, len = info_reply(bytes, cases[i].sent);

		cr_assert_eq(
			diagnostics_decode(DIAGNOSTICS_PROCESS_INFO, bytes, len, &wanted, &reply),
			0);
		cr_expect_str_eq(reply.version, cases[i].version);
	}
}

Test(diagnostics, strings_that_do_not_fit_are_no_reply)
{
	struct diagnostics_reply reply;
	uint8_t bytes[1024];
	size_t wanted, len = info_reply(bytes, "10.0.12");

	/* Its own size cut at every byte of the payload. */
	for (size_t size = 20; size < len; size++) {
		uint8_t *copy = malloc(size);

		memcpy(copy, bytes, size);
		copy[14] = (uint8_t)size;
		copy[15] = (uint8_t)(size >> 8);
		cr_expect_eq(
			diagnostics_decode(DIAGNOSTICS_PROCESS_INFO, copy, size, &wanted, &reply),
			-EPROTO, "%zu", size);
		free(copy);
	}
	memset(bytes + 20 + 24, 0xff, 4);
	cr_expect_eq(diagnostics_decode(DIAGNOSTICS_PROCESS_INFO, bytes, len, &wanted, &reply),
		     -EPROTO);
}

Test(diagnostics, truncated_replies_want_more)
{
	uint8_t bytes[1024];
	size_t len = info_reply(bytes, "8.0.1");

	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *copy = malloc(cut + 1); /* exact bounds for the sanitizer */
		struct diagnostics_reply reply;
		size_t wanted = 0;

		memcpy(copy, bytes, cut);
		copy = realloc(copy, cut ? cut : 1);
		cr_expect_eq(
			diagnostics_decode(DIAGNOSTICS_PROCESS_INFO, copy, cut, &wanted, &reply),
			-EAGAIN, "%zu", cut);
		cr_expect_eq(wanted, cut < 20 ? 20 : len);
		free(copy);
	}
}

/* --- listeners -------------------------------------------------------------------------------- */

struct listener {
	const char *name;
	const char *bytes;
	size_t len;
	bool byte_by_byte; /* a millisecond apart */
	bool stays;	   /* keeps the connection open */
	bool deaf;	   /* does not read the request */
	int err;
	int fd;
};

static void *listen_once(void *arg)
{
	struct listener *l = arg;
	char request[64];

	if (!l->deaf && recv(l->fd, request, sizeof(request), 0) <= 0)
		return NULL;
	for (size_t i = 0; i < l->len;) {
		size_t n = l->byte_by_byte ? 1 : l->len;

		if (send(l->fd, l->bytes + i, n, MSG_NOSIGNAL) < 0)
			break;
		i += n;
		if (l->byte_by_byte)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (!l->stays)
		shutdown(l->fd, SHUT_RDWR);
	return NULL;
}

Test(diagnostics, exchanges_end_whatever_the_other_side_does)
{
	static struct listener cases[] = {
		{.name = "good", .bytes = OK_REPLY, .len = 24},
		{.name = "good, stays", .bytes = OK_REPLY, .len = 24, .stays = true},
		{.name = "good, slow", .bytes = OK_REPLY, .len = 24, .byte_by_byte = true},
		{.name = "refuses", .bytes = NO_REPLY, .len = 24},
		{.name = "hangs", .stays = true, .err = -ETIMEDOUT},
		{.name = "hangs in the middle",
		 .bytes = OK_REPLY,
		 .len = 23,
		 .stays = true,
		 .err = -ETIMEDOUT},
		{.name = "says a huge size",
		 .bytes = HEAD "\xff\xff\xff\0\0\0",
		 .len = 20,
		 .stays = true,
		 .err = -ETIMEDOUT},
		{.name = "hangs up", .err = -ECONNRESET},
		{.name = "hangs up unasked", .deaf = true, .err = -ECONNRESET},
		{.name = "short", .bytes = OK_REPLY, .len = 23, .err = -ECONNRESET},
		{.name = "garbage",
		 .bytes = "HTTP/1.1 400 Bad Request\r\n",
		 .len = 26,
		 .stays = true,
		 .err = -EPROTO},
		{.name = "another magic",
		 .bytes = "DOTNET_IPC_V9\0\x18\0\xff\0\0\0",
		 .len = 20,
		 .err = -EPROTO},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static uint8_t bytes[DIAGNOSTICS_REPLY_BYTES_MAX];
		struct diagnostics_reply reply = {0};
		uint64_t start_ns = now_ns();
		size_t len, wanted;
		pthread_t thread;
		int pair[2], err;

		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		cases[i].fd = pair[1];
		pthread_create(&thread, NULL, listen_once, &cases[i]);
		err = diagnostics_exchange(pair[0], DIAGNOSTICS_ENABLE_PERF_MAP,
					   start_ns + DEADLINE_NS, bytes, &len);
		cr_expect_eq(err, cases[i].err, "%s: %d", cases[i].name, err);
		if (!err) {
			cr_expect_eq(diagnostics_decode(DIAGNOSTICS_ENABLE_PERF_MAP, bytes, len,
							&wanted, &reply),
				     0);
			cr_expect_eq(reply.ok, strcmp(cases[i].name, "refuses") != 0);
		}
		cr_expect_lt(now_ns() - start_ns, 20 * DEADLINE_NS, "%s", cases[i].name);
		close(pair[0]);
		pthread_join(thread, NULL);
		close(pair[1]);
	}
}

/* Its queue is full: what is to be sent does not go out. */
Test(diagnostics, a_listener_that_never_reads_costs_the_deadline)
{
	static uint8_t bytes[DIAGNOSTICS_REPLY_BYTES_MAX];
	char filling[4096] = {0};
	size_t len;
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	while (send(pair[0], filling, sizeof(filling), MSG_DONTWAIT) > 0)
		;
	while (send(pair[0], filling, 1, MSG_DONTWAIT) > 0)
		;
	cr_expect_eq(diagnostics_exchange(pair[0], DIAGNOSTICS_ENABLE_PERF_MAP,
					  now_ns() + DEADLINE_NS, bytes, &len),
		     -ETIMEDOUT);
	close(pair[0]);
	close(pair[1]);
}

Test(diagnostics, every_error_code_has_words)
{
	cr_expect_str_eq(diagnostics_error_text(0x80070057), "bad argument");
	cr_expect_not_null(strstr(diagnostics_error_text(0x80131385), "older than .NET 8"));
	cr_expect_not_null(strstr(diagnostics_error_text(0x12345678), "does not know"));
}

Test(diagnostics, what_a_runtime_says_first_at_a_port_is_taken_in)
{
#define ADVERT              \
	"ADVR_V1\0"         \
	"0123456789abcdef"  \
	"\x7\0\0\0\0\0\0\0" \
	"\0"
	static const struct {
		const char *name, *bytes;
		size_t len;
		bool closed;
		int err;
	} cases[] = {
		{"whole", ADVERT, 34, false, 0},
		{"and more", ADVERT "x", 35, false, 0},
		{"half", ADVERT, 20, false, -ETIMEDOUT},
		{"half, and gone", ADVERT, 20, true, -ECONNRESET},
		{"nothing", "", 0, false, -ETIMEDOUT},
		{"garbage", "GET / HTTP/1.1\r\nHost: 127.0.0.1:99\r\n\r\n", 36, false, -EPROTO},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int pair[2];

		cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		cr_assert_eq(send(pair[1], cases[i].bytes, cases[i].len, 0), (ssize_t)cases[i].len);
		if (cases[i].closed)
			shutdown(pair[1], SHUT_WR);
		cr_expect_eq(diagnostics_take_advert(pair[0], now_ns() + DEADLINE_NS / 2),
			     cases[i].err, "%s", cases[i].name);
		close(pair[0]);
		close(pair[1]);
	}
}
