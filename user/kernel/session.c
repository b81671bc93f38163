/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/session.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernel/bpf_start.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/iterate.h"
#include "kernel/walk.h"
#include "kernel/own_mappings.h"
#include "kernel/release.h"
#include "kernel/stands.h"
#include "kernel/session_private.h"
#include "kernel/unwind_maps.h"

/* Passes of the iterator until every thread has an account; memory for them is refilled between. */
#define CREATE_TRIES 20
/* Frames that are kept of one stack where nobody says how many. */
#define STACK_FRAMES_USUAL 512u

static uint32_t ring_bytes(uint64_t wanted, uint64_t least, uint64_t most)
{
	uint64_t bytes = least;

	while (bytes < wanted && bytes < most)
		bytes <<= 1;
	return (uint32_t)bytes;
}

/* Two seconds without a drain: each tick a sample and, of every second, two new stacks of 60 frames
 * (measured mean of .NET services); 512 thread deaths a CPU and second, and at the least a process
 * of 10,000 threads that ends at once. */
static void size_maps(struct session *s)
{
	uint64_t cpus = s->options.cpus_possible;
	uint64_t ticks = cpus * s->options.sample_hz * 2;

	bpf_map__set_max_entries(s->bpf->maps.samples,
				 ring_bytes(ticks * (80 + 520), 1 << 20, 64 << 20));
	bpf_map__set_max_entries(
		s->bpf->maps.tasks,
		ring_bytes(cpus * 1024 * sizeof(struct event_task), 4 << 20, 32 << 20));
	bpf_map__set_max_entries(s->bpf->maps.cpus, (uint32_t)cpus);
	bpf_map__set_max_entries(s->bpf->maps.costs, (uint32_t)cpus);
	bpf_map__set_max_entries(s->bpf->maps.turns, (uint32_t)cpus);
}

/* Whether the kernel counts what threads wait (CONFIG_SCHED_INFO), by what it tells of this one,
 * which ran more than once. */
static bool kernel_counts_waits(void)
{
	FILE *in = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long times = 0;
	bool told = in && fscanf(in, "%*u %*u %llu", &times) == 1;

	if (in)
		fclose(in);
	return told && times;
}

/* Programs at wakeups are needed where the kernel does not count waits alone. */
static void choose_accounts(struct session *s)
{
	bool counts = !s->options.wakeups && kernel_counts_waits();

	s->bpf->rodata->kernel_counts_waits = counts;
	if (!counts)
		feature_switch_off(&s->features, FEATURE_LOW_OVERHEAD, FEATURE_OFF,
				   "the kernel does not count run delay (CONFIG_SCHED_INFO)");
	bpf_program__set_autoload(s->bpf->progs.on_wakeup, !counts);
	bpf_program__set_autoload(s->bpf->progs.on_wakeup_new, !counts);
}

static struct unwind_maps_in tables_of(const struct session *s)
{
	return (struct unwind_maps_in){
		.chunks = s->bpf->maps.unwind_chunks,
		.pages = s->bpf->maps.unwind_pages,
		.mappings = s->bpf->maps.unwind_mappings,
		.processes = s->bpf->maps.unwind_processes,
		.generation = &s->bpf->bss->unwind_generation,
		.bytes_max = s->options.unwind_bytes,
	};
}

/* Tables by which stacks are walked, or next to no room for them. */
static void prepare_tables(struct session *s)
{
	uint32_t frames = s->options.stack_frames ?: STACK_FRAMES_USUAL;
	bool tables = feature_is_on(&s->features, FEATURE_UNWIND_TABLES);

	s->bpf->rodata->walk_tables = tables;
	s->bpf->rodata->walk_depth = frames < STACK_MAX_FRAMES ? frames : STACK_MAX_FRAMES;
	if (!tables) {
		struct unwind_maps_in in = tables_of(s);

		unwind_maps_omit(&in);
	}
}

