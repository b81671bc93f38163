/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/jit_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/rise.h"
#include "names/calms.h"
#include "names/given_files.h"
#include "names/jit_code.h"
#include "names/memory_known.h"
#include "names/memory_pace.h"
#include "names/runtime_files.h"
#include "names/symbol.h"
#include "names/target_door.h"
#include "parse/memory_names.h"

/* While fleeting bodies come and go in a process its finalizer is looked at so often: as exactly is
 * known since when it has not run. Those of most services stay, and two readings name what lies
 * between them. */
#define MARK_NS		15000000ull
#define MARK_IN_DEBT_NS 200000000ull
/* Looks at all of them in one go: some 20 us each. */
#define MARKS_NS 3000000ull
/* What is sampled meanwhile is to be asked for within a part of the time in which it stays: of the
 * usual time between two runs of the finalizer, those within one of its bursts left out. Not more
 * often than that, since each reading costs some 0.5 ms; nor much later, and a party that has used
 * up its allowance gets none anyway. */
#define SOON_PART	20u
#define SOON_LEAST_NS	20000000ull
#define SOON_MOST_NS	100000000ull
#define SOON_IN_DEBT_NS 400000000ull
/* Bodies that are listed at once: some 30 us of a worker each. */
#define LIST_MAX 512u
/* Where there are more, they come and go, or are for ever: what is sampled is asked for. */
#define LIST_AGAIN_NS 10000000000ull
/* The runtime's file, those of modules, and some that were mapped anew meanwhile. */
#define ROUNDS_MAX 8u
/* In such a span: a service that starts asks for other modules each time. */
#define ROUNDS_NS 1000000000ull
/* Jobs that hang, after which no file is read, and none of its memory: each may cost a worker. */
#define HUNG_FILES 2u
#define HUNG_MAX   4u
/* Of all processes at a time: what each holds in its socket, 67 descriptors, counts as root's. */
#define JOBS_MAX 8u
/* What is asked for is looked through for bodies that may wait up to that number. */
#define WAIT_MAX      1024u
#define FINDS_MAX     4u
#define FIND_AGAIN_NS 300000000ull
/* Other failures: after twice as long each time, some 40 s in the end. */
#define FIND_DOUBLED_MAX 7u

struct process_memory {
	struct perfmap_memory_facts facts; /* of its runtime, as far as it was found */
	struct given_files given;
	unsigned rounds;	  /* in a row that missed a file that was new, ... */
	uint64_t rounds_ns;	  /* ... since then */
	unsigned hung;		  /* jobs */
	enum model_reason reason; /* why its memory tells nothing; NAMED = it does, or may */
	unsigned finds;
	uint64_t find_again_ns;
	struct memory_known known;
	struct calms calms;
	struct workers_job *job;
	uint32_t job_calm; /* the calm in which it began, CALM_NONE = in none */
	uint64_t job_ns;   /* when it began; of the last one, too */
	uint64_t begun_ns; /* that of the first one */
	uint32_t tgid;
	uint64_t churn_ns; /* when one was met last that was not there when they were listed */
	bool is_kept;	   /* jit_memory_keep() */
	bool has_fleeting; /* bodies, once at least */
	bool is_listed;	   /* once, whole */
	bool lists;	   /* bodies that may not stay are to be listed, to be known before they
			    * are sampled */
	uint64_t list_again_ns; /* not before */
	uint64_t unpaid_ns;	/* CPU time of marks */
	bool is_in_debt;
	size_t counted_bytes; /* of it, in the sum */
	uint64_t changed_ns;
	uint32_t generation;
};

struct jit_memory {
	const struct sources *sources;
	struct jit_code *code;
	struct process_memory **processes; /* by row; NULL = nothing */
	size_t processes_cnt, processes_cap;
	size_t bytes;	    /* of all of them */
	unsigned jobs;	    /* that wait or run */
	size_t first;	    /* whose turn is the next one */
	size_t next;	    /* whose mark is first at the next poll */
	uint64_t marked_ns; /* wall time of marks since jit_memory_poll() or work() began */
	bool hurries;
};

