/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "build_page.h"

#include <linux/types.h>
#include <stdio.h>

#include "bpf/events.h"
#include "build_model.h"

const char *const build_hostile_names[] = {
	"</script><img src=x onerror=document.title=\"owned\">",
	"<!--<script>document.title='owned'</script>",
	"]]>\"'\\",
	"\"},\"x\":1,\"y\":{\"",
	"line\nbreak\r\n",
	"\x1b[31mred\x1b]0;title\a",
	"semi;colon;_[k] 42",
	"bad \xff\xc0\xaf\xed\xa0\x80 utf-8",
	"right\xe2\x80\xaeto left\xe2\x80\xa8 separator",
	"{{nonce}} {{data}} ${x} %s%n",
	"javascript:alert(1)&lt;b&gt;",
	"\xf0\x9f\x94\xa5 \xe5\x90\x8d\xe5\x89\x8d",
	"__proto__",
	" ",
	"",
};
const unsigned int build_hostile_cnt = sizeof(build_hostile_names) / sizeof(*build_hostile_names);

static void set_tier(struct model *m, uint32_t symbol, const char *tier, uint8_t flags)
{
	for (size_t i = 0; i < m->locations_cnt; i++)
		if (m->locations[i].symbol == symbol) {
			m->locations[i].tier = model_str(m, tier);
			m->locations[i].flags |= flags;
		}
}

static uint32_t jit(struct model *m, const char *name, const char *raw, const char *module,
		    bool application)
{
	struct model_symbol symbol = {
		.name = name,
		.raw = raw,
		.module = module,
		.kind = KIND_JIT,
		.application = application,
	};

	return model_symbol_get(m, &symbol);
}

static void build_shop(struct model *m)
{
	uint32_t p = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	uint32_t t1 = build_thread(m, p, 100, ".NET TP Worker", 4 * BUILD_SECOND, 'S');
	uint32_t t2 = build_thread(m, p, 101, ".NET TP Worker", 2 * BUILD_SECOND, 'R');
	uint32_t start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	uint32_t stub = build_symbol(m, "PreStub", "[stubs]", KIND_STUB, false);
	uint32_t handle =
		jit(m, "Shop.Api.Orders.OrderController.Handle",
		    "instance void [Shop.Api] Shop.Api.Orders.OrderController::Handle(class Order)",
		    "Shop.Api", true);
	uint32_t price =
		jit(m, "Shop.Api.Orders.Pricing.Total<System.__Canon>",
		    "!!0 [Shop.Api] Shop.Api.Orders.Pricing::Total(!!0)", "Shop.Api", true);
	uint32_t json =
		jit(m, "System.Text.Json.JsonSerializer.Serialize",
		    "string [System.Text.Json] System.Text.Json.JsonSerializer::Serialize(object)",
		    "System.Text.Json", false);
	uint32_t corelib = build_unnamed(m, "System.Private.CoreLib.dll", 0x1230, KIND_IMAGE,
					 REASON_PRECOMPILED);
	uint32_t copy = build_symbol(m, "memcpy", "libc.so.6", KIND_NATIVE, false);
	uint32_t anon = build_unnamed(m, "[anon]", 0x10, KIND_UNKNOWN, REASON_ANONYMOUS_CODE);
	uint32_t call = build_symbol(m, "entry_SYSCALL_64", "[kernel]", KIND_KERNEL, false);
	uint32_t send = build_symbol(m, "tcp_sendmsg", "[kernel]", KIND_KERNEL, false);

	m->processes[p].unit = model_str(m, "shop.service");
	m->processes[p].container = model_str(m, "3f2a9c");
	BUILD_SAMPLES(m, t1, 200, start, handle, price, price, price);
	BUILD_SAMPLES(m, t2, 100, start, handle, price, copy);
	BUILD_SAMPLES(m, t1, 120, start, handle, json, corelib);
	BUILD_SAMPLES(m, t1, 80, start, handle, json, call, send);
	BUILD_SAMPLES(m, t2, 60, start, stub, anon);
	BUILD_BROKEN(m, t2, 40, STACK_TRUNCATED, json, corelib);
	set_tier(m, handle, "OptimizedTier1", 0);
	set_tier(m, price, "QuickJitted", LOCATION_LATER);
}

