/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/table.h"

#include <math.h>
#include <string.h>

#include "model/model.h"
#include "model/sched.h"
#include "output/label.h"

#define HOUR_NS	   3600000000000ull
#define YEAR_HOURS 8766
/* Of a number, where a column has no room for more. */
#define LEAST_COLUMNS 6

/* --- values ----------------------------------------------------------------------------------- */

struct number number_short(uint64_t n, size_t columns)
{
	static const char units[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	struct number number = number_count(n);
	size_t len;

	columns = columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
	for (size_t unit = 1; (len = strlen(number.text)) > columns; unit++) {
		n /= 1000;
		number = number_count(n);
		len = strlen(number.text);
		number.text[len] = units[unit];
		number.text[len + 1] = '\0';
	}
	return number;
}

struct number number_long_time(uint64_t ns)
{
	static const struct number forever = {"> 1 year"};
	struct number n;

	if (ns < HOUR_NS)
		return number_time(ns);
	if (ns / HOUR_NS > YEAR_HOURS)
		return forever;
	n = number_fixed((double)ns / (double)HOUR_NS, 1);
	strcat(n.text, " h");
	return n;
}

struct number number_rate(double rate, size_t columns)
{
	if (rate < 9.95)
		return number_fixed(rate, 1);
	/* A capture from elsewhere may have slices of a nanosecond. */
	return number_short((uint64_t)(fmin(rate, 1e18) + 0.5), columns);
}

/* Thousands of threads stay within their column. */
static struct number number_threads(double mean)
{
	return number_fixed(mean, mean < 99.995 ? 2 : mean < 999.95 ? 1 : 0);
}

static struct number number_of(enum written_as unit, struct value v, size_t columns)
{
	double real = v.kind == VALUE_REAL ? v.real : (double)v.count;
	struct number n;

	switch (unit) {
	case AS_ID:
		snprintf(n.text, sizeof(n.text), "%llu", (unsigned long long)v.count);
		return n;
	case AS_COUNT:
		return number_short(v.count, columns ? columns - 1 : 0);
	case AS_THREADS:
		return number_threads(real);
	case AS_CORES:
		return number_fixed(real, 3);
	case AS_TENTHS:
		return number_fixed(real, 1);
	case AS_SHARE:
		return number_percent(real);
	case AS_TIME:
		return number_long_time(v.count);
	case AS_RATE:
		return number_rate(real, columns ? columns - 1 : 0);
	case AS_BYTES:
		return number_bytes(v.count);
	default:
		return number_fixed(real, 2);
	}
}

void value_print(char text[static CELL_BYTES], size_t columns, enum written_as unit, struct value v)
{
	static const char *const missing[] = {
		[VALUE_BLANK] = "", [VALUE_NONE] = "-", [VALUE_UNKNOWN] = "n/a"};

	if (v.kind == VALUE_REAL && !isfinite(v.real))
		v.kind = VALUE_NONE;
	switch (v.kind) {
	case VALUE_COUNT:
	case VALUE_REAL:
		strcpy(text, number_of(unit, v, columns).text);
		break;
	case VALUE_INT:
		if (unit == AS_UTC)
			strcpy(text, number_utc(v.integer).text);
		else
			snprintf(text, CELL_BYTES, "%lld", (long long)v.integer);
		break;
	case VALUE_FLAG:
		strcpy(text, v.flag ? "yes" : "no");
		break;
	case VALUE_TEXT:
		label_name(text, v.text, columns, CUT_END);
		break;
	default:
		strcpy(text, missing[v.kind]);
	}
}

static struct value field_value(enum field_type type, const void *field)
{
	uint64_t u64;

