/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel that refuses one program (support/refuse_bpf.h), each of the table in turn: the row that
 * owns it is off with the reason, and those that need it, and nothing else; doctor's probe finds
 * the same.
 */
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"

#include "hotrun.skel.h"

#include "drive.h"
#include "kernel/bpf_start.h"
#include "kernel/features.h"
#include "kernel/probe.h"
#include "kernel/release.h"
#include "kernel/session.h"
#include "kernel/unwind_maps.h"
#include "kernel/walk.h"
#include "refuse_bpf.h"

/* Loaded by themselves, not with a session. */
#define OWN_OBJECTS (FEATURE_BIT(FEATURE_SWITCHES) | FEATURE_BIT(FEATURE_SNAPSHOT))

static struct host host;

static void refuse(const char *program)
{
	setenv("REFUSE_BPF", program, 1);
	refuse_bpf_refused = refuse_bpf_objects = 0;
}

static void begin(void)
{
	char why[512];

	host_describe(&host);
	if (host_check(&host, why, sizeof(why)))
		drive_skip(why);
}

/* What is left of a set without that program, by the table. Returns how many rows own it. */
static unsigned int without(struct feature_set *set, const char *program)
{
	unsigned int owners = 0;
	enum feature f;

	for (; (f = feature_of_program(set, program)) < FEATURE_CNT; owners++)
		feature_switch_off(set, f, FEATURE_REFUSED,
				   "the kernel refused BPF program %s (EPERM)", program);
	return owners;
}

static void expect_same(const struct feature_set *got, const struct feature_set *want)
{
	const char *program = getenv("REFUSE_BPF");

	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		cr_expect_eq(got->status[f], want->status[f], "%s refused: %s is %u, not %u: %s",
			     program, feature_rows[f].id, got->status[f], want->status[f],
			     got->why[f]);
		cr_expect_str_eq(feature_why(got, f) ?: "", feature_why(want, f) ?: "",
				 "%s refused: %s", program, feature_rows[f].id);
	}
}

/* --- sessions -------------------------------------------------------------------------------- */

/* What a recording has, and of stacks of threads that do not run what that row is about. */
static struct session *open_session(enum feature f, bool wakeups)
{
	struct session_options options = {.sample_hz = 499,
					  .cpus_possible = host.cpus_possible,
					  .max_stack = host.max_stack,
					  .tables = true,
					  .requests = true,
					  .stands =
						  f == FEATURE_THREAD_STACKS || f == FEATURE_WAKERS,
					  .wakers = f == FEATURE_WAKERS,
					  .wakeups = wakeups,
					  .unwind_bytes = UNWIND_MAPS_LEAST};
	struct session *s = NULL;
	char why[FEATURE_WHY_BYTES];

	cr_assert_eq(session_new(&options, why, sizeof(why), &s), 0, "%s refused: %s",
		     getenv("REFUSE_BPF"), why);
	return s;
}

static void take_nothing(void *ctx, const struct event_task *task)
{
	(void)task;
	++*(unsigned int *)ctx;
}

static void ignore_sample(void *ctx, const struct event_sample *sample)
{
	(void)ctx;
	(void)sample;
}

static void ignore_stack(void *ctx, const struct event_stack *stack)
{
	(void)ctx;
	(void)stack;
}

static void ignore_exec(void *ctx, const struct event_exec *exec)
{
	(void)ctx;
	(void)exec;
}

static void ignore_socket(void *ctx, const struct event_socket *socket)
{
	(void)ctx;
	(void)socket;
}

/* All that is asked of it every second, whatever it lacks. */
static void expect_works(struct session *s)
{
	const struct feature_set *features = session_features(s);
	unsigned int tasks = 0;
	const struct session_ops ops = {.ctx = &tasks,
					.task = take_nothing,
					.sample = ignore_sample,
					.stack = ignore_stack,
					.exec = ignore_exec,
					.socket = ignore_socket};
	struct cpu_clock clock;
	uint64_t losses[LOSS_KERNEL_CNT], now_ns;
	const struct endpoint *rows;
	char why[512];

	cr_expect_eq(session_start(s, why, sizeof(why)), 0, "%s", why);
	cr_expect_eq(session_read_accounts(s, true, &ops), 0);
	cr_expect_eq(tasks > 0, feature_is_on(features, FEATURE_COUNTERS));
	cr_expect_eq(session_read_cpu(s, 0, &clock, &now_ns), 0);
	cr_expect_eq(session_drain(s, &ops), 0);
	cr_expect_eq(session_read_sockets(s, &ops), 0);
	if (!feature_is_on(features, FEATURE_REQUESTS))
		cr_expect_eq(session_endpoints(s, &rows), 0);
	session_read_losses(s, losses);
	session_cost_ns(s);
	cr_expect_gt(session_map_bytes(s), 0);
	session_stop(s);
}

static struct feature_set features_of(enum feature f, bool wakeups)
{
	struct feature_set features;
	struct session *s;

