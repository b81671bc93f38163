/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the report opens with, on hosts of each kind. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "judge/limits.h"
#include "output/report.h"
#include "output/report_text.h"
#include "report_support.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)

/* It was declared of all that waiting hurts them. */
static const struct verdict_policy *waiting_hurts(void)
{
	static struct verdict_policy policy;

	verdict_limits_default(&policy.limits);
	policy.limits.hurt_by = HURT_BY_WAITING;
	return &policy;
}

static void expect_screen_with(const char *golden, struct model *m,
			       const struct verdict_policy *policy)
{
	char *text =
		report_text(m, &(struct report_options){.summary = true, .limits = policy}, NULL);

	golden_expect(golden, text, strlen(text));
	free(text);
	model_free(m);
}

static void expect_screen(const char *golden, struct model *m)
{
	expect_screen_with(golden, m, NULL);
}

/* A process of one method; figures in hundredths of a second, samples as its CPU time asks for. */
static uint32_t add(struct model *m, uint32_t tgid, const char *name, const char *method,
		    struct sched_figures figures)
{
	uint32_t p = build_process(m, tgid, name, 0), t, symbol;
	uint64_t *ns = (uint64_t *)&figures;

	for (int i = 0; i < 5; i++)
		ns[i] *= CS;
	t = build_thread(m, p, tgid, name, 0, 'S');
	build_sched(m, t, &figures);
	m->threads[t].cpus_allowed = m->host.cpus_online;
	symbol = build_symbol(m, method, name, KIND_NATIVE, true);
	BUILD_SAMPLES(m, t, (uint32_t)(figures.on_cpu_ns / CS), symbol);
	return p;
}

#define FIGURES(...) ((struct sched_figures){__VA_ARGS__})

static uint32_t serve(struct model *m, uint32_t process, uint16_t port, uint64_t time_ns,
		      uint64_t cnt)
{
	uint32_t e = build_endpoint(m, process, "0.0.0.0", port);

	m->endpoints[e].protocols = PROTOCOL_HTTP1;
	for (uint32_t i = 0; cnt && i < 10; i++)
		build_answers(m, i, e, time_ns, cnt);
	return e;
}

static void stick(struct model *m, uint32_t endpoint, uint32_t cnt)
{
	for (uint32_t i = 0; i < 10; i++)
		build_service(m, &(struct model_service){
					 .slice = i,
					 .endpoint = endpoint,
					 .open = cnt,
					 .late = cnt,
					 .stuck = i > 2 ? cnt : 0,
					 .oldest_ns = (7200 + 1000 * i) * MS,
				 });
}

/* Noise that no verdict is about. */
static void add_crowd(struct model *m)
{
	add(m, 500, "cron", "main", FIGURES(.on_cpu_ns = 2));
	add(m, 510, "sshd", "main", FIGURES(.on_cpu_ns = 1));
}

Test(report_verdict, healthy_host)
{
	struct model *m = build_model(2, 99);
	uint32_t p =
		add(m, 1234, "Shop.Api", "Shop.Api.Get", FIGURES(.on_cpu_ns = 200, .waited_ns = 3));

	serve(m, p, 5000, 3 * MS, 150);
	add_crowd(m);
	build_books(m, 10);
	expect_screen("verdict_healthy.txt", m);
}

static struct model *busy_elastic(void)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 1234, "Shop.Api", "Shop.Api.Get",
			 FIGURES(.on_cpu_ns = 1900, .waited_ns = 1800, .behind_own_ns = 1500));

	serve(m, p, 5000, MS / 2, 73000);
	add_crowd(m);
	build_books(m, 10);
	return m;
}

Test(report_verdict, busy_elastic_host)
{
	expect_screen("verdict_busy_elastic.txt", busy_elastic());
}

static struct model *hang(void)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 1234, "Shop.Api", "Shop.Api.Get", FIGURES(.on_cpu_ns = 4));

	stick(m, serve(m, p, 5000, 0, 0), 200);
	add_crowd(m);
	build_books(m, 10);
	return m;
}

/* Where its threads stand is known, too: workers at a task, and one that runs. */
static struct model *hang_with_stands(void)
{
	struct model *m = hang();
	uint32_t get = build_symbol(m, "Shop.Pay.Client.Get", "Shop.Pay", KIND_JIT, true);
	uint32_t wait = build_symbol(m, "System.Threading.Tasks.Task.InternalWaitCore",
				     "System.Private.CoreLib", KIND_IMAGE, false);
	uint32_t futex = build_symbol(m, "futex_wait", "[kernel]", KIND_KERNEL, false);

