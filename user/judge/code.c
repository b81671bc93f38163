/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge/code.h"

#include <string.h>

/* What dispatches work stands below all that a service does. */
static bool is_dispatch(const char *name)
{
	return !strncmp(name, "System.Threading.", strlen("System.Threading.")) ||
	       !strncmp(name, "System.Runtime.CompilerServices.",
			strlen("System.Runtime.CompilerServices."));
}

bool code_is(const struct model *m, uint32_t symbol, enum code code)
{
	const struct model_symbol *s = &m->symbols[symbol];

	if (code == CODE_OF_APPLICATION)
		return s->application && s->kind != KIND_NOTE;
	if (code == CODE_MANAGED)
		return (s->kind == KIND_JIT || s->kind == KIND_IMAGE) &&
		       s->reason == REASON_NAMED && !is_dispatch(s->name);
	return s->kind != KIND_NOTE;
}
