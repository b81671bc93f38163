/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/standing.h"

#define FRAMES_MAX 8

struct fixture {
	struct model *m;
	struct stands stands;
	uint32_t shop;
	/* Frames of a shop. */
	uint32_t start, dispatch, worker, get, wait, spare, futex, epoll, nap, tube, lock, c_lock,
		musl_lock;
};

static struct fixture make(void)
{
	struct fixture f = {.m = build_model(2, 99)};
	struct model *m = f.m;

	f.shop = build_process(m, 100, "Shop.Pay", PROCESS_DOTNET);
	/* Row 0, which ends a list here. */
	build_symbol(m, "nobody", "", KIND_NATIVE, false);
	f.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.worker = build_symbol(
		m, "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart",
		"System.Private.CoreLib", KIND_IMAGE, false);
	f.dispatch = build_symbol(m, "System.Threading.ThreadPoolWorkQueue.Dispatch",
				  "System.Private.CoreLib", KIND_IMAGE, false);
	f.get = build_symbol(m, "Shop.Pay.Client.Get", "Shop.Pay", KIND_JIT, true);
	f.wait = build_symbol(m, "System.Threading.Monitor.Wait", "System.Private.CoreLib",
			      KIND_IMAGE, false);
	f.spare = build_symbol(m, "System.Threading.LowLevelLifoSemaphore.WaitNative",
			       "System.Private.CoreLib", KIND_IMAGE, false);
	f.futex = build_symbol(m, "futex_wait", "[kernel]", KIND_KERNEL, false);
	f.epoll = build_symbol(m, "ep_poll", "[kernel]", KIND_KERNEL, false);
	f.nap = build_symbol(m, "do_nanosleep", "[kernel]", KIND_KERNEL, false);
	f.tube = build_symbol(m, "anon_pipe_read", "[kernel]", KIND_KERNEL, false);
	f.lock = build_symbol(m, "take_turn", "stands", KIND_NATIVE, true);
	f.c_lock = build_symbol(m, "pthread_mutex_lock", "libc.so.6", KIND_NATIVE, false);
	f.musl_lock =
		build_symbol(m, "pthread_mutex_lock", "ld-musl-x86_64.so.1", KIND_NATIVE, false);
	return f;
}

static void drop(struct fixture *f)
{
	stands_clear(&f->stands);
	model_free(f->m);
}

