/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data block: its JSON, and what stands behind it. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "judge/books.h"
#include "judge/remedy.h"
#include "model/workload.h"
#include "output/flame_internal.h"
#include "output/report.h"

/* Start of the recording in ms since 1970, 0 when the clock's offset is not known. */
static uint64_t start_unix_ms(const struct model *m)
{
	int64_t ns;

	if (!m->slices_cnt ||
	    __builtin_add_overflow((int64_t)m->host.start_ns, m->slices[0].wall_offset_ns, &ns))
		return 0;
	return ns > 0 ? (uint64_t)ns / 1000000 : 0;
}

static void put_host(struct flame_data *d)
{
	const struct model_host *h = &d->m->host;
	struct json *j = &d->json;

	json_object(j, "host");
	json_string(j, "name", h->name);
	json_string(j, "kernel", h->kernel);
	json_string(j, "machine", h->machine);
	json_string(j, "version", h->version);
	json_string(j, "event", h->event);
	json_string(j, "filter", h->filter);
	json_string(j, "command", h->command);
	if (*h->taken)
		json_string(j, "taken", h->taken);
	json_array(j, "off");
	for (size_t i = 0; i < d->m->features_cnt; i++) {
		const struct model_feature *f = &d->m->features[i];
		enum feature known = feature_of_id(f->name);

		if (!feature_is_off(f->status))
			continue;
		json_object(j, NULL);
		json_string(j, "what", known < FEATURE_CNT ? feature_rows[known].title : f->name);
		json_string(j, "why", f->why);
		json_string(j, "lost", known < FEATURE_CNT ? feature_rows[known].lost : "");
		json_end(j);
	}
	json_end(j);
	json_count(j, "cpus", h->cpus_online);
	json_count(j, "hz", h->sample_hz);
	/* Shares are as sure as that many fewer samples tell. */
	if (d->m->slices_every > d->m->slices_cnt)
		json_real(j, "ticksPerSample",
			  (double)d->m->slices_every / (double)d->m->slices_cnt);
	json_count(j, "startUnixMs", start_unix_ms(d->m));
	json_count(j, "durationNs", h->end_ns > h->start_ns ? h->end_ns - h->start_ns : 0);
	json_flag(j, "complete", h->complete);
	if (model_off(d->m) & OFF_SWITCHES)
		json_string(j, "switchesOff", model_off_text(d->m, OFF_SWITCHES));
	json_end(j);
}

/* Causes of which each one is a sample that is not in the books. */
static bool loses_samples(uint32_t cause)
{
	return cause == LOSS_SAMPLE_RING_FULL || cause == LOSS_SCRATCH ||
	       cause == LOSS_TICKS_MISSED;
}

static void put_books(struct flame_data *d, const struct totals *t)
{
	struct books b = books_of(d->m, t);
	struct json *j = &d->json;

	json_object(j, "books");
	json_flag(j, "known", b.have_cpus);
	json_count(j, "expected", b.expected);
	json_count(j, "taken", b.taken);
	json_count(j, "missed", b.missed > b.noise ? b.missed : 0);
	json_count(j, "filtered", b.filtered);
	json_count(j, "dropped", b.dropped);
	json_count(j, "lostPerMillion", (uint64_t)(b.lost_share * 1e6));
	json_flag(j, "samplesGap", b.samples_gap);
	json_flag(j, "switchesGap", b.switches_gap);
	json_end(j);
}

static void put_losses(struct flame_data *d, const struct totals *t)
{
	struct json *j = &d->json;

	json_array(j, "losses");
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		if (!t->losses[cause])
			continue;
		json_object(j, NULL);
		json_string(j, "id", model_loss_id(cause));
		json_string(j, "text", model_loss_text(cause));
		json_string(j, "remedy", remedy_loss(cause));
		json_count(j, "count", t->losses[cause]);
		json_flag(j, "samples", loses_samples(cause));
		json_end(j);
	}
	json_end(j);
}

