/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the resident recorder: options, file, what is wrong with them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "watch/config.h"

Test(watch_config, has_defaults)
{
	struct watch_config c;

	watch_config_default(&c);
	cr_expect_eq(c.hz, 19);
	cr_expect_float_eq(c.budget, 0.005, 1e-9);
	cr_expect_eq(c.ring_ns, 60 * SECOND_NS);
	cr_expect_eq(c.memory_bytes, 24ull << 20);
	cr_expect_eq(c.file_cpu_ns, 2 * SECOND_NS);
	cr_expect_eq(c.file_time_ns, 10 * SECOND_NS);
	cr_expect_eq(c.file_memory_bytes, 0);
	cr_expect_eq(c.rotate_ns, 0);
	cr_expect_eq(c.keep.count, 100);
	cr_expect_eq(c.keep.bytes, 2ull << 30);
	cr_expect_eq(c.keep.age_s, 7 * 86400);
	cr_expect_eq(c.before_ns, 15 * SECOND_NS);
	cr_expect_eq(c.after_ns, 30 * SECOND_NS);
	cr_expect_eq(c.series, 30);
	cr_expect_eq(c.capture_on,
		     VERDICT_BIT(VERDICT_HOST_OVERLOADED) | VERDICT_BIT(VERDICT_INELASTIC) |
			     VERDICT_BIT(VERDICT_STOLEN) | VERDICT_BIT(VERDICT_THROTTLED) |
			     VERDICT_BIT(VERDICT_STARVED) | VERDICT_BIT(VERDICT_OVERSUBSCRIBED) |
			     VERDICT_BIT(VERDICT_NO_EVIDENCE));
	cr_expect_eq(c.confirm_ns, 3 * SECOND_NS);
	cr_expect_eq(c.cooldown_ns, 600 * SECOND_NS);
	cr_expect_eq(c.captures_per_hour, 6);
	cr_expect_str_eq(c.on_capture, "");
	cr_expect_eq(c.perf_maps, WATCH_MAPS_NEVER);
	cr_expect_eq(c.perf_maps_for.include_cnt, 0);
	cr_expect_float_eq(c.limits.limits.slow_share, 0.1, 1e-9);
}

static const struct setting {
	const char *name, *value, *wrong; /* wrong NULL = taken */
} settings[] = {
	{"frequency", "99", NULL},
	{"frequency", "0", "frequency 0: out of bounds"},
	{"frequency", "1000", "frequency 1000: out of bounds"},
	{"frequency", "ten", "frequency ten: not a whole number"},
	{"budget", "1%", NULL},
	{"file-cpu", "500ms", NULL},
	{"file-cpu", "0s", "file-cpu 0s: too short or too long"},
	{"file-time", "1m", NULL},
	{"file-memory", "128M", NULL},
	{"file-memory", "2G", "file-memory 2G: too little or too much"},
	{"budget", "0.01", NULL},
	{"budget", "2", "budget 2: not a share, like 0.5% or 0.005"},
	{"budget", "", "budget : not a share, like 0.5% or 0.005"},
	{"ring", "10m", NULL},
	{"ring", "1s", "ring 1s: too short or too long"},
	{"memory", "256M", NULL},
	{"memory", "1K", "memory 1K: too little or too much"},
	{"rotate", "5m", NULL},
	{"rotate", "off", NULL},
	{"rotate", "0s", "rotate 0s: too short or too long"},
	{"rotate", "often", "rotate often: not a time, like 5m, or off"},
	{"keep-count", "0", NULL},
	{"capture-on", "off", NULL},
	{"capture-on", "inelastic, host-overloaded,starved", NULL},
	{"capture-on", "healthy",
	 "capture-on healthy: not all, off, or verdicts of who is hurt, like "
	 "inelastic,host-overloaded"},
	{"capture-on", "starved, off",
	 "capture-on starved, off: not all, off, or verdicts of who is hurt, like "
	 "inelastic,host-overloaded"},
	{"capture-on", "starved,",
	 "capture-on starved,: not all, off, or verdicts of who is hurt, like "
	 "inelastic,host-overloaded"},
	{"confirm", "10s", NULL},
	{"confirm", "500ms", "confirm 500ms: too short or too long"},
	{"cooldown", "1h", NULL},
	{"cooldown", "7h", "cooldown 7h: too short or too long"},
	{"captures-per-hour", "0", NULL},
	{"captures-per-hour", "61", "captures-per-hour 61: out of bounds"},
	{"on-capture", "/usr/local/bin/page-me", NULL},
	{"on-capture", "off", NULL},
	{"on-capture", "page-me",
	 "on-capture page-me: not the whole path of a program, like /usr/local/bin/page-me, nor "
	 "off"},
	{"on-capture", "/",
	 "on-capture /: not the whole path of a program, like /usr/local/bin/page-me, nor off"},
	{"perf-maps", "always", NULL},
	{"perf-maps", "sometimes", "perf-maps sometimes: not never, on-capture or always"},
	{"perf-maps-for", "unit=shop.service", NULL},
	{"perf-maps-for", "namespace=prod", NULL},
	{"keep-bytes", "1.5T", NULL},
	{"keep-bytes", "much", "keep-bytes much: not an amount, like 64M or 2G"},
	{"keep-age", "36h", NULL},
	{"keep-age", "36", "keep-age 36: not a time, like 30s or 5m"},
	{"before", "0s", NULL},
	{"after", "2h", NULL},
	{"series", "501", "series 501: out of bounds"},
	{"colour", "red", "colour: no such setting; `hotrun watch --help` lists them"},
	{"\033[2J", "red", "\\x1b[2J: no such setting; `hotrun watch --help` lists them"},
	{"ring", "\n\033", "ring \\x0a\\x1b: not a time, like 30s or 5m"},
};