/* A thread of the shop that stands there, root first; up to the first 0. */
static struct model_stand *stand(struct fixture *f, uint32_t tid, const char *comm, uint64_t age_ns,
				 const uint32_t *frames)
{
	uint32_t thread = build_thread(f->m, f->shop, tid, comm, 0, 'S'), cnt = 0;
	struct model_stand s = {
		.age_ns = age_ns,
		.call = STAND_CALL_NONE,
		.state = 'S',
	};

	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	if (cnt) {
		build_samples(f->m, thread, 1, 0, frames, cnt);
		s.at = f->m->samples[f->m->samples_cnt - 1];
	}
	s.at.thread = thread;
	cr_assert_eq(stands_add(&f->stands, &s), 0);
	return &f->stands.rows[f->stands.cnt - 1];
}
#define STAND(f, tid, comm, age, ...) \
	stand(f, tid, comm, age, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

/* --- what it waits for ----------------------------------------------------------------------- */

struct wait_case {
	const char *name; /* of the kernel's frame, or NULL */
	uint64_t call;
	char state;
	uint32_t flags;
	enum stand_wait wait;
};

static const struct wait_case waits[] = {
	{"futex_do_wait", STAND_CALL_NONE, 'S', 0, WAIT_LOCK},
	{"hrtimer_nanosleep", STAND_CALL_NONE, 'S', 0, WAIT_SLEEP},
	{"ep_poll", STAND_CALL_NONE, 'S', 0, WAIT_EPOLL},
	{"do_sys_poll", STAND_CALL_NONE, 'S', 0, WAIT_POLL},
	{"anon_pipe_read", STAND_CALL_NONE, 'S', 0, WAIT_PIPE},
	{"pipe_read", STAND_CALL_NONE, 'S', 0, WAIT_PIPE},
	{"do_wait", STAND_CALL_NONE, 'S', 0, WAIT_CHILD},
	{"flock_lock_inode_wait", STAND_CALL_NONE, 'S', 0, WAIT_FILE_LOCK},
	{"inet_csk_accept", STAND_CALL_NONE, 'S', 0, WAIT_NETWORK},
	{"request_wait_answer", STAND_CALL_NONE, 'D', 0, WAIT_DISK},
	{"io_schedule", STAND_CALL_NONE, 'D', 0, WAIT_DISK},
	{"nobody_knows", STAND_CALL_NONE, 'S', 0, WAIT_OTHER},
	{NULL, STAND_CALL_NONE, 'S', 0, WAIT_OTHER},
#ifdef __x86_64__
	/* Hosts that hide the kernel's names. */
	{NULL, 202, 'S', 0, WAIT_LOCK},
	{NULL, 232, 'S', 0, WAIT_EPOLL},
	{NULL, 61, 'S', 0, WAIT_CHILD},
	{NULL, 73, 'S', 0, WAIT_FILE_LOCK},
	{NULL, 0, 'S', 0, WAIT_OTHER},
#endif
	/* The state comes first. */
	{"futex_do_wait", 202, 'T', 0, WAIT_STOPPED},
	{"futex_do_wait", 202, 't', 0, WAIT_TRACED},
	{"futex_do_wait", 202, 'R', 0, WAIT_CPU},
	{"futex_do_wait", 202, 'S', STAND_RUNS, WAIT_RUNS},
	{NULL, STAND_CALL_NONE, 'Z', 0, WAIT_ENDED},
};

Test(standing, waits_are_told_by_state_frames_and_system_call)
{
	struct fixture f = make();

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const struct wait_case *c = &waits[i];
		struct model_stand s = {
			.state = (uint8_t)c->state, .flags = c->flags, .call = c->call};
		uint32_t frames[2] = {f.start};
		size_t cnt = 1;

		if (c->name)
			frames[cnt++] = build_symbol(f.m, c->name, "[kernel]", KIND_KERNEL, false);
		cr_expect_eq(standing_wait(f.m, &s, frames, cnt), c->wait, "case %zu", i);
	}
	drop(&f);
}

/* Whatever the library does for it. */
Test(standing, waits_of_the_class_library_are_what_they_are_called)
{
	static const struct {
		const char *method, *kernel;
		bool below; /* the application's code */
		enum stand_wait wait;
	} rows[] = {
		{"System.Threading.Thread.Sleep", "futex_do_wait", true, WAIT_SLEEP},
		{"System.Diagnostics.Process.WaitForExit", "futex_do_wait", true, WAIT_CHILD},
		{"System.Net.Dns.GetHostAddresses", "do_sys_poll", true, WAIT_NETWORK},
		{"System.Net.Dns.GetHostAddresses", "anon_pipe_read", true, WAIT_PIPE},
		{"System.Threading.Tasks.Task.Wait", "futex_do_wait", true, WAIT_LOCK},
		/* It called the application's, which waits. */
		{"System.Net.Dns.GetHostAddresses", "futex_do_wait", false, WAIT_LOCK},
	};
	struct fixture f = make();
	uint32_t application = build_symbol(f.m, "Shop.Desk.Serve", "Shop.Desk", KIND_JIT, true);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct model_stand s = {.state = 'S', .call = STAND_CALL_NONE};
		uint32_t method = build_symbol(f.m, rows[i].method, "System.Private.CoreLib",
					       KIND_IMAGE, false);
		uint32_t frames[] = {
			f.start,
			rows[i].below ? application : method,
			rows[i].below ? method : application,
			build_symbol(f.m, rows[i].kernel, "[kernel]", KIND_KERNEL, false),
		};

		cr_expect_eq(standing_wait(f.m, &s, frames, 4), rows[i].wait, "row %zu", i);
	}
	drop(&f);
}

Test(standing, a_function_of_user_code_is_no_function_of_the_kernel)
{
	struct fixture f = make();
	uint32_t own = build_symbol(f.m, "futex_wait", "libmine.so", KIND_NATIVE, true);
	struct model_stand s = {.state = 'S', .call = STAND_CALL_NONE};

	cr_expect_eq(standing_wait(f.m, &s, &own, 1), WAIT_OTHER);
	drop(&f);
}

