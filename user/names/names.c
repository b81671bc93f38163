/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/names.h"

#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "bpf/events.h"
#include "names/files.h"
#include "names/jit.h"
#include "names/jit_code.h"
#include "names/holders.h"
#include "names/jit_memory.h"
#include "names/judged.h"
#include "names/kallsyms.h"
#include "names/name_cache.h"
#include "names/sources.h"
#include "names/symbol.h"
#include "names/vdso.h"
#include "opener/file_requests.h"
#include "opener/opener.h"
#include "process/entry.h"
#include "process/facts.h"
#include "process/kept_directories.h"
#include "process/node.h"

#define DEADLINE_NS 300000000u

/* The metadata of the largest images, and the symbols of programs of 100 MB, need 40 MB. */
#define WORKER_BYTES_LEAST (48ull << 20)
#define WORKER_BYTES_MOST  (64ull << 20)

/* At the end of a recording, for files that are being read still: a moment for everybody's, and
 * longer for those of parties that have used little of their allowance, as on a full host. */
#define SETTLE_NS      1000000000ull
#define SETTLE_MOST_NS 15000000000ull
#define SETTLE_LOOK_NS 100000000ull
/* Without any progress: longer than what hangs is waited for, so that others have their turn. */
#define SETTLE_STALL_NS (WORKERS_BRIEF_NS + WORKERS_BRIEF_NS / 2)
/* Where nothing is being read: what could not be asked for a moment ago may be asked for. */
#define SETTLE_NAP_NS 20000000

/* Modules and BPF programs come and go: an unknown kernel address makes kallsyms be read again, at
 * growing intervals, since a reading costs 70 ms. */
#define KALLSYMS_AGAIN_NS 10000000000ull

/* x86-64 maps it at the same address everywhere (arch/x86/include/uapi/asm/vsyscall.h). */
#define VSYSCALL_START 0xffffffffff600000ull
#define VSYSCALL_END   0xffffffffff601000ull

/* What a location was made from, to see cheaply whether it still holds. */
struct origin {
	uint32_t mapping; /* row of the process's mappings, or MODEL_NONE */
	uint32_t check;	  /* JIT: generation of the map; no mapping: mappings known then */
	bool deferred;	  /* its file was not looked at for lack of time */
};

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
	struct kallsyms *kallsyms; /* NULL = not read, or hidden */
	bool kallsyms_read;
	uint64_t kallsyms_again_ns, kallsyms_interval_ns;
	struct elf_table *vdso; /* NULL = not read, or none */
	bool vdso_read;
	struct unwind_table *vdso_unwind; /* the same */
	bool vdso_unwind_read;
	struct origin *origins; /* by row of locations */
	size_t origins_cnt, origins_cap;
	struct judged judged;
	struct again *again; /* frames whose file was not there yet */
	size_t again_cnt, again_cap;
	struct hash_index again_index;
	bool settling;	     /* what is looked at now waits no longer */
	uint64_t since_ns;   /* when it was looked at first, 0 = now */
	struct known *known; /* symbols that were taken apart already */
	size_t known_cnt, known_cap;
	struct hash_index known_index;
};

/* A frame to be looked at again: once, however often it was sampled meanwhile. */
struct again {
	uint64_t address, time_ns;
	uint32_t process;
	uint32_t mapping;  /* row of the process's mappings, or MODEL_NONE */
	uint64_t since_ns; /* clock_now_ns() */
};

/* Of these; what does not fit is looked at again with its next sample, and so is what has waited so
 * long: until then it has the reason for a name. On a full host the files of a service take longer
 * than its samples; who is in debt waits for its own fault. */
#define AGAIN_MAX	  65536u
#define AGAIN_PATIENCE_NS 20000000000ull
#define AGAIN_IN_DEBT_NS  3000000000ull

/*
 * A function of a file, and its symbol. Neither the module tells files apart (all single-file
 * programs have the build id of their host) nor do equal tables (what they are called differs).
 */
