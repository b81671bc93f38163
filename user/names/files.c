/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/entry.h"
#include "names/file_load.h"
#include "names/symbol.h"

/* What a module of a process led to. */
struct attachment {
	struct file_key key;
	uint32_t table;	 /* row of tables, or MODEL_NONE */
	uint32_t reason; /* enum model_reason, where there is no table */
};

/* What was loaded of a file: one of these; all NULL = dropped. */
struct slot {
	struct elf_table *table;
	struct bundle_table *bundle;
	struct image_table *image;
	uint32_t module; /* that it was loaded for */
	uint64_t inside; /* of an image in a bundle */
	struct elf_identity identity;
	uint64_t party; /* who caused it */
	size_t bytes;
	uint64_t used; /* the look-up that used it last */
};

/* A file that is not read again, whoever maps it. */
struct refused {
	struct elf_identity identity;
	uint32_t reason;
};

/* Of those; beyond it the next one takes the place of an earlier one. */
#define REFUSED_MAX 1024u

struct files {
	struct asker *asker;
	struct slot *tables;
	size_t tables_cnt, tables_cap;
	size_t bytes, bytes_max;
	uint64_t uses;
	struct attachment *attachments;
	size_t attachments_cnt, attachments_cap;
	struct hash_index attachment_index;
	struct file_load *loads[FILES_LOADS_MAX];
	unsigned loads_cnt;
	struct refused *refused;
	size_t refused_cnt, refused_cap, refused_next;
	uint32_t *modules; /* by module row: the table loaded for it last, or MODEL_NONE */
	size_t modules_cnt, modules_cap;
	char bundled_path[ENTRY_BYTES];
	uint32_t last; /* attachment used last: neighbours on a stack are often of one file */
};

struct files *files_new(struct asker *asker, size_t memory_bytes)
{
	struct files *f = calloc(1, sizeof(*f));

	if (f) {
		f->asker = asker;
		f->bytes_max = memory_bytes;
		f->last = MODEL_NONE;
	}
	return f;
}

static bool is_loaded(const struct slot *s)
{
	return s->table || s->image || s->bundle;
}

static bool is_kind(const struct slot *s, enum file_kind kind)
{
	switch (kind) {
	case FILE_ELF:
		return s->table;
	case FILE_IMAGE:
		return s->image;
	case FILE_BUNDLE:
		return s->bundle;
	case FILE_COMPONENT: /* part of an image */
		break;
	}
	return false;
}

static void slot_drop(struct slot *s)
{
	elf_free(s->table);
	bundle_table_free(s->bundle);
	image_table_free(s->image);
	s->table = NULL;
	s->bundle = NULL;
	s->image = NULL;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->loads_cnt; i++)
		file_load_free(f->asker, f->loads[i]);
	for (size_t i = 0; i < f->tables_cnt; i++)
		slot_drop(&f->tables[i]);
	free(f->tables);
	free(f->attachments);
	free(f->refused);
	free(f->modules);
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

static bool is_build_id(const struct elf_identity *id, const uint8_t *build_id, uint8_t len)
{
	return len && id->build_id_len == len && !memcmp(id->build_id, build_id, len);
}

#define ANY_SIZE UINT64_MAX

/* A file and its stripped copy have one build id: a full table serves both, a stripped one only the
 * files that it is equal to (size_bytes; 0 = only full ones, ANY_SIZE = better than nothing). */
static uint32_t find_build_id(const struct files *f, const uint8_t *build_id, uint8_t len,
			      uint64_t size_bytes)
{
	uint32_t row = MODEL_NONE;

	for (size_t i = 0; len && i < f->tables_cnt; i++) {
		const struct elf_table *t = f->tables[i].table;

		if (!t || !is_build_id(&t->identity, build_id, len))
			continue;
		if (t->has_symtab)
			return (uint32_t)i;
		if (size_bytes == ANY_SIZE || (size_bytes && t->identity.size_bytes == size_bytes))
			row = (uint32_t)i;
	}
	return row;
}

