/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two captures as flame graphs above one another, colours by change. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/diff.h"
#include "output/html.h"
#include "output/label.h"

/* In pixels. */
#define WIDTH	 1200.0
#define MARGIN	 10.0
#define ROW	 16.0
#define HEAD	 76.0
#define TITLE	 26.0
#define LETTER	 6.6 /* of a fixed-width font of 11 pixels */
#define NARROW	 0.1 /* is not drawn */
#define MAX_ROWS 250u

struct picture {
	FILE *out;
	const struct diff *d;
	const struct diff_options *o;
	uint32_t *rows;	 /* nodes, callers before what they call, those with more first */
	uint32_t *depth; /* by node */
	double *from;	 /* by node: where its next callee begins, of 1 */
	unsigned int deepest;
	uint64_t left_out;
	char safe[4 * NAME_BYTES];
};

/* A node comes later than its caller in the book: depths in one pass. */
static int lay_out(struct picture *p)
{
	const struct diff_book *b = p->d->book;

	p->rows = diff_nodes_by_size(b);
	p->depth = calloc(b->nodes_cnt, sizeof(*p->depth));
	p->from = calloc(b->nodes_cnt, sizeof(*p->from));
	if (!p->rows || !p->depth || !p->from)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->nodes_cnt; i++) {
		p->depth[i] = i ? p->depth[b->nodes[i].parent] + 1 : 0;
		if (p->depth[i] > p->deepest && p->depth[i] < MAX_ROWS &&
		    (diff_node_share(b, i, DIFF_BEFORE) + diff_node_share(b, i, DIFF_AFTER)) *
				    (WIDTH - 2 * MARGIN) >=
			    NARROW)
			p->deepest = p->depth[i];
	}
	return 0;
}

/* Orange grew, blue fell, grey is within the noise: told apart by colour-blind eyes, too. */
static const char *color_of(const struct picture *p, uint32_t node)
{
	static const char *const grew[] = {"#fdd0a2", "#fd8d3c", "#e6550d"};
	static const char *const fell[] = {"#c6dbef", "#6baed6", "#3182bd"};
	double change;
	int step;

	if (!node || !diff_node_changed(p->d, node, &change))
		return "#d9d9d9";
	step = fabs(change) > 0.5 ? 2 : fabs(change) > 0.15 ? 1 : 0;
	return change > 0 ? grew[step] : fell[step];
}

static const char *name_of(struct picture *p, uint32_t node)
{
	const struct diff_book *b = p->d->book;
	const struct diff_node *n = &b->nodes[node];

	html_copy_xml(p->safe, sizeof(p->safe),
		      !node	   ? "all"
		      : !n->parent ? b->kinds[n->method].name
				   : diff_book_symbol(b, n->method)->name);
	return p->safe;
}

static void put_box(struct picture *p, uint32_t node, double from, double width, double y)
{
	double letters = (width - 4) / LETTER;

	fputs("<g><title>", p->out);
	html_put(p->out, name_of(p, node));
	fputs(": ", p->out);
	fprintf(p->out,
		"%s before, %s after</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		"height=\"%.1f\" "
		"fill=\"%s\"/>",
		number_percent(diff_node_share(p->d->book, node, DIFF_BEFORE)).text,
		number_percent(diff_node_share(p->d->book, node, DIFF_AFTER)).text, from, y,
		width > 2 ? width - 0.5 : width, ROW - 1, color_of(p, node));
	if (letters >= 3) {
		text_shorten(p->safe, (size_t)letters, CUT_START);
		fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\">", from + 2, y + ROW - 5);
		html_put(p->out, p->safe);
		fputs("</text>", p->out);
	}
	fputs("</g>\n", p->out);
}

/* One side, its root at the bottom: as wide as its own samples. */
static void put_side(struct picture *p, int at, double top)
{
	static const char *const titles[DIFF_SIDES] = {"before", "after"};
	const struct diff_book *b = p->d->book;
	const struct diff_side *s = &b->sides[at];

	html_copy_xml(p->safe, sizeof(p->safe), p->o->names[at]);
	text_shorten(p->safe, 120, CUT_START);
	fprintf(p->out, "<text x=\"10\" y=\"%.1f\" font-size=\"13\">%s: ", top + 16, titles[at]);
	html_put(p->out, p->safe);
	fprintf(p->out, ", %s samples</text>\n", number_count(s->samples).text);
	if (!b->nodes[0].all[at][DIFF_TOTAL])
		return;
	for (size_t i = 0; i < b->nodes_cnt; i++) {
		uint32_t node = p->rows[i];
		double share = diff_node_share(b, node, at), from;
		double width = share * (WIDTH - 2 * MARGIN);

		from = node ? p->from[b->nodes[node].parent] : 0;
		if (node)
			p->from[b->nodes[node].parent] += share;
		p->from[node] = from;
		if (share <= 0)
			continue;
		if (width < NARROW || p->depth[node] > p->deepest)
			p->left_out++;
		else
			put_box(p, node, MARGIN + from * (WIDTH - 2 * MARGIN), width,
				top + TITLE + (p->deepest - p->depth[node]) * ROW);
	}
}

static void put_all(struct picture *p)
{
	double graph = TITLE + (p->deepest + 1) * ROW, height = HEAD + 2 * graph + 40;

	fprintf(p->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" "
		"font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
		"<text x=\"10\" y=\"24\" font-size=\"15\">what differs: %s of %s figures for "
		"certain</text>\n",
		WIDTH, height, WIDTH, height, number_count(p->d->found).text,
		number_count(p->d->tested).text);
	fputs("<text x=\"10\" y=\"44\">orange grew, blue fell, per request where requests are "
	      "known, "
	      "else by time; grey is within the noise</text>\n"
	      "<text x=\"10\" y=\"60\">a box is as wide as its part of the samples of that side; "
	      "point at one for both</text>\n",
	      p->out);
	put_side(p, DIFF_AFTER, HEAD);
	memset(p->from, 0, p->d->book->nodes_cnt * sizeof(*p->from));
	put_side(p, DIFF_BEFORE, HEAD + graph);
	if (p->left_out)
		fprintf(p->out,
			"<text x=\"10\" y=\"%.0f\">not drawn: %s boxes that are too narrow or too "
			"deep</text>\n",
			height - 10, number_count(p->left_out).text);
	fputs("</svg>\n", p->out);
}

int diff_write_svg(FILE *out, const struct diff *d, const struct diff_beside *beside,
		   const struct diff_options *options)
{
	struct picture p = {.out = out, .d = d, .o = options};
	int err = lay_out(&p);

	(void)beside;
	if (!err)
		put_all(&p);
	free(p.rows);
	free(p.depth);
	free(p.from);
	return err ?: fflush(out) || ferror(out) ? -EIO : 0;
}