static void put_reasons(struct flame_data *d)
{
	struct json *j = &d->json;

	json_array(j, "reasons");
	for (int reason = 0; reason < REASON_CNT; reason++) {
		json_object(j, NULL);
		json_string(j, "id", model_reason_id(reason));
		json_string(j, "text", model_reason_text(reason));
		json_string(j, "remedy", remedy_reason(reason));
		json_end(j);
	}
	json_end(j);
}

/* --- processes, parts ------------------------------------------------------------------------ */

static void put_process(struct flame_data *d, uint32_t row, uint64_t on_cpu_ns)
{
	const struct model_process *p = &d->m->processes[row];
	char container[WORKLOAD_BYTES], workload[WORKLOAD_BYTES];
	struct json *j = &d->json;

	workload_container(p, container);
	workload_of(p, workload);
	json_object(j, NULL);
	json_count(j, "pid", p->tgid);
	json_count(j, "nsPid", p->ns_pid);
	json_string(j, "name", p->name);
	json_string(j, "comm", p->comm);
	json_string(j, "unit", p->unit);
	json_string(j, "container", container);
	json_string(j, "pod", p->pod);
	json_string(j, "namespace", p->namespace);
	json_string(j, "cgroup", p->cgroup);
	json_string(j, "workload", workload);
	json_flag(j, "dotnet", p->flags & PROCESS_DOTNET);
	json_flag(j, "self", p->flags & PROCESS_SELF);
	json_count(j, "samples", d->cpu_samples[row]);
	json_count(j, "blockedMs", d->blocked_ms[row]);
	json_count(j, "onCpuNs", on_cpu_ns);
	json_end(j);
}

static int put_processes(struct flame_data *d)
{
	const struct model *m = d->m;
	uint64_t *on_cpu_ns = calloc(m->processes_cnt + 1, sizeof(*on_cpu_ns));
	uint32_t first = d->options->process;

	if (!on_cpu_ns)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++)
		on_cpu_ns[m->threads[i].process] += m->threads[i].sched.on_cpu_ns;
	json_array(&d->json, "processes");
	for (size_t i = 0; i < d->processes_cnt; i++)
		put_process(d, d->processes[i], on_cpu_ns[d->processes[i]]);
	json_end(&d->json);
	free(on_cpu_ns);
	if (first == MODEL_NONE || d->process_number[first] == MODEL_NONE)
		json_null(&d->json, "first");
	else
		json_count(&d->json, "first", d->process_number[first]);
	return 0;
}

void flame_put_columns(struct json *j, const struct varints *columns)
{
#define NAME(id, name) name,
	static const char *const names[] = {FLAME_COLUMNS(NAME)};

	json_array(j, "columns");
	for (int i = 0; i < COLUMN_CNT; i++) {
		json_array(j, NULL);
		json_string(j, NULL, names[i]);
		json_count(j, NULL, columns[i].cnt);
		json_count(j, NULL, columns[i].len);
		json_end(j);
	}
	json_end(j);
}

/* Processes with a verdict at the most: those that are hurt come first. */
#define VERDICTS 200

/* What is said before the samples of m are taken. */
struct said {
	char *report, *verdicts; /* NULL without memory */
	struct totals *totals;
};

/* 0 or negative errno; said_clear() is due in both cases. */
static int said_read(struct said *s, struct model *m)
{
	size_t report_len = 0, verdicts_len = 0;
	FILE *report = open_memstream(&s->report, &report_len);
	FILE *verdicts = open_memstream(&s->verdicts, &verdicts_len);
	int err = report && verdicts ? report_write_both(report, verdicts, VERDICTS, m) : -ENOMEM;

	if ((report && fclose(report)) || !s->report)
		err = -ENOMEM;
	if ((verdicts && fclose(verdicts)) || !s->verdicts)
		err = -ENOMEM;
	s->totals = err ? NULL : totals_new(m);
	return err || s->totals ? err : -ENOMEM;
}

static void said_clear(struct said *s)
{
	free(s->report);
	free(s->verdicts);
	totals_free(s->totals);
}

