/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/deadlock.h"
#include "output/chain.h"
#include "output/label.h"
#include "output/threads.h"

#define NS_SECOND 1000000000ull
/* To which times are exact: ticks of the kernel's clock. */
#define TICK_NS 5000000ull
/* Thread ids below a line. */
#define TIDS_SHOWN   12
#define ROLE_COLUMNS 22
#define AGE_COLUMNS  17
/* Below, a line has less of all. */
#define NARROW_COLUMNS	    110
#define ROLE_COLUMNS_NARROW 14
#define AGE_COLUMNS_NARROW  8
/* Of each method of a line's chain, at the least, where there is more than one; of one alone; of
 * what stands between them. */
#define METHOD_COLUMNS 16
#define METHOD_LEAST   4
#define ARROW_COLUMNS  3
/* Of each name of a chain, so that all have room. */
#define CHAIN_NAME_BYTES 600

struct page {
	FILE *out;
	const struct model *m;
	const struct stands *stands;
	const struct standing *standing;
	const struct deadlocks *deadlocks;
	struct threads_options options;
	struct threads_count all;
	unsigned int lines;	 /* left */
	uint64_t idle, left_out; /* threads that were not shown */
	bool narrow;
};

struct threads_count threads_count(const struct model *m, const struct standing_group *first,
				   size_t cnt, bool own)
{
	struct threads_count n = {0};

	for (const struct standing_group *g = first; g < first + cnt; g++) {
		bool runs = g->wait == WAIT_RUNS || g->wait == WAIT_CPU;

		if (!own && model_is_own(m, g->process)) {
			n.own += g->threads;
			continue;
		}
		n.threads += g->threads;
		n.sampled += g->sampled ? g->threads : 0;
		if (g->moved && !g->sampled)
			n.moved += g->threads;
		else if (runs)
			n.running += g->threads;
		else if (g->idle)
			n.idle += g->threads;
		else
			n.waiting += g->threads;
	}
	return n;
}

/* "18 threads: 14 wait, 1 running, 2 idle" */
static void put_count(FILE *out, const struct threads_count *n)
{
	fprintf(out, "%s thread%s: %s wait%s, %s running, %s idle", number_count(n->threads).text,
		n->threads == 1 ? "" : "s", number_count(n->waiting).text,
		n->waiting == 1 ? "s" : "", number_count(n->running).text,
		number_count(n->idle).text);
}

/* A time that people say: "31.0 s", "12 min", "5 h", "3 days". */
struct number threads_age(uint64_t ns)
{
	struct number n;
	uint64_t s = ns / NS_SECOND;

	if (s < 120 && ns >= TICK_NS)
		return number_time(ns);
	if (s < 120)
		snprintf(n.text, sizeof(n.text), "< 5 ms");
	else if (s < 120 * 60)
		snprintf(n.text, sizeof(n.text), "%" PRIu64 " min", s / 60);
	else if (s < 48 * 3600)
		snprintf(n.text, sizeof(n.text), "%" PRIu64 " h", s / 3600);
	else
		snprintf(n.text, sizeof(n.text), "%" PRIu64 " days", s / 86400);
	return n;
}

/* "31.0 s"; "4.2 s … 31.0 s" where they differ and there is room. */
static void put_age(const struct page *p, const struct standing_group *g)
{
	size_t room = p->narrow ? AGE_COLUMNS_NARROW : AGE_COLUMNS, columns;
	bool differ = g->age_least_ns + g->age_most_ns / 10 < g->age_most_ns;
	char text[2 * NUMBER_BYTES + 8] = "n/a";

	if (g->ages && differ && !p->narrow)
		snprintf(text, sizeof(text), "%s … %s", threads_age(g->age_least_ns).text,
			 threads_age(g->age_most_ns).text);
	else if (g->ages)
		snprintf(text, sizeof(text), "%s", threads_age(g->age_most_ns).text);
	columns = text_columns(text);
	fprintf(p->out, "%*s%s", columns < room ? (int)(room - columns) : 0, "", text);
}

