/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun snapshot`: what looks mean, the text, and its JSON. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/snapshot.h"

#define FRAMES_MAX 6
#define AT	   1795277000
#define MS	   1000000ull

struct host {
	struct model *m;
	struct snapshot s;
	struct snapshot_view *v;
	uint32_t process;
};

/* A thread that did so much in 150 ms, and stands there, root first up to the first 0. */
static struct snapshot_thread *put(struct host *h, uint32_t tid, uint64_t ran_ms,
				   uint64_t waited_ms, char state, uint32_t flags,
				   const uint32_t *frames)
{
	uint32_t row = build_thread(h->m, h->process, tid, "worker", 0, state), cnt = 0;
	struct look_rise rise = {ran_ms * MS, waited_ms * MS, false};
	struct model_stand stand = {.age_ns = 0, .call = STAND_CALL_NONE, .state = (uint8_t)state};
	struct snapshot_thread *t = snapshot_thread(&h->s, row);

	cr_assert(t);
	t->ran_ns += rise.ran_ns;
	t->waited_ns += rise.waited_ns;
	t->uninterruptible += state == 'D';
	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	if (cnt) {
		build_samples(h->m, row, 1, 0, frames, cnt);
		stand.at = h->m->samples[h->m->samples_cnt - 1];
	}
	stand.at.thread = row;
	stand.flags = flags;
	cr_assert_eq(stands_add(&h->s.stands, &stand), 0);
	cr_assert_eq(snapshot_rise(&h->s, &rise), 0);
	return t;
}
#define PUT(h, tid, ran, waited, state, flags, ...) \
	put(h, tid, ran, waited, state, flags, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

/* A service whose 20 workers hash, a storm of short processes, one that waits for a disk. */
static struct host make(void)
{
	struct host h = {.m = build_model(2, 99)};
	struct model *m = h.m;
	uint32_t nobody = build_symbol(m, "nobody", "", KIND_NATIVE, false);
	uint32_t start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	uint32_t hash = build_symbol(m, "Shop.Pay.Hash.Spin", "Shop.Pay", KIND_JIT, true);
	uint32_t mix = build_symbol(m, "System.Numerics.BitOperations.RotateLeft",
				    "System.Private.CoreLib", KIND_IMAGE, false);
	uint32_t block = build_symbol(m, "System.Security.Cryptography.SHA256.Block",
				      "System.Security.Cryptography", KIND_IMAGE, false);
	uint32_t evil = build_symbol(m, "evil\033[31m\nline", "evil\"<b>.so", KIND_NATIVE, true);
	uint32_t spawn = build_symbol(m, "start_child", "storm", KIND_NATIVE, true);
	uint32_t disk = build_symbol(m, "io_schedule", "[kernel]", KIND_KERNEL, false);

	(void)nobody;
	h.process = build_process(m, 5986, "Shop.Pay", PROCESS_DOTNET);
	for (uint32_t i = 0; i < 10; i++)
		PUT(&h, 6000 + i, 12, 138, 'R', 0, start, hash, mix);
	for (uint32_t i = 0; i < 10; i++)
		PUT(&h, 6010 + i, 12, 138, 'R', 0, start, hash, block);
	PUT(&h, 6030, 3, 1, 'S', 0, start, hash);
	PUT(&h, 6031, 1, 1, 'R', STAND_MOVED, 0);
	h.process = build_process(m, 700, "evil\033[31m\n\xff", 0);
	PUT(&h, 700, 2, 0, 'D', 0, start, evil, disk);
	h.process = build_process(m, 800, "storm", 0);
	PUT(&h, 800, 6, 0, 'R', 0, start, spawn)->ended.children_ns = 31 * MS;
	for (uint32_t i = 0; i < 3; i++) {
		h.process = build_process(m, 810 + i, "storm", 0);
		PUT(&h, 810 + i, 1, 2, 'R', STAND_MOVED, 0)->is_new = true;
	}
	h.process = build_process(m, 2, "kthreadd", PROCESS_KERNEL);
	PUT(&h, 2, 1, 0, 'S', STAND_KERNEL_THREAD, 0);
	h.process = build_process(m, 900, "hotrun", PROCESS_SELF);
	PUT(&h, 900, 9, 0, 'R', 0, 0);
	h.s.intervals = 1;
	h.s.elapsed_ns = 150 * MS;
	h.s.busy_ns = 300 * MS;
	h.s.cpus = 2;
	h.s.all = 512;
	h.s.forks = 240;
	h.s.ended = 12;
	h.s.late = 3;
	h.s.on_cpu = 2;
	h.s.waits = true;
	h.s.memory_bytes = 24ull << 30;
	h.s.memory_free_bytes = 1ull << 30;
	h.s.stacks_why = "";
	h.v = snapshot_view_new(m, &h.s);
	cr_assert(h.v);
	return h;
}

static void drop(struct host *h)
{
	snapshot_view_free(h->v);
	snapshot_clear(&h->s);
	model_free(h->m);
}

/* --- what they mean -------------------------------------------------------------------------- */

static const struct snapshot_code *code_of(const struct host *h, const char *method)
{
	for (size_t i = 0; i < h->v->codes_cnt; i++)
		if (h->v->codes[i].method != MODEL_NONE &&
		    !strcmp(h->m->symbols[h->v->codes[i].method].name, method))
			return &h->v->codes[i];
	return NULL;
}

Test(snapshot, ways_through_one_method_are_one_row_of_code)
{
	struct host h = make();
	const struct snapshot_code *c = code_of(&h, "Shop.Pay.Hash.Spin");

	cr_assert(c);
	cr_expect_eq(c->threads, 20);
	cr_expect_eq(c->ran_ns, 240 * MS);
	cr_expect_eq(c->waited_ns, 2760 * MS);
	cr_expect_eq(c->wait, WAIT_CPU);
	cr_expect_eq(h.v->asleep_ns, 4 * MS, "who slept has no row, and is counted");
	drop(&h);
}

Test(snapshot, state_d_is_told_with_what_it_waits_for)
{
	struct host h = make();
	const struct snapshot_code *c = code_of(&h, "evil\033[31m\nline");

	cr_assert(c);
	cr_expect_eq(c->wait, WAIT_DISK);
	cr_expect_eq(h.v->uninterruptible, 1);
	drop(&h);
}

Test(snapshot, processes_of_one_name_are_one_row_with_their_children)
{
	struct host h = make();
	const struct snapshot_process *p = &h.v->processes[1];

	cr_assert_str_eq(h.m->processes[p->process].name, "storm");
	cr_expect_eq(p->processes, 4);
	cr_expect_eq(h.m->processes[p->process].tgid, 800, "the one that did most");
	cr_expect_eq(p->born, 3);
	cr_expect_eq(p->ran_ns, 9 * MS);
	cr_expect_eq(p->children_ns, 31 * MS);
	drop(&h);
}

Test(snapshot, books_close)
{
	struct host h = make();

	cr_expect_eq(h.v->own_ns, 9 * MS);
	cr_expect_eq(h.v->ran_ns, (240 + 4 + 2 + 9 + 1) * MS);
	cr_expect_eq(h.v->gone_ns, (300 - 256 - 31 - 9) * MS);
	drop(&h);
}

/* The same threads, met again at a second look. */
Test(snapshot, looks_add_up_and_threads_count_once)
{
	struct host h = make();
	const struct snapshot_code *c;

	for (uint32_t i = 0; i < h.s.stands.cnt; i++)
		if (h.m->threads[h.s.stands.rows[i].at.thread].tid == 6000) {
			struct model_stand again = h.s.stands.rows[i];
			struct look_rise rise = {5 * MS, 0, false};

			cr_assert_eq(stands_add(&h.s.stands, &again), 0);
			cr_assert_eq(snapshot_rise(&h.s, &rise), 0);
			break;
		}
	snapshot_view_free(h.v);
	h.v = snapshot_view_new(h.m, &h.s);
	c = code_of(&h, "Shop.Pay.Hash.Spin");
	cr_assert(c);
	cr_expect_eq(c->threads, 20);
	cr_expect_eq(c->times, 21);
	cr_expect_eq(c->ran_ns, 245 * MS);
	drop(&h);
}

/* --- how it is told -------------------------------------------------------------------------- */

typedef int (*writer)(FILE *out, const struct model *m, const struct snapshot *s,
		      const struct snapshot_view *v, const struct snapshot_options *options);

static void expect(const char *golden, writer write, unsigned int width, const char *why)
{
	struct host h = make();
	struct urgent urgent = {.realtime = !width, .nice = -20, .cpus = 1, .cpus_all = 2};
	struct snapshot_options options = {.width = width,
					   .time = AT,
					   .answer_ns = 270 * MS,
					   .cpu_ns = 130 * MS,
					   .urgent = &urgent,
					   .by = width ? SNAPSHOT_BY_ITSELF : SNAPSHOT_BY_ARMED};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	h.s.stacks_why = why;
	cr_assert_eq(write(out, h.m, &h.s, h.v, &options), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
	drop(&h);
}

Test(snapshot, ten_lines_at_first)
{
	expect("snapshot_first.txt", snapshot_first_write, 0, "");
}

Test(snapshot, a_narrow_terminal)
{
	expect("snapshot_first_80.txt", snapshot_first_write, 80, "");
}

Test(snapshot, a_kernel_without_stacks_still_tells_the_processes)
{
	expect("snapshot_no_stacks.txt", snapshot_first_write, 0, "the kernel is older than 5.18");
}

Test(snapshot, all_of_it_then)
{
	expect("snapshot_rest.txt", snapshot_rest_write, 0, "");
}

Test(snapshot, as_json)
{
	expect("snapshot.json", snapshot_json_write, 0, "");
}

Test(snapshot, a_full_disk_is_told)
{
	struct host h = make();
	FILE *out = fopen("/dev/full", "w");

	cr_assert(out);
	cr_expect_eq(snapshot_first_write(out, h.m, &h.s, h.v, &(struct snapshot_options){0}),
		     -EIO);
	fclose(out);
	drop(&h);
}
