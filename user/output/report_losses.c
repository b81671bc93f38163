/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books in short for the first screen, and the full table of what was lost and what helps. */
#include <errno.h>
#include <string.h>

#include "judge/remedy.h"
#include "model/share.h"
#include "output/label.h"
#include "output/left_out.h"
#include "output/report_internal.h"

#define TEXT_BYTES 512
/* Of one process: a name of 30 characters, each escaped at the worst, and our words. */
#define CLAUSE_BYTES 256
#define INDENT	     10

static void put_entry(const struct report *r, const char *label, const char *text, bool alarm)
{
	if (alarm)
		put_paint(r, PAINT_ALARM);
	fprintf(r->out, "%-*s", INDENT, label);
	put_words(r, text, INDENT, INDENT);
	if (alarm)
		put_plain(r);
}

static void sample_books(const struct report *r)
{
	const struct books *b = &r->books;
	const char *why = model_feature_why(r->m, FEATURE_SAMPLES);
	char text[TEXT_BYTES];
	size_t n;

	if (why) {
		snprintf(text, sizeof(text), "n/a: %s", why);
		put_entry(r, "samples", text, true);
		return;
	}
	if (!b->have_cpus) {
		put_entry(r, "samples", "no CPU books in this capture: losses are not known", true);
		return;
	}
	n = (size_t)snprintf(text, sizeof(text), "%s expected, %s taken, %s %s%s; %s reported",
			     number_count(b->expected).text, number_count(b->taken).text,
			     number_count(b->surplus ? b->surplus : b->missed).text,
			     b->surplus ? "surplus" : "missed",
			     (b->missed || b->surplus) && b->missed + b->surplus <= b->noise
				     ? " (within counting noise)"
			     : b->cpu_unsampled ? " (a CPU was not sampled)"
						: "",
			     number_count(b->reported).text);
	if (b->filtered)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s filtered",
				      number_count(b->filtered).text);
	n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s dropped",
			      number_count(b->dropped).text);
	if (b->dropped > b->dropped_known)
		snprintf(text + n, sizeof(text) - n, " (%s of them of no known cause)",
			 number_count(b->dropped - b->dropped_known).text);
	put_entry(r, "samples", text, b->samples_gap);
}

static void switch_books(const struct report *r)
{
	const struct books *b = &r->books;
	const char *why = model_feature_why(r->m, FEATURE_COUNTERS);
	char text[TEXT_BYTES], gap[128] = "";

	if (why) {
		snprintf(text, sizeof(text),
			 "CPUs: from /proc/stat; threads: estimated from samples, because %s", why);
		put_entry(r, "CPU time", text, true);
	} else if (model_off(r->m) & OFF_SWITCHES) {
		put_entry(r, "CPU time",
			  "of CPUs by /proc/stat, of threads by the kernel's own counters, to a "
			  "clock tick: switches were not seen",
			  false);
	}
	if (!b->capacity_ns)
		return;
	if (b->switches_gap && (b->threads_off || !b->uncovered_ns))
		snprintf(gap, sizeof(gap), ": a gap, figures of CPU time are off by as much");
	else if (b->switches_gap)
		snprintf(gap, sizeof(gap), ": %s are in no CPU's books",
			 number_time(b->uncovered_ns).text);
	snprintf(text, sizeof(text), "threads, idle and unaccounted make %s of %s CPU%s x %s%s",
		 number_percent((double)b->covered_ns / (double)b->capacity_ns).text,
		 number_fixed(b->cpus_seen, b->cpus_seen == (double)r->m->host.cpus_online ? 0 : 2)
			 .text,
		 r->m->host.cpus_online == 1 ? "" : "s", number_time(r->totals->elapsed_ns).text,
		 gap);
	put_entry(r, "CPU time", text, b->switches_gap);
}

/* "Shop.Api: 0.1 % of managed, 3.0 % of all (mostly no-symbol)" into text; "" where it has no
 * frames. 0 or -ENOMEM. */
