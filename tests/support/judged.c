/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judged.h"

#include <criterion/criterion.h>
#include <linux/types.h>

#include "bpf/events.h"
#include "build_model.h"

#define CS (BUILD_SECOND / 100)
#define MS (BUILD_SECOND / 1000)

struct judged judged_with(struct model *m, const struct verdict_sources *options)
{
	struct judged j = {.m = m};
	struct verdict_sources s = *options;

	j.totals = totals_new(m);
	j.sched = sched_new(m);
	j.requests = model_off(m) & OFF_REQUESTS ? NULL : requests_new(m);
	cr_assert(j.totals && j.sched && (j.requests || model_off(m) & OFF_REQUESTS));
	j.books = books_of(m, j.totals);
	s.m = m;
	s.totals = j.totals;
	s.sched = j.sched;
	s.books = &j.books;
	s.requests = j.requests;
	j.v = verdicts_new(&s);
	cr_assert(j.v);
	return j;
}

struct judged judged_of(struct model *m)
{
	return judged_with(m, &(struct verdict_sources){0});
}

struct judged judged_waiting(struct model *m)
{
	struct verdict_policy policy = {0};

	verdict_limits_default(&policy.limits);
	policy.limits.hurt_by = HURT_BY_WAITING;
	return judged_with(m, &(struct verdict_sources){.policy = &policy});
}

void judged_free(struct judged *j)
{
	verdicts_free(j->v);
	requests_free(j->requests);
	sched_free(j->sched);
	totals_free(j->totals);
	model_free(j->m);
}

const struct verdict_row *judged_row(const struct judged *j, uint32_t process)
{
	for (size_t i = 0; i < j->v->rows_cnt; i++)
		if (j->v->rows[i].process == process)
			return &j->v->rows[i];
	return NULL;
}

void judged_expect(const struct judged *j, uint32_t process, enum verdict verdict)
{
	const struct verdict_row *row = judged_row(j, process);
	enum verdict is = row ? verdicts_result(row)->verdict : VERDICT_HEALTHY;

	cr_expect_eq(is, verdict, "%s is %s, not %s", j->m->processes[process].name, verdict_id(is),
		     verdict_id(verdict));
}

void judged_expect_host(const struct judged *j, enum verdict verdict)
{
	cr_expect_eq(j->v->host.result.verdict, verdict, "the host is %s, not %s",
		     verdict_id(j->v->host.result.verdict), verdict_id(verdict));
}

uint32_t judged_add(struct model *m, uint32_t tgid, const char *name, uint64_t ran, uint64_t waited,
		    uint64_t own, uint64_t throttled)
{
	uint32_t p = build_process(m, tgid, name, 0);
	uint32_t t = build_thread(m, p, tgid, name, 0, 'S');

	build_sched(m, t,
		    &(struct sched_figures){.on_cpu_ns = ran * CS,
					    .waited_ns = waited * CS,
					    .behind_own_ns = own * CS,
					    .throttled_ns = throttled * CS});
	m->threads[t].cpus_allowed = m->host.cpus_online;
	return p;
}

uint32_t judged_thread(const struct model *m, uint32_t process)
{
	uint32_t t = 0;

	while (m->threads[t].process != process)
		t++;
	return t;
}

void judged_answers(struct model *m, uint32_t endpoint, uint32_t seconds, uint64_t time_ns,
		    uint64_t cnt)
{
	for (uint32_t i = 0; i < seconds; i++)
		build_answers(m, i, endpoint, time_ns, cnt);
}

void judged_leaves(struct model *m, uint32_t endpoint, uint32_t slice, uint32_t cnt,
		   uint64_t oldest_ns)
{
	build_service(m, &(struct model_service){
				 .slice = slice,
				 .endpoint = endpoint,
				 .open = cnt,
				 .late = oldest_ns > 500 * MS ? cnt : 0,
				 .stuck = oldest_ns > STUCK_NS ? cnt : 0,
				 .oldest_ns = oldest_ns,
			 });
}
