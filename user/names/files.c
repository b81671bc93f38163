/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/entry.h"
#include "names/fetch.h"
#include "names/file_job.h"
#include "names/symbol.h"

/* What a module of a process led to. */
struct attachment {
	uint32_t process, module;
	enum file_kind kind;
	uint64_t inside; /* where a bundled image begins in the file; 0 = the file itself */
	uint32_t table;	 /* row of tables, or MODEL_NONE */
	uint32_t reason; /* enum model_reason, where there is no table */
};

/* What was loaded of a file: one of these; all NULL = dropped. */
struct slot {
	struct elf_table *table;
	struct perfmap_bundle *bundle;
	struct perfmap_image *image;
	uint32_t module; /* that it was loaded for */
	uint64_t inside; /* of an image in a bundle */
	struct elf_identity identity;
	size_t bytes;
	uint64_t used; /* the look-up that used it last */
};

struct files {
	struct asker *asker;
	struct slot *tables;
	size_t tables_cnt, tables_cap;
	size_t bytes;
	uint64_t uses;
	struct attachment *attachments;
	size_t attachments_cnt, attachments_cap;
	struct hash_index attachment_index;
	uint32_t *modules; /* by module row: the table loaded for it last, or MODEL_NONE */
	size_t modules_cnt, modules_cap;
	char bundled_path[ENTRY_BYTES];
	uint32_t last; /* attachment used last: neighbours on a stack are often of one file */
};

struct files *files_new(struct asker *asker)
{
	struct files *f = calloc(1, sizeof(*f));

	if (f) {
		f->asker = asker;
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
	perfmap_bundle_free(s->bundle);
	perfmap_image_free(s->image);
	s->table = NULL;
	s->bundle = NULL;
	s->image = NULL;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->tables_cnt; i++)
		slot_drop(&f->tables[i]);
	free(f->tables);
	free(f->attachments);
	free(f->modules);
	hash_clear(&f->attachment_index);
	free(f);
}

static bool attachment_equal(const void *owner, uint32_t row, const void *key)
{
	const struct attachment *a = &((const struct files *)owner)->attachments[row], *b = key;

	return a->process == b->process && a->module == b->module && a->kind == b->kind &&
	       a->inside == b->inside;
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
			      const struct attachment *a)
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
static uint32_t find_module(const struct files *f, const struct attachment *a)
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

static void drop_unused(struct files *f)
{
	while (f->bytes > FILES_TABLES_BYTES_MAX) {
		struct slot *oldest = NULL;

		for (size_t i = 0; i < f->tables_cnt; i++)
			if (is_loaded(&f->tables[i]) &&
			    (!oldest || f->tables[i].used < oldest->used))
				oldest = &f->tables[i];
		if (!oldest || oldest->used == f->uses)
			return;
		f->bytes -= oldest->bytes;
		slot_drop(oldest);
	}
}

/* Takes the slot's content. Returns its row, or MODEL_NONE without memory. */
static uint32_t add_slot(struct files *f, struct slot *s)
{
	/* Rows of dropped tables are not used again: attachments still name them. */
	if (GROW(f->tables, f->tables_cnt, f->tables_cap)) {
		slot_drop(s);
		return MODEL_NONE;
	}
	s->used = f->uses;
	s->bytes = s->image    ? perfmap_image_memory_bytes(s->image)
		   : s->bundle ? perfmap_bundle_memory_bytes(s->bundle)
			       : elf_memory_bytes(s->table);
	f->bytes += s->bytes;
	f->tables[f->tables_cnt] = *s;
	return (uint32_t)f->tables_cnt++;
}

