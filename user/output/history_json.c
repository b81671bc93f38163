/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/history.h"
#include "output/json.h"

static void put_number(struct json *j, const char *key, bool known, double value)
{
	if (known)
		json_real(j, key, value);
	else
		json_null(j, key);
}

static void put_knee(struct json *j, const struct history_subject *s)
{
	const struct knee *k = &s->knee;
	bool found = s->knee_sought && k->answer == KNEE_FOUND;

	json_object(j, "knee");
	json_text(j, "answer", history_knee_id(s));
	json_count(j, "minutes", s->points_cnt);
	put_number(j, "least_cpus", k->minutes > 0, k->least);
	put_number(j, "most_cpus", k->minutes > 0, k->most);
	put_number(j, "at_cpus", found, k->at);
	put_number(j, "low_cpus", found, k->low);
	put_number(j, "high_cpus", found, k->high);
	put_number(j, "before_share", found, k->before);
	put_number(j, "until_cpus", found, k->until);
	put_number(j, "after_share", found, k->after);
	json_array(j, "bins");
	for (size_t i = 0; i < k->bins_cnt; i++) {
		json_object(j, NULL);
		json_real(j, "running_cpus", k->bins[i].cpus);
		json_real(j, "slow_share", k->bins[i].slow);
		json_count(j, "minutes", k->bins[i].minutes);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* observed_ms: of the host over that time. */
static void put_figures(struct json *j, const struct history_figures *f, uint64_t observed_ms)
{
	json_text(j, "verdict", history_verdict(f));
	json_count(j, "bad_minutes", f->bad_minutes);
	json_real(j, "hurt_s", (double)f->hurt_ms / 1000);
	put_number(j, "running_cpus", observed_ms > 0, history_cpus(f->cpu_ms, observed_ms));
	put_number(j, "waiting_threads", observed_ms > 0, history_cpus(f->waited_ms, observed_ms));
	put_number(j, "throttled_threads", observed_ms > 0,
		   history_cpus(f->throttled_ms, observed_ms));
	put_number(j, "available_cpus", f->available_mcpu > 0, (double)f->available_mcpu / 1000);
	json_count(j, "requests", f->requests);
	put_number(j, "slow_share", f->requests > 0, history_slow_share(f));
	put_number(j, "median_ns", f->median_us > 0, (double)f->median_us * 1000);
	put_number(j, "p99_ns", f->p99_us > 0, (double)f->p99_us * 1000);
	json_count(j, "stuck", f->stuck);
}

static void put_kinds(struct json *j, const struct history_view *v)
{
	json_array(j, "processes");
	for (size_t i = 0; i < v->kinds_cnt; i++) {
		const struct history_subject *s = &v->kinds[i];

		json_object(j, NULL);
		json_text(j, "name", s->kind.name);
		json_text(j, "place", s->kind.place);
		json_utc(j, "first_utc", s->kind.first_s);
		json_utc(j, "last_utc", s->kind.last_s);
		put_figures(j, &s->sum, v->observed_ms);
		put_knee(j, s);
		json_end(j);
	}
	json_end(j);
}

static void put_hours(struct json *j, const struct history_view *v)
{
	json_array(j, "hours");
	for (size_t i = 0; i < v->hours_cnt; i++) {
		const struct history_figures *f = &v->hours[i].figures;

		json_object(j, NULL);
		json_utc(j, "time_utc", v->hours[i].time_s);
		json_real(j, "observed_s", (double)f->observed_ms / 1000);
		put_figures(j, f, f->observed_ms);
		json_end(j);
	}
	json_end(j);
}

static void put_decisions(struct json *j, const struct history_view *v)
{
	json_array(j, "captures");
	for (size_t i = 0; i < v->decisions_cnt; i++) {
		const struct history_decision *d = &v->decisions[i].d;

		json_object(j, NULL);
		json_utc(j, "time_utc", d->time_s);
		json_utc(j, "last_utc", d->last_s);
		json_count(j, "times", d->times);
		json_flag(j, "taken", d->taken);
		json_text(j, "reason", d->reason);
		json_text(j, "process", d->process);
		json_text(j, "verdict", *d->process ? history_verdict_id(d->verdict) : "");
		json_text(j, "trunk", d->trunk);
		json_text(j, "name", d->capture);
		json_end(j);
	}
	json_end(j);
}

static void put_trunks(struct json *j, const struct history_view *v)
{
	json_array(j, "trunks");
	for (size_t i = 0; i < v->trunks.rows_cnt; i++) {
		const struct trunk_again *t = &v->trunks.rows[i];

		json_object(j, NULL);
		json_text(j, "process", t->process);
		json_text(j, "path", t->path);
		json_count(j, "captures", t->captures);
		json_real(j, "harm", t->harm);
		json_real(j, "cpu_share", t->share);
		json_real(j, "hurt_s", t->seconds);
		json_real(j, "people", t->people);
		json_utc(j, "first_utc", t->first_s);
		json_utc(j, "last_utc", t->last_s);
		json_end(j);
	}
	json_end(j);
}

int history_json_write(FILE *out, const struct history_view *v)
{
	struct json j;

	json_begin(&j, out, "history");
	json_text(&j, "name", v->options.name);
	if (v->first_s) {
		json_utc(&j, "from_utc", v->first_s);
		json_utc(&j, "to_utc", v->last_s);
	} else {
		json_null(&j, "from_utc");
		json_null(&j, "to_utc");
	}
	json_real(&j, "observed_share", history_observed_share(v));
	put_figures(&j, &v->subject.sum, v->observed_ms);
	put_knee(&j, &v->subject);
	put_kinds(&j, v);
	put_hours(&j, v);
	put_decisions(&j, v);
	put_trunks(&j, v);
	return json_finish(&j);
}