	switch (type) {
	case FIELD_TEXT:
		return value_text(*(const char *const *)field);
	case FIELD_CHARS:
		return value_text(field);
	case FIELD_INT:
		return (struct value){.kind = VALUE_INT, .integer = *(const int *)field};
	case FIELD_FLAG:
		return value_flag(*(const bool *)field);
	case FIELD_U16:
		return value_count(*(const uint16_t *)field);
	case FIELD_U32:
		return value_count(*(const uint32_t *)field);
	case FIELD_U64:
		memcpy(&u64, field, sizeof(u64)); /* or __u64, which is another type */
		if (u64 != UINT64_MAX)
			return value_count(u64);
		break;
	case FIELD_I64:
		if (*(const int64_t *)field != -1)
			return (struct value){.kind = VALUE_INT,
					      .integer = *(const int64_t *)field};
		break;
	case FIELD_REAL:
		return value_real(*(const double *)field);
	default:
		break;
	}
	return (struct value){.kind = VALUE_UNKNOWN};
}

/* Sums of a window are told by the second, or as a mean. */
static struct value averaged(enum written_as unit, struct value v, uint64_t elapsed_ns)
{
	if (v.kind != VALUE_COUNT || (unit != AS_THREADS && unit != AS_RATE))
		return v;
	return value_real(sched_mean(v.count, elapsed_ns) * (unit == AS_RATE ? 1e9 : 1));
}

struct value figure_value(const struct figure *f, const struct subject *s)
{
	const void *of;

	if (f->off && model_off(s->m) & f->off)
		return (struct value){.kind = VALUE_UNKNOWN};
	if (f->value)
		return f->value(s);
	memcpy(&of, (const char *)s + f->pointer, sizeof(of));
	if (!of)
		return (struct value){.kind = VALUE_NONE};
	return averaged(f->unit, field_value(f->field, (const char *)of + f->offset),
			s->elapsed_ns);
}

static bool is_zero(struct value v)
{
	return (v.kind == VALUE_COUNT && !v.count) || (v.kind == VALUE_REAL && !(v.real > 0));
}

static void cell_print(char text[static CELL_BYTES], size_t columns, const struct figure *f,
		       const struct subject *s)
{
	struct value v;

	if (f->text) {
		f->text(text, columns, s);
		return;
	}
	v = figure_value(f, s);
	if (f->zero_is_dash && is_zero(v))
		v.kind = VALUE_NONE;
	value_print(text, columns, f->unit, v);
}

/* --- layout ----------------------------------------------------------------------------------- */

static bool is_wanted(const struct column *c, unsigned int when)
{
	return !c->when || c->when & when;
}

static size_t least_of(const struct column *c)
{
	return c->width ? c->width : c->least ? c->least : 1;
}

static void take(struct table *t, size_t i, size_t *room)
{
	t->widths[i] = least_of(&t->columns[i]);
	*room -= t->widths[i] + t->columns[i].gap;
}

static bool is_always(const struct column *c, unsigned int when)
{
	return !c->rank && is_wanted(c, when);
}

/* Those that are always there; of what they leave, those without a width have their least as far
 * as it goes, and a column in any case. */
static size_t take_always(struct table *t, size_t room, unsigned int when)
{
	for (size_t i = 0; i < t->columns_cnt; i++) {
		const struct column *c = &t->columns[i];
		size_t cost = c->width + c->gap;

		if (!is_always(c, when))
			continue;
		t->widths[i] = c->width;
		room = room > cost ? room - cost : 0;
	}
	for (size_t i = 0; i < t->columns_cnt; i++) {
		const struct column *c = &t->columns[i];
		size_t least = least_of(c);

		if (!is_always(c, when) || c->width)
			continue;
		t->widths[i] = room > least ? least : room ? room : 1;
		room -= room > least ? least : room;
	}
	return room;
}

/* Columns that need not be there; those of one rank come together. */
static void take_ranked(struct table *t, size_t *room, unsigned int when)
{
	for (uint8_t rank = 1; rank <= TABLE_COLUMNS; rank++) {
		size_t need = 0;

		for (size_t i = 0; i < t->columns_cnt; i++)
			if (t->columns[i].rank == rank && is_wanted(&t->columns[i], when))
				need += least_of(&t->columns[i]) + t->columns[i].gap;
		if (need > *room)
			return;
		for (size_t i = 0; i < t->columns_cnt; i++)
			if (t->columns[i].rank == rank && is_wanted(&t->columns[i], when))
				take(t, i, room);
	}
}

/* What is left goes to the columns without a width: first by their parts, then to the last. */
static void grow(struct table *t, size_t room)
{
	size_t all = room;

	for (size_t i = 0; i < t->columns_cnt; i++)
		if (t->widths[i] && !t->columns[i].width)
			all += t->widths[i];
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < t->columns_cnt; i++) {
			const struct column *c = &t->columns[i];
			size_t want = c->pct ? all * c->pct / 100 : SIZE_MAX;

			if (!t->widths[i] || c->width || (c->pct > 0) != (pass == 0))
				continue;
			want = c->most && want > c->most ? c->most : want;
			want = want > t->widths[i] ? want - t->widths[i] : 0;
			want = want > room ? room : want;
			t->widths[i] += want;
			room -= want;
		}
	}
}

