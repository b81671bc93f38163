/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of samples: methods by process, and each sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/grow.h"
#include "export/tables_private.h"
#include "model/method.h"
#include "model/resolve.h"
#include "output/figures.h"

/* What kinds are called. */
static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[KIND_UNKNOWN] = "unknown", [KIND_KERNEL] = "kernel", [KIND_NATIVE] = "native",
		[KIND_JIT] = "jit",	    [KIND_STUB] = "stub",     [KIND_IMAGE] = "image",
		[KIND_NOTE] = "note",
	};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

/* --- methods --------------------------------------------------------------------------------- */

struct method_row {
	uint32_t symbol;
	uint64_t self, total;
	const char *name, *module, *kind;
	bool application;
};

/* Sums by symbol, of the process at hand; those that are not 0 are in touched. */
struct method_sums {
	uint64_t *self, *total;
	uint32_t *calls; /* how often it stands on the path at hand */
	MODEL_TABLE(uint32_t, touched);
	uint32_t path[RESOLVE_MAX_FRAMES + 1]; /* symbols from the process down */
};

#define METHOD(member) FIELD(struct method_row, member)
TABLES_COLUMNS(methods, &figure_pid, &tables_process_name, TABLES_COLUMN("method", METHOD(name)),
	       TABLES_COLUMN("module", METHOD(module)), TABLES_COLUMN("kind", METHOD(kind)),
	       TABLES_COLUMN("application", METHOD(application)),
	       TABLES_COLUMN("self", METHOD(self)), TABLES_COLUMN("total", METHOD(total)))

static int sums_init(struct method_sums *sums, size_t symbols)
{
	sums->self = calloc(symbols + 1, sizeof(*sums->self));
	sums->total = calloc(symbols + 1, sizeof(*sums->total));
	sums->calls = calloc(symbols + 1, sizeof(*sums->calls));
	return sums->self && sums->total && sums->calls ? 0 : -ENOMEM;
}

static void sums_free(struct method_sums *sums)
{
	free(sums->self);
	free(sums->total);
	free(sums->calls);
	free(sums->touched);
	free(sums);
}

/* A node of the tree below a process: a method that stands on a path several times counts once. */
static int add_node(struct method_sums *sums, const struct sampled *s,
		    const struct forest_node *node, uint32_t *ret_symbol)
{
	uint32_t symbol = s->frames[node->key].symbol;
	int err = 0;

	if (!sums->self[symbol] && !sums->total[symbol]) {
		err = GROW(sums->touched, sums->touched_cnt, sums->touched_cap);
		if (err)
			return err;
		sums->touched[sums->touched_cnt++] = symbol;
	}
	sums->self[symbol] += node->self;
	if (!sums->calls[symbol]++)
		sums->total[symbol] += node->total;
	*ret_symbol = symbol;
	return 0;
}

static int add_tree(struct method_sums *sums, const struct sampled *s, uint32_t top)
{
	uint32_t node = top;
	size_t depth = 0, on_path = 0;
	int err = 0;

	while (!err && (node = forest_next(&s->forest, top, node, &depth)) != HASH_NONE) {
		while (on_path >= depth)
			sums->calls[sums->path[--on_path]]--;
		err = add_node(sums, s, &s->forest.nodes[node], &sums->path[on_path]);
		on_path += !err;
	}
	while (on_path)
		sums->calls[sums->path[--on_path]]--;
	return err;
}

static int compare_methods(const void *a, const void *b)
{
	const struct method_row *x = a, *y = b;
	int c = COMPARE(y->self, x->self);

	if (!c)
		c = COMPARE(y->total, x->total);
	if (!c)
		c = strcmp(x->name, y->name);
	return c ? c : COMPARE(x->symbol, y->symbol);
}

static int put_methods(const struct tables *w, const struct export_table *table,
		       struct method_sums *sums, uint32_t process)
{
	size_t cnt = sums->touched_cnt;
	struct method_row *rows = calloc(cnt + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		uint32_t symbol = sums->touched[i];
		const struct model_symbol *of = &w->m->symbols[symbol];

		rows[i] = (struct method_row){
			symbol,		sums->self[symbol],	 sums->total[symbol],
			of->name,	method_module(w->m, of), kind_name(of->kind),
			of->application};
		sums->self[symbol] = sums->total[symbol] = 0;
	}
	sums->touched_cnt = 0;
	qsort(rows, cnt, sizeof(*rows), compare_methods);
	for (size_t i = 0; i < cnt; i++)
		if (rows[i].total)
			tables_put(w, table,
				   &(struct subject){.m = w->m,
						     .item = &rows[i],
						     .of = w,
						     .process = &w->m->processes[process]});
	free(rows);
	return 0;
}