Test(standing, each_wait_has_an_id_of_its_own_and_words)
{
	for (int i = 0; i < WAIT_CNT; i++) {
		cr_assert(stand_wait_id(i) && stand_wait_text(i), "%d", i);
		for (int k = 0; k < i; k++)
			cr_expect_str_neq(stand_wait_id(i), stand_wait_id(k));
	}
}

/* --- idle ------------------------------------------------------------------------------------ */

static bool is_idle(struct fixture *f, const struct model_stand *s)
{
	struct stands one = {.rows = (struct model_stand *)s, .cnt = 1};
	struct standing *standing = standing_new(f->m, &one);
	bool idle;

	cr_assert(standing);
	idle = standing->groups[0].idle;
	standing_free(standing);
	return idle;
}

Test(standing, a_worker_without_work_is_idle_and_one_that_waits_in_work_is_not)
{
	struct fixture f = make();

	cr_expect(is_idle(
		&f, STAND(&f, 101, ".NET TP Worker", 1, f.start, f.worker, f.spare, f.futex)));
	cr_expect_not(is_idle(&f, STAND(&f, 102, ".NET TP Worker", 1, f.start, f.worker, f.dispatch,
					f.get, f.wait, f.futex)));
	/* The framework's own work, which the application waits for. */
	cr_expect_not(is_idle(&f, STAND(&f, 103, ".NET TP Worker", 1, f.start, f.worker, f.dispatch,
					f.wait, f.futex)));
	/* Without names nobody knows. */
	cr_expect_not(is_idle(&f, STAND(&f, 104, ".NET TP Worker", 1, f.start, f.futex)));
	drop(&f);
}

Test(standing, threads_of_the_runtime_are_idle_unless_they_are_in_the_applications_code)
{
	struct fixture f = make();

	cr_expect(is_idle(&f, STAND(&f, 101, ".NET Finalizer", 1, f.start, f.futex)));
	cr_expect(is_idle(&f, STAND(&f, 102, ".NET Server GC", 1, f.start, f.futex)));
	cr_expect(is_idle(&f, STAND(&f, 103, ".NET Timer", 1, f.start, f.wait, f.futex)));
	cr_expect_not(
		is_idle(&f, STAND(&f, 104, ".NET Finalizer", 1, f.start, f.get, f.wait, f.futex)));
	drop(&f);
}

Test(standing, loops_over_files_are_idle_and_other_waits_of_own_threads_are_not)
{
	struct fixture f = make();

	cr_expect(is_idle(&f, STAND(&f, 101, "nginx", 1, f.start, f.lock, f.epoll)));
	cr_expect_not(is_idle(&f, STAND(&f, 102, "poller", 1, f.start, f.get, f.epoll)));
	cr_expect_not(is_idle(&f, STAND(&f, 103, "mine", 1, f.start, f.lock, f.futex)));
	cr_expect_not(is_idle(&f, STAND(&f, 104, "mine", 1, f.start, f.lock, f.nap)));
	cr_expect_not(is_idle(&f, STAND(&f, 105, "mine", 1, f.start, f.lock, f.tube)));
	drop(&f);
}

Test(standing, kestrels_heartbeat_is_idle_and_what_waits_like_it_is_not)
{
	struct fixture f = make();
	uint32_t loop = build_symbol(
		f.m, "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Heartbeat.TimerLoop",
		"Microsoft.AspNetCore.Server.Kestrel.Core", KIND_IMAGE, false);

	cr_expect(is_idle(&f, STAND(&f, 101, "Kestrel Timer", 1, f.start, loop, f.wait, f.futex)));
	cr_expect_not(is_idle(&f, STAND(&f, 102, "Kestrel Timer", 1, f.start, f.wait, f.futex)));
	cr_expect_not(is_idle(
		&f, STAND(&f, 103, "Kestrel Timer", 1, f.start, loop, f.get, f.wait, f.futex)));
	drop(&f);
}

