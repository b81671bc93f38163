/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/verdict_words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "output/report_text.h"

/* A limit is written as it was set: "80 %", "12.5 %". */
static struct number percent_limit(double share)
{
	double percent = share * 100;
	struct number n = number_fixed(percent, fabs(percent - nearbyint(percent)) < 0.005 ? 0 : 1);

	strcat(n.text, " %");
	return n;
}

static struct number plain_limit(double limit)
{
	return number_fixed(limit, fabs(limit - nearbyint(limit)) < 0.005 ? 0 : 2);
}

static struct number count_of(double count)
{
	return number_count((uint64_t)count);
}

static void share_words(char *buf, const char *what, const struct verdict_evidence *e)
{
	snprintf(buf, VERDICT_WORDS_BYTES, "%s %s (limit %s)", what, number_percent(e->value).text,
		 percent_limit(e->limit).text);
}

static void stuck_words(char *buf, const struct verdict_evidence *e, uint64_t stuck)
{
	char cnt[2 * NUMBER_BYTES + 32] = "", age[NUMBER_BYTES + 16] = "";

	/* Counted by an age of its own, whatever the limit is. */
	if (e->limit != (double)STUCK_NS)
		snprintf(age, sizeof(age), " for over %s", number_time(STUCK_NS).text);
	if (e->bad && stuck)
		snprintf(cnt, sizeof(cnt), "%s unanswered%s, ", number_count(stuck).text, age);
	snprintf(buf, VERDICT_WORDS_BYTES, "%s%s %s (limit %s)", cnt,
		 cnt[0] ? "the oldest for" : "oldest unanswered request",
		 number_time((uint64_t)e->value).text, number_time((uint64_t)e->limit).text);
}

/* Where not all connections were followed, the number of requests is scaled. */
static void slow_words(char *buf, const struct verdict_evidence *e, const struct verdict_input *in)
{
	char seen[NUMBER_BYTES + 16] = "";

	if (in->unseen && in->unseen < in->requests)
		snprintf(seen, sizeof(seen), ", %s seen",
			 number_count(in->requests - in->unseen).text);
	snprintf(buf, VERDICT_WORDS_BYTES, "%s of %s requests slow (limit %s%s)",
		 number_percent(e->value).text, number_count(in->requests).text,
		 percent_limit(e->limit).text, seen);
}

static void few_words(char *buf, const struct verdict_evidence *e, const struct verdict_input *in)
{
	if (in->unseen)
		snprintf(buf, VERDICT_WORDS_BYTES, "%s of %s requests seen, too few to judge by",
			 count_of(e->value).text, number_count(in->requests).text);
	else
		snprintf(buf, VERDICT_WORDS_BYTES, "%s request%s, too few to judge by (%s)",
			 count_of(e->value).text, e->value > 1 ? "s" : "", count_of(e->limit).text);
}

static void slower_words(char *buf, const struct verdict_evidence *e,
			 const struct verdict_input *in)
{
	struct number now = number_percent(in->slow_now);
	struct number usual = number_percent(in->usual_slow);

	if (in->median_ns) {
		now = number_time(in->median_ns);
		usual = number_time(in->usual_ns);
	}
	snprintf(buf, VERDICT_WORDS_BYTES,
		 "%s times as slow as it is used to at this rate (limit %s): %s %s, usually %s at "
		 "most",
		 number_fixed(e->value, 1).text, plain_limit(e->limit).text,
		 in->median_ns ? "half its answers within" : "slow", now.text, usual.text);
}

static void request_words(char *buf, const struct verdict_evidence *e,
			  const struct verdict_input *in)
{
	switch (e->figure) {
	case FIGURE_SLOW_SHARE:
		slow_words(buf, e, in);
		break;
	case FIGURE_UNANSWERED:
		snprintf(buf, VERDICT_WORDS_BYTES,
			 "%s of %s requests ended without an answer (limit %s)",
			 number_percent(e->value).text, number_count(in->ended).text,
			 percent_limit(e->limit).text);
		break;
	case FIGURE_STUCK:
		stuck_words(buf, e, in->stuck);
		break;
	case FIGURE_REFUSED:
		snprintf(buf, VERDICT_WORDS_BYTES, "%s connection%s refused, its accept queue full",
			 count_of(e->value).text, e->value > 1 ? "s" : "");
		break;
	case FIGURE_SIGNAL:
		snprintf(buf, VERDICT_WORDS_BYTES, "its own signal %s (limit %s)",
			 number_fixed(e->value, 2).text, plain_limit(e->limit).text);
		break;
	case FIGURE_SLOWER:
		slower_words(buf, e, in);
		break;
	default:
		few_words(buf, e, in);
	}
}

