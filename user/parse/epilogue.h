/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_EPILOGUE_H
#define HOTRUN_PARSE_EPILOGUE_H
/*
 * What unwind data of .NET does not tell, from the bytes of its code: where the frame pointer is
 * set, and epilogues. No disassembler: an epilogue is the one sequence of bytes that undoes the
 * prolog, with what leaves the function behind it: a return, or a jump with the prefix by which
 * .NET tells unwinders that it leaves. Jumps by distance are none of these: two of 2.6 million
 * instructions were calls in whose distance such a jump seemed to be. A return is one byte: inside
 * another instruction it makes rows that nobody asks for, as none begins there and as calls, which
 * are looked up by their last byte, do not end so. Pure, by length.
 */
#include "parse/unwind_info.h"

/* More is no compiler's: six registers are saved at the most. */
#define EPILOGUE_BYTES_MAX 32u
#define EPILOGUE_ROWS_MAX  16u
/* Of the instruction that leaves. */
#define EPILOGUE_LEAVE_BYTES_MAX 8u

struct epilogue {
	uint8_t bytes[EPILOGUE_BYTES_MAX];
	size_t len;
	size_t rows_cnt;
	struct {
		uint8_t at; /* holds from here on, from the sequence's first byte */
		struct unwind_row row;
	} rows[EPILOGUE_ROWS_MAX];
};

/* What undoes these steps, which led to the frame of the body. False: not one sequence of bytes. */
bool epilogue_of(const struct unwind_steps *steps, const struct unwind_frame *body,
		 struct epilogue *ret);

/*
 * Looks for it in a piece of code. Returns how many bytes from the piece's beginning on the first
 * one starts, and how many it has with the instruction that leaves; len: none.
 */
size_t epilogue_find(const struct epilogue *e, const uint8_t *code, size_t len,
		     struct perfmap_work *work, size_t *ret_bytes);

/*
 * Whether the instruction at code makes the frame pointer point to the caller's, which the frame
 * has saved: it tells the CFA from then on. Returns the instruction's bytes and completes the
 * frame; 0: no.
 */
size_t epilogue_sets_fp(const uint8_t *code, size_t len, struct unwind_frame *frame);

#endif