	for (uint32_t i = 0; i < 190; i++) {
		uint32_t thread = build_thread(m, 0, 2000 + i, ".NET TP Worker", 0, 'S');
		struct model_stand s = {.age_ns = (i + 1) * 100 * MS,
					.call = STAND_CALL_NONE,
					.slice = 9,
					.flags = i < 186 ? 0 : STAND_RUNS,
					.state = i < 186 ? 'S' : 'R',
					.now = true};

		/* Four a second began while it was recorded. */
		m->threads[thread].start_ns = i < 150 ? BUILD_SECOND : m->host.start_ns + CS;
		BUILD_SAMPLES(m, thread, 1, get, wait, futex);
		s.at = m->samples[--m->samples_cnt];
		model_stand_add(m, &s);
	}
	return m;
}

Test(report_verdict, hang_whose_threads_were_looked_at)
{
	expect_screen("verdict_hang_threads.txt", hang_with_stands());
}

Test(report_verdict, hang_for_machines)
{
	struct model *m = hang_with_stands();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_json_write(out, m, NULL), 0);
	fclose(out);
	golden_expect("verdict_hang_threads.json", text, len);
	free(text);
	model_free(m);
}

Test(report_verdict, hang_on_an_idle_host)
{
	expect_screen("verdict_hang.txt", hang());
}

static uint32_t add_slow(struct model *m, struct sched_figures figures)
{
	uint32_t p = add(m, 1234, "Shop.Api", "Shop.Api.Get", figures);
	uint32_t e = serve(m, p, 5000, 40 * MS, 70);

	for (uint32_t i = 0; i < 10; i++)
		build_answers(m, i, e, 1800 * MS, 30);
	return p;
}

Test(report_verdict, starved_with_room_elsewhere)
{
	struct model *m = build_model(4, 99);
	uint32_t web =
		add_slow(m, FIGURES(.on_cpu_ns = 300, .waited_ns = 900, .behind_own_ns = 60));
	uint32_t pinned = add(m, 77, "backup", "compress", FIGURES(.on_cpu_ns = 950));

	add_crowd(m);
	build_contention(m, 0, pinned, web, 900000);
	build_books(m, 10);
	expect_screen("verdict_starved.txt", m);
}

Test(report_verdict, throttled)
{
	struct model *m = build_model(4, 99);
	uint32_t p = add_slow(m, FIGURES(.on_cpu_ns = 500, .throttled_ns = 700));
	uint32_t group = build_cgroup(m, 20, MODEL_NONE, "/shop", 50 * MS, 100 * MS);

	build_in_cgroup(m, p, group);
	for (uint32_t i = 0; i < 10; i++)
		build_throttle(m, i, group, 10, 9, 700 * MS);
	add_crowd(m);
	build_books(m, 10);
	expect_screen("verdict_throttled.txt", m);
}

Test(report_verdict, oversubscribed)
{
	struct model *m = build_model(4, 99);

	add(m, 64, "crowd", "spin",
	    FIGURES(.on_cpu_ns = 3600, .waited_ns = 56000, .behind_own_ns = 55600));
	add_crowd(m);
	build_books(m, 10);
	expect_screen_with("verdict_oversubscribed.txt", m, waiting_hurts());
}

/* A build, a load generator, a batch job with a CPU limit, and a service that they leave alone. */
static struct model *contended(void)
{
	struct model *m = build_model(4, 99);
	uint32_t web =
		add(m, 1234, "Shop.Api", "Shop.Api.Get", FIGURES(.on_cpu_ns = 200, .waited_ns = 3));
	uint32_t batch = add(m, 5000, "reindex", "scan",
			     FIGURES(.on_cpu_ns = 300, .waited_ns = 20, .throttled_ns = 900));
	uint32_t group = build_cgroup(m, 20, MODEL_NONE, "/batch", 30 * MS, 100 * MS), cc[6];
	uint32_t wrk = add(m, 700, "wrk", "aeProcessEvents",
			   FIGURES(.on_cpu_ns = 900, .waited_ns = 400, .behind_own_ns = 10));

