/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests where only some connections are followed: those stand for all of them, and what nobody
 * answers is seen on each. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "drive_net.h"

#define ASK_BYTES 18

/* The same shift for all ports. */
static void share_all(struct drive *d, unsigned int shift)
{
	for (unsigned int i = 0; i < FOLLOW_BUCKETS; i++)
		session_follow_share(d->s, i, shift);
}

static void connect_all(const struct drive_server *server, int *fds, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		fds[i] = drive_connect(AF_INET, server->port);
}

static void ask_all(const int *fds, unsigned int cnt, unsigned int requests)
{
	for (unsigned int i = 0; i < cnt; i++)
		drive_ask(fds[i], requests);
}

static void close_all(const int *fds, unsigned int cnt)
{
	for (unsigned int i = 0; i < cnt; i++)
		close(fds[i]);
}

/* What the last answer counts is told a moment after it came. */
static struct endpoint settled(struct drive *d, const struct drive_server *server)
{
	drive_sleep(20 * DRIVE_MS);
	return drive_endpoint(d, server->port, 0);
}

/* Of 800 connections a quarter, 200 with a deviation of 12. */
Test(net_follow, a_quarter_of_the_connections_stands_for_all)
{
	enum { CONNECTIONS = 800, REQUESTS = 3, ALL = CONNECTIONS * REQUESTS };
	struct drive_server *server = drive_server_new();
	static int fds[CONNECTIONS];
	uint64_t times = 0, seen;
	struct endpoint e;
	struct drive d;

	drive_open_requests(&d);
	share_all(&d, 2);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	ask_all(fds, CONNECTIONS, REQUESTS);
	e = settled(&d, server);
	for (int i = 0; i < RESPONSE_SLOTS; i++)
		times += e.times[i];
	seen = e.answered - e.unseen;
	cr_expect_eq(e.answered, 4 * seen);
	cr_expect_eq(seen % REQUESTS, 0, "a connection is seen whole or not");
	cr_expect(drive_near(e.answered, ALL, 5 * 0.0613, 0), "%llu",
		  (unsigned long long)e.answered);
	cr_expect_eq(e.begun, e.answered);
	cr_expect_eq(times, e.answered);
	cr_expect_eq(e.connections * REQUESTS, e.answered);
	cr_expect_eq(e.received_bytes, e.answered * ASK_BYTES);
	cr_expect_eq(e.sent_bytes, e.answered * 7);
	cr_expect_eq(e.pushed, 0);
	cr_expect_eq(e.abandoned, 0);
	close_all(fds, CONNECTIONS);
	cr_expect_eq(settled(&d, server).answered, e.answered);
	drive_server_stop(server);
	drive_close(&d);
}

/* Where its requests are seen. */
static unsigned int bucket_of(struct drive *d, const struct drive_server *server)
{
	struct follow_seen taken[FOLLOW_BUCKETS];
	int fd = drive_connect(AF_INET, server->port);
	unsigned int bucket = 0;

	session_take_followed(d->s, taken);
	drive_ask(fd, 3);
	session_take_followed(d->s, taken);
	while (bucket < FOLLOW_BUCKETS && taken[bucket].requests < 3)
		bucket++;
	close(fd);
	cr_assert_lt(bucket, FOLLOW_BUCKETS, "seen nowhere");
	return bucket;
}

/* What came after the first look at it. */
static struct endpoint since(struct endpoint now, struct endpoint first)
{
	now.begun -= first.begun;
	now.answered -= first.answered;
	now.connections -= first.connections;
	now.received_bytes -= first.received_bytes;
	now.sent_bytes -= first.sent_bytes;
	return now;
}

/* Both serve the same; of the one with many requests an eighth of the connections is followed, 100
 * with a deviation of 9. */
