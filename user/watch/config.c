/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "watch/governor.h"
#include "watch/series.h"

#define DAY_NS (86400 * SECOND_NS)
#define MIB    (1ull << 20)

#define VALUE_BYTES 320

enum kind { WHOLE, SHARE, TIME, TIME_OR_OFF, BYTES, AGE, INCLUDE, EXCLUDE };

struct setting {
	const char *name, *value, *text; /* as of an option */
	const char *preset;		 /* as it is written */
	enum kind kind;
	size_t offset; /* in struct watch_config */
	uint64_t min, max;
};

#define FIELD(field) offsetof(struct watch_config, field)

/* With what is there without it, as it is written. */
#define PRESET(what, preset) what " (default " preset ")", preset
#define NO_PRESET(what)	     what, NULL

static const struct setting settings[] = {
	{"frequency", "HZ", PRESET("samples a second and CPU, 1 to 999", "19"), WHOLE, FIELD(hz), 1,
	 999},
	{"budget", "SHARE", PRESET("of all CPUs, that hotrun may cost; 0: no bound", "0.5%"), SHARE,
	 FIELD(budget), 0, 0},
	{"ring", "TIME", PRESET("so much of the past is in memory, 5s to 10m", "60s"), TIME,
	 FIELD(ring_ns), 5 * SECOND_NS, 600 * SECOND_NS},
	{"memory", "BYTES", PRESET("of what is known of processes and stacks", "24M"), BYTES,
	 FIELD(memory_bytes), 8 * MIB, 4096 * MIB},
	{"file-cpu", "TIME", PRESET("CPU time that reading a file of a process may take", "2s"),
	 TIME, FIELD(file_cpu_ns), SECOND_NS / 10, 60 * SECOND_NS},
	{"file-time", "TIME", PRESET("the same, on the clock", "10s"), TIME, FIELD(file_time_ns),
	 SECOND_NS, 600 * SECOND_NS},
	{"file-memory", "BYTES", PRESET("the same, of memory; 0: twice --memory, 48M to 64M", "0"),
	 BYTES, FIELD(file_memory_bytes), 0, 1024 * MIB},
	{"rotate", "TIME|off", PRESET("capture all the time, a file each so long", "off"),
	 TIME_OR_OFF, FIELD(rotate_ns), 10 * SECOND_NS, DAY_NS},
	{"keep-count", "N", PRESET("captures at the most, 0: any number", "100"), WHOLE,
	 FIELD(keep.count), 0, 100000},
	{"keep-bytes", "BYTES", PRESET("of all of them, 0: any", "2G"), BYTES, FIELD(keep.bytes), 0,
	 1ull << 50},
	{"keep-age", "TIME", PRESET("older ones go, 0s: never", "7d"), AGE, FIELD(keep.age_s), 0,
	 3650 * DAY_NS},
	{"before", "TIME", PRESET("of a capture that SIGUSR1 asks for", "15s"), TIME,
	 FIELD(before_ns), 0, 600 * SECOND_NS},
	{"after", "TIME", PRESET("the same, after the signal", "30s"), TIME, FIELD(after_ns), 0,
	 DAY_NS},
	{"series", "N", PRESET("processes with series of their own in /metrics", "30"), WHOLE,
	 FIELD(series), 1, SERIES_MAX},
	{"include", "RULE", NO_PRESET("only those that fit; again for more"), INCLUDE, 0, 0, 0},
	{"exclude", "RULE", NO_PRESET("none of those that fit; again for more"), EXCLUDE, 0, 0, 0},
};

#define SETTINGS_CNT (sizeof(settings) / sizeof(settings[0]))

_Static_assert(GOVERNOR_HZ == 19 && SERIES_DEFAULT == 30, "presets");

static int parse_share(const char *value, double *ret_share)
{
	size_t len = strlen(value);
	char text[32];
	double share;
	bool percent = len && value[len - 1] == '%';

	if (len >= sizeof(text))
		return -EINVAL;
	memcpy(text, value, len + 1);
	if (percent)
		text[len - 1] = '\0';
	if (text_parse_double(text, 0, percent ? 100 : 1, &share))
		return -EINVAL;
	*ret_share = percent ? share / 100 : share;
	return 0;
}

static int set_value(struct watch_config *c, const struct setting *s, const char *value)
{
	void *field = (char *)c + s->offset;
	uint64_t number;
	int err;

	switch (s->kind) {
	case WHOLE:
		err = text_parse_u64(value, s->min, s->max, &number);
		if (!err && s->offset == FIELD(hz))
			c->hz = (uint32_t)number;
		else if (!err)
			*(uint64_t *)field = number;
		return err;
	case SHARE:
		return parse_share(value, field);
	case TIME_OR_OFF:
		if (!strcmp(value, "off")) {
			*(uint64_t *)field = 0;
			return 0;
		}
		__attribute__((fallthrough));
	case TIME:
		return text_parse_time(value, s->min, s->max, field);
	case BYTES:
		return text_parse_bytes(value, s->min, s->max, field);
	case AGE:
		err = text_parse_time(value, s->min, s->max, &number);
		if (!err)
			*(int64_t *)field = (int64_t)(number / SECOND_NS);
		return err;
	default:
		return selection_add(&c->selection, s->kind == INCLUDE, value);
	}
}

