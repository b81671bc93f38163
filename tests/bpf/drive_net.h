/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_DRIVE_NET_H
#define HOTRUN_TESTS_DRIVE_NET_H
/*
 * Servers and clients for tests of requests. A server is a child that listens on a port of its own
 * and answers every request of its clients after a delay; a request is one line, unless a test
 * sends something else. Failures end the test.
 */
#include "drive.h"

#include <netinet/in.h>

/* What a server does, and what it tells. In memory shared with it. */
struct drive_server {
	/* Set by the test. */
	int family;	       /* 0 = AF_INET */
	int protocol;	       /* IPPROTO_MPTCP */
	bool any;	       /* listens on all addresses, AF_INET6 on those of IPv4 as well */
	bool defer;	       /* TCP_DEFER_ACCEPT */
	bool reuse;	       /* SO_REUSEPORT */
	uint16_t want_port;    /* 0 = any */
	unsigned int delay_us; /* before each answer */
	unsigned int workers;  /* children that accept, 0 = itself */
	unsigned int pushes;   /* sends after each answer */
	volatile bool mute;    /* reads and does not answer, as long as it is set */
	bool lazy;	       /* never accepts */
	bool by_file;	       /* answers by sendfile() */
	bool hands_over;       /* accepts, and a child serves */
	bool forks;	       /* a child for each connection */
	size_t large_bytes;    /* of an answer, in one send that blocks */
	const char *greeting;  /* sent first */
	bool own_namespace;    /* in a network namespace of its own, with a client beside it */
	/* Of that client: requests, and one more, that are answered before it tells so; and as many
	 * when it is told to go on. */
	unsigned int requests;
	volatile bool go;
	volatile bool asked, done;
	/* Set by the server. */
	volatile uint16_t port;
	volatile pid_t pid;
	volatile pid_t child; /* that serves what is handed over */
};

/* Of its queue: who finds it full asks again a second later. */
#define DRIVE_BACKLOG 1024

struct drive_server *drive_server_new(void);
/* Forks it; returns when it listens. */
void drive_server_start(struct drive_server *server);
/* Kills it and its workers. */
void drive_server_stop(struct drive_server *server);
/* Serves on a socket that listens, for ever. */
void drive_serve(struct drive_server *server, int listener);
/* A socket that listens, as the server wants it. */
int drive_listen(struct drive_server *server);

/* A connection to a port of 127.0.0.1 or, AF_INET6, ::1. */
int drive_connect(int family, uint16_t port);
int drive_connect_by(int family, int protocol, uint16_t port);
/* Sends text. */
void drive_send(int fd, const char *text);
void drive_send_bytes(int fd, const void *bytes, size_t cnt);
/* Ends a connection by a reset. */
void drive_reset(int fd);
/* Waits for at least one byte, at most 5 s; returns the bytes. */
size_t drive_receive(int fd);
/* So many requests on a connection, one after the other. */
void drive_ask(int fd, unsigned int requests);

/* --- what the session says ------------------------------------------------------------------- */

/* A session that sees requests, T 50 ms. */
void drive_open_requests(struct drive *d);
/* Sum of the rows of a port, of one process where tgid is not 0. */
struct endpoint drive_endpoint(struct drive *d, uint16_t port, uint32_t tgid);
/* Its rows. */
unsigned int drive_rows(struct drive *d, uint16_t port);
/* Waits until so many requests of a port are answered or abandoned, at most 5 s; returns the
 * sum. */
struct endpoint drive_await_ended(struct drive *d, uint16_t port, uint64_t requests);
/* Unanswered requests of a port, as an iterator sees them now; *ret_first is one of them, or of a
 * listening socket where listening is wanted. */
unsigned int drive_sockets(struct drive *d, uint16_t port, bool listening,
			   struct event_socket *ret_first);
#endif
