/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/file_load.h"
#include "names/shelf.h"
#include "names/symbol.h"
#include "process/entry.h"

/* What a module of a process led to. */
struct attachment {
	struct file_key key;
	struct shelf_ref table;
	uint32_t reason; /* enum model_reason, where there is no table */
};

/* A file that is not read again for that party. */
struct refused {
	struct elf_identity identity;
	uint64_t party;
	enum file_kind kind;
	uint32_t reason;
};

/* Of those; beyond it the next one takes the place of an earlier one. */
#define REFUSED_FILES_MAX 1024u

/* A load for which nobody asked for so long has been left. */
#define LEFT_NS 10000000000ull

struct files {
	const struct sources *sources;
	struct file_requests *requests; /* of the sources */
	struct shelf *shelf;
	struct attachment *attachments;
	size_t attachments_cnt, attachments_cap;
	struct hash_index attachment_index;
	struct file_load *loads[FILES_LOADS_MAX];
	unsigned loads_cnt;
	struct refused *refused;
	size_t refused_cnt, refused_cap, refused_next;
	char bundled_path[ENTRY_BYTES];
	uint32_t last; /* attachment used last: neighbours on a stack are often of one file */
};

struct files *files_new(const struct sources *sources, size_t memory_bytes)
{
	struct files *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->sources = sources;
	f->requests = sources->requests;
	f->last = MODEL_NONE;
	f->shelf = shelf_new(memory_bytes);
	if (f->shelf)
		return f;
	free(f);
	return NULL;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->loads_cnt; i++)
		file_load_free(f->sources, f->loads[i]);
	shelf_free(f->shelf);
	free(f->attachments);
	free(f->refused);
	hash_clear(&f->attachment_index);
	free(f);
}

static bool is_key(const struct file_key *a, const struct file_key *b)
{
	return a->process == b->process && a->module == b->module && a->kind == b->kind &&
	       a->inside == b->inside;
}

static bool attachment_equal(const void *owner, uint32_t row, const void *key)
{
	return is_key(&((const struct files *)owner)->attachments[row].key, key);
}

/* What a table of that is found by. */
static struct shelf_label label_of(const struct file_key *key, uint64_t party)
{
	return (struct shelf_label){
		.kind = key->kind,
		.party = party,
		.module = key->module,
		.inside = key->inside,
	};
}

/* --- loading ---------------------------------------------------------------------------------- */

static const struct refused *find_refused(const struct files *f, uint64_t party,
					  enum file_kind kind, const struct elf_identity *id)
{
	for (size_t i = 0; i < f->refused_cnt; i++) {
		const struct refused *r = &f->refused[i];

		if (r->party == party && r->kind == kind && r->identity.dev == id->dev &&
		    r->identity.inode == id->inode && r->identity.ctime_ns == id->ctime_ns &&
		    r->identity.size_bytes == id->size_bytes)
			return r;
	}
	return NULL;
}

/* For that party alone: what made it costly may be the party's own, e.g. its debug file. */
static void refuse(struct files *f, uint64_t party, const struct file_load *load,
		   enum model_reason reason)
{
	struct refused r = {load->identity, party, load->key.kind, reason};

	if (f->refused_cnt < REFUSED_FILES_MAX && !GROW(f->refused, f->refused_cnt, f->refused_cap))
		f->refused[f->refused_cnt++] = r;
	else if (f->refused_cnt)
		f->refused[f->refused_next++ % f->refused_cnt] = r;
}

static void note_refused(struct files *f, uint32_t process)
{
	struct file_requests_cost *cost = file_requests_cost(f->requests, process);

	if (cost)
		cost->refused++;
}

/* Takes what was loaded. */
static struct shelf_ref keep_loaded(struct files *f, uint64_t party, struct file_load *load)
{
	struct shelf_label label = label_of(&load->key, party);
	struct shelf_table table = {
		.elf = take_ptr(&load->elf),
		.bundle = take_ptr(&load->bundle),
		.image = take_ptr(&load->image),
		.unwind = take_ptr(&load->unwind),
	};

