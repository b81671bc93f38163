/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_RUNTIME_FILES_H
#define HOTRUN_NAMES_RUNTIME_FILES_H
/* In which files of a process a .NET runtime may be. Pure. */
#include "parse/parse.h"

/* Files of its code as they are mapped now, those with the usual name first, which only saves
 * looking at the others. Their number. */
uint32_t runtime_files(const struct model *m, uint32_t process,
		       struct parse_code_file ret_files[PARSE_RUNTIMES_MAX]);
#endif