	for (uint32_t i = 0; i < 6; i++)
		cc[i] = add(m, 100 + i, "cc1plus", "parse",
			    FIGURES(.on_cpu_ns = 400, .waited_ns = 600 + i));
	build_contention(m, 0, cc[0], wrk, 300000);
	build_contention(m, 0, cc[0], cc[5], 500000);
	build_contention(m, 0, wrk, cc[5], 100000);
	build_in_cgroup(m, batch, group);
	for (uint32_t i = 0; i < 10; i++)
		build_throttle(m, i, group, 10, 10, 700 * MS);
	serve(m, web, 5000, 3 * MS, 150);
	add_crowd(m);
	build_books(m, 10);
	return m;
}

Test(report_verdict, contended_host)
{
	expect_screen("verdict_contended.txt", contended());
}

/* Calm in colour, too: an alarm has a colour of its own. */
Test(report_verdict, only_who_is_hurt_is_painted_as_an_alarm)
{
	static const char alarm[] = "\033[1;33m";
	struct report_options options = {.summary = true, .color = true, .width = 200};
	struct model *m = contended();

	report_says_not(m, &options, alarm);
	report_says(m, &options, "contended");
	options.limits = waiting_hurts();
	report_says(m, &options, alarm);
	report_says_not(m, &options, "contended");
	model_free(m);
}

Test(report_verdict, declared_of_one_it_is_hurt_and_the_rest_is_calm)
{
	struct verdict_section section = {.name = "reindex"};
	struct verdict_policy policy = {.sections = &section, .sections_cnt = 1};
	const struct report_options options = {.summary = true, .width = 300, .limits = &policy};
	struct model *m = contended();

	verdict_limits_default(&policy.limits);
	section.limits = policy.limits;
	section.limits.hurt_by = HURT_BY_WAITING;
	report_says(m, &options, "; 1 of 11 processes hurt, 7 contended\n");
	report_says(m, &options, "\n  throttled reindex 5000: progress 24.6 % (at least 80 %), ");
	report_says(m, &options,
		    "\n  contended 6 x cc1plus, the worst 105: wanted 1.00 CPUs, got ");
	model_free(m);
}

/* Fast by the 500 ms, where it takes 1 ms without a limit; and one that the limit seldom stops. */
static struct model *at_limit(void)
{
	struct model *m = build_model(8, 99);
	uint32_t web = add(m, 1234, "Shop.Web", "Shop.Web.Total",
			   FIGURES(.on_cpu_ns = 300, .throttled_ns = 2670));
	uint32_t push = add(m, 77, "Shop.Push", "Shop.Push.Send",
			    FIGURES(.on_cpu_ns = 100, .throttled_ns = 20));
	uint32_t group = build_cgroup(m, 20, MODEL_NONE, "/shop", 30 * MS, 100 * MS);

	build_in_cgroup(m, web, group);
	build_in_cgroup(m, push, build_cgroup(m, 21, MODEL_NONE, "/push", 50 * MS, 100 * MS));
	for (uint32_t i = 0; i < 10; i++)
		build_throttle(m, i, group, 8, 8, 700 * MS);
	serve(m, web, 5000, 277 * MS, 150);
	serve(m, push, 5001, 20 * MS, 150);
	add_crowd(m);
	build_books(m, 10);
	return m;
}

Test(report_verdict, fast_at_a_limit_that_leaves_no_room)
{
	struct model *m = at_limit();

	report_says_not(m, NULL, "uses the machine well");
	report_says_not(m, NULL, "there is room");
	expect_screen("verdict_at_limit.txt", m);
}

static struct model *overloaded(void)
{
	struct model *m = build_model(2, 99);
	uint32_t web =
		add_slow(m, FIGURES(.on_cpu_ns = 300, .waited_ns = 3500, .behind_own_ns = 400));
	uint32_t export_ = add(m, 3000, "nightly-export", "spin",
			       FIGURES(.on_cpu_ns = 1590, .waited_ns = 1900, .behind_own_ns = 800));
	char name[32];

