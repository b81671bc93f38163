/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drive_trace.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "kernel/host.h"

#define TRACEFS	   "/sys/kernel/tracing"
#define RING_PAGES 8192 /* 32 MiB a CPU: some 320,000 events */
#define KINDS	   4
#define CPUS_MAX   64
/* Of /proc/PID/stat, see proc_pid_stat(5). */
#define PROCESSOR_FIELD 39

/* A tracepoint, and where its fields lie. */
struct point {
	const char *name;
	enum trace_kind kind;
	const char *tid_field, *next_field, *cpu_field;
	uint32_t id, tid_at, next_at, state_at, state_bytes, cpu_at;
};

struct trace {
	struct point points[KINDS];
	int fds[CPUS_MAX][KINDS];
	void *rings[CPUS_MAX];
	struct trace_event *events;
	size_t cnt, cap;
};

/* --- tracepoints ----------------------------------------------------------------------------- */

static uint32_t field_of(const char *format, const char *name, uint32_t *ret_bytes)
{
	char wanted[64];
	const char *at;
	uint32_t offset = 0, bytes = 0;

	if (!name)
		return 0;
	snprintf(wanted, sizeof(wanted), " %s;", name);
	at = strstr(format, wanted);
	cr_assert(at && sscanf(at + strlen(wanted), " offset:%u; size:%u;", &offset, &bytes) == 2,
		  "no field %s", name);
	if (ret_bytes)
		*ret_bytes = bytes;
	return offset;
}

static void read_point(struct point *p)
{
	_cleanup_fclose_ FILE *in = NULL;
	char path[128], format[8192];
	size_t n;

	snprintf(path, sizeof(path), TRACEFS "/events/sched/%s/format", p->name);
	in = fopen(path, "re");
	cr_assert(in, "%s: %s", path, strerror(errno));
	n = fread(format, 1, sizeof(format) - 1, in);
	format[n] = '\0';
	cr_assert_eq(sscanf(strstr(format, "ID:"), "ID: %u", &p->id), 1);
	p->tid_at = field_of(format, p->tid_field, NULL);
	p->next_at = field_of(format, p->next_field, NULL);
	p->cpu_at = field_of(format, p->cpu_field, NULL);
	if (p->kind == TRACE_SWITCH)
		p->state_at = field_of(format, "prev_state", &p->state_bytes);
}

/* --- events ---------------------------------------------------------------------------------- */

static int open_event(const struct trace *t, int cpu, unsigned int k)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = t->points[k].id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void open_cpu(struct trace *t, int cpu)
{
	size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned int k = 0; k < KINDS; k++) {
		t->fds[cpu][k] = open_event(t, cpu, k);
		cr_assert_geq(t->fds[cpu][k], 0, "%s: %s", t->points[k].name, strerror(errno));
	}
	t->rings[cpu] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fds[cpu][0], 0);
	cr_assert_neq(t->rings[cpu], MAP_FAILED, "%s", strerror(errno));
	for (unsigned int k = 0; k < KINDS; k++) {
		if (k)
			cr_assert_eq(
				ioctl(t->fds[cpu][k], PERF_EVENT_IOC_SET_OUTPUT, t->fds[cpu][0]),
				0);
		cr_assert_eq(ioctl(t->fds[cpu][k], PERF_EVENT_IOC_ENABLE, 0), 0);
	}
}

/* Adds a thread that wants a CPU, as its stat has it. */
static void find_thread(struct trace *t, const char *path)
{
	struct trace_event event = {.kind = TRACE_FOUND, .time_ns = clock_now_ns()};
	_cleanup_fclose_ FILE *in = fopen(path, "re");
	char text[1024] = "", state;
	const char *name_end;
	unsigned int cpu;

	if (!in || !fgets(text, sizeof(text), in))
		return;
	name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end, ") %c", &state) != 1 || state != 'R')
		return;
	for (int field = 2; field < PROCESSOR_FIELD && name_end; field++)
		name_end = strchr(name_end + 1, ' ');
	if (!name_end || sscanf(name_end, "%u", &cpu) != 1)
		return;
	event.tid = (uint32_t)atoi(text);
	event.cpu = cpu;
	event.to_cpu = cpu;
	cr_assert_eq(GROW(t->events, t->cnt, t->cap), 0);
	t->events[t->cnt++] = event;
}

/* Who wants a CPU now: a thread that waits from here to the end is in no event. */
static void find_threads(struct trace *t)
{
	glob_t paths;

	cr_assert_eq(glob("/proc/[0-9]*/task/[0-9]*/stat", GLOB_NOSORT, NULL, &paths), 0);
	for (size_t i = 0; i < paths.gl_pathc; i++)
		find_thread(t, paths.gl_pathv[i]);
	globfree(&paths);
}

