/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun timeline`. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "build_model.h"
#include "build_page.h"
#include "export_models.h"
#include "golden.h"
#include "output/timeline.h"

static char *text_of(struct model *m, const struct timeline_options *options, size_t *ret_len)
{
	struct turns *t = turns_new(m, 0, UINT64_MAX);
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert(t && out);
	cr_assert_eq(timeline_write(out, m, t, options), 0);
	cr_assert_eq(fclose(out), 0);
	turns_free(t);
	return text;
}

static void expect_golden(const char *name, struct timeline_options options)
{
	struct model *m = export_model(EXPORT_SHOP);
	size_t len;
	char *text = text_of(m, &options, &len);

	golden_expect(name, text, len);
	free(text);
	model_free(m);
}

Test(timeline_text, tables)
{
	expect_golden("timeline.txt", (struct timeline_options){0});
}

Test(timeline_text, of_one_thread)
{
	expect_golden("timeline_tid.txt", (struct timeline_options){.tid = 110});
}

Test(timeline_text, every_turn)
{
	expect_golden("timeline_turns.txt", (struct timeline_options){.turns = true});
}

Test(timeline_text, of_a_cpu_without_any)
{
	expect_golden("timeline_cpu.txt", (struct timeline_options){.one_cpu = true, .cpu = 0});
}

/* Names are a stranger's. */
Test(timeline_text, no_byte_that_a_terminal_obeys)
{
	struct model *m = export_model(EXPORT_HOSTILE);

	for (uint32_t i = 0; i < m->threads_cnt; i++)
		build_switch(m, 1500000000ull + i,
			     (struct model_switch){.thread = i,
						   .other = MODEL_NONE,
						   .flags = i ? SWITCH_PREEMPTED : SWITCH_BEGINS});
	for (int turns = 0; turns < 2; turns++) {
		struct timeline_options options = {.turns = turns, .rows = 1000};
		size_t len;
		char *text = text_of(m, &options, &len);

		for (size_t i = 0; i < len; i++)
			cr_assert((unsigned char)text[i] >= 0x20 || text[i] == '\n');
		free(text);
	}
	model_free(m);
}

Test(timeline_text, a_full_disk_is_told)
{
	struct model *m = export_model(EXPORT_SHOP);
	struct turns *t = turns_new(m, 0, UINT64_MAX);
	FILE *full = fopen("/dev/full", "w");

	cr_assert(t && full);
	setvbuf(full, NULL, _IONBF, 0);
	cr_expect_eq(timeline_write(full, m, t, &(struct timeline_options){0}), -EIO);
	fclose(full);
	turns_free(t);
	model_free(m);
}