Test(standing, a_wait_for_one_file_is_for_an_answer)
{
	struct fixture f = make();
	uint32_t poll = build_symbol(f.m, "do_sys_poll", "[kernel]", KIND_KERNEL, false);
	struct model_stand *s = STAND(&f, 101, "mine", 1, f.start, f.lock, poll);

	cr_expect(is_idle(&f, s), "how many is not known");
	s->poll_files = 2;
	cr_expect(is_idle(&f, s));
	s->poll_files = 1;
	cr_expect_not(is_idle(&f, s));
	drop(&f);
}

Test(standing, waits_for_children_and_signals_are_idle_in_shells_and_keepers_of_services)
{
	struct fixture f = make();
	uint32_t child = build_symbol(f.m, "do_wait", "[kernel]", KIND_KERNEL, false);
	uint32_t word = build_symbol(f.m, "sigsuspend", "[kernel]", KIND_KERNEL, false);

	f.shop = build_process(f.m, 200, "bash", 0);
	cr_expect(is_idle(&f, STAND(&f, 200, "bash", 1, f.start, f.lock, child)));
	cr_expect(is_idle(&f, STAND(&f, 201, "bash", 1, f.start, f.lock, word)));
	f.shop = build_process(f.m, 300, "backup", 0);
	cr_expect_not(is_idle(&f, STAND(&f, 300, "backup", 1, f.start, f.lock, child)));
	cr_expect_not(is_idle(&f, STAND(&f, 301, "backup", 1, f.start, f.lock, word)));
	drop(&f);
}

Test(standing, who_is_not_seen_whole_is_not_idle)
{
	struct fixture f = make();
	uint32_t note = build_symbol(f.m, "[truncated]", "", KIND_NOTE, false);
	uint32_t unnamed = build_unnamed(f.m, "Shop.Pay", 0x1000, KIND_JIT, REASON_NO_SYMBOL);
	struct model_stand *s;
	struct standing *standing;

	cr_expect_not(is_idle(&f, STAND(&f, 101, "nginx", 1, note, f.lock, f.epoll)));
	cr_expect_not(is_idle(&f, STAND(&f, 102, ".NET Timer", 1, f.start, unnamed, f.futex)));
	cr_expect_not(is_idle(&f, STAND(&f, 103, ".NET TP Worker", 1, f.start, f.worker, unnamed,
					f.spare, f.futex)));
	s = STAND(&f, 104, ".NET Finalizer", 1, f.start, f.futex);
	cr_expect(is_idle(&f, s));
	s->at.user_stack = 0;
	cr_expect_not(is_idle(&f, s), "no user frames");
	standing = standing_new(f.m, &f.stands);
	cr_assert(standing);
	for (size_t i = 0; i < standing->groups_cnt; i++)
		cr_expect_eq(standing->groups[i].cut, standing->groups[i].stand == 0);
	standing_free(standing);
	drop(&f);
}

Test(standing, who_is_stopped_or_in_state_d_is_not_idle_whatever_its_frames_say)
{
	struct fixture f = make();
	struct model_stand *s = STAND(&f, 101, ".NET Finalizer", 1, f.start, f.futex);

	for (const char *state = "DTtR"; *state; state++) {
		s->state = (uint8_t)*state;
		cr_expect_not(is_idle(&f, s), "%c", *state);
	}
	s->flags = STAND_KERNEL_THREAD;
	s->state = 'I';
	cr_expect(is_idle(&f, s));
	s->state = 'D';
	cr_expect_not(is_idle(&f, s));
	drop(&f);
}

/* --- groups ---------------------------------------------------------------------------------- */

