/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HTTP_H
#define HOTRUN_WATCH_HTTP_H
/*
 * The HTTP side of the resident recorder: GET and HEAD of /metrics, /healthz, /readyz, and nothing else:
 * captures are secrets and are never served here. libmicrohttpd, driven by one thread of its own; one
 * request a connection, few connections, little memory and time for each: a slow or hostile client costs
 * a connection for some seconds, not the recorder. A page is made four times a second at the most, whoever
 * asks how often.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HTTP_DEFAULT	     "127.0.0.1:9911"
#define HTTP_CONNECTIONS     16
#define HTTP_CONNECTIONS_ONE 8		    /* from one address */
#define HTTP_TIMEOUT_S	     5		    /* nothing moves */
#define HTTP_LIFE_NS	     10000000000ull /* of a connection, whatever moves */
#define HTTP_MEMORY_BYTES    8192	    /* of a request: its first line and headers */
#define HTTP_FRESH_NS	     250000000ull   /* a page is handed out again for so long */
#define HTTP_PAGES	     4		    /* different ones that clients are still reading */

struct http;

/* All are called on the server's thread, one at a time. */
struct http_ops {
	void *ctx;
	/* Writes the page of /metrics. 0 or negative errno (a 500). */
	int (*metrics)(void *ctx, FILE *out);
	/* True: 200. False: 503, with the sentence as body. */
	bool (*healthy)(void *ctx, char *why, size_t why_bytes);
	bool (*ready)(void *ctx, char *why, size_t why_bytes);
};

/* Listens on "ADDR:PORT", "[ADDR6]:PORT", in figures; port 0 = any; [::] takes IPv4, too. ops are copied.
 * 0; -EINVAL no such form; -EADDRINUSE, -EACCES, -EADDRNOTAVAIL, -EAFNOSUPPORT...: why says it. *ret_http
 * owned. */
int http_new(const char *listen, const struct http_ops *ops, char *why, size_t why_bytes,
	     struct http **ret_http);
/* The port that it listens on. */
unsigned int http_port(const struct http *h);
/* Ends the thread and all connections; waits for an ops function that runs: not to be called
 * with a lock held that these take. Takes NULL. */
void http_free(struct http *h);
#endif
