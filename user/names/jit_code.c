/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/jit_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/memory_pace.h"
#include "names/target_door.h"
#include "parse/parse.h"

/* Addresses that were asked for of late; and after so long they are again, since other code may lie
 * there, or names of it. */
#define ASKED	     256u
#define ASK_AGAIN_NS 1000000000ull

/* Methods of a process that is warm that may wait for others. */
#define WAIT_MAX 64u

struct asked_address {
	uint64_t address, ns;
};

struct process_code {
	struct code_range *waiting;
	size_t waiting_cnt, waiting_cap, asked; /* those of the job are the first ones */
	struct workers_job *job;
	struct perfmap_memory_facts facts; /* of the runtime; without descriptor: silent */
	bool lists;			   /* all of its code, from list_from on */
	bool is_listing;		   /* the job does */
	uint64_t list_from;
	size_t listed_cnt; /* of those that wait: they came before it began, and are in it */
	struct asked_address addresses[ASKED];
	struct code_pages pages;
	uint32_t generation;
	uint64_t begun_ns, job_ns; /* when the first job began, and the last one */
	uint64_t again_ns;	   /* not before */
	unsigned failed;	   /* in a row */
	bool refused;		   /* its memory cannot be read, or its rows are too many */
};

struct jit_code {
	const struct sources *sources;
	struct process_code **processes; /* by row; NULL = nothing */
	size_t processes_cnt, processes_cap;
	size_t bytes;
};

struct jit_code *jit_code_new(const struct sources *sources)
{
	struct jit_code *c = calloc(1, sizeof(*c));

	if (c)
		c->sources = sources;
	return c;
}

static void clear_pages(struct jit_code *c, struct process_code *p)
{
	c->bytes -= p->pages.bytes;
	code_pages_clear(&p->pages);
}

static void end_job(struct jit_code *c, uint32_t process, struct process_code *p)
{
	if (p->job)
		file_requests_job_end(c->sources->requests, process, p->job);
	p->job = NULL;
	p->asked = 0;
}

void jit_code_forget(struct jit_code *c, uint32_t process)
{
	struct process_code *p = process < c->processes_cnt ? c->processes[process] : NULL;

	if (!p)
		return;
	end_job(c, process, p);
	clear_pages(c, p);
	free(p->waiting);
	free(p);
	c->processes[process] = NULL;
}

void jit_code_free(struct jit_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->processes_cnt; i++)
		jit_code_forget(c, (uint32_t)i);
	free(c->processes);
	free(c);
}

static struct process_code *code_of(struct jit_code *c, uint32_t process)
{
	while (c->processes_cnt <= process) {
		if (GROW(c->processes, c->processes_cnt, c->processes_cap))
			return NULL;
		c->processes[c->processes_cnt++] = NULL;
	}
	if (!c->processes[process])
		c->processes[process] = calloc(1, sizeof(struct process_code));
	return c->processes[process];
}

void jit_code_runtime(struct jit_code *c, uint32_t process,
		      const struct perfmap_memory_facts *facts)
{
	struct process_code *p = facts->descriptor ? code_of(c, process) : NULL;

	if (!p || p->refused ||
	    (p->facts.descriptor == facts->descriptor && p->facts.code_map == facts->code_map))
		return;
	p->facts = *facts;
	p->lists = true;
	p->is_listing = false; /* what a job lists now is not all of it */
	p->list_from = 0;
	p->generation++;
}

static void add_waiting(struct process_code *p, const struct code_range *range)
{
	if (p->waiting_cnt < JIT_CODE_WAITING_MAX &&
	    !GROW(p->waiting, p->waiting_cnt, p->waiting_cap))
		p->waiting[p->waiting_cnt++] = *range;
}

