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
#include "model/window.h"
#include "output/flame.h"

/* A data block as written, taken apart. */
struct block {
	char *bytes;
	size_t len;
	const char *json; /* its end is not marked, but it ends its line */
	size_t json_len;
};

static struct block block_of(struct model *m, struct flame_options options)
{
	struct block b = {0};
	FILE *out = open_memstream(&b.bytes, &b.len);

	cr_assert(out);
	cr_assert_eq(flame_write_data(out, m, &options), 0);
	fclose(out);
	cr_assert_geq(b.len, 4u);
	for (unsigned int i = 0; i < 4; i++)
		b.json_len |= (size_t)(uint8_t)b.bytes[i] << 8 * i;
	b.json = b.bytes + 4;
	cr_assert_leq(4 + b.json_len, b.len);
	return b;
}

static bool says(const struct block *b, const char *text)
{
	return memmem(b->json, b->json_len, text, strlen(text));
}

/* The numbers of a column as words, "1 2 3"; rise: they are differences. */
static char *column(const struct block *b, const char *name, bool rise)
{
	const char *at = memmem(b->json, b->json_len, "\"columns\":", 10);
	size_t from = 4 + b->json_len, cnt = 0, bytes = 0, len = 0;
	char found[64] = "", *text = NULL;
	int64_t last = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(at && out);
	at = strchr(at, '[') + 1;
	for (;;) {
		cr_assert_eq(sscanf(at, "[\"%63[^\"]\",%zu,%zu]", found, &cnt, &bytes), 3, "%s",
			     name);
		if (!strcmp(found, name))
			break;
		from += bytes;
		at = strchr(at, ']') + 2;
	}
	for (size_t end = from + bytes; from < end;) {
		uint64_t value = 0;

		for (unsigned int shift = 0, more = 1; more; shift += 7, from++) {
			value |= (uint64_t)(b->bytes[from] & 0x7f) << shift;
			more = b->bytes[from] & 0x80;
		}
		last = rise ? last + (int64_t)(value >> 1 ^ -(value & 1)) : (int64_t)value;
		fprintf(out, "%s%lld", ftell(out) ? " " : "", (long long)last);
		cnt--;
	}
	cr_assert_eq(cnt, 0u, "%s", name);
	fclose(out);
	return text;
}

#define EXPECT_COLUMN(b, name, rise, expected)                   \
	do {                                                     \
		char *numbers = column(b, name, rise);           \
                                                                 \
		cr_expect_str_eq(numbers, expected, "%s", name); \
		free(numbers);                                   \
	} while (0)

static char *page_of(struct model *m)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(flame_write(out, m, &(struct flame_options){.process = MODEL_NONE}), 0);
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

static const struct flame_options all = {.process = MODEL_NONE};

Test(flame, stacks_are_there_once_and_samples_name_them)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t1 = build_thread(m, p, 7, "app", 5, 'R');
	uint32_t t2 = build_thread(m, p, 8, "b12", 6, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t work = build_symbol(m, "work", "app", KIND_JIT, true);
	uint32_t read = build_symbol(m, "read", "[kernel]", KIND_KERNEL, false);
	struct block b;

	BUILD_SAMPLES(m, t1, 1, main, read);
	BUILD_SAMPLES(m, t1, 2, main, work);
	BUILD_SAMPLES(m, t2, 3, main, work, work);
	m->samples[5].waiters = 4;
	m->samples[4].waiters = WAITERS_UNKNOWN;
	b = block_of(m, (struct flame_options){.process = p});
	cr_expect(says(&b, "\"samples\":6,"));
	cr_expect(says(&b, "\"first\":0"));
	cr_expect(says(&b, "\"onCpuNs\":11"));
	EXPECT_COLUMN(&b, "node.up", false, "0 0 0 0 2");
	EXPECT_COLUMN(&b, "node.symbol", false, "0 0 1 1 2");
	EXPECT_COLUMN(&b, "symbol.kind", false, "2 3 1");
	EXPECT_COLUMN(&b, "cpu.node", false, "4 2 2 3 3 3");
	EXPECT_COLUMN(&b, "cpu.thread", false, "0 0 0 1 1 1");
	EXPECT_COLUMN(&b, "cpu.weight", false, "1 1 1 1 1 1");
	EXPECT_COLUMN(&b, "cpu.waiters", false, "1 1 1 1 0 5");
	EXPECT_COLUMN(&b, "thread.tid", false, "7 8");
	cr_expect(says(&b, "\"main thread\"") && says(&b, "\"b#\""), "roles");
	free(b.bytes);
	model_free(m);
}

