/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HTTP_H
#define HOTRUN_WATCH_HTTP_H
/*
 * The HTTP side of the resident recorder: GET and HEAD of /metrics, /healthz, /readyz, and nothing else:
 * captures are secrets and are never served here. libmicrohttpd on a thread of its own; few connections,
 * short time-outs, little memory each: a slow or hostile client costs a connection, not the recorder.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HTTP_DEFAULT	 "127.0.0.1:9911"
#define HTTP_CONNECTIONS 16
#define HTTP_TIMEOUT_S	 5

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

/* Listens on "ADDR:PORT", "[ADDR6]:PORT"; port 0 = any. ops are copied. 0; -EINVAL no such form, why says
 * it; -EADDRINUSE, -EACCES, -EADDRNOTAVAIL... *ret_http owned. */
int http_new(const char *listen, const struct http_ops *ops, char *why, size_t why_bytes,
	     struct http **ret_http);
/* The port that it listens on. */
unsigned int http_port(const struct http *h);
/* Waits for a request that is being answered. Takes NULL. */
void http_free(struct http *h);
#endif