static void put_role(const struct page *p, const struct standing_group *g)
{
	size_t room = p->narrow ? ROLE_COLUMNS_NARROW : ROLE_COLUMNS;
	char label[NAME_BYTES];

	label_name(label, g->label, room, CUT_END);
	fprintf(p->out, "%s%*s", label, (int)(room - text_columns(label)), "");
}

/* --- a line ---------------------------------------------------------------------------------- */

static const char *wait_words(const struct standing_group *g)
{
	if (g->moved && !g->sampled)
		return "ran while it was looked at: look again";
	if (g->wait == WAIT_RUNS && !g->methods_cnt)
		return "runs";
	return stand_wait_text(g->wait);
}

/* How many methods there is room for: of three the one in between goes first, which is how, then
 * the last. Returns what they have together. */
static size_t fit_chain(uint32_t chain[STANDING_CHAIN], size_t *n, size_t room, size_t fixed)
{
	for (;;) {
		size_t words = fixed + ARROW_COLUMNS * *n;
		size_t left = room > words ? room - words : 0;

		if (*n <= 1 || left >= METHOD_COLUMNS * *n)
			return left;
		if (*n == STANDING_CHAIN)
			chain[1] = chain[2];
		--*n;
	}
}

/* Where there is little room, two thirds of it are for the first: what people look for. */
void threads_chain(char text[static CELL_BYTES], const struct model *m,
		   const struct standing *standing, const struct standing_group *g, size_t room,
		   bool narrow)
{
	uint32_t chain[STANDING_CHAIN];
	char names[STANDING_CHAIN][NAME_BYTES];
	size_t n = standing_chain(m, standing, g, chain), wanted = 0, at = 0;
	const char *wait = wait_words(g);
	char holder[40] = "";
	bool is_tight;

	/* What lies in between is how. */
	if (narrow && n == STANDING_CHAIN)
		chain[1] = chain[--n];
	if (g->holder)
		snprintf(holder, sizeof(holder), " (held by thread %" PRIu32 ")", g->holder);
	room = fit_chain(chain, &n, room, text_columns(wait) + strlen(holder));
	for (size_t i = 0; i < n; i++) {
		chain_method_name(names[i], &m->symbols[chain[i]]);
		wanted += text_columns(names[i]);
	}
	is_tight = wanted > room;
	for (size_t i = 0; i < n; i++) {
		bool managed = model_is_managed(&m->symbols[chain[i]]);
		size_t most = i + 1 == n ? room : i ? room / (n - i) : room * 2 / 3;

		if (is_tight)
			text_shorten(names[i], most > METHOD_LEAST ? most : METHOD_LEAST,
				     managed ? CUT_START : CUT_MIDDLE);
		room -= text_columns(names[i]) < room ? text_columns(names[i]) : room;
		at += (size_t)snprintf(text + at, CELL_BYTES - at, "%.*s → ", CHAIN_NAME_BYTES,
				       names[i]);
	}
	snprintf(text + at, CELL_BYTES - at, "%s%s", wait, holder);
}

static void put_tids(const struct page *p, const struct standing_group *g)
{
	unsigned int n = 0;

	fputs("           threads", p->out);
	for (uint32_t i = g->stand; i != MODEL_NONE && n < TIDS_SHOWN; i = p->standing->next[i])
		fprintf(p->out, "%s %" PRIu32, n++ ? "," : "",
			p->m->threads[p->stands->rows[i].at.thread].tid);
	if (g->threads > n)
		fprintf(p->out, " and %s more", number_count(g->threads - n).text);
	fputc('\n', p->out);
}

static void put_stack(const struct page *p, const struct standing_group *g)
{
	put_tids(p, g);
	for (size_t i = g->methods_cnt; i-- > 0;) {
		uint32_t symbol = p->standing->methods[g->first_method + i];
		char name[LABEL_METHOD_BYTES];

		label_method(name, &p->m->symbols[symbol], p->options.width - 13, LABEL_MODULE);
		fprintf(p->out, "             %s\n", name);
	}
}

