/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_NAMES_JIT_CODE_H
#define HOTRUN_NAMES_JIT_CODE_H
/*
 * How the methods of a process are unwound that its runtime compiled: their code is read in its
 * memory by workers. Where it lies the runtime tells itself, where its memory does (jit_memory.h):
 * of all methods at first, later of those that stacks lead to of whose code nothing is known; and
 * the perf map as it is read (jit.h). The runtime's own unwind data (UNWIND_INFO) is not read: of
 * 2,992 methods of .NET 10 no instruction was left open by their code, which shows epilogues, too.
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/code_pages.h"
#include "names/sources.h"
#include "parse/code_rows.h"

/* Methods of one process that wait, its pages (512 MiB of code; each that comes is put between the
 * others), and bytes of the rows of one process and of all. */
#define JIT_CODE_WAITING_MAX   262144u
#define JIT_CODE_PROCESS_BYTES (8u << 20)
#define JIT_CODE_BYTES	       (32u << 20)

struct jit_code;

/* Borrows the sources. NULL without memory. */
struct jit_code *jit_code_new(const struct sources *sources);
void jit_code_free(struct jit_code *c);

/* The process's runtime tells where its code is: all of it is to be read. The same again changes
 * nothing. */
void jit_code_runtime(struct jit_code *c, uint32_t process,
		      const struct perfmap_memory_facts *facts);
/* A stack led through code at that address of which nothing is known. */
void jit_code_want(struct jit_code *c, uint32_t process, uint64_t address);
/* Methods were compiled: their code is to be read. */
void jit_code_add(struct jit_code *c, uint32_t process, const struct code_range *ranges,
		  size_t cnt);
/* The process runs another program. */
void jit_code_forget(struct jit_code *c, uint32_t process);

/* Goes up with each change of what is known of a process's methods, or could be read. */
uint32_t jit_code_generation(const struct jit_code *c, uint32_t process);
/* Goes on with reading. Returns whether there is more to come soon: what is new in a process that
 * is warm waits some seconds (memory_pace.h). */
bool jit_code_step(struct jit_code *c, const struct model *m, uint32_t process);
/* The pages that are known, by number; borrowed until the next call. */
const struct code_page *jit_code_pages(const struct jit_code *c, uint32_t process, size_t *ret_cnt);
size_t jit_code_bytes(const struct jit_code *c);
#endif
