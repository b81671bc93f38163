/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_VDSO_H
#define HOTRUN_NAMES_VDSO_H
/*
 * The vdso that the kernel maps into every process (vdso(7)). All 64-bit processes of one kernel
 * have the same, so our own is read.
 */
#include "parse/elf.h"
#include "parse/unwind_table.h"

/* Returns REASON_NAMED with an owned table, or the reason why there is none. */
enum model_reason vdso_load(struct elf_table **ret_table);
/* How its code is unwound; unwind_table_free(), or NULL. */
struct unwind_table *vdso_load_unwind(void);
#endif
