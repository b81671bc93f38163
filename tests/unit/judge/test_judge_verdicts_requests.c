/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts of those who serve, or who have a signal of their own. */
#include <criterion/criterion.h>
#include <linux/types.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judged.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)

Test(verdicts_requests, requests_of_any_protocol_count_and_what_blurs_them_is_told)
{
	static const uint8_t protocols[] = {PROTOCOL_HTTP1, PROTOCOL_HTTP2, PROTOCOL_TLS};

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Api", 1, 0, 0, 0), e;
		struct judged j;

		e = build_endpoint(m, p, "::", 443);
		m->endpoints[e].protocols = protocols[i];
		build_books(m, 10);
		judged_leaves(m, e, 9, 100, 60 * BUILD_SECOND);
		j = judged_of(m);
		judged_expect(&j, p, VERDICT_INELASTIC);
		cr_assert(judged_row(&j, p));
		cr_expect_eq(judged_row(&j, p)->blur != NULL, protocols[i] != PROTOCOL_HTTP1);
		judged_free(&j);
	}
}

Test(verdicts_requests, what_perhaps_wants_no_answer_is_no_hang)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "logstash", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "::", 5044);
	build_books(m, 10);
	build_service(m, &(struct model_service){.slice = 9, .endpoint = e, .unsure = 40});
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_HEALTHY);
	judged_free(&j);
}

Test(verdicts_requests, hang_that_ended_is_told)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 1, 0, 0, 0), e;
	struct judged j;

	e = build_endpoint(m, p, "::", 80);
	build_books(m, 10);
	judged_leaves(m, e, 2, 9, 12 * BUILD_SECOND);
	build_answers(m, 5, e, MS, 1000);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_INELASTIC);
	cr_assert(judged_row(&j, p));
	cr_expect_eq(judged_row(&j, p)->worst, 2);
	judged_free(&j);
}

Test(verdicts_requests, refused_connections_count_where_the_queue_was_full)
{
	static const struct {
		uint32_t queued, backlog;
		enum verdict verdict;
	} queues[] = {
		{0, 512, VERDICT_HEALTHY},     {255, 512, VERDICT_HEALTHY},
		{256, 512, VERDICT_INELASTIC}, {513, 512, VERDICT_INELASTIC},
		{0, 0, VERDICT_HEALTHY},
	};

	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Api", 1, 0, 0, 0);
		struct judged j;

		build_endpoint(m, p, "::", 80);
		build_books(m, 10);
		build_service(m, &(struct model_service){
					 .slice = 3,
					 .served = {.refused = 7},
					 .queued = queues[i].queued,
					 .backlog = queues[i].backlog,
				 });
		j = judged_of(m);
		judged_expect(&j, p, queues[i].verdict);
		judged_free(&j);
	}
}

Test(verdicts_requests, why_a_process_has_no_signal)
{
	static const struct {
		uint32_t off;
		const char *expected;
	} reasons[] = {
		{0, "it serves no requests that hotrun sees"},
		{OFF_REQUESTS, NULL},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const char *expected = reasons[i].expected;
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Api", 1900, 0, 0, 0);
		struct judged j;

		m->host.off = reasons[i].off;
		build_endpoint(m, p, "::", 443);
		build_books(m, 10);
		j = judged_of(m);
		judged_expect(&j, p, expected ? VERDICT_BUSY_UNMEASURED : VERDICT_UNKNOWN);
		cr_assert(judged_row(&j, p));
		cr_expect_str_eq(judged_row(&j, p)->unmeasured,
				 expected ? expected : model_off_text(m, OFF_REQUESTS));
		judged_free(&j);
	}
}

Test(verdicts_requests, operators_own_signal)
{
	struct model *m = build_model(2, 99);
	uint32_t fast = judged_add(m, 10, "worker", 900, 400, 0, 0);
	uint32_t slow = judged_add(m, 20, "queue", 1, 0, 0, 0);
	uint32_t none = judged_add(m, 30, "other", 300, 400, 0, 0);
	struct judged j;

	build_books(m, 10);
	for (uint32_t i = 0; i < 10; i++) {
		model_signal_add(m, &(struct model_signal){i, fast, 10000});
		model_signal_add(m, &(struct model_signal){i, slow, 500000});
	}
	j = judged_of(m);
	judged_expect(&j, fast, VERDICT_HEALTHY);
	judged_expect(&j, slow, VERDICT_INELASTIC);
	judged_expect(&j, none, VERDICT_CONTENDED);
	judged_expect_host(&j, VERDICT_INELASTIC);
	judged_free(&j);
}

