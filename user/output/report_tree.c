/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The merged call tree as text. Frames of a chain stand below each other at the same indent; only
 * where the samples part, the branches move in. So a stack of a hundred frames stays readable.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "model/paths.h"
#include "model/share.h"
#include "model/tree.h"
#include "output/report_internal.h"

#define THREAD_COLUMNS 7
#define LEVEL_COLUMNS  2
#define MAX_LEVELS     24 /* branches below are not moved in any further */
/* A line of a level is three bytes and a space. */
#define PREFIX_BYTES (MAX_LEVELS * 4 + 8)

struct walk {
	const struct report *r;
	const struct tree *tree;
	uint64_t min; /* samples of a branch that is shown */
	unsigned int lines_left;
	uint64_t printed;   /* samples of the line above in the same chain, 0 = none */
	uint64_t lines_cut; /* branches that did not fit into the lines */
	char prefix[PREFIX_BYTES];
	unsigned int levels;
};

struct cut {
	uint32_t branches;
	uint64_t samples;
};

/* " · others waited 82.1 %", where that is not the node's share of the samples; once a chain. */
static size_t add_harm(const struct walk *w, const struct tree_node *node, char *text, size_t bytes)
{
	const struct tree_node *root = &w->tree->nodes[0];
	struct weighted harm = {node->waiters, root->waiters, w->tree->waiters_square};

	if (node->total == w->printed || w->r->withheld ||
	    !share_differs(node->total, root->total, &harm, HARM_LEAST))
		return 0;
	return (size_t)snprintf(text, bytes, " · others waited %s",
				number_percent(share_of(harm.part, harm.sum)).text);
}

static void put_columns(struct walk *w, uint64_t samples, uint32_t threads)
{
	char share[CELL_BYTES];

	if (samples == w->printed) {
		put_spaces(w->r, SHARE_COLUMNS + THREAD_COLUMNS + 2);
		return;
	}
	report_share(w->r, samples, w->tree->nodes[0].total, share);
	fputs(share, w->r->out);
	put_spaces(w->r, SHARE_COLUMNS - text_columns(share));
	fprintf(w->r->out, "%*u  ", THREAD_COLUMNS, threads);
	w->printed = samples;
}

static size_t prefix_columns(const struct walk *w)
{
	return text_columns(w->prefix);
}

/* The line of one node; glyph is what stands between prefix and name. */
static void put_node(struct walk *w, const struct tree_node *node, const char *glyph)
{
	const struct report *r = w->r;
	size_t used = SHARE_COLUMNS + THREAD_COLUMNS + 2 + prefix_columns(w) + text_columns(glyph);
	bool self = node->self >= w->min && node->self < node->total;
	char tail[2 * NUMBER_BYTES + 80] = "";
	size_t n = 0;

	if (node->calls_max > 1 && node->calls_min == node->calls_max)
		n = (size_t)snprintf(tail, sizeof(tail), " × %u", node->calls_max);
	else if (node->calls_max > 1)
		n = (size_t)snprintf(tail, sizeof(tail), " × %u to %u", node->calls_min,
				     node->calls_max);
	n += add_harm(w, node, tail + n, sizeof(tail) - n);
	if (self)
		snprintf(tail + n, sizeof(tail) - n, " · %s itself",
			 number_percent(share_of(node->self, w->tree->nodes[0].total)).text);
	put_columns(w, node->total, node->threads);
	fputs(w->prefix, r->out);
	fputs(glyph, r->out);
	used += text_columns(tail);
	put_method(r, node->symbol, r->o.width > used + 16 ? r->o.width - used : 16);
	fputs(tail, r->out);
	putc('\n', r->out);
	w->lines_left--;
}

static void put_cut(struct walk *w, const struct cut *cut, const char *glyph)
{
	if (cut->samples < w->min || !w->lines_left)
		return;
	put_spaces(w->r, SHARE_COLUMNS + THREAD_COLUMNS + 2);
	fputs(w->prefix, w->r->out);
	fputs(glyph, w->r->out);
	put_paint(w->r, PAINT_FAINT);
	fprintf(w->r->out, "… %u thinner branch%s, together %s", cut->branches,
		cut->branches == 1 ? "" : "es",
		number_percent(share_of(cut->samples, w->tree->nodes[0].total)).text);
	put_plain(w->r);
	putc('\n', w->r->out);
	w->lines_left--;
}