Test(standing, threads_at_the_same_place_are_one_group_with_the_range_of_their_ages)
{
	struct fixture f = make();
	struct standing *s;
	uint32_t chain[STANDING_CHAIN];

	STAND(&f, 101, ".NET TP Worker", 31 * BUILD_SECOND, f.start, f.dispatch, f.get, f.wait,
	      f.futex);
	STAND(&f, 102, ".NET TP Worker", 4 * BUILD_SECOND, f.start, f.dispatch, f.get, f.wait,
	      f.futex);
	STAND(&f, 103, ".NET TP Worker", STAND_AGE_UNKNOWN, f.start, f.dispatch, f.get, f.wait,
	      f.futex);
	STAND(&f, 104, ".NET TP Worker", 90 * BUILD_SECOND, f.start, f.worker, f.spare, f.futex);
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(s->groups_cnt, 2);
	cr_expect_eq(s->groups[0].threads, 3);
	cr_expect_not(s->groups[0].idle);
	cr_expect_eq(s->groups[0].age_least_ns, 4 * BUILD_SECOND);
	cr_expect_eq(s->groups[0].age_most_ns, 31 * BUILD_SECOND);
	cr_expect_eq(s->groups[0].ages, 2);
	cr_expect_eq(s->groups[0].role, ROLE_POOL_WORKER);
	cr_expect(s->groups[1].idle);
	cr_assert_eq(standing_chain(f.m, s, &s->groups[0], chain), 2);
	cr_expect_eq(chain[0], f.get);
	cr_expect_eq(chain[1], f.wait);
	/* Each of its threads is in its list, once. */
	cr_expect_eq(s->groups[0].stand, 0);
	cr_expect_eq(s->next[0], 1);
	cr_expect_eq(s->next[1], 2);
	cr_expect_eq(s->next[2], MODEL_NONE);
	standing_free(s);
	drop(&f);
}

Test(standing, a_thread_that_ran_meanwhile_is_in_no_group_with_those_that_stand)
{
	struct fixture f = make();
	struct standing *s;

	STAND(&f, 101, "mine", 5, f.start, f.lock, f.futex);
	STAND(&f, 102, "mine", 5, 0)->flags = STAND_MOVED;
	STAND(&f, 103, "mine", 5, 0)->flags = STAND_MOVED;
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(s->groups_cnt, 2);
	cr_expect(s->groups[0].moved);
	cr_expect_eq(s->groups[0].threads, 2);
	cr_expect_eq(s->groups[0].methods_cnt, 0);
	cr_expect_not(s->groups[0].idle);
	standing_free(s);
	drop(&f);
}

Test(standing, processes_with_most_threads_that_wait_come_first)
{
	struct fixture f = make();
	uint32_t shop = f.shop;
	struct standing *s;

	STAND(&f, 101, "mine", 5, f.start, f.lock, f.futex);
	f.shop = build_process(f.m, 50, "other", 0);
	STAND(&f, 51, "a", 5, f.start, f.lock, f.nap);
	STAND(&f, 52, "a", 5, f.start, f.lock, f.nap);
	STAND(&f, 53, "a", 5, f.start, f.lock, f.epoll);
	f.shop = build_process(f.m, 40, "idle", 0);
	for (uint32_t i = 41; i < 49; i++)
		STAND(&f, i, "a", 5, f.start, f.epoll);
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(s->groups_cnt, 4);
	cr_expect_eq(f.m->processes[s->groups[0].process].tgid, 50);
	cr_expect_not(s->groups[0].idle);
	cr_expect(s->groups[1].idle);
	cr_expect_eq(s->groups[2].process, shop);
	cr_expect_eq(f.m->processes[s->groups[3].process].tgid, 40);
	standing_free(s);
	drop(&f);
}

