/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/holders.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "base/io.h"
#include "names/runtime_files.h"
#include "names/target_door.h"
#include "process/left_behind.h"

#define STATUS_BYTES 4096
/* At a time: each is a worker's for a millisecond or two. */
#define JOBS_MAX 4u

struct batch {
	struct workers_job *job; /* NULL: none */
	struct holders_wait *waits;
	size_t cnt;
};

struct finding {
	const struct sources *sources;
	const struct jit_memory *memory;
	const struct model *m;
	uint64_t end_ns;
};

static int compare_waits(const void *a, const void *b)
{
	const struct holders_wait *x = a, *y = b;
	int c = COMPARE(x->process, y->process);

	return c ? c : COMPARE(x->row, y->row);
}

/* Those of one process from there on that were not asked for yet, as many as fit. */
static struct batch take_batch(struct holders_wait *waits, size_t cnt, size_t *at)
{
	struct batch b = {.waits = &waits[*at]};

	while (*at + b.cnt < cnt && b.cnt < PARSE_WAITS_MAX && !b.waits[b.cnt].asked &&
	       b.waits[b.cnt].process == b.waits->process)
		b.cnt++;
	*at += b.cnt ?: 1;
	return b;
}

static void tell_asked(struct batch *b, bool asked)
{
	for (size_t i = 0; i < b->cnt; i++)
		b->waits[i].asked = asked;
}

/* No job: nobody can tell. */
static void begin(const struct finding *f, struct batch *b)
{
	static struct parse_request parse; /* large; one thread */
	struct parse_locks *locks = &parse.locks;
	struct file_requests *requests = f->sources->requests;
	uint64_t deferred = requests->deferred;
	uint32_t process = b->waits->process;
	enum model_reason reason;
	int fd, error;

	/* Of what the budgets do not allow now there is nothing to be known yet. */
	if (file_requests_in_debt(requests, f->m, process) || file_requests_is_spent(requests))
		return;
	reason = target_door_open(f->sources, f->m, process, NULL, 0, &fd, &error);
	tell_asked(b, requests->deferred == deferred);
	if (reason)
		return;
	memset(&parse, 0, sizeof(parse));
	parse.kind = PARSE_LOCKS;
	if (f->memory)
		locks->facts = jit_memory_facts(f->memory, process);
	if (!locks->facts.descriptor)
		locks->files_cnt = runtime_files(f->m, process, locks->files);
	for (size_t i = 0; i < b->cnt; i++)
		locks->waits[locks->waits_cnt++] = b->waits[i].at;
	b->job = file_requests_job_new(requests, f->m, process, &parse);
	if (!b->job) {
		close(fd);
		return;
	}
	workers_job_give(b->job, fd);
	file_requests_job_begin(requests, b->job, WORKERS_BRIEF);
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

static void finish(const struct finding *f, struct batch *b)
{
	struct file_requests *requests = f->sources->requests;
	const struct parse_reply *reply = NULL;
	enum model_reason reason = REASON_PENDING;
	uint64_t now_ns;

	if (!b->job)
		return;
	do {
		reason = file_requests_job_wait(
			requests, b->job, file_requests_party(requests, f->m, b->waits->process),
			&reply);
		now_ns = clock_now_ns();
		if (reason == REASON_PENDING && now_ns < f->end_ns)
			workers_wait_any(requests->workers, f->end_ns - now_ns);
	} while (reason == REASON_PENDING && now_ns < f->end_ns);
	for (size_t i = 0; !reason && i < b->cnt; i++)
		if (reply->holders[i] && is_still(f, &b->waits[i]))
			b->waits[i].holder = reply->holders[i];
	file_requests_job_end(requests, b->waits->process, b->job);
	b->job = NULL;
}

bool holders_find(const struct sources *s, const struct jit_memory *memory, const struct model *m,
		  struct holders_wait *waits, size_t cnt, uint64_t end_ns)
{
	struct finding f = {s, memory, m, end_ns};

	if (cnt)
		qsort(waits, cnt, sizeof(*waits), compare_waits);
	for (size_t at = 0; at < cnt && clock_now_ns() < end_ns;) {
		struct batch batches[JOBS_MAX] = {0};

		for (size_t i = 0; i < JOBS_MAX && at < cnt; i++) {
			batches[i] = take_batch(waits, cnt, &at);
			if (batches[i].cnt)
				begin(&f, &batches[i]);
		}
		for (size_t i = 0; i < JOBS_MAX; i++)
			finish(&f, &batches[i]);
	}
	for (size_t i = 0; i < cnt; i++)
		if (!waits[i].asked)
			return false;
	return true;
}