static void build_hostile(struct model *m)
{
	uint32_t p = build_process(m, 300, build_hostile_names[0], 0);
	uint32_t t = build_thread(m, p, 300, build_hostile_names[1], BUILD_SECOND, 'R');
	uint32_t path[32];

	for (unsigned int i = 0; i < build_hostile_cnt; i++)
		path[i] = jit(m, build_hostile_names[i], build_hostile_names[(i + 1) % 7],
			      build_hostile_names[(i + 2) % 7], i & 1);
	m->processes[p].unit = model_str(m, build_hostile_names[0]);
	m->processes[p].container = model_str(m, build_hostile_names[1]);
	build_samples(m, t, 100, 0, path, build_hostile_cnt);
}

/* Of the shop, slow in the third second; nginx waited for it then. */
static void build_requests(struct model *m)
{
	uint32_t port = build_endpoint(m, 0, "0.0.0.0", 8080);

	for (uint32_t slice = 0; slice < 6; slice++)
		build_answers(m, slice, port, slice == 2 ? 2 * BUILD_SECOND : 1000000, 100);
	build_contention(m, 2, 0, 1, 49500);
	build_waiters(m, 100, 2);
}

struct model *build_page_capture(void)
{
	struct model *m = build_model(2, 99);
	uint32_t nginx, worker, main, epoll, wait;

	build_shop(m);
	nginx = build_process(m, 200, "nginx", 0);
	worker = build_thread(m, nginx, 201, "nginx", 3 * BUILD_SECOND, 'S');
	main = build_symbol(m, "ngx_worker_process_cycle", "nginx", KIND_NATIVE, true);
	epoll = build_symbol(m, "epoll_wait", "libc.so.6", KIND_NATIVE, false);
	wait = build_symbol(m, "do_epoll_wait", "[kernel]", KIND_KERNEL, false);
	BUILD_SAMPLES(m, worker, 200, main);
	BUILD_SAMPLES(m, worker, 100, main, epoll, wait);
	build_hostile(m);
	/* A hundred a second: first those of the shop, then nginx, then the hostile ones. */
	for (size_t i = 0; i < m->samples_cnt; i++)
		m->samples[i].time_ns = BUILD_START_NS + i * 10000000;
	build_books(m, 10);
	build_requests(m);
	m->cpus[0].ticks_taken += 37;
	model_loss_add(m, LOSS_SAMPLE_RING_FULL, 37);
	model_loss_add(m, LOSS_USER_STACK_FAULT, 5);
	return m;
}

struct model *build_page_blocked(void)
{
	struct model *m = build_page_capture();

	/* Each second of the first six the shop's thread stood in what it ran. */
	for (uint32_t slice = 0; slice < 6; slice++) {
		struct model_stand stand = {.at = m->samples[slice * 100],
					    .call = STAND_CALL_NONE,
					    .blocked_ns = 800000000,
					    .slice = slice,
					    .state = 'D'};

		model_stand_add(m, &stand);
	}
	return m;
}

struct model *build_page_older(void)
{
	struct model *m = build_model(2, 99);

	build_shop(m);
	m->host.off = OFF_ACCOUNTS | OFF_REQUESTS | OFF_STANDS;
	m->host.end_ns = m->host.start_ns + BUILD_SECOND;
	return m;
}

struct model *build_page_gap(void)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "Busy", 0);
	uint32_t t = build_thread(m, p, 100, "Busy", 10 * BUILD_SECOND, 'R');

	BUILD_SAMPLES(m, t, 600, build_symbol(m, "main", "busy", KIND_NATIVE, true));
	build_books(m, 10);
	return m;
}

struct model *build_page_large(uint32_t node_cnt)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "Large", PROCESS_DOTNET), symbols[256], path[64];
	uint32_t t = build_thread(m, p, 100, "Large", BUILD_SECOND, 'R');
	uint64_t random = 1;
	char name[64];

	for (uint32_t i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "Large.Space%u.Type%u.Method%u", i % 7, i % 31, i);
		symbols[i] = build_symbol(m, name, "Large", KIND_JIT, i & 1);
	}
	/* Each stack leaves the first 24 frames' common trunk for 40 of its own. */
	for (uint32_t i = 0; i < node_cnt / 40; i++) {
		for (uint32_t depth = 0; depth < 64; depth++) {
			random = hash_u64(random + 1);
			path[depth] = symbols[depth < 24 ? depth : random % 256];
		}
		build_samples(m, t, 1 + i % 3, 0, path, 64);
	}
	build_books(m, 1);
	return m;
}

