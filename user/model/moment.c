/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/moment.h"

#include <errno.h>

#include "base/clock.h"

#define DAY_NS	    (86400 * SECOND_NS)
#define MOST_DIGITS 6 /* of a number: eleven days in seconds, a century in hours */

/* Reads digits; their number into *ret_digits. Moves *at on. */
static uint64_t read_digits(const char **at, unsigned int *ret_digits)
{
	uint64_t value = 0;

	*ret_digits = 0;
	for (; **at >= '0' && **at <= '9' && *ret_digits <= MOST_DIGITS; (*at)++, (*ret_digits)++)
		value = value * 10 + (uint64_t)(**at - '0');
	return value;
}

/* ".25" as ns; 0 where there is no dot. */
static int read_fraction(const char **at, uint64_t *ret_ns)
{
	uint64_t ns = 0, unit = SECOND_NS / 10;
	const char *from;

	*ret_ns = 0;
	if (**at != '.')
		return 0;
	from = ++*at;
	for (; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
		ns += (uint64_t)(**at - '0') * unit;
	if (*at == from)
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

/* "14:03", "14:03:07.250". */
static int parse_clock(const char *at, uint64_t *ret_ns)
{
	static const unsigned int most[] = {23, 59, 59};
	uint64_t seconds = 0, fraction = 0;
	unsigned int parts = 0, digits;

	for (;; at++) {
		uint64_t value = read_digits(&at, &digits);

		if (!digits || digits > 2 || value > most[parts])
			return -EINVAL;
		seconds = seconds * 60 + value;
		if (++parts == 3 || *at != ':')
			break;
	}
	if (parts < 2 || (parts == 3 && read_fraction(&at, &fraction)) || *at)
		return -EINVAL;
	*ret_ns = (parts == 2 ? seconds * 60 : seconds) * SECOND_NS + fraction;
	return 0;
}

/* "12.5", "1m30s". Each unit at most once, the largest first; a fraction only of seconds. */
static int parse_span(const char *at, uint64_t *ret_ns)
{
	static const struct unit {
		char letter;
		uint64_t seconds;
	} units[] = {{'h', 3600}, {'m', 60}, {'s', 1}};
	uint64_t sum = 0, fraction;
	size_t next = 0;

	do {
		unsigned int digits;
		uint64_t value = read_digits(&at, &digits);

		if (!digits || digits > MOST_DIGITS || read_fraction(&at, &fraction))
			return -EINVAL;
		/* The seconds' letter may be left out, but "1h2" could mean minutes. */
		while (next < 3 && *at && units[next].letter != *at)
			next++;
		if (!*at)
			next = next == 0 || next == 2 ? 2 : 3;
		if (next == 3 || (fraction && units[next].letter != 's'))
			return -EINVAL;
		sum += value * units[next++].seconds * SECOND_NS + fraction;
		at += *at != '\0';
	} while (*at);
	*ret_ns = sum;
	return 0;
}

int moment_parse(const char *text, struct moment *ret_moment)
{
	struct moment moment = {0};
	int err;

	for (const char *c = text; *c; c++)
		moment.clock |= *c == ':';
	err = moment.clock ? parse_clock(text, &moment.ns) : parse_span(text, &moment.ns);
	if (!err)
		*ret_moment = moment;
	return err;
}

int moment_parse_length(const char *text, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	int err = parse_span(text, &ns);

	if (err || !ns)
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

uint64_t moment_length_ns(const struct model *m)
{
	uint64_t end_ns = m->slices_cnt ? m->slices[m->slices_cnt - 1].end_ns : m->host.end_ns;

	return end_ns > m->host.start_ns ? end_ns - m->host.start_ns : 0;
}

int moment_resolve(const struct model *m, const struct moment *moment, uint64_t not_before_ns,
		   uint64_t *ret_ns)
{
	uint64_t length_ns = moment_length_ns(m), start_ns, at;

	if (!moment->clock) {
		*ret_ns = moment->ns;
		return 0;
	}
	if (!m->slices_cnt)
		return -ERANGE;
	/* Since the epoch; at is the same moment of the clock on the first day of the recording. */
	start_ns = m->host.start_ns + (uint64_t)m->slices[0].wall_offset_ns;
	at = start_ns / DAY_NS * DAY_NS + moment->ns;
	if (at < start_ns && start_ns - at < SECOND_NS)
		at = start_ns;
	while (at < start_ns || at - start_ns < not_before_ns)
		at += DAY_NS;
	at -= start_ns;
	if (at >= length_ns + SECOND_NS)
		return -ERANGE;
	*ret_ns = at < length_ns ? at : length_ns;
	return 0;
}
