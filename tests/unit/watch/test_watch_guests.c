/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who gets a place at the HTTP server, and whose turn it is; and the paces, over simulated time. */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "watch/guests.h"
#include "watch/pace.h"

#define MS     1000000ull
#define SECOND 1000000000ull
#define START  (100 * SECOND)

static struct in6_addr address_of(const char *text)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return guests_address((struct sockaddr *)&v4);
	cr_assert_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1, "%s", text);
	return guests_address((struct sockaddr *)&v6);
}

/* One from there comes; who sits on its place goes. NULL: it is refused. */
static struct guest *come(struct guests *g, const char *from, uint64_t now_ns)
{
	struct in6_addr address = address_of(from);
	struct guest *place = guests_find_place(g, &address, now_ns);

	if (place)
		guests_seat(g, place, &address, 0, now_ns);
	return place;
}

static struct guest *ask(struct guests *g, const char *from, enum guest_wish wish, uint64_t now_ns)
{
	struct guest *guest = come(g, from, now_ns);

	if (guest)
		guests_asks(guest, wish);
	return guest;
}

/* It got /metrics once. */
static void scrape(struct guests *g, const char *from, uint64_t now_ns)
{
	struct guest *guest = ask(g, from, GUEST_METRICS, now_ns);

	guests_serve(g, guest, now_ns);
	guests_scraped(g, guest, now_ns);
	guest->state = GUEST_NONE;
}