void jit_code_want(struct jit_code *c, uint32_t process, uint64_t address)
{
	struct process_code *p = process < c->processes_cnt ? c->processes[process] : NULL;
	struct code_range range = {.start = address};
	struct asked_address *asked;
	uint64_t now_ns = clock_now_ns();

	if (!p || p->refused || !p->facts.descriptor)
		return;
	asked = &p->addresses[hash_u64(address) % ASKED];
	if (asked->address == address && now_ns - asked->ns < ASK_AGAIN_NS)
		return;
	*asked = (struct asked_address){address, now_ns};
	add_waiting(p, &range);
	p->generation++;
}

void jit_code_add(struct jit_code *c, uint32_t process, const struct code_range *ranges, size_t cnt)
{
	struct process_code *p = cnt ? code_of(c, process) : NULL;

	if (!p || p->refused)
		return;
	for (size_t i = 0; i < cnt; i++)
		add_waiting(p, &ranges[i]);
	p->generation++;
}

uint32_t jit_code_generation(const struct jit_code *c, uint32_t process)
{
	return process < c->processes_cnt && c->processes[process]
		       ? c->processes[process]->generation
		       : 0;
}

static bool add_method(struct jit_code *c, struct process_code *p, const struct code_method *method,
		       const struct cfi_row *rows)
{
	size_t was = p->pages.bytes;
	int err = code_pages_add(&p->pages, method, rows);

	c->bytes += p->pages.bytes - was;
	/* One that cannot be is left out. */
	return (!err || err == -E2BIG) && p->pages.bytes < JIT_CODE_PROCESS_BYTES &&
	       c->bytes < JIT_CODE_BYTES;
}

