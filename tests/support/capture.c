/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"

#define SECOND 1000000000ull

static void fill_host(struct model *m)
{
	m->host = (struct model_host){
		.name = model_str(m, "box-1"),
		.kernel = model_str(m, "6.1.0-18-amd64"),
		.machine = model_str(m, "x86_64"),
		.version = model_str(m, "0.1.0"),
		.event = model_str(m, "cpu-clock"),
		.filter = model_str(m, "-p 4242"),
		.command = model_str(m, "dotnet"),
		.taken = model_str(m, "inelastic Shop.Api 4242: 1 of 6 captures in an hour"),
		.cpus_online = 2,
		.cpus_possible = 4,
		.sample_hz = 99,
		.max_stack = 127,
		.start_ns = 100 * SECOND,
		.end_ns = 101 * SECOND,
		.off = OFF_OWN | OFF_PRESSURE,
	};
}

static void fill_processes(struct model *m)
{
	uint32_t shop = model_process_get(m, 4242, 77777), fresh;
	struct model_process *p = &m->processes[shop];

	p->ns_pid = 1;
	p->parent_tgid = 4000;
	p->flags = PROCESS_DOTNET | PROCESS_FACTS | PROCESS_SELECTED | PROCESS_SOCKETS |
		   PROCESS_LISTENS;
	p->born_ns = 55 * SECOND;
	p->exit_ns = 0;
	p->cgroup_id = 0xfedcba9876543210ull;
	p->comm = model_str(m, "dotnet\x1b[31m");
	p->exe = model_str(m, "/usr/share/dotnet/dotnet");
	p->name = model_str(m, "Shop.Api");
	p->unit = model_str(m, "shop.service");
	p->container = model_str(m, "3f1c9ab00d11");
	p->cgroup = model_str(m, "/system.slice/shop.service");
	p->container_id = model_str(m, "3f1c9ab00d11223344556677");
	p->container_name = model_str(m, "api");
	p->pod = model_str(m, "shop-7d9f");
	p->pod_uid = model_str(m, "0f3a-11ee");
	p->namespace = model_str(m, "prod");
	p->qos = model_str(m, "burstable");
	p->runtime = model_str(m, "containerd");
	p->naming_cpu_ns = 123456;
	p->map_unread_bytes = 1ull << 36;
	p->files_refused = 7;
	p->perf_map = REASON_NAMED;
	fresh = model_process_born(m, 4300, 100 * SECOND + 5);
	p = &m->processes[fresh];
	p->comm = model_str(m, "\xff\xfe;<script>\n");
	p->name = p->comm;
	p->exit_ns = 100 * SECOND + 9;
	p->flags = PROCESS_GONE;
	p->perf_map = REASON_PROCESS_GONE;
	p->naming_cpu_ns = 1200000000;
	p->map_unread_bytes = 412000000;
	p->names_aside_ns = 100 * SECOND + 7;
	p->files_refused = 3;
	p->requests_refused = 12;
	p->mappings_refused = 34;
}

static void fill_cgroups(struct model *m)
{
	uint32_t root = model_cgroup_get(m, 1);
	uint32_t shop = model_cgroup_get(m, 0xfedcba9876543210ull);

	m->cgroups[root].path = model_str(m, "/");
	m->cgroups[shop].parent = root;
	m->cgroups[shop].path = model_str(m, "/system.slice/shop.service");
	m->cgroups[shop].quota_ns = 50000000;
	m->cgroups[shop].period_ns = 100000000;
}

static void fill_endpoints(struct model *m)
{
	struct model_endpoint row = {.process = 0,
				     .listener = 0xfedcba9876543211ull,
				     .address = "::ffff:10.0.0.1",
				     .port = 65535,
				     .protocols = 0x85,
				     .netns = 4026531840,
				     .slow_ns = 250000000};

	model_endpoint_get(m, &row);
	row = (struct model_endpoint){.process = 1, .listener = row.listener, .address = ""};
	model_endpoint_get(m, &row);
}

