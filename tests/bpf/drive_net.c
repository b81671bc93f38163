/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive_net.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- servers --------------------------------------------------------------------------------- */

struct drive_server *drive_server_new(void)
{
	void *memory = mmap(NULL, sizeof(struct drive_server), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	return memory;
}

static socklen_t address_of(int family, bool any, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (family == AF_INET6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		v6->sin6_addr = any ? in6addr_any : in6addr_loopback;
		return sizeof(*v6);
	}
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	v4->sin_addr.s_addr = htonl(any ? INADDR_ANY : INADDR_LOOPBACK);
	return sizeof(*v4);
}

static void must(bool what, const char *says)
{
	if (what)
		return;
	fprintf(stderr, "server: %s: %s\n", says, strerror(errno));
	_exit(99);
}

int drive_listen(struct drive_server *server)
{
	int family = server->family ?: AF_INET, one = 1, off = 0;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, server->protocol);
	struct sockaddr_storage address;
	socklen_t bytes;

	must(fd >= 0, "socket");
	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), "SO_REUSEADDR");
	if (server->reuse)
		must(!setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), "SO_REUSEPORT");
	if (server->defer)
		must(!setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &one, sizeof(one)), "DEFER");
	if (server->any && family == AF_INET6)
		must(!setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), "V6ONLY");
	bytes = address_of(family, server->any, server->want_port, &address);
	must(!bind(fd, (void *)&address, bytes), "bind");
	must(!listen(fd, DRIVE_BACKLOG), "listen");
	must(!getsockname(fd, (void *)&address, &bytes), "getsockname");
	server->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
	return fd;
}

struct served {
	struct drive_server *server;
	int fd;
};

static bool answer(const struct drive_server *server, int fd)
{
	static char large[16 << 20];
	int file;
	bool sent;

	if (server->large_bytes)
		return send(fd, large, server->large_bytes, MSG_NOSIGNAL) > 0;
	if (!server->by_file)
		return send(fd, "answer\n", 7, MSG_NOSIGNAL) > 0;
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	sent = sendfile(fd, file, NULL, 4096) > 0;
	close(file);
	return sent;
}

static void serve_connection(struct drive_server *server, int fd)
{
	char line[65536];

	if (server->greeting)
		(void)!send(fd, server->greeting, strlen(server->greeting), MSG_NOSIGNAL);
	for (;;) {
		ssize_t n = recv(fd, line, sizeof(line), 0);

		if (n <= 0)
			break;
		if (line[n - 1] != '\n')
			continue;
		while (server->mute)
			usleep(1000);
		if (server->delay_us)
			usleep(server->delay_us);
		if (!answer(server, fd))
			break;
		for (unsigned int i = 0; i < server->pushes; i++)
			(void)!send(fd, "more\n", 5, MSG_NOSIGNAL);
	}
	close(fd);
}

static void *serve_in_thread(void *arg)
{
	struct served served = *(struct served *)arg;

	free(arg);
	serve_connection(served.server, served.fd);
	return NULL;
}

/* One message of SCM_RIGHTS (unix(7)); send_fd < 0: receives one and returns it. */
static int pass_fd(int via, int send_fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int fd;

	if (send_fd < 0) {
		must(recvmsg(via, &message, 0) == 1, "recvmsg");
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		return fd;
	}
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &send_fd, sizeof(send_fd));
	must(sendmsg(via, &message, 0) == 1, "sendmsg");
	return 0;
}