void table_lay_out(struct table *t, const struct column *columns, size_t columns_cnt, size_t width,
		   unsigned int when)
{
	size_t room;

	*t = (struct table){.columns = columns, .columns_cnt = columns_cnt};
	room = take_always(t, width, when);
	take_ranked(t, &room, when);
	grow(t, room);
}

bool table_shows(const struct table *t, const struct figure *figure)
{
	for (size_t i = 0; i < t->columns_cnt; i++)
		if (t->columns[i].figure == figure && t->widths[i])
			return true;
	return false;
}

size_t table_rest_at(const struct table *t)
{
	size_t at = 0;

	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (!t->widths[i])
			continue;
		at += t->columns[i].gap;
		if (!t->columns[i].width)
			break;
		at += t->widths[i];
	}
	return at;
}

/* --- lines ------------------------------------------------------------------------------------ */

struct line {
	char *text; /* [TABLE_LINE_BYTES] */
	size_t len;
};

static void add(struct line *l, const char *text)
{
	size_t n = strlen(text), room = TABLE_LINE_BYTES - 1 - l->len;

	/* No table is that wide: no character is cut in the middle. */
	if (n > room)
		return;
	memcpy(l->text + l->len, text, n + 1);
	l->len += n;
}

static void add_spaces(struct line *l, size_t columns)
{
	while (columns--)
		add(l, " ");
}

static void add_cell(struct line *l, const struct table *t, size_t i, const char *text)
{
	const struct column *c = &t->columns[i];
	size_t n = text_columns(text), pad = t->widths[i] > n ? t->widths[i] - n : 0;

	add_spaces(l, c->gap);
	if (!c->left)
		add_spaces(l, pad);
	add(l, text);
	if (c->left && i + 1 < t->columns_cnt)
		add_spaces(l, pad);
}

static void end_line(struct line *l)
{
	while (l->len && l->text[l->len - 1] == ' ')
		l->text[--l->len] = '\0';
}

void table_titles(const struct table *t, char line[static TABLE_LINE_BYTES])
{
	struct line l = {.text = line};

	line[0] = '\0';
	for (size_t i = 0; i < t->columns_cnt; i++)
		if (t->widths[i])
			add_cell(&l, t, i, t->columns[i].title ?: t->columns[i].figure->title);
	end_line(&l);
}

void table_line(const struct table *t, const struct subject *s, char line[static TABLE_LINE_BYTES])
{
	struct line l = {.text = line};
	struct subject cell = *s;
	char text[CELL_BYTES];

	line[0] = '\0';
	for (size_t i = 0; i < t->columns_cnt; i++) {
		if (!t->widths[i])
			continue;
		cell.column = i;
		cell_print(text, t->widths[i], t->columns[i].figure, &cell);
		add_cell(&l, t, i, text);
	}
	end_line(&l);
}

void table_put_titles(FILE *out, const struct table *t)
{
	char line[TABLE_LINE_BYTES];

	table_titles(t, line);
	fprintf(out, "%s\n", line);
}

void table_put_row(FILE *out, const struct table *t, const struct subject *s)
{
	char line[TABLE_LINE_BYTES];

	table_line(t, s, line);
	fprintf(out, "%s\n", line);
}

void table_put_more(FILE *out, const struct table *t, size_t cnt)
{
	if (cnt)
		fprintf(out, "%*s… %s more\n", (int)table_rest_at(t), "", number_count(cnt).text);
}
