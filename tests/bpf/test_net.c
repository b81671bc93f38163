/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests as the kernel shows them, against servers that are known to the microsecond. */
#include <criterion/criterion.h>
#include <unistd.h>

#include "drive_net.h"

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

/* A server that sleeps a second, asked before the session; connections that wait for nothing beside it. */
Test(net, requests_unanswered_at_the_start_count_from_their_arrival)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	uint64_t asked_ns;
	struct endpoint e;
	struct drive d;
	int idle, answered, asks;

	server->delay_us = 600000;
	drive_server_start(server);
	idle = drive_connect(AF_INET, server->port);
	answered = drive_connect(AF_INET, server->port);
	drive_ask(answered, 1);
	asks = drive_connect(AF_INET, server->port);
	asked_ns = host_now_ns();
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
	cr_expect_eq(first.backlog, 64);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	drive_server_stop(server);
	drive_close(&d);
}
