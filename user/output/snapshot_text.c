/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "output/chain.h"
#include "output/label.h"
#include "output/snapshot.h"

/* Of each table in the ten lines, before the one that waits most. */
#define FIRST_ROWS 2u
/* Of the columns before a name. */
#define FIGURES_COLUMNS 34
#define PROCESS_COLUMNS 24
/* CPU time that was not told below this share of all is not worth a line. */
#define WORTH  0.05
#define SECOND 1000000000ull
/* Cores, of children of a process. */
#define CHILDREN_LEAST 0.01

struct page {
	FILE *out;
	const struct model *m;
	const struct snapshot *s;
	const struct snapshot_view *v;
	struct snapshot_options options;
};

static struct page page_of(FILE *out, const struct model *m, const struct snapshot *s,
			   const struct snapshot_view *v, const struct snapshot_options *options)
{
	struct page p = {out, m, s, v, *options};

	if (!p.options.width)
		p.options.width = SNAPSHOT_DEFAULT_WIDTH;
	if (p.options.width < SNAPSHOT_MIN_WIDTH)
		p.options.width = SNAPSHOT_MIN_WIDTH;
	if (!p.options.lines)
		p.options.lines = SNAPSHOT_DEFAULT_LINES;
	return p;
}

/* A time over all intervals as a mean number of CPUs, or of threads. */
static double mean(const struct page *p, uint64_t ns)
{
	return p->s->elapsed_ns ? (double)ns / (double)p->s->elapsed_ns : 0;
}

/* --- the host -------------------------------------------------------------------------------- */

static void put_how(const struct page *p)
{
	const struct urgent *u = p->options.urgent;

	if (u && u->realtime)
		fprintf(p->out, " · SCHED_RR on %" PRIu32 " of %" PRIu32 " CPUs", u->cpus,
			u->cpus_all);
	else if (u)
		fprintf(p->out, " · nice %d", u->nice);
	if (p->options.by == SNAPSHOT_BY_ARMED)
		fputs(", armed", p->out);
}

static void put_host(const struct page *p)
{
	const struct snapshot *s = p->s;
	char host[NAME_BYTES];

	label_name(host, p->m->host.name, 40, CUT_END);
	fprintf(p->out, "%s · %s · ", host, number_utc(p->options.time).text);
	if (p->options.by == SNAPSHOT_BY_WATCH)
		fprintf(p->out, "the last %s of `hotrun watch`", number_time(s->elapsed_ns).text);
	else if (s->intervals > 1)
		fprintf(p->out, "%" PRIu32 " looks in %s", s->intervals + 1,
			number_time(s->elapsed_ns).text);
	else
		fprintf(p->out, "2 looks %s apart", number_time(s->elapsed_ns).text);
	fprintf(p->out, " · answered after %s, %s of CPU", number_time(p->options.answer_ns).text,
		number_time(p->options.cpu_ns).text);
	put_how(p);
	fputc('\n', p->out);
}

static void put_memory(const struct page *p)
{
	const struct snapshot *s = p->s;

	if (s->memory_bytes)
		fprintf(p->out, " · memory %s in use",
			number_percent(1 - (double)s->memory_free_bytes / (double)s->memory_bytes)
				.text);
}

