/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/hang.h"

#define FRAMES_MAX 7
#define CORE	   "System.Private.CoreLib"
#define WORKER	   ".NET TP Worker"

struct fixture {
	struct model *m;
	uint32_t shop, next_tid;
	uint32_t start, get, other, result, wait, spare, mutex, take, futex, nap;
};

static struct fixture make(void)
{
	struct fixture f = {.m = build_model(2, 99), .next_tid = 101};
	struct model *m = f.m;

	f.shop = build_process(m, 100, "Shop.Pay", PROCESS_DOTNET);
	/* Row 0, which ends a list here. */
	build_symbol(m, "nobody", "", KIND_NATIVE, false);
	f.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.get = build_symbol(m, "Shop.Pay.Client.Get", "Shop.Pay", KIND_JIT, true);
	f.other = build_symbol(m, "Shop.Pay.Cache.Read", "Shop.Pay", KIND_JIT, true);
	f.result = build_symbol(m, "System.Threading.Tasks.Task<System.Int32>.GetResultCore", CORE,
				KIND_IMAGE, false);
	f.wait = build_symbol(m, "System.Threading.Monitor.Wait", CORE, KIND_IMAGE, false);
	f.spare = build_symbol(m, "System.Threading.LowLevelLifoSemaphore.WaitNative", CORE,
			       KIND_IMAGE, false);
	f.mutex = build_symbol(m, "pthread_mutex_lock", "libc.so.6", KIND_NATIVE, false);
	f.take = build_symbol(m, "take_turn", "shop", KIND_NATIVE, true);
	f.futex = build_symbol(m, "futex_wait", "[kernel]", KIND_KERNEL, false);
	f.nap = build_symbol(m, "do_nanosleep", "[kernel]", KIND_KERNEL, false);
	build_slice(m, BUILD_SECOND, 0, 0, 0);
	return f;
}

