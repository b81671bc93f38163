/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/diff.h"
#include "output/json.h"

/* What the page has room for. */
#define BRIEF_NAME    200 /* bytes */
#define BRIEF_CALLERS 4

static void put_name(struct json *j, const char *key, const char *name,
		     const struct diff_options *o)
{
	static const char more[] = "\xe2\x80\xa6";
	char cut[BRIEF_NAME + sizeof(more)];
	size_t len = BRIEF_NAME;

	if (!o->brief || !name || strnlen(name, BRIEF_NAME + 1) <= BRIEF_NAME) {
		json_text(j, key, name);
		return;
	}
	/* Not within a character. */
	while (len > BRIEF_NAME - 4 && ((unsigned char)name[len] & 0xc0) == 0x80)
		len--;
	memcpy(cut, name, len);
	memcpy(cut + len, more, sizeof(more));
	json_text(j, key, cut);
}

static void put_value(struct json *j, const struct diff_value *v)
{
	json_precise(j, "before", v->before);
	json_precise(j, "after", v->after);
	json_precise(j, "change", v->change);
	json_precise(j, "change_error", v->error);
	json_precise(j, "change_of_before", v->before > 0 ? v->change / v->before : NAN);
	json_precise(j, "chance", v->p);
	json_precise(j, "smallest_change", v->least);
}

static void put_side(struct json *j, const char *key, const struct diff *d,
		     const struct diff_beside *beside, const struct diff_options *o, int at)
{
	const struct diff_side *s = &d->book->sides[at];
	const struct model *m = s->m;

	json_object(j, key);
	json_text(j, "capture", o->names[at]);
	json_text(j, "host", m->host.name);
	json_utc(j, "time_utc", diff_began_s(m));
	json_real(j, "elapsed_s", s->all_seconds);
	json_count(j, "parts", s->parts);
	json_count(j, "samples", s->samples);
	json_count(j, "sample_hz", m->host.sample_hz);
	json_real(j, "unnamed_share", d->unnamed[at]);
	json_real(j, "broken_share", d->broken[at]);
	json_text(j, "verdict", verdict_id(beside->host[at]));
	json_end(j);
}

static void put_fared(struct json *j, const char *key, const struct diff_fared *f)
{
	json_object(j, key);
	json_real(j, "cpus", f->cpus);
	json_real(j, "waiting_threads", f->waits_known ? f->waiting : NAN);
	json_real(j, "throttled_threads", f->waits_known ? f->throttled : NAN);
	json_real(j, "answers_per_s", f->requests_known ? f->answered : NAN);
	if (f->requests_known) {
		json_count(j, "p50_ns", f->p50_ns);
		json_count(j, "p99_ns", f->p99_ns);
	} else {
		json_null(j, "p50_ns");
		json_null(j, "p99_ns");
	}
	json_real(j, "slow_share", f->requests_known ? f->slow_share : NAN);
	json_text(j, "verdict", verdict_id(f->verdict));
	json_end(j);
}

static int put_kinds(struct json *j, const struct diff *d, const struct diff_beside *beside,
		     const struct diff_options *o)
{
	size_t cnt;
	_cleanup_free_ uint32_t *rows = diff_kinds(d, &cnt);

	if (!rows)
		return -ENOMEM;
	json_array(j, "processes");
	for (size_t i = 0; i < cnt; i++) {
		const struct diff_kind *k = &d->book->kinds[rows[i]];

		json_object(j, NULL);
		put_name(j, "process", k->name, o);
		json_text(j, "per", diff_per_ids[d->kinds[rows[i]].per]);
		json_count(j, "processes_before", k->processes[DIFF_BEFORE]);
		json_count(j, "processes_after", k->processes[DIFF_AFTER]);
		put_value(j, &d->kinds[rows[i]].value);
		json_flag(j, "certain", d->kinds[rows[i]].certain);
		put_fared(j, "fared_before", diff_fared(beside, rows[i], DIFF_BEFORE));
		put_fared(j, "fared_after", diff_fared(beside, rows[i], DIFF_AFTER));
		json_end(j);
	}
	json_end(j);
	return 0;
}

