/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "parse/dwarf.h"

/* DWARF's numbers of registers, AMD64. */
#define REGISTER_FP 6
#define REGISTER_SP 7
#define REGISTER_RA 16

#define STATES_MAX    16u /* remembered at a time; compilers need one or two */
#define CIES_CACHED   16u
#define FDE_BYTES_MAX (1u << 20)
/* Between functions that are aligned there is less than this, which nobody executes. */
#define PADDING_BYTES 16u

/* DWARF 5, 7.24: the high two bits, or the whole byte. */
enum {
	CFA_ADVANCE = 1,
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

/* How a caller's register is found. */
enum where { AS_IT_IS, AT_CFA, AT_FP, AT_SP, NOWHERE, SOMEWHERE };
struct place {
	enum where where;
	int64_t offset;
};

enum cfa_kind { BY_REGISTER, BY_DEREF, BY_PLT, BY_OTHER };
struct state {
	enum cfa_kind cfa;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct place fp, ra;
};

struct cie {
	uint64_t offset; /* in the section; UINT64_MAX: none is here */
	bool understood, has_data;
	uint8_t encoding;
	uint64_t code_align;
	int64_t data_align;
	struct state state;
};

struct entry {
	uint64_t start, end;
	size_t first, cnt; /* rows */
};

struct compiler {
	const struct unwind_bytes *section;
	bool is_debug;
	struct perfmap_work *work;
	struct cie cies[CIES_CACHED];
	struct cfi_row *rows;
	size_t rows_cnt, rows_cap;
	struct entry *entries;
	size_t entries_cnt, entries_cap;
	size_t left_out;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* A product of hostile numbers wraps. */
static int64_t scaled(uint64_t value, int64_t align)
{
	return (int64_t)(value * (uint64_t)align);
}

static uint64_t vaddr_of(const struct compiler *c, const uint8_t *p)
{
	return c->section->vaddr + (uint64_t)(p - c->section->data);
}

/* An address as the CIE says they are written. */
static uint64_t take_address(struct compiler *c, struct dwarf_reader *r, uint8_t encoding)
{
	uint64_t base = (encoding & DWARF_RELATIVE) == DWARF_PCREL ? vaddr_of(c, r->p) : 0;
	size_t bytes = dwarf_address_bytes(encoding);
	uint64_t value = dwarf_take(r, bytes);

	if ((encoding & DWARF_FORMAT) == DWARF_SDATA4)
		value = (uint64_t)(int64_t)(int32_t)value;
	if (!bytes || encoding & DWARF_INDIRECT ||
	    ((encoding & DWARF_RELATIVE) && (encoding & DWARF_RELATIVE) != DWARF_PCREL))
		r->is_bad = true;
	return base + value;
}

/* --- expressions ------------------------------------------------------------------------------ */

/* "register + offset", and nothing but what follows is read. */
static bool is_register(struct dwarf_reader *r, uint64_t *ret_register, int64_t *ret_offset)
{
	uint8_t op = (uint8_t)dwarf_take(r, 1);

	if (op < OP_BREG0 || op > OP_BREG0 + 31)
		return false;
	*ret_register = op - OP_BREG0;
	*ret_offset = dwarf_sleb(r);
	return !r->is_bad;
}

/* rsp + 8 + ((rip & 15) >= N) * 8, as linkers write it for the PLT. Returns N, 0 = it is not
 * that. */
static uint8_t plt_threshold(struct dwarf_reader r)
{
	static const uint8_t before[] = {OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t after[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};

	if ((size_t)(r.end - r.p) != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(r.p, before, sizeof(before)) ||
	    memcmp(r.p + sizeof(before) + 1, after, sizeof(after)))
		return 0;
	r.p += sizeof(before);
	return *r.p > OP_LIT0 && *r.p < OP_LIT0 + 16 ? (uint8_t)(*r.p - OP_LIT0) : 0;
}

static struct dwarf_reader take_block(struct dwarf_reader *r)
{
	uint64_t len = dwarf_uleb(r);
	struct dwarf_reader block = {r->p, r->p, false};

	if (len > (uint64_t)(r->end - r->p)) {
		r->is_bad = true;
		len = 0;
	}
	block.end += len;
	r->p += len;
	return block;
}

static void define_cfa(struct state *state, struct dwarf_reader block)
{
	uint8_t threshold = plt_threshold(block);

	state->cfa = BY_OTHER;
	if (threshold) {
		state->cfa = BY_PLT;
		state->cfa_offset = threshold;
	} else if (is_register(&block, &state->cfa_register, &state->cfa_offset)) {
		if (block.p == block.end)
			state->cfa = BY_REGISTER;
		else if (block.end - block.p == 1 && *block.p == OP_DEREF)
			state->cfa = BY_DEREF;
	}
}

static struct place place_of(struct dwarf_reader block)
{
	struct place place = {SOMEWHERE, 0};
	uint64_t reg;

	if (!is_register(&block, &reg, &place.offset) || block.p != block.end)
		return place;
	place.where = reg == REGISTER_FP ? AT_FP : reg == REGISTER_SP ? AT_SP : SOMEWHERE;
	return place;
}

/* --- rows ------------------------------------------------------------------------------------- */

static bool fits(int64_t offset)
{
	return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX;
}

static bool is_signal_frame(const struct state *s)
{
	return s->cfa == BY_DEREF && s->cfa_register == REGISTER_SP && s->ra.where == AT_SP &&
	       s->fp.where == AT_SP && fits(s->cfa_offset) &&
	       s->ra.offset - s->cfa_offset == CFI_SIGNAL_RA - CFI_SIGNAL_SP &&
	       s->fp.offset - s->cfa_offset == CFI_SIGNAL_FP - CFI_SIGNAL_SP;
}

static enum unwind_cfa cfa_of(const struct state *s)
{
	bool by_fp = s->cfa_register == REGISTER_FP, by_sp = s->cfa_register == REGISTER_SP;

	if (s->ra.where == NOWHERE)
		return UNWIND_END;
	if (is_signal_frame(s))
		return UNWIND_SIGNAL;
	if (s->ra.where != AT_CFA || s->ra.offset != -8)
		return UNWIND_INEXPRESSIBLE;
	if (s->cfa == BY_PLT)
		return UNWIND_PLT;
	if (!fits(s->cfa_offset) || s->cfa == BY_OTHER || !(by_fp || by_sp))
		return UNWIND_INEXPRESSIBLE;
	if (s->cfa == BY_DEREF)
		return by_fp ? UNWIND_FP_DEREF : UNWIND_SP_DEREF;
	return by_fp ? UNWIND_FP : UNWIND_SP;
}

static struct unwind_row row_of(const struct state *s)
{
	struct unwind_row row = {.cfa = (uint8_t)cfa_of(s)};

	if (row.cfa < UNWIND_SP)
		return row;
	row.cfa_offset = (int16_t)(row.cfa == UNWIND_PLT ? s->cfa_offset : s->cfa_offset / 8);
	if (row.cfa == UNWIND_SIGNAL || s->fp.where == AS_IT_IS)
		return row;
	if ((s->fp.where == AT_CFA || s->fp.where == AT_FP) && fits(s->fp.offset)) {
		row.fp = s->fp.where == AT_CFA ? UNWIND_FP_SAVED : UNWIND_FP_AT_FP;
		row.fp_offset = (int16_t)(s->fp.offset / 8);
	} else {
		row.fp = UNWIND_FP_LOST;
	}
	return row;
}

static bool is_same(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->cfa == b->cfa && a->fp == b->fp && a->cfa_offset == b->cfa_offset &&
	       a->fp_offset == b->fp_offset;
}

/* The state holds from vaddr on. */
static int put_row(struct compiler *c, const struct entry *entry, uint64_t vaddr,
		   const struct state *state)
{
	struct unwind_row row = row_of(state);
	struct cfi_row *last = c->rows_cnt > entry->first ? &c->rows[c->rows_cnt - 1] : NULL;

	if (last && is_same(&last->row, &row))
		return 0;
	if (last && last->vaddr == vaddr) {
		last->row = row;
		return 0;
	}
	if (c->rows_cnt >= CFI_ROWS_MAX)
		return -E2BIG;
	if (GROW(c->rows, c->rows_cnt, c->rows_cap))
		return -ENOMEM;
	c->rows[c->rows_cnt++] = (struct cfi_row){vaddr, row};
	return 0;
}

/* --- programs of entries ---------------------------------------------------------------------- */

struct program {
	struct compiler *c;
	const struct cie *cie;
	struct entry *entry; /* NULL: the CIE's own program, which makes no rows */
	uint64_t vaddr;
	struct state state, remembered[STATES_MAX];
	unsigned remembered_cnt;
};

static struct place *place_for(struct program *p, uint64_t reg)
{
	return reg == REGISTER_FP ? &p->state.fp : reg == REGISTER_RA ? &p->state.ra : NULL;
}

static void set_place(struct program *p, uint64_t reg, enum where where, int64_t offset)
{
	struct place *place = place_for(p, reg);

	if (place)
		*place = (struct place){where, offset};
}

static void restore(struct program *p, uint64_t reg)
{
	if (reg == REGISTER_FP)
		p->state.fp = p->cie->state.fp;
	else if (reg == REGISTER_RA)
		p->state.ra = p->cie->state.ra;
}

static int advance(struct program *p, uint64_t vaddr)
{
	int err = 0;

	if (p->entry && vaddr > p->vaddr)
		err = put_row(p->c, p->entry, p->vaddr, &p->state);
	if (vaddr > p->vaddr)
		p->vaddr = vaddr;
	return err;
}

static void define_register(struct program *p, uint64_t reg, int64_t offset)
{
	p->state.cfa = BY_REGISTER;
	p->state.cfa_register = reg;
	p->state.cfa_offset = offset;
}

/* An expression cannot be moved; where it was one, a lone register or offset makes no sense. */
static void change_cfa(struct program *p, uint64_t reg, int64_t offset)
{
	if (p->state.cfa == BY_REGISTER)
		define_register(p, reg, offset);
	else
		p->state.cfa = BY_OTHER;
}

static void remember(struct program *p, struct dwarf_reader *r)
{
	if (p->remembered_cnt == STATES_MAX)
		r->is_bad = true;
	else
		p->remembered[p->remembered_cnt++] = p->state;
}

static void recall(struct program *p, struct dwarf_reader *r)
{
	if (p->remembered_cnt)
		p->state = p->remembered[--p->remembered_cnt];
	else
		r->is_bad = true;
}

static void define(struct program *p, struct dwarf_reader *r, uint8_t op)
{
	int64_t align = p->cie->data_align;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = dwarf_uleb(r);
		define_register(p, reg, (int64_t)dwarf_uleb(r));
		return;
	case CFA_DEF_CFA_SF:
		reg = dwarf_uleb(r);
		define_register(p, reg, scaled((uint64_t)dwarf_sleb(r), align));
		return;
	case CFA_DEF_CFA_REGISTER:
		change_cfa(p, dwarf_uleb(r), p->state.cfa_offset);
		return;
	case CFA_DEF_CFA_OFFSET:
		change_cfa(p, p->state.cfa_register, (int64_t)dwarf_uleb(r));
		return;
	case CFA_DEF_CFA_OFFSET_SF:
		change_cfa(p, p->state.cfa_register, scaled((uint64_t)dwarf_sleb(r), align));
		return;
	default:
		define_cfa(&p->state, take_block(r));
	}
}

/* What an instruction says of one register. */
static void place_register(struct program *p, struct dwarf_reader *r, uint8_t op)
{
	int64_t align = p->cie->data_align;
	uint64_t reg = dwarf_uleb(r);
	struct place place;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_place(p, reg, AT_CFA, scaled(dwarf_uleb(r), align));
		return;
	case CFA_OFFSET_EXTENDED_SF:
		set_place(p, reg, AT_CFA, scaled((uint64_t)dwarf_sleb(r), align));
		return;
	case CFA_GNU_NEGATIVE_OFFSET:
		set_place(p, reg, AT_CFA, scaled(-dwarf_uleb(r), align));
		return;
	case CFA_RESTORE_EXTENDED:
		restore(p, reg);
		return;
	case CFA_UNDEFINED:
		set_place(p, reg, NOWHERE, 0);
		return;
	case CFA_SAME_VALUE:
		set_place(p, reg, AS_IT_IS, 0);
		return;
	case CFA_EXPRESSION:
		place = place_of(take_block(r));
		set_place(p, reg, place.where, place.offset);
		return;
	case CFA_VAL_EXPRESSION:
		take_block(r);
		break;
	default: /* CFA_REGISTER, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF: a second number */
		dwarf_uleb(r);
	}
	set_place(p, reg, SOMEWHERE, 0);
}

static int extended(struct program *p, struct dwarf_reader *r, uint8_t op)
{
	uint64_t align = p->cie->code_align;

	switch (op) {
	case CFA_NOP:
		return 0;
	case CFA_SET_LOC:
		return advance(p, take_address(p->c, r, p->cie->encoding));
	case CFA_ADVANCE1:
		return advance(p, p->vaddr + dwarf_take(r, 1) * align);
	case CFA_ADVANCE2:
		return advance(p, p->vaddr + dwarf_take(r, 2) * align);
	case CFA_ADVANCE4:
		return advance(p, p->vaddr + dwarf_take(r, 4) * align);
	case CFA_REMEMBER:
		remember(p, r);
		return 0;
	case CFA_RESTORE_STATE:
		recall(p, r);
		return 0;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		define(p, r, op);
		return 0;
	case CFA_GNU_ARGS_SIZE:
		dwarf_uleb(r);
		return 0;
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_GNU_NEGATIVE_OFFSET:
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
	case CFA_REGISTER:
	case CFA_EXPRESSION:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_VAL_EXPRESSION:
		place_register(p, r, op);
		return 0;
	default: /* its length is not known */
		r->is_bad = true;
		return 0;
	}
}

/* Runs the instructions; what follows one that is not understood is not known. */
static int run(struct program *p, struct dwarf_reader *r)
{
	int err = 0;

	while (r->p < r->end && !r->is_bad && !err) {
		uint8_t op = (uint8_t)dwarf_take(r, 1), low = op & 0x3f;

		if (!perfmap_work_add(p->c->work, 4))
			return -E2BIG;
		switch (op >> 6) {
		case CFA_ADVANCE:
			err = advance(p, p->vaddr + low * p->cie->code_align);
			break;
		case CFA_OFFSET:
			set_place(p, low, AT_CFA, scaled(dwarf_uleb(r), p->cie->data_align));
			break;
		case CFA_RESTORE:
			restore(p, low);
			break;
		default:
			err = extended(p, r, op);
		}
	}
	if (r->is_bad)
		p->state.cfa = BY_OTHER;
	return err;
}

/* --- CIEs and FDEs ---------------------------------------------------------------------------- */

/* What 'z' and its letters announce. False: not understood. */
static bool take_augmentation(struct cie *cie, const char *letters, struct dwarf_reader *r)
{
	struct dwarf_reader data;

	if (*letters != 'z')
		return !*letters;
	data = take_block(r);
	cie->has_data = true;
	for (const char *a = letters + 1; *a && !data.is_bad; a++) {
		if (*a == 'R')
			cie->encoding = (uint8_t)dwarf_take(&data, 1);
		else if (*a == 'L')
			dwarf_take(&data, 1);
		else if (*a == 'P')
			dwarf_take(&data, dwarf_address_bytes((uint8_t)dwarf_take(&data, 1)));
		else if (*a != 'S' && *a != 'B')
			return false;
	}
	return !data.is_bad;
}

static int read_cie(struct compiler *c, struct cie *cie)
{
	struct dwarf_reader r = {c->section->data + cie->offset, NULL, false};
	size_t left = c->section->len - cie->offset;
	const uint8_t *letters;
	struct program p;
	uint32_t len;
	uint8_t version;
	int err;

	perfmap_work_add(c->work, UNWIND_AUGMENTATION_MAX);
	r.end = r.p + left;
	len = (uint32_t)dwarf_take(&r, 4);
	if (r.is_bad || len < 5 || len > UNWIND_CIE_BYTES_MAX || len > left - 4)
		return 0;
	r.end = r.p + len;
	if (dwarf_take(&r, 4) != (c->is_debug ? UINT32_MAX : 0))
		return 0;
	version = (uint8_t)dwarf_take(&r, 1);
	letters = r.p;
	left = (size_t)(r.end - letters);
	r.p = memchr(letters, 0, left < UNWIND_AUGMENTATION_MAX ? left : UNWIND_AUGMENTATION_MAX);
	if (!r.p || !(version == 1 || version == 3 || version == 4))
		return 0;
	r.p++;
	if (version == 4 &&
	    (dwarf_take(&r, 1) != 8 || dwarf_take(&r, 1) != 0)) /* address, segment */
		return 0;
	cie->code_align = dwarf_uleb(&r);
	cie->data_align = dwarf_sleb(&r);
	if ((version == 1 ? dwarf_take(&r, 1) : dwarf_uleb(&r)) != REGISTER_RA)
		return 0;
	if (!take_augmentation(cie, (const char *)letters, &r) || r.is_bad)
		return 0;
	p = (struct program){.c = c, .cie = cie, .state = {.cfa = BY_OTHER, .ra = {SOMEWHERE, 0}}};
	err = run(&p, &r);
	cie->understood = !r.is_bad;
	cie->state = p.state;
	return err;
}

/* ret_cie: borrowed until the next call. */
static int find_cie(struct compiler *c, uint64_t offset, const struct cie **ret_cie)
{
	struct cie *cie = &c->cies[offset / 4 % CIES_CACHED];
	int err = 0;

	if (cie->offset != offset) {
		*cie = (struct cie){.offset = offset};
		err = read_cie(c, cie);
	}
	*ret_cie = cie;
	return err;
}

/* r: of the entry, behind the pointer to its CIE. */
static int read_fde(struct compiler *c, const struct cie *cie, struct dwarf_reader r)
{
	struct entry entry = {.first = c->rows_cnt};
	struct program p;
	int err;

	entry.start = take_address(c, &r, cie->encoding);
	/* A length has the format of an address alone. */
	entry.end = dwarf_take(&r, dwarf_address_bytes(cie->encoding));
	if (cie->has_data)
		take_block(&r);
	/* 0: the linker threw the function away. */
	if (r.is_bad || !entry.start || !entry.end || entry.end > UINT32_MAX ||
	    entry.start + entry.end < entry.start) {
		c->left_out++;
		return 0;
	}
	entry.end += entry.start;
	p = (struct program){
		.c = c, .cie = cie, .entry = &entry, .vaddr = entry.start, .state = cie->state};
	err = run(&p, &r);
	if (!err && p.vaddr < entry.end)
		err = put_row(c, &entry, p.vaddr, &p.state);
	entry.cnt = c->rows_cnt - entry.first;
	if (GROW(c->entries, c->entries_cnt, c->entries_cap))
		return -ENOMEM;
	c->entries[c->entries_cnt++] = entry;
	return err;
}

/* body: behind the record's length. */
static int read_record(struct compiler *c, struct dwarf_reader body)
{
	const uint8_t *at = body.p;
	uint64_t id = dwarf_take(&body, 4), cie_offset;
	const struct cie *cie;
	int err;

	if (id == (c->is_debug ? UINT32_MAX : 0))
		return 0;
	cie_offset = c->is_debug ? id : (uint64_t)(at - c->section->data) - id;
	if (cie_offset >= c->section->len || body.is_bad) {
		c->left_out++;
		return 0;
	}
	err = find_cie(c, cie_offset, &cie);
	if (err)
		return err;
	if (!cie->understood) {
		c->left_out++;
		return 0;
	}
	return read_fde(c, cie, body);
}

static int read_section(struct compiler *c)
{
	const uint8_t *data = c->section->data;
	size_t at = 0, len = c->section->len;
	int err = 0;

	while (!err && len - at >= 8) {
		uint32_t bytes;

		memcpy(&bytes, data + at, sizeof(bytes));
		/* 0: the end, or padding; all ones: the 64-bit form, which nobody writes. */
		if (bytes == UINT32_MAX || bytes > len - at - 4)
			break;
		if (!perfmap_work_add(c->work, 16))
			return -E2BIG;
		if (bytes > FDE_BYTES_MAX)
			c->left_out++;
		else if (bytes >= 4)
			err = read_record(c, (struct dwarf_reader){data + at + 4,
								   data + at + 4 + bytes, false});
		at += 4 + (size_t)bytes;
	}
	return err;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	return (a->first > b->first) - (a->first < b->first);
}

int cfi_append(struct cfi_rows *rows, struct cfi_row row)
{
	const struct cfi_row *last;

	if (rows->cnt && rows->rows[rows->cnt - 1].vaddr == row.vaddr)
		rows->cnt--;
	last = rows->cnt ? &rows->rows[rows->cnt - 1] : NULL;
	if (last && is_same(&last->row, &row.row))
		return 0;
	if (rows->cnt >= CFI_ROWS_MAX)
		return -E2BIG;
	if (GROW(rows->rows, rows->cnt, rows->cap))
		return -ENOMEM;
	rows->rows[rows->cnt++] = row;
	return 0;
}

static int put_in_order(struct compiler *c, struct cfi_rows *rows)
{
	int err = 0;

	if (c->entries_cnt)
		qsort(c->entries, c->entries_cnt, sizeof(*c->entries), compare_entries);
	for (size_t i = 0; i < c->entries_cnt && !err; i++) {
		const struct entry *e = &c->entries[i];
		uint64_t until = e->end;

		if (i + 1 < c->entries_cnt && e[1].start < until)
			until = e[1].start;
		for (size_t k = 0; k < e->cnt && !err; k++)
			if (c->rows[e->first + k].vaddr < until)
				err = cfi_append(rows, c->rows[e->first + k]);
		if (!err && (i + 1 == c->entries_cnt || e[1].start - until >= PADDING_BYTES))
			err = cfi_append(rows, (struct cfi_row){.vaddr = until});
	}
	return err;
}

int cfi_compile(const struct unwind_bytes *section, bool is_debug, struct perfmap_work *work,
		struct cfi_rows *rows)
{
	struct compiler c = {.section = section, .is_debug = is_debug, .work = work};
	int err, order_err;

	for (unsigned i = 0; i < CIES_CACHED; i++)
		c.cies[i].offset = UINT64_MAX;
	err = read_section(&c);
	order_err = put_in_order(&c, rows);
	rows->left_out += c.left_out;
	free(c.rows);
	free(c.entries);
	return err ? err : order_err;
}

void cfi_clear(struct cfi_rows *rows)
{
	free(rows->rows);
	*rows = (struct cfi_rows){0};
}

const struct cfi_row *cfi_at(const struct cfi_rows *rows, uint64_t vaddr)
{
	size_t low = 0, high = rows->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows->rows[mid].vaddr <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &rows->rows[low - 1] : NULL;
}