#define HOUR_SYMBOLS   6000u
#define HOUR_PROCESSES 32u
#define HOUR_THREADS   16u
#define HOUR_SECONDS   3600u
#define HOUR_TRUNK     14u

/* A walk through a graph of calls in which the first of what a method calls is the commonest: as
 * real stacks do, most share their beginnings. */
static uint32_t hour_stack(const uint32_t *symbols, uint64_t *random, uint32_t path[static 64])
{
	uint32_t at, depth = 0, length;

	*random = hash_u64(*random + 1);
	at = (uint32_t)(*random % 40);
	length = 24 + (uint32_t)(*random >> 32) % 30;
	for (uint32_t i = 0; i < HOUR_TRUNK; i++)
		path[depth++] = symbols[(at / 8) * HOUR_TRUNK + i];
	while (depth < length) {
		uint32_t choice;

		*random = hash_u64(*random + 1);
		choice = __builtin_ctz((uint32_t)*random | 0x10);
		at = (uint32_t)(hash_pair(at + 1, choice) % (HOUR_SYMBOLS - 200)) + 200;
		path[depth++] = symbols[at];
	}
	return depth;
}

static void hour_seconds(struct model *m, uint32_t samples)
{
	uint32_t port = build_endpoint(m, 0, "0.0.0.0", 8080);

	for (uint32_t i = 0; i < HOUR_SECONDS; i++) {
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2 + i % 7 * 50000000, 0,
			    samples / HOUR_SECONDS / m->host.cpus_online);
		build_answers(m, i, port, i / 60 == 30 ? BUILD_SECOND : 2000000, 50);
		for (uint32_t t = 0; t < HOUR_PROCESSES * HOUR_THREADS; t += 8)
			build_account(m, i, t,
				      &(struct sched_figures){.on_cpu_ns = 20000000,
							      .waited_ns = i * 1000});
	}
}

struct model *build_page_hour(uint32_t samples, uint32_t stacks)
{
	struct model *m = build_model(64, 99);
	uint32_t symbols[HOUR_SYMBOLS], path[64];
	uint64_t random = 1;
	char name[96];

	for (uint32_t i = 0; i < HOUR_SYMBOLS; i++) {
		snprintf(name, sizeof(name), "Hour.Service%u.Components.Type%u.Method%uAsync",
			 i % 37, i % 211, i);
		symbols[i] = build_symbol(m, name, "Hour.Service", KIND_JIT, i % 3 == 0);
	}
	for (uint32_t p = 0; p < HOUR_PROCESSES; p++) {
		snprintf(name, sizeof(name), "Hour.Service%u", p);
		build_process(m, 100 + p * 100, name, PROCESS_DOTNET);
		for (uint32_t t = 0; t < HOUR_THREADS; t++)
			build_thread(m, p, 100 + p * 100 + t, t ? ".NET TP Worker" : name, 0, 'S');
	}
	while (m->stacks_cnt < stacks) {
		uint32_t thread = (uint32_t)(hash_u64(random) % (HOUR_PROCESSES * HOUR_THREADS));
		uint32_t depth = hour_stack(symbols, &random, path);

		build_samples(m, thread, 1, 0, path, depth);
	}
	for (uint32_t i = 0; m->samples_cnt < samples; i++) {
		struct model_sample sample = m->samples[i];

		model_sample_add(m, &sample);
	}
	for (size_t i = 0; i < m->samples_cnt; i++) {
		m->samples[i].time_ns =
			BUILD_START_NS + hash_u64(i) % (HOUR_SECONDS * BUILD_SECOND);
		m->samples[i].waiters = (uint32_t)(hash_u64(i) >> 60);
	}
	hour_seconds(m, samples);
	return m;
}
