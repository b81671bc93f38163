/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/holders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/io.h"
#include "names/runtime_files.h"
#include "names/target_door.h"
#include "process/left_behind.h"

#define STATUS_BYTES 8192
/* At a time: each is a worker's for a millisecond or two. */
#define JOBS_MAX 4u
/* Between two looks at them. */
#define POLL_NS 5000000ull
/* A job of who is in debt that did not end by then waits for its allowance. */
#define BEGIN_NS 50000000ull

struct batch {
	struct workers_job *job; /* NULL: none */
	uint64_t begun_ns;
	struct holders_wait *waits;
	size_t cnt;
};

/* Where a process may have its runtime. */
struct files {
	uint32_t process, cnt;
	struct parse_code_file files[PARSE_RUNTIMES_MAX];
};

struct finding {
	const struct sources *sources;
	struct jit_memory *memory;
	const struct model *m;
	uint64_t debts_ns, end_ns;
	struct files *files;
	size_t files_cnt, files_cap;
};

static uint32_t round_of(const struct holders_wait *w)
{
	return w->turn / PARSE_WAITS_MAX;
}

static int compare_waits(const void *a, const void *b)
{
	const struct holders_wait *x = a, *y = b;
	int c = COMPARE(round_of(x), round_of(y));

	if (!c)
		c = COMPARE(x->process, y->process);
	return c ? c : COMPARE(x->row, y->row);
}

/* Those of one process and round from there on that were not asked for yet. */
static struct batch take_batch(struct holders_wait *waits, size_t cnt, size_t *at)
{
	struct batch b = {.waits = &waits[*at]};

	while (*at + b.cnt < cnt && b.cnt < PARSE_WAITS_MAX && !b.waits[b.cnt].asked &&
	       b.waits[b.cnt].process == b.waits->process &&
	       round_of(&b.waits[b.cnt]) == round_of(b.waits))
		b.cnt++;
	*at += b.cnt ?: 1;
	return b;
}

/* Whether it is for a bound of ours, not because there is nothing to be known. */
static bool is_left_out(enum model_reason reason)
{
	return reason == REASON_PENDING || reason == REASON_LIMIT || reason == REASON_BUDGET ||
	       reason == REASON_FILE_TIMEOUT || reason == REASON_FILE_COSTLY;
}

static void tell_asked(struct batch *b, enum model_reason reason)
{
	for (size_t i = 0; i < b->cnt; i++) {
		b->waits[i].asked = true;
		b->waits[i].left_out = is_left_out(reason);
	}
}

/* Once a process: all of its mappings are looked through. */
static void put_files(struct finding *f, uint32_t process, struct parse_locks *locks)
{
	size_t i = 0;

	while (i < f->files_cnt && f->files[i].process != process)
		i++;
	if (i == f->files_cnt) {
		if (GROW(f->files, f->files_cnt, f->files_cap))
			return;
		f->files[i].process = process;
		f->files[i].cnt = runtime_files(f->m, process, f->files[i].files);
		f->files_cnt++;
	}
	locks->files_cnt = f->files[i].cnt;
	memcpy(locks->files, f->files[i].files, locks->files_cnt * sizeof(locks->files[0]));
}

static enum model_reason begin_job(struct finding *f, struct batch *b)
{
	static struct parse_request parse; /* large; one thread */
	struct parse_locks *locks = &parse.locks;
	struct file_requests *requests = f->sources->requests;
	uint32_t process = b->waits->process;
	enum model_reason reason;
	int fd, error;

