/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_MODEL_METHOD_H
#define HOTRUN_MODEL_METHOD_H
/*
 * From symbols to methods: rows of the symbol table that mean the same to people are one. A method
 * keeps one row over its tiers, whether precompiled or from the JIT; on request, all unnamed
 * functions of a native file with the same reason are one, too: in a tree they only make depth.
 * Pure; no threads.
 */
#include <stdbool.h>

#include "model/model.h"

struct method_map {
	bool fold_unnamed;
	uint32_t *methods; /* by symbol row; MODEL_NONE = not looked at yet */
	size_t methods_cnt, methods_cap;
	struct hash_index index; /* (name, module, class, reason) -> symbol row */
};

/* Returns the symbol row that stands for the method of symbol; its kind is that of the first one
 * seen. Folding adds symbols to m, named as the file. Out of memory, it returns symbol itself. */
uint32_t method_of(struct method_map *map, struct model *m, uint32_t symbol);
/* Equal for kinds that can hold the same method at different times. */
uint8_t method_kind_class(uint8_t kind);
/* The module of a symbol for people: an assembly is one, whether its code comes from the image or
 * from the JIT. Interned. */
const char *method_module(struct model *m, const struct model_symbol *s);
/* Releases what map holds. Takes a zeroed one. */
void method_map_clear(struct method_map *map);
#endif
