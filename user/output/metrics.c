/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/metrics.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "output/left_out.h"
#include "output/metrics_write.h"

/* --- labels ---------------------------------------------------------------------------------- */

/* The beginning, "…", the end: what is cut is the middle. */
static void put_value(char buf[static METRICS_LABEL_BYTES + 1], const char *s)
{
	static const char dots[] = "\xe2\x80\xa6";
	const size_t half = METRICS_LABEL_BYTES / 2;
	size_t len = strnlen(s, MODEL_MAX_STRING), head, tail;

	if (text_copy_utf8(buf, METRICS_LABEL_BYTES + 1, s, len) == len)
		return;
	text_copy_utf8(buf, half + 1, s, len);
	head = strlen(buf);
	memcpy(buf + head, dots, sizeof(dots));
	head += strlen(dots);
	/* What becomes U+FFFD grows: so much of the end as there is room for. */
	tail = len > half ? len - half : 0;
	do {
		tail++;
		while (tail < len && ((unsigned char)s[tail] & 0xc0) == 0x80)
			tail++;
	} while (text_copy_utf8(buf + head, METRICS_LABEL_BYTES + 1 - head, s + tail, len - tail) <
		 len - tail);
}

/* Within quotes only these have to be escaped; line ends are none of a label any more. */
static size_t put_escaped(char *buf, const char *s)
{
	size_t n = 0;

	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			buf[n++] = '\\';
		buf[n++] = *s;
	}
	buf[n] = '\0';
	return n;
}

size_t metrics_labels(char buf[static METRICS_LABELS_BYTES], const struct metrics_names *names)
{
	const struct {
		const char *name, *value;
	} rows[] = {
		{"process", names->process},	 {"unit", names->unit},
		{"namespace", names->namespace}, {"pod", names->pod},
		{"container", names->container},
	};
	char value[METRICS_LABEL_BYTES + 1];
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i && !rows[i].value[0])
			continue;
		put_value(value, rows[i].value);
		n += (size_t)sprintf(buf + n, "%s%s=\"", n ? "," : "", rows[i].name);
		n += put_escaped(buf + n, value);
		buf[n++] = '"';
		buf[n] = '\0';
	}
	return n;
}

/* Of any other text of hotrun's own or of the kernel. */
static void put_label(FILE *out, const char *s)
{
	char value[2 * METRICS_LABEL_BYTES + 1], escaped[4 * METRICS_LABEL_BYTES + 1];

	text_copy_utf8(value, sizeof(value), s, strlen(s));
	put_escaped(escaped, value);
	fputs(escaped, out);
}

/* --- the host -------------------------------------------------------------------------------- */

/* What a family needs to be known; bits. */
static uint32_t known(const struct metrics_figures *f, const struct metrics_own *own)
{
	uint32_t bits = KNOW_ALWAYS;

	if (!own->ready)
		return bits;
	if (own->samples)
		bits |= KNOW_SAMPLES;
	if (!(f->off & (OFF_ACCOUNTS | OFF_SWITCHES)))
		bits |= KNOW_SWITCHES | KNOW_CPU | KNOW_WAITS;
	if (f->off & OFF_SWITCHES && !feature_is_off(own->features.status[FEATURE_COUNTERS]))
		bits |= KNOW_CPU | (f->off & OFF_ACCOUNTS ? 0 : KNOW_WAITS);
	if (own->requests && !(f->off & OFF_REQUESTS))
		bits |= KNOW_REQUESTS;
	if (!(f->off & OFF_GROUPS))
		bits |= KNOW_GROUPS;
	if (!(f->off & OFF_PRESSURE))
		bits |= KNOW_PRESSURE;
	if (!(f->off & OFF_QUEUES))
		bits |= KNOW_QUEUES;
	if (!(f->off & OFF_OWN))
		bits |= KNOW_OWN;
	if (!(f->off & OFF_LIMITS))
		bits |= KNOW_LIMITS;
	return bits;
}

static void single(FILE *out, const char *name, const char *type, const char *help,
		   enum metrics_unit unit, uint64_t value)
{
	metrics_put_family(out, name, type, help);
	fprintf(out, "hotrun_%s ", name);
	metrics_put_value(out, unit, value);
}

static void put_cpu(FILE *out, const struct metrics_host *h)
{
	const struct {
		const char *mode;
		uint64_t ns;
	} modes[] = {
		{"busy", h->busy_ns}, {"idle", h->idle_ns}, {"unaccounted", h->unaccounted_ns}};

	metrics_put_family(
		out, "host_cpu_seconds_total", "counter",
		"CPU time of all CPUs; unaccounted ran in threads without an account. To a "
		"clock tick while switches are off.");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		fprintf(out, "hotrun_host_cpu_seconds_total{mode=\"%s\"} ", modes[i].mode);
		metrics_put_value(out, UNIT_NS, modes[i].ns);
	}
	single(out, "host_steal_seconds_total", "counter",
	       "CPU time that the hypervisor took; a part of the others.", UNIT_NS, h->steal_ns);
}