static void put_method(struct json *j, const struct diff *d, uint32_t method, enum diff_of of,
		       const struct diff_options *o)
{
	const struct diff_method *row = &d->book->methods[method];
	const struct model_symbol *s = diff_book_symbol(d->book, method);

	put_name(j, "process", d->book->kinds[row->kind].name, o);
	put_name(j, "method", s->name, o);
	put_name(j, "module", s->module, o);
	json_text(j, "of", of == DIFF_SELF ? "self" : "total");
	json_text(j, "per", diff_per_ids[d->kinds[row->kind].per]);
	json_count(j, "samples_before", row->all[DIFF_BEFORE][of]);
	json_count(j, "samples_after", row->all[DIFF_AFTER][of]);
}

/* Callers of the node, the nearest first. */
static void put_path(struct json *j, const struct diff *d, const struct diff_finding *f,
		     const struct diff_options *o)
{
	const struct diff_book *b = d->book;
	uint64_t cnt = 0;

	json_real(j, "path_share", f->node != MODEL_NONE ? f->node_share : NAN);
	json_array(j, "path");
	for (uint32_t i = f->node == MODEL_NONE ? 0 : b->nodes[f->node].parent;
	     i && b->nodes[i].parent; i = b->nodes[i].parent)
		if (cnt++ < BRIEF_CALLERS || !o->brief)
			put_name(j, NULL, diff_book_symbol(b, b->nodes[i].method)->name, o);
	json_end(j);
	if (o->brief)
		json_count(j, "path_more", cnt > BRIEF_CALLERS ? cnt - BRIEF_CALLERS : 0);
}

static void put_finding(struct json *j, const struct diff *d, const struct diff_finding *f,
			const struct diff_options *o)
{
	json_object(j, NULL);
	put_method(j, d, f->method, f->of, o);
	put_value(j, &f->value);
	json_real(j, "of_mean_change", f->overweight);
	put_path(j, d, f, o);
	json_end(j);
}

static void put_findings(struct json *j, const struct diff *d, const struct diff_options *o)
{
	json_array(j, "changed");
	for (size_t i = 0; !o->effects && i < d->findings_cnt; i++)
		put_finding(j, d, &d->findings[i], o);
	json_end(j);
}

static int put_effects(struct json *j, const struct diff *d, const struct diff_options *o)
{
	size_t cnt = 0;
	_cleanup_free_ uint32_t *rows = o->effects ? diff_methods_by_size(d, &cnt) : NULL;

	if (o->effects && !rows)
		return -ENOMEM;
	json_array(j, "effects");
	for (size_t i = 0; i < cnt; i++) {
		const struct diff_finding f = {
			.method = rows[i],
			.of = DIFF_SELF,
			.value = diff_value_of(d, rows[i], DIFF_SELF),
			.overweight = NAN,
			.node = MODEL_NONE,
		};

		put_finding(j, d, &f, o);
	}
	json_end(j);
	return 0;
}

int diff_write_json(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *o)
{
	struct json j;
	int err;

	json_begin(&j, out, "diff");
	put_side(&j, "before", d, beside, o, DIFF_BEFORE);
	put_side(&j, "after", d, beside, o, DIFF_AFTER);
	json_count(&j, "tested", d->tested);
	json_count(&j, "certain", d->found);
	json_count(&j, "methods_in_common", d->in_common);
	json_count(&j, "methods_only_before", d->only[DIFF_BEFORE]);
	json_count(&j, "methods_only_after", d->only[DIFF_AFTER]);
	json_flag(&j, "too_short", d->too_short);
	err = put_kinds(&j, d, beside, o);
	if (!err) {
		put_findings(&j, d, o);
		err = put_effects(&j, d, o);
	}
	return err ?: json_finish(&j);
}
