/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "names/file_symbols.h"
#include "names/files.h"
#include "names/frames.h"
#include "names/holders.h"
#include "names/jit.h"
#include "names/jit_code.h"
#include "names/jit_memory.h"
#include "names/judged.h"
#include "names/kernel_names.h"
#include "names/name_cache.h"
#include "names/sources.h"
#include "names/symbol.h"
#include "names/vdso.h"
#include "opener/file_requests.h"
#include "opener/opener.h"
#include "process/facts.h"
#include "process/kept_directories.h"
#include "process/node.h"

#define DEADLINE_NS 300000000u

/* The metadata of the largest images, and the symbols of programs of 100 MB, need 40 MB. */
#define WORKER_BYTES_LEAST (48ull << 20)
#define WORKER_BYTES_MOST  (64ull << 20)

/* At the end of a recording, for files that are being read still: a moment for everybody's, and
 * longer while a party whose files they are has some of its allowance left, as on a full host. */
#define SETTLE_NS      1000000000ull
#define SETTLE_MOST_NS 15000000000ull
#define SETTLE_LOOK_NS 100000000ull
/* Without any progress: longer than what hangs is waited for, so that others have their turn. */
#define SETTLE_STALL_NS (WORKERS_BRIEF_NS + WORKERS_BRIEF_NS / 2)
/* Where nothing is being read: what could not be asked for a moment ago may be asked for. */
#define SETTLE_NAP_NS 20000000

struct names {
	struct file_requests requests;
	struct environs *environs;
	struct kept_directories *kept;
	struct sources sources;
	struct node *node;
	struct name_cache *cache;
	struct files *files;
	struct jit_code *code;	   /* NULL = nobody asks */
	struct jit_memory *memory; /* the same */
	struct jit *jit;
	struct kernel_names kernel;
	struct file_symbols symbols;
	struct frames frames;
	struct unwind_table *vdso_unwind; /* NULL = not read, or none */
	bool vdso_unwind_read;
	struct judged judged;
};

/* A worker is to hold what a table may take, and what it is made of. */
static uint64_t worker_bytes(size_t memory_bytes)
{
	uint64_t bytes = memory_bytes / 2;

	if (bytes < WORKER_BYTES_LEAST)
		return WORKER_BYTES_LEAST;
	return bytes < WORKER_BYTES_MOST ? bytes : WORKER_BYTES_MOST;
}

static struct workers_limits limits_of(size_t memory_bytes, const struct names_file_limits *file)
{
	memory_bytes = memory_bytes ? memory_bytes : NAMES_MEMORY_BYTES;
	return (struct workers_limits){
		.cpu_ns = file->cpu_ns,
		.wall_ns = file->wall_ns,
		.memory_bytes =
			file->memory_bytes ? file->memory_bytes : worker_bytes(memory_bytes),
	};
}

struct workers *names_workers(struct nursery *nursery, size_t memory_bytes,
			      const struct names_file_limits *file)
{
	struct workers_limits limits = limits_of(memory_bytes, file);

	return workers_new(nursery, parse_do, &limits);
}

void names_workers_limit(struct workers *workers, size_t memory_bytes,
			 const struct names_file_limits *file)
{
	struct workers_limits limits = limits_of(memory_bytes, file);

	workers_limit(workers, &limits);
}

static struct jit *jit_of(struct names *n, const struct names_options *options, size_t memory_bytes)
{
	const struct jit_options jit = {
		.sources = &n->sources,
		.cache = n->cache,
		.code = n->code,
		.memory = n->memory,
		.no_maps = options->from == NAMES_MEMORY,
		.later_ns = options->later_ns,
		.memory_bytes = memory_bytes,
	};

	return jit_new(&jit);
}

