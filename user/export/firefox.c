/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/firefox.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "export/firefox_private.h"

#define VERSION	      63
#define GECKO_VERSION 31 /* of the same time */

static const char *const categories[FIREFOX_CATEGORIES][2] = {
	{"Other", "grey"},	   {"Application", "green"}, {"Framework", "blue"},
	{"Native code", "yellow"}, {"Kernel", "orange"},
};

/* --- meta ------------------------------------------------------------------------------------ */

static void put_categories(struct json *j)
{
	json_array(j, "categories");
	for (int i = 0; i < FIREFOX_CATEGORIES; i++) {
		json_object(j, NULL);
		json_string(j, "name", categories[i][0]);
		json_string(j, "color", categories[i][1]);
		json_array(j, "subcategories");
		json_string(j, NULL, "Other");
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void put_field(struct json *j, const char *key, const char *label, const char *format)
{
	json_object(j, NULL);
	json_string(j, "key", key);
	json_string(j, "label", label);
	json_string(j, "format", format);
	json_end(j);
}

/* All markers are of one kind: what, of whom, in words. */
static void put_marker_schema(struct json *j)
{
	json_array(j, "markerSchema");
	json_object(j, NULL);
	json_string(j, "name", "hotrun");
	json_string(j, "tooltipLabel", "{marker.name}: {marker.data.process}");
	json_string(j, "tableLabel", "{marker.data.process}: {marker.data.text}");
	json_string(j, "chartLabel", "{marker.data.process}");
	json_array(j, "display");
	json_string(j, NULL, "marker-chart");
	json_string(j, NULL, "marker-table");
	json_string(j, NULL, "timeline-overview");
	json_end(j);
	json_array(j, "fields");
	put_field(j, "process", "Process", "string");
	put_field(j, "text", "What", "string");
	put_field(j, "cause", "Cause", "string");
	json_end(j);
	json_end(j);
	json_end(j);
}

static void put_meta(struct firefox *w)
{
	struct json *j = &w->json;

	json_object(j, "meta");
	json_real(j, "interval", (double)sampled_tick_ns(w->m) / FIREFOX_NS_MS);
	json_real(j, "startTime", (double)(w->about.wall_start_ns / 1000000));
	json_count(j, "version", GECKO_VERSION);
	json_count(j, "preprocessedProfileVersion", VERSION);
	json_string(j, "product", "hotrun");
	json_string(j, "importedFrom", "hotrun");
	json_string(j, "oscpu", w->about.text);
	json_string(j, "platform", w->m->host.name);
	json_count(j, "processType", 0);
	json_count(j, "stackwalk", 1);
	json_count(j, "debug", 0);
	json_count(j, "logicalCPUs", w->m->host.cpus_online);
	json_flag(j, "symbolicationNotSupported", true);
	json_flag(j, "usesOnlyOneStackType", true);
	json_flag(j, "sourceCodeIsNotOnSearchfox", true);
	json_flag(j, "keepProfileThreadOrder", true);
	/* The heaviest thread, behind the host. */
	json_array(j, "initialSelectedThreads");
	json_count(j, NULL, w->threads_cnt ? 1 : 0);
	json_end(j);
	json_object(j, "sampleUnits");
	json_string(j, "time", "ms");
	json_string(j, "eventDelay", "ms");
	json_string(j, "threadCPUDelta", "ns");
	json_end(j);
	put_categories(j);
	put_marker_schema(j);
	json_end(j);
}

/* --- tracks ---------------------------------------------------------------------------------- */

/* Heaviest process first, and within it the heaviest thread. */
static int compare_tracks(const void *a, const void *b, void *arg)
{
	const struct sampled_thread *x = a, *y = b;
	const struct firefox *w = arg;
	uint32_t px = w->m->threads[x->thread].process, py = w->m->threads[y->thread].process;
	int c = COMPARE(w->totals[py], w->totals[px]);

	if (!c)
		c = COMPARE(px, py);
	if (!c)
		c = COMPARE(y->total, x->total);
	return c ? c : COMPARE(x->thread, y->thread);
}

static int order_tracks(struct firefox *w)
{
	w->threads = sampled_threads(w->s, w->o->weight, &w->threads_cnt);
	w->totals = calloc(w->m->processes_cnt + 1, sizeof(*w->totals));
	if (!w->threads || !w->totals)
		return -ENOMEM;
	for (size_t i = 0; i < w->threads_cnt; i++)
		w->totals[w->m->threads[w->threads[i].thread].process] += w->threads[i].total;
	if (w->threads_cnt)
		qsort_r(w->threads, w->threads_cnt, sizeof(*w->threads), compare_tracks, w);
	return 0;
}

/* Whose first track a span is told on: its process's, or the host's (behind all processes), which
 * has those of processes without a track, too. */
static size_t teller_of(const struct firefox *w, const struct timeline_span *span)
{
	return span->process == MODEL_NONE || !w->totals[span->process] ? w->m->processes_cnt
									: span->process;
}

/* Spans by their teller, in their order: those of one begin at told[teller]. */
static int order_spans(struct firefox *w)
{
	size_t cnt = w->m->processes_cnt + 2;

	w->told = calloc(cnt + 1, sizeof(*w->told));
	w->spans = calloc(w->t->spans_cnt + 1, sizeof(*w->spans));
	if (!w->told || !w->spans)
		return -ENOMEM;
	/* Numbers two places on, then sums: what is put then moves a begin to its place. */
	for (size_t i = 0; i < w->t->spans_cnt; i++)
		w->told[teller_of(w, &w->t->spans[i]) + 2]++;
	for (size_t i = 1; i <= cnt; i++)
		w->told[i] += w->told[i - 1];
	for (size_t i = 0; i < w->t->spans_cnt; i++)
		w->spans[w->told[teller_of(w, &w->t->spans[i]) + 1]++] = &w->t->spans[i];
	return 0;
}

enum marker_column { MARKER_NAME, MARKER_START, MARKER_END, MARKER_PHASE, MARKER_CATEGORY };

static void put_marker_column(struct firefox *w, const char *key, size_t first, size_t end,
			      enum marker_column column)
{
	struct json *j = &w->json;

	json_array(j, key);
	for (size_t i = first; i < end; i++) {
		const struct timeline_span *span = w->spans[i];

		switch (column) {
		case MARKER_NAME:
			json_count(j, NULL, firefox_string(w, timeline_name(span)));
			break;
		case MARKER_START:
			json_real(j, NULL, firefox_ms(w, w->t->slices[span->first].start_ns));
			break;
		case MARKER_END:
			json_real(j, NULL, firefox_ms(w, w->t->slices[span->last].end_ns));
			break;
		default:
			/* An interval that has both its ends, of the first category. */
			json_count(j, NULL, column == MARKER_PHASE);
		}
	}
	json_end(j);
}

static void put_marker_data(struct firefox *w, size_t first, size_t end)
{
	struct json *j = &w->json;
	char text[TIMELINE_TEXT_BYTES];

	json_array(j, "data");
	for (size_t i = first; i < end; i++) {
		const struct timeline_span *span = w->spans[i];

		timeline_text(text, span);
		json_object(j, NULL);
		json_string(j, "type", "hotrun");
		json_string(j, "process",
			    span->process == MODEL_NONE ? w->m->host.name
							: sampled_process(w->m, span->process));
		json_string(j, "text", text);
		if (span->kind == TIMELINE_VERDICT)
			json_string(j, "cause", verdict_figure_id(span->result.cause));
		json_end(j);
	}
	json_end(j);
}

/* teller: whose spans; none on tracks that are not its first. */
static void put_markers(struct firefox *w, size_t teller, bool any)
{
	size_t first = w->told[teller], end = any ? w->told[teller + 1] : first;
	struct json *j = &w->json;

	json_object(j, "markers");
	json_count(j, "length", end - first);
	put_marker_data(w, first, end);
	put_marker_column(w, "name", first, end, MARKER_NAME);
	put_marker_column(w, "startTime", first, end, MARKER_START);
	put_marker_column(w, "endTime", first, end, MARKER_END);
	put_marker_column(w, "phase", first, end, MARKER_PHASE);
	put_marker_column(w, "category", first, end, MARKER_CATEGORY);
	json_end(j);
}

/*
 * The CPU time of the first sample of a thread is not read, since nothing is known of the time
 * before it: so one without a stack and without weight stands at the start.
 */
static void put_samples(struct firefox *w, const struct sampled_thread *thread)
{
	enum export_weight weight = w->o->weight;
	struct json *j = &w->json;
	size_t first = thread ? thread->first : 0, end = thread ? thread->end : 0;
	const struct sampled_row *rows = w->s->rows;

	json_object(j, "samples");
	json_count(j, "length", end - first + 1);
	json_string(j, "weightType", weight == EXPORT_BLOCKED ? "tracing-ms" : "samples");
	json_array(j, "weight");
	json_count(j, NULL, 0);
	for (size_t i = first; i < end; i++)
		json_count(j, NULL, rows[i].values[weight]);
	json_end(j);
	json_array(j, "stack");
	json_null(j, NULL);
	for (size_t i = first; i < end; i++)
		if (w->stack[rows[i].node] == MODEL_NONE)
			json_null(j, NULL);
		else
			json_count(j, NULL, w->stack[rows[i].node]);
	json_end(j);
	json_array(j, "time");
	json_count(j, NULL, 0);
	for (size_t i = first; i < end; i++)
		json_real(j, NULL, firefox_ms(w, rows[i].time_ns));
	json_end(j);
	if (weight == EXPORT_SAMPLES) {
		json_array(j, "threadCPUDelta");
		json_count(j, NULL, 0);
		for (size_t i = first; i < end; i++)
			json_count(j, NULL, sampled_ns(w->m, weight, rows[i].values[weight]));
		json_end(j);
	}
	json_end(j);
}

static void put_ms(struct firefox *w, const char *key, uint64_t time_ns)
{
	if (time_ns)
		json_real(&w->json, key, firefox_ms(w, time_ns));
	else
		json_null(&w->json, key);
}

/* thread: NULL = the track of the host. */
static void put_track(struct firefox *w, const struct sampled_thread *thread, bool first)
{
	const struct model_thread *t = thread ? &w->m->threads[thread->thread] : NULL;
	const struct model_process *p = t ? &w->m->processes[t->process] : NULL;
	struct json *j = &w->json;
	char pid[16] = "0";

	if (p)
		snprintf(pid, sizeof(pid), "%u", p->tgid);
	json_object(j, NULL);
	json_string(j, "name", t ? t->comm : "host");
	json_string(j, "processName", t ? sampled_process(w->m, t->process) : w->m->host.name);
	json_string(j, "processType", "default");
	json_string(j, "pid", pid);
	json_count(j, "tid", t ? t->tid : 0);
	json_flag(j, "isMainThread", first);
	json_flag(j, "showMarkersInTimeline", first);
	json_real(j, "processStartupTime", p ? firefox_ms(w, p->born_ns) : 0);
	put_ms(w, "processShutdownTime", p ? p->exit_ns : 0);
	json_real(j, "registerTime", 0);
	put_ms(w, "unregisterTime", t ? t->exit_ns : 0);
	json_array(j, "pausedRanges");
	json_end(j);
	put_samples(w, thread);
	put_markers(w, t ? t->process : w->m->processes_cnt, first);
	json_end(j);
}

static void put_tracks(struct firefox *w)
{
	uint32_t process = MODEL_NONE;

	json_array(&w->json, "threads");
	put_track(w, NULL, true);
	for (size_t i = 0; i < w->threads_cnt; i++) {
		uint32_t of = w->m->threads[w->threads[i].thread].process;

		put_track(w, &w->threads[i], of != process);
		process = of;
	}
	json_end(&w->json);
}

/* --- all together ---------------------------------------------------------------------------- */

static int prepare(struct firefox *w)
{
	int err;

	w->s = sampled_new(w->m, w->o, SAMPLED_WEIGHT(w->o->weight), SAMPLED_BY_THREAD);
	if (!w->s)
		return -errno;
	w->t = timeline_new(w->m, w->o);
	if (!w->t)
		return -errno;
	about_of(&w->about, w->m);
	err = order_tracks(w);
	if (!err)
		err = order_spans(w);
	return err ? err : firefox_number_stacks(w);
}

static int write_all(struct firefox *w, FILE *out)
{
	int err = prepare(w);

	if (err)
		return err;
	json_begin_compact(&w->json, out);
	put_meta(w);
	firefox_put_libs(w);
	firefox_put_counters(w);
	put_tracks(w);
	firefox_put_shared(w); /* with the strings of all before */
	err = json_finish(&w->json);
	return w->err ? w->err : err;
}

int firefox_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct firefox *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->m = m;
	w->o = options;
	err = write_all(w, out);
	strings_clear(&w->strings);
	timeline_free(w->t);
	sampled_free(w->s);
	free(w->threads);
	free(w->totals);
	free(w->told);
	free(w->spans);
	free(w->stack);
	free(w);
	return err;
}
