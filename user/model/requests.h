/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_REQUESTS_H
#define HOTRUN_MODEL_REQUESTS_H
/*
 * Requests as the kernel saw them, summed over the slices of a model: by endpoint (a process and a
 * listening socket), by process, for the host. What a request is and what it cannot be told from is
 * in bpf/events.h. Pure; no threads.
 */
#include <linux/types.h>

#include "bpf/events.h"
#include "model/model.h"

/* T, the threshold for slow, where nobody said otherwise. */
#define REQUESTS_SLOW_NS 500000000ull

/* The sum of rows of model.services: of one endpoint or several, over the slices that were
 * added. */
struct requests_sum {
	struct model_served served;
	/* Where not all connections were followed: of answered, those that were not seen; and how
	 * far figures of them can be off: the sum of w * (w - 1) over the answers that were seen,
	 * each of which stands for w. 0 = all were seen. */
	uint64_t unseen;
	double spread;
	double plain_spread; /* the same of plain_answered and plain_abandoned */
	uint64_t plain_answered, plain_abandoned; /* of these, by requests_is_plain() */
	uint64_t full_refused; /* of refused: where at least half of the accept queue was in use */
	uint64_t time_max_ns;
	/* Request-seconds, by Little's law a mean number of requests: each that is open (or has
	 * been for longer than T) at the end of a slice counts with the length of that slice. */
	uint64_t open_ns, late_ns;
	/* At the end of the last slice, and the worst over the slices. */
	uint64_t open, late, stuck, queued, backlog, unsure, incomplete;
	uint64_t stuck_max, queued_max;
	uint64_t oldest_ns, oldest_max_ns;
	uint8_t protocols; /* PROTOCOL_* */
	uint32_t endpoints;
	uint64_t *times; /* of answered, by slot (RESPONSE_SLOTS); NULL = none were added */
	/* The slice that is being added. */
	uint32_t slice;
	uint64_t slice_stuck, slice_queued;
};

/*
 * Adds a row of m, rows of earlier slices first. stands: the row is of the last slice that is
 * summed, so what was open and queued at its end is so at the end of the sum.
 */
void requests_sum_add(struct requests_sum *sum, const struct model *m,
		      const struct model_service *service, bool stands);
/* Forgets what was open and queued: the next rows say it anew. The counters stay. */
void requests_sum_restart(struct requests_sum *sum);

/* One process and port, however many sockets listen there; only those that have services. */
struct requests_port {
	uint32_t process; /* row */
	uint16_t port;
	const char *address; /* of its sockets; "" where they differ, or unknown */
	uint64_t slow_ns;    /* T of its endpoints; 0 where they differ */
	struct requests_sum sum;
};

struct requests {
	const struct model *m;
	uint64_t elapsed_ns; /* sched_elapsed_ns() */
	struct requests_sum host;
	struct requests_sum *processes; /* by row of the model */
	struct requests_sum *endpoints; /* by row of the model */
	struct requests_port *ports;	/* in the order of their first service */
	size_t ports_cnt;
	/* Of the sums with services. */
	uint64_t host_times[RESPONSE_SLOTS];
	uint64_t (*process_times)[RESPONSE_SLOTS], (*endpoint_times)[RESPONSE_SLOTS],
		(*port_times)[RESPONSE_SLOTS];
};

/* Returns it owned, or NULL with errno ENOMEM. */
struct requests *requests_new(const struct model *m);
void requests_free(struct requests *r);

/* Those with a request stuck first, by their most; then most requests first, by process and port.
 * For qsort() over struct requests_port. */
int requests_compare_ports(const void *a, const void *b);

/* One slice of a process. Not to be moved: the sum points to the times. */
struct requests_slice {
	uint32_t slice;
	struct requests_sum sum;
	uint64_t times[RESPONSE_SLOTS];
};
#define REQUESTS_SLICES_MAX 64
/*
 * The slices in which a process (MODEL_NONE = the host) served worst, in their order: by requests
 * stuck, then slow, late or refused, then by the longest. most: at most REQUESTS_SLICES_MAX, the
 * size of rows; *ret_all: how many slices it served in. 0 or -ENOMEM.
 */
int requests_worst_slices(const struct model *m, uint32_t process, size_t most,
			  struct requests_slice *ret_rows, size_t *ret_cnt, size_t *ret_all);

/* The time that the share (0..1) of the answered requests did not exceed, interpolated within its
 * slot, at most the longest; 0 without any. */
uint64_t requests_time_ns(const struct requests_sum *sum, double share);
/* Lower bound of a slot, ns; of RESPONSE_SLOTS: the upper bound of the last but one. */
uint64_t requests_slot_ns(uint32_t slot);

/* Answered requests and those still unanswered that are older than T: what a share can be taken
 * of. */
uint64_t requests_judged(const struct requests_sum *sum);
/* Of these, over T: 0..1; and satisfied plus half of those between T and 4 T (Apdex;
 * www.apdex.org): 0..1. Both 0 and 1 without any. Unanswered ones older than T count as
 * frustrated. */
double requests_slow_share(const struct requests_sum *sum);
/*
 * Where not all connections were followed, both ends of the 95 % interval of that share; where they
 * were, the share itself. What is unanswered is known of all connections. Of answers the estimator
 * of Horvitz and Thompson (1952) tells the variance of a sum of which each part was seen by chance:
 * it is as if answered^2 / spread were seen, and the interval is Wilson's of that many (share.h).
 * But connections are chosen, not answers, and those of one connection are alike: the number is
 * divided by REQUESTS_ALIKE (the design effect of samples of clusters, Kish 1965), which makes the
 * interval twice as wide. It suffices while they correlate by less than 3 / (answers of a
 * connection - 1).
 */
#define REQUESTS_ALIKE 4
void requests_slow_range(const struct requests_sum *sum, double *ret_low, double *ret_high);
/* Lower end of the 95 % interval of the share of plain requests that ended without an answer. */
double requests_plain_abandoned_least(const struct requests_sum *sum);
double requests_score(const struct requests_sum *sum);

/*
 * Of the requests that ended, answered or not, the share without an answer: the client gave up, or
 * the service closed. They count neither as fast nor as slow. Told of plain HTTP/1 alone (else 0):
 * elsewhere connections may end with data that wants no answer.
 */
double requests_unanswered_share(const struct requests_sum *sum);
bool requests_is_plain(uint8_t protocols);

/* What bits of protocols are called. */
#define REQUESTS_PROTOCOLS(BIT)       \
	BIT(PROTOCOL_HTTP1, "HTTP/1") \
	BIT(PROTOCOL_HTTP2, "HTTP/2") \
	BIT(PROTOCOL_TLS, "TLS")      \
	BIT(PROTOCOL_OTHER, "other")  \
	BIT(PROTOCOL_WEBSOCKET, "WebSocket")
#define REQUESTS_PROTOCOLS_BYTES 48
/* "HTTP/1, TLS"; "" = not known. */
void requests_protocols_text(char text[static REQUESTS_PROTOCOLS_BYTES], uint8_t protocols);

/* Neither HTTP nor TLS: who asks may wait for long on purpose. Not where nothing is known. */
bool requests_is_foreign(const struct requests_sum *sum);
/* Whether nine in ten of its slow answers took the same time of a second or more, as far as two
 * slots tell: what a timer ends. Needs times. */
bool requests_are_timed(const struct requests_sum *sum);

/* Whether the figures are of something else than plain requests, in words for people: HTTP/2, TLS,
 * data in several pieces, unasked messages; NULL = plain. Static. */
const char *requests_blur(const struct requests_sum *sum);
#endif
