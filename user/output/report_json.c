/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdicts for machines: ids, evidence, culprits. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "judge/verdicts.h"
#include "model/workload.h"
#include "output/left_out.h"
#include "output/report_internal.h"

#define FORMAT	       1
#define CULPRITS_SHOWN 5

static void put_text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\":", key);
	text_put_json(out, value, strlen(value));
}

/* With a dot, whatever the locale is; six digits behind it. */
static void put_value(FILE *out, const char *key, double value)
{
	double whole, rest;

	if (!isfinite(value) || value < 0 || value > 1e18) {
		fprintf(out, "\"%s\":null", key);
		return;
	}
	rest = modf(value, &whole);
	rest = floor(rest * 1e6 + 0.5);
	if (rest >= 1e6) {
		whole++;
		rest = 0;
	}
	fprintf(out, "\"%s\":%" PRIu64, key, (uint64_t)whole);
	if (rest > 0)
		fprintf(out, ".%06" PRIu64, (uint64_t)rest);
}

static void put_evidence(FILE *out, const struct verdict_result *result)
{
	fputs("\"evidence\":[", out);
	for (size_t i = 0; i < result->evidence_cnt; i++) {
		const struct verdict_evidence *e = &result->evidence[i];

		fprintf(out, "%s{", i ? "," : "");
		put_text(out, "figure", verdict_figure_id(e->figure));
		putc(',', out);
		put_value(out, "value", e->value);
		putc(',', out);
		put_value(out, "limit", e->limit);
		putc(',', out);
		put_text(out, "unit", verdict_figure_unit(e->figure));
		fprintf(out, ",\"bad\":%s}", e->bad ? "true" : "false");
	}
	putc(']', out);
}

static void put_verdict(FILE *out, const struct verdict_result *result)
{
	put_text(out, "verdict", verdict_id(result->verdict));
	fprintf(out, ",\"degraded\":%s,", result->degraded ? "true" : "false");
	put_evidence(out, result);
	putc(',', out);
	put_text(out, "remedy", verdict_remedy(result->verdict));
}

/* Seconds since the recording's start in which it was degraded: the longest run, and the worst. */
static void put_when(const struct report *r, const struct verdict_row *row)
{
	const struct model_slice *slices = r->m->slices;

	fprintf(r->out, ",\"degraded_slices\":%" PRIu32 ",\"slices\":%" PRIu32,
		row->degraded_slices, r->verdicts->slices);
	if (row->first == MODEL_NONE)
		return;
	putc(',', r->out);
	put_value(r->out, "from_s", (double)report_since_ns(r, slices[row->first].start_ns) / 1e9);
	putc(',', r->out);
	put_value(r->out, "to_s", (double)report_since_ns(r, slices[row->last].end_ns) / 1e9);
	putc(',', r->out);
	put_value(r->out, "worst_s", (double)report_since_ns(r, slices[row->worst].start_ns) / 1e9);
}

static void put_who(FILE *out, const struct model_process *p)
{
	fprintf(out, "\"pid\":%" PRIu32 ",", p->tgid);
	put_text(out, "name", p->name[0] ? p->name : p->comm);
}

/* 0 or -ENOMEM. */
static int put_culprits(const struct report *r, uint32_t process)
{
	_cleanup_(contention_list_clear) struct contention_list list = {0};
	int err = contention_aggressors(r->contention, r->m, process, &list);
	bool first = true;

	if (err)
		return err;
	fputs(",\"waited_behind\":[", r->out);
	for (size_t i = 0; i < list.rows_cnt && i < CULPRITS_SHOWN; i++) {
		if (list.rows[i].process == MODEL_NONE)
			continue;
		fputs(first ? "{" : ",{", r->out);
		put_who(r->out, &r->m->processes[list.rows[i].process]);
		putc(',', r->out);
		put_value(r->out, "share", (double)list.rows[i].weight / (double)list.weight);
		putc('}', r->out);
		first = false;
	}
	putc(']', r->out);
	return 0;
}

