/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the metrics page that has lines for each kind of process. */
#include <stdbool.h>
#include <stddef.h>

#include "output/metrics_write.h"

/* --- histograms ------------------------------------------------------------------------------ */

/* Bounds are 2^power us: denser around the milliseconds at which somebody notices. */
static const struct bound {
	uint8_t power;
	const char *seconds;
} delay_bounds[METRICS_DELAY_BUCKETS] = {
	{4, "1.6e-05"},	  {6, "6.4e-05"},   {8, "0.000256"},  {10, "0.001024"},
	{12, "0.004096"}, {14, "0.016384"}, {15, "0.032768"}, {17, "0.131072"},
	{20, "1.048576"}, {23, "8.388608"}, {0, "+Inf"},
};
static const struct bound time_bounds[METRICS_TIME_BUCKETS] = {
	{10, "0.001024"}, {12, "0.004096"},  {14, "0.016384"}, {15, "0.032768"},
	{16, "0.065536"}, {17, "0.131072"},  {18, "0.262144"}, {19, "0.524288"},
	{21, "2.097152"}, {24, "16.777216"}, {0, "+Inf"},
};

uint32_t metrics_delay_bucket(uint32_t slot)
{
	uint32_t i = 0;

	/* Slot k ends at 2^(k + 1) us. */
	while (i + 1 < METRICS_DELAY_BUCKETS && slot >= delay_bounds[i].power)
		i++;
	return i;
}

uint32_t metrics_time_bucket(uint32_t slot)
{
	uint32_t i = 0;

	/* Four slots a power of two; 2^k us begins slot 4 (k - 1). */
	while (i + 1 < METRICS_TIME_BUCKETS && slot >= 4u * (time_bounds[i].power - 1u))
		i++;
	return i;
}

static uint64_t bound_ns(const struct bound *bounds, uint32_t cnt, uint32_t bucket)
{
	return bucket + 1 < cnt ? 1000ull << bounds[bucket].power : UINT64_MAX;
}

uint64_t metrics_delay_bound_ns(uint32_t bucket)
{
	return bound_ns(delay_bounds, METRICS_DELAY_BUCKETS, bucket);
}

uint64_t metrics_time_bound_ns(uint32_t bucket)
{
	return bound_ns(time_bounds, METRICS_TIME_BUCKETS, bucket);
}

static void put_histogram(FILE *out, const char *name, const char *labels,
			  const struct bound *bounds, const uint64_t *counts, uint32_t cnt,
			  uint64_t sum_ns)
{
	const char *comma = labels[0] ? "," : "", *open = labels[0] ? "{" : "",
		   *close = labels[0] ? "}" : "";
	unsigned long long total = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		total += counts[i];
		fprintf(out, "hotrun_%s_bucket{%s%sle=\"%s\"} %llu\n", name, labels, comma,
			bounds[i].seconds, total);
	}
	fprintf(out, "hotrun_%s_sum%s%s%s ", name, open, labels, close);
	metrics_put_value(out, UNIT_NS, sum_ns);
	fprintf(out, "hotrun_%s_count%s%s%s %llu\n", name, open, labels, close, total);
}

void metrics_put_delays(FILE *out, const char *name, const char *labels,
			const struct metrics_sched *sched)
{
	put_histogram(out, name, labels, delay_bounds, sched->delays, METRICS_DELAY_BUCKETS,
		      sched->sum.waited_ns);
}

/* --- families -------------------------------------------------------------------------------- */

static void labelled(FILE *out, const char *name, const struct metrics_process *p, const char *key,
		     const char *value)
{
	fprintf(out, "hotrun_%s{%s,%s=\"%s\"} ", name, p->labels, key, value);
}