Test(flame, samples_of_a_low_rate_weigh_the_ticks_that_they_stand_for)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", 5, 'R');
	uint32_t before = build_symbol(m, "before", "app", KIND_NATIVE, true);
	uint32_t during = build_symbol(m, "during", "app", KIND_NATIVE, true);
	struct block b;

	BUILD_SAMPLES(m, t, 2, before);
	m->samples[0].weight = m->samples[1].weight = 5;
	BUILD_SAMPLES(m, t, 4, during);
	cr_assert_eq(model_slice_add(m, &(struct model_slice){.sample_every = 5, .quiet = true}),
		     0);
	cr_assert_eq(model_slice_add(m, &(struct model_slice){.sample_every = 1}), 0);
	b = block_of(m, all);
	cr_expect(says(&b, "\"samples\":14,"));
	cr_expect(says(&b, "\"ticksPerSample\":3,"));
	EXPECT_COLUMN(&b, "cpu.weight", false, "5 5 1 1 1 1");
	EXPECT_COLUMN(&b, "slice.sampleEvery", false, "5 1");
	EXPECT_COLUMN(&b, "slice.quiet", false, "1 0");
	free(b.bytes);
	model_free(m);
}

/* Samples at the edges of slices, some before the first and behind the last. */
static struct model *model_of_edges(void)
{
	static const int64_t at_ms[] = {-5, 0, 999, 1000, 1001, 1999, 2000, 2500, 2999, 3000, 3100};
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", 5, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	size_t cnt = sizeof(at_ms) / sizeof(*at_ms);

	build_samples(m, t, (uint32_t)cnt, 0, &main, 1);
	/* The newest first: the block has them by time all the same. */
	for (size_t i = 0; i < cnt; i++)
		m->samples[i].time_ns = BUILD_START_NS + (uint64_t)(at_ms[cnt - 1 - i] * 1000000);
	for (unsigned int i = 0; i < 3; i++)
		build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 3);
	return m;
}

Test(flame, samples_of_slices_are_those_of_a_window)
{
	struct model *m = model_of_edges();
	struct block b = block_of(m, all);
	char *from = column(&b, "slice.cpuFrom", true), *to = column(&b, "slice.cpuTo", true);
	unsigned int first[3], last[3];

	EXPECT_COLUMN(&b, "cpu.slot", true, "0 0 49 50 50 99 100 125 149 149 149");
	cr_assert_eq(sscanf(from, "%u %u %u", &first[0], &first[1], &first[2]), 3, "%s", from);
	cr_assert_eq(sscanf(to, "%u %u %u", &last[0], &last[1], &last[2]), 3, "%s", to);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = i; j < 3; j++) {
			struct model *part = model_of_edges();

			cr_assert_eq(window_cut(part, &(struct window){i, j}), 0);
			cr_expect_eq(last[j] - first[i], part->samples_cnt, "slices %u to %u", i,
				     j);
			model_free(part);
		}
	free(from);
	free(to);
	free(b.bytes);
	model_free(m);
}

