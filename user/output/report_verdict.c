/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict, which the report opens with: a line for the host, then those who are hurt, by what,
 * those whose limit leaves no room, those that want more CPU than they get, and those that are
 * busy. Processes of one name and one verdict share a line.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "judge/verdicts.h"
#include "output/hang_words.h"
#include "output/label.h"
#include "output/report_internal.h"
#include "output/verdict_words.h"

#define LINES_SHOWN	3 /* of processes, of each rank: the first screen is short */
#define CONTENDED_SHOWN 2 /* where somebody is hurt: that comes first */
#define WORDS_SHOWN	3 /* figures of a line */
#define HOST_WORDS	2
#define LABEL_COLUMNS	48
#define CULPRIT_COLUMNS 32

/* Those of one name that have the same verdict. */
struct verdict_group {
	const struct verdict_row *row; /* the worst of them */
	uint32_t cnt;
};

struct verdict_groups {
	struct verdict_group *groups;
	size_t groups_cnt;
	uint32_t more[VERDICT_CNT]; /* processes that found no place */
	uint32_t more_cnt;
};

static enum verdict verdict_of_row(const struct verdict_row *row)
{
	return verdicts_result(row)->verdict;
}

static bool is_hurt(const struct verdict_row *row)
{
	return verdicts_result(row)->hurt;
}

/* --- the host -------------------------------------------------------------------------------- */

static struct number mean_of(const struct report *r, uint64_t ns)
{
	return number_fixed(sched_mean(ns, r->sched->elapsed_ns), 2);
}

static const struct group_row *most_of(const struct report *r,
				       uint64_t (*figure)(const struct sched_figures *))
{
	const struct group_row *most = NULL;

	for (size_t i = 0; i < r->groups.rows_cnt; i++) {
		const struct group_row *row = &r->groups.rows[i];

		if (!(r->m->processes[row->process].flags & PROCESS_SELF) &&
		    (!most || figure(&row->sched) > figure(&most->sched)))
			most = row;
	}
	return most;
}

static uint64_t ran_ns(const struct sched_figures *s)
{
	return s->on_cpu_ns;
}

static uint64_t runnable_ns(const struct sched_figures *s)
{
	return s->on_cpu_ns + s->waited_ns;
}

const struct group_row *report_most_cpu(const struct report *r)
{
	return most_of(r, ran_ns);
}

const struct group_row *report_most_runnable(const struct report *r)
{
	return most_of(r, runnable_ns);
}

static void add_culprits(const struct report *r, struct words *w)
{
	const struct group_row *cpu = report_most_cpu(r), *threads = report_most_runnable(r);
	char label[NAME_BYTES];

	if (!cpu || !threads)
		return;
	report_label(r, cpu, CULPRIT_COLUMNS, label);
	words_add(w, "most CPU%s: %s %s", cpu == threads ? " and most runnable threads" : "", label,
		  mean_of(r, cpu->sched.on_cpu_ns).text);
	if (cpu != threads) {
		report_label(r, threads, CULPRIT_COLUMNS, label);
		words_add(w, "; most runnable threads: %s", label);
	}
	words_add(w, "%s%s", cpu == threads ? " and " : " ",
		  mean_of(r, runnable_ns(&threads->sched)).text);
}

/* True where one of those who are hurt waits for a CPU. */
static bool victims_wait(const struct verdicts *v)
{
	double waiting = 0;

	for (size_t i = 0; i < v->rows_cnt; i++)
		if (is_hurt(&v->rows[i]))
			waiting += v->rows[i].input.waiting + v->rows[i].input.throttled;
	return waiting >= 0.005;
}

static void put_verdict_id(const struct report *r, enum verdict verdict, bool alarm)
{
	put_paint(r, alarm ? PAINT_ALARM : PAINT_HEADING);
	fputs(verdict_id(verdict), r->out);
	put_plain(r);
}

static bool is_calm(enum verdict verdict)
{
	return verdict_compare(verdict, VERDICT_CONTENDED) >= 0;
}

