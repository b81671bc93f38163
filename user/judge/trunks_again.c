/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/trunks_again.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"

static int most_harm_first(const void *a, const void *b)
{
	const struct trunk_again *x = a, *y = b;
	int c = COMPARE(y->harm, x->harm);

	if (!c)
		c = COMPARE(y->captures, x->captures);
	return c ? c : COMPARE(y->last_s, x->last_s);
}

void trunks_again_sort(struct trunks_again *a)
{
	if (a->rows_cnt)
		qsort(a->rows, a->rows_cnt, sizeof(*a->rows), most_harm_first);
}

static struct trunk_again *find(struct trunks_again *a, const char *process, const char *path)
{
	for (size_t i = 0; i < a->rows_cnt; i++)
		if (!strcmp(a->rows[i].path, path) && !strcmp(a->rows[i].process, process))
			return &a->rows[i];
	return NULL;
}

int trunks_again_add(struct trunks_again *a, const struct history_trunk *t)
{
	struct trunk_again new = {.first_s = t->time_s}, *row;

	history_copy(new.process, sizeof(new.process), t->process);
	history_copy(new.path, sizeof(new.path), t->path);
	row = find(a, new.process, new.path);
	if (!row) {
		if (a->rows_cnt == TRUNKS_AGAIN_MAX) {
			trunks_again_sort(a);
			a->rows_cnt /= 2;
		}
		if (GROW(a->rows, a->rows_cnt, a->rows_cap))
			return -ENOMEM;
		row = &a->rows[a->rows_cnt++];
		*row = new;
	}
	row->share = (row->share * row->captures + t->share) / (row->captures + 1);
	row->captures++;
	row->harm += history_harm(t);
	row->seconds += t->seconds;
	if (t->people > row->people)
		row->people = t->people;
	if (t->time_s < row->first_s)
		row->first_s = t->time_s;
	if (t->time_s > row->last_s)
		row->last_s = t->time_s;
	return 0;
}

void trunks_again_clear(struct trunks_again *a)
{
	free(a->rows);
	*a = (struct trunks_again){0};
}