	label.identity = load->identity;
	return shelf_add(f->shelf, &label, &table);
}

/* Takes what is loaded whole. REASON_LIMIT: there is no room for it. */
static enum model_reason keep(struct files *f, const struct model *m, uint64_t party,
			      struct file_load *load, struct shelf_ref *ret_table)
{
	uint64_t since_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool kept;

	if (load->key.kind == FILE_COMPONENT) {
		*ret_table = load->table;
		kept = shelf_add_part(f->shelf, load->table, take_fd(&load->part_fd),
				      load->part_bytes);
	} else {
		*ret_table = keep_loaded(f, party, load);
		kept = ret_table->row != MODEL_NONE;
	}
	file_requests_charge(f->requests, m, load->key.process, since_ns);
	return kept ? REASON_NAMED : REASON_LIMIT;
}

/* Goes on with a load. What it led to is in ret_table; REASON_PENDING: it is under way. */
static enum model_reason advance(struct files *f, const struct model *m, struct file_load *load,
				 struct shelf_ref *ret_table)
{
	enum model_reason reason = file_load_step(f->sources, m, load);

	if (reason == REASON_FILE_COSTLY) {
		refuse(f, load->party, load, reason);
		note_refused(f, load->key.process);
	}
	return reason ? reason : keep(f, m, load->party, load, ret_table);
}

static unsigned find_load(const struct files *f, const struct file_key *key)
{
	unsigned i = 0;

	while (i < f->loads_cnt && !is_key(&f->loads[i]->key, key))
		i++;
	return i;
}

static void end_load(struct files *f, unsigned i)
{
	file_load_free(f->sources, f->loads[i]);
	f->loads[i] = f->loads[--f->loads_cnt];
}

static unsigned loads_of(const struct files *f, uint64_t party, bool for_walks)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < f->loads_cnt; i++)
		cnt += (f->loads[i]->key.kind == FILE_UNWIND) == for_walks &&
		       f->loads[i]->party == party;
	return cnt;
}

/* Loads for walks of processes that have ended meanwhile, or do without: nobody else asks for them
 * any more. What they lead to is for others of the party. */
static void finish_left(struct files *f, const struct model *m)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned i = f->loads_cnt; i-- > 0;) {
		struct file_load *l = f->loads[i];
		const struct model_process *p = &m->processes[l->key.process];
		struct shelf_ref table;

		if (l->key.kind != FILE_UNWIND ||
		    (!p->exit_ns && !(p->flags & PROCESS_GONE) && now_ns - l->asked_ns < LEFT_NS))
			continue;
		if (advance(f, m, l, &table) != REASON_PENDING)
			end_load(f, i);
	}
}

/* Whether one more load of a process's party may begin: each has its places, for names and for
 * walks. Where all parties together have too many, the one that was begun last goes. */
static bool may_load(struct files *f, const struct model *m, uint64_t party, enum file_kind kind)
{
	bool for_walks = kind == FILE_UNWIND;
	unsigned most = for_walks ? FILES_WALKS_PARTY : FILES_LOADS_PARTY;

	if (f->loads_cnt == FILES_LOADS_MAX || (for_walks && loads_of(f, party, true) >= most))
		finish_left(f, m);
	if (loads_of(f, party, for_walks) >= most)
		return false;
	if (f->loads_cnt == FILES_LOADS_MAX)
		end_load(f, FILES_LOADS_MAX - 1);
	return true;
}

/* What is to be loaded, and for whom. */
struct wanted {
	const struct model *m;
	const struct model_mapping *mapping;
	struct attachment *a;
	uint64_t party;
	uint64_t inside_bytes;
};

/* Whether what a path leads to now is what was mapped, as far as a build id or version tells. */
static bool is_wanted(const struct files *f, const struct wanted *w, struct shelf_ref ref)
{
	const struct model_module *module = &w->m->modules[w->a->key.module];
	const struct elf_identity *id = &shelf_label(f->shelf, ref)->identity;
	const struct shelf_table *table = shelf_table(f->shelf, ref);

	if (table->elf || (table->unwind && id->build_id_len))
		return !module->build_id_len ||
		       (id->build_id_len == module->build_id_len &&
			!memcmp(id->build_id, module->build_id, id->build_id_len));
	return w->a->key.inside || !table->image || symbol_is_version(module, table->image);
}

