/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the kernel's endpoints and sockets as they stand, into rows of services. */
#include <criterion/criterion.h>
#include <string.h>

#include "feed.h"
#include "model/request_book.h"

#define TGID 1234
#define PORT 8080

/* One look: endpoint rows from 0 on, then sockets. */
static void look(struct feed *f, uint64_t now_ns, const struct endpoint *endpoints, uint32_t cnt,
		 const struct event_socket *sockets, uint32_t socket_cnt)
{
	ingest_requests_begin(f->in, now_ns);
	for (uint32_t i = 0; i < cnt; i++)
		ingest_endpoint(f->in, i, &endpoints[i]);
	for (uint32_t i = 0; i < socket_cnt; i++)
		ingest_socket(f->in, &sockets[i]);
	ingest_requests_end(f->in, true);
}

static void next_slice(struct feed *f)
{
	model_forget_slice(f->m);
	cr_assert_eq(model_slice_add(f->m, &(struct model_slice){0}), 0);
}

static uint64_t losses(const struct feed *f, uint32_t cause)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->m->losses_cnt; i++)
		sum += f->m->losses[i].cause == cause ? f->m->losses[i].count : 0;
	return sum;
}

Test(ingest_requests, count_from_the_baseline)
{
	struct feed f = feed_new_unbegun(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	const struct model_service *s;

	e.begun = e.answered = e.times[10] = 1000;
	e.received_bytes = 5000;
	e.time_max_ns = 12000;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services_cnt, 0);
	ingest_begin(f.in, FEED_START);
	e.connections += 2;
	e.begun += 7;
	e.answered += 6;
	e.abandoned += 1;
	e.slow += 3;
	e.very_slow += 2;
	e.joined += 4;
	e.pushed += 5;
	e.time_ns += 8000;
	e.received_bytes += 70;
	e.sent_bytes += 700;
	e.times[10] += 4;
	e.times[20] += 2;
	look(&f, FEED_START + FEED_SECOND, &e, 1, NULL, 0);
	cr_assert_eq(f.m->services_cnt, 1);
	s = &f.m->services[0];
	cr_expect_eq(s->served.connections, 2);
	cr_expect_eq(s->served.begun, 7);
	cr_expect_eq(s->served.answered, 6);
	cr_expect_eq(s->served.abandoned, 1);
	cr_expect_eq(s->served.slow, 3);
	cr_expect_eq(s->served.very_slow, 2);
	cr_expect_eq(s->served.joined, 4);
	cr_expect_eq(s->served.pushed, 5);
	cr_expect_eq(s->served.time_ns, 8000);
	cr_expect_eq(s->served.received_bytes, 70);
	cr_expect_eq(s->served.sent_bytes, 700);
	cr_assert_eq(f.m->responses_cnt, 2);
	cr_expect_eq(f.m->responses[0].slot, 10);
	cr_expect_eq(f.m->responses[0].count, 4);
	cr_expect_eq(f.m->responses[1].count, 2);
	cr_expect_str_eq(f.m->endpoints[0].address, "127.0.0.1");
	cr_expect_eq(f.m->endpoints[0].port, PORT);
	cr_expect_eq(f.m->endpoints[0].slow_ns, 500 * FEED_MS);
	cr_expect_eq(f.m->processes[f.m->endpoints[0].process].tgid, TGID);
	next_slice(&f);
	look(&f, FEED_START + 2 * FEED_SECOND, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services_cnt, 0, "nothing happened: no row");
	feed_free(&f);
}

Test(ingest_requests, a_baseline_brings_nobody_back_who_is_gone)
{
	struct feed f = feed_new_unbegun(1);
	struct endpoint e[2] = {feed_endpoint(TGID, PORT), feed_endpoint(TGID + 1, PORT)};

	feed_account(&f, TGID, TGID, TGID, TGID, 1);
	e[0].begun = e[1].begun = 1000;
	look(&f, FEED_START, e, 2, NULL, 0);
	cr_expect_eq(f.m->processes_cnt, 1);
	cr_expect_eq(f.m->endpoints_cnt, 1);
	ingest_begin(f.in, FEED_START);
	look(&f, FEED_START, e, 2, NULL, 0);
	cr_expect_eq(f.m->processes_cnt, 1);
	cr_expect_eq(f.m->services_cnt, 0);
	next_slice(&f);
	e[1].begun += 3; /* not gone after all */
	look(&f, FEED_START, e, 2, NULL, 0);
	cr_expect_eq(f.m->processes_cnt, 2);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].served.begun, 3);
	feed_free(&f);
}

