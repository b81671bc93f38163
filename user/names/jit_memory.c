/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/jit_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/process_state.h"
#include "base/rise.h"
#include "names/given_files.h"
#include "names/jit_code.h"
#include "names/memory_pace.h"
#include "names/runtime_files.h"
#include "names/symbol.h"
#include "names/target_door.h"
#include "parse/memory_names.h"
#include "process/thread_named.h"

#define FINALIZER ".NET Finalizer"
/* Its thread is looked for again after so long. */
#define FINALIZER_AGAIN_NS 100000000ull
/* Then after twice as long each time, some 13 s in the end. */
#define FINALIZER_DOUBLED_MAX 7u
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
#define SOON_PART	 20u
#define SOON_LEAST_NS	 20000000ull
#define SOON_MOST_NS	 100000000ull
#define SOON_IN_DEBT_NS	 400000000ull
#define CALM_SHORTEST_NS 20000000ull
/* Bodies that are listed at once: some 30 us of a worker each. */
#define LIST_MAX 512u
/* Where there are more, they come and go, or are for ever: what is sampled is asked for. */
#define LIST_AGAIN_NS 10000000000ull
#define CALM_NONE     UINT32_MAX
/* The runtime's file, those of modules, and some that were mapped anew meanwhile. */
#define ROUNDS_MAX 8u
/* In such a span: a service that starts asks for other modules each time. */
#define ROUNDS_NS 1000000000ull
/* Jobs that hang, after which no file is read, and none of its memory: each may cost a worker. */
#define HUNG_FILES 2u
#define HUNG_MAX   4u
/* Of all processes at a time: what each holds in its socket, 67 descriptors, counts as root's. */
#define JOBS_MAX 8u
/* Calms of which the end is remembered. */
#define CALM_ENDS 64u
/* Beyond so many bodies those are dropped that may not stay and were last read so long ago. */
#define STALE_BODIES 16384u
#define STALE_NS     60000000000ull
/* What is asked for is looked through for bodies that may wait up to that number. */
#define WAIT_MAX 1024u
/* Who was not sampled again is not waited for longer. */
#define GAP_NS	      10000000000ull
#define FINDS_MAX     4u
#define FIND_AGAIN_NS 300000000ull
/* Other failures: after twice as long each time, some 40 s in the end. */
#define FIND_DOUBLED_MAX 7u

/* A body as it was read. */
struct body {
	uint64_t start;
	uint32_t size;
	uint32_t symbol; /* row */
	const char *tier;
	bool is_fleeting;
	uint32_t calm;		    /* of it: the calm in which it was read last */
	uint64_t from_ns, until_ns; /* of it: it lay there all that time, if there is any */
};

/* An address at which there was nothing that has a name. */
struct answer {
	uint64_t address, read_ns;
	enum model_reason reason;
};

/* An address that has the name of a fleeting body. */
struct place {
	uint64_t address;
	uint32_t symbol;
	uint64_t gap_ns; /* since then it may have another one; 0 = it has not */
	bool is_used;	 /* it was sampled in this calm */
};

struct process_memory {
	struct perfmap_memory_facts facts; /* of its runtime, as far as it was found */
	struct given_files given;
	unsigned rounds;	  /* in a row that missed a file that was new, ... */
	uint64_t rounds_ns;	  /* ... since then */
	unsigned hung;		  /* jobs */
	enum model_reason reason; /* why its memory tells nothing; NAMED = it does, or may */
	unsigned finds;
	uint64_t find_again_ns;
	struct body *bodies; /* by start */
	size_t bodies_cnt, bodies_cap;
	struct body *fresh; /* that a job told of, to be merged into them */
	size_t fresh_cnt, fresh_cap;
	struct answer *answers;
	size_t answers_cnt, answers_cap;
	struct hash_index answers_index;
	uint64_t *wanted;
	size_t wanted_cnt, wanted_cap, asked; /* those of the job are the first ones */
	struct hash_index wanted_index;
	struct place *places;
	size_t places_cnt, places_cap;
	struct hash_index places_index;
	uint32_t closed;    /* generation at which gaps were looked at last */
	uint64_t closed_ns; /* and when */
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
	/* The finalizer: its thread, and a number for each time in which it did not run, as far as
	 * that is known: since calm_ns, until mark_ns at least. */
	uint32_t finalizer; /* tid, 0 = not known */
	uint64_t finalizer_again_ns;
	unsigned finalizer_looks;
	struct process_turns turns;
	uint32_t calm;
	uint64_t calm_ns, mark_ns;
	uint64_t calm_ends_ns[CALM_ENDS]; /* of calms by their number */
	uint64_t unpaid_ns;		  /* CPU time of marks */
	uint64_t usual_ns;		  /* how long it does not run, as a rule; 0 = not known */
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
	return sizeof(*p) + p->bodies_cap * sizeof(*p->bodies) + p->fresh_cap * sizeof(*p->fresh) +
	       p->answers_cap * sizeof(*p->answers) + p->wanted_cap * sizeof(*p->wanted) +
	       p->places_cap * sizeof(*p->places) +
	       (p->answers_index.cap + p->wanted_index.cap + p->places_index.cap) *
		       sizeof(struct hash_slot);
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

/* Index of the first body that begins behind an address. */
static size_t body_behind(const struct process_memory *p, uint64_t address)
{
	size_t low = 0, high = p->bodies_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->bodies[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct body *find_body(const struct process_memory *p, uint64_t address)
{
	size_t i = body_behind(p, address);
	struct body *b = i ? &p->bodies[i - 1] : NULL;

	return b && address - b->start < b->size ? b : NULL;
}

static bool answer_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct process_memory *)owner)->answers[row].address ==
	       *(const uint64_t *)key;
}

