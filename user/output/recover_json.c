/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "output/json.h"
#include "output/recover.h"

static void put_known(struct json *j, const struct left_other *other)
{
	char state[2] = {other->state, '\0'};

	json_count(j, "pid", other->tgid);
	json_text(j, "comm", other->comm);
	json_text(j, "state", state);
}

static void put_other(struct json *j, const char *key, const struct left_other *other)
{
	if (!other->tgid) {
		json_null(j, key);
		return;
	}
	json_object(j, key);
	put_known(j, other);
	json_end(j);
}

static void put_tracers(struct json *j, const struct left_process *p)
{
	json_array(j, "tracers");
	for (uint32_t i = 0; i < p->tracers_cnt; i++) {
		const struct left_tracer *tracer = &p->tracers[i];

		json_object(j, NULL);
		if (tracer->who.tgid) {
			put_known(j, &tracer->who);
		} else {
			json_null(j, "pid");
			json_null(j, "comm");
			json_null(j, "state");
		}
		json_flag(j, "parent", recover_is_parent(p, tracer));
		json_count(j, "threads_held", tracer->held_cnt);
		json_end(j);
	}
	json_end(j);
	json_flag(j, "tracers_complete", !p->tracers_cut);
}

static void put_findings(struct json *j, const char *key, const struct left_process *p,
			 struct recover_finding *findings)
{
	size_t cnt = recover_judge(p, findings);

	json_array(j, key);
	for (size_t i = 0; i < cnt; i++) {
		const struct recover_finding *f = &findings[i];

		json_object(j, NULL);
		json_text(j, "id", f->id);
		json_text(j, "level", recover_level_text(f->level));
		json_text(j, "text", f->text);
		json_text(j, "act", recover_act_id(f->act));
		json_array(j, "steps");
		for (size_t k = 0; k < f->steps_cnt; k++)
			json_text(j, NULL, f->steps[k]);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void put_acts(struct json *j, const struct recover_row *row)
{
	json_array(j, "acts");
	for (size_t i = 0; i < row->done_cnt; i++) {
		json_object(j, NULL);
		json_text(j, "act", recover_act_id(row->done[i].act));
		if (row->done[i].tracer)
			json_count(j, "tracer_pid", row->done[i].tracer);
		else
			json_null(j, "tracer_pid");
		json_flag(j, "ok", row->done[i].ok);
		json_flag(j, "in_vain", row->done[i].in_vain);
		json_text(j, "text", row->done[i].text);
		json_end(j);
	}
	json_end(j);
}

static void put_process(struct json *j, const struct recover_row *row,
			struct recover_finding *findings)
{
	const struct left_process *p = &row->found;

	json_object(j, NULL);
	json_count(j, "pid", p->tgid);
	json_text(j, "name", p->name);
	json_text(j, "unit", p->unit);
	json_text(j, "container", p->container);
	json_count(j, "threads", p->threads_cnt);
	json_count(j, "threads_stopped", p->stopped_cnt);
	json_count(j, "threads_in_trace_stop", p->trace_stop_cnt);
	json_count(j, "threads_traced", p->traced_cnt);
	put_other(j, "parent", &p->parent);
	put_tracers(j, p);
	json_text(j, "frozen_group", p->freeze.group);
	json_flag(j, "freezer_seen", !p->freeze.unseen);
	json_flag(j, "dotnet", p->dotnet.is);
	put_findings(j, "findings", p, findings);
	put_acts(j, row);
	json_flag(j, "tracer_spared", row->tracer_spared);
	json_flag(j, "ended", row->ended);
	if (row->acted && !row->ended)
		put_findings(j, "findings_after", &row->after, findings);
	else
		json_null(j, "findings_after");
	json_end(j);
}

int recover_json_write(FILE *out, const struct recover_report *report)
{
	_cleanup_free_ struct recover_finding *findings =
		calloc(RECOVER_FINDINGS_MAX, sizeof(*findings));
	struct recover_counts counts;
	struct json j;

	if (!findings)
		return -ENOMEM;
	json_begin(&j, out, "recover");
	json_text(&j, "hotrun", report->hotrun_version);
	json_utc(&j, "time_utc", report->time);
	json_text(&j, "host", report->host_name);
	json_flag(&j, "resume", report->resume);
	json_array(&j, "processes");
	for (size_t i = 0; i < report->rows_cnt; i++)
		put_process(&j, report->rows[i], findings);
	json_end(&j);
	recover_count(report, &counts);
	json_object(&j, "summary");
	json_count(&j, "stand", counts.stand);
	json_count(&j, "left", counts.left);
	json_count(&j, "failed", counts.failed);
	json_count(&j, "looked_at", report->looked_at);
	json_flag(&j, "complete", !report->cut);
	json_flag(&j, "interrupted", report->interrupted);
	json_count(&j, "unreadable_processes", report->unreadable);
	json_count(&j, "freezer_unseen_processes", report->freeze_unseen);
	json_count(&j, "hung_processes", report->hung);
	json_end(&j);
	return json_finish(&j);
}
