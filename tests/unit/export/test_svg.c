/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "build_page.h"
#include "export/svg.h"
#include "export_models.h"
#include "golden.h"

Test(svg, a_service_and_its_neighbour)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = export_text(svg_write, m, (struct export_options){0}, &len);

	golden_expect("export.svg", text, len);
	free(text);
	model_free(m);
}

Test(svg, says_what_is_weighed)
{
	export_says(svg_write, export_model(EXPORT_SHOP),
		    (struct export_options){.weight = EXPORT_WAITERS},
		    ">150 waiting threads</text>");
	export_says(svg_write, export_model(EXPORT_SHOP),
		    (struct export_options){.weight = EXPORT_BLOCKED}, ">5,100 ms blocked</text>");
}

static size_t count(const char *text, const char *word)
{
	size_t cnt = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		cnt++;
	return cnt;
}

Test(svg, names_of_all_kinds_stay_text)
{
	struct model *m = export_model(EXPORT_HOSTILE);
	char *text = export_text(svg_write, m, (struct export_options){0}, NULL);

	/* The host, each process, and its two frames. */
	cr_expect_eq(count(text, "<g><title>"), 1 + 3 * build_hostile_cnt);
	cr_expect_eq(count(text, "<g>"), count(text, "</g>"));
	cr_expect_eq(count(text, "<text"), count(text, "</text>"));
	cr_expect_eq(count(text, "<script") + count(text, "<img") + count(text, "<!--"), 0);
	cr_expect(strstr(text, "&lt;/script&gt;&lt;img src=x onerror="));
	free(text);
	model_free(m);
}

Test(svg, deep_stacks_are_cut_and_that_is_said)
{
	export_says(svg_write, export_model(EXPORT_DEEP), (struct export_options){0},
		    "not drawn: 0 boxes narrower than 0.1 pixels, 1,550 deeper than 500");
}

Test(svg, characters_that_xml_cannot_hold)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "a\xef\xbf\xbf\xef\xbf\xbe z", 0);
	uint32_t t = build_thread(m, p, 7, "app", BUILD_SECOND, 'R');

	BUILD_SAMPLES(m, t, 1, build_symbol(m, "main", "app", KIND_NATIVE, true));
	export_says(svg_write, m, (struct export_options){0},
		    "<title>a\xef\xbf\xbd\xef\xbf\xbd z 7: 1 samples, 100.0 %</title>");
}

Test(svg, an_empty_capture_is_a_picture)
{
	export_says(svg_write, export_model(EXPORT_EMPTY), (struct export_options){0},
		    ">nothing to show</text>\n</svg>\n");
}