/* Over all it is no more than usual, and for some seconds nothing works. */
Test(verdicts_requests, operators_signal_of_some_seconds)
{
	struct model *m = build_model(2, 99);
	uint32_t queue = judged_add(m, 20, "queue", 1, 0, 0, 0);
	struct judged j;

	build_books(m, 60);
	for (uint32_t i = 0; i < 60; i++)
		model_signal_add(m,
				 &(struct model_signal){i, queue, i >= 20 && i < 25 ? 900000 : 0});
	j = judged_of(m);
	cr_assert(judged_row(&j, queue));
	cr_expect(judged_row(&j, queue)->episode);
	cr_expect_eq(judged_row(&j, queue)->first, 20);
	cr_expect_eq(judged_row(&j, queue)->last, 24);
	judged_expect(&j, queue, VERDICT_INELASTIC);
	judged_free(&j);
}

/* Half of its requests takes so long, and an hour of its past knows better. */
static struct judged slower(uint64_t median_ns, uint32_t slow_ppm, uint32_t from, uint32_t to)
{
	struct model *m = build_model(2, 99);
	uint32_t shop = judged_add(m, 20, "shop", 1, 0, 0, 0);

	build_books(m, 30);
	judged_answers(m, build_endpoint(m, shop, "0.0.0.0", 80), 30, 30000000, 100);
	for (uint32_t i = from; i < to; i++)
		model_past_add(m,
			       &(struct model_past){i, shop, 20, median_ns, 10000000, slow_ppm, 0});
	return judged_of(m);
}

Test(verdicts_requests, slower_than_it_is_used_to)
{
	static const struct {
		const char *name;
		uint64_t median_ns;
		uint32_t slow_ppm, from, to;
		bool hurt, episode;
	} cases[] = {
		{"as usual", 10000000, 0, 0, 30, false, false},
		{"a little", 19000000, 0, 0, 30, false, false},
		{"three times", 30000000, 0, 0, 30, true, false},
		{"three times, for some seconds", 30000000, 0, 10, 15, false, true},
		{"three times, for two seconds", 30000000, 0, 10, 12, false, false},
		{"what nobody feels", 14000000, 0, 0, 30, false, false},
		{"two in a hundred slow where none was", 0, 20000, 0, 30, true, false},
		{"one in a hundred", 0, 10000, 0, 30, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct judged j =
			slower(cases[i].median_ns, cases[i].slow_ppm, cases[i].from, cases[i].to);
		const struct verdict_row *row = judged_row(&j, 0);

		cr_expect_eq(row && row->result.hurt, cases[i].hurt, "%s", cases[i].name);
		cr_expect_eq(row && row->episode, cases[i].episode, "%s", cases[i].name);
		if (cases[i].hurt)
			cr_expect_eq(row->result.evidence[0].figure, FIGURE_SLOWER, "%s",
				     cases[i].name);
		judged_free(&j);
	}
}

/* A hang whose clients give up before T leaves nothing that is slow. */
Test(verdicts_requests, clients_that_give_up_are_no_sign_of_health)
{
	static const struct {
		const char *name;
		uint64_t answered, abandoned;
		uint8_t protocols;
		enum verdict verdict;
	} cases[] = {
		{"nobody is answered", 0, 100, PROTOCOL_HTTP1, VERDICT_INELASTIC},
		{"half are", 100, 100, PROTOCOL_HTTP1, VERDICT_INELASTIC},
		{"most are", 101, 100, PROTOCOL_HTTP1, VERDICT_HEALTHY},
		{"few are known of", 0, 19, PROTOCOL_HTTP1, VERDICT_HEALTHY},
		{"the last words of TLS", 100, 100, PROTOCOL_HTTP1 | PROTOCOL_TLS, VERDICT_HEALTHY},
		{"logs want no answer", 0, 100, PROTOCOL_OTHER, VERDICT_HEALTHY},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "Shop.Api", 1, 0, 0, 0);
		uint32_t e = build_endpoint(m, p, "::", 80);
		const struct verdict_row *row;
		struct judged j;

		m->endpoints[e].protocols = cases[i].protocols;
		build_books(m, 10);
		build_answers(m, 3, e, MS, cases[i].answered);
		build_service(m, &(struct model_service){
					 .slice = 4,
					 .endpoint = e,
					 .served = {.begun = cases[i].abandoned,
						    .abandoned = cases[i].abandoned},
				 });
		j = judged_of(m);
		row = judged_row(&j, p);
		cr_expect_eq(row ? row->result.verdict : VERDICT_HEALTHY, cases[i].verdict, "%s",
			     cases[i].name);
		cr_expect(!row || row->result.evidence[0].figure == FIGURE_UNANSWERED, "%s",
			  cases[i].name);
		cr_expect(!row || !row->unmeasured, "%s", cases[i].name);
		judged_free(&j);
	}
}

