/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariants are those that the protocol asks for in profiles.proto, and its own checker looks
 * at (profcheck in github.com/open-telemetry/sig-profiling).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "build_model.h"
#include "export/otlp.h"
#include "export_models.h"
#include "otlp.pb-c.h"

static Otlp__ProfilesData *unpacked(struct model *m, struct export_options options)
{
	size_t len;
	char *bytes = export_text(otlp_write, m, options, &len);
	Otlp__ProfilesData *data = otlp__profiles_data__unpack(NULL, len, (const uint8_t *)bytes);

	cr_assert(data);
	free(bytes);
	model_free(m);
	return data;
}

static void in_range(const char *what, int32_t index, size_t cnt)
{
	cr_expect(index >= 0 && (size_t)index < cnt, "%s: %d of %zu", what, index, cnt);
}

static void check_attributes(const char *what, const Otlp__ProfilesDictionary *d,
			     const int32_t *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		in_range(what, rows[i], d->n_attribute_table);
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(d->attribute_table[rows[i]]->key_strindex,
				      d->attribute_table[rows[k]]->key_strindex, "%s: a key twice",
				      what);
	}
}

/* The first row of each table is the zero value. */
static void check_zeros(const Otlp__ProfilesDictionary *d)
{
	cr_assert(d->n_mapping_table && d->n_location_table && d->n_function_table &&
		  d->n_link_table && d->n_string_table && d->n_attribute_table && d->n_stack_table);
	cr_expect_eq(d->mapping_table[0]->filename_strindex, 0);
	cr_expect_eq(d->mapping_table[0]->n_attribute_indices, 0);
	cr_expect_eq(d->location_table[0]->n_lines, 0);
	cr_expect_eq(d->location_table[0]->mapping_index, 0);
	cr_expect_eq(d->function_table[0]->name_strindex, 0);
	cr_expect_str_eq(d->string_table[0], "");
	cr_expect_eq(d->attribute_table[0]->key_strindex, 0);
	cr_expect_null(d->attribute_table[0]->value);
	cr_expect_eq(d->stack_table[0]->n_location_indices, 0);
}

static void check_dictionary(const Otlp__ProfilesDictionary *d)
{
	check_zeros(d);
	for (size_t i = 1; i < d->n_mapping_table; i++) {
		const Otlp__Mapping *mapping = d->mapping_table[i];

		in_range("file", mapping->filename_strindex, d->n_string_table);
		check_attributes("mapping", d, mapping->attribute_indices,
				 mapping->n_attribute_indices);
		for (size_t k = 1; k < i; k++)
			cr_expect(mapping->filename_strindex !=
					  d->mapping_table[k]->filename_strindex ||
				  mapping->n_attribute_indices !=
					  d->mapping_table[k]->n_attribute_indices);
	}
	for (size_t i = 1; i < d->n_location_table; i++) {
		in_range("mapping", d->location_table[i]->mapping_index, d->n_mapping_table);
		cr_assert_eq(d->location_table[i]->n_lines, 1);
		in_range("function", d->location_table[i]->lines[0]->function_index,
			 d->n_function_table);
	}
	for (size_t i = 1; i < d->n_function_table; i++) {
		in_range("name", d->function_table[i]->name_strindex, d->n_string_table);
		in_range("system name", d->function_table[i]->system_name_strindex,
			 d->n_string_table);
	}
	for (size_t i = 1; i < d->n_attribute_table; i++)
		in_range("key", d->attribute_table[i]->key_strindex, d->n_string_table);
	for (size_t i = 1; i < d->n_stack_table; i++)
		for (size_t k = 0; k < d->stack_table[i]->n_location_indices; k++)
			in_range("location", d->stack_table[i]->location_indices[k],
				 d->n_location_table);
	for (size_t i = 0; i < d->n_string_table; i++)
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(strcmp(d->string_table[i], d->string_table[k]), 0);
}

static int64_t check_profile(const Otlp__ProfilesDictionary *d, const Otlp__Profile *p)
{
	int64_t sum = 0;

	in_range("type", p->sample_type->type_strindex, d->n_string_table);
	in_range("unit", p->sample_type->unit_strindex, d->n_string_table);
	for (size_t i = 0; i < p->n_samples; i++) {
		const Otlp__Sample *s = p->samples[i];

		in_range("stack", s->stack_index, d->n_stack_table);
		check_attributes("sample", d, s->attribute_indices, s->n_attribute_indices);
		cr_assert(s->n_values && s->n_values == s->n_timestamps_unix_nano);
		for (size_t k = 0; k < s->n_values; k++) {
			sum += s->values[k];
			cr_expect(s->timestamps_unix_nano[k] >= p->time_unix_nano &&
				  s->timestamps_unix_nano[k] <
					  p->time_unix_nano + p->duration_nano);
		}
	}
	return sum;
}