/* Takes what the job loaded, for the attachment. Returns its row, or MODEL_NONE without memory. */
static uint32_t keep_loaded(struct files *f, struct file_job *job, const struct attachment *a)
{
	struct slot s = {.identity = job->identity, .module = a->module, .inside = job->inside};
	uint32_t row;

	if (job->kind == FILE_ELF && job->bundle) {
		s.bundle = take_ptr(&job->bundle);
		add_slot(f, &s);
		s.bundle = NULL;
	}
	s.table = take_ptr(&job->table);
	s.bundle = take_ptr(&job->bundle);
	s.image = take_ptr(&job->image);
	row = add_slot(f, &s);
	drop_unused(f);
	return row;
}

/* A build id of one byte is no name of a file. */
static bool may_be_there(const struct fetch_request *request)
{
	return fetch_is_by_build_id(request->candidate) ? request->build_id_len > 1
							: request->debuglink[0] != '\0';
}

/* Adds the symbols of the first debug file that fits. Returns false where the job was lost. */
static bool add_debug(struct files *f, const struct model *m, uint32_t process,
		      struct fetch_request *request, struct file_job *job)
{
	struct loader_job *left;
	struct fetch_reply reply;
	int fd;

	request->what = FETCH_DEBUG;
	memcpy(request->build_id, job->identity.build_id, sizeof(request->build_id));
	request->build_id_len = job->identity.build_id_len;
	memcpy(request->debuglink, job->table->debuglink, sizeof(request->debuglink));
	for (unsigned i = 0; i < FETCH_CANDIDATES; i++) {
		request->candidate = i;
		if (!may_be_there(request))
			continue;
		if (asker_fetch(f->asker, m, process, request, -1, &reply, &fd))
			break;
		if (fd < 0)
			continue;
		file_job_give(job, fd);
		if (asker_run(f->asker, process, &job->base, &left))
			return left != NULL;
		if (!job->reason)
			return true;
	}
	if (!job->table->debugdata_bytes)
		return true;
	file_job_give(job, -1);
	return !asker_run(f->asker, process, &job->base, &left) || left;
}

/* What is to be loaded, and for whom. */
struct wanted {
	const struct model *m;
	const struct model_mapping *mapping;
	struct attachment *a;
	uint64_t inside_bytes;
};

/* Takes fd. */
static enum model_reason load(struct files *f, const struct wanted *w,
			      struct fetch_request *request, const struct elf_identity *identity,
			      int fd)
{
	struct file_job *job = file_job_new(fd, w->a->kind, identity);
	uint32_t process = w->a->process;
	struct loader_job *left;
	enum model_reason reason;

	if (!job)
		return REASON_LIMIT;
	job->inside = w->a->inside;
	job->inside_bytes = w->inside_bytes;
	reason = asker_run(f->asker, process, &job->base, &left);
	if (!reason)
		reason = job->reason;
	if (!reason && job->image && !job->inside &&
	    !symbol_is_version(&w->m->modules[w->a->module], job->image))
		reason = REASON_FILE_CHANGED;
	if (!reason && job->table)
		elf_place_code(job->table, request->start, request->end, request->file_offset);
	if (!reason && job->table && !job->table->has_symtab &&
	    !add_debug(f, w->m, process, request, job)) {
		left = NULL;
		reason = REASON_FILE_TIMEOUT;
	}
	if (!reason) {
		w->a->table = keep_loaded(f, job, w->a);
		if (w->a->table == MODEL_NONE)
			reason = REASON_LIMIT;
	}
	if (left)
		left->release(left);
	return reason;
}

static enum model_reason find(struct files *f, const struct wanted *w)
{
	const struct model_module *module = &w->m->modules[w->mapping->module];
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	uint32_t process = w->a->process;
	struct fetch_reply reply;
	enum model_reason reason;
	int fd;

