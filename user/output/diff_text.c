/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/chain.h"
#include "output/diff.h"
#include "output/label.h"
#include "output/words.h"

/* Columns of a figure, of a name of a process, and of what stands before the names. */
#define FIGURE_COLUMNS 12
#define INDENT	       4
/* Callers of a path that are named. */
#define PATH_NAMES 5

static const char *const per_texts[DIFF_PER_CNT] = {
	[DIFF_PER_AUTO] = "",
	[DIFF_PER_REQUEST] = "CPU per request",
	[DIFF_PER_CORES] = "CPUs",
	[DIFF_PER_SHARE] = "share of its CPU",
};

struct page {
	FILE *out;
	const struct diff *d;
	const struct diff_beside *beside;
	const struct diff_options *o;
	size_t kinds; /* that have a line: with one, its name goes without saying */
};

/* --- numbers ---------------------------------------------------------------------------------- */

static struct number figure(enum diff_per per, double v)
{
	struct number n;
	double us = v * 1e6;

	if (per == DIFF_PER_SHARE) {
		n = number_fixed(v * 100, 2);
		strcat(n.text, " %");
	} else if (per == DIFF_PER_CORES) {
		n = number_fixed(v, 3);
	} else if (fabs(us) >= 10000) {
		n = number_fixed(us / 1000, 1);
		strcat(n.text, " ms");
	} else {
		n = number_fixed(us, fabs(us) < 10 ? 2 : fabs(us) < 1000 ? 1 : 0);
		strcat(n.text, " us");
	}
	return n;
}

static struct number with_sign(struct number n)
{
	struct number r;

	snprintf(r.text, sizeof(r.text), "%s%.38s", n.text[0] == '-' ? "" : "+", n.text);
	return r;
}

/* "+11.4 % ± 2.3": of what it was before. */
static void change_text(char text[static NAME_BYTES], const struct diff_value *v)
{
	if (v->before <= 0) {
		snprintf(text, NAME_BYTES, "%s", v->after > 0 ? "new" : "-");
		return;
	}
	if (v->after <= 0) {
		snprintf(text, NAME_BYTES, "gone");
		return;
	}
	snprintf(text, NAME_BYTES, "%s", with_sign(number_percent(v->change / v->before)).text);
	if (isfinite(v->error))
		snprintf(text + strlen(text), NAME_BYTES - strlen(text), " ± %s",
			 number_fixed(100 * v->error / v->before, 1).text);
}

/* Pads by code points. */
static void put_left(const struct page *p, const char *text, size_t columns)
{
	size_t n = text_columns(text);

	fprintf(p->out, "%s%*s", text, (int)(n < columns ? columns - n : 0), "");
}

static void put_right(const struct page *p, const char *text, size_t columns)
{
	size_t n = text_columns(text);

	fprintf(p->out, "%*s%s", (int)(n < columns ? columns - n : 0), "", text);
}

/* --- the two sides ---------------------------------------------------------------------------- */

static void put_side(const struct page *p, int at)
{
	static const char *const titles[DIFF_SIDES] = {"before", "after"};
	const struct diff_side *s = &p->d->book->sides[at];
	const struct model *m = s->m;
	char name[NAME_BYTES], host[NAME_BYTES];
	struct words w = {0};

	label_name(name, p->o->names[at], 60, CUT_START);
	label_name(host, m->host.name, 40, CUT_MIDDLE);
	words_add(
		&w, "%s · %s · %s · %s · %s samples", name, host, number_utc(diff_began_s(m)).text,
		number_time((uint64_t)(s->all_seconds * 1e9)).text, number_count(s->samples).text);
	if (m->host.sample_hz)
		words_add(&w, " at %s Hz", number_count(m->host.sample_hz).text);
	put_left(p, titles[at], 8);
	words_put(p->out, p->o->width, w.text, 8, 8);
}

static void put_note(const struct page *p, const char *text)
{
	words_put(p->out, p->o->width, text, 0, 0);
}

static void put_unlike(const struct page *p, const char *what,
		       const double shares[static DIFF_SIDES], const char *so)
{
	struct words w = {0};

	if (fabs(shares[DIFF_BEFORE] - shares[DIFF_AFTER]) <= DIFF_UNLIKE)
		return;
	words_add(&w, "not alike: %s are %s before, %s after: %s", what,
		  number_percent(shares[DIFF_BEFORE]).text, number_percent(shares[DIFF_AFTER]).text,
		  so);
	put_note(p, w.text);
}

