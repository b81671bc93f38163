/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun diff`: the text and its JSON. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/diff.h"

#define SECONDS 20

/* Price costs price samples a second, List is what calls it; a neighbour that does not change. */
static struct model *record(const char *host, uint32_t price, uint64_t answer_ns)
{
	struct model *m = build_model(2, 99);
	uint32_t shop = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	uint32_t worker = build_thread(m, shop, 100, ".NET TP Worker", 0, 'S');
	uint32_t cache = build_process(m, 200, "cache\x1b[31m<script>", 0);
	uint32_t loop = build_thread(m, cache, 200, "cache", 0, 'R');
	uint32_t start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	uint32_t kestrel =
		build_symbol(m, "Microsoft.AspNetCore.Server.Kestrel.HttpProtocol.ProcessRequests",
			     "Microsoft.AspNetCore.Server.Kestrel.Core", KIND_IMAGE, false);
	uint32_t list = build_symbol(m, "Shop.Orders.List", "Shop.Api", KIND_JIT, true);
	uint32_t cost = build_symbol(m, "Shop.Orders.Price", "Shop.Api", KIND_JIT, true);
	uint32_t get = build_symbol(m, "get\x1b]0;<b>", "cache", KIND_NATIVE, true);
	uint32_t endpoint = build_endpoint(m, shop, "0.0.0.0", 80);

	m->host.name = model_str(m, host);
	for (uint32_t s = 0; s < SECONDS; s++) {
		const struct sched_figures ran = {.on_cpu_ns = (uint64_t)(40 + price) * 10101010,
						  .waited_ns = 100000000};
		size_t first = m->samples_cnt;

		build_slice(m, BUILD_SECOND, 0, 0, 0);
		build_account(m, s, worker, &ran);
		build_answers(m, s, endpoint, answer_ns, 1000);
		BUILD_SAMPLES(m, worker, 10, start, kestrel);
		BUILD_SAMPLES(m, worker, 30, start, kestrel, list);
		BUILD_SAMPLES(m, worker, price, start, kestrel, list, cost);
		BUILD_SAMPLES(m, loop, 20, start, get);
		for (size_t k = first; k < m->samples_cnt; k++)
			m->samples[k].time_ns = m->slices[s].start_ns + 1000 * (k - first);
	}
	return m;
}

typedef int (*writer)(FILE *out, const struct diff *d, const struct diff_beside *beside,
		      const struct diff_options *options);

/* Takes the models. */
static void expect(const char *golden, writer write, struct model *before, struct model *after,
		   struct diff_options options)
{
	const struct diff_side sides[DIFF_SIDES] = {{.m = before}, {.m = after}};
	struct diff_book *book = diff_book_new(sides);
	struct diff *d = diff_new(book, DIFF_PER_AUTO);
	struct diff_beside *beside = diff_beside_new(book, NULL);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	options.names[DIFF_BEFORE] = "monday.hotrun\x1b[2J";
	options.names[DIFF_AFTER] = "tuesday.hotrun@0..20";
	options.width = options.width ?: 110;
	cr_assert_eq(write(out, d, beside, &options), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
	diff_beside_free(beside);
	diff_free(d);
	diff_book_free(book);
	model_free(before);
	model_free(after);
}

Test(diff_output, what_grew)
{
	expect("diff.txt", diff_write_text, record("web-1", 60, 1000000),
	       record("web-2\x1b[0m", 90, 2000000), (struct diff_options){.rows = 20});
}

Test(diff_output, in_80_columns)
{
	expect("diff_80.txt", diff_write_text, record("web-1", 60, 1000000),
	       record("web-2", 90, 2000000), (struct diff_options){.rows = 1, .width = 80});
}

Test(diff_output, nothing_changed)
{
	expect("diff_same.txt", diff_write_text, record("web-1", 60, 1000000),
	       record("web-1", 60, 1000000), (struct diff_options){.rows = 20});
}

Test(diff_output, what_could_have_been_seen)
{
	expect("diff_effects.txt", diff_write_text, record("web-1", 60, 1000000),
	       record("web-1", 60, 1000000), (struct diff_options){.rows = 3, .effects = true});
}

Test(diff_output, as_json)
{
	expect("diff.json", diff_write_json, record("web-1", 60, 1000000),
	       record("web-2", 90, 2000000), (struct diff_options){0});
}

Test(diff_output, effects_as_json)
{
	expect("diff_effects.json", diff_write_json, record("web-1", 60, 1000000),
	       record("web-2", 60, 1000000), (struct diff_options){.effects = true});
}

Test(diff_output, as_a_picture)
{
	expect("diff.svg", diff_write_svg, record("web-1", 60, 1000000),
	       record("web-2", 90, 2000000), (struct diff_options){0});
}

Test(diff_output, nothing_at_all)
{
	expect("diff_empty.txt", diff_write_text, build_model(2, 99), build_model(2, 99),
	       (struct diff_options){0});
	expect("diff_empty.svg", diff_write_svg, build_model(2, 99), build_model(2, 99),
	       (struct diff_options){0});
	expect("diff_empty.json", diff_write_json, build_model(2, 99), build_model(2, 99),
	       (struct diff_options){0});
}

/* A page as written; tests/live/test_page.sh drives it in a browser (see test_flame.c). */
static char *page_of(struct model *before, struct model *after, size_t *ret_len)
{
	const struct diff_side sides[DIFF_SIDES] = {{.m = before}, {.m = after}};
	struct diff_book *book = diff_book_new(sides);
	struct diff *d = diff_new(book, DIFF_PER_AUTO);
	struct diff_beside *beside = diff_beside_new(book, NULL);
	const struct diff_options options = {.names = {"monday.hotrun</script>", "tuesday.hotrun"},
					     .rows = 20};
	char *page = NULL;
	FILE *out = open_memstream(&page, ret_len);

	cr_assert_eq(diff_write_page(out, d, beside, &options), 0);
	fclose(out);
	diff_beside_free(beside);
	diff_free(d);
	diff_book_free(book);
	model_free(before);
	model_free(after);
	return page;
}

Test(diff_output, writes_pages)
{
	const char *folder = getenv("HOTRUN_TEST_PAGES");
	size_t len;
	char *page = page_of(record("web-1", 60, 1000000), record("web-2", 90, 2000000), &len),
	     path[512];

	cr_expect(memmem(page, len, "default-src 'none'", 18), "a strict policy");
	cr_expect(memmem(page, len, "<script type=\"text/plain\" id=\"data\">", 35));
	for (const char *const *name = (const char *const[]){"monday", "]0;<b>", "Price", NULL};
	     *name; name++)
		cr_expect_null(memmem(page, len, *name, strlen(*name)), "%s stands in it as it is",
			       *name);
	if (folder) {
		FILE *out;

		snprintf(path, sizeof(path), "%s/diff.html", folder);
		out = fopen(path, "w");
		cr_assert(out, "%s", path);
		fwrite(page, 1, len, out);
		fclose(out);
	}
	free(page);
}

Test(diff_output, a_page_of_nothing)
{
	size_t len;
	char *page = page_of(build_model(2, 99), build_model(2, 99), &len);

	cr_expect(memmem(page, len, "</html>", 7));
	free(page);
}

/* Names of a hostile process: long, and deep below one another. */
static struct model *record_deep(uint32_t cnt)
{
	enum { DEPTH = 40, NAME = 8000 };
	struct model *m = build_model(2, 99);
	uint32_t shop = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	uint32_t worker = build_thread(m, shop, 100, "worker", 0, 'S');
	uint32_t stack[DEPTH];
	char name[NAME + 1];

	for (uint32_t i = 0; i < DEPTH; i++) {
		memset(name, 'a' + (int)(i % 26), NAME);
		snprintf(name, sizeof(name), "Frame%02u", i);
		name[strlen(name)] = '.';
		/* A character of two bytes lies across the cut. */
		memcpy(name + 199, "\xc3\xa9", 2);
		name[NAME] = 0;
		stack[i] = build_symbol(m, name, "Shop.Api", KIND_JIT, true);
	}
	for (uint32_t s = 0; s < SECONDS; s++) {
		size_t first = m->samples_cnt;

		build_slice(m, BUILD_SECOND, 0, 0, 0);
		for (uint32_t depth = 1; depth <= DEPTH; depth++)
			build_samples(m, worker, cnt, 0, stack, depth);
		for (size_t k = first; k < m->samples_cnt; k++)
			m->samples[k].time_ns = m->slices[s].start_ns + 1000 * (k - first);
	}
	return m;
}

static char *write_deep(writer write, size_t *ret_len)
{
	struct model *before = record_deep(1), *after = record_deep(10);
	const struct diff_side sides[DIFF_SIDES] = {{.m = before}, {.m = after}};
	struct diff_book *book = diff_book_new(sides);
	struct diff *d = diff_new(book, DIFF_PER_CORES);
	struct diff_beside *beside = diff_beside_new(book, NULL);
	const struct diff_options options = {.names = {"monday.hotrun", "tuesday.hotrun"}};
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	cr_assert_eq(write(out, d, beside, &options), 0);
	fclose(out);
	cr_expect_gt(d->findings_cnt, 20);
	diff_beside_free(beside);
	diff_free(d);
	diff_book_free(book);
	model_free(before);
	model_free(after);
	return text;
}

Test(diff_output, a_page_has_each_long_name_once)
{
	size_t json_len, data_len;
	char *json = write_deep(diff_write_json, &json_len);
	char *data = write_deep(diff_write_data, &data_len);

	cr_expect_gt(json_len, 40 * 10 * 8000, "JSON has all paths: %zu bytes", json_len);
	cr_expect_lt(data_len, 2 * 40 * 8000, "the page has names, and what is left of paths: %zu",
		     data_len);
	cr_expect(memmem(data, data_len, "path_more", 9), "others are counted");
	cr_expect_null(memmem(json, json_len, "path_more", 9));
	free(json);
	free(data);
}
