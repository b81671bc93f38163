/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page as written. What it does in a browser is tested by tests/live/test_page.sh, which lets
 * this binary write pages: HOTRUN_TEST_PAGES=DIR test_flame --filter 'flame/writes_pages'.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "build_page.h"
#include "output/flame.h"

typedef int (*write_fn)(FILE *out, struct model *m, const struct flame_options *options);

static char *written(write_fn write, struct model *m, struct flame_options options)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(write(out, m, &options), 0);
	fclose(out);
	return text;
}

static size_t occurrences(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

Test(flame, data_has_nodes_in_preorder_heaviest_first)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t1 = build_thread(m, p, 7, "app", 5, 'R'), t2 = build_thread(m, p, 8, "b", 6, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "work", "app", KIND_JIT, true);
	uint32_t read = build_symbol(m, "read", "[kernel]", KIND_KERNEL, false);
	char *data;

	BUILD_SAMPLES(m, t1, 1, main, read);
	BUILD_SAMPLES(m, t1, 3, main, work);
	BUILD_SAMPLES(m, t2, 4, main, work, work);
	data = written(flame_write_data, m, (struct flame_options){.process = p});
	cr_expect(strstr(data, "\"samples\":8,"));
	cr_expect(strstr(data, "\"nodes\":{\"symbol\":[0,1,1,2],\"depth\":[0,1,2,1],"
			       "\"total\":[8,7,4,1],\"threads\":[2,2,1,1]}"),
		  "%s", data);
	cr_expect(strstr(data, "\"kind\":[2,3,1]"), "%s", data);
	cr_expect(strstr(data, "\"onCpuNs\":11"), "%s", data);
	cr_expect(strstr(data, "\"first\":0"), "%s", data);
	free(data);
	model_free(m);
}

Test(flame, samples_of_a_low_rate_are_as_wide_as_the_ticks_that_they_stand_for)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", 5, 'R');
	uint32_t before = build_symbol(m, "before", "app", KIND_NATIVE, true);
	uint32_t during = build_symbol(m, "during", "app", KIND_NATIVE, true);
	char *data;

	BUILD_SAMPLES(m, t, 2, before);
	m->samples[0].weight = m->samples[1].weight = 5;
	BUILD_SAMPLES(m, t, 4, during);
	cr_assert_eq(model_slice_add(m, &(struct model_slice){.sample_every = 5, .quiet = true}),
		     0);
	cr_assert_eq(model_slice_add(m, &(struct model_slice){.sample_every = 1}), 0);
	data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});
	cr_expect(strstr(data, "\"samples\":14,"), "%s", data);
	cr_expect(strstr(data, "\"total\":[10,4]"), "%s", data);
	cr_expect(strstr(data, "\"ticksPerSample\":3,"), "%s", data);
	free(data);
	model_free(m);
}

Test(flame, data_has_tiers_late_names_and_losses)
{
	struct model *m = build_page_capture();
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect(strstr(data, "\"OptimizedTier1\""));
	/* price: 3 frames in 200 samples, 1 in 100 */
	cr_expect(strstr(data, ",700]]"), "%s", data);
	cr_expect(strstr(data, "\"id\":\"sample-ring-full\""));
	cr_expect(strstr(data, "\"count\":37,\"samples\":true"));
	cr_expect(strstr(data, "\"count\":5,\"samples\":false"));
	cr_expect(strstr(data, "\"first\":null"));
	cr_expect(strstr(data, "\"startUnixMs\":1795255200000,\"durationNs\":10000000000"), "%s",
		  data);
	free(data);
	model_free(m);
}

Test(flame, data_tells_how_its_frames_are_to_be_read)
{
	struct model *m = build_page_capture();
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect(strstr(data, "\"rawNames\":false,\n\"justMyCode\":false"));
	free(data);
	m->raw_names = m->just_my_code = true;
	data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});
	cr_expect(strstr(data, "\"rawNames\":true,\n\"justMyCode\":true"));
	free(data);
	model_free(m);
}

Test(flame, data_says_that_switches_were_not_seen)
{
	struct model *m = build_page_capture();
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect(!strstr(data, "switchesOff"));
	free(data);
	m->host.off = OFF_SWITCHES | OFF_ACCOUNTS;
	data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});
	cr_expect(strstr(data, "\"switchesOff\":\"nobody looked at switches, to keep"), "%s", data);
	free(data);
	model_free(m);
}