Test(watch_config, takes_settings_and_says_what_is_wrong)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char error[LIMITS_ERROR_BYTES] = "";
		struct watch_config c;
		int err;

		watch_config_default(&c);
		err = watch_config_set(&c, settings[i].name, settings[i].value, error);
		cr_expect_eq(err, settings[i].wrong ? -EINVAL : 0, "%s %s", settings[i].name,
			     settings[i].value);
		if (settings[i].wrong)
			cr_expect_str_eq(error, settings[i].wrong);
	}
}

Test(watch_config, takes_each_value_into_its_place)
{
	char error[LIMITS_ERROR_BYTES];
	struct watch_config c;

	watch_config_default(&c);
	cr_assert_eq(watch_config_set(&c, "rotate", "5m", error), 0);
	cr_expect_eq(c.rotate_ns, 300 * SECOND_NS);
	cr_assert_eq(watch_config_set(&c, "rotate", "off", error), 0);
	cr_expect_eq(c.rotate_ns, 0);
	cr_assert_eq(watch_config_set(&c, "keep-age", "36h", error), 0);
	cr_expect_eq(c.keep.age_s, 36 * 3600);
	cr_assert_eq(watch_config_set(&c, "budget", "1.5%", error), 0);
	cr_expect_float_eq(c.budget, 0.015, 1e-12);
	cr_assert_eq(watch_config_set(&c, "frequency", "49", error), 0);
	cr_expect_eq(c.hz, 49);
	cr_expect_eq(c.ring_ns, 60 * SECOND_NS, "beside it");
}

static int parse(struct watch_config *c, const char *text, unsigned int *line, char *error)
{
	watch_config_default(c);
	return watch_config_parse(c, text, strlen(text), line, error);
}

Test(watch_config, reads_its_section_and_the_thresholds_of_a_file)
{
	static const char text[] = "# of this host\n"
				   "slow-share = 5%\n"
				   "[hotrun watch]\n"
				   "rotate = 10m   # all the time\n"
				   "  keep-bytes=1G\n"
				   "[Shop.Push]\n"
				   "stuck = 10m\n"
				   "[hotrun watch]\n"
				   "ring = 30s\n";
	char error[LIMITS_ERROR_BYTES];
	struct watch_config c;
	unsigned int line;

	cr_assert_eq(parse(&c, text, &line, error), 0);
	cr_expect_eq(c.rotate_ns, 600 * SECOND_NS);
	cr_expect_eq(c.keep.bytes, 1ull << 30);
	cr_expect_eq(c.ring_ns, 30 * SECOND_NS);
	cr_expect_float_eq(c.limits.limits.slow_share, 0.05, 1e-9);
	cr_assert_eq(c.limits.sections_cnt, 1);
	cr_expect_str_eq(c.limits.sections[0].name, "Shop.Push");
	watch_config_clear(&c);
}

static const struct {
	const char *text;
	unsigned int line;
	const char *error;
} wrong[] = {
	{"[hotrun watch]\nrotate 5m\n", 2, "not NAME = VALUE, or too long"},
	{"[hotrun watch]\n\n# x\nrotate = soon\n", 4, "rotate soon: not a time, like 5m, or off"},
	{"[hotrun watch]\nslow-share = 5%\n", 2,
	 "slow-share: no such setting; `hotrun watch --help` lists them"},
	{"rotate = 5m\n", 1, "rotate: no such limit; --help lists them"},
	{"[hotrun watch]\nring = 30s\n[Shop]\nnonsense\n", 4, "nonsense: not NAME = VALUE"},
};

Test(watch_config, says_the_line_that_is_wrong)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char error[LIMITS_ERROR_BYTES] = "";
		struct watch_config c;
		unsigned int line = 0;

		cr_expect_eq(parse(&c, wrong[i].text, &line, error), -EINVAL, "row %zu", i);
		cr_expect_eq(line, wrong[i].line, "row %zu: %u", i, line);
		cr_expect_str_eq(error, wrong[i].error);
		watch_config_clear(&c);
	}
}

/* Other commands read the same file. */
Test(watch_config, is_skipped_by_those_who_read_thresholds)
{
	static const char text[] = "[hotrun watch]\nanything goes\n[Shop]\nstuck = 1m\n";
	struct verdict_policy policy = {0};
	char error[LIMITS_ERROR_BYTES];
	unsigned int line;

	verdict_limits_default(&policy.limits);
	cr_assert_eq(limits_parse(&policy, text, strlen(text), &line, error), 0);
	cr_assert_eq(policy.sections_cnt, 1);
	cr_expect_eq(policy.sections[0].limits.stuck_ns, 60 * SECOND_NS);
	limits_clear(&policy);
}

Test(watch_config, each_setting_is_an_option_that_tells_what_holds_without_it)
{
	struct command_option o;
	size_t cnt = 0, presets = 0;

	for (; watch_config_option(cnt, &o); cnt++) {
		cr_expect(*o.name && *o.value && *o.text && !o.letter, "%zu", cnt);
		presets += strstr(o.text, "(default ") != NULL;
		if (!strcmp(o.name, "budget"))
			cr_expect_str_eq(o.text, "of all CPUs, that hotrun may cost; 0: no bound "
						 "(default 0.5%)");
	}
	cr_expect_eq(presets, cnt - 4, "all but include, exclude, perf-maps-for and on-capture");
}