struct jit_memory *jit_memory_new(const struct sources *sources, struct jit_code *code)
{
	struct jit_memory *jm = calloc(1, sizeof(*jm));

	if (!jm)
		return NULL;
	jm->sources = sources;
	jm->code = code;
	return jm;
}

static struct process_memory *memory_of(const struct jit_memory *jm, uint32_t process)
{
	return process < jm->processes_cnt ? jm->processes[process] : NULL;
}

static struct process_memory *memory_new(struct jit_memory *jm, uint32_t process)
{
	while (jm->processes_cnt <= process) {
		if (GROW(jm->processes, jm->processes_cnt, jm->processes_cap))
			return NULL;
		jm->processes[jm->processes_cnt++] = NULL;
	}
	if (!jm->processes[process])
		jm->processes[process] = calloc(1, sizeof(struct process_memory));
	return jm->processes[process];
}

static size_t bytes_of(const struct process_memory *p)
{
	return sizeof(*p) + memory_known_bytes(&p->known);
}

/* After it changed. */
static void count_bytes(struct jit_memory *jm, struct process_memory *p)
{
	size_t bytes = bytes_of(p);

	jm->bytes += bytes - p->counted_bytes;
	p->counted_bytes = bytes;
}

size_t jit_memory_bytes(const struct jit_memory *jm)
{
	return jm->bytes;
}

/* --- what is known ---------------------------------------------------------------------------- */

static enum model_reason ask(struct process_memory *p, uint64_t address)
{
	return memory_known_want(&p->known, address) ? REASON_PENDING : REASON_LIMIT;
}

static enum model_reason name_fleeting(struct process_memory *p, uint64_t address, uint64_t time_ns,
				       const struct known_body *b, struct jit_memory_name *ret_name)
{
	/* Nobody would tell that it ended. */
	if (!memory_known_keep_place(&p->known, &p->calms, address, b))
		return REASON_LIMIT;
	*ret_name = (struct jit_memory_name){b->symbol, b->tier, b->from_ns, 0};
	if (memory_known_is_now(&p->calms, b) && time_ns >= p->calms.since_ns)
		ret_name->calm_ns = p->calms.since_ns;
	return REASON_NAMED;
}

enum model_reason jit_memory_find(struct jit_memory *jm, uint32_t process, uint64_t address,
				  uint64_t time_ns, struct jit_memory_name *ret_name)
{
	struct process_memory *p = memory_new(jm, process);
	const struct known_answer *a;
	const struct known_body *b;
	enum model_reason reason;

	if (!p)
		return REASON_LIMIT;
	b = memory_known_body(&p->known, address);
	if (b && !b->is_fleeting) {
		*ret_name = (struct jit_memory_name){b->symbol, b->tier, 0, 0};
		return REASON_NAMED;
	}
	if (b && time_ns >= b->from_ns && time_ns <= memory_known_until(&p->calms, b))
		return name_fleeting(p, address, time_ns, b, ret_name);
	if (p->reason)
		return p->reason;
	/* What was read after the sample knows no more than that. */
	if (b && time_ns < b->from_ns)
		return REASON_MEMORY_LATE;
	a = b ? NULL : memory_known_answer(&p->known, address);
	if (a && a->read_ns >= time_ns)
		return a->reason;
	reason = ask(p, b ? b->start : address);
	count_bytes(jm, p);
	return reason;
}

/* --- what may have changed -------------------------------------------------------------------- */

static void mark(struct jit_memory *jm, struct process_memory *p)
{
	uint64_t now_ns = clock_now_ns(), since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), until_ns;

	if (calms_look(&p->calms, jm->sources->requests->proc_path, p->tgid, now_ns, &until_ns)) {
		memory_known_begin_calm(&p->known, until_ns);
		p->generation++;
		p->changed_ns = now_ns;
	}
	p->unpaid_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns;
	jm->marked_ns += clock_now_ns() - now_ns;
}

static void close_gaps(struct model *m, uint32_t process, struct process_memory *p, bool all)
{
	memory_known_close_gaps(&p->known, &p->calms, m, process, p->generation, all);
}

