/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/file_symbols.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "names/symbol.h"
#include "names/vdso.h"
#include "process/facts.h"

/*
 * A function of a file, and its symbol. Neither the module tells files apart (all single-file
 * programs have the build id of their host) nor do equal tables (what they are called differs).
 */
struct file_symbol {
	uint64_t start; /* in the file */
	uint64_t content;
	uint64_t party;
	uint32_t module;
	uint32_t process; /* of native code: whether it is the application differs */
	uint32_t symbol;
};

void file_symbols_close(struct file_symbols *f)
{
	elf_free(f->vdso);
	free(f->known);
	hash_clear(&f->known_index);
}

static const struct elf_table *vdso(struct file_symbols *f)
{
	if (!f->vdso_read) {
		f->vdso_read = true;
		vdso_load(&f->vdso);
	}
	return f->vdso;
}

static bool known_equal(const void *owner, uint32_t row, const void *key)
{
	const struct file_symbol *a = &((const struct file_symbols *)owner)->known[row], *b = key;

	return a->start == b->start && a->content == b->content && a->party == b->party &&
	       a->module == b->module && a->process == b->process;
}

static uint64_t hash_known(const struct file_symbol *k)
{
	return hash_pair(hash_pair(k->start, k->content),
			 hash_pair(k->party, (uint64_t)k->module << 32 | k->process));
}

/* Of what was looked up last. */
static struct file_symbol key_of(struct file_symbols *f, const struct model *m,
				 const struct symbol_site *site, uint32_t module, uint64_t start)
{
	return (struct file_symbol){
		.start = start,
		.content = files_content(f->files),
		.party = file_requests_party(f->requests, m, site->process),
		.module = module,
		.process = MODEL_NONE,
	};
}

/* MODEL_NONE: not known. */
static uint32_t find_known(const struct file_symbols *f, const struct file_symbol *key)
{
	uint32_t row = hash_find(&f->known_index, hash_known(key), known_equal, f, key);

	return row == HASH_NONE ? MODEL_NONE : f->known[row].symbol;
}

static uint32_t keep_known(struct file_symbols *f, struct file_symbol *key, uint32_t symbol)
{
	key->symbol = symbol;
	if (symbol != MODEL_NONE && !GROW(f->known, f->known_cnt, f->known_cap) &&
	    !hash_add(&f->known_index, hash_known(key), (uint32_t)f->known_cnt))
		f->known[f->known_cnt++] = *key;
	return symbol;
}

/* A symbol of native code; one that has to be taken apart once. */
static uint32_t symbol_in_elf(struct file_symbols *f, struct model *m,
			      const struct symbol_site *site, const struct model_mapping *mapping,
			      const struct elf_table *table)
{
	struct name_parts parts;
	struct elf_place place;
	enum model_reason reason;
	struct file_symbol key;
	uint32_t symbol;

	if (!table || !elf_find(table, site->offset, &place) || !place.name ||
	    !symbol_is_mangled(place.name))
		return symbol_native(m, site, table, site->reason, NULL);
	key = key_of(f, m, site, mapping->module, site->offset - (place.vaddr - place.function));
	key.process = site->process;
	symbol = find_known(f, &key);
	if (symbol != MODEL_NONE)
		return symbol;
	reason = name_cache_text(f->cache, m, site->process, NAME_MANGLED, place.name, &parts);
	symbol = symbol_native(m, site, table, site->reason, reason ? NULL : parts.display);
	return reason == REASON_PENDING ? symbol : keep_known(f, &key, symbol);
}

/* Finds the function; of a composite image has the assembly read that its name needs. */
static bool find_function(struct file_symbols *f, const struct model *m, struct symbol_site *site,
			  const struct model_mapping *mapping, const struct image_table *image,
			  struct image_place *place)
{
	for (unsigned i = 0; i <= IMAGE_COMPONENTS_MAX; i++) {
		if (image_table_find(image, site->offset, place))
			return false;
		if (place->error != -EAGAIN)
			break;
		site->reason = files_component(f->files, m, site->process, mapping, place);
		if (site->reason)
			return true;
	}
	site->reason = place->name
			       ? REASON_NAMED
			       : symbol_unnamed_reason(&m->processes[site->process], place->error);
	return true;
}

/* A symbol of precompiled code; each taken apart once. start: of a bundled image in its file. */
static uint32_t symbol_in_image(struct file_symbols *f, struct model *m, struct symbol_site *site,
				const struct model_mapping *mapping,
				const struct image_table *image, uint64_t start)
{
	struct name_parts parts;
	struct image_place place;
	struct file_symbol key;
	uint32_t symbol;

	if (!image)
		return symbol_image(m, site, NULL, NULL);
	if (!find_function(f, m, site, mapping, image, &place))
		return symbol_thunks(m);
	if (site->reason)
		return symbol_image(m, site, &place, NULL);
	key = key_of(f, m, site, mapping->module, start + place.start);
	symbol = find_known(f, &key);
	if (symbol != MODEL_NONE)
		return symbol;
	site->reason = name_cache_text(f->cache, m, site->process, NAME_DOTNET, place.name, &parts);
	if (site->reason)
		return symbol_image(m, site, &place, NULL);
	return keep_known(f, &key, symbol_image(m, site, &place, &parts));
}

/* What is not there yet: because it takes its time, or because its party has used up its share. */
static enum model_reason why_pending(struct file_symbols *f, const struct model *m,
				     uint32_t process, enum model_reason reason)
{
	return reason == REASON_PENDING ? file_requests_why_pending(f->requests, m, process)
					: reason;
}

/* The symbol of a place in a mapped file. */
static uint32_t symbol_in_file(struct file_symbols *f, struct model *m, struct symbol_site *site,
			       const struct model_mapping *mapping)
{
	const struct image_table *image = NULL;
	const struct elf_table *table = NULL;
	struct files_bundled bundled = {0};

	if (symbol_is_image(site->path)) {
		site->reason = files_image(f->files, m, site->process, mapping, &image);
		site->reason = why_pending(f, m, site->process, site->reason);
		if (image && image_table_mvid(image))
			model_module_learn(m, mapping->module, image_table_mvid(image),
					   PERFMAP_IMAGE_MVID_BYTES);
		return symbol_in_image(f, m, site, mapping, image, 0);
	}
	site->reason = files_table(f->files, m, site->process, mapping, &table);
	site->reason = why_pending(f, m, site->process, site->reason);
	if (table)
		model_module_learn(m, mapping->module, table->identity.build_id,
				   table->identity.build_id_len);
	if (!table || !symbol_is_behind(site, table))
		return symbol_in_elf(f, m, site, mapping, table);
	site->reason = files_bundled(f->files, m, site->process, mapping, site->offset, &bundled);
	site->reason = why_pending(f, m, site->process, site->reason);
	if (site->reason == REASON_NO_SYMBOL)
		return symbol_in_elf(f, m, site, mapping, NULL);
	if (bundled.path) {
		site->path = bundled.path;
		site->offset -= bundled.start;
	}
	return symbol_in_image(f, m, site, mapping, bundled.image, bundled.start);
}

uint32_t file_symbols_at(struct file_symbols *f, struct model *m, uint32_t process,
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
		return symbol_native(m, &site, vdso(f), REASON_NO_SYMBOL, NULL);
	default:
		facts_note_mapping(m, process, mapping);
		return symbol_in_file(f, m, &site, mapping);
	}
}