Test(standing, who_holds_a_monitor_is_told_of_those_that_wait_for_one)
{
	static const struct {
		const char *what, *method, *module; /* the last managed one */
		bool held;
	} rows[] = {
		{"a lock of .NET 10", "System.Threading.Monitor.Enter_Slowpath",
		 "System.Private.CoreLib", true},
		{"a lock of .NET 8", "Shop.Stock.Take", "Shop.Stock", true},
		{"a lock of a collection",
		 "System.Collections.Concurrent.ConcurrentDictionary.AcquireLocks",
		 "System.Collections.Concurrent", true},
		{"a wait for a pulse", "System.Threading.Monitor.Wait", "System.Private.CoreLib",
		 false},
		{"a sleep", "System.Threading.Thread.Sleep", "System.Private.CoreLib", false},
	};
	struct fixture f = make();
	uint32_t unnamed = build_symbol(f.m, "7f1200001000", "", KIND_JIT, false);
	uint32_t coreclr = build_symbol(f.m, "libcoreclr.so", "libcoreclr.so", KIND_NATIVE, false);
	struct standing *s;
	size_t cnt = sizeof(rows) / sizeof(rows[0]);

	f.m->symbols[unnamed].reason = REASON_NO_PERF_MAP;
	STAND(&f, 102, "mine", 5, f.start, f.nap);
	for (size_t i = 0; i < cnt; i++) {
		uint32_t method =
			build_symbol(f.m, rows[i].method, rows[i].module, KIND_JIT, false);
		struct model_stand *waits = STAND(&f, 200 + (uint32_t)i, rows[i].what, 5, f.start,
						  method, coreclr, f.futex);

		waits->holder = 102;
		waits->flags |= STAND_MONITOR;
	}
	STAND(&f, 300, "no name", 5, f.start, unnamed, coreclr, f.futex)->holder = 102;
	f.stands.rows[f.stands.cnt - 1].flags |= STAND_MONITOR;
	/* A mutex of the C library, below managed code: what was found is not what it waits for. */
	STAND(&f, 301, "native", 5, f.start, unnamed, f.c_lock, f.futex)->holder = 102;
	f.stands.rows[f.stands.cnt - 1].flags |= STAND_MONITOR;
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	for (size_t i = 0; i < s->groups_cnt; i++) {
		uint32_t tid = f.m->threads[f.stands.rows[s->groups[i].stand].at.thread].tid;
		bool held = tid >= 200 && tid < 200 + cnt && rows[tid - 200].held;

		cr_expect_eq(s->groups[i].holder, held ? 102 : 0, "thread %u: %s", tid,
			     tid >= 200 && tid < 200 + cnt ? rows[tid - 200].what : "");
	}
	standing_free(s);
	drop(&f);
}

/* Frames from the root on, of which the last ones wait. */
Test(standing, who_holds_a_lock_object_is_told_of_those_that_wait_for_one)
{
	static const struct {
		const char *what, *methods[4];
		bool held, monitors;
	} rows[] = {
		{"a Lock of .NET 10",
		 {"System.Threading.Lock.EnterScope", "System.Threading.Lock.TryEnterSlow",
		  "System.Threading.WaitHandle.WaitOneNoCheck"},
		 true,
		 false},
		{"a Lock of .NET 11",
		 {"System.Threading.Lock.EnterScope", "System.Threading.Lock.TryEnterSlow",
		  "System.Threading.WaitHandle.WaitOneNoCheck"},
		 true,
		 true},
		{"a monitor of .NET 10, which is no Lock",
		 {"System.Threading.Monitor.Enter", "System.Threading.Monitor.Enter_Slowpath"},
		 false,
		 false},
		{"a monitor of .NET 11",
		 {"System.Threading.Monitor.Enter", "System.Threading.Lock.TryEnterSlow",
		  "System.Threading.WaitHandle.WaitOneNoCheck",
		  "System.Threading.WaitSubsystem.ThreadWaitInfo.Wait"},
		 true,
		 true},
		{"a pulse of .NET 11",
		 {"System.Threading.Monitor.Wait", "System.Threading.Condition.Wait",
		  "System.Threading.WaitHandle.WaitOneNoCheck"},
		 false,
		 true},
		{"an event", {"System.Threading.WaitHandle.WaitOneNoCheck"}, false, false},
		{"a semaphore",
		 {"System.Threading.Lock.EnterScope", "System.Threading.SemaphoreSlim.Wait"},
		 false,
		 false},
		{"nothing of the kind", {"Shop.Stock.Take"}, false, false},
	};
	struct fixture f = make();
	uint32_t coreclr = build_symbol(f.m, "libcoreclr.so", "libcoreclr.so", KIND_NATIVE, false);
	struct standing *s;
	size_t cnt = sizeof(rows) / sizeof(rows[0]);

	STAND(&f, 102, "mine", 5, f.start, f.nap);
	for (size_t i = 0; i < cnt; i++) {
		uint32_t methods[4];
		struct model_stand *waits;

		for (size_t k = 0; k < 4; k++)
			methods[k] = rows[i].methods[k] ? build_symbol(f.m, rows[i].methods[k],
								       "System.Private.CoreLib",
								       KIND_IMAGE, false)
							: coreclr;
		waits = STAND(&f, 200 + (uint32_t)i, rows[i].what, 5, f.start, methods[0],
			      methods[1], methods[2], methods[3], f.futex);
		waits->holder = 102;
		waits->flags |= STAND_LOCK_OBJECT | (rows[i].monitors ? STAND_MONITOR : 0);
	}
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	for (size_t i = 0; i < s->groups_cnt; i++) {
		uint32_t tid = f.m->threads[f.stands.rows[s->groups[i].stand].at.thread].tid;
		bool held = tid >= 200 && rows[tid - 200].held;

		cr_expect_eq(s->groups[i].holder, held ? 102 : 0, "thread %u: %s", tid,
			     tid >= 200 ? rows[tid - 200].what : "");
	}
	standing_free(s);
	drop(&f);
}