/* By build id only an ELF file's own symbols: all single-file programs have that of their host. */
static uint32_t find_identity(const struct files *f, const struct elf_identity *id,
			      const struct file_key *a)
{
	uint32_t row = a->kind == FILE_ELF
			       ? find_build_id(f, id->build_id, id->build_id_len, id->size_bytes)
			       : MODEL_NONE;

	for (size_t i = 0; row == MODEL_NONE && i < f->tables_cnt; i++) {
		const struct slot *s = &f->tables[i];

		if (is_kind(s, a->kind) && s->inside == a->inside &&
		    s->identity.inode == id->inode && s->identity.dev == id->dev &&
		    s->identity.mtime_ns == id->mtime_ns &&
		    s->identity.size_bytes == id->size_bytes)
			row = (uint32_t)i;
	}
	return row;
}

/* What a process got for a module row, for others whose own copy is out of reach. */
static uint32_t find_module(const struct files *f, const struct file_key *a)
{
	uint32_t row = a->module < f->modules_cnt ? f->modules[a->module] : MODEL_NONE;

	if (a->kind != FILE_BUNDLE && !a->inside)
		return row != MODEL_NONE && is_loaded(&f->tables[row]) ? row : MODEL_NONE;
	for (size_t i = 0; i < f->tables_cnt; i++) {
		const struct slot *s = &f->tables[i];

		if (is_kind(s, a->kind) && s->module == a->module && s->inside == a->inside)
			return (uint32_t)i;
	}
	return MODEL_NONE;
}

static void note_module(struct files *f, uint32_t module, uint32_t table)
{
	while (f->modules_cnt <= module) {
		if (GROW(f->modules, f->modules_cnt, f->modules_cap))
			return;
		f->modules[f->modules_cnt++] = MODEL_NONE;
	}
	f->modules[module] = table;
}

/* --- memory ------------------------------------------------------------------------------------ */

static size_t bytes_of(const struct slot *s)
{
	return s->image	   ? image_table_bytes(s->image)
	       : s->bundle ? bundle_table_bytes(s->bundle)
			   : elf_memory_bytes(s->table);
}

/* Bytes of all tables that a party caused. */
static size_t held_by(const struct files *f, uint64_t party)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->tables_cnt; i++)
		if (is_loaded(&f->tables[i]) && f->tables[i].party == party)
			bytes += f->tables[i].bytes;
	return bytes;
}

/* The party that holds most. */
static uint64_t largest_party(const struct files *f)
{
	uint64_t largest = 0;
	size_t most = 0;

	for (size_t i = 0; i < f->tables_cnt; i++) {
		size_t bytes;

		if (!is_loaded(&f->tables[i]) || f->tables[i].party == largest)
			continue;
		bytes = held_by(f, f->tables[i].party);
		if (bytes > most) {
			most = bytes;
			largest = f->tables[i].party;
		}
	}
	return largest;
}

static struct slot *oldest_of(struct files *f, uint64_t party)
{
	struct slot *oldest = NULL;

	for (size_t i = 0; i < f->tables_cnt; i++)
		if (is_loaded(&f->tables[i]) && f->tables[i].party == party &&
		    (!oldest || f->tables[i].used < oldest->used))
			oldest = &f->tables[i];
	return oldest;
}

/* Makes room for so many bytes more. False: they are too many for that. */
static bool make_room(struct files *f, size_t bytes)
{
	if (bytes > f->bytes_max / 2)
		return false;
	while (f->bytes + bytes > f->bytes_max) {
		struct slot *oldest = oldest_of(f, largest_party(f));

		if (!oldest)
			return false;
		f->bytes -= oldest->bytes;
		slot_drop(oldest);
	}
	return true;
}

/* Takes the slot's content. Returns its row, or MODEL_NONE: no room, no memory. */
static uint32_t add_slot(struct files *f, struct slot *s)
{
	/* Rows of dropped tables are not used again: attachments still name them. */
	s->bytes = bytes_of(s);
	if (GROW(f->tables, f->tables_cnt, f->tables_cap) || !make_room(f, s->bytes)) {
		slot_drop(s);
		return MODEL_NONE;
	}
	s->used = f->uses;
	f->bytes += s->bytes;
	f->tables[f->tables_cnt] = *s;
	return (uint32_t)f->tables_cnt++;
}

/* --- loading ----------------------------------------------------------------------------------- */