/* Who the file is, and what is known of it already. REASON_PENDING: it is to be loaded. */
static enum model_reason find(struct files *f, const struct wanted *w, struct file_load *load)
{
	struct shelf_label label = label_of(&w->a->key, w->party);

	for (;;) {
		const struct refused *refused;
		enum model_reason reason;

		/* First who it is: most files are known already. */
		reason = file_load_identify(f->sources, w->m, load);
		if (reason)
			return reason == REASON_PENDING ? REASON_LIMIT : reason;
		label.identity = load->identity;
		refused = find_refused(f, w->party, label.kind, &load->identity);
		if (refused && refused->reason == REASON_FILE_COSTLY)
			note_refused(f, w->a->key.process);
		if (refused)
			return (enum model_reason)refused->reason;
		w->a->table = shelf_by_identity(f->shelf, &label);
		if (w->a->table.row == MODEL_NONE)
			return REASON_PENDING;
		if (is_wanted(f, w, w->a->table))
			return REASON_NAMED;
		/* Another file lies at its path now. */
		w->a->table = SHELF_NONE;
		if (load->mapped.is_image || w->a->key.inside || load->stage >= FILE_ON_HOST)
			return REASON_FILE_CHANGED;
		load->mapped.stage = load->stage + 1;
	}
}

static bool is_over(const struct wanted *w)
{
	const struct model_process *p = &w->m->processes[w->a->key.process];

	return p->exit_ns || (p->flags & PROCESS_GONE);
}

/* Begins to load, or goes on. */
static enum model_reason load(struct files *f, const struct wanted *w)
{
	unsigned i = find_load(f, &w->a->key);
	enum model_reason reason;

	/* It became somebody else's, and may see other files now; one that is gone stays whose it
	 * was. */
	if (i < f->loads_cnt && f->loads[i]->party != w->party && !is_over(w)) {
		end_load(f, i);
		i = f->loads_cnt;
	}
	if (i == f->loads_cnt) {
		struct file_load *new;

		if (!may_load(f, w->m, w->party, w->a->key.kind)) {
			f->requests->deferred++;
			return REASON_LIMIT;
		}
		new = file_load_new(w->m, &w->a->key, w->mapping);
		if (!new)
			return REASON_LIMIT;
		new->inside_bytes = w->inside_bytes;
		new->party = w->party;
		reason = find(f, w, new);
		if (reason != REASON_PENDING) {
			file_load_free(f->sources, new);
			return reason;
		}
		i = f->loads_cnt;
		f->loads[f->loads_cnt++] = new;
	}
	f->loads[i]->asked_ns = clock_now_ns();
	reason = advance(f, w->m, f->loads[i], &w->a->table);
	if (reason != REASON_PENDING)
		end_load(f, i);
	return reason;
}

/* Tables that the process's party has by what the kernel told of the file: whoever forges its build
 * id misnames his own code. */
static struct shelf_ref find_told(const struct files *f, const struct wanted *w, bool gone)
{
	const struct file_key *key = &w->a->key;
	const struct model_module *module = &w->m->modules[key->module];
	struct shelf_label label = label_of(key, w->party);
	struct shelf_ref ref = SHELF_NONE;

	if (key->kind == FILE_ELF)
		ref = shelf_by_build_id(f->shelf, w->party, module->build_id, module->build_id_len,
					gone && !module->inode ? SHELF_ANY_SIZE : 0);
	/* The same path and build id, or inode, as another process's: the same file. */
	if (ref.row == MODEL_NONE && (gone ? module->inode != 0
					   : (key->kind == FILE_ELF || key->kind == FILE_UNWIND) &&
						      !key->inside && module->build_id_len))
		ref = shelf_by_module(f->shelf, &label);
	/* Better than nothing: what root's own processes outside of containers have. */
	if (ref.row == MODEL_NONE && gone && key->kind == FILE_ELF)
		ref = shelf_by_build_id(f->shelf, WORKERS_TRUSTED, module->build_id,
					module->build_id_len, SHELF_ANY_SIZE);
	return ref;
}

