/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics page: golden, read back as Prometheus would, with names and figures of strangers. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exposition.h"
#include "golden.h"
#include "model/requests.h"
#include "model/sched.h"
#include "output/metrics.h"
#include "watched.h"

#define SHOP \
	"process=\"Shop.Api\",namespace=\"prod\",pod=\"shop-6d4cf56db6-x7k2p\",container=\"api\""

static const struct series_options defaults = {.top = SERIES_DEFAULT};

/* Two slices of the host by hand, judged: the batch starves. */
static char *page_of(struct watched *w, const struct metrics_own *own)
{
	struct series *s = series_new(&defaults);
	struct verdict_row row = {.process = w->batch,
				  .result = {.verdict = VERDICT_STARVED, .hurt = true}};
	struct verdicts v = {.host = {.result = {.verdict = VERDICT_STARVED, .hurt = true}},
			     .rows = &row,
			     .rows_cnt = 1,
			     .judged = 2,
			     .hurt = 1};
	char *page;

	for (uint32_t i = 0; i < 2; i++) {
		watched_slice(w);
		cr_assert_eq(series_slice(s, w->m, i, &v), 0);
	}
	page = watched_page(s, own);
	series_free(s);
	return page;
}

Test(metrics, the_page_of_a_host)
{
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = page_of(&w, &own);

	exposition_check(page, strlen(page));
	golden_expect("metrics.txt", page, strlen(page));
	model_free(w.m);
}

Test(metrics, figures_that_are_off_have_no_lines)
{
	static const struct {
		const char *name;
		uint32_t off;
		bool requests, samples;
		const char *absent, *feature;
	} rows[] = {
		{"pressure", OFF_PRESSURE, true, true, "hotrun_host_pressure", "pressure"},
		{"no groups", OFF_GROUPS, true, true, "throttled", "cgroups"},
		{"no cgroup file system", OFF_LIMITS, true, true, "limit_periods", "limits"},
		{"own and others", OFF_OWN, true, true, "waiting_seconds", "own-waits"},
		{"requests by the kernel", OFF_REQUESTS, true, true, "request", "requests"},
		{"requests not wanted", 0, false, true, "request", "requests"},
		{"the quiet gear", OFF_SWITCHES | OFF_OWN, true, true, "run_delay", "full-mode"},
		{"accounts", OFF_ACCOUNTS, true, true, "running_threads", "full-mode"},
		{"samples", 0, true, false, "samples_total", "samples"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct watched w = watched_host();
		struct metrics_own own = watched_own();
		_cleanup_free_ char *page = NULL, *features = NULL;
		char feature[80];

		w.m->host.off = rows[i].off;
		own.requests = rows[i].requests;
		own.samples = rows[i].samples;
		page = page_of(&w, &own);
		exposition_check(page, strlen(page));
		snprintf(feature, sizeof(feature), "hotrun_feature_enabled{feature=\"%s\"}",
			 rows[i].feature);
		cr_expect_eq(exposition_value(page, feature), 0, "%s", rows[i].name);
		/* The feature's own line has its name, too. */
		features = strdup(strstr(page, "hotrun_host_cpus"));
		cr_expect_null(strstr(features, rows[i].absent), "%s", rows[i].name);
		model_free(w.m);
	}
}

/* CPU times and idle times are the kernel's own then, and for waits stand pressure and cpu.stat. */
Test(metrics, cpu_times_pressure_and_limits_stay_in_the_quiet_gear)
{
	static const char *const lines[] = {
		"hotrun_host_cpu_seconds_total{mode=\"busy\"}",
		"hotrun_host_running_threads",
		"hotrun_process_cpu_seconds_total{" SHOP ",role=\"main\"}",
		"hotrun_process_running_threads{" SHOP "}",
		"hotrun_process_threads{" SHOP "}",
		"hotrun_host_pressure_seconds_total",
		"hotrun_process_limit_periods_total{" SHOP "}",
		"hotrun_process_limit_throttled_periods_total{" SHOP "}",
	};
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	w.m->host.off = OFF_SWITCHES | OFF_ACCOUNTS | OFF_OWN;
	page = page_of(&w, &own);
	exposition_check(page, strlen(page));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_gt(exposition_value(page, lines[i]), 0, "%s", lines[i]);
	model_free(w.m);
}

Test(metrics, waits_of_the_kernels_own_count_are_told_in_the_quiet_gear)
{
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	w.m->host.off = OFF_SWITCHES | OFF_OWN;
	page = page_of(&w, &own);
	exposition_check(page, strlen(page));
	cr_expect_gt(exposition_value(page, "hotrun_host_waiting_threads"), 0);
	cr_expect_gt(exposition_value(page, "hotrun_process_waiting_threads{" SHOP "}"), 0);
	cr_expect_null(strstr(page, "run_delay"));
	model_free(w.m);
}

/* The last slice may be hours ago then. */
Test(metrics, who_is_not_ready_any_more_tells_nothing_of_the_host)
{
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	own.ready = false;
	own.why = "lockdown";
	page = page_of(&w, &own);
	exposition_check(page, strlen(page));
	cr_expect_null(strstr(page, "hotrun_host_cpu"));
	cr_expect_null(strstr(page, "hotrun_process_cpu"));
	cr_expect_eq(exposition_value(page, "hotrun_feature_enabled{feature=\"full-mode\"}"), 0);
	cr_expect_gt(exposition_value(page, "hotrun_observed_seconds_total"), 0);
	model_free(w.m);
}

Test(metrics, the_limit_of_a_queue_that_nobody_told_has_no_line)
{
	struct metrics_process process = {.labels = SHOP,
					  .ports = {[1] = {.used = true, .port = 8080}}};
	struct metrics_figures figures = {
		.slices = 1, .slice_ns = 1000000000, .processes = &process, .processes_cnt = 1};
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&page, &bytes);

	cr_assert_eq(metrics_write(out, &figures, &own), 0);
	fclose(out);
	exposition_check(page, bytes);
	cr_expect(strstr(page, "hotrun_process_accept_queue_connections{" SHOP));
	cr_expect_null(strstr(page, "hotrun_process_accept_queue_limit_connections{" SHOP));
}