	for (uint32_t i = 0; i < 3; i++)
		add(m, 4000 + i, "sh", "main", FIGURES(.on_cpu_ns = 20, .waited_ns = 180 + i));
	for (uint32_t i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "daemon-%u", i);
		add(m, 4100 + i, name, "main", FIGURES(.on_cpu_ns = 5, .waited_ns = 100 + i));
	}
	build_contention(m, 0, export_, web, 800000);
	build_contention(m, 0, web, export_, 300000);
	add_crowd(m);
	build_books(m, 10);
	return m;
}

/* The lines from the verdict to the first empty one. */
static size_t opening_lines(const char *text)
{
	const char *from = strstr(text, "verdict: "), *to = from ? strstr(from, "\n\n") : NULL;
	size_t lines = 1;

	cr_assert(to, "%s", text);
	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

Test(report_verdict, three_in_trouble_are_told_in_twelve_lines)
{
	struct model *m = build_model(2, 99);
	uint32_t web =
		add_slow(m, FIGURES(.on_cpu_ns = 300, .waited_ns = 3500, .behind_own_ns = 400));
	uint32_t export_ = add(m, 3000, "nightly-export", "spin",
			       FIGURES(.on_cpu_ns = 800, .waited_ns = 1900, .behind_own_ns = 800));
	size_t len;
	char *text;

	add(m, 5000, "batch", "spin",
	    FIGURES(.on_cpu_ns = 850, .waited_ns = 8000, .behind_own_ns = 8000));
	build_contention(m, 0, export_, web, 800000);
	build_contention(m, 0, web, export_, 300000);
	add_crowd(m);
	build_books(m, 10);
	text = report_text(m, NULL, &len);
	cr_expect(strstr(text, "\n  starved Shop.Api 1234: "), "%s", text);
	cr_expect(strstr(text, "\n  contended nightly-export 3000: "), "%s", text);
	cr_expect(strstr(text, "\n  contended batch 5000: "), "%s", text);
	cr_expect_leq(opening_lines(text), 12, "%s", text);
	free(text);
	model_free(m);
}

Test(report_verdict, overloaded_host)
{
	expect_screen("verdict_overloaded.txt", overloaded());
}

/* Its requests are slow for another reason than the CPU, of which it takes little: others of its
 * name, and ten programs, take more. */
Test(report_verdict, who_is_hurt_has_a_row_and_is_where_to_start)
{
	struct report_options options = {.summary = true};
	struct model *m = build_model(2, 99);
	char name[32];
	size_t len;
	char *text;

	for (uint32_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "batch-%u", i);
		add(m, 4000 + i, name, "spin", FIGURES(.on_cpu_ns = 70));
		add(m, 4100 + i, "Shop.Api", "Other.Get", FIGURES(.on_cpu_ns = 22));
	}
	add_slow(m, FIGURES(.on_cpu_ns = 21));
	build_books(m, 10);
	text = report_text(m, &options, &len);
	cr_expect(strstr(text, "\n  inelastic Shop.Api 1234: "), "%s", text);
	cr_expect(strstr(text, "\nstart here\n  Shop.Api 1234:\n    Shop.Api.Get (Shop.Api)\n"),
		  "%s", text);
	cr_expect(strstr(text, "10 x Shop.Api\n"), "%s", text);
	free(text);
	model_free(m);
}

Test(report_verdict, what_passed_is_told_with_its_seconds)
{
	struct report_options options = {.summary = true, .width = 200};
	struct model *m = build_model(2, 99);

	add(m, 1234, "Shop.Api", "Shop.Api.Get", FIGURES(.on_cpu_ns = 2400));
	for (uint32_t i = 12; i < 16; i++)
		build_account(m, i, 0,
			      &(struct sched_figures){.on_cpu_ns = 20 * CS,
						      .waited_ns = (i == 13 ? 140 : 80) * CS});
	build_books(m, 30);
	report_says_not(m, &(struct report_options){.summary = true}, "1.40 threads wait behind");
	options.limits = waiting_hurts();
	report_says(m, &options,
		    "  starved Shop.Api 1234: progress 51.3 % (at least 80 %), 0.95 threads wait "
		    "behind others; from 12.0 to 16.0 s, worst at 13.0 s\n");
	report_says(m, &options,
		    "verdict: healthy · CPU 41.3 % (limit 95 %); 1 of 1 processes hurt for a "
		    "while\n");
	/* As --from and --to take them, of a capture that was cut. */
	options.window =
		(struct report_window){20 * BUILD_SECOND, 50 * BUILD_SECOND, 90 * BUILD_SECOND};
	report_says(m, &options, "from 32.0 to 36.0 s, worst at 33.0 s");
	model_free(m);
}