static void attach(struct files *f, const struct wanted *w)
{
	struct attachment *a = w->a;

	a->reason = REASON_NAMED;
	a->table = find_told(f, w, false);
	if (a->table.row != MODEL_NONE)
		return;
	a->reason = load(f, w);
	if (!a->reason)
		return;
	a->table = SHELF_NONE;
	if (a->reason == REASON_PENDING)
		return;
	a->table = find_told(f, w, true);
	if (a->table.row != MODEL_NONE)
		a->reason = REASON_NAMED;
}

/* attach() into an attachment, which is the wanted's from then on. False: it is not settled, and
 * asked again when there is time. */
static bool settle(struct files *f, struct wanted *w, struct attachment *a)
{
	uint64_t deferred = f->requests->deferred;

	w->a = a;
	w->party = file_requests_party_now(f->requests, w->m, a->key.process);
	attach(f, w);
	return a->reason != REASON_PENDING && !(a->reason && f->requests->deferred != deferred);
}

/* What the wanted led to; ret_table is borrowed until the next call. The caller's is as it was
 * afterwards, for who asks for another part of the same file next. */
static enum model_reason look_up(struct files *f, const struct wanted *what,
				 const struct shelf_table **ret_table)
{
	struct attachment new = *what->a;
	struct wanted w = *what;
	const struct file_key *key = &new.key;
	uint64_t hash = hash_pair(key->process, key->module) ^ hash_pair(key->kind, key->inside);
	const struct shelf_table *table;
	uint32_t row = f->last;

	if (row == MODEL_NONE || !attachment_equal(f, row, key))
		row = hash_find(&f->attachment_index, hash, attachment_equal, f, key);
	if (row == HASH_NONE) {
		if (!settle(f, &w, &new))
			return (enum model_reason) new.reason;
		if (GROW(f->attachments, f->attachments_cnt, f->attachments_cap) ||
		    hash_add(&f->attachment_index, hash, (uint32_t)f->attachments_cnt))
			return REASON_LIMIT;
		row = (uint32_t)f->attachments_cnt++;
		f->attachments[row] = new;
	}
	f->last = row;
	if (f->attachments[row].reason)
		return (enum model_reason)f->attachments[row].reason;
	table = shelf_table(f->shelf, f->attachments[row].table);
	if (!table) { /* dropped meanwhile */
		if (!settle(f, &w, &new))
			return (enum model_reason) new.reason;
		f->attachments[row] = new;
		if (new.reason)
			return (enum model_reason) new.reason;
		table = shelf_table(f->shelf, new.table);
	}
	shelf_touch(f->shelf, f->attachments[row].table);
	*ret_table = table;
	return REASON_NAMED;
}

/* look_up() of one kind of the mapped file. */
static enum model_reason look_up_kind(struct files *f, const struct model *m, uint32_t process,
				      const struct model_mapping *mapping, enum file_kind kind,
				      const struct shelf_table **ret_table)
{
	struct attachment a = {
		.key = {.process = process, .module = mapping->module, .kind = kind}};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};

	return look_up(f, &w, ret_table);
}

size_t files_bytes(const struct files *f)
{
	return shelf_bytes(f->shelf);
}

static struct shelf_ref last_table(const struct files *f)
{
	return f->last == MODEL_NONE ? SHELF_NONE : f->attachments[f->last].table;
}

uint64_t files_content(const struct files *f)
{
	return shelf_content(f->shelf, last_table(f));
}

enum model_reason files_table(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct elf_table **ret_table)
{
	const struct shelf_table *table;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_ELF, &table);

	if (!reason)
		*ret_table = table->elf;
	return reason;
}

enum model_reason files_image(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct image_table **ret_image)
{
	const struct shelf_table *table;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_IMAGE, &table);

	if (!reason)
		*ret_image = table->image;
	return reason;
}

