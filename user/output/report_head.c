/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen: the host and where to start. */
#include <errno.h>
#include <string.h>

#include "judge/remedy.h"
#include "judge/start_here.h"
#include "model/share.h"
#include "model/top.h"
#include "output/report_internal.h"

#define HEAD_START_HERE 3

static void put_times(const struct report *r)
{
	const struct model *m = r->m;
	int64_t start = 0;

	if (m->slices_cnt)
		start = ((int64_t)m->host.start_ns + m->slices[0].wall_offset_ns) / 1000000000;
	fprintf(r->out, "%s · %s at %u Hz (", number_utc(start).text,
		number_time(r->totals->elapsed_ns).text, m->host.sample_hz);
	put_name(r, m->host.event, 20, CUT_END, false);
	fputs(") · ", r->out);
	if (m->host.complete) {
		fputs("complete\n", r->out);
		return;
	}
	put_paint(r, PAINT_ALARM);
	fputs("ended early: killed, or disk full", r->out);
	put_plain(r);
	putc('\n', r->out);
}

static void put_cpus(const struct report *r)
{
	const struct totals *t = r->totals;
	double seconds = (double)t->elapsed_ns / 1e9;
	uint64_t busy = t->accounted_ns + t->unaccounted_ns;

	if (!r->books.have_cpus || !t->cpu_elapsed_ns || !t->elapsed_ns) {
		fputs("CPU busy: not known, the capture has no slice\n", r->out);
		return;
	}
	fprintf(r->out, "CPU busy %s of %u (%s) · steal %s · %s context switches a second\n",
		number_fixed(report_cores(r, busy), 2).text, r->m->host.cpus_online,
		number_percent(share_of(busy, t->cpu_elapsed_ns)).text,
		number_percent(share_of(t->steal_ns, t->cpu_elapsed_ns)).text,
		number_count((uint64_t)((double)t->switches / seconds + 0.5)).text);
}

void report_host(const struct report *r)
{
	const struct model_host *h = &r->m->host;

	put_paint(r, PAINT_HEADING);
	put_name(r, h->name, 40, CUT_END, false);
	put_plain(r);
	fputs(" · Linux ", r->out);
	put_name(r, h->kernel, 30, CUT_END, false);
	putc(' ', r->out);
	put_name(r, h->machine, 10, CUT_END, false);
	fprintf(r->out, " · %u CPU%s · hotrun ", h->cpus_online, h->cpus_online == 1 ? "" : "s");
	put_name(r, h->version, 10, CUT_END, false);
	putc('\n', r->out);
	put_times(r);
	put_cpus(r);
	if (h->filter[0]) {
		fputs("stacks only of: ", r->out);
		put_name(r, h->filter, r->o.width - 16, CUT_END, false);
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
	    p->perf_map != REASON_PENDING)
		return model_reason_text(p->perf_map);
	return "no application code on its stacks";
}

/* What holds for the method, in one sentence. */
static void put_evidence(const struct report *r, const struct total_process *t,
			 const struct start_here *s)
{
	double cores = report_cores(r, t->on_cpu_ns), share = share_of(s->samples, s->all);
	double error = share_error(s->samples, s->all);
	char text[512];
	size_t n = (size_t)snprintf(
		text, sizeof(text), "%s ±%s of %s cores (%s ±%s), %u thread%s",
		number_fixed(share * cores, 2).text, number_fixed(error * cores, 2).text,
		number_fixed(cores, 2).text, number_percent(share).text,
		number_fixed(error * 100, 1).text, s->threads, s->threads == 1 ? "" : "s");

	if (s->rule == START_HALF_OF_APPLICATION)
		snprintf(text + n, sizeof(text) - n,
			 "; no application method holds half of it: this one has most of the "
			 "%s in application code",
			 number_percent(share_of(s->application, s->all)).text);
	else if (s->rule == START_LARGEST)
		snprintf(
			text + n, sizeof(text) - n,
			"; no application method holds half of it: this one has the largest share");
	else if (s->rule == START_ANY)
		snprintf(text + n, sizeof(text) - n, "; %s", missing(r, t->process));
	put_spaces(r, 4);
	put_words(r, text, 4, 4);
}

static void put_start(const struct report *r, const struct total_process *t,
		      const struct start_here *s)
{
	put_spaces(r, 2);
	put_process(r, t->process, r->o.width - 40, false);
	fprintf(r->out, " %u:", r->m->processes[t->process].tgid);
	if (s->rule == START_TOO_FEW) {
		fprintf(r->out, " too few samples (%llu)\n", (unsigned long long)s->all);
		return;
	}
	if (s->rule == START_NOTHING) {
		fputs(" no frame of its code was seen\n", r->out);
		return;
	}
	fputs("\n    ", r->out);
	put_method(r, s->symbol, r->o.width - 4);
	putc('\n', r->out);
	put_evidence(r, t, s);
}

int report_start_here(const struct report *r)
{
	const struct totals *t = r->totals;
	uint32_t shown = 0;

	if (r->withheld)
		return 0;
	for (size_t i = 0; i < t->processes_cnt && shown < HEAD_START_HERE; i++) {
		const struct total_process *p = &t->processes[i];
		struct start_here start;
		struct top *top;
		int err;

		if (!p->samples ||
		    r->m->processes[p->process].flags & (PROCESS_KERNEL | PROCESS_SELF))
			continue;
		top = top_new(r->m, p->process);
		if (!top)
			return -ENOMEM;
		err = start_here(r->m, p->process, top, &start);
		top_free(top);
		if (err)
			return err;
		if (!shown++)
			put_heading(r, "start here");
		put_start(r, p, &start);
	}
	return 0;
}
