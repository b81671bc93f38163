/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of endpoints in sessions of months: who is gone gives them back; and nobody takes those
 * of others. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drive_net.h"

/* Waits until a port has at most so many rows, at most 15 s. */
static unsigned int await_rows(struct drive *d, uint16_t port, unsigned int most)
{
	unsigned int rows = 0;

	for (int i = 0; i < 150; i++) {
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

struct refusals {
	uint64_t mine, others;
};

static void take_refused(void *ctx, uint32_t tgid, uint64_t start_ns, uint64_t requests)
{
	struct refusals *seen = ctx;

	cr_expect_gt(start_ns, 0);
	*(tgid == (uint32_t)getpid() ? &seen->mine : &seen->others) += requests;
}

static struct refusals read_refusals(struct drive *d)
{
	struct refusals seen = {0};
	struct session_ops ops = {.ctx = &seen, .refused = take_refused};

	cr_assert_eq(session_read_refused(d->s, &ops), 0);
	return seen;
}

static uint64_t lost(struct drive *d, enum loss_cause cause)
{
	uint64_t counts[LOSS_KERNEL_CNT];

	session_read_losses(d->s, counts);
	return counts[cause];
}

static unsigned int rows_of(struct drive *d, uint32_t tgid)
{
	const struct endpoint *rows;
	uint32_t cnt = session_endpoints(d->s, &rows);
	unsigned int found = 0;

	for (uint32_t i = 0; i < cnt; i++)
		found += rows[i].listener && rows[i].tgid == tgid;
	return found;
}

/* A request that the test's own process answers. */
static void serve_once(struct drive_server *server, int listener)
{
	int client = drive_connect(AF_INET, server->port), served = accept(listener, NULL, NULL);
	char text[64];

	cr_assert_geq(served, 0);
	drive_send(client, "GET / HTTP/1.1\r\n\r\n");
	cr_assert_gt(recv(served, text, sizeof(text), 0), 0);
	drive_send(served, "answer\n");
	drive_receive(client);
	close(client);
	close(served);
}

static void listen_and_close(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		struct drive_server server = {0};
		int listener = drive_listen(&server);

		serve_once(&server, listener);
		close(listener);
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
	serve_once(server, listener);
	close(listener);
	listen_and_close(200);
	taken = session_endpoints(d.s, &rows);
	cr_expect_geq(taken, 200);
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
	/* Of these it could not have so many at a time. */
	listen_and_close(200);
	cr_expect_eq(read_refusals(&d).mine, 0);
	cr_expect_leq(rows_of(&d, (uint32_t)getpid()), 201);
	d.may_lose = true;
	drive_close(&d);
}

/* Who goes on to listen, and is asked again after a while. */
Test(net_rows, of_sockets_where_nothing_happens_are_given_back_for_a_while)
{
	struct drive_server *server = drive_server_new();
	struct endpoint before, after;
	struct drive d;
	int fd;

	drive_open_requests(&d);
	drive_server_start(server);
	fd = drive_connect(AF_INET, server->port);
	drive_ask(fd, 3);
	before = drive_await_ended(&d, server->port, 3);
	cr_expect_eq(before.answered, 3);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(await_rows(&d, server->port, 0), 0, "%d", i);
	drive_ask(fd, 5);
	after = drive_await_ended(&d, server->port, 5);
	cr_expect_eq(after.answered, 5);
	cr_expect_eq(after.begun, 5);
	cr_expect_eq(after.tgid, before.tgid);
	cr_expect_arr_eq(after.address, before.address, sizeof(after.address));
	drive_server_stop(server);
	drive_close(&d);
}

/* --- by shares ------------------------------------------------------------------------------- */

#define LISTENERS 600

static void allow_files(rlim_t files)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < files)
		limit.rlim_cur = files;
	if (limit.rlim_max < files)
		limit.rlim_max = files;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* What a process asks for beyond them is counted as lost, with its name, however the requests
 * end. */
Test(net_rows, of_one_process_leave_others_theirs)
{
	static struct drive_server servers[LISTENERS];
	struct drive_server *innocent = drive_server_new();
	static int listeners[LISTENERS];
	struct refusals refusals;
	unsigned int rows;
	struct drive d;
	int fd;

	allow_files(2 * LISTENERS);
	drive_open_requests(&d);
	for (int i = 0; i < LISTENERS; i++)
		listeners[i] = drive_listen(&servers[i]);
	cr_expect_eq(rows_of(&d, (uint32_t)getpid()), 0, "to listen takes none");
	for (int i = 0; i < LISTENERS; i++)
		serve_once(&servers[i], listeners[i]);
	drive_server_start(innocent);
	fd = drive_connect(AF_INET, innocent->port);
	drive_ask(fd, 20);
	cr_expect_eq(drive_await_ended(&d, innocent->port, 20).answered, 20);
	rows = rows_of(&d, (uint32_t)getpid());
	/* Less where others of the same cgroup have some: other tests run at the same time. */
	cr_expect(rows >= 64 && rows <= ENDPOINTS_OF_PROCESS, "%u", rows);
	refusals = read_refusals(&d);
	cr_expect_eq(refusals.mine, LISTENERS - rows);
	/* Counters of losses are not exact to the last one. */
	cr_expect_geq(lost(&d, LOSS_ENDPOINTS) + LISTENERS / 100, refusals.mine);
	cr_expect_eq(read_refusals(&d).mine, 0, "each is told once");
	fd = drive_connect(AF_INET, servers[LISTENERS - 1].port);
	drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(5 * DRIVE_MS);
	drive_reset(fd);
	drive_sleep(5 * DRIVE_MS);
	cr_expect_eq(read_refusals(&d).mine, 1, "that is given up is counted, too");
	drive_server_stop(innocent);
	d.may_lose = true;
	drive_close(&d);
}

/* Connections from before the session: of who had very many, some are not followed, which is
 * said. */
Test(net_rows, of_earlier_sockets_are_shared_too)
{
	static struct drive_server servers[LISTENERS];
	struct drive_server *innocent = drive_server_new();
	struct drive d;
	int fd;

	allow_files(2 * LISTENERS);
	for (int i = 0; i < LISTENERS; i++)
		drive_listen(&servers[i]);
	drive_server_start(innocent);
	fd = drive_connect(AF_INET, innocent->port);
	drive_ask(fd, 1);
	drive_open_requests(&d);
	/* Other tests run at the same time, and have sockets. */
	cr_expect_geq(lost(&d, LOSS_LISTENING), LISTENERS - ENDPOINTS_OF_PROCESS);
	drive_ask(fd, 20);
	cr_expect_eq(drive_await_ended(&d, innocent->port, 20).answered, 20);
	drive_server_stop(innocent);
	d.may_lose = true;
	drive_close(&d);
}
