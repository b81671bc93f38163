/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/followed.h"

#include <math.h>

/* What was gathered over slices. */
struct sums {
	double answered, scaled;    /* scaled: of services of which not all were followed */
	double errors, connections; /* each times the answers of its slice */
};

/* services: of that slice, from *next on, which it moves behind them. */
static void add_slice(struct sums *sums, const struct model *m, size_t slice, size_t *next)
{
	const struct model_slice *row = &m->slices[slice];
	double answered = 0, ended = 0, unseen = 0, began = 0, connections, w;

	for (; *next < m->services_cnt && m->services[*next].slice <= slice; ++*next) {
		const struct model_served *s = &m->services[*next].served;

		sums->answered += (double)s->answered;
		if (!s->unseen || s->unseen >= s->answered + s->abandoned)
			continue;
		answered += (double)s->answered;
		ended += (double)(s->answered + s->abandoned);
		unseen += (double)s->unseen;
		began += (double)s->connections;
	}
	if (unseen <= 0)
		return;
	w = ended / (ended - unseen);
	connections = fmax(fmax(row->followed, began / w), 1);
	sums->scaled += answered;
	sums->connections += answered * connections;
	sums->errors += answered * fmin(1.96 * sqrt((w - 1) / (w * connections)), 1);
}

void followed_of(const struct model *m, struct followed *ret_followed)
{
	struct followed f = {.one_of = 1};
	struct sums sums = {0};
	size_t next = 0;

	for (size_t i = 0; i < m->slices_cnt; i++) {
		const struct model_slice *slice = &m->slices[i];
		uint64_t ns = slice->end_ns > slice->start_ns ? slice->end_ns - slice->start_ns : 0;

		add_slice(&sums, m, i, &next);
		f.elapsed_ns += ns;
		if (slice->sockets_age_ns > f.sockets_age_ns)
			f.sockets_age_ns = slice->sockets_age_ns;
		if (slice->one_followed_of < 2)
			continue;
		f.ns += ns;
		if (slice->one_followed_of > f.one_of)
			f.one_of = slice->one_followed_of;
	}
	if (sums.answered > 0)
		f.error = sums.errors / sums.answered;
	if (sums.scaled > 0)
		f.connections = (uint64_t)llround(sums.connections / sums.scaled);
	*ret_followed = f;
}
