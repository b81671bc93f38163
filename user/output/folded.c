/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/folded.h"

#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "model/paths.h"
#include "output/forest.h"

/*
 * A frame is its text here: rows whose text is equal are one. The forest is keyed by the first row
 * of each text, for symbols and for processes alike.
 */
struct texts {
	const struct model *m;
	bool processes; /* rows of processes, else of symbols */
	bool pid;
	uint32_t *first; /* by row; MODEL_NONE = not looked at yet */
	size_t first_cnt, first_cap;
	struct hash_index index;
};

static const char *suffix_of(const struct model_symbol *symbol)
{
	return symbol->kind == KIND_KERNEL ? "_[k]" : symbol->kind == KIND_JIT ? "_[j]" : "";
}

static const char *process_name(const struct model_process *process)
{
	return *process->name ? process->name : process->comm;
}

static int compare_symbols(const struct model_symbol *a, const struct model_symbol *b)
{
	int c = strcmp(a->name, b->name);

	return c ? c : strcmp(suffix_of(a), suffix_of(b));
}

static int compare_processes(const struct model_process *a, const struct model_process *b, bool pid)
{
	int c = strcmp(process_name(a), process_name(b));

	return c || !pid ? c : (a->tgid > b->tgid) - (a->tgid < b->tgid);
}

static int compare_texts(const struct texts *t, uint32_t a, uint32_t b)
{
	return t->processes ? compare_processes(&t->m->processes[a], &t->m->processes[b], t->pid)
			    : compare_symbols(&t->m->symbols[a], &t->m->symbols[b]);
}

static bool text_equal(const void *owner, uint32_t row, const void *key)
{
	return !compare_texts(owner, row, *(const uint32_t *)key);
}

/* Strings are interned: the address of an equal one is equal. */
static uint64_t text_hash(const struct texts *t, uint32_t row)
{
	const struct model_process *process = &t->m->processes[row];
	const struct model_symbol *symbol = &t->m->symbols[row];

	return t->processes
		       ? hash_pair((uintptr_t)process_name(process), t->pid ? process->tgid : 0)
		       : hash_pair((uintptr_t)symbol->name, (uintptr_t)suffix_of(symbol));
}

/* The row that stands for the text of row. 0 or -ENOMEM. */
static int text_first(struct texts *t, uint32_t row, uint32_t *ret_first)
{
	uint64_t hash;
	int err;

	while (t->first_cnt <= row) {
		err = GROW(t->first, t->first_cnt, t->first_cap);
		if (err)
			return err;
		t->first[t->first_cnt++] = MODEL_NONE;
	}
	if (t->first[row] == MODEL_NONE) {
		hash = text_hash(t, row);
		t->first[row] = hash_find(&t->index, hash, text_equal, t, &row);
		if (t->first[row] == HASH_NONE) {
			err = hash_add(&t->index, hash, row);
			if (err)
				return err;
			t->first[row] = row;
		}
	}
	*ret_first = t->first[row];
	return 0;
}

static void texts_clear(struct texts *t)
{
	free(t->first);
	hash_clear(&t->index);
}

struct folded {
	struct texts symbols, processes;
	struct forest forest;
	uint32_t frames[RESOLVE_MAX_FRAMES];
};

static int add_sample(struct folded *w, const struct paths *p)
{
	uint32_t process;
	int err = text_first(&w->processes, p->m->threads[p->thread].process, &process);

	for (size_t i = 0; !err && i < p->methods_cnt; i++)
		err = text_first(&w->symbols, p->methods[i], &w->frames[i]);
	return err ? err : forest_add(&w->forest, process, w->frames, p->methods_cnt, p->thread);
}

static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	const struct folded *w = arg;

	return compare_texts(level ? &w->symbols : &w->processes, a->key, b->key);
}

static void put_name(FILE *out, const char *name)
{
	const char *semicolon;

	if (!*name)
		fputs("[unnamed]", out);
	for (; (semicolon = strchr(name, ';')); name = semicolon + 1) {
		text_put_safe(out, name, (size_t)(semicolon - name));
		fputs("\\x3b", out);
	}
	text_put_safe(out, name, strlen(name));
}

static void put_frame(FILE *out, const struct folded *w, uint32_t key, bool is_process)
{
	const struct model *m = w->symbols.m;

	if (!is_process) {
		put_name(out, m->symbols[key].name);
		fputs(suffix_of(&m->symbols[key]), out);
		return;
	}
	put_name(out, process_name(&m->processes[key]));
	if (w->processes.pid)
		fprintf(out, "-%u", m->processes[key].tgid);
}

/* Walks the forest with the keys from the process down to the node at hand on a stack. */
static void put_lines(FILE *out, struct folded *w)
{
	uint32_t keys[RESOLVE_MAX_FRAMES + 1];
	size_t depth = 0;

	if (!w->forest.nodes_cnt)
		return;
	for (uint32_t node = 0; (node = forest_next(&w->forest, 0, node, &depth)) != HASH_NONE;) {
		const struct forest_node *n = &w->forest.nodes[node];

		keys[depth - 1] = n->key;
		if (!n->self)
			continue;
		for (size_t i = 0; i < depth; i++) {
			if (i)
				putc(';', out);
			put_frame(out, w, keys[i], !i);
		}
		fprintf(out, " %llu\n", (unsigned long long)n->self);
	}
}

int folded_write(FILE *out, struct model *m, const struct folded_options *options)
{
	struct folded *w = calloc(1, sizeof(*w));
	struct paths paths = {0};
	int err;

	if (!w)
		return -ENOMEM;
	w->symbols = (struct texts){.m = m};
	w->processes = (struct texts){.m = m, .processes = true, .pid = options->pid};
	err = paths_begin(&paths, m, options->process, options->addresses ? 0 : PATHS_FOLD_UNNAMED);
	while (!err && paths_next(&paths))
		err = add_sample(w, &paths);
	paths_end(&paths);
	if (!err)
		err = forest_link(&w->forest, compare_nodes, w);
	if (!err)
		put_lines(out, w);
	texts_clear(&w->symbols);
	texts_clear(&w->processes);
	forest_clear(&w->forest);
	free(w);
	if (!err && (fflush(out) || ferror(out)))
		err = -EIO;
	return err;
}