static bool comparable(const struct diff_book *b)
{
	return b->sides[DIFF_BEFORE].samples && b->sides[DIFF_AFTER].samples;
}

static void put_notes(const struct page *p)
{
	const struct diff *d = p->d;
	const struct diff_book *b = d->book;

	if (!comparable(b))
		put_note(p, b->sides[DIFF_BEFORE].samples
				    ? "after has no samples: nothing to compare"
			    : b->sides[DIFF_AFTER].samples
				    ? "before has no samples: nothing to compare"
				    : "neither has samples: nothing to compare");
	else if (!d->in_common)
		put_note(p, "nothing in common: no method that has a name is in both. These are "
			    "different programs, or their code was not named");
	if (d->too_short && comparable(b))
		put_note(
			p,
			"too short: of fewer than 4 s nobody can tell how sure a difference is, so "
			"nothing is named");
	put_unlike(p, "samples in code without a name", d->unnamed,
		   "what has a name on one side alone looks as if it had changed");
	put_unlike(p, "stacks that do not reach their root", d->broken,
		   "figures with what a method calls are not to be compared: own code is");
	for (size_t i = 0; i < b->kinds_cnt; i++)
		if (d->kinds[i].lacks_requests) {
			put_note(p,
				 "requests are not known of all processes on both sides: these are "
				 "compared by time");
			break;
		}
	if (b->methods_dropped || b->nodes_dropped)
		put_note(p,
			 "more methods than are compared: some samples count with their callers");
}

/* --- processes -------------------------------------------------------------------------------- */

static void add_pair(struct words *w, const char *what, const char *before, const char *after)
{
	if (!strcmp(before, after))
		words_add(w, "%s%s %s", w->len ? " · " : "", what, before);
	else
		words_add(w, "%s%s %s → %s", w->len ? " · " : "", what, before, after);
}

static void put_fared(const struct page *p, uint32_t kind)
{
	const struct diff_fared *x = diff_fared(p->beside, kind, DIFF_BEFORE),
				*y = diff_fared(p->beside, kind, DIFF_AFTER);
	struct words w = {0};

	if (p->d->kinds[kind].per != DIFF_PER_CORES)
		add_pair(&w, "CPUs", number_fixed(x->cpus, 2).text, number_fixed(y->cpus, 2).text);
	if (x->waits_known && y->waits_known)
		add_pair(&w, "waiting", number_fixed(x->waiting, 2).text,
			 number_fixed(y->waiting, 2).text);
	if (x->throttled > 0.005 || y->throttled > 0.005)
		add_pair(&w, "throttled", number_fixed(x->throttled, 2).text,
			 number_fixed(y->throttled, 2).text);
	if (x->requests_known && y->requests_known) {
		add_pair(&w, "answers/s", number_fixed(x->answered, x->answered < 100).text,
			 number_fixed(y->answered, y->answered < 100).text);
		add_pair(&w, "p50", number_time(x->p50_ns).text, number_time(y->p50_ns).text);
		add_pair(&w, "p99", number_time(x->p99_ns).text, number_time(y->p99_ns).text);
		add_pair(&w, "slow", number_percent(x->slow_share).text,
			 number_percent(y->slow_share).text);
		if (x->stuck || y->stuck)
			add_pair(&w, "stuck", number_count(x->stuck).text,
				 number_count(y->stuck).text);
	}
	add_pair(&w, "verdict", verdict_id(x->verdict), verdict_id(y->verdict));
	fprintf(p->out, "%*s", INDENT, "");
	words_put(p->out, p->o->width, w.text, INDENT, INDENT);
}

static void put_kind(const struct page *p, uint32_t row, size_t name_columns)
{
	const struct diff_kind *kind = &p->d->book->kinds[row];
	const struct diff_of_kind *k = &p->d->kinds[row];
	char name[NAME_BYTES], change[NAME_BYTES];

	label_name(name, kind->name, name_columns - 1, CUT_MIDDLE);
	put_left(p, name, name_columns);
	put_left(p, per_texts[k->per == DIFF_PER_SHARE ? DIFF_PER_CORES : k->per], 16);
	put_right(p,
		  figure(k->per == DIFF_PER_SHARE ? DIFF_PER_CORES : k->per, k->value.before).text,
		  FIGURE_COLUMNS);
	put_right(p,
		  figure(k->per == DIFF_PER_SHARE ? DIFF_PER_CORES : k->per, k->value.after).text,
		  FIGURE_COLUMNS);
	change_text(change, &k->value);
	fprintf(p->out, "   %s%s\n", change,
		k->certain ? k->value.change > 0 ? ": grew" : ": fell" : "");
	put_fared(p, row);
}