struct known {
	uint64_t start; /* in the file */
	uint64_t content;
	uint64_t party;
	uint32_t module;
	uint32_t process; /* of native code: whether it is the application differs */
	uint32_t symbol;
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
	kallsyms_free(n->kallsyms);
	elf_free(n->vdso);
	unwind_table_free(n->vdso_unwind);
	file_requests_clear(&n->requests);
	free(n->origins);
	judged_clear(&n->judged);
	free(n->again);
	hash_clear(&n->again_index);
	free(n->known);
	hash_clear(&n->known_index);
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

/* --- kernel ---------------------------------------------------------------------------------- */

static void read_kallsyms(struct names *n)
{
	char path[sizeof(n->requests.proc_path) + sizeof("/kallsyms")];
	struct kallsyms *k;

	snprintf(path, sizeof(path), "%s/kallsyms", n->requests.proc_path);
	n->kallsyms_read = true;
	k = kallsyms_read(path);
	if (!k)
		return;
	kallsyms_free(n->kallsyms);
	n->kallsyms = k;
}

uint64_t names_kernel_text(struct names *n)
{
	if (!n->kallsyms_read)
		read_kallsyms(n);
	return n->kallsyms ? kallsyms_text(n->kallsyms) : 0;
}

static bool find_kernel(struct names *n, uint64_t address, uint64_t time_ns,
			struct kallsyms_place *place)
{
	if (!n->kallsyms)
		return false;
	if (kallsyms_find(n->kallsyms, address, place))
		return true;
	if (time_ns < n->kallsyms_again_ns)
		return false;
	n->kallsyms_interval_ns =
		n->kallsyms_interval_ns ? n->kallsyms_interval_ns * 2 : KALLSYMS_AGAIN_NS;
	n->kallsyms_again_ns = time_ns + n->kallsyms_interval_ns;
	read_kallsyms(n);
	return kallsyms_find(n->kallsyms, address, place);
}

static void name_kernel(struct names *n, struct model *m, uint64_t address, uint64_t time_ns)
{
	struct model_symbol symbol = {
		.name = "[kernel]", .module = "[kernel]", .kind = KIND_KERNEL};
	struct model_location location = {
		.process = MODEL_NONE, .address = address, .older = MODEL_NONE, .tier = ""};
	struct kallsyms_place place;

	names_kernel_text(n);
	if (!m->kernel_text || !n->kallsyms) {
		symbol.reason = REASON_KALLSYMS_HIDDEN;
	} else if (find_kernel(n, address + m->kernel_text, time_ns, &place)) {
		symbol.name = place.name;
		symbol.module = place.module;
	} else {
		symbol.reason = REASON_KERNEL_NO_SYMBOL;
	}
	symbol.raw = symbol.name;
	location.symbol = model_symbol_get(m, &symbol);
	if (location.symbol != MODEL_NONE)
		model_location_add(m, &location);
}

/* --- processes ------------------------------------------------------------------------------- */

static const struct elf_table *vdso(struct names *n)
{
	if (!n->vdso_read) {
		n->vdso_read = true;
		vdso_load(&n->vdso);
	}
	return n->vdso;
}

static bool known_equal(const void *owner, uint32_t row, const void *key)
{
	const struct known *a = &((const struct names *)owner)->known[row], *b = key;

	return a->start == b->start && a->content == b->content && a->party == b->party &&
	       a->module == b->module && a->process == b->process;
}

static uint64_t hash_known(const struct known *k)
{
	return hash_pair(hash_pair(k->start, k->content),
			 hash_pair(k->party, (uint64_t)k->module << 32 | k->process));
}

/* Of what was looked up last. */
static struct known key_of(struct names *n, const struct model *m, const struct symbol_site *site,
			   uint32_t module, uint64_t start)
{
	return (struct known){
		.start = start,
		.content = files_content(n->files),
		.party = file_requests_party(&n->requests, m, site->process),
		.module = module,
		.process = MODEL_NONE,
	};
}

/* MODEL_NONE: not known. */
static uint32_t find_known(const struct names *n, const struct known *key)
{
	uint32_t row = hash_find(&n->known_index, hash_known(key), known_equal, n, key);

	return row == HASH_NONE ? MODEL_NONE : n->known[row].symbol;
}

static uint32_t keep_known(struct names *n, struct known *key, uint32_t symbol)
{
	key->symbol = symbol;
	if (symbol != MODEL_NONE && !GROW(n->known, n->known_cnt, n->known_cap) &&
	    !hash_add(&n->known_index, hash_known(key), (uint32_t)n->known_cnt))
		n->known[n->known_cnt++] = *key;
	return symbol;
}

/* A symbol of native code; one that has to be taken apart once. */
static uint32_t symbol_in_elf(struct names *n, struct model *m, const struct symbol_site *site,
			      const struct model_mapping *mapping, const struct elf_table *table)
{
	struct name_parts parts;
	struct elf_place place;
	enum model_reason reason;
	struct known key;
	uint32_t symbol;

	if (!table || !elf_find(table, site->offset, &place) || !place.name ||
	    !symbol_is_mangled(place.name))
		return symbol_native(m, site, table, site->reason, NULL);
	key = key_of(n, m, site, mapping->module, site->offset - (place.vaddr - place.function));
	key.process = site->process;
	symbol = find_known(n, &key);
	if (symbol != MODEL_NONE)
		return symbol;
	reason = name_cache_text(n->cache, m, site->process, NAME_MANGLED, place.name, &parts);
	symbol = symbol_native(m, site, table, site->reason, reason ? NULL : parts.display);
	return reason == REASON_PENDING ? symbol : keep_known(n, &key, symbol);
}

/* Finds the function; of a composite image has the assembly read that its name needs. */
static bool find_function(struct names *n, const struct model *m, struct symbol_site *site,
			  const struct model_mapping *mapping, const struct image_table *image,
			  struct image_place *place)
{
	for (unsigned i = 0; i <= IMAGE_COMPONENTS_MAX; i++) {
		if (image_table_find(image, site->offset, place))
			return false;
		if (place->error != -EAGAIN)
			break;
		site->reason = files_component(n->files, m, site->process, mapping, place);
		if (site->reason)
			return true;
	}
	site->reason = place->name
			       ? REASON_NAMED
			       : symbol_unnamed_reason(&m->processes[site->process], place->error);
	return true;
}

/* A symbol of precompiled code; each taken apart once. start: of a bundled image in its file. */
static uint32_t symbol_in_image(struct names *n, struct model *m, struct symbol_site *site,
				const struct model_mapping *mapping,
				const struct image_table *image, uint64_t start)
{
	struct name_parts parts;
	struct image_place place;
	struct known key;
	uint32_t symbol;

	if (!image)
		return symbol_image(m, site, NULL, NULL);
	if (!find_function(n, m, site, mapping, image, &place))
		return symbol_thunks(m);
	if (site->reason)
		return symbol_image(m, site, &place, NULL);
	key = key_of(n, m, site, mapping->module, start + place.start);
	symbol = find_known(n, &key);
	if (symbol != MODEL_NONE)
		return symbol;
	site->reason = name_cache_text(n->cache, m, site->process, NAME_DOTNET, place.name, &parts);
	if (site->reason)
		return symbol_image(m, site, &place, NULL);
	return keep_known(n, &key, symbol_image(m, site, &place, &parts));
}

/* What is not there yet: because it takes its time, or because its party has used up its share. */
static enum model_reason why_pending(struct names *n, const struct model *m, uint32_t process,
				     enum model_reason reason)
{
	return reason == REASON_PENDING ? file_requests_why_pending(&n->requests, m, process)
					: reason;
}

/* The symbol of a place in a mapped file. */
static uint32_t symbol_in_file(struct names *n, struct model *m, struct symbol_site *site,
			       const struct model_mapping *mapping)
{
	const struct image_table *image = NULL;
	const struct elf_table *table = NULL;
	struct files_bundled bundled = {0};

	if (symbol_is_image(site->path)) {
		site->reason = files_image(n->files, m, site->process, mapping, &image);
		site->reason = why_pending(n, m, site->process, site->reason);
		if (image && image_table_mvid(image))
			model_module_learn(m, mapping->module, image_table_mvid(image),
					   PERFMAP_IMAGE_MVID_BYTES);
		return symbol_in_image(n, m, site, mapping, image, 0);
	}
	site->reason = files_table(n->files, m, site->process, mapping, &table);
	site->reason = why_pending(n, m, site->process, site->reason);
	if (table)
		model_module_learn(m, mapping->module, table->identity.build_id,
				   table->identity.build_id_len);
	if (!table || !symbol_is_behind(site, table))
		return symbol_in_elf(n, m, site, mapping, table);
	site->reason = files_bundled(n->files, m, site->process, mapping, site->offset, &bundled);
	site->reason = why_pending(n, m, site->process, site->reason);
	if (site->reason == REASON_NO_SYMBOL)
		return symbol_in_elf(n, m, site, mapping, NULL);
	if (bundled.path) {
		site->path = bundled.path;
		site->offset -= bundled.start;
	}
	return symbol_in_image(n, m, site, mapping, bundled.image, bundled.start);
}

/* Row of the symbol of an address in a mapping that is not JIT code. */
static uint32_t symbol_in(struct names *n, struct model *m, uint32_t process,
			  const struct model_mapping *mapping, uint64_t address)
{
	struct symbol_site site = {
		.process = process,
		.path = m->modules[mapping->module].path,
		.offset = address - mapping->start + mapping->file_offset,
	};

	switch (mapping->kind) {
	case MAPPING_VSYSCALL:
		return symbol_note(m, "[vsyscall]", KIND_NATIVE, REASON_VSYSCALL);
	case MAPPING_VDSO:
		site.path = "[vdso]";
		site.offset = address - mapping->start;
		return symbol_native(m, &site, vdso(n), REASON_NO_SYMBOL, NULL);
	default:
		facts_note_mapping(m, process, mapping);
		return symbol_in_file(n, m, &site, mapping);
	}
}

static uint32_t symbol_nowhere(struct model *m, uint32_t process, uint64_t address)
{
	const struct model_process *p = &m->processes[process];

	if (address >= VSYSCALL_START && address < VSYSCALL_END)
		return symbol_note(m, "[vsyscall]", KIND_NATIVE, REASON_VSYSCALL);
	return symbol_note(m, "[unknown]", KIND_UNKNOWN,
			   !p->mapping_cnt && (p->flags & PROCESS_GONE) ? REASON_PROCESS_GONE
									: REASON_NO_MAPPING);
}

static void keep_origin(struct names *n, uint32_t location, struct origin origin)
{
	while (n->origins_cnt <= location) {
		if (GROW(n->origins, n->origins_cnt, n->origins_cap))
			return;
		n->origins[n->origins_cnt++] = (struct origin){.mapping = MODEL_NONE};
	}
	n->origins[location] = origin;
}

static bool is_deferred(const struct names *n, uint32_t location)
{
	return location < n->origins_cnt && n->origins[location].deferred;
}

static bool holds(const struct model_mapping *map, uint64_t time_ns)
{
	return map->from_ns <= time_ns && (!map->to_ns || time_ns < map->to_ns);
}

/* Whether a location found for time_ns is still what a look-up would give. */
static bool is_current(const struct names *n, const struct model_process *p, uint32_t location,
		       uint64_t time_ns, uint32_t generation)
{
	struct origin o;
	const struct model_mapping *map;

	if (location >= n->origins_cnt)
		return false;
	o = n->origins[location];
	if (o.deferred)
		return file_requests_is_spent(&n->requests);
	if (o.mapping == MODEL_NONE)
		return o.check == p->mapping_cnt;
	if (o.mapping >= p->mapping_cnt)
		return false;
	map = &p->mappings[o.mapping];
	if (!holds(map, time_ns))
		return false;
	if (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON)
		return generation && o.check == generation;
	return true;
}

/*
 * Whether anonymous code of a .NET process is that of assemblies which its executable keeps
 * compressed. With write-xor-execute off the JIT's code is anonymous, too: then the map decides.
 */
static bool is_unpacked(struct names *n, const struct model *m, uint32_t process)
{
	const struct model_process *p = &m->processes[process];
	const struct model_mapping *exe = NULL;
	bool jit = false;

	if (!(p->flags & PROCESS_DOTNET))
		return false;
	for (uint32_t i = 0; i < p->mapping_cnt; i++) {
		const struct model_mapping *map = &p->mappings[i];

		jit |= map->kind == MAPPING_JIT;
		if (!exe && map->kind == MAPPING_FILE &&
		    !strcmp(m->modules[map->module].path, p->exe))
			exe = map;
	}
	return jit && exe && files_compressed(n->files, m, process, exe);
}

static bool again_equal(const void *owner, uint32_t row, const void *key)
{
	const struct again *a = &((const struct names *)owner)->again[row], *b = key;

	return a->address == b->address && a->process == b->process && a->mapping == b->mapping;
}

/* Has the frame looked at again later: until then it has no location. False: it cannot wait. */
static bool keep_again(struct names *n, uint32_t process, uint32_t mapping, uint64_t address,
		       uint64_t time_ns)
{
	struct again again = {
		.address = address,
		.time_ns = time_ns,
		.process = process,
		.mapping = mapping,
		.since_ns = n->since_ns ? n->since_ns : clock_now_ns(),
	};
	uint64_t hash = hash_pair(address, (uint64_t)process << 32 | mapping);

	if (n->settling)
		return false;
	if (hash_find(&n->again_index, hash, again_equal, n, &again) != HASH_NONE)
		return true;
	if (n->again_cnt >= AGAIN_MAX || GROW(n->again, n->again_cnt, n->again_cap) ||
	    hash_add(&n->again_index, hash, (uint32_t)n->again_cnt))
		return false;
	n->again[n->again_cnt++] = again;
	return true;
}

static void name_user(struct names *n, struct model *m, uint32_t process, uint64_t address,
		      uint64_t time_ns)
{
	const struct model_mapping *map = model_mapping_find(m, process, address, time_ns);
	struct model_process *p = &m->processes[process];
	struct model_location location = {
		.process = process, .address = address, .older = MODEL_NONE, .tier = ""};
	struct origin origin = {.mapping = MODEL_NONE, .check = (uint32_t)p->mapping_cnt};
	uint64_t deferred = n->requests.deferred;
	enum jit_place place = JIT_COMPILED;
	uint32_t row;

	if (map && map->kind == MAPPING_ANON)
		place = is_unpacked(n, m, process)  ? JIT_UNPACKED
			: p->flags & PROCESS_DOTNET ? JIT_COMPILED
						    : JIT_ANONYMOUS;
	/* Whether it is, is not known yet: what is bundled is being read. */
	if (place != JIT_UNPACKED && n->requests.deferred != deferred &&
	    keep_again(n, process, (uint32_t)(map - p->mappings), address, time_ns))
		return;
	if (map && (map->kind == MAPPING_JIT || map->kind == MAPPING_ANON)) {
		origin.mapping = (uint32_t)(map - p->mappings);
		if (map->kind == MAPPING_JIT)
			facts_note_mapping(m, process, map);
		row = jit_name(n->jit, m, process, address, time_ns, place);
		origin.check = jit_generation(n->jit, process, time_ns);
	} else {
		if (map) {
			origin.mapping = (uint32_t)(map - p->mappings);
			/* Where other code lay at this address before, the name is not for then. */
			row = model_location_find(m, process, address, time_ns);
			if (row != MODEL_NONE)
				location.from_ns = is_deferred(n, row) ? time_ns : map->from_ns;
		}
		location.symbol = map ? symbol_in(n, m, process, map, address)
				      : symbol_nowhere(m, process, address);
		if (location.symbol != MODEL_NONE &&
		    m->symbols[location.symbol].kind == KIND_IMAGE &&
		    !m->symbols[location.symbol].reason)
			location.tier = "PreJIT";
		origin.deferred = n->requests.deferred != deferred;
		if (origin.deferred && keep_again(n, process, origin.mapping, address, time_ns))
			return;
		row = location.symbol == MODEL_NONE ? MODEL_NONE : model_location_add(m, &location);
	}
	if (row != MODEL_NONE)
		keep_origin(n, row, origin);
}

/* --- stacks ---------------------------------------------------------------------------------- */

/* Unless it has a name that holds. */
static void name_address(struct names *n, struct model *m, uint32_t process, uint64_t address,
			 uint64_t time_ns)
{
	uint32_t row = model_location_find(m, process, address, time_ns);

	if (row == MODEL_NONE || !is_current(n, &m->processes[process], row, time_ns,
					     jit_generation(n->jit, process, time_ns)))
		name_user(n, m, process, address, time_ns);
}

void names_address(struct names *n, struct model *m, uint32_t process, uint64_t address,
		   uint64_t time_ns)
{
	name_address(n, m, process, address, time_ns);
	/* A second time for a name that was taken apart meanwhile. */
	if (name_cache_flush(n->cache, m, true))
		name_address(n, m, process, address, time_ns);
}

static void name_frames(struct names *n, struct model *m, const struct model_stack *stack,
			uint64_t time_ns)
{
	struct model_stack s = *stack;
	uint32_t generation =
		s.process == MODEL_NONE ? 0 : jit_generation(n->jit, s.process, time_ns);

	for (uint32_t i = 0; i < s.frame_cnt; i++) {
		uint64_t address = model_stack_address(m, &s, i);
		uint32_t row = model_location_find(m, s.process, address, time_ns);

		if (s.process == MODEL_NONE) {
			if (row == MODEL_NONE)
				name_kernel(n, m, address, time_ns);
		} else if (row == MODEL_NONE ||
			   !is_current(n, &m->processes[s.process], row, time_ns, generation)) {
			name_user(n, m, s.process, address, time_ns);
			generation = jit_generation(n->jit, s.process, time_ns);
		}
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

/* Names frames whose file was not there when they came, as far as it is now. */
static void name_again(struct names *n, struct model *m, bool settle)
{
	struct again *again = take_ptr(&n->again);
	uint64_t now_ns = clock_now_ns(), ns;
	size_t cnt = n->again_cnt;

	n->again_cnt = n->again_cap = 0;
	hash_clear(&n->again_index);
	for (size_t i = 0; i < cnt; i++) {
		n->since_ns = again[i].since_ns;
		ns = now_ns - n->since_ns;
		n->settling = settle || ns >= AGAIN_PATIENCE_NS ||
			      (ns >= AGAIN_IN_DEBT_NS &&
			       file_requests_in_debt(&n->requests, m, again[i].process));
		name_address(n, m, again[i].process, again[i].address, again[i].time_ns);
	}
	n->since_ns = 0;
	n->settling = false;
	free(again);
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
	return jit_waiting(n->jit) + n->again_cnt;
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
		   uint64_t end_ns)
{
	return holders_find(&n->sources, n->memory, m, waits, cnt, end_ns);
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

/* Whether anybody waits who did not cause the wait himself. */
static bool is_worth_waiting(struct names *n, const struct model *m)
{
	for (size_t i = 0; i < n->again_cnt; i++)
		if (file_requests_is_frugal(&n->requests, m, n->again[i].process))
			return true;
	return jit_is_worth_waiting(n->jit, m);
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

void names_settle(struct names *n, struct model *m)
{
	uint64_t start_ns = clock_now_ns();
	struct progress progress = {.since_ns = start_ns};

	if (n->memory)
		jit_memory_hurry(n->memory);
	/* What is under way is waited for, what is asked for only then, too: a file leads to the
	 * next; and what the last slice had no time for is asked for now. */
	while (names_waiting(n)) {
		bool is_worth;

		file_requests_slice(&n->requests);
		look_again(n, m, 0);
		is_worth = is_worth_waiting(n, m);
		if (!names_waiting(n) || (!is_worth && !workers_is_busy(n->requests.workers)) ||
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
