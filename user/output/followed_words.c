/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/followed_words.h"

#include <stdio.h>

#include "output/table.h"

/* A look in the slice itself is younger. */
#define AGE_TOLD_NS 500000000ull

bool followed_words(char buf[static FOLLOWED_WORDS_BYTES], const struct followed *f)
{
	if (f->one_of < 2)
		return false;
	snprintf(buf, FOLLOWED_WORDS_BYTES,
		 "at the busiest ports 1 of %u connections followed for %s of %s, since requests "
		 "were many (--follow), %s at a time: counts are scaled, those of the host ±%s if "
		 "these are like the others; max: of those seen",
		 f->one_of, number_long_time(f->ns).text, number_long_time(f->elapsed_ns).text,
		 number_count(f->connections).text, number_percent(f->error).text);
	return true;
}

bool sockets_age_words(char buf[static FOLLOWED_WORDS_BYTES], const struct followed *f)
{
	if (f->sockets_age_ns < AGE_TOLD_NS)
		return false;
	snprintf(buf, FOLLOWED_WORDS_BYTES,
		 "open, oldest, stuck and queue: as they stood up to %s before, since connections "
		 "are many",
		 number_long_time(f->sockets_age_ns).text);
	return true;
}

bool slow_error_words(char buf[static FOLLOWED_WORDS_BYTES], const struct requests_sum *sum)
{
	const struct model_served *s = &sum->served;
	double low, high;

	if (!sum->unseen || sum->unseen > s->answered)
		return false;
	requests_slow_range(sum, &low, &high);
	snprintf(buf, FOLLOWED_WORDS_BYTES, "slow %s (%s to %s), by the %s of %s answers seen",
		 number_percent(requests_slow_share(sum)).text, number_percent(low).text,
		 number_percent(high).text, number_count(s->answered - sum->unseen).text,
		 number_count(s->answered).text);
	return true;
}