struct names *names_new(const struct names_options *options)
{
	size_t memory_bytes = options->memory_bytes ? options->memory_bytes : NAMES_MEMORY_BYTES;
	struct names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return NULL;
	err = file_requests_init_with(&n->requests, options->nursery, options->workers,
				      worker_bytes(memory_bytes), options->proc_path,
				      options->deadline_ns ? options->deadline_ns : DEADLINE_NS);
	n->environs = err ? NULL : environs_new(&n->requests);
	n->kept = n->environs ? kept_directories_new(&n->requests, n->environs) : NULL;
	n->sources = (struct sources){&n->requests, n->environs, n->kept, options->symbols};
	n->node = err ? NULL : node_new(&n->requests, options->node_root);
	n->files = err ? NULL : files_new(&n->sources, memory_bytes / 2);
	n->cache = err ? NULL : name_cache_new(&n->requests);
	n->code = options->unwinds && !err ? jit_code_new(&n->sources) : NULL;
	if (options->from != NAMES_MAP && !err)
		n->memory = jit_memory_new(&n->sources, n->code);
	n->jit = n->cache ? jit_of(n, options, memory_bytes / 2) : NULL;
	n->kernel.proc_path = n->requests.proc_path;
	n->symbols.requests = n->frames.requests = &n->requests;
	n->symbols.files = n->frames.files = n->files;
	n->symbols.cache = n->cache;
	n->frames.symbols = &n->symbols;
	n->frames.jit = n->jit;
	if (n->kept && n->node && n->files && n->jit && (n->code || !options->unwinds) &&
	    (n->memory || options->from == NAMES_MAP))
		return n;
	names_free(n);
	errno = err ? -err : ENOMEM;
	return NULL;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	files_free(n->files);
	jit_free(n->jit);
	jit_memory_free(n->memory);
	jit_code_free(n->code);
	name_cache_free(n->cache);
	kept_directories_free(n->kept);
	environs_free(n->environs);
	node_free(n->node);
	kernel_names_close(&n->kernel);
	file_symbols_close(&n->symbols);
	frames_close(&n->frames);
	unwind_table_free(n->vdso_unwind);
	file_requests_clear(&n->requests);
	judged_clear(&n->judged);
	free(n);
}

void names_process(struct names *n, struct model *m, uint32_t process)
{
	if (facts_read(&n->requests, m, process))
		node_name(n->node, m, process);
}

bool names_keep(struct names *n, struct model *m, uint32_t process)
{
	uint64_t deferred = n->requests.deferred;

	facts_note_runtime(m, process);
	kept_directories_keep(n->kept, m, process);
	return jit_keep(n->jit, m, process) && n->requests.deferred == deferred;
}

bool names_is_runtime(const char *path, size_t path_len)
{
	return facts_is_runtime(path, path_len, (uint8_t)model_mapping_kind_of(path, path_len));
}

void names_forget(struct names *n, struct model *m, uint32_t process)
{
	kept_directories_release(n->kept, process);
	jit_forget(n->jit, m, process, facts_replaced_ns(&m->processes[process]));
	environs_forget(n->environs, process);
	file_requests_forget(&n->requests, process);
}

void names_process_exec(struct names *n, struct model *m, uint32_t process)
{
	names_forget(n, m, process);
	if (facts_read_exec(&n->requests, m, process))
		node_name(n->node, m, process);
}

uint64_t names_kernel_text(struct names *n)
{
	return kernel_names_text(&n->kernel);
}

/* --- stacks ---------------------------------------------------------------------------------- */

void names_address(struct names *n, struct model *m, uint32_t process, uint64_t address,
		   uint64_t time_ns)
{
	frames_name(&n->frames, m, process, address, time_ns);
	/* A second time for a name that was taken apart meanwhile. */
	if (name_cache_flush(n->cache, m, true))
		frames_name(&n->frames, m, process, address, time_ns);
}

static void name_frames(struct names *n, struct model *m, const struct model_stack *stack,
			uint64_t time_ns)
{
	struct model_stack s = *stack;

	if (s.process != MODEL_NONE) {
		frames_name_stack(&n->frames, m, stack, time_ns);
		return;
	}
	for (uint32_t i = 0; i < s.frame_cnt; i++) {
		uint64_t address = model_stack_address(m, &s, i);

		if (model_location_find(m, MODEL_NONE, address, time_ns) == MODEL_NONE)
			kernel_names_add(&n->kernel, m, address, time_ns);
	}
}