Test(flame, data_has_what_happened_second_by_second)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0), other = build_process(m, 8, "other", 0);
	uint32_t t = build_thread(m, p, 7, "app", 0, 'R');
	uint32_t u = build_thread(m, other, 8, "other", 0, 'R');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	uint32_t port = build_endpoint(m, p, "0.0.0.0", 8080);
	struct block b;

	BUILD_SAMPLES(m, t, 2, main);
	for (unsigned int i = 0; i < 2; i++)
		build_slice(m, BUILD_SECOND, 600000000, 0, 3);
	build_account(m, 0, t,
		      &(struct sched_figures){.on_cpu_ns = 500000000, .waited_ns = 200000000});
	build_account(m, 1, u, &(struct sched_figures){.waited_ns = 300000000});
	build_contention(m, 1, p, MODEL_NONE, 1500);
	build_contention(m, 1, p, other, 500);
	build_answers(m, 1, port, 600000000, 3);
	b = block_of(m, all);
	EXPECT_COLUMN(&b, "slice.startNs", true, "0 1000000000");
	EXPECT_COLUMN(&b, "slice.elapsedNs", true, "2000000000 2000000000");
	EXPECT_COLUMN(&b, "slice.idleNs", false, "800000000 800000000");
	EXPECT_COLUMN(&b, "slice.waitedNs", false, "200000000 300000000");
	EXPECT_COLUMN(&b, "account.onCpuUs", false, "500000");
	EXPECT_COLUMN(&b, "account.process", false, "0");
	EXPECT_COLUMN(&b, "contention.weight", false, "2000");
	EXPECT_COLUMN(&b, "contention.runner", false, "1");
	EXPECT_COLUMN(&b, "contention.waiter", false, "0"); /* that one has no samples */
	EXPECT_COLUMN(&b, "service.answered", false, "3");
	EXPECT_COLUMN(&b, "service.slow", false, "3");
	EXPECT_COLUMN(&b, "response.answers", false, "3");
	cr_expect(says(&b, "\"address\":\"0.0.0.0\",\"port\":8080"));
	free(b.bytes);
	model_free(m);
}

Test(flame, blocked_time_stands_beside_cpu_time)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 7, "app", 0);
	uint32_t t = build_thread(m, p, 7, "app", 5, 'S');
	uint32_t main = build_symbol(m, "main", "app", KIND_NATIVE, true);
	struct model_stand stand;
	struct block b;

	BUILD_SAMPLES(m, t, 2, main);
	build_slice(m, BUILD_SECOND, BUILD_SECOND / 2, 0, 3);
	stand = (struct model_stand){.at = m->samples[0],
				     .call = STAND_CALL_NONE,
				     .blocked_ns = 750000000,
				     .state = 'D'};
	stand.at.time_ns = BUILD_START_NS + BUILD_SECOND / 2;
	cr_assert_eq(model_stand_add(m, &stand), 0);
	b = block_of(m, (struct flame_options){.process = MODEL_NONE, .blocked = true});
	cr_expect(says(&b, "\"weight\":\"blocked\"") && says(&b, "\"hasBlocked\":true"));
	cr_expect(says(&b, "\"samples\":2,") && says(&b, "\"blockedMs\":750,"));
	EXPECT_COLUMN(&b, "cpu.node", false, "1 1");
	EXPECT_COLUMN(&b, "blocked.node", false, "1");
	EXPECT_COLUMN(&b, "blocked.weight", false, "750");
	EXPECT_COLUMN(&b, "slice.blockedTo", true, "1");
	free(b.bytes);
	model_free(m);
}

Test(flame, data_has_tiers_late_names_and_losses)
{
	struct model *m = build_page_capture();
	struct block b = block_of(m, all);
	char *frames = column(&b, "tier.frames", false);

	cr_expect(says(&b, "\"OptimizedTier1\""));
	/* price: 3 frames in 200 samples, 1 in 100 */
	cr_expect(strstr(frames, "700"), "%s", frames);
	cr_expect(says(&b, "\"id\":\"sample-ring-full\""));
	cr_expect(says(&b, "\"count\":37,\"samples\":true"));
	cr_expect(says(&b, "\"count\":5,\"samples\":false"));
	cr_expect(says(&b, "\"first\":null"));
	cr_expect(says(&b, "\"startUnixMs\":1795255200000,\"durationNs\":10000000000"));
	free(frames);
	free(b.bytes);
	model_free(m);
}