static const struct refused *find_refused(const struct files *f, const struct elf_identity *id)
{
	for (size_t i = 0; i < f->refused_cnt; i++) {
		const struct elf_identity *r = &f->refused[i].identity;

		if (r->dev == id->dev && r->inode == id->inode && r->mtime_ns == id->mtime_ns &&
		    r->size_bytes == id->size_bytes)
			return &f->refused[i];
	}
	return NULL;
}

static void refuse(struct files *f, const struct elf_identity *identity, enum model_reason reason)
{
	struct refused r = {*identity, reason};

	if (f->refused_cnt < REFUSED_MAX && !GROW(f->refused, f->refused_cnt, f->refused_cap))
		f->refused[f->refused_cnt++] = r;
	else if (f->refused_cnt)
		f->refused[f->refused_next++ % f->refused_cnt] = r;
}

static void note_refused(struct files *f, uint32_t process)
{
	struct asker_cost *cost = asker_cost(f->asker, process);

	if (cost)
		cost->refused++;
}

/* Takes what was loaded. Returns its row, or MODEL_NONE. */
static uint32_t keep_loaded(struct files *f, const struct model *m, struct file_load *load)
{
	struct slot s = {
		.table = take_ptr(&load->elf),
		.bundle = take_ptr(&load->bundle),
		.image = take_ptr(&load->image),
		.identity = load->identity,
		.module = load->key.module,
		.inside = load->key.inside,
		.party = asker_party(f->asker, m, load->key.process),
	};

	return add_slot(f, &s);
}

/* A further part of an image. */
static enum model_reason keep_part(struct files *f, struct file_load *load)
{
	struct slot *s = &f->tables[load->table];
	size_t bytes = load->part_bytes;

	/* Making room may drop the image itself. */
	if (!s->image || !make_room(f, bytes) || !s->image ||
	    image_table_add(s->image, take_fd(&load->part_fd), bytes))
		return REASON_LIMIT;
	f->bytes += bytes;
	s->bytes += bytes;
	return REASON_NAMED;
}

/* Goes on with a load. What it led to is in ret_table; REASON_PENDING: it is under way. */
static enum model_reason advance(struct files *f, const struct model *m, struct file_load *load,
				 uint32_t *ret_table)
{
	enum model_reason reason = file_load_step(f->asker, m, load);

	if (reason == REASON_FILE_COSTLY)
		refuse(f, &load->identity, reason);
	if (reason == REASON_FILE_COSTLY)
		note_refused(f, load->key.process);
	if (reason)
		return reason;
	if (load->key.kind == FILE_COMPONENT) {
		*ret_table = load->table;
		return keep_part(f, load);
	}
	*ret_table = keep_loaded(f, m, load);
	return *ret_table == MODEL_NONE ? REASON_LIMIT : REASON_NAMED;
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
	file_load_free(f->asker, f->loads[i]);
	f->loads[i] = f->loads[--f->loads_cnt];
}

/* Whether one more load of a process's party may begin: each has its places. Where all parties
 * together have too many, the one that was begun last goes. */
static bool may_load(struct files *f, const struct model *m, uint32_t process)
{
	uint64_t party = asker_party(f->asker, m, process);
	unsigned same = 0;

	for (unsigned i = 0; i < f->loads_cnt; i++)
		same += asker_party(f->asker, m, f->loads[i]->key.process) == party;
	if (same >= FILES_LOADS_PARTY)
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
	uint64_t inside_bytes;
};

/* Who the file is, and what is known of it already. REASON_PENDING: it is to be loaded. */
static enum model_reason find(struct files *f, const struct wanted *w, struct file_load *load)
{
	const struct model_module *module = &w->m->modules[w->a->key.module];
	const struct refused *refused;
	enum model_reason reason;

	/* First who it is: most files are known already. */
	reason = file_load_identify(f->asker, w->m, load);
	if (reason)
		return reason == REASON_PENDING ? REASON_LIMIT : reason;
	refused = find_refused(f, &load->identity);
	if (refused && refused->reason == REASON_FILE_COSTLY)
		note_refused(f, w->a->key.process);
	if (refused)
		return (enum model_reason)refused->reason;
	w->a->table = find_identity(f, &load->identity, &w->a->key);
	if (w->a->table == MODEL_NONE)
		return REASON_PENDING;
	return w->a->key.inside || !f->tables[w->a->table].image ||
			       symbol_is_version(module, f->tables[w->a->table].image)
		       ? REASON_NAMED
		       : REASON_FILE_CHANGED;
}

