/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocked time in the report: within a process, alone, and for machines. */
#include <criterion/criterion.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "judge/blocked.h"
#include "output/flame.h"
#include "export/folded.h"
#include "output/report.h"
#include "report_support.h"

#define FRAMES_MAX 7
#define MS	   (BUILD_SECOND / 1000)
#define SLICES	   6
#define CORE	   "System.Private.CoreLib"

/* That thread stood there in that slice; root first, up to the first 0. */
static struct model_stand *put(struct model *m, uint32_t slice, uint32_t thread,
			       uint64_t blocked_ns, uint64_t age_ns, const uint32_t *frames)
{
	struct model_stand s = {.age_ns = age_ns,
				.call = STAND_CALL_NONE,
				.state = 'S',
				.slice = slice,
				.blocked_ns = blocked_ns};
	uint32_t cnt = 0;

	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	build_samples(m, thread, 1, 0, frames, cnt);
	s.at = m->samples[--m->samples_cnt];
	cr_assert_eq(model_stand_add(m, &s), 0);
	return &m->stands[m->stands_cnt - 1];
}
#define PUT(m, slice, thread, blocked, age, ...) \
	put(m, slice, thread, blocked, age, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

struct frames {
	uint32_t start, get, result, wait, spare, take, mutex, futex, epoll, nap;
};

static struct frames name_frames(struct model *m)
{
	struct frames f;

	/* Row 0 ends a list here. */
	build_symbol(m, "nobody", "", KIND_NATIVE, false);
	f.start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	f.get = build_symbol(m, "Shop.Pay.Client.Get", "Shop.Pay", KIND_JIT, true);
	f.result = build_symbol(m, "System.Threading.Tasks.Task<System.Int32>.GetResultCore", CORE,
				KIND_IMAGE, false);
	f.wait = build_symbol(m, "System.Threading.Monitor.Wait", CORE, KIND_IMAGE, false);
	f.spare = build_symbol(m, "System.Threading.LowLevelLifoSemaphore.WaitNative", CORE,
			       KIND_IMAGE, false);
	f.take = build_symbol(m, "evil\033[31m\nline", "evil\"<b>.so", KIND_NATIVE, true);
	f.mutex = build_symbol(m, "pthread_mutex_lock", "libc.so.6", KIND_NATIVE, false);
	f.futex = build_symbol(m, "futex_do_wait", "[kernel]", KIND_KERNEL, false);
	f.epoll = build_symbol(m, "ep_poll", "[kernel]", KIND_KERNEL, false);
	f.nap = build_symbol(m, "do_nanosleep", "[kernel]", KIND_KERNEL, false);
	return f;
}

static void add_shop(struct model *m, const struct frames *f)
{
	uint32_t shop = build_process(m, 5986, "Shop.Pay", PROCESS_DOTNET), workers[10], idle, main;

	for (uint32_t i = 0; i < 10; i++)
		workers[i] = build_thread(m, shop, 6000 + i, ".NET TP Worker", 0, 'S');
	idle = build_thread(m, shop, 6100, ".NET TP Gate", 0, 'S');
	main = build_thread(m, shop, 5986, "dotnet", BUILD_SECOND / 2, 'S');
	BUILD_SAMPLES(m, main, 50, f->start, f->get);
	for (uint32_t slice = 0; slice < SLICES; slice++) {
		for (uint32_t i = 0; i < 9; i++)
			PUT(m, slice, workers[i], BUILD_SECOND, (i + 31 + slice) * BUILD_SECOND,
			    f->start, f->get, f->result, f->wait, f->futex);
		PUT(m, slice, workers[9], BUILD_SECOND, 40 * BUILD_SECOND, f->start, f->spare,
		    f->futex);
		PUT(m, slice, idle, BUILD_SECOND, 500 * MS, f->start, f->futex);
		PUT(m, slice, main, slice % 2 * 800 * MS, 3 * MS, f->start, f->get, f->nap);
	}
}

static void add_native(struct model *m, const struct frames *f)
{
	uint32_t evil = build_process(m, 700, "evil\033[31m\n\xff", 0);
	uint32_t a = build_thread(m, evil, 710, "a\nb7", 10 * MS, 'S');
	uint32_t b = build_thread(m, evil, 711, "a\nb8", 0, 'S');

	for (uint32_t slice = 0; slice < 3; slice++) {
		PUT(m, slice, b, 500 * MS, STAND_AGE_UNKNOWN, f->start, f->take, f->mutex, f->futex)
			->holder = 710;
		PUT(m, slice, a, 300 * MS, 4 * MS, f->start, f->take, f->epoll);
	}
}

static struct model *make(void)
{
	struct model *m = build_model(2, 99);
	struct frames f = name_frames(m);

	add_shop(m, &f);
	add_native(m, &f);
	build_books(m, SLICES);
	return m;
}

Test(report_blocked, a_page_of_its_own)
{
	report_expect("report_blocked.txt", make(), &(struct report_options){.blocked = true});
}

/* Its wait of that row is ended there, as in put(). */
static void wake(struct model *m, size_t stand, uint32_t by, uint64_t blocked_ns,
		 const uint32_t *frames)
{
	const struct model_stand *s = &m->stands[stand];
	struct model_waker w = {.blocked_ns = blocked_ns,
				.woken = s->at.thread,
				.wait_kernel = s->at.kernel_stack,
				.wait_user = s->at.user_stack};
	uint32_t cnt = 0;

	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	build_samples(m, by, 1, 0, frames, cnt);
	w.at = m->samples[--m->samples_cnt];
	cr_assert_eq(model_waker_add(m, &w), 0);
}
#define WAKE(m, stand, by, blocked, ...) \
	wake(m, stand, by, blocked, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

/* The first wait of the shop is ended by four. */
static struct model *make_woken(void)
{
	struct model *m = make();
	uint32_t evil = m->stands_cnt ? m->stands[m->stands_cnt - 1].at.thread : 0;
	uint32_t set = build_symbol(m, "Shop.Pay.Client.Done", "Shop.Pay", KIND_JIT, true);
	uint32_t take = build_symbol(m, "evil\033[31m\nline", "evil\"<b>.so", KIND_NATIVE, true);
	uint32_t leave = build_symbol(m, "futex_wake", "[kernel]", KIND_KERNEL, false);
	uint32_t irq =
		build_symbol(m, "asm_sysvec_apic_timer_interrupt", "[kernel]", KIND_KERNEL, false);
	uint32_t timer = build_symbol(m, "hrtimer_wakeup", "[kernel]", KIND_KERNEL, false);

	WAKE(m, 0, m->stands[0].at.thread, 600 * MS, set, leave);
	WAKE(m, 1, evil, 250 * MS, take, leave);
	WAKE(m, 0, evil, 100 * MS, take, irq, timer);
	WAKE(m, 1, evil, 50 * MS, leave);
	return m;
}

Test(report_blocked, who_ended_a_wait_stands_below_it)
{
	report_expect("report_blocked_woken.txt", make_woken(),
		      &(struct report_options){.blocked = true});
}

Test(report_blocked, machines_are_told_who_ended_it)
{
	struct model *m = make_woken();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_json_write(out, m, &(struct report_options){.blocked = true}), 0);
	fclose(out);
	golden_expect("report_blocked_woken.json", text, len);
	free(text);
	model_free(m);
}

Test(report_blocked, idle_waits_are_shown_where_they_are_asked_for)
{
	report_expect("report_blocked_idle_80.txt", make(),
		      &(struct report_options){.blocked = true, .idle = true, .width = 80});
}

Test(report_blocked, a_process_has_it_behind_its_cpu)
{
	struct model *m = make();

	report_says(m, NULL, "blocked: 56.4 thread-seconds in waits (9.40 threads on the mean)");
	report_says(m, NULL, "17.5 % of blocked time (--idle shows");
	report_says(m, NULL, "Shop.Pay.Client.Get → ");
	model_free(m);
}

Test(report_blocked, those_asked_for_alone)
{
	struct model *m = make();
	uint32_t evil = 1;
	struct report_options options = {.blocked = true, .processes = &evil, .process_cnt = 1};

	report_says(m, &options, "(held by thread 710)");
	report_says_not(m, &options, "Shop.Pay.Client.Get");
	model_free(m);
}

Test(report_blocked, captures_without_it_say_why)
{
	struct model *m = make();

	m->stands_cnt = 0;
	m->host.off = OFF_STANDS;
	report_says(m, NULL, "blocked n/a: ");
	report_says(m, &(struct report_options){.blocked = true}, "blocked time n/a: ");
	m->host.off = 0;
	report_says_not(m, NULL, "blocked");
	report_says(m, &(struct report_options){.blocked = true},
		    "no thread was found in a wait that is not idle (--idle shows all)");
	model_free(m);
}

Test(report_blocked, machines_get_all_of_it)
{
	struct model *m = make();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(report_json_write(out, m, &(struct report_options){.blocked = true}), 0);
	fclose(out);
	golden_expect("report_blocked.json", text, len);
	free(text);
	model_free(m);
}

/* --- as samples ------------------------------------------------------------------------------ */

Test(report_blocked, folded_stacks_weigh_milliseconds_of_it)
{
	struct model *m = make();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(folded_write(out, m, &(struct export_options){.weight = EXPORT_BLOCKED}), 0);
	fclose(out);
	cr_expect(strstr(text, "Shop.Pay;start_thread;Shop.Pay.Client.Get_[j];"
			       "System.Threading.Tasks.Task<System.Int32>.GetResultCore;"
			       "System.Threading.Monitor.Wait;futex_do_wait_[k] 54000\n"),
		  "%s", text);
	cr_expect(strstr(text, ";do_nanosleep_[k] 2400\n"), "%s", text);
	/* Idle ones are left out. */
	cr_expect_not(strstr(text, "LowLevelLifoSemaphore"), "%s", text);
	free(text);
	model_free(m);
}

Test(report_blocked, a_page_has_it_and_shows_it_first)
{
	struct model *m = make();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	cr_assert_eq(flame_write_data(out, m,
				      &(struct flame_options){.process = MODEL_NONE,
							      .blocked = true,
							      .idle = true}),
		     0);
	fclose(out);
	/* Behind four bytes of its length stands the document. */
	cr_expect(strstr(text + 4, "\"weight\":\"blocked\""), "%s", text + 4);
	cr_expect(strstr(text + 4, "\"idle\":true"), "%s", text + 4);
	cr_expect(strstr(text + 4, "\"blockedMs\":70800,"), "%s", text + 4);
	free(text);
	model_free(m);
}