static struct answer *find_answer(const struct process_memory *p, uint64_t address)
{
	uint32_t row = hash_find(&p->answers_index, hash_u64(address), answer_equal, p, &address);

	return row == HASH_NONE ? NULL : &p->answers[row];
}

static void keep_answer(struct process_memory *p, uint64_t address, uint64_t read_ns,
			enum model_reason reason)
{
	struct answer *a = find_answer(p, address);

	if (!a) {
		if (p->answers_cnt >= JIT_MEMORY_ANSWERS_MAX) {
			p->answers_cnt = 0;
			hash_clear(&p->answers_index);
		}
		if (GROW(p->answers, p->answers_cnt, p->answers_cap) ||
		    hash_add(&p->answers_index, hash_u64(address), (uint32_t)p->answers_cnt))
			return;
		a = &p->answers[p->answers_cnt++];
	}
	*a = (struct answer){address, read_ns, reason};
}

static bool wanted_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct process_memory *)owner)->wanted[row] == *(const uint64_t *)key;
}

static bool want(struct process_memory *p, uint64_t address)
{
	uint64_t hash = hash_u64(address);

	if (hash_find(&p->wanted_index, hash, wanted_equal, p, &address) != HASH_NONE)
		return true;
	if (p->wanted_cnt >= JIT_MEMORY_WANTED_MAX ||
	    GROW(p->wanted, p->wanted_cnt, p->wanted_cap) ||
	    hash_add(&p->wanted_index, hash, (uint32_t)p->wanted_cnt))
		return false;
	p->wanted[p->wanted_cnt++] = address;
	return true;
}

/* But for the first ones of them, which are asked again. */
static void drop_asked(struct process_memory *p, size_t again)
{
	memmove(p->wanted + again, p->wanted + p->asked,
		(p->wanted_cnt - p->asked) * sizeof(*p->wanted));
	p->wanted_cnt -= p->asked - again;
	p->asked = 0;
	hash_clear(&p->wanted_index);
	for (size_t i = 0; i < p->wanted_cnt; i++)
		hash_add(&p->wanted_index, hash_u64(p->wanted[i]), (uint32_t)i);
}

/* Whether a fleeting body is there as far as the calm goes. */
static bool is_known_now(const struct process_memory *p, const struct body *b)
{
	return b->calm == p->calm && p->calm_ns;
}

/* Until when a fleeting body is known to have been there. */
static uint64_t known_until(const struct process_memory *p, const struct body *b)
{
	uint64_t end_ns = b->calm == CALM_NONE || p->calm - b->calm > CALM_ENDS
				  ? 0
				  : p->calm_ends_ns[b->calm % CALM_ENDS];

	if (is_known_now(p, b))
		return p->mark_ns;
	return b->calm != p->calm && end_ns > b->until_ns ? end_ns : b->until_ns;
}

static bool place_equal(const void *owner, uint32_t row, const void *key)
{
	return ((const struct process_memory *)owner)->places[row].address ==
	       *(const uint64_t *)key;
}

static struct place *find_place(const struct process_memory *p, uint64_t address)
{
	uint32_t row = hash_find(&p->places_index, hash_u64(address), place_equal, p, &address);

	return row == HASH_NONE ? NULL : &p->places[row];
}