/* Begins to load, or goes on. */
static enum model_reason load(struct files *f, const struct wanted *w)
{
	unsigned i = find_load(f, &w->a->key);
	enum model_reason reason;

	if (i == f->loads_cnt) {
		struct file_load *new;

		if (!may_load(f, w->m, w->a->key.process)) {
			f->asker->deferred++;
			return REASON_LIMIT;
		}
		new = file_load_new(w->m, &w->a->key, w->mapping);
		if (!new)
			return REASON_LIMIT;
		new->inside_bytes = w->inside_bytes;
		reason = find(f, w, new);
		if (reason != REASON_PENDING) {
			file_load_free(f->asker, new);
			return reason;
		}
		i = f->loads_cnt;
		f->loads[f->loads_cnt++] = new;
	}
	reason = advance(f, w->m, f->loads[i], &w->a->table);
	if (reason != REASON_PENDING)
		end_load(f, i);
	return reason;
}

static void attach(struct files *f, const struct wanted *w)
{
	struct attachment *a = w->a;
	const struct model_module *module = &w->m->modules[a->key.module];
	bool by_build_id = a->key.kind == FILE_ELF;

	a->table = MODEL_NONE;
	if (by_build_id)
		a->table = find_build_id(f, module->build_id, module->build_id_len, 0);
	/* The same path and build id as another process's: the same file. */
	if (a->table == MODEL_NONE && module->build_id_len && by_build_id)
		a->table = find_module(f, &a->key);
	a->reason = REASON_NAMED;
	if (a->table != MODEL_NONE)
		return;
	a->reason = load(f, w);
	if (!a->reason) {
		if (a->key.kind != FILE_BUNDLE && !a->key.inside)
			note_module(f, a->key.module, a->table);
		return;
	}
	a->table = MODEL_NONE;
	if (a->reason == REASON_PENDING)
		return;
	if (module->inode)
		a->table = find_module(f, &a->key);
	else if (by_build_id)
		a->table = find_build_id(f, module->build_id, module->build_id_len, ANY_SIZE);
	if (a->table != MODEL_NONE)
		a->reason = REASON_NAMED;
}

/* What the wanted led to; ret_slot is borrowed until the next call. */
static enum model_reason look_up(struct files *f, struct wanted *w, const struct slot **ret_slot)
{
	struct attachment new = *w->a, *a;
	const struct file_key *key = &new.key;
	uint64_t hash = hash_pair(key->process, key->module) ^ hash_pair(key->kind, key->inside);
	uint64_t deferred = f->asker->deferred;
	uint32_t row = f->last;

	f->uses++;
	if (row == MODEL_NONE || !attachment_equal(f, row, key))
		row = hash_find(&f->attachment_index, hash, attachment_equal, f, key);
	if (row == HASH_NONE) {
		w->a = &new;
		attach(f, w);
		/* Not settled: it is asked again when there is time. */
		if (new.reason == REASON_PENDING || (new.reason && f->asker->deferred != deferred))
			return (enum model_reason) new.reason;
		if (GROW(f->attachments, f->attachments_cnt, f->attachments_cap) ||
		    hash_add(&f->attachment_index, hash, (uint32_t)f->attachments_cnt))
			return REASON_LIMIT;
		row = (uint32_t)f->attachments_cnt++;
		f->attachments[row] = new;
	}
	f->last = row;
	a = &f->attachments[row];
	if (!a->reason && !is_loaded(&f->tables[a->table])) { /* dropped meanwhile */
		new = *a;
		w->a = &new;
		attach(f, w);
		if (new.reason == REASON_PENDING || (new.reason && f->asker->deferred != deferred))
			return (enum model_reason) new.reason;
		*a = new;
	}
	if (a->reason)
		return (enum model_reason)a->reason;
	f->tables[a->table].used = f->uses;
	*ret_slot = &f->tables[a->table];
	return REASON_NAMED;
}

/* look_up() of one kind of the mapped file. */
static enum model_reason look_up_kind(struct files *f, const struct model *m, uint32_t process,
				      const struct model_mapping *mapping, enum file_kind kind,
				      const struct slot **ret_slot)
{
	struct attachment a = {
		.key = {.process = process, .module = mapping->module, .kind = kind}};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};

	return look_up(f, &w, ret_slot);
}

