/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/label.h"

#include <string.h>

#include "base/text.h"
#include "model/workload.h"

/* Columns that are never reached, so that what was cut for lack of room shows its cut. */
#define COLUMNS_MAX (NAME_BYTES / 4 - 4)

static size_t bounded(size_t columns)
{
	return columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
}

void label_name(char buf[static NAME_BYTES], const char *name, size_t columns, enum text_cut cut)
{
	size_t len = strlen(name), most = NAME_BYTES / 4 - 1;

	/* An escape is four bytes; of a longer name the end is kept that tells most. */
	if (len > most && cut == CUT_START)
		name += len - most;
	text_copy_safe(buf, NAME_BYTES, name, strnlen(name, most));
	text_shorten(buf, bounded(columns), cut);
}

void label_process(char buf[static NAME_BYTES], const struct model_process *p, size_t columns)
{
	const char *name = p->name[0] ? p->name : p->comm[0] ? p->comm : "(unknown)";
	char safe[NAME_BYTES], place[NAME_BYTES] = "", all[3 * NAME_BYTES];
	char container[WORKLOAD_BYTES];
	const char *where;

	workload_container(p, container);
	where = p->flags & PROCESS_SELF ? "itself" : container[0] ? container : p->unit;
	label_name(safe, name, COLUMNS_MAX, CUT_MIDDLE);
	if (where[0])
		label_name(place, where, COLUMNS_MAX, CUT_MIDDLE);
	snprintf(all, sizeof(all), "%s%s%s%s%s%s", p->flags & PROCESS_KERNEL ? "[" : "", safe,
		 p->flags & PROCESS_KERNEL ? "]" : "", where[0] ? " (" : "", place,
		 where[0] ? ")" : "");
	text_shorten(all, bounded(columns), CUT_END);
	strcpy(buf, all); /* at most COLUMNS_MAX code points of at most four bytes */
}

void label_method(char buf[static NAME_BYTES], const struct model_symbol *s, size_t columns)
{
	bool managed = s->kind == KIND_JIT || s->kind == KIND_IMAGE;
	enum text_cut cut = managed ? CUT_START : CUT_MIDDLE;
	char tail[64];
	size_t room;

	snprintf(tail, sizeof(tail), "%s%s%s%s", s->reason != REASON_NAMED ? " [" : "",
		 s->reason != REASON_NAMED ? model_reason_id((enum model_reason)s->reason) : "",
		 s->reason != REASON_NAMED ? "]" : "",
		 s->kind == KIND_KERNEL ? " [k]"
		 : s->kind == KIND_JIT	? " [j]"
					: "");
	columns = bounded(columns);
	room = text_columns(tail);
	if (columns < room + 12) {
		tail[0] = '\0';
		room = 0;
	}
	label_name(buf, s->name, COLUMNS_MAX, cut);
	if (text_columns(buf) > columns - room)
		text_fold_arguments(buf);
	text_shorten(buf, columns - room, cut);
	strcat(buf, tail);
}

void label_put_right(FILE *out, const char *text, size_t columns)
{
	for (size_t n = text_columns(text); n < columns; n++)
		putc(' ', out);
	fputs(text, out);
}

void label_put_left(FILE *out, const char *text, size_t columns)
{
	fputs(text, out);
	for (size_t n = text_columns(text); n < columns; n++)
		putc(' ', out);
}
