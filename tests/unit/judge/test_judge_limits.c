/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/limits.h"

#define SECOND 1000000000ull

static struct verdict_policy defaults(void)
{
	struct verdict_policy policy = {0};

	verdict_limits_default(&policy.limits);
	return policy;
}

struct bad_case {
	const char *setting, *error;
};

static const struct bad_case bad[] = {
	{"", ": not NAME = VALUE"},
	{"progress", "progress: not NAME = VALUE"},
	{"=", ": no such limit; --help lists them"},
	{"=80%", ": no such limit; --help lists them"},
	{"progres=80%", "progres: no such limit; --help lists them"},
	{"PROGRESS=80%", "PROGRESS: no such limit; --help lists them"},
	{"progress=", "progress=: a share, like 80% or 0.8"},
	{"progress=%", "progress=%: a share, like 80% or 0.8"},
	{"progress=80", "progress=80: a share, like 80% or 0.8"},
	{"progress=101%", "progress=101%: a share, like 80% or 0.8"},
	{"progress=-1%", "progress=-1%: a share, like 80% or 0.8"},
	{"progress=0,8", "progress=0,8: a share, like 80% or 0.8"},
	{"progress=nan", "progress=nan: a share, like 80% or 0.8"},
	{"progress=0x1", "progress=0x1: a share, like 80% or 0.8"},
	{"progress=0.8=0.9", "progress=0.8=0.9: a share, like 80% or 0.8"},
	{"stuck=10", "stuck=10: a time, like 20ms, 10s or 5m"},
	{"stuck=s", "stuck=s: a time, like 20ms, 10s or 5m"},
	{"stuck=10 days", "stuck=10 days: a time, like 20ms, 10s or 5m"},
	{"stuck=999999999h", "stuck=999999999h: a time, like 20ms, 10s or 5m"},
	{"min-requests=1.5", "min-requests=1.5: a whole number"},
	{"min-requests=11111111111111111111111111111111111", NULL},
	{"host-waiting=ten", "host-waiting=ten: a number, like 10 or 0.5"},
	{"hurt-by=", "hurt-by=: requests or waiting"},
	{"hurt-by=Waiting", "hurt-by=Waiting: requests or waiting"},
	{"hurt-by=waiting now", "hurt-by=waiting now: requests or waiting"},
	{"hurt-by=1", "hurt-by=1: requests or waiting"},
	{"\033[31m=1", "\\x1b[31m: no such limit; --help lists them"},
};

Test(limits, what_is_wrong_with_a_setting)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct verdict_policy policy = defaults(), before = policy;
		char error[LIMITS_ERROR_BYTES] = "";

		cr_expect_eq(limits_set(&policy, bad[i].setting, error), -EINVAL, "%s",
			     bad[i].setting);
		cr_expect(*error);
		if (bad[i].error)
			cr_expect_str_eq(error, bad[i].error);
		cr_expect_eq(memcmp(&policy, &before, sizeof(policy)), 0, "%s sets something",
			     bad[i].setting);
	}
}

static struct verdict_limits with(const char *setting)
{
	struct verdict_policy policy = defaults();
	char error[LIMITS_ERROR_BYTES] = "";