static void put_host(FILE *out, const struct metrics_figures *f, uint32_t bits)
{
	const struct metrics_host *h = &f->host;

	single(out, "host_cpus", "gauge", "CPUs on line.", UNIT_COUNT, h->cpus);
	if (bits & KNOW_PRESSURE)
		single(out, "host_pressure_seconds_total", "counter",
		       "Time in which somebody waited for a CPU (PSI some).", UNIT_NS,
		       h->pressure_ns);
	if (bits & KNOW_CPU) {
		put_cpu(out, h);
		metrics_put_family(out, "host_running_threads", "gauge",
				   "Mean number of running threads in the last slice.");
		fputs("hotrun_host_running_threads ", out);
		metrics_put_mean(out, h->sched.last.on_cpu_ns, f->slice_ns);
		putc('\n', out);
	}
	if (bits & KNOW_WAITS) {
		metrics_put_family(out, "host_waiting_threads", "gauge",
				   "Mean number of runnable threads that waited for a CPU in the "
				   "last slice.");
		fputs("hotrun_host_waiting_threads ", out);
		metrics_put_mean(out, h->sched.last.waited_ns, f->slice_ns);
		putc('\n', out);
		single(out, "host_switches_total", "counter", "Context switches of threads.",
		       UNIT_COUNT, h->sched.sum.voluntary + h->sched.sum.involuntary);
	}
	if (bits & KNOW_SWITCHES) {
		metrics_put_family(out, "host_run_delay_seconds", "histogram",
				   "How long threads waited for a CPU, each time.");
		metrics_put_delays(out, "host_run_delay_seconds", "", &h->sched);
	}
	if (bits & KNOW_REQUESTS) {
		metrics_put_family(out, "host_followed_connections_ratio", "gauge",
				   "Share of the connections whose requests are followed, at "
				   "the ports where fewest are; they stand for all there.");
		fputs("hotrun_host_followed_connections_ratio ", out);
		metrics_put_mean(out, 1, f->one_followed_of ?: 1);
		putc('\n', out);
		single(out, "host_sockets_age_seconds", "gauge",
		       "How old the look at sockets is that tells what is unanswered or queued.",
		       UNIT_NS, f->sockets_age_ns);
	}
	if (!h->state.judged)
		return;
	metrics_put_family(out, "host_verdict", "gauge", "1 for the verdict of the host.");
	fprintf(out, "hotrun_host_verdict{verdict=\"%s\"} 1\n", verdict_id(h->state.verdict));
	single(out, "host_judged_processes", "gauge", "Processes that were judged.", UNIT_COUNT,
	       h->judged);
	single(out, "host_hurt_processes", "gauge", "Processes that are hurt.", UNIT_COUNT,
	       h->hurt);
}

/* --- hotrun itself --------------------------------------------------------------------------- */

static bool works(const struct feature_set *set, enum feature f, bool is_seen)
{
	/* Low-overhead mode does not see switches, by design: hotrun_full_gear says so. */
	if (f == FEATURE_FULL_MODE && set->status[f] != FEATURE_UNUSED)
		return feature_is_on(set, f);
	return is_seen && !feature_is_off(set->status[f]);
}

