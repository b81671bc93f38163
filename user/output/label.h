/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_LABEL_H
#define HOTRUN_OUTPUT_LABEL_H
/*
 * Names of strangers as cells of the live views' tables: made safe, cut to columns. Pure; no threads.
 */
#include <stdio.h>

#include "model/model.h"
#include "output/report_text.h"

/* A process for people, its unit or container behind it: "Shop.Api (shop.service)". Kernel threads
 * stand in brackets. */
void label_process(char buf[static NAME_BYTES], const struct model_process *p, size_t columns);
/* A method, with [k] for the kernel's, [j] for JIT code, or why it has no name. */
void label_method(char buf[static NAME_BYTES], const struct model_symbol *s, size_t columns);
/* Any other name. */
void label_name(char buf[static NAME_BYTES], const char *name, size_t columns, enum text_cut cut);

/* text in that many columns, at the right or at the left end. */
void label_put_right(FILE *out, const char *text, size_t columns);
void label_put_left(FILE *out, const char *text, size_t columns);
#endif
