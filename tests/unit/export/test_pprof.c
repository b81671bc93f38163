/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "export/pprof.h"
#include "export_models.h"
#include "pprof.pb-c.h"

#define TICK_NS 10101010

static Pprof__Profile *unpacked(struct model *m, struct export_options options)
{
	size_t len, cap = 1 << 20;
	char *text = export_text(pprof_write, m, options, &len);
	unsigned char *bytes = malloc(cap);
	z_stream z = {.next_in = (unsigned char *)text,
		      .avail_in = (unsigned int)len,
		      .next_out = bytes,
		      .avail_out = (unsigned int)cap};
	Pprof__Profile *profile;

	cr_assert_eq(inflateInit2(&z, 15 + 16), Z_OK);
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	profile = pprof__profile__unpack(NULL, z.total_out, bytes);
	cr_assert(profile);
	inflateEnd(&z);
	free(bytes);
	free(text);
	model_free(m);
	return profile;
}

static const char *text(const Pprof__Profile *p, int64_t number)
{
	cr_assert(number >= 0 && (size_t)number < p->n_string_table);
	return p->string_table[number];
}

static void expect_types(const Pprof__Profile *p, const char *expected)
{
	char types[128] = "";

	for (size_t i = 0; i < p->n_sample_type; i++) {
		strcat(types, text(p, p->sample_type[i]->type));
		strcat(types, " ");
		strcat(types, text(p, p->sample_type[i]->unit));
		strcat(types, ";");
	}
	cr_expect_str_eq(types, expected);
}

static int64_t sum(const Pprof__Profile *p, size_t value)
{
	int64_t all = 0;

	for (size_t i = 0; i < p->n_sample; i++) {
		cr_assert_eq(p->sample[i]->n_value, p->n_sample_type);
		all += p->sample[i]->value[value];
	}
	return all;
}

Test(pprof, has_all_that_the_capture_knows)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_SHOP), (struct export_options){0});

	expect_types(p, "samples count;cpu nanoseconds;waiting nanoseconds;blocked nanoseconds;");
	cr_expect_eq(sum(p, 0), 66);
	cr_expect_eq(sum(p, 1), 66ll * TICK_NS);
	cr_expect_eq(sum(p, 2), 150ll * TICK_NS);
	cr_expect_eq(sum(p, 3), 5100000000ll);
	cr_expect_eq(p->period, TICK_NS);
	cr_expect_eq(p->duration_nanos, 3000000000ll);
	cr_expect_eq(p->time_nanos, 1795255200000000000ll);
	cr_expect_str_eq(text(p, p->default_sample_type), "cpu");
	cr_expect_str_eq(text(p, 0), "");
	pprof__profile__free_unpacked(p, NULL);
}

Test(pprof, the_weight_is_what_is_shown_first)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_SHOP),
				     (struct export_options){.weight = EXPORT_BLOCKED});

	cr_expect_str_eq(text(p, p->default_sample_type), "blocked");
	cr_expect_eq(sum(p, 0), 66);
	pprof__profile__free_unpacked(p, NULL);
}

Test(pprof, what_is_not_known_is_left_out)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_UNKNOWN), (struct export_options){0});

	expect_types(p, "samples count;cpu nanoseconds;");
	cr_expect_eq(sum(p, 0), 5);
	pprof__profile__free_unpacked(p, NULL);
}

Test(pprof, one_process_alone)
{
	const uint8_t nginx[] = {0, 1};
	Pprof__Profile *p = unpacked(export_model(EXPORT_SHOP),
				     (struct export_options){.wanted = nginx, .subject = "nginx"});

	cr_expect_eq(sum(p, 0), 20);
	cr_expect_str_eq(text(p, p->mapping[0]->filename), "nginx");
	pprof__profile__free_unpacked(p, NULL);
}

/* "process=Shop.Web pid=100 ..." */
static void labels_of(const Pprof__Profile *p, const Pprof__Sample *sample, char *labels)
{
	*labels = 0;
	for (size_t i = 0; i < sample->n_label; i++) {
		strcat(labels, text(p, sample->label[i]->key));
		strcat(labels, "=");
		strcat(labels, text(p, sample->label[i]->str));
		strcat(labels, "; ");
	}
}

Test(pprof, samples_carry_who_they_are_of)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_SHOP), (struct export_options){0});
	char labels[512];

	labels_of(p, p->sample[0], labels);
	cr_expect_str_eq(labels, "process=Shop.Web; pid=100; thread=.NET TP Worker; tid=110; "
				 "role=thread-pool workers; pod=shop-7d9c6b5f4d-x2x9k; "
				 "verdict=starved; ");
	labels_of(p, p->sample[p->n_sample - 1], labels);
	cr_expect_str_eq(labels, "process=nginx; pid=200; thread=nginx; tid=200; "
				 "role=main thread; verdict=healthy; ");
	pprof__profile__free_unpacked(p, NULL);
}

/* Each is there once, and the ids lead from one to the other. */
static const Pprof__Mapping *mapping_of(const Pprof__Profile *p, const Pprof__Location *location)
{
	for (size_t i = 0; i < p->n_mapping; i++)
		if (p->mapping[i]->id == location->mapping_id)
			return p->mapping[i];
	cr_assert_fail("no mapping %lu", (unsigned long)location->mapping_id);
	return NULL;
}

static const Pprof__Function *function_of(const Pprof__Profile *p, const Pprof__Location *location)
{
	cr_assert_eq(location->n_line, 1);
	for (size_t i = 0; i < p->n_function; i++)
		if (p->function[i]->id == location->line[0]->function_id)
			return p->function[i];
	cr_assert_fail("no function");
	return NULL;
}

Test(pprof, files_have_their_build_ids)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_SHOP), (struct export_options){0});
	const char *const expected[][3] = {
		{"start_thread", "/usr/lib/libc.so.6", "c0ffee01"},
		{"Shop.Pricing.Price(int)", "Shop", ""},
		{"ngx_process_events", "/usr/sbin/nginx", "c0ffee01"},
		{"vfs_read", "[kernel]", ""},
	};

	for (size_t k = 0; k < sizeof(expected) / sizeof(*expected); k++) {
		size_t found = 0;

		for (size_t i = 0; i < p->n_location; i++) {
			const Pprof__Mapping *mapping = mapping_of(p, p->location[i]);

			if (strcmp(text(p, function_of(p, p->location[i])->name), expected[k][0]))
				continue;
			found++;
			cr_expect_str_eq(text(p, mapping->filename), expected[k][1]);
			cr_expect_str_eq(text(p, mapping->build_id), expected[k][2]);
		}
		cr_expect_eq(found, 1, "%s", expected[k][0]);
	}
	pprof__profile__free_unpacked(p, NULL);
}

Test(pprof, stacks_are_leaf_first)
{
	Pprof__Profile *p = unpacked(export_model(EXPORT_DEEP), (struct export_options){0});

	cr_assert_eq(p->n_sample, 1);
	cr_expect_geq(p->sample[0]->n_location_id, 2000);
	cr_expect_str_eq(text(p, function_of(p, p->location[0])->name), "level_2047");
	cr_expect_eq(p->sample[0]->location_id[0], p->location[0]->id);
	pprof__profile__free_unpacked(p, NULL);
}
