/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/window.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/sched.h"

static uint64_t since_start(const struct model *m, uint64_t time_ns)
{
	return time_ns > m->host.start_ns ? time_ns - m->host.start_ns : 0;
}

uint64_t window_from_ns(const struct model *m, const struct window *w)
{
	return since_start(m, m->slices[w->first].start_ns);
}

uint64_t window_to_ns(const struct model *m, const struct window *w)
{
	return since_start(m, m->slices[w->last].end_ns);
}

int window_of(const struct model *m, uint64_t from_ns, uint64_t to_ns, struct window *ret_window)
{
	struct window w = {0};
	bool any = false;

	for (uint32_t i = 0; from_ns < to_ns && i < m->slices_cnt; i++) {
		if (since_start(m, m->slices[i].start_ns) >= to_ns ||
		    since_start(m, m->slices[i].end_ns) <= from_ns)
			continue;
		if (!any)
			w.first = i;
		w.last = i;
		any = true;
	}
	if (!any)
		return -ERANGE;
	*ret_window = w;
	return 0;
}

/* --- the worst window ------------------------------------------------------------------------ */

static uint64_t length_of(const struct model_slice *slice)
{
	return slice->end_ns > slice->start_ns ? slice->end_ns - slice->start_ns : 0;
}

/* Returns owned, or NULL. */
static uint64_t *waiting_by_slice(const struct model *m)
{
	uint64_t *waiting = calloc(m->slices_cnt, sizeof(*waiting));

	for (size_t i = 0; waiting && i < m->accounts_cnt; i++)
		waiting[m->accounts[i].slice] +=
			m->accounts[i].sched.waited_ns + m->accounts[i].sched.throttled_ns;
	return waiting;
}

int window_worst(const struct model *m, uint64_t length_ns, struct window *ret_window)
{
	/* Slices are not exact: five of them may lack some microseconds of five seconds. */
	uint64_t enough_ns = length_ns - length_ns / 100, waited_ns = 0, elapsed_ns = 0;
	_cleanup_free_ uint64_t *waiting = NULL;
	struct window worst = {0};
	double most = -1;
	uint32_t end = 0;

	if (!m->slices_cnt)
		return -ERANGE;
	waiting = waiting_by_slice(m);
	if (!waiting)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->slices_cnt; i++) {
		double mean;

		while (end < m->slices_cnt && (end == i || elapsed_ns < enough_ns)) {
			elapsed_ns += length_of(&m->slices[end]);
			waited_ns += waiting[end++];
		}
		if (i && elapsed_ns < enough_ns)
			break;
		mean = sched_mean(waited_ns, elapsed_ns);
		if (mean > most) {
			most = mean;
			worst = (struct window){i, end - 1};
		}
		elapsed_ns -= length_of(&m->slices[i]);
		waited_ns -= waiting[i];
	}
	*ret_window = worst;
	return 0;
}

/* --- the cut --------------------------------------------------------------------------------- */

static void cut_samples(struct model *m, uint64_t from_ns, uint64_t to_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->samples_cnt; i++)
		if (m->samples[i].time_ns >= from_ns && m->samples[i].time_ns < to_ns)
			m->samples[kept++] = m->samples[i];
	m->samples_cnt = kept;
}

int window_cut(struct model *m, const struct window *w)
{
	struct sched *s;

	if (w->first > w->last || w->last >= m->slices_cnt)
		return -ERANGE;
	m->host.start_ns = m->slices[w->first].start_ns;
	m->host.end_ns = m->slices[w->last].end_ns;
	cut_samples(m, m->host.start_ns, m->host.end_ns);
	model_keep_slices(m, w->first, w->last);
	s = sched_new(m);
	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < m->threads_cnt; i++) {
		m->threads[i].sched = s->threads[i].sched;
		m->threads[i].delay_max_ns = s->threads[i].delay_max_ns;
	}
	sched_free(s);
	return 0;
}
