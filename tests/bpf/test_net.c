/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as the kernel shows them, against servers that are known to the microsecond. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/response_slot.h"
#include "drive_net.h"

/* What events.h says, word by word. */
static uint32_t slot_by_the_book(uint64_t time_ns)
{
	uint64_t us = time_ns / 1000;
	uint32_t slot = 4;

	if (us < 4)
		return (uint32_t)us;
	for (uint64_t power = 4; slot < RESPONSE_SLOTS; power *= 2)
		for (uint64_t quarter = 0; quarter < 4; quarter++, slot++)
			if (us < power + (quarter + 1) * power / 4)
				return slot;
	return RESPONSE_SLOTS - 1;
}

Test(net, slots_of_the_histogram_are_those_of_its_description)
{
	for (uint64_t us = 0; us < 5000; us++)
		cr_assert_eq(response_slot(us * 1000 + 999), slot_by_the_book(us * 1000));
	for (uint64_t power = 4; power < 1ull << 44; power *= 2)
		for (uint64_t quarter = 4; quarter < 8; quarter++)
			for (uint64_t off = 0; off < 3; off++) {
				uint64_t us = power * quarter / 4 + off - 1;

				cr_assert_eq(response_slot(us * 1000), slot_by_the_book(us * 1000),
					     "%llu us", (unsigned long long)us);
			}
	cr_assert_eq(response_slot(UINT64_MAX), RESPONSE_SLOTS - 1);
}

static uint64_t answered_by_histogram(const struct endpoint *e)
{
	uint64_t sum = 0;

	for (int i = 0; i < RESPONSE_SLOTS; i++)
		sum += e->times[i];
	return sum;
}

Test(net, counts_every_request_of_several_connections)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;
	int fds[5];

	drive_open_requests(&d);
	drive_server_start(server);
	for (int i = 0; i < 5; i++)
		fds[i] = drive_connect(AF_INET, server->port);
	for (unsigned int i = 0; i < 5; i++)
		drive_ask(fds[i], 100 + i);
	e = drive_await_ended(&d, server->port, 510);
	cr_expect_eq(e.connections, 5);
	cr_expect_eq(e.begun, 510);
	cr_expect_eq(e.answered, 510);
	cr_expect_eq(answered_by_histogram(&e), 510);
	cr_expect_eq(e.abandoned, 0);
	cr_expect_eq(e.joined, 0);
	cr_expect_eq(e.pushed, 0);
	cr_expect_eq(e.received_bytes, 510 * 18);
	cr_expect_eq(e.sent_bytes, 510 * 7);
	cr_expect_eq(e.tgid, (uint32_t)server->pid);
	cr_expect_eq(e.family, AF_INET);
	cr_expect_eq(*(uint32_t *)e.address, htonl(INADDR_LOOPBACK));
	cr_expect_eq(e.slow_ns, 50 * DRIVE_MS);
	cr_expect_eq(drive_rows(&d, server->port), 1);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	drive_server_stop(server);
	drive_close(&d);
}

/* A server that waits for us, asked before the session; connections that wait for nothing beside
 * it. */
Test(net, requests_unanswered_at_the_start_count_from_their_arrival)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	uint64_t asked_ns;
	struct endpoint e;
	struct drive d;
	int idle, answered, asks;

	drive_server_start(server);
	idle = drive_connect(AF_INET, server->port);
	answered = drive_connect(AF_INET, server->port);
	drive_ask(answered, 1);
	asks = drive_connect(AF_INET, server->port);
	server->mute = true;
	asked_ns = clock_now_ns();
	drive_send(asks, "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(100 * DRIVE_MS);
	drive_open_requests(&d);
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 1);
	cr_expect(first.flags & SOCKET_EARLIER);
	cr_expect(first.flags & SOCKET_ACCEPTED);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	cr_expect(drive_near(first.begun_ns, asked_ns, 0, 12 * DRIVE_MS));
	e = drive_endpoint(&d, server->port, 0);
	cr_expect_eq(e.tgid, (uint32_t)server->pid);
	server->mute = false;
	drive_receive(asks);
	drive_ask(idle, 1);
	drive_ask(answered, 1);
	e = drive_await_ended(&d, server->port, 3);
	cr_expect_eq(e.answered, 3);
	cr_expect_eq(e.begun, 3);
	cr_expect_eq(e.connections, 3);
	cr_expect_eq(e.received_bytes, 2 * 18);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	cr_expect_eq(drive_sockets(&d, server->port, true, &first), 1);
	cr_expect_eq(first.backlog, DRIVE_BACKLOG);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	drive_server_stop(server);
	drive_close(&d);
}