Test(metrics, not_ready_tells_why_before_the_first_slice)
{
	struct series *s = series_new(&defaults);
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	own.ready = false;
	own.why = "kernel \"5.4\" is older than 5.15\n\x1b[31m";
	page = watched_page(s, &own);
	exposition_check(page, strlen(page));
	cr_expect_eq(exposition_value(page, "hotrun_ready"), 0);
	cr_expect(strstr(page, "hotrun_not_ready{reason=\"kernel \\\"5.4\\\" is older than 5.15"));
	cr_expect_null(strstr(page, "hotrun_host_"));
	cr_expect_null(strstr(page, "hotrun_process_"));
	series_free(s);
}

Test(metrics, bounds_of_buckets_are_bounds_of_slots)
{
	for (uint32_t slot = 0; slot < DELAY_SLOTS; slot++) {
		uint32_t bucket = metrics_delay_bucket(slot);

		cr_assert_lt(bucket, METRICS_DELAY_BUCKETS);
		cr_expect(slot == DELAY_SLOTS - 1 ||
				  sched_slot_ns(slot + 1) <= metrics_delay_bound_ns(bucket),
			  "delay slot %u", slot);
		cr_expect(!bucket || sched_slot_ns(slot) >= metrics_delay_bound_ns(bucket - 1),
			  "delay slot %u", slot);
	}
	for (uint32_t slot = 0; slot < RESPONSE_SLOTS; slot++) {
		uint32_t bucket = metrics_time_bucket(slot);

		cr_assert_lt(bucket, METRICS_TIME_BUCKETS);
		cr_expect(slot == RESPONSE_SLOTS - 1 ||
				  requests_slot_ns(slot + 1) <= metrics_time_bound_ns(bucket),
			  "time slot %u", slot);
		cr_expect(!bucket || requests_slot_ns(slot) >= metrics_time_bound_ns(bucket - 1),
			  "time slot %u", slot);
	}
}

