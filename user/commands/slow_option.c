/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/slow_option.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "commands/command.h"

/* What the histogram of times still tells apart. */
#define SLOW_MIN_NS 1000ull
#define SLOW_MAX_NS 60000000000ull

static int parse_port(const char *text, size_t len, uint16_t *ret_port)
{
	char number[8];
	uint64_t port;

	if (len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (text_parse_u64(number, 1, UINT16_MAX, &port))
		return -EINVAL;
	*ret_port = (uint16_t)port;
	return 0;
}

static int take_slow(void *at, const struct command_option *option, const char *value)
{
	struct slow_option *o = at;
	const char *equals = strchr(value, '=');
	struct session_slow_port port;
	size_t i = 0;

	if (text_parse_time(equals ? equals + 1 : value, SLOW_MIN_NS, SLOW_MAX_NS, &port.slow_ns) ||
	    (equals && parse_port(value, (size_t)(equals - value), &port.port)))
		return option_refuse(option, value,
				     "not a time, 1us to 60s, like 500ms, or PORT=TIME, like "
				     "8080=200ms");
	if (!equals) {
		o->slow_ns = port.slow_ns;
		return EXIT_OK;
	}
	while (i < o->port_cnt && o->ports[i].port != port.port)
		i++;
	if (i == SLOW_PORTS_MAX)
		return option_refuse(option, value, "too many ports (16 at the most)");
	o->ports[i] = port;
	if (i == o->port_cnt)
		o->port_cnt++;
	return EXIT_OK;
}

_Static_assert(SLOW_PORTS_MAX == 16, "told above");

static int take_follow(void *at, const struct command_option *option, const char *value)
{
	struct slow_option *o = at;
	int rc = option_count(&o->follow.most, option, value);

	o->follow.given = !rc;
	return rc;
}

const struct command_option slow_options[2] = {
	OPTION(0, "slow", "[PORT=]TIME",
	       "an answer is slow when its first byte takes longer, on that port or on all "
	       "(default 500ms); again for more",
	       take_slow),
	OPTION(0, "follow", "N",
	       "requests a second that are followed; of more, those of some connections, which "
	       "stand for all (default 20000; watch 4000; 0 = all)",
	       take_follow, .max = OPTION_MAX_CNT),
};

void slow_option_apply(const struct slow_option *o, struct collector_options *collector)
{
	collector->slow_ns = o->slow_ns;
	collector->slow_ports = o->ports;
	collector->slow_port_cnt = o->port_cnt;
	if (o->follow.given)
		collector->follow_most = o->follow.most;
}
