/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/limits.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum kind { SHARE, TIME, NUMBER, COUNT, HURT_BY, SWITCH };

/* Values of HURT_BY. */
static const char *const hurt_by[HURT_BY_CNT] = {
	[HURT_BY_REQUESTS] = "requests",
	[HURT_BY_WAITING] = "waiting",
};

struct limit {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct verdict_limits */
	const char *help;
};

#define LIMIT(name, kind, field, help)                                   \
	{                                                                \
		name, kind, offsetof(struct verdict_limits, field), help \
	}

static const struct limit limits[] = {
	LIMIT("hurt-by", HURT_BY, hurt_by, "or waiting: missing CPU hurts who serves nothing, too"),
	LIMIT("slow-share", SHARE, slow_share, "of its requests slow: from there on hurt"),
	LIMIT("unanswered", SHARE, unanswered,
	      "of those that end, without an answer (HTTP/1): from there on"),
	LIMIT("min-requests", COUNT, requests_min, "fewer requests tell nothing of a share"),
	LIMIT("stuck", TIME, stuck_ns, "a request unanswered for longer hangs"),
	LIMIT("signal", NUMBER, signal_bad, "the operator's own signal: from there on bad"),
	LIMIT("slower", NUMBER, slower,
	      "times as slow as usual (hotrun watch): from there on hurt; 0: never"),
	LIMIT("progress", SHARE, progress, "of the CPU time wanted that it gets: not less"),
	LIMIT("run-delay", TIME, delay_ns, "p99 of waits for a CPU: not more"),
	LIMIT("min-wanted", NUMBER, wanted_min,
	      "mean threads; who wants or misses less is not judged by it"),
	LIMIT("min-delays", COUNT, delays_min, "fewer waits tell nothing of their p99"),
	LIMIT("steal", SHARE, steal, "of CPU time taken by the hypervisor: stolen"),
	LIMIT("throttled", SHARE, throttled, "of the CPU time wanted: throttled"),
	LIMIT("own-waiting", NUMBER, own_waiting,
	      "threads for each CPU behind its own: oversubscribed"),
	LIMIT("high-cpu", SHARE, high_cpu, "of the CPUs that it may use: busy"),
	LIMIT("host-cpu", SHARE, host_busy, "of all CPUs: the host is saturated"),
	LIMIT("host-waiting", NUMBER, host_waiting_min,
	      "threads, or half the CPUs if more: the host is saturated"),
	LIMIT("episode", TIME, episode_ns, "hurt for so long on end is told in any case"),
	LIMIT("capture", SWITCH, no_capture, "off: `hotrun watch` takes none for it by itself"),
};

#define LIMITS_CNT (sizeof(limits) / sizeof(limits[0]))

_Static_assert(LIMITS_CNT <= 32, "bits of verdict_section.set");

