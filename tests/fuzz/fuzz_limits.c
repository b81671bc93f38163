/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration file of limits, as one of `watch`, and as a rule of selection: any bytes. What is
 * read stays within its bounds. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "judge/limits.h"
#include "watch/config.h"

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_watch(const char *text, size_t size)
{
	char error[LIMITS_ERROR_BYTES] = "";
	struct watch_config config;
	unsigned int line = 0;

	watch_config_default(&config);
	must(!watch_config_parse(&config, text, size, &line, error) || line);
	for (const char *c = error; *c; c++)
		must((unsigned char)*c >= 0x20);
	must(config.hz >= 1 && config.hz <= 999 && config.budget >= 0 && config.budget <= 1);
	must(config.memory_bytes >= 8 << 20 && config.ring_ns >= 5000000000ull);
	must(config.selection.include_cnt <= SELECTION_MAX &&
	     config.selection.exclude_cnt <= SELECTION_MAX);
	watch_config_clear(&config);
}

/* A rule, and a process that bears the same name: patterns are matched against names of
 * strangers. */
static void check_rule(const char *text, size_t size)
{
	char rule[300];
	struct model_process p = {.name = rule,
				  .comm = rule,
				  .unit = rule,
				  .container = rule,
				  .container_id = rule,
				  .container_name = rule,
				  .pod = rule,
				  .namespace = rule};
	struct selection s = {0};
	size_t len = size < sizeof(rule) - 1 ? size : sizeof(rule) - 1;
	int err;

	memcpy(rule, text, len);
	rule[len] = 0;
	err = selection_add(&s, true, rule);
	must(err == 0 || err == -EINVAL);
	must(s.include_cnt == !err);
	must(err || memchr(s.include[0].pattern, 0, sizeof(s.include[0].pattern)));
	selection_has(&s, &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verdict_policy policy = {0};
	char error[LIMITS_ERROR_BYTES] = "";
	unsigned int line = 0;

	verdict_limits_default(&policy.limits);
	if (limits_parse(&policy, (const char *)data, size, &line, error) && !line)
		abort();
	if (policy.sections_cnt > LIMITS_MAX_SECTIONS)
		abort();
	for (const char *c = error; *c; c++)
		if ((unsigned char)*c < 0x20)
			abort();
	if (!(policy.limits.progress >= 0 && policy.limits.progress <= 1))
		abort();
	must(policy.limits.hurt_by < HURT_BY_CNT);
	limits_clear(&policy);
	check_watch((const char *)data, size);
	check_rule((const char *)data, size);
	return 0;
}