uint64_t report_since_ns(const struct report *r, uint64_t time_ns)
{
	uint64_t start_ns = r->m->host.start_ns;

	return (time_ns > start_ns ? time_ns - start_ns : 0) + r->o.window.from_ns;
}

static struct number second_of(const struct report *r, uint64_t time_ns)
{
	return number_fixed((double)report_since_ns(r, time_ns) / 1e9, 1);
}

/* "from 12.0 to 17.0 s" */
static void add_run(const struct report *r, struct words *w, const struct verdict_row *row)
{
	const struct model *m = r->m;

	words_add(w, "from %s to %s s", second_of(r, m->slices[row->first].start_ns).text,
		  second_of(r, m->slices[row->last].end_ns).text);
}

static void add_figure(struct words *w, const struct verdict_result *result,
		       const struct verdict_input *input, size_t at)
{
	char text[VERDICT_WORDS_BYTES];

	/* A share that must not be less is an alarm's word. */
	if ((result->verdict == VERDICT_CONTENDED || result->verdict == VERDICT_UNKNOWN) &&
	    result->evidence[at].figure == FIGURE_PROGRESS)
		wanted_words(text, input);
	else
		verdict_words(text, &result->evidence[at], input);
	words_add(w, "%s%s", at ? ", " : "", text);
}

/* The first of so many figures, which says that it is so, and the last, which says why. */
static void add_evidence(struct words *w, const struct verdict_result *result,
			 const struct verdict_input *input, size_t cnt)
{
	if (cnt > result->evidence_cnt)
		cnt = result->evidence_cnt;
	if (cnt)
		add_figure(w, result, input, 0);
	if (cnt > 1)
		add_figure(w, result, input, cnt - 1);
}

/* Whose verdict the host has, where it is not its own. Where requests are not seen, whether those
 * who wait keep anybody waiting is not known. */
static void add_hurt_count(const struct report *r, struct words *w)
{
	const struct verdicts *v = r->verdicts;
	bool blind = !v->hurt_services && report_requests_off(r);

	if (v->hurt)
		words_add(w, "; %s of %s processes %s%s", number_count(v->hurt).text,
			  number_count(v->judged).text, blind ? "short of CPU" : "hurt",
			  is_calm(v->host.result.verdict) ? " for a while" : "");
	else if (v->contended)
		words_add(w, "; nobody is seen to be hurt");
	else if (!v->host.input.unmeasured)
		words_add(w, "; nobody is hurt%s",
			  v->host.input.has_requests ? "" : ", as far as the scheduler tells");
	if (v->contended && v->hurt)
		words_add(w, ", %s contended", number_count(v->contended).text);
	else if (v->contended)
		words_add(w, "; %s of %s processes %s", number_count(v->contended).text,
			  number_count(v->judged).text,
			  v->contended > 1 ? "want more CPU than they get"
					   : "wants more CPU than it gets");
	if (v->unknown)
		words_add(w, "; %s of %s processes unknown", number_count(v->unknown).text,
			  number_count(v->judged).text);
	if (model_requests_why(r->m))
		words_add(w, "; requests not measured: %s", model_requests_why(r->m));
	if (v->at_limit)
		words_add(w, "; %s %s no room left at %s CPU limit", number_count(v->at_limit).text,
			  v->at_limit > 1 ? "services have" : "service has",
			  v->at_limit > 1 ? "their" : "its");
}

/* A calm host is told in one line: the CPU stands above it. */
static size_t host_figures(const struct verdict_row *host)
{
	return host->result.verdict == VERDICT_HEALTHY ? 1 : HOST_WORDS;
}

static void add_host(const struct report *r, struct words *w)
{
	const struct verdicts *v = r->verdicts;
	const struct verdict_row *host = &v->host;

	if (v->missing) {
		words_add(w, "%s", v->missing);
		if (v->hurt)
			add_hurt_count(r, w);
		return;
	}
	add_evidence(w, &host->result, &host->input, host_figures(host));
	add_hurt_count(r, w);
	if (host->episode) {
		words_add(w, "; %s ", verdict_id(host->worst_result.verdict));
		add_run(r, w, host);
	}
}

