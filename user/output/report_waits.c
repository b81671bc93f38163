/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who waits for a CPU, and for whom: of the first screen and of a process's details. How long a
 * process waited, and whether behind its own threads, is exact; who the others were is told by the
 * samples that saw somebody wait.
 */
#include <errno.h>
#include <linux/types.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "bpf/events.h"
#include "output/label.h"
#include "output/report_internal.h"

/* Fewer waiting threads seen tell nothing of who the others were: 1/1000 of a thread each. */
#define MIN_WEIGHT 20000

#define HEAD_MORE      3   /* named after those, by what they missed alone */
#define D_LEAST	       0.1 /* mean threads */
#define OTHERS_SHOWN   5
#define OTHERS_LEAST   0.01 /* of the time behind others; below, they are told together */
#define HOTTEST_LEAST  0.10 /* their hottest method is worth its place from here on, */
#define HEAD_HOTTEST   0.20 /* and on the first screen from here on */
#define HEAD_LEAST     0.10 /* of what is missing: the first screen tells no less */
#define OTHERS_COLUMNS 36
#define METHOD_COLUMNS 48
#define BEHIND_SHOWN   2    /* of a verdict's line, */
#define BEHIND_LEAST   0.10 /* and after the first from here on */

static struct number whole_percent(double share)
{
	struct number n = number_fixed(share * 100, 0);

	strcat(n.text, " %");
	return n;
}

static struct number mean_of(const struct report *r, uint64_t ns)
{
	return number_fixed(sched_mean(ns, r->sched->elapsed_ns), 2);
}

static uint64_t lost_ns(const struct sched_figures *s)
{
	return s->waited_ns + s->throttled_ns;
}

static uint64_t behind_others_ns(const struct sched_figures *s)
{
	return s->waited_ns > s->behind_own_ns ? s->waited_ns - s->behind_own_ns : 0;
}

static double part_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* --- who the others were --------------------------------------------------------------------- */

struct other {
	uint32_t row; /* of groups */
	uint64_t weight;
};

struct others {
	struct other *rows; /* most weight first */
	size_t rows_cnt;
	uint64_t weight;
};

static void others_clear(struct others *o)
{
	free(o->rows);
}

static int compare_others(const void *a, const void *b)
{
	const struct other *oa = a, *ob = b;

	if (oa->weight != ob->weight)
		return oa->weight < ob->weight ? 1 : -1;
	return COMPARE(oa->row, ob->row);
}

/* Whose wait is told: one process, or all those of a row. */
struct who {
	const struct group_row *row; /* NULL: the process alone */
	uint32_t process;	     /* or the heaviest of the row */
	bool head;		     /* told on the first screen */
};

static bool is_meant(const struct report *r, const struct who *who, uint32_t process)
{
	if (process == MODEL_NONE)
		return false;
	if (!who->row)
		return process == who->process;
	return r->groups.row_of[process] == (uint32_t)(who->row - r->groups.rows);
}

/* Who ran while they waited, by row of the table of processes. 0 or -ENOMEM. */
static int others_of(const struct report *r, const struct who *who, struct others *ret_others)
{
	_cleanup_free_ uint64_t *weights = calloc(r->groups.rows_cnt + 1, sizeof(*weights));
	struct others o = {0};

	o.rows = calloc(r->groups.rows_cnt + 1, sizeof(*o.rows));
	if (!weights || !o.rows) {
		free(o.rows);
		return -ENOMEM;
	}
	for (size_t i = 0; i < r->contention->pairs_cnt; i++) {
		const struct contention_pair *pair = &r->contention->pairs[i];
		uint32_t row = r->groups.row_of[pair->runner];

		if (pair->runner == pair->waiter || !is_meant(r, who, pair->waiter))
			continue;
		o.weight += pair->weight;
		if (row != MODEL_NONE)
			weights[row] += pair->weight;
	}
	for (uint32_t i = 0; i < r->groups.rows_cnt; i++)
		if (weights[i])
			o.rows[o.rows_cnt++] = (struct other){i, weights[i]};
	if (o.rows_cnt)
		qsort(o.rows, o.rows_cnt, sizeof(*o.rows), compare_others);
	*ret_others = o;
	return 0;
}

