/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "output/history.h"
#include "output/table.h"
#include "output/words.h"

#define WIDTH 110
/* Rows of a table that are shown without --all. */
#define ROWS 12
/* Names at the end of a line are not cut. */
#define WIDE 1024

/* --- head ------------------------------------------------------------------------------------ */

static void put_sum(FILE *out, const struct history_view *v)
{
	const struct history_figures *f = &v->subject.sum;
	const char *verdict = history_verdict(f);

	fprintf(out, "bad minutes: %s", number_count(f->bad_minutes).text);
	if (f->hurt_ms)
		fprintf(out, " (degraded for %s, worst: %s)",
			number_long_time(f->hurt_ms * 1000000).text, verdict);
	else if (!*verdict)
		fputs(" (nothing was judged)", out);
	else if (f->verdict == VERDICT_UNKNOWN)
		fputs(" known (verdict unknown: requests were not always measured)", out);
	fprintf(out, "; CPU %s of %s on average, %s in the busiest hour\n",
		number_fixed(history_cpus(f->cpu_ms, v->observed_ms), 2).text,
		number_fixed((double)f->available_mcpu / 1000, 2).text,
		number_fixed(v->subject.most_cpus, 2).text);
	if (f->requests)
		fprintf(out, "requests: %s, %s slow; median %s, worst p99 of a minute %s\n",
			number_count(f->requests).text, number_percent(history_slow_share(f)).text,
			number_time(f->median_us * 1000).text, number_time(f->p99_us * 1000).text);
}

static void put_head(FILE *out, const struct history_view *v)
{
	char title[HISTORY_LABEL_BYTES], knee[HISTORY_WORDS_BYTES];

	history_title(title, v);
	fprintf(out, "%s · %s to ", title, history_when(v->first_s).text);
	fprintf(out, "%s UTC · %s of it observed\n", history_when(v->last_s).text,
		number_percent(history_observed_share(v)).text);
	put_sum(out, v);
	if (!v->subject.knee_sought)
		return;
	history_knee_words(knee, &v->subject);
	fprintf(out, "knee: %s; %s minutes with requests\n", knee,
		number_count(v->subject.knee.minutes).text);
}

/* --- days ------------------------------------------------------------------------------------ */

static bool is_empty(const struct history_day *day)
{
	for (int i = 0; i < 24; i++)
		if (day->known[i])
			return false;
	return true;
}

static void put_days(FILE *out, const struct history_view *v)
{
	fputs("\nbad minutes by day and hour, UTC (· none, blank: not observed)\n          ", out);
	for (int i = 0; i < 24; i++)
		fprintf(out, " %2d", i);
	putc('\n', out);
	for (size_t i = 0; i < v->days_cnt; i++) {
		const struct history_day *day = &v->days[i];
		char line[128];
		size_t len = 0, end = 0;

		if (is_empty(day))
			continue;
		for (int k = 0; k < 24; k++) {
			if (!day->known[k])
				len += (size_t)snprintf(line + len, sizeof(line) - len, "   ");
			else if (!day->bad[k])
				len += (size_t)snprintf(line + len, sizeof(line) - len, "  ·");
			else
				len += (size_t)snprintf(line + len, sizeof(line) - len, " %2u",
							day->bad[k] < 99 ? day->bad[k] : 99);
			if (day->known[k])
				end = len;
		}
		line[end] = '\0';
		fprintf(out, "%.10s%s\n", number_utc(day->time_s).text, line);
	}
}

/* --- processes ------------------------------------------------------------------------------- */

static const struct history_subject *kind_of(const struct subject *s)
{
	return s->item;
}

static struct value hurt(const struct subject *s)
{
	if (!kind_of(s)->sum.hurt_ms)
		return (struct value){.kind = VALUE_NONE};
	return value_count(kind_of(s)->sum.hurt_ms * 1000000);
}

static struct value verdict(const struct subject *s)
{
	return value_text(history_verdict(&kind_of(s)->sum));
}

static struct value cpus(const struct subject *s)
{
	const struct history_view *v = s->of;

	return value_real(history_cpus(kind_of(s)->sum.cpu_ms, v->observed_ms));
}

static struct value slow(const struct subject *s)
{
	if (!kind_of(s)->sum.requests)
		return (struct value){.kind = VALUE_NONE};
	return value_real(history_slow_share(&kind_of(s)->sum));
}

