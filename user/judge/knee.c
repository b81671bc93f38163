/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/knee.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/hash.h"

/* Shares are counted by their root, so that small ones are told apart. */
#define LEVELS 101
/* A bin of fewer minutes says nothing. */
#define BIN_LEAST  10
#define BINS_LEAST 4
/* CPU use that hardly differs. */
#define SPREAD_LEAST 0.02 /* CPUs */
#define SPREAD_PART  0.15 /* of the most */
#define SAMPLES	     200
#define SURE	     0.9
/* A bin of so many minutes weighs half of what one with any number does: beyond noise there is
 * what the line does not explain. */
#define HALF_WEIGHT 50.0
/* The line has to explain so much of what differs between bins. */
#define EXPLAINED    0.5
#define BLOCKS_LEAST 12

/* Minutes as they are counted. */
struct cell {
	uint8_t bin, level;
};

struct fit {
	double at, until, before, after;
	double rise; /* until the highest bin */
	bool knee;
};

struct work {
	struct cell *cells;
	size_t *block_of; /* first cell of each block, and the end */
	size_t blocks_cnt, cnt;
	double least, width;
	double cpus[KNEE_BINS]; /* sum, of each bin */
	uint32_t counts[KNEE_BINS][LEVELS];
};

static void work_clear(struct work *w)
{
	free(w->cells);
	free(w->block_of);
}

static int by_time(const void *a, const void *b)
{
	const struct knee_point *x = a, *y = b;

	return COMPARE(x->time_s, y->time_s);
}

static int by_value(const void *a, const void *b)
{
	return COMPARE(*(const double *)a, *(const double *)b);
}

/* --- bins ------------------------------------------------------------------------------------ */

static int find_range(const struct knee_point *points, size_t cnt, struct knee *knee)
{
	_cleanup_free_ double *cpus = calloc(cnt + 1, sizeof(*cpus));

	if (!cpus)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		cpus[i] = points[i].cpus;
	qsort(cpus, cnt, sizeof(*cpus), by_value);
	knee->least = cpus[cnt / 100];
	knee->most = cpus[cnt - 1 - cnt / 100];
	return 0;
}

static uint8_t bin_of(const struct work *w, double cpus)
{
	double bin = (cpus - w->least) / w->width;

	return bin <= 0 ? 0 : bin >= KNEE_BINS - 1 ? KNEE_BINS - 1 : (uint8_t)bin;
}

static uint8_t level_of(double slow)
{
	double s = slow < 0 ? 0 : slow > 1 ? 1 : slow;

	return (uint8_t)(sqrt(s) * (LEVELS - 1) + 0.5);
}

static double share_of_level(size_t level)
{
	double root = (double)level / (LEVELS - 1);

	return root * root;
}

/* The first point of each block of so many seconds. */
static size_t find_blocks(const struct knee_point *points, size_t cnt, int64_t seconds,
			  size_t *first)
{
	size_t blocks = 0;

	for (size_t i = 0; i < cnt; i++)
		if (!i || points[i].time_s / seconds != points[i - 1].time_s / seconds)
			first[blocks++] = i;
	first[blocks] = cnt;
	return blocks;
}

static int prepare(struct work *w, const struct knee_point *points, size_t cnt,
		   const struct knee *knee)
{
	static const int64_t lengths_s[] = {3600, 600, 60};

	w->cnt = cnt;
	w->least = knee->least;
	w->width = (knee->most - knee->least) / KNEE_BINS;
	w->cells = calloc(cnt, sizeof(*w->cells));
	w->block_of = calloc(cnt + 1, sizeof(*w->block_of));
	if (!w->cells || !w->block_of)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		w->cells[i] = (struct cell){bin_of(w, points[i].cpus), level_of(points[i].slow)};
		w->cpus[w->cells[i].bin] += points[i].cpus;
	}
	for (size_t i = 0; i < 3 && w->blocks_cnt < BLOCKS_LEAST; i++)
		w->blocks_cnt = find_blocks(points, cnt, lengths_s[i], w->block_of);
	return 0;
}

