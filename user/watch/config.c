/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "watch/governor.h"
#include "watch/policy.h"
#include "watch/series.h"

#define DAY_NS (86400 * SECOND_NS)
#define MIB    (1ull << 20)

#define VALUE_BYTES 320

enum kind {
	WHOLE,
	SHARE,
	TIME,
	TIME_OR_OFF,
	BYTES,
	AGE,
	VERDICTS,
	MAPS,
	GEAR,
	COMMAND,
	MAPS_FOR,
	INCLUDE,
	EXCLUDE
};

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
	{"gear", "quiet|full|auto", PRESET("the kernel's counts, everything, or as needed", "auto"),
	 GEAR, FIELD(gear), 0, 0},
	{"frequency", "HZ", PRESET("samples a second while quiet, 1 to 999", "19"), WHOLE,
	 FIELD(hz), 1, 999},
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
	{"before", "TIME", PRESET("of a capture by itself, or by SIGUSR1", "15s"), TIME,
	 FIELD(before_ns), 0, 600 * SECOND_NS},
	{"after", "TIME", PRESET("the same, after that", "30s"), TIME, FIELD(after_ns), 0, DAY_NS},
	{"capture-on", "LIST", PRESET("verdicts, all or off: of whom by itself", "all"), VERDICTS,
	 FIELD(capture_on), 0, 0},
	{"confirm", "TIME", PRESET("who is hurt for so long", "3s"), TIME, FIELD(confirm_ns),
	 SECOND_NS, 300 * SECOND_NS},
	{"cooldown", "TIME", PRESET("the like rests, twice as long each time", "10m"), TIME,
	 FIELD(cooldown_ns), SECOND_NS, POLICY_COOLDOWN_MOST_S *SECOND_NS},
	{"captures-per-hour", "N", PRESET("by itself, at the most, 0 to 60", "6"), WHOLE,
	 FIELD(captures_per_hour), 0, POLICY_HOUR_MAX},
	{"on-capture", "COMMAND",
	 NO_PRESET("a program to run when a capture and its report are there; its whole path, or "
		   "off"),
	 COMMAND, FIELD(on_capture), 0, 0},
	{"perf-maps", "never|on-capture|always",
	 PRESET("ask .NET runtimes for their perf map", "never"), MAPS, FIELD(perf_maps), 0, 0},
	{"perf-maps-for", "RULE", NO_PRESET("whom to ask, nobody without it; again for more"),
	 MAPS_FOR, 0, 0, 0},
	{"history-bytes", "BYTES",
	 PRESET("of what is remembered of minutes for months, 1M at least; 0: nothing is", "64M"),
	 BYTES, FIELD(history_bytes), 0, 1ull << 40},
	{"history-days", "N", PRESET("of which anything is remembered", "90"), WHOLE,
	 FIELD(history_days), 1, 3650},
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

/* Of those who are hurt; without evidence for a cause they are so all the same. */
static const enum verdict hurt_verdicts[] = {
	VERDICT_NO_EVIDENCE, VERDICT_HOST_OVERLOADED, VERDICT_INELASTIC,     VERDICT_STOLEN,
	VERDICT_THROTTLED,   VERDICT_STARVED,	      VERDICT_OVERSUBSCRIBED};
#define HURT_CNT (sizeof(hurt_verdicts) / sizeof(hurt_verdicts[0]))

static bool is_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && !memcmp(s, word, len);
}

static int add_verdict(const char *s, size_t len, uint32_t *verdicts)
{
	bool all = is_word(s, len, "all"), found = all;

	for (size_t i = 0; i < HURT_CNT; i++) {
		if (!all && !is_word(s, len, verdict_id(hurt_verdicts[i])))
			continue;
		*verdicts |= VERDICT_BIT(hurt_verdicts[i]);
		found = true;
	}
	return found ? 0 : -EINVAL;
}

/* "inelastic, starved", "all" or "off" */
static int parse_verdicts(const char *value, uint32_t *ret_verdicts)
{
	uint32_t verdicts = 0;

	for (;;) {
		size_t len;

		value += strspn(value, " \t");
		len = strcspn(value, ", \t");
		/* Not beside others: then it is not clear what is meant. */
		if (is_word(value, len, "off") && !verdicts && !value[len])
			break;
		if (add_verdict(value, len, &verdicts))
			return -EINVAL;
		value += len;
		value += strspn(value, " \t");
		if (!*value)
			break;
		if (*value++ != ',')
			return -EINVAL;
	}
	*ret_verdicts = verdicts;
	return 0;
}

/* A whole path: whatever the folder is that it runs in. */
static int parse_command(const char *value, char *ret_command)
{
	bool off = !strcmp(value, "off");

	if (!off && (*value != '/' || !value[1] || strlen(value) >= WATCH_COMMAND_BYTES))
		return -EINVAL;
	strcpy(ret_command, off ? "" : value);
	return 0;
}

static int parse_maps(const char *value, enum watch_maps_when *ret_maps)
{
	static const char *const words[] = {[WATCH_MAPS_NEVER] = "never",
					    [WATCH_MAPS_ON_CAPTURE] = "on-capture",
					    [WATCH_MAPS_ALWAYS] = "always"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		*ret_maps = (enum watch_maps_when)i;
		return 0;
	}
	return -EINVAL;
}

static int parse_gear(const char *value, enum watch_gear *ret_gear)
{
	static const char *const words[] = {"auto", "quiet", "full"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(value, words[i])) {
			*ret_gear = (enum watch_gear)i;
			return 0;
		}
	return -EINVAL;
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
	case VERDICTS:
		return parse_verdicts(value, field);
	case MAPS:
		return parse_maps(value, field);
	case GEAR:
		return parse_gear(value, field);
	case COMMAND:
		return parse_command(value, field);
	case MAPS_FOR:
		return selection_add(&c->perf_maps_for, true, value);
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
	case VERDICTS:
		return "not all, off, or verdicts of who is hurt, like inelastic,host-overloaded";
	case MAPS:
		return "not never, on-capture or always";
	case GEAR:
		return "not quiet, full or auto";
	case COMMAND:
		return "not the whole path of a program, like /usr/local/bin/page-me, nor off";
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