/* Part of the names of series: they stay as they are. */
static const char *const roles[ROLE_CNT] = {
	[ROLE_OWN] = "other",
	[ROLE_MAIN] = "main",
	[ROLE_POOL_WORKER] = "pool-worker",
	[ROLE_POOL_GATE] = "pool-gate",
	[ROLE_POOL_WAIT] = "pool-wait",
	[ROLE_TIMER] = "timer",
	[ROLE_FINALIZER] = "finalizer",
	[ROLE_GC_SERVER] = "gc-server",
	[ROLE_GC_BACKGROUND] = "gc-background",
	[ROLE_TIERING] = "tiering",
	[ROLE_SOCKETS] = "sockets",
	[ROLE_LONG_RUNNING] = "long-running",
	[ROLE_DIAGNOSTICS] = "diagnostics",
	[ROLE_SIGNALS] = "signals",
	[ROLE_FILE_WATCH] = "file-watch",
	[ROLE_CONSOLE_LOGGER] = "console-logger",
};

static void put_cpu(FILE *out, const char *name, const struct metrics_process *p)
{
	/* Its main thread always: a process that has not run yet has a line, too. */
	for (uint32_t i = 0; i < ROLE_CNT; i++) {
		if (!p->cpu_ns[i] && i != ROLE_MAIN)
			continue;
		labelled(out, name, p, "role", roles[i]);
		metrics_put_value(out, UNIT_NS, p->cpu_ns[i]);
	}
}

static void put_behind(FILE *out, const char *name, const struct metrics_process *p)
{
	labelled(out, name, p, "behind", "own");
	metrics_put_value(out, UNIT_NS, p->sched.sum.behind_own_ns);
	labelled(out, name, p, "behind", "others");
	metrics_put_value(out, UNIT_NS, p->sched.apart_ns - p->sched.sum.behind_own_ns);
}

static void put_switches(FILE *out, const char *name, const struct metrics_process *p)
{
	labelled(out, name, p, "kind", "voluntary");
	metrics_put_value(out, UNIT_COUNT, p->sched.sum.voluntary);
	labelled(out, name, p, "kind", "involuntary");
	metrics_put_value(out, UNIT_COUNT, p->sched.sum.involuntary);
}

/* Most groups have no limit: there is nothing to tell of them. */
static void put_periods(FILE *out, const char *name, const struct metrics_process *p)
{
	if (p->limit_periods)
		fprintf(out, "hotrun_%s{%s} %llu\n", name, p->labels,
			(unsigned long long)p->limit_periods);
}

static void put_throttled_periods(FILE *out, const char *name, const struct metrics_process *p)
{
	if (p->limit_periods)
		fprintf(out, "hotrun_%s{%s} %llu\n", name, p->labels,
			(unsigned long long)p->limit_throttled_periods);
}

static void put_delays(FILE *out, const char *name, const struct metrics_process *p)
{
	metrics_put_delays(out, name, p->labels, &p->sched);
}

static void put_hurt(FILE *out, const char *name, const struct metrics_process *p)
{
	if (p->state.judged)
		fprintf(out, "hotrun_%s{%s} %d\n", name, p->labels, p->state.hurt);
}

static void put_verdict(FILE *out, const char *name, const struct metrics_process *p)
{
	if (!p->state.judged || p->state.verdict == VERDICT_HEALTHY)
		return;
	labelled(out, name, p, "verdict", verdict_id(p->state.verdict));
	fputs("1\n", out);
}

#define IN_PROCESS(member) offsetof(struct metrics_process, member)