static void fill_threads(struct model *m)
{
	uint32_t row = model_thread_get(m, 0, 4242, 77777);
	struct model_thread *t = &m->threads[row];

	t->comm = model_str(m, ".NET TP Worker");
	t->state = 'R';
	t->baseline = true;
	t->sched = (struct sched_figures){.on_cpu_ns = 900000000,
					  .waited_ns = 400000000,
					  .behind_own_ns = 300000000,
					  .throttled_ns = 200000000,
					  .uninterruptible_ns = 100000000,
					  .voluntary = 12,
					  .involuntary = 34,
					  .migrations = 56};
	t->delay_max_ns = 7654321;
	t->cpus_allowed = 3;
	t->policy = 2;
	t->nice = -7;
	t->rt_priority = 99;
	t = &m->threads[model_thread_get(m, 1, 4300, 88888)];
	t->exit_ns = 100 * SECOND + 9;
	t->state = 'X';
}

static void fill_mappings(struct model *m)
{
	struct model_module libc = {.path = "/lib/x86_64-linux-gnu/libc.so.6",
				    .dev = 0x801,
				    .inode = 1234567,
				    .build_id = {1, 2, 3, 0, 255},
				    .build_id_len = 5};
	struct model_module jit = {.path = "/memfd:doublemapper (deleted)"};
	struct model_mapping code = {.start = 0x7f0000001000,
				     .end = 0x7f0000100000,
				     .file_offset = 0x26000,
				     .module = model_module_get(m, &libc),
				     .kind = MAPPING_FILE};
	struct model_mapping heap = {.start = 0x7f1000000000,
				     .end = 0x7f1000010000,
				     .from_ns = 100 * SECOND,
				     .module = model_module_get(m, &jit),
				     .kind = MAPPING_JIT};

	model_mapping_add(m, 0, &code);
	model_mapping_add(m, 0, &heap);
	model_mapping_add(m, 1, &code);
	m->processes[1].mappings[0].to_ns = 100 * SECOND + 9;
}

static void fill_stacks(struct model *m)
{
	static const uint64_t user[] = {0x7f1000000040, 0x7f1000000081, 0x7f0000001111,
					0xffffffffff600000};
	static const uint64_t kernel[] = {0x1040, 0x20a0};
	struct model_stack stack = {.id = 0x8000000000000001ull,
				    .end = STACK_END_NO_TABLE,
				    .left_out = 7,
				    .process = 0,
				    .flags = STACK_TRUNCATED | STACK_BROKEN,
				    .frame_cnt = 4,
				    .broken_module = 0};

	model_stack_add(m, &stack, user);
	stack = (struct model_stack){.id = 2,
				     .process = MODEL_NONE,
				     .flags = STACK_KERNEL,
				     .frame_cnt = 2,
				     .broken_module = MODEL_NONE};
	model_stack_add(m, &stack, kernel);
	stack = (struct model_stack){.id = 3, .process = 1, .broken_module = MODEL_NONE};
	model_stack_add(m, &stack, NULL);
}

static void fill_names(struct model *m)
{
	struct model_symbol get = {.name = "Shop.Cart.Get",
				   .raw = "instance int32 [Shop] Shop.Cart::Get()[Tier0]",
				   .module = "Shop",
				   .kind = KIND_JIT,
				   .application = true};
	struct model_symbol kernel = {
		.name = "do_syscall_64", .module = "[kernel]", .kind = KIND_KERNEL};
	struct model_symbol lost = {.name = "libc.so.6+0x27111",
				    .module = "libc.so.6",
				    .kind = KIND_NATIVE,
				    .reason = REASON_NO_SYMBOL};
	struct model_location l = {.process = 0,
				   .symbol = model_symbol_get(m, &lost),
				   .address = 0x7f1000000040,
				   .tier = ""};

	model_location_add(m, &l);
	l.symbol = model_symbol_get(m, &get);
	l.from_ns = 100 * SECOND + 300;
	l.flags = LOCATION_LATER;
	l.tier = "QuickJitted";
	model_location_add(m, &l);
	l = (struct model_location){.process = MODEL_NONE,
				    .symbol = model_symbol_get(m, &kernel),
				    .address = 0x1040,
				    .tier = ""};
	model_location_add(m, &l);
}

