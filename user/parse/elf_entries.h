/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_ELF_ENTRIES_H
#define HOTRUN_PARSE_ELF_ENTRIES_H
/*
 * Entry points of a .NET runtime whose file has no symbol table, from the tables by which it finds
 * native code for its managed callers. Their names are part of the runtime, as is the end of each
 * function in .eh_frame; what they call has none. Sources (dotnet/runtime, the same in .NET 8, 9
 * and 10):
 *
 *	src/native/minipal/entrypoints.h, src/coreclr/vm/qcallentrypoints.cpp, and the libraries'
 *	own in single-file programs: Entry {name, code}, in arrays. These are QCalls; their name
 *	is what [DllImport] asks for, e.g. ThreadNative_Start, and that of the function in C.
 *
 *	src/coreclr/vm/ecall.h, ecalllist.h: ECClass {class, namespace, functions}, in an array;
 *	functions points to ECFunc {flags, code, name[, signature]}, up to one with a flag of
 *	its own. These are FCalls; the name is that of the managed method, and reads as such
 *	(perfmap/names/name.h): System.Threading.Monitor.TryEnter_FastPath.
 *
 * The content is hostile: only names that are identifiers, of code where an entry of .eh_frame
 * begins, in tables of several rows; all of it bounded.
 */
#include <libelf.h>
#include <stdbool.h>

#include "parse/elf.h"

#define ELF_ENTRIES_MAX	     16384u /* .NET 10 has 600, 1,300 in single-file programs */
#define ELF_ENTRY_NAME_MAX   100u   /* bytes of each part; the longest have 60 */
#define ELF_ENTRY_ROWS_LEAST 8u	    /* that make a table; the shortest has 29 */

/* Whether an exported name, of room bytes at the most, tells that a .NET runtime is in the file:
 * debuggers look for these. */
bool elf_entries_is_export(const char *name, size_t room);

/*
 * Adds the entry points of a file to its table, whose extents are there and in order; elf_settle()
 * has to follow. What cannot be had is left out. Counts in table->work.
 */
void elf_entries_add(Elf *elf, struct elf_table *table);
#endif