/* A piece of a line. */
struct piece {
	const char *s;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct piece trimmed(const char *s, size_t len)
{
	while (len && is_blank(*s)) {
		s++;
		len--;
	}
	while (len && is_blank(s[len - 1]))
		len--;
	return (struct piece){s, len};
}

static bool ends_with(struct piece p, const char *end)
{
	size_t len = strlen(end);

	return p.len >= len && !memcmp(p.s + p.len - len, end, len);
}

static bool equals(struct piece p, const char *s)
{
	return p.len == strlen(s) && !memcmp(p.s, s, p.len);
}

/* --- values ---------------------------------------------------------------------------------- */

#define VALUE_BYTES  32
#define LIMIT_MAX_NS 1000000000000000000ull

/* 0 or -EINVAL: none, or too long. */
static int copy_value(struct piece p, char ret_text[static VALUE_BYTES])
{
	if (!p.len || p.len >= VALUE_BYTES || memchr(p.s, '\0', p.len))
		return -EINVAL;
	memcpy(ret_text, p.s, p.len);
	ret_text[p.len] = '\0';
	return 0;
}

/* The number before so many bytes of unit. 0 or -EINVAL. */
static int parse_number(struct piece p, size_t unit_len, double max, double *ret_value)
{
	char text[VALUE_BYTES];

	if (copy_value(trimmed(p.s, p.len - unit_len), text))
		return -EINVAL;
	return text_parse_double(text, 0, max, ret_value) ? -EINVAL : 0;
}

static int parse_share(struct piece p, double *ret_share)
{
	double share;
	bool percent = ends_with(p, "%");
	int err = parse_number(p, percent ? 1 : 0, percent ? 100 : 1, &share);

	if (!err)
		*ret_share = percent ? share / 100 : share;
	return err;
}

static int parse_time(struct piece p, uint64_t *ret_ns)
{
	char text[VALUE_BYTES];

	if (copy_value(p, text))
		return -EINVAL;
	return text_parse_time(text, 0, LIMIT_MAX_NS, ret_ns) ? -EINVAL : 0;
}

static int parse_count(struct piece p, uint64_t *ret_count)
{
	char text[VALUE_BYTES];

	if (copy_value(p, text))
		return -EINVAL;
	return text_parse_u64(text, 0, 1000000000, ret_count) ? -EINVAL : 0;
}

static int parse_hurt_by(struct piece p, uint64_t *ret_hurt_by)
{
	for (size_t i = 0; i < HURT_BY_CNT; i++) {
		if (!equals(p, hurt_by[i]))
			continue;
		*ret_hurt_by = i;
		return 0;
	}
	return -EINVAL;
}

static int parse_switch(struct piece p, bool *ret_off)
{
	if (!equals(p, "on") && !equals(p, "off"))
		return -EINVAL;
	*ret_off = equals(p, "off");
	return 0;
}

static int parse_value(const struct limit *limit, struct piece value, struct verdict_limits *l)
{
	void *field = (char *)l + limit->offset;

	switch (limit->kind) {
	case SHARE:
		return parse_share(value, field);
	case TIME:
		return parse_time(value, field);
	case NUMBER:
		return parse_number(value, 0, 1e9, field);
	case HURT_BY:
		return parse_hurt_by(value, field);
	case SWITCH:
		return parse_switch(value, field);
	default:
		return parse_count(value, field);
	}
}

static const char *wanted(enum kind kind)
{
	switch (kind) {
	case SHARE:
		return "a share, like 80% or 0.8";
	case TIME:
		return "a time, like 20ms, 10s or 5m";
	case NUMBER:
		return "a number, like 10 or 0.5";
	case HURT_BY:
		return "requests or waiting";
	case SWITCH:
		return "on or off";
	default:
		return "a whole number";
	}
}

/* --- settings -------------------------------------------------------------------------------- */

/* What is wrong, with the piece that it is about. */
static int wrong(char *error, struct piece about, const char *what)
{
	char safe[LIMITS_ERROR_BYTES / 2];

	text_copy_safe(safe, sizeof(safe), about.s, about.len);
	snprintf(error, LIMITS_ERROR_BYTES, "%s: %s", safe, what);
	return -EINVAL;
}

/* "name = value". 0 or -EINVAL. */
static int parse_setting(struct piece line, struct verdict_limits *l, size_t *ret_limit,
			 char *error)
{
	const char *equal = memchr(line.s, '=', line.len);
	struct piece name, value;

	if (!equal)
		return wrong(error, line, "not NAME = VALUE");
	name = trimmed(line.s, (size_t)(equal - line.s));
	value = trimmed(equal + 1, line.len - (size_t)(equal - line.s) - 1);
	for (size_t i = 0; i < LIMITS_CNT; i++) {
		if (!equals(name, limits[i].name))
			continue;
		if (parse_value(&limits[i], value, l))
			return wrong(error, line, wanted(limits[i].kind));
		*ret_limit = i;
		return 0;
	}
	return wrong(error, name, "no such limit; --help lists them");
}

int limits_set(struct verdict_policy *policy, const char *setting,
	       char ret_error[static LIMITS_ERROR_BYTES])
{
	struct piece line = trimmed(setting, strlen(setting));
	size_t limit;
	int err = parse_setting(line, &policy->limits, &limit, ret_error);

	for (size_t i = 0; !err && i < policy->sections_cnt; i++)
		if (!(policy->sections[i].set & 1u << limit))
			parse_setting(line, &policy->sections[i].limits, &limit, ret_error);
	return err;
}

/* "[Shop.Push]", "[port 8443]". 0, -EINVAL or -ENOMEM. */
static int begin_section(struct verdict_policy *policy, struct piece line, char *error)
{
	struct verdict_section section = {.limits = policy->limits};
	struct verdict_section *sections;
	struct piece name;
	uint64_t port;

	if (line.s[line.len - 1] != ']')
		return wrong(error, line, "no ] at its end");
	name = trimmed(line.s + 1, line.len - 2);
	if (!name.len || memchr(name.s, '\0', name.len))
		return wrong(error, line, "a section is [process or unit] or [port NUMBER]");
	if (policy->sections_cnt >= LIMITS_MAX_SECTIONS)
		return wrong(error, line, "too many sections");
	if (name.len > 5 && !memcmp(name.s, "port ", 5)) {
		if (parse_count(trimmed(name.s + 5, name.len - 5), &port) || !port || port > 65535)
			return wrong(error, line, "not a port, 1 to 65535");
		section.port = (uint16_t)port;
	} else {
		section.name = strndup(name.s, name.len);
		if (!section.name)
			return -ENOMEM;
	}
	sections = realloc(policy->sections, (policy->sections_cnt + 1) * sizeof(*sections));
	if (!sections) {
		free(section.name);
		return -ENOMEM;
	}
	policy->sections = sections;
	policy->sections[policy->sections_cnt++] = section;
	return 0;
}

static int parse_line(struct verdict_policy *policy, struct piece line, char *error)
{
	struct verdict_section *section = NULL;
	size_t limit;
	int err;

	if (*line.s == '[')
		return begin_section(policy, line, error);
	if (policy->sections_cnt)
		section = &policy->sections[policy->sections_cnt - 1];
	err = parse_setting(line, section ? &section->limits : &policy->limits, &limit, error);
	if (!err && section)
		section->set |= 1u << limit;
	return err;
}

/* A comment begins a line, or stands behind a blank. */
static size_t comment_at(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((s[i] == '#' || s[i] == ';') && (!i || is_blank(s[i - 1])))
			return i;
	return len;
}

int limits_lines(const char *text, size_t len,
		 int (*take)(void *ctx, const char *line, size_t len, bool other), void *ctx,
		 unsigned int *ret_line)
{
	unsigned int number = 0;
	bool other = false;
	int err = 0;

	while (!err && len) {
		const char *end = memchr(text, '\n', len);
		size_t line_len = end ? (size_t)(end - text) : len;
		struct piece line = trimmed(text, comment_at(text, line_len));

		number++;
		if (line.len && *line.s == '[')
			other = equals(line, LIMITS_OTHER);
		if (line.len)
			err = take(ctx, line.s, line.len, other);
		line_len += end != NULL;
		text += line_len;
		len -= line_len;
	}
	if (err)
		*ret_line = number;
	return err;
}

struct parsing {
	struct verdict_policy *policy;
	char *error;
};

static int take_line(void *ctx, const char *line, size_t len, bool other)
{
	struct parsing *p = ctx;

	return other ? 0 : parse_line(p->policy, (struct piece){line, len}, p->error);
}

int limits_parse(struct verdict_policy *policy, const char *text, size_t len,
		 unsigned int *ret_line, char ret_error[static LIMITS_ERROR_BYTES])
{
	struct parsing parsing = {policy, ret_error};

	return limits_lines(text, len, take_line, &parsing, ret_line);
}

void limits_clear(struct verdict_policy *policy)
{
	for (size_t i = 0; i < policy->sections_cnt; i++)
		free(policy->sections[i].name);
	free(policy->sections);
	policy->sections = NULL;
	policy->sections_cnt = 0;
}

/* --- help ------------------------------------------------------------------------------------ */

static void value_text(char buf[VALUE_BYTES], const struct limit *limit,
		       const struct verdict_limits *l)
{
	const void *field = (const char *)l + limit->offset;
	uint64_t n;

	switch (limit->kind) {
	case SHARE:
		snprintf(buf, VALUE_BYTES, "%.0f%%", *(const double *)field * 100);
		break;
	case TIME:
		n = *(const uint64_t *)field;
		if (n % 1000000000)
			snprintf(buf, VALUE_BYTES, "%llums", (unsigned long long)(n / 1000000));
		else
			snprintf(buf, VALUE_BYTES, "%llus", (unsigned long long)(n / 1000000000));
		break;
	case NUMBER:
		snprintf(buf, VALUE_BYTES, "%g", *(const double *)field);
		break;
	case HURT_BY:
		snprintf(buf, VALUE_BYTES, "%s", hurt_by[*(const uint64_t *)field]);
		break;
	case SWITCH:
		snprintf(buf, VALUE_BYTES, "%s", *(const bool *)field ? "off" : "on");
		break;
	default:
		snprintf(buf, VALUE_BYTES, "%llu", (unsigned long long)*(const uint64_t *)field);
	}
}

void limits_put_help(FILE *out)
{
	struct verdict_limits defaults;

	verdict_limits_default(&defaults);
	for (size_t i = 0; i < LIMITS_CNT; i++) {
		char value[VALUE_BYTES];

		value_text(value, &limits[i], &defaults);
		fprintf(out, "  %s=%-*s  %s\n", limits[i].name, (int)(18 - strlen(limits[i].name)),
			value, limits[i].help);
	}
}
