/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_HTTP_H
#define HOTRUN_WATCH_HTTP_H
/*
 * The HTTP side of the resident recorder: GET and HEAD of /metrics, /healthz, /readyz, and nothing
 * else: captures are secrets and are never served here. One thread of its own; one request a
 * connection, few connections, little memory and time for each; libmicrohttpd reads and answers
 * requests when they are there whole and their turn has come (guests.h says whose it is). A page is
 * made four times a second at the most, whoever asks how often.
 *
 * What clients can cost is bounded by construction: so many turns of the thread a second,
 * connections and answers, whoever they are for. Measured: six that ask without a pause cost 0.5 %
 * of a CPU (65 % where each was answered at once), and with 24 beside them that drip bytes 1.2 %.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HTTP_DEFAULT	  "127.0.0.1:9911"
#define HTTP_REQUEST_NS	  2000000000ull	 /* of a connection: then its request is there whole */
#define HTTP_TIMEOUT_S	  5		 /* nothing moves */
#define HTTP_LIFE_NS	  10000000000ull /* of an answer, whatever moves */
#define HTTP_MEMORY_BYTES 8192		 /* of a request: its first line and headers */
#define HTTP_FRESH_NS	  250000000ull	 /* a page is handed out again for so long */
#define HTTP_PAGES	  4		 /* different ones that clients are still reading */
/* At most 20 answers in any second; more than scrapers and probes of one host ever want. */
#define HTTP_ANSWERS_S	   15
#define HTTP_ANSWERS_BURST 5
/* Connections that are taken, be it to refuse them: some 15 us each. What comes beyond waits in the
 * kernel, in its order. */
#define HTTP_ACCEPTS_S	   100
#define HTTP_ACCEPTS_BURST 8
/* Turns of the thread, some 50 us each when all places are taken. A request alone takes three. */
#define HTTP_TURNS_S	 50
#define HTTP_TURNS_BURST 32

struct http;

/* What became of connections; counters. */
struct http_counts {
	uint64_t answered;  /* by whatever status, but not */
	uint64_t refused;   /* by 429, for want of a place */
	uint64_t late;	    /* the request was not there, or the answer not read, in time */
	uint64_t displaced; /* their place was given to another one */
};

/* All are called on the server's thread, one at a time. */
struct http_ops {
	void *ctx;
	/* Writes the page of /metrics. 0 or negative errno (a 500). */
	int (*metrics)(void *ctx, const struct http_counts *counts, FILE *out);
	/* True: 200. False: 503, with the sentence as body. */
	bool (*healthy)(void *ctx, char *why, size_t why_bytes);
	bool (*ready)(void *ctx, char *why, size_t why_bytes);
};

/* Listens on "ADDR:PORT", "[ADDR6]:PORT", in figures; port 0 = any; [::] takes IPv4, too. ops are
 * copied. 0; -EINVAL no such form; -EADDRINUSE, -EACCES, -EADDRNOTAVAIL, -EAFNOSUPPORT...: why says
 * it. *ret_http owned. */
int http_new(const char *listen, const struct http_ops *ops, char *why, size_t why_bytes,
	     struct http **ret_http);
/* The port that it listens on. */
unsigned int http_port(const struct http *h);
/* CPU time of its thread, ns; only grows. Takes NULL: 0. Any thread. */
uint64_t http_cpu_ns(const struct http *h);
/* Ends the thread and all connections; waits for an ops function that runs: not to be called
 * with a lock held that these take. Takes NULL. */
void http_free(struct http *h);
#endif