/* Threads of that name that stand there at the end, root first up to the first 0. */
static struct model_stand *add(struct fixture *f, uint32_t cnt, const char *comm, uint64_t age_ns,
			       const uint32_t *frames)
{
	struct model_stand s = {
		.age_ns = age_ns, .call = STAND_CALL_NONE, .state = 'S', .now = true};
	uint32_t depth = 0;

	while (depth < FRAMES_MAX && frames[depth])
		depth++;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t thread = build_thread(f->m, f->shop, f->next_tid++, comm, 0, 'S');

		build_samples(f->m, thread, 1, 0, frames, depth);
		s.at = f->m->samples[--f->m->samples_cnt];
		cr_assert_eq(model_stand_add(f->m, &s), 0);
	}
	return &f->m->stands[f->m->stands_cnt - 1];
}
#define ADD(f, cnt, comm, age, ...) \
	add(f, cnt, comm, age, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

static bool look(struct fixture *f, struct hang *hang)
{
	struct blocked *b = blocked_new(f->m);
	struct hangs *h = hangs_new(f->m, b);
	bool found;

	cr_assert(b && h);
	found = hangs_of(h, f->shop, hang);
	/* What is borrowed is not looked at below. */
	hang->standing = NULL;
	hang->group = NULL;
	hangs_free(h);
	blocked_free(b);
	return found;
}

Test(hang, sync_over_async_is_told_with_its_method_and_how_many_of_how_many)
{
	struct fixture f = make();
	struct hang hang;

	ADD(&f, 7, WORKER, 31 * BUILD_SECOND, f.start, f.get, f.result, f.wait, f.futex);
	/* On another way to the same method. */
	ADD(&f, 2, WORKER, 40 * BUILD_SECOND, f.start, f.get, f.result, f.futex);
	ADD(&f, 3, WORKER, 1, f.start, f.spare, f.futex);
	ADD(&f, 8, "mine", 1, f.start, f.other, f.futex);
	cr_assert(look(&f, &hang));
	cr_expect_eq(hang.threads, 9);
	cr_expect_eq(hang.of, 12);
	cr_expect_eq(hang.method, f.get);
	cr_expect(hang.sync_over_async);
	cr_expect(hang.now);
	cr_expect_eq(hang.running, 0);
	cr_expect_eq(hang.longest_ns, 40 * BUILD_SECOND);
	cr_expect(hang_is_many(&hang));
	model_free(f.m);
}

Test(hang, a_task_that_is_waited_for_below_the_application_is_no_sync_over_async_of_a_lock)
{
	struct fixture f = make();
	struct hang hang;

	ADD(&f, 5, WORKER, 1, f.start, f.result, f.other, f.wait, f.futex);
	/* Of threads of its own a wait for a task takes no worker. */
	ADD(&f, 4, "mine", 1, f.start, f.get, f.result, f.wait, f.futex);
	cr_assert(look(&f, &hang));
	cr_expect_eq(hang.method, f.other);
	cr_expect_not(hang.sync_over_async);
	f.m->stands_cnt = 0;
	ADD(&f, 4, "mine", 1, f.start, f.get, f.result, f.wait, f.futex);
	cr_assert(look(&f, &hang));
	cr_expect_not(hang.sync_over_async);
	model_free(f.m);
}

Test(hang, who_holds_the_lock_and_where_that_one_waits)
{
	struct fixture f = make();
	uint32_t holder;
	struct hang hang;

	ADD(&f, 1, "mine", 9 * BUILD_SECOND, f.start, f.other, f.nap);
	holder = f.next_tid - 1;
	for (int i = 0; i < 5; i++)
		ADD(&f, 1, "mine", 8 * BUILD_SECOND, f.start, f.take, f.mutex, f.futex)->holder =
			holder;
	ADD(&f, 2, "mine", 0, f.start, f.take)->flags = STAND_RUNS;
	cr_assert(look(&f, &hang));
	cr_expect_eq(hang.method, f.take);
	cr_expect_eq(hang.threads, 5);
	cr_expect_eq(hang.holder, holder);
	cr_expect_eq(hang.holder_method, f.other);
	cr_expect_eq(hang.running, 1);
	model_free(f.m);
}

Test(hang, a_group_of_blocked_time_has_the_holder_that_was_seen_at_the_end)
{
	struct fixture f = make();
	struct blocked *b;
	struct hangs *h;

	ADD(&f, 2, "mine", 9 * BUILD_SECOND, f.start, f.take, f.mutex, f.futex);
	ADD(&f, 1, "mine", 9 * BUILD_SECOND, f.start, f.other, f.futex);
	for (size_t i = 0; i < 3; i++) {
		f.m->stands[i].now = false;
		f.m->stands[i].blocked_ns = BUILD_SECOND;
	}
	for (size_t i = 0; i < 3; i++) {
		struct model_stand end = f.m->stands[i];

		end.now = true;
		end.blocked_ns = 0;
		end.holder = i < 2 ? f.next_tid - 1 : 0;
		cr_assert_eq(model_stand_add(f.m, &end), 0);
	}
	b = blocked_new(f.m);
	h = hangs_new(f.m, b);
	cr_assert(b && h);
	cr_assert_eq(b->processes[0].groups_cnt, 2);
	cr_expect_eq(hangs_holder(h, b->processes[0].groups[0].group), f.next_tid - 1);
	cr_expect_eq(hangs_holder(h, b->processes[0].groups[1].group), 0);
	hangs_free(h);
	blocked_free(b);
	model_free(f.m);
}

Test(hang, idle_waits_and_a_main_thread_at_rest_are_none)
{
	struct fixture f = make();
	struct hang hang;

	f.next_tid = 100;
	ADD(&f, 1, "dotnet", 900 * BUILD_SECOND, f.start, f.get, f.result, f.futex);
	ADD(&f, 3, WORKER, 1, f.start, f.spare, f.futex);
	ADD(&f, 1, ".NET TP Gate", 1, f.start, f.futex);
	cr_expect_not(look(&f, &hang));
	model_free(f.m);
}

/* redis-server: its helpers wait for a job, and the one that serves sleeps. */
Test(hang, a_native_worker_without_a_job_is_not_what_hangs)
{
	struct fixture f = make();
	uint32_t job = build_symbol(f.m, "pthread_cond_wait", "libc.so.6", KIND_NATIVE, false);
	uint32_t serve = build_symbol(f.m, "debugCommand", "shop", KIND_NATIVE, true);
	struct hang hang;

	f.m->processes[f.shop].flags = 0;
	ADD(&f, 3, "bio_aof_fsync", 55 * BUILD_SECOND, f.start, f.take, job, f.futex);
	ADD(&f, 1, "alloc", 55 * BUILD_SECOND, f.start, f.mutex, f.futex);
	f.next_tid = 100;
	ADD(&f, 1, "redis-server", 12 * BUILD_SECOND, serve, f.nap);
	cr_assert(look(&f, &hang));
	cr_expect_eq(hang.method, serve);
	cr_expect_eq(hang.threads, 1);
	model_free(f.m);

	/* Where nobody else waits, they are what can be told. */
	f = make();
	job = build_symbol(f.m, "pthread_cond_wait", "libc.so.6", KIND_NATIVE, false);
	ADD(&f, 3, "worker", 55 * BUILD_SECOND, f.start, f.take, job, f.futex);
	cr_assert(look(&f, &hang));
	cr_expect_eq(hang.threads, 3);
	model_free(f.m);
}

Test(hang, without_a_look_at_the_end_it_is_told_of_the_mean)
{
	struct fixture f = make();
	struct hang hang;

	ADD(&f, 6, WORKER, 2 * BUILD_SECOND, f.start, f.get, f.result, f.wait, f.futex);
	ADD(&f, 2, WORKER, 2 * BUILD_SECOND, f.start, f.spare, f.futex);
	for (size_t i = 0; i < f.m->stands_cnt; i++) {
		f.m->stands[i].now = false;
		/* Two of three are looked at in the place of all. */
		f.m->stands[i].blocked_ns = BUILD_SECOND * 3 / 2;
	}
	cr_assert(look(&f, &hang));
	cr_expect_not(hang.now);
	cr_expect_eq(hang.threads, 9);
	cr_expect_eq(hang.of, 12);
	/* One that hardly waits is nobody. */
	for (size_t i = 0; i < f.m->stands_cnt; i++)
		f.m->stands[i].blocked_ns = BUILD_SECOND / 20;
	cr_expect_not(look(&f, &hang));
	model_free(f.m);
}

Test(hang, workers_that_began_while_it_was_recorded_tell_how_the_pool_grew)
{
	struct fixture f = make();
	struct hang hang;

	ADD(&f, 6, WORKER, 2 * BUILD_SECOND, f.start, f.get, f.result, f.wait, f.futex);
	f.m->host.end_ns = f.m->host.start_ns + 2 * BUILD_SECOND;
	cr_assert(look(&f, &hang));
	cr_expect_float_eq(hang.grew, 0, 1e-9);
	for (uint32_t i = 0; i < 4; i++)
		f.m->threads[i].start_ns = f.m->host.start_ns + BUILD_SECOND;
	cr_assert(look(&f, &hang));
	cr_expect_float_eq(hang.grew, 2, 1e-9);
	/* Before its process is known nothing is. */
	f.m->processes[f.shop].born_ns = 0;
	cr_assert(look(&f, &hang));
	cr_expect_float_eq(hang.grew, 0, 1e-9);
	model_free(f.m);
}