Test(guests, all_of_loopback_is_one_client)
{
	static const struct {
		const char *address, *client;
	} rows[] = {
		{"127.0.0.1", "::1"},
		{"127.0.0.2", "::1"},
		{"127.255.255.254", "::1"},
		{"::1", "::1"},
		{"::ffff:127.0.0.3", "::1"},
		{"10.0.0.1", "::ffff:10.0.0.1"},
		{"128.0.0.1", "::ffff:128.0.0.1"},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
		{"2001:db8::7f00:1", "2001:db8::7f00:1"},
		{"::7f00:1", "::7f00:1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct in6_addr address = address_of(rows[i].address),
				client = guests_client(&address);
		struct in6_addr wanted = address_of(rows[i].client);

		cr_expect(!memcmp(&client, &wanted, sizeof(client)), "%s", rows[i].address);
	}
}

Test(guests, wishes)
{
	static const struct {
		const char *request;
		enum guest_wish wish;
	} rows[] = {
		{"GET /metrics HTTP/1.1\r\n", GUEST_METRICS},
		{"HEAD /metrics?x HTTP/1.1", GUEST_METRICS},
		{"GET /healthz HTTP/1.1", GUEST_PROBE},
		{"GET /readyz?v HTTP/1.1", GUEST_PROBE},
		{"GET /metricsx HTTP/1.1", GUEST_OTHER},
		{"GET /metrics", GUEST_OTHER},
		{"GET /", GUEST_OTHER},
		{"GET", GUEST_OTHER},
		{"GET ", GUEST_OTHER},
		{"", GUEST_OTHER},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(guests_wish(rows[i].request, strlen(rows[i].request)), rows[i].wish,
			     "%s", rows[i].request);
}

Test(guests, a_client_has_half_of_the_places_and_others_find_theirs)
{
	struct guests g = {0};
	char from[32];

	for (int i = 0; i < 50; i++) {
		snprintf(from, sizeof(from), "127.0.0.%d", 2 + i % 20);
		cr_expect_eq(ask(&g, from, GUEST_PROBE, START + i) != NULL, i < GUESTS_ONE, "%d",
			     i);
	}
	for (int i = 0; i < GUESTS_ONE; i++)
		cr_expect_not_null(ask(&g, "10.0.0.1", GUEST_PROBE, START));
	cr_expect_null(ask(&g, "10.0.0.1", GUEST_PROBE, START));
	cr_expect_null(ask(&g, "10.0.0.2", GUEST_PROBE, START), "all places ask");
}

/* 24 slow ones from three addresses: who comes with a request always finds a place. */
Test(guests, who_says_nothing_goes_first_and_the_oldest_of_them)
{
	static const char *const slow[] = {"127.0.0.2", "127.0.0.3", "127.0.0.4"};
	struct guests g = {0};
	struct guest *oldest = NULL;

	for (int i = 0; i < 24; i++) {
		struct guest *guest = come(&g, slow[i % 3], START + (uint64_t)i);

		cr_assert_not_null(guest);
		if (i == 24 - GUESTS_ONE)
			oldest = guest;
	}
	cr_expect_eq(ask(&g, "127.0.0.1", GUEST_METRICS, START + 100), oldest);
	for (int i = 1; i < GUESTS_ONE; i++)
		cr_expect_not_null(ask(&g, "127.0.0.1", GUEST_PROBE, START + 100));
	cr_expect_null(come(&g, "127.0.0.2", START + 100), "all of them have asked");
	cr_expect_not_null(come(&g, "10.0.0.1", START + 100));
}

Test(guests, whole_house_gives_up_one_of_the_largest_client)
{
	struct guests g = {0};
	struct guest *place;
	char from[32];

	for (int i = 0; i < GUESTS_ONE; i++)
		come(&g, "10.0.0.1", START + 100);
	for (int i = 0; i < GUESTS_PLACES - GUESTS_ONE; i++) {
		snprintf(from, sizeof(from), "10.0.1.%d", i);
		come(&g, from, START + (uint64_t)i);
	}
	place = come(&g, "10.0.2.1", START + 200);
	cr_assert_not_null(place);
	cr_expect_lt(place - g.places, GUESTS_ONE);
}

Test(guests, who_is_gone_or_reads_slowly_goes_too)
{
	struct guests g = {0};
	struct guest *gone, *reader;

	for (int i = 0; i < GUESTS_ONE; i++)
		ask(&g, "10.0.0.1", GUEST_METRICS, START);
	gone = &g.places[3];
	gone->leaving = true;
	cr_expect_eq(ask(&g, "10.0.0.1", GUEST_METRICS, START), gone);
	cr_expect_null(ask(&g, "10.0.0.1", GUEST_METRICS, START));
	reader = guests_next(&g);
	guests_serve(&g, reader, START);
	cr_expect_null(ask(&g, "10.0.0.1", GUEST_METRICS, START + GUESTS_READ_NS - 1));
	cr_expect_eq(ask(&g, "10.0.0.1", GUEST_METRICS, START + GUESTS_READ_NS), reader);
}

Test(guests, a_scraper_that_is_known_keeps_a_place_for_metrics_alone)
{
	struct guests g = {0};
	struct guest *guest;
	char from[32];

	scrape(&g, "127.0.0.1", START);
	/* Others of the host scrape, too, and all that may be taken is taken by requests. */
	for (int i = 2; i < 200; i++) {
		snprintf(from, sizeof(from), "127.0.0.%d", i);
		scrape(&g, from, START);
	}
	while (ask(&g, "127.0.0.200", GUEST_METRICS, START))
		;
	for (int i = 0; i < 20; i++) {
		guest = come(&g, "127.0.0.1", START + (uint64_t)i);
		cr_assert_not_null(guest);
		cr_expect(guest->reserved && guest->known);
		cr_expect(!guests_asks(guest, i % 2 ? GUEST_PROBE : GUEST_OTHER),
			  "a place of scrapers");
		guest->state = GUEST_NONE;
	}
	cr_expect(guests_asks(come(&g, "127.0.0.1", START + 20), GUEST_METRICS));
	cr_expect_eq(guests_next(&g)->known, true, "first of its kind");
	cr_expect_null(come(&g, "127.0.0.201", START + 20));
	cr_expect_null(come(&g, "127.0.0.1", START + 2 * GUESTS_FORGET_NS),
		       "it has not come for long");
}

Test(guests, one_client_does_not_take_all_that_is_known)
{
	struct guests g = {0};
	char from[32];

	for (int i = 2; i < 100; i++) {
		snprintf(from, sizeof(from), "127.0.0.%d", i);
		scrape(&g, from, START);
	}
	scrape(&g, "10.0.0.9", START);
	cr_expect(come(&g, "10.0.0.9", START)->known);
	cr_expect(come(&g, "127.0.0.3", START)->known);
	cr_expect_not(come(&g, "127.0.0.50", START)->known);
}

/* Eight that ask all the time for one thing delay nobody who asks for another, or comes from
 * elsewhere. */
Test(guests, turns_go_round_between_clients_and_kinds)
{
	struct guests g = {0};
	int turns_scraper = 0, turns_other = 0;

	for (int i = 0; i < 300; i++) {
		uint64_t now_ns = START + (uint64_t)i * 66 * MS;
		struct guest *next;

		while (ask(&g, "127.0.0.1", GUEST_PROBE, now_ns - 50 * MS))
			;
		if (i % 10 == 0) {
			/* A place was free for it before the others came. */
			g.places[0].wish = GUEST_METRICS;
			ask(&g, "10.0.0.1", GUEST_PROBE, now_ns);
		}
		next = guests_next(&g);
		cr_assert_not_null(next);
		if (i % 10 < 2) {
			turns_scraper += next->wish == GUEST_METRICS;
			turns_other +=
				next->client.s6_addr[15] == 1 && next->client.s6_addr[12] == 10;
		}
		guests_serve(&g, next, now_ns);
		next->state = GUEST_NONE;
	}
	cr_expect_geq(turns_scraper, 29, "%d", turns_scraper);
	cr_expect_geq(turns_other, 29, "%d", turns_other);
}

Test(guests, within_a_kind_the_first_comes_first_and_who_left_last)
{
	struct guests g = {0};
	struct guest *a = ask(&g, "10.0.0.1", GUEST_PROBE, START + 1),
		     *b = ask(&g, "10.0.0.1", GUEST_PROBE, START),
		     *c = ask(&g, "10.0.0.1", GUEST_PROBE, START + 2);

	b->leaving = true;
	cr_expect_eq(guests_next(&g), a);
	guests_serve(&g, a, START + 3);
	cr_expect_eq(guests_next(&g), c);
	guests_serve(&g, c, START + 3);
	cr_expect_eq(guests_next(&g), b);
	guests_serve(&g, b, START + 3);
	cr_expect_null(guests_next(&g));
}

Test(guests, the_slowest_reader_is_no_known_scraper_while_there_is_another)
{
	struct guests g = {0};
	struct guest *known, *other, *probe;

	cr_expect_null(guests_slowest(&g));
	scrape(&g, "10.0.0.1", START);
	known = ask(&g, "10.0.0.1", GUEST_METRICS, START);
	other = ask(&g, "10.0.0.2", GUEST_METRICS, START);
	probe = ask(&g, "10.0.0.3", GUEST_PROBE, START);
	guests_serve(&g, probe, START);
	guests_serve(&g, known, START + 1);
	cr_expect_eq(guests_slowest(&g), known);
	guests_serve(&g, other, START + 2);
	cr_expect_eq(guests_slowest(&g), other);
}

/* --- paces ----------------------------------------------------------------------------------- */

/* Takes whenever it may, a look each ms: in no second more than burst + rate, and not much
 * fewer. */
Test(pace, holds_in_any_second)
{
	struct pace p = {.every_ns = SECOND / 15, .burst = 5};
	uint64_t taken[10000];
	size_t cnt = 0, from = 0, most = 0;

	for (uint64_t now_ns = START; now_ns < START + 60 * SECOND; now_ns += MS) {
		/* It rests now and then, and may have saved up its burst, no more. */
		if (now_ns / SECOND % 5 == 4)
			continue;
		while (pace_take(&p, now_ns))
			taken[cnt++] = now_ns;
		while (cnt && taken[from] + SECOND <= now_ns)
			from++;
		most = cnt - from > most ? cnt - from : most;
	}
	cr_expect(most <= 20 && most >= 19, "%zu", most);
	cr_expect_geq(cnt, 48 * 15 - 48);
}

Test(pace, tells_when)
{
	struct pace p = {.every_ns = 100, .burst = 2};

	cr_expect_eq(pace_wait_ns(&p, START), 0);
	cr_expect(pace_take(&p, START) && pace_take(&p, START) && !pace_take(&p, START));
	cr_expect_eq(pace_wait_ns(&p, START), 100);
	cr_expect_eq(pace_wait_ns(&p, START + 60), 40);
	cr_expect_eq(pace_wait_ns(&p, START + 100), 0);
}
