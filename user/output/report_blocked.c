/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocked time: of one process within its details, and as a report of its own (--blocked), where
 * the kinds of waits are told with their ages, too.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/blocked.h"
#include "output/hang_words.h"
#include "output/report_internal.h"
#include "output/threads.h"

#define KINDS_SHOWN	     4
#define WAKERS_SHOWN	     3
#define WAKERS_INDENT	     21 /* below how many threads there are */
#define WAKER_NAME_COLUMNS   30
#define WAKER_METHOD_COLUMNS 60
#define ROLE_LEAST	     14
#define ROLE_MOST	     20
#define CHAIN_WIDE	     60 /* below, a chain is told without what lies in between */

/* "±1.2"; the far side alone where it would reach beyond 0 or 1; nothing where it is not known. */
static struct number error_text(const struct blocked_share *share)
{
	bool low = share->share - share->error<0, high = share->share + share->error> 1;
	struct number n = {""}, off;

	if (isnan(share->error))
		return n;
	off = number_fixed(fmax(share->error * 100, 0.1), 1);
	snprintf(n.text, sizeof(n.text), "%s%.20s", low ? "+" : high ? "−" : "±", off.text);
	return n;
}

/* Of what a group's share is told. */
static const struct blocked_share *share_of_sum(const struct report *r,
						const struct blocked_sum *sum)
{
	return r->o.idle ? &sum->of_all : &sum->of_waits;
}

/* --- groups ---------------------------------------------------------------------------------- */

static struct value mean_threads(const struct subject *s)
{
	const struct blocked_sum *sum = s->item;

	return value_real(blocked_mean(s->report->blocked, sum->blocked_ns));
}

static struct value found_threads(const struct subject *s)
{
	const struct blocked_sum *sum = s->item;

	return value_count(sum->threads);
}

static void share_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct blocked_share *share = share_of_sum(s->report, s->item);

	(void)columns;
	if (isnan(share->share))
		snprintf(text, CELL_BYTES, "%7s", "-");
	else
		snprintf(text, CELL_BYTES, "%7s %s", number_percent(share->share).text,
			 error_text(share).text);
}

static void longest_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct blocked_sum *sum = s->item;

	(void)columns;
	snprintf(text, CELL_BYTES, "%s",
		 sum->longest_ns ? threads_age(sum->longest_ns).text : "n/a");
}

static void role_text_of(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct blocked_group *g = s->of;

	label_name(text, g->group->label, columns, CUT_END);
}

static void chain_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	struct standing_group g = *((const struct blocked_group *)s->of)->group;
	const char *cut = g.cut ? " (stack cut)" : "", *idle = g.idle ? " (idle)" : "";
	size_t marks = strlen(cut) + strlen(idle), n;

	g.holder = hangs_holder(s->report->hangs, &g);
	threads_chain(text, s->m, s->report->blocked->standing, &g,
		      columns > marks ? columns - marks : 0, columns < CHAIN_WIDE);
	n = strlen(text);
	snprintf(text + n, CELL_BYTES - n, "%s%s", cut, idle);
}

static const struct figure figure_mean = {NULL, "blocked", AS_THREADS, .value = mean_threads};
static const struct figure figure_found = {NULL, "threads", AS_COUNT, .value = found_threads};
static const struct figure figure_of_waits = {NULL, "of waits", .text = share_text};
static const struct figure figure_of_all = {NULL, "of all", .text = share_text};
static const struct figure figure_longest = {NULL, "longest", .text = longest_text};
static const struct figure figure_role = {NULL, "what they are for", .text = role_text_of};
static const struct figure figure_chain = {NULL, "where they wait", .text = chain_text};

static const struct column group_columns[] = {
	{&figure_mean, .width = 8},
	{&figure_found, .width = 9},
	{&figure_of_waits, .width = SHARE_COLUMNS, .left = true, .gap = 2, .when = WITH_MORE},
	{&figure_of_all, .width = SHARE_COLUMNS, .left = true, .gap = 2, .when = WITH_MORE_YET},
	{&figure_longest, .width = 9},
	{&figure_role, .left = true, .gap = 2, .least = ROLE_LEAST, .most = ROLE_MOST, .pct = 40},
	{&figure_chain, .left = true, .gap = 2},
};

static bool is_shown(const struct report *r, const struct blocked_group *g)
{
	return r->o.idle || !g->group->idle;
}

static void add_waker(struct words *w, const struct report *r, const struct waker *waker)
{
	char name[NAME_BYTES], method[LABEL_METHOD_BYTES];

	if (waker->kind != WAKER_THREAD) {
		words_add(w, "%s", waker_kind_id(waker->kind));
		return;
	}
	label_process(name, &r->m->processes[waker->process], WAKER_NAME_COLUMNS);
	words_add(w, "%s", name);
	if (waker->method != MODEL_NONE) {
		label_method(method, &r->m->symbols[waker->method], WAKER_METHOD_COLUMNS,
			     r->m->raw_names ? LABEL_RAW : 0);
		words_add(w, ": %s", method);
	}
}