static int configure(void *ctx, struct hotrun_bpf *bpf)
{
	struct session *s = ctx;

	s->bpf = bpf;
	if (getrandom(&bpf->rodata->stack_seed, sizeof(uint64_t), 0) != sizeof(uint64_t))
		return -errno;
	bpf->rodata->stack_depth = s->options.max_stack;
	bpf->rodata->filter_tgids = s->options.tgid_cnt > 0;
	bpf->rodata->filter_cgroups = s->options.cgroups;
	bpf->rodata->ticks_in_nmi = s->options.cycles;
	size_maps(s);
	choose_accounts(s);
	prepare_tables(s);
	sockets_prepare(s);
	return 0;
}

/* What is asked for, less what is known not to work here without trying. */
static void choose_features(struct session *s)
{
	const struct session_options *o = &s->options;
	struct feature_set *f = &s->features;

	feature_ask(f, FEATURE_BIT(FEATURE_SAMPLES) | FEATURE_BIT(FEATURE_RUN_QUEUES) |
			       FEATURE_BIT(FEATURE_CGROUPS) | FEATURE_BIT(FEATURE_COUNTERS) |
			       FEATURE_BIT(FEATURE_FULL_MODE) | FEATURE_BIT(FEATURE_LOW_OVERHEAD) |
			       FEATURE_BIT(FEATURE_PROGRAM_NAMES) |
			       (walk_is_possible() ? FEATURE_BIT(FEATURE_FAST_SCAN) : 0) |
			       (o->tables ? FEATURE_BIT(FEATURE_UNWIND_TABLES) : 0) |
			       (o->requests ? FEATURE_BIT(FEATURE_REQUESTS) : 0) |
			       (o->stands ? FEATURE_BIT(FEATURE_THREAD_STACKS) |
						    FEATURE_BIT(FEATURE_BLOCKED)
					  : 0) |
			       (o->wakers ? FEATURE_BIT(FEATURE_WAKERS) : 0));
#ifndef __x86_64__
	feature_switch_off(f, FEATURE_UNWIND_TABLES, FEATURE_OFF, "this machine is not x86-64");
#endif
	if (feature_is_on(f, FEATURE_UNWIND_TABLES) &&
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) != 1)
		feature_switch_off(f, FEATURE_UNWIND_TABLES, FEATURE_OFF,
				   "the kernel is older than 5.15");
	/* Iterators that may sleep, and what reads the memory of another task. */
	if (!release_is_from(5, 18))
		feature_switch_off(f, FEATURE_THREAD_STACKS, FEATURE_OFF,
				   "the kernel is older than 5.18");
	/* Two programs would use the same room at once. */
	if (o->cycles)
		feature_switch_off(f, FEATURE_WAKERS, FEATURE_OFF, "--event cycles excludes it");
}

/* Without them the programs find no process that is in the tables. */
static void open_tables(struct session *s)
{
	struct unwind_maps_in in;
	int err;

	if (!feature_is_on(&s->features, FEATURE_UNWIND_TABLES))
		return;
	in = tables_of(s);
	err = unwind_maps_open(&in, &s->unwind);
	if (err)
		feature_switch_off(&s->features, FEATURE_UNWIND_TABLES, FEATURE_OFF,
				   "the maps of tables: %s", strerror(-err));
}

struct unwind_maps *session_unwind(const struct session *s)
{
	return s->unwind;
}

uint64_t session_wakers_lost(const struct session *s)
{
	return s->bpf->bss->wakers_lost;
}

const struct feature_set *session_features(const struct session *s)
{
	return &s->features;
}

/* In which mode what is left can run. */
static void choose_mode(struct session *s)
{
	if (!feature_is_on(&s->features, FEATURE_LOW_OVERHEAD))
		s->options.quiet = false;
	if (!feature_is_on(&s->features, FEATURE_FULL_MODE))
		s->options.quiet = true;
}

