/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_UNWIND_STEP_H
#define HOTRUN_UNWIND_STEP_H
/*
 * One step of a stack walk, from a frame to its caller: the same code in the kernel and in its twin
 * on the user side, where it is tested. The includer provides events.h and
 *
 *	static long stack_read(void *to, __u32 bytes, __u64 at); 0 = read
 *
 * Rows and memory are hostile: a step either leads up the stack or ends the walk. Only the frame of
 * a signal may lie elsewhere (on a stack of its own), and of those a walk takes UNWIND_SIGNALS_MAX.
 */

#define UNWIND_SIGNALS_MAX 8

struct unwind_frame {
	__u64 ip, sp, fp;
	__u32 is_caller; /* ip is a return address, or as one: its code stands before it */
	__u32 signals;	 /* taken so far */
};

/* Processes have no code beyond. */
#define UNWIND_ADDRESS_BITS 47

/* Where a frame's code is looked up: a call may be the last instruction of its function. */
static inline __u64 unwind_place(const struct unwind_frame *f)
{
	return f->is_caller ? f->ip - 1 : f->ip;
}

static inline int unwind_is_code(__u64 ip)
{
	return ip && !(ip >> UNWIND_ADDRESS_BITS);
}

/*
 * What a signal interrupted, out of the kernel's frame of it. That may have been the first
 * instruction of its function: its address is given as that of a return behind its first byte, so
 * that it is looked up like those of all callers.
 */
static inline enum stack_end unwind_signal(struct unwind_frame *f, const struct unwind_row *row)
{
	__u64 at = f->sp + (__s64)row->cfa_offset * 8, fp;
	__u64 words[2]; /* stack pointer, address */

	if (++f->signals > UNWIND_SIGNALS_MAX)
		return STACK_END_ASTRAY;
	if (stack_read(words, sizeof(words), at) || stack_read(&fp, sizeof(fp), at - 40))
		return STACK_END_UNREADABLE;
	if (!unwind_is_code(words[1]))
		return STACK_END_ASTRAY;
	f->sp = words[0];
	f->ip = words[1] + 1;
	f->fp = fp;
	f->is_caller = 1;
	return STACK_END_UNTOLD;
}

/* From the CFA to the caller's frame. */
static inline enum stack_end unwind_from_cfa(struct unwind_frame *f, const struct unwind_row *row,
					     __u64 cfa)
{
	__u64 words[2]; /* what lies below the return address, and that */
	__u64 fp;
	bool is_pair = row->fp == UNWIND_FP_SAVED && row->fp_offset == -2;

	if (cfa <= f->sp || cfa & 7)
		return STACK_END_ASTRAY;
	/* Only where it is needed: below the stack pointer memory may not be there. */
	if (is_pair ? stack_read(words, sizeof(words), cfa - 16)
		    : stack_read(&words[1], sizeof(words[1]), cfa - 8))
		return STACK_END_UNREADABLE;
	if (!unwind_is_code(words[1]))
		return STACK_END_ASTRAY;
	switch (row->fp) {
	case UNWIND_FP_SAVED:
		if (is_pair)
			fp = words[0];
		else if (stack_read(&fp, sizeof(fp), cfa + (__s64)row->fp_offset * 8))
			return STACK_END_UNREADABLE;
		break;
	case UNWIND_FP_AT_FP:
		if (stack_read(&fp, sizeof(fp), f->fp + (__s64)row->fp_offset * 8))
			return STACK_END_UNREADABLE;
		break;
	case UNWIND_FP_LOST:
		fp = 0;
		break;
	default:
		fp = f->fp;
	}
	f->fp = fp;
	f->sp = cfa;
	f->ip = words[1];
	f->is_caller = 1;
	return STACK_END_UNTOLD;
}

/* STACK_END_UNTOLD: the frame is that of the caller now; else how the walk ends. */
static inline enum stack_end unwind_by_row(struct unwind_frame *f, const struct unwind_row *row)
{
	__u64 cfa;

	switch (row->cfa) {
	case UNWIND_SP:
		cfa = f->sp + (__s64)row->cfa_offset * 8;
		break;
	case UNWIND_FP:
		cfa = f->fp + (__s64)row->cfa_offset * 8;
		break;
	case UNWIND_FP_DEREF:
		if (stack_read(&cfa, sizeof(cfa), f->fp + (__s64)row->cfa_offset * 8))
			return STACK_END_UNREADABLE;
		break;
	case UNWIND_SP_DEREF:
		if (stack_read(&cfa, sizeof(cfa), f->sp + (__s64)row->cfa_offset * 8))
			return STACK_END_UNREADABLE;
		break;
	case UNWIND_PLT:
		cfa = f->sp + ((unwind_place(f) & 15) >= (__u64)row->cfa_offset ? 16 : 8);
		break;
	case UNWIND_SIGNAL:
		return unwind_signal(f, row);
	case UNWIND_END:
		return STACK_END_ROOT;
	case UNWIND_INEXPRESSIBLE:
		return STACK_END_INEXPRESSIBLE;
	default:
		return STACK_END_NO_TABLE;
	}
	return unwind_from_cfa(f, row, cfa);
}

/* The same along the frame pointer, of code of which nothing else is known. */
static inline enum stack_end unwind_by_fp(struct unwind_frame *f)
{
	__u64 words[2]; /* the caller's frame pointer, and the return address */

	if (f->fp < f->sp || f->fp & 7)
		return STACK_END_ASTRAY;
	if (stack_read(words, sizeof(words), f->fp))
		return STACK_END_UNREADABLE;
	if (!unwind_is_code(words[1]))
		return STACK_END_ASTRAY;
	f->sp = f->fp + 16;
	f->fp = words[0];
	f->ip = words[1];
	f->is_caller = 1;
	return STACK_END_UNTOLD;
}
#endif
