/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/diff.h"
#include "judge/diff_beside.h"
#include "model/student.h"

#define METHODS 24

/* --- a service by chance ---------------------------------------------------------------------- */

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(*seed >> 11) + 0.5) / (double)(1ull << 53);
}

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(uniform(seed))) * cos(2 * 3.14159265358979 * uniform(seed));
}

static uint32_t poisson(double mean, uint64_t *seed)
{
	double limit = exp(-mean), product = uniform(seed);
	uint32_t n = 0;

	if (mean > 50)
		return (uint32_t)fmax(0, mean + sqrt(mean) * normal(seed) + 0.5);
	for (; product > limit; n++)
		product *= uniform(seed);
	return n;
}

struct load {
	uint32_t seconds;
	double busy;	 /* samples a second, on the mean */
	double unequal;	 /* spread of the seconds' load, and of what each method has of it */
	double between;	 /* spread of each method between recordings */
	uint32_t dearer; /* method, METHODS = none */
	double factor;	 /* by how much */
	bool requests;
};

/* The first method has half of it, the others 1/2, 1/3, ... of the rest; Handle calls them. */
static struct model *record(const struct load *l, uint64_t seed, double rate)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	uint32_t t = build_thread(m, p, 100, ".NET TP Worker", 0, 'S');
	uint32_t handle = build_symbol(m, "Shop.Api.Handle", "Shop.Api", KIND_JIT, true);
	uint32_t endpoint = build_endpoint(m, p, "0.0.0.0", 80), methods[METHODS];
	double weights[METHODS], all = 0;

	for (uint32_t i = 0; i < METHODS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "Shop.Api.Method%u", i);
		methods[i] = build_symbol(m, name, "Shop.Api", KIND_JIT, true);
		weights[i] = i ? 1.0 / (i + 1) : 2.776;
		all += weights[i];
		weights[i] *= exp(l->between * normal(&seed));
	}
	for (uint32_t s = 0; s < l->seconds; s++) {
		double load = rate * exp(l->unequal * normal(&seed));

		build_slice(m, BUILD_SECOND, 0, 0, 0);
		if (l->requests)
			build_answers(m, s, endpoint, 1000000, poisson(2000 * load, &seed) + 1);
		for (uint32_t i = 0; i < METHODS; i++) {
			double mean = l->busy * load * weights[i] / all *
				      exp(l->unequal * normal(&seed)) *
				      (i == l->dearer ? l->factor : 1);
			size_t first = m->samples_cnt;

			build_samples(m, t, poisson(mean, &seed), 0,
				      (const uint32_t[]){handle, methods[i]}, 2);
			for (size_t k = first; k < m->samples_cnt; k++)
				m->samples[k].time_ns = m->slices[s].start_ns + 1000 * (k - first);
		}
	}
	return m;
}

struct both {
	struct model *m[DIFF_SIDES];
	struct diff_book *book;
	struct diff *d;
};

static struct both compare(struct model *before, struct model *after, enum diff_per per)
{
	struct both b = {.m = {before, after}};
	const struct diff_side sides[DIFF_SIDES] = {{.m = before}, {.m = after}};

	b.book = diff_book_new(sides);
	cr_assert(b.book);
	b.d = diff_new(b.book, per);
	cr_assert(b.d);
	return b;
}

static void end(struct both *b)
{
	diff_free(b->d);
	diff_book_free(b->book);
	model_free(b->m[DIFF_BEFORE]);
	model_free(b->m[DIFF_AFTER]);
}

static bool names(const struct both *b, const char *method)
{
	for (size_t i = 0; i < b->d->findings_cnt; i++)
		if (!strcmp(diff_book_symbol(b->book, b->d->findings[i].method)->name, method))
			return true;
	return false;
}

/* PAIRS=200 for the figures of README. */
static uint64_t pairs(void)
{
	const char *text = getenv("PAIRS");

	return text ? strtoull(text, NULL, 10) : 40;
}