static int name_clause(const struct report *r, uint32_t process, char *text, size_t bytes)
{
	const struct model_process *p = &r->m->processes[process];
	const struct unnamed *u = report_unnamed(r, process);
	char name[NAME_BYTES];
	enum model_reason most;
	size_t n;

	text[0] = '\0';
	if (!u)
		return -ENOMEM;
	most = unnamed_commonest(u);
	label_name(name, p->name[0] ? p->name : p->comm, 30, CUT_MIDDLE);
	/* The only one with samples is told as all. */
	if (u->frames && u->frames < r->unnamed->frames) {
		n = (size_t)snprintf(text, bytes, "%s: ", name);
		if (u->managed)
			n += (size_t)snprintf(
				text + n, bytes - n, "%s of managed, ",
				number_percent(share_of(u->managed_unnamed, u->managed)).text);
		n += (size_t)snprintf(text + n, bytes - n, "%s%s",
				      number_percent(share_of(unnamed_frames(u), u->frames)).text,
				      u->managed ? " of all" : "");
		if (most != REASON_NAMED)
			snprintf(text + n, bytes - n, " (mostly %s)", model_reason_id(most));
	}
	return 0;
}

/* The processes of "start here" first: what is true of the whole host may be so of a compiler. */
static int name_clauses(const struct report *r, char *text, size_t bytes)
{
	const struct group_row *row;
	size_t n = 0, at = 0;

	text[0] = '\0';
	for (int i = 0; i < HEAD_PROCESSES && (row = report_next_row(r, &at)); i++) {
		char clause[CLAUSE_BYTES];
		int err = name_clause(r, row->process, clause, sizeof(clause));

		if (err)
			return err;
		if (clause[0])
			n += (size_t)snprintf(text + n, bytes - n, "%s; ", clause);
	}
	return 0;
}

static int name_books(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	enum model_reason most = unnamed_commonest(u);
	char text[TEXT_BYTES + HEAD_PROCESSES * CLAUSE_BYTES],
		clauses[HEAD_PROCESSES * CLAUSE_BYTES];
	size_t n;
	int err;

	if (!u->frames)
		return 0;
	err = name_clauses(r, clauses, sizeof(clauses));
	if (err)
		return err;
	n = (size_t)snprintf(text, sizeof(text),
			     clauses[0] ? "unnamed frames of %sall: %s" : "%s%s of frames unnamed",
			     clauses, number_percent(share_of(unnamed_frames(u), u->frames)).text);
	if (most != REASON_NAMED)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", mostly %s (%s)",
				      model_reason_text(most),
				      number_percent(share_of(u->by_reason[most], u->frames)).text);
	if (most != REASON_NAMED && remedy_reason(most)[0])
		snprintf(text + n, sizeof(text) - n, " → %s", remedy_reason(most));
	put_entry(r, "names", text, false);
	if (u->managed) {
		struct words w = {0};

		words_add(&w, "%s of %s managed frames have a name",
			  number_percent(1 - share_of(u->managed_unnamed, u->managed)).text,
			  number_count(u->managed).text);
		report_named_by(u, &w);
		put_entry(r, "", w.text, false);
	}
	return 0;
}

static const char *place_text(const struct unnamed_break *b)
{
	if (b->place == BREAK_IN_UNKNOWN)
		return "an unknown place";
	return b->place[0] ? b->place : "JIT or anonymous code";
}

static void stack_books(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	char text[TEXT_BYTES + NAME_BYTES], library[NAME_BYTES];
	size_t n;

	if (!u->user_stacks)
		return;
	n = (size_t)snprintf(text, sizeof(text), "%s do not reach the root of their thread",
			     number_percent(share_of(u->broken, u->user_stacks)).text);
	if (u->breaks_cnt) {
		label_name(library, place_text(&u->breaks[0]), 30, CUT_MIDDLE);
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, ", most break in %s (%s: %s)", library,
			number_percent(share_of(u->breaks[0].samples, u->user_stacks)).text,
			model_end_text(u->breaks[0].end));
	}
	if (u->unsure)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "; %s may lack callers of code without tables",
				      number_percent(share_of(u->unsure, u->user_stacks)).text);
	if (u->cut)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "; of %s the middle is left out, %s frames at the most",
				      number_percent(share_of(u->cut, u->user_stacks)).text,
				      number_count(u->left_out_most).text);
	if (u->by_reason[REASON_TRUNCATED])
		snprintf(text + n, sizeof(text) - n, "; %s cut → %s",
			 number_percent(share_of(u->by_reason[REASON_TRUNCATED], u->user_stacks))
				 .text,
			 remedy_reason(REASON_TRUNCATED));
	put_entry(r, "stacks", text, false);
}

int report_all_books(const struct report *r)
{
	int err;

	put_heading(r, "books");
	sample_books(r);
	switch_books(r);
	err = name_books(r);
	if (err)
		return err;
	stack_books(r);
	return 0;
}

