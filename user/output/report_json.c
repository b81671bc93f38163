/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdicts for machines: of the host, and of each process that served or used CPU. */
#include <errno.h>

#include "base/cleanup.h"
#include "judge/verdicts.h"
#include "model/followed.h"
#include "model/workload.h"
#include "output/hang_words.h"
#include "output/json.h"
#include "output/left_out.h"
#include "output/report_internal.h"

#define CULPRITS_SHOWN 5

#define PROCESS(member) FIELD_OF(process, struct model_process, member)
#define ROW(member)	FIELD(struct verdict_row, member)
/* What the verdict was made from; of its longest run where it is of an episode. */
#define INJSON_FIGURES(member) FIELD_OF(of, struct verdict_input, member)

static struct value name(const struct subject *s)
{
	return value_text(s->process->name[0] ? s->process->name : s->process->comm);
}

static struct value available(const struct subject *s)
{
	const struct verdict_input *in = s->of;

	return in->cpus_available > 0 ? value_real(in->cpus_available)
				      : (struct value){.kind = VALUE_UNKNOWN};
}

/* Null: it is not known, or requests were measured, which tells more. */
static struct value listens(const struct subject *s)
{
	if (s->process->flags & PROCESS_LISTENS)
		return value_flag(true);
	return s->process->flags & PROCESS_SOCKETS ? value_flag(false)
						   : (struct value){.kind = VALUE_UNKNOWN};
}

static struct value seen(const struct subject *s)
{
	const struct verdict_input *in = s->of;

	return value_count(in->requests > in->unseen ? in->requests - in->unseen : 0);
}

static struct value slow(const struct subject *s)
{
	const struct verdict_input *in = s->of;

	return in->requests ? value_real(in->slow_share) : (struct value){.kind = VALUE_UNKNOWN};
}

static struct value slow_least(const struct subject *s)
{
	const struct verdict_input *in = s->of;

	return in->requests ? value_real(in->slow_share - in->slow_below)
			    : (struct value){.kind = VALUE_UNKNOWN};
}

static const struct figure who[] = {
	{"pid", PROCESS(tgid)},
	{"name", .value = name},
};

static const struct figure identity[] = {
	{"unit", PROCESS(unit)},
	{"container", PROCESS(container)},
	{"container_id", PROCESS(container_id)},
	{"container_name", PROCESS(container_name)},
	{"runtime", PROCESS(runtime)},
	{"pod", PROCESS(pod)},
	{"pod_uid", PROCESS(pod_uid)},
	{"namespace", PROCESS(namespace)},
	{"qos", PROCESS(qos)},
};

static const struct figure measured[] = {
	{"running_threads", INJSON_FIGURES(running)},
	{"waiting_threads", INJSON_FIGURES(waiting)},
	{"throttled_threads", INJSON_FIGURES(throttled)},
	{"available_cpus", .value = available},
	{"requests", INJSON_FIGURES(requests)},
	{"requests_seen", .value = seen},
	{"slow_share", .value = slow},
	{"slow_share_least", .value = slow_least},
	{"stuck_requests", INJSON_FIGURES(stuck)},
	{"listens", .value = listens},
	{"no_service_signal", ROW(unmeasured)},
	{"blur", ROW(blur)},
};

static void put_verdict(struct json *j, const struct verdict_result *result)
{
	json_text(j, "verdict", verdict_id(result->verdict));
	json_flag(j, "hurt", result->hurt);
	json_array(j, "evidence");
	for (size_t i = 0; i < result->evidence_cnt; i++) {
		const struct verdict_evidence *e = &result->evidence[i];

		json_object(j, NULL);
		json_text(j, "figure", verdict_figure_id(e->figure));
		json_real(j, "value", e->value);
		json_real(j, "limit", e->limit);
		json_text(j, "unit", verdict_figure_unit(e->figure));
		json_flag(j, "bad", e->bad);
		json_end(j);
	}
	json_end(j);
	json_text(j, "remedy", verdict_result_remedy(result));
}

static void put_second(struct json *j, const struct report *r, const char *key, uint32_t slice,
		       bool end)
{
	const struct model_slice *slices = r->m->slices;

	if (slice == MODEL_NONE)
		json_null(j, key);
	else
		json_real(j, key,
			  (double)report_since_ns(r, end ? slices[slice].end_ns
							 : slices[slice].start_ns) /
				  1e9);
}

/* Seconds since the recording's start in which it was hurt: the longest run, and the worst. */
static void put_when(struct json *j, const struct report *r, const struct verdict_row *row)
{
	json_count(j, "hurt_slices", row->hurt_slices);
	json_count(j, "slices", r->verdicts->slices);
	put_second(j, r, "from_s", row->first, false);
	put_second(j, r, "to_s", row->last, true);
	put_second(j, r, "worst_s", row->worst, false);
}

/* 0 or -ENOMEM. */
static int put_culprits(struct json *j, const struct report *r, uint32_t process)
{
	_cleanup_(contention_list_clear) struct contention_list list = {0};
	int err = contention_aggressors(r->contention, r->m, process, &list);

	if (err)
		return err;
	json_array(j, "waited_behind");
	for (size_t i = 0; i < list.rows_cnt && i < CULPRITS_SHOWN; i++) {
		struct subject s = {.m = r->m};

		if (list.rows[i].process == MODEL_NONE)
			continue;
		s.process = &r->m->processes[list.rows[i].process];
		json_object(j, NULL);
		JSON_FIGURES(j, who, &s);
		json_real(j, "share", (double)list.rows[i].weight / (double)list.weight);
		json_end(j);
	}
	json_end(j);
	return 0;
}

