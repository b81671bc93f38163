/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests over the lives of sockets: who listens, who serves, where, and for how long. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive_net.h"
#include "kernel/namespaces.h"

static struct drive_server *started(struct drive_server wanted)
{
	struct drive_server *server = drive_server_new();

	*server = wanted;
	drive_server_start(server);
	return server;
}

Test(net_life, sockets_of_one_port_have_rows_of_their_own)
{
	struct drive_server *servers[2];
	struct endpoint e, of[2];
	struct drive d;

	drive_open_requests(&d);
	servers[0] = started((struct drive_server){.reuse = true});
	servers[1] = started((struct drive_server){.reuse = true, .want_port = servers[0]->port});
	for (int i = 0; i < 40; i++)
		drive_ask(drive_connect(AF_INET, servers[0]->port), 2);
	e = drive_await_ended(&d, servers[0]->port, 80);
	cr_expect_eq(e.answered, 80);
	cr_expect_eq(e.connections, 40);
	cr_expect_eq(drive_rows(&d, servers[0]->port), 2);
	for (int i = 0; i < 2; i++) {
		of[i] = drive_endpoint(&d, servers[0]->port, (uint32_t)servers[i]->pid);
		cr_expect_geq(of[i].answered, 2);
	}
	cr_expect_neq(of[0].listener, of[1].listener);
	for (int i = 0; i < 2; i++)
		drive_server_stop(servers[i]);
	drive_close(&d);
}

Test(net_life, workers_that_inherit_the_socket_have_rows_of_their_own)
{
	struct drive_server *server;
	const struct endpoint *rows;
	unsigned int workers = 0;
	struct endpoint e;
	struct drive d;

	drive_open_requests(&d);
	server = started((struct drive_server){.workers = 3});
	for (int i = 0; i < 60; i++)
		drive_ask(drive_connect(AF_INET, server->port), 1);
	e = drive_await_ended(&d, server->port, 60);
	cr_expect_eq(e.answered, 60);
	cr_expect_eq(e.begun, 60);
	cr_expect_eq(drive_endpoint(&d, server->port, (uint32_t)server->pid).begun, 0);
	for (uint32_t i = session_endpoints(d.s, &rows); i-- > 0;)
		if (rows[i].port == server->port && rows[i].answered) {
			workers++;
			cr_expect_eq(rows[i].process_start_ns / 10000000,
				     drive_proc_start_ticks((pid_t)rows[i].tgid));
			cr_expect_eq(*(uint32_t *)rows[i].address, htonl(INADDR_LOOPBACK));
		}
	cr_expect_geq(workers, 1);
	cr_expect_leq(workers, 3);
	drive_server_stop(server);
	drive_close(&d);
}

/* Reading is not seen: who holds the connection is looked for. */
Test(net_life, a_hang_in_the_first_request_belongs_to_the_worker_that_read_it)
{
	struct drive_server *server;
	struct event_socket first;
	struct drive d;
	int fd;

	drive_open_requests(&d);
	server = started((struct drive_server){.workers = 2, .mute = true});
	fd = drive_connect(AF_INET, server->port);
	drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	drive_sleep(150 * DRIVE_MS);
	cr_assert_eq(drive_sockets(&d, server->port, false, &first), 1);
	cr_expect_eq(first.flags, SOCKET_ACCEPTED);
	cr_expect_neq(first.tgid, 0);
	cr_expect_neq(first.tgid, (uint32_t)server->pid);
	cr_expect_eq(drive_endpoint(&d, server->port, first.tgid).begun, 1);
	server->mute = false;
	drive_receive(fd);
	drive_await_ended(&d, server->port, 1);
	cr_expect_eq(drive_endpoint(&d, server->port, first.tgid).answered, 1);
	cr_expect_eq(drive_endpoint(&d, server->port, 0).begun, 1);
	drive_server_stop(server);
	drive_close(&d);
}

/* WORKERS_MAX of bpf/request.bpf.h. */
Test(net_life, a_process_for_each_connection_does_not_use_up_the_rows)
{
	struct drive_server *server;
	struct endpoint e, own;
	struct drive d;

	drive_open_requests(&d);
	server = started((struct drive_server){.forks = true});
	for (int i = 0; i < 300; i++) {
		int fd = drive_connect(AF_INET, server->port);

		drive_ask(fd, 1);
		close(fd);
	}
	e = drive_await_ended(&d, server->port, 300);
	cr_expect_eq(e.answered, 300);
	cr_expect_eq(e.connections, 300);
	cr_expect_eq(drive_rows(&d, server->port), 256);
	own = drive_endpoint(&d, server->port, (uint32_t)server->pid);
	cr_expect_eq(own.answered, 300 - 255);
	drive_server_stop(server);
	d.may_lose = true;
	drive_close(&d);
}