Test(diff, two_of_one_load_name_nothing)
{
	const struct load l = {60, 190, 0.25, 0.005, METHODS, 1, true};
	unsigned int named = 0;

	for (uint64_t i = 0; i < pairs(); i++) {
		struct both b = compare(record(&l, 2 * i + 1, 1), record(&l, 2 * i + 2, 1.2),
					DIFF_PER_AUTO);

		cr_assert_eq(b.d->kinds[0].per, DIFF_PER_REQUEST);
		named += b.d->findings_cnt != 0;
		end(&b);
	}
	printf("of %lu pairs of one load %u name anything\n", (unsigned long)pairs(), named);
	cr_expect_leq(named, pairs() / 20);
}

Test(diff, a_method_that_is_dearer_is_found)
{
	struct load l = {60, 190, 0.05, 0.005, METHODS, 1, true};
	unsigned int found = 0, others = 0;

	for (uint64_t i = 0; i < pairs(); i++) {
		struct load after = l;
		struct both b;

		after.dearer = 0;
		after.factor = 1.1;
		b = compare(record(&l, 1000 + 2 * i, 1), record(&after, 1001 + 2 * i, 1),
			    DIFF_PER_AUTO);
		found += names(&b, "Shop.Api.Method0");
		others += b.d->findings_cnt > 2 || names(&b, "Shop.Api.Method5");
		end(&b);
	}
	printf("10 %% dearer: found in %u of %lu pairs\n", found, (unsigned long)pairs());
	cr_expect_geq(10 * found, 9 * pairs());
	cr_expect_leq(others, pairs() / 20 + 1);
}

Test(diff, the_interval_holds_the_truth_as_often_as_it_says)
{
	const struct load l = {40, 200, 0.2, 0, METHODS, 1, false};
	unsigned int within = 0, asked = 0;

	for (uint64_t i = 0; i < pairs(); i++) {
		struct both b = compare(record(&l, 5000 + 2 * i, 1), record(&l, 5001 + 2 * i, 1),
					DIFF_PER_CORES);

		for (uint32_t k = 0; k < b.book->methods_cnt; k++) {
			struct diff_value v = diff_value_of(b.d, k, DIFF_SELF);

			if (v.before + v.after <= 0)
				continue;
			asked++;
			within += fabs(v.change) <= v.error;
		}
		end(&b);
	}
	cr_expect_geq((double)within, 0.93 * asked, "%u of %u", within, asked);
}

/* --- what is known ---------------------------------------------------------------------------- */

/* A recording of cnt seconds, in each of which Handle calls Work (work samples) and Other (10). */
static struct model *steady(uint32_t seconds, uint32_t work, const char *build)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "Shop.Api", PROCESS_DOTNET);
	uint32_t t = build_thread(m, p, 100, ".NET TP Worker", 0, 'S');
	uint32_t handle = build_symbol(m, "Shop.Api.Handle", "Shop.Api", KIND_JIT, true);
	uint32_t compute = build_symbol(m, "Shop.Api.Work", "Shop.Api", KIND_IMAGE, true);
	uint32_t other = build_symbol(m, "Shop.Api.Other", "Shop.Api", KIND_JIT, true);
	uint32_t unnamed = build_unnamed(m, build, 0x1000, KIND_NATIVE, REASON_NO_SYMBOL);

	for (uint32_t s = 0; s < seconds; s++) {
		size_t first = m->samples_cnt;

		build_slice(m, BUILD_SECOND, 0, 0, 0);
		BUILD_SAMPLES(m, t, work, handle, compute);
		BUILD_SAMPLES(m, t, 10, handle, other);
		BUILD_SAMPLES(m, t, 10, handle, unnamed);
		for (size_t k = first; k < m->samples_cnt; k++)
			m->samples[k].time_ns = m->slices[s].start_ns + 1000 * (k - first);
	}
	return m;
}