static int add_other(const struct report *r, struct words *w, const struct who *who,
		     const struct other *other, double share)
{
	const struct group_row *row = &r->groups.rows[other->row];
	char label[NAME_BYTES], method[NAME_BYTES] = "";
	int err = 0;

	report_label(r, row, OTHERS_COLUMNS, label);
	if (share >= (who->head ? HEAD_HOTTEST : HOTTEST_LEAST))
		err = report_hottest(r, row->process, METHOD_COLUMNS, method);
	words_add(w, "%s%s %s", row == who->row ? "others of these " : "", label,
		  whole_percent(share).text);
	if (method[0])
		words_add(w, " (hottest %s)", method);
	return err;
}

/* Why nobody is named, or NULL. */
static const char *nameless(const struct report *r, const struct who *who, const struct others *o)
{
	char class[POLICY_BYTES];
	uint32_t thread = policy_of_process(r->m, who->process, class);

	if (model_off(r->m) & OFF_QUEUES)
		return model_off_text(r->m, OFF_QUEUES);
	if (r->withheld)
		return "withheld, samples are missing";
	if (o->weight >= MIN_WEIGHT)
		return NULL;
	if (thread != MODEL_NONE && policy_is_realtime(&r->m->threads[thread]))
		return "samples do not name real-time threads that wait";
	return "too few samples";
}

static int add_others(const struct report *r, struct words *w, const struct who *who)
{
	_cleanup_(others_clear) struct others o = {0};
	int err = others_of(r, who, &o);
	const char *why = err ? NULL : nameless(r, who, &o);
	uint64_t rest = o.weight;
	size_t shown = 0;

	if (err)
		return err;
	words_add(w, "behind others: ");
	if (why) {
		words_add(w, "who they were: %s", why);
		return 0;
	}
	for (; !err && shown < o.rows_cnt && shown < OTHERS_SHOWN; shown++) {
		double share = part_of(o.rows[shown].weight, o.weight);

		if (shown && share < OTHERS_LEAST)
			break;
		if (shown)
			words_add(w, ", ");
		err = add_other(r, w, who, &o.rows[shown], share);
		rest -= o.rows[shown].weight;
	}
	if (part_of(rest, o.weight) >= 0.005)
		words_add(w, "; the rest %s", whole_percent(part_of(rest, o.weight)).text);
	return err;
}

int report_behind(const struct report *r, uint32_t process, struct words *w)
{
	struct who who = {NULL, process, true};
	_cleanup_(others_clear) struct others o = {0};
	int err = others_of(r, &who, &o);

	if (err || nameless(r, &who, &o))
		return err;
	for (size_t i = 0; i < o.rows_cnt && i < BEHIND_SHOWN; i++) {
		double share = part_of(o.rows[i].weight, o.weight);
		char label[NAME_BYTES];

		if (i && share < BEHIND_LEAST)
			break;
		report_label(r, &r->groups.rows[o.rows[i].row], OTHERS_COLUMNS, label);
		words_add(w, "%s %s %s", i ? "," : ":", label, whole_percent(share).text);
	}
	return 0;
}

/* --- how the wait splits --------------------------------------------------------------------- */

struct part {
	uint64_t ns;
	const char *text;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *pa = a, *pb = b;

	if (pa->ns != pb->ns)
		return pa->ns < pb->ns ? 1 : -1;
	return strcmp(pa->text, pb->text);
}

/* Largest first: it is what to do something about. What rounds to nothing is left out. */
static void add_parts(struct words *w, struct part *parts, size_t cnt, uint64_t whole)
{
	const char *comma = " ";

	qsort(parts, cnt, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < cnt && part_of(parts[i].ns, whole) >= 0.005; i++) {
		words_add(w, "%s%s %s", comma, whole_percent(part_of(parts[i].ns, whole)).text,
			  parts[i].text);
		comma = ", ";
	}
}

/* "wanted 3.20 CPUs, got 1.60 (50.0 %)". */
static void add_wanted(const struct report *r, struct words *w, const struct sched_figures *s)
{
	words_add(w, "wanted %s CPUs, got %s (%s)", mean_of(r, sched_wanted_ns(s)).text,
		  mean_of(r, s->on_cpu_ns).text, number_percent(sched_progress(s)).text);
}