Test(net_follow, a_busy_port_leaves_another_one_seen_whole)
{
	enum { CONNECTIONS = 800, FEW = 40, REQUESTS = 3 };
	struct drive_server *busy = drive_server_new(), *small = drive_server_new();
	struct follow_seen taken[FOLLOW_BUCKETS];
	static int fds[CONNECTIONS];
	struct endpoint e, s, small_first, busy_first;
	unsigned int of_busy, of_small;
	int few[FEW];
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(busy);
	do {
		if (small->pid)
			drive_server_stop(small);
		drive_server_start(small);
		of_busy = bucket_of(&d, busy);
		of_small = bucket_of(&d, small);
	} while (of_small == of_busy);
	cr_expect_eq(of_small / FOLLOW_PORTS, of_busy / FOLLOW_PORTS, "of one user and cgroup");
	busy_first = settled(&d, busy);
	small_first = settled(&d, small);
	session_follow_share(d.s, of_busy, 3);
	session_take_followed(d.s, taken);
	connect_all(busy, fds, CONNECTIONS);
	connect_all(small, few, FEW);
	ask_all(fds, CONNECTIONS, REQUESTS);
	ask_all(few, FEW, REQUESTS);
	e = since(settled(&d, busy), busy_first);
	s = since(settled(&d, small), small_first);
	cr_expect(drive_near(e.answered, CONNECTIONS * REQUESTS, 5 * 0.0935, 0), "%llu",
		  (unsigned long long)e.answered);
	cr_expect_eq(e.unseen * 8, e.answered * 7);
	cr_expect_eq(s.unseen, 0);
	cr_expect_eq(s.answered, FEW * REQUESTS);
	cr_expect_eq(s.begun, FEW * REQUESTS);
	cr_expect_eq(s.connections, FEW);
	cr_expect_eq(s.received_bytes, FEW * REQUESTS * ASK_BYTES);
	cr_expect_eq(s.sent_bytes, FEW * REQUESTS * 7);
	session_take_followed(d.s, taken);
	cr_expect_eq(taken[of_busy].requests, e.begun / 8, "what is seen is told");
	cr_expect_eq(taken[of_busy].connections, e.connections / 8);
	cr_expect_eq(taken[of_small].requests, FEW * REQUESTS);
	cr_expect_eq(taken[of_small].connections, FEW);
	ask_all(few, FEW, 1);
	session_take_followed(d.s, taken);
	cr_expect_eq(taken[of_small].connections, FEW, "in each epoch");
	ask_all(few, FEW / 2, 2);
	session_take_followed(d.s, taken);
	cr_expect_eq(taken[of_small].connections, FEW / 2);
	/* What comes back there is nothing to this one, either. */
	session_follow_share(d.s, of_busy, 0);
	ask_all(few, FEW, REQUESTS);
	ask_all(fds, CONNECTIONS, 1);
	cr_expect_eq(settled(&d, small).answered, 3 + 2 * FEW * REQUESTS + 2 * FEW);
	cr_expect_eq(settled(&d, busy).answered - e.answered, 3 + CONNECTIONS);
	close_all(fds, CONNECTIONS);
	close_all(few, FEW);
	drive_server_stop(small);
	drive_server_stop(busy);
	drive_close(&d);
}

/* Which of them one more request counts on. */
static void find_followed(struct drive *d, const struct drive_server *server, const int *fds,
			  unsigned int cnt, bool *ret_followed)
{
	for (unsigned int i = 0; i < cnt; i++) {
		uint64_t answered = drive_endpoint(d, server->port, 0).answered;

		drive_ask(fds[i], 1);
		drive_sleep(3 * DRIVE_MS);
		ret_followed[i] = drive_endpoint(d, server->port, 0).answered > answered;
	}
}

Test(net_follow, what_is_followed_at_one_share_is_so_at_all_larger_ones)
{
	enum { CONNECTIONS = 96 };
	struct drive_server *server = drive_server_new();
	bool was[CONNECTIONS] = {0}, is[CONNECTIONS];
	unsigned int all = 0;
	int fds[CONNECTIONS];
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	for (unsigned int shift = 4; shift <= 4; shift--) {
		share_all(&d, shift);
		find_followed(&d, server, fds, CONNECTIONS, is);
		all = 0;
		for (int i = 0; i < CONNECTIONS; i++) {
			cr_expect(!was[i] || is[i], "%d at %u", i, shift);
			all += was[i] = is[i];
		}
		/* Five deviations of half of them, and more. */
		cr_expect_leq(all, (CONNECTIONS >> shift) + 25, "%u at %u", all, shift);
	}
	cr_expect_eq(all, CONNECTIONS);
	drive_server_stop(server);
	drive_close(&d);
}

