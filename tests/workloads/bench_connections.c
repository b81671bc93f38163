/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many connections that are open and idle, on loopback, in pairs of processes: one serves, one asks
 * once on each connection. More processes than one, because each may open only so many files; more
 * addresses than one, because each has only so many ports.
 *
 *   bench_connections CONNECTIONS ANSWERED    ANSWERED: of each 100, the others stay unanswered
 *
 * Prints "ready" when all are open, and runs until it is ended; all of it ends then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH 10000 /* connections of a pair */

static const char request[] = "GET / HTTP/1.1\r\nHost: many\r\n\r\n";
static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";

static void must(int true_is_good, const char *what)
{
	if (true_is_good)
		return;
	fprintf(stderr, "bench_connections: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int make_listener(int pair, struct sockaddr_in *ret_address)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + pair)};
	socklen_t bytes = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0 && !bind(fd, (void *)&address, bytes) && !listen(fd, 1000), "listen");
	must(!getsockname(fd, (void *)&address, &bytes), "getsockname");
	*ret_address = address;
	return fd;
}

static void serve(int listener, int connections, int answered)
{
	char text[256];

	for (int i = 0; i < connections; i++) {
		int fd = accept(listener, NULL, NULL);

		must(fd >= 0, "accept");
		must(recv(fd, text, sizeof(text), 0) > 0, "recv");
		if (i % 100 < answered)
			must(send(fd, answer, sizeof(answer) - 1, 0) > 0, "send");
	}
	for (;;)
		pause();
}

static void ask(const struct sockaddr_in *address, int connections, int ready)
{
	for (int i = 0; i < connections; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		must(fd >= 0, "socket");
		must(!connect(fd, (const void *)address, sizeof(*address)), "connect");
		must(send(fd, request, sizeof(request) - 1, 0) > 0, "send");
	}
	must(write(ready, "x", 1) == 1, "write");
	for (;;)
		pause();
}

/* A child that ends with its parent. */
static int begin(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return !pid;
}

int main(int argc, char **argv)
{
	int connections = argc == 3 ? atoi(argv[1]) : 0, answered = argc == 3 ? atoi(argv[2]) : 0;
	struct rlimit files;
	int ready[2], pairs;
	char byte;

	if (connections < 1) {
		fprintf(stderr, "usage: bench_connections CONNECTIONS ANSWERED\n");
		return 2;
	}
	must(!getrlimit(RLIMIT_NOFILE, &files), "getrlimit");
	files.rlim_cur = files.rlim_max;
	must(!setrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur > EACH + 100, "too few files");
	must(!pipe(ready), "pipe");
	pairs = (connections + EACH - 1) / EACH;
	for (int i = 0; i < pairs; i++) {
		int count = i < pairs - 1 ? EACH : connections - i * EACH;
		struct sockaddr_in address;
		int listener = make_listener(i, &address);

		if (begin())
			serve(listener, count, answered);
		if (begin())
			ask(&address, count, ready[1]);
		close(listener);
	}
	close(ready[1]);
	for (int i = 0; i < pairs; i++)
		must(read(ready[0], &byte, 1) == 1, "a client ended");
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}