/* More than this says that a perf map is missing, or is not what it should be. */
#define MANAGED_UNNAMED 0.02

bool report_books_wrong(const struct report *r)
{
	const struct books *b = &r->books;
	const struct unnamed *u = r->unnamed;

	return !b->have_cpus || b->samples_gap || b->switches_gap || b->missed > b->noise ||
	       b->dropped || model_off(r->m) & OFF_SWITCHES ||
	       share_of(u->managed_unnamed, u->managed) > MANAGED_UNNAMED;
}

void report_named_by(const struct unnamed *u, struct words *w)
{
	static const char *const by[NAMED_BY_CNT] = {"images", "perf maps", "memory"};
	uint64_t named = u->managed - u->managed_unnamed;
	const char *before = " (";

	for (int i = 0; i < NAMED_BY_CNT && named; i++) {
		if (u->managed_by[i] == named)
			words_add(w, " (by %s", by[i]);
		else if (u->managed_by[i])
			words_add(w, "%s%s %s", before, by[i],
				  number_percent(share_of(u->managed_by[i], u->managed)).text);
		before = u->managed_by[i] ? ", " : before;
	}
	if (named)
		words_add(w, ")");
}

/* "1,963 of 1,963 samples and 100.0 % of CPU time are accounted for; ..." */
static void put_books_in_short(const struct report *r)
{
	const struct books *b = &r->books;
	const struct unnamed *u = r->unnamed;
	struct words w = {0};

	words_add(&w, "balance: %s samples", number_count(b->reported + b->filtered).text);
	if (b->capacity_ns)
		words_add(&w, " and %s of CPU time",
			  number_percent((double)b->covered_ns / (double)b->capacity_ns).text);
	if (u->managed)
		words_add(&w, "; %s of managed frames have a name",
			  number_percent(1 - share_of(u->managed_unnamed, u->managed)).text);
	report_named_by(u, &w);
	if (u->frames)
		words_add(&w, u->managed ? ", %s of all" : "; %s of frames have a name",
			  number_percent(1 - share_of(unnamed_frames(u), u->frames)).text);
	put_entry(r, "books", w.text, false);
}

/* That they are there: the report itself is of sums. */
static void put_switches(const struct report *r)
{
	const struct model *m = r->m;
	uint64_t turns = 0;
	struct words w = {0};

	if (!m->switches_cnt)
		return;
	for (size_t i = 0; i < m->switches_cnt; i++)
		turns += m->switches[i].kind == SWITCH_TURN;
	words_add(
		&w,
		"%s single switches and %s wakeups are in the capture: hotrun timeline shows them",
		number_count(turns).text, number_count(m->switches_cnt - turns).text);
	put_entry(r, "switches", w.text, false);
}

int report_books(const struct report *r)
{
	struct words w = {0};

	putc('\n', r->out);
	report_host_words(r, &w);
	put_entry(r, "host", w.text, false);
	put_switches(r);
	if (report_books_wrong(r))
		return report_all_books(r);
	put_books_in_short(r);
	return 0;
}

/* A line of what was lost: how many, of all, and what. */
struct loss {
	uint64_t cnt, of; /* of: 0 = there is no share to tell */
	const char *what; /* made safe */
};

static struct value loss_share(const struct subject *s)
{
	const struct loss *loss = s->item;

	if (!loss->of)
		return (struct value){.kind = VALUE_BLANK};
	return value_real(share_of(loss->cnt, loss->of));
}

static void loss_what(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct loss *loss = s->item;

	(void)columns;
	snprintf(text, CELL_BYTES, "%s", loss->what);
}

static const struct figure figure_loss_cnt = {"lost", "lost", AS_COUNT, FIELD(struct loss, cnt)};
static const struct figure figure_loss_share = {"lost_share", "of all", AS_SHARE,
						.value = loss_share};
static const struct figure figure_loss_what = {NULL, "what", .text = loss_what};

/* They explain themselves, and have no titles. */
static const struct column loss_columns[] = {
	{&figure_loss_cnt, .width = 12},
	{&figure_loss_share, .width = 10},
	{&figure_loss_what, .left = true, .gap = 2},
};