/* Without both there is nothing to record. */
static int check_needed(const struct session *s, char *why, size_t why_bytes)
{
	const struct feature_set *f = &s->features;

	if (feature_is_on(f, FEATURE_SAMPLES) || feature_is_on(f, FEATURE_COUNTERS))
		return 0;
	if (strstr(feature_why(f, FEATURE_COUNTERS), "(EPERM"))
		return explain(-EPERM, "loading the BPF programs", why, why_bytes);
	/* Under lockdown the verifier does not know the functions that read kernel memory. */
	snprintf(why, why_bytes, "neither samples (%s) nor scheduler counters (%s) work here%s",
		 feature_why(f, FEATURE_SAMPLES), feature_why(f, FEATURE_COUNTERS),
		 strstr(feature_why(f, FEATURE_COUNTERS), "unknown func bpf_probe_read")
			 ? bpf_start_suspects_lockdown()
			 : "");
	return -ENOTSUP;
}

static int load(struct session *s, char *why, size_t why_bytes)
{
	const struct feature_set *f = &s->features;
	int err;

	choose_features(s);
	err = features_load(&s->features, configure, s, why, why_bytes, &s->bpf);
	if (err) {
		s->bpf = NULL;
		return err;
	}
	err = check_needed(s, why, why_bytes);
	if (err)
		return err;
	choose_mode(s);
	open_tables(s);
	for (size_t i = 0; i < s->options.tgid_cnt; i++) {
		uint8_t one = 1;

		if (!feature_is_on(f, FEATURE_SAMPLES))
			break;
		err = bpf_map__update_elem(s->bpf->maps.tgids, &s->options.tgids[i],
					   sizeof(uint32_t), &one, sizeof(one), BPF_ANY);
		if (err)
			return explain(err, "list of processes", why, why_bytes);
	}
	return 0;
}

static void take_task(void *ctx, const void *record)
{
	const struct session_ops *ops = ctx;

	ops->task(ops->ctx, record);
}

struct program_link {
	struct bpf_program *program;
	struct bpf_link **link;
};

/* Programs that were not loaded are left out. 0 or negative errno. */
static int attach_programs(const struct program_link *programs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!bpf_program__autoload(programs[i].program) || *programs[i].link)
			continue;
		*programs[i].link = bpf_program__attach(programs[i].program);
		if (!*programs[i].link)
			return -errno;
	}
	return 0;
}

static void detach_programs(const struct program_link *programs, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		bpf_link__destroy(*programs[i].link);
		*programs[i].link = NULL;
	}
}

/* --- gears ----------------------------------------------------------------------------------- */

#define SWITCH_PROGRAMS 3

/* Those at switches, where the kernel does not count waits with those at wakeups. */
static void switch_programs(struct session *s, struct program_link programs[SWITCH_PROGRAMS])
{
	programs[0] = (struct program_link){s->bpf->progs.on_switch, &s->bpf->links.on_switch};
	programs[1] = (struct program_link){s->bpf->progs.on_wakeup, &s->bpf->links.on_wakeup};
	programs[2] =
		(struct program_link){s->bpf->progs.on_wakeup_new, &s->bpf->links.on_wakeup_new};
}

static int attach_births(struct session *s)
{
	const struct program_link births = {s->bpf->progs.on_new_task, &s->bpf->links.on_new_task};

	return attach_programs(&births, 1);
}

/* From the first quiet gear on: who ended in it may be told in the full one. */
static int attach_ends(struct session *s)
{
	const struct program_link ends = {s->bpf->progs.on_free, &s->bpf->links.on_free};

	return attach_programs(&ends, 1);
}

static void stop_full(struct session *s)
{
	struct program_link programs[SWITCH_PROGRAMS];

	s->bpf->bss->quiet_since_ns = clock_now_ns();
	switch_programs(s, programs);
	detach_programs(programs, SWITCH_PROGRAMS);
	bpf_link__destroy(s->bpf->links.on_waking);
	s->bpf->links.on_waking = NULL;
	bpf_link__destroy(s->bpf->links.on_new_task);
	s->bpf->links.on_new_task = NULL;
	s->bpf->data->switches_since_ns = UINT64_MAX;
	s->bpf->bss->quiet_gear = 1;
}

