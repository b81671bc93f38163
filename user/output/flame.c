/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/flame.h"

#include <errno.h>
#include <string.h>

#include "output/html.h"

HTML_EMBED(html, "flame.html");
HTML_EMBED(css, "flame.css");
HTML_EMBED(format, "format.js");
HTML_EMBED(dom, "dom.js");
HTML_EMBED(capture, "capture.js");
HTML_EMBED(search, "search.js");
HTML_EMBED(graph, "graph.js");
HTML_EMBED(details, "details.js");
HTML_EMBED(chooser, "chooser.js");
HTML_EMBED(header, "header.js");
HTML_EMBED(app, "app.js");

#define PART(name)                                           \
	{                                                    \
		hotrun_page_##name, hotrun_page_##name##_end \
	}

static const struct part {
	const char *start, *end;
} css = PART(css), scripts[] = {
			   /* Each uses only what stands before it. */
			   PART(format),  PART(dom),	 PART(capture), PART(search), PART(graph),
			   PART(details), PART(chooser), PART(header),	PART(app),
};

static void put_part(FILE *out, const struct part *part)
{
	fwrite(part->start, 1, (size_t)(part->end - part->start), out);
}

/* Writes what a {{marker}} of flame.html stands for; unknown ones are written as they are. */
static int put_marker(FILE *out, const char *name, size_t len, const char *nonce, struct model *m,
		      const struct flame_options *options)
{
	if (len == 5 && !memcmp(name, "nonce", len))
		fputs(nonce, out);
	else if (len == 3 && !memcmp(name, "css", len))
		put_part(out, &css);
	else if (len == 4 && !memcmp(name, "data", len))
		return flame_write_data(out, m, options);
	else if (len == 2 && !memcmp(name, "js", len))
		for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
			put_part(out, &scripts[i]);
	else
		fprintf(out, "{{%.*s}}", (int)len, name);
	return 0;
}

int flame_write(FILE *out, struct model *m, const struct flame_options *options)
{
	const char *at = hotrun_page_html, *end = hotrun_page_html_end, *open, *close;
	char nonce[HTML_NONCE_BYTES];
	int err = html_nonce(nonce);

	while (!err) {
		open = memmem(at, (size_t)(end - at), "{{", 2);
		close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
		if (!close)
			break;
		fwrite(at, 1, (size_t)(open - at), out);
		err = put_marker(out, open + 2, (size_t)(close - open - 2), nonce, m, options);
		at = close + 2;
	}
	if (err)
		return err;
	fwrite(at, 1, (size_t)(end - at), out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