/* That an address has the name of a fleeting body, now or until it was read last. False: no
 * room. */
static bool keep_place(struct process_memory *p, uint64_t address, const struct body *b)
{
	struct place *place = find_place(p, address);

	if (!place) {
		if (p->places_cnt >= JIT_MEMORY_FLEETING_MAX ||
		    GROW(p->places, p->places_cnt, p->places_cap) ||
		    hash_add(&p->places_index, hash_u64(address), (uint32_t)p->places_cnt))
			return false;
		place = &p->places[p->places_cnt++];
		*place = (struct place){.address = address};
		if (!is_known_now(p, b))
			place->gap_ns = known_until(p, b) + 1;
	}
	place->symbol = b->symbol;
	place->is_used = true;
	return true;
}

static enum model_reason ask(struct process_memory *p, uint64_t address)
{
	return want(p, address) ? REASON_PENDING : REASON_LIMIT;
}

static enum model_reason name_fleeting(struct process_memory *p, uint64_t address, uint64_t time_ns,
				       const struct body *b, struct jit_memory_name *ret_name)
{
	/* Nobody would tell that it ended. */
	if (!keep_place(p, address, b))
		return REASON_LIMIT;
	*ret_name = (struct jit_memory_name){b->symbol, b->tier, b->from_ns, 0};
	if (is_known_now(p, b) && time_ns >= p->calm_ns)
		ret_name->calm_ns = p->calm_ns;
	p->closed = p->generation - 1; /* a gap may have come */
	return REASON_NAMED;
}

enum model_reason jit_memory_find(struct jit_memory *jm, uint32_t process, uint64_t address,
				  uint64_t time_ns, struct jit_memory_name *ret_name)
{
	struct process_memory *p = memory_new(jm, process);
	const struct answer *a;
	const struct body *b;
	enum model_reason reason;

	if (!p)
		return REASON_LIMIT;
	b = find_body(p, address);
	if (b && !b->is_fleeting) {
		*ret_name = (struct jit_memory_name){b->symbol, b->tier, 0, 0};
		return REASON_NAMED;
	}
	if (b && time_ns >= b->from_ns && time_ns <= known_until(p, b))
		return name_fleeting(p, address, time_ns, b, ret_name);
	if (p->reason)
		return p->reason;
	/* What was read after the sample knows no more than that. */
	if (b && time_ns < b->from_ns)
		return REASON_MEMORY_LATE;
	a = b ? NULL : find_answer(p, address);
	if (a && a->read_ns >= time_ns)
		return a->reason;
	reason = ask(p, b ? b->start : address);
	count_bytes(jm, p);
	return reason;
}

/* --- what may have changed -------------------------------------------------------------------- */

/* It may have run: what was fleeting may be gone. What was sampled since is asked for, since other
 * samples of it may have been given its name; the rest with its next sample. */
static void begin_calm(struct process_memory *p)
{
	p->calm_ends_ns[p->calm % CALM_ENDS] = p->calm_ns ? p->mark_ns : 0;
	for (size_t i = 0; i < p->places_cnt; i++) {
		struct place *place = &p->places[i];
		const struct body *b = find_body(p, place->address);

		if (!place->gap_ns)
			place->gap_ns = p->mark_ns + 1;
		if (place->is_used)
			want(p, b ? b->start : place->address);
		place->is_used = false;
	}
	/* CALM_NONE is none. */
	p->calm = p->calm + 1 == CALM_NONE ? 0 : p->calm + 1;
	p->generation++;
}

/* Its turns first, then whether it is in one: what runs after that is another turn. */
static struct process_turns turns_of(uint32_t tid)
{
	struct process_turns turns = process_turns_of((pid_t)tid);

	turns.runnable = process_is_runnable((pid_t)tid);
	return turns;
}

/* A calm ends. */
static void note_calm(struct process_memory *p)
{
	uint64_t ns = p->calm_ns ? p->mark_ns - p->calm_ns : 0;

	if (ns >= CALM_SHORTEST_NS)
		p->usual_ns = p->usual_ns ? (3 * p->usual_ns + ns) / 4 : ns;
}

/* Its thread, as soon as there is one; who has none is looked at less and less often. */
static void find_finalizer(const struct jit_memory *jm, struct process_memory *p, uint64_t now_ns)
{
	if (p->finalizer || now_ns < p->finalizer_again_ns)
		return;
	p->finalizer = thread_named(jm->sources->requests->proc_path, p->tgid, FINALIZER);
	p->finalizer_again_ns = now_ns + (FINALIZER_AGAIN_NS << p->finalizer_looks);
	if (p->finalizer_looks < FINALIZER_DOUBLED_MAX)
		p->finalizer_looks++;
}