Test(ingest_requests, of_a_row_that_appears_later_all_counts)
{
	struct feed f = feed_new(1);
	struct endpoint e[2] = {feed_endpoint(TGID, PORT), feed_endpoint(TGID, PORT + 1)};

	e[0].begun = 5;
	look(&f, FEED_START, e, 1, NULL, 0);
	next_slice(&f);
	e[1].begun = 6;
	e[1].netns = 9;
	look(&f, FEED_START + FEED_SECOND, e, 2, NULL, 0);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].endpoint, 1);
	cr_expect_eq(f.m->services[0].slice, 1);
	cr_expect_eq(f.m->services[0].served.begun, 6);
	cr_expect_eq(f.m->endpoints[1].netns, 9);
	feed_free(&f);
}

Test(ingest_requests, a_row_taken_over_by_another_listener_counts_anew)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	e.begun = 50;
	look(&f, FEED_START, &e, 1, NULL, 0);
	next_slice(&f);
	e = feed_endpoint(TGID + 1, PORT + 1);
	e.begun = 3;
	look(&f, FEED_START + FEED_SECOND, &e, 1, NULL, 0);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].served.begun, 3);
	cr_expect_eq(f.m->endpoints_cnt, 2);
	feed_free(&f);
}

Test(ingest_requests, counters_that_fall_count_nothing_and_recover)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	e.begun = e.answered = 100;
	e.times[5] = 100;
	look(&f, FEED_START, &e, 1, NULL, 0);
	next_slice(&f);
	e.begun = 40;
	e.times[5] = 40;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services_cnt, 0);
	cr_expect_eq(f.m->responses_cnt, 0);
	next_slice(&f);
	e.begun = 101;
	e.times[5] = 101;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].served.begun, 1);
	cr_expect_eq(f.m->responses[0].count, 1);
	feed_free(&f);
}

Test(ingest_requests, the_histogram_wraps_at_32_bits)
{
	struct feed f = feed_new_unbegun(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	e.times[5] = UINT32_MAX - 1;
	look(&f, FEED_START, &e, 1, NULL, 0);
	ingest_begin(f.in, FEED_START);
	e.times[5] = 1;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_assert_eq(f.m->responses_cnt, 1);
	cr_expect_eq(f.m->responses[0].count, 3);
	feed_free(&f);
}

Test(ingest_requests, the_longest_is_exact_where_it_is_the_longest_ever)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	e.answered = e.times[40] = 1; /* 2,048 us to 2,560 us */
	e.time_max_ns = 2222 * FEED_US;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services[0].time_max_ns, 2222 * FEED_US);
	next_slice(&f);
	e.answered = 2;
	e.times[20] = 1; /* 64 us to 80 us */
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services[0].time_max_ns, 80 * FEED_US);
	next_slice(&f);
	e.answered = 3;
	e.times[40] = 2;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services[0].time_max_ns, 2222 * FEED_US, "no longer than the longest");
	feed_free(&f);
}

Test(ingest_requests, what_stands_is_told_by_age)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	uint64_t now = FEED_START + 20 * FEED_SECOND;
	const struct event_socket sockets[] = {
		feed_unanswered(TGID, PORT, now - 10 * FEED_MS),
		feed_unanswered(TGID, PORT, now - 500 * FEED_MS),
		feed_unanswered(TGID, PORT, now - 501 * FEED_MS),
		feed_unanswered(TGID, PORT, now - STUCK_NS),
		feed_unanswered(TGID, PORT, now - STUCK_NS - 1),
		feed_unanswered(TGID, PORT, FEED_START - FEED_SECOND), /* since before the start */
		feed_unanswered(TGID, PORT, now + FEED_MS),	       /* begun while we looked */
		feed_listening(TGID, PORT, 17, 0),
	};
	const struct model_service *s;

	look(&f, now, &e, 1, sockets, 8);
	cr_assert_eq(f.m->services_cnt, 1);
	s = &f.m->services[0];
	cr_expect_eq(s->open, 7);
	cr_expect_eq(s->late, 4);
	cr_expect_eq(s->stuck, 2);
	cr_expect_eq(s->oldest_ns, 21 * FEED_SECOND);
	cr_expect_eq(s->queued, 17);
	cr_expect_eq(s->backlog, 512);
	next_slice(&f);
	look(&f, now + FEED_SECOND, &e, 1, NULL, 0);
	cr_expect_eq(f.m->services_cnt, 0, "it is not carried over");
	feed_free(&f);
}

