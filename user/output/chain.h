/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_OUTPUT_CHAIN_H
#define HOTRUN_OUTPUT_CHAIN_H
/* Methods of a line that tells of a stack by a few of them (standing_chain()). Pure; no threads. */
#include <stdbool.h>

#include "model/model.h"
#include "output/report_text.h"

/* The application's in full, of the framework what people call it; not cut. */
void chain_method_name(char name[static NAME_BYTES], const struct model_symbol *s);
#endif