/* Ten slices in which all clients give up before they are answered. */
static void build_given_up(struct model *m, uint32_t e)
{
	for (uint32_t i = 0; i < 10; i++)
		build_service(m, &(struct model_service){.slice = i,
							 .endpoint = e,
							 .open = 8,
							 .oldest_ns = 290 * MS,
							 .served = {.begun = 26, .abandoned = 26}});
}

/* It waits a little behind its clients, but that is not why nobody is answered. */
Test(verdicts_requests, a_hang_whose_clients_give_up_is_not_for_want_of_a_cpu)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 120, 160, 0, 0);
	uint32_t e = build_endpoint(m, p, "::", 80);
	struct judged j;

	build_books(m, 10);
	build_given_up(m, e);
	j = judged_of(m);
	judged_expect(&j, p, VERDICT_INELASTIC);
	judged_free(&j);
}

/* Clients that give up, beside a program that spins: five threads wait a second together, each
 * second. */
static struct judged beside_a_spinner(const char *comm, uint64_t on_cpu_ns, uint32_t *ret_process)
{
	struct model *m = build_model(2, 99);
	uint32_t p = judged_add(m, 10, "Shop.Api", 0, 0, 0, 0), e = build_endpoint(m, p, "::", 80);

	for (uint32_t i = 0; i < 5; i++)
		build_sched(m, build_thread(m, p, 11 + i, comm, 0, 'S'),
			    &(struct sched_figures){.on_cpu_ns = on_cpu_ns,
						    .waited_ns = 2 * BUILD_SECOND,
						    .voluntary = 120,
						    .involuntary = 5000});
	build_books(m, 10);
	build_given_up(m, e);
	*ret_process = p;
	return judged_of(m);
}

/* Measured: idle workers have 5 us on the CPU each time, those with work 1 ms. */
Test(verdicts_requests, waits_that_keep_no_request_do_not_starve)
{
	static const struct {
		const char *name, *comm;
		uint64_t on_cpu_ns;
		double least, most; /* threads aside, of one that waits */
		enum verdict verdict;
	} cases[] = {
		{"workers that look for work", ".NET TP Worker", 40 * MS, 0.9, 0.99,
		 VERDICT_INELASTIC},
		{"workers with work", ".NET TP Worker", 1000 * MS, 0, 0, VERDICT_STARVED},
		{"a program of another kind, preempted by short bursts", "redis-server", 40 * MS, 0,
		 0, VERDICT_STARVED},
		{"methods compiled anew", ".NET Tiered Com", 500 * MS, 1, 1, VERDICT_INELASTIC},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct verdict_row *row;
		struct judged j;
		uint32_t p;

		j = beside_a_spinner(cases[i].comm, cases[i].on_cpu_ns, &p);
		row = judged_row(&j, p);
		cr_assert(row, "%s", cases[i].name);
		cr_expect_eq(row->result.verdict, cases[i].verdict, "%s", cases[i].name);
		cr_expect_eq(row->worst_result.verdict, cases[i].verdict, "%s, each second",
			     cases[i].name);
		cr_expect_eq(row->hurt_slices, 10, "%s", cases[i].name);
		cr_expect(row->input.excused >= cases[i].least &&
				  row->input.excused <= cases[i].most,
			  "%s: %f", cases[i].name, row->input.excused);
		judged_free(&j);
	}
}

/* nginx is as slow as the service behind it, which lacks CPU: that comes first on a host that is
 * full. */
Test(verdicts_requests, who_lacks_a_cpu_comes_before_who_waits_for_it)
{
	struct model *m = build_model(2, 99);
	uint32_t proxy = judged_add(m, 5, "nginx", 1, 1, 0, 0);
	uint32_t api = judged_add(m, 10, "Shop.Api", 200, 3000, 0, 0);
	struct judged j;

	judged_add(m, 20, "export", 1780, 100, 0, 0);
	judged_answers(m, build_endpoint(m, proxy, "::", 80), 10, 900 * MS, 100);
	judged_answers(m, build_endpoint(m, api, "::", 8080), 10, 900 * MS, 100);
	build_books(m, 10);
	j = judged_of(m);
	judged_expect_host(&j, VERDICT_HOST_OVERLOADED);
	judged_expect(&j, proxy, VERDICT_INELASTIC);
	judged_expect(&j, api, VERDICT_STARVED);
	cr_assert_geq(j.v->rows_cnt, 2);
	cr_expect_eq(j.v->rows[0].process, api);
	cr_expect_eq(j.v->rows[1].process, proxy);
	cr_expect_eq(j.v->hurt_services, 2);
	judged_free(&j);
}