/* Takes in what a worker read. */
static void take(struct jit_code *c, struct process_code *p)
{
	const struct code_method *methods = NULL;
	const struct cfi_row *rows = NULL;
	size_t bytes, methods_cnt = 0, rows_cnt = 0, at = 0;
	int fd = workers_job_take_result(p->job, &bytes);
	struct blob *blob =
		fd < 0 ? NULL : code_rows_read(fd, bytes, &methods, &methods_cnt, &rows, &rows_cnt);

	for (size_t i = 0; blob && i < methods_cnt && !p->refused; i++) {
		if (methods[i].cnt > rows_cnt - at)
			break;
		/* Beyond its room nothing more is learnt of it: what is there goes, too, since
		 * addresses are used again. */
		if (!add_method(c, p, &methods[i], &rows[at])) {
			p->refused = true;
			clear_pages(c, p);
		}
		at += methods[i].cnt;
	}
	blob_free(blob);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Asks for the memory, and has the code of what waits read. */
static enum model_reason begin(struct jit_code *c, const struct model *m, uint32_t process,
			       struct process_code *p)
{
	static struct parse_request parse; /* large; one thread */
	enum model_reason reason;
	size_t cnt = p->lists				? 0
		     : p->waiting_cnt < CODE_RANGES_MAX ? p->waiting_cnt
							: CODE_RANGES_MAX;
	int fd, error;

	memset(&parse, 0, sizeof(parse));
	parse.kind = PARSE_CODE;
	reason = target_door_open(c->sources, m, process, NULL, 0, &fd, &error);
	if (reason)
		return reason;
	parse.code.facts = p->facts;
	parse.code.list_from = p->lists ? p->list_from : CODE_LIST_NONE;
	parse.code.ranges_cnt = (uint32_t)cnt;
	if (cnt)
		memcpy(parse.code.ranges, p->waiting, cnt * sizeof(*p->waiting));
	if (p->lists && !p->list_from)
		p->listed_cnt = p->waiting_cnt;
	p->job = file_requests_job_new(c->sources->requests, m, process, &parse);
	if (!p->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(p->job, fd);
	p->job_ns = clock_now_ns();
	if (!p->begun_ns)
		p->begun_ns = p->job_ns;
	p->asked = cnt;
	p->is_listing = p->lists;
	file_requests_job_begin(c->sources->requests, p->job, WORKERS_BRIEF);
	return REASON_NAMED;
}

static void drop_asked(struct process_code *p)
{
	if (!p->asked)
		return;
	p->waiting_cnt -= p->asked;
	memmove(p->waiting, p->waiting + p->asked, p->waiting_cnt * sizeof(*p->waiting));
}

/* The list is whole: what waited when it began is in it, but for stubs. */
static void drop_listed(struct process_code *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->waiting_cnt; i++)
		if (i >= p->listed_cnt || p->waiting[i].keeps_stack)
			p->waiting[kept++] = p->waiting[i];
	p->waiting_cnt = kept;
}

#define AGAIN_NS   1000000000ull
#define FAILED_MAX 4u

/* What failed for a reason that may be ours is tried again, some times. */
static bool may_try_again(struct process_code *p, enum model_reason reason)
{
	if ((reason != REASON_LIMIT && reason != REASON_FILE_TIMEOUT) || ++p->failed > FAILED_MAX)
		return false;
	p->again_ns = clock_now_ns() + AGAIN_NS;
	return true;
}

/* A worker read a part of it, or could not. */
static void go_on_listing(struct process_code *p, enum model_reason reason, uint64_t next)
{
	bool goes_on = !reason && next > p->list_from && next != CODE_LIST_NONE;

	if (reason && may_try_again(p, reason))
		return;
	if (!reason && !goes_on)
		drop_listed(p);
	p->list_from = next;
	p->lists = goes_on;
}

/* Whether there is anything to be asked. */
static bool wants(const struct process_code *p)
{
	return !p->refused && (p->job || p->waiting_cnt || p->lists);
}

/* Code of a process that is warm comes a method at a time, and each reading costs something
 * however little it is of. */
static bool may_wait(const struct process_code *p)
{
	uint64_t now_ns = clock_now_ns();

	return !p->job && !p->lists && p->waiting_cnt <= WAIT_MAX &&
	       now_ns - p->job_ns < memory_pace_new(now_ns, p->begun_ns, 0);
}

bool jit_code_step(struct jit_code *c, const struct model *m, uint32_t process)
{
	struct process_code *p = process < c->processes_cnt ? c->processes[process] : NULL;
	uint64_t deferred = c->sources->requests->deferred, since_ns;
	const struct parse_reply *reply = NULL;
	enum model_reason reason = REASON_NAMED;

	/* The next stack through it comes here again. */
	if (!p || !wants(p) || may_wait(p))
		return false;
	if (!p->job && (clock_now_ns() < p->again_ns ||
			file_requests_in_debt(c->sources->requests, m, process)))
		return true;
	if (!p->job)
		reason = begin(c, m, process, p);
	if (reason) {
		/* What cannot be had now because of a budget may be had later. */
		p->refused =
			c->sources->requests->deferred == deferred && !may_try_again(p, reason);
		return !p->refused;
	}
	reason = file_requests_job_wait(c->sources->requests, p->job,
					file_requests_party(c->sources->requests, m, process),
					&reply);
	if (reason == REASON_PENDING)
		return true;
	since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!reason) {
		p->failed = 0;
		take(c, p);
	}
	/* One that began before its runtime was known as it is now has listed nothing. */
	if (p->is_listing)
		go_on_listing(p, reason, reply ? reply->code_next : 0);
	p->refused |= reason == REASON_FILE_COSTLY;
	drop_asked(p);
	file_requests_charge(c->sources->requests, m, process, since_ns);
	end_job(c, process, p);
	p->generation++;
	return wants(p);
}

const struct code_page *jit_code_pages(const struct jit_code *c, uint32_t process, size_t *ret_cnt)
{
	const struct process_code *p = process < c->processes_cnt ? c->processes[process] : NULL;

	*ret_cnt = p ? p->pages.cnt : 0;
	return p ? p->pages.pages : NULL;
}

size_t jit_code_bytes(const struct jit_code *c)
{
	return c->bytes;
}
