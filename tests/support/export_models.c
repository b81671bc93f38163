/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export_models.h"

#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "build_page.h"

#define MS     (BUILD_SECOND / 1000)
#define SLICES 3

const char *const export_model_names[EXPORT_MODELS] = {
	"empty", "one sample", "shop", "hostile", "unknown harm", "older", "deep",
};

const uint64_t export_shop_totals[EXPORT_WEIGHTS] = {
	[EXPORT_SAMPLES] = 66,
	[EXPORT_WAITERS] = 150,
	[EXPORT_BLOCKED] = 5100,
};

/* The file of code that the model has symbols of: all of the process's addresses. */
static void map_file(struct model *m, uint32_t process, const char *path)
{
	struct model_module module = {
		.path = path, .build_id = {0xc0, 0xff, 0xee, 0x01}, .build_id_len = 4};
	struct model_mapping mapping = {.start = 0x400000, .end = 0x800000, .kind = MAPPING_FILE};

	mapping.module = model_module_get(m, &module);
	cr_assert_neq(mapping.module, MODEL_NONE);
	cr_assert_eq(model_mapping_add(m, process, &mapping), 0);
}

/* A thread stood there in that slice. */
static void stand(struct model *m, uint32_t slice, uint32_t thread, uint64_t blocked_ns,
		  const uint32_t *frames, uint32_t cnt)
{
	struct model_stand s = {.age_ns = 5 * MS,
				.call = STAND_CALL_NONE,
				.state = 'S',
				.slice = slice,
				.blocked_ns = blocked_ns};

	build_samples(m, thread, 1, 0, frames, cnt);
	s.at = m->samples[--m->samples_cnt];
	s.at.time_ns = BUILD_START_NS + slice * BUILD_SECOND + 250 * MS;
	cr_assert_eq(model_stand_add(m, &s), 0);
}
#define STAND(m, slice, thread, blocked, ...)                       \
	stand(m, slice, thread, blocked, (uint32_t[]){__VA_ARGS__}, \
	      sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Samples as far apart as they are at that rate, on one CPU after the other. */
static void spread(struct model *m)
{
	for (size_t i = 0; i < m->samples_cnt; i++) {
		m->samples[i].time_ns = BUILD_START_NS + (i + 1) * 40 * MS;
		m->samples[i].cpu = i % 2;
	}
}

static void serve(struct model *m, uint32_t shop)
{
	uint32_t endpoint = build_endpoint(m, shop, "0.0.0.0", 8080);

	for (uint32_t slice = 0; slice < SLICES; slice++) {
		build_answers(m, slice, endpoint, 20 * MS, 100);
		build_answers(m, slice, endpoint, 900 * MS, slice == 1 ? 60 : 0);
	}
}

/* Half a second of CPU 1: nginx wakes the worker, which takes the CPU from it. */
static void switches(struct model *m, uint32_t worker, uint32_t main)
{
	build_switch(m, 1500 * MS,
		     (struct model_switch){.cpu = 1,
					   .thread = main,
					   .other = MODEL_NONE,
					   .state = '-',
					   .flags = SWITCH_BEGINS});
	build_switch(m, 1600 * MS,
		     (struct model_switch){
			     .cpu = 1, .thread = worker, .other = main, .kind = SWITCH_WAKEUP});
	build_switch(m, 1602 * MS,
		     (struct model_switch){.cpu = 1,
					   .thread = worker,
					   .other = main,
					   .irq_ns = 1000,
					   .softirq_ns = 2000,
					   .flags = SWITCH_PREEMPTED});
	build_switch(m, 1700 * MS,
		     (struct model_switch){.cpu = 1, .thread = main, .other = worker});
	build_switch(m, 1900 * MS,
		     (struct model_switch){.cpu = 1, .thread = MODEL_NONE, .other = main});
}

static struct model *shop(void)
{
	struct model *m = build_model(2, 99);
	uint32_t shop = build_process(m, 100, "Shop.Web", PROCESS_DOTNET);
	uint32_t nginx = build_process(m, 200, "nginx", 0);
	uint32_t worker = build_thread(m, shop, 110, ".NET TP Worker", BUILD_SECOND, 'R');
	uint32_t other = build_thread(m, shop, 111, "Loader 7", BUILD_SECOND / 4, 'S');
	uint32_t main = build_thread(m, nginx, 200, "nginx", BUILD_SECOND / 2, 'R');
	uint32_t start, price, wait, futex, loop, read;

	start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	price = build_symbol(m, "Shop.Pricing.Price(int)", "Shop", KIND_JIT, true);
	wait = build_symbol(m, "System.Threading.Monitor.Wait", "System.Private.CoreLib",
			    KIND_IMAGE, false);
	futex = build_symbol(m, "futex_do_wait", "[kernel]", KIND_KERNEL, false);
	loop = build_symbol(m, "ngx_process_events", "nginx", KIND_NATIVE, true);
	read = build_symbol(m, "vfs_read", "[kernel]", KIND_KERNEL, false);
	m->processes[shop].pod = model_str(m, "shop-7d9c6b5f4d-x2x9k");
	m->processes[shop].namespace = model_str(m, "prod");
	map_file(m, shop, "/usr/lib/libc.so.6");
	map_file(m, nginx, "/usr/sbin/nginx");
	BUILD_SAMPLES(m, worker, 30, start, price);
	build_waiters(m, 30, 5);
	BUILD_SAMPLES(m, main, 20, loop, read);
	build_waiters(m, 20, 0);
	BUILD_SAMPLES(m, other, 10, start, price, price);
	build_waiters(m, 10, WAITERS_UNKNOWN);
	BUILD_SAMPLES(m, worker, 6, start);
	build_waiters(m, 6, 0);
	spread(m);
	build_sched(m, worker, &(struct sched_figures){.waited_ns = BUILD_SECOND});
	for (uint32_t slice = 0; slice < SLICES; slice++) {
		STAND(m, slice, worker, 700 * MS, start, price, wait, futex);
		STAND(m, slice, other, BUILD_SECOND, start, price, futex);
	}
	build_books(m, SLICES);
	serve(m, shop);
	switches(m, worker, main);
	return m;
}

static const char *hostile(unsigned int i)
{
	return build_hostile_names[i % build_hostile_cnt];
}

/* Each name once as a process, a thread, a method, a module and a file. */
static struct model *all_hostile(void)
{
	struct model *m = build_model(2, 99);

	for (unsigned int i = 0; i < build_hostile_cnt; i++) {
		uint32_t p = build_process(m, 100 + i, hostile(i), 0);
		uint32_t t = build_thread(m, p, 100 + i, hostile(i + 1), BUILD_SECOND, 'R');

		m->processes[p].pod = model_str(m, hostile(i + 2));
		m->processes[p].unit = model_str(m, hostile(i + 3));
		map_file(m, p, hostile(i + 4));
		BUILD_SAMPLES(m, t, 2,
			      build_symbol(m, hostile(i), hostile(i + 5), KIND_NATIVE, true),
			      build_symbol(m, hostile(i + 1), hostile(i + 6), KIND_JIT, true));
		build_waiters(m, 2, 1);
	}
	m->host.name = model_str(m, hostile(0));
	spread(m);
	build_books(m, SLICES);
	return m;
}

static struct model *few(uint32_t cnt, uint32_t waiters)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", BUILD_SECOND, 'R');

	BUILD_SAMPLES(m, t, cnt, build_symbol(m, "main", "app", KIND_NATIVE, true));
	build_waiters(m, cnt, waiters);
	spread(m);
	build_books(m, SLICES);
	return m;
}

