/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/label.h"

#include <string.h>

#include "base/text.h"
#include "model/workload.h"

#define GREEN "\033[1;32m"
#define FAINT "\033[2m"
#define PLAIN "\033[0m"

/* Columns that are never reached, so that what was cut for lack of room shows its cut. */
#define COLUMNS_MAX (NAME_BYTES / 4 - 4)

static size_t bounded(size_t columns)
{
	return columns < COLUMNS_MAX ? columns : COLUMNS_MAX;
}

/* Longer names than this are cut before they are escaped: an escape is four bytes. */
#define NAME_MOST (NAME_BYTES / 4 - 1)

void label_name(char buf[static NAME_BYTES], const char *name, size_t columns, enum text_cut cut)
{
	size_t len = strlen(name);

	/* Both ends of a long name can matter: the middle goes first. */
	if (len > NAME_MOST && cut != CUT_END) {
		size_t head = cut == CUT_START ? 0 : NAME_MOST / 2, tail = NAME_MOST - head - 1;
		size_t n = text_copy_safe(buf, NAME_BYTES, name, head);

		memcpy(buf + n, "…", strlen("…"));
		text_copy_safe(buf + n + strlen("…"), NAME_BYTES - n - strlen("…"),
			       name + len - tail, tail);
	} else {
		text_copy_safe(buf, NAME_BYTES, name, len < NAME_MOST ? len : NAME_MOST);
	}
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

/* Of a file's name behind a method. */
#define MODULE_COLUMNS 28
/* Of a method's name, whatever stands behind it. */
#define METHOD_LEAST 12

/* A method's file is told where the name does not tell it. */
static bool module_helps(const struct model_symbol *s)
{
	size_t len = strlen(s->module);

	if (!len || s->name == s->module || s->kind == KIND_NOTE || s->kind == KIND_STUB)
		return false;
	if (s->kind == KIND_KERNEL)
		return strcmp(s->module, "[kernel]") != 0;
	if (model_is_managed(s) && !strncmp(s->name, s->module, len) && s->name[len] == '.')
		return false;
	return true;
}

static const char *mark_of(const struct model_symbol *s)
{
	if (s->kind == KIND_KERNEL)
		return " [k]";
	return s->kind == KIND_JIT ? " [j]" : "";
}

/* What follows the name: its file or why it has no name, and the mark of its kind. */
#define TAIL_BYTES (NAME_BYTES + 32)
static void method_tail(char buf[static TAIL_BYTES], const struct model_symbol *s, bool module)
{
	char name[NAME_BYTES];

	buf[0] = '\0';
	if (s->kind == KIND_NOTE)
		return;
	if (s->reason != REASON_NAMED) {
		snprintf(buf, TAIL_BYTES, " [%s]%s", model_reason_id(s->reason), mark_of(s));
		return;
	}
	if (!module) {
		snprintf(buf, TAIL_BYTES, "%s", mark_of(s));
		return;
	}
	label_name(name, s->module, MODULE_COLUMNS, CUT_MIDDLE);
	snprintf(buf, TAIL_BYTES, " (%s)%s", name, mark_of(s));
}

void label_method(char buf[static LABEL_METHOD_BYTES], const struct model_symbol *s, size_t columns,
		  unsigned int how)
{
	/* A raw name ends in its arguments. */
	enum text_cut cut = model_is_managed(s) && !(how & LABEL_RAW) ? CUT_START : CUT_MIDDLE;
	char name[NAME_BYTES], tail[TAIL_BYTES];
	bool painted = how & LABEL_COLOR;
	size_t room;

	columns = bounded(columns);
	label_name(name, s->name, COLUMNS_MAX, cut);
	method_tail(tail, s, how & LABEL_MODULE && module_helps(s));
	if (text_columns(name) + text_columns(tail) > columns)
		text_fold_arguments(name);
	/* The end of a long managed name tells more than its assembly. */
	if (model_is_managed(s) && text_columns(name) + text_columns(tail) > columns)
		method_tail(tail, s, false);
	room = text_columns(tail);
	if (columns < room + METHOD_LEAST)
		room = tail[0] = '\0';
	text_shorten(name, columns - room, cut);
	snprintf(buf, LABEL_METHOD_BYTES, "%s%s%s%s%s%s", painted && s->application ? GREEN : "",
		 name, painted && s->application ? PLAIN : "", painted ? FAINT : "", tail,
		 painted ? PLAIN : "");
}
