/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hotrun threads`: the text and its JSON. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/helper_names.h"
#include "bpf/events.h"
#include "build_model.h"
#include "golden.h"
#include "output/threads.h"

#define FRAMES_MAX 6
#define AT	   1795277000

struct host {
	struct model *m;
	struct stands stands;
	struct standing *standing;
	uint32_t process;
};

/* Root first, up to the first 0. */
static struct model_stand *put(struct host *h, uint32_t tid, const char *comm, uint64_t age_ns,
			       char state, const uint32_t *frames)
{
	uint32_t thread = build_thread(h->m, h->process, tid, comm, 0, state), cnt = 0;
	struct model_stand s = {.age_ns = age_ns, .call = STAND_CALL_NONE, .state = (uint8_t)state};

	while (cnt < FRAMES_MAX && frames[cnt])
		cnt++;
	if (cnt) {
		build_samples(h->m, thread, 1, 0, frames, cnt);
		s.at = h->m->samples[h->m->samples_cnt - 1];
	}
	s.at.thread = thread;
	cr_assert_eq(stands_add(&h->stands, &s), 0);
	return &h->stands.rows[h->stands.cnt - 1];
}
#define PUT(h, tid, comm, age, state, ...) \
	put(h, tid, comm, age, state, (const uint32_t[FRAMES_MAX]){__VA_ARGS__})

#define CORE "System.Private.CoreLib"

/* A service that hangs in a client, and a program of threads that wait for a mutex. */
static struct host make(void)
{
	struct host h = {.m = build_model(2, 99)};
	struct model *m = h.m;
	/* Row 0 ends a list here. */
	uint32_t nobody = build_symbol(m, "nobody", "", KIND_NATIVE, false);
	uint32_t start = build_symbol(m, "start_thread", "libc.so.6", KIND_NATIVE, false);
	uint32_t clr = build_unnamed(m, "libcoreclr.so", 0x1000, KIND_NATIVE, REASON_NO_SYMBOL);
	uint32_t get = build_symbol(m, "Shop.Pay.Client.Get", "Shop.Pay", KIND_JIT, true);
	uint32_t result = build_symbol(m, "System.Threading.Tasks.Task<System.Int32>.GetResultCore",
				       CORE, KIND_IMAGE, false);
	uint32_t wait = build_symbol(m, "System.Threading.Monitor.Wait", CORE, KIND_IMAGE, false);
	uint32_t spare = build_symbol(m, "System.Threading.LowLevelLifoSemaphore.WaitNative", CORE,
				      KIND_IMAGE, false);
	uint32_t evil = build_symbol(m, "evil\033[31m\nline", "evil\"<b>.so", KIND_NATIVE, true);
	uint32_t mutex = build_symbol(m, "pthread_mutex_lock", "libc.so.6", KIND_NATIVE, false);
	uint32_t futex = build_symbol(m, "futex_do_wait", "[kernel]", KIND_KERNEL, false);
	uint32_t note = build_symbol(m, "[truncated]", "", KIND_NOTE, false);
	struct model_stand *s;

	(void)nobody;
	h.process = build_process(m, 5986, "Shop.Pay", PROCESS_DOTNET);
	for (uint32_t i = 0; i < 14; i++)
		PUT(&h, 6000 + i, ".NET TP Worker", (31 + i) * BUILD_SECOND, 'S', start, clr, get,
		    result, wait, futex);
	PUT(&h, 6100, ".NET TP Worker", 700 * BUILD_SECOND, 'S', start, clr, spare, futex);
	PUT(&h, 6101, ".NET TP Gate", 100 * BUILD_SECOND, 'S', start, futex);
	PUT(&h, 6102, ".NET TP Worker", 3000000, 'R', 0)->flags = STAND_RUNS;
	PUT(&h, 6103, ".NET TP Worker", 3000000, 'S', 0)->flags = STAND_MOVED;
	s = PUT(&h, 6104, ".NET TP Worker", 3000000, 'R', start, clr, get);
	s->flags = STAND_RUNS;
	s->sampled = true;
	h.process = build_process(m, 700, "evil\033[31m\n\xff", 0);
	m->processes[h.process].ns_pid = 700;
	for (uint32_t i = 0; i < 3; i++)
		PUT(&h, 710 + i, "a\nb7", 200000 * BUILD_SECOND, 'S', start, evil, mutex, futex)
			->holder = 710;
	PUT(&h, 720, "old", STAND_AGE_UNKNOWN, 'D', note, evil);
	/* Threads that wait for each other, behind all that hangs. */
	h.process = build_process(m, 750, "bank", 0);
	for (uint32_t i = 0; i < 3; i++) {
		static const char *const names[] = {"ledger debit", "\033[3m\033[3m\033[3m\033",
						    "ledger audit"};

		s = PUT(&h, 750 + i, names[i], (60 + i) * BUILD_SECOND, 'S', start, mutex, futex);
		s->holder = 750 + (i + 1) % 3;
	}
	/* It took a helper's name. */
	h.process = build_process(m, 800, HELPER_PARSER, 0);
	PUT(&h, 800, HELPER_PARSER, 5 * BUILD_SECOND, 'S', start, evil, futex);
	h.process = build_process(m, 900, "hotrun", PROCESS_SELF);
	PUT(&h, 900, "hotrun", 0, 'S', start, futex);
	h.process = build_process(m, 901, HELPER_NURSERY, 0);
	m->processes[h.process].parent_tgid = 900;
	PUT(&h, 901, HELPER_NURSERY, 0, 'S', start, futex);
	h.process = build_process(m, 902, HELPER_PARSER, 0);
	m->processes[h.process].parent_tgid = 901;
	PUT(&h, 902, HELPER_PARSER, 0, 'S', start, futex);
	h.stands.pass_ns = 668000;
	h.stands.gone = 2;
	h.standing = standing_new(m, &h.stands);
	cr_assert(h.standing);
	return h;
}

static void drop(struct host *h)
{
	standing_free(h->standing);
	stands_clear(&h->stands);
	model_free(h->m);
}

typedef int (*writer)(FILE *out, const struct model *m, const struct stands *stands,
		      const struct standing *standing, const struct threads_options *options);

static void expect(const char *golden, writer write, struct threads_options options)
{
	struct host h = make();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	options.time = AT;
	cr_assert_eq(write(out, h.m, &h.stands, h.standing, &options), 0);
	fclose(out);
	golden_expect(golden, text, len);
	free(text);
	drop(&h);
}

Test(threads, what_hangs_is_told_in_lines)
{
	expect("threads.txt", threads_text_write, (struct threads_options){0});
}

Test(threads, a_narrow_terminal_keeps_the_method)
{
	expect("threads_80.txt", threads_text_write, (struct threads_options){.width = 80});
}

Test(threads, all_of_it_with_whole_stacks)
{
	expect("threads_all.txt", threads_text_write,
	       (struct threads_options){.all = true, .verbose = true, .idle = true});
}

Test(threads, few_lines_say_what_they_leave_out)
{
	expect("threads_few.txt", threads_text_write, (struct threads_options){.lines = 1});
}

Test(threads, json_has_all_groups_and_their_frames)
{
	expect("threads.json", threads_json_write, (struct threads_options){0});
}

Test(threads, hotrun_itself_is_shown_to_who_asks_for_it)
{
	struct host h = make();
	struct threads_count n =
		threads_count(h.m, h.standing->groups, h.standing->groups_cnt, false);

	cr_expect_eq(n.own, 3);
	cr_expect_eq(threads_count(h.m, h.standing->groups, h.standing->groups_cnt, true).threads,
		     n.threads + 3);
	drop(&h);
	expect("threads_own.txt", threads_text_write, (struct threads_options){.own = true});
}

Test(threads, json_is_bounded_and_says_what_it_leaves_out)
{
	struct host h = {.m = build_model(2, 99)};
	struct threads_options options = {.time = AT};
	char *text = NULL, comm[16];
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	h.process = build_process(h.m, 5, "many", 0);
	for (uint32_t i = 0; i < THREADS_JSON_GROUPS + 7; i++) {
		/* Digits are folded. */
		snprintf(comm, sizeof(comm), "%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26,
			 'a' + i / 676);
		PUT(&h, 10 + i, comm, 1, 'S', 0);
	}
	h.standing = standing_new(h.m, &h.stands);
	cr_assert(h.standing);
	cr_assert_eq(threads_json_write(out, h.m, &h.stands, h.standing, &options), 0);
	fclose(out);
	cr_expect(strstr(text, "\"groups_cut\": 7"), "%.200s", text + len - 200);
	free(text);
	drop(&h);
}

Test(threads, of_a_capture_they_stood_there_as_it_ended)
{
	struct host h = make();
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert(out);
	h.stands.pass_ns = 0;
	cr_assert_eq(threads_text_write(out, h.m, &h.stands, h.standing,
					&(struct threads_options){.time = AT}),
		     0);
	fclose(out);
	cr_expect(strstr(text, " · as the recording ended\n"), "%s", text);
	free(text);
	drop(&h);
}

Test(threads, a_full_disk_is_an_error)
{
	struct host h = make();
	struct threads_options options = {.time = AT};
	FILE *full = fopen("/dev/full", "w");

	cr_assert(full);
	cr_expect_eq(threads_text_write(full, h.m, &h.stands, h.standing, &options), -EIO);
	fclose(full);
	drop(&h);
}

/* In columns: bytes but for those that go on a character. */
static size_t columns_of(const char *line, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (line[i] & 0xc0) != 0x80;
	return n;
}

Test(threads, no_group_is_wider_than_was_asked)
{
	for (unsigned int width = THREADS_MIN_WIDTH; width < 140; width++) {
		struct host h = make();
		struct threads_options options = {.width = width, .idle = true, .time = AT};
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		cr_assert(out);
		cr_assert_eq(threads_text_write(out, h.m, &h.stands, h.standing, &options), 0);
		fclose(out);
		for (const char *line = text; *line;) {
			size_t n = strcspn(line, "\n");

			/* Of a group: its number of threads stands at the right of its column. */
			if (*line == ' ')
				cr_expect_leq(columns_of(line, n), width, "%u: %.*s", width, (int)n,
					      line);
			line += n + (line[n] != '\0');
		}
		free(text);
		drop(&h);
	}
}

Test(threads, names_that_did_not_come_in_time_are_told)
{
	static const enum model_reason reasons[] = {REASON_PENDING, REASON_NO_PERF_MAP};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct host h = make();
		struct threads_options options = {.time = AT};
		uint32_t late = build_unnamed(h.m, CORE, 0x1000, KIND_IMAGE, reasons[i]);
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		cr_assert(out);
		PUT(&h, 950, "late", 5 * BUILD_SECOND, 'S', late);
		standing_free(h.standing);
		h.standing = standing_new(h.m, &h.stands);
		cr_assert(h.standing);
		cr_assert_eq(threads_text_write(out, h.m, &h.stands, h.standing, &options), 0);
		fclose(out);
		cr_expect_eq(strstr(text, "\n1 with methods whose names did not come in time: look "
					  "again\n") != NULL,
			     reasons[i] == REASON_PENDING, "%s", text);
		free(text);
		drop(&h);
	}
}