/* What is true of a verdict's processes. */
struct remedy_notes {
	bool stuck;   /* of one a request hangs */
	bool service; /* one has a service signal */
	bool others;  /* another service is hurt, too */
	bool tasks;   /* workers of one wait for tasks */
};

static void put_remedy(const struct report *r, const struct verdict_result *result,
		       struct remedy_notes notes)
{
	enum verdict verdict = result->verdict;
	bool waits = verdict == VERDICT_STARVED || verdict == VERDICT_OVERSUBSCRIBED;
	struct words w = {0};

	if (!verdict_result_remedy(result)[0])
		return;
	words_add(&w, "→ %s", verdict_result_remedy(result));
	if (waits && !notes.service)
		words_add(&w, "; give what may wait less weight (CPUWeight=; nice counts within "
			      "one session only)");
	if (verdict == VERDICT_INELASTIC && notes.tasks)
		words_add(&w, "; workers wait for tasks that may need workers: await them instead");
	if (verdict == VERDICT_INELASTIC && notes.others)
		words_add(&w, "; a proxy is as slow as the service behind it: look there first");
	if (notes.stuck)
		words_add(&w, "; long polls and streams wait by design: set \"stuck\" for them "
			      "(--limit)");
	put_paragraph(r, &w, 4);
}

static void put_host(const struct report *r)
{
	const struct verdict_row *host = &r->verdicts->host;
	enum verdict verdict = host->result.verdict;
	struct words w = {0}, who = {0};
	size_t at = strlen("verdict: ") + strlen(verdict_id(verdict)) + 1;

	fputs("verdict: ", r->out);
	put_verdict_id(r, verdict, !is_calm(verdict));
	putc(' ', r->out);
	words_add(&w, "· ");
	add_host(r, &w);
	put_words(r, w.text, at, 2);
	if (verdict != VERDICT_HOST_OVERLOADED)
		return;
	add_culprits(r, &who);
	if (!victims_wait(r->verdicts))
		words_add(&who, "; who is hurt does not wait for a CPU, see below");
	words_add(&who, " → %s", verdict_remedy(verdict));
	put_paragraph(r, &who, 2);
}

/* --- processes ------------------------------------------------------------------------------- */

/* "Shop.Web 30448", "12 x sh, the worst 4711" */
static void add_label(const struct report *r, struct words *w, const struct verdict_group *g)
{
	const struct model_process *p = &r->m->processes[g->row->process];
	char label[NAME_BYTES];

	label_process(label, p, LABEL_COLUMNS);
	if (g->cnt > 1)
		words_add(w, "%s x %s, the %s %u: ", number_count(g->cnt).text, label,
			  verdicts_rank(g->row) == RANK_CALM ? "busiest" : "worst", p->tgid);
	else
		words_add(w, "%s %u: ", label, p->tgid);
}

/* When it was, where not all the time. */
static void add_when(const struct report *r, struct words *w, const struct verdict_row *row)
{
	uint32_t slices = r->verdicts->slices;

	if (row->first == MODEL_NONE || row->hurt_slices >= slices || !is_hurt(row))
		return;
	words_add(w, "; ");
	add_run(r, w, row);
	if (row->last > row->first)
		words_add(w, ", worst at %s s",
			  second_of(r, r->m->slices[row->worst].start_ns).text);
}

static bool has_bad(const struct verdict_result *result, enum verdict_figure figure)
{
	for (size_t i = 0; i < result->evidence_cnt; i++)
		if (result->evidence[i].figure == figure && result->evidence[i].bad)
			return true;
	return false;
}

static void add_limit(const struct report *r, struct words *w, uint32_t process)
{
	uint32_t limit = report_limit_of(r, process);
	char text[NAME_BYTES];

	if (limit == MODEL_NONE)
		return;
	report_limit_text(r, limit, text);
	words_add(w, ": %s", text);
}