	refuse("");
	s = open_session(f, wakeups);
	features = *session_features(s);
	session_free(s);
	cr_assert_eq(refuse_bpf_objects, 1, "%u attempts, and nothing was refused",
		     refuse_bpf_objects);
	return features;
}

/* all: where nothing is refused. Whether this kernel gets that program. */
static bool is_refused(enum feature f, const char *program, bool wakeups,
		       const struct feature_set *all)
{
	struct feature_set want = *all;
	unsigned int owners = without(&want, program);
	struct session *s;
	bool met;

	refuse(program);
	s = open_session(f, wakeups);
	met = refuse_bpf_refused;
	cr_expect_eq(refuse_bpf_objects, met ? 1 + owners : 1, "%s refused: %u attempts", program,
		     refuse_bpf_objects);
	if (met) {
		expect_same(session_features(s), &want);
		expect_works(s);
	}
	session_free(s);
	return met;
}

/* Of sends there is one program for older kernels; those at wakeups are for kernels that do not
 * count run delay, or on request. */
static void refuse_each_of(enum feature f)
{
	struct feature_set all = features_of(f, false), counting;

	for (const char *const *program = feature_rows[f].programs; *program; program++) {
		if (feature_of_program(&all, *program) != f || is_refused(f, *program, false, &all))
			continue;
		counting = features_of(f, true);
		cr_expect(is_refused(f, *program, true, &counting) ||
				  !strncmp(*program, "on_send", strlen("on_send")),
			  "%s is never loaded", *program);
	}
}

Test(refused, program_of_a_session_costs_its_row_alone)
{
	begin();
	for (enum feature f = 0; f < FEATURE_CNT; f++)
		if (feature_rows[f].programs && !(FEATURE_BIT(f) & OWN_OBJECTS))
			refuse_each_of(f);
}

/* --- all that there is ----------------------------------------------------------------------- */

Test(refused, program_is_named_by_doctor)
{
	struct host_facts all = {0};

	begin();
	refuse("");
	probe_session(&host, &all);
	cr_assert_eq(all.session_error, 0, "%s", all.session_why);
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		const char *const *program = feature_rows[f].programs;

		for (; program && *program; program++) {
			struct feature_set want = all.features;
			struct host_facts facts = {0};

			refuse(*program);
			without(&want, *program);
			probe_session(&host, &facts);
			cr_expect_eq(facts.session_error, 0, "%s refused: %s", *program,
				     facts.session_why);
			if (refuse_bpf_refused)
				expect_same(&facts.features, &want);
			else
				expect_same(&facts.features, &all.features);
		}
	}
}

/* --- rows alone ------------------------------------------------------------------------------ */

static int configure(void *ctx, struct hotrun_bpf *bpf)
{
	bool older = !release_is_from(6, 3);

	(void)ctx;
	bpf_map__set_max_entries(bpf->maps.cpus, host.cpus_possible);
	bpf_map__set_max_entries(bpf->maps.costs, host.cpus_possible);
	bpf_map__set_max_entries(bpf->maps.turns, host.cpus_possible);
	bpf_map__set_max_entries(bpf->maps.switch_heads, host.cpus_possible);
	bpf_program__set_autoload(bpf->progs.on_send, !older);
	bpf_program__set_autoload(bpf->progs.on_send_older, older);
	if (!release_is_from(6, 1))
		bpf_map__set_map_flags(bpf->maps.rows, 0);
	return 0;
}

/* With what it cannot be without. */
static uint32_t needs_of(enum feature f)
{
	uint32_t bits = FEATURE_BIT(f), more = bits;

	while (more) {
		f = (enum feature)__builtin_ctz(more);
		bits |= feature_rows[f].needs;
		more = (more & ~FEATURE_BIT(f)) | (feature_rows[f].needs & ~FEATURE_BIT(f));
	}
	return bits;
}

/* A program whose map is not in its row, and was left out, is refused by the verifier. */
Test(refused, each_row_loads_with_the_maps_of_its_own)
{
	begin();
	bpf_start_prepare();
	for (enum feature f = 0; f < FEATURE_CNT; f++) {
		struct feature_set set = {0};
		struct hotrun_bpf *bpf = NULL;
		char why[512] = "";

		if (f == FEATURE_FAST_SCAN && !walk_is_possible())
			continue;
		if (needs_of(f) & FEATURE_BIT(FEATURE_THREAD_STACKS) && !release_is_from(5, 18))
			continue;
		refuse("");
		feature_ask(&set, needs_of(f));
		cr_expect_eq(features_load(&set, configure, NULL, why, sizeof(why), &bpf), 0,
			     "%s: %s", feature_rows[f].id, why);
		cr_expect(feature_is_on(&set, f), "%s: %s", feature_rows[f].id, set.why[f]);
		cr_expect_eq(refuse_bpf_objects, 1, "%s", feature_rows[f].id);
		hotrun_bpf__destroy(bpf);
	}
}