void jit_memory_keep(struct jit_memory *jm, const struct model *m, uint32_t process)
{
	struct process_memory *p = memory_new(jm, process);

	if (!p || p->is_kept)
		return;
	p->is_kept = p->lists = true;
	p->tgid = m->processes[process].tgid;
	mark(jm, p);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Code that the runtime knows: of an image of it, or of what it runs. */
static uint64_t image_of(const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];

	for (size_t i = 0; i < p->mapping_cnt; i++) {
		const struct model_mapping *map = &p->mappings[i];

		if (map->kind == MAPPING_FILE && !map->to_ns &&
		    symbol_is_image(m->modules[map->module].path))
			return map->start;
	}
	return 0;
}

/* What a request for the memory came to. */
static enum model_reason reason_of(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return REASON_MEMORY_DENIED;
	case -ESRCH:
		return REASON_PROCESS_GONE;
	case -ENOENT:
	case -ENOTSUP:
		return REASON_RUNTIME_SILENT;
	default: /* too many descriptors, no memory: ours */
		return REASON_LIMIT;
	}
}

static enum model_reason begin(struct jit_memory *jm, const struct model *m, uint32_t process,
			       struct process_memory *p)
{
	static struct parse_request parse; /* large; one thread */
	struct parse_memory *memory = &parse.memory;
	enum model_reason reason;
	uint64_t since_ns;
	int fd, error;

	memset(&parse, 0, sizeof(parse));
	parse.kind = PARSE_MEMORY;
	reason = target_door_open(jm->sources, m, process, p->given.files, p->given.cnt, &fd,
				  &error);
	if (reason)
		return error ? reason_of(error) : reason;
	memory->facts = p->facts;
	memory->given_cnt = p->given.cnt;
	memcpy(memory->given, p->given.files, p->given.cnt * sizeof(memory->given[0]));
	memory->list = p->lists ? LIST_MAX : 0;
	/* All of its mappings are looked through. */
	since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!p->facts.descriptor)
		memory->files_cnt = runtime_files(m, process, memory->files);
	if (!p->facts.has_layout || (p->facts.layout.hides_map && !p->facts.code_map))
		memory->facts.image = image_of(m, process);
	file_requests_charge(jm->sources->requests, m, process, since_ns);
	memory->addresses_cnt = p->known.wanted_cnt < PARSE_ADDRESSES_MAX
					? (uint32_t)p->known.wanted_cnt
					: PARSE_ADDRESSES_MAX;
	if (memory->addresses_cnt)
		memcpy(memory->addresses, p->known.wanted,
		       memory->addresses_cnt * sizeof(*p->known.wanted));
	p->job = file_requests_job_new(jm->sources->requests, m, process, &parse);
	if (!p->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(p->job, fd);
	jm->jobs++;
	p->known.asked = memory->addresses_cnt;
	p->job_calm = calms_now(&p->calms);
	p->job_ns = p->calms.mark_ns;
	if (!p->begun_ns)
		p->begun_ns = p->job_ns;
	file_requests_job_begin(jm->sources->requests, p->job, WORKERS_BRIEF);
	return REASON_NAMED;
}

static const char *text_at(const char *text, size_t len, uint32_t at)
{
	return at < len ? text + at : "";
}

static uint32_t symbol_of(struct model *m, const struct memory_name *row, const char *text,
			  size_t len)
{
	const struct parse_named *named = &row->named;
	const char *assembly = text_at(text, len, named->assembly);
	struct model_symbol symbol = {
		.name = text_at(text, len, named->display),
		.raw = text_at(text, len, named->raw),
		.module = *assembly	   ? assembly
			  : named->is_stub ? "[stubs]"
					   : "[jit]",
		.kind = named->is_stub	      ? KIND_STUB
			: row->is_precompiled ? KIND_IMAGE
					      : KIND_JIT,
		.application = !named->is_framework,
	};

	return model_symbol_get(m, &symbol);
}