/* Sums by type of sample; in the order of the profiles. */
struct sums {
	const char *types[EXPORT_WEIGHTS];
	int64_t ns[EXPORT_WEIGHTS];
	size_t cnt;
};

static struct sums check_all(const Otlp__ProfilesData *data)
{
	const Otlp__ProfilesDictionary *d = data->dictionary;
	struct sums sums = {.cnt = 0};

	cr_assert(d && data->n_resource_profiles);
	check_dictionary(d);
	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		const Otlp__ScopeProfiles *scope;

		cr_assert_eq(data->resource_profiles[i]->n_scope_profiles, 1);
		scope = data->resource_profiles[i]->scope_profiles[0];
		cr_assert(scope->n_profiles && scope->n_profiles <= EXPORT_WEIGHTS);
		sums.cnt = scope->n_profiles;
		for (size_t k = 0; k < scope->n_profiles; k++) {
			sums.types[k] =
				d->string_table[scope->profiles[k]->sample_type->type_strindex];
			sums.ns[k] += check_profile(d, scope->profiles[k]);
		}
	}
	return sums;
}

Test(otlp, holds_what_the_protocol_asks_for)
{
	for (int which = 0; which < EXPORT_MODELS; which++) {
		Otlp__ProfilesData *data = unpacked(export_model((enum export_model)which),
						    (struct export_options){0});

		check_all(data);
		otlp__profiles_data__free_unpacked(data, NULL);
	}
}

Test(otlp, totals_are_those_of_the_capture)
{
	Otlp__ProfilesData *data = unpacked(export_model(EXPORT_SHOP), (struct export_options){0});
	struct sums sums = check_all(data);

	cr_assert_eq(sums.cnt, 3);
	cr_expect_str_eq(sums.types[0], "cpu");
	cr_expect_eq(sums.ns[0], 66ll * 10101010);
	cr_expect_str_eq(sums.types[1], "waiting");
	cr_expect_eq(sums.ns[1], 150ll * 10101010);
	cr_expect_str_eq(sums.types[2], "blocked");
	cr_expect_eq(sums.ns[2], 5100000000ll);
	otlp__profiles_data__free_unpacked(data, NULL);
}

Test(otlp, the_weight_is_the_first_profile)
{
	Otlp__ProfilesData *data = unpacked(export_model(EXPORT_SHOP),
					    (struct export_options){.weight = EXPORT_BLOCKED});
	struct sums sums = check_all(data);

	cr_expect_str_eq(sums.types[0], "blocked");
	otlp__profiles_data__free_unpacked(data, NULL);
}

Test(otlp, what_is_not_known_is_left_out)
{
	Otlp__ProfilesData *data =
		unpacked(export_model(EXPORT_UNKNOWN), (struct export_options){0});
	struct sums sums = check_all(data);

	cr_expect_eq(sums.cnt, 1);
	cr_expect_str_eq(sums.types[0], "cpu");
	otlp__profiles_data__free_unpacked(data, NULL);
}

Test(otlp, a_resource_is_a_process)
{
	Otlp__ProfilesData *data = unpacked(export_model(EXPORT_SHOP), (struct export_options){0});
	char facts[512] = "";

	cr_assert_eq(data->n_resource_profiles, 2);
	for (size_t i = 0; i < data->resource_profiles[0]->resource->n_attributes; i++) {
		const Otlp__KeyValue *fact = data->resource_profiles[0]->resource->attributes[i];

		strcat(facts, fact->key);
		strcat(facts, fact->value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE
				      ? fact->value->string_value
				      : "#");
		strcat(facts, " ");
	}
	cr_expect_str_eq(facts, "host.nameweb-1 os.typelinux process.pid# service.nameShop.Web "
				"k8s.pod.nameshop-7d9c6b5f4d-x2x9k k8s.namespace.nameprod "
				"hotrun.verdictstarved ");
	otlp__profiles_data__free_unpacked(data, NULL);
}