static void hand_over(bool before)
{
	struct drive_server *server = NULL;
	struct endpoint e;
	struct drive d;
	int fd = -1;

	if (before) {
		server = started((struct drive_server){.hands_over = true});
		fd = drive_connect(AF_INET, server->port);
		drive_ask(fd, 1);
	}
	drive_open_requests(&d);
	if (!before) {
		server = started((struct drive_server){.hands_over = true});
		fd = drive_connect(AF_INET, server->port);
	}
	drive_ask(fd, 7);
	drive_await_ended(&d, server->port, 7);
	e = drive_endpoint(&d, server->port, (uint32_t)server->child);
	cr_expect_eq(e.answered, 7);
	cr_expect_eq(e.begun, 7);
	cr_expect_eq(drive_endpoint(&d, server->port, (uint32_t)server->pid).begun, 0);
	drive_server_stop(server);
	drive_close(&d);
}

Test(net_life, requests_belong_to_the_process_that_a_socket_was_handed_to)
{
	hand_over(false);
}

Test(net_life, the_same_for_sockets_older_than_the_session)
{
	hand_over(true);
}

Test(net_life, both_families_and_the_one_inside_the_other)
{
	struct drive_server *v6, *both;
	uint8_t zero[16] = {0};
	struct endpoint e;
	struct drive d;
	int old;

	if (access("/proc/net/if_inet6", R_OK))
		drive_skip("no IPv6 here");
	both = started((struct drive_server){.family = AF_INET6, .any = true});
	old = drive_connect(AF_INET, both->port);
	drive_open_requests(&d);
	v6 = started((struct drive_server){.family = AF_INET6});
	drive_ask(drive_connect(AF_INET6, v6->port), 3);
	e = drive_await_ended(&d, v6->port, 3);
	cr_expect_eq(e.answered, 3);
	cr_expect_eq(e.family, AF_INET6);
	cr_expect_arr_eq(e.address, &in6addr_loopback, 16);
	drive_ask(drive_connect(AF_INET6, both->port), 2);
	drive_ask(drive_connect(AF_INET, both->port), 2);
	drive_ask(old, 2);
	e = drive_await_ended(&d, both->port, 6);
	cr_expect_eq(e.answered, 6);
	cr_expect_eq(e.connections, 3);
	cr_expect_eq(e.family, AF_INET6);
	cr_expect_arr_eq(e.address, zero, 16);
	drive_server_stop(v6);
	drive_server_stop(both);
	drive_close(&d);
}

Test(net_life, a_port_that_is_opened_again_is_another_endpoint)
{
	struct drive_server *first, *second;
	struct endpoint of[2];
	struct drive d;

	drive_open_requests(&d);
	first = started((struct drive_server){0});
	drive_ask(drive_connect(AF_INET, first->port), 4);
	drive_await_ended(&d, first->port, 4);
	drive_server_stop(first);
	second = started((struct drive_server){.want_port = first->port});
	drive_ask(drive_connect(AF_INET, first->port), 5);
	drive_await_ended(&d, first->port, 9);
	of[0] = drive_endpoint(&d, first->port, (uint32_t)first->pid);
	of[1] = drive_endpoint(&d, first->port, (uint32_t)second->pid);
	cr_expect_eq(of[0].answered, 4);
	cr_expect_eq(of[1].answered, 5);
	cr_expect_neq(of[0].listener, of[1].listener);
	cr_expect_eq(drive_sockets(&d, first->port, true, NULL), 1);
	drive_server_stop(second);
	drive_close(&d);
}

/* A client that asks again at once does so within the clock tick of the answer: the kernel's times
 * of both are the same. Beside them connections whose last request was answered. */
Test(net_life, hangs_of_clients_without_a_pause_are_seen_afterwards)
{
	struct drive_server *servers[8];
	unsigned int hung = 0;
	struct drive d;

	for (int i = 0; i < 8; i++) {
		int fd;

		servers[i] = started((struct drive_server){0});
		fd = drive_connect(AF_INET, servers[i]->port);
		drive_ask(fd, 30);
		drive_ask(drive_connect(AF_INET, servers[i]->port), 30);
		drive_ask(fd, 5);
		servers[i]->mute = true;
		drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	}
	drive_sleep(300 * DRIVE_MS);
	drive_open_requests(&d);
	for (int i = 0; i < 8; i++) {
		unsigned int found = drive_sockets(&d, servers[i]->port, false, NULL);

		cr_expect_leq(found, 1, "an answered one counts");
		hung += found;
		drive_server_stop(servers[i]);
	}
	cr_expect_eq(hung, 8);
	drive_close(&d);
}

/* As daemons do: who called listen() is gone, its child serves. */
static int run_daemon(void *arg)
{
	struct drive_server *server = arg;
	int listener = drive_listen(server);

	if (fork())
		_exit(0);
	server->pid = getpid();
	drive_serve(server, listener);
	return 0;
}

