/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/left_out.h"

#include <stdio.h>
#include <string.h>

#include "output/report_text.h"

static uint64_t files_of(const struct model *m, const struct model_process *p)
{
	(void)m;
	return p->files_refused;
}

static void files_words(uint64_t value, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s file%s too costly", number_count(value).text,
		 value == 1 ? "" : "s");
}

static uint64_t map_bytes_of(const struct model *m, const struct model_process *p)
{
	(void)m;
	return p->map_unread_bytes;
}

static void map_bytes_words(uint64_t value, char *text, size_t bytes)
{
	snprintf(text, bytes, "%s of perf map not followed", number_bytes(value).text);
}

/* How long before the end of what is known. */
static uint64_t aside_of(const struct model *m, const struct model_process *p)
{
	if (!p->names_aside_ns)
		return 0;
	return m->host.end_ns > p->names_aside_ns ? m->host.end_ns - p->names_aside_ns : 1;
}

static void aside_words(uint64_t value, char *text, size_t bytes)
{
	snprintf(text, bytes, "set aside for its cost %s before the end", number_time(value).text);
}

static const struct left_out rows[METRICS_LEFT_OUT_CNT] = {
	[METRICS_LEFT_OUT_FILES] = {"files_refused", "naming_files_refused",
				    "Files of a process that were too costly to read.", UNIT_COUNT,
				    files_of, files_words},
	[METRICS_LEFT_OUT_MAP] = {"map_unread_bytes", "naming_map_unread_bytes",
				  "Bytes of the perf map of a process that were not followed for "
				  "their cost.",
				  UNIT_COUNT, map_bytes_of, map_bytes_words},
	[METRICS_LEFT_OUT_ASIDE] = {"names_aside_ns", "naming_aside_seconds",
				    "For how long the code of a process, and of all of its user or "
				    "container, has got no more names, because observing costs "
				    "more than it may.",
				    UNIT_NS, aside_of, aside_words},
};

const struct left_out *left_out_row(unsigned what)
{
	return &rows[what];
}

bool left_out_any(const struct model *m, const struct model_process *p)
{
	for (unsigned i = 0; i < METRICS_LEFT_OUT_CNT; i++)
		if (rows[i].of(m, p))
			return true;
	return false;
}

void left_out_text(const struct model *m, const struct model_process *p, char *text, size_t bytes)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < METRICS_LEFT_OUT_CNT; i++) {
		uint64_t value = rows[i].of(m, p);

		if (!value)
			continue;
		n += (size_t)snprintf(text + n, bytes - n, "%s", n ? ", " : "");
		rows[i].words(value, text + n, bytes - n);
		n = strlen(text);
	}
	snprintf(text + n, bytes - n, " (%s of CPU)", number_time(p->naming_cpu_ns).text);
}
