/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_SYMBOL_H
#define HOTRUN_NAMES_SYMBOL_H
/*
 * Makes symbols of the model from places in files. Each returns a row of m->symbols, or MODEL_NONE
 * without memory. Pure, but for what it adds to the model.
 */
#include "model/model.h"
#include "names/name_cache.h"
#include "parse/elf.h"
#include "parse/image_table.h"

/* A place in a mapped file. */
struct symbol_site {
	uint32_t process; /* row */
	const char *path; /* of the module */
	uint64_t offset;  /* in the file */
	enum model_reason reason;
};

/* A symbol that says why there is none, e.g. "[unknown]"; equal ones are one row. */
uint32_t symbol_note(struct model *m, const char *name, enum model_kind kind,
		     enum model_reason reason);

/* Whether code lies where ELF loads nothing: perhaps in what is bundled behind it. */
bool symbol_is_behind(const struct symbol_site *site, const struct elf_table *table);

/*
 * Native code. Without a symbol it is called by the start of its function where the unwind table
 * knows it, so that the call sites of one function are one row: "libcoreclr.so+0x1a2b0"; else by
 * the address. table NULL: there is none for reason. readable: what the symbol says when it is
 * taken apart, or NULL.
 */
uint32_t symbol_native(struct model *m, const struct symbol_site *site,
		       const struct elf_table *table, enum model_reason reason,
		       const char *readable);
/* Whether a symbol has to be taken apart to be read: C++ or Rust. */
bool symbol_is_mangled(const char *name);

/* True for the path of a .NET assembly: executable code in it is precompiled (ready-to-run). */
bool symbol_is_image(const char *path);
/* Whether an image is that of the module, as far as a finished capture tells: there its version id
 * stands for a build id. */
bool symbol_is_version(const struct model_module *module, const struct image_table *image);
/*
 * Precompiled code, by the name that the same method has when the JIT compiled it: name says what
 * that is, NULL = there is none for site->reason. Then it is called by the start of its function:
 * "System.Text.Json.dll+0x3a100", an offset in the file. place NULL: not known either.
 */
uint32_t symbol_image(struct model *m, const struct symbol_site *site,
		      const struct image_place *place, const struct name_parts *name);
/* Why a function of an image has no name, from image_place.error. */
enum model_reason symbol_unnamed_reason(const struct model_process *p, int err);
/* Code between the functions of an image: thunks of calls to other images, helpers that load
 * them. */
uint32_t symbol_thunks(struct model *m);
#endif
