/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen: the host and where to start. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "judge/remedy.h"
#include "judge/start_here.h"
#include "model/share.h"
#include "model/top.h"
#include "output/label.h"
#include "output/report_internal.h"
#include "output/threads.h"

/* Of all slices the same rate, or that of the full gear. */
static struct number rate_of(const struct model *m)
{
	uint32_t every = m->slices_cnt ? m->slices[0].sample_every ?: 1 : 1;

	for (size_t i = 1; i < m->slices_cnt; i++)
		if ((m->slices[i].sample_every ?: 1) != every)
			every = 1;
	return every == 1 ? number_count(m->host.sample_hz)
			  : number_fixed((double)m->host.sample_hz / every, 1);
}

/* "web-1 · 2 CPUs · 2026-11-21 10:00:00 UTC · 10.0 s at 99 Hz · complete" */
static void put_title(const struct report *r)
{
	const struct model *m = r->m;
	struct words w = {0};
	int64_t start = 0;
	size_t at;

	put_paint(r, PAINT_HEADING);
	at = put_name(r, m->host.name, 40, CUT_END);
	put_plain(r);
	words_add(&w, " · %u CPU%s · ", m->host.cpus_online, m->host.cpus_online == 1 ? "" : "s");
	/* The offset to wall time comes with the slices. */
	if (m->slices_cnt) {
		start = ((int64_t)m->host.start_ns + m->slices[0].wall_offset_ns) / 1000000000;
		words_add(&w, "%s · %s at %s Hz", number_utc(start).text,
			  number_time(r->totals->elapsed_ns).text, rate_of(m).text);
	} else {
		words_add(&w, "no second of it is written%s · %u Hz", m->host.running ? " yet" : "",
			  m->host.sample_hz);
	}
	if (m->host.complete)
		words_add(&w, " · complete");
	put_words(r, w.text, at, 2);
	if (m->host.complete)
		return;
	put_paint(r, PAINT_ALARM);
	fputs(m->host.running ? "still being recorded, this is what it has so far\n"
			      : "ended early: killed, or disk full\n",
	      r->out);
	put_plain(r);
}

static void put_renamed(const struct report *r)
{
	const struct model_renaming *last;

	if (!r->m->renamings_cnt)
		return;
	last = &r->m->renamings[r->m->renamings_cnt - 1];
	fprintf(r->out, "names looked up again %s by hotrun ", number_utc(last->time_s).text);
	put_name(r, last->version, 10, CUT_END);
	if (r->m->renamings_cnt > 1)
		fprintf(r->out, ", %s times in all", number_count(r->m->renamings_cnt).text);
	putc('\n', r->out);
}

/* Why the resident recorder took it; the questions that it asked one after the other. */
static void put_taken(const struct report *r)
{
	struct words w = {0};
	char safe[sizeof(w.text) / 2];

	if (!r->m->host.taken[0])
		return;
	text_copy_safe(safe, sizeof(safe), r->m->host.taken, strlen(r->m->host.taken));
	words_add(&w, "taken because: %s", safe);
	put_words(r, w.text, 0, 2);
}

/* Features that are off, a line each, with what is lost. */
static void put_off(const struct report *r)
{
	for (size_t i = 0; i < r->m->features_cnt; i++) {
		const struct model_feature *f = &r->m->features[i];
		enum feature known = feature_of_id(f->name);
		struct words w = {0};
		char why[sizeof(w.text) / 2];

		if (!feature_is_off(f->status))
			continue;
		text_copy_safe(why, sizeof(why), f->why, strlen(f->why));
		words_add(&w, "off: %s: %s", known < FEATURE_CNT ? feature_rows[known].title : "?",
			  why);
		if (known < FEATURE_CNT)
			words_add(&w, "; %s", feature_rows[known].lost);
		put_words(r, w.text, 0, 2);
	}
}

static void put_window(const struct report *r)
{
	char text[REPORT_WINDOW_BYTES];

	if (!r->o.window.whole_ns)
		return;
	report_window_text(text, &r->o.window);
	fprintf(r->out, "%s\n", text);
}

/* How the frames below are to be read, where not as always. */
static void put_reading(const struct report *r)
{
	if (r->m->just_my_code)
		put_words(r,
			  "just my code: what application methods call in frameworks, runtime and "
			  "kernel "
			  "counts as their own; [framework] is work without any application method "
			  "on "
			  "the stack",
			  0, 2);
	if (r->m->raw_names)
		put_words(r, "raw names, as the runtime and symbol tables write them", 0, 2);
}