	if (!request || snprintf(request->path, sizeof(request->path), "%s", module->path) >=
				(int)sizeof(request->path))
		return REASON_LIMIT;
	request->what = FETCH_FILE;
	memcpy(request->build_id, module->build_id, sizeof(request->build_id));
	request->build_id_len = module->build_id_len;
	request->inode = module->inode;
	request->start = w->mapping->start;
	request->end = w->mapping->end;
	request->file_offset = w->mapping->file_offset;
	request->is_image = symbol_is_image(module->path);
	if (request->is_image) {
		request->version_len = request->build_id_len;
		request->build_id_len = 0;
	}
	/* First who it is: most files are known already, and a copy costs. */
	request->identity_only = true;
	reason = asker_fetch(f->asker, w->m, process, request, -1, &reply, &fd);
	if (!reason)
		reason = reply.reason;
	if (reason)
		return reason;
	w->a->table = find_identity(f, &reply.identity, w->a);
	if (w->a->table != MODEL_NONE)
		return w->a->inside || !f->tables[w->a->table].image ||
				       symbol_is_version(module, f->tables[w->a->table].image)
			       ? REASON_NAMED
			       : REASON_FILE_CHANGED;
	request->identity_only = false;
	request->copy_from = w->a->inside;
	request->copy_bytes = w->inside_bytes;
	reason = asker_fetch(f->asker, w->m, process, request, -1, &reply, &fd);
	if (!reason)
		reason = reply.reason;
	if (reason)
		return reason;
	return load(f, w, request, &reply.identity, fd);
}

static void attach(struct files *f, const struct wanted *w)
{
	struct attachment *a = w->a;
	const struct model_module *module = &w->m->modules[a->module];
	bool by_build_id = a->kind == FILE_ELF;

	a->table = MODEL_NONE;
	if (by_build_id)
		a->table = find_build_id(f, module->build_id, module->build_id_len, 0);
	/* The same path and build id as another process's: the same file. */
	if (a->table == MODEL_NONE && module->build_id_len && by_build_id)
		a->table = find_module(f, a);
	a->reason = REASON_NAMED;
	if (a->table != MODEL_NONE)
		return;
	a->reason = find(f, w);
	if (!a->reason) {
		if (a->kind != FILE_BUNDLE && !a->inside)
			note_module(f, a->module, a->table);
		return;
	}
	a->table = MODEL_NONE;
	if (module->inode)
		a->table = find_module(f, a);
	else if (by_build_id)
		a->table = find_build_id(f, module->build_id, module->build_id_len, ANY_SIZE);
	if (a->table != MODEL_NONE)
		a->reason = REASON_NAMED;
}

/* What the wanted led to; ret_slot is borrowed until the next call. */
static enum model_reason look_up(struct files *f, struct wanted *w, const struct slot **ret_slot)
{
	struct attachment key = *w->a, *a;
	uint64_t hash = hash_pair(key.process, key.module) ^ hash_pair(key.kind, key.inside);
	uint32_t row = f->last;

	f->uses++;
	if (row == MODEL_NONE || !attachment_equal(f, row, &key))
		row = hash_find(&f->attachment_index, hash, attachment_equal, f, &key);
	if (row == HASH_NONE) {
		uint64_t deferred = f->asker->deferred;

		w->a = &key;
		attach(f, w);
		/* Not settled: it is asked again when there is time. */
		if (key.reason && f->asker->deferred != deferred)
			return (enum model_reason)key.reason;
		if (GROW(f->attachments, f->attachments_cnt, f->attachments_cap) ||
		    hash_add(&f->attachment_index, hash, (uint32_t)f->attachments_cnt))
			return REASON_LIMIT;
		row = (uint32_t)f->attachments_cnt++;
		f->attachments[row] = key;
	}
	f->last = row;
	a = &f->attachments[row];
	if (!a->reason && !is_loaded(&f->tables[a->table])) { /* dropped meanwhile */
		w->a = a;
		attach(f, w);
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
	struct attachment a = {.process = process, .module = mapping->module, .kind = kind};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};

