/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "build_page.h"
#include "export/perf_script.h"
#include "export_models.h"
#include "golden.h"

Test(perf_script, a_service_and_its_neighbour)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = export_text(perf_script_write, m, (struct export_options){0}, &len);

	golden_expect("export_perf_script.txt", text, len);
	free(text);
	model_free(m);
}

Test(perf_script, period_and_event_are_of_the_weight)
{
	export_says(perf_script_write, export_model(EXPORT_SHOP),
		    (struct export_options){.weight = EXPORT_WAITERS},
		    ".NET TP Worker 100/110 [000]  1000.040000000:   50505050 waiting: \n");
	export_says(perf_script_write, export_model(EXPORT_SHOP),
		    (struct export_options){.weight = EXPORT_BLOCKED},
		    ".NET TP Worker 100/110 [000]  1000.250000000:  700000000 blocked: \n");
}

Test(perf_script, names_of_threads_do_not_look_like_numbers)
{
	export_says(perf_script_write, export_model(EXPORT_SHOP), (struct export_options){0},
		    "\nLoader_7 100/111 [");
}

/* Whether a line is one of a sample: a name, PID/TID, [CPU], a time, a period, an event. */
static bool is_sample(const char *line)
{
	unsigned int pid, tid, cpu;
	const char *slash = strchr(line, '/');

	while (slash && (slash[-1] < '0' || slash[-1] > '9' || slash[1] < '0' || slash[1] > '9'))
		slash = strchr(slash + 1, '/');
	if (!slash)
		return false;
	while (slash > line && slash[-1] != ' ')
		slash--;
	return slash > line + 1 && sscanf(slash, "%u/%u [%u] ", &pid, &tid, &cpu) == 3 &&
	       strstr(slash, " cpu-clock: \n");
}

Test(perf_script, hostile_names_make_neither_lines_nor_samples)
{
	struct model *m = export_model(EXPORT_HOSTILE);
	char *text = export_text(perf_script_write, m, (struct export_options){0}, NULL);
	size_t samples = 0, frames = 0, empty = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (*line == '\n') {
			empty++;
		} else if (*line == '\t') {
			const char *end = strchr(line, '\n'), *bracket = end;

			frames++;
			while (bracket > line && *bracket != '(')
				bracket--;
			cr_expect(bracket > line + 17 && bracket[-1] == ' ' && end[-1] == ')' &&
					  !memchr(bracket, ' ', (size_t)(end - bracket)),
				  "%.*s", (int)(end - line), line);
		} else {
			samples++;
			cr_expect(is_sample(line), "%.200s", line);
		}
	}
	cr_expect_eq(samples, 2 * build_hostile_cnt);
	cr_expect_eq(empty, samples);
	cr_expect_eq(frames, 2 * samples);
	free(text);
	model_free(m);
}
