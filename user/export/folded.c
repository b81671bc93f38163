/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/folded.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/grow.h"
#include "base/text.h"
#include "export/sampled.h"
#include "model/resolve.h"
#include "model/workload.h"

/* A row and its frame's text as it is written. */
struct text {
	uint32_t first;	 /* the row that stands for all of equal text; MODEL_NONE = not seen yet */
	uint32_t length; /* bytes */
	size_t start;	 /* in texts.bytes */
};

/*
 * A frame is its text here: rows whose text is equal are one. The forest is keyed by the first row
 * of each text, for symbols and for processes alike. Each text is escaped once, then copied.
 */
struct texts {
	const struct model *m;
	bool processes;		/* rows of processes, else of symbols */
	const char **workloads; /* of processes, borrowed: they go by these, or NULL */
	bool pid;
	MODEL_TABLE(struct text, rows);
	struct hash_index index;
	FILE *escaped; /* gathers bytes */
	char *bytes;
	size_t bytes_cnt;
};

static const char *suffix_of(const struct model_symbol *symbol)
{
	return symbol->kind == KIND_KERNEL ? "_[k]" : symbol->kind == KIND_JIT ? "_[j]" : "";
}

static const char *process_name(const struct texts *t, uint32_t row)
{
	return t->workloads ? t->workloads[row] : sampled_process(t->m, row);
}

static int compare_symbols(const struct model_symbol *a, const struct model_symbol *b)
{
	int c = strcmp(a->name, b->name);

	return c ? c : strcmp(suffix_of(a), suffix_of(b));
}

static int compare_processes(const struct texts *t, uint32_t a, uint32_t b)
{
	uint32_t tgid_a = t->m->processes[a].tgid, tgid_b = t->m->processes[b].tgid;
	int c = strcmp(process_name(t, a), process_name(t, b));

	return c || !t->pid ? c : COMPARE(tgid_a, tgid_b);
}

static int compare_texts(const struct texts *t, uint32_t a, uint32_t b)
{
	return t->processes ? compare_processes(t, a, b)
			    : compare_symbols(&t->m->symbols[a], &t->m->symbols[b]);
}

static bool text_equal(const void *owner, uint32_t row, const void *key)
{
	return !compare_texts(owner, row, *(const uint32_t *)key);
}

/* Strings are interned: the address of an equal one is equal. */
static uint64_t text_hash(const struct texts *t, uint32_t row)
{
	const struct model_symbol *symbol = &t->m->symbols[row];

	return t->processes ? hash_pair((uintptr_t)process_name(t, row),
					t->pid ? t->m->processes[row].tgid : 0)
			    : hash_pair((uintptr_t)symbol->name, (uintptr_t)suffix_of(symbol));
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

static int text_escape(struct texts *t, uint32_t row)
{
	long start = ftell(t->escaped), end;

	if (!t->processes) {
		put_name(t->escaped, t->m->symbols[row].name);
		fputs(suffix_of(&t->m->symbols[row]), t->escaped);
	} else {
		put_name(t->escaped, process_name(t, row));
		if (t->pid)
			fprintf(t->escaped, "-%u", t->m->processes[row].tgid);
	}
	end = ftell(t->escaped);
	if (start < 0 || end < start || ferror(t->escaped))
		return -ENOMEM;
	t->rows[row].start = (size_t)start;
	t->rows[row].length = (uint32_t)(end - start);
	return 0;
}

/* The row that stands for the text of row. 0 or -ENOMEM. */
static int text_first(struct texts *t, uint32_t row, uint32_t *ret_first)
{
	uint64_t hash;
	int err = 0;

	while (t->rows_cnt <= row) {
		err = GROW(t->rows, t->rows_cnt, t->rows_cap);
		if (err)
			return err;
		t->rows[t->rows_cnt++] = (struct text){.first = MODEL_NONE};
	}
	if (t->rows[row].first == MODEL_NONE) {
		hash = text_hash(t, row);
		t->rows[row].first = hash_find(&t->index, hash, text_equal, t, &row);
		if (t->rows[row].first == HASH_NONE) {
			err = text_escape(t, row);
			if (!err)
				err = hash_add(&t->index, hash, row);
			if (err)
				return err;
			t->rows[row].first = row;
		}
	}
	*ret_first = t->rows[row].first;
	return 0;
}

static int texts_init(struct texts *t)
{
	t->escaped = open_memstream(&t->bytes, &t->bytes_cnt);
	return t->escaped ? 0 : -ENOMEM;
}

/* Makes bytes valid: no more text_first() after this. */
static int texts_finish(struct texts *t)
{
	int err = fclose(t->escaped) ? -ENOMEM : 0;

	t->escaped = NULL;
	return err;
}

static void texts_clear(struct texts *t)
{
	if (t->escaped)
		fclose(t->escaped);
	free(t->bytes);
	free(t->rows);
	hash_clear(&t->index);
}

struct folded {
	struct texts symbols, processes;
	struct forest forest;
	uint32_t frames[RESOLVE_MAX_FRAMES], merged[RESOLVE_MAX_FRAMES];
};

/* Adds what ends at a node of the samples' tree. */
static int add_node(struct folded *w, const struct sampled *s, uint32_t node)
{
	uint64_t weight = s->forest.nodes[node].self;
	size_t cnt = sampled_frames(s, node, w->frames);
	uint32_t process;
	int err;

	while (s->forest.nodes[node].parent)
		node = s->forest.nodes[node].parent;
	err = text_first(&w->processes, s->forest.nodes[node].key, &process);
	for (size_t i = 0; !err && i < cnt; i++)
		err = text_first(&w->symbols, s->frames[w->frames[cnt - 1 - i]].symbol,
				 &w->merged[i]);
	return err ? err : forest_add(&w->forest, process, w->merged, cnt, weight, &node);
}

static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	const struct folded *w = arg;

	return compare_texts(level ? &w->symbols : &w->processes, a->key, b->key);
}

static void put_frame(FILE *out, const struct texts *t, uint32_t row)
{
	fwrite(t->bytes + t->rows[row].start, 1, t->rows[row].length, out);
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
		put_frame(out, &w->processes, keys[0]);
		for (size_t i = 1; i < depth; i++) {
			putc(';', out);
			put_frame(out, &w->symbols, keys[i]);
		}
		fprintf(out, " %llu\n", (unsigned long long)n->self);
	}
}

static int gather(struct folded *w, struct model *m, const struct export_options *options)
{
	struct sampled *s = sampled_new(
		m, options, SAMPLED_WEIGHT(options->weight) | SAMPLED_NO_ROWS, SAMPLED_BY_TIME);
	int err = s ? 0 : -errno;

	for (uint32_t node = 1; !err && node < s->forest.nodes_cnt; node++)
		if (s->forest.nodes[node].self)
			err = add_node(w, s, node);
	sampled_free(s);
	if (!err)
		err = forest_link(&w->forest, compare_nodes, w);
	if (!err)
		err = texts_finish(&w->symbols);
	return err ? err : texts_finish(&w->processes);
}

int folded_write(FILE *out, struct model *m, const struct export_options *options)
{
	_cleanup_free_ const char **workloads = options->workload ? workloads_new(m) : NULL;
	struct folded *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->symbols = (struct texts){.m = m};
	w->processes = (struct texts){
		.m = m, .processes = true, .workloads = workloads, .pid = options->pid};
	err = options->workload && !workloads ? -ENOMEM : texts_init(&w->symbols);
	if (!err)
		err = texts_init(&w->processes);
	if (!err)
		err = gather(w, m, options);
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
