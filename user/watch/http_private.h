/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HTTP_PRIVATE_H
#define HOTRUN_WATCH_HTTP_PRIVATE_H
/*
 * The HTTP server within: http_listen.c has the address, http_door.c the thread and who is let in,
 * http.c what is answered. All but http_open_listen() is for the server's thread.
 */
#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watch/guests.h"
#include "watch/http.h"
#include "watch/pace.h"

struct http {
	struct http_ops ops;
	struct MHD_Daemon *daemon; /* has no listening socket: it is handed whole requests */
	pthread_t thread;
	bool running;
	int stop; /* eventfd */
	int listen_fd;
	unsigned int port;
	/* Touched by the thread alone. */
	struct guests guests;
	struct pace turns, accepts, answers;
	struct http_counts counts;
	struct MHD_Response *page;
	uint64_t page_ns;
	unsigned int pages; /* alive */
};

/* --- http_listen.c --------------------------------------------------------------------------- */

/* 0 or negative errno; *ret_fd does not block. */
int http_open_listen(const char *text, int *ret_fd, unsigned int *ret_port);
/* Why not, with what to do. */
void http_explain_listen(const char *listen, int err, char *why, size_t why_bytes);

/* --- http.c ---------------------------------------------------------------------------------- */

/* True while no page may be made, since those that are read slowly take all the memory for
 * pages. */
bool http_lacks_room(struct http *h);

/* --- http_door.c ----------------------------------------------------------------------------- */

/* The server's thread; ctx: struct http. */
void *http_serve(void *ctx);
/* libmicrohttpd's, of each connection that it begins and ends. */
void http_meet(void *ctx, struct MHD_Connection *connection, void **mine,
	       enum MHD_ConnectionNotificationCode what);
/* Closes those that libmicrohttpd does not have; after the thread's end. */
void http_close_door(struct http *h);
#endif