/* Requests that begin while all are followed, and while hardly any is. */
Test(net_follow, every_unanswered_request_is_seen_at_any_share)
{
	enum { CONNECTIONS = 120, HALF = CONNECTIONS / 2 };
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	int fds[CONNECTIONS];
	uint64_t asked_ns;
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	ask_all(fds, CONNECTIONS, 2);
	server->mute = true;
	asked_ns = clock_now_ns();
	for (int i = 0; i < HALF; i++)
		drive_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
	share_all(&d, 6);
	for (int i = HALF; i < CONNECTIONS; i++)
		drive_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(60 * DRIVE_MS);
	for (unsigned int k = 0; k < 4; k++) {
		static const unsigned int shifts[] = {6, 2, 4, 0};

		share_all(&d, shifts[k]);
		cr_expect_eq(drive_sockets(&d, server->port, false, &first), CONNECTIONS,
			     "shift %u", shifts[k]);
		cr_expect_eq(first.flags & ~SOCKET_UNFOLLOWED, SOCKET_ACCEPTED, "%x", first.flags);
		cr_expect_eq(first.tgid, (uint32_t)server->pid);
		cr_expect(drive_near(first.begun_ns, asked_ns, 0, 50 * DRIVE_MS));
	}
	server->mute = false;
	for (int i = 0; i < CONNECTIONS; i++)
		drive_receive(fds[i]);
	drive_sleep(60 * DRIVE_MS);
	for (unsigned int shift = 0; shift <= FOLLOW_SHIFT_MAX; shift++) {
		share_all(&d, shift);
		cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0, "shift %u", shift);
	}
	drive_server_stop(server);
	drive_close(&d);
}

/* Of those that are followed again, too, and send more before they have their answer. */
Test(net_follow, more_data_of_an_unanswered_request_hides_it_from_nobody)
{
	enum { CONNECTIONS = 40 };
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	int fds[CONNECTIONS];
	struct endpoint e;
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	ask_all(fds, CONNECTIONS, 1);
	share_all(&d, 6);
	server->mute = true;
	for (int i = 0; i < CONNECTIONS; i++)
		drive_send(fds[i], "POST / HTTP/1.1\r\n\r\nits body: ");
	drive_sleep(20 * DRIVE_MS);
	share_all(&d, 0);
	for (int i = 0; i < CONNECTIONS; i++)
		drive_send(fds[i], "its body\r\n");
	drive_sleep(20 * DRIVE_MS);
	cr_expect_eq(drive_sockets(&d, server->port, false, &first), CONNECTIONS);
	cr_expect_eq(first.flags & ~SOCKET_UNFOLLOWED, SOCKET_ACCEPTED);
	e = settled(&d, server);
	server->mute = false;
	for (int i = 0; i < CONNECTIONS; i++)
		drive_receive(fds[i]);
	cr_expect_eq(settled(&d, server).pushed, 0);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	ask_all(fds, CONNECTIONS, 1);
	cr_expect_eq(settled(&d, server).begun - e.begun, CONNECTIONS);
	drive_server_stop(server);
	drive_close(&d);
}

/* Unanswered since before the session, of endpoints of which nothing else is known. */
Test(net_follow, what_was_unanswered_when_it_was_followed_stays_evidence)
{
	enum { CONNECTIONS = 30 };
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	int fds[CONNECTIONS];
	struct drive d;

	server->mute = true;
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++)
		drive_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(20 * DRIVE_MS);
	drive_open_requests(&d);
	share_all(&d, 6);
	cr_expect_eq(drive_sockets(&d, server->port, false, &first), CONNECTIONS);
	cr_expect_eq(first.flags & SOCKET_UNSURE, 0, "%x", first.flags);
	drive_server_stop(server);
	drive_close(&d);
}

