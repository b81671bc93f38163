/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "perfmap/names/name.h"
#include "process/entry.h"

#define OFFSET_NAME_BYTES (ENTRY_BYTES + 24) /* a file name and "+0x" with 16 digits */

uint32_t symbol_note(struct model *m, const char *name, enum model_kind kind,
		     enum model_reason reason)
{
	struct model_symbol symbol = {
		.name = name,
		.raw = name,
		.module = name,
		.kind = (uint8_t)kind,
		.reason = (uint8_t)reason,
	};

	return model_symbol_get(m, &symbol);
}

static uint32_t symbol_offset(struct model *m, const struct symbol_site *site, uint64_t offset,
			      enum model_kind kind, enum model_reason reason, bool application)
{
	const char *base = entry_basename(site->path);
	char name[OFFSET_NAME_BYTES];
	struct model_symbol symbol = {
		.name = name,
		.raw = name,
		.module = base,
		.kind = (uint8_t)kind,
		.reason = (uint8_t)reason,
		.application = application,
	};

	snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, ENTRY_BYTES, base, offset);
	return model_symbol_get(m, &symbol);
}

/* The program itself, not its libraries; the executable of a .NET process is the runtime's. */
static bool is_application(const struct model *m, const struct symbol_site *site)
{
	const struct model_process *p = &m->processes[site->process];

	return !(p->flags & PROCESS_DOTNET) && *site->path && !strcmp(p->exe, site->path);
}

bool symbol_is_behind(const struct symbol_site *site, const struct elf_table *table)
{
	struct elf_place place;

	return !elf_find(table, site->offset, &place);
}

uint32_t symbol_native(struct model *m, const struct symbol_site *site,
		       const struct elf_table *table, enum model_reason reason,
		       const char *readable)
{
	bool application = is_application(m, site);
	struct model_symbol symbol;
	struct elf_place place;

	if (!table)
		return symbol_offset(m, site, site->offset, KIND_NATIVE, reason, application);
	if (!elf_find(table, site->offset, &place))
		return symbol_offset(m, site, site->offset, KIND_NATIVE, REASON_NO_SYMBOL,
				     application);
	if (!place.name)
		return symbol_offset(m, site, place.function, KIND_NATIVE, REASON_NO_SYMBOL,
				     application);
	symbol = (struct model_symbol){
		.name = readable ? readable : place.name,
		.raw = place.name,
		.module = entry_basename(site->path),
		.kind = KIND_NATIVE,
		.application = application,
	};
	return model_symbol_get(m, &symbol);
}

bool symbol_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

bool symbol_is_version(const struct model_module *module, const struct image_table *image)
{
	const uint8_t *version = image_table_mvid(image);

	return module->build_id_len != PERFMAP_IMAGE_MVID_BYTES || !version ||
	       !memcmp(module->build_id, version, PERFMAP_IMAGE_MVID_BYTES);
}

bool symbol_is_image(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcasecmp(path + len - 4, ".dll");
}

enum model_reason symbol_unnamed_reason(const struct model_process *p, int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODATA:
		return REASON_PRECOMPILED;
	case -EAGAIN: /* another file was not looked at */
		return p->exit_ns ? REASON_PROCESS_GONE : REASON_LIMIT;
	case -E2BIG:
		return REASON_LIMIT;
	default:
		return REASON_FILE_MALFORMED;
	}
}

/* Framework or application, by the name of the file. */
static void assembly_of_file(const char *base, char assembly[ENTRY_BYTES],
			     struct perfmap_name *ret_name)
{
	size_t len = strnlen(base, ENTRY_BYTES);

	snprintf(assembly, ENTRY_BYTES, "%.*s", (int)(symbol_is_image(base) ? len - 4 : len), base);
	*ret_name = (struct perfmap_name){.display = "", .tier = "", .assembly = assembly};
}

uint32_t symbol_thunks(struct model *m)
{
	struct model_symbol symbol = {
		.name = "[call stub]",
		.raw = "stub import thunks",
		.module = "[stubs]",
		.kind = KIND_STUB,
	};

	return model_symbol_get(m, &symbol);
}

uint32_t symbol_image(struct model *m, const struct symbol_site *site,
		      const struct image_place *place, const struct name_parts *name)
{
	const char *base = entry_basename(site->path);
	struct model_symbol symbol;
	struct perfmap_name file;
	char assembly[ENTRY_BYTES];

	assembly_of_file(base, assembly, &file);
	if (!name)
		return symbol_offset(m, site, place ? place->start : site->offset, KIND_IMAGE,
				     site->reason, !perfmap_is_framework(&file));
	symbol = (struct model_symbol){
		.name = name->display,
		.raw = name->raw,
		.module = *name->assembly ? name->assembly : assembly,
		.kind = KIND_IMAGE,
		.application = !name->is_framework,
	};
	return model_symbol_get(m, &symbol);
}
