/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/trunks.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "judge/judgement.h"
#include "judge/trunks.h"
#include "output/report_text.h"

#define PROCESSES_MAX 3

/* Who is told, and what it suffered. */
struct victim {
	uint32_t process;
	double seconds, people;
};

struct victims {
	struct victim rows[PROCESSES_MAX];
	size_t cnt;
};

static bool has(const struct victims *v, uint32_t process)
{
	for (size_t i = 0; i < v->cnt; i++)
		if (v->rows[i].process == process)
			return true;
	return false;
}

static void add_hurt(struct victims *v, const struct verdicts *verdicts,
		     const struct requests *requests, double slice_s)
{
	for (size_t i = 0; i < verdicts->rows_cnt && v->cnt < PROCESSES_MAX; i++) {
		const struct verdict_row *row = &verdicts->rows[i];
		struct victim *victim = &v->rows[v->cnt];
		const struct requests_sum *sum;
		uint64_t people = 0;

		if (!row->hurt_slices || row->process == MODEL_NONE)
			continue;
		if (requests) {
			sum = &requests->processes[row->process];
			people = sum->served.slow + sum->late;
			if (sum->stuck_max > people)
				people = sum->stuck_max;
		}
		/* Who serves nothing is somebody, too. */
		*victim = (struct victim){.process = row->process,
					  .seconds = row->hurt_slices * slice_s,
					  .people = people ? (double)people : 1};
		v->cnt++;
	}
}

/* Then those with most samples. */
static int add_busy(struct victims *v, const struct model *m)
{
	_cleanup_free_ uint64_t *samples = calloc(m->processes_cnt + 1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	for (size_t i = 0; i < m->samples_cnt; i++)
		if (m->samples[i].kind == SAMPLE_ON_CPU)
			samples[m->threads[m->samples[i].thread].process] +=
				model_weight(&m->samples[i]);
	while (v->cnt < PROCESSES_MAX) {
		uint32_t best = MODEL_NONE;

		for (uint32_t i = 0; i < m->processes_cnt; i++)
			if (samples[i] >= TRUNKS_MIN_SAMPLES && !has(v, i) &&
			    !(m->processes[i].flags & (PROCESS_KERNEL | PROCESS_SELF)) &&
			    (best == MODEL_NONE || samples[i] > samples[best]))
				best = i;
		if (best == MODEL_NONE)
			break;
		v->rows[v->cnt++] = (struct victim){.process = best};
	}
	return 0;
}

static int put_trunks(FILE *out, struct model *m, const struct victim *victim)
{
	const struct model_process *p = &m->processes[victim->process];
	const char *process = *p->name ? p->name : p->comm;
	struct trunks trunks;
	int err = trunks_of(m, victim->process, &trunks);

	for (size_t i = 0; !err && i < trunks.cnt; i++) {
		double share = (double)trunks.rows[i].samples / (double)trunks.all;
		char name[TRUNKS_NAME_BYTES];

		trunks_name(name, m, trunks.rows[i].symbol);
		fprintf(out, "%s\t%s\t%s\t", number_fixed(victim->seconds, 1).text,
			number_fixed(victim->people, 0).text, number_fixed(share, 3).text);
		text_put_safe(out, process, strlen(process));
		putc('\t', out);
		text_put_safe(out, name, strlen(name));
		putc('\n', out);
	}
	return err;
}

int trunks_write(FILE *out, struct model *m, const struct export_options *options)
{
	_cleanup_(judgement_clear) struct judgement j = {0};
	struct victims victims = {.cnt = 0};
	int err = judgement_of(&j, m, false, NULL, NULL);

	if (err)
		return err;
	if (j.sched && j.verdicts->slices)
		add_hurt(&victims, j.verdicts, j.requests,
			 (double)j.sched->elapsed_ns / 1e9 / j.verdicts->slices);
	err = add_busy(&victims, m);
	for (size_t i = 0; !err && i < victims.cnt; i++)
		if (export_wants(options, victims.rows[i].process))
			err = put_trunks(out, m, &victims.rows[i]);
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}