static struct model *deep(void)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", BUILD_SECOND, 'R');
	uint32_t frames[STACK_MAX_FRAMES];

	for (uint32_t i = 0; i < STACK_MAX_FRAMES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "level_%u", i);
		frames[i] = build_symbol(m, name, "app", KIND_NATIVE, true);
	}
	build_samples(m, t, 3, 0, frames, STACK_MAX_FRAMES);
	spread(m);
	build_books(m, SLICES);
	return m;
}

struct model *export_model(enum export_model which)
{
	struct model *m;

	switch (which) {
	case EXPORT_EMPTY:
		return build_model(2, 99);
	case EXPORT_ONE:
		return few(1, 0);
	case EXPORT_SHOP:
		return shop();
	case EXPORT_HOSTILE:
		return all_hostile();
	case EXPORT_UNKNOWN:
		m = few(5, WAITERS_UNKNOWN);
		m->host.off = OFF_STANDS;
		return m;
	case EXPORT_OLDER:
		m = few(5, WAITERS_UNKNOWN);
		m->host.off = (1u << OFF_CNT) - 1;
		m->accounts_cnt = m->cpus_cnt = m->slices_cnt = 0;
		return m;
	default:
		return deep();
	}
}

char *export_text(export_write write, struct model *m, struct export_options options,
		  size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(write(out, m, &options), 0);
	fclose(out);
	if (ret_len)
		*ret_len = len;
	return text;
}

void export_says(export_write write, struct model *m, struct export_options options,
		 const char *expected)
{
	char *text = export_text(write, m, options, NULL);

	cr_expect(strstr(text, expected), "no %s in: %.4000s", expected, text);
	free(text);
	model_free(m);
}
