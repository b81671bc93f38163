/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_CODE_ROWS_H
#define HOTRUN_PARSE_CODE_ROWS_H
/*
 * Rows of methods that a runtime compiled, made by a worker of their machine code in the memory of
 * their process (prologue.h; isolate/blob.h). Both sides are hostile. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "isolate/blob.h"
#include "parse/cfi.h"
#include "parse/target_memory.h"

struct code_range {
	uint64_t start;
	uint32_t size;
	uint32_t keeps_stack; /* 1: a stub at whose every instruction the stack is the caller's */
};

/* Rows of one method that are kept; the longest of 10,000 have some hundred. */
#define CODE_ROWS_MAX 4096u
/* Of a method; what is longer is no method. */
#define CODE_METHOD_BYTES_MAX (16u << 20)

/* A method whose code was read. */
struct code_method {
	uint64_t start;
	uint32_t size;
	uint32_t cnt; /* rows, behind those of the method before */
};

/* The worker's side. 0 or -errno. */
int code_rows_write(struct target_memory *memory, const struct code_range *ranges, size_t cnt,
		    int fd);

/* Takes fd. Owned, or NULL; the rest is borrowed from it. Rows may be of any method: those that are
 * not within their own, or out of order, are the caller's to leave out. */
struct blob *code_rows_read(int fd, size_t bytes, const struct code_method **ret_methods,
			    size_t *ret_methods_cnt, const struct cfi_row **ret_rows,
			    size_t *ret_rows_cnt);
#endif