	reason = target_door_open(f->sources, f->m, process, NULL, 0, &fd, &error);
	if (reason)
		return reason;
	memset(&parse, 0, sizeof(parse));
	parse.kind = PARSE_LOCKS;
	if (f->memory)
		locks->facts = jit_memory_facts(f->memory, process);
	if (!locks->facts.descriptor)
		put_files(f, process, locks);
	for (size_t i = 0; i < b->cnt; i++)
		locks->waits[locks->waits_cnt++] = b->waits[i].at;
	b->job = file_requests_job_new(requests, f->m, process, &parse);
	if (!b->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(b->job, fd);
	b->begun_ns = clock_now_ns();
	file_requests_job_begin(requests, b->job, WORKERS_BRIEF);
	return REASON_NAMED;
}

/* No job: nobody can tell, or not now. */
static void begin(struct finding *f, struct batch *b)
{
	struct file_requests *requests = f->sources->requests;
	uint64_t deferred = requests->deferred, since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint32_t process = b->waits->process;
	enum model_reason reason = f->memory ? jit_memory_reason(f->memory, process) : REASON_NAMED;

	/* Monitors are found in a runtime that says nothing. */
	if (reason && reason != REASON_RUNTIME_SILENT) {
		tell_asked(b, reason);
		return;
	}
	if (file_requests_in_debt(requests, f->m, process)) {
		if (clock_now_ns() >= f->debts_ns)
			tell_asked(b, REASON_BUDGET);
		return;
	}
	/* Of what the budgets do not allow now there is nothing to be known yet. */
	if (file_requests_is_spent(requests))
		return;
	reason = begin_job(f, b);
	/* Who let something hang is not asked again so soon. */
	if (!reason || requests->deferred == deferred || reason == REASON_FILE_TIMEOUT)
		tell_asked(b, reason);
	file_requests_charge(requests, f->m, process, since_ns);
}

/* Whether the thread has not run since. */
static bool is_still(const struct finding *f, const struct holders_wait *w)
{
	_cleanup_close_ int fd = -1;
	struct left_status status;
	char path[320], text[STATUS_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/status", f->sources->requests->proc_path, w->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : io_read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return !left_status_parse(text, &status) && status.switches == w->switches;
}

static void end(const struct finding *f, struct batch *b, enum model_reason reason)
{
	tell_asked(b, reason);
	file_requests_job_end(f->sources->requests, b->waits->process, b->job);
	b->job = NULL;
}

/* What came, if anything did. */
static void take(const struct finding *f, struct batch *b)
{
	struct file_requests *requests = f->sources->requests;
	uint32_t process = b->waits->process;
	const struct parse_reply *reply = NULL;
	enum model_reason reason = file_requests_job_wait(
		requests, b->job, file_requests_party(requests, f->m, process), &reply);
	uint64_t now_ns = clock_now_ns(), since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (reason == REASON_PENDING) {
		if (now_ns >= f->debts_ns && now_ns - b->begun_ns >= BEGIN_NS &&
		    file_requests_in_debt(requests, f->m, process))
			end(f, b, REASON_BUDGET);
		return;
	}
	for (size_t i = 0; !reason && i < b->cnt; i++)
		if (reply->holders[i].tid && is_still(f, &b->waits[i]))
			b->waits[i].holder = reply->holders[i];
	if (reason == REASON_FILE_TIMEOUT && f->memory)
		jit_memory_note_hung(f->memory, process);
	file_requests_charge(requests, f->m, process, since_ns);
	end(f, b, reason);
}

/* Some at a time; one that hangs takes the place of one, not the time of all. */
static void work(struct finding *f, struct holders_wait *waits, size_t cnt)
{
	struct batch batches[JOBS_MAX] = {0};
	uint64_t now_ns;
	size_t at = 0, busy;

	do {
		busy = 0;
		for (size_t i = 0; i < JOBS_MAX; i++) {
			while (!batches[i].job && at < cnt && clock_now_ns() < f->end_ns) {
				batches[i] = take_batch(waits, cnt, &at);
				if (batches[i].cnt)
					begin(f, &batches[i]);
			}
			if (batches[i].job)
				take(f, &batches[i]);
			busy += batches[i].job != NULL;
		}
		now_ns = clock_now_ns();
		if (busy && (busy == JOBS_MAX || at == cnt) && now_ns < f->end_ns)
			workers_wait_any(f->sources->requests->workers, f->end_ns - now_ns < POLL_NS
										? f->end_ns - now_ns
										: POLL_NS);
	} while ((busy || at < cnt) && now_ns < f->end_ns);
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (batches[i].job)
			end(f, &batches[i], REASON_PENDING);
}

bool holders_find(const struct sources *s, struct jit_memory *memory, const struct model *m,
		  struct holders_wait *waits, size_t cnt, uint64_t debts_ns, uint64_t end_ns)
{
	struct finding f = {
		.sources = s, .memory = memory, .m = m, .debts_ns = debts_ns, .end_ns = end_ns};

	if (cnt)
		qsort(waits, cnt, sizeof(*waits), compare_waits);
	work(&f, waits, cnt);
	free(f.files);
	for (size_t i = 0; i < cnt; i++)
		if (!waits[i].asked)
			return false;
	return true;
}