Test(ingest_requests, what_perhaps_wants_no_answer_is_no_hang)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	struct event_socket socket = feed_unanswered(TGID, PORT, FEED_START - 100 * FEED_SECOND);

	socket.flags |= SOCKET_UNSURE;
	look(&f, FEED_START, &e, 1, &socket, 1);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].unsure, 1);
	cr_expect_eq(f.m->services[0].open + f.m->services[0].late + f.m->services[0].stuck, 0);
	cr_expect_eq(f.m->services[0].oldest_ns, 0);
	feed_free(&f);
}

Test(ingest_requests, refused_ones_count_from_the_first_look)
{
	static const struct {
		const char *name;
		bool later; /* the listening socket appears after the first look */
		uint32_t first, second;
		uint64_t counted;
	} rows[] = {
		{"of an old socket the rise", false, 100, 130, 30},
		{"of a new socket all", true, 0, 5, 5},
		{"fallen", false, 100, 90, 0},
		{"none", false, 100, 100, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct event_socket socket = feed_listening(TGID, PORT, 0, rows[i].first);
		uint64_t counted;

		look(&f, FEED_START, NULL, 0, &socket, !rows[i].later);
		cr_expect_eq(f.m->services_cnt, 0, "%s", rows[i].name);
		next_slice(&f);
		socket.refused = rows[i].second;
		look(&f, FEED_START, NULL, 0, &socket, 1);
		counted = f.m->services_cnt ? f.m->services[0].served.refused : 0;
		cr_expect_eq(counted, rows[i].counted, "%s: %llu", rows[i].name,
			     (unsigned long long)counted);
		feed_free(&f);
	}
}

Test(ingest_requests, sockets_find_their_endpoint)
{
	static const struct {
		const char *name;
		uint32_t tgid; /* of the socket; the endpoint's is TGID */
		uint16_t port;
		bool known; /* the endpoint was told */
		uint32_t endpoints, tgid_told;
		uint64_t lost;
	} rows[] = {
		{"its own process's", TGID, PORT, true, 1, TGID, 0},
		{"another process of that listener", TGID + 1, PORT, true, 1, TGID, 0},
		{"nobody has read from it", 0, PORT, true, 1, TGID, 0},
		{"no endpoint yet", TGID, PORT, false, 1, TGID, 0},
		{"another listener", TGID, PORT + 1, true, 2, TGID, 0},
		{"of nobody", 0, PORT, false, 0, 0, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct feed f = feed_new(1);
		struct endpoint e = feed_endpoint(TGID, PORT);
		struct event_socket socket =
			feed_unanswered(rows[i].tgid, rows[i].port, FEED_START - STUCK_NS - 1);

		look(&f, FEED_START, &e, rows[i].known, &socket, 1);
		cr_expect_eq(f.m->endpoints_cnt, rows[i].endpoints, "%s", rows[i].name);
		cr_expect_eq(losses(&f, LOSS_MODEL_LIMIT), rows[i].lost, "%s", rows[i].name);
		if (f.m->services_cnt) {
			const struct model_endpoint *got =
				&f.m->endpoints[f.m->services[0].endpoint];

			cr_expect_eq(f.m->services[0].stuck, 1, "%s", rows[i].name);
			cr_expect_eq(f.m->processes[got->process].tgid, rows[i].tgid_told, "%s",
				     rows[i].name);
		} else {
			cr_expect_eq(rows[i].tgid_told, 0, "%s", rows[i].name);
		}
		feed_free(&f);
	}
}

Test(ingest_requests, idle_listening_sockets_make_no_rows)
{
	struct feed f = feed_new(1);
	struct event_socket sockets[100];

	for (uint16_t i = 0; i < 100; i++)
		sockets[i] = feed_listening(TGID, (uint16_t)(PORT + i), 0, 3);
	look(&f, FEED_START, NULL, 0, sockets, 100);
	cr_expect_eq(f.m->endpoints_cnt, 0);
	cr_expect_eq(f.m->services_cnt, 0);
	feed_free(&f);
}

Test(ingest_requests, an_endpoint_known_by_a_socket_learns_the_rest)
{
	struct feed f = feed_new(1);
	struct event_socket socket = feed_unanswered(TGID, PORT, FEED_START - 2 * FEED_SECOND);
	struct endpoint e = feed_endpoint(TGID, PORT);

	look(&f, FEED_START, NULL, 0, &socket, 1);
	cr_expect_str_eq(f.m->endpoints[0].address, "");
	cr_expect_eq(f.m->services[0].late, 1);
	f.m->endpoints[0].dirty = false;
	e.slow_ns = 100 * FEED_MS;
	e.protocols = PROTOCOL_HTTP1;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect_eq(f.m->endpoints_cnt, 1);
	cr_expect_str_eq(f.m->endpoints[0].address, "127.0.0.1");
	cr_expect_eq(f.m->endpoints[0].slow_ns, 100 * FEED_MS);
	cr_expect_eq(f.m->endpoints[0].protocols, PROTOCOL_HTTP1);
	cr_expect(f.m->endpoints[0].dirty);
	f.m->endpoints[0].dirty = false;
	look(&f, FEED_START, &e, 1, NULL, 0);
	cr_expect(!f.m->endpoints[0].dirty, "nothing new: not written again");
	feed_free(&f);
}

Test(ingest_requests, sockets_that_say_nothing_are_counted)
{
	struct feed f = feed_new(1);
	struct event_socket sockets[] = {
		feed_unanswered(TGID, PORT, 0),
		feed_unanswered(TGID, 0, FEED_START), /* no cookie */
	};

	look(&f, FEED_START, NULL, 0, sockets, 2);
	cr_expect_eq(losses(&f, LOSS_BAD_RECORD), 2);
	cr_expect_eq(f.m->services_cnt, 0);
	feed_free(&f);
}

/* Unanswered requests of so many listening sockets of one process. */
static void stand(struct feed *f, uint32_t tgid, uint64_t listener, uint32_t cnt)
{
	struct event_socket socket = feed_unanswered(tgid, PORT, FEED_START - FEED_SECOND);

	for (uint32_t i = 0; i < cnt; i++) {
		socket.listener = listener + i;
		ingest_socket(f->in, &socket);
	}
}

Test(ingest_requests, rows_beyond_the_bounds_are_counted)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	ingest_requests_begin(f.in, FEED_START);
	ingest_endpoint(f.in, ENDPOINTS_MAX, &e);
	cr_expect_eq(losses(&f, LOSS_MODEL_LIMIT), 1);
	stand(&f, TGID, 100000, MODEL_MAX_ENDPOINTS + 10);
	cr_expect_eq(f.m->endpoints_cnt, ENDPOINTS_OF_PROCESS);
	cr_expect_eq(losses(&f, LOSS_MODEL_LIMIT),
		     1 + MODEL_MAX_ENDPOINTS + 10 - ENDPOINTS_OF_PROCESS);
	ingest_requests_end(f.in, true);
	cr_expect_eq(f.m->services_cnt, ENDPOINTS_OF_PROCESS);
	feed_free(&f);
}

/* However many take as many as they get, all of one cgroup: who comes late still finds some. */
Test(ingest_requests, endpoints_are_left_to_those_who_come_late)
{
	struct feed f = feed_new(1);

	ingest_requests_begin(f.in, FEED_START);
	for (uint32_t i = 0; i < 10; i++)
		stand(&f, TGID + 1 + i, 100000 + i * MODEL_MAX_ENDPOINTS, MODEL_MAX_ENDPOINTS);
	cr_expect_leq(f.m->endpoints_cnt, ENDPOINTS_OF_CGROUP);
	stand(&f, TGID, 50, 4);
	ingest_requests_end(f.in, true);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_neq(
			model_endpoint_find(f.m, model_process_at(f.m, TGID, UINT64_MAX), 50 + i),
			MODEL_NONE, "%u", i);
	feed_free(&f);
}

/* Of more processes than a cgroup may have endpoints, all requests are counted. */
Test(ingest_requests, of_a_process_beyond_the_bounds_are_told_with_another_of_that_socket)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	uint64_t begun = 0;

	ingest_requests_begin(f.in, FEED_START);
	for (uint32_t row = 0; row < 2000; row++) {
		e.tgid = TGID + row;
		e.begun = e.answered = 3;
		ingest_endpoint(f.in, row, &e);
	}
	ingest_requests_end(f.in, true);
	cr_expect_leq(f.m->endpoints_cnt, ENDPOINTS_OF_CGROUP);
	for (size_t i = 0; i < f.m->services_cnt; i++)
		begun += f.m->services[i].served.begun;
	cr_expect_eq(begun, 6000);
	cr_expect_eq(losses(&f, LOSS_MODEL_LIMIT), 0);
	feed_free(&f);
}