/* What its threads wait for. */
static void add_hang(const struct report *r, struct words *w, uint32_t process)
{
	struct hang hang;

	if (!report_hang(r, process, &hang))
		return;
	words_add(w, "; ");
	hang_words(w, r->m, &hang);
}

/* Why the requests of an unknown one were not measured is told of the host. */
static void add_serves(struct words *w, const struct verdict_row *row)
{
	if (verdict_of_row(row) == VERDICT_UNKNOWN)
		words_add(w, row->listens ? "; it listens, and its requests were not measured"
					  : "; whether it serves requests is not known");
}

/* Who or what it was, where that has a name. 0 or -ENOMEM. */
static int add_cause(const struct report *r, struct words *w, const struct verdict_row *row)
{
	char text[VERDICT_WORDS_BYTES];

	if (verdicts_result(row)->at_limit) {
		wanted_words(text, verdicts_input(row));
		words_add(w, "; no room left at its CPU limit: %s", text);
		add_limit(r, w, row->process);
		return 0;
	}
	switch (verdicts_result(row)->cause) {
	case FIGURE_BEHIND_OTHERS:
		return report_behind(r, row->process, w);
	case FIGURE_THROTTLED:
		add_limit(r, w, row->process);
		break;
	default:
		if (verdict_of_row(row) == VERDICT_INELASTIC)
			add_hang(r, w, row->process);
		if (verdict_of_row(row) == VERDICT_BUSY_UNMEASURED && row->unmeasured)
			words_add(w, "; no service signal: %s", row->unmeasured);
	}
	return 0;
}

/* What the figures of requests may mean beside. */
static void add_blur(struct words *w, const struct verdict_row *row)
{
	const struct verdict_result *result = verdicts_result(row);

	if (row->blur && (has_bad(result, FIGURE_STUCK) || has_bad(result, FIGURE_SLOW_SHARE)))
		words_add(w, " (%s)", row->blur);
}

/* How many figures tell of this one: those that decided, and one more. */
static size_t figures_told(const struct verdict_result *result)
{
	size_t cnt = 0;

	while (cnt < result->evidence_cnt && result->evidence[cnt].bad &&
	       result->evidence[cnt].figure != FIGURE_CPU)
		cnt++;
	if (result->verdict == VERDICT_INELASTIC || cnt == 0)
		cnt++;
	if (result->verdict == VERDICT_BUSY_ELASTIC)
		cnt = 2;
	if (result->at_limit)
		cnt = 1;
	return cnt < WORDS_SHOWN ? cnt : WORDS_SHOWN;
}

static int put_group(const struct report *r, const struct verdict_group *g)
{
	const struct verdict_row *row = g->row;
	const struct verdict_result *result = verdicts_result(row);
	enum verdict verdict = result->verdict;
	size_t at = 2 + strlen(verdict_id(verdict)) + 1;
	struct words w = {0};
	int err;

	add_label(r, &w, g);
	add_evidence(&w, result, verdicts_input(row), figures_told(result));
	err = add_cause(r, &w, row);
	add_serves(&w, row);
	add_when(r, &w, row);
	add_blur(&w, row);
	put_spaces(r, 2);
	put_verdict_id(r, verdict, result->hurt);
	putc(' ', r->out);
	put_words(r, w.text, at, 4);
	return err;
}

static bool fits(const struct report *r, const struct verdict_group *g,
		 const struct verdict_row *row)
{
	return verdict_of_row(g->row) == verdict_of_row(row) &&
	       verdicts_rank(g->row) == verdicts_rank(row) && g->row->episode == row->episode &&
	       g->row->listens == row->listens &&
	       groups_alike(r->m, &r->m->processes[g->row->process],
			    &r->m->processes[row->process]);
}

