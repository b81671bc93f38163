/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of endpoints in sessions of months: who is gone gives them back. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drive_net.h"

/* Waits until a port has at most so many rows, at most 10 s. */
static unsigned int await_rows(struct drive *d, uint16_t port, unsigned int most)
{
	unsigned int rows = 0;

	for (int i = 0; i < 100; i++) {
		drive_sockets(d, port, true, NULL);
		rows = drive_rows(d, port);
		if (rows <= most)
			break;
		drive_sleep(100 * DRIVE_MS);
	}
	return rows;
}

static void connect_and_ask(uint16_t port, unsigned int connections)
{
	for (unsigned int i = 0; i < connections; i++) {
		int fd = drive_connect(AF_INET, port);

		drive_ask(fd, 1);
		close(fd);
	}
}

/* 256 processes of one socket have rows at a time, give or take two that come at once. */
Test(net_rows, of_processes_that_are_gone_are_given_back)
{
	struct drive_server *server = drive_server_new();
	struct endpoint e;
	struct drive d;
	unsigned int rows;
	int kept;

	server->forks = true;
	drive_open_requests(&d);
	drive_server_start(server);
	kept = drive_connect(AF_INET, server->port);
	drive_ask(kept, 3);
	for (int round = 0; round < 2; round++) {
		connect_and_ask(server->port, 280);
		drive_await_ended(&d, server->port, 3 + 280 + (unsigned int)round * (280 - 254));
		rows = drive_rows(&d, server->port);
		cr_expect(rows >= 250 && rows <= 258, "round %d: %u", round, rows);
		/* That of the one that listens, and the child that lives. */
		cr_expect_eq(await_rows(&d, server->port, 2), 2, "round %d", round);
	}
	drive_ask(kept, 3);
	drive_sleep(5 * DRIVE_MS);
	e = drive_endpoint(&d, server->port, 0);
	/* What rows held that were given back is told no more; two CPUs may take one row less. */
	cr_expect_geq(e.answered, 6 + 2 * (280 - 256));
	cr_expect_leq(e.answered, 6 + 2 * (280 - 250));
	drive_server_stop(server);
	d.may_lose = true;
	drive_close(&d);
}

static void listen_and_close(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		struct drive_server server = {0};

		close(drive_listen(&server));
	}
}

/* Sockets one after the other; a connection that outlives the first one goes on to count. */
Test(net_rows, of_sockets_that_listen_no_more_are_given_back)
{
	struct drive_server *server = drive_server_new();
	int listener = drive_listen(server), client, served;
	const struct endpoint *rows;
	struct endpoint e;
	struct drive d;
	uint32_t taken;
	char text[64];

	drive_open_requests(&d);
	client = drive_connect(AF_INET, server->port);
	served = accept(listener, NULL, NULL);
	cr_assert_geq(served, 0);
	close(listener);
	listen_and_close(1500);
	taken = session_endpoints(d.s, &rows);
	cr_expect_geq(taken, 1500);
	cr_expect_eq(await_rows(&d, server->port, 0), 0);
	for (int i = 0; i < 2; i++) {
		drive_send(client, "GET / HTTP/1.1\r\n\r\n");
		cr_assert_gt(recv(served, text, sizeof(text), 0), 0);
		drive_send(served, "answer\n");
		drive_receive(client);
	}
	e = drive_await_ended(&d, server->port, 2);
	cr_expect_eq(e.answered, 2);
	cr_expect_eq(e.begun, 2);
	cr_expect_eq(e.tgid, (uint32_t)getpid());
	listen_and_close(1400);
	/* Others of this host may listen anew meanwhile. */
	cr_expect_leq(session_endpoints(d.s, &rows), taken + 700);
	drive_close(&d);
}
