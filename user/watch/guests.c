/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/guests.h"

#include <string.h>

static bool is_same(const struct in6_addr *a, const struct in6_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* --- who it is ------------------------------------------------------------------------------- */

struct in6_addr guests_address(const struct sockaddr *from)
{
	struct in6_addr address = {{{[10] = 0xff, [11] = 0xff}}};

	if (from->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)from)->sin6_addr;
	memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)from)->sin_addr, 4);
	return address;
}

struct in6_addr guests_client(const struct in6_addr *address)
{
	if (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127)
		return in6addr_loopback;
	return *address;
}

static struct guests_scraper *find_scraper(struct guests *g, const struct in6_addr *address,
					   uint64_t now_ns)
{
	for (size_t i = 0; i < GUESTS_SCRAPERS; i++) {
		struct guests_scraper *s = &g->scrapers[i];

		if (s->last_ns && now_ns - s->last_ns < GUESTS_FORGET_NS &&
		    is_same(&s->address, address))
			return s;
	}
	return NULL;
}

/* Who came first stays: whoever comes with ever new addresses takes no place of a scraper's. */
static struct guests_scraper *find_room(struct guests *g, const struct in6_addr *client,
					uint64_t now_ns)
{
	struct guests_scraper *room = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < GUESTS_SCRAPERS; i++) {
		struct guests_scraper *s = &g->scrapers[i];
		struct in6_addr its = guests_client(&s->address);

		if (!s->last_ns || now_ns - s->last_ns >= GUESTS_FORGET_NS)
			room = s;
		else
			cnt += is_same(&its, client);
	}
	return cnt < GUESTS_SCRAPERS / 2 ? room : NULL;
}

void guests_scraped(struct guests *g, const struct guest *guest, uint64_t now_ns)
{
	struct guests_scraper *s = find_scraper(g, &guest->address, now_ns);

	if (!s)
		s = find_room(g, &guest->client, now_ns);
	if (s)
		*s = (struct guests_scraper){guest->address, now_ns};
}

/* --- places ---------------------------------------------------------------------------------- */

static size_t count_of(const struct guests *g, const struct in6_addr *client)
{
	size_t cnt = 0;

	for (size_t i = 0; i < GUESTS_PLACES; i++)
		cnt += g->places[i].state != GUEST_NONE && is_same(&g->places[i].client, client);
	return cnt;
}

/* How readily a guest is given up; 0 = not at all. */
static unsigned int give_up(const struct guest *guest, uint64_t now_ns)
{
	if (guest->state == GUEST_SILENT)
		return 3;
	if (guest->state == GUEST_ASKING && guest->leaving)
		return 2;
	return guest->state == GUEST_SERVED && now_ns - guest->served_ns >= GUESTS_READ_NS;
}

/* The guest to give up among places from..to, of one client (NULL: of any, those of the client that
 * has most first). */
static struct guest *find_victim(struct guests *g, size_t from, size_t to,
				 const struct in6_addr *client, uint64_t now_ns)
{
	struct guest *victim = NULL;
	uint64_t worst = 0;

	for (size_t i = from; i < to; i++) {
		struct guest *guest = &g->places[i];
		uint64_t grade = give_up(guest, now_ns);

		if (!grade || (client && !is_same(&guest->client, client)))
			continue;
		grade = grade << 32 | count_of(g, &guest->client);
		if (!victim || grade > worst ||
		    (grade == worst && guest->since_ns < victim->since_ns)) {
			victim = guest;
			worst = grade;
		}
	}
	return victim;
}

static struct guest *find_free(struct guests *g, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (g->places[i].state == GUEST_NONE)
			return &g->places[i];
	return NULL;
}

struct guest *guests_find_place(struct guests *g, const struct in6_addr *address, uint64_t now_ns)
{
	struct in6_addr client = guests_client(address);
	struct guest *place;

