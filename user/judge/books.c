/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/books.h"

#include <linux/types.h>
#include <math.h>

#include "bpf/events.h"

static uint64_t over(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* That many ticks of the sampling rate come as one where a lower rate was enough. */
static double ticks_at_once(const struct model *m)
{
	return m->slices_every > m->slices_cnt ? (double)m->slices_every / (double)m->slices_cnt
					       : 1;
}

/* One a CPU, and one more: what may lie between two readings. */
static double ticks_between(const struct model *m)
{
	return (m->host.cpus_online + 1) * ticks_at_once(m);
}

/*
 * A tick falls into a busy stretch or beside it: the count of ticks in a given busy time varies by
 * at most the square root of the number expected, and of those that come several at once by so much
 * more. Twice that, and one tick a CPU for the ends.
 */
static uint64_t noise(const struct model *m, uint64_t expected)
{
	return (uint64_t)ceil(2 * sqrt((double)expected * ticks_at_once(m)) + ticks_between(m));
}

static void samples(struct books *b, const struct model *m, const struct totals *t)
{
	/* Whatever is not idle should be hit, in an account or not, on a CPU with a sampling event
	 * or without. */
	double busy_ns = (double)over(t->cpu_elapsed_ns, t->idle_ns);
	double hit_share = 1, kept_share = 1;
	uint64_t asked;

	if (!model_feature_why(m, FEATURE_SAMPLES))
		b->expected = (uint64_t)llround(busy_ns * m->host.sample_hz / 1e9);
	b->taken = t->ticks_taken;
	b->filtered = t->ticks_filtered;
	b->missed = over(b->expected, b->taken);
	b->surplus = over(b->taken, b->expected);
	b->noise = noise(m, b->expected);
	asked = over(b->taken, b->filtered);
	b->dropped = over(asked, b->reported);
	b->dropped_known = t->losses[LOSS_SAMPLE_RING_FULL] + t->losses[LOSS_SCRATCH];
	if (b->dropped_known > b->dropped)
		b->dropped_known = b->dropped;
	if (b->missed > b->noise)
		hit_share = 1 - (double)(b->missed - b->noise) / (double)b->expected;
	/* The ring is read a moment after the counters: a few ticks fall between. */
	if ((double)b->dropped > ticks_between(m))
		kept_share = (double)b->reported / (double)asked;
	b->lost_share = 1 - hit_share * kept_share;
	b->samples_gap = b->lost_share > BOOKS_SAMPLES_GAP;
	b->cpu_unsampled = b->missed > b->noise && t->losses[LOSS_CPU_UNATTACHED];
}

static bool is_apart(uint64_t a_ns, uint64_t b_ns, double allowed_ns)
{
	return (double)over(a_ns, b_ns) + (double)over(b_ns, a_ns) > allowed_ns;
}

/* What the books of switches are of: slices of the full gear. In the quiet one busy and idle times
 * come from /proc/stat, and make up the time anyway; those of threads lack, on kernels that count
 * them apart, interrupts and what the hypervisor took. */
struct seen {
	uint64_t elapsed_ns, capacity_ns, cpu_elapsed_ns, covered_ns;
};

static bool is_full(const struct model *m, uint32_t slice)
{
	return slice < m->slices_cnt && !m->slices[slice].quiet;
}

static uint64_t length_of(const struct model_slice *slice)
{
	return over(slice->end_ns, slice->start_ns);
}

static struct seen seen_at_switches(const struct model *m, const struct totals *t)
{
	struct seen seen = {t->elapsed_ns, t->cpu_capacity_ns, t->cpu_elapsed_ns,
			    t->on_cpu_ns + t->idle_ns + t->unaccounted_ns};
	uint32_t last = MODEL_NONE;

	if (!m->slices_quiet)
		return seen;
	seen = (struct seen){0};
	for (size_t i = 0; i < m->cpus_cnt; i++) {
		const struct model_cpu *cpu = &m->cpus[i];

		if (!is_full(m, cpu->slice))
			continue;
		/* Rows are in the order of slices; of some there may be none. */
		if (cpu->slice != last)
			seen.elapsed_ns += length_of(&m->slices[cpu->slice]);
		last = cpu->slice;
		seen.capacity_ns += length_of(&m->slices[cpu->slice]);
		seen.cpu_elapsed_ns += cpu->elapsed_ns;
		seen.covered_ns += cpu->idle_ns + cpu->unaccounted_ns;
	}
	for (size_t i = 0; i < m->accounts_cnt; i++)
		if (is_full(m, m->accounts[i].slice))
			seen.covered_ns += m->accounts[i].sched.on_cpu_ns;
	return seen;
}

static void switches(struct books *b, const struct model *m, const struct totals *t)
{
	struct seen seen;
	double allowed_ns;

	if (model_off(m) & OFF_SWITCHES)
		return;
	seen = seen_at_switches(m, t);
	b->capacity_ns = seen.capacity_ns;
	b->covered_ns = seen.covered_ns;
	if (!b->capacity_ns)
		return;
	b->switch_gap =
		fabs((double)b->capacity_ns - (double)b->covered_ns) / (double)b->capacity_ns;
	b->unaccounted_share = (double)t->unaccounted_ns / (double)b->capacity_ns;
	b->uncovered_ns = over(b->capacity_ns, seen.cpu_elapsed_ns);
	b->cpus_seen = seen.elapsed_ns ? (double)b->capacity_ns / (double)seen.elapsed_ns : 0;
	if (b->cpus_seen > m->host.cpus_possible)
		b->cpus_seen = m->host.cpus_possible;
	allowed_ns = BOOKS_SWITCH_GAP * (double)b->capacity_ns + BOOKS_READ_NS * b->cpus_seen;
	b->switches_gap = is_apart(b->capacity_ns, b->covered_ns, allowed_ns);
	/* What the CPUs' own books hold, but no thread, is off; what no CPU covers is missing. */
	b->threads_off = is_apart(seen.cpu_elapsed_ns, b->covered_ns, allowed_ns);
}

struct books books_of(const struct model *m, const struct totals *t)
{
	struct books b = {.have_cpus = m->cpus_cnt > 0, .reported = t->samples};

	if (!b.have_cpus)
		return b;
	samples(&b, m, t);
	switches(&b, m, t);
	return b;
}
