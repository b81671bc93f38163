/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/epilogue.h"

#include <string.h>

#include "perfmap/bytes.h"

/* Work of looking once more. */
#define FIND_STEPS 64u

static bool put(struct epilogue *e, const uint8_t *bytes, size_t len)
{
	if (len > sizeof(e->bytes) - e->len)
		return false;
	memcpy(e->bytes + e->len, bytes, len);
	e->len += len;
	return true;
}

/* pop register */
static bool put_pop(struct epilogue *e, uint8_t reg)
{
	uint8_t bytes[2] = {0x41, (uint8_t)(0x58 | (reg & 7))};

	return reg < 8 ? put(e, bytes + 1, 1) : put(e, bytes, 2);
}

/* add rsp, bytes */
static bool put_add(struct epilogue *e, uint32_t bytes)
{
	uint8_t code[7] = {0x48, 0x83, 0xc4, (uint8_t)bytes};

	if (bytes <= INT8_MAX)
		return put(e, code, 4);
	code[1] = 0x81;
	memcpy(code + 3, &bytes, sizeof(bytes));
	return put(e, code, 7);
}

/* How the frame is after the step was undone, with the instruction that does. */
static bool undo(struct epilogue *e, const struct unwind_step *step, struct unwind_frame *frame)
{
	switch ((enum unwind_step_kind)step->kind) {
	case UNWIND_STEP_PUSH:
		frame->sp_bytes -= 8;
		if (step->reg == UNWIND_REGISTER_FP) {
			frame->by_fp = false;
			frame->is_saved = false;
		}
		return put_pop(e, step->reg);
	case UNWIND_STEP_ALLOC:
		frame->sp_bytes -= step->bytes;
		/* By several ways where there is a frame pointer, and with the same row. */
		return (frame->by_fp && !e->len) || put_add(e, step->bytes);
	case UNWIND_STEP_SET_FP:
		return true;
	case UNWIND_STEP_SAVE_FP:
		return false;
	}
	return false;
}

bool epilogue_of(const struct unwind_steps *steps, const struct unwind_frame *body,
		 struct epilogue *ret)
{
	struct unwind_frame frame = *body;

	ret->len = ret->rows_cnt = 0;
	for (size_t i = 0; i < steps->cnt; i++) {
		if (!undo(ret, &steps->steps[i], &frame))
			return false;
		if (!ret->len)
			continue;
		if (ret->rows_cnt == EPILOGUE_ROWS_MAX)
			return false;
		ret->rows[ret->rows_cnt].at = (uint8_t)ret->len;
		ret->rows[ret->rows_cnt++].row = unwind_frame_row(&frame);
	}
	return ret->len > 0;
}

/* Bytes of an instruction's operand in memory or a register, from its ModR/M on; 0 = cut off. */
static size_t operand_bytes(const uint8_t *p, size_t len)
{
	uint8_t mod, rm;
	size_t bytes = 1;

	if (!len)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod != 3 && rm == 4) {
		if (len < 2)
			return 0;
		bytes++;
		rm = p[1] & 7; /* 5: no base, as rm 5 has none */
	}
	if (mod == 1)
		bytes += 1;
	else if (mod == 2 || (mod == 0 && rm == 5))
		bytes += 4;
	return bytes <= len ? bytes : 0;
}

/* Bytes of the instruction if it is one by which a function ends; 0: no. */
static size_t leaves_at(const uint8_t *code, size_t len)
{
	size_t operand;

	if (!len)
		return 0;
	if (code[0] == 0xc3)
		return 1;
	/* jmp to what a register or memory holds, with the prefix REX.W */
	if (len < 3 || code[0] >> 3 != 9 || code[1] != 0xff || (code[2] >> 3 & 7) != 4)
		return 0;
	operand = operand_bytes(code + 2, len - 2);
	return operand ? 2 + operand : 0;
}

size_t epilogue_find(const struct epilogue *e, const uint8_t *code, size_t len,
		     struct perfmap_work *work, size_t *ret_bytes)
{
	size_t at = 0;

	while (len - at > e->len) {
		const uint8_t *found = memmem(code + at, len - at, e->bytes, e->len);
		size_t behind, leaves;

		if (!found || !perfmap_work_add(work, FIND_STEPS))
			break;
		behind = (size_t)(found - code) + e->len;
		leaves = leaves_at(code + behind, len - behind);
		if (leaves) {
			*ret_bytes = e->len + leaves;
			return behind - e->len;
		}
		at = behind - e->len + 1;
	}
	return len;
}

size_t epilogue_sets_fp(const uint8_t *code, size_t len, struct unwind_frame *frame)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x6c, 0x24}, lea_far[] = {0x48, 0x8d, 0xac, 0x24};
	static const uint8_t mov[] = {0x48, 0x8b, 0xec}, mov_other[] = {0x48, 0x89, 0xe5};
	int64_t distance = 0;
	size_t bytes;

	if (len >= 5 && !memcmp(code, lea, sizeof(lea))) {
		distance = (int8_t)code[4];
		bytes = 5;
	} else if (len >= 8 && !memcmp(code, lea_far, sizeof(lea_far))) {
		distance = (int32_t)perfmap_u32_at(code + 4);
		bytes = 8;
	} else if (len >= 3 && (!memcmp(code, mov, 3) || !memcmp(code, mov_other, 3))) {
		bytes = 3;
	} else {
		return 0;
	}
	if (!frame->is_saved || frame->sp_bytes - distance != -frame->saved_at)
		return 0;
	frame->by_fp = true;
	frame->fp_bytes = -frame->saved_at;
	return bytes;
}