static int start_full(struct session *s)
{
	struct program_link programs[SWITCH_PROGRAMS];
	int err;

	s->bpf->bss->quiet_gear = 0;
	s->bpf->data->switches_since_ns = clock_now_ns();
	switch_programs(s, programs);
	err = attach_programs(programs, SWITCH_PROGRAMS);
	if (err)
		stop_full(s);
	else if (feature_is_on(&s->features, FEATURE_WAKERS))
		features_attach(&s->features, FEATURE_WAKERS, s->bpf->progs.on_waking,
				&s->bpf->links.on_waking);
	return err;
}

/* Every account goes on in the gear of quiet_gear. */
static int hand_accounts_over(struct session *s)
{
	s->handed_over_ns = clock_now_ns();
	s->passed_ns = 0;
	return iterate(bpf_link__fd(s->bpf->links.change_gear), sizeof(struct event_task), NULL,
		       NULL);
}

static int go_full(struct session *s)
{
	int err = attach_births(s);

	if (!err) {
		s->bpf->bss->quiet_gear = 0;
		err = hand_accounts_over(s);
	}
	if (!err)
		err = start_full(s);
	if (err)
		stop_full(s);
	return err;
}

static int go_quiet(struct session *s)
{
	int err = attach_ends(s);

	if (err)
		return err;
	stop_full(s);
	err = hand_accounts_over(s);
	/* Of who was not handed over, the kernel's counts would count twice. */
	if (err && !attach_births(s))
		start_full(s);
	return err;
}

int session_set_gear(struct session *s, bool quiet)
{
	int err = 0;

	if (!feature_is_on(&s->features, quiet ? FEATURE_LOW_OVERHEAD : FEATURE_FULL_MODE))
		return -ENOTSUP;
	if (quiet != s->options.quiet)
		err = quiet ? go_quiet(s) : go_full(s);
	if (!err)
		s->options.quiet = quiet;
	return err;
}

/* --------------------------------------------------------------------------------------------- */

static int create_accounts(struct session *s)
{
	int err = 0;

	for (int i = 0; i < CREATE_TRIES && !err; i++) {
		s->bpf->bss->accounts_refused = 0;
		err = iterate(bpf_link__fd(s->bpf->links.create_accounts),
			      sizeof(struct event_task), NULL, NULL);
		s->accounts_refused = s->bpf->bss->accounts_refused;
		if (!s->accounts_refused)
			break;
		usleep(1000);
	}
	bpf_link__destroy(s->bpf->links.create_accounts);
	s->bpf->links.create_accounts = NULL;
	return err;
}

/* What the kernel itself lacks is known when the iterator has run. */
static void take_kernel_lacks(struct session *s)
{
	uint32_t without = s->bpf->bss->kernel_without;

	if (without & KERNEL_WITHOUT_GROUPS)
		feature_switch_off(&s->features, FEATURE_CGROUPS, FEATURE_OFF,
				   "the kernel has no group scheduling");
	if (without & KERNEL_WITHOUT_QUEUES)
		feature_switch_off(
			&s->features, FEATURE_RUN_QUEUES, FEATURE_OFF,
			"the kernel's run queues are laid out in a way that is not known");
}

/* The programs at switches, or those of the quiet gear; what cannot be attached is off. */
static void attach_gear(struct session *s)
{
	int err = 0;

	if (!s->options.quiet) {
		err = attach_births(s);
		if (!err)
			err = start_full(s);
	}
	if (err) {
		stop_full(s);
		feature_switch_off(&s->features, FEATURE_FULL_MODE, FEATURE_OFF,
				   "its BPF programs cannot be attached (%s)", strerror(-err));
		choose_mode(s);
	}
	if (s->options.quiet && attach_ends(s))
		feature_switch_off(&s->features, FEATURE_COUNTERS, FEATURE_OFF,
				   "BPF program on_free cannot be attached");
}