Test(flame, data_tells_how_its_frames_are_to_be_read)
{
	struct model *m = build_page_capture();
	struct block b = block_of(m, all);

	cr_expect(says(&b, "\"rawNames\":false,\n\"justMyCode\":false"));
	free(b.bytes);
	model_free(m);
	m = build_page_capture();
	m->raw_names = m->just_my_code = true;
	b = block_of(m, all);
	cr_expect(says(&b, "\"rawNames\":true,\n\"justMyCode\":true"));
	free(b.bytes);
	model_free(m);
}

Test(flame, data_has_the_report)
{
	struct model *m = build_page_capture();
	struct block b = block_of(m, all);

	cr_expect(says(&b, "\"report\":\"web-1 "));
	cr_expect(says(&b, "\"verdicts\":\"{\\\"format\\\": "));
	free(b.bytes);
	model_free(m);
}

Test(flame, data_says_that_switches_were_not_seen)
{
	struct model *m = build_page_capture();
	struct block b = block_of(m, all);

	cr_expect(!says(&b, "switchesOff"));
	free(b.bytes);
	model_free(m);
	m = build_page_capture();
	m->host.off = OFF_SWITCHES | OFF_ACCOUNTS;
	b = block_of(m, all);
	cr_expect(says(&b, "\"switchesOff\":\"nobody looked at switches, to keep"));
	cr_expect(says(&b, "\"waitsOff\":\""));
	free(b.bytes);
	model_free(m);
}

Test(flame, books_are_those_of_the_report)
{
	struct model *m = build_page_gap();
	struct block b = block_of(m, all);

	cr_expect(says(&b, "\"expected\":990,\"taken\":600,\"missed\":390,"));
	cr_expect(says(&b, "\"samplesGap\":true"));
	free(b.bytes);
	model_free(m);
	m = build_page_capture();
	b = block_of(m, all);
	cr_expect(says(&b, "\"dropped\":37,"));
	cr_expect(says(&b, "\"samplesGap\":false"));
	free(b.bytes);
	model_free(m);
}

Test(flame, names_of_targets_end_neither_the_block_nor_a_string)
{
	struct model *m = build_page_capture();
	struct block b = block_of(m, all);

	cr_expect_not(says(&b, "\"x\":1"));
	for (size_t i = 0; i < b.json_len; i++) {
		cr_assert(!strchr("<>&\x1b\x7f", b.json[i]), "markup in the data");
		cr_assert(b.json[i] == '\n' || (unsigned char)b.json[i] >= 0x20,
			  "control byte in the data");
	}
	free(b.bytes);
	model_free(m);
}

Test(flame, page_is_whole_and_asks_for_nothing_outside)
{
	struct model *m = build_page_capture();
	char *page = page_of(m);

	cr_expect_eq(occurrences(page, "<script"), 4);
	cr_expect_eq(occurrences(page, "</script"), 4);
	cr_expect_eq(occurrences(page, "<style"), 2);
	cr_expect_eq(occurrences(page, "{{"), 0);
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
	char *a = page_of(m), *b = page_of(m);

	cr_expect_neq(strncmp(strstr(a, "'nonce-"), strstr(b, "'nonce-"), 39), 0);
	free(a);
	free(b);
	model_free(m);
}

Test(flame, empty_capture_is_a_valid_page)
{
	struct model *m = build_model(2, 99);
	struct block b = block_of(m, all);

	cr_expect(says(&b, "\"samples\":0,"));
	cr_expect(says(&b, "\"processes\":[],\n\"first\":null"));
	free(b.bytes);
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
	write_page(folder ? folder : own, "blocked", build_page_blocked(), true);
	write_page(folder ? folder : own, "older", build_page_older(), false);
	write_page(folder ? folder : own, "gap", build_page_gap(), false);
	write_page(folder ? folder : own, "large", build_page_large(100000), false);
	write_page(folder ? folder : own, "empty", build_model(2, 99), false);
	/* For measurements: tests/page/measure.js. */
	if (getenv("HOTRUN_TEST_HOUR"))
		write_page(folder ? folder : own, "hour", build_page_hour(500000, 100000), false);
	if (!folder) {
		snprintf(command, sizeof(command), "rm -r %s", own);
		cr_expect_eq(system(command), 0);
	}
}
