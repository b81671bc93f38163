/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the groups of the cpu controller got, and what their limits took away. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "output/report_internal.h"

/* Of a path within a sentence. */
#define PATH_COLUMNS 48

struct report_throttled *report_throttled_new(const struct model *m)
{
	struct report_throttled *sums = calloc(m->cgroups_cnt + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < m->throttles_cnt; i++) {
		const struct model_throttle *t = &m->throttles[i];

		sums[t->cgroup].periods += t->periods;
		sums[t->cgroup].throttled_periods += t->throttled_periods;
		sums[t->cgroup].throttled_ns += t->throttled_ns;
	}
	return sums;
}

static double limit_of(const struct model_cgroup *group)
{
	return group->quota_ns && group->period_ns
		       ? (double)group->quota_ns / (double)group->period_ns
		       : 0;
}

uint32_t report_limit_of(const struct report *r, uint32_t process)
{
	uint32_t row = sched_cgroup_of(r->m, process), best = MODEL_NONE;
	uint64_t most = 0;

	for (; row != MODEL_NONE; row = r->m->cgroups[row].parent) {
		uint64_t cnt = r->throttled[row].throttled_periods;

		if (cnt <= most)
			continue;
		most = cnt;
		best = row;
	}
	return best != MODEL_NONE ? best : sched_available(r->m, process).cgroup;
}

/* A path, or what is known of a group that went too soon. */
static void path_text(const struct model_cgroup *group, size_t columns, char *buf)
{
	if (group->path[0])
		label_name(buf, group->path, columns, CUT_MIDDLE);
	else
		snprintf(buf, NAME_BYTES, "(gone, id %llu)", (unsigned long long)group->id);
}

void report_limit_text(const struct report *r, uint32_t cgroup, char buf[static NAME_BYTES])
{
	const struct model_cgroup *group = &r->m->cgroups[cgroup];
	struct report_throttled t = r->throttled[cgroup];
	char path[NAME_BYTES];
	size_t n;

	path_text(group, PATH_COLUMNS, path);
	if (limit_of(group) > 0)
		n = (size_t)snprintf(buf, NAME_BYTES, "limit %s CPUs (%s of each %s)",
				     number_fixed(limit_of(group), 2).text,
				     number_time(group->quota_ns).text,
				     number_time(group->period_ns).text);
	else
		n = (size_t)snprintf(buf, NAME_BYTES, "limit no longer set");
	n += (size_t)snprintf(buf + n, NAME_BYTES - n, " of %s", path);
	if (t.periods && n < NAME_BYTES)
		snprintf(buf + n, NAME_BYTES - n, ", reached in %s of %s periods",
			 number_count(t.throttled_periods).text, number_count(t.periods).text);
}

/* --- the table ------------------------------------------------------------------------------- */

struct cgroup_rows {
	uint32_t *rows; /* most wanted first, groups above before those below */
	size_t rows_cnt;
	bool limits; /* any has a limit, or was throttled */
};

static void rows_clear(struct cgroup_rows *rows)
{
	free(rows->rows);
}

static bool same_figures(const struct sched_figures *a, const struct sched_figures *b)
{
	return a->on_cpu_ns == b->on_cpu_ns && a->waited_ns == b->waited_ns &&
	       a->throttled_ns == b->throttled_ns;
}

/* The folder of one folder alone says nothing that this does not say, too. */
static void hide_mere_folders(const struct report *r, bool *hidden)
{
	for (size_t i = 0; i < r->m->cgroups_cnt; i++) {
		uint32_t parent = r->m->cgroups[i].parent;

		if (parent != MODEL_NONE && !r->m->cgroups[parent].quota_ns &&
		    !r->throttled[parent].periods &&
		    same_figures(&r->sched->cgroups[parent].sched, &r->sched->cgroups[i].sched))
			hidden[parent] = true;
	}
}

static int compare_wanted(const void *a, const void *b, void *arg)
{
	const struct report *r = arg;
	uint32_t ra = *(const uint32_t *)a, rb = *(const uint32_t *)b;
	uint64_t wa = sched_wanted_ns(&r->sched->cgroups[ra].sched);
	uint64_t wb = sched_wanted_ns(&r->sched->cgroups[rb].sched);
	int c;

	if (wa != wb)
		return wa < wb ? 1 : -1;
	/* A path stands before those that it begins. */
	c = strcmp(r->m->cgroups[ra].path, r->m->cgroups[rb].path);
	return c ? c : COMPARE(ra, rb);
}

