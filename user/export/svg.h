/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_EXPORT_SVG_H
#define HOTRUN_EXPORT_SVG_H
/*
 * A static picture of the flame graph (SVG 1.1, no script, nothing from elsewhere): for documents
 * and tickets. The root is at the bottom, above it processes, above these their frames, heaviest
 * first; a box is as wide as the weight that passes through it. Colours by kind of code. A box has
 * its name, weight and share as its title, which viewers show. What is narrower than a tenth of a
 * pixel or deeper than SVG_MAX_ROWS is left out, which the picture says.
 *
 * Names are text: markup is escaped, and what XML cannot hold is U+FFFD.
 */
#include "export/options.h"

#define SVG_MAX_ROWS 500 /* 8,000 pixels */

int svg_write(FILE *out, struct model *m, const struct export_options *options);
#endif
