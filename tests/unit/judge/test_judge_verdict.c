/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each rule, and each threshold just below, at and above it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/verdict.h"

#define MS     1000000ull
#define SECOND 1000000000ull

struct rule_case {
	const char *name;
	struct verdict_input in; /* of a host and process with 4 CPUs, own waits told apart */
	enum verdict verdict;	 /* where waiting was declared to hurt */
	bool hurt;
	enum verdict_figure first;
};

#define FAST .has_requests = true, .requests = 1000, .slow_share = 0.01
#define SLOW .has_requests = true, .requests = 1000, .slow_share = 0.4

static const struct rule_case cases[] = {
	/* Nothing, or calm. */
	{"idle", {.running = 0}, VERDICT_HEALTHY, false, FIGURE_CPU},
	{"some CPU", {.running = 1}, VERDICT_HEALTHY, false, FIGURE_CPU},
	{"some CPU, fast", {.running = 1, FAST}, VERDICT_HEALTHY, false, FIGURE_SLOW_SHARE},
	/* High CPU: 70 % of 4 CPUs is 2.8. */
	{"CPU just below high", {.running = 2.7999}, VERDICT_HEALTHY, false, FIGURE_CPU},
	{"CPU at high", {.running = 2.8}, VERDICT_BUSY_UNMEASURED, false, FIGURE_CPU},
	{"CPU above high", {.running = 4}, VERDICT_BUSY_UNMEASURED, false, FIGURE_CPU},
	{"high CPU of a quota",
	 {.running = 0.35, .cpus_available = 0.5},
	 VERDICT_BUSY_UNMEASURED,
	 false,
	 FIGURE_CPU},
	{"high CPU, fast", {.running = 3.5, FAST}, VERDICT_BUSY_ELASTIC, false, FIGURE_SLOW_SHARE},
	{"high CPU, the operator's number says fast",
	 {.running = 3.5, .has_signal = true, .signal = 0.02},
	 VERDICT_BUSY_ELASTIC,
	 false,
	 FIGURE_SIGNAL},
	{"high CPU, too few requests",
	 {.running = 3.5, .has_requests = true, .requests = 19},
	 VERDICT_BUSY_UNMEASURED,
	 false,
	 FIGURE_REQUESTS},
	{"high CPU, just enough requests",
	 {.running = 3.5, .has_requests = true, .requests = 20},
	 VERDICT_BUSY_ELASTIC,
	 false,
	 FIGURE_SLOW_SHARE},
	/* Run delay alone never makes it hurt when it has a signal. */
	{"waits long behind others, but fast",
	 {.running = 2, .waiting = 6, .delays = 9999, .delay_p99_ns = 80 * MS, FAST},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"high CPU, two threads wait all the time, fast",
	 {.running = 3, .waiting = 2, .behind_own = 1, FAST},
	 VERDICT_BUSY_ELASTIC,
	 false,
	 FIGURE_SLOW_SHARE},
	{"throttled, but fast",
	 {.running = 0.4, .throttled = 0.4, .cpus_available = 1, FAST},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	/* The signal: slow share. */
	{"slow share just below",
	 {.has_requests = true, .requests = 1000, .slow_share = 0.0999},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"slow share at",
	 {.has_requests = true, .requests = 1000, .slow_share = 0.1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow share above",
	 {.has_requests = true, .requests = 1000, .slow_share = 0.11},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"4 slow ones of too few",
	 {.has_requests = true, .requests = 19, .slow_share = 4 / 19.0},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_REQUESTS},
	{"5 slow ones of too few",
	 {.has_requests = true, .requests = 5, .slow_share = 1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"2 slow ones of just enough",
	 {.has_requests = true, .requests = 20, .slow_share = 0.1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	/* The same where not all connections were followed. */
	{"perhaps slow, not all seen",
	 {.has_requests = true,
	  .requests = 1000,
	  .unseen = 750,
	  .slow_share = 0.13,
	  .slow_below = 0.04,
	  .serves_enough = true},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_REQUESTS},
	{"perhaps slow is not fast",
	 {.running = 3.9,
	  .has_requests = true,
	  .requests = 1000,
	  .unseen = 750,
	  .slow_share = 0.13,
	  .slow_below = 0.04,
	  .serves_enough = true},
	 VERDICT_BUSY_UNMEASURED,
	 false,
	 FIGURE_REQUESTS},
	{"surely slow, not all seen",
	 {.has_requests = true,
	  .requests = 1000,
	  .unseen = 750,
	  .slow_share = 0.13,
	  .slow_below = 0.03},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"fast, not all seen",
	 {.running = 3.9,
	  .has_requests = true,
	  .requests = 1000,
	  .unseen = 750,
	  .slow_share = 0.05,
	  .slow_below = 0.03},
	 VERDICT_BUSY_ELASTIC,
	 false,
	 FIGURE_SLOW_SHARE},
	{"enough by number, too few seen",
	 {.has_requests = true, .requests = 1000, .unseen = 981, .slow_share = 0.1},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_REQUESTS},
	{"perhaps half end without an answer",
	 {.has_requests = true, .ended = 100, .unanswered_share = 0.6, .unanswered_below = 0.11},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"a slow share without its flag is none",
	 {.requests = 1000, .slow_share = 1},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	/* The signal: stuck. */
	{"oldest unanswered just below",
	 {.has_requests = true, .oldest_ns = 10 * SECOND - 1},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"oldest unanswered at",
	 {.has_requests = true, .oldest_ns = 10 * SECOND},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"oldest unanswered above: a hang without CPU",
	 {.has_requests = true, .stuck = 1, .oldest_ns = 10 * SECOND + 1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_STUCK},
	{"one stuck of many fast ones",
	 {.running = 1, .stuck = 1, .oldest_ns = 12 * SECOND, FAST},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_STUCK},
	/* The signal: accept queues, the operator's number. */
	{"misses a little, though that is half",
	 {.running = 0.0999, .waiting = 0.0999},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"misses as much as there must be",
	 {.running = 0.1, .waiting = 0.1},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"misses a little in long waits",
	 {.running = 0.05, .waiting = 0.06, .delays = 100, .delay_p99_ns = 21 * MS},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"half ended without an answer",
	 {.has_requests = true, .ended = 20, .unanswered_share = 0.5},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_UNANSWERED},
	{"less than half ended without an answer",
	 {.ended = 1000, .unanswered_share = 0.4999, FAST},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"too few ended",
	 {.has_requests = true, .ended = 19, .unanswered_share = 1},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"one connection refused", {.refused = 1, FAST}, VERDICT_INELASTIC, true, FIGURE_REFUSED},
	{"operator's number just below",
	 {.has_signal = true, .signal = 0.0999},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SIGNAL},
	{"operator's number at",
	 {.has_signal = true, .signal = 0.1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SIGNAL},
	{"operator's number bad, requests fast",
	 {.has_signal = true, .signal = 0.2, FAST},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SIGNAL},
	{"operator's number good, requests slow",
	 {.has_signal = true, .signal = 0, SLOW},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"hardly slower than it is used to",
	 {.slower = 1.99, FAST},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"twice as slow as it is used to",
	 {.slower = 2, FAST},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOWER},
	{"slower than it is used to, for want of CPU",
	 {.slower = 2, .running = 1, .waiting = 1, FAST},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOWER},
	/* Hurt, by no signal: progress. */
	{"progress just above",
	 {.running = 0.801, .waiting = 0.2},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"progress at", {.running = 0.75, .waiting = 0.1875}, VERDICT_HEALTHY, false, FIGURE_CPU},
	{"progress just below",
	 {.running = 0.799, .waiting = 0.2},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"next to nothing wanted",
	 {.running = 0.02, .waiting = 0.0799},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"a little wanted, at the floor",
	 {.running = 0.025, .waiting = 0.075, .delays = 100, .delay_p99_ns = 21 * MS},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"waits all the time, never runs", {.waiting = 1}, VERDICT_STARVED, true, FIGURE_PROGRESS},
	/* Hurt, by no signal: run delay. */
	{"p99 at",
	 {.running = 1, .waiting = 0.1, .delays = 100, .delay_p99_ns = 20 * MS},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"p99 above",
	 {.running = 1, .waiting = 0.1, .delays = 100, .delay_p99_ns = 20 * MS + 1},
	 VERDICT_STARVED,
	 true,
	 FIGURE_DELAY},
	{"p99 above, of too few delays",
	 {.running = 1, .waiting = 0.1, .delays = 99, .delay_p99_ns = 400 * MS},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"p99 of 25 ms over 3 delays of a process that wants nothing",
	 {.running = 0.0001, .waiting = 0.0075, .delays = 3, .delay_p99_ns = 25 * MS},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"p99 above, next to nothing wanted",
	 {.running = 0.01, .waiting = 0.03, .delays = 1000, .delay_p99_ns = 400 * MS},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	/* Asked to run behind others. */
	{"nice 19 waits behind everybody",
	 {.running = 0.1,
	  .waiting = 0.9,
	  .background = true,
	  .delays = 999,
	  .delay_p99_ns = SECOND},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"nice 19 takes what is left",
	 {.running = 3.9, .waiting = 12, .behind_own = 10, .background = true},
	 VERDICT_BUSY_UNMEASURED,
	 false,
	 FIGURE_CPU},
	{"nice 19 with slow requests",
	 {.running = 0.1, .waiting = 0.9, .background = true, SLOW},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"nice 19 asked for no CPU limit",
	 {.running = 0.1, .throttled = 0.9, .background = true},
	 VERDICT_THROTTLED,
	 true,
	 FIGURE_PROGRESS},
	/* Causes, in their order. */
	{"steal just below",
	 {.running = 1, .waiting = 1, .host_steal = 0.0999},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"steal at",
	 {.running = 1, .waiting = 1, .host_steal = 0.1},
	 VERDICT_STOLEN,
	 true,
	 FIGURE_PROGRESS},
	{"steal before throttling",
	 {.running = 1, .throttled = 1, .host_steal = 0.3},
	 VERDICT_STOLEN,
	 true,
	 FIGURE_PROGRESS},
	{"steal, slow",
	 {.running = 1, .host_steal = 0.3, SLOW},
	 VERDICT_STOLEN,
	 true,
	 FIGURE_SLOW_SHARE},
	{"steal, fast",
	 {.running = 1, .host_steal = 0.3, FAST},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"steal does not explain a hang without CPU",
	 {.host_steal = 0.3, .has_requests = true, .oldest_ns = 60 * SECOND},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_STUCK},
	{"throttled just below",
	 {.running = 1.802, .throttled = 0.198, SLOW},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"throttled at",
	 {.running = 1.75, .throttled = 0.25, .waiting = 0.5, SLOW},
	 VERDICT_THROTTLED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"throttled before starved",
	 {.running = 0.5, .throttled = 0.5, .waiting = 4},
	 VERDICT_THROTTLED,
	 true,
	 FIGURE_PROGRESS},
	{"throttled, next to nothing wanted, stuck",
	 {.running = 0.01, .throttled = 0.01, .has_requests = true, .oldest_ns = 60 * SECOND},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_STUCK},
	{"slow and waits behind others",
	 {.running = 1, .waiting = 3, .behind_own = 1, SLOW},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow in its sleep, waits a little behind others",
	 {.running = 0.12, .waiting = 0.06, SLOW, .unanswered = 50},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow in its sleep, throttled a little",
	 {.running = 0.12, .throttled = 0.06, SLOW, .unanswered = 50},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow in its sleep, its idle workers let others go first",
	 {.running = 0.06, .waiting = 2.6, .excused = 2.3, SLOW, .unanswered = 7.5},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow, some workers let others go first, and it waits",
	 {.running = 0.4, .waiting = 2.6, .excused = 1.8, SLOW, .unanswered = 7.5},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"nothing is known of its requests, and it lets others go first",
	 {.running = 0.4, .waiting = 2.6, .excused = 2.3, .refused = 1, .has_requests = true},
	 VERDICT_STARVED,
	 true,
	 FIGURE_REFUSED},
	{"slow, many queue inside, wants a CPU half of the time",
	 {.running = 0.1, .waiting = 0.4, SLOW, .unanswered = 200},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow, many queue inside, wants half of its part of a CPU",
	 {.running = 0.05, .throttled = 0.05, .cpus_available = 0.2, SLOW, .unanswered = 200},
	 VERDICT_THROTTLED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow, waits for a tenth of the time of its requests",
	 {.running = 0.02, .waiting = 0.1, SLOW, .unanswered = 1},
	 VERDICT_STARVED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow, waits for less than a tenth of that time",
	 {.running = 0.02, .waiting = 0.09, SLOW, .unanswered = 1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"its clients give up between two looks, and it waits a little",
	 {.running = 0.06,
	  .waiting = 0.3,
	  .has_requests = true,
	  .ended = 300,
	  .unanswered_share = 1},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_UNANSWERED},
	{"its clients give up between two looks, and it wants a CPU half of the time",
	 {.running = 0.1,
	  .waiting = 0.4,
	  .has_requests = true,
	  .ended = 300,
	  .unanswered_share = 1},
	 VERDICT_STARVED,
	 true,
	 FIGURE_UNANSWERED},
	{"some hang, the others are fast, and it waits",
	 {.running = 1, .waiting = 3, SLOW, .answered = 20, .oldest_ns = 60 * SECOND},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_STUCK},
	{"some hang, too few others to tell, and it waits",
	 {.running = 1, .waiting = 3, SLOW, .answered = 19, .oldest_ns = 60 * SECOND},
	 VERDICT_STARVED,
	 true,
	 FIGURE_STUCK},
	{"some hang, the others are slow, and it waits",
	 {.running = 1,
	  .waiting = 3,
	  SLOW,
	  .answered = 20,
	  .answered_share = 0.1,
	  .oldest_ns = 60 * SECOND},
	 VERDICT_STARVED,
	 true,
	 FIGURE_STUCK},
	{"a second with few requests, all fast, of a service that has many",
	 {.running = 0.1,
	  .waiting = 0.9,
	  .serves_enough = true,
	  .has_requests = true,
	  .requests = 3},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"a second without requests of a service that has many",
	 {.running = 0.1, .waiting = 0.9, .serves_enough = true},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_SLOW_SHARE},
	{"a second with few requests, some slow, of a service that has many",
	 {.running = 0.1,
	  .waiting = 0.9,
	  .serves_enough = true,
	  .has_requests = true,
	  .requests = 3,
	  .slow_share = 0.4},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"behind others as much as behind its own",
	 {.running = 4, .waiting = 10, .behind_own = 5},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"64 threads of its own",
	 {.running = 4, .waiting = 60, .behind_own = 59},
	 VERDICT_OVERSUBSCRIBED,
	 true,
	 FIGURE_PROGRESS},
	{"own waiting at one a CPU, slow",
	 {.running = 4, .waiting = 4, .behind_own = 4, SLOW},
	 VERDICT_OVERSUBSCRIBED,
	 true,
	 FIGURE_SLOW_SHARE},
	{"own waiting just below one a CPU, slow",
	 {.running = 4, .waiting = 3.99, .behind_own = 3.99, SLOW},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"own waiting just below one a CPU, no signal, high CPU",
	 {.running = 4, .waiting = 3.99, .behind_own = 3.99},
	 VERDICT_BUSY_UNMEASURED,
	 false,
	 FIGURE_CPU},
	{"own waiting just below one a CPU, no signal",
	 {.running = 1, .waiting = 3.99, .behind_own = 3.99},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"own threads on the one CPU that it may use, no signal",
	 {.running = 1, .waiting = 1, .behind_own = 1, .cpus_available = 1},
	 VERDICT_OVERSUBSCRIBED,
	 true,
	 FIGURE_PROGRESS},
	{"behind few of its own most, but behind others enough",
	 {.running = 1, .waiting = 3, .behind_own = 2},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"behind few of its own most, and behind others a little",
	 {.running = 1, .waiting = 2.2, .behind_own = 2},
	 VERDICT_HEALTHY,
	 false,
	 FIGURE_CPU},
	{"behind many of its own most, and behind others, too",
	 {.running = 4, .waiting = 15, .behind_own = 8},
	 VERDICT_OVERSUBSCRIBED,
	 true,
	 FIGURE_PROGRESS},
	{"slow, hardly waits: neither starved nor oversubscribed",
	 {.running = 1, .waiting = 0.05, SLOW},
	 VERDICT_INELASTIC,
	 true,
	 FIGURE_SLOW_SHARE},
	{"slow at high CPU", {.running = 4, SLOW}, VERDICT_INELASTIC, true, FIGURE_SLOW_SHARE},
	{"more behind its own than it waited",
	 {.running = 4, .waiting = 8, .behind_own = 9, SLOW},
	 VERDICT_OVERSUBSCRIBED,
	 true,
	 FIGURE_SLOW_SHARE},
	/* What it misses hurts who may serve, though nobody asked it in this second. */
	{"waits behind others in a second without requests",
	 {.running = 1, .waiting = 3, .may_serve = true},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"waits behind others, and its requests are too few to judge by",
	 {.running = 1, .waiting = 3, .has_requests = true, .requests = 19},
	 VERDICT_STARVED,
	 true,
	 FIGURE_PROGRESS},
	{"throttled, and its requests are too few to judge by",
	 {.running = 0.5, .throttled = 1, .has_requests = true, .requests = 19},
	 VERDICT_THROTTLED,
	 true,
	 FIGURE_PROGRESS},
	/* No evidence comes before all. */
	{"gap, healthy else", {.books_gap = true}, VERDICT_NO_EVIDENCE, false, FIGURE_BOOKS},
	{"gap, starved else",
	 {.books_gap = true, .running = 1, .waiting = 3},
	 VERDICT_NO_EVIDENCE,
	 false,
	 FIGURE_BOOKS},
	{"gap, and its requests hang",
	 {.books_gap = true, .has_requests = true, .oldest_ns = 60 * SECOND},
	 VERDICT_NO_EVIDENCE,
	 true,
	 FIGURE_BOOKS},
};

static struct verdict_input completed(const struct verdict_input *in)
{
	struct verdict_input full = *in;

	full.elapsed_ns = 10 * SECOND;
	full.own_known = true;
	full.host_cpus = 4;
	if (!(full.cpus_available > 0))
		full.cpus_available = 4;
	return full;
}

static struct verdict_limits waiting_hurts(void)
{
	struct verdict_limits limits;

	verdict_limits_default(&limits);
	limits.hurt_by = HURT_BY_WAITING;
	return limits;
}

Test(verdict, rules_and_their_edges)
{
	const struct verdict_limits limits = waiting_hurts();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rule_case *c = &cases[i];
		struct verdict_input in = completed(&c->in);
		struct verdict_result r;

		verdict_of(&in, &limits, &r);
		cr_expect_eq(r.verdict, c->verdict, "%s: %s", c->name, verdict_id(r.verdict));
		cr_expect_eq(r.hurt, c->hurt, "%s: hurt", c->name);
		cr_assert(r.evidence_cnt, "%s: no evidence", c->name);
		cr_expect_eq(r.evidence[0].figure, c->first, "%s: figure %d first", c->name,
			     r.evidence[0].figure);
	}
}

/* What nobody declared, nor serves, is calm for the same figures; all else is as before. */
Test(verdict, whose_harm_nobody_sees_is_contended_and_not_hurt)
{
	struct verdict_limits limits;
	unsigned contended = 0;

	verdict_limits_default(&limits);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rule_case *c = &cases[i];
		struct verdict_input in = completed(&c->in);
		bool is_seen = c->in.has_requests || c->in.has_signal || c->in.may_serve ||
			       c->in.refused || !c->hurt;
		struct verdict_result r;

		verdict_of(&in, &limits, &r);
		cr_expect_eq(r.verdict, is_seen ? c->verdict : VERDICT_CONTENDED, "%s: %s", c->name,
			     verdict_id(r.verdict));
		cr_expect_eq(r.hurt, is_seen && c->hurt, "%s: hurt", c->name);
		cr_expect_eq(r.evidence[0].figure, c->first, "%s: figure %d first", c->name,
			     r.evidence[0].figure);
		contended += r.verdict == VERDICT_CONTENDED;
	}
	cr_expect_geq(contended, 15);
}

/* It serves, or may, and nothing was measured: neither healthy nor hurt, whatever it waits for. */
Test(verdict, what_serves_unmeasured_is_unknown)
{
	struct verdict_limits limits, declared = waiting_hurts();
	unsigned unknown = 0;

	verdict_limits_default(&limits);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rule_case *c = &cases[i];
		struct verdict_input in = completed(&c->in);
		struct verdict_result r;

		if (in.has_requests || in.serves_enough || in.refused || in.slower > 0)
			continue; /* they were measured */
		in.may_serve = false;
		in.unmeasured = true;
		verdict_of(&in, &declared, &r);
		cr_expect_eq(r.verdict, c->verdict, "%s, declared: %s", c->name,
			     verdict_id(r.verdict));
		cr_expect_eq(r.hurt, c->hurt, "%s: hurt", c->name);
		verdict_of(&in, &limits, &r);
		if (in.has_signal || c->verdict == VERDICT_NO_EVIDENCE) {
			cr_expect_eq(r.verdict, c->verdict, "%s: %s", c->name,
				     verdict_id(r.verdict));
			continue;
		}
		cr_expect_eq(r.verdict, VERDICT_UNKNOWN, "%s: %s", c->name, verdict_id(r.verdict));
		cr_expect_not(r.hurt, "%s", c->name);
		cr_expect_eq(verdict_bit(&r), 0);
		/* What it misses is told all the same. */
		cr_expect_eq(r.evidence[0].figure, c->first, "%s: figure %d first", c->name,
			     r.evidence[0].figure);
		unknown++;
	}
	cr_expect_geq(unknown, 15, "%u", unknown);
}

/* It may serve, as far as anybody sees; that its limit hurts it has to be declared. */
Test(verdict, nice_19_at_its_limit_alarms_nobody_undeclared)
{
	struct verdict_input in = completed(&(struct verdict_input){
		.running = 0.1, .throttled = 0.9, .background = true, .may_serve = true});
	struct verdict_limits limits;
	struct verdict_result r;

	verdict_limits_default(&limits);
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_CONTENDED, "%s", verdict_id(r.verdict));
}

Test(verdict, contended_tells_what_it_misses_and_why)
{
	static const struct {
		const char *name;
		struct verdict_input in;
		enum verdict verdict;
		enum verdict_figure first, cause;
	} contended[] = {
		{"a build beside another one",
		 {.running = 2, .waiting = 2},
		 VERDICT_CONTENDED,
		 FIGURE_PROGRESS,
		 FIGURE_BEHIND_OTHERS},
		{"64 spinners",
		 {.running = 4, .waiting = 60, .behind_own = 60},
		 VERDICT_CONTENDED,
		 FIGURE_PROGRESS,
		 FIGURE_BEHIND_OWN},
		{"a batch job at its limit, on a full host",
		 {.running = 0.4, .throttled = 1.2, .waiting = 0.2},
		 VERDICT_CONTENDED,
		 FIGURE_PROGRESS,
		 FIGURE_THROTTLED},
		{"nice 19 asked for no limit",
		 {.running = 0.4, .throttled = 1.2, .background = true},
		 VERDICT_CONTENDED,
		 FIGURE_PROGRESS,
		 FIGURE_THROTTLED},
		{"nice 19 just below its limit",
		 {.running = 0.4, .waiting = 1.2, .throttled = 0.17, .background = true},
		 VERDICT_HEALTHY,
		 FIGURE_CPU,
		 FIGURE_CPU},
		{"steal that it misses",
		 {.running = 1, .waiting = 1, .host_steal = 0.2},
		 VERDICT_CONTENDED,
		 FIGURE_PROGRESS,
		 FIGURE_STEAL},
		{"long waits, though it gets its part",
		 {.running = 1, .waiting = 0.1, .delays = 100, .delay_p99_ns = 21 * MS},
		 VERDICT_CONTENDED,
		 FIGURE_DELAY,
		 FIGURE_BEHIND_OTHERS},
	};
	struct verdict_limits limits;

	verdict_limits_default(&limits);
	for (size_t i = 0; i < sizeof(contended) / sizeof(contended[0]); i++) {
		struct verdict_input in = completed(&contended[i].in);
		struct verdict_result r;

		verdict_of(&in, &limits, &r);
		cr_expect_eq(r.verdict, contended[i].verdict, "%s: %s", contended[i].name,
			     verdict_id(r.verdict));
		cr_expect_not(r.hurt, "%s", contended[i].name);
		cr_expect_eq(r.cause, contended[i].cause, "%s: cause %d", contended[i].name,
			     r.cause);
		cr_assert_geq(r.evidence_cnt, 2);
		cr_expect_eq(r.evidence[0].figure, contended[i].first, "%s", contended[i].name);
		cr_expect(r.verdict == VERDICT_HEALTHY ||
				  r.evidence[1].figure == contended[i].cause,
			  "%s", contended[i].name);
	}
}

Test(verdict, fast_requests_at_a_limit_that_leaves_no_room)
{
	static const struct {
		const char *name;
		struct verdict_input in;
		enum verdict verdict;
		bool at_limit;
	} limited[] = {
		{"stopped most of the time, fast enough",
		 {.running = 0.3, .throttled = 2.67, .cpus_available = 0.3, FAST},
		 VERDICT_BUSY_ELASTIC,
		 true},
		{"stopped in bursts, fast",
		 {.running = 0.45, .throttled = 0.05, .cpus_available = 1, FAST},
		 VERDICT_HEALTHY,
		 true},
		{"stopped a little less than that",
		 {.running = 0.451, .throttled = 0.05, .cpus_available = 1, FAST},
		 VERDICT_HEALTHY,
		 false},
		{"a second without requests, of a service that has many",
		 {.running = 0.3, .throttled = 2, .cpus_available = 0.3, .serves_enough = true},
		 VERDICT_BUSY_ELASTIC,
		 true},
		{"the operator's number says fast",
		 {.running = 0.3, .throttled = 2, .cpus_available = 0.3, .has_signal = true},
		 VERDICT_BUSY_ELASTIC,
		 true},
		{"slow", {.running = 0.3, .throttled = 2, SLOW}, VERDICT_THROTTLED, false},
		{"fast, and full without a limit",
		 {.running = 4, .waiting = 4, FAST},
		 VERDICT_BUSY_ELASTIC,
		 false},
		{"serves nothing", {.running = 0.3, .throttled = 2}, VERDICT_CONTENDED, false},
		{"nothing is known",
		 {.running = 0.3, .throttled = 2, .books_gap = true, FAST},
		 VERDICT_NO_EVIDENCE,
		 false},
	};
	struct verdict_limits limits;

	verdict_limits_default(&limits);
	for (size_t i = 0; i < sizeof(limited) / sizeof(limited[0]); i++) {
		struct verdict_input in = completed(&limited[i].in);
		struct verdict_result r;

		verdict_of(&in, &limits, &r);
		cr_expect_eq(r.verdict, limited[i].verdict, "%s: %s", limited[i].name,
			     verdict_id(r.verdict));
		cr_expect_eq(r.at_limit, limited[i].at_limit, "%s", limited[i].name);
		cr_expect_eq(strcmp(verdict_result_remedy(&r), verdict_remedy(r.verdict)) != 0,
			     limited[i].at_limit, "%s", limited[i].name);
	}
}

Test(verdict, nothing_measured_is_no_evidence)
{
	struct verdict_input in = {0};
	struct verdict_limits limits;
	struct verdict_result r;

	verdict_limits_default(&limits);
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_NO_EVIDENCE);
	cr_expect_not(r.hurt);
}

/* Each limit set so that the same figures fall on its other side. */
Test(verdict, limits_are_options)
{
	struct verdict_input in =
		completed(&(struct verdict_input){.running = 1, .waiting = 1, SLOW});
	struct verdict_limits limits;
	struct verdict_result r;

	verdict_limits_default(&limits);
	limits.slow_share = 0.5;
	limits.high_cpu = 0.25;
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_BUSY_ELASTIC);
	limits.requests_min = 10000;
	limits.progress = 0.5;
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_BUSY_UNMEASURED, "400 slow ones of 10,000: %s",
		     verdict_id(r.verdict));
}

Test(verdict, stuck_limit_is_its_own)
{
	struct verdict_input in = completed(&(struct verdict_input){
		.has_requests = true, .stuck = 4, .oldest_ns = 25 * SECOND});
	struct verdict_limits limits;
	struct verdict_result r;

	verdict_limits_default(&limits);
	limits.stuck_ns = 60 * SECOND;
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_HEALTHY);
}

Test(verdict, waits_that_were_not_told_apart_split_as_the_host_runs)
{
	struct verdict_input in =
		completed(&(struct verdict_input){.running = 3.6, .waiting = 20, .host_busy = 1});
	const struct verdict_limits limits = waiting_hurts();
	struct verdict_result r;

	in.own_known = false;
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_OVERSUBSCRIBED, "%s", verdict_id(r.verdict));
	in.running = 0.5;
	verdict_of(&in, &limits, &r);
	cr_expect_eq(r.verdict, VERDICT_STARVED, "%s", verdict_id(r.verdict));
}

Test(verdict, evidence_tells_decision_then_cause)
{
	struct verdict_input in = completed(&(struct verdict_input){
		.running = 1, .waiting = 3, .oldest_ns = 11 * SECOND, SLOW});
	struct verdict_limits limits;
	struct verdict_result r;

	verdict_limits_default(&limits);
	verdict_of(&in, &limits, &r);
	cr_assert_geq(r.evidence_cnt, 4);
	cr_expect_eq(r.evidence[0].figure, FIGURE_STUCK);
	cr_expect_eq(r.evidence[1].figure, FIGURE_SLOW_SHARE);
	cr_expect_eq(r.evidence[2].figure, FIGURE_BEHIND_OTHERS);
	cr_expect_float_eq(r.evidence[2].value, 3, 1e-9);
	for (size_t i = 0; i < r.evidence_cnt; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(r.evidence[i].figure, r.evidence[k].figure);
}

/* How often an id stands in a file of the tree, in these quotes. */
static unsigned times_in(const char *path, const char *id, char quote)
{
	char *line = NULL, quoted[64];
	FILE *f = fopen(path, "re");
	size_t bytes = 0;
	unsigned cnt = 0;

	cr_assert(f, "%s is not there: tests run in the tree", path);
	snprintf(quoted, sizeof(quoted), "%c%s%c", quote, id, quote);
	while (getline(&line, &bytes, f) > 0)
		cnt += strstr(line, quoted) != NULL;
	free(line);
	fclose(f);
	return cnt;
}

/* The lists by hand that whoever adds a verdict may forget. */
Test(verdict, each_is_in_the_manual_and_in_the_schema)
{
	for (int v = 0; v < VERDICT_CNT; v++) {
		const char *id = verdict_id((enum verdict)v);

		cr_expect_geq(times_in("README.md", id, '`'), 1, "%s", id);
		cr_expect_geq(times_in("deploy/hotrun.schema.json", id, '"'), 2, "%s", id);
	}
}
