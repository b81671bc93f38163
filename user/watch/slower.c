/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/slower.h"

#include <errno.h>

#include "base/clock.h"
#include "model/requests.h"
#include "watch/minutes.h"

#define WINDOW_NS (60 * SECOND_NS)
/* Slices are not exact. */
#define LEAST_NS      (58 * SECOND_NS)
#define LOOK_EVERY_NS (10 * SECOND_NS)

/* The first slice of the last minute. */
static uint32_t first_slice(const struct model *m, uint64_t end_ns)
{
	uint32_t first = (uint32_t)m->slices_cnt - 1;

	while (first && m->slices[first - 1].start_ns + WINDOW_NS >= end_ns)
		first--;
	return first;
}

static uint32_t ppm(double share)
{
	return (uint32_t)(share * SIGNAL_PPM + 0.5);
}

/* Adds a process that is worse than usual. */
static void look_at(struct slower *s, uint32_t process, const struct requests *requests,
		    slower_speed speed, void *ctx)
{
	const struct requests_sum *sum = &requests->processes[process];
	struct model_past row = {.process = process,
				 .median_ns = requests_time_ns(sum, 0.5),
				 .slow_ppm = ppm(requests_slow_share(sum))};
	char name[HISTORY_NAME_BYTES], place[HISTORY_PLACE_BYTES];
	uint64_t judged = requests_judged(sum);
	struct past_speed usual;

	if (judged < PAST_REQUESTS_LEAST || s->cnt == SLOWER_MAX)
		return;
	minutes_kind(&s->m->processes[process], name, place);
	if (!speed(ctx, name, place,
		   (double)judged * (double)SECOND_NS / (double)requests->elapsed_ns, &usual))
		return;
	row.hours = usual.hours;
	row.usual_ns = (uint64_t)(usual.median_us.high * 1000);
	row.usual_ppm = ppm(usual.slow.high);
	if (row.median_ns > row.usual_ns || row.slow_ppm > row.usual_ppm)
		s->rows[s->cnt++] = row;
}

static int look(struct slower *s, uint64_t end_ns, slower_speed speed, void *ctx)
{
	uint32_t first = first_slice(s->m, end_ns);
	struct model view = *s->m;
	struct requests *requests;

	s->looked_ns = end_ns;
	s->cnt = 0;
	if (end_ns - view.slices[first].start_ns < LEAST_NS)
		return 0;
	model_view_from(&view, first);
	requests = requests_new(&view);
	if (!requests)
		return -ENOMEM;
	for (uint32_t i = 0; requests->elapsed_ns && i < view.processes_cnt; i++)
		if (!(view.processes[i].flags & (PROCESS_KERNEL | PROCESS_SELF)))
			look_at(s, i, requests, speed, ctx);
	requests_free(requests);
	return 0;
}

int slower_slice(struct slower *s, struct model *m, slower_speed speed, void *ctx)
{
	uint32_t newest = (uint32_t)m->slices_cnt - 1;
	int err = 0;

	if (!m->slices_cnt)
		return 0;
	if (s->m != m || s->model_start_ns != m->host.start_ns)
		*s = (struct slower){.m = m, .model_start_ns = m->host.start_ns};
	if (m->slices[newest].end_ns - s->looked_ns >= LOOK_EVERY_NS)
		err = look(s, m->slices[newest].end_ns, speed, ctx);
	for (size_t i = 0; !err && i < s->cnt; i++) {
		struct model_past row = s->rows[i];

		row.slice = newest;
		err = model_past_add(m, &row);
	}
	return err;
}
