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
	build_books(m, 10);
	m->cpus[0].ticks_taken += 37;
	model_loss_add(m, LOSS_SAMPLE_RING_FULL, 37);
	model_loss_add(m, LOSS_USER_STACK_FAULT, 5);
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
