/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/switches.h"

uint32_t model_switches_cpus(const struct model *m)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < m->switches_cnt; i++)
		if (m->switches[i].cpu >= cnt)
			cnt = m->switches[i].cpu + 1;
	return cnt;
}

bool model_switches_begins(const struct model *m, size_t row)
{
	return m->switches[row].flags & SWITCH_BEGINS &&
	       (!row || m->switches[row - 1].time_ns != m->switches[row].time_ns ||
		!(m->switches[row - 1].flags & SWITCH_BEGINS));
}

uint64_t model_switches_end(const struct model *m, size_t row)
{
	uint64_t end_ns;

	while (row + 1 < m->switches_cnt && !model_switches_begins(m, row + 1))
		row++;
	end_ns = m->slices[m->switches[row].slice].end_ns;
	if (row + 1 < m->switches_cnt && m->switches[row + 1].time_ns < end_ns)
		end_ns = m->switches[row + 1].time_ns;
	return end_ns > m->switches[row].time_ns ? end_ns : m->switches[row].time_ns;
}

/* Whether a CPU is met for the first time. */
static bool is_new(uint64_t seen[static SWITCH_CPUS_MAX / 64], uint32_t cpu)
{
	uint64_t *word = &seen[cpu % SWITCH_CPUS_MAX / 64], bit = 1ull << cpu % 64;

	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}

size_t model_switches_begin(const struct model *m, uint64_t from_ns, struct model_switch *ret_rows,
			    size_t max)
{
	uint64_t seen[SWITCH_CPUS_MAX / 64] = {0};
	size_t end = 0, first, cnt = 0;

	while (end < m->switches_cnt && m->switches[end].time_ns <= from_ns)
		end++;
	if (!end || model_switches_end(m, end - 1) <= from_ns)
		return 0;
	for (first = end; first > 1 && !model_switches_begins(m, first - 1);)
		first--;
	/* From the newest back: the first one of a CPU that is met counts. */
	for (size_t i = end; i-- + 1 > first && cnt < max;) {
		const struct model_switch *row = &m->switches[i];

		if (row->kind != SWITCH_TURN || !is_new(seen, row->cpu))
			continue;
		ret_rows[cnt] = *row;
		ret_rows[cnt].time_ns = from_ns;
		ret_rows[cnt].other = MODEL_NONE;
		ret_rows[cnt].irq_ns = ret_rows[cnt].softirq_ns = 0;
		ret_rows[cnt].state = '-';
		ret_rows[cnt++].flags = (uint8_t)(SWITCH_BEGINS | (row->flags & SWITCH_UNKNOWN));
	}
	return cnt;
}