static void fill_slice(struct model *m, uint64_t start_ns)
{
	struct feature_set features = {0};
	struct model_slice slice = {start_ns, start_ns + SECOND, -123456789, 77000, 3, true, 8,
				    91,	      4000000000,	 7};
	struct model_sample sample = {.time_ns = start_ns + 400,
				      .kernel_stack = 2,
				      .user_stack = 0x8000000000000001ull,
				      .thread = 0,
				      .waiters = 3,
				      .weight = 3,
				      .cpu = 1,
				      .kind = SAMPLE_ON_CPU,
				      .flags = SAMPLE_USER_STACK_FAULT};
	struct model_account account = {.cgroup = 1, .sched = {1, 2, 3, 4, 5, 6, 7, 8}};
	struct model_delay delay = {.slot = DELAY_SLOTS - 1, .count = 1ull << 33};
	struct model_contention pair = {.runner = 1, .waiter = 0, .weight = 1500};
	struct model_throttle throttle = {
		.cgroup = 1, .periods = 10, .throttled_periods = 9, .throttled_ns = 8};
	struct model_service service = {
		.endpoint = 1,
		.served = {3000, 10, 9, 1, 5, 2, 7000000, 11, 12, 1ull << 33, 1ull << 34, 13, 6},
		.time_max_ns = 999000000,
		.open = 40,
		.late = 30,
		.stuck = 20,
		.oldest_ns = 1ull << 35,
		.queued = 50,
		.backlog = 51,
		.unsure = 52};
	struct model_response response = {
		.endpoint = 1, .slot = RESPONSE_SLOTS - 1, .count = 1ull << 34};
	struct model_signal signal = {.process = 1, .value_ppm = 250001};
	struct model_past past = {.process = 1,
				  .hours = 17,
				  .median_ns = 1ull << 35,
				  .usual_ns = 31000000,
				  .slow_ppm = 999999,
				  .usual_ppm = 3};
	struct model_stand stand = {.at = {.time_ns = slice.start_ns + SECOND / 2,
					   .thread = 1,
					   .kernel_stack = 0x1111,
					   .user_stack = 0xfedcba9876543210ull,
					   .kind = SAMPLE_ON_CPU,
					   .flags = SAMPLE_USER_STACK_FAULT},
				    .age_ns = STAND_AGE_UNKNOWN,
				    .call = 202,
				    .blocked_ns = 1ull << 33,
				    .flags = STAND_UNREADABLE | STAND_LOCK,
				    .holder = 4711,
				    .state = 'S',
				    .sampled = true,
				    .now = true};
	struct model_waker waker = {.at = {.time_ns = slice.start_ns + SECOND / 3,
					   .kernel_stack = 0x1111,
					   .user_stack = 0xfedcba9876543210ull,
					   .kind = SAMPLE_ON_CPU},
				    .blocked_ns = 1ull << 34,
				    .wait_kernel = 0x2222,
				    .wait_user = 0x3333,
				    .woken = 1,
				    .idle = true};
	struct model_switch turn = {.time_ns = slice.start_ns + SECOND / 4,
				    .cpu = 1,
				    .thread = 1,
				    .other = MODEL_NONE,
				    .irq_ns = 1234,
				    .softirq_ns = 5678,
				    .kind = SWITCH_TURN,
				    .state = 'S',
				    .flags = SWITCH_BEGINS};
	struct model_cpu cpu = {.cpu = 1,
				.elapsed_ns = SECOND,
				.idle_ns = 1,
				.accounted_ns = 2,
				.unaccounted_ns = SECOND - 3,
				.steal_ns = 10000000,
				.switches = 1111,
				.ticks_taken = 99,
				.ticks_idle = 4,
				.ticks_filtered = 5,
				.queue = {20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}};

	model_slice_add(m, &slice);
	account.slice = delay.slice = pair.slice = throttle.slice = cpu.slice = service.slice =
		response.slice = signal.slice = past.slice = stand.slice = waker.slice =
			turn.slice = (uint32_t)m->slices_cnt - 1;
	model_sample_add(m, &sample);
	sample.time_ns += 10;
	sample.waiters = WAITERS_UNKNOWN;
	sample.kernel_stack = 0;
	sample.user_stack = 0xdeadbeefdeadbeefull; /* lost */
	model_sample_add(m, &sample);
	model_account_add(m, &account);
	account.thread = 1;
	account.cgroup = MODEL_NONE;
	account.sched.on_cpu_ns = 900000000;
	model_account_add(m, &account);
	model_delay_add(m, &delay);
	model_contention_add(m, &pair);
	pair.waiter = MODEL_NONE;
	model_contention_add(m, &pair);
	model_throttle_add(m, &throttle);
	model_service_add(m, &service);
	model_response_add(m, &response);
	model_signal_add(m, &signal);
	model_past_add(m, &past);
	model_stand_add(m, &stand);
	model_waker_add(m, &waker);
	model_switch_add(m, &turn);
	turn.time_ns++;
	turn.thread = MODEL_NONE;
	turn.other = 0;
	turn.kind = SWITCH_WAKEUP;
	turn.flags = SWITCH_IN_IRQ;
	model_switch_add(m, &turn);
	model_cpu_add(m, &cpu);
	model_loss_add(m, LOSS_STACK_RING_FULL, 17);
	model_loss_add(m, LOSS_TICKS_MISSED, 1);
	feature_ask(&features, FEATURE_BIT(FEATURE_REQUESTS) | FEATURE_BIT(FEATURE_SAMPLES));
	feature_switch_off(&features, FEATURE_REQUESTS, FEATURE_REFUSED, "it was refused");
	if (model_take_features(m, &features))
		abort();
}