/* Rows come in order, so that groups do, too. */
static void add_row(const struct report *r, struct verdict_groups *all,
		    const struct verdict_row *row, size_t from, size_t most)
{
	for (size_t i = from; i < all->groups_cnt; i++) {
		if (!fits(r, &all->groups[i], row))
			continue;
		all->groups[i].cnt++;
		return;
	}
	if (all->groups_cnt - from < most) {
		all->groups[all->groups_cnt++] = (struct verdict_group){row, 1};
		return;
	}
	all->more[verdict_of_row(row)]++;
	all->more_cnt++;
}

/* Groups of that rank at the most. */
static size_t most_of_rank(const struct report *r, enum verdicts_rank rank)
{
	size_t most = r->o.all ? r->o.rows : LINES_SHOWN;

	if (rank == RANK_CONTENDED && r->verdicts->hurt && !r->o.all)
		return CONTENDED_SHOWN;
	return rank == RANK_CALM && r->o.processes ? most + r->o.process_cnt : most;
}

static int group_rows(const struct report *r, struct verdict_groups *all)
{
	const struct verdicts *v = r->verdicts;
	size_t most = 0, i = 0;

	for (enum verdicts_rank rank = 0; rank < RANK_CNT; rank++)
		most += most_of_rank(r, rank);
	all->groups = calloc(most + 1, sizeof(*all->groups));
	if (!all->groups)
		return -ENOMEM;
	for (enum verdicts_rank rank = 0; rank < RANK_CNT; rank++) {
		size_t from = all->groups_cnt;

		most = most_of_rank(r, rank);
		for (; i < v->rows_cnt && verdicts_rank(&v->rows[i]) == rank; i++)
			add_row(r, all, &v->rows[i], from, most);
	}
	return 0;
}

/* "7 more: 5 starved, 2 throttled". */
static void put_more(const struct report *r, const struct verdict_groups *all)
{
	const char *comma = ":";
	struct words w = {0};

	if (!all->more_cnt)
		return;
	words_add(&w, "%s more", number_count(all->more_cnt).text);
	for (enum verdict v = 0; v < VERDICT_CNT; v++) {
		if (!all->more[v])
			continue;
		words_add(&w, "%s %s %s", comma, number_count(all->more[v]).text, verdict_id(v));
		comma = ",";
	}
	if (!r->o.all)
		words_add(&w, " (--all lists more)");
	put_paragraph(r, &w, 2);
}

static void groups_free(struct verdict_groups *all)
{
	free(all->groups);
}

/* What to do is told once, after the last group that it is for. */
static bool comes_again(const struct verdict_groups *all, size_t at)
{
	const char *remedy = verdict_result_remedy(verdicts_result(all->groups[at].row));

	for (size_t i = at + 1; i < all->groups_cnt; i++)
		if (verdict_result_remedy(verdicts_result(all->groups[i].row)) == remedy)
			return true;
	return false;
}

int report_verdict(const struct report *r)
{
	_cleanup_(groups_free) struct verdict_groups all = {0};
	struct remedy_notes notes[VERDICT_CNT] = {0};
	uint32_t services = 0;
	struct hang hang;
	int err = group_rows(r, &all);

	if (err)
		return err;
	put_host(r);
	for (size_t i = 0; !err && i < all.groups_cnt; i++)
		services += is_hurt(all.groups[i].row) &&
			    verdict_has_signal(verdicts_input(all.groups[i].row));
	for (size_t i = 0; !err && i < all.groups_cnt; i++) {
		const struct verdict_row *row = all.groups[i].row;
		struct remedy_notes *of = &notes[verdict_of_row(row)];

		err = put_group(r, &all.groups[i]);
		of->stuck |= has_bad(verdicts_result(row), FIGURE_STUCK);
		of->service |= verdict_has_signal(verdicts_input(row));
		of->others = services > 1;
		of->tasks |= report_hang(r, row->process, &hang) && hang.sync_over_async;
		if (!comes_again(&all, i))
			put_remedy(r, verdicts_result(row), *of);
	}
	if (!err)
		put_more(r, &all);
	return err;
}
