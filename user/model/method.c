/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/method.h"

#include <string.h>

#include "base/grow.h"

uint8_t method_kind_class(uint8_t kind)
{
	return kind == KIND_IMAGE ? KIND_JIT : kind;
}

/* Strings are interned: the same text is the same pointer. */
static bool same_method(const void *owner, uint32_t row, const void *key)
{
	const struct model_symbol *a = &((const struct model *)owner)->symbols[row], *b = key;

	return a->name == b->name && a->module == b->module && a->reason == b->reason &&
	       method_kind_class(a->kind) == method_kind_class(b->kind);
}

static uint64_t method_hash(const struct model_symbol *s)
{
	uint64_t names = hash_pair((uintptr_t)s->name, (uintptr_t)s->module);

	return hash_pair(names, (uint64_t)method_kind_class(s->kind) << 8 | s->reason);
}

/*
 * The symbol of all unnamed native code of that file. Precompiled methods stay apart: they are
 * the service's own work, and their offsets are what can be looked up by hand.
 */
static uint32_t folded(struct model *m, uint32_t symbol)
{
	struct model_symbol s = m->symbols[symbol];
	uint32_t row;

	if (s.reason == REASON_NAMED || s.kind == KIND_NOTE || s.kind == KIND_IMAGE)
		return symbol;
	s.name = s.module[0] ? s.module : "[unknown]";
	s.raw = s.name;
	row = model_symbol_get(m, &s);
	return row == MODEL_NONE ? symbol : row;
}

static int map_reach(struct method_map *map, uint32_t symbol)
{
	while (map->methods_cnt <= symbol) {
		int err = GROW(map->methods, map->methods_cnt, map->methods_cap);

		if (err)
			return err;
		map->methods[map->methods_cnt++] = MODEL_NONE;
	}
	return 0;
}

uint32_t method_of(struct method_map *map, struct model *m, uint32_t symbol)
{
	uint32_t from = symbol, method;
	uint64_t hash;

	if (map_reach(map, symbol))
		return symbol;
	if (map->methods[symbol] != MODEL_NONE)
		return map->methods[symbol];
	if (map->fold_unnamed)
		symbol = folded(m, symbol);
	hash = method_hash(&m->symbols[symbol]);
	method = hash_find(&map->index, hash, same_method, m, &m->symbols[symbol]);
	if (method == HASH_NONE) {
		method = symbol;
		if (hash_add(&map->index, hash, method))
			return method;
	}
	map->methods[from] = method;
	return method;
}

const char *method_module(struct model *m, const struct model_symbol *s)
{
	size_t len = strlen(s->module);

	if (s->kind == KIND_IMAGE && len > 4 && !strcmp(s->module + len - 4, ".dll"))
		return model_string(m, s->module, len - 4);
	return s->module;
}

void method_map_clear(struct method_map *map)
{
	free(map->methods);
	hash_clear(&map->index);
	*map = (struct method_map){0};
}
