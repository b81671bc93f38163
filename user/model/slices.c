/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a model that hold rows of slices: appended to, emptied, cut, measured; see
 * model.h. */
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "model/switches.h"
#include "model/mapping_index.h"
#include "model/model.h"

static void note_gears(struct model *m)
{
	m->slices_quiet = 0;
	m->slices_every = 0;
	for (size_t i = 0; i < m->slices_cnt; i++) {
		m->slices_quiet += m->slices[i].quiet;
		m->slices_every += m->slices[i].sample_every ?: 1;
	}
}

int model_slice_add(struct model *m, const struct model_slice *slice)
{
	if (GROW(m->slices, m->slices_cnt, m->slices_cap))
		return -ENOMEM;
	m->slices[m->slices_cnt++] = *slice;
	m->slices_quiet += slice->quiet;
	m->slices_every += slice->sample_every ?: 1;
	return 0;
}

uint32_t model_slice_at(const struct model *m, uint64_t time_ns)
{
	size_t low = 0, high = m->slices_cnt;

	while (high > low + 1) {
		size_t middle = low + (high - low) / 2;

		if (m->slices[middle].start_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

void model_slice_gear(struct model *m, bool quiet, uint32_t sample_every)
{
	m->slices[m->slices_cnt - 1].quiet = quiet;
	m->slices[m->slices_cnt - 1].sample_every = sample_every;
	note_gears(m);
}

int model_sample_add(struct model *m, const struct model_sample *sample)
{
	if (GROW(m->samples, m->samples_cnt, m->samples_cap))
		return -ENOMEM;
	m->samples[m->samples_cnt++] = *sample;
	return 0;
}

int model_account_add(struct model *m, const struct model_account *account)
{
	if (GROW(m->accounts, m->accounts_cnt, m->accounts_cap))
		return -ENOMEM;
	m->accounts[m->accounts_cnt++] = *account;
	return 0;
}

int model_delay_add(struct model *m, const struct model_delay *delay)
{
	if (GROW(m->delays, m->delays_cnt, m->delays_cap))
		return -ENOMEM;
	m->delays[m->delays_cnt++] = *delay;
	return 0;
}

int model_contention_add(struct model *m, const struct model_contention *contention)
{
	if (GROW(m->contentions, m->contentions_cnt, m->contentions_cap))
		return -ENOMEM;
	m->contentions[m->contentions_cnt++] = *contention;
	return 0;
}

int model_throttle_add(struct model *m, const struct model_throttle *throttle)
{
	if (GROW(m->throttles, m->throttles_cnt, m->throttles_cap))
		return -ENOMEM;
	m->throttles[m->throttles_cnt++] = *throttle;
	return 0;
}

int model_past_add(struct model *m, const struct model_past *past)
{
	if (GROW(m->pasts, m->pasts_cnt, m->pasts_cap))
		return -ENOMEM;
	m->pasts[m->pasts_cnt++] = *past;
	return 0;
}

int model_stand_add(struct model *m, const struct model_stand *stand)
{
	if (GROW(m->stands, m->stands_cnt, m->stands_cap))
		return -ENOMEM;
	m->stands[m->stands_cnt++] = *stand;
	return 0;
}

int model_waker_add(struct model *m, const struct model_waker *waker)
{
	if (GROW(m->wakers, m->wakers_cnt, m->wakers_cap))
		return -ENOMEM;
	m->wakers[m->wakers_cnt++] = *waker;
	return 0;
}

int model_switch_add(struct model *m, const struct model_switch *row)
{
	if (GROW(m->switches, m->switches_cnt, m->switches_cap))
		return -ENOMEM;
	m->switches[m->switches_cnt++] = *row;
	return 0;
}

void model_forget_switches(struct model *m)
{
	free(m->switches);
	m->switches = NULL;
	m->switches_cnt = m->switches_cap = 0;
}

int model_cpu_add(struct model *m, const struct model_cpu *cpu)
{
	if (GROW(m->cpus, m->cpus_cnt, m->cpus_cap))
		return -ENOMEM;
	m->cpus[m->cpus_cnt++] = *cpu;
	return 0;
}

void model_loss_add(struct model *m, uint32_t cause, uint64_t count)
{
	uint32_t slice = m->slices_cnt ? (uint32_t)m->slices_cnt - 1 : 0;

	if (!count)
		return;
	for (size_t i = m->losses_cnt; i-- > 0 && m->losses[i].slice == slice;) {
		if (m->losses[i].cause == cause) {
			m->losses[i].count += count;
			return;
		}
	}
	if (GROW(m->losses, m->losses_cnt, m->losses_cap))
		return;
	m->losses[m->losses_cnt++] =
		(struct model_loss){.slice = slice, .cause = cause, .count = count};
}

void model_forget_slice(struct model *m)
{
	m->samples_gone += m->samples_cnt;
	m->samples_cnt = m->accounts_cnt = m->cpus_cnt = m->losses_cnt = 0;
	m->delays_cnt = m->contentions_cnt = m->throttles_cnt = 0;
	m->services_cnt = m->responses_cnt = m->signals_cnt = m->pasts_cnt = m->stands_cnt = 0;
	m->wakers_cnt = m->switches_cnt = 0;
}

/* --- the cut --------------------------------------------------------------------------------- */

/* Calls DO(table) for each table whose rows name their slice. */
#define EACH_SLICE_TABLE(DO) \
	DO(accounts)         \
	DO(delays)           \
	DO(contentions)      \
	DO(throttles)        \
	DO(services)         \
	DO(responses)        \
	DO(signals)          \
	DO(pasts)            \
	DO(stands)           \
	DO(wakers)           \
	DO(switches)         \
	DO(cpus)             \
	DO(losses)

/* Whose turn each CPU was in as the first slice began that stays; without memory they are not
 * known. */
static size_t turns_at(const struct model *m, uint32_t first, struct model_switch **ret_rows)
{
	size_t max = m->switches_cnt < SWITCH_CPUS_MAX ? m->switches_cnt : SWITCH_CPUS_MAX;

	*ret_rows = NULL;
	if (!first || first >= m->slices_cnt || !max)
		return 0;
	*ret_rows = calloc(max, sizeof(**ret_rows));
	return *ret_rows ? model_switches_begin(m, m->slices[first].start_ns, *ret_rows, max) : 0;
}

/* Before all others. */
static void put_turns(struct model *m, const struct model_switch *rows, size_t cnt)
{
	size_t had = m->switches_cnt;

	for (size_t i = 0; i < cnt; i++)
		if (model_switch_add(m, &rows[i]))
			cnt = i;
	memmove(m->switches + cnt, m->switches, had * sizeof(*rows));
	for (size_t i = 0; i < cnt; i++) {
		m->switches[i] = rows[i];
		m->switches[i].slice = 0;
	}
	m->switches_cnt = had + cnt;
}

void model_keep_slices(struct model *m, uint32_t first, uint32_t last)
{
	struct model_switch *turns;
	size_t turns_cnt = turns_at(m, first, &turns);
	size_t end = (size_t)last + 1 < m->slices_cnt ? (size_t)last + 1 : m->slices_cnt;

#define KEEP(table)                                                                  \
	do {                                                                         \
		size_t kept_ = 0;                                                    \
                                                                                     \
		for (size_t i_ = 0; i_ < m->table##_cnt; i_++) {                     \
			if (m->table[i_].slice < first || m->table[i_].slice > last) \
				continue;                                            \
			m->table[kept_] = m->table[i_];                              \
			m->table[kept_++].slice -= first;                            \
		}                                                                    \
		m->table##_cnt = kept_;                                              \
	} while (0);
	EACH_SLICE_TABLE(KEEP)
#undef KEEP
	if (turns_cnt)
		put_turns(m, turns, turns_cnt);
	free(turns);
	m->slices_cnt = end > first ? end - first : 0;
	if (m->slices_cnt)
		memmove(m->slices, m->slices + first, m->slices_cnt * sizeof(*m->slices));
	note_gears(m);
}

void model_view_from(struct model *view, uint32_t slice)
{
	/* Tables are in the order of their slices. */
#define SKIP(table)                                                      \
	do {                                                             \
		size_t first_ = view->table##_cnt;                       \
                                                                         \
		while (first_ && view->table[first_ - 1].slice >= slice) \
			first_--;                                        \
		if (first_) /* a table without rows may be no table */   \
			view->table += first_;                           \
		view->table##_cnt -= first_;                             \
	} while (0);
	EACH_SLICE_TABLE(SKIP)
#undef SKIP
	view->samples_cnt = 0;
	/* What is kept of stacks is the whole's. */
	view->settled = false;
}

/* When the samples begin that stay: those of the slices from that row on, and of what comes
 * next. */
static uint64_t samples_from_ns(const struct model *m, uint32_t slice)
{
	if (slice < m->slices_cnt)
		return m->slices[slice].start_ns;
	return m->slices_cnt ? m->slices[m->slices_cnt - 1].end_ns : 0;
}

void model_forget_before(struct model *m, uint32_t slice)
{
	uint64_t from_ns = samples_from_ns(m, slice);
	size_t gone = 0;

	while (gone < m->samples_cnt && m->samples[gone].time_ns < from_ns)
		gone++;
	if (gone)
		memmove(m->samples, m->samples + gone,
			(m->samples_cnt - gone) * sizeof(*m->samples));
	m->samples_cnt -= gone;
	m->samples_gone += gone;
	model_keep_slices(m, slice, UINT32_MAX);
}

/* --- size ------------------------------------------------------------------------------------ */

size_t model_slice_bytes(const struct model *m)
{
	size_t bytes = m->slices_cnt * sizeof(*m->slices) + m->samples_cnt * sizeof(*m->samples);

#define ADD(table) bytes += m->table##_cnt * sizeof(*m->table);
	EACH_SLICE_TABLE(ADD)
#undef ADD
	return bytes;
}

size_t model_bytes(const struct model *m)
{
	const struct hash_index *indexes[] = {
		&m->process_index, &m->thread_index, &m->module_index,
		&m->stack_index,   &m->symbol_index, &m->location_index,
		&m->string_index,  &m->cgroup_index, &m->endpoint_index,
	};
	size_t bytes = m->strings_bytes +
		       m->mappings_cnt * (sizeof(struct model_mapping) + MAPPING_LIST_BYTES);

#define ADD(table) bytes += m->table##_cnt * sizeof(*m->table);
	ADD(processes)
	ADD(threads)
	ADD(modules)
	ADD(stacks)
	ADD(frames)
	ADD(symbols)
	ADD(locations)
	ADD(cgroups)
	ADD(endpoints)
	ADD(strings)
#undef ADD
	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++)
		bytes += indexes[i]->cap * sizeof(*indexes[i]->slots);
	return bytes;
}