struct model *capture_model(void)
{
	struct model *m = model_new();

	if (!m)
		abort();
	fill_host(m);
	fill_cgroups(m);
	fill_processes(m);
	fill_threads(m);
	fill_endpoints(m);
	fill_mappings(m);
	fill_stacks(m);
	fill_names(m);
	fill_slice(m, 100 * SECOND);
	return m;
}

void capture_next_slice(struct model *m)
{
	uint64_t start_ns = m->slices[m->slices_cnt - 1].end_ns, frame = start_ns;
	struct model_stack stack = {
		.id = start_ns, .process = 0, .frame_cnt = 1, .broken_module = MODEL_NONE};
	uint32_t thread = model_thread_get(m, 0, 5000 + (uint32_t)m->slices_cnt, start_ns);

	model_forget_slice(m);
	fill_slice(m, start_ns);
	m->host.end_ns = start_ns + SECOND;
	m->threads[thread].comm = model_str(m, ".NET Server GC");
	model_stack_add(m, &stack, &frame);
	m->processes[0].name = model_str(m, "Shop.Api (2)");
	m->processes[0].dirty = true;
	m->threads[0].sched.on_cpu_ns += SECOND;
	m->threads[0].delay_max_ns += 1;
	m->threads[0].dirty = true;
	m->cgroups[1].quota_ns += 1000000;
	m->cgroups[1].dirty = true;
	model_cgroup_get(m, start_ns);
	m->endpoints[1].address = model_str(m, "127.0.0.1");
	m->endpoints[1].protocols |= 1;
	m->endpoints[1].dirty = true;
	model_endpoint_get(m, &(struct model_endpoint){.listener = start_ns, .address = "0.0.0.0"});
	m->processes[0].mappings[0].to_ns = start_ns;
	m->processes[0].mappings[0].dirty = true;
	m->stacks[1].flags |= STACK_BROKEN;
	m->stacks[1].broken_module = 1;
	m->locations[0].flags |= LOCATION_LATER;
}

void capture_add_samples(struct model *m, size_t cnt)
{
	struct model_sample sample = m->samples[0];

	for (size_t i = 0; i < cnt; i++) {
		sample.time_ns += 10101;
		sample.user_stack = m->stacks[i % m->stacks_cnt].id;
		if (model_sample_add(m, &sample))
			abort();
	}
}