/* The child closes the listening socket: it has nothing but what it is given. */
static int fork_server_of_handed_over(struct drive_server *server, int listener)
{
	pid_t child;
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	child = fork();
	if (child) {
		server->child = child;
		close(ends[1]);
		return ends[0];
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(listener);
	close(ends[0]);
	for (;;)
		serve_connection(server, pass_fd(ends[1], -1));
}

void drive_serve(struct drive_server *server, int listener)
{
	int via = server->hands_over ? fork_server_of_handed_over(server, listener) : -1;

	for (;;) {
		struct served *served = malloc(sizeof(*served));
		pthread_t thread;

		must(served, "malloc");
		if (server->lazy)
			pause();
		served->server = server;
		served->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		must(served->fd >= 0, "accept");
		if (server->forks && !fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve_connection(server, served->fd);
			_exit(0);
		}
		if (server->hands_over)
			pass_fd(via, served->fd);
		if (server->hands_over || server->forks) {
			close(served->fd);
			free(served);
			continue;
		}
		must(!pthread_create(&thread, NULL, serve_in_thread, served), "thread");
		pthread_detach(thread);
	}
}

static void run_client(struct drive_server *server)
{
	char text[64];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = drive_connect(AF_INET, server->port);
	drive_ask(fd, server->requests);
	drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
	must(recv(fd, text, sizeof(text), 0) > 0, "recv");
	server->asked = true;
	while (!server->go)
		usleep(1000);
	drive_ask(fd, server->requests);
	server->done = true;
	pause();
}

static int run_server(void *arg)
{
	struct drive_server *server = arg;
	int listener;

	setpgid(0, 0);
	if (server->forks)
		signal(SIGCHLD, SIG_IGN);
	if (server->own_namespace) {
		must(!unshare(CLONE_NEWNET), "unshare");
		must(!system("ip link set lo up"), "lo");
	}
	listener = drive_listen(server);
	if (server->own_namespace && !fork())
		run_client(server);
	for (unsigned int i = 0; i < server->workers; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			drive_serve(server, listener);
		}
	server->pid = getpid();
	if (server->workers)
		pause();
	drive_serve(server, listener);
	return 0;
}

void drive_server_start(struct drive_server *server)
{
	pid_t pid;

	server->pid = 0;
	pid = drive_fork(run_server, server, -1, false);
	for (int i = 0; i < 5000 && !server->pid; i++)
		drive_sleep(DRIVE_MS);
	cr_assert_eq(server->pid, pid, "the server did not start");
}

void drive_server_stop(struct drive_server *server)
{
	killpg(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
}

/* --- clients --------------------------------------------------------------------------------- */

int drive_connect(int family, uint16_t port)
{
	return drive_connect_by(family, 0, port);
}

int drive_connect_by(int family, int protocol, uint16_t port)
{
	int one = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
	struct sockaddr_storage address;
	socklen_t bytes = address_of(family, false, port, &address);

	cr_assert_geq(fd, 0);
	cr_assert_eq(connect(fd, (void *)&address, bytes), 0, "connect: %s", strerror(errno));
	cr_assert_eq(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	return fd;
}

void drive_send_bytes(int fd, const void *bytes, size_t cnt)
{
	cr_assert_eq(send(fd, bytes, cnt, MSG_NOSIGNAL), (ssize_t)cnt);
}

void drive_send(int fd, const char *text)
{
	drive_send_bytes(fd, text, strlen(text));
}

void drive_reset(int fd)
{
	struct linger now = {1, 0};

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
}

size_t drive_receive(int fd)
{
	struct pollfd poll_fd = {fd, POLLIN, 0};
	char text[65536];
	ssize_t n;

	cr_assert_eq(poll(&poll_fd, 1, 5000), 1, "no answer");
	n = recv(fd, text, sizeof(text), 0);
	cr_assert_geq(n, 0, "recv: %s", strerror(errno));
	return (size_t)n;
}

void drive_ask(int fd, unsigned int requests)
{
	for (unsigned int i = 0; i < requests; i++) {
		drive_send(fd, "GET / HTTP/1.1\r\n\r\n");
		drive_receive(fd);
	}
}

/* --- what the session says ------------------------------------------------------------------- */

void drive_open_requests(struct drive *d)
{
	struct session_options options = {
		.sample_hz = 99, .requests = true, .slow_ns = 50 * DRIVE_MS};

	drive_open(d, &options);
	/* What must not be skipped in silence where the kernel ought to do it. */
	if (feature_why(session_features(d->s), FEATURE_REQUESTS))
		drive_skip(feature_why(session_features(d->s), FEATURE_REQUESTS));
}

static void add_endpoint(struct endpoint *sum, const struct endpoint *by)
{
	struct endpoint was = *sum;

	*sum = *by;
	sum->protocols |= was.protocols;
	sum->connections += was.connections;
	sum->begun += was.begun;
	sum->answered += was.answered;
	sum->abandoned += was.abandoned;
	sum->slow += was.slow;
	sum->very_slow += was.very_slow;
	sum->time_ns += was.time_ns;
	sum->time_max_ns = by->time_max_ns > was.time_max_ns ? by->time_max_ns : was.time_max_ns;
	sum->joined += was.joined;
	sum->pushed += was.pushed;
	sum->received_bytes += was.received_bytes;
	sum->sent_bytes += was.sent_bytes;
	sum->unseen += was.unseen;
	for (int i = 0; i < RESPONSE_SLOTS; i++)
		sum->times[i] += was.times[i];
}

struct endpoint drive_endpoint(struct drive *d, uint16_t port, uint32_t tgid)
{
	struct endpoint sum = {0};
	const struct endpoint *rows;
	uint32_t cnt = session_endpoints(d->s, &rows);

	for (uint32_t i = 0; i < cnt; i++)
		if (rows[i].listener && rows[i].port == port && (!tgid || rows[i].tgid == tgid))
			add_endpoint(&sum, &rows[i]);
	return sum;
}

unsigned int drive_rows(struct drive *d, uint16_t port)
{
	const struct endpoint *rows;
	uint32_t cnt = session_endpoints(d->s, &rows);
	unsigned int found = 0;

	for (uint32_t i = 0; i < cnt; i++)
		found += rows[i].listener && rows[i].port == port;
	return found;
}

struct endpoint drive_await_ended(struct drive *d, uint16_t port, uint64_t requests)
{
	struct endpoint e;

	for (int i = 0; i < 5000; i++) {
		e = drive_endpoint(d, port, 0);
		if (e.answered + e.abandoned >= requests)
			break;
		drive_sleep(DRIVE_MS);
	}
	drive_sleep(2 * DRIVE_MS); /* counters of one request follow each other */
	return drive_endpoint(d, port, 0);
}

struct wanted {
	uint16_t port;
	bool listening;
	unsigned int found;
	struct event_socket first;
};

static void take_socket(void *ctx, const struct event_socket *socket)
{
	struct wanted *w = ctx;

	cr_assert_eq(socket->header.kind, EVENT_SOCKET);
	cr_assert_eq(socket->header.size, sizeof(*socket));
	if (socket->port != w->port || w->listening != !!(socket->flags & SOCKET_LISTENS))
		return;
	if (!w->found++)
		w->first = *socket;
}

unsigned int drive_sockets(struct drive *d, uint16_t port, bool listening,
			   struct event_socket *ret_first)
{
	struct wanted w = {.port = port, .listening = listening};
	struct session_ops ops = {.ctx = &w, .socket = take_socket};

	cr_assert_eq(session_read_sockets(d->s, &ops), 0);
	if (ret_first)
		*ret_first = w.first;
	return w.found;
}