static void count_all(struct work *w)
{
	memset(w->counts, 0, sizeof(w->counts));
	for (size_t i = 0; i < w->cnt; i++)
		w->counts[w->cells[i].bin][w->cells[i].level]++;
}

static void count_sample(struct work *w, uint64_t *seed)
{
	memset(w->counts, 0, sizeof(w->counts));
	for (size_t i = 0; i < w->blocks_cnt; i++) {
		size_t block;

		*seed += 0x9e3779b97f4a7c15ull;
		block = hash_u64(*seed) % w->blocks_cnt;
		for (size_t k = w->block_of[block]; k < w->block_of[block + 1]; k++)
			w->counts[w->cells[k].bin][w->cells[k].level]++;
	}
}

/* The mean of the middle half. */
static double middle_of(const uint32_t counts[static LEVELS], size_t cnt)
{
	double low = (double)cnt * 0.25, high = (double)cnt * 0.75, passed = 0, sum = 0;

	for (size_t i = 0; i < LEVELS && passed < high; i++) {
		double from = passed > low ? passed : low, to = passed + counts[i];

		if (to > high)
			to = high;
		if (to > from)
			sum += (to - from) * share_of_level(i);
		passed += counts[i];
	}
	return sum / (high - low);
}

static size_t make_bins(const struct work *w, const struct knee_bin *whole, size_t whole_cnt,
			struct knee_bin bins[static KNEE_BINS])
{
	size_t cnt = 0, next = 0;

	for (size_t i = 0; i < KNEE_BINS; i++) {
		struct knee_bin bin = {.cpus = w->least + ((double)i + 0.5) * w->width};

		for (size_t k = 0; k < LEVELS; k++)
			bin.minutes += w->counts[i][k];
		/* Of samples, bins lie where they lie in all minutes. */
		if (!whole && bin.minutes)
			bin.cpus = w->cpus[i] / (double)bin.minutes;
		for (; next < whole_cnt && bin_of(w, whole[next].cpus) < i; next++)
			;
		if (next < whole_cnt && bin_of(w, whole[next].cpus) == i)
			bin.cpus = whole[next].cpus;
		if (bin.minutes < BIN_LEAST)
			continue;
		bin.slow = middle_of(w->counts[i], bin.minutes);
		bins[cnt++] = bin;
	}
	return cnt;
}

/* --- the line -------------------------------------------------------------------------------- */

static double weight_of(const struct knee_bin *bin)
{
	return (double)bin->minutes / ((double)bin->minutes + HALF_WEIGHT);
}

static double risen(double cpus, double at, double until)
{
	return cpus <= at ? 0 : cpus >= until ? 1 : (cpus - at) / (until - at);
}

/* before (1 - g) + after g by weighted least squares; returns the squares that are left. */
static double fit_levels(const struct knee_bin *bins, size_t cnt, struct fit *f)
{
	double aa = 0, ab = 0, bb = 0, ay = 0, by = 0, yy = 0, det;

	for (size_t i = 0; i < cnt; i++) {
		double g = risen(bins[i].cpus, f->at, f->until), w = weight_of(&bins[i]);

		aa += w * (1 - g) * (1 - g);
		ab += w * (1 - g) * g;
		bb += w * g * g;
		ay += w * (1 - g) * bins[i].slow;
		by += w * g * bins[i].slow;
		yy += w * bins[i].slow * bins[i].slow;
	}
	det = aa * bb - ab * ab;
	if (det < 1e-12 * (aa + bb) * (aa + bb))
		return INFINITY;
	f->before = (ay * bb - by * ab) / det;
	f->after = (by * aa - ay * ab) / det;
	return yy - f->before * ay - f->after * by;
}

static double level_squares(const struct knee_bin *bins, size_t cnt)
{
	double weights = 0, sum = 0, squares = 0, mean;

	for (size_t i = 0; i < cnt; i++) {
		weights += weight_of(&bins[i]);
		sum += weight_of(&bins[i]) * bins[i].slow;
	}
	mean = sum / weights;
	for (size_t i = 0; i < cnt; i++)
		squares += weight_of(&bins[i]) * (bins[i].slow - mean) * (bins[i].slow - mean);
	return squares;
}

