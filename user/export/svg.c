/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "export/about.h"
#include "export/sampled.h"
#include "model/resolve.h"
#include "output/html.h"
#include "output/report_text.h"

/* In tenths of a pixel. */
#define WIDTH	      12000
#define MARGIN	      100
#define ROW	      160
#define HEAD	      700
#define LETTER	      66 /* of a fixed-width font of 11 pixels */
#define LETTERS_LEAST 3

struct svg {
	FILE *out;
	struct sampled *s;
	enum export_weight weight;
	uint64_t total;
	unsigned int rows;	 /* of boxes that are drawn, the root's among them */
	uint64_t narrow, deeper; /* boxes that are not */
	uint64_t begins[RESOLVE_MAX_FRAMES + 3]; /* weight, where the next box of a row begins */
	char safe[3 * MODEL_MAX_STRING + 1];
};

/* Heaviest first, then by name. */
static int compare_nodes(const struct forest_node *a, const struct forest_node *b, int level,
			 const void *arg)
{
	const struct sampled *s = arg;
	int c = COMPARE(b->total, a->total);

	if (!c && level)
		c = strcmp(sampled_name(s, a->key), sampled_name(s, b->key));
	return c ? c : COMPARE(a->key, b->key);
}

static const char *safe(struct svg *w, const char *text)
{
	html_copy_xml(w->safe, sizeof(w->safe), text);
	return w->safe;
}

static void put_px(FILE *out, const char *attribute, uint64_t tenths)
{
	fprintf(out, " %s=\"%llu.%llu\"", attribute, (unsigned long long)tenths / 10,
		(unsigned long long)tenths % 10);
}

/* Where a weight ends, from the left. */
static uint64_t at(const struct svg *w, uint64_t weight)
{
	return MARGIN + (uint64_t)((double)weight / (double)w->total * (WIDTH - 2 * MARGIN));
}

static const char *color_of(const struct svg *w, const struct forest_node *node, size_t depth)
{
	const struct model_symbol *symbol;

	if (depth < 2)
		return "#d9d9d9";
	symbol = &w->s->m->symbols[w->s->frames[node->key].symbol];
	switch (symbol->kind) {
	case KIND_KERNEL:
		return "#f0b27a";
	case KIND_JIT:
	case KIND_IMAGE:
		return symbol->application ? "#7dcea0" : "#85c1e9";
	case KIND_NATIVE:
		return symbol->application ? "#7dcea0" : "#f7dc6f";
	default:
		return "#d9d9d9";
	}
}

/* "12,345 samples", "1.23 s blocked". */
static void put_weight(const struct svg *w, uint64_t weight)
{
	static const char *const units[] = {
		[EXPORT_SAMPLES] = "samples",
		[EXPORT_WAITERS] = "waiting threads",
		[EXPORT_BLOCKED] = "ms blocked",
	};

	fprintf(w->out, "%s %s", number_count(weight).text, units[w->weight]);
}

static const char *name_of(struct svg *w, const struct forest_node *node, size_t depth)
{
	if (!depth)
		return safe(w, w->s->m->host.name);
	return safe(w, depth == 1 ? sampled_process(w->s->m, node->key)
				  : sampled_name(w->s, node->key));
}

static void put_box(struct svg *w, const struct forest_node *node, size_t depth, uint64_t from,
		    uint64_t to)
{
	uint64_t y = HEAD + (w->rows - 1 - depth) * ROW;
	size_t letters = to - from > 40 ? (to - from - 40) / LETTER : 0;
	const char *name = name_of(w, node, depth);

	fputs("<g><title>", w->out);
	html_put(w->out, name);
	if (depth == 1)
		fprintf(w->out, " %u", w->s->m->processes[node->key].tgid);
	fputs(": ", w->out);
	put_weight(w, node->total);
	fprintf(w->out, ", %s</title><rect",
		number_percent((double)node->total / (double)w->total).text);
	put_px(w->out, "x", from);
	put_px(w->out, "y", y);
	put_px(w->out, "width", to - from > 20 ? to - from - 5 : to - from);
	put_px(w->out, "height", ROW - 10);
	fprintf(w->out, " fill=\"%s\"/>", color_of(w, node, depth));
	if (letters >= LETTERS_LEAST) {
		text_shorten(w->safe, letters, CUT_START);
		fputs("<text", w->out);
		put_px(w->out, "x", from + 20);
		put_px(w->out, "y", y + ROW - 50);
		putc('>', w->out);
		html_put(w->out, w->safe);
		fputs("</text>", w->out);
	}
	fputs("</g>\n", w->out);
}