static int put_kinds(struct page *p)
{
	size_t cnt, shown, name_columns = p->o->width > 110 ? 36 : 24;
	_cleanup_free_ uint32_t *rows = diff_kinds(p->d, &cnt);

	if (!rows)
		return -ENOMEM;
	p->kinds = cnt;
	if (!cnt)
		return 0;
	shown = p->o->rows && cnt > p->o->rows ? p->o->rows : cnt;
	putc('\n', p->out);
	put_left(p, "processes", name_columns);
	put_left(p, "", 16);
	put_right(p, "before", FIGURE_COLUMNS);
	put_right(p, "after", FIGURE_COLUMNS);
	fputs("   change ± 95 %\n", p->out);
	for (size_t i = 0; i < shown; i++)
		put_kind(p, rows[i], name_columns);
	if (shown < cnt)
		fprintf(p->out, "… %s more\n", number_count(cnt - shown).text);
	return 0;
}

/* --- findings --------------------------------------------------------------------------------- */

static void put_titles(const struct page *p, const char *change, const char *error)
{
	put_right(p, change, FIGURE_COLUMNS);
	put_right(p, error, FIGURE_COLUMNS);
	put_right(p, "before", FIGURE_COLUMNS);
	put_right(p, "after", FIGURE_COLUMNS);
	put_right(p, "of mean", 9);
	fputs("  method\n", p->out);
}

/* Methods on the way to a node, the application's and the nearest caller, root first. */
static void path_text(const struct page *p, const struct diff_finding *f, struct words *w)
{
	const struct diff_book *b = p->d->book;
	uint32_t names[PATH_NAMES], cnt = 0;
	bool left_out = false;

	for (uint32_t i = b->nodes[f->node].parent; i && b->nodes[i].parent;
	     i = b->nodes[i].parent) {
		const struct model_symbol *s = diff_book_symbol(b, b->nodes[i].method);

		if (cnt == PATH_NAMES || (!s->application && cnt)) {
			left_out = true;
			continue;
		}
		names[cnt++] = b->nodes[i].method;
	}
	if (left_out)
		words_add(w, "… → ");
	while (cnt-- > 0) {
		char name[NAME_BYTES];

		chain_method_name(name, diff_book_symbol(b, names[cnt]));
		text_shorten(name, 60, CUT_START);
		words_add(w, "%s → ", name);
	}
	words_add(w, "it");
}

static void put_finding(const struct page *p, const struct diff_finding *f)
{
	const struct diff_book *b = p->d->book;
	uint32_t kind = b->methods[f->method].kind;
	enum diff_per per = p->d->kinds[kind].per;
	char name[LABEL_METHOD_BYTES], whose[NAME_BYTES] = "", relative[NAME_BYTES];
	size_t at = 4 * FIGURE_COLUMNS + 9 + 2;
	struct words w = {0};

	put_right(p, with_sign(figure(per, f->value.change)).text, FIGURE_COLUMNS);
	change_text(relative, &f->value);
	put_right(p,
		  f->value.before > 0 && f->value.after > 0
			  ? with_sign(number_percent(f->value.change / f->value.before)).text
			  : relative,
		  FIGURE_COLUMNS);
	put_right(p, figure(per, f->value.before).text, FIGURE_COLUMNS);
	put_right(p, figure(per, f->value.after).text, FIGURE_COLUMNS);
	if (isfinite(f->overweight) && f->overweight > 0)
		snprintf(whose, sizeof(whose), "%sx", number_fixed(f->overweight, 1).text);
	put_right(p, whose, 9);
	label_method(name, diff_book_symbol(b, f->method),
		     p->o->width > at + 40 ? p->o->width - at : 40, LABEL_MODULE);
	fprintf(p->out, "  %s\n", name);
	words_add(&w, "± %s", figure(per, f->value.error).text);
	words_add(&w, f->of == DIFF_SELF ? " · its own code" : " · with what it calls");
	if (p->kinds > 1) {
		label_name(whose, b->kinds[kind].name, 40, CUT_MIDDLE);
		words_add(&w, " · %s, %s", whose, per_texts[per]);
	}
	if (f->node != MODEL_NONE && b->nodes[b->nodes[f->node].parent].parent) {
		words_add(&w, " · %s of it: ",
			  number_percent(f->node_share < 1 ? f->node_share : 1).text);
		path_text(p, f, &w);
	}
	fprintf(p->out, "%*s", INDENT + FIGURE_COLUMNS, "");
	words_put(p->out, p->o->width, w.text, INDENT + FIGURE_COLUMNS, INDENT + FIGURE_COLUMNS);
}

