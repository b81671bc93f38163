/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who ended a wait, told from the stacks of a wakeup. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "judge/wakers.h"

#define MS	   1000000ull
#define FRAMES_MAX 6

struct fixture {
	struct model *m;
	uint32_t program, other, waits, wakes;
	struct blocked *b;
	struct wakers *w;
};

static uint32_t symbol(struct model *m, const char *name, enum model_kind kind, bool application)
{
	const char *module = kind == KIND_KERNEL ? "[kernel]" : "libany.so";

	return build_symbol(m, name, module, kind, application);
}

/* Thread 101 waits for a futex, in one slice. */
static struct fixture make(void)
{
	struct fixture f = {.m = build_model(2, 99)};
	struct model_stand s = {
		.age_ns = 5 * MS, .call = STAND_CALL_NONE, .state = 'S', .blocked_ns = 900 * MS};

	f.program = build_process(f.m, 100, "waits", 0);
	f.other = build_process(f.m, 200, "wakes", 0);
	f.waits = build_thread(f.m, f.program, 101, "mine", 0, 'S');
	f.wakes = build_thread(f.m, f.other, 201, "theirs", 0, 'S');
	symbol(f.m, "nobody", KIND_NATIVE, false);
	build_slice(f.m, BUILD_SECOND, 0, 0, 0);
	BUILD_SAMPLES(f.m, f.waits, 1, symbol(f.m, "work", KIND_NATIVE, true),
		      symbol(f.m, "futex_wait", KIND_KERNEL, false));
	s.at = f.m->samples[--f.m->samples_cnt];
	cr_assert_eq(model_stand_add(f.m, &s), 0);
	return f;
}

/* Its wait is ended there; frames root first, up to the first 0. */
static struct model_waker *wake(struct fixture *f, uint64_t blocked_ns, const uint32_t *frames)
{
	struct model_waker row = {.blocked_ns = blocked_ns, .woken = f->waits};
	uint32_t cnt = 0;

	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	build_samples(f->m, f->wakes, 1, 0, frames, cnt);
	row.at = f->m->samples[--f->m->samples_cnt];
	row.wait_kernel = f->m->stands[0].at.kernel_stack;
	row.wait_user = f->m->stands[0].at.user_stack;
	cr_assert_eq(model_waker_add(f->m, &row), 0);
	return &f->m->wakers[f->m->wakers_cnt - 1];
}

static size_t judge(struct fixture *f, const struct waker **ret_wakers, uint64_t *ret_ns)
{
	f->b = blocked_new(f->m);
	cr_assert(f->b);
	f->w = wakers_new(f->m, f->b);
	cr_assert(f->w);
	return wakers_of(f->w, f->b->processes[0].groups[0].group, ret_wakers, ret_ns);
}

static void clear(struct fixture *f)
{
	wakers_free(f->w);
	blocked_free(f->b);
	model_free(f->m);
}