Test(diff, tells_what_grew_where_and_by_how_much)
{
	struct both b = compare(steady(30, 40, "lib.so"), steady(20, 60, "lib.so"), DIFF_PER_AUTO);
	const struct diff_finding *f = &b.d->findings[0];

	cr_assert_eq(b.d->kinds[0].per, DIFF_PER_CORES);
	cr_assert_eq(b.d->findings_cnt, 1, "Handle grew by what it calls: %zu", b.d->findings_cnt);
	cr_expect_str_eq(diff_book_symbol(b.book, f->method)->name, "Shop.Api.Work");
	cr_expect_eq(f->of, DIFF_SELF);
	cr_expect_float_eq(f->value.before, 40 / 99.0, 1e-9);
	cr_expect_float_eq(f->value.after, 60 / 99.0, 1e-9);
	cr_expect_float_eq(f->value.change, 20 / 99.0, 1e-9);
	cr_expect_lt(f->value.error, 5 / 99.0);
	cr_expect_eq(b.book->nodes[f->node].all[DIFF_AFTER][DIFF_SELF], 1200);
	cr_expect_float_eq(f->node_share, 1, 1e-9);
	/* 50 % where all grew by a third. */
	cr_expect(b.d->kinds[0].certain);
	cr_expect_float_eq(f->overweight, 0.5 / (20.0 / 60), 1e-6);
	cr_expect_gt(b.d->most_growth, 0.3);
	cr_expect_lt(b.d->most_growth, 0.5);
	end(&b);
}

Test(diff, by_share_only_the_mix_counts)
{
	struct both b = compare(steady(30, 40, "lib.so"), steady(30, 60, "lib.so"), DIFF_PER_SHARE);

	cr_assert_geq(b.d->findings_cnt, 2);
	cr_expect(names(&b, "Shop.Api.Work"));
	cr_expect(names(&b, "Shop.Api.Other"), "it has less of the whole");
	cr_expect_float_eq(diff_value_of(b.d, 1, DIFF_SELF).before, 40 / 60.0, 1e-9);
	end(&b);
}

Test(diff, unnamed_code_of_another_build_is_the_same)
{
	struct model *after = steady(30, 40, "lib.so");
	struct both b;

	build_unnamed(after, "lib.so", 0x9000, KIND_NATIVE, REASON_NO_SYMBOL);
	b = compare(steady(30, 40, "lib.so"), after, DIFF_PER_AUTO);
	cr_expect_eq(b.d->findings_cnt, 0);
	cr_expect_eq(b.book->methods_cnt, 4);
	cr_expect_float_eq(b.d->unnamed[DIFF_AFTER], 10 / 60.0, 1e-9);
	cr_expect_eq(b.d->in_common, 3);
	end(&b);
}

/* Both grow, and each explains the other: one of them has to be told. */
Test(diff, methods_that_call_each_other_do_not_explain_each_other_away)
{
	struct model *m[DIFF_SIDES] = {build_model(2, 99), build_model(2, 99)};
	struct both b;

	for (int i = 0; i < DIFF_SIDES; i++) {
		uint32_t p = build_process(m[i], 100, "walker", 0);
		uint32_t t = build_thread(m[i], p, 100, "walker", 0, 'S');
		uint32_t v = build_symbol(m[i], "visit", "walker", KIND_NATIVE, true);
		uint32_t w = build_symbol(m[i], "visit_binary", "walker", KIND_NATIVE, true);
		uint32_t leaves[40];

		for (uint32_t k = 0; k < 40; k++) {
			char name[16];

			snprintf(name, sizeof(name), "leaf%u", k);
			leaves[k] = build_symbol(m[i], name, "walker", KIND_NATIVE, true);
		}
		for (uint32_t s = 0; s < 30; s++) {
			size_t first = m[i]->samples_cnt;

			build_slice(m[i], BUILD_SECOND, 0, 0, 0);
			for (uint32_t k = 0; k < 40; k++)
				BUILD_SAMPLES(m[i], t, i && k % 3 == s % 3 ? 2 : 1, v, w, v, w,
					      leaves[k]);
			for (size_t k = first; k < m[i]->samples_cnt; k++)
				m[i]->samples[k].time_ns = m[i]->slices[s].start_ns;
		}
	}
	b = compare(m[0], m[1], DIFF_PER_AUTO);
	cr_expect_gt(b.d->found, 0);
	cr_expect(names(&b, "visit") || names(&b, "visit_binary"));
	cr_expect_gt(b.d->most_growth, 0.1);
	end(&b);
}

