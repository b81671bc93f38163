/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books in short for the first screen, and the full table of what was lost and what helps. */
#include <string.h>

#include "judge/remedy.h"
#include "model/share.h"
#include "output/report_internal.h"

#define TEXT_BYTES 512
#define INDENT	   10

static void put_entry(const struct report *r, const char *label, const char *text, bool alarm)
{
	if (alarm)
		put_paint(r, PAINT_ALARM);
	put_left(r, label, INDENT);
	put_words(r, text, INDENT, INDENT);
	if (alarm)
		put_plain(r);
}

static void sample_books(const struct report *r)
{
	const struct books *b = &r->books;
	char text[TEXT_BYTES];
	size_t n;

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
	char text[TEXT_BYTES];

	if (!b->capacity_ns)
		return;
	snprintf(text, sizeof(text), "threads, idle and unaccounted make %s of %s CPU%s x %s%s",
		 number_percent((double)b->covered_ns / (double)b->capacity_ns).text,
		 number_fixed(b->cpus_seen, b->cpus_seen == (double)r->m->host.cpus_online ? 0 : 2)
			 .text,
		 r->m->host.cpus_online == 1 ? "" : "s", number_time(r->totals->elapsed_ns).text,
		 b->switches_gap ? ": a gap, figures of CPU time are off by as much" : "");
	put_entry(r, "CPU time", text, b->switches_gap);
}

static void name_books(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	enum model_reason most = unnamed_commonest(u);
	char text[TEXT_BYTES];
	size_t n;

	if (!u->frames)
		return;
	n = (size_t)snprintf(text, sizeof(text), "%s of frames unnamed",
			     number_percent(share_of(unnamed_frames(u), u->frames)).text);
	if (most != REASON_NAMED)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ", mostly %s (%s)",
				      model_reason_text(most),
				      number_percent(share_of(u->by_reason[most], u->frames)).text);
	if (most != REASON_NAMED && remedy_reason(most)[0])
		snprintf(text + n, sizeof(text) - n, " → %s", remedy_reason(most));
	put_entry(r, "names", text, false);
}

/* The last part of a path: stacks break in libraries, whose folder says little. */
static const char *base_name(const struct model *m, uint32_t module)
{
	const char *path = module < m->modules_cnt ? m->modules[module].path : "an unknown place";
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
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
		safe_name(library, base_name(r->m, u->breaks[0].module), 30, CUT_MIDDLE);
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, ", most break in %s (%s)", library,
			number_percent(share_of(u->breaks[0].samples, u->user_stacks)).text);
	}
	if (u->by_reason[REASON_TRUNCATED])
		snprintf(text + n, sizeof(text) - n, "; %s cut at %u frames → %s",
			 number_percent(share_of(u->by_reason[REASON_TRUNCATED], u->user_stacks))
				 .text,
			 r->m->host.max_stack, remedy_reason(REASON_TRUNCATED));
	put_entry(r, "stacks", text, false);
}

void report_books(const struct report *r)
{
	put_heading(r, "books");
	sample_books(r);
	switch_books(r);
	name_books(r);
	stack_books(r);
}

/* One line of the loss table: figures, what it is, what helps. */
static void put_loss(const struct report *r, const char *count, const char *share, const char *text,
		     const char *remedy)
{
	put_right(r, count, 12);
	put_right(r, share, 10);
	put_spaces(r, 2);
	fputs(text, r->out);
	putc('\n', r->out);
	if (remedy[0]) {
		put_spaces(r, 24);
		fputs("→ ", r->out);
		put_words(r, remedy, 26, 26);
	}
}

static void put_records(const struct report *r)
{
	const struct books *b = &r->books;
	bool any = false;

	put_heading(r, "what was lost");
	if (b->missed > b->noise) {
		put_loss(r, number_count(b->missed).text,
			 number_percent(share_of(b->missed, b->expected)).text,
			 model_loss_text(LOSS_TICKS_MISSED), remedy_loss(LOSS_TICKS_MISSED));
		any = true;
	}
	for (uint32_t cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		uint64_t count = r->totals->losses[cause];

		/* Missed ticks are judged over the whole capture, above. */
		if (!count || cause == LOSS_TICKS_MISSED)
			continue;
		put_loss(r, number_count(count).text, "", model_loss_text(cause),
			 remedy_loss(cause));
		any = true;
	}
	if (b->dropped > b->dropped_known) {
		put_loss(r, number_count(b->dropped - b->dropped_known).text, "",
			 "samples dropped for no known cause", "");
		any = true;
	}
	if (!b->have_cpus)
		fputs("            not known: the capture has no slice\n", r->out);
	else if (!any)
		fputs("            nothing\n", r->out);
}

static void put_unnamed(const struct report *r)
{
	const struct unnamed *u = r->unnamed;
	char text[TEXT_BYTES];

	if (!u->frames)
		return;
	put_heading(r, "frames without a name");
	fprintf(r->out, "      frames  of frames   as leaf  (of samples)\n");
	for (int i = REASON_NAMED + 1; i < REASON_CNT; i++) {
		bool note = unnamed_is_note(i);

		if (!u->by_reason[i])
			continue;
		/* What stands for frames that are not there has no share of frames. */
		put_right(r, number_count(u->by_reason[i]).text, 12);
		put_right(r, note ? "-" : number_percent(share_of(u->by_reason[i], u->frames)).text,
			  11);
		put_right(r, number_percent(share_of(u->leaves[i], u->samples)).text, 10);
		snprintf(text, sizeof(text), "%s: %s", model_reason_id(i), model_reason_text(i));
		put_spaces(r, 2);
		put_words(r, text, 35, 35);
		if (remedy_reason(i)[0]) {
			put_spaces(r, 35);
			fputs("→ ", r->out);
			put_words(r, remedy_reason(i), 37, 37);
		}
	}
	fprintf(r->out, "%12s of %s frames named in all",
		number_count(u->by_reason[REASON_NAMED]).text, number_count(u->frames).text);
	if (u->later)
		fprintf(r->out, ", %s of them by a name that was written after the sample",
			number_count(u->later).text);
	putc('\n', r->out);
}

#define BREAK_ROWS 5

static void put_breaks(const struct report *r)
{
	const struct unnamed *u = r->unnamed;

	if (!u->breaks_cnt)
		return;
	put_heading(r, "stacks that do not reach the root of their thread");
	for (size_t i = 0; i < u->breaks_cnt && i < BREAK_ROWS; i++) {
		put_right(r, number_count(u->breaks[i].samples).text, 12);
		put_right(r, number_percent(share_of(u->breaks[i].samples, u->user_stacks)).text,
			  10);
		put_spaces(r, 2);
		put_name(r, base_name(r->m, u->breaks[i].module), r->o.width - 24, CUT_MIDDLE,
			 false);
		putc('\n', r->out);
	}
	if (u->breaks_cnt > BREAK_ROWS)
		fprintf(r->out, "%12s … and %zu more places\n", "", u->breaks_cnt - BREAK_ROWS);
	put_spaces(r, 24);
	fputs("→ ", r->out);
	put_words(r, remedy_broken(), 26, 26);
}

void report_losses(const struct report *r)
{
	put_records(r);
	put_unnamed(r);
	put_breaks(r);
}