static const char *wanted(enum kind kind, int err)
{
	switch (kind) {
	case WHOLE:
		return err == -ERANGE ? "out of bounds" : "not a whole number";
	case SHARE:
		return "not a share, like 0.5% or 0.005";
	case TIME:
	case AGE:
		return err == -ERANGE ? "too short or too long" : "not a time, like 30s or 5m";
	case TIME_OR_OFF:
		return err == -ERANGE ? "too short or too long" : "not a time, like 5m, or off";
	case BYTES:
		return err == -ERANGE ? "too little or too much" : "not an amount, like 64M or 2G";
	default:
		return err == -E2BIG
			       ? "too many rules"
			       : "not a rule, like name=*-exporter, unit=, container=, pod= or "
				 "namespace=";
	}
}

int watch_config_set(struct watch_config *config, const char *name, const char *value,
		     char ret_error[static LIMITS_ERROR_BYTES])
{
	char safe[LIMITS_ERROR_BYTES / 2];
	int err;

	for (size_t i = 0; i < SETTINGS_CNT; i++) {
		if (strcmp(name, settings[i].name) != 0)
			continue;
		err = set_value(config, &settings[i], value);
		if (!err)
			return 0;
		text_copy_safe(safe, sizeof(safe), value, strlen(value));
		snprintf(ret_error, LIMITS_ERROR_BYTES, "%s %s: %s", name, safe,
			 wanted(settings[i].kind, err));
		return -EINVAL;
	}
	text_copy_safe(safe, sizeof(safe), name, strlen(name));
	snprintf(ret_error, LIMITS_ERROR_BYTES,
		 "%s: no such setting; `hotrun watch --help` lists them", safe);
	return -EINVAL;
}

void watch_config_default(struct watch_config *ret_config)
{
	char error[LIMITS_ERROR_BYTES];

	memset(ret_config, 0, sizeof(*ret_config));
	verdict_limits_default(&ret_config->limits.limits);
	for (size_t i = 0; i < SETTINGS_CNT; i++)
		if (settings[i].preset)
			watch_config_set(ret_config, settings[i].name, settings[i].preset, error);
}

/* --- the file -------------------------------------------------------------------------------- */

struct parsing {
	struct watch_config *config;
	char *error;
};

static size_t without_blanks(const char **s, size_t len)
{
	while (len && (**s == ' ' || **s == '\t')) {
		++*s;
		len--;
	}
	while (len && ((*s)[len - 1] == ' ' || (*s)[len - 1] == '\t'))
		len--;
	return len;
}

static bool copy(char *buf, size_t bytes, const char *s, size_t len)
{
	len = without_blanks(&s, len);
	if (len >= bytes || memchr(s, '\0', len))
		return false;
	memcpy(buf, s, len);
	buf[len] = '\0';
	return true;
}

static int take_line(void *ctx, const char *line, size_t len, bool other)
{
	struct parsing *p = ctx;
	const char *equal = memchr(line, '=', len);
	char name[VALUE_BYTES], value[VALUE_BYTES];

	if (!other || *line == '[')
		return 0;
	if (!equal || !copy(name, sizeof(name), line, (size_t)(equal - line)) ||
	    !copy(value, sizeof(value), equal + 1, len - (size_t)(equal - line) - 1)) {
		snprintf(p->error, LIMITS_ERROR_BYTES, "not NAME = VALUE, or too long");
		return -EINVAL;
	}
	return watch_config_set(p->config, name, value, p->error);
}

int watch_config_parse(struct watch_config *config, const char *text, size_t len,
		       unsigned int *ret_line, char ret_error[static LIMITS_ERROR_BYTES])
{
	struct parsing parsing = {config, ret_error};
	int err = limits_lines(text, len, take_line, &parsing, ret_line);

	return err ? err : limits_parse(&config->limits, text, len, ret_line, ret_error);
}

void watch_config_clear(struct watch_config *config)
{
	limits_clear(&config->limits);
}

/* --------------------------------------------------------------------------------------------- */

bool watch_config_option(size_t number, struct command_option *ret_option)
{
	if (number >= SETTINGS_CNT)
		return false;
	*ret_option = (struct command_option){.name = settings[number].name,
					      .value = settings[number].value,
					      .text = settings[number].text};
	return true;
}
