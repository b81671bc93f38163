/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "judge/verdict.h"

#define WEEK_HOURS 168
/* Hours kept of a kind at this hour of the week: three a week, of ten years. */
#define HOURS_MAX 1600
/* Rates and times by half octaves: from 1/64 to 4 million a second, from 1 us to 70 minutes. */
#define RATES	   56
#define RATE_FIRST (-12)
#define TIMES	   64

struct hour {
	int64_t number; /* Unix time / 3600 */
	float cpus, slow, hurt_s, rate;
	float bad; /* of its minutes */
	uint8_t verdict;
	bool served;
};

/* Hours at about a rate: how many by the median of their times, and of their slow shares. */
struct speed {
	uint16_t times[TIMES];
	uint16_t slow[TIMES]; /* by the root, 0..1 */
	uint32_t hours;
};

struct kind {
	struct history_kind id;
	struct hour *hours;
	size_t hours_cnt, hours_cap;
	struct speed *speeds; /* RATES, or NULL */
};

struct known {
	int64_t number;
};

struct past {
	int64_t now; /* hour */
	struct kind *kinds;
	size_t kinds_cnt, kinds_cap;
	struct known *known; /* hours of this hour of the week in which the host was observed */
	size_t known_cnt, known_cap;
};

struct past *past_new(int64_t now_s)
{
	struct past *p = calloc(1, sizeof(*p));

	if (p)
		p->now = now_s / HISTORY_HOUR_S;
	return p;
}

void past_free(struct past *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->kinds_cnt; i++) {
		free(p->kinds[i].hours);
		free(p->kinds[i].speeds);
	}
	free(p->kinds);
	free(p->known);
	free(p);
}

int past_kind(struct past *p, const struct history_kind *kind)
{
	if (GROW(p->kinds, p->kinds_cnt, p->kinds_cap))
		return -ENOMEM;
	p->kinds[p->kinds_cnt++] = (struct kind){.id = *kind};
	return 0;
}

/* --- hours ----------------------------------------------------------------------------------- */

/* Of earlier weeks: what was an hour ago says nothing of what is usual. */
static bool is_of_the_hour(const struct past *p, int64_t number)
{
	int64_t age = p->now - number, apart = age % WEEK_HOURS;

	return age >= WEEK_HOURS - 1 && (apart <= 1 || apart == WEEK_HOURS - 1);
}

static struct kind *find_id(struct past *p, uint32_t id)
{
	for (size_t i = 0; i < p->kinds_cnt; i++)
		if (p->kinds[i].id.id == id)
			return &p->kinds[i];
	return NULL;
}

static size_t half_octave(double value, int first, size_t cnt)
{
	double at = value > 0 ? floor(2 * log2(value)) - first : 0;

	return at <= 0 ? 0 : at >= (double)cnt - 1 ? cnt - 1 : (size_t)at;
}

static double rate_of(const struct history_figures *f)
{
	return f->observed_ms ? 1000 * (double)f->requests / (double)f->observed_ms : 0;
}

static int add_speed(struct kind *k, const struct history_figures *f)
{
	struct speed *s;

	if (f->requests < PAST_REQUESTS_LEAST || !f->median_us)
		return 0;
	if (!k->speeds)
		k->speeds = calloc(RATES, sizeof(*k->speeds));
	if (!k->speeds)
		return -ENOMEM;
	s = &k->speeds[half_octave(rate_of(f), RATE_FIRST, RATES)];
	if (s->hours == UINT16_MAX)
		return 0;
	s->hours++;
	s->times[half_octave((double)f->median_us, 0, TIMES)]++;
	s->slow[(size_t)(sqrt(history_slow_share(f)) * (TIMES - 1) + 0.5)]++;
	return 0;
}

static double bad_of(const struct history_figures *f)
{
	double bad = (double)f->bad_minutes * 60000 / (double)f->observed_ms;

	return bad < 1 ? bad : 1;
}

static int add_hour(struct kind *k, int64_t number, const struct history_figures *f)
{
	double s = (double)f->observed_ms / 1000;

	if (k->hours_cnt == HOURS_MAX)
		return 0;
	if (GROW(k->hours, k->hours_cnt, k->hours_cap))
		return -ENOMEM;
	/* An hour that was observed in part is as if all of it were like that part. */
	k->hours[k->hours_cnt++] =
		(struct hour){.number = number,
			      .cpus = (float)((double)f->cpu_ms / 1000 / s),
			      .slow = (float)history_slow_share(f),
			      .hurt_s = (float)((double)f->hurt_ms / 1000 / s * HISTORY_HOUR_S),
			      .bad = (float)bad_of(f),
			      .verdict = f->verdict < PAST_VERDICTS ? (uint8_t)f->verdict : 0,
			      .rate = (float)rate_of(f),
			      .served = f->requests >= PAST_REQUESTS_LEAST};
	return 0;
}

int past_hour(struct past *p, int64_t time_s, uint32_t kind, const struct history_figures *figures)
{
	int64_t number = time_s / HISTORY_HOUR_S;
	bool here = is_of_the_hour(p, number);
	struct kind *k;
	int err;

	if (number >= p->now || !figures->observed_ms)
		return 0;
	if (kind == HISTORY_HOST) {
		if (!here || figures->observed_ms < HISTORY_HOUR_S * 1000 / 2 ||
		    p->known_cnt == HOURS_MAX)
			return 0;
		if (GROW(p->known, p->known_cnt, p->known_cap))
			return -ENOMEM;
		p->known[p->known_cnt++] = (struct known){number};
		return 0;
	}
	k = find_id(p, kind);
	if (!k)
		return 0;
	err = add_speed(k, figures);
	return err || !here ? err : add_hour(k, number, figures);
}