/* It was given back and taken again between two looks. */
Test(ingest_requests, a_row_that_the_same_process_takes_again_counts_from_nothing)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	uint64_t begun = 0;

	e.begun = 10;
	look(&f, FEED_START, &e, 1, NULL, 0);
	e.begun = 4;
	e.turn++;
	look(&f, FEED_START + FEED_SECOND, &e, 1, NULL, 0);
	for (size_t i = 0; i < f.m->services_cnt; i++)
		begun += f.m->services[i].served.begun;
	cr_expect_eq(begun, 14);
	feed_free(&f);
}

Test(ingest_requests, that_were_refused_are_told_of_their_process)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	uint32_t process;

	ingest_refused(f.in, TGID, e.process_start_ns, 7);
	ingest_refused(f.in, TGID, e.process_start_ns, 5);
	process = model_process_find(f.m, TGID, e.process_start_ns);
	cr_assert_neq(process, MODEL_NONE);
	cr_expect_eq(f.m->processes[process].requests_refused, 12);
	feed_free(&f);
}

/* With very many connections sockets are not looked at in each slice. */
Test(ingest_requests, what_stood_at_the_last_look_stands_with_its_age)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);
	struct event_socket sockets[] = {
		feed_unanswered(TGID, PORT, FEED_START - 9 * FEED_SECOND),
		feed_unanswered(TGID, PORT, FEED_START - 11 * FEED_SECOND),
		feed_listening(TGID, PORT, 3, 0),
	};
	const struct model_service *s;

	e.begun = 2;
	look(&f, FEED_START, &e, 1, sockets, 3);
	cr_expect_eq(f.m->slices[0].sockets_age_ns, 0);
	for (unsigned int i = 1; i <= 2; i++) {
		next_slice(&f);
		e.begun += 5;
		ingest_requests_begin(f.in, FEED_START + i * FEED_SECOND);
		ingest_endpoint(f.in, 0, &e);
		ingest_requests_end(f.in, false);
		cr_assert_eq(f.m->services_cnt, 1);
		s = &f.m->services[0];
		cr_expect_eq(s->served.begun, 5);
		cr_expect_eq(s->open, 2);
		cr_expect_eq(s->stuck, 1, "the other one may be answered: %u", i);
		cr_expect_eq(s->oldest_ns, 11 * FEED_SECOND);
		cr_expect_eq(s->queued, 3);
		cr_expect_eq(f.m->slices[f.m->slices_cnt - 1].sockets_age_ns, i * FEED_SECOND);
	}
	next_slice(&f);
	look(&f, FEED_START + 3 * FEED_SECOND, &e, 1, &sockets[2], 1);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].open, 0);
	cr_expect_eq(f.m->services[0].queued, 3);
	cr_expect_eq(f.m->slices[f.m->slices_cnt - 1].sockets_age_ns, 0);
	feed_free(&f);
}