static int attach_accounts(struct session *s, char *why, size_t why_bytes)
{
	const struct {
		enum feature feature;
		struct program_link link;
	} always[] = {
		{FEATURE_PROGRAM_NAMES, {s->bpf->progs.on_exec, &s->bpf->links.on_exec}},
		{FEATURE_COUNTERS, {s->bpf->progs.create_accounts, &s->bpf->links.create_accounts}},
		{FEATURE_COUNTERS, {s->bpf->progs.read_accounts, &s->bpf->links.read_accounts}},
		{FEATURE_LOW_OVERHEAD, {s->bpf->progs.change_gear, &s->bpf->links.change_gear}},
	};
	int err = 0;

	s->bpf->data->session_start_ns = clock_now_ns();
	s->bpf->bss->quiet_gear = s->options.quiet;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		features_attach(&s->features, always[i].feature, always[i].link.program,
				always[i].link.link);
	stands_attach(&s->features, s->bpf);
	choose_mode(s);
	if (feature_is_on(&s->features, FEATURE_COUNTERS)) {
		attach_gear(s);
		err = create_accounts(s);
		take_kernel_lacks(s);
	}
	if (err)
		return explain(err, "creating the accounts", why, why_bytes);
	return check_needed(s, why, why_bytes);
}

static int take_ring_record(void *ctx, void *data, size_t bytes)
{
	struct session *s = ctx;
	const struct event_header *header = data;

	if (bytes < sizeof(*header) || header->size > bytes)
		goto bad;
	switch (header->kind) {
	case EVENT_SAMPLE: {
		const struct event_sample *sample = data;

		if (header->size < sizeof(*sample) || sample->waiting_cnt > WAITING_MAX ||
		    header->size != sizeof(*sample) + sample->waiting_cnt * sizeof(__u32))
			goto bad;
		s->ops->sample(s->ops->ctx, sample);
		return 0;
	}
	case EVENT_STACK: {
		const struct event_stack *stack = data;

		if (header->size < sizeof(*stack) || stack->frame_cnt > STACK_MAX_FRAMES ||
		    header->size != sizeof(*stack) + stack->frame_cnt * sizeof(__u64))
			goto bad;
		s->ops->stack(s->ops->ctx, stack);
		return 0;
	}
	case EVENT_WAKER:
		if (header->size < sizeof(struct event_waker))
			goto bad;
		s->ops->waker(s->ops->ctx, data);
		return 0;
	case EVENT_TASK_END:
		if (header->size < sizeof(struct event_task))
			goto bad;
		s->ops->task(s->ops->ctx, data);
		return 0;
	case EVENT_EXEC: {
		const struct event_exec *exec = data;

		if (header->size < sizeof(*exec) || exec->args_bytes > EXEC_ARGS_BYTES)
			goto bad;
		s->ops->exec(s->ops->ctx, exec);
		return 0;
	}
	default:
		break;
	}
bad:
	s->bad_records++;
	return 0;
}

/* NULL where no feature that is on fills it. */
static int open_ring(struct session *s, const struct bpf_map *map, struct ring_buffer **ret_ring)
{
	if (!bpf_map__autocreate(map))
		return 0;
	*ret_ring = ring_buffer__new(bpf_map__fd(map), take_ring_record, s, NULL);
	return *ret_ring ? 0 : -errno;
}

static int open_rings(struct session *s, char *why, size_t why_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *clocks;
	int err;

	s->clocks_bytes = s->options.cpus_possible * sizeof(*s->clocks);
	s->clocks_bytes = (s->clocks_bytes + page - 1) / page * page;
	clocks = mmap(NULL, s->clocks_bytes, PROT_READ, MAP_SHARED, bpf_map__fd(s->bpf->maps.cpus),
		      0);
	if (clocks == MAP_FAILED)
		return explain(-errno, "clocks of the CPUs", why, why_bytes);
	s->clocks = clocks;
	err = cost_open(s);
	if (err)
		return explain(err, "costs of the programs", why, why_bytes);
	err = open_ring(s, s->bpf->maps.samples, &s->samples);
	if (err)
		return explain(err, "samples ring", why, why_bytes);
	err = open_ring(s, s->bpf->maps.tasks, &s->tasks);
	return err ? explain(err, "tasks ring", why, why_bytes) : 0;
}

