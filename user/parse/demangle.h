/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_DEMANGLE_H
#define HOTRUN_PARSE_DEMANGLE_H
/*
 * C++ (Itanium ABI) and Rust (legacy and v0) symbol names as people write them, by libiberty. The
 * names are hostile: a short one can stand for gigabytes, so output stops at a bound. No threads.
 */
#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_INPUT_MAX  1000 /* libiberty refuses more by itself: 2 x length over 2,048 */
#define DEMANGLE_OUTPUT_MAX 4096 /* with the NUL */

/* Writes the readable name without arguments. False: not a mangled name, or too long either way;
 * buf is undefined then. */
bool demangle_name(const char *mangled, char buf[DEMANGLE_OUTPUT_MAX]);
#endif