/* How many children are thick enough; the others go to cut. */
static uint32_t count_shown(const struct walk *w, uint32_t node, struct cut *cut)
{
	uint32_t shown = 0;

	for (uint32_t c = w->tree->nodes[node].first_child; c != MODEL_NONE;
	     c = w->tree->nodes[c].next_sibling) {
		if (w->tree->nodes[c].total >= w->min) {
			shown++;
			continue;
		}
		cut->branches++;
		cut->samples += w->tree->nodes[c].total;
	}
	return shown;
}

static void put_branches(struct walk *w, uint32_t node, uint32_t shown, const struct cut *cut);

/* A node and what follows it without parting. glyph opens its first line, rest the others. */
static void put_chain(struct walk *w, uint32_t node, const char *glyph, const char *rest)
{
	size_t len = strlen(w->prefix);
	struct cut cut = {0};
	uint32_t shown;

	w->printed = 0;
	for (;;) {
		if (!w->lines_left) {
			w->lines_cut++;
			return;
		}
		put_node(w, &w->tree->nodes[node], glyph);
		glyph = rest;
		shown = count_shown(w, node, &cut);
		if (shown != 1)
			break;
		node = w->tree->nodes[node].first_child;
	}
	if (w->levels < MAX_LEVELS)
		strcat(w->prefix, rest);
	w->levels++;
	put_branches(w, node, shown, &cut);
	w->levels--;
	w->prefix[len] = '\0';
}

static void put_branches(struct walk *w, uint32_t node, uint32_t shown, const struct cut *cut)
{
	uint32_t child = w->tree->nodes[node].first_child;
	bool cut_line = cut->samples >= w->min;

	for (uint32_t i = 0; i < shown; i++) {
		bool last = i + 1 == shown && !cut_line;

		put_chain(w, child, last ? "└ " : "├ ", last ? "  " : "│ ");
		child = w->tree->nodes[child].next_sibling;
	}
	put_cut(w, cut, shown ? "└ " : "");
}

static void put_title(const struct report *r)
{
	char text[160];

	snprintf(text, sizeof(text), "    share      threads  call tree, %s first; under %s cut",
		 r->o.bottom_up ? "leaves" : "callers", number_percent(r->o.min_share).text);
	put_heading(r, text);
}

int report_tree(const struct report *r, uint32_t process)
{
	struct walk w = {.r = r, .lines_left = r->o.lines};
	struct tree *tree =
		tree_new_view(r->m, process, r->o.bottom_up ? TREE_BOTTOM_UP : TREE_TOP_DOWN,
			      PATHS_FOLD_UNNAMED | PATHS_FOLD_RECURSION);
	struct cut cut = {0};
	uint32_t shown, child;

	if (!tree)
		return -ENOMEM;
	w.tree = tree;
	w.min = (uint64_t)ceil(r->o.min_share * (double)tree->nodes[0].total);
	if (!w.min)
		w.min = 1;
	put_title(r);
	shown = count_shown(&w, 0, &cut);
	child = tree->nodes[0].first_child;
	for (uint32_t i = 0; i < shown; i++) {
		put_chain(&w, child, "", "");
		child = tree->nodes[child].next_sibling;
	}
	put_cut(&w, &cut, "");
	if (w.lines_cut)
		fprintf(r->out,
			"%*s… the rest of %s branch%s did not fit into %u lines "
			"(--lines shows more)\n",
			SHARE_COLUMNS + THREAD_COLUMNS + 2, "", number_count(w.lines_cut).text,
			w.lines_cut == 1 ? "" : "es", r->o.lines);
	if (tree->nodes_dropped)
		fprintf(r->out, "%*s… %s samples were cut short: the tree is full\n",
			SHARE_COLUMNS + THREAD_COLUMNS + 2, "",
			number_count(tree->nodes_dropped).text);
	tree_free(tree);
	return 0;
}