/* "woken by Shop.Api: Shop.Cart.Unlock 87 %, timer 13 %": parts of the time whose end is known. */
static void put_wakers(const struct report *r, const struct standing_group *g)
{
	const struct waker *wakers;
	struct words w = {0};
	uint64_t all_ns;
	size_t cnt = r->wakers ? wakers_of(r->wakers, g, &wakers, &all_ns) : 0;

	if (!cnt || !all_ns)
		return;
	words_add(&w, "woken by ");
	for (size_t i = 0; i < cnt && i < WAKERS_SHOWN; i++) {
		words_add(&w, "%s", i ? ", " : "");
		add_waker(&w, r, &wakers[i]);
		words_add(&w, " %s",
			  number_percent((double)wakers[i].blocked_ns / (double)all_ns).text);
	}
	if (cnt > WAKERS_SHOWN)
		words_add(&w, ", %s more", number_count(cnt - WAKERS_SHOWN).text);
	put_paragraph(r, &w, WAKERS_INDENT);
}

static void put_groups(const struct report *r, const struct blocked_process *p)
{
	size_t shown = 0, more = 0;
	struct table t;

	TABLE_OF(&t, group_columns, r, r->o.idle ? WITH_MORE_YET : WITH_MORE);
	put_titles(r, &t);
	for (size_t i = 0; i < p->groups_cnt; i++) {
		struct subject s = report_subject(r, NULL, NULL);

		if (!is_shown(r, &p->groups[i]))
			continue;
		if (shown == r->o.rows) {
			more++;
			continue;
		}
		shown++;
		s.item = &p->groups[i].sum;
		s.of = &p->groups[i];
		table_put_row(r->out, &t, &s);
		put_wakers(r, p->groups[i].group);
	}
	table_put_more(r->out, &t, more);
}

/* --- kinds ----------------------------------------------------------------------------------- */

static void age_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct blocked_kind *kind = s->of;
	uint64_t ns = kind->ages_ns[s->column - 1];

	(void)columns;
	snprintf(text, CELL_BYTES, "%s",
		 ns ? number_percent((double)ns / (double)kind->sum.blocked_ns).text : "-");
}

static void kind_text(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct blocked_kind *kind = s->of;

	(void)columns;
	snprintf(text, CELL_BYTES, "%s%s", stand_wait_id(kind->wait), kind->idle ? " (idle)" : "");
}

static const struct figure figure_age = {NULL, "", .text = age_text};
static const struct figure figure_kind = {NULL, "by age", .text = kind_text};

static const struct column kind_columns[] = {
	{&figure_mean, .width = 8},
	{&figure_age, .width = 9, .title = "< 1 ms"},
	{&figure_age, .width = 9, .title = "< 10 ms"},
	{&figure_age, .width = 9, .title = "< 100 ms"},
	{&figure_age, .width = 9, .title = "< 1 s"},
	{&figure_age, .width = 9, .title = "< 10 s"},
	{&figure_age, .width = 9, .title = "< 100 s"},
	{&figure_age, .width = 9, .title = "longer"},
	{&figure_age, .width = 9, .title = "n/a", .rank = 1},
	{&figure_kind, .left = true, .gap = 2},
};
_Static_assert(sizeof(kind_columns) / sizeof(kind_columns[0]) == BLOCKED_AGES + 2,
	       "a column for each class of age");

static void put_kinds(const struct report *r, const struct blocked_process *p)
{
	struct table t;

	TABLE_OF(&t, kind_columns, r, 0);
	put_titles(r, &t);
	for (size_t i = 0; i < p->kinds_cnt; i++) {
		struct subject s = report_subject(r, NULL, NULL);

		if (p->kinds[i].idle && !r->o.idle)
			continue;
		s.item = &p->kinds[i].sum;
		s.of = &p->kinds[i];
		table_put_row(r->out, &t, &s);
	}
}

/* --- a process ------------------------------------------------------------------------------- */

static void add_kinds(struct words *w, const struct blocked_process *p)
{
	size_t shown = 0;

	for (size_t i = 0; i < p->kinds_cnt && shown < KINDS_SHOWN; i++) {
		const struct blocked_kind *kind = &p->kinds[i];
		const struct blocked_share *share = &kind->sum.of_waits;
		struct number error = error_text(share);

		if (kind->idle)
			break;
		words_add(w, "%s %s %s%s%s", shown ? "," : ":", stand_wait_id(kind->wait),
			  number_percent(share->share).text, error.text[0] ? " " : "", error.text);
		shown++;
	}
}