Test(net_life, a_listening_socket_outlives_its_process)
{
	struct drive_server *server = drive_server_new();
	struct event_socket first;
	struct endpoint e;
	struct drive d;
	pid_t gone;

	drive_open_requests(&d);
	gone = drive_fork(run_daemon, server, -1, false);
	waitpid(gone, NULL, 0);
	while (!server->pid)
		drive_sleep(DRIVE_MS);
	drive_sockets(&d, server->port, true, NULL); /* notices it */
	cr_assert_eq(drive_sockets(&d, server->port, true, &first), 1);
	cr_expect_eq(first.tgid, (uint32_t)server->pid);
	drive_ask(drive_connect(AF_INET, server->port), 2);
	drive_await_ended(&d, server->port, 2);
	e = drive_endpoint(&d, server->port, (uint32_t)server->pid);
	cr_expect_eq(e.answered, 2);
	cr_expect_eq(*(uint32_t *)e.address, htonl(INADDR_LOOPBACK));
	drive_kill(server->pid);
	drive_close(&d);
}

static void await(volatile bool *flag)
{
	for (int i = 0; i < 5000 && !*flag; i++)
		drive_sleep(DRIVE_MS);
	cr_assert(*flag, "the client did not come so far");
}

/* Without CAP_SYS_ADMIN namespaces may not be entered. Criterion runs each test in a process of its
 * own. */
static void may_enter(bool yes)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	cr_assert_eq(syscall(SYS_capget, &header, data), 0);
	data[0].effective = yes ? data[0].effective | 1u << CAP_SYS_ADMIN
				: data[0].effective & ~(1u << CAP_SYS_ADMIN);
	cr_assert_eq(syscall(SYS_capset, &header, data), 0);
}

/* Four namespaces: two with a service, its client and an unanswered request before the session, two
 * later. */
static void see_namespaces(bool entered)
{
	struct drive_server wanted = {.own_namespace = true, .requests = 5, .want_port = 8080};
	struct drive_server *servers[4];
	struct event_socket first;
	uint32_t seen, all;
	struct endpoint e;
	struct drive d;

	for (int i = 0; i < 2; i++) {
		servers[i] = started(wanted);
		servers[i]->delay_us = 0;
	}
	for (int i = 0; i < 2; i++) {
		await(&servers[i]->asked);
		servers[i]->mute = true;
		servers[i]->go = true;
	}
	drive_sleep(50 * DRIVE_MS);
	may_enter(entered);
	drive_open_requests(&d);
	may_enter(true);
	session_namespaces(d.s, &seen, &all);
	cr_expect_geq(all, 3);
	if (entered)
		cr_expect_geq(seen, 3);
	else
		cr_expect_eq(seen, 1);
	cr_assert_eq(drive_sockets(&d, 8080, false, &first), 2);
	cr_expect(first.flags & SOCKET_EARLIER);
	for (int i = 0; i < 2; i++) {
		servers[i]->mute = false;
		await(&servers[i]->done);
	}
	for (int i = 2; i < 4; i++) {
		servers[i] = started(wanted);
		servers[i]->go = true;
		await(&servers[i]->done);
	}
	drive_await_ended(&d, 8080, 2 * 5 + 2 * 11);
	for (int i = 0; i < 4; i++) {
		e = drive_endpoint(&d, 8080, (uint32_t)servers[i]->pid);
		cr_expect_eq(e.answered, i < 2 ? 5 : 11, "server %d: %llu", i,
			     (unsigned long long)e.answered);
		cr_expect_eq(e.begun, e.answered);
		cr_expect_eq(e.connections, 1);
		drive_server_stop(servers[i]);
	}
	cr_expect_eq(drive_rows(&d, 8080), 4);
	drive_close(&d);
}

Test(net_life, all_network_namespaces_are_seen)
{
	see_namespaces(true);
}

Test(net_life, namespaces_that_cannot_be_entered_are_seen_by_open_files)
{
	see_namespaces(false);
}

/* Namespaces that another user counts as not seen. */
static int count_unseen(void *arg)
{
	struct namespaces *list = arg;

	if (setgid(65534) || setuid(65534) || namespaces_open(list))
		return 1;
	namespaces_close(list);
	return 0;
}

static int live_apart(void *unused)
{
	(void)unused;
	if (unshare(CLONE_NEWNET))
		return 1;
	for (;;)
		pause();
}

static uint32_t unseen_by_another_user(struct namespaces *list)
{
	pid_t pid = drive_fork(count_unseen, list, -1, false);
	int status = 0;

	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		drive_skip("not root");
	return list->unseen;
}

/* Who may not be looked into, as hotrun sees processes with more capabilities, lives where we are,
 * or apart. */
Test(net_life, namespaces_of_processes_that_are_closed_to_us_are_counted_once)
{
	struct namespaces *list = mmap(NULL, sizeof(*list), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t apart[2];
	uint32_t before;

	cr_assert_neq(list, MAP_FAILED);
	before = unseen_by_another_user(list);
	for (int i = 0; i < 2; i++)
		apart[i] = drive_fork(live_apart, NULL, -1, false);
	for (int i = 0; i < 5000 && unseen_by_another_user(list) < before + 2; i++)
		drive_sleep(DRIVE_MS);
	cr_expect_eq(list->unseen, before + 2);
	for (int i = 0; i < 2; i++)
		drive_kill(apart[i]);
	munmap(list, sizeof(*list));
}
