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
#include "perfmap/memory/memory.h"

struct code_range {
	uint64_t start;
	uint32_t size;	      /* 0: of the body that the runtime has at that address */
	uint32_t keeps_stack; /* 1: a stub at whose every instruction the stack is the caller's */
};

/* Of one job. */
#define CODE_RANGES_MAX 3072u
#define CODE_LIST_NONE	UINT64_MAX

struct code_wanted {
	struct perfmap_memory_facts facts; /* of the runtime; without descriptor: none */
	/* Besides the ranges, what the runtime has compiled from that address on, as much as there
	 * is room for; CODE_LIST_NONE: none of it. */
	uint64_t list_from;
	uint32_t ranges_cnt, rsvd;
	struct code_range ranges[CODE_RANGES_MAX];
};

/* Rows of one method that are kept; the longest of 10,000 have some hundred. */
#define CODE_ROWS_MAX 4096u
/* Of a method; what is longer is no method. */
#define CODE_METHOD_BYTES_MAX (16u << 20)

/* A method whose code was read; size 0: it was another one meanwhile. */
struct code_method {
	uint64_t start;
	uint32_t size;
	uint32_t cnt; /* rows, behind those of the method before */
};

/* The worker's side. ret_next: where the list goes on, CODE_LIST_NONE: it is whole. 0 or -errno. */
int code_rows_write(struct target_memory *memory, const struct code_wanted *wanted, int fd,
		    uint64_t *ret_next);

/* Takes fd. Owned, or NULL; the rest is borrowed from it. Rows may be of any method: those that are
 * not within their own, or out of order, are the caller's to leave out. */
struct blob *code_rows_read(int fd, size_t bytes, const struct code_method **ret_methods,
			    size_t *ret_methods_cnt, const struct cfi_row **ret_rows,
			    size_t *ret_rows_cnt);
#endif