Test(diff, of_many_processes_that_did_not_change_none_is_named)
{
	struct model *m[DIFF_SIDES] = {build_model(2, 99), build_model(2, 99)};
	unsigned int certain = 0;
	uint64_t seed = 7;
	struct both b;

	for (int i = 0; i < DIFF_SIDES; i++) {
		for (uint32_t s = 0; s < 30; s++)
			build_slice(m[i], BUILD_SECOND, 0, 0, 0);
		for (uint32_t k = 0; k < 100; k++) {
			char name[16];
			uint32_t p, t;

			snprintf(name, sizeof(name), "program%u", k);
			p = build_process(m[i], 100 + k, name, 0);
			t = build_thread(m[i], p, 100 + k, name, 0, 'S');
			for (uint32_t s = 0; s < 30; s++) {
				const struct sched_figures ran = {
					.on_cpu_ns =
						(uint64_t)(20000000 * exp(0.3 * normal(&seed)))};

				build_account(m[i], s, t, &ran);
			}
		}
	}
	b = compare(m[0], m[1], DIFF_PER_AUTO);
	for (size_t k = 0; k < b.book->kinds_cnt; k++)
		certain += b.d->kinds[k].certain;
	cr_expect_eq(certain, 0);
	end(&b);
}

Test(diff, by_request_where_there_are_none_is_told)
{
	struct both b =
		compare(steady(10, 40, "lib.so"), steady(10, 40, "lib.so"), DIFF_PER_REQUEST);

	cr_expect_eq(b.d->kinds[0].per, DIFF_PER_CORES);
	cr_expect(b.d->kinds[0].lacks_requests);
	end(&b);
}

Test(diff, nothing_in_common)
{
	struct model *after = build_model(2, 99);
	uint32_t p = build_process(after, 7, "other", 0);
	uint32_t t = build_thread(after, p, 7, "other", 0, 'S');
	uint32_t f = build_symbol(after, "main", "other", KIND_NATIVE, true);
	struct both b;

	for (uint32_t s = 0; s < 10; s++) {
		build_slice(after, BUILD_SECOND, 0, 0, 0);
		BUILD_SAMPLES(after, t, 50, f);
		for (size_t k = 0; k < 50; k++)
			after->samples[50 * s + k].time_ns = after->slices[s].start_ns;
	}
	b = compare(steady(10, 40, "lib.so"), after, DIFF_PER_AUTO);
	cr_expect_eq(b.d->in_common, 0);
	cr_expect_eq(b.d->only[DIFF_BEFORE], 3);
	cr_expect_eq(b.d->only[DIFF_AFTER], 1);
	cr_expect(names(&b, "main"), "it is new");
	end(&b);
}

Test(diff, what_is_too_short_or_empty_names_nothing)
{
	struct both b = compare(steady(3, 40, "lib.so"), steady(3, 400, "lib.so"), DIFF_PER_AUTO);

	cr_expect(b.d->too_short);
	cr_expect_eq(b.d->findings_cnt, 0);
	cr_expect(isnan(diff_value_of(b.d, 0, DIFF_SELF).error));
	cr_expect_eq(b.d->most_growth, 0);
	end(&b);
	b = compare(build_model(2, 99), steady(10, 40, "lib.so"), DIFF_PER_AUTO);
	cr_expect(b.d->too_short);
	cr_expect_eq(b.d->findings_cnt, 0);
	end(&b);
	b = compare(build_model(2, 99), build_model(2, 99), DIFF_PER_AUTO);
	cr_expect_eq(b.d->tested, 0);
	end(&b);
}

Test(diff, calls_of_a_method_by_itself_count_once)
{
	struct model *m[DIFF_SIDES] = {build_model(2, 99), build_model(2, 99)};
	struct both b;

	for (int i = 0; i < DIFF_SIDES; i++) {
		uint32_t p = build_process(m[i], 100, "deep", 0);
		uint32_t t = build_thread(m[i], p, 100, "deep", 0, 'S');
		uint32_t a = build_symbol(m[i], "a", "deep", KIND_NATIVE, true);
		uint32_t f = build_symbol(m[i], "f", "deep", KIND_NATIVE, true);

		for (uint32_t s = 0; s < 8; s++) {
			build_slice(m[i], BUILD_SECOND, 0, 0, 0);
			BUILD_SAMPLES(m[i], t, 30, a, f, a, f, a);
		}
	}
	b = compare(m[0], m[1], DIFF_PER_AUTO);
	cr_assert_eq(b.book->methods_cnt, 2);
	for (uint32_t i = 0; i < 2; i++)
		cr_expect_eq(b.book->methods[i].all[DIFF_BEFORE][DIFF_TOTAL], 240);
	end(&b);
}