static struct number mean_of(const struct report *r, uint64_t ns)
{
	return number_fixed(sched_mean(ns, r->sched->elapsed_ns), 2);
}

/* "CPU busy 1.99 of 2 (99.4 %) · steal 0.0 %" */
static void add_cpus(const struct report *r, struct words *w)
{
	const struct totals *t = r->totals;
	uint64_t busy = t->accounted_ns + t->unaccounted_ns;

	if (!r->books.have_cpus || !t->cpu_elapsed_ns || !t->elapsed_ns) {
		words_add(w, "CPU busy: not known, the capture has no slice");
		return;
	}
	words_add(w, "CPU busy %s of %u (%s) · steal %s",
		  number_fixed(report_cores(r, busy), 2).text, r->m->host.cpus_online,
		  number_percent(share_of(busy, t->cpu_elapsed_ns)).text,
		  number_percent(share_of(t->steal_ns, t->cpu_elapsed_ns)).text);
}

/* " · threads: 1.90 running, 3.02 waiting, 0.33 throttled by limits" */
static void add_waits(const struct report *r, struct words *w)
{
	const struct sched_figures *s;

	if (!r->totals->elapsed_ns)
		return;
	if (!r->sched) {
		words_add(w, " · threads waiting for a CPU: n/a: %s", report_waits_off(r));
		return;
	}
	s = &r->sched->host.sched;
	words_add(w, " · threads: %s running, %s waiting", mean_of(r, s->on_cpu_ns).text,
		  mean_of(r, s->waited_ns).text);
	if (report_is_some(r, s->throttled_ns))
		words_add(w, ", %s throttled by limits", mean_of(r, s->throttled_ns).text);
}

static void put_load(const struct report *r)
{
	struct words w = {0};

	add_cpus(r, &w);
	add_waits(r, &w);
	put_words(r, w.text, 0, 2);
}

/* " · CPU pressure 3.1 % of time" */
static void add_pressure(const struct report *r, struct words *w)
{
	uint64_t pressure_ns = 0;

	for (size_t i = 0; i < r->m->slices_cnt; i++)
		pressure_ns += r->m->slices[i].pressure_ns;
	if (model_off(r->m) & OFF_PRESSURE)
		words_add(w, " · CPU pressure n/a: %s", model_off_text(r->m, OFF_PRESSURE));
	else
		words_add(w, " · CPU pressure %s of time",
			  number_percent(share_of(pressure_ns, r->totals->elapsed_ns)).text);
}

static void add_name(struct words *w, const char *before, const char *name, size_t columns)
{
	char label[NAME_BYTES];

	label_name(label, name, columns, CUT_END);
	words_add(w, "%s%s", before, label);
}

/* Where not all of it was recorded as closely. */
static void add_gears(const struct report *r, struct words *w)
{
	const struct model *m = r->m;
	uint64_t quiet_ns = 0;
	uint32_t every = 1;

	for (size_t i = 0; i < m->slices_cnt; i++) {
		if (!m->slices[i].quiet)
			continue;
		quiet_ns += m->slices[i].end_ns - m->slices[i].start_ns;
		if (m->slices[i].sample_every > every)
			every = m->slices[i].sample_every;
	}
	if (quiet_ns && m->slices_quiet < m->slices_cnt)
		words_add(w,
			  " · quiet gear for %s of it: ticks at %s Hz, waits as the kernel counts "
			  "them; single waits, behind whom they were, and state D are seen in the "
			  "rest",
			  number_time(quiet_ns).text,
			  number_fixed((double)m->host.sample_hz / every, 1).text);
}

void report_host_words(const struct report *r, struct words *w)
{
	const struct model_host *h = &r->m->host;
	const struct sched_sum *host = r->sched ? &r->sched->host : NULL;

	add_name(w, "Linux ", h->kernel, 30);
	add_name(w, " ", h->machine, 10);
	add_name(w, " · hotrun ", h->version, 10);
	add_name(w, " · ticks of ", h->event, 20);
	if (!r->totals->elapsed_ns)
		return;
	if (r->books.have_cpus && !(model_off(r->m) & OFF_SWITCHES))
		words_add(w, " · %s context switches a second",
			  number_count((uint64_t)((double)r->totals->switches * 1e9 /
							  (double)r->totals->elapsed_ns /
							  model_full_share(r->m) +
						  0.5))
				  .text);
	if (host && sched_delay_cnt(host))
		words_add(w, " · run delay p50 %s, p99 %s, max %s",
			  number_time(sched_delay_ns(host, 0.5)).text,
			  number_time(sched_delay_ns(host, 0.99)).text,
			  number_time(host->delay_max_ns).text);
	add_gears(r, w);
	/* Of those that kept no waits, the first kept no pressure either. */
	if (host || model_off(r->m) & OFF_SWITCHES)
		add_pressure(r, w);
}

