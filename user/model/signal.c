/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/signal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"

/* As many characters as a number of ours may have: what is longer is none. */
#define NUMBER_MAX 31

int model_signal_add(struct model *m, const struct model_signal *signal)
{
	if (GROW(m->signals, m->signals_cnt, m->signals_cap))
		return -ENOMEM;
	m->signals[m->signals_cnt++] = *signal;
	return 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void trim(const char **text, size_t *len)
{
	while (*len && is_blank(**text)) {
		(*text)++;
		(*len)--;
	}
	while (*len && is_blank((*text)[*len - 1]))
		(*len)--;
}

int signal_parse_value(const char *text, size_t len, double *ret_value)
{
	char number[NUMBER_MAX + 1];
	double most = 1, value;
	int err;

	trim(&text, &len);
	if (!len)
		return -ENODATA;
	if (text[len - 1] == '%') {
		most = 100;
		len--;
	}
	if (len > NUMBER_MAX || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	err = text_parse_double(number, 0, most, &value);
	if (!err)
		*ret_value = value / most;
	return err;
}

/* A line without its end, trimmed, not empty. */
static int parse_line(const char *line, size_t len, struct signal_entry *ret_entry)
{
	size_t name = len;
	double value;
	int err;

	while (name && !is_blank(line[name - 1]))
		name--;
	err = signal_parse_value(line + name, len - name, &value);
	if (err)
		return err;
	while (name && is_blank(line[name - 1]))
		name--;
	if (!name || memchr(line, '\0', name))
		return -EINVAL;
	if (name >= sizeof(ret_entry->name))
		return -E2BIG;
	memcpy(ret_entry->name, line, name);
	ret_entry->name[name] = '\0';
	ret_entry->value = value;
	return 0;
}

int signal_parse_lines(const char *text, size_t len, struct signal_entry *entries, size_t max,
		       size_t *ret_cnt, unsigned int *ret_line)
{
	size_t cnt = 0;
	unsigned int number = 0;

	while (len) {
		const char *end = memchr(text, '\n', len), *line = text;
		size_t whole = end ? (size_t)(end - text) + 1 : len, line_len = whole;
		int err = 0;

		number++;
		text += whole;
		len -= whole;
		trim(&line, &line_len);
		if (!line_len || *line == '#')
			continue;
		err = cnt < max ? parse_line(line, line_len, &entries[cnt]) : -E2BIG;
		if (err) {
			*ret_line = number;
			return err;
		}
		cnt++;
	}
	*ret_cnt = cnt;
	return 0;
}

/* --- sums ------------------------------------------------------------------------------------ */

double *signal_means(const struct model *m)
{
	_cleanup_free_ uint32_t *counts = calloc(m->processes_cnt + 1, sizeof(*counts));
	double *means = calloc(m->processes_cnt + 1, sizeof(*means));

	if (!counts || !means) {
		free(means);
		errno = ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < m->signals_cnt; i++) {
		means[m->signals[i].process] += (double)m->signals[i].value_ppm / SIGNAL_PPM;
		counts[m->signals[i].process]++;
	}
	for (size_t i = 0; i < m->processes_cnt; i++)
		means[i] = counts[i] ? means[i] / counts[i] : NAN;
	return means;
}
