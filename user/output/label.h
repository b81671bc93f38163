/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_LABEL_H
#define HOTRUN_OUTPUT_LABEL_H
/*
 * Untrusted names as pieces of lines: made safe, cut to columns. Pure; no threads.
 */
#include "model/model.h"
#include "output/report_text.h"

/* A process for people, its unit or container behind it: "Shop.Api (shop.service)". Kernel threads
 * stand in brackets. */
void label_process(char buf[static NAME_BYTES], const struct model_process *p, size_t columns);
/* Any other name. */
void label_name(char buf[static NAME_BYTES], const char *name, size_t columns, enum text_cut cut);

#define LABEL_MODULE	   1u /* with its file where the name does not tell it */
#define LABEL_RAW	   2u /* the name is as runtimes and symbol tables write it */
#define LABEL_COLOR	   4u /* with sequences of a terminal: the application's stand out */
#define LABEL_METHOD_BYTES (2 * NAME_BYTES + 64)
/* A method, with [k] for the kernel's, [j] for JIT code, or why it has no name. */
void label_method(char buf[static LABEL_METHOD_BYTES], const struct model_symbol *s, size_t columns,
		  unsigned int how);
#endif
