/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "export/speedscope.h"
#include "export_models.h"
#include "golden.h"

Test(speedscope, a_service_and_its_neighbour)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = export_text(speedscope_write, m, (struct export_options){0}, &len);

	golden_expect("export.speedscope", text, len);
	free(text);
	model_free(m);
}

Test(speedscope, blocked_time_has_no_gaps)
{
	export_says(speedscope_write, export_model(EXPORT_SHOP),
		    (struct export_options){.weight = EXPORT_BLOCKED},
		    "\"weights\":[1000000000,1000000000,1000000000],\"endValue\":3000000000}");
}

Test(speedscope, what_nobody_waited_for_is_left_out)
{
	struct model *m = export_model(EXPORT_SHOP);
	struct export_options options = {.weight = EXPORT_WAITERS};
	char *text = export_text(speedscope_write, m, options, NULL);

	/* 30 samples at which five threads waited for it. */
	cr_expect(strstr(text, "\"weights\":[50505050,50505050,"), "%s", text);
	cr_expect(strstr(text, "\"endValue\":1515151500}]"), "%s", text);
	cr_expect_not(strstr(text, "nginx"), "%s", text);
	free(text);
	model_free(m);
}

Test(speedscope, an_empty_capture_has_no_profile)
{
	export_says(speedscope_write, export_model(EXPORT_EMPTY), (struct export_options){0},
		    "\"shared\":{\"frames\":[]},\n\"profiles\":[]}\n");
}
