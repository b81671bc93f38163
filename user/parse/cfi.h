/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_CFI_H
#define HOTRUN_PARSE_CFI_H
/*
 * Compiles call frame information (.eh_frame, .debug_frame of x86-64) into the rows by which stacks
 * are walked (bpf/events.h). Sources: DWARF 5, 6.4; Linux Standard Base Core, "Exception Frames";
 * System V ABI, AMD64, 3.6. Pure, by length; content is hostile: work is counted, rows are bounded,
 * and what cannot be expressed becomes a row that says so.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/events.h"
#include "parse/unwind.h"

#define CFI_ROWS_MAX 4000000u

/* Where the kernel's frame of a signal has rsp, rip and rbp, from the stack pointer on (struct
 * ucontext, arch/x86/include/uapi/asm/sigcontext.h). */
#define CFI_SIGNAL_SP 160
#define CFI_SIGNAL_RA 168
#define CFI_SIGNAL_FP 120

/* A row with its address in the file's address space. */
struct cfi_row {
	uint64_t vaddr;
	struct unwind_row row; /* row.at is not set */
};

struct cfi_rows {
	/* owned; in the order of their addresses, none says what the one before says */
	struct cfi_row *rows;
	size_t cnt, cap;
	size_t left_out; /* entries that made no sense */
};

/*
 * Fills rows, which must be empty, with those of a whole section: of two entries that overlap, the
 * one that begins later holds from there on. is_debug: .debug_frame. 0, -E2BIG (the work's limit,
 * or CFI_ROWS_MAX) or -ENOMEM; what was found is kept, in order.
 */
int cfi_compile(const struct unwind_bytes *section, bool is_debug, struct perfmap_work *work,
		struct cfi_rows *rows);
void cfi_clear(struct cfi_rows *rows);

/* Adds a row behind those that are there, whose addresses must not be above its own: one of the
 * same address is replaced. 0, -E2BIG (CFI_ROWS_MAX) or -ENOMEM. */
int cfi_append(struct cfi_rows *rows, struct cfi_row row);

/* The row that holds at an address, NULL below the first one. */
const struct cfi_row *cfi_at(const struct cfi_rows *rows, uint64_t vaddr);
#endif
