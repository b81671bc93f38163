/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first screen: host, processes by CPU, where to start. */
#include <errno.h>
#include <string.h>

#include "judge/remedy.h"
#include "judge/start_here.h"
#include "model/share.h"
#include "model/top.h"
#include "output/report_internal.h"

#define HEAD_PROCESSES	 10
#define HEAD_START_HERE	 3
#define KERNEL_BIG_SHARE 0.1 /* of the busy CPU: such a kernel thread has a row of its own */

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
	fputs("ended early: killed, or its disk was full", r->out);
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

/* Columns before the name, and of the pid after it. */
#define PROCESS_FIXED (8 + SHARE_COLUMNS + 10 + 14 + 2)
#define PID_COLUMNS   9

static void put_process_cells(const struct report *r, uint64_t on_cpu_ns, uint64_t samples,
			      uint32_t ran, uint32_t threads)
{
	char cell[64];

	put_right(r, number_fixed(report_cores(r, on_cpu_ns), 2).text, 7);
	putc(' ', r->out);
	if (samples)
		put_share(r, samples, r->totals->samples);
	else
		put_spaces(r, SHARE_COLUMNS);
	put_right(r, samples ? number_count(samples).text : "-", 10);
	snprintf(cell, sizeof(cell), "%u of %u", ran, threads);
	put_right(r, cell, 14);
	put_spaces(r, 2);
}

static bool used_cpu(const struct total_process *t)
{
	return t->on_cpu_ns || t->samples;
}

/* Kernel threads are one row, but for those that take much. */
static bool is_folded(const struct report *r, const struct total_process *t)
{
	if (!(r->m->processes[t->process].flags & PROCESS_KERNEL))
		return false;
	return (double)t->on_cpu_ns < KERNEL_BIG_SHARE * (double)r->totals->on_cpu_ns;
}

static void put_row(const struct report *r, const struct total_process *t)
{
	char pid[16];

	put_process_cells(r, t->on_cpu_ns, t->samples, t->threads_ran, t->threads);
	put_process(r, t->process, r->o.width - PROCESS_FIXED - PID_COLUMNS, true);
	snprintf(pid, sizeof(pid), "%u", r->m->processes[t->process].tgid);
	put_right(r, pid, PID_COLUMNS);
	putc('\n', r->out);
}

static void put_kernel_row(const struct report *r, const struct total_process *sum)
{
	if (!sum->on_cpu_ns && !sum->samples)
		return;
	put_process_cells(r, sum->on_cpu_ns, sum->samples, sum->threads_ran, sum->threads);
	fputs("kernel threads\n", r->out);
}

/* What the rows above leave out. */
static void put_rest(const struct report *r, uint32_t more, uint64_t more_ns, uint32_t idle)
{
	double unaccounted = report_cores(r, r->totals->unaccounted_ns);

	if (more) {
		put_right(r, number_fixed(report_cores(r, more_ns), 2).text, 7);
		fprintf(r->out, " … %s more process%s\n", number_count(more).text,
			more == 1 ? "" : "es");
	}
	if (unaccounted >= 0.005) {
		put_right(r, number_fixed(unaccounted, 2).text, 7);
		fputs(" unaccounted: ran in threads that were not known yet\n", r->out);
	}
	if (idle)
		fprintf(r->out, "        %s process%s used no CPU%s\n", number_count(idle).text,
			idle == 1 ? "" : "es", r->o.all ? "" : " (--all lists them)");
}

void report_processes(const struct report *r)
{
	const struct totals *t = r->totals;
	struct total_process kernel = {0};
	uint32_t shown = 0, more = 0, idle = 0;
	uint64_t more_ns = 0;

	put_heading(r, "  cores of samples       samples   threads ran  process");
	for (size_t i = 0; i < t->processes_cnt; i++) {
		const struct total_process *p = &t->processes[i];

		if (is_folded(r, p)) {
			kernel.on_cpu_ns += p->on_cpu_ns;
			kernel.samples += p->samples;
			kernel.threads += p->threads;
			kernel.threads_ran += p->threads_ran;
		} else if (!used_cpu(p)) {
			idle++;
		} else if (shown < HEAD_PROCESSES) {
			put_row(r, p);
			shown++;
		} else {
			more++;
			more_ns += p->on_cpu_ns;
		}
	}
	put_kernel_row(r, &kernel);
	put_rest(r, more, more_ns, idle);
	if (!shown && !kernel.on_cpu_ns && !kernel.samples)
		fputs("        no process used any CPU time in this capture\n", r->out);
}

/* Why there is no application code to name, in a few words. */
static const char *missing(const struct report *r, uint32_t process)
{
	const struct model_process *p = &r->m->processes[process];

	if (p->flags & PROCESS_DOTNET && p->perf_map != REASON_NAMED)
		return model_reason_text(p->perf_map);
	return "no application code on its stacks";
}

static void put_method_line(const struct report *r, const struct start_here *s, uint64_t on_cpu_ns)
{
	double cores = report_cores(r, on_cpu_ns);

	put_spaces(r, 4);
	put_method(r, s->symbol, r->o.width - 4);
	putc('\n', r->out);
	fprintf(r->out, "    %s ±%s of %s cores (%s ±%s), %u thread%s",
		number_fixed(share_of(s->samples, s->all) * cores, 2).text,
		number_fixed(share_error(s->samples, s->all) * cores, 2).text,
		number_fixed(cores, 2).text, number_percent(share_of(s->samples, s->all)).text,
		number_fixed(share_error(s->samples, s->all) * 100, 1).text, s->threads,
		s->threads == 1 ? "" : "s");
}

static void put_start(const struct report *r, const struct total_process *t,
		      const struct start_here *s)
{
	put_spaces(r, 2);
	put_process(r, t->process, r->o.width - 20, false);
	fprintf(r->out, " %u:", r->m->processes[t->process].tgid);
	if (s->rule == START_TOO_FEW) {
		fprintf(r->out, " too few samples (%llu)\n", (unsigned long long)s->all);
		return;
	}
	if (s->rule == START_NOTHING) {
		fputs(" no frame of its code was seen\n", r->out);
		return;
	}
	putc('\n', r->out);
	put_method_line(r, s, t->on_cpu_ns);
	if (s->rule == START_HALF_OF_APPLICATION)
		fprintf(r->out, "; application code has %s in all, half of it here",
			number_percent(share_of(s->application, s->all)).text);
	else if (s->rule == START_LARGEST)
		fputs("; no application method holds half, this one has most", r->out);
	else if (s->rule == START_ANY)
		fprintf(r->out, "; %s", missing(r, t->process));
	putc('\n', r->out);
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