void names_stack(struct names *n, struct model *m, uint32_t stack, uint64_t time_ns)
{
	uint32_t process = m->stacks[stack].process;

	/* A second time for names that were taken apart meanwhile. */
	name_frames(n, m, &m->stacks[stack], time_ns);
	if (name_cache_flush(n->cache, m, true))
		name_frames(n, m, &m->stacks[stack], time_ns);
	if (process != MODEL_NONE)
		judged_stack(&n->judged, m, stack, time_ns);
}

/* --- unwinding ------------------------------------------------------------------------------- */

/* Of the vdso, whose table came from no file. */
#define CONTENT_VDSO UINT64_MAX

static enum model_reason unwind_vdso(struct names *n, struct files_unwind *ret_found)
{
	if (!n->vdso_unwind_read) {
		n->vdso_unwind_read = true;
		n->vdso_unwind = vdso_load_unwind();
	}
	*ret_found = (struct files_unwind){.table = n->vdso_unwind, .content = CONTENT_VDSO};
	return n->vdso_unwind ? REASON_NAMED : REASON_NO_SYMBOL;
}

enum model_reason names_unwind(struct names *n, const struct model *m, uint32_t process,
			       const struct model_mapping *mapping, struct names_unwind *ret_unwind)
{
	uint64_t deferred = n->requests.deferred;
	struct files_unwind found;
	enum model_reason reason = mapping->kind == MAPPING_VDSO
					   ? unwind_vdso(n, &found)
					   : files_unwind(n->files, m, process, mapping, &found);
	const struct unwind_table *t;
	uint64_t bias;

	if (reason && n->requests.deferred != deferred)
		return REASON_PENDING;
	if (reason)
		return reason;
	t = found.table;
	if (!unwind_table_bias(t, mapping->start, mapping->file_offset - found.inside, &bias))
		return REASON_NO_SYMBOL;
	*ret_unwind = (struct names_unwind){
		.content = found.content,
		.bias = bias,
		.pages = t->pages,
		.rows = t->rows,
		.page_base = t->page_base,
		.page_cnt = t->page_cnt,
		.row_cnt = (uint32_t)t->rows_cnt,
	};
	return REASON_NAMED;
}

void names_unwind_begin(struct names *n, uint64_t ns)
{
	n->requests.until_ns = clock_now_ns() + ns;
}

void names_unwind_end(struct names *n)
{
	n->requests.until_ns = 0;
}

bool names_unwind_can_wait(const char *path)
{
	return symbol_is_image(path);
}

uint32_t names_code_generation(const struct names *n, uint32_t process)
{
	return n->code ? jit_code_generation(n->code, process) : 0;
}

void names_unwind_want(struct names *n, uint32_t process, uint64_t address)
{
	if (n->code)
		jit_code_want(n->code, process, address);
}

enum model_reason names_unwind_code(struct names *n, const struct model *m, uint32_t process)
{
	return n->code && jit_code_step(n->code, m, process) ? REASON_PENDING : REASON_NAMED;
}

size_t names_code_pages(const struct names *n, uint32_t process)
{
	size_t cnt = 0;

	if (n->code)
		jit_code_pages(n->code, process, &cnt);
	return cnt;
}

struct names_code_page names_code_page(const struct names *n, uint32_t process, size_t index)
{
	size_t cnt;
	const struct code_page *page = &jit_code_pages(n->code, process, &cnt)[index];

	return (struct names_code_page){page->number, page->rows, (uint32_t)page->cnt};
}

/* --------------------------------------------------------------------------------------------- */

bool names_is_alive(const struct names *n, const struct model *m, uint32_t process)
{
	struct target_process target = file_requests_target(&n->requests, m, process);
	_cleanup_close_ int fd = target_process_open(&target);

	return fd >= 0;
}