enum model_reason files_bundled(struct files *f, const struct model *m, uint32_t process,
				const struct model_mapping *mapping, uint64_t offset,
				struct files_bundled *ret_bundled)
{
	struct attachment a = {
		.key = {.process = process, .module = mapping->module, .kind = FILE_IMAGE}};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};
	struct perfmap_bundle_entry entry;
	const struct shelf_table *table;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_BUNDLE, &table);

	if (reason)
		return reason;
	if (!bundle_table_find(table->bundle, offset, &entry) || !entry.offset)
		return REASON_NO_SYMBOL;
	snprintf(f->bundled_path, sizeof(f->bundled_path), "%.*s", ENTRY_BYTES - 1, entry.path);
	ret_bundled->path = f->bundled_path;
	ret_bundled->start = a.key.inside = entry.offset;
	w.inside_bytes = entry.bytes;
	reason = look_up(f, &w, &table);
	if (!reason)
		ret_bundled->image = table->image;
	return reason;
}

/* What a mapping of a file holds where ELF loads nothing: perhaps an image that is bundled behind
 * it. */
static enum model_reason unwind_bundled(struct files *f, const struct model *m, uint32_t process,
					const struct model_mapping *mapping,
					const struct shelf_table **ret_table, uint64_t *ret_inside)
{
	struct attachment a = {
		.key = {.process = process, .module = mapping->module, .kind = FILE_UNWIND}};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};
	struct perfmap_bundle_entry entry;
	const struct shelf_table *bundle;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_BUNDLE, &bundle);

	if (reason)
		return reason;
	if (!bundle_table_find(bundle->bundle, mapping->file_offset, &entry) || !entry.offset)
		return REASON_NO_SYMBOL;
	a.key.inside = *ret_inside = entry.offset;
	w.inside_bytes = entry.bytes;
	return look_up(f, &w, ret_table);
}

enum model_reason files_unwind(struct files *f, const struct model *m, uint32_t process,
			       const struct model_mapping *mapping, struct files_unwind *ret_unwind)
{
	const struct shelf_table *table;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_UNWIND, &table);
	uint64_t bias;

	ret_unwind->inside = 0;
	if (!reason && !symbol_is_image(m->modules[mapping->module].path) &&
	    !unwind_table_bias(table->unwind, mapping->start, mapping->file_offset, &bias))
		reason = unwind_bundled(f, m, process, mapping, &table, &ret_unwind->inside);
	if (!reason) {
		ret_unwind->table = table->unwind;
		ret_unwind->content = files_content(f);
	}
	return reason;
}

bool files_compressed(struct files *f, const struct model *m, uint32_t process,
		      const struct model_mapping *mapping)
{
	const struct shelf_table *table;

	return !look_up_kind(f, m, process, mapping, FILE_BUNDLE, &table) &&
	       bundle_table_compressed(table->bundle);
}

/* Where the file of an assembly is to be found. REASON_PRECOMPILED: nowhere. */
static enum model_reason locate_component(struct files *f, const struct model *m, uint32_t process,
					  const struct model_mapping *mapping, struct shelf_ref of,
					  struct file_component *c)
{
	const char *path = m->modules[mapping->module].path, *slash = strrchr(path, '/');
	const char *name = image_table_component(shelf_table(f->shelf, of)->image, c->component);
	struct perfmap_bundle_entry entry;
	char file[ENTRY_BYTES + 5];
	const struct shelf_table *bundle;
	enum model_reason reason;

	if (!name || !slash || strlen(name) >= ENTRY_BYTES)
		return REASON_PRECOMPILED;
	snprintf(file, sizeof(file), "%s.dll", name);
	if (!shelf_label(f->shelf, of)->inside)
		return snprintf(c->path, sizeof(c->path), "%.*s/%s", (int)(slash - path), path,
				file) < (int)sizeof(c->path)
			       ? REASON_NAMED
			       : REASON_PRECOMPILED;
	reason = look_up_kind(f, m, process, mapping, FILE_BUNDLE, &bundle);
	if (reason)
		return reason;
	if (!bundle_table_named(bundle->bundle, file, &entry))
		return REASON_PRECOMPILED;
	c->inside = entry.offset;
	c->bytes = entry.bytes;
	return snprintf(c->path, sizeof(c->path), "%s", path) < (int)sizeof(c->path)
		       ? REASON_NAMED
		       : REASON_PRECOMPILED;
}

