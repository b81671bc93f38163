/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/hash.h"
#include "names/fetch.h"
#include "names/file_job.h"
#include "names/symbol.h"

/* What a module of a process led to. */
struct attachment {
	uint32_t process, module;
	uint32_t table;	 /* row of tables, or MODEL_NONE */
	uint32_t reason; /* enum model_reason, where there is no table */
};

/* One of table and image; both NULL = dropped. */
struct slot {
	struct elf_table *table;
	struct perfmap_image *image;
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
	return s->table || s->image;
}

static void slot_drop(struct slot *s)
{
	elf_free(s->table);
	perfmap_image_free(s->image);
	s->table = NULL;
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

	return a->process == b->process && a->module == b->module;
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

static uint32_t find_identity(const struct files *f, const struct elf_identity *id, bool is_image)
{
	uint32_t row = find_build_id(f, id->build_id, id->build_id_len, id->size_bytes);

	for (size_t i = 0; row == MODEL_NONE && i < f->tables_cnt; i++) {
		const struct slot *s = &f->tables[i];

		if ((is_image ? s->image != NULL : s->table != NULL) &&
		    s->identity.inode == id->inode && s->identity.dev == id->dev &&
		    s->identity.mtime_ns == id->mtime_ns &&
		    s->identity.size_bytes == id->size_bytes)
			row = (uint32_t)i;
	}
	return row;
}

/* The table that a process got for a module row, for others whose own copy is out of reach. */
static uint32_t find_module(const struct files *f, uint32_t module)
{
	uint32_t row = module < f->modules_cnt ? f->modules[module] : MODEL_NONE;

	return row != MODEL_NONE && is_loaded(&f->tables[row]) ? row : MODEL_NONE;
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

/* Takes what the job loaded. Returns its row, or MODEL_NONE without memory. */
static uint32_t keep_table(struct files *f, struct file_job *job)
{
	struct slot s = {
		.table = job->table,
		.image = job->image,
		.identity = job->identity,
		.used = f->uses,
	};
	size_t row = f->tables_cnt;

	/* Rows of dropped tables are not used again: attachments still name them. */
	if (GROW(f->tables, f->tables_cnt, f->tables_cap)) {
		return MODEL_NONE;
	}
	job->table = NULL;
	job->image = NULL;
	s.bytes = s.image ? perfmap_image_memory_bytes(s.image) : elf_memory_bytes(s.table);
	f->tables[f->tables_cnt++] = s;
	f->bytes += s.bytes;
	drop_unused(f);
	return (uint32_t)row;
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

/* Takes fd. */
static enum model_reason load(struct files *f, const struct model *m, uint32_t process,
			      struct fetch_request *request, const struct elf_identity *identity,
			      int fd, uint32_t *ret_table)
{
	struct file_job *job = file_job_new(fd, request->is_image, identity);
	struct loader_job *left;
	enum model_reason reason;

	if (!job)
		return REASON_LIMIT;
	reason = asker_run(f->asker, process, &job->base, &left);
	if (!reason)
		reason = job->reason;
	if (!reason && job->table)
		elf_place_code(job->table, request->start, request->end, request->file_offset);
	if (!reason && job->table && !job->table->has_symtab &&
	    !add_debug(f, m, process, request, job)) {
		left = NULL;
		reason = REASON_FILE_TIMEOUT;
	}
	if (!reason) {
		*ret_table = keep_table(f, job);
		if (*ret_table == MODEL_NONE)
			reason = REASON_LIMIT;
	}
	if (left)
		left->release(left);
	return reason;
}

static enum model_reason find(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping, uint32_t *ret_table)
{
	const struct model_module *module = &m->modules[mapping->module];
	_cleanup_free_ struct fetch_request *request = calloc(1, sizeof(*request));
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
	request->start = mapping->start;
	request->end = mapping->end;
	request->file_offset = mapping->file_offset;
	request->is_image = symbol_is_image(module->path);
	/* First who it is: most files are known already, and a copy costs. */
	request->identity_only = true;
	reason = asker_fetch(f->asker, m, process, request, -1, &reply, &fd);
	if (!reason)
		reason = reply.reason;
	if (reason)
		return reason;
	*ret_table = find_identity(f, &reply.identity, request->is_image);
	if (*ret_table != MODEL_NONE)
		return REASON_NAMED;
	request->identity_only = false;
	reason = asker_fetch(f->asker, m, process, request, -1, &reply, &fd);
	if (!reason)
		reason = reply.reason;
	if (reason)
		return reason;
	return load(f, m, process, request, &reply.identity, fd, ret_table);
}

static void attach(struct files *f, const struct model *m, uint32_t process,
		   const struct model_mapping *mapping, struct attachment *a)
{
	const struct model_module *module = &m->modules[mapping->module];

	a->table = find_build_id(f, module->build_id, module->build_id_len, 0);
	/* The same path and build id as another process's: the same file. */
	if (a->table == MODEL_NONE && module->build_id_len)
		a->table = find_module(f, mapping->module);
	a->reason = REASON_NAMED;
	if (a->table != MODEL_NONE)
		return;
	a->reason = find(f, m, process, mapping, &a->table);
	if (!a->reason) {
		note_module(f, mapping->module, a->table);
		return;
	}
	a->table = module->inode
			   ? find_module(f, mapping->module)
			   : find_build_id(f, module->build_id, module->build_id_len, ANY_SIZE);
	if (a->table != MODEL_NONE)
		a->reason = REASON_NAMED;
}

/* What the file mapped there led to; ret_slot is borrowed until the next call. */
static enum model_reason look_up(struct files *f, const struct model *m, uint32_t process,
				 const struct model_mapping *mapping, const struct slot **ret_slot)
{
	struct attachment key = {.process = process, .module = mapping->module}, *a;
	uint64_t hash = hash_pair(process, mapping->module);
	uint32_t row = f->last;

	f->uses++;
	if (row == MODEL_NONE || !attachment_equal(f, row, &key))
		row = hash_find(&f->attachment_index, hash, attachment_equal, f, &key);
	if (row == HASH_NONE) {
		uint64_t deferred = f->asker->deferred;

		attach(f, m, process, mapping, &key);
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
	if (!a->reason && !is_loaded(&f->tables[a->table])) /* dropped meanwhile */
		attach(f, m, process, mapping, a);
	if (a->reason)
		return (enum model_reason)a->reason;
	f->tables[a->table].used = f->uses;
	*ret_slot = &f->tables[a->table];
	return REASON_NAMED;
}

enum model_reason files_table(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct elf_table **ret_table)
{
	const struct slot *slot;
	enum model_reason reason = look_up(f, m, process, mapping, &slot);

	if (!reason)
		*ret_table = slot->table;
	return reason;
}

enum model_reason files_image(struct files *f, const struct model *m, uint32_t process,
			      const struct model_mapping *mapping,
			      const struct perfmap_image **ret_image)
{
	const struct slot *slot;
	enum model_reason reason = look_up(f, m, process, mapping, &slot);

	if (!reason)
		*ret_image = slot->image;
	return reason;
}
