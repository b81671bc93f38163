/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_UNWIND_ELF_H
#define HOTRUN_PARSE_UNWIND_ELF_H
/*
 * What an ELF file of x86-64 tells of how its code is unwound: .eh_frame, of which the program
 * header tells where there are no sections; .debug_frame where the first one says nothing; and the
 * restorer of signals by its instructions, which C libraries without frame entries of it have. The
 * file is hostile.
 */
#include "parse/cfi.h"
#include "parse/unwind_table.h"

/*
 * Fills rows and layout, which are empty. REASON_NAMED, also for a file without such entries;
 * REASON_FILE_MALFORMED; or REASON_LIMIT. cfi_clear() in any case.
 */
enum model_reason unwind_elf_compile(int fd, struct cfi_rows *rows, struct unwind_layout *layout);
#endif