/* Draws a node, or only measures how many rows there are. */
static void take_node(struct svg *w, uint32_t node, size_t depth, bool draw)
{
	const struct forest_node *n = &w->s->forest.nodes[node];
	uint64_t from = w->begins[depth], to = from + n->total;

	w->begins[depth] = to;
	w->begins[depth + 1] = from;
	if (!n->total)
		return;
	if (at(w, to) == at(w, from))
		w->narrow += draw;
	else if (depth >= SVG_MAX_ROWS)
		w->deeper += draw;
	else if (draw)
		put_box(w, n, depth, at(w, from), at(w, to));
	else if (depth >= w->rows)
		w->rows = (unsigned int)depth + 1;
}

static void walk(struct svg *w, bool draw)
{
	const struct forest *f = &w->s->forest;
	size_t depth = 0;

	memset(w->begins, 0, sizeof(w->begins));
	if (!w->total)
		return;
	take_node(w, 0, 0, draw);
	for (uint32_t node = 0; (node = forest_next(f, 0, node, &depth)) != HASH_NONE;)
		take_node(w, node, depth, draw);
}

static void put_head(struct svg *w, unsigned int height)
{
	struct export_about about;

	about_of(&about, w->s->m);
	fprintf(w->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%u\" "
		"height=\"%u\" viewBox=\"0 0 %u %u\" font-family=\"monospace\" "
		"font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		"<text x=\"10\" y=\"24\" font-size=\"15\">",
		WIDTH / 10, height, WIDTH / 10, height);
	put_weight(w, w->total);
	fputs("</text>\n<text x=\"10\" y=\"42\">", w->out);
	html_put(w->out, safe(w, about.text));
	fputs("</text>\n<text x=\"10\" y=\"58\">green: application, blue: .NET framework, yellow: "
	      "native libraries, orange: kernel</text>\n",
	      w->out);
}

static void put_foot(struct svg *w, unsigned int height)
{
	fprintf(w->out, "<text x=\"10\" y=\"%u\">", height - 10);
	if (!w->total)
		fputs("nothing to show", w->out);
	else if (w->narrow + w->deeper)
		fprintf(w->out, "not drawn: %s boxes narrower than 0.1 pixels, %s deeper than %u",
			number_count(w->narrow).text, number_count(w->deeper).text, SVG_MAX_ROWS);
	fputs("</text>\n</svg>\n", w->out);
}

static int write_all(struct svg *w)
{
	struct forest *f = &w->s->forest;
	int err = forest_link(f, compare_nodes, w->s);
	unsigned int height;

	if (err)
		return err;
	w->total = f->nodes_cnt ? f->nodes[0].total : 0;
	walk(w, false);
	height = (HEAD + w->rows * ROW) / 10 + 30;
	put_head(w, height);
	walk(w, true);
	put_foot(w, height);
	return fflush(w->out) || ferror(w->out) ? -EIO : 0;
}

int svg_write(FILE *out, struct model *m, const struct export_options *options)
{
	struct sampled *s = sampled_new(
		m, options, SAMPLED_WEIGHT(options->weight) | SAMPLED_NO_ROWS, SAMPLED_BY_TIME);
	struct svg *w = calloc(1, sizeof(*w));
	int err = s && w ? 0 : -ENOMEM;

	if (!err) {
		w->out = out;
		w->s = s;
		w->weight = options->weight;
		err = write_all(w);
	}
	free(w);
	sampled_free(s);
	return err;
}