void report_host(const struct report *r)
{
	const struct model_host *h = &r->m->host;

	put_title(r);
	put_taken(r);
	put_renamed(r);
	put_window(r);
	put_reading(r);
	put_load(r);
	put_off(r);
	if (h->filter[0]) {
		fputs("stacks only of: ", r->out);
		put_name(r, h->filter, r->o.width - 16, CUT_END);
		putc('\n', r->out);
	}
	if (r->withheld) {
		char text[256];

		put_paint(r, PAINT_ALARM);
		snprintf(text, sizeof(text),
			 "Shares of samples are withheld: %s of the samples that should be here "
			 "are missing (see the books below); --force shows them all the same.",
			 number_percent(r->books.lost_share).text);
		put_words(r, text, 0, 0);
		put_plain(r);
	}
}

/* Why there is no application code to name, in a few words. */
static const char *missing(const struct report *r, uint32_t process)
{
	const struct model_process *p = &r->m->processes[process];

	if (p->flags & PROCESS_DOTNET && p->perf_map != REASON_NAMED &&
	    p->perf_map != REASON_PENDING && p->perf_map != REASON_FROM_MEMORY)
		return model_reason_text(p->perf_map);
	return "no application code on its stacks";
}

/* Cores with as many decimals as it takes to tell small ones. */
static struct number cores_of(double cores, double whole)
{
	return number_fixed(cores, whole < 0.1 ? 3 : 2);
}

/* "0.55 ±0.03 of 0.80 cores (69.4 % ±3.2)". Near 0 and 1 the interval is one-sided. */
static size_t put_holds(char *text, size_t bytes, double cores, uint64_t part, uint64_t whole)
{
	double share = share_of(part, whole), low, high;
	double error = fmax(share_error(part, whole) * cores, cores < 0.1 ? 0.001 : 0.01);

	if (report_error_is_even(part, whole))
		return (size_t)snprintf(text, bytes, "%s ±%s of %s cores (%s %s)",
					cores_of(share * cores, cores).text,
					cores_of(error, cores).text, cores_of(cores, cores).text,
					number_percent(share).text, report_error(part, whole).text);
	share_range(part, whole, &low, &high);
	return (size_t)snprintf(text, bytes, "%s of %s cores (%s, at %s %s)",
				cores_of(share * cores, cores).text, cores_of(cores, cores).text,
				number_percent(share).text, share > 0.5 ? "least" : "most",
				number_percent(share > 0.5 ? low : high).text);
}

/* What holds for the method, in one sentence. */
static void put_evidence(const struct report *r, const struct total_process *t,
			 const struct start_here *s)
{
	char text[512];
	size_t n = put_holds(text, sizeof(text), report_cores(r, t->on_cpu_ns),
			     model_effective(r->m, s->samples), model_effective(r->m, s->all));

	n += (size_t)snprintf(text + n, sizeof(text) - n, ", %u thread%s", s->threads,
			      s->threads == 1 ? "" : "s");
	if (s->rule == START_HALF_OF_APPLICATION)
		snprintf(text + n, sizeof(text) - n,
			 "; no application method holds half of it: this one has most of the "
			 "%s in application code",
			 number_percent(share_of(s->application, s->all)).text);
	else if (s->rule == START_LARGEST)
		snprintf(
			text + n, sizeof(text) - n,
			"; no application method holds half of it: this one has the largest share");
	else if (s->rule == START_FRAMEWORK || s->rule == START_ANY)
		snprintf(text + n, sizeof(text) - n, "; %s", missing(r, t->process));
	put_spaces(r, 4);
	put_words(r, text, 4, 4);
}

#define ROLE_COLUMNS 32
#define SPREAD_ROWS  2

/* No method to start with: where most of the CPU goes all the same, by method where one is worth a
 * line, else by file. */
