/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/share.h"

#include <math.h>

double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

double share_error(uint64_t part, uint64_t whole)
{
	const double z = 1.96;
	double n = (double)whole, p = share_of(part, whole);

	if (!whole)
		return 1;
	return z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
}

void share_range(uint64_t part, uint64_t whole, double *ret_low, double *ret_high)
{
	const double z = 1.96;
	double n = (double)whole, error = share_error(part, whole), center;

	*ret_low = 0;
	*ret_high = 1;
	if (!whole)
		return;
	center = (share_of(part, whole) + z * z / (2 * n)) / (1 + z * z / n);
	if (part)
		*ret_low = fmax(center - error, 0);
	if (part < whole)
		*ret_high = fmin(center + error, 1);
}

void share_effective(uint64_t part, uint64_t sum, uint64_t sum_of_squares, uint64_t *ret_part,
		     uint64_t *ret_whole)
{
	double n = (double)sum, effective = sum_of_squares ? n * n / (double)sum_of_squares : 0;

	*ret_part = (uint64_t)llround(share_of(part, sum) * effective);
	*ret_whole = (uint64_t)llround(effective);
}

double share_weighted_error(uint64_t part, uint64_t sum, uint64_t sum_of_squares)
{
	uint64_t effective_part, effective;

	share_effective(part, sum, sum_of_squares, &effective_part, &effective);
	return share_error(effective_part, effective);
}

bool share_differs(uint64_t part, uint64_t whole, const struct weighted *w, double least)
{
	double error =
		share_error(part, whole) + share_weighted_error(w->part, w->sum, w->sum_of_squares);

	if (!whole || !w->sum)
		return false;
	return fabs(share_of(part, whole) - share_of(w->part, w->sum)) >= fmax(error, least);
}