/* The root is no parent of groups in some captures: then its row is that of its own threads. */
static bool is_lonely_root(const struct report *r, uint32_t cgroup)
{
	if (strcmp(r->m->cgroups[cgroup].path, "/") != 0)
		return false;
	for (size_t i = 0; i < r->m->cgroups_cnt; i++)
		if (r->m->cgroups[i].parent == cgroup)
			return false;
	return r->m->cgroups_cnt > 1;
}

static int rows_build(const struct report *r, struct cgroup_rows *rows)
{
	_cleanup_free_ bool *hidden = calloc(r->m->cgroups_cnt + 1, sizeof(*hidden));

	rows->rows = calloc(r->m->cgroups_cnt + 1, sizeof(*rows->rows));
	if (!hidden || !rows->rows)
		return -ENOMEM;
	hide_mere_folders(r, hidden);
	for (uint32_t i = 0; i < r->m->cgroups_cnt; i++) {
		bool limit = r->m->cgroups[i].quota_ns || r->throttled[i].periods;

		if (hidden[i] || !sched_wanted_ns(&r->sched->cgroups[i].sched))
			continue;
		rows->rows[rows->rows_cnt++] = i;
		rows->limits |= limit || report_is_some(r, r->sched->cgroups[i].sched.throttled_ns);
	}
	qsort_r(rows->rows, rows->rows_cnt, sizeof(*rows->rows), compare_wanted, (void *)r);
	return 0;
}

