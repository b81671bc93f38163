/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOTRUN_WATCH_SLICE_ROWS_H
#define HOTRUN_WATCH_SLICE_ROWS_H
/*
 * The rows of a slice in a table that is in the order of slices: first and end. Looked for from the
 * end, where the newest are.
 */
#define SLICE_ROWS(table, cnt, number, first, end)                      \
	do {                                                            \
		(end) = (cnt);                                          \
		while ((end) && (table)[(end)-1].slice > (number))      \
			(end)--;                                        \
		(first) = (end);                                        \
		while ((first) && (table)[(first)-1].slice == (number)) \
			(first)--;                                      \
	} while (0)
#endif