static void put_group(const struct page *p, const struct standing_group *g)
{
	char chain[CELL_BYTES];
	size_t begin =
		8 + 2 + 1 + 2 +
		(p->narrow ? ROLE_COLUMNS_NARROW + AGE_COLUMNS_NARROW : ROLE_COLUMNS + AGE_COLUMNS);
	char marks[80];

	snprintf(marks, sizeof(marks), "%s%s%s%s",
		 g->holds && !g->holder ? " (others wait for it)" : "",
		 g->cut ? " (stack cut)" : "", g->sampled ? " (tick)" : "",
		 g->idle ? " (idle)" : "");
	begin += strlen(marks);

	fprintf(p->out, "%8s  ", number_count(g->threads).text);
	put_role(p, g);
	fputc(' ', p->out);
	put_age(p, g);
	fputs("  ", p->out);
	threads_chain(chain, p->m, p->standing, g,
		      p->options.width > begin ? p->options.width - begin : 0, p->narrow);
	fprintf(p->out, "%s%s\n", chain, marks);
	if (p->options.verbose)
		put_stack(p, g);
}

/* --- a process ------------------------------------------------------------------------------- */

static void put_process(const struct page *p, size_t from, size_t to)
{
	const struct standing_group *groups = p->standing->groups;
	const struct model_process *process = &p->m->processes[groups[from].process];
	struct threads_count n = threads_count(p->m, &groups[from], to - from, true);
	char name[NAME_BYTES];

	label_process(name, process, p->options.width - 60);
	fprintf(p->out, "\n%s %" PRIu32 " · ", name, process->tgid);
	put_count(p->out, &n);
	fputc('\n', p->out);
}

/* "deadlock, each waits for what the next one holds: debit 17 → credit 18 → debit 17"; all of them
 * are told, in as many lines as that takes. */
static void put_deadlock(const struct page *p, const struct deadlock *d)
{
	static const char words[] = "   deadlock, each waits for what the next one holds:";
	size_t column = text_columns(words);

	fputs(words, p->out);
	for (uint32_t k = 0; k <= d->cnt; k++) {
		const struct model_thread *t = &p->m->threads[d->threads[k % d->cnt]];
		char name[NAME_BYTES], text[NAME_BYTES + 32];
		size_t columns;

		label_name(name, t->comm, ROLE_COLUMNS, CUT_END);
		snprintf(text, sizeof(text), " %s %" PRIu32 "%s", name, t->tid,
			 k < d->cnt ? " →" : "");
		columns = text_columns(text);
		if (column + columns > p->options.width) {
			fputs("\n     ", p->out);
			column = 5;
		}
		fputs(text, p->out);
		column += columns;
	}
	fputc('\n', p->out);
}

/* The process of groups, and its deadlocks: those are told however few lines there are to be.
 * Returns whether it has any; else nothing is put. */
static bool put_deadlocks(const struct page *p, size_t from, size_t to)
{
	bool any = false;

	for (size_t i = 0; i < p->deadlocks->cnt; i++) {
		const struct deadlock *d = &p->deadlocks->rows[i];

		if (d->process != p->standing->groups[from].process)
			continue;
		if (!any)
			put_process(p, from, to);
		any = true;
		put_deadlock(p, d);
	}
	return any;
}

static bool is_shown(const struct page *p, const struct standing_group *g)
{
	return p->options.all || ((!g->idle || p->options.idle) && p->lines);
}

/* Groups of one process; returns the first of the next one. */
static size_t put_groups(struct page *p, size_t from)
{
	const struct standing *s = p->standing;
	uint32_t process = s->groups[from].process;
	size_t to = from;
	bool begun;

	while (to < s->groups_cnt && s->groups[to].process == process)
		to++;
	if (!p->options.all && !p->options.own && model_is_own(p->m, process))
		return to;
	begun = put_deadlocks(p, from, to);
	for (size_t i = from; i < to; i++) {
		const struct standing_group *g = &s->groups[i];

		if (!is_shown(p, g)) {
			*(g->idle && !p->options.idle ? &p->idle : &p->left_out) += g->threads;
			continue;
		}
		if (!begun)
			put_process(p, from, to);
		begun = true;
		put_group(p, g);
		p->lines -= p->lines > 0;
	}
	return to;
}