/* Those of the table that nobody asked for have no line: 0 is always a reason to look. */
static void put_features(FILE *out, const struct feature_set *set, uint32_t bits)
{
	static const uint32_t seen[FEATURE_CNT] = {
		[FEATURE_SAMPLES] = KNOW_SAMPLES,   [FEATURE_FULL_MODE] = KNOW_SWITCHES,
		[FEATURE_REQUESTS] = KNOW_REQUESTS, [FEATURE_CGROUPS] = KNOW_GROUPS,
		[FEATURE_RUN_QUEUES] = KNOW_QUEUES,
	};
	static const struct {
		const char *id;
		uint32_t needs;
	} others[] = {
		{"pressure", KNOW_PRESSURE},
		{"own-waits", KNOW_OWN},
		{"limits", KNOW_LIMITS},
	};

	metrics_put_family(out, "feature_enabled", "gauge",
			   "1: on. 0: off because of the kernel, missing rights, an option or the "
			   "budget; its figures have no lines. The log and hotrun watch --status "
			   "give the reason.");
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (seen[f] || set->status[f] != FEATURE_UNUSED)
			fprintf(out, "hotrun_feature_enabled{feature=\"%s\"} %d\n",
				feature_rows[f].id, works(set, f, !seen[f] || bits & seen[f]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		fprintf(out, "hotrun_feature_enabled{feature=\"%s\"} %d\n", others[i].id,
			(bits & others[i].needs) != 0);
}

static void put_losses(FILE *out, const struct metrics_figures *f)
{
	metrics_put_family(out, "losses_total", "counter", "What was not seen or kept, by cause.");
	for (uint32_t i = 0; i < LOSS_CAUSE_CNT; i++) {
		/* Numbers between those of the kernel side and the user side are free. */
		if (i >= LOSS_ARRIVAL_UNSEEN + 1 && i < LOSS_KERNEL_CNT)
			continue;
		fprintf(out, "hotrun_losses_total{cause=\"%s\"} %llu\n", model_loss_id(i),
			(unsigned long long)f->losses[i]);
	}
}

static void put_ready(FILE *out, const struct metrics_own *own)
{
	single(out, "ready", "gauge", "1 when it observes this host.", UNIT_COUNT, own->ready);
	if (own->ready)
		return;
	metrics_put_family(out, "not_ready", "gauge", "1 with the reason, while it is not ready.");
	fputs("hotrun_not_ready{reason=\"", out);
	put_label(out, own->why);
	fputs("\"} 1\n", out);
}

static void put_cost(FILE *out, const struct metrics_own *own)
{
	metrics_put_family(out, "budget_ratio", "gauge",
			   "Share of the CPUs of this host that it may cost.");
	fputs("hotrun_budget_ratio ", out);
	metrics_put_mean(out, own->budget > 0 ? (uint64_t)(own->budget * 1e9 + 0.5) : 0,
			 1000000000);
	putc('\n', out);
	single(out, "governor_level", "gauge",
	       "0: nothing is given up; 1, 2: sample rate; 3: connections followed; 4: full gear.",
	       UNIT_COUNT, own->level);
	single(out, "full_gear", "gauge",
	       "1: each context switch is seen; 0: what the kernel counts is read.", UNIT_COUNT,
	       !own->quiet);
	single(out, "sample_rate_hertz", "gauge", "Samples a second and CPU asked for.", UNIT_COUNT,
	       own->sample_hz);
	single(out, "cpu_seconds_total", "counter", "CPU time of hotrun and its children.", UNIT_NS,
	       own->cpu_ns);
	single(out, "http_cpu_seconds_total", "counter",
	       "CPU time of it that answering over HTTP took: no cost of observing, and not "
	       "counted "
	       "against the budget.",
	       UNIT_NS, own->http_cpu_ns);
	if (own->bpf_ns)
		single(out, "bpf_seconds_total", "counter",
		       "CPU time of its BPF programs, estimated: runs x measured cost.", UNIT_NS,
		       own->bpf_ns);
	single(out, "resident_memory_bytes", "gauge", "Resident memory.", UNIT_COUNT,
	       own->rss_bytes);
	if (own->map_bytes)
		single(out, "map_memory_bytes", "gauge", "Memory of its BPF maps.", UNIT_COUNT,
		       own->map_bytes);
	single(out, "ring_seconds", "gauge", "How much of the past is in memory.", UNIT_NS,
	       own->ring_ns);
	single(out, "ring_bytes", "gauge", "Memory of the past.", UNIT_COUNT, own->ring_bytes);
}

/* Families without a line are left out: of most hosts there is nothing to be told. */
static void put_left_out(FILE *out, const struct metrics_own *own, unsigned what)
{
	const struct left_out *row = left_out_row(what);
	bool any = false;

	for (uint32_t i = 0; i < own->costly_cnt; i++) {
		if (!own->costly[i].left_out[what])
			continue;
		if (!any)
			metrics_put_family(out, row->metric, "gauge", row->metric_help);
		any = true;
		fprintf(out, "hotrun_%s{process=\"", row->metric);
		put_label(out, own->costly[i].process);
		fputs("\"} ", out);
		metrics_put_value(out, row->unit, own->costly[i].left_out[what]);
	}
}

static void put_naming(FILE *out, const struct metrics_own *own)
{
	single(out, "naming_cpu_seconds_total", "counter",
	       "CPU time of the processes that open and read files and perf maps of others for "
	       "their names: each user and container has a share of its own; the budget counts "
	       "what is beyond the first second of each.",
	       UNIT_NS, own->naming_cpu_ns);
	single(out, "naming_resident_memory_bytes", "gauge", "Resident memory of these processes.",
	       UNIT_COUNT, own->naming_rss_bytes);
	single(out, "naming_table_bytes", "gauge", "Memory of symbols and entries of perf maps.",
	       UNIT_COUNT, own->naming_table_bytes);
	single(out, "naming_jobs_killed_total", "counter",
	       "Files and parts of perf maps that took more work or time than they may.",
	       UNIT_COUNT, own->naming_killed);
	for (unsigned what = 0; what < METRICS_LEFT_OUT_CNT; what++)
		put_left_out(out, own, what);
}

static void put_http(FILE *out, const struct metrics_own *own)
{
	const struct {
		const char *result;
		uint64_t cnt;
	} rows[] = {
		{"answered", own->http_answered},
		{"refused", own->http_refused},
		{"late", own->http_late},
		{"displaced", own->http_displaced},
	};

	metrics_put_family(
		out, "http_connections_total", "counter",
		"Connections to this page, by what became of them: refused (429) when "
		"too many wait, late when the request did not come or the answer was not "
		"read in time, displaced when another one needed the place.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "hotrun_http_connections_total{result=\"%s\"} %llu\n", rows[i].result,
			(unsigned long long)rows[i].cnt);
}

static void put_captures(FILE *out, const struct metrics_own *own)
{
	single(out, "captures_kept", "gauge", "Captures in the folder.", UNIT_COUNT, own->captures);
	single(out, "captures_kept_bytes", "gauge", "Of them, with their reports and pages.",
	       UNIT_COUNT, own->capture_bytes);
	metrics_put_family(out, "captures_total", "counter",
			   "Captures written, by what asked for them.");
	fprintf(out, "hotrun_captures_total{by=\"trigger\"} %llu\n",
		(unsigned long long)own->triggered);
	fprintf(out, "hotrun_captures_total{by=\"rotation\"} %llu\n",
		(unsigned long long)own->rotated);
	fprintf(out, "hotrun_captures_total{by=\"auto\"} %llu\n",
		(unsigned long long)own->automatic);
	metrics_put_family(out, "captures_not_taken_total", "counter",
			   "Processes (or the host) that were hurt for long enough without a "
			   "capture being taken, by why not.");
	for (uint32_t i = 0; i < own->refusals_cnt; i++)
		fprintf(out, "hotrun_captures_not_taken_total{reason=\"%s\"} %llu\n",
			own->refusals[i].reason, (unsigned long long)own->refusals[i].cnt);
	single(out, "suspects", "gauge",
	       "Processes that were hurt in the last seconds, the host itself among them.",
	       UNIT_COUNT, own->suspects);
	single(out, "captures_failed_total", "counter", "Captures that could not be written.",
	       UNIT_COUNT, own->failed);
	single(out, "captures_removed_total", "counter", "Captures that retention removed.",
	       UNIT_COUNT, own->removed);
	if (own->trigger_s > 0)
		single(out, "last_trigger_timestamp_seconds", "gauge",
		       "Unix time of the last capture that was asked for.", UNIT_COUNT,
		       (uint64_t)own->trigger_s);
}

static void put_own(FILE *out, const struct metrics_figures *f, const struct metrics_own *own,
		    uint32_t bits)
{
	metrics_put_family(out, "build_info", "gauge", "1 with the version.");
	fputs("hotrun_build_info{version=\"" HOTRUN_VERSION "\"} 1\n", out);
	put_ready(out, own);
	single(out, "uptime_seconds", "gauge", "Since it started.", UNIT_NS, own->uptime_ns);
	put_features(out, &own->features, bits);
	put_cost(out, own);
	put_naming(out, own);
	put_http(out, own);
	put_captures(out, own);
	put_losses(out, f);
	single(out, "slices_total", "counter", "Slices of about a second that were counted.",
	       UNIT_COUNT, f->slices);
	single(out, "observed_seconds_total", "counter",
	       "Time that they cover: the rest of the uptime nobody looked, as while it starts or "
	       "changes what it looks at.",
	       UNIT_NS, f->observed_ns);
	single(out, "model_renewals_total", "counter",
	       "How often its memory had grown and it began anew.", UNIT_COUNT, own->renewals);
	metrics_put_family(out, "reloads_total", "counter", "Configurations read again.");
	fprintf(out, "hotrun_reloads_total{result=\"taken\"} %llu\n",
		(unsigned long long)own->reloads);
	fprintf(out, "hotrun_reloads_total{result=\"refused\"} %llu\n",
		(unsigned long long)own->reloads_refused);
	if (!f->slices)
		return;
	single(out, "process_series", "gauge", "Processes that have series of their own.",
	       UNIT_COUNT, f->processes_cnt ? f->processes_cnt - 1 : 0);
	single(out, "process_series_limit", "gauge", "How many may have.", UNIT_COUNT,
	       f->processes_max);
}

int metrics_write(FILE *out, const struct metrics_figures *figures, const struct metrics_own *own)
{
	uint32_t bits = known(figures, own);

	put_own(out, figures, own, bits);
	/* What was seen last is old. */
	if (figures->slices && own->ready) {
		put_host(out, figures, bits);
		metrics_put_processes(out, figures, bits);
	}
	return fflush(out) || ferror(out) ? -EIO : 0;
}
