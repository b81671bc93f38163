/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics of a host made by hand: for the live test that lets Prometheus scrape it, and to
 * measure what counting costs.
 *
 *   metrics_host serve ADDR:PORT   writes the port, then a slice a second is counted
 *                                  (tests/support/watched.h says what is in it), until it is killed
 *   metrics_host cost TOP          500 threads of 10,000 are active in each of 120 slices: time of
 *                                  a slice, time and size of the page
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build_model.h"
#include "watch/http.h"
#include "watched.h"

#define MS 1000000ull

struct shared {
	pthread_mutex_t lock;
	struct series *series;
	uint64_t slices;
};

/* CPU time: the machine may be busy with others. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-err));
	exit(1);
}

/* --- serve ----------------------------------------------------------------------------------- */

static int put_page(void *ctx, const struct http_counts *counts, FILE *out)
{
	struct metrics_own own = watched_own();
	struct shared *s = ctx;
	int err;

	(void)counts; /* all its figures are made by hand */
	pthread_mutex_lock(&s->lock);
	own.uptime_ns = s->slices * BUILD_SECOND;
	err = metrics_write(out, series_metrics(s->series), &own);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static bool is_well(void *ctx, char *why, size_t why_bytes)
{
	(void)ctx;
	(void)why;
	(void)why_bytes;
	return true;
}

static int serve(const char *listen)
{
	struct series_options options = {.top = SERIES_DEFAULT};
	struct shared s = {PTHREAD_MUTEX_INITIALIZER, series_new(&options), 0};
	struct http_ops ops = {
		.ctx = &s, .metrics = put_page, .healthy = is_well, .ready = is_well};
	struct watched w = watched_host();
	struct verdict_row row = {.process = w.batch,
				  .result = {.verdict = VERDICT_STARVED, .hurt = true}};
	struct verdicts v = {.host = {.result = {.verdict = VERDICT_STARVED, .hurt = true}},
			     .rows = &row,
			     .rows_cnt = 1,
			     .judged = 2,
			     .hurt = 1};
	struct http *h = NULL;
	char why[256] = "out of memory";

	if (!s.series || http_new(listen, &ops, why, sizeof(why), &h)) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	printf("%u\n", http_port(h));
	fflush(stdout);
	for (;;) {
		pthread_mutex_lock(&s.lock);
		watched_slice(&w);
		must(series_slice(s.series, w.m, (uint32_t)w.m->slices_cnt - 1, &v), "slice");
		model_forget_slice(w.m);
		s.slices++;
		pthread_mutex_unlock(&s.lock);
		sleep(1);
	}
}

/* --- cost ------------------------------------------------------------------------------------ */

#define PROCESSES 1000
#define THREADS	  10
#define ACTIVE	  500
#define SLICES	  120

static struct model *large_host(void)
{
	struct model *m = build_model(64, 19);

	for (uint32_t p = 0; p < PROCESSES; p++) {
		char name[64];
		uint32_t row;

		snprintf(name, sizeof(name), "Company.Service%u.Api", p);
		row = build_process(m, 1000 * (p + 1), name, PROCESS_DOTNET);
		snprintf(name, sizeof(name), "service-%u-6d4cf56db6-x7k2p", p);
		m->processes[row].pod = model_str(m, name);
		m->processes[row].namespace = model_str(m, "production");
		m->processes[row].container_name = model_str(m, "api");
		for (uint32_t t = 0; t < THREADS; t++)
			build_thread(m, row, 1000 * (p + 1) + t, t ? ".NET TP Worker" : name, 0,
				     'S');
		if (p % 3 == 0)
			build_endpoint(m, row, "0.0.0.0", 8080);
	}
	return m;
}

/* Accounts and five run delays of each active thread, a service for each third process. */
static void large_slice(struct model *m, uint32_t number)
{
	uint32_t slice = (uint32_t)m->slices_cnt;

	for (uint32_t i = 0; i < ACTIVE; i++) {
		struct model_account a = {
			.slice = slice,
			.thread = (i * 20 + number * 7) % (PROCESSES * THREADS),
			.cgroup = MODEL_NONE,
			.sched = {.on_cpu_ns = (1 + i % 50) * MS, .waited_ns = MS, .voluntary = 9}};

		must(model_account_add(m, &a), "account");
		for (uint8_t slot = 2; slot < 12; slot += 2) {
			struct model_delay d = {slice, a.thread, slot, 3};

			must(model_delay_add(m, &d), "delay");
		}
	}
	for (uint32_t e = 0; e < m->endpoints_cnt; e++) {
		struct model_service row = {
			.slice = slice, .endpoint = e, .served = {.answered = 10}};

		must(model_service_add(m, &row), "service");
	}
	build_slice(m, BUILD_SECOND, 400 * MS, 0, 10);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int cost(size_t top)
{
	struct series_options options = {.top = top};
	struct metrics_own own = watched_own();
	struct model *m = large_host();
	struct series *s = series_new(&options);
	uint64_t took_ns[SLICES], start_ns;
	char *page;

	for (uint32_t i = 0; i < SLICES; i++) {
		large_slice(m, i);
		start_ns = cpu_ns();
		must(series_slice(s, m, i, NULL), "slice");
		took_ns[i] = cpu_ns() - start_ns;
	}
	printf("first slice_us %.0f\n", (double)took_ns[0] / 1e3);
	qsort(took_ns, SLICES, sizeof(*took_ns), compare);
	printf("median slice_us %.0f\nlongest slice_us %.0f\nbook_bytes %zu\n",
	       (double)took_ns[SLICES / 2] / 1e3, (double)took_ns[SLICES - 1] / 1e3,
	       series_bytes(s));
	start_ns = cpu_ns();
	page = watched_page(s, &own);
	printf("page_us %.0f\npage_bytes %zu\n", (double)(cpu_ns() - start_ns) / 1e3, strlen(page));
	free(page);
	series_free(s);
	model_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(strtoul(argv[2], NULL, 10));
	fprintf(stderr, "usage: metrics_host serve ADDR:PORT | cost TOP\n");
	return 2;
}