	cr_assert_eq(limits_set(&policy, setting, error), 0, "%s: %s", setting, error);
	return policy.limits;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

Test(limits, each_name_sets_its_own)
{
	cr_expect(near(with("high-cpu=60%").high_cpu, 0.6));
	cr_expect(near(with("slow-share = 0.05").slow_share, 0.05));
	cr_expect_eq(with("stuck=1.5m").stuck_ns, 90 * SECOND);
	cr_expect(near(with("progress= 12.5 %").progress, 0.125));
	cr_expect_eq(with("run-delay=250us").delay_ns, 250000);
	cr_expect(near(with("steal=100%").steal, 1));
	cr_expect(near(with("throttled=0%").throttled, 0));
	cr_expect(near(with("host-cpu=1").host_busy, 1));
	cr_expect(near(with("host-waiting=2.5").host_waiting_min, 2.5));
	cr_expect(near(with("own-waiting=4").own_waiting, 4));
	cr_expect_eq(with("min-requests=0").requests_min, 0);
	cr_expect(near(with("signal=500").signal_bad, 500));
	cr_expect(near(with("min-wanted=0.001").wanted_min, 0.001));
	cr_expect_eq(with("min-delays=7").delays_min, 7);
	cr_expect_eq(with("episode=1h").episode_ns, 3600 * SECOND);
	cr_expect_eq(with("hurt-by = waiting").hurt_by, HURT_BY_WAITING);
	cr_expect_eq(with("hurt-by=requests").hurt_by, HURT_BY_REQUESTS);
}

static const char file[] = "# what this host minds\n"
			   "slow-share = 5%   # of all\r\n"
			   "\n"
			   "  stuck=20s\n"
			   "[Shop.Push]\n"
			   "stuck = 10m ; long polls\n"
			   "[ port 8443 ]\n"
			   "slow-share = 0.2\n"
			   "hurt-by = waiting\n"
			   "[two words#1]";

Test(limits, of_a_file_with_sections)
{
	struct verdict_policy policy = defaults();
	char error[LIMITS_ERROR_BYTES] = "";
	unsigned int line = 0;

	cr_assert_eq(limits_parse(&policy, file, strlen(file), &line, error), 0, "%u: %s", line,
		     error);
	cr_expect(near(policy.limits.slow_share, 0.05));
	cr_expect_eq(policy.limits.stuck_ns, 20 * SECOND);
	cr_assert_eq(policy.sections_cnt, 3);
	cr_expect_str_eq(policy.sections[0].name, "Shop.Push");
	cr_expect_eq(policy.sections[0].limits.stuck_ns, 600 * SECOND);
	cr_expect(near(policy.sections[0].limits.slow_share, 0.05), "it holds what stands above");
	cr_expect_null(policy.sections[1].name);
	cr_expect_eq(policy.sections[1].port, 8443);
	cr_expect(near(policy.sections[1].limits.slow_share, 0.2));
	cr_expect_eq(policy.sections[1].limits.stuck_ns, 20 * SECOND, "not of the section before");
	cr_expect_eq(policy.sections[1].limits.hurt_by, HURT_BY_WAITING);
	cr_expect_str_eq(policy.sections[2].name, "two words#1");
	cr_expect_eq(policy.sections[2].limits.hurt_by, HURT_BY_REQUESTS);
	/* An option reaches sections that do not say it themselves. */
	cr_expect_eq(limits_set(&policy, "stuck=30s", error), 0);
	cr_expect_eq(policy.limits.stuck_ns, 30 * SECOND);
	cr_expect_eq(policy.sections[0].limits.stuck_ns, 600 * SECOND);
	cr_expect_eq(policy.sections[1].limits.stuck_ns, 30 * SECOND);
	limits_clear(&policy);
	cr_expect_eq(policy.sections_cnt, 0);
	limits_clear(&policy);
}

struct line_case {
	const char *text;
	unsigned int line;
	const char *error;
};

static const struct line_case bad_lines[] = {
	{"stuck=20s\n\n# x\nstuk = 3s\n", 4, "stuk: no such limit; --help lists them"},
	{"stuck", 1, "stuck: not NAME = VALUE"},
	{"[Shop\n", 1, "[Shop: no ] at its end"},
	{"[", 1, "[: no ] at its end"},
	{"[]", 1, "[]: a section is [process or unit] or [port NUMBER]"},
	{"[ ]", 1, "[ ]: a section is [process or unit] or [port NUMBER]"},
	{"\n[port 0]", 2, "[port 0]: not a port, 1 to 65535"},
	{"[port 65536]", 1, "[port 65536]: not a port, 1 to 65535"},
	{"[port http]", 1, "[port http]: not a port, 1 to 65535"},
	{"[a]\n\nhurt-by = both", 3, "hurt-by = both: requests or waiting"},
	{"[a]\nstuck = soon", 2, "stuck = soon: a time, like 20ms, 10s or 5m"},
	{"\033]0;x\007", 1, "\\x1b]0;x\\x07: not NAME = VALUE"},
};

Test(limits, what_is_wrong_with_a_file_and_where)
{
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		struct verdict_policy policy = defaults();
		char error[LIMITS_ERROR_BYTES] = "";
		unsigned int line = 0;

		cr_expect_eq(limits_parse(&policy, bad_lines[i].text, strlen(bad_lines[i].text),
					  &line, error),
			     -EINVAL, "%s", bad_lines[i].text);
		cr_expect_eq(line, bad_lines[i].line, "%s: line %u", bad_lines[i].text, line);
		cr_expect_str_eq(error, bad_lines[i].error);
		limits_clear(&policy);
	}
}