static int by_number(const void *a, const void *b)
{
	return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

_Static_assert(offsetof(struct hour, number) == 0 && offsetof(struct known, number) == 0,
	       "by_number");

void past_ready(struct past *p)
{
	if (p->known_cnt)
		qsort(p->known, p->known_cnt, sizeof(*p->known), by_number);
	for (size_t i = 0; i < p->kinds_cnt; i++)
		if (p->kinds[i].hours_cnt)
			qsort(p->kinds[i].hours, p->kinds[i].hours_cnt, sizeof(struct hour),
			      by_number);
}

/* --- what is usual --------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	return COMPARE(*(const float *)a, *(const float *)b);
}

static struct past_range range_of(float *values, size_t cnt)
{
	size_t out = cnt / 10;

	if (!cnt)
		return (struct past_range){0};
	qsort(values, cnt, sizeof(*values), by_value);
	return (struct past_range){(double)values[out], (double)values[cnt / 2],
				   (double)values[cnt - 1 - out]};
}

static const struct kind *find_name(const struct past *p, const char *name, const char *place)
{
	const struct kind *best = NULL;

	for (size_t i = 0; i < p->kinds_cnt; i++) {
		const struct kind *k = &p->kinds[i];

		if (strcmp(k->id.name, name) != 0 || (place && strcmp(k->id.place, place) != 0))
			continue;
		if (!best || k->id.minutes > best->id.minutes)
			best = k;
	}
	return best;
}

/* What is asked of each of the hours. */
struct columns {
	float cpus[HOURS_MAX], slow[HOURS_MAX], hurt_s[HOURS_MAX], rate[HOURS_MAX];
};

static void take_hours(const struct past *p, const struct kind *k, struct columns *c,
		       struct past_usual *usual)
{
	int64_t week = -1, first = k->id.first_s / HISTORY_HOUR_S;
	size_t at = 0;

	for (size_t i = 0; i < p->known_cnt; i++) {
		int64_t number = p->known[i].number;
		struct hour none = {.number = number};
		const struct hour *h = &none;

		while (at < k->hours_cnt && k->hours[at].number < number)
			at++;
		if (at < k->hours_cnt && k->hours[at].number == number)
			h = &k->hours[at];
		if (number < first || h->verdict == VERDICT_UNKNOWN)
			continue; /* neither good nor bad */
		/* As far from now as whole weeks; the hours beside are of the same. */
		if ((p->now + 1 - number) / WEEK_HOURS != week)
			usual->weeks++;
		week = (p->now + 1 - number) / WEEK_HOURS;
		usual->bad_share[h->verdict] += (double)h->bad;
		c->cpus[usual->hours] = h->cpus;
		c->hurt_s[usual->hours] = h->hurt_s;
		c->rate[usual->hours++] = h->rate;
		if (h->served)
			c->slow[usual->served++] = h->slow;
	}
}

bool past_usual(const struct past *p, const char *name, const char *place,
		struct past_usual *ret_usual)
{
	const struct kind *k = find_name(p, name, place);
	struct past_usual usual = {0};
	struct columns c;

	if (k)
		take_hours(p, k, &c, &usual);
	for (size_t i = 0; i < PAST_VERDICTS; i++)
		usual.bad_share[i] /= usual.hours ? usual.hours : 1;
	usual.cpus = range_of(c.cpus, usual.hours);
	usual.hurt_s = range_of(c.hurt_s, usual.hours);
	usual.rate = range_of(c.rate, usual.hours);
	usual.slow = range_of(c.slow, usual.served);
	*ret_usual = usual;
	return usual.weeks >= PAST_WEEKS_LEAST;
}

/* The upper end of the half octave that holds the hour of that rank. */
static double time_at(const struct speed *s, uint32_t rank)
{
	size_t i = 0;

	for (uint32_t passed = s->times[0]; passed <= rank && i + 1 < TIMES;)
		passed += s->times[++i];
	return exp2(((double)i + 1) / 2);
}

static double slow_at(const struct speed *s, uint32_t rank)
{
	size_t i = 0;

	for (uint32_t passed = s->slow[0]; passed <= rank && i + 1 < TIMES;)
		passed += s->slow[++i];
	return (double)i / (TIMES - 1) * ((double)i / (TIMES - 1));
}

bool past_speed(const struct past *p, const char *name, const char *place, double rate,
		struct past_speed *ret_speed)
{
	const struct kind *k = find_name(p, name, place);
	const struct speed *s;
	uint32_t out;

	*ret_speed = (struct past_speed){0};
	if (!k || !k->speeds || !(rate > 0))
		return false;
	s = &k->speeds[half_octave(rate, RATE_FIRST, RATES)];
	if (s->hours < PAST_HOURS_LEAST)
		return false;
	out = s->hours / 10;
	*ret_speed = (struct past_speed){
		.hours = s->hours,
		.median_us = {time_at(s, out), time_at(s, s->hours / 2),
			      time_at(s, s->hours - 1 - out)},
		.slow = {slow_at(s, out), slow_at(s, s->hours / 2), slow_at(s, s->hours - 1 - out)},
	};
	return true;
}
