/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct span {
	const struct model *m;
	uint32_t first, end; /* slices, end exclusive */
	uint64_t start_ns, end_ns;
};

static bool find_span(const struct model *m, uint64_t ns, struct span *ret_span)
{
	uint32_t end = (uint32_t)m->slices_cnt, first;

	while (end && !m->slices[end - 1].end_ns)
		end--;
	if (!end)
		return false;
	first = end - 1;
	while (first && m->slices[end - 1].end_ns - m->slices[first].start_ns < ns)
		first--;
	*ret_span =
		(struct span){m, first, end, m->slices[first].start_ns, m->slices[end - 1].end_ns};
	return true;
}

/* Rows are in the order of their slices. */
static int add_accounts(const struct span *span, struct snapshot *s)
{
	const struct model *m = span->m;

	for (size_t i = m->accounts_cnt; i-- > 0 && m->accounts[i].slice >= span->first;) {
		const struct model_account *a = &m->accounts[i];
		struct snapshot_thread *t;

		if (a->slice >= span->end)
			continue;
		t = snapshot_thread(s, a->thread);
		if (!t)
			return -ENOMEM;
		t->ran_ns += a->sched.on_cpu_ns;
		t->waited_ns += a->sched.waited_ns + a->sched.throttled_ns;
		t->flags |= a->sched.throttled_ns ? COUNTS_THROTTLED : 0;
	}
	return 0;
}

static int add_states(const struct span *span, struct snapshot *s)
{
	const struct model *m = span->m;

	for (uint32_t i = 0; i < m->threads_cnt; i++) {
		struct snapshot_thread *t;

		if (m->threads[i].exit_ns)
			continue;
		s->all++;
		if (m->threads[i].state != 'D')
			continue;
		t = snapshot_thread(s, i);
		if (!t)
			return -ENOMEM;
		t->uninterruptible++;
	}
	return 0;
}

static void add_cpus(const struct span *span, struct snapshot *s)
{
	const struct model *m = span->m;

	for (size_t i = m->cpus_cnt; i-- > 0 && m->cpus[i].slice >= span->first;)
		if (m->cpus[i].slice < span->end)
			s->busy_ns += m->cpus[i].accounted_ns + m->cpus[i].unaccounted_ns;
}

/* --- where they stood ------------------------------------------------------------------------ */

static bool is_in(const struct span *span, const struct model_sample *sample)
{
	return sample->time_ns >= span->start_ns && sample->time_ns < span->end_ns;
}

static int add_stand(struct snapshot *s, const struct model_stand *stand,
		     const struct look_rise *rise)
{
	int err = stands_add(&s->stands, stand);

	return err ?: snapshot_rise(s, rise);
}

/* weights: of all samples of each thread. */
static int add_samples(const struct span *span, struct snapshot *s, uint64_t *weights)
{
	const struct model *m = span->m;
	int err = 0;

	for (size_t i = m->samples_cnt; i-- > 0;)
		if (is_in(span, &m->samples[i]))
			weights[m->samples[i].thread] += model_weight(&m->samples[i]);
	for (size_t i = m->samples_cnt; !err && i-- > 0;) {
		const struct model_sample *sample = &m->samples[i];
		const struct model_stand stand = {.at = *sample,
						  .age_ns = STAND_AGE_UNKNOWN,
						  .call = STAND_CALL_NONE,
						  .state = 'R',
						  .sampled = true};
		struct snapshot_thread *t;
		double part;

		if (!is_in(span, sample))
			continue;
		t = snapshot_thread(s, sample->thread);
		if (!t)
			return -ENOMEM;
		part = (double)model_weight(sample) / (double)weights[sample->thread];
		err = add_stand(s, &stand,
				&(struct look_rise){(uint64_t)((double)t->ran_ns * part),
						    (uint64_t)((double)t->waited_ns * part),
						    false});
	}
	return err;
}

static int add_unread(struct snapshot *s, const uint64_t *weights)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->threads_cnt; i++) {
		const struct snapshot_thread *t = &s->threads[i];
		const struct model_stand stand = {.at = {.thread = t->thread},
						  .age_ns = STAND_AGE_UNKNOWN,
						  .call = STAND_CALL_NONE,
						  .flags = STAND_MOVED,
						  .state = t->uninterruptible ? 'D' : 'R'};

		if (!weights[t->thread])
			err = add_stand(s, &stand,
					&(struct look_rise){t->ran_ns, t->waited_ns, false});
	}
	return err;
}

int snapshot_of_slices(const struct model *m, uint64_t ns, struct snapshot *s)
{
	_cleanup_free_ uint64_t *weights = calloc(m->threads_cnt + 1, sizeof(*weights));
	struct span span;
	int err;

	snapshot_clear(s);
	if (!weights)
		return -ENOMEM;
	if (!find_span(m, ns, &span))
		return -ENODATA;
	s->intervals = 1;
	s->first_ns = span.start_ns;
	s->last_ns = span.end_ns;
	s->elapsed_ns = span.end_ns - span.start_ns;
	s->cpus = m->host.cpus_online;
	s->waits = true;
	s->stacks_why = "";
	add_cpus(&span, s);
	err = add_accounts(&span, s);
	if (!err)
		err = add_states(&span, s);
	if (!err)
		err = add_samples(&span, s, weights);
	return err ?: add_unread(s, weights);
}