static void put_words(struct flame_data *d, const struct said *said)
{
	const struct flame_options *o = d->options;
	struct json *j = &d->json;
	uint64_t samples = 0, blocked_ms = 0;

	for (size_t i = 0; i < d->processes_cnt; i++) {
		samples += d->cpu_samples[d->processes[i]];
		blocked_ms += d->blocked_ms[d->processes[i]];
	}
	json_string(j, "format", "hotrun-flame");
	json_count(j, "version", 2);
	json_string(j, "weight", o->blocked ? "blocked" : "cpu");
	json_flag(j, "hasBlocked", d->has_blocked);
	json_flag(j, "idle", o->idle);
	json_count(j, "samples", samples);
	json_count(j, "blockedMs", blocked_ms);
	json_count(j, "cut", d->forest.cut);
	json_flag(j, "rawNames", d->m->raw_names);
	json_flag(j, "justMyCode", d->m->just_my_code);
	json_count(j, "slotNs", FLAME_SLOT_NS);
	if (model_off(d->m) & OFF_ACCOUNTS)
		json_string(j, "waitsOff", model_waits_why(d->m));
	if (model_requests_why(d->m))
		json_string(j, "requestsOff", model_requests_why(d->m));
	if (!d->has_blocked)
		json_string(j, "blockedOff",
			    model_off(d->m) & OFF_STANDS ? model_off_text(d->m, OFF_STANDS)
							 : "nobody was found blocked");
	json_string(j, "report", said->report);
	json_string(j, "verdicts", said->verdicts);
	put_host(d);
	put_books(d, said->totals);
	put_losses(d, said->totals);
	put_reasons(d);
}

static int put_json(struct flame_data *d, FILE *out, const struct said *said)
{
	int err;

	json_begin_compact(&d->json, out);
	put_words(d, said);
	err = put_processes(d);
	flame_put_endpoints(d);
	json_array(&d->json, "strings");
	for (size_t i = 0; i < d->strings_cnt; i++)
		json_string(&d->json, NULL, d->strings[i]);
	json_end(&d->json);
	flame_put_columns(&d->json, d->columns);
	return err ? err : json_finish(&d->json);
}

int flame_put_parts(FILE *out, const char *json, size_t len, const struct varints *columns)
{
	if (len > UINT32_MAX)
		return -E2BIG;
	for (int i = 0; i < COLUMN_CNT; i++)
		if (columns[i].err)
			return columns[i].err;
	for (unsigned int i = 0; i < 4; i++)
		putc((int)(len >> (8 * i) & 0xff), out);
	fwrite(json, 1, len, out);
	for (int i = 0; i < COLUMN_CNT; i++)
		fwrite(columns[i].bytes ?: (uint8_t *)"", 1, columns[i].len, out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

static int put_block(struct flame_data *d, FILE *out, const struct said *said)
{
	char *json = NULL;
	size_t len = 0;
	FILE *text = open_memstream(&json, &len);
	int err = text ? put_json(d, text, said) : -ENOMEM;

	if (text && fclose(text))
		err = -ENOMEM;
	if (!err)
		err = flame_put_parts(out, json, len, d->columns);
	free(json);
	return err;
}

static void data_clear(struct flame_data *d)
{
	for (int i = 0; i < COLUMN_CNT; i++)
		varints_clear(&d->columns[i]);
	forest_clear(&d->forest);
	hash_clear(&d->tier_index);
	hash_clear(&d->string_index);
	free(d->cpu_samples);
	free(d->blocked_ms);
	free(d->symbol_number);
	free(d->thread_number);
	free(d->process_number);
	free(d->symbols);
	free(d->processes);
	free(d->tiers);
	free(d->strings);
}

int flame_write_data(FILE *out, struct model *m, const struct flame_options *options)
{
	struct flame_data d = {.m = m, .options = options};
	struct said said = {0};
	int err = said_read(&said, m);

	if (!err)
		err = flame_stacks(&d);
	if (!err)
		err = flame_symbols(&d);
	if (!err)
		err = flame_series(&d);
	if (!err)
		err = put_block(&d, out, &said);
	data_clear(&d);
	said_clear(&said);
	return err;
}