Test(metrics, the_labels_le_are_the_bounds)
{
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = page_of(&w, &own);
	const char *line = strstr(page, "hotrun_process_run_delay_seconds_bucket");

	for (uint32_t i = 0; i + 1 < METRICS_DELAY_BUCKETS; i++) {
		double le = strtod(strstr(line, "le=\"") + 4, NULL);

		cr_expect_float_eq(le * 1e9, (double)metrics_delay_bound_ns(i), 1e-3, "%g", le);
		line = strchr(line, '\n') + 1;
	}
	line = strstr(page, "hotrun_process_request_duration_seconds_bucket");
	for (uint32_t i = 0; i + 1 < METRICS_TIME_BUCKETS; i++) {
		double le = strtod(strstr(line, "le=\"") + 4, NULL);

		cr_expect_float_eq(le * 1e9, (double)metrics_time_bound_ns(i), 1e-3, "%g", le);
		line = strchr(line, '\n') + 1;
	}
	/* Run delays of 3 ms, requests of 5 and of 600 ms. */
	cr_expect_eq(exposition_value(page, "hotrun_process_run_delay_seconds_bucket{" SHOP
					    ",le=\"0.001024\"}"),
		     0);
	cr_expect_eq(exposition_value(page, "hotrun_process_run_delay_seconds_bucket{" SHOP
					    ",le=\"0.004096\"}"),
		     200);
	cr_expect_eq(exposition_value(page, "hotrun_process_request_duration_seconds_bucket{" SHOP
					    ",port=\"8080\",le=\"0.524288\"}"),
		     20);
	cr_expect_eq(exposition_value(page, "hotrun_process_request_duration_seconds_bucket{" SHOP
					    ",port=\"8080\",le=\"2.097152\"}"),
		     22);
	model_free(w.m);
}

Test(metrics, names_of_strangers)
{
	static const struct {
		const char *name, *bytes, *want;
	} rows[] = {
		{"plain", "Shop.Api", "process=\"Shop.Api\""},
		{"empty", "", "process=\"\""},
		{"quote and backslash", "a\"b\\c", "process=\"a\\\"b\\\\c\""},
		{"ends in a backslash", "a\\", "process=\"a\\\\\""},
		{"line end", "a\nhotrun_ready 1", "process=\"a\xef\xbf\xbdhotrun_ready 1\""},
		{"escape sequence", "a\x1b[2J", "process=\"a\xef\xbf\xbd[2J\""},
		{"bad bytes", "a\xff\xc0\x80", "process=\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"cut character", "a\xe2\x82", "process=\"a\xef\xbf\xbd\xef\xbf\xbd\""},
		{"direction",
		 "a\xe2\x80\xae"
		 "b",
		 "process=\"a\xef\xbf\xbd"
		 "b\""},
		{"UTF-8",
		 "K\xc3\xbc"
		 "che",
		 "process=\"K\xc3\xbc"
		 "che\""},
		{"braces", "a\"} 1", "process=\"a\\\"} 1\""},
	};
	char labels[METRICS_LABELS_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metrics_names names = {rows[i].bytes, "", "", "", ""};
		size_t len = metrics_labels(labels, &names);

		cr_expect_str_eq(labels, rows[i].want, "%s", rows[i].name);
		cr_expect_eq(len, strlen(labels), "%s", rows[i].name);
	}
}

Test(metrics, long_names_keep_both_ends_within_the_bound)
{
	static const char *const fills[] = {"x",  "\"",	      "\\",	      "\xff",
					    "\n", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	char labels[METRICS_LABELS_BYTES], text[1024];

	for (size_t f = 0; f < sizeof(fills) / sizeof(fills[0]); f++) {
		for (size_t len = 0; len < 400; len++) {
			struct metrics_names names = {text, text, text, text, text};
			size_t unit = strlen(fills[f]), n;

			for (n = 0; n + unit <= len; n += unit)
				memcpy(text + n, fills[f], unit);
			memcpy(text + n, "-tail", 6);
			n = metrics_labels(labels, &names);
			cr_assert_lt(n, sizeof(labels));
			cr_assert_eq(n, strlen(labels));
			cr_assert_not_null(strstr(labels, "-tail\",unit=\""), "%s x %zu: %s",
					   fills[f], len, labels);
			cr_assert_leq(strcspn(labels + 9, ","), 2 * METRICS_LABEL_BYTES + 1);
		}
	}
}

Test(metrics, a_feature_that_is_off_is_0_and_one_that_nobody_asked_for_has_no_line)
{
	struct watched w = watched_host();
	struct metrics_own own = watched_own();
	_cleanup_free_ char *page = NULL;

	feature_ask(&own.features, FEATURE_ALL & ~FEATURE_BIT(FEATURE_WAKERS));
	feature_switch_off(&own.features, FEATURE_UNWIND_TABLES, FEATURE_REFUSED, "refused");
	page = page_of(&w, &own);
	exposition_check(page, strlen(page));
	cr_expect_eq(exposition_value(page, "hotrun_feature_enabled{feature=\"unwind-tables\"}"),
		     0);
	cr_expect_eq(exposition_value(page, "hotrun_feature_enabled{feature=\"thread-stacks\"}"),
		     1);
	cr_expect_null(strstr(page, "feature=\"wakers\""));
	model_free(w.m);
}
