/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/judgement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int index_rows(struct judgement *j, size_t processes)
{
	j->row_of = malloc((processes + 1) * sizeof(*j->row_of));
	if (!j->row_of)
		return -ENOMEM;
	memset(j->row_of, 0xff, (processes + 1) * sizeof(*j->row_of));
	for (size_t i = 0; i < j->verdicts->rows_cnt; i++)
		j->row_of[j->verdicts->rows[i].process] = (uint32_t)i;
	return 0;
}

int judgement_of(struct judgement *j, const struct model *m, bool every, verdicts_on_slice on_slice,
		 void *ctx)
{
	*j = (struct judgement){.totals = totals_new(m)};
	if (!j->totals)
		return -ENOMEM;
	j->sched = model_off(m) & OFF_ACCOUNTS ? NULL : sched_new(m);
	j->requests = model_off(m) & OFF_REQUESTS ? NULL : requests_new(m);
	j->books = books_of(m, j->totals);
	j->verdicts = verdicts_new(&(struct verdict_sources){.m = m,
							     .totals = j->totals,
							     .books = &j->books,
							     .sched = j->sched,
							     .requests = j->requests,
							     .every = every,
							     .on_slice = on_slice,
							     .ctx = ctx});
	return j->verdicts ? index_rows(j, m->processes_cnt) : -ENOMEM;
}

void judgement_clear(struct judgement *j)
{
	verdicts_free(j->verdicts);
	free(j->row_of);
	requests_free(j->requests);
	sched_free(j->sched);
	totals_free(j->totals);
	*j = (struct judgement){0};
}

const struct verdict_row *judgement_find(const struct judgement *j, uint32_t process)
{
	return j->row_of[process] == MODEL_NONE ? NULL : &j->verdicts->rows[j->row_of[process]];
}