Test(standing, who_holds_a_mutex_is_told_where_a_thread_of_the_process_does)
{
	struct fixture f = make();
	struct standing *s;

	STAND(&f, 101, "mine", 5, f.start, f.lock, f.c_lock, f.futex)->holder = 102;
	STAND(&f, 102, "mine", 5, f.start, f.lock, f.nap);
	/* The word of musl is none. */
	STAND(&f, 105, "mine", 5, f.start, f.lock, f.musl_lock, f.futex)->holder = 102;
	/* Of a futex that is no mutex, and of a thread that is not there: nobody. */
	STAND(&f, 103, "mine", 5, f.start, f.lock, f.futex)->holder = 102;
	STAND(&f, 104, "mine", 5, f.start, f.c_lock, f.futex)->holder = 77;
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(s->groups_cnt, 5);
	for (size_t i = 0; i < s->groups_cnt; i++) {
		cr_expect_eq(s->groups[i].holder, s->groups[i].stand == 0 ? 102 : 0);
		cr_expect_eq(s->groups[i].holds, s->groups[i].stand == 1, "the one that it names");
	}
	standing_free(s);
	drop(&f);
}

Test(standing, a_thread_that_a_worker_started_is_no_worker)
{
	struct fixture f = make();
	uint32_t begun = build_symbol(f.m, "System.Threading.Thread.StartCallback",
				      "System.Private.CoreLib", KIND_IMAGE, false);
	struct standing *s;

	STAND(&f, 101, ".NET TP Worker", 5, f.start, begun, f.get, f.wait, f.futex);
	STAND(&f, 102, ".NET TP Worker", 5, f.start, begun, f.worker, f.dispatch, f.get, f.futex);
	STAND(&f, 103, ".NET TP Worker", 5, f.start, f.futex);
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(s->groups_cnt, 3);
	for (size_t i = 0; i < s->groups_cnt; i++) {
		const struct standing_group *g = &s->groups[i];

		cr_expect_eq(g->role, g->stand ? ROLE_POOL_WORKER : ROLE_OWN);
		cr_expect_str_eq(g->label,
				 g->stand ? "thread-pool workers" : "thread without a name");
	}
	standing_free(s);
	drop(&f);
}

Test(standing, a_handler_that_was_inlined_is_told_by_what_holds_it)
{
	struct fixture f = make();
	uint32_t lambda =
		build_symbol(f.m, "<expression>.lambda_method6", "Dynamic", KIND_JIT, false);
	uint32_t chain[STANDING_CHAIN];
	struct standing *s;

	STAND(&f, 101, ".NET TP Worker", 5, f.start, f.dispatch, lambda, f.wait, f.futex);
	s = standing_new(f.m, &f.stands);
	cr_assert(s);
	cr_assert_eq(standing_chain(f.m, s, &s->groups[0], chain), 2);
	cr_expect_eq(chain[0], lambda);
	cr_expect_eq(chain[1], f.wait);
	standing_free(s);
	drop(&f);
}

Test(standing, nobody_stands_anywhere)
{
	struct fixture f = make();
	struct standing *s = standing_new(f.m, &f.stands);

	cr_assert(s);
	cr_expect_eq(s->groups_cnt, 0);
	standing_free(s);
	standing_free(NULL);
	drop(&f);
}
