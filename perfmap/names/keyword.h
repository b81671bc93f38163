/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PERFMAP_NAMES_KEYWORD_H
#define PERFMAP_NAMES_KEYWORD_H
/*
 * What C# calls the runtime's own types. Not for use outside perfmap/. Pure, no threads.
 */
#include "perfmap/names/span.h"

/* The keyword of a type of the runtime ("System.Int32": "int"), or NULL. */
const char *perfmap_keyword(struct perfmap_span type);
#endif