/* Where the line may bend: half bins; and far behind them, where it does not bend again. */
#define PLACES (2 * KNEE_BINS)
static double place_of(const struct work *w, size_t i)
{
	double far = (double)(i < PLACES ? 0 : i - PLACES + 1) * KNEE_BINS;

	return w->least + ((double)(i < PLACES ? i : PLACES) / 2 + far) * w->width;
}

static struct fit fit_line(const struct work *w, const struct knee_bin *bins, size_t cnt)
{
	double none = level_squares(bins, cnt), least = INFINITY;
	struct fit best = {.knee = false};

	if (cnt < BINS_LEAST)
		return best;
	for (size_t i = 0; i + 1 < PLACES; i++) {
		for (size_t k = i + 1; k < PLACES + 3; k++) {
			struct fit f = {.at = place_of(w, i), .until = place_of(w, k)};
			double left = fit_levels(bins, cnt, &f);

			if (left >= least || f.after <= f.before)
				continue;
			least = left;
			best = f;
		}
	}
	if (least == INFINITY)
		return best;
	if (best.before < 0)
		best.before = 0;
	best.rise = (best.after - best.before) * risen(bins[cnt - 1].cpus, best.at, best.until);
	best.knee = best.rise >= KNEE_RISE && least <= (1 - EXPLAINED) * none;
	return best;
}

/* --- how sure -------------------------------------------------------------------------------- */

static void be_sure(struct work *w, struct knee *knee)
{
	struct knee_bin bins[KNEE_BINS];
	double found[SAMPLES];
	uint64_t seed = 1;
	size_t cnt = 0;

	for (size_t i = 0; i < SAMPLES; i++) {
		struct fit f;

		count_sample(w, &seed);
		f = fit_line(w, bins, make_bins(w, knee->bins, knee->bins_cnt, bins));
		if (f.knee)
			found[cnt++] = f.at;
	}
	if ((double)cnt < SURE * SAMPLES)
		return;
	qsort(found, cnt, sizeof(*found), by_value);
	knee->answer = KNEE_FOUND;
	/* Places are half a bin apart. */
	knee->low = found[cnt / 20] - w->width / 2;
	knee->high = found[cnt - 1 - cnt / 20] + w->width / 2;
	if (knee->low > knee->at)
		knee->low = knee->at;
	if (knee->high < knee->at)
		knee->high = knee->at;
	if (knee->low < knee->least)
		knee->low = knee->least;
	if (knee->high > knee->most)
		knee->high = knee->most;
}

int knee_of(struct knee_point *points, size_t cnt, struct knee *ret_knee)
{
	_cleanup_(work_clear) struct work w = {.cells = NULL};
	struct knee knee = {.answer = KNEE_TOO_LITTLE, .minutes = cnt};
	double spread;
	struct fit f;
	int err = 0;

	if (cnt)
		err = find_range(points, cnt, &knee);
	if (err)
		return err;
	spread = knee.most - knee.least;
	*ret_knee = knee;
	if (cnt < KNEE_MINUTES || spread < SPREAD_LEAST || spread < SPREAD_PART * knee.most)
		return 0;
	qsort(points, cnt, sizeof(*points), by_time);
	err = prepare(&w, points, cnt, &knee);
	if (err)
		return err;
	count_all(&w);
	knee.bins_cnt = make_bins(&w, NULL, 0, knee.bins);
	f = fit_line(&w, knee.bins, knee.bins_cnt);
	if (knee.bins_cnt >= BINS_LEAST)
		knee.answer = KNEE_NONE;
	if (f.knee) {
		knee.at = f.at;
		knee.before = f.before;
		knee.until = f.until < knee.most ? f.until : knee.most;
		knee.after = f.before + (f.after - f.before) * risen(knee.until, f.at, f.until);
		be_sure(&w, &knee);
	}
	*ret_knee = knee;
	return 0;
}
