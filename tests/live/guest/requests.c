/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that is known to the millisecond, its clients, and a session that sees their requests:
 * prints `FACT requests_NAME VALUE` lines. One request is asked before the session and answered at
 * the end; 100 over two connections are answered after 5 ms each; one is reset.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/host.h"
#include "kernel/session.h"

#define REQUESTS 100
#define ANSWER	 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct sockaddr_in address;

static int check(int result, const char *what)
{
	if (result >= 0)
		return result;
	perror(what);
	exit(1);
}

static volatile bool hold = true; /* what is asked with /hold */

/* A request for /N waits for N ms. */
static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char request[4096];
	ssize_t n;

	while ((n = recv(fd, request, sizeof(request) - 1, 0)) > 0) {
		request[n] = '\0';
		usleep((useconds_t)atoi(request + 5) * 1000);
		while (hold && request[5] == 'h')
			usleep(1000);
		if (send(fd, ANSWER, strlen(ANSWER), MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void *accept_all(void *arg)
{
	for (;;) {
		int fd = check(accept((int)(intptr_t)arg, NULL, NULL), "accept");
		pthread_t thread;

		pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
		pthread_detach(thread);
	}
	return NULL;
}

static int dial(void)
{
	int fd = check(socket(AF_INET, SOCK_STREAM, 0), "socket");

	check(connect(fd, (void *)&address, sizeof(address)), "connect");
	return fd;
}

static void ask(int fd, const char *path)
{
	char request[64];

	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\n\r\n", path);
	check((int)send(fd, request, strlen(request), 0), "send");
}

static void await(int fd)
{
	char answer[4096];

	check((int)recv(fd, answer, sizeof(answer), 0), "recv");
}

struct seen {
	unsigned int listening, unanswered, earlier;
	uint64_t age_ns;
};

static void take_socket(void *ctx, const struct event_socket *socket)
{
	struct seen *seen = ctx;

	if (socket->port != ntohs(address.sin_port))
		return;
	if (socket->flags & SOCKET_LISTENS) {
		seen->listening++;
		return;
	}
	seen->unanswered++;
	seen->earlier += !!(socket->flags & SOCKET_EARLIER);
	seen->age_ns = clock_now_ns() - socket->begun_ns;
}

static void tell(const char *name, uint64_t value)
{
	printf("FACT requests_%s %llu\n", name, (unsigned long long)value);
}

static void tell_sockets(struct session *s)
{
	struct seen seen = {0};
	struct session_ops ops = {.ctx = &seen, .socket = take_socket};

	check(session_read_sockets(s, &ops), "session_read_sockets");
	tell("listening", seen.listening);
	tell("unanswered", seen.unanswered);
	tell("earlier", seen.earlier);
	tell("age_ms", seen.age_ns / 1000000);
}

static void tell_endpoints(struct session *s)
{
	const struct endpoint *rows;
	uint32_t cnt = session_endpoints(s, &rows);

	for (uint32_t i = 0; i < cnt; i++) {
		if (rows[i].port != ntohs(address.sin_port) || rows[i].tgid != (uint32_t)getpid())
			continue;
		tell("connections", rows[i].connections);
		tell("begun", rows[i].begun);
		tell("answered", rows[i].answered);
		tell("abandoned", rows[i].abandoned);
		tell("joined", rows[i].joined);
		tell("pushed", rows[i].pushed);
		tell("time_ms", rows[i].time_ns / 1000000);
	}
}

int main(void)
{
	socklen_t bytes = sizeof(address);
	struct session_options options = {.sample_hz = 99, .requests = true};
	int listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket"), early, fds[2], reset;
	struct linger linger = {1, 0};
	struct session *s;
	struct host host;
	char why[512];
	pthread_t thread;

	address = (struct sockaddr_in){.sin_family = AF_INET};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(bind(listener, (void *)&address, bytes), "bind");
	check(listen(listener, 16), "listen");
	check(getsockname(listener, (void *)&address, &bytes), "getsockname");
	pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener);
	early = dial();
	ask(early, "hold");
	usleep(50000);
	host_describe(&host);
	options.cpus_possible = host.cpus_possible;
	options.max_stack = host.max_stack;
	if (session_new(&options, why, sizeof(why), &s)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (feature_why(session_features(s), FEATURE_REQUESTS)) {
		fprintf(stderr, "%s\n", feature_why(session_features(s), FEATURE_REQUESTS));
		return 1;
	}
	tell_sockets(s);
	for (int i = 0; i < 2; i++)
		fds[i] = dial();
	for (int i = 0; i < REQUESTS; i++) {
		ask(fds[i % 2], "5");
		await(fds[i % 2]);
	}
	reset = dial();
	ask(reset, "100");
	usleep(20000);
	setsockopt(reset, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(reset);
	hold = false;
	await(early);
	usleep(300000);
	tell_endpoints(s);
	session_free(s);
	return 0;
}
