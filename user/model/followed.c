/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/followed.h"

#include <math.h>

static double error_of(const struct model_slice *slice)
{
	double w = slice->one_followed_of;

	return slice->followed ? fmin(1.96 * sqrt((w - 1) / (w * slice->followed)), 1) : 1;
}

void followed_of(const struct model *m, struct followed *ret_followed)
{
	struct followed f = {.one_of = 1};

	for (size_t i = 0; i < m->slices_cnt; i++) {
		const struct model_slice *slice = &m->slices[i];
		uint64_t ns = slice->end_ns > slice->start_ns ? slice->end_ns - slice->start_ns : 0;

		f.elapsed_ns += ns;
		if (slice->sockets_age_ns > f.sockets_age_ns)
			f.sockets_age_ns = slice->sockets_age_ns;
		if (slice->one_followed_of < 2)
			continue;
		f.ns += ns;
		if (slice->one_followed_of > f.one_of)
			f.one_of = slice->one_followed_of;
		if (error_of(slice) > f.error) {
			f.error = error_of(slice);
			f.connections = slice->followed;
		}
	}
	*ret_followed = f;
}