Test(report_verdict, healthy_ones_are_told_where_they_are_asked_for)
{
	struct model *m = build_model(2, 99);
	uint32_t p = add(m, 1234, "Shop.Api", "Shop.Api.Get", FIGURES(.on_cpu_ns = 200));

	add(m, 800, "postgres", "ExecScan", FIGURES(.on_cpu_ns = 110));
	add_crowd(m);
	build_books(m, 10);
	report_says_not(m, NULL, "  healthy");
	report_says(m, &(struct report_options){.processes = &p, .process_cnt = 1},
		    "  healthy Shop.Api 1234: 0.20 of 2 CPUs (high from 70 %)\n");
	report_says_not(m, &(struct report_options){.processes = &p, .process_cnt = 1},
			"healthy postgres");
	report_says(m, &(struct report_options){.all = true}, "  healthy postgres 800: ");
	report_says_not(m, &(struct report_options){.all = true}, "  healthy cron");
	model_free(m);
}

Test(report_verdict, limits_of_the_caller)
{
	struct verdict_policy policy = {0};
	struct model *m = hang();
	char error[LIMITS_ERROR_BYTES];

	verdict_limits_default(&policy.limits);
	cr_assert_eq(limits_set(&policy, "stuck=1m", error), 0);
	cr_assert_eq(limits_set(&policy, "min-requests=1000", error), 0);
	report_says(m, &(struct report_options){.limits = &policy}, "verdict: healthy");
	model_free(m);
}

Test(report_verdict, what_is_not_known_is_told)
{
	struct model *m = busy_elastic();

	m->host.off = OFF_REQUESTS;
	report_says(m, &(struct report_options){.width = 300},
		    "  unknown Shop.Api 1234: 1.90 of 2 CPUs (high from 70 %); whether it serves "
		    "requests is not known\n");
	m->processes[0].flags |= PROCESS_SOCKETS;
	report_says(m, &(struct report_options){.width = 300},
		    "  busy-unmeasured Shop.Api 1234: 1.90 of 2 CPUs (high from 70 %); no service "
		    "signal: ");
	report_says(m, &(struct report_options){.width = 300}, model_requests_why(m));
	m->host.off = OFF_REQUESTS | OFF_ACCOUNTS;
	report_says(m, NULL, "verdict: no-evidence · recorded by a hotrun that kept no waits\n");
	model_free(m);
}

static char *json_of(struct model *m)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_json_write(out, m, NULL), 0);
	fclose(out);
	return text;
}

/* Two services and a build, and nothing is known of requests. */
static struct model *unmeasured(void)
{
	struct model *m = build_model(2, 99);

	add(m, 1234, "Shop.Api", "Shop.Api.Get",
	    FIGURES(.on_cpu_ns = 400, .waited_ns = 800, .behind_own_ns = 10));
	add(m, 1300, "nginx", "epoll_wait", FIGURES(.on_cpu_ns = 1));
	add(m, 100, "cc1plus", "parse", FIGURES(.on_cpu_ns = 1000, .waited_ns = 20));
	add(m, 2000, "brief", "main", FIGURES(.on_cpu_ns = 150));
	for (uint32_t i = 0; i < 3; i++)
		m->processes[i].flags |= PROCESS_SOCKETS | (i < 2 ? PROCESS_LISTENS : 0);
	m->host.off = OFF_REQUESTS;
	build_contention(m, 0, 0, 2, 500000);
	build_books(m, 10);
	return m;
}

Test(report_verdict, what_serves_unmeasured)
{
	struct model *m = unmeasured();
	char *text = json_of(m);

	cr_expect(strstr(text, "\"name\": \"web-1\", \"verdict\": \"unknown\", \"hurt\": false"),
		  "%s", text);
	cr_expect(strstr(text, "\"unknown_processes\": 3, "), "%s", text);
	cr_expect(strstr(text, "\"listens\": true, \"no_service_signal\": \"recorded without"),
		  "%s", text);
	cr_expect(strstr(text, "\"listens\": false, "), "%s", text);
	cr_expect(strstr(text, "\"listens\": null, "), "%s", text);
	free(text);
	expect_screen("verdict_unknown.txt", m);
}