/* One assembly more for a load of a part. */
static enum model_reason add_component(struct files *f, const struct model *m,
				       const struct model_mapping *mapping, struct file_load *load,
				       uint32_t component)
{
	uint32_t last = f->last;
	struct file_component *c;
	enum model_reason reason;

	/* Loading what it is bundled with may have dropped the image. */
	if (load->components_cnt == IMAGE_COMPONENTS_MAX || !shelf_table(f->shelf, load->table))
		return REASON_LIMIT;
	if (!load->components)
		load->components = calloc(IMAGE_COMPONENTS_MAX, sizeof(*c));
	if (!load->components)
		return REASON_LIMIT;
	c = &load->components[load->components_cnt];
	c->component = component;
	reason = locate_component(f, m, load->key.process, mapping, load->table, c);
	f->last = last;
	if (!reason)
		load->components_cnt++;
	return reason;
}

/* A load of a part of an image: what it is of stands in for the offset of a bundled image. */
static struct file_load *new_part(struct files *f, const struct model *m, uint32_t process,
				  const struct model_mapping *mapping, struct shelf_ref of)
{
	const struct shelf_label *label = shelf_label(f->shelf, of);
	struct file_key key = {.process = process,
			       .module = mapping->module,
			       .kind = FILE_COMPONENT,
			       .inside = label->inside};
	struct file_load *load = file_load_new(m, &key, mapping);

	if (load) {
		load->table = of;
		load->identity = label->identity;
	}
	return load;
}

/*
 * All names of one assembly first. Where a name needs others beside it, these are added one after
 * the other, for this function alone.
 */
enum model_reason files_component(struct files *f, const struct model *m, uint32_t process,
				  const struct model_mapping *mapping,
				  const struct image_place *place)
{
	struct shelf_ref of = last_table(f);
	const struct shelf_label *label = shelf_label(f->shelf, of);
	uint32_t component = place->component, last = f->last;
	struct file_key key = {.process = process,
			       .module = mapping->module,
			       .kind = FILE_COMPONENT,
			       .inside = label ? label->inside : 0};
	unsigned i = find_load(f, &key);
	enum model_reason reason = REASON_NAMED;

	if (!label)
		return REASON_LIMIT;
	if (find_refused(f, label->party, FILE_COMPONENT, &label->identity))
		return REASON_FILE_COSTLY;
	if (i == f->loads_cnt) {
		uint32_t given[IMAGE_COMPONENTS_MAX], given_cnt = place->given_cnt;
		uint64_t party = file_requests_party(f->requests, m, process);
		struct file_load *new = may_load(f, m, party, FILE_COMPONENT)
						? new_part(f, m, process, mapping, of)
						: NULL;

		if (!new)
			return REASON_LIMIT;
		new->party = party;
		memcpy(given, place->given, given_cnt * sizeof(given[0]));
		if (given_cnt)
			new->wanted = place->start;
		for (uint32_t k = 0; !reason && k < given_cnt; k++)
			reason = add_component(f, m, mapping, new, given[k]);
		if (!reason)
			reason = add_component(f, m, mapping, new, component);
		if (reason) {
			file_load_free(f->sources, new);
			return reason;
		}
		/* Its bundle may have been loaded meanwhile. */
		i = f->loads_cnt;
		if (i == FILES_LOADS_MAX) {
			file_load_free(f->sources, new);
			return REASON_LIMIT;
		}
		f->loads[f->loads_cnt++] = new;
	}
	reason = advance(f, m, f->loads[i], &of);
	f->last = last;
	if (reason != REASON_PENDING)
		end_load(f, i);
	return reason;
}
