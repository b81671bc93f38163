/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/unwind_info.h"

#include <errno.h>

#include "perfmap/bytes.h"

#define HEADER_BYTES 4u
#define SLOT_BYTES   2u
#define FLAG_CHAIN   4u
#define CHAIN_UNWIND 8u /* of the function that is chained to: begin, end, unwind data */
#define CHAIN_BYTES  12u

enum {
	PUSH_REGISTER = 0,
	ALLOC_LARGE = 1,
	ALLOC_SMALL = 2,
	SET_FP = 3,
	SAVE_REGISTER = 4,
	SAVE_REGISTER_FAR = 5,
	SAVE_XMM128 = 8,
	SAVE_XMM128_FAR = 9,
	SET_FP_LARGE = 11,
};

struct info {
	const uint8_t *codes;
	unsigned slots;
	uint8_t prolog_bytes;
	uint8_t frame; /* register, and offset / 16 in the high four bits */
	bool is_chained;
	uint32_t next; /* RVA of what it is chained to */
};

static bool read_info(const struct unwind_memory *m, uint32_t rva, struct info *ret)
{
	struct perfmap_bytes b = {m->data, m->len};
	size_t at = rva - m->rva, chain;
	const uint8_t *head;

	if (rva < m->rva || rva & 1 || !perfmap_has(b, at, HEADER_BYTES))
		return false;
	head = b.data + at;
	*ret = (struct info){
		.codes = head + HEADER_BYTES,
		.prolog_bytes = head[1],
		.slots = head[2],
		.frame = head[3],
		.is_chained = head[0] >> 3 & FLAG_CHAIN,
	};
	if ((head[0] & 7) != 1 || !perfmap_has(b, at + HEADER_BYTES, ret->slots * SLOT_BYTES))
		return false;
	if (!ret->is_chained)
		return true;
	/* The number of slots is even there. */
	chain = at + HEADER_BYTES + (ret->slots + 1u) / 2 * 2 * SLOT_BYTES;
	if (!perfmap_has(b, chain, CHAIN_BYTES))
		return false;
	ret->next = perfmap_u32_at(b.data + chain + CHAIN_UNWIND);
	return true;
}

/* Slots behind that of a code; UINT32_MAX: not known. */
static unsigned slots_behind(uint8_t op, uint8_t number)
{
	switch (op) {
	case PUSH_REGISTER:
	case ALLOC_SMALL:
	case SET_FP:
		return 0;
	case ALLOC_LARGE:
		return number ? 2 : 1;
	case SAVE_REGISTER:
	case SAVE_XMM128:
		return 1;
	case SAVE_REGISTER_FAR:
	case SAVE_XMM128_FAR:
	case SET_FP_LARGE:
		return 2;
	default: /* frames of the machine, and those of no version yet */
		return UINT32_MAX;
	}
}

/* What a code says, with the number behind it. False: it changes nothing that a row tells. */
static bool step_of(const struct info *info, uint8_t op, uint8_t number, uint32_t behind,
		    struct unwind_step *step)
{
	switch (op) {
	case PUSH_REGISTER:
		step->kind = UNWIND_STEP_PUSH;
		step->reg = number;
		step->bytes = 8;
		return true;
	case ALLOC_LARGE:
		step->kind = UNWIND_STEP_ALLOC;
		step->bytes = number ? behind : behind * 8;
		return true;
	case ALLOC_SMALL:
		step->kind = UNWIND_STEP_ALLOC;
		step->bytes = number * 8u + 8u;
		return true;
	case SET_FP:
	case SET_FP_LARGE:
		step->kind = UNWIND_STEP_SET_FP;
		step->reg = info->frame & 15;
		step->bytes = op == SET_FP ? (info->frame >> 4) * 16u : behind * 16;
		return true;
	case SAVE_REGISTER:
	case SAVE_REGISTER_FAR:
		step->kind = UNWIND_STEP_SAVE_FP;
		step->bytes = op == SAVE_REGISTER ? behind * 8 : behind;
		return number == UNWIND_REGISTER_FP;
	default:
		return false;
	}
}

