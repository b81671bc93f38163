/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listens on many sockets of 127.0.0.1 and asks itself on each of them, round after round.
 *
 *   many_listeners SOCKETS SECONDS
 *
 * Prints "round N" after each round.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void must(int what, const char *says)
{
	if (what)
		return;
	perror(says);
	exit(1);
}

static int listen_at(struct sockaddr_in *ret_address)
{
	socklen_t bytes = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*ret_address = (struct sockaddr_in){.sin_family = AF_INET};
	ret_address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0, "socket");
	must(!bind(fd, (struct sockaddr *)ret_address, bytes), "bind");
	must(!listen(fd, 4), "listen");
	must(!getsockname(fd, (struct sockaddr *)ret_address, &bytes), "getsockname");
	return fd;
}

static void ask(int listener, const struct sockaddr_in *address)
{
	static const char request[] = "GET / HTTP/1.1\r\n\r\n",
			  answer[] = "HTTP/1.1 200 OK\r\n\r\n";
	int client = socket(AF_INET, SOCK_STREAM, 0), served;
	char text[64];

	must(client >= 0, "socket");
	must(!connect(client, (const struct sockaddr *)address, sizeof(*address)), "connect");
	must(send(client, request, sizeof(request) - 1, 0) > 0, "send");
	served = accept(listener, NULL, NULL);
	must(served >= 0, "accept");
	must(recv(served, text, sizeof(text), 0) > 0, "recv");
	must(send(served, answer, sizeof(answer) - 1, 0) > 0, "send");
	must(recv(client, text, sizeof(text), 0) > 0, "recv");
	close(client);
	close(served);
}

int main(int argc, char **argv)
{
	long sockets = argc == 3 ? atol(argv[1]) : 0, seconds = argc == 3 ? atol(argv[2]) : 0;
	struct sockaddr_in *addresses;
	time_t end = time(NULL) + seconds;
	int *listeners;

	must(sockets > 0 && sockets < 100000, "usage: many_listeners SOCKETS SECONDS");
	addresses = calloc((size_t)sockets, sizeof(*addresses));
	listeners = calloc((size_t)sockets, sizeof(*listeners));
	must(addresses && listeners, "calloc");
	for (long i = 0; i < sockets; i++)
		listeners[i] = listen_at(&addresses[i]);
	for (long round = 1; time(NULL) < end; round++) {
		for (long i = 0; i < sockets; i++)
			ask(listeners[i], &addresses[i]);
		printf("round %ld\n", round);
		fflush(stdout);
	}
	return 0;
}
