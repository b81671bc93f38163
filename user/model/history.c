/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history.h"

#include <string.h>

#define FIELD(field, merge, text)                                                      \
	{                                                                              \
#field, text, offsetof(struct history_figures, field), HISTORY_##merge \
	}

const struct history_figure history_figures[HISTORY_FIGURES] = {
	FIELD(observed_ms, SUM, "was looked at"),
	FIELD(judged_ms, SUM, "and judged"),
	FIELD(cpu_ms, SUM, "CPU time used"),
	FIELD(waited_ms, SUM, "threads were ready and had no CPU"),
	FIELD(throttled_ms, SUM, "threads were stopped by a CPU limit"),
	FIELD(available_mcpu, MOST, "CPUs that it may use, in thousandths, 0 not known"),
	FIELD(requests, SUM, "answered, or late at the end"),
	FIELD(slow, SUM, "of requests"),
	FIELD(median_us, MEAN, "time to the first answer byte, 0 none; of an hour a mean"),
	FIELD(p99_us, MOST, "the same, that 99 of 100 did not exceed; of an hour the worst minute"),
	FIELD(stuck, MOST, "requests without an answer for over 10 s, at a time"),
	FIELD(hurt_ms, SUM, "degraded"),
	FIELD(bad_minutes, SUM, "degraded for 3 s or more"),
	FIELD(verdict, WORST, "number of the worst verdict"),
};

_Static_assert(HISTORY_FIGURES * sizeof(uint64_t) == sizeof(struct history_figures),
	       "each figure has its row");

/* Of two minutes, by their requests. What is kept has 63 bits. */
static uint64_t mean_of(uint64_t a, uint64_t a_cnt, uint64_t b, uint64_t b_cnt)
{
	double cnt = (double)(a ? a_cnt : 0) + (double)(b ? b_cnt : 0), mean;

	if (cnt <= 0)
		return a ? a : b;
	mean = ((double)a * (double)(a ? a_cnt : 0) + (double)b * (double)(b ? b_cnt : 0)) / cnt;
	return mean < (double)INT64_MAX ? (uint64_t)(mean + 0.5) : INT64_MAX;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	uint64_t sum;

	/* What is kept has 63 bits. */
	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

void history_add(struct history_figures *to, const struct history_figures *by,
		 history_compare worse)
{
	struct history_figures was = *to, more = *by;

	for (size_t i = 0; i < HISTORY_FIGURES; i++) {
		uint64_t *sum = history_figure(to, i), a = *sum, b = *history_figure(&more, i);

		switch (history_figures[i].merge) {
		case HISTORY_SUM:
			*sum = sum_of(a, b);
			break;
		case HISTORY_MOST:
			*sum = a > b ? a : b;
			break;
		case HISTORY_MEAN:
			*sum = mean_of(a, was.requests, b, more.requests);
			break;
		case HISTORY_WORST:
			/* What was not judged has no verdict. */
			if (more.judged_ms && (!was.judged_ms || worse(b, a) < 0))
				*sum = b;
			break;
		}
	}
}

double history_slow_share(const struct history_figures *f)
{
	if (!f->requests)
		return 0;
	return f->slow < f->requests ? (double)f->slow / (double)f->requests : 1;
}

void history_copy(char *to, size_t bytes, const char *from)
{
	size_t len = strnlen(from, bytes);

	if (len == bytes) {
		len = bytes - 1;
		/* UTF-8: what continues a character has 10 as its highest bits. */
		while (len && ((unsigned char)from[len] & 0xc0) == 0x80)
			len--;
	}
	memcpy(to, from, len);
	to[len] = '\0';
}