/* Why a row names nothing. */
static enum model_reason reason_of_row(struct model *m, uint32_t process,
				       const struct memory_name *row, uint64_t address)
{
	const struct model_mapping *map;

	if (row->named.reason)
		return row->named.reason < REASON_CNT ? (enum model_reason)row->named.reason
						      : REASON_FILE_MALFORMED;
	if (!row->is_unlisted)
		return REASON_NAMED;
	map = model_mapping_find(m, process, address, UINT64_MAX);
	return map && map->kind == MAPPING_JIT ? REASON_NAMED : REASON_MEMORY_NO_CODE;
}

/* What a row says, of a job that ended in the calm that it began in, or not: then it was read
 * between its beginning and the last mark, and two readings that say the same name what lies
 * between them, one names nothing. */
static void take_row(struct jit_memory *jm, struct process_memory *p, struct model *m,
		     uint32_t process, const struct memory_name *row, uint64_t address,
		     const char *text, size_t len)
{
	struct code_range range = {.start = row->start, .size = row->size};
	bool is_calm = p->job_calm != CALM_NONE && p->job_calm == calms_now(&p->calms);
	struct known_body body = {
		.start = row->size ? row->start : address,
		.size = row->size ? row->size : 1,
		.tier = model_str(m, text_at(text, len, row->named.tier)),
		.symbol = symbol_of(m, row, text, len),
		.is_fleeting = row->is_fleeting,
		.calm = is_calm ? p->job_calm : CALM_NONE,
		.from_ns = is_calm ? p->calms.since_ns : p->calms.mark_ns,
		.until_ns = is_calm ? p->calms.mark_ns : p->job_ns,
	};

	if (body.symbol == MODEL_NONE || !memory_known_keep_body(&p->known, &body))
		return;
	if (body.is_fleeting && p->is_listed)
		p->churn_ns = p->calms.mark_ns;
	if (row->size && jm->code)
		jit_code_add(jm->code, process, &range, 1);
}

static bool is_answered(const struct process_memory *p, uint64_t address)
{
	const struct known_answer *a = memory_known_answer(&p->known, address);

	return a && a->read_ns >= p->job_ns;
}

/* again: what could not be read for want of a file may be read now. Returns how many addresses are
 * to be asked again; they are the first ones then. */
static size_t take(struct jit_memory *jm, struct process_memory *p, struct model *m,
		   uint32_t process, bool again)
{
	static bool is_again[PARSE_ADDRESSES_MAX];
	const struct memory_name *rows = NULL;
	const char *text = NULL;
	size_t bytes, cnt = 0, len = 0, again_cnt = 0;
	int fd = workers_job_take_result(p->job, &bytes);
	struct blob *blob = fd < 0 ? NULL : memory_names_read(fd, bytes, &rows, &cnt, &text, &len);

	memset(is_again, 0, sizeof(is_again));
	p->lists = false;
	if (cnt >= p->known.asked + LIST_MAX)
		p->list_again_ns = p->calms.mark_ns + LIST_AGAIN_NS;
	/* Beyond the room of all nothing more is learnt of anybody. */
	if (jit_memory_bytes(jm) > JIT_MEMORY_BYTES)
		cnt = 0;
	for (size_t i = 0; i < cnt && i < p->known.asked + LIST_MAX; i++) {
		const struct memory_name *row = &rows[i];
		uint64_t address = i < p->known.asked ? p->known.wanted[i] : row->start;
		enum model_reason reason = reason_of_row(m, process, row, address);

		if (reason == REASON_PENDING && again) {
			if (i < p->known.asked)
				is_again[i] = true;
			else
				p->lists = true;
			continue;
		}
		if (reason == REASON_PENDING)
			reason = p->rounds > ROUNDS_MAX ? REASON_LIMIT : REASON_MEMORY_NO_NAME;
		if (!reason && row->size && address - row->start >= row->size)
			reason = REASON_FILE_MALFORMED;
		if (reason && i < p->known.asked)
			memory_known_keep_answer(&p->known, address, p->job_ns, reason);
		if (reason)
			continue;
		/* Another one than was known: so there are others. */
		p->lists |= i < p->known.asked && row->is_fleeting &&
			    p->calms.mark_ns >= p->list_again_ns &&
			    !memory_known_body(&p->known, address);
		p->has_fleeting |= row->is_fleeting;
		take_row(jm, p, m, process, row, address, text, len);
	}
	memory_known_merge(&p->known, &p->calms);
	p->is_listed |= !again;
	for (size_t i = 0; i < p->known.asked; i++)
		if (is_again[i])
			p->known.wanted[again_cnt++] = p->known.wanted[i];
		else if (!memory_known_body(&p->known, p->known.wanted[i]) &&
			 !is_answered(p, p->known.wanted[i]))
			memory_known_keep_answer(&p->known, p->known.wanted[i], p->job_ns,
						 REASON_LIMIT);
	blob_free(blob);
	return again_cnt;
}

