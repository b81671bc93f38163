/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library whose functions stand in the middle of a known chain: whoever calls through() finds
 * itself called back beyond three of them, whose names begin with LIBRARY. Two builds of it have
 * the same code addresses for other frames.
 */
#include "links.h"

#define NAME_2(library, name) library##_##name
#define NAME_1(library, name) NAME_2(library, name)
#define NAME(name)	      NAME_1(LIBRARY, name)

static uint64_t (*back)(uint64_t);

LINK NAME(inner)(uint64_t x)
{
	volatile char room[ROOM];

	room[x % sizeof(room)] = 1;
	x = back(x);
	return x + room[x % sizeof(room)];
}
SAVING(NAME(outer), NAME(inner))

uint64_t through(uint64_t (*call)(uint64_t), uint64_t x)
{
	back = call;
	return NAME(outer)(x) + 1;
}

/* Burns CPU below two functions; NULL of a clock would be a system call a turn. */
LINK NAME(burn)(uint64_t x)
{
	for (int i = 0; i < 2000000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}
PLAIN(NAME(low), NAME(burn))
SAVING(NAME(high), NAME(low))

uint64_t burn(uint64_t x)
{
	return NAME(high)(x) + 1;
}