static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	(void)level;
	(void)arg;
	return COMPARE(a->key, b->key);
}

int tables_put_methods(const struct tables *w, const struct export_table *table)
{
	struct method_sums *sums = calloc(1, sizeof(*sums));
	struct forest *f = &w->s->forest;
	int err = sums ? sums_init(sums, w->m->symbols_cnt) : -ENOMEM;

	if (!err)
		err = forest_link(f, compare_nodes, NULL);
	for (uint32_t p = f->nodes_cnt ? f->nodes[0].first_child : HASH_NONE;
	     !err && p != HASH_NONE; p = f->nodes[p].next_sibling) {
		err = add_tree(sums, w->s, p);
		if (!err)
			err = put_methods(w, table, sums, f->nodes[p].key);
	}
	if (sums)
		sums_free(sums);
	return err;
}

/* --- samples --------------------------------------------------------------------------------- */

struct sample_row {
	const struct sampled_row *row;
	const char *stack, *method;
};

static const struct sampled_row *row_of(const struct subject *s)
{
	return ((const struct sample_row *)s->item)->row;
}

static struct value time_s(const struct subject *s)
{
	return value_real(tables_s(tables_of(s), row_of(s)->time_ns));
}

static struct value unix_ms(const struct subject *s)
{
	int64_t offset_ns = sampled_wall_offset_ns(s->m, row_of(s)->time_ns);

	return offset_ns ? (struct value){.kind = VALUE_INT,
					  .integer = ((int64_t)row_of(s)->time_ns + offset_ns) /
						     1000000}
			 : tables_unknown();
}

static struct value cpu(const struct subject *s)
{
	return row_of(s)->values[EXPORT_BLOCKED] ? (struct value){.kind = VALUE_BLANK}
						 : value_count(row_of(s)->cpu);
}

static struct value ticks(const struct subject *s)
{
	return value_count(row_of(s)->values[EXPORT_SAMPLES]);
}

static struct value waiters(const struct subject *s)
{
	return row_of(s)->waiters_unknown ? tables_unknown()
					  : value_count(row_of(s)->values[EXPORT_WAITERS]);
}

static struct value blocked(const struct subject *s)
{
	return tables_weight(tables_of(s), EXPORT_BLOCKED, row_of(s)->values[EXPORT_BLOCKED]);
}

#define SAMPLE(member) FIELD(struct sample_row, member)
TABLES_COLUMNS(samples, TABLES_COLUMN("time_s", .value = time_s),
	       TABLES_COLUMN("unix_ms", .value = unix_ms), &figure_pid, &tables_process_name,
	       &figure_tid, &tables_thread_name, TABLES_COLUMN("cpu", .value = cpu),
	       TABLES_COLUMN("samples", .value = ticks), TABLES_COLUMN("waiters", .value = waiters),
	       TABLES_COLUMN("blocked_ms", .value = blocked),
	       TABLES_COLUMN("method", SAMPLE(method)), TABLES_COLUMN("stack", SAMPLE(stack)))

/* Root first, `;` between frames; in a name that is `\x3b`. */
static void put_stack(FILE *out, const struct sampled *s, const uint32_t *frames, size_t cnt)
{
	for (size_t i = cnt; i-- > 0;) {
		for (const char *c = sampled_name(s, frames[i]); *c; c++)
			if (*c == ';')
				fputs("\\x3b", out);
			else
				putc(*c, out);
		if (i)
			putc(';', out);
	}
}

static int put_sample(const struct tables *w, const struct export_table *table,
		      const struct sampled_row *row, uint32_t *frames)
{
	size_t cnt = sampled_frames(w->s, row->node, frames), len;
	const struct model_thread *thread = &w->m->threads[row->thread];
	struct sample_row item = {.row = row, .method = cnt ? sampled_name(w->s, frames[0]) : ""};
	char *stack = NULL;
	FILE *out = open_memstream(&stack, &len);

	if (!out)
		return -ENOMEM;
	put_stack(out, w->s, frames, cnt);
	if (fclose(out)) {
		free(stack);
		return -ENOMEM;
	}
	item.stack = stack;
	tables_put(w, table,
		   &(struct subject){.m = w->m,
				     .item = &item,
				     .of = w,
				     .process = &w->m->processes[thread->process],
				     .thread = thread});
	free(stack);
	return 0;
}

int tables_put_samples(const struct tables *w, const struct export_table *table)
{
	uint32_t *frames = calloc(RESOLVE_MAX_FRAMES, sizeof(*frames));
	int err = frames ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < w->s->rows_cnt; i++)
		err = put_sample(w, table, &w->s->rows[i], frames);
	free(frames);
	return err;
}