static void end_job(struct jit_memory *jm, uint32_t process, struct process_memory *p)
{
	if (p->job) {
		file_requests_job_end(jm->sources->requests, process, p->job);
		jm->jobs--;
	}
	p->job = NULL;
	p->known.asked = 0;
}

/* Its memory tells nothing. */
static void give_up(struct process_memory *p, enum model_reason reason)
{
	p->reason = reason;
	memory_known_want_none(&p->known);
	p->generation++;
}

/* A runtime that is not found may be a little later, while it starts; and what a busy host had no
 * time or no room for, it may have again. */
static void note_failure(struct process_memory *p, enum model_reason reason)
{
	bool is_final = reason == REASON_MEMORY_DENIED || reason == REASON_PROCESS_GONE ||
			(reason == REASON_RUNTIME_SILENT && p->finds + 1 >= FINDS_MAX);

	if (is_final) {
		give_up(p, reason);
		return;
	}
	p->find_again_ns =
		clock_now_ns() +
		(FIND_AGAIN_NS << (p->finds < FIND_DOUBLED_MAX ? p->finds : FIND_DOUBLED_MAX));
	p->finds++;
}

/* Whether what a job missed for want of files may be had with those that it named. */
static bool missed_files(struct process_memory *p, const struct parse_reply *reply)
{
	bool is_new = given_files_take(&p->given, reply->given_used,
				       &(struct given_needs){reply->needs, reply->needs_cnt,
							     reply->wanting}) > 0;

	if (p->hung >= HUNG_FILES) {
		p->given.cnt = 0;
		is_new = false;
	}
	if (p->calms.mark_ns - p->rounds_ns >= ROUNDS_NS) {
		p->rounds_ns = p->calms.mark_ns;
		p->rounds = 0;
	}
	p->rounds = is_new ? p->rounds + 1 : 0;
	return is_new && p->rounds <= ROUNDS_MAX;
}

/* What it has mapped did not answer, and a worker may stay behind in that for ever: it is not read
 * again. */
static void note_hung(struct process_memory *p)
{
	p->hung++;
	if (p->hung >= HUNG_FILES)
		p->given.cnt = 0;
	if (p->hung >= HUNG_MAX)
		give_up(p, REASON_FILE_TIMEOUT);
}

/* After the last reading of a process, how long that of an address may wait. */
static uint64_t wait_of(const struct process_memory *p, uint64_t address)
{
	const struct known_body *b = memory_known_body(&p->known, address);

	if (!b)
		return memory_pace_new(p->calms.mark_ns, p->begun_ns, p->churn_ns);
	return b->is_fleeting ? memory_pace_fleeting(rise_of(p->calms.mark_ns, b->from_ns)) : 0;
}

/* Whether all that is asked for may. */
static bool may_wait(const struct jit_memory *jm, const struct process_memory *p)
{
	uint64_t passed_ns = rise_of(p->calms.mark_ns, p->job_ns);

	if (jm->hurries || p->lists || p->known.wanted_cnt > WAIT_MAX ||
	    passed_ns >= MEMORY_STEADY_READ_MOST_NS)
		return false;
	for (size_t i = 0; i < p->known.wanted_cnt; i++)
		if (passed_ns >= wait_of(p, p->known.wanted[i]))
			return false;
	return true;
}

