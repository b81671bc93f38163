/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Burns a CPU at the bottom of a recursion: drive_deep DEPTH. Runs until it is killed. */
#include <stdlib.h>

static volatile unsigned long laps;

static void __attribute__((noinline)) descend(unsigned long depth)
{
	if (depth) {
		descend(depth - 1);
		__asm__ volatile("" ::: "memory"); /* no tail call: every level keeps its frame */
		return;
	}
	while (++laps)
		;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	descend(strtoul(argv[1], NULL, 10));
	return 0;
}
