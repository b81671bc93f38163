/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parse/x86.h"

#include <string.h>

/*
 * What follows each opcode: n nothing, b a byte, z 4 bytes (2 behind the prefix 0x66), d 4 bytes, q
 * 4 bytes (8 if operands are wide), m operands, B operands and a byte, M operands and z; U as B and
 * V as M for the first two of a group, as m for the others. p, r and v are prefixes, r those with
 * bits of registers, v those of vectors. A dot is not understood, or no opcode.
 */
static const char one_byte[] = "mmmmbz..mmmmbz.." /* 00 */
			       "mmmmbz..mmmmbz.."
			       "mmmmbzp.mmmmbzp."
			       "mmmmbzp.mmmmbzp."
			       "rrrrrrrrrrrrrrrr" /* 40 */
			       "nnnnnnnnnnnnnnnn"
			       "..vmppp.zMbB...."
			       "bbbbbbbbbbbbbbbb"
			       "BM.Bmmmmmmmm.m.m" /* 80 */
			       "nnnnnnnnnn....nn"
			       "....nnnnbznnnnnn"
			       "bbbbbbbbqqqqqqqq"
			       "BB.nvvBM.n..n..." /* c0 */
			       "mmmm....mmmmmmmm"
			       "bbbb....dd.b...."
			       "p.pp.nUVnnnnnnmm";

static const char behind_0f[] = "...........n.m.." /* 00 */
				"mmmmmmmmmmmmmmmm"
				"........mmmmmmmm"
				".n.............."
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"BBBBmmmnmmmmmmmm"
				"dddddddddddddddd" /* 80 */
				"mmmmmmmmmmmmmmmm"
				"..nmBm.....mBmmm"
				"mmmmmmmmmmBmmmmm"
				"mmBmBBBmnnnnnnnn" /* c0 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmm.";

_Static_assert(sizeof(one_byte) == 257 && sizeof(behind_0f) == 257, "one for each byte");

#define REX_B 1u
#define REX_X 2u
#define REX_R 4u
#define REX_W 8u

struct cursor {
	const uint8_t *p, *end;
	bool is_bad;
};

static uint8_t take(struct cursor *c)
{
	if (c->p == c->end) {
		c->is_bad = true;
		return 0;
	}
	return *c->p++;
}

/* Of 2 or 4 bytes; others are left out. */
static int32_t take_number(struct cursor *c, unsigned bytes)
{
	int32_t value = 0;
	int16_t half = 0;

	if ((size_t)(c->end - c->p) < bytes) {
		c->is_bad = true;
		return 0;
	}
	if (bytes == 4)
		memcpy(&value, c->p, sizeof(value));
	else if (bytes == 2)
		memcpy(&half, c->p, sizeof(half));
	c->p += bytes;
	return value + half;
}

static void take_operands(struct cursor *c, unsigned rex, struct x86_insn *insn)
{
	uint8_t byte = take(c), mod = byte >> 6, rm = byte & 7, sib;

	insn->reg = (uint8_t)((byte >> 3 & 7) | (rex & REX_R ? 8 : 0));
	insn->rm = (uint8_t)(rm | (rex & REX_B ? 8 : 0));
	if (mod == 3)
		return;
	insn->is_memory = true;
	if (rm == 4) {
		sib = take(c);
		rm = sib & 7;
		insn->rm = (uint8_t)(rm | (rex & REX_B ? 8 : 0));
		if ((sib >> 3 & 7) != 4 || rex & REX_X || (rm == 5 && mod == 0))
			insn->rm = X86_NO_REGISTER;
	} else if (rm == 5 && mod == 0) {
		insn->rm = X86_NO_REGISTER;
	}
	if (mod == 1)
		insn->disp = (int8_t)take(c);
	else if (mod == 2 || (rm == 5 && mod == 0))
		insn->disp = take_number(c, 4);
}

static bool take_rest(struct cursor *c, char what, unsigned rex, bool is_short,
		      struct x86_insn *insn)
{
	unsigned bytes_z = is_short ? 2 : 4;

	if (what == 'm' || (what >= 'A' && what <= 'Z'))
		take_operands(c, rex, insn);
	/* By far the most. */
	if (what == 'm' || what == 'n')
		return !c->is_bad;
	if (what == 'U' || what == 'V')
		what = (insn->reg & 7) > 1 ? 'n' : what == 'U' ? 'b' : 'z';
	switch (what) {
	case 'n':
		break;
	case 'b':
	case 'B':
		insn->imm = (int8_t)take(c);
		break;
	case 'z':
	case 'M':
		insn->imm = take_number(c, bytes_z);
		break;
	case 'd':
		insn->imm = take_number(c, 4);
		break;
	case 'q':
		insn->imm = take_number(c, rex & REX_W ? 4 : bytes_z);
		if (rex & REX_W) {
			take_number(c, 4);
			insn->imm = 0;
		}
		break;
	default:
		return false;
	}
	return !c->is_bad;
}

/* The prefixes of vectors, which hold inverted bits of REX and the map's number. */
static bool take_vector(struct cursor *c, uint8_t prefix, struct x86_insn *insn)
{
	uint8_t first = take(c), map = 1;
	unsigned rex = ~first >> 5 & (REX_R | REX_X | REX_B);
	char what;

	insn->map = X86_VECTOR;
	if (prefix == 0xc5) {
		rex = 0;
	} else {
		map = prefix == 0xc4 ? first & 31 : first & 7;
		take_number(c, prefix == 0xc4 ? 1 : 2);
	}
	insn->op = take(c);
	what = map == 1 ? behind_0f[insn->op] : map == 3 ? 'B' : 'm';
	/* 4 is the integer instructions with three operands, which can name any register. */
	if (map == 0 || map == 4 || map > 6 || what == 'd')
		return false;
	return take_rest(c, what, rex, false, insn);
}

static bool take_0f(struct cursor *c, unsigned rex, bool is_short, struct x86_insn *insn)
{
	insn->op = take(c);
	insn->map = X86_0F;
	insn->rm = (uint8_t)((insn->op & 7) | (rex & REX_B ? 8 : 0));
	if (insn->op != 0x38 && insn->op != 0x3a)
		return take_rest(c, behind_0f[insn->op], rex, is_short, insn);
	insn->map = X86_VECTOR;
	take(c);
	return take_rest(c, insn->op == 0x38 ? 'm' : 'B', rex, false, insn);
}

static bool take_insn(struct cursor *c, struct x86_insn *insn)
{
	uint8_t byte = take(c);
	bool is_short = false;
	unsigned rex = 0;

	while (one_byte[byte] == 'p') {
		is_short |= byte == 0x66;
		byte = take(c);
	}
	if (one_byte[byte] == 'v')
		return take_vector(c, byte, insn);
	if (one_byte[byte] == 'r') {
		rex = byte & 15;
		byte = take(c);
	}
	insn->is_wide = rex & REX_W;
	if (byte == 0x0f)
		return take_0f(c, rex, is_short, insn);
	insn->op = byte;
	insn->rm = (uint8_t)((byte & 7) | (rex & REX_B ? 8 : 0));
	return take_rest(c, one_byte[byte], rex, is_short && !insn->is_wide, insn);
}

bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *insn)
{
	struct cursor c = {code, code + (len < X86_INSN_BYTES_MAX ? len : X86_INSN_BYTES_MAX),
			   false};

	*insn = (struct x86_insn){.map = X86_ONE_BYTE};
	if (!take_insn(&c, insn) || c.is_bad)
		return false;
	insn->len = (uint8_t)(c.p - code);
	return true;
}