/* What is known by now to be there still is not read again. */
static void drop_known(struct process_memory *p)
{
	size_t kept = 0;

	if (p->job || !p->has_fleeting)
		return;
	for (size_t i = 0; i < p->known.wanted_cnt; i++) {
		const struct known_body *b = memory_known_body(&p->known, p->known.wanted[i]);

		if (!b || (b->is_fleeting && !memory_known_is_now(&p->calms, b)))
			p->known.wanted[kept++] = p->known.wanted[i];
	}
	p->known.wanted_cnt = kept;
	memory_known_drop_asked(&p->known, 0);
}

/* Whether there is something to be read now. */
static bool may_begin(const struct jit_memory *jm, struct process_memory *p)
{
	if (p->job || !(p->known.wanted_cnt || p->lists) || p->calms.mark_ns < p->find_again_ns ||
	    p->is_in_debt || jm->jobs >= JOBS_MAX || may_wait(jm, p))
		return false;
	drop_known(p);
	return p->known.wanted_cnt || p->lists;
}

/* Takes what came, unless it is being read still. */
static void finish(struct jit_memory *jm, struct model *m, uint32_t process,
		   struct process_memory *p)
{
	struct file_requests *requests = jm->sources->requests;
	const struct parse_reply *reply = NULL;
	enum model_reason reason = file_requests_job_wait(
		requests, p->job, file_requests_party(requests, m, process), &reply);
	uint64_t since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool again;

	if (reason == REASON_PENDING)
		return;
	mark(jm, p);
	again = reply && missed_files(p, reply);
	if (!reason || again)
		p->facts = reply->facts;
	if (!reason) {
		p->finds = 0;
		if (jm->code)
			jit_code_runtime(jm->code, process, &p->facts);
		memory_known_drop_asked(&p->known, take(jm, p, m, process, again));
		p->generation++;
	}
	file_requests_charge(requests, m, process, since_ns);
	end_job(jm, process, p);
	if (reason == REASON_FILE_TIMEOUT)
		note_hung(p);
	if (reason && !again && !p->reason)
		note_failure(p, reason);
	/* At once, since it has cost a round already; if it cannot be had now, then later. */
	if (again && may_begin(jm, p))
		begin(jm, m, process, p);
}

static void work(struct jit_memory *jm, struct model *m, uint32_t process, struct process_memory *p)
{
	uint64_t deferred = jm->sources->requests->deferred;
	enum model_reason reason = REASON_NAMED;

	p->tgid = m->processes[process].tgid;
	p->is_in_debt = file_requests_in_debt(jm->sources->requests, m, process);
	if (!p->job && !p->known.wanted_cnt && !p->has_fleeting && !p->lists)
		return;
	/* Nobody asks: its turn comes again. */
	if (!p->job && !p->known.wanted_cnt && !p->lists && jm->marked_ns >= MARKS_NS)
		return;
	mark(jm, p);
	if (may_begin(jm, p))
		reason = begin(jm, m, process, p);
	/* What cannot be had now because of a budget may be had later. */
	if (reason == REASON_RUNTIME_SILENT)
		give_up(p, reason); /* its memory cannot be opened */
	else if (reason && jm->sources->requests->deferred == deferred)
		note_failure(p, reason);
	if (p->job)
		finish(jm, m, process, p);
	close_gaps(m, process, p, p->reason != REASON_NAMED);
	file_requests_charge_ns(jm->sources->requests, m, process, p->unpaid_ns);
	p->unpaid_ns = 0;
	count_bytes(jm, p);
}

void jit_memory_work(struct jit_memory *jm, struct model *m)
{
	jm->marked_ns = 0;
	for (size_t i = 0; i < jm->processes_cnt; i++) {
		size_t row = (jm->first + i) % jm->processes_cnt;

		if (jm->processes[row] && !jm->processes[row]->reason)
			work(jm, m, (uint32_t)row, jm->processes[row]);
	}
	if (jm->processes_cnt)
		jm->first = (jm->first + 1) % jm->processes_cnt;
}