/* And the stacks that wait for them. */
static void name_again(struct names *n, struct model *m, bool settle)
{
	frames_name_again(&n->frames, m, settle);
	judged_again(&n->judged, m, false);
}

static bool is_aside(struct names *n, const struct model *m, uint32_t process)
{
	return workers_aside_cnt(n->requests.workers) &&
	       workers_is_aside(n->requests.workers, file_requests_party(&n->requests, m, process));
}

static void tell_costs(struct names *n, struct model *m)
{
	for (size_t i = 0; i < n->requests.costs_cnt; i++) {
		struct file_requests_cost *cost = &n->requests.costs[i];
		struct model_process *p = &m->processes[i];

		if (cost->cpu_ns && !p->names_aside_ns && is_aside(n, m, (uint32_t)i)) {
			p->names_aside_ns = clock_now_ns();
			cost->changed = true;
		}
		if (!cost->changed)
			continue;
		cost->changed = false;
		p->naming_cpu_ns = cost->cpu_ns;
		p->map_unread_bytes = cost->unread_bytes;
		p->files_refused = cost->refused;
		p->dirty = true;
	}
}

bool names_read(struct names *n, struct model *m)
{
	return jit_read(n->jit, m);
}

size_t names_waiting(const struct names *n)
{
	return jit_waiting(n->jit) + n->frames.again_cnt;
}

void names_await(struct names *n, uint64_t ns)
{
	workers_wait_any(n->requests.workers, ns);
}

bool names_is_reading(const struct names *n)
{
	return workers_is_busy(n->requests.workers);
}

bool names_holders(struct names *n, const struct model *m, struct holders_wait *waits, size_t cnt,
		   uint64_t debts_ns, uint64_t end_ns)
{
	return holders_find(&n->sources, n->memory, m, waits, cnt, debts_ns, end_ns);
}

bool names_poll(struct names *n)
{
	bool is_read = workers_poll(n->requests.workers);

	return (n->memory && jit_memory_poll(n->memory)) || is_read;
}

uint64_t names_soon_ns(const struct names *n)
{
	return n->memory ? jit_memory_soon_ns(n->memory) : UINT64_MAX;
}

uint64_t names_answers(const struct names *n)
{
	return workers_ended(n->requests.workers);
}

/* Frames that wait, by what maps, files and names are there by now. */
static void look_again(struct names *n, struct model *m, uint64_t written_ns)
{
	name_cache_flush(n->cache, m, true);
	jit_tail(n->jit, m, written_ns);
	name_again(n, m, false);
	/* Once more for names that were taken apart meanwhile. */
	if (name_cache_flush(n->cache, m, true)) {
		jit_serve(n->jit, m);
		name_again(n, m, false);
	}
}

void names_tail(struct names *n, struct model *m, uint64_t written_ns)
{
	file_requests_slice(&n->requests);
	look_again(n, m, written_ns);
	tell_costs(n, m);
	kept_directories_tail(n->kept, m);
	node_tail(n->node, m);
}

uint32_t names_next_costly(struct names *n)
{
	for (size_t i = 0; i < n->requests.costs_cnt; i++) {
		struct file_requests_cost *cost = &n->requests.costs[i];

		if (cost->told || !(cost->refused || cost->unread_bytes))
			continue;
		cost->told = true;
		return (uint32_t)i;
	}
	return MODEL_NONE;
}

size_t names_most(const struct names *n, struct ledger_use *ret_most, size_t max)
{
	return workers_most(n->requests.workers, ret_most, max);
}

void names_mark(struct names *n)
{
	workers_mark(n->requests.workers);
}

void names_set_aside(struct names *n, const uint64_t *parties, size_t cnt)
{
	workers_set_aside(n->requests.workers, parties, cnt);
}

uint32_t names_face(struct names *n, const struct model *m, uint64_t party)
{
	uint32_t face = MODEL_NONE;
	uint64_t most_ns = 0;

	for (size_t i = 0; i < n->requests.costs_cnt; i++) {
		uint64_t cpu_ns = n->requests.costs[i].cpu_ns;

		if (cpu_ns > most_ns &&
		    file_requests_party(&n->requests, m, (uint32_t)i) == party) {
			most_ns = cpu_ns;
			face = (uint32_t)i;
		}
	}
	return face;
}

