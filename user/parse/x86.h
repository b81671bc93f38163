/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_PARSE_X86_H
#define HOTRUN_PARSE_X86_H
/*
 * How long an x86-64 instruction is, and as much of its operands as tells what it does to the stack
 * pointer and the frame pointer. Not a disassembler: what compilers of today do not write (system
 * instructions, REX2, XOP) is not understood. Source: Intel SDM, volume 2, chapter 2 and appendix
 * A. Pure, by length: bytes are hostile.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define X86_INSN_BYTES_MAX 15u /* the processor refuses longer ones */

/* Numbers of registers in instructions, other than those of DWARF. */
enum x86_register { X86_BX = 3, X86_SP = 4, X86_FP = 5, X86_NO_REGISTER = 0xff };

enum x86_map {
	X86_ONE_BYTE, /* opcodes of one byte */
	X86_0F,	      /* behind the byte 0x0f */
	X86_VECTOR,   /* all others: they touch neither pointer */
};

struct x86_insn {
	uint8_t len;
	uint8_t map, op;
	bool is_wide;	/* operands of 64 bits */
	bool is_memory; /* what rm says of */
	uint8_t reg;	/* 0-15; its low three bits can be a part of the opcode */
	uint8_t rm;	/* the register, also if the opcode holds it; of memory, its base:
			 * X86_NO_REGISTER if it has an index as well, or no base */
	int32_t disp;
	int32_t imm; /* also how far it jumps; 0 if there is none, or if it has 64 bits */
};

/*
 * Fills insn with the first instruction of the bytes at code. False: not understood, or cut off,
 * and insn is of no use: to leave it alone, by a copy, would cost a third of the time.
 */
bool x86_decode(const uint8_t *code, size_t len, struct x86_insn *insn);
#endif