	if (count_of(g, &client) >= GUESTS_ONE) {
		place = find_victim(g, 0, GUESTS_PLACES, &client, now_ns);
	} else {
		place = find_free(g, 0, GUESTS_PLACES);
		if (!place)
			place = find_victim(g, 0, GUESTS_PLACES, NULL, now_ns);
	}
	if (place || !find_scraper(g, address, now_ns))
		return place;
	place = find_free(g, GUESTS_PLACES, GUESTS_MAX);
	return place ? place : find_victim(g, GUESTS_PLACES, GUESTS_MAX, NULL, now_ns);
}

void guests_seat(struct guests *g, struct guest *place, const struct in6_addr *address, int fd,
		 uint64_t now_ns)
{
	*place = (struct guest){
		.state = GUEST_SILENT,
		.reserved = place - g->places >= GUESTS_PLACES,
		.known = find_scraper(g, address, now_ns) != NULL,
		.address = *address,
		.client = guests_client(address),
		.since_ns = now_ns,
		.fd = fd,
	};
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Bytes of the path's first segment, without what follows it. */
static bool is_path(const char *path, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	return len > name_len && !memcmp(path, name, name_len) &&
	       (path[name_len] == ' ' || path[name_len] == '?');
}

enum guest_wish guests_wish(const char *request, size_t len)
{
	const char *space = memchr(request, ' ', len);
	size_t left = space ? len - (size_t)(space + 1 - request) : 0;

	if (!space)
		return GUEST_OTHER;
	if (is_path(space + 1, left, "/metrics"))
		return GUEST_METRICS;
	if (is_path(space + 1, left, "/healthz") || is_path(space + 1, left, "/readyz"))
		return GUEST_PROBE;
	return GUEST_OTHER;
}

bool guests_asks(struct guest *guest, enum guest_wish wish)
{
	guest->state = GUEST_ASKING;
	guest->wish = wish;
	return !guest->reserved || wish == GUEST_METRICS;
}

/* When this client was last answered such a wish, as a number of the answer; 0 = not lately. */
static uint64_t last_turn(const struct guests *g, const struct guest *guest)
{
	for (uint64_t n = g->answered_cnt; n > 0 && n + GUESTS_ANSWERED > g->answered_cnt; n--) {
		const struct guests_answered *a = &g->answered[(n - 1) % GUESTS_ANSWERED];

		if (a->wish == guest->wish && is_same(&a->client, &guest->client))
			return n;
	}
	return 0;
}

static bool comes_before(const struct guests *g, const struct guest *a, const struct guest *b)
{
	uint64_t turn_a = last_turn(g, a), turn_b = last_turn(g, b);

	if (a->leaving != b->leaving)
		return b->leaving;
	if (turn_a != turn_b)
		return turn_a < turn_b;
	if (a->known != b->known)
		return a->known;
	return a->since_ns < b->since_ns;
}

struct guest *guests_next(struct guests *g)
{
	struct guest *next = NULL;

	for (size_t i = 0; i < GUESTS_MAX; i++) {
		struct guest *guest = &g->places[i];

		if (guest->state == GUEST_ASKING && (!next || comes_before(g, guest, next)))
			next = guest;
	}
	return next;
}

void guests_serve(struct guests *g, struct guest *guest, uint64_t now_ns)
{
	guest->state = GUEST_SERVED;
	guest->served_ns = now_ns;
	g->answered[g->answered_cnt++ % GUESTS_ANSWERED] =
		(struct guests_answered){guest->client, guest->wish};
}

struct guest *guests_slowest(struct guests *g)
{
	struct guest *slowest = NULL;

	for (size_t i = 0; i < GUESTS_MAX; i++) {
		struct guest *guest = &g->places[i];

		if (guest->state != GUEST_SERVED || guest->wish != GUEST_METRICS)
			continue;
		if (!slowest || guest->known < slowest->known ||
		    (guest->known == slowest->known && guest->served_ns < slowest->served_ns))
			slowest = guest;
	}
	return slowest;
}