static void knee(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct knee *k = &kind_of(s)->knee;

	(void)columns;
	if (!kind_of(s)->knee_sought)
		strcpy(text, "-");
	else if (k->answer == KNEE_FOUND)
		snprintf(text, CELL_BYTES, "%s (%s..%s)", number_fixed(k->at, 2).text,
			 number_fixed(k->low, 2).text, number_fixed(k->high, 2).text);
	else
		strcpy(text, k->answer == KNEE_NONE ? "none seen" : "not known");
}

static void label(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	char name[HISTORY_LABEL_BYTES];

	(void)columns;
	history_label(name, &kind_of(s)->kind);
	snprintf(text, CELL_BYTES, "%s", name);
}

static const struct figure figure_bad = {NULL, "bad min", AS_COUNT, true,
					 FIELD(struct history_subject, sum.bad_minutes)};
static const struct figure figure_hurt = {NULL, "degraded", AS_TIME, .value = hurt};
static const struct figure figure_verdict = {NULL, "worst", AS_TEXT, .value = verdict};
static const struct figure figure_cpus = {NULL, "cores", AS_THREADS, .value = cpus};
static const struct figure figure_most = {NULL, "busiest", AS_THREADS,
					  FIELD(struct history_subject, most_cpus)};
static const struct figure figure_count = {NULL, "requests", AS_COUNT, true,
					   FIELD(struct history_subject, sum.requests)};
static const struct figure figure_slow_share = {NULL, "slow", AS_SHARE, .value = slow};
static const struct figure figure_knee = {NULL, "knee, cores", .text = knee};
static const struct figure figure_label = {NULL, "process", .text = label};

static const struct column kinds_columns[] = {
	{&figure_bad, .width = 8},
	{&figure_hurt, .width = 11},
	{&figure_verdict, .width = 16, .left = true, .gap = 2},
	{&figure_cpus, .width = 8},
	{&figure_most, .width = 9},
	{&figure_count, .width = 12},
	{&figure_slow_share, .width = 9},
	{&figure_knee, .width = 19, .left = true, .gap = 2},
	{&figure_label, .left = true, .gap = 2},
};

static size_t shown(size_t cnt, bool all)
{
	return all || cnt <= ROWS + 1 ? cnt : ROWS;
}

static void put_kinds(FILE *out, const struct history_view *v, bool all)
{
	size_t cnt = shown(v->kinds_cnt, all);
	struct table t;

	if (!v->kinds_cnt || (v->options.name && v->kinds_cnt == 1))
		return;
	TABLE_LAY_OUT(&t, kinds_columns, WIDE, 0);
	putc('\n', out);
	table_put_titles(out, &t);
	for (size_t i = 0; i < cnt; i++) {
		struct subject s = {.item = &v->kinds[i], .of = v};

		table_put_row(out, &t, &s);
	}
	if (cnt < v->kinds_cnt)
		fprintf(out, "… %zu more (--all)\n", v->kinds_cnt - cnt);
}

/* --- captures -------------------------------------------------------------------------------- */

static const struct history_decided *decided_of(const struct subject *s)
{
	return s->item;
}

static struct value decided_verdict(const struct subject *s)
{
	/* Of who asked as a person nothing was judged. */
	if (!*decided_of(s)->process)
		return (struct value){.kind = VALUE_NONE};
	return value_text(history_verdict_id(decided_of(s)->d.verdict));
}

static struct value taken(const struct subject *s)
{
	return value_text(decided_of(s)->d.taken ? "taken" : "not taken");
}

static struct value decided_process(const struct subject *s)
{
	if (!*decided_of(s)->process)
		return (struct value){.kind = VALUE_NONE};
	return value_text(decided_of(s)->process);
}

static const struct figure figure_when = {NULL, "when", AS_UTC,
					  FIELD(struct history_decided, d.time_s)};
static const struct figure figure_taken = {NULL, "capture", AS_TEXT, .value = taken};
static const struct figure figure_decided_verdict = {NULL, "verdict", AS_TEXT,
						     .value = decided_verdict};
static const struct figure figure_decided_process = {NULL, "process", AS_TEXT,
						     .value = decided_process};

static const struct column decided_columns[] = {
	{&figure_when, .width = 23, .left = true},
	{&figure_taken, .width = 9, .left = true, .gap = 2},
	{&figure_decided_verdict, .width = 15, .left = true, .gap = 2},
	{&figure_decided_process, .left = true, .gap = 2},
};

