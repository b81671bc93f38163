/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_RESPONSE_SLOT_H
#define HOTRUN_RESPONSE_SLOT_H
/* Slot of a time in the histogram of struct endpoint (events.h). Plain C, so that it can be tried
 * outside of the kernel; the includer provides __u32 and __u64. */
#include "events.h"

static inline __attribute__((always_inline)) __u32 response_slot(__u64 time_ns)
{
	__u64 us = time_ns / 1000;
	__u32 v = us >> 32 ? 0xffffffff : (__u32)us, high = v, power = 0, slot;

	if (v < 4)
		return v;
	if (high >= 1u << 16) {
		high >>= 16;
		power += 16;
	}
	if (high >= 1u << 8) {
		high >>= 8;
		power += 8;
	}
	if (high >= 1u << 4) {
		high >>= 4;
		power += 4;
	}
	if (high >= 1u << 2) {
		high >>= 2;
		power += 2;
	}
	power += high >> 1;
	slot = (power - 1) * 4 + ((v >> (power - 2)) & 3);
	return slot < RESPONSE_SLOTS ? slot : RESPONSE_SLOTS - 1;
}
#endif