Test(limits, cut_at_every_byte_it_is_read_or_refused)
{
	for (size_t len = 0; len <= strlen(file); len++) {
		struct verdict_policy policy = defaults();
		char *exact = malloc(len + 1), error[LIMITS_ERROR_BYTES];
		unsigned int line = 0;
		int err;

		memcpy(exact, file, len);
		exact = realloc(exact, len ? len : 1);
		err = limits_parse(&policy, exact, len, &line, error);
		cr_expect(err == 0 || (err == -EINVAL && line), "%zu bytes: %d", len, err);
		limits_clear(&policy);
		free(exact);
	}
}

Test(limits, sections_are_bounded)
{
	size_t len = 0;
	char *text = malloc(4 * (LIMITS_MAX_SECTIONS + 2));
	struct verdict_policy policy = defaults();
	char error[LIMITS_ERROR_BYTES];
	unsigned int line = 0;

	for (int i = 0; i <= LIMITS_MAX_SECTIONS; i++)
		len += (size_t)sprintf(text + len, "[a]\n");
	cr_expect_eq(limits_parse(&policy, text, len, &line, error), -EINVAL);
	cr_expect_eq(line, LIMITS_MAX_SECTIONS + 1);
	limits_clear(&policy);
	free(text);
}

Test(limits, help_has_each_with_its_default)
{
	char *text = NULL, *line;
	size_t len, cnt = 0;
	FILE *out = open_memstream(&text, &len);

	limits_put_help(out);
	fclose(out);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		struct verdict_policy policy = defaults(), before = policy;
		char setting[64], error[LIMITS_ERROR_BYTES] = "";

		cr_assert_eq(sscanf(line, "%63s", setting), 1);
		cr_expect_eq(limits_set(&policy, setting, error), 0, "%s: %s", setting, error);
		cr_expect_eq(memcmp(&policy, &before, sizeof(policy)), 0, "%s is no default",
			     setting);
		cr_expect_leq(strlen(line), 90);
		cnt++;
	}
	cr_expect_eq(cnt, 19);
	free(text);
}

Test(limits, capture_is_on_or_off_by_section)
{
	static const char text[] =
		"slow-share = 5%\n[Shop.Web]\ncapture = off\n[Shop.Mail]\nstuck = 1m\n";
	struct verdict_policy policy = defaults();
	char error[LIMITS_ERROR_BYTES] = "";
	unsigned int line = 0;

	cr_assert_eq(limits_parse(&policy, text, sizeof(text) - 1, &line, error), 0, "%s", error);
	cr_expect_not(policy.limits.no_capture);
	cr_expect(policy.sections[0].limits.no_capture);
	cr_expect_not(policy.sections[1].limits.no_capture);
	cr_expect_eq(limits_set(&policy, "capture=off", error), 0);
	cr_expect(policy.sections[1].limits.no_capture, "what no section sets holds everywhere");
	cr_expect_eq(limits_set(&policy, "capture=maybe", error), -EINVAL);
	cr_expect(strstr(error, "on or off"), "%s", error);
	limits_clear(&policy);
}