static int allocate(struct session *s)
{
	uint32_t cpus = s->options.cpus_possible;

	s->tick_fds = calloc(cpus, sizeof(*s->tick_fds));
	s->ticks = calloc(cpus, sizeof(struct bpf_link *));
	s->online = calloc(HOST_MAX_CPUS, sizeof(*s->online));
	s->tick_seen = calloc(cpus, sizeof(*s->tick_seen));
	if (!s->tick_fds || !s->ticks || !s->online || !s->tick_seen)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		s->tick_fds[cpu] = -1;
	host_online_cpus(s->online);
	return 0;
}

int session_new(const struct session_options *options, char *why, size_t why_bytes,
		struct session **ret_session)
{
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return explain(-ENOMEM, "session", why, why_bytes);
	bpf_start_prepare();
	s->options = *options;
	err = allocate(s);
	if (err)
		explain(err, "session", why, why_bytes);
	if (!err)
		err = load(s, why, why_bytes);
	if (!err) {
		/* Before the accounts: no mapping made from now on is missed. */
		err = sideband_open(s->online, options->cpus_possible, &s->sideband);
		if (err)
			explain(err, "opening the side-band events", why, why_bytes);
	}
	if (!err)
		err = open_rings(s, why, why_bytes);
	if (!err)
		err = attach_accounts(s, why, why_bytes);
	if (!err)
		sockets_attach(s);
	if (!err) {
		/* Last: all that is mapped is mapped by now. */
		err = own_mappings_withhold();
		if (err)
			explain(err, "keeping BPF maps from children", why, why_bytes);
	}
	if (err) {
		session_free(s);
		return err;
	}
	*ret_session = s;
	return 0;
}

int session_select_cgroup(struct session *s, uint64_t cgroup_id)
{
	uint8_t one = 1;

	return bpf_map__update_elem(s->bpf->maps.cgroups, &cgroup_id, sizeof(cgroup_id), &one,
				    sizeof(one), BPF_ANY);
}

/* As the event takes it: cycles come at a rate, the clock after a time. */
static uint64_t tick_period(const struct session *s)
{
	uint32_t every = s->options.sample_every ?: 1;

	if (s->options.cycles)
		return (s->options.sample_hz + every - 1) / every;
	return 1000000000ull * every / s->options.sample_hz;
}

static int open_tick(struct session *s, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = s->options.cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = s->options.cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd, err;

	attr.freq = s->options.cycles;
	attr.sample_period = tick_period(s); /* one field with sample_freq */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	s->ticks[cpu] = bpf_program__attach_perf_event(s->bpf->progs.on_tick, fd);
	if (!s->ticks[cpu]) {
		err = -errno;
		close(fd);
		return err;
	}
	s->tick_fds[cpu] = fd; /* closed with the link */
	return 0;
}

static void close_tick(struct session *s, uint32_t cpu)
{
	if (s->tick_fds[cpu] < 0)
		return;
	bpf_link__destroy(s->ticks[cpu]);
	s->ticks[cpu] = NULL;
	s->tick_fds[cpu] = -1;
}

int session_set_rate(struct session *s, uint32_t every)
{
	uint64_t period;
	int err = 0;

	s->options.sample_every = every;
	period = tick_period(s);
	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++)
		if (s->tick_fds[cpu] >= 0 &&
		    ioctl(s->tick_fds[cpu], PERF_EVENT_IOC_PERIOD, &period))
			err = -errno;
	return err;
}

int session_start(struct session *s, char *why, size_t why_bytes)
{
	int err = -ENODEV, opened = 0;

	s->started = true;
	if (!feature_is_on(&s->features, FEATURE_SAMPLES))
		return 0;
	s->bpf->bss->stack_generation++;
	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++) {
		if (!s->online[cpu])
			continue;
		err = open_tick(s, cpu);
		if (err == -ENODEV && !s->options.cycles)
			continue; /* it has gone off line since */
		if ((err == -ENOENT || err == -EOPNOTSUPP) && s->options.cycles) {
			snprintf(why, why_bytes,
				 "this machine has no hardware cycle counter; "
				 "leave --event out to sample by cpu-clock");
			return err;
		}
		if (err)
			break;
		opened++;
	}
	if (opened && !err)
		return 0;
	return explain(err, "opening the sampling event", why, why_bytes);
}