/* Its container and pod; "" where not known. */
static void put_identity(FILE *out, const struct model_process *p)
{
	const char *const texts[][2] = {
		{"container", p->container},
		{"container_id", p->container_id},
		{"container_name", p->container_name},
		{"runtime", p->runtime},
		{"pod", p->pod},
		{"pod_uid", p->pod_uid},
		{"namespace", p->namespace},
		{"qos", p->qos},
	};
	char workload[WORKLOAD_BYTES];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_text(out, texts[i][0], texts[i][1]);
		putc(',', out);
	}
	workload_of(p, workload);
	put_text(out, "workload", workload);
	putc(',', out);
}

/* Names that are not there for what they would have cost; most processes have none of these. */
static void put_left_out(const struct report *r, const struct model_process *p)
{
	if (!left_out_any(r->m, p))
		return;
	for (unsigned i = 0; i < METRICS_LEFT_OUT_CNT; i++)
		fprintf(r->out, ",\"%s\":%" PRIu64, left_out_row(i)->json,
			left_out_row(i)->of(r->m, p));
}

static int put_process_row(const struct report *r, const struct verdict_row *row)
{
	const struct model_process *p = &r->m->processes[row->process];
	const struct verdict_input *in = verdicts_input(row);
	int err = 0;

	putc('{', r->out);
	put_who(r->out, p);
	putc(',', r->out);
	put_text(r->out, "unit", p->unit);
	putc(',', r->out);
	put_identity(r->out, p);
	put_verdict(r->out, verdicts_result(row));
	fprintf(r->out, ",\"passing\":%s", row->episode ? "true" : "false");
	put_when(r, row);
	putc(',', r->out);
	put_value(r->out, "running", in->running);
	putc(',', r->out);
	put_value(r->out, "waiting", in->waiting);
	putc(',', r->out);
	put_value(r->out, "cpus_available", in->cpus_available);
	fprintf(r->out, ",\"requests\":%" PRIu64 ",\"stuck\":%" PRIu64, in->requests, in->stuck);
	put_left_out(r, p);
	if (row->unmeasured) {
		putc(',', r->out);
		put_text(r->out, "no_service_signal", row->unmeasured);
	}
	if (row->blur) {
		putc(',', r->out);
		put_text(r->out, "blur", row->blur);
	}
	if (verdicts_result(row)->verdict == VERDICT_STARVED)
		err = put_culprits(r, row->process);
	putc('}', r->out);
	return err;
}

/* One process stands for those of its name. */
static void put_culprit(const struct report *r, const char *key, const struct group_row *row,
			const char *figure, uint64_t ns)
{
	fprintf(r->out, ",\"%s\":{", key);
	put_who(r->out, &r->m->processes[row->process]);
	fprintf(r->out, ",\"processes\":%" PRIu32 ",", row->cnt);
	put_value(r->out, figure, sched_mean(ns, r->sched->elapsed_ns));
	putc('}', r->out);
}

/* Who takes most of an overloaded host. */
static void put_saturation(const struct report *r)
{
	const struct group_row *cpu = report_most_cpu(r), *threads = report_most_runnable(r);

	if (!cpu || !threads)
		return;
	put_culprit(r, "most_cpu", cpu, "running", cpu->sched.on_cpu_ns);
	put_culprit(r, "most_runnable", threads, "runnable",
		    threads->sched.on_cpu_ns + threads->sched.waited_ns);
}

int report_verdicts_json(const struct report *r)
{
	const struct verdicts *v = r->verdicts;
	int err = 0;

	fprintf(r->out, "{\"format\":%d,\n\"host\":{", FORMAT);
	put_text(r->out, "name", r->m->host.name);
	putc(',', r->out);
	put_verdict(r->out, &v->host.result);
	if (v->missing) {
		putc(',', r->out);
		put_text(r->out, "missing", v->missing);
	}
	put_when(r, &v->host);
	fprintf(r->out, ",\"judged\":%" PRIu32 ",\"hurt\":%" PRIu32 ",\"hurt_services\":%" PRIu32,
		v->judged, v->degraded, v->degraded_services);
	if (v->host.result.verdict == VERDICT_HOST_OVERLOADED)
		put_saturation(r);
	fputs("},\n\"processes\":[", r->out);
	for (size_t i = 0; !err && i < v->rows_cnt; i++) {
		fputs(i ? ",\n" : "\n", r->out);
		err = put_process_row(r, &v->rows[i]);
	}
	fputs("]}\n", r->out);
	return err;
}
