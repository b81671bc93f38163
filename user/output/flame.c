/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/html.h"
#include "output/pack.h"

HTML_EMBED(html, "flame.html");
HTML_EMBED(css, "flame.css");
HTML_EMBED(loader, "loader.js");
HTML_EMBED(format, "format.js");
HTML_EMBED(dom, "dom.js");
HTML_EMBED(pattern, "pattern.js");
HTML_EMBED(codec, "codec.js");
HTML_EMBED(capture, "capture.js");
HTML_EMBED(search, "search.js");
HTML_EMBED(seconds, "seconds.js");
HTML_EMBED(selection, "selection.js");
HTML_EMBED(folds, "folds.js");
HTML_EMBED(tree, "tree.js");
HTML_EMBED(state, "state.js");
HTML_EMBED(shown, "shown.js");
HTML_EMBED(colours, "colours.js");
HTML_EMBED(graph, "graph.js");
HTML_EMBED(details, "details.js");
HTML_EMBED(header, "header.js");
HTML_EMBED(chooser, "chooser.js");
HTML_EMBED(chips, "chips.js");
HTML_EMBED(menu, "menu.js");
HTML_EMBED(save, "save.js");
HTML_EMBED(table, "table.js");
HTML_EMBED(views, "views.js");
HTML_EMBED(report, "report.js");
HTML_EMBED(pane, "pane.js");
HTML_EMBED(sandwich, "sandwich.js");
HTML_EMBED(strip, "strip.js");
HTML_EMBED(input, "input.js");
HTML_EMBED(changes, "changes.js");
HTML_EMBED(app, "app.js");

#define PART(name)                                           \
	{                                                    \
		hotrun_page_##name, hotrun_page_##name##_end \
	}

static const struct part {
	const char *start, *end;
} css = PART(css), loader = PART(loader);

/* Each uses only what stands before it. */
static const struct part scripts[] = {
	PART(format),	PART(dom),	 PART(pattern), PART(codec),  PART(capture), PART(search),
	PART(seconds),	PART(selection), PART(folds),	PART(tree),   PART(state),   PART(shown),
	PART(colours),	PART(graph),	 PART(details), PART(header), PART(chooser), PART(chips),
	PART(menu),	PART(save),	 PART(table),	PART(views),  PART(report),  PART(pane),
	PART(sandwich), PART(changes),	 PART(strip),	PART(input),  PART(app),
};

struct page {
	flame_block_fn write_block;
	void *ctx;
	char nonce[HTML_NONCE_BYTES];
};

/* The data block, in base64. */
static int put_data(FILE *out, const struct page *p)
{
	char *data = NULL;
	size_t len = 0;
	FILE *block = open_memstream(&data, &len);
	int err = block ? p->write_block(block, p->ctx) : -ENOMEM;

	if (block && fclose(block))
		err = -ENOMEM;
	if (!err)
		err = pack_write(out, data, len);
	free(data);
	return err;
}

static void put_part(FILE *out, const struct part *part)
{
	fwrite(part->start, 1, (size_t)(part->end - part->start), out);
}

/* Without its comments, those that have lines of their own: they are a sixth of what is packed. */
static void put_bare(FILE *out, const struct part *part)
{
	bool comment = false;

	for (const char *at = part->start, *next; at < part->end; at = next) {
		const char *end = memchr(at, '\n', (size_t)(part->end - at));
		size_t blank;

		next = end ? end + 1 : part->end;
		blank = strspn(at, "\t");
		comment |= !strncmp(at + blank, "/*", 2);
		if (!comment)
			fwrite(at, 1, (size_t)(next - at), out);
		else if (next - at >= 3 && !memcmp(next - 3, "*/", 2))
			comment = false;
	}
}

/* Some parts as one, in base64. */
static int put_packed(FILE *out, const struct part *parts, size_t cnt)
{
	char *code = NULL;
	size_t len = 0;
	FILE *all = open_memstream(&code, &len);
	int err = all ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < cnt; i++)
		put_bare(all, &parts[i]);
	if (all && fclose(all))
		err = -ENOMEM;
	if (!err)
		err = pack_write(out, code, len);
	free(code);
	return err;
}

/* Writes what a {{marker}} of flame.html stands for; unknown ones are written as they are. */
static int put_marker(FILE *out, const char *name, size_t len, const struct page *p)
{
	const char *const words[] = {"nonce", "css", "loader", "code", "data"};
	size_t i = 0;

	while (i < sizeof(words) / sizeof(*words) &&
	       (strlen(words[i]) != len || memcmp(name, words[i], len)))
		i++;
	switch (i) {
	case 0:
		fputs(p->nonce, out);
		return 0;
	case 1:
		return put_packed(out, &css, 1);
	case 2:
		put_part(out, &loader);
		return 0;
	case 3:
		return put_packed(out, scripts, sizeof(scripts) / sizeof(*scripts));
	case 4:
		return put_data(out, p);
	default:
		fprintf(out, "{{%.*s}}", (int)len, name);
		return 0;
	}
}

int flame_write_page(FILE *out, flame_block_fn write_block, void *ctx)
{
	const char *at = hotrun_page_html, *end = hotrun_page_html_end, *open, *close;
	struct page p = {.write_block = write_block, .ctx = ctx};
	int err = html_nonce(p.nonce);

	while (!err) {
		open = memmem(at, (size_t)(end - at), "{{", 2);
		close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
		if (!close)
			break;
		fwrite(at, 1, (size_t)(open - at), out);
		err = put_marker(out, open + 2, (size_t)(close - open - 2), &p);
		at = close + 2;
	}
	if (err)
		return err;
	fwrite(at, 1, (size_t)(end - at), out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

struct capture_block {
	struct model *m;
	const struct flame_options *options;
};

static int write_capture(FILE *out, void *ctx)
{
	const struct capture_block *b = ctx;

	return flame_write_data(out, b->m, b->options);
}

int flame_write(FILE *out, struct model *m, const struct flame_options *options)
{
	struct capture_block block = {m, options};

	return flame_write_page(out, write_capture, &block);
}
