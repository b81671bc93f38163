/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_TESTS_ATTACK_H
#define HOTRUN_TESTS_ATTACK_H
/*
 * What the programs of the attacks share: code that only counts, and where it lies in the files
 * that attack_files.c writes and attack.c maps.
 */
#include <elf.h>
#include <stdint.h>

#define ATTACK_ELF_CODE	       0x1000u /* offset in the file */
#define ATTACK_IMAGE_STEP      0x20u   /* bytes of a function of a .dll, see fake_names.h */
#define ATTACK_IMAGE_FUNCTIONS 8u

/* Counts its argument down; needs no relocation. */
#if defined(__x86_64__)
static const uint8_t attack_code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
				      0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#define ATTACK_MACHINE	     EM_X86_64
#define ATTACK_IMAGE_MACHINE FAKE_IMAGE_X64
#elif defined(__aarch64__)
static const uint32_t attack_code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#define ATTACK_MACHINE	     EM_AARCH64
#define ATTACK_IMAGE_MACHINE FAKE_IMAGE_ARM64
#else
#error "no code for this machine"
#endif
#endif