/* Answered within the clock tick of the request, and then packets without data. */
Test(net_follow, idle_connections_that_are_kept_alive_wait_for_nothing)
{
	enum { CONNECTIONS = 60 };
	struct drive_server *server = drive_server_new();
	int fds[CONNECTIONS], one = 1;
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	ask_all(fds, CONNECTIONS, 1);
	share_all(&d, 6);
	for (int i = 0; i < CONNECTIONS; i++) {
		cr_assert_eq(setsockopt(fds[i], IPPROTO_TCP, TCP_KEEPIDLE, &one, sizeof(one)), 0);
		cr_assert_eq(setsockopt(fds[i], IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one)), 0);
		cr_assert_eq(setsockopt(fds[i], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)), 0);
	}
	ask_all(fds, CONNECTIONS, 5);
	for (int i = 0; i < 5; i++) {
		drive_sleep(500 * DRIVE_MS);
		cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	}
	drive_server_stop(server);
	drive_close(&d);
}

/* A request that is answered while its connection is not followed counts nowhere, and the next one
 * has its own time. Those few that are followed all along stand for 64. */
Test(net_follow, who_is_followed_again_begins_with_the_next_request)
{
	enum { CONNECTIONS = 60 };
	struct drive_server *server = drive_server_new();
	struct endpoint before, between, after;
	int fds[CONNECTIONS];
	struct drive d;

	drive_open_requests(&d);
	drive_server_start(server);
	connect_all(server, fds, CONNECTIONS);
	ask_all(fds, CONNECTIONS, 1);
	before = settled(&d, server);
	cr_expect_eq(before.answered, CONNECTIONS);
	server->mute = true;
	for (int i = 0; i < CONNECTIONS; i++)
		drive_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(10 * DRIVE_MS);
	share_all(&d, 6);
	server->mute = false;
	for (int i = 0; i < CONNECTIONS; i++)
		drive_receive(fds[i]);
	between = settled(&d, server);
	cr_expect_eq((between.answered - before.answered) % 64, 0);
	cr_expect_lt(between.answered - before.answered, 64 * 16);
	drive_sleep(100 * DRIVE_MS);
	share_all(&d, 0);
	ask_all(fds, CONNECTIONS, 2);
	after = settled(&d, server);
	cr_expect_eq(after.answered - between.answered, 2 * CONNECTIONS);
	cr_expect_eq(after.begun - between.begun, 2 * CONNECTIONS);
	cr_expect_eq(after.received_bytes - between.received_bytes, 2 * CONNECTIONS * ASK_BYTES);
	cr_expect_eq(after.slow, between.slow);
	cr_expect_eq(after.connections, CONNECTIONS);
	cr_expect_eq(after.pushed, 0);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	close_all(fds, CONNECTIONS);
	cr_expect_eq(settled(&d, server).abandoned, 0);
	drive_server_stop(server);
	drive_close(&d);
}

struct asking {
	pthread_t thread;
	uint16_t port;
	unsigned int connections;
	volatile bool *stop;
	uint64_t asked;
};

static void *ask_on_and_on(void *arg)
{
	struct asking *a = arg;
	int fds[64];

	for (unsigned int i = 0; i < a->connections; i++)
		fds[i] = drive_connect(AF_INET, a->port);
	while (!*a->stop)
		for (unsigned int i = 0; i < a->connections; i++, a->asked++)
			drive_ask(fds[i], 1);
	for (unsigned int i = 0; i < a->connections; i++)
		close(fds[i]);
	return NULL;
}

/* All, a half and a quarter in turn, in the middle of requests. Of 256 connections a quarter are 64
 * with a deviation of 7: over the three shares 6 %. */