static void add_split(const struct report *r, struct words *w, const struct sched_figures *s)
{
	bool own_is_off = model_off(r->m) & OFF_OWN;
	char unsplit[256];
	struct part parts[] = {
		{s->throttled_ns, "throttled by its own limit"},
		{own_is_off ? s->waited_ns : behind_others_ns(s),
		 own_is_off ? unsplit : "behind others"},
		{own_is_off ? 0 : s->behind_own_ns, "behind its own threads"},
	};

	snprintf(unsplit, sizeof(unsplit), "behind its own threads or others (which is n/a: %s)",
		 model_off_text(r->m, OFF_OWN));
	words_add(w, "missed %s:", mean_of(r, lost_ns(s)).text);
	add_parts(w, parts, sizeof(parts) / sizeof(parts[0]), lost_ns(s));
}

static void put_limit(const struct report *r, uint32_t process, uint32_t limit, size_t indent)
{
	char class[POLICY_BYTES], text[NAME_BYTES];
	struct words w = {0};

	if (limit != MODEL_NONE) {
		report_limit_text(r, limit, text);
		words_add(&w, "%s", text);
	} else {
		policy_of_process(r->m, process, class);
		words_add(&w, "throttled by %s",
			  !strcmp(class, "deadline") ? "the budget of the deadline class"
						     : "a limit that is not known");
		if (strcmp(class, "deadline") && model_off(r->m) & OFF_LIMITS)
			words_add(&w, ": %s", model_off_text(r->m, OFF_LIMITS));
	}
	put_paragraph(r, &w, indent);
}

/* Of several of one name, which may run under limits of their own. */
static uint32_t most_throttled(const struct report *r, const struct who *who)
{
	uint32_t most = who->process;

	for (uint32_t i = 0; who->row && i < r->m->processes_cnt; i++)
		if (is_meant(r, who, i) && r->sched->processes[i].sched.throttled_ns >
						   r->sched->processes[most].sched.throttled_ns)
			most = i;
	return most;
}

/* Who the others were and which limit it was, where at least that share of what is missing is
 * theirs. told: the limit that was told already. */
static int put_causes(const struct report *r, const struct who *who, const struct sched_figures *s,
		      double least, uint32_t told, size_t indent)
{
	uint32_t throttled = most_throttled(r, who), limit = report_limit_of(r, throttled);
	struct words others = {0};
	int err = 0;

	if (part_of(behind_others_ns(s), lost_ns(s)) >= least)
		err = add_others(r, &others, who);
	if (others.len)
		put_paragraph(r, &others, indent);
	if (part_of(s->throttled_ns, lost_ns(s)) >= least && (limit == MODEL_NONE || limit != told))
		put_limit(r, throttled, limit, indent);
	return err;
}

/* --- on the first screen --------------------------------------------------------------------- */

static bool is_told(const struct report *r, const struct group_row *row)
{
	if (r->m->host.filter[0] && !row->selected)
		return false;
	return !(r->m->processes[row->process].flags & PROCESS_SELF) &&
	       groups_waited(r->sched, &row->sched);
}

/* Those that lost most, most first. */
struct waiting {
	const struct group_row *rows[HEAD_PROCESSES + HEAD_MORE];
	size_t cnt;
	size_t more_cnt; /* rows that have no place here */
};

static struct waiting most_waiting(const struct report *r)
{
	const size_t places = HEAD_PROCESSES + HEAD_MORE;
	struct waiting most = {0};

	for (size_t i = 0; i < r->groups.rows_cnt; i++) {
		const struct group_row *row = &r->groups.rows[i];
		size_t at = most.cnt;

		if (!is_told(r, row))
			continue;
		while (at && lost_ns(&most.rows[at - 1]->sched) < lost_ns(&row->sched))
			at--;
		if (most.cnt < places)
			most.cnt++;
		else
			most.more_cnt++;
		if (at == places)
			continue;
		memmove(&most.rows[at + 1], &most.rows[at],
			(most.cnt - 1 - at) * sizeof(most.rows[0]));
		most.rows[at] = row;
	}
	return most;
}

static int put_who_waits(const struct report *r, const struct group_row *row)
{
	struct who who = {row, row->process, true};
	char label[NAME_BYTES];
	struct words w = {0};

	report_label(r, row, OTHERS_COLUMNS, label);
	words_add(&w, "%s: ", label);
	add_wanted(r, &w, &row->sched);
	words_add(&w, "; ");
	add_split(r, &w, &row->sched);
	put_paragraph(r, &w, 2);
	return put_causes(r, &who, &row->sched, HEAD_LEAST, MODEL_NONE, 4);
}