/* remedy: what helps, "" nothing. */
static void put_loss(const struct report *r, struct loss loss, const char *remedy)
{
	struct subject s = {.report = r, .m = r->m, .item = &loss};
	struct table t;

	TABLE_OF(&t, loss_columns, r, 0);
	table_put_row(r->out, &t, &s);
	if (remedy[0]) {
		put_spaces(r, table_rest_at(&t));
		fputs("→ ", r->out);
		put_words(r, remedy, table_rest_at(&t) + 2, table_rest_at(&t) + 2);
	}
}

/* What of a process was not taken for too much of it. */
typedef uint64_t (*refused_fn)(const struct model_process *p);

static uint64_t requests_refused(const struct model_process *p)
{
	return p->requests_refused;
}

static uint64_t mappings_refused(const struct model_process *p)
{
	return p->mappings_refused;
}

/* Processes that a loss is told of by name. */
#define LOST_PROCESSES 5

/* The process with the most that comes after the one told last; MODEL_NONE: there is no more. */
static uint32_t next_refused(const struct model *m, refused_fn refused_of, uint32_t last)
{
	uint64_t below = last == MODEL_NONE ? UINT64_MAX : refused_of(&m->processes[last]);
	uint32_t most = MODEL_NONE;

	for (uint32_t i = 0; i < m->processes_cnt; i++) {
		uint64_t refused = refused_of(&m->processes[i]);

		if (!refused || refused > below ||
		    (refused == below && (last == MODEL_NONE || i <= last)))
			continue;
		if (most == MODEL_NONE || refused > refused_of(&m->processes[most]))
			most = i;
	}
	return most;
}

/* Whose it was. */
static void put_refused(const struct report *r, refused_fn refused_of, const char *text)
{
	char name[NAME_BYTES], line[NAME_BYTES + 128];
	uint32_t row = MODEL_NONE;

	for (int i = 0; i < LOST_PROCESSES; i++) {
		row = next_refused(r->m, refused_of, row);
		if (row == MODEL_NONE)
			return;
		label_process(name, &r->m->processes[row], 40);
		snprintf(line, sizeof(line), "of %s %u: %s", name, r->m->processes[row].tgid, text);
		put_loss(r, (struct loss){refused_of(&r->m->processes[row]), 0, line}, "");
	}
	if (next_refused(r->m, refused_of, row) != MODEL_NONE)
		fprintf(r->out, "%24s  … of more processes\n", "");
}

static void put_records(const struct report *r)
{
	const struct books *b = &r->books;
	bool any = false;

	put_heading(r, "what was lost");
	if (b->missed > b->noise) {
		put_loss(r,
			 (struct loss){b->missed, b->expected, model_loss_text(LOSS_TICKS_MISSED)},
			 remedy_loss(LOSS_TICKS_MISSED));
		any = true;
	}
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		uint64_t count = r->totals->losses[cause];

		/* Missed ticks are judged over the whole capture, above. */
		if (!count || cause == LOSS_TICKS_MISSED)
			continue;
		put_loss(r, (struct loss){count, 0, model_loss_text(cause)}, remedy_loss(cause));
		if (cause == LOSS_ENDPOINTS)
			put_refused(r, requests_refused,
				    "of its endpoints, these are not followed");
		if (cause == LOSS_MODEL_LIMIT)
			put_refused(r, mappings_refused,
				    "too many mappings a second, these are not followed");
		any = true;
	}
	if (b->dropped > b->dropped_known) {
		put_loss(r,
			 (struct loss){b->dropped - b->dropped_known, 0,
				       "samples dropped for no known cause"},
			 "");
		any = true;
	}
	if (!b->have_cpus)
		fputs("            not known: the capture has no slice\n", r->out);
	else if (!any)
		fputs("            nothing\n", r->out);
}

/* Processes whose files or perf maps cost more than they may. */
static void put_costly(const struct report *r)
{
	const struct model *m = r->m;
	bool any = false;

	for (size_t i = 0; i < m->processes_cnt; i++) {
		const struct model_process *p = &m->processes[i];
		char text[TEXT_BYTES], name[NAME_BYTES], line[TEXT_BYTES + NAME_BYTES + 32];

		if (!left_out_any(m, p))
			continue;
		if (!any)
			put_heading(r, "names left out for what they cost");
		any = true;
		label_process(name, p, 40);
		left_out_text(m, p, text, sizeof(text));
		snprintf(line, sizeof(line), "names of %s: %s", name, text);
		put_spaces(r, 2);
		put_words(r, line, 2, 4);
	}
}

static enum model_reason reason_of(const struct subject *s)
{
	return *(const enum model_reason *)s->item;
}