/* Looks whether the finalizer ran since the last look. */
static void look_at_finalizer(const struct jit_memory *jm, struct process_memory *p,
			      uint64_t now_ns)
{
	struct process_turns turns;
	bool is_asleep;

	find_finalizer(jm, p, now_ns);
	turns = turns_of(p->finalizer);
	is_asleep = turns.turns && !turns.runnable;
	if (p->calm_ns && is_asleep && turns.turns == p->turns.turns) {
		p->mark_ns = now_ns;
		return;
	}
	note_calm(p);
	begin_calm(p);
	p->changed_ns = now_ns;
	p->turns = turns;
	p->mark_ns = now_ns;
	/* It may have run until just now. */
	p->calm_ns = is_asleep ? clock_now_ns() : 0;
}

static void mark(struct jit_memory *jm, struct process_memory *p)
{
	uint64_t now_ns = clock_now_ns(), since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	look_at_finalizer(jm, p, now_ns);
	p->unpaid_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - since_ns;
	jm->marked_ns += clock_now_ns() - now_ns;
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

static void tell_late(struct model *m, uint32_t process, const struct place *place)
{
	struct model_location location = {
		.process = process,
		.symbol = symbol_note(m, "[jit code]", KIND_JIT, REASON_MEMORY_LATE),
		.address = place->address,
		.from_ns = place->gap_ns,
		.older = MODEL_NONE,
		.tier = "",
	};

	if (location.symbol != MODEL_NONE)
		model_location_add(m, &location);
}

/* What lies at the places of fleeting bodies after the finalizer may have run: the same as before,
 * or from then on nobody knows. Those that were not read yet wait for a while, unless that is
 * all. */
static void close_gaps(struct model *m, uint32_t process, struct process_memory *p, bool all)
{
	size_t kept = 0, cnt = p->places_cnt;

	if (p->closed == p->generation && !all && p->mark_ns - p->closed_ns < GAP_NS / 4)
		return;
	for (size_t i = 0; i < cnt; i++) {
		struct place place = p->places[i];
		const struct body *b = find_body(p, place.address);
		const struct answer *a = b ? NULL : find_answer(p, place.address);
		bool is_read =
			b ? known_until(p, b) >= place.gap_ns : a && a->read_ns >= place.gap_ns;
		bool is_same = b && b->symbol == place.symbol && b->from_ns < place.gap_ns;
		bool is_over = all || (place.gap_ns && p->mark_ns >= place.gap_ns + GAP_NS);

		if (place.gap_ns && is_read && is_same) {
			place.gap_ns = is_known_now(p, b) ? 0 : known_until(p, b) + 1;
		} else if (place.gap_ns && (is_read || is_over)) {
			tell_late(m, process, &place);
			continue;
		}
		p->places[kept++] = place;
	}
	p->closed = p->generation;
	p->closed_ns = p->mark_ns;
	if (kept == cnt)
		return;
	p->places_cnt = kept;
	hash_clear(&p->places_index);
	for (size_t i = 0; i < kept; i++)
		hash_add(&p->places_index, hash_u64(p->places[i].address), (uint32_t)i);
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
	memory->addresses_cnt =
		p->wanted_cnt < PARSE_ADDRESSES_MAX ? (uint32_t)p->wanted_cnt : PARSE_ADDRESSES_MAX;
	if (memory->addresses_cnt)
		memcpy(memory->addresses, p->wanted, memory->addresses_cnt * sizeof(*p->wanted));
	p->job = file_requests_job_new(jm->sources->requests, m, process, &parse);
	if (!p->job) {
		close(fd);
		return REASON_LIMIT;
	}
	workers_job_give(p->job, fd);
	jm->jobs++;
	p->asked = memory->addresses_cnt;
	p->job_calm = p->calm_ns ? p->calm : CALM_NONE;
	p->job_ns = p->mark_ns;
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

static bool is_same(const struct body *a, const struct body *b)
{
	return a->start == b->start && a->size == b->size && a->symbol == b->symbol &&
	       a->tier == b->tier;
}

/* Whether it is another one than was known: then it waits to be merged. */
static bool keep_body(struct process_memory *p, const struct body *body)
{
	struct body *was = find_body(p, body->start);

	if (was && is_same(was, body)) {
		/* It was there all the time. */
		was->calm = body->calm;
		was->until_ns = body->until_ns;
		if (body->from_ns < was->from_ns)
			was->from_ns = body->from_ns;
		return false;
	}
	if (GROW(p->fresh, p->fresh_cnt, p->fresh_cap))
		return false;
	p->fresh[p->fresh_cnt++] = *body;
	return true;
}

static int compare_bodies(const void *a, const void *b)
{
	const struct body *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Of those that a job told of the first one at each place. */
static void sort_fresh(struct process_memory *p)
{
	uint64_t end = 0;
	size_t kept = 0;

	qsort(p->fresh, p->fresh_cnt, sizeof(*p->fresh), compare_bodies);
	for (size_t i = 0; i < p->fresh_cnt; i++) {
		if (p->fresh[i].start < end)
			continue;
		end = p->fresh[i].start + p->fresh[i].size;
		p->fresh[kept++] = p->fresh[i];
	}
	p->fresh_cnt = kept;
}

static bool is_stale(const struct process_memory *p, const struct body *b)
{
	return b->is_fleeting && !is_known_now(p, b) && b->until_ns + STALE_NS < p->mark_ns;
}

/* Takes in what a job told of, in one pass; what that lies over goes. */
static void merge_fresh(struct process_memory *p)
{
	size_t cnt = 0, from = 0, cap = p->bodies_cnt + p->fresh_cnt;
	bool is_full = p->bodies_cnt >= STALE_BODIES;
	struct body *all;

	if (!p->fresh_cnt)
		return;
	sort_fresh(p);
	all = malloc(cap * sizeof(*all));
	for (size_t i = 0; all && i <= p->fresh_cnt; i++) {
		const struct body *next = i < p->fresh_cnt ? &p->fresh[i] : NULL;

		for (; from < p->bodies_cnt &&
		       (!next || p->bodies[from].start < next->start + next->size);
		     from++) {
			const struct body *b = &p->bodies[from];

			if ((!next || b->start + b->size <= next->start) &&
			    (!is_full || !is_stale(p, b)))
				all[cnt++] = *b;
		}
		if (next)
			all[cnt++] = *next;
	}
	p->fresh_cnt = 0;
	if (!all || cnt > JIT_MEMORY_BODIES_MAX) {
		free(all);
		return;
	}
	free(p->bodies);
	p->bodies = all;
	p->bodies_cnt = cnt;
	p->bodies_cap = cap;
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
	bool is_calm = p->calm_ns && p->job_calm == p->calm;
	struct body body = {
		.start = row->size ? row->start : address,
		.size = row->size ? row->size : 1,
		.tier = model_str(m, text_at(text, len, row->named.tier)),
		.symbol = symbol_of(m, row, text, len),
		.is_fleeting = row->is_fleeting,
		.calm = is_calm ? p->calm : CALM_NONE,
		.from_ns = is_calm ? p->calm_ns : p->mark_ns,
		.until_ns = is_calm ? p->mark_ns : p->job_ns,
	};

	if (body.symbol == MODEL_NONE || !keep_body(p, &body))
		return;
	if (body.is_fleeting && p->is_listed)
		p->churn_ns = p->mark_ns;
	if (row->size && jm->code)
		jit_code_add(jm->code, process, &range, 1);
}

static bool is_answered(const struct process_memory *p, uint64_t address)
{
	const struct answer *a = find_answer(p, address);

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
	if (cnt >= p->asked + LIST_MAX)
		p->list_again_ns = p->mark_ns + LIST_AGAIN_NS;
	/* Beyond the room of all nothing more is learnt of anybody. */
	if (jit_memory_bytes(jm) > JIT_MEMORY_BYTES)
		cnt = 0;
	for (size_t i = 0; i < cnt && i < p->asked + LIST_MAX; i++) {
		const struct memory_name *row = &rows[i];
		uint64_t address = i < p->asked ? p->wanted[i] : row->start;
		enum model_reason reason = reason_of_row(m, process, row, address);

		if (reason == REASON_PENDING && again) {
			if (i < p->asked)
				is_again[i] = true;
			else
				p->lists = true;
			continue;
		}
		if (reason == REASON_PENDING)
			reason = p->rounds > ROUNDS_MAX ? REASON_LIMIT : REASON_MEMORY_NO_NAME;
		if (!reason && row->size && address - row->start >= row->size)
			reason = REASON_FILE_MALFORMED;
		if (reason && i < p->asked)
			keep_answer(p, address, p->job_ns, reason);
		if (reason)
			continue;
		/* Another one than was known: so there are others. */
		p->lists |= i < p->asked && row->is_fleeting && p->mark_ns >= p->list_again_ns &&
			    !find_body(p, address);
		p->has_fleeting |= row->is_fleeting;
		take_row(jm, p, m, process, row, address, text, len);
	}
	merge_fresh(p);
	p->is_listed |= !again;
	for (size_t i = 0; i < p->asked; i++)
		if (is_again[i])
			p->wanted[again_cnt++] = p->wanted[i];
		else if (!find_body(p, p->wanted[i]) && !is_answered(p, p->wanted[i]))
			keep_answer(p, p->wanted[i], p->job_ns, REASON_LIMIT);
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
	p->asked = 0;
}

/* Its memory tells nothing. */
static void give_up(struct process_memory *p, enum model_reason reason)
{
	p->reason = reason;
	p->wanted_cnt = 0;
	hash_clear(&p->wanted_index);
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
	if (p->mark_ns - p->rounds_ns >= ROUNDS_NS) {
		p->rounds_ns = p->mark_ns;
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
	const struct body *b = find_body(p, address);

	if (!b)
		return memory_pace_new(p->mark_ns, p->begun_ns, p->churn_ns);
	return b->is_fleeting ? memory_pace_fleeting(rise_of(p->mark_ns, b->from_ns)) : 0;
}

/* Whether all that is asked for may. */
static bool may_wait(const struct jit_memory *jm, const struct process_memory *p)
{
	uint64_t passed_ns = rise_of(p->mark_ns, p->job_ns);

	if (jm->hurries || p->lists || p->wanted_cnt > WAIT_MAX ||
	    passed_ns >= MEMORY_STEADY_READ_MOST_NS)
		return false;
	for (size_t i = 0; i < p->wanted_cnt; i++)
		if (passed_ns >= wait_of(p, p->wanted[i]))
			return false;
	return true;
}

/* What is known by now to be there still is not read again. */
static void drop_known(struct process_memory *p)
{
	size_t kept = 0;

	if (p->job || !p->has_fleeting)
		return;
	for (size_t i = 0; i < p->wanted_cnt; i++) {
		const struct body *b = find_body(p, p->wanted[i]);

		if (!b || (b->is_fleeting && (b->calm != p->calm || !p->calm_ns)))
			p->wanted[kept++] = p->wanted[i];
	}
	p->wanted_cnt = kept;
	drop_asked(p, 0);
}

/* Whether there is something to be read now. */
static bool may_begin(const struct jit_memory *jm, struct process_memory *p)
{
	if (p->job || !(p->wanted_cnt || p->lists) || p->mark_ns < p->find_again_ns ||
	    p->is_in_debt || jm->jobs >= JOBS_MAX || may_wait(jm, p))
		return false;
	drop_known(p);
	return p->wanted_cnt || p->lists;
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
		drop_asked(p, take(jm, p, m, process, again));
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
	if (!p->job && !p->wanted_cnt && !p->has_fleeting && !p->lists)
		return;
	/* Nobody asks: its turn comes again. */
	if (!p->job && !p->wanted_cnt && !p->lists && jm->marked_ns >= MARKS_NS)
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

bool jit_memory_names(const struct jit_memory *jm, uint32_t process)
{
	const struct process_memory *p = memory_of(jm, process);

	return p && p->bodies_cnt;
}

/* Something of it is being read, or may be now. */
static bool is_busy(const struct process_memory *p, uint64_t now_ns)
{
	return p->job || (!p->reason && !p->is_in_debt && now_ns >= p->find_again_ns &&
			  (p->wanted_cnt || p->lists));
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
	uint64_t ns = p->usual_ns / SOON_PART;

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
		if (now_ns - p->mark_ns < (p->is_in_debt ? MARK_IN_DEBT_NS : MARK_NS))
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

	return p && p->places_cnt ? p->changed_ns : 0;
}

void jit_memory_forget(struct jit_memory *jm, struct model *m, uint32_t process)
{
	struct process_memory *p = memory_of(jm, process);

	if (!p)
		return;
	close_gaps(m, process, p, true);
	end_job(jm, process, p);
	free(p->bodies);
	free(p->answers);
	free(p->wanted);
	free(p->places);
	free(p->fresh);
	hash_clear(&p->places_index);
	hash_clear(&p->answers_index);
	hash_clear(&p->wanted_index);
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
		p->places_cnt = 0;
		jit_memory_forget(jm, NULL, (uint32_t)i);
	}
	free(jm->processes);
	free(jm);
}