void jit_memory_settle(struct jit_memory *jm, struct model *m)
{
	for (uint32_t i = 0; i < jm->processes_cnt; i++)
		if (jm->processes[i])
			close_gaps(m, i, jm->processes[i], true);
}

void jit_memory_hurry(struct jit_memory *jm)
{
	jm->hurries = true;
}

struct perfmap_memory_facts jit_memory_facts(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p ? p->facts : (struct perfmap_memory_facts){0};
}

enum model_reason jit_memory_reason(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p ? p->reason : REASON_NAMED;
}

void jit_memory_note_hung(struct jit_memory *jm, uint32_t process)
{
	struct process_memory *p = memory_new(jm, process);

	if (!p)
		return;
	note_hung(p);
	count_bytes(jm, p);
}

bool jit_memory_names(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p && p->known.bodies_cnt;
}

/* Something of it is being read, or may be now. */
static bool is_busy(const struct process_memory *p, uint64_t now_ns)
{
	return p->job || (!p->reason && !p->is_in_debt && now_ns >= p->find_again_ns &&
			  (p->known.wanted_cnt || p->lists));
}

bool jit_memory_is_busy(const struct jit_memory *jm)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < jm->processes_cnt; i++)
		if (jm->processes[i] && is_busy(jm->processes[i], now_ns))
			return true;
	return false;
}

static uint64_t soon_of(const struct process_memory *p)
{
	uint64_t ns = p->calms.usual_ns / SOON_PART;

	if (p->is_in_debt)
		return SOON_IN_DEBT_NS;
	return !ns || ns > SOON_MOST_NS ? SOON_MOST_NS : ns < SOON_LEAST_NS ? SOON_LEAST_NS : ns;
}

uint64_t jit_memory_soon_ns(const struct jit_memory *jm)
{
	uint64_t now_ns = clock_now_ns(), soon_ns = UINT64_MAX;

	for (size_t i = 0; i < jm->processes_cnt; i++) {
		const struct process_memory *p = jm->processes[i];

		if (p && !p->reason && now_ns - p->churn_ns < MEMORY_CHURN_NS &&
		    soon_of(p) < soon_ns)
			soon_ns = soon_of(p);
	}
	return soon_ns;
}

bool jit_memory_poll(struct jit_memory *jm)
{
	uint64_t now_ns = clock_now_ns();
	size_t cnt = jm->processes_cnt, first = jm->next;
	bool again = false;

	jm->marked_ns = 0;
	for (size_t i = 0; i < cnt; i++) {
		size_t row = (first + i) % cnt;
		struct process_memory *p = jm->processes[row];

		if (!p || p->reason || now_ns - p->churn_ns >= MEMORY_CHURN_NS)
			continue;
		again = true;
		if (now_ns - p->calms.mark_ns < (p->is_in_debt ? MARK_IN_DEBT_NS : MARK_NS))
			continue;
		if (jm->marked_ns >= MARKS_NS) {
			jm->next = row;
			break;
		}
		mark(jm, p);
	}
	return again;
}

uint32_t jit_memory_generation(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p ? p->generation : 0;
}

uint64_t jit_memory_changed_ns(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p && p->known.places_cnt ? p->changed_ns : 0;
}

void jit_memory_forget(struct jit_memory *jm, struct model *m, uint32_t process)
{
	struct process_memory *p = memory_of(jm, process);

	if (!p)
		return;
	close_gaps(m, process, p, true);
	end_job(jm, process, p);
	memory_known_clear(&p->known);
	jm->bytes -= p->counted_bytes;
	free(p);
	jm->processes[process] = NULL;
}

void jit_memory_free(struct jit_memory *jm)
{
	if (!jm)
		return;
	for (size_t i = 0; i < jm->processes_cnt; i++) {
		struct process_memory *p = jm->processes[i];

		if (!p)
			continue;
		p->known.places_cnt = 0;
		jit_memory_forget(jm, NULL, (uint32_t)i);
	}
	free(jm->processes);
	free(jm);
}
