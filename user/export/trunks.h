/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_TRUNKS_H
#define HOTRUN_EXPORT_TRUNKS_H
/*
 * The thick trunks of a capture (judge/trunks.h), a line each, of those who were hurt first, then
 * of those with most samples; three processes at the most:
 *
 *	SECONDS<tab>PEOPLE<tab>SHARE<tab>PROCESS<tab>METHOD
 *
 * seconds in which the process was hurt, requests that were slow or unanswered then, share of its
 * CPU (0..1), its name, the method below which it goes. Control characters of names are \xHH, a
 * backslash \\. What the history has of a capture. Pure; no threads.
 */
#include "export/options.h"

/* Of options, the processes alone count. */
int trunks_write(FILE *out, struct model *m, const struct export_options *options);
#endif
