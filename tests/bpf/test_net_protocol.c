/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the first bytes of a connection tell, and which data begins no request. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>
#include <unistd.h>

#include "drive_net.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* Frames of HTTP/2: length, type, flags, stream. */
#define SETTINGS     "\0\0\0\4\0\0\0\0\0"
#define SETTINGS_ACK "\0\0\0\4\1\0\0\0\0"
#define WINDOW	     "\0\0\4\10\0\0\0\0\0\0\1\0\0"
#define HEADERS	     "\0\0\3\1\5\0\0\0\1\x82\x86\n"

static const struct {
	const char *name;
	const char *first;
	size_t bytes;
	uint8_t protocols;
} openings[] = {
#define OPENING(name, text, protocols)                  \
	{                                               \
		name, text, sizeof(text) - 1, protocols \
	}
	OPENING("GET", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", PROTOCOL_HTTP1),
	OPENING("POST", "POST /x HTTP/1.1\r\n\r\n", PROTOCOL_HTTP1),
	OPENING("DELETE", "DELETE /x HTTP/1.1\r\n\r\n", PROTOCOL_HTTP1),
	OPENING("a method that is none", "GETS / HTTP/1.1\r\n\r\n", PROTOCOL_OTHER),
	OPENING("HTTP/2", PREFACE SETTINGS HEADERS, PROTOCOL_HTTP2),
	OPENING("TLS",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 0123456789012345678901234567890 and "
		"a list of ciphers\n",
		PROTOCOL_TLS),
	OPENING("another protocol", "EHLO a\r\n", PROTOCOL_OTHER),
	OPENING("one byte", "\n", PROTOCOL_OTHER),
	OPENING("WebSocket",
		"GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: "
		"websocket\r\n\r\n",
		PROTOCOL_HTTP1 | PROTOCOL_WEBSOCKET),
	OPENING("WebSocket in other letters", "GET / HTTP/1.1\r\nUPGRADE: WebSocket\r\n\r\n",
		PROTOCOL_HTTP1 | PROTOCOL_WEBSOCKET),
	OPENING("an upgrade to something else", "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
		PROTOCOL_HTTP1),
};

Test(net_protocol, is_told_by_the_first_bytes)
{
	struct drive d;

	drive_open_requests(&d);
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct drive_server *server = drive_server_new();
		struct endpoint e;
		int fd;

		drive_server_start(server);
		fd = drive_connect(AF_INET, server->port);
		drive_send_bytes(fd, openings[i].first, openings[i].bytes);
		drive_receive(fd);
		e = drive_await_ended(&d, server->port, 1);
		cr_expect_eq(e.answered, 1, "%s: %llu, %llu given up", openings[i].name,
			     (unsigned long long)e.answered, (unsigned long long)e.abandoned);
		cr_expect_eq(e.protocols, openings[i].protocols, "%s: %x", openings[i].name,
			     e.protocols);
		close(fd);
		drive_server_stop(server);
	}
	drive_close(&d);
}

/* Sends bytes to a server that does not answer them; returns its requests that wait for an
 * answer. */
static unsigned int left_unanswered(struct drive *d, struct drive_server *server, int fd,
				    const char *text, size_t bytes, struct event_socket *ret_first)
{
	drive_send_bytes(fd, text, bytes);
	drive_sleep(10 * DRIVE_MS);
	return drive_sockets(d, server->port, false, ret_first);
}

/* Who sends half of a header makes no service slow; with its end it is a request. The parts are
 * sent one after the other, and only behind the last one is there a request. */
Test(net_protocol, a_request_of_http_begins_with_the_end_of_its_header)
{
	static char filler[1200];
	static const struct {
		const char *name;
		const char *parts[6];
	} rows[] = {
		{"half", {"GET / HTTP/1.1\r\n", "Host: a\r\n\r\n"}},
		{"a word", {"GET ", "/ HTTP/1.1\r\n\r\n"}},
		{"the end in parts", {"GET / HTTP/1.1\r", "\n", "\r", "\n"}},
		{"in other parts", {"GET / HTTP/1.1\r\n\r", "\nbody"}},
		{"in two, with a body", {"POST / HTTP/1.1\r\n", "\r\nsome of it"}},
		{"with a body", {"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"}},
		{"large, with a body", {filler, "\r\n\r\nbody"}},
		{"a blank line that is none", {"GET / HTTP/1.1\r\n\n\r", "\r\n\r\n"}},
		{"a WebSocket", {"GET / HTTP/1.1\r\nUpgrade: websocket\r\n", "\r\n"}},
	};
	struct drive_server *server = drive_server_new();
	struct drive d;

	memset(filler, 'x', sizeof(filler) - 1);
	memcpy(filler, "POST / HTTP/1.1\r\nCookie: ", 25);
	drive_open_requests(&d);
	server->mute = true;
	drive_server_start(server);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = drive_connect(AF_INET, server->port);

		for (size_t k = 0; rows[i].parts[k]; k++) {
			bool last = !rows[i].parts[k + 1];
			struct event_socket first = {0};

			cr_expect_eq(left_unanswered(&d, server, fd, rows[i].parts[k],
						     strlen(rows[i].parts[k]), &first),
				     1, "%s, part %zu", rows[i].name, k);
			cr_expect_eq(!!(first.flags & SOCKET_INCOMPLETE), !last, "%s, part %zu: %x",
				     rows[i].name, k, first.flags);
		}
		drive_reset(fd);
		drive_sleep(10 * DRIVE_MS);
	}
	cr_expect_eq(drive_endpoint(&d, server->port, 0).begun, sizeof(rows) / sizeof(rows[0]));
	drive_server_stop(server);
	drive_close(&d);
}

