/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rows of a difference are told, and in what order. */
#include <stdlib.h>

#include "base/compare.h"
#include "output/diff.h"

/* A kind with less of all CPU time on both sides is no line, unless it changed for certain. */
#define WORTH 0.002

const char *const diff_per_ids[DIFF_PER_CNT] = {
	[DIFF_PER_AUTO] = "auto",
	[DIFF_PER_REQUEST] = "request",
	[DIFF_PER_CORES] = "cores",
	[DIFF_PER_SHARE] = "share",
};

int64_t diff_began_s(const struct model *m)
{
	int64_t unix_ns;

	if (!m->slices_cnt || __builtin_add_overflow((int64_t)m->slices[0].start_ns,
						     m->slices[0].wall_offset_ns, &unix_ns))
		return 0;
	return unix_ns / 1000000000;
}

static double cpu_of(const struct diff_book *b, const struct diff_kind *k)
{
	double sum = 0;

	for (int at = 0; at < DIFF_SIDES; at++) {
		double cpu_s = k->all_cpu_s[at] > 0 ? k->all_cpu_s[at]
						    : k->all_ticks[at] * b->sides[at].tick_s;

		if (b->sides[at].all_seconds > 0)
			sum += cpu_s / b->sides[at].all_seconds;
	}
	return sum;
}

static int compare_kinds(const void *pa, const void *pb, void *arg)
{
	const struct diff_book *b = arg;
	uint32_t ka = *(const uint32_t *)pa, kb = *(const uint32_t *)pb;
	int c = COMPARE(cpu_of(b, &b->kinds[kb]), cpu_of(b, &b->kinds[ka]));

	return c ? c : COMPARE(ka, kb);
}

uint32_t *diff_kinds(const struct diff *d, size_t *ret_cnt)
{
	const struct diff_book *b = d->book;
	uint32_t *rows = reallocarray(NULL, b->kinds_cnt + 1, sizeof(*rows));
	double all = 0;
	size_t cnt = 0;

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < b->kinds_cnt; i++)
		all += cpu_of(b, &b->kinds[i]);
	for (uint32_t i = 0; i < b->kinds_cnt; i++)
		if (cpu_of(b, &b->kinds[i]) > WORTH * all || d->kinds[i].certain)
			rows[cnt++] = i;
	qsort_r(rows, cnt, sizeof(*rows), compare_kinds, (void *)b);
	*ret_cnt = cnt;
	return rows;
}

static double size_of(const struct diff_book *b, uint32_t method)
{
	double sum = 0;

	for (int at = 0; at < DIFF_SIDES; at++)
		if (b->sides[at].samples)
			sum += (double)b->methods[method].all[at][DIFF_SELF] /
			       (double)b->sides[at].samples;
	return sum;
}

static int compare_methods(const void *pa, const void *pb, void *arg)
{
	const struct diff_book *b = arg;
	uint32_t ma = *(const uint32_t *)pa, mb = *(const uint32_t *)pb;
	int c = COMPARE(size_of(b, mb), size_of(b, ma));

	return c ? c : COMPARE(ma, mb);
}

uint32_t *diff_methods_by_size(const struct diff *d, size_t *ret_cnt)
{
	const struct diff_book *b = d->book;
	uint32_t *rows = reallocarray(NULL, b->methods_cnt + 1, sizeof(*rows));
	size_t cnt = 0;

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < b->methods_cnt; i++)
		if (size_of(b, i) > 0 && diff_book_symbol(b, i)->kind != KIND_NOTE)
			rows[cnt++] = i;
	qsort_r(rows, cnt, sizeof(*rows), compare_methods, (void *)b);
	*ret_cnt = cnt;
	return rows;
}

double diff_node_share(const struct diff_book *b, uint32_t node, int at)
{
	uint64_t all = b->nodes[0].all[at][DIFF_TOTAL];

	return all ? (double)b->nodes[node].all[at][DIFF_TOTAL] / (double)all : 0;
}

static double both_shares(const struct diff_book *b, uint32_t node)
{
	return diff_node_share(b, node, DIFF_BEFORE) + diff_node_share(b, node, DIFF_AFTER);
}

static int compare_nodes(const void *pa, const void *pb, void *arg)
{
	const struct diff_book *b = arg;
	uint32_t x = *(const uint32_t *)pa, y = *(const uint32_t *)pb;
	int c = COMPARE(b->nodes[x].parent + 1, b->nodes[y].parent + 1);

	c = c ?: COMPARE(both_shares(b, y), both_shares(b, x));
	return c ?: COMPARE(x, y);
}

uint32_t *diff_nodes_by_size(const struct diff_book *b)
{
	uint32_t *rows = reallocarray(NULL, b->nodes_cnt, sizeof(*rows));

	for (uint32_t i = 0; rows && i < b->nodes_cnt; i++)
		rows[i] = i;
	if (rows)
		qsort_r(rows, b->nodes_cnt, sizeof(*rows), compare_nodes, (void *)b);
	return rows;
}
