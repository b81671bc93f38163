/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of the Firefox format: files, stacks, frames, functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/firefox_private.h"

/* --- columns that are the same throughout ---------------------------------------------------- */

enum same { SAME_NULL, SAME_ZERO, SAME_MINUS_ONE, SAME_FALSE };

static void put_same(struct json *j, const char *key, size_t cnt, enum same same)
{
	json_array(j, key);
	for (size_t i = 0; i < cnt; i++)
		if (same == SAME_NULL)
			json_null(j, NULL);
		else if (same == SAME_FALSE)
			json_flag(j, NULL, false);
		else
			json_int(j, NULL, same == SAME_ZERO ? 0 : -1);
	json_end(j);
}

/* --- what threads share ---------------------------------------------------------------------- */

/* The build id as Breakpad writes it: its first 16 bytes, fields as of a GUID on a little-endian
 * machine, and an age of 0; 32 zeros where it is not known. */
static void breakpad_id(char ret_id[static 34], const char *build_id)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t len = strlen(build_id);

	for (size_t i = 0; i < 16; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t at = 2u * order[i] + k;
			char digit = at < len ? build_id[at] : '0';

			ret_id[2 * i + k] = digit >= 'a' ? (char)(digit - 'a' + 'A') : digit;
		}
	memcpy(ret_id + 32, "0", 2);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Libraries are the files of the model, in its order. */
void firefox_put_libs(struct firefox *w)
{
	struct json *j = &w->json;

	json_array(j, "libs");
	for (size_t i = 0; i < w->m->modules_cnt; i++) {
		const struct model_module *module = &w->m->modules[i];
		char build_id[ABOUT_BUILD_ID_BYTES], breakpad[34];

		about_build_id(build_id, module);
		breakpad_id(breakpad, build_id);
		json_object(j, NULL);
		json_string(j, "arch", w->m->host.machine);
		json_string(j, "name", base_of(module->path));
		json_string(j, "path", module->path);
		json_string(j, "debugName", base_of(module->path));
		json_string(j, "debugPath", module->path);
		json_string(j, "breakpadId", breakpad);
		json_text(j, "codeId", build_id);
		json_end(j);
	}
	json_end(j);
}

static enum firefox_category category_of(const struct model_symbol *symbol)
{
	switch (symbol->kind) {
	case KIND_KERNEL:
		return FIREFOX_KERNEL;
	case KIND_JIT:
	case KIND_IMAGE:
		return symbol->application ? FIREFOX_MINE : FIREFOX_FRAMEWORK;
	case KIND_NATIVE:
		return symbol->application ? FIREFOX_MINE : FIREFOX_NATIVE;
	default:
		return FIREFOX_OTHER;
	}
}

/* Nodes without the root and those of processes, in the order of the forest: parents come first. */
int firefox_number_stacks(struct firefox *w)
{
	const struct forest *f = &w->s->forest;

	w->stack = calloc(f->nodes_cnt + 1, sizeof(*w->stack));
	if (!w->stack)
		return -ENOMEM;
	for (uint32_t i = 1; i < f->nodes_cnt; i++)
		w->stack[i] = f->nodes[i].parent ? (uint32_t)w->stacks_cnt++ : MODEL_NONE;
	return 0;
}

static void put_stacks(struct firefox *w)
{
	const struct forest *f = &w->s->forest;
	struct json *j = &w->json;

	json_object(j, "stackTable");
	json_count(j, "length", w->stacks_cnt);
	json_array(j, "frame");
	for (uint32_t i = 1; i < f->nodes_cnt; i++)
		if (f->nodes[i].parent)
			json_count(j, NULL, f->nodes[i].key);
	json_end(j);
	json_array(j, "prefix");
	for (uint32_t i = 1; i < f->nodes_cnt; i++) {
		if (!f->nodes[i].parent)
			continue;
		if (w->stack[f->nodes[i].parent] == MODEL_NONE)
			json_null(j, NULL);
		else
			json_count(j, NULL, w->stack[f->nodes[i].parent]);
	}
	json_end(j);
	json_end(j);
}

/* A frame is a function of its own, and has its file as resource: both have its row. */
static void put_frames(struct firefox *w)
{
	size_t cnt = w->s->frames_cnt;
	struct json *j = &w->json;

	json_object(j, "frameTable");
	json_count(j, "length", cnt);
	put_same(j, "address", cnt, SAME_MINUS_ONE);
	put_same(j, "inlineDepth", cnt, SAME_ZERO);
	json_array(j, "category");
	for (size_t i = 0; i < cnt; i++)
		json_count(j, NULL, category_of(&w->m->symbols[w->s->frames[i].symbol]));
	json_end(j);
	put_same(j, "subcategory", cnt, SAME_ZERO);
	json_array(j, "func");
	for (size_t i = 0; i < cnt; i++)
		json_count(j, NULL, i);
	json_end(j);
	put_same(j, "nativeSymbol", cnt, SAME_NULL);
	put_same(j, "innerWindowID", cnt, SAME_NULL);
	put_same(j, "line", cnt, SAME_NULL);
	put_same(j, "column", cnt, SAME_NULL);
	json_end(j);
}

static void put_functions(struct firefox *w)
{
	size_t cnt = w->s->frames_cnt;
	struct json *j = &w->json;

	json_object(j, "funcTable");
	json_count(j, "length", cnt);
	json_array(j, "name");
	for (uint32_t i = 0; i < cnt; i++)
		json_count(j, NULL, firefox_string(w, sampled_name(w->s, i)));
	json_end(j);
	put_same(j, "isJS", cnt, SAME_FALSE);
	put_same(j, "relevantForJS", cnt, SAME_FALSE);
	json_array(j, "resource");
	for (size_t i = 0; i < cnt; i++)
		json_count(j, NULL, i);
	json_end(j);
	put_same(j, "source", cnt, SAME_NULL);
	put_same(j, "lineNumber", cnt, SAME_NULL);
	put_same(j, "columnNumber", cnt, SAME_NULL);
	json_end(j);
	json_object(j, "resourceTable");
	json_count(j, "length", cnt);
	json_array(j, "lib");
	for (size_t i = 0; i < cnt; i++)
		if (w->s->frames[i].module == MODEL_NONE)
			json_null(j, NULL);
		else
			json_count(j, NULL, w->s->frames[i].module);
	json_end(j);
	json_array(j, "name");
	for (uint32_t i = 0; i < cnt; i++)
		json_count(j, NULL, firefox_string(w, base_of(sampled_file(w->s, i))));
	json_end(j);
	put_same(j, "host", cnt, SAME_NULL);
	json_array(j, "type");
	for (size_t i = 0; i < cnt; i++)
		json_count(j, NULL, 1); /* a library */
	json_end(j);
	json_end(j);
}

static void put_empty(struct json *j, const char *key, const char *const *columns)
{
	json_object(j, key);
	json_count(j, "length", 0);
	for (; *columns; columns++)
		put_same(j, *columns, 0, SAME_NULL);
	json_end(j);
}

void firefox_put_shared(struct firefox *w)
{
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	static const char *const sources[] = {"id",	     "filename",     "startLine",
					      "startColumn", "sourceMapURL", NULL};
	struct json *j = &w->json;

	json_object(j, "shared");
	put_stacks(w);
	put_frames(w);
	put_functions(w);
	put_empty(j, "nativeSymbols", symbols);
	put_empty(j, "sources", sources);
	json_array(j, "stringArray");
	for (size_t i = 0; i < w->strings.rows_cnt; i++)
		json_string(j, NULL, w->strings.rows[i]);
	json_end(j);
	json_end(j);
}
