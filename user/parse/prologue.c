/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over the instructions follows the distance from the stack pointer up to the CFA. That
 * holds on every path, not only on the one from top to bottom, because of what RyuJIT does, and of
 * what is checked:
 *  - A body has one state, that at the prologue's end: arguments on the stack have their place in
 *    the frame. So what follows a jump, a return or a trap has the state of before the epilogue.
 *    Checked: all epilogues begin in that state; each return finds the return address where the
 *    state says that it is, and the caller's frame pointer restored; nothing jumps out of an
 *    epilogue, nor from one state into another.
 *  - Bodies push nothing but constants, and move the stack pointer by multiples of 16, both to
 *    allocate on the stack. So what begins otherwise, where nothing before leads to, is a funclet:
 *    a function of its own (of an exception's handler), of which the same is true.
 *  - The frame pointer points at the caller's saved one, and is then left alone.
 * Where a check fails, nothing is said of that function and of what lies behind it.
 */
#include "parse/prologue.h"

#include <limits.h>
#include <string.h>

#include "parse/x86.h"

/* No stack is that large; sums of a few of them do not overflow. */
#define HEIGHT_MAX (1 << 28)

/*
 * "mov rax, [rbp]; push rax": a method that takes over from a slower version of itself, in the
 * middle of a loop. The frame of that predecessor stays, as a part of its own: right below the
 * return address the caller's frame pointer, below that the registers that it saves itself.
 */
static const uint8_t takes_over[] = {0x48, 0x8b, 0x45, 0x00, 0x50};
#define PREDECESSOR_FP	  16
#define PREDECESSOR_SAVES 24

struct state {
	uint8_t cfa; /* UNWIND_SP, UNWIND_FP or UNWIND_UNKNOWN */
	bool is_height_known;
	bool is_fp_saved;
	int32_t height; /* CFA - stack pointer */
	int32_t base;	/* CFA - frame pointer, if it is by that */
	int32_t saved;	/* CFA - where the caller's frame pointer is saved */
};

struct function {
	size_t start, set_up; /* set_up: behind the last instruction that changed its state */
	struct state state, body;
	bool is_body_known; /* an epilogue was seen */
	bool is_epilogue;
	bool allocates;	      /* on the stack, while it runs */
	int32_t height;	      /* with a frame pointer: when it was set */
	uint64_t jumps_until; /* the farthest goal of its jumps */
	bool has_predecessor; /* takes_over */
	uint8_t probe;	      /* "lea PROBE, [rsp - N]; call; mov rsp, PROBE" */
	unsigned probe_insns; /* that it holds for */
	int32_t probe_height;
};

struct walk {
	const uint8_t *code;
	size_t len, pos, next;
	uint64_t start, size;
	struct cfi_row *rows; /* NULL: none are wanted */
	size_t cnt, max;
	struct function f;
	bool is_over; /* nothing leads from what lies before to what comes next */
	bool is_stopped;

	/* By how much the first epilogue, and the first register saved, are lower than they should
	 * be: the height of the predecessor's frame. 0: there is none. */
	int32_t by_epilogue, by_save;
	bool is_fp_popped; /* though this method did not save it */
};

/* --- rows ------------------------------------------------------------------------------------- */

static bool fits(int32_t offset)
{
	return offset > 0 && offset % 8 == 0 && offset / 8 <= INT16_MAX;
}

static struct unwind_row row_of(const struct state *s)
{
	struct unwind_row row = {.cfa = s->cfa};
	int32_t offset = s->cfa == UNWIND_FP ? s->base : s->height;

	if (s->cfa == UNWIND_UNKNOWN)
		return row;
	if (!fits(offset) || (s->is_fp_saved && !fits(s->saved)))
		return (struct unwind_row){.cfa = UNWIND_INEXPRESSIBLE};
	row.cfa_offset = (int16_t)(offset / 8);
	if (s->is_fp_saved) {
		row.fp = UNWIND_FP_SAVED;
		row.fp_offset = (int16_t) - (s->saved / 8);
	}
	return row;
}

static bool is_same(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->cfa == b->cfa && a->fp == b->fp && a->cfa_offset == b->cfa_offset &&
	       a->fp_offset == b->fp_offset;
}

/* Nothing is said of what lies at pos and behind it. */
static void stop(struct walk *w, size_t pos)
{
	w->is_stopped = true;
	while (w->cnt && w->rows[w->cnt - 1].vaddr >= w->start + pos)
		w->cnt--;
	if (w->rows && (!w->cnt || w->rows[w->cnt - 1].row.cfa != UNWIND_UNKNOWN))
		w->rows[w->cnt++] = (struct cfi_row){.vaddr = w->start + pos};
}

/* A check failed. */
static void refuse(struct walk *w)
{
	stop(w, w->f.start);
}

/* The state at pos. The last place is kept for stop(). */
static void put_row(struct walk *w)
{
	struct unwind_row row = row_of(&w->f.state);

	if (!w->rows || (w->cnt && is_same(&w->rows[w->cnt - 1].row, &row)))
		return;
	if (w->cnt + 1 < w->max)
		w->rows[w->cnt++] = (struct cfi_row){w->start + w->pos, row};
	else
		stop(w, w->pos);
}

/* --- states ----------------------------------------------------------------------------------- */

static void begin_function(struct walk *w)
{
	if (w->pos && w->f.jumps_until >= w->pos) {
		refuse(w);
		return;
	}
	w->f = (struct function){
		.start = w->pos,
		.set_up = w->pos,
		.state = {.cfa = UNWIND_SP, .is_height_known = true, .height = 8},
	};
}

/* A state that code before jumps over would not hold at the jump's goal. */
static void change_set_up(struct walk *w)
{
	if (w->f.jumps_until > w->pos)
		refuse(w);
	w->f.set_up = w->next;
}

static void begin_epilogue(struct walk *w)
{
	struct function *f = &w->f;
	struct unwind_row row = row_of(&f->state), body = row_of(&f->body);

	if (f->is_epilogue)
		return;
	if (f->is_body_known && !is_same(&row, &body))
		refuse(w);
	f->body = f->state;
	f->is_body_known = f->is_epilogue = true;
}

/* The stack pointer goes down by some bytes, or up by less than 0. */
static void move_sp(struct walk *w, int64_t bytes)
{
	struct state *s = &w->f.state;
	int64_t height = s->height + bytes;

	if (s->cfa == UNWIND_FP && bytes > 0) {
		w->f.allocates = true;
		s->is_height_known = false;
	}
	if (!s->is_height_known || s->cfa == UNWIND_UNKNOWN)
		return;
	if (height > HEIGHT_MAX || height < -HEIGHT_MAX) {
		refuse(w);
		return;
	}
	if (s->cfa == UNWIND_SP && bytes < 0)
		begin_epilogue(w);
	else if (s->cfa == UNWIND_SP && bytes > 0)
		change_set_up(w);
	s->height = (int32_t)height;
}

/* What it does to the stack pointer is not known. */
static void lose_sp(struct walk *w)
{
	if (w->f.state.cfa == UNWIND_SP)
		refuse(w);
	w->f.state.is_height_known = false;
	w->f.allocates = true;
}

/* The frame pointer gets another value: nobody's business once the caller's is saved. */
static void lose_fp(struct walk *w)
{
	const struct state *s = &w->f.state;

	if (s->cfa == UNWIND_FP || (s->cfa == UNWIND_SP && !s->is_fp_saved))
		refuse(w);
}

/* The frame pointer := stack pointer + disp. */
static void set_fp(struct walk *w, int32_t disp)
{
	struct state *s = &w->f.state;
	int64_t base = (int64_t)s->height - disp;

	if (s->cfa != UNWIND_SP || !s->is_fp_saved || w->f.is_epilogue ||
	    (base != s->saved && !w->f.has_predecessor) || base < 0 || base > HEIGHT_MAX) {
		lose_fp(w);
		return;
	}
	change_set_up(w);
	s->cfa = UNWIND_FP;
	s->base = (int32_t)base;
	w->f.height = s->height;
}

/* The stack pointer := frame pointer + disp. */
static void set_sp_by_fp(struct walk *w, int32_t disp)
{
	struct state *s = &w->f.state;
	int64_t height = (int64_t)s->base - disp;

	if (s->cfa != UNWIND_FP || height > HEIGHT_MAX || height < -HEIGHT_MAX) {
		lose_sp(w);
		return;
	}
	s->height = (int32_t)height;
	s->is_height_known = true;
}

static void push(struct walk *w, uint8_t reg)
{
	struct state *s = &w->f.state;

	move_sp(w, 8);
	if (reg == X86_FP && s->cfa == UNWIND_SP && !s->is_fp_saved && !w->f.is_epilogue) {
		s->is_fp_saved = true;
		s->saved = s->height;
	}
}

static void pop_fp(struct walk *w)
{
	struct state *s = &w->f.state;

	if (s->cfa == UNWIND_UNKNOWN)
		return;
	if (w->f.has_predecessor && !w->by_epilogue && s->is_height_known)
		w->by_epilogue = s->saved - s->height;
	if (!s->is_fp_saved && !w->f.start)
		w->is_fp_popped = true;
	if (!s->is_fp_saved || (s->is_height_known && s->height != s->saved)) {
		refuse(w);
		return;
	}
	/* Where allocations hide the height, only the saved one can be meant. */
	begin_epilogue(w);
	s->cfa = UNWIND_SP;
	s->height = s->saved - 8;
	s->is_height_known = true;
	s->is_fp_saved = false;
}

static void pop(struct walk *w, uint8_t reg)
{
	if (reg == X86_FP)
		pop_fp(w);
	else if (reg == X86_SP)
		lose_sp(w);
	else
		move_sp(w, -8);
}

/* --- jumps ------------------------------------------------------------------------------------ */

/* What follows is a block of the body, or the next function. */
static void end_block(struct walk *w)
{
	struct function *f = &w->f;

	if (f->is_epilogue)
		f->state = f->body;
	f->is_epilogue = false;
	if (f->state.cfa == UNWIND_FP) {
		f->state.height = f->height;
		f->state.is_height_known = !f->allocates;
	}
	w->is_over = true;
}

/* To the caller, or to whom it shall return instead. */
static void leave(struct walk *w)
{
	const struct state *s = &w->f.state;

	if (s->cfa == UNWIND_FP ||
	    (s->cfa == UNWIND_SP && (!s->is_height_known || s->height != 8 || s->is_fp_saved)))
		refuse(w);
}

static void jump(struct walk *w, int32_t by)
{
	struct function *f = &w->f;
	uint64_t to = w->next + (uint64_t)(int64_t)by;

	if (to >= w->size || to == 0)
		leave(w);
	else if (f->is_epilogue || to < f->set_up)
		refuse(w);
	else if (to > f->jumps_until)
		f->jumps_until = to;
}

/* --- instructions ----------------------------------------------------------------------------- */

static bool is_push(const struct x86_insn *i)
{
	return i->map == X86_ONE_BYTE && i->op >> 3 == 0x50 >> 3;
}

/* "add" or "sub" of a constant and the stack pointer. Returns by how much it goes down. */
static bool is_sp_moved(const struct x86_insn *i, int64_t *ret_bytes)
{
	if (i->map != X86_ONE_BYTE || (i->op != 0x81 && i->op != 0x83) || i->is_memory ||
	    i->rm != X86_SP || !i->is_wide || ((i->reg & 7) != 0 && (i->reg & 7) != 5))
		return false;
	*ret_bytes = (i->reg & 7) == 0 ? -(int64_t)i->imm : i->imm;
	return true;
}

static bool is_function_start(const struct x86_insn *i)
{
	int64_t bytes;

	return is_push(i) || (is_sp_moved(i, &bytes) && bytes > 0 && bytes % 16 == 8);
}

static bool is_padding(const struct x86_insn *i)
{
	return (i->map == X86_ONE_BYTE && i->op == 0x90) || (i->map == X86_0F && i->op == 0x1f);
}

static void load_address(struct walk *w, const struct x86_insn *i)
{
	struct function *f = &w->f;

	if (i->reg == X86_SP && i->rm == X86_SP && i->is_wide) {
		move_sp(w, -(int64_t)i->disp);
	} else if (i->reg == X86_SP && i->rm == X86_FP && i->is_wide) {
		set_sp_by_fp(w, i->disp);
	} else if (i->reg == X86_SP) {
		lose_sp(w);
	} else if (i->reg == X86_FP && i->rm == X86_SP && i->is_wide) {
		set_fp(w, i->disp);
	} else if (i->reg == X86_FP) {
		lose_fp(w);
	} else if (i->rm == X86_SP && i->disp < 0 && i->disp > -HEIGHT_MAX) {
		f->probe = i->reg;
		f->probe_insns = 3; /* this one, the call and the one that moves the pointer */
		f->probe_height = f->state.height - i->disp;
	}
}

/* Between registers. */
static void move(struct walk *w, uint8_t to, uint8_t from)
{
	struct function *f = &w->f;

	if (to == X86_SP && from == X86_FP)
		set_sp_by_fp(w, 0);
	else if (to == X86_SP && f->probe_insns && from == f->probe)
		move_sp(w, (int64_t)f->probe_height - f->state.height);
	else if (to == X86_SP)
		lose_sp(w);
	else if (to == X86_FP && from == X86_SP)
		set_fp(w, 0);
	else if (to == X86_FP)
		lose_fp(w);
}

/* What a method that takes over saves first. */
static void see_save(struct walk *w, const struct x86_insn *i)
{
	const struct function *f = &w->f;
	bool is_callee_saved = i->reg == X86_BX || (i->reg >= 12 && i->reg <= 15);

	if (f->has_predecessor && f->state.cfa == UNWIND_SP && f->set_up == w->pos && i->is_wide &&
	    i->rm == X86_SP && is_callee_saved && i->disp > 0 && i->disp < HEIGHT_MAX)
		w->by_save = i->disp + PREDECESSOR_SAVES - f->state.height;
}

/* Those of the opcodes of one byte. */
static uint8_t written_by_one_byte(const struct x86_insn *i)
{
	uint8_t group = i->reg & 7, rm = i->is_memory ? X86_NO_REGISTER : i->rm;

	switch (i->op) {
	case 0x63: /* movsxd, imul, mov */
	case 0x69:
	case 0x6b:
	case 0x8b:
		return i->reg;
	case 0x81: /* all but cmp */
	case 0x83:
		return group != 7 ? rm : X86_NO_REGISTER;
	case 0x87: /* xchg, shifts, mov */
	case 0x91 ... 0x97:
	case 0xb8 ... 0xbf:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3:
		return rm;
	case 0xf7: /* not, neg */
		return group == 2 || group == 3 ? rm : X86_NO_REGISTER;
	case 0xff: /* inc, dec */
		return group < 2 ? rm : X86_NO_REGISTER;
	default: /* arithmetic but cmp: the register is the goal, or the source */
		if (i->op >= 0x38)
			return X86_NO_REGISTER;
		return (i->op & 7) == 3 ? i->reg : (i->op & 7) == 1 ? rm : X86_NO_REGISTER;
	}
}

/* The register that gets a new value, among the instructions that no case of step() knows. */
static uint8_t written(const struct x86_insn *i)
{
	if (i->map == X86_ONE_BYTE)
		return written_by_one_byte(i);
	switch (i->op) {
	case 0x40 ... 0x4f: /* cmov, imul, movzx, popcnt, bsf, bsr, movsx */
	case 0xaf:
	case 0xb6 ... 0xb8:
	case 0xbc ... 0xbf:
		return i->reg;
	case 0xc8 ... 0xcf: /* bswap */
		return i->rm;
	default:
		return X86_NO_REGISTER;
	}
}

static void step_other(struct walk *w, const struct x86_insn *i)
{
	uint8_t reg = written(i);
	int64_t bytes;

	if (is_sp_moved(i, &bytes))
		move_sp(w, bytes);
	else if (reg == X86_SP)
		lose_sp(w);
	else if (reg == X86_FP)
		lose_fp(w);
}

/* Of the group whose opcode is 0xff. */
static void step_group(struct walk *w, const struct x86_insn *i)
{
	switch (i->reg & 7) {
	case 4: /* a jump to where memory or a register says; in a body, to its other blocks */
		if (w->f.is_epilogue)
			leave(w);
		end_block(w);
		return;
	case 6:
		move_sp(w, 8);
		return;
	default:
		step_other(w, i);
	}
}

static void step_0f(struct walk *w, const struct x86_insn *i)
{
	if (i->op >> 4 == 8)
		jump(w, i->imm);
	else if (i->op == 0x0b) /* ud2 */
		end_block(w);
	else
		step_other(w, i);
}

static void step_one_byte(struct walk *w, const struct x86_insn *i)
{
	uint8_t high = i->op >> 3;

	if (high == 0x50 >> 3) {
		push(w, i->rm);
		return;
	}
	if (high == 0x58 >> 3) {
		pop(w, i->rm);
		return;
	}
	if (i->op >> 4 == 7) {
		jump(w, i->imm);
		return;
	}
	switch (i->op) {
	case 0x68: /* push of a constant */
	case 0x6a:
		move_sp(w, 8);
		return;
	case 0x89:
		if (i->is_memory)
			see_save(w, i);
		else
			move(w, i->rm, i->reg);
		return;
	case 0x8b:
		if (i->is_memory)
			step_other(w, i);
		else
			move(w, i->reg, i->rm);
		return;
	case 0x8d:
		load_address(w, i);
		return;
	case 0x8f:
		pop(w, i->is_memory ? X86_NO_REGISTER : i->rm);
		return;
	case 0xc3:
		leave(w);
		end_block(w);
		return;
	case 0xc9: /* leave */
		set_sp_by_fp(w, 0);
		pop_fp(w);
		return;
	case 0xcc: /* int3 */
		end_block(w);
		return;
	case 0xe0: /* loops, and jumps if a counter is zero */
	case 0xe1:
	case 0xe2:
	case 0xe3:
		jump(w, i->imm);
		return;
	case 0xe9:
	case 0xeb:
		jump(w, i->imm);
		end_block(w);
		return;
	case 0xff:
		step_group(w, i);
		return;
	default:
		step_other(w, i);
	}
}

static void step(struct walk *w, const struct x86_insn *i)
{
	if (w->is_over && is_function_start(i))
		begin_function(w);
	if (!is_padding(i))
		w->is_over = false;
	if (!w->is_stopped)
		put_row(w);
	if (w->is_stopped)
		return;
	if (i->map == X86_ONE_BYTE)
		step_one_byte(w, i);
	else if (i->map == X86_0F)
		step_0f(w, i);
	if (w->f.probe_insns)
		w->f.probe_insns--;
}

static void walk(struct walk *w)
{
	struct x86_insn insn;

	while (w->pos < w->len && !w->is_stopped) {
		if (!x86_decode(w->code + w->pos, w->len - w->pos, &insn)) {
			stop(w, w->pos);
			return;
		}
		w->next = w->pos + insn.len;
		step(w, &insn);
		w->pos = w->next;
	}
}

/* --- methods ---------------------------------------------------------------------------------- */

/* At the start of a method that takes over. How high the predecessor's frame is tells its first
 * epilogue, which removes both; in endless loops, where it saves registers. */
static struct state state_after_predecessor(const struct walk *of)
{
	struct state state = {.cfa = UNWIND_SP,
			      .is_height_known = true,
			      .is_fp_saved = true,
			      .saved = PREDECESSOR_FP};
	struct walk w = *of;

	w.rows = NULL;
	w.f = (struct function){.state = state, .has_predecessor = true};
	walk(&w);
	state.height = w.by_epilogue ? w.by_epilogue : w.by_save;
	if (!fits(state.height) || state.height < PREDECESSOR_FP ||
	    (w.by_save && w.by_save != state.height))
		state.cfa = UNWIND_UNKNOWN;
	return state;
}

size_t prologue_rows(const uint8_t *code, size_t len, uint64_t start, uint64_t size,
		     struct cfi_row *ret_rows, size_t max)
{
	struct walk empty = {.code = code, .start = start, .size = size, .max = max}, w;
	bool has_predecessor;

	if (!size || !max)
		return 0;
	empty.rows = ret_rows;
	empty.len = len < PROLOGUE_BYTES_MAX ? len : PROLOGUE_BYTES_MAX;
	empty.len = empty.len < size ? empty.len : (size_t)size;
	begin_function(&empty);
	has_predecessor =
		empty.len > sizeof(takes_over) && !memcmp(code, takes_over, sizeof(takes_over));
	w = empty;
	if (!has_predecessor)
		walk(&w);
	if (has_predecessor || w.is_fp_popped) {
		w = empty;
		w.f.state = state_after_predecessor(&empty);
		w.f.has_predecessor = true;
		walk(&w);
	}
	if (!w.is_stopped && w.pos < size)
		stop(&w, w.pos);
	return w.cnt;
}
