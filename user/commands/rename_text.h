/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_COMMANDS_RENAME_TEXT_H
#define HOTRUN_COMMANDS_RENAME_TEXT_H
/*
 * What `hotrun rename` says: what got a name, what still lacks one and why, which files helped.
 */
#include <stdio.h>

#include "model/model.h"
#include "model/unnamed.h"
#include "names/again.h"

struct rename_result {
	const struct model *m;
	const struct again *again;
	const struct unnamed *before, *after; /* of all samples; after NULL = nothing changed */
	const struct symbol_dirs *dirs;	      /* or NULL */
	bool asked;			      /* processes were */
};

void rename_text(FILE *out, const struct rename_result *result);
#endif