static struct value frames(const struct subject *s)
{
	return value_count(s->report->unnamed->by_reason[reason_of(s)]);
}

static struct value of_frames(const struct subject *s)
{
	const struct unnamed *u = s->report->unnamed;

	/* What stands for frames that are not there has no share of frames. */
	if (unnamed_is_note(reason_of(s)))
		return (struct value){.kind = VALUE_NONE};
	return value_real(share_of(u->by_reason[reason_of(s)], u->frames));
}

static struct value as_leaf(const struct subject *s)
{
	const struct unnamed *u = s->report->unnamed;

	return value_real(share_of(u->leaves[reason_of(s)], u->samples));
}

static void why(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	(void)columns;
	(void)s;
	text[0] = '\0'; /* it may take more than a line */
}

static const struct figure figure_frames = {"frames", "frames", AS_COUNT, .value = frames};
static const struct figure figure_of_frames = {"frame_share", "of frames", AS_SHARE,
					       .value = of_frames};
static const struct figure figure_as_leaf = {"leaf_share", "as leaf", AS_SHARE, .value = as_leaf};
static const struct figure figure_why = {NULL, "(of samples)", .text = why};

static const struct column unnamed_columns[] = {
	{&figure_frames, .width = 12},
	{&figure_of_frames, .width = 11},
	{&figure_as_leaf, .width = 10},
	{&figure_why, .left = true, .gap = 2},
};

static void put_reason(const struct report *r, const struct table *t, enum model_reason reason)
{
	struct subject s = {.report = r, .m = r->m, .item = &reason};
	size_t at = table_rest_at(t);
	char line[TABLE_LINE_BYTES], text[TEXT_BYTES];

	table_line(t, &s, line);
	fprintf(r->out, "%s%*s", line, (int)(at - text_columns(line)), "");
	snprintf(text, sizeof(text), "%s: %s", model_reason_id(reason), model_reason_text(reason));
	put_words(r, text, at, at);
	if (!remedy_reason(reason)[0])
		return;
	put_spaces(r, at);
	fputs("→ ", r->out);
	put_words(r, remedy_reason(reason), at + 2, at + 2);
}

static void put_unnamed(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	struct table t;

	if (!u->frames)
		return;
	put_heading(r, "frames without a name");
	TABLE_OF(&t, unnamed_columns, r, 0);
	table_put_titles(r->out, &t);
	for (enum model_reason i = REASON_NAMED + 1; i < REASON_CNT; i++)
		if (u->by_reason[i])
			put_reason(r, &t, i);
	fprintf(r->out, "%12s of %s frames named in all",
		number_count(u->by_reason[REASON_NAMED]).text, number_count(u->frames).text);
	if (u->later)
		fprintf(r->out, ", %s of them by a name that was written after the sample",
			number_count(u->later).text);
	putc('\n', r->out);
}

#define BREAK_ROWS 5

static void put_help(const struct report *r, enum stack_end end)
{
	char text[TEXT_BYTES];

	if (!remedy_end(end)[0])
		return;
	snprintf(text, sizeof(text), "%s: %s", model_end_text(end), remedy_end(end));
	put_spaces(r, 24);
	fputs("→ ", r->out);
	put_words(r, text, 26, 26);
}

static void put_breaks(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	char place[NAME_BYTES], text[NAME_BYTES + 80];

	if (!u->breaks_cnt)
		return;
	put_heading(r, "stacks that do not reach the root of their thread");
	for (size_t i = 0; i < u->breaks_cnt && i < BREAK_ROWS; i++) {
		const struct unnamed_break *b = &u->breaks[i];

		label_name(place, place_text(b), r->o.width / 2, CUT_MIDDLE);
		snprintf(text, sizeof(text), "%s: %s", place, model_end_text(b->end));
		put_loss(r, (struct loss){b->samples, u->user_stacks, text}, "");
	}
	if (u->breaks_cnt > BREAK_ROWS)
		fprintf(r->out, "%24s… %zu more place%s\n", "", u->breaks_cnt - BREAK_ROWS,
			u->breaks_cnt - BREAK_ROWS == 1 ? "" : "s");
	for (enum stack_end end = 0; end < STACK_END_CNT; end++)
		if (u->ends[end])
			put_help(r, end);
}

void report_losses(const struct report *r)
{
	put_records(r);
	put_unnamed(r);
	put_costly(r);
	put_breaks(r);
}