void names_follow(struct names *n, struct model *m, uint64_t written_ns)
{
	jit_follow(n->jit, m, written_ns);
}

uint64_t names_changed_ns(const struct names *n, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	uint64_t map_ns = jit_changed_ns(n->jit, process);
	/* They are told in the order of their times. */
	uint64_t mapped_ns = p->mapping_cnt ? p->mappings[p->mapping_cnt - 1].from_ns : 0;

	return map_ns > mapped_ns ? map_ns : mapped_ns;
}

/* What came of waiting so far. */
struct progress {
	uint64_t done, since_ns; /* since then nothing did */
};

/* Whether what is waited for does not come: a file does not answer, or nothing is asked for; who
 * uses or wants a CPU works. */
static bool has_stalled(const struct names *n, struct progress *progress)
{
	const struct workers *w = n->requests.workers;
	uint64_t now_ns = clock_now_ns();
	uint64_t done = workers_ended(w) + workers_counters(w).cpu_ns + names_waiting(n);

	if (done != progress->done || (workers_is_busy(w) && !workers_are_asleep(w)))
		*progress = (struct progress){done, now_ns};
	return now_ns - progress->since_ns >= SETTLE_STALL_NS;
}

/* Until a worker has ended something, for some time at the most. */
static void wait_a_little(struct names *n)
{
	struct timespec nap = {.tv_nsec = SETTLE_NAP_NS};

	if (workers_is_busy(n->requests.workers))
		workers_wait_any(n->requests.workers, SETTLE_LOOK_NS);
	else
		nanosleep(&nap, NULL);
}

static bool is_open(const struct names *n)
{
	return names_waiting(n) || node_is_looking(n->node);
}

void names_settle(struct names *n, struct model *m)
{
	uint64_t start_ns = clock_now_ns();
	struct progress progress = {.since_ns = start_ns};

	if (n->memory)
		jit_memory_hurry(n->memory);
	/* What is under way is waited for, what is asked for only then, too: a file leads to the
	 * next; and what the last slice had no time for is asked for now. */
	while (is_open(n)) {
		bool is_worth;

		file_requests_slice(&n->requests);
		look_again(n, m, 0);
		node_tail(n->node, m);
		is_worth =
			frames_is_worth_waiting(&n->frames, m) || jit_is_worth_waiting(n->jit, m);
		if (!is_open(n) || (!is_worth && !workers_is_busy(n->requests.workers)) ||
		    clock_now_ns() - start_ns >= (is_worth ? SETTLE_MOST_NS : SETTLE_NS) ||
		    has_stalled(n, &progress))
			break;
		wait_a_little(n);
	}
	name_again(n, m, true);
	jit_settle(n->jit, m);
	if (n->memory)
		jit_memory_settle(n->memory, m);
	judged_again(&n->judged, m, true);
	tell_costs(n, m);
}

uint64_t names_timeouts(const struct names *n)
{
	return file_requests_timeouts(&n->requests);
}

struct names_cost names_cost(const struct names *n)
{
	struct workers_counters counters = workers_counters(n->requests.workers);

	return (struct names_cost){
		.worker_cpu_ns = counters.cpu_ns,
		.opener_cpu_ns = opener_cpu_ns(n->requests.opener),
		.granted_ns = counters.granted_ns,
		.beyond_ns = counters.beyond_ns,
		.memory_bytes = counters.memory_bytes,
		.table_bytes = files_bytes(n->files) + jit_bytes(n->jit) +
			       (n->code ? jit_code_bytes(n->code) : 0) +
			       name_cache_bytes(n->cache) + counters.result_bytes,
		.killed = counters.killed,
		.died = counters.died,
		.without = counters.without,
		.no_helpers = nursery_is_gone(n->requests.nursery),
	};
}
