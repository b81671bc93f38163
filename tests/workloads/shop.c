/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A web shop without .NET, and customers for one with or without: what `make run` records.
 *
 *	shop serve SECONDS THREADS	prints "ready" and its address; GET /price?ms=N
 *					takes N ms of CPU time
 *	shop visit SECONDS PORT CUSTOMERS MS
 *
 * Each customer asks for a price, waits for the answer, and thinks for a second. So a fast service
 * gets CUSTOMERS * MS / 1000 CPUs of work, and a slow one never gets more than CUSTOMERS requests
 * at a time.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS	 1000000LL
#define THINK_MS 1000

static int events; /* epoll */

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static int watch(int op, int fd, uint32_t what, uint64_t data)
{
	struct epoll_event event = {.events = what, .data.u64 = data};

	return epoll_ctl(events, op, fd, &event);
}

/* Uses CPU time, not time: a request costs the same on a busy host. */
__attribute__((noinline, noclone)) static uint64_t checkout_total(uint64_t seed, long ms)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * MS;

	do {
		for (int i = 0; i < 25000; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
		}
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
	return seed;
}

static void answer(int fd)
{
	char request[4096], body[32], reply[128], *ms;
	ssize_t got = recv(fd, request, sizeof(request) - 1, 0);

	if (got <= 0) {
		close(fd);
		return;
	}
	request[got] = 0;
	ms = strstr(request, "?ms=");
	snprintf(body, sizeof(body), "%llu",
		 (unsigned long long)checkout_total(88172645463325252u, ms ? atol(ms + 4) : 1));
	snprintf(reply, sizeof(reply), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	if (send(fd, reply, strlen(reply), 0) < 0 ||
	    watch(EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT, (uint64_t)fd))
		close(fd);
}

static void *serve(void *listener)
{
	int shop = *(int *)listener, fd;
	struct epoll_event event;

	for (;;) {
		if (epoll_wait(events, &event, 1, -1) != 1)
			continue;
		if (event.data.u64 != (uint64_t)shop) {
			answer((int)event.data.u64);
			continue;
		}
		fd = accept(shop, NULL, NULL);
		if (fd >= 0)
			watch(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT, (uint64_t)fd);
	}
	return NULL;
}

static int open_shop(int seconds, int threads)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(here);
	pthread_t thread;
	int shop = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (shop < 0 || bind(shop, (struct sockaddr *)&here, size) || listen(shop, 4096) ||
	    getsockname(shop, (struct sockaddr *)&here, &size))
		return fail("listen");
	if (watch(EPOLL_CTL_ADD, shop, EPOLLIN | EPOLLEXCLUSIVE, (uint64_t)shop))
		return fail("epoll");
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, serve, &shop))
			return fail("thread");
	printf("ready http://127.0.0.1:%u\n", ntohs(here.sin_port));
	fflush(stdout);
	sleep((unsigned int)seconds);
	_exit(0);
}

struct customer {
	int fd;
	int64_t ask_ns; /* when to ask next; 0: asked, and not answered yet */
};

static int enter(struct customer *c, uint64_t number, uint16_t port, int64_t ask_ns)
{
	struct sockaddr_in shop = {.sin_family = AF_INET,
				   .sin_addr = {htonl(INADDR_LOOPBACK)},
				   .sin_port = htons(port)};

	c->ask_ns = ask_ns;
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	return c->fd < 0 || connect(c->fd, (struct sockaddr *)&shop, sizeof(shop)) ||
	       watch(EPOLL_CTL_ADD, c->fd, EPOLLIN, number);
}

static int visit(int seconds, uint16_t port, uint64_t cnt, long ms)
{
	struct customer *customers = calloc(cnt, sizeof(*customers));
	int64_t now = clock_ns(CLOCK_MONOTONIC), end = now + seconds * 1000LL * MS;
	struct epoll_event came[64];
	char request[96], reply[4096];
	int ready;

	snprintf(request, sizeof(request), "GET /price?ms=%ld HTTP/1.1\r\nHost: shop\r\n\r\n", ms);
	if (!customers)
		return fail("customers");
	for (uint64_t i = 0; i < cnt; i++)
		if (enter(&customers[i], i, port,
			  now + (int64_t)(i * THINK_MS * (uint64_t)MS / cnt)))
			return fail("connect");
	while (now < end) {
		ready = epoll_wait(events, came, 64, 5);
		now = clock_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < ready; i++) {
			struct customer *c = &customers[came[i].data.u64];

			if (recv(c->fd, reply, sizeof(reply), 0) <= 0)
				return fail("answer");
			if (!c->ask_ns)
				c->ask_ns = now + THINK_MS * MS;
		}
		for (uint64_t i = 0; i < cnt; i++) {
			struct customer *c = &customers[i];

			if (!c->ask_ns || c->ask_ns > now)
				continue;
			c->ask_ns = 0;
			if (send(c->fd, request, strlen(request), 0) < 0)
				return fail("ask");
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;

	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	events = epoll_create1(0);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return open_shop(atoi(argv[2]), atoi(argv[3]));
	if (argc == 6 && !strcmp(argv[1], "visit"))
		return visit(atoi(argv[2]), (uint16_t)atoi(argv[3]), strtoul(argv[4], NULL, 10),
			     atol(argv[5]));
	fprintf(stderr, "usage: shop serve SECONDS THREADS | visit SECONDS PORT CUSTOMERS MS\n");
	return 2;
}