static int put_process_row(struct json *j, const struct report *r, const struct verdict_row *row)
{
	struct subject s = {
		.m = r->m,
		.process = &r->m->processes[row->process],
		.item = row,
		.of = verdicts_input(row),
	};
	char workload[WORKLOAD_BYTES];
	struct hang hang;
	int err = 0;

	json_object(j, NULL);
	JSON_FIGURES(j, who, &s);
	JSON_FIGURES(j, identity, &s);
	workload_of(s.process, workload);
	json_text(j, "workload", workload);
	put_verdict(j, verdicts_result(row));
	json_flag(j, "at_limit", verdicts_result(row)->at_limit);
	json_flag(j, "passing", row->episode);
	put_when(j, r, row);
	JSON_FIGURES(j, measured, &s);
	for (unsigned int i = 0; i < METRICS_LEFT_OUT_CNT; i++)
		json_count(j, left_out_row(i)->json, left_out_row(i)->of(r->m, s.process));
	if (verdicts_result(row)->cause == FIGURE_BEHIND_OTHERS)
		err = put_culprits(j, r, row->process);
	else
		json_null(j, "waited_behind");
	hang_json(j, "hang", r->m,
		  verdicts_result(row)->verdict == VERDICT_INELASTIC &&
				  report_hang(r, row->process, &hang)
			  ? &hang
			  : NULL);
	json_end(j);
	return err;
}

/* One process stands for those of its name. row: NULL = nobody. */
static void put_culprit(struct json *j, const struct report *r, const char *key,
			const struct group_row *row, const char *figure, uint64_t ns)
{
	struct subject s = {.m = r->m};

	if (!row) {
		json_null(j, key);
		return;
	}
	s.process = &r->m->processes[row->process];
	json_object(j, key);
	JSON_FIGURES(j, who, &s);
	json_count(j, "processes", row->cnt);
	json_real(j, figure, sched_mean(ns, r->sched->elapsed_ns));
	json_end(j);
}

/* Who takes most of an overloaded host. */
static void put_saturation(struct json *j, const struct report *r)
{
	bool overloaded = r->verdicts->host.result.verdict == VERDICT_HOST_OVERLOADED;
	const struct group_row *cpu = overloaded ? report_most_cpu(r) : NULL;
	const struct group_row *threads = overloaded ? report_most_runnable(r) : NULL;

	put_culprit(j, r, "most_cpu", cpu, "running_threads", cpu ? cpu->sched.on_cpu_ns : 0);
	put_culprit(j, r, "most_runnable", threads, "runnable_threads",
		    threads ? threads->sched.on_cpu_ns + threads->sched.waited_ns : 0);
}

/* What hotrun could do on that host. */
static void put_features(struct json *j, const struct model *m)
{
	json_array(j, "features");
	for (size_t i = 0; i < m->features_cnt; i++) {
		const struct model_feature *f = &m->features[i];
		enum feature known = feature_of_id(f->name);
		bool off = feature_is_off(f->status) && known < FEATURE_CNT;

		json_object(j, NULL);
		json_text(j, "id", f->name);
		json_text(j, "status", feature_status_id(f->status));
		json_text(j, "why", feature_is_off(f->status) ? f->why : NULL);
		json_text(j, "lost", off ? feature_rows[known].lost : NULL);
		json_text(j, "remedy", off ? feature_remedy(known, f->status) : NULL);
		json_end(j);
	}
	json_end(j);
}

/* Of what the figures are told: of the full gear or the quiet one, of all requests or some. */
static void put_seen(struct json *j, const struct report *r)
{
	struct followed followed;

	json_real(j, "full_gear_share",
		  model_off(r->m) & OFF_SWITCHES ? 0 : model_full_share(r->m));
	followed_of(r->m, &followed);
	json_count(j, "one_followed_of", followed.one_of);
	json_real(j, "counts_error_share", followed.error);
	json_real(j, "sockets_age_s", (double)followed.sockets_age_ns / 1e9);
}

int report_verdicts_json(const struct report *r)
{
	const struct verdicts *v = r->verdicts;
	size_t most = r->json_rows;
	struct json j;
	int err = 0;

	json_begin(&j, r->out, "report");
	json_object(&j, "host");
	json_text(&j, "name", r->m->host.name);
	put_verdict(&j, &v->host.result);
	json_text(&j, "missing", v->missing);
	put_when(&j, r, &v->host);
	json_count(&j, "judged_processes", v->judged);
	json_count(&j, "hurt_processes", v->hurt);
	json_count(&j, "hurt_services", v->hurt_services);
	json_count(&j, "contended_processes", v->contended);
	json_count(&j, "unknown_processes", v->unknown);
	json_count(&j, "at_limit_processes", v->at_limit);
	json_text(&j, "requests_off", model_requests_why(r->m));
	put_seen(&j, r);
	put_saturation(&j, r);
	json_end(&j);
	put_features(&j, r->m);
	json_array(&j, "processes");
	for (size_t i = 0; !err && i < v->rows_cnt && (!most || i < most); i++)
		err = put_process_row(&j, r, &v->rows[i]);
	json_end(&j);
	return err ? err : json_finish(&j);
}