	return look_up(f, &w, ret_slot);
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
			      const struct perfmap_image **ret_image)
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
	struct attachment a = {.process = process, .module = mapping->module, .kind = FILE_IMAGE};
	struct wanted w = {.m = m, .mapping = mapping, .a = &a};
	const struct perfmap_bundle_entry *entry;
	const struct slot *slot;
	enum model_reason reason = look_up_kind(f, m, process, mapping, FILE_BUNDLE, &slot);

	entry = reason ? NULL : perfmap_bundle_find(slot->bundle, offset);
	if (!entry || !entry->offset)
		return reason ? reason : REASON_NO_SYMBOL;
	snprintf(f->bundled_path, sizeof(f->bundled_path), "%.*s", ENTRY_BYTES - 1, entry->path);
	ret_bundled->path = f->bundled_path;
	ret_bundled->start = a.inside = entry->offset;
	w.inside_bytes = entry->bytes;
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
	       perfmap_bundle_compressed(slot->bundle);
}

/* Where the file of a component is to be found. Returns false where it is nowhere. */
static bool component_request(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping, const struct slot *image,
			      uint32_t component, struct fetch_request *request)
{
	const char *path = m->modules[mapping->module].path, *slash = strrchr(path, '/');
	const struct perfmap_bundle_entry *entry;
	const struct slot *bundle;
	char name[ENTRY_BYTES];
	size_t len;

	if (perfmap_image_component(image->image, component, name, sizeof(name) - 4) || !slash)
		return false;
	len = strlen(name);
	memcpy(name + len, ".dll", 5);
	request->what = FETCH_FILE;
	if (!image->inside) {
		request->is_image = true;
		return snprintf(request->path, sizeof(request->path), "%.*s/%s",
				(int)(slash - path), path, name) < (int)sizeof(request->path);
	}
	if (look_up_kind(f, m, process, mapping, FILE_BUNDLE, &bundle))
		return false;
	entry = perfmap_bundle_named(bundle->bundle, name);
	if (!entry)
		return false;
	request->copy_from = entry->offset;
	request->copy_bytes = entry->bytes;
	request->inode = m->modules[mapping->module].inode;
	request->start = mapping->start;
	request->end = mapping->end;
	return snprintf(request->path, sizeof(request->path), "%s", path) <
	       (int)sizeof(request->path);
}

/* Reads the component; NULL where it cannot be had. False: not now. */
static bool load_component(struct files *f, const struct model *m, uint32_t process,
			   struct fetch_request *request, struct perfmap_component **ret_component)
{
	uint64_t deferred = f->asker->deferred;
	enum model_reason reason;
	struct fetch_reply reply;
	struct loader_job *left;
	struct file_job *job;
	int fd;

	*ret_component = NULL;
	reason = asker_fetch(f->asker, m, process, request, -1, &reply, &fd);
	if (!reason)
		reason = reply.reason;
	/* Another process with the same image may still have it. */
	if (reason)
		return f->asker->deferred == deferred && reason != REASON_PROCESS_GONE;
	job = file_job_new(fd, FILE_COMPONENT, &reply.identity);
	if (!job)
		return true;
	job->inside = request->copy_from;
	job->inside_bytes = request->copy_bytes;
	asker_run(f->asker, process, &job->base, &left);
	if (!left)
		return true;
	*ret_component = job->component;
	job->component = NULL;
	left->release(left);
	return f->asker->deferred == deferred;
}

bool files_component(struct files *f, const struct model *m, uint32_t process,
		     const struct model_mapping *mapping, uint32_t component)
{
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
	uint32_t row = f->attachments[f->last].table, last = f->last;
	struct perfmap_component *given = NULL;
	struct slot *s;
	size_t bytes;

	if (!request)
		return false;
	if (component_request(f, m, process, mapping, &f->tables[row], component, request) &&
	    !load_component(f, m, process, request, &given))
		return false;
	s = &f->tables[row];
	f->last = last;
	s->used = f->uses;
	if (!s->image) { /* dropped for want of memory */
		perfmap_component_free(given);
		return false;
	}
	perfmap_image_give_component(s->image, component, given);
	bytes = perfmap_image_memory_bytes(s->image);
	f->bytes += bytes - s->bytes;
	s->bytes = bytes;
	return true;
}