static bool add_steps(const struct info *info, bool is_own, struct unwind_steps *steps)
{
	uint8_t before = info->prolog_bytes;

	for (unsigned i = 0; i < info->slots;) {
		const uint8_t *code = info->codes + (size_t)i * SLOT_BYTES;
		uint8_t op = code[1] & 15, number = code[1] >> 4;
		unsigned behind = slots_behind(op, number);
		struct unwind_step step = {.end = is_own ? code[0] : 0};
		uint32_t value = 0;

		if (behind >= info->slots - i || code[0] > before)
			return false;
		before = code[0];
		if (behind)
			value = behind == 1 ? perfmap_u16_at(code + SLOT_BYTES)
					    : perfmap_u32_at(code + SLOT_BYTES);
		i += 1 + behind;
		if (!step_of(info, op, number, value, &step))
			continue;
		/* A frame that another register holds is none of ours. */
		if (steps->cnt == UNWIND_STEPS_MAX ||
		    (step.kind == UNWIND_STEP_SET_FP && step.reg != UNWIND_REGISTER_FP))
			return false;
		steps->steps[steps->cnt++] = step;
	}
	return true;
}

int unwind_info_read(const struct unwind_memory *memory, uint32_t rva, struct perfmap_work *work,
		     struct unwind_steps *ret_steps)
{
	struct info info;

	ret_steps->cnt = 0;
	for (unsigned depth = 0; depth < UNWIND_CHAIN_MAX; depth++) {
		if (!read_info(memory, rva, &info))
			return -EBADMSG;
		if (!perfmap_work_add(work, HEADER_BYTES + SLOT_BYTES * (uint64_t)info.slots))
			return -E2BIG;
		if (!add_steps(&info, !depth, ret_steps))
			return -EBADMSG;
		if (!info.is_chained)
			return 0;
		rva = info.next;
	}
	return -EBADMSG;
}

/* --- frames ----------------------------------------------------------------------------------- */

void unwind_frame_do(struct unwind_frame *frame, const struct unwind_step *step)
{
	switch ((enum unwind_step_kind)step->kind) {
	case UNWIND_STEP_PUSH:
		frame->sp_bytes += 8;
		if (step->reg != UNWIND_REGISTER_FP)
			return;
		frame->is_saved = true;
		frame->saved_at = -frame->sp_bytes;
		return;
	case UNWIND_STEP_ALLOC:
		frame->sp_bytes += step->bytes;
		return;
	case UNWIND_STEP_SET_FP:
		frame->by_fp = true;
		frame->fp_bytes = frame->sp_bytes - step->bytes;
		return;
	case UNWIND_STEP_SAVE_FP:
		frame->is_saved = true;
		frame->saved_at = (int64_t)step->bytes - frame->sp_bytes;
		return;
	}
}

static bool fits(int64_t bytes)
{
	return bytes % 8 == 0 && bytes / 8 >= INT16_MIN && bytes / 8 <= INT16_MAX;
}

struct unwind_row unwind_frame_row(const struct unwind_frame *frame)
{
	int64_t bytes = frame->by_fp ? frame->fp_bytes : frame->sp_bytes;
	struct unwind_row row = {.cfa = frame->by_fp ? UNWIND_FP : UNWIND_SP};

	if (!fits(bytes) || bytes < 8)
		return (struct unwind_row){.cfa = UNWIND_INEXPRESSIBLE};
	row.cfa_offset = (int16_t)(bytes / 8);
	if (!frame->is_saved)
		return row;
	if (fits(frame->saved_at) && frame->saved_at < 0) {
		row.fp = UNWIND_FP_SAVED;
		row.fp_offset = (int16_t)(frame->saved_at / 8);
	} else {
		row.fp = UNWIND_FP_LOST;
	}
	return row;
}