Test(report_verdict, what_blurs_requests_is_told_beside_them)
{
	struct model *m = hang();

	report_says(m, &(struct report_options){.width = 400},
		    "long polls and streams wait by design: set \"stuck\" for them");
	m->endpoints[0].protocols = PROTOCOL_HTTP2;
	report_says(m, &(struct report_options){.width = 400}, "(HTTP/2: a connection carries");
	model_free(m);
}

Test(report_verdict, for_machines)
{
	struct model *m = overloaded();
	char *text = json_of(m);

	golden_expect("verdict_overloaded.json", text, strlen(text));
	free(text);
	model_free(m);
	m = hang();
	m->host.off = OFF_REQUESTS | OFF_ACCOUNTS;
	text = json_of(m);
	cr_expect(strstr(text, "\"verdict\": \"no-evidence\""), "%s", text);
	cr_expect(strstr(text, "\"missing\": \"recorded by a hotrun"), "%s", text);
	cr_expect(strstr(text, "\"processes\": []}"), "%s", text);
	free(text);
	model_free(m);
}

/* Who reads it must not have to guess whether somebody is missing or well. */
Test(report_verdict, machines_are_told_of_the_healthy_too)
{
	struct model *m = build_model(2, 99);
	char *text;

	add(m, 100, "calm", "spin", FIGURES(.on_cpu_ns = 1));
	serve(m, build_process(m, 200, "web", 0), 80, 5 * MS, 30);
	build_process(m, 300, "asleep", 0);
	build_books(m, 10);
	text = json_of(m);
	cr_expect(strstr(text, "{\"pid\": 100, \"name\": \"calm\""), "%s", text);
	cr_expect(strstr(text, "{\"pid\": 200, \"name\": \"web\""), "%s", text);
	cr_expect_not(strstr(text, "asleep"), "%s", text);
	cr_expect(strstr(text, "\"verdict\": \"healthy\", \"hurt\": false"), "%s", text);
	cr_expect(strstr(text, "\"hurt_processes\": 0"), "%s", text);
	free(text);
	model_free(m);
	m = contended();
	text = json_of(m);
	cr_expect(strstr(text, "\"verdict\": \"contended\", \"hurt\": false"), "%s", text);
	cr_expect(strstr(text, "\"hurt_services\": 0, \"contended_processes\": 8, "), "%s", text);
	cr_expect(strstr(text, "\"waited_behind\": [\n{\"pid\": 100, \"name\": \"cc1plus\""), "%s",
		  text);
	free(text);
	model_free(m);
	m = at_limit();
	text = json_of(m);
	cr_expect(strstr(text, "\"at_limit_processes\": 2"), "%s", text);
	cr_expect(strstr(text, "\"at_limit\": true, \"passing\": false"), "%s", text);
	cr_expect_not(strstr(text, "uses the machine well"), "%s", text);
	free(text);
	model_free(m);
}

#define EVIL "\033[31mred\033[0m\n;<b>\xff\xe2\x80\xae\x07"