/* "blocked: 372.4 thread-seconds in waits (37.24 threads on the mean): lock 98.1 % ±0.4, ..." */
static void put_sums(const struct report *r, const struct blocked_process *p, size_t indent)
{
	const struct blocked *b = r->blocked;
	struct words w = {0};

	if (p->waits.blocked_ns) {
		words_add(&w, "blocked: %s thread-seconds in waits (%s threads on the mean)",
			  number_fixed((double)p->waits.blocked_ns / 1e9, 1).text,
			  number_fixed(blocked_mean(b, p->waits.blocked_ns), 2).text);
		add_kinds(&w, p);
	} else {
		words_add(&w, "blocked: in idle waits alone");
	}
	if (p->idle.blocked_ns)
		words_add(&w, "; idle: %s thread%s, %s of blocked time%s",
			  number_count(p->idle.threads).text, p->idle.threads == 1 ? "" : "s",
			  number_percent(p->idle.of_all.share).text,
			  r->o.idle ? "" : " (--idle shows them)");
	if (b->slices < r->m->slices_cnt)
		words_add(&w, "; looked at in %s of %s slices", number_count(b->slices).text,
			  number_count(r->m->slices_cnt).text);
	if (p->slices < BLOCKED_SLICES)
		words_add(&w, "; fewer than %d slices tell no ±", BLOCKED_SLICES);
	put_paragraph(r, &w, indent);
}

/* "at the end 186 of 190 thread-pool workers wait in ..." */
static void put_hang(const struct report *r, uint32_t process)
{
	struct words w = {0};
	struct hang hang;

	if (!report_hang(r, process, &hang) || !hang_is_many(&hang))
		return;
	words_add(&w, "%s", hang.now ? "at the end " : "");
	hang_words(&w, r->m, &hang);
	put_paragraph(r, &w, 3);
}

int report_process_blocked(const struct report *r, uint32_t process)
{
	const struct blocked_process *p = r->blocked ? blocked_find(r->blocked, process) : NULL;

	if (model_off(r->m) & OFF_STANDS) {
		fprintf(r->out, "\n   blocked n/a: %s\n", model_off_text(r->m, OFF_STANDS));
		return 0;
	}
	if (!p)
		return 0;
	putc('\n', r->out);
	put_sums(r, p, 3);
	put_hang(r, process);
	if (p->waits.blocked_ns || r->o.idle)
		put_groups(r, p);
	return 0;
}

/* --- a report of its own --------------------------------------------------------------------- */

bool report_blocked_is_asked(const struct report *r, const struct blocked_process *p)
{
	for (size_t i = 0; i < r->o.process_cnt && r->o.processes; i++)
		if (r->o.processes[i] == p->process)
			return true;
	if (r->o.processes || model_is_own(r->m, p->process))
		return false;
	return p->waits.blocked_ns || (r->o.idle && p->all.blocked_ns);
}

static void put_process_of(const struct report *r, const struct blocked_process *p)
{
	putc('\n', r->out);
	put_paint(r, PAINT_HEADING);
	fputs("── ", r->out);
	put_process(r, p->process, r->o.width / 2);
	fprintf(r->out, " · pid %u · %s thread%s blocked", r->m->processes[p->process].tgid,
		number_count(p->all.threads).text, p->all.threads == 1 ? "" : "s");
	put_plain(r);
	putc('\n', r->out);
	put_sums(r, p, 3);
	put_hang(r, p->process);
	if (!p->waits.blocked_ns && !r->o.idle)
		return;
	put_groups(r, p);
	put_kinds(r, p);
}

int report_blocked(const struct report *r)
{
	const struct blocked *b = r->blocked;
	size_t shown = 0, more = 0;
	struct words w = {0};

	report_host(r);
	if (model_off(r->m) & OFF_STANDS) {
		words_add(&w, "blocked time n/a: %s", model_off_text(r->m, OFF_STANDS));
		put_paragraph(r, &w, 0);
		return 0;
	}
	for (size_t i = 0; b && i < b->processes_cnt; i++) {
		if (!report_blocked_is_asked(r, &b->processes[i]))
			continue;
		if (shown == r->o.process_cnt) {
			more++;
			continue;
		}
		shown++;
		put_process_of(r, &b->processes[i]);
	}
	if (!shown)
		words_add(&w, "no thread was found in a wait%s",
			  r->o.idle ? "" : " that is not idle (--idle shows all)");
	else
		words_add(&w, "blocked: mean threads. by age: parts of blocked time, by how long "
			      "the wait had lasted when it was found; never numbers of waits. ±: "
			      "95 %%, by what slices differ");
	if (more)
		words_add(&w, "; %s more processes wait (-n shows more)", number_count(more).text);
	putc('\n', r->out);
	put_paragraph(r, &w, 0);
	return 0;
}