size_t files_bytes(const struct files *f)
{
	return f->bytes;
}

enum model_reason files_table(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct elf_table **ret_table)
{
	const struct slot *slot;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_ELF, &slot);

	if (!reason)
		*ret_table = slot->table;
	return reason;
}

enum model_reason files_image(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct image_table **ret_image)
{
	const struct slot *slot;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_IMAGE, &slot);

	if (!reason)
		*ret_image = slot->image;
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
	const struct slot *slot;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_BUNDLE, &slot);

	if (reason)
		return reason;
	if (!bundle_table_find(slot->bundle, offset, &entry) || !entry.offset)
		return REASON_NO_SYMBOL;
	snprintf(f->bundled_path, sizeof(f->bundled_path), "%.*s", ENTRY_BYTES - 1, entry.path);
	ret_bundled->path = f->bundled_path;
	ret_bundled->start = a.key.inside = entry.offset;
	w.inside_bytes = entry.bytes;
	reason = look_up(f, &w, &slot);
	if (!reason)
		ret_bundled->image = slot->image;
	return reason;
}

bool files_compressed(struct files *f, const struct model *m, uint32_t process,
		      const struct model_mapping *mapping)
{
	const struct slot *slot;

	return !look_up_kind(f, m, process, mapping, FILE_BUNDLE, &slot) &&
	       bundle_table_compressed(slot->bundle);
}

/* Where the file of an assembly is to be found. REASON_PRECOMPILED: nowhere. */
static enum model_reason locate_component(struct files *f, const struct model *m, uint32_t process,
					  const struct model_mapping *mapping, uint32_t row,
					  struct file_component *c)
{
	const char *path = m->modules[mapping->module].path, *slash = strrchr(path, '/');
	const char *name = image_table_component(f->tables[row].image, c->component);
	struct perfmap_bundle_entry entry;
	char file[ENTRY_BYTES + 5];
	const struct slot *bundle;
	enum model_reason reason;

	if (!name || !slash || strlen(name) >= ENTRY_BYTES)
		return REASON_PRECOMPILED;
	snprintf(file, sizeof(file), "%s.dll", name);
	if (!f->tables[row].inside)
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
	if (load->components_cnt == IMAGE_COMPONENTS_MAX || !f->tables[load->table].image)
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
				  const struct model_mapping *mapping, uint32_t row)
{
	struct file_key key = {.process = process,
			       .module = mapping->module,
			       .kind = FILE_COMPONENT,
			       .inside = f->tables[row].inside};
	struct file_load *load = file_load_new(m, &key, mapping);

	if (load) {
		load->table = row;
		load->identity = f->tables[row].identity;
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
	uint32_t row = f->attachments[f->last].table, component = place->component, last = f->last;
	struct file_key key = {.process = process,
			       .module = mapping->module,
			       .kind = FILE_COMPONENT,
			       .inside = f->tables[row].inside};
	unsigned i = find_load(f, &key);
	enum model_reason reason = REASON_NAMED;

	if (i == f->loads_cnt) {
		uint32_t given[IMAGE_COMPONENTS_MAX], given_cnt = place->given_cnt;
		struct file_load *new =
			may_load(f, m, process) ? new_part(f, m, process, mapping, row) : NULL;

		if (!new)
			return REASON_LIMIT;
		memcpy(given, place->given, given_cnt * sizeof(given[0]));
		if (given_cnt)
			new->wanted = place->start;
		for (uint32_t k = 0; !reason && k < given_cnt; k++)
			reason = add_component(f, m, mapping, new, given[k]);
		if (!reason)
			reason = add_component(f, m, mapping, new, component);
		if (reason) {
			file_load_free(f->asker, new);
			return reason;
		}
		/* Its bundle may have been loaded meanwhile. */
		i = f->loads_cnt;
		if (i == FILES_LOADS_MAX) {
			file_load_free(f->asker, new);
			return REASON_LIMIT;
		}
		f->loads[f->loads_cnt++] = new;
	}
	reason = advance(f, m, f->loads[i], &row);
	f->last = last;
	if (reason != REASON_PENDING)
		end_load(f, i);
	return reason;
}