static void host_words(char *buf, const struct verdict_evidence *e)
{
	switch (e->figure) {
	case FIGURE_STEAL:
		share_words(buf, "steal", e);
		break;
	case FIGURE_HOST_BUSY:
		share_words(buf, "CPU", e);
		break;
	case FIGURE_HOST_WAITING:
		snprintf(buf, VERDICT_WORDS_BYTES, "%s threads waiting (limit %s)",
			 number_fixed(e->value, 2).text, plain_limit(e->limit).text);
		break;
	default:
		snprintf(buf, VERDICT_WORDS_BYTES, "the books of CPU time have a gap");
	}
}

static void others_words(char *buf, const struct verdict_evidence *e)
{
	int n = snprintf(buf, VERDICT_WORDS_BYTES, "%s threads wait behind others",
			 number_fixed(e->value, 2).text);

	/* What rounds to nothing is left out. */
	if (n > 0 && e->limit >= 0.005)
		snprintf(buf + n, VERDICT_WORDS_BYTES - (size_t)n, ", %s behind its own",
			 number_fixed(e->limit, 2).text);
}

void verdict_words(char buf[static VERDICT_WORDS_BYTES], const struct verdict_evidence *e,
		   const struct verdict_input *in)
{
	switch (e->figure) {
	case FIGURE_PROGRESS:
		snprintf(buf, VERDICT_WORDS_BYTES, "progress %s (at least %s)",
			 number_percent(e->value).text, percent_limit(e->limit).text);
		break;
	case FIGURE_DELAY:
		snprintf(buf, VERDICT_WORDS_BYTES, "p99 run delay %s (limit %s)",
			 number_time((uint64_t)e->value).text,
			 number_time((uint64_t)e->limit).text);
		break;
	case FIGURE_CPU:
		snprintf(buf, VERDICT_WORDS_BYTES, "%s of %s CPUs (high from %s %%)",
			 number_fixed(in->running, 2).text, plain_limit(in->cpus_available).text,
			 plain_limit(e->limit * 100).text);
		break;
	case FIGURE_THROTTLED:
		snprintf(buf, VERDICT_WORDS_BYTES, "throttled %s of what it wanted (limit %s)",
			 number_percent(e->value).text, percent_limit(e->limit).text);
		break;
	case FIGURE_BEHIND_OTHERS:
		others_words(buf, e);
		break;
	case FIGURE_BEHIND_OWN:
		snprintf(buf, VERDICT_WORDS_BYTES,
			 "%s threads wait behind its own for each CPU (limit %s)",
			 number_fixed(e->value, 2).text, plain_limit(e->limit).text);
		break;
	case FIGURE_SLOW_SHARE:
	case FIGURE_STUCK:
	case FIGURE_UNANSWERED:
	case FIGURE_REFUSED:
	case FIGURE_SIGNAL:
	case FIGURE_SLOWER:
	case FIGURE_REQUESTS:
		request_words(buf, e, in);
		break;
	default:
		host_words(buf, e);
	}
}

void wanted_words(char buf[static VERDICT_WORDS_BYTES], const struct verdict_input *in)
{
	double wanted = in->running + in->waiting + in->throttled;

	snprintf(buf, VERDICT_WORDS_BYTES, "wanted %s CPUs, got %s (%s)",
		 number_fixed(wanted, 2).text, number_fixed(in->running, 2).text,
		 number_percent(wanted > 0 ? in->running / wanted : 1).text);
}

/* From so many, and this share, on. */
#define UNANSWERED_MIN	 10
#define UNANSWERED_SHARE 0.01

bool unanswered_words(char buf[static VERDICT_WORDS_BYTES], const struct requests_sum *sum)
{
	double share = requests_unanswered_share(sum);

	if (sum->served.abandoned < UNANSWERED_MIN || share < UNANSWERED_SHARE)
		return false;
	snprintf(
		buf, VERDICT_WORDS_BYTES,
		"%s requests (%s) ended without an answer, since the client gave up or the service "
		"closed; they count neither as fast nor as slow",
		number_count(sum->served.abandoned).text, number_percent(share).text);
	return true;
}