/* With put: that writes the lines; else a line of the uint64_t at offset. */
static const struct process_family {
	const char *name, *type, *help;
	uint32_t needs;
	enum metrics_unit unit;
	size_t offset;
	void (*put)(FILE *out, const char *name, const struct metrics_process *p);
} process_families[] = {
	{.name = "process_cpu_seconds_total",
	 .type = "counter",
	 .help = "CPU time by role of the thread, exact by context switches; by the kernel's own "
		 "counters while these are off.",
	 .needs = KNOW_CPU,
	 .put = put_cpu},
	{.name = "process_waiting_seconds_total",
	 .type = "counter",
	 .help = "Time that runnable threads waited for a CPU behind threads of the same process, "
		 "or of others.",
	 .needs = KNOW_WAITS | KNOW_OWN,
	 .put = put_behind},
	{.name = "process_throttled_seconds_total",
	 .type = "counter",
	 .help = "Time that runnable threads were stopped by the CPU limit of their group.",
	 .needs = KNOW_WAITS | KNOW_GROUPS,
	 .unit = UNIT_NS,
	 .offset = IN_PROCESS(sched.sum.throttled_ns)},
	{.name = "process_limit_periods_total",
	 .type = "counter",
	 .help = "Periods of the CPU limit (cpu.stat) of the group that it is in, or of the "
		 "nearest above that has a limit: each group once, the same for all kinds of "
		 "process in it.",
	 .needs = KNOW_GROUPS | KNOW_LIMITS,
	 .put = put_periods},
	{.name = "process_limit_throttled_periods_total",
	 .type = "counter",
	 .help = "Those of them in which the limit stopped the group.",
	 .needs = KNOW_GROUPS | KNOW_LIMITS,
	 .put = put_throttled_periods},
	{.name = "process_run_delay_seconds",
	 .type = "histogram",
	 .help = "How long threads waited for a CPU, each time; the sum has waits that go on.",
	 .needs = KNOW_SWITCHES,
	 .put = put_delays},
	{.name = "process_switches_total",
	 .type = "counter",
	 .help = "Context switches.",
	 .needs = KNOW_WAITS,
	 .put = put_switches},
	{.name = "process_threads",
	 .type = "gauge",
	 .help = "Threads.",
	 .needs = KNOW_CPU,
	 .unit = UNIT_COUNT,
	 .offset = IN_PROCESS(threads)},
	{.name = "process_processes",
	 .type = "gauge",
	 .help = "Processes of this kind.",
	 .needs = KNOW_CPU,
	 .unit = UNIT_COUNT,
	 .offset = IN_PROCESS(processes)},
	{.name = "process_samples_total",
	 .type = "counter",
	 .help = "Samples, as many as the full gear takes: others count for several.",
	 .needs = KNOW_SAMPLES,
	 .unit = UNIT_COUNT,
	 .offset = IN_PROCESS(samples)},
	{.name = "process_hurt",
	 .type = "gauge",
	 .help = "1 when one of them is hurt: it keeps somebody waiting.",
	 .needs = KNOW_ALWAYS,
	 .put = put_hurt},
	{.name = "process_verdict",
	 .type = "gauge",
	 .help = "1 for the most urgent verdict that is not healthy.",
	 .needs = KNOW_ALWAYS,
	 .put = put_verdict},
};

/* ns_offset: of the time of all threads in the last slice, in struct metrics_process. */
static void put_mean(FILE *out, const struct metrics_figures *f, const char *name, const char *help,
		     size_t ns_offset)
{
	metrics_put_family(out, name, "gauge", help);
	for (size_t i = 0; i < f->processes_cnt; i++) {
		const struct metrics_process *p = &f->processes[i];

		fprintf(out, "hotrun_%s{%s} ", name, p->labels);
		metrics_put_mean(out, *(const uint64_t *)((const char *)p + ns_offset),
				 f->slice_ns);
		putc('\n', out);
	}
}

/* --- requests, by port ----------------------------------------------------------------------- */

#define PORT_LABELS_BYTES (METRICS_LABELS_BYTES + 32)

static void put_results(FILE *out, const char *name, const char *labels,
			const struct metrics_port *port)
{
	fprintf(out, "hotrun_%s{%s,result=\"answered\"} %llu\n", name, labels,
		(unsigned long long)port->sum.served.answered);
	fprintf(out, "hotrun_%s{%s,result=\"abandoned\"} %llu\n", name, labels,
		(unsigned long long)port->sum.served.abandoned);
}

static void put_times(FILE *out, const char *name, const char *labels,
		      const struct metrics_port *port)
{
	put_histogram(out, name, labels, time_bounds, port->times, METRICS_TIME_BUCKETS,
		      port->sum.served.time_ns);
}

/* Told with each request and connection: of a quiet port it is not known. */
static void put_limit(FILE *out, const char *name, const char *labels,
		      const struct metrics_port *port)
{
	if (port->sum.backlog)
		fprintf(out, "hotrun_%s{%s} %llu\n", name, labels,
			(unsigned long long)port->sum.backlog);
}

#define IN_PORT(member) offsetof(struct metrics_port, sum.member)

