/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

/* What comes before a value: comma, line, key. */
static void begin(struct json *j, const char *key)
{
	bool *begun = &j->begun[j->depth];

	if (*begun)
		fputs(!j->depth ? ",\n" : j->compact ? "," : ", ", j->out);
	*begun = true;
	if (key) {
		text_put_json(j->out, key, strlen(key));
		fputs(j->compact ? ":" : ": ", j->out);
	}
}

static void deeper(struct json *j, bool array)
{
	if (j->depth + 1 < JSON_DEPTH)
		j->depth++;
	j->begun[j->depth] = false;
	j->array[j->depth] = array;
	putc(array ? '[' : '{', j->out);
}

void json_object(struct json *j, const char *key)
{
	if (j->array[j->depth]) {
		fputs(j->begun[j->depth] ? ",\n" : "\n", j->out);
		j->begun[j->depth] = true;
	} else {
		begin(j, key);
	}
	deeper(j, false);
}

void json_array(struct json *j, const char *key)
{
	begin(j, key);
	deeper(j, true);
}

void json_end(struct json *j)
{
	putc(j->array[j->depth] ? ']' : '}', j->out);
	j->depth--;
}

void json_begin_compact(struct json *j, FILE *out)
{
	*j = (struct json){.out = out, .compact = true};
	putc('{', out);
}

void json_begin(struct json *j, FILE *out, const char *kind)
{
	*j = (struct json){.out = out};
	putc('{', out);
	json_count(j, "format", JSON_FORMAT);
	json_text(j, "kind", kind);
}

int json_finish(struct json *j)
{
	fputs("}\n", j->out);
	return fflush(j->out) || ferror(j->out) ? -EIO : 0;
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}

void json_count(struct json *j, const char *key, uint64_t value)
{
	char digits[24], *at = digits + sizeof(digits);

	begin(j, key);
	/* A page has up to millions: no printf. */
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(at, 1, (size_t)(digits + sizeof(digits) - at), j->out);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRId64, value);
}

void json_flag(struct json *j, const char *key, bool value)
{
	begin(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_precise(struct json *j, const char *key, double value)
{
	char digits[40];

	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	snprintf(digits, sizeof(digits), "%.12g", value);
	/* Whatever the locale is. */
	for (char *c = digits; *c; c++)
		if (!strchr("0123456789+-e", *c))
			*c = '.';
	fputs(digits, j->out);
}

void json_real(struct json *j, const char *key, double value)
{
	double whole, rest;

	if (!isfinite(value) || fabs(value) > 1e18) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	rest = modf(fabs(value), &whole);
	rest = floor(rest * 1e6 + 0.5);
	if (rest >= 1e6) {
		whole++;
		rest = 0;
	}
	fprintf(j->out, "%s%" PRIu64, value < 0 ? "-" : "", (uint64_t)whole);
	if (rest > 0)
		fprintf(j->out, ".%06" PRIu64, (uint64_t)rest);
}

void json_text(struct json *j, const char *key, const char *value)
{
	if (!value || !*value) {
		json_null(j, key);
		return;
	}
	begin(j, key);
	text_put_json(j->out, value, strlen(value));
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	text_put_json(j->out, value ? value : "", value ? strlen(value) : 0);
}

void json_utc(struct json *j, const char *key, int64_t seconds)
{
	time_t at = (time_t)seconds;
	char text[32] = "";
	struct tm tm;

	if (seconds > 0 && gmtime_r(&at, &tm) && tm.tm_year < 8000)
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_text(j, key, text);
}

static void put_value(struct json *j, const struct figure *f, struct value v)
{
	switch (v.kind) {
	case VALUE_COUNT:
		json_count(j, f->id, v.count);
		break;
	case VALUE_INT:
		if (f->unit == AS_UTC)
			json_utc(j, f->id, v.integer);
		else
			json_int(j, f->id, v.integer);
		break;
	case VALUE_REAL:
		json_real(j, f->id, v.real);
		break;
	case VALUE_FLAG:
		json_flag(j, f->id, v.flag);
		break;
	case VALUE_TEXT:
		json_text(j, f->id, v.text);
		break;
	default:
		json_null(j, f->id);
	}
}

void json_figure(struct json *j, const struct figure *figure, const struct subject *s)
{
	put_value(j, figure, figure_value(figure, s));
}

void json_figures(struct json *j, const struct figure *figures, size_t figures_cnt,
		  const struct subject *s)
{
	for (size_t i = 0; i < figures_cnt; i++)
		json_figure(j, &figures[i], s);
}