/* Samples a second of own code, and of a call into the kernel. */
static struct model *calls(uint32_t own, uint32_t in_kernel)
{
	struct model *m = build_model(2, 99);
	uint32_t p = build_process(m, 100, "Shop.Api", 0);
	uint32_t t = build_thread(m, p, 100, "Shop.Api", 0, 'S');
	uint32_t work = build_symbol(m, "Work", "Shop.Api", KIND_NATIVE, true);
	uint32_t spin = build_symbol(m, "Spin", "Shop.Api", KIND_NATIVE, true);
	uint32_t yield = build_symbol(m, "do_sched_yield", "kernel", KIND_KERNEL, true);

	for (uint32_t s = 0; s < 60; s++) {
		size_t first = m->samples_cnt;

		build_slice(m, BUILD_SECOND, 0, 0, 0);
		BUILD_SAMPLES(m, t, own, work);
		BUILD_SAMPLES(m, t, in_kernel, spin, yield);
		for (size_t k = first; k < m->samples_cnt; k++)
			m->samples[k].time_ns = m->slices[s].start_ns + 1000 * (k - first);
	}
	return m;
}

Test(diff, what_methods_do_in_the_kernel_drifts_more)
{
	struct both b = compare(calls(40, 40), calls(50, 50), DIFF_PER_CORES);

	cr_expect(names(&b, "Work"));
	cr_expect_not(names(&b, "do_sched_yield"));
	cr_expect_not(names(&b, "Spin"), "by what it calls");
	end(&b);
	b = compare(calls(40, 20), calls(40, 50), DIFF_PER_CORES);
	cr_expect(names(&b, "do_sched_yield"), "two and a half times as much");
	cr_expect_not(names(&b, "Work"));
	end(&b);
}

Test(diff, beside_it_stands_how_they_fared)
{
	struct model *before = steady(20, 40, "lib.so"), *after = steady(20, 40, "lib.so");
	const struct diff_side sides[DIFF_SIDES] = {{.m = before}, {.m = after}};
	struct diff_book *book;
	struct diff_beside *beside;
	uint32_t endpoint[DIFF_SIDES] = {build_endpoint(before, 0, "0.0.0.0", 80),
					 build_endpoint(after, 0, "0.0.0.0", 80)};

	for (uint32_t s = 0; s < 20; s++) {
		build_answers(before, s, endpoint[0], 1000000, 100);
		build_answers(after, s, endpoint[1], 900000000, 50);
	}
	book = diff_book_new(sides);
	beside = book ? diff_beside_new(book, NULL) : NULL;
	cr_assert(beside);
	cr_expect_float_eq(diff_fared(beside, 0, DIFF_BEFORE)->answered, 100, 0.1);
	cr_expect_float_eq(diff_fared(beside, 0, DIFF_AFTER)->answered, 50, 0.1);
	cr_expect_gt(diff_fared(beside, 0, DIFF_AFTER)->p99_ns, 500000000u);
	cr_expect_lt(diff_fared(beside, 0, DIFF_BEFORE)->p99_ns, 2500000u);
	cr_expect_float_eq(diff_fared(beside, 0, DIFF_AFTER)->slow_share, 1, 1e-9);
	diff_beside_free(beside);
	diff_book_free(book);
	model_free(before);
	model_free(after);
}

/* --- Student's t ------------------------------------------------------------------------------ */

Test(diff, student_as_the_tables_have_it)
{
	/* Two-sided 5 %, 1 % and 0.1 %, as any table of t prints them. */
	static const struct {
		double p, df, t;
	} rows[] = {
		{0.05, 1, 12.706205},  {0.05, 5, 2.570582},    {0.05, 30, 2.042272},
		{0.01, 10, 3.169273},  {0.001, 20, 3.849516},  {0.05, INFINITY, 1.959964},
		{0.01, 1e7, 2.575829}, {0.001, 100, 3.390491},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_float_eq(student_t(rows[i].p, rows[i].df), rows[i].t, 2e-6, "%zu: %f", i,
				   student_t(rows[i].p, rows[i].df));
		cr_expect_float_eq(student_p(rows[i].t, rows[i].df), rows[i].p, 1e-7);
	}
	cr_expect_float_eq(student_p(0, 5), 1, 1e-12);
}