static void put_names_note(const struct page *p)
{
	struct words w = {0};

	if (!p->d->perhaps_names)
		return;
	words_add(&w, "left out: %s figures of compiled code whose name perhaps only came or went",
		  number_count(p->d->perhaps_names).text);
	put_note(p, w.text);
}

static void put_findings(const struct page *p)
{
	const struct diff *d = p->d;
	size_t shown = p->o->rows && d->findings_cnt > p->o->rows ? p->o->rows : d->findings_cnt;

	putc('\n', p->out);
	if (!d->findings_cnt) {
		fprintf(p->out,
			"no method changed for certain, of %s figures (--min-effect tells what "
			"could "
			"have been seen)\n",
			number_count(d->tested).text);
		put_names_note(p);
		return;
	}
	fprintf(p->out,
		"what changed for certain: %s of %s figures; 1 in %.0f of these at the most by "
		"chance\n",
		number_count(d->found).text, number_count(d->tested).text, 1 / DIFF_FALSE);
	put_titles(p, "change", "of before");
	for (size_t i = 0; i < shown; i++)
		put_finding(p, &d->findings[i]);
	if (shown < d->findings_cnt)
		fprintf(p->out, "… %s more (--rows 0 shows all)\n",
			number_count(d->findings_cnt - shown).text);
	put_names_note(p);
}

/* --- what could be seen ----------------------------------------------------------------------- */

static int put_effects(const struct page *p)
{
	const struct diff *d = p->d;
	size_t cnt, shown;
	_cleanup_free_ uint32_t *rows = diff_methods_by_size(d, &cnt);

	if (!rows)
		return -ENOMEM;
	shown = p->o->rows && cnt > p->o->rows ? p->o->rows : cnt;
	fputs("\nthe smallest change of a method's own code that four of five such pairs would "
	      "name\n",
	      p->out);
	put_right(p, "change", FIGURE_COLUMNS);
	put_right(p, "of before", FIGURE_COLUMNS);
	put_right(p, "before", FIGURE_COLUMNS);
	fputs("  method\n", p->out);
	for (size_t i = 0; i < shown; i++) {
		struct diff_value v = diff_value_of(d, rows[i], DIFF_SELF);
		enum diff_per per = d->kinds[d->book->methods[rows[i]].kind].per;
		char name[LABEL_METHOD_BYTES];

		put_right(p, figure(per, v.least).text, FIGURE_COLUMNS);
		put_right(p, v.before > 0 ? number_percent(v.least / v.before).text : "-",
			  FIGURE_COLUMNS);
		put_right(p, figure(per, v.before).text, FIGURE_COLUMNS);
		label_method(name, diff_book_symbol(d->book, rows[i]), p->o->width - 40,
			     LABEL_MODULE);
		fprintf(p->out, "  %s\n", name);
	}
	if (shown < cnt)
		fprintf(p->out, "… %s more (--rows 0 shows all)\n", number_count(cnt - shown).text);
	return 0;
}

/* --------------------------------------------------------------------------------------------- */

int diff_write_text(FILE *out, const struct diff *d, const struct diff_beside *beside,
		    const struct diff_options *options)
{
	struct page p = {.out = out, .d = d, .beside = beside, .o = options};
	int err;

	put_side(&p, DIFF_BEFORE);
	put_side(&p, DIFF_AFTER);
	fprintf(out, "host    ");
	fprintf(out, beside->host[DIFF_BEFORE] == beside->host[DIFF_AFTER] ? "%s\n" : "%s → %s\n",
		verdict_id(beside->host[DIFF_BEFORE]), verdict_id(beside->host[DIFF_AFTER]));
	put_notes(&p);
	err = put_kinds(&p);
	if (!err && options->effects)
		err = put_effects(&p);
	else if (!err && comparable(d->book))
		put_findings(&p);
	return err ?: ferror(out) ? -EIO : 0;
}
