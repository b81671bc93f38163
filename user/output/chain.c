/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output/chain.h"

#include "output/label.h"

/* Where the namespace of a method's name ends: before its type, with what encloses it. */
static const char *without_namespace(const char *name)
{
	const char *type = name, *before = name;
	int depth = 0;

	for (const char *c = name; *c && *c != '('; c++) {
		depth += (*c == '<' || *c == '[') - (*c == '>' || *c == ']');
		if (*c == '.' && !depth && c != name && c[-1] != '.') {
			before = type;
			type = c + 1;
		}
	}
	return before;
}

/* A method of a chain: the application's in full, of the framework what people call it. */
void chain_method_name(char name[static NAME_BYTES], const struct model_symbol *s)
{
	label_name(name,
		   model_is_managed(s) && !s->application ? without_namespace(s->name) : s->name,
		   NAME_BYTES, model_is_managed(s) ? CUT_START : CUT_MIDDLE);
	text_fold_arguments(name);
}