void session_stop(struct session *s)
{
	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++)
		close_tick(s, cpu);
	s->started = false;
}

/* Busy for this many ticks without one. */
#define TICKS_LOST 20

/*
 * The kernel drops the events of a CPU that goes off line, and does not bring them back: a CPU that
 * went and came between two looks is told by being busy without a tick. A look that is wrong (a
 * long run was closed just now, its ticks were counted before) costs no more than a new event.
 */
static bool tick_is_lost(struct session *s, uint32_t cpu)
{
	const struct cpu_clock *clock = &s->clocks[cpu];
	struct tick_seen was = s->tick_seen[cpu];
	struct tick_seen now = {clock->ticks_taken + clock->ticks_idle,
				clock->accounted_ns + clock->unaccounted_ns};

	s->tick_seen[cpu] = now;
	return s->tick_fds[cpu] >= 0 && now.ticks == was.ticks &&
	       now.busy_ns - was.busy_ns > TICKS_LOST * 1000000000ull *
						   (s->options.sample_every ?: 1) /
						   s->options.sample_hz;
}

uint32_t session_follow_cpus(struct session *s, const bool *online)
{
	uint32_t without = 0;

	memcpy(s->online, online, HOST_MAX_CPUS * sizeof(*online));
	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++) {
		if (tick_is_lost(s, cpu))
			s->online[cpu] = false;
		if (!s->online[cpu])
			close_tick(s, cpu);
	}
	sideband_follow_cpus(s->sideband, s->online);
	memcpy(s->online, online, HOST_MAX_CPUS * sizeof(*online));
	sideband_follow_cpus(s->sideband, online);
	for (uint32_t cpu = 0; cpu < s->options.cpus_possible; cpu++)
		if (online[cpu] && s->started && feature_is_on(&s->features, FEATURE_SAMPLES) &&
		    s->tick_fds[cpu] < 0 && open_tick(s, cpu))
			without++;
	return without;
}

uint64_t session_drain(struct session *s, const struct session_ops *ops)
{
	s->ops = ops;
	s->bad_records = 0;
	if (s->samples)
		ring_buffer__consume(s->samples);
	if (s->tasks)
		ring_buffer__consume(s->tasks);
	s->ops = NULL;
	return s->bad_records;
}

uint64_t session_drain_sideband(struct session *s, const struct sideband_ops *ops,
				uint64_t until_ns)
{
	return sideband_drain(s->sideband, ops, until_ns);
}

enum sideband_came session_wait(const struct session *s, uint64_t timeout_ns, int fd)
{
	return sideband_wait(s->sideband, timeout_ns, fd);
}

/* Where so many threads are awake, the kernel's iterator costs less; for so many passes then. */
#define WALK_PARTS_MANY 64
#define WALK_PAUSE	60

/* 0 or negative errno. */
static int walk(struct session *s, const struct session_ops *ops)
{
	int parts = walk_threads(s->bpf, take_task, (void *)ops);

	if (parts > WALK_PARTS_MANY)
		s->walk_pause = WALK_PAUSE;
	return parts < 0 ? parts : 0;
}

int session_read_accounts(struct session *s, bool all, const struct session_ops *ops)
{
	uint64_t now_ns = clock_now_ns();
	int err;

	if (!feature_is_on(&s->features, FEATURE_COUNTERS))
		return 0;
	s->bpf->bss->passed_ns = all ? 0 : s->passed_ns;
	s->walk_pause -= s->walk_pause > 0;
	if (feature_is_on(&s->features, FEATURE_FAST_SCAN) && s->bpf->bss->passed_ns &&
	    !s->walk_pause)
		err = walk(s, ops);
	else
		err = iterate(bpf_link__fd(s->bpf->links.read_accounts), sizeof(struct event_task),
			      take_task, (void *)ops);
	s->passed_ns = err ? 0 : now_ns;
	return err;
}

