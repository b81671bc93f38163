/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/judgement.h"

#include <errno.h>

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
	return j->verdicts ? 0 : -ENOMEM;
}

void judgement_clear(struct judgement *j)
{
	verdicts_free(j->verdicts);
	requests_free(j->requests);
	sched_free(j->sched);
	totals_free(j->totals);
	*j = (struct judgement){0};
}

const struct verdict_row *judgement_find(const struct judgement *j, uint32_t process)
{
	for (size_t i = 0; i < j->verdicts->rows_cnt; i++)
		if (j->verdicts->rows[i].process == process)
			return &j->verdicts->rows[i];
	return NULL;
}
