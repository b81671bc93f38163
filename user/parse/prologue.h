/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_PROLOGUE_H
#define HOTRUN_PARSE_PROLOGUE_H
/*
 * Rows by which stacks are walked (bpf/events.h) from machine code itself: for methods that a .NET
 * runtime compiled, which have no table in a file. Not for code of other compilers, nor for the
 * runtime's stubs (perfmap_line_keeps_stack() says which need no look): what holds between blocks
 * rests on how RyuJIT lays out methods (prologue.c says on what). Sources: dotnet/runtime, in
 * src/coreclr/jit/codegenxarch.cpp and docs/design/coreclr/botr/clr-abi.md. Pure, by length;
 * content is hostile.
 */
#include <stddef.h>
#include <stdint.h>

#include "parse/cfi.h"

/* More of a method is not looked at: the longest of 340,000 has 26,000. */
#define PROLOGUE_BYTES_MAX 65536u

/*
 * The rows that hold in a method of size bytes at start, whose first len bytes are code: in the
 * order of their addresses, the first at start, none says what the one before says. What is not
 * decidable, or not in code, has a row UNWIND_UNKNOWN, also where max, which must be one more than
 * that, was not enough. Nothing says that the last one ends at start + size. Returns how many; 0 if
 * size or max is 0.
 */
size_t prologue_rows(const uint8_t *code, size_t len, uint64_t start, uint64_t size,
		     struct cfi_row *ret_rows, size_t max);
#endif
