/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_GUESTS_H
#define HOTRUN_WATCH_GUESTS_H
/*
 * Which connections the HTTP server has, who gets a place, who loses it, and whose request is
 * answered next. Anybody on the host may connect without end, and the recorder's scraper and probes
 * come from the same addresses. So nobody is believed, and these rules hold:
 *
 * - A client has half of the places at the most. All of 127/8, ::1, and both written as IPv4-mapped
 *   addresses are one client: each process of the host may bind to any of them.
 * - Who has not said what he wants by the time that another needs the place loses it, the oldest
 *   first: a request follows its connection within a moment. Then who has gone away, then who reads
 *   slowly.
 * - Requests wait for their turn instead of being refused: a client that waits costs nothing, and
 *   one that is told to come back does so at once. Turns go round between clients, and between
 *   /metrics, the probes and the rest of one client, so that a flood of one kind delays that kind.
 *   With GUESTS_ONE waiting and 15 answers a second that is half a second, which probes of a
 *   kubelet (1 s) and of Prometheus bear. Refused (429) is who finds no place, since all there are
 *   taken by requests.
 * - Two places more are for /metrics alone, and only for addresses that got it before; the address
 *   that has come longest keeps that right. Within their kind known scrapers come first.
 *
 * Pure policy over simulated time; no sockets, no threads.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUESTS_PLACES	16
#define GUESTS_ONE	8 /* of one client */
#define GUESTS_RESERVED 2 /* beyond GUESTS_PLACES */
#define GUESTS_MAX	(GUESTS_PLACES + GUESTS_RESERVED)
#define GUESTS_SCRAPERS 4 /* that are known at a time, half of them of one client */
/* Who did not ask for so long is no scraper any more: five times the longest usual interval. */
#define GUESTS_FORGET_NS 600000000000ull
/* Who is being answered for so long may lose his place: a page takes milliseconds. */
#define GUESTS_READ_NS 2000000000ull
/* Clients and kinds that were answered last: more than there can be waiting. */
#define GUESTS_ANSWERED 32

enum guest_state {
	GUEST_NONE,
	GUEST_SILENT, /* its request is not whole */
	GUEST_ASKING,
	GUEST_SERVED, /* it is being answered */
};

enum guest_wish { GUEST_METRICS, GUEST_PROBE, GUEST_OTHER };

struct guest {
	enum guest_state state;
	enum guest_wish wish; /* when it is not silent */
	bool leaving;  /* it has closed its side: most likely it does not wait for an answer */
	bool reserved; /* sits beyond GUESTS_PLACES */
	bool known;    /* its address has got /metrics before */
	struct in6_addr address, client;
	uint64_t since_ns, served_ns;
	/* The caller's own. */
	int fd;
	bool began; /* some bytes of the request are there */
	bool met, answered;
};

struct guests {
	struct guest places[GUESTS_MAX];
	struct guests_scraper {
		struct in6_addr address;
		uint64_t last_ns; /* 0 = free */
	} scrapers[GUESTS_SCRAPERS];
	struct guests_answered {
		struct in6_addr client;
		enum guest_wish wish;
	} answered[GUESTS_ANSWERED];
	uint64_t answered_cnt;
};

/* The address as IPv6 (IPv4 mapped), of an AF_INET or AF_INET6 one; the client that it counts
 * as. */
struct in6_addr guests_address(const struct sockaddr *from);
struct in6_addr guests_client(const struct in6_addr *address);
/* What the first bytes of a request ask for. */
enum guest_wish guests_wish(const char *request, size_t len);

/* The place for one from that address, or NULL: refuse it. Somebody may sit there who has to go
 * first; when it is free, guests_seat(). */
struct guest *guests_find_place(struct guests *g, const struct in6_addr *address, uint64_t now_ns);
void guests_seat(struct guests *g, struct guest *place, const struct in6_addr *address, int fd,
		 uint64_t now_ns);
/* Its request is whole. False: it sits where only scrapers may, and is to be refused. */
bool guests_asks(struct guest *guest, enum guest_wish wish);
/* Who is to be answered next, NULL = nobody waits. */
struct guest *guests_next(struct guests *g);
/* He is being answered from now on. */
void guests_serve(struct guests *g, struct guest *guest, uint64_t now_ns);
/* His address has got /metrics. */
void guests_scraped(struct guests *g, const struct guest *guest, uint64_t now_ns);
/* Who reads /metrics for the longest time, those that are no known scrapers before those that are;
 * NULL = nobody. */
struct guest *guests_slowest(struct guests *g);
#endif
