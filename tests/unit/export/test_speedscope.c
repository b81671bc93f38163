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

Test(speedscope, an_empty_capture_has_no_profile)
{
	export_says(speedscope_write, export_model(EXPORT_EMPTY), (struct export_options){0},
		    "\"shared\":{\"frames\":[]},\n\"profiles\":[]}\n");
}