Test(report_verdict, hostile_names_steer_nothing_and_nothing_is_wider_than_the_page)
{
	static const unsigned int widths[] = {80, 110, 200};

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct model *m = overloaded();
		char *text;

		for (size_t k = 0; k < m->processes_cnt; k++)
			m->processes[k].name = m->processes[k].unit = model_str(m, EVIL);
		text = json_of(m);
		for (const char *c = text; *c; c++)
			cr_assert((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x", *c);
		free(text);
		text = report_text(m, &(struct report_options){.width = widths[i], .summary = true},
				   NULL);
		for (const char *c = text; *c; c++)
			cr_assert((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x", *c);
		cr_expect(!strstr(text, "\xe2\x80\xae"));
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			cr_expect(text_columns(line) <= widths[i], "%zu columns of %u: %s",
				  text_columns(line), widths[i], line);
		free(text);
		model_free(m);
	}
}

/* Jobs that share a full host wait by their own choice, as far as anybody can tell. */
Test(report_verdict, work_that_waits_its_turn_is_told_apart_from_a_service)
{
	const struct report_options wide = {.summary = true, .width = 300};
	struct model *m = build_model(2, 99);
	uint32_t web;

	for (uint32_t i = 0; i < 6; i++)
		add(m, 100 + i, "cc1plus", "main", FIGURES(.on_cpu_ns = 330, .waited_ns = 670));
	web = add(m, 200, "Shop.Web", "Main", FIGURES(.on_cpu_ns = 10, .waited_ns = 1));
	build_books(m, 10);
	report_says(m, &wide,
		    "verdict: contended · CPU 99.5 % (limit 95 %), 4.02 threads waiting (limit "
		    "10); nobody is seen to be hurt; 6 of 7 processes want more CPU than they "
		    "get\n");
	report_says(m, &wide, "  contended 6 x cc1plus");
	m->host.off = OFF_REQUESTS;
	report_says(m, &wide,
		    "verdict: unknown · CPU 99.5 % (limit 95 %), 4.02 threads waiting (limit 10); "
		    "7 of 7 processes unknown; requests not measured: ");
	report_says(m, &wide, "  unknown 6 x cc1plus, the busiest 100: wanted 1.00 CPUs, got 0.33");
	report_says(
		m,
		&(struct report_options){.summary = true, .width = 300, .limits = waiting_hurts()},
		"6 of 7 processes short of CPU");
	m->host.off = 0;
	/* Not so where a service is hurt, which does not even wait. */
	build_service(m, &(struct model_service){
				 .slice = 9,
				 .endpoint = build_endpoint(m, web, "::", 80),
				 .open = 3,
				 .stuck = 3,
				 .oldest_ns = 20 * BUILD_SECOND,
			 });
	report_says(m, &wide, "1 of 7 processes hurt, 6 contended\n");
	model_free(m);
}

Test(report_verdict, an_overloaded_host_on_which_only_a_hang_hurts)
{
	const struct report_options wide = {.summary = true, .width = 300};
	struct model *m = build_model(2, 99);
	uint32_t web = add(m, 200, "Shop.Web", "Main", FIGURES(.on_cpu_ns = 10));

	add(m, 100, "batch", "main", FIGURES(.on_cpu_ns = 1980));
	build_books(m, 10);
	build_service(m, &(struct model_service){
				 .slice = 9,
				 .endpoint = build_endpoint(m, web, "::", 80),
				 .open = 3,
				 .stuck = 3,
				 .oldest_ns = 20 * BUILD_SECOND,
			 });
	report_says(m, &wide, "verdict: host-overloaded");
	report_says(m, &wide, "; who is hurt does not wait for a CPU, see below → take load off, ");
	model_free(m);
}

Test(report_verdict, a_proxy_and_its_service)
{
	const struct report_options wide = {.summary = true, .width = 300};
	struct model *m = build_model(2, 99);
	uint32_t web = add(m, 200, "Shop.Web", "Main", FIGURES(.on_cpu_ns = 10));
	uint32_t proxy = add(m, 300, "nginx", "main", FIGURES(.on_cpu_ns = 10));

	serve(m, web, 8080, 900 * MS, 100);
	build_books(m, 10);
	report_says_not(m, &wide, "A proxy is");
	serve(m, proxy, 80, 900 * MS, 100);
	report_says(m, &wide, "a proxy is as slow as the service behind it: look there first");
	model_free(m);
}

Test(report_verdict, how_many_hang_is_counted_from_10_s_on_whatever_the_limit_is)
{
	static const struct {
		const char *limit, *said;
	} cases[] = {
		{"stuck=10s", ": 200 unanswered, the oldest for 18.0 s (limit 10.0 s)"},
		{"stuck=15s",
		 ": 200 unanswered for over 10.0 s, the oldest for 18.0 s (limit 15.0 s)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model *m = build_model(2, 99);
		uint32_t web = add(m, 200, "Shop.Web", "Main", FIGURES(.on_cpu_ns = 10));
		struct verdict_policy policy = {0};
		char error[LIMITS_ERROR_BYTES];

		verdict_limits_default(&policy.limits);
		cr_assert_eq(limits_set(&policy, cases[i].limit, error), 0);
		build_books(m, 10);
		build_service(m, &(struct model_service){
					 .slice = 9,
					 .endpoint = build_endpoint(m, web, "::", 80),
					 .open = 200,
					 .stuck = 200,
					 .oldest_ns = 18 * BUILD_SECOND,
				 });
		report_says(m, &(struct report_options){.width = 300, .limits = &policy},
			    cases[i].said);
		model_free(m);
	}
}
