/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "build_model.h"
#include "export/timeline.h"
#include "export_models.h"

static size_t spans_of(const struct timeline *t, enum timeline_kind kind, uint32_t process)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->spans_cnt; i++)
		cnt += t->spans[i].kind == kind && t->spans[i].process == process;
	return cnt;
}

Test(timeline, figures_are_those_of_the_slices)
{
	struct model *m = export_model(EXPORT_SHOP);
	struct timeline *t = timeline_new(m, &(struct export_options){0});

	cr_assert_eq(t->slices_cnt, 3);
	cr_expect(t->has_cpus && t->has_waits && t->has_requests);
	cr_expect_eq(t->slices[0].answered, 100);
	cr_expect_eq(t->slices[1].answered, 160);
	cr_expect_eq(t->slices[1].slow, 60);
	cr_expect_eq(t->slices[0].waited_ns + t->slices[1].waited_ns + t->slices[2].waited_ns,
		     BUILD_SECOND);
	timeline_free(t);
	model_free(m);
}

Test(timeline, a_second_with_slow_requests_is_a_span_of_its_own)
{
	struct model *m = export_model(EXPORT_SHOP);
	struct timeline *t = timeline_new(m, &(struct export_options){0});
	char text[TIMELINE_TEXT_BYTES] = "";

	cr_expect_eq(spans_of(t, TIMELINE_SLOW, 0), 1);
	cr_expect_eq(spans_of(t, TIMELINE_SLOW, 1), 0);
	for (size_t i = 0; i < t->spans_cnt; i++)
		if (t->spans[i].kind == TIMELINE_SLOW) {
			cr_expect_eq(t->spans[i].first, 1);
			cr_expect_eq(t->spans[i].last, 1);
			timeline_text(text, &t->spans[i]);
		}
	cr_expect_str_eq(text, "60 of 160 requests were slow");
	timeline_free(t);
	model_free(m);
}

Test(timeline, throttling_on_end_is_one_span_and_its_time_the_sum)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", BUILD_SECOND, 'R');
	struct timeline *line;

	for (uint32_t slice = 0; slice < 5; slice++)
		build_account(
			m, slice, t,
			&(struct sched_figures){.throttled_ns = slice == 2 ? 0 : BUILD_SECOND / 4});
	build_books(m, 5);
	line = timeline_new(m, &(struct export_options){0});
	cr_expect_eq(spans_of(line, TIMELINE_THROTTLED, p), 2);
	for (size_t i = 0; i < line->spans_cnt; i++)
		if (line->spans[i].kind == TIMELINE_THROTTLED)
			cr_expect_lt(fabs(line->spans[i].amount - (double)BUILD_SECOND / 2), 1000);
	cr_expect_eq(line->slices[0].throttled_ns, BUILD_SECOND / 4);
	timeline_free(line);
	model_free(m);
}

Test(timeline, who_is_not_wanted_is_left_out)
{
	struct model *m = export_model(EXPORT_SHOP);
	const uint8_t nginx[] = {0, 1};
	struct timeline *t = timeline_new(m, &(struct export_options){.wanted = nginx});

	for (int kind = 0; kind < TIMELINE_KINDS; kind++)
		cr_expect_eq(spans_of(t, (enum timeline_kind)kind, 0), 0);
	timeline_free(t);
	model_free(m);
}

Test(timeline, an_empty_capture_has_nothing)
{
	struct model *m = export_model(EXPORT_EMPTY);
	struct timeline *t = timeline_new(m, &(struct export_options){0});

	cr_expect_eq(t->slices_cnt + t->spans_cnt, 0);
	timeline_free(t);
	model_free(m);
}