struct trace *trace_start(void)
{
	static const struct point points[KINDS] = {
		{.name = "sched_switch",
		 .kind = TRACE_SWITCH,
		 .tid_field = "prev_pid",
		 .next_field = "next_pid"},
		{.name = "sched_wakeup",
		 .kind = TRACE_WAKEUP,
		 .tid_field = "pid",
		 .cpu_field = "target_cpu"},
		{.name = "sched_wakeup_new",
		 .kind = TRACE_WAKEUP,
		 .tid_field = "pid",
		 .cpu_field = "target_cpu"},
		{.name = "sched_migrate_task",
		 .kind = TRACE_MIGRATE,
		 .tid_field = "pid",
		 .cpu_field = "dest_cpu"},
	};
	struct trace *t = calloc(1, sizeof(*t));
	static bool online[HOST_MAX_CPUS];

	cr_assert(t);
	if (access(TRACEFS "/events", R_OK))
		cr_assert_eq(mount("none", TRACEFS, "tracefs", 0, NULL), 0, "%s", strerror(errno));
	memcpy(t->points, points, sizeof(points));
	for (unsigned int k = 0; k < KINDS; k++)
		read_point(&t->points[k]);
	host_online_cpus(online);
	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (online[cpu])
			open_cpu(t, cpu);
	find_threads(t);
	return t;
}

static void take_record(struct trace *t, uint32_t cpu, const uint8_t *record)
{
	const struct perf_event_header *header = (const void *)record;
	const uint8_t *raw = record + sizeof(*header) + sizeof(uint64_t) + sizeof(uint32_t);
	struct trace_event event = {.cpu = cpu};
	uint64_t state = 0;
	uint16_t id;

	if (header->type != PERF_RECORD_SAMPLE)
		return;
	memcpy(&event.time_ns, record + sizeof(*header), sizeof(event.time_ns));
	memcpy(&id, raw, sizeof(id));
	for (unsigned int k = 0; k < KINDS; k++) {
		const struct point *p = &t->points[k];

		if (p->id != id)
			continue;
		event.kind = (uint8_t)p->kind;
		memcpy(&event.tid, raw + p->tid_at, sizeof(event.tid));
		if (p->next_field)
			memcpy(&event.next, raw + p->next_at, sizeof(event.next));
		if (p->cpu_field)
			memcpy(&event.to_cpu, raw + p->cpu_at, sizeof(event.to_cpu));
		if (p->state_bytes)
			memcpy(&state, raw + p->state_at, p->state_bytes);
		/* Above the states that are reported stands the mark of a preemption. */
		event.runnable = !(state & 0xff);
		cr_assert_eq(GROW(t->events, t->cnt, t->cap), 0);
		t->events[t->cnt++] = event;
		return;
	}
}

static void drain_cpu(struct trace *t, uint32_t cpu)
{
	struct perf_event_mmap_page *page = t->rings[cpu];
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), bytes = RING_PAGES * page_bytes;
	const uint8_t *data = (const uint8_t *)page + page_bytes;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = 0;
	uint8_t record[65536];

	/* Nobody reads while it fills: what finds it full is lost without a word. */
	cr_assert_lt(head + sizeof(record), bytes, "the trace of CPU %u is full", cpu);
	while (tail < head) {
		struct perf_event_header header;

		for (size_t i = 0; i < sizeof(header); i++)
			((uint8_t *)&header)[i] = data[(tail + i) % bytes];
		cr_assert(header.size >= sizeof(header));
		for (size_t i = 0; i < header.size; i++)
			record[i] = data[(tail + i) % bytes];
		take_record(t, cpu, record);
		tail += header.size;
	}
}

static int compare_events(const void *a, const void *b)
{
	const struct trace_event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
	/* A move comes before the wakeup that it is part of. */
	return (x->kind < y->kind) - (x->kind > y->kind);
}

void trace_stop(struct trace *t)
{
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!t->rings[cpu])
			continue;
		for (unsigned int k = 0; k < KINDS; k++)
			ioctl(t->fds[cpu][k], PERF_EVENT_IOC_DISABLE, 0);
		drain_cpu(t, cpu);
	}
	qsort(t->events, t->cnt, sizeof(t->events[0]), compare_events);
}

const struct trace_event *trace_events(const struct trace *t, size_t *ret_cnt)
{
	*ret_cnt = t->cnt;
	return t->events;
}

void trace_free(struct trace *t)
{
	size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);

	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!t->rings[cpu])
			continue;
		munmap(t->rings[cpu], bytes);
		for (unsigned int k = 0; k < KINDS; k++)
			close(t->fds[cpu][k]);
	}
	free(t->events);
	free(t);
}