static void put_note(FILE *out, const char *what, const char *text)
{
	char safe[4 * HISTORY_REASON_BYTES + 16];
	size_t len;

	if (!*text)
		return;
	len = (size_t)snprintf(safe, sizeof(safe), "%s", what);
	text_copy_safe(safe + len, sizeof(safe) - len, text, strlen(text));
	fputs("    ", out);
	words_put(out, WIDTH, safe, 4, 6);
}

static void put_decisions(FILE *out, const struct history_view *v, bool all)
{
	size_t cnt = shown(v->decisions_cnt, all), took = 0;
	struct table t;

	for (size_t i = 0; i < v->decisions_cnt; i++)
		took += v->decisions[i].d.taken;
	fprintf(out, "\ncaptures: %zu taken, %zu not taken\n", took, v->decisions_cnt - took);
	TABLE_LAY_OUT(&t, decided_columns, WIDE, 0);
	if (cnt)
		table_put_titles(out, &t);
	for (size_t i = 0; i < cnt; i++) {
		const struct history_decided *row = &v->decisions[i];
		struct subject s = {.item = row};

		table_put_row(out, &t, &s);
		put_note(out, "", row->reason);
		if (row->d.times > 1)
			fprintf(out, "    %s times, until %s\n", number_count(row->d.times).text,
				number_utc(row->d.last_s).text);
		put_note(out, "trunk: ", row->trunk);
		put_note(out, "", row->capture);
	}
	if (cnt < v->decisions_cnt)
		fprintf(out, "… %zu more (--all)\n", v->decisions_cnt - cnt);
}

/* --- trunks ---------------------------------------------------------------------------------- */

static const struct trunk_again *trunk_of(const struct subject *s)
{
	return s->item;
}

static struct value harm(const struct subject *s)
{
	return value_count((uint64_t)(trunk_of(s)->harm + 0.5));
}

static struct value people(const struct subject *s)
{
	return value_count((uint64_t)(trunk_of(s)->people + 0.5));
}

static const struct figure figure_harm = {NULL, "harm", AS_COUNT, .value = harm};
static const struct figure figure_captures = {NULL, "captures", AS_COUNT,
					      FIELD(struct trunk_again, captures)};
static const struct figure figure_share = {NULL, "of CPU", AS_SHARE,
					   FIELD(struct trunk_again, share)};
static const struct figure figure_seconds = {NULL, "degraded s", AS_TENTHS,
					     FIELD(struct trunk_again, seconds)};
static const struct figure figure_people = {NULL, "people", AS_COUNT, .value = people};
static const struct figure figure_owner = {NULL, "process", AS_TEXT,
					   FIELD(struct trunk_again, process)};

static const struct column trunk_columns[] = {
	{&figure_harm, .width = 12},   {&figure_captures, .width = 10},
	{&figure_share, .width = 9},   {&figure_seconds, .width = 12},
	{&figure_people, .width = 10}, {&figure_owner, .left = true, .gap = 2},
};

static void put_trunks(FILE *out, const struct history_view *v, bool all)
{
	size_t cnt = shown(v->trunks.rows_cnt, all);
	struct table t;

	if (!v->trunks.rows_cnt)
		return;
	fputs("\ntrunks of these captures, by harm (share x seconds x people): what to fix first\n",
	      out);
	TABLE_LAY_OUT(&t, trunk_columns, WIDE, 0);
	table_put_titles(out, &t);
	for (size_t i = 0; i < cnt; i++) {
		struct subject s = {.item = &v->trunks.rows[i]};
		char path[4 * HISTORY_PATH_BYTES];

		table_put_row(out, &t, &s);
		text_copy_safe(path, sizeof(path), v->trunks.rows[i].path,
			       strlen(v->trunks.rows[i].path));
		fputs("    ", out);
		words_put(out, WIDTH, path, 4, 6);
	}
	if (cnt < v->trunks.rows_cnt)
		fprintf(out, "… %zu more (--all)\n", v->trunks.rows_cnt - cnt);
}

int history_text_write(FILE *out, const struct history_view *v, bool all)
{
	put_head(out, v);
	put_kinds(out, v, all);
	put_days(out, v);
	put_decisions(out, v, all);
	put_trunks(out, v, all);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