Test(flame, books_are_those_of_the_report)
{
	struct model *m = build_page_gap();
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect(strstr(data, "\"expected\":990,\"taken\":600,\"missed\":390,"), "%s", data);
	cr_expect(strstr(data, "\"samplesGap\":true"), "%s", data);
	free(data);
	model_free(m);
	m = build_page_capture();
	data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});
	cr_expect(strstr(data, "\"dropped\":37,"), "%s", data);
	cr_expect(strstr(data, "\"samplesGap\":false"), "%s", data);
	free(data);
	model_free(m);
}

Test(flame, names_of_targets_end_neither_the_block_nor_a_string)
{
	struct model *m = build_page_capture();
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect_eq(strcspn(data, "<>&\x1b\x7f"), strlen(data));
	cr_expect_not(strstr(data, "\"x\":1"));
	for (const char *c = data; *c; c++)
		cr_assert(*c == '\n' || (unsigned char)*c >= 0x20, "control byte in the data");
	free(data);
	model_free(m);
}

Test(flame, page_is_whole_and_asks_for_nothing_outside)
{
	struct model *m = build_page_capture();
	char *page = written(flame_write, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect_eq(occurrences(page, "<script"), 2);
	cr_expect_eq(occurrences(page, "</script"), 2);
	cr_expect_eq(occurrences(page, "<style"), 1);
	/* The one left is a name in the data. */
	cr_expect_eq(occurrences(page, "{{"), 2);
	cr_expect(strstr(page, "default-src 'none'; script-src 'nonce-"));
	cr_expect_eq(occurrences(page, "http://") + occurrences(page, "https://"), 0);
	cr_expect_eq(occurrences(page, "innerHTML") + occurrences(page, "eval("), 0);
	cr_expect(strstr(page, "</html>"));
	free(page);
	model_free(m);
}

Test(flame, nonce_is_new_on_every_page)
{
	struct model *m = build_model(2, 99);
	char *a = written(flame_write, m, (struct flame_options){.process = MODEL_NONE});
	char *b = written(flame_write, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect_neq(strncmp(strstr(a, "'nonce-"), strstr(b, "'nonce-"), 39), 0);
	free(a);
	free(b);
	model_free(m);
}

Test(flame, empty_capture_is_a_valid_page)
{
	struct model *m = build_model(2, 99);
	char *data = written(flame_write_data, m, (struct flame_options){.process = MODEL_NONE});

	cr_expect(strstr(data, "\"samples\":0,"));
	cr_expect(strstr(data, "\"processes\":[],\n\"first\":null"));
	free(data);
	model_free(m);
}

Test(flame, reports_a_full_device)
{
	struct model *m = build_page_capture();
	struct flame_options options = {.process = MODEL_NONE};
	FILE *out = fopen("/dev/full", "w");

	cr_assert(out);
	cr_expect_eq(flame_write(out, m, &options), -EIO);
	fclose(out);
	model_free(m);
}

static void write_page(const char *folder, const char *name, struct model *m, bool blocked)
{
	struct flame_options options = {.process = MODEL_NONE, .blocked = blocked};
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s.html", folder, name);
	out = fopen(path, "w");
	cr_assert(out, "%s", path);
	cr_expect_eq(flame_write(out, m, &options), 0);
	fclose(out);
	model_free(m);
}

Test(flame, writes_pages)
{
	const char *folder = getenv("HOTRUN_TEST_PAGES");
	char own[] = "/tmp/hotrun-pages-XXXXXX", command[64];

	if (!folder)
		cr_assert(mkdtemp(own));
	write_page(folder ? folder : own, "small", build_page_capture(), false);
	write_page(folder ? folder : own, "blocked", build_page_capture(), true);
	write_page(folder ? folder : own, "gap", build_page_gap(), false);
	write_page(folder ? folder : own, "large", build_page_large(100000), false);
	write_page(folder ? folder : own, "empty", build_model(2, 99), false);
	if (!folder) {
		snprintf(command, sizeof(command), "rm -r %s", own);
		cr_expect_eq(system(command), 0);
	}
}