Test(ingest_requests, answers_that_were_not_seen_are_told)
{
	struct feed f = feed_new(1);
	struct endpoint e = feed_endpoint(TGID, PORT);

	e.begun = e.answered = e.times[20] = 80;
	e.unseen = 70;
	look(&f, FEED_START, &e, 1, NULL, 0);
	e.begun = e.answered = e.times[20] = 96;
	e.unseen = 78;
	next_slice(&f);
	look(&f, FEED_START + FEED_SECOND, &e, 1, NULL, 0);
	cr_assert_eq(f.m->services_cnt, 1);
	cr_expect_eq(f.m->services[0].served.answered, 16);
	cr_expect_eq(f.m->services[0].served.unseen, 8);
	feed_free(&f);
}

Test(ingest_requests, listeners_that_are_gone_are_forgotten)
{
	struct request_book book = {0};
	struct model *m = model_new();
	struct event_socket socket;

	for (uint32_t round = 0; round < 3; round++) {
		request_book_begin(&book, FEED_START);
		for (uint32_t i = 0; i < 1000; i++) {
			socket = feed_listening(TGID, PORT, 0, 0);
			socket.listener = round * 1000 + i + 1;
			cr_expect_eq(request_book_socket(&book, m, MODEL_NONE, &socket), 0);
		}
		cr_expect_eq(request_book_end(&book, m, true, true), 0);
		cr_expect_eq(book.listeners_cnt, 1000);
	}
	request_book_begin(&book, FEED_START);
	cr_expect_eq(request_book_end(&book, m, true, false), 0);
	cr_expect_eq(book.listeners_cnt, 1000, "a look that failed forgets nothing");
	request_book_clear(&book);
	model_free(m);
}