static const struct port_family {
	const char *name, *type, *help;
	enum metrics_unit unit;
	size_t offset;
	void (*put)(FILE *out, const char *name, const char *labels,
		    const struct metrics_port *port);
} port_families[] = {
	{.name = "process_requests_total",
	 .type = "counter",
	 .help = "Requests that were answered, or whose connection ended before.",
	 .put = put_results},
	{.name = "process_requests_slow_total",
	 .type = "counter",
	 .help = "Requests answered after more than the threshold T.",
	 .offset = IN_PORT(served.slow)},
	{.name = "process_request_duration_seconds",
	 .type = "histogram",
	 .help = "Time to the first byte of the answer.",
	 .put = put_times},
	{.name = "process_requests_open",
	 .type = "gauge",
	 .help = "Requests without an answer.",
	 .offset = IN_PORT(open)},
	{.name = "process_requests_stuck",
	 .type = "gauge",
	 .help = "Requests without an answer for more than 10 s.",
	 .offset = IN_PORT(stuck)},
	{.name = "process_request_oldest_seconds",
	 .type = "gauge",
	 .help = "Age of the oldest request without an answer, 0 without any.",
	 .unit = UNIT_NS,
	 .offset = IN_PORT(oldest_ns)},
	{.name = "process_accept_queue_connections",
	 .type = "gauge",
	 .help = "Connections that wait to be accepted.",
	 .offset = IN_PORT(queued)},
	{.name = "process_accept_queue_limit_connections",
	 .type = "gauge",
	 .help = "How many may wait to be accepted; told while requests come.",
	 .put = put_limit},
	{.name = "process_connections_refused_total",
	 .type = "counter",
	 .help = "Connections that the listening socket refused.",
	 .offset = IN_PORT(served.refused)},
};

static void put_port(FILE *out, const struct port_family *family, const struct metrics_process *p,
		     const struct metrics_port *port)
{
	char labels[PORT_LABELS_BYTES];
	uint64_t value;

	if (port->port)
		snprintf(labels, sizeof(labels), "%s,port=\"%u\"", p->labels, port->port);
	else
		snprintf(labels, sizeof(labels), "%s,port=\"other\"", p->labels);
	if (family->put) {
		family->put(out, family->name, labels, port);
		return;
	}
	value = *(const uint64_t *)((const char *)port + family->offset);
	fprintf(out, "hotrun_%s{%s} ", family->name, labels);
	metrics_put_value(out, family->unit, value);
}

static void put_ports(FILE *out, const struct metrics_figures *f)
{
	for (size_t i = 0; i < sizeof(port_families) / sizeof(port_families[0]); i++) {
		const struct port_family *family = &port_families[i];

		metrics_put_family(out, family->name, family->type, family->help);
		for (size_t k = 0; k < f->processes_cnt; k++)
			for (uint32_t port = 0; port < METRICS_PORTS; port++)
				if (f->processes[k].ports[port].used)
					put_port(out, family, &f->processes[k],
						 &f->processes[k].ports[port]);
	}
}

void metrics_put_processes(FILE *out, const struct metrics_figures *f, uint32_t know)
{
	for (size_t i = 0; i < sizeof(process_families) / sizeof(process_families[0]); i++) {
		const struct process_family *family = &process_families[i];

		if ((family->needs & know) != family->needs)
			continue;
		metrics_put_family(out, family->name, family->type, family->help);
		for (size_t k = 0; k < f->processes_cnt; k++) {
			const struct metrics_process *p = &f->processes[k];

			if (family->put) {
				family->put(out, family->name, p);
				continue;
			}
			fprintf(out, "hotrun_%s{%s} ", family->name, p->labels);
			metrics_put_value(out, family->unit,
					  *(const uint64_t *)((const char *)p + family->offset));
		}
	}
	if (know & KNOW_CPU)
		put_mean(out, f, "process_running_threads",
			 "Mean number of running threads in the last slice.",
			 IN_PROCESS(sched.last.on_cpu_ns));
	if (know & KNOW_WAITS)
		put_mean(out, f, "process_waiting_threads",
			 "Mean number of runnable threads that waited for a CPU in the last slice.",
			 IN_PROCESS(sched.last.waited_ns));
	if (know & KNOW_REQUESTS)
		put_ports(out, f);
}
