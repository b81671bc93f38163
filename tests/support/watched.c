/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watched.h"

#include <stdlib.h>

#include "build_model.h"

#define MS 1000000ull

struct watched watched_host(void)
{
	struct watched w = {.m = build_model(2, 19)};
	struct model_process *p;
	uint32_t kernel;

	w.shop = build_process(w.m, 100, "Shop.Api", PROCESS_DOTNET);
	p = &w.m->processes[w.shop];
	p->unit = model_str(w.m, "cri-containerd-0123456789ab.scope");
	p->container = model_str(w.m, "0123456789ab");
	p->container_name = model_str(w.m, "api");
	p->pod = model_str(w.m, "shop-6d4cf56db6-x7k2p");
	p->namespace = model_str(w.m, "prod");
	w.batch = build_process(w.m, 200, "batch", 0);
	w.m->processes[w.batch].unit = model_str(w.m, "batch.service");
	kernel = build_process(w.m, 15, "kworker/0:1", PROCESS_KERNEL);
	w.shop_main = build_thread(w.m, w.shop, 100, "Shop.Api", 0, 'S');
	w.shop_worker = build_thread(w.m, w.shop, 101, ".NET TP Worker", 0, 'R');
	w.batch_main = build_thread(w.m, w.batch, 200, "batch", 0, 'R');
	w.kernel = build_thread(w.m, kernel, 15, "kworker/0:1", 0, 'I');
	w.endpoint = build_endpoint(w.m, w.shop, "0.0.0.0", 8080);
	w.group = build_cgroup(w.m, 7, MODEL_NONE, "/kubepods/shop", 600 * MS, 100 * MS);
	build_in_cgroup(w.m, w.shop, w.group);
	return w;
}

static void sample(struct watched *w, uint32_t thread, uint64_t time_ns)
{
	struct model_sample s = {.time_ns = time_ns, .thread = thread, .kind = SAMPLE_ON_CPU};

	if (model_sample_add(w->m, &s))
		abort();
}

void watched_slice(struct watched *w)
{
	const struct {
		uint32_t thread;
		struct sched_figures did;
	} rows[] = {
		{w->shop_main, {.on_cpu_ns = 100 * MS, .voluntary = 10}},
		{w->shop_worker,
		 {.on_cpu_ns = 500 * MS,
		  .waited_ns = 250 * MS,
		  .behind_own_ns = 50 * MS,
		  .throttled_ns = 20 * MS,
		  .voluntary = 200,
		  .involuntary = 30}},
		{w->batch_main, {.on_cpu_ns = 300 * MS, .waited_ns = 100 * MS, .involuntary = 7}},
		{w->kernel, {.on_cpu_ns = 50 * MS, .voluntary = 5}},
	};
	uint32_t slice = (uint32_t)w->m->slices_cnt;
	struct model_service standing = {.slice = slice,
					 .endpoint = w->endpoint,
					 .open = 2,
					 .oldest_ns = 1500 * MS,
					 .queued = 3,
					 .backlog = 512,
					 .served = {.abandoned = 1, .refused = 4}};
	uint64_t start_ns;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		build_account(w->m, slice, rows[i].thread, &rows[i].did);
	build_delays(w->m, slice, w->shop_worker, 3 * MS, 100);
	build_service(w->m, &standing);
	build_answers(w->m, slice, w->endpoint, 5 * MS, 10);
	build_answers(w->m, slice, w->endpoint, 600 * MS, 1);
	build_throttle(w->m, slice, w->group, 10, 4, 20 * MS);
	build_slice(w->m, BUILD_SECOND, 475 * MS, 10 * MS, 9);
	start_ns = w->m->slices[slice].start_ns;
	w->m->slices[slice].pressure_ns = 200 * MS;
	w->m->cpus[w->m->cpus_cnt - 1].steal_ns = 30 * MS;
	model_loss_add(w->m, LOSS_SAMPLE_RING_FULL, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		sample(w, rows[i].thread, start_ns + (i + 1) * 100 * MS);
}

struct metrics_own watched_own(void)
{
	return (struct metrics_own){
		.ready = true,
		.why = "",
		.uptime_ns = 3600 * BUILD_SECOND,
		.sample_hz = 19,
		.samples = true,
		.requests = true,
		.budget = 0.005,
		.cpu_ns = 12345 * MS,
		.http_cpu_ns = 345 * MS,
		.naming_cpu_ns = 1234 * MS,
		.naming_rss_bytes = 9 << 20,
		.naming_killed = 2,
		.naming_table_bytes = 30 << 20,
		.costly = {{"evil\"\n", {3, 5000000, 12 * BUILD_SECOND}}},
		.costly_cnt = 1,
		.http_answered = 240,
		.http_refused = 7,
		.http_late = 5,
		.http_displaced = 3,
		.bpf_ns = 6789 * MS,
		.rss_bytes = 30u << 20,
		.map_bytes = 12u << 20,
		.ring_ns = 60 * BUILD_SECOND,
		.ring_bytes = 4u << 20,
		.captures = 3,
		.capture_bytes = 9u << 20,
		.triggered = 2,
		.rotated = 5,
		.automatic = 3,
		.refusals = {{"lately", 4}, {"running", 1}},
		.refusals_cnt = 2,
		.suspects = 1,
		.failed = 1,
		.removed = 4,
		.trigger_s = 1795255200,
		.renewals = 1,
		.reloads = 2,
		.reloads_refused = 1,
	};
}

char *watched_page(const struct series *s, const struct metrics_own *own)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out || metrics_write(out, series_metrics(s), own) || fclose(out))
		abort();
	return text;
}