/* Two workers at one socket, of whose connections few are followed, hardly any of the second one's:
 * that it waits keeps nobody waiting that is seen. Where all are followed, few ask, and these wait.
 */
Test(verdicts_requests, a_worker_whose_connections_are_not_followed_is_not_hurt_by_waits)
{
	for (int sampled = 0; sampled <= 1; sampled++) {
		struct model *m = build_model(2, 99);
		uint32_t busy = judged_add(m, 10, "nginx", 900, 0, 0, 0);
		uint32_t other = judged_add(m, 11, "nginx", 500, 400, 0, 0);
		uint32_t e = build_endpoint(m, busy, "::", 80);
		uint32_t f = build_endpoint(m, other, "::", 80);
		struct judged j;

		m->endpoints[f].listener = m->endpoints[e].listener;
		judged_answers(m, e, 10, 2 * MS, 1000);
		judged_answers(m, f, 1, 2 * MS, 3);
		for (size_t i = 0; sampled && i < m->services_cnt; i++)
			if (m->services[i].endpoint == e)
				m->services[i].served.unseen = 750;
		build_books(m, 10);
		j = judged_of(m);
		judged_expect(&j, other, sampled ? VERDICT_CONTENDED : VERDICT_STARVED);
		cr_expect_eq(j.v->hurt, !sampled);
		judged_free(&j);
	}
}

/* Blocking commands and subscriptions: Redis' BLPOP, PostgreSQL's LISTEN. */
Test(verdicts_requests, waits_by_design_at_an_unknown_protocol_are_no_hang)
{
	static const struct {
		const char *name;
		uint8_t protocols;
		uint64_t fast, five_s, nine_s; /* answers of each second */
		uint32_t seconds;	       /* of 20, in which it answers */
		uint32_t stuck;
		enum verdict verdict;
	} cases[] = {
		{"blocked clients beside others", PROTOCOL_OTHER, 42, 31, 0, 20, 20,
		 VERDICT_HEALTHY},
		{"with a deadline alone", PROTOCOL_OTHER, 0, 20, 0, 20, 20, VERDICT_HEALTHY},
		{"the same of HTTP", PROTOCOL_HTTP1, 42, 31, 0, 20, 20, VERDICT_INELASTIC},
		{"of who knows what", 0, 42, 31, 0, 20, 20, VERDICT_INELASTIC},
		{"most are slow, and no timer's", PROTOCOL_OTHER, 10, 31, 31, 20, 0,
		 VERDICT_INELASTIC},
		{"it answers nobody any more", PROTOCOL_OTHER, 42, 0, 0, 8, 20, VERDICT_INELASTIC},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t p = judged_add(m, 10, "redis-server", 1, 0, 0, 0), e;
		struct judged j;

		e = build_endpoint(m, p, "::", 6379);
		m->endpoints[e].protocols = cases[i].protocols;
		build_books(m, 20);
		for (uint32_t slice = 0; slice < 20; slice++) {
			if (slice < cases[i].seconds) {
				build_answers(m, slice, e, MS, cases[i].fast);
				build_answers(m, slice, e, 5 * BUILD_SECOND, cases[i].five_s);
				build_answers(m, slice, e, 9 * BUILD_SECOND, cases[i].nine_s);
			}
			judged_leaves(m, e, slice, cases[i].stuck, 12 * BUILD_SECOND);
		}
		j = judged_of(m);
		cr_expect(judged_row(&j, p) || cases[i].verdict == VERDICT_HEALTHY, "%s",
			  cases[i].name);
		if (judged_row(&j, p))
			cr_expect_eq(judged_row(&j, p)->result.verdict, cases[i].verdict, "%s: %s",
				     cases[i].name, verdict_id(judged_row(&j, p)->result.verdict));
		cr_expect_eq(j.v->host.input.slow_share > 0, cases[i].verdict != VERDICT_HEALTHY,
			     "%s: of the host", cases[i].name);
		judged_free(&j);
	}
}
