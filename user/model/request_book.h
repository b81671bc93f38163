/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_REQUEST_BOOK_H
#define HOTRUN_MODEL_REQUEST_BOOK_H
/*
 * What was last read of each row of the kernel's endpoints and of each listening socket, and what
 * one slice has gathered: counters that rose, requests that stand unanswered at its end, accept
 * queues.
 *
 *	each slice: request_book_begin(), request_book_endpoint() for the rows in use, then
 *	    request_book_socket() for the sockets, request_book_end()
 *
 * Pure; no threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "base/hash.h"
#include "model/fair.h"
#include "model/model.h"

/*
 * The model keeps endpoints that are gone. A process and a cgroup may add as many as they may have
 * rows of the kernel's at a time (bpf/events.h); what one may not add is told with another one of
 * the same socket, if there is one.
 */

/* Listening sockets that are followed; the accept queues of those beyond are not told. */
#define REQUEST_BOOK_LISTENERS 65536u

struct request_listener {
	uint64_t cookie;
	uint32_t endpoint; /* row of the model, of one of its processes; MODEL_NONE = none yet */
	uint32_t refused;  /* as last read */
	uint32_t look;	   /* that saw it last */
	bool refused_known;
};

struct request_book {
	struct endpoint *seen; /* as last read, by row of the kernel's array; listener 0 = never */
	size_t seen_cnt, seen_cap;
	struct model_service *services; /* of this slice, by row of the model's endpoints */
	size_t services_cnt, services_cap;
	struct model_service *standing; /* the same: what stood when sockets were last read */
	size_t standing_cnt, standing_cap;
	uint64_t sockets_ns; /* when that was */
	struct request_listener *listeners;
	size_t listeners_cnt, listeners_cap;
	struct hash_index listener_index;
	struct fair shares; /* endpoints that were added to the model */
	uint64_t now_ns;
	uint32_t look;	   /* counts request_book_begin() */
	bool sockets_read; /* once at least: listening sockets that appear later are new */
};

/* A look at time now_ns, by which the age of requests is told. */
void request_book_begin(struct request_book *book, uint64_t now_ns);

/* Whether a row is as it was when it was last read: nothing to be told of it. */
bool request_book_is_same(const struct request_book *book, uint32_t row,
			  const struct endpoint *endpoint);
/*
 * One row of the kernel's array, of process (a row of m; MODEL_NONE = gone: no more than a baseline
 * is taken). With count it counts from its last look, or from zero where there was none; without,
 * it is a baseline. Rows of responses go into m, the rest when the look ends. Counters that fall
 * count nothing. 0 or -ENOMEM; -E2BIG beyond the bounds.
 */
int request_book_endpoint(struct request_book *book, struct model *m, uint32_t row,
			  uint32_t process, const struct endpoint *endpoint, bool count);

/*
 * A socket as it stands, of process (a row of m, or MODEL_NONE = not known: then it is told with
 * those of its listening socket). 0; -EBADMSG where it says nothing; -ENOMEM; -E2BIG beyond the
 * bounds.
 */
int request_book_socket(struct request_book *book, struct model *m, uint32_t process,
			const struct event_socket *socket);

/*
 * Adds a row of services to m for each endpoint where something happened or stands, and begins
 * anew; with count false it adds none (a baseline). sockets: they were all read; else what stood at
 * the last look that read them stands, with its ages of then, and the slice says how old it is. 0
 * or -ENOMEM.
 */
int request_book_end(struct request_book *book, struct model *m, bool count, bool sockets);

/* Releases what it holds. Takes a zeroed one. */
void request_book_clear(struct request_book *book);
#endif
