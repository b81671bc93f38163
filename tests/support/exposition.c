/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exposition.h"

#include <criterion/criterion.h>

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NAME_MAX_BYTES 128

struct reader {
	char family[NAME_MAX_BYTES], type[16];
	char **seen; /* families and series */
	size_t seen_cnt, seen_cap;
	size_t series;
	char buckets[4096]; /* the histogram under way, without le */
	double last_le, last_count;
	const char *line;
};

#define RULE(r, cond, text, ...) \
	cr_assert(cond, "%.*s: " text, (int)strcspn((r)->line, "\n"), (r)->line, ##__VA_ARGS__)

static void add_seen(struct reader *r, const char *text, size_t len)
{
	if (r->seen_cnt == r->seen_cap) {
		r->seen_cap = r->seen_cap ? 2 * r->seen_cap : 1024;
		r->seen = realloc(r->seen, r->seen_cap * sizeof(*r->seen));
	}
	r->seen[r->seen_cnt++] = strndup(text, len);
}

static size_t name_len(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return isdigit((unsigned char)s[0]) ? 0 : n;
}

static void read_comment(struct reader *r)
{
	bool help = !strncmp(r->line, "# HELP ", 7), type = !strncmp(r->line, "# TYPE ", 7);
	const char *name = r->line + 7;
	size_t len;

	RULE(r, help || type, "neither HELP nor TYPE");
	len = name_len(name);
	RULE(r, len > 7 && len < NAME_MAX_BYTES && !strncmp(name, "hotrun_", 7), "name");
	RULE(r, name[len] == ' ' && name[len + 1] != '\n', "says nothing");
	if (help) {
		snprintf(r->family, sizeof(r->family), "%.*s", (int)len, name);
		r->type[0] = '\0';
		add_seen(r, r->line, len + 7);
		return;
	}
	RULE(r, !r->type[0] && strlen(r->family) == len && !strncmp(r->family, name, len),
	     "TYPE does not follow its HELP");
	snprintf(r->type, sizeof(r->type), "%.*s", (int)strcspn(name + len + 1, "\n"),
		 name + len + 1);
	RULE(r,
	     !strcmp(r->type, "counter") || !strcmp(r->type, "gauge") ||
		     !strcmp(r->type, "histogram"),
	     "type");
	RULE(r, !strcmp(r->type, "counter") == (len > 6 && !strncmp(name + len - 6, "_total", 6)),
	     "counters end in _total, and nothing else does");
}

/* Reads the labels at s, which is behind the brace; returns what follows them. */
static const char *read_labels(struct reader *r, const char *s, const char **ret_le)
{
	while (*s != '}') {
		size_t len = name_len(s);
		const char *value;
		char copy[1024];

		RULE(r, len && !memcmp(s + len, "=\"", 2), "label name at %.20s", s);
		value = s + len + 2;
		if (len == 2 && !memcmp(s, "le", 2))
			*ret_le = value;
		for (s = value; *s != '"'; s++) {
			RULE(r, *s && *s != '\n', "label without an end");
			if (*s != '\\')
				continue;
			s++;
			RULE(r, *s == '\\' || *s == '"' || *s == 'n', "escape");
		}
		len = (size_t)(s - value);
		RULE(r,
		     len < sizeof(copy) && text_copy_utf8(copy, sizeof(copy), value, len) == len &&
			     strlen(copy) == len && !memcmp(copy, value, len),
		     "a label is no plain UTF-8");
		s++;
		RULE(r, *s == ',' || *s == '}', "between labels");
		s += *s == ',';
	}
	return s + 1;
}

static void read_bucket(struct reader *r, const char *le, double count)
{
	double bound = strtod(le, NULL); /* "+Inf" as well */
	char key[sizeof(r->buckets)];

	snprintf(key, sizeof(key), "%.*s", (int)(le - r->line), r->line);
	if (strcmp(key, r->buckets)) {
		strcpy(r->buckets, key);
		r->last_le = -1;
		r->last_count = 0;
	}
	RULE(r, bound > r->last_le && count >= r->last_count, "buckets do not add up");
	r->last_le = bound;
	r->last_count = count;
}

static void read_series(struct reader *r)
{
	size_t len = name_len(r->line), family = strlen(r->family);
	const char *rest = r->line + len, *le = NULL;
	double value;
	char *end;

	RULE(r, r->type[0] && len >= family && !strncmp(r->line, r->family, family),
	     "not of the family %s", r->family);
	if (!strcmp(r->type, "histogram"))
		RULE(r,
		     !strncmp(r->line + family, "_bucket", 7) ||
			     !strncmp(r->line + family, "_sum", 4) ||
			     !strncmp(r->line + family, "_count", 6),
		     "histogram");
	else
		RULE(r, len == family, "not of the family %s", r->family);
	if (*rest == '{')
		rest = read_labels(r, rest + 1, &le);
	RULE(r, *rest == ' ', "no value");
	add_seen(r, r->line, (size_t)(rest - r->line));
	value = strtod(rest + 1, &end);
	RULE(r, end > rest + 1 && *end == '\n' && isfinite(value) && value >= 0, "value");
	if (le)
		read_bucket(r, le, value);
	else if (!strcmp(r->type, "histogram") && !strncmp(r->line + family, "_count", 6))
		RULE(r, isinf(r->last_le) && value == r->last_count, "count");
	r->series++;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t exposition_check(const char *text, size_t len)
{
	struct reader r = {.line = text};

	cr_assert(len && text[len - 1] == '\n', "does not end with a line");
	for (; *r.line; r.line = strchr(r.line, '\n') + 1) {
		if (*r.line == '#')
			read_comment(&r);
		else
			read_series(&r);
	}
	qsort(r.seen, r.seen_cnt, sizeof(*r.seen), compare);
	for (size_t i = 1; i < r.seen_cnt; i++)
		cr_assert(strcmp(r.seen[i - 1], r.seen[i]), "twice: %s", r.seen[i]);
	for (size_t i = 0; i < r.seen_cnt; i++)
		free(r.seen[i]);
	free(r.seen);
	return r.series;
}

double exposition_value(const char *text, const char *series)
{
	size_t len = strlen(series);

	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		if (!strncmp(line, series, len) && line[len] == ' ')
			return strtod(line + len, NULL);
	return NAN;
}