/* The machine may be busy: times are only too long, never too short. */
Test(net, times_run_from_the_arrival_to_the_answer)
{
	struct drive_server *server = drive_server_new();
	struct session_options options = {
		.sample_hz = 99, .requests = true, .slow_ns = 1000 * DRIVE_MS};
	struct session_slow_port slow;
	struct endpoint e;
	struct drive d;
	uint64_t start_ns;
	int fd;

	server->delay_us = 5000;
	drive_server_start(server);
	slow = (struct session_slow_port){server->port, 4900000};
	options.slow_ports = &slow;
	options.slow_port_cnt = 1;
	drive_open(&d, &options);
	fd = drive_connect(AF_INET, server->port);
	start_ns = clock_now_ns();
	drive_ask(fd, 40);
	e = drive_await_ended(&d, server->port, 40);
	cr_expect_eq(e.answered, 40);
	cr_expect_geq(e.time_ns, 40 * 5 * DRIVE_MS);
	cr_expect_leq(e.time_ns, clock_now_ns() - start_ns);
	cr_expect_geq(e.time_max_ns, e.time_ns / 40);
	cr_expect_eq(e.slow, 40);
	cr_expect_leq(e.very_slow, 10);
	cr_expect_eq(e.slow_ns, 4900000);
	for (uint32_t i = 0; i < response_slot(5 * DRIVE_MS); i++)
		cr_expect_eq(e.times[i], 0);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net, an_unanswered_request_is_seen_until_its_connection_ends)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	struct endpoint e;
	struct drive d;
	int fd;

	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect(AF_INET, server->port);
	drive_ask(fd, 3);
	server->mute = true;
	drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(50 * DRIVE_MS);
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 1);
	cr_expect_eq(first.flags, SOCKET_ACCEPTED);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	cr_expect_leq(first.begun_ns, clock_now_ns() - 49 * DRIVE_MS);
	cr_expect_eq(drive_endpoint(&d, server->port, 0).begun, 4);
	drive_reset(fd);
	e = drive_await_ended(&d, server->port, 4);
	cr_expect_eq(e.begun, 4);
	cr_expect_eq(e.answered, 3);
	cr_expect_eq(e.abandoned, 1);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net, a_server_that_never_accepts_has_its_requests)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	struct drive d;
	int fds[3];

	server->lazy = true;
	drive_open_requests(&d);
	drive_server_start(server);
	for (int i = 0; i < 3; i++) {
		fds[i] = drive_connect(AF_INET, server->port);
		drive_send(fds[i], "GET / HTTP/1.1\r\n\r\n");
	}
	drive_sleep(10 * DRIVE_MS);
	cr_expect_eq(drive_rows(&d, server->port), 0, "none before there is something to count");
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 3);
	cr_expect_eq(first.flags, 0);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	cr_assert_eq(drive_sockets(&d, server->port, true, &first), 1);
	cr_expect_eq(first.queued, 3);
	cr_expect_eq(first.backlog, DRIVE_BACKLOG);
	cr_expect_eq(first.flags, SOCKET_LISTENS);
	for (int i = 0; i < 3; i++)
		drive_reset(fds[i]);
	cr_expect_eq(drive_await_ended(&d, server->port, 3).abandoned, 3);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net, a_server_that_speaks_first_and_unasked_pushes)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;
	int fd;

	server->greeting = "220 here I am\r\n";
	server->pushes = 2;
	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect(AF_INET, server->port);
	drive_receive(fd);
	drive_ask(fd, 1);
	e = drive_await_ended(&d, server->port, 1);
	/* It pushes after its answer, as soon as it gets the CPU. */
	for (int i = 0; e.pushed < 3 && i < 5000; i++) {
		drive_sleep(DRIVE_MS);
		e = drive_endpoint(&d, server->port, 0);
	}
	cr_expect_eq(e.answered, 1);
	cr_expect_eq(e.pushed, 3);
	cr_expect_eq(e.sent_bytes, 15 + 7 + 2 * 5);
	drive_server_stop(server);
	drive_close(&d);
}

/* A slow upload is the client's; what may be several requests counts from the first. */
Test(net, pieces_of_a_request_and_requests_behind_each_other_are_joined)
{
	static const struct {
		const char *first;
		uint64_t least_ns, most_ns;
	} cases[] = {
		{"POST / HTTP/1.1\r\n\r\nits body: ", 0, 60 * DRIVE_MS},
		{"a protocol of its own", 150 * DRIVE_MS, 1000 * DRIVE_MS},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct drive_server *server = drive_server_new();
		struct endpoint e;
		struct drive d;
		int fd;

		drive_open_requests(&d);
		drive_server_start(server);
		fd = drive_connect(AF_INET, server->port);
		drive_send(fd, cases[k].first);
		for (int i = 0; i < 3; i++) {
			drive_sleep(50 * DRIVE_MS);
			drive_send(fd, i < 2 ? "some of the body" : "the rest\n");
		}
		drive_receive(fd);
		e = drive_await_ended(&d, server->port, 1);
		cr_expect_eq(e.begun, 1, "%s", cases[k].first);
		cr_expect_eq(e.answered, 1, "%s", cases[k].first);
		/* What is answered between two pieces ends the request: not here. */
		cr_expect_geq(e.joined, 2, "%s", cases[k].first);
		cr_expect_leq(e.joined, 3, "%s", cases[k].first);
		cr_expect(e.time_ns >= cases[k].least_ns && e.time_ns <= cases[k].most_ns,
			  "%s: %llu ns", cases[k].first, (unsigned long long)e.time_ns);
		drive_server_stop(server);
		drive_close(&d);
	}
}