/* Of a CPU that has not switched since the full gear began: who was met there then, or nobody. */
static void begin_running(const struct session *s, struct cpu_clock *clock)
{
	uint64_t since_ns = s->bpf->data->switches_since_ns;

	if (s->options.quiet || !s->handed_over_ns || clock->last_switch_ns >= since_ns)
		return;
	if (clock->last_switch_ns < s->handed_over_ns)
		clock->running_tid = clock->running_tgid = 0;
	clock->last_switch_ns = since_ns;
}

int session_read_cpu(struct session *s, uint32_t cpu, struct cpu_clock *ret_clock,
		     uint64_t *ret_now_ns)
{
	const struct cpu_clock *clock = &s->clocks[cpu];

	/* Ticks are written without the sequence number, by the CPU's own interrupt: single words,
	 * never torn. */
	for (int i = 0; i < 1000; i++) {
		__u64 before = __atomic_load_n(&clock->sequence, __ATOMIC_ACQUIRE);

		*ret_clock = *(const volatile struct cpu_clock *)clock;
		*ret_now_ns = clock_now_ns();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before & 1 || __atomic_load_n(&clock->sequence, __ATOMIC_RELAXED) != before)
			continue;
		begin_running(s, ret_clock);
		return 0;
	}
	return -EAGAIN;
}

void session_read_losses(struct session *s, uint64_t counts[LOSS_KERNEL_CNT])
{
	size_t cpus = s->options.cpus_possible;
	uint64_t *values = calloc(cpus, sizeof(*values));

	memset(counts, 0, LOSS_KERNEL_CNT * sizeof(*counts));
	for (uint32_t cause = 0; values && cause < LOSS_KERNEL_CNT; cause++) {
		if (bpf_map__lookup_elem(s->bpf->maps.losses, &cause, sizeof(cause), values,
					 cpus * sizeof(*values), 0))
			continue;
		for (size_t cpu = 0; cpu < cpus; cpu++)
			counts[cause] += values[cpu];
	}
	counts[LOSS_ACCOUNT_ALLOC] += s->accounts_refused;
	free(values);
}

uint64_t session_recursion_misses(struct session *s)
{
	struct bpf_program *program;
	uint64_t misses = 0;

	bpf_object__for_each_program(program, s->bpf->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 bytes = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &bytes))
			misses += info.recursion_misses;
	}
	return misses;
}

bool session_can_be_quiet(const struct session *s)
{
	return feature_is_on(&s->features, FEATURE_LOW_OVERHEAD);
}

bool session_counts_waits(const struct session *s)
{
	return s->bpf->rodata->kernel_counts_waits ||
	       feature_is_on(&s->features, FEATURE_FULL_MODE);
}

bool session_is_quiet(const struct session *s)
{
	return s->options.quiet;
}

static size_t ring_size(const struct ring_buffer *ring, const struct bpf_map *map)
{
	return ring ? bpf_map__max_entries(map) : 0;
}

static size_t values_bytes(const struct bpf_map *map)
{
	if (!bpf_map__autocreate(map))
		return 0;
	return (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
}

size_t session_map_bytes(const struct session *s)
{
	size_t cpus = s->options.cpus_possible;

	return ring_size(s->samples, s->bpf->maps.samples) +
	       ring_size(s->tasks, s->bpf->maps.tasks) + s->clocks_bytes +
	       values_bytes(s->bpf->maps.turns) + values_bytes(s->bpf->maps.stack_tags) +
	       cpus * values_bytes(s->bpf->maps.scratch) +
	       (s->unwind ? unwind_maps_bytes(s->unwind) +
				    cpus * values_bytes(s->bpf->maps.unwind_cache)
			  : 0) +
	       s->costs_bytes + s->endpoints_bytes + s->socket_rows_bytes;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->ticks && s->tick_fds)
		session_stop(s);
	if (s->clocks)
		munmap((void *)s->clocks, s->clocks_bytes);
	cost_close(s);
	ring_buffer__free(s->samples);
	ring_buffer__free(s->tasks);
	sideband_free(s->sideband);
	sockets_free(s);
	unwind_maps_free(s->unwind);
	hotrun_bpf__destroy(s->bpf);
	free(s->tick_fds);
	free(s->ticks);
	free(s->online);
	free(s->tick_seen);
	free(s);
}