static void put_head(const struct page *p)
{
	char host[NAME_BYTES];

	label_name(host, p->m->host.name, 40, CUT_END);
	fprintf(p->out, "%s · %s · ", host, number_utc(p->options.time).text);
	put_count(p->out, &p->all);
	if (p->stands->pass_ns)
		fprintf(p->out, " · looked at in %s, nothing was stopped\n",
			number_time(p->stands->pass_ns).text);
	else
		fprintf(p->out, " · %s\n",
			p->options.window ? "the last look at every thread in that time"
					  : "as the recording ended");
}

/* Whether a .NET frame of it has no name only because that did not come in time. */
static bool is_late(const struct page *p, const struct standing_group *g)
{
	for (size_t i = 0; i < g->methods_cnt; i++) {
		const struct model_symbol *s =
			&p->m->symbols[p->standing->methods[g->first_method + i]];

		if (model_is_managed(s) &&
		    (s->reason == REASON_PENDING || s->reason == REASON_LIMIT ||
		     s->reason == REASON_BUDGET || s->reason == REASON_FILE_TIMEOUT))
			return true;
	}
	return false;
}

static uint64_t late_threads(const struct page *p)
{
	uint64_t threads = 0;

	for (size_t i = 0; i < p->standing->groups_cnt; i++)
		threads += is_late(p, &p->standing->groups[i]) ? p->standing->groups[i].threads : 0;
	return threads;
}

static void put_foot(const struct page *p)
{
	const struct stands *stands = p->stands;
	uint64_t late = late_threads(p);

	if (late || p->idle || p->left_out || stands->gone || p->all.moved || p->all.sampled ||
	    p->all.own || stands->unasked)
		fputc('\n', p->out);
	if (late)
		fprintf(p->out, "%s with methods whose names did not come in time: %s\n",
			number_count(late).text,
			stands->pass_ns ? "look again" : "`hotrun rename` may find them");
	if (p->idle)
		fprintf(p->out, "%s idle not shown (--idle shows them)\n",
			number_count(p->idle).text);
	if (p->left_out)
		fprintf(p->out, "%s more not shown (-n shows more lines, --all all)\n",
			number_count(p->left_out).text);
	if (p->all.moved)
		fprintf(p->out,
			"%s ran while they were looked at: nothing is said of their "
			"stacks\n",
			number_count(p->all.moved).text);
	if (p->all.sampled)
		fprintf(p->out, "%s ran: (tick) has their stack as of a tick up to a second ago\n",
			number_count(p->all.sampled).text);
	if (p->all.own)
		fprintf(p->out, "%s of hotrun itself not shown (--all, or -p, shows them)\n",
			number_count(p->all.own).text);
	if (stands->gone)
		fprintf(p->out, "%s of processes that had just begun or ended\n",
			number_count(stands->gone).text);
	if (stands->unasked)
		fprintf(p->out, "%s waiting of which nobody was asked who holds their lock\n",
			number_count(stands->unasked).text);
}

int threads_text_write(FILE *out, const struct model *m, const struct stands *stands,
		       const struct standing *standing, const struct threads_options *options)
{
	_cleanup_free_ struct deadlocks *deadlocks = deadlocks_new(m, stands, standing);
	struct page p = {
		.out = out,
		.m = m,
		.stands = stands,
		.standing = standing,
		.deadlocks = deadlocks,
		.options = *options,
		.lines = options->lines,
		.all = threads_count(m, standing->groups, standing->groups_cnt,
				     options->all || options->own),
	};

	if (!deadlocks)
		return -ENOMEM;
	if (!p.options.width)
		p.options.width = THREADS_DEFAULT_WIDTH;
	if (p.options.width < THREADS_MIN_WIDTH)
		p.options.width = THREADS_MIN_WIDTH;
	p.narrow = p.options.width < NARROW_COLUMNS;
	if (!p.lines)
		p.lines = THREADS_DEFAULT_LINES;
	put_head(&p);
	for (size_t i = 0; i < standing->groups_cnt;)
		i = put_groups(&p, i);
	put_foot(&p);
	return ferror(out) || fflush(out) ? -EIO : 0;
}