Test(net, a_slow_client_makes_no_slow_request)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;
	size_t got = 0;
	int fd;

	server->large_bytes = 16 << 20;
	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect(AF_INET, server->port);
	drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(700 * DRIVE_MS); /* the server hangs in send() */
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 0);
	for (int i = 0; i < 4; i++)
		got += drive_receive(fd);
	/* Counted as soon as the client is heard of, not when the send returns. */
	cr_expect_eq(drive_await_ended(&d, server->port, 1).answered, 1);
	while (got < server->large_bytes)
		got += drive_receive(fd);
	e = drive_await_ended(&d, server->port, 1);
	cr_expect_eq(e.answered, 1);
	cr_expect_leq(e.time_ns, 400 * DRIVE_MS);
	cr_expect_eq(e.sent_bytes, 16 << 20);
	cr_expect_eq(e.pushed, 0);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net, an_answer_by_sendfile_is_one)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;

	server->by_file = true;
	drive_open_requests(&d);
	drive_server_start(server);
	drive_ask(drive_connect(AF_INET, server->port), 10);
	e = drive_await_ended(&d, server->port, 10);
	cr_expect_eq(e.answered, 10);
	cr_expect_eq(e.begun, 10);
	drive_server_stop(server);
	drive_close(&d);
}

/* TCP_DEFER_ACCEPT: the first data ends the handshake, and tcp_probe does not see it. */
Test(net, data_that_comes_with_the_handshake_is_a_request)
{
	struct drive_server *server = drive_server_new();
	uint64_t losses[LOSS_KERNEL_CNT];
	struct endpoint e;
	struct drive d;
	int fds[4];

	server->defer = true;
	server->delay_us = 5000;
	drive_open_requests(&d);
	drive_server_start(server);
	for (int i = 0; i < 4; i++) {
		fds[i] = drive_connect(AF_INET, server->port);
		drive_ask(fds[i], 2);
	}
	e = drive_await_ended(&d, server->port, 8);
	cr_expect_eq(e.answered, 8);
	cr_expect_eq(e.begun, 8);
	cr_expect_eq(e.joined, 0);
	cr_expect_eq(e.connections, 4);
	cr_expect_geq(e.time_ns, 8 * 5 * DRIVE_MS);
	session_read_losses(d.s, losses);
	cr_expect_eq(losses[LOSS_ARRIVAL_UNSEEN], 0);
	server->mute = true;
	fds[0] = drive_connect(AF_INET, server->port);
	drive_send(fds[0], "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(20 * DRIVE_MS);
	cr_expect_eq(drive_sockets(&d, server->port, false, NULL), 1);
	drive_server_stop(server);
	drive_close(&d);
}

static void *serve_here(void *arg)
{
	struct drive_server *server = arg;
	int listener = drive_listen(server);

	server->pid = getpid();
	drive_serve(server, listener);
	return NULL;
}

/* A process that serves, and asks itself. */
Test(net, the_client_side_does_not_count)
{
	struct drive_server *server = drive_server_new();
	const struct endpoint *rows;
	struct endpoint e;
	unsigned int own = 0;
	pthread_t thread;
	struct drive d;

	drive_open_requests(&d);
	cr_assert_eq(pthread_create(&thread, NULL, serve_here, server), 0);
	while (!server->pid)
		drive_sleep(DRIVE_MS);
	drive_ask(drive_connect(AF_INET, server->port), 20);
	e = drive_await_ended(&d, server->port, 20);
	cr_expect_eq(e.begun, 20);
	cr_expect_eq(e.answered, 20);
	cr_expect_eq(e.connections, 1);
	cr_expect_eq(e.received_bytes, 20 * 18);
	for (uint32_t i = session_endpoints(d.s, &rows); i-- > 0;)
		own += rows[i].tgid == (uint32_t)getpid();
	cr_expect_eq(own, 1);
	drive_close(&d);
}

Test(net, other_traffic_has_no_rows)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t bytes = sizeof(address);
	const struct endpoint *rows;
	int pair[2], udp[2];
	struct drive d;
	char text[8];

	drive_open_requests(&d);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (int i = 0; i < 2; i++)
		udp[i] = socket(AF_INET, SOCK_DGRAM, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cr_assert_eq(bind(udp[0], (void *)&address, bytes), 0);
	cr_assert_eq(getsockname(udp[0], (void *)&address, &bytes), 0);
	cr_assert_eq(connect(udp[1], (void *)&address, bytes), 0);
	for (int i = 0; i < 20; i++) {
		drive_send(pair[0], "ask");
		cr_assert_eq(read(pair[1], text, sizeof(text)), 3);
		drive_send(udp[1], "ask");
		cr_assert_eq(read(udp[0], text, sizeof(text)), 3);
	}
	for (uint32_t i = session_endpoints(d.s, &rows); i-- > 0;)
		cr_expect_neq(rows[i].tgid, (uint32_t)getpid());
	drive_close(&d);
}