static void put_load(const struct page *p)
{
	const struct snapshot *s = p->s;
	const struct snapshot_view *v = p->v;

	fprintf(p->out, "CPU %s of %" PRIu32 " busy", number_fixed(mean(p, s->busy_ns), 2).text,
		s->cpus);
	if (s->waits)
		fprintf(p->out, " · %s threads wait for one",
			number_fixed(mean(p, v->waited_ns), 1).text);
	if (v->throttled)
		fprintf(p->out, " (%s stopped by a limit)", number_count(v->throttled).text);
	fprintf(p->out, " · %s in state D · %s of %s did or wanted anything",
		number_count(v->uninterruptible / (s->intervals ?: 1)).text,
		number_count(v->threads).text, number_count(s->all).text);
	if (s->forks)
		fprintf(p->out, " · %s begun a second",
			number_count((uint64_t)(mean(p, s->forks * SECOND) + 0.5)).text);
	put_memory(p);
	fputc('\n', p->out);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void put_figures(const struct page *p, uint64_t ran_ns, uint64_t waited_ns, uint64_t threads)
{
	fprintf(p->out, "%7s  %7s  %7s  ", number_fixed(mean(p, ran_ns), 2).text,
		p->s->waits ? number_fixed(mean(p, waited_ns), 1).text : "n/a",
		number_count(threads).text);
}

static void put_process(const struct page *p, const struct snapshot_process *row)
{
	const struct model_process *process = &p->m->processes[row->process];
	uint64_t uninterruptible = row->uninterruptible / (p->s->intervals ?: 1);
	char name[NAME_BYTES];

	put_figures(p, row->ran_ns, row->waited_ns, row->threads);
	fprintf(p->out, "%5s  ", uninterruptible ? number_count(uninterruptible).text : "-");
	if (process->flags & PROCESS_KERNEL) {
		fputs("kernel threads", p->out);
	} else {
		label_process(name, process, p->options.width - 62);
		fputs(name, p->out);
		if (row->processes > 1)
			fprintf(p->out, " × %s processes", number_count(row->processes).text);
		else
			fprintf(p->out, " %" PRIu32, process->tgid);
	}
	if (mean(p, row->children_ns) > CHILDREN_LEAST)
		fprintf(p->out, ", and %s cores in children that ended",
			number_fixed(mean(p, row->children_ns), 2).text);
	if (row->born)
		fprintf(p->out, " (%s began now)", number_count(row->born).text);
	if (row->throttled)
		fprintf(p->out, " (%s stopped by a limit)", number_count(row->throttled).text);
	fputc('\n', p->out);
}

static void put_processes(const struct page *p, size_t most, bool tells_more)
{
	fputs("  cores  waiting  threads      D  process\n", p->out);
	for (size_t i = 0; i < p->v->processes_cnt && i < most; i++)
		put_process(p, &p->v->processes[i]);
	if (tells_more && p->v->processes_cnt > most)
		fprintf(p->out, "%35s  %s more\n", "",
			number_count(p->v->processes_cnt - most).text);
}

/* Why there is no method: that of the leaf, else there was no stack. */
static void put_unnamed(const struct page *p, const struct snapshot_code *row, size_t room)
{
	const struct standing_group *g = &p->v->standing->groups[row->group];
	char name[LABEL_METHOD_BYTES];

	if (!g->methods_cnt) {
		fputs(*p->s->stacks_why ? "[no stacks]" : "[no stack]", p->out);
		return;
	}
	label_method(name,
		     &p->m->symbols[p->v->standing->methods[g->first_method + g->methods_cnt - 1]],
		     room, LABEL_MODULE);
	fputs(name, p->out);
}

/* "Shop.Hash.Spin → Inner.Loop" as far as there is room. */
static void put_chain(const struct page *p, const struct snapshot_code *row, size_t room)
{
	const struct standing_group *g = &p->v->standing->groups[row->group];
	uint32_t chain[STANDING_CHAIN];
	size_t n = standing_chain(p->m, p->v->standing, g, chain), columns;
	char name[NAME_BYTES];

	if (!n || row->method == MODEL_NONE) {
		put_unnamed(p, row, room);
		return;
	}
	chain_method_name(name, &p->m->symbols[chain[0]]);
	text_shorten(name, room, CUT_START);
	fputs(name, p->out);
	columns = text_columns(name);
	chain_method_name(name, &p->m->symbols[chain[n - 1]]);
	if (n > 1 && columns + 3 + text_columns(name) <= room)
		fprintf(p->out, " → %s", name);
}

static void put_code(const struct page *p, const struct snapshot_code *row)
{
	const struct model_process *process = &p->m->processes[row->process];
	const char *wait = row->wait == WAIT_CPU ? "" : stand_wait_text(row->wait);
	size_t room = p->options.width - FIGURES_COLUMNS - PROCESS_COLUMNS,
	       end = text_columns(wait);
	char name[NAME_BYTES];

	put_figures(p, row->ran_ns, row->waited_ns, row->threads);
	if (process->flags & PROCESS_KERNEL)
		snprintf(name, sizeof(name), "kernel");
	else
		label_name(name, process->name, PROCESS_COLUMNS - 2, CUT_MIDDLE);
	fprintf(p->out, "%s: ", name);
	put_chain(p, row, room > end + 20 ? room - end : 20);
	if (*wait)
		fprintf(p->out, " → %s, state D", wait);
	if (row->processes > 1)
		fprintf(p->out, " (%s processes)", number_count(row->processes).text);
	fputc('\n', p->out);
}

static void put_codes(const struct page *p, size_t most, bool tells_more)
{
	if (*p->s->stacks_why) {
		char why[NAME_BYTES];

		label_name(why, p->s->stacks_why, p->options.width, CUT_END);
		fprintf(p->out, "code: n/a: %s\n", why);
		return;
	}
	fputs("  cores  waiting  threads  code\n", p->out);
	for (size_t i = 0; i < p->v->codes_cnt && i < most; i++)
		put_code(p, &p->v->codes[i]);
	if (tells_more && p->v->codes_cnt > most)
		fprintf(p->out, "%24s  %s more\n", "", number_count(p->v->codes_cnt - most).text);
}

/* The last row of the first lines: who waits most, but for those that stand there already. */
static const struct snapshot_process *waiting_process(const struct snapshot_view *v)
{
	const struct snapshot_process *most = &v->processes[FIRST_ROWS];

	for (size_t i = FIRST_ROWS; i < v->processes_cnt; i++)
		if (v->processes[i].waited_ns > most->waited_ns)
			most = &v->processes[i];
	for (size_t i = 0; i < FIRST_ROWS; i++)
		if (v->processes[i].waited_ns > most->waited_ns)
			return &v->processes[FIRST_ROWS];
	return most;
}

static const struct snapshot_code *waiting_code(const struct snapshot_view *v)
{
	const struct snapshot_code *most = &v->codes[FIRST_ROWS];

	for (size_t i = FIRST_ROWS; i < v->codes_cnt; i++)
		if (v->codes[i].waited_ns > most->waited_ns)
			most = &v->codes[i];
	for (size_t i = 0; i < FIRST_ROWS; i++)
		if (v->codes[i].waited_ns > most->waited_ns)
			return &v->codes[FIRST_ROWS];
	return most;
}

int snapshot_first_write(FILE *out, const struct model *m, const struct snapshot *s,
			 const struct snapshot_view *v, const struct snapshot_options *options)
{
	const struct page p = page_of(out, m, s, v, options);

	put_host(&p);
	put_load(&p);
	put_processes(&p, FIRST_ROWS, false);
	if (v->processes_cnt > FIRST_ROWS)
		put_process(&p, waiting_process(v));
	put_codes(&p, FIRST_ROWS, false);
	if (v->codes_cnt > FIRST_ROWS && !*s->stacks_why)
		put_code(&p, waiting_code(v));
	return ferror(out) || fflush(out) ? -EIO : 0;
}

/* What no row of code tells of. */
static void put_rest(const struct page *p)
{
	const struct snapshot *s = p->s;
	const struct snapshot_view *v = p->v;
	double busy = mean(p, s->busy_ns);

	fputc('\n', p->out);
	if (mean(p, v->gone_ns) > WORTH * busy)
		fprintf(p->out,
			"%s of %s busy CPUs: in no row: interrupts, children that nobody has "
			"waited for, threads that BPF does not see\n",
			number_fixed(mean(p, v->gone_ns), 2).text, number_fixed(busy, 2).text);
	if (mean(p, v->asleep_ns) > WORTH * busy)
		fprintf(p->out, "%s CPUs: threads that slept when they were looked at\n",
			number_fixed(mean(p, v->asleep_ns), 2).text);
	if (s->cut)
		fprintf(p->out, "%s threads: no room for their stacks\n",
			number_count(s->cut).text);
	if (s->late)
		fprintf(p->out, "%s threads: reading their stacks took too long\n",
			number_count(s->late).text);
	if (s->on_cpu)
		fprintf(p->out, "%s threads: on a CPU when they were looked at, so without stack\n",
			number_count(s->on_cpu).text);
	fprintf(p->out, "hotrun itself: %s of CPU; nothing was stopped\n",
		number_time(p->options.cpu_ns).text);
}

int snapshot_rest_write(FILE *out, const struct model *m, const struct snapshot *s,
			const struct snapshot_view *v, const struct snapshot_options *options)
{
	const struct page p = page_of(out, m, s, v, options);

	if (p.options.by == SNAPSHOT_BY_WATCH)
		fputs("\nall of it:\n", out);
	else
		fprintf(out, "\nwith all names, after %s:\n", number_time(options->answer_ns).text);
	put_processes(&p, p.options.lines, true);
	fputc('\n', out);
	put_codes(&p, p.options.lines, true);
	put_rest(&p);
	return ferror(out) || fflush(out) ? -EIO : 0;
}