/* "missed less: wrk 31 0.22, kernel threads 0.10; and 3 more". */
static void put_missed_less(const struct report *r, const struct waiting *most)
{
	struct words w = {0};

	for (size_t i = HEAD_PROCESSES; i < most->cnt; i++) {
		char label[NAME_BYTES];

		report_label(r, most->rows[i], OTHERS_COLUMNS, label);
		words_add(&w, "%s %s %s", i == HEAD_PROCESSES ? "missed less:" : ",", label,
			  mean_of(r, lost_ns(&most->rows[i]->sched)).text);
	}
	if (most->more_cnt)
		words_add(&w, "; and %s more", number_count(most->more_cnt).text);
	if (w.len)
		put_paragraph(r, &w, 2);
}

/* Who hangs in the kernel wants no CPU, and so has no row in the tables above and below. */
static void put_uninterruptible(const struct report *r)
{
	/* Seen at switches alone: a mean of the time in which they were looked at. */
	uint64_t seen_ns = (uint64_t)((double)r->sched->elapsed_ns * model_full_share(r->m));
	const struct sched_sum *all = r->sched->processes;
	uint32_t most[HEAD_PROCESSES];
	size_t cnt = 0, more = 0;
	struct words w = {0};

	for (uint32_t i = 0; i < r->m->processes_cnt; i++) {
		uint64_t ns = all[i].sched.uninterruptible_ns;
		size_t at = cnt;

		if (sched_mean(ns, seen_ns) < D_LEAST)
			continue;
		while (at && all[most[at - 1]].sched.uninterruptible_ns < ns)
			at--;
		if (cnt < HEAD_PROCESSES)
			cnt++;
		else
			more++;
		if (at == HEAD_PROCESSES)
			continue;
		memmove(&most[at + 1], &most[at], (cnt - 1 - at) * sizeof(most[0]));
		most[at] = i;
	}
	for (size_t i = 0; i < cnt; i++) {
		char label[NAME_BYTES];

		label_process(label, &r->m->processes[most[i]], OTHERS_COLUMNS);
		words_add(
			&w, "%s%s %u %s", i ? ", " : "", label, r->m->processes[most[i]].tgid,
			number_fixed(sched_mean(all[most[i]].sched.uninterruptible_ns, seen_ns), 2)
				.text);
	}
	if (more)
		words_add(&w, "; and %s more", number_count(more).text);
	if (!cnt)
		return;
	put_heading(r, "asleep and not interruptible (state D: disk, NFS), mean threads");
	put_paragraph(r, &w, 2);
}

int report_who_waits(const struct report *r)
{
	struct waiting most = {0};
	int err = 0;

	if (r->sched)
		most = most_waiting(r);
	if (most.cnt)
		put_heading(r, "who waits");
	for (size_t i = 0; i < most.cnt && i < HEAD_PROCESSES && !err; i++)
		err = put_who_waits(r, most.rows[i]);
	if (!err)
		put_missed_less(r, &most);
	if (!err && r->sched)
		put_uninterruptible(r);
	return err;
}

/* --- in the details of a process ------------------------------------------------------------- */

int report_process_waits(const struct report *r, uint32_t process)
{
	const struct sched_figures *s;
	struct sched_available available;
	struct who who = {NULL, process, false};
	struct words w = {0}, split = {0};

	if (!r->sched)
		return 0;
	s = &r->sched->processes[process].sched;
	available = sched_available(r->m, process);
	add_wanted(r, &w, s);
	words_add(&w, "; could use %s CPUs (affinity %u", number_fixed(available.cpus, 2).text,
		  available.mask);
	if (available.cgroup != MODEL_NONE) {
		char text[NAME_BYTES];

		report_limit_text(r, available.cgroup, text);
		words_add(&w, ", %s", text);
	} else if (model_off(r->m) & OFF_LIMITS) {
		words_add(&w, ", limits n/a: %s", model_off_text(r->m, OFF_LIMITS));
	}
	words_add(&w, ")");
	put_paragraph(r, &w, 3);
	if (!report_is_some(r, lost_ns(s)))
		return 0;
	add_split(r, &split, s);
	put_paragraph(r, &split, 3);
	return put_causes(r, &who, s, 0.005, available.cgroup, 3);
}