static void put_spread(const struct report *r, uint32_t process, struct top *top,
		       const struct start_here *s)
{
	struct top_list *list = &top->methods;
	unsigned int shown = 0;
	char text[CELL_BYTES];
	bool methods;

	top_sort_self(&top->methods, r->m);
	top_sort_self(&top->modules, r->m);
	methods = list->rows_cnt && share_of(list->rows[0].self, top->samples) >= START_MIN_SHARE &&
		  r->m->symbols[list->rows[0].symbol].kind != KIND_NOTE;
	if (!methods)
		list = &top->modules;
	snprintf(text, sizeof(text),
		 "no single %s stands out%s%s%s, the largest holds %s %s; most by their own CPU:",
		 s->application ? "application method" : "method", s->application ? "" : " (",
		 s->application ? "" : missing(r, process), s->application ? "" : ")",
		 number_percent(share_of(s->samples, s->all)).text,
		 report_error(model_effective(r->m, s->samples), model_effective(r->m, s->all))
			 .text);
	put_spaces(r, 4);
	put_words(r, text, 4, 4);
	for (size_t i = 0; i < list->rows_cnt && shown < SPREAD_ROWS && list->rows[i].self; i++) {
		const struct top_row *row = &list->rows[i];

		if (methods && r->m->symbols[row->symbol].kind == KIND_NOTE)
			continue;
		report_share(r, row->self, top->samples, text);
		fprintf(r->out, "   %s%*s", text, (int)(SHARE_COLUMNS - text_columns(text)), "");
		if (methods)
			put_method(r, row->symbol, r->o.width - 3 - SHARE_COLUMNS);
		else
			put_name(r, row->module[0] ? row->module : "(code of no file)",
				 r->o.width - 3 - SHARE_COLUMNS, CUT_MIDDLE);
		putc('\n', r->out);
		shown++;
	}
}

static void put_who(const struct report *r, const struct group_row *row)
{
	put_spaces(r, 2);
	put_process(r, row->process, r->o.width - 50);
	fprintf(r->out, " %u", r->m->processes[row->process].tgid);
	if (row->cnt > 1)
		fprintf(r->out, " (the heaviest of %s)", number_count(row->cnt).text);
	putc(':', r->out);
}

static void put_start(const struct report *r, const struct group_row *row,
		      const struct total_process *t, struct top *top, const struct start_here *s)
{
	char chain[CELL_BYTES], role[NAME_BYTES];
	struct hang hang;

	/* Of the little that a hang burns no method is worth a look. */
	if (s->all < START_MIN_SAMPLES && row->hurt && report_hang(r, row->process, &hang)) {
		threads_chain(chain, r->m, hang.standing, hang.group, r->o.width - 4, false);
		label_name(role, hang.group->label, ROLE_COLUMNS, CUT_END);
		fprintf(r->out, "\n    %s\n    %s of %s %s wait%s there\n", chain,
			number_count(hang.threads).text, number_count(hang.of).text, role,
			hang.threads == 1 ? "s" : "");
		return;
	}
	if (!s->all) {
		fprintf(r->out, " used %s cores, 0 samples\n",
			number_fixed(report_cores(r, t->on_cpu_ns), 3).text);
		return;
	}
	if (s->rule == START_TOO_FEW) {
		fprintf(r->out, " too few samples (%llu)\n", (unsigned long long)s->all);
		return;
	}
	if (s->rule == START_NOTHING) {
		fputs(" no frame of its code was seen\n", r->out);
		return;
	}
	putc('\n', r->out);
	if (s->rule == START_SPREAD) {
		put_spread(r, t->process, top, s);
		return;
	}
	put_spaces(r, 4);
	put_method(r, s->symbol, r->o.width - 4);
	putc('\n', r->out);
	put_evidence(r, t, s);
}

/* Of those that were asked for, else of all; own: room for one that shares its row with others. */
static const struct group_row *next_to_start(const struct report *r, size_t *at,
					     struct group_row *own)
{
	uint32_t process;

	if (!r->o.processes)
		return report_next_row(r, at);
	while (*at < r->o.process_cnt) {
		process = r->o.processes[(*at)++];
		if (!report_find(r, process))
			continue;
		for (size_t i = 0; i < r->groups.rows_cnt; i++)
			if (r->groups.rows[i].process == process && r->groups.rows[i].cnt == 1)
				return &r->groups.rows[i];
		*own = (struct group_row){.process = process, .cnt = 1};
		return own;
	}
	return NULL;
}

int report_start_here(const struct report *r)
{
	const struct group_row *row;
	size_t shown = 0, at = 0;
	struct group_row own;

	if (r->withheld)
		return 0;
	while (shown < HEAD_PROCESSES && (row = next_to_start(r, &at, &own))) {
		const struct total_process *p = report_find(r, row->process);
		struct top *top = top_new(r->m, row->process);
		struct start_here start;
		int err = -ENOMEM;

		if (top && p)
			err = start_here(r->m, row->process, top, &start);
		if (!err) {
			if (!shown++)
				put_heading(r, "start here");
			put_who(r, row);
			put_start(r, row, p, top, &start);
		}
		top_free(top);
		if (err)
			return err;
	}
	return 0;
}