Test(wakers, what_a_kernel_stack_says)
{
	static const struct {
		const char *what, *kernel[4]; /* root first */
		bool idle;
		enum waker_kind kind;
	} rows[] = {
		{"a system call", {"do_syscall_64", "do_futex", "futex_wake"}, false, WAKER_THREAD},
		{"a timer while somebody runs",
		 {"asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt", "hrtimer_wakeup"},
		 false,
		 WAKER_TIMER},
		{"a timer of an idle CPU",
		 {"cpu_startup_entry", "sysvec_apic_timer_interrupt", "hrtimer_wakeup"},
		 true,
		 WAKER_TIMER},
		{"a timer of arm64",
		 {"el0t_64_irq_handler", "hrtimer_interrupt", "hrtimer_wakeup"},
		 false,
		 WAKER_TIMER},
		{"a timer of TCP is the network's",
		 {"asm_sysvec_apic_timer_interrupt", "call_timer_fn", "tcp_write_timer"},
		 false,
		 WAKER_NETWORK},
		{"data of another host",
		 {"asm_common_interrupt", "handle_softirqs", "tcp_v4_rcv", "sock_def_readable"},
		 false,
		 WAKER_NETWORK},
		{"data that a thread sends to its own host",
		 {"tcp_sendmsg", "__do_softirq", "net_rx_action", "sock_def_readable"},
		 false,
		 WAKER_THREAD},
		{"data delivered by the thread for it",
		 {"run_ksoftirqd", "handle_softirqs", "net_rx_action", "sock_def_readable"},
		 false,
		 WAKER_NETWORK},
		{"a disk",
		 {"asm_sysvec_kvm_asyncpf_interrupt", "blk_mq_end_request", "bio_endio"},
		 false,
		 WAKER_DISK},
		{"another interrupt", {"common_interrupt", "some_driver"}, false, WAKER_INTERRUPT},
		{"an idle CPU, whatever it did", {"do_idle"}, true, WAKER_INTERRUPT},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = make();
		uint32_t frames[FRAMES_MAX] = {symbol(f.m, "unlock", KIND_NATIVE, true)};
		const struct waker *w;
		uint64_t ns;

		for (size_t k = 0; k < 4 && rows[i].kernel[k]; k++)
			frames[k + 1] = symbol(f.m, rows[i].kernel[k], KIND_KERNEL, false);
		wake(&f, 10 * MS, frames)->idle = rows[i].idle;
		cr_assert_eq(judge(&f, &w, &ns), 1, "%s", rows[i].what);
		cr_expect_eq(w->kind, rows[i].kind, "%s: %s", rows[i].what, waker_kind_id(w->kind));
		cr_expect_eq(ns, 10 * MS);
		if (w->kind == WAKER_THREAD) {
			cr_expect_eq(w->process, f.other, "%s", rows[i].what);
			cr_assert_neq(w->method, MODEL_NONE);
			cr_expect_str_eq(f.m->symbols[w->method].name, "unlock");
		} else {
			cr_expect_eq(w->process, MODEL_NONE, "%s: nobody is blamed", rows[i].what);
			cr_expect_eq(w->method, MODEL_NONE);
		}
		clear(&f);
	}
}

Test(wakers, without_names_of_the_kernel_nobody_is_named)
{
	struct fixture f = make();
	uint32_t frames[FRAMES_MAX] = {symbol(f.m, "unlock", KIND_NATIVE, true),
				       symbol(f.m, "ffff1000", KIND_KERNEL, false)};
	const struct waker *w;
	uint64_t ns;

	f.m->symbols[frames[1]].reason = REASON_KALLSYMS_HIDDEN;
	wake(&f, MS, frames);
	cr_assert_eq(judge(&f, &w, &ns), 1);
	cr_expect_eq(w->kind, WAKER_UNKNOWN);
	cr_expect_eq(w->process, MODEL_NONE);
	clear(&f);
}

Test(wakers, wakeups_of_one_method_are_one_and_most_time_is_first)
{
	struct fixture f = make();
	uint32_t leave = symbol(f.m, "futex_wake", KIND_KERNEL, false);
	uint32_t seldom[FRAMES_MAX] = {symbol(f.m, "seldom", KIND_NATIVE, true), leave};
	uint32_t often[FRAMES_MAX] = {symbol(f.m, "often", KIND_NATIVE, true), leave};
	uint32_t library[FRAMES_MAX] = {symbol(f.m, "begin", KIND_NATIVE, false),
					symbol(f.m, "inner", KIND_NATIVE, false), leave};
	const struct waker *w;
	uint64_t ns;

	wake(&f, 20 * MS, seldom);
	wake(&f, 30 * MS, often);
	wake(&f, 40 * MS, often);
	wake(&f, 10 * MS, library);
	/* Of a wait that no row tells of. */
	wake(&f, 99 * MS, often)->wait_user = 4711;
	cr_assert_eq(judge(&f, &w, &ns), 3);
	cr_expect_eq(ns, 100 * MS);
	cr_expect_str_eq(f.m->symbols[w[0].method].name, "often");
	cr_expect_eq(w[0].wakeups, 2);
	cr_expect_eq(w[0].blocked_ns, 70 * MS);
	cr_expect_str_eq(f.m->symbols[w[1].method].name, "seldom");
	cr_expect_str_eq(f.m->symbols[w[2].method].name, "inner", "nearest to the leaf");
	clear(&f);
}

Test(wakers, who_was_woken_by_nobody_that_is_known_has_none)
{
	struct fixture f = make();
	const struct waker *w;
	uint64_t ns;

	cr_expect_eq(judge(&f, &w, &ns), 0);
	cr_expect_eq(ns, 0);
	clear(&f);
}