Test(net_protocol, what_runs_a_connection_is_no_request)
{
	struct drive_server *server = drive_server_new();
	struct endpoint before, after;
	struct event_socket first;
	char record[120] = "\x17\x03\x03";
	struct drive d;
	int fd;

	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect(AF_INET, server->port);
	drive_send_bytes(fd, PREFACE SETTINGS HEADERS, sizeof(PREFACE SETTINGS HEADERS) - 1);
	drive_receive(fd);
	server->mute = true;
	cr_expect_eq(left_unanswered(&d, server, fd, SETTINGS_ACK, 9, NULL), 0);
	cr_expect_eq(left_unanswered(&d, server, fd, WINDOW WINDOW, 26, NULL), 0);
	cr_expect_eq(left_unanswered(&d, server, fd, WINDOW HEADERS, 25, &first), 1);
	cr_expect_eq(first.flags, SOCKET_ACCEPTED);
	drive_reset(fd);

	fd = drive_connect(AF_INET, server->port);
	drive_send_bytes(fd, openings[5].first, openings[5].bytes);
	server->mute = false;
	drive_receive(fd);
	server->mute = true;
	cr_expect_eq(
		left_unanswered(&d, server, fd, "\x14\x03\x03\0\1\1\x17\x03\x03\0\x35", 80, NULL),
		0, "the end of a handshake");
	cr_expect_eq(left_unanswered(&d, server, fd, record, 24, NULL), 0, "a goodbye");
	cr_expect_eq(left_unanswered(&d, server, fd, record, 49, &first), 1, "a request");
	cr_expect_eq(first.flags, SOCKET_ACCEPTED);
	drive_reset(fd);

	fd = drive_connect(AF_INET, server->port);
	drive_send_bytes(fd, openings[8].first, openings[8].bytes);
	server->mute = false;
	drive_receive(fd);
	server->mute = true;
	cr_expect_eq(left_unanswered(&d, server, fd, "\x81\x82\1\2\3\4hi", 8, NULL), 0,
		     "a message of a WebSocket");
	server->mute = false;
	before = drive_endpoint(&d, server->port, 0);
	drive_send_bytes(fd, "\x81\x82\1\2\3\4h\n", 8);
	drive_receive(fd);
	drive_sleep(5 * DRIVE_MS);
	after = drive_endpoint(&d, server->port, 0);
	cr_expect_eq(after.pushed, before.pushed + 1);
	cr_expect_eq(after.answered, before.answered);
	cr_expect_eq(after.received_bytes, before.received_bytes + 16);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net_protocol, what_may_never_be_answered_is_no_evidence)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	struct drive d;
	int before, fd;

	server->mute = true;
	drive_server_start(server);
	/* A log that came in pieces, before the session. */
	before = drive_connect(AF_INET, server->port);
	for (int i = 0; i < 12; i++) {
		drive_send(before, "one more line of the log");
		drive_sleep(DRIVE_MS);
	}
	drive_open_requests(&d);
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 1);
	cr_expect_eq(first.flags, SOCKET_ACCEPTED | SOCKET_EARLIER | SOCKET_UNSURE);
	drive_reset(before);
	fd = drive_connect(AF_INET, server->port);
	cr_assert_eq(left_unanswered(&d, server, fd, "one line", 8, &first), 1);
	/* On a busy machine the server accepts it later. */
	for (int i = 0; i < 500 && !(first.flags & SOCKET_ACCEPTED); i++) {
		drive_sleep(10 * DRIVE_MS);
		drive_sockets(&d, server->port, false, &first);
	}
	cr_expect_eq(first.flags, SOCKET_ACCEPTED | SOCKET_UNSURE);
	drive_server_stop(server);
	drive_close(&d);
}

/* Frames that tell the protocol of a connection whose beginning was not seen. */
Test(net_protocol, of_an_older_connection_is_told_by_what_comes)
{
	struct drive_server *server = drive_server_new();
	struct drive d;
	int http2, websocket;

	drive_server_start(server);
	http2 = drive_connect(AF_INET, server->port);
	drive_ask(http2, 1);
	websocket = drive_connect(AF_INET, server->port);
	drive_ask(websocket, 1);
	drive_open_requests(&d);
	server->mute = true;
	cr_expect_eq(left_unanswered(&d, server, http2, WINDOW, 13, NULL), 0);
	cr_expect_eq(left_unanswered(&d, server, websocket, "\x89\x80\1\2\3\4", 6, NULL), 0);
	cr_expect_eq(left_unanswered(&d, server, http2, HEADERS, 12, NULL), 1);
	drive_server_stop(server);
	drive_close(&d);
}

/* Answers of connections with several paths leave by another socket than the one that data comes in
 * by. */
Test(net_protocol, connections_of_several_paths_are_left_out)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;
	int fd;

	if (access("/proc/sys/net/mptcp/enabled", R_OK))
		drive_skip("no MPTCP in this kernel");
	server->protocol = 262;
	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect_by(AF_INET, 262, server->port);
	drive_ask(fd, 3);
	e = drive_endpoint(&d, server->port, 0);
	cr_expect_eq(e.begun, 0);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	/* Clients that know of one path only. */
	drive_ask(drive_connect(AF_INET, server->port), 3);
	e = drive_await_ended(&d, server->port, 3);
	cr_expect_eq(e.begun, 3);
	cr_expect_eq(e.answered, 3);
	drive_server_stop(server);
	drive_close(&d);
}