Test(net_follow, changes_while_requests_are_under_way_leave_nothing_false)
{
	struct drive_server *server = drive_server_new();
	uint64_t asked = 0, losses[LOSS_KERNEL_CNT];
	struct asking asking[4];
	volatile bool stop = false;
	struct endpoint e;
	struct drive d;

	server->delay_us = 500;
	drive_open_requests(&d);
	drive_server_start(server);
	for (int i = 0; i < 4; i++) {
		asking[i] = (struct asking){.port = server->port, .connections = 64, .stop = &stop};
		cr_assert_eq(pthread_create(&asking[i].thread, NULL, ask_on_and_on, &asking[i]), 0);
	}
	for (int i = 0; i < 600; i++) {
		share_all(&d, (unsigned int)i * 2 % 3);
		drive_sleep(3 * DRIVE_MS);
	}
	stop = true;
	for (int i = 0; i < 4; i++) {
		pthread_join(asking[i].thread, NULL);
		asked += asking[i].asked;
	}
	share_all(&d, 0);
	e = settled(&d, server);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	cr_expect_eq(e.abandoned, 0);
	cr_expect(drive_near(e.answered, asked, 0.35, 0), "%llu of %llu",
		  (unsigned long long)e.answered, (unsigned long long)asked);
	cr_expect(drive_near(e.begun, asked, 0.35, 0), "%llu of %llu", (unsigned long long)e.begun,
		  (unsigned long long)asked);
	cr_expect(drive_near(e.received_bytes, asked * ASK_BYTES, 0.4, 0), "%llu of %llu",
		  (unsigned long long)e.received_bytes, (unsigned long long)(asked * ASK_BYTES));
	cr_expect_lt(e.time_max_ns, 1000 * DRIVE_MS);
	session_read_losses(d.s, losses);
	cr_expect_eq(losses[LOSS_ARRIVAL_UNSEEN], 0);
	drive_server_stop(server);
	drive_close(&d);
}

/* By the protocol that the endpoint is known to talk, of connections that never were followed. */
Test(net_follow, what_may_want_no_answer_is_no_evidence)
{
	static const struct {
		const char *known, *last;
		bool unsure;
	} cases[] = {
		{"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", false},
		{"a line of a log\n", "another line\n", true},
		{"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", "\x81\x84mask....\n", true},
		{NULL, "GET / HTTP/1.1\r\n\r\n", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum { CONNECTIONS = 20 };
		struct drive_server *server = drive_server_new();
		struct event_socket first;
		int fds[CONNECTIONS], fd;
		struct drive d;

		drive_open_requests(&d);
		drive_server_start(server);
		if (cases[i].known) {
			fd = drive_connect(AF_INET, server->port);
			drive_send(fd, cases[i].known);
			drive_receive(fd);
			drive_sleep(5 * DRIVE_MS);
		}
		share_all(&d, 6);
		connect_all(server, fds, CONNECTIONS);
		server->mute = true;
		for (int k = 0; k < CONNECTIONS; k++)
			drive_send(fds[k], cases[i].last);
		drive_sleep(20 * DRIVE_MS);
		/* One or two may be followed, and known themselves. */
		cr_expect_eq(drive_sockets(&d, server->port, false, &first), CONNECTIONS, "%zu", i);
		if (first.flags & SOCKET_UNFOLLOWED)
			cr_expect_eq(!!(first.flags & SOCKET_UNSURE), cases[i].unsure, "%zu", i);
		drive_server_stop(server);
		drive_close(&d);
	}
}

/* A child serves what its parent accepts: nobody has sent on it in our sight. */
Test(net_follow, who_holds_a_connection_that_is_not_followed_is_found)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	struct drive d;
	int fds[12];

	server->hands_over = true;
	drive_open_requests(&d);
	drive_server_start(server);
	share_all(&d, 6);
	server->mute = true;
	/* The child serves them one after the other: it has the first. */
	connect_all(server, fds, 12);
	drive_send(fds[0], "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(150 * DRIVE_MS);
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 1);
	cr_expect_eq(first.tgid, (uint32_t)server->child);
	drive_server_stop(server);
	drive_close(&d);
}
