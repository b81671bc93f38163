/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_UNWIND_INFO_H
#define HOTRUN_PARSE_UNWIND_INFO_H
/*
 * UNWIND_INFO of x64 Windows, which .NET's compilers write on Linux, too: what a function's prolog
 * does to the stack, step by step, and the frame that each step leaves. Pure, by length; content is
 * hostile: work is counted, chains and steps are bounded.
 *
 * Source: Microsoft "x64 exception handling", struct UNWIND_INFO; dotnet/runtime
 * src/coreclr/inc/win64unwind.h (UWOP_SET_FPREG_LARGE is .NET's own, on Unix only).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/events.h"
#include "perfmap/work.h"

/* All of a chain together; compilers write 11 at the most. */
#define UNWIND_STEPS_MAX 256u
/* As Windows' own unwinder has it. */
#define UNWIND_CHAIN_MAX 32u
/* The largest UNWIND_INFO without what handlers add to it: header, codes, the next of a chain. */
#define UNWIND_INFO_BYTES_MAX (4u + 2u * 256u + 12u)

/* Number of the frame pointer among the registers. */
#define UNWIND_REGISTER_FP 5u

enum unwind_step_kind {
	UNWIND_STEP_PUSH,   /* of a register */
	UNWIND_STEP_ALLOC,  /* bytes of stack */
	UNWIND_STEP_SET_FP, /* the frame pointer is the stack pointer + bytes */
	UNWIND_STEP_SAVE_FP /* the caller's frame pointer is at the stack pointer + bytes */
};

struct unwind_step {
	uint8_t kind; /* enum unwind_step_kind */
	uint8_t reg;
	uint8_t end; /* done at this distance from the function's start */
	uint32_t bytes;
};

struct unwind_steps {
	size_t cnt;
	/* the last that is done comes first; those of what is chained to are done at the start */
	struct unwind_step steps[UNWIND_STEPS_MAX];
};

/* Memory at an RVA. */
struct unwind_memory {
	const uint8_t *data;
	uint32_t rva, len;
};

/*
 * Reads the steps of the UNWIND_INFO at an RVA. Returns 0; -EBADMSG: it makes no sense, or cannot
 * be told by a frame (machine frames, other versions, a chain without end); -E2BIG: over the limit
 * of work.
 */
int unwind_info_read(const struct unwind_memory *memory, uint32_t rva, struct perfmap_work *work,
		     struct unwind_steps *ret_steps);

/* Where the CFA and the caller's frame pointer are, at one place of the code. */
struct unwind_frame {
	bool by_fp;	  /* the frame pointer tells the CFA, else the stack pointer */
	int64_t sp_bytes; /* CFA - stack pointer */
	int64_t fp_bytes; /* CFA - frame pointer */
	bool is_saved;	  /* the caller's frame pointer, else it is in its register */
	int64_t saved_at; /* at CFA + this */
};

/* At a function's first byte. */
#define UNWIND_FRAME_START ((struct unwind_frame){.sp_bytes = 8})

void unwind_frame_do(struct unwind_frame *frame, const struct unwind_step *step);
struct unwind_row unwind_frame_row(const struct unwind_frame *frame);
#endif