static uint64_t rest_of(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* What ran in no group that is known, so that the table adds up to the host. */
static struct sched_sum groupless(const struct report *r)
{
	struct sched_sum sum = {.sched = r->sched->host.sched};

	for (size_t i = 0; i < r->m->cgroups_cnt; i++) {
		const struct sched_figures *s = &r->sched->cgroups[i].sched;

		if (r->m->cgroups[i].parent != MODEL_NONE)
			continue;
		sum.sched.on_cpu_ns = rest_of(sum.sched.on_cpu_ns, s->on_cpu_ns);
		sum.sched.waited_ns = rest_of(sum.sched.waited_ns, s->waited_ns);
		sum.sched.throttled_ns = rest_of(sum.sched.throttled_ns, s->throttled_ns);
	}
	return sum;
}

/* A group of the table: a row of the model's, or NULL for what ran in none that is known. */
static const struct model_cgroup *group_of(const struct subject *s)
{
	return s->item;
}

static struct value of_wanted(const struct subject *s)
{
	uint64_t throttled_ns = s->sched->sched.throttled_ns;

	if (!group_of(s))
		return (struct value){.kind = VALUE_BLANK};
	return value_real((double)throttled_ns / (double)sched_wanted_ns(&s->sched->sched));
}

static struct value limit(const struct subject *s)
{
	if (!group_of(s))
		return (struct value){.kind = VALUE_BLANK};
	if (model_off(s->m) & OFF_LIMITS)
		return (struct value){.kind = VALUE_UNKNOWN};
	return value_real(limit_of(group_of(s)));
}

static void periods(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	struct report_throttled t = {0};

	(void)columns;
	if (group_of(s))
		t = s->report->throttled[group_of(s) - s->m->cgroups];
	if (group_of(s) && model_off(s->m) & OFF_LIMITS)
		strcpy(text, "n/a");
	else if (t.periods)
		snprintf(text, CELL_BYTES, "%llu/%llu", (unsigned long long)t.throttled_periods,
			 (unsigned long long)t.periods);
	else
		strcpy(text, group_of(s) ? "-" : "");
}

static void path(char text[static CELL_BYTES], size_t columns, const struct subject *s)
{
	const struct model_cgroup *group = group_of(s);

	if (!group) {
		strcpy(text, "(group unknown)");
		return;
	}
	path_text(group, columns, text);
	if (is_lonely_root(s->report, (uint32_t)(group - s->m->cgroups)))
		strcat(text, " itself");
}

static const struct figure figure_of_wanted = {"throttled_share", "of it", AS_SHARE,
					       .value = of_wanted};
static const struct figure figure_limit = {"limit_cpus", "limit", AS_THREADS, true, .value = limit};
static const struct figure figure_periods = {NULL, "periods", .text = periods};
static const struct figure figure_path = {NULL, "cgroup", .text = path};

static const struct column columns[] = {
	{&figure_running, .width = 8},
	{&figure_waiting, .width = 8},
	{&figure_delay_p99, .width = 9},
	{&figure_throttled, .width = 10, .when = WITH_MORE},
	{&figure_of_wanted, .width = 8, .when = WITH_MORE},
	{&figure_limit, .width = 6, .when = WITH_MORE},
	{&figure_periods, .width = 10, .when = WITH_MORE},
	{&figure_path, .left = true, .gap = 2},
};

static void put_group(const struct report *r, const struct table *t,
		      const struct model_cgroup *group, const struct sched_sum *sum)
{
	struct subject s = report_subject(r, NULL, sum);

	s.item = group;
	table_put_row(r->out, t, &s);
}

static void put_notes(const struct report *r, const struct cgroup_rows *rows)
{
	if (model_off(r->m) & OFF_LIMITS) {
		fprintf(r->out, "  limits n/a: %s\n", model_off_text(r->m, OFF_LIMITS));
	} else if (rows->limits) {
		put_spaces(r, 2);
		put_words(r,
			  "of it: share of what was wanted. limit: CPUs, of the group itself. "
			  "periods: in "
			  "which that limit stopped it, of all.",
			  2, 2);
	}
}

int report_cgroups(const struct report *r)
{
	_cleanup_(rows_clear) struct cgroup_rows rows = {0};
	struct sched_sum rest;
	struct table t;
	int err;

	if (model_off(r->m) & OFF_GROUPS) {
		put_heading(r, "cgroups");
		fprintf(r->out, "  n/a: %s\n", model_off_text(r->m, OFF_GROUPS));
		return 0;
	}
	err = rows_build(r, &rows);
	/* The root alone is the host once more. */
	if (err || !rows.rows_cnt || (rows.rows_cnt == 1 && !rows.limits))
		return err;
	put_heading(r, model_off(r->m) & OFF_SWITCHES
			       ? "cgroups, with those below them: mean threads (as the kernel "
				 "counts it; throttled is estimated)"
		       : r->m->slices_quiet
			       ? "cgroups, with those below them: mean threads (exact; in the "
				 "quiet gear as the kernel counts it)"
			       : "cgroups, with those below them: mean threads (exact)");
	TABLE_OF(&t, columns, r, rows.limits ? WITH_MORE : 0);
	table_put_titles(r->out, &t);
	for (size_t i = 0; i < rows.rows_cnt && i < r->o.rows; i++)
		put_group(r, &t, &r->m->cgroups[rows.rows[i]], &r->sched->cgroups[rows.rows[i]]);
	rest = groupless(r);
	if (report_is_some(r, sched_wanted_ns(&rest.sched)))
		put_group(r, &t, NULL, &rest);
	table_put_more(r->out, &t, rows.rows_cnt > r->o.rows ? rows.rows_cnt - r->o.rows : 0);
	put_notes(r, &rows);
	return 0;
}

/* --- without accounts ------------------------------------------------------------------------ */

static const struct column limit_columns[] = {
	{&figure_running, .width = 8},		{&figure_limit, .width = 8},
	{&figure_periods, .width = 11},		{&figure_throttled, .width = 11},
	{&figure_path, .left = true, .gap = 2},
};

int report_cgroup_limits(const struct report *r)
{
	struct sched *sched = sched_new(r->m);
	unsigned int shown = 0;
	struct table t;

	if (!sched)
		return -ENOMEM;
	TABLE_OF(&t, limit_columns, r, 0);
	for (uint32_t i = 0; i < r->m->cgroups_cnt && shown < r->o.rows; i++) {
		struct sched_sum sum = sched->cgroups[i];

		if (!r->m->cgroups[i].quota_ns)
			continue;
		if (!shown++) {
			put_heading(r, "limits of cgroups, by cpu.stat");
			table_put_titles(r->out, &t);
		}
		sum.sched.throttled_ns = r->throttled[i].throttled_ns;
		put_group(r, &t, &r->m->cgroups[i], &sum);
	}
	sched_free(sched);
	return 0;
}
